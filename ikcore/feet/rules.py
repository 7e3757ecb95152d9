"""Whether a point is in contact, from how high and how fast it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore.clips.clip import Clip
from ikcore.feet.intervals import runs
from ikcore.feet.paths import percentile

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# For a leg of 0.87 m, as in `paths`.
LOW, _HIGH = 0.05, 0.08  # a contact has a frame below the first height, and none above the second
STILL = 0.15  # metres a second, for what is clearly still; what is twice as fast has left
_STILLEST, _DIRTIEST = 0.065, 0.45  # between these that adapts to the clip
_SWING, _DIRTY = 0.04, 0.12  # or between these shares of how fast the point swings

# Seconds.
SHORTEST, _GAP, _RAMP = 0.1, 0.067, 0.1


def contact(height: Array, speed: Array, clip: Clip) -> Mask:
    """When a point is in contact."""
    enters, stays = stillness(speed)
    return cleaned(stays & (height <= _HIGH), enters & (height < LOW), clip)


def clear(held: Mask, height: Array, speed: Array) -> Mask:
    """In which frames that is beyond doubt by the measures of a clean clip."""
    return np.where(held, (height < LOW) & (speed < STILL), ~((height <= _HIGH) & (speed <= 2 * STILL)))


def stillness(speed: Array) -> tuple[Mask, Mask]:
    """Where a point is still, and where it is so nearly.

    By how fast it swings, and by how fast it is in the slowest tenth of all frames, where it slides or shakes.
    """
    swing, slide = percentile(speed, 98), percentile(speed, 10)
    least, most = max(_STILLEST, _SWING * swing), max(_DIRTIEST, _DIRTY * swing)
    still = min(max(least, 2 * slide), most) if slide > 0 else least
    return speed < still, speed <= 2 * still


def cleaned(stays: Mask, enters: Mask, clip: Clip) -> Mask:
    """From the first to the last frame of the second in each run of the first; no short gaps, then no short runs.

    A run that the clip's end cuts goes on beyond it: `_held` says how far it counts, and what is short of it stays.
    """
    if clip.loop and len(stays) > 1:
        once = len(stays) - 1
        before_and_after = _cleaned_once(np.tile(stays[:-1], 3), np.tile(enters[:-1], 3), clip.fps)
        return before_and_after[once : 2 * once + 1]
    return _cleaned_once(stays, enters, clip.fps)


def _cleaned_once(stays: Mask, enters: Mask, fps: float) -> Mask:
    each = runs(stays).tolist()
    held = _filled(len(stays), (_held(enters, start, stop, fps) for start, stop in each))
    held |= _filled(len(stays), brief(~held, _GAP * fps))
    cut = _filled(len(stays), ((start, stop) for start, stop in each if start == 0 or stop == len(stays)))
    return held & ~_filled(len(stays), (run for run in brief(held, SHORTEST * fps) if not cut[run[0]]))


def _held(enters: Mask, start: int, stop: int, fps: float) -> tuple[int, int]:
    """What of a run is a contact.

    One that the clip's end cuts reaches to there, but for what is shorter than a gap: there a foot arrives, or leaves.
    If it is short it is one even without any frame of the second: that is beyond the end.
    """
    at_start, at_end = start == 0, stop == len(enters)
    still = start + np.flatnonzero(enters[start:stop])
    if not len(still):
        return (start, stop) if (at_start or at_end) and stop - start < SHORTEST * fps else (start, start)
    first, last, gap = int(still[0]), int(still[-1]) + 1, _GAP * fps - 1e-6  # rounding
    return start if at_start and first - start >= gap else first, stop if at_end and stop - last >= gap else last


def brief(mask: Mask, frames: float) -> NDArray[np.intp]:
    """The runs of fewer frames than these, but for those at the ends, which may go on beyond them."""
    found = runs(mask)
    start, stop = found.T
    return np.asarray(found[(start > 0) & (stop < len(mask)) & (stop - start < frames - 1e-6)])  # rounding


def _filled(frames: int, intervals: Iterable[Any]) -> Mask:
    mask = np.zeros(frames, bool)
    for start, stop in intervals:
        mask[start:stop] = True
    return mask


def ramped(held: Mask, clip: Clip) -> Array:
    """From 0 to 1 within a while about the edges, which are between frames; more than 0.5 in contact."""
    frames = np.arange(len(held)) + 0.5
    edges = np.flatnonzero(held[1:] != held[:-1]) + 1.0
    if clip.loop and len(held) > 1:
        period = len(held) - 1
        edges = np.concatenate([edges - period, edges, edges + period])
    if not len(edges):
        return held.astype(np.float64)
    after = np.searchsorted(edges, frames)
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(edges) - 1)
    away = np.minimum(np.abs(frames - edges[before]), np.abs(frames - edges[after])) / (clip.fps * _RAMP)
    share = np.clip(np.where(held, 0.5 + away, 0.5 - away), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
