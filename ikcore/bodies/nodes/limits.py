"""Rotations moved into the limits of their joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.limits.limit import Limit
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
SLACK = 1e-6  # radians outside that still count as inside while a share is searched
HALVINGS = 24  # of the interval of that share


def inside_limits(
    skeleton: Skeleton, turned: Array, came: Array, all_joints: bool = True
) -> tuple[Array, NDArray[np.bool_]]:
    """Rotations (N, joints, 4) that have changed, moved into their limits; and which items that changes.

    If `all_joints` is False, joints that came in outside their limit are left as they are.
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
        if not all_joints:
            outside &= limit.violation(rotations.multiply(back, came[:, joint])) == 0
        if outside.any():
            result = result.copy() if result is turned else result
            result[outside, joint] = rotations.multiply(rest, nearest)[outside]
            bound |= outside & (off > 1e-5)
    return result, bound


def toward(skeleton: Skeleton, came: Array, wanted: Array, joints: Iterable[int] | None = None) -> Array:
    """Rotations (N, joints, 4) as far on the way from those that came in as limits allow, for some joints or all.

    Unlike the nearest allowed rotations, these change continuously with the wanted ones, also far outside the limits.
    """
    result = np.array(wanted)
    for joint in range(len(skeleton)) if joints is None else joints:
        limit = skeleton.limits[joint]
        if limit is not None and limit.kind != "free":
            rest = skeleton.rest.rotations[joint].astype(wanted.dtype)
            result[:, joint] = _toward(limit, rest, came[:, joint], wanted[:, joint])
    return result


def _toward(limit: Limit, rest: Array, came: Array, wanted: Array) -> Array:
    """The same for one joint, by halving the interval of the share."""
    back = rotations.conjugate(rest)

    def is_inside(q: Array) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = limit.violation(rotations.multiply(back, q)) <= SLACK
        return inside

    out = ~is_inside(wanted) & (wanted != came).any(axis=-1)
    if not out.any():
        return wanted
    end, start = wanted[out], rotations.multiply(rest, limit.project(rotations.multiply(back, came[out])))
    low, high = np.zeros(len(end), end.dtype), np.ones(len(end), end.dtype)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = is_inside(rotations.slerp(start, end, middle))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    result = np.array(wanted)
    result[out] = rotations.slerp(start, end, low)
    return result


def is_limited(skeleton: Skeleton, joints: list[int]) -> bool:
    """True if a joint of these has a limit."""
    return any(limit is not None and limit.kind != "free" for limit in (skeleton.limits[joint] for joint in joints))
