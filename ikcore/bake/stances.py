"""Stances: intervals of contact, their pivots, and the displacement that keeps them still."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping

import numpy as np

from ikcore._arrays import cross, dot, extent, size
from ikcore.bake import quaternions
from ikcore.bake.foot import Foot, Pivot, Stance, StanceTrack, batches, edge_of
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Mask, Scene, mean, median, unit
from ikcore.contacts.intervals import runs
from ikcore.feet.thresholds import ANTICIPATION_TIME, PLANT_TOLERANCE, SHORTEST_STANCE

_TOE_SHARE = 0.6  # a foot rolls over its toes if their tip moves by less than this share of the ball's travel
_SPIN = 0.02  # tangent of the largest spin on the spot that is left unchanged
_MEANT = 0.94  # cosine of the yaw inside a stance that counts as intended; so does a quarter turn at its ends

Span = tuple[int, int]


def stances_of(
    feet: list[Foot], planted: list[dict[str, Mask]], scene: Scene, known: Mapping[str, list[Span]]
) -> list[Stance]:
    """All stances of all feet in order of their middle frames, from the planted frames of the points of their soles.

    For contacts that an earlier bake has planted, its stances are used.
    """
    found: list[Stance] = []
    stays: list[bool] = []
    for leg, (foot, held) in enumerate(zip(feet, planted, strict=True)):
        spans: list[Span] = []
        for start, stop in runs(functools.reduce(np.logical_or, held.values())).tolist():
            kept = [span for span in known.get(foot.motion.leg.name, []) if start <= span[0] < stop]
            own = [(first, min(last, stop)) for first, last in kept] or _pieces(foot.motion, start, stop, scene)
            spans += own
            stays += [bool(kept)] * len(own)
        found += _stances(leg, foot, held, spans)
    return sorted(_with_slips(feet, found, stays), key=lambda stance: (stance.middle, stance.leg))


def passing_stance(leg: int, foot: Foot, frame: int) -> Stance:
    """A stance of one frame, for a foot that passes over the ground."""
    motion, here = foot.motion, np.array([frame])
    pivot = Pivot(motion.ball if motion.ball in motion.soles else "heel", frame, frame + 1)
    return Stance(leg, frame, frame + 1, (pivot,), 0, here, np.zeros((1, 3)), 0.0, planted=False)


def _pieces(motion: LegMotion, start: int, stop: int, scene: Scene) -> list[Span]:
    """A stance in which the foot slides too far is split into several, with a gap for a step between them."""
    far, at = (
        scene.settings.unlock * motion.scale,
        scene.horizontal_positions(motion.reference[start:stop], slice(start, stop)),
    )
    if not scene.settings.lock or size(extent(at)) <= far:
        return [(start, stop)]
    step, first = max(1, round(scene.fps * ANTICIPATION_TIME)), 0
    found: list[Span] = []
    while first < len(at):
        beyond = np.flatnonzero(size(at[first:] - at[first]) > far)
        last = first + int(beyond[0]) if len(beyond) else len(at)
        found.append((start + first, start + max(last - (step if len(beyond) else 0), first + 1)))
        first = last + step
    return found


# --- pivots ----------------------------------------------------------------------------------------------------------


def _stances(leg: int, foot: Foot, held: dict[str, Mask], spans: list[Span]) -> list[Stance]:
    """The stances of intervals of frames, with pivots and flat frames, as if the foot stood still."""
    ball, on_ball, found = foot.motion.ball, _on_ball(foot, held), []
    level = functools.reduce(np.logical_and, held.values()) if len(held) > 1 else None
    names, above = list(foot.motion.soles), foot.above()
    for start, stop in spans:
        pivots = _pivots(foot, held, start, stop, on_ball)
        main = max(range(len(pivots)), key=lambda at: (pivots[at].point == ball, pivots[at].stop - pivots[at].start))
        flat = np.arange(pivots[main].start, pivots[main].stop)
        if level is not None and level[start:stop].any():
            flat = start + level[start:stop].nonzero()[0]
        rise = median(above[flat, names.index(pivots[main].point)])
        found.append(Stance(leg, start, stop, pivots, main, flat, np.zeros((stop - start, 3)), rise, planted=True))
    return found


def _on_ball(foot: Foot, held: dict[str, Mask]) -> Mask:
    """Frames in which a foot in contact turns about its ball, (frames,).

    A ball without a contact counts as down if it is lower than the heel.
    """
    if "heel" not in foot.motion.soles or "ball" not in held:
        return np.full(len(foot.motion.chain), "heel" not in foot.motion.soles)
    if "heel" not in held:
        return held["ball"]
    names, above = list(foot.motion.soles), foot.above()
    return np.asarray(held["ball"] | (above[:, names.index(foot.motion.ball)] < above[:, names.index("heel")]))


def _pivots(foot: Foot, held: dict[str, Mask], start: int, stop: int, on_ball: Mask) -> tuple[Pivot, ...]:
    """Pivots: the heel while the ball is in the air, then the ball, and at the end the toes if they stay in place."""
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
    """The frame from which the ball moves away while the toes stay, up to the end of its interval; else that end.

    A foot whose heel is down does not roll.
    """
    middle = last.start + (last.stop - last.start) // 2
    if "heel" in held and len(down := held["heel"][last.start : last.stop].nonzero()[0]):
        middle = max(middle, last.start + int(down[-1]))
    ball = foot.over(foot.motion.ball, slice(middle, last.stop))
    near = (size(ball - ball[0]) <= PLANT_TOLERANCE * foot.motion.scale).nonzero()[0]
    there = middle + (int(near[-1]) if len(near) else 0)
    toe = foot.over("toe", np.array([there, last.stop - 1]))
    stays = size(toe[1] - toe[0]) < _TOE_SHARE * size(ball[-1] - ball[there - middle])
    return there + 1 if stays else last.stop


# --- slip -------------------------------------------------------------------------------------------------------------


def _with_slips(feet: list[Foot], stances: list[Stance], stays: list[bool]) -> list[Stance]:
    """The stances, with the slip of those that move beyond the plant tolerance. Unchanged stances stay as they are."""
    found: list[Stance] = []
    for some in batches(stances):
        track = StanceTrack(feet, some)
        still, slips, rows = _are_still(track).tolist(), _slips(track), track.rows
        for at, each in enumerate(some):
            moves = not (stays[len(found)] or still[at] or _is_cut(feet[each.leg], each))
            own = slips[rows.first[at] :][: rows.count[at]].copy()
            found.append(dataclasses.replace(each, slips=own, planted=False) if moves else each)
    return found


def _is_cut(foot: Foot, stance: Stance) -> bool:
    """True if the clip begins or ends within a stance and shows less of it than the shortest contact."""
    brief = stance.stop - stance.start < SHORTEST_STANCE * foot.scene.fps
    return brief and (stance.start == 0) != (stance.stop == len(foot.motion.chain))


def _slips(track: StanceTrack) -> Array:
    """Displacements (rows, 3) that keep pivots still: the main one at its mean, others where they meet a neighbour."""
    parts, scene, frames = track.parts, track.scene, track.rows.frames
    if not scene.settings.lock:
        return np.zeros((len(frames), 3))
    at = scene.horizontal_positions(track.positions(track.point[parts.of], np.arange(len(frames))), frames)
    kept = scene.horizontal_positions(track.positions(track.point, track.beside), frames.take(track.beside))
    for main in np.flatnonzero(track.from_main == 0).tolist():
        first, count = int(parts.first[main]), int(parts.count[main])
        edge = int(edge_of(count, scene))
        kept[main] = mean(at[first + edge : first + count - edge])
    return np.asarray(kept.take(parts.of, axis=0) - at)


def _are_still(track: StanceTrack) -> Mask:
    """Mask of stances in which the foot stands still in the source, at the right height."""
    rows, inside, settings = track.rows, track.inside(), track.scene.settings
    most = settings.tolerance * np.array([foot.motion.scale for foot in track.feet])[track.leg]
    used = np.zeros((len(track.stances), track.points.shape[1]), bool)
    used[track.of, track.point] = True
    off = np.minimum.reduce(np.where(track.each(used), np.abs(track.heights), np.inf), axis=1)
    still = rows.largest(np.where(inside, off, 0.0)) <= most
    if settings.lock and still.any():
        still &= _slides(track, inside) <= most
    return still & (_spins(track, inside) < _SPIN) if settings.lock and still.any() else still


def _slides(track: StanceTrack, inside: Mask) -> Array:
    """Largest slide of the points that touch the ground, pivot by pivot, for each stance."""
    touching = track.table(lambda foot, name: list(foot.motion.soles).index(foot.motion.under(name)))
    point = touching[track.leg[track.of], track.point].take(track.parts.of)
    at = track.scene.horizontal_positions(track.positions(point, np.arange(len(point))), track.parts.frames)
    far = [track.parts.largest(np.where(inside[:, np.newaxis], sign * at, -np.inf)) for sign in (1, -1)]
    slid: Array = np.bincount(track.of, size(np.maximum(far[0] + far[1], 0.0)), len(track.stances)).astype(np.float64)
    return slid


def _spins(track: StanceTrack, inside: Mask) -> Array:
    """Unintended spin of feet on the spot: a tangent for each stance."""
    up = np.broadcast_to(track.scene.up, (len(track.stances), 3))
    ways, wanted, holds = headings(track, up)
    far = np.where(track.each(holds), dot(ways, track.each(wanted)), 1.0)
    tangent = np.where(track.each(holds), dot(ways, track.each(cross(up, wanted))) / far, 0.0)
    spread = [track.rows.largest(np.where(inside, sign * tangent, -np.inf)) for sign in (1, -1)]
    return np.asarray(spread[0] + spread[1])


def headings(track: StanceTrack, normals: Array) -> tuple[Array, Array, Mask]:
    """Directions of feet in the planes of their floors (rows, 3), wanted ones (stances, 3), and a mask of their use.

    The direction is the yaw about the normal, without roll and bend, which depend on the points of the sole. The mask
    is False for a foot that is a point, and for one whose turn is large enough to be intended.
    """
    rows, stances, feet = track.rows, track.stances, track.feet
    some = np.array([foot.turns and foot.ends is not None for foot in feet])[track.leg]
    ahead = np.array([_direction(feet[each.leg], each.middle) for each in stances])
    ahead = unit(ahead - dot(ahead, normals)[:, np.newaxis] * normals)
    turning = track.gather([foot.motion.foot_turn for foot in feet])
    middle = rows.first + np.array([each.middle - each.start for each in stances])
    turn = quaternions.multiply(turning, track.each(quaternions.conjugate(turning[middle])))
    w, p = turn[:, :1], dot(turn[:, 1:], track.each(normals))[:, np.newaxis]
    both = w * w + p * p
    both = np.where(both > 0, both, 1)
    ways = (w * w - p * p) / both * track.each(ahead) + 2 * w * p / both * track.each(cross(normals, ahead))
    flat = [first + each.flat - each.start for first, each in zip(rows.first.tolist(), stances, strict=True)]
    wanted = unit(np.stack([mean(ways[each]) for each in flat]))
    along = dot(ways, track.each(wanted))
    meant = rows.smallest(np.where(track.inside(), along, 1.0)) < _MEANT
    return ways, wanted, np.asarray(some & ~meant & (rows.smallest(along) > 0))


def _direction(foot: Foot, frame: int) -> Array:
    """The direction from the back of a foot to its tip."""
    (tip, back), motion = foot.ends or ("ball", "ball"), foot.motion
    return np.asarray(motion.soles[tip][frame] - (motion.soles[back] if back else motion.ankle)[frame])
