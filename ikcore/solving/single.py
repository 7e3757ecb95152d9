"""One item a call: what follows from the structure of goals is found once and kept with the skeleton.

Who solves pose by pose writes the same goals each time with other arrays in them. So goals are taken apart, in C: their
arrays and the points of joints, and all else, by which a function is found that was made for just that (`prepared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from ikcore import _core
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.batch import prepared, tasks_to_come
from ikcore.solving.solution import places_of
from ikcore.tasks import GOAL_POINTS, GOAL_ROWS, is_full

# What the core makes of one item: rotations, translations where joints move, error, rotation error, iterations, status,
# history and errors of goals where wanted.
Item = tuple[Any, Any, Any, Any, Any, Any, Any, Any]

# So many structures are kept with a skeleton. Then all are let go: those in use are soon there again.
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
    """Solve one item that has nothing to be said of it; None for everything else, and for what is to be refused."""
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
        _FIELDS,
        skeleton._prepared,
        _prepare,
        skeleton,
    )


def _fields_of(kind: Any) -> tuple[tuple[str, ...], ...]:
    names = [item.name for item in fields(kind)]
    arrays = tuple(name for name in GOAL_ROWS if name in names)
    points = tuple(name for name in GOAL_POINTS if name in names)
    return arrays, points, tuple(name for name in names if name not in (*arrays, *points, "influence"))


# Of every kind of goal the names of the fields that are arrays, of points and axes, each in the order of the core, and
# of all others.
_FIELDS = {kind: _fields_of(kind) for kind in Goal.__subclasses__()}


def _prepare(skeleton: Skeleton, goals: tuple[Any, ...], structure: tuple[Any, ...]) -> _core.Prepared | None:
    """Make the function in C for goals of a structure, and keep it; None where there is none."""
    method, (options, history, goal_errors, judge, may), *_ = structure
    try:
        opened = [_opened(goal) for goal in goals]
        tasks = tasks_to_come(method, skeleton, opened, may)
        places = places_of(tasks) if goal_errors else None
        wanted: dict[str, Any] = {"history": history, "places": places, "judge": judge}
        made = prepared(method, skeleton, opened, tasks, options, single=True, **wanted)
    except (TypeError, ValueError):  # which the way of all others says, with its arrays
        return None
    kept = skeleton._prepared
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[structure] = made
    return made


def _opened(goal: Any) -> Any:
    """The goal with an ellipsis for every array."""
    given = [name for name in _FIELDS[type(goal)][0] if getattr(goal, name) is not None]
    return replace(goal, **dict.fromkeys(given, ...))
