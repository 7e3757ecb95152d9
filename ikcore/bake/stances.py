"""Stances: when a foot is in contact, what it turns about, and how far it is moved to stand still."""

from __future__ import annotations

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
from ikcore.feet.intervals import Rows, runs

_TOE_SHARE = 0.6  # a foot rolls over its toes if their tip moves by less than this share of what the ball moves
_EDGE_TIME = 0.06  # s, at most a fifth of a stance: at both ends a foot still arrives, or leaves already
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

    def over(self, point: str, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """Where a point of the sole is horizontally; of an in-place clip, had it travelled."""
        return self.scene.gone(self.motion.soles[point][frames], frames)

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
        spans: list[Span] = []
        stays: list[bool] = []
        for start, stop in runs(functools.reduce(np.logical_or, held.values())).tolist():
            kept = [span for span in known.get(foot.motion.leg.name, []) if start <= span[0] < stop]
            own = [(first, min(last, stop)) for first, last in kept] or _pieces(foot.motion, start, stop, scene)
            spans += own
            stays += [bool(kept)] * len(own)
        found += _planted(foot, _stances(leg, foot, held, spans), stays) if spans else []
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
    far, at = scene.settings.unlock * motion.scale, scene.gone(motion.reference[start:stop], slice(start, stop))
    if not scene.settings.lock or size(np.maximum.reduce(at) - np.minimum.reduce(at)) <= far:
        return [(start, stop)]
    step, first = max(1, round(scene.fps * MOMENT)), 0
    found: list[Span] = []
    while first < len(at):
        beyond = np.flatnonzero(size(at[first:] - at[first]) > far)
        last = first + int(beyond[0]) if len(beyond) else len(at)
        found.append((start + first, start + max(last - (step if len(beyond) else 0), first + 1)))
        first = last + step
    return found


# --- what a foot turns about -----------------------------------------------------------------------------------------


def _stances(leg: int, foot: Foot, held: dict[str, Mask], spans: list[Span]) -> list[Stance]:
    """The stances in these frames, as if the foot stood still in all of them."""
    ball, on_ball, found = foot.motion.ball, _on_ball(foot, held), []
    level = functools.reduce(np.logical_and, held.values()) if len(held) > 1 else None
    above = {point: foot.above(point) for point in foot.motion.soles}
    for start, stop in spans:
        pivots = _pivots(foot, held, start, stop, on_ball)
        main = max(range(len(pivots)), key=lambda at: (pivots[at].point == ball, pivots[at].stop - pivots[at].start))
        flat = np.arange(pivots[main].start, pivots[main].stop)
        if level is not None and level[start:stop].any():
            flat = start + level[start:stop].nonzero()[0]
        rise = median(above[pivots[main].point][flat])
        found.append(Stance(leg, start, stop, pivots, main, flat, np.zeros((stop - start, 3)), rise, planted=True))
    return found


def _on_ball(foot: Foot, held: dict[str, Mask]) -> Mask:
    """When a foot in contact turns about its ball (frames,).

    A ball without a contact that is lower than the heel is not in the air.
    """
    if "heel" not in foot.motion.soles or "ball" not in held:
        return np.full(len(foot.motion.chain), "heel" not in foot.motion.soles)
    if "heel" not in held:
        return held["ball"]
    return np.asarray(held["ball"] | (foot.above(foot.motion.ball) < foot.above("heel")))


def _pivots(foot: Foot, held: dict[str, Mask], start: int, stop: int, on_ball: Mask) -> tuple[Pivot, ...]:
    """The heel while the ball is in the air, else the ball, and at the end the toes if they stay where that leaves."""
    ball, own = foot.motion.ball, on_ball[start:stop]
    edges = [0, *((own[1:] != own[:-1]).nonzero()[0] + 1).tolist(), stop - start]
    found = [
        Pivot(ball if own[first] else "heel", start + first, start + last) for first, last in itertools.pairwise(edges)
    ]
    last = found[-1]
    if last.point == ball and "toe" in foot.motion.soles and ball != "toe":
        leaves = _toe_off(foot, held, last)
        if leaves < last.stop:
            found[-1:] = [Pivot(ball, last.start, leaves), Pivot("toe", leaves, last.stop)]
    return tuple(found)


def _toe_off(foot: Foot, held: dict[str, Mask], last: Pivot) -> int:
    """The frame from which the ball moves away until the end of its part while the toes stay; else that end.

    A foot whose heel is down does not roll.
    """
    middle = last.start + (last.stop - last.start) // 2
    if "heel" in held and len(down := held["heel"][last.start : last.stop].nonzero()[0]):
        middle = max(middle, last.start + int(down[-1]))
    ball = foot.over(foot.motion.ball, slice(middle, last.stop))
    near = (size(ball - ball[0]) <= TRACE * foot.motion.scale).nonzero()[0]
    there = middle + (int(near[-1]) if len(near) else 0)
    toe = foot.over("toe", np.array([there, last.stop - 1]))
    stays = size(toe[1] - toe[0]) < _TOE_SHARE * size(ball[-1] - ball[there - middle])
    return there + 1 if stays else last.stop


# --- whether it stands still -----------------------------------------------------------------------------------------


def _planted(foot: Foot, stances: list[Stance], stays: list[bool]) -> list[Stance]:
    """The same, those that move beyond the plant tolerance with what they slip; not the ones that stay as they are."""
    still = _are_still(foot, stances)
    return [
        each if stay or _is_cut(foot, each) or planted else _with_slips(foot, each)
        for each, stay, planted in zip(stances, stays, still.tolist(), strict=True)
    ]


def _with_slips(foot: Foot, stance: Stance) -> Stance:
    """How far pivots are moved to stand still, the main one at its mean place."""
    found = np.zeros((stance.stop - stance.start, 3))
    for number, pivot in enumerate(stance.pivots if foot.scene.settings.lock else ()):
        at = foot.over(pivot.point, slice(pivot.start, pivot.stop))
        cut, frame = len(at) // _ENDS, beside(stance, number)
        kept = mean(at[cut : len(at) - cut]) if number == stance.main else foot.over(pivot.point, np.array([frame]))[0]
        found[pivot.start - stance.start : pivot.stop - stance.start] = kept - at
    pivots, main, flat = stance.pivots, stance.main, stance.flat
    return Stance(stance.leg, stance.start, stance.stop, pivots, main, flat, found, stance.rise, planted=False)


def beside(stance: Stance, number: int) -> int:
    """The frame nearest to a pivot of that next to it, nearer to the main one: the foot turns about both between."""
    return stance.pivots[number].stop if number < stance.main else stance.pivots[number].start - 1


def inside_of(rows: Rows, scene: Scene) -> Mask:
    """Without the frames at either end in which a foot arrives, or leaves."""
    cut = np.array([edge_of(*span, scene) for span in zip(rows.start.tolist(), rows.stop.tolist(), strict=True)])
    return np.asarray((rows.at >= cut[rows.of]) & (rows.at < (rows.count - cut)[rows.of]))


def _are_still(foot: Foot, stances: list[Stance]) -> Mask:
    """Whether the foot stands still in the source, in the inside of each stance, where it should be in height."""
    rows = Rows([(each.start, each.stop) for each in stances])
    inside, most = inside_of(rows, foot.scene), foot.scene.settings.tolerance * foot.motion.scale
    used, rise = [{pivot.point for pivot in each.pivots} for each in stances], np.array([each.rise for each in stances])
    off = np.full(len(rows.of), np.inf)
    for point in set().union(*used):
        there = np.array([point in each for each in used])[rows.of]
        off = np.where(there, np.minimum(off, np.abs(foot.above(point, rows.frames) - rise[rows.of])), off)
    still = (_slides(foot, stances, inside) <= most) & (rows.largest(np.where(inside, off, 0.0)) <= most)
    return np.asarray(still & (_spins(foot, stances, rows, inside) < _SPIN))


def _is_cut(foot: Foot, stance: Stance) -> bool:
    """Whether the clip begins or ends within a stance of which it shows less than the shortest contact."""
    brief = stance.stop - stance.start < BRIEF * foot.scene.fps
    return brief and (stance.start == 0) != (stance.stop == len(foot.motion.chain))


def _slides(foot: Foot, stances: list[Stance], inside: Mask) -> Array:
    """How far the points slide that touch the ground, pivot by pivot, in each stance."""
    if not foot.scene.settings.lock:
        return np.zeros(len(stances))
    pivots = [(number, pivot) for number, each in enumerate(stances) for pivot in each.pivots]
    parts = Rows([(pivot.start, pivot.stop) for _, pivot in pivots])
    names = list(foot.motion.soles)
    touching = np.array([names.index(foot.motion.under(pivot.point)) for _, pivot in pivots])[parts.of]
    at = foot.scene.gone(foot.motion.points[parts.frames, touching], parts.frames)
    far = (parts.largest(np.where(inside[:, np.newaxis], sign * at, -np.inf)) for sign in (1, -1))
    slid = size(np.maximum(sum(far), 0.0))
    return np.bincount([number for number, _ in pivots], slid, len(stances))


def _spins(foot: Foot, stances: list[Stance], rows: Rows, inside: Mask) -> Array:
    """How far a foot turns on the spot that should not, a tangent for each stance."""
    up = np.broadcast_to(foot.scene.up, (len(stances), 3))
    if (found := headings(foot, stances, rows, up)) is None:
        return np.zeros(len(stances))
    ways, wanted, holds = found
    tangent = dot(ways, cross(up, wanted)[rows.of]) / np.where(holds[rows.of], dot(ways, wanted[rows.of]), 1.0)
    spread = sum(rows.largest(np.where(inside, sign * tangent, -np.inf)) for sign in (1, -1))
    return np.where(holds, spread, 0.0)


def headings(foot: Foot, stances: list[Stance], rows: Rows, normals: Array) -> tuple[Array, Array, Mask] | None:
    """The directions of a foot in the planes of its floors (rows, 3), and those it should have (stances, 3).

    By how the foot turns about the normals, not as it rolls and bends, which depends on which points of it are looked
    at. And in which stances it should: it is to turn as it does if it turns so far that this is meant. None of a point.
    """
    ends, scene, middle = foot.ends, foot.scene, np.array([each.middle for each in stances])
    if ends is None or not foot.turns or not scene.settings.lock:
        return None
    ahead = ends[0][middle] - ends[1][middle]
    ahead = unit(ahead - dot(ahead, normals)[:, np.newaxis] * normals)
    turning = foot.motion.foot_turn
    turn = quaternions.multiply(turning[rows.frames], quaternions.conjugate(turning[middle])[rows.of])
    w, p = turn[:, :1], dot(turn[:, 1:], normals[rows.of])[:, np.newaxis]
    both = w * w + p * p
    both = np.where(both > 0, both, 1)
    ways = (w * w - p * p) / both * ahead[rows.of] + 2 * w * p / both * cross(normals, ahead)[rows.of]
    flat = [first + each.flat - each.start for first, each in zip(rows.first.tolist(), stances, strict=True)]
    wanted = unit(np.stack([mean(ways[some]) for some in flat]))
    along = dot(ways, wanted[rows.of])
    holds = (rows.smallest(np.where(inside_of(rows, scene), along, 1.0)) >= _MEANT) & (rows.smallest(along) >= _FAR)
    return ways, wanted, np.asarray(holds)
