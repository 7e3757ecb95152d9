"""Calls of the rotation functions of the C core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import optional_rows
from ikcore._call import call

Array = NDArray[Any]


def call_one(
    solver: np.ufunc, dtype: np.dtype[Any], out: Array | None, workers: int | None, **operands: tuple[Any, ...]
) -> Array:
    """Call a gufunc with one result. An operand is a value and the shape of its rows."""
    if out is None and workers == 1 and type(workers) is int and (made := _plain(solver, dtype, operands)) is not None:
        return made
    result: Array = _call(solver, dtype, () if out is None else (out,), workers, operands)
    return result


def _plain(solver: np.ufunc, dtype: np.dtype[Any], operands: dict[str, tuple[Any, ...]]) -> Array | None:
    """The result if NumPy can be called directly: for arrays that fit, with at most one leading axis."""
    values = []
    for value, *row in operands.values():
        if type(value) is not np.ndarray or value.dtype is not dtype or value.ndim > 2 or value.ndim < len(row):
            return None
        if row and not value.strides[-1]:  # the core would take it for packed
            return None
        values.append(value)
    try:
        made: Array = solver(*values)
    except ValueError:  # the general path raises the error
        return None
    return made


def call_two(
    solver: np.ufunc,
    dtype: np.dtype[Any],
    out: tuple[Array, Array] | None,
    workers: int | None,
    **operands: tuple[Any, ...],
) -> tuple[Array, Array]:
    """Call a gufunc with two results."""
    first, second = _call(solver, dtype, () if out is None else out, workers, operands)
    return first, second


def _call(
    solver: np.ufunc,
    dtype: np.dtype[Any],
    outputs: tuple[Array, ...],
    workers: int | None,
    operands: dict[str, tuple[Any, ...]],
) -> Any:
    places = tuple([check_output(array, dtype) for array in outputs])
    inputs = {}
    for name, (value, *row) in operands.items():  # a comprehension, and even more a generator, takes longer to start
        inputs[name] = optional_rows(name, value, dtype, *row)
    return call(solver, inputs, places, workers)


def check_output(out: Array, dtype: np.dtype[Any]) -> Array:
    came = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
    if came != dtype:
        raise TypeError(f"out: expected an array of {dtype}, as the input is, got {came}")
    return out


def write_output(result: Array, out: Array | None) -> Array:
    """The result of a function without a gufunc, written to `out` if that is given."""
    if out is None:
        return result
    if check_output(out, result.dtype).shape != result.shape:
        raise ValueError(f"out: expected shape {result.shape}, got {out.shape}")
    out[...] = result
    return out
