# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400, RUF012
"""The operator Bake Limb IK: which limbs, which frames, what to say; and how all operators here refuse."""

import bpy
import numpy as np
from bpy.props import EnumProperty

from . import bridge
from .armatures import CannotBakeError, not_evaluated
from .bake import bake
from .limbs import CHAIN, find_limbs, refusals, selected_limbs
from .ranges import FrameRange, chosen_range, draw_range, scene_range


def no_armature(context):
    """Why there is no armature to work on, or None."""
    armature = context.object
    if bridge.problem():
        return bridge.problem()
    if armature is None or armature.type != "ARMATURE":
        return "Select an armature"
    if armature.mode not in {"POSE", "OBJECT"}:
        return "Switch to Pose Mode or Object Mode"
    return None


class Refusing(bpy.types.Operator):
    """Says why its button is grey, and why it did nothing."""

    @staticmethod
    def reason(context):
        return no_armature(context)

    @classmethod
    def poll(cls, context):
        reason = cls.reason(context)
        if reason:
            cls.poll_message_set(reason)
        return reason is None

    def refuse(self, sentence):
        self.report({"ERROR"}, str(sentence))
        return {"CANCELLED"}


class IKCORE_OT_bake_limb(FrameRange, Refusing):
    """Turn two-bone IK into rotation keys on the bones, in a copy of the action. The IK constraints are muted"""

    bl_idname = "ikcore.bake_limb"
    bl_label = "Bake Limb IK"
    bl_options = {"REGISTER", "UNDO"}

    limbs: EnumProperty(
        name="Limbs",
        description="Which limbs to bake. In Object Mode always all of the active armature",
        items=[
            ("SELECTED", "Selected", "Limbs with a selected bone: in the limb, its target or its pole"),
            ("ALL", "All", "All limbs with a chain length of 2"),
        ],
        default="SELECTED",
    )

    def invoke(self, context, event):
        if not self.properties.is_property_set("frame_start") and not self.properties.is_property_set("frame_end"):
            self.frame_start, self.frame_end = scene_range(context.scene)
        return self.execute(context)

    def execute(self, context):
        limbs, reason = self._chosen(context)
        frames, range_reason = self._frames(context, limbs)
        if reason or range_reason:
            return self.refuse(reason or range_reason)
        manager = context.window_manager
        manager.progress_begin(0, len(frames))
        try:
            report = bake(context, limbs, frames, manager.progress_update)
        except CannotBakeError as error:
            return self.refuse(error)
        finally:
            manager.progress_end()
        self.report({"WARNING" if report.troubled() else "INFO"}, report.sentence())
        return {"FINISHED"}

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "limbs")
        draw_range(layout, self)

    def _chosen(self, context):
        """The limbs to bake, or a reason why not."""
        armatures = posed_armatures(context)
        everything = self.limbs == "ALL" or context.object.mode == "OBJECT"
        if everything:
            limbs = [limb for armature in armatures for limb in find_limbs(armature) if limb.ik.chain_count == CHAIN]
            nothing = f"{context.object.name} has no limb with two-bone IK that is switched on"
        else:
            limbs = [limb for armature in armatures for limb in selected_limbs(find_limbs(armature))]
            nothing = "No limb selected: select a bone of a two-bone IK limb, its target or its pole"
        if not limbs:
            return [], nothing
        if reason := next(filter(None, (not_evaluated(context, limb.object) for limb in limbs)), None):
            return [], reason
        return limbs, next(filter(None, refusals(limbs)), None)

    def _frames(self, context, limbs):
        """The frames to bake, or a reason why not."""
        objects = [item for limb in limbs for item in (limb.object, limb.ik.target, limb.ik.pole_target)]
        ends, reason = chosen_range(self, context.scene, objects)
        return (None, reason) if reason else (np.arange(ends[0], ends[1] + 1), None)


def posed_armatures(context):
    """The active armature; in Pose Mode all that are posed together."""
    if context.object.mode == "OBJECT":
        return [context.object]
    armatures = [item for item in context.view_layer.objects if item.type == "ARMATURE" and item.mode == "POSE"]
    return sorted(armatures, key=lambda item: item != context.object)
