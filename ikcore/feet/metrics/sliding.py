"""How much planted feet slide and turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore.contacts.intervals import core, mask_of
from ikcore.feet.metrics import arguments, geometry
from ikcore.feet.metrics.geometry import UP

Array = NDArray[np.float64]


def drift(points: ArrayLike, stances: ArrayLike, *, fps: float, normals: ArrayLike = UP) -> Array:
    """How far a planted foot slides: the largest distance along the ground between two frames of a stance.

    It is the main measure of this module. Each stance is judged by its core, without 10 % and 1/30 s at each end, in
    which feet arrive and leave. A plant is a constraint on a point: L. Kovar, J. Schreiner and M. Gleicher, "Footskate
    cleanup for motion capture editing", 2002.

    Parameters
    ----------
    points : (frames, 3) or (frames, points, 3) array_like
        A point of the foot; or several, such as heel, ball and toe, of which the stillest one counts in each stance.
    stances : (n, 2) array_like of int
        Its contacts, from `runs`.
    fps : float
        Frames per second.
    normals : (frames, 3) or (3,) array_like, optional
        Normals of the ground at the foot. Each stance uses that of its middle frame.

    Returns
    -------
    (n,) array
        In metres.

    Examples
    --------
    A point that moves by a millimetre per frame, in contact for ten frames with a core of six:

    >>> points = np.arange(10)[:, np.newaxis] * [0.001, 0, 0]
    >>> drift(points, [(0, 10)], fps=30).round(6)
    array([0.005])
    """
    each = arguments.vectors("points", points)
    each = each[:, np.newaxis] if each.ndim == 2 else each
    upward = arguments.spread("normals", arguments.vectors("normals", normals), (len(each), 3))
    pairs, rate = arguments.intervals(stances, len(each)), arguments.rate(fps)
    if not pairs:
        return np.empty(0)
    frames = np.arange(len(each))
    cores = [frames[core(start, stop, rate)] for start, stop in pairs]
    lengths = [len(inner) for inner in cores]
    normal = np.repeat(upward[[(start + stop) // 2 for start, stop in pairs]], lengths, axis=0)
    level = [geometry.along_plane(of_point, normal) for of_point in each[np.concatenate(cores)].swapaxes(0, 1)]
    return np.asarray(np.min([_core.widest(points, np.cumsum(lengths)) for points in level], axis=0))


def heading_drift(headings: ArrayLike, stances: ArrayLike, *, fps: float) -> Array:
    """How far a planted foot turns about the vertical: the largest angle between two frames of the core of a stance.

    Parameters
    ----------
    headings : (frames, 3) array_like
        Direction of the foot, for example from heel to toe.
    stances : (n, 2) array_like of int
        Intervals in which it is flat, from `runs`. Their cores are those of `drift`.
    fps : float
        Frames per second.

    Returns
    -------
    (n,) array
        In radians.

    Examples
    --------
    >>> angle = np.linspace(0, 0.9, 10)
    >>> headings = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], axis=-1)
    >>> heading_drift(headings, [(0, 10)], fps=30).round(6)
    array([0.5])
    """
    x, _, z = np.moveaxis(arguments.vectors("headings", headings), -1, 0)
    angle, rate = np.unwrap(geometry.arc(x, z)), arguments.rate(fps)
    cores = [angle[core(start, stop, rate)] for start, stop in arguments.intervals(stances, len(angle))]
    return np.array([np.ptp(core) for core in cores], arguments.DOUBLE)


def skating_ratio(points: ArrayLike, contact: ArrayLike, *, fps: float, speed: float = 0.5) -> float:
    """The share of steps, from one frame to the next, in which a foot skates.

    A point skates in a step if it is in contact before and after, and faster than `speed` over the ground. It has to be
    faster both in this step and on average over the 1/4 s around it (before and after the clip it is at rest). K.
    Karunratanakul et al., "Guided motion diffusion", 2023, use ``heights < 0.05`` of the toe joints as `contact`. By
    height alone, swinging toes also count as contact, so a clean walk has a ratio above 0. Known contacts give 0.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Points of both feet.
    contact : (frames, points) array_like of bool
        Contacts of each point.
    fps : float
        Frames per second. The measure was published for 20, with 2.5 cm and 5 frames.
    speed : float, default: 0.5
        Metres per second, horizontally.

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
    fast = arguments.speeds(points, fps)
    held = arguments.spread("contact", mask_of("contact", contact, 2), (len(fast) + 1, fast.shape[1]))
    skates = held[1:] & held[:-1] & (fast > speed)
    if not skates.any():
        return 0.0
    skates &= _moving_mean(fast, int(arguments.rate(fps) / 8)) > speed
    return float(skates.any(axis=1).mean())


def _moving_mean(values: Array, half: int) -> Array:
    """The mean over so many rows before and after each row; rows beyond the ends are zero."""
    window = 2 * half + 1
    wide = np.zeros((len(values) + window, *values.shape[1:]))
    wide[half + 1 : half + 1 + len(values)] = values
    sums = np.cumsum(wide, axis=0)
    return np.asarray((sums[window:] - sums[:-window]) / window)


def skating_speed(points: ArrayLike, heights: ArrayLike, *, fps: float, height: float = 0.025) -> Array:
    """The mean horizontal speed of points near the ground: v (2 - 2^(h / H)), independent of detected contacts.

    This is the measure of H. Zhang et al., "Mode-adaptive neural networks for quadruped motion control", 2018. The
    whole speed counts on the ground, none of it at the height H and above. It is averaged over all steps, each with the
    height at its start.

    Parameters
    ----------
    points : (frames, points, 3) array_like
        Points of feet.
    heights : (frames, points) array_like
        Their heights above the ground; NaN where there is none.
    fps : float
        Frames per second.
    height : float, default: 0.025
        H in metres.

    Returns
    -------
    (points,) array
        In metres per second.

    Examples
    --------
    >>> points = np.arange(4)[:, np.newaxis, np.newaxis] * [0.01, 0, 0]
    >>> skating_speed(points, [[0], [0.025], [0.0125], [0]], fps=30).round(4)  # (1 + 0 + 2 - sqrt(2)) / 3 of 0.3
    array([0.1586])
    """
    fast = arguments.speeds(points, fps)
    above = arguments.spread("heights", arguments.above(heights), (len(fast) + 1, fast.shape[1]))
    return np.asarray((fast * (2 - np.exp2(np.clip(above[:-1] / height, 0, 1)))).sum(axis=0) / max(len(fast), 1))
