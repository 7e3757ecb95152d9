# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones of an armature as joints: how they hang on each other, at rest and in poses.

Everything is an array over (frames, bones, 4, 4): `local` is a bone in the space of its parent, a root in that of the
armature; `basis` is what its channels say.
"""

import numpy as np

from . import hang
from .armatures import CannotBakeError, skins


class Bones:
    """Some bones of an armature and all above them, parents first. To be dropped before anything changes."""

    def __init__(self, armature, names=None):
        pose = armature.pose.bones
        chosen = set(pose.keys() if names is None else names)
        if missing := chosen - set(pose.keys()):
            raise CannotBakeError(f"{armature.name} has no bone {sorted(missing)[0]}: detect the feet again")
        chosen |= {parent.name for name in chosen for parent in pose[name].parent_recursive}
        self.pose = sorted((bone for bone in pose if bone.name in chosen), key=lambda bone: len(bone.parent_recursive))
        self.rest = [bone.bone for bone in self.pose]
        self.names = [bone.name for bone in self.pose]
        self.rows = [pose.find(name) for name in self.names]
        place = {name: number for number, name in enumerate(self.names)}
        self.parents = np.array([place[bone.parent.name] if bone.parent else -1 for bone in self.pose], int)
        self.tips = [n for n, bone in enumerate(self.rest) if not bone.children] if not skins(armature) else []

    def __len__(self):
        return len(self.names)

    def poses(self, local):
        """The bones in armature space."""
        poses = local.copy()
        for number, parent in enumerate(self.parents):
            if parent >= 0:
                poses[:, number] = poses[:, parent] @ local[:, number]
        return poses

    def locals(self, poses):
        """The bones in the space of their parents."""
        local, below = poses.copy(), np.flatnonzero(self.parents >= 0)
        local[:, below] = np.linalg.inv(poses[:, self.parents[below]]) @ poses[:, below]
        return local

    def based(self, local, numbers):
        """What the channels of some of the bones say."""
        rest = self.rest
        poses = self.poses(local) if any(not hang.is_plain(rest[n]) for n in numbers) else local
        result = np.empty((len(local), len(numbers), 4, 4))
        for row, n in enumerate(numbers):
            if hang.is_plain(rest[n]):
                result[:, row] = np.linalg.inv(hang.to_parent(rest[n])) @ local[:, n]
            else:
                result[:, row] = hang.based(rest[n], poses[:, self.parents[n]], poses[:, n])
        return result

    def hung(self, basis):
        """The bones in the space of their parents, from what their channels say."""
        if all(map(hang.is_plain, self.rest)):
            return np.stack([hang.to_parent(bone) for bone in self.rest]) @ basis
        poses = np.empty_like(basis)
        for n, (bone, parent) in enumerate(zip(self.rest, self.parents, strict=True)):
            poses[:, n] = hang.posed(bone, poses[:, parent], basis[:, n])  # a root looks at no parent
        return self.locals(poses)
