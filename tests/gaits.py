"""Gaits made by procedure, whose feet stand flat at given places and times: runs, jumps, stairs, turns, idling."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]
Hips = Callable[[Array, Array, Array], Array]

BODY = ik.samples.walk(1).clip.skeleton
ANKLE = 0.09  # over the ground
ASIDE = {"left": 0.1, "right": -0.1}


class Plant(NamedTuple):
    """A foot that stands: from when to when, where, and how far it is turned to the left."""

    start: float
    end: float
    place: tuple[float, float, float]
    turn: float = 0.0


@dataclasses.dataclass(frozen=True)
class Gait:
    """A clip and when its feet stand."""

    clip: ik.Clip
    plants: dict[str, list[Plant]]

    def planted(self, side: str) -> NDArray[np.bool_]:
        times = np.arange(len(self.clip)) / self.clip.fps
        held = [(plant.start - 1e-9 <= times) & (times <= plant.end + 1e-9) for plant in self.plants[side]]
        return np.asarray(np.any(held, axis=0))

    @property
    def airborne(self) -> NDArray[np.bool_]:
        return ~(self.planted("left") | self.planted("right"))


def gait(
    plants: dict[str, list[Plant]], seconds: float, fps: float, hips: Hips, lift: float = 0.12, *, thrown: bool = False
) -> Gait:
    """Feet swing from plant to plant, gently or as if thrown; `hips` places the hips by times and foot paths."""
    times = np.arange(math.floor(seconds * fps + 1e-6) + 1) / fps
    ways = {side: _way(times, plants[side], lift, thrown) for side in plants}
    turned = np.tile([1.0, 0, 0, 0], (len(times), len(BODY), 1))
    at = np.tile(BODY.offsets, (len(times), 1, 1))
    at[:, 0] = hips(times, ways["left"][0], ways["right"][0])
    angle = (ways["left"][1] + ways["right"][1]) / 2
    turned[:, 0] = ik.rotations.from_axis_angle([0, 1, 0], angle)
    goals = []
    for side, (place, turn) in ways.items():
        ankle = place + np.array([0, ANKLE, 0])
        ahead = ik.rotations.rotate(turned[:, 0], [0.0, 0, 2]) + (at[:, 0] + ankle) / 2
        facing = ik.rotations.from_axis_angle([0, 1, 0], turn)
        goals.append(ik.Reach(f"{side.title()}Foot", ankle, facing, chain=f"{side.title()}UpLeg", pole=ahead))
    pose = ik.solve(BODY, ik.Pose(turned, at), goals, "two_bone").pose
    found = BODY.forward(pose).positions
    for side, (place, _) in ways.items():
        far = np.abs(found[:, BODY.index(f"{side.title()}Foot")] - place - [0, ANKLE, 0]).max()
        assert far < 1e-6, f"the {side} leg is too short by {far}"
    return Gait(ik.Clip(BODY, pose, fps), plants)


def _way(times: Array, plants: Sequence[Plant], lift: float, thrown: bool) -> tuple[Array, Array]:
    places, turns = np.array([plant.place for plant in plants], float), np.array([plant.turn for plant in plants])
    ends, starts = np.array([plant.end for plant in plants]), np.array([plant.start for plant in plants])
    after = np.clip(np.searchsorted(starts, times, side="right"), 1, len(plants) - 1) if len(plants) > 1 else None
    if after is None:
        return np.broadcast_to(places[0], (len(times), 3)), np.full(len(times), turns[0])
    span = starts[after] - ends[after - 1]
    s = np.clip((times - ends[after - 1]) / span, 0, 1)
    share = s if thrown else s**3 * (10 - 15 * s + 6 * s * s)
    way = places[after - 1] + share[:, np.newaxis] * (places[after] - places[after - 1])
    way[:, 1] += lift * (4 * s * (1 - s)) ** (1 if thrown else 3)
    return way, turns[after - 1] + share * (turns[after] - turns[after - 1])


def above(height: float, ahead: Callable[[Array], Array] | None = None) -> Hips:
    """Hips between the feet, or at some way along z, at this height over the lower one or over the ground."""

    def hips(times: Array, left: Array, right: Array) -> Array:
        found = (left + right) / 2
        found[:, 1] = height
        if ahead is not None:
            found[:, 2] = ahead(times)
        return found

    return hips


def stepping(
    seconds: float,
    period: float,
    duty: float,
    place: Callable[[str, float], tuple[float, float, float]],
    turn: Callable[[float], float] = lambda time: 0.0,
) -> dict[str, list[Plant]]:
    """Left and right alternate. `place` and `turn` are evaluated at the middle of each stance."""
    plants: dict[str, list[Plant]] = {"left": [], "right": []}
    for side, later in (("left", 0.0), ("right", 0.5)):
        for number in range(-2, math.ceil(seconds / period) + 3):
            start = (number + later) * period
            middle = start + duty * period / 2
            plants[side].append(Plant(start, start + duty * period, place(side, middle), turn(middle)))
    return plants


def walking(
    speed: float = 1.2,
    seconds: float = 4,
    fps: float = 60,
    *,
    period: float = 1.1,
    duty: float = 0.6,
    height: float = 0.85,
    lift: float = 0.12,
) -> Gait:
    plants = stepping(seconds, period, duty, lambda side, time: (ASIDE[side], 0, speed * time))
    return gait(plants, seconds, fps, above(height, lambda times: speed * times), lift)


def running(
    speed: float = 3.5, seconds: float = 4, fps: float = 60, *, period: float = 0.7, duty: float = 0.33
) -> Gait:
    plants = stepping(seconds, period, duty, lambda side, time: (ASIDE[side], 0, speed * time))

    def hips(times: Array, left: Array, right: Array) -> Array:
        found = above(0.73, lambda times: speed * times)(times, left, right)
        found[:, 1] -= 0.03 * np.cos(4 * np.pi * (times / period - duty / 2))
        return found

    return gait(plants, seconds, fps, hips, 0.25)


def strafing(speed: float = 0.7, seconds: float = 4, fps: float = 60) -> Gait:
    plants = stepping(seconds, 0.9, 0.6, lambda side, time: (2 * ASIDE[side] + speed * time, 0, 0))

    def hips(times: Array, left: Array, right: Array) -> Array:
        return np.stack([speed * times, np.full(len(times), 0.85), 0 * times], axis=-1)

    return gait(plants, seconds, fps, hips, 0.08)


def turning(rate: float = 1.0, seconds: float = 4, fps: float = 60) -> Gait:
    """On the spot, in steps."""

    def place(side: str, time: float) -> tuple[float, float, float]:
        return ASIDE[side] * math.cos(rate * time), 0, -ASIDE[side] * math.sin(rate * time)

    plants = stepping(seconds, 1.0, 0.65, place, lambda time: rate * time)
    return gait(plants, seconds, fps, above(0.9), 0.06)


def climbing(
    rise: float = 0.18, run: float = 0.28, seconds: float = 5, fps: float = 60, *, first: float = 0.8, steps: int = 8
) -> Gait:
    """Up stairs, one foot a step, or down if the rise is negative; a floor before and after."""
    period = 1.2

    def number(time: float) -> int:
        return max(0, min(steps, round((time - first) / (period / 2))))

    def place(side: str, time: float) -> tuple[float, float, float]:
        return ASIDE[side], rise * number(time), run * number(time)

    def hips(times: Array, left: Array, right: Array) -> Array:
        found = (left + right) / 2
        found[:, 2] = np.interp(times, [first, first + steps * period / 2], [0, steps * run])
        lower = np.minimum(left[:, 1], right[:, 1])
        wide = int(0.25 * fps)
        lowest = np.array([lower[max(0, k - wide) : k + wide + 1].min() for k in range(len(times))])
        padded = np.pad(lowest, wide, mode="edge")
        found[:, 1] = 0.78 + np.convolve(padded, np.full(2 * wide + 1, 1 / (2 * wide + 1)), "valid")
        return found

    return gait(stepping(seconds, period, 0.62, place), seconds, fps, hips, 0.12)


def jumping(seconds: float = 3, fps: float = 60, *, flight: float = 0.5, onto: float = 0.0, ahead: float = 0.0) -> Gait:
    """Stands, crouches, flies, lands, on a box if wanted, and gets up."""
    start, end = 1.2, 1.2 + flight
    plants = {side: [Plant(-1, start, (x, 0, 0)), Plant(end, 99, (x, onto, ahead))] for side, x in ASIDE.items()}

    def hips(times: Array, left: Array, right: Array) -> Array:
        s = np.clip((times - start) / flight, 0, 1)
        found = above(0.84)(times, left, right)
        crouch = np.interp(
            times, [0.5, 0.9, 1.1, start, end, end + 0.2, end + 0.4, end + 0.9], [0, 0.25, 0.2, 0, 0, 0.25, 0.2, 0]
        )
        found[:, 1] += onto * s + 4.905 * flight**2 * s * (1 - s) - crouch * 0.8
        found[:, 2] = (left + right)[:, 2] / 2
        return found

    return gait(plants, seconds, fps, hips, 4.905 * flight**2 / 4, thrown=True)


def moved(clip: ik.Clip, way: Any) -> ik.Clip:
    """The clip with a moved root."""
    at = clip.skeleton.offsets if clip.pose.translations is None else clip.pose.translations
    at = np.array(np.broadcast_to(at, (len(clip), len(clip.skeleton), 3)))
    at[:, 0] += way
    return dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, at))


def shaken(clip: ik.Clip, noise: float, seed: int = 0) -> ik.Clip:
    """The clip with noise in the root position and in every joint rotation; the feet move accordingly."""
    random = np.random.default_rng(seed)
    away = ik.rotations.from_axis_angle(random.normal(size=(*clip.pose.rotations.shape[:2], 3)), 0.5 * noise)
    turned = ik.Pose(ik.rotations.multiply(clip.pose.rotations, away), clip.pose.translations)
    return moved(dataclasses.replace(clip, pose=turned), random.normal(0, noise, (len(clip), 3)))
