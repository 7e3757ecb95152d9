"""A batch of poses and goals on its way to the core: one shape, two axes, blocks for threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import on_threads
from ikcore.goals import GOAL_ARRAYS, Goal, Task, completed, field_of, open_arrays, row_of, tasks_of
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


def checked_tasks(method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal]) -> tuple[Task, ...]:
    """The goals as tasks, after a look at what they are for and whether the method takes that."""
    _check_skeleton(skeleton)
    if not isinstance(pose, Pose):
        raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}; ik.Pose(rotations) makes one")
    skeleton._check_joints("pose", pose.joints)
    tasks = tasks_of(skeleton, goals, pose.dtype)
    _check_takes(method, skeleton, tasks)
    return tasks


def _check_skeleton(skeleton: Skeleton) -> None:
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")


# By method, as bits.
_BITS = {word: bit for word, bit, _ in _core.TAKES}
_TAKES = {method: takes for method, _, takes in (*_core.METHODS, *_core.FORMS)}
_ITERATIVE = {method for method, _, _ in _core.METHODS}


def _check_takes(method: str, skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse what the method does not take: ik_solve_check says so too, but not of what, and not what to do."""
    for task in tasks:
        where = f"goals[{task.goal}]"
        _check_word(method, task.kind, f"{where}: {_KIND_NAMES[task.kind]}")
        if task.relative:
            _check_word(method, "RELATIVE", f"{where}: what is relative to another joint")
        if task.level != tasks[0].level:
            _check_word(method, "LEVELS", f"{where}.level: a level", "say by weights which goal counts more, or ")
        if task.pole is not None:
            _check_word(method, "POLE", f"{where}.pole: a pole")
        if any(task.up) and method in _ITERATIVE:
            raise ValueError(f"{where}.up: {method} takes none; its chains bend towards the pole, whatever is up")
        if any(skeleton.limits):
            _check_limits(method, skeleton, task)


_KIND_NAMES = {
    "PLACE": "a position",
    "TURN": "a rotation",
    "LOOK": "a Look",
    "DISTANCE": "a Distance",
    "CENTRE_OF_MASS": "a CentreOfMass",
    "INSIDE": "an Inside",
    "POSTURE": "a Posture",
}


def _check_word(method: str, word: str, what: str, instead: str = "") -> None:
    if _TAKES[method] & _BITS[word]:
        return
    takers = " or ".join(known for known, takes in _TAKES.items() if takes & _BITS[word])
    raise ValueError(f"{what} is nothing that {method} takes: {instead}use {takers}")


def _check_limits(method: str, skeleton: Skeleton, task: Task) -> None:
    """Refuse limits that the method would not keep, of the joints that it moves."""
    turning = task.turning(skeleton)
    for joint in task.moving(skeleton):
        limit, name = skeleton.limits[joint], skeleton.names[joint]
        if limit is None:
            continue
        if limit.position is not None:
            _check_word(method, "SLIDES", f"limits: {name!r} slides, which", "start the chain below that joint, or ")
        if joint in turning and limit.kind != "locked" and any(limit.stiffness):
            _check_word(method, "STIFFNESS", f"limits: {name!r} has stiffness, which", "give it none, or ")


def check_speeds(
    skeleton: Skeleton, tasks: Sequence[Task], *, sequence: bool = False, fps: float | None = None
) -> None:
    """Refuse speeds and accelerations that nothing would keep, and frames in a second that are none."""
    if fps is not None and not sequence:
        raise ValueError("fps: expected sequence=True with it, so that frames follow each other")
    if fps is not None or not any(skeleton.limits):
        return
    for joint in sorted({joint for task in tasks for joint in task.moving(skeleton)}):
        limit = skeleton.limits[joint]
        if limit is None or not limit.is_timed:
            continue
        needs = "fps" if sequence else "sequence=True and fps, of a method that takes them"
        raise ValueError(f"limits: {skeleton.names[joint]!r} has a speed or an acceleration, which needs {needs}")


def sliding(skeleton: Skeleton, tasks: Sequence[Task]) -> list[int]:
    """The joints that slide for some task."""
    if not any(skeleton.limits):
        return []
    moving = sorted({joint for task in tasks for joint in task.moving(skeleton)})
    return [joint for joint in moving if (limit := skeleton.limits[joint]) is not None and limit.position is not None]


def items_of(pose: Pose, tasks: tuple[Task, ...]) -> tuple[int, ...]:
    """The leading axes of poses and goals together."""
    leading = [task.leading() for task in tasks]
    distinct = {pose.shape}.union(*(axes.values() for axes in leading)) - {()}
    if len(distinct) < 2:  # as a rule; to broadcast takes longer than a solve
        return distinct.pop() if distinct else ()
    try:
        return np.broadcast_shapes(*distinct)
    except ValueError as error:
        named = {"pose": pose.shape}
        named |= {
            f"goals[{task.goal}].{field_of(task, row)}": axes for task in tasks for row, axes in task.leading().items()
        }
        listed = ", ".join(f"{name} {axes}" for name, axes in named.items() if axes)
        raise ValueError(f"leading axes do not broadcast: {listed}") from error


class Found(NamedTuple):
    """The outputs of the core, in its order."""

    rotations: NDArray[Any]
    status: NDArray[np.int32]
    error: NDArray[Any]
    rotation_error: NDArray[Any]
    iterations: NDArray[np.int32]
    history: NDArray[Any] | None = None
    translations: NDArray[Any] | None = None  # where some joint moves
    goal_errors: NDArray[Any] | None = None  # of every task, where asked for

    @classmethod
    def empty(cls, shape: tuple[int, ...], like: NDArray[Any], *, moves: bool = False, tasks: int = 0) -> Found:
        """Uninitialised, one item per element of `shape`, rotations of as many joints as `like`, all in its type."""
        joints = like.shape[-2]
        return cls(
            np.empty((*shape, joints, 4), like.dtype),
            np.empty(shape, np.int32),
            np.empty(shape, like.dtype),
            np.empty(shape, like.dtype),
            np.empty(shape, np.int32),
            translations=np.empty((*shape, joints, 3), like.dtype) if moves else None,
            goal_errors=np.empty((*shape, tasks), like.dtype) if tasks else None,
        )

    def map(self, change: Callable[[NDArray[Any]], Any]) -> Found:
        """The same with `change` of every array."""
        return Found._make(None if array is None else change(array) for array in self)


# A block is one call of the core. So many items keep its lanes full, but for the last few that each call waits for;
# fewer than the smallest are done about as soon by one thread as by two.
_LARGEST_BLOCK, _SMALLEST_BLOCK = 16_384, 256


def solve_single(
    method: str,
    skeleton: Skeleton,
    pose: Pose,
    tasks: tuple[Task, ...],
    found: Found,
    options: tuple[float | None, ...],
) -> None:
    """Solve one item: the core takes its arrays as they are."""
    goals = _for_core(tasks)
    _core.solve(method, skeleton._data, goals, pose.rotations, pose.translations, pose.scales, options, found)


def prepared(
    method: str, skeleton: Skeleton, goals: Sequence[Goal], options: tuple[float | None, ...], *, translated: bool
) -> _core.Prepared | None:
    """Check goals with ellipses; the function in C for calls on one item, None where there cannot be one."""
    _check_skeleton(skeleton)
    tasks = tasks_of(skeleton, [_with_zeros(goal) for goal in goals], np.dtype(float))
    _check_takes(method, skeleton, tasks)
    check_speeds(skeleton, tasks)
    if slides := sliding(skeleton, tasks):
        raise ValueError(
            f"limits: {skeleton.names[slides[0]]!r} slides, and a solver answers rotations only: use ikcore.solve"
        )
    of_one_item = not any(any(task.up) or any(task.leading().values()) for task in tasks)
    if method not in _ITERATIVE or not of_one_item:
        return None
    arguments = [(index, row_of(name), name) for index, goal in enumerate(goals) for name in open_arrays(goal)]
    numbered = tuple(_with_numbers(task, arguments) for task in tasks)
    return _core.Prepared(method, skeleton._data, _for_core(numbered), options, translated)


def _with_zeros(goal: Goal) -> Goal:
    """The goal with an item of zeros for every ellipsis."""
    return completed(goal, iter([np.zeros(GOAL_ARRAYS[name]) for name in open_arrays(goal)]))


def _with_numbers(task: Task, arguments: list[tuple[int, str, str]]) -> Task:
    """The task with the number of its argument for every row that is an ellipsis in its goal."""
    numbers: dict[str, Any] = {
        row: number
        for number, (goal, row, field) in enumerate(arguments)
        if goal == task.goal and getattr(task, row) is not None and field == field_of(task, row)
    }
    return task._replace(**numbers)


def _for_core(tasks: Sequence[Task]) -> tuple[tuple[Any, ...], ...]:
    """What the core takes of tasks."""
    return tuple([task.for_core() for task in tasks])


class Batch:
    """Poses and goals with their leading axes as one, of items, or in a sequence as two, of frames and items.

    Arrays are views where strides allow, else copies, as large as the result.
    """

    def __init__(
        self, skeleton: Skeleton, pose: Pose, tasks: tuple[Task, ...], found: Found, *, sequence: bool, fps: float
    ) -> None:
        shape = found.status.shape
        self.count, frames = math.prod(shape[sequence:]), shape[:sequence]

        def flat(array: NDArray[Any], row: tuple[int, ...]) -> NDArray[Any]:
            full = array if array.shape == (*shape, *row) else np.broadcast_to(array, (*shape, *row))
            return full.reshape(*frames, self.count, *row)

        def flat_or_none(array: NDArray[Any] | None, row: tuple[int, ...]) -> NDArray[Any] | None:
            return None if array is None else flat(array, row)

        joints = len(skeleton)
        self.skeleton, self.fps, self.stopped = skeleton, fps, bytearray(1)  # 1: what runs ends soon
        self.rotations = flat(pose.rotations, (joints, 4))
        self.translations = flat_or_none(pose.translations, (joints, 3))
        self.scales = flat_or_none(pose.scales, (joints, 3))
        self.tasks = [task.map(flat) for task in tasks]
        self.found = found.map(lambda array: array.reshape(*frames, self.count, *array.shape[len(shape) :]))
        self.before: tuple[slice, ...] = (slice(None),) * sequence

    def solve(self, method: str, options: tuple[float | None, ...], workers: int) -> None:
        """Solve in blocks of items, all frames of each, that the threads take one after another."""

        def solve_block(block: slice) -> None:
            _core.solve(method, self.skeleton._data, *self._operands(block, options))

        on_threads(self._blocks(workers), workers, solve_block, self._stop)

    def _stop(self) -> None:
        self.stopped[0] = 1

    def _blocks(self, workers: int) -> list[slice]:
        size = _LARGEST_BLOCK
        if workers > 1:
            size = min(size, max(_SMALLEST_BLOCK, math.ceil(self.count / (2 * workers))))
        return [slice(first, min(first + size, self.count)) for first in range(0, self.count, size)]

    def _operands(self, block: slice, options: tuple[float | None, ...]) -> tuple[Any, ...]:
        """The operands of `_core.solve` for some items."""

        def part(array: NDArray[Any] | None, _: tuple[int, ...] = ()) -> Any:
            return None if array is None else array[(*self.before, block)]

        goals = _for_core([task.map(part) for task in self.tasks])
        pose = part(self.rotations), part(self.translations), part(self.scales)
        return goals, *pose, options, self.found.map(part), self.stopped, self.fps
