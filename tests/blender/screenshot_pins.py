"""Show pins in Blender's window: a person whose feet and hand are pinned picks something up, in balance.

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
    """Without the other panels, and with this one open."""
    panel = bpy.types.IKCORE_PT_pins
    names = [name for name in dir(bpy.types) if name.startswith("IKCORE_PT_")]
    for name in sorted(names, key=lambda name: name == "IKCORE_PT_feet"):  # those below it first
        bpy.utils.unregister_class(getattr(bpy.types, name))
    panel.bl_options = set()
    bpy.utils.register_class(panel)


def posed():
    """The person, held live; a hand reaches down."""
    # beside this file, or in the checkout when the script was copied elsewhere to be run
    folders = (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")
    sys.path[:0] = [str(folder) for folder in folders if (folder / "rigs.py").exists()]
    import rigs

    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
    armature = rigs.person()
    rigs.select(armature, "hand.L", "foot.L", "foot.R")
    bpy.ops.ikcore.pin()
    kept = armature.ikcore_pins
    for side in (".L", ".R"):
        kept.pins["foot" + side].stands = True
        knee = armature.pose.bones["shin" + side]
        knee.lock_ik_y = knee.lock_ik_z = True
    kept.balance = True
    bpy.ops.ikcore.hold_pins()
    kept.pins["hand.L"].turned = False
    kept.pins["hand.L"].target.location += Vector((-0.35, -0.6, -1.1))
    bpy.context.view_layer.update()
    rigs.select(armature, "hand.L")
    armature.show_in_front, armature.data.display_type = True, "OCTAHEDRAL"


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
