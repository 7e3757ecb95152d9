# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes, calls methods and shows docstrings as tooltips in its own way:
# ruff: noqa: N801, D102, D400, RUF012
"""The operators for feet: bake, detect feet, soles and contacts, edit the list of feet."""

import contextlib
import dataclasses

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ..animation import nla, scene_frames
from ..limbs.operators import CheckedOperator, ProgressOperator, chosen_armatures, no_armature
from ..rig.armatures import CannotBakeError, not_editable
from . import contact_curves, foot_bake, foot_batch, foot_job, foot_report, keys, layouts, legs, overlay, trails
from .options import ActionNames, FootOutput, FootRequest, hand_back


def not_ready(context):
    """The reason why the feet of the active object cannot be baked, or None."""
    return no_armature(context) or foot_job.refusal(context.object)


def not_all_ready(context):
    """The same for all chosen armatures."""
    reasons = (foot_job.refusal(armature) for armature in chosen_armatures(context))
    return no_armature(context) or next(filter(None, reasons), None)


class _FeetOperator(FootRequest, ProgressOperator):
    """Bakes feet."""

    advanced = layouts.ADVANCED

    @staticmethod
    def reason(context):
        return not_ready(context)

    def execute(self, context):
        done = ProgressOperator.execute(self, context)
        if self.options.is_repeat and done == {"FINISHED"}:  # options were changed in the redo panel
            hand_back(context.object.ikcore_feet, self)
        return done

    def make_job(self, context):
        return foot_job.make_job(context, context.object, self)

    def work(self, context, job):
        """Bake without writing: a generator that yields progress."""
        return scene_frames.run_part(foot_bake.work(context, job, again=self.options.is_repeat), 0.0, foot_bake.WORKING)

    def draw(self, context):
        self.layout.use_property_split = True
        layouts.everything(self.layout, self, self.advanced)


class IKCORE_OT_bake_feet(FootOutput, _FeetOperator):
    """Plant the feet on the ground and move the pelvis with them. Keys go into a copy of the action"""

    bl_idname = "ikcore.bake_feet"
    bl_label = "Bake Foot IK"

    @staticmethod
    def reason(context):
        return not_all_ready(context)

    def make_job(self, context):
        armatures = chosen_armatures(context)
        off = [item.name for item in armatures if self.output == "NLA" and not item.animation_data.use_nla]
        if off:
            raise CannotBakeError(f"The NLA of {off[0]} is off: turn it on in the NLA Editor")
        jobs = [foot_job.make_job(context, armature, self) for armature in armatures]
        for job in jobs:
            foot_job.check_strip(job)
        return jobs

    def steps(self, context, job):
        made, share, again = [], foot_bake.WORKING / len(job), self.options.is_repeat
        if not again:
            foot_bake.forget()
        for number, each in enumerate(job):
            steps = foot_bake.work(context, each, again=again)
            made.append((each, *(yield from scene_frames.run_part(steps, number * share, (number + 1) * share))))
        with contextlib.ExitStack() as timing:
            for *_, told in made:
                timing.enter_context(foot_report.measure_time(told.times, "wrote"))
            written = yield from scene_frames.run_part(self._make_keys(context, made), foot_bake.WORKING, 0.9)
            yield from scene_frames.run_part(foot_bake.write(context, written, self), 0.9, 1.0)
        named = [(each.armature.name, told) for each, *_, told in made]
        troubled = any(told.has_problems() for _, told in named)
        self.report({"WARNING" if troubled else "INFO"}, foot_report.summary_line(named))

    def _make_keys(self, context, made):
        """The keys of armatures: a generator that yields progress, and returns the results to write."""
        written = []
        for number, (job, seen, baked, told) in enumerate(made):
            with nla.taken_down(job.armature):
                steps = keys.make_keys(context, job, seen, baked, told, self)
                channels, frames = yield from scene_frames.run_part(steps, number / len(made), (number + 1) / len(made))
            written.append(foot_bake.BakeResult(job, baked, channels, frames, told))
        return written


class IKCORE_OT_bake_feet_actions(ActionNames, _FeetOperator):
    """Bake each action of the armature into its own copy. The originals are kept"""

    bl_idname = "ikcore.bake_feet_actions"
    bl_label = "Bake All Actions"
    advanced = layouts.ADVANCED | {"Output": layouts.copies}

    @staticmethod
    def reason(context):
        return no_armature(context) or foot_batch.refusal(context.object)

    def make_job(self, context):
        return foot_batch.make_job(context.object, self.pattern)

    def steps(self, context, job):
        made, refused = yield from foot_batch.work(context, job, self)
        troubled = bool(refused) or any(each.told.has_problems() for each in made)
        self.report({"WARNING" if troubled else "INFO"}, foot_batch.sentence(made, refused))


class IKCORE_OT_detect_contacts(_FeetOperator):
    """Detect contacts and key them as curves for the Graph Editor: 1 is planted. The next bake uses these curves"""

    bl_idname = "ikcore.detect_contacts"
    bl_label = "Detect Contacts"
    replace: BoolProperty(name="Replace Curves", description="Overwrite existing contact curves, edited ones too")

    def make_job(self, context):
        return dataclasses.replace(super().make_job(context), keyed=not self.replace)

    def draw(self, context):
        self.layout.use_property_split = True
        layouts.detection(self.layout, self)

    def steps(self, context, job):
        seen, baked, _ = yield from self.work(context, job)
        found = baked.contacts.weights
        with nla.taken_down(job.armature):
            there = contact_curves.read(job.armature, found, job.frames)
            wanted = {key: weight for key, weight in found.items() if self.replace or key not in there}
            contact_curves.write(job.armature, wanted, job.frames)
        if not overlay.current(job.armature):
            shown = trails.of_source(dataclasses.replace(job, keyed=True), seen, baked)
            overlay.keep(job.armature, nla.current_action(job.armature.animation_data), shown)
        kept = len(found) - len(wanted)
        text = f"Contact curves: {len(wanted)} keyed" + (f", {kept} kept" if kept else "")
        if wanted:
            self.report({"INFO"}, text)
        else:
            self.report({"WARNING"}, f"{text}: turn on Replace Curves to overwrite them")


class _FeetListOperator(CheckedOperator):
    """Changes the list of feet."""

    @staticmethod
    def reason(context):
        return no_armature(context) or not_editable(context.object)


class IKCORE_OT_detect_feet(_FeetListOperator):
    """List the legs of all selected armatures, found by bone names or by the bone hierarchy"""

    bl_idname = "ikcore.detect_feet"
    bl_label = "Detect Feet"
    bl_options = {"REGISTER", "UNDO"}

    replace: BoolProperty(name="Replace List", description="Remove the listed legs first, edited ones too")

    @staticmethod
    def reason(context):
        reasons = (not_editable(armature) for armature in chosen_armatures(context))
        return no_armature(context) or next(filter(None, reasons), None)

    def execute(self, context):
        armatures = chosen_armatures(context)
        try:
            found = [legs.detect_legs(context, armature) for armature in armatures]
        except CannotBakeError as error:
            return self.refuse(error)
        told = [self._add_legs(armature, each) for armature, each in zip(armatures, found, strict=True)]
        several = len(told) > 1
        lines = [f"{item.name}: {text}" if several else text for item, (text, _) in zip(armatures, told, strict=True)]
        self.report({"INFO" if any(new for _, new in told) else "WARNING"}, "; ".join(lines))
        return {"FINISHED"}

    def _add_legs(self, armature, found):
        """Add legs to the list of an armature: a sentence, and whether there are new ones."""
        listed = armature.ikcore_feet.legs
        if self.replace:
            listed.clear()
        kept = {item.name for item in listed}
        first = {item.hip or item.ankle for item in listed}
        new = [leg for leg in found if leg.name not in kept and leg.bones[0] not in first]
        legs.fill(armature, new)
        text = f"Found {', '.join(leg.name for leg in new)}" if new else "No other legs found: nothing has changed"
        return text + (f"; kept {', '.join(sorted(kept))}" if kept else ""), bool(new)


class IKCORE_OT_detect_sole(_FeetOperator):
    """List the points of the sole of a leg, to be edited. Without listed points every bake detects them"""

    bl_idname = "ikcore.detect_sole"
    bl_label = "Detect Sole"

    leg: StringProperty(name="Leg", description="The name of a leg in the list of feet. Empty: the active one")

    def make_job(self, context):
        kept = context.object.ikcore_feet
        if not self.leg and kept.active_leg < len(kept.legs):
            self.leg = kept.legs[kept.active_leg].name
        if self.leg not in kept.legs:
            raise CannotBakeError(f"The list of feet has no leg {self.leg}: press Detect Feet first")
        return foot_job.make_job(context, context.object, self, bare=self.leg)

    def steps(self, context, job):
        found = yield from foot_bake.soles(context, job)
        item = job.armature.ikcore_feet.legs[self.leg]
        legs.own_sole(job.armature, item, found[self.leg].soles)
        self.report({"INFO"}, f"Sole of {self.leg}: {', '.join(found[self.leg].soles)}")

    def draw(self, context):
        self.layout.prop(self, "leg")


class IKCORE_OT_show_frame(bpy.types.Operator):
    """Go to this frame"""

    bl_idname = "ikcore.show_frame"
    bl_label = "Show Frame"
    bl_options = {"INTERNAL"}

    frame: IntProperty(name="Frame", description="A frame of the current action")

    def execute(self, context):
        scene_frames.go(context.scene, self.frame)
        return {"FINISHED"}


class IKCORE_OT_edit_feet(_FeetListOperator):
    """Change the list of legs"""

    bl_idname = "ikcore.edit_feet"
    bl_label = "Edit Feet"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    TEXTS = {
        "ADD_LEG": "Add a leg to the list",
        "REMOVE_LEG": "Remove the leg from the list",
        "ADD_KNEE": "Add a shin bone, for legs with several",
        "REMOVE_KNEE": "Remove the last shin bone",
        "REMOVE_SOLE": "Remove the points of the sole: every bake detects them",
        "ADD_OBJECT": "Add a ground object",
        "REMOVE_OBJECT": "Remove the last ground object",
    }

    change: EnumProperty(
        name="Change",
        description="The change of the list",
        items=[(name, name.replace("_", " ").title(), text) for name, text in TEXTS.items()],
    )

    @classmethod
    def description(cls, context, properties):
        return cls.TEXTS[properties.change]

    def execute(self, context):
        kept = context.object.ikcore_feet
        what, _, of = self.change.partition("_")
        rows = self._rows(kept, of)
        if rows is None or (what == "REMOVE" and not len(rows)):
            self.report({"WARNING"}, "Nothing has changed: the list is empty")
            return {"CANCELLED"}
        if what == "ADD":
            item = rows.add()
            if of == "LEG":
                item.name = f"leg {len(rows)}"
                item.knees.add()
                kept.active_leg = len(rows) - 1
        elif of == "SOLE":
            rows.clear()
        else:
            rows.remove(kept.active_leg if of == "LEG" else len(rows) - 1)
            kept.active_leg = min(kept.active_leg, max(len(kept.legs) - 1, 0))
        return {"FINISHED"}

    @staticmethod
    def _rows(kept, of):
        """The list to change, or None if there is no leg to have one."""
        if of in {"LEG", "OBJECT"}:
            return kept.legs if of == "LEG" else kept.objects
        if kept.active_leg >= len(kept.legs):
            return None
        leg = kept.legs[kept.active_leg]
        return leg.knees if of == "KNEE" else leg.soles


CLASSES = (
    IKCORE_OT_bake_feet,
    IKCORE_OT_bake_feet_actions,
    IKCORE_OT_detect_contacts,
    IKCORE_OT_detect_feet,
    IKCORE_OT_detect_sole,
    IKCORE_OT_show_frame,
    IKCORE_OT_edit_feet,
)
