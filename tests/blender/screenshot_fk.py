"""Show FK -> IK in Blender's window: a person who was keyed joint by joint, with IK of an arm and a leg.

Run as window.py says.
"""

import pathlib
import sys

import bpy

# beside this file, or in the checkout when the script was copied elsewhere to be run
sys.path[:0] = [str(folder) for folder in (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")]
import window  # noqa: E402


def posed():
    """The person, whose arm and leg have keys on two frames, and then IK."""
    import numpy as np
    import rigs

    armature = rigs.person()
    bpy.context.scene.frame_end = 24
    turns = {"upper_arm.L": (0.3, 0.4), "forearm.L": (0.9, 0.5), "thigh.R": (-0.7, -0.2), "shin.R": (1.0, 0.4)}
    for name, angles in turns.items():
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, angle in zip((1, 24), angles, strict=True):
            bone.rotation_euler = (angle, 0, 0)
            bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)
    before = rigs.sampled(armature, range(1, 25))
    rigs.select(armature, *turns)
    bpy.ops.ikcore.fk_to_ik()
    off = np.abs(rigs.sampled(armature, range(1, 25)) - before)[..., :3, 3].max()
    print(f"IK shows the bones within {1000 * off:.3f} mm of their keys", flush=True)
    armature.show_in_front, armature.data.display_type = True, "OCTAHEDRAL"
    for item in bpy.data.objects:
        if item.type == "EMPTY":
            item.show_in_front, item.show_name = True, True


window.show(posed, panels=("IKCORE_PT_fk_ik",))
