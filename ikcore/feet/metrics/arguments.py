"""Checks of the arguments of measures, and values that several measures share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import path_lengths, rows

Array = NDArray[np.float64]

DOUBLE = np.dtype(np.float64)


def bones(chain: ArrayLike) -> Array:
    """Vectors from joint to joint of a chain, in every frame."""
    joints = vectors("chain", chain, "frames", "joints")
    return np.asarray(joints[:, 1:] - joints[:, :-1])


def vectors(name: str, value: ArrayLike, *axes: int | str) -> Array:
    """Rows of three numbers. `axes` are the axes before them; a number is the length that one must have."""
    found = rows(name, value, DOUBLE, 3)
    before = found.shape[:-1]
    if axes and not (len(before) == len(axes) and all(map(_fits, axes, before))):
        raise ValueError(f"{name}: expected shape ({', '.join(map(str, axes))}, 3), got {found.shape}")
    return found


def _fits(axis: int | str, length: int) -> bool:
    return axis == length or isinstance(axis, str)


def intervals(stances: ArrayLike, frames: int) -> list[list[int]]:
    """The first frame of each stance, and the first one after it."""
    pairs = np.asarray(stances, np.intp).reshape(-1, 2)
    if ((pairs[:, 0] < 0) | (pairs[:, 0] >= pairs[:, 1]) | (pairs[:, 1] > frames)).any():
        raise ValueError(f"stances: expected first frames and the first ones after, among {frames}; `runs` makes them")
    found: list[list[int]] = pairs.tolist()
    return found


def rate(fps: float) -> float:
    """Frames per second, checked to be positive."""
    if not 0 < fps < math.inf:
        raise ValueError(f"fps: expected a positive number, got {fps!r}")
    return float(fps)


def same(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if shape != expected:
        raise ValueError(f"{name}: expected shape {expected}, got {shape}")


def spread(name: str, value: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The array broadcast to a shape."""
    if value.shape == shape:
        return value
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"{name}: expected shape {shape}, got {value.shape}") from None


def lowest(heights: ArrayLike) -> Array:
    """Height of the lowest point of a sole, in every frame."""
    return np.asarray(np.fmin.reduce(rows("heights", heights, DOUBLE), axis=-1, initial=np.inf))


def above(heights: ArrayLike) -> Array:
    """Heights above the ground; infinite where there is no ground."""
    known = rows("heights", heights, DOUBLE)
    return np.where(np.isnan(known), np.inf, known)


def speeds(points: ArrayLike, fps: float) -> Array:
    """Horizontal speeds of every step between frames."""
    each = vectors("points", points, "frames", "points")
    steps = each[1:] - each[:-1]
    return np.asarray(np.hypot(steps[..., 0], steps[..., 2]) * rate(fps))


def lengths(chain: Array) -> Array:
    """Total length of the bones of a chain, in every frame."""
    return path_lengths(chain)


def highest(values: Array, percent: float = 100) -> float:
    """A percentile that is one of the values, so that it may be infinite; NaN if there are none."""
    known = np.sort(values[~np.isnan(values)])
    return float(known[math.ceil((len(known) - 1) * (percent / 100))]) if len(known) else math.nan


def mean(values: Array) -> float:
    """The mean; NaN if there are no values."""
    return float(values.mean()) if values.size else math.nan
