"""Knees: their bend angle, pops and flips; and the reach of legs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import cross, dot, percentile, rows, size
from ikcore.contacts.intervals import Mask
from ikcore.feet.metrics import arguments, geometry

Array = NDArray[np.float64]

_LIKE = 0.1  # s: flips of the source within this time count as the same


def leg_length(chain: ArrayLike) -> float:
    """Length of a leg: the median over all frames of its total bone length, because bones stretch in some files.

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
    return arguments.highest(arguments.lengths(arguments.vectors("chain", chain, "frames", "joints")), 50)


def bends(chain: ArrayLike) -> Array:
    """The interior angles of a leg, pi if it is straight.

    Parameters
    ----------
    chain : (frames, joints, 3) array_like
        Its joints from hip to ankle; three, or more in an animal's hind leg.

    Returns
    -------
    (frames, joints - 2) array
        In radians, for every joint except the first and the last.

    Examples
    --------
    >>> np.degrees(bends([[[0, 1, 0], [0, 0.5, 0.0], [0, 0.5, 0.5]]])).round(6)
    array([[90.]])
    """
    bones = arguments.bones(chain)
    return geometry.angle(-bones[:, :-1], bones[:, 1:])


def pops(angles: ArrayLike, source: ArrayLike, *, least: float = math.radians(2)) -> Mask:
    """Frames in which a knee pops, as happens if a nearly straight leg gets a moved foot.

    In such a frame the second difference of its angle between frames is more than three times the 99th percentile of
    the source, and more than `least`. A jump of the angle shows in two frames, and a spike in three, at any frame rate.
    Therefore this measure alone is not divided by the time between frames.

    Parameters
    ----------
    angles, source : (frames, ...) array_like
        `bends` of the result and of the source. For a clip without a source, pass the clip twice: a pop then stands out
        from the rest of it.
    least : float
        In radians, default 2 degrees.

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
    now, was = rows("angles", angles, arguments.DOUBLE), rows("source", source, arguments.DOUBLE)
    found = np.zeros(now.shape, bool)
    if len(now) > 2 and len(was) > 2:
        usual = percentile(np.abs(np.diff(was, n=2, axis=0)), 99)
        found[1:-1] = np.abs(np.diff(now, n=2, axis=0)) > np.maximum(3 * usual, least)
    return found


def flips(chain: ArrayLike) -> Mask:
    """Frames in which a knee bends to another side than when it was last bent.

    Two sides are different if they are more than 90 degrees apart. Knees within 5 degrees of straight have no side. If
    a leg turns while it is straight, give its joints in the space of the hips. Captured knees may also flip: compare
    with the source.

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
    at = arguments.vectors("chain", chain, "frames", "joints")
    above, below = at[:, 1:-1] - at[:, :-2], at[:, 2:] - at[:, 1:-1]
    side = cross(above, below)
    bent = size(side) > math.sin(math.radians(5)) * size(above) * size(below)
    last = np.maximum.accumulate(np.where(bent, np.arange(len(at))[:, np.newaxis], -1), axis=0)
    before = np.concatenate([np.full_like(last[:1], -1), last[:-1]])  # the frame in which it was last bent
    side_before = np.take_along_axis(side, np.maximum(before, 0)[..., np.newaxis], axis=0)
    return np.asarray(bent & (before >= 0) & (dot(side, side_before) < 0))


def new_flips(chain: ArrayLike, source: ArrayLike, *, fps: float) -> Mask:
    """`flips` of a result that its source does not have, within 0.1 s.

    Parameters
    ----------
    chain, source : (frames, joints, 3) array_like
        As for `bends`, of the result and of the source.
    fps : float
        Frames per second.

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
    near = round(_LIKE * arguments.rate(fps))
    for frame, joint in np.argwhere(there).tolist():
        found[max(frame - near, 0) : frame + near + 1, joint] = False
    return found


def straightness_lost(angles: ArrayLike, source: ArrayLike) -> Array:
    """How much less straight knees become than in the source: the difference of the 95th percentiles of their angles.

    Parameters
    ----------
    angles, source : (frames, ...) array_like
        `bends` of the result and of the source.

    Returns
    -------
    (...) array
        In radians; 0 if the result is as straight.

    Examples
    --------
    >>> straight = np.linspace(2.5, 3.1, 41)
    >>> float(straightness_lost(straight - 0.2, straight).round(6))
    0.2
    """
    now, was = (
        percentile(rows(name, each, arguments.DOUBLE), 95) for name, each in (("angles", angles), ("source", source))
    )
    return np.asarray(np.maximum(was - now, 0))


def pelvis_lowered(pelvis: ArrayLike, source: ArrayLike, ankles: ArrayLike, source_ankles: ArrayLike) -> Array:
    """How much farther down than all feet the pelvis was moved; large values turn a walk into a crouch.

    Parameters
    ----------
    pelvis, source : (frames, 3) array_like
        Its positions in the result and in the source.
    ankles, source_ankles : (frames, legs, 3) array_like
        Those of the legs that carry it.

    Returns
    -------
    (frames,) array
        In metres; 0 if it is no lower than the foot that was moved down most, or up least.

    Examples
    --------
    >>> hips, feet = np.array([[0, 0.9, 0]]), np.zeros((1, 2, 3))
    >>> pelvis_lowered(hips - [0, 0.05, 0], hips, feet - [0, 0.03, 0], feet).round(6)
    array([0.02])
    """
    down = (arguments.vectors("pelvis", pelvis) - arguments.vectors("source", source))[..., 1]
    feet = arguments.vectors("ankles", ankles, len(down), "legs") - arguments.vectors(
        "source_ankles", source_ankles, len(down), "legs"
    )
    return np.asarray(np.maximum(feet[..., 1].min(axis=1, initial=np.inf) - down, 0))


def extension(hips: ArrayLike, ankles: ArrayLike, length: ArrayLike) -> Array:
    """Extension of a leg: the distance from hip to ankle over the leg length.

    Parameters
    ----------
    hips, ankles : (..., 3) array_like
        Positions of hips and ankles. The extension of a target of the ankle is above 1 if the target is out of reach.
    length : (...) array_like
        The leg length, the sum of its bones.

    Returns
    -------
    (...) array

    Examples
    --------
    >>> extension([0, 1, 0], [[0, 0.5, 0], [0, 0, 0]], 0.8)
    array([0.625, 1.25 ])
    """
    apart = arguments.vectors("ankles", ankles) - arguments.vectors("hips", hips)
    return np.asarray(geometry.length(apart) / rows("length", length, arguments.DOUBLE))


def length_error(chain: ArrayLike, source: ArrayLike) -> Array:
    """The largest relative change of a bone's length.

    Parameters
    ----------
    chain, source : (frames, joints, 3) array_like
        As for `bends`, of the result and of the source.

    Returns
    -------
    (frames,) array
        Shares. Bones without length in the source are left out.

    Examples
    --------
    >>> length_error([[[0, 1, 0], [0, 0.5, 0], [0, -0.1, 0]]], [[[0, 1, 0], [0, 0.5, 0], [0, 0, 0]]]).round(6)
    array([0.2])
    """
    now, was = geometry.length(arguments.bones(chain)), geometry.length(arguments.bones(source))
    return np.asarray((np.abs(now - was) / np.where(was > 0, was, np.inf)).max(axis=-1))
