"""The legs of a clip over time: where their joints and soles are in the world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore._arrays import path_lengths
from ikcore.bake.scene import Array, median
from ikcore.clips.clip import Clip
from ikcore.feet import free_feet
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.soles import hung, points_and_joints, world_points
from ikcore.feet.thresholds import LEG_LENGTH

ROUNDING = 1e-9  # m for a leg of 0.87 m, and sine of an angle: smaller differences are rounding


@dataclass(slots=True, eq=False)
class LegMotion:
    """A leg over time."""

    leg: Leg  # names of its joints
    joints: list[int]  # hip to ankle; without an ankle, hip to the last knee; for a free foot, the ankle alone
    toe: int | None  # the joint at which toes bend
    chain: (
        Array  # (frames, bones + 1, 3): positions of these joints; without an ankle the tip of the leg is the last one
    )
    turns: Array  # (frames, joints, 4): world rotations of these joints
    toe_turn: Array | None  # (frames, 4): world rotations of the toe joint
    # (frames, 3): the points of the sole, and "joint", where toes bend, if they do. Foot and toes both rotate about
    # that point, so it serves as the ball. Its height counts as thickness of the sole.
    soles: dict[str, Array]
    points: Array  # (frames, points, 3): the same points in one array
    pole: Array | None  # (frames, 3): positions of the pole target of the knee
    size: float  # leg length, the median over time; for a free foot an estimate

    @property
    def scale(self) -> float:
        """Leg length relative to a human's."""
        return self.size / LEG_LENGTH

    @property
    def ankle(self) -> Array:
        """The end of the leg."""
        return self.chain[:, -1]

    @property
    def foot_turn(self) -> Array:
        """World rotations of the joint that carries the sole."""
        return self.turns[:, -1]

    @property
    def reference(self) -> Array:
        """The point of the foot whose path is planned: the ball."""
        return self.soles[self.ball] if self.ball in self.soles else self.soles.get("heel", self.ankle)

    @property
    def ball(self) -> str:
        """The name of the point that serves as the ball."""
        return "joint" if "joint" in self.soles else "ball"

    def under(self, point: str) -> str:
        """The name of the point of the sole that touches the ground below a point."""
        return "ball" if point == "joint" and "ball" in self.soles else point

    def on_toes(self, point: str) -> bool:
        """True if a point of the sole moves with toes that bend."""
        return self.toe is not None and point in self.leg.soles and self.leg.soles[point].joint == self.leg.ball

    def free_turns(self) -> None:
        """Free the memory of rotations: later stages use positions alone."""
        self.turns = self.turns[:0].copy()
        self.toe_turn = None if self.toe_turn is None else self.toe_turn[:0].copy()

    def free_frames(self) -> None:
        """Free the memory of all frames; names and lengths stay."""
        self.free_turns()
        self.chain, self.pole = self.chain[:0].copy(), None if self.pole is None else self.pole[:0].copy()
        self.points = self.points[:0].copy()
        self.soles = {point: self.points[:, at] for at, point in enumerate(self.soles)}

    def part(self, frames: slice) -> LegMotion:
        """The leg in some frames."""
        toes = None if self.toe_turn is None else self.toe_turn[frames]
        pole, points = None if self.pole is None else self.pole[frames], self.points[frames]
        soles = {point: points[:, at] for at, point in enumerate(self.soles)}
        chain, turns = self.chain[frames], self.turns[frames]
        return LegMotion(self.leg, self.joints, self.toe, chain, turns, toes, soles, points, pole, self.size)


def legs_of(clip: Clip, feet: Feet) -> list[LegMotion]:
    """All legs over the whole clip."""
    skeleton = clip.skeleton
    joints = [[skeleton.index(name) for name in (*leg.bones, _toes(leg), leg.pole) if name] for leg in feet]
    bent = {leg.name: {"joint": Sole(toes, (0.0, 0.0, 0.0))} if (toes := _toes(leg)) else {} for leg in feet}
    soles = [{**leg.soles, **bent[leg.name]} for leg in feet]
    hangs = hung(skeleton, [sole for each in soles for sole in each.values()])
    found = world_points(skeleton, clip.pose, *hangs, [joint for each in joints for joint in each])
    places, at, turns = (values.astype(np.float64, copy=False) for values in found)
    legs, point, joint = [], 0, 0
    for leg, each, names in zip(feet, joints, soles, strict=True):
        own, below = slice(joint, joint + len(each)), slice(point, point + len(names))
        points = np.ascontiguousarray(places[:, below])  # a point is contiguous over time there
        legs.append(_motion(clip, leg, each, list(names), at[:, own], turns[:, own], points))
        joint, point = own.stop, below.stop
    return legs


def _toes(leg: Leg) -> str | None:
    """The joint where toes bend."""
    return leg.ball if leg.ankle and leg.ball != leg.ankle else None


def _motion(
    clip: Clip, leg: Leg, joints: list[int], names: list[str], at: Array, turns: Array, points: Array
) -> LegMotion:
    """A leg from positions and rotations of joints (bones, toes, pole) and points of the sole, in every frame."""
    bones, toes = len(leg.bones), bool(_toes(leg))
    soles = {name: points[:, point] for point, name in enumerate(names)}
    chain = at[:, :bones] if leg.ankle else np.concatenate([at[:, :bones], soles["ball"][:, np.newaxis]], axis=1)
    length = free_feet.length_in(clip, leg) if leg.free else median(path_lengths(chain))
    if not length > 0:
        raise ValueError(f"the leg {leg.name!r} has no length")
    toe, toe_turn = (joints[bones], turns[:, bones]) if toes else (None, None)
    pole = at[:, -1] if leg.pole else None
    return LegMotion(leg, joints[:bones], toe, chain, turns[:, :bones], toe_turn, soles, points, pole, length)


def place_of(clip: Clip, joint: int) -> Array:
    """The positions of a joint over the whole clip."""
    return points_and_joints(clip.skeleton, clip.pose, [], [clip.skeleton.names[joint]])[1][:, 0]
