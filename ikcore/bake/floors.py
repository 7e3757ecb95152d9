"""What a clip stands on: a level floor of its own, or already the ground it is to be baked on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore.bake.motion import Array, LegMotion, Mask, size
from ikcore.feet.contacts import Contacts
from ikcore.ground import Ground, Plane

_LOW = 0.1  # metres for a leg of 0.87 m: what a point is above the ground at most that stands on it
_STILL = 0.2  # metres a second, likewise
_SOLE = 0.015  # metres, likewise: what a sole may be thicker than known
_SAME = 0.02  # metres, likewise: a floor that is so near to level ground is that ground


def stands_on(legs: list[LegMotion], ground: Ground, fps: float, axis: int) -> bool:
    """Whether a clip was made on this ground: its feet, where they are still, are nearer to it than to one level."""
    off_level, off_ground = [], []
    for motion in legs:
        for point in ("heel", "ball"):
            if point not in motion.soles or len(motion.chain) < 2:
                continue
            at = motion.soles[point]
            speed = size(np.diff(at, axis=0)) * fps
            still = np.flatnonzero(speed < _STILL * motion.scale)
            if not len(still):
                continue
            height = at[still, axis]
            below = _under(ground, at, still, motion.scale)
            known = np.isfinite(below)
            if known.sum() < 0.7 * len(still):
                return False
            off = (height - below)[known]
            middle = _median(off)
            if abs(middle) > _LOW * motion.scale:
                return False
            off_ground.append(np.abs(off - middle) / motion.scale)
            off_level.append(np.abs(height - _median(height))[known] / motion.scale)
    if not off_level:
        return False
    level, there = (float(np.sort(np.concatenate(off))[int(0.8 * (sum(map(len, off)) - 1))]) for off in (off_level, off_ground))
    return level > 0.03 and there < 0.5 * level


def _under(ground: Ground, at: Array, frames: np.ndarray, scale: float) -> Array:
    found = ground.at(at, above=0.3 * scale, below=0.3 * scale)
    return np.asarray(found.height[frames])


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


def floors_of(
    legs: list[LegMotion], contacts: Contacts, ground: Ground | None, axis: int, near: float | None
) -> list[Floor]:
    """Of every leg; on a ground, or on a level floor.

    That is where the lowest leg usually stands; or, if that is hardly higher or lower, at height 0 or at `near`.
    What else is between the floor and where a point stands is taken for the thickness of its sole.
    """
    found = [Floor({}, {}) for _ in legs]
    for motion, floor in zip(legs, found, strict=True):
        for point, at in motion.soles.items():
            below, held = _below(motion, contacts, ground, point)
            above = (at[:, axis] - below)[held]
            floor.thick[point] = _median(above[np.isfinite(above)])
            if ground is not None:
                most = _SOLE * motion.scale
                floor.thick[point] = min(max(floor.thick[point], -most), most)
            floor.stood[point] = below + floor.thick[point]
    if ground is None:
        level = _level(legs, found, near)
        for floor in found:
            floor.thick = {point: _median(stood) - level for point, stood in floor.stood.items()}
    return found


def flat_height(ground: Ground) -> float | None:
    """How high a ground is that is one level plane."""
    if len(ground.parts) != 1 or not isinstance(ground.parts[0].body, Plane):
        return None
    part = ground.parts[0]
    if part.rotations is not None or (part.translations is not None and part.translations.ndim > 1):
        return None
    axis = "xyz".index(ground.up)
    if part.body.normal[axis] != 1:
        return None
    return part.body.height + (0.0 if part.translations is None else float(part.translations[axis]))


def _level(legs: list[LegMotion], floors: list[Floor], near: float | None) -> float:
    heights = [
        _median(stood)
        for motion, floor in zip(legs, floors, strict=True)
        for point, stood in floor.stood.items()
        if point in ("heel", "ball")
    ]
    level = min(heights)
    for likely in (near, 0.0):
        if likely is not None and abs(level - likely) < _SAME * min(motion.scale for motion in legs):
            return likely
    return level


def _below(motion: LegMotion, contacts: Contacts, ground: Ground | None, point: str) -> tuple[Array, Mask]:
    """The floor under a point as contacts were found on it, and when the point stands."""
    name = motion.leg.name
    known = {other: contacts.planted(name, other) for other in ("heel", "ball") if (name, other) in contacts.weights}
    nearest = point if point in known else "ball" if "ball" in known else "heel"
    flat = np.all(list(known.values()), axis=0)
    held = flat if flat.any() else known[nearest]
    if ground is None:
        return contacts.ground[name, nearest], held
    return ground.at(motion.soles[point], above=0.3 * motion.scale, below=1.0 * motion.scale).height, held


def _median(values: Array) -> float:
    values = np.sort(values)
    return float(values[len(values) // 2]) if len(values) else 0.0
