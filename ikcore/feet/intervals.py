"""Intervals of frames: when something holds, and the inside of that."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core

Mask = NDArray[np.bool_]

_BLOCK = 1024


def blocks(frames: int) -> Iterator[slice]:
    """Frames, some at a time, so that the whole skeleton is never in memory over the whole clip."""
    for start in range(0, frames, _BLOCK):
        yield slice(start, min(start + _BLOCK, frames))


def runs(mask: ArrayLike) -> NDArray[np.intp]:
    """The intervals in which something holds: stances of a contact, swings of its opposite.

    Parameters
    ----------
    mask : (frames,) array_like of bool
        Say whether a point is in contact.

    Returns
    -------
    (n, 2) array of int
        Of each its first frame, and the first one after it.

    Examples
    --------
    >>> runs([True, True, False, False, True])
    array([[0, 2],
           [4, 5]])
    """
    return _core.intervals(np.ascontiguousarray(mask_of("mask", mask, 1)))


def core(start: int, stop: int, fps: float) -> slice:
    """An interval less 10 % of it and 1/30 s at each end: there feet still arrive, or leave. Never empty.

    Parameters
    ----------
    start, stop : int
        Its first frame, and the first one after it.
    fps : float
        Frames a second.

    Returns
    -------
    slice

    Examples
    --------
    >>> core(0, 10, 30)
    slice(2, 8, None)
    """
    cut = min(round(0.1 * (stop - start) + fps / 30), (stop - start - 1) // 2)
    return slice(start + cut, stop - cut)


def mask_of(name: str, value: ArrayLike, axes: int | None = None) -> Mask:
    """True and False, as many axes as said; anything else is refused."""
    mask = np.asarray(value)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name}: expected True and False, got {mask.dtype}; of weights take those above 0.5")
    if axes is not None and mask.ndim != axes:
        raise ValueError(f"{name}: expected {axes} axes, time first, got shape {mask.shape}")
    return mask
