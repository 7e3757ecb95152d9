# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102, RUF012
"""Feet in the sidebar tab "IK Core": the list of legs, the ground, the options, the buttons, how the last bake went."""

import bpy

from . import foot_batch, layouts, overlay, report
from .foot_operators import not_all_ready, not_ready
from .operators import chosen_armatures, no_armature
from .options import hand_over
from .panels import Problems, Sidebar, sentence
from .presets import IKCORE_PT_feet_presets


class IKCORE_PT_feet(Sidebar):
    bl_idname = "IKCORE_PT_feet"
    bl_label = "Bake Foot IK"

    def draw_header_preset(self, context):
        if no_armature(context) is None:
            IKCORE_PT_feet_presets.draw_panel_header(self.layout)

    def draw(self, context):
        layout, width = self.layout, context.region.width
        if reason := no_armature(context):
            sentence(layout, reason, "INFO", width)
            return
        armature = context.object
        _draw_legs(layout, armature)
        _draw_ground(layout, armature.ikcore_feet)
        reason = not_ready(context) or no_ground(armature.ikcore_feet)
        if reason:
            sentence(layout.box(), reason, "INFO", width)
        chosen = [item.name for item in chosen_armatures(context)]
        others = not_all_ready(context) if len(chosen) > 1 and not reason else None
        if len(chosen) > 1:
            sentence(layout, others or f"{len(chosen)} are selected, and baked: {', '.join(chosen)}", "INFO", width)
        column = layout.column()
        column.enabled = reason is None
        hand_over(armature.ikcore_feet, column.operator("ikcore.detect_contacts", icon="IPO_CONSTANT"))
        row = column.row()
        row.enabled = reason is None and others is None
        row.scale_y = 1.6
        hand_over(armature.ikcore_feet, row.operator("ikcore.bake_feet", icon="CON_FLOOR"))
        layout.prop(context.window_manager, "ikcore_foot_trails")
        if overlay.is_on() and not overlay.current(armature):
            sentence(layout, "No trails of what plays now: bake or detect contacts", "INFO", width)
        if told := report.latest(armature):
            _draw_report(layout.box(), told, width)


def no_ground(kept):
    """Why there is nothing to stand on, as far as the panel knows, or None."""
    if kept.ground == "OBJECTS" and not any(item.object for item in kept.objects):
        return "Pick objects to stand on"
    if kept.ground == "COLLECTION" and kept.collection is None:
        return "Pick a collection to stand on"
    return None


def _draw_legs(layout, armature):
    kept = armature.ikcore_feet
    row = layout.row()
    row.template_list("IKCORE_UL_legs", "", kept, "legs", kept, "active_leg", rows=3)
    column = row.column(align=True)
    column.operator("ikcore.edit_feet", text="", icon="ADD").change = "ADD_LEG"
    column.operator("ikcore.edit_feet", text="", icon="REMOVE").change = "REMOVE_LEG"
    layout.operator("ikcore.detect_feet", icon="VIEWZOOM")
    if not len(kept.legs):
        layout.label(text="Empty: the bake finds the feet", icon="INFO")


def _draw_ground(layout, kept):
    column = layout.column()
    column.use_property_split, column.use_property_decorate = True, False
    layouts.ground(column, kept)
    if kept.ground == "COLLECTION":
        column.prop(kept, "collection")
    elif kept.ground == "OBJECTS":
        for item in kept.objects:
            column.prop(item, "object", text="")
        row = column.row(align=True)
        row.operator("ikcore.edit_feet", text="Add", icon="ADD").change = "ADD_OBJECT"
        row.operator("ikcore.edit_feet", text="Remove", icon="REMOVE").change = "REMOVE_OBJECT"


def _draw_report(layout, told, width):
    for line in told.lines:
        column = layout.column(align=True)
        for text in line.texts():
            column.label(text=text)
        if line.missed:
            column.label(text=f"does not reach in {line.missed} frames", icon="ERROR")
    for text in [*([told.reduced()] if told.keys else []), *told.remarks()]:
        sentence(layout, text, "INFO", width)
    column = layout.column()
    column.active = False
    sentence(column, told.took(), "TIME", width)


class _Below(Sidebar):
    """Closed at first, below the buttons."""

    bl_parent_id = "IKCORE_PT_feet"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return no_armature(context) is None


class IKCORE_PT_feet_problems(Problems):
    bl_parent_id = "IKCORE_PT_feet"
    bl_idname = "IKCORE_PT_feet_problems"
    latest = staticmethod(report.latest)


class IKCORE_UL_legs(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0, flt_flag=0):
        row = layout.row(align=True)
        row.prop(item, "use", text="")
        row.prop(item, "name", text="", emboss=False)
        row.prop(item, "mode", text="")


class IKCORE_PT_leg(_Below):
    bl_idname = "IKCORE_PT_leg"
    bl_label = "Bones"

    @classmethod
    def poll(cls, context):
        return super().poll(context) and context.object.ikcore_feet.active_leg < len(context.object.ikcore_feet.legs)

    def draw(self, context):
        armature = context.object
        item = armature.ikcore_feet.legs[armature.ikcore_feet.active_leg]
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop(item, "side")
        _bone(layout, item, "hip", armature)
        for knee in item.knees:
            _bone(layout, knee, "name", armature, "Shin")
        row = layout.row(align=True)
        row.operator("ikcore.edit_feet", text="Shin", icon="ADD").change = "ADD_KNEE"
        row.operator("ikcore.edit_feet", text="Shin", icon="REMOVE").change = "REMOVE_KNEE"
        for part in ("ankle", "ball", "toe"):
            _bone(layout, item, part, armature)
        _bone(layout, item, "pole", armature)
        _draw_sole(layout, item, armature)


def _draw_sole(layout, item, armature):
    for point in item.soles:
        column = layout.column(align=True)
        column.use_property_split = False
        column.label(text=f"{point.name.title()} on {point.bone}")
        column.prop(point, "place", text="")
    row = layout.row(align=True)
    row.operator("ikcore.detect_sole", icon="VIEWZOOM").restart = armature.ikcore_feet.restart
    if item.soles:
        row.operator("ikcore.edit_feet", text="", icon="X").change = "REMOVE_SOLE"


def _bone(layout, item, name, armature, text=None):
    options = {} if text is None else {"text": text}
    layout.prop_search(item, name, armature.data, "bones", **options)


class _Options(_Below):
    """A group of options of the bake."""

    def draw(self, context):
        self.layout.use_property_split, self.layout.use_property_decorate = True, False
        layouts.GROUPS[self.bl_label](self.layout, context.object.ikcore_feet)


class IKCORE_PT_feet_contacts(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_contacts", "Contacts"


class IKCORE_PT_feet_pelvis(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_pelvis", "Pelvis"

    def draw(self, context):
        super().draw(context)
        self.layout.prop_search(context.object.ikcore_feet, "pelvis_bone", context.object.data, "bones")


class IKCORE_PT_feet_legs(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_legs", "Legs"


class IKCORE_PT_feet_output(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_output", "Output"


class IKCORE_PT_feet_actions(_Below):
    """Many actions at once."""

    bl_idname = "IKCORE_PT_feet_actions"
    bl_label = "All Actions"

    def draw(self, context):
        armature, layout, width = context.object, self.layout, context.region.width
        kept = armature.ikcore_feet
        layout.prop(kept, "pattern")
        found = [action.name for action, _ in foot_batch.fitting(armature, kept.pattern)]
        reason = foot_batch.refusal(armature) or no_ground(kept) or foot_batch.none_of(armature, kept.pattern, found)
        sentence(layout, reason or f"{len(found)} to bake: {', '.join(found)}", "INFO", width)
        column = layout.column()
        column.enabled = reason is None
        button = column.operator("ikcore.bake_feet_actions", icon="CON_FLOOR")
        hand_over(kept, button)
        button.pattern = kept.pattern


CLASSES = (
    IKCORE_UL_legs,
    IKCORE_PT_feet,
    IKCORE_PT_feet_problems,
    IKCORE_PT_leg,
    IKCORE_PT_feet_contacts,
    IKCORE_PT_feet_pelvis,
    IKCORE_PT_feet_legs,
    IKCORE_PT_feet_output,
    IKCORE_PT_feet_actions,
)
