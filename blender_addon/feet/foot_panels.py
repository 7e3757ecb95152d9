# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102, RUF012
"""The panel Bake Foot IK in the sidebar tab "IK Core": ground, button, result, options; feet and details closed."""

import bpy

from ..limbs.operators import chosen_armatures, no_armature
from ..limbs.panels import ForArmature, Problems, Sidebar, sentence, split
from ..pins import pins
from ..rig import rigify
from ..rig.armatures import Rig, constraint_problem
from . import foot_batch, foot_report, layouts, overlay, placement_operators
from .foot_operators import not_all_ready, not_ready
from .options import hand_over, hand_over_ground
from .presets import IKCORE_PT_feet_presets


class IKCORE_PT_feet(Sidebar):
    bl_idname = "IKCORE_PT_feet"
    bl_label = "Bake Foot IK"

    @classmethod
    def poll(cls, context):
        return pins.pinned_armature(context) is context.object  # while a pin is dragged the panel Pins stays

    def draw_header_preset(self, context):
        if no_armature(context) is None:
            IKCORE_PT_feet_presets.draw_panel_header(self.layout)

    def draw(self, context):
        layout, width = self.layout, context.region.width
        if reason := no_armature(context):
            sentence(layout, reason, "INFO", width)
            return
        armature = context.object
        options = armature.ikcore_feet
        _draw_ground(split(layout), options)
        reason = not_ready(context) or no_ground(options)
        _draw_button(layout, context, options, reason)
        _draw_placement(layout, context, options)
        if told := foot_report.latest(armature):
            _draw_report(layout.box(), told, width)
        layout.prop(context.window_manager, "ikcore_foot_trails")
        if overlay.is_on() and not overlay.current(armature):
            sentence(layout, "No trails for this action yet: bake or detect contacts", "INFO", width)
        column = split(layout)
        layouts.contact_source(column, options)
        row = column.row()
        row.enabled = reason is None
        hand_over(options, row.operator("ikcore.detect_contacts", icon="IPO_CONSTANT"))
        layouts.main(column, options)


def no_ground(options):
    """The reason why there is no ground, as far as the panel knows, or None."""
    if options.ground == "OBJECTS" and not any(item.object for item in options.objects):
        return "Choose ground objects"
    if options.ground == "COLLECTION" and options.collection is None:
        return "Choose a ground collection"
    return None


def _draw_ground(column, options):
    layouts.ground(column, options)
    if options.ground == "COLLECTION":
        column.prop(options, "collection")
    elif options.ground == "OBJECTS":
        for item in options.objects:
            column.prop(item, "object", text="")
        row = column.row(align=True)
        row.operator("ikcore.edit_feet", text="Add", icon="ADD").change = "ADD_OBJECT"
        row.operator("ikcore.edit_feet", text="Remove", icon="REMOVE").change = "REMOVE_OBJECT"


def _draw_button(layout, context, options, reason):
    """The button, below the reasons that prevent the bake and the armatures that it bakes."""
    width, chosen = context.region.width, [item.name for item in chosen_armatures(context)]
    if reason:
        sentence(layout.box(), reason, "INFO", width)
    elif held := _ik_bone(context.object):
        sentence(layout.box(), f"{held}: press Bake IK first", "INFO", width)
    others = not_all_ready(context) if len(chosen) > 1 and not reason else None
    if len(chosen) > 1:
        sentence(layout, others or f"{len(chosen)} armatures: {', '.join(chosen)}", "INFO", width)
    row = layout.row()
    row.enabled = reason is None and others is None
    row.scale_y = 1.6
    hand_over(options, row.operator("ikcore.bake_feet", icon="CON_FLOOR"))


def _draw_placement(layout, context, options):
    """The buttons that place the current pose, and all frames."""
    row = layout.row(align=True)
    row.enabled = placement_operators.not_ready(context) is None
    for text, icon, frames in ((None, "CON_FLOOR", "CURRENT"), ("", "RENDER_ANIMATION", "ACTION")):
        button = row.operator("ikcore.place_legs", icon=icon, **({} if text is None else {"text": text}))
        hand_over_ground(options, button)
        button.frame_range = frames


def _ik_bone(armature):
    """A bone of a listed leg that IK moves, or None. Rigs with IK/FK switches are baked as they are."""
    listed = [leg for leg in armature.ikcore_feet.legs if leg.use]
    if not listed or rigify.switch_of(armature):
        return None
    rig, bones = Rig(armature), armature.pose.bones
    names = [name for leg in listed for name in (leg.hip, *(knee.name for knee in leg.knees)) if name in bones]
    moved = {name for *_, chain in rig.chains for name in chain}
    return next(filter(None, (constraint_problem(bones[name], rig) for name in names if name in moved)), None)


def _draw_report(layout, told, width):
    for line in told.lines:
        column = layout.column(align=True)
        for text in line.texts():
            column.label(text=text)
        if line.missed:
            column.label(text=foot_report.initial(f"{line.leg} {line.out_of_reach()}"), icon="ERROR")
    for text in [*([told.key_count()] if told.keys else []), *told.remarks()]:
        sentence(layout, text, "INFO", width)


class _Below(ForArmature):
    """A closed panel below the options."""

    bl_parent_id = "IKCORE_PT_feet"
    bl_options = {"DEFAULT_CLOSED"}


class IKCORE_PT_feet_problems(Problems):
    bl_parent_id = "IKCORE_PT_feet"
    bl_idname = "IKCORE_PT_feet_problems"
    latest = staticmethod(foot_report.latest)


class IKCORE_PT_feet_list(_Below):
    """The legs of the armature."""

    bl_idname = "IKCORE_PT_feet_list"
    bl_label = "Feet"

    def draw(self, context):
        layout, options = self.layout, context.object.ikcore_feet
        if not len(options.legs):
            layout.label(text="Feet are detected automatically", icon="INFO")
        row = layout.row()
        row.template_list("IKCORE_UL_legs", "", options, "legs", options, "active_leg", rows=3)
        column = row.column(align=True)
        column.operator("ikcore.edit_feet", text="", icon="ADD").change = "ADD_LEG"
        column.operator("ikcore.edit_feet", text="", icon="REMOVE").change = "REMOVE_LEG"
        layout.operator("ikcore.detect_feet", icon="VIEWZOOM")


class IKCORE_UL_legs(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0, flt_flag=0):
        row = layout.row(align=True)
        row.prop(item, "use", text="")
        row.prop(item, "name", text="", emboss=False)
        row.prop(item, "mode", text="")


class IKCORE_PT_leg(_Below):
    bl_parent_id = "IKCORE_PT_feet_list"
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
    row.operator("ikcore.detect_sole", icon="VIEWZOOM").from_original = armature.ikcore_feet.from_original
    if item.soles:
        row.operator("ikcore.edit_feet", text="", icon="X").change = "REMOVE_SOLE"


def _bone(layout, item, name, armature, text=None):
    options = {} if text is None else {"text": text}
    layout.prop_search(item, name, armature.data, "bones", **options)


class IKCORE_PT_feet_advanced(_Below):
    """All other options."""

    bl_idname, bl_label = "IKCORE_PT_feet_advanced", "Advanced"

    def draw(self, context):
        """Only its sub-panels have options."""


class _Options(_Below):
    """A group of advanced options."""

    bl_parent_id = "IKCORE_PT_feet_advanced"

    def draw(self, context):
        layouts.ADVANCED[self.bl_label](split(self.layout), context.object.ikcore_feet)


class IKCORE_PT_feet_output(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_output", "Output"
    bl_options = set()


class IKCORE_PT_feet_contacts(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_contacts", "Contacts"


class IKCORE_PT_feet_pelvis(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_pelvis", "Pelvis"

    def draw(self, context):
        super().draw(context)
        split(self.layout).prop_search(context.object.ikcore_feet, "pelvis_bone", context.object.data, "bones")


class IKCORE_PT_feet_legs(_Options):
    bl_idname, bl_label = "IKCORE_PT_feet_legs", "Legs"


class IKCORE_PT_feet_actions(_Below):
    """All actions of the armature."""

    bl_idname = "IKCORE_PT_feet_actions"
    bl_label = "All Actions"

    def draw(self, context):
        armature, layout, width = context.object, self.layout, context.region.width
        kept = armature.ikcore_feet
        layout.prop(kept, "pattern")
        found = [action.name for action, _ in foot_batch.matching_actions(armature, kept.pattern)]
        reason = foot_batch.refusal(armature) or no_ground(kept) or foot_batch.none_of(armature, kept.pattern, found)
        sentence(
            layout,
            reason or f"{len(found)} {'action' if len(found) == 1 else 'actions'}: {', '.join(found)}",
            "INFO",
            width,
        )
        column = layout.column()
        column.enabled = reason is None
        button = column.operator("ikcore.bake_feet_actions", icon="CON_FLOOR")
        hand_over(kept, button)
        button.pattern = kept.pattern


CLASSES = (
    IKCORE_UL_legs,
    IKCORE_PT_feet,
    IKCORE_PT_feet_problems,
    IKCORE_PT_feet_list,
    IKCORE_PT_leg,
    IKCORE_PT_feet_advanced,
    IKCORE_PT_feet_output,
    IKCORE_PT_feet_contacts,
    IKCORE_PT_feet_pelvis,
    IKCORE_PT_feet_legs,
    IKCORE_PT_feet_actions,
)
