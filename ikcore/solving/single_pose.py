"""Solving one item per call: data derived from the structure of the goals are cached with the skeleton.

A caller that solves pose by pose repeats the same goals with other arrays. C code separates the arrays and points of
the goals from the rest, their structure. The structure selects a function prepared for it (`prepared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from ikcore import _core
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.batch import prepare_call, tasks_to_come
from ikcore.solving.solution import places_of
from ikcore.solving.tasks import GOAL_POINTS, GOAL_ROWS, is_full

# The core's result for one item: rotations, translations if joints move, error, rotation error, iterations, status,
# and, if requested, history and errors of goals.
Item = tuple[Any, Any, Any, Any, Any, Any, Any, Any]

# Number of structures cached per skeleton. If there are more, the cache is cleared; those in use return soon.
_MOST_KEPT = 64


def solve_single(
    method: str,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    options: tuple[float | None, ...],
    *,
    history: bool = False,
    goal_errors: bool = False,
    judge: bool = False,
    may: bytes | None = None,
) -> Item | None:
    """Solve one item without warnings; None for all other cases, and for invalid arguments."""
    if type(skeleton) is not Skeleton or type(pose) is not Pose or not isinstance(goals, (list, tuple)):
        return None
    for goal in goals:
        if not is_full(getattr(goal, "influence", None)):
            return None
    return _core.solve_single(
        method,
        (options, history, goal_errors, judge, may),
        tuple(goals),
        pose.rotations,
        pose.translations,
        pose.scales,
        FIELDS,
        skeleton._prepared,
        _prepare,
        skeleton,
    )


def _fields_of(kind: Any) -> tuple[tuple[str, ...], ...]:
    names = [item.name for item in fields(kind)]
    arrays = tuple(name for name in GOAL_ROWS if name in names)
    points = tuple(name for name in GOAL_POINTS if name in names)
    return arrays, points, tuple(name for name in names if name not in (*arrays, *points, "influence"))


# The field names of every kind of goal: arrays, and points and axes, each in the order of the core, then all others.
FIELDS = {kind: _fields_of(kind) for kind in Goal.__subclasses__()}


def _prepare(skeleton: Skeleton, goals: tuple[Any, ...], structure: tuple[Any, ...]) -> _core.Prepared | None:
    """Make and cache the C function for goals of a structure; None if there is none."""
    method, (options, history, goal_errors, judge, may), *_ = structure
    try:
        opened = [_open_goal(goal) for goal in goals]
        tasks = tasks_to_come(method, skeleton, opened, may)
        places = places_of(tasks) if goal_errors else None
        wanted: dict[str, Any] = {"history": history, "places": places, "judge": judge}
        made = prepare_call(method, skeleton, opened, tasks, options, single=True, **wanted)
    except (TypeError, ValueError):  # the general path raises the error, with its arrays
        return None
    kept = skeleton._prepared
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[structure] = made
    return made


def _open_goal(goal: Any) -> Any:
    """The goal with an ellipsis in place of every array."""
    given = [name for name in FIELDS[type(goal)][0] if getattr(goal, name) is not None]
    return replace(goal, **dict.fromkeys(given, ...))
