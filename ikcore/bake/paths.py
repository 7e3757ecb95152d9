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
from ikcore.bake.foot import Foot, batches, edge_of
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
    stood = planted_on([each.foot for each in steps], [hold for each in steps for hold in each.holds])
    released = _released(steps, stood, scene)
    paths = [
        _path(each, _swung(each, planted, *moved, scene), scene)
        for each, planted, moved in zip(steps, stood, released, strict=True)
    ]
    swings = [_swings(each) for each in steps]
    needs = [
        clearance_of(each.foot, path, spans, _still(each, spans), each.copied, rounds)
        for each, path, spans in zip(steps, paths, swings, strict=True)
    ]
    return lifted(paths, needs, scene)


def _path(steps: Steps, planted: Planted, scene: Scene) -> FootPath:
    stands, frames = np.zeros(len(planted.shift), bool), len(planted.shift)
    for hold in steps.holds:
        start, stop = hold.stance.start, hold.stance.stop
        edge = int(edge_of(stop - start, scene))  # within the clip a foot still arrives there, or leaves already
        stands[start + edge * (start > 0) : stop - edge * (stop < frames)] = True
    last, following = _nearest(stands)
    at = np.arange(frames)
    away = np.minimum(np.where(last < 0, np.inf, at - last), np.where(following == frames, np.inf, following - at))
    much = 1 - eased(np.minimum(away / (scene.fps * BRIEF), 1))
    plain = planted.shift[:, scene.axis].copy()
    return FootPath(steps.foot.motion, planted.shift, planted.turn, planted.toes, planted.lies, plain, much)


def _nearest(known: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The last frame up to each, and the first one from each, that is known (frames, ...); -1 and `frames` if none is."""
    frames = len(known)
    at = np.arange(frames).reshape(-1, *[1] * (known.ndim - 1))
    last = np.maximum.accumulate(np.where(known, at, -1))
    return last, np.minimum.accumulate(np.where(known, at, frames)[::-1])[::-1]


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


def _released(steps: list[Steps], stood: list[Planted], scene: Scene) -> list[tuple[Array, Array]]:
    """Changes of feet and toes by stances, blended smoothly through swings: offsets, and rotations of toes.

    They fade to 0 towards an end of the clip that comes before the blend ends.
    """
    offsets = [_offset(each, planted, scene) for each, planted in zip(steps, stood, strict=True)]
    bent = [(quaternions.log(planted.toes), _laid(each, planted)) for each, planted in zip(steps, stood, strict=True)]
    curves = [*offsets, *bent]
    free = [at for at, (values, pinned) in enumerate(curves) if values.any() and not pinned.all()]
    whole = free and len(list(blocks(len(curves[0][0])))) == 1  # of a long clip one by one, as that takes memory
    found = [values for values, _ in curves]
    for some in [free] if whole else [[at] for at in free]:
        for at, smoothed in zip(some, _smoothed([curves[at] for at in some], scene), strict=True):
            found[at] = smoothed
    toes = [
        np.where(pinned, planted.toes, quaternions.exp(values)) if pinned.any() else planted.toes
        for planted, (_, pinned), values in zip(stood, bent, found[len(steps) :], strict=True)
    ]
    return list(zip(found[: len(steps)], toes, strict=True))


def _offset(steps: Steps, planted: Planted, scene: Scene) -> tuple[Array, Mask]:
    """Offset of a foot by its stances, apart from that by the ground, and the frames that fix it, along each axis.

    A swing that the end of the clip soon cuts goes on beside its way along the ground: it would hurry back.
    """
    reference, frames = steps.foot.motion.reference, len(planted.shift)
    moved, pinned = np.zeros((frames, 3)), np.zeros((frames, 3), bool)
    rows = Rows([(hold.stance.start, hold.stance.stop) for hold in steps.holds])
    own = rows.frames
    if len(own):
        shift = planted.shift.take(own, axis=0)
        followed = _followed(steps.holds, rows.of, reference.take(own, axis=0), scene.level(shift), scene)
        shift[:, scene.axis] -= followed
        moved[own], pinned[own] = shift, True
    known, along = np.flatnonzero(pinned[:, scene.axis]), np.arange(3) != scene.axis
    if len(known):
        first, last = int(known[0]), int(known[-1])
        for cut, near in ((slice(0, first), first), (slice(last + 1, frames), last)):
            if 0 < cut.stop - cut.start < 2 * scene.blend:
                moved[cut, along], pinned[cut, along] = moved[near, along], True
    return moved, pinned


def _laid(steps: Steps, planted: Planted) -> Mask:
    """When toes turn as they should, (frames, 1), if they are made to lie anywhere."""
    pinned = planted.lies.copy()
    if pinned.any():
        for hold in steps.holds:
            pinned[hold.stance.frames] |= hold.stance.planted
    return pinned[:, np.newaxis]


def _smoothed(curves: list[tuple[Array, Mask]], scene: Scene) -> list[Array]:
    """Curves in swing: between 0 and the values at both ends for `blend` frames after a stance and before one, else 0.

    Without bounds, a foot that moves ever faster at the end of its stance would continue so in its swing. Only curves
    of which the clip cuts a swing are drawn to 0 there.
    """
    time = max(scene.settings.blend / 3, 1 / scene.fps)
    values = np.stack([each for each, _ in curves], axis=1)
    pinned = np.stack([np.broadcast_to(each, values[:, 0].shape) for _, each in curves], axis=1)
    frames, whole = len(values), pinned[..., 0] & pinned[..., 1] & pinned[..., 2]
    at, columns = np.arange(frames)[:, np.newaxis], np.arange(len(curves))
    last, following = _nearest(whole)
    ends = np.zeros((frames + 2, *values.shape[1:]))  # with none before the first frame and after the last one
    ends[1:-1] = np.where(pinned, values, 0.0)
    near = ((last >= 0) & (at - last <= scene.blend)) | ((following < frames) & (following - at <= scene.blend))
    free, before, after = near[..., np.newaxis] & ~pinned, ends[last + 1, columns], ends[following + 1, columns]
    low = np.where(free, np.minimum(np.minimum(before, after), 0.0), values)
    high = np.where(free, np.maximum(np.maximum(before, after), 0.0), values)
    pull = np.where((last < 0) | (following == frames), 1 / (time * time * time * time), 0.0)
    pull = np.broadcast_to(pull[..., np.newaxis], values.shape)
    return list(spline(0.0, fps=scene.fps, pull=pull, lower=low, upper=high).swapaxes(0, 1))


def _followed(holds: Sequence[Foothold], of: NDArray[np.intp], source: Array, moved: Array, scene: Scene) -> Array:
    """How far up a foot goes that follows the plane of a foothold, each row that of its own."""
    lifts = np.array([hold.lift for hold in holds])
    places, *normals = np.array([(hold.place, hold.normal, hold.floor) for hold in holds]).swapaxes(0, 1)
    place, ground, floor = (each.take(of, axis=0) for each in (places, *map(scene.slope, normals)))
    return np.asarray(lifts[of] + dot(source + moved - place, ground) - dot(source - place, floor))


def _swung(steps: Steps, planted: Planted, moved: Array, toes: Array, scene: Scene) -> Planted:
    """The path with its swings, without obstacles: from the plane that a foot leaves to the next one.

    A foot follows a passed plane in its own frame only, and none before the first plane and after the last.
    """
    shift, turn, axis, reference = planted.shift, planted.turn, scene.axis, steps.foot.motion.reference
    swings = np.ones(len(shift), bool)
    for hold in steps.holds:
        swings[hold.stance.frames] = False
    shift[swings] = moved[swings]
    for hold in steps.passed:
        turn[hold.stance.frames] = quaternions.shortest_arc(hold.floor, hold.normal)
    planes = sorted(
        [*((hold, True) for hold in steps.holds), *((hold, False) for hold in steps.passed)],
        key=lambda plane: plane[0].stance.middle,
    )
    gaps = [each for each in pairwise(planes) if each[0][0].stance.stop < each[1][0].stance.start]
    for some in batches(gaps):
        _between(reference, shift, turn, some, steps.foot.motion.scale, scene)
    if steps.passed:
        own = np.array([hold.stance.start for hold in steps.passed])
        shift[own, axis] += _followed(steps.passed, np.arange(len(own)), reference[own], shift[own], scene)
    shift[steps.copied], turn[steps.copied] = 0.0, UNTURNED
    return Planted(shift, turn, toes, planted.lies)


Plane = tuple[Foothold, bool]  # and whether a foot stands on it


def _between(
    reference: Array, shift: Array, turn: Array, gaps: Sequence[tuple[Plane, Plane]], scale: float, scene: Scene
) -> None:
    """Write the frames between planes: by the distance that the foot has moved, or by time if that is small."""
    leaves, comes = [each[0][0] for each in gaps], [each[1][0] for each in gaps]
    rows = Rows([(last.stance.stop, following.stance.start) for last, following in zip(leaves, comes, strict=True)])
    # a foot that passes goes on through that frame; one that stands has come, or leaves, in the one beside
    edges = [(not each[0][1], not each[1][1]) for each in gaps]
    first, end = np.array(edges, np.intp).T
    at, moved, source = scene.level(reference + shift), *(each.take(rows.frames, axis=0) for each in (shift, reference))
    chord = at[rows.stop - 1 + end] - at[rows.start - first]
    way = at.take(rows.frames, axis=0) - at[rows.start - first].take(rows.of, axis=0)
    far, timed = size(chord), eased((rows.at + 1) / (rows.count + 1)[rows.of])
    travels = eased(np.minimum(far / (STEP * scale), 1))[rows.of]
    done = np.clip(dot(way, chord.take(rows.of, axis=0)) / np.maximum(far * far, 1e-300)[rows.of], 0, 1)
    low, high = (_followed(holds, rows.of, source, moved, scene) for holds in (leaves, comes))
    shift[rows.frames, scene.axis] += low + (timed + travels * (done - timed)) * (high - low)
    before, after = (turn[frames].take(rows.of, axis=0) for frames in (rows.start - 1, rows.stop))
    turn[rows.frames] = quaternions.slerp(before, after, timed)
