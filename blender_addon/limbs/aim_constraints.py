# SPDX-License-Identifier: GPL-3.0-or-later
"""Re-solve aim constraints: Damped Track, Track To and Locked Track, of single bones or bones that share the rotation.

Bones rotate in the order of Blender's constraint evaluation, each from the result of the previous one.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from .. import bridge
from ..feet.foot_report import in_degrees
from ..rig import rotations as rot
from ..ui.background import in_thread
from . import unconstrained

ASKEW = np.radians(0.05)  # report threshold
UNTURNED = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass
class _Aim:
    """The settings of a constraint."""

    number: int  # of the limb
    label: str
    chain: tuple[str, ...]
    kind: str
    forward: list  # the axis that points at the target
    up: list | None  # the up axis, or the locked one
    of_target: bool  # True if up is that of the target


def prepare(context, limbs, frames):
    """Prepare the bake of these limbs: a generator that yields progress and returns a `PreparedBake`.

    The bones of a limb share its rotation.
    """
    return unconstrained.prepare(context, limbs, frames, _Tracks)


class _Tracks(unconstrained.UnconstrainedBones):
    """The bones that some constraints of an armature aim, over some frames."""

    def __init__(self, armature, limbs, frames):
        super().__init__(armature, limbs, sorted({name for limb in limbs for name in limb.chain}), frames)

    def what(self):
        return "1 constraint" if len(self.limbs) == 1 else f"{len(self.limbs)} constraints"

    def solve(self, clip):
        bones = self.armature.pose.bones
        order = {limb: (len(bones[limb.owner].parent_recursive), n) for n, limb in enumerate(self.limbs)}
        aims = [self._aim(n) for n in sorted(range(len(self.limbs)), key=lambda n: order[self.limbs[n]])]
        return (yield from in_thread(lambda _: self._turn_bones(clip, aims)))

    def _aim(self, n):
        """The settings of a constraint, by value."""
        limb, ik = self.limbs[n], self.limbs[n].ik
        forward, up = _axis(ik.track_axis), None
        if ik.type == "TRACK_TO":
            up = _axis(ik.up_axis)
        elif ik.type == "LOCKED_TRACK":
            up = _axis(ik.lock_axis)
        return _Aim(
            n, f"{ik.name} of {limb.owner}", limb.chain, ik.type, forward, up, getattr(ik, "use_target_z", False)
        )

    def _turn_bones(self, clip, aims):
        """The clip with all bones rotated, one constraint after the other. Without bpy."""
        for aim in aims:
            joints = [clip.skeleton.index(name) for name in aim.chain]
            world = clip.skeleton.forward(clip.pose)
            aimed = bridge.look(
                world.positions[:, joints],
                world.rotations[:, joints[-1]],
                **self._targets(aim, world.positions[:, joints[-1]], world.rotations[:, joints[-1]]),
                forward=aim.forward,
                up=aim.up,
            )
            influence = self.values["influence"][:, aim.number]
            self._note(aim, influence, aimed.error)
            # not the influence of `look`: Blender interpolates uniformly
            turns = bridge.rotations.slerp(UNTURNED, aimed.deltas, influence[:, np.newaxis])
            clip = _turn_joints(clip, joints, world.rotations, turns)
        return clip

    def _targets(self, aim, place, turn):
        """Targets of the main axis and of the other one; an up target is far away."""
        target = self.places[:, aim.number, :3, 3]
        if aim.kind == "LOCKED_TRACK":
            locked = bridge.rotations.rotate(turn, np.array(aim.up))
            return {"target": place + rot.across(target - place, locked), "pole": place + locked}
        if aim.kind == "TRACK_TO":
            above = self.places[:, aim.number, :3, 2] if aim.of_target else np.array([[0.0, 0.0, 1.0]])
            return {"target": target, "pole": place + rot.unit(above)[0]}
        return {"target": target}

    def _note(self, aim, influence, error):
        """Record the frame at which an axis misses its target most, if above the threshold."""
        off = np.where(influence == 1.0, np.nan_to_num(error, nan=np.pi), 0.0)  # else it is not expected to reach it
        if off.max() > ASKEW:
            worst = int(off.argmax())
            frame = int(self.frames[worst])
            far = in_degrees(off[worst])
            self.problems.append((frame, f"{aim.label} points {far} past its target at frame {frame}"))


def _axis(word):
    """The axis of a Blender identifier such as TRACK_NEGATIVE_X."""
    axis = [0.0, 0.0, 0.0]
    axis["XYZ".index(word[-1])] = -1.0 if "NEGATIVE" in word else 1.0
    return axis


def _turn_joints(clip, joints, rotations, deltas):
    """A clip with some joints rotated in the world, each together with the previous ones."""
    quat, parents, made = bridge.rotations, clip.skeleton.parents, np.array(clip.pose.rotations)
    for n, joint in enumerate(joints):
        own = deltas[:, n]
        if (parent := int(parents[joint])) >= 0:
            above = rotations[:, parent]
            own = quat.multiply(quat.multiply(quat.conjugate(above), own), above)
        made[:, joint] = quat.multiply(own, made[:, joint])
    pose = bridge.library.Pose(made, clip.pose.translations, clip.pose.scales)
    return dataclasses.replace(clip, pose=pose)
