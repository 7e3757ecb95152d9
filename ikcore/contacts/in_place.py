"""The travel of the ground under an in-place clip, and the drift of feet where a path was scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import size
from ikcore.contacts.rules import LOW, STILL
from ikcore.contacts.tracks import Tracks
from ikcore.feet.human import BRIEF, STEP, TRACE, WHILE
from ikcore.feet.intervals import runs
from ikcore.feet.paths import straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_WINDOW = 2.0  # s in which the velocity is taken as constant; windows overlap by half
_VARIES = 0.1  # share of the velocity within which it counts as constant
_NOISE_TIME = 0.044  # s: half width of the filter before velocities are taken


def ground_velocity(tracks: Tracks, heights: Array) -> tuple[Array, Array]:
    """Velocity of the ground of an in-place clip, and of feet that slide on it (frames, 3), or zeros.

    Both are unknown where ground moves, and zero where the body moves over a foot that stands.
    """
    none = np.zeros((len(tracks.hips), 3))
    if tracks.carried:
        return none, none
    seen = _Seen(tracks, heights)
    found = _belt(seen), _slide(seen)
    return (none, none) if any(each.any() for each in found) and _goes_over(tracks) else found


def _goes_over(tracks: Tracks) -> bool:
    """Whether the body moves over a foot that stands exactly, which never happens on a belt."""
    for places, scale, speeds in zip(tracks.places, tracks.scales.tolist(), tracks.speeds(level=False), strict=True):
        for start, stop in runs(speeds < TRACE * scale).tolist():
            way = _core.extent(tracks.hips[start:stop] - places[start:stop])
            if stop - start >= BRIEF * tracks.clip.fps and size(way) >= STEP * scale:
                return True
    return False


class _Seen:
    """Level velocities of the points and of the body, and when points are low and neither rise nor sink."""

    def __init__(self, tracks: Tracks, heights: Array) -> None:
        clip, sizes = tracks.clip, tracks.scales[:, np.newaxis]
        own = [at for at, key in enumerate(tracks.keys) if key not in tracks.keys[:at]]  # no toes
        self.fps, self.limits = clip.fps, 2 * STILL * tracks.scales[own]
        places = np.ascontiguousarray(tracks.places[own].swapaxes(0, 1))
        self.velocities = _filtered(places, clip)
        rising = np.abs(self.velocities[..., tracks.axis].T)
        self.low = np.ascontiguousarray((heights[own] < LOW * sizes[own]) & (rising < STILL * sizes[own]))
        self.body = tracks.hips.copy()
        self.velocities[..., tracks.axis], self.body[:, tracks.axis] = 0, 0

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


def _belt(seen: _Seen) -> Array:
    """The velocity of the ground; zeros if feet stand as it is, or the body travels."""
    frames, still = len(seen.body), np.zeros((len(seen.body), 3))
    wide = max(1, round(_WINDOW * seen.fps))
    whole = seen.constant([0], frames)[0]
    if frames < 2 * wide:
        return np.asarray(still + whole)
    starts = range(0, frames - wide + 1, max(1, round(_WINDOW / 2 * seen.fps)))
    found = seen.constant(starts, wide)
    if size(found - whole).max() <= _VARIES * size(whole):
        return np.asarray(still + whole)
    varied = seen.varying(straight(np.arange(frames), np.array(starts) + wide / 2, found))
    way = np.cumsum(varied, axis=0) / seen.fps
    return varied if _extent(way) > 2 * _extent(seen.body) else still


def _slide(seen: _Seen) -> Array:
    """The velocity of feet that all slide by one share of the travel of the body, as on a scaled path; else zeros."""
    way = _core.path(seen.body, np.ones(1), 1.0, seen.fps, False)[1]
    share = _core.slide(seen.velocities, seen.low, seen.limits, way)
    return np.asarray(way * share) if share else np.zeros_like(way)


def _filtered(places: Array, clip: Any) -> Array:
    """Velocities after a filter without delay, of kernel (1 - t^2)^2."""
    reach = _NOISE_TIME * clip.fps
    most = max(math.ceil(reach) - 1, 0)
    kernel = [(1 - (tap / reach) ** 2) ** 2 for tap in range(-most, most + 1)]
    return _core.path(places, np.array(kernel), sum(kernel), clip.fps, clip.loop)[1]


def _extent(way: Array) -> float:
    return float(size(_core.extent(way)))
