"""The pelvis: how it moves so that legs reach the ground and keep their bend."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ikcore import _core
from ikcore._arrays import mean_in_order, size
from ikcore.bake import quaternions
from ikcore.bake.clearance import RISE_TIME
from ikcore.bake.motion import ROUNDING
from ikcore.bake.paths import FootPath
from ikcore.bake.scene import Array, Scene, in_rounds, tangent
from ikcore.clips.smoothing import spline
from ikcore.feet.human import LEG, MOMENT, STEP, WHILE
from ikcore.feet.paths import smoothed, spread

# 1 - (hip-ankle distance / leg length)^2 at knee angles of 150 and 179.6 degrees
_KNEE_BENT, _KNEE_STRAIGHT = 0.067, 1e-5
_MORE_JERK = 1.2  # of its own jerk: more is too much
_TRIES = 5  # how often it is tried to have less
_LESS_BEND, _SOFT_BEND = 0.02, 0.1  # sines of half a knee's bend: what a moment may take off; enough in any case
_SWING_WEIGHT = 1e-3  # of a leg in swing, compared with one that stands: it counts where none stands
_KEPT_HEIGHT = 0.5  # of their height over ankles that hips keep: going down brings them little nearer to a foot aside

Bounds = tuple[Array, Array]  # of a height, from below and from above


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """How the body departs from the source, over all frames."""

    pivot: Array  # (frames, 3): where the pelvis is in the source
    tilt: Array | None  # (frames, 4): a world rotation, about that point, if it turns
    shift: Array  # (frames, 3): of the pelvis

    def part(self, frames: slice) -> Body:
        """Some of the frames."""
        return Body(self.pivot[frames], None if self.tilt is None else self.tilt[frames], self.shift[frames])

    def weighed(self, weight: float) -> Body:
        """Some of it."""
        tilt = None if self.tilt is None else quaternions.weighed(self.tilt, weight)
        return Body(self.pivot, tilt, self.shift * weight)

    def carried(self, points: Array) -> Array:
        """The new positions of points of the body (frames, 3)."""
        return _core.displaced(points, self.pivot, self.shift, self.tilt)


@dataclass(frozen=True, slots=True, eq=False)
class _Legs:
    """Legs between the body, as far as that tilts and goes along, and their feet."""

    # (legs, frames): how high hips are carried, and how high legs should end
    hip: Array
    ankle: Array
    away: Array  # (legs, frames, 3): horizontally, from hips to these ends
    own: Array  # (legs, frames): the distance of these in the source
    height: Array  # (legs, frames): how high hips are over ankles there, as the body tilts
    over: Array  # (legs, frames): how much feet are lifted over obstacles
    # (legs, frames): how far from its hip a leg may end, and how much it stands
    reach: Array
    stands: Array
    size: Array  # (legs, 1): their lengths


def body_of(pivot: Array, paths: list[FootPath], reaches: list[Array], scene: Scene, *, rounds: bool) -> Body:
    """The body above its feet. Those without legs ask for nothing where others have some.

    Over three rounds of a loop, or all of a clip.
    """
    chosen = [at for at, path in enumerate(paths) if not path.motion.leg.free]
    legs = [paths[at] for at in chosen]
    tilt, shift = _tilt(pivot, legs or paths, scene), np.zeros_like(pivot)
    if legs:
        along = Body(pivot, tilt, _along(legs, scene, rounds=rounds))
        hung = _hung(legs, np.stack([reaches[at] for at in chosen]), along, scene)
        rise = _rise(hung, legs, scene, rounds=rounds)
        shift = _aside(along.shift, hung, rise, legs, scene)
        shift[:, scene.axis] += rise
    else:
        shift[:, scene.axis] = _followed(paths, scene)
    rounding = ROUNDING * max(path.motion.scale for path in paths)
    still = np.abs(shift) <= rounding
    shift[still[:, 0] & still[:, 1] & still[:, 2]] = 0.0
    return Body(pivot, tilt, shift)


def reach_of(path: FootPath, scene: Scene) -> Array:
    """How far a leg may reach: as straight as in the source, or as it may be anyway, whichever is more."""
    return np.asarray(np.maximum(_length(path), scene.settings.straight * path.motion.size))


def _length(path: FootPath) -> Array:
    """The distance of hip and ankle in the source."""
    return np.asarray(size(path.motion.ankle - path.motion.chain[:, 0]))


def _hung(paths: list[FootPath], reach: Array, body: Body, scene: Scene) -> _Legs:
    axis, shape = scene.axis, reach.shape
    hip, ankle, own, height, over = np.empty((5, *shape))
    away = np.empty((*shape, 3))
    for at, path in enumerate(paths):
        top, foot, end = path.motion.chain[:, 0], path.motion.ankle, path.ankle
        own[at], over[at] = size(foot - top), path.shift[:, axis] - path.plain
        carried = body.carried(top)
        away[at], hip[at], ankle[at] = scene.level(end - carried), carried[:, axis], end[:, axis]
        if body.tilt is not None:
            top, foot = carried, body.carried(foot)
        height[at] = top[:, axis] - foot[:, axis]
    stands, long = np.stack([path.stands for path in paths]), np.array([[path.motion.size] for path in paths])
    return _Legs(hip, ankle, away, own, height, over, reach, stands, long)


def _agreed(want: Array, paths: list[FootPath]) -> tuple[Array, Array, Array]:
    """The common wish of all legs (legs, frames, axes); how much one stands, and how straight it is, 1 if bent.

    Legs count as they stand, and as knees bend for how far hips are moved, squared: 1 / (1 - (distance / length)^2).
    One that others want to move by a step bends all the same.
    """
    stands = np.maximum(np.stack([path.stands for path in paths]), _SWING_WEIGHT)
    far, long = np.stack([_length(path) for path in paths]), np.array([[path.motion.size] for path in paths])
    off, much = want - _weighed(want, stands), STEP / LEG * long
    straight = np.maximum(1 - far * far / (long * long), _KNEE_STRAIGHT)
    bent = straight + _KNEE_BENT / (much * much) * np.add.accumulate(off * off, axis=2)[..., -1]
    heeds = stands * (_KNEE_BENT / np.minimum(bent, _KNEE_BENT))
    most = np.maximum.reduce(stands)
    return _weighed(want, heeds), most, np.maximum.reduce(heeds) / most


def _weighed(values: Array, weights: Array) -> Array:
    """The mean over legs, added one after the other."""
    return np.asarray(_summed(weights[..., np.newaxis] * values) / _summed(weights)[:, np.newaxis])


# --- up and down -----------------------------------------------------------------------------------------------------


def _rise(legs: _Legs, paths: list[FootPath], scene: Scene, *, rounds: bool) -> Array:
    """How far up the pelvis goes, frame by frame: as legs that stand want it; it is free where none does."""
    wanted = _as_in_source(legs)
    highest = np.minimum.reduce(_highest(legs, wanted, scene))
    agreed, stands, straight = _agreed(wanted[..., np.newaxis], paths)
    rise = agreed[:, 0]
    if scene.settings.pelvis == "lowest":
        rise, straight = np.minimum.reduce([path.plain for path in paths]), np.ones(len(rise))
    rise = np.minimum(rise, highest)
    del wanted, agreed  # of a long clip they take much memory
    lower, upper = _about(rise, highest, scene)
    hips = mean_in_order([path.motion.chain[:, 0] for path in paths])
    rough = _MORE_JERK * _jerk(hips, scene)

    def smoothed_below(upper: Array, start: Array | None = None) -> Array:
        """Smoothed within the bounds. The weight of straight legs falls where they make it jerk too much."""
        weights = straight
        for _ in range(_TRIES):
            found = start = _smoothed(rise, (lower, upper), stands * weights, scene, start)
            rougher = _jerk(hips + found[:, np.newaxis] * scene.up, scene) > rough
            if not rougher.any():
                break
            share = smoothed(np.where(rougher, 1.0, 0.0), WHILE, scene.fps)
            share = in_rounds(share) if rounds else share
            weights = weights + share * (np.sqrt(weights) - weights)
        return found

    found = smoothed_below(upper)
    most = np.minimum.reduce(_most_with_bent_knee(legs, found, scene))
    if (most < found).any():
        found = smoothed_below(np.minimum(upper, most), found)
    return _bounded(found, paths, scene)


def _until(legs: _Legs, height: Array, length: Array, side: Array | float) -> Array:
    """How far up a hip goes until it is as far from an ankle of some height as a length, above it or below."""
    up, flat = length * length, size(legs.away)
    up -= flat * flat
    np.sqrt(np.maximum(up, 0, out=up), out=up)
    return np.asarray(height - legs.hip + side * np.maximum(up, _KEPT_HEIGHT * side * legs.height))


def _as_in_source(legs: _Legs) -> Array:
    """How far up a hip goes to be as far from its ankle as in the source; one far aside is kept low."""
    side, height = np.where(legs.height < 0, -1.0, 1.0), legs.ankle - legs.over
    found = _until(legs, height, legs.own, side)
    most = height - legs.hip + legs.height / _KEPT_HEIGHT
    return np.where(side < 0, np.maximum(found, most), np.minimum(found, most))


def _highest(legs: _Legs, wanted: Array, scene: Scene) -> Array:
    """How far up a hip may go, as far as its leg reaches: one that is about to be at its limit gives before it is."""
    reached = _until(legs, legs.ankle, legs.reach, 1.0)
    return np.asarray(np.maximum(-spread(-reached, MOMENT, scene.fps), np.minimum(reached, wanted)))


def _half_bend(distance: Array, legs: _Legs) -> Array:
    """About the sine of half the angle by which the knee is bent, from the distance between hip and ankle."""
    return np.sqrt(np.maximum(1 - distance * distance / (legs.size * legs.size), 0))


def _bends(legs: _Legs, rise: Array, scene: Scene) -> tuple[Array, Array, Array]:
    """How much knees bend after a rise without obstacles, in the source, and how much more with a rise over these."""
    bent, way = _half_bend(legs.own, legs), legs.away.copy()
    way[..., scene.axis] = legs.ankle - legs.over - legs.hip - rise
    bend = _half_bend(size(way), legs)
    way[..., scene.axis] += legs.over
    added = np.minimum(np.maximum(bend - bent, 0), _SOFT_BEND)
    added += np.where(legs.over > 0, np.maximum(_half_bend(size(way), legs) - bend, 0), 0)
    return bend, bent, added


def _most_with_bent_knee(legs: _Legs, rise: Array, scene: Scene) -> Array:
    """The most that the hip may rise, so that no standing leg is straight for a single moment; else infinite.

    The bend in a frame is at least that of the source and most of what the rise has added in the frames around it,
    obstacles included. Beyond a soft bend there is no bound.
    """
    bend, source, added = _bends(legs, rise, scene)
    least = np.minimum(source + smoothed(added.T, MOMENT, scene.fps).T - _LESS_BEND, _SOFT_BEND)
    del source, added  # of a long clip they take much memory
    most = _until(legs, legs.ankle - legs.over, legs.size * np.sqrt(1 - least * least), 1.0)
    return np.where((bend < least) & (legs.stands > 0), most, np.inf)


def _jerk(places: Array, scene: Scene) -> Array:
    """The jerk of the middle of the hips about every frame: the size of its third differences, filtered."""
    apart, frames = max(1, round(MOMENT / 2 * scene.fps)), len(places)
    if frames <= 3 * apart:
        return np.zeros(frames)
    for _ in range(3):
        places = places[apart:] - places[:-apart]
    jerk, before = smoothed(size(places), 2 * WHILE, scene.fps), (frames - len(places)) // 2
    return np.concatenate([jerk[:1].repeat(before), jerk, jerk[-1:].repeat(frames - len(places) - before)])


def _followed(paths: list[FootPath], scene: Scene) -> Array:
    """How far up it goes with feet that are free: as the lowest does, as nothing says how far up legs would reach."""
    lowest = np.minimum.reduce([path.plain for path in paths])
    bounds = _about(lowest, np.full(len(lowest), np.inf), scene)
    return _bounded(_smoothed(lowest, bounds, np.ones(len(lowest)), scene), paths, scene)


def _bounded(rise: Array, paths: list[FootPath], scene: Scene) -> Array:
    """No farther from where feet go than it may be."""
    plain, scale = [path.plain for path in paths], max(path.motion.scale for path in paths)
    lift, drop = (np.inf if most is None else most * scale for most in (scene.settings.lift, scene.settings.drop))
    low, high = np.minimum.reduce(plain) - drop, np.maximum.reduce(plain) + lift
    return np.asarray(np.minimum(np.maximum(rise, low), high))


def _about(wanted: Array, highest: Array, scene: Scene) -> Bounds:
    """Never above the highest, nor above all of what is wanted about then; exactly as wanted where that stays."""
    least, most = -spread(-wanted, WHILE, scene.fps), spread(wanted, WHILE, scene.fps)
    return np.where(least == most, wanted, -np.inf), np.minimum(most, highest)


def _smoothed(wanted: Array, bounds: Bounds, share: Array, scene: Scene, start: Array | None = None) -> Array:
    """Near to what is wanted, by a share, and within bounds; faster rises and falls are smoothed."""
    return spline(wanted, fps=scene.fps, pull=share / RISE_TIME**4, lower=bounds[0], upper=bounds[1], start=start)


# --- aside -----------------------------------------------------------------------------------------------------------


def _along(paths: list[FootPath], scene: Scene, *, rounds: bool) -> Array:
    """How far the pelvis goes along with feet that are moved over the ground; not with ground that moves."""
    if scene.ground.moves:
        return np.zeros_like(paths[0].shift)
    wanted, stands, straight = _agreed(scene.level(np.stack([path.shift for path in paths])), paths)
    once = (len(wanted) - 1) // 3
    own = slice(once, 2 * once + 1) if rounds else slice(None)
    most, pull = scene.settings.shift / 2 * max(path.motion.scale for path in paths), stands * straight / WHILE**4
    curve = spline(wanted[own], fps=scene.fps, pull=pull[own, np.newaxis], lower=-most, upper=most, loop=rounds)
    return np.concatenate([curve[:-1], curve[:-1], curve]) if rounds else curve


def _aside(along: Array, legs: _Legs, rise: Array, paths: list[FootPath], scene: Scene) -> Array:
    """How far the pelvis goes sideways: along, and towards feet that are out of reach even so."""
    up = legs.ankle - (legs.hip + rise)
    may = np.sqrt(np.maximum(legs.reach * legs.reach - up * up, 0))
    lack = _summed(legs.away * np.clip(1 - may / np.maximum(size(legs.away), 1e-12), 0, 1)[..., np.newaxis])
    found = along.copy()
    for axis in [axis for axis in range(3) if lack[:, axis].any()]:
        ahead, back = (spread(np.maximum(each, 0), WHILE, scene.fps) for each in (lack[:, axis], -lack[:, axis]))
        found[:, axis] += smoothed(ahead - back, WHILE, scene.fps)
    most, far = scene.settings.shift * max(path.motion.scale for path in paths), size(found)
    return np.asarray(found * (np.minimum(far, most) / np.maximum(far, 1e-12))[:, np.newaxis])


# --- tilt ------------------------------------------------------------------------------------------------------------


def _tilt(pivot: Array, paths: list[FootPath], scene: Scene) -> Array | None:
    """The rotation from level to the slope of the ground under all feet, the plane nearest to where they are on it."""
    chosen = scene.settings.tilt
    share = chosen if chosen is not None else float(len(paths) > 2)
    if share == 0 or len(paths) < 2:
        return None
    first, second = ((scene.axis + more) % 3 for more in (1, 2))
    at = np.stack([path.ankle - pivot for path in paths])
    up = np.stack([path.plain for path in paths])
    x, y, z = (_centred(values) for values in (at[..., first], at[..., second], up))
    xx, yy, xy, xz, yz = (_summed(a * b) for a, b in ((x, x), (y, y), (x, y), (x, z), (y, z)))
    few = STEP * max(path.motion.scale for path in paths)  # feet in one line tilt nothing aside
    xx, yy = xx + few * few, yy + few * few
    determinant = xx * yy - xy * xy
    slope = np.zeros_like(pivot)
    slope[:, first] = smoothed((xz * yy - yz * xy) / determinant, WHILE, scene.fps) * share
    slope[:, second] = smoothed((yz * xx - xz * xy) / determinant, WHILE, scene.fps) * share
    steep = size(slope)
    slope *= (np.minimum(steep, tangent(scene.settings.pitch)) / np.maximum(steep, 1e-12))[:, np.newaxis]
    return quaternions.shortest_arc(scene.up, scene.up - slope)


def _centred(values: Array) -> Array:
    return np.asarray(values - _summed(values) / len(values))


def _summed(values: Array) -> Array:
    """Over legs, one after the other."""
    return np.asarray(functools.reduce(np.add, values))
