"""The slow and obvious: what a limb should do, one item at a time, and rotations that share no code with the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import ikcore as ik

Array = NDArray[np.float64]


Vector = ArrayLike | None


def two_bone(
    root: Vector, mid: Vector, end: Vector, target: Vector, pole: Vector = None, bend: Vector = None
) -> tuple[Array, Array]:
    """Positions of mid and end of one limb: the law of cosines gives the angle at the root, and Rodrigues' formula
    rotates by it."""
    root, mid, end, target = (np.asarray(point, np.float64) for point in (root, mid, end, target))
    upper, lower = norm(mid - root), norm(end - mid)
    distance = np.clip(norm(target - root), abs(upper - lower), upper + lower)
    line = unit(target - root)
    if pole is not None:
        towards = np.asarray(pole, np.float64) - root
    elif bend is not None:
        towards = np.asarray(bend, np.float64)
    else:
        old = unit(end - root)
        side = (mid - root) - old * np.dot(mid - root, old)
        towards = turn(side, unit(np.cross(old, line)), np.arccos(np.clip(np.dot(old, line), -1, 1)))
    cosine = (upper**2 + distance**2 - lower**2) / (2 * upper * distance)
    angle = np.arccos(np.clip(cosine, -1, 1))
    return root + upper * turn(line, unit(np.cross(line, towards)), angle), root + distance * line


def forward(limb: ik.closed_forms.LimbSolution, root: ArrayLike, mid: ArrayLike, end: ArrayLike) -> Array:
    """Positions (..., 3, 3) rebuilt from the deltas: the mid bone turns by root * mid."""
    root, mid, end = (np.asarray(point, np.float64) for point in (root, mid, end))
    upper = rotate(limb.root, mid - root)
    lower = rotate(multiply(limb.root, limb.mid), end - mid)
    return np.stack(np.broadcast_arrays(root, root + upper, root + upper + lower), axis=-2)


def spoiled(inputs: dict[str, Any], name: str, bad: float) -> dict[str, Any]:
    """Inputs of nine items with a bad number in the fifth."""
    array = inputs[name].copy()
    array.reshape(9, -1)[4, 0] = bad
    return inputs | {name: array}


def norm(vector: Array) -> Array:
    """Length, without overflow on the way."""
    largest = np.max(np.abs(vector), axis=-1, keepdims=True)
    scaled = vector / np.where(largest == 0, 1, largest)
    return np.asarray(largest[..., 0] * np.sqrt(np.sum(scaled**2, axis=-1)))


def unit(vector: Array) -> Array:
    """Direction of `vector`; zero stays zero."""
    length = norm(vector)[..., None]
    return np.asarray(vector / np.where(length == 0, 1, length))


def turn(vector: Array, axis: Array, angle: float | Array) -> Array:
    """Rodrigues: `vector` turned about the unit `axis`."""
    along = axis * np.sum(axis * vector, axis=-1, keepdims=True)
    return np.asarray(along + (vector - along) * np.cos(angle) + np.cross(axis, vector) * np.sin(angle))


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Hamilton product of (w, x, y, z): b first."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    u, v = a[..., 1:], b[..., 1:]
    scalar = a[..., :1] * b[..., :1] - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([scalar, a[..., :1] * v + b[..., :1] * u + np.cross(u, v)], axis=-1)


def conjugate(q: ArrayLike) -> Array:
    """The opposite rotation."""
    return np.asarray(q, np.float64) * [1, -1, -1, -1]


def rotate(q: ArrayLike, vector: ArrayLike) -> Array:
    """`vector` turned by the unit quaternion q, as q v q*."""
    vector = np.asarray(vector, np.float64)
    pure = np.concatenate([np.zeros((*vector.shape[:-1], 1)), vector], axis=-1)
    return np.asarray(multiply(multiply(q, pure), conjugate(q))[..., 1:])
