"""Clearance: the extra height of a foot in swing that keeps its sole out of the ground."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot, size
from ikcore.bake.floors import height_of
from ikcore.bake.foot import Foot
from ikcore.bake.motion import ROUNDING
from ikcore.bake.scene import Array, Mask, Scene, repeat_second_round
from ikcore.clips.smoothing import spline
from ikcore.contacts.intervals import blocks
from ikcore.feet.thresholds import (
    DEEP_WINDOW,
    EDGE_DEPTH,
    HIGH_WINDOW,
    PLANT_TOLERANCE,
    SMOOTHING_TIME,
    SOLE_UNCERTAINTY,
    SOLES_UNCERTAINTY,
)
from ikcore.grounds.ground import Ground
from ikcore.grounds.parts import Hits

if TYPE_CHECKING:
    from ikcore.bake.paths import FootPath

RISE_TIME = 0.075  # s: faster rises and falls of the pelvis, and of feet over obstacles, are smoothed
_HARDEST = 30.0  # m/s^2 for a leg of 0.87 m: largest acceleration of a foot that rises over an obstacle

Need = tuple[Array, Mask]  # extra height that a foot needs, (frames,), and the frames in which it may rise


def clearance_of(
    foot: Foot,
    path: FootPath,
    swings: list[tuple[int, int]],
    still: list[tuple[int, int]],
    copied: Mask,
    rounds: bool,
) -> Need:
    """Extra height that a foot needs, limited by how fast it can rise, and the frames in which it is in swing.

    Swings in `still`, between two unchanged stances, stay unchanged within the plant tolerance.
    """
    count, scene, scale = len(path.shift), foot.scene, path.motion.scale
    near = _time_to_stance(swings, count, scene.fps)
    among = near > 0
    if rounds:  # the second of the three rounds of a loop
        among = np.arange(count) // ((count - 1) // 3) == 1
    if not among.any():
        return np.zeros(count), near > 0
    needed = _deficit(foot, path, among)
    needed = repeat_second_round(needed) if rounds else needed
    possible = 0.5 * _HARDEST * scale * near * near
    if scene.on_ground:
        possible = np.maximum(possible - _own_rise(path, swings, scene), 0)
    needed[copied] = 0
    needed = np.minimum(np.fmax(needed, 0), possible)
    for start, stop in still:
        if needed[start:stop].max() <= scene.settings.tolerance * scale:
            needed[start:stop] = 0
    return needed, near > 0


def lift_over_obstacles(paths: Sequence[FootPath], needs: Sequence[Need], scene: Scene) -> list[FootPath]:
    """Foot paths over obstacles: in each swing a thin beam under tension is laid over the needed heights."""
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

    More than one frame on the ground ends the beam, so each swing is a curve of its own. Obstacles that are nearer to
    each other than `RISE_TIME` are passed at once.

    Parameters
    ----------
    needed : (frames, ...) array
        How much higher it has to be.
    free : (frames, ...) array of bool
        When it does not stand. Before the first frame and after the last it may be in the air for a while.
    fps : float
        Frames a second.
    """
    before = round(SMOOTHING_TIME * fps) + 2
    own, shape = slice(before, -before), (len(needed) + 2 * before, *needed.shape[1:])
    lower, upper = np.zeros(shape), np.full(shape, np.inf)
    lower[own], upper[own][~free], upper[:2], upper[-2:] = needed, 0, 0, 0
    return spline(0.0, fps=fps, pull=0.0, tension=1 / RISE_TIME**2, lower=lower, upper=upper)[own]


def _time_to_stance(swings: list[tuple[int, int]], frames: int, fps: float) -> Array:
    """Time in seconds from each frame to the nearer end of its swing; a swing cut by the clip continues for a while."""
    near = np.zeros(frames)
    for start, stop in swings:
        at = np.arange(start, stop)
        first = start - 1 if start > 0 else start - SMOOTHING_TIME * fps
        last = stop if stop < frames else stop - 1 + SMOOTHING_TIME * fps
        near[start:stop] = np.minimum(at - first, last - at) / fps
    return near


def _own_rise(path: FootPath, swings: list[tuple[int, int]], scene: Scene) -> Array:
    """Height of a foot above the lower of the two footholds of its swing, which it rises without obstacles, too."""
    height = (path.motion.reference + path.shift)[:, scene.axis]
    risen = np.zeros(len(height))
    for start, stop in swings:
        ends = [at for at in (start - 1, stop) if 0 <= at < len(height)]
        if ends:
            risen[start:stop] = np.maximum(height[start:stop] - height[ends].min(), 0)
    return risen


# --- the deficit of clearance ----------------------------------------------------------------------------------------


def _deficit(foot: Foot, path: FootPath, among: Mask) -> Array:
    """How far a foot is too low in some frames, by its worst point; NaN without ground, 0 in other frames."""
    beside = among.copy()
    beside[1:] |= among[:-1]
    beside[:-1] |= among[1:]
    frames, found = np.flatnonzero(beside), np.zeros(len(among))
    for block in blocks(len(frames)):
        wide = slice(max(block.start - 1, 0), block.stop + 1)
        own = slice(block.start - wide.start, block.stop - wide.start)
        found[frames[block]] = _deficits(foot, path, frames[wide])[own]
    return found


def _deficits(foot: Foot, path: FootPath, frames: NDArray[np.intp]) -> Array:
    """The same for frames of which each follows the one before."""
    scene, motion, names = foot.scene, foot.motion, list(foot.motion.soles)
    scale, clear = motion.scale, scene.settings.clearance * motion.scale
    points = path.soles(names, frames)
    origin = (motion.reference[frames] + path.shift[frames])[:, np.newaxis]
    look = _level if height_of(scene.ground) is not None else _on_own_ground if scene.on_ground else _sweep
    points, heights = look(foot, points, origin, frames)
    above = foot.above(frames)
    # a point that is deep in the source's floor is equally deep in the new ground
    high = np.maximum(above, np.minimum(-2 * EDGE_DEPTH * scale - above, 0))
    thick = np.array([*foot.floor.thick.values()])
    lack = heights + thick + np.minimum(high, clear) - points[..., scene.axis]
    if motion.toe is not None and "toe" in names:
        lack[:, names.index("toe")] -= EDGE_DEPTH * scale  # toes bend
    return np.asarray(np.fmax.reduce(lack, axis=1))


def _level(foot: Foot, points: Array, origin: Array, frames: NDArray[np.intp]) -> tuple[Array, Array]:
    """The points, and the height of a ground that is one level plane."""
    return points, np.full(points.shape[:-1], height_of(foot.scene.ground))


def _on_own_ground(foot: Foot, points: Array, origin: Array, frames: NDArray[np.intp]) -> tuple[Array, Array]:
    """The points and the ground below them that their source was made for, except where only an edge is touched."""
    inner = _push_away(points, origin, np.full(points.shape[1], -SOLE_UNCERTAINTY * foot.motion.scale), foot.scene)
    ground = foot.scene.ground.still(frames)
    return points, np.fmin(*(_under(ground, at, foot) for at in (points, inner)))


def _sweep(foot: Foot, points: Array, origin: Array, frames: NDArray[np.intp]) -> tuple[Array, Array]:
    """The points, kept off risers, and the ground that they pass between two frames, which counts in both.

    At a step its upper side counts in the frame before. Exception: the first of two frames, if the point itself, not
    kept off, gets there later.
    """
    names, scale, scene = list(foot.motion.soles), foot.motion.scale, foot.scene
    margin = np.array([EDGE_DEPTH * scale if name in ("toe", "heel") else 0.0 for name in names])
    kept = _push_away(points, origin, margin, scene)
    ground, way = scene.ground.still(frames), kept[1:] - kept[:-1]
    start = kept[:-1] + ROUNDING * scale * scene.up  # a surface that is only touched is not passed through
    met = scene.ground.still(frames[:-1]).cast(start, way, length=size(way), workers=scene.workers)
    reached = np.where(met.hit[..., np.newaxis], met.points, 0) - kept[:-1] + (kept - points)[:-1]
    later = met.hit & (dot(reached, way) > dot(way, way))
    heights = _risers(_under(ground, kept, foot), later, SOLES_UNCERTAINTY * scale)
    return kept, _raise_to_passed(foot, heights, way, met, later, frames)


def _risers(heights: Array, later: Mask, riser: float) -> Array:
    """Ground behind a riser in the next frame counts already, with more weight the higher it is, up to twice that."""
    known = np.where(np.isnan(heights), -np.inf, heights)
    around = np.concatenate([known[:1], known, known[-1:]])
    ahead = np.where(np.concatenate([later, np.zeros_like(known[:1], bool)]), known, around[2:])
    most = np.maximum(np.maximum(ahead, around[:-2]), known)
    with np.errstate(invalid="ignore"):
        share = np.minimum((most - known) / riser - 1, 1)
        return np.where(share >= 1, most, np.where(share > 0, heights + share * (most - heights), heights))


def _push_away(points: Array, origin: Array, by: Array, scene: Scene) -> Array:
    """Points (frames, n, 3) moved horizontally away from the foot's reference point, or towards it if negative."""
    arm = scene.level(points - origin)
    return np.asarray(points + arm * (by / np.maximum(size(arm), np.maximum(np.abs(by), 1e-300)))[..., np.newaxis])


def _under(ground: Ground, points: Array, foot: Foot) -> Array:
    scale = foot.motion.scale
    there = np.ascontiguousarray(points)
    return ground._heights(there, HIGH_WINDOW * scale, DEEP_WINDOW * scale, foot.scene.workers)


def _raise_to_passed(foot: Foot, heights: Array, way: Array, met: Hits, later: Mask, frames: NDArray[np.intp]) -> Array:
    """Heights raised to the upper side of surfaces that points pass through between two frames."""
    at, points = np.nonzero(met.hit)
    if not len(at):
        return heights
    scale, along = foot.motion.scale, way[at, points]
    inside = met.points[at, points] + along * (PLANT_TOLERANCE * scale / np.maximum(size(along), 1e-12))[:, np.newaxis]
    there = np.ascontiguousarray(inside)
    top = foot.scene.ground.still(frames[at])._heights(there, HIGH_WINDOW * scale, PLANT_TOLERANCE * scale, 1)
    found = heights.copy()
    first = ~later[at, points]
    for frame, point, high in ((at[first], points[first], top[first]), (at + 1, points, top)):
        found[frame, point] = np.fmax(found[frame, point], high)
    return found
