"""Where points of soles are over time, how fast, and how high above the ground."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _arrays
from ikcore._arrays import size
from ikcore.clips.clip import Clip
from ikcore.feet import free, soles
from ikcore.feet.detect import Feet
from ikcore.feet.intervals import blocks
from ikcore.feet.leg import Leg, Sole
from ikcore.grounds.ground import Ground, Surface

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

# Lengths and speeds in metres and seconds are for a leg of this length; for others they scale with it.
LEG = 0.87
POINTS = ("heel", "ball")
_BLUR = 0.044  # seconds, half the width of the filter; it has half the power at 8 Hz
_STEP, _DEEP = 0.3, 1.0  # how far above a point, and below it, ground is looked for
_FALL = 0.5 * 9.81  # what accelerates downwards by more is in the air
_OVER = 1 / 15  # seconds, over which that is measured


def keys(leg: Leg) -> list[Key]:
    """Of its points that contacts are found of."""
    return [(leg.name, point) for point in POINTS if point in leg.soles]


class Paths:
    """Points of the soles, filtered; `ground` is how high it is under each, NaN where there is none."""

    def __init__(self, clip: Clip, feet: Feet, ground: Ground | None) -> None:
        self.clip, self.axis, self.carried = clip, "XYZ".index(clip.up), False
        self.keys = [key for leg in feet for key in keys(leg)]
        hips = free.hips(clip.skeleton, feet)
        joints = sorted({joint for leg in feet for joint in (*leg.chain, *hips)})
        points = [feet[leg].soles[point] for leg, point in self.keys]
        at = soles.points(clip.skeleton, clip.pose, [*points, *(Sole(joint, (0, 0, 0)) for joint in joints)])
        at = at.astype(np.float64, copy=False)
        raw, places = at[:, : len(points)], dict(zip(joints, np.moveaxis(at, 1, 0)[len(points) :], strict=True))
        sizes = {leg.name: _length(leg, clip, places, raw[:, self.columns(leg.name)[-1]]) / LEG for leg in feet}
        self.sizes = np.array([sizes[leg] for leg, _ in self.keys])
        self.body = _smoothed(np.mean([places[hip] for hip in hips], axis=0)[:, np.newaxis], clip)[:, 0]
        self.points = _smoothed(raw, clip)
        self.velocities = _velocities(self.points, clip)
        if ground is None:
            self.ground = np.full(raw.shape[:2], percentile(self.points[..., self.axis], 2))
        else:
            self._stand_on(ground, raw)

    def columns(self, leg: str) -> list[int]:
        """Which points are of a leg."""
        return [at for at, key in enumerate(self.keys) if key[0] == leg]

    @property
    def heights(self) -> Array:
        """Above the ground; NaN where there is none."""
        return np.asarray(self.points[..., self.axis] - self.ground)

    def speeds(self, belt: Array) -> Array:
        """Relative to ground that moves with these velocities (frames, 3)."""
        return np.asarray(size(self.velocities - belt[:, np.newaxis]))

    def falling(self) -> Mask:
        """In which frames what is between the hips falls: by half of what gravity accelerates, at least."""
        span = max(1, round(_OVER * self.clip.fps))
        height = _prolonged(self.body[:, np.newaxis], span, self.clip.loop)[:, 0, self.axis]
        bent = height[2 * span :] - 2 * height[span:-span] + height[: -2 * span]
        return np.asarray(bent * (self.clip.fps / span) ** 2 < -_FALL * _arrays.median(self.sizes))

    def _stand_on(self, ground: Ground, raw: Array) -> None:
        ground._check_frames(len(self.points))
        self.ground = np.empty(self.points.shape[:-1])
        carrier = np.empty(self.ground.shape, np.int32)
        for block in blocks(len(self.points)):
            surface = surface_under(ground.still(block), self.clip, self.points[block], self.sizes)
            self.ground[block], carrier[block] = surface.height, surface.part
        for number, part in enumerate(ground.parts):
            if part.moves:
                self.carried = True
                there = _velocities(_smoothed(part.local(raw), self.clip), self.clip)
                if part.scales is not None:
                    there *= part.scales[..., np.newaxis, :]
                self.velocities = np.where((carrier == number)[..., np.newaxis], there, self.velocities)


def surface_under(ground: Ground, clip: Clip, points: Array, sizes: Any, *, sunk: bool = False) -> Surface:
    """The ground under points in a clip, of legs that are so many times 0.87 m long.

    Where there is none it is looked for higher up, if feet may have sunk far into it.
    """
    if ground.up != clip.up.lower():
        raise ValueError(f"ground: expected {clip.up} up as in the clip, got {ground.up!r}")
    found = ground.at(points, above=_STEP * sizes, below=_DEEP * sizes)
    return found if found.hit.all() or not sunk else _filled(found, ground.at(points, above=_DEEP * sizes, below=0.0))


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
    known = values[np.isfinite(values)]
    return float(_arrays.percentile(known, percent)) if known.size else math.nan


def straight(times: NDArray[Any], knots: NDArray[Any], values: Array) -> Array:
    """Between knots, in exact operations, which NumPy's own are not everywhere; beyond them as at the last one."""
    after = np.searchsorted(knots, times, side="right")
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(knots) - 1)
    span = knots[after] - knots[before]
    share = np.clip((times - knots[before]) / np.where(span > 0, span, 1), 0, 1)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[before] + share * (values[after] - values[before]))


def _length(leg: Leg, clip: Clip, places: Mapping[str, Array], tip: Array) -> float:
    """Of a leg from hip to ankle, or to its tip; the median, as some bones of some files change."""
    if leg.free:
        return free.length_in(clip, leg)
    chain = [places[joint] for joint in leg.bones]
    if leg.ankle is None:
        chain.append(tip)
    total = np.zeros(len(tip))
    for above, below in pairwise(chain):
        total += size(below - above)
    return percentile(total, 50)


def _smoothed(points: Array, clip: Clip) -> Array:
    """Through a filter without delay, a kernel (1 - t^2)^2; at the ends of a clip they go on from where a line ends."""
    reach = _BLUR * clip.fps
    most = max(math.ceil(reach) - 1, 0)
    kernel = [(1 - (tap / reach) ** 2) ** 2 for tap in range(-most, most + 1)]
    wide, total = _prolonged(points, most, clip.loop), sum(kernel)
    if not clip.loop and 1 < most < len(points):
        wide[:most] += 2 * (_first(points[: most + 1], kernel[most:]) - points[0])
        wide[-most:] += 2 * (_first(points[: -most - 2 : -1], kernel[most:]) - points[-1])
    found = np.zeros_like(points)
    for tap, factor in enumerate(kernel):
        found += wide[tap : tap + len(points)] * (factor / total)
    return found


def _first(points: Array, weights: list[float]) -> Array:
    """Where the line begins that is nearest to points, which shake."""
    sums, moved = [0.0, 0.0, 0.0], np.zeros((2, *points.shape[1:]))
    for at, weight in enumerate(weights):
        for power in range(3):
            sums[power] += weight * at**power
        moved[0] += weight * points[at]
        moved[1] += weight * at * points[at]
    none, once, twice = sums
    return np.asarray((twice * moved[0] - once * moved[1]) / (none * twice - once * once))


def _velocities(points: Array, clip: Clip) -> Array:
    wide = _prolonged(points, 1, clip.loop)
    return np.asarray((wide[2:] - wide[:-2]) * (clip.fps / 2))


def _prolonged(points: Array, more: int, loop: bool) -> Array:
    """So many frames more at both ends: a loop goes on from where it has got to, others as if turned about the end."""
    last = len(points) - 1
    if not loop or not last:
        return np.pad(points, ((more, more), (0, 0), (0, 0)), mode="reflect", reflect_type="odd")
    times, frames = np.divmod(np.arange(-more, last + 1 + more), last)
    times[more + last], frames[more + last] = 0, last
    return np.asarray(points[frames] + times[:, np.newaxis, np.newaxis] * (points[last] - points[0]))
