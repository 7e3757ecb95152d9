# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102
"""The sidebar tab "IK Core": what would be baked, what stands in the way, and the button."""

import textwrap

import bpy

from . import bridge
from .bake import WAYS
from .limbs import CHAIN, acting, find_limbs, find_tracks, refusals, selected_limbs
from .operators import IKCORE_OT_bake_ik, chosen_armatures


class Sidebar(bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "IK Core"


class IKCORE_PT_bake_ik(Sidebar):
    bl_idname = "IKCORE_PT_bake_ik"
    bl_label = "Bake IK"

    def draw(self, context):
        layout = self.layout
        width = context.region.width
        if bridge.problem():
            sentence(layout.box(), bridge.problem(), "ERROR", width)
        armature = context.object
        if armature is None or armature.type != "ARMATURE":
            layout.label(text="Select an armature", icon="INFO")
            return
        reasons = _draw_limbs(layout, context, width)
        column = layout.column()
        column.enabled = reasons["SHOWN"] is None
        column.scale_y = 1.6
        column.operator(IKCORE_OT_bake_ik.bl_idname, icon="KEY_HLT").way = "SHOWN"
        if reasons["ANEW"] and not reasons["SHOWN"]:
            sentence(layout, f"Solve Anew: {reasons['ANEW']}", "INFO", width)
        column = layout.column()
        column.enabled = reasons["ANEW"] is None
        column.operator(IKCORE_OT_bake_ik.bl_idname, text="Solve Anew", icon="CON_KINEMATIC").way = "ANEW"
        column = layout.column()
        column.enabled = reasons["CHAINS"] is None
        column.operator(IKCORE_OT_bake_ik.bl_idname, text="Chains Anew", icon="LINKED").way = "CHAINS"
        if any(find_tracks(each) for each in chosen_armatures(context)):
            layout.operator("ikcore.bake_tracking", icon="CON_TRACKTO")


def _draw_limbs(layout, context, width):
    """What IK the posed armatures have. Returns why what is chosen cannot be baked in each way, or None."""
    found, chosen = [], []
    for armature in chosen_armatures(context):
        everything = find_limbs(armature)
        limbs = [limb for limb in everything if limb.ik.chain_count == CHAIN]
        wanted = acting(everything) if armature.mode == "OBJECT" else selected_limbs(everything)
        # other chains, of which control rigs have many, are only shown when they are selected
        found += limbs + [limb for limb in wanted if limb not in limbs]
        chosen += wanted
    reasons = refusals(found)
    for limb, reason in zip(found, reasons, strict=True):
        _draw_limb(layout, limb, limb in chosen, reason["SHOWN"], width)
    if not found:
        layout.label(text="No IK selected", icon="INFO")
    elif not chosen:
        layout.label(text="Select a bone of a chain", icon="INFO")
    return {way: _first(way, found, chosen, reasons) for way in WAYS}


def _first(way, found, chosen, reasons):
    """The first reason why what is chosen cannot be baked in some way, or None."""
    if not chosen:
        return "Nothing is chosen"
    return next((each[way] for limb, each in zip(found, reasons, strict=True) if limb in chosen and each[way]), None)


def _draw_limb(layout, limb, chosen, reason, width):
    """One limb, greyed out unless it would be baked, and the reason that stands in the way, if any."""
    box = layout.box().column(align=True)
    row = box.row()
    row.active = chosen
    row.label(text=limb.label(), icon="CHECKBOX_HLT" if chosen else "CHECKBOX_DEHLT")
    for what, target, bone, icon in (
        ("Target", limb.ik.target, limb.ik.subtarget, "CON_KINEMATIC"),
        ("Pole", limb.ik.pole_target, limb.ik.pole_subtarget, "EMPTY_AXIS"),
    ):
        row = box.row()
        row.active = chosen
        row.label(text=f"{what}: {_name(target, bone)}", icon=icon)
    if reason:
        sentence(box, reason, "ERROR" if chosen else "INFO", width)


def _name(target, bone):
    return (bone or target.name) if target else "none"


def sentence(layout, text, icon, width):
    """A label that wraps: about 7 pixels a letter at the interface's scale, less the icon."""
    scale = bpy.context.preferences.system.ui_scale or 1.0  # zero without a window
    letters = max(16, int(width / (7 * scale)) - 8)
    column = layout.column(align=True)
    column.scale_y = 0.8
    for index, line in enumerate(textwrap.wrap(text, letters)):
        column.label(text=line, icon=icon if index == 0 else "BLANK1")
