# SPDX-License-Identifier: GPL-3.0-or-later
"""Key reduction for a bake of IK or tracking, within a tolerance, by key_reduction.py.

Bones of one hierarchy share their keys, because the error is measured on all of them.
"""

import functools

import numpy as np

from .. import bridge
from ..animation import cycles, key_reduction, scene_frames
from ..animation.key_reduction import TIP, size
from ..rig import inheritance
from ..rig import rotations as rot
from ..ui.background import in_thread
from ..ui.properties import EVERY_FRAME, FEW_KEYS, key_choice, max_error


class Keys:
    """The options of an operator about the number of keys, drawn by `draw_keys`."""

    keys: key_choice(EVERY_FRAME, FEW_KEYS)
    max_error: max_error(
        "Largest distance of a bone, and of its children, from their place with a key on every frame. "
        "It also limits rotation, measured at a quarter of the chain length"
    )

    def tolerance(self):
        """The largest error of as few keys as needed, or None."""
        return self.max_error if self.keys == "TOLERANCE" else None


def draw_keys(layout, options):
    """Draw the options of Keys."""
    layout.prop(options, "keys")
    if options.keys == "TOLERANCE":
        layout.prop(options, "max_error")


def fit_keys(found, frames, tolerance):
    """Reduce the keys of a `PreparedBake` within a world-space tolerance.

    A generator that yields progress, and returns the number of keys in words, for each armature by name.
    """
    told, poses = {}, found.poses()
    for number, (armature, channels) in enumerate(found.work):
        trees = _trees(armature, poses[armature.name], channels)
        allowed, counts = tolerance / armature.matrix_world.median_scale, []
        cycle = cycles.is_marked(armature, frames)
        for n, tree in enumerate(trees):
            steps = in_thread(functools.partial(tree.reduce, allowed, cycle))
            at, slopes = yield from scene_frames.run_part(
                steps, *((number + (n + end) / len(trees)) / len(found.work) for end in (0, 1))
            )
            counts.append(len(at))
            for channel, slope in zip(tree.channels, slopes.T, strict=True):
                channel.values, channel.frames, channel.slopes = channel.values[at], frames[at], slope
        many = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        told[armature.name] = f" by {many} keys"
    return told


def _trees(armature, poses, channels):
    """Bones of one hierarchy, including those without keys, with their channels."""
    bones, trees = armature.pose.bones, {}
    names = sorted(poses, key=lambda name: (len(bones[name].parent_recursive), name))
    keyed = {channel.group for channel in channels}
    above = {
        name: next((each.name for each in bones[name].parent_recursive if each.name in poses), None) for name in names
    }
    for name in names:
        trees[name] = trees[above[name]] if above[name] else []
        trees[name].append(name)
    found = {id(tree): tree for tree in trees.values()}.values()
    return [_Tree(armature, tree, above, poses, channels) for tree in found if keyed & {*tree}]


class _Tree:
    """Bones over frames in armature space, each below an earlier one or the first, and their channels."""

    def __init__(self, armature, names, above, poses, channels):
        pose = armature.pose.bones
        self.channels = [channel for name in names for channel in channels if channel.group == name]
        curves = [
            key_reduction.Curve(names.index(channel.group), _kind(channel), channel.index, channel.values)
            for channel in self.channels
        ]
        bones = [_hung(pose[name], poses[name], [c for c in curves if c.bone == n]) for n, name in enumerate(names)]
        for bone, name in zip(bones[1:], names[1:], strict=True):
            bone.above = names.index(above[name])
        self.limb = key_reduction.Limb(bones, curves)
        self.tails = [rot.axes(poses[name][0])[..., 1] * pose[name].bone.length for name in names]
        self.reach = [_reach(pose[name], names) for name in names]
        self.long = sum(pose[name].bone.length for name in names)
        self.scales = [n for n, curve in enumerate(curves) if curve.kind == "scale"]

    def reduce(self, tolerance, cycle, progress):
        """The sufficient keys, and the slopes at them. Without bpy."""

        def excess(numbers):
            shifts, turns = self.limb.bone_transforms(numbers)
            off = [size(shift) for shift in shifts]
            off += [
                size(key_reduction.tip_translation(*moved)) for moved in zip(shifts, turns, self.tails, strict=True)
            ]
            off += [
                size(shift) + far * key_reduction.angle(turn)
                for shift, turn, far in zip(shifts, turns, self.reach, strict=True)
            ]
            off += [TIP * self.long * key_reduction.angle(turn) for turn in turns if turn is not None]
            # a scaled bone moves its descendants by no more than their total length
            off += [self.long * np.abs(numbers[:, n] - self.limb.numbers[:, n]) for n in self.scales]
            return np.max(off, axis=0) / tolerance

        return key_reduction.reduce_keys(self.limb.numbers, excess, cycle=cycle, check=functools.partial(progress, 0.0))


def _hung(bone, placed, curves):
    """A bone as in key_reduction.py."""
    poses, parents = placed
    turn = bridge.rotations.from_matrix(rot.axes(poses))
    hung = key_reduction.Bone(poses[:, :3, 3], turn, bone.bone.use_inherit_rotation)
    if turned := [curve.values for curve in curves if curve.kind == "rotation"]:
        hung.mode, hung.rotation = bone.rotation_mode, np.stack(turned, axis=1)
    if any(curve.kind == "location" for curve in curves):
        hung.axes = inheritance.leads(bone.bone, parents)
    return hung


def _reach(bone, names):
    """Distance from a bone's head to the farthest descendant that is not itself listed, at rest."""
    below, ends = [each for each in bone.children if each.name not in names], []
    for each in below:  # the list grows while it is read
        below += [other for other in each.children if other.name not in names]
        ends += [each.bone.head_local, each.bone.tail_local]
    return max(((end - bone.bone.head_local).length for end in ends), default=0.0)


def _kind(channel):
    """The kind of a bone's channel: "rotation", "location" or "scale"."""
    name = channel.path.rpartition(".")[2]
    return "rotation" if name.startswith("rotation") else name
