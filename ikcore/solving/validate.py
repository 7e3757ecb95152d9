"""Checks of the goals of a solve: against the skeleton, against each other, and against what the method takes.

The core checks them too (ik_solve_check), but its errors name neither the goal nor a remedy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ikcore import _core
from ikcore._arrays import as_text
from ikcore._joints import ancestors
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.registry import FPS, FRAMES_PER_SECOND, METHODS, RELEASE, RELEASE_TIME, TAKEN, arguments_of
from ikcore.solving.tasks import MAY_TURN, Task, all_tasks, sliding_joints


def checked_goals(goals: Sequence[Goal]) -> Sequence[Goal]:
    """Goals, one or more; anything else is refused."""
    if isinstance(goals, str) or not isinstance(goals, Sequence):
        what = f"goals: expected a list of goals, got {type(goals).__name__}"
        raise TypeError(f"{what}; {'[goal]' if isinstance(goals, Goal) else 'list(...)'} is one")
    if not goals:
        raise ValueError("goals: expected one or more, got none")
    for index, goal in enumerate(goals):
        if not isinstance(goal, Goal):
            what = f"goals[{index}]: expected a Reach or another goal, got "
            if isinstance(goal, list) and goal and isinstance(goal[0], Goal):
                raise TypeError(f"{what}a list of them; put a * before it")
            raise TypeError(what + (as_text(goal) if isinstance(goal, type) else type(goal).__name__))
    return goals


def tasks_of(
    skeleton: Skeleton, goals: Sequence[Goal], dtype: np.dtype[Any], may: bytes | None = None
) -> tuple[Task, ...]:
    """The goals in numbers of `dtype`, checked against the skeleton and each other."""
    goals = checked_goals(goals)
    tasks = all_tasks(skeleton, goals, dtype, may)
    _check_points(skeleton, tasks)
    if all(task.kind == "POSTURE" for task in tasks):
        raise ValueError(
            "goals: nothing but postures, which say how joints turn that other goals turn; give one of those"
        )
    if any(task.relative for task in tasks):
        _check_between(skeleton, tasks)
    return tasks


def _check_points(skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse two goals for the same thing: two positions of a point, two rotations or two postures of a joint."""
    points: dict[Any, Task] = {}
    for task in tasks:
        if task.kind not in _ONCE or task.relative:
            continue
        first = points.setdefault((task.kind, task.joint, task.offset if task.kind == "PLACE" else None), task)
        if first.goal != task.goal:
            (what, instead), name = _ONCE[task.kind], skeleton.names[task.joint]
            if first.level != task.level:
                instead = "the lower level would leave nothing of it to the other; leave one out"
            raise ValueError(f"goals[{first.goal}] and goals[{task.goal}] are for {what} of {name!r}: {instead}")


_ONCE = {
    "PLACE": ("the same point", "give one another offset, or leave it out"),
    "TURN": ("the rotation", "leave one out"),
    "POSTURE": ("the posture", "leave one out"),
}


def _check_between(skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse a goal between two joints if no joint between them moves."""
    moving = {joint for task in tasks for joint in (*task.turning_joints(skeleton), *sliding_joints(skeleton, [task]))}
    for task in tasks:
        between = set(ancestors(skeleton, task.joint)) ^ set(ancestors(skeleton, task.other))
        if not task.relative or moving & between:
            continue
        joint, other = skeleton.names[task.joint], skeleton.names[task.other]
        raise ValueError(
            f"goals[{task.goal}]: nothing that may turn or slide is between {joint!r} and {other!r}: start chain higher"
            f" up, or give other_chain, the first joint that may turn for {other!r}; with moving, name one there"
        )


_STRETCH_MAX = _core.OPTIONS.index("stretch_max")


def moves_joints(method: str, skeleton: Skeleton, tasks: Sequence[Task], numbers: tuple[float | None, ...]) -> bool:
    """Whether a solve returns translations: a joint slides, bones stretch, or the method moves roots."""
    stretches = (numbers[_STRETCH_MAX] or 1) > 1
    return METHODS[method].all_joints or stretches or bool(sliding_joints(skeleton, tasks))


def is_iterative(method: str) -> bool:
    """Whether the method iterates; otherwise it is a closed form, goal by goal."""
    return method not in _FORMS


def check_takes(method: str, skeleton: Skeleton, tasks: tuple[Task, ...], *, scaled: bool) -> None:
    """Refuse goals and limits that the method does not take; in iterative methods also poses with scales."""
    for task in tasks:
        where = f"goals[{task.goal}]"
        if task.relative:
            _check_word(method, "RELATIVE", f"{where}: ")
        _check_word(method, task.kind, f"{where}: ", _INSTEAD.get((method, task.kind), ""))
        if task.joint < 0:
            _check_word(method, "CENTRE_OF_MASS", f"{where}: ")
        if task.level != tasks[0].level:
            _check_word(method, "LEVELS", f"{where}.level: ", "say by weights which goal counts more")
        other = task.kind == tasks[0].kind and task is not tasks[0]
        if task.kind != "POSTURE" and (task.joint != tasks[0].joint or other):
            _check_word(method, "ENDS", f"{where}: ", "solve one end after the other (ik.solvers.stages)")
        if any(skeleton.limits):
            _check_limits(method, skeleton, task)
        _check_caps(method, skeleton, task)
        _check_gap(method, skeleton, task)
        if task.pole is not None:
            _check_word(method, "POLE", f"{where}.pole: ")
        if method in _FORMS:
            continue
        if task.pole is not None:
            _check_pole(method, skeleton, task, tasks)
        if scaled and (task.kind == "LOOK" or sliding_joints(skeleton, [task])):
            what = "Look" if task.kind == "LOOK" else "sliding joint"
            raise ValueError(f"{where}: {method} takes no {what} where the pose has scales; leave those out")
    if method in _FORMS:
        _check_form(method, skeleton, tasks)


# Methods that take the same goals as dls: messages name only dls.
_AS_DLS = ("transpose", "pinv", "svf", "sdls", "gauss_seidel", "sns", "newton", "lbfgsb", "full_body")
_INSTEAD = {("aim", "PLACE"): "write Look(joint, axis, position, chain=0), the axis being what was the offset"}


def _check_word(method: str, word: str, where: str, instead: str = "") -> None:
    if TAKEN[word] in METHODS[method].takes:
        return
    shown = [name for name, known in METHODS.items() if name not in _AS_DLS and known.run is None]
    takers = [name for name in shown if TAKEN[word] in METHODS[name].takes]
    advice = [instead] * bool(instead) + [f"use {' or '.join(takers)}"] * bool(takers)
    raise ValueError(f"{where}{method} takes no {TAKEN[word]}; {', or '.join(advice)}")


def _check_form(method: str, skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse goals that the closed form cannot solve, and two goals that turn the same joint."""
    turned: dict[int, int] = {}
    for goal in range(tasks[-1].goal + 1):
        kinds = {task.kind: task for task in tasks if task.goal == goal}
        first = kinds.get("LOOK") or kinds.get("PLACE")
        if first is None or first.position is None:
            raise ValueError(f"goals[{goal}]: {method} needs a position")
        for joint in _FORMS[method](skeleton, first, f"goals[{goal}]", turns="TURN" in kinds):
            if (other := turned.setdefault(joint, goal)) != goal:
                raise ValueError(f"goals[{other}] and goals[{goal}] both turn joint {skeleton.names[joint]!r}")
            if first.may is not None and not first.may[joint] & MAY_TURN:
                name = skeleton.names[joint]
                raise ValueError(f"moving: {method} turns {name!r} for goals[{goal}]; name it there, or use dls")


def _limb_joints(skeleton: Skeleton, task: Task, where: str, *, turns: bool) -> list[int]:
    """Root and mid joint, and the tip if the goal has a rotation."""
    joints = task.path(skeleton)
    if (bones := len(joints) - 1) != 2:
        raise ValueError(f"{where}: two_bone needs a chain of two bones, chain=2; this one has {bones}")
    if turns and any(task.offset):
        raise ValueError(f"{where}: two_bone takes an offset or a rotation, not both")
    return joints if turns else joints[:2]


def _ray_joints(skeleton: Skeleton, task: Task, where: str, *, turns: bool) -> list[int]:
    """The joint itself."""
    if any(task.offset):
        raise ValueError(f"{where}.offset: aim takes none, the axis starts at the joint; use dls")
    joints = task.path(skeleton)
    if len(joints) != 1:
        raise ValueError(f"{where}: aim turns one joint, chain=0; this chain has {len(joints)}")
    return joints


# For every closed form: the joints that a goal turns, or an error if it cannot solve the goal.
_FORMS = {"two_bone": _limb_joints, "aim": _ray_joints}


def _check_limits(method: str, skeleton: Skeleton, task: Task) -> None:
    """Refuse limits of moving joints that the method cannot enforce."""
    turning = task.turning_joints(skeleton)
    for joint in task.moving_joints(skeleton):
        limit, name = skeleton.limits[joint], skeleton.names[joint]
        if limit is None:
            continue
        if limit.position is not None:
            _check_word(method, "SLIDES", f"limits: {name!r} slides, and ", "start the chain below that joint")
        if joint in turning and limit.kind != "free":
            _check_word(method, "LIMITS", f"limits: {name!r} has one, and ", "start the chain below that joint")
        if joint in turning and limit.kind != "locked" and any(limit.stiffness):
            _check_word(method, "STIFFNESS", f"limits: {name!r} has stiffness, and ", "give it none")


def _check_caps(method: str, skeleton: Skeleton, task: Task) -> None:
    """Refuse caps of joints that the method turns without separate visits, and compliances that it does not support."""
    if not (skeleton.caps.any() or skeleton.compliances.any()):
        return
    for joint in task.turning_joints(skeleton):
        limit = skeleton.limits[joint]
        if skeleton.caps[joint] > 0 and (limit is None or limit.kind != "locked"):
            _check_word(method, "CAP", f"caps: {skeleton.names[joint]!r} has one, and ", "give it none")
        if skeleton.compliances[joint] > 0:
            _check_word(method, "COMPLIANCE", f"compliances: {skeleton.names[joint]!r} has one, and ", "give it none")


def _check_gap(method: str, skeleton: Skeleton, task: Task) -> None:
    """Refuse a chain with a joint that `moving` excludes between joints that turn: it would act as one more limit."""
    turning = task.turning_joints(skeleton)
    if task.may is None or not turning:
        return
    inside = {joint for chain, _ in task._chains(skeleton) for joint in chain[:-1]}
    still = [joint for joint in sorted(inside - set(turning)) if set(ancestors(skeleton, joint)[1:]) & set(turning)]
    if still:
        _check_word(method, "LIMITS", f"moving: {skeleton.names[still[0]]!r} does not turn below one that does, and ")


def _check_pole(method: str, skeleton: Skeleton, task: Task, tasks: tuple[Task, ...]) -> None:
    """Refuse a pole whose chain cannot turn as a whole (check_pole in check.c)."""
    where = f"goals[{task.goal}].pole: "
    if task.kind != "PLACE":
        raise ValueError(f"{where}{method} takes none but of a Reach; use aim for a Look that rolls towards one")
    kinds = {at: limit.kind if (limit := skeleton.limits[at]) else "free" for at in task.path(skeleton)}
    free = [at for at, kind in kinds.items() if kind != "locked" and (task.may is None or task.may[at] & MAY_TURN)]
    base = free[0] if free else -1
    wanted = ("TURN", False, task.joint, task.offset)  # a rotation that belongs to the position
    turned = any((other.kind, other.relative, other.joint, other.offset) == wanted for other in tasks)
    beside = any(task.offset) and not turned
    last = task.joint if beside or base == task.joint else int(skeleton.parents[task.joint])
    if base in (-1, last):
        raise ValueError(f"{where}a chain of two bones or more bends towards one; start it higher up")
    first = skeleton.names[base]
    if kinds[base] != "free":
        raise ValueError(f"{where}the chain turns about its first joint, and {first!r} has a limit; start it elsewhere")
    for other in tasks:
        if other.goal != task.goal and _hangs_from(skeleton, other, base):
            raise ValueError(f"{where}the chain turns about {first!r}, and goals[{other.goal}] hangs from that as well")


def _hangs_from(skeleton: Skeleton, task: Task, joint: int) -> bool:
    """Whether a task is about the joint or one of its descendants."""
    ends = [task.joint, task.other] if task.relative else [task.joint]
    return task.joint < 0 or any(joint in ancestors(skeleton, end) for end in ends)


def frame_rate(fps: float | None, *, sequence: bool) -> float | None:
    """Frames per second for the core, or None."""
    if fps is None:
        return None
    rate = FPS.number(fps)
    if not sequence:
        raise ValueError("fps: expected sequence=True with it, so that frames follow each other")
    return rate


def release_time(release: float | None, pose: Pose, shape: tuple[int, ...]) -> float:
    """Seconds in which a correction falls to a tenth. Default: infinite if one pose is given for all frames."""
    if release is None:
        return RELEASE_TIME if len(pose.shape) == len(shape) and pose.shape[:1] > (1,) else math.inf
    return math.inf if type(release) is float and release == math.inf else RELEASE.number(release)


def release_share(seconds: float, fps: float | None) -> float:
    """The share of a correction that is taken back per frame, if a tenth is left after so many seconds.

    It is computed in decimal numbers, so that the digits are the same on every machine.
    """
    frames = seconds * (FRAMES_PER_SECOND if fps is None else fps)
    if frames == 0:
        return 1.0
    from decimal import Context, Decimal  # the import takes a millisecond, and is rarely needed

    digits = Context(prec=28, traps=[])
    return float(1 - digits.power(10, digits.divide(-1, Decimal(frames))))


def check_speeds(method: str, skeleton: Skeleton, tasks: Sequence[Task], fps: float | None) -> None:
    """Refuse limits of speed and acceleration in a sequence that the method would not keep."""
    keeps = "fps" in arguments_of(method)
    if not any(skeleton.limits) or (keeps and fps is not None):
        return
    for joint in sorted({joint for task in tasks for joint in task.moving_joints(skeleton)}):
        limit = skeleton.limits[joint]
        if limit is None or not limit.is_timed:
            continue
        what = "needs fps" if keeps else f"{method} does not keep in a sequence; use one that iterates"
        raise ValueError(f"limits: {skeleton.names[joint]!r} has a speed or an acceleration, which {what}")
