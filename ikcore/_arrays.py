"""What every typed function does with its arguments: one type of number, shapes checked, errors that say which."""

from __future__ import annotations

import functools
import itertools
import math
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# What a gufunc takes for an optional operand that is not given: one of size 0.
_NOT_GIVEN = {np.dtype(number): np.empty(0, number) for number in (np.float32, np.float64)}


def number_type(*pose: ArrayLike) -> np.dtype[Any]:
    """Return float32 when the whole pose is (or is narrower), else float64: the pose decides, nothing widens it."""
    return np.dtype(np.float32 if all(_is_narrow(part) for part in pose) else np.float64)


def _is_narrow(value: ArrayLike) -> bool:
    if isinstance(value, (list, tuple, int, float)) and not _holds_arrays(value):
        return False  # Python's numbers are doubles
    dtype = np.asarray(value).dtype
    return dtype.kind == "f" and dtype.itemsize <= 4


def _holds_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(part, "dtype") for part in value)


def rows(name: str, value: ArrayLike, dtype: np.dtype[Any], *row: int) -> NDArray[Any]:
    """`value` as an array of `dtype` with rows of shape `row`, say (..., 3); without `row`, of any shape."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected an array of shape {_shape(row)}, got rows of different lengths") from error
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: expected an array without mask; fill it with NaN to have items left out")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real numbers, got {array.dtype}")
    if array.ndim < len(row) or array.shape[array.ndim - len(row) :] != row:
        raise ValueError(f"{name}: expected an array of shape {_shape(row)}, got shape {array.shape}")
    if array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):  # what is too large becomes infinite, and the solver says so
        return array.astype(dtype)


def optional_rows(name: str, value: ArrayLike | None, dtype: np.dtype[Any], *row: int) -> NDArray[Any]:
    """The same for an argument that may be None."""
    return _NOT_GIVEN[dtype] if value is None else rows(name, value, dtype, *row)


def optional_number(name: str, value: ArrayLike | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Likewise for a number an item: an array of rows of one, which a gufunc can tell from none."""
    return _NOT_GIVEN[dtype] if value is None else rows(name, value, dtype)[..., np.newaxis]


def _shape(row: tuple[int, ...]) -> str:
    return f"({', '.join(['...', *map(str, row)])})"


def call(solver: np.ufunc, inputs: dict[str, NDArray[Any]], outputs: tuple[NDArray[Any], ...], workers: int = 1) -> Any:
    """Run a gufunc, on several threads if asked to and worth it.

    If leading axes do not broadcast, say so by the names of the arguments.
    """
    if workers != 1:
        workers = _count_of(workers)
    try:
        if workers > 1:
            return _call_in_blocks(solver, inputs, outputs, workers)
        return solver(*inputs.values(), *outputs)
    except ValueError:
        items_of(solver, inputs)
        raise


def items_of(solver: np.ufunc, inputs: dict[str, NDArray[Any]]) -> tuple[int, ...]:
    """The shape of a result without its rows."""
    leading = _leading_axes(solver, inputs)
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError as error:
        listed = ", ".join(f"{name} {inputs[name].shape}" for name in leading)
        raise ValueError(f"{solver.__name__}: leading axes do not broadcast: {listed}") from error


@functools.cache
def _rows_of(signature: str) -> tuple[tuple[str, ...], ...]:
    """The core dimensions of every operand: (("n", "3"), ()) of "(n,3),()"."""
    return tuple(tuple(row.split(",")) if row else () for row in re.findall(r"\(([^)]*)\)", signature))


def _leading_axes(solver: np.ufunc, inputs: dict[str, NDArray[Any]]) -> dict[str, tuple[int, ...]]:
    """The leading axes of the inputs that are given."""
    rows = _rows_of(solver.signature or "")
    return {
        name: array.shape[: array.ndim - len(row)]
        for (name, array), row in zip(inputs.items(), rows, strict=False)
        if array.size or array.ndim > 1
    }


# Fewer items than this are done about as soon by one thread: starting a second takes a few hundred microseconds.
_WORTH_A_THREAD = 131_072


def _count_of(workers: int) -> int:
    """How many threads: -1 is one for every core this process may use."""
    if workers < -1 or workers == 0:
        raise ValueError(f"workers: expected a positive number, or -1 for all cores, got {workers}")
    if workers > 0:
        return workers
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _call_in_blocks(
    solver: np.ufunc, inputs: dict[str, NDArray[Any]], outputs: tuple[NDArray[Any], ...], workers: int
) -> Any:
    """Split the longest leading axis into blocks that the threads take one after another. The bits stay the same."""
    leading, shape = _leading_axes(solver, inputs), items_of(solver, inputs)
    if math.prod(shape) < _WORTH_A_THREAD:
        return solver(*inputs.values(), *outputs)
    outputs = outputs or _empty_outputs(solver, shape, next(iter(inputs.values())).dtype)
    axis = int(np.argmax(shape)) - len(shape)  # from the end: inputs may have fewer axes

    def solve(block: slice) -> None:
        parts = [
            _part(array, len(leading[name]) if name in leading else 0, axis, block, shape[axis])
            for name, array in inputs.items()
        ]
        places = [_part(array, len(shape), axis, block, shape[axis]) for array in outputs]
        solver(*parts, *places)

    _share_out(shape[axis], workers, solve)
    return outputs


def in_blocks(items: int, work: int, workers: int, solve: Callable[[slice], None]) -> None:
    """Do all items, on several threads if asked to and worth it: `work` is as many times what a closed form does."""
    workers = 1 if workers == 1 else _count_of(workers)
    if workers == 1 or items * work < _WORTH_A_THREAD:
        solve(slice(0, items))
    else:
        _share_out(items, workers, solve)


def _share_out(items: int, workers: int, solve: Callable[[slice], None]) -> None:
    edges = np.linspace(0, items, 4 * workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(solve, slice(*edge)) for edge in itertools.pairwise(edges)]:
            done.result()


def _part(array: NDArray[Any], axes: int, axis: int, block: slice, length: int) -> NDArray[Any]:
    """The block of an array with so many leading axes; all of it where it broadcasts along that axis."""
    at = axes + axis
    if at < 0 or array.shape[at] != length:
        return array
    return array[(slice(None),) * at + (block,)]


def _empty_outputs(solver: np.ufunc, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
    _, outputs = (_rows_of(side) for side in (solver.signature or "").split("->"))
    types = solver.types[0].split("->")[1]
    return tuple(
        np.empty((*shape, *map(int, row)), np.int32 if kind == "i" else dtype)
        for row, kind in zip(outputs, types, strict=True)
    )
