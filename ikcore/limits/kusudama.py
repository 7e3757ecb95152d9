"""Allowed directions of a kusudama's axis: cones in a row and the paths between neighbours, as patches of a sphere.

The numbers are the same on every machine, because only algebraic functions of NumPy are used. The geometry of paths is
derived in src/ik/forms/limits/limit_kusudama.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import cross, dot, size, unit
from ikcore._record import record

Array = NDArray[Any]
# A direction and an angle.
Cone = tuple[tuple[float, ...], float]

# Substitute for an angle of 0, so that every cone has an area.
_LEAST = 1e-9


@record
class _Round:
    """One of the cones."""

    axis: Array
    angle: float

    def area(self) -> float:
        return float(4 * np.pi * _sine(self.angle / 2) ** 2)

    def points(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Points for numbers from 0 to 1, and the share of them to accept for a uniform distribution."""
        half, around = np.sqrt(u) * _sine(self.angle / 2), _cos_sin(2 * np.pi * v)
        across = 2 * half * np.sqrt(1 - half**2)
        local = np.stack([1 - 2 * half**2, across * around[..., 0], across * around[..., 1]], axis=-1)
        return rotations.rotate(rotations.shortest_arc([1, 0, 0], self.axis), local), np.ones(np.shape(u))

    def holds(self, points: Array) -> Array:
        cosine, sine = _cos_sin(np.asarray(self.angle))
        return np.asarray(dot(points, self.axis) * sine >= size(cross(self.axis, points)) * cosine)


@record
class _Half:
    """Half a path: the region between one of its circles and the great circle through the axes."""

    middle: Array
    centre: Array
    aside: Array
    normal: Array  # towards the circle
    slope: float  # components of centre and aside along the first axis and the normal
    height: float
    edge: float  # cosine of the circle's radius
    width: float  # angle to either axis, as seen from the centre

    def area(self) -> float:
        return 4 * self.width * self.edge

    def points(self, u: Array, v: Array) -> tuple[Array, Array]:
        """The same: directions from the centre differ in the length between circle and great circle."""
        way = _cos_sin(self.width * (2 * v - 1))
        across = self.slope * way[..., 1]
        last = across / np.sqrt(self.height**2 + across**2)
        cosine = last + u * (self.edge - last)
        flat = way[..., :1] * self.middle + way[..., 1:] * self.aside
        sine = np.sqrt(np.maximum(0, 1 - cosine**2))
        return cosine[..., None] * self.centre + sine[..., None] * flat, (self.edge - last) / (2 * self.edge)

    def holds(self, points: Array) -> Array:
        ahead, aside = dot(points, self.middle), dot(points, self.aside)
        between = ahead * _sine(self.width) >= np.abs(aside) * _cos_sin(np.asarray(self.width))[0]
        return np.asarray(between & (dot(points, self.centre) <= self.edge) & (dot(points, self.normal) >= 0))


def pieces(cones: Sequence[Cone]) -> list[_Round | _Half]:
    """The cones and, where a path exists, its two halves; they overlap."""
    rounds = [_Round(unit(np.array(axis)), max(angle, _LEAST)) for axis, angle in cones]
    halves = [half for a, b in pairwise(rounds) for half in _path(a, b)]
    return [*rounds, *halves]


def uniform_directions(cones: Sequence[Cone], numbers: Array) -> tuple[Array, Array]:
    """Uniform directions within the cones and paths, from rows of five numbers, and a mask of those to accept."""
    parts = pieces(cones)
    edges = np.cumsum([part.area() for part in parts])
    which = np.minimum(np.searchsorted(edges / edges[-1], numbers[:, 0], side="right"), len(parts) - 1)
    directions, share = np.empty((len(numbers), 3)), np.empty(len(numbers))
    for index, part in enumerate(parts):
        mine = which == index
        directions[mine], share[mine] = part.points(numbers[mine, 1], numbers[mine, 2])
    times = np.maximum(1, sum(part.holds(directions).astype(int) for part in parts))
    return directions, numbers[:, 3] * times < share


def patches(cones: Sequence[Cone], steps: int) -> list[Array]:
    """A grid of directions (steps, steps, 3) for each piece."""
    u, v = np.meshgrid(np.linspace(0, 1, steps), np.linspace(0, 1, steps))
    return [part.points(u, v)[0] for part in pieces(cones)]


def _path(first: _Round, second: _Round) -> list[_Half]:
    total, between = first.axis + second.axis, first.axis - second.axis
    cosine, sine = size(total) / 2, size(between) / 2
    wider, edge = float(_sine((second.angle - first.angle) / 2)), float(_sine((second.angle + first.angle) / 2))
    if not (abs(wider) < sine and first.angle + second.angle < np.pi):
        return []
    middle, along, slope = total / size(total), between / size(between), wider / sine
    height = np.sqrt(1 - slope**2)
    arc = rotations.shortest_arc([1.0, 0, 0], np.stack([cosine, sine * height, 0 * sine]))
    width = float(rotations.log(arc)[2])
    halves = []
    for normal in (cross(middle, along), cross(along, middle)):
        centre, aside = slope * along + height * normal, height * along - slope * normal
        halves.append(_Half(middle, centre, aside, normal, float(slope), float(height), edge, width))
    return halves


def _cos_sin(angle: Array) -> Array:
    """Cosine and sine of an angle."""
    turned: Array = rotations.from_axis_angle([1, 0, 0], 2 * np.asarray(angle))[..., :2]
    return turned


def _sine(angle: float) -> Any:
    return _cos_sin(np.asarray(angle))[1]
