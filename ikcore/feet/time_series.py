"""Numbers over time: percentiles, interpolation, ramps and filters, the same bits on every machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _arrays

Array = NDArray[np.float64]


def percentile(values: Array, percent: float) -> float:
    """A percentile of the finite values; NaN if there are none."""
    known = values[np.isfinite(values)]
    return float(_arrays.percentile(known, percent)) if known.size else math.nan


def straight(times: NDArray[Any], knots: NDArray[Any], values: Array) -> Array:
    """Linear interpolation between knots, constant beyond them; unlike NumPy's, the same bits on every machine."""
    after = np.searchsorted(knots, times, side="right")
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(knots) - 1)
    span = knots[after] - knots[before]
    share = np.clip((times - knots[before]) / np.where(span > 0, span, 1), 0, 1)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[before] + share * (values[after] - values[before]))


def extend_rows(rows: Array, more: int, loop: bool) -> Array:
    """More rows at both ends: a loop continues from its last position, other rows are reflected at their ends."""
    last = len(rows) - 1
    if last == 0:
        return rows.repeat(2 * more + 1, axis=0)
    if not loop and more > last:
        return extend_rows(extend_rows(rows, last, loop), more - last, loop)
    if not loop:
        before, after = (
            2 * end - each for end, each in ((rows[0], rows[1 : more + 1]), (rows[-1], rows[last - more : -1]))
        )
        return np.concatenate([before[::-1], rows, after[::-1]])
    times, frame = np.divmod(np.concatenate([np.arange(-more, 0), last + 1 + np.arange(more)]), last)
    added = rows[frame] + times.reshape(-1, *[1] * (rows.ndim - 1)) * (rows[last] - rows[0])
    return np.concatenate([added[:more], rows, added[more:]])


def ramp(held: NDArray[np.bool_], frames: float, loop: bool) -> Array:
    """Weights that rise from 0 to 1 within so many frames about the nearest edge of masks (..., frames)."""
    count = held.shape[-1]
    at, changes = np.arange(1.0, count), held[..., 1:] != held[..., :-1]
    before = np.maximum.accumulate(np.where(changes, at, -np.inf), axis=-1)
    after = np.minimum.accumulate(np.where(changes, at, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    ends = np.full((*held.shape[:-1], 1), np.inf)
    before, after = np.concatenate([-ends, before], axis=-1), np.concatenate([after, ends], axis=-1)
    if loop:
        before = np.maximum(before, before[..., -1:] - (count - 1))
        after = np.minimum(after, after[..., :1] + (count - 1))
    middle = np.arange(count) + 0.5
    away = np.minimum(middle - before, after - middle) / frames
    share = np.clip(np.where(held, 0.5 + away, 0.5 - away), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))


def smooth(values: Array, reach: float, fps: float) -> Array:
    """Three moving means, which together have the spread of a kernel (1 - t^2)^2 that reaches so many seconds.

    At the ends values stay as they are.
    """
    half = round(reach * fps / math.sqrt(7))  # the standard deviation of that kernel, in frames
    wide, count = 2 * half + 1, len(values)
    room = np.empty((count + wide, *values.shape[1:]))
    for _ in range(3 if half else 0):
        room[: half + 1], room[half + 1 : count + half + 1], room[count + half + 1 :] = values[0], values, values[-1]
        sums = np.add.accumulate(room, axis=0)
        values = (sums[wide:] - sums[:-wide]) / wide
    return values


def spread(values: Array, reach: float, fps: float) -> Array:
    """Maximum filter: the largest value within `reach` seconds of each frame, of values (..., frames)."""
    frames = values.shape[-1]
    count = min(max(math.ceil(reach * fps) - 1, 0), frames)
    found = np.full((*values.shape[:-1], frames + 2 * count), -np.inf)
    found[..., count : count + frames] = values
    wide, most = 1, 2 * count + 1
    while wide < most:  # the largest of so many frames from each on, twice as many in each turn
        step = min(wide, most - wide)
        found = np.maximum(found[..., :-step], found[..., step:])
        wide += step
    return found
