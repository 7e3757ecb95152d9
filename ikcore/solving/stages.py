"""Several solves of one pose in a row, with one result: for example spine, then limbs, then gaze."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import switch
from ikcore._record import record
from ikcore._threads import thread_count
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving import closed_form
from ikcore.solving.auto import AUTO, method_for
from ikcore.solving.batch import Batch, CoreOutput, checked_moving, items_of
from ikcore.solving.influence import whole_goals
from ikcore.solving.registry import METHODS, arguments_of, checked_options, numbers_of
from ikcore.solving.single_pose import solve_single
from ikcore.solving.solution import Solution, by_goal
from ikcore.solving.tasks import Moving, Task, sliding_joints
from ikcore.solving.validate import check_speeds, checked_goals, frame_rate, is_iterative, release_time, tasks_of
from ikcore.status import INPUT_OUTSIDE, Status


@record
class Stage:
    """One solve of several: a method, its goals and its options.

    Parameters
    ----------
    method : str
        One of `methods`, or ``"auto"``, as in `solve`.
    goals : list of Goal
        The goals of this stage.
    **options
        The options of the method, except those that `stages` takes itself.
    """

    method: str
    goals: Sequence[Goal]
    options: Mapping[str, Any]

    def __init__(self, method: str, goals: Sequence[Goal], **options: Any) -> None:
        checked = options if method == AUTO else checked_options(method, options, without=_OF_ALL)
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "goals", tuple(checked_goals(goals)))
        object.__setattr__(self, "options", MappingProxyType(checked))

    def _with(self, skeleton: Skeleton, moving: Moving) -> Stage:
        """The same stage with the method for the skeleton, and with this `moving`, if it has none of its own."""
        options = dict(self.options)
        if options.get("moving") is None and moving is not None:
            options["moving"] = moving
        method = method_for(skeleton, self.goals, options) if self.method == AUTO else self.method
        return Stage(method, self.goals, **options)

    def _may(self, skeleton: Skeleton) -> bytes | None:
        """A byte per joint: whether it may turn or slide in this stage."""
        return checked_moving(skeleton, self.options.get("moving"))

    def _solve(self, skeleton: Skeleton, pose: Pose, common: dict[str, Any]) -> Solution:
        """Solve the stage with those of the common arguments that its method has."""
        own = {name: value for name, value in common.items() if name in arguments_of(self.method)}
        found: Solution = METHODS[self.method].function(skeleton, pose, self.goals, **self.options, **own)
        return found

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Stage({self.method!r}, {list(self.goals)!r}{options})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _stage, (self.method, self.goals, dict(self.options))


class PoseStage:
    """A stage that is no method, such as a node of `bodies.nodes`: a function from poses to poses.

    It solves every frame alone. `moving` of `stages` does not concern it.
    """

    def goals_on(self, skeleton: Skeleton) -> Sequence[Goal]:
        """The goals by which the last pose is judged; none if it has no targets."""
        return ()

    def run(self, skeleton: Skeleton, pose: Pose, workers: int | None, *, strict: bool) -> tuple[Pose, Any]:
        """The poses and their flags. An item that cannot be used keeps its pose, and its flag says why."""
        raise NotImplementedError

    def _with(self, skeleton: Skeleton, moving: Moving) -> _PlacedStage:
        return _PlacedStage(self, self.goals_on(skeleton))


class _PlacedStage:
    """A `PoseStage` on a skeleton: its goals are judged as those of an iterative method."""

    options: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, stage: PoseStage, goals: Sequence[Goal]) -> None:
        self.stage, self.method, self.goals = stage, _JUDGE, tuple(goals)

    def _may(self, skeleton: Skeleton) -> bytes | None:
        return None

    def _solve(self, skeleton: Skeleton, pose: Pose, common: dict[str, Any]) -> Solution:
        workers, goal_errors = common["workers"], common["goal_errors"]
        moved, said = self.stage.run(skeleton, pose, workers, strict=common["strict"])
        after = _after(skeleton, moved, self, workers, goal_errors=goal_errors)
        status = np.where(said < _core.UNUSABLE, _status_of(said, after.missed), said).astype(np.int32)
        iterations = np.zeros(status.shape, np.int32)
        given = ((self.method, self.goals, None),)
        errors = after.error, after.angle, iterations, status[()]
        return Solution(moved, *errors, None, after.by_goal, skeleton, given, pose)


# Arguments of all stages together.
_OF_ALL = ("workers", "sequence", "fps", "release", "history", "goal_errors", "strict")


def _stage(method: str, goals: Sequence[Goal], options: dict[str, Any]) -> Stage:
    return Stage(method, goals, **options)


def stages(
    skeleton: Skeleton,
    pose: Pose,
    stages: Sequence[Stage | PoseStage],
    *,
    moving: Moving = None,
    workers: int | None = 1,
    sequence: bool = False,
    fps: float | None = None,
    release: float | None = None,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
    """Solve in stages: each starts from the pose of the stage before it, and the last pose is judged.

    A goal that an earlier stage reaches and a later one undoes counts as missed, with `Status.CONFLICT`. An item that
    some stage cannot use keeps its start pose. The goals of all stages are numbered in one sequence.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton; its limits hold.
    pose : Pose
        The start pose. The leading axes of poses and goals broadcast.
    stages : list of Stage
        The stages, in order; nodes of `bodies.nodes` too, by their method `stage`.
    moving : str, int or list of these, optional
        Joints that may move in stages that have no `moving` of their own, as in the methods.
    workers : int or None, optional
        Number of threads, None for all cores. The result is the same to the bit.
    sequence : bool, optional
        Axis 0 is time. In iterative stages each frame starts from the correction of the frame before, added to the
        animated pose.
    fps : float, optional
        Frames per second, for `release` and for limits of speed or acceleration. Closed forms do not support such
        limits: in a sequence they may not move joints that have them.
    release : float, optional
        Time in seconds after which a tenth of a correction is left if no goal needs it, as in iterative methods.
    goal_errors : bool, optional
        Return the errors of every goal.
    strict : bool, optional
        Raise `UnusableError` if an item cannot be used (because of NaN, for instance), instead of one `UnusableWarning`
        per stage.

    Returns
    -------
    Solution
        The pose after the last stage. Errors are the largest over the goals of all stages. Iterations are the sum
        over all stages. There is one status.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.Skeleton(
    ...     parents=[-1, 0, 1, 2, 3],
    ...     offsets=[[0, 1, 0], [0, 0.5, 0], [0.2, 0, 0], [0.3, 0, 0.01], [0.27, 0, 0]],
    ...     names=["hips", "chest", "arm", "elbow", "hand"],
    ... )
    >>> spine = ik.solvers.Stage(
    ...     "dls", [ik.Reach("hand", [0.8, 1.2, 0.5], chain="hips")], iterations=20
    ... )
    >>> arm = ik.solvers.Stage(
    ...     "two_bone", [ik.Reach("hand", [0.8, 1.2, 0.5], chain=2, pole=[0, 0, -2])]
    ... )
    >>> print(ik.solvers.stages(body, body.rest, [spine, arm]).status)
    0
    """
    for name, value in (("sequence", sequence), ("goal_errors", goal_errors), ("strict", strict)):
        switch(name, value)
    rate = frame_rate(fps, sequence=sequence)
    threads = thread_count(workers)
    given: list[Stage | _PlacedStage] = [stage._with(skeleton, moving) for stage in _check_stages(stages)]
    found: list[Solution] = []
    now = _over_time(skeleton, pose, given, rate) if sequence else pose
    seconds = release_time(release, pose, now.shape) if isinstance(pose, Pose) else release
    for index, stage in enumerate(given):
        common: dict[str, Any] = {"workers": threads, "strict": strict, "sequence": sequence, "fps": rate}
        common |= {"release": seconds, "goal_errors": goal_errors and stage is given[-1]}
        try:
            found.append(stage._solve(skeleton, now, common))
        except (TypeError, ValueError) as wrong:
            raise type(wrong)(f"stages[{index}]: {wrong}") from None
        now = found[-1].pose
    return _judge(skeleton, pose, given, found, threads, goal_errors=goal_errors)


def _check_stages(stages: Sequence[Stage | PoseStage]) -> Sequence[Stage | PoseStage]:
    if isinstance(stages, str) or not isinstance(stages, Sequence):
        raise TypeError(f"stages: expected a list of Stage, got {type(stages).__name__}")
    if not stages:
        raise ValueError("stages: expected one or more, got none")
    for index, stage in enumerate(stages):
        if not isinstance(stage, Stage | PoseStage):
            raise TypeError(f"stages[{index}]: expected a Stage, got {type(stage).__name__}")
    return stages


def _over_time(skeleton: Skeleton, pose: Pose, stages: Sequence[Stage | _PlacedStage], fps: float | None) -> Pose:
    """The pose with the leading axes of all stages, time first: no single stage may have all of them."""
    if not isinstance(pose, Pose):
        return pose  # the first stage refuses it
    tasks: tuple[Task, ...] = ()
    for stage in stages:
        asked = tasks_of(skeleton, stage.goals, pose.dtype, stage._may(skeleton))
        check_speeds(stage.method, skeleton, asked, fps)
        tasks += asked
    shape = items_of(pose, tasks)
    return pose.with_rotations(np.broadcast_to(pose.rotations, (*shape, *pose.rotations.shape[-2:])))


def _judge(
    skeleton: Skeleton,
    pose: Pose,
    stages: Sequence[Stage | _PlacedStage],
    found: Sequence[Solution],
    workers: int,
    *,
    goal_errors: bool,
) -> Solution:
    """One solution for all stages: the last pose, judged by the goals of all."""
    unusable = [solution.status >= _core.UNUSABLE for solution in found]
    lost = reduce(operator.or_, unusable)
    last = _keep_start(skeleton, pose, found[-1].pose, lost)
    after = [_after(skeleton, last, stage, workers, goal_errors=goal_errors) for stage in stages[:-1]]
    if is_iterative(stages[-1].method) or not goal_errors:
        after.append(_last_result(found[-1]))
    else:
        after.append(_after(skeleton, last, stages[-1], workers, goal_errors=True))
    said = [_status_of(solution.status, stage.missed) for solution, stage in zip(found, after, strict=True)]
    status = reduce(operator.or_, said)
    error: Any = reduce(np.maximum, [stage.error for stage in after])
    angle: Any = reduce(np.maximum, [stage.angle for stage in after])
    if lost.any():
        for solution, why in reversed([*zip(found, unusable, strict=True)]):  # the first stage's reason wins
            status = np.where(why, solution.status, status)
        error, angle = (np.where(lost, last.dtype.type(np.nan), one) for one in (error, angle))
    return Solution(
        last,
        error[()],
        angle[()],
        reduce(operator.add, [solution.iterations for solution in found]),
        status.astype(np.int32)[()],
        None,
        np.concatenate([stage.by_goal for stage in after], axis=-2) if goal_errors else None,
        skeleton,
        tuple((stage.method, tuple(stage.goals), stage._may(skeleton)) for stage in stages),
        pose,
    )


def _keep_start(skeleton: Skeleton, pose: Pose, last: Pose, lost: NDArray[np.bool_]) -> Pose:
    """The last pose; lost items have their start pose."""
    if not lost.any():
        return last
    where = lost[..., np.newaxis, np.newaxis]
    rotations = np.where(where, pose.rotations, last.rotations)
    if last.translations is None:
        return pose.with_rotations(rotations)
    came = skeleton.offsets.astype(last.dtype) if pose.translations is None else pose.translations
    return pose.with_rotations(rotations, np.where(where, came, last.translations))


class _After(NamedTuple):
    """Errors of a stage's goals in the last pose, judged by the tolerances of the stage."""

    missed: Any
    error: Any
    angle: Any
    by_goal: Any  # (..., goals, 2), if asked for


def _last_result(solution: Solution) -> _After:
    """The result of the last stage, which has judged the last pose already."""
    missed = solution.status & ~_NOTES != 0
    return _After(missed, solution.error, solution.rotation_error, solution.goal_errors)


def _after(skeleton: Skeleton, last: Pose, stage: Stage | _PlacedStage, workers: int, *, goal_errors: bool) -> _After:
    if not stage.goals:
        nothing = np.zeros(last.shape, last.dtype)
        return _After(
            nothing != 0, nothing, nothing, np.zeros((*last.shape, 0, 2), last.dtype) if goal_errors else None
        )
    if not is_iterative(stage.method):
        if not goal_errors:
            goals = whole_goals(stage.goals)
            return _After(*closed_form.judge(stage.method, skeleton, last, goals, stage.options), None)
        misses = [
            closed_form.judge(stage.method, skeleton, last, [goal], stage.options) for goal in whole_goals(stage.goals)
        ]
        missed, error, angle = (np.stack(part, axis=-1) for part in zip(*misses, strict=True))
        return _After(missed.any(axis=-1), error.max(axis=-1), angle.max(axis=-1), np.stack([error, angle], axis=-1))
    own = METHODS[stage.method].options
    options = {name: stage.options.get(name, own[name].default) for name in _TOLERANCES if name in own}
    numbers, goals, may = numbers_of(_JUDGE, options), whole_goals(stage.goals), stage._may(skeleton)
    if item := solve_single(_JUDGE, skeleton, last, goals, numbers, goal_errors=goal_errors, judge=True, may=may):
        _, _, error, angle, _, status, _, errors = item
        return _After(status & ~_NOTES != 0, error, angle, errors)
    judged = tasks_of(skeleton, goals, last.dtype, may)
    moves = bool(sliding_joints(skeleton, judged))
    found = CoreOutput.empty(items_of(last, judged), last.rotations, moves=moves, tasks=len(judged))
    Batch(skeleton, last, judged, found).solve(_JUDGE, numbers, workers, judge=True)
    assert found.goal_errors is not None
    return _After(found.status & ~_NOTES != 0, found.error, found.rotation_error, by_goal(judged, found.goal_errors))


# The method by whose name the core judges poses: one that takes goals of every kind.
_JUDGE = "dls"
_TOLERANCES = ("tolerance", "rotation_tolerance")

_CONFLICT = int(Status.CONFLICT)

# Flags that may be set although all goals are met.
_NOTES = int(Status.POLE_UNDEFINED | Status.SOFTENED | Status.PARTIAL_INFLUENCE | Status.INPUT_OUTSIDE)


def _status_of(solved: Any, missed: Any) -> Any:
    """The flags of a stage: its notes, and the reasons if its goals are missed in the last pose."""
    moved_away = (solved & ~INPUT_OUTSIDE == 0) * _CONFLICT
    return (solved & _NOTES) | missed * (solved | moved_away)
