"""A procedural sprint and procedural hops: short stances between flights, with exactly known contacts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ikcore.clips.clip import Clip
from ikcore.clips.sample_body import (
    TOE,
    TOE_JOINT,
    TRACK,
    Array,
    Plant,
    Sample,
    frame_times,
    pitch_arm,
    skeleton_of_samples,
    soles_of_samples,
    world_rotations,
)
from ikcore.goals import Reach
from ikcore.pose import Pose
from ikcore.solving.solve import solve

_GRAVITY = 9.81  # m/s^2
_HEIGHT = 0.78  # m: height of the hips above the ground at mid-stance


class _Cycle(NamedTuple):
    """A gait: every foot stands for `stance` s in `period` s; `apart` is the time from one flight to the next."""

    period: float
    stance: float
    apart: float
    speed: float  # m/s
    later: dict[str, float]  # s: by side, time of its first landing
    points: tuple[str, ...]  # points that touch the ground
    pitch: float  # radians: angle of the sole, heel up
    lift: float  # m, of the foot in its swing


def sprint(seconds: float = 4.0, *, speed: float = 5.5, fps: float = 60.0) -> Sample:
    """A human sprints straight ahead on the balls of the feet.

    The ground is y = 0, forward is +z, left is +x; metres. The left foot lands at 0.5 k s for every whole k, the right
    one 0.25 s later. Its ball and its toe stand still for 0.12 s; heels never touch the ground. Between stances the
    body flies for 0.13 s, accelerated by gravity alone.

    Parameters
    ----------
    seconds : float, default: 4
        Duration.
    speed : float, default: 5.5
        Metres a second, up to 6.
    fps : float, default: 60
        Frames a second.

    Examples
    --------
    >>> import ikcore as ik
    >>> sprint = ik.samples.sprint(seconds=2, fps=30)
    >>> sprint.clip
    Clip(61 frames of 21 joints at 30 fps, 2 s, Y up)
    >>> [round(plant.end - plant.start, 3) for plant in sprint.plants if plant.point == "LeftBall"]
    [0.12, 0.12, 0.12, 0.12, 0.12]
    """
    if not 0 < speed <= 6:
        raise ValueError(f"speed: expected more than 0 and up to 6 m/s, got {speed!r}")
    cycle = _Cycle(0.5, 0.12, 0.25, speed, {"Left": 0.0, "Right": 0.25}, ("Ball", "Toe"), math.radians(20), 0.3)
    return _walk_of(cycle, seconds, fps)


def hop(seconds: float = 4.0, *, speed: float = 0.6, fps: float = 60.0) -> Sample:
    """A human hops ahead on both feet, which land flat.

    The ground is y = 0, forward is +z, left is +x; metres. Both feet land at 0.5 k s for every whole k, and stand still
    for 0.2 s. Between stances the body flies for 0.3 s, accelerated by gravity alone.

    Parameters
    ----------
    seconds : float, default: 4
        Duration.
    speed : float, default: 0.6
        Metres a second, up to 2.
    fps : float, default: 60
        Frames a second.

    Examples
    --------
    >>> import ikcore as ik
    >>> hops = ik.samples.hop(seconds=2)
    >>> [round(plant.start, 3) for plant in hops.plants if plant.point == "RightHeel"]
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    if not 0 <= speed <= 2:
        raise ValueError(f"speed: expected 0 to 2 m/s, got {speed!r}")
    points = ("Heel", "Ball", "Toe")
    return _walk_of(_Cycle(0.5, 0.2, 0.5, speed, {"Left": 0.0, "Right": 0.0}, points, 0.0, 0.12), seconds, fps)


def _walk_of(cycle: _Cycle, seconds: float, fps: float) -> Sample:
    """The clip of a gait and its plants."""
    times, skeleton = frame_times(seconds, fps), skeleton_of_samples()
    rotations = np.tile([1.0, 0, 0, 0], (len(times), len(skeleton), 1))
    moved = np.tile(skeleton.offsets, (len(times), 1, 1))
    moved[:, 0] = np.stack([np.zeros(len(times)), _hips(times, cycle), cycle.speed * times], axis=-1)
    pitched = world_rotations("x", np.full(len(times), cycle.pitch))
    goals = []
    for side in cycle.later:
        rotations[:, skeleton.index(f"{side}ToeBase")] = world_rotations("x", np.full(len(times), -cycle.pitch))
        ankle = _ankle(times, side, cycle)
        ahead = (moved[:, 0] + ankle) / 2 + [0, 0, 2]
        goals.append(Reach(f"{side}Foot", ankle, pitched, chain=f"{side}UpLeg", pole=ahead))
    clip = Clip(skeleton, solve(skeleton, Pose(rotations, moved), goals, "two_bone").pose, fps)
    return Sample(clip, soles_of_samples(), _plants(cycle, times[-1]))


def _hips(times: Array, cycle: _Cycle) -> Array:
    """The height of the hips: a parabola in flight, and one the other way in a stance, with the same speeds."""
    flight = cycle.apart - cycle.stance
    fast = _GRAVITY * flight / 2
    since = times - cycle.apart * np.floor(times / cycle.apart + 1e-9)
    stands = fast / cycle.stance * (since - cycle.stance / 2) ** 2
    up = since - cycle.stance
    return _HEIGHT + np.where(
        since < cycle.stance, stands, fast * cycle.stance / 4 + fast * up - _GRAVITY / 2 * up * up
    )


def _place(number: Array, side: str, cycle: _Cycle) -> Array:
    """Positions of the ball of a foot in its stances: below the hips at mid-stance."""
    return np.asarray(cycle.speed * (number * cycle.period + cycle.later[side] + cycle.stance / 2))


def _ankle(times: Array, side: str, cycle: _Cycle) -> Array:
    """The ankle: still in a stance, then to the next one with no speed and no acceleration at either end."""
    number = np.floor((times - cycle.later[side]) / cycle.period + 1e-9)
    since = times - cycle.later[side] - number * cycle.period
    s = np.clip((since - cycle.stance) / (cycle.period - cycle.stance), 0, 1)
    share = s**3 * (10 - 15 * s + 6 * s * s)
    z = _place(number, side, cycle) + share * cycle.speed * cycle.period
    up = pitch_arm(TOE, np.array([cycle.pitch]))
    y = TOE_JOINT[0] - up[0] + cycle.lift * (4 * s * (1 - s)) ** 2
    return np.stack([np.full(len(times), TRACK[side]), y, z - up[1]], axis=-1)


def _plants(cycle: _Cycle, end: float) -> tuple[Plant, ...]:
    found = []
    ahead = {"Heel": -0.18, "Ball": 0.0, "Toe": 0.07}
    for side, later in cycle.later.items():
        for number in range(-1, math.floor(end / cycle.period) + 1):
            start = number * cycle.period + later
            place = float(_place(np.array(number), side, cycle))
            for name in cycle.points:
                at = np.array([TRACK[side], 0, place + ahead[name]])
                if start <= end and start + cycle.stance >= 0:
                    found.append(Plant(f"{side}{name}", start, start + cycle.stance, at))
    return tuple(sorted(found, key=lambda plant: plant.start))
