"""The pelvis: displacement and tilt with which legs reach the ground and keep their bend."""

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
from ikcore.bake.scene import Array, Scene, repeat_second_round, tangent
from ikcore.clips.smoothing import spline
from ikcore.feet.thresholds import ANTICIPATION_TIME, LEG_LENGTH, SMOOTHING_TIME, STEP_HEIGHT
from ikcore.feet.time_series import smooth, spread

# 1 - (hip-ankle distance / leg length)^2 at knee angles of 150 and 179.6 degrees
_KNEE_BENT, _KNEE_STRAIGHT = 0.067, 1e-5
_MORE_JERK = 1.2  # jerk ratio to the source above which the pelvis is smoothed more
_TRIES = 5  # largest number of attempts to reduce the jerk
# Sines of half a knee's bend: largest loss within a moment; bend above which there is no bound.
_LESS_BEND, _SOFT_BEND = 0.02, 0.1
_SWING_WEIGHT = 1e-3  # weight of a leg in swing relative to a standing leg: decides where no leg stands
# Share of their height above ankles that hips keep, as moving down brings a foot at the side little nearer.
_KEPT_HEIGHT = 0.5

Bounds = tuple[Array, Array]  # lower and upper bounds of a height


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Displacement and tilt of the body relative to the source, over all frames."""

    pivot: Array  # (frames, 3): position of the pelvis in the source
    tilt: Array | None  # (frames, 4): world rotation about that point, None without tilt
    shift: Array  # (frames, 3): displacement of the pelvis

    def part(self, frames: slice) -> Body:
        """The displacement in some frames."""
        return Body(self.pivot[frames], None if self.tilt is None else self.tilt[frames], self.shift[frames])

    def with_weight(self, weight: float) -> Body:
        """The displacement scaled by a weight."""
        tilt = None if self.tilt is None else quaternions.scale_rotations(self.tilt, weight)
        return Body(self.pivot, tilt, self.shift * weight)

    def new_positions(self, points: Array) -> Array:
        """New positions of points of the body, (frames, 3)."""
        return _core.displaced(points, self.pivot, self.shift, self.tilt)


@dataclass(frozen=True, slots=True, eq=False)
class _Legs:
    """Legs from the hips of the moved body, before it rises, to the targets of their feet."""

    # (legs, frames): heights of the hips, and of the targets
    hip: Array
    ankle: Array
    away: Array  # (legs, frames, 3): horizontal vectors from hips to targets
    own: Array  # (legs, frames): hip-ankle distances in the source
    height: Array  # (legs, frames): height of the hip above the ankle in the source, with the tilt of the body
    over: Array  # (legs, frames): lift of feet over obstacles
    # (legs, frames): largest hip-ankle distance, and stance weight
    reach: Array
    stands: Array
    size: Array  # (legs, 1): leg lengths


def body_of(pivot: Array, paths: list[FootPath], reaches: list[Array], scene: Scene, *, rounds: bool) -> Body:
    """The displacement of the body above its feet. Free feet count only if there are no legs.

    Over three rounds of a loop, or over the whole clip.
    """
    chosen = [at for at, path in enumerate(paths) if not path.motion.leg.free]
    legs = [paths[at] for at in chosen]
    tilt, shift = _tilt(pivot, legs or paths, scene), np.zeros_like(pivot)
    if legs:
        along = Body(pivot, tilt, _follow_feet(legs, scene, rounds=rounds))
        hung = _legs_of(legs, np.stack([reaches[at] for at in chosen]), along, scene)
        rise = _rise(hung, legs, scene, rounds=rounds)
        shift = _reach_sideways(along.shift, hung, rise, legs, scene)
        shift[:, scene.axis] += rise
    else:
        shift[:, scene.axis] = _rise_of_free_feet(paths, scene)
    rounding = ROUNDING * max(path.motion.scale for path in paths)
    still = np.abs(shift) <= rounding
    shift[still[:, 0] & still[:, 1] & still[:, 2]] = 0.0
    return Body(pivot, tilt, shift)


def reach_of(path: FootPath, scene: Scene) -> Array:
    """The largest hip-ankle distance of a leg: as in the source, or as the settings allow, whichever is larger."""
    return np.asarray(np.maximum(_length(path), scene.settings.straight * path.motion.size))


def _length(path: FootPath) -> Array:
    """The hip-ankle distance in the source."""
    return np.asarray(size(path.motion.ankle - path.motion.chain[:, 0]))


def _legs_of(paths: list[FootPath], reach: Array, body: Body, scene: Scene) -> _Legs:
    axis, shape = scene.axis, reach.shape
    hip, ankle, own, height, over = np.empty((5, *shape))
    away = np.empty((*shape, 3))
    for at, path in enumerate(paths):
        top, foot, end = path.motion.chain[:, 0], path.motion.ankle, path.ankle
        own[at], over[at] = size(foot - top), path.shift[:, axis] - path.plain
        carried = body.new_positions(top)
        away[at], hip[at], ankle[at] = scene.level(end - carried), carried[:, axis], end[:, axis]
        if body.tilt is not None:
            top, foot = carried, body.new_positions(foot)
        height[at] = top[:, axis] - foot[:, axis]
    stands, long = np.stack([path.stands for path in paths]), np.array([[path.motion.size] for path in paths])
    return _Legs(hip, ankle, away, own, height, over, reach, stands, long)


def _mean_target(want: Array, paths: list[FootPath]) -> tuple[Array, Array, Array]:
    """The weighted mean of the targets of all legs (legs, frames, axes), the largest stance weight, and a knee factor.

    The weight of a leg is its stance weight times its knee factor, at least 1: `_KNEE_BENT` over 1 - (distance /
    length)^2, for the hip-ankle distance. Straight legs thus count more. The denominator grows with the square of the
    distance from the leg's target to the mean, because such a leg bends in any case. Both numbers are (frames,).
    """
    stands = np.maximum(np.stack([path.stands for path in paths]), _SWING_WEIGHT)
    far, long = np.stack([_length(path) for path in paths]), np.array([[path.motion.size] for path in paths])
    off, much = want - _weighted_mean(want, stands), STEP_HEIGHT / LEG_LENGTH * long
    straight = np.maximum(1 - far * far / (long * long), _KNEE_STRAIGHT)
    bent = straight + _KNEE_BENT / (much * much) * np.add.accumulate(off * off, axis=2)[..., -1]
    heeds = stands * (_KNEE_BENT / np.minimum(bent, _KNEE_BENT))
    most = np.maximum.reduce(stands)
    return _weighted_mean(want, heeds), most, np.maximum.reduce(heeds) / most


def _weighted_mean(values: Array, weights: Array) -> Array:
    """The weighted mean over legs, added in order."""
    return np.asarray(_sum_of_legs(weights[..., np.newaxis] * values) / _sum_of_legs(weights)[:, np.newaxis])


# --- height ----------------------------------------------------------------------------------------------------------


def _rise(legs: _Legs, paths: list[FootPath], scene: Scene, *, rounds: bool) -> Array:
    """Upward displacement of the pelvis, (frames,): as standing legs need it, smooth and within their reach."""
    wanted = _rise_of_source(legs)
    highest = np.minimum.reduce(_highest_rise(legs, wanted, scene))
    agreed, stands, straight = _mean_target(wanted[..., np.newaxis], paths)
    del wanted  # needs much memory for a long clip
    rise = agreed[:, 0]
    if scene.settings.pelvis == "lowest":
        rise, straight = np.minimum.reduce([path.plain for path in paths]), np.ones(len(rise))
    rise = np.minimum(rise, highest)
    lower, upper = _rise_bounds(rise, highest, scene)
    hips = mean_in_order([path.motion.chain[:, 0] for path in paths])
    rough = _MORE_JERK * _jerk(hips, scene)

    def smooth_below(upper: Array, start: Array | None = None) -> Array:
        """The smooth displacement within bounds. Straight legs get less weight where the pelvis jerks too much."""
        weights = straight
        for _ in range(_TRIES):
            found = start = _smooth_within(rise, (lower, upper), stands * weights, scene, start)
            rougher = _jerk(hips + found[:, np.newaxis] * scene.up, scene) > rough
            if not rougher.any():
                break
            share = smooth(np.where(rougher, 1.0, 0.0), SMOOTHING_TIME, scene.fps)
            share = repeat_second_round(share) if rounds else share
            weights = weights + share * (np.sqrt(weights) - weights)
        return found

    found = smooth_below(upper)
    most = np.minimum.reduce(_most_with_bent_knee(legs, found, scene))
    if (most < found).any():
        found = smooth_below(np.minimum(upper, most), found)
    return _within_settings(found, paths, scene)


def _rise_to_distance(legs: _Legs, height: Array, length: Array, side: Array | float) -> Array:
    """Rise of a hip to a given distance from an ankle at some height, on the upper or lower side."""
    flat = size(legs.away)
    up = np.sqrt(np.maximum(length * length - flat * flat, 0))
    return np.asarray(height - legs.hip + side * np.maximum(up, _KEPT_HEIGHT * side * legs.height))


def _rise_of_source(legs: _Legs) -> Array:
    """Rise of a hip at which its ankle is as far as in the source; bounded if the ankle is far to the side."""
    side, height = np.where(legs.height < 0, -1.0, 1.0), legs.ankle - legs.over
    found = _rise_to_distance(legs, height, legs.own, side)
    most = height - legs.hip + legs.height / _KEPT_HEIGHT
    return np.where(side < 0, np.maximum(found, most), np.minimum(found, most))


def _highest_rise(legs: _Legs, wanted: Array, scene: Scene) -> Array:
    """Largest rise of a hip within the reach of its leg; it gives way before the limit is reached."""
    reached = _rise_to_distance(legs, legs.ankle, legs.reach, 1.0)
    return np.asarray(np.maximum(-spread(-reached, ANTICIPATION_TIME, scene.fps), np.minimum(reached, wanted)))


def _half_bend(distance: Array, legs: _Legs) -> Array:
    """Approximate sine of half the bend angle of a knee, from the hip-ankle distance."""
    return np.sqrt(np.maximum(1 - distance * distance / (legs.size * legs.size), 0))


def _bends(legs: _Legs, rise: Array, scene: Scene) -> tuple[Array, Array, Array]:
    """Knee bends after a rise without obstacles, in the source, and what the rise and obstacles add."""
    bent, way = _half_bend(legs.own, legs), legs.away.copy()
    way[..., scene.axis] = legs.ankle - legs.over - legs.hip - rise
    bend = _half_bend(size(way), legs)
    way[..., scene.axis] += legs.over
    lifted = np.where(legs.over > 0, np.maximum(_half_bend(size(way), legs) - bend, 0), 0)
    del way  # needs much memory for a long clip
    return bend, bent, np.minimum(np.maximum(bend - bent, 0), _SOFT_BEND) + lifted


def _most_with_bent_knee(legs: _Legs, rise: Array, scene: Scene) -> Array:
    """Largest rise at which no standing leg is straight for a single moment; infinite without a bound.

    The bend in a frame is at least that of the source plus most of what the rise adds in the frames around it,
    obstacles included. A bend above `_SOFT_BEND` has no bound.
    """
    bend, source, added = _bends(legs, rise, scene)
    least = np.minimum(source + smooth(added.T, ANTICIPATION_TIME, scene.fps).T - _LESS_BEND, _SOFT_BEND)
    straighter, length = (bend < least) & (legs.stands > 0), legs.size * np.sqrt(1 - least * least)
    del bend, source, added, least  # need much memory for a long clip
    return np.where(straighter, _rise_to_distance(legs, legs.ankle - legs.over, length, 1.0), np.inf)


def _jerk(places: Array, scene: Scene) -> Array:
    """Jerk of the hips' mean in every frame: the size of its third differences, filtered."""
    apart, frames = max(1, round(ANTICIPATION_TIME / 2 * scene.fps)), len(places)
    if frames <= 3 * apart:
        return np.zeros(frames)
    for _ in range(3):
        places = places[apart:] - places[:-apart]
    jerk, before = smooth(size(places), 2 * SMOOTHING_TIME, scene.fps), (frames - len(places)) // 2
    return np.concatenate([jerk[:1].repeat(before), jerk, jerk[-1:].repeat(frames - len(places) - before)])


def _rise_of_free_feet(paths: list[FootPath], scene: Scene) -> Array:
    """Rise of a body with free feet only: that of the lowest foot, as the reach of free feet is unknown."""
    lowest = np.minimum.reduce([path.plain for path in paths])
    bounds = _rise_bounds(lowest, np.full(len(lowest), np.inf), scene)
    return _within_settings(_smooth_within(lowest, bounds, np.ones(len(lowest)), scene), paths, scene)


def _within_settings(rise: Array, paths: list[FootPath], scene: Scene) -> Array:
    """The rise within the settings `lift` and `drop` relative to the feet."""
    plain, scale = [path.plain for path in paths], max(path.motion.scale for path in paths)
    lift, drop = (np.inf if most is None else most * scale for most in (scene.settings.lift, scene.settings.drop))
    low, high = np.minimum.reduce(plain) - drop, np.maximum.reduce(plain) + lift
    return np.asarray(np.minimum(np.maximum(rise, low), high))


def _rise_bounds(wanted: Array, highest: Array, scene: Scene) -> Bounds:
    """Bounds of a rise: `highest`, and the largest target within 0.25 s. A constant target is met exactly."""
    least, most = -spread(-wanted, SMOOTHING_TIME, scene.fps), spread(wanted, SMOOTHING_TIME, scene.fps)
    return np.where(least == most, wanted, -np.inf), np.minimum(most, highest)


def _smooth_within(wanted: Array, bounds: Bounds, share: Array, scene: Scene, start: Array | None = None) -> Array:
    """The smooth curve near the wanted one, by a share, within bounds."""
    return spline(wanted, fps=scene.fps, pull=share / RISE_TIME**4, lower=bounds[0], upper=bounds[1], start=start)


# --- sideways ---------------------------------------------------------------------------------------------------------


def _follow_feet(paths: list[FootPath], scene: Scene, *, rounds: bool) -> Array:
    """Horizontal displacement of the pelvis with feet that are moved; zero over moving ground."""
    if scene.ground.moves:
        return np.zeros_like(paths[0].shift)
    wanted, stands, straight = _mean_target(scene.level(np.stack([path.shift for path in paths])), paths)
    once = (len(wanted) - 1) // 3
    own = slice(once, 2 * once + 1) if rounds else slice(None)
    most, pull = (
        scene.settings.shift / 2 * max(path.motion.scale for path in paths),
        stands * straight / SMOOTHING_TIME**4,
    )
    curve = spline(wanted[own], fps=scene.fps, pull=pull[own, np.newaxis], lower=-most, upper=most, loop=rounds)
    return np.concatenate([curve[:-1], curve[:-1], curve]) if rounds else curve


def _reach_sideways(along: Array, legs: _Legs, rise: Array, paths: list[FootPath], scene: Scene) -> Array:
    """Horizontal displacement of the pelvis: the given one, plus the shortfall of feet out of reach."""
    up = legs.ankle - (legs.hip + rise)
    may = np.sqrt(np.maximum(legs.reach * legs.reach - up * up, 0))
    lack = _sum_of_legs(legs.away * np.clip(1 - may / np.maximum(size(legs.away), 1e-12), 0, 1)[..., np.newaxis])
    found = along.copy()
    for axis in [axis for axis in range(3) if lack[:, axis].any()]:
        ahead, back = (
            spread(np.maximum(each, 0), SMOOTHING_TIME, scene.fps) for each in (lack[:, axis], -lack[:, axis])
        )
        found[:, axis] += smooth(ahead - back, SMOOTHING_TIME, scene.fps)
    most, far = scene.settings.shift * max(path.motion.scale for path in paths), size(found)
    return np.asarray(found * (np.minimum(far, most) / np.maximum(far, 1e-12))[:, np.newaxis])


# --- tilt ------------------------------------------------------------------------------------------------------------


def _tilt(pivot: Array, paths: list[FootPath], scene: Scene) -> Array | None:
    """The tilt of the body: from level to the plane nearest to the ground under all feet."""
    chosen = scene.settings.tilt
    share = chosen if chosen is not None else float(len(paths) > 2)
    if share == 0 or len(paths) < 2:
        return None
    first, second = ((scene.axis + more) % 3 for more in (1, 2))
    at = np.stack([path.ankle - pivot for path in paths])
    up = np.stack([path.plain for path in paths])
    x, y, z = (_without_mean(values) for values in (at[..., first], at[..., second], up))
    xx, yy, xy, xz, yz = (_sum_of_legs(a * b) for a, b in ((x, x), (y, y), (x, y), (x, z), (y, z)))
    few = STEP_HEIGHT * max(path.motion.scale for path in paths)  # feet in one line give no tilt across it
    xx, yy = xx + few * few, yy + few * few
    determinant = xx * yy - xy * xy
    slope = np.zeros_like(pivot)
    slope[:, first] = smooth((xz * yy - yz * xy) / determinant, SMOOTHING_TIME, scene.fps) * share
    slope[:, second] = smooth((yz * xx - xz * xy) / determinant, SMOOTHING_TIME, scene.fps) * share
    steep = size(slope)
    slope *= (np.minimum(steep, tangent(scene.settings.pitch)) / np.maximum(steep, 1e-12))[:, np.newaxis]
    return quaternions.shortest_arc(scene.up, scene.up - slope)


def _without_mean(values: Array) -> Array:
    return np.asarray(values - _sum_of_legs(values) / len(values))


def _sum_of_legs(values: Array) -> Array:
    """The sum over legs, added in order."""
    return np.asarray(functools.reduce(np.add, values))
