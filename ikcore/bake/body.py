"""The body: how the pelvis moves so that legs reach the ground and keep their bend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore import rotations
from ikcore._arrays import size
from ikcore.bake.filters import smoothed, spread
from ikcore.bake.scene import UNTURNED, Array, Scene, tangent
from ikcore.bake.way import Way
from ikcore.clips.smoothing import smooth

_SMOOTH = 0.25  # seconds, half the width of the filter
_RISES = 0.08  # seconds: what would make it rise and fall faster is smoothed
_MOMENT = 0.04  # seconds: by so much before a leg is at its limit the pelvis begins to give, so that no knee locks
_LEAST = 1e-3  # of what a leg that stands asks of the body, what one in swing does: all where none stands
_ROUNDING = 1e-9  # metres for a leg of 0.87 m: a body that is moved by less is left where it is
_FEW = 0.2  # of the length of a leg: what feet in one line are reckoned to be apart, so that they tilt nothing aside
_TILTS = 30.0  # degrees, the most


@dataclass(slots=True, eq=False)
class Body:
    """How the body departs from the clip, over all frames.

    Attributes
    ----------
    pivot : (frames, 3) array
        Where the pelvis is in the clip.
    tilt : (frames, 4) array
        A world rotation, about that point.
    shift : (frames, 3) array
        Of the pelvis.
    """

    pivot: Array
    tilt: Array
    shift: Array

    def part(self, frames: slice) -> Body:
        """Some of the frames."""
        return Body(self.pivot[frames], self.tilt[frames], self.shift[frames])

    def carried(self, points: Array) -> Array:
        """Where points of the body (frames, 3) go."""
        return np.asarray(self.pivot + self.shift + rotations.rotate(self.tilt, points - self.pivot))


def body_of(pivot: Array, ways: list[Way], scene: Scene) -> Body:
    """The body above its feet. Those without legs ask for nothing where others have some."""
    legs = [way for way in ways if not way.motion.leg.free]
    body = Body(pivot, _tilt(pivot, legs or ways, scene), np.zeros_like(pivot))
    if legs:
        _limit(legs, scene)
        hips = [body.carried(way.motion.chain[:, 0]) for way in legs]
        body.shift = _rise(hips, legs, scene)[:, np.newaxis] * scene.up
        body.shift += _aside([hip + body.shift for hip in hips], legs, scene)
    else:
        body.shift = _followed(ways, scene)[:, np.newaxis] * scene.up
    rounding = _ROUNDING * max(way.motion.scale for way in ways)
    body.shift[(np.abs(body.shift) <= rounding).all(axis=1)] = 0.0
    return body


def _limit(ways: list[Way], scene: Scene) -> None:
    """How far legs may reach: as straight as they are in the clip, or may be anyway, whichever is more."""
    for way in ways:
        own = size(way.motion.ankle - way.motion.chain[:, 0])
        way.reach = np.maximum(own, scene.settings.straight * way.motion.size)


# --- up and down -----------------------------------------------------------------------------------------------------


def _rise(hips: list[Array], ways: list[Way], scene: Scene) -> Array:
    """How far up the pelvis goes, frame by frame: as legs that stand want it; it is free where none does."""
    wanted, most, plain = [], [], np.stack([way.plain for way in ways])
    stands = np.maximum([way.stands for way in ways], _LEAST)
    for hip, way in zip(hips, ways, strict=True):
        motion, ankle = way.motion, way.ankle
        most.append(_until(hip, ankle, way.reach, np.ones(len(hip)), scene))
        ankle[:, scene.axis] -= way.shift[:, scene.axis] - way.plain
        own = motion.chain[:, 0] - motion.ankle
        wanted.append(_until(hip, ankle, size(own), np.where(own[:, scene.axis] < 0, -1.0, 1.0), scene))
    highest = -spread(-np.minimum.reduce(most), _MOMENT, scene.fps)
    rise = plain.min(axis=0) if scene.settings.pelvis == "lowest" else _balanced(_heeded(wanted, stands), highest)
    return _bounded(_smoothed(np.minimum(rise, highest), highest, stands.max(axis=0), scene), ways, scene)


def _followed(ways: list[Way], scene: Scene) -> Array:
    """How far up it goes with feet that are free: as the lowest does, as nothing says how far up legs would reach."""
    lowest = np.minimum.reduce([way.plain for way in ways])
    return _bounded(_smoothed(lowest, np.full(len(lowest), np.inf), np.ones(len(lowest)), scene), ways, scene)


def _bounded(rise: Array, ways: list[Way], scene: Scene) -> Array:
    """No farther from where feet go than it may be."""
    plain = np.stack([way.plain for way in ways])
    scale = max(way.motion.scale for way in ways)
    low, high = scene.settings.drop * scale, scene.settings.lift * scale
    return np.clip(rise, plain.min(axis=0) - low, plain.max(axis=0) + high)


def _smoothed(wanted: Array, highest: Array, share: Array, scene: Scene) -> Array:
    """Near to what is wanted, by a share, never above the highest, nor above all of what is wanted about then.

    Exactly as wanted where that stays at one height.
    """
    least, most = -spread(-wanted, _SMOOTH, scene.fps), spread(wanted, _SMOOTH, scene.fps)
    lower, upper = np.where(least == most, wanted, -np.inf), np.minimum(most, highest)
    return np.asarray(smooth(wanted, fps=scene.fps, pull=share / _RISES**4, lower=lower, upper=upper).values)


def _heeded(wanted: list[Array], stands: Array) -> list[Array]:
    """What legs want (frames,), drawn to the mean, in which they count as they stand, as far as they are in swing."""
    total = _summed(stands * np.stack(wanted))
    mean, most = total / _summed(stands), stands.max(axis=0)
    return [mean + (own - mean) * (share / most) for own, share in zip(wanted, stands, strict=True)]


def _until(hip: Array, ankle: Array, length: Array, side: Array, scene: Scene) -> Array:
    """How far up a hip is moved until it is as far from the ankle as this, above it (1) or below (-1).

    Where it is too far aside, level with it.
    """
    aside = size(scene.level(ankle - hip))
    up = side * np.sqrt(np.maximum(length * length - aside * aside, 0))
    return np.asarray(ankle[:, scene.axis] - hip[:, scene.axis] + up)


def _balanced(wanted: list[Array], highest: Array) -> Array:
    """Between the lowest of what legs want and their mean, the nearer to the mean the more room there is above.

    The rule of R. S. Johansen, "Automated semi-procedural animation for character locomotion", 2009.
    """
    least = np.minimum(np.minimum.reduce(wanted), highest)
    total = wanted[0].copy()
    for other in wanted[1:]:
        total += other
    above, room = np.maximum(total / len(wanted) - least, 0), highest - least
    both = above + room
    return np.asarray(least + np.where(both > 0, above * room / np.where(both > 0, both, 1), 0))


# --- aside -----------------------------------------------------------------------------------------------------------


def _aside(hips: list[Array], ways: list[Way], scene: Scene) -> Array:
    """How far the pelvis goes sideways: towards feet that are out of reach even so."""
    most = scene.settings.shift * max(way.motion.scale for way in ways)
    total = np.zeros_like(hips[0])
    for hip, way in zip(hips, ways, strict=True):
        to = way.ankle - hip
        flat, reach = scene.level(to), way.reach
        far = size(flat)
        may = np.sqrt(np.maximum(reach * reach - to[:, scene.axis] * to[:, scene.axis], 0))
        total += flat * np.clip(1 - may / np.maximum(far, 1e-12), 0, 1)[:, np.newaxis]
    if not total.any():
        return total
    ahead, back = (spread(np.maximum(sign * total, 0), _SMOOTH, scene.fps) for sign in (1, -1))
    total = smoothed(ahead - back, _SMOOTH, scene.fps)
    far = size(total)
    return np.asarray(total * (np.minimum(far, most) / np.maximum(far, 1e-12))[:, np.newaxis])


# --- tilt ------------------------------------------------------------------------------------------------------------


def _tilt(pivot: Array, ways: list[Way], scene: Scene) -> Array:
    """The rotation from level to the slope of the ground under all feet, the plane nearest to where they are on it."""
    chosen = scene.settings.tilt
    share = chosen if chosen is not None else float(len(ways) > 2)
    if share == 0 or len(ways) < 2:
        return np.broadcast_to(UNTURNED, (len(pivot), 4))
    first, second = ((scene.axis + more) % 3 for more in (1, 2))
    at = np.stack([way.ankle - pivot for way in ways])
    up = np.stack([way.plain for way in ways])
    x, y, z = (_centred(values) for values in (at[..., first], at[..., second], up))
    xx, yy, xy, xz, yz = (_summed(a * b) for a, b in ((x, x), (y, y), (x, y), (x, z), (y, z)))
    few = _FEW * max(way.motion.size for way in ways)
    xx, yy = xx + few * few, yy + few * few
    determinant = xx * yy - xy * xy
    slope = np.zeros_like(pivot)
    slope[:, first] = smoothed((xz * yy - yz * xy) / determinant, _SMOOTH, scene.fps) * share
    slope[:, second] = smoothed((yz * xx - xz * xy) / determinant, _SMOOTH, scene.fps) * share
    steep = size(slope)
    slope *= (np.minimum(steep, tangent(_TILTS)) / np.maximum(steep, 1e-12))[:, np.newaxis]
    return rotations.shortest_arc(scene.up, scene.up - slope)


def _centred(values: Array) -> Array:
    return np.asarray(values - _summed(values) / len(values))


def _summed(values: Array) -> Array:
    """Over legs, one after the other."""
    return np.asarray(np.add.accumulate(values, axis=0)[-1])
