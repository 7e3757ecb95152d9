"""Footing: where on the ground a foot stands, and how it is turned to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import dot, size
from ikcore.bake.floors import Floor, height_of
from ikcore.bake.motion import ROUNDING, LegMotion
from ikcore.bake.scene import Array, Scene, mean, tangent
from ikcore.bake.stances import Foot, Stance
from ikcore.feet.human import EDGE, FAR, HIGH, STEP, TRACE
from ikcore.grounds.ground import Ground, Surface

_ROOM = 2.2  # metres for a leg of 0.87 m: how high something is that people walk under
WALL = 0.5  # the upward part of a normal below which it is a wall
_LINES = (("heel", "ball"), ("ball", "toe"))  # of the lines along which a sole is looked at
_PARTS = 8  # of such a line


@dataclass(frozen=True, slots=True, eq=False)
class Sole:
    """The points of a sole by number.

    Attributes
    ----------
    names : list of str
        What they are called.
    scale : float
        How long the leg is beside that of a human.
    lines : (n, 2) array of int
        Between which others are looked at.
    ends : list of str
        Those that are kept off walls, of what there is of them.
    gaps : (n,) array
        How far.
    rests : tuple of int
        Heel, ball, toe, and where toes bend, -1 where there is none, or toes do not bend; and which points are between
        others, as the core takes them.
    """

    names: list[str]
    scale: float
    lines: NDArray[np.intp]
    ends: list[str]
    gaps: Array
    rests: tuple[int, ...]

    @classmethod
    def of(cls, motion: LegMotion) -> Sole:
        """That of a leg."""
        names = list(motion.soles)
        number = {name: at for at, name in enumerate(names)}
        lines = [(number[start], number[end]) for start, end in _LINES if {start, end} <= number.keys()]
        ends: list[str] = [name for name in ("toe", "heel", "inner", "outer") if name in number]
        off = 2 * EDGE * motion.scale  # the edge of a step
        gaps = np.array([off if name in ("toe", "heel") else 0.0 for name in ends])
        toe, joint = (number["toe"], number["joint"]) if "joint" in number and motion.on_toes("toe") else (-1, -1)
        rests = number.get("heel", -1), number.get("ball", -1), toe, joint, len(names), _PARTS
        return cls(names, motion.scale, np.array(lines, np.intp).reshape(-1, 2), ends, gaps, rests)


class Footing:
    """Finds the ground under one stance after another, each as one walks there from the one before."""

    def __init__(self, scene: Scene, feet: Mapping[str, Foot]) -> None:
        self.scene, self.feet = scene, feet
        settings = scene.settings
        self.pitch, self.roll, self.bends = (tangent(most) for most in (settings.pitch, settings.roll, settings.toe))
        self.walls = height_of(scene.ground) is None  # a level plane has none
        self.soles: dict[str, Sole] = {}
        self.last: Array | None = None
        self.until = 0
        self.lift = 0.0

    def place(self, motion: LegMotion, stance: Stance, floor: Floor) -> None:
        """Find place, lift, normals and part of a stance, and how far aside it is moved."""
        ground, sole = self.scene.ground.still(stance.middle), self._sole(motion)
        points, ahead = self._tread(motion, sole, stance)
        flown, self.until = stance.start > self.until, max(self.until, stance.stop)
        found = self._at(ground, points, sole.scale, flown)
        if self.walls and not (self.scene.on_ground and stance.planted):
            stance.aside = self._off_edge(ground, sole, points, found)
            if stance.aside.any():
                points += stance.aside
                found = self._at(ground, points, sole.scale, flown)
        if self._stand(stance, sole, points, ahead, found) and self.scene.on_ground:
            self._keep(stance, motion, floor)
            self.lift = stance.lift

    def pass_over(self, motion: LegMotion, stance: Stance) -> None:
        """Find the same, but for moving it aside, where a foot is without a contact.

        What of the sole is higher than its lowest point may be so much deeper in the ground. A clip that was made on
        this ground has found its own way: there it is as much too high or too deep as before.
        """
        middle, sole, lift = stance.middle, self._sole(motion), self.lift
        points, ahead = self._tread(motion, sole, stance)
        found = self._at(self.scene.ground.still(middle), points, sole.scale, flown=False)
        stands = self._stand(stance, sole, points, ahead, found)
        if self.scene.on_ground:
            stance.floor, stance.lift = stance.normal, lift
        elif stands:
            foot = self.feet[motion.leg.name]
            stance.lift = _core.passing_lift(foot, middle, points, found.points, stance.place, stance.normal)
        self.lift = stance.lift

    def go_on_from(self, stance: Stance, frame: int) -> None:
        """Walk on from a stance that has been placed, and from where the ground has carried it by a frame."""
        self.last, self.lift = stance.place.copy(), stance.lift
        self.last[self.scene.axis] += stance.lift
        if stance.part >= 0 and (part := self.scene.ground.parts[stance.part]).moves:
            self.last = part.still(frame).world(part.still(stance.middle).local(self.last))

    def _sole(self, motion: LegMotion) -> Sole:
        """Of a leg, found once."""
        if motion.leg.name not in self.soles:
            self.soles[motion.leg.name] = Sole.of(motion)
        return self.soles[motion.leg.name]

    def _tread(self, motion: LegMotion, sole: Sole, stance: Stance) -> tuple[Array, Array | None]:
        """Points of the sole, and between those, on the floor of the clip; and where it points, if it is no point."""
        foot, middle = self.feet[motion.leg.name], stance.middle
        slip = stance.slips[middle - stance.start]
        return _core.tread(foot, stance.flat, middle, slip, sole.lines, _PARTS)

    def _stand(self, stance: Stance, sole: Sole, points: Array, ahead: Array | None, found: Surface) -> bool:
        """On what was found; where that is nothing, as high as before. Returns whether it is something.

        It rests on a plane over all of the ground under its sole, but for what toes bend over.
        """
        scene = self.scene
        limits = sole.scale, scene.settings.align, self.pitch, self.roll, self.bends, STEP
        under = found.hit, found.points, found.normals, found.part
        stance.place, stance.floor = points[stance.point].copy(), scene.up
        rested = _core.rest(points, stance.point, under, ahead, (scene.axis, *sole.rests), limits)
        if rested is None:
            stance.normal, stance.lift = scene.up, self.lift
            return False
        stance.normal, stance.lift, stance.part, high = rested
        own = float(found.height[stance.point] - points[stance.point, scene.axis])
        if abs(own - stance.lift) <= TRACE / 10 * sole.scale:  # next to nothing over what is under it: on that
            stance.lift = own
        self.lift = stance.lift
        self.last = points[0].copy()
        self.last[scene.axis] = high
        return True

    def _at(self, ground: Ground, points: Array, scale: float, flown: bool) -> Surface:
        """The ground where one walks to, or jumps to if that is higher; under the first foothold however far away."""
        if self.last is None:
            points = self._on_top(ground, points, scale)
            windows = [(HIGH * scale, HIGH * scale), (HIGH * scale, np.inf), (FAR * scale, 0.0)]
            every = (ground.at(points, above=above, below=below) for above, below in windows)
            found = next((found for found in every if found.hit.any()), None)
            if found is None:
                return ground.at(points, above=0.0, below=0.0)
            if found.hit.all():
                return found
            points[:, self.scene.axis] = found.height[found.hit].max()  # from there, as one would walk on
            return ground.at(points, above=HIGH * scale, below=HIGH * scale)
        step, window, same = STEP * scale, (HIGH * scale, HIGH * scale), ROUNDING * scale
        return ground._foothold(points, self.last, jumps=flown, step=step, window=window, same=same)

    def _on_top(self, ground: Ground, points: Array, scale: float) -> Array:
        """Out of what one would be in: where there is no room to stand under a floor one stands on it."""
        up, points = self.scene.up, points.copy()
        while not self.scene.on_ground:
            ceiling = ground._ceiling(mean(points) + HIGH * scale * up, (_ROOM - HIGH) * scale)
            if ceiling is None:
                break
            points[:, self.scene.axis] = ceiling
        return points

    def _off_edge(self, ground: Ground, sole: Sole, points: Array, found: Surface) -> Array:
        """How far a foot is moved: back from a step its toes would be in, or onto it, ahead from its heel, or aside."""
        scene, names, moved = self.scene, sole.names, np.zeros(3)
        if not scene.settings.lock or not {"heel", "ball"} <= set(names) or not found.hit[: len(names)].all():
            return moved
        ball, scale = names.index("ball"), sole.scale
        start = points[ball].copy()
        start[scene.axis] = found.height[ball] + 0.75 * EDGE * scale
        ways = scene.level(points[[names.index(name) for name in sole.ends]] - points[ball])
        far = size(ways)
        walls = ground.cast(start, ways, length=far + sole.gaps)
        met = walls.hit & (np.abs(walls.normals[:, scene.axis]) < WALL)
        for sides in (("toe", "heel"), ("inner", "outer")) if met.any() else ():
            for at in (at for at, name in enumerate(sole.ends) if name in sides and met[at]):
                back = float(far[at] + sole.gaps[at] - walls.distance[at])
                if back < STEP * scale:
                    moved -= ways[at] * (back / far[at])
                elif sole.ends[at] == "toe":  # alone on the step: its ball comes onto it
                    moved += ways[at] * ((float(walls.distance[at]) + EDGE * scale) / far[at])
                break
        return moved

    def _keep(self, stance: Stance, motion: LegMotion, floor: Floor) -> None:
        """Leave a foot that was made to stand here as it stands, but for what it is too high or too deep."""
        axis, frames = self.scene.axis, slice(stance.start, stance.stop)
        main = list(motion.soles)[stance.point]
        stance.floor = stance.normal
        stance.place[axis] = mean(motion.soles[main][stance.flat])[axis] - floor.thick[main]
        above = [
            mean((motion.soles[name][:, axis] - floor.stood[name])[stance.flat, np.newaxis])[0]
            for name in motion.soles
            if name != "toe"
        ]
        known = [height for height in above if np.isfinite(height)]
        off = bool(known) and not stance.planted and abs(min(known)) > TRACE * motion.scale
        stance.lift = -min(known) if off else 0.0
        slope = self.scene.slope(stance.normal)
        for name, places in motion.soles.items():
            plane = stance.place[axis] + dot(places[frames] - stance.place, slope)
            floor.stood[name][frames] = plane + floor.thick[name]
