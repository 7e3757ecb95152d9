"""The velocity of the ground under a clip that walks on the spot, or goes farther, or less far, than its strides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import dot, median, size
from ikcore.feet.paths import Paths, straight
from ikcore.feet.rules import LOW, STILL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_WINDOW, _HOP = 2.0, 1.0  # seconds in which the velocity is taken as constant, and from one such window to the next
_SMOOTH = 0.2  # seconds before and after, over which a velocity that varies is the mean
_SWINGS = 0.2  # of its speed: a body that goes so fast where what is low goes is on its way, and that a foot in swing
_VARIES = 0.1  # share of the velocity within which it is constant
_OFF = 0.05  # share of the way of the body by which feet slide at least
_OTHERS = 0.5  # of that share: what they move by otherwise, at most


def moving(paths: Paths) -> tuple[Array, Array]:
    """How fast the ground of a clip on the spot goes, and how fast feet slide on it (frames, 3), or zeros.

    Nothing is known of either where ground moves.
    """
    none = np.zeros((len(paths.points), 3))
    if paths.carried:
        return none, none
    seen = _Seen(paths)
    return _belt(paths, seen), _slide(paths, seen)


def _belt(paths: Paths, seen: _Seen) -> Array:
    """The velocity of the ground; zeros if feet stand as it is, or the body travels."""
    frames, still = len(paths.points), np.zeros((len(paths.points), 3))
    wide = round(_WINDOW * paths.clip.fps)
    whole = seen.constant(slice(0, frames))
    if frames < 2 * wide:
        return still + whole
    starts = range(0, frames - wide + 1, max(1, round(_HOP * paths.clip.fps)))
    found = np.array([seen.constant(slice(start, start + wide)) for start in starts])
    if size(found - whole).max() <= _VARIES * size(whole):
        return still + whole
    varied = seen.varying(straight(np.arange(frames), np.array(starts) + wide / 2, found))
    way = np.cumsum(varied, axis=0) / paths.clip.fps
    return varied if _extent(way) > 2 * _extent(seen.body) else still


def _slide(paths: Paths, seen: _Seen) -> Array:
    """The velocity of feet where a path was scaled: they slide by one share of the way of the body; else zeros.

    That is, what is low and slow while the body travels moves so, and hardly any other way.
    """
    way = seen.travel()
    slow = seen.low & (size(seen.velocities) < 1.5 * seen.limits) & (size(way) > seen.fastest)[:, np.newaxis]
    if not slow.any():
        return np.zeros_like(way)
    slides, ways = seen.velocities[slow], np.broadcast_to(way[:, np.newaxis], seen.velocities.shape)[slow]
    share = median(dot(slides, ways) / dot(ways, ways))
    others = median(size(slides - share * ways) / size(ways))
    return way * share if abs(share) >= max(_OFF, others / _OTHERS) else np.zeros_like(way)


class _Seen:
    """Points of the soles along the ground, and when they are low and neither rise nor sink."""

    def __init__(self, paths: Paths) -> None:
        self.fps, self.fastest = paths.clip.fps, 2 * STILL * paths.sizes.max()
        self.limits = 2 * STILL * paths.sizes
        rising = np.abs(paths.velocities[..., paths.axis])
        self.low = (paths.heights < LOW * paths.sizes) & (rising < STILL * paths.sizes)
        level = np.ones(3)
        level[paths.axis] = 0
        self.velocities, self.body = paths.velocities * level, paths.body * level

    def travel(self) -> Array:
        """How fast the body goes, over the ground (frames, 3)."""
        return _core.path(self.body[:, np.newaxis], np.ones(1), 1.0, self.fps, False)[1][:, 0]

    def constant(self, frames: slice) -> Array:
        """The velocity that points have most when they are low."""
        none, low, body = np.zeros(3), self.low[frames], self.body[frames]
        most = _core.commonest(self.velocities[frames], low, self.limits)
        if most is None:
            return none
        travel = (body[-1] - body[0]) * (self.fps / max(len(body) - 1, 1))
        speed = size(most)
        along = float(dot(travel, most)) / max(speed * speed, 1e-300)
        walks = speed > self.fastest and size(travel) < speed / 2 and along < _SWINGS
        return most if walks else none

    def varying(self, about: Array) -> Array:
        """The velocities near those, frame by frame and then smoothed; where there are none, straight in between."""
        near = self.low & (size(self.velocities - about[:, np.newaxis]) < self.limits)
        frames = np.flatnonzero(near.any(axis=1))
        if not len(frames):
            return about
        means = (self.velocities * near[..., np.newaxis])[frames].sum(axis=1) / near[frames].sum(axis=1)[:, np.newaxis]
        found = straight(np.arange(len(about)), frames, means)
        half = round(_SMOOTH * self.fps)
        wide = np.pad(found, ((half + 1, half), (0, 0)), mode="reflect", reflect_type="odd")
        sums = np.cumsum(wide, axis=0)
        return np.asarray((sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1))


def _extent(way: Array) -> float:
    return float(size(_core.extent(way)))
