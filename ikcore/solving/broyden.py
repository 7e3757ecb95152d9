"""Error-based learning: damped least squares with a Jacobian that is corrected after each step (Broyden's rule).

C. G. Broyden, "A class of methods for solving nonlinear simultaneous equations", Mathematics of Computation 19 (1965).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.coordinates import Coordinates
from ikcore.solving.custom_methods import custom_method
from ikcore.solving.registry import Option
from ikcore.solving.tasks import Moving, may_of
from ikcore.solving.validate import tasks_of

Array = NDArray[Any]

_OPTIONS = (
    Option("iterations", 200, 0, 1_000_000, "largest number of iterations"),
    Option("refresh", 5, 1, 1_000_000, "iterations between two exact Jacobians; None: one at the start", True),
    Option("damping", 0.07, 1e-6, 1e3, "damping of a step, as a share of the longest reach"),
    Option(
        "max_error",
        0.15,
        1e-6,
        1e3,
        "largest error per iteration, as a share of the longest reach: others are cut",
    ),
    Option("max_step", np.pi / 4, 1e-6, np.pi, "largest turn of a joint per iteration, in radians"),
)


@custom_method(takes=["Reach position", "limit", "sliding joint", "second end"], options=_OPTIONS)
def broyden(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    refresh: int | None = 5,
    damping: float = 0.07,
    max_error: float = 0.15,
    max_step: float = np.pi / 4,
    tolerance: float = 1e-5,
    moving: Moving = None,
) -> tuple[Pose, Any]:
    """Solve by damped least squares whose Jacobian is learned: each step corrects it by the change that it caused.

    Between two exact Jacobians, Broyden's rule updates it: ``J += (ds - J dq) dq' / |dq|^2``. A hinge or a slide
    that would leave its range is set to its end, and the others are solved again without it. Weights do not count.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> found = ik.solvers.broyden(arm, arm.rest, [ik.Reach(3, [1, 1, 1])])
    >>> print(found.status)
    0
    """
    tasks = tasks_of(skeleton, goals, pose.dtype, may_of(skeleton, moving))
    coordinates = Coordinates(skeleton, tasks)
    reaches = coordinates.reaches()
    unit = float(reaches.max())
    counts, todo = np.full(len(pose), iterations), np.ones(len(pose), bool)
    error, rows = coordinates.errors(pose), coordinates.jacobian(pose)
    for iteration in range(iterations + 1):
        there = todo & (np.linalg.norm(error, axis=-1) <= tolerance * reaches).all(axis=-1)
        counts[there], todo = iteration, todo & ~there
        if iteration == iterations or not todo.any():
            break
        if iteration and refresh and iteration % refresh == 0:
            rows = coordinates.jacobian(pose)
        values = coordinates.values(pose)
        step = _step(coordinates, values, rows, error, unit, damping, max_error, max_step)
        pose = _select(todo, coordinates.with_values(pose, values + step), pose)
        left = coordinates.errors(pose)
        rows = rows + _correction(rows, step, error - left)
        error = left
    return pose, counts


def _step(
    coordinates: Coordinates,
    values: Array,
    rows: Array,
    error: Array,
    unit: float,
    damping: float,
    max_error: float,
    max_step: float,
) -> Array:
    """Changes of coordinates, (items, n), within their ranges.

    If coordinates would leave their range, the one with the shortest way to its end is set to that end. Its motion is
    subtracted from the error, and the others are solved again without it. A slide by `unit` counts as a turn by a
    radian.
    """
    scales = np.where(np.arange(len(coordinates)) < coordinates.first_slide, 1, unit)
    low, high = (coordinates.low - values) / scales, (coordinates.high - values) / scales
    rows = rows * (scales / unit)
    length = np.linalg.norm(error / unit, axis=-1, keepdims=True)
    wanted = (error / unit * np.minimum(1, max_error / np.maximum(length, _NOTHING))).reshape(len(values), -1)
    normal = rows @ np.swapaxes(rows, -1, -2) + damping**2 * np.eye(rows.shape[-2])
    free, set_to, items = np.ones(values.shape, bool), np.zeros(values.shape), np.arange(len(values))
    while True:
        found = free * (np.linalg.solve(normal, wanted[..., np.newaxis])[..., np.newaxis, :, 0] @ rows)[..., 0, :]
        found *= np.minimum(1, max_step / np.maximum(np.abs(found).max(axis=-1, keepdims=True), _NOTHING))
        over = free & ((found < low - _ROUNDING) | (found > high + _ROUNDING))
        if not over.any():
            return np.asarray((found + set_to) * scales)
        way = np.where(found < low, low, high)
        first = np.where(over, np.abs(way), np.inf).argmin(axis=-1)
        some = over.any(axis=-1)
        by = np.where(some, way[items, first], 0.0)
        column = rows[items, :, first]
        wanted = wanted - by[:, np.newaxis] * column
        column = column * some[:, np.newaxis]
        normal = normal - column[:, :, np.newaxis] * column[:, np.newaxis, :]
        set_to[items, first] += by
        free[items, first] &= ~some


_NOTHING = 1e-300
_ROUNDING = 1e-12  # radians, or shares of the longest reach: tolerance for coordinates outside their range


def _correction(rows: Array, step: Array, done: Array) -> Array:
    """Broyden's correction of Jacobians (items, m, n) after a step that reduced the errors by a given amount."""
    surprise = done.reshape(len(rows), -1, 1) - rows @ step[..., np.newaxis]
    square = (step**2).sum(axis=-1)
    return np.asarray(surprise * (step / np.maximum(square, _NOTHING)[:, np.newaxis])[:, np.newaxis, :])


def _select(chosen: NDArray[np.bool_], one: Pose, other: Pose) -> Pose:
    """A pose with the chosen items of one pose and the other items of another."""
    mask = chosen[:, np.newaxis, np.newaxis]
    moved = None if one.translations is None else np.where(mask, one.translations, _translations_of(one, other))
    return one.with_rotations(np.where(mask, one.rotations, other.rotations), moved)


def _translations_of(one: Pose, other: Pose) -> Array:
    return np.asarray(one.translations if other.translations is None else other.translations)
