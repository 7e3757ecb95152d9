"""Legs solved again under a pelvis that moves otherwise, with their feet locked in place."""

from __future__ import annotations

import numpy as np

from ikcore._arrays import size
from ikcore.bake.legs import STRAIGHTEST, SolvedLeg, hinges_of
from ikcore.bake.legs import bend as bend_leg
from ikcore.bake.motion import LegMotion, legs_of, place_of
from ikcore.bake.pelvis import Body
from ikcore.bake.scene import IDENTITY, Array
from ikcore.bake.write import bend, moves_of, moves_with_body, tilt_of, turns_of, write_pose
from ikcore.clips.clip import Clip
from ikcore.feet.detect import Feet


class LockedFeet:
    """Solves the legs of a clip again after its pelvis, which carries all of them, was moved."""

    def __init__(self, clip: Clip, feet: Feet, joint: str) -> None:
        self.clip = clip
        self.joint = clip.skeleton.index(joint)
        self.pivot = place_of(clip, self.joint)
        self.motions = legs_of(clip, feet)
        self._hinges = [hinges_of(motion) for motion in self.motions]
        self._reach = [_reach(motion) for motion in self.motions]

    def away(self, shift: Array, tilt: Array) -> tuple[Array, Array]:
        """Largest displacements of knees and of feet from the clip, (frames,) each."""
        knees, feet = np.zeros(len(self.clip)), np.zeros(len(self.clip))
        for motion, bent in zip(self.motions, self._solve_legs(Body(self.pivot, tilt, shift)), strict=True):
            apart = size(bent.chain - motion.chain)
            knees = np.maximum(knees, apart[:, 1:-1].max(axis=1, initial=0.0))
            feet = np.maximum(feet, apart[:, -1])
        return knees, feet

    def with_pelvis(self, shift: Array, tilt: Array) -> Clip:
        """The clip with its pelvis shifted by (frames, 3) and rotated by (frames, 4), and feet in place."""
        body, still = Body(self.pivot, tilt, shift), np.broadcast_to(IDENTITY, tilt.shape)
        turns, moves = [], []
        for motion, bent in zip(self.motions, self._solve_legs(body), strict=True):
            turns.append(turns_of(motion, bent.deltas, still, still))
            moves += moves_of(motion, motion.ankle)
        turned = self.clip.pose.rotations.copy()
        bend(self.clip, slice(None), turned, self.joint, tilt_of(body), turns)
        return write_pose(self.clip, self.joint, shift, turned, moves_with_body(self.clip, self.joint, body, moves))

    def _solve_legs(self, body: Body) -> list[SolvedLeg]:
        legs = zip(self.motions, self._hinges, self._reach, strict=True)
        return [_solve_leg(motion, body, hinges, reach) for motion, hinges, reach in legs]


def _reach(motion: LegMotion) -> Array:
    """Largest reach of each leg: slightly less than straight, unless it is straighter in the clip."""
    if motion.leg.free:
        return np.full(len(motion.chain), np.inf)
    bones = np.add.accumulate(size(np.diff(motion.chain, axis=1)), axis=1)[:, -1]
    return np.asarray(np.maximum(STRAIGHTEST * bones, size(motion.chain[:, -1] - motion.chain[:, 0])))


def _solve_leg(motion: LegMotion, body: Body, hinges: Array, reach: Array) -> SolvedLeg:
    hip = body.new_positions(motion.chain[:, 0])
    return bend_leg(motion.chain, motion.turns, hinges, hip, motion.ankle, reach, body=body)[0]
