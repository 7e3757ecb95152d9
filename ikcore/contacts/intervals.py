"""Intervals of frames: runs of a mask, and the inside of an interval."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Mask = NDArray[np.bool_]

_BLOCK = 1024


def blocks(frames: int) -> Iterator[slice]:
    """Slices of some frames at a time, so that the whole skeleton is never in memory over the whole clip."""
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
        The first frame of each interval, and the first one after it.

    Examples
    --------
    >>> runs([True, True, False, False, True])
    array([[0, 2],
           [4, 5]])
    """
    known = mask_of("mask", mask, 1)
    wide = np.zeros(len(known) + 2, bool)
    wide[1:-1] = known
    return np.asarray((wide[1:] != wide[:-1]).nonzero()[0].reshape(-1, 2))


class Rows:
    """The frames of several intervals, one interval after the other, each as a row of arrays.

    Parameters
    ----------
    intervals : (n, 2) array_like of int
        The first frame of each, and the one after its last. None is empty.

    Examples
    --------
    >>> rows = Rows([(2, 4), (7, 10)])
    >>> rows.frames, rows.of, rows.at
    (array([2, 3, 7, 8, 9]), array([0, 0, 1, 1, 1]), array([0, 1, 0, 1, 2]))
    >>> rows.largest(np.array([5.0, 6.0, 3.0, 2.0, 1.0]))
    array([6., 3.])
    """

    def __init__(self, intervals: ArrayLike) -> None:
        self.start, self.stop = np.asarray(intervals, np.intp).reshape(-1, 2).T
        self.count = self.stop - self.start
        self.first = np.add.accumulate(self.count) - self.count  # the first row of each interval
        self.of = np.repeat(np.arange(len(self.count)), self.count)  # the number of the interval of each row
        self.at = np.arange(len(self.of)) - self.first[self.of]  # frames since the start of the interval
        self.frames = self.start[self.of] + self.at

    def largest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest value in each interval, of values (rows, ...)."""
        return np.maximum.reduceat(values, self.first, axis=0) if len(self.first) else values

    def smallest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The smallest value in each interval, of values (rows, ...)."""
        return np.minimum.reduceat(values, self.first, axis=0) if len(self.first) else values


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
    """The argument as an array of bool with this number of axes; a TypeError or ValueError for anything else."""
    mask = np.asarray(value)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name}: expected True and False, got {mask.dtype}; of weights take those above 0.5")
    if axes is not None and mask.ndim != axes:
        raise ValueError(f"{name}: expected {axes} axes, time first, got shape {mask.shape}")
    return mask
