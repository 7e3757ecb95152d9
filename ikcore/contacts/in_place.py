"""The velocity of the ground under an in-place clip, and of feet on it where a path was scaled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot, extent, median, size
from ikcore.contacts.intervals import runs
from ikcore.contacts.tracks import Tracks
from ikcore.feet.thresholds import (
    ANTICIPATION_TIME,
    CONTACT_HEIGHT,
    PLANT_TOLERANCE,
    SHORTEST_STANCE,
    SMOOTHING_TIME,
    STEP_HEIGHT,
)
from ikcore.feet.time_series import extend_rows, straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_WINDOW = 2.0  # s: length of a window with constant velocity; windows overlap by half
_VARIES = 0.1  # share of the velocity within which it is constant
_ROUNDS = 8  # number of iterations of the search for the most frequent velocity
_SAME = 0.3  # m/s: smaller differences of velocities are ignored; a point on the ground rises at most half as fast
_COMMON = 0.25  # least share of low samples with the velocity of the ground
_ALONG = 0.2  # share of the ground's speed: a body that moves with the ground so fast travels
_SLIDE = 0.05  # share of the body's speed: feet slide by more if a path was scaled


class _LowPoints(NamedTuple):
    """Horizontal velocities of points (frames, points, 3), masks of low and steady ones, and the body's travel."""

    fps: float
    velocities: Array
    low: Mask
    limits: Array  # (points,): smaller differences of velocities are ignored
    body: Array  # (frames, 3)


def ground_velocity(tracks: Tracks, heights: Array) -> tuple[Array, Array]:
    """Velocity of the ground of an in-place clip, and of feet that slide on it, (frames, 3) each, or zeros.

    Both are zero over moving ground, and if the body moves over a foot that stands.
    """
    none = np.zeros((len(tracks.hips), 3))
    if tracks.ground_moves or len(none) < 2:
        return none, none
    seen = _low(tracks, heights)
    belt, slide = _belt_velocity(seen), _slide_velocity(seen)
    return (none, none) if (belt.any() or slide.any()) and _goes_over(tracks) else (belt, slide)


def _goes_over(tracks: Tracks) -> bool:
    """True if the body moves over a foot that stands exactly, which never happens on a belt."""
    for places, scale, speeds in zip(tracks.places, tracks.scales.tolist(), tracks.speeds(level=False), strict=True):
        for start, stop in runs(speeds < PLANT_TOLERANCE * scale).tolist():
            way = extent(tracks.hips[start:stop] - places[start:stop])
            if stop - start >= SHORTEST_STANCE * tracks.clip.fps and size(way) >= STEP_HEIGHT * scale:
                return True
    return False


def _low(tracks: Tracks, heights: Array) -> _LowPoints:
    fps, scales = tracks.clip.fps, tracks.scales
    # one point per contact, no toe tips
    one = [at for at, key in enumerate(tracks.keys) if key not in tracks.keys[:at]]
    span = max(1, round(ANTICIPATION_TIME / 2 * fps))
    places = extend_rows(np.ascontiguousarray(tracks.places[one].swapaxes(0, 1)), span, tracks.clip.loop)
    velocities = (places[2 * span :] - places[: -2 * span]) * (fps / (2 * span))
    limits, body = _SAME * scales[one], tracks.hips.copy()
    low = (CONTACT_HEIGHT * scales[one] > heights[one].T) & (np.abs(velocities[..., tracks.axis]) < limits / 2)
    velocities[..., tracks.axis] = body[:, tracks.axis] = 0
    return _LowPoints(fps, velocities, low, limits, body)


def _belt_velocity(seen: _LowPoints) -> Array:
    """Velocity of the ground; zeros if feet stand, or the body travels."""
    found = _ground_velocity(seen)
    near = seen.low & (size(seen.velocities - found[:, np.newaxis]) < seen.limits)
    common = np.count_nonzero(near) >= _COMMON * np.count_nonzero(seen.low)
    return found if common else np.zeros_like(found)


def _ground_velocity(seen: _LowPoints) -> Array:
    """The most frequent velocity of low points: of the whole clip, or of windows if it varies."""
    frames, still = len(seen.body), np.zeros((len(seen.body), 3))
    wide = max(1, round(_WINDOW * seen.fps))
    whole = _constant_velocity(seen, slice(0, frames))
    if frames < 2 * wide:
        return np.asarray(still + whole)
    starts = range(0, frames - wide + 1, max(1, round(_WINDOW / 2 * seen.fps)))
    found = np.stack([_constant_velocity(seen, slice(start, start + wide)) for start in starts])
    if size(found - whole).max() <= _VARIES * size(whole):
        return np.asarray(still + whole)
    varied = _varying_velocity(seen, straight(np.arange(frames), np.array(starts) + wide / 2, found))
    return varied if _extent(np.cumsum(varied, axis=0) / seen.fps) > 2 * _extent(seen.body) else still


def _constant_velocity(seen: _LowPoints, frames: slice) -> Array:
    """The most frequent velocity of low points in some frames; zeros if it is slow, or if the body moves with it."""
    low = seen.low[frames]
    some = np.flatnonzero(low)
    velocities = seen.velocities[frames].reshape(-1, 3).take(some, axis=0)
    limits, near, found = seen.limits.take(some % low.shape[1]), np.ones(len(some), bool), np.zeros(3)
    for _ in range(_ROUNDS):
        if not near.any():
            return np.zeros(3)
        found, before = median(np.ascontiguousarray(velocities.compress(near, axis=0).T), axis=1), near
        near = np.asarray(size(velocities - found) < limits)
        if (near == before).all():
            break
    speed, body = float(size(found)), seen.body[frames]
    travel = (body[-1] - body[0]) * (seen.fps / max(len(body) - 1, 1))
    travels = size(travel) >= speed / 2 or dot(travel, found) >= _ALONG * speed**2
    return np.zeros(3) if travels or speed <= seen.limits.max() else found


def _varying_velocity(seen: _LowPoints, about: Array) -> Array:
    """Velocities near the given ones, frame by frame, then smoothed; gaps are interpolated."""
    near = seen.low & (size(seen.velocities - about[:, np.newaxis]) < seen.limits)
    frames = np.flatnonzero(near.any(axis=1))
    if not len(frames):
        return about
    means = (seen.velocities * near[..., np.newaxis])[frames].sum(axis=1) / near[frames].sum(axis=1)[:, np.newaxis]
    found = straight(np.arange(len(about)), frames, means)
    half = round(SMOOTHING_TIME * seen.fps)
    wide = np.pad(found, ((half + 1, half), (0, 0)), mode="reflect", reflect_type="odd")
    sums = np.cumsum(wide, axis=0)
    return np.asarray((sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1))


def _slide_velocity(seen: _LowPoints) -> Array:
    """Velocity of feet that all slide by one share of the body's travel, as on a scaled path; else zeros."""
    beside = np.concatenate([seen.body[:1], seen.body, seen.body[-1:]])
    way = beside[2:] - beside[:-2]
    way[1:-1] /= 2
    way *= seen.fps
    moves = (size(way) > seen.limits.max())[:, np.newaxis]
    slow = seen.low & moves & (size(seen.velocities) < 1.5 * seen.limits)
    velocities, ways = seen.velocities[slow], way[np.nonzero(slow)[0]]
    if not len(ways):
        return np.zeros_like(way)
    share = float(median(dot(velocities, ways) / dot(ways, ways)))
    rest = float(median(size(velocities - share * ways) / size(ways)))
    return way * share if abs(share) >= max(_SLIDE, 2 * rest) else np.zeros_like(way)


def _extent(way: Array) -> float:
    return float(size(extent(way)))
