"""Planting: the path of a foot through its stances, on its footholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot, size
from ikcore.bake import quaternions
from ikcore.bake.footholds import Foothold
from ikcore.bake.scene import UNTURNED, Array, Mask, eased, mean
from ikcore.bake.stances import Foot, beside, headings
from ikcore.feet.human import BRIEF
from ikcore.feet.intervals import Rows

_HEEL_SOFT = 0.01  # of the length from ball to heel: a heel that is less deep than this is raised by less than that


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """How a foot departs from the source, over all frames."""

    shift: Array  # (frames, 3): of its reference point
    # (frames, 4): world rotations: of the foot about that point, and of its toes before that
    turn: Array
    toes: Array
    lies: Mask  # (frames,): when its toes are made to lie


def planted_on(foot: Foot, holds: list[Foothold]) -> Planted:
    """The path on footholds; elsewhere, and where a foot is copied, it does not depart from the source."""
    frames = len(foot.motion.chain)
    found = Planted(np.zeros((frames, 3)), *np.tile(UNTURNED, (2, frames, 1)), np.zeros(frames, bool))
    moved = [hold for hold in holds if not hold.copied]
    if moved:
        _Planting(foot, moved).write(found)
    for hold in moved:
        _ride(foot, hold, found)
    return found


def _ride(foot: Foot, hold: Foothold, planted: Planted) -> None:
    """Carry a foot on a part of the ground that moves, from where that is in the middle of the stance."""
    if hold.part < 0 or not foot.scene.ground.parts[hold.part].moves:
        return
    frames, whole = hold.stance.frames, foot.scene.ground.parts[hold.part]
    part, then, source = whole.still(frames), whole.still(hold.stance.middle), foot.motion.reference[frames]
    planted.shift[frames] = part.world(then.local(source + planted.shift[frames])) - source
    if part.rotations is not None and then.rotations is not None:
        turned = quaternions.multiply(part.rotations, quaternions.conjugate(then.rotations))
        planted.turn[frames] = quaternions.multiply(turned, planted.turn[frames])


class _Planting:
    """The stances of a foot on their footholds: arrays of rows, one for each of their frames.

    What the foot turns about is on the ground, the next such point where that puts it.
    """

    def __init__(self, foot: Foot, holds: list[Foothold]) -> None:
        self.foot, self.holds, self.motion, self.axis = foot, holds, foot.motion, foot.scene.axis
        stances = self.stances = [hold.stance for hold in holds]
        self.rows = rows = Rows([(each.start, each.stop) for each in stances])
        # pivots, stance by stance: which stance, which number in it, and how far that is from its main one
        pivots = [(of, at, pivot) for of, each in enumerate(stances) for at, pivot in enumerate(each.pivots)]
        self.of, self.number = np.array([each[:2] for each in pivots], np.intp).reshape(-1, 2).T
        self.from_main = self.number - np.array([each.main for each in stances])[self.of]
        self.names = list(self.motion.soles)
        self.point = np.array([self.names.index(pivot.point) for *_, pivot in pivots])
        self.parts = Rows([(pivot.start, pivot.stop) for *_, pivot in pivots])
        self.beside = np.array([beside(stances[of], at) for of, at, _ in pivots])
        self.planted = np.array([each.planted for each in stances])
        self.rise_in_source = np.array([each.rise for each in stances])
        self.ramp = BRIEF * foot.scene.fps
        self.ramps = np.minimum(self.ramp, rows.count / 3)
        self.left = 1 - eased(_share(self.parts.at / self._each(self.ramps)))
        self.reference = self.motion.reference[rows.frames]
        self.heights = np.stack([foot.above(name, rows.frames) for name in self.names]) - self._each(self.rise_in_source)
        self.above = self.heights[self.point[self.parts.of], np.arange(len(rows.of))]

    def write(self, planted: Planted) -> None:
        """How the foot departs from the source, into all of its frames."""
        turn, free = self._turned(), self._free()
        lain, rise = self._lain(turn), self._rise(free)
        turn = self._raised_heel(turn, rise, free)
        toes, lies = self._lying(lain, turn)
        frames = self.rows.frames
        planted.shift[frames], planted.turn[frames] = self._shift(rise, turn, toes), turn
        planted.toes[frames], planted.lies[frames] = toes, lies

    def _each(self, values: Array) -> Array:
        """Values of stances, for each of their frames."""
        return np.asarray(values[self.rows.of])

    def _of_pivots(self, which: Mask) -> NDArray[np.intp]:
        """The rows of some pivots."""
        return np.asarray(which[self.parts.of].nonzero()[0])

    def _at(self, point: str) -> Mask:
        """Which pivots are at that point of the sole."""
        return np.asarray(self.point == self.names.index(point) if point in self.names else np.zeros_like(self.point, bool))

    # --- how it is turned --------------------------------------------------------------------------------------------

    def _turned(self) -> Array:
        """To the slope, and back by what it turns on the spot without meaning to."""
        floors = np.stack([hold.floor for hold in self.holds])
        turn = quaternions.shortest_arc(floors, np.stack([hold.normal for hold in self.holds]))[self.rows.of]
        if not self.foot.turns:
            return np.tile(UNTURNED, (len(turn), 1))
        found = None if self.planted.all() else headings(self.foot, self.stances, self.rows, floors)
        if found is not None:
            ways, wanted, holds = found
            back = self._each(holds & ~self.planted).nonzero()[0]
            straight = quaternions.shortest_arc(ways[back], wanted[self.rows.of[back]])
            turn[back] = quaternions.multiply(turn[back], straight)
        return turn

    def _lain(self, turn: Array) -> dict[int, Array]:
        """How toes lie, by stance: as they are turned while the foot is flat, or on its ball; of those that are to."""
        if self.motion.toe_turn is None or not self.foot.scene.settings.lock:
            return {}
        turned, found = quaternions.multiply(turn, self.motion.toe_turn[self.rows.frames]), {}
        on_ball, first = self._at(self.motion.ball)[self.parts.of], self.rows.first.tolist()
        for number, stance in enumerate(self.stances):
            few, own = len(stance.flat) // 4, slice(first[number], first[number] + stance.stop - stance.start)
            flat = own.start + stance.flat[few : len(stance.flat) - few] - stance.start
            rows = flat[on_ball[flat]] if on_ball[flat].any() else own.start + on_ball[own].nonzero()[0]
            if len(rows) and not stance.planted:
                sign = np.where((turned[rows] * turned[rows[0]]).sum(axis=1) < 0, -1.0, 1.0)
                found[number] = quaternions.normalize(mean(turned[rows] * sign[:, np.newaxis]))
        return found

    def _lying(self, lain: dict[int, Array], turn: Array) -> tuple[Array, Mask]:
        """Toes that lie as long as the foot turns about its ball, and then turn with it; and when they do."""
        toes, lies = np.tile(UNTURNED, (len(turn), 1)), np.zeros(len(turn), bool)
        if not lain or self.motion.toe_turn is None:
            return toes, lies
        those = np.zeros(len(self.stances), bool)
        those[list(lain)] = True
        down = (self._each(those) & self._at(self.motion.ball)[self.parts.of]).nonzero()[0]
        turned = quaternions.multiply(turn[down], self.motion.toe_turn[self.rows.frames[down]])
        wanted = np.stack([lain.get(number, UNTURNED) for number in range(len(those))])[self.rows.of[down]]
        toes[down], lies[down] = quaternions.multiply(wanted, quaternions.conjugate(turned)), True
        on_toes = self._of_pivots(self._at("toe") & those[self.of])
        toes[on_toes], lies[on_toes] = toes[self.parts.first[self.parts.of[on_toes]] - 1], True
        return toes, lies

    # --- how high it is ----------------------------------------------------------------------------------------------

    def _free(self) -> Array:
        """How much of its own height a foot keeps: all where it arrives and leaves, none while it is flat."""
        rows, ramps = self.rows, self.ramps
        last_flat = np.array([stance.flat[-1] for stance in self.stances])
        rises = np.maximum(ramps, rows.stop - 1 - last_flat)
        arrives = 1 - eased(_share((rows.at + 1) / self._each(ramps)))
        leaves = 1 - _share((self._each(rows.count) - rows.at) / self._each(rises))
        cut = rows.start == 0, rows.stop == len(self.motion.chain)
        return np.maximum(np.where(self._each(cut[0]), 0.0, arrives), np.where(self._each(cut[1]), 0.0, leaves))

    def _rise(self, free: Array) -> Array:
        """How high pivots are above their place: by themselves, and as the one before has left them, less and less."""
        parts, above = self.parts, self.above
        later = ((self.number > 0) & (self.from_main <= 0))[parts.of]
        found = np.maximum(above, 0) * np.where(later, np.maximum(free, self.left), free)
        first, before = parts.first, self.heights[np.roll(self.point, 1), parts.first]  # of the point of the pivot before
        for number in range(1, int(self.number.max()) + 1):
            more = found[first - 1] + above[first] - before - found[first]
            rows = self._of_pivots(self.number == number)
            found[rows] += (more[parts.of] * self.left)[rows]
        return np.where(self._each(self.planted), above, found)

    def _raised_heel(self, turn: Array, rise: Array, free: Array) -> Array:
        """Turn the foot about its ball so that its heel is not in the ground, and less and less over its toes.

        Not in a brief stance at an end of the clip, which shows too little of it.
        """
        motion, rows, parts, frames = self.motion, self.rows, self.parts, self.rows.frames
        if not (self.foot.turns and self.foot.keeps_heel and "heel" in motion.soles):
            return turn
        cut = (rows.start == 0) | (rows.stop == len(motion.chain))
        some = ~self.planted & ~(cut & (rows.count < 2 * self.ramp))
        arm = motion.soles["heel"][frames] - motion.soles[motion.ball][frames]
        deep = self.foot.above(motion.ball, frames) - self.foot.above("heel", frames) - rise
        deep = np.maximum(deep, 0) * self._each(some)
        deep = deep * (deep / np.maximum(deep + _HEEL_SOFT * size(arm), 1e-300)) * (1 - free)
        arrives = eased(_share((rows.at + 1) / self._each(2 * self.ramps)))
        deep = np.where(self._each(rows.start > 0), deep * arrives, deep)
        heel, ball = self._at("heel"), self._at(motion.ball)
        less = 1 - eased(_share((parts.at + 1) / self._each(self.ramps)))
        for number in range(int(self.number.max()) + 1):
            last = np.where(heel | (self.number == 0), 0.0, deep[parts.first - 1])
            own = self._of_pivots((self.number == number) & ~ball)
            deep[own] = (last[parts.of] * less)[own]
        raised = (deep > 0).nonzero()[0]
        more = arm[raised] + deep[raised, np.newaxis] * self.foot.scene.up
        turn[raised] = quaternions.multiply(turn[raised], quaternions.shortest_arc(arm[raised], more))
        return turn

    # --- where it is -------------------------------------------------------------------------------------------------

    def _shift(self, rise: Array, turn: Array, toes: Array) -> Array:
        """Of the reference point: the main pivot stands on its foothold, those next to it where that puts them."""
        parts, scene, high, found = self.parts, self.foot.scene, rise.copy(), np.empty((len(rise), 3))
        aside, rows = np.stack([hold.aside for hold in self.holds]), np.arange(len(rise))
        slips = np.concatenate([stance.slips for stance in self.stances])
        point, stance = self.point[parts.of], self.rows.of
        there = scene.level(self._source(point, rows)) + slips + aside[stance]
        arm = self._put(point, rows, turn, toes)
        for step in sorted({*self.from_main.tolist()}, key=lambda step: (step < 0, abs(step))):
            which = self.from_main == step
            own = self._of_pivots(which)
            if step:  # the foot turns about this pivot and the one next to it in the frame between them
                near = self.beside - self.rows.start[self.of] + self.rows.first[self.of]
                put = self._put(self.point, near, turn, toes) + found[near]
                moved = scene.level(put - self._source(self.point, near) - aside[self.of])
                there[own] += moved[parts.of[own]]
            if step > 0:
                more = put[:, self.axis] - self._standing(self.point, self.of, put) - rise[parts.first]
                more[self.planted[self.of]] = 0.0
                high[own] += (more[parts.of] * self.left)[own]
            there[own, self.axis] = self._standing(point[own], stance[own], there[own]) + high[own]
            found[own] = there[own] - arm[own]
        return found

    def _source(self, point: NDArray[np.intp], rows: NDArray[np.intp]) -> Array:
        """Where points of the sole are in the source, one for each of these rows."""
        return np.asarray(self.motion.points[self.rows.frames[rows], point])

    def _put(self, point: NDArray[np.intp], rows: NDArray[np.intp], turn: Array, toes: Array) -> Array:
        """Where the foot puts points of its sole, except for its shift."""
        at, reference = self._source(point, rows), self.reference[rows]
        if not self.foot.turns:
            return at
        turned, bent = turn[rows], np.array([self.motion.on_toes(name) for name in self.names])[point]
        turned[bent] = quaternions.multiply(toes[rows[bent]], turned[bent])
        return np.asarray(reference + quaternions.rotate(turned, at - reference))

    def _standing(self, point: NDArray[np.intp], stance: NDArray[np.intp], there: Array) -> Array:
        """The heights at which points of the sole stand at places (n, 3)."""
        slope, thick = self.foot.scene.slope, self.foot.floor.thick
        base = np.array([hold.place[self.axis] + hold.lift for hold in self.holds])
        places, slopes = (np.stack(each) for each in zip(*[(hold.place, slope(hold.normal)) for hold in self.holds]))
        over = dot(there - places[stance], slopes[stance])
        return np.asarray(base[stance] + over + np.array([thick[name] for name in self.names])[point])


def _share(values: Array) -> Array:
    return np.minimum(np.maximum(values, 0), 1)
