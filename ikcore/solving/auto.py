"""The choice of ``method="auto"``: one table, of which the first row that fits names the method.

The choice depends on the kinds of goals, the skeleton and the names of options, never on target values: an item has the
same method in any batch. The table is measured by `python benchmarks/choice.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ikcore.goals import Goal, Look, Reach
from ikcore.skeleton import Skeleton
from ikcore.solving.batch import checked_moving, tasks_to_come
from ikcore.solving.single import FIELDS
from ikcore.solving.table import arguments_of
from ikcore.tasks import Task

AUTO = "auto"


class Row(NamedTuple):
    """A method, and what it is chosen for. It must take the goals, the limits and the options as well."""

    method: str
    goals: tuple[type[Goal], ...] = (Goal,)
    needs: tuple[str, ...] = ()  # arrays that every goal has
    without: tuple[str, ...] = ()  # arrays and points that no goal has
    free: bool = False  # no joint that moves has a limit, and frames do not follow each other


TABLE = (
    Row("two_bone", (Reach,), needs=("position", "pole"), without=("offset",)),  # the pole gives the plane of the bend
    Row("aim", (Look,), needs=("position",), without=("offset",)),
    Row("fabrik", (Reach,), needs=("position",), without=("rotation",), free=True),
    Row("dls"),
    Row("ccd"),  # for caps
)
_DEFAULT = "dls"  # its messages explain what is wrong where no row fits
_MOST_KEPT = 64  # choices that are cached with a skeleton


def method_for(skeleton: Skeleton, goals: Sequence[Goal], options: Mapping[str, Any]) -> str:
    """The name of the method that `TABLE` gives for these goals and options."""
    if type(skeleton) is not Skeleton or not isinstance(goals, (list, tuple)):
        return _DEFAULT
    if options.get("moving") is not None:
        return _first(skeleton, goals, options)
    try:
        key = (*map(_structure, goals), tuple(options), options.get("sequence"))
        kept = skeleton._methods.get(key)
    except (KeyError, TypeError):  # what is no goal, or has no hash
        return _first(skeleton, goals, options)
    if kept is None:
        if len(skeleton._methods) >= _MOST_KEPT:
            skeleton._methods.clear()
        kept = skeleton._methods[key] = _first(skeleton, goals, options)
    return kept


def _structure(goal: Goal) -> tuple[Any, ...]:
    """All of a goal that the choice depends on."""
    arrays, points, others = FIELDS[type(goal)]
    return (
        type(goal),
        *[getattr(goal, name) is None for name in (*arrays, *points)],
        *[getattr(goal, name) for name in others],
    )


def _first(skeleton: Skeleton, goals: Sequence[Goal], options: Mapping[str, Any]) -> str:
    for row in TABLE:
        if all(_is_for(row, goal) for goal in goals) and options.keys() <= set(arguments_of(row.method)):
            try:
                tasks = tasks_to_come(row.method, skeleton, goals, checked_moving(skeleton, options.get("moving")))
            except (TypeError, ValueError):  # the method does not take them
                continue
            if not row.free or not (options.get("sequence") or _is_limited(skeleton, tasks)):
                return row.method
    return _DEFAULT


def _is_for(row: Row, goal: Goal) -> bool:
    return (
        isinstance(goal, row.goals)
        and all(getattr(goal, name, None) is not None for name in row.needs)
        and all(getattr(goal, name, None) is None for name in row.without)
    )


def _is_limited(skeleton: Skeleton, tasks: Sequence[Task]) -> bool:
    """True if a joint that the tasks move has a limit."""
    return any(skeleton.limits[joint] for task in tasks for joint in task.moving(skeleton))
