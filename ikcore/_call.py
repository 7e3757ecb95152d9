"""Calls of the C core on arrays with any leading axes: outputs, long rows, blocks of items."""

from __future__ import annotations

import functools
import math
import re
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import NOT_GIVEN
from ikcore._threads import AT_ONCE, on_threads, slices_of, thread_count


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

    def swap_longest(array: NDArray[Any]) -> NDArray[Any]:
        return np.swapaxes(array, longest, len(shape) - 1)

    sweep = inputs | {
        name: swap_longest(np.broadcast_to(inputs[name], shape + inputs[name].shape[len(axes) :]))
        for name, axes in _leading_axes(solver, inputs).items()
    }
    made = _call_in_blocks(solver, sweep, (), workers, "C")
    return swap_longest(made) if isinstance(made, np.ndarray) else tuple(map(swap_longest, made))


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
        if array is not NOT_GIVEN.get(array.dtype)
    }


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
    blocks = slices_of(longest, work, workers)
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


def _part(array: NDArray[Any], axes: int, axis: int, block: slice, length: int) -> NDArray[Any]:
    """The part of an array that belongs to a block of items; the whole array if it broadcasts along that axis."""
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
