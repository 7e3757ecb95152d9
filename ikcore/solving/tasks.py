"""Tasks: the single demands that goals make, in the numbers of one skeleton (ik_goal in ik.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import as_text, rows
from ikcore._joints import ancestors, index_of, path, start_of
from ikcore.skeleton import Skeleton

if TYPE_CHECKING:
    from ikcore.goals import Goal

Point = tuple[float, float, float]

# The joints that may move in a solve (`moving`): a joint with its descendants, or a list; None: the goals decide.
Moving = str | int | Sequence[str | int] | None

# Whether a joint may turn or slide, as bits of a byte (IK_MAY_TURN, IK_MAY_SLIDE).
MAY_TURN, MAY_SLIDE = 1, 2

# The arrays that a task may have, in the order of the core, with the shape of a row of each.
TASK_ROWS: dict[str, tuple[int, ...]] = {
    name: (columns,) if columns > 1 else () for name, columns, _ in _core.GOAL_ROWS
}

# The fields of goals that become arrays of their tasks: these, and the weights of rotations.
GOAL_ROWS: dict[str, tuple[int, ...]] = {
    name: shape for row, shape in TASK_ROWS.items() for name in ([row, "rotation_weight"] if row == "weight" else [row])
}

# The fields of goals that are arrays. The core has no influence, see solving/influence.py.
GOAL_ARRAYS = GOAL_ROWS | {"influence": ()}


def is_full(influence: Any) -> bool:
    """Whether an influence is the default number 1."""
    return type(influence) in (float, int) and influence == 1


# The fields of goals and tasks that are points or axes of a joint, the same for all items.
GOAL_POINTS = ("offset", "other_offset", "axis", "up")

KINDS = [name for name, _ in _core.GOAL_KINDS]


class Task(NamedTuple):
    """One demand of a goal, in the numbers of one skeleton: an `ik_goal` of the core."""

    kind: str
    goal: int  # index in the list of goals
    joint: int  # -1: the centre of mass
    chain: int
    relative: bool = False
    other: int = 0
    other_chain: int = -1
    level: int = 0
    may: bytes | None = None  # a byte per joint (IK_MAY_*), the same for all tasks of a solve; None: any
    influence: NDArray[Any] | None = None  # (...); None: 1 everywhere
    offset: Point = (0.0, 0.0, 0.0)
    other_offset: Point = (0.0, 0.0, 0.0)
    axis: Point = (0.0, 0.0, 0.0)
    up: Point = (0.0, 0.0, 0.0)
    position: NDArray[Any] | None = None  # (..., 3)
    rotation: NDArray[Any] | None = None  # (..., 4)
    normal: NDArray[Any] | None = None  # (..., 3)
    end: NDArray[Any] | None = None  # (..., 3)
    distance: NDArray[Any] | None = None  # (...)
    weight: NDArray[Any] | None = None  # (...)
    pole: NDArray[Any] | None = None  # (..., 3)

    def leading_axes(self) -> dict[str, tuple[int, ...]]:
        """The leading axes of its arrays, by name."""
        return {
            name: array.shape[: array.ndim - len(_ARRAYS[name])]
            for name in _ARRAYS
            if (array := getattr(self, name)) is not None
        }

    def map(self, change: Any) -> Task:
        """The same task with ``change(array, row)`` for every array, `row` being the shape of its rows."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return self._replace(
            **{name: change(array, _ARRAYS[name]) for name, array in arrays.items() if array is not None}
        )

    def for_core(self) -> tuple[Any, ...]:
        """The tuple that `_core.solve` takes."""
        placed = (
            KINDS.index(self.kind),
            self.joint,
            self.chain,
            self.relative,
            self.other,
            self.other_chain,
            self.level,
        )
        return (*placed, self[_FIRST_POINT:_FIRST_ROW], self[_FIRST_ROW:])

    def path(self, skeleton: Skeleton) -> list[int]:
        """The joints from the start of the chain down to the joint."""
        return path(skeleton, self.chain, self.joint)

    def moving_joints(self, skeleton: Skeleton) -> list[int]:
        """All joints of its chains: they may slide for it, and turn except for the last one of a chain."""
        return self._filter_allowed(MAY_SLIDE, {joint for chain, _ in self._chains(skeleton) for joint in chain})

    def turning_joints(self, skeleton: Skeleton) -> list[int]:
        """The joints of its chains that turn: the last one only if that changes something."""
        found = {joint for chain, last in self._chains(skeleton) for joint in (chain if last else chain[:-1])}
        return self._filter_allowed(MAY_TURN, found)

    def _filter_allowed(self, what: int, joints: set[int]) -> list[int]:
        """Those of the joints that may turn (or slide), by `may`."""
        return sorted(joint for joint in joints if self.may is None or self.may[joint] & what)

    def _chains(self, skeleton: Skeleton) -> list[tuple[list[int], bool]]:
        """Its chains from their first joint on, and whether the last joint of each turns for it."""
        if self.kind == "POSTURE":
            return []  # a posture moves no joint by itself
        if self.joint < 0:
            ways = [ancestors(skeleton, joint) for joint in range(len(skeleton)) if skeleton.masses[joint] > 0]
            starts = [(way[0], way[-1] if self.chain < 0 else self.chain) for way in ways if self.chain in (-1, *way)]
            return [(path(skeleton, start, joint), True) for joint, start in starts]
        chains = [(self.path(skeleton), self.kind in ("TURN", "LOOK") or any(self.offset))]
        if self.relative and self.other_chain >= 0:
            turns = self.kind in ("TURN", "PLACE") or any(self.other_offset)
            chains.append((path(skeleton, self.other_chain, self.other), turns))
        return chains


_ARRAYS = {**TASK_ROWS, "influence": ()}
_FIRST_POINT, _FIRST_ROW = (Task._fields.index(name) for name in ("offset", "position"))
assert Task._fields[_FIRST_POINT:] == (*GOAL_POINTS, *TASK_ROWS)


class TaskBuilder:
    """Converts a goal to tasks: the goal, its index in the list, the skeleton, the number type."""

    def __init__(self, goal: Goal, index: int, skeleton: Skeleton, dtype: np.dtype[Any]) -> None:
        self.goal: Any = goal  # of any kind
        self.index, self.skeleton, self.dtype = index, skeleton, dtype
        self.where = f"goals[{index}]"

    def joint(self, name: str) -> int:
        """The number of the joint that a field of the goal names."""
        return index_of(self.skeleton, getattr(self.goal, name), f"{self.where}.{name}")

    def joint_fields(self) -> dict[str, Any]:
        """The fields of a task about a joint: in the world, or relative to another joint."""
        joint, chain = self.joint("joint"), self.goal.chain
        common = {"joint": joint, "level": self.goal.level, "offset": self.point("offset")}
        if getattr(self.goal, "other", None) is None:
            return {**common, "chain": self._chain("chain", joint)}
        other = self.joint("other")
        if joint == other:
            name = self.skeleton.names[joint]
            raise ValueError(f"{self.where}.other: expected another joint than {name!r}, which is seen from it")
        return {
            **common,
            "chain": self._below_both(joint, other) if chain is None else self._chain("chain", joint),
            "relative": True,
            "other": other,
            "other_chain": -1 if self.goal.other_chain is None else self._chain("other_chain", other),
            "other_offset": self.point("other_offset"),
        }

    def mass_centre_fields(self) -> dict[str, Any]:
        """The fields of a task about the centre of mass."""
        if not (self.skeleton.masses > 0).any():
            raise ValueError(
                f"{self.where}: no joint weighs anything, so there is no centre of mass: Skeleton(masses=)"
            )
        chain = -1 if self.goal.chain is None else self.joint("chain")
        return {"joint": -1, "chain": chain, "level": self.goal.level}

    def _chain(self, name: str, joint: int) -> int:
        chain = getattr(self.goal, name)
        if chain is None:
            return ancestors(self.skeleton, joint)[-1]
        return start_of(self.skeleton, chain, joint, f"{self.where}.{name}")

    def _below_both(self, joint: int, other: int) -> int:
        """The highest ancestor of one joint that is not an ancestor of the other; without one, the joint itself."""
        shared = set(ancestors(self.skeleton, other))
        return ([joint] + [above for above in ancestors(self.skeleton, joint) if above not in shared])[-1]

    def point(self, name: str) -> Point:
        """A point of a joint, the same for all items. Default, also if the goal has no such field: the joint."""
        if (value := getattr(self.goal, name, None)) is None:
            return 0.0, 0.0, 0.0
        point = rows(f"{self.where}.{name}", value, np.dtype(np.float64), 3)
        if point.ndim != 1 or not np.isfinite(point).all():
            raise ValueError(f"{self.where}.{name}: expected three finite numbers, the same for all items")
        x, y, z = point.tolist()
        return x, y, z

    def axis(self, name: str) -> Point:
        """An axis of a joint, the same for all items, of any length above 0."""
        if not any(axis := self.point(name)):
            given = getattr(self.goal, name)
            raise ValueError(f"{self.where}.{name}: expected an axis, three numbers not all 0, got {as_text(given)}")
        return axis

    def task(self, kind: str, names: tuple[str, ...], **placed: Any) -> Task:
        """A task with those arrays of the goal that are given."""
        arrays: dict[str, Any] = {}
        for name in names:
            value = getattr(self.goal, name)
            if value is not None or not may_lack(kind, name, relative="relative" in placed):
                arrays[row_of(name)] = self._rows(name, value)
        return Task(kind, self.index, **placed, **arrays, influence=self._influence())

    def _rows(self, name: str, value: Any) -> NDArray[Any]:
        if value is ...:
            raise TypeError(f"{self.where}.{name}: an ellipsis stands for an array in the goals of ikcore.Solver only")
        return rows(f"{self.where}.{name}", value, self.dtype, *GOAL_ARRAYS[name])

    def _influence(self) -> NDArray[Any] | None:
        """The influence of the goal; None if it is 1 everywhere."""
        if is_full(self.goal.influence):
            return None
        influence = self._rows("influence", self.goal.influence)
        return None if (influence >= 1).all() else influence


def may_lack(kind: str, name: str, *, relative: bool) -> bool:
    """Whether a goal may make a task of that kind without that field (`rows_of` in check.c)."""
    instead = relative and kind in ("LOOK", "DISTANCE")  # the point of another joint
    return name in ("pole", "end") or (name == "position" and instead) or (name == "rotation" and kind == "POSTURE")


def all_tasks(
    skeleton: Skeleton, goals: Sequence[Goal], dtype: np.dtype[Any], may: bytes | None = None
) -> tuple[Task, ...]:
    """The tasks of the goals in numbers of `dtype`, in their order, with the joints that may move for them."""
    tasks = tuple(
        task for index, goal in enumerate(goals) for task in goal._tasks(TaskBuilder(goal, index, skeleton, dtype))
    )
    if may is None:
        may = _may_of_guards(skeleton, goals, tasks)
    return tasks if may is None else tuple(task._replace(may=may) for task in tasks)


# Goals of these kinds are one-sided: they guard what other goals move.
GUARDS = ("INSIDE", "OUTSIDE")


def _may_of_guards(skeleton: Skeleton, goals: Sequence[Any], tasks: Sequence[Task]) -> bytes | None:
    """A byte per joint if some guard has no chain: joints may move as the other goals ask.

    None (any joint) if there is no such guard, or if no other goal moves joints.
    """
    others = [task for task in tasks if task.kind not in GUARDS or goals[task.goal].chain is not None]
    slide = {joint for task in others for joint in task.moving_joints(skeleton)}
    if len(others) == len(tasks) or not slide:
        return None
    turn = {joint for task in others for joint in task.turning_joints(skeleton)}
    return bytes(MAY_TURN * (joint in turn) | MAY_SLIDE * (joint in slide) for joint in range(len(skeleton)))


def may_of(skeleton: Skeleton, moving: Moving) -> bytes | None:
    """A byte per joint for `moving`: whether it may turn or slide."""
    if moving is None:
        return None
    if isinstance(moving, (str, int, np.integer)):
        start = index_of(skeleton, moving, "moving")
        chosen = {joint for joint in range(len(skeleton)) if start in ancestors(skeleton, joint)}
    else:
        try:
            listed = list(moving)
        except TypeError:
            raise TypeError(f"moving: expected a joint or a list of joints, got {as_text(moving)}") from None
        chosen = {index_of(skeleton, joint, f"moving[{index}]") for index, joint in enumerate(listed)}
    if not chosen:
        raise ValueError("moving: expected one or more joints, got none; leave it out if goals decide what moves")
    return bytes((MAY_TURN | MAY_SLIDE) * (joint in chosen) for joint in range(len(skeleton)))


def sliding_joints(skeleton: Skeleton, tasks: Sequence[Task]) -> list[int]:
    """The joints that slide for at least one task."""
    if not any(skeleton.limits):
        return []
    moving = sorted({joint for task in tasks for joint in task.moving_joints(skeleton)})
    return [joint for joint in moving if (limit := skeleton.limits[joint]) is not None and limit.position is not None]


def row_of(name: str) -> str:
    """The name of the task's array for a field of its goal."""
    return "weight" if name == "rotation_weight" else name


def field_of(task: Task, row: str) -> str:
    """The field of the goal for an array of a task, the inverse of `row_of`."""
    return "rotation_weight" if row == "weight" and task.kind == "TURN" else row
