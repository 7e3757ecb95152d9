# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400, RUF012
"""The operator Bake IK: which limbs, which frames, what to say; and how all operators here refuse and end."""

import time

import bpy
import numpy as np
from bpy.props import EnumProperty, IntProperty

from . import bridge, stage
from .armatures import CannotBakeError, not_evaluated
from .bake import bake
from .bent import METHODS
from .few import Keys, draw_keys
from .limbs import CHAIN, acting, aimed_together, find_limbs, find_tracks, none_on, refusals, selected_limbs, together
from .ranges import FrameRange, chosen_range, draw_range, scene_range
from .report import said

TICK = 0.05  # seconds of work between two looks at the keyboard
SHOWN = 0.05  # of the work: from one number in the status bar to the next, as each draws the window anew


def no_armature(context):
    """Why there is no armature to work on, or None."""
    return not_usable(context.object)


def not_usable(armature):
    """Why this is no armature to work on, or None."""
    if bridge.problem():
        return bridge.problem()
    if armature is None or armature.type != "ARMATURE":
        return "Select an armature"
    if armature.mode not in {"POSE", "OBJECT"}:
        return "Switch to Pose Mode or Object Mode"
    return None


def described(properties, name):
    """What the chosen item of an option says of itself: the tooltip of a button that sets it."""
    option = properties.bl_rna.properties[name]
    return option.enum_items[getattr(properties, name)].description


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


class Baking(Refusing):
    """Works with progress, from scripts at once, from the interface so that Esc cancels."""

    def asked(self, context):
        """What is asked for, by value, or a CannotBakeError."""
        raise NotImplementedError

    def steps(self, context, job):
        """All that is asked for: a generator that yields the share that is done, and says at its end how it went."""
        raise NotImplementedError

    def execute(self, context):
        try:
            stage.finished(self.steps(context, self.asked(context)))
        except CannotBakeError as error:
            return self.refuse(error)
        return {"FINISHED"}

    def invoke(self, context, event):
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self._work, self._shown = self.steps(context, self.asked(context)), None
        except CannotBakeError as error:
            return self.refuse(error)
        self._timer = context.window_manager.event_timer_add(0.01, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and event.value == "PRESS":
            self.cancel(context)
            self.report({"INFO"}, "Cancelled: nothing has changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        done = {"CANCELLED"}
        try:
            done = self._tick(context)
        except CannotBakeError as error:
            self.refuse(error)
        finally:
            if done != {"RUNNING_MODAL"}:
                self.cancel(context)
        return done

    def cancel(self, context):
        """End the work and put everything back: also called by Blender when it closes the window."""
        self._work.close()
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)

    def _tick(self, context):
        """Some of the work."""
        until = time.monotonic() + TICK
        try:
            while time.monotonic() < until:
                share = next(self._work)
        except StopIteration:
            return {"FINISHED"}
        text = f"{self.bl_label}: {SHOWN * int(share / SHOWN):.0%}    Esc: Cancel"
        if text != self._shown:
            self._shown = text
            context.workspace.status_text_set(text)
        return {"RUNNING_MODAL"}


class IKCORE_OT_bake_ik(Keys, FrameRange, Baking):
    """Turn IK into keys on the bones that it moves, in a copy of the action. The IK constraints are muted"""

    bl_idname = "ikcore.bake_ik"
    bl_label = "Bake IK"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    way: EnumProperty(
        name="Way",
        description="What the keys say",
        items=[
            (
                "SHOWN",
                "As Shown",
                "What Blender's own solver shows on every frame, whatever the chain and its constraints. What shares "
                "bones with it is baked too",
            ),
            (
                "ANEW",
                "Solved Anew",
                "Two-bone limbs in closed form: exactly on their target wherever it is in reach, which Blender's own "
                "solver only comes near",
            ),
            (
                "CHAINS",
                "Chains Anew",
                "Chains of any length by a method of the library, from where Blender's own solver has them. Bones keep "
                "their twist, and IK limits hold. What shares bones is solved as one",
            ),
        ],
        default="SHOWN",
    )
    method: EnumProperty(name="Method", description="How chains are solved anew", items=METHODS, default="dls")
    limbs: EnumProperty(
        name="Limbs",
        description="Which IK to bake. In Object Mode always all of the selected armatures",
        items=[
            ("SELECTED", "Selected", "IK with a selected bone: in its chain, its target or its pole"),
            ("ALL", "All", "All IK; solved anew, all with a chain length of 2"),
        ],
        default="SELECTED",
    )

    @classmethod
    def description(cls, context, properties):
        return cls.__doc__ if properties.way == "SHOWN" else described(properties, "way")

    def invoke(self, context, event):
        if not self.properties.is_property_set("frame_start") and not self.properties.is_property_set("frame_end"):
            self.frame_start, self.frame_end = scene_range(context.scene)
        return super().invoke(context, event)

    def asked(self, context):
        limbs, reason = self._chosen(context)
        frames, range_reason = _frames_of(self, context, limbs)
        if reason or range_reason:
            raise CannotBakeError(reason or range_reason)
        return limbs, frames

    def steps(self, context, job):
        limbs, frames = job
        reports = yield from bake(context, limbs, frames, self.way, self.method, tolerance=self.tolerance())
        troubled = any(report.troubled() for report in reports)
        self.report({"WARNING" if troubled else "INFO"}, said([(report.armature, report) for report in reports]))

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "way")
        if self.way == "CHAINS":
            layout.prop(self, "method")
        layout.prop(self, "limbs")
        draw_range(layout, self)
        draw_keys(layout, self)

    def _chosen(self, context):
        """The limbs to bake, or a reason why not."""
        armatures = chosen_armatures(context)
        everything = self.limbs == "ALL" or context.object.mode == "OBJECT"
        if everything:
            found = acting([limb for armature in armatures for limb in find_limbs(armature)])
            # without any the refusal of a longer one says what would be
            limbs = (self.way == "ANEW" and [limb for limb in found if limb.ik.chain_count == CHAIN]) or found
            nothing = none_on(armatures)
        else:
            limbs = [limb for armature in armatures for limb in selected_limbs(find_limbs(armature))]
            nothing = "No IK selected: select a bone of its chain, its target or its pole"
        if not limbs:
            return [], nothing
        if self.way != "ANEW":
            limbs = together(limbs)
        if reason := next(filter(None, (not_evaluated(context, limb.object) for limb in limbs)), None):
            return [], reason
        return limbs, next(filter(None, (reasons[self.way] for reasons in refusals(limbs))), None)


class IKCORE_OT_bake_tracking(Keys, FrameRange, Baking):
    """Turn what aims bones, or lays them along splines, into keys. The constraints are muted"""

    bl_idname = "ikcore.bake_tracking"
    bl_label = "Bake Tracking"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    way: EnumProperty(
        name="Way",
        description="What the keys say",
        items=[
            ("SHOWN", "As Shown", "What Blender shows on every frame. What shares bones with it is baked too"),
            (
                "AIMS",
                "Solved Anew",
                "Damped Track, Track To and Locked Track in closed form, from what keys say without them. Several "
                "bones may share the turn",
            ),
        ],
        default="SHOWN",
    )
    sharing: IntProperty(
        name="Bones",
        description="How many bones share a turn, solved anew: the one with the constraint, and those it hangs on, "
        "such as neck and chest. A Locked Track turns one",
        min=1,
        soft_max=8,
        default=1,
    )

    @classmethod
    def description(cls, context, properties):
        return cls.__doc__ if properties.way == "SHOWN" else described(properties, "way")

    def asked(self, context):
        found = [limb for armature in chosen_armatures(context) for limb in find_tracks(armature)]
        if context.object.mode == "POSE":
            found = selected_limbs(found)
        if not found:
            where = "of a selected bone " if context.object.mode == "POSE" else ""
            raise CannotBakeError(f"No Damped Track, Track To, Locked Track or Spline IK {where}is switched on")
        limbs = together(found) if self.way == "SHOWN" else aimed_together(found, self.sharing)
        frames, reason = _frames_of(self, context, limbs)
        reasons = (not_evaluated(context, limb.object) for limb in limbs)
        refused = (each[self.way] for each in refusals(limbs, [self.way]))
        if reason := reason or next(filter(None, reasons), None) or next(filter(None, refused), None):
            raise CannotBakeError(reason)
        return limbs, frames

    def steps(self, context, job):
        limbs, frames = job
        reports = yield from bake(context, limbs, frames, self.way, None, "Baked Tracking", self.tolerance())
        troubled = any(report.troubled() for report in reports)
        self.report({"WARNING" if troubled else "INFO"}, said([(report.armature, report) for report in reports]))

    def draw(self, context):
        self.layout.use_property_split = True
        self.layout.prop(self, "way")
        if self.way == "AIMS":
            self.layout.prop(self, "sharing")
        draw_range(self.layout, self)
        draw_keys(self.layout, self)


def _frames_of(options, context, limbs):
    """The frames to bake, or a reason why not."""
    objects = dict.fromkeys(item for limb in limbs for item in (limb.object, *limb.sources()))
    ends, reason = chosen_range(options, context.scene, objects)
    return (None, reason) if reason else (np.arange(ends[0], ends[1] + 1), None)


def chosen_armatures(context):
    """The active armature and all that are selected with it; in Pose Mode all that are posed together."""

    def chosen(item):
        return item.mode == "POSE" if context.object.mode == "POSE" else item.select_get()

    armatures = [item for item in context.view_layer.objects if item.type == "ARMATURE" and chosen(item)]
    return [context.object, *(item for item in armatures if item != context.object)]
