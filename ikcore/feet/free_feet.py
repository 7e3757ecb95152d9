"""Feet without legs, as in rigs for games: an estimate of their leg length, and their pelvis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import size
from ikcore.clips.clip import Clip
from ikcore.feet.leg import Leg, ancestors
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

_SHARE = 0.5  # leg length over the size of the body, from head to toe or from hand to hand


def length(skeleton: Skeleton, leg: Leg, at: NDArray[Any]) -> float:
    """Estimated leg length of a free foot, with joints at (joints, 3); its ancestors may be anywhere."""
    foot = skeleton.index(leg.foot)
    places = np.delete(at, ancestors(skeleton, foot), axis=0)
    end = places[size(places - at[foot]).argmax()]
    return _SHARE * float(size(places - end).max())


def length_in(clip: Clip, leg: Leg) -> float:
    """`length` at rest, scaled to the size of the clip, so that standing and lying poses give the same length."""
    rest, scales = clip.skeleton.rest, clip.pose.scales
    pose = rest if scales is None else Pose(rest.rotations, rest.translations, scales.max(axis=0))
    return length(clip.skeleton, leg, np.asarray(clip.skeleton.forward(pose).positions, np.float64))


def hips(skeleton: Skeleton, legs: Iterable[Leg]) -> list[str]:
    """The joints whose middle is the body: the hips of the legs, or without legs the joint in their place."""
    legs = list(legs)
    return [leg.hip for leg in legs if leg.hip is not None] or [skeleton.names[body(skeleton, legs)]]


def body(skeleton: Skeleton, legs: Iterable[Leg]) -> int:
    """The pelvis of a skeleton: beside free feet the joint with most descendants, else the joint that carries the feet.

    If the feet have no parent, it is the first of them.
    """
    feet = [skeleton.index(leg.foot) for leg in legs]
    above = [[*ancestors(skeleton, foot), -1] for foot in feet]
    carriers = {joint for joints in above for joint in joints}
    carried = np.zeros(len(skeleton), int)
    for joint in range(len(skeleton)):
        carried[[joint, *ancestors(skeleton, joint)]] += 1
    beside = [joint for joint, parent in enumerate(skeleton.parents.tolist()) if parent in carriers]
    beside = sorted({*beside} - carriers - {*feet}, key=lambda joint: -carried[joint])
    if beside and (len(beside) == 1 or carried[beside[0]] > carried[beside[1]]):
        return beside[0]
    return next((joint for joint in above[0] if joint >= 0 and all(joint in other for other in above)), feet[0])
