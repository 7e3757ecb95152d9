# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the controls of a baked leg, for rigs that switch legs between FK and IK.

The foot control moves with the foot, that of a paw with its toe, so that rolls and heels keep their animation. Toes,
and pole or twist, follow as in switching.py. If FK also has influence, it gets the same pose, so the blend does not
matter.
"""

import contextlib

import bpy
import numpy as np

from .. import bridge
from ..animation import actions, scene_frames
from ..fk import switching
from ..fk.switching import without_scale
from ..rig import rotations as rot
from ..rig.joints import Bones

SAME = 1e-6  # tolerance of a matrix, in leg lengths
OFF = 1e-3  # position error of a foot, in leg lengths, that is accepted to place its knee


def channels(context, job, seen, baked, others, keyed):
    """The channels of controls that place switched legs as baked, on the baked frames.

    The result holds under `others`, channels of the body with values on the frames `keyed`. A generator that yields
    progress; a copy of the action plays meanwhile.
    """
    frames = job.frames[slice(*job.part)]
    taken = yield from scene_frames.run_part(_legs_to_move(job, seen, baked, bool(others)), 0.0, 0.1)
    if not taken:
        return []

    def again():
        return scene_frames.visit(
            context, frames, lambda depsgraph, number: [each.read(depsgraph, number) for each in taken]
        )

    with scene_frames.restore_after(context, [job.armature], poses=True):
        (plan,) = yield from scene_frames.run_part(
            actions.copy_actions([(job.armature, others)], keyed, "Foot IK"), 0.1, 0.2
        )
        with _play_temporarily(plan):
            yield from scene_frames.run_part(again(), 0.2, 0.3)
            work = switching.channels_by_armature(taken, lambda each: each.first())
            steps = actions.overwrite(work, frames, 0.0, switching.hung(taken, frames, again, still=False))
            yield from scene_frames.run_part(steps, 0.3, 1.0)
            return [channel for each in taken for channel in each.all_channels()]


def _legs_to_move(job, seen, baked, moved):
    """The legs that must move, or whose body is `moved`: a generator like `channels`."""
    if not job.switched:
        return []
    bones = Bones(job.armature, seen.reading.bones, copies=job.copies)
    clips = (baked.clip, seen.reading.clip, seen.clip)
    poses, taken = [], []
    for number, clip in enumerate(clips):
        local = yield from scene_frames.run_part(seen.reading.locals(clip), number / 3, (number + 0.5) / 3)
        steps = bones.poses(local)
        poses.append((yield from scene_frames.run_part(steps, (number + 0.5) / 3, (number + 1) / 3))[slice(*job.part)])
    for leg in job.legs:
        each = job.switched.get(leg.name)
        if each and (job.chosen is None or leg.name in job.chosen):
            names = [*each.limb.shown, *([each.limb.paw.toe] if each.limb.paw else [])]
            rows = [bones.names.index(name) for name in names]
            wanted, *before = (np.swapaxes(pose[:, rows], 0, 1) for pose in poses)
            if moved or any(np.abs(wanted - was).max() > SAME * _size(wanted) for was in before):
                taken.append(BakedLimb(each, wanted))
    return taken


def _size(poses):
    """The length of a leg."""
    return np.linalg.norm(np.diff(poses[:3, 0, :3, 3], axis=0), axis=-1).sum()


@contextlib.contextmanager
def _play_temporarily(plan):
    """Play an action temporarily and remove it afterwards."""
    armature, action, slot = plan
    _, own, own_slot = actions.assignment(armature)
    try:
        actions.assign(armature, action, slot)
        yield
    finally:
        actions.assign(armature, own, own_slot)
        bpy.data.actions.remove(action)


class BakedLimb(switching.LimbFrames):
    """A limb whose controls are to show its baked pose."""

    def __init__(self, switched, poses):
        limb, count = switched.limb, poses.shape[1]
        self.switched, self.above = switched, limb.turned if switched.fk else ()
        super().__init__(limb, count, to_ik=True)
        self.fk, self.put_so_far = poses[: len(limb.fk)], {}
        self.standing = poses[-1]  # of a paw: the toe
        self.target, self.socket, self.hanging = np.empty((3, count, 4, 4))
        self.own = np.empty((3, count, 4, 4))  # FK thigh, shin and foot, with their own lengths

    def key_channels(self):
        """The controls of IK and FK, and the toe of a paw in FK."""
        both = ["location", "rotation"]
        fk = [(name, self.free(name) if n > 2 else both[1:]) for n, name in enumerate(self.above)]
        return fk + (super().key_channels() if self.switched.ik else [(self.limb.paw.toe, both[1:])])

    def rest(self):
        """No controls: the roll of a foot is kept."""
        return ()

    def read_fk(self, bones, number):
        """Read bones that move with the foot control; the FK pose is already known."""
        self.target[number] = bones[self.limb.target].matrix
        self.own[:, number] = [bones[name].matrix for name in self.limb.fk[:3]]
        if self.limb.paw:
            self.socket[number], self.hanging[number] = (
                bones[name].matrix for name in (self.limb.paw.socket, self.limb.paw.hanging)
            )

    def first(self, switch=False):
        """The channels of the foot control and of FK."""
        if self.switched.fk and self.switched.ik:
            self.fk[:2] = _reach_feet(self.fk[:3], self.own)
        channels, above = self._foot() if self.switched.ik else [], None
        for name, copied, wanted in zip(self.above, self.limb.fk, self.fk, strict=False):
            channels += self.control_channels(name, self.rigid_matrices(wanted, copied, name), above)
            above = self.controls[name]
        channels += [] if self.switched.ik else self._toe()
        self.written = True
        return self._store(channels)

    def _foot(self):
        """The channels of the foot control, and of the control that rotates the pastern of a hoof."""
        limb = self.limb
        if limb.paw:  # its support may be out of reach, so its toe may be elsewhere
            on_toe = rot.inverse(without_scale(self.toe)) @ without_scale(self.hanging)
            gone = without_scale(self.standing) @ on_toe @ rot.inverse(without_scale(self.socket))
        else:
            gone = self.rigid_matrices(self.fk[2], limb.ik[2], limb.target) @ rot.inverse(without_scale(self.target))
        control = self.controls[limb.control]
        return self.control_channels(limb.control, gone @ rot.inverse(self.spaces) @ control.world) + self.pastern()

    def _toe(self):
        """The channels of the toe of a paw, which is a child of the FK foot."""
        paw, toe = self.limb.paw, self.controls[self.limb.paw.toe]
        basis = toe.basis(toe.world)
        toe.parents = self.rigid_matrices(self.fk[-1], paw.foot, paw.hanging)
        basis.turned = toe.basis(self.spaces @ without_scale(self.standing)).turned
        return toe.channels(basis)

    def second(self):
        """The channels of children of the IK foot, which is in place."""
        return self._store(super().second()) if self.switched.ik else []

    def all_channels(self):
        """All channels that get keys."""
        self._store(self.turns.channels() if self.turns else [])
        return list(self.put_so_far.values())

    def _store(self, channels):
        self.put_so_far |= {(channel.path, channel.index): channel for channel in channels}
        return channels


def _reach_feet(poses, own):
    """Thigh and shin of these poses, rotated so that the foot is in place with the lengths of its `own` bones.

    A blend of FK and IK has other lengths, and bones that do not point at each other. The foot need not be exactly in
    place, because the knee of a nearly straight leg would move far for it.
    """
    hip, ankle = poses[0, :, :3, 3], poses[2, :, :3, 3]
    bones = np.diff(own[..., :3, 3], axis=0)[..., np.newaxis]
    shin, foot = (rot.axes(poses[:2]) @ np.swapaxes(rot.axes(own[:2]), -1, -2) @ bones)[..., 0]
    mid, end = hip + shin, hip + shin + foot
    if rot.lengths_of(end - ankle).max() < OFF * _size(poses):
        return poses[:2]
    limb = bridge.two_bone(hip, mid, end, ankle)
    made = poses[:2].copy()
    turns = limb.root, bridge.rotations.multiply(limb.root, limb.mid)
    for pose, turned, place in zip(made, turns, (hip, limb.positions[:, 1]), strict=True):
        pose[:, :3, :3] = bridge.rotations.to_matrix(turned) @ pose[:, :3, :3]
        pose[:, :3, 3] = place
    return made
