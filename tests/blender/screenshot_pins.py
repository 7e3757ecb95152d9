"""Show pins in Blender's window: a person whose feet and hand are pinned reaches down, in balance.

Run as window.py says.
"""

import pathlib
import sys

import bpy
from mathutils import Vector

# beside this file, or in the checkout when the script was copied elsewhere to be run
sys.path[:0] = [str(folder) for folder in (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")]
import window  # noqa: E402


def posed():
    """The person, held live; a hand reaches down."""
    import rigs

    armature = rigs.person()
    rigs.select(armature, "hand.L", "foot.L", "foot.R")
    bpy.ops.ikcore.pin()
    kept = armature.ikcore_pins
    for side in (".L", ".R"):
        kept.pins["foot" + side].supports_weight = True
    kept.balance = True
    bpy.ops.ikcore.live_pins()
    kept.pins["hand.L"].rotation = False
    kept.pins["hand.L"].target.location += Vector((-0.35, -0.45, -0.75))
    bpy.context.view_layer.update()
    rigs.select(armature, "hand.L")
    armature.show_in_front, armature.data.display_type = True, "OCTAHEDRAL"


window.show(posed, panels=("IKCORE_PT_pins",), opened=True)
