"""Show Place Legs on Ground in Blender's window: a spider on a hill, with the panel of the last operator.

Run as window.py says. The environment variable IKCORE_SHOT says what to show: "before" or "after" (the default).
"""

import os
import pathlib
import sys

import bpy
from mathutils import Euler

# beside this file, or in the checkout when the script was copied elsewhere to be run
sys.path[:0] = [str(folder) for folder in (pathlib.Path(__file__).parent, pathlib.Path.cwd() / "tests" / "blender")]
import window  # noqa: E402

SHOT = os.environ.get("IKCORE_SHOT", "after")


def scene():
    """A spider whose pose was made on a level floor, and the ground that it is to stand on."""
    import crawlers

    spider = crawlers.spider()
    hill = crawlers.hill(waves=0.12, size=5.0, count=101)
    hill.color = (0.55, 0.6, 0.66, 1)
    for face in hill.data.polygons:
        face.use_smooth = True
    spider.location, spider.data.display_type, spider.show_in_front = (0.45, 0.25, 0.22), "OCTAHEDRAL", True
    kept = spider.ikcore_feet
    kept.ground, bpy.context.view_layer.objects.active = "OBJECTS", spider
    kept.objects.add().object = hill
    bpy.context.view_layer.update()


def arrange():
    """The sidebar open on our tab, the spider in view; the operator runs here, so that its options show."""
    area = next(area for area in bpy.context.window.screen.areas if area.type == "VIEW_3D")
    space = area.spaces.active
    space.show_region_ui, space.shading.color_type = True, "OBJECT"
    space.region_3d.view_rotation = Euler((1.25, 0, 0.6)).to_quaternion()
    space.region_3d.view_location, space.region_3d.view_distance = (0.55, 0.2, 0.35), 3.6
    if SHOT == "after":
        region = next(region for region in area.regions if region.type == "WINDOW")
        with bpy.context.temp_override(area=area, region=region):
            options = {"ground": "OBJECTS", "ground_objects": [{"name": "Hill"}]}
            bpy.ops.ikcore.place_legs("EXEC_DEFAULT", True, **options)


window.show(scene, arrange=arrange)
