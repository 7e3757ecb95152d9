"""Planting: the path of a foot through a stance, on its foothold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore._arrays import dot, size
from ikcore.bake import quaternions
from ikcore.bake.footholds import Foothold
from ikcore.bake.scene import UNTURNED, Array, Mask, eased, mean
from ikcore.bake.stances import Foot, Pivot, Stance, beside, headings
from ikcore.feet.human import BRIEF

_HEEL_SOFT = 0.01  # of the length from ball to heel: a heel that is less deep than this is raised by less than that


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """How a foot departs from the source in a stance."""

    shift: Array  # (frames, 3): of its reference point
    # (frames, 4): world rotations: of the foot about that point, and of its toes before that
    turn: Array
    toes: Array
    lies: Mask  # (frames,): when its toes are made to lie


def planted_on(foot: Foot, foothold: Foothold) -> Planted:
    """The path on a foothold: what the foot turns about is on the ground, the next such point where that puts it."""
    stance = foothold.stance
    return _Planting(foot, foothold, stance).path()


class _Planting:
    """One stance; frames count from its start."""

    def __init__(self, foot: Foot, foothold: Foothold, stance: Stance) -> None:
        self.foot, self.foothold, self.stance = foot, foothold, stance
        self.motion, self.axis = foot.motion, foot.scene.axis
        count, ramp = stance.stop - stance.start, BRIEF * foot.scene.fps
        self.ramp, self.at = min(ramp, count / 3), np.arange(count)
        self.reference = self.motion.reference[stance.frames]
        self.shift, self.toes = np.zeros((count, 3)), np.tile(UNTURNED, (count, 1))
        self.lies = np.zeros(count, bool)
        self.turn = self._turned() if foot.turns else np.tile(UNTURNED, (count, 1))
        self.free = self._free(ramp)

    def path(self) -> Planted:
        """How the foot departs from the source."""
        stance = self.stance
        lain = self._lain()
        rise = self._rise()
        if self.foot.turns and self.foot.keeps_heel and "heel" in self.motion.soles and not stance.planted:
            self._raise_heel(rise)
        if lain is not None:
            self._lie(lain)
        main = stance.main
        for number in (*range(main, len(stance.pivots)), *range(main - 1, -1, -1)):
            self._put(number, rise)
        return Planted(self.shift, self.turn, self.toes, self.lies)

    def _own(self, pivot: Pivot) -> slice:
        return slice(pivot.start - self.stance.start, pivot.stop - self.stance.start)

    # --- how it is turned --------------------------------------------------------------------------------------------

    def _turned(self) -> Array:
        """To the slope, and back by what it turns on the spot without meaning to."""
        floor, count = self.foothold.floor, len(self.at)
        tilt = np.broadcast_to(quaternions.shortest_arc(floor, self.foothold.normal), (count, 4))
        found = None if self.stance.planted else headings(self.foot, self.stance, floor)
        if found is None:
            return tilt.copy()
        return quaternions.multiply(tilt, quaternions.shortest_arc(found[0], np.broadcast_to(found[1], (count, 3))))

    def _lain(self) -> Array | None:
        """How toes lie: as they are turned while the foot is flat, or on its ball; None if they are not made to."""
        toes, stance = self.motion.toe_turn, self.stance
        if toes is None or stance.planted or not self.foot.scene.settings.lock:
            return None
        on_ball = self._on_ball()
        few = len(stance.flat) // 4
        flat = stance.flat[few : len(stance.flat) - few] - stance.start
        frames = flat[on_ball[flat]] if on_ball[flat].any() else np.flatnonzero(on_ball)
        if not len(frames):
            return None
        turned = self._toes_turned(toes)[frames]
        sign = np.where((turned * turned[0]).sum(axis=1) < 0, -1.0, 1.0)
        return quaternions.normalize(mean(turned * sign[:, np.newaxis]))

    def _toes_turned(self, toes: Array) -> Array:
        return quaternions.multiply(self.turn, toes[self.stance.frames])

    def _on_ball(self) -> Mask:
        found = np.zeros(len(self.at), bool)
        for pivot in self.stance.pivots:
            found[self._own(pivot)] = pivot.point == self.motion.ball
        return found

    def _lie(self, lain: Array) -> None:
        """As long as the foot turns about its ball; then they turn with it."""
        assert self.motion.toe_turn is not None
        on_ball, last = self._on_ball(), self.stance.pivots[-1]
        turned = quaternions.conjugate(self._toes_turned(self.motion.toe_turn))
        laid = quaternions.multiply(np.broadcast_to(lain, turned.shape), turned)
        self.toes[on_ball], self.lies[on_ball] = laid[on_ball], True
        if last.point == "toe":
            own = self._own(last)
            self.toes[own], self.lies[own] = self.toes[own.start - 1], True

    # --- how high it is ----------------------------------------------------------------------------------------------

    def _free(self, ramp: float) -> Array:
        """How much of its own height a foot keeps: all where it arrives and leaves, none while it is flat."""
        stance, free = self.stance, np.zeros(len(self.at))
        if stance.start > 0:
            free = 1 - eased(_share((self.at + 1) / self.ramp))
        if stance.stop < len(self.motion.chain):
            rises = max(self.ramp, stance.stop - 1 - int(stance.flat[-1]))
            free = np.maximum(free, 1 - _share((len(self.at) - self.at) / rises))
        return free

    def _left(self, count: int) -> Array:
        """From 1 where a pivot begins to 0 where the foot has gone over to it."""
        return 1 - eased(_share(np.arange(count) / self.ramp))

    def _above(self, point: str) -> Array:
        return self.foot.above(point, self.stance.frames) - self.stance.rise

    def _rise(self) -> Array:
        """How high pivots are above their place: by themselves, and as the one before has left them, less and less."""
        stance, found = self.stance, np.zeros(len(self.at))
        before: str | None = None
        for number, pivot in enumerate(stance.pivots):
            own = self._own(pivot)
            above, left = self._above(pivot.point), self._left(own.stop - own.start)
            if stance.planted:
                found[own] = above[own]
                continue
            free = np.maximum(self.free[own], left) if 0 < number <= stance.main else self.free[own]
            found[own] = np.maximum(above[own], 0) * free
            if before is not None:
                more = found[own.start - 1] + above[own.start] - self._above(before)[own.start] - found[own.start]
                found[own] += more * left
            before = pivot.point
        return found

    def _raise_heel(self, rise: Array) -> None:
        """Turn the foot about its ball so that its heel is not in the ground, and less and less over its toes.

        Not in a brief stance at an end of the clip, which shows too little of it.
        """
        stance, motion, ramp = self.stance, self.motion, BRIEF * self.foot.scene.fps
        if (stance.start == 0 or stance.stop == len(motion.chain)) and len(self.at) < 2 * ramp:
            return
        arm = (motion.soles["heel"] - motion.soles[motion.ball])[stance.frames]
        deep = np.maximum(self._above(motion.ball) - self._above("heel") - rise, 0)
        deep = deep * (deep / np.maximum(deep + _HEEL_SOFT * size(arm), 1e-300)) * (1 - self.free)
        if stance.start > 0:
            deep *= eased(_share((self.at + 1) / (2 * self.ramp)))
        last = 0.0
        for pivot in stance.pivots:
            own = self._own(pivot)
            if pivot.point != motion.ball:
                last = 0.0 if pivot.point == "heel" else last
                deep[own] = last * (1 - eased(_share(np.arange(1, own.stop - own.start + 1) / self.ramp)))
            last = float(deep[own.stop - 1])
        raised = np.flatnonzero(deep > 0)
        more = arm[raised] + deep[raised, np.newaxis] * self.foot.scene.up
        self.turn[raised] = quaternions.multiply(self.turn[raised], quaternions.shortest_arc(arm[raised], more))

    # --- where it is -------------------------------------------------------------------------------------------------

    def _sole(self, point: str, own: slice) -> Array:
        """Where the foot puts a point of its sole, but for its shift."""
        turn, frames = self.turn[own], slice(self.stance.start + own.start, self.stance.start + own.stop)
        arm = self.motion.soles[point][frames] - self.reference[own]
        if self.motion.on_toes(point):
            arm = quaternions.rotate(quaternions.multiply(self.toes[own], turn), arm)
        elif self.foot.turns:
            arm = quaternions.rotate(turn, arm)
        return np.asarray(self.reference[own] + arm)

    def _standing(self, point: str, there: Array) -> Array:
        """The height at which a point stands at places (frames, 3)."""
        hold, scene = self.foothold, self.foot.scene
        slope = scene.slope(hold.normal)
        return np.asarray(
            hold.place[self.axis] + hold.lift + dot(there - hold.place, slope) + self.foot.floor.thick[point]
        )

    def _put(self, number: int, rise: Array) -> None:
        stance, hold, scene = self.stance, self.foothold, self.foot.scene
        pivot = stance.pivots[number]
        own, high = self._own(pivot), rise
        there = scene.level(self.motion.soles[pivot.point][pivot.start : pivot.stop]) + stance.slips[own] + hold.aside
        if number != stance.main:
            near = beside(stance, number) - stance.start
            frame = slice(near, near + 1)
            put = self._sole(pivot.point, frame) + self.shift[frame]
            moved = put - self.motion.soles[pivot.point][stance.start + near]
            there = there + scene.level(moved - hold.aside)
            if number > stance.main and not stance.planted:
                more = float((put[0, self.axis] - self._standing(pivot.point, put)[0]) - rise[own.start])
                high = rise.copy()
                high[own] += more * self._left(own.stop - own.start)
        there[:, self.axis] = self._standing(pivot.point, there) + high[own]
        self.shift[own] = there - self._sole(pivot.point, own)


def _share(values: Array) -> Array:
    return np.minimum(np.maximum(values, 0), 1)
