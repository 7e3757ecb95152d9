"""The way of a foot: where it should be in every frame, and how it is turned to the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore import rotations
from ikcore._arrays import dot
from ikcore.bake import beam
from ikcore.bake.motion import Array, LegMotion, Mask, level, size
from ikcore.bake.settings import BakeSettings
from ikcore.bake.floors import Floor
from ikcore.bake.stances import TOES, Stance, core, headings
from ikcore.ground import Ground

_UNTURNED = np.array([1.0, 0, 0, 0])
_HARDEST = 100.0  # metres a second^2, for a leg of 0.87 m: what a foot is accelerated by at most to get over something
_ABOVE, _BELOW = 0.5, 1.0  # metres, likewise: where ground is looked for under a foot in swing
_TRAVELS = 0.3  # metres, likewise: a foot that goes farther rises with its way, not with time
_RISER = 0.04  # metres, likewise: what is higher than this between two frames is a step
_MARGIN = 0.02  # metres, likewise: how far toes and heels keep from steps
_DIPS = 0.02  # metres, likewise: how deep a foot that swings may be in the floor of the clip and be left
_ARRIVES = 0.1  # seconds in which a foot that arrives comes to the ground, and one that leaves from it
_FREE, _MOST = 0.012, 0.018  # tangents: what a foot may turn on the spot and be left, and the most that is left of more
_MEANT = 0.94  # the cosine beyond which it is meant to
_BEFORE = 0.25  # seconds before the first frame, and after the last, in which a foot may have begun to rise


@dataclass(slots=True, eq=False)
class Way:
    """How a foot departs from the clip, over all frames.

    Attributes
    ----------
    shift : (frames, 3) array
        Of its reference point.
    turn : (frames, 4) array
        A world rotation, about that point.
    plain : (frames,) array
        How much of the shift upwards is not for obstacles: what the body follows.
    held : (frames,) array of bool
        Whether the foot stands.
    """

    shift: Array
    turn: Array
    plain: Array
    held: Mask


def way_of(
    motion: LegMotion,
    stances: list[Stance],
    floor: Floor,
    ground: Ground,
    fps: float,
    axis: int,
    settings: BakeSettings,
    otherwise: float,
    workers: int,
) -> Way:
    """The way of one foot through all its stances."""
    frames = len(motion.chain)
    way = Way(
        np.zeros((frames, 3)),
        np.broadcast_to(_UNTURNED, (frames, 4)).copy(),
        np.zeros(frames),
        np.zeros(frames, bool),
    )
    for stance in stances:
        _stand(way, motion, stance, floor, fps, axis, settings.lock)
    pairs = _pairs(stances, frames) if stances else []
    if not stances:
        way.shift[:, axis] = otherwise
    for pair in pairs:
        _swing(way, motion, pair, fps, axis, settings)
    swings = [(before.stop if before else 0, after.start if after else frames) for before, after in pairs]
    way.plain = way.shift[:, axis].copy()
    _clear(way, motion, swings, floor, ground, fps, axis, settings, workers)
    return way


def _stand(way: Way, motion: LegMotion, stance: Stance, floor: Floor, fps: float, axis: int, lock: bool) -> None:
    """Where a foot is while it stands: what it turns about is on the ground, and the next such point where that puts
    it."""
    here = slice(stance.start, stance.stop)
    way.held[here] = True
    turn = np.broadcast_to(_UNTURNED, (stance.stop - stance.start, 4))
    if motion.leg.ankle is not None:
        turn = _turned(motion, stance, fps, axis, lock)
        way.turn[here] = turn
    heights = _heights(motion, stance, floor, turn, fps, axis)
    slope = -stance.normal / stance.normal[axis]
    slope[axis] = 0.0
    order = [*range(stance.main, len(stance.phases)), *range(stance.main - 1, -1, -1)]
    for number in order:
        point, first, last = stance.phases[number]
        part, own = slice(first, last), slice(first - stance.start, last - stance.start)
        at = motion.soles[point][part]
        there = level(at, axis) + stance.slips[own] + stance.aside
        if number != stance.main:
            there += _joined(way, motion, stance, turn, number, axis)
        ground = stance.place[axis] + stance.lift + dot(there - stance.place, slope)
        there[:, axis] = ground + floor.thick[point] + heights[own]
        arm = motion.reference[part] - at
        if motion.leg.ankle is not None:
            arm = rotations.rotate(turn[own], arm)
        way.shift[part] = there + arm - motion.reference[part]


def _turned(motion: LegMotion, stance: Stance, fps: float, axis: int, lock: bool) -> Array:
    """To the slope, and back about the vertical as far as the foot turns on the spot without meaning to."""
    tilt = rotations.shortest_arc(stance.floor, stance.normal)
    ahead, count = headings(motion, axis), stance.stop - stance.start
    turn = np.broadcast_to(tilt, (count, 4))
    if ahead is None or not lock or count < 3:
        return turn
    way = level(rotations.rotate(tilt, ahead[stance.start : stance.stop]), axis)
    way = way / np.maximum(size(way), 1e-12)[:, np.newaxis]
    main = way[stance.flat - stance.start]
    mean = main[len(main) // 2]
    side = np.cross(np.eye(3)[axis], mean)
    angle = dot(way, side) / np.maximum(dot(way, mean), 1e-3)  # its tangent
    inner = core(0, count, fps)
    if (dot(way, mean)[inner] < _MEANT).any() or np.ptp(angle[inner]) < 2 * _FREE:
        return turn
    over = np.maximum(np.abs(angle) - _FREE, 0) / (_MOST - _FREE)
    kept = np.where(over > 0, np.copysign(_FREE + (_MOST - _FREE) * over / (1 + over), angle), angle)
    return rotations.multiply(rotations.shortest_arc(way, mean + kept[:, np.newaxis] * side), turn)


def _heights(motion: LegMotion, stance: Stance, floor: Floor, turn: Array, fps: float, axis: int) -> Array:
    """How high the point that a foot turns about is above its place: not at all, but where the foot arrives and leaves,
    as high there as it is in the clip, and as high as it is left by the point before."""
    found = np.zeros(stance.stop - stance.start)
    ramp = min(fps * _ARRIVES, (stance.stop - stance.start) / 3)
    left = 0.0
    for number, (point, first, last) in enumerate(stance.phases):
        own = slice(first - stance.start, last - stance.start)
        above = motion.soles[point][first:last, axis] - floor.stood[point][first:last]
        if stance.clean:
            found[own] = above
            continue
        frames = np.arange(first, last)
        free = np.zeros(last - first)
        if number == 0 and stance.start > 0:
            free = np.maximum(free, 1 - _eased(np.clip((frames - stance.start + 1) / ramp, 0, 1)))
        if number == len(stance.phases) - 1 and stance.stop < len(motion.chain):
            free = np.maximum(free, 1 - _eased(np.clip((stance.stop - frames) / ramp, 0, 1)))
        own_height = np.maximum(above, 0) * free
        if number:
            left = _at_end(motion, stance, floor, number, found, axis) - own_height[0]
            own_height = own_height + left * (1 - _eased(np.clip((frames - first) / ramp, 0, 1)))
        found[own] = own_height
    return found


def _at_end(motion: LegMotion, stance: Stance, floor: Floor, number: int, heights: Array, axis: int) -> float:
    """How high the point of a phase is when it begins, if the one before has not moved."""
    point, first, _ = stance.phases[number]
    before = stance.phases[number - 1][0]
    mine, its = (motion.soles[p][first, axis] - floor.stood[p][first] for p in (point, before))
    return float(heights[first - 1 - stance.start] + mine - its)


def _joined(way: Way, motion: LegMotion, stance: Stance, turn: Array, number: int, axis: int) -> Array:
    """What brings the point of a phase to where the phase next to it, nearer to the main one, has put it."""
    point, first, last = stance.phases[number]
    frame, mine = (first - 1, first) if number > stance.main else (last, last - 1)
    at = motion.soles[point][frame] - motion.reference[frame]
    if motion.leg.ankle is not None:
        at = rotations.rotate(turn[frame - stance.start], at)
    there = motion.reference[frame] + way.shift[frame] + at
    moved = there - motion.soles[point][frame] - stance.slips[mine - stance.start] - stance.aside
    return np.asarray(level(moved, axis))


def _pairs(stances: list[Stance], frames: int) -> list[tuple[Stance | None, Stance | None]]:
    """The stances before and after every swing of a leg."""
    edges = [None, *stances, None]
    return [
        (before, after)
        for before, after in zip(edges, edges[1:], strict=False)
        if (after.start if after else frames) > (before.stop if before else 0)
    ]


def _swing(
    way: Way, motion: LegMotion, pair: tuple[Stance | None, Stance | None], fps: float, axis: int, settings: BakeSettings
) -> None:
    """From one stance to the next, or to the end of the clip.

    Sideways what a stance has moved the foot by dies away, as does what it has moved it up or down by beside what the
    ground does. Of that the foot follows the plane it leaves less and less, and more and more the one it comes to.
    """
    before, after = pair
    start, stop = before.stop if before else 0, after.start if after else len(way.held)
    time, whole = np.arange(1, stop - start + 1) / fps, (stop - start + 1) / fps
    window = min(max(settings.blend, 1 / fps), whole)
    moved = np.zeros((stop - start, 3))
    for stance, edge, step, since in ((before, start - 1, -1, time), (after, stop, 1, whole - time)):
        if stance is not None:
            value, slope = _left(way, motion, stance, edge, step, fps, axis)
            share = np.clip(since / window, 0, 1)[:, np.newaxis]
            moved += (1 - _eased(share)) * value + _leaving(share) * window * slope
    source = motion.reference[start:stop]
    planes = [_followed(stance, source, level(moved, axis), axis) for stance in pair if stance is not None]
    if before is None or after is None:
        moved[:, axis] += planes[0]
        way.turn[start:stop] = way.turn[stop if before is None else start - 1]
    else:
        share = _progress(level(source + moved, axis), motion, start, stop, time / whole, axis)
        moved[:, axis] += planes[0] + share * (planes[1] - planes[0])
        way.turn[start:stop] = rotations.slerp(way.turn[start - 1], way.turn[stop], _eased(time / whole))
    way.shift[start:stop] = moved


def _followed(stance: Stance, source: Array, moved: Array, axis: int) -> Array:
    """How far up a foot goes that follows the plane of a stance."""
    ground, floor = (-normal / normal[axis] for normal in (stance.normal, stance.floor))
    ground[axis] = floor[axis] = 0.0
    return np.asarray(stance.lift + dot(source + moved - stance.place, ground) - dot(source - stance.place, floor))


def _left(
    way: Way, motion: LegMotion, stance: Stance, edge: int, step: int, fps: float, axis: int
) -> tuple[Array, Array]:
    """What a stance has moved the foot by at its edge beside what the ground does, and how fast that changes a second,
    away from the stance."""
    far = edge
    for _ in range(max(1, round(fps / 30))):
        if stance.start <= far + step < stance.stop:
            far += step
    both = np.array([edge, far])
    shift = way.shift[both].copy()
    shift[:, axis] -= _followed(stance, motion.reference[both], level(shift, axis), axis)
    return shift[0], (shift[0] - shift[1]) * (fps / abs(far - edge) if far != edge else 0.0)


def _progress(way: Array, motion: LegMotion, start: int, stop: int, share: Array, axis: int) -> Array:
    """How far on its way a foot is, from 0 to 1; where it hardly travels, by time."""
    chord = way[-1] - way[0]
    far = float(size(chord))
    travels = _eased(np.clip(np.array(far / (_TRAVELS * motion.scale)), 0, 1))
    done = np.clip(dot(way - way[0], chord) / max(far * far, 1e-300), 0, 1)
    return np.asarray(_eased(share) + travels * (done - _eased(share)))


def _eased(share: Array) -> Array:
    """From 0 to 1 with no speed and no acceleration at both ends: the way of the least jerk."""
    return np.asarray(share * share * share * (10 + share * (6 * share - 15)))


def _leaving(share: Array) -> Array:
    """Zero at both ends, with a slope of 1 at 0 and none at 1, and no acceleration at either."""
    return np.asarray(share * (1 + share * share * (share * (8 - 3 * share) - 6)))


def _clear(
    way: Way,
    motion: LegMotion,
    swings: list[tuple[int, int]],
    floor: Floor,
    ground: Ground,
    fps: float,
    axis: int,
    settings: BakeSettings,
    workers: int,
) -> None:
    """Lift a foot in swing so that no point of its sole comes into the ground, nor nearer than it should."""
    if not swings or not motion.soles:
        return
    needed = np.full(len(way.held), -np.inf)
    for point, places in motion.soles.items():
        there = _carried(way, motion, places)
        if point in ("toe", "heel"):
            there = _farther(there, motion.reference + way.shift, axis, _MARGIN * motion.scale)
        above = np.clip(places[:, axis] - floor.stood[point], -_DIPS * motion.scale, settings.clearance * motion.scale)
        height = ground.at(there, above=_ABOVE * motion.scale, below=_BELOW * motion.scale, workers=workers).height
        lack = _swept(height, _RISER * motion.scale) + floor.thick[point] + above - there[:, axis]
        if point == "toe" and motion.toe is not None:
            lack -= TOES * motion.scale  # they bend
        needed = np.fmax(needed, lack)
    frames = np.concatenate([np.arange(start, stop) for start, stop in swings])
    swing = np.concatenate([np.full(stop - start, at) for at, (start, stop) in enumerate(swings)])
    share, near = _shares(swings, len(way.held), fps)
    possible = 0.5 * _HARDEST * motion.scale * near * near
    needed = np.minimum(np.where(np.isfinite(needed), needed, 0)[frames], possible)
    way.shift[frames, axis] += beam.lifts(swing, share, needed, len(swings))


def _carried(way: Way, motion: LegMotion, places: Array) -> Array:
    """Where points of the foot go."""
    arm = places - motion.reference
    if motion.leg.ankle is not None:
        arm = rotations.rotate(way.turn, arm)
    return np.asarray(motion.reference + way.shift + arm)


def _farther(points: Array, origins: Array, axis: int, by: float) -> Array:
    """Points moved away from others, horizontally."""
    arm = level(points - origins, axis)
    return np.asarray(points + arm * (by / np.maximum(size(arm), by))[:, np.newaxis])


def _swept(height: Array, riser: float) -> Array:
    """The ground under a point on its way from one frame to the next: at a step, its upper side is there before."""
    known = np.where(np.isfinite(height), height, -np.inf)
    most = known.copy()
    most[1:] = np.maximum(most[1:], known[:-1])
    most[:-1] = np.maximum(most[:-1], known[1:])
    return np.where(most > known + riser, most, height)


def _shares(swings, frames, fps):  # noqa
    """Where in its swing every frame is, and how many seconds from its nearer end."""
    shares, nears = [], []
    more = _BEFORE * fps
    for start, stop in swings:
        first = start - 1 if start > 0 else start - more
        last = stop if stop < frames else stop - 1 + more
        at = np.arange(start, stop)
        shares.append((at - first) / (last - first))
        nears.append(np.minimum(at - first, last - at) / fps)
    return np.concatenate(shares), np.concatenate(nears)
