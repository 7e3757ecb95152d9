"""Closed forms as methods on skeletons: the goals are solved one after another, and the final pose is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ikcore._threads import thread_count
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.batch import Batch, CoreOutput, checked_moving, checked_tasks, items_of
from ikcore.solving.influence import solve_with_influence
from ikcore.solving.registry import method, numbers_of
from ikcore.solving.single_pose import solve_single
from ikcore.solving.solution import Solution
from ikcore.solving.tasks import Moving, Task
from ikcore.solving.validate import moves_joints


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
    workers: int | None = 1,
    strict: bool = False,
) -> Solution:
    """Solve the limbs of a skeleton, those nearer to the root first.

    Limbs do not compete: a goal of weight 0 moves nothing, and any other weight counts as 1. `influence` is the share
    of its effect. Without a rotation the tip follows the limb. Stretched bones have longer translations of mid and tip.
    """
    options = {
        "tolerance": tolerance,
        "rotation_tolerance": rotation_tolerance,
        "twist": twist,
        "soften": soften,
        "stretch_start": stretch_start,
        "stretch_max": stretch_max,
        "min_bend": min_bend,
        "max_bend": max_bend,
    }
    return _solve("two_bone", skeleton, pose, goals, options, moving=moving, workers=workers, strict=strict)


@method
def aim(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    rotation_tolerance: float = 1e-4,
    twist: float = 0.0,
    moving: Moving = None,
    workers: int | None = 1,
    strict: bool = False,
) -> Solution:
    """Aim joints of a skeleton, each separately: the ray along the axis of its `Look` hits the position.

    Joints nearer to the root turn first, so that eyes start from where their head has turned. A goal of weight 0 turns
    nothing, and any other weight counts as 1. `influence` is the share of the rotation. If there is a pole, the joint
    also rolls until its axis `up` is on the pole's side. A joint with a hinge limit turns only about its axis, as near
    to the position as it can. Scales change an axis as they do a child on it.

    The rotation_error is the angle at the joint between ray and position. The error is the distance of the position
    from the ray. Every ray hits a position on the joint itself.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton([-1, 0], [[0, 1.4, 0], [0, 0.2, 0]], names=["neck", "head"])
    >>> gaze = ik.Look("head", [0, 0, 1], [2, 1.6, 2], chain=0)
    >>> found = ik.solve(body, body.rest, [gaze], "aim")
    >>> ik.rotations.rotate(found.pose.rotations[1], [0, 0, 1]).round(4)
    array([0.7071, 0.    , 0.7071])
    """
    options = {"rotation_tolerance": rotation_tolerance, "twist": twist}
    return _solve("aim", skeleton, pose, goals, options, moving=moving, workers=workers, strict=strict)


def _solve(
    name: str,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    options: dict[str, float],
    *,
    moving: Moving,
    workers: int | None,
    strict: bool,
) -> Solution:
    """Solve the goals of a closed form."""
    numbers, threads, may = numbers_of(name, options), thread_count(workers), checked_moving(skeleton, moving)
    if item := solve_single(name, skeleton, pose, goals, numbers, may=may):
        return Solution._of_item(name, skeleton, pose, goals, item, may)
    tasks = checked_tasks(name, skeleton, pose, goals, may)
    moves = moves_joints(name, skeleton, tasks, numbers)
    for task in tasks:
        if moves and any(task.offset):
            raise ValueError(
                f"goals[{task.goal}].offset: {name} stretches no bone to one; leave it out, or stretch_max"
            )

    def run(pose: Pose, tasks: tuple[Task, ...], *, sequence: bool = False) -> CoreOutput:
        found = CoreOutput.empty(items_of(pose, tasks), pose.rotations, moves=moves)
        Batch(skeleton, pose, tasks, found, sequence=sequence).solve(name, numbers, threads)
        return found

    if all(task.influence is None for task in tasks):
        found = run(pose, tasks)
    else:
        found = CoreOutput.empty(items_of(pose, tasks), pose.rotations, moves=moves)
        solve_with_influence(run, skeleton, pose, tasks, found, limb=True, twist=options["twist"])
    return Solution._of(name, skeleton, pose, goals, found, may, strict=strict)


# --- how good a pose is for them --------------------------------------------------------------------------------------


def judge(
    name: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], options: Mapping[str, float]
) -> tuple[Any, Any, Any]:
    """Which goals a pose misses without solving, with its position and rotation errors."""
    numbers = numbers_of(name, {key: options[key] for key in ("tolerance", "rotation_tolerance") if key in options})
    if item := solve_single(name, skeleton, pose, goals, numbers, judge=True):
        _, _, error, angle, _, status, *_ = item
        return status != 0, error, angle
    tasks = checked_tasks(name, skeleton, pose, goals)
    found = CoreOutput.empty(items_of(pose, tasks), pose.rotations)
    Batch(skeleton, pose, tasks, found).solve(name, numbers, 1, judge=True)
    return found.status != 0, found.error, found.rotation_error
