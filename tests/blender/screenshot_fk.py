"""Show IK from FK in Blender's window: a person who was keyed joint by joint, with IK of an arm and a leg.

Run inside the window with the environment variable IKCORE_TEST_ZIP naming the extension's zip and
BLENDER_USER_RESOURCES an empty folder. Calls bpy.app.driver_namespace["shot"], if there is one, when the picture
is ready to be taken.
"""

import os
import pathlib
import sys

import bpy


def alone():
    """Without the other panels."""
    panel = bpy.types.IKCORE_PT_from_fk
    names = [name for name in dir(bpy.types) if name.startswith("IKCORE_PT_")]
    for name in sorted(names, key=lambda name: name == "IKCORE_PT_feet"):  # those below it first
        bpy.utils.unregister_class(getattr(bpy.types, name))
    bpy.utils.register_class(panel)


def posed():
    """The person, whose arm and leg have keys on two frames, and then IK."""
    # beside this file, or in the checkout when the script was copied elsewhere to be run
    folders = (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")
    sys.path[:0] = [str(folder) for folder in folders if (folder / "rigs.py").exists()]
    import numpy as np
    import rigs

    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
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
    bpy.ops.ikcore.ik_from_fk()
    off = np.abs(rigs.sampled(armature, range(1, 25)) - before)[..., :3, 3].max()
    print(f"IK shows the bones within {1000 * off:.3f} mm of their keys", flush=True)
    armature.show_in_front, armature.data.display_type = True, "OCTAHEDRAL"
    for item in bpy.data.objects:
        if item.type == "EMPTY":
            item.show_in_front, item.show_name = True, True


def arrange():
    """The sidebar of every 3D view open on our tab, the person in view."""
    for area in bpy.context.window.screen.areas:
        if area.type != "VIEW_3D":
            continue
        area.spaces.active.show_region_ui = True
        for region in area.regions:
            if region.type == "WINDOW":
                with bpy.context.temp_override(area=area, region=region):
                    bpy.ops.view3d.view_axis(type="RIGHT")
                    bpy.ops.view3d.view_all()
                    bpy.ops.view3d.view_orbit(angle=0.6, type="ORBITRIGHT")
                    bpy.ops.view3d.view_orbit(angle=0.3, type="ORBITUP")


def open_tab():
    for area in bpy.context.window.screen.areas:
        for region in area.regions:
            if area.type == "VIEW_3D" and region.type == "UI":
                region.active_panel_category = "IK Core"
                area.tag_redraw()
    bpy.app.timers.register(bpy.app.driver_namespace.get("shot", lambda: None), first_interval=1.0)


def main():
    archive = str(pathlib.Path(os.environ["IKCORE_TEST_ZIP"]).resolve())
    bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default", enable_on_install=True)
    alone()
    posed()
    arrange()
    bpy.app.timers.register(open_tab, first_interval=1.0)


main()
