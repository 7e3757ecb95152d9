"""Nodes that turn joints towards a target: `LookAtNode` and `AimNode`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore._joints import ancestors
from ikcore.bodies.nodes.bend import perpendicular
from ikcore.bodies.nodes.limits import inside_limits, is_limited
from ikcore.bodies.nodes.node import PARTIAL, Job, Node, Proposal, run_in_turn
from ikcore.bodies.nodes.turns import direction_angle, turned_by, unit_share
from ikcore.closed_forms.aims import look_at
from ikcore.goals import Goal, Look
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
Joint = str | int

PASSES = 8  # solves of a chain with limits: a joint at its limit leaves the rest to the others


class Gaze(NamedTuple):
    """An axis that is aimed: its joint, direction and start in the joint's own space."""

    joint: int
    axis: Array
    offset: Array

    def ray(self, skeleton: Skeleton, pose: Pose) -> tuple[Array, Array]:
        """Its start and direction in the world."""
        world = skeleton.forward(pose)
        turn, dtype = world.rotations[:, self.joint], pose.dtype
        start = world.positions[:, self.joint] + rotations.rotate(turn, self.offset.astype(dtype))
        return start, rotations.rotate(turn, self.axis.astype(dtype))


def aim_joints(
    job: Job,
    joints: Sequence[int],
    gaze: Gaze,
    target: Array,
    *,
    weights: ArrayLike | None = None,
    clamp: float = 0.0,
    clamp_start: float = 1.0,
    influence: float = 1.0,
    up: Array | None = None,
    pole: Array | None = None,
    workers: int | None = 1,
) -> Proposal:
    """Turn joints, root to tip, so that an axis carried by the last of them points at a target; limits hold."""
    skeleton, chain = job.skeleton, list(joints)
    start, way = gaze.ray(skeleton, job.pose)
    cone: dict[str, Any] = {"reference": way, "clamp": clamp, "clamp_start": clamp_start} if clamp > 0 else {}
    limited, now = is_limited(skeleton, chain), job.pose
    said: Any = np.zeros(len(now), np.int32)
    for number in range(PASSES if limited else 1):
        world = skeleton.forward(now)
        start, way = gaze.ray(skeleton, now)
        back = rotations.conjugate(world.rotations[:, chain[-1]])
        found = look_at(
            world.positions[:, chain],
            world.rotations[:, chain[-1]],
            target,
            forward=rotations.rotate(back, way),
            offset=rotations.rotate(back, start - world.positions[:, chain[-1]]),
            weights=weights,
            influence=np.full(len(now), influence, now.dtype),
            up=None if up is None else rotations.rotate(back, up_in_world(skeleton, now, gaze, up)),
            pole=pole,
            workers=workers,
            **cone,
        )
        said = found.status & ~PARTIAL if number == 0 else said
        free = now.with_rotations(turned_by(skeleton, world, now.rotations, chain, found.deltas))
        if not limited:
            return Proposal(free, said)
        if number == 0:  # the next passes aim at what this one would have reached without limits
            start, way = gaze.ray(skeleton, free)
            target, cone, influence = start + way * _far(target - start), {}, 1.0
        turned, _ = inside_limits(skeleton, np.asarray(free.rotations), np.asarray(job.pose.rotations))
        now = now.with_rotations(turned)
    return Proposal(now, said)


def up_in_world(skeleton: Skeleton, pose: Pose, gaze: Gaze, up: Array) -> Array:
    """An axis of the joint of a gaze, in the world."""
    return rotations.rotate(skeleton.forward(pose).rotations[:, gaze.joint], up.astype(pose.dtype))


def _far(way: Array) -> Array:
    return np.asarray(size(way))[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class LookAtNode(Node):
    """Spine, head and eyes turn to a target, each by its weight: LookAt IK of Final IK.

    The target: `position`, a point in the world. First the spine takes its share, then the head, then the eyes.

    Parameters
    ----------
    head : str or int
        The head.

    spine : sequence of str or int
        Joints below it, from the root on; none by default.

    eyes : sequence of str or int
        Joints on the head.

    body_weight, head_weight, eyes_weight : float, default: 0.5, 0.5, 1
        Shares of the way to the target, from where the part before has turned, 0 to 1.

    clamp, clamp_head, clamp_eyes : float, default: 0.5
        Narrowness of the cones about the present directions, 0 to 1: half angles are (1 - clamp) pi.

    clamp_start : float, default: 0.7
        Share of the half angle at which softening starts.

    spine_weights : sequence of float, optional
        Shares of the spine's joints in its turn; only ratios count. Default: equal.

    spine_target_offset : (3,) array_like, default: 0
        The rotation that the spine adds to the target.

    forward : (3,) array_like, default: +Z
        The gaze of head and eyes in the rest pose, a direction in the world.

    offset : (3,) array_like, default: 0
        The start of the gaze of the head, in the space of the head.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    head: Joint
    spine: Sequence[Joint] = ()
    eyes: Sequence[Joint] = ()
    body_weight: float = 0.5
    head_weight: float = 0.5
    eyes_weight: float = 1.0
    clamp: float = 0.5
    clamp_head: float = 0.5
    clamp_eyes: float = 0.5
    clamp_start: float = 0.7
    spine_weights: Sequence[float] | None = None
    spine_target_offset: ArrayLike = (0.0, 0.0, 0.0)
    forward: ArrayLike = (0.0, 0.0, 1.0)
    offset: ArrayLike = (0.0, 0.0, 0.0)

    takes: ClassVar[Mapping[str, int]] = {"position": 3}

    def __post_init__(self) -> None:
        unit_share(self, "body_weight", "head_weight", "eyes_weight")
        unit_share(self, "clamp", "clamp_head", "clamp_eyes", "clamp_start")

    def _check(self, skeleton: Skeleton) -> None:
        check_order(skeleton, [*self.spine, self.head])
        for eye in self.eyes:
            check_order(skeleton, [self.head, eye])

    def gaze(self, skeleton: Skeleton, joint: Joint, offset: ArrayLike = (0.0, 0.0, 0.0)) -> Gaze:
        """The axis of the head, or of an eye."""
        at = skeleton.index(joint)
        rest = skeleton.forward(skeleton.rest).rotations[at]
        axis = rotations.rotate(rotations.conjugate(rest), np.asarray(self.forward, float))
        return Gaze(at, axis, np.asarray(offset, float))

    def last(self, skeleton: Skeleton) -> list[Gaze]:
        """The axes by which the pose is judged: those of the eyes, or of the head without eyes."""
        if self.eyes and self.eyes_weight:
            return [self.gaze(skeleton, eye) for eye in self.eyes]
        return [self.gaze(skeleton, self.head, self.offset)]

    def _goals(self, skeleton: Skeleton, targets: Mapping[str, Array]) -> list[Goal]:
        weight, share = float(self._portion() == 1), self.influence
        return [
            Look(gaze.joint, gaze.axis, at, chain=0, offset=gaze.offset, influence=share, weight=weight)
            for gaze in self.last(skeleton)
            if (at := targets.get("position")) is not None
        ]

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return [skeleton.index(joint) for joint in (*self.spine, self.head, *self.eyes)]

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        return [gaze.joint for gaze in self.last(skeleton)]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        target = job.targets.get("position")
        if target is None:
            return Proposal(job.pose)
        skeleton = job.skeleton
        options: dict[str, Any] = {"clamp_start": self.clamp_start, "workers": workers}
        head = self.gaze(skeleton, self.head, self.offset)
        spine = [skeleton.index(joint) for joint in self.spine]
        shares = None if self.spine_weights is None else np.asarray(self.spine_weights, float)
        moved = target + np.asarray(self.spine_target_offset, target.dtype)

        def turn(joints: list[int], gaze: Gaze, at: Array, weight: float, **own: Any) -> Callable[[Job], Proposal]:
            return lambda now: aim_joints(now, joints, gaze, at, influence=weight, **own, **options)

        steps = []
        if spine and self.body_weight:
            steps.append(turn(spine, head, moved, self.body_weight, clamp=self.clamp, weights=shares))
        if self.head_weight:
            steps.append(turn([head.joint], head, target, self.head_weight, clamp=self.clamp_head))
        for eye in self.eyes if self.eyes_weight else ():
            own = self.gaze(skeleton, eye)
            steps.append(turn([own.joint], own, target, self.eyes_weight, clamp=self.clamp_eyes))
        return run_in_turn(job, steps)

    def _angles(self, job: Job) -> Array | None:
        return _gaze_error(job, self.last(job.skeleton))

    def _portion(self) -> float:
        return self.eyes_weight if self.eyes else self.head_weight


@dataclass(frozen=True, eq=False)
class AimNode(Node):
    """Joints share a rotation so that an axis of the last one, or of a descendant, meets a target: Aim IK.

    Targets: `position`, a point in the world, and `pole`, a point towards which `pole_axis` rolls.

    Parameters
    ----------
    joints : sequence of str or int
        The joints that turn, from the root on.

    tip : str or int, optional
        The joint with the axis, such as a gun or a hand (default: the last of `joints`).

    axis : (3,) array_like, default: +Z
        The axis, in the space of the tip.

    offset : (3,) array_like, default: 0
        The start of the axis, in the space of the tip.

    weights : sequence of float, optional
        Shares of the joints in the turn; only ratios count. Default: equal.

    pole_axis : (3,) array_like, default: +Y
        The axis that rolls towards the pole, in the space of the tip.

    pole_weight : float, default: 1
        Share of that roll, 0 to 1.

    clamp : float, default: 0.1
        Narrowness of the cone about the present direction, 0 to 1: its half angle is (1 - clamp) pi.

    clamp_start : float, default: 0.7
        Share of the half angle at which softening starts.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    joints: Sequence[Joint]
    tip: Joint | None = None
    axis: ArrayLike = (0.0, 0.0, 1.0)
    offset: ArrayLike = (0.0, 0.0, 0.0)
    weights: Sequence[float] | None = None
    pole_axis: ArrayLike = (0.0, 1.0, 0.0)
    pole_weight: float = 1.0
    clamp: float = 0.1
    clamp_start: float = 0.7

    takes: ClassVar[Mapping[str, int]] = {"position": 3, "pole": 3}

    def __post_init__(self) -> None:
        unit_share(self, "pole_weight", "clamp", "clamp_start")
        if isinstance(self.joints, str) or not len(self.joints):
            raise ValueError(f"joints: expected a list of one joint or more, got {self.joints!r}")

    def _check(self, skeleton: Skeleton) -> None:
        joints = [skeleton.index(joint) for joint in self.joints]
        tip = self.gaze(skeleton).joint
        check_order(skeleton, joints if joints[-1] == tip else [*joints, tip])

    def gaze(self, skeleton: Skeleton) -> Gaze:
        """The axis that is aimed."""
        tip = skeleton.index(self.joints[-1] if self.tip is None else self.tip)
        return Gaze(tip, np.asarray(self.axis, float), np.asarray(self.offset, float))

    def _goals(self, skeleton: Skeleton, targets: Mapping[str, Array]) -> list[Goal]:
        at, gaze = targets.get("position"), self.gaze(skeleton)
        if at is None:
            return []
        return [Look(gaze.joint, gaze.axis, at, chain=0, offset=gaze.offset, influence=self.influence)]

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return [skeleton.index(joint) for joint in self.joints]

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        return [self.gaze(skeleton).joint]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        target = job.targets.get("position")
        if target is None:
            return Proposal(job.pose)
        joints, gaze = [job.skeleton.index(joint) for joint in self.joints], self.gaze(job.skeleton)
        options: dict[str, Any] = {"weights": None if self.weights is None else np.asarray(self.weights, float)}
        options |= {"clamp": self.clamp, "clamp_start": self.clamp_start, "workers": workers}
        plain = aim_joints(job, joints, gaze, target, **options)
        if "pole" not in job.targets or self.pole_weight == 0:
            return plain
        up = np.asarray(self.pole_axis, float)
        pole = self._pole(job.with_pose(plain.pose), gaze, up)
        return aim_joints(job, joints, gaze, target, up=up, pole=pole, **options)

    def _pole(self, solved: Job, gaze: Gaze, up: Array) -> Array:
        """The pole at its weight: between where the axis has rolled without it, and its own side."""
        start, way = gaze.ray(solved.skeleton, solved.pose)
        rolled = perpendicular(up_in_world(solved.skeleton, solved.pose, gaze, up), way)
        wanted = perpendicular(solved.targets["pole"] - start, way)
        arc = rotations.log(rotations.shortest_arc(rolled, wanted, way))
        turn = rotations.exp(arc * solved.pose.dtype.type(self.pole_weight))
        far = _far(solved.targets["pole"] - start)
        return np.asarray(start + rotations.rotate(turn, rolled) * far)

    def _angles(self, job: Job) -> Array | None:
        return _gaze_error(job, [self.gaze(job.skeleton)])


def _gaze_error(job: Job, gazes: Sequence[Gaze]) -> Array | None:
    """The largest angle from an axis to the direction of the target."""
    if "position" not in job.targets:
        return None
    off = [
        direction_angle(way, job.targets["position"] - start)
        for start, way in (gaze.ray(job.skeleton, job.pose) for gaze in gazes)
    ]
    return np.asarray(np.max(off, axis=0))


def check_order(skeleton: Skeleton, joints: Sequence[Joint]) -> None:
    """Refuse joints that are not each below the one before."""
    found = [skeleton.index(joint) for joint in joints]
    for upper, lower in itertools.pairwise(found):
        if upper == lower or upper not in ancestors(skeleton, lower):
            names = skeleton.names
            raise ValueError(f"joints: expected {names[lower]!r} below {names[upper]!r}, as they go from root to tip")
