# SPDX-License-Identifier: GPL-3.0-or-later
"""Transforms of objects and bones over many frames evaluated from their curves alone, if nothing else animates them.

Evaluating the scene on one frame takes as long as reading hundreds of frames of curves. Anything else that may move
something is detected and reported. Callers still compare a few frames with the scene.
"""

import bpy
import numpy as np

from .. import bridge
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.armatures import Rig, constraint_problem, plays
from ..rig.joints import Parts, pieces
from . import actions

AGREES = 1e-4  # largest difference between curves and scene, relative to the largest coordinate compared
PLACE = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
SETTINGS = ("rotation_mode", "delta_", "parent", "constraints")  # of an object, whose curves may change them
DELTAS = {"delta_location": 0.0, "delta_rotation_euler": 0.0, "delta_rotation_quaternion": None, "delta_scale": 1.0}


def basis(curves, owner, path, frames):
    """The Parts that the channels of a bone or an object make."""
    name = actions.rotation_of(owner)
    turned, moved, scaled = (
        actions.numbers(curves, owner, path + part, part, frames) for part in (name, "location", "scale")
    )
    return Parts(rot.quaternions(owner.rotation_mode, turned), moved, scaled)


def bases(curves, bones, frames):
    """The same for many bones, with continuous rotations; connected bones have no location.

    A generator that yields progress.
    """
    made, modes, values = Parts.room(len(frames), len(bones)), {}, []
    for n, bone in enumerate(bones):
        modes.setdefault(bone.rotation_mode, []).append(n)
        turned, made.moved[:, n], made.scaled[:, n] = (
            actions.numbers(curves, bone, actions.path_of(bone, part), part, frames)
            for part in (actions.rotation_of(bone), "location", "scale")
        )
        if bone.parent and bone.bone.use_connect:
            made.moved[:, n] = 0.0
        values.append(turned)
        yield 0.8 * (n + 1) / len(bones)
    for mode, numbers in modes.items():
        for some, share in pieces(numbers, len(frames)):
            turned = rot.quaternions(mode, np.stack([values[n] for n in some], axis=1))
            made.turned[:, some] = bridge.rotations.continuous(turned)
            yield 0.8 + 0.2 * share
    return made


class Reader:
    """Reads objects and bones on some frames, each once: matrices of all frames, or of one for static ones."""

    def __init__(self, frames):
        self.frames = frames
        self._rigs, self._found = {}, {}

    def rig(self, thing):
        """The animation of an object and its bones."""
        if thing.session_uid not in self._rigs:
            self._rigs[thing.session_uid] = Rig(thing)
        return self._rigs[thing.session_uid]

    def unread(self, thing, bone=""):
        """The reason why curves alone do not determine the world transform of an object or bone; or None."""
        if others := _handlers():
            return f"{others[0]} may move things on each frame"
        seen = set()
        while thing is not None:
            reason = (bone and self.unread_bone(thing, bone)) or self._unread_object(thing)
            if reason or thing in seen:
                return reason
            seen.add(thing)
            thing, bone = thing.parent, thing.parent_bone if thing.parent_type == "BONE" else ""
        return None

    def unread_bone(self, armature, name):
        """The reason why curves alone do not determine a bone in the space of its armature, or None."""
        bone = self.rig(armature).bones[name]
        reasons = (
            self.unread_channels(armature, each.name) or constraint_problem(each, self.rig(armature))
            for each in (bone, *bone.parent_recursive)
        )
        return next(filter(None, reasons), None)

    def unread_channels(self, armature, name):
        """The reason why curves alone do not determine the channels of a bone, or None."""
        rig = self.rig(armature)
        path = actions.path_of(rig.bones[name], "")
        if armature.data.pose_position == "REST":
            return f"{armature.name} is in Rest Position"
        if armature.data.animation_data is not None:
            return f"the bones of {armature.name} are animated themselves"
        if any(driven.startswith(path) for driven in rig.drivers):
            return f"{name} has a driver"
        if path + "rotation_mode" in rig.curves:
            return f"{name} has an animated rotation mode"
        return None

    def unread_settings(self, armature, bone, constraint):
        """The reason why curves alone do not determine the settings of a constraint, or None."""
        path = _path(self.rig(armature).bones[bone], constraint)
        return (
            f"{constraint} of {bone} has a driver"
            if any(each.startswith(path) for each in self.rig(armature).drivers)
            else None
        )

    def _unread_object(self, thing):
        """The reason why an object's own curves, and those of its parents, do not determine its transform, or None."""
        rig = self.rig(thing)
        if reason := _mixing_problem(thing):
            return reason
        if any(path.startswith((*PLACE, *SETTINGS)) for path in rig.drivers):
            return f"{thing.name} has a driver"
        if any(path.startswith(SETTINGS) for path in rig.curves):
            return f"{thing.name} has animated settings or delta transforms"
        if any(not constraint.mute for constraint in thing.constraints):
            return f"{thing.name} has a constraint"
        if thing.rigid_body is not None or any(modifier.type == "SOFT_BODY" for modifier in thing.modifiers):
            return f"{thing.name} is moved by physics"
        if self._moves(thing) and _has_delta(thing):
            return f"{thing.name} has delta transforms"
        return _unread_parent(thing)

    def _moves(self, thing):
        return any(path in PLACE for path in self.rig(thing).curves)

    def world(self, thing):
        """World matrices of an object, (frames or 1, 4, 4)."""
        return self._once((thing.session_uid,), lambda: self._world(thing))

    def pose(self, armature, name):
        """Matrices of a bone in the space of its armature, (frames, 4, 4)."""
        return self._once((armature.session_uid, name), lambda: self._pose(armature, name))

    def place(self, thing, bone=""):
        """World matrices of an object, or of a bone of it."""
        return self.world(thing) @ self.pose(thing, bone) if bone else self.world(thing)

    def basis(self, armature, name):
        """Matrices from the channels of a bone, (frames, 4, 4)."""
        rig = self.rig(armature)
        path = actions.path_of(rig.bones[name], "")
        return basis(rig.curves, rig.bones[name], path, self.frames).matrices()

    def channel(self, armature, name, some=slice(None)):
        """The numbers of a bone's active rotation channel on some of the frames, (frames, 3 or 4)."""
        bone = self.rig(armature).bones[name]
        channel, path = actions.rotation_of(bone), actions.rotation_path(bone)
        return actions.numbers(self.rig(armature).curves, bone, path, channel, self.frames[some])

    def constraint_values(self, armature, bone, constraint, name):
        """The values of a constraint's number, (frames,)."""
        owner = self.rig(armature).bones[bone]
        values = np.full(len(self.frames), float(getattr(owner.constraints[constraint], name)))
        for curve in self.rig(armature).curves.get(f"{_path(owner, constraint)}.{name}", ()):
            if not curve.mute:
                values[:] = actions.curve_values(curve, self.frames)
        return values

    def _once(self, key, read):
        if key not in self._found:
            self._found[key] = read()
        return self._found[key]

    def _world(self, thing):
        own = np.array(thing.matrix_basis)[np.newaxis]
        if self._moves(thing):
            own = basis(self.rig(thing).curves, thing, "", self.frames).matrices()
        if thing.parent is None:
            return own
        above = self.world(thing.parent)
        if thing.parent_type == "BONE":
            hung = self.pose(thing.parent, thing.parent_bone).copy()
            hung[:, :3, 3] += hung[:, :3, 1] * thing.parent.data.bones[thing.parent_bone].length
            above = above @ hung
        return above @ np.array(thing.matrix_parent_inverse) @ own

    def _pose(self, armature, name):
        bone, own = armature.pose.bones[name], self.basis(armature, name)
        if bone.parent and bone.bone.use_connect:
            own[:, :3, 3] = 0.0
        return inheritance.pose_matrices(bone.bone, self.pose(armature, bone.parent.name) if bone.parent else None, own)


def _path(bone, constraint):
    """The data path of a bone's constraint."""
    return f'{actions.path_of(bone, "constraints")}["{bpy.utils.escape_identifier(constraint)}"]'


def _handlers():
    """Names of modules other than this extension that are called on each frame."""
    lists = (bpy.app.handlers.frame_change_pre, bpy.app.handlers.frame_change_post)
    modules = (str(getattr(each, "__module__", each)) for handlers in lists for each in handlers)
    extension = __package__.rpartition(".")[0]
    return [module for module in modules if not module.startswith(extension)]


def _mixing_problem(thing):
    """The reason why an object does not simply play its action, or None."""
    animation = thing.animation_data
    if animation is None:
        return None
    if animation.use_tweak_mode or (animation.use_nla and any(plays(each, animation) for each in animation.nla_tracks)):
        return f"{thing.name} plays the NLA"
    if animation.action and (animation.action_influence < 1.0 or animation.action_blend_type != "REPLACE"):
        return f"{thing.name} blends its action"
    if len(actions.layers_and_strips(animation.action)) > 1:
        return f"the action of {thing.name} has several layers"
    return None


def _has_delta(thing):
    """True if an object has delta transforms."""
    turned = tuple(thing.delta_rotation_quaternion) != (1.0, 0.0, 0.0, 0.0)
    return turned or any(
        still is not None and any(n != still for n in getattr(thing, at)) for at, still in DELTAS.items()
    )


def _unread_parent(thing):
    """The reason why a parent moves an object by more than its own transform, or None."""
    parent, kind = thing.parent, thing.parent_type
    if parent is None or (kind == "OBJECT" and parent.type != "CURVE"):
        return None
    hung = kind == "BONE" and parent.data.bones.get(thing.parent_bone)
    return None if hung and not hung.use_relative_parent else f"{thing.name} is parented to a part of {parent.name}"
