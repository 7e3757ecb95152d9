"""Stances: when a foot stands, what it turns about, and where on the ground."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import dot
from ikcore.bake.floors import Floor
from ikcore.bake.motion import Array, LegMotion, level, size
from ikcore.bake.settings import BakeSettings
from ikcore.feet.contacts import Contacts
from ikcore.feet.metrics import runs
from ikcore.ground import Ground, Surface

# Metres for a leg of 0.87 m.
_ROLLS = 0.002  # a ball that moves farther than this at the end of its contact has left the ground, if toes have not
_STEP_UP, _STEP_DOWN = 0.45, 0.6  # how far above and below where one has walked to ground is looked for
_STRIDE, _RISER = 0.1, 0.45  # how far apart the ground is looked at on the way, and how high one step may be
_EDGE = 0.02  # heights under a foot that differ by more from what their slopes say are on both sides of an edge
_GAP, _MOST = 0.01, 0.1  # how far a foot is kept from an edge, and the farthest it is moved for that
_WALL, _STEEPEST = 0.5, 0.2  # the upward part of a normal below which it is a wall, and the least that is reckoned with
TOES = 0.03  # what the ground under the toes may be higher than under the foot: toes bend


@dataclass(slots=True, eq=False)
class Stance:
    """One stay of a foot on the ground.

    Attributes
    ----------
    leg : int
        Which one.
    start, stop : int
        Its first frame and the one after its last.
    phases : list of (str, int, int)
        What the foot turns about, from when to when: heel, ball, toe.
    main : int
        The number of the phase whose place on the ground counts.
    flat : (n,) array of int
        Frames in which the foot stands flat, or those of the main phase.
    slips : (frames, 3) array
        Horizontally, how far the point it turns about is moved so that it stands still; in phases before the main one
        from where it is at their end, in those after it from where it is at their start.
    clean : bool
        Whether the foot stands still as it is.
    aside : (3,) array
        Horizontally, how far all of the foot is moved, off an edge.
    normal : (3,) array
        Of the ground, as far as the sole follows it.
    floor : (3,) array
        The normal of what it stands on in the clip.
    lift : float
        How much higher the ground is than the floor of the clip, at the point it stands on.
    place : (3,) array
        That point, on the floor of the clip.
    part : int
        Which part of the ground it stands on; -1 if there is none.
    """

    leg: int
    start: int
    stop: int
    phases: list[tuple[str, int, int]]
    main: int
    flat: NDArray[np.intp]
    slips: Array = field(default_factory=lambda: np.zeros((0, 3)))
    normal: Array = field(default_factory=lambda: np.zeros(3))
    floor: Array = field(default_factory=lambda: np.zeros(3))
    clean: bool = False
    aside: Array = field(default_factory=lambda: np.zeros(3))
    lift: float = 0.0
    place: Array = field(default_factory=lambda: np.zeros(3))
    part: int = -1

    @property
    def middle(self) -> int:
        """The frame it is at its place."""
        return int(self.flat[len(self.flat) // 2])


def stances_of(
    legs: list[LegMotion], floors: list[Floor], contacts: Contacts, fps: float, axis: int, settings: BakeSettings
) -> list[Stance]:
    """All stances of all legs, by their middle."""
    found = []
    for number, motion in enumerate(legs):
        known = [point for point in ("heel", "ball") if (motion.leg.name, point) in contacts.weights]
        held = {point: contacts.planted(motion.leg.name, point) for point in known}
        for start, stop in runs(np.any(list(held.values()), axis=0)):
            for piece in _pieces(motion, held, int(start), int(stop), fps, axis, settings):
                stance = _stance(number, motion, held, *piece, fps, axis)
                stance.slips = _slips(motion, stance, floors[number], fps, axis, settings)
                found.append(stance)
    return sorted(found, key=lambda stance: (stance.middle, stance.leg))


def _pieces(motion, held, start, stop, fps, axis, settings):  # noqa
    """A stance in which the foot slides too far is several, with time between them to step."""
    point = "ball" if "ball" in held else "heel"
    at, far = level(motion.soles[point][start:stop], axis), settings.unlock * motion.scale
    wide = at.max(axis=0) - at.min(axis=0)
    if not settings.lock or not size(wide) > far:
        return [(start, stop)]
    step, found, first = max(1, round(fps * 0.08)), [], 0
    while first < len(at):
        beyond = np.flatnonzero(size(at[first:] - at[first]) > far)
        last = first + int(beyond[0]) if len(beyond) else len(at)
        found.append((start + first, start + max(last - (step if len(beyond) else 0), first + 1)))
        first = last + step
    return found


def _stance(leg, motion, held, start, stop, fps, axis) -> Stance:  # noqa
    both = np.all([mask[start:stop] for mask in held.values()], axis=0) if len(held) > 1 else np.zeros(0, bool)
    phases = _phases(motion, held, start, stop, axis)
    lengths = [(point == "ball", last - first) for point, first, last in phases]
    main = max(range(len(phases)), key=lambda number: lengths[number])
    _, first, last = phases[main]
    flat = start + np.flatnonzero(both) if both.any() else np.arange(first, last)
    return Stance(leg, start, stop, phases, main, flat)


def _phases(motion, held, start, stop, axis):  # noqa
    """The heel while the ball is in the air, else the ball, and at the end the toes if they stay where it leaves."""
    ball = held["ball"][start:stop] if "ball" in held else np.zeros(stop - start, bool)
    edges = [0, *(np.flatnonzero(ball[1:] != ball[:-1]) + 1).tolist(), stop - start]
    found = [("ball" if ball[a] else "heel", start + a, start + b) for a, b in zip(edges, edges[1:], strict=False)]
    point, first, last = found[-1]
    if point == "ball" and "toe" in motion.soles and last - first > 3:
        at, toe = level(motion.soles["ball"][first:last], axis), level(motion.soles["toe"][first:last], axis)
        middle = (last - first) // 2
        away = size(at - at[middle]) > _ROLLS * motion.scale
        stays = np.flatnonzero(~away[middle:])[-1] + middle + 1  # the frame from which it is away to the end
        if stays < last - first and size(toe[-1] - toe[stays - 1]) < 0.6 * size(at[-1] - at[stays - 1]):
            found[-1] = ("ball", first, first + int(stays))
            found.append(("toe", first + int(stays), last))
    return found


def core(start: int, stop: int, fps: float) -> slice:
    """A stance less its ends, where feet still arrive, or leave."""
    cut = min(round(0.1 * (stop - start) + fps / 30), (stop - start - 1) // 2)
    return slice(start + cut, stop - cut)


def _slips(motion: LegMotion, stance: Stance, floor: Floor, fps: float, axis: int, settings: BakeSettings) -> Array:
    """What makes each point stand still while the foot turns about it; nothing if it does."""
    found = np.zeros((stance.stop - stance.start, 3))
    inner, wide, high = core(stance.start, stance.stop, fps), 0.0, 0.0
    for number, (point, first, last) in enumerate(stance.phases):
        at = level(motion.soles[point][first:last], axis)
        above = motion.soles[point][first:last, axis] - floor.stood[point][first:last]
        own = found[first - stance.start : last - stance.start]
        if settings.lock:
            still = _mean(at[core(0, last - first, fps)]) if number == stance.main else at[0 if number > stance.main else -1]
            own[:] = still - at
        part = slice(max(inner.start - first, 0), max(inner.stop - first, 0))
        if len(own[part]):
            wide += float(size(np.ptp(own[part], axis=0)))
            high = max(high, float(np.abs(above[part]).max()))
    stance.clean = max(wide, high) <= settings.tolerance * motion.scale
    return found * 0.0 if stance.clean else found


def _mean(values: Array) -> Array:
    """Added one after the other, so that the bits are the same everywhere."""
    return np.asarray(np.add.accumulate(values, axis=0)[-1] / len(values))


def headings(motion: LegMotion, axis: int) -> Array | None:
    """Where a foot points, horizontally; None if it is a point."""
    soles = motion.soles
    ahead = next((soles[name] for name in ("toe", "ball") if name in soles), None)
    back = soles.get("heel", motion.ankle if motion.leg.ankle else None)
    if ahead is None or back is None or ahead is back:
        return None
    return np.asarray(level(ahead - back, axis))


# --- on the ground ---------------------------------------------------------------------------------------------------


class Footing:
    """Finds the ground under one stance after another, each near the one before it."""

    def __init__(self, ground: Ground, axis: int, settings: BakeSettings, workers: int) -> None:
        self.ground, self.axis, self.settings = ground, axis, settings
        self.pitch, self.roll = (_tangent(angle) for angle in (settings.pitch, settings.roll))
        self.last: Array | None = None
        self.lift = 0.0

    def place(self, motion: LegMotion, stance: Stance, floor: Floor, tilted: bool) -> None:
        """Find normal, lift, place and part of a stance."""
        axis = self.axis
        names = list(motion.soles)
        points = np.stack([_mean(motion.soles[name][stance.flat]) for name in names])
        points += stance.slips[stance.middle - stance.start]
        points[:, axis] = [_mean(floor.stood[name][stance.flat, np.newaxis])[0] - floor.thick[name] for name in names]
        found = self._at(points, motion.scale, stance.middle)
        stance.aside = self._off_edges(motion, stance, names, points, found)
        if stance.aside.any():
            points += stance.aside
            found = self._at(points, motion.scale, stance.middle)
        stance.place = points[names.index(stance.phases[stance.main][0])].copy()
        stance.normal = stance.floor = np.eye(3)[axis]
        stance.lift = self.lift
        if found.hit.any():
            self._fit(stance, motion, names, points, found)
            stance.floor = stance.normal if tilted else stance.floor
            self.lift = stance.lift
            self.last = points[found.hit][0].copy()
            self.last[axis] = float(np.max(found.height[found.hit]))

    def _off_edges(self, motion, stance, names, points, found):  # noqa
        """How far a foot is moved back from a step that its toes would be in, or ahead from one above its heel."""
        none = np.zeros(3)
        if not self.settings.lock or not {"heel", "ball"} <= set(names) or not found.hit.all():
            return none
        ground, scale = _frozen(self.ground, stance.middle), motion.scale
        ball = names.index("ball")
        rise = found.height - points[:, self.axis]
        for name in ("toe", "heel"):
            if name not in names or not rise[names.index(name)] - rise[ball] > _EDGE * scale:
                continue
            way = level(points[names.index(name)] - points[ball], self.axis)
            start = points[ball].copy()
            start[self.axis] = found.height[ball] + 0.75 * _EDGE * scale
            seen = ground.cast(start, way, length=float(size(way)))
            over = float(size(way) - seen.distance) + _GAP * scale
            if seen.hit and abs(float(seen.normals[self.axis])) < _WALL and over < _MOST * scale:
                return -way * (over / float(size(way)))
        return none

    def _at(self, points: Array, scale: float, frame: int) -> Surface:
        """The ground near the last foothold; under the first one however far away."""
        ground, near = _frozen(self.ground, frame), points.copy()
        if self.last is None:
            windows = [(_STEP_UP * scale, _STEP_DOWN * scale), (_STEP_UP * scale, np.inf), (1e3 * scale, 0.0)]
        else:
            windows = [(_STEP_UP * scale, _STEP_DOWN * scale)]
            near[:, self.axis] = self._walked(ground, _mean(points), scale)
        for above, below in windows:
            found = ground.at(near, above=above, below=below)
            if found.hit.any():
                break
        return found

    def _walked(self, ground: Ground, to: Array, scale: float) -> float:
        """How high the ground is at a place if one walks there from the last foothold."""
        way = to - self.last
        count = 1 + int(float(size(level(way, self.axis))) / (_STRIDE * scale))
        at = self.last.copy()
        for step in range(1, count + 1):
            at = self.last + way * (step / count)
            at[self.axis] = height if step > 1 else self.last[self.axis]
            found = ground.at(at, above=_RISER * scale, below=_STEP_DOWN * scale)
            height = float(found.height) if found.hit else float(at[self.axis])
        return height

    def _fit(self, stance: Stance, motion: LegMotion, names: list[str], points: Array, found: Surface) -> None:
        """The plane a foot stands on: what its slopes say, unless there is an edge under it, then the higher side."""
        scale = motion.scale
        bends = np.where([name == "toe" for name in names], TOES * scale, 0.0)
        rise = np.where(found.hit, found.height - points[:, self.axis], -np.inf)
        support = [at for at, name in enumerate(names) if name in ("heel", "ball") and found.hit[at]]
        support = support or [int(np.argmax(rise))]
        slope, edge = self._under(points[support], rise[support], found.normals[support], scale)
        above = rise - dot(points, slope)
        known = above[support]
        top = int(np.argmax(above))
        if edge or above[top] - known.max() > TOES * scale:
            slope, bends = self._slope(found.normals[top]), np.zeros(len(names))
        slope = self._limited(slope, motion, stance)
        above = rise - dot(points - stance.place, slope) - bends
        stance.lift = float(above.max())
        up = np.eye(3)[self.axis]
        stance.normal = (up - slope) / size(up - slope)
        stance.part = int(found.part[int(np.argmax(above))])

    def _under(self, points: Array, rise: Array, normals: Array, scale: float) -> tuple[Array, bool]:
        """The slope of the ground from heel to ball, and whether there is an edge between them.

        On ground that goes on, even over a ridge, it is between what it is at both.
        """
        slope = self._slope(_mean(normals))
        if len(points) < 2:
            return slope, False
        way = level(points[1] - points[0], self.axis)
        far = max(float(size(way)), 1e-12)
        rises = float(rise[1] - rise[0])
        along = [float(self._slope(normal) @ way) for normal in normals]
        edge = not min(along) - _EDGE * scale < rises < max(along) + _EDGE * scale
        return slope + way * ((rises - float(slope @ way)) / (far * far)), edge

    def _slope(self, normal: Array) -> Array:
        """How much the height changes along each axis."""
        slope = -normal / max(float(normal[self.axis]), _STEEPEST)
        slope[self.axis] = 0.0
        return slope

    def _limited(self, slope: Array, motion: LegMotion, stance: Stance) -> Array:
        """As far as feet pitch and roll."""
        ahead = headings(motion, self.axis)
        slope = slope * self.settings.align
        if ahead is None:
            return slope * 0.0 if motion.leg.ankle is None else slope
        way = _mean(ahead[stance.flat])
        way = way / max(float(size(way)), 1e-12)
        side = np.cross(np.eye(3)[self.axis], way)
        along, across = float(slope @ way), float(slope @ side)
        along, across = np.clip(along, -self.pitch, self.pitch), np.clip(across, -self.roll, self.roll)
        return np.asarray(along * way + across * side)


def _tangent(degrees: float) -> float:
    """From the core, whose bits are the same on every machine."""
    w, x, _, _ = rotations.from_axis_angle([1.0, 0, 0], 2 * degrees * (3.141592653589793 / 180))
    return float(x / w)


def _frozen(ground: Ground, frame: int) -> Ground:
    """The ground in one frame."""
    if all((p.rotations is None or p.rotations.ndim == 1) and (p.translations is None or p.translations.ndim == 1) for p in ground.parts):
        return ground
    from dataclasses import replace

    def still(values):  # noqa
        return values if values is None or values.ndim == 1 else values[min(frame, len(values) - 1)]

    parts = tuple(replace(p, rotations=still(p.rotations), translations=still(p.translations)) for p in ground.parts)
    return Ground(parts, ground.up)
