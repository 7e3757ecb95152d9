"""Argument handling of the typed functions: one number type, checked shapes, and errors that name the argument."""

from __future__ import annotations

import _thread
import functools
import inspect
import math
import operator
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core

_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

# The operand that a gufunc takes for an optional argument that is not given: an array of size 0.
_NOT_GIVEN = {number: np.empty(0, number) for number in (_FLOAT, _DOUBLE)}


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


def transformed(matrices: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
    """Matrices (..., 3, 3) times vectors (..., 3), likewise: the libraries behind `@` differ between machines."""
    x, y, z = (vectors[..., axis : axis + 1] for axis in range(3))
    return np.asarray(matrices[..., 0] * x + matrices[..., 1] * y + matrices[..., 2] * z)


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
    return np.max(points, axis=-2) - np.min(points, axis=-2)


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
        given = shown(value) if array.dtype.kind in "OUS" else array.dtype
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
    return _NOT_GIVEN[dtype] if value is None else rows(name, value, dtype, *row)


def optional_number(name: str, value: ArrayLike | None, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same for one number per item: rows of one number, which a gufunc can distinguish from an absent operand."""
    return _NOT_GIVEN[dtype] if value is None else rows(name, value, dtype)[..., np.newaxis]


def _shape(row: tuple[int, ...]) -> str:
    return f"({', '.join(['...', *map(str, row)])})"


def call(
    solver: np.ufunc, inputs: dict[str, NDArray[Any]], outputs: tuple[NDArray[Any], ...], workers: int | None = 1
) -> Any:
    """Run a gufunc, on several threads if requested and worthwhile.

    If the leading axes do not broadcast, the error names the arguments.
    """
    if type(workers) is not int or workers != 1:  # usually it is
        workers = thread_count(workers)
    try:
        small = _is_small(inputs)
        if not outputs and not small:
            for array in inputs.values():  # any() with a generator takes twice as long
                if array.ndim > 2:  # so sweeps over single numbers only, which are cheap, are not detected
                    if shape := _sweep_with_short_rows(solver, inputs):
                        return _call_with_long_rows(solver, inputs, shape, workers)
                    break
            outputs = _block_for(solver, inputs)
        if workers > 1 or (not small and _may_be_long(solver, inputs, outputs)):
            return _call_in_blocks(solver, inputs, outputs, workers)
        return solver(*inputs.values(), *outputs)
    except ValueError:
        shape = items_of(solver, inputs)
        for expected, given in zip(_empty_outputs(solver, inputs, shape), outputs, strict=False):
            if given.shape != expected.shape:
                raise ValueError(f"out: expected shape {expected.shape}, got {given.shape}") from None
        raise


def _is_small(inputs: dict[str, NDArray[Any]]) -> bool:
    """True if the items are so few that choosing a memory layout takes longer than NumPy's default."""
    for array in inputs.values():
        if array.size >= _SHORT and (array.ndim > 3 or max(array.shape[:-1], default=0) >= _SHORT):
            return False
    return True


def _block_for(solver: np.ufunc, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Output arrays in one block of memory, which is allocated faster; empty if NumPy allocates them as well or better.

    NumPy does so for a single output, and for a single item, where it returns its own scalars. It also does if several
    leading axes are not in C order, because the result then has the same order.
    """
    if solver.nout == 1 or not (shape := items_of(solver, inputs)):
        return ()
    return _empty_outputs(solver, inputs, shape) if _are_in_order(inputs, shape) else ()


def _are_in_order(inputs: dict[str, NDArray[Any]], shape: tuple[int, ...]) -> bool:
    """True if the leading axes of the result are in C order, whoever allocates it."""
    return len(shape) < 2 or all(array.flags.c_contiguous for array in inputs.values())


# Items, or joints of items, per call of C: each call takes at most a tenth of a second. Ctrl-C is handled between
# calls.
AT_ONCE = 65_536


def _may_be_long(solver: np.ufunc, inputs: dict[str, NDArray[Any]], outputs: tuple[NDArray[Any], ...]) -> bool:
    """True if the call may need several blocks to handle Ctrl-C.

    Blocks must not change the memory order of the axes.
    """
    if not any(array.size >= AT_ONCE or array.ndim > 2 for array in inputs.values()):
        return False
    return bool(outputs) or _are_in_order(inputs, items_of(solver, inputs))


# NumPy calls a solver once for every row of the last axis. For rows shorter than this, the calls cost more than the
# items.
_SHORT = 16


def _sweep_with_short_rows(solver: np.ufunc, inputs: dict[str, NDArray[Any]]) -> tuple[int, ...]:
    """The shape of a sweep such as (100000, 1) by (4,), else (). If nothing broadcasts, NumPy makes one long row."""
    if len(set(_leading_axes(solver, inputs).values())) == 1:
        return ()
    shape = items_of(solver, inputs)
    return shape if shape[-1] < _SHORT <= max(shape) else ()


def _call_with_long_rows(
    solver: np.ufunc, inputs: dict[str, NDArray[Any]], shape: tuple[int, ...], workers: int
) -> Any:
    """Run a sweep along its longest axis, which becomes the last axis of the results in memory.

    The bits stay the same.
    """
    longest = int(np.argmax(shape))

    def turned(array: NDArray[Any]) -> NDArray[Any]:
        return np.swapaxes(array, longest, len(shape) - 1)

    sweep = inputs | {
        name: turned(np.broadcast_to(inputs[name], shape + inputs[name].shape[len(axes) :]))
        for name, axes in _leading_axes(solver, inputs).items()
    }
    made = _call_in_blocks(solver, sweep, (), workers, "C")
    return turned(made) if isinstance(made, np.ndarray) else tuple(map(turned, made))


def items_of(solver: np.ufunc, inputs: dict[str, NDArray[Any]]) -> tuple[int, ...]:
    """The leading axes of a result."""
    leading = _leading_axes(solver, inputs)
    return broadcast_axes(solver.__name__, leading, {name: inputs[name].shape for name in leading})


def broadcast_axes(
    what: str, leading: dict[str, tuple[int, ...]], shapes: dict[str, tuple[int, ...]]
) -> tuple[int, ...]:
    """The common shape of the leading axes of arguments. If they do not broadcast, the error lists `shapes`."""
    distinct = set(leading.values()) - {()}
    if len(distinct) < 2:  # usually; broadcast_shapes takes as long as a hundred solves
        return distinct.pop() if distinct else ()
    try:
        return np.broadcast_shapes(*distinct)
    except ValueError as error:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{what}: leading axes do not broadcast: {listed}") from error


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
        if array is not _NOT_GIVEN.get(array.dtype)
    }


def shown(value: Any, written: Callable[[Any], str] = repr) -> str:
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
        raise TypeError(f"{name}: expected True or False, got {shown(value)}")
    return bool(value)


# An upper bound of useful threads.
_MOST_WORKERS = 1024

# For fewer items a second thread does not pay: starting it takes a few hundred microseconds.
_WORTH_A_THREAD = 131_072


def thread_count(workers: int | None) -> int:
    """The number of threads; None means one for every core that this process may use."""
    if type(workers) is int and workers == 1:  # the usual case
        return 1
    if workers is None:
        return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        workers = whole_number(workers)
    except TypeError:
        raise TypeError(f"workers: expected a whole number, or None for all cores, got {shown(workers)}") from None
    if not 1 <= workers <= _MOST_WORKERS:
        raise ValueError(f"workers: expected 1 to {_MOST_WORKERS}, or None for all cores, got {shown(workers)}")
    return workers


def _call_in_blocks(
    solver: np.ufunc,
    inputs: dict[str, NDArray[Any]],
    outputs: tuple[NDArray[Any], ...],
    workers: int,
    order: Literal["K", "C"] = "K",
) -> Any:
    """Split the longest leading axis into blocks that the threads take one after another. The bits stay the same."""
    leading = _leading_axes(solver, inputs)
    shape = items_of(solver, inputs | ({"out": outputs[0]} if outputs else {}))
    longest = max(shape, default=1)
    work = math.prod(shape) // max(longest, 1) * _longest_list(solver, inputs)
    blocks = _blocks(longest, work, workers)
    if len(blocks) == 1:
        return solver(*inputs.values(), *outputs, order=order)
    outputs = outputs or _empty_outputs(solver, inputs, shape)
    inputs = {  # no block may read memory that another has written
        name: array.copy() if any(np.may_share_memory(array, place) for place in outputs) else array
        for name, array in inputs.items()
    }
    axis = int(np.argmax(shape)) - len(shape)  # from the end: inputs may have fewer axes

    def solve(block: slice) -> None:
        parts = [
            _part(array, len(leading[name]) if name in leading else 0, axis, block, shape[axis])
            for name, array in inputs.items()
        ]
        places = [_part(array, len(shape), axis, block, shape[axis]) for array in outputs]
        solver(*parts, *places, order=order)

    on_threads(blocks, workers, solve)
    return outputs if len(outputs) > 1 else outputs[0]


def _longest_list(solver: np.ufunc, inputs: dict[str, NDArray[Any]]) -> int:
    """The length of the longest list of an item, such as (n,3); 1 if there is none."""
    given = zip(inputs.values(), _rows_of(solver.signature or ""), strict=False)
    return max((array.shape[-len(row)] for array, row in given if row and row[0] == "n"), default=1)


def in_blocks(items: int, work: int, workers: int | None, solve: Callable[[slice], None]) -> None:
    """Solve all items, on several threads if requested and worthwhile.

    `work` is the cost of an item relative to a closed form.
    """
    workers = thread_count(workers)
    blocks = _blocks(items, work, workers)
    if len(blocks) == 1:
        solve(blocks[0])
    else:
        on_threads(blocks, workers, solve)


def _blocks(items: int, work: int, workers: int) -> list[slice]:
    """Blocks of items: a few for every thread if threads pay, and enough to handle Ctrl-C between them."""
    count = math.ceil(items * work / AT_ONCE)
    if workers > 1 and items * work >= _WORTH_A_THREAD:
        count = max(count, 4 * workers)
    count = max(1, min(count, items))
    return [slice(items * k // count, items * (k + 1) // count) for k in range(count)]


# Seconds between checks for Ctrl-C while waiting for a thread. Needed if another thread or Windows receives it.
_LISTENS_EVERY = 0.05


def on_threads(
    blocks: Sequence[slice],
    workers: int,
    solve: Callable[[slice], None],
    stop: Callable[[], None] = lambda: None,
) -> None:
    """Solve all blocks on `workers` threads, including this one.

    If a block fails, no other is begun, and the error is raised here.

    The error is raised after all threads have ended, as is an interrupt; `stop` is called first to make them end soon.
    The module `threading` is avoided, since it waits for threads to start, which takes as long as a thousand solves.
    """
    waiting, failures = deque(blocks), []

    def solve_waiting() -> None:
        try:
            while waiting:
                try:
                    block = waiting.popleft()
                except IndexError:  # another thread was faster
                    break
                solve(block)
        except BaseException as failure:
            give_up(failure)

    def give_up(failure: BaseException) -> None:
        failures.append(failure)
        waiting.clear()
        stop()

    def help_out(helping: _thread.LockType) -> None:
        try:
            solve_waiting()
        finally:
            helping.release()

    helpers = [_thread.allocate_lock() for _ in range(min(workers, len(blocks)) - 1)]
    for helping in helpers:
        helping.acquire()
        _thread.start_new_thread(help_out, (helping,))
    solve_waiting()
    while helpers:
        try:
            if helpers[-1].acquire(timeout=_LISTENS_EVERY):
                helpers.pop()
        except BaseException as failure:  # Ctrl-C
            give_up(failure)
    if failures:
        raise failures[0]


def _part(array: NDArray[Any], axes: int, axis: int, block: slice, length: int) -> NDArray[Any]:
    """The block of an array with so many leading axes; the whole array if it broadcasts along that axis."""
    at = axes + axis
    if at < 0 or array.shape[at] != length:
        return array
    return array[(slice(None),) * at + (block,)]


def _empty_outputs(
    solver: np.ufunc, inputs: dict[str, NDArray[Any]], shape: tuple[int, ...]
) -> tuple[NDArray[Any], ...]:
    """Output arrays of a gufunc, in one block of memory."""
    rows, number = _output_rows(solver), next(iter(inputs.values())).dtype.char
    sizes: dict[str, int] = {}
    if any(isinstance(size, str) for row, _ in rows for size in row):
        for array, row in zip(inputs.values(), _rows_of(solver.signature or ""), strict=False):
            sizes |= zip(reversed(row), reversed(array.shape), strict=False)  # the lengths of lists such as (n,3)
    return _core.empty(
        tuple(
            [
                ((*shape, *[sizes[size] if isinstance(size, str) else size for size in row]), number if real else "i")
                for row, real in rows
            ]
        )
    )


@functools.cache
def _output_rows(solver: np.ufunc) -> tuple[tuple[tuple[str | int, ...], bool], ...]:
    """The core dimensions of every output, as numbers if known, and whether it holds real numbers."""
    made, types = (solver.signature or "").split("->")[1], solver.types[0].split("->")[1]
    rows = [tuple(size if size.isalpha() else int(size) for size in row) for row in _rows_of(made)]
    return tuple(zip(rows, [kind == "f" for kind in types], strict=True))


_F = TypeVar("_F", bound=Callable[..., Any])


def single(found: type[_core.Result], *, pose: int) -> Callable[[_F], _F]:
    """Put the solver's function in C before its typed one: it takes a single item and leaves everything else to that.

    `found` is the class of the result; `pose` is the number of arguments that decide the number type. The arguments are
    the solver's inputs, `out` if there is one, `workers` and `strict`.
    """

    def decorate(function: _F) -> _F:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        text = f"{function.__name__}{_bare_signature(function)}\n--\n\n{function.__doc__}"
        fast = _core.single(
            function.__name__, function, found, names, code.co_argcount, pose, text, function.__module__
        )
        return cast(_F, fast)

    return decorate


def _bare_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature without types, as that of C functions."""
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
