"""Foot paths: position and rotation of a foot in every frame."""

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
from ikcore.bake.clearance import clearance_of, lift_over_obstacles
from ikcore.bake.foot import Foot, Stance, batches, edge_of
from ikcore.bake.footholds import Foothold
from ikcore.bake.motion import LegMotion
from ikcore.bake.planting import StancePaths, stance_paths_of
from ikcore.bake.scene import IDENTITY, Array, Mask, Scene, smooth_step
from ikcore.clips.smoothing import spline
from ikcore.contacts.intervals import Rows, blocks
from ikcore.feet.thresholds import SHORTEST_STANCE, STEP_HEIGHT


@dataclass(frozen=True, slots=True, eq=False)
class FootPath:
    """Displacement and rotation of a foot relative to the source, over all frames."""

    motion: LegMotion  # the leg in the source
    shift: Array  # (frames, 3): displacement of the reference point
    turn: Array  # (frames, 4): world rotation about that point
    # (frames, 4): world rotation of the toes that bend, before that of the foot. While they lie on the ground they do
    # not rotate with the foot.
    toes: Array
    lies: Mask  # (frames,): frames in which toes lie on the ground
    plain: Array  # (frames,): upward displacement without obstacles, which the pelvis follows
    stands: Array  # (frames,): stance weight: 1 in stances, falling to 0 before and after

    def new_positions(self, points: Array, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """New positions of points of the foot, (frames, 3)."""
        turn = None if self.motion.leg.ankle is None else self.turn[frames]
        return _core.displaced(points, self.motion.reference[frames], self.shift[frames], turn)

    def soles(self, names: list[str], frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """New positions of points of the sole, (frames, names, 3)."""
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
        """New positions of the end of the leg."""
        return self.new_positions(self.motion.ankle)

    def without_source(self) -> FootPath:
        """The path with the motion of the source and the rotations of toes freed."""
        self.motion.free_frames()
        return dataclasses.replace(self, toes=self.toes[:0].copy(), lies=self.lies[:0].copy())

    def with_weight(self, weight: float) -> FootPath:
        """The path blended with the source by a weight."""
        return dataclasses.replace(self, shift=self.shift * weight, turn=quaternions.scale_rotations(self.turn, weight))

    def part(self, motion: LegMotion, frames: slice) -> FootPath:
        """The path in some frames."""
        shift, turn, toes = self.shift[frames], self.turn[frames], self.toes[frames]
        return FootPath(motion, shift, turn, toes, self.lies[frames], self.plain[frames], self.stands[frames])


Plane = tuple[Foothold, bool]  # a plane of the ground, and True if a foot stands on it
Gap = tuple[Plane, Plane]  # the planes at both ends of a swing


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The footholds of a foot in order."""

    foot: Foot  # the foot in the source
    # rotate with the footholds of stances, and those passed before the first stance and after the last
    holds: list[Foothold]
    passed: list[Foothold]
    copied: Mask  # (frames,): frames in which the foot stays unchanged


def paths_of(steps: list[Steps], scene: Scene, rounds: bool) -> list[FootPath]:
    """The paths of all feet. A loop has three rounds; its obstacles are those of the second."""
    planted = stance_paths_of([each.foot for each in steps], [hold for each in steps for hold in each.holds])
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
        clearance_of(each.foot, path, spans, _unchanged_swings(each, spans), each.copied, rounds)
        for each, path, spans in zip(steps, paths, swings, strict=True)
    ]
    return lift_over_obstacles(paths, needs, scene)


def _stands(steps: list[Steps], shape: tuple[int, int], scene: Scene) -> Array:
    """Stance weights (feet, frames): 1 within stances, falling to 0 within the length of the shortest stance."""
    inside, frames = np.zeros(shape, bool), shape[1]
    for each in [hold.stance for foot in steps for hold in foot.holds]:
        # in the first and last frames a foot still arrives, or leaves already
        edge = int(edge_of(each.stop - each.start, scene))
        inside[each.leg, each.start + edge * (each.start > 0) : each.stop - edge * (each.stop < frames)] = True
    (last, following), at = _nearest_known(inside), np.arange(frames)
    away = np.minimum(np.where(last < 0, np.inf, at - last), np.where(following == frames, np.inf, following - at))
    return 1 - smooth_step(np.minimum(away / (scene.fps * SHORTEST_STANCE), 1))


def _nearest_known(known: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The last known frame up to each frame, and the first one from it on, (..., frames); -1 and `frames` if none."""
    frames = known.shape[-1]
    at = np.arange(frames)
    last = np.maximum.accumulate(np.where(known, at, -1), axis=-1)
    return last, np.minimum.accumulate(np.where(known, at, frames)[..., ::-1], axis=-1)[..., ::-1]


def _swings(steps: Steps) -> list[tuple[int, int]]:
    """The frames of swings between footholds, passed ones included."""
    frames = len(steps.foot.motion.chain)
    passed = [hold for hold in steps.passed if 0 < hold.stance.start < frames - 1]
    down = sorted((hold.stance.start, hold.stance.stop) for hold in [*steps.holds, *passed])
    edges = [0, *(edge for span in down for edge in span), frames]
    return [(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True) if stop > start]


def _unchanged_swings(steps: Steps, swings: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The swings between two unchanged stances."""
    moved = {edge for hold in steps.holds if not hold.copied for edge in (hold.stance.start, hold.stance.stop)}
    return [span for span in swings if not moved & {*span}]


# --- in swing --------------------------------------------------------------------------------------------------------


def _release(steps: list[Steps], planted: StancePaths, scene: Scene) -> None:
    """Blend displacements of feet and toe rotations of stances smoothly through swings.

    They fade to 0 towards an end of the clip that comes before the blend ends.
    """
    count, laid, shape = len(steps), _lying_weights(steps, planted), (2 * len(steps), *planted.shift.shape[1:])
    values, pinned = np.zeros(shape), np.zeros(shape, bool)
    _offsets(steps, planted, scene, values[:count], pinned[:count])
    values[count:], pinned[count:] = quaternions.log(planted.toes), laid
    free = [at for at in range(len(values)) if values[at].any() and not pinned[at].all()]
    whole = free and len(list(blocks(values.shape[1]))) == 1  # one by one for a long clip, to save memory
    for some in [free] if whole else [slice(at, at + 1) for at in free]:
        values[some] = _smooth_curves(values[some], pinned[some], scene)
    for leg, each in enumerate(steps):
        swings = np.ones(values.shape[1], bool)
        for hold in each.holds:
            swings[hold.stance.frames] = False
        planted.shift[leg, swings] = values[leg, swings]
        if laid[leg].any():
            planted.toes[leg] = np.where(laid[leg], planted.toes[leg], quaternions.exp(values[count + leg]))


def _rows(stances: list[Stance], frames: int) -> Rows:
    """The indices of some frames among the frames of all feet in sequence."""
    return Rows([(each.leg * frames + each.start, each.leg * frames + each.stop) for each in stances])


def _source(steps: list[Steps]) -> Array:
    """The reference points of feet in the source, (feet, frames, 3)."""
    return np.stack([each.foot.motion.reference for each in steps])


def _offsets(steps: list[Steps], planted: StancePaths, scene: Scene, moved: Array, pinned: Mask) -> None:
    """Write offsets of feet by their stances, apart from those by the ground, and the frames that fix them.

    A swing that the end of the clip soon cuts keeps its displacement along the ground instead of hurrying back.
    """
    frames, source = moved.shape[1], _source(steps)
    for holds in batches([hold for each in steps for hold in each.holds]):
        rows = _rows([hold.stance for hold in holds], frames)
        shift, there = (each.reshape(-1, 3).take(rows.frames, axis=0) for each in (planted.shift, source))
        shift[:, scene.axis] -= _rise_with_planes(holds, rows.of, there, scene.level(shift), scene)
        moved.reshape(-1, 3)[rows.frames], pinned.reshape(-1, 3)[rows.frames] = shift, True
    along = np.arange(3) != scene.axis
    for leg, each in enumerate(steps):
        if each.holds:
            first, last = each.holds[0].stance.start, each.holds[-1].stance.stop - 1
            for cut, near in ((slice(0, first), first), (slice(last + 1, frames), last)):
                if 0 < cut.stop - cut.start < 2 * scene.blend:
                    moved[leg][cut, along], pinned[leg][cut, along] = moved[leg][near, along], True


def _lying_weights(steps: list[Steps], planted: StancePaths) -> Mask:
    """Weight with which toes keep their wanted rotation, (feet, frames, 1), 1 where they lie."""
    pinned = planted.lies.copy()
    for leg in np.flatnonzero(pinned.any(axis=1)).tolist():
        for hold in steps[leg].holds:
            pinned[leg, hold.stance.frames] |= hold.stance.planted
    return pinned[..., np.newaxis]


def _smooth_curves(values: Array, pinned: Mask, scene: Scene) -> Array:
    """Smooth curves (n, frames, 3) in swing. Curves of a swing that the clip cuts are pulled to 0 there."""
    last, following = _nearest_known(pinned[..., 0] & pinned[..., 1] & pinned[..., 2])
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
    ends = np.zeros((len(values), frames + 2, 3))  # none before the first frame and after the last one
    np.copyto(ends[:, 1:-1], values, where=pinned)
    at, curve = np.arange(frames), np.arange(len(values))[:, np.newaxis]
    near = ((last >= 0) & (at - last <= blend)) | ((following < frames) & (following - at <= blend))
    free, before, after = near[..., np.newaxis] & ~pinned, ends[curve, last + 1], ends[curve, following + 1]
    del ends  # needs much memory for a long clip
    low, high = np.minimum(before, after), np.maximum(before, after, out=after)
    del before
    np.copyto(np.minimum(low, 0.0, out=low), values, where=~free)
    np.copyto(np.maximum(high, 0.0, out=high), values, where=~free)
    return low, high


def _rise_with_planes(
    holds: Sequence[Foothold], of: NDArray[np.intp], source: Array, moved: Array, scene: Scene
) -> Array:
    """Upward displacements of a foot that follows the planes of footholds, one plane for each row."""
    lifts = np.array([hold.lift for hold in holds])
    places, *normals = np.array([(hold.place, hold.normal, hold.floor) for hold in holds]).swapaxes(0, 1)
    place, ground, floor = (each.take(of, axis=0) for each in (places, *map(scene.slope, normals)))
    return np.asarray(lifts[of] + dot(source + moved - place, ground) - dot(source - place, floor))


def _swing(steps: list[Steps], planted: StancePaths, scene: Scene) -> None:
    """Write the swings of all paths, without obstacles: from the plane that a foot leaves to the next one.

    A foot follows a passed plane in one frame only, and no plane before the first one and after the last.
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
        _fill_swings(source, shift, turn, some, scales, frames, scene)
    if passed:
        shift[own, scene.axis] += _rise_with_planes(passed, np.arange(len(own)), source[own], shift[own], scene)
    for leg, each in enumerate(steps):
        planted.shift[leg, each.copied], planted.turn[leg, each.copied] = 0.0, IDENTITY


def _fill_swings(
    source: Array, shift: Array, turn: Array, gaps: Sequence[Gap], scales: Array, frames: int, scene: Scene
) -> None:
    """Write the frames between two planes: in proportion to the foot's travel, or to time if the travel is small."""
    leaves, comes = [each[0][0] for each in gaps], [each[1][0] for each in gaps]
    legs = np.array([hold.stance.leg for hold in leaves], np.intp)
    spans = [(last.stance.stop, following.stance.start) for last, following in zip(leaves, comes, strict=True)]
    rows = Rows(np.array(spans) + (legs * frames)[:, np.newaxis])
    # a passing foot continues through that frame; a standing foot arrives or leaves in the next one
    edges = [(not each[0][1], not each[1][1]) for each in gaps]
    first, end = np.array(edges, np.intp).T
    there, moved = source.take(rows.frames, axis=0), shift.take(rows.frames, axis=0)
    start, stop = (scene.level(source[edge] + shift[edge]) for edge in (rows.start - first, rows.stop - 1 + end))
    chord, way = stop - start, scene.level(there + moved) - start.take(rows.of, axis=0)
    far, timed = size(chord), smooth_step((rows.at + 1) / (rows.count + 1)[rows.of])
    travels = smooth_step(np.minimum(far / (STEP_HEIGHT * scales[legs]), 1))[rows.of]
    done = np.clip(dot(way, chord.take(rows.of, axis=0)) / np.maximum(far * far, 1e-300)[rows.of], 0, 1)
    low, high = (_rise_with_planes(holds, rows.of, there, moved, scene) for holds in (leaves, comes))
    shift[rows.frames, scene.axis] += low + (timed + travels * (done - timed)) * (high - low)
    before, after = (turn[edge].take(rows.of, axis=0) for edge in (rows.start - 1, rows.stop))
    turn[rows.frames] = quaternions.slerp(before, after, timed)
