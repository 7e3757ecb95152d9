"""Goals: small typed tasks that say where parts of a pose should be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows, shown, whole_number

if TYPE_CHECKING:
    from ikcore.skeleton import Skeleton


class Goal:
    """A task for a pose: what every kind of goal is. Solvers take lists of them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Reach(Goal):
    """A joint, or a point fixed to it, should be somewhere; and turned some way, if that is given.

    The joints that turn for it are those from the start of `chain` down to `joint`: without `joint` itself where
    neither `rotation` nor `offset` is given, since its turning would change nothing.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    position : (..., 3) array_like, optional
        Where it should be, in the world.
    rotation : (..., 4) array_like, optional
        Its rotation in the world, (w, x, y, z) of any length. Without it the joint keeps its local rotation and is
        carried along; to keep a foot as it stands, give the rotation that it has.
    weight, rotation_weight : (...) array_like
        How much position and rotation count beside other goals; only the ratio matters. 0: not at all, and then their
        values may be NaN. A negative weight counts as 0, one that is not finite makes the item unusable. (For the limb
        it is the share of the rotation, 0 to 1.)
    chain : str or int, optional
        The first joint that may turn: by its name, or by how many joints above `joint` may (2: upper arm and forearm
        for a hand). Default: all, up to the root.
    offset : (3,) array_like, optional
        The point that should be at `position`, in the space of the joint. Default: the joint. Where the method is
        ``aim``: the point that the ray from the joint to `position` goes through.
    up : (3,) array_like, optional
        The axis, in the space of the joint, that turns towards `pole` where the method is ``aim``.
    pole : (..., 3) array_like, optional
        A point that the chain bends towards, turned as a whole about the line from its first joint to its end. Nothing
        else may hang from that joint, and in iterative methods it may have no limit. For ``aim``, a point that `up`
        turns towards.
    level : int
        0. For methods to come, where goals of level 1 use what freedom those of level 0 leave: no method has levels
        yet, and all refuse others than 0. Until then `weight` says what counts more.

    Examples
    --------
    >>> import ikcore as ik
    >>> hand = ik.Reach("hand.L", position=[0.4, 1.2, 0.3], chain="upper_arm.L")
    >>> look = ik.Reach("head", rotation=[1, 0, 0, 0], chain=0)

    In `ikcore.solver` an ellipsis stands for an array that comes with the call:

    >>> spec = ik.Reach("hand.L", position=..., chain=2)
    """

    joint: str | int
    position: ArrayLike | EllipsisType | None = None
    rotation: ArrayLike | EllipsisType | None = None
    _: KW_ONLY
    weight: ArrayLike | EllipsisType = 1.0
    rotation_weight: ArrayLike | EllipsisType = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    up: ArrayLike | None = None
    pole: ArrayLike | EllipsisType | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        if not _is_name_or_number(self.joint):
            raise TypeError(f"joint: expected a name or an index, got {type(self.joint).__name__}")
        _check_chain(self.chain)
        if self.position is None and self.rotation is None:
            raise ValueError(f"Reach({self.joint!r}): expected a position, a rotation or both, got neither")
        if self.position is None and (self.offset is not None or self.pole is not None):
            raise ValueError(f"Reach({self.joint!r}): offset and pole belong to a position, and there is none")
        if self.up is not None and self.pole is None:
            raise ValueError(f"Reach({self.joint!r}): up turns towards a pole, and there is none")
        if isinstance(self.level, str) or not _is_name_or_number(self.level):
            raise TypeError(f"level: expected a whole number, got {shown(self.level)}")
        if self.level < 0:
            raise ValueError(f"level: expected 0 or more, got {shown(self.level)}")


def _is_name_or_number(value: Any) -> bool:
    try:
        return isinstance(value, str) or whole_number(value) is not None
    except TypeError:
        return False


def _check_chain(chain: Any) -> None:
    if chain is not None and not _is_name_or_number(chain):
        raise TypeError(f"chain: expected a joint's name or how many joints may turn, got {type(chain).__name__}")


class Task(NamedTuple):
    """A goal in the numbers of one skeleton, as `_core.solve` takes it (up to the pole)."""

    joint: int
    chain: int
    offset: tuple[float, float, float]
    position: NDArray[Any] | None  # (..., 3)
    rotation: NDArray[Any] | None  # (..., 4)
    weight: NDArray[Any]  # (...)
    rotation_weight: NDArray[Any]  # (...)
    pole: NDArray[Any] | None = None  # (..., 3)
    up: tuple[float, float, float] = (0, 0, 0)
    aims: bool = False  # the ray through the offset should meet the position, not the point itself

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

    def path(self, skeleton: Skeleton) -> list[int]:
        """The joints from the start of the chain down to the joint."""
        return path(skeleton, self.chain, self.joint)

    def turning(self, skeleton: Skeleton) -> list[int]:
        """Those of them that turn."""
        joints = self.path(skeleton)
        return joints if self.rotation is not None or any(self.offset) else joints[:-1]


TASK_ROWS: dict[str, tuple[int, ...]] = {
    "position": (3,),
    "rotation": (4,),
    "weight": (),
    "rotation_weight": (),
    "pole": (3,),
}


# What a goal may do without.
_OPTIONAL = ("position", "rotation", "pole")


def open_arrays(goal: Goal) -> list[str]:
    """The names of what is an ellipsis in a goal: it comes with the call of a `Solver`."""
    return [name for name in TASK_ROWS if getattr(goal, name) is ...]


def completed(goal: Any, arrays: Iterator[ArrayLike]) -> Goal:
    """The goal with the next arrays in place of its ellipses."""
    made: Goal = replace(goal, **{name: next(arrays) for name in open_arrays(goal)})
    return made


def checked_goals(goals: Sequence[Goal]) -> Sequence[Goal]:
    """Goals, one or more; anything else is refused."""
    if isinstance(goals, str) or not isinstance(goals, Sequence):
        raise TypeError(f"goals: expected a list of goals, got {type(goals).__name__}")
    if not goals:
        raise ValueError("goals: expected one or more, got none")
    for index, goal in enumerate(goals):
        if not isinstance(goal, Reach):
            raise TypeError(f"goals[{index}]: expected a Reach, got {type(goal).__name__}")
    return goals


def tasks_of(skeleton: Skeleton, goals: Sequence[Goal], dtype: np.dtype[Any]) -> tuple[Task, ...]:
    """The goals in numbers of `dtype`, checked against the skeleton and each other."""
    goals = checked_goals(goals)
    tasks = tuple(_task_of(skeleton, goal, f"goals[{index}]", dtype) for index, goal in enumerate(goals))
    points = [(task.joint, task.offset) for task in tasks]
    for index, point in enumerate(points):
        if (first := points.index(point)) != index:
            raise ValueError(
                f"goals[{first}] and goals[{index}] are for the same point of {skeleton.names[point[0]]!r}: "
                "put position and rotation into one, or give one another offset"
            )
    return tasks


def _task_of(skeleton: Skeleton, goal: Any, where: str, dtype: np.dtype[Any]) -> Task:
    if goal.level:
        raise ValueError(
            f"{where}.level: expected 0, got {shown(goal.level)}: no method has levels yet, so say by weights "
            "which goal counts more"
        )
    joint = skeleton.index(goal.joint)
    arrays = {name: getattr(goal, name) for name in TASK_ROWS}
    if absent := open_arrays(goal):
        raise TypeError(f"{where}.{absent[0]}: an ellipsis stands for an array in the goals of ikcore.solver only")
    given: dict[str, Any] = {
        name: None if value is None and name in _OPTIONAL else rows(f"{where}.{name}", value, dtype, *TASK_ROWS[name])
        for name, value in arrays.items()
    }
    start, offset = start_of(skeleton, goal.chain, joint, where), _point(f"{where}.offset", goal.offset)
    return Task(joint, start, offset, up=_point(f"{where}.up", goal.up), **given)


def _point(name: str, value: ArrayLike | None) -> tuple[float, float, float]:
    """One point of a joint for all items, by default the joint itself."""
    if value is None:
        return 0.0, 0.0, 0.0
    point = rows(name, value, np.dtype(np.float64), 3)
    if point.ndim != 1 or not np.isfinite(point).all():
        raise ValueError(f"{name}: expected one point for all items, three finite numbers")
    x, y, z = point.tolist()
    return x, y, z


def start_of(skeleton: Skeleton, chain: str | int | None, joint: int, where: str) -> int:
    """The first joint of a chain down to `joint`, given as `Reach` has it."""
    _check_chain(chain)
    above = ancestors(skeleton, joint)
    if chain is None:
        return above[-1]
    if isinstance(chain, str):
        start = skeleton.index(chain)
        if start not in above:
            raise ValueError(
                f"{where}: the chain starts at {chain!r}, which is neither {skeleton.names[joint]!r} nor above it"
            )
        return start
    if not 0 <= chain < len(above):
        name = skeleton.names[joint]
        raise ValueError(f"{where}: chain={shown(chain)}, but {name!r} has {len(above) - 1} joints above it")
    return above[chain]


def path(skeleton: Skeleton, start: int, joint: int) -> list[int]:
    """The joints from one down to another."""
    above = ancestors(skeleton, joint)
    return list(above[above.index(start) :: -1])


def ancestors(skeleton: Skeleton, joint: int) -> tuple[int, ...]:
    """The joint, its parent and so on up to the root."""
    if joint not in skeleton._ancestors:
        joints, parents = [joint], skeleton.parents
        while (parent := int(parents[joints[-1]])) >= 0:
            joints.append(parent)
        skeleton._ancestors[joint] = tuple(joints)
    return skeleton._ancestors[joint]
