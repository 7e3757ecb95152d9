"""The way of a foot: where it should be in every frame, and how it is turned to the ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import in_blocks
from ikcore.bake import quaternions
from ikcore.bake.curves import smooth
from ikcore.bake.filters import in_rounds
from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.progress import Told
from ikcore.bake.scene import UNTURNED, Array, Mask, Scene
from ikcore.bake.stances import Foot, Stance
from ikcore.feet.human import BRIEF, DEEP, EDGE, HIGH, SOLE, STEP, THICK, TRACE, WHILE
from ikcore.feet.intervals import blocks
from ikcore.grounds.ground import RAY

_TENSION = 180.0  # 1 / s^2, of ways over obstacles: what is nearer to each other than 0.075 s is gone over at once
_HARDEST = 30.0  # metres a second^2 for a leg of 0.87 m: what a foot is accelerated by at most to get over something


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
        How far from the hip the leg should end at most; nothing until `body_of` finds it.
    nearer : (frames,) array
        By how much it comes nearer to the hip than in the clip about then; nothing until the body is known.
    """

    motion: LegMotion
    shift: Array
    turn: Array
    toes: Array
    lies: Mask
    plain: Array
    stands: Array
    reach: Array
    nearer: Array

    def carried(self, points: Array, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """Where points of the foot (frames, 3) go."""
        turn = None if self.motion.leg.ankle is None else self.turn[frames]
        return _core.displaced(points, self.motion.reference[frames], self.shift[frames], turn)

    def sole(self, name: str, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """Where a point of the sole goes."""
        points = self.motion.soles[name][frames]
        if not self.motion.on_toes(name):
            return self.carried(points, frames)
        turn = quaternions.multiply(self.toes[frames], self.turn[frames])
        return _core.displaced(points, self.motion.reference[frames], self.shift[frames], turn)

    @property
    def ankle(self) -> Array:
        """Where the leg should end."""
        return self.carried(self.motion.ankle)

    def forget(self) -> None:
        """Keep what makes the leg where it goes: how it was, and how its toes were to bend, is not known any more."""
        self.motion.forget()
        self.toes, self.lies = self.toes[:0].copy(), self.lies[:0].copy()

    def part(self, motion: LegMotion, frames: slice) -> Way:
        """Some of the frames."""
        toes, lies = self.toes[frames], self.lies[frames]
        plain, stands = self.plain[frames], self.stands[frames]
        reach, nearer = self.reach[frames], self.nearer[frames]
        return Way(motion, self.shift[frames], self.turn[frames], toes, lies, plain, stands, reach, nearer)


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
    known : Foot
        All that as the core takes it.
    copied : (frames,) array of bool
        When it stays exactly where it is.
    """

    motion: LegMotion
    stances: list[Stance]
    passed: list[Stance]
    floor: Floor
    known: Foot
    copied: Mask


def ways_of(feet: list[Steps], scene: Scene, rounds: bool, told: Told) -> list[Way]:
    """The ways of all feet through all their stances. Of three rounds of a loop, obstacles are those of the second."""
    stand, swing, share = told.part(0.0, 0.4), told.part(0.4, 1.0), 1 / len(feet)
    ways = [_stood(foot, scene, stand.part(at * share, (at + 1) * share)) for at, foot in enumerate(feet)]
    if not any(foot.stances for foot in feet):  # nothing says where the ground is to be
        return ways
    moved = _freed([(way, foot.stances) for way, foot in zip(ways, feet, strict=True)], scene)
    lifted: list[tuple[Way, Array, Mask]] = []
    for at, (way, foot) in enumerate(zip(ways, feet, strict=True)):
        _swing(way, foot, moved.pop(0), scene)
        part = swing.part(at * share, (at + 1) * share)
        lifted.append((way, *_needed(way, foot, scene, rounds, part)))
    clear(lifted, scene)
    return ways


def _stood(foot: Steps, scene: Scene, told: Told) -> Way:
    """Its way in its stances; that of one that stays as it is."""
    frames = len(foot.motion.chain)
    turn, toes = np.zeros((2, frames, 4))
    turn[:, 0] = toes[:, 0] = 1.0
    shift, plain, lies = np.zeros((frames, 3)), np.zeros(frames), np.zeros(frames, bool)
    down = np.array([(stance.start, stance.stop) for stance in foot.stances], np.intp).reshape(-1, 2)
    stands = _core.standing(down, frames, scene.fps * BRIEF)
    way = Way(foot.motion, shift, turn, toes, lies, plain, stands, *np.empty((2, 0)))
    for stance in told.over(foot.stances):
        if not stance.copied:
            _stand(way, stance, foot.known, scene)
    return way


def _swing(way: Way, foot: Steps, moved: Array, scene: Scene) -> None:
    """Its way in swing, but for obstacles."""
    planes = _planes(foot.stances, foot.passed)
    far = STEP * way.motion.scale  # one that goes farther rises with its way, not with time
    _core.swing(way.motion.reference, scene.axis, far, planes, np.ascontiguousarray(moved), way.shift, way.turn)
    way.shift[foot.copied], way.turn[foot.copied] = 0.0, UNTURNED
    way.plain = way.shift[:, scene.axis].copy()


# --- on the ground ---------------------------------------------------------------------------------------------------


def _stand(way: Way, stance: Stance, foot: Foot, scene: Scene) -> None:
    """What a foot turns about is on the ground, and the next such point where that puts it."""
    where = stance.planted, stance.slips, stance.aside, stance.place, stance.lift, stance.normal, stance.floor
    _core.stand(foot, stance.when, where, way.shift, way.turn, way.toes, way.lies)
    if stance.part >= 0 and scene.ground.parts[stance.part].moves:
        _ride(way, stance, scene)


def _freed(feet: list[tuple[Way, list[Stance]]], scene: Scene) -> list[Array]:
    """Toes that lie come to that, and from it; and what in swing goes on of what stances move feet by."""
    bent = [(way, pinned) for way, stances in feet if (pinned := _pinned(way, stances)) is not None]
    curves = [(quaternions.log(way.toes), pinned[:, np.newaxis]) for way, pinned in bent]
    curves += [_moved(way, stances, scene) for way, stances in feet]
    _release(curves, scene)
    for (way, pinned), (turned, _) in zip(bent, curves, strict=False):
        np.copyto(way.toes, quaternions.exp(turned), where=~pinned[:, np.newaxis])
    return [moved for moved, _ in curves[len(bent) :]]


def _pinned(way: Way, stances: list[Stance]) -> Mask | None:
    """When toes turn as they should, if they are made to lie."""
    if not way.lies.any():
        return None
    pinned = way.lies.copy()
    for stance in stances:
        if stance.planted:
            pinned[stance.start : stance.stop] = True
    return pinned


def _release(curves: list[tuple[Array, Mask]], scene: Scene) -> None:
    """What stances do to a foot, and in swing, as smoothly as it can be, back to nothing, or to what the next does.

    Where the clip begins or ends before that, it is drawn there. Curves (frames, 3), each with where it is pinned: all
    at once; of a long clip one after the other, as that takes memory.
    """
    free = [at for at, (values, pinned) in enumerate(curves) if values.any() and not pinned.all()]
    together = [free] if free and len(list(blocks(len(curves[0][0])))) == 1 else [[at] for at in free]
    for some in together:
        for at, smoothed in zip(some, _smoothed([curves[at] for at in some], scene), strict=True):
            curves[at] = smoothed, curves[at][1]


def _smoothed(curves: list[tuple[Array, Mask]], scene: Scene) -> list[Array]:
    time, frames = max(scene.settings.blend / 3, 1 / scene.fps), len(curves[0][0])
    low, high, pull = np.empty((3, frames, len(curves), 3))
    for at, curve in enumerate(curves):
        _core.loosen(*curve, scene.blend, 1 / (time * time * time * time), low[:, at], high[:, at], pull[:, at])
    return list(smooth(0.0, fps=scene.fps, pull=pull, lower=low, upper=high).swapaxes(0, 1))


def _ride(way: Way, stance: Stance, scene: Scene) -> None:
    """Move a foot with the part of the ground that it stands on, from where that is in the middle of the stance."""
    frames = slice(stance.start, stance.stop)
    part, then = scene.ground.parts[stance.part].still(frames), scene.ground.parts[stance.part].still(stance.middle)
    there = way.motion.reference[frames] + way.shift[frames]
    way.shift[frames] = part.world(then.local(there)) - way.motion.reference[frames]
    if part.rotations is not None and then.rotations is not None:
        turned = quaternions.multiply(part.rotations, quaternions.conjugate(then.rotations))
        way.turn[frames] = quaternions.multiply(turned, way.turn[frames])


# --- in swing --------------------------------------------------------------------------------------------------------

Plane = tuple[bool, int, int, Array, float, Array, Array]


def _planes(stances: list[Stance], passed: list[Stance]) -> tuple[Plane, ...]:
    """What a foot stands on, or passes, as the core takes it (`ikcore._core.swing`)."""
    both = sorted(
        [*((True, each) for each in stances), *((False, each) for each in passed)], key=lambda at: at[1].middle
    )
    return tuple([(on, at.start, at.stop, at.place, at.lift, at.normal, at.floor) for on, at in both])


def _moved(way: Way, stances: list[Stance], scene: Scene) -> tuple[Array, Mask]:
    """What stances move a foot by beside what the ground does, and where that is pinned."""
    moved, pinned = np.empty(way.shift.shape), np.empty(way.shift.shape, bool)
    _core.release(way.motion.reference, scene.axis, 2.0 * scene.blend, _planes(stances, []), moved, way.shift, pinned)
    return moved, pinned


# --- over obstacles --------------------------------------------------------------------------------------------------


def clear(feet: list[tuple[Way, Array, Mask]], scene: Scene) -> None:
    """Lift feet in swing so that no point of their soles comes into the ground, nor nearer than it should."""
    feet = [(way, needed, free) for way, needed, free in feet if needed.any()]
    if feet:
        ways, needed, free = zip(*feet, strict=True)
        lifts = lifted(np.stack(needed, axis=1), np.stack(free, axis=1), scene.fps)
        for at, way in enumerate(ways):
            way.shift[:, scene.axis] += lifts[:, at]


def _needed(way: Way, foot: Steps, scene: Scene, rounds: bool, told: Told) -> tuple[Array, Mask]:
    """How much higher a foot has to be, as far as it can rise in time, and when it is in swing."""
    spans, count = _spans(foot), len(way.shift)
    if not spans:
        return np.zeros(count), np.zeros(count, bool)
    near, scale = _core.nearer(np.array(spans, np.intp), count, scene.fps, WHILE), way.motion.scale
    among = _second_round(count) if rounds else near > 0
    needed = _lacking(way, foot, scene, among, told)
    if rounds:
        needed = in_rounds(needed)
    possible = 0.5 * _HARDEST * scale * near * near
    if scene.on_ground:
        possible = np.maximum(possible - _risen(way, spans, scene), 0)
    needed[foot.copied] = 0
    return np.minimum(np.fmax(needed, 0), possible), near > 0


def _spans(foot: Steps) -> list[tuple[int, int]]:
    """The frames between what it stands on, or passes: a first one of each, and the one after its last."""
    frames = len(foot.motion.chain)
    passed = [each for each in foot.passed if 0 < each.start < frames - 1]
    down = sorted([*foot.stances, *passed], key=lambda each: each.start)
    edges = [0, *(edge for each in down for edge in (each.start, each.stop)), frames]
    return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if stop > start]


def _risen(way: Way, spans: list[tuple[int, int]], scene: Scene) -> Array:
    """How high a foot is above the lower of the places between which it swings: so far it has risen in any case."""
    height = (way.motion.reference + way.shift)[:, scene.axis]
    risen = np.zeros(len(height))
    for start, stop in spans:
        ends = [at for at in (start - 1, stop) if 0 <= at < len(height)]
        if ends:
            risen[start:stop] = np.maximum(height[start:stop] - height[ends].min(), 0)
    return risen


def lifted(needed: Array, free: Mask, fps: float) -> Array:
    """How much higher a foot goes, as a thin beam under tension that is laid over obstacles.

    What is more than one frame on the ground ends the beam, so each swing is a curve of its own.

    Parameters
    ----------
    needed : (frames, ...) array
        How much higher it has to be.
    free : (frames, ...) array of bool
        When it does not stand. Before the first frame and after the last it may be in the air for a while.
    fps : float
        Frames a second.
    """
    before = round(WHILE * fps) + 2
    own, shape = slice(before, -before), (len(needed) + 2 * before, *needed.shape[1:])
    lower, upper = np.zeros(shape), np.full(shape, np.inf)
    lower[own], upper[own][~free], upper[:2], upper[-2:] = needed, 0, 0, 0
    return smooth(0.0, fps=fps, pull=0.0, tension=_TENSION, lower=lower, upper=upper)[own]


def _lacking(way: Way, foot: Steps, scene: Scene, among: Mask, told: Told) -> Array:
    """How much too low a foot is, by the point of its sole that is so the most; NaN over no ground.

    That is in frames that are among those that count; others are not looked at, unless beside one of them. What is
    found on the way over a stance that is left out is of frames beside, and counts no more than they do.
    """
    frames, found = np.flatnonzero(_with_beside(among)), np.zeros(len(among))
    names, lack = list(way.motion.soles), np.empty(len(frames))
    bodies, limits = scene.ground.still(frames)._bodies((len(frames), len(names))), _limits(way.motion, names, scene)
    given = foot.known, way.shift, way.turn, way.toes, bodies, frames, limits
    for block in told.over(list(blocks(len(frames)))):

        def solve(part: slice, first: int = block.start) -> None:
            _core.lack(*given, first + part.start, first + part.stop, lack)

        in_blocks(block.stop - block.start, RAY * len(names) * len(bodies), scene.workers, solve)
    found[frames] = lack
    return found


def _limits(motion: LegMotion, names: list[str], scene: Scene) -> tuple[Any, ...]:
    """What a foot keeps from the ground, and how far it is looked for, as the core takes it (`ikcore._core.lack`)."""
    scale, ends = motion.scale, np.array([name in ("toe", "heel") for name in names])
    near, far = (scale * length for length in (EDGE, SOLE)), (HIGH * scale, DEEP * scale)
    most = THICK * scale, TRACE * scale, scene.settings.clearance * scale, EDGE * scale
    toe = names.index("toe") if motion.toe is not None and "toe" in names else -1
    return scene.on_ground, ends, *near, *far, *most, toe, EDGE * scale


def _second_round(count: int) -> Mask:
    """Of all frames of three rounds."""
    once, found = (count - 1) // 3, np.zeros(count, bool)
    found[once : 2 * once] = True
    return found


def _with_beside(among: Mask) -> Mask:
    """Frames, and those before and after them."""
    found = among.copy()
    found[1:] |= among[:-1]
    found[:-1] |= among[1:]
    return found
