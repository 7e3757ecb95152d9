"""Rotations of joints in the world, as local rotations of a pose; and checks of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore.skeleton import Skeleton, World

Array = NDArray[Any]


def unit_share(node: Any, *names: str) -> None:
    """Refuse parameters that are not between 0 and 1."""
    for name in names:
        value = getattr(node, name)
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: expected a share from 0 to 1, got {value!r}")


def local_of(skeleton: Skeleton, world: World, joint: int, rotation: Array) -> Array:
    """The local rotation of a joint that has this world rotation."""
    parent = int(skeleton.parents[joint])
    if parent < 0:
        return rotation
    return rotations.multiply(rotations.conjugate(world.rotations[..., parent, :]), rotation)


def turned_by(skeleton: Skeleton, world: World, local: Array, joints: list[int], deltas: Array) -> Array:
    """Local rotations (N, joints, 4) after world rotations (N, n, 4) of joints, as closed forms return them."""
    turned = np.array(local)
    for at, joint in enumerate(joints):
        delta, parent = deltas[:, at], int(skeleton.parents[joint])
        if parent >= 0:
            outer = world.rotations[:, parent]
            delta = rotations.multiply(rotations.conjugate(outer), rotations.multiply(delta, outer))
        turned[:, joint] = rotations.multiply(delta, local[:, joint])
    return turned


def angle_between(a: Array, b: Array) -> Array:
    """The angle of the rotation from one to the other, in radians."""
    between = rotations.multiply(rotations.normalize(b), rotations.conjugate(rotations.normalize(a)))
    found: Array = size(rotations.log(rotations.canonical(between)))
    return found


def direction_angle(a: Array, b: Array) -> Array:
    """The angle between two directions, in radians."""
    found: Array = size(rotations.log(rotations.shortest_arc(a, b)))
    return found


def identities(count: int, dtype: np.dtype[Any]) -> Array:
    """Identity rotations."""
    made = np.zeros((count, 4), dtype)
    made[:, 0] = 1
    return made
