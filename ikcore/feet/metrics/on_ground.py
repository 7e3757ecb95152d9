"""Feet on the ground: penetration, floating, sole angle, and frames in which they seem to stand."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows
from ikcore.contacts.intervals import Mask, core, mask_of, runs
from ikcore.feet.metrics import arguments, geometry
from ikcore.feet.metrics.geometry import UP

Array = NDArray[np.float64]

NEAR = 0.05  # m: lower points are in contact by height alone
_SLOW = 0.3  # m/s: a low and slower point seems to stand
_BRIEF, _ROLLS = 0.1, 0.2  # s: shortest contact; time in which a foot arrives before a contact, or leaves after it


def penetration(heights: ArrayLike) -> Array:
    """Depth of the lowest point of a sole in the ground.

    Use ``penetration(heights)[contact]``, and the other frames for swings. If the source is not clean, use `beyond` to
    compare with its penetration of its own floor.

    Y. Yuan et al., "PhysDiff", 2023, and others count less than 5 mm as 0. Here nothing is subtracted.

    Parameters
    ----------
    heights : (..., points) array_like
        Vertical heights of sole points above the ground: ``points[..., 1] - ground``. NaN where there is no ground.

    Returns
    -------
    (...) array
        In metres; 0 if the sole is above the ground, or there is no ground.

    Examples
    --------
    >>> penetration([[-0.03, 0.01], [0.0, 0.02], [np.nan, np.nan]])
    array([0.03, 0.  , 0.  ])
    """
    return np.maximum(-arguments.lowest(heights), 0) + 0


def floating(heights: ArrayLike) -> Array:
    """Height of the lowest point of a sole above the ground.

    Use ``floating(heights)[standing(contact)]``, because feet roll off at the ends; `penetration` has the other side.

    Parameters
    ----------
    heights : (..., points) array_like
        Vertical heights of sole points above the ground. NaN where there is no ground.

    Returns
    -------
    (...) array
        In metres; 0 if a point is on the ground or in it, infinite if there is no ground.

    Examples
    --------
    >>> floating([[-0.03, 0.01], [0.01, 0.02], [np.nan, np.nan]])
    array([0.  , 0.01,  inf])
    """
    return np.maximum(arguments.lowest(heights), 0)


def contact_cores(contact: ArrayLike, *, fps: float) -> Mask:
    """Frames in which a foot stands without doubt, (frames,) of bool: the cores of its contacts, as in `drift`.

    While a foot arrives and leaves, it is above the ground although it is in contact, and this is not floating.

    Parameters
    ----------
    contact : (frames,) array_like of bool
        Frames in which it is in contact.
    fps : float
        Frames per second.

    Examples
    --------
    >>> runs(contact_cores(np.arange(20) < 10, fps=30))
    array([[2, 8]])
    """
    found = np.zeros(len(mask := mask_of("contact", contact, 1)), bool)
    for start, stop in runs(mask).tolist():
        found[core(start, stop, arguments.rate(fps))] = True
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
        The difference; 0 if the source is as bad, infinite if only the result has no ground.

    Examples
    --------
    >>> beyond([0.03, 0.01, np.inf, np.inf], [0.01, 0.02, 0.0, np.inf])
    array([0.02, 0.  ,  inf, 0.  ])
    """
    now, was = rows("values", values, arguments.DOUBLE), rows("source", source, arguments.DOUBLE)
    with np.errstate(invalid="ignore"):  # if both are infinite, the source is as bad
        return np.where(np.isposinf(now) & np.isposinf(was), 0, np.maximum(now - was, 0) + 0)


def sole_angle(soles: ArrayLike, ground: ArrayLike = UP) -> Array:
    """The angle between the normals of a sole and of the ground. Use it where the foot is flat.

    Parameters
    ----------
    soles, ground : (..., 3) array_like
        Normals, upwards, of any length. Default ground: level.

    Returns
    -------
    (...) array
        In radians.

    Examples
    --------
    >>> np.degrees(sole_angle([[0, 1, 0], [0, 1, 1]])).round(6)
    array([ 0., 45.])
    """
    return geometry.angle(arguments.vectors("soles", soles), arguments.vectors("ground", ground))


def rests(points: ArrayLike, heights: ArrayLike, *, fps: float) -> Mask:
    """Frames in which a foot seems to stand, independent of detected contacts.

    One of its points is lower than 0.05 m, and slower than 0.3 m/s along the ground into or out of the frame.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Points of its sole.
    heights : (frames, points) array_like
        Their heights above the ground; NaN where there is none.
    fps : float
        Frames per second.

    Returns
    -------
    (frames,) array of bool

    Examples
    --------
    >>> points = np.array([0, 0, 1, 1])[:, np.newaxis, np.newaxis] * [1.0, 0, 0]
    >>> rests(points, [[0], [0.01], [0.2], [0]], fps=30)
    array([ True,  True, False,  True])
    """
    fast, low = arguments.speeds(points, fps), arguments.above(heights) < NEAR
    slow = np.ones((len(fast) + 1, fast.shape[1]), bool)
    if len(fast):
        slow[1:], slow[0] = fast < _SLOW, False
        slow[:-1] |= fast < _SLOW
    return np.asarray((slow & arguments.spread("heights", low, slow.shape)).any(axis=1))


def undetected_contacts(points: ArrayLike, heights: ArrayLike, contact: ArrayLike, *, fps: float) -> Mask:
    """Frames in which a foot seems to stand although no contact was detected.

    It `rests` for 0.1 s or more (the shortest contact), at least 0.2 s away from detected contacts, because an arriving
    or leaving foot is also low and slow.

    Parameters
    ----------
    points, heights, fps
        As of `rests`.
    contact : (frames,) array_like of bool
        Frames in which a contact of any point was detected.

    Returns
    -------
    (frames,) array of bool

    Examples
    --------
    A foot that stands for a second, of which the first 0.3 s were detected:

    >>> runs(undetected_contacts(np.zeros((10, 1, 3)), np.zeros((10, 1)), np.arange(10) < 3, fps=10))
    array([[ 5, 10]])
    """
    held, found = mask_of("contact", contact, 1), rests(points, heights, fps=fps)
    arguments.same("contact", held.shape, found.shape)
    least, near = (math.ceil(time * arguments.rate(fps) - 1e-6) for time in (_BRIEF, _ROLLS))  # rounding
    for start, stop in runs(held).tolist():
        found[max(start - near, 0) : stop + near] = False
    for start, stop in runs(found).tolist():
        found[start:stop] = stop - start >= least
    return found


def off_ground(heights: ArrayLike, source: ArrayLike) -> Array:
    """How much farther the lowest point of a sole is from its ground than in the source, above it or in it.

    Use it for frames in which the source seems to stand without a detected contact (`undetected_contacts`).

    Parameters
    ----------
    heights, source : (..., points) array_like
        Heights of sole points above the ground, in the result and in the source. NaN where there is no ground.

    Returns
    -------
    (...) array
        In metres; infinite if the result has no ground, 0 if the source has none.

    Examples
    --------
    >>> off_ground([[-0.4, -0.3], [0.02, 0.1], [np.nan, np.nan]], [[0.0, 0.1], [0.01, 0.0], [0.0, 0.0]]).round(6)
    array([0.4 , 0.02,  inf])
    """
    now, was = arguments.lowest(heights), arguments.lowest(source)
    farther = np.isfinite(was) & (np.abs(now) > np.abs(was))
    return np.where(farther, np.abs(now - np.where(farther, was, 0)), 0.0)


def lift_lost(heights: ArrayLike, source: ArrayLike, contact: ArrayLike) -> Array:
    """How much lower a foot is lifted than in the source, for each swing.

    Parameters
    ----------
    heights, source : (frames,) array_like
        Heights of a point of the foot above its ground, in the result and in the source.
    contact : (frames,) array_like of bool
        Frames in which it is in contact. A swing lies between two contacts.

    Returns
    -------
    (n,) array
        Shares of the greatest height in the source: 0 as high, 1 not lifted at all, negative higher.

    Examples
    --------
    >>> lift_lost([0, 0.03, 0.06, 0], [0, 0.05, 0.08, 0], [True, False, False, True]).round(6)
    array([0.25])
    """
    now, was = rows("heights", heights, arguments.DOUBLE), rows("source", source, arguments.DOUBLE)
    arguments.same("source", was.shape, now.shape)
    peaks = [(now[start:stop].max(), was[start:stop].max()) for start, stop in runs(~mask_of("contact", contact, 1))]
    return np.array([1 - result / lift for result, lift in peaks if 0 < lift < np.inf], arguments.DOUBLE)
