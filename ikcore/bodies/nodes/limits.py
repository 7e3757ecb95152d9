"""Rotations moved into the limits of their joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.skeleton import Skeleton

Array = NDArray[Any]


def inside_limits(
    skeleton: Skeleton, turned: Array, came: Array, all_joints: NDArray[np.bool_] | bool = True
) -> tuple[Array, NDArray[np.bool_]]:
    """Rotations (N, joints, 4) that have changed, moved into their limits; and which items that changes.

    Where `all_joints` is False, joints that came in outside their limit are left as they are.
    """
    bound = np.zeros(len(turned), bool)
    moved = (turned != came).any(axis=-1)
    result = turned
    for joint, limit in enumerate(skeleton.limits):
        if limit is None or limit.kind == "free" or not moved[:, joint].any():
            continue
        rest = skeleton.rest.rotations[joint].astype(turned.dtype)
        back = rotations.conjugate(rest)
        relative = rotations.multiply(back, turned[:, joint])
        nearest, off = limit._project(relative)
        outside = moved[:, joint] & (off > 0)
        if not np.all(all_joints):
            outside &= all_joints | (limit.violation(rotations.multiply(back, came[:, joint])) == 0)
        if outside.any():
            result = result.copy() if result is turned else result
            result[outside, joint] = rotations.multiply(rest, nearest)[outside]
            bound |= outside & (off > 1e-5)
    return result, bound


def is_limited(skeleton: Skeleton, joints: list[int]) -> bool:
    """True if a joint of these has a limit."""
    return any(limit is not None and limit.kind != "free" for limit in (skeleton.limits[joint] for joint in joints))
