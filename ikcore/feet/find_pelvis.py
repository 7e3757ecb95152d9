"""The joint that moves with the body: the pelvis, or what stands for it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ikcore._arrays import dot
from ikcore.clips.clip import Clip
from ikcore.feet import free_feet
from ikcore.feet.leg import Leg, ancestors

_PELVIS = 0.35  # of the length of a leg: joints that are nearer to the hips are still the pelvis


def pelvis_of(clip: Clip, feet: Iterable[Leg], size: float, chosen: str | None) -> int:
    """The joint that carries all legs, if none is chosen: as far up as joints are about the hips, and can be moved."""
    skeleton, feet = clip.skeleton, list(feet)
    hips = [skeleton.index(leg.hip) for leg in feet if leg.hip is not None]
    if not hips:
        return _beside(clip, feet, chosen)
    above = [ancestors(skeleton, hip) for hip in hips]
    shared = [joint for joint in above[0] if all(joint in other for other in above[1:])]
    if not shared:
        raise ValueError("the legs have no joint in common, so there is no pelvis to move: parent the hips to one")
    if chosen is not None:
        if (joint := skeleton.index(chosen)) not in shared:
            raise ValueError(f"pelvis: {chosen!r} does not carry all legs, as {skeleton.names[shared[0]]!r} does")
        return joint
    at = skeleton.forward(skeleton.rest).positions
    middle, found = sum(at[hip] for hip in hips) / len(hips), shared[0]
    for joint in shared[1:]:
        away = at[joint] - middle
        if not _moves(clip, found) or np.sqrt(dot(away, away)) <= _PELVIS * size:
            found = joint
    return found


def _beside(clip: Clip, feet: list[Leg], chosen: str | None) -> int:
    """The joint that is moved as the pelvis if all feet are free."""
    skeleton, soles = clip.skeleton, {clip.skeleton.index(leg.foot) for leg in feet}
    joint = free_feet.body(skeleton, feet) if chosen is None else skeleton.index(chosen)
    if soles & {joint, *ancestors(skeleton, joint)}:
        raise ValueError(f"pelvis: {skeleton.names[joint]!r} is of a foot, no body to move: parent feet to a root")
    if chosen is not None:
        return joint
    return next((above for above in (joint, *ancestors(skeleton, joint)) if _moves(clip, above)), joint)


def _moves(clip: Clip, joint: int) -> bool:
    """Whether files can say where a joint is."""
    return clip.channels is None or {"x", "y", "z"} <= set(clip.channels[joint])
