"""Differences of a result from its source, and of contacts from true ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import rows
from ikcore.contacts.intervals import Mask, mask_of
from ikcore.feet.metrics import arguments, geometry

Array = NDArray[np.float64]


def turn(result: ArrayLike, source: ArrayLike) -> Array:
    """Angles between rotations, for example of joints and those of the source; in swing they should be near 0.

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
    between = rotations.multiply(rotations.conjugate(rows("source", source, arguments.DOUBLE, 4)), result)
    return np.asarray(rotations.to_axis_angle(between)[1])


def deviation(result: ArrayLike, source: ArrayLike, *, level: bool = False) -> Array:
    """Distances of points from their positions in the source. The mean over all joints is known as MPJPE.

    Parameters
    ----------
    result, source : (..., 3) array_like
        Points.
    level : bool, default: False
        Whether to measure only horizontally, for example the path of the root.

    Returns
    -------
    (...) array
        Metres.

    Examples
    --------
    >>> deviation([3, 4, 4], [0, 0, 0], level=True)
    array(5.)
    """
    apart = arguments.vectors("result", result) - arguments.vectors("source", source)
    return geometry.length(apart[..., ::2] if level else apart)


def agreement(contact: ArrayLike, truth: ArrayLike) -> float:
    """Agreement of contacts with true ones: F1, the harmonic mean of precision and recall over frames.

    Parameters
    ----------
    contact, truth : (...) array_like of bool
        Detected and true contacts, in arrays of the same shape.

    Returns
    -------
    float
        From 0 to 1; also 1 if neither has a contact.

    Examples
    --------
    >>> round(agreement([True, True, False, False], [True, True, True, True]), 4)
    0.6667
    """
    found, true = mask_of("contact", contact), mask_of("truth", truth)
    either = int(found.sum() + true.sum())
    return 2 * int((found & true).sum()) / either if either else 1.0


def onset_error(contact: ArrayLike, truth: ArrayLike, *, fps: float) -> Array:
    """Time from each true start of a contact to the nearest start found. Pass negated arrays to compare ends.

    Parameters
    ----------
    contact, truth : (frames,) array_like of bool
        Frames in which a point is in contact. A contact in the first frame has no start.
    fps : float
        Frames per second.

    Returns
    -------
    (n,) array
        In seconds; infinite if no start was found.

    Examples
    --------
    >>> truth = np.array([False, True, True, True, False, False])
    >>> contact = np.array([False, False, True, True, True, False])
    >>> onset_error(contact, truth, fps=10), onset_error(~contact, ~truth, fps=10)
    (array([0.1]), array([0.1]))
    """
    found, true = (_onsets(mask_of(name, mask, 1)) for name, mask in (("contact", contact), ("truth", truth)))
    apart = np.abs(true[:, np.newaxis] - found).astype(arguments.DOUBLE)
    return np.asarray(apart.min(axis=1, initial=np.inf) / arguments.rate(fps))


def _onsets(mask: Mask) -> NDArray[np.intp]:
    return np.flatnonzero(mask[1:] & ~mask[:-1]) + 1
