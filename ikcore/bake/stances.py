"""Stances: when a foot stands, what it turns about, and how it has to be moved to stand still."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import cross, dot, size
from ikcore.bake import quaternions
from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Mask, Scene, mean, median, unit
from ikcore.feet.human import BRIEF, MOMENT, SOLE, TRACE
from ikcore.feet.intervals import runs

_TOE_SHARE = 0.6  # a foot rolls over its toes if their tip moves by less than this share of what the ball moves
_EDGE_TIME = 0.06  # seconds, at most a fifth of a stance: at both ends a foot still arrives, or leaves already
_SPIN = 0.02  # the tangent of the largest turn on the spot that is left as it is
_MEANT, _FAR = 0.94, 0.1  # cosines of the yaw within a stance that is meant: in its inside, and at its ends
_ENDS = 8  # one of so many frames at either end of a phase says nothing of where its pivot is

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pivot:
    """A part of a stance, from a frame to before another one, in which a foot turns about one point of its sole."""

    point: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Foot:
    """A foot over time, as all stages read it."""

    motion: LegMotion  # the leg in the source
    floor: Floor  # what it stands on there
    scene: Scene  # where it is to stand

    @property
    def turns(self) -> bool:
        """Whether it has an ankle to turn about."""
        return self.motion.leg.ankle is not None

    @property
    def lowest(self) -> Array:
        """The height of its lowest point above where that stands, (frames,)."""
        return np.asarray(np.minimum.reduce([self.above(point) for point in self.motion.soles]))

    def above(self, point: str, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """The height of a point of the sole in the source above where it stands."""
        return np.asarray(self.motion.soles[point][frames, self.scene.axis] - self.floor.stood[point][frames])

    @property
    def keeps_heel(self) -> bool:
        """Whether the heel is kept out of the ground: not of feet that roll over their balls all the time."""
        thick = self.floor.thick
        known = self.scene.settings.align > 0 and {"heel", "ball"} <= thick.keys()
        return bool(known and thick["heel"] - thick["ball"] <= SOLE * self.motion.scale)

    @property
    def ends(self) -> tuple[Array, Array] | None:
        """The tip of a foot, or where it bends, and its back; None if it is a point."""
        motion, soles = self.motion, self.motion.soles
        ahead = next((soles[name] for name in ("toe", motion.ball) if name in soles), None)
        back = soles.get("heel", motion.ankle if self.turns else None)
        return None if ahead is None or back is None or ahead is back else (ahead, back)


@dataclass(frozen=True, slots=True, eq=False)
class Stance:
    """One stance: an interval in which a foot is in contact."""

    leg: int  # which one
    # its first frame and the one after its last
    start: int
    stop: int
    pivots: tuple[Pivot, ...]  # what the foot turns about, one after the other: heel, ball, toe
    main: int  # the number of the pivot whose place on the ground counts
    flat: NDArray[np.intp]  # (n,): frames in which the foot stands flat, or those of the main pivot
    # (frames, 3): horizontally, how far the pivot is moved so that it stands still: the main one from where it is,
    # others from where they are in the frame beside that of the pivot next to them. Zeros if it is planted.
    slips: Array
    rise: float  # how much higher than its floor the main pivot stands in the source: captured floors are not level
    planted: bool  # whether the foot stands still as it is, within the plant tolerance

    @property
    def point(self) -> str:
        """Its main pivot."""
        return self.pivots[self.main].point

    @property
    def middle(self) -> int:
        """The frame in which it is at its place."""
        return int(self.flat[len(self.flat) // 2])

    @property
    def frames(self) -> slice:
        """All of its frames."""
        return slice(self.start, self.stop)


def stances_of(
    feet: list[Foot], planted: list[dict[str, Mask]], scene: Scene, known: Mapping[str, list[Span]]
) -> list[Stance]:
    """All stances of all feet, by their middle, of when points of their soles are planted.

    A contact with stances that an earlier bake is known to have planted has these.
    """
    found = []
    for leg, (foot, held) in enumerate(zip(feet, planted, strict=True)):
        spans = known.get(foot.motion.leg.name, [])
        for start, stop in runs(functools.reduce(np.logical_or, held.values())).tolist():
            stays = [span for span in spans if start <= span[0] < stop]
            own = stays or _pieces(foot.motion, start, stop, scene)
            found += [_stance(leg, foot, held, span, (start, stop), known=bool(stays)) for span in own]
    return sorted(found, key=lambda stance: (stance.middle, stance.leg))


def passing(leg: int, foot: Foot, frame: int) -> Stance:
    """A stance of one frame, of a foot that passes over the ground."""
    motion, here = foot.motion, np.array([frame])
    pivot = Pivot(motion.ball if motion.ball in motion.soles else "heel", frame, frame + 1)
    return Stance(leg, frame, frame + 1, (pivot,), 0, here, np.zeros((1, 3)), 0.0, planted=False)


def edge_of(start: int, stop: int, scene: Scene) -> int:
    """The frames at either end of a stance in which a foot arrives, or leaves."""
    return int(min(round(_EDGE_TIME * scene.fps), (stop - start) // 5))


def _pieces(motion: LegMotion, start: int, stop: int, scene: Scene) -> list[Span]:
    """A stance in which the foot slides too far is several, with a gap between them to step."""
    far, at = scene.settings.unlock * motion.scale, scene.gone(motion.reference, slice(start, stop))
    if not scene.settings.lock or size(np.ptp(at, axis=0)) <= far:
        return [(start, stop)]
    step, first = max(1, round(scene.fps * MOMENT)), 0
    found: list[Span] = []
    while first < len(at):
        beyond = np.flatnonzero(size(at[first:] - at[first]) > far)
        last = first + int(beyond[0]) if len(beyond) else len(at)
        found.append((start + first, start + max(last - (step if len(beyond) else 0), first + 1)))
        first = last + step
    return found


def _stance(leg: int, foot: Foot, held: dict[str, Mask], span: Span, contact: Span, *, known: bool) -> Stance:
    """What a foot does in some frames; those beyond its contact are as its first, or its last one."""
    seen = np.clip(np.arange(*span), contact[0], contact[1] - 1)
    pivots = _pivots(foot, held, span[0], seen)
    ball = foot.motion.ball
    main = max(range(len(pivots)), key=lambda at: (pivots[at].point == ball, pivots[at].stop - pivots[at].start))
    both = np.flatnonzero(held["heel"][seen] & held["ball"][seen]) if len(held) > 1 else np.zeros(0, np.intp)
    flat = span[0] + both if len(both) else np.arange(pivots[main].start, pivots[main].stop)
    rise = median(foot.above(pivots[main].point, flat))
    stance = Stance(leg, *span, pivots, main, flat, np.zeros((len(seen), 3)), rise, planted=True)
    if known or _is_cut(foot, stance) or _is_planted(foot, stance):
        return stance
    return dataclasses.replace(stance, slips=_slips(foot, stance), planted=False)


# --- what it turns about ---------------------------------------------------------------------------------------------


def _pivots(foot: Foot, held: dict[str, Mask], start: int, seen: NDArray[np.intp]) -> tuple[Pivot, ...]:
    """The heel while the ball is in the air, else the ball, and at the end the toes if they stay where that leaves."""
    ball = foot.motion.ball
    on_ball = _on_ball(foot, held, seen)
    edges = [0, *(np.flatnonzero(on_ball[1:] != on_ball[:-1]) + 1).tolist(), len(seen)]
    found = [
        Pivot(ball if on_ball[first] else "heel", start + first, start + last)
        for first, last in itertools.pairwise(edges)
    ]
    last = found[-1]
    if last.point == ball and "toe" in foot.motion.soles and ball != "toe":
        leaves = _toe_off(foot, held, last, seen[last.start - start :])
        if leaves < last.stop:
            found[-1:] = [Pivot(ball, last.start, leaves), Pivot("toe", leaves, last.stop)]
    return tuple(found)


def _on_ball(foot: Foot, held: dict[str, Mask], seen: NDArray[np.intp]) -> Mask:
    """When it turns about its ball. A ball without a contact that is lower than the heel is not in the air."""
    if "heel" not in foot.motion.soles:
        return np.ones(len(seen), bool)
    if "ball" not in held:
        return np.zeros(len(seen), bool)
    found = held["ball"][seen]
    if "heel" in held:
        found = found | (foot.above(foot.motion.ball, seen) < foot.above("heel", seen))
    return np.asarray(found)


def _toe_off(foot: Foot, held: dict[str, Mask], last: Pivot, seen: NDArray[np.intp]) -> int:
    """The frame from which the ball moves away until the end of its part while the toes stay; else that end.

    A foot whose heel is down does not roll.
    """
    motion, scene, frames = foot.motion, foot.scene, slice(last.start, last.stop)
    ball, toe = (scene.gone(motion.soles[point], frames) for point in (motion.ball, "toe"))
    down = np.flatnonzero(held["heel"][seen]) if "heel" in held else np.zeros(0, np.intp)
    middle = max(len(ball) // 2, int(down[-1]) if len(down) else 0)
    near = np.flatnonzero(size(ball[middle:] - ball[middle]) <= TRACE * motion.scale)
    there = middle + int(near[-1]) if len(near) else middle
    stays = size(toe[-1] - toe[there]) < _TOE_SHARE * size(ball[-1] - ball[there])
    return last.start + there + 1 if stays else last.stop


# --- whether it stands still -----------------------------------------------------------------------------------------


def beside(stance: Stance, number: int) -> int:
    """The frame nearest to a pivot of that next to it, nearer to the main one: the foot turns about both between."""
    return stance.pivots[number].stop if number < stance.main else stance.pivots[number].start - 1


def _slips(foot: Foot, stance: Stance) -> Array:
    """How far pivots are moved to stand still, the main one at its mean place."""
    scene, soles, found = foot.scene, foot.motion.soles, np.zeros((stance.stop - stance.start, 3))
    if not scene.settings.lock:
        return found
    for number, pivot in enumerate(stance.pivots):
        at = scene.gone(soles[pivot.point], slice(pivot.start, pivot.stop))
        if number == stance.main:
            cut = len(at) // _ENDS
            kept = mean(at[cut : len(at) - cut])
        else:
            frame = beside(stance, number)
            kept = scene.gone(soles[pivot.point], slice(frame, frame + 1))[0]
        found[pivot.start - stance.start : pivot.stop - stance.start] = kept - at
    return found


def _is_planted(foot: Foot, stance: Stance) -> bool:
    """Whether the foot stands still in the source, in the inside of its stance, where it should be in height."""
    cut, most = edge_of(stance.start, stance.stop, foot.scene), foot.scene.settings.tolerance * foot.motion.scale
    inside = slice(stance.start + cut, stance.stop - cut)
    points = {pivot.point for pivot in stance.pivots}
    off = np.minimum.reduce([np.abs(foot.above(point, inside) - stance.rise) for point in sorted(points)])
    return bool(_slide(foot, stance, inside) <= most and off.max() <= most and _spin(foot, stance, cut) < _SPIN)


def _is_cut(foot: Foot, stance: Stance) -> bool:
    """Whether the clip begins or ends within a stance of which it shows less than the shortest contact."""
    brief = stance.stop - stance.start < BRIEF * foot.scene.fps
    return brief and (stance.start == 0) != (stance.stop == len(foot.motion.chain))


def _slide(foot: Foot, stance: Stance, inside: slice) -> float:
    """How far the points slide that touch the ground, pivot by pivot."""
    slid, motion = 0.0, foot.motion
    for pivot in stance.pivots if foot.scene.settings.lock else ():
        frames = slice(max(pivot.start, inside.start), min(pivot.stop, inside.stop))
        if frames.start < frames.stop:
            slid += float(size(np.ptp(foot.scene.gone(motion.soles[motion.under(pivot.point)], frames), axis=0)))
    return slid


def _spin(foot: Foot, stance: Stance, cut: int) -> float:
    """How far a foot turns on the spot that should not, a tangent."""
    up = foot.scene.up
    if (found := headings(foot, stance, up)) is None:
        return 0.0
    ways, wanted = found[0][cut : len(found[0]) - cut], found[1]
    return float(np.ptp(dot(ways, cross(up, wanted)) / dot(ways, wanted)))


def headings(foot: Foot, stance: Stance, normal: Array) -> tuple[Array, Array] | None:
    """The directions of a foot in the plane of its floor (frames, 3), and the one it should have (3,).

    By how the foot turns about the normal, not as it rolls and bends, which depends on which points of it are looked
    at. None if it is to turn as it does: it is a point, or turns so far that this is meant.
    """
    ends, scene, middle = foot.ends, foot.scene, stance.middle
    if ends is None or not foot.turns or not scene.settings.lock:
        return None
    ahead = ends[0][middle] - ends[1][middle]
    ahead = unit(ahead - dot(ahead, normal) * normal)
    turning = foot.motion.foot_turn
    turn = quaternions.multiply(turning[stance.frames], quaternions.conjugate(turning[middle]))
    w, p = turn[:, :1], dot(turn[:, 1:], normal)[:, np.newaxis]
    both = w * w + p * p
    both = np.where(both > 0, both, 1)
    ways = (w * w - p * p) / both * ahead + 2 * w * p / both * cross(normal, ahead)
    wanted = unit(mean(ways[stance.flat - stance.start]))
    along, cut = dot(ways, wanted), edge_of(stance.start, stance.stop, scene)
    if not (along[cut : len(along) - cut].min() >= _MEANT and along.min() >= _FAR):
        return None
    return ways, wanted
