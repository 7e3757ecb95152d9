"""The Jacobian of a joint's position and rotation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import rows
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


def jacobian(
    skeleton: Skeleton, pose: Pose, joint: str | int, offset: ArrayLike | None = None, *, workers: int | None = 1
) -> NDArray[Any]:
    """Derivative of the position and rotation of a joint, or of a point fixed to it, by the joint rotations.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton. Its limits do not matter.
    pose : Pose
        One pose or many. The result has its type, float32 or float64.
    joint : str or int
        The joint, by name or index.
    offset : (3,) array_like, optional
        The point, in the space of the joint (default: the joint).
    workers : int or None, optional
        Number of threads, None for all cores. The result is the same to the bit.

    Returns
    -------
    (..., 6, 3 * joints) array
        Three columns for every joint: its rotation about the x, y and z axis of the world, in radians. Each column is
        the velocity of the point, then the angular velocity of the joint. It is zero unless the column's joint is
        `joint` or above it. If joint j is a hinge about the world axis a, its one column is ``J[..., 3 * j : 3 * j + 3]
        @ a``.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    >>> J = ik.solvers.jacobian(arm, arm.rest, 2)
    >>> J.shape
    (6, 9)
    >>> # about z at the first joint: the end moves along y, twice as fast as it turns
    >>> J[:, 2] + 0
    array([0., 2., 0., 0., 0., 1.])
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    end = skeleton.index(joint)
    world = skeleton.forward(pose, workers=workers)
    point = world.positions[..., end, :]
    if offset is not None:
        at = rows("offset", offset, pose.dtype, 3)
        if at.ndim != 1:
            raise ValueError(f"offset: expected one point for all items, got shape {at.shape}")
        point = point + rotations.rotate(world.rotations[..., end, :], at)
    columns = np.zeros((*pose.shape, 6, len(skeleton), 3), pose.dtype)
    while end >= 0:
        x, y, z = np.moveaxis(point - world.positions[..., end, :], -1, 0)
        columns[..., 0, end, 1], columns[..., 0, end, 2] = z, -y
        columns[..., 1, end, 0], columns[..., 1, end, 2] = -z, x
        columns[..., 2, end, 0], columns[..., 2, end, 1] = y, -x
        columns[..., [3, 4, 5], end, [0, 1, 2]] = 1
        end = skeleton.parents[end]
    return columns.reshape(*pose.shape, 6, 3 * len(skeleton))
