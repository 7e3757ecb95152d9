# SPDX-License-Identifier: GPL-3.0-or-later
"""IK Core for Blender: the extension's front door.

bridge.py      the library ikcore, and a sentence when it cannot be used. Without bpy
limbs.py       finds limbs and says why one cannot be baked
sample.py      Blender to arrays, over a range of frames
solve.py       what the IK constraint does, in closed form; rotations.py below it. Both without bpy
bake.py        from limbs to keys; actions.py writes them into a slotted action
operators.py   Bake Limb IK;  panels.py  the sidebar tab
"""

import bpy

from . import bridge, operators, panels

CLASSES = (operators.IKCORE_OT_bake_limb, panels.IKCORE_PT_bake_limb)


def register():
    """Switch the extension on; a library that cannot be used only greys it out."""
    bridge.load(bpy.utils.user_resource("EXTENSIONS"))
    for cls in CLASSES:
        bpy.utils.register_class(cls)


def unregister():
    """Switch the extension off."""
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
