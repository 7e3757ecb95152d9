"""The data that all legs of a bake share: ground, up axis, frame rate, settings; and vectors relative to up."""

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

UNTURNED = np.array([1.0, 0, 0, 0])
_UNITS = np.eye(3)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The ground that feet are put on, and how."""

    ground: Ground  # over as many frames as the clip if it moves
    fps: float  # frames a second
    axis: int  # the number of the coordinate that is height
    settings: BakeSettings  # what was chosen
    workers: int | None  # how many threads
    on_ground: bool  # whether the source was made for this ground, rather than for a level floor
    way: Array | None = None  # (frames, 3): how far an in-place clip would have come

    @property
    def up(self) -> Array:
        """The unit vector."""
        found: Array = _UNITS[self.axis]
        return found

    @property
    def blend(self) -> int:
        """The frames in which a foot comes back to its own way."""
        return round(self.settings.blend * self.fps)

    def level(self, vectors: Array) -> Array:
        """Vectors without their height."""
        flat = vectors.copy()
        flat[..., self.axis] = 0
        return flat

    def gone(self, points: Array, frames: slice | NDArray[np.intp]) -> Array:
        """Horizontally, where points are in these frames, a point each; of an in-place clip, had it travelled."""
        at = self.level(points)
        return at if self.way is None else at + self.level(self.way[frames])

    def slope(self, normals: Array) -> Array:
        """How much the height of a plane changes along each axis, of normals (..., 3)."""
        if normals.ndim == 1:
            x, y, z = normals.tolist()
            up = max((x, y, z)[self.axis], _core.STEEPEST)
            return np.array([0.0 if axis == self.axis else -part / up for axis, part in enumerate((x, y, z))])
        found = -normals / np.maximum(normals[..., self.axis : self.axis + 1], _core.STEEPEST)
        found[..., self.axis] = 0.0
        return np.asarray(found)

    def under(self, points: Array, above: float, below: float) -> Array:
        """How high the ground is under points (frames, 3), within a window about them; NaN where there is none."""
        found = np.empty(points.shape[:-1])
        for frames in blocks(len(points)):
            there = np.ascontiguousarray(points[frames])
            found[frames] = self.ground.still(frames)._heights(there, above, below, self.workers)
        return found


def unturned(*shape: int) -> Array:
    """Rotations by nothing, (*shape, 4)."""
    found = np.zeros((*shape, 4))
    found[..., 0] = 1.0
    return found


def unit(vectors: Array) -> Array:
    """Their directions; zero has none and stays."""
    length = size(vectors)
    return np.asarray(vectors / np.where(length > 0, length, 1)[..., np.newaxis])


def mean(values: Array) -> Array:
    """Added one after the other, so that the bits are the same everywhere."""
    return np.asarray(np.add.accumulate(values, axis=0)[-1] / len(values))


def median(values: Array) -> float:
    """One of the values; 0 of none."""
    known = np.sort(values[np.isfinite(values)])
    return float(known[len(known) // 2]) if len(known) else 0.0


def eased(share: Array) -> Array:
    """From 0 to 1 with no speed and no acceleration at either end: the way of the least jerk."""
    return np.asarray(share * share * share * (10 + share * (6 * share - 15)))


@cache
def tangent(degrees: float) -> float:
    """From the core, whose bits are the same on every machine."""
    w, x, _, _ = rotations.from_axis_angle([1.0, 0, 0], 2 * degrees * (3.141592653589793 / 180))
    return float(x / w)


def in_rounds(values: Array) -> Array:
    """The values of the second of three rounds of a loop, in all three."""
    once = (len(values) - 1) // 3
    own = values[once : 2 * once]
    return np.concatenate([own, own, own, own[:1]])
