"""The floor for which a clip was made, a level one or the ground, and the thickness of soles."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Mask, Scene, median
from ikcore.contacts.contacts import Contacts
from ikcore.feet.soles import depth_of
from ikcore.feet.thresholds import DEEP_WINDOW, NEAR_WINDOW, SHORTEST_STANCE
from ikcore.grounds.ground import Ground
from ikcore.grounds.parts import Plane


@dataclass(slots=True, eq=False)
class Floor:
    """The floor under one leg in the source.

    Attributes
    ----------
    stood : (frames, points) array
        How high every point of the sole is when it stands, in the order of `LegMotion.soles`.
    thick : dict of str to float
        How far above the floor that is: soles are not known exactly.
    """

    stood: Array
    thick: dict[str, float]

    def part(self, frames: slice) -> Floor:
        """The floor in some frames."""
        return Floor(self.stood[frames], self.thick)

    @property
    def lowest(self) -> float:
        """The smallest distance from the floor to heel or ball."""
        known = [self.thick[point] for point in ("heel", "ball") if point in self.thick]
        return min(known or self.thick.values())


def floors_of(legs: list[LegMotion], planted: list[dict[str, Mask]], contacts: Contacts, scene: Scene) -> list[Floor]:
    """The floor of every leg: the ground, if the clip was made for it, or a level one of its own.

    Feet keep their distances from the floor, which are taken for the thickness of their soles, see `depth_of`. A level
    floor is at height 0 or at a level ground, if feet stand a little higher, and one for all legs.
    """
    ground = scene.ground if scene.on_ground else None
    found = [_floor(*each, contacts, ground, scene) for each in zip(legs, planted, strict=True)]
    if ground is not None:
        for motion, floor in zip(legs, found, strict=True):
            more = depth_of(floor.lowest, motion.scale) - floor.lowest
            _shift(floor, more)
            floor.stood += more  # the ground itself stays in place
        return found
    scale, lowest = max(motion.scale for motion in legs), min(floor.lowest for floor in found)
    below = [floor.stood - np.array([*floor.thick.values()]) for floor in found]
    level = median(np.concatenate([each.ravel() for each in below]))
    thick, plane = depth_of(level + lowest, scale), height_of(scene.ground)
    if plane is not None:
        thick = min(thick, abs(level + lowest - plane))
    for floor in found:
        _shift(floor, thick - lowest)
    return found


def _floor(motion: LegMotion, known: dict[str, Mask], contacts: Contacts, ground: Ground | None, scene: Scene) -> Floor:
    """The floor under a foot: heights of its points while it is flat, otherwise while each point is in contact."""
    flat = functools.reduce(np.logical_and, known.values())
    lies = np.count_nonzero(flat) >= SHORTEST_STANCE * scene.fps
    floor = Floor(np.empty((len(motion.soles), len(flat))).T, {})
    for number, (point, at) in enumerate(motion.soles.items()):
        # the nearest point that has contacts
        nearest = point if point in known else "ball" if "ball" in known else "heel"
        below = _floor_below(motion, contacts, ground, point, nearest)
        floor.thick[point] = median((at[:, scene.axis] - below)[flat if lies else known[nearest]])
        floor.stood[:, number] = below + floor.thick[point]
    return floor


def _shift(floor: Floor, more: float) -> None:
    floor.thick = {point: thick + more for point, thick in floor.thick.items()}


def planted_of(motion: LegMotion, contacts: Contacts) -> dict[str, Mask]:
    """Frames in which each point of a foot is planted, for points with contacts. The contacts may be of other soles."""
    name, soles = motion.leg.name, motion.leg.soles
    points = [point for point in ("heel", "ball") if (name, point) in contacts.weights and point in soles]
    if not points:
        raise ValueError(
            f"contacts: expected some of the heel or the ball of {name!r}, got none: find them for these feet"
        )
    return {point: contacts.planted(name, point) for point in points}


def height_of(ground: Ground) -> float | None:
    """The height of a ground that consists of one level plane, else None."""
    part, axis = ground.parts[0], "xyz".index(ground.up)
    level = isinstance(part.body, Plane) and part.body.normal[axis] == 1
    if not level or len(ground.parts) > 1 or part.moves or part.rotations is not None or part.scales is not None:
        return None
    shift = 0.0 if part.translations is None else float(part.translations[axis])
    return part.body.height + shift if isinstance(part.body, Plane) else None


def _floor_below(motion: LegMotion, contacts: Contacts, ground: Ground | None, point: str, nearest: str) -> Array:
    """The height of the floor under a point, from the contacts of the nearest point that has some."""
    name = motion.leg.name
    if ground is None:
        return contacts.ground[name, nearest]
    found = ground.at(motion.soles[point], above=NEAR_WINDOW * motion.scale, below=DEEP_WINDOW * motion.scale).height
    return _fill_gaps(np.where(np.isfinite(found), found, contacts.ground[name, nearest]))


def _fill_gaps(heights: Array) -> Array:
    """The heights with unknown values replaced by the last known one, or by the next if there is none."""
    known = np.flatnonzero(np.isfinite(heights))
    if not len(known):
        return np.zeros_like(heights)
    before = np.searchsorted(known, np.arange(len(heights)), side="right") - 1
    return np.asarray(heights[known[np.maximum(before, 0)]])
