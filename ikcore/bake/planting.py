"""Planting: the paths of feet through their stances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot
from ikcore.bake import quaternions
from ikcore.bake.foot import Foot, StanceTrack, batches
from ikcore.bake.footholds import Foothold
from ikcore.bake.scene import IDENTITY, Array, Mask, identity_rotations, mean, smooth_step
from ikcore.bake.stances import headings
from ikcore.feet.thresholds import PLANT_TOLERANCE, SHORTEST_STANCE


@dataclass(frozen=True, slots=True, eq=False)
class StancePaths:
    """Displacement and rotation of feet in their stances relative to the source, over all frames."""

    shift: Array  # (feet, frames, 3): displacement of the reference points
    # (feet, frames, 4): world rotations of feet about these points, and of their toes before that
    turn: Array
    toes: Array
    lies: Mask  # (feet, frames): frames in which toes lie on the ground


def stance_paths_of(feet: list[Foot], holds: list[Foothold]) -> StancePaths:
    """The paths of feet on footholds; identity in other frames, and for feet that stay unchanged."""
    shape = len(feet), len(feet[0].motion.chain)
    found = StancePaths(
        np.zeros((*shape, 3)), identity_rotations(*shape), identity_rotations(*shape), np.zeros(shape, bool)
    )
    moved = sorted((hold for hold in holds if not hold.copied), key=lambda hold: (hold.stance.leg, hold.stance.start))
    for some in batches(moved):
        _StancePlanter(feet, some).write(found)
    for hold in moved:
        _ride(feet[hold.stance.leg], hold, found)
    return found


def _ride(foot: Foot, hold: Foothold, planted: StancePaths) -> None:
    """Carry a foot with a moving part of the ground, relative to the middle of the stance."""
    if hold.part < 0 or not foot.scene.ground.parts[hold.part].moves:
        return
    frames, whole = hold.stance.frames, foot.scene.ground.parts[hold.part]
    part, then, source = whole.still(frames), whole.still(hold.stance.middle), foot.motion.reference[frames]
    own = hold.stance.leg, frames
    planted.shift[own] = part.world(then.local(source + planted.shift[own])) - source
    if part.rotations is not None and then.rotations is not None:
        turned = quaternions.multiply(part.rotations, quaternions.conjugate(then.rotations))
        planted.turn[own] = quaternions.multiply(turned, planted.turn[own])


class _StancePlanter(StanceTrack):
    """Stances on their footholds.

    The main pivot of a foot is on the ground; the position of each next pivot follows from the one before.
    """

    def __init__(self, feet: list[Foot], holds: Sequence[Foothold]) -> None:
        super().__init__(feet, [hold.stance for hold in holds])
        self.axis, rows = self.scene.axis, self.rows
        self.planted = np.array([each.planted for each in self.stances])
        # the planes of footholds: normals, positions, heights and slopes along each axis
        self.aside, self.normals, self.floors, self.places = np.array(
            [(hold.aside, hold.normal, hold.floor, hold.place) for hold in holds]
        ).swapaxes(0, 1)
        self.slopes = self.scene.slope(self.normals)
        self.level = self.places[:, self.axis] + np.array([hold.lift for hold in holds])
        self.ramp = SHORTEST_STANCE * self.scene.fps
        self.ramps = np.minimum(self.ramp, rows.count / 3)
        self.left = 1 - smooth_step(_share(self.parts.at / self.each(self.ramps)))
        self.reference = self.gather([foot.motion.reference for foot in feet])
        self.above = self.heights[np.arange(len(rows.of)), self.point[self.parts.of]]  # heights of the pivots
        self.thick = self.table(lambda foot, name: foot.floor.thick[name])
        self.turns = np.array([foot.turns for foot in feet])[self.leg]
        self.ball = self.at("reference")

    def write(self, planted: StancePaths) -> None:
        """Write displacement and rotation into the frames of the stances."""
        turn, free = self._foot_turns(), self._own_height_share()
        lain, rise = self._lying_rotations(turn), self._rise(free)
        turn = self._raise_heel(turn, rise, free)
        toes, lies = self._toes_in_stance(lain, turn)
        own = self.each(self.leg), self.rows.frames
        planted.shift[own], planted.turn[own] = self._shift(rise, turn, toes), turn
        planted.toes[own], planted.lies[own] = toes, lies

    def _of_pivots(self, which: Mask) -> NDArray[np.intp]:
        """The rows of some pivots."""
        return np.asarray(which[self.parts.of].nonzero()[0])

    # --- rotation -----------------------------------------------------------------------------------------------------

    def _foot_turns(self) -> Array:
        """Rotations of feet to the slope, without the slow spin of a foot on the spot."""
        turn = quaternions.shortest_arc(self.floors, self.normals)
        turn[~self.turns] = IDENTITY
        turn = self.each(turn)
        if self.scene.settings.lock and not self.planted.all():
            ways, wanted, holds = headings(self, self.floors)
            back = self.each(holds & ~self.planted).nonzero()[0]
            straight = quaternions.shortest_arc(ways.take(back, axis=0), wanted.take(self.rows.of[back], axis=0))
            turn[back] = quaternions.multiply(turn.take(back, axis=0), straight)
        return turn

    def _toe_turns(self) -> Array | None:
        """World rotations of toes in the source; None if no foot has toes."""
        turns = [foot.motion.toe_turn for foot in self.feet]
        known = next((turn for turn in turns if turn is not None), None)
        return None if known is None else self.gather([known if turn is None else turn for turn in turns])

    def _lying_rotations(self, turn: Array) -> tuple[Array, Mask]:
        """Mean rotations (stances, 4) of toes while the foot is flat or on its ball, and the stances with some."""
        toes, found = self._toe_turns(), identity_rotations(len(self.stances))
        has = np.array([foot.motion.toe_turn is not None for foot in self.feet])[self.leg] & ~self.planted
        if toes is None or not self.scene.settings.lock:
            return found, np.zeros_like(has)
        flat, on_ball = np.zeros(len(turn), bool), self.ball[self.parts.of]
        for first, each in zip(self.rows.first.tolist(), self.stances, strict=True):
            few = len(each.flat) // 4
            flat[first + each.flat[few : len(each.flat) - few] - each.start] = True
        flat &= on_ball
        none = np.bincount(self.rows.of, flat) == 0
        chosen = (np.where(self.each(none), on_ball, flat) & self.each(has)).nonzero()[0]
        turned, of = quaternions.multiply(turn.take(chosen, axis=0), toes.take(chosen, axis=0)), self.rows.of[chosen]
        if not len(of):
            return found, np.zeros_like(has)
        edges = [0, *((of[1:] != of[:-1]).nonzero()[0] + 1).tolist(), len(of)]
        apart = (turned * turned.take(edges[:-1], axis=0).repeat(np.diff(edges), axis=0)).sum(axis=1) < 0
        turned *= np.where(apart, -1.0, 1.0)[:, np.newaxis]
        for first, last in pairwise(edges):
            found[of[first]] = mean(turned[first:last])
        return quaternions.normalize(found), np.bincount(of, minlength=len(has)) > 0

    def _toes_in_stance(self, lain: tuple[Array, Mask], turn: Array) -> tuple[Array, Mask]:
        """Toe rotations, and where toes lie: still while the foot turns about its ball, then rotating with it."""
        toes, lies, source = identity_rotations(len(turn)), np.zeros(len(turn), bool), self._toe_turns()
        if source is None or not lain[1].any():
            return toes, lies
        down = self._of_pivots(self.ball & lain[1][self.of])
        turned = quaternions.multiply(turn.take(down, axis=0), source.take(down, axis=0))
        wanted = lain[0].take(self.rows.of[down], axis=0)
        toes[down] = quaternions.multiply(wanted, quaternions.conjugate(turned))
        lies[down] = True
        on_toes = self._of_pivots(self.at("toe") & ~self.ball & lain[1][self.of])
        toes[on_toes], lies[on_toes] = toes[self.parts.first[self.parts.of[on_toes]] - 1], True
        return toes, lies

    # --- height -------------------------------------------------------------------------------------------------------

    def _own_height_share(self) -> Array:
        """Share of its own height that a foot keeps: 1 where it arrives and leaves, 0 while it is flat."""
        rows, ramps = self.rows, self.ramps
        last_flat = np.array([each.flat[-1] for each in self.stances])
        rises = np.maximum(ramps, rows.stop - 1 - last_flat)
        arrives = 1 - smooth_step(_share((rows.at + 1) / self.each(ramps)))
        leaves = 1 - _share((self.each(rows.count) - rows.at) / self.each(rises))
        cut = rows.start == 0, rows.stop == len(self.feet[0].motion.chain)
        return np.maximum(np.where(self.each(cut[0]), 0.0, arrives), np.where(self.each(cut[1]), 0.0, leaves))

    def _rise(self, free: Array) -> Array:
        """Heights of pivots above footholds: their own, plus the difference to the pivot before, which fades."""
        parts, above = self.parts, self.above
        later = ((self.number > 0) & (self.from_main <= 0))[parts.of]
        found = np.maximum(above, 0) * np.where(later, np.maximum(free, self.left), free)
        first = parts.first
        before = self.heights[first, np.roll(self.point, 1)]  # height of the point of the pivot before
        for number in range(1, int(self.number.max()) + 1):
            more = found[first - 1] + above[first] - before - found[first]
            rows = self._of_pivots(self.number == number)
            found[rows] += (more[parts.of] * self.left)[rows]
        return np.asarray(np.where(self.each(self.planted), above, found))

    def _raise_heel(self, turn: Array, rise: Array, free: Array) -> Array:
        """Rotate the foot about its ball to keep its heel out of the ground; the rotation fades over its toes.

        Not in a brief stance at an end of the clip, which shows too little of it.
        """
        rows, parts, at = self.rows, self.parts, np.arange(len(turn))
        cut = (rows.start == 0) | (rows.stop == len(self.feet[0].motion.chain))
        keeps = np.array([foot.turns and foot.keeps_heel for foot in self.feet])[self.leg]
        some = keeps & ~self.planted & ~(cut & (rows.count < 2 * self.ramp))
        if not some.any():
            return turn
        names = [(self.names[each.leg], self.feet[each.leg].motion.ball) for each in self.stances]
        pairs = [[known.index(name) if name in known else 0 for name in ("heel", ball)] for known, ball in names]
        heel, ball = self.each(np.array(pairs)).T
        arm, deep = (
            self.positions(heel, at) - self.positions(ball, at),
            self.heights[at, ball] - self.heights[at, heel] - rise,
        )
        deep = np.where(self.each(some), np.maximum(deep, 0), 0.0)
        soft = self.each(PLANT_TOLERANCE * np.array([foot.motion.scale for foot in self.feet])[self.leg])
        deep = deep * (deep / (deep + soft)) * (1 - free)  # within the plant tolerance the heel is raised by less
        arrives = smooth_step(_share((rows.at + 1) / self.each(2 * self.ramps)))
        deep = np.where(self.each(rows.start > 0), deep * arrives, deep)
        less = 1 - smooth_step(_share((parts.at + 1) / self.each(self.ramps)))
        for number in range(int(self.number.max()) + 1):
            last = np.where(self.at("heel") | (self.number == 0), 0.0, deep[parts.first - 1])
            own = self._of_pivots((self.number == number) & ~self.ball)
            deep[own] = (last[parts.of] * less)[own]
        raised = (deep > 0).nonzero()[0]
        more = arm[raised] + deep[raised, np.newaxis] * self.scene.up
        turn[raised] = quaternions.multiply(turn[raised], quaternions.shortest_arc(arm[raised], more))
        return turn

    # --- position -----------------------------------------------------------------------------------------------------

    def _shift(self, rise: Array, turn: Array, toes: Array) -> Array:
        """Displacement of the reference point: the main pivot is on its foothold, and the next ones follow from it."""
        parts, high, found, rows = self.parts, rise.copy(), np.empty((len(rise), 3)), np.arange(len(rise))
        slips = np.concatenate([stance.slips for stance in self.stances])
        point, stance = self.point[parts.of], self.rows.of
        there = self.scene.level(self.positions(point, rows)) + slips + self.each(self.aside)
        arm = self._positions_after_turn(point, rows, turn, toes)
        for step in sorted({*self.from_main.tolist()}, key=lambda step: (step < 0, abs(step))):
            own = self._of_pivots(self.from_main == step)
            if step:  # in the frame beside it the foot turns about both this pivot and its neighbour
                put = self._positions_after_turn(self.point, self.beside, turn, toes) + found.take(self.beside, axis=0)
                was = self.positions(self.point, self.beside) + self.aside.take(self.of, axis=0)
                there[own] += self.scene.level(put - was).take(parts.of[own], axis=0)
            if step > 0:
                more = put[:, self.axis] - self._standing_heights(self.point, self.of, put) - rise[parts.first]
                more[self.planted[self.of]] = 0.0
                high[own] += (more[parts.of] * self.left)[own]
            at = there.take(own, axis=0)
            at[:, self.axis] = self._standing_heights(point[own], stance[own], at) + high[own]
            found[own] = at - arm.take(own, axis=0)
        return found

    def _positions_after_turn(self, point: NDArray[np.intp], rows: NDArray[np.intp], turn: Array, toes: Array) -> Array:
        """Positions of points of soles, one for each row, without the displacement of the foot."""
        at, reference, leg = (
            self.positions(point, rows),
            self.reference.take(rows, axis=0),
            self.leg[self.rows.of[rows]],
        )
        bent = self.table(lambda foot, name: foot.motion.on_toes(name), default=False)[leg, point].nonzero()[0]
        turned = turn.take(rows, axis=0)
        turned[bent] = quaternions.multiply(toes.take(rows[bent], axis=0), turned[bent])
        return np.asarray(reference + quaternions.rotate(turned, at - reference))

    def _standing_heights(self, point: NDArray[np.intp], stance: NDArray[np.intp], there: Array) -> Array:
        """Heights of points of soles that stand at places (n, 3)."""
        over = dot(there - self.places.take(stance, axis=0), self.slopes.take(stance, axis=0))
        return np.asarray(self.level[stance] + over + self.thick[self.leg[stance], point])


def _share(values: Array) -> Array:
    return np.minimum(np.maximum(values, 0), 1)
