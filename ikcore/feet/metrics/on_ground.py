"""How feet stand on the ground: how deep, how high over it, how askew; and when they do."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows
from ikcore.feet.intervals import Mask, core, mask_of, runs
from ikcore.feet.metrics import geometry, given
from ikcore.feet.metrics.geometry import UP

Array = NDArray[np.float64]

NEAR = 0.05  # metres, what is in contact by height alone
_SLOW = 0.3  # metres a second, what is so besides seems to stand
_BRIEF, _ROLLS = 0.1, 0.2  # seconds: what is shorter is no contact; and how long feet arrive before one, or leave


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
    return np.maximum(-given.lowest(heights), 0) + 0


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
    return np.maximum(given.lowest(heights), 0)


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
        found[core(start, stop, given.rate(fps))] = True
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
    now, was = rows("values", values, given.DOUBLE), rows("source", source, given.DOUBLE)
    with np.errstate(invalid="ignore"):  # infinite in both is as bad
        return np.where(np.isposinf(now) & np.isposinf(was), 0, np.maximum(now - was, 0) + 0)


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
    return geometry.angle(given.vectors("soles", soles), given.vectors("ground", ground))


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
    fast, low = given.speeds(points, fps), given.above(heights) < NEAR
    slow = np.ones((len(fast) + 1, fast.shape[1]), bool)
    if len(fast):
        slow[1:], slow[0] = fast < _SLOW, False
        slow[:-1] |= fast < _SLOW
    return np.asarray((slow & given.spread("heights", low, slow.shape)).any(axis=1))


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
    given.same("contact", held.shape, found.shape)
    least, near = (math.ceil(time * given.rate(fps) - 1e-6) for time in (_BRIEF, _ROLLS))  # rounding
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
    now, was = given.lowest(heights), given.lowest(source)
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
    now, was = rows("heights", heights, given.DOUBLE), rows("source", source, given.DOUBLE)
    given.same("source", was.shape, now.shape)
    peaks = [(now[start:stop].max(), was[start:stop].max()) for start, stop in runs(~mask_of("contact", contact, 1))]
    return np.array([1 - result / lift for result, lift in peaks if 0 < lift < np.inf], given.DOUBLE)
