"""The velocity of the ground under a clip that walks on the spot, or goes farther, or less far, than its strides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import size
from ikcore.feet.human import BRIEF, LOW, STEP, STILL, TRACE, WHILE
from ikcore.feet.intervals import runs
from ikcore.feet.paths import Paths, straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_WINDOW = 2.0  # seconds in which the velocity is taken as constant; half of it from one such window to the next
_VARIES = 0.1  # share of the velocity within which it is constant


def moving(paths: Paths) -> tuple[Array, Array]:
    """How fast the ground of a clip on the spot goes, and how fast feet slide on it (frames, 3), or zeros.

    Nothing is known of either where ground moves, and neither is where the body goes over a foot that stands.
    """
    none = np.zeros((len(paths.points), 3))
    if paths.carried:
        return none, none
    seen = _Seen(paths)
    found = _belt(paths, seen), _slide(paths, seen)
    return (none, none) if any(each.any() for each in found) and _goes_over(paths) else found


def _goes_over(paths: Paths) -> bool:
    """Whether the body goes over a foot that stands as it is, which a foot on a belt never does."""
    for point, scale in enumerate(paths.sizes.tolist()):
        at, stands = paths.points[:, point], size(paths.velocities[:, point]) < TRACE * scale  # in a second
        for start, stop in runs(stands).tolist():
            way = _core.extent(paths.body[start:stop] - at[start:stop])
            if stop - start >= BRIEF * paths.clip.fps and size(way) >= STEP * scale:
                return True
    return False


def _belt(paths: Paths, seen: _Seen) -> Array:
    """The velocity of the ground; zeros if feet stand as it is, or the body travels."""
    frames, still = len(paths.points), np.zeros((len(paths.points), 3))
    wide = max(1, round(_WINDOW * paths.clip.fps))
    whole = seen.constant([0], frames)[0]
    if frames < 2 * wide:
        return np.asarray(still + whole)
    starts = range(0, frames - wide + 1, max(1, round(_WINDOW / 2 * paths.clip.fps)))
    found = seen.constant(starts, wide)
    if size(found - whole).max() <= _VARIES * size(whole):
        return np.asarray(still + whole)
    varied = seen.varying(straight(np.arange(frames), np.array(starts) + wide / 2, found))
    way = np.cumsum(varied, axis=0) / paths.clip.fps
    return varied if _extent(way) > 2 * _extent(seen.body) else still


def _slide(paths: Paths, seen: _Seen) -> Array:
    """The velocity of feet where a path was scaled: they slide by one share of the way of the body; else zeros.

    That is, what is low and slow while the body travels moves so, and hardly any other way.
    """
    way = _core.path(seen.body, np.ones(1), 1.0, paths.clip.fps, False)[1]
    share = _core.slide(seen.velocities, seen.low, seen.limits, way)
    return np.asarray(way * share) if share else np.zeros_like(way)


class _Seen:
    """Points of the soles along the ground, and when they are low and neither rise nor sink."""

    def __init__(self, paths: Paths) -> None:
        self.fps, self.limits = paths.clip.fps, 2 * STILL * paths.sizes
        sizes, rising = paths.sizes[:, np.newaxis], np.abs(paths.velocities[..., paths.axis].T)
        self.low = np.ascontiguousarray((paths.heights < LOW * sizes) & (rising < STILL * sizes))
        self.velocities, self.body = paths.velocities.copy(), paths.body.copy()
        self.velocities[..., paths.axis], self.body[:, paths.axis] = 0, 0

    def constant(self, starts: Sequence[int], frames: int) -> Array:
        """The velocity that points have most when they are low (starts, 3), in so many frames from each."""
        return _core.belts(self.velocities, self.low, self.limits, self.body, self.fps, starts, frames)

    def varying(self, about: Array) -> Array:
        """The velocities near those, frame by frame and then smoothed; where there are none, straight in between."""
        near = self.low.T & (size(self.velocities - about[:, np.newaxis]) < self.limits)
        frames = np.flatnonzero(near.any(axis=1))
        if not len(frames):
            return about
        means = (self.velocities * near[..., np.newaxis])[frames].sum(axis=1) / near[frames].sum(axis=1)[:, np.newaxis]
        found = straight(np.arange(len(about)), frames, means)
        half = round(WHILE * self.fps)
        wide = np.pad(found, ((half + 1, half), (0, 0)), mode="reflect", reflect_type="odd")
        sums = np.cumsum(wide, axis=0)
        return np.asarray((sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1))


def _extent(way: Array) -> float:
    return float(size(_core.extent(way)))
