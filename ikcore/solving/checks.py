"""What is asked of a method: goals as tasks, checked against the skeleton, each other and what the method takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ikcore import _core
from ikcore.goals import Goal
from ikcore.skeleton import Skeleton
from ikcore.tasks import Making, Task


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
        task for index, goal in enumerate(goals) for task in goal._tasks(Making(goal, index, skeleton, dtype))
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


# By method, as bits.
_BITS = {word: bit for word, bit, _ in _core.TAKES}
_TAKES = {method: takes for method, _, takes in (*_core.METHODS, *_core.FORMS)}
_ITERATIVE = {method for method, _, _ in _core.METHODS}


def is_iterative(method: str) -> bool:
    """Whether the core solves by it; else it is a closed form that Python applies goal by goal."""
    return method in _ITERATIVE


def check_takes(method: str, skeleton: Skeleton, tasks: tuple[Task, ...]) -> None:
    """Refuse what the method does not take: ik_solve_check says so too, but not of what, and not what to do."""
    for task in tasks:
        where = f"goals[{task.goal}]"
        _check_word(method, task.kind, f"{where}: {_KIND_NAMES[task.kind]}")
        if task.relative:
            _check_word(method, "RELATIVE", f"{where}: what is relative to another joint")
        if task.level != tasks[0].level:
            _check_word(method, "LEVELS", f"{where}.level: a level", "say by weights which goal counts more, or ")
        if task.pole is not None:
            _check_word(method, "POLE", f"{where}.pole: a pole")
        if any(task.up) and method in _ITERATIVE:
            raise ValueError(f"{where}.up: {method} takes none; its chains bend towards the pole, whatever is up")
        if any(skeleton.limits):
            _check_limits(method, skeleton, task)


_KIND_NAMES = {
    "PLACE": "a position",
    "TURN": "a rotation",
    "LOOK": "a Look",
    "DISTANCE": "a Distance",
    "CENTRE_OF_MASS": "a CentreOfMass",
    "INSIDE": "an Inside",
    "POSTURE": "a Posture",
}


def _check_word(method: str, word: str, what: str, instead: str = "") -> None:
    if _TAKES[method] & _BITS[word]:
        return
    takers = " or ".join(known for known, takes in _TAKES.items() if takes & _BITS[word])
    raise ValueError(f"{what} is nothing that {method} takes: {instead}use {takers}")


def _check_limits(method: str, skeleton: Skeleton, task: Task) -> None:
    """Refuse limits that the method would not keep, of the joints that it moves."""
    turning = task.turning(skeleton)
    for joint in task.moving(skeleton):
        limit, name = skeleton.limits[joint], skeleton.names[joint]
        if limit is None:
            continue
        if limit.position is not None:
            _check_word(method, "SLIDES", f"limits: {name!r} slides, which", "start the chain below that joint, or ")
        if joint in turning and limit.kind != "locked" and any(limit.stiffness):
            _check_word(method, "STIFFNESS", f"limits: {name!r} has stiffness, which", "give it none, or ")
