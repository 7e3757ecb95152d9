# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads limbs over a range of frames from Blender into arrays.

The IK stays switched on while sampling, so that targets which depend on some baked limb are right, and because without
a pole it alone says where the knee goes. The pose *without* IK is rebuilt from what IK does not change: the parent of
the first bone, and the rotation, location and scale channels of both. This takes one evaluation of the scene a frame
for all limbs together; where all have poles, and nothing but curves moves what they hang on and reach for, none.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from . import bridge, hang, stage
from . import rotations as rot
from .armatures import CannotBakeError
from .curves import AGREES, Reader
from .solve import Limbs

HUNG = 0.9  # the share of sampling that is done when all frames were seen


@dataclass
class Samples:
    """What the bake needs besides `Limbs`: how the rotation channels of both bones hang in armature space."""

    limbs: Limbs
    parents: np.ndarray  # (frames, limbs, 2, 4): rotation from armature space to the channel, for root and mid
    channels: np.ndarray  # (frames, limbs, 2, 4): the animated rotation channel, as a quaternion
    start: list  # per limb and bone: the channel's own numbers on the first frame


def sample(context, limbs, frames):
    """Sample these limbs on these frames: a generator that yields the share that is done, and returns Samples."""
    found = yield from stage.between(_by_curves(context, limbs, frames), 0.0, HUNG)
    raw, start = found or (yield from stage.between(_by_scene(context, limbs, frames), 0.0, HUNG))
    each = []
    for n, limb in enumerate(limbs):
        raw["pose"][:, n, 0] = hang.posed(limb.root.bone, raw["parent"][:, n], raw["basis"][:, n, 0])
        raw["pose"][:, n, 1] = hang.posed(limb.mid.bone, raw["pose"][:, n, 0], raw["basis"][:, n, 1])
        each.append(_arrays([limb], {name: values[:, n : n + 1] for name, values in raw.items()}, start[n : n + 1]))
        yield HUNG + (1 - HUNG) * (n + 1) / len(limbs)
    return _together(each)


def _by_scene(context, limbs, frames):
    """What is read on these frames, and the rotation channels on the first, as Blender evaluates the scene."""
    raw, groups, start = _empty(len(frames), len(limbs)), _by_armature(limbs), []

    def look(depsgraph, number):
        for group in groups:
            group.read(depsgraph, raw, number)
        if number == 0:
            start.extend([_channel(bone) for bone in (limb.root, limb.mid)] for limb in limbs)

    yield from stage.visit(context, frames, look)
    return raw, start


def _by_curves(context, limbs, frames):
    """The same by curves alone; None where these do not say it all, which a few frames of the scene must confirm."""
    reader = Reader(frames)
    if not all(limb.ik.pole_target for limb in limbs) or any(unread(reader, limb) for limb in limbs):
        return None  # without a pole the limb goes on from where Blender's own solver has it
    raw, start = _empty(len(frames), len(limbs)), []
    for n, limb in enumerate(limbs):
        start.append(_read(reader, limb, raw, n))
        yield 0.9 * (n + 1) / len(limbs)
    few = np.unique(np.linspace(0, len(frames) - 1, 3).astype(int))
    shown, _ = yield from stage.between(_by_scene(context, limbs, frames[few]), 0.9, 1.0)
    agree = all(same(raw[name][few], shown[name]) for name in raw if name not in {"shown", "pose"})
    return (raw, start) if agree else None


def unread(reader, limb):
    """Why curves do not say what moves a limb, besides its own IK; or None."""
    ik, armature, above = limb.ik, limb.object, limb.root.parent
    reasons = [reader.unread(armature), reader.unread_settings(armature, limb.owner, limb.constraint)]
    reasons += [reader.unread_channels(armature, name) for name in limb.chain]
    reasons += [above and reader.unread_bone(armature, above.name), reader.unread(ik.target, ik.subtarget)]
    if ik.pole_target:
        reasons.append(reader.unread(ik.pole_target, ik.pole_subtarget))
    return next(filter(None, reasons), None)


def _read(reader, limb, raw, n):
    """What curves say of a limb; returns the rotation channels of its bones on the first frame."""
    ik, armature = limb.ik, limb.object
    raw["shown"][:, n] = np.eye(4)
    raw["world"][:, n] = reader.world(armature)
    if limb.root.parent:
        raw["parent"][:, n] = reader.pose(armature, limb.root.parent.name)
    raw["goal"][:, n] = reader.place(ik.target, ik.subtarget)[:, :3, 3]
    raw["pole"][:, n] = reader.place(ik.pole_target, ik.pole_subtarget)[:, :3, 3]
    for b, name in enumerate(limb.chain):
        raw["basis"][:, n, b] = reader.basis(armature, name)
    for name in ("pole_angle", "influence"):
        raw[name][:, n] = reader.setting(armature, limb.owner, limb.constraint, name)
    return [reader.channel(armature, name)[0] for name in limb.chain]


def same(some, others):
    """Whether numbers are the same but for how Blender rounds them."""
    return np.abs(some - others).max() <= AGREES * max(1.0, np.abs(others).max())


def _together(each):
    """The samples of several limbs as one."""
    names = [field.name for field in dataclasses.fields(Limbs)]
    read = {name: [getattr(one.limbs, name) for one in each] for name in names}
    found = {
        name: np.concatenate(parts, axis=0 if name in ("has_pole", "rest_bend") else 1) for name, parts in read.items()
    }
    parents = np.concatenate([one.parents for one in each], axis=1)
    channels = np.concatenate([one.channels for one in each], axis=1)
    return Samples(Limbs(**found), parents, channels, [one.start[0] for one in each])


def _empty(frames, limbs):
    """Room for what is read: matrices as Blender has them, points in world space."""
    count = (frames, limbs)
    return {
        "world": np.empty((*count, 4, 4)),
        "parent": np.tile(np.eye(4), (*count, 1, 1)),
        "basis": np.empty((*count, 2, 4, 4)),
        "pose": np.empty((*count, 2, 4, 4)),
        "shown": np.empty((*count, 2, 4, 4)),
        "goal": np.empty((*count, 3)),
        "pole": np.zeros((*count, 3)),
        "pole_angle": np.empty(count),
        "influence": np.empty(count),
    }


def _by_armature(limbs):
    armatures = list({limb.object.name: limb.object for limb in limbs}.values())
    return [
        _Group(armature, [(n, limb) for n, limb in enumerate(limbs) if limb.object == armature])
        for armature in armatures
    ]


class _Group:
    """The limbs of one armature: all its matrices come in one call a frame."""

    def __init__(self, armature, limbs):
        self.armature = armature
        self.limbs = limbs
        bones = armature.pose.bones
        self.columns = [n for n, _ in limbs]
        self.chains = [[bones.find(name) for name in limb.chain] for _, limb in limbs]
        rooted = [(n, bones.find(limb.root.parent.name)) for n, limb in limbs if limb.root.parent]
        self.rooted, self.parents = [n for n, _ in rooted], [index for _, index in rooted]
        self.flat = np.empty(16 * len(bones), np.float32)

    def read(self, depsgraph, raw, f):
        armature = self.armature.evaluated_get(depsgraph)
        bones = armature.pose.bones
        shown = self._matrices(bones, "matrix")
        raw["parent"][f, self.rooted], raw["shown"][f, self.columns] = shown[self.parents], shown[self.chains]
        raw["basis"][f, self.columns] = self._matrices(bones, "matrix_basis")[self.chains]
        raw["world"][f, self.columns] = armature.matrix_world
        for n, limb in self.limbs:
            ik = bones[limb.owner].constraints[limb.constraint]
            raw["goal"][f, n] = stage.placed(limb.ik.target, ik.subtarget, depsgraph).translation
            if ik.pole_target:
                raw["pole"][f, n] = stage.placed(limb.ik.pole_target, ik.pole_subtarget, depsgraph).translation
            raw["pole_angle"][f, n] = ik.pole_angle
            raw["influence"][f, n] = ik.influence

    def _matrices(self, bones, name):
        bones.foreach_get(name, self.flat)
        return self.flat.reshape(-1, 4, 4).transpose(0, 2, 1)  # Blender hands out columns


def _channel(bone):
    """The numbers of the rotation channel in use."""
    if bone.rotation_mode == "QUATERNION":
        return np.array(bone.rotation_quaternion)
    if bone.rotation_mode == "AXIS_ANGLE":
        return np.array(bone.rotation_axis_angle)
    return np.array(bone.rotation_euler)


def _arrays(limbs, raw, start):
    """From matrices to points and rotations, everything in armature space."""
    pose, basis = raw["pose"], raw["basis"]
    _check_sizes(limbs, raw)
    parents = pose[..., :3, :3] @ rot.unsheared_inverse(basis)
    _check_parents(limbs, parents, basis)
    world = raw["world"]
    to_armature = np.linalg.inv(world[:1] if (world == world[:1]).all() else world)  # as a rule it stands still
    lengths = np.array([limb.mid.bone.length for limb in limbs])[:, None]
    has_pole = np.array([limb.ik.pole_target is not None for limb in limbs])
    # with a pole in line Blender shows no bones at all
    shown = np.where(has_pole[:, None, None, None], pose, raw["shown"])
    axes = rot.axes(pose)
    read = Limbs(
        root=pose[..., 0, :3, 3],
        mid=pose[..., 1, :3, 3],
        end=pose[..., 1, :3, 3] + pose[..., 1, :3, 1] * lengths,
        root_axes=axes[..., 0, :, :],
        shown=bridge.rotations.from_matrix(rot.axes(shown) @ np.swapaxes(axes, -1, -2)),
        goal=_moved(to_armature, raw["goal"]),
        pole=_moved(to_armature, raw["pole"]),
        pole_angle=raw["pole_angle"],
        influence=raw["influence"],
        has_pole=has_pole,
        rest_bend=np.array([_rest_bend(limb) for limb in limbs]),
    )
    hung, channels = (bridge.rotations.from_matrix(rot.axes(matrices)) for matrices in (parents, basis))
    return Samples(read, hung, channels, start)


def _moved(matrices, points):
    return np.einsum("...ij,...j->...i", matrices[..., :3, :3], points) + matrices[..., :3, 3]


def _rest_bend(limb):
    """Where the knee is off the line root-end in the rest pose, as a share of that line, in axes of the first bone."""
    root, mid = limb.root.bone, limb.mid.bone
    line = mid.tail_local - root.head_local
    bend = mid.head_local - root.head_local
    if line.length == 0.0:
        return np.zeros(3)
    off = bend - bend.project(line)
    return np.array(root.matrix_local.to_3x3().inverted() @ off) / line.length


def _check_sizes(limbs, raw):
    """Refuse what has no inverse or mirrors: an armature or a bone with a zero or negative scale."""
    for n, limb in enumerate(limbs):
        if np.any(np.abs(rot.volumes(raw["world"][:, n])) < 1e-20):
            raise CannotBakeError(f"{limb.object.name} has a scale of zero on some frame")
        for b, bone in enumerate(limb.chain):
            if np.any(rot.volumes(raw["basis"][:, n, b]) < 1e-20):
                raise CannotBakeError(f"{bone} has a zero or negative scale on some frame")


def _check_parents(limbs, parents, basis):
    """Refuse limbs whose bones hang in a space where turning a bone changes its shape, or its place."""
    lengths = rot.sizes(parents)
    mean = lengths.mean(axis=-1, keepdims=True)
    dots = np.swapaxes(parents, -1, -2) @ parents - np.eye(3) * lengths[..., None, :] ** 2
    uneven = (np.abs(lengths - mean) > rot.UNEVEN * mean).any(-1) | (
        np.abs(dots) > rot.UNEVEN * mean[..., None] ** 2
    ).any((-2, -1))
    moved = np.abs(basis[:, :, 1, :3, 3]).max(axis=(0, 2)) > 0.0
    for n, limb in enumerate(limbs):
        for b, bone in enumerate(limb.chain):
            if uneven[:, n, b].any():
                raise CannotBakeError(
                    f"{bone} inherits a scale that is not the same in all directions: rotating it would shear it"
                )
        rest = limb.mid.bone
        if moved[n] and not rest.use_connect and not (rest.use_inherit_rotation and rest.use_local_location):
            raise CannotBakeError(
                f"{limb.chain[1]} is moved without following {limb.chain[0]}: clear its location to bake it"
            )
