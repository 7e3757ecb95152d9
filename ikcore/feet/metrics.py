"""How well feet stand: sliding, sinking, floating, knees that pop; and how far a result is from its source.

Functions of arrays whose first axis is time, apart from whatever found the contacts or made the motion: contacts are
given, and where a result is judged they are those of its source. Y is up, lengths are metres, times seconds, angles
radians; `Clip.convert` brings a clip there. Rates count in every derivative, so 30 and 120 frames a second agree.

Thresholds in metres are for humans. For others, divide lengths by those of their legs and multiply by 0.85.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, rotations
from ikcore._arrays import cross, dot, percentile, rows, size
from ikcore.feet.intervals import Mask, mask_of
from ikcore.feet.intervals import core as core
from ikcore.feet.intervals import runs as runs

Array = NDArray[np.float64]

_DOUBLE = np.dtype(np.float64)
UP = (0.0, 1.0, 0.0)
_NEAR = 0.05  # metres, what is in contact by height alone
_SLOW = 0.3  # metres a second, what is so besides seems to stand
_LIKE = 0.1  # seconds: what happens in the source so near is the same
_BRIEF, _ROLLS = 0.1, 0.2  # seconds: what is shorter is no contact; and how long feet arrive before one, or leave
_ROUNDING = 1e-4  # a share of a leg, what no reach is over

# Measures that with a source are what is beyond it, those that are whatever `beyond` says, and those that say nothing
# without one.
BEYOND = ("skating", "skating_by_height", "penetration", "penetration_swing", "floating", "sole_angle", "knee_flips")
ALWAYS_BEYOND = ("skating_by_height", "knee_flips")
BESIDE = (
    *("skating_by_height", "off_ground", "lift_lost", "reach_violations", "knee_acceleration"),
    *("ankle_jerk", "pelvis_jerk", "pelvis_path", "length_error", "deviation"),
    *("straightness_lost", "pelvis_lowered"),
)


# --- sliding ---------------------------------------------------------------------------------------------------------


def drift(points: ArrayLike, stances: ArrayLike, *, fps: float, normals: ArrayLike = UP) -> Array:
    """How far a planted foot slides: the largest way along the ground between any two frames of a stance.

    Each stance is judged by its core, less 10 % and 1/30 s at each end, where feet arrive and leave. The main number of
    this module. The idea is that of L. Kovar, J. Schreiner and M. Gleicher, "Footskate cleanup for motion capture
    editing", 2002: a plant is a constraint on a point.

    Parameters
    ----------
    points : (frames, 3) or (frames, points, 3) array_like
        A point of the foot; or several, such as heel, ball and toe, of which each stance is judged by its stillest.
    stances : (n, 2) array_like of int
        When it is in contact: `runs`.
    fps : float
        Frames a second.
    normals : (frames, 3) or (3,) array_like, optional
        Of the ground where the foot is. A stance has the one of its middle frame.

    Returns
    -------
    (n,) array
        Metres.

    Examples
    --------
    A point that is a millimetre further in every frame, in contact for ten of them, the core of which is six:

    >>> points = np.arange(10)[:, np.newaxis] * [0.001, 0, 0]
    >>> drift(points, [(0, 10)], fps=30).round(6)
    array([0.005])
    """
    each = _vectors("points", points)
    each = each[:, np.newaxis] if each.ndim == 2 else each
    upward = _spread("normals", _vectors("normals", normals), (len(each), 3))
    pairs, rate = _intervals(stances, len(each)), _rate(fps)
    if not pairs:
        return np.empty(0)
    frames = np.arange(len(each))
    cores = [frames[core(start, stop, rate)] for start, stop in pairs]
    lengths = [len(inner) for inner in cores]
    normal = np.repeat(upward[[(start + stop) // 2 for start, stop in pairs]], lengths, axis=0)
    level = [_along_plane(of_point, normal) for of_point in each[np.concatenate(cores)].swapaxes(0, 1)]
    return np.asarray(np.min([_core.widest(points, np.cumsum(lengths)) for points in level], axis=0))


def heading_drift(headings: ArrayLike, stances: ArrayLike, *, fps: float) -> Array:
    """How far a planted foot turns about the vertical: the largest angle between two frames of the core of a stance.

    Parameters
    ----------
    headings : (frames, 3) array_like
        Where the foot points, say from heel to toe.
    stances : (n, 2) array_like of int
        When it stands flat: `runs`. Their cores are those of `drift`.
    fps : float
        Frames a second.

    Returns
    -------
    (n,) array
        Radians.

    Examples
    --------
    >>> angle = np.linspace(0, 0.9, 10)
    >>> headings = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=-1)
    >>> heading_drift(headings, [(0, 10)], fps=30).round(6)
    array([0.5])
    """
    x, _, z = np.moveaxis(_vectors("headings", headings), -1, 0)
    angle, rate = np.unwrap(_arc(x, z)), _rate(fps)
    cores = [angle[core(start, stop, rate)] for start, stop in _intervals(stances, len(angle))]
    return np.array([np.ptp(core) for core in cores], _DOUBLE)


def skating_ratio(points: ArrayLike, contact: ArrayLike, *, fps: float, speed: float = 0.5) -> float:
    """The share of steps, from one frame to the next, in which a foot skates.

    A point skates in a step when it is in contact before and after, and faster than `speed` over the ground, both in
    this step and in the mean of 1/4 s about it (beyond the clip it is at rest). If `contact` is ``heights < 0.05`` of
    the toe joints, this is the measure of K. Karunratanakul et al., "Guided motion diffusion", 2023. By height alone
    toes that swing are in contact, too, so that a clean walk is not at 0; with contacts that are known it is.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Of both feet.
    contact : (frames, points) array_like of bool
        When each is in contact.
    fps : float
        Frames a second. The measure was published for 20, with 2.5 cm and 5 frames.
    speed : float, default: 0.5
        Metres a second, horizontally.

    Returns
    -------
    float

    Examples
    --------
    >>> points = np.arange(21)[:, np.newaxis, np.newaxis] * [0.05, 0, 0]  # a metre a second
    >>> contact = np.arange(21)[:, np.newaxis] <= 10
    >>> skating_ratio(points, contact, fps=20)
    0.5
    """
    fast = _speeds(points, fps)
    held = _spread("contact", mask_of("contact", contact, 2), (len(fast) + 1, fast.shape[1]))
    skates = held[1:] & held[:-1] & (fast > speed)
    if not skates.any():
        return 0.0
    skates &= _mean_about(fast, int(_rate(fps) / 8)) > speed
    return float(skates.any(axis=1).mean())


def _mean_about(values: Array, half: int) -> Array:
    """The mean over so many rows before and after each; beyond the ends are zeros."""
    window = 2 * half + 1
    wide = np.zeros((len(values) + window, *values.shape[1:]))
    wide[half + 1 : half + 1 + len(values)] = values
    sums = np.cumsum(wide, axis=0)
    return np.asarray((sums[window:] - sums[:-window]) / window)


def skating_speed(points: ArrayLike, heights: ArrayLike, *, fps: float, height: float = 0.025) -> Array:
    """The mean horizontal speed of points near the ground: v (2 - 2^(h / H)), without contacts that could be wrong.

    The measure of H. Zhang et al., "Mode-adaptive neural networks for quadruped motion control", 2018: all of the speed
    counts on the ground, none at the height H and above. Over all steps, each with the height it begins at.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Of feet.
    heights : (frames, points) array_like
        Theirs above the ground; NaN where there is none.
    fps : float
        Frames a second.
    height : float, default: 0.025
        H, metres.

    Returns
    -------
    (points,) array
        Metres a second.

    Examples
    --------
    >>> points = np.arange(4)[:, np.newaxis, np.newaxis] * [0.01, 0, 0]
    >>> skating_speed(points, [[0], [0.025], [0.0125], [0]], fps=30).round(4)  # (1 + 0 + 2 - sqrt(2)) / 3 of 0.3
    array([0.1586])
    """
    fast = _speeds(points, fps)
    above = _spread("heights", _above(heights), (len(fast) + 1, fast.shape[1]))
    return np.asarray((fast * (2 - np.exp2(np.clip(above[:-1] / height, 0, 1)))).sum(axis=0) / max(len(fast), 1))


def _speeds(points: ArrayLike, fps: float) -> Array:
    """Horizontal ones, of every step."""
    each = _vectors("points", points, "frames", "points")
    steps = each[1:] - each[:-1]
    return np.asarray(np.hypot(steps[..., 0], steps[..., 2]) * _rate(fps))


# --- on the ground ---------------------------------------------------------------------------------------------------


def penetration(heights: ArrayLike) -> Array:
    """How deep a sole is in the ground: its lowest point.

    What counts is ``penetration(heights)[contact]``, and in swing that of the other frames; `beyond` what the source
    does on its own floor, if that is not clean.

    Y. Yuan et al., "PhysDiff", 2023, and others take less than 5 mm for none. Here nothing is taken off.

    Parameters
    ----------
    heights : (..., points) array_like
        Of points of the sole above the ground, vertically: ``points[..., 1] - ground``. NaN where there is none.

    Returns
    -------
    (...) array
        Metres; 0 where the sole is above the ground, or there is none.

    Examples
    --------
    >>> penetration([[-0.03, 0.01], [0.0, 0.02], [np.nan, np.nan]])
    array([0.03, 0.  , 0.  ])
    """
    return np.maximum(-_lowest(heights), 0) + 0


def floating(heights: ArrayLike) -> Array:
    """How high a sole is above the ground: its lowest point.

    What counts is ``floating(heights)[standing(contact)]``, as feet roll off at the ends; `penetration` has the rest.

    Parameters
    ----------
    heights : (..., points) array_like
        Of points of the sole above the ground, vertically. NaN where there is none.

    Returns
    -------
    (...) array
        Metres; 0 where a point is on the ground or in it, infinite where there is none.

    Examples
    --------
    >>> floating([[-0.03, 0.01], [0.01, 0.02], [np.nan, np.nan]])
    array([0.  , 0.01,  inf])
    """
    return np.maximum(_lowest(heights), 0)


def standing(contact: ArrayLike, *, fps: float) -> Mask:
    """When a foot stands for sure: the cores of its contacts, in which `drift` judges it, too.

    As it arrives and leaves, it rises from the ground while it is still in contact, which is no floating.

    Parameters
    ----------
    contact : (frames,) array_like of bool
        When it is in contact.
    fps : float
        Frames a second.

    Returns
    -------
    (frames,) array of bool

    Examples
    --------
    >>> runs(standing(np.arange(20) < 10, fps=30))
    array([[2, 8]])
    """
    found = np.zeros(len(mask := mask_of("contact", contact, 1)), bool)
    for start, stop in runs(mask).tolist():
        found[core(start, stop, _rate(fps))] = True
    return found


def beyond(values: ArrayLike, source: ArrayLike) -> Array:
    """How much worse a result is than its source in the same frames, each on its own ground.

    Parameters
    ----------
    values, source : (...) array_like
        `penetration`, `floating` or `sole_angle` of both.

    Returns
    -------
    (...) array
        Their difference; 0 where the source is as bad, infinite where the result alone is over no ground.

    Examples
    --------
    >>> beyond([0.03, 0.01, np.inf, np.inf], [0.01, 0.02, 0.0, np.inf])
    array([0.02, 0.  ,  inf, 0.  ])
    """
    now, was = rows("values", values, _DOUBLE), rows("source", source, _DOUBLE)
    with np.errstate(invalid="ignore"):  # infinite in both is as bad
        return np.where(np.isposinf(now) & np.isposinf(was), 0, np.maximum(now - was, 0) + 0)


def _lowest(heights: ArrayLike) -> Array:
    return np.asarray(_above(heights).min(axis=-1, initial=np.inf))


def _above(heights: ArrayLike) -> Array:
    """Infinitely high where there is no ground."""
    given = rows("heights", heights, _DOUBLE)
    return np.where(np.isnan(given), np.inf, given)


def sole_angle(soles: ArrayLike, ground: ArrayLike = UP) -> Array:
    """The angle between the normals of a sole and of the ground. It counts where the foot stands flat.

    Parameters
    ----------
    soles, ground : (..., 3) array_like
        Normals, upwards, of any length. Without `ground` it is level.

    Returns
    -------
    (...) array
        Radians.

    Examples
    --------
    >>> np.degrees(sole_angle([[0, 1, 0], [0, 1, 1]])).round(6)
    array([ 0., 45.])
    """
    return _angle(_vectors("soles", soles), _vectors("ground", ground))


def rests(points: ArrayLike, heights: ArrayLike, *, fps: float) -> Mask:
    """In which frames a foot seems to stand, whatever is known of its contacts.

    A point of it is lower than 0.05 m, and along the ground slower than 0.3 m/s from the frame before or to the next.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Of its sole.
    heights : (frames, points) array_like
        Theirs above the ground; NaN where there is none.
    fps : float
        Frames a second.

    Returns
    -------
    (frames,) array of bool

    Examples
    --------
    >>> points = np.array([0, 0, 1, 1])[:, np.newaxis, np.newaxis] * [1.0, 0, 0]
    >>> rests(points, [[0], [0.01], [0.2], [0]], fps=30)
    array([ True,  True, False,  True])
    """
    fast, low = _speeds(points, fps), _above(heights) < _NEAR
    slow = np.ones((len(fast) + 1, fast.shape[1]), bool)
    if len(fast):
        slow[1:], slow[0] = fast < _SLOW, False
        slow[:-1] |= fast < _SLOW
    return np.asarray((slow & _spread("heights", low, slow.shape)).any(axis=1))


def unseen(points: ArrayLike, heights: ArrayLike, contact: ArrayLike, *, fps: float) -> Mask:
    """In which frames a foot seems to stand of which no contact is known.

    It `rests` for 0.1 s or more, the shortest contact there is, and 0.2 s or more away from those that are known: as a
    foot arrives, and rolls off over its toes, it is low and slow, too.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Of its sole.
    heights : (frames, points) array_like
        Theirs above the ground; NaN where there is none.
    contact : (frames,) array_like of bool
        When any of them is in contact, as far as is known.
    fps : float
        Frames a second.

    Returns
    -------
    (frames,) array of bool

    Examples
    --------
    A foot that stands for a second, of which the first three tenths are known:

    >>> runs(unseen(np.zeros((10, 1, 3)), np.zeros((10, 1)), np.arange(10) < 3, fps=10))
    array([[ 5, 10]])
    """
    held, found = mask_of("contact", contact, 1), rests(points, heights, fps=fps)
    _same("contact", held.shape, found.shape)
    least, near = (math.ceil(time * _rate(fps) - 1e-6) for time in (_BRIEF, _ROLLS))  # rounding
    for start, stop in runs(held).tolist():
        found[max(start - near, 0) : stop + near] = False
    for start, stop in runs(found).tolist():
        found[start:stop] = stop - start >= least
    return found


def off_ground(heights: ArrayLike, source: ArrayLike) -> Array:
    """How much farther than in the source a sole is from its ground, above it or in it: its lowest point.

    What counts is where the source seems to stand `unseen`, without a contact that is known.

    Parameters
    ----------
    heights, source : (..., points) array_like
        Of points of the sole above the ground, in the result and in the source. NaN where there is none.

    Returns
    -------
    (...) array
        Metres; infinite where there is no ground under the result, 0 where there is none in the source.

    Examples
    --------
    >>> off_ground([[-0.4, -0.3], [0.02, 0.1], [np.nan, np.nan]], [[0.0, 0.1], [0.01, 0.0], [0.0, 0.0]]).round(6)
    array([0.4 , 0.02,  inf])
    """
    now, was = _lowest(heights), _lowest(source)
    farther = np.isfinite(was) & (np.abs(now) > np.abs(was))
    return np.where(farther, np.abs(now - np.where(farther, was, 0)), 0.0)


def lift_lost(heights: ArrayLike, source: ArrayLike, contact: ArrayLike) -> Array:
    """How much lower a foot is lifted than in the source, of each swing.

    Parameters
    ----------
    heights, source : (frames,) array_like
        How high a point of the foot is above its ground, in the result and in the source.
    contact : (frames,) array_like of bool
        When it is in contact; a swing is in between.

    Returns
    -------
    (n,) array
        Shares of the highest that the source is: 0 as high, 1 not lifted at all, negative higher.

    Examples
    --------
    >>> lift_lost([0, 0.03, 0.06, 0], [0, 0.05, 0.08, 0], [True, False, False, True]).round(6)
    array([0.25])
    """
    now, was = rows("heights", heights, _DOUBLE), rows("source", source, _DOUBLE)
    _same("source", was.shape, now.shape)
    peaks = [(now[start:stop].max(), was[start:stop].max()) for start, stop in runs(~mask_of("contact", contact, 1))]
    return np.array([1 - result / lift for result, lift in peaks if 0 < lift < np.inf], _DOUBLE)


# --- knees -----------------------------------------------------------------------------------------------------------


def leg_length(chain: ArrayLike) -> float:
    """How long a leg is: its bones together, the median over all frames, as those of some files stretch.

    Parameters
    ----------
    chain : (frames, joints, 3) array_like
        Its joints from hip to ankle.

    Returns
    -------
    float
        NaN if it is never known.

    Examples
    --------
    >>> leg_length([[[0, 0.9, 0], [0, 0.5, 0], [0, 0, 0]]])
    0.9
    """
    return _highest(_lengths(_vectors("chain", chain, "frames", "joints")), 50)


def bends(chain: ArrayLike) -> Array:
    """The interior angles of a leg, pi where it is straight.

    Parameters
    ----------
    chain : (frames, joints, 3) array_like
        Its joints from hip to ankle; three, or more in an animal's hind leg.

    Returns
    -------
    (frames, joints - 2) array
        Radians, of every joint but the first and the last.

    Examples
    --------
    >>> np.degrees(bends([[[0, 1, 0], [0, 0.5, 0.0], [0, 0.5, 0.5]]])).round(6)
    array([[90.]])
    """
    bones = _bones(chain)
    return _angle(-bones[:, :-1], bones[:, 1:])


def pops(angles: ArrayLike, source: ArrayLike, *, least: float = math.radians(2)) -> Mask:
    """Frames in which a knee pops, as it does when a leg is all but straight and its foot is moved.

    There the second difference of its angle, from frame to frame, is more than three times the 99th percentile of the
    source's, and more than `least`. A jump of the angle is found in two frames, a spike in three, at any rate: this is
    the one measure that is not divided by the time between frames.

    Parameters
    ----------
    angles, source : (frames, ...) array_like
        `bends` of the result and of the source. A clip is its own source where it has no other: then a pop is what
        stands out of the rest of it.
    least : float
        Radians, default 2 degrees.

    Returns
    -------
    (frames, ...) array of bool

    Examples
    --------
    >>> angle = np.radians(np.linspace(150, 170, 21))
    >>> popped = angle + np.radians(5) * (np.arange(21) == 8)
    >>> np.flatnonzero(pops(popped, angle))
    array([7, 8, 9])
    """
    now, was = rows("angles", angles, _DOUBLE), rows("source", source, _DOUBLE)
    found = np.zeros(now.shape, bool)
    if len(now) > 2 and len(was) > 2:
        usual = percentile(np.abs(np.diff(was, n=2, axis=0)), 99)
        found[1:-1] = np.abs(np.diff(now, n=2, axis=0)) > np.maximum(3 * usual, least)
    return found


def flips(chain: ArrayLike) -> Mask:
    """Frames in which a knee is bent to another side than when it was last bent.

    A side is more than 90 degrees from the other. Knees within 5 degrees of straight have none. Where a leg turns while
    it is straight, give it in the space of its hips. Captured knees may flip themselves: compare with the source.

    Parameters
    ----------
    chain : (frames, joints, 3) array_like
        As for `bends`.

    Returns
    -------
    (frames, joints - 2) array of bool

    Examples
    --------
    >>> flips([[[0, 1, 0], [0, 0.5, z], [0, 0, 0]] for z in (0.1, 0, -0.1, -0.2)]).ravel()
    array([False, False,  True, False])
    """
    bones = _bones(chain)
    above, below = bones[:, :-1], bones[:, 1:]
    hinges = cross(above, below)
    bent = _length(hinges) > math.sin(math.radians(5)) * _length(above) * _length(below)
    found = np.zeros(bent.shape, bool)
    for joint in range(bent.shape[1]):
        frames = np.flatnonzero(bent[:, joint])
        sides = hinges[frames, joint]
        found[frames[1:], joint] = _dot(sides[1:], sides[:-1]) < 0
    return found


def new_flips(chain: ArrayLike, source: ArrayLike, *, fps: float) -> Mask:
    """`flips` of a result that its source does not have, within 0.1 s.

    Parameters
    ----------
    chain, source : (frames, joints, 3) array_like
        As for `bends`, of the result and of the source.
    fps : float
        Frames a second.

    Returns
    -------
    (frames, joints - 2) array of bool

    Examples
    --------
    >>> leg = np.array([[[0, 1, 0], [0, 0.5, z], [0, 0, 0]] for z in (0.1, 0.1, -0.1, -0.2)])
    >>> late = leg[[0, 0, 1, 2]]
    >>> bool(flips(late).any()), bool(new_flips(late, leg, fps=30).any())
    (True, False)
    """
    found, there = flips(chain), flips(source)
    near = round(_LIKE * _rate(fps))
    for frame, joint in np.argwhere(there).tolist():
        found[max(frame - near, 0) : frame + near + 1, joint] = False
    return found


def straightness_lost(angles: ArrayLike, source: ArrayLike) -> Array:
    """How much less straight knees become than they did: of the angles the 95th percentiles.

    Parameters
    ----------
    angles, source : (frames, ...) array_like
        `bends` of the result and of the source.

    Returns
    -------
    (...) array
        Radians; 0 where the result is as straight.

    Examples
    --------
    >>> straight = np.linspace(2.5, 3.1, 41)
    >>> float(straightness_lost(straight - 0.2, straight).round(6))
    0.2
    """
    now, was = (percentile(rows(name, each, _DOUBLE), 95) for name, each in (("angles", angles), ("source", source)))
    return np.asarray(np.maximum(was - now, 0))


def lowered(pelvis: ArrayLike, source: ArrayLike, ankles: ArrayLike, source_ankles: ArrayLike) -> Array:
    """How much farther down than all feet a pelvis was moved: what makes a crouch of a walk.

    Parameters
    ----------
    pelvis, source : (frames, 3) array_like
        Where it is in the result and in the source.
    ankles, source_ankles : (frames, legs, 3) array_like
        Those of the legs that carry it.

    Returns
    -------
    (frames,) array
        Metres; 0 where it is no lower than the foot that was moved down most, or up least.

    Examples
    --------
    >>> hips, feet = np.array([[0, 0.9, 0]]), np.zeros((1, 2, 3))
    >>> lowered(hips - [0, 0.05, 0], hips, feet - [0, 0.03, 0], feet).round(6)
    array([0.02])
    """
    down = (_vectors("pelvis", pelvis) - _vectors("source", source))[..., 1]
    feet = _vectors("ankles", ankles, len(down), "legs") - _vectors("source_ankles", source_ankles, len(down), "legs")
    return np.asarray(np.maximum(feet[..., 1].min(axis=1, initial=np.inf) - down, 0))


def extension(hips: ArrayLike, ankles: ArrayLike, length: ArrayLike) -> Array:
    """How far a leg is stretched out: the distance from hip to ankle over the length of the leg.

    Parameters
    ----------
    hips, ankles : (..., 3) array_like
        Where they are. With where ankles should be, more than 1 is out of reach.
    length : (...) array_like
        Of the leg, the sum of its bones.

    Returns
    -------
    (...) array

    Examples
    --------
    >>> extension([0, 1, 0], [[0, 0.5, 0], [0, 0, 0]], 0.8)
    array([0.625, 1.25 ])
    """
    apart = _vectors("ankles", ankles) - _vectors("hips", hips)
    return np.asarray(_length(apart) / rows("length", length, _DOUBLE))


def length_error(chain: ArrayLike, source: ArrayLike) -> Array:
    """The largest relative change of a bone's length.

    Parameters
    ----------
    chain, source : (frames, joints, 3) array_like
        As for `bends`, of the result and of the source.

    Returns
    -------
    (frames,) array
        Shares. Bones that have no length in the source are left out.

    Examples
    --------
    >>> length_error([[[0, 1, 0], [0, 0.5, 0], [0, -0.1, 0]]], [[[0, 1, 0], [0, 0.5, 0], [0, 0, 0]]]).round(6)
    array([0.2])
    """
    now, was = _length(_bones(chain)), _length(_bones(source))
    return np.asarray((np.abs(now - was) / np.where(was > 0, was, np.inf)).max(axis=-1))


# --- smoothness ------------------------------------------------------------------------------------------------------


def derivative(values: ArrayLike, order: int, *, fps: float) -> Array:
    """A difference quotient over 1/30 s, or over one frame where that is longer.

    From frame to frame, at 120 of them a second, derivatives are mostly those of noise, and rates would not compare.

    Parameters
    ----------
    values : (frames, ...) array_like
        Say `bends`.
    order : int
        1 for speeds, 2 for accelerations, 3 for jerks.
    fps : float
        Frames a second.

    Returns
    -------
    (shorter, ...) array
        In units of `values` over seconds; empty if there are too few frames.

    Examples
    --------
    >>> seconds = np.arange(9) / 60
    >>> derivative(seconds**2, 2, fps=60).round(6)
    array([2., 2., 2., 2., 2.])
    """
    found = rows("values", values, _DOUBLE)
    span = max(1, round(_rate(fps) / 30))
    for _ in range(order):
        found = found[span:] - found[:-span]
    return np.asarray(found * (fps / span) ** order)


def jerk(points: ArrayLike, *, fps: float) -> Array:
    """How jerky points move: the third `derivative`. Its mean over that of the source is the usual measure.

    Parameters
    ----------
    points : (frames, ..., 3) array_like
        Say ankles, hips and pelvis.
    fps : float
        Frames a second.

    Returns
    -------
    (shorter, ...) array
        Metres a second cubed.

    Examples
    --------
    >>> seconds = np.arange(9) / 30
    >>> jerk(seconds[:, np.newaxis] ** 3 * [0, 0, 1], fps=30).round(6)
    array([6., 6., 6., 6., 6., 6.])
    """
    return _length(derivative(_vectors("points", points), 3, fps=fps))


def jerk_ratio(points: ArrayLike, *sources: ArrayLike, fps: float) -> float:
    """The mean `jerk` over that of the source, or of the jerkiest of several.

    A pelvis that climbs where that of its source does not takes some of it from the feet: judge it beside both, the
    pelvis and the ankle of the source.

    Parameters
    ----------
    points : (frames, 3) array_like
        Say of the pelvis.
    *sources : (frames, 3) array_like
        The same point of the source, and others.
    fps : float
        Frames a second.

    Returns
    -------
    float
        NaN if no source has any.

    Examples
    --------
    >>> cubes = np.arange(9)[:, np.newaxis] ** 3 * [0, 0, 1]
    >>> jerk_ratio(2 * cubes, cubes, fps=30), jerk_ratio(2 * cubes, cubes, 4 * cubes, fps=30)
    (2.0, 0.5)
    """
    most = max(_mean(jerk(source, fps=fps)) for source in sources)
    return _mean(jerk(points, fps=fps)) / (most or math.nan)


def angular_speed(turned: ArrayLike, *, fps: float) -> Array:
    """How fast joints turn, over 1/30 s as in `derivative`. The 99th percentile tells of spikes.

    Parameters
    ----------
    turned : (frames, ..., 4) array_like
        Rotations.
    fps : float
        Frames a second.

    Returns
    -------
    (shorter, ...) array
        Radians a second.

    Examples
    --------
    >>> turned = rotations.from_axis_angle([0, 1, 0], np.arange(5) / 30)
    >>> angular_speed(turned, fps=30).round(6)
    array([1., 1., 1., 1.])
    """
    each = rows("turned", turned, _DOUBLE, 4)
    span = max(1, round(_rate(fps) / 30))
    return np.asarray(turn(each[span:], each[:-span]) * (fps / span))


# --- fidelity --------------------------------------------------------------------------------------------------------


def turn(result: ArrayLike, source: ArrayLike) -> Array:
    """The angles between rotations, say of joints to those of the source; swings are where they should be near 0.

    Parameters
    ----------
    result, source : (..., 4) array_like
        Rotations.

    Returns
    -------
    (...) array
        Radians in [0, pi].

    Examples
    --------
    >>> turn([1, 0, 0, 0], rotations.from_axis_angle([0, 0, 1], [0.25, -0.5])).round(6)
    array([0.25, 0.5 ])
    """
    between = rotations.multiply(rotations.conjugate(rows("source", source, _DOUBLE, 4)), result)
    return np.asarray(rotations.to_axis_angle(between)[1])


def deviation(result: ArrayLike, source: ArrayLike, *, level: bool = False) -> Array:
    """The distances of points from where they are in the source. The mean over all joints is known as MPJPE.

    Parameters
    ----------
    result, source : (..., 3) array_like
        Points.
    level : bool, default: False
        Only horizontally, say of the root's path.

    Returns
    -------
    (...) array
        Metres.

    Examples
    --------
    >>> deviation([3, 4, 4], [0, 0, 0], level=True)
    array(5.)
    """
    apart = _vectors("result", result) - _vectors("source", source)
    return _length(apart[..., ::2] if level else apart)


# --- contacts --------------------------------------------------------------------------------------------------------


def agreement(contact: ArrayLike, truth: ArrayLike) -> float:
    """How well contacts agree with true ones: F1, the harmonic mean of precision and recall over frames.

    Parameters
    ----------
    contact, truth : (...) array_like of bool
        Of one shape.

    Returns
    -------
    float
        From 0 to 1, which it is too if there is none in either.

    Examples
    --------
    >>> round(agreement([True, True, False, False], [True, True, True, True]), 4)
    0.6667
    """
    found, true = mask_of("contact", contact), mask_of("truth", truth)
    either = int(found.sum() + true.sum())
    return 2 * int((found & true).sum()) / either if either else 1.0


def onset_error(contact: ArrayLike, truth: ArrayLike, *, fps: float) -> Array:
    """How far from each true beginning of a contact the nearest one found is. Of opposites: the same of the ends.

    Parameters
    ----------
    contact, truth : (frames,) array_like of bool
        When a point is in contact. One that begins with the clip has no beginning.
    fps : float
        Frames a second.

    Returns
    -------
    (n,) array
        Seconds; infinite if none is found.

    Examples
    --------
    >>> truth = np.array([False, True, True, True, False, False])
    >>> contact = np.array([False, False, True, True, True, False])
    >>> onset_error(contact, truth, fps=10), onset_error(~contact, ~truth, fps=10)
    (array([0.1]), array([0.1]))
    """
    found, true = (_onsets(mask_of(name, mask, 1)) for name, mask in (("contact", contact), ("truth", truth)))
    apart = np.abs(true[:, np.newaxis] - found).astype(_DOUBLE)
    return np.asarray(apart.min(axis=1, initial=np.inf) / _rate(fps))


def _onsets(mask: Mask) -> NDArray[np.intp]:
    return np.flatnonzero(mask[1:] & ~mask[:-1]) + 1


# --- all of a leg ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """What is measured of a leg, over all frames; `Track.on` makes it.

    Attributes
    ----------
    chain : (frames, joints, 3) array
        Its joints from hip to ankle; of a foot without a leg its ankle.
    sole : (frames, points, 3) array
        Points of the sole.
    heights : (frames, points) array
        Theirs above the ground.
    normals : (frames, 3) array
        Of the ground where the foot is.
    tilt : (frames,) array
        `sole_angle`; NaN where it is not known.
    pelvis : (frames, 3) array
        What the legs hang on; NaN where it is not known.
    ankles : (frames, legs, 3) array
        Those of all legs that carry the pelvis.
    """

    chain: Array
    sole: Array
    heights: Array
    normals: Array
    tilt: Array
    pelvis: Array
    ankles: Array

    @classmethod
    def on(
        cls,
        chain: ArrayLike,
        sole: ArrayLike,
        ground: ArrayLike = 0.0,
        normals: ArrayLike = UP,
        *,
        soles: ArrayLike | None = None,
        pelvis: ArrayLike | None = None,
        ankles: ArrayLike | None = None,
    ) -> Track:
        """A leg on some ground, without which it is y = 0.

        Parameters
        ----------
        chain : (frames, joints, 3) array_like
            Its joints from hip to ankle.
        sole : (frames, points, 3) array_like
            Points of the sole, such as heel, ball and toe, from back to front.
        ground : (frames, points) array_like or float, optional
            How high the ground is under those points; NaN where there is none.
        normals : (frames, 3) or (3,) array_like, optional
            Of the ground where the foot is.
        soles : (frames, 3) array_like, optional
            Normals of the sole, upwards. Without, its angle to the ground is not judged.
        pelvis : (frames, 3) array_like, optional
            What the legs hang on. Without, its way is not judged.
        ankles : (frames, legs, 3) array_like, optional
            Those of all legs that carry the pelvis (default: that of this leg alone).

        Returns
        -------
        Track

        Examples
        --------
        >>> leg = Track.on(chain=np.zeros((9, 3, 3)), sole=np.zeros((9, 2, 3)), ground=-0.01)
        >>> leg.heights[0]
        array([0.01, 0.01])
        """
        joints = _vectors("chain", chain, "frames", "joints")
        points = _vectors("sole", sole, len(joints), "points")
        below = _spread("ground", rows("ground", ground, _DOUBLE), points.shape[:2])
        upward = _spread("normals", _vectors("normals", normals), (len(joints), 3))
        across, above = (
            _spread(name, np.full(3, np.nan) if given is None else _vectors(name, given), upward.shape)
            for name, given in (("soles", soles), ("pelvis", pelvis))
        )
        carriers = joints[:, -1:] if ankles is None else _vectors("ankles", ankles, len(joints), "legs")
        return cls(joints, points, points[..., 1] - below, upward, sole_angle(across, upward), above, carriers)


@dataclass(frozen=True, slots=True)
class Measure:
    """How well a leg does. Lengths are metres, angles radians; NaN is what there was nothing to judge by.

    With a source, skating, penetration, floating, the angle of the sole and flips are what is `beyond` it: `BEYOND`
    has their names. Without one, what only says how a result is beside it is NaN: `BESIDE`. A percentile is one of the
    values, the next one above. So of few stances the 95th is the most.

    Attributes
    ----------
    drift, drift_most : float
        `drift` over all stances of all points of the sole, 95th percentile and most.
    heading_drift : float
        While all points are in contact, 95th percentile.
    skating, skating_by_height : float
        `skating_ratio` with the contacts that are given, and with all that is lower than 0.05 m.
    penetration, floating : float
        In contact, and in the cores of contacts (`standing`), 95th percentiles.
    penetration_swing : float
        The deepest in all other frames.
    sole_angle : float
        In frames in which all points are in contact, 95th percentile.
    off_ground : float
        In frames in which it seems to stand `unseen`, being as low as the source is; the most, 0 of none.
    lift_lost : float
        The median.
    extension : float
        The largest. It and what else is of knees, their bones and their reach is NaN of a foot without a leg.
    reach_violations : float
        In how many frames the ankle is farther from the hip than the bones of the source are long.
    knee_flips : float
        `flips`, how many; beside a source `new_flips`.
    knee_pops : float
        `pops` beside the source, in how many frames.
    knee_acceleration : float
        The 99th percentile over that of the source, or over 7000 degrees/s^2 where that is more.
    ankle_jerk, pelvis_jerk : float
        `jerk_ratio`.
    pelvis_path : float
        How far the pelvis is from that of the source, horizontally, in lengths of the leg; 95th percentile.
    straightness_lost : float
        The most of a knee.
    pelvis_lowered : float
        `lowered`, 95th percentile.
    length_error : float
        The largest.
    deviation : float
        Of the chain's joints from the source, mean.
    """

    drift: float
    drift_most: float
    heading_drift: float
    skating: float
    skating_by_height: float
    penetration: float
    penetration_swing: float
    floating: float
    sole_angle: float
    off_ground: float
    lift_lost: float
    extension: float
    reach_violations: float
    knee_flips: float
    knee_pops: float
    knee_acceleration: float
    ankle_jerk: float
    pelvis_jerk: float
    pelvis_path: float
    straightness_lost: float
    pelvis_lowered: float
    length_error: float
    deviation: float

    def texts(self) -> dict[str, str]:
        """Every measure by its name, in millimetres, degrees and percent.

        What there was nothing to judge by is "-", and floating where there is no ground to float over "no ground".

        Returns
        -------
        dict of str to str
        """
        return {name: _said(getattr(self, name), *how) for name, how in _UNITS.items()}

    def __repr__(self) -> str:
        return "\n".join(["Measure:", *(f"  {name:18}{text}" for name, text in self.texts().items())])


_MM, _PERCENT, _DEGREES = (1e3, " mm"), (100.0, " %"), (180 / math.pi, "°")
_COUNT, _TIMES = (1.0, ""), (1.0, "x")
_UNITS: dict[str, tuple[float, str]] = {
    **dict.fromkeys(["drift", "drift_most"], _MM),
    "heading_drift": _DEGREES,
    **dict.fromkeys(["skating", "skating_by_height"], _PERCENT),
    **dict.fromkeys(["penetration", "penetration_swing", "floating"], _MM),
    "sole_angle": _DEGREES,
    "off_ground": _MM,
    **dict.fromkeys(["lift_lost", "extension"], _PERCENT),
    **dict.fromkeys(["reach_violations", "knee_flips", "knee_pops"], _COUNT),
    **dict.fromkeys(["knee_acceleration", "ankle_jerk", "pelvis_jerk"], _TIMES),
    "pelvis_path": _PERCENT,
    "straightness_lost": _DEGREES,
    "pelvis_lowered": _MM,
    "length_error": _PERCENT,
    "deviation": _MM,
}


def _said(value: float, factor: float, unit: str) -> str:
    if isinstance(value, int):
        return f"{value}{unit}"
    if math.isinf(value):
        return "no ground"
    return "-" if math.isnan(value) else f"{round(factor * value, 1) + 0:.1f}{unit}"


def measure(leg: Track, contact: ArrayLike, *, fps: float, source: Track | None = None, beyond: bool = True) -> Measure:
    """All measures of a leg in one record.

    Parameters
    ----------
    leg : Track
        What is judged.
    contact : (frames, points) array_like of bool
        When each point of the sole is in contact: in the source, not found again in the result.
    fps : float
        Frames a second.
    source : Track, optional
        What it was made of, on its own ground. Without, what is `beyond` a source is all there is, knees pop beside
        the rest of the clip, and the rest is NaN.
    beyond : bool, default: True
        Whether what is `beyond` the source is; if not, it is all there is, but for what is `BESIDE` it.

    Returns
    -------
    Measure

    Examples
    --------
    A foot that stands 5 mm deep and slides along by 1/4096 m a frame, 22 times in the core of its stance:

    >>> way = np.arange(31)[:, np.newaxis, np.newaxis] * [0, 0, 1 / 4096]
    >>> leg = Track.on([[0, 0.9, 0], [0, 0.5, 0.1], [0, 0.1, 0]] + way, [[0, -0.005, 0], [0, -0.005, 0.2]] + way)
    >>> measure(leg, np.full((31, 2), True), fps=30)
    Measure:
      drift             5.4 mm
      drift_most        5.4 mm
      heading_drift     0.0°
      skating           0.0 %
      skating_by_height -
      penetration       5.0 mm
      penetration_swing -
      floating          0.0 mm
      sole_angle        -
      off_ground        -
      lift_lost         -
      extension         97.0 %
      reach_violations  -
      knee_flips        0
      knee_pops         0
      knee_acceleration -
      ankle_jerk        -
      pelvis_jerk       -
      pelvis_path       -
      straightness_lost -
      pelvis_lowered    -
      length_error      -
      deviation         -
    """
    held = _spread("contact", mask_of("contact", contact), leg.heights.shape)
    if source is not None:
        for name in ("chain", "sole", "ankles"):
            _same("source", getattr(source, name).shape, getattr(leg, name).shape)
    clean, knees = source if beyond else None, bends(leg.chain)
    were = knees if source is None else bends(source.chain)
    return Measure(
        **_slides(leg, held, fps, clean),
        **_stands(leg, held, fps, clean),
        **_bends(leg, knees, were, fps, source),
        **(dict.fromkeys(BESIDE, math.nan) if source is None else _beside(leg, knees, were, held, fps, source)),
    )


def _slides(leg: Track, held: Mask, fps: float, source: Track | None) -> dict[str, Any]:
    slid, flat = _drifts(leg, held, fps), runs(held.all(axis=1))
    headings = leg.sole[:, -1] - leg.sole[:, 0]
    there = 0.0 if source is None else skating_ratio(source.sole, held, fps=fps)
    return {
        "drift": _highest(slid, 95),
        "drift_most": _highest(slid),
        "heading_drift": _highest(heading_drift(headings, flat, fps=fps), 95) if held.shape[1] > 1 else math.nan,
        "skating": max(skating_ratio(leg.sole, held, fps=fps) - there, 0.0),
    }


def _stands(leg: Track, held: Mask, fps: float, source: Track | None) -> dict[str, Any]:
    down, flat = held.any(axis=1), held.all(axis=1)
    deep, high, tilt = penetration(leg.heights), floating(leg.heights), leg.tilt
    if source is not None:
        deep, high = beyond(deep, penetration(source.heights)), beyond(high, floating(source.heights))
        tilt = beyond(tilt, source.tilt)
    return {
        "penetration": _highest(deep[down], 95),
        "penetration_swing": _highest(deep[~down]),
        "floating": _highest(high[standing(down, fps=fps)], 95),
        "sole_angle": _highest(tilt[flat], 95),
    }


def _bends(leg: Track, knees: Array, were: Array, fps: float, source: Track | None) -> dict[str, Any]:
    if _alone(leg):
        return dict.fromkeys(("extension", "knee_flips", "knee_pops"), math.nan)
    flipped = flips(leg.chain) if source is None else new_flips(leg.chain, source.chain, fps=fps)
    return {
        "extension": _highest(extension(leg.chain[:, 0], leg.chain[:, -1], _lengths(leg.chain))),
        "knee_flips": int(flipped.sum()),
        "knee_pops": int(pops(knees, were).any(axis=1).sum()),
    }


def _beside(leg: Track, knees: Array, were: Array, held: Mask, fps: float, source: Track) -> dict[str, Any]:
    low, was_low = (skating_ratio(each.sole, each.heights < _NEAR, fps=fps) for each in (leg, source))
    fast, was_fast = (_highest(np.abs(derivative(angles, 2, fps=fps)), 99) for angles in (knees, were))
    apart = deviation(leg.pelvis, source.pelvis, level=True)
    stands = unseen(leg.sole, source.heights, held.any(axis=1), fps=fps)
    return {
        "off_ground": float(off_ground(leg.heights, source.heights)[stands].max(initial=0.0)),
        "skating_by_height": max(low - was_low, 0.0),
        "lift_lost": _highest(lift_lost(_lowest(leg.heights), _lowest(source.heights), held.any(axis=1)), 50),
        "reach_violations": math.nan if _alone(leg) else _violations(leg, source),
        "knee_acceleration": fast / max(was_fast, math.radians(7000)),
        "ankle_jerk": jerk_ratio(leg.chain[:, -1], source.chain[:, -1], fps=fps),
        "pelvis_jerk": jerk_ratio(leg.pelvis, source.pelvis, fps=fps),
        "pelvis_path": _highest(apart / (leg_length(source.chain) or math.nan), 95),
        "straightness_lost": _highest(straightness_lost(knees, were)),
        "pelvis_lowered": _highest(lowered(leg.pelvis, source.pelvis, leg.ankles, source.ankles), 95),
        "length_error": math.nan if _alone(leg) else _highest(length_error(leg.chain, source.chain)),
        "deviation": _mean(deviation(leg.chain, source.chain)),
    }


def _alone(leg: Track) -> bool:
    """Whether it is a foot without a leg."""
    return bool(leg.chain.shape[1] == 1)


def _violations(leg: Track, source: Track) -> int:
    reach = extension(leg.chain[:, 0], leg.chain[:, -1], _lengths(source.chain))
    return int((reach > 1 + _ROUNDING).sum())


def _lengths(chain: Array) -> Array:
    """Of the bones together, in every frame."""
    return np.asarray(_length(_bones(chain)).sum(axis=-1))


def _drifts(leg: Track, held: Mask, fps: float) -> Array:
    """Of all stances of all points: of one after the other, so that it is one call."""
    frames, points = held.shape
    stances = [runs(held[:, at]) + at * frames for at in range(points)]
    return drift(
        leg.sole.swapaxes(0, 1).reshape(-1, 3),
        np.concatenate([*stances, np.empty((0, 2), np.intp)]),
        fps=fps,
        normals=np.tile(leg.normals, (points, 1)),
    )


def _highest(values: Array, percent: float = 100) -> float:
    """A percentile that is one of the values, so that it may be infinite; NaN of none."""
    known = values[~np.isnan(values)]
    if not known.size:
        return math.nan
    return float(np.sort(known)[math.ceil((known.size - 1) * (percent / 100))])


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else math.nan


# --- vectors, and what is given --------------------------------------------------------------------------------------


def _length(vectors: Array) -> Array:
    return np.asarray(size(vectors) if vectors.shape[-1] == 3 else np.sqrt(_dot(vectors, vectors)))


def _dot(a: Array, b: Array) -> Array:
    """Of vectors of three numbers, or of two."""
    if a.shape[-1] == 3:
        return np.asarray(dot(a, b))
    products = a * b
    return np.asarray(products[..., 0] + products[..., 1])


def _angle(a: Array, b: Array) -> Array:
    return _arc(_length(cross(a, b)), _dot(a, b))


def _arc(y: Array, x: Array) -> Array:
    """As np.arctan2, the last bits of which are not the same in every NumPy, in 1.26 not even in every call."""
    far, ahead = np.sqrt(x * x + y * y), x >= 0
    half = np.zeros((*far.shape, 4))  # a rotation by twice the half: no difference of what is nearly the same
    half[..., 0] = np.where(ahead, far + x, np.abs(y))
    half[..., 1] = np.where(ahead, y, np.copysign(far - x, y))
    return np.asarray(rotations.log(half)[..., 0])


def _along_plane(vectors: Array, normals: Array) -> Array:
    """Without their part along normals; where there is none, as there is no ground, the plane is level."""
    long = _length(normals)[..., np.newaxis]
    upward = np.where(long > 0, normals / np.where(long > 0, long, 1), UP)
    return np.asarray(vectors - _dot(vectors, upward)[..., np.newaxis] * upward)


def _bones(chain: ArrayLike) -> Array:
    joints = _vectors("chain", chain, "frames", "joints")
    return np.asarray(joints[:, 1:] - joints[:, :-1])


def _vectors(name: str, value: ArrayLike, *axes: int | str) -> Array:
    """Rows of three; with axes, those before them, a number being how long one is."""
    vectors = rows(name, value, _DOUBLE, 3)
    given = vectors.shape[:-1]
    if axes and not (len(given) == len(axes) and all(map(_fits, axes, given))):
        raise ValueError(f"{name}: expected shape ({', '.join(map(str, axes))}, 3), got {vectors.shape}")
    return vectors


def _fits(axis: int | str, length: int) -> bool:
    return axis == length or isinstance(axis, str)


def _intervals(stances: ArrayLike, frames: int) -> list[list[int]]:
    pairs = np.asarray(stances, np.intp).reshape(-1, 2)
    if ((pairs[:, 0] < 0) | (pairs[:, 0] >= pairs[:, 1]) | (pairs[:, 1] > frames)).any():
        raise ValueError(f"stances: expected first frames and the first ones after, among {frames}; `runs` makes them")
    found: list[list[int]] = pairs.tolist()
    return found


def _rate(fps: float) -> float:
    if not 0 < fps < math.inf:
        raise ValueError(f"fps: expected a positive number, got {fps!r}")
    return float(fps)


def _same(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ValueError(f"{name}: expected shape {expected}, got {shape}")


def _spread(name: str, value: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Repeated to a shape."""
    if value.shape == shape:
        return value
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"{name}: expected shape {shape}, got {value.shape}") from None
