"""The common body of the typed functions of iterative methods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ikcore._arrays import switch
from ikcore._threads import thread_count
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.arguments import OPTIONS, SharedOptions
from ikcore.solving.batch import Batch, CoreOutput, checked_moving, checked_tasks, items_of
from ikcore.solving.influence import solve_with_influence
from ikcore.solving.registry import SWITCHES, numbers_of, with_defaults
from ikcore.solving.single_pose import solve_single
from ikcore.solving.solution import Solution
from ikcore.solving.tasks import Task
from ikcore.solving.validate import check_speeds, frame_rate, moves_joints, release_share, release_time


def iterate(
    method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], shared: SharedOptions, **own: float | None
) -> Solution:
    """Check the arguments, solve, and return the result; `own` are the options that only some methods have."""
    given = with_defaults(method, shared)
    options = dict(own)
    for name in OPTIONS:
        options[name] = given[name]  # type: ignore[literal-required]
    numbers = numbers_of(method, options)
    sequence, history, goal_errors, strict = given["sequence"], given["history"], given["goal_errors"], given["strict"]
    rate = frame_rate(given["fps"], sequence=sequence)
    if not type(sequence) is type(history) is type(goal_errors) is type(strict) is bool:  # the usual case
        for name in SWITCHES:
            switch(name, given[name])
    if given["restarts"]:
        _check_restarts(pose, sequence=sequence, history=history)
    threads, may = thread_count(given["workers"]), checked_moving(skeleton, given["moving"])
    wanted = {"history": history, "goal_errors": goal_errors}
    if not sequence and (item := solve_single(method, skeleton, pose, goals, numbers, may=may, **wanted)):
        return Solution._of_item(method, skeleton, pose, goals, item, may)
    tasks = checked_tasks(method, skeleton, pose, goals, may)
    shape = items_of(pose, tasks)
    seconds = release_time(given["release"], pose, shape)
    share = release_share(seconds, rate) if sequence else 0.0
    if sequence:
        check_speeds(method, skeleton, tasks, rate)
        if not shape:
            raise ValueError("sequence=True: expected axis 0 to be time, got a single pose and goals for one")

    def empty(pose: Pose, tasks: tuple[Task, ...]) -> CoreOutput:
        moves, count = moves_joints(method, skeleton, tasks, numbers), len(tasks) * goal_errors
        return CoreOutput.empty(items_of(pose, tasks), pose.rotations, moves=moves, tasks=count)

    def run(pose: Pose, tasks: tuple[Task, ...], *, sequence: bool, found: CoreOutput | None = None) -> CoreOutput:
        found = found or empty(pose, tasks)
        batch = Batch(skeleton, pose, tasks, found, sequence=sequence, fps=rate or 0.0, release=share)
        batch.solve(method, numbers, threads)
        return found

    found = empty(pose, tasks)
    if history:
        found = found._replace(history=np.full((*shape, int(given["iterations"]) + 1), np.nan, pose.dtype))
    if all(task.influence is None for task in tasks):
        run(pose, tasks, sequence=sequence, found=found)
    elif history:
        raise ValueError("history: expected False where an influence is below 1, which takes several solves")
    else:
        solve_with_influence(run, skeleton, pose, tasks, found, sequence=sequence)
    return Solution._of(method, skeleton, pose, goals, found, may, strict=strict)


def _check_restarts(pose: Pose, *, sequence: bool, history: bool) -> None:
    """Refuse a sequence or a history together with restarts."""
    if sequence:
        raise ValueError("restarts: expected 0 with sequence=True, whose frames follow each other")
    if history:
        raise ValueError("restarts: expected 0 with history=True, which is of one attempt")
    if pose.scales is not None:
        raise ValueError("restarts: expected 0 with a pose that has scales, or the pose without them")
