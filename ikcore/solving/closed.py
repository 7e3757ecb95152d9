"""Closed forms as methods of skeletons: one goal after another turns its joints, and the pose is judged at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ikcore._arrays import thread_count
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.batch import Batch, Found, checked_moving, checked_tasks, items_of
from ikcore.solving.checks import moves_joints
from ikcore.solving.influence import faded
from ikcore.solving.single import solve_single
from ikcore.solving.solution import Solution
from ikcore.solving.table import method, numbers_of
from ikcore.tasks import Moving, Task


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
    moving: Moving = None,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Solve the limbs of a skeleton, those nearer to the root first.

    Limbs do not compete: a goal of weight 0 moves nothing, any other weight counts as 1, and `influence` says how far
    it takes the limb. Without a rotation the tip follows the limb. Bones that stretch are longer translations of mid
    and tip.
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
    moving: Moving = None,
    workers: int = 1,
    strict: bool = False,
) -> Solution:
    """Aim joints of a skeleton, each alone: the ray from it along the axis of its `Look` meets the position.

    Those nearer to the root turn first, so that eyes see where their head has turned to. A goal of weight 0 turns
    nothing, any other weight counts as 1, and `influence` says how far it takes the turn. With a pole the joint rolls
    as well, until its axis `up` is on the pole's side; a joint whose limit is a hinge turns about that alone, as near
    to the position as it can. Scales turn an axis as they do a child that is on it.

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
    name: str,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    moving: Moving,
    workers: int,
    strict: bool,
    **options: float,
) -> Solution:
    """What every closed form does."""
    numbers, threads, may = numbers_of(name, options), thread_count(workers), checked_moving(skeleton, moving)
    if item := solve_single(name, skeleton, pose, goals, numbers, may=may):
        return Solution.of_item(name, skeleton, pose, goals, item, may)
    tasks = checked_tasks(name, skeleton, pose, goals, may)
    moves = moves_joints(name, skeleton, tasks, numbers)
    for task in tasks:
        if moves and any(task.offset):
            raise ValueError(
                f"goals[{task.goal}].offset: {name} stretches no bone to one; leave it out, or stretch_max"
            )

    def run(pose: Pose, tasks: tuple[Task, ...], *, sequence: bool = False) -> Found:
        found = Found.empty(items_of(pose, tasks), pose.rotations, moves=moves)
        Batch(skeleton, pose, tasks, found, sequence=sequence).solve(name, numbers, threads)
        return found

    if all(task.influence is None for task in tasks):
        found = run(pose, tasks)
    else:
        found = Found.empty(items_of(pose, tasks), pose.rotations, moves=moves)
        faded(run, skeleton, pose, tasks, found, limb=True, twist=options["twist"])
    return Solution.of(name, skeleton, pose, goals, found, may, strict=strict)


# --- how good a pose is for them --------------------------------------------------------------------------------------


def judged(
    name: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], options: Mapping[str, float]
) -> tuple[Any, Any, Any]:
    """What a pose misses as it is, by how much, and by which angle."""
    numbers = numbers_of(name, {key: options[key] for key in ("tolerance", "rotation_tolerance") if key in options})
    if item := solve_single(name, skeleton, pose, goals, numbers, judge=True):
        _, _, error, angle, _, status, *_ = item
        return status != 0, error, angle
    tasks = checked_tasks(name, skeleton, pose, goals)
    found = Found.empty(items_of(pose, tasks), pose.rotations)
    Batch(skeleton, pose, tasks, found).solve(name, numbers, 1, judge=True)
    return found.status != 0, found.error, found.rotation_error
