# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads limbs over a range of frames from Blender into arrays.

IK stays enabled while sampling. Targets that depend on a baked limb are then correct, and without a pole only IK
defines the knee's position. The pose without IK is reconstructed from data that IK does not change: the parent of the
first bone, and the channels of both bones. This takes one evaluation of the scene per frame for all limbs. If all limbs
have poles, and their parents and targets are animated by curves only, it takes none.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from .. import bridge
from ..animation import scene_frames
from ..animation.fcurves import AGREES, Reader, bases
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError
from ..rig.joints import Bones, pieces
from .two_bone import NO_TURN, Limbs

READ = 0.9  # progress when everything is read
COMPARED = [name for name in Limbs.__dataclass_fields__ if name not in {"shown", "has_pole", "rest_bend"}]


@dataclass
class Samples:
    """Additional data of the bake: the spaces of both bones' rotation channels in armature space."""

    limbs: Limbs
    parents: np.ndarray  # (frames, limbs, 2, 4): rotation from armature space to the channel, for root and mid
    channels: np.ndarray  # (frames, limbs, 2, 4): the animated rotation channel, as a quaternion
    start: list  # per limb and bone: the channel's own numbers on the first frame

    def agree(self, shown, frames):
        """True if they agree, on some of the frames, with samples of those frames alone."""
        turns = ((self.parents, shown.parents), (self.channels, shown.channels))
        return all(same(getattr(self.limbs, name)[frames], getattr(shown.limbs, name)) for name in COMPARED) and all(
            same_turns(some[frames], others) for some, others in turns
        )


def sample(context, limbs, frames):
    """Sample these limbs on these frames: a generator that yields progress, and returns Samples."""
    found = yield from scene_frames.run_part(_by_curves(context, limbs, frames), 0.0, 1.0)
    if found is None:
        read = yield from scene_frames.run_part(_by_scene(context, limbs, frames), 0.0, READ)
        found = yield from scene_frames.run_part(_samples(limbs, *read), READ, 1.0)
    return found


def _samples(limbs, raw, start):
    """Raw data of limbs as Samples."""
    each = []
    for some, share in pieces(range(len(limbs)), 2 * len(raw["world"])):
        for n in some:
            raw["pose"][:, n, 0] = inheritance.pose_matrices(
                limbs[n].root.bone, raw["parent"][:, n], raw["basis"][:, n, 0]
            )
            raw["pose"][:, n, 1] = inheritance.pose_matrices(
                limbs[n].mid.bone, raw["pose"][:, n, 0], raw["basis"][:, n, 1]
            )
            yield (n + 0.5) / len(limbs)
        mine = {name: values[:, some] for name, values in raw.items()}
        each.append(_arrays([limbs[n] for n in some], mine, [start[n] for n in some]))
        yield share
    return _together(each)


def _by_scene(context, limbs, frames):
    """Raw data of these frames, and the rotation channels on the first, from the evaluated scene."""
    raw, groups, start = _empty(len(frames), len(limbs)), _by_armature(limbs, len(frames)), []

    def look(depsgraph, number):
        for group in groups:
            group.read(depsgraph, number)
        if number == 0:
            start.extend([_channel(bone) for bone in (limb.root, limb.mid)] for limb in limbs)

    yield from scene_frames.visit(context, frames, look)
    for group in groups:
        group.store(raw)
    return raw, start


def _by_curves(context, limbs, frames):
    """Samples from curves alone; None if these do not suffice, which a few frames of the scene must confirm."""
    reader = Reader(frames)
    if not all(limb.ik.pole_target for limb in limbs) or any(unread(reader, limb) for limb in limbs):
        return None  # without a pole, the limb continues from the result of Blender's own solver
    made = yield from scene_frames.run_part(_by_parts(reader, limbs), 0.0, 0.4)
    made = made or (yield from scene_frames.run_part(_by_matrices(reader, limbs), 0.4, 0.8))
    few = np.unique(np.linspace(0, len(frames) - 1, 3).astype(int))
    shown = yield from scene_frames.run_part(_by_scene(context, limbs, frames[few]), 0.8, 0.9)
    shown = yield from scene_frames.run_part(_samples(limbs, *shown), 0.9, 1.0)
    return made if made.agree(shown, few) else None


def _by_parts(reader, limbs):
    """Samples of limbs with plain bones of constant shape, from rotations without matrices.

    A generator that yields progress; returns None if there are other bones.
    """
    made = _room(len(reader.frames), limbs)
    for armature in dict.fromkeys(limb.object for limb in limbs):
        numbers = [n for n, limb in enumerate(limbs) if limb.object == armature]
        mine = [limbs[n] for n in numbers]
        bones = Bones(armature, {name for limb in mine for name in limb.chain})
        basis = yield from scene_frames.run_part(
            bases(reader.rig(armature).curves, bones.pose, reader.frames), 0.0, 0.6
        )
        if not all(map(inheritance.is_plain, bones.rest)) or rot.is_uneven(basis.scaled).any():
            return None
        local = yield from scene_frames.run_part(bones.hung(basis), 0.6, 0.8)
        chains = np.array([[bones.names.index(name) for name in limb.chain] for limb in mine])
        ends = [(limb.chain[1], limb.mid.bone.length) for limb in mine]
        _hung(made, numbers, chains, basis.turned, *bones.forward(local, ends))
        yield 0.9
        back = rot.inverse(reader.world(armature))
        for n, limb in zip(numbers, mine, strict=True):
            _store_targets(made.limbs, reader, limb, n, back)
            made.start[n] = [reader.channel(armature, name, slice(1))[0] for name in limb.chain]
    return made


def _room(frames, limbs):
    """Empty samples of limbs with poles."""
    count = frames, len(limbs)
    points = {name: np.empty((*count, 3)) for name in ("root", "mid", "end", "goal", "pole")}
    numbers = {name: np.empty(count) for name in ("pole_angle", "influence")}
    unturned, rest = np.tile(NO_TURN, (*count, 2, 1)), np.array([_rest_bend(limb) for limb in limbs])
    has_pole, axes = np.ones(len(limbs), bool), np.empty((*count, 3, 3))
    read = Limbs(**points, **numbers, root_axes=axes, shown=unturned, has_pole=has_pole, rest_bend=rest)
    return Samples(read, np.empty((*count, 2, 4)), np.empty((*count, 2, 4)), [None] * len(limbs))


def _hung(made, numbers, chains, channels, places, turned):
    """Store positions of some limbs, from bones by number and their rotations: in armature space, tails last."""
    tails = range(channels.shape[1], places.shape[1])
    read, (roots, mids) = made.limbs, chains.T
    for points, bones in ((read.root, roots), (read.mid, mids), (read.end, tails)):
        points[:, numbers] = places[:, bones]
    read.root_axes[:, numbers] = bridge.rotations.to_matrix(turned[:, roots])
    made.channels[:, numbers] = channels[:, chains]
    made.parents[:, numbers] = bridge.rotations.multiply(
        turned[:, chains], bridge.rotations.conjugate(channels[:, chains])
    )


def _store_targets(read, reader, limb, n, back):
    """Store the targets of a limb, transformed from the world to its armature."""
    ik = limb.ik
    read.goal[:, n] = _transform_points(back, reader.place(ik.target, ik.subtarget)[:, :3, 3])
    read.pole[:, n] = _transform_points(back, reader.place(ik.pole_target, ik.pole_subtarget)[:, :3, 3])
    for name in ("pole_angle", "influence"):
        getattr(read, name)[:, n] = reader.constraint_values(limb.object, limb.owner, limb.constraint, name)


def _by_matrices(reader, limbs):
    """Samples of any limbs."""
    read = yield from scene_frames.run_part(_read_all(reader, limbs), 0.0, 0.8)
    return (yield from scene_frames.run_part(_samples(limbs, *read), 0.8, 1.0))


def _read_all(reader, limbs):
    """The data that `_by_scene` reads, from curves."""
    raw, start = _empty(len(reader.frames), len(limbs)), []
    for n, limb in enumerate(limbs):
        start.append(_read(reader, limb, raw, n))
        yield (n + 1) / len(limbs)
    return raw, start


def unread(reader, limb):
    """The reason why curves do not determine a limb's motion, apart from its own constraint; or None."""
    ik, armature, above = limb.ik, limb.object, limb.root.parent
    reasons = [reader.unread(armature), reader.unread_settings(armature, limb.owner, limb.constraint)]
    reasons += [reader.unread_channels(armature, name) for name in limb.chain]
    reasons += [above and reader.unread_bone(armature, above.name), reader.unread(ik.target, ik.subtarget)]
    if getattr(ik, "pole_target", None):
        reasons.append(reader.unread(ik.pole_target, ik.pole_subtarget))
    return next(filter(None, reasons), None)


def _read(reader, limb, raw, n):
    """Read a limb from curves.

    Returns the rotation channels of its bones on the first frame.
    """
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
        raw[name][:, n] = reader.constraint_values(armature, limb.owner, limb.constraint, name)
    return [reader.channel(armature, name, slice(1))[0] for name in limb.chain]


def same(some, others):
    """True if numbers agree within Blender's rounding."""
    return np.abs(some - others).max() <= AGREES * max(1.0, np.abs(others).max())


def same_turns(some, others):
    """The same for rotations, of either sign."""
    return np.minimum(np.abs(some - others), np.abs(some + others)).max() <= AGREES


def _together(each):
    """The samples of several limbs as one."""
    names = [field.name for field in dataclasses.fields(Limbs)]
    read = {name: [getattr(one.limbs, name) for one in each] for name in names}
    found = {
        name: np.concatenate(parts, axis=0 if name in ("has_pole", "rest_bend") else 1) for name, parts in read.items()
    }
    parents = np.concatenate([one.parents for one in each], axis=1)
    channels = np.concatenate([one.channels for one in each], axis=1)
    return Samples(Limbs(**found), parents, channels, [start for one in each for start in one.start])


def _empty(frames, limbs):
    """Empty raw data: matrices as in Blender, points in world space."""
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


def _by_armature(limbs, count):
    armatures = dict.fromkeys(limb.object for limb in limbs)
    return [
        _Group(armature, [(n, limb) for n, limb in enumerate(limbs) if limb.object == armature], count)
        for armature in armatures
    ]


def read_bones(into, depsgraph, number):
    """Read the displayed bones of this frame, their channels, and where the armature is. Returns the bones."""
    armature = into.armature.evaluated_get(depsgraph)
    bones = armature.pose.bones
    into.shown.read(bones, number)
    into.basis.read(bones, number)
    into.world[number] = armature.matrix_world
    return bones


class _Group:
    """The limbs of one armature, and their data, over frames of the scene."""

    def __init__(self, armature, limbs, count):
        self.armature, bones = armature, armature.pose.bones
        self.numbers = [n for n, _ in limbs]
        chains = [bones.find(name) for _, limb in limbs for name in limb.chain]
        rooted = [(n, bones.find(limb.root.parent.name)) for n, limb in limbs if limb.root.parent]
        self.rooted = [n for n, _ in rooted]
        self.shown = scene_frames.Matrices(armature, chains + [row for _, row in rooted], count)
        self.basis = scene_frames.Matrices(armature, chains, count, "matrix_basis")
        self.constraints = [(limb.owner, limb.constraint) for _, limb in limbs]
        each = [limb.ik for _, limb in limbs]
        self.targets = [(ik.target, ik.subtarget) for ik in each]
        self.poles = [(ik.pole_target, ik.pole_subtarget) if ik.pole_target else None for ik in each]
        self.places = scene_frames.Places([*self.targets, *filter(None, self.poles)], count)
        self.world, self.settings = np.empty((count, 4, 4)), np.empty((count, len(limbs), 2))

    def read(self, depsgraph, number):
        """Read this frame."""
        bones = read_bones(self, depsgraph, number)
        self.places.read(depsgraph, number)
        each = (bones[owner].constraints[name] for owner, name in self.constraints)
        self.settings[number] = [(ik.pole_angle, ik.influence) for ik in each]

    def store(self, raw):
        """Store the data at the indices of its limbs."""
        shape = len(self.world), len(self.numbers), 2, 4, 4
        count = 2 * len(self.numbers)
        raw["shown"][:, self.numbers] = self.shown[:count].reshape(shape)
        raw["parent"][:, self.rooted] = self.shown[count:]
        raw["basis"][:, self.numbers] = self.basis[:count].reshape(shape)
        raw["world"][:, self.numbers] = self.world[:, np.newaxis]
        raw["goal"][:, self.numbers] = self.places.of(self.targets)[..., :3, 3]
        poled = [(n, pole) for n, pole in zip(self.numbers, self.poles, strict=True) if pole]
        raw["pole"][:, [n for n, _ in poled]] = self.places.of([pole for _, pole in poled])[..., :3, 3]
        raw["pole_angle"][:, self.numbers] = self.settings[..., 0]
        raw["influence"][:, self.numbers] = self.settings[..., 1]


def _channel(bone):
    """The numbers of the active rotation channel."""
    if bone.rotation_mode == "QUATERNION":
        return np.array(bone.rotation_quaternion)
    if bone.rotation_mode == "AXIS_ANGLE":
        return np.array(bone.rotation_axis_angle)
    return np.array(bone.rotation_euler)


def _arrays(limbs, raw, start):
    """Convert matrices to points and rotations, everything in armature space."""
    pose, basis = raw["pose"], raw["basis"]
    _check_sizes(limbs, raw)
    parents = pose[..., :3, :3] @ rot.unsheared_inverse(basis)
    _check_parents(limbs, parents, basis)
    world = raw["world"]
    to_armature = rot.inverse(world[:1] if (world == world[:1]).all() else world)  # it is usually static
    lengths = np.array([limb.mid.bone.length for limb in limbs])[:, None]
    has_pole = np.array([limb.ik.pole_target is not None for limb in limbs])
    # if the pole is in line, Blender displays no bones at all
    shown = np.where(has_pole[:, None, None, None], pose, raw["shown"])
    axes = rot.axes(pose)
    read = Limbs(
        root=pose[..., 0, :3, 3],
        mid=pose[..., 1, :3, 3],
        end=pose[..., 1, :3, 3] + pose[..., 1, :3, 1] * lengths,
        root_axes=axes[..., 0, :, :],
        shown=bridge.rotations.from_matrix(rot.axes(shown) @ np.swapaxes(axes, -1, -2)),
        goal=_transform_points(to_armature, raw["goal"]),
        pole=_transform_points(to_armature, raw["pole"]),
        pole_angle=raw["pole_angle"],
        influence=raw["influence"],
        has_pole=has_pole,
        rest_bend=np.array([_rest_bend(limb) for limb in limbs]),
    )
    hung, channels = (bridge.rotations.from_matrix(rot.axes(matrices)) for matrices in (parents, basis))
    return Samples(read, hung, channels, start)


def _transform_points(matrices, points):
    return np.einsum("...ij,...j->...i", matrices[..., :3, :3], points) + matrices[..., :3, 3]


def _rest_bend(limb):
    """Offset of the knee from the line root-end at rest, relative to that line, in axes of the first bone."""
    root, mid = limb.root.bone, limb.mid.bone
    line = mid.tail_local - root.head_local
    bend = mid.head_local - root.head_local
    if line.length == 0.0:
        return np.zeros(3)
    off = bend - bend.project(line)
    return np.array(root.matrix_local.to_3x3().inverted() @ off) / line.length


def _check_sizes(limbs, raw):
    """Refuse matrices without inverse or with mirroring: an armature or a bone with a zero or negative scale."""
    for n, limb in enumerate(limbs):
        if np.any(np.abs(rot.volumes(raw["world"][:, n])) < 1e-20):
            raise CannotBakeError(f"{limb.object.name} has a scale of zero on some frame")
        for b, bone in enumerate(limb.chain):
            if np.any(rot.volumes(raw["basis"][:, n, b]) < 1e-20):
                raise CannotBakeError(f"{bone} has a zero or negative scale on some frame")


def _check_parents(limbs, parents, basis):
    """Refuse limbs in whose parent space a rotation changes a bone's shape or position."""
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
                    f"{bone} inherits an uneven scale, which shears it when it turns: apply that scale"
                )
        rest = limb.mid.bone
        if moved[n] and not rest.use_connect and not (rest.use_inherit_rotation and rest.use_local_location):
            raise CannotBakeError(
                f"{limb.chain[1]} is moved without following {limb.chain[0]}: clear its location to bake it"
            )
