"""Show the panel in Blender's window, with a rig of two legs, and an arm that cannot be baked.

Run inside the window with the environment variable IKCORE_TEST_ZIP naming the extension's zip and
BLENDER_USER_RESOURCES an empty folder. Calls bpy.app.driver_namespace["shot"], if there is one, when the picture
is ready to be taken.
"""

import os
import pathlib
import sys

import bpy
from mathutils import Vector


def alone():
    """Without the panels about feet, which are above this one."""
    names = [name for name in dir(bpy.types) if name.startswith("IKCORE_PT_") and name != "IKCORE_PT_bake_ik"]
    for name in sorted(names, key=lambda name: name == "IKCORE_PT_feet"):  # those below it first
        bpy.utils.unregister_class(getattr(bpy.types, name))


def rig():
    """Two legs on hips, with foot and knee bones, and an arm that cannot be baked, as keys switch its IK."""
    # beside this file, or in the checkout when the script was copied elsewhere to be run
    folders = (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")
    sys.path[:0] = [str(folder) for folder in folders if (folder / "rigs.py").exists()]
    import rigs

    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
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


def arrange():
    """The sidebar of every 3D view open on our tab, the rig in view."""
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
    rig()
    arrange()
    bpy.app.timers.register(open_tab, first_interval=1.0)


main()
