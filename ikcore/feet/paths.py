"""Numbers over time: percentiles, interpolation and ramps, the same bits on every machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _arrays

Array = NDArray[np.float64]


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


def prolonged(rows: Array, more: int, loop: bool) -> Array:
    """So many rows more at both ends: a loop goes on from where it has got to, others turn about their ends."""
    last = len(rows) - 1
    if last == 0:
        return rows.repeat(2 * more + 1, axis=0)
    if not loop:
        return np.pad(rows, [(more, more), *[(0, 0)] * (rows.ndim - 1)], mode="reflect", reflect_type="odd")
    times, frame = np.divmod(np.concatenate([np.arange(-more, 0), last + 1 + np.arange(more)]), last)
    added = rows[frame] + times.reshape(-1, *[1] * (rows.ndim - 1)) * (rows[last] - rows[0])
    return np.concatenate([added[:more], rows, added[more:]])


def ramp(held: NDArray[np.bool_], frames: float, loop: bool) -> Array:
    """Weights that rise from 0 to 1 within so many frames about the edges of a mask (frames,), by the nearest edge."""
    edges = np.flatnonzero(held[1:] != held[:-1]) + 1.0
    if not len(edges):
        return held.astype(np.float64)
    if loop:
        edges = np.concatenate([edges + times * (len(held) - 1) for times in (-1, 0, 1)])
    at = np.arange(len(held)) + 0.5
    after = np.searchsorted(edges, at)
    near = edges[np.maximum(after - 1, 0)], edges[np.minimum(after, len(edges) - 1)]
    away = np.minimum(np.abs(at - near[0]), np.abs(at - near[1])) / frames
    share = np.clip(np.where(held, 0.5 + away, 0.5 - away), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
