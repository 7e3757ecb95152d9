"""Foot paths: where a foot should be in every frame, and how it is turned to the ground."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import dot, size
from ikcore.bake import quaternions
from ikcore.bake.clearance import clearance_of, lifted
from ikcore.bake.foot import Foot, Stance, batches, edge_of
from ikcore.bake.footholds import Foothold
from ikcore.bake.motion import LegMotion
from ikcore.bake.planting import Planted, planted_on
from ikcore.bake.scene import UNTURNED, Array, Mask, Scene, eased
from ikcore.clips.smoothing import spline
from ikcore.contacts.intervals import Rows, blocks
from ikcore.feet.human import BRIEF, STEP


@dataclass(frozen=True, slots=True, eq=False)
class FootPath:
    """How a foot departs from the source, over all frames."""

    motion: LegMotion  # the leg in the source
    shift: Array  # (frames, 3): of its reference point
    turn: Array  # (frames, 4): a world rotation, about that point
    # (frames, 4): that of the toes before it, where they bend: while they lie on the ground they do not turn with the
    # foot
    toes: Array
    lies: Mask  # (frames,): when they are made to lie
    plain: Array  # (frames,): how much of the shift upwards is not for obstacles: what the pelvis follows
    stands: Array  # (frames,): how much the foot stands: 1 in its stances, less and less before and after, then 0

    def carried(self, points: Array, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """The new positions of points of the foot (frames, 3)."""
        turn = None if self.motion.leg.ankle is None else self.turn[frames]
        return _core.displaced(points, self.motion.reference[frames], self.shift[frames], turn)

    def soles(self, names: list[str], frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """The new positions of points of the sole, (frames, names, 3)."""
        motion, turn = self.motion, self.turn[frames]
        origin, shift = motion.reference[frames], self.shift[frames]
        on_toes = [motion.on_toes(name) for name in names]
        bent = quaternions.multiply(self.toes[frames], turn) if any(on_toes) else turn
        found = np.empty((len(turn), len(names), 3))
        for at, (name, bends) in enumerate(zip(names, on_toes, strict=True)):
            by = bent if bends else None if motion.leg.ankle is None else turn
            found[:, at] = _core.displaced(motion.soles[name][frames], origin, shift, by)
        return found

    @property
    def ankle(self) -> Array:
        """The wanted end of the leg."""
        return self.carried(self.motion.ankle)

    def without_source(self) -> FootPath:
        """The path alone: the motion of the source and the bend of the toes are freed."""
        self.motion.forget()
        return dataclasses.replace(self, toes=self.toes[:0].copy(), lies=self.lies[:0].copy())

    def weighed(self, weight: float) -> FootPath:
        """Some of it."""
        return dataclasses.replace(self, shift=self.shift * weight, turn=quaternions.weighed(self.turn, weight))

    def part(self, motion: LegMotion, frames: slice) -> FootPath:
        """Some of the frames."""
        shift, turn, toes = self.shift[frames], self.turn[frames], self.toes[frames]
        return FootPath(motion, shift, turn, toes, self.lies[frames], self.plain[frames], self.stands[frames])


Plane = tuple[Foothold, bool]  # and whether a foot stands on it
Gap = tuple[Plane, Plane]  # between which a foot swings


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The footholds of a foot."""

    foot: Foot  # in the source
    # where it stands, and what it passes before the first stance and after the last
    holds: list[Foothold]
    passed: list[Foothold]
    copied: Mask  # (frames,): when it stays exactly where it is


def paths_of(steps: list[Steps], scene: Scene, rounds: bool) -> list[FootPath]:
    """The paths of all feet. A loop has three rounds; its obstacles are those of the second."""
    planted = planted_on([each.foot for each in steps], [hold for each in steps for hold in each.holds])
    _release(steps, planted, scene)
    _swing(steps, planted, scene)
    plain, stands = planted.shift[..., scene.axis].copy(), _stands(steps, planted.lies.shape, scene)
    paths = [
        FootPath(steps[at].foot.motion, *each)
        for at, each in enumerate(
            zip(planted.shift, planted.turn, planted.toes, planted.lies, plain, stands, strict=True)
        )
    ]
    swings = [_swings(each) for each in steps]
    needs = [
        clearance_of(each.foot, path, spans, _still(each, spans), each.copied, rounds)
        for each, path, spans in zip(steps, paths, swings, strict=True)
    ]
    return lifted(paths, needs, scene)


def _stands(steps: list[Steps], shape: tuple[int, int], scene: Scene) -> Array:
    """How much feet stand (feet, frames): 1 within stances, and from there to 0 within the shortest of stances."""
    inside, frames = np.zeros(shape, bool), shape[1]
    for each in [hold.stance for foot in steps for hold in foot.holds]:
        edge = int(edge_of(each.stop - each.start, scene))  # within the clip a foot still arrives, or leaves already
        inside[each.leg, each.start + edge * (each.start > 0) : each.stop - edge * (each.stop < frames)] = True
    (last, following), at = _nearest(inside), np.arange(frames)
    away = np.minimum(np.where(last < 0, np.inf, at - last), np.where(following == frames, np.inf, following - at))
    return 1 - eased(np.minimum(away / (scene.fps * BRIEF), 1))


def _nearest(known: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The last frame up to each, and the first one from each, that is known (..., frames); -1 and `frames` if none."""
    frames = known.shape[-1]
    at = np.arange(frames)
    last = np.maximum.accumulate(np.where(known, at, -1), axis=-1)
    return last, np.minimum.accumulate(np.where(known, at, frames)[..., ::-1], axis=-1)[..., ::-1]


def _swings(steps: Steps) -> list[tuple[int, int]]:
    """The frames between what a foot stands on, or passes."""
    frames = len(steps.foot.motion.chain)
    passed = [hold for hold in steps.passed if 0 < hold.stance.start < frames - 1]
    down = sorted((hold.stance.start, hold.stance.stop) for hold in [*steps.holds, *passed])
    edges = [0, *(edge for span in down for edge in span), frames]
    return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if stop > start]


def _still(steps: Steps, swings: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The swings between stances that stay exactly where they are."""
    moved = {edge for hold in steps.holds if not hold.copied for edge in (hold.stance.start, hold.stance.stop)}
    return [span for span in swings if not moved & {*span}]


# --- in swing --------------------------------------------------------------------------------------------------------


def _release(steps: list[Steps], planted: Planted, scene: Scene) -> None:
    """Blend changes of feet and toes by stances smoothly through swings: offsets, and rotations of toes.

    They fade to 0 towards an end of the clip that comes before the blend ends.
    """
    count, laid, shape = len(steps), _laid(steps, planted), (2 * len(steps), *planted.shift.shape[1:])
    values, pinned = np.zeros(shape), np.zeros(shape, bool)
    _offsets(steps, planted, scene, values[:count], pinned[:count])
    values[count:], pinned[count:] = quaternions.log(planted.toes), laid
    free = [at for at in range(len(values)) if values[at].any() and not pinned[at].all()]
    whole = free and len(list(blocks(values.shape[1]))) == 1  # of a long clip one by one, as that takes memory
    for some in [free] if whole else [slice(at, at + 1) for at in free]:
        values[some] = _smoothed(values[some], pinned[some], scene)
    for leg, each in enumerate(steps):
        swings = np.ones(values.shape[1], bool)
        for hold in each.holds:
            swings[hold.stance.frames] = False
        planted.shift[leg, swings] = values[leg, swings]
        if laid[leg].any():
            planted.toes[leg] = np.where(laid[leg], planted.toes[leg], quaternions.exp(values[count + leg]))


def _rows(stances: list[Stance], frames: int) -> Rows:
    """Their frames, of the frames of all feet one after the other."""
    return Rows([(each.leg * frames + each.start, each.leg * frames + each.stop) for each in stances])


def _source(steps: list[Steps]) -> Array:
    """The reference points of feet in the source, (feet, frames, 3)."""
    return np.stack([each.foot.motion.reference for each in steps])


def _offsets(steps: list[Steps], planted: Planted, scene: Scene, moved: Array, pinned: Mask) -> None:
    """Write offsets of feet by their stances, apart from those by the ground, and the frames that fix them.

    A swing that the end of the clip soon cuts goes on beside its way along the ground: it would hurry back.
    """
    frames = moved.shape[1]
    source = _source(steps).reshape(-1, 3)
    for holds in batches([hold for each in steps for hold in each.holds]):
        rows = _rows([hold.stance for hold in holds], frames)
        shift, there = (each.take(rows.frames, axis=0) for each in (planted.shift.reshape(-1, 3), source))
        shift[:, scene.axis] -= _followed(holds, rows.of, there, scene.level(shift), scene)
        moved.reshape(-1, 3)[rows.frames], pinned.reshape(-1, 3)[rows.frames] = shift, True
    along = np.arange(3) != scene.axis
    for leg, each in enumerate(steps):
        if each.holds:
            first, last = each.holds[0].stance.start, each.holds[-1].stance.stop - 1
            for cut, near in ((slice(0, first), first), (slice(last + 1, frames), last)):
                if 0 < cut.stop - cut.start < 2 * scene.blend:
                    moved[leg][cut, along], pinned[leg][cut, along] = moved[leg][near, along], True


def _laid(steps: list[Steps], planted: Planted) -> Mask:
    """When toes turn as they should, (feet, frames, 1), if they are made to lie anywhere."""
    pinned = planted.lies.copy()
    for leg in np.flatnonzero(pinned.any(axis=1)).tolist():
        for hold in steps[leg].holds:
            pinned[leg, hold.stance.frames] |= hold.stance.planted
    return pinned[..., np.newaxis]


def _smoothed(values: Array, pinned: Mask, scene: Scene) -> Array:
    """Smooth curves (n, frames, 3) in swing. Only those of which the clip cuts a swing are drawn to 0 there."""
    last, following = _nearest(pinned[..., 0] & pinned[..., 1] & pinned[..., 2])
    low, high = (each.swapaxes(0, 1) for each in _bounds(values, pinned, last, following, scene.blend))
    time = max(scene.settings.blend / 3, 1 / scene.fps)
    pull = np.where((last < 0) | (following == values.shape[1]), 1 / (time * time * time * time), 0.0)
    pull = np.broadcast_to(pull[..., np.newaxis], values.shape).swapaxes(0, 1)
    return spline(0.0, fps=scene.fps, pull=pull, lower=low, upper=high).swapaxes(0, 1)


def _bounds(
    values: Array, pinned: Mask, last: NDArray[np.intp], following: NDArray[np.intp], blend: int
) -> tuple[Array, Array]:
    """Bounds of curves in swing: 0 and the values at its ends for `blend` frames after a stance and before one, else 0.

    Without bounds, a foot that moves ever faster at the end of its stance would continue so in its swing.
    """
    frames = values.shape[1]
    ends = np.zeros((len(values), frames + 2, 3))  # with none before the first frame and after the last one
    np.copyto(ends[:, 1:-1], values, where=pinned)
    at, curve = np.arange(frames), np.arange(len(values))[:, np.newaxis]
    near = ((last >= 0) & (at - last <= blend)) | ((following < frames) & (following - at <= blend))
    free, before, after = near[..., np.newaxis] & ~pinned, ends[curve, last + 1], ends[curve, following + 1]
    low, high = np.minimum(before, after), np.maximum(before, after)
    del ends, before, after  # of a long clip they take much memory
    low, high = np.where(free, np.minimum(low, 0.0, out=low), values), np.maximum(high, 0.0, out=high)
    return low, np.where(free, high, values)


def _followed(holds: Sequence[Foothold], of: NDArray[np.intp], source: Array, moved: Array, scene: Scene) -> Array:
    """How far up a foot goes that follows the plane of a foothold, each row that of its own."""
    lifts = np.array([hold.lift for hold in holds])
    places, *normals = np.array([(hold.place, hold.normal, hold.floor) for hold in holds]).swapaxes(0, 1)
    place, ground, floor = (each.take(of, axis=0) for each in (places, *map(scene.slope, normals)))
    return np.asarray(lifts[of] + dot(source + moved - place, ground) - dot(source - place, floor))


def _swing(steps: list[Steps], planted: Planted, scene: Scene) -> None:
    """Write the swings of all paths, without obstacles: from the plane that a foot leaves to the next one.

    A foot follows a passed plane in its own frame only, and none before the first plane and after the last.
    """
    frames, passed, gaps = planted.shift.shape[1], [hold for each in steps for hold in each.passed], list[Gap]()
    for each in steps:
        planes = [*((hold, True) for hold in each.holds), *((hold, False) for hold in each.passed)]
        planes.sort(key=lambda plane: plane[0].stance.middle)
        gaps += [gap for gap in pairwise(planes) if gap[0][0].stance.stop < gap[1][0].stance.start]
    shift, turn, source = planted.shift.reshape(-1, 3), planted.turn.reshape(-1, 4), _source(steps).reshape(-1, 3)
    own = _rows([hold.stance for hold in passed], frames).frames
    for at, hold in zip(own.tolist(), passed, strict=True):
        turn[at] = quaternions.shortest_arc(hold.floor, hold.normal)
    scales = np.array([each.foot.motion.scale for each in steps])
    for some in batches(gaps):
        _between(source, shift, turn, some, scales, frames, scene)
    if passed:
        shift[own, scene.axis] += _followed(passed, np.arange(len(own)), source[own], shift[own], scene)
    for leg, each in enumerate(steps):
        planted.shift[leg, each.copied], planted.turn[leg, each.copied] = 0.0, UNTURNED


def _between(
    source: Array, shift: Array, turn: Array, gaps: Sequence[Gap], scales: Array, frames: int, scene: Scene
) -> None:
    """Write the frames between planes: by the distance that the foot has moved, or by time if that is small."""
    leaves, comes = [each[0][0] for each in gaps], [each[1][0] for each in gaps]
    legs = np.array([hold.stance.leg for hold in leaves], np.intp)
    spans = [(last.stance.stop, following.stance.start) for last, following in zip(leaves, comes, strict=True)]
    rows = Rows(np.array(spans) + (legs * frames)[:, np.newaxis])
    # a foot that passes goes on through that frame; one that stands has come, or leaves, in the one beside
    edges = [(not each[0][1], not each[1][1]) for each in gaps]
    first, end = np.array(edges, np.intp).T
    there, moved = source.take(rows.frames, axis=0), shift.take(rows.frames, axis=0)
    start, stop = (scene.level(source[edge] + shift[edge]) for edge in (rows.start - first, rows.stop - 1 + end))
    chord, way = stop - start, scene.level(there + moved) - start.take(rows.of, axis=0)
    far, timed = size(chord), eased((rows.at + 1) / (rows.count + 1)[rows.of])
    travels = eased(np.minimum(far / (STEP * scales[legs]), 1))[rows.of]
    done = np.clip(dot(way, chord.take(rows.of, axis=0)) / np.maximum(far * far, 1e-300)[rows.of], 0, 1)
    low, high = (_followed(holds, rows.of, there, moved, scene) for holds in (leaves, comes))
    shift[rows.frames, scene.axis] += low + (timed + travels * (done - timed)) * (high - low)
    before, after = (turn[edge].take(rows.of, axis=0) for edge in (rows.start - 1, rows.stop))
    turn[rows.frames] = quaternions.slerp(before, after, timed)
