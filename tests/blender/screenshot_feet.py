"""Show Bake Foot IK in Blender's window: a walk made for level ground, with stairs in its way.

Run as window.py says. The environment variable IKCORE_SHOT says what to show: "before" (the default) and "after" the
bake, the same with foot trails ("overlay"), or the "contacts" in the Graph Editor.
"""

import os
import pathlib
import sys
import tempfile

import bpy
from mathutils import Euler

# beside this file, or in the checkout when the script was copied elsewhere to be run
sys.path[:0] = [str(folder) for folder in (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")]
import window  # noqa: E402

SHOT = os.environ.get("IKCORE_SHOT", "before")


def scene():
    """A walker and stairs, the panel filled in."""
    import walks

    walker = walks.walk(pathlib.Path(tempfile.mkdtemp()), slide=1.0, seconds=3)
    stairs = bpy.data.collections.new("Stairs")
    bpy.context.scene.collection.children.link(stairs)
    made = [walks.slab("Floor", (-1, -4.5, -0.05), (1, 1.5, 0))]
    made += [walks.slab(f"Step {n}", (-1, -4.5, 0.15 * n), (1, -1 - 0.35 * n, 0.15 * (n + 1))) for n in range(6)]
    for item in made:
        stairs.objects.link(item)
        bpy.context.collection.objects.unlink(item)
        item.color = (0.55, 0.6, 0.66, 1)
    bpy.context.view_layer.objects.active = walker
    walker.data.pose_position, walker.show_in_front = "POSE", True
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.ikcore.detect_feet()
    kept = walker.ikcore_feet
    kept.ground, kept.collection = "COLLECTION", stairs
    given = {"ground": "COLLECTION", "ground_collection": stairs.name}
    if SHOT == "contacts":
        bpy.ops.ikcore.detect_contacts(**given)
    if SHOT in ("after", "overlay"):
        bpy.ops.ikcore.bake_feet(**given)
    bpy.context.window_manager.ikcore_foot_trails = SHOT == "overlay"
    bpy.context.scene.frame_end = 91
    bpy.context.scene.frame_set(62)


def arrange():
    """The sidebar open on our tab, the walker on the stairs in view; or the contacts in its place."""
    area = next(area for area in bpy.context.window.screen.areas if area.type == "VIEW_3D")
    space = area.spaces.active
    space.show_region_ui, space.shading.color_type = True, "OBJECT"
    space.region_3d.view_rotation = Euler((1.2, 0, 0.9)).to_quaternion()
    space.region_3d.view_location, space.region_3d.view_distance = (0.5, -1.9, 0.9), 5.2
    if SHOT == "overlay":
        space.region_3d.view_location, space.region_3d.view_distance = (0.3, -1.9, 0.75), 3.4
        space.region_3d.view_rotation = Euler((1.05, 0, 1.0)).to_quaternion()
    if SHOT == "contacts":
        area.type = "GRAPH_EDITOR"
        with bpy.context.temp_override(area=area, region=area.regions[-1]):
            bpy.ops.anim.channels_expand(all=True)
            bpy.ops.graph.view_all()


window.show(scene, arrange=arrange)
