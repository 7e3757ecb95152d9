# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102, RUF012
"""Pins in the sidebar tab "IK Core": which bones are held by what, how the body bends for them, live or as keys."""

import bpy

from . import live, pins
from .armatures import CannotBakeError
from .operators import not_usable
from .panels import Sidebar, sentence


class IKCORE_UL_pins(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0, flt_flag=0):
        row = layout.row(align=True)
        row.prop(item, "use", text="")
        row.label(text=item.name, icon="PINNED" if item.use else "UNPINNED")
        row.prop(item, "turned", text="", icon="ORIENTATION_GIMBAL")
        if data.balance:
            row.prop(item, "stands", text="", icon="CON_FLOOR")


class IKCORE_PT_pins(Sidebar):
    bl_idname = "IKCORE_PT_pins"
    bl_label = "Pins"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, width, armature = self.layout, context.region.width, pins.pinned(context)
        if reason := not_usable(armature):
            sentence(layout, reason, "INFO", width)
            return
        kept = armature.ikcore_pins
        row = layout.row()
        row.template_list("IKCORE_UL_pins", "", kept, "pins", kept, "active", rows=3)
        row.column(align=True).operator("ikcore.unpin", text="", icon="REMOVE").index = -1
        layout.operator("ikcore.pin", icon="PINNED")
        if kept.active < len(kept.pins):
            _draw_pin(layout, kept.pins[kept.active])
        _draw_way(layout, armature, kept)
        try:
            pins.held(armature)
        except CannotBakeError as error:
            sentence(layout, str(error), "INFO", width)
            if not live.is_on(armature):
                return
        layout.operator("ikcore.hold_pins", icon="PLAY", depress=live.is_on(armature))
        row = layout.row()
        row.scale_y = 1.6
        row.operator("ikcore.bake_pins", icon="KEY_HLT")
        for text in live.remarks(armature):
            sentence(layout, text, "ERROR", width)
        for text in live.notes(armature):
            sentence(layout, text, "INFO", width)


def _draw_pin(layout, pin):
    """What the active pin is held at."""
    column = layout.column()
    column.use_property_split, column.use_property_decorate = True, False
    column.prop(pin, "target")
    if pin.target and pin.target.type == "ARMATURE":
        column.prop_search(pin, "subtarget", pin.target.data, "bones")


def _draw_way(layout, armature, kept):
    """How the body bends."""
    column = layout.column()
    column.use_property_split, column.use_property_decorate = True, False
    column.prop(kept, "method")
    column.prop_search(kept, "body", armature.data, "bones")
    column.prop(kept, "one_way")
    row = column.row()
    row.enabled = kept.method == pins.BALANCED
    row.prop(kept, "balance")


CLASSES = (IKCORE_UL_pins, IKCORE_PT_pins)
