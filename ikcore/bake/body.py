"""The body: how the pelvis moves so that legs reach the ground and keep their bend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ikcore import _core
from ikcore._arrays import size
from ikcore.bake import quaternions
from ikcore.bake.curves import smooth
from ikcore.bake.filters import in_rounds, smoothed, spread
from ikcore.bake.motion import ROUNDING
from ikcore.bake.scene import Array, Scene, tangent
from ikcore.bake.way import Way
from ikcore.feet.human import LEG, MOMENT, STEP, WHILE

_BENT, _STRAIGHT = 0.067, 1e-5  # what (far / length)^2 of a leg lacks to 1 with its knee at 150 degrees, and at 179.6
_RISES = 0.075  # seconds: what would make it rise and fall faster is smoothed, if no knee is straight
_MORE_JERK = 1.2  # beside its own jerk: what is too much of it
_TRIES = 5  # how often it is tried to have less
_LESS, _SOFT = 0.02, 0.1  # sines of half of what a knee may bend less for a moment, and of what it has to bend at most
_LEAST = 1e-3  # of what a leg that stands asks of the body, what one in swing does: all where none stands
_TILTS = 30.0  # degrees: the most that a body leans with the slope

Bounds = tuple[Array, Array]  # of a height, from below and from above
Hung = tuple[tuple[Any, ...], ...]  # legs that hang on the body, as the core takes them (`ikcore._core.rises`)


@dataclass(slots=True, eq=False)
class Body:
    """How the body departs from the clip, over all frames.

    Attributes
    ----------
    pivot : (frames, 3) array
        Where the pelvis is in the clip.
    tilt : (frames, 4) array or None
        A world rotation, about that point, if it turns.
    shift : (frames, 3) array
        Of the pelvis.
    """

    pivot: Array
    tilt: Array | None
    shift: Array

    def part(self, frames: slice) -> Body:
        """Some of the frames."""
        return Body(self.pivot[frames], None if self.tilt is None else self.tilt[frames], self.shift[frames])

    def carried(self, points: Array) -> Array:
        """Where points of the body (frames, 3) go."""
        return _core.displaced(points, self.pivot, self.shift, self.tilt)


def body_of(pivot: Array, ways: list[Way], scene: Scene, *, rounds: bool) -> Body:
    """The body above its feet. Those without legs ask for nothing where others have some.

    Over three rounds of a loop, or all of a clip.
    """
    legs = [way for way in ways if not way.motion.leg.free]
    body = Body(pivot, _tilt(pivot, legs or ways, scene), np.zeros_like(pivot))
    _limit(ways, scene)
    if legs:
        body.shift = _along(legs, scene, rounds=rounds)
        hung = tuple([_hung(way, body, scene) for way in legs])
        rise = _rise(hung, legs, scene, rounds=rounds)
        body.shift = _aside(body.shift, hung, rise, legs, scene)
        body.shift[:, scene.axis] += rise
    else:
        body.shift = _followed(ways, scene)[:, np.newaxis] * scene.up
    rounding = ROUNDING * max(way.motion.scale for way in ways)
    body.shift[(np.abs(body.shift) <= rounding).all(axis=1)] = 0.0
    return body


def _limit(ways: list[Way], scene: Scene) -> None:
    """How far legs may reach: as straight as they are in the clip, or may be anyway, whichever is more."""
    for way in ways:
        own = size(way.motion.ankle - way.motion.chain[:, 0])
        way.reach = np.maximum(own, scene.settings.straight * way.motion.size)


def _hung(way: Way, body: Body, scene: Scene) -> tuple[Any, ...]:
    """A leg in the clip, and between the body and its foot."""
    hip, ankle = (np.ascontiguousarray(way.motion.chain[:, joint]) for joint in (0, -1))
    over, carried = way.shift[:, scene.axis] - way.plain, body.carried(hip)
    top, foot = (hip, ankle) if body.tilt is None else (carried, body.carried(ankle))
    high = top[:, scene.axis] - foot[:, scene.axis]
    return hip, ankle, carried, way.ankle, high, over, way.reach, way.stands, way.motion.size


def _agreed(wanted: list[Array], ways: list[Way]) -> tuple[Array, Array, Array]:
    """What legs want (frames, axes) together; how much one stands, and how straight it is (frames,), 1 if bent.

    Legs count as they stand, and as knees bend for how far hips are moved, squared: a straight one bends for a trace.
    That is about 1 / (1 - (far / length)^2) of a leg. If others want a step else than it does it bends all the same.
    """
    legs = [(way.stands, way.motion.chain[:, 0], way.motion.ankle, way.motion.size) for way in ways]
    asked = tuple([(each, *leg) for each, leg in zip(wanted, legs, strict=True)])
    return _core.agreed(asked, (_LEAST, _BENT, _STRAIGHT, STEP / LEG))


# --- up and down -----------------------------------------------------------------------------------------------------


def _rise(hung: Hung, ways: list[Way], scene: Scene, *, rounds: bool) -> Array:
    """How far up the pelvis goes, frame by frame: as legs that stand want it; it is free where none does."""
    moment = MOMENT * scene.fps
    wanted, highest = _core.rises(hung, scene.axis, moment)
    agreed, stands, straight = _agreed([own[:, np.newaxis] for own in wanted], ways)
    rise = agreed[:, 0]
    if scene.settings.pelvis == "lowest":
        rise, straight = np.minimum.reduce([way.plain for way in ways]), np.ones(len(rise))
    rise = np.minimum(rise, highest)
    lower, upper = _about(rise, highest, scene)
    rough = _MORE_JERK * _jerk(hung, None, scene)

    def under(upper: Array, start: Array | None = None) -> Array:
        """As straight legs want it; where that makes it jerk too much, as it is by itself, which it does not heed."""
        heeds = straight
        for _ in range(_TRIES):
            found = start = _smoothed(rise, (lower, upper), stands * heeds, scene, start)
            rougher = _jerk(hung, found, scene) > rough
            if not rougher.any():
                break
            share = smoothed(np.where(rougher, 1.0, 0.0), WHILE, scene.fps)
            share = in_rounds(share) if rounds else share
            heeds = heeds + share * (np.sqrt(heeds) - heeds)
        return found

    found = under(upper)
    most = _core.eased(hung, scene.axis, found, moment, _LESS, _SOFT)
    if (most < found).any():
        found = under(np.minimum(upper, most), found)
    return _bounded(found, ways, scene)


def _jerk(hung: Hung, rise: Array | None, scene: Scene) -> Array:
    """That of the middle of the hips about every frame, as they have risen (frames,)."""
    return _core.jerk(hung, scene.axis, rise, max(1, round(MOMENT / 2 * scene.fps)), 2 * WHILE * scene.fps)


def _followed(ways: list[Way], scene: Scene) -> Array:
    """How far up it goes with feet that are free: as the lowest does, as nothing says how far up legs would reach."""
    lowest = np.minimum.reduce([way.plain for way in ways])
    bounds = _about(lowest, np.full(len(lowest), np.inf), scene)
    return _bounded(_smoothed(lowest, bounds, np.ones(len(lowest)), scene), ways, scene)


def _bounded(rise: Array, ways: list[Way], scene: Scene) -> Array:
    """No farther from where feet go than it may be."""
    plain, scale = [way.plain for way in ways], max(way.motion.scale for way in ways)
    low = np.minimum.reduce(plain) - scene.settings.drop * scale
    high = np.maximum.reduce(plain) + scene.settings.lift * scale
    return np.asarray(np.minimum(np.maximum(rise, low), high))


def _about(wanted: Array, highest: Array, scene: Scene) -> Bounds:
    """Never above the highest, nor above all of what is wanted about then; exactly as wanted where that stays."""
    least, most = -spread(-wanted, WHILE, scene.fps), spread(wanted, WHILE, scene.fps)
    return np.where(least == most, wanted, -np.inf), np.minimum(most, highest)


def _smoothed(wanted: Array, bounds: Bounds, share: Array, scene: Scene, start: Array | None = None) -> Array:
    """Near to what is wanted, by a share, and within bounds."""
    return smooth(wanted, fps=scene.fps, pull=share / _RISES**4, lower=bounds[0], upper=bounds[1], start=start)


# --- aside -----------------------------------------------------------------------------------------------------------


def _along(ways: list[Way], scene: Scene, *, rounds: bool) -> Array:
    """How far the pelvis goes along with feet that are moved over the ground; not with ground that moves."""
    if scene.ground.moves:
        return np.zeros_like(ways[0].shift)
    wanted, stands, straight = _agreed([scene.level(way.shift) for way in ways], ways)
    once = (len(wanted) - 1) // 3
    own = slice(once, 2 * once + 1) if rounds else slice(None)
    most, pull = scene.settings.shift / 2 * max(way.motion.scale for way in ways), stands * straight / WHILE**4
    curve = smooth(wanted[own], fps=scene.fps, pull=pull[own, np.newaxis], lower=-most, upper=most, loop=rounds)
    return np.concatenate([curve[:-1], curve[:-1], curve]) if rounds else curve


def _aside(along: Array, hung: Hung, rise: Array, ways: list[Way], scene: Scene) -> Array:
    """How far the pelvis goes sideways: along, and towards feet that are out of reach even so."""
    most = scene.settings.shift * max(way.motion.scale for way in ways)
    return _core.aside(hung, scene.axis, rise, along, WHILE * scene.fps, most)


# --- tilt ------------------------------------------------------------------------------------------------------------


def _tilt(pivot: Array, ways: list[Way], scene: Scene) -> Array | None:
    """The rotation from level to the slope of the ground under all feet, the plane nearest to where they are on it."""
    chosen = scene.settings.tilt
    share = chosen if chosen is not None else float(len(ways) > 2)
    if share == 0 or len(ways) < 2:
        return None
    first, second = ((scene.axis + more) % 3 for more in (1, 2))
    at = np.stack([way.ankle - pivot for way in ways])
    up = np.stack([way.plain for way in ways])
    x, y, z = (_centred(values) for values in (at[..., first], at[..., second], up))
    xx, yy, xy, xz, yz = (_summed(a * b) for a, b in ((x, x), (y, y), (x, y), (x, z), (y, z)))
    few = STEP * max(way.motion.scale for way in ways)  # feet in one line tilt nothing aside
    xx, yy = xx + few * few, yy + few * few
    determinant = xx * yy - xy * xy
    slope = np.zeros_like(pivot)
    slope[:, first] = smoothed((xz * yy - yz * xy) / determinant, WHILE, scene.fps) * share
    slope[:, second] = smoothed((yz * xx - xz * xy) / determinant, WHILE, scene.fps) * share
    steep = size(slope)
    slope *= (np.minimum(steep, tangent(_TILTS)) / np.maximum(steep, 1e-12))[:, np.newaxis]
    return quaternions.shortest_arc(scene.up, scene.up - slope)


def _centred(values: Array) -> Array:
    return np.asarray(values - _summed(values) / len(values))


def _summed(values: Array) -> Array:
    """Over legs, one after the other."""
    return np.asarray(np.add.accumulate(values, axis=0)[-1])
