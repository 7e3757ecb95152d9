"""Whether points are in contact, from their height and speed: low and slow, with hysteresis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ikcore.clips.clip import Clip
from ikcore.contacts.intervals import runs
from ikcore.contacts.tracks import LOWEST, Tracks
from ikcore.feet.thresholds import ANTICIPATION_TIME, CONTACT_HEIGHT, SHORTEST_STANCE
from ikcore.feet.time_series import percentile, ramp

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# For a leg of 0.87 m; lengths and speeds scale with leg length.
STILL = 0.12  # m/s: a point in contact is slower than this in some frame
_MIN_GAP = 0.12  # s: the shortest time between two contacts
_STAY = 1.5  # factor on height and speed at which a contact ends
_FASTEST = 1.0  # m/s: a faster point is never still, even if feet slide
_SLIDING = 2.0  # factor on the slowest fifth of speeds, for feet that slide throughout
_ROUNDING = 1e-6  # frames: rounding of products of times and rates
_SLOW = 20.0  # percentile of the speeds of low points: the slowest fifth


def lowest_level(tracks: Tracks, *, given: bool) -> Array:
    """The usual lowest height of each point above the ground (points, 1); NaN without ground.

    It is at most `CONTACT_HEIGHT` above the ground, or above the lowest point, as a foot may be in the air throughout.
    """
    usual = np.array([percentile(each, LOWEST) for each in tracks.heights])
    lowest = 0.0 if given else np.fmin.reduce(usual)
    usual = np.minimum(usual, lowest + CONTACT_HEIGHT * tracks.scales)
    return np.asarray((np.maximum(usual, -CONTACT_HEIGHT * tracks.scales) if given else usual)[:, np.newaxis])


def stillness(speeds: Array, heights: Array, scales: Array) -> Array:
    """The speed (points, 1) below which each point is still, from speeds and heights (points, frames)."""
    low = heights < CONTACT_HEIGHT * scales[:, np.newaxis]
    slowest = [percentile(each[near], _SLOW) for each, near in zip(speeds, low, strict=True)]
    sliding = np.minimum(_SLIDING * np.fmax(slowest, 0.0), _FASTEST * scales)
    return np.asarray(np.maximum(STILL * scales, sliding)[:, np.newaxis])


def contact_mask(heights: Array, speeds: Array, still: Array, scales: Array, clip: Clip) -> Mask:
    """Mask of contacts, from heights above their level and speeds over the ground (points, frames)."""
    low = CONTACT_HEIGHT * scales[:, np.newaxis]
    enters = (heights < low) & (speeds < still)
    stays = (heights < _STAY * low) & (speeds < _STAY * still)
    return clean_contacts(stays, enters, clip)


def clean_contacts(stays: Mask, enters: Mask, clip: Clip) -> Mask:
    """Runs of `stays` cut to their first and last frames of `enters`, without short gaps, then without short contacts.

    A contact at an end of the clip may be short, as it continues beyond.
    """
    gap, least = (time * clip.fps if len(clip) > 1 else 0.0 for time in (_MIN_GAP, ANTICIPATION_TIME))
    once = stays.shape[-1] - 1
    if clip.loop and once > 0:
        rounds = clean_rows(np.tile(stays[..., :-1], 3), np.tile(enters[..., :-1], 3), gap, least)
        return rounds[..., once : 2 * once + 1]
    return clean_rows(stays, enters, gap, least)


def clean_rows(stays: Mask, enters: Mask, gap: float, least: float) -> Mask:
    """`cleaned` of a clip that is no loop (..., frames), with the shortest gap and the shortest contact in frames."""
    if not stays.size:
        return stays.copy()
    wide = stays.shape[-1] + 1  # a frame between rows separates their runs
    start, stop = runs(_join_rows(stays)).T
    from_start, to_end = start % wide == 0, stop % wide == wide - 1
    frames = np.append(_join_rows(enters).nonzero()[0], 0)
    first, after = (np.searchsorted(frames[:-1], edges) for edges in (start, stop))
    some = after > first
    begin, end = np.where(some, frames[first], start), np.where(some, frames[after - 1] + 1, stop)
    begin = np.where(from_start & (begin - start >= gap - _ROUNDING), start, begin)
    end = np.where(to_end & (stop - end >= gap - _ROUNDING), stop, end)
    kept = some | ((from_start | to_end) & (stop - start < least))
    begin, end = begin[kept], end[kept]
    apart = (begin[1:] - end[:-1] >= gap - _ROUNDING) | (begin[1:] // wide != end[:-1] // wide)
    begin, end = np.concatenate([begin[:1], begin[1:][apart]]), np.concatenate([end[:-1][apart], end[-1:]])
    long = (begin % wide == 0) | (end % wide == wide - 1) | (end - begin >= least - _ROUNDING)
    steps = np.zeros(stays.size // (wide - 1) * wide, np.int8)
    steps[begin[long]], steps[end[long]] = 1, -1
    return np.asarray(np.add.accumulate(steps).reshape(-1, wide)[:, :-1].reshape(stays.shape) > 0)


def _join_rows(masks: Mask) -> Mask:
    """Masks (..., frames) in sequence, with a frame between them."""
    frames = masks.shape[-1]
    found = np.zeros((masks.size // frames, frames + 1), bool)
    found[:, :-1] = masks.reshape(-1, frames)
    return found.ravel()


def close_gaps(held: Mask, clip: Clip) -> Mask:
    """Contacts of the points of a leg (points, frames) with short gaps between those of different points closed."""
    found = held.copy()
    for start, stop in runs(np.asarray(~held.any(axis=0))).tolist():
        if start > 0 and stop < held.shape[1] and stop - start < _MIN_GAP * clip.fps:
            found[:, start:stop] = held[:, start - 1 : start]
    return found


def certain_frames(held: Mask, heights: Array, speeds: Array, scales: Array) -> Mask:
    """Frames in which a contact, or its absence, is certain by the thresholds of a clean clip."""
    low, still = CONTACT_HEIGHT * scales[:, np.newaxis], STILL * scales[:, np.newaxis]
    return np.where(held, (heights < _STAY * low) & (speeds < _STAY * still), (heights >= low) | (speeds >= still))


def ramp_weights(held: Mask, clip: Clip) -> Array:
    """Weights that rise and fall smoothly within 0.1 s about the edges of contacts; above 0.5 in contact."""
    return ramp(held, clip.fps * SHORTEST_STANCE, clip.loop)
