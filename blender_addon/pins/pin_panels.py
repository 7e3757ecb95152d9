# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102, RUF012
"""The panel Pins: pinned bones, and how the body bends for them, live or as keys."""

import bpy

from ..limbs.operators import not_usable
from ..limbs.panels import Sidebar, sentence, split
from ..rig.armatures import CannotBakeError
from . import interactive, pins
from .full_body import BALANCED


class IKCORE_UL_pins(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property, index=0, flt_flag=0):
        row = layout.row(align=True)
        row.prop(item, "use", text="")
        row.label(text=item.name, icon="PINNED" if item.use else "UNPINNED")
        row.prop(item, "rotation", text="", icon="ORIENTATION_GIMBAL")
        if data.balance:
            row.prop(item, "supports_weight", text="", icon="CON_FLOOR")


class IKCORE_PT_pins(Sidebar):
    bl_idname = "IKCORE_PT_pins"
    bl_label = "Pins"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return not_usable(pins.pinned_armature(context)) is None

    def draw(self, context):
        layout, width, armature = self.layout, context.region.width, pins.pinned_armature(context)
        stored, reason = armature.ikcore_pins, _not_held(armature)
        column = layout.column()
        column.enabled = interactive.is_on(armature) or reason is None
        column.operator("ikcore.live_pins", icon="PLAY", depress=interactive.is_on(armature))
        for text in interactive.remarks(armature):
            sentence(layout, text, "ERROR", width)
        for text in interactive.notes(armature):
            sentence(layout, text, "INFO", width)
        row = layout.row()
        row.template_list("IKCORE_UL_pins", "", stored, "pins", stored, "active", rows=3)
        row.column(align=True).operator("ikcore.unpin", text="", icon="REMOVE").index = -1
        layout.operator("ikcore.pin", icon="PINNED")
        if stored.active < len(stored.pins):
            _draw_pin(layout, stored.pins[stored.active])
        _draw_bending(layout, armature, stored)
        if reason:
            sentence(layout, reason, "INFO", width)
        row = layout.row()
        row.enabled = reason is None
        row.scale_y = 1.6
        row.operator("ikcore.bake_pins", icon="KEY_HLT")


def _not_held(armature):
    """The reason why the pins of an armature cannot be used, or None."""
    try:
        pins.read_pins(armature)
    except CannotBakeError as error:
        return str(error)
    return None


def _draw_pin(layout, pin):
    """The target of the active pin."""
    column = split(layout)
    column.prop(pin, "target")
    if pin.target and pin.target.type == "ARMATURE":
        column.prop_search(pin, "subtarget", pin.target.data, "bones")


def _draw_bending(layout, armature, stored):
    """How the body bends."""
    column = split(layout)
    column.prop(stored, "method")
    column.prop_search(stored, "root_bone", armature.data, "bones")
    column.prop(stored, "one_way")
    row = column.row()
    row.enabled = stored.method == BALANCED
    row.prop(stored, "balance")


CLASSES = (IKCORE_UL_pins, IKCORE_PT_pins)
