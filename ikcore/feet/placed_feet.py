"""The results of a foot placer: rays to cast, and placed feet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations as quat
from ikcore._joints import ancestors as up_to_root
from ikcore.feet.detect import Feet
from ikcore.feet.leg_points import legs_of
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class FootRays:
    """The vertical rays of a frame; the leading axes are characters, legs and rays.

    Attributes
    ----------
    origins : (count, legs, rays, 3) array
        Start points of the rays, in world space.

    lengths : (count, legs, rays) array
        Lengths of the rays.

    chosen : (count, legs, rays) array of bool
        True if this frame needs the ray.

    direction : (3,) array
        Down.
    """

    origins: NDArray[np.float64]
    lengths: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    direction: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedFeet:
    """The pose of a frame. Positions are relative to the origins of the characters.

    Attributes
    ----------
    pelvis : (count, 3) array
        Offset of the pelvis and everything that it carries.

    lean : (count, 4) array
        World rotation for a joint above the pelvis, such as the spine.

    root_delta, mid_delta, foot_delta : (count, legs, 4) arrays
        World rotations of hip, knee and foot joint. The local rotation of a joint becomes W^-1 delta W local; W is the
        world rotation of its parent in the animation.

    hips, knees, ankles, toes : (count, legs, 3) arrays
        Positions afterwards.

    planted : (count, legs) array of bool
        True if the toe is held where it is.

    status : (count, legs) array of int32
        As of `two_bone`. `Status.NOT_FINITE` or `Status.NO_LENGTH`: the character cannot be used in this frame, its
        pose is the animation's, and its state has not changed.
    """

    pelvis: Array
    lean: Array
    root_delta: Array
    mid_delta: Array
    foot_delta: Array
    hips: Array
    knees: Array
    ankles: Array
    toes: Array
    planted: NDArray[np.bool_]
    status: NDArray[np.int32]

    def apply(self, skeleton: Skeleton, pose: Pose, feet: Feet, *, spine: str | None = None) -> Pose:
        """The pose on a skeleton.

        Parameters
        ----------
        skeleton, pose, feet
            The arguments of `leg_points`. The pose has an item for every character, or is a single one.

        spine : str, optional
            The joint that takes the lean.

        Returns
        -------
        Pose
            Legs, feet and the root have moved.
        """
        legs = legs_of(skeleton, feet)
        world = skeleton.forward(pose).rotations
        count = len(self.pelvis)
        turned = np.array(np.broadcast_to(pose.rotations, (count, *pose.rotations.shape[-2:])), dtype=np.float64)
        moved = skeleton.offsets if pose.translations is None else pose.translations
        moved = np.array(np.broadcast_to(moved, (count, len(skeleton), 3)), dtype=np.float64)
        world = np.broadcast_to(world, turned.shape)
        turns = [
            (joint, delta[:, k]) for k, leg in enumerate(legs) for joint, delta in zip(leg, self._deltas, strict=True)
        ]
        if spine is not None:
            turns.append((skeleton.index(spine), self.lean))
        for joint, delta in turns:
            parent = int(skeleton.parents[joint])
            if parent >= 0:
                delta = quat.multiply(quat.multiply(quat.conjugate(world[:, parent]), delta), world[:, parent])
            turned[:, joint] = quat.multiply(delta, turned[:, joint])
        root = up_to_root(skeleton, legs[0][0])[-1]
        moved[:, root] += self.pelvis
        shape = pose.shape or ()
        return Pose(turned.reshape(*shape, *turned.shape[-2:]), moved.reshape(*shape, *moved.shape[-2:]), pose.scales)

    @property
    def _deltas(self) -> tuple[Array, Array, Array]:
        return self.root_delta, self.mid_delta, self.foot_delta
