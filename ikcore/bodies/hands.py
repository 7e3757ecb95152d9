"""Hands of 21 joints with published lengths and ranges of motion, and fingers that close on a shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import cross, dot, size
from ikcore.limits.limit import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
FINGERS = ("thumb", "index", "middle", "ring", "little")
# Shares of the hand's length: metacarpal, proximal, middle and distal bones. The thumb has no middle one.
BONES = {
    "thumb": (0.251, 0.196, 0.158),
    "index": (0.463, 0.245, 0.143, 0.097),
    "middle": (0.446, 0.266, 0.170, 0.108),
    "ring": (0.421, 0.244, 0.165, 0.107),
    "little": (0.414, 0.204, 0.117, 0.093),
}
SPREAD = {"index": 9.0, "middle": 0.0, "ring": -8.0, "little": -16.0}  # degrees of metacarpals in the palm
THICK = 0.045  # radius of a finger as share of the hand's length
STEP = 3.0  # degrees of the fastest joint between tests for contact
HALVINGS = 20
# Turns of the thumb's base towards the fingers: whether the swing is sideways, its angle and the twist, radians.
OPPOSED = ((False, 0.3, 0.7), (True, 0.3, 0.7), (False, 0.0, 0.7), (False, 0.3, 0.2))
SEARCHES = 36  # of the point of a bone that is nearest to a shape


class Shape(Protocol):
    """A convex body that a hand can grasp."""

    def distance(self, points: Array) -> Array:
        """Signed distance of points (..., 3) from the surface, negative inside."""
        ...


@dataclass(frozen=True, eq=False)
class CapsuleShape:
    """All points within a radius of a straight axis; a sphere if `end` is None."""

    start: ArrayLike
    radius: float
    end: ArrayLike | None = None

    def __post_init__(self) -> None:
        _check_point("start", self.start)
        _check_point("end", self.start if self.end is None else self.end)
        if not 0 < self.radius < np.inf:
            raise ValueError(f"radius: expected a positive number, got {self.radius!r}")

    def distance(self, points: Array) -> Array:
        """Signed distance of points from the surface, negative inside."""
        start = np.asarray(self.start, float)
        axis = np.zeros(3) if self.end is None else np.asarray(self.end, float) - start
        square = float(dot(axis, axis))
        share = np.clip(np.asarray(dot(points - start, axis)) / (square if square > 0 else 1), 0, 1)
        return np.asarray(size(points - start - share[..., np.newaxis] * axis)) - self.radius


@dataclass(frozen=True, eq=False)
class BoxShape:
    """A box by its centre, the halves of its edges, and its rotation."""

    centre: ArrayLike
    half: ArrayLike
    rotation: ArrayLike = (1.0, 0, 0, 0)

    def __post_init__(self) -> None:
        _check_point("centre", self.centre)
        _check_point("half", self.half)
        _check_point("rotation", self.rotation, 4)
        if not (np.asarray(self.half) > 0).all():
            raise ValueError(f"half: expected three positive numbers, got {self.half!r}")

    def distance(self, points: Array) -> Array:
        """Signed distance of points from the surface, negative inside."""
        turn = rotations.conjugate(np.asarray(self.rotation, float))
        off = np.abs(rotations.rotate(turn, points - np.asarray(self.centre, float))) - np.asarray(self.half, float)
        return np.asarray(size(np.maximum(off, 0)) + np.minimum(off.max(axis=-1), 0))


def _check_point(name: str, value: ArrayLike, numbers: int = 3) -> None:
    array = np.asarray(value, float)
    if array.shape != (numbers,) or not np.isfinite(array).all():
        raise ValueError(f"{name}: expected {numbers} finite numbers, got {value!r}")


@dataclass(frozen=True, eq=False)
class HandGrasp:
    """A hand that has closed on a shape.

    Attributes
    ----------
    pose : Pose
        The pose of the hand.
    touching : tuple of str
        Fingers that touch the shape.
    distances : dict of str to array
        Per finger: signed distances of its bones from the shape, from the palm to the tip. Negative ones are depths.
    opposed : bool
        True if the thumb and another finger touch from opposite sides: their directions from the shape's
        surface differ by more than 90 degrees.
    """

    pose: Pose
    touching: tuple[str, ...]
    distances: dict[str, Array]
    opposed: bool


def hand(side: Literal["left", "right"] = "left", length: float = 0.19) -> Skeleton:
    """A hand of 21 joints: the wrist, and four of each finger, the last being its tip.

    At rest the fingers point sideways (left hand: +X), the palm faces +Z and the thumb +Y. Lengths of bones are shares
    of the hand's length by Buchholz, Armstrong and Goldstein (Ergonomics 35, 1992). Ranges of motion are those of the
    American Academy of Orthopaedic Surgeons (Joint Motion, 1965). Knuckles: flexion 90 degrees, extension 45. Middle
    joints: 0 to 100; last joints: 0 to 90, extension 10. Thumb: abduction 70, extension 20, flexion 15 at its base;
    flexion 50 and 80 at the others. Our own, because the source has no number: knuckles spread by 20 degrees each
    way, and the base of the thumb turns about its bone by 40 for opposition.

    Parameters
    ----------
    side : {"left", "right"}, optional
        Which hand.
    length : float, optional
        From the wrist to the tip of the middle finger, in metres.

    Examples
    --------
    >>> left = hand("left", 0.2)
    >>> len(left), left.names[:5]
    (21, ('wrist', 'thumb1', 'thumb2', 'thumb3', 'thumb_tip'))
    >>> left.forward(left.rest).positions[left.index("middle_tip")].round(3)
    array([0.198, 0.   , 0.   ])
    """
    if side not in ("left", "right"):
        raise ValueError(f"side: expected 'left' or 'right', got {side!r}")
    if not length > 0:
        raise ValueError(f"length: expected a positive number, got {length!r}")
    sign = 1.0 if side == "left" else -1.0
    parents, offsets, names, limits = [-1], [np.zeros(3)], ["wrist"], {}
    for finger in FINGERS:
        way, bones = _direction(finger, sign), BONES[finger]
        along = [length * bone for bone in bones]
        first = length * 0.12 * _direction("thumb", sign) if finger == "thumb" else along.pop(0) * way
        for number, offset in enumerate([first, *(bone * way for bone in along)]):
            parents.append(len(names) - 1 if number else 0)
            names.append(f"{finger}_tip" if number == 3 else f"{finger}{number + 1}")
            offsets.append(offset)
            if number < 3:
                limits[names[-1]] = _limit(finger, number, sign)
    return Skeleton(parents, np.array(offsets), names=names, limits=limits)


def grasp(skeleton: Skeleton, shape: Shape, pose: Pose | None = None, *, radius: float | None = None) -> HandGrasp:
    """Close the fingers of a `hand` on a shape.

    The joints of a finger flex together from the given pose. When a bone touches, the joints before it stop, and those
    after it go on, to their limits. The thumb turns across the palm meanwhile. If it misses the shape from the given
    pose, its base turns towards the fingers first.

    Parameters
    ----------
    skeleton : Skeleton
        A hand as `hand` makes it.
    shape : Shape
        `CapsuleShape`, `BoxShape`, or another convex body with a signed distance.
    pose : Pose, optional
        A single open pose, which places the wrist. Default: at rest. A bone that is inside the shape there stays there,
        and its negative distance says so.
    radius : float, optional
        The radius of the fingers. Default: 4.5 percent of the hand's length.

    Examples
    --------
    >>> left = hand("left", 0.19)
    >>> held = grasp(left, CapsuleShape([0.1, -0.08, 0.045], 0.03, end=[0.1, 0.02, 0.045]))
    >>> held.touching[1:]
    ('index', 'middle', 'ring', 'little')
    """
    if missing := [name for f in FINGERS if (name := f"{f}_tip") not in skeleton.names]:
        raise ValueError(f"skeleton: expected a hand as `hand` makes it, got one without a joint {missing[0]!r}")
    start = skeleton.rest if pose is None else pose
    thick = THICK * _length(skeleton) if radius is None else radius
    sign = 1.0 if skeleton.offsets[skeleton.index("middle1"), 0] > 0 else -1.0
    turned, distances, contacts = np.array(start.rotations, float), {}, {}
    near = 5e-4 * _length(skeleton)
    for finger in FINGERS:
        opened = [turned, *(_thumb_oppositions(skeleton, turned, sign) if finger == "thumb" else ())]
        found = []
        for one in opened:
            made = _close(skeleton, start.with_rotations(one), finger, sign, shape, thick)
            found.append((made, *_nearest(skeleton, start.with_rotations(made), finger, shape, thick)))
            if len(found) > 1 and found[-1][1].min() < -near:  # inside before it closes
                found.pop()
            elif found[-1][1].min() < near:
                break
        touched = found[-1][1].min() < near
        turned, distances[finger], contacts[finger] = found[-1 if touched else 0]
    touching = tuple(f for f in FINGERS if distances[f].min() < near)
    out = {f: _outward(shape, contacts[f][int(distances[f].argmin())]) for f in touching}
    opposed = "thumb" in out and any(float(dot(out["thumb"], out[f])) < 0 for f in touching if f != "thumb")
    return HandGrasp(start.with_rotations(turned), touching, distances, opposed)


def _thumb_oppositions(skeleton: Skeleton, turned: Array, sign: float) -> Iterator[Array]:
    """Rotations with the base of the thumb turned towards the fingers: a swing of the bone, and a twist about it."""
    joint, way = skeleton.index("thumb1"), _direction("thumb", sign)
    up = cross(np.array([0, 0, 1.0]), way)
    for side, swing, twist in OPPOSED:
        axis = sign * cross(way, up) if side else up
        swung = rotations.from_axis_angle(axis / size(axis), swing)
        made = np.array(turned)
        turn = rotations.multiply(swung, rotations.from_axis_angle(way, sign * twist))
        made[joint] = _inside(skeleton, joint, rotations.multiply(turned[joint], turn))
        yield made


def _close(skeleton: Skeleton, pose: Pose, finger: str, sign: float, shape: Shape, thick: float) -> Array:
    """Rotations after a finger has closed: its joints turn at their rates until their bones touch."""
    joints = [skeleton.index(f"{finger}{n}") for n in (1, 2, 3)]
    axes, most = zip(*(_closing_axis(finger, n, sign) for n in range(3)), strict=True)
    came, angles, free = np.array(pose.rotations, float), np.zeros(3), np.ones(3, bool)

    def rotations_at(at: Array) -> Array:
        made = came.copy()
        for n, joint in enumerate(joints):
            made[joint] = rotations.multiply(came[joint], rotations.from_axis_angle(axes[n], float(at[n])))
            made[joint] = _inside(skeleton, joint, made[joint])
        return made

    def gaps(at: Array) -> Array:
        return _nearest(skeleton, pose.with_rotations(rotations_at(at)), finger, shape, thick)[0]

    rates, touched = np.array(most), np.asarray(gaps(angles)) <= 0
    free[: int(np.flatnonzero(touched).max(initial=-1)) + 1] = False
    step = np.radians(STEP) / rates.max()
    while free.any():
        ahead = np.where(free, np.minimum(angles + step * rates, rates), angles)
        if (ahead == angles).all():
            break
        now = gaps(ahead)
        if now.min() > 0 or not (now[_first(free) :] <= 0).any():
            angles = ahead
            continue
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            inside = bool((gaps(angles + middle * (ahead - angles))[_first(free) :] <= 0).any())
            low, high = (low, middle) if inside else (middle, high)
        hit = np.flatnonzero(gaps(angles + high * (ahead - angles)) <= 0).max(initial=_first(free))
        angles = angles + low * (ahead - angles)
        free[: int(hit) + 1] = False
    return rotations_at(angles)


def _first(free: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero(free).min())


def _nearest(skeleton: Skeleton, pose: Pose, finger: str, shape: Shape, thick: float) -> tuple[Array, Array]:
    """Signed distance of the three bones of a finger from a shape, and the points of their axes where it is."""
    names = [f"{finger}1", f"{finger}2", f"{finger}3", f"{finger}_tip"]
    at = np.asarray(skeleton.forward(pose).positions, float)[[skeleton.index(name) for name in names]]
    start, way = at[:-1], at[1:] - at[:-1]
    low, high = np.zeros(3), np.ones(3)
    for _ in range(SEARCHES):  # the distance from a convex body is convex along a line
        one, two = low + (high - low) / 3, high - (high - low) / 3
        less = shape.distance(start + one[:, np.newaxis] * way) < shape.distance(start + two[:, np.newaxis] * way)
        low, high = np.where(less, low, one), np.where(less, two, high)
    points = start + ((low + high) / 2)[:, np.newaxis] * way
    return shape.distance(points) - thick, points


def _outward(shape: Shape, point: Array) -> Array:
    """The direction away from the shape."""
    small = 1e-6
    steps = small * np.eye(3)
    way = shape.distance(point + steps) - shape.distance(point - steps)
    return np.asarray(way / max(float(size(way)), 1e-30))


def _inside(skeleton: Skeleton, joint: int, turned: Array) -> Array:
    limit = skeleton.limits[joint]
    if limit is None:
        return turned
    rest = np.asarray(skeleton.rest.rotations[joint], float)
    return rotations.multiply(rest, limit.project(rotations.multiply(rotations.conjugate(rest), turned)))


def _length(skeleton: Skeleton) -> float:
    at = skeleton.forward(skeleton.rest).positions
    return float(size(at[skeleton.index("middle_tip")] - at[skeleton.index("wrist")])) / 0.99


def _direction(finger: str, sign: float) -> Array:
    """Direction of the bones at rest."""
    if finger == "thumb":
        way = np.array([sign, 1.0, 0.5])
        return np.asarray(way / size(way))
    angle = np.radians(SPREAD[finger])
    return np.array([sign * np.cos(angle), np.sin(angle), 0])


def _closing_axis(finger: str, number: int, sign: float) -> tuple[Array, float]:
    """Axis and largest angle of a joint while the finger closes."""
    way = _direction(finger, sign)
    if finger != "thumb":
        axis = cross(way, np.array([0, 0, 1.0]))
        return axis, float(np.radians((90, 100, 70)[number]))
    toward = np.array([0, -0.6, 0.8]) if number == 0 else np.array([0, -1.0, 0.25])
    axis = cross(way, toward)
    return axis / size(axis), float(np.radians((50, 50, 80)[number]))


def _limit(finger: str, number: int, sign: float) -> Limit:
    """The range of motion of a joint."""
    axis, way = _closing_axis(finger, number, sign)[0], _direction(finger, sign)
    if finger == "thumb":
        if number:
            return Limit.hinge(axis, *_angles(0, (0, 50, 80)[number]))
        turn = cross(way, cross(np.array([0, 0, 1.0]), way))  # palmar abduction goes this way
        reach = (70, 15, 20, 70) if sign > 0 else (70, 15, 70, 20)
        return Limit.ball(way, _angles(*reach), side=turn / size(turn), twist=_angles(-40, 40))
    if number:
        return Limit.hinge(axis, *_angles(0 if number == 1 else -10, 100 if number == 1 else 90))
    return Limit.ball(way, _angles(90, 45, 20, 20), side=[0, 0, 1.0], twist=(0, 0))


def _angles(*degrees: float) -> Any:
    return tuple(np.pi / 180 * angle for angle in degrees)
