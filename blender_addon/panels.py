# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102
"""The sidebar tab "IK Core": what would be baked, what stands in the way, and the button."""

import textwrap

import bpy

from . import bake, bridge, rigify
from .limbs import CHAIN, acting, find_limbs, find_tracks, is_selected, none_on, refusals, selected_limbs
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
        if switch := rigify.switch_of(armature):
            text = f"This rig switches limbs by {switch}: FK from IK, below, keys its FK controls"
            sentence(layout, text, "INFO", width)
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
            row = layout.row(align=True)
            row.operator("ikcore.bake_tracking", icon="CON_TRACKTO").way = "SHOWN"
            row.operator("ikcore.bake_tracking", text="Track Anew", icon="CON_TRACKTO").way = "AIMS"


class Problems(Sidebar):
    """Frames to look at, below the buttons: a click shows one."""

    bl_label = "Frames to Look At"

    @staticmethod
    def latest(armature):
        """How it went the last time, or None."""
        raise NotImplementedError

    @classmethod
    def poll(cls, context):
        told = context.object and cls.latest(context.object)
        return bool(told and told.problems)

    def draw(self, context):
        column = self.layout.column(align=True)
        for frame, text in self.latest(context.object).problems:
            lines = wrapped(f"{frame}: {text.replace(f' in frame {frame}', '')}", context.region.width)
            for number, line in enumerate(lines):
                row = column.row(align=True)
                row.alignment = "LEFT"
                button = row.operator(
                    "ikcore.show_frame", text=line, icon="BLANK1" if number else "MARKER", emboss=False
                )
                button.frame = frame


class IKCORE_PT_ik_problems(Problems):
    bl_parent_id = "IKCORE_PT_bake_ik"
    bl_idname = "IKCORE_PT_ik_problems"
    latest = staticmethod(bake.latest)


def _draw_limbs(layout, context, width):
    """What IK the posed armatures have. Returns why what is chosen cannot be baked in each way, or None."""
    found, chosen, some, armatures = [], [], False, chosen_armatures(context)
    for armature in armatures:
        everything = find_limbs(armature)
        some = some or bool(everything)
        limbs = [limb for limb in everything if limb.ik.chain_count == CHAIN]
        wanted = acting(everything) if armature.mode == "OBJECT" else selected_limbs(everything)
        # other chains, of which control rigs have many, are only shown when they are selected
        found += limbs + [limb for limb in wanted if limb not in limbs]
        chosen += wanted
    reasons = refusals(found)
    for limb, reason in zip(found, reasons, strict=True):
        _draw_limb(layout, limb, limb in chosen, reason["SHOWN"], width)
    if not found:
        sentence(layout, "No IK selected" if some else none_on(armatures), "INFO", width)
    elif not chosen:
        sentence(layout, _select(context), "INFO", width)
    return {way: _first(way, found, chosen, reasons) for way in ("SHOWN", "ANEW", "CHAINS")}


def _select(context):
    """What to do where IK is there, and none of it is chosen."""
    armature = context.object
    bone = armature.pose.bones.get(active.name) if (active := armature.data.bones.active) else None
    if bone and is_selected(bone) and rigify.switch_of(armature):
        how = "select a bone of that, or bake all of it in Object Mode"
        return f"{bone.name} is a control, and no bone of the IK above: {how}"
    return "Select a bone of a chain"


def _first(way, found, chosen, reasons):
    """The first reason why what is chosen cannot be baked in some way, or None."""
    if not chosen:
        return "Nothing is chosen"
    return next((each[way] for limb, each in zip(found, reasons, strict=True) if limb in chosen and each[way]), None)


def _draw_limb(layout, limb, chosen, reason, width):
    """One limb, and the reason that stands in the way, if any; only if it would be baked, also what it follows.

    The others are a grey line each: control rigs have many.
    """
    box = (layout.box() if chosen else layout).column(align=True)
    row = box.row()
    row.active = chosen
    row.label(text=limb.label(), icon="CHECKBOX_HLT" if chosen else "CHECKBOX_DEHLT")
    for what, target, bone, icon in (
        ("Target", limb.ik.target, limb.ik.subtarget, "CON_KINEMATIC"),
        ("Pole", limb.ik.pole_target, limb.ik.pole_subtarget, "EMPTY_AXIS"),
    ):
        if chosen:
            box.label(text=f"{what}: {_name(target, bone)}", icon=icon)
    if reason:
        sentence(box, reason, "ERROR" if chosen else "INFO", width)


def _name(target, bone):
    return (bone or target.name) if target else "none"


def sentence(layout, text, icon, width):
    """A label that wraps."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    for index, line in enumerate(wrapped(text, width)):
        column.label(text=line, icon=icon if index == 0 else "BLANK1")


def wrapped(text, width):
    """The lines of a text: about 7 pixels a letter at the interface's scale, less the icon."""
    scale = bpy.context.preferences.system.ui_scale or 1.0  # zero without a window
    return textwrap.wrap(text, max(16, int(width / (7 * scale)) - 8))
