"""Footholds: positions and orientations of planted feet on the ground."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import dot, size
from ikcore.bake.floors import height_of
from ikcore.bake.foot import Foot, Stance
from ikcore.bake.motion import ROUNDING
from ikcore.bake.scene import Array, Scene, mean, tangent, unit
from ikcore.bake.stances import passing_stance
from ikcore.feet.thresholds import (
    CONTACT_HEIGHT,
    EDGE_DEPTH,
    FAR_WINDOW,
    FILE_PRECISION,
    HIGH_WINDOW,
    PLANT_TOLERANCE,
    SMOOTHING_TIME,
    STEP_HEIGHT,
)
from ikcore.feet.time_series import spread
from ikcore.grounds.ground import Ground
from ikcore.grounds.parts import Surface

_ROOM = 2.2  # m for a leg of 0.87 m: height that a person needs to stand upright
WALL = 0.5  # upward part of a unit normal below which a surface is a wall
_LINES = (("heel", "ball"), ("ball", "toe"))  # lines of the sole along which the ground is sampled
_PARTS = 8  # number of intervals on each line


@dataclass(frozen=True, slots=True, eq=False)
class Foothold:
    """Position and orientation of a planted foot on the ground."""

    stance: Stance  # the stance
    place: Array  # (3,): position of the main pivot, on the floor of the source
    aside: Array  # (3,): horizontal displacement of the foot off an edge
    lift: float  # height of the ground relative to the floor of the source
    # (3,): normals of the ground, as far as the sole follows it, and of the source's floor
    normal: Array
    floor: Array
    part: int  # index of the part of the ground, -1 without ground
    copied: bool  # True if the foot is within the plant tolerance of the foothold and stays exactly where it is


class Footing:
    """Finds the ground under stance after stance. Each search starts from the foothold before."""

    def __init__(self, scene: Scene, feet: list[Foot]) -> None:
        self.scene, self.feet = scene, feet
        settings = scene.settings
        self.pitch, self.roll, self.bends = (tangent(most) for most in (settings.pitch, settings.roll, settings.toe))
        self.walls = height_of(scene.ground) is None  # a level plane has no edges
        self.soles = [_Sole.of(foot) for foot in feet]
        self.last: Array | None = None
        self.until = 0
        self.lift = 0.0

    def place(self, stance: Stance) -> Foothold:
        """The foothold of a stance."""
        ground, sole, scene = self.scene.ground.still(stance.middle), self.soles[stance.leg], self.scene
        points, ahead, aside = *self._sole_points(stance), np.zeros(3)
        flown, self.until = stance.start > self.until, max(self.until, stance.stop)
        found = self._reachable_ground(ground, points, sole.scale, flown)
        if self.walls and not (scene.on_ground and stance.planted):
            aside = self._off_edge(ground, sole, points, found)
            if aside.any():
                points = points + aside
                found = self._reachable_ground(ground, points, sole.scale, flown)
        return self._rest(stance, points, ahead, aside, found)

    def pass_over(self, stance: Stance) -> Foothold:
        """The foothold of a foot that passes over the ground without a contact.

        Points of the sole above its lowest point may be as much deeper in the ground. A foot over the ground for
        which its clip was made keeps its distance from it.
        """
        sole, foot, lift = self.soles[stance.leg], self.feet[stance.leg], self.lift
        points, ahead = self._sole_points(stance)
        found = self._reachable_ground(self.scene.ground.still(stance.middle), points, sole.scale, flown=False)
        hold = self._rest(stance, points, ahead, np.zeros(3), found)
        if not self.scene.on_ground and hold.part >= 0:
            lift = self._passing_lift(foot, stance.middle, points, found, hold)
        elif not self.scene.on_ground:
            lift = hold.lift
        self.lift = lift
        floor = hold.normal if self.scene.on_ground else hold.floor
        return Foothold(stance, hold.place, hold.aside, lift, hold.normal, floor, hold.part, copied=False)

    def go_on_from(self, hold: Foothold, frame: int) -> None:
        """Continue the search from a foothold, moved with the ground up to a frame."""
        self.last, self.lift = hold.place.copy(), hold.lift
        self.last[self.scene.axis] += hold.lift
        if hold.part >= 0 and (part := self.scene.ground.parts[hold.part]).moves:
            self.last = part.still(frame).world(part.still(hold.stance.middle).local(self.last))

    def _sole_points(self, stance: Stance) -> tuple[Array, Array | None]:
        """Points of the sole on the source's floor, samples between them, and the foot's direction if any."""
        foot, sole, axis, middle = self.feet[stance.leg], self.soles[stance.leg], self.scene.axis, stance.middle
        points = mean(foot.motion.points.take(stance.flat, axis=0))
        ahead, ends = None, foot.ends
        if ends is not None:
            tip, back = (points[sole.names.index(end)] if end else mean(foot.motion.ankle[stance.flat]) for end in ends)
            ahead = unit(self.scene.level(tip - back))
        points = points + stance.slips[middle - stance.start]
        points[:, axis] = foot.floor.stood[middle] - sole.thick + stance.rise
        start, end = points[sole.lines]
        return np.concatenate([points, start + (end - start) * sole.shares]), ahead

    def _rest(self, stance: Stance, points: Array, ahead: Array | None, aside: Array, found: Surface) -> Foothold:
        """The foothold on a surface that was found; without a surface the height stays as before.

        The foot rests on a plane above all ground under its sole, except ground for which toes bend. On the ground for
        which the clip was made a foot keeps its rotation.
        """
        scene, sole = self.scene, self.soles[stance.leg]
        limits = sole.scale, scene.settings.align, self.pitch, self.roll, self.bends, STEP_HEIGHT
        under, main = (found.hit, found.points, found.normals, found.part), sole.names.index(stance.point)
        rested = _core.rest(points, main, under, ahead, (scene.axis, *sole.rests), limits)
        place = points[main].copy()
        if rested is None:
            return self._foothold(stance, place, aside, self.lift, scene.up, scene.up, -1)
        normal, lift, part, high = rested
        own = float(found.height[main] - place[scene.axis])
        if (
            abs(own - lift) <= PLANT_TOLERANCE / 10 * sole.scale
        ):  # the plane is practically the ground under the pivot: use that
            lift = own
        self.last = points[0].copy()
        self.last[scene.axis] = high
        if scene.on_ground:
            return self._foothold(stance, place, aside, -stance.rise, normal, normal, part)
        return self._foothold(stance, place, aside, lift, normal, scene.up, part)

    def _foothold(
        self, stance: Stance, place: Array, aside: Array, lift: float, normal: Array, floor: Array, part: int
    ) -> Foothold:
        """A foothold. A planted foot within the plant tolerance of it is left unchanged."""
        settings, self.lift = self.scene.settings, lift
        copied = stance.planted and abs(lift) <= settings.tolerance * self.soles[stance.leg].scale and not aside.any()
        copied &= not (part >= 0 and self.scene.ground.parts[part].moves)
        if not copied or (np.abs(normal - floor) > FILE_PRECISION).any():
            return Foothold(stance, place, aside, lift, normal, floor, part, copied=False)
        self.lift = 0.0
        return Foothold(stance, place, aside, 0.0, floor, floor, part, copied=True)

    def _passing_lift(self, foot: Foot, frame: int, points: Array, found: Surface, hold: Foothold) -> float:
        """Rise at which no point is deeper in the plane than it is above the lowest point in the source."""
        names, axis = self.soles[hold.stance.leg].names, self.scene.axis
        above = foot.above(slice(frame, frame + 1))[0]
        plane = dot(points[: len(names)] - hold.place, self.scene.slope(hold.normal)) + above - np.fmin.reduce(above)
        under = found.points[: len(names), axis] - hold.place[axis] - plane
        return float(np.fmax.reduce(under))

    def _reachable_ground(self, ground: Ground, points: Array, scale: float, flown: bool) -> Surface:
        """The ground within a step of the last foothold, or within a jump; any ground for the first foothold."""
        if self.last is None:
            points = self._raise_above_floors(ground, points, scale)
            windows = [
                (HIGH_WINDOW * scale, HIGH_WINDOW * scale),
                (HIGH_WINDOW * scale, np.inf),
                (FAR_WINDOW * scale, 0.0),
            ]
            every = (ground.at(points, above=above, below=below) for above, below in windows)
            found = next((found for found in every if found.hit.any()), None)
            if found is None:
                return ground.at(points, above=0.0, below=0.0)
            if found.hit.all():
                return found
            points[:, self.scene.axis] = found.height[found.hit].max()  # continue from there as for a step
            return ground.at(points, above=HIGH_WINDOW * scale, below=HIGH_WINDOW * scale)
        step, window, same = STEP_HEIGHT * scale, (HIGH_WINDOW * scale, HIGH_WINDOW * scale), ROUNDING * scale
        return ground._foothold(points, self.last, jumps=flown, step=step, window=window, same=same)

    def _raise_above_floors(self, ground: Ground, points: Array, scale: float) -> Array:
        """The points raised above floors that leave no room to stand below them."""
        up, points = self.scene.up, points.copy()
        while not self.scene.on_ground:
            ceiling = ground._ceiling(mean(points) + HIGH_WINDOW * scale * up, (_ROOM - HIGH_WINDOW) * scale)
            if ceiling is None:
                break
            points[:, self.scene.axis] = ceiling
        return points

    def _off_edge(self, ground: Ground, sole: _Sole, points: Array, found: Surface) -> Array:
        """Displacement of a foot off an edge: away from a riser in front, onto the step, or sideways off a wall."""
        scene, names, moved = self.scene, sole.names, np.zeros(3)
        if not scene.settings.lock or not {"heel", "ball"} <= set(names) or not found.hit[: len(names)].all():
            return moved
        ball, scale = names.index("ball"), sole.scale
        start = points[ball].copy()
        start[scene.axis] = found.height[ball] + 0.75 * EDGE_DEPTH * scale
        ways = scene.level(points[[names.index(name) for name in sole.ends]] - points[ball])
        far = size(ways)
        walls = ground.cast(start, ways, length=far + sole.gaps)
        met = walls.hit & (np.abs(walls.normals[:, scene.axis]) < WALL)
        for sides in (("toe", "heel"), ("inner", "outer")) if met.any() else ():
            for at in (at for at, name in enumerate(sole.ends) if name in sides and met[at]):
                back = float(far[at] + sole.gaps[at] - walls.distance[at])
                if back < STEP_HEIGHT * scale:
                    moved -= ways[at] * (back / far[at])
                elif sole.ends[at] == "toe":  # only the toe is on the step: move the ball onto it
                    moved += ways[at] * ((float(walls.distance[at]) + EDGE_DEPTH * scale) / far[at])
                break
        return moved


@dataclass(frozen=True, slots=True, eq=False)
class _Sole:
    """The points of a sole, by index."""

    names: list[str]  # names of the points
    thick: Array  # (points,): height above the floor while standing
    scale: float  # leg length relative to a human's
    lines: NDArray[np.intp]  # (2, n): points between which the ground is sampled
    shares: Array  # (n, 1): shares of these samples along their lines
    ends: list[str]  # those of the points toe, heel, inner and outer that exist; they are kept off walls
    gaps: Array  # (n,): distance to keep from a wall
    # indices of heel, ball, toe and toe joint for the core, -1 if there is none or toes do not bend. Then the number of
    # points, and the number of intervals on each line
    rests: tuple[int, ...]

    @classmethod
    def of(cls, foot: Foot) -> _Sole:
        motion = foot.motion
        names = list(motion.soles)
        number = {name: at for at, name in enumerate(names)}
        lines = [(number[start], number[end]) for start, end in _LINES if {start, end} <= number.keys()]
        shares = np.tile(np.arange(1, _PARTS) / _PARTS, len(lines))[:, np.newaxis]
        between = np.array(lines, np.intp).reshape(-1, 2).T.repeat(_PARTS - 1, axis=1)
        ends: list[str] = [name for name in ("toe", "heel", "inner", "outer") if name in number]
        off = 2 * EDGE_DEPTH * motion.scale  # distance from the edge of a step
        gaps = np.array([off if name in ("toe", "heel") else 0.0 for name in ends])
        toe, joint = (number["toe"], number["joint"]) if "joint" in number and motion.on_toes("toe") else (-1, -1)
        rests = number.get("heel", -1), number.get("ball", -1), toe, joint, len(names), _PARTS
        thick = np.array([*foot.floor.thick.values()])
        return cls(names, thick, motion.scale, between, shares, ends, gaps, rests)


# --- before the first stance and after the last one ------------------------------------------------------------------


def passing_footholds(leg: int, footing: Footing, mine: list[Foothold], every: list[Foothold]) -> list[Foothold]:
    """Footholds of one frame in which a foot passes over ground and keeps its own height above it.

    They are in the first and the last frame of the clip, if the foot does not stand there. Others are between these and
    its stances, in frames in which the foot is lowest: it may stand there without a detected contact. The ground is
    searched step by step from the nearest stance of the foot, or from the first one of any leg.
    """
    if not every:
        return []
    foot, fps = footing.feet[leg], footing.scene.fps
    first, last = (mine[0], mine[-1]) if mine else (every[0], every[0])
    before, after = (first.stance.start, last.stance.stop) if mine else (first.stance.middle, first.stance.middle)
    end, found = len(foot.motion.chain) - 1, list[Foothold]()
    low = _low_frames(foot, fps)
    backwards = (
        end - frame for frame in _landing_frames([end - frame for frame in reversed(low)], end + 1 - before, end, fps)
    )
    for hold, frames in ((first, backwards), (last, _landing_frames(low, after, end, fps))):
        for number, frame in enumerate(frames):
            if number == 0:
                footing.go_on_from(hold, frame)
            found.append(footing.pass_over(passing_stance(leg, foot, frame)))
    return sorted(found, key=lambda hold: hold.stance.start)


def _low_frames(foot: Foot, fps: float) -> list[int]:
    """Frames in which the lowest point of a sole is near the source's floor, and lowest among the frames around."""
    above = foot.lowest
    lowest = (above <= -spread(-above, SMOOTHING_TIME / 2, fps)) & (above < CONTACT_HEIGHT * foot.motion.scale)
    found: list[int] = np.flatnonzero(lowest).tolist()
    return found


def _landing_frames(low: list[int], start: int, end: int, fps: float) -> Iterator[int]:
    """Frames in which a foot comes down, with a minimum distance between them, and the end."""
    apart, at = SMOOTHING_TIME * fps, start - 1
    if start > end:
        return
    for frame in low:
        if frame - at >= apart and end - frame >= apart:
            at = frame
            yield frame
    yield end
