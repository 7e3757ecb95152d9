# SPDX-License-Identifier: GPL-3.0-or-later
"""Targets and poles, objects or bones: their transforms on every frame, and the channels that move them."""

from dataclasses import dataclass

import bpy
import numpy as np

from ..animation import actions
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, constraint_problem, not_editable, not_writable, playback_problem
from ..rig.joints import Parts


@dataclass(frozen=True)
class Handle:
    """An object, or a bone of it by name, that an animator moves."""

    object: bpy.types.Object
    bone: str = ""

    def __str__(self):
        return self.bone or self.object.name

    @property
    def owner(self):
        """The owner of the channels."""
        return self.object.pose.bones[self.bone] if self.bone else self.object

    def path(self, name):
        """The data path of one of its properties."""
        return actions.path_of(self.owner, name) if self.bone else name

    def above(self):
        """Its ancestors, the nearest first: a generator."""
        thing, bone = self.object, self.bone
        while thing is not None:
            if bone:
                names = [parent.name for parent in thing.pose.bones[bone].parent_recursive]
                yield from (Handle(thing, name) for name in names)
                yield Handle(thing)
            parent, bone = thing.parent, thing.parent_bone if thing.parent_type == "BONE" else ""
            if parent is not None:
                yield Handle(parent, bone)
            thing = parent


class Control:
    """A handle over frames: matrices in its parents' space, which is the world or that of its armature.

    If something prevents keys on its `names` ("location", "rotation" or both) from playing, it is refused immediately.
    """

    def __init__(self, handle, count, names):
        self.handle, self.names = handle, names
        self.adopted = bool(handle.bone) and any(not each.mute for each in handle.owner.constraints)
        self.spaces, self.parents, self.shown = (np.tile(np.eye(4), (count, 1, 1)) for _ in range(3))
        if reason := next(filter(None, (_key_problem(handle, name, self.names) for name in self.names)), None):
            raise CannotBakeError(reason)

    def read(self, depsgraph, number):
        """Read its transform in this frame."""
        thing = self.handle.object.evaluated_get(depsgraph)
        if self.handle.bone:
            bone = thing.pose.bones[self.handle.bone]
            self.spaces[number], self.shown[number] = thing.matrix_world, bone.matrix
            if bone.parent:
                self.parents[number] = bone.parent.matrix
            if self.adopted:
                self._free(bone, number)
        else:
            self.shown[number] = thing.matrix_world
            self.parents[number] = self.shown[number] @ rot.inverse(np.array(thing.matrix_basis))
        if number == 0:
            self.start = np.array(getattr(self.handle.owner, actions.rotation_of(self.handle.owner)))

    def _free(self, bone, number):
        """Absorb the effect of carrying constraints on a bone into the space of its channels."""
        own = inheritance.pose_matrices(
            bone.bone, self.parents[number : number + 1], np.array(bone.matrix_basis)[np.newaxis]
        )[0]
        self.spaces[number] = self.spaces[number] @ self.shown[number] @ rot.inverse(own)
        self.shown[number] = own

    @property
    def world(self):
        """Its world matrices."""
        return self.spaces @ self.shown

    def channels_for(self, wanted, above=None):
        """The channels that move it to world matrices, under a parent Control that was moved before."""
        was, basis = self.world, self.basis(self.world)
        if above is not None:
            self.parents = rot.inverse(self.spaces) @ above.gone @ self.spaces @ self.parents
        wanted = self.basis(wanted)
        if "location" in self.names:
            basis.moved = wanted.moved
        if "rotation" in self.names:
            basis.turned = wanted.turned
        self.gone = self.spaces @ self._poses(self.parents, basis.matrices()) @ rot.inverse(was)
        return self.channels(basis)

    def basis(self, poses):
        """The channel values for these world matrices, under its present parents."""
        return Parts.of(self._bases(self.parents, rot.inverse(self.spaces) @ poses))

    def channels(self, basis):
        """The channels with these values."""
        owner, group = self.handle.owner, str(self.handle) if self.handle.bone else "Object Transforms"
        values = {"location": basis.moved - (0.0 if self.handle.bone else np.array(owner.delta_location))}
        if "rotation" in self.names:
            values["rotation"] = rot.numbers(owner.rotation_mode, basis.turned, self.start)
        paths = {"location": "location", "rotation": actions.rotation_of(owner)}
        return [
            actions.Channel(self.handle.path(paths[name]), index, group, values[name][:, index])
            for name in self.names
            for index in range(values[name].shape[1])
        ]

    def _bases(self, parents, poses):
        if self.handle.bone:
            return inheritance.channel_matrices(self.handle.owner.bone, parents, poses)
        return rot.inverse(parents) @ poses

    def _poses(self, parents, bases):
        return (
            inheritance.pose_matrices(self.handle.owner.bone, parents, bases) if self.handle.bone else parents @ bases
        )


def _carries(constraint, names):
    """True if a constraint carries an owner with keys on these channels, as a parent does."""
    if constraint.type == "CHILD_OF":
        kinds = [f"use_{kind}_{axis}" for kind in ("location", "rotation", "scale") for axis in "xyz"]
        return constraint.influence == 1.0 and all(getattr(constraint, kind) for kind in kinds)
    return constraint.type == "COPY_LOCATION" and "location" not in names


def _carriers(handle, names):
    """The carrying constraints that nothing animates."""
    rig, prefix = Rig(handle.object), f"{handle.path('')}constraints"
    animated = any(path.startswith(prefix) for path in (*rig.curves, *rig.drivers))
    return () if animated else [each for each in handle.owner.constraints if _carries(each, names)]


def _key_problem(handle, name, names):
    """The reason why location or rotation keys of a handle would not move it as written, or None."""
    thing, owner, carriers = handle.object, handle.owner, _carriers(handle, names)
    if reason := not_editable(thing) or playback_problem(thing):
        return reason
    locks = [*getattr(owner, f"lock_{name}")]
    if any(locks):
        return f"{handle} has a locked {name}: unlock it to match it to the bones"
    if handle.bone:
        return _held_bone(owner, name, Rig(thing), carriers)
    if any(not each.mute and each not in carriers for each in owner.constraints):
        return f"{handle} has constraints: mute or remove them first"
    if name == "rotation" and any(_delta(owner)):
        return f"{handle} has a delta rotation: apply it first"
    return _held_object(owner, name)


def _held_bone(bone, name, rig, carriers):
    if name == "location" and bone.parent and bone.bone.use_connect:
        return f"{bone.name} is connected to {bone.parent.name}, so it cannot be moved: disconnect it first"
    if reason := constraint_problem(bone, rig, carriers):
        return f"{reason}: mute or apply it first"
    return not_writable(bone, rig, name) or _modifier_problem(
        bone.name, name, rig.curves.get(actions.path_of(bone, _property(bone, name)), ())
    )


def _held_object(thing, name):
    animation = thing.animation_data
    path = _property(thing, name)
    if any(driver.data_path.startswith(name) for driver in (animation.drivers if animation else ())):
        return f"{thing.name} has a driver on its {name}: remove it first"
    curves = actions.by_path(actions.curves(animation)).get(path, ())
    for curve in curves:
        if curve.lock or curve.mute or len(curve.sampled_points) or (curve.group and curve.group.lock):
            return f"{thing.name} has a {name} curve that is locked, muted or of samples: change that first"
    return _modifier_problem(thing.name, name, curves)


def _modifier_problem(label, name, curves):
    if any(actions.has_modifier(curve) for curve in curves):
        return f"{label} has a modifier on its {name} curve: apply or remove it first"
    return None


def _property(owner, name):
    return actions.rotation_of(owner) if name == "rotation" else name


def _delta(thing):
    if thing.rotation_mode == "QUATERNION":
        return thing.delta_rotation_quaternion[1:]
    return thing.delta_rotation_euler
