"""Bodies with any number of legs on uneven ground: the body follows the ground, then every leg reaches its foothold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import cross, dot, mean_in_order, size
from ikcore._joints import ancestors, path
from ikcore.bodies.nodes.limbs import LegNode
from ikcore.bodies.nodes.limits import inside_limits
from ikcore.bodies.nodes.node import Job, Node, Proposal, Targets
from ikcore.bodies.nodes.turns import local_of, unit_share
from ikcore.goals import Reach
from ikcore.grounds.ground import Ground
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.registry import METHODS
from ikcore.status import Status

Array = NDArray[Any]
CROSS = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))  # forward and side, of the four traces about a point
PRECISE = 1e-7  # tolerance of a leg, as share of the skeleton's size


class Leg(NamedTuple):
    """The joints of a leg from hip to foot."""

    joints: list[int]
    tip: Array | None  # the point on the ground in the frame of the last joint, of a leg without a joint there

    @property
    def foot(self) -> int:
        """The foot."""
        return self.joints[-1]


@dataclass(frozen=True, eq=False)
class ManyLegsNode(Node):
    """Feet of a body with any number of legs stand on the ground, and the body follows the slope: Dragon IK.

    Every pose is placed independently. First the body pitches, rolls and moves up or down. Four traces in a cross about
    the pelvis, and four about the chest, give the slope and the mean height of the ground. The body then moves so that
    all legs stay within their ratios of extension, and below a ceiling. At last every leg reaches the ground under its
    foot, and the foot turns to the slope there. A foot keeps the height above the ground that it has above the
    floor in the animation. A foot without ground within its trace keeps its place.

    The optional target `floor` is the height of the ground in the animation (default 0).

    Parameters
    ----------
    ground : Ground
        The ground.

    legs : sequence of (hip, foot)
        First and last joint of each leg, names or indices. A leg has two bones or more.

    tips : sequence of (3,) array_like or None, optional
        The point of each leg that stands on the ground, in the space of the last joint. For legs that end in a bone
        without a joint at its tip. Such a leg may have one joint less, and its last bone does not turn to the slope.

    pelvis : str or int
        The joint that moves the body.

    chest : str or int, optional
        A joint further forward, below `pelvis`. Default: none; the body then has one cross of traces.

    forward : (3,) array_like, optional
        Forward direction in the rest pose, used without `chest`. Default: z, or x where z is up.

    trace_above, trace_below : float, default: 0.5
        Extent of traces above and below the floor.

    cross_radius : float, default: 0.2
        The radius of the four traces about pelvis and chest.

    foot_height : float, optional
        Height of the foot joint above the ground. Default: its height above 0 in the rest pose.

    foot_length, foot_width : float, default: 0
        Spacing of four traces of a foot, front to back and side to side. If both are 0, the normal of the ground at
        its single trace counts.

    foot_weight : float, default: 1
        Share of the ground's offset that feet take, 0 to 1.

    foot_rotation_weight : float, default: 1
        Share of the slope that feet take, 0 to 1.

    max_foot_angle : float, default: 0.698
        Largest slope that feet take, in radians.

    reference_pose : bool, default: False
        Feet have the rotation of the rest pose on the ground, turned with the body, whatever the animation does.

    min_extension, max_extension : float, default: 0.3, 0.97
        Bounds of the distance from hip to foot, as shares of the leg's length. A leg that comes in beyond a bound
        may stay there.

    sides : sequence of (3,) array_like, optional
        Direction in the rest pose in which the knee of each leg goes, for legs of two bones. Default: as at rest.

    move : bool, default: True
        False: the body only turns.

    pitch_weight, roll_weight : float, default: 1
        Shares of the slope by which the body turns, 0 to 1.

    max_pitch, max_roll : float, default: 0.6, 0.35
        Largest turns of the body, in radians.

    dip : float, default: 0
        The body sinks by this share of the mean height difference between feet of a pair. Legs 0 and 1 are
        a pair, 2 and 3, and so on.

    ceiling : float, optional
        Smallest distance of pelvis and chest from ground above them. Default: ceilings do not count.

    iterations : int, default: 3
        Rounds in which a foot at its limit is turned, and its leg reaches again.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    ground: Ground
    legs: Sequence[tuple[str | int, str | int]]
    pelvis: str | int
    chest: str | int | None = None
    forward: ArrayLike | None = None
    trace_above: float = 0.5
    trace_below: float = 0.5
    cross_radius: float = 0.2
    foot_height: float | None = None
    foot_length: float = 0.0
    foot_width: float = 0.0
    foot_weight: float = 1.0
    foot_rotation_weight: float = 1.0
    tips: Sequence[ArrayLike | None] | None = None
    max_foot_angle: float = math.radians(40)
    reference_pose: bool = False
    min_extension: float = 0.3
    max_extension: float = 0.97
    sides: Sequence[ArrayLike | None] | None = None
    move: bool = True
    pitch_weight: float = 1.0
    roll_weight: float = 1.0
    max_pitch: float = 0.6
    max_roll: float = 0.35
    dip: float = 0.0
    ceiling: float | None = None
    iterations: int = 3

    takes: ClassVar[Mapping[str, int]] = {"floor": 0}
    main: ClassVar[str] = "floor"

    def __post_init__(self) -> None:
        unit_share(self, "foot_weight", "foot_rotation_weight", "min_extension", "max_extension")
        unit_share(self, "pitch_weight", "roll_weight")
        if not self.legs:
            raise ValueError("legs: expected pairs of hip and foot, got none")
        if self.min_extension > self.max_extension:
            raise ValueError(f"min_extension: expected at most max_extension, got {self.min_extension!r}")
        if self.sides is not None and len(self.sides) != len(self.legs):
            raise ValueError(f"sides: expected one for each of {len(self.legs)} legs, got {len(self.sides)}")
        if self.tips is not None and len(self.tips) != len(self.legs):
            raise ValueError(f"tips: expected one for each of {len(self.legs)} legs, got {len(self.tips)}")

    def joints(self, skeleton: Skeleton) -> list[Leg]:
        """The joints of the legs."""
        tips = [None] * len(self.legs) if self.tips is None else self.tips
        return [_leg(skeleton, hip, foot, tip) for (hip, foot), tip in zip(self.legs, tips, strict=True)]

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return [skeleton.index(self.pelvis), *(joint for leg in self.joints(skeleton) for joint in leg.joints)]

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The feet."""
        return [leg.foot for leg in self.joints(skeleton)]

    def _check(self, skeleton: Skeleton) -> None:
        pelvis = skeleton.index(self.pelvis)
        below = [leg.joints[0] for leg in self.joints(skeleton)]
        for joint in below if self.chest is None else [*below, skeleton.index(self.chest)]:
            if pelvis not in ancestors(skeleton, joint)[1:]:
                raise ValueError(f"pelvis: expected a joint above {skeleton.names[joint]!r}, got {self.pelvis!r}")

    # --- stages ---

    def items(
        self, skeleton: Skeleton, pose: Pose, targets: Targets | ArrayLike | None
    ) -> tuple[Job, Array, tuple[int, ...]]:
        """All items in one axis, with the places of their feet on the ground."""
        job, share, shape = super().items(skeleton, pose, targets)
        safe = np.where(np.isfinite(job.pose.rotations), job.pose.rotations, 1)
        slid = job.pose.translations
        safe_pose = job.pose.with_rotations(safe, None if slid is None else np.where(np.isfinite(slid), slid, 0))
        floor = np.asarray(job.targets.get("floor", np.zeros(len(safe))), float)
        known = self._footholds(skeleton, safe_pose, np.where(np.isfinite(floor), floor, 0))
        return job._replace(targets=job.targets | {"floor": floor} | known), share, shape

    def _footholds(self, skeleton: Skeleton, pose: Pose, floor: Array) -> dict[str, Array]:
        """Per foot: its place on the ground, its rotation there, the ground's offset, and whether there is ground."""
        places, turns = _world(skeleton, pose)
        feet = [leg.foot for leg in self.joints(skeleton)]
        points = places[:, feet] + rotations.rotate(turns[:, feet], self._soles(skeleton)[np.newaxis])
        up, ahead = self._up(), self._ahead(skeleton, places, turns)
        hit, offset, normal = self._trace_ground(points, floor)
        if self.foot_length or self.foot_width:
            normal = self._four_points(points, floor, offset, ahead)
        height = np.maximum(dot(points, up) - floor[:, np.newaxis], 0)  # above the floor of the animation
        level = floor[:, np.newaxis] + self.foot_weight * offset + height
        wanted = points + (level - dot(points, up))[..., np.newaxis] * up
        slope = self._bounded_turn(rotations.shortest_arc(np.broadcast_to(up, normal.shape), normal))
        came = self._at_rest(skeleton, turns) if self.reference_pose else turns[:, feet]
        return {
            "wanted": np.where(hit[..., np.newaxis], wanted, points),
            "turned": np.where(hit[..., np.newaxis], rotations.multiply(slope, came), turns[:, feet]),
            "offset": np.where(hit, offset, 0),
            "hit": hit.astype(float),
        }

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        places, turns = _world(job.skeleton, job.pose)
        legs, bounds = self.joints(job.skeleton), self._bounds(job, places, turns)
        pose = self._body(job, places, turns, bounds)
        said = np.zeros(len(pose), np.int32)
        for _ in range(self.iterations if self._feet_have_limits(job.skeleton) else 1):
            pose, said = self._reach(job, pose, legs, bounds, workers)
        return Proposal(pose, said)

    def _body(self, job: Job, places: Array, turns: Array, bounds: list[tuple[Array, Array]]) -> Pose:
        """The pose with the body turned and moved."""
        skeleton, pelvis, up = job.skeleton, job.skeleton.index(self.pelvis), self._up()
        cores = [pelvis] if self.chest is None else [pelvis, skeleton.index(self.chest)]
        pivot = mean_in_order([places[:, core] for core in cores])
        turn, rise, middle = self._slope(job, places, turns, cores, pivot)
        moved = pivot[:, np.newaxis] + rotations.rotate(turn[:, np.newaxis], places - pivot[:, np.newaxis])
        way = np.zeros(len(rise))
        if self.move:
            low, high = self._span(job, moved, bounds)
            ceiling = self._room(job, moved[:, cores], middle)
            way = np.minimum(np.maximum(np.minimum(rise, high), low), ceiling)
        place = moved[:, pelvis] + way[:, np.newaxis] * up
        world = skeleton.forward(job.pose)
        turned, dtype = np.array(job.pose.rotations), job.pose.dtype
        outer = rotations.multiply(turn, turns[:, pelvis]).astype(dtype)
        turned[:, pelvis] = local_of(skeleton, world, pelvis, outer)
        came = skeleton.offsets if job.pose.translations is None else job.pose.translations
        slid = np.array(np.broadcast_to(came, (*turned.shape[:-1], 3)), dtype)
        step, parent = place - places[:, pelvis], int(skeleton.parents[pelvis])
        if parent >= 0:
            step = rotations.rotate(rotations.conjugate(turns[:, parent]), step)
        slid[:, pelvis] += step.astype(dtype)
        return Pose(inside_limits(skeleton, turned, np.asarray(job.pose.rotations))[0], slid)

    def _slope(
        self, job: Job, places: Array, turns: Array, cores: list[int], pivot: Array
    ) -> tuple[Array, Array, Array]:
        """The turn of the body, its rise, and the height of the ground's middle: a plane through all traces."""
        up, floor, ahead = self._up(), job.targets["floor"], self._ahead(job.skeleton, places, turns)
        aside, samples = cross(ahead, np.broadcast_to(up, ahead.shape)), []
        for core in cores:
            for x, y in CROSS:
                samples.append(places[:, core] + self.cross_radius * (x * ahead + y * aside))
        points = np.stack(samples, axis=1)
        hit, offset, _ = self._trace_ground(points, floor)
        feet = mean_in_order(list(job.targets["offset"].T))
        heights = np.where(hit, offset, feet[:, np.newaxis])
        off = points - pivot[:, np.newaxis]
        pitch = self.pitch_weight * _gradient(dot(off, ahead[:, np.newaxis]), heights)
        roll = self.roll_weight * _gradient(dot(off, aside[:, np.newaxis]), heights)
        nod = np.clip(np.arctan(pitch), -self.max_pitch, self.max_pitch)[:, np.newaxis]
        lean = np.clip(np.arctan(roll), -self.max_roll, self.max_roll)[:, np.newaxis]
        turn = rotations.multiply(rotations.exp(-lean * ahead), rotations.exp(nod * aside))
        middle = mean_in_order(list(heights.T))
        return turn, middle - self.dip * self._pair_height_difference(job.targets["offset"]), middle

    def _pair_height_difference(self, offset: Array) -> Array:
        """Mean height difference of feet of a pair."""
        pairs = [np.abs(offset[:, k] - offset[:, k + 1]) for k in range(0, offset.shape[1] - 1, 2)]
        return mean_in_order(pairs) if pairs else np.zeros(len(offset))

    def _span(self, job: Job, moved: Array, bounds: list[tuple[Array, Array]]) -> tuple[Array, Array]:
        """The least and the largest rise at which all legs are within their ratios."""
        up, lows, highs = self._up(), [], []
        for number, leg in enumerate(self.joints(job.skeleton)):
            near, far = bounds[number]
            line = moved[:, leg.joints[0]] - self._end(job, leg, number, job.targets["turned"][:, number])
            above = dot(line, up)
            side = dot(line, line) - above * above
            known = job.targets["hit"][:, number] > 0
            highs.append(np.where(known & (side < far * far), np.sqrt(np.maximum(far * far - side, 0)) - above, np.inf))
            lows.append(
                np.where(known & (side < near * near), np.sqrt(np.maximum(near * near - side, 0)) - above, -np.inf)
            )
        return np.maximum.reduce(lows), np.minimum.reduce(highs)

    def _room(self, job: Job, cores: Array, middle: Array) -> Array:
        """The largest rise below ceilings, which are seen from half the body's height above the ground."""
        if self.ceiling is None:
            return np.full(len(middle), np.inf)
        up, floor = self._up(), job.targets["floor"]
        height = dot(cores, up)
        start = (floor + middle)[:, np.newaxis] + 0.5 * (height - floor[:, np.newaxis])
        origins = cores + (start - height)[..., np.newaxis] * up
        far = self.ground.cast(origins, up).distance
        return np.asarray(np.min(start + far - height, axis=1) - self.ceiling)

    def _reach(
        self, job: Job, pose: Pose, legs: list[Leg], bounds: list[tuple[Array, Array]], workers: int | None
    ) -> tuple[Pose, Array]:
        """The legs at their footholds, then the feet turned."""
        skeleton, dtype = job.skeleton, pose.dtype
        said, goals, moving, now = np.zeros(len(pose), np.int32), [], [], pose
        places, _ = _world(skeleton, pose)
        turn = self._turn_feet(job, pose, legs)[1] if self._feet_have_limits(skeleton) else job.targets["turned"]
        for number, leg in enumerate(legs):
            near, far = bounds[number]
            hip = places[:, leg.joints[0]]
            line = self._end(job, leg, number, turn[:, number]) - hip
            long = np.asarray(size(line))
            share = np.clip(long, near, far) / np.where(long > 0, long, 1)
            said |= np.where(long > far * (1 + 1e-12), int(Status.TOO_FAR), 0).astype(np.int32)
            said |= np.where(long < near * (1 - 1e-12), int(Status.TOO_NEAR), 0).astype(np.int32)
            target = (hip + share[:, np.newaxis] * line).astype(dtype)
            above = skeleton.names[leg.joints[0]]
            if leg.tip is not None:
                goals.append(Reach(leg.foot, target, chain=above, offset=leg.tip))
                moving += leg.joints
            elif len(leg.joints) == 3:
                side = None if self.sides is None else self.sides[number]
                node = LegNode(leg.foot, soften=1.0, side=side)
                found = node.solve_step(Job(skeleton, now, {"position": target}), workers)
                now, said = found.pose, said | found.status
            else:
                goals.append(Reach(leg.foot, target, chain=above))
                moving += leg.joints[:-1]
        if goals:
            fine = PRECISE if dtype == np.float64 else 1e-5
            solution = METHODS["dls"].function(skeleton, now, goals, moving=moving, tolerance=fine, workers=workers)
            now, said = solution.pose, said | np.asarray(solution.status, np.int32)
        return self._turn_feet(job, now, legs)[0], said

    def _turn_feet(self, job: Job, pose: Pose, legs: list[Leg]) -> tuple[Pose, Array]:
        """The pose with the feet turned, and their rotations in the world, within limits."""
        world = job.skeleton.forward(pose)
        turned = np.array(pose.rotations)
        for number, leg in enumerate(legs):
            if leg.tip is None:
                wanted = job.targets["turned"][:, number].astype(pose.dtype)
                turned[:, leg.foot] = local_of(job.skeleton, world, leg.foot, wanted)
        bounded = pose.with_rotations(inside_limits(job.skeleton, turned, np.asarray(job.pose.rotations))[0])
        return bounded, _world(job.skeleton, bounded)[1][:, [leg.foot for leg in legs]]

    # --- parts ---

    def _up(self) -> Array:
        return np.asarray(np.eye(3)["xyz".index(self.ground.up)])

    def _ahead(self, skeleton: Skeleton, places: Array, turns: Array) -> Array:
        """The body's forward direction, level."""
        pelvis, up = skeleton.index(self.pelvis), self._up()
        if self.chest is not None:
            way = places[:, skeleton.index(self.chest)] - places[:, pelvis]
        else:
            usual = np.eye(3)[0 if self.ground.up == "z" else 2]
            rest = np.asarray(skeleton.forward(skeleton.rest).rotations[pelvis], float)
            since = rotations.multiply(turns[:, pelvis], rotations.conjugate(rest))
            way = rotations.rotate(since, usual if self.forward is None else np.asarray(self.forward, float))
        level = way - np.asarray(dot(way, up))[..., np.newaxis] * up
        long = np.asarray(size(level))[..., np.newaxis]
        return np.asarray(level / np.where(long > 0, long, 1))

    def _soles(self, skeleton: Skeleton) -> Array:
        """Per foot: the point on the ground below the joint at rest, in the frame of the joint."""
        world, up = skeleton.forward(skeleton.rest), self._up()
        feet = [leg.foot for leg in self.joints(skeleton)]
        heights = np.maximum(dot(np.asarray(world.positions, float)[feet], up), 0)
        if self.foot_height is not None:
            heights = np.full(len(feet), float(self.foot_height))
        back = rotations.conjugate(np.asarray(world.rotations, float)[feet])
        soles = np.asarray(rotations.rotate(back, -heights[:, np.newaxis] * up))
        for number, leg in enumerate(self.joints(skeleton)):
            if leg.tip is not None:
                soles[number] = leg.tip
        return soles

    def _end(self, job: Job, leg: Leg, number: int, turn: Array) -> Array:
        """The place of the foot joint, or of the tip, when the sole is at its place with this rotation."""
        if leg.tip is not None:
            return job.targets["wanted"][:, number]
        sole = self._soles(job.skeleton)[number]
        return np.asarray(job.targets["wanted"][:, number] - rotations.rotate(turn, sole))

    def _trace_ground(self, points: Array, floor: Array) -> tuple[NDArray[np.bool_], Array, Array]:
        """Per point: whether there is ground, its height above the floor, and its normal."""
        up, level = self._up(), floor[:, np.newaxis]
        from_floor = points + (level - dot(points, up))[..., np.newaxis] * up
        found = self.ground.at(from_floor, above=self.trace_above, below=self.trace_below)
        hit = np.asarray(found.hit)
        offset = np.where(hit, found.height - level, 0)
        return hit, offset, np.where(hit[..., np.newaxis], found.normals, up)

    def _four_points(self, points: Array, floor: Array, offset: Array, ahead: Array) -> Array:
        """Normals of the ground by four traces of each foot; one without ground counts as level."""
        up = self._up()
        aside = cross(ahead, np.broadcast_to(up, ahead.shape))
        normal = np.broadcast_to(up, points.shape)
        for way, spacing in ((ahead, self.foot_length), (aside, self.foot_width)):
            if spacing:
                reach = 0.5 * spacing * way[:, np.newaxis]
                front, back = (self._trace_ground(points + sign * reach, floor) for sign in (1, -1))
                rise = np.where(front[0], front[1], offset) - np.where(back[0], back[1], offset)
                normal = normal - (rise / spacing)[..., np.newaxis] * way[:, np.newaxis]
        return np.asarray(normal / np.asarray(size(normal))[..., np.newaxis])

    def _bounded_turn(self, slope: Array) -> Array:
        """The turn from level to the slope, by its share and within its bound."""
        turn = self.foot_rotation_weight * rotations.log(slope)
        angle = np.asarray(size(turn))[..., np.newaxis]
        return rotations.exp(turn * np.minimum(1, self.max_foot_angle / np.where(angle > 0, angle, 1)))

    def _at_rest(self, skeleton: Skeleton, turns: Array) -> Array:
        """Rotations of the feet at rest, turned with the body about the vertical."""
        rest, pelvis = np.asarray(skeleton.forward(skeleton.rest).rotations, float), skeleton.index(self.pelvis)
        since = rotations.multiply(turns[:, pelvis], rotations.conjugate(rest[pelvis]))
        yaw = rotations.swing_twist(since, np.broadcast_to(self._up(), (len(turns), 3)))[1]
        return np.asarray(rotations.multiply(yaw[:, np.newaxis], rest[[leg.foot for leg in self.joints(skeleton)]]))

    def _bounds(self, job: Job, places: Array, turns: Array) -> list[tuple[Array, Array]]:
        """Per leg: the least and the largest distance from hip to foot."""
        found = []
        for leg in self.joints(job.skeleton):
            at = [places[:, joint] for joint in leg.joints]
            if leg.tip is not None:
                at.append(at[-1] + rotations.rotate(turns[:, leg.foot], leg.tip))
            bones = [np.asarray(size(b - a)) for a, b in pairwise(at)]
            length, now = mean_in_order(bones) * len(bones), np.asarray(size(at[-1] - at[0]))
            found.append((np.minimum(self.min_extension * length, now), np.maximum(self.max_extension * length, now)))
        return found

    def _feet_have_limits(self, skeleton: Skeleton) -> bool:
        kinds = [skeleton.limits[leg.foot] for leg in self.joints(skeleton) if leg.tip is None]
        return any(limit is not None and limit.kind != "free" for limit in kinds)

    def _errors(self, job: Job) -> Array | None:
        places, turns = _world(job.skeleton, job.pose)
        feet = [leg.foot for leg in self.joints(job.skeleton)]
        points = places[:, feet] + rotations.rotate(turns[:, feet], self._soles(job.skeleton)[np.newaxis])
        return np.asarray(np.max(size(points - job.targets["wanted"]) * job.targets["hit"], axis=1))


def _leg(skeleton: Skeleton, hip: str | int, foot: str | int, tip: ArrayLike | None) -> Leg:
    first, last = skeleton.index(hip), skeleton.index(foot)
    least = 2 if tip is None else 1
    if first not in ancestors(skeleton, last)[least:]:
        raise ValueError(f"legs: expected a foot {least} joints or more below {hip!r}, got {foot!r}")
    return Leg(path(skeleton, first, last), None if tip is None else np.asarray(tip, float))


def _world(skeleton: Skeleton, pose: Pose) -> tuple[Array, Array]:
    """Positions and rotations in doubles."""
    world = skeleton.forward(pose)
    return np.asarray(world.positions, float), np.asarray(world.rotations, float)


def _gradient(along: Array, heights: Array) -> Array:
    """The slope of the best line through heights (N, n) at places along an axis."""
    above = [along[:, k] * heights[:, k] for k in range(along.shape[1])]
    below = [along[:, k] * along[:, k] for k in range(along.shape[1])]
    square = mean_in_order(below)
    return np.asarray(mean_in_order(above) / np.where(square > 0, square, 1))


def many_legs(
    skeleton: Skeleton, pose: Pose, ground: Ground, legs: Sequence[tuple[str | int, str | int]], **parameters: Any
) -> Pose:
    """Poses on the ground by `ManyLegsNode`, whose parameters it takes.

    Examples
    --------
    A table with four legs of two bones on a slope of 20 cm per metre:

    >>> import numpy as np
    >>> import ikcore as ik
    >>> parents, offsets = [-1], [[0, 0.8, 0]]
    >>> for x, z in ((0.3, 0.5), (-0.3, 0.5), (0.3, -0.5), (-0.3, -0.5)):
    ...     first = len(parents)
    ...     parents += [0, first, first + 1]
    ...     offsets += [[x, 0, z], [0, -0.4, -0.1], [0, -0.4, 0.1]]
    >>> table = ik.Skeleton(parents, offsets)
    >>> slope = ik.Ground.plane([0, 1, -0.2])
    >>> legs = [(1, 3), (4, 6), (7, 9), (10, 12)]
    >>> placed = ik.bodies.many_legs(table, table.rest, slope, legs, pelvis=0)
    >>> feet = table.forward(placed).positions[[3, 6, 9, 12]]
    >>> feet.round(3)[:, 1:].tolist()
    [[0.1, 0.5], [0.1, 0.5], [-0.1, -0.5], [-0.1, -0.5]]
    """
    return ManyLegsNode(ground, legs, **parameters)(skeleton, pose).pose
