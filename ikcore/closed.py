"""The limb as a method of skeletons: from joints and goals to points, and from deltas back to a pose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import call, optional_number, optional_rows
from ikcore.batch import Found, checked_tasks, items_of
from ikcore.goals import Goal, Task, ancestors
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solution import Solution, angle_between, chain_points, point_of, relative
from ikcore.solvers import Limb
from ikcore.span import distance, span_of
from ikcore.status import Status

# Methods and options, as the core has them for the iterative ones.
METHODS = (("two_bone", "the limb in closed form: every goal has a chain of two bones, and a pole where wanted"),)
OPTIONS = (
    ("tolerance", "double", 1e-5, 0, 1, "two_bone", "distance to the target that counts as reached, of the reach"),
    ("rotation_tolerance", "double", 1e-4, 0, 4, "two_bone", "angle to the target rotation that counts as reached"),
    ("twist", "double", 0, -math.inf, math.inf, "two_bone", "radians that limbs turn about the line to the target"),
    ("soften", "double", 1, 0, 1, "two_bone", "the share of the reach where a limb starts to give"),
    ("min_bend", "double", 0, 0, math.pi, "two_bone", "the least angle between the bones, 0 being straight"),
    ("max_bend", "double", math.pi, 0, math.pi, "two_bone", "the largest angle between the bones"),
)


def two_bone(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    twist: float = 0.0,
    soften: float = 1.0,
    min_bend: float = 0.0,
    max_bend: float = math.pi,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Solve the limbs of a skeleton, those nearer to the root first.

    A goal's weight is the share of the limb's rotation to apply, its rotation_weight that of the tip's. Without a
    rotation the tip follows the limb.
    """
    tasks = tuple(map(_without_negative_weights, checked_tasks(skeleton, pose, goals)))
    _check_limbs(skeleton, tasks)
    found = Found.empty(items_of(pose, tasks), pose.rotations)
    found.rotations[...] = pose.rotations
    for array in found[1:5]:
        array[...] = 0
    options = {"twist": twist, "soften": soften, "min_bend": min_bend, "max_bend": max_bend}
    again, before = np.ones(found.status.shape, bool), np.full(found.status.shape, np.inf)
    changing = _bones_change(pose, tasks, twist)
    for _ in range(_ROUNDS):
        found.status[again] = 0
        for task in sorted(tasks, key=lambda task: len(ancestors(skeleton, task.joint))):
            _solve_limb(skeleton, pose, task, options, workers, found, again)
        unusable = found.status >= _core.UNUSABLE
        found.rotations[unusable] = np.broadcast_to(pose.rotations, found.rotations.shape)[unusable]
        again = _judge(skeleton, pose, tasks, found, tolerance, rotation_tolerance) & ~unusable & changing
        again &= found.error < _GAIN * before
        if not again.any():
            break
        before = found.error.copy()
    return Solution.of("two_bone", skeleton, pose, tasks, found, strict=strict)


# Uneven scales change the bones as limbs turn: they are read again, at most so many times, while the error falls by a
# share.
_ROUNDS, _GAIN = 40, 0.95


def _bones_change(pose: Pose, tasks: tuple[Task, ...], twist: float) -> NDArray[np.bool_]:
    """Whether solving again from the solution brings a pose nearer: not where that adds to what was done before."""
    if pose.scales is None or twist != 0:
        return np.zeros((), bool)
    uneven = np.asarray((pose.scales != pose.scales[..., :1]).any(axis=(-2, -1)))
    for task in tasks:
        for weight in (task.weight, task.rotation_weight):
            uneven = uneven & ((weight == 0) | (weight >= 1))
    return uneven


def _without_negative_weights(task: Task) -> Task:
    """A negative weight counts as 0."""
    weight, rotation_weight = (
        np.where(np.isfinite(given) & (given < 0), 0, given) for given in (task.weight, task.rotation_weight)
    )
    return task._replace(weight=weight, rotation_weight=rotation_weight)


def _check_limbs(skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    turned: dict[int, int] = {}
    for index, task in enumerate(tasks):
        if task.position is None:
            raise ValueError(f"goals[{index}]: two_bone needs a position")
        if (bones := len(task.path(skeleton)) - 1) != 2:
            raise ValueError(f"goals[{index}]: two_bone needs a chain of two bones, chain=2; this one has {bones}")
        if task.rotation is not None and any(task.offset):
            raise ValueError(f"goals[{index}]: two_bone takes an offset or a rotation, not both")
        for joint in task.path(skeleton)[: 2 if task.rotation is None else 3]:
            if (other := turned.setdefault(joint, index)) != index:
                raise ValueError(f"goals[{other}] and goals[{index}] both turn joint {skeleton.names[joint]!r}")


def _solve_limb(
    skeleton: Skeleton,
    pose: Pose,
    task: Task,
    options: dict[str, float],
    workers: int,
    found: Found,
    wanted: NDArray[np.bool_],
) -> None:
    """Turn the joints of one limb in the rotations of `found` where wanted, and add to its status."""
    now = replace(pose, rotations=found.rotations)
    world = skeleton.forward(now, workers=workers)
    root, mid, tip = task.path(skeleton)
    end = point_of(skeleton, now, world, task)
    limb = _limb_of(world, task, root, mid, end, _hinge_of(skeleton, world, mid), options, workers)
    usable = np.less(limb.status, _core.UNUSABLE) & wanted
    moved = usable & (task.weight != 0)
    turns = [(root, limb.root, moved), (mid, limb.mid, moved)]
    if task.rotation is not None:
        rule = limb.tip(
            "take", rotation=world.rotations[..., tip, :], target=task.rotation, weight=task.rotation_weight
        )
        turns.append((tip, rule, usable & (task.rotation_weight != 0)))
    for joint, delta, where in turns:
        parent = int(skeleton.parents[joint])
        local = rotations.normalize(found.rotations[..., joint, :])
        if parent >= 0:
            outer = world.rotations[..., parent, :]
            delta = rotations.multiply(rotations.conjugate(outer), rotations.multiply(delta, outer))
        np.copyto(found.rotations[..., joint, :], rotations.multiply(delta, local), where=where[..., np.newaxis])
    found.status[...] |= np.where(wanted, limb.status, 0)
    for joint, *_ in turns:
        found.status[_bring_back(skeleton, joint, found.rotations[..., joint, :]) & usable] |= Status.AT_LIMIT


def _bring_back(skeleton: Skeleton, joint: int, local: NDArray[Any]) -> NDArray[np.bool_]:
    """Make local rotations of a joint what its limit allows; where they were not."""
    limit = skeleton.limits[joint]
    if limit is None:
        return np.zeros(local.shape[:-1], bool)
    q = relative(skeleton, joint, local)
    outside = limit.violation(q) > 0
    rest = skeleton.rest.rotations[joint].astype(local.dtype)
    np.copyto(local, rotations.multiply(rest, limit.project(q)), where=outside[..., np.newaxis])
    return outside


def _hinge_of(skeleton: Skeleton, world: World, joint: int) -> NDArray[Any] | None:
    """The axis, in the world, about which a joint with the limit of a hinge bends the way it has more room."""
    limit = skeleton.limits[joint]
    if limit is None or limit.kind != "hinge":
        return None
    low, high = limit.twist
    axis = rotations.rotate(limit.frame, [1 if high >= -low else -1, 0, 0])
    return rotations.rotate(world.rotations[..., joint, :], axis.astype(world.rotations.dtype))


def _limb_of(
    world: World,
    task: Task,
    root: int,
    mid: int,
    end: NDArray[Any],
    hinge: NDArray[Any] | None,
    options: dict[str, float],
    workers: int,
) -> Limb:
    """The limb between points of the world. A rotation that is not finite makes its item unusable."""
    dtype, target = world.positions.dtype, task.position
    assert target is not None
    if task.rotation is not None:
        finite = np.isfinite(task.rotation).all(axis=-1) & np.isfinite(task.rotation_weight)
        lost = ~finite & (task.rotation_weight != 0)
        target = np.where(lost[..., np.newaxis], np.nan, target)
    inputs = {
        "root": world.positions[..., root, :],
        "mid": world.positions[..., mid, :],
        "end": end,
        "target": target,
        "pole": optional_rows("pole", task.pole, dtype, 3),
        "bend": optional_rows("bend", None, dtype, 3),
        "hinge": optional_rows("hinge", hinge, dtype, 3),
        "twist": optional_number("twist", options["twist"], dtype),
        "weight": optional_number("weight", task.weight, dtype),
        "soften": optional_number("soften", options["soften"], dtype),
        "stretch_start": optional_number("stretch_start", None, dtype),
        "stretch_max": optional_number("stretch_max", None, dtype),
        "min_bend": optional_number("min_bend", options["min_bend"], dtype),
        "max_bend": optional_number("max_bend", options["max_bend"], dtype),
    }
    return Limb(*call(_core.two_bone, inputs, (), workers))


def _judge(
    skeleton: Skeleton,
    pose: Pose,
    tasks: tuple[Task, ...],
    found: Found,
    tolerance: float,
    rotation_tolerance: float,
) -> NDArray[np.bool_]:
    """Errors by forward kinematics of the pose that is returned; what is off for no other reason has stalled.

    Returns what is off.
    """
    found.error[...] = found.rotation_error[...] = 0
    after = replace(pose, rotations=found.rotations)
    world, off = skeleton.forward(after), np.zeros(found.status.shape, bool)
    for task in tasks:
        assert task.position is not None
        points = chain_points(skeleton, after, world, task)
        error = np.where(task.weight == 0, 0, distance(points[..., -1, :], task.position))
        np.maximum(found.error, error, out=found.error)
        off |= error > tolerance * span_of(points).outer
        if task.rotation is not None:
            angle = angle_between(world.rotations[..., task.joint, :], task.rotation)
            angle = np.where(task.rotation_weight == 0, 0, angle)
            np.maximum(found.rotation_error, angle, out=found.rotation_error)
            off |= angle > rotation_tolerance
    found.status[off & (found.status == 0)] = Status.STALLED
    return off
