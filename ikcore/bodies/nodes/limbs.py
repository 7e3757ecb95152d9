"""Nodes for limbs of two bones: `LimbNode` and `LegNode`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore.bodies.nodes import bend as bends
from ikcore.bodies.nodes.node import Job, Node, Proposal
from ikcore.bodies.nodes.turns import angle_between, local_of, unit_share
from ikcore.goals import Goal, Reach
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.registry import METHODS

Array = NDArray[Any]
Bend = Literal["animation", "target", "parent", "arm", "goal"]


@dataclass(frozen=True, eq=False)
class LimbNode(Node):
    """A limb of two bones whose tip reaches a target, in closed form: Limb IK of Final IK.

    Targets: `position` and `rotation` of the tip, in world space, and `pole`, a point for ``bend="goal"``.

    Parameters
    ----------
    tip : str or int
        The hand or foot. The two joints above it bend.

    bend : {"animation", "target", "parent", "arm", "goal"}, default: "animation"
        Direction of the middle joint.

        - "animation" keeps its bend in the pose.

        - "target" is the bend at rest, turned with the target's rotation.

        - "parent" is the bend at rest, turned with the joint above the limb.

        - "arm" is "parent", turned by the shortest arc from the limb at rest to its target.

        - "goal" is the direction of the `pole`.

    bend_weight : float, default: 1
        Share of `bend` against the animation, 0 to 1.

    position_weight, rotation_weight : float, default: 1
        Shares of the targets, 0 to 1, from where the tip is in the pose, and from how it would follow the limb.

    keep_rotation : float, default: 0
        Share of the tip's world rotation in the pose that it keeps, where no target has a share.

    side : (3,) array_like, optional
        Bend direction of the middle joint in the world of the rest pose. Default: that of the rest pose, or of the
        hinge that limits the middle joint.

    soften : float, default: 1
        Share of the reach at which softening starts, as in `two_bone`.

    stretch_max : float, default: 1
        Greatest factor of the bones' lengths.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    tip: str | int
    bend: Bend = "animation"
    bend_weight: float = 1.0
    position_weight: float = 1.0
    rotation_weight: float = 1.0
    keep_rotation: float = 0.0
    side: ArrayLike | None = None
    soften: float = 1.0
    stretch_max: float = 1.0

    takes: ClassVar[Mapping[str, int]] = {"position": 3, "rotation": 4, "pole": 3}

    def __post_init__(self) -> None:
        if self.bend not in get_args(Bend):
            raise ValueError(f"bend: expected one of {', '.join(get_args(Bend))}, got {self.bend!r}")
        unit_share(self, "bend_weight", "position_weight", "rotation_weight", "keep_rotation")

    def _check(self, skeleton: Skeleton) -> None:
        limb = bends.joints_of(skeleton, self.tip)
        if self.bend in ("target", "parent", "arm") and bends.rest_bend(skeleton, limb, self.side) is None:
            raise ValueError(
                f"bend={self.bend!r}: expected a limb that is bent at rest, a hinge as the limit of "
                f"{skeleton.names[limb.mid]!r}, or side; got none of them"
            )

    def _goals(self, skeleton: Skeleton, targets: Mapping[str, Array]) -> list[Goal]:
        position = targets.get("position") if self.position_weight else None
        rotation = targets.get("rotation") if self.rotation_weight else None
        if position is None and rotation is None:
            return []
        weights: dict[str, Any] = {
            "weight": float(self.position_weight == 1),
            "rotation_weight": float(self.rotation_weight == 1),
        }
        chain = 2 if position is not None else 0
        return [Reach(self.tip, position, rotation, chain=chain, influence=self.influence, **weights)]

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return list(bends.joints_of(skeleton, self.tip)[1:])

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        return [skeleton.index(self.tip)]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        limb = bends.joints_of(job.skeleton, self.tip)
        world = job.skeleton.forward(job.pose)
        came = world.positions[:, limb.tip]
        target = job.target("position", self.position_weight, came)
        found = Proposal(job.pose)
        if target is not None:
            line = target - world.positions[:, limb.root]
            way = self._direction(job, limb, world, line)
            reach = size(world.positions[:, limb.mid] - world.positions[:, limb.root])
            pole = world.positions[:, limb.root] + way / _length(way) * reach[:, np.newaxis]
            goal = Reach(limb.tip, target, chain=2, pole=pole)
            options = self._options() | {"workers": workers}
            solution = METHODS["two_bone"].function(job.skeleton, job.pose, [goal], **options)
            found = Proposal(solution.pose, solution.status)
        return Proposal(self._turn_tip(job, limb, world, found.pose), found.status)

    def _options(self) -> dict[str, Any]:
        """Options of the closed form."""
        return {"soften": self.soften, "stretch_max": self.stretch_max}

    def _direction(self, job: Job, limb: bends.Joints, world: World, line: Array) -> Array:
        """The direction of the middle joint, perpendicular to the line from root to target."""
        skeleton, rest = job.skeleton, bends.rest_bend(job.skeleton, limb, self.side)
        now = self._current_bend(job, limb, world, rest)
        old = world.positions[:, limb.tip] - world.positions[:, limb.root]
        kept = bends.carry_direction(now, old, line)
        if self.bend == "animation" or self.bend_weight == 0:
            return kept
        if self.bend == "goal":
            if "pole" not in job.targets:
                return kept
            way = job.targets["pole"] - world.positions[:, limb.root]
        elif self.bend == "target":
            if "rotation" not in job.targets:
                return kept
            assert rest is not None  # `check`
            way = bends.tip_direction(skeleton, limb, rest, job.targets["rotation"])
        else:
            assert rest is not None
            way = bends.rest_direction(skeleton, limb, world, rest, line if self.bend == "arm" else None)
        return bends.mix_directions(kept, way, line, self.bend_weight)

    def _current_bend(self, job: Job, limb: bends.Joints, world: World, rest: bends.RestBend | None) -> Array:
        """The bend in the pose."""
        return bends.present_bend(job.skeleton, limb, world, rest, hinged=False)

    def _turn_tip(self, job: Job, limb: bends.Joints, world: World, moved: Pose) -> Pose:
        """The pose with the tip turned: following the limb, keeping its rotation, or taking that of the target."""
        wanted = job.targets.get("rotation") if self.rotation_weight else None
        if wanted is None and self.keep_rotation == 0:
            return moved
        now = job.skeleton.forward(moved)
        turn = now.rotations[:, limb.tip]
        if self.keep_rotation:
            share = np.full(len(turn), self.keep_rotation, turn.dtype)
            turn = rotations.slerp(turn, world.rotations[:, limb.tip], share)
        taken = job.rotation("rotation", self.rotation_weight, turn)
        turned = np.array(moved.rotations)
        turned[:, limb.tip] = local_of(job.skeleton, now, limb.tip, turn if taken is None else taken)
        return moved.with_rotations(turned)

    def _errors(self, job: Job) -> Array | None:
        if "position" not in job.targets:
            return None
        tip = job.skeleton.index(self.tip)
        found: Array = size(job.skeleton.forward(job.pose).positions[:, tip] - job.targets["position"])
        return found

    def _angles(self, job: Job) -> Array | None:
        if "rotation" not in job.targets or self.rotation_weight < 1:
            return None
        tip = job.skeleton.index(self.tip)
        return angle_between(job.skeleton.forward(job.pose).rotations[:, tip], job.targets["rotation"])

    def _portion(self) -> float:
        return self.position_weight


@dataclass(frozen=True, eq=False)
class LegNode(LimbNode):
    """A leg that reaches its target softly and whose knee never bends backwards: Leg IK of Unreal.

    Targets: `position` and `rotation` of the foot, in world space, and `pole` for ``bend="goal"``. Without a rotation
    the foot keeps the one that it has in the world.

    Parameters
    ----------
    tip, bend, bend_weight, position_weight, rotation_weight, side, stretch_max, influence
        As in `LimbNode`.

    keep_rotation : float, default: 1
        Share of the foot's world rotation that it keeps, where no target has a share.

    soften : float, default: 0.97
        Share of the reach at which softening starts.

    soft_influence : float, default: 1
        Share of the softening, 0 to 1.

    min_bend : float, default: 0
        Smallest angle between the bones, in radians, 0 being straight.

    max_bend : float, default: pi
        Largest angle between the bones.

    knee_follows_foot : float, default: 0
        Share of the foot's turn about the line from hip to foot that the knee makes too.

    swivel : float, default: 0
        Rotation of the knee about that line, in radians.
    """

    keep_rotation: float = 1.0
    soften: float = 0.97
    soft_influence: float = 1.0
    min_bend: float = 0.0
    max_bend: float = math.pi
    knee_follows_foot: float = 0.0
    swivel: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        unit_share(self, "soft_influence", "knee_follows_foot")

    def _options(self) -> dict[str, Any]:
        start = 1 - self.soft_influence * (1 - self.soften)
        return super()._options() | {
            "soften": start,
            "min_bend": self.min_bend,
            "max_bend": self.max_bend,
            "twist": self.swivel,
        }

    def _current_bend(self, job: Job, limb: bends.Joints, world: World, rest: bends.RestBend | None) -> Array:
        """The bend about the hinge, to its own side, whichever way the knee is bent in the pose."""
        return bends.present_bend(job.skeleton, limb, world, rest, hinged=rest is not None)

    def _direction(self, job: Job, limb: bends.Joints, world: World, line: Array) -> Array:
        way = super()._direction(job, limb, world, line)
        if not self.knee_follows_foot or "rotation" not in job.targets:
            return way
        before = rotations.conjugate(world.rotations[:, limb.tip])
        _, twist = rotations.swing_twist(rotations.multiply(job.targets["rotation"], before), line)
        identity = np.zeros_like(twist)
        identity[:, 0] = 1
        share = np.full(len(twist), self.knee_follows_foot, twist.dtype)
        return rotations.rotate(rotations.slerp(identity, twist, share), way)


def _length(way: Array) -> Array:
    """Lengths to divide by; 1 for a vector that has none."""
    long = np.asarray(size(way))[..., np.newaxis]
    return np.where(long > 0, long, long.dtype.type(1))
