"""The floor that a clip was made for: a level one of its own, or the ground."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ikcore._arrays import dot
from ikcore.bake.floors import height_of
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array
from ikcore.contacts.contacts import Contacts
from ikcore.feet.thresholds import DEEP, HIGH, TRACE
from ikcore.grounds.ground import Ground

SourceFloor = Literal["level", "ground"] | None

_RATIO = 2.0  # times as evenly feet stand above a ground that they were made on as above a level


def checked(source_floor: SourceFloor) -> None:
    """Raise a ValueError if that is none of the choices."""
    if source_floor not in ("level", "ground", None):
        raise ValueError(f"source_floor: expected 'level', 'ground' or None, got {source_floor!r}")


def is_ground(source_floor: SourceFloor, legs: list[LegMotion], contacts: Contacts, ground: Ground, axis: int) -> bool:
    """Whether a clip was made for this ground, as the caller says or as its stances show.

    They do if feet stand at least twice as evenly above this ground as above a level: in the middle of all contacts.
    """
    if source_floor is not None or height_of(ground) is not None:
        return source_floor == "ground"
    spread = np.zeros(2)
    for motion in legs:
        above = _heights(motion, contacts, ground, axis)
        if above.shape[1] < 2 or not np.isfinite(above).all():
            return False
        spread = np.maximum(spread, np.ptp(above, axis=1) / motion.scale)
    level, on_it = spread + TRACE
    return bool(level > _RATIO * on_it)


def _heights(motion: LegMotion, contacts: Contacts, ground: Ground, axis: int) -> Array:
    """The heights of a foot in the middle of its contacts: above 0, and above the ground, infinite where is none."""
    frames = contacts.intervals(motion.leg.name).sum(axis=1) // 2
    at = motion.reference[frames]
    under = ground.still(frames).at(at, above=HIGH * motion.scale, below=DEEP * motion.scale)
    above = dot(np.where(under.hit[:, np.newaxis], at - under.points, 0.0), under.normals)
    return np.stack([at[:, axis], np.where(under.hit, above, np.inf)])
