"""Goals: small typed tasks that say where parts of a pose should be.

What an animator or a researcher writes is a `Goal`; each makes one or two tasks of the kinds that the core knows
(GOAL_KINDS in ik.h), in the numbers of one skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ikcore._arrays import rows, shown
from ikcore.record import record
from ikcore.skeleton import check_chain, is_name_or_number
from ikcore.tasks import GOAL_ARRAYS, Making, Task

Array = ArrayLike | EllipsisType
_DOUBLE = np.dtype(np.float64)


class Goal:
    """A task for a pose: what every kind of goal is. Solvers take lists of them."""

    __slots__ = ()

    influence: Array

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)

    def _tasks(self, made: Making) -> Iterator[Task]:
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
        values may be NaN. A negative weight counts as 0, one that is not finite makes the item unusable. Limbs of
        ``two_bone`` and rays of ``aim`` do not compete: there any weight above 0 counts as any other.
    influence : (...) array_like
        The share of the way that the goal takes the pose, 0 to 1: at 0 the answer is the one without it, at 1 the one
        with it, and between them its end is at that share of the way from one to the other: places by line, turns by
        arc, numbers evenly. Below 0 counts as 0, above 1 as 1; one that is not finite makes the item unusable.
    chain : str or int, optional
        The first joint that may turn: by its name, or by how many joints above `joint` may (2: upper arm and forearm
        for a hand). Default: all, up to the root.
    offset : (3,) array_like, optional
        The point that should be at `position`, in the space of the joint. Default: the joint.
    pole : (..., 3) array_like, optional
        A point that the chain bends towards, turned as a whole about the line from its first joint to its end. Nothing
        else may hang from that joint, and in iterative methods it may have no limit.
    level : int
        Goals of a level move nothing that those of levels before need, whatever they weigh. For methods that take
        levels, as ``dls`` and ``fabrik``.

    Examples
    --------
    >>> import ikcore as ik
    >>> hand = ik.Reach("hand.L", position=[0.4, 1.2, 0.3], chain="upper_arm.L")
    >>> upright = ik.Reach("head", rotation=[1, 0, 0, 0], chain=0)

    In `ikcore.solver` an ellipsis stands for an array that comes with the call:

    >>> spec = ik.Reach("hand.L", position=..., chain=2)
    """

    joint: str | int
    position: ArrayLike | EllipsisType | None = None
    rotation: ArrayLike | EllipsisType | None = None
    _: KW_ONLY
    weight: ArrayLike | EllipsisType = 1.0
    rotation_weight: ArrayLike | EllipsisType = 1.0
    influence: ArrayLike | EllipsisType = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    pole: ArrayLike | EllipsisType | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)
        _check_place_or_turn(self)
        if self.position is None and self.pole is not None:
            raise ValueError(f"{_name(self)}.pole: it belongs to a position, and there is none")

    def _tasks(self, made: Making) -> Iterator[Task]:
        placed = made.placed()
        if self.position is not None:
            yield made.task("PLACE", ("position", "weight", "pole"), **placed)
        if self.rotation is not None:
            yield made.task("TURN", ("rotation", "rotation_weight"), **placed)


@record
class Look(Goal):
    """An axis of a joint should point at a place, as that of a head, a hand or a camera does.

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
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`. Not of one that looks at another joint.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`. (For ``aim`` it is the joint itself, ``chain=0``.)
    offset : (3,) array_like, optional
        Where the axis starts, in the space of the joint. Default: the joint.
    other_offset : (3,) array_like, optional
        A point of `other` to look at, in the space of that. Default: the joint.
    other_chain : str or int, optional
        The first joint that may turn for `other`. Default: none does.
    up : (3,) array_like, optional
        For ``aim``: an axis, in the space of the joint, that turns towards `pole`.
    pole : (..., 3) array_like, optional
        For ``aim``: a point in the world. The joint rolls until `up` is on that side.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton(
    ...     [-1, 0, 1], [[0, 1, 0], [0, 0.4, 0], [0, 0.2, 0]], names=["spine", "neck", "head"]
    ... )
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
    influence: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    other_offset: ArrayLike | None = None
    other_chain: str | int | None = None
    up: ArrayLike | None = None
    pole: Array | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)
        _check_end(self)
        if (self.up is None) != (self.pole is None):
            raise ValueError(
                f"{_name(self)}: expected up, an axis that turns towards the pole, and pole, both or neither"
            )

    def _tasks(self, made: Making) -> Iterator[Task]:
        up = made.point("up") if self.up is None else made.axis("up")
        yield made.task("LOOK", ("position", "weight", "pole"), **made.placed(), axis=made.axis("axis"), up=up)


@record
class Distance(Goal):
    """A joint, or a point fixed to it, should be so far from another, or from a place.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    distance : (...) array_like
        How far: 0 or more.
    other : str or int, optional
        The joint from which;
    position : (..., 3) array_like, optional
        or the place in the world.
    weight : (...) array_like
        How much it counts, as in `Reach`.
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`.
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
    >>> arms = ik.Skeleton(
    ...     [-1, 0, 1, -1],
    ...     [[0, 0, 0], [1, 0, 0], [1, 0, 0], [3, 1, 0]],
    ...     names=["a", "b", "c", "post"],
    ... )
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
    influence: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    other_offset: ArrayLike | None = None
    other_chain: str | int | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)
        _check_end(self)

    def _tasks(self, made: Making) -> Iterator[Task]:
        task = made.task("DISTANCE", ("position", "distance", "weight"), **made.placed())
        if task.distance is not None and np.any(task.distance < 0):
            raise ValueError(f"{made.where}.distance: expected 0 or more, got {np.nanmin(task.distance):g}")
        yield task


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
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`.
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
    >>> body = ik.Skeleton(
    ...     [-1, 0, 1, 0, 3, 4],
    ...     [[0, 1, 0], [0, 0.2, 0], [0.1, 0, 0], [0, 0.5, 0], [0.3, 0, 0], [0.3, 0, 0]],
    ...     names=["root", "hip", "side", "shoulder", "elbow", "hand"],
    ... )
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
    influence: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    other_chain: str | int | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)
        _check_place_or_turn(self)

    def _tasks(self, made: Making) -> Iterator[Task]:
        placed = made.placed()
        if self.position is not None:
            yield made.task("PLACE", ("position", "weight"), **placed)
        if self.rotation is not None:
            yield made.task("TURN", ("rotation", "rotation_weight"), **placed)


@record
class CentreOfMass(Goal):
    """The centre of mass of all joints should be somewhere; `Skeleton` says what they weigh.

    Attributes
    ----------
    position : (..., 3) array_like
        Where it should be, in the world.
    weight : (...) array_like
        How much it counts, as in `Reach`.
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`.
    chain : str, optional
        The name of the joint that may turn and slide with all that hangs from it. Default: all joints may.
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
    influence: Array = 1.0
    chain: str | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)
        _check_chain_of_mass(self)

    def _tasks(self, made: Making) -> Iterator[Task]:
        yield made.task("CENTRE_OF_MASS", ("position", "weight"), **made.weighed())


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
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn for it, as in `Reach`; where it is for the centre of mass, as in `CentreOfMass`.
        Default: what other goals move, and if there are none, all up to the root.
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
    influence: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    level: int = 0

    def __post_init__(self) -> None:
        """Refuse what no skeleton could make sense of."""
        _check(self)
        if self.joint is None:
            _check_chain_of_mass(self)
            if self.offset is not None:
                raise ValueError("Inside(None).offset: it is of a joint, and this is about the centre of mass")

    def _tasks(self, made: Making) -> Iterator[Task]:
        placed = made.weighed() if self.joint is None else made.placed()
        yield made.task("INSIDE", ("position", "normal", "distance", "weight"), **placed)

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
        at, above = (rows(name, value, _DOUBLE, 3) for name, value in (("corners", corners), ("up", up)))
        if at.ndim != 2 or len(at) < 3:
            raise ValueError(f"corners: expected three or more points, (n, 3), got shape {at.shape}")
        if above.ndim != 1 or not above.any():
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
            for point, normal in zip(at.tolist(), (turned + 0.0).tolist(), strict=True)
        ]


@record
class Outside(Goal):
    """A bone should be clear of a capsule: of all places that are nearer than a distance to a straight axis.

    The bone is the straight line to a joint from the one above; where `offset` is given, from the joint to that point.
    Where it is clear, nothing moves for it; and it may touch. What counts is the pose that is found, not the way there.

    Attributes
    ----------
    joint : str or int
        The joint where the bone ends, by name or index. (That of a root is the root alone.)
    position : (..., 3) array_like
        Where the axis of the capsule starts, in the world.
    distance : (...) array_like
        How far from the axis the bone stays at least: the radius of the capsule, and what the bone is thick. Below 0
        it is always met.
    end : (..., 3) array_like, optional
        Where the axis ends. Default: where it starts, so that the capsule is a sphere.
    weight : (...) array_like
        How much it counts, as in `Reach`.
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn for it, as in `Reach`. Default: as of an `Inside`.
    offset : (3,) array_like, optional
        A point in the space of the joint: the bone is then the line from the joint to it.
    level : int
        As in `Reach`.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> pole = [
    ...     ik.Outside(joint, [1.2, 0.2, -1], 0.3, end=[1.2, 0.2, 1]) for joint in (1, 2, 3)
    ... ]
    >>> found = ik.dls(arm, arm.rest, [ik.Reach(3, [2, 0.2, 0]), *pole])
    >>> print(found.status)
    0
    """

    joint: str | int
    position: Array
    distance: Array
    _: KW_ONLY
    end: Array | None = None
    weight: Array = 1.0
    influence: Array = 1.0
    chain: str | int | None = None
    offset: ArrayLike | None = None
    level: int = 0

    def _tasks(self, made: Making) -> Iterator[Task]:
        yield made.task("OUTSIDE", ("position", "end", "distance", "weight"), **made.placed())


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
    influence : (...) array_like
        The share of the way that it takes the pose, 0 to 1, as in `Reach`.

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
    influence: Array = 1.0

    def _tasks(self, made: Making) -> Iterator[Task]:
        joint = made.joint("joint")
        yield made.task("POSTURE", ("rotation", "weight"), joint=joint, chain=joint)


# --- what no skeleton could make sense of -----------------------------------------------------------------------------


def _name(goal: Any) -> str:
    return f"{type(goal).__name__}({shown(goal.joint)})" if hasattr(goal, "joint") else type(goal).__name__


_HIGHEST_LEVEL = 1_000_000

# The joints that a goal may do without.
_MAY_LACK = {(Inside, "joint"), (Look, "other"), (Distance, "other")}


def _check(goal: Any) -> None:
    """Joints are names or numbers, chains too, and levels numbers."""
    for name in ("joint", "other"):
        joint = getattr(goal, name, "")
        if not is_name_or_number(joint) and not (joint is None and (type(goal), name) in _MAY_LACK):
            raise TypeError(f"{_name(goal)}.{name}: expected the name or index of a joint, got {shown(joint)}")
    for name in ("chain", "other_chain"):
        if (chain := getattr(goal, name, None)) is not None:
            check_chain(chain, f"{_name(goal)}.{name}")
    level = getattr(goal, "level", 0)
    if level == 0 and type(level) is int:
        return  # as a rule
    if isinstance(level, str) or not is_name_or_number(level):
        raise TypeError(f"{_name(goal)}.level: expected a whole number, got {shown(level)}")
    if not 0 <= level <= _HIGHEST_LEVEL:
        raise ValueError(f"{_name(goal)}.level: expected 0 to {_HIGHEST_LEVEL}, got {shown(level)}")


def _check_place_or_turn(goal: Reach | Relative) -> None:
    """It asks for a position, or a rotation, or both."""
    if goal.position is None and goal.rotation is None:
        raise ValueError(f"{_name(goal)}: expected a position, a rotation or both, got neither")
    if goal.position is None and goal.offset is not None:
        raise ValueError(f"{_name(goal)}.offset: it belongs to a position, and there is none")


def _check_end(goal: Look | Distance) -> None:
    """A goal between two ends says what the other one is: a joint, or a place in the world."""
    if (goal.other is None) == (goal.position is None):
        raise ValueError(f"{_name(goal)}: expected other, a joint, or position, a place: one of them")
    if goal.other is None and (goal.other_offset is not None or goal.other_chain is not None):
        raise ValueError(f"{_name(goal)}: other_offset and other_chain belong to another joint, and there is none")


def _check_chain_of_mass(goal: CentreOfMass | Inside) -> None:
    """Its chain is named: a number counts the joints above another one, and there is no other."""
    if goal.chain is not None and not isinstance(goal.chain, str):
        raise TypeError(
            f"{_name(goal)}.chain: expected the name of a joint, got {shown(goal.chain)}; a number says how"
            " many joints above a goal's own, and the centre of mass is no joint"
        )


# --- arrays that come with a call -------------------------------------------------------------------------------------


def open_arrays(goal: Goal) -> list[str]:
    """The names of what is an ellipsis in a goal: it comes with the call of a `Solver`."""
    return [name for name in GOAL_ARRAYS if getattr(goal, name, None) is ...]


def completed(goal: Any, arrays: Iterator[ArrayLike]) -> Goal:
    """The goal with the next arrays in place of its ellipses."""
    made: Goal = replace(goal, **{name: next(arrays) for name in open_arrays(goal)})
    return made
