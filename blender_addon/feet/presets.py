# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D102
"""Presets of the options of Bake Foot IK, in the header of its panel, stored with Blender's own presets."""

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel

from .options import names


class IKCORE_PT_feet_presets(PresetPanel, bpy.types.Panel):
    """The list of presets, and a name for a new one."""

    bl_label = "Presets of Bake Foot IK"
    preset_subdir = "ikcore/feet"
    preset_operator = "script.execute_preset"
    preset_add_operator = "ikcore.add_feet_preset"


class IKCORE_OT_add_feet_preset(AddPresetBase, bpy.types.Operator):
    """Store the options of Bake Foot IK as a preset, without the list of feet and the ground objects"""  # noqa: D400

    bl_idname = "ikcore.add_feet_preset"
    bl_label = "Add Preset of Bake Foot IK"
    preset_menu = "IKCORE_PT_feet_presets"
    preset_subdir = IKCORE_PT_feet_presets.preset_subdir
    preset_defines = ("feet = bpy.context.object.ikcore_feet",)

    @property
    def preset_values(self):
        return [f"feet.{name}" for name in names()]


CLASSES = (IKCORE_OT_add_feet_preset, IKCORE_PT_feet_presets)
