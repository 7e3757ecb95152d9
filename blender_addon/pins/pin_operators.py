# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400, RUF012
"""The operators for pins: pin bones, solve live, bake to keys."""

import contextlib

import bpy
import numpy as np
from bpy.props import BoolProperty, IntProperty

from ..animation import scene_frames
from ..animation.frame_range import FrameRange, chosen_range, draw_range, scene_range
from ..feet import deform_check
from ..feet.foot_report import within
from ..fk import ik_from_fk, switching
from ..limbs.ik_constraints import is_selected
from ..limbs.operators import CheckedOperator, ProgressOperator, no_armature, not_usable
from ..rig import rigify
from ..rig.armatures import CannotBakeError, not_editable
from . import interactive, pin_bake, pins

SAME = 1e-3  # distance in world units up to which a limb in FK counts as the same pose
SIZE = 0.5  # of the bone length: display size of the empty that it is pinned to


class _PinOperator(CheckedOperator):
    """Changes the pins of the active armature, or of the armature that the active object is a pin of."""

    bl_options = {"REGISTER", "UNDO"}

    @staticmethod
    def reason(context):
        return not_usable(pins.pinned_armature(context)) or not_editable(pins.pinned_armature(context))


class IKCORE_OT_pin(_PinOperator):
    """Pin the selected bones to new empties. Drag an empty to move its bone. Unanimated limbs in IK switch to FK"""

    bl_idname = "ikcore.pin"
    bl_label = "Pin"

    @staticmethod
    def reason(context):
        if context.object and context.object.type == "ARMATURE" and context.object.mode != "POSE":
            return "Switch to Pose Mode and select bones"
        return no_armature(context) or not_editable(context.object)

    rotation: BoolProperty(name="Rotation", description="Pin the rotation of bones too", default=True)

    def execute(self, context):
        armature, listed = context.object, context.object.ikcore_pins
        chosen, switched = _in_fk(context, armature, [bone for bone in armature.pose.bones if is_selected(bone)])
        pinned = {pin.name for pin in listed.pins}
        new = [bone for bone in chosen if bone.name not in pinned]
        if not new:
            return self.refuse("The selected bones are already pinned" if chosen else "Select bones to pin")
        if reason := _idle(context, armature, [bone.name for bone in new]):
            return self.refuse(reason)
        shown = armature.evaluated_get(context.evaluated_depsgraph_get())
        with _all_or_none(listed) as targets:
            for bone in new:
                place = shown.matrix_world @ shown.pose.bones[bone.name].matrix
                targets.append(_empty(context, armature, bone, place))
                pin = listed.pins.add()
                pin.name, pin.rotation, pin.target = bone.name, self.rotation, targets[-1]
        listed.active = len(listed.pins) - 1
        sentences = [f"Pinned {', '.join(bone.name for bone in new)}", *switched]
        self.report({"INFO"}, "; ".join(sentences))
        return {"FINISHED"}


def _in_fk(context, armature, chosen):
    """The bones to pin, and sentences about limbs that are switched from IK to FK, in the displayed pose.

    Pins move FK controls. Bones of a limb in IK become its FK controls. Limbs of an armature with an action stay: their
    other frames need IK -> FK.
    """
    limbs = [limb for limb in rigify.limbs(armature) if not scene_frames.value(armature, limb.path)]
    found, switched = [], []
    for bone in chosen:
        limb = next((limb for limb in limbs if bone.name in limb.controls()), None)
        if limb and not (armature.animation_data and armature.animation_data.action):
            bone = armature.pose.bones[limb.fk_control(bone.name)]
            switched += [limb] if limb not in switched else []
        found += [bone] if bone not in found else []
    before = _heads(armature, switched)
    _switch(context, armature, switched)
    away = [
        np.linalg.norm(now - was, axis=-1).max() for now, was in zip(_heads(armature, switched), before, strict=True)
    ]
    texts = ["in the same pose" if far < SAME else f"{within(far)} off, because IK is stretched" for far in away]
    return found, [
        f"Set {limb.word} of {limb.switch} to FK, {text}" for limb, text in zip(switched, texts, strict=True)
    ]


def _heads(armature, limbs):
    """World positions of the displayed bones of limbs."""
    return [np.array([armature.matrix_world @ limb.bones[name].head for name in limb.shown]) for limb in limbs]


def _switch(context, armature, limbs):
    """Set limbs to FK in the displayed pose, without keys."""
    taken = [switching.LimbFrames(limb, 1, to_ik=False) for limb in limbs]
    scene_frames.run(ik_from_fk.here(context, [context.scene.frame_current], ik_from_fk.reader(taken)))
    for channel in (channel for each in taken for channel in each.first(switch=False)):
        armature.path_resolve(channel.path)[channel.index] = channel.values[0]
    for limb in limbs:
        scene_frames.set_value(armature, limb.path, type(scene_frames.value(armature, limb.path))(1))
    armature.update_tag()
    context.view_layer.update()


@contextlib.contextmanager
def _all_or_none(listed):
    """A list for new targets. If the following code fails, they and the new pins are removed."""
    targets, before = [], len(listed.pins)
    try:
        yield targets
    except BaseException:
        while len(listed.pins) > before:
            listed.pins.remove(len(listed.pins) - 1)
        for target in targets:
            bpy.data.objects.remove(target)
        raise


def _idle(context, armature, names):
    """The reason why pinning these bones would move nothing visible, or None."""
    with interactive.pause():
        idle = deform_check.idle(context, armature, names)
    return idle[0] if idle else None


def _empty(context, armature, bone, place):
    """An empty where a bone is."""
    size = SIZE * bone.length * armature.matrix_world.median_scale
    empty = scene_frames.add_empty(context, armature, f"{armature.name} {bone.name} pin", "CUBE", size)
    empty.rotation_mode, place = "QUATERNION", place.normalized()
    empty.location, empty.rotation_quaternion = place.to_translation(), place.to_quaternion()
    return empty


class IKCORE_OT_unpin(_PinOperator):
    """Remove a pin and its empty. The pose stays"""

    bl_idname = "ikcore.unpin"
    bl_label = "Remove Pin"

    index: IntProperty(name="Pin", description="Number of the pin in the list. -1: the active pin", default=-1, min=-1)

    def execute(self, context):
        armature = pins.pinned_armature(context)
        listed = armature.ikcore_pins
        index = listed.active if self.index < 0 else self.index
        if index >= len(listed.pins):
            return self.refuse(f"{armature.name} has no pin {index}: choose one of {len(listed.pins)}")
        target, own = listed.pins[index].target, f"{armature.name} {listed.pins[index].name} pin"
        listed.pins.remove(index)
        listed.active = min(listed.active, max(len(listed.pins) - 1, 0))
        # targets that others made or use stay
        if target and target.type == "EMPTY" and target.name.startswith(own) and not _is_used(target):
            bpy.data.objects.remove(target)
        return {"FINISHED"}


def _is_used(target):
    """True if anything except the collection that displays it uses an object."""
    return bool(target.children) or target.users > len(target.users_collection)


class IKCORE_OT_live_pins(_PinOperator):
    """Solve the pins while pins or bones are dragged, and while the animation plays"""

    bl_idname = "ikcore.live_pins"
    bl_label = "Live"

    def execute(self, context):
        armature = pins.pinned_armature(context)
        if not interactive.is_on(armature):
            try:
                held = pins.read_pins(armature)
            except CannotBakeError as error:
                return self.refuse(error)
            if reason := _idle(context, armature, held.names):
                return self.refuse(reason)
        interactive.switch(armature, on=not interactive.is_on(armature))
        return {"FINISHED"}


class IKCORE_OT_bake_pins(FrameRange, ProgressOperator):
    """Key the pinned motion into a copy of the action. Pressing again rebakes from the original"""

    bl_idname = "ikcore.bake_pins"
    bl_label = "Bake Pins"

    @staticmethod
    def reason(context):
        return not_usable(pins.pinned_armature(context))

    def invoke(self, context, event):
        if not self.properties.is_property_set("frame_start") and not self.properties.is_property_set("frame_end"):
            self.frame_start, self.frame_end = scene_range(context.scene)
        return super().invoke(context, event)

    def make_job(self, context):
        armature = pins.pinned_armature(context)
        pins.forget()
        held = pins.read_pins(armature)
        if reason := _idle(context, armature, held.names):
            raise CannotBakeError(reason)
        ends, reason = chosen_range(self, context.scene, dict.fromkeys((armature, *(pin.target for pin in held.pins))))
        if reason:
            raise CannotBakeError(reason)
        return armature, held, np.arange(ends[0], ends[1] + 1)

    def steps(self, context, job):
        told = yield from pin_bake.bake(context, *job)
        self.report({"WARNING" if told.has_problems() else "INFO"}, told.sentence())

    def draw(self, context):
        self.layout.use_property_split = True
        draw_range(self.layout, self)


CLASSES = (IKCORE_OT_pin, IKCORE_OT_unpin, IKCORE_OT_live_pins, IKCORE_OT_bake_pins)
