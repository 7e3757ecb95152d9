"""Arguments of the functions that make limits: types, checks and conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import as_text, rows, unit, whole_number

Array = NDArray[Any]

_TURN = 2 * np.pi


def motion_of(
    stiffness: ArrayLike, position: ArrayLike | None, speed: ArrayLike | None, acceleration: ArrayLike | None
) -> dict[str, Any]:
    """The fields of a `Limit` for these arguments of `Limit.free`."""
    given = rows("stiffness", stiffness, np.dtype(np.float64))
    made: dict[str, Any] = {
        "stiffness": numbers("stiffness", given if given.ndim else np.broadcast_to(given, 3), 3),
        "speed": _pair("speed", speed),
        "acceleration": _pair("acceleration", acceleration),
    }
    if position is not None:
        bounds = rows("position", position, np.dtype(np.float64))
        if bounds.shape != (2, 3) or not (bounds[0] <= bounds[1]).all():
            raise ValueError(
                f"position: expected the lowest and the highest point, [[x, y, z], [x, y, z]], got {as_text(position)}"
            )
        made["position"] = tuple(map(tuple, bounds.tolist()))
    return made


def _pair(name: str, value: ArrayLike | None) -> tuple[float, ...]:
    """Values for turning and for sliding; one number stands for both, and None for no bound."""
    if value is None:
        return (np.inf, np.inf)
    given = rows(name, value, np.dtype(np.float64))
    if given.shape not in ((), (2,)) or not (given > 0).all():
        raise ValueError(f"{name}: expected more than 0, one number or a pair, got {as_text(value)}")
    return tuple(np.broadcast_to(given, 2).tolist())


def numbers(name: str, value: ArrayLike, count: int) -> tuple[float, ...]:
    """Finite numbers, as many as expected."""
    array = rows(name, value, np.dtype(np.float64))
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ValueError(f"{name}: expected {count} finite numbers, got {as_text(value)}")
    return tuple(array.tolist())


def whole(name: str, value: Any) -> int:
    """A whole number."""
    try:
        return whole_number(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {as_text(value)}") from None


def twist_range(twist: tuple[float, float] | None) -> tuple[float, float]:
    """Lowest and highest angle of a twist; None is no limit."""
    return (-np.pi, np.pi) if twist is None else angle_range("twist", *numbers("twist", twist, 2))


def angle_range(name: str, low: float, high: float) -> tuple[float, float]:
    """A range of angles, up to a whole turn in either direction."""
    pair = rows(name, (low, high), np.dtype(np.float64))
    if pair.shape != (2,) or not -_TURN <= pair[0] <= pair[1] <= _TURN:
        raise ValueError(f"{name}: expected -2 pi <= low <= high <= 2 pi, in radians, got {low} and {high}")
    return float(low), float(high)


def cones_of(cones: Sequence[tuple[ArrayLike, float]]) -> list[tuple[Array, float]]:
    """Pairs of a unit vector (zero stays zero) and an angle."""
    try:
        pairs = [(direction, numbers("cones", [angle], 1)[0]) for direction, angle in cones]
    except (TypeError, ValueError) as error:
        raise type(error)(f"cones: expected pairs of a direction and an angle, got {as_text(cones)}") from None
    return [(unit(np.array(numbers("cones", direction, 3))), angle) for direction, angle in pairs]


def frame_of(axis: ArrayLike, side: ArrayLike | None) -> tuple[float, ...]:
    """The space of a limit, with x along the axis and y as near to the side as possible."""
    x = np.array(numbers("axis", axis, 3))
    if not x.any():
        raise ValueError("axis: expected a direction, got a zero vector")
    y = np.zeros(3) if side is None else np.array(numbers("side", side, 3))
    frame = rotations.from_6d(np.concatenate([x, y]))
    if side is not None and not rotations.rotate(frame, [0, 1, 0]) @ y > 1e-6 * np.abs(y).max():
        raise ValueError(f"side: expected a direction that is not along the axis {axis!r}, got {side!r}")
    return tuple(frame.tolist())
