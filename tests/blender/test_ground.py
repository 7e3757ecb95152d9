"""Ground and skin from objects of the scene, against where Blender's own rays and vertices are."""

import importlib
import os
import pathlib

import bpy
import numpy as np
import pytest
import rigs
from conftest import EXTENSION
from mathutils import Vector

import ikcore as ik

ground, skin, clips, stage, armatures = (
    importlib.import_module(f"{EXTENSION}.{name}")
    for name in ("feet.ground", "rig.skin", "animation.clip_reader", "animation.scene_frames", "rig.armatures")
)
FRAMES = np.arange(1, 11)
MOCAP = pathlib.Path(os.environ.get("IKCORE_MOCAP", "none"))
needs_mocap = pytest.mark.skipif(not MOCAP.is_dir(), reason="IKCORE_MOCAP names no folder of clips")


def read(objects, armature, frames=None):
    """The ground, all objects having one shape."""
    found, notes = stage.run(ground.read(bpy.context, objects, armature, frames))
    assert notes == []
    return found


def slab(name, size=2.0, height=0.0):
    """A square at this height, about the origin."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(
        [(x * size / 2, y * size / 2, height) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))], [], [(0, 1, 2, 3)]
    )
    return rigs.add_object(name, mesh)


def heights(ground, points):
    return ground.at(np.array(points, float), above=20.0, below=20.0).height


def seen(objects, x, y):
    """How high Blender's own ray, in the space of each evaluated object, meets these objects; NaN where it does not."""
    depsgraph, found = bpy.context.evaluated_depsgraph_get(), []
    for item in objects:
        shown = item.evaluated_get(depsgraph)
        to_local = shown.matrix_world.inverted()
        start, down = to_local @ Vector((x, y, 20)), to_local.to_3x3() @ Vector((0, 0, -1))
        hit, at, _, _ = shown.ray_cast(start, down)
        found += [(shown.matrix_world @ at).z] if hit else []
    return max(found, default=np.nan)


POINTS = [(x, y, 0.0) for x in np.linspace(-1.9, 2.1, 9) for y in np.linspace(-1.8, 2.2, 9)]


def assert_as_seen(found, objects):
    expected = [seen(objects, x, y) for x, y, _ in POINTS]
    assert np.isfinite(expected).sum() > 10
    assert np.allclose(heights(found, POINTS), expected, atol=1e-5, equal_nan=True)


def test_modifiers_and_placed_objects():
    armature = rigs.figure(rigs.TRUNK)
    hill, step = slab("Hill", 3), slab("Step", 1, 0.3)
    hill.modifiers.new("Finer", "SUBSURF").levels = 4
    wave = hill.modifiers.new("Waves", "WAVE")
    wave.height, wave.width, wave.narrowness = 0.3, 0.8, 2
    hill.location, hill.rotation_euler, hill.scale = (0.3, 0.2, -0.1), (0.2, 0.1, 0.5), (1, 1.3, 0.7)
    row = step.modifiers.new("Row", "ARRAY")
    row.count, row.relative_offset_displace = 2, (1.1, 0, 0)
    step.scale = (-1, 1, 1)
    bpy.context.scene.frame_set(9)
    found = read([hill, step], armature)
    assert found.up == "z"
    assert len(found.parts) == 1
    assert_as_seen(found, [hill, step])


def test_curves_and_texts_have_faces_too():
    armature = rigs.figure(rigs.TRUNK)
    curve = bpy.data.curves.new("Disc", "CURVE")
    curve.dimensions, curve.fill_mode = "2D", "BOTH"
    spline = curve.splines.new("POLY")
    spline.points.add(3)
    for point, (x, y) in zip(spline.points, ((-1, -1), (1, -1), (1, 1), (-1, 1)), strict=True):
        point.co = (x, y, 0, 1)
    spline.use_cyclic_u = True
    disc = rigs.add_object("Disc", curve)
    disc.location.z = 0.4
    bpy.context.view_layer.update()
    assert np.allclose(heights(read([disc], armature), [(0, 0, 0), (2, 0, 0)]), [0.4, np.nan], equal_nan=True)


def test_instances_of_a_collection_and_of_geometry_nodes():
    armature = rigs.figure(rigs.TRUNK)
    collection = bpy.data.collections.new("Steps")
    for height in (0.1, 0.2):
        step = slab(f"Step {height}", 1)
        bpy.context.collection.objects.unlink(step)
        collection.objects.link(step)
        step.location = (10 * height, 0, height)
    copy = rigs.add_object("Copy")
    copy.instance_type, copy.instance_collection, copy.location = "COLLECTION", collection, (5, 0, 1)

    scattered = slab("Scattered", 1)
    nodes = bpy.data.node_groups.new("Scatter", "GeometryNodeTree")
    nodes.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    nodes.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    start, end = nodes.nodes.new("NodeGroupInput"), nodes.nodes.new("NodeGroupOutput")
    copies, cube = nodes.nodes.new("GeometryNodeInstanceOnPoints"), nodes.nodes.new("GeometryNodeMeshCube")
    cube.inputs["Size"].default_value = (0.2, 0.2, 0.2)
    nodes.links.new(start.outputs[0], copies.inputs["Points"])
    nodes.links.new(cube.outputs["Mesh"], copies.inputs["Instance"])
    nodes.links.new(copies.outputs[0], end.inputs[0])
    scattered.modifiers.new("Scatter", "NODES").node_group = nodes
    bpy.context.view_layer.update()

    found = read([copy, scattered], armature)
    assert np.allclose(heights(found, [(6, 0, 0), (7, 0, 0), (9, 0, 0)]), [1.1, 1.2, np.nan], equal_nan=True)
    assert np.allclose(heights(found, [(0.5, 0.5, 0), (-0.5, 0.45, 0), (0, 0, 0)]), [0.1, 0.1, np.nan], equal_nan=True)


def test_a_moving_ground_goes_where_its_object_goes():
    armature, lift, floor = rigs.figure(rigs.TRUNK), slab("Lift", 1, 0.1), slab("Floor", 4)
    for frame in (1, 10):
        part = (frame - 1) / 9
        lift.location, lift.rotation_euler, lift.scale = (part, 0, part), (0.3 * part, 0, part), (1 + part,) * 3
        for name in ("location", "rotation_euler", "scale"):
            lift.keyframe_insert(name, frame=frame)
    bpy.context.scene.frame_set(4, subframe=0.5)
    before = rigs.state()
    found = read([lift, floor], armature, FRAMES)
    assert rigs.state() == before
    assert len(found.parts) == 2
    high = heights(found, np.tile([POINTS], (len(FRAMES), 1, 1)))
    for f, frame in enumerate(FRAMES):
        bpy.context.scene.frame_set(int(frame))
        assert np.allclose(high[f], [seen([lift, floor], x, y) for x, y, _ in POINTS], atol=1e-5, equal_nan=True)


def test_without_frames_a_moving_object_is_where_it_is_now():
    armature, lift = rigs.figure(rigs.TRUNK), slab("Lift")
    for frame in (1, 11):
        lift.location.z = frame
        lift.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(11)
    assert heights(read([lift], armature), [(0, 0, 0)]).tolist() == [11]


def test_the_character_is_no_ground():
    armature, floor = rigs.figure(rigs.TRUNK), slab("Floor")
    body, shoe, lace, hat = (slab(name, 1, height) for name, height in (("B", 1), ("S", 2), ("L", 3), ("H", 4)))
    body.modifiers.new("Skin", "ARMATURE").object = armature
    lace.parent, shoe.parent, hat.parent = shoe, body, armature
    group = bpy.data.collections.new("Me")
    group.objects.link(body)
    copy = rigs.add_object("Copy")
    copy.instance_type, copy.instance_collection = "COLLECTION", group
    stock = bpy.data.collections.new("Stock")
    stock.objects.link(slab("Gem", 1, 5))
    bpy.context.collection.objects.unlink(bpy.data.objects["Gem"])
    crown = rigs.add_object("Crown")
    crown.parent, crown.instance_type, crown.instance_collection = hat, "COLLECTION", stock
    bpy.context.view_layer.update()
    everything = list(bpy.context.scene.objects)
    assert heights(read(everything, armature), [(0, 0, 0)]).tolist() == [0]
    with pytest.raises(armatures.CannotBakeError, match="that are not part of Figure"):
        read([body, shoe, lace, hat, copy], armature)
    floor.hide_set(True)
    with pytest.raises(armatures.CannotBakeError, match="There is no ground"):
        read([floor], armature)


@pytest.mark.parametrize("hidden", [1, 2, 10])
def test_what_comes_and_goes_is_refused(hidden):
    armature, floor = rigs.figure(rigs.TRUNK), slab("Floor")
    for frame in FRAMES.tolist():
        floor.hide_viewport = frame == hidden
        floor.keyframe_insert("hide_viewport", frame=frame)
    with pytest.raises(armatures.CannotBakeError, match="Floor does not exist on all frames: make it visible"):
        read([floor], armature, FRAMES)


def test_what_moves_sheared_is_refused():
    armature = rigs.figure(rigs.TRUNK)
    tilted, holder = slab("Tilted"), rigs.add_object("Holder")
    tilted.parent, holder.scale, tilted.rotation_euler = holder, (1, 1, 3), (0.5, 0, 0)
    for frame in (1, 5):
        holder.location.x = frame
        holder.keyframe_insert("location", frame=frame)
    with pytest.raises(armatures.CannotBakeError, match="Tilted moves with a scale that mirrors or shears it"):
        read([tilted], armature, FRAMES)


def wave(item):
    """By a modifier, without keys."""
    item.modifiers.new("Waves", "WAVE")


def swell(item):
    """By a shape key."""
    item.shape_key_add(name="Basis")
    key = item.shape_key_add(name="High")
    key.data[0].co.z += 0.3
    for frame in (4, 10):
        key.value = float(frame == 10)
        key.keyframe_insert("value", frame=frame)


def build(item):
    """More and more vertices."""
    count = item.modifiers.new("Rows", "ARRAY")
    for frame in (1, 10):
        count.count = 1 + frame // 5
        count.keyframe_insert("count", frame=frame)


@pytest.mark.parametrize("change", [wave, swell, build])
def test_what_changes_its_shape_is_told(change):
    """The shape in the first frame is used; objects that only move are not reported."""
    armature, sea, lift = rigs.figure(rigs.TRUNK), slab("Sea", 4), slab("Lift", 1, 0.1)
    change(sea)
    for frame in (1, 10):
        lift.location.z, lift.scale.x = frame, frame
        lift.keyframe_insert("location", frame=frame)
        lift.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(1)
    first = [seen([sea], x, y) for x, y, _ in POINTS]
    found, notes = stage.run(ground.read(bpy.context, [sea, lift], armature, FRAMES))
    assert notes == ["Sea deforms: its shape at frame 1 is used"]
    high = heights(ik.Ground(found.parts[-1:], "z"), POINTS)
    assert np.allclose(high, first, atol=1e-5, equal_nan=True)


def test_a_curve_that_changes_its_shape_is_told():
    armature, curve = rigs.figure(rigs.TRUNK), bpy.data.curves.new("Path", "CURVE")
    curve.dimensions, curve.extrude = "3D", 1.0
    line = curve.splines.new("POLY")
    line.points.add(1)
    line.points[1].co = (3, 0, 0, 1)
    item = rigs.add_object("Path", curve)
    assert stage.run(ground.read(bpy.context, [item], armature, FRAMES))[1] == []
    for frame in (1, 10):
        curve.extrude = frame / 10
        curve.keyframe_insert("extrude", frame=frame)
    notes = stage.run(ground.read(bpy.context, [item], armature, FRAMES))[1]
    assert notes == ["Path deforms: its shape at frame 1 is used"]


# --- skin ------------------------------------------------------------------------------------------------------------


def skinned(armature, groups):
    """A mesh under an armature, and its vertex groups: {bone: {vertex: weight}}."""
    item = slab("Skin", 1, 0.05)
    for name, weights in groups.items():
        group = item.vertex_groups.new(name=name)
        for vertex, weight in weights.items():
            group.add([vertex], weight, "REPLACE")
    item.modifiers.new("Skin", "ARMATURE").object = armature
    return item


def reading_of(armature):
    return stage.run(clips.read(bpy.context, armature, np.arange(1, 2)))


def in_world(reading, vertices):
    """World positions of joint-space points in the rest pose."""
    skeleton = reading.clip.skeleton
    rest = skeleton.forward(skeleton.rest)
    return {
        name: rest.positions[joint] + ik.rotations.rotate(rest.rotations[joint], rows)
        for name, rows in vertices.items()
        for joint in [skeleton.index(name)]
    }


def test_vertices_go_to_the_bone_that_they_follow_most():
    armature = rigs.mixamo_like()
    foot, toe = "mixamorig:LeftFoot", "mixamorig:LeftToeBase"
    item = skinned(armature, {foot: {0: 1.0, 1: 0.6, 2: 0.2}, toe: {1: 0.4, 2: 0.5}, "Prop": {2: 1.0, 3: 1.0}})
    rigs.move(armature, (1, 10))
    bpy.context.scene.frame_set(5)
    before = rigs.state()
    found = skin.read(bpy.context, armature)
    assert rigs.state() == before
    assert armature.data.pose_position == "POSE"
    corners = [np.array(item.matrix_world @ vertex.co) for vertex in item.data.vertices]
    places = in_world(reading_of(armature), found)
    assert set(found) == {foot, toe}
    assert np.allclose(places[foot], corners[:2], atol=1e-5)
    assert np.allclose(places[toe], corners[2:3], atol=1e-5)


def test_bones_that_do_not_deform_and_groups_of_nothing_do_not_count():
    armature = rigs.mixamo_like()
    foot, toe = "mixamorig:LeftFoot", "mixamorig:LeftToeBase"
    item = skinned(armature, {foot: {0: 1.0, 1: 0.4, 2: 0.5, 3: 0.0}, toe: {1: 0.6}, "mixamorig:Head": {2: 0.6}})
    armature.data.bones["mixamorig:Head"].use_deform = False
    found = in_world(reading_of(armature), skin.read(bpy.context, armature))
    corners = [np.array(item.matrix_world @ vertex.co) for vertex in item.data.vertices]
    assert set(found) == {foot, toe}
    assert np.allclose(found[foot], [corners[0], corners[2]], atol=1e-5)
    assert np.allclose(found[toe], corners[1:2], atol=1e-5)


def test_meshes_that_hang_on_a_bone_follow_it_whole():
    armature = rigs.rigify_like()
    shoe = slab("Shoe", 0.2)
    shoe.parent, shoe.parent_type, shoe.parent_bone = armature, "BONE", "DEF-foot.L"
    bpy.context.view_layer.update()
    corners = [np.array(shoe.matrix_world @ vertex.co) for vertex in shoe.data.vertices]
    reading = reading_of(armature)
    found = in_world(reading, skin.read(bpy.context, armature))
    assert set(found) == {"DEF-foot.L"}
    assert np.allclose(found["DEF-foot.L"], corners, atol=1e-5)


@needs_mocap
@pytest.mark.parametrize(("file", "animation"), [("Fox.glb", "Walk"), ("Spider.glb", "Walk-loop")])
def test_soles_are_those_that_the_library_finds_in_the_file(file, animation):
    """The same feet with the same soles, through Blender's importer and through ikcore's reader."""
    bpy.ops.import_scene.gltf(filepath=str(MOCAP / file))
    armature = next(item for item in bpy.data.objects if item.type == "ARMATURE")
    armature.animation_data.action = bpy.data.actions[animation]
    armature.animation_data.action_slot = armature.animation_data.action.slots[0]
    first, last = map(round, bpy.data.actions[animation].curve_frame_range)
    reading = stage.run(clips.read(bpy.context, armature, np.arange(first, last + 1)))
    here = ik.Feet.detect(reading.clip.skeleton, vertices=skin.read(bpy.context, armature), clip=reading.clip)
    clip = ik.Clip.read(MOCAP / file, animation).convert(up="Z")
    there = ik.Feet.detect(clip.skeleton, vertices=ik.gltf.skin(MOCAP / file), clip=clip)
    assert [leg.name for leg in here] == [leg.name for leg in there]
    size = np.ptp(clip.skeleton.forward(clip.pose).positions[0], axis=0).max()
    places = here.positions(reading.clip.skeleton, reading.clip.pose)
    for key, expected in there.positions(clip.skeleton, clip.pose).items():
        assert np.abs(places[key][0] - expected[0]).max() < 1e-4 * size, key
