"""A batch of poses and goals, prepared for the core: one shape, two leading axes, blocks for threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._threads import on_threads
from ikcore.goals import Goal, open_arrays, with_arrays
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.tasks import GOAL_ARRAYS, GOAL_POINTS, TASK_ROWS, Moving, Task, field_of, is_full, may_of
from ikcore.solving.validate import check_takes, moves_joints, tasks_of


def checked_moving(skeleton: Skeleton, moving: Moving) -> bytes | None:
    """A byte per joint by `moving`: whether it may turn or slide. None if the goals decide."""
    if moving is None:
        return None
    _check_skeleton(skeleton)
    return may_of(skeleton, moving)


def checked_tasks(
    method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], may: bytes | None = None
) -> tuple[Task, ...]:
    """The goals as tasks, checked against the skeleton and the method."""
    _check_skeleton(skeleton)
    if not isinstance(pose, Pose):
        raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}; ik.Pose(rotations) makes one")
    skeleton._check_joints("pose", pose.joints)
    tasks = tasks_of(skeleton, goals, pose.dtype, may)
    check_takes(method, skeleton, tasks, scaled=pose.scales is not None)
    return tasks


def _check_skeleton(skeleton: Skeleton) -> None:
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")


def items_of(pose: Pose, tasks: tuple[Task, ...]) -> tuple[int, ...]:
    """The broadcast leading axes of poses and goals."""
    leading = [task.leading_axes() for task in tasks]
    distinct = {pose.shape}.union(*(axes.values() for axes in leading)) - {()}
    if len(distinct) < 2:  # the usual case; broadcasting takes longer than a solve
        return distinct.pop() if distinct else ()
    try:
        return np.broadcast_shapes(*distinct)
    except ValueError as error:
        named = {"pose": pose.shape}
        named |= {
            f"goals[{task.goal}].{field_of(task, row)}": axes
            for task in tasks
            for row, axes in task.leading_axes().items()
        }
        listed = ", ".join(f"{name} {axes}" for name, axes in named.items() if axes)
        raise ValueError(f"leading axes do not broadcast: {listed}") from error


class CoreOutput(NamedTuple):
    """The outputs of the core, in its order."""

    rotations: NDArray[Any]
    status: NDArray[np.int32]
    error: NDArray[Any]
    rotation_error: NDArray[Any]
    iterations: NDArray[np.int32]
    history: NDArray[Any] | None = None
    translations: NDArray[Any] | None = None  # if joints slide or bones stretch
    goal_errors: NDArray[Any] | None = None  # of every task, if asked for

    @classmethod
    def empty(cls, shape: tuple[int, ...], like: NDArray[Any], *, moves: bool = False, tasks: int = 0) -> CoreOutput:
        """Uninitialised, one item per element of `shape`, rotations of as many joints as `like`, all in its type."""
        joints, number = like.shape[-2], like.dtype.char
        numbers = ((shape, "i"), (shape, number), (shape, number), (shape, "i"))
        moved = (((*shape, joints, 3), number),) * moves
        missed = (((*shape, tasks), number),) * (tasks > 0)
        made = iter(_core.empty((((*shape, joints, 4), number), *numbers, *moved, *missed)))
        turned, status, error, rotation_error, iterations = (next(made) for _ in range(5))
        translations = next(made) if moves else None
        return cls(turned, status, error, rotation_error, iterations, None, translations, next(made, None))

    def map(self, change: Callable[[NDArray[Any]], Any]) -> CoreOutput:
        """The same outputs with `change` applied to every array."""
        return CoreOutput._make(None if array is None else change(array) for array in self)


# A block is one call of the core. Blocks of this size keep its lanes full, except in the last batch of lanes of each
# call. Below the smallest block, two threads are no faster than one.
_LARGEST_BLOCK, _SMALLEST_BLOCK = 16_384, 256


def tasks_to_come(method: str, skeleton: Skeleton, goals: Sequence[Goal], may: bytes | None = None) -> tuple[Task, ...]:
    """Goals with ellipses as tasks, with the same checks as goals with arrays."""
    _check_skeleton(skeleton)
    tasks = tasks_of(skeleton, [_with_zeros(goal) for goal in goals], np.dtype(float), may)
    check_takes(method, skeleton, tasks, scaled=False)
    return tasks


def prepare_call(
    method: str,
    skeleton: Skeleton,
    goals: Sequence[Goal],
    tasks: tuple[Task, ...],
    options: tuple[float | None, ...],
    *,
    single: bool,
    history: bool = False,
    places: tuple[int, ...] | None = None,
    judge: bool = False,
) -> _core.Prepared | None:
    """The C function for calls on one item of goals with ellipses, given as tasks; None if there is none.

    For a `single` item it takes the points of every goal after its arrays.
    """
    if any(not is_full(goal.influence) for goal in goals) or any(any(task.leading_axes().values()) for task in tasks):
        return None
    arguments = [
        (index, name)
        for index, goal in enumerate(goals)
        for name in (*open_arrays(goal), *(_points_of(goal) if single else ()))
    ]
    moves = moves_joints(method, skeleton, tasks, options)
    numbered = tuple(_with_numbers(task, arguments) for task in tasks)
    given = _for_core(numbered), options, len(arguments), moves
    return _core.Prepared(method, skeleton._data, *given, history, places, judge, tasks[0].may)


def _with_zeros(goal: Goal) -> Goal:
    """The goal with zeros in place of every ellipsis."""
    return with_arrays(goal, iter([np.zeros(GOAL_ARRAYS[name]) for name in open_arrays(goal)]))


def _points_of(goal: Goal) -> list[str]:
    """The names of the points and axes that the goal has."""
    return [name for name in GOAL_POINTS if getattr(goal, name, None) is not None]


def _with_numbers(task: Task, arguments: list[tuple[int, str]]) -> Task:
    """The task with argument numbers in place of the rows and points that come with the call."""
    own = {name: number for number, (goal, name) in enumerate(arguments) if goal == task.goal}
    rows = {row: field_of(task, row) for row in TASK_ROWS if getattr(task, row) is not None}
    fields = rows | {name: name for name in GOAL_POINTS}
    numbers: dict[str, Any] = {part: own[name] for part, name in fields.items() if name in own}
    return task._replace(**numbers)


def _for_core(tasks: Sequence[Task]) -> tuple[tuple[Any, ...], ...]:
    """The tasks in the form that the core takes."""
    return tuple([task.for_core() for task in tasks])


class Batch:
    """Poses and goals with one leading axis, the items; in a sequence with two, frames and items.

    Arrays are views where strides allow it, otherwise copies of the size of the result.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        pose: Pose,
        tasks: tuple[Task, ...],
        found: CoreOutput,
        *,
        sequence: bool = False,
        fps: float = 0.0,
        release: float = 0.0,
    ) -> None:
        shape = found.status.shape
        self.count, frames = math.prod(shape[sequence:]), shape[:sequence]

        def flat(array: NDArray[Any], row: tuple[int, ...]) -> NDArray[Any]:
            full = array if array.shape == (*shape, *row) else np.broadcast_to(array, (*shape, *row))
            return full.reshape(*frames, self.count, *row)

        def flat_or_none(array: NDArray[Any] | None, row: tuple[int, ...]) -> NDArray[Any] | None:
            return None if array is None else flat(array, row)

        joints = len(skeleton)
        self.skeleton, self.fps, self.release = skeleton, fps, release
        self.stopped = bytearray(1)  # 1: running blocks end soon
        self.rotations = flat(pose.rotations, (joints, 4))
        self.translations = flat_or_none(pose.translations, (joints, 3))
        self.scales = flat_or_none(pose.scales, (joints, 3))
        self.tasks = [task.map(flat) for task in tasks]
        self.found = found.map(lambda array: array.reshape(*frames, self.count, *array.shape[len(shape) :]))
        self.before: tuple[slice, ...] = (slice(None),) * sequence

    def solve(self, method: str, options: tuple[float | None, ...], workers: int, *, judge: bool = False) -> None:
        """Solve blocks of items, with all their frames, spread over threads."""

        def solve_block(block: slice) -> None:
            given = self.stopped, self.fps, judge, self.tasks[0].may, self.release
            operands = *self._operands(block, options), *given
            _core.solve(method, self.skeleton._data, *operands)

        on_threads(self._blocks(workers), workers, solve_block, self._stop)

    def _stop(self) -> None:
        self.stopped[0] = 1

    def _blocks(self, workers: int) -> list[slice]:
        size = _LARGEST_BLOCK
        if workers > 1:
            size = min(size, max(_SMALLEST_BLOCK, math.ceil(self.count / (2 * workers))))
        return [slice(first, min(first + size, self.count)) for first in range(0, self.count, size)]

    def _operands(self, block: slice, options: tuple[float | None, ...]) -> tuple[Any, ...]:
        """The operands of `_core.solve` for a block of items."""

        def part(array: NDArray[Any] | None, _: tuple[int, ...] = ()) -> Any:
            return None if array is None else array[(*self.before, block)]

        goals = _for_core([task.map(part) for task in self.tasks])
        pose = part(self.rotations), part(self.translations), part(self.scales)
        return goals, *pose, options, self.found.map(part)
