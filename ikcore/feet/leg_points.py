"""The points of legs that a foot placer takes, from a pose or a clip."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]


def leg_points(skeleton: Skeleton, pose: Pose, feet: Feet) -> Array:
    """Points of legs for `FootPlacer.step`, from poses of a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
        The joints.

    pose : Pose
        One pose for every character, or the frames of a clip.

    feet : Feet
        Its legs: each with hip, one knee, an ankle, and the ball of its sole.

    Returns
    -------
    (..., legs, 5, 3) array
        Hip, knee, ankle, toe and heel: the ball of the sole is the toe; a sole without heel has the ball twice.

    Examples
    --------
    >>> import ikcore as ik
    >>> clip = ik.samples.walk(seconds=2).clip
    >>> ik.feet.leg_points(clip.skeleton, clip.pose, ik.Feet.detect(clip.skeleton)).shape
    (121, 2, 5, 3)
    """
    joints = [list(leg) for leg in legs_of(skeleton, feet)]
    places, soles = skeleton.forward(pose).positions, feet.positions(skeleton, pose)
    toes = [soles[leg.name, "ball"] for leg in feet]
    heels = [soles.get((leg.name, "heel"), toe) for leg, toe in zip(feet, toes, strict=True)]
    sole = np.stack([np.stack(toes, axis=-2), np.stack(heels, axis=-2)], axis=-2)
    return np.concatenate([places[..., joints, :], sole], axis=-2)


def legs_of(skeleton: Skeleton, feet: Feet) -> list[tuple[int, int, int]]:
    """Hip, knee and ankle of every leg."""

    def joints(leg: Leg) -> Iterator[int]:
        if leg.hip is None or len(leg.knees) != 1 or leg.ankle is None or "ball" not in leg.soles:
            raise ValueError(
                f"the leg {leg.name!r}: expected a hip, one knee, an ankle and the ball of a sole, got {leg}; "
                "call FootPlacer.step with points of your own"
            )
        return map(skeleton.index, (leg.hip, *leg.knees, leg.ankle))

    return [(hip, knee, ankle) for hip, knee, ankle in map(joints, feet)]


def landings_ahead(toes: ArrayLike, planted: ArrayLike, fps: float) -> tuple[Array, NDArray[np.float64]]:
    """Next landings of the feet in every frame of a clip: places and times.

    Parameters
    ----------
    toes : (frames, legs, 3) array_like
        Toes of a clip, as in `FootPlacer.step`.

    planted : (frames, legs) array_like of bool
        When they are in contact.

    fps : float
        Frames a second.

    Returns
    -------
    landings : (frames, legs, 3) array
        Place of the toe in the first frame of its next contact; NaN if there is none.

    times : (frames, legs) array
        Seconds until then.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> toes = np.linspace([[0, 0, 0]], [[0, 0, 0.4]], 5)  # one foot that moves by 0.1 m a frame
    >>> places, times = ik.feet.landings_ahead(toes, [[True], [False], [False], [True], [True]], fps=10)
    >>> places[:, 0, 2], times[:, 0]
    (array([0.3, 0.3, 0.3, nan, nan]), array([0.3, 0.2, 0.1, nan, nan]))
    """
    given, held = rows("toes", toes, np.dtype(np.float64), 3), np.asarray(planted, bool)
    if given.ndim != 3 or held.shape != given.shape[:-1]:
        raise ValueError(f"expected toes (frames, legs, 3) and a flag each, got {given.shape} and {held.shape}")
    if not 0 < fps < math.inf:
        raise ValueError(f"fps: expected a positive number, got {fps!r}")
    frames = len(given)
    lands = np.zeros_like(held)
    lands[1:] = held[1:] & ~held[:-1]
    number = np.where(lands, np.arange(frames)[:, np.newaxis], frames)
    after = np.full_like(number, frames)
    after[:-1] = np.minimum.accumulate(number[::-1], axis=0)[::-1][1:]
    known = after < frames
    places = np.take_along_axis(given, np.where(known, after, 0)[..., np.newaxis], axis=0)
    places[~known] = np.nan
    times = np.where(known, (after - np.arange(frames)[:, np.newaxis]) / fps, np.nan)
    return places, times
