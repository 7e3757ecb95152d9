"""What a clip stands on: a level floor of its own, or already the ground it is to be baked on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore._arrays import size
from ikcore.bake.motion import EXACT, LegMotion
from ikcore.bake.scene import Array, Mask, Scene, median
from ikcore.feet.contacts import Contacts
from ikcore.grounds.ground import Ground, Plane

_LOW = 0.1  # metres for a leg of 0.87 m: what a point is above the ground at most that stands on it
_STILL = 0.2  # metres a second, likewise
_NEAR, _DEEP = 0.3, 1.0  # metres, likewise: within which ground counts, and under a foot
_NOT_LEVEL = 0.003  # metres, likewise: what feet that are still are off one level, if they are off it at all
_UNEVEN = 0.03  # metres, likewise: what feet stand higher and lower than each other, that have no floor together
_MOST = 0.8  # the share of frames that counts there
_ON = 0.005  # metres, likewise: how far off the ground is what stands exactly on it
_AS_FLAT, _FLATTER = 0.001, 0.0001  # metres, likewise: less even with it than with a level at most; more so at least
_SOLE = 0.015  # metres, likewise: what a sole may be thicker than known
_SAME = 0.02  # metres, likewise: a floor that is so near to level ground is that ground


def made_on(legs: list[LegMotion], ground: Ground, fps: float, axis: int) -> bool:
    """Whether a clip was made on this ground: where feet are still, they are nearer to it than to one level.

    Or they stand exactly, as after a bake, and on it.
    """
    if _stands_on(legs, ground, fps, axis):
        return True
    off_ground, off_level = [], []
    for point in ("heel", "ball"):
        seen = [_still(motion, point, ground, fps, axis) for motion in legs if point in motion.soles]
        above, height = np.concatenate([np.zeros((2, 0)), *seen], axis=1)
        known = np.isfinite(above)
        if 2 * np.count_nonzero(known) < len(known) or abs(median(above)) > _LOW:
            return False
        off_ground.append(np.abs(above - median(above))[known])
        off_level.append(np.abs(height - median(height))[known])
    there, level = (np.sort(np.concatenate(off)) for off in (off_ground, off_level))
    at = int(_MOST * (len(there) - 1))
    return bool(len(there) and level[at] > _NOT_LEVEL and there[at] < level[at] / 2)


def _stands_on(legs: list[LegMotion], ground: Ground, fps: float, axis: int) -> bool:
    """Whether feet that are still are so exactly, and on the ground then, but on no level, or not as flat on one."""
    still, off, heights, tilts = 0, [], [], []
    for motion in legs:
        moved, scale = (
            np.append(np.inf, size(np.diff(motion.soles.get(motion.under(motion.ball), motion.reference), axis=0))),
            motion.scale,
        )
        still, exact = still + int(np.count_nonzero(moved < _STILL * scale / fps)), moved <= EXACT * scale
        points = np.stack(list(motion.soles.values()), axis=1)
        height = points[exact][..., axis] / scale
        above = height - ground.at(points, above=_NEAR * scale, below=_NEAR * scale).height[exact] / scale
        low, lower = (np.fmin.reduce(each, axis=1, initial=np.inf) for each in (above, height))
        off.append(np.abs(low - min(max(median(low), -2 * _SOLE), 2 * _SOLE)))
        heights.append(np.abs(lower - median(lower)))
        across = [number for number, point in enumerate(motion.soles) if point in ("ball", "inner", "outer")]
        tilts += [np.minimum(_apart(above) - _apart(height), _apart(above[:, across]) - _apart(height[:, across]))]
    found, level, flatter = np.sort(np.concatenate(off)), np.concatenate(heights), median(np.concatenate(tilts))
    if 3 * len(found) <= still or not len(found) or found[int(_MOST * (len(found) - 1))] > _ON:
        return False
    return bool(flatter < -_FLATTER or (flatter < _AS_FLAT and level.max() > _NOT_LEVEL))


def _apart(heights: Array) -> Array:
    """Of some points, how much higher the highest is than the lowest."""
    return np.asarray(
        np.fmax.reduce(heights, axis=1, initial=-np.inf) - np.fmin.reduce(heights, axis=1, initial=np.inf)
    )


def _still(motion: LegMotion, point: str, ground: Ground, fps: float, axis: int) -> Array:
    """How high a point is above the ground, NaN where there is none near, and above 0, in frames in which it is still.

    Two rows, in lengths of a human.
    """
    at, scale = motion.soles[point], motion.scale
    speed = np.full(len(at), np.inf)
    speed[1:] = size(np.diff(at, axis=0)) * fps
    still = speed < _STILL * scale
    above = at[:, axis] - ground.at(at, above=_NEAR * scale, below=_NEAR * scale).height
    return np.stack([above, at[:, axis]])[:, still] / scale


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
        _share_level(legs, found, bare, _height(scene.ground))
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
    level = next((at for at in (near, 0.0) if at is not None and abs(level - at) < _SAME * scale), level)
    for height, floor in zip(usual, floors, strict=True):
        floor.thick = {point: thick + height - level for point, thick in floor.thick.items()}


def _height(ground: Ground) -> float | None:
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
