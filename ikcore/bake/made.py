"""Whether a clip was made on the ground that it is to be baked on, as after a bake."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import size
from ikcore.bake.floors import height_of
from ikcore.bake.motion import EXACT, LegMotion
from ikcore.bake.scene import Array, Mask, median
from ikcore.feet.contacts import Contacts
from ikcore.feet.intervals import blocks, runs
from ikcore.grounds.ground import Ground

_LOW = 0.1  # metres for a leg of 0.87 m: what a point is above the ground at most that stands on it
_STILL = 0.2  # metres a second, likewise
_NEAR = 0.3  # metres, likewise: within which ground counts
_TALL = 1.7  # metres, likewise: below ground that is no more above them feet are in it, not on what is under it
_NOT_LEVEL = 0.003  # metres, likewise: what feet that are still are off one level, if they are off it at all
_MOST = 0.8  # the share of frames that counts there
_ON = 0.005  # metres, likewise: how far off the ground is what stands exactly on it
_AS_FLAT, _FLATTER = 0.001, 0.0001  # metres, likewise: less even with it than with a level at most; more so at least
_ELSEWHERE = 0.1  # metres, likewise: places that are so far apart are two
_BARE = 0.07  # metres, likewise: what a sole may be thicker of which nothing is known but its joints
_LEVEL = 0.015  # metres, likewise: what soles that stand at height 0 are off that at most
_FLOATS = 0.05  # metres, likewise: how high over the ground contacts are at most that were made there
_DEEP = 0.02  # metres, likewise: a foot that is deeper in the ground goes through it
_THICK = 0.03  # metres, likewise: what soles may be thicker or thinner than known, both feet's together


def kept_on(legs: list[LegMotion], contacts: Contacts, ground: Ground, fps: float, axis: int) -> bool:
    """Whether feet stand exactly on this ground, float nowhere, and go through nothing: what was put there so stays."""
    exact = [_exact(motion, ground, fps, axis) for motion in legs]
    if _hardly(exact) or not (_stands_on(exact) or _rests_on(exact, height_of(ground) is not None)):
        return False
    return all(
        _clears(motion, contacts.planted(motion.leg.name), foot.thick, ground)
        for motion, foot in zip(legs, exact, strict=True)
    )


def made_on(legs: list[LegMotion], ground: Ground, fps: float, axis: int) -> bool:
    """Whether a clip was made on this ground: where feet are still, they are nearer to it than to one level.

    Or they stand exactly, as after a bake, and on it.
    """
    if _stands_on([_exact(motion, ground, fps, axis) for motion in legs]):
        return True
    off_ground, off_level = [], []
    for point in ("heel", "ball"):
        seen = [_still(motion, point, ground, fps, axis) for motion in legs if point in motion.soles]
        above, height = np.concatenate([np.zeros((2, 0)), *seen], axis=1)
        known = np.isfinite(above)
        if 2 * np.count_nonzero(known) < len(known) or abs(median(above)) > _LOW:
            return False
        off_ground.append(np.abs(above - median(above))[known])
        off_level.append(np.abs(height - median(height))[known])
    there, level = (np.sort(np.concatenate(off)) for off in (off_ground, off_level))
    at = int(_MOST * (len(there) - 1))
    return bool(len(there) and level[at] > _NOT_LEVEL and there[at] < level[at] / 2)


def made_there(level: list[LegMotion], there: list[LegMotion], ground: Ground, fps: float, axis: int) -> bool:
    """Whether feet that are still are more even with the ground, by soles measured on it, than by others with a level.

    All together, or each by itself, as soles are not known exactly; whatever is still, or what is so exactly.
    """
    if not any(_apart_of(motion, fps) > _ELSEWHERE * motion.scale for motion in level):
        return False  # soles measured in one place fit any ground there
    if median(np.abs(np.concatenate(_lowest(level, _STILL, ground, fps, axis)))) > _LOW:
        return False  # and no soles are as thick as that
    for speed in (_STILL, EXACT * fps):
        flat, on = (_lowest(legs, speed, under, fps, axis) for legs, under in ((level, None), (there, ground)))
        for own in (False, True):
            uneven = _unevenness(flat, own)
            if uneven > _NOT_LEVEL and _unevenness(on, own) < uneven / 2:
                return True
    return False


def _apart_of(motion: LegMotion, fps: float) -> float:
    """How far apart the places are where a foot is still."""
    still = motion.reference[_moved(motion) * fps < _STILL * motion.scale]
    return float(np.ptp(still, axis=0).max()) if len(still) else 0.0


def _lowest(legs: list[LegMotion], speed: float, ground: Ground | None, fps: float, axis: int) -> list[Array]:
    """How high the lowest point of every foot is where it is still, above ground, or above 0; in lengths of a human.

    Not finite where there is no ground near.
    """
    found = []
    for motion in legs:
        still = np.flatnonzero(_moved(motion) * fps < speed * motion.scale)
        points = [at for name, at in motion.soles.items() if name != "joint"]
        height = np.stack([at[still, axis] for at in points], axis=1)
        if ground is not None:
            height = height - _under(ground, points, still, motion.scale)
        found.append(np.fmin.reduce(height, axis=1, initial=np.inf) / motion.scale)
    return found


def _unevenness(lowest: list[Array], own: bool) -> float:
    """How far heights are off the middle one, of all feet or their own; infinite if that is no ground to stand on."""
    middle = [median(heights) for heights in lowest] if own else [median(np.concatenate(lowest))] * len(lowest)
    off = np.concatenate([heights - usual for heights, usual in zip(lowest, middle, strict=True)])
    known = np.sort(np.abs(off[np.isfinite(off)]))
    if 2 * len(known) < len(off) or not len(known):
        return np.inf
    return float(known[int(_MOST * (len(known) - 1))])


def _moved(motion: LegMotion) -> Array:
    """How far what a foot stands on has moved since the frame before; infinitely in the first."""
    at = motion.soles.get(motion.under(motion.ball), motion.reference)
    return np.append(np.inf, size(at[1:] - at[:-1]))


@dataclass(frozen=True, slots=True, eq=False)
class _Exact:
    """A foot in frames in which it does not move at all.

    Attributes
    ----------
    still : int
        In how many frames it hardly moves.
    low, height : (n,) arrays
        How high its lowest point is above the ground, and above 0, in lengths of a human.
    tilts : (n,) array
        How much less even it is with the ground than with a level.
    stays : list of slice
        Which of them are one stay.
    """

    still: int
    low: Array
    height: Array
    tilts: Array
    stays: list[slice]

    @property
    def thick(self) -> float:
        """How much thinner the sole is than known."""
        return min(max(median(self.low), -_THICK), _THICK)


def _exact(motion: LegMotion, ground: Ground, fps: float, axis: int) -> _Exact:
    moved, scale = _moved(motion), motion.scale
    still, exact = int(np.count_nonzero(moved < _STILL * scale / fps)), np.flatnonzero(moved <= EXACT * scale)
    points = list(motion.soles.values())
    height = np.stack([at[exact, axis] for at in points], axis=1) / scale
    above = height - _under(ground, points, exact, scale) / scale
    low, lower = (np.fmin.reduce(each, axis=1, initial=np.inf) for each in (above, height))
    across = [number for number, point in enumerate(motion.soles) if point in ("ball", "inner", "outer")]
    tilts = np.minimum(_apart(above) - _apart(height), _apart(above[:, across]) - _apart(height[:, across]))
    edges = [0, *(np.flatnonzero(np.diff(exact) > 1) + 1).tolist(), len(exact)]
    return _Exact(still, low, lower, tilts, [slice(a, b) for a, b in pairwise(edges)])


def _stands_on(feet: list[_Exact]) -> bool:
    """Whether feet that are still are so exactly, and on the ground then, but on no level, or not as flat on one."""
    found = np.sort(np.concatenate([np.abs(foot.low - foot.thick) for foot in feet]))
    if _hardly(feet) or found[int(_MOST * (len(found) - 1))] > _ON:
        return False
    level = max(float(np.abs(foot.height - median(foot.height)).max(initial=0.0)) for foot in feet)
    flatter = median(np.concatenate([foot.tilts for foot in feet]))
    return bool(flatter < -_FLATTER or (flatter < _AS_FLAT and level > _NOT_LEVEL))


def _rests_on(feet: list[_Exact], flat: bool) -> bool:
    """Whether feet that are still are so exactly, and always on the ground, on a level too.

    On uneven ground not where clips have their own floor, at height 0; and soles are known by how one stands there:
    elsewhere they may be thicker.
    """
    if not flat and min(abs(median(foot.height)) for foot in feet if len(foot.height)) < _LEVEL:
        return False
    thin, thick = (-_ON, _ON) if flat else (-_LEVEL, _BARE)
    usual = [min(max(median(foot.low), thin), thick) for foot in feet]
    off = max(abs(_middle(foot.low[stay]) - at) for foot, at in zip(feet, usual, strict=True) for stay in foot.stays)
    uneven = max(abs(median(foot.height[stay]) - median(foot.height)) for foot in feet for stay in foot.stays)
    flatter = median(np.concatenate([foot.tilts for foot in feet]))
    return off <= min(_ON, max(uneven, _AS_FLAT)) and flatter < _AS_FLAT


def _hardly(feet: list[_Exact]) -> bool:
    """Whether feet are exactly still in less than a third of the frames in which they seem so."""
    exact = sum(len(foot.low) for foot in feet)
    return not exact or 3 * exact <= sum(foot.still for foot in feet)


def _clears(motion: LegMotion, held: Mask, thick: float, ground: Ground) -> bool:
    """Whether a foot with soles as much thinner as that is nowhere in the ground, and on it in its contacts."""
    points, axis = [at for name, at in motion.soles.items() if name != "joint"], "xyz".index(ground.up)
    low = np.empty(len(motion.chain))
    for block in blocks(len(low)):
        frames = np.arange(block.start, block.stop)
        above = np.stack([at[block, axis] for at in points], axis=1) - _under(ground, points, frames, motion.scale)
        low[block] = np.fmin.reduce(above / motion.scale - thick, axis=1, initial=np.inf)
    return bool(low.min() >= -_DEEP) and all(_middle(low[start:stop]) <= _FLOATS for start, stop in runs(held).tolist())


def _middle(values: Array) -> float:
    """One of the values, of which some may be infinite; 0 of none."""
    return float(np.sort(values)[len(values) // 2]) if len(values) else 0.0


def _apart(heights: Array) -> Array:
    """Of some points, how much higher the highest is than the lowest."""
    return np.asarray(
        np.fmax.reduce(heights, axis=1, initial=-np.inf) - np.fmin.reduce(heights, axis=1, initial=np.inf)
    )


def _still(motion: LegMotion, point: str, ground: Ground, fps: float, axis: int) -> Array:
    """How high a point is above the ground, NaN where there is none near, and above 0, in frames in which it is still.

    Two rows, in lengths of a human.
    """
    at, scale = motion.soles[point], motion.scale
    still = 1 + np.flatnonzero(size(at[1:] - at[:-1]) * fps < _STILL * scale)
    height = at[still, axis]
    return np.stack([height - _under(ground, [at], still, scale)[:, 0], height]) / scale


def _under(ground: Ground, points: list[Array], frames: NDArray[np.intp], scale: float) -> Array:
    """How high the ground is under points in some frames, NaN where there is none near, or some that a body is in."""
    near, found = _NEAR * scale, np.empty((len(frames), len(points)))
    for block in blocks(len(frames)):
        here = frames[block]
        at = np.stack([each[here] for each in points], axis=1)
        height = ground.still(here).at(at, above=_TALL * scale, below=near).height
        found[block] = np.where(height - at[..., "xyz".index(ground.up)] < near, height, np.nan)
    return found
