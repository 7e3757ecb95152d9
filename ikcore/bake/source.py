"""The floor for which a clip was made: a level one, or the ground."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ikcore._arrays import dot
from ikcore.bake.floors import height_of
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array
from ikcore.contacts.contacts import Contacts
from ikcore.feet.thresholds import DEEP_WINDOW, HIGH_WINDOW, PLANT_TOLERANCE
from ikcore.grounds.ground import Ground

SourceFloor = Literal["level", "ground"] | None

_RATIO = 2.0  # least ratio of unevenness, above a level floor to above the ground, for a clip made on the ground


def check_source_floor(source_floor: SourceFloor) -> None:
    """Raise a ValueError for an unknown choice."""
    if source_floor not in ("level", "ground", None):
        raise ValueError(f"source_floor: expected 'level', 'ground' or None, got {source_floor!r}")


def is_ground(source_floor: SourceFloor, legs: list[LegMotion], contacts: Contacts, ground: Ground, axis: int) -> bool:
    """True if a clip was made for this ground, as the caller says or as its stances show.

    They do if the heights of feet vary at most half as much above this ground as above a level floor, in the middle of
    all contacts.
    """
    if source_floor is not None or height_of(ground) is not None:
        return source_floor == "ground"
    spread = np.zeros(2)
    for motion in legs:
        above = _heights(motion, contacts, ground, axis)
        if above.shape[1] < 2 or not np.isfinite(above).all():
            return False
        spread = np.maximum(spread, np.ptp(above, axis=1) / motion.scale)
    level, on_it = spread + PLANT_TOLERANCE
    return bool(level > _RATIO * on_it)


def _heights(motion: LegMotion, contacts: Contacts, ground: Ground, axis: int) -> Array:
    """Heights of a foot in the middle of its contacts: above 0, and above the ground (infinite without ground)."""
    frames = contacts.intervals(motion.leg.name).sum(axis=1) // 2
    at = motion.reference[frames]
    under = ground.still(frames).at(at, above=HIGH_WINDOW * motion.scale, below=DEEP_WINDOW * motion.scale)
    above = dot(np.where(under.hit[:, np.newaxis], at - under.points, 0.0), under.normals)
    return np.stack([at[:, axis], np.where(under.hit, above, np.inf)])
