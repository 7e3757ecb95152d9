"""Bake Foot IK: what Blender shows afterwards is what ikcore makes of the same clip, and nothing else has changed."""

import math
import os
import pathlib

import bpy
import numpy as np
import pytest
import rigs
import walks

import ikcore as ik

MOCAP = pathlib.Path(os.environ.get("IKCORE_MOCAP", "none"))
TERRAIN = pathlib.Path(os.environ.get("IKCORE_TERRAIN", "none"))
needs_files = pytest.mark.skipif(
    not (MOCAP.is_dir() and TERRAIN.is_dir()), reason="IKCORE_MOCAP and IKCORE_TERRAIN name no folders"
)
FRAMES = range(1, 62)


def bake(**options):
    return bpy.ops.ikcore.bake_feet(**options)


def on(names, **options):
    """Onto these objects."""
    return bake(ground="OBJECTS", ground_objects=[{"name": name} for name in names], **options)


def curves(armature):
    animation = armature.animation_data
    return rigs.curves_of(animation.action, animation.action_slot)


def keys(armature):
    return {at: rigs.keys_of(curve) for at, curve in curves(armature).items()}


@pytest.fixture
def walker(tmp_path):
    return walks.walk(tmp_path)


# --- onto ground -----------------------------------------------------------------------------------------------------


def test_stairs(walker):
    names = walks.steps()
    clip = walks.read(walker)
    wanted = ik.bake_feet(clip, walks.ground_of(names))
    assert len(wanted.contacts.intervals("left")) > 1
    assert on(names) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


def test_own_floor_mends_what_slides(walker):
    clip = walks.read(walker)
    before = ik.feet.measure(clip)
    assert before.measures["left"].drift > 0.03
    assert bake() == {"FINISHED"}
    after = ik.feet.measure(walks.read(walker), source=before)
    assert all(after.measures[leg].drift < 0.002 for leg in ("left", "right"))


@pytest.mark.parametrize(("height", "normal"), [(0.1, (0, 0, 1)), (-0.2, (0, 0.1, 1))])
def test_plane(walker, height, normal):
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(normal, height, up="z"))
    assert bake(ground="PLANE", plane_height=height, plane_normal=normal) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


def test_collection_with_modifiers(walker):
    """All of it, with what modifiers make, and without the character itself."""
    floor, step = walks.slab("Floor", (-2, -6, -1), (2, 2, 0)), walks.slab("Step", (-2, -1.5, -1), (2, -1.2, 0.1))
    collection = bpy.data.collections.new("Stage")
    bpy.context.scene.collection.children.link(collection)
    for item in (floor, step, walker):
        collection.objects.link(item)
    rows = step.modifiers.new("Rows", "ARRAY")
    rows.use_relative_offset, rows.use_constant_offset, rows.constant_offset_displace = False, True, (0, -0.6, 0.05)
    ground = walks.ground_of(["Floor", "Step"]) + walks.ground_of(["Step"]).moved(translations=[0, -0.6, 0.05])
    wanted = ik.bake_feet(walks.read(walker), ground)
    assert bake(ground="COLLECTION", ground_collection="Stage") == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


def test_moving_ground(walker):
    floor = walks.slab("Lift", (-2, -6, -1), (2, 2, 0))
    for frame, height in ((1, 0.0), (61, 0.3)):
        floor.location.z = height
        floor.keyframe_insert("location", index=2, frame=frame)
    curve = next(iter(curves(floor).values()))
    for key in curve.keyframe_points:
        key.interpolation = "LINEAR"
    heights = np.linspace(0, 0.3, 61)[:, None] * [0, 0, 1]
    bpy.context.scene.frame_set(1)
    ground = walks.ground_of(["Lift"]).moved(translations=heights)
    wanted = ik.bake_feet(walks.read(walker), ground)
    assert on(["Lift"], ground_moves=True) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


@needs_files
@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("cmu_12_01_walk.bvh", {"global_scale": 0.0564444}),
        ("fair1_zombie.bvh", {"global_scale": 0.0254, "axis_forward": "Y", "axis_up": "Z"}),
        ("pab_walk.bvh", {"global_scale": 0.01}),
        ("pab_walk.fbx", None),
        ("Woman.gltf", None),
        ("Fox.glb", None),
        ("Spider.glb", None),
    ],
)
@pytest.mark.parametrize("turn", [0, 90])
def test_clips_on_terrain(file, options, turn):
    """On what Blender imports of the clip and of the terrain: feet as ikcore bakes them on the terrain's file."""
    if turn and file not in ("cmu_12_01_walk.bvh", "pab_walk.bvh"):
        pytest.skip("two of them are enough")
    armature = imported(file, options)
    clip = walks.read(armature)
    size = 1.0 if file not in ("Woman.gltf", "Fox.glb") else {"Woman.gltf": 3.0, "Fox.glb": 100.0}[file]
    bpy.ops.wm.obj_import(filepath=str(TERRAIN / "ozz_foot_ik_floor.obj"))
    floor = bpy.context.object
    floor.rotation_euler.z += math.radians(turn)
    floor.scale = (size,) * 3
    bpy.context.view_layer.objects.active = armature
    points, faces = ik.obj.read(TERRAIN / "ozz_foot_ik_floor.obj")
    turned = ik.rotations.from_axis_angle([0.0, 0, 1], math.radians(turn))
    upright = size * points[:, [0, 2, 1]] * [1, -1, 1]
    ground = ik.Ground.mesh(ik.rotations.rotate(turned, upright), faces, up="z")
    feet = ik.Feet.detect(clip.skeleton, vertices=walks.skin.read(bpy.context, armature) or None, clip=clip)
    wanted = ik.bake_feet(clip, ground, feet=feet)
    assert on([floor.name]) == {"FINISHED"}
    scene = bpy.context.scene
    tall = np.ptp(clip.skeleton.forward(clip.pose[0]).positions[:, 2])
    walks.assert_feet(armature, wanted, range(scene.frame_start, scene.frame_end + 1), 1e-4 * max(tall, 1.0))


def imported(file, options):
    """The armature, the scene's range being that of its action."""
    if file.endswith(".bvh"):
        armature = walks.imported(MOCAP / file, **options)
    elif file.endswith(".fbx"):
        bpy.ops.import_scene.fbx(filepath=str(MOCAP / file), use_custom_props=False)
        armature = next(item for item in bpy.data.objects if item.type == "ARMATURE")
    else:
        bpy.ops.import_scene.gltf(filepath=str(MOCAP / file))
        armature = next(item for item in bpy.data.objects if item.type == "ARMATURE")
        action = next(a for a in bpy.data.actions if a.name.startswith("Walk"))
        armature.animation_data.action = action
        armature.animation_data.action_slot = action.slots[0]
    bpy.context.view_layer.objects.active = armature
    first, last = armature.animation_data.action.curve_frame_range
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = math.floor(first), math.ceil(last)
    return armature
