"""Goals: small typed tasks that say where parts of a pose should be.

What an animator or a researcher writes is a `Goal`; each makes one or two tasks of the kinds that the core knows
(GOAL_KINDS in ik.h), in the numbers of one skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import rows, shown
from ikcore.record import record
from ikcore.skeleton import Skeleton, ancestors, check_chain, is_name_or_number, path, start_of

Array = ArrayLike | EllipsisType
Point = tuple[float, float, float]


class Goal:
    """A task for a pose: what every kind of goal is. Solvers take lists of them."""

    __slots__ = ()

    def _tasks(self, made: _Making) -> Iterator[Task]:
        """What it asks for, in the numbers of a skeleton."""
        raise NotImplementedError


@record
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
        Goals of a level move nothing that those of levels before need, whatever they weigh. For methods that take
        levels, as ``dls``.

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
        _check_joint("joint", self.joint)
        check_chain(self.chain)
        if self.position is None and self.rotation is None:
            raise ValueError(f"Reach({self.joint!r}): expected a position, a rotation or both, got neither")
        if self.position is None and (self.offset is not None or self.pole is not None):
            raise ValueError(f"Reach({self.joint!r}): offset and pole belong to a position, and there is none")
        if self.up is not None and self.pole is None:
            raise ValueError(f"Reach({self.joint!r}): up turns towards a pole, and there is none")
        _check_level(self.level)

    def _tasks(self, made: _Making) -> Iterator[Task]:
        joint, offset = made.joint(self.joint), made.point("offset", self.offset)
        common = {"joint": joint, "chain": made.chain(self.chain, joint), "level": self.level}
        if self.position is not None:
            up = made.point("up", self.up)
            yield made.task("PLACE", ("position", "weight", "pole"), **common, offset=offset, up=up)
        if self.rotation is not None:
            yield made.task("TURN", ("rotation", "rotation_weight"), **common, offset=offset)


@record
class Look(Goal):
    """An axis of a joint should point at a place, as a head, a hand or a camera does.

    The joints that turn for it are those from the start of `chain` down to `joint`, and the joint itself.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    axis : (3,) array_like
        Which axis, in the space of the joint, of any length.
    position : (..., 3) array_like, optional
        Where it should point, in the world.
    other : str or int, optional
        In place of a position: the joint where it should point.
    weight : (...) array_like
        How much it counts, as in `Reach`; an angle counts as a `rotation` does there.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`.
    offset : (3,) array_like, optional
        Where the axis starts, in the space of the joint. Default: the joint.
    other_offset : (3,) array_like, optional
        A point of `other` to look at, in the space of that. Default: the joint.
    other_chain : str or int, optional
        The first joint that may turn for `other`. Default: none does.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton([-1, 0, 1], [[0, 1, 0], [0, 0.4, 0], [0, 0.2, 0]], names=["spine", "neck", "head"])
    >>> found = ik.dls(body, body.rest, [ik.Look("head", [0, 0, 1], [2, 1.6, 2], chain=1)])
    >>> print(found.status, found.rotation_error < 1e-4)
    0 True
    """

    joint: str | int
    axis: ArrayLike
    position: Array | None = None
    _: KW_ONLY
    other: str | int | None = None
    weight: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    other_offset: ArrayLike | None = None
    other_chain: str | int | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check_joint("joint", self.joint)
        check_chain(self.chain)
        _check_level(self.level)
        _check_end(self)

    def _tasks(self, made: _Making) -> Iterator[Task]:
        axis = made.point("axis", self.axis)
        if not any(axis):
            raise ValueError(f"{made.where}.axis: expected an axis, got one without length")
        between = made.between(self.joint, self.chain, self.other, self.other_chain, self.other_offset)
        offset = made.point("offset", self.offset)
        yield made.task("LOOK", ("position", "weight"), **between, offset=offset, axis=axis, level=self.level)


@record
class Distance(Goal):
    """A joint, or a point fixed to it, should be so far from another, or from a place.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    distance : (...) array_like
        How far.
    other : str or int, optional
        The joint from which;
    position : (..., 3) array_like, optional
        or the place in the world.
    weight : (...) array_like
        How much it counts, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`. Default: the highest whose turning changes the distance.
    offset, other_offset : (3,) array_like, optional
        The points, in the spaces of their joints. Default: the joints.
    other_chain : str or int, optional
        The first joint that may turn for `other`. Default: none does.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> arms = ik.Skeleton([-1, 0, 1, -1], [[0, 0, 0], [1, 0, 0], [1, 0, 0], [3, 1, 0]], names=["a", "b", "c", "post"])
    >>> found = ik.dls(arms, arms.rest, [ik.Distance("c", 2.0, other="post")])
    >>> way = ik.Skeleton.forward(arms, found.pose).positions[2] - [3, 1, 0]
    >>> print(found.status, round(float((way**2).sum() ** 0.5), 4))
    0 2.0
    """

    joint: str | int
    distance: Array
    _: KW_ONLY
    other: str | int | None = None
    position: Array | None = None
    weight: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    other_offset: ArrayLike | None = None
    other_chain: str | int | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check_joint("joint", self.joint)
        check_chain(self.chain)
        _check_level(self.level)
        _check_end(self)

    def _tasks(self, made: _Making) -> Iterator[Task]:
        between = made.between(self.joint, self.chain, self.other, self.other_chain, self.other_offset)
        offset = made.point("offset", self.offset)
        yield made.task("DISTANCE", ("position", "distance", "weight"), **between, offset=offset, level=self.level)


@record
class Relative(Goal):
    """A joint should be somewhere, or turned some way, as seen from another: a hand on a hip, two hands on a bar.

    A closed loop is a chain whose end is held at another: ``Relative("last", "first", position=[...])``.

    Attributes
    ----------
    joint, other : str or int
        The joint, and the one that sees it, by name or index.
    position : (..., 3) array_like, optional
        Where the joint should be, in the space of `other`: along its axes, in units of the world whatever its scale.
    rotation : (..., 4) array_like, optional
        Its rotation in that space, (w, x, y, z) of any length.
    weight, rotation_weight : (...) array_like
        How much they count, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`. Default: the highest below what both hang from.
    offset : (3,) array_like, optional
        The point that should be at `position`, in the space of the joint. Default: the joint.
    other_chain : str or int, optional
        The first joint that may turn for `other`. Default: none does.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton([-1, 0, 1, 0, 3, 4], [[0, 1, 0], [0, 0.2, 0], [0.1, 0, 0], [0, 0.5, 0], [0.3, 0, 0],
    ...                    [0.3, 0, 0]], names=["root", "hip", "side", "shoulder", "elbow", "hand"])
    >>> found = ik.dls(body, body.rest, [ik.Relative("hand", "side", position=[0.1, 0, 0.1])])
    >>> print(found.status)
    0
    """

    joint: str | int
    other: str | int
    position: Array | None = None
    rotation: Array | None = None
    _: KW_ONLY
    weight: Array = 1.0
    rotation_weight: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    other_chain: str | int | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check_joint("joint", self.joint)
        _check_joint("other", self.other)
        check_chain(self.chain)
        check_chain(self.other_chain, "other_chain")
        _check_level(self.level)
        if self.position is None and self.rotation is None:
            raise ValueError(f"Relative({self.joint!r}): expected a position, a rotation or both, got neither")
        if self.position is None and self.offset is not None:
            raise ValueError(f"Relative({self.joint!r}): offset belongs to a position, and there is none")

    def _tasks(self, made: _Making) -> Iterator[Task]:
        between = made.between(self.joint, self.chain, self.other, self.other_chain, None)
        if self.position is not None:
            offset = made.point("offset", self.offset)
            yield made.task("PLACE", ("position", "weight"), **between, offset=offset, level=self.level)
        if self.rotation is not None:
            yield made.task("TURN", ("rotation", "rotation_weight"), **between, level=self.level)


@record
class CentreOfMass(Goal):
    """The centre of mass of all joints should be somewhere; `Skeleton` says what they weigh.

    Attributes
    ----------
    position : (..., 3) array_like
        Where it should be, in the world.
    weight : (...) array_like
        How much it counts, as in `Reach`.
    chain : str or int, optional
        The joint that may turn and slide with all that hangs from it. Default: all joints may.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> rod = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], masses=[0, 1, 1])
    >>> found = ik.dls(rod, rod.rest, [ik.CentreOfMass([0.5, 1, 0])])
    >>> print(found.status)
    0
    """

    position: Array
    _: KW_ONLY
    weight: Array = 1.0
    chain: str | int | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check_level(self.level)

    def _tasks(self, made: _Making) -> Iterator[Task]:
        made.check_masses()
        chain = -1 if self.chain is None else made.joint(self.chain)
        yield made.task("CENTRE_OF_MASS", ("position", "weight"), joint=-1, chain=chain, level=self.level)


@record
class Inside(Goal):
    """A joint, or the centre of mass, should be on one side of a plane: clear of a wall, or over its feet.

    Where it is, nothing moves for it; and it may stand right on the plane. `polygon` makes one for every side of that.

    Attributes
    ----------
    joint : str, int or None
        The joint, by name or index; None: the centre of mass.
    position, normal : (..., 3) array_like
        A point of the plane, in the world, and which way is its right side, of any length.
    distance : (...) array_like
        How far from the plane at least. Negative: so far beyond it is right as well.
    weight : (...) array_like
        How much it counts, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`, or as in `CentreOfMass`.
    offset : (3,) array_like, optional
        The point, in the space of the joint. Default: the joint.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> above = ik.Inside(2, [0, 0, 0], [0, 1, 0], distance=0.2)
    >>> found = ik.dls(arm, arm.rest, [ik.Reach(3, [1.5, 0.5, 0]), above])
    >>> print(found.status, arm.forward(found.pose).positions[2, 1] >= 0.2 - 1e-4)
    0 True
    """

    joint: str | int | None
    position: Array
    normal: Array
    _: KW_ONLY
    distance: Array = 0.0
    weight: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        if self.joint is not None:
            _check_joint("joint", self.joint)
            check_chain(self.chain)
        elif self.offset is not None:
            raise ValueError("Inside(None): offset is of a joint, and this is about the centre of mass")
        _check_level(self.level)

    def _tasks(self, made: _Making) -> Iterator[Task]:
        rows = ("position", "normal", "distance", "weight")
        if self.joint is None:
            made.check_masses()
            chain = -1 if self.chain is None else made.joint(self.chain)
            yield made.task("INSIDE", rows, joint=-1, chain=chain, level=self.level)
            return
        joint, offset = made.joint(self.joint), made.point("offset", self.offset)
        chain = made.chain(self.chain, joint)
        yield made.task("INSIDE", rows, joint=joint, chain=chain, offset=offset, level=self.level)

    @classmethod
    def polygon(cls, corners: ArrayLike, up: ArrayLike, joint: str | int | None = None, **options: Any) -> list[Inside]:
        """Goals that keep a joint, or the centre of mass, over a convex polygon: one for every side.

        Parameters
        ----------
        corners : (n, 3) array_like
            The corners one after another, either way round: the soles of the feet that stand, say.
        up : (3,) array_like
            Which way is up. How high anything is does not matter.
        joint : str or int, optional
            The joint (default: the centre of mass).
        **options
            What else an `Inside` has; ``distance=0.02`` keeps it so far from every side.

        Returns
        -------
        list of Inside
            For the list of goals: ``[*Inside.polygon(...), hand]``.

        Examples
        --------
        >>> sides = Inside.polygon([[0, 0, 0], [1, 0, 0], [0, 0, 1]], up=[0, 1, 0])
        >>> len(sides), sides[0].normal
        (3, (0.0, 0.0, 1.0))
        """
        at, above = np.asarray(corners, np.float64), np.asarray(up, np.float64)
        if at.ndim != 2 or at.shape[1] != 3 or len(at) < 3:
            raise ValueError(f"corners: expected three or more points, (n, 3), got shape {at.shape}")
        if above.shape != (3,) or not above.any():
            raise ValueError(f"up: expected a direction, three numbers, got {shown(up)}")
        sides = np.roll(at, -1, axis=0) - at
        normals = np.cross(above, sides)
        middle = at.mean(axis=0)
        inwards = np.sign(np.einsum("ni,ni->n", normals, middle - at))
        if (
            not inwards.all()
            or not (
                (at[None] - at[:, None]) @ normals[..., None] * inwards[:, None, None] >= -1e-9 * np.abs(at).max()
            ).all()
        ):
            raise ValueError("corners: expected a convex polygon, seen from above")
        turned = normals * inwards[:, None]
        return [
            cls(joint, tuple(point), tuple(normal), **options)
            for point, normal in zip(at, (turned + 0.0).tolist(), strict=True)
        ]


@record
class Posture(Goal):
    """A joint should be turned some way, as far as all other goals leave that open.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index. It turns only where some other goal makes it.
    rotation : (..., 4) array_like, optional
        The local rotation, (w, x, y, z) of any length. Default: what the skeleton prefers, as a rule rest.
    weight : (...) array_like
        The share of the way there that it goes in an iteration, 0 to 1.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> bent = ik.Posture(1, ik.rotations.from_axis_angle([0, 0, 1], 0.5))
    >>> found = ik.dls(arm, arm.rest, [ik.Reach(3, [2, 1, 0]), bent])
    >>> print(found.status)
    0
    """

    joint: str | int
    rotation: Array | None = None
    _: KW_ONLY
    weight: Array = 1.0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check_joint("joint", self.joint)

    def _tasks(self, made: _Making) -> Iterator[Task]:
        joint = made.joint(self.joint)
        yield made.task("POSTURE", ("rotation", "weight"), joint=joint, chain=joint)


def _check_joint(name: str, joint: Any) -> None:
    if not is_name_or_number(joint):
        raise TypeError(f"{name}: expected a name or an index, got {type(joint).__name__}")


_HIGHEST_LEVEL = 1_000_000


def _check_level(level: Any) -> None:
    if type(level) is int and level == 0:  # as a rule
        return
    if isinstance(level, str) or not is_name_or_number(level):
        raise TypeError(f"level: expected a whole number, got {shown(level)}")
    if not 0 <= level <= _HIGHEST_LEVEL:
        raise ValueError(f"level: expected 0 to {_HIGHEST_LEVEL}, got {shown(level)}")


def _check_end(goal: Look | Distance) -> None:
    """A goal between two ends says what the other one is: a joint, or a place in the world."""
    name = f"{type(goal).__name__}({goal.joint!r})"
    if (goal.other is None) == (goal.position is None):
        raise ValueError(f"{name}: expected other, a joint, or position, a place: one of them")
    if goal.other is not None:
        _check_joint("other", goal.other)
        check_chain(goal.other_chain, "other_chain")
    elif goal.other_offset is not None or goal.other_chain is not None:
        raise ValueError(f"{name}: other_offset and other_chain belong to another joint, and there is none")


# --- tasks ------------------------------------------------------------------------------------------------------------


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


class _Making:
    """A goal on its way to tasks: its place in the list, the skeleton, the type of numbers."""

    def __init__(self, goal: Goal, index: int, skeleton: Skeleton, dtype: np.dtype[Any]) -> None:
        self.goal, self.index, self.skeleton, self.dtype = goal, index, skeleton, dtype
        self.where = f"goals[{index}]"

    def joint(self, joint: str | int) -> int:
        return self.skeleton.index(joint)

    def chain(self, chain: str | int | None, joint: int, name: str = "chain") -> int:
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


def open_arrays(goal: Goal) -> list[str]:
    """The names of what is an ellipsis in a goal: it comes with the call of a `Solver`."""
    return [name for name in GOAL_ARRAYS if getattr(goal, name, None) is ...]


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
        if not isinstance(goal, Goal):
            raise TypeError(f"goals[{index}]: expected a Reach or another goal, got {type(goal).__name__}")
    return goals


def tasks_of(skeleton: Skeleton, goals: Sequence[Goal], dtype: np.dtype[Any]) -> tuple[Task, ...]:
    """The goals in numbers of `dtype`, checked against the skeleton and each other."""
    goals = checked_goals(goals)
    tasks = tuple(
        task for index, goal in enumerate(goals) for task in goal._tasks(_Making(goal, index, skeleton, dtype))
    )
    _check_points(skeleton, tasks)
    if all(task.kind == "POSTURE" for task in tasks):
        raise ValueError(
            "goals: nothing but postures, which say how joints turn that other goals turn; give one of those"
        )
    return tasks


def _check_points(skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse two goals that are for the same: one place for a point, one rotation and one posture for a joint."""
    points: dict[Any, int] = {}
    for task in tasks:
        if task.kind not in _ONCE or task.relative:
            continue
        first = points.setdefault((task.kind, task.joint, task.offset if task.kind == "PLACE" else None), task.goal)
        if first != task.goal:
            (what, instead), name = _ONCE[task.kind], skeleton.names[task.joint]
            raise ValueError(f"goals[{first}] and goals[{task.goal}] are for {what} of {name!r}: {instead}")


_ONCE = {
    "PLACE": ("the same point", "give one another offset, or leave it out"),
    "TURN": ("the rotation", "leave one out"),
    "POSTURE": ("the posture", "leave one out"),
}
