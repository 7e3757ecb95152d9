"""Rays and triangles by the plain way: every ray against every triangle, after Moeller and Trumbore (1997)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def cast(vertices: Array, faces: Array, origins: Array, directions: Array) -> tuple[Array, Array]:
    """Distance and triangle of the nearest hit of each ray; infinite and -1 where there is none."""
    a, b, c = (np.asarray(vertices, float)[faces[:, corner]] for corner in range(3))
    found = [_one(a, b - a, c - a, *ray) for ray in zip(origins, directions, strict=True)]
    distance, triangle = map(np.array, zip(*found, strict=True))
    return distance, triangle


def _one(a: Array, ab: Array, ac: Array, origin: Array, direction: Array) -> tuple[float, int]:
    unit = direction / np.linalg.norm(direction)
    p = np.cross(unit, ac)
    det = (ab * p).sum(-1)
    with np.errstate(all="ignore"):
        u = ((origin - a) * p).sum(-1) / det
        q = np.cross(origin - a, ab)
        v = (unit * q).sum(-1) / det
        t = (ac * q).sum(-1) / det
    hit = (np.abs(det) > 1e-14) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
    t = np.where(hit, t, np.inf)
    nearest = int(t.argmin()) if len(t) else -1
    return (float(t[nearest]), nearest) if hit.any() else (np.inf, -1)


def random(triangles: int, seed: int = 0, size: float = 0.3) -> tuple[Array, Array]:
    """Vertices and faces of triangles anywhere in a cube of side 2."""
    numbers = np.random.default_rng(seed)
    corners = numbers.uniform(-1, 1, (triangles, 1, 3)) + numbers.normal(0, size, (triangles, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * triangles).reshape(-1, 3)


def sphere(rows: int) -> tuple[Array, Array]:
    """A closed ball of radius 1 whose triangles share vertices; fronts outwards."""
    polar, turn = np.linspace(0, np.pi, rows + 1)[1:-1], np.linspace(0, 2 * np.pi, 2 * rows, endpoint=False)
    ring = np.stack(
        [
            np.sin(polar)[:, None] * np.cos(turn),
            np.sin(polar)[:, None] * np.sin(turn),
            np.cos(polar)[:, None] + 0 * turn,
        ],
        -1,
    ).reshape(-1, 3)
    vertices = np.concatenate([ring, [[0, 0, 1], [0, 0, -1]]])
    m, last = 2 * rows, len(vertices)
    faces = []
    for j in range(m):
        k = (j + 1) % m
        faces.append([last - 2, j, k])
        faces.append([last - 1, (rows - 2) * m + k, (rows - 2) * m + j])
        for i in range(rows - 2):
            faces.append([i * m + j, (i + 1) * m + j, (i + 1) * m + k])
            faces.append([i * m + j, (i + 1) * m + k, i * m + k])
    return vertices, np.array(faces)
