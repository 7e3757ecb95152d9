"""One item a call: what follows from the structure of goals is found once and kept with the skeleton.

A caller who solves frame by frame writes the same goals each time, with other arrays in them. So goals are taken apart:
their arrays, and all else, by which a function in C is found that has been made for just that (`prepared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ikcore import _core
from ikcore.goals import GOAL_ARRAYS, Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.batch import prepared

# What the core makes of one item: rotations, translations where joints move, error, rotation error, iterations, status.
Item = tuple[Any, Any, Any, Any, Any, Any]

# So many structures are kept with a skeleton; who has more of them does not come back to them.
_MOST_KEPT = 64


def solve_single(
    method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], options: tuple[float | None, ...]
) -> Item | None:
    """Solve one item that has nothing to be said of it; None for everything else, and for what is to be refused."""
    if type(skeleton) is not Skeleton or type(pose) is not Pose or not isinstance(goals, (list, tuple)):
        return None
    structure: list[Any] = [method, options]
    arrays: list[Any] = []
    for goal in goals:
        parts = _PARTS.get(type(goal)) or _parts_of(type(goal))
        if parts is None:
            return None
        values = parts.arrays(goal)
        structure += parts.others(goal), tuple([value is None for value in values])
        arrays += [value for value in values if value is not None]
    solve = _solver_for(skeleton, goals, tuple(structure))
    return solve(pose.rotations, pose.translations, pose.scales, *arrays) if solve else None


class _Parts(NamedTuple):
    """What takes a kind of goal apart."""

    names: list[str]  # of its arrays
    arrays: attrgetter[tuple[Any, ...]]
    others: attrgetter[tuple[Any, ...]]


_PARTS: dict[type, _Parts] = {}


def _parts_of(kind: type) -> _Parts | None:
    if not issubclass(kind, Goal):
        return None
    names: list[str] = [item.name for item in fields(kind)]  # type: ignore[arg-type]  # all goals are records
    arrays = [name for name in GOAL_ARRAYS if name in names]  # two or more, as attrgetter makes no tuple of one
    others = attrgetter("__class__", *[name for name in names if name not in arrays])
    _PARTS[kind] = _Parts(arrays, attrgetter(*arrays), others)
    return _PARTS[kind]


def _solver_for(skeleton: Skeleton, goals: Sequence[Goal], structure: tuple[Any, ...]) -> _core.Prepared | None:
    """The function in C, None where there is none."""
    kept = skeleton._prepared
    try:
        if structure in kept:
            return kept[structure]
    except TypeError:  # some point is a list or an array
        return _solver_for(skeleton, goals, _hashable(structure))
    opened = [_opened(goal) for goal in goals]
    try:
        made = prepared(structure[0], skeleton, opened, structure[1], moves=True)
    except (TypeError, ValueError):  # which the way of all others says, with its arrays
        return None
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[structure] = made
    return made


def _opened(goal: Any) -> Any:
    """The goal with an ellipsis for every array."""
    given = [name for name in _PARTS[type(goal)].names if getattr(goal, name) is not None]
    return replace(goal, **dict.fromkeys(given, ...))


def _hashable(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value
