"""What a clip stands on, and how thick soles are: a level floor of its own, or the ground it was made on."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ikcore import _core
from ikcore._arrays import size
from ikcore.bake.motion import ROUNDING, LegMotion
from ikcore.bake.scene import Array, Mask, Scene, median
from ikcore.contacts.contacts import Contacts
from ikcore.feet.human import DEEP, LOW, NEAR, ON, SOLE, UNEVEN
from ikcore.feet.leg import row
from ikcore.grounds.ground import Ground, Plane

_HARDLY = 0.15  # seconds: a foot that is flat for less has hardly stood
_TILT = 0.02  # what a captured floor may be off level, of the way over it


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


def floors_of(legs: list[LegMotion], planted: list[dict[str, Mask]], contacts: Contacts, scene: Scene) -> list[Floor]:
    """Of every leg: the ground, if the clip was made on it, or the floor of its own.

    That is where the lowest leg usually stands; or, if that is hardly higher or lower, where the ground is if it is one
    level, or at height 0, whichever is nearer. Hardly higher is also where a foot bends no farther over it than a sole
    may be thick: toes that are pressed into the floor once make soles seem thin. What else is between the floor and
    where a point stands is taken for the thickness of its sole.
    """
    ground, axis = scene.ground if scene.on_ground else None, scene.axis
    found, bare, flat = [Floor({}, {}) for _ in legs], [], list[Mask]()
    for motion, known, floor in zip(legs, planted, found, strict=True):
        flat.append(functools.reduce(np.logical_and, known.values()))
        lies = flat[-1].any()
        for point, at in motion.soles.items():
            nearest = point if point in known else "ball" if "ball" in known else "heel"  # of those that have contacts
            held = flat[-1] if lies else known[nearest]
            floor.stood[point] = below = _below(motion, contacts, ground, point, nearest)
            floor.thick[point] = median((at[:, axis] - below)[held])
        bare.append(below)
        if ground is not None:
            _as_soles(motion, floor, flat[-1] if lies else known["ball" if "ball" in known else "heel"], scene)
        for point, thick in floor.thick.items():
            floor.stood[point] = floor.stood[point] + thick
    _as_partners(legs, found, [int(np.count_nonzero(each)) for each in flat], _HARDLY * scene.fps)
    if ground is None:
        _share_level(legs, found, bare, planted, height_of(scene.ground))
    return found


def _as_soles(motion: LegMotion, floor: Floor, held: Mask, scene: Scene) -> None:
    """What is farther off a ground that the clip was made on than soles are has sunk, or floats.

    A foot that was put there stands as high as it does, all of its sole.
    """
    sole = 0.0
    for point, at in motion.soles.items():
        high = median((at - motion.soles["ball"])[held, scene.axis]) if point == "joint" else 0.0
        if abs(floor.thick[point] - sole - high) > SOLE * motion.scale:
            floor.thick[point] = sole + high


def _as_partners(legs: list[LegMotion], floors: list[Floor], flat: list[int], least: float) -> None:
    """A foot that stands flat in few frames has soles as thick as those of its partner, if that does in more."""
    pairs = [row(motion.leg.name) for motion in legs]
    for number, (floor, pair) in enumerate(zip(floors, pairs, strict=True)):
        others = [at for at, other in enumerate(pairs) if other == pair and at != number]
        if flat[number] >= least or len(others) != 1 or flat[others[0]] < least:
            continue
        if not _shaped_alike(legs[number], legs[others[0]]):
            continue
        for point, thick in floors[others[0]].thick.items():
            if point in floor.thick:
                floor.stood[point] = floor.stood[point] + (thick - floor.thick[point])
                floor.thick[point] = thick


def planted_of(motion: LegMotion, contacts: Contacts) -> dict[str, Mask]:
    """When points of a foot stand, of those that have contacts; which may have been found of other soles."""
    name, soles = motion.leg.name, motion.leg.soles
    points = [point for point in ("heel", "ball") if (name, point) in contacts.weights and point in soles]
    if not points:
        raise ValueError(
            f"contacts: expected some of the heel or the ball of {name!r}, got none: find them for these feet"
        )
    return {point: contacts.planted(name, point) for point in points}


def _shaped_alike(leg: LegMotion, other: LegMotion) -> bool:
    """Whether points of both soles are as far from their ankles."""
    names = {"heel", "inner", "outer"} & set(leg.soles) & set(other.soles)
    far = [[size(each.soles[name][:1] - each.ankle[:1])[0] for name in sorted(names)] for each in (leg, other)]
    return all(abs(a - b) <= SOLE / 2 * leg.scale for a, b in zip(*far, strict=True))


def _share_level(
    legs: list[LegMotion], floors: list[Floor], bare: list[Array], planted: list[dict[str, Mask]], near: float | None
) -> None:
    """Give all legs one floor, if what contacts take for it is about as high everywhere."""
    usual = [median(floor) for floor in bare]
    scale = max(motion.scale for motion in legs)
    level = max(
        float(floor.max() - floor.min()) - _TILT * _way(motion) for motion, floor in zip(legs, bare, strict=True)
    )
    if max(level, max(usual) - min(usual)) > (UNEVEN + ROUNDING) * scale:  # they are as far apart at most, of one level
        return
    level, joint = (_lowest(usual, floors, points) for points in (("heel", "ball"), ("joint",)))
    over = max(UNEVEN * scale, level - joint + LOW * scale)
    about = [at for at in (near, 0.0) if at is not None and -ON * scale <= level - at < over]
    level = max(about, default=level)  # the nearer one, as it is rather higher than they are
    for height, floor in zip(usual, floors, strict=True):
        floor.thick = {point: thick + height - level for point, thick in floor.thick.items()}
    _alike(legs, floors, planted)


def _lowest(usual: list[float], floors: list[Floor], points: tuple[str, ...]) -> float:
    """How high the lowest of some points of all feet stands; infinitely without any."""
    thick = [
        height + floor.thick[point]
        for height, floor in zip(usual, floors, strict=True)
        for point in points
        if point in floor.thick
    ]
    return min(thick, default=np.inf)


def _way(motion: LegMotion) -> float:
    """How far apart the places are where a foot is, in a straight line."""
    return float(size(_core.extent(motion.reference)))


def _alike(legs: list[LegMotion], floors: list[Floor], planted: list[dict[str, Mask]]) -> None:
    """Soles of partners that differ in thickness by more than soles do are as thick as the thinner one.

    Where toes bend, by how high their joints are: the points of a sole are known less well. A foot says nothing of that
    which has not stood on its ball, or with its heel much higher or lower; nor one whose heel is not known of one whose
    is.
    """
    pairs = [(row(motion.leg.name), "heel" in floor.thick) for motion, floor in zip(legs, floors, strict=True)]
    lying = [_lies(motion, floor, known) for motion, floor, known in zip(legs, floors, planted, strict=True)]
    soles = [min(floor.thick[point] for point in _seen(floor)) for floor in floors]
    for motion, pair, lies, own, floor in zip(legs, pairs, lying, soles, floors, strict=True):
        known = [thick for thick, other, stood in zip(soles, pairs, lying, strict=True) if stood and other == pair]
        if lies and own - min(known) > SOLE * motion.scale:
            floor.thick = {point: thick + min(known) - own for point, thick in floor.thick.items()}


def _lies(motion: LegMotion, floor: Floor, known: dict[str, Mask]) -> bool:
    """Whether a foot has stood on its ball, if that is known, its heel as high as that, as far as soles are known."""
    thick = [floor.thick[point] for point in known]
    return bool(known["ball" if "ball" in known else "heel"].any()) and max(thick) - min(thick) <= SOLE * motion.scale


def _seen(floor: Floor) -> list[str]:
    """The points that say how thick a sole is beside that of its partner."""
    return ["joint"] if "joint" in floor.thick else [point for point in ("heel", "ball") if point in floor.thick]


def height_of(ground: Ground) -> float | None:
    """How high a ground is that is one level plane."""
    part, axis = ground.parts[0], "xyz".index(ground.up)
    level = isinstance(part.body, Plane) and part.body.normal[axis] == 1
    if not level or len(ground.parts) > 1 or part.moves or part.rotations is not None or part.scales is not None:
        return None
    shift = 0.0 if part.translations is None else float(part.translations[axis])
    return part.body.height + shift if isinstance(part.body, Plane) else None


def _below(motion: LegMotion, contacts: Contacts, ground: Ground | None, point: str, nearest: str) -> Array:
    """The floor under a point as contacts were found on it, those of the point nearest to it."""
    name = motion.leg.name
    if ground is None:
        return contacts.ground[name, nearest]
    found = ground.at(motion.soles[point], above=NEAR * motion.scale, below=DEEP * motion.scale).height
    return _filled(np.where(np.isfinite(found), found, contacts.ground[name, nearest]))


def _filled(heights: Array) -> Array:
    """Where nothing is known they are as they were before, or as they will be."""
    known = np.flatnonzero(np.isfinite(heights))
    if not len(known):
        return np.zeros_like(heights)
    before = np.searchsorted(known, np.arange(len(heights)), side="right") - 1
    return np.asarray(heights[known[np.maximum(before, 0)]])
