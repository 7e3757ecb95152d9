"""Argument handling of the typed functions: one number type, checked shapes, and errors that name the argument."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core

_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# The operand that a gufunc takes for an optional argument that is not given: an array of size 0.
NOT_GIVEN = {number: np.empty(0, number) for number in (_FLOAT, _DOUBLE)}


def dot(a: NDArray[Any], b: NDArray[Any]) -> Any:
    """Dot products of vectors (..., 3), summed in written order, so that the bits are the same on every machine."""
    if (found := _core.dot(a, b)) is not None:
        return found
    products = a * b
    return products[..., 0] + products[..., 1] + products[..., 2]


def cross(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Cross products of vectors (..., 3), likewise."""
    if (right := _core.cross(a, b)) is not None:
        return right
    number = np.result_type(a.dtype, b.dtype)  # NumPy 1.26 would give 0-d arrays a lower type priority
    x, y, z, u, v, w = (vectors[..., axis].astype(number) for vectors in (a, b) for axis in range(3))
    first = y * w - z * v
    found = np.empty((*first.shape, 3), first.dtype)
    found[..., 0], found[..., 1], found[..., 2] = first, z * u - x * w, x * v - y * u
    return found


def transform_vectors(matrices: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
    """Matrices (..., 3, 3) times vectors (..., 3), likewise: the libraries behind `@` differ between machines."""
    x, y, z = (vectors[..., axis : axis + 1] for axis in range(3))
    return np.asarray(matrices[..., 0] * x + matrices[..., 1] * y + matrices[..., 2] * z)


def mean_in_order(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The mean of arrays, summed in order, so that the bits are the same on every machine."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.asarray(total / len(parts))


def size(vectors: NDArray[Any]) -> Any:
    """The lengths of vectors (..., 3)."""
    if (found := _core.size(vectors)) is not None:
        return found
    return np.sqrt(dot(vectors, vectors))


def path_lengths(points: NDArray[Any]) -> NDArray[np.float64]:
    """The lengths of chains of points (frames, n, 3), from the first point by way of all to the last."""
    found = np.zeros(len(points))
    for k in range(1, points.shape[1]):
        found = found + size(np.subtract(points[:, k], points[:, k - 1], dtype=np.float64))
    return found


def extent(points: NDArray[Any]) -> Any:
    """How far apart points (..., n, 3) are along each axis."""
    columns = np.ascontiguousarray(points.swapaxes(-1, -2))  # over rows of three NumPy takes ten times as long
    return np.maximum.reduce(columns, axis=-1) - np.minimum.reduce(columns, axis=-1)


def unit(vector: NDArray[Any]) -> NDArray[Any]:
    """A vector scaled to length 1, whatever its length; zero stays zero."""
    near = vector / (np.abs(vector).max() or 1)
    return np.asarray(near / (size(near) or 1))


def percentile(values: NDArray[Any], percent: float) -> Any:
    """Percentile along the first axis, linearly interpolated, as in NumPy but ten times as fast. NaN is not allowed."""
    at = (len(values) - 1) * (percent / 100)
    ordered = np.partition(values, (math.floor(at), math.ceil(at)), axis=0)
    below, above = ordered[math.floor(at)], ordered[math.ceil(at)]
    share, span = at - math.floor(at), above - below
    return below + span * share if share < 0.5 else above - span * (1 - share)


def median(values: NDArray[Any], axis: int = 0) -> Any:
    """Median along an axis, as in NumPy, likewise; fastest along the last one."""
    count = values.shape[axis]
    below, above = (count - 1) // 2, count // 2
    ordered = np.partition(values, (below, above), axis=axis).swapaxes(0, axis)
    return (ordered[below] + ordered[above]) / 2


def number_type(*pose: ArrayLike) -> np.dtype[Any]:
    """Return float32 if the whole pose is float32 or narrower, else float64. Other arguments do not widen it."""
    return _FLOAT if all(map(_is_narrow, pose)) else _DOUBLE


def _is_narrow(value: ArrayLike) -> bool:
    if type(value) is np.ndarray:  # the usual case
        return value.dtype.kind == "f" and value.itemsize <= 4
    if is_rotation(value):
        return False
    if isinstance(value, (list, tuple, int, float)) and not _holds_arrays(value):
        return False  # Python floats are doubles
    try:
        dtype = np.asarray(value).dtype
    except ValueError:
        return False  # rows of different lengths: `rows` raises the error
    return dtype.kind == "f" and dtype.itemsize <= 4


def _holds_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(part, "dtype") for part in value)


def rows(name: str, value: ArrayLike, dtype: np.dtype[Any], *row: int) -> NDArray[Any]:
    """`value` as an array of `dtype` with rows of shape `row`, say (..., 3); without `row`, of any shape."""
    given: Any = value
    if (
        type(given) is np.ndarray
        and given.dtype is dtype  # identity is faster to test than equality
        and given.flags.aligned
        and given.shape[given.ndim - len(row) :] == row
        and (not row or given.strides[-1])  # 0 if one number is broadcast along a row
    ):
        return given  # the usual case
    try:
        array = _quaternions(value) if row[-1:] == (4,) and is_rotation(value) else np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected an array of shape {_shape(row)}, got rows of different lengths") from error
    if "numpy.ma" in sys.modules and isinstance(
        value, np.ma.MaskedArray
    ):  # the mask of an array that has none is slow to get
        raise TypeError(f"{name}: expected an array without mask; fill it with NaN to have items left out")
    if array.dtype.kind not in "biuf":
        given = as_text(value) if array.dtype.kind in "OUS" else array.dtype
        raise TypeError(f"{name}: expected real numbers, got {given}")
    if array.ndim < len(row) or array.shape[array.ndim - len(row) :] != row:
        raise ValueError(f"{name}: expected an array of shape {_shape(row)}, got shape {array.shape}")
    if _fits(array, dtype):
        return array if not row or array.strides[-1] else array.copy(order="C")
    with np.errstate(all="ignore"):  # numbers too large become infinite, and the solver reports them
        return array.astype(dtype)


def is_rotation(value: Any) -> bool:
    """True if the value is a `Rotation` as in SciPy."""
    return hasattr(value, "as_quat")


def _quaternions(rotation: Any) -> NDArray[Any]:
    """The rotation's quaternions (..., 4), w first."""
    try:
        return np.asarray(rotation.as_quat(scalar_first=True))
    except TypeError:  # SciPy before 1.14
        return np.roll(rotation.as_quat(), 1, axis=-1)


def _fits(array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """True if C can read the array. A field of a packed structured array may be unaligned."""
    return array.dtype == dtype and array.flags.aligned


def optional_rows(name: str, value: ArrayLike | None, dtype: np.dtype[Any], *row: int) -> NDArray[Any]:
    """The same for an argument that may be None."""
    return NOT_GIVEN[dtype] if value is None else rows(name, value, dtype, *row)


def optional_number(name: str, value: ArrayLike | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same for one number per item: rows of one number, which a gufunc can distinguish from an absent operand."""
    return NOT_GIVEN[dtype] if value is None else rows(name, value, dtype)[..., np.newaxis]


def _shape(row: tuple[int, ...]) -> str:
    return f"({', '.join(['...', *map(str, row)])})"


def as_text(value: Any, written: Callable[[Any], str] = repr) -> str:
    """A value as text for error messages, shortened."""
    try:
        text = written(value)
    except ValueError:  # an int with more digits than Python prints
        return "a number of very many digits"
    return text if len(text) <= 100 else f"{text[:80]}..."


def plain(value: float, digits: int = 2) -> str:
    """A number with so many digits, never with an exponent; whole numbers in full: 1.1, 114, 0.000011."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    return f"{value:.0f}" if abs(value) > 1 else np.format_float_positional(value, digits, fractional=False, trim="-")


def whole_number(value: Any) -> int:
    """`value` as an int; TypeError if it is anything else, including True and False."""
    if isinstance(value, bool):
        raise TypeError("expected a whole number")
    return operator.index(value)


def switch(name: str, value: Any) -> bool:
    """An argument that is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {as_text(value)}")
    return bool(value)
