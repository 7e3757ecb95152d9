"""Tasks: what goals ask for, one thing each, in the numbers of one skeleton (ik_goal in ik.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import rows
from ikcore.skeleton import Skeleton, ancestors, path, start_of

if TYPE_CHECKING:
    from ikcore.goals import Goal

Point = tuple[float, float, float]

# The rows that a task may have, in the order of the core, and the shape of each.
TASK_ROWS: dict[str, tuple[int, ...]] = {
    name: (columns,) if columns > 1 else () for name, columns, _ in _core.GOAL_ROWS
}

# What a goal may do without.
_OPTIONAL = ("position", "rotation", "pole")

# The fields of goals that are arrays: those, and the weight of what makes a task of its own.
GOAL_ARRAYS: dict[str, tuple[int, ...]] = {
    name: shape for row, shape in TASK_ROWS.items() for name in ([row, "rotation_weight"] if row == "weight" else [row])
}

KINDS = [name for name, _ in _core.GOAL_KINDS]


class Task(NamedTuple):
    """What a goal asks for, one thing, in the numbers of one skeleton: an `ik_goal` of the core."""

    kind: str
    goal: int  # which of the list
    joint: int  # -1: the centre of mass
    chain: int
    relative: bool = False
    other: int = 0
    other_chain: int = -1
    level: int = 0
    offset: Point = (0.0, 0.0, 0.0)
    other_offset: Point = (0.0, 0.0, 0.0)
    axis: Point = (0.0, 0.0, 0.0)
    position: NDArray[Any] | None = None  # (..., 3)
    rotation: NDArray[Any] | None = None  # (..., 4)
    normal: NDArray[Any] | None = None  # (..., 3)
    distance: NDArray[Any] | None = None  # (...)
    weight: NDArray[Any] | None = None  # (...)
    pole: NDArray[Any] | None = None  # (..., 3)
    up: Point = (0.0, 0.0, 0.0)  # of aim alone

    def leading(self) -> dict[str, tuple[int, ...]]:
        """The leading axes of what is given."""
        return {
            name: array.shape[: array.ndim - len(TASK_ROWS[name])]
            for name in TASK_ROWS
            if (array := getattr(self, name)) is not None
        }

    def map(self, change: Any) -> Task:
        """The same task with ``change(array, row)`` for every array, `row` being the shape of its rows."""
        arrays = {name: getattr(self, name) for name in TASK_ROWS}
        return self._replace(
            **{name: change(array, TASK_ROWS[name]) for name, array in arrays.items() if array is not None}
        )

    def for_core(self) -> tuple[Any, ...]:
        """As `_core.solve` takes it."""
        placed = (
            KINDS.index(self.kind),
            self.joint,
            self.chain,
            self.relative,
            self.other,
            self.other_chain,
            self.level,
        )
        return (*placed, self.offset, self.other_offset, self.axis, self[_FIRST_ROW:_LAST_ROW])

    def path(self, skeleton: Skeleton) -> list[int]:
        """The joints from the start of the chain down to the joint."""
        return path(skeleton, self.chain, self.joint)

    def moving(self, skeleton: Skeleton) -> list[int]:
        """The joints that the chains of it lead through: those that may slide for it, and but for the last turn."""
        if self.kind == "POSTURE":
            return []
        if self.joint < 0:
            joints = [joint for joint in range(len(skeleton)) if skeleton.masses[joint] > 0]
            above = [ancestors(skeleton, joint) for joint in joints]
            reached = [
                way[: way.index(self.chain) + 1] if self.chain >= 0 else way
                for way in above
                if self.chain in (-1, *way)
            ]
            return sorted({joint for way in reached for joint in way})
        other = path(skeleton, self.other_chain, self.other) if self.relative and self.other_chain >= 0 else []
        return self.path(skeleton) + other

    def turning(self, skeleton: Skeleton) -> list[int]:
        """Those of them that turn."""
        joints = self.moving(skeleton)
        stays = self.kind in ("PLACE", "DISTANCE", "INSIDE") and self.joint >= 0 and not any(self.offset)
        return [joint for joint in joints if joint != self.joint] if stays else joints


_FIRST_ROW, _LAST_ROW = (Task._fields.index(name) for name in ("position", "up"))
assert Task._fields[_FIRST_ROW:_LAST_ROW] == tuple(TASK_ROWS)


class Making:
    """A goal on its way to tasks: its place in the list, the skeleton, the type of numbers."""

    def __init__(self, goal: Goal, index: int, skeleton: Skeleton, dtype: np.dtype[Any]) -> None:
        self.goal, self.index, self.skeleton, self.dtype = goal, index, skeleton, dtype
        self.where = f"goals[{index}]"

    def joint(self, joint: str | int) -> int:
        """A joint's number."""
        return self.skeleton.index(joint)

    def chain(self, chain: str | int | None, joint: int, name: str = "chain") -> int:
        """The first joint that may turn for a joint."""
        return start_of(self.skeleton, chain, joint, self.where, name)

    def between(
        self,
        joint: str | int,
        chain: str | int | None,
        other: str | int | None,
        other_chain: str | int | None,
        other_offset: ArrayLike | None,
    ) -> dict[str, Any]:
        """What a task has that is about a joint, and as a rule another."""
        end = self.joint(joint)
        if other is None:
            return {"joint": end, "chain": self.chain(chain, end)}
        start = self.joint(other)
        if start == end:
            raise ValueError(f"{self.where}: {self.skeleton.names[end]!r} is seen from another joint, not from itself")
        first = self._below_both(end, start) if chain is None else self.chain(chain, end)
        mover = -1 if other_chain is None else self.chain(other_chain, start, "other_chain")
        point = self.point("other_offset", other_offset)
        return {
            "joint": end,
            "chain": first,
            "relative": True,
            "other": start,
            "other_chain": mover,
            "other_offset": point,
        }

    def _below_both(self, joint: int, other: int) -> int:
        """The highest joint above one that is not above the other as well; the joint itself where none is."""
        shared = set(ancestors(self.skeleton, other))
        return ([joint] + [above for above in ancestors(self.skeleton, joint) if above not in shared])[-1]

    def check_masses(self) -> None:
        """Refuse a centre of mass where nothing weighs anything."""
        if not (self.skeleton.masses > 0).any():
            raise ValueError(
                f"{self.where}: the centre of mass is of joints with masses; Skeleton(masses=...) says them"
            )

    def point(self, name: str, value: ArrayLike | None) -> Point:
        """One point of a joint for all items, by default the joint itself."""
        if value is None:
            return 0.0, 0.0, 0.0
        point = rows(f"{self.where}.{name}", value, np.dtype(np.float64), 3)
        if point.ndim != 1 or not np.isfinite(point).all():
            raise ValueError(f"{self.where}.{name}: expected one point for all items, three finite numbers")
        x, y, z = point.tolist()
        return x, y, z

    def task(self, kind: str, names: tuple[str, ...], **placed: Any) -> Task:
        """A task with those of the goal's arrays that are given."""
        arrays: dict[str, Any] = {}
        for name in names:
            value = getattr(self.goal, name)
            if value is ...:
                raise TypeError(
                    f"{self.where}.{name}: an ellipsis stands for an array in the goals of ikcore.solver only"
                )
            if value is not None or name not in _OPTIONAL:
                arrays[row_of(name)] = rows(f"{self.where}.{name}", value, self.dtype, *GOAL_ARRAYS[name])
        return Task(kind, self.index, **placed, **arrays)


def row_of(name: str) -> str:
    """The row of a task that a field of its goal is."""
    return "weight" if name == "rotation_weight" else name


def field_of(task: Task, row: str) -> str:
    """And back: the field of the goal that a row of a task comes from."""
    return "rotation_weight" if row == "weight" and task.kind == "TURN" else row
