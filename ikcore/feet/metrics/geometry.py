"""Lengths of vectors, angles between them and planes, with the same bits in every version of NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ikcore import _arrays, rotations
from ikcore._arrays import size

Array = NDArray[np.float64]

UP = (0.0, 1.0, 0.0)


def length(vectors: Array) -> Array:
    """Lengths of vectors with two or three components."""
    return np.asarray(size(vectors) if vectors.shape[-1] == 3 else np.sqrt(dot(vectors, vectors)))


def dot(a: Array, b: Array) -> Array:
    """Dot products of vectors with two or three components."""
    if a.shape[-1] == 3:
        return np.asarray(_arrays.dot(a, b))
    products = a * b
    return np.asarray(products[..., 0] + products[..., 1])


def angle(a: Array, b: Array) -> Array:
    """Angles between vectors, accurate for all angles."""
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    return arc(length(_arrays.cross(a, b)), dot(a, b))


def arc(y: Array, x: Array) -> Array:
    """np.arctan2 with reproducible bits: those of NumPy differ between versions, in 1.26 even between calls."""
    far = np.sqrt(x * x + y * y)
    turns = np.zeros((*far.shape, 4))  # by the half of it, which is no difference of nearly equal numbers
    turns[..., 0] = np.where(x >= 0, far + x, np.abs(y))
    turns[..., 1] = np.where(x >= 0, y, np.copysign(far - x, y))
    return np.asarray(rotations.log(turns)[..., 0])


def along_plane(vectors: Array, normals: Array) -> Array:
    """Vectors without their component along normals; without ground, the plane is level."""
    long = length(normals)[..., np.newaxis]
    upward = np.where(long > 0, normals / np.where(long > 0, long, 1), UP)
    return np.asarray(vectors - dot(vectors, upward)[..., np.newaxis] * upward)
