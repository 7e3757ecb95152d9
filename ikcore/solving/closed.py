"""Closed forms as methods of skeletons: one goal after another turns its joints, and the pose is judged at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import thread_count
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.batch import Batch, Found, checked_tasks, items_of
from ikcore.solving.checks import moves_joints
from ikcore.solving.placed import angle_between, chain_points, off_ray
from ikcore.solving.single import solve_single
from ikcore.solving.solution import Solution
from ikcore.solving.table import METHODS, method, numbers_of
from ikcore.span import distance, span_of
from ikcore.tasks import Task


@method
def two_bone(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    twist: float = 0.0,
    soften: float = 1.0,
    stretch_start: float = 1.0,
    stretch_max: float = 1.0,
    min_bend: float = 0.0,
    max_bend: float = math.pi,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Solve the limbs of a skeleton, those nearer to the root first.

    A goal's weight is the share of the limb's rotation to apply, its rotation_weight that of the tip's. Without a
    rotation the tip follows the limb. Bones that stretch are longer translations of mid and tip.
    """
    return _solve("two_bone", **locals())


@method
def aim(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    rotation_tolerance: float = 1e-4,
    twist: float = 0.0,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Aim joints of a skeleton, each alone: the ray from it along the axis of its `Look` meets the position.

    Those nearer to the root turn first, so that eyes see where their head has turned to. A goal's weight is the share
    of the turn to apply. With a pole the joint rolls as well, until its axis `up` is on the pole's side; a joint whose
    limit is a hinge turns about that alone, as near to the position as it can. Scales turn an axis as they do a child
    that is on it.

    The rotation_error is the angle at the joint between ray and position, the error how far the position is from the
    ray. A position on the joint itself is met by every ray.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton([-1, 0], [[0, 1.4, 0], [0, 0.2, 0]], names=["neck", "head"])
    >>> gaze = ik.Look("head", [0, 0, 1], [2, 1.6, 2], chain=0)
    >>> found = ik.solve(body, body.rest, [gaze], "aim")
    >>> ik.rotations.rotate(found.pose.rotations[1], [0, 0, 1]).round(4)
    array([0.7071, 0.    , 0.7071])
    """
    return _solve("aim", **locals())


def _solve(
    name: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], *, workers: int, strict: bool, **options: float
) -> Solution:
    """What every closed form does."""
    numbers, threads = numbers_of(name, options), thread_count(workers)
    if item := solve_single(name, skeleton, pose, goals, numbers):
        return Solution.of_item(name, skeleton, pose, goals, item)
    tasks = checked_tasks(name, skeleton, pose, goals)
    moves = moves_joints(skeleton, tasks, numbers)
    for task in tasks:
        if moves and any(task.offset):
            raise ValueError(
                f"goals[{task.goal}].offset: {name} stretches no bone to one; leave it out, or stretch_max"
            )
    found = Found.empty(items_of(pose, tasks), pose.rotations, moves=moves)
    Batch(skeleton, pose, tasks, found, sequence=False, fps=0.0).solve(name, numbers, threads)
    return Solution.of(name, skeleton, pose, goals, found, strict=strict)


# --- how good a pose is for them --------------------------------------------------------------------------------------


class Miss(NamedTuple):
    """How far one goal is from being reached."""

    error: NDArray[Any]
    angle: NDArray[Any]
    off: NDArray[np.bool_]  # beyond tolerance


def judged(
    method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], options: Mapping[str, float]
) -> list[Miss]:
    """How far each goal of a closed form is from being reached in a pose, as it is."""
    tasks, world = checked_tasks(method, skeleton, pose, goals), skeleton.forward(pose)
    known = {name: option.default for name, option in METHODS[method].options.items()} | dict(options)
    miss_of = _ray_miss if method == "aim" else _limb_miss
    misses = []
    with np.errstate(all="ignore"):  # a goal without weight may be anything
        for goal in range(len(goals)):
            own = {task.kind: task for task in tasks if task.goal == goal}
            misses.append(miss_of(skeleton, pose, world, own, known))
    return misses


def _missed(task: Task, error: NDArray[Any]) -> NDArray[Any]:
    """The error where the task counts; a negative weight is as 0."""
    weight = np.ones((), error.dtype) if task.weight is None else task.weight
    return np.where((weight <= 0) & np.isfinite(weight), 0, error)


def _limb_miss(skeleton: Skeleton, pose: Pose, world: World, own: dict[str, Task], options: dict[str, float]) -> Miss:
    place, turn = own["PLACE"], own.get("TURN")
    assert place.position is not None
    points = chain_points(skeleton, pose, world, place)
    error = _missed(place, distance(points[..., -1, :], place.position))
    off = error > options["tolerance"] * span_of(points).outer
    if turn is None:
        return Miss(error, np.zeros_like(error), off)
    assert turn.rotation is not None
    angle = _missed(turn, angle_between(world.rotations[..., turn.joint, :], turn.rotation))
    return Miss(error, angle, off | (angle > options["rotation_tolerance"]))


def _ray_miss(skeleton: Skeleton, pose: Pose, world: World, own: dict[str, Task], options: dict[str, float]) -> Miss:
    ray = own["LOOK"]
    error, angle = (_missed(ray, miss) for miss in off_ray(skeleton, pose, world, ray._replace(offset=ray.axis)))
    return Miss(error, angle, angle > options["rotation_tolerance"])
