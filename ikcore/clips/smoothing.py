"""Smooth curves over whole clips: near to the wanted values, within bounds, and pinned at chosen frames."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, status
from ikcore._arrays import as_text, number_type, rows, switch, whole_number
from ikcore._threads import on_threads, thread_count
from ikcore.solving.registry import FPS, Option

_ARGUMENTS = ("wanted", "lower", "upper", "pull")

_DOUBLE = np.dtype(np.float64)

_TENSION = Option("tension", 0.0, 0.0, 1e100, "how much it counts to be short, 1 / second^2")

# For fewer numbers a second thread does not pay.
_WORTH_A_THREAD = 2048

_LANES = 8  # channels that the widest vectors process at once


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """The result of `smooth` per channel.

    Attributes
    ----------
    values : array
        The curves, with the common shape of all arguments.
    status : array of int32
        `Status` flags of every channel, without the axis of frames; 0 means that the curve is optimal.
    iterations : array of int32
        Number of banded systems that were factored.

    Examples
    --------
    >>> import ikcore as ik
    >>> ik.smooth(np.ones(5), fps=30, pull=1 / 0.05**4).status
    array(0, dtype=int32)
    """

    values: NDArray[Any]
    status: NDArray[np.int32]
    iterations: NDArray[np.int32]


def smooth(
    wanted: ArrayLike,
    *,
    fps: float,
    pull: ArrayLike,
    tension: float = 0.0,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    loop: bool = False,
    axis: int = 0,
    workers: int | None = 1,
    strict: bool = False,
) -> Smoothed:
    """The smoothest curves near to the wanted values and within bounds: smoothing splines with limits.

    Under ``lower <= x <= upper``, the curve minimizes ``x''^2 + tension x'^2 + pull (x - wanted)^2``, integrated over
    time in seconds. The exact minimum is found, not an approximation.

    Parameters
    ----------
    wanted : array_like
        A number for every frame, or one for all. float32 gives float32, everything else float64.
    fps : float
        Frames per second. It changes only the sampling of the curve.
    pull : array_like
        Weight of the distance from the wanted value, 1 / second^4; 0 ignores it. ``1 / time**4`` keeps motion slower
        than ``time`` and smooths faster motion. It halves a wave with a period of 6.3 ``time``.
    tension : float, optional
        Weight of the curve's slope, 1 / second^2: it reduces overshoot between fixed frames.
    lower, upper : array_like, optional
        Bounds; infinite ones are none. If both are equal, the curve is pinned there. If lower is above upper, it passes
        half-way between (`Status.CONFLICT`).
    loop : bool, optional
        The last frame is the first again. Only the bounds of the last one are used. Subtract the travel per cycle of a
        loop before.
    axis : int, optional
        The axis of frames in every array. All others are channels, each with its own curve. Arrays broadcast, so a
        number stands for every frame and channel.
    workers : int or None, optional
        Number of threads; -1: one for every core. The values do not depend on it.
    strict : bool, optional
        Raise `UnusableError` if a channel cannot be used (because of NaN, for instance), instead of one
        `UnusableWarning`. Such a channel gets its wanted values.

    Notes
    -----
    To keep a curve where it need not change, solve for an offset to it: wanted 0, and bounds minus the curve. Two
    neighbouring pinned frames separate a channel into two independent parts. If offsets of 0 keep the bounds of a part,
    its offsets are exactly 0.

    A channel that is not fixed by a pull in two frames, or by pins, is drawn to its wanted values by
    ``1 / duration**4``.

    Examples
    --------
    A pelvis at a height of 1 that may be at most 0.9 high in one frame, because a leg would not reach otherwise:

    >>> import numpy as np
    >>> import ikcore as ik
    >>> upper = np.full(11, np.inf)
    >>> upper[5] = 0.9
    >>> ik.smooth(1.0, fps=30, pull=1 / 0.05**4, upper=upper).values.round(3)
    array([1.015, 0.997, 0.975, 0.949, 0.919, 0.9  , 0.919, 0.949, 0.975,
           0.997, 1.015])
    """
    dtype = number_type(wanted)
    if pull is None:
        raise TypeError("pull: expected numbers, got None; 0 is no pull")
    given = zip(_ARGUMENTS, (wanted, lower, upper, pull), strict=True)
    arrays = {name: _frames_last(name, value, axis) for name, value in given if value is not None}
    if arrays["pull"].min(initial=0) < 0:
        raise ValueError("pull: expected no negative numbers")
    shape = _broadcast(arrays)
    channels = math.prod(shape[:-1])
    flat = {name: _flat(array, shape, channels) for name, array in arrays.items()}
    values, numbers = np.empty((channels, shape[-1])), np.empty((2, channels), np.int32)
    rate, tightness = FPS.number(fps), _TENSION.number(tension)
    switch("loop", loop)
    switch("strict", strict)
    threads, stopped = thread_count(workers), bytearray(1)

    def part(name: str, block: slice) -> NDArray[Any] | None:
        array = flat.get(name)
        return array if array is None or len(array) == 1 else array[block]

    def solve(block: slice) -> None:
        wanted, lower, upper, pull = (part(name, block) for name in _ARGUMENTS)
        found = values[block], numbers[0, block], numbers[1, block]
        _core.smooth(wanted, lower, upper, pull, rate, tightness, loop, *found, stopped)

    def stop() -> None:
        stopped[0] = 1

    on_threads(_blocks(channels, values.size, threads), threads, solve, stop)
    curves = _frames_at(axis, values.reshape(shape))
    if dtype != _DOUBLE:
        with np.errstate(over="ignore"):
            curves = curves.astype(dtype)
    found = Smoothed(curves, numbers[0].reshape(shape[:-1]), numbers[1].reshape(shape[:-1]))
    status.report_unusable("smooth", found.status, strict=strict)
    return found


def _frames_last(name: str, value: ArrayLike, axis: int) -> NDArray[Any]:
    array = rows(name, value, _DOUBLE)
    if array.ndim == 0:
        return array
    axes = list(range(array.ndim))
    try:
        axes.append(axes.pop(whole_number(axis)))
    except TypeError:
        raise TypeError(f"axis: expected a whole number, got {as_text(axis)}") from None
    except IndexError:
        raise ValueError(f"{name}: expected frames along axis {axis}, got an array of shape {array.shape}") from None
    return array.transpose(axes)


def _frames_at(axis: int, array: NDArray[Any]) -> NDArray[Any]:
    """Undo `_frames_last`."""
    axes = list(range(array.ndim))
    axes.insert(axis % array.ndim, axes.pop())
    return array.transpose(axes)


def _broadcast(arrays: dict[str, NDArray[Any]]) -> tuple[int, ...]:
    """The common shape of channels and frames."""
    shapes = {name: array.shape for name, array in arrays.items() if array.ndim}
    if not shapes:
        raise ValueError("smooth: expected frames in one argument at least, got single numbers alone")
    try:
        return next(iter(shapes.values())) if len(set(shapes.values())) == 1 else np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"smooth: arrays do not broadcast: with frames last, {listed}") from None


def _flat(array: NDArray[Any], shape: tuple[int, ...], channels: int) -> NDArray[Any]:
    """One channel per row, or one row for all; one number per frame, or one for all."""
    if array.ndim < 2:
        return array.reshape(1, -1)
    wide = np.broadcast_to(array, (*shape[:-1], array.shape[-1]))
    return wide.reshape(channels, array.shape[-1])


def _blocks(channels: int, numbers: int, workers: int) -> list[slice]:
    """Blocks of whole vectors of channels, a few for each thread."""
    vectors = -(-channels // _LANES)
    many = min(vectors, 4 * workers) if workers > 1 and numbers >= _WORTH_A_THREAD else min(vectors, 1)
    edges = [min(vectors * part // many * _LANES, channels) for part in range(many + 1)] if many else [0]
    return [slice(*edge) for edge in itertools.pairwise(edges)]


def spline(
    wanted: NDArray[Any] | float,
    *,
    fps: float,
    pull: NDArray[Any] | float,
    lower: NDArray[Any] | float | None = None,
    upper: NDArray[Any] | float | None = None,
    tension: float = 0.0,
    loop: bool = False,
    start: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The values of `smooth` for doubles, frames first, without its checks.

    One of the arrays has all channels. A start near to the result saves time and changes no more than rounding.
    """
    named = wanted, lower, upper, pull, start
    given = [None if values is None else np.asarray(values, np.float64) for values in named]
    shape = max((values for values in given if values is not None), key=lambda values: (values.ndim, values.size)).shape
    near, low, high, drawn, begin = [None if values is None else _channels(values, shape) for values in given]
    found = np.empty((shape[0], math.prod(shape[1:])))  # a row for each frame, as what is given has them
    numbers = np.empty((2, found.shape[1]), np.int32)
    _core.smooth(near, low, high, drawn, fps, tension, loop, found.T, numbers[0], numbers[1], None, begin)
    return found.reshape(shape)


def _channels(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """A row for each; one row, or one number, for all."""
    if values.ndim < 2 or len(values) == values.size:
        return values.reshape(1, -1)
    wide = values if values.shape == shape else np.broadcast_to(values, shape)
    return wide.reshape(shape[0], -1).T
