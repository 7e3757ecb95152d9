"""What a clip stands on, and how thick soles are: a level floor of its own, or the ground it was made on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Mask, Scene, median
from ikcore.feet.contacts import Contacts
from ikcore.feet.leg import row
from ikcore.grounds.ground import Ground, Plane

_NEAR, _DEEP = 0.3, 1.0  # metres for a leg of 0.87 m: within which ground counts, and under a foot
_UNEVEN = 0.03  # metres, likewise: what feet stand higher and lower than each other, that have no floor together
_ON = 0.005  # metres, likewise: what feet may be deep in it and it is that ground all the same
_SOLE = 0.015  # metres, likewise: what a sole may be thicker than known
_SAME = 0.02  # metres, likewise: a floor that is so near to level ground is that ground


@dataclass(slots=True, eq=False)
class Floor:
    """What one leg stands on in the clip.

    Attributes
    ----------
    stood : dict of str to (frames,) array
        How high every point of the sole is when it stands.
    thick : dict of str to float
        How far above the floor that is: soles are not known exactly.
    """

    stood: dict[str, Array]
    thick: dict[str, float]

    def part(self, frames: slice) -> Floor:
        """Some of the frames."""
        return Floor({point: stood[frames] for point, stood in self.stood.items()}, self.thick)


def floors_of(legs: list[LegMotion], contacts: Contacts, scene: Scene) -> list[Floor]:
    """Of every leg: the ground, if the clip was made on it, or the floor of its own.

    That is where the lowest leg usually stands; or, if that is hardly higher or lower, where the ground is if it is one
    level, or at height 0. What else is between the floor and where a point stands is taken for the thickness of its
    sole.
    """
    ground, axis = scene.ground if scene.made else None, scene.axis
    found, bare = [Floor({}, {}) for _ in legs], []
    for motion, floor in zip(legs, found, strict=True):
        for point, at in motion.soles.items():
            below, held = _below(motion, contacts, ground, point)
            floor.thick[point] = median((at[:, axis] - below)[held])
            if ground is not None:
                high = median((at - motion.soles["ball"])[held, axis]) if point == "joint" else 0.0
                most = _SOLE * motion.scale
                floor.thick[point] = high + min(max(floor.thick[point] - high, -most), most)
            floor.stood[point] = below + floor.thick[point]
        bare.append(below)
    if ground is None:
        _share_level(legs, found, bare, height_of(scene.ground))
    return found


def _share_level(legs: list[LegMotion], floors: list[Floor], bare: list[Array], near: float | None) -> None:
    """Give all legs one floor, if what contacts take for it is about as high everywhere."""
    usual = [median(floor) for floor in bare]
    scale = min(motion.scale for motion in legs)
    if max(float(np.ptp(floor)) for floor in bare) > _UNEVEN * scale or np.ptp(usual) > _UNEVEN * scale:
        return
    stands = [
        height + thick
        for height, floor in zip(usual, floors, strict=True)
        for point, thick in floor.thick.items()
        if point in ("heel", "ball")
    ]
    level = min(stands)
    level = next((at for at in (near, 0.0) if at is not None and -_ON * scale <= level - at < _SAME * scale), level)
    for height, floor in zip(usual, floors, strict=True):
        floor.thick = {point: thick + height - level for point, thick in floor.thick.items()}
    _alike(legs, floors)


def _alike(legs: list[LegMotion], floors: list[Floor]) -> None:
    """Soles of partners that differ in thickness by more than soles do are as thick as the thinner one."""
    soles = [min(floor.thick[point] for point in ("heel", "ball") if point in floor.thick) for floor in floors]
    pairs = [row(motion.leg.name) for motion in legs]
    for motion, pair, own, floor in zip(legs, pairs, soles, floors, strict=True):
        least = min(thick for thick, other in zip(soles, pairs, strict=True) if other == pair)
        if own - least > _SOLE * motion.scale:
            floor.thick = {point: thick + least - own for point, thick in floor.thick.items()}


def height_of(ground: Ground) -> float | None:
    """How high a ground is that is one level plane."""
    part, axis = ground.parts[0], "xyz".index(ground.up)
    level = isinstance(part.body, Plane) and part.body.normal[axis] == 1
    if not level or len(ground.parts) > 1 or part.moves or part.rotations is not None or part.scales is not None:
        return None
    shift = 0.0 if part.translations is None else float(part.translations[axis])
    return part.body.height + shift if isinstance(part.body, Plane) else None


def _below(motion: LegMotion, contacts: Contacts, ground: Ground | None, point: str) -> tuple[Array, Mask]:
    """The floor under a point as contacts were found on it, and when the point stands."""
    name = motion.leg.name
    known = {other: contacts.planted(name, other) for other in ("heel", "ball") if (name, other) in contacts.weights}
    nearest = point if point in known else "ball" if "ball" in known else "heel"  # of those that have contacts
    flat = np.all(list(known.values()), axis=0)
    held = flat if flat.any() else known[nearest]
    if ground is None:
        return contacts.ground[name, nearest], held
    found = ground.at(motion.soles[point], above=_NEAR * motion.scale, below=_DEEP * motion.scale).height
    return _filled(np.where(np.isfinite(found), found, contacts.ground[name, nearest])), held


def _filled(heights: Array) -> Array:
    """Where nothing is known they are as they were before, or as they will be."""
    known = np.flatnonzero(np.isfinite(heights))
    if not len(known):
        return np.zeros_like(heights)
    before = np.searchsorted(known, np.arange(len(heights)), side="right") - 1
    return np.asarray(heights[known[np.maximum(before, 0)]])
