"""What a clip stands on: a level floor of its own, or already the ground it is to be baked on."""

from __future__ import annotations

import numpy as np

from ikcore.bake.motion import Array, LegMotion, size
from ikcore.feet.contacts import Contacts
from ikcore.ground import Ground

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


def floors_of(
    motion: LegMotion, contacts: Contacts, ground: Ground | None, axis: int
) -> dict[str, Array]:
    """How high the floor under every point of a sole is, over all frames, as if soles were exactly known.

    That is where points stand: at the median of their heights in contact.
    """
    found = {}
    name = motion.leg.name
    known = {point: contacts.planted(name, point) for point in ("heel", "ball") if (name, point) in contacts.weights}
    flat = np.all(list(known.values()), axis=0)
    for point, at in motion.soles.items():
        nearest = point if point in known else "ball" if "ball" in known else "heel"
        if ground is None:
            floor = contacts.ground[name, nearest].copy()
        else:
            floor = ground.at(at, above=0.3 * motion.scale, below=1.0 * motion.scale).height
        held = flat if flat.any() else known[nearest]
        above = (at[:, axis] - floor)[held]
        off = _median(above[np.isfinite(above)])
        if ground is not None:
            most = _SOLE * motion.scale
            off = min(max(off, -most), most)
        found[point] = floor + off
    return found


def _median(values: Array) -> float:
    values = np.sort(values)
    return float(values[len(values) // 2]) if len(values) else 0.0
