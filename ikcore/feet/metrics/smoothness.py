"""Smoothness of motion: derivatives over time, jerk, angular speed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows
from ikcore.feet.metrics import arguments, geometry
from ikcore.feet.metrics.fidelity import turn

Array = NDArray[np.float64]


def derivative(values: ArrayLike, order: int, *, fps: float) -> Array:
    """A difference quotient over 1/30 s, or over one frame if that is longer.

    At 120 frames per second, derivatives from frame to frame are mostly noise, and clips of different rates would not
    compare.

    Parameters
    ----------
    values : (frames, ...) array_like
        Values over time, for example `bends`.
    order : int
        1 for speeds, 2 for accelerations, 3 for jerks.
    fps : float
        Frames per second.

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
    found = rows("values", values, arguments.DOUBLE)
    span = max(1, round(arguments.rate(fps) / 30))
    for _ in range(order):
        found = found[span:] - found[:-span]
    return np.asarray(found * (fps / span) ** order)


def jerk(points: ArrayLike, *, fps: float) -> Array:
    """The jerk of points: the third `derivative`. Its mean over that of the source is the usual measure.

    Parameters
    ----------
    points : (frames, ..., 3) array_like
        Points over time, for example ankles, hips and pelvis.
    fps : float
        Frames per second.

    Returns
    -------
    (shorter, ...) array
        In metres per second cubed.

    Examples
    --------
    >>> seconds = np.arange(9) / 30
    >>> jerk(seconds[:, np.newaxis] ** 3 * [0, 0, 1], fps=30).round(6)
    array([6., 6., 6., 6., 6., 6.])
    """
    return geometry.length(derivative(arguments.vectors("points", points), 3, fps=fps))


def jerk_ratio(points: ArrayLike, *sources: ArrayLike, fps: float) -> float:
    """The mean `jerk` over that of the source, or of the source with most jerk.

    A pelvis that climbs where its source does not takes over some jerk of the feet: compare it with both the pelvis and
    the ankle of the source.

    Parameters
    ----------
    points : (frames, 3) array_like
        Points over time, for example the pelvis.
    *sources : (frames, 3) array_like
        The same point of the source, and others.
    fps : float
        Frames per second.

    Returns
    -------
    float
        NaN if no source has more jerk than the rounding of single precision, for example in a straight glide.

    Examples
    --------
    >>> cubes = np.arange(9)[:, np.newaxis] ** 3 * [0, 0, 1]
    >>> jerk_ratio(2 * cubes, cubes, fps=30), jerk_ratio(2 * cubes, cubes, 4 * cubes, fps=30)
    (2.0, 0.5)
    """
    most = max(_beyond_digits(source, fps) for source in sources)
    return arguments.mean(jerk(points, fps=fps)) / (most or math.nan)


def _beyond_digits(points: ArrayLike, fps: float) -> float:
    """The mean jerk; 0 if it is not more than the rounding of single precision over that distance."""
    way = np.asarray(points, np.float64)
    digits = float(np.finfo(np.float32).eps) * float(np.max(np.ptp(way, axis=0), initial=0.0)) if len(way) else 0.0
    found = arguments.mean(jerk(points, fps=fps))
    return found if found > digits * fps**3 else 0.0


def angular_speed(turned: ArrayLike, *, fps: float) -> Array:
    """The angular speed of joints, over 1/30 s as in `derivative`. The 99th percentile shows spikes.

    Parameters
    ----------
    turned : (frames, ..., 4) array_like
        Rotations.
    fps : float
        Frames per second.

    Returns
    -------
    (shorter, ...) array
        In radians per second.

    Examples
    --------
    >>> from ikcore import rotations
    >>> turned = rotations.from_axis_angle([0, 1, 0], np.arange(5) / 30)
    >>> angular_speed(turned, fps=30).round(6)
    array([1., 1., 1., 1.])
    """
    each = rows("turned", turned, arguments.DOUBLE, 4)
    span = max(1, round(arguments.rate(fps) / 30))
    return np.asarray(turn(each[span:], each[:-span]) * (fps / span))
