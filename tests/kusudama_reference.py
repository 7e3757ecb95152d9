"""Kusudamas the slow way: which directions are in one by how it is put together, and the nearest by trying its edges.

The circles beside a path are centred where two circles about the axes meet, whose radii are sums. A path is the part of
the triangles between both axes and such a centre that is outside its circle.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Cone = tuple[Array, float]


def angle(a: Array, b: Array) -> Array:
    return np.asarray(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))


def unit(a: Any) -> Array:
    a = np.asarray(a, np.float64)
    return np.asarray(a / np.linalg.norm(a, axis=-1, keepdims=True))


def circles(first: Cone, second: Cone) -> tuple[list[Array], float]:
    """Centres and radius of the circles that bound the path, none where there is no path."""
    (a, alpha), (b, beta) = first, second
    apart, radius = float(angle(a, b)), (np.pi - alpha - beta) / 2
    if radius <= 0 or abs(alpha - beta) >= apart:
        return [], radius
    # c = x a + y b + z n, with c.a and c.b known
    cosines = np.cos([alpha + radius, beta + radius])
    x, y = np.linalg.solve(np.array([[1.0, a @ b], [a @ b, 1.0]]), cosines)
    flat, normal = x * a + y * b, np.cross(a, b)
    z = np.sqrt(max(0, 1 - flat @ flat)) / np.linalg.norm(normal)
    return [flat + z * normal, flat - z * normal], radius


def in_triangle(p: Array, a: Array, b: Array, c: Array) -> Array:
    sign = np.sign(np.dot(np.cross(a, b), c))
    return np.asarray(np.all([np.cross(u, v) @ p.T * sign >= -1e-12 for u, v in ((a, b), (b, c), (c, a))], axis=0))


def contains(cones: list[Cone], p: Array, slack: float = 0.0) -> Array:
    """Whether directions (n, 3) are inside, or outside by no more than the slack."""
    inside = np.any([angle(axis, p) <= size + slack for axis, size in cones], axis=0)
    for first, second in pairwise(cones):
        centres, radius = circles(first, second)
        for centre in centres:
            inside |= in_triangle(p, first[0], centre, second[0]) & (angle(centre, p) >= radius - slack)
    return np.asarray(inside)


def edges(cones: list[Cone]) -> Iterator[tuple[Array, float]]:
    """Every circle that an edge may be part of."""
    yield from cones
    for first, second in pairwise(cones):
        centres, radius = circles(first, second)
        yield from ((centre, radius) for centre in centres)


def on_circle(centre: Array, radius: float, angles: Array) -> Array:
    side = unit(np.cross(centre, np.eye(3)[np.argmin(np.abs(centre))]))
    other = np.cross(centre, side)
    across = np.cos(angles)[..., None] * side + np.sin(angles)[..., None] * other
    return np.asarray(np.cos(radius) * centre + np.sin(radius) * across)


def distance(cones: list[Cone], p: Array, steps: int = 6000) -> Array:
    """How far directions (n, 3) are from inside: 0, or the way to the nearest of many points of edges."""
    points = np.concatenate(
        [on_circle(*edge, np.linspace(0, 2 * np.pi, steps, endpoint=False)) for edge in edges(cones)]
    )
    points = points[contains(cones, points, 1e-9)]
    away = np.array([angle(direction, points[np.argmax(points @ direction)]) for direction in p])
    return np.where(contains(cones, p), 0, away)
