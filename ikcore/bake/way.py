"""The way of a foot: where it should be in every frame, and how it is turned to the ground."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import dot, size
from ikcore.bake.filters import in_rounds
from ikcore.bake.floors import Floor
from ikcore.bake.footing import TOES
from ikcore.bake.motion import LegMotion
from ikcore.bake.progress import Told
from ikcore.bake.scene import UNTURNED, Array, Mask, Scene, eased, mean
from ikcore.bake.stances import Phase, Stance, pointing
from ikcore.clips.smoothing import smooth
from ikcore.feet.intervals import blocks, runs
from ikcore.grounds.ground import Ground

# Seconds.
_ARRIVES = 0.1  # in which a foot that arrives comes to the ground, and one that leaves from it
_TENSION = 180.0  # 1 / s^2, of ways over obstacles: what is nearer to each other than 0.075 s is gone over at once
_BEFORE = 0.25  # before the first frame, and after the last, in which a foot may have begun to rise

# Metres for a leg of 0.87 m.
_HARDEST = 30.0  # a second^2: what a foot is accelerated by at most to get over something
_ABOVE, _BELOW = 0.5, 1.0  # where ground is looked for under a foot in swing
_TRAVELS = 0.3  # a foot that goes farther rises with its way, not with time
_RISER = 0.04  # what is higher than this between two frames is a step
_MARGIN = 0.02  # how far toes and heels keep from steps
_GRAZES = 0.01  # how far points of a sole may be into an edge of what the clip was made on: soles are not known exactly
_WITHIN = 0.001  # how far behind the side of something its upper side is looked for
_DIPS = 0.02  # how deep a foot that swings may be in the floor of the clip and be left


@dataclass(slots=True, eq=False)
class Way:
    """How a foot departs from the clip, over all frames.

    Attributes
    ----------
    motion : LegMotion
        The leg in the clip.
    shift : (frames, 3) array
        Of its reference point.
    turn : (frames, 4) array
        A world rotation, about that point.
    toes : (frames, 4) array
        That of the toes beside it, where they bend: while they lie on the ground they do not turn with the foot.
    lies : (frames,) array of bool
        When they are made to lie.
    plain : (frames,) array
        How much of the shift upwards is not for obstacles: what the body follows.
    stands : (frames,) array
        How much the foot stands: 1 in its stances, less and less a while before and after, then 0.
    reach : (frames,) array
        How far from the hip the leg should end at most; `body_of` finds it, as it takes all legs.
    """

    motion: LegMotion
    shift: Array
    turn: Array
    toes: Array
    lies: Mask
    plain: Array
    stands: Array
    reach: Array

    def carried(self, points: Array, frames: slice = slice(None)) -> Array:
        """Where points of the foot (frames, 3) go."""
        origin = self.motion.reference[frames]
        arm = points - origin
        if self.motion.leg.ankle is not None:
            arm = rotations.rotate(self.turn[frames], arm)
        return np.asarray(origin + self.shift[frames] + arm)

    def sole(self, name: str, frames: slice = slice(None)) -> Array:
        """Where a point of the sole goes."""
        points = self.motion.soles[name][frames]
        if not self.motion.on_toes(name):
            return self.carried(points, frames)
        origin = self.motion.reference[frames]
        arm = rotations.rotate(rotations.multiply(self.toes[frames], self.turn[frames]), points - origin)
        return np.asarray(origin + self.shift[frames] + arm)

    @property
    def ankle(self) -> Array:
        """Where the leg should end."""
        return self.carried(self.motion.ankle)

    def over(self, scene: Scene) -> Array:
        """What of the shift is for obstacles."""
        return np.asarray((self.shift[:, scene.axis] - self.plain)[:, np.newaxis] * scene.up)

    def forget(self) -> None:
        """Keep what makes the leg where it goes: how it was, and how its toes were to bend, is not known any more."""
        self.motion.forget()
        self.toes, self.lies = self.toes[:0].copy(), self.lies[:0].copy()

    def part(self, motion: LegMotion, frames: slice) -> Way:
        """Some of the frames."""
        toes, lies = self.toes[frames], self.lies[frames]
        plain, stands = self.plain[frames], self.stands[frames]
        return Way(motion, self.shift[frames], self.turn[frames], toes, lies, plain, stands, self.reach[frames])


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What a foot does on the ground: its stances, and what it passes before the first and after the last.

    Attributes
    ----------
    motion : LegMotion
        The leg in the clip.
    stances, passed : list of Stance
        On the ground, and over it.
    floor : Floor
        What it stands on in the clip.
    """

    motion: LegMotion
    stances: list[Stance]
    passed: list[Stance]
    floor: Floor


def ways_of(feet: list[Steps], scene: Scene, rounds: bool, told: Told) -> list[Way]:
    """The ways of all feet through all their stances. Of three rounds of a loop, obstacles are those of the second."""
    stand, swing, share = told.part(0.0, 0.4), told.part(0.4, 1.0), 1 / len(feet)
    ways = [_stood(foot, scene, stand.part(at * share, (at + 1) * share)) for at, foot in enumerate(feet)]
    going = [not (scene.kept and all(stance.clean for stance in foot.stances)) for foot in feet]
    moved = _freed([(way, foot.stances) for way, foot, goes in zip(ways, feet, going, strict=True) if goes], scene)
    lifted: list[tuple[Way, Array, Mask]] = []
    for at, (way, foot, goes) in enumerate(zip(ways, feet, going, strict=True)):
        if goes:
            part = swing.part(at * share, (at + 1) * share)
            lifted.append((way, *_swung(way, foot, moved.pop(0), scene, rounds, part)))
    clear(lifted, scene)
    return ways


def _stood(foot: Steps, scene: Scene, told: Told) -> Way:
    """Its way in its stances; that of one that stays as it is."""
    frames = len(foot.motion.chain)
    turn, toes = np.broadcast_to(UNTURNED, (2, frames, 4)).copy()
    plain, stands, reach = np.zeros(frames), _standing(foot.stances, frames, scene.fps), np.zeros(frames)
    way = Way(foot.motion, np.zeros((frames, 3)), turn, toes, np.zeros(frames, bool), plain, stands, reach)
    if not (scene.kept and all(stance.clean for stance in foot.stances)):
        for stance in told.over(foot.stances):
            _stand(way, stance, foot.floor, scene)
    return way


def _swung(way: Way, foot: Steps, moved: Array, scene: Scene, rounds: bool, told: Told) -> tuple[Array, Mask]:
    """Its way in swing; how much higher it has to be for obstacles, and when it is free to: `clear` lifts it."""
    frames = len(way.shift)
    for swing in told.part(0.0, 0.5).over(_swings(foot.stances, frames)):
        _swing(way, swing, moved, foot.passed, scene)
    del moved  # of a long clip it is much
    way.plain = way.shift[:, scene.axis].copy()
    passed = [each for each in foot.passed if 0 < each.start < frames - 1]
    down = sorted([*foot.stances, *passed], key=lambda each: each.start)
    spans = [_span(swing, frames) for swing in _swings(down, frames)]
    return _needed(way, spans, foot.floor, scene, rounds, told.part(0.5, 1.0))


def _standing(stances: list[Stance], frames: int, fps: float) -> Array:
    """How much a foot stands, by how long until it does, or since it did."""
    stands = np.zeros(frames, bool)
    for stance in stances:
        stands[stance.start : stance.stop] = True
    at, there = np.arange(frames), np.flatnonzero(stands)
    if not len(there):
        return np.zeros(frames)
    after = np.minimum(np.searchsorted(there, at), len(there) - 1)
    away = np.minimum(np.abs(there[after] - at), np.abs(at - there[np.maximum(after - 1, 0)]))
    return 1 - eased(np.minimum(away / (fps * _ARRIVES), 1))


# --- on the ground ---------------------------------------------------------------------------------------------------


def _stand(way: Way, stance: Stance, floor: Floor, scene: Scene) -> None:
    """What a foot turns about is on the ground, and the next such point where that puts it."""
    here = slice(stance.start, stance.stop)
    if way.motion.leg.ankle is not None:
        way.turn[here] = _turned(way.motion, stance, scene)
    if way.motion.toe_turn is not None and scene.settings.lock and not stance.clean:
        _lie(way, stance, way.motion.toe_turn)
    heights = _heights(way.motion, stance, floor, scene)
    slope = scene.slope(stance.normal)
    for number in (*range(stance.main, len(stance.phases)), *range(stance.main - 1, -1, -1)):
        phase = stance.phases[number]
        at = way.motion.soles[phase.point][phase.frames]
        there = scene.level(at) + stance.slips[stance.own(phase)] + stance.aside
        if number != stance.main:
            there += _joined(way, stance, number, scene)
        ground = stance.place[scene.axis] + stance.lift + dot(there - stance.place, slope)
        there[:, scene.axis] = ground + floor.thick[phase.point] + heights[stance.own(phase)]
        way.shift[phase.frames] = 0.0
        way.shift[phase.frames] = there - way.sole(phase.point, phase.frames)
    if stance.part >= 0 and scene.ground.parts[stance.part].moves:
        _ride(way, stance, scene)


def _turned(motion: LegMotion, stance: Stance, scene: Scene) -> Array:
    """To the slope, and back about the normal of the floor by what the foot turns on the spot without meaning to."""
    tilt = rotations.shortest_arc(stance.floor, stance.normal)
    points_to = None if stance.clean else pointing(motion, stance, stance.floor, scene)
    if points_to is None:
        return np.broadcast_to(tilt, (stance.stop - stance.start, 4))
    return rotations.multiply(tilt, rotations.shortest_arc(*points_to))


def _lie(way: Way, stance: Stance, toes: Array) -> None:
    """Toes lie as they do while the foot stands flat, as long as it turns about the ball; then they turn with it."""
    turning = [each.frames for each in stance.phases if each.point == way.motion.ball]
    if not turning:
        return
    about = np.concatenate([np.arange(each.start, each.stop) for each in turning])
    turned = rotations.multiply(way.turn[about], toes[about])
    quarter = len(stance.flat) // 4
    flat = np.isin(about, stance.flat[quarter : len(stance.flat) - quarter])
    lain = turned[flat] if flat.any() else turned
    lain = rotations.normalize(mean(np.where(dot(lain, lain[0])[:, np.newaxis] < 0, -lain, lain)))
    way.toes[about] = rotations.multiply(lain, rotations.conjugate(turned))
    way.lies[about] = True
    last = stance.phases[-1]
    if last.point == "toe":
        way.toes[last.frames] = way.toes[last.start - 1]
        way.lies[last.frames] = True


def _freed(feet: list[tuple[Way, list[Stance]]], scene: Scene) -> list[Array]:
    """Toes that lie come to that, and from it; and what in swing goes on of what stances move feet by."""
    bent = [(way, pinned) for way, stances in feet if (pinned := _pinned(way, stances)) is not None]
    turned = _released([(rotations.log(way.toes), pinned) for way, pinned in bent], scene)
    for way, pinned in bent:
        way.toes[~pinned] = rotations.exp(turned.pop(0)[~pinned])
    return _released([_moved(way, stances, scene) for way, stances in feet], scene)


def _pinned(way: Way, stances: list[Stance]) -> Mask | None:
    """When toes turn as they should, if they are made to lie."""
    if not way.lies.any():
        return None
    pinned = way.lies.copy()
    for stance in stances:
        pinned[stance.start : stance.stop] |= stance.clean
    return pinned


def _released(curves: list[tuple[Array, Mask]], scene: Scene) -> list[Array]:
    """What stances do to a foot, and in swing, as smoothly as it can be, back to nothing, or to what the next does.

    Where the clip begins or ends before that, it is drawn there. All curves (frames, 3) at once, each with when it is
    pinned; of a long clip one after the other, as that takes memory.
    """
    if len(curves) > 1 and len(list(blocks(len(curves[0][1])))) > 1:
        return [_released([curve], scene)[0] for curve in curves]
    time, blend = max(scene.settings.blend / 3, 1 / scene.fps), round(scene.settings.blend * scene.fps)
    found = [values for values, _ in curves]
    free = [at for at, (values, pinned) in enumerate(curves) if values.any() and not pinned.all()]
    if not free:
        return found
    low, high, pull = np.zeros((3, len(found[0]), len(free), 3))
    for to, at in enumerate(free):
        values, pinned = found[at], curves[at][1].copy()
        for start, stop in runs(~pinned).tolist():
            own = slice(start + blend if start > 0 else 0, max(stop - blend, 0) if stop < len(pinned) else stop)
            pinned[own] = True
            pull[start:stop, to] = (start == 0 or stop == len(pinned)) / (time * time * time * time)
        low[:, to], high[:, to] = (np.where(pinned[:, np.newaxis], values, far) for far in (-np.inf, np.inf))
    smoothed = smooth(0.0, fps=scene.fps, pull=pull, lower=low, upper=high).values
    for to, at in enumerate(free):
        found[at] = smoothed[:, to]
    return found


def _heights(motion: LegMotion, stance: Stance, floor: Floor, scene: Scene) -> Array:
    """How high the point that a foot turns about is above its place.

    Not at all, but where the foot arrives and leaves: as high there as it is in the clip, and as high as the point
    before has left it.
    """
    found = np.zeros(stance.stop - stance.start)
    ramp = min(scene.fps * _ARRIVES, len(found) / 3)
    before: Phase | None = None
    for phase in stance.phases:
        own, frames = stance.own(phase), np.arange(phase.start, phase.stop)
        above = _above(motion, phase.point, phase.frames, floor, scene)
        if stance.clean:
            found[own] = above
            continue
        found[own] = np.maximum(above, 0) * _free(stance, frames, ramp, len(motion.chain))
        if before is not None:
            first = slice(phase.start, phase.start + 1)
            left = found[own.start - 1] + above[0] - _above(motion, before.point, first, floor, scene)[0]
            found[own] += (left - found[own.start]) * (1 - eased(np.clip((frames - phase.start) / ramp, 0, 1)))
        before = phase
    return found


def _above(motion: LegMotion, point: str, frames: slice, floor: Floor, scene: Scene) -> Array:
    return np.asarray(motion.soles[point][frames, scene.axis] - floor.stood[point][frames])


def _free(stance: Stance, frames: NDArray[np.intp], ramp: float, count: int) -> Array:
    """How much of its own height a foot has: all of it where it arrives and leaves, none while it is flat."""
    free = np.zeros(len(frames))
    if stance.start > 0:
        free = np.maximum(free, 1 - eased(np.clip((frames - stance.start + 1) / ramp, 0, 1)))
    if stance.stop < count:
        rises = max(ramp, stance.stop - 1 - int(stance.flat[-1]))
        free = np.maximum(free, 1 - np.clip((stance.stop - frames) / rises, 0, 1))
    return free


def _joined(way: Way, stance: Stance, number: int, scene: Scene) -> Array:
    """What brings the point of a phase to where the phase next to it, nearer to the main one, has put it."""
    phase = stance.phases[number]
    frame, mine = (phase.start - 1, phase.start) if number > stance.main else (phase.stop, phase.stop - 1)
    here = slice(frame, frame + 1)
    moved = (
        way.sole(phase.point, here)
        - way.motion.soles[phase.point][here]
        - stance.slips[mine - stance.start]
        - stance.aside
    )
    return scene.level(moved[0])


def _ride(way: Way, stance: Stance, scene: Scene) -> None:
    """Move a foot with the part of the ground that it stands on, from where that is in the middle of the stance."""
    frames = slice(stance.start, stance.stop)
    part, then = scene.ground.parts[stance.part].still(frames), scene.ground.parts[stance.part].still(stance.middle)
    there = way.motion.reference[frames] + way.shift[frames]
    way.shift[frames] = part.world(then.local(there)) - way.motion.reference[frames]
    if part.rotations is not None and then.rotations is not None:
        turned = rotations.multiply(part.rotations, rotations.conjugate(then.rotations))
        way.turn[frames] = rotations.multiply(turned, way.turn[frames])


# --- in swing --------------------------------------------------------------------------------------------------------

Swing = tuple[Stance | None, Stance | None]


def _swings(stances: list[Stance], frames: int) -> list[Swing]:
    """The stances before and after every swing of a leg."""
    pairs = pairwise([None, *stances, None])
    return [swing for swing in pairs if _span(swing, frames)[1] > _span(swing, frames)[0]]


def _span(swing: Swing, frames: int) -> tuple[int, int]:
    before, after = swing
    return before.stop if before else 0, after.start if after else frames


def _swing(way: Way, swing: Swing, moved: Array, passed: list[Stance], scene: Scene) -> None:
    """From one stance to the next; before the first and after the last over what the foot passes there.

    Of what the ground does, a foot follows the plane it leaves less and less, and more and more the one it comes to.
    """
    start, stop = _span(swing, len(way.shift))
    way.shift[start:stop] = moved[start:stop]
    before, after = ([stance] if stance else [] for stance in swing)
    within = [stance for stance in passed if start <= stance.start < stop]
    for stance in within:
        way.turn[stance.start : stance.stop] = rotations.shortest_arc(stance.floor, stance.normal)
    for leaves, comes in pairwise([*before, *within, *after]):
        _between(way, leaves, comes, scene)
    for stance in within:
        here = slice(stance.start, stance.stop)
        way.shift[here, scene.axis] += _followed(stance, way.motion.reference[here], way.shift[here], scene)


def _between(way: Way, before: Stance, after: Stance, scene: Scene) -> None:
    """Follow the ground from one plane to the next."""
    here = slice(before.stop, after.start)
    if here.stop <= here.start:
        return
    source, moved = way.motion.reference[here], way.shift[here]
    leaves, comes = (_followed(stance, source, moved, scene) for stance in (before, after))
    timed = eased(_shares([(here.start, here.stop)], len(way.shift), scene.fps)[0])
    share = _progress(source + moved, timed, way.motion.scale, scene)
    way.shift[here, scene.axis] += leaves + share * (comes - leaves)
    way.turn[here] = rotations.slerp(way.turn[here.start - 1], way.turn[here.stop], timed)


def _moved(way: Way, stances: list[Stance], scene: Scene) -> tuple[Array, Mask]:
    """What stances move a foot by beside what the ground does, and when it stands."""
    moved, pinned = np.zeros_like(way.shift), np.zeros(len(way.shift), bool)
    for stance in stances:
        here = slice(stance.start, stance.stop)
        moved[here], pinned[here] = way.shift[here], True
        moved[here, scene.axis] -= _followed(stance, way.motion.reference[here], scene.level(way.shift[here]), scene)
    return moved, pinned


def _followed(stance: Stance, source: Array, moved: Array, scene: Scene) -> Array:
    """How far up a foot goes that follows the plane of a stance."""
    ground, floor = scene.slope(stance.normal), scene.slope(stance.floor)
    return np.asarray(stance.lift + dot(source + moved - stance.place, ground) - dot(source - stance.place, floor))


def _progress(places: Array, timed: Array, scale: float, scene: Scene) -> Array:
    """How far on its way a foot is, from 0 to 1; where it hardly travels, by time."""
    way = scene.level(places)
    chord = way[-1] - way[0]
    far = float(size(chord))
    travels = float(eased(np.clip(np.array(far / (_TRAVELS * scale)), 0, 1)))
    done = np.clip(dot(way - way[0], chord) / max(far * far, 1e-300), 0, 1)
    return np.asarray(timed + travels * (done - timed))


# --- over obstacles --------------------------------------------------------------------------------------------------


def clear(feet: list[tuple[Way, Array, Mask]], scene: Scene) -> None:
    """Lift feet in swing so that no point of their soles comes into the ground, nor nearer than it should."""
    feet = [(way, needed, free) for way, needed, free in feet if needed.any()]
    if feet:
        ways, needed, free = zip(*feet, strict=True)
        for way, lift in zip(ways, lifted(np.stack(needed), np.stack(free), scene.fps), strict=True):
            way.shift[:, scene.axis] += lift


def _needed(
    way: Way, spans: list[tuple[int, int]], floor: Floor, scene: Scene, rounds: bool, told: Told
) -> tuple[Array, Mask]:
    """How much higher a foot has to be, and when it is in swing."""
    if not spans:
        return np.zeros(len(way.shift)), np.zeros(len(way.shift), bool)
    frames = list(blocks(len(way.shift)))
    needed = np.concatenate([_lacking(way, floor, scene, block) for block in told.over(frames)])
    if rounds:
        needed = in_rounds(needed)
    near, swings = np.zeros(len(needed)), np.concatenate([np.arange(*span) for span in spans])
    near[swings] = _shares(spans, len(needed), scene.fps)[1]
    possible = 0.5 * _HARDEST * way.motion.scale * near * near
    return np.minimum(np.fmax(needed, 0), possible), near > 0


def lifted(needed: Array, free: Mask, fps: float) -> Array:
    """How much higher a foot goes, as a thin beam under tension that is laid over obstacles.

    Parameters
    ----------
    needed : (..., frames) array
        How much higher it has to be.
    free : (..., frames) array of bool
        When it does not stand. Before the first frame and after the last it may be in the air for a while.
    fps : float
        Frames a second.
    """
    before = round(_BEFORE * fps) + 2
    more = (*needed.shape[:-1], needed.shape[-1] + 2 * before)
    lower, upper, own = np.zeros(more), np.full(more, np.inf), slice(before, -before)
    lower[..., own], upper[..., own] = needed, np.where(free, np.inf, 0)
    upper[..., :2] = upper[..., -2:] = 0
    found = smooth(0.0, fps=fps, pull=0, tension=_TENSION, lower=lower, upper=upper, axis=-1)
    return np.asarray(found.values[..., own])


def _lacking(way: Way, floor: Floor, scene: Scene, frames: slice) -> Array:
    """How much too low a foot is in some frames, by the point of its sole that is so the most; NaN over no ground."""
    motion, scale, names = way.motion, way.motion.scale, list(way.motion.soles)
    wide = slice(max(frames.start - 1, 0), frames.stop + 1)  # on the way from the frame before, and to the one after
    there = np.stack([way.sole(name, wide) for name in names], axis=1)
    above = np.stack([_above(motion, name, wide, floor, scene) for name in names], axis=1)
    origins = (motion.reference[wide] + way.shift[wide])[:, np.newaxis]
    if not scene.made:
        ends = [at for at, name in enumerate(names) if name in ("toe", "heel")]
        there[:, ends] = _farther(there[:, ends], origins, _MARGIN * scale, scene)
    ground = scene.ground.still(wide)
    height = ground.at(there, above=_ABOVE * scale, below=_BELOW * scale, workers=scene.workers).height
    if scene.made:  # there the clip has found its own way
        inner = _farther(there, origins, -_GRAZES * scale, scene)
        within = ground.at(inner, above=_ABOVE * scale, below=_BELOW * scale, workers=scene.workers).height
        height = np.fmin(height, within)
    else:
        height = _passed(_swept(height, _RISER * scale), there, ground, scale, scene.workers)
    thick = np.array([floor.thick[name] for name in names])
    least = np.minimum(_dips(above, scale), scene.settings.clearance * scale)
    lack = height + thick + least - there[..., scene.axis]
    if motion.toe is not None and "toe" in names:
        lack[:, names.index("toe")] -= TOES * scale  # they bend
    found: Array = np.fmax.reduce(lack, axis=1)
    return found[frames.start - wide.start :][: frames.stop - frames.start]


def _dips(above: Array, scale: float) -> Array:
    """Heights over the floor; what is much lower is not deep in that floor, but on its way to another."""
    return np.maximum(above, np.minimum(-2 * _DIPS * scale - above, 0))


def _farther(points: Array, origins: Array, by: float, scene: Scene) -> Array:
    """Points moved away from others, or to them, horizontally."""
    arm = scene.level(points - origins)
    return np.asarray(points + arm * (by / np.maximum(size(arm), abs(by)))[..., np.newaxis])


def _swept(height: Array, riser: float) -> Array:
    """The ground under a point on its way from one frame to the next: at a step, its upper side is there before."""
    known = np.where(np.isfinite(height), height, -np.inf)
    most = known.copy()
    most[1:] = np.maximum(most[1:], known[:-1])
    most[:-1] = np.maximum(most[:-1], known[1:])
    return np.where(most > known + riser, most, height)


def _passed(height: Array, points: Array, ground: Ground, scale: float, workers: int) -> Array:
    """With what points would go through between two frames, in both of them: it may be thinner than they go in one."""
    way = points[1:] - points[:-1]
    far, before = size(way), ground.still(slice(0, len(way)))
    met = before.cast(points[:-1], way, length=far, workers=workers)
    frames, which = np.nonzero(met.hit)
    on = _WITHIN * scale / np.maximum(far[frames, which], 1e-12)
    within = met.points[frames, which] + way[frames, which] * on[:, np.newaxis]
    top = before.still(frames).at(within, above=_ABOVE * scale, below=_WITHIN * scale, workers=workers).height
    found = height.copy()
    for side in (frames, frames + 1):
        found[side, which] = np.fmax(found[side, which], top)
    return found


def _shares(spans: list[tuple[int, int]], frames: int, fps: float) -> tuple[Array, Array]:
    """Where in its swing every frame is, and how many seconds from its nearer end."""
    shares, nears = [], []
    for start, stop in spans:
        first = start - 1 if start > 0 else start - _BEFORE * fps
        last = stop if stop < frames else stop - 1 + _BEFORE * fps
        at = np.arange(start, stop)
        shares.append((at - first) / (last - first))
        nears.append(np.minimum(at - first, last - at) / fps)
    return np.concatenate(shares), np.concatenate(nears)
