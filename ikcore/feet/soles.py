"""Points of the soles, from poses in which feet stand flat."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import dot, extent, median, size
from ikcore.feet import free, structure
from ikcore.feet.human import EDGE, LEG, STEP
from ikcore.feet.leg import POINTS, Leg, Sole, ancestors, row
from ikcore.feet.paths import percentile
from ikcore.feet.structure import Stance
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]

# Of a foot, in ways from the ankle to the tip of the toe over the ground (anthropometric tables: the ankle is above a
# fifth of the foot, the ball at two thirds, a foot is some 0.36 of its length wide).
_HEEL, _BALL, _WIDE = 0.25, 0.65, 0.22  # where the heel is behind the ankle, the ball ahead of it; half of its width
_TIPTOE = 2.0  # what a foot on its toes rises at least from the ball to the ankle, in ways over the ground
_STANDS, _SEEN = 8, 200  # in one of so many frames a foot stands still; of these so many are looked at
_EQUAL = 1e-4  # metres for a leg of 0.87 m: ways from frame to frame that differ by less are as long
_ROOM = 0.16  # m: what stands higher above 0 is on a floor of its own; up to half of that it is above a floor at 0
_BAND = 0.2  # of the foot: how far around a point its lowest vertices are looked for


def points(skeleton: Skeleton, pose: Pose, soles: Iterable[Sole]) -> Array:
    """Where points are in the world (..., points, 3): joints that are added to the skeleton, so scales count."""
    return _carried(skeleton, pose, *hung(skeleton, soles))


def points_and_joints(
    skeleton: Skeleton, pose: Pose, soles: Iterable[Sole], joints: Sequence[str]
) -> tuple[Array, Array]:
    """Where points and joints are in the world, (..., points, 3) and (..., joints, 3); doubles."""
    wanted = [skeleton.index(joint) for joint in joints]
    places, at, _ = walked(skeleton, pose, *hung(skeleton, soles), wanted)
    return places.astype(np.float64, copy=False), at.astype(np.float64, copy=False)


def hung(skeleton: Skeleton, soles: Iterable[Sole]) -> tuple[list[int], Array]:
    """What points hang on, and where in its space."""
    soles = list(soles)
    joints = [skeleton.index(sole.joint) for sole in soles]
    return joints, np.array([sole.offset for sole in soles], float).reshape(-1, 3)


def fixed(skeleton: Skeleton, pose: Pose, joint: str, place: Array) -> Sole:
    """The point of a joint that is at a place in the world in one pose."""
    origin, axes = space(skeleton, pose, skeleton.index(joint))
    if not _solid(axes):
        raise ValueError(_flattened(joint))
    x, y, z = within(axes, place - origin).tolist()
    return Sole(joint, (x, y, z))


def at_rest(
    skeleton: Skeleton, seen: Stance, legs: Sequence[Leg], vertices: Mapping[str, Array] | None
) -> tuple[Leg, ...]:
    """Legs with the soles of the rest pose; without, if the skeleton does not stand there."""
    if any(leg.ankle is None for leg in legs):
        return tuple(legs)  # their tips are known
    low = _low_at_rest(skeleton, seen, legs)
    scale = min(length(skeleton, leg, seen.at) for leg in legs) / LEG
    depths = _depths(legs, low, scale)
    hips = [(leg, skeleton.index(leg.hip)) for leg in legs if leg.hip is not None]
    if any(seen.height[hip] - seen.height[skeleton.index(leg.foot)] < STEP * scale for leg, hip in hips):
        return tuple(legs)
    if any(high - lower > STEP * scale for high, lower in zip(low, _lower_of_pairs(legs, low), strict=True)):
        return tuple(legs)
    pose, up = seen.pose[np.newaxis], seen.up[np.newaxis]
    return tuple(
        _with_soles(skeleton, seen, leg, pose, seen.at[np.newaxis, _chain(skeleton, leg)], depth, vertices, up)
        for leg, depth in zip(legs, depths, strict=True)
    )


def over_time(
    skeleton: Skeleton, seen: Stance, legs: Sequence[Leg], pose: Pose, vertices: Mapping[str, Array] | None
) -> tuple[Leg, ...]:
    """Legs with the soles of frames in which their feet are low and still: these are flat.

    Paws have those of the rest pose if it stands, as they are never seen to be flat; so have all feet of a clip that
    holds a pose, or is too short to show which of them stand, of whatever kind.
    """
    if any(leg.ankle is None for leg in legs):
        return tuple(legs)
    chains = _chains(skeleton, pose, legs)
    scale = min(_length_in(skeleton, leg, pose, chain, 0) for leg, chain in zip(legs, chains, strict=True)) / LEG
    feet = [chain[:, _foot(leg)] for leg, chain in zip(legs, chains, strict=True)]
    resting = at_rest(skeleton, seen, legs, vertices)
    if all(leg.soles for leg in resting) and (
        len(pose) < _STANDS or all(_extent(foot) <= EDGE * scale for foot in feet)
    ):
        return resting
    heights = [np.asarray(dot(foot.swapaxes(0, 1), seen.up)).T for foot in feet]  # each joint lies in one piece
    low = [_low(height.min(axis=1)) for height in heights]
    depths = _depths(legs, low, scale, _low_at_rest(skeleton, seen, legs))
    found = []
    for leg, at_ease, depth, chain, height in zip(legs, resting, depths, chains, heights, strict=True):
        if leg.ball is None and leg.toe is None and at_ease.soles:
            found.append(at_ease)
            continue
        frames = _flat(_steps(chain[:, _foot(leg)]), height, _EQUAL * scale)
        here = chain[frames]
        ups = np.full((len(frames), 3), seen.up)
        found.append(_with_soles(skeleton, seen, leg, pose[frames], here, depth, vertices, ups))
    return tuple(found)


def depth_of(height: float, scale: float) -> float:
    """How far the floor is below what stands at a height, of a leg `scale` times 0.87 m long.

    At height 0, if that is a little lower: soles and joints of feet are so much above the floor. What stands much
    higher, or below 0, is on a floor of its own. Between the two the floor rises gradually.
    """
    return max(0.0, min(height, _ROOM * scale - height))


# As `_core.stood` has a foot that stands flat: where its joints are, what is up there, where it points if it is a
# point, whether it has ball and toe, and its side; how far the ground is below, how long a point is, where the ball is.
Flat = tuple[Array, Array, Array, tuple[bool, bool, float], tuple[float, float, float]]


def _extent(at: Array) -> float:
    """How far apart the places are where joints (frames, joints, 3) are, of the one that goes the farthest."""
    return float(extent(at.swapaxes(0, 1)).max())


def _steps(points: Array) -> Array:
    """The largest step of some points (frames, n, 3) to each frame, and on from the last."""
    if len(points) < 2:
        return np.zeros(len(points) + 1)
    far = np.maximum.reduce(size(points[1:] - points[:-1]), axis=1)
    return np.concatenate([far[:1], far, far[-1:]])


def _flat(step: Array, height: Array, least: float) -> NDArray[np.intp]:
    """Frames in which a foot is flat: it is low and stands still, or moves the least, of how far it goes (frames + 1,).

    Where it is lowest its toes may be pressed into the floor, or a captured floor be uneven. Of frames in which it
    moves as little, to the least that counts, the lower ones.
    """
    return _core.flat_frames(step, height, least, max(1, min(len(height) // _STANDS, _SEEN)))


def _low(heights: Array) -> float:
    """The 2nd percentile of those that are known; infinite of none."""
    found = percentile(heights, 2)
    return np.inf if math.isnan(found) else found


def _low_at_rest(skeleton: Skeleton, seen: Stance, legs: Sequence[Leg]) -> list[float]:
    """How high the lowest joint of every foot is."""
    height = seen.height.tolist()
    return [min(height[joint] for joint in _chain(skeleton, leg)[_foot(leg)]) for leg in legs]


def _depths(legs: Sequence[Leg], low: list[float], scale: float, known: list[float] | None = None) -> list[float]:
    """How far the floor is below the lowest joint of every foot: as at rest, where that is known, else `depth_of`."""
    least = min(low)
    if not math.isfinite(least):
        return [0.0] * len(low)
    at_rest = depth_of(min(known), scale) if known else 0.0
    depth = min(abs(least), at_rest) if at_rest > 0 else depth_of(least, scale)
    return [depth + height - least for height in _lower_of_pairs(legs, low)]


def _lower_of_pairs(legs: Sequence[Leg], low: list[float]) -> list[float]:
    """For every leg the lower height of it and its partner."""
    pairs = [row(leg.name) for leg in legs]
    return [min(height for height, other in zip(low, pairs, strict=True) if other == pair) for pair in pairs]


def length(skeleton: Skeleton, leg: Leg, at: Array) -> float:
    """Of a leg from hip to foot."""
    if leg.free:
        return free.length(skeleton, leg, at)
    return structure.length(at, [skeleton.index(joint) for joint in leg.bones])


def _chain(skeleton: Skeleton, leg: Leg) -> list[int]:
    """Its joints, the last of which are those of its foot: `_foot`."""
    return [skeleton.index(joint) for joint in leg.chain]


def _foot(leg: Leg) -> slice:
    """Which joints of its chain are the foot."""
    return slice(len(leg.bones) - 1, None)


def _chains(skeleton: Skeleton, pose: Pose, legs: Sequence[Leg]) -> list[Array]:
    """Where the joints of each leg are (frames, joints, 3)."""
    chains = [_chain(skeleton, leg) for leg in legs]
    at = walked(skeleton, pose, [], np.empty((0, 3)), [joint for chain in chains for joint in chain])[1]
    ends = accumulate(map(len, chains))
    return [at[:, end - len(chain) : end] for chain, end in zip(chains, ends, strict=True)]


def _length_in(skeleton: Skeleton, leg: Leg, poses: Pose, at: Array, frame: int) -> float:
    """Of a leg in one of some poses, in which the joints of its chain are there (frames, joints, 3)."""
    if leg.free:
        return free.length(skeleton, leg, skeleton.forward(poses[frame]).positions)
    return structure.length(at[frame], slice(len(leg.bones)))


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
    """The points in every one of these poses, seen from the joints that carry them; of each the median.

    The joints of the leg are there (frames, joints, 3), and what is up the ground says (frames, 3).
    """
    joints = leg.foot, leg.ball or leg.foot
    origins, sides = _spaces(skeleton, poses, joints)
    solid = _solid(sides.swapaxes(-1, -2))
    whole = solid.all(axis=1)
    if not whole.any():  # of joints each of which has its size in some frames, any
        raise ValueError(_flattened(joints[int(np.argmin(solid.any(axis=0)))]))
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
    """Which of foot and toes carries a point of the sole: all of a foot that is a point the foot."""
    return int(not point and name in ("ball", "toe"))


class _Skin:
    """A foot that stands flat, in some frames, as `_core.stood` has it, with its skin, a mesh (frames, n, 3)."""

    def __init__(self, foot: Flat, mesh: Array) -> None:
        at, self.up, _, (ball, *_), _ = foot
        self.point, self.height, self.long, self.ahead, self.inner = _core.stood(*foot)
        self.ankle, self.ball, self.mesh = at[:, 0], at[:, 1] if ball else None, mesh

    def offsets(self, origins: Array, sides: Array) -> dict[str, tuple[float, float, float] | None]:
        """Where points usually are in the spaces of foot and toes: as far out as the mesh goes where it is low."""
        placed = [self._skinned(frame, mesh) for frame, mesh in enumerate(self.mesh)]
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

    def _skinned(self, frame: int, mesh: Array) -> dict[str, Array]:
        """The points in one frame, and where the foot bends."""
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
        """No heel, if the animal goes on its toes: the ankle is high above the ball, and not far behind it."""
        over = ball - self.ankle
        over = over - self.up * dot(over, self.up)[:, np.newaxis]
        on_toes = dot(self.ankle, self.up) - self.height > _TIPTOE * size(over)
        return np.where(on_toes[:, np.newaxis], np.nan, heel)


def _mesh(skeleton: Skeleton, leg: Leg, poses: Pose, vertices: Mapping[str, Array] | None) -> Array | None:
    """What is known of the skin of a foot in the world (frames, n, 3): that of its joint and all below it."""
    if vertices is None:
        return None
    foot = skeleton.index(leg.foot)
    parts = [(skeleton.index(name), np.asarray(rows, float).reshape(-1, 3)) for name, rows in vertices.items()]
    parts = [(joint, rows) for joint, rows in parts if foot in (joint, *ancestors(skeleton, joint)) and len(rows)]
    if not parts:
        return None
    joints = [joint for joint, rows in parts for _ in rows]
    return _carried(skeleton, poses, joints, np.concatenate([rows for _, rows in parts]))


def space(skeleton: Skeleton, pose: Pose, joint: int) -> tuple[Array, Array]:
    """Origin (..., 3) and axes as columns (..., 3, 3) of a joint in the world, scales and shear included."""
    found = _carried(skeleton, pose, [joint] * 4, _UNITS)
    origin = found[..., 0, :]
    return origin, np.swapaxes(found[..., 1:, :] - origin[..., np.newaxis, :], -1, -2)


def _spaces(skeleton: Skeleton, pose: Pose, names: Sequence[str]) -> tuple[Array, Array]:
    """Origins (frames, joints, 3) and axes as rows (frames, joints, 3, 3) of joints by name."""
    joints = [joint for name in names for joint in [skeleton.index(name)] * 4]
    found = _carried(skeleton, pose, joints, np.concatenate([_UNITS] * len(names)))
    found = found.reshape(len(found), len(names), 4, 3)
    return found[:, :, 0], found[:, :, 1:] - found[:, :, :1]


_UNITS = np.eye(4, 3, k=-1)


def _solid(axes: Array) -> Any:
    """Whether nothing is scaled to 0, which leaves no place for a point to be."""
    return _core.solid(axes, 1e-9)


def within(axes: Array, way: Array) -> Array:
    """What a way in the world (..., 3) is along axes (..., 3, 3) that are solid: by Cramer's rule, in written order."""
    found = _core.within(_sides(axes), np.asarray(way, np.float64))
    return found.astype(np.result_type(axes, way), copy=False)


def _sides(axes: Array) -> Array:
    """Axes as rows."""
    return np.ascontiguousarray(np.swapaxes(axes, -1, -2), np.float64)


def _flattened(joint: str) -> str:
    return f"{joint!r} is scaled to 0, where its sole has no size: scale it up, or leave those frames out"


def _carried(skeleton: Skeleton, pose: Pose, joints: Sequence[int], offsets: Array) -> Array:
    """Points as joints that hang on others; those that none hangs on are left out."""
    return walked(skeleton, pose, joints, offsets, [])[0]


def walked(
    skeleton: Skeleton, pose: Pose, joints: Sequence[int], offsets: Array, wanted: Sequence[int]
) -> tuple[Array, Array, Array]:
    """Where points (points, 3) in the space of joints are in the world (..., points, 3).

    And where joints are that are wanted, and how they turn (..., joints, 4). What carries none of them is left out. In
    memory each point follows its way alone.
    """
    return _core.carried(skeleton._data, *pose._parts(), joints, offsets, wanted)
