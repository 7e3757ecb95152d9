"""Balance: the support polygon of feet on the ground and the centre of mass over it, at rest and in motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import rows
from ikcore._joints import check_unscaled
from ikcore._record import record
from ikcore.bodies import anthropometry as measures
from ikcore.bodies.momentum import gravity_of, motion_of, up_of
from ikcore.bodies.roles import roles_of
from ikcore.clips.clip import Clip
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]

# The points that may stand on the ground: by joint its points in its own space, or points in the world.
Support = Mapping[Any, ArrayLike] | ArrayLike

_EPSILON = 1e-12  # of the size of the polygon squared: corners that are so nearly in line are in line
_PUSH = 1e-3  # share of the weight below which the ground does not push
_AT_ONCE = 1 << 21  # numbers of one block of poses


@record
class StaticBalance:
    """The centre of mass over its support, one value for each pose.

    Attributes
    ----------
    margin : (...) array
        Distance of the centre of mass, seen along `up`, from the edge of the support polygon: positive inside, negative
        outside. NaN if nothing supports it.
    centre : (..., 3) array
        The centre of mass.
    points : (..., points, 3) array
        The points that may support it, NaN where they do not.
    """

    margin: Array
    centre: Array
    points: Array

    @property
    def balanced(self) -> Any:
        """Poses whose centre of mass is over the polygon, an array of bool."""
        return self.margin >= 0


def balance(skeleton: Skeleton, pose: Pose, support: Support, *, up: ArrayLike = (0, 1, 0)) -> StaticBalance:
    """Static balance: how far inside its support polygon the centre of mass of a body is.

    The polygon is the convex hull of the points on the ground, seen along `up`; their heights do not matter. Two points
    make a line, one a point: nothing is inside these.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton with its `masses` at their `centres`.
    pose : Pose
        One or many, without scales.
    support : mapping or (..., points, 3) array_like
        The points that stand. They are given by joint and in its space, as `soles`. Or points in the world, with NaN
        for those that do not stand in a frame.
    up : (3,) array_like
        The direction against gravity.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.human()
    >>> soles = ik.bodies.soles(person)
    >>> float(ik.bodies.balance(person, person.rest, soles).margin.round(3))
    0.068
    >>> left = {joint: points for joint, points in soles.items() if "left" in joint}
    >>> float(ik.bodies.balance(person, person.rest, left).margin.round(3))
    -0.119
    """
    check_unscaled(skeleton, pose)
    points = support_points(skeleton, pose, support)
    centre = centre_of_mass(skeleton, pose)
    return StaticBalance(
        margin_of(centre, points, up), centre, np.broadcast_to(points, (*pose.shape, *points.shape[-2:]))
    )


@record
class MotionBalance:
    """Balance of a body that moves; one value for each frame.

    Attributes
    ----------
    zero_moment : (frames, 3) array
        The zero moment point, where the force of the ground acts. NaN in flight.
    zero_moment_margin : (frames,) array
        Distance of the zero moment point from the edge of the support polygon. Negative: feet tip over.
    capture : (frames, 3) array
        The capture point. A foot has to be there for the body to come to rest over it, as an inverted pendulum.
    capture_margin : (frames,) array
        Distance of the capture point from the edge. Negative: a step is needed.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.human()
    >>> still = ik.Clip(person, ik.Pose(np.tile(person.rest.rotations, (5, 1, 1))), fps=30)
    >>> ik.bodies.balance_in_motion(still, ik.bodies.soles(person)).zero_moment_margin.round(3)
    array([0.068, 0.068, 0.068, 0.068, 0.068])
    """

    zero_moment: Array
    zero_moment_margin: Array
    capture: Array
    capture_margin: Array


def balance_in_motion(clip: Clip, support: Support, *, height: float = 0.0) -> MotionBalance:
    """Zero moment point and capture point of a moving body, and their distances from the edge of its support.

    The capture point is the centre of mass on the ground plus its velocity times sqrt(height / gravity). The zero
    moment point follows from the whole momentum, that of turning as well. It uses second differences, so smooth noisy
    clips with `ik.smooth` first.

    Parameters
    ----------
    clip : Clip
        A clip of three frames or more, with masses. Gravity is 9.81 m/s^2 against its `up`, by its `unit`.
    support : mapping or (..., points, 3) array_like
        As in `balance`.
    height : float, default: 0
        The height of the ground, along up.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.human()
    >>> still = ik.Pose(np.tile(person.rest.rotations, (5, 1, 1)))
    >>> found = ik.bodies.balance_in_motion(ik.Clip(person, still, fps=30), ik.bodies.soles(person))
    >>> found.capture_margin.round(3)  # as that of `balance`
    array([0.068, 0.068, 0.068, 0.068, 0.068])
    """
    motion, up, gravity = motion_of(clip), up_of(clip), gravity_of(clip)
    points = support_points(clip.skeleton, clip.pose, support)
    over = motion.centre @ up - height
    on_ground = motion.centre - over[:, np.newaxis] * up
    along = motion.velocity - (motion.velocity @ up)[:, np.newaxis] * up
    capture = on_ground + np.sqrt(np.maximum(over, 0) / -(gravity @ up))[:, np.newaxis] * along
    spins = np.concatenate([motion.spin[:1], (motion.spin[1:] + motion.spin[:-1]) / 2, motion.spin[-1:]])
    force = motion.mass * (motion.acceleration - gravity)
    moment = np.cross(over[:, np.newaxis] * up, force) + np.gradient(spins, 1 / clip.fps, axis=0)
    push = force @ up
    push = np.where(push > _PUSH * motion.mass * -(gravity @ up), push, np.nan)
    zero = on_ground + np.cross(up, moment) / push[:, np.newaxis]
    return MotionBalance(zero, margin_of(zero, points, up), capture, margin_of(capture, points, up))


def support_polygon(points: ArrayLike, up: ArrayLike = (0, 1, 0)) -> NDArray[np.float64]:
    """The corners of the convex hull of points seen along `up`, in order: for `ik.Inside.polygon`, and to draw.

    Parameters
    ----------
    points : (points, 3) array_like
        The points that stand; those with NaN do not.
    up : (3,) array_like
        The direction against gravity.

    Returns
    -------
    (corners, 3) array
        Those of the points that are corners, counter-clockwise seen from above; no three in line.

    Examples
    --------
    >>> support_polygon([[0, 0, 0], [1, 0, 1], [1, 0, 0], [0.5, 0, 0.2], [0, 0, 1]]).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    at = rows("points", points, np.dtype(float), 3)
    if at.ndim != 2:
        raise ValueError(f"points: expected (points, 3), got shape {at.shape}")
    at = at[np.isfinite(at).all(-1)]
    seen = flat(at, hull_plane(unit_up(up)))
    least = _EPSILON * float(np.max(np.ptp(seen, axis=0) ** 2, initial=0))
    order = np.lexsort(seen.T[::-1]).tolist()
    halves = []
    for way in (order, order[::-1]):  # Andrew's monotone chains: the lower one, then the upper one
        half: list[int] = []
        for k in way:
            while len(half) > 1 and _cross(seen[half[-1]] - seen[half[-2]], seen[k] - seen[half[-1]]) <= least:
                half.pop()
            half.append(k)
        halves += half[:-1]
    return np.asarray(at[halves])


def soles(skeleton: Skeleton) -> dict[str, NDArray[np.float64]]:
    """The corners of a person's soles: heel and ball of each ankle, and the tips of its toes where these have a joint.

    Lengths and breadths are shares of the stature, which the legs give; feet point as they do at rest, on the ground.

    Parameters
    ----------
    skeleton : Skeleton
        A person with two arms and two legs, found by the names of their joints.

    Returns
    -------
    dict of str to array
        By joint, points in its own space.

    Examples
    --------
    >>> import ikcore as ik
    >>> {joint: len(points) for joint, points in ik.bodies.soles(ik.bodies.human()).items()}
    {'left ankle': 4, 'left toe': 2, 'right ankle': 4, 'right toe': 2}
    """
    roles, world = roles_of(skeleton), skeleton.forward(skeleton.rest)
    at = world.positions
    hips = np.mean([at[leg.hip] for leg in roles.legs.values()], axis=0)
    shoulders = np.mean([at[arm.shoulder] for arm in roles.arms.values()], axis=0)
    up = unit_up(shoulders - hips)
    ahead = np.cross(at[roles.legs["left"].hip] - at[roles.legs["right"].hip], up)
    found: dict[str, NDArray[np.float64]] = {}
    for leg in roles.legs.values():
        bones = np.linalg.norm(np.diff(at[[leg.hip, leg.knee, leg.ankle]], axis=0), axis=-1)
        stature = float(bones.sum()) / (measures.LENGTH["thigh"] + measures.LENGTH["shank"])
        front = ahead if leg.ball is None else at[leg.ball] - at[leg.ankle]
        front = front - (front @ up) * up
        front = stature * measures.LENGTH["foot"] / np.linalg.norm(front) * front
        side = stature * measures.BREADTH["foot"] / 2 / np.linalg.norm(front) * np.cross(up, front)
        heel = at[leg.ankle] - measures.ANKLE_FROM_HEEL * front - measures.HEIGHT["ankle"] * stature * up
        rows_of = [heel, heel + measures.BALL_FROM_HEEL * front, heel + front]
        corners = np.array([corner + half for corner in rows_of for half in (side, -side)])
        parts = {leg.ankle: corners} if leg.ball is None else {leg.ankle: corners[:4], leg.ball: corners[4:]}
        for joint, points in parts.items():
            inverse = rotations.conjugate(world.rotations[joint])
            found[skeleton.names[joint]] = rotations.rotate(inverse, points - at[joint])
    return found


def support_points(skeleton: Skeleton, pose: Pose, support: Support) -> Array:
    """The points of a support in the world, (..., points, 3)."""
    if not isinstance(support, Mapping):
        points = rows("support", support, pose.dtype, 3)
        if points.ndim < 2:
            raise ValueError(f"support: expected points (..., points, 3), got shape {points.shape}")
        return points
    world, found = skeleton.forward(pose), []
    for name, given in support.items():
        joint, offsets = skeleton.index(name), rows(f"support[{name!r}]", given, pose.dtype, 3)
        offsets = offsets.reshape(-1, 3)
        turned = rotations.rotate(world.rotations[..., joint, np.newaxis, :], offsets)
        found.append(world.positions[..., joint, np.newaxis, :] + turned)
    if not found:
        raise ValueError("support: expected a joint or more, got none")
    return np.concatenate(found, axis=-2)


def centre_of_mass(skeleton: Skeleton, pose: Pose) -> Array:
    """The centre of mass, (..., 3)."""
    whole = float(skeleton.masses.sum())
    if not whole > 0:
        raise ValueError("skeleton: no joint weighs anything, so there is no centre of mass: Skeleton(masses=)")
    world = skeleton.forward(pose)
    places = world.positions + rotations.rotate(world.rotations, skeleton.centres.astype(pose.dtype))
    shares = (skeleton.masses / whole).astype(pose.dtype)
    return np.asarray(np.sum(shares[:, np.newaxis] * places, axis=-2))


def unit_up(up: ArrayLike) -> NDArray[np.float64]:
    """The direction of unit length."""
    above = np.asarray(up, float)
    if above.shape != (3,) or not np.isfinite(above).all() or not above.any():
        raise ValueError(f"up: expected a direction, three numbers, got {up!r}")
    return np.asarray(above / np.linalg.norm(above))


def margin_of(places: ArrayLike, points: ArrayLike, up: ArrayLike) -> Array:
    """The distance of places (..., 3) from the edge of the hull of points (..., n, 3), seen along `up`; in blocks."""
    plane = hull_plane(unit_up(up))
    at, corners = flat(np.asarray(places), plane), flat(np.asarray(points), plane)
    shape = np.broadcast_shapes(at.shape[:-1], corners.shape[:-2])
    count = corners.shape[-2]
    at = np.broadcast_to(at, (*shape, 2)).reshape(-1, 2)
    corners = np.broadcast_to(corners, (*shape, count, 2)).reshape(-1, count, 2)
    margins, step = np.empty(len(at), at.dtype), max(1, _AT_ONCE // max(count, 1) ** 3)
    for start in range(0, len(at), step):
        block = slice(start, start + step)
        margins[block] = _margins(at[block], corners[block])
    return margins.reshape(shape)[()]


def hull_plane(up: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two axes across `up`, as columns; up is to the reader, so that the second is left of the first."""
    first = np.eye(3)[np.argmin(np.abs(up))]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first)]).T


def flat(points: Array, plane: NDArray[np.float64]) -> Array:
    """Points (..., 3) in the plane; without BLAS, whose bits depend on the number of points."""
    x, y, z = (points[..., axis, np.newaxis] for axis in range(3))
    return np.asarray(x * plane[0] + y * plane[1] + z * plane[2])


def _margins(at: Array, corners: Array) -> Array:
    """Signed distances of places (k, 2) from the hulls of points (k, n, 2).

    A pair of points is an edge if no point is to its right. Inside is the least distance from these lines. Outside it
    is the distance from the nearest segment between any two points: all are in the hull, and its edges are among them.
    """
    stands = np.asarray(np.isfinite(corners).all(-1))
    start, side = corners[:, :, np.newaxis], corners[:, np.newaxis] - corners[:, :, np.newaxis]
    long = np.sum(side**2, axis=-1)  # (k, n, n)
    size = np.max(np.where(np.isfinite(long), long, 0), axis=(1, 2), initial=0)[:, np.newaxis, np.newaxis]
    pairs = stands[:, :, np.newaxis] & stands[:, np.newaxis]
    apart = pairs & (long > _EPSILON * size)
    offset = corners[:, np.newaxis, np.newaxis] - start[:, :, :, np.newaxis]  # (k, n, n, n, 2)
    to_left = _cross(side[:, :, :, np.newaxis], offset)
    edge = apart & np.all(~(to_left < -_EPSILON * size[..., np.newaxis]), axis=-1)
    away = at[:, np.newaxis, np.newaxis] - start
    with np.errstate(invalid="ignore", divide="ignore"):
        lines = np.where(edge, _cross(side, away) / np.sqrt(long), np.inf).min((1, 2))
        share = np.where(apart, np.sum(away * side, axis=-1) / long, 0)
    nearest = np.linalg.norm(away - np.clip(share, 0, 1)[..., np.newaxis] * side, axis=-1)
    outside = np.where(pairs, nearest, np.inf).min((1, 2), initial=np.inf)
    margin = np.where((lines > 0) & np.isfinite(lines), lines, -outside)
    return np.array(np.where(stands.any(-1) & np.isfinite(at).all(-1), margin, np.nan))


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
