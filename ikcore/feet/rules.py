"""Whether points are in contact, from how high and how fast they are: all in rows of frames, a row for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore.clips.clip import Clip
from ikcore.feet.human import BRIEF, LOW, MOMENT, STEP, STILL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Still = tuple[Mask, Mask]  # where points are still, and where they are so nearly

_SWING = 0.04  # of how fast a point swings: what is slower is still


def contact(heights: Array, still: Still, clip: Clip) -> Mask:
    """When points are in contact."""
    enters, stays = still
    return cleaned(stays & (heights <= STEP), enters & (heights < LOW), clip)


def clear(held: Mask, heights: Array, speeds: Array) -> Mask:
    """In which frames that is beyond doubt by the measures of a clean clip."""
    return np.where(held, (heights < LOW) & (speeds < STILL), ~((heights <= STEP) & (speeds <= 2 * STILL)))


def stillness(speeds: Array) -> Still:
    """Where points are still, and where they are so nearly.

    By how fast each swings, and by how fast it is in the slowest tenth of all frames, where it slides or shakes.
    """
    most = np.array([[_most(swing, slide)] for swing, slide in _core.percentiles(speeds, [98, 10]).tolist()])
    return speeds < most, speeds <= 2 * most


def _most(swing: float, slide: float) -> float:
    """How fast a point is that is still."""
    least, most = max(STILL / 2, _SWING * swing), 3 * max(STILL, _SWING * swing)
    return min(max(least, 2 * slide), most) if slide > 0 else least


def cleaned(stays: Mask, enters: Mask, clip: Clip) -> Mask:
    """From the first to the last frame of the second in each run of the first; no short gaps, then no short runs.

    A run that the clip's end cuts goes on beyond it: one reaches to there, but for what is shorter than a gap, in which
    a foot arrives, or leaves. What reaches there stays though it is short, even without any frame of the second: that
    is beyond the end.
    """
    gap, least = MOMENT * clip.fps, BRIEF * clip.fps if len(clip) > 1 else 0.0
    once = stays.shape[-1] - 1
    if clip.loop and once > 0:
        before_and_after = _core.contact(np.tile(stays[..., :-1], 3), np.tile(enters[..., :-1], 3), gap, least)
        return before_and_after[..., once : 2 * once + 1]
    return _core.contact(np.ascontiguousarray(stays), np.ascontiguousarray(enters), gap, least)


def ramped(held: Mask, clip: Clip) -> Array:
    """From 0 to 1 within a while about the edges, which are between frames; more than 0.5 in contact."""
    return _core.ramp(held, clip.fps * BRIEF, clip.loop)
