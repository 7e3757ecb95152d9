# SPDX-License-Identifier: GPL-3.0-or-later
# Blender names classes and calls methods in its own way:
# ruff: noqa: N801, D101, D102
"""The menu IK Core in Object > Animation and Pose > Animation, which also lets the menu search (F3) find operators."""

import bpy

from ..feet.options import hand_over, hand_over_ground

FEET = ("bake_feet", "bake_feet_actions", "detect_contacts")  # these get the options of the panel
GROUPS = (
    (*FEET, "place_legs", "detect_feet", "detect_sole"),
    ("bake_ik", "bake_tracking"),
    ("fk_to_ik", "ik_to_fk"),
    ("pin", "unpin", "live_pins", "bake_pins"),
)


class IKCORE_MT_animation(bpy.types.Menu):
    bl_idname = "IKCORE_MT_animation"
    bl_label = "IK Core"

    def draw(self, context):
        armature = context.object if context.object and context.object.type == "ARMATURE" else None
        for number, group in enumerate(GROUPS):
            if number:
                self.layout.separator()
            for name in group:
                button = self.layout.operator(f"ikcore.{name}")
                if armature and name in FEET:
                    hand_over(armature.ikcore_feet, button)
                if armature and name == "place_legs":
                    hand_over_ground(armature.ikcore_feet, button)


def _draw(self, context):
    self.layout.separator()
    self.layout.menu(IKCORE_MT_animation.bl_idname)


def register():
    """Add the menu to the menu Animation of Object Mode and Pose Mode."""
    bpy.types.VIEW3D_MT_object_animation.append(_draw)


def unregister():
    """Remove it again."""
    bpy.types.VIEW3D_MT_object_animation.remove(_draw)


CLASSES = (IKCORE_MT_animation,)
