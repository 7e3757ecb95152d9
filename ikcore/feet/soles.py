"""Points of the soles, measured in poses in which feet are flat."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import dot, extent, median, size
from ikcore.feet import free_feet, leg_structure
from ikcore.feet.leg import POINTS, Leg, Sole, ancestors, row
from ikcore.feet.leg_structure import Stance
from ikcore.feet.thresholds import EDGE_DEPTH, LEG_LENGTH, STEP_HEIGHT
from ikcore.feet.time_series import percentile
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]

# Shares of the horizontal distance from the ankle to the tip of the toe. Anthropometric tables have the ankle above a
# fifth of the foot length and the ball at two thirds. A foot is about 0.36 of its length wide.
_HEEL, _BALL, _WIDE = 0.25, 0.65, 0.22  # heel behind the ankle, ball in front of it, half of the width
_TIPTOE = 2.0  # least height of the ankle above the ball, over their horizontal distance, of a foot on its toes
_STANDS, _SEEN = 8, 200  # a foot is taken to be flat in one frame of so many; at most so many frames are used
_EQUAL = 1e-4  # m for a leg of 0.87 m: steps between frames that differ by less count as equal
_ROOM = 0.16  # m: feet higher than this have a floor of their own; up to half of it the floor is at height 0
_BAND = 0.2  # share of the foot around a point in which its lowest vertices are searched


def points(skeleton: Skeleton, pose: Pose, soles: Iterable[Sole]) -> Array:
    """World positions of points (..., points, 3): as joints added to the skeleton, so that scales count."""
    return _world_points(skeleton, pose, *hung(skeleton, soles))


def points_and_joints(
    skeleton: Skeleton, pose: Pose, soles: Iterable[Sole], joints: Sequence[str]
) -> tuple[Array, Array]:
    """World positions of points and joints, (..., points, 3) and (..., joints, 3); doubles."""
    wanted = [skeleton.index(joint) for joint in joints]
    places, at, _ = world_points(skeleton, pose, *hung(skeleton, soles), wanted)
    return places.astype(np.float64, copy=False), at.astype(np.float64, copy=False)


def hung(skeleton: Skeleton, soles: Iterable[Sole]) -> tuple[list[int], Array]:
    """The joints that carry points, and the offsets of the points from them."""
    soles = list(soles)
    joints = [skeleton.index(sole.joint) for sole in soles]
    return joints, np.array([sole.offset for sole in soles], float).reshape(-1, 3)


def sole_at(skeleton: Skeleton, pose: Pose, joint: str, place: Array) -> Sole:
    """The sole point on a joint that is at a world position in one pose."""
    origin, axes = space(skeleton, pose, skeleton.index(joint))
    if not _solid(axes):
        raise ValueError(_zero_scale_message(joint))
    x, y, z = within(axes, place - origin).tolist()
    return Sole(joint, (x, y, z))


def at_rest(
    skeleton: Skeleton, seen: Stance, legs: Sequence[Leg], vertices: Mapping[str, Array] | None
) -> tuple[Leg, ...]:
    """The legs with the soles of the rest pose, or without soles if the skeleton does not stand there."""
    if any(leg.ankle is None for leg in legs):
        return tuple(legs)  # all tips are known already
    low = _low_at_rest(skeleton, seen, legs)
    scale = min(length(skeleton, leg, seen.at) for leg in legs) / LEG_LENGTH
    depths = _depths(legs, low, scale)
    hips = [(leg, skeleton.index(leg.hip)) for leg in legs if leg.hip is not None]
    if any(seen.height[hip] - seen.height[skeleton.index(leg.foot)] < STEP_HEIGHT * scale for leg, hip in hips):
        return tuple(legs)
    if any(high - lower > STEP_HEIGHT * scale for high, lower in zip(low, _lower_of_pairs(legs, low), strict=True)):
        return tuple(legs)
    pose, up = seen.pose[np.newaxis], seen.up[np.newaxis]
    return tuple(
        _with_soles(skeleton, seen, leg, pose, seen.at[np.newaxis, _chain(skeleton, leg)], depth, vertices, up)
        for leg, depth in zip(legs, depths, strict=True)
    )


def over_time(
    skeleton: Skeleton, seen: Stance, legs: Sequence[Leg], pose: Pose, vertices: Mapping[str, Array] | None
) -> tuple[Leg, ...]:
    """The legs with soles from frames in which their feet are low and still, and therefore flat.

    Paws get those of the rest pose if it stands, because they are never known to be flat. All feet get them if the clip
    holds one pose, or is too short to show which feet stand.
    """
    if any(leg.ankle is None for leg in legs):
        return tuple(legs)
    chains = _chains(skeleton, pose, legs)
    scale = min(_length_in(skeleton, leg, pose, chain, 0) for leg, chain in zip(legs, chains, strict=True)) / LEG_LENGTH
    feet = [chain[:, _foot(leg)] for leg, chain in zip(legs, chains, strict=True)]
    still = len(pose) < _STANDS or all(_extent(foot) <= EDGE_DEPTH * scale for foot in feet)
    paws = [leg for leg in legs if leg.ball is None and leg.toe is None]
    resting = at_rest(skeleton, seen, legs, vertices) if still or paws else tuple(legs)
    if still and all(leg.soles for leg in resting):
        return resting
    heights = [np.asarray(dot(foot.swapaxes(0, 1), seen.up)).T for foot in feet]  # contiguous over time for each joint
    low = [_low(height.min(axis=1)) for height in heights]
    depths = _depths(legs, low, scale, _low_at_rest(skeleton, seen, legs))
    found = []
    for leg, at_ease, depth, chain, height in zip(legs, resting, depths, chains, heights, strict=True):
        if leg in paws and at_ease.soles:
            found.append(at_ease)
            continue
        frames = _flat(_steps(chain[:, _foot(leg)]), height, _EQUAL * scale)
        here = chain[frames]
        ups = seen.up[np.newaxis].repeat(len(frames), axis=0)
        found.append(_with_soles(skeleton, seen, leg, pose[frames], here, depth, vertices, ups))
    return tuple(found)


def depth_of(height: float, scale: float) -> float:
    """Depth of the floor below a height, for a leg of `scale` times 0.87 m.

    The floor is at height 0 if that is a little lower: joints and soles are above it by that much. Feet much higher,
    or below 0, have a floor at their own height. Between the two the floor rises gradually.
    """
    return max(0.0, min(height, _ROOM * scale - height))


# The arguments of `_core.stood` for flat feet. First per frame: positions of the joints, up, direction if the foot is a
# point. Then whether it has ball and toe, and its side; depth of the ground, size of a point, position of the ball.
Flat = tuple[Array, Array, Array, tuple[bool, bool, float], tuple[float, float, float]]


def _extent(at: Array) -> float:
    """The largest extent of the positions of one joint over time, for joints (frames, joints, 3)."""
    return float(extent(at.swapaxes(0, 1)).max())


def _steps(points: Array) -> Array:
    """The largest step of points (frames, n, 3) into each frame, and out of the last one."""
    if len(points) < 2:
        return np.zeros(len(points) + 1)
    far = functools.reduce(np.maximum, size(points[1:] - points[:-1]).T)
    return np.concatenate([far[:1], far, far[-1:]])


def _flat(step: Array, height: Array, least: float) -> NDArray[np.intp]:
    """Frames in which a foot is flat: low and still, or moving least. `step` is its motion (frames + 1,).

    The lowest frame is not enough: toes may be pressed into the floor, or a captured floor be uneven. Among frames with
    equal motion, up to the smallest that counts, the lower ones are taken.
    """
    return _core.flat_frames(step, height, least, max(1, min(len(height) // _STANDS, _SEEN)))


def _low(heights: Array) -> float:
    """The 2nd percentile of the known heights; infinite if there are none."""
    found = percentile(heights, 2)
    return np.inf if math.isnan(found) else found


def _low_at_rest(skeleton: Skeleton, seen: Stance, legs: Sequence[Leg]) -> list[float]:
    """Height of the lowest joint of every foot."""
    height = seen.height.tolist()
    return [min(height[joint] for joint in _chain(skeleton, leg)[_foot(leg)]) for leg in legs]


def _depths(legs: Sequence[Leg], low: list[float], scale: float, known: list[float] | None = None) -> list[float]:
    """Depth of the floor below the lowest joint of every foot: as at rest if that is known, else by `depth_of`."""
    least = min(low)
    if not math.isfinite(least):
        return [0.0] * len(low)
    at_rest = depth_of(min(known), scale) if known else 0.0
    depth = min(abs(least), at_rest) if at_rest > 0 else depth_of(least, scale)
    return [depth + height - least for height in _lower_of_pairs(legs, low)]


def _lower_of_pairs(legs: Sequence[Leg], low: list[float]) -> list[float]:
    """For every leg the lower height of the leg and its partner."""
    pairs = [row(leg.name) for leg in legs]
    return [min(height for height, other in zip(low, pairs, strict=True) if other == pair) for pair in pairs]


def length(skeleton: Skeleton, leg: Leg, at: Array) -> float:
    """Length of a leg from hip to foot."""
    if leg.free:
        return free_feet.length(skeleton, leg, at)
    return leg_structure.length(at, [skeleton.index(joint) for joint in leg.bones])


def _chain(skeleton: Skeleton, leg: Leg) -> list[int]:
    """The joints of a leg; the last ones are those of its foot, see `_foot`."""
    return [skeleton.index(joint) for joint in leg.chain]


def _foot(leg: Leg) -> slice:
    """The part of a leg's chain that is the foot."""
    return slice(len(leg.bones) - 1, None)


def _chains(skeleton: Skeleton, pose: Pose, legs: Sequence[Leg]) -> list[Array]:
    """Positions of the joints of each leg (frames, joints, 3)."""
    chains = [_chain(skeleton, leg) for leg in legs]
    at = world_points(skeleton, pose, [], np.empty((0, 3)), [joint for chain in chains for joint in chain])[1]
    ends = accumulate(map(len, chains))
    return [at[:, end - len(chain) : end] for chain, end in zip(chains, ends, strict=True)]


def _length_in(skeleton: Skeleton, leg: Leg, poses: Pose, at: Array, frame: int) -> float:
    """Length of a leg in one of several poses, with its joints at (frames, joints, 3)."""
    if leg.free:
        return free_feet.length(skeleton, leg, skeleton.forward(poses[frame]).positions)
    return leg_structure.length(at[frame], slice(len(leg.bones)))


def _with_soles(
    skeleton: Skeleton,
    seen: Stance,
    leg: Leg,
    poses: Pose,
    at: Array,
    depth: float,
    vertices: Mapping[str, Array] | None,
    ups: Array,
) -> Leg:
    """The leg with the points of its sole: the median over these poses, in the spaces of the joints that carry them.

    The joints of the leg are at (frames, joints, 3), and up is (frames, 3).
    """
    joints = leg.foot, leg.ball or leg.foot
    origins, sides = _spaces(skeleton, poses, joints)
    solid = _solid(sides.swapaxes(-1, -2))
    whole = solid.all(axis=1)
    if not whole.any():  # if each joint has a size in some frame, the message names any
        raise ValueError(_zero_scale_message(joints[int(np.argmin(solid.any(axis=0)))]))
    tiny = 0.02 * _length_in(skeleton, leg, poses, at, int(whole.argmax()))
    at = at[:, _foot(leg)]
    if not whole.all():
        at, ups, origins, sides = (values[whole] for values in (at, ups, origins, sides))
    parts = bool(leg.ball), bool(leg.toe), -1 if leg.side == "right" else 1
    foot = at, ups, seen.front, parts, (depth, tiny, _BALL)
    mesh = _mesh(skeleton, leg, poses, vertices)
    if mesh is None:
        point, offsets = _core.flat_soles(foot, origins, sides, (_HEEL, _WIDE, _TIPTOE))
        found = dict(zip(POINTS, offsets, strict=True))
    else:
        skin = _Skin(foot, mesh[whole])
        point, found = skin.point, skin.offsets(origins, sides)
    known = {name: offset for name, offset in found.items() if offset is not None}
    return replace(leg, soles={name: Sole(joints[_carrier(name, point)], known[name]) for name in known})


def _carrier(name: str, point: bool) -> int:
    """Which of foot and toes carries a sole point; a foot that is a point carries all."""
    return int(not point and name in ("ball", "toe"))


class _Skin:
    """A foot that is flat in some frames, as for `_core.stood`, with its skin, a mesh (frames, n, 3)."""

    def __init__(self, foot: Flat, mesh: Array) -> None:
        at, self.up, _, (ball, *_), _ = foot
        self.point, self.height, self.long, self.ahead, self.inner = _core.stood(*foot)
        self.ankle, self.ball, self.mesh = at[:, 0], at[:, 1] if ball else None, mesh

    def offsets(self, origins: Array, sides: Array) -> dict[str, tuple[float, float, float] | None]:
        """The usual points in the spaces of foot and toes: as far out as the low part of the mesh goes."""
        placed = [self._skin_points(frame, mesh) for frame, mesh in enumerate(self.mesh)]
        places = {name: np.array([found[name] for found in placed]) for name in placed[0]}
        if not self.point:
            places["heel"] = self._flat(places.pop("bend"), places["heel"])
        found = {}
        for name, place in places.items():
            joint = _carrier(name, self.point)
            known = within(sides[:, joint].swapaxes(-1, -2), place - origins[:, joint])
            known = known[~np.isnan(known).any(axis=1)]
            found[name] = tuple(median(known).tolist()) if len(known) else None
        return found

    def _skin_points(self, frame: int, mesh: Array) -> dict[str, Array]:
        """The points in one frame, and the line at which the foot bends."""
        up, ankle, ahead, inner = self.up[frame], self.ankle[frame], self.ahead[frame], self.inner[frame]
        height = dot(mesh, up)
        if self.point:
            return {"ball": mesh[height <= height.min() + 1e-3 * np.ptp(height)].mean(axis=0)}
        along, beside = dot(mesh - ankle, ahead), dot(mesh - ankle, inner)
        low = height <= height.min() + 0.5 * max(float(dot(ankle, up)) - height.min(), 0) + 1e-9
        start, end = along[low].min(), along[low].max()
        size = end - start
        ball = _BALL * self.long[frame] if self.ball is None else dot(self.ball[frame] - ankle, ahead)
        around = low & (np.abs(along - ball) <= _BAND / 2 * size)
        left, right = (beside[around].max(), beside[around].min()) if around.any() else (0.0, 0.0)

        def point(at: float, across: float) -> Array:
            near = height[low & (np.abs(along - at) <= _BAND / 2 * size)]
            under = near.min() if len(near) else height.min()
            place = ankle + at * ahead + across * inner
            return np.asarray(place + up * (under - dot(place, up)))

        def middle(part: Array) -> float:
            return float(beside[part].max() + beside[part].min()) / 2

        return {
            "ball": point(ball, (left + right) / 2),
            "heel": point(start, middle(low & (along <= start + _BAND * size))),
            "toe": point(end, middle(low & (along >= end - _BAND * size))),
            "inner": point(ball, left),
            "outer": point(ball, right),
            "bend": ankle + ball * ahead,
        }

    def _flat(self, ball: Array, heel: Array) -> Array:
        """The points without a heel if the animal walks on its toes: its ankle is high above the ball, and near it."""
        over = ball - self.ankle
        over = over - self.up * dot(over, self.up)[:, np.newaxis]
        on_toes = dot(self.ankle, self.up) - self.height > _TIPTOE * size(over)
        return np.where(on_toes[:, np.newaxis], np.nan, heel)


def _mesh(skeleton: Skeleton, leg: Leg, poses: Pose, vertices: Mapping[str, Array] | None) -> Array | None:
    """The known skin of a foot in the world (frames, n, 3): that of its joint and its descendants."""
    if vertices is None:
        return None
    foot = skeleton.index(leg.foot)
    parts = [(skeleton.index(name), np.asarray(rows, float).reshape(-1, 3)) for name, rows in vertices.items()]
    parts = [(joint, rows) for joint, rows in parts if foot in (joint, *ancestors(skeleton, joint)) and len(rows)]
    if not parts:
        return None
    joints = [joint for joint, rows in parts for _ in rows]
    return _world_points(skeleton, poses, joints, np.concatenate([rows for _, rows in parts]))


def space(skeleton: Skeleton, pose: Pose, joint: int) -> tuple[Array, Array]:
    """Origin (..., 3) and axes as columns (..., 3, 3) of a joint in the world, scales and shear included."""
    found = _world_points(skeleton, pose, [joint] * 4, _UNITS)
    origin = found[..., 0, :]
    return origin, np.swapaxes(found[..., 1:, :] - origin[..., np.newaxis, :], -1, -2)


def _spaces(skeleton: Skeleton, pose: Pose, names: Sequence[str]) -> tuple[Array, Array]:
    """Origins (frames, joints, 3) and axes as rows (frames, joints, 3, 3) of joints by name."""
    joints = [joint for name in names for joint in [skeleton.index(name)] * 4]
    found = _world_points(skeleton, pose, joints, np.concatenate([_UNITS] * len(names)))
    found = found.reshape(len(found), len(names), 4, 3)
    return found[:, :, 0], found[:, :, 1:] - found[:, :, :1]


_UNITS = np.eye(4, 3, k=-1)


def _solid(axes: Array) -> Any:
    """Whether no axis is scaled to 0, so that points have a unique place."""
    return _core.solid(axes, 1e-9)


def within(axes: Array, way: Array) -> Array:
    """A world vector (..., 3) in coordinates of axes (..., 3, 3), by Cramer's rule in a fixed order."""
    found = _core.within(_sides(axes), np.asarray(way, np.float64))
    return found.astype(np.result_type(axes, way), copy=False)


def _sides(axes: Array) -> Array:
    """The axes as rows."""
    return np.ascontiguousarray(np.swapaxes(axes, -1, -2), np.float64)


def _zero_scale_message(joint: str) -> str:
    return f"{joint!r} is scaled to 0, where its sole has no size: scale it up, or leave those frames out"


def _world_points(skeleton: Skeleton, pose: Pose, joints: Sequence[int], offsets: Array) -> Array:
    """World positions of points given in the space of joints."""
    return world_points(skeleton, pose, joints, offsets, [])[0]


def world_points(
    skeleton: Skeleton, pose: Pose, joints: Sequence[int], offsets: Array, wanted: Sequence[int]
) -> tuple[Array, Array, Array]:
    """World positions (..., points, 3) of points (points, 3) given in the space of joints.

    Also the positions and rotations (..., joints, 4) of the wanted joints. Joints that carry none of these are ignored.
    In memory, each point is contiguous over time.
    """
    return _core.carried(skeleton._data, *pose._parts(), joints, offsets, wanted)
