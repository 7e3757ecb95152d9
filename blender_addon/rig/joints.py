# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones of an armature as joints: their hierarchy, at rest and in poses.

All arrays are (frames, bones), as matrices or as their Parts. `local` is relative to the parent, or to the armature for
a root; `basis` is the value of the channels. Slow operations are generators that yield progress.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import bridge
from ..animation import scene_frames
from . import inheritance
from . import rotations as rot
from .armatures import CannotBakeError, hung_on, skins

# A shear of matrix columns below this moves a point a metre away by half a millimetre, which keys cannot store anyway.
# Bones that copy each other along a spine, as in Rigify, reach a quarter of it.
ASKEW = 5e-4
ITEMS = 16384  # bones times frames processed at a time, which takes a hundredth of a second


@dataclass
class Parts:
    """Components of matrices without shear."""

    turned: np.ndarray  # (frames, bones, 4): quaternions
    moved: np.ndarray  # (frames, bones, 3)
    scaled: np.ndarray  # (frames, bones, 3)

    @classmethod
    def room(cls, frames, bones):
        """Empty parts of this size; all frames of a bone are contiguous."""
        return cls(*(np.empty((bones, frames, width)).swapaxes(0, 1) for width in (4, 3, 3)))

    @classmethod
    def of(cls, matrices):
        """The parts of matrices; shear is lost."""
        return cls(bridge.rotations.from_matrix(rot.axes(matrices)), matrices[..., :3, 3], rot.sizes(matrices))

    def __len__(self):
        return len(self.moved)

    def __getitem__(self, bones):
        return Parts(self.turned[:, bones], self.moved[:, bones], self.scaled[:, bones])

    def at(self, frames):
        """The parts of some frames."""
        return Parts(self.turned[frames], self.moved[frames], self.scaled[frames])

    def replace(self, bones, parts):
        """Replace those of one or some bones."""
        self.turned[:, bones], self.moved[:, bones], self.scaled[:, bones] = parts.turned, parts.moved, parts.scaled

    def matrices(self):
        """The matrices composed of these."""
        made = np.zeros((*self.moved.shape[:-1], 4, 4))
        made[..., :3, :3] = bridge.rotations.to_matrix(self.turned) * self.scaled[..., np.newaxis, :]
        made[..., :3, 3], made[..., 3, 3] = self.moved, 1.0
        return made

    def volumes(self):
        """Volume factors, negative for mirroring."""
        x, y, z = np.moveaxis(self.scaled, -1, 0)  # np.prod takes ten times as long on so few numbers
        return x * y * z

    def under(self, rest):
        """Transformed by `rest`, which has no scale."""
        turned = bridge.rotations.multiply(rest.turned, self.turned)
        return Parts(turned, rest.moved + bridge.rotations.rotate(rest.turned, self.moved), self.scaled)

    def seen_from(self, rest):
        """Transformed to the space of `rest`, which has no scale: the inverse of `under`."""
        back = bridge.rotations.conjugate(rest.turned)
        turned = bridge.rotations.multiply(back, self.turned)
        return Parts(turned, bridge.rotations.rotate(back, self.moved - rest.moved), self.scaled)


class Bones:
    """Some bones of an armature and all their ancestors, parents first. Invalid after any change.

    Children of a bone in `copies`, {name: original}, are attached to its original instead.
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
            _store_depth(pose[name], deep, copies)
        found = sorted((deep[name], row, name) for row, name in enumerate(pose.keys()) if name in deep)
        self.rows, self.names = [row for _, row, _ in found], [name for *_, name in found]
        self.pose = [pose[name] for name in self.names]
        self.rest = [bone.bone for bone in self.pose]
        self.stretched = [n for n, name in enumerate(self.names) if name in stretched]
        place = {name: number for number, name in enumerate(self.names)}
        hung = (hung_on(bone, copies) for bone in self.pose)
        self.parents = np.array([place[bone.name] if bone else -1 for bone in hung], int)
        self.tips = [n for n, bone in enumerate(self.rest) if not bone.children] if not skins(armature) else []

    def __len__(self):
        return len(self.names)

    @cached_property
    def at_rest(self):
        """Rest transforms relative to the parents: Parts of one frame."""
        rest, below = self._rest_matrices(), np.flatnonzero(self.parents >= 0)
        local = rest.copy()
        local[below] = rot.inverse(rest[self.parents[below]]) @ rest[below]
        return Parts.of(local[np.newaxis])

    def _rest_matrices(self):
        """Rest matrices in armature space, read in one call, because single reads are slow."""
        every = self.rest[0].id_data.bones
        flat, place = np.empty(16 * len(every), np.float32), {name: n for n, name in enumerate(every.keys())}
        every.foreach_get("matrix_local", flat)
        return scene_frames.matrices(flat)[[place[name] for name in self.names]].astype(float)

    def locals(self, poses):
        """The Parts of bones relative to their parents, from armature-space matrices."""
        local = Parts.room(len(poses), len(self))
        for some, share in pieces(range(len(self)), len(poses)):
            own, below = poses[:, some], self.parents[some] >= 0
            own[:, below] = rot.inverse(poses[:, self.parents[some][below]]) @ own[:, below]
            local.replace(some, self.parts_without_shear(own, some))
            yield share
        return local

    def parts_without_shear(self, matrices, some):
        """The Parts of some bones' matrices, if these have no shear."""
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
        """The Parts of bones relative to their parents, from their channel values."""
        if not all(map(inheritance.is_plain, self.rest)):
            poses = yield from scene_frames.run_part(self._pose_matrices(basis), 0.0, 0.5)
            return (yield from scene_frames.run_part(self.locals(poses), 0.5, 1.0))
        local = Parts.room(*basis.moved.shape[:2])
        for some, share in pieces(range(len(self)), len(local)):
            local.replace(some, basis[some].under(self.at_rest[some]))
            yield share
        return local

    def _pose_matrices(self, basis):
        """Armature-space matrices, for any kind of inheritance."""
        poses = np.empty((*basis.moved.shape[:2], 4, 4))
        for n, (bone, parent) in enumerate(zip(self.rest, self.parents, strict=True)):
            poses[:, n] = inheritance.pose_matrices(
                bone, poses[:, parent], basis[n].matrices()
            )  # the parent of a root is ignored
            yield (n + 1) / len(self)
        return poses

    def channel_values(self, local, numbers):
        """The channel values of some bones, from transforms relative to the parents: Parts."""
        odd = [row for row, n in enumerate(numbers) if not inheritance.is_plain(self.rest[n])]
        poses = (yield from scene_frames.run_part(self.poses(local), 0.0, 0.5)) if odd else None
        basis, numbers = Parts.room(len(local), len(numbers)), np.array(numbers, int)
        for some, share in pieces(range(len(numbers)), len(local)):
            basis.replace(some, local[numbers[some]].seen_from(self.at_rest[numbers[some]]))
            yield 0.5 + 0.4 * share
        for some, share in pieces(odd, len(local)):
            made = np.empty((len(local), len(some), 4, 4))
            for column, n in enumerate(numbers[some]):
                made[:, column] = inheritance.channel_matrices(self.rest[n], poses[:, self.parents[n]], poses[:, n])
            basis.replace(some, Parts.of(made))
            yield 0.9 + 0.1 * share
        return basis

    def forward(self, local, tails=()):
        """Armature-space positions and rotations of bones, followed by those of the tails (bone, length)."""
        skeleton, count = self._skeleton(tails), len(tails)
        turned = np.concatenate([local.turned, np.tile([1.0, 0, 0, 0], (len(local), count, 1))], axis=1)
        moved = np.concatenate([local.moved, np.tile(skeleton.offsets[len(self) :], (len(local), 1, 1))], axis=1)
        scaled = np.concatenate([local.scaled, np.ones((len(local), count, 3))], axis=1)
        world = skeleton.forward(bridge.library.Pose(turned, moved, scaled if (scaled != 1.0).any() else None))
        return world.positions, world.rotations

    def _skeleton(self, tails):
        """The bones at rest as a skeleton, with tails."""
        parents = [*self.parents, *(self.names.index(name) for name, _ in tails)]
        offsets = np.concatenate([self.at_rest.moved[0], np.reshape([[0, far, 0] for _, far in tails], (-1, 3))])
        return bridge.library.Skeleton(parents, offsets)

    def poses(self, local):
        """Armature-space matrices."""
        poses = np.empty((*local.moved.shape[:2], 4, 4))
        for some, share in pieces(range(len(self)), len(local)):
            poses[:, some] = local[some].matrices()
            yield 0.5 * share
        for done, level in enumerate(self._levels):
            for some, share in pieces(level, len(local)):
                poses[:, some] = poses[:, self.parents[some]] @ poses[:, some]
                yield 0.5 + 0.5 * (done + share) / len(self._levels)
        return poses

    @cached_property
    def _levels(self):
        """The numbers of bones with a parent, by how many ancestors they have."""
        depth = np.zeros(len(self), int)
        for n, parent in enumerate(self.parents):
            depth[n] = depth[parent] + 1 if parent >= 0 else 0
        return [np.flatnonzero(depth == each) for each in range(1, depth.max(initial=0) + 1)]


def _store_depth(bone, deep, copies):
    """Compute the depth of a pose bone and all its ancestors, by name, cached."""
    name = bone.name
    if name not in deep:
        parent = hung_on(bone, copies)
        deep[name] = _store_depth(parent, deep, copies) + 1 if parent else 0
    return deep[name]


def pieces(numbers, frames):
    """Numbers of bones in small groups, and the progress after each."""
    numbers = np.asarray(numbers)
    step = max(1, ITEMS // max(frames, 1))
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step], min(start + step, len(numbers)) / len(numbers)
