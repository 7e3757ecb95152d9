"""Clearance: how much higher a foot goes in swing so that its sole does not come into the ground."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import size
from ikcore.bake.floors import height_of
from ikcore.bake.foot import Foot
from ikcore.bake.scene import Array, Mask, Scene, in_rounds
from ikcore.clips.smoothing import spline
from ikcore.contacts.intervals import blocks
from ikcore.feet.human import DEEP, EDGE, HIGH, SOLE, WHILE
from ikcore.grounds.ground import Ground

if TYPE_CHECKING:
    from ikcore.bake.paths import FootPath

_TENSION = 180.0  # 1 / s^2, of the beam over obstacles: those nearer to each other than 0.075 s are passed at once
_HARDEST = 30.0  # m / s^2 for a leg of 0.87 m: the greatest acceleration of a foot to get over something

Need = tuple[Array, Mask]  # how much higher a foot has to be, and when it may be


def clearance_of(
    foot: Foot,
    path: FootPath,
    swings: list[tuple[int, int]],
    still: list[tuple[int, int]],
    copied: Mask,
    rounds: bool,
) -> Need:
    """How much higher a foot has to be, as far as it can rise in time, and when it is in swing.

    Swings that are `still`, between stances that stay where they are, stay so within the plant tolerance.
    """
    count, scene, scale = len(path.shift), foot.scene, path.motion.scale
    near = _nearer(swings, count, scene.fps)
    among = _second_round(count) if rounds else near > 0
    if not among.any():
        return np.zeros(count), near > 0
    needed = _deficit(foot, path, among)
    needed = in_rounds(needed) if rounds else needed
    possible = 0.5 * _HARDEST * scale * near * near
    if scene.on_ground:
        possible = np.maximum(possible - _risen(path, swings, scene), 0)
    needed[copied] = 0
    needed = np.minimum(np.fmax(needed, 0), possible)
    for start, stop in still:
        if needed[start:stop].max() <= scene.settings.tolerance * scale:
            needed[start:stop] = 0
    return needed, near > 0


def lifted(paths: Sequence[FootPath], needs: Sequence[Need], scene: Scene) -> list[FootPath]:
    """Paths over obstacles: a thin beam under tension is laid over them, for each swing."""
    some = [at for at, (needed, _) in enumerate(needs) if needed.any()]
    if not some:
        return list(paths)
    needed, free = np.stack([needs[at][0] for at in some], axis=1), np.stack([needs[at][1] for at in some], axis=1)
    found, lifts = list(paths), beam(needed, free, scene.fps)
    for at, lift in zip(some, lifts.T, strict=True):
        shift = paths[at].shift.copy()
        shift[:, scene.axis] += lift
        found[at] = dataclasses.replace(paths[at], shift=shift)
    return found


def beam(needed: Array, free: Mask, fps: float) -> Array:
    """How much higher a foot goes.

    More than one frame on the ground ends the beam, so each swing is a curve of its own.

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
    return spline(0.0, fps=fps, pull=0.0, tension=_TENSION, lower=lower, upper=upper)[own]


def _nearer(swings: list[tuple[int, int]], frames: int, fps: float) -> Array:
    """How many seconds frames are from the nearer end of their swing; what the clip cuts goes on for a while."""
    near = np.zeros(frames)
    for start, stop in swings:
        at = np.arange(start, stop)
        first = start - 1 if start > 0 else start - WHILE * fps
        last = stop if stop < frames else stop - 1 + WHILE * fps
        near[start:stop] = np.minimum(at - first, last - at) / fps
    return near


def _risen(path: FootPath, swings: list[tuple[int, int]], scene: Scene) -> Array:
    """How high a foot is above the lower of the places between which it swings: so far it has risen in any case."""
    height = (path.motion.reference + path.shift)[:, scene.axis]
    risen = np.zeros(len(height))
    for start, stop in swings:
        ends = [at for at in (start - 1, stop) if 0 <= at < len(height)]
        if ends:
            risen[start:stop] = np.maximum(height[start:stop] - height[ends].min(), 0)
    return risen


def _second_round(count: int) -> Mask:
    """Of all frames of three rounds."""
    once, found = (count - 1) // 3, np.zeros(count, bool)
    found[once : 2 * once] = True
    return found


# --- the deficit of clearance ----------------------------------------------------------------------------------------


def _deficit(foot: Foot, path: FootPath, among: Mask) -> Array:
    """How much too low a foot is in some frames, by the worst point of its sole; NaN over no ground, 0 elsewhere."""
    frames, found = np.flatnonzero(among), np.zeros(len(among))
    for block in blocks(len(frames)):
        found[frames[block]] = _deficits(foot, path, frames[block])
    return found


def _deficits(foot: Foot, path: FootPath, frames: NDArray[np.intp]) -> Array:
    scene, motion, names = foot.scene, foot.motion, list(foot.motion.soles)
    scale, clear = motion.scale, scene.settings.clearance * motion.scale
    points = np.stack([path.sole(name, frames) for name in names], axis=1)
    origin = (motion.reference[frames] + path.shift[frames])[:, np.newaxis]
    above = np.stack([foot.above(name, frames) for name in names], axis=1)
    high = np.maximum(above, np.minimum(-2 * EDGE * scale - above, 0))  # a point deep in its floor comes to another
    thick = np.array([foot.floor.thick[name] for name in names])
    ground = _ground_under(foot, points, origin, frames)
    lack = ground + thick + np.minimum(high, clear) - points[..., scene.axis]
    if motion.toe is not None and "toe" in names:
        lack[:, names.index("toe")] -= EDGE * scale  # toes bend
    return np.asarray(np.fmax.reduce(lack, axis=1))


def _ground_under(foot: Foot, points: Array, origin: Array, frames: NDArray[np.intp]) -> Array:
    """How high the ground is under points, whose ends are kept off steps; or under edges, if made on it."""
    scene, scale = foot.scene, foot.motion.scale
    if (level := height_of(scene.ground)) is not None:
        return np.full(points.shape[:-1], level)
    ground = scene.ground.still(frames)
    if scene.on_ground:
        inner = _away(points, origin, np.full(points.shape[1], -SOLE * scale), scene)
        return np.fmin(*(_under(ground, at, foot) for at in (points, inner)))
    margin = np.array([EDGE * scale if name in ("toe", "heel") else 0.0 for name in foot.motion.soles])
    return _under(ground, _away(points, origin, margin, scene), foot)


def _away(points: Array, origin: Array, by: Array, scene: Scene) -> Array:
    """Points (frames, n, 3) moved horizontally away from the reference of the foot, or to it by less than 0."""
    arm = scene.level(points - origin)
    return np.asarray(points + arm * (by / np.maximum(size(arm), np.maximum(np.abs(by), 1e-300)))[..., np.newaxis])


def _under(ground: Ground, points: Array, foot: Foot) -> Array:
    scale = foot.motion.scale
    return ground._heights(np.ascontiguousarray(points), HIGH * scale, DEEP * scale, foot.scene.workers)
