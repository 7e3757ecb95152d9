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
from .armatures import CannotBakeError, hung_on, skins

# Columns of a matrix that are less askew move what is a metre away by half a millimetre, which no key can hold. Bones
# that copy each other along a spine, as Rigify's do, come to a quarter of that.
ASKEW = 5e-4
ITEMS = 16384  # bones times frames: what arrays are made of at a time, which takes a hundredth of a second


@dataclass
class Parts:
    """What matrices consist of, if nothing shears."""

    turned: np.ndarray  # (frames, bones, 4): quaternions
    moved: np.ndarray  # (frames, bones, 3)
    scaled: np.ndarray  # (frames, bones, 3)

    @classmethod
    def room(cls, frames, bones):
        """For the parts of so many, to be put; all frames of a bone lie together, as they are put."""
        return cls(*(np.empty((bones, frames, width)).swapaxes(0, 1) for width in (4, 3, 3)))

    @classmethod
    def of(cls, matrices):
        """Those of matrices, whose shear is lost."""
        return cls(bridge.rotations.from_matrix(rot.axes(matrices)), matrices[..., :3, 3], rot.sizes(matrices))

    def __len__(self):
        return len(self.moved)

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

    def volumes(self):
        """By how much they enlarge volumes, negative where they mirror."""
        x, y, z = np.moveaxis(self.scaled, -1, 0)  # np.prod takes ten times as long on so few numbers
        return x * y * z

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
    """Some bones of an armature and all above them, parents first. To be dropped before anything changes.

    What hangs on one of `copies`, {name: original}, hangs on its original instead.
    """

    def __init__(self, armature, names=None, stretched=(), copies=None):
        pose = armature.pose.bones
        if not pose:
            raise CannotBakeError(f"{armature.name} has no bones: add some in Edit Mode")
        chosen = set(pose.keys() if names is None else names)
        if missing := chosen - set(pose.keys()):
            raise CannotBakeError(f"{armature.name} has no bone {sorted(missing)[0]}: press Detect Feet again")
        deep = {}
        for name in chosen:
            _sound(pose[name], deep, copies)
        found = [(deep[bone.name], row, bone) for row, bone in enumerate(pose) if bone.name in deep]
        found.sort(key=lambda each: each[:2])
        self.pose, self.rows = [bone for *_, bone in found], [row for _, row, _ in found]
        self.rest = [bone.bone for bone in self.pose]
        self.names = [bone.name for bone in self.pose]
        self.stretched = [n for n, name in enumerate(self.names) if name in stretched]
        place = {name: number for number, name in enumerate(self.names)}
        hung = [hung_on(bone, copies) for bone in self.pose]
        self.parents = np.array([place[bone.name] if bone else -1 for bone in hung], int)
        self.tips = [n for n, bone in enumerate(self.rest) if not bone.children] if not skins(armature) else []

    def __len__(self):
        return len(self.names)

    @cached_property
    def at_rest(self):
        """The bones at rest in the space of their parents: Parts of one frame."""
        rest, below = self._rest_matrices(), np.flatnonzero(self.parents >= 0)
        local = rest.copy()
        local[below] = rot.inverse(rest[self.parents[below]]) @ rest[below]
        return Parts.of(local[np.newaxis])

    def _rest_matrices(self):
        """Those of the bones at rest in armature space: all at once, as each alone takes long."""
        every = self.rest[0].id_data.bones
        flat, place = np.empty(16 * len(every), np.float32), {name: n for n, name in enumerate(every.keys())}
        every.foreach_get("matrix_local", flat)
        return stage.matrices(flat)[[place[name] for name in self.names]].astype(float)

    def locals(self, poses):
        """The Parts of bones in the space of their parents, from matrices in armature space."""
        local = Parts.room(len(poses), len(self))
        for some, share in pieces(range(len(self)), len(poses)):
            own, below = poses[:, some], self.parents[some] >= 0
            own[:, below] = rot.inverse(poses[:, self.parents[some][below]]) @ own[:, below]
            local.put(some, self.unsheared(own, some))
            yield share
        return local

    def unsheared(self, matrices, some):
        """The Parts of the matrices of some bones, if that is what they consist of."""
        parts = Parts.of(matrices)
        x, y, z = np.moveaxis(rot.axes(matrices), -1, 0)
        across = [np.abs(rot.dot(*pair)).max(axis=0) for pair in ((x, y), (y, z), (z, x))]
        sheared = np.max(across, axis=0) > ASKEW
        if sheared.any():
            raise CannotBakeError(
                f"{self.names[some[sheared.argmax()]]} is sheared by the uneven scale of a parent: apply that scale, "
                "or set Inherit Scale of the bone to Full"
            )
        return Parts(bridge.rotations.continuous(parts.turned), parts.moved, parts.scaled)

    def hung(self, basis):
        """The Parts of bones in the space of their parents, from those of what their channels say."""
        if not all(map(hang.is_plain, self.rest)):
            poses = yield from stage.between(self._posed(basis), 0.0, 0.5)
            return (yield from stage.between(self.locals(poses), 0.5, 1.0))
        local = Parts.room(*basis.moved.shape[:2])
        for some, share in pieces(range(len(self)), len(local)):
            local.put(some, basis[some].under(self.at_rest[some]))
            yield share
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
        odd = [row for row, n in enumerate(numbers) if not hang.is_plain(self.rest[n])]
        poses = (yield from stage.between(self.poses(local), 0.0, 0.5)) if odd else None
        basis, numbers = Parts.room(len(local), len(numbers)), np.array(numbers, int)
        for some, share in pieces(range(len(numbers)), len(local)):
            basis.put(some, local[numbers[some]].seen_from(self.at_rest[numbers[some]]))
            yield 0.5 + 0.4 * share
        for row in odd:
            n = numbers[row]
            basis.put(row, Parts.of(hang.based(self.rest[n], poses[:, self.parents[n]], poses[:, n])))
            yield 0.9 + 0.1 * (row + 1) / len(numbers)
        return basis

    def forward(self, local, tails=()):
        """Where bones are in armature space and how they are turned, with the tails (bone, length) as the last ones."""
        skeleton, count = self._skeleton(tails), len(tails)
        turned = np.concatenate([local.turned, np.tile([1.0, 0, 0, 0], (len(local), count, 1))], axis=1)
        moved = np.concatenate([local.moved, np.tile(skeleton.offsets[len(self) :], (len(local), 1, 1))], axis=1)
        scaled = np.concatenate([local.scaled, np.ones((len(local), count, 3))], axis=1)
        world = skeleton.forward(bridge.library.Pose(turned, moved, scaled if (scaled != 1.0).any() else None))
        return world.positions, world.rotations

    def _skeleton(self, tails):
        """The bones as joints, as they rest, with tails."""
        parents = [*self.parents, *(self.names.index(name) for name, _ in tails)]
        offsets = np.concatenate([self.at_rest.moved[0], np.reshape([[0, far, 0] for _, far in tails], (-1, 3))])
        return bridge.library.Skeleton(parents, offsets)

    def poses(self, local):
        """Matrices in armature space."""
        poses = np.empty((*local.moved.shape[:2], 4, 4))
        for some, share in pieces(range(len(self)), len(local)):
            poses[:, some] = local[some].matrices()
            yield 0.5 * share
        for n, parent in enumerate(self.parents):
            if parent >= 0:
                poses[:, n] = poses[:, parent] @ poses[:, n]
            yield 0.5 + 0.5 * (n + 1) / len(self)
        return poses


def _sound(bone, deep, copies):
    """Find how many bones a pose bone and each above it hang on, by name: what is known is not asked again."""
    if bone.name not in deep:
        parent = hung_on(bone, copies)
        deep[bone.name] = _sound(parent, deep, copies) + 1 if parent else 0
    return deep[bone.name]


def pieces(numbers, frames):
    """Numbers of bones, some at a time, and the share that is done with them: so many that it does not take long."""
    numbers = np.asarray(numbers)
    step = max(1, ITEMS // max(frames, 1))
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step], min(start + step, len(numbers)) / len(numbers)
