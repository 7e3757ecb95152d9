"""Show the panel in Blender's window, with a rig of two legs, and an arm that cannot be baked.

Run as window.py says.
"""

import pathlib
import sys

import bpy
from mathutils import Vector

# beside this file, or in the checkout when the script was copied elsewhere to be run
sys.path[:0] = [str(folder) for folder in (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")]
import window  # noqa: E402


def rig():
    """Two legs on hips, with foot and knee bones, and an arm that cannot be baked, as keys switch its IK."""
    import rigs

    armature = rigs.add_object("Walker", bpy.data.armatures.new("Walker"))
    for side, x in ((".L", 0.35), (".R", -0.35)):
        rigs.add_limb(armature, side, at=(x, 0, 0))
        rigs.add_control(armature, "foot_ik" + side, (x, -0.3, 0.25))
        rigs.add_control(armature, "knee" + side, (x, -1.4, 1))
        rigs.add_ik(armature, side, target=armature, bone="foot_ik" + side, pole=armature, pole_bone="knee" + side)
    rigs.add_limb(armature, ".arm", at=(1.1, 0, 0.6))
    rigs.add_control(armature, "hand_ik", (1.1, -0.4, 1.2))
    rigs.add_ik(armature, ".arm", target=armature, bone="hand_ik").keyframe_insert("mute", frame=1)
    for frame, y in ((1, 0.3), (20, -0.3), (40, 0.3)):
        for side, sign in ((".L", 1), (".R", -1)):
            bone = armature.pose.bones["foot_ik" + side]
            bone.location = Vector((0, 0, sign * y))
            bone.keyframe_insert("location", frame=frame)
    rigs.select(armature, "foot_ik.L", "foot_ik.R")
    armature.show_in_front = True


window.show(rig, panels=("IKCORE_PT_bake_ik", "IKCORE_PT_limbs"), opened=True)
