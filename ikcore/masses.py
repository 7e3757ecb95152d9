"""Masses in motion: the momentum matrix of a skeleton, and stiffness of joints from their strength."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import rows
from ikcore._joints import ancestors, check_unscaled
from ikcore.limits.limit import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


def momentum(
    skeleton: Skeleton, pose: Pose, inertias: ArrayLike | None = None, *, workers: int | None = 1
) -> NDArray[Any]:
    """Return the centroidal momentum matrix: the momentum of all masses per velocity of each joint.

    Multiplied by joint velocities it gives the momentum of all masses and the angular momentum about their centre. Its
    first three rows divided by the total mass are the Jacobian of the centre of mass. These rows times the acceleration
    of gravity give the joint torques that carry the weight.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton with its `masses` at their `centres`. Its limits are ignored.
    pose : Pose
        One or many, without scales. The result has its type, float32 or float64.
    inertias : (joints, 3, 3) array_like, optional
        The inertia of every mass about its own centre, in the axes of its joint (default: that of the skeleton).
    workers : int or None, optional
        Number of threads, None for all cores. The result is the same to the bit.

    Returns
    -------
    (..., 6, 6 * joints) array
        Rows: momentum, then angular momentum about the centre of mass. Columns: for every joint its rotation about the
        world axes x, y, z in radians, as in `jacobian`; then for every joint its translation along these axes.

    Examples
    --------
    >>> import ikcore as ik
    >>> rod = ik.Skeleton.chain([[0, 0, 0], [2, 0, 0]])
    >>> rod = ik.Skeleton(rod.parents, rod.offsets, masses=[1, 3])
    >>> H = ik.masses.momentum(rod, rod.rest)
    >>> H.shape
    (6, 12)
    >>> # about z at the first joint: 3 kg go along y by 2 m/s; both turn about what is between them
    >>> H[:, 2] + 0
    array([0., 6., 0., 0., 0., 3.])
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    check_unscaled(skeleton, pose)
    whole = float(skeleton.masses.sum())
    if not whole > 0:
        raise ValueError("skeleton: no joint weighs anything, so there is no centre of mass: Skeleton(masses=)")
    count, dtype, world = len(skeleton), pose.dtype, skeleton.forward(pose, workers=workers)
    masses = skeleton.masses.astype(dtype)[:, np.newaxis]
    places = world.positions + rotations.rotate(world.rotations, skeleton.centres.astype(dtype))
    centre = np.sum(masses * places, axis=-2, keepdims=True) / dtype.type(whole)
    own = _own_inertias(world.rotations, skeleton.inertias if inertias is None else inertias)
    off, arm = places - centre, centre - world.positions
    carried = _subtree_sums(skeleton, masses, -2)
    moment = _subtree_sums(skeleton, masses * off, -2)
    turning = _subtree_sums(
        skeleton, own + masses[..., np.newaxis] * _momentum_matrix(off, off), -3
    ) + _momentum_matrix(moment, arm)
    found = np.zeros((*pose.shape, 6, 2, count, 3), dtype)
    found[..., :3, 0, :, :] = np.moveaxis(-_cross_matrices(moment + carried * arm), -3, -2)
    found[..., 3:, 0, :, :] = np.moveaxis(turning, -3, -2)
    found[..., :3, 1, :, :] = np.moveaxis(carried[..., np.newaxis] * np.eye(3, dtype=dtype), 0, 1)
    found[..., 3:, 1, :, :] = np.moveaxis(_cross_matrices(moment), -3, -2)
    return found.reshape(*pose.shape, 6, 6 * count)


def _own_inertias(turned: NDArray[Any], inertias: ArrayLike) -> NDArray[Any]:
    """Inertias in world axes."""
    count = turned.shape[-2]
    given = rows("inertias", inertias, turned.dtype, 3, 3)
    if given.shape != (count, 3, 3):
        raise ValueError(f"inertias: expected shape {(count, 3, 3)}, one for each joint, got {given.shape}")
    turned = turned[..., np.newaxis, :]
    return rotations.rotate(turned, np.swapaxes(rotations.rotate(turned, given), -1, -2))


def _subtree_sums(skeleton: Skeleton, values: NDArray[Any], joints: int) -> NDArray[Any]:
    """The sum over each joint and its descendants, along this axis, in a fixed order so that bits are reproducible."""
    total = np.moveaxis(values, joints, 0).copy()
    for joint in sorted(range(len(skeleton)), key=lambda joint: len(ancestors(skeleton, joint)), reverse=True):
        if (parent := skeleton.parents[joint]) >= 0:
            total[parent] += total[joint]
    return np.moveaxis(total, 0, joints)


def _cross_matrices(v: NDArray[Any]) -> NDArray[Any]:
    """The cross product matrices of vectors: v x."""
    made = np.zeros((*v.shape, 3), v.dtype)
    made[..., 0, 1], made[..., 0, 2], made[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return np.asarray(made - np.swapaxes(made, -1, -2))


def _momentum_matrix(r: NDArray[Any], s: NDArray[Any]) -> NDArray[Any]:
    """The matrix that takes w to the angular momentum r x (w x s)."""
    dot = np.sum(r * s, axis=-1)[..., np.newaxis, np.newaxis]
    return np.asarray(dot * np.eye(3, dtype=r.dtype) - s[..., np.newaxis] * r[..., np.newaxis, :])


_LEAST = 0.05  # 1 - stiffness of the weakest joint; the strongest has 1


def as_strong(skeleton: Skeleton, strengths: Mapping[Any, ArrayLike]) -> Skeleton:
    """Return the skeleton with joint stiffness from joint strength, for methods that take stiffness.

    The stiffness about an axis of a limit is 1 - strength / greatest strength, at most 0.95. Strong joints move first.
    For a tired joint give its remaining strength.

    Parameters
    ----------
    skeleton : Skeleton
    strengths : mapping
        By name or index of a joint, its greatest torque in any unit: one number, or three about the axes of its limit.
        Other joints keep their stiffness.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [3, 0, 0], [5, 0, 0], [6, 0, 0]])
    >>> strong = ik.masses.as_strong(arm, {0: 80, 1: [70, 50, 50], 2: 12})
    >>> [
    ...     tuple(round(s, 3) for s in limit.stiffness) if limit else None
    ...     for limit in strong.limits
    ... ]
    [(0.0, 0.0, 0.0), (0.125, 0.375, 0.375), (0.85, 0.85, 0.85), None]
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    if not isinstance(strengths, Mapping):
        raise TypeError(f"strengths: expected a mapping by names or indices of joints, got {type(strengths).__name__}")
    given = {skeleton.index(joint): _strength(joint, value) for joint, value in strengths.items()}
    if len(given) < len(strengths):
        raise ValueError(f"strengths: expected every joint once, by name or by index, got {list(strengths)}")
    most = max((float(value.max()) for value in given.values()), default=1.0)
    limits = list(skeleton.limits)
    for joint, value in given.items():
        stiffness = 1 - np.maximum(value / most, _LEAST)
        limits[joint] = replace(limits[joint] or Limit.free(), stiffness=tuple(stiffness.tolist()))
    return skeleton._with_limits(limits)


def _strength(joint: Any, value: ArrayLike) -> NDArray[np.float64]:
    try:
        strength = np.asarray(value, float)
    except (TypeError, ValueError):
        strength = np.full(0, np.nan)
    if strength.shape not in ((), (3,)) or not np.all(np.isfinite(strength) & (strength > 0)):
        raise ValueError(f"strengths: expected one number or three, more than 0, for {joint!r}, got {value!r}")
    return np.broadcast_to(strength, 3)


__all__ = ["as_strong", "momentum"]


def __dir__() -> list[str]:
    return __all__
