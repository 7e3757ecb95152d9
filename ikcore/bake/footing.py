"""Footing: where on the ground a foot stands, and how it is turned to it."""

from __future__ import annotations

import numpy as np

from ikcore import _core
from ikcore._arrays import dot, size
from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Scene, mean, tangent, unit
from ikcore.bake.stances import Stance, headings
from ikcore.grounds.ground import Ground, Surface

# Metres for a leg of 0.87 m.
_UP, _DOWN = 0.45, 0.6  # how far above and below where one has walked to ground is looked for
_STRIDE = 0.1  # how far apart the ground is looked at on the way there
_TALL = 2.2  # how much room one needs to stand under something
_EDGE = 0.02  # by how much more than its slopes say ground under a foot may rise or fall, beyond which there is an edge
_GAP, _ASIDE = 0.04, 0.1  # how far a foot is kept from such an edge, and the farthest it is moved for that
STEP = 0.1  # what is higher above the toes is no ground to bend on
TOES = 0.02  # what the ground under toes may be higher than under the foot in swing: they bend
_KEPT = 0.0015  # what a foot that was made to stand here may be too high or too deep and be left
_FAR = 1e3  # how high above the first foothold ground is looked for where there is none below

_SAME = 1e-9  # metres, likewise: heights that are so near to each other are the same
_WALL = 0.5  # the upward part of a normal below which it is a wall
_ENDS = (("heel", "ball"), ("ball", "toe"))  # of the lines along which a sole is looked at
_PARTS = 8  # of such a line


class Footing:
    """Finds the ground under one stance after another, each as one walks there from the one before."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        settings = scene.settings
        self.pitch, self.roll, self.bends = (tangent(most) for most in (settings.pitch, settings.roll, settings.toe))
        self.last: Array | None = None
        self.until = 0
        self.lift = 0.0

    def place(self, motion: LegMotion, stance: Stance, floor: Floor) -> None:
        """Find place, lift, normals and part of a stance, and how far aside it is moved."""
        ground, names = self.scene.ground.still(stance.middle), list(motion.soles)
        points = self._points(motion, stance, floor)
        flown, self.until = stance.start > self.until, max(self.until, stance.stop)
        found = self._at(ground, points, motion.scale, flown)
        if not (self.scene.made and stance.clean):
            stance.aside = self._off_edge(ground, motion, names, points, found)
        if stance.aside.any():
            points += stance.aside
            found = self._at(ground, points, motion.scale, flown)
        self._stand(stance, motion, names, points, found)
        if found.hit.any() and self.scene.made:
            self._keep(stance, motion, floor)
            self.lift = stance.lift

    def pass_over(self, motion: LegMotion, stance: Stance, floor: Floor) -> None:
        """Find the same, but for moving it aside, where a foot is without a contact.

        What of the sole is higher than its lowest point may be so much deeper in the ground. A clip that was made on
        this ground has found its own way: there it is as much too high or too deep as before.
        """
        points, lift, axis = self._points(motion, stance, floor), self.lift, self.scene.axis
        found = self._at(self.scene.ground.still(stance.middle), points, motion.scale, flown=False)
        self._stand(stance, motion, list(motion.soles), points, found)
        if self.scene.made:
            stance.floor, stance.lift = stance.normal, lift
        elif found.hit.any():
            above = np.array([(at[:, axis] - floor.stood[name])[stance.middle] for name, at in motion.soles.items()])
            plane = dot(points[: len(above)] - stance.place, self.scene.slope(stance.normal)) + above - above.min()
            stance.lift = float(np.fmax.reduce(found.height[: len(above)] - stance.place[axis] - plane))
        self.lift = stance.lift

    def go_on_from(self, stance: Stance, frame: int) -> None:
        """Walk on from a stance that has been placed, and from where the ground has carried it by a frame."""
        self.last, self.lift = stance.place.copy(), stance.lift
        self.last[self.scene.axis] += stance.lift
        if stance.part >= 0 and (part := self.scene.ground.parts[stance.part]).moves:
            self.last = part.still(frame).world(part.still(stance.middle).local(self.last))

    def _points(self, motion: LegMotion, stance: Stance, floor: Floor) -> Array:
        """Of the sole, and between those, on the floor of the clip."""
        names = list(motion.soles)
        points = np.stack([mean(at[stance.flat]) for at in motion.soles.values()])
        points += stance.slips[stance.middle - stance.start]
        points[:, self.scene.axis] = [
            _middle(floor.stood[name][stance.flat]) - floor.thick[name] for name in motion.soles
        ]
        between = [_between(*(points[names.index(end)] for end in ends)) for ends in _ENDS if set(ends) <= set(names)]
        return np.concatenate([points, *between])

    def _stand(self, stance: Stance, motion: LegMotion, names: list[str], points: Array, found: Surface) -> None:
        """On what was found; where that is nothing, as high as before."""
        stance.place = points[names.index(stance.phases[stance.main].point)].copy()
        stance.normal = stance.floor = self.scene.up
        stance.lift = self.lift
        if found.hit.any():
            self._fit(stance, motion, names, points, found)
            self.lift = stance.lift
            self.last = points[0].copy()
            self.last[self.scene.axis] = found.height[found.hit].max()

    def _at(self, ground: Ground, points: Array, scale: float, flown: bool) -> Surface:
        """The ground where one walks to, or jumps to if that is higher; under the first foothold however far away."""
        if self.last is None:
            points = self._on_top(ground, points, scale)
            windows = [(_UP * scale, _DOWN * scale), (_UP * scale, np.inf), (_FAR * scale, 0.0)]
            every = (ground.at(points, above=above, below=below) for above, below in windows)
            return next((found for found in every if found.hit.any()), ground.at(points, above=0.0, below=0.0))
        starts = [self._walked(ground, mean(points), scale)] + [float(self.last[self.scene.axis])] * flown
        reached = []
        for start in starts:
            near = points.copy()
            near[:, self.scene.axis] = start
            reached.append(self._rims(ground, near, ground.at(near, above=_UP * scale, below=_DOWN * scale), scale))
        return max(reached, key=lambda found: found.height[found.hit].max(initial=-np.inf))

    def _on_top(self, ground: Ground, points: Array, scale: float) -> Array:
        """Out of what one would be in: where there is no room to stand under a floor one stands on it."""
        up, points = self.scene.up, points.copy()
        while not self.scene.made:
            above = ground.cast(mean(points) + _UP * scale * up, up, length=(_TALL - _UP) * scale)
            if not above.hit or above.front:
                break
            points[:, self.scene.axis] = above.points[self.scene.axis]
        return points

    def _rims(self, ground: Ground, points: Array, found: Surface, scale: float) -> Surface:
        """The ground at points, and where they would be in the side of a pit that one has come down into, its rim."""
        if found.hit.all():
            return found
        up = self.scene.up
        above = ground.cast(points + _UP * scale * up, up, length=_DOWN * scale)
        within = above.hit & ~above.front & ~found.hit
        points[within, self.scene.axis] = above.points[within, self.scene.axis]
        return ground.at(points, above=_UP * scale, below=_DOWN * scale) if within.any() else found

    def _walked(self, ground: Ground, to: Array, scale: float) -> float:
        """How high the ground is at a place if one walks there from the last foothold."""
        assert self.last is not None
        axis, first = self.scene.axis, float(self.last[self.scene.axis])
        count = 1 + int(float(size(self.scene.level(to - self.last))) / (_STRIDE * scale))
        at = self.last + (to - self.last) * (np.arange(1, count + 1) / count)[:, np.newaxis]
        at[:, axis] = first
        while True:  # all at once, from as high as the ground was before each of them the last time, until it was so
            found = ground.at(at, above=_UP * scale, below=_DOWN * scale)
            heights = _carried(np.append(first, np.where(found.hit, found.height, np.nan)))
            if np.abs(heights[:-1] - at[:, axis]).max() <= _SAME * scale:
                return float(heights[-1])
            at[:, axis] = heights[:-1]

    def _off_edge(self, ground: Ground, motion: LegMotion, names: list[str], points: Array, found: Surface) -> Array:
        """How far a foot is moved: back from a step its toes would be in, or onto it, ahead from its heel, or aside."""
        scene, scale = self.scene, motion.scale
        if not scene.settings.lock or not {"heel", "ball"} <= set(names) or not found.hit[: len(names)].all():
            return np.zeros(3)
        ball, moved = names.index("ball"), np.zeros(3)
        start = points[ball].copy()
        start[scene.axis] = found.height[ball] + 0.75 * _EDGE * scale
        ends = [name for name in ("toe", "heel", "inner", "outer") if name in names]
        ways = scene.level(points[[names.index(name) for name in ends]] - points[ball])
        far = size(ways)
        gaps = np.array([_GAP * scale if name in ("toe", "heel") else 0.0 for name in ends])
        walls = ground.cast(start, ways, length=far + gaps)
        met = walls.hit & (np.abs(walls.normals[:, scene.axis]) < _WALL)
        for sides in (("toe", "heel"), ("inner", "outer")):
            for at in (at for at, name in enumerate(ends) if name in sides and met[at]):
                back = float(far[at] + gaps[at] - walls.distance[at])
                if back < _ASIDE * scale:
                    moved -= ways[at] * (back / far[at])
                elif ends[at] == "toe":  # alone on the step: its ball comes onto it
                    moved += ways[at] * ((float(walls.distance[at]) + _EDGE * scale) / far[at])
                break
        return moved

    def _fit(self, stance: Stance, motion: LegMotion, names: list[str], points: Array, found: Surface) -> None:
        """The plane a foot rests on: over all of the ground under its sole, but for what toes bend over."""
        scene, settings, soles = self.scene, self.scene.settings, motion.leg.soles
        ahead = headings(motion, stance.flat, scene)
        bends = motion.toe is not None and "toe" in names and soles["toe"].joint == motion.leg.ball
        which = [names.index(name) if name in names else -1 for name in ("heel", "ball")]
        which += [names.index(name) if bends else -1 for name in ("toe", "joint")]
        limits = motion.scale, settings.align, self.pitch, self.roll, self.bends, STEP
        under = found.hit, np.ascontiguousarray(found.height), found.normals
        way = None if ahead is None else unit(mean(ahead))
        job = scene.axis, *which, len(names), _PARTS
        stance.normal, stance.lift, touches = _core.rest(points, *under, stance.place, way, job, limits)
        stance.part = int(found.part[touches])

    def _keep(self, stance: Stance, motion: LegMotion, floor: Floor) -> None:
        """Leave a foot that was made to stand here as it stands, but for what it is too high or too deep."""
        axis, frames = self.scene.axis, slice(stance.start, stance.stop)
        main = stance.phases[stance.main].point
        stance.floor = stance.normal
        stance.place[axis] = mean(motion.soles[main][stance.flat])[axis] - floor.thick[main]
        above = [
            mean((motion.soles[name][:, axis] - floor.stood[name])[stance.flat, np.newaxis])[0]
            for name in motion.soles
            if name != "toe"
        ]
        known = [height for height in above if np.isfinite(height)]
        off = bool(known) and not stance.clean and abs(min(known)) > _KEPT * motion.scale
        stance.lift = -min(known) if off else 0.0
        slope = self.scene.slope(stance.normal)
        for name, places in motion.soles.items():
            plane = stance.place[axis] + dot(places[frames] - stance.place, slope)
            floor.stood[name][frames] = plane + floor.thick[name]


def _between(start: Array, end: Array) -> Array:
    share = np.arange(1, _PARTS)[:, np.newaxis] / _PARTS
    return np.asarray(start + (end - start) * share)


def _carried(heights: Array) -> Array:
    """Where there is no number the one before; the first is one."""
    known = np.where(np.isnan(heights), 0, np.arange(len(heights)))
    return np.asarray(heights[np.maximum.accumulate(known)])


def _middle(values: Array) -> float:
    """Of a floor that may rise within a stance: its middle."""
    return float(values[len(values) // 2])
