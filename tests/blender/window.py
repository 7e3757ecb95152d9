"""Shared code of the scripts that show the extension in Blender's window, each for a picture.

They run inside the window. The environment variable IKCORE_TEST_ZIP names the extension's zip, and
BLENDER_USER_RESOURCES an empty folder. bpy.app.driver_namespace["shot"], if defined, is called when the picture is
ready to be taken.
"""

import os
import pathlib

import bpy


def show(scene, *, panels=(), opened=False, arrange=None):
    """The extension with what `scene` makes; of its panels only these, if any, opened if asked for."""
    archive = str(pathlib.Path(os.environ["IKCORE_TEST_ZIP"]).resolve())
    bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default", enable_on_install=True)
    if panels:
        _alone([getattr(bpy.types, panel) for panel in panels], opened)
    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)
    scene()
    (arrange or _look_from_the_side)()
    bpy.app.timers.register(_open_tab, first_interval=1.0)


def _alone(panels, opened):
    found = [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith("IKCORE_PT_")]
    for each in sorted(found, key=_depth, reverse=True):  # those below others first
        bpy.utils.unregister_class(each)
    for each in panels:
        if opened:
            each.bl_options = set()
        bpy.utils.register_class(each)


def _depth(panel):
    above = getattr(panel, "bl_parent_id", "")
    return 1 + _depth(getattr(bpy.types, above)) if above else 0


def _look_from_the_side():
    """The sidebar of every 3D view is open, and all is in view."""
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


def _open_tab():
    for area in bpy.context.window.screen.areas:
        for region in area.regions:
            if area.type == "VIEW_3D" and region.type == "UI":
                region.active_panel_category = "IK Core"
                area.tag_redraw()
    bpy.app.timers.register(bpy.app.driver_namespace.get("shot", lambda: None), first_interval=1.0)
