"""What every typed function does with its arguments: one type of number, shapes checked, errors that say which."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# What a gufunc takes for an optional operand that is not given: one of size 0.
_NOT_GIVEN = {np.dtype(number): np.empty(0, number) for number in (np.float32, np.float64)}


def number_type(*pose: ArrayLike) -> np.dtype[Any]:
    """Return float32 when the whole pose is (or is narrower), else float64: the pose decides, nothing widens it."""
    widest = max(np.asarray(part).dtype.itemsize if _is_float(part) else 8 for part in pose)
    return np.dtype(np.float32 if widest <= 4 else np.float64)


def _is_float(value: ArrayLike) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"


def rows(name: str, value: ArrayLike, dtype: np.dtype[Any], *row: int) -> NDArray[Any]:
    """`value` as an array of `dtype` with rows of shape `row`, say (..., 3); without `row`, of any shape."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected an array of shape {_shape(row)}, got rows of different lengths") from error
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


def call(solver: np.ufunc, inputs: dict[str, NDArray[Any]], outputs: tuple[NDArray[Any], ...]) -> Any:
    """Run a gufunc; if leading axes do not broadcast, say so by the names of the arguments."""
    try:
        return solver(*inputs.values(), *outputs)
    except ValueError:
        rows_of = re.findall(r"\(([^)]*)\)", solver.signature or "")  # "n,3" of "(n,3)"
        leading = {
            name: array.shape[: array.ndim - len(row.split(",")) * bool(row)]
            for (name, array), row in zip(inputs.items(), rows_of, strict=False)
            if array.size or array.ndim > 1
        }
        try:
            np.broadcast_shapes(*leading.values())
        except ValueError as error:
            listed = ", ".join(f"{name} {inputs[name].shape}" for name in leading)
            raise ValueError(f"{solver.__name__}: leading axes do not broadcast: {listed}") from error
        raise
