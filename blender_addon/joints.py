# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones of an armature as joints: how they hang on each other, at rest and in poses.

Everything is over (frames, bones), matrices or the Parts of them: `local` is a bone in the space of its parent, a root
in that of the armature; `basis` is what its channels say. What takes long on many frames is a generator that yields the
share that is done.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import bridge, hang, stage
from . import rotations as rot
from .armatures import CannotBakeError, skins


@dataclass
class Parts:
    """What matrices consist of, if nothing shears."""

    turned: np.ndarray  # (frames, bones, 4): quaternions
    moved: np.ndarray  # (frames, bones, 3)
    scaled: np.ndarray  # (frames, bones, 3)

    @classmethod
    def room(cls, frames, bones):
        """For the parts of so many, to be put."""
        return cls(*(np.empty((frames, bones, width)) for width in (4, 3, 3)))

    @classmethod
    def of(cls, matrices):
        """Those of matrices, whose shear is lost."""
        return cls(bridge.rotations.from_matrix(rot.axes(matrices)), matrices[..., :3, 3], rot.sizes(matrices))

    def __getitem__(self, bones):
        return Parts(self.turned[:, bones], self.moved[:, bones], self.scaled[:, bones])

    def at(self, frames):
        """Those of some frames."""
        return Parts(self.turned[frames], self.moved[frames], self.scaled[frames])

    def put(self, bones, parts):
        """Other ones for some bones, or one."""
        self.turned[:, bones], self.moved[:, bones], self.scaled[:, bones] = parts.turned, parts.moved, parts.scaled

    def matrices(self):
        """The matrices that consist of these."""
        made = np.zeros((*self.moved.shape[:-1], 4, 4))
        made[..., :3, :3] = bridge.rotations.to_matrix(self.turned) * self.scaled[..., np.newaxis, :]
        made[..., :3, 3], made[..., 3, 3] = self.moved, 1.0
        return made

    def under(self, rest):
        """In the space where `rest` is, which has no scale."""
        turned = bridge.rotations.multiply(rest.turned, self.turned)
        return Parts(turned, rest.moved + bridge.rotations.rotate(rest.turned, self.moved), self.scaled)

    def seen_from(self, rest):
        """In the space of `rest`, which has no scale: what `under` does, backwards."""
        back = bridge.rotations.conjugate(rest.turned)
        turned = bridge.rotations.multiply(back, self.turned)
        return Parts(turned, bridge.rotations.rotate(back, self.moved - rest.moved), self.scaled)


class Bones:
    """Some bones of an armature and all above them, parents first. To be dropped before anything changes."""

    def __init__(self, armature, names=None, stretched=()):
        pose = armature.pose.bones
        chosen = set(pose.keys() if names is None else names)
        if missing := chosen - set(pose.keys()):
            raise CannotBakeError(f"{armature.name} has no bone {sorted(missing)[0]}: detect the feet again")
        chosen |= {parent.name for name in chosen for parent in pose[name].parent_recursive}
        self.pose = sorted((bone for bone in pose if bone.name in chosen), key=lambda bone: len(bone.parent_recursive))
        self.rest = [bone.bone for bone in self.pose]
        self.names = [bone.name for bone in self.pose]
        self.rows = [pose.find(name) for name in self.names]
        self.stretched = [n for n, name in enumerate(self.names) if name in stretched]
        place = {name: number for number, name in enumerate(self.names)}
        self.parents = np.array([place[bone.parent.name] if bone.parent else -1 for bone in self.pose], int)
        self.tips = [n for n, bone in enumerate(self.rest) if not bone.children] if not skins(armature) else []

    def __len__(self):
        return len(self.names)

    @cached_property
    def at_rest(self):
        """The bones at rest in the space of their parents: Parts of one frame."""
        rest, below = np.array([bone.matrix_local for bone in self.rest]), np.flatnonzero(self.parents >= 0)
        local = rest.copy()
        local[below] = np.linalg.inv(rest[self.parents[below]]) @ rest[below]
        return Parts.of(local[np.newaxis])

    def locals(self, poses):
        """The Parts of bones in the space of their parents, from matrices in armature space."""
        local = Parts.room(len(poses), len(self))
        for n, parent in enumerate(self.parents):
            own = poses[:, n] if parent < 0 else np.linalg.inv(poses[:, parent]) @ poses[:, n]
            local.put(n, self.unsheared(own, n))
            yield (n + 1) / len(self)
        return local

    def unsheared(self, matrices, n):
        """The Parts of a bone's matrices, if that is what they consist of."""
        parts = Parts.of(matrices)
        axes = matrices[..., :3, :3] / parts.scaled[..., np.newaxis, :]
        if np.abs(np.swapaxes(axes, -1, -2) @ axes - np.eye(3)).max() > rot.UNEVEN:
            raise CannotBakeError(
                f"{self.names[n]} is sheared by a scale above it that is not the same in all directions: "
                "even that scale out, or set Inherit Scale of the bone to Full"
            )
        return Parts(bridge.rotations.continuous(parts.turned), parts.moved, parts.scaled)

    def hung(self, basis):
        """The Parts of bones in the space of their parents, from those of what their channels say."""
        if not all(map(hang.is_plain, self.rest)):
            poses = yield from stage.between(self._posed(basis), 0.0, 0.5)
            return (yield from stage.between(self.locals(poses), 0.5, 1.0))
        local = Parts.room(*basis.moved.shape[:2])
        for n in range(len(self)):
            local.put(n, basis[n].under(self.at_rest[n]))
            yield (n + 1) / len(self)
        return local

    def _posed(self, basis):
        """Matrices in armature space, however bones hang on each other."""
        poses = np.empty((*basis.moved.shape[:2], 4, 4))
        for n, (bone, parent) in enumerate(zip(self.rest, self.parents, strict=True)):
            poses[:, n] = hang.posed(bone, poses[:, parent], basis[n].matrices())  # a root looks at no parent
            yield (n + 1) / len(self)
        return poses

    def based(self, local, numbers):
        """What the channels of some of the bones say, from where bones are in the space of their parents: Parts."""
        odd = [n for n in numbers if not hang.is_plain(self.rest[n])]
        poses = (yield from stage.between(self.poses(local), 0.0, 0.5)) if odd else None
        basis = Parts.room(len(local.moved), len(numbers))
        for row, n in enumerate(numbers):
            if n in odd:
                basis.put(row, Parts.of(hang.based(self.rest[n], poses[:, self.parents[n]], poses[:, n])))
            else:
                basis.put(row, local[n].seen_from(self.at_rest[n]))
            yield 0.5 + 0.5 * (row + 1) / len(numbers)
        return basis

    def poses(self, local):
        """Matrices in armature space."""
        poses = np.empty((*local.moved.shape[:2], 4, 4))
        for n, parent in enumerate(self.parents):
            own = local[n].matrices()
            poses[:, n] = own if parent < 0 else poses[:, parent] @ own
            yield (n + 1) / len(self)
        return poses
