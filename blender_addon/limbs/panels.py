# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102, RUF012
"""The panel Bake IK in the sidebar tab "IK Core", and common parts of all panels."""

import textwrap

import bpy

from ..rig import rigify
from . import bake
from .ik_constraints import (
    CHAIN,
    find_limbs,
    find_tracks,
    is_selected,
    limbs_with_target,
    none_on,
    refusals,
    selected_limbs,
)
from .operators import chosen_armatures, no_armature

LISTED = 3  # limbs that are named in one line


class Sidebar(bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "IK Core"


class ForArmature(Sidebar):
    """A panel for an active armature. The panel Bake Foot IK shows a message if there is none."""

    @classmethod
    def poll(cls, context):
        return no_armature(context) is None


class IKCORE_PT_bake_ik(ForArmature):
    bl_idname = "IKCORE_PT_bake_ik"
    bl_label = "Bake IK"

    def draw(self, context):
        layout, width = self.layout, context.region.width
        options = context.object.ikcore_ik
        split(layout).prop(options, "solver")
        if options.solver == "LIBRARY":
            split(layout).prop(options, "method")
        reason = _draw_limbs(layout, context, options.solver, width)
        column = layout.column()
        column.enabled = reason is None
        column.scale_y = 1.6
        button = column.operator("ikcore.bake_ik", icon="KEY_HLT")
        button.solver, button.method = options.solver, options.method
        if switch := rigify.switch_of(context.object):
            text = f"This rig has IK/FK switches ({switch}). Use IK -> FK below to key its controls"
            sentence(layout, text, "INFO", width)
        if any(find_tracks(each) for each in chosen_armatures(context)):
            layout.separator()
            split(layout).prop(options, "tracking_solver")
            layout.operator("ikcore.bake_tracking", icon="CON_TRACKTO").solver = options.tracking_solver


class IKCORE_PT_limbs(ForArmature):
    """The IK constraints of the armatures."""

    bl_parent_id = "IKCORE_PT_bake_ik"
    bl_idname = "IKCORE_PT_limbs"
    bl_label = "Limbs"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return super().poll(context) and any(map(find_limbs, chosen_armatures(context)))

    def draw(self, context):
        solver = context.object.ikcore_ik.solver
        found, chosen = listed_limbs(context)
        for limb, reason in zip(found, refusals(found, [solver]), strict=True):
            _draw_limb(self.layout, limb, limb in chosen, reason[solver], context.region.width)


class Problems(Sidebar):
    """Frames with problems: a click shows one."""

    bl_label = "Problem Frames"

    @staticmethod
    def latest(armature):
        """The report of an armature's active action, or None."""
        raise NotImplementedError

    @classmethod
    def poll(cls, context):
        told = context.object and cls.latest(context.object)
        return bool(told and told.problems)

    def draw(self, context):
        column = self.layout.column(align=True)
        for frame, text in self.latest(context.object).problems:
            lines = wrap_text(f"{frame} {text.replace(f' at frame {frame}', '')}", context.region.width)
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


def listed_limbs(context):
    """The limbs to list, and those of them that are selected.

    Control rigs have many chains of other lengths than two. These are only listed when they are selected.
    """
    found, chosen = [], []
    for armature in chosen_armatures(context):
        everything = find_limbs(armature)
        wanted = limbs_with_target(everything) if armature.mode == "OBJECT" else selected_limbs(everything)
        limbs = [limb for limb in everything if limb.ik.chain_count == CHAIN]
        found += limbs + [limb for limb in wanted if limb not in limbs]
        chosen += wanted
    return found, chosen


def _draw_limbs(layout, context, solver, width):
    """The limbs to bake. Returns the reason why they cannot be baked by a solver, or None."""
    armatures, (_, chosen) = chosen_armatures(context), listed_limbs(context)
    if not any(map(find_limbs, armatures)):
        reason = none_on(armatures)
    elif not chosen:
        reason = _select(context)
    else:
        labels = [limb.label() for limb in chosen[:LISTED]] + ["..."] * (len(chosen) > LISTED)
        many = f"{len(chosen)} {'limb' if len(chosen) == 1 else 'limbs'}"
        sentence(layout, f"{many}: {', '.join(labels)}", "CON_KINEMATIC", width)
        reason = next(filter(None, (each[solver] for each in refusals(chosen, [solver]))), None)
        if reason:
            sentence(layout.box(), reason, "ERROR", width)
        return reason
    sentence(layout, reason, "INFO", width)
    return reason


def _select(context):
    """A hint what to select, if no IK is selected."""
    armature = context.object
    bone = armature.pose.bones.get(active.name) if (active := armature.data.bones.active) else None
    if bone and is_selected(bone) and rigify.switch_of(armature):
        return f"{bone.name} belongs to no IK constraint: select a bone of an IK chain, or use Object Mode to bake all"
    return "No IK selected: select a bone of its chain, its target or its pole"


def _draw_limb(layout, limb, chosen, reason, width):
    """A limb with its target, its pole, and the reason why it cannot be baked. Limbs not selected are one grey line."""
    box = (layout.box() if chosen else layout).column(align=True)
    row = box.row()
    row.active = chosen
    row.label(text=limb.label(), icon="CON_KINEMATIC")
    if not chosen:
        return
    for what, target, bone, icon in (
        ("Target", limb.ik.target, limb.ik.subtarget, "OBJECT_ORIGIN"),
        ("Pole", limb.ik.pole_target, limb.ik.pole_subtarget, "EMPTY_AXIS"),
    ):
        box.label(text=f"{what}: {_name(target, bone)}", icon=icon)
    if reason:
        sentence(box, reason, "ERROR", width)


def _name(target, bone):
    return (bone or target.name) if target else "none"


def split(layout):
    """A column with labels beside its fields."""
    column = layout.column()
    column.use_property_split, column.use_property_decorate = True, False
    return column


def sentence(layout, text, icon, width):
    """A label that wraps."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    for index, line in enumerate(wrap_text(text, width)):
        column.label(text=line, icon=icon if index == 0 else "BLANK1")


def wrap_text(text, width):
    """The lines of a text: about 7 pixels a letter at the interface's scale, less the icon."""
    scale = bpy.context.preferences.system.ui_scale or 1.0  # zero without a window
    return textwrap.wrap(text, max(16, int(width / (7 * scale)) - 8))


CLASSES = (IKCORE_PT_bake_ik, IKCORE_PT_ik_problems, IKCORE_PT_limbs)
