"""Which way knees and elbows bend: hinges from the rest pose, or from a clip where the limb is straight at rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._joints import index_of
from ikcore.clips.clip import Clip
from ikcore.feet.names import words
from ikcore.limits.limit import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

# Names of the middle joints of two-bone limbs: a word of their name, or its end.
_KNEES = ("knee", "shin", "calf", "lowerleg", "tibia", "leg")
_ELBOWS = ("elbow", "forearm", "lowerarm", "radius", "lowarm")
_NOT = ("upleg", "upperleg", "thigh", "upper", "up", "twist", "roll", "ik", "pole", "target", "helper")

_BENT = math.radians(20)  # frames bent less do not say about which axis
_SPREAD = math.radians(45)  # axes that differ more on average are not of one hinge
_RANGE = math.radians(150)  # that a hinge bends, from straight


def hinges_from(
    skeleton: Skeleton, clip: Clip | None = None, joints: Iterable[str | int] | None = None
) -> dict[str, Limit]:
    """Limits by which knees and elbows bend about their own axis, and to one side only.

    The axis of a joint comes from its rest pose, where that is bent by 20 degrees or more. Otherwise it comes from
    the bent frames of a clip: the mean of upper bone x lower bone in the space of the upper. The weight of a frame is
    the sine of its bend. A joint whose axes differ by more than 45 degrees on average is refused.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton. Joints that have a limit are left out.
    clip : Clip, optional
        A motion of this skeleton, for limbs that are straight at rest.
    joints : iterable of str or int, optional
        The middle joints, each with a bone above and one below (default: those that are called knee, shin, calf, elbow,
        forearm and the like).

    Returns
    -------
    dict of str to Limit
        A hinge for every joint: from straight to 150 degrees. At rest it is at 0, so a joint that is bent at rest may
        straighten by that angle. A skeleton that has them is ``Skeleton(..., limits=...)``.

    Raises
    ------
    ValueError
        For a joint that is straight in the rest pose and in all frames, or that bends to all sides.

    Examples
    --------
    A leg that is straight at rest, and a clip in which it bends.

    >>> import numpy as np
    >>> import ikcore as ik
    >>> leg = ik.Skeleton([-1, 0, 1], [[0, 1, 0], [0, -0.5, 0], [0, -0.5, 0]], names=["hip", "knee", "ankle"])
    >>> bends = ik.rotations.from_axis_angle([1, 0, 0], np.linspace(0, 1.2, 20)[:, None] * [0, 1, 0])
    >>> limits = ik.bodies.hinges_from(leg, ik.Clip(leg, ik.Pose(bends), fps=30))
    >>> limits["knee"].project(ik.rotations.from_axis_angle([1, 0, 0], [-0.5, 0.5])).round(3)
    array([[1.   , 0.   , 0.   , 0.   ],
           [0.969, 0.247, 0.   , 0.   ]])
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    if clip is not None and clip.pose.joints != len(skeleton):
        raise ValueError(f"clip: expected {len(skeleton)} joints as the skeleton has, got {clip.pose.joints}")
    chosen = _middles(skeleton) if joints is None else [index_of(skeleton, joint, "joints") for joint in joints]
    return {
        skeleton.names[joint]: _hinge(skeleton, None if clip is None else clip.pose, joint)
        for joint in chosen
        if skeleton.limits[joint] is None
    }


def _middles(skeleton: Skeleton) -> list[int]:
    """The joints that are called so, with a bone above and one below."""
    found = [joint for joint, name in enumerate(skeleton.names) if _is_middle(words(name))]
    return [joint for joint in found if skeleton.parents[joint] >= 0 and skeleton.children(joint)]


def _is_middle(name: Sequence[str]) -> bool:
    """Whether the words of a name are those of a knee or an elbow: "LeftLeg" is one, "LeftUpLeg" is not."""
    joined = "".join(word for word in name if word not in ("l", "r", "left", "right") and not word.isdigit())
    if any(word in _NOT for word in name) or any(part in joined for part in _NOT[:3]):
        return False
    return joined.endswith(_KNEES + _ELBOWS)


def _hinge(skeleton: Skeleton, pose: Pose | None, joint: int) -> Limit:
    below = skeleton.offsets[list(skeleton.children(joint))]
    bones = skeleton.offsets[joint], below[np.argmax(np.linalg.norm(below, axis=-1))]
    axes, sines = _bends(bones, skeleton.rest.rotations[np.newaxis, joint])
    source = "at rest"
    if not len(axes) and pose is not None:
        axes, sines = _bends(bones, pose.rotations[:, joint])
        source = "in the clip"
    name = skeleton.names[joint]
    if not len(axes):
        where = "at rest" if pose is None else "at rest and in all frames of the clip"
        raise ValueError(
            f"joint {name!r}: expected to be bent by {math.degrees(_BENT):.0f} degrees somewhere, is straight {where}; "
            "give a clip in which it bends, or a Limit.hinge"
        )
    axis = _mean(axes, sines)
    spread = float(np.average(np.arccos(np.clip(axes @ axis, -1, 1)), weights=sines))
    if spread > _SPREAD:
        raise ValueError(
            f"joint {name!r}: expected one axis, bends about axes that are {math.degrees(spread):.0f} degrees apart "
            f"{source}; it is no hinge, or the clip is noisy: give a Limit.hinge"
        )
    return _from_straight(bones, skeleton.rest.rotations[joint], axis)


def _bends(
    bones: tuple[NDArray[np.float64], NDArray[np.float64]], turned: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Axes (frames, 3) in the space of the upper bone, and the sines of how far it is bent; of frames that are."""
    upper = bones[0] / np.linalg.norm(bones[0])
    lower = rotations.rotate(turned.astype(float), bones[1] / np.linalg.norm(bones[1]))
    across = np.cross(upper, lower)
    sines = np.linalg.norm(across, axis=-1)
    bent = np.arctan2(sines, lower @ upper)
    used = (bent > _BENT) & (sines > math.sin(_BENT) / 2)
    return across[used] / sines[used, np.newaxis], sines[used]


def _mean(axes: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = weights @ axes
    length = float(np.linalg.norm(total))
    return axes[0] if length < 1e-9 else total / length


def _from_straight(
    bones: tuple[NDArray[np.float64], NDArray[np.float64]], rest: NDArray[np.float64], axis: NDArray[np.float64]
) -> Limit:
    """The hinge in the space of the joint at rest. Its angle is 0 there, and less where the limb is straighter."""
    lower, upper = rotations.rotate(rest, bones[1]), bones[0]
    upper, lower = (bone - (bone @ axis) * axis for bone in (upper, lower))
    bend = math.atan2(float(np.cross(upper, lower) @ axis), float(upper @ lower))
    own = rotations.rotate(rotations.conjugate(rest), axis)
    return Limit.hinge(own, -bend, max(_RANGE - bend, 0.0))
