"""Where points of soles are over time, how fast, and how high above the ground."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _arrays, _core
from ikcore.clips.clip import Clip
from ikcore.feet import free, soles
from ikcore.feet.detect import Feet
from ikcore.feet.human import DEEP, LEG, MOMENT, NEAR
from ikcore.feet.intervals import blocks
from ikcore.feet.leg import Leg
from ikcore.grounds.ground import Ground, Surface

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

POINTS = ("heel", "ball")
_BLUR = 0.044  # seconds, half the width of the filter; it has half the power at 8 Hz
_FALL = 0.5 * 9.81  # metres a second^2: what accelerates downwards by more is in the air


def keys(leg: Leg) -> list[Key]:
    """Of its points that contacts are found of."""
    return [(leg.name, point) for point in POINTS if point in leg.soles]


class Paths:
    """Points of the soles, filtered: (frames, points, 3), and with one number or truth each (points, frames).

    `high` is how high they are, from 0; `ground` the same of what is under them, NaN where there is nothing. `falls`
    says in which frames what is between the hips falls.
    """

    def __init__(self, clip: Clip, feet: Feet, ground: Ground | None) -> None:
        self.clip, self.axis, self.carried = clip, "XYZ".index(clip.up), False
        self.keys = [key for leg in feet for key in keys(leg)]
        hips = free.hips(clip.skeleton, feet)
        joints = [*hips, *(joint for leg in feet for joint in leg.bones)]
        points = [feet[leg].soles[point] for leg, point in self.keys]
        raw, at = soles.points_and_joints(clip.skeleton, clip.pose, points, joints)
        self.body = _filtered(np.asarray(sum(at[:, hip] for hip in range(len(hips))) / len(hips)), clip)[0]
        self.sizes, start = np.empty(len(self.keys)), len(hips)
        for leg in feet:
            stop, mine = start + len(leg.bones), self.of(leg.name)
            self.sizes[mine] = _length(leg, clip, at[:, start:stop], raw[:, mine.stop - 1 : mine.stop]) / LEG
            start = stop
        self.points, self.velocities = _filtered(raw, clip)
        self.high = np.ascontiguousarray(self.points[..., self.axis].T)
        self.falls = self._falls()
        if ground is None:
            self.ground = np.full(self.high.shape, percentile(self.high, 2))
        else:
            self._stand_on(ground, raw)

    def of(self, leg: str) -> slice:
        """Which points are of a leg."""
        legs = [key[0] for key in self.keys]
        return slice(legs.index(leg), legs.index(leg) + legs.count(leg))

    @property
    def heights(self) -> Array:
        """Above the ground; NaN where there is none."""
        return np.asarray(self.high - self.ground)

    def speeds(self, belt: Array) -> Array:
        """Relative to ground that moves with these velocities (frames, 3)."""
        return _core.speeds(self.velocities, belt)

    def _falls(self) -> Mask:
        """By half of what gravity accelerates, at least."""
        span = max(1, round(MOMENT * self.clip.fps))
        height = _core.prolonged(self.body[:, self.axis], span, self.clip.loop)
        bent = height[2 * span :] - 2 * height[span:-span] + height[: -2 * span]
        return np.asarray(bent * (self.clip.fps / span) ** 2 < -_FALL * _arrays.median(self.sizes))

    def _stand_on(self, ground: Ground, raw: Array) -> None:
        ground._check_frames(len(self.points))
        self.ground = np.empty(self.high.shape)
        carrier = np.empty(self.points.shape[:-1], np.int32)
        for block in blocks(len(self.points)):
            surface = surface_under(ground.still(block), self.clip, self.points[block], self.sizes)
            self.ground[:, block], carrier[block] = surface.height.T, surface.part
        for number, part in enumerate(ground.parts):
            if part.moves:
                self.carried = True
                there = _filtered(part.local(raw), self.clip)[1]
                if part.scales is not None:
                    there *= part.scales[..., np.newaxis, :]
                self.velocities = np.where((carrier == number)[..., np.newaxis], there, self.velocities)


def surface_under(ground: Ground, clip: Clip, points: Array, sizes: Any, *, sunk: bool = False) -> Surface:
    """The ground under points in a clip, of legs that are so many times 0.87 m long.

    Where there is none it is looked for higher up, if feet may have sunk far into it.
    """
    if ground.up != clip.up.lower():
        raise ValueError(f"ground: expected {clip.up} up as in the clip, got {ground.up!r}")
    found = ground.at(points, above=NEAR * sizes, below=DEEP * sizes)
    return found if found.hit.all() or not sunk else _filled(found, ground.at(points, above=DEEP * sizes, below=0.0))


def _filled(found: Surface, other: Surface) -> Surface:
    """With another surface where nothing was found."""
    hit, wide = found.hit, found.hit[..., np.newaxis]
    return Surface(
        hit | other.hit,
        np.where(hit, found.height, other.height),
        np.where(wide, found.points, other.points),
        np.where(wide, found.normals, other.normals),
        np.where(hit, found.part, other.part),
    )


def percentile(values: Array, percent: float) -> float:
    """Of those that are finite; NaN of none."""
    return _core.percentile(values, percent)


def straight(times: NDArray[Any], knots: NDArray[Any], values: Array) -> Array:
    """Between knots, in exact operations, which NumPy's own are not everywhere; beyond them as at the last one."""
    return _core.straight(times, knots, values)


def _length(leg: Leg, clip: Clip, chain: Array, tip: Array) -> float:
    """Of a leg from hip to ankle, or to its tip; the median, as some bones of some files change."""
    if leg.free:
        return free.length_in(clip, leg)
    return percentile(_core.lengths(chain if leg.ankle else np.concatenate([chain, tip], axis=1)), 50)


def _filtered(points: Array, clip: Clip) -> tuple[Array, Array]:
    """Through a filter without delay, a kernel (1 - t^2)^2, and how fast they are then."""
    return _core.path(points, *_kernel(clip.fps), clip.fps, clip.loop)


@functools.lru_cache(maxsize=8)
def _kernel(fps: float) -> tuple[Array, float]:
    """The factors of frames about each, and their sum."""
    reach = _BLUR * fps
    most = max(math.ceil(reach) - 1, 0)
    kernel = [(1 - (tap / reach) ** 2) ** 2 for tap in range(-most, most + 1)]
    return np.array(kernel), sum(kernel)
