"""Whether a clip was made on the ground that it is to be baked on, as after a bake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import dot, size
from ikcore.bake.floors import height_of
from ikcore.bake.motion import LegMotion, held_for_a_moment, legs_of, on_other_soles, with_tips
from ikcore.bake.scene import Array, Mask, mean, median
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.feet.detect import Feet
from ikcore.feet.human import (
    BRIEF,
    DEEP,
    EDGE,
    EXACT,
    FAR,
    HIGH,
    LOW,
    NEAR,
    ON,
    SOLE,
    STILL,
    TALL,
    THICK,
    TRACE,
    UNEVEN,
)
from ikcore.feet.intervals import blocks, runs
from ikcore.feet.leg import row
from ikcore.grounds.ground import Ground

_MOST = 0.8  # the share of frames that tells how far off a ground feet are
_RARELY = 8  # in one of so many frames feet move the least; a stay is brief that is so many times as short as another
_LIKELY = 2.0  # odds that are no chance


def standing(
    clip: Clip,
    whole: Clip,
    feet: Feet,
    held: Contacts,
    ground: Ground,
    bare: Feet | None,
    vertices: Mapping[str, ArrayLike] | None = None,
) -> tuple[Feet, list[LegMotion], bool, bool, list[Exact]]:
    """Legs over time, whether the clip was made on this ground, and whether so that nothing is to be done there.

    And what stands exactly. If it was made there soles are measured on it: of legs without, `bare`, unless soles were
    told; with the skin of the feet, if it is known.
    """
    motions, axis = legs_of(whole, with_tips(feet, clip)), "XYZ".index(clip.up)
    exact, odds = exact_of(motions, ground, clip.fps, axis), odds_of(motions, ground, clip.fps, axis)
    if made_elsewhere(exact, odds):
        return feet, motions, False, False, exact
    kept, seen = kept_on(motions, exact, held, ground), (motions, exact)
    made = kept or made_on(motions, exact, ground, clip.fps, axis)
    flat = height_of(ground) is not None
    if (kept and (bare is None or fit(exact))) or (flat and (bare is None or on_own_floor(exact))):
        return feet, motions, made, kept, exact
    if bare is None:
        return feet, motions, made or made_there(seen, seen, odds, ground, clip.fps, axis), kept, exact
    there = bare.with_soles(clip, vertices=vertices, ground=ground)
    on_it = on_other_soles(motions, whole, with_tips(there, clip))
    exact_on_it = exact_of(on_it, ground, clip.fps, axis)
    made = made or (not flat and made_there(seen, (on_it, exact_on_it), odds, ground, clip.fps, axis))
    kept = kept or ((made or not on_own_floor(exact)) and kept_on(on_it, exact_on_it, held, ground))
    return (there, on_it, True, kept, exact_on_it) if made or kept else (feet, motions, False, False, exact)


def odds_of(legs: list[LegMotion], ground: Ground, fps: float, axis: int) -> float:
    """How many times more alike feet stand on this ground in one place and another, partners too, than on one level.

    By how high their joints are, and by how much higher one is than another, as soles are not known exactly. A foot of
    which a part is over an edge says nothing. On one level plane they are as alike.
    """
    if height_of(ground) is not None:
        return 1.0
    found: dict[tuple[str, int], list[Array]] = {}
    for motion in legs:
        at, frames = _stays(motion, 1 / fps)
        sole = [points[frames, np.newaxis] for name, points in motion.soles.items() if name != "joint"]
        under = ground.still(frames).at(
            np.concatenate([at, *sole], axis=1), above=HIGH * motion.scale, below=DEEP * motion.scale
        )
        over = np.abs(dot(under.points - under.points[:, :1], under.normals)).max(axis=1)
        known, joints = under.hit.all(axis=1) & (over <= EDGE * motion.scale), slice(0, at.shape[1])
        above = dot(at - under.points[:, joints], under.normals[:, joints])
        each = np.stack([at[..., axis], above]) / motion.scale
        found.setdefault((row(motion.leg.name), at.shape[1]), []).append(each[:, known])
    heights = [np.concatenate(pair, axis=1) for pair in found.values()]
    apart, bent = _unlike(heights), _unlike([each[..., 1:] - each[..., :-1] for each in heights])
    return float(apart[0] * bent[0] / (apart[1] * bent[1]))


def _unlike(heights: list[Array]) -> Array:
    """By how much heights (2, places, joints) of feet differ from place to place, at most, and a trace more: both."""
    apart = [np.ptp(each, axis=1).max(axis=1) for each in heights if each.size]
    return np.asarray(np.max([np.zeros(2), *apart], axis=0) + TRACE / 2)


def made_elsewhere(exact: list[Exact], odds: float) -> bool:
    """Whether feet stand so much more alike on one level that they were put on that; those that shake have to prove."""
    return odds < (1 / _LIKELY if exact else _LIKELY)


def _stays(motion: LegMotion, seconds: float) -> tuple[Array, NDArray[np.intp]]:
    """Where the joints of a foot are (n, joints, 3) in the frames in the middle of its stays, and which these are."""
    joints = [motion.ankle, *([motion.soles["joint"]] if "joint" in motion.soles else [])]
    at = np.stack(joints, axis=1)
    step = np.append(size(_ways_to(at)).max(axis=1), np.inf)
    moves = np.minimum(step[1:], step[:-1]) / motion.scale
    most = min(max(np.sort(moves)[len(moves) // _RARELY], EXACT), STILL * seconds)
    frames = runs(moves <= most).sum(axis=1) // 2
    return at[frames], frames


def kept_on(legs: list[LegMotion], exact: list[Exact], contacts: Contacts, ground: Ground) -> bool:
    """Whether feet stand exactly on this ground: what was put there stays, whatever feet go through in swing.

    Where they stand on a level too nothing was put there, unless they float nowhere and go through nothing.
    """
    if not _in_place(exact):
        return False
    if _stands_on(exact):
        return True
    flat = height_of(ground) is not None
    if not exact or not _rests_on(exact, flat, ground.moves):
        return False
    own = _on_own(exact, flat)
    if own and not all(_open(motion, ground) for motion in legs):
        return False
    return all(
        _clears(motion, contacts.planted(motion.leg.name), foot, ground, own=own)
        for motion, foot in zip(legs, exact, strict=True)
    )


def _in_place(feet: list[Exact]) -> bool:
    """Whether feet that are still are nowhere far in the ground, nor over it, but for what is over an edge: `hangs`."""
    return all(low >= -THICK for foot in feet for low in _lows(foot, feet)) and not hangs(feet)


def fit(feet: list[Exact]) -> bool:
    """Whether soles are known that well that none that is still is far in the ground."""
    return all(low >= -THICK for foot in feet for low in foot.lasting)


def hangs(feet: list[Exact]) -> bool:
    """Whether a foot that is still is higher over the ground somewhere than soles may be thick: it was put on other.

    Over an edge its lowest point may be, if feet were put there for sure.
    """
    return any(low > foot.thick + EDGE for foot in feet for low in _lows(foot, feet))


def _lows(foot: Exact, feet: list[Exact]) -> list[float]:
    """How high the lowest point of a foot is in its stays; if feet were put there for sure, in those over no edge."""
    return foot.alike + foot.over_no_edge if any(each.alike for each in feet) else foot.lasting


def on_own_floor(exact: list[Exact]) -> bool:
    """Whether a foot stands exactly at height 0, where clips have their own floor; or none does anywhere."""
    return min((abs(median(foot.height)) for foot in exact if len(foot.height)), default=0.0) <= ON


def made_on(legs: list[LegMotion], exact: list[Exact], ground: Ground, fps: float, axis: int) -> bool:
    """Whether a clip was made on this ground: where feet are still, they are nearer to it than to one level.

    Or they stand exactly, as after a bake, and on it.
    """
    if _stands_on(exact):
        return True
    if height_of(ground) is not None:
        return False  # they are as near to one as to the other
    off_ground, off_level = [], []
    for point in ("heel", "ball"):
        seen = [_still(motion, point, ground, fps, axis) for motion in legs if point in motion.soles]
        above, height = np.concatenate([np.zeros((2, 0)), *seen], axis=1)
        known = np.isfinite(above)
        if 2 * np.count_nonzero(known) < len(known):
            return False
        off_ground.append(np.abs(above - median(above))[known])
        off_level.append(np.abs(height - median(height))[known])
    there, level = (np.sort(np.concatenate(off)) for off in (off_ground, off_level))
    at = int(_MOST * (len(there) - 1))
    return bool(len(there) and level[at] > TRACE and there[at] < level[at] / 2)


def made_there(level: Seen, there: Seen, odds: float, ground: Ground, fps: float, axis: int) -> bool:
    """Whether feet that are still are more even with the ground, by soles measured on it, than by others with a level.

    What is so exactly may be nearer to the ground, too, than to a level, at height 0 where clips have their own floor.
    """
    if odds < 1 - EXACT:
        return False  # joints stand more alike on one level
    if (odds > _LIKELY and made_on(*there, ground, fps, axis)) or _nearer(level[1], there[1]):
        return True
    if not any(_apart_of(motion, fps) > EDGE * motion.scale for motion in level[0]):
        return False  # soles measured in one place fit any ground there
    flat, on = (_lowest(legs, under, fps, axis) for (legs, _), under in ((level, None), (there, ground)))
    uneven = _unevenness(flat)
    return uneven > TRACE and _unevenness(on) < uneven / 2


def _nearer(level: list[Exact], there: list[Exact]) -> bool:
    """Whether what stands exactly is on the ground, by soles measured there, rather than on one level by others.

    That is at height 0, if it is about there.
    """
    if not level or not there:
        return False
    above, height = np.concatenate([foot.low for foot in there]), np.concatenate([foot.height for foot in level])
    usual = median(height)
    level_at = 0.0 if abs(usual) < UNEVEN else usual
    off_ground, off_level = (mean(np.abs(off)[:, np.newaxis])[0] for off in (above, height - level_at))
    return bool(off_level > TRACE and off_ground < off_level / 2)


def _apart_of(motion: LegMotion, fps: float) -> float:
    """How far apart the places are where a foot is still."""
    still = motion.reference[_moved(motion) * fps < STILL * motion.scale]
    return float(_core.extent(still).max()) if len(still) else 0.0


def _lowest(legs: list[LegMotion], ground: Ground | None, fps: float, axis: int) -> list[Array]:
    """How high the lowest point of every foot is where it is still, above ground, or above 0; in lengths of a human.

    Not finite where there is no ground near.
    """
    found = []
    for motion in legs:
        still = np.flatnonzero(_moved(motion) * fps < STILL * motion.scale)
        points = [at for name, at in motion.soles.items() if name != "joint"]
        height = np.stack([at[still, axis] for at in points], axis=1)
        if ground is not None:
            height = height - _under(ground, points, still, motion.scale)
        found.append(_core.lowest(height) / motion.scale)
    return found


def _unevenness(lowest: list[Array]) -> float:
    """How far heights of all feet are off the middle one; infinite if that is no ground to stand on."""
    heights = np.concatenate(lowest)
    off = heights - median(heights)
    known = np.sort(np.abs(off[np.isfinite(off)]))
    if 2 * len(known) < len(off) or not len(known):
        return np.inf
    return float(known[int(_MOST * (len(known) - 1))])


def _moved(motion: LegMotion) -> Array:
    """How far what a foot stands on has moved since the frame before; infinitely in the first."""
    return np.asarray(size(_ways_to(_touching(motion))))


def _touching(motion: LegMotion) -> Array:
    """What a foot stands on."""
    return motion.soles.get(motion.under(motion.ball), motion.reference)


def _ways_to(at: Array) -> Array:
    """The way of points to every frame from the one before, infinite to the first; a pose by itself stays."""
    first = np.full_like(at[:1], np.inf if len(at) > 1 else 0.0)
    return np.concatenate([first, at[1:] - at[:-1]])


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """A foot in frames in which it does not move at all.

    Attributes
    ----------
    low, height : (n,) arrays
        How high its lowest point is above the ground, and above 0, in lengths of a human.
    deepest : float
        How high its lowest point is above 0 in whatever frame it is the lowest.
    tilts : (n,) array
        How much less even it is with the ground than with a level.
    stays : list of slice
        Which of them are one stay.
    alike : list of float
        How high it is above the ground, by its joint, in stays in which it is as high as in the others, to the last
        digits, though not at one level: it was put there. None if those are less than a third of the stays that last,
        or one.
    even : (n,) array of bool
        Whether all its points have ground near then, hardly less even than a level, and none is in something tall.
    """

    low: Array
    height: Array
    deepest: float
    tilts: Array
    stays: list[slice]
    alike: list[float]
    even: Mask

    @property
    def thick(self) -> float:
        """How much thinner the sole is than known."""
        return min(max(median(np.array(self.alike) if self.alike else self.low), -THICK), THICK)

    @property
    def lasting(self) -> list[float]:
        """How high its lowest point is above the ground in stays that are not brief, where there is some near."""
        return [low for low, _ in self._seen]

    @property
    def over_no_edge(self) -> list[float]:
        """The same of those in which all of it is on one even piece of ground."""
        return [low for low, stay in self._seen if self.even[stay].all()]

    @property
    def _seen(self) -> list[tuple[float, slice]]:
        least = max((stay.stop - stay.start for stay in self.stays), default=0) / _RARELY
        low = [(_middle(self.low[stay]), stay) for stay in self.stays if stay.stop - stay.start >= least]
        return [each for each in low if each[0] < np.inf]


Seen = tuple[list[LegMotion], list[Exact]]  # legs, and what `exact_of` finds of them


def exact_of(legs: list[LegMotion], ground: Ground, fps: float, axis: int) -> list[Exact]:
    """Of every leg what `kept_on` and `made_on` look at.

    Nothing if feet are exactly still in less than a third of the frames in which they seem so.
    """
    seen = [_still_in(motion, fps, axis) for motion in legs]
    held = held_for_a_moment(legs, fps)
    slow, exact = sum(slow for slow, _ in seen), [frames[~held[frames]] for _, frames in seen]
    many = sum(map(len, exact))
    if not many or 3 * many <= slow:
        return []
    least = BRIEF * fps
    return [_exact(motion, frames, ground, axis, least) for motion, frames in zip(legs, exact, strict=True)]


def _still_in(motion: LegMotion, fps: float, axis: int) -> tuple[int, NDArray[np.intp]]:
    """In how many frames a foot seems still, and the ones in which it is so exactly.

    Along the ground: what stands exactly may rise where it arrives, or leaves.
    """
    at = motion.reference
    if len(at) == 1:  # a pose by itself stays
        return 1, np.zeros(1, np.intp)
    return _core.rests(at, axis, fps, STILL * motion.scale, EXACT * motion.scale)


def _exact(motion: LegMotion, exact: NDArray[np.intp], ground: Ground, axis: int, least: float) -> Exact:
    scale, points = motion.scale, list(motion.soles.values())
    height = np.stack([at[exact, axis] for at in points], axis=1) / scale
    above = height - _under(ground, points, exact, scale) / scale
    low, lower = _core.lowest(above), _core.lowest(height)
    deepest = min(float(at[:, axis].min()) for at in points) / scale
    across = [number for number, point in enumerate(motion.soles) if point in ("ball", "inner", "outer")]
    tilts = np.minimum(_apart(above) - _apart(height), _apart(above[:, across]) - _apart(height[:, across]))
    edges = [0, *(np.flatnonzero(np.diff(exact) > 1) + 1).tolist(), len(exact)]
    stays, known = [slice(a, b) for a, b in pairwise(edges)], np.isfinite(above).all(axis=1)
    ball = list(motion.soles).index(motion.ball) if motion.ball in motion.soles else 0
    over = np.stack([above[:, ball], height[:, ball] - np.fmax.reduce(height - above, axis=1)], axis=1)
    over -= median(np.fmin(above[:, ball] - low, height[:, ball] - lower))
    return Exact(
        low,
        lower,
        deepest,
        tilts,
        stays,
        _alike(height[:, ball], over, [stay for stay in stays if stay.stop - stay.start >= least]),
        known & (_apart(above) - _apart(height) <= EDGE),
    )


def _alike(height: Array, above: Array, stays: list[slice]) -> list[float]:
    """How high above the ground a foot is in stays in which it is as high as in the others: `Exact`.

    By where it is in the middle of each, above what is under that (n, ways): its own height, which soles do not change.
    Two of many are so by chance. Of ways that say so of as many the one counts by which it is nearer to the ground.
    """
    middle = np.array([stay.start + int(np.argsort(height[stay])[(stay.stop - stay.start) // 2]) for stay in stays])
    found, least = list[float](), max(2.0, len(middle) / 3)
    for way in above[middle].T if len(middle) else ():
        order = np.argsort(way, kind="stable")
        there = way[order]
        counts = np.where(
            np.isfinite(there), np.searchsorted(there, there + EXACT, side="right") - np.arange(len(order)), 0
        )
        first = int(np.argmax(counts))
        alike = order[first : first + int(counts[first])]
        if len(alike) < least or np.ptp(height[middle[alike]]) <= TRACE / 2:
            continue
        if not found or (len(alike), -abs(way[alike[0]])) > (len(found), -abs(found[0])):
            found = way[alike].tolist()
    return found


def _stands_on(feet: list[Exact]) -> bool:
    """Whether feet that are still are so exactly, and on the ground then, but on no level, or not as flat on one."""
    if not feet:
        return False
    if any(foot.alike for foot in feet):
        return True
    found = np.sort(np.concatenate([np.abs(foot.low - foot.thick) for foot in feet]))
    if found[int(_MOST * (len(found) - 1))] > ON:
        return False
    level = max(float(np.abs(foot.height - median(foot.height)).max(initial=0.0)) for foot in feet)
    flatter = median(np.concatenate([foot.tilts for foot in feet]))
    return bool(flatter < -EXACT or (flatter < TRACE and level > TRACE))


def _rests_on(feet: list[Exact], flat: bool, moves: bool) -> bool:
    """Whether feet that are still are so exactly, and always on the ground, on a level too.

    Soles are known by how one stands there: they may be thicker; but hardly on uneven ground where clips have their own
    floor, at height 0. On ground that moves what stands exactly there was not put on it, nor partly in a wall.
    """
    own = _on_own(feet, flat)
    if own and (moves or not all(foot.even.all() for foot in feet)):
        return False
    level = flat or (own and all((np.abs(foot.low - foot.height) <= TRACE).all() for foot in feet))
    there = any(abs(median(foot.low)) <= ON for foot in feet)  # all feet too high: it is no matter of soles
    thin, thick = (-ON, THICK if there else SOLE) if level else (-2 * ON, 2 * ON) if own else (-SOLE, LOW)
    usual = [min(max(median(foot.low), thin), thick) for foot in feet]
    off = max(abs(_middle(foot.low[stay]) - at) for foot, at in zip(feet, usual, strict=True) for stay in foot.stays)
    heights = [(foot, median(foot.height)) for foot in feet]
    uneven = max(abs(median(foot.height[stay]) - middle) for foot, middle in heights for stay in foot.stays)
    flatter = median(np.concatenate([foot.tilts for foot in feet]))
    return off <= min(ON, max(uneven, TRACE)) and flatter < (TRACE if flat else 2 * ON)


def _on_own(feet: list[Exact], flat: bool) -> bool:
    """Whether feet stand on uneven ground where clips have their own floor, all at height 0, and go nowhere below."""
    high = [abs(median(foot.height)) for foot in feet if len(foot.height)]
    own = min(high) < SOLE and max(high) < LOW and min(foot.deepest for foot in feet) >= -(EDGE + ON)
    return not flat and own


def _open(motion: LegMotion, ground: Ground) -> bool:
    """Whether there is nothing over a foot, which it may be in."""
    at, free = motion.reference, True
    for block in blocks(len(at)):
        here, near = ground.still(block), NEAR * motion.scale
        top, under = (here.at(at[block], above=far * motion.scale, below=near).height for far in (FAR, TALL))
        free &= not (np.where(np.isfinite(top), top, 0) > np.where(np.isfinite(under), under, top) + near).any()
    return free


def _clears(motion: LegMotion, held: Mask, foot: Exact, ground: Ground, *, own: bool) -> bool:
    """Whether a foot with soles as much thinner is nowhere in the ground, and on it in its contacts.

    Nor goes through anything between two frames, but for what it dips into; nor, where it has a floor of its own at
    height 0, deeper than in that.
    """
    points, axis = [at for name, at in motion.soles.items() if name != "joint"], "xyz".index(ground.up)
    low, free = np.empty(len(motion.chain)), True
    for block in blocks(len(low)):
        frames = np.arange(block.start, block.stop)
        above = np.stack([at[block, axis] for at in points], axis=1) - _under(ground, points, frames, motion.scale)
        low[block] = _core.lowest(above / motion.scale - foot.thick)
        higher = np.stack([at[block.start : block.stop + 1] for at in points], axis=1)
        higher[..., axis] += EDGE * motion.scale
        way = higher[1:] - higher[:-1]
        free &= not ground.still(frames[: len(way)]).cast(higher[:-1], way, length=size(way)).hit.any()
    stands = all(_middle(low[start:stop]) <= LOW for start, stop in runs(held).tolist())
    over = not own or bool((low[~held] >= min(foot.deepest - foot.thick, 0) - ON).all())
    return free and stands and over and bool(low.min() >= -(EDGE + ON))


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
    still = np.flatnonzero(size(_ways_to(at)) * fps < STILL * scale)
    height = at[still, axis]
    return np.stack([height - _under(ground, [at], still, scale)[:, 0], height]) / scale


def _under(ground: Ground, points: list[Array], frames: NDArray[np.intp], scale: float) -> Array:
    """How high the ground is under points in some frames, NaN where there is none near, or some that a body is in."""
    near, found = NEAR * scale, np.empty((len(frames), len(points)))
    for block in blocks(len(frames)):
        here = frames[block]
        at = np.stack([each[here] for each in points], axis=1)
        height = ground.still(here).at(at, above=TALL * scale, below=near).height
        found[block] = np.where(height - at[..., "xyz".index(ground.up)] < near, height, np.nan)
    return found
