"""How far a result is from its source, and contacts from those that are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import rows
from ikcore.feet.intervals import Mask, mask_of
from ikcore.feet.metrics import geometry, given

Array = NDArray[np.float64]


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
    between = rotations.multiply(rotations.conjugate(rows("source", source, given.DOUBLE, 4)), result)
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
    apart = given.vectors("result", result) - given.vectors("source", source)
    return geometry.length(apart[..., ::2] if level else apart)


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
    apart = np.abs(true[:, np.newaxis] - found).astype(given.DOUBLE)
    return np.asarray(apart.min(axis=1, initial=np.inf) / given.rate(fps))


def _onsets(mask: Mask) -> NDArray[np.intp]:
    return np.flatnonzero(mask[1:] & ~mask[:-1]) + 1
