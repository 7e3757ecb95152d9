"""A node that puts the feet of single poses on the ground, by the stages of `FootPlacer`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ikcore._joints import ancestors
from ikcore.bodies.nodes.bend import joints_of
from ikcore.bodies.nodes.limbs import LegNode
from ikcore.bodies.nodes.node import Job, Node, Proposal, run_in_turn
from ikcore.bodies.nodes.turns import unit_share
from ikcore.feet.detect import Feet
from ikcore.feet.foot_placer import FootPlacer
from ikcore.feet.leg_points import leg_points
from ikcore.feet.placed_feet import PlacedFeet
from ikcore.grounds.ground import Ground
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.status import Status

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class GroundNode(Node):
    """Feet stand on the ground, and the pelvis moves so that legs reach: Grounder of Final IK, Power IK.

    Every pose is placed independently, as the first frame of a `FootPlacer`. Use `FootPlacer` for motion. Targets, both
    optional: `floor`, the height of the ground in the animation (default 0), and `velocity`, by which the body leans on
    slopes.

    Parameters
    ----------
    ground : Ground
        The ground.

    feet : Feet, optional
        The legs and their soles (default: `Feet.detect`).

    max_step : float, default: 0.5
        Ground farther above or below the floor than this is ignored, in metres for a leg of 0.87 m.

    height_offset : float, default: 0
        Height of the feet above the ground, in the unit of the skeleton.

    foot_rotation_weight : float, default: 1
        Share of the slope that the soles take.

    max_pitch, max_roll : float, default: 0.698, 0.349
        Greatest slope of the soles from heel to toe and across, in radians.

    max_slope : float, default: 0.873
        Steeper ground is ignored, in radians.

    lower_pelvis_weight, lift_pelvis_weight : float, default: 1
        Shares of the pelvis's offset downwards and upwards, 0 to 1.

    max_pelvis_offset : float, optional
        Greatest offset of the pelvis, in metres for a leg of 0.87 m. Default: no bound.

    max_extension : float, default: 0.999
        The pelvis keeps the feet within this share of the leg's length.

    spine : str or int, optional
        The joint that leans. Default: none.

    lean_uphill, lean_downhill : float, default: 0.3, 0.5
        Share of the slope by which it leans.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    ground: Ground
    feet: Feet | None = None
    max_step: float = 0.5
    height_offset: float = 0.0
    foot_rotation_weight: float = 1.0
    max_pitch: float = math.radians(40)
    max_roll: float = math.radians(20)
    max_slope: float = math.radians(50)
    lower_pelvis_weight: float = 1.0
    lift_pelvis_weight: float = 1.0
    max_pelvis_offset: float | None = None
    max_extension: float = 0.999
    spine: str | int | None = None
    lean_uphill: float = 0.3
    lean_downhill: float = 0.5

    takes: ClassVar[Mapping[str, int]] = {"floor": 0, "velocity": 3}
    main: ClassVar[str] = "floor"

    def __post_init__(self) -> None:
        unit_share(self, "foot_rotation_weight", "lower_pelvis_weight", "lift_pelvis_weight", "max_extension")

    def legs(self, skeleton: Skeleton) -> Feet:
        """The legs."""
        return self.feet or Feet.detect(skeleton)

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        feet = [skeleton.index(leg.foot) for leg in self.legs(skeleton)]
        legs = [joint for foot in feet for joint in joints_of(skeleton, foot)[1:]]
        return [ancestors(skeleton, feet[0])[-1], *legs]

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        return [skeleton.index(leg.foot) for leg in self.legs(skeleton)]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        feet, count = self.legs(job.skeleton), len(job.pose)
        placed = self._placer(count, len(feet)).step(
            leg_points(job.skeleton, job.pose, feet),
            1 / 60,
            ground=self.ground,
            floor=job.targets.get("floor", np.zeros(count)) - self.height_offset,
            velocity=job.targets.get("velocity"),
            workers=workers,
        )
        said = np.bitwise_or.reduce(placed.status, axis=-1)
        spine = None if self.spine is None else job.skeleton.names[job.skeleton.index(self.spine)]
        pose = placed.apply(job.skeleton, job.pose, feet, spine=spine)
        narrow = Pose(pose.rotations.astype(job.pose.dtype), np.asarray(pose.translations, job.pose.dtype))
        return self._weigh_pelvis(job, narrow, placed, feet, said, workers)

    def _placer(self, count: int, legs: int) -> FootPlacer:
        return FootPlacer(
            count,
            legs,
            up=self.ground.up,
            max_step=self.max_step,
            max_slope=self.max_slope,
            align=self.foot_rotation_weight,
            max_pitch=self.max_pitch,
            max_roll=self.max_roll,
            pelvis_max_offset=self.max_pelvis_offset,
            max_extension=self.max_extension,
            lean_uphill=self.lean_uphill if self.spine is not None else 0.0,
            lean_downhill=self.lean_downhill if self.spine is not None else 0.0,
        )

    def _weigh_pelvis(
        self, job: Job, pose: Pose, placed: PlacedFeet, feet: Feet, said: Array, workers: int | None
    ) -> Proposal:
        """The pose with the pelvis's offset by its weights; legs reach for the places of their feet again."""
        up = placed.pelvis[:, "xyz".index(self.ground.up)]
        share = np.where(up < 0, self.lower_pelvis_weight, self.lift_pelvis_weight).astype(pose.dtype)
        if (share == 1).all() or not len(job.pose):
            return Proposal(pose, said)
        root = self.moves(job.skeleton)[0]
        moved = np.array(pose.translations)
        moved[:, root] -= (1 - share)[:, np.newaxis] * placed.pelvis.astype(pose.dtype)
        turns = job.skeleton.forward(pose).rotations
        steps = []
        for number, leg in enumerate(feet):
            foot = job.skeleton.index(leg.foot)
            targets = {"position": placed.ankles[:, number].astype(pose.dtype), "rotation": turns[:, foot]}
            steps.append(_reach(LegNode(foot, soften=1.0), targets, workers))
        found = run_in_turn(job.with_pose(pose.with_rotations(np.asarray(pose.rotations), moved)), steps)
        return Proposal(found.pose, np.where(share == 1, said, found.status | said & int(Status.NOT_FINITE)))


def _reach(node: Node, targets: dict[str, Array], workers: int | None) -> Any:
    """A node with its targets as a step of `run_in_turn`."""
    return lambda now: node.solve_step(now._replace(targets=targets), workers)
