"""A batch of poses and goals on its way to the core: one shape, two axes, blocks for threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import on_threads
from ikcore.goals import TASK_ROWS, Goal, Task, completed, open_arrays, tasks_of
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


def checked_tasks(method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal]) -> tuple[Task, ...]:
    """The goals as tasks, after a look at what they are for and whether the method takes that."""
    _check_skeleton(skeleton)
    if not isinstance(pose, Pose):
        raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}; ik.Pose(rotations) makes one")
    skeleton._check_joints("pose", pose.joints)
    tasks = tasks_of(skeleton, goals, pose.dtype)
    _check_limits(method, skeleton, tasks)
    return tasks


def _check_skeleton(skeleton: Skeleton) -> None:
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")


# By method; closed forms take nothing of what not every method takes.
_TAKES = {method: takes for method, _, takes in _core.METHODS}


def _check_limits(method: str, skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse limits that the method would not keep, of the joints that it moves."""
    takes_stiffness = _TAKES.get(method, 0) & _core.TAKES_STIFFNESS
    for task in tasks if any(skeleton.limits) else ():
        turning = task.turning(skeleton)
        for joint in task.path(skeleton):
            limit, name = skeleton.limits[joint], skeleton.names[joint]
            if limit is None:
                continue
            if np.isfinite(limit.position).any():
                raise ValueError(
                    f"limits: that of {name!r} has a position, which no method takes yet: give it none, "
                    "or start the chain below that joint"
                )
            if joint in turning and limit.kind != "locked" and any(limit.stiffness) and not takes_stiffness:
                takers = " or ".join(known for known, takes in _TAKES.items() if takes & _core.TAKES_STIFFNESS)
                raise ValueError(
                    f"limits: that of {name!r} has stiffness, which {method} does not take: use {takers}, or give it "
                    "none"
                )


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
        named |= {f"goals[{index}].{name}": axes for index, goal in enumerate(leading) for name, axes in goal.items()}
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

    @classmethod
    def empty(cls, shape: tuple[int, ...], like: NDArray[Any]) -> Found:
        """Uninitialised, one item per element of `shape`, rotations of as many joints as `like`, all in its type."""
        return cls(
            np.empty((*shape, *like.shape[-2:]), like.dtype),
            np.empty(shape, np.int32),
            np.empty(shape, like.dtype),
            np.empty(shape, like.dtype),
            np.empty(shape, np.int32),
        )

    def map(self, change: Callable[[NDArray[Any]], Any]) -> Found:
        """The same with `change` of every array."""
        return Found._make(None if array is None else change(array) for array in self)


# A block is one call of the core. So many items keep its lanes full, but for the last few that each call waits for;
# fewer than the smallest are done about as soon by one thread as by two.
_LARGEST_BLOCK, _SMALLEST_BLOCK = 16_384, 256


def solve_single(
    method: str, skeleton: Skeleton, pose: Pose, tasks: tuple[Task, ...], found: Found, options: tuple[float, ...]
) -> None:
    """Solve one item: the core takes its arrays as they are."""
    goals = _for_core(tasks)
    _core.solve(method, skeleton._data, goals, pose.rotations, pose.translations, pose.scales, options, found)


def prepared(
    method: str, skeleton: Skeleton, goals: Sequence[Goal], options: tuple[float, ...], *, translated: bool
) -> _core.Prepared | None:
    """Check goals with ellipses; the function in C for calls on one item, None where there cannot be one."""
    _check_skeleton(skeleton)
    tasks = tasks_of(skeleton, [_with_zeros(goal) for goal in goals], np.dtype(float))
    _check_limits(method, skeleton, tasks)
    of_one_item = not any(any(task.up) or any(task.leading().values()) for task in tasks)
    if method not in _TAKES or not of_one_item:
        return None
    tasks = tuple(_with_ellipses(task, goal) for task, goal in zip(tasks, goals, strict=True))
    return _core.Prepared(method, skeleton._data, _for_core(tasks), options, translated)


def _with_zeros(goal: Goal) -> Goal:
    """The goal with an item of zeros for every ellipsis."""
    return completed(goal, iter([np.zeros(TASK_ROWS[name]) for name in open_arrays(goal)]))


def _with_ellipses(task: Task, goal: Goal) -> Task:
    """The task with the ellipses of its goal."""
    ellipses: dict[str, Any] = dict.fromkeys(open_arrays(goal), ...)
    return task._replace(**ellipses)


def _for_core(tasks: Sequence[Task]) -> tuple[tuple[Any, ...], ...]:
    """What the core takes of tasks."""
    return tuple([task[:_CORE_FIELDS] for task in tasks])


# The fields of a task that the core takes: all up to the pole.
_CORE_FIELDS = Task._fields.index("pole") + 1


class Batch:
    """Poses and goals with their leading axes as two: frames that follow each other, and items apart from each other.

    Arrays are views where strides allow, else copies, as large as the result.
    """

    def __init__(
        self, skeleton: Skeleton, pose: Pose, tasks: tuple[Task, ...], found: Found, *, sequence: bool
    ) -> None:
        shape = found.status.shape
        self.frames, self.count = shape[0] if sequence else 1, math.prod(shape[sequence:])

        def flat(array: NDArray[Any], row: tuple[int, ...]) -> NDArray[Any]:
            full = array if array.shape == (*shape, *row) else np.broadcast_to(array, (*shape, *row))
            return full.reshape(self.frames, self.count, *row)

        def flat_or_none(array: NDArray[Any] | None, row: tuple[int, ...]) -> NDArray[Any] | None:
            return None if array is None else flat(array, row)

        joints = len(skeleton)
        self.skeleton, self.stopped = skeleton, bytearray(1)  # 1: what runs ends soon
        self.animated = flat(pose.rotations, (joints, 4))
        self.translations = flat_or_none(pose.translations, (joints, 3))
        self.scales = flat_or_none(pose.scales, (joints, 3))
        self.tasks = [task.map(flat) for task in tasks]
        self.found = found.map(lambda array: array.reshape(self.frames, self.count, *array.shape[len(shape) :]))
        if sequence:
            self.turning = sorted({joint for task in tasks for joint in task.turning(skeleton)})
            self.turned = rotations.normalize(self.animated[..., self.turning, :])

    def solve(self, method: str, options: tuple[float, ...], workers: int) -> None:
        """Solve in blocks of items that the threads take one after another."""

        def solve_block(block: slice) -> None:
            """All frames of some items, each from the solution of the frame before."""
            correction = np.array([1, 0, 0, 0], self.animated.dtype)
            for frame in range(self.frames):
                if self.stopped[0]:
                    return
                start = self._start(frame, block, correction) if frame else self.animated[frame, block]
                _core.solve(method, self.skeleton._data, *self._operands(frame, block, start, options))
                if self.frames > 1:
                    correction = self._correction(frame, block, correction)

        on_threads(self._blocks(workers), workers, solve_block, self._stop)

    def _stop(self) -> None:
        self.stopped[0] = 1

    def _blocks(self, workers: int) -> list[slice]:
        size = _LARGEST_BLOCK
        if workers > 1:
            size = min(size, max(_SMALLEST_BLOCK, math.ceil(self.count / (2 * workers))))
        return [slice(first, min(first + size, self.count)) for first in range(0, self.count, size)]

    def _operands(self, frame: int, block: slice, start: NDArray[Any], options: tuple[float, ...]) -> tuple[Any, ...]:
        """The operands of `_core.solve` for some items of a frame."""

        def part(array: NDArray[Any] | None, _: tuple[int, ...] = ()) -> Any:
            return None if array is None else array[frame, block]

        goals = _for_core([task.map(part) for task in self.tasks])
        found = self.found.map(part)
        return goals, start, part(self.translations), part(self.scales), options, found, self.stopped

    def _start(self, frame: int, block: slice, correction: NDArray[Any]) -> NDArray[Any]:
        """The animated pose with the correction of the frame before."""
        start: NDArray[Any] = self.animated[frame, block].copy()
        start[:, self.turning] = _core.quat_multiply(correction, self.turned[frame, block])
        return start

    def _correction(self, frame: int, block: slice, before: NDArray[Any]) -> NDArray[Any]:
        """What the solution adds to the joints that turn, (n, k, 4); where there is none, what the last one did.

        An item without solution gets the pose that came in, not the one it started from.
        """
        solved, lost = self.found.rotations[frame, block], self.found.status[frame, block] >= _core.UNUSABLE
        solved[lost] = self.animated[frame, block][lost]
        came = _core.quat_conjugate(self.turned[frame, block])
        return np.where(lost[:, np.newaxis, np.newaxis], before, _core.quat_multiply(solved[:, self.turning], came))
