"""Data that all legs of a bake share: ground, up axis, frame rate, settings; and vectors relative to up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import size
from ikcore.bake.settings import BakeSettings
from ikcore.contacts.intervals import blocks
from ikcore.grounds.ground import Ground

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

IDENTITY = np.array([1.0, 0, 0, 0])
_UNITS = np.eye(3)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The ground, the settings and the clip's conventions."""

    ground: Ground  # moving ground has as many frames as the clip
    fps: float  # frames per second
    axis: int  # index of the up coordinate
    settings: BakeSettings  # the settings
    workers: int | None  # number of threads
    on_ground: bool  # True if the source was made for this ground, False if for a level floor
    way: Array | None = None  # (frames, 3): the travel that an in-place clip lacks

    @property
    def up(self) -> Array:
        """The unit vector of the up axis."""
        found: Array = _UNITS[self.axis]
        return found

    @property
    def blend(self) -> int:
        """Number of frames in which a foot blends from a foothold to its own path."""
        return round(self.settings.blend * self.fps)

    def level(self, vectors: Array) -> Array:
        """Vectors without their vertical part."""
        flat = vectors.copy()
        flat[..., self.axis] = 0
        return flat

    def horizontal_positions(self, points: Array, frames: slice | NDArray[np.intp]) -> Array:
        """Horizontal positions of points, one in each of these frames, as if an in-place clip travelled."""
        at = self.level(points)
        return at if self.way is None else at + self.level(self.way[frames])

    def slope(self, normals: Array) -> Array:
        """The slope of planes along each axis, from normals (..., 3)."""
        if normals.ndim == 1:
            x, y, z = normals.tolist()
            up = max((x, y, z)[self.axis], _core.STEEPEST)
            return np.array([0.0 if axis == self.axis else -part / up for axis, part in enumerate((x, y, z))])
        found = -normals / np.maximum(normals[..., self.axis : self.axis + 1], _core.STEEPEST)
        found[..., self.axis] = 0.0
        return np.asarray(found)

    def under(self, points: Array, above: float, below: float) -> Array:
        """Height of the ground under points (frames, 3), within a window about them; NaN without ground."""
        found = np.empty(points.shape[:-1])
        for frames in blocks(len(points)):
            there = np.ascontiguousarray(points[frames])
            found[frames] = self.ground.still(frames)._heights(there, above, below, self.workers)
        return found


def identity_rotations(*shape: int) -> Array:
    """Identity rotations, (*shape, 4)."""
    found = np.zeros((*shape, 4))
    found[..., 0] = 1.0
    return found


def unit(vectors: Array) -> Array:
    """Vectors scaled to length 1; zero stays zero."""
    length = size(vectors)
    return np.asarray(vectors / np.where(length > 0, length, 1)[..., np.newaxis])


def mean(values: Array) -> Array:
    """The mean over axis 0, added in order, so that the bits are the same everywhere."""
    return np.asarray(np.add.accumulate(values, axis=0)[-1] / len(values))


def median(values: Array) -> float:
    """The upper median of the finite values; 0 without any."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[len(known) // 2]) if len(known) else 0.0


def smooth_step(share: Array) -> Array:
    """Smooth step from 0 to 1 with zero speed and acceleration at both ends (minimum jerk)."""
    return np.asarray(share * share * share * (10 + share * (6 * share - 15)))


@cache
def tangent(degrees: float) -> float:
    """The tangent of an angle, computed by the core, whose bits are the same on every machine."""
    w, x, _, _ = rotations.from_axis_angle([1.0, 0, 0], 2 * degrees * (3.141592653589793 / 180))
    return float(x / w)


def repeat_second_round(values: Array) -> Array:
    """The values of the second of three rounds of a loop, repeated in all three."""
    once = (len(values) - 1) // 3
    own = values[once : 2 * once]
    return np.concatenate([own, own, own, own[:1]])
