"""Effort: torques by which joints hold a body still against gravity, and their share of joint strength."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._joints import ancestors, check_unscaled
from ikcore._record import record
from ikcore.bodies.balance import centre_of_mass, flat, hull_plane, margin_of, support_points
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]

_STIFF = 1e9  # a relative error of forces of 1 / this where a foot carries its edge only
_CLOSE = 1e-13  # share of the weight by which forces may miss it
_ROUNDS = 60  # of Newton's method for forces; 3 to 10 are usual
_HALVES = 12  # of one step


@record
class StaticEffort:
    """Torques that hold a body still.

    Attributes
    ----------
    torques : (..., joints, 3) array
        The torque of every joint on the joints below it, in world axes. At the root it is the external torque that is
        needed. NaN off balance, because no torques can hold the body.
    shares : (..., joints) array
        Torques divided by strengths. NaN without a strength.
    forces : (..., points) array
        The upward force at every point of support.
    """

    torques: Array
    shares: Array
    forces: Array

    @property
    def total(self) -> Any:
        """Half the sum of squares of the shares: the effort of a pose."""
        return np.nansum(self.shares**2, axis=-1) / 2


def effort(
    skeleton: Skeleton,
    pose: Pose,
    strengths: Mapping[Any, float],
    support: Mapping[Any, ArrayLike] | None = None,
    *,
    gravity: ArrayLike = (0, -9.81, 0),
    loads: Mapping[Any, float] | None = None,
) -> StaticEffort:
    """Static torques of all joints against gravity, relative to strength.

    Vertical forces at the points of support carry the weight. They hold the body still, only push, and have the least
    sum of squares. Without a support the root carries the whole weight.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton with masses.
    pose : Pose
        One or many, without scales.
    strengths : mapping
        By joint, the largest torque. `strengths` has those of a person.
    support : mapping, optional
        By joint, points in its space. `soles` has those of a person.
    gravity : (3,) array_like
        Its acceleration, in lengths per second squared.
    loads : mapping, optional
        Additional masses by joint, such as a load in a hand.

    Examples
    --------
    A mass of 2 kg on an arm of 0.5 m, stretched out.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [0.5, 0, 0]], names=["elbow", "hand"])
    >>> arm = ik.Skeleton(arm.parents, arm.offsets, names=arm.names, masses=[0, 2])
    >>> found = ik.bodies.effort(arm, arm.rest, {"elbow": 70})
    >>> print(found.torques[0].round(2) + 0, found.shares[0].round(2))
    [0.   0.   9.81] 0.14
    """
    check_unscaled(skeleton, pose)
    weighted = _with_loads(skeleton, loads or {})
    pull = np.asarray(gravity, float)
    if pull.shape != (3,) or not np.isfinite(pull).all() or not pull.any():
        raise ValueError(f"gravity: expected an acceleration, three numbers not all 0, got {gravity!r}")
    world, masses = skeleton.forward(pose), weighted.masses
    places = world.positions.astype(float) + rotations.rotate(world.rotations.astype(float), weighted.centres)
    acting = masses[:, np.newaxis] * pull
    forces = np.broadcast_to(acting, places.shape).copy()
    moments = np.cross(places, acting)
    pushes = np.zeros((*pose.shape, 0))
    if support is not None:
        up = -pull / np.linalg.norm(pull)
        points = support_points(skeleton, pose, support).astype(float)
        centre = centre_of_mass(weighted, pose).astype(float)
        pushes = masses.sum() * np.linalg.norm(pull) * _shares(centre, points, up)
        at = [skeleton.index(joint) for joint, given in support.items() for _ in np.reshape(given, (-1, 3))]
        for point, joint in enumerate(at):
            push = pushes[..., point, np.newaxis] * up
            forces[..., joint, :] += push
            moments[..., joint, :] += np.cross(points[..., point, :], push)
    for joint in sorted(range(len(skeleton)), key=lambda joint: -len(ancestors(skeleton, joint))):
        if (parent := int(skeleton.parents[joint])) >= 0:
            forces[..., parent, :] += forces[..., joint, :]
            moments[..., parent, :] += moments[..., joint, :]
    torques = np.cross(world.positions, forces) - moments
    shares = np.linalg.norm(torques, axis=-1) / _strengths(skeleton, strengths)
    return StaticEffort(torques, shares, pushes)


def _with_loads(skeleton: Skeleton, loads: Mapping[Any, float]) -> Skeleton:
    """The skeleton with other masses and centres: each load hangs at its joint."""
    masses, centres = skeleton.masses.copy(), skeleton.centres.copy()
    for joint, load in loads.items():
        if not (np.isfinite(load) and load >= 0):
            raise ValueError(f"loads[{joint!r}]: expected a mass, 0 or more, got {load!r}")
        if load > 0:
            at = skeleton.index(joint)
            centres[at] *= masses[at] / (masses[at] + load)
            masses[at] += load
    if not masses.sum() > 0:
        raise ValueError("skeleton: no joint weighs anything; use `with_masses` or Skeleton(masses=)")
    return Skeleton(skeleton.parents, skeleton.offsets, skeleton.rest.rotations, masses=masses, centres=centres)


def _strengths(skeleton: Skeleton, strengths: Mapping[Any, float]) -> NDArray[np.float64]:
    found = np.full(len(skeleton), np.nan)
    for joint, strength in strengths.items():
        if not (np.isfinite(strength) and strength > 0):
            raise ValueError(f"strengths[{joint!r}]: expected a torque above 0, got {strength!r}")
        found[skeleton.index(joint)] = strength
    return found


def _shares(centre: Array, points: Array, up: NDArray[np.float64]) -> Array:
    """Shares of the weight at every point; NaN off balance.

    Least squares of the shares f >= 0 with A f = b, A with a row of ones and two of places. Their dual is solved by
    Newton's method with halved steps: f = max(0, A'm) and m / stiffness + A f = b.
    """
    plane = hull_plane(up)
    at, corners = flat(centre, plane), flat(points, plane)
    middle = corners.mean(-2, keepdims=True)
    size = np.abs(corners - middle).max((-2, -1), keepdims=True)
    size = np.where(size > 0, size, 1)
    ones = np.ones((*corners.shape[:-1], 1))
    a = np.concatenate([ones, (corners - middle) / size], axis=-1)  # (..., n, 3): A'
    b = np.concatenate([ones[..., 0, :], (at - middle[..., 0, :]) / size[..., 0, :]], axis=-1)
    m = np.zeros_like(b)
    for _ in range(_ROUNDS):
        f = np.maximum(0, (a @ m[..., np.newaxis])[..., 0])
        off = b - m / _STIFF - (np.swapaxes(a, -1, -2) @ f[..., np.newaxis])[..., 0]
        moving = np.abs(off).max(-1, keepdims=True) > _CLOSE  # each item by itself, so that batches do not matter
        if not np.any(moving):
            break
        pushes = (f > 0) | ~np.any(f > 0, axis=-1, keepdims=True)
        slope = np.swapaxes(a * pushes[..., np.newaxis], -1, -2) @ a + np.eye(3) / _STIFF
        step = np.linalg.solve(slope, off[..., np.newaxis])[..., 0]
        m = np.where(moving, _best_step(a, b, m, step), m)
    f = np.maximum(0, (a @ m[..., np.newaxis])[..., 0])
    balanced = margin_of(centre, points, up) > 0
    return np.where(np.asarray(balanced)[..., np.newaxis], f, np.nan)


def _best_step(a: Array, b: Array, m: Array, step: Array) -> Array:
    """The point of least cost along a step: whole, a half, a quarter and so on, for each item."""

    def cost(m: Array) -> Array:
        f = np.maximum(0, (a @ m[..., np.newaxis])[..., 0])
        return np.asarray(np.sum(f**2, axis=-1) / 2 + np.sum(m**2, axis=-1) / (2 * _STIFF) - np.sum(b * m, axis=-1))

    best, least = m, cost(m)
    for half in range(_HALVES):
        tried = m + 0.5**half * step
        costs = cost(tried)
        better = costs < least
        best, least = np.where(better[..., np.newaxis], tried, best), np.minimum(costs, least)
    return best
