# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D102
"""Presets of the options of Bake Foot IK, as Blender has them: in the header of the panel, kept with its own."""

import bpy
from bl_operators.presets import AddPresetBase
from bl_ui.utils import PresetPanel

from .options import names


class IKCORE_PT_feet_presets(PresetPanel, bpy.types.Panel):
    """Those that are there, and a name for a new one."""

    bl_label = "Presets of Bake Foot IK"
    preset_subdir = "ikcore/feet"
    preset_operator = "script.execute_preset"
    preset_add_operator = "ikcore.add_feet_preset"


class IKCORE_OT_add_feet_preset(AddPresetBase, bpy.types.Operator):
    """Keep the options of Bake Foot IK as a preset, or remove one: not the list of feet, nor what they stand on"""  # noqa: D400

    bl_idname = "ikcore.add_feet_preset"
    bl_label = "Add Preset of Bake Foot IK"
    preset_menu = "IKCORE_PT_feet_presets"
    preset_subdir = IKCORE_PT_feet_presets.preset_subdir
    preset_defines = ("feet = bpy.context.object.ikcore_feet",)

    @property
    def preset_values(self):
        return [f"feet.{name}" for name in names()]


CLASSES = (IKCORE_OT_add_feet_preset, IKCORE_PT_feet_presets)
