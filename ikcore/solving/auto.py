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
from ikcore.solving.registry import arguments_of
from ikcore.solving.single_pose import FIELDS

AUTO = "auto"


class Row(NamedTuple):
    """A method, and what it is chosen for. It must take the goals, the limits and the options as well."""

    method: str
    goals: tuple[type[Goal], ...] = (Goal,)
    needs: tuple[str, ...] = ()  # arrays that every goal has
    without: tuple[str, ...] = ()  # arrays and points that no goal has
    sequences: bool = True  # also where each frame starts from the frame before


TABLE = (
    Row("two_bone", (Reach,), needs=("position", "pole"), without=("offset",)),  # the pole gives the plane of the bend
    Row("aim", (Look,), needs=("position",), without=("offset",)),
    Row("fabrik", (Reach,), needs=("position",), without=("rotation",), sequences=False),  # it jumps more than dls
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
        if not all(_is_for(row, goal) for goal in goals) or not _takes(row, options):
            continue
        try:
            tasks_to_come(row.method, skeleton, goals, checked_moving(skeleton, options.get("moving")))
        except (TypeError, ValueError):  # the method does not take the goals or the limits
            continue
        return row.method
    return _DEFAULT


def _takes(row: Row, options: Mapping[str, Any]) -> bool:
    return options.keys() <= set(arguments_of(row.method)) and (row.sequences or not options.get("sequence"))


def _is_for(row: Row, goal: Goal) -> bool:
    return (
        isinstance(goal, row.goals)
        and all(getattr(goal, name, None) is not None for name in row.needs)
        and all(getattr(goal, name, None) is None for name in row.without)
    )
