"""Goals: small typed tasks that say where parts of a pose should be.

Users write a `Goal`. Each goal makes one or two tasks of the kinds that the core knows (GOAL_KINDS in ik.h), in the
numbers of one skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ikcore._arrays import as_text, rows
from ikcore._joints import check_chain, is_name_or_number
from ikcore._record import record
from ikcore.solving.tasks import GOAL_ARRAYS, Task, TaskBuilder

Array = ArrayLike | EllipsisType
_DOUBLE = np.dtype(np.float64)


class Goal:
    """A task for a pose, the base of all kinds of goals. Solvers take lists of them."""

    __slots__ = ()

    influence: Array

    def __post_init__(self) -> None:
        """Refuse values that are invalid for every skeleton."""
        _check(self)

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        """The tasks of the goal, in the numbers of a skeleton."""
        raise NotImplementedError


@record
class Reach(Goal):
    """A joint, or a point fixed to it, should be at a position, and have a rotation if that is given.

    The joints from the start of `chain` down to `joint` may turn. If neither `rotation` nor `offset` is given, `joint`
    itself does not, because its rotation would change nothing.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    position : (..., 3) array_like, optional
        Its target position, in the world.
    rotation : (..., 4) array_like, optional
        Its target rotation in the world, (w, x, y, z) of any length. Without it the joint keeps its local rotation and
        follows its parent. To keep a foot as it stands, give its present rotation.
    weight, rotation_weight : (...) array_like
        Weights of position and rotation among the goals; only ratios matter. At 0 a value is ignored and may be NaN. A
        negative weight counts as 0, and one that is not finite makes the item unusable. Limbs of ``two_bone`` and rays
        of ``aim`` do not compete: any weight above 0 counts as 1.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1. At 0 the result is the one without the goal, at 1 the one with
        it. In between, the end is at that share of the way from one to the other: positions along a line, rotations
        along an arc, numbers linearly. Below 0 counts as 0, above 1 as 1. An influence that is not finite makes the
        item unusable.
    chain : str or int, optional
        The first joint that may turn: its name, or the number of joints above `joint` (2: upper arm and forearm for a
        hand). Default: all, up to the root.
    offset : (3,) array_like, optional
        The point that should be at `position`, in the space of the joint. Default: the joint.
    pole : (..., 3) array_like, optional
        A point towards which the chain bends: the chain is rotated as a whole about the line from its first joint to
        its end. The first joint may have no other children, and no limit in iterative methods.
    level : int
        Strict priority, 0 first: a goal never disturbs goals of levels before it, whatever its weight. For methods with
        levels, such as ``dls`` and ``fabrik``.

    Examples
    --------
    >>> import ikcore as ik
    >>> hand = ik.Reach("hand.L", position=[0.4, 1.2, 0.3], chain="upper_arm.L")
    >>> upright = ik.Reach("head", rotation=[1, 0, 0, 0], chain=0)

    In `ikcore.Solver` an ellipsis stands for an array that is given in the call:

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
        """Refuse values that are invalid for every skeleton."""
        _check(self)
        _check_place_or_turn(self)
        if self.position is None and self.pole is not None:
            raise ValueError(f"{_name(self)}.pole: it belongs to a position, and there is none")

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        placed = made.joint_fields()
        if self.position is not None:
            yield made.task("PLACE", ("position", "weight", "pole"), **placed)
        if self.rotation is not None:
            yield made.task("TURN", ("rotation", "rotation_weight"), **placed)


@record
class Look(Goal):
    """An axis of a joint should point at a position, as for a head, a hand or a camera.

    The joints from the start of `chain` down to and including `joint` may turn.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    axis : (3,) array_like
        The axis, in the space of the joint, of any length.
    position : (..., 3) array_like, optional
        Its target, in the world.
    other : str or int, optional
        Instead of a position: the joint at which it should point.
    weight : (...) array_like
        Its weight, as in `Reach`; its angle is weighted like a `rotation` there.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`. Not for a target joint `other`.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`. (For ``aim`` it is the joint itself, ``chain=0``.)
    offset : (3,) array_like, optional
        Start of the axis, in the space of the joint. Default: the joint.
    other_offset : (3,) array_like, optional
        A point of `other` as the target, in the space of `other`. Default: the joint.
    other_chain : str or int, optional
        The first joint that may turn for `other`. Default: none does.
    up : (3,) array_like, optional
        For ``aim``: an axis, in the space of the joint, that turns towards `pole`.
    pole : (..., 3) array_like, optional
        For ``aim``: a point in the world. The joint rolls until `up` is on its side.
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
        """Refuse values that are invalid for every skeleton."""
        _check(self)
        _check_end(self)
        if (self.up is None) != (self.pole is None):
            raise ValueError(
                f"{_name(self)}: expected up, an axis that turns towards the pole, and pole, both or neither"
            )

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        up = made.point("up") if self.up is None else made.axis("up")
        yield made.task("LOOK", ("position", "weight", "pole"), **made.joint_fields(), axis=made.axis("axis"), up=up)


@record
class Distance(Goal):
    """A joint, or a point fixed to it, should be at a distance from another, or from a position.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index.
    distance : (...) array_like
        The target distance: 0 or more.
    other : str or int, optional
        The other joint;
    position : (..., 3) array_like, optional
        or the position in the world.
    weight : (...) array_like
        Its weight, as in `Reach`.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`. Default: the highest whose rotation changes the distance.
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
        """Refuse values that are invalid for every skeleton."""
        _check(self)
        _check_end(self)

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        task = made.task("DISTANCE", ("position", "distance", "weight"), **made.joint_fields())
        if task.distance is not None and np.any(task.distance < 0):
            raise ValueError(f"{made.where}.distance: expected 0 or more, got {np.nanmin(task.distance):g}")
        yield task


@record
class Relative(Goal):
    """A joint should have a position, or a rotation, relative to another: a hand on a hip, two hands on a bar.

    A closed loop is a chain whose end is fixed to another joint: ``Relative("last", "first", position=[...])``.

    Attributes
    ----------
    joint, other : str or int
        The joint, and its reference joint, by name or index.
    position : (..., 3) array_like, optional
        Target position of the joint in the space of `other`: along its axes, in world units whatever its scale.
    rotation : (..., 4) array_like, optional
        Target rotation in that space, (w, x, y, z) of any length.
    weight, rotation_weight : (...) array_like
        Their weights, as in `Reach`.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn, as in `Reach`. Default: the highest below the common ancestor of both.
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
        """Refuse values that are invalid for every skeleton."""
        _check(self)
        _check_place_or_turn(self)

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        placed = made.joint_fields()
        if self.position is not None:
            yield made.task("PLACE", ("position", "weight"), **placed)
        if self.rotation is not None:
            yield made.task("TURN", ("rotation", "rotation_weight"), **placed)


@record
class CentreOfMass(Goal):
    """The centre of mass of all joints should be at a position; the masses are given to `Skeleton`.

    Attributes
    ----------
    position : (..., 3) array_like
        Its target position, in the world.
    weight : (...) array_like
        Its weight, as in `Reach`.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`.
    chain : str, optional
        The name of the joint that may turn and slide, with all joints below it. Default: all joints.
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
        """Refuse values that are invalid for every skeleton."""
        _check(self)
        _check_chain_of_mass(self)

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        yield made.task("CENTRE_OF_MASS", ("position", "weight"), **made.mass_centre_fields())


@record
class Inside(Goal):
    """A joint, or the centre of mass, should be on one side of a plane: clear of a wall, or over its feet.

    A joint on that side, or on the plane, is not moved. `polygon` makes one such goal for every side of a polygon.

    Attributes
    ----------
    joint : str, int or None
        The joint, by name or index; None: the centre of mass.
    position, normal : (..., 3) array_like
        A point of the plane, in the world, and the normal of its allowed side, of any length.
    distance : (...) array_like
        Smallest allowed distance from the plane. A negative one allows positions so far beyond it.
    weight : (...) array_like
        Its weight, as in `Reach`.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn for it, as in `Reach`; for the centre of mass as in `CentreOfMass`. Default: the
        joints that other goals move, and without other goals all up to the root.
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
        """Refuse values that are invalid for every skeleton."""
        _check(self)
        if self.joint is None:
            _check_chain_of_mass(self)
            if self.offset is not None:
                raise ValueError("Inside(None).offset: it is of a joint, and this is about the centre of mass")

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        placed = made.mass_centre_fields() if self.joint is None else made.joint_fields()
        yield made.task("INSIDE", ("position", "normal", "distance", "weight"), **placed)

    @classmethod
    def polygon(cls, corners: ArrayLike, up: ArrayLike, joint: str | int | None = None, **options: Any) -> list[Inside]:
        """Make goals that keep a joint, or the centre of mass, over a convex polygon: one for every side.

        Parameters
        ----------
        corners : (n, 3) array_like
            The corners in order, clockwise or not: those of the soles of planted feet, for instance.
        up : (3,) array_like
            The up direction. Heights do not matter.
        joint : str or int, optional
            The joint (default: the centre of mass).
        **options
            Other arguments of `Inside`; ``distance=0.02`` keeps that distance from every side.

        Returns
        -------
        list of Inside
            Goals to insert into the list: ``[*Inside.polygon(...), hand]``.

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
            raise ValueError(f"up: expected a direction, three numbers, got {as_text(up)}")
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
    """A bone should stay outside a capsule: all points within a distance of a straight axis.

    The bone is the straight line to a joint from its parent or, if `offset` is given, from the joint to that point. A
    bone that is outside, or touches, is not moved. Only the resulting pose counts, not the path to it.

    Attributes
    ----------
    joint : str or int
        The joint where the bone ends, by name or index. (The bone of a root is a point.)
    position : (..., 3) array_like
        Start of the capsule's axis, in the world.
    distance : (...) array_like
        Smallest allowed distance of the bone from the axis: the radius of the capsule plus that of the bone. A negative
        one is always satisfied.
    end : (..., 3) array_like, optional
        End of the axis. Default: its start, which makes the capsule a sphere.
    weight : (...) array_like
        Its weight, as in `Reach`.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`.
    chain : str or int, optional
        The first joint that may turn for it, as in `Reach`. Default: as for `Inside`.
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

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        yield made.task("OUTSIDE", ("position", "end", "distance", "weight"), **made.joint_fields())


@record
class Posture(Goal):
    """A joint should have a local rotation, as far as all other goals leave it free.

    Attributes
    ----------
    joint : str or int
        The joint, by name or index. It turns only if another goal moves it.
    rotation : (..., 4) array_like, optional
        The local rotation, (w, x, y, z) of any length. Default: the skeleton's preferred one, usually rest.
    weight : (...) array_like
        Share of the rotation towards it per iteration, 0 to 1.
    influence : (...) array_like
        Share of the goal's effect on the pose, 0 to 1, as in `Reach`.

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

    def _tasks(self, made: TaskBuilder) -> Iterator[Task]:
        joint = made.joint("joint")
        yield made.task("POSTURE", ("rotation", "weight"), joint=joint, chain=joint)


# --- values that are invalid for every skeleton -----------------------------------------------------------------------


def _name(goal: Any) -> str:
    return f"{type(goal).__name__}({as_text(goal.joint)})" if hasattr(goal, "joint") else type(goal).__name__


_HIGHEST_LEVEL = 1_000_000

# The joints that may be None in a goal.
_MAY_LACK = {(Inside, "joint"), (Look, "other"), (Distance, "other")}


def _check(goal: Any) -> None:
    """Check that joints are names or indices, chains too, and that levels are numbers."""
    for name in ("joint", "other"):
        joint = getattr(goal, name, "")
        if not is_name_or_number(joint) and not (joint is None and (type(goal), name) in _MAY_LACK):
            raise TypeError(f"{_name(goal)}.{name}: expected the name or index of a joint, got {as_text(joint)}")
    for name in ("chain", "other_chain"):
        if (chain := getattr(goal, name, None)) is not None:
            check_chain(chain, f"{_name(goal)}.{name}")
    level = getattr(goal, "level", 0)
    if level == 0 and type(level) is int:
        return  # the usual case
    if isinstance(level, str) or not is_name_or_number(level):
        raise TypeError(f"{_name(goal)}.level: expected a whole number, got {as_text(level)}")
    if not 0 <= level <= _HIGHEST_LEVEL:
        raise ValueError(f"{_name(goal)}.level: expected 0 to {_HIGHEST_LEVEL}, got {as_text(level)}")


def _check_place_or_turn(goal: Reach | Relative) -> None:
    """Check that a position, a rotation or both are given."""
    if goal.position is None and goal.rotation is None:
        raise ValueError(f"{_name(goal)}: expected a position, a rotation or both, got neither")
    if goal.position is None and goal.offset is not None:
        raise ValueError(f"{_name(goal)}.offset: it belongs to a position, and there is none")


def _check_end(goal: Look | Distance) -> None:
    """Check that a goal between two ends defines the other one: a joint, or a position in the world."""
    if (goal.other is None) == (goal.position is None):
        raise ValueError(f"{_name(goal)}: expected other, a joint, or position, a place: one of them")
    if goal.other is None and (goal.other_offset is not None or goal.other_chain is not None):
        raise ValueError(f"{_name(goal)}: other_offset and other_chain belong to another joint, and there is none")


def _check_chain_of_mass(goal: CentreOfMass | Inside) -> None:
    """Check that the chain is named. A number would count joints above another one, and there is none."""
    if goal.chain is not None and not isinstance(goal.chain, str):
        raise TypeError(
            f"{_name(goal)}.chain: expected the name of a joint, got {as_text(goal.chain)}; a number says how"
            " many joints above a goal's own, and the centre of mass is no joint"
        )


# --- arrays given in the call -----------------------------------------------------------------------------------------


def open_arrays(goal: Goal) -> list[str]:
    """The names of the goal's fields that are an ellipsis: their arrays are given in the call of a `Solver`."""
    return [name for name in GOAL_ARRAYS if getattr(goal, name, None) is ...]


def with_arrays(goal: Any, arrays: Iterator[ArrayLike]) -> Goal:
    """The goal with the next arrays in place of its ellipses."""
    made: Goal = replace(goal, **{name: next(arrays) for name in open_arrays(goal)})
    return made
