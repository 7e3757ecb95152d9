"""Bake Foot IK: what Blender shows afterwards is what ikcore makes of the same clip, and nothing else has changed."""

import dataclasses
import functools
import importlib
import math
import os
import pathlib
import time
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
import walks
from conftest import EXTENSION

import ikcore as ik
from ikcore.grounds import obj

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
    assert all(after.measures[leg].drift < 0.005 for leg in ("left", "right"))
    assert all(abs(after.measures[leg].penetration) < 0.002 for leg in ("left", "right"))


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


def test_moving_ground(walker, addon):
    """Feet ride on it; and the report says how they do so: as a lift rises, before they sink into it."""
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
    for line in addon.feet.foot_report.latest(walker).lines:
        assert line.slide[0] > 0.03
        assert line.slide[1] < 0.005
        assert line.sink[0] > 0.2
        assert line.sink[1] < 0.01
        assert len(line.texts()) == 2


def test_a_leg_that_never_stands_has_no_slide(walker, addon):
    bpy.ops.ikcore.detect_feet()
    walker.ikcore_feet.legs["left"].mode = "never"
    bake()
    texts = {line.leg: line.texts() for line in addon.feet.foot_report.latest(walker).lines}
    shown = [text.split()[:2] for text in texts["left"] + texts["right"]]
    assert shown == [["Left", "sink"], ["Right", "slide"], ["Right", "sink"]]


def test_ground_that_changes_its_shape_is_told(walker, addon, capfd):
    """In the sentence and in the panel's report; the shape on the first frame counts."""
    sea = walks.slab("Sea", (-2, -6, -1), (2, 2, 0))
    sea.shape_key_add(name="Basis")
    key = sea.shape_key_add(name="High")
    for point in key.data:
        point.co.z += 0.5
    for frame in (10, 61):
        key.value = float(frame == 61)
        key.keyframe_insert("value", frame=frame)
    bpy.context.scene.frame_set(1)
    wanted = ik.bake_feet(walks.read(walker), walks.ground_of(["Sea"]))
    assert on(["Sea"], ground_moves=True) == {"FINISHED"}
    assert "Warning: Baked 2 legs, 61 frames" in (said := capfd.readouterr().out)
    assert ". Sea deforms: its shape at frame 1 is used" in said
    assert addon.feet.foot_report.latest(walker).notes == ["Sea deforms: its shape at frame 1 is used"]
    walks.assert_feet(walker, wanted, FRAMES)


CLIPS = {
    "cmu_12_01_walk.bvh": {"global_scale": 0.0564444},
    "fair1_zombie.bvh": {"global_scale": 0.0254, "axis_forward": "Y", "axis_up": "Z"},
    "pab_walk.bvh": {"global_scale": 0.01},
    "pab_walk.fbx": None,
    "Woman.gltf": None,
    "Fox.glb": None,
    "Spider.glb": None,
}
SIZES = {"Woman.gltf": 3.0, "Fox.glb": 100.0}  # of the terrain, for characters that are no metres


@needs_files
@pytest.mark.parametrize(("file", "turn"), [*((file, 0) for file in CLIPS), ("pab_walk.bvh", 90)])
def test_clips_on_terrain(file, turn):
    """On what Blender imports of the clip and of the terrain: feet as ikcore bakes them on the terrain's file."""
    armature = imported(file, CLIPS[file])
    clip, size = walks.read(armature), SIZES.get(file, 1.0)
    bpy.ops.wm.obj_import(filepath=str(TERRAIN / "ozz_foot_ik_floor.obj"))
    floor = bpy.context.object
    floor.rotation_euler.z += math.radians(turn)
    floor.scale = (size,) * 3
    bpy.context.view_layer.objects.active = armature
    points, faces = obj.read(TERRAIN / "ozz_foot_ik_floor.obj")
    turned = ik.rotations.from_axis_angle([0.0, 0, 1], math.radians(turn))
    upright = size * points[:, [0, 2, 1]] * [1, -1, 1]
    ground = ik.Ground.mesh(ik.rotations.rotate(turned, upright), faces, up="z")
    feet = ik.Feet.detect(clip.skeleton, vertices=walks.skin.read(bpy.context, armature) or None, clip=clip)
    wanted = walks.prepared_and_baked(clip, ground, feet=feet, root_motion=True)
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


# --- options ---------------------------------------------------------------------------------------------------------


def percent(metres):
    """A length for a leg of 0.87 m in percent of the leg length."""
    return 100 * metres / 0.87


SETTINGS = {
    "lock": ({"lock": False}, {"lock": False}),
    "tolerance": ({"allowed_slide": percent(0.05)}, {"tolerance": 0.05}),
    "unlock": ({"unlock_distance": percent(0.03)}, {"unlock": 0.03}),
    "blend": ({"blend": 0.1}, {"blend": 0.1}),
    "clearance": ({"swing_clearance": percent(0.08)}, {"clearance": 0.08}),
    "align": ({"follow_slope": 0.3}, {"align": 0.3}),
    "pitch": ({"max_pitch": math.radians(3)}, {"pitch": 3}),
    "roll": ({"max_roll": math.radians(2)}, {"roll": 2}),
    "toe": ({"max_toe_bend": math.radians(1)}, {"toe": 1}),
    "pelvis": ({"pelvis": "lowest"}, {"pelvis": "lowest"}),
    "lift": ({"limit_pelvis": True, "max_raise": 0.0, "max_lower": percent(0.3)}, {"lift": 0, "drop": 0.3}),
    "drop": (
        {"limit_pelvis": True, "max_raise": percent(0.3), "max_lower": percent(0.01)},
        {"lift": 0.3, "drop": 0.01},
    ),
    "shift": ({"max_shift": 0.0}, {"shift": 0}),
    "tilt": ({"auto_tilt": False, "tilt": 0.7}, {"tilt": 0.7}),
    "straight": ({"max_extension": 90}, {"straight": 0.9}),
    "weight": ({"influence": 0.4}, {"weight": 0.4}),
}
UPHILL, ON_A_BOX = {"toe"}, {"lift"}


@pytest.mark.parametrize("name", SETTINGS)
def test_setting(walker, name):
    """Every setting does what it does in ikcore, which is something else than without it."""
    options, settings = SETTINGS[name]
    names = ["Floor", "Box"] if name in ON_A_BOX else ["Slope"]
    walks.slab("Floor", (-2, -6, -1), (2, 2, 0))
    walks.slab("Box", (-2, -1.6, -1), (2, -1.2, 0.25))
    walks.slab("Slope", (-2, -6, -1), (2, 2, 0)).rotation_euler = (-0.38 if name in UPHILL else 0.25, 0.12, 0)
    bpy.context.view_layer.update()
    clip, ground = walks.read(walker), walks.ground_of(names)
    usual, wanted = (ik.bake_feet(clip, ground, settings=ik.BakeSettings(**each)) for each in ({}, settings))
    moved = np.abs(usual.clip.pose.rotations - wanted.clip.pose.rotations).max()
    assert moved > 1e-3
    assert on(names, **options) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


@pytest.mark.parametrize("forward_motion", [True, False])
def test_in_place_motion_travels_or_stays(tmp_path, addon, forward_motion, capfd):
    """As ikcore does it; and the report says what was done, or which option would do it."""
    walker = walks.walk(tmp_path, slide=0)
    floor = ik.Ground.plane(height=0.1, up="z")
    wanted = walks.prepared_and_baked(walks.read(walker), floor, root_motion=forward_motion)
    assert bake(ground="PLANE", plane_height=0.1, forward_motion=forward_motion) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    said, moved = addon.feet.foot_report.latest(walker).notes
    assert "100 mm higher" in moved  # the plane is that much higher than the floor of the clip
    assert said.startswith("Root motion was added" if forward_motion else "In-place walk")
    assert said.endswith("; turn on Add Forward Motion to move it forward") == (not forward_motion)
    assert f". {said}" in capfd.readouterr().out


@pytest.mark.parametrize("remove_jitter", [True, False])
def test_jitter_is_removed_or_left(tmp_path, addon, remove_jitter):
    """As ikcore does it; and the report says how much there was, or which option removes it."""
    walker = walks.walk(tmp_path, shakes=0.003)
    clip, floor = walks.read(walker), ik.Ground.plane(up="z")
    wanted, other = (walks.prepared_and_baked(clip, floor, noise=each) for each in (remove_jitter, not remove_jitter))
    assert np.abs(wanted.clip.pose.rotations - other.clip.pose.rotations).max() > 1e-3
    assert bake(ground="PLANE", plane_height=0, remove_jitter=remove_jitter) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    notes = addon.feet.foot_report.latest(walker).notes
    assert any("was removed" in note for note in notes) == remove_jitter
    assert any("; turn on Remove Jitter" in note for note in notes) == (not remove_jitter)


def test_the_floor_that_the_action_was_made_on_is_an_option(tmp_path):
    """On a slope that it is said to be made on it is baked as ikcore does it with that."""
    walker = walks.walk(tmp_path)
    ground = ik.Ground.plane([0, 0.1, 1], up="z")
    wanted = ik.bake_feet(walks.read(walker), ground, source_floor="ground")
    assert bake(ground="PLANE", plane_height=0, plane_normal=(0, 0.1, 1), source_floor="GROUND") == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


def on_unfit_steps():
    """Stairs whose treads do not match the walk's strides of half a metre."""
    for step in range(6):
        walks.slab(f"Step {step}", (-2, -9, -1), (2, 2 if not step else -0.3 - 0.36 * step, 0.12 * step))
    return [f"Step {step}" for step in range(6)]


def test_strides_are_fitted_to_steps(tmp_path, addon):
    """As ikcore does it, root and all; and left as they are a note names the option."""
    walker = walks.walk(tmp_path, slide=1, seconds=4)
    names, frames = on_unfit_steps(), range(1, 122)
    clip, ground = walks.read(walker), walks.ground_of(names)
    wanted = walks.prepared_and_baked(clip, ground, stride=0.4)
    assert wanted.source is not clip, "the test fits nothing"
    assert on(names) == {"FINISHED"}
    (said,) = addon.feet.foot_report.latest(walker).notes
    assert said.startswith("Steps do not match the stairs")
    assert said.endswith("; raise Fit Strides to adjust step length")
    bpy.ops.ed.undo_push()
    assert on(names, fit_strides=0.4, from_original=True) == {"FINISHED"}
    walks.assert_feet(walker, wanted, frames)
    (said,) = addon.feet.foot_report.latest(walker).notes
    assert said.startswith("Strides are 0.")


def test_strides_of_a_root_that_is_held_are_not_fitted(tmp_path):
    walker = walks.walk(tmp_path, slide=1, seconds=4)
    held(walker, hips=True)
    with pytest.raises(RuntimeError, match="so strides cannot be fitted to the ground: mute or apply it first"):
        on(on_unfit_steps(), fit_strides=0.4)


def held(walker, *, hips=False):
    """Hang the hips on a bone that a constraint holds; they may be held too."""
    bones = rigs.edit_bones(walker)
    bones.new("holder").tail = 0, 0, 0.3
    bones["Hips"].parent = bones["holder"]
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in ("holder", "Hips") if hips else ("holder",):
        hold = walker.pose.bones[name].constraints.new("LIMIT_SCALE")
        hold.name = "Hold"
    bpy.context.view_layer.update()


@pytest.mark.parametrize("keys", ["EVERY", "TOLERANCE"])
def test_below_a_root_that_is_held_the_next_bone_goes_on_its_way(tmp_path, addon, keys):
    """To where all would go else."""
    walker = walks.walk(tmp_path, slide=0)
    held(walker)
    walker.rotation_euler, walker.scale = (0, 0, 0.7), (2, 2, 2)
    bpy.context.view_layer.update()
    wanted = walks.prepared_and_baked(walks.read(walker), ik.Ground.plane(height=0.1, up="z"))
    way = np.linalg.norm(np.ptp(wanted.clip.pose.translations[:, 0], axis=0))
    assert way > 1, "the test does not move"
    assert bake(ground="PLANE", plane_height=0.1, keys=keys) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES, tolerance=0.03 if keys == "TOLERANCE" else 1e-4)
    sent, moved, instead = addon.feet.foot_report.latest(walker).remarks()
    assert "100 mm higher" in moved  # the plane is that much higher than the floor of the clip
    assert "Root motion was added" in sent
    assert instead == "holder cannot move, so Hips was moved: bones not parented to Hips stay behind"


def test_what_cannot_go_on_its_way_is_told_how_to_stay(tmp_path):
    walker = walks.walk(tmp_path, slide=0)
    held(walker, hips=True)
    with pytest.raises(RuntimeError) as error:
        bake(ground="PLANE", plane_height=0.1)
    assert "has constraint Hold, so an in-place walk cannot move forward: mute or" in str(error.value)
    assert "or turn off Add Forward Motion" in str(error.value)


def test_what_changes_nothing_says_why(tmp_path, addon, capfd):
    walker = walks.walk(tmp_path, slide=1)
    assert bake(ground="PLANE", plane_height=0) == {"FINISHED"}
    assert addon.feet.foot_report.latest(walker).remarks() == [
        "Nothing has changed: all feet stand on the ground as they should"
    ]
    assert capfd.readouterr().out.count("Nothing has changed") == 1


def test_the_same_again_says_so(tmp_path, addon):
    """From the original again: feet that slide there have not stood as they should."""
    walker = walks.walk(tmp_path, slide=1.2)
    for told in (False, True):
        assert bake(ground="PLANE", plane_height=0) == {"FINISHED"}
        assert ("Nothing has changed since the last bake" in addon.feet.foot_report.latest(walker).remarks()) == told


@pytest.mark.parametrize("fps", [24, 48])
def test_a_walk_at_the_rate_of_the_scene_is_left_once_it_was_baked(tmp_path, addon, fps):
    """The importer scales keys in time, so that frames lie between them, where planted feet slide slightly."""
    ik.samples.walk(seconds=4).clip[20:100].write(tmp_path / "walk.bvh")
    bpy.context.scene.render.fps = fps
    options = {"use_fps_scale": True, "update_scene_duration": True}
    bpy.ops.import_anim.bvh(filepath=str(tmp_path / "walk.bvh"), **options)
    walker, ground = bpy.context.object, walks.steps()
    for baked_before in (False, True):
        assert on(ground, from_original=False) == {"FINISHED"}
        remarks = addon.feet.foot_report.latest(walker).remarks()
        assert [remark.partition(":")[0] for remark in remarks] == ["Nothing has changed"] * baked_before


def test_every_option_is_tried(addon):
    """Every option of the operator occurs in this file."""
    text = pathlib.Path(__file__).read_text(encoding="utf-8")
    missing = [name for name in addon.feet.options.names() if f'"{name}"' not in text and f"{name}=" not in text]
    assert missing == []


def test_part_of_the_animation(walker):
    """Keys outside the range stay, to the digit, and the bake fades in and out."""
    before = keys(walker)
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"), frames=(19, 45))
    options = {"frame_range": "CUSTOM", "frame_start": 20, "frame_end": 45}
    assert bake(ground="PLANE", plane_height=0.1, **options) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    after = keys(walker)
    for at, was in before.items():
        outside = [key[0] for key in was if not 20 <= key[0][0] <= 45]
        assert [key[0] for key in after[at] if not 20 <= key[0][0] <= 45] == outside


def test_scene_range(walker):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 10, 30
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"), frames=(9, 30))
    assert bake(ground="PLANE", plane_height=0.1, frame_range="SCENE") == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


def test_one_leg(walker):
    """The pelvis and the other leg stay."""
    before = keys(walker)
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=-0.02, up="z"), legs=["left"])
    assert bake(ground="PLANE", plane_height=-0.02, legs=[{"name": "left"}]) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    changed = {at[0].split('"')[1] for at, was in before.items() if keys(walker)[at] != was}
    assert changed <= set(walks.LEGS[:4])


def test_pelvis_bone(walker):
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"), pelvis="Hips")
    assert bake(ground="PLANE", plane_height=0.1, pelvis_bone="Hips") == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)


def test_key_step(walker):
    action = walker.animation_data.action
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"))
    assert bake(ground="PLANE", plane_height=0.1, keys="STEP", key_step=7) == {"FINISHED"}
    frames = [*range(1, 62, 7), 61]
    for at, made in keys(walker).items():
        if "LeftLeg" in at[0]:
            assert [key[0][0] for key in made] == frames
    assert len(rigs.curves_of(action, action.slots[0])[next(iter(keys(walker)))].keyframe_points) == 61
    for frame in (8, 61):
        walks.assert_feet_at(walker, wanted, frame)


def test_key_tolerance(walker):
    """Feet are that near; the rest is in test_keys.py."""
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"))
    assert bake(ground="PLANE", plane_height=0.1, keys="TOLERANCE", max_error=0.003) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES, 0.003)
    assert len(keys(walker)['pose.bones["LeftLeg"].rotation_euler', 0]) < 40


def test_new_action_keeps_the_original(walker):
    """In the same slot; only legs and the pelvis are written."""
    action, before = walker.animation_data.action, keys(walker)
    slot = walker.animation_data.action_slot.identifier
    assert bake(ground="PLANE", plane_height=0.1) == {"FINISHED"}
    assert walker.animation_data.action.name == "walk Foot IK"
    assert walker.animation_data.action_slot.identifier == slot
    assert action.use_fake_user
    assert {at: rigs.keys_of(curve) for at, curve in rigs.curves_of(action, action.slots[0]).items()} == before
    after = keys(walker)
    assert set(after) == set(before)
    changed = {at[0].split('"')[1] for at, was in before.items() if after[at] != was}
    assert {"Hips", "LeftUpLeg", "LeftLeg", "LeftFoot"} <= changed <= {"Hips", *walks.LEGS}


def test_overwrite(walker):
    action = walker.animation_data.action
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"))
    assert bake(ground="PLANE", plane_height=0.1, output="OVERWRITE") == {"FINISHED"}
    assert list(bpy.data.actions) == [action]
    assert walker.animation_data.action == action
    walks.assert_feet(walker, wanted, FRAMES)


def test_markers(walker, capfd):
    """Markers on frames out of reach: on a floor far below, with a pelvis that stays for the other leg."""
    deep = {"ground": "PLANE", "plane_height": -0.6, "legs": [{"name": "left"}]}
    assert bake(**deep) == {"FINISHED"}
    assert len(bpy.context.scene.timeline_markers) == 0
    assert "left out of reach in" in capfd.readouterr().out
    walker.animation_data.action = bpy.data.actions["walk"]
    assert bake(mark=True, **deep) == {"FINISHED"}
    markers = {marker.name.partition(":")[0]: marker.frame for marker in bpy.context.scene.timeline_markers}
    assert 1 <= markers["left foot does not reach"] <= 61


# --- contacts --------------------------------------------------------------------------------------------------------

POINTS = [(leg, point) for leg in ("left", "right") for point in ("heel", "ball")]


def contact(armature, leg, point):
    """The curve of a point."""
    return curves(armature)[f'["contact {leg} {point}"]', 0]


def weights(armature, leg, point):
    return np.array([contact(armature, leg, point).evaluate(frame) for frame in FRAMES])


def test_contacts_become_curves(walker):
    """As the bake finds them, in the action that plays, and a bake by them is the same."""
    names = walks.steps()
    wanted = ik.bake_feet(walks.read(walker), walks.ground_of(names))
    action, poses = walker.animation_data.action, rigs.sampled(walker, FRAMES)
    given = {"ground": "OBJECTS", "ground_objects": [{"name": name} for name in names]}
    assert bpy.ops.ikcore.detect_contacts(**given) == {"FINISHED"}
    assert walker.animation_data.action == action
    assert np.array_equal(rigs.sampled(walker, FRAMES), poses)
    for key in POINTS:
        assert np.array_equal(weights(walker, *key), wanted.contacts.planted(*key)), key
        assert contact(walker, *key).group.name == "Foot Contacts"
        assert f"contact {key[0]} {key[1]}" in walker
    bake(**given)
    walks.assert_feet(walker, wanted, FRAMES)
    assert np.array_equal(weights(walker, "left", "heel"), wanted.contacts.planted("left", "heel"))


def lift_left(walker):
    """Say that the left foot is never planted."""
    for point in ("heel", "ball"):
        curve = contact(walker, "left", point)
        for key in curve.keyframe_points:
            key.co.y = 0.0
        curve.update()


def test_edited_curves_count(walker):
    clip, ground = walks.read(walker), ik.Ground.plane(height=-0.02, up="z")
    bpy.ops.ikcore.detect_contacts(ground="PLANE", plane_height=-0.02)
    lift_left(walker)
    found = ik.bake_feet(clip, ground).contacts
    said = {key: weight * (key[0] == "right") for key, weight in found.weights.items()}
    edited = ik.bake_feet(
        clip, ground, contacts=ik.Contacts.detect(clip, ik.Feet.detect(clip.skeleton, clip=clip), curves=said)
    )
    afresh = ik.bake_feet(clip, ground)
    assert np.abs(edited.clip.pose.rotations - afresh.clip.pose.rotations).max() > 0.01
    action = walker.animation_data.action
    for keyed, wanted in ((True, edited), (False, afresh)):
        walker.animation_data.action = action
        bake(ground="PLANE", plane_height=-0.02, contacts="CURVES" if keyed else "AUTO")
        walks.assert_feet(walker, wanted, FRAMES)


def test_detection_keeps_edits_unless_asked(walker, capfd):
    bpy.ops.ikcore.detect_contacts()
    found = {key: weights(walker, *key) for key in POINTS}
    lift_left(walker)
    bpy.ops.ikcore.detect_contacts()
    assert "Contact curves: 0 keyed, 4 kept" in capfd.readouterr().out
    assert not weights(walker, "left", "heel").any()
    bpy.ops.ikcore.detect_contacts(replace=True)
    assert all(np.array_equal(weights(walker, *key), found[key]) for key in POINTS)


def test_some_curves_leave_the_other_leg(walker):
    """Contact curves of one leg do not change the contacts of the other."""
    clip, ground = walks.read(walker), ik.Ground.plane(height=-0.02, up="z")
    bpy.ops.ikcore.detect_contacts(ground="PLANE", plane_height=-0.02)
    lift_left(walker)
    for point in ("heel", "ball"):
        curve = contact(walker, "right", point)
        walker.animation_data.action.layers[0].strips[0].channelbags[0].fcurves.remove(curve)
    bpy.ops.ikcore.detect_contacts(ground="PLANE", plane_height=-0.02)
    right = ik.bake_feet(clip, ground).contacts.planted("right", "ball")
    assert np.array_equal(weights(walker, "right", "ball"), right)
    assert not weights(walker, "left", "ball").any()


@pytest.mark.parametrize("output", ["NEW", "OVERWRITE"])
def test_baking_again_starts_from_the_original(walker, output):
    """By contacts that were edited in what was baked; what was changed there besides stays."""
    clip, ground = walks.read(walker), ik.Ground.plane(height=-0.02, up="z")
    given = {"ground": "PLANE", "plane_height": -0.02}
    bpy.ops.ikcore.detect_contacts(**given)
    bake(**given)
    lift_left(walker)
    head = curves(walker)['pose.bones["Head"].rotation_euler', 0]
    for key in head.keyframe_points:
        key.co.y = 0.5
    found = ik.bake_feet(clip, ground).contacts
    curve = {key: weight * (key[0] == "right") for key, weight in found.weights.items()}
    contacts = ik.Contacts.detect(clip, ik.Feet.detect(clip.skeleton, clip=clip), curves=curve)
    bake(output=output, **given)
    walks.assert_feet(walker, ik.bake_feet(clip, ground, contacts=contacts), FRAMES)
    assert curves(walker)['pose.bones["Head"].rotation_euler', 0].evaluate(30) == 0.5
    assert sorted(bpy.data.actions.keys()) == ["walk", "walk Foot IK"]


@pytest.mark.parametrize("given", [{"keys": "STEP", "key_step": 7}, {"keys": "TOLERANCE"}, {"output": "NLA"}])
def test_baking_again_with_nothing_but_other_keys(walker, given):
    """Or to another place: they are made as if there had been no bake before, though all plays as it should."""
    plane = {"ground": "PLANE", "plane_height": 0.1}
    original = walker.animation_data.action
    bake(**plane, **given)
    wanted = keys_of_legs(walker)
    assert len(wanted) > 10
    while walker.animation_data.nla_tracks:
        walker.animation_data.nla_tracks.remove(walker.animation_data.nla_tracks[0])
    walker.animation_data.action = original
    bake(**plane)
    bake(**plane, **given)
    found = keys_of_legs(walker)
    assert {at: list(frames) for at, (frames, _) in found.items()} == {
        at: list(frames) for at, (frames, _) in wanted.items()
    }
    assert all(np.abs(found[at][1] - values).max() < 1e-4 for at, (_, values) in wanted.items())


def keys_of_legs(armature):
    """Frames and values of the keys of legs and pelvis, in what plays or in the upper strip."""
    tracks = armature.animation_data.nla_tracks
    playing = tracks[-1].strips[0] if tracks else armature.animation_data
    found = {}
    for at, curve in rigs.curves_of(playing.action, playing.action_slot).items():
        if at[0].startswith("pose.") and at[0].split('"')[1] in {"Hips", *walks.LEGS}:
            found[at] = np.array([key.co for key in curve.keyframe_points]).T
    return found


def test_baking_on_top(walker):
    bake(ground="PLANE", plane_height=0.1)
    clip = walks.read(walker)
    bake(ground="PLANE", plane_height=0.3, from_original=False)
    walks.assert_feet(walker, ik.bake_feet(clip, ik.Ground.plane(height=0.3, up="z")), FRAMES)


@pytest.mark.parametrize("mode", ["always", "never", "ground"])
def test_modes(walker, mode):
    clip, ground = walks.read(walker), ik.Ground.plane(up="z")
    bpy.ops.ikcore.detect_feet()
    for item in walker.ikcore_feet.legs:
        item.mode = mode
    contacts = ik.Contacts.detect(clip, ik.Feet.detect(clip.skeleton, clip=clip), modes=mode)
    bake(ground="PLANE")
    walks.assert_feet(walker, ik.bake_feet(clip, ground, contacts=contacts), FRAMES)


# --- some of it again ------------------------------------------------------------------------------------------------


def bones(armature, names):
    """The keys of bones."""
    return {at: was for at, was in keys(armature).items() if at[0].startswith("pose") and at[0].split('"')[1] in names}


def never(clip, feet, contacts, leg):
    """These contacts, that leg being in the air."""
    said = {key: weight * (key[0] != leg) for key, weight in contacts.weights.items()}
    return ik.Contacts.detect(clip, feet, curves=said)


@pytest.mark.parametrize("output", ["NEW", "OVERWRITE"])
@pytest.mark.parametrize("ticked", [True, False])
def test_one_leg_again(walker, output, ticked):
    """By its edited contacts, where a bake of the original has that foot; all else stays as baked, to the digit."""
    names = walks.steps()
    clip, ground = walks.read(walker), walks.ground_of(names)
    given = {"ground": "OBJECTS", "ground_objects": [{"name": name} for name in names]}
    bpy.ops.ikcore.detect_feet()
    bpy.ops.ikcore.detect_contacts(**given)
    bake(**given)
    before, poses, first = keys(walker), rigs.sampled(walker, FRAMES), ik.bake_feet(clip, ground)
    edited = never(clip, first.feet, first.contacts, "left")
    wanted = ik.bake_feet(clip, ground, contacts=edited)
    made = ik.bake_feet(clip, ground, contacts=edited, legs=["left"], earlier=first.clip)
    lift_left(walker)
    walker.ikcore_feet.legs["right"].use = not ticked
    assert bake(output=output, **given, **({} if ticked else {"legs": [{"name": "left"}]})) == {"FINISHED"}
    others = {bone.name for bone in walker.pose.bones} - set(walks.LEGS[:4])
    assert bones(walker, others) == {at: was for at, was in before.items() if at in bones(walker, others)}
    moved = np.abs(rigs.sampled(walker, FRAMES) - poses).max(axis=(0, 2, 3))
    assert {walker.pose.bones[n].name for n in np.flatnonzero(moved > 1e-4)} == set(walks.LEGS[:4])
    walks.assert_feet(walker, made, FRAMES)
    reached = (made.shortfall["left"] == 0) & (wanted.shortfall["left"] == 0)
    assert reached.mean() > 0.8
    there = wanted.feet.positions(wanted.clip.skeleton, wanted.clip.pose)
    for key, places in walks.positions(walker, wanted.feet, FRAMES).items():
        assert key[0] == "right" or np.abs(places - there[key])[reached].max() < 1e-4, key


def test_some_frames_again(walker):
    """As a bake of all of the original has them; the others stay as baked, and between them nothing jumps."""
    clip = walks.read(walker)
    bake(ground="PLANE", plane_height=0.1)
    before, poses = keys(walker), rigs.sampled(walker, FRAMES)
    part = {"frame_range": "CUSTOM", "frame_start": 20, "frame_end": 45}
    assert bake(ground="PLANE", plane_height=0.2, **part) == {"FINISHED"}
    after = keys(walker)
    for at, was in before.items():
        outside = [key[0] for key in was if not 20 <= key[0][0] <= 45]
        assert [key[0] for key in after[at] if not 20 <= key[0][0] <= 45] == outside
    wanted = ik.bake_feet(clip, ik.Ground.plane(height=0.2, up="z"))
    for frame in (30, 33, 35):
        walks.assert_feet_at(walker, wanted, frame)
    height = rigs.sampled(walker, FRAMES)[:, walker.pose.bones.find("Hips"), 2, 3]
    risen = height - poses[:, walker.pose.bones.find("Hips"), 2, 3]
    assert risen.max() == pytest.approx(0.1, abs=1e-4)
    assert np.abs(np.diff(risen)).max() < 1.9 * 0.1 / 9


# --- the list of feet ------------------------------------------------------------------------------------------------


def listed(armature):
    return [
        (item.name, item.side, item.hip, [knee.name for knee in item.knees], item.ankle, item.ball, item.toe)
        for item in armature.ikcore_feet.legs
    ]


WALKER = [
    (side.lower(), side.lower(), f"{side}UpLeg", [f"{side}Leg"], f"{side}Foot", f"{side}ToeBase", "")
    for side in ("Left", "Right")
]


def test_detected_feet_are_listed_and_edits_kept(walker, capfd):
    assert bpy.ops.ikcore.detect_feet() == {"FINISHED"}
    assert listed(walker) == WALKER
    legs = walker.ikcore_feet.legs
    legs[0].ball, legs[0].name = "", "lame"
    legs.remove(1)
    assert bpy.ops.ikcore.detect_feet() == {"FINISHED"}
    assert [leg[:1] + leg[5:6] for leg in listed(walker)] == [("lame", ""), ("right", "RightToeBase")]
    assert "Found right; kept lame" in capfd.readouterr().out
    assert bpy.ops.ikcore.detect_feet(replace=True) == {"FINISHED"}
    assert listed(walker) == WALKER


def test_the_list_counts(walker):
    """The bake takes the bones that it names, and only the legs that are ticked."""
    bpy.ops.ikcore.detect_feet()
    walker.ikcore_feet.legs[0].ball = ""
    walker.ikcore_feet.legs[1].use = False
    clip = walks.read(walker)
    found = ik.Feet.detect(clip.skeleton, clip=clip)
    bare = found.replace("left", ball=None, toe=None, soles={}).replace("right", soles={})
    feet = bare.with_soles(clip)
    bake(ground="PLANE", plane_height=-0.02)
    walks.assert_feet(
        walker, ik.bake_feet(clip, ik.Ground.plane(height=-0.02, up="z"), feet=feet, legs=["left"]), FRAMES
    )


def own_sole(armature, leg):
    """The points of a leg in the list, in metres: {point: (bone, place)}."""
    scale = armature.matrix_world.to_scale()[0]
    points = armature.ikcore_feet.legs[leg].soles
    return {point.name: (point.bone, tuple(scale * number for number in point.place)) for point in points}


def as_listed(armature, feet):
    """Feet with the soles that the list says."""
    for item in armature.ikcore_feet.legs:
        if item.soles:
            feet = feet.replace(item.name, soles=own_sole(armature, item.name))
    return feet


@pytest.mark.parametrize("rig", ["walk", "mixamo_like"])
def test_own_soles(rig, tmp_path, capfd):
    """They start where a bake finds them, in the units of the armature; where they are put counts, of that leg."""
    if rig == "walk":
        armature = walks.walk(tmp_path)
    else:
        armature = rigs.mixamo_like()
        rigs.move(armature, (1, 10, 20), size=0.15)
    frames = range(1, 62 if rig == "walk" else 21)
    clip, ground = walks.read(armature), ik.Ground.plane(height=-0.02, up="z")
    found = ik.Feet.detect(clip.skeleton, clip=clip)
    bpy.ops.ikcore.detect_feet()
    assert not armature.ikcore_feet.legs["left"].soles
    assert bpy.ops.ikcore.detect_sole(leg="left") == {"FINISHED"}
    assert "Sole of left: heel, ball, toe, inner, outer" in capfd.readouterr().out
    assert not armature.ikcore_feet.legs["right"].soles
    for point, (bone, place) in own_sole(armature, "left").items():
        assert bone == found["left"].soles[point].joint
        np.testing.assert_allclose(place, found["left"].soles[point].offset, atol=1e-6)
    bake(ground="PLANE", plane_height=-0.02)
    usual = ik.bake_feet(clip, ground, feet=found)
    walks.assert_feet(armature, usual, frames)
    armature.ikcore_feet.legs["left"].soles["heel"].place[2] += 0.04 / armature.scale[0]
    armature.ikcore_feet.legs["left"].soles["ball"].place[1] -= 0.06 / armature.scale[0]
    wanted = ik.bake_feet(clip, ground, feet=as_listed(armature, found))
    there, before = (each.clip.skeleton.forward(each.clip.pose).positions for each in (wanted, usual))
    assert np.abs(there - before).max() > 0.01
    bake(ground="PLANE", plane_height=-0.02)
    walks.assert_feet(armature, wanted, frames)
    bpy.ops.ikcore.edit_feet(change="REMOVE_SOLE")
    assert not armature.ikcore_feet.legs["left"].soles
    bake(ground="PLANE", plane_height=-0.02)
    walks.assert_feet(armature, usual, frames)


def test_detecting_a_sole_looks_at_the_original(walker):
    """Like the bake, it measures the original again, whatever the listed points are."""
    bpy.ops.ikcore.detect_feet()
    bpy.ops.ikcore.detect_sole()
    first = own_sole(walker, "left")
    walker.ikcore_feet.legs["left"].soles[0].bone = "nowhere"
    assert bpy.ops.ikcore.detect_sole() == {"FINISHED"}
    assert own_sole(walker, "left") == first
    walks.slab("Slope", (-2, -6, -1), (2, 2, 0)).rotation_euler = (0.4, 0.2, 0)
    assert on(["Slope"]) == {"FINISHED"}
    bpy.ops.ikcore.detect_sole()
    assert own_sole(walker, "left") == first


def test_own_soles_undone(walker):
    bpy.ops.ikcore.detect_feet()
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.ikcore.detect_sole()
    bpy.ops.ed.undo_push(message="after")
    assert len(bpy.context.object.ikcore_feet.legs["left"].soles) == 5
    bpy.ops.ed.undo()
    assert not bpy.context.object.ikcore_feet.legs["left"].soles


def test_the_end_of_a_leg_without_a_foot():
    """The end is its given sole; for a leg added by hand, the tail of its last bone."""
    armature = rigs.mixamo_like()
    rigs.move(armature, (1, 10, 20), size=0.15)
    clip, feet = walks.read(armature), []
    for side in ("Left", "Right"):
        item = armature.ikcore_feet.legs.add()
        item.name = item.side = side.lower()
        item.hip = f"mixamorig:{side}UpLeg"
        item.knees.add()
        item.knees[0].name = f"mixamorig:{side}Leg"
        length = 0.01 * armature.data.bones[item.knees[0].name].length
        leg = ik.Leg(
            item.name, item.side, item.hip, (item.knees[0].name,), soles={"ball": (item.knees[0].name, (0, length, 0))}
        )
        feet.append(leg)
    ground = ik.Ground.plane(height=-0.02, up="z")
    for _ in range(2):
        wanted = ik.bake_feet(clip, ground, feet=ik.Feet(tuple(feet)))
        assert bake(ground="PLANE", plane_height=-0.02) == {"FINISHED"}
        walks.assert_feet(armature, wanted, range(1, 21))
        bpy.ops.ikcore.detect_sole(leg="left")
        armature.ikcore_feet.legs["left"].soles["ball"].place[1] += 5.0
        feet[0] = as_listed(armature, ik.Feet(tuple(feet)))["left"]


def test_a_pole_bone(walker):
    """Its knee points at it, and where it is gone that is said."""
    made = rigs.edit_bones(walker).new("Knee Target")
    made.head, made.tail = (0.7, -0.8, 0.5), (0.7, -0.8, 0.6)
    made.parent = walker.data.edit_bones["Hips"]
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.ikcore.detect_feet()
    walker.ikcore_feet.legs[0].pole = "Knee Target"
    clip, ground = walks.read(walker), ik.Ground.plane(height=-0.02, up="z")
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    plain, wanted = (ik.bake_feet(clip, ground, feet=feet.replace("left", pole=p)) for p in (None, "Knee Target"))
    turned = np.abs(plain.clip.pose.rotations - wanted.clip.pose.rotations).max(axis=(0, 2))
    assert {clip.skeleton.names[n] for n in np.flatnonzero(turned > 0.05)} == {"LeftUpLeg", "LeftFoot"}  # as a whole
    assert bake(ground="PLANE", plane_height=-0.02) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    shown = rigs.places(walker, FRAMES)["LeftLeg"][:, 0]
    knee = clip.skeleton.forward(wanted.clip.pose).positions[:, clip.skeleton.index("LeftLeg")]
    assert np.abs(shown - knee).max() < 1e-4
    walker.ikcore_feet.legs[0].pole = "gone"
    with pytest.raises(RuntimeError, match="walk has no bone gone of the leg left"):
        bake(ground="PLANE", plane_height=-0.02)


def test_editing_the_list(walker):
    def edit(change):
        assert bpy.ops.ikcore.edit_feet(change=change) == {"FINISHED"}

    edit("ADD_LEG")
    edit("ADD_KNEE")
    assert listed(walker) == [("leg 1", "middle", "", ["", ""], "", "", "")]
    edit("REMOVE_KNEE")
    edit("ADD_LEG")
    edit("REMOVE_LEG")
    assert listed(walker) == [("leg 1", "middle", "", [""], "", "", "")]
    edit("ADD_OBJECT")
    assert len(walker.ikcore_feet.objects) == 1
    edit("REMOVE_OBJECT")
    assert len(walker.ikcore_feet.objects) == 0


# --- undo, redo, cancel ----------------------------------------------------------------------------------------------


def test_one_undo_step(walker):
    names = walks.steps()
    bpy.context.scene.frame_set(13)
    before = rigs.state()
    bpy.ops.ed.undo_push(message="before")
    assert on(names, mark=True) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    assert rigs.state() != before
    bpy.ops.ed.undo()
    assert rigs.state() == before


@pytest.mark.parametrize("mode", ["POSE", "OBJECT"])
def test_frame_mode_and_selection_stay(walker, mode):
    bpy.ops.object.mode_set(mode=mode)
    bpy.context.scene.frame_set(13, subframe=0.25)
    before = rigs.state()
    bake(ground="PLANE", plane_height=0.1)
    after = rigs.state()
    assert [after[name] for name in ("frame", "active")] == [before[name] for name in ("frame", "active")]
    assert after["walk"][:2] == before["walk"][:2]


def work(addon, armature):
    """Run the operator as from the interface, step by step, onto a plane."""
    armature.ikcore_feet.ground, armature.ikcore_feet.plane_height = "PLANE", 0.1
    return addon.feet.foot_bake.work(
        bpy.context, addon.feet.foot_job.make_job(bpy.context, armature, armature.ikcore_feet)
    )


@pytest.mark.parametrize("steps", [1, 2, 7, 62])
def test_cancel_while_looking_changes_nothing(addon, walker, steps, monkeypatch):
    monkeypatch.setattr(addon.feet.foot_bake.clip_reader, "not_from_curves", lambda *_: "asked for by the test")
    bpy.context.scene.frame_set(13, subframe=0.5)
    walker.pose.bones["Hips"].location = (1, 2, 3)  # posed, not keyed
    bpy.context.view_layer.update()
    going = work(addon, walker)
    before = rigs.state()
    shares = [next(going) for _ in range(steps)]
    assert shares == sorted(shares)
    going.close()
    assert rigs.state() == before


def test_cancel_while_baking_answers_at_once(addon, walker, monkeypatch):
    """The thread is not waited for; it ends when it next tells its progress."""
    said = []

    def slow(*_, progress, **__):
        for n in range(50):
            time.sleep(0.02)
            progress(n / 50)
            said.append(n)

    monkeypatch.setattr(addon.bridge.library, "bake_feet", slow)
    going = work(addon, walker)
    before = rigs.state()
    while not said:
        next(going)
    start = time.perf_counter()
    going.close()
    assert time.perf_counter() - start < 0.2
    assert rigs.state() == before
    time.sleep(0.1)
    many = len(said)
    time.sleep(0.1)
    assert len(said) == many < 40


def started(addon, armature, **options):
    """The operator as the interface runs it, as far as that goes without a window: what it said, and itself."""
    cls, said = addon.feet.foot_operators.IKCORE_OT_bake_feet, []
    options = {"output": "NEW", "keys": "EVERY", "mark": True, "options": SimpleNamespace(is_repeat=False), **options}
    operator = SimpleNamespace(bl_label="Bake", report=lambda _, text: said.append(text), **options)
    operator._make_keys = functools.partial(cls._make_keys, operator)
    armature.ikcore_feet.ground, armature.ikcore_feet.plane_height = "PLANE", 0.1
    job = addon.feet.foot_job.make_job(bpy.context, armature, armature.ikcore_feet)
    operator._work, operator._shown = cls.steps(operator, bpy.context, [job]), None
    return operator, said


@pytest.mark.parametrize("output", ["NEW", "OVERWRITE", "NLA"])
def test_cancel_while_writing_changes_nothing(addon, walker, output, monkeypatch):
    """Wherever it is cancelled: from the first step of the writing to the last, one bone after the other."""
    monkeypatch.setattr(addon.rig.joints, "ITEMS", 1)
    bpy.context.scene.frame_set(13, subframe=0.5)
    walker.pose.bones["Hips"].location = (1, 2, 3)  # posed, not keyed
    bpy.context.view_layer.update()
    later, ended = 1, False
    while not ended:
        operator, _ = started(addon, walker, output=output)
        before, ended = rigs.state(), True
        while next(operator._work) < addon.feet.foot_bake.WORKING:
            pass
        for n, share in enumerate(operator._work):
            assert addon.feet.foot_bake.WORKING <= share <= 1
            if n == later:
                operator._work.close()
                assert rigs.state() == before
                later, ended = later + 7, False
    assert later > 50
    assert rigs.state() != before


def test_ticks_come_to_the_same(addon, walker):
    """In ticks as at once."""
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"))
    (operator, said), shown = started(addon, walker), []
    context = SimpleNamespace(workspace=SimpleNamespace(status_text_set=shown.append))
    tick = addon.feet.foot_operators.IKCORE_OT_bake_feet._tick
    while (done := tick(operator, context)) == {"RUNNING_MODAL"}:
        assert "Esc: Cancel" in shown[-1]
    assert len(shown) == len(set(shown))
    assert done == {"FINISHED"}
    assert said[0].startswith("Baked 2 legs, 61 frames")
    walks.assert_feet(walker, wanted, FRAMES)


def test_esc_is_asked_often(addon, walker, monkeypatch):
    """Before every bone that is read, every frame of the scene that is evaluated and every curve that is written.

    Bones of few frames are read together, as they take no longer than one of many.
    """
    assert [[*some] for some, _ in addon.rig.joints.pieces(range(4), 10_000)] == [[0], [1], [2], [3]]
    assert [[*some] for some, _ in addon.rig.joints.pieces(range(4), 8_000)] == [[0, 1], [2, 3]]
    monkeypatch.setattr(addon.rig.joints, "ITEMS", 1)

    def steps(work):
        count = 0
        while True:
            try:
                next(work)
            except StopIteration as end:
                return count, end.value
            count += 1

    clips, frames, every = addon.feet.foot_bake.clip_reader, np.arange(1, 62), len(walker.pose.bones)
    for bones, least in ((None, every), ({"Hips"}, 1)):
        count, reading = steps(clips.read(bpy.context, walker, frames, bones))
        assert reading.through_scene is None
        assert count >= 3 * least
    turns = ik.rotations.from_axis_angle([0.0, 0, 1], np.full(61, 0.1))
    whole = steps(clips.read(bpy.context, walker, frames))[1]
    turned = ik.rotations.multiply(whole.clip.pose.rotations, turns[:, None])
    clip = dataclasses.replace(whole.clip, pose=ik.Pose(turned, whole.clip.pose.translations))
    count, (made, _) = steps(addon.feet.keys.channels.of_clip(walker, whole, clip))
    assert count >= 3 * every
    assert len(made) == 3 * every
    assert steps(addon.feet.foot_bake.actions.copy_actions([(walker, made)], frames, "Foot IK"))[0] == len(made)
    assert steps(addon.feet.foot_bake.actions.overwrite([(walker, made)], frames))[0] == len(made)
    walker.pose.bones["Hips"].constraints.new("LIMIT_LOCATION")
    count, reading = steps(clips.read(bpy.context, walker, frames))
    assert reading.through_scene
    assert count >= len(frames)


@pytest.mark.parametrize("kind", ["ESC", "TIMER", "MOUSEMOVE"])
def test_modal_events(addon, kind):
    """Esc ends it, the timer goes on with it, all else is kept from the scene."""
    called, cls = [], addon.feet.foot_operators.IKCORE_OT_bake_feet
    operator = SimpleNamespace(
        cancel=lambda _: called.append("cancel"),
        report=lambda _, text: called.append(text),
        _tick=lambda _: called.append("tick") or {"RUNNING_MODAL"},
    )
    done = cls.modal(operator, None, SimpleNamespace(type=kind, value="PRESS"))
    assert (done, called) == {
        "ESC": ({"CANCELLED"}, ["cancel", "Cancelled: nothing has changed"]),
        "TIMER": ({"RUNNING_MODAL"}, ["tick"]),
        "MOUSEMOVE": ({"RUNNING_MODAL"}, []),
    }[kind]


def test_failure_changes_nothing(addon, walker, monkeypatch):
    real = addon.feet.foot_bake.actions.write_keys

    def broken(bag, channel, frames):
        real(bag, channel, frames)
        if "RightFoot" in channel.path:
            raise MemoryError("made by the test")

    monkeypatch.setattr(addon.feet.foot_bake.actions, "write_keys", broken)
    before = rigs.state()
    for output in ("NEW", "OVERWRITE"):
        with pytest.raises(RuntimeError, match="made by the test"):
            bake(ground="PLANE", plane_height=0.1, output=output, mark=True)
        assert rigs.state() == before
        assert len(bpy.context.scene.timeline_markers) == 0


def test_a_repeated_bake_looks_no_more(addon, walker, monkeypatch):
    """A repetition from the redo panel gives the same result as without cached data."""
    job = addon.feet.foot_job.make_job(bpy.context, walker, walker.ikcore_feet)
    seen, baked, _ = addon.animation.scene_frames.run(addon.feet.foot_bake.work(bpy.context, job))
    monkeypatch.setattr(addon.feet.foot_bake, "_look", lambda *_: pytest.fail("looked again"))
    walker.ikcore_feet.influence = 0.5
    job = addon.feet.foot_job.make_job(bpy.context, walker, walker.ikcore_feet)
    kept, changed, _ = addon.animation.scene_frames.run(addon.feet.foot_bake.work(bpy.context, job, again=True))
    assert kept is seen
    assert np.abs(changed.clip.pose.rotations - baked.clip.pose.rotations).max() > 1e-3


def test_how_long_each_stage_took(addon, walker):
    bake(ground="PLANE", plane_height=0.1)
    told = addon.feet.foot_report.latest(walker)
    assert list(told.times) == ["looked", "baked", "measured", "wrote"]
    assert all(seconds > 0 for seconds in told.times.values())
    job = addon.feet.foot_job.make_job(bpy.context, walker, walker.ikcore_feet)
    addon.animation.scene_frames.run(addon.feet.foot_bake.work(bpy.context, job))
    _, _, again = addon.animation.scene_frames.run(addon.feet.foot_bake.work(bpy.context, job, again=True))
    assert list(again.times) == ["baked", "measured"]


# --- armatures -------------------------------------------------------------------------------------------------------


def two_walkers(folder):
    """Two that walk beside each other, both selected, the first one active."""
    first = walks.walk(folder)
    second = walks.walk(folder, slide=1.2, seconds=1)
    second.location.x, first.name, second.name = 1.0, "First", "Second"
    first.select_set(True)
    bpy.context.view_layer.objects.active = first
    bpy.context.scene.frame_set(13, subframe=0.25)
    return first, second


def test_all_selected_armatures_in_one_press(tmp_path, addon, capfd):
    """Each as it is baked alone, with a report of its own; one undo; its own legs and its own pelvis bone."""
    first, second = two_walkers(tmp_path)
    second.ikcore_feet.pelvis_bone = "Hips"
    clips = [walks.read(walker) for walker in (first, second)]
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    assert bpy.ops.ikcore.bake_feet("EXEC_DEFAULT", True, ground="PLANE", plane_height=0.1) == {"FINISHED"}
    ground = ik.Ground.plane(height=0.1, up="z")
    for walker, clip, last in ((first, clips[0], 62), (second, clips[1], 32)):
        walks.assert_feet(walker, ik.bake_feet(clip, ground), range(1, last))
        assert addon.feet.foot_report.latest(walker).frames == last - 1
    text = capfd.readouterr().out
    assert "First: Baked 2 legs, 61 frames" in text
    assert ". Second: Baked 2 legs, 31 frames" in text
    bpy.ops.ed.undo()
    assert rigs.state() == before


@pytest.mark.parametrize("output", ["NEW", "OVERWRITE", "NLA"])
def test_two_cancelled_at_any_time(addon, tmp_path, output):
    """Also when the first one is written and the second is not."""
    first, second = two_walkers(tmp_path)
    bpy.context.view_layer.update()
    stop, ended, cls = 0, False, addon.feet.foot_operators.IKCORE_OT_bake_feet
    while not ended:
        operator, _ = started(addon, first, output=output)
        jobs = [addon.feet.foot_job.make_job(bpy.context, walker, first.ikcore_feet) for walker in (first, second)]
        operator._work, before = cls.steps(operator, bpy.context, jobs), rigs.state()
        writing = (share for share in operator._work if share >= addon.feet.foot_bake.WORKING)
        shares = [share for _, share in zip(range(stop + 1), writing, strict=False)]
        assert shares == sorted(shares)
        ended = len(shares) <= stop
        if not ended:
            operator._work.close()
            assert rigs.state() == before, stop
        stop += 23
    assert stop > 100
    assert rigs.state() != before


def test_the_page_is_true(walker, addon):
    """docs/blender/bake_feet.md: its walk slides 48 mm, and .5 mm when it is baked onto its own floor."""
    bake()
    before, after = np.max([line.slide for line in addon.feet.foot_report.latest(walker).lines], axis=0)
    assert (round(1000 * before), round(10000 * after)) == (48, 5)


def test_two_armatures_share_an_action(walker):
    """By slots: the other one plays on as it did, and its keys are in the new action too."""
    other = rigs.leg("Other", frames=61)
    rigs.key_pose(other, np.random.default_rng(3), (1, 30, 61))
    action = walker.animation_data.action
    slot = action.slots.new(id_type="OBJECT", name="Other")
    other.animation_data.action, other.animation_data.action_slot = action, slot
    rigs.key_pose(other, np.random.default_rng(4), (1, 30, 61))
    bpy.ops.object.mode_set(mode="OBJECT")
    other.select_set(False)
    before = rigs.action_by_value(action)[2]
    bpy.context.view_layer.objects.active = walker
    wanted = ik.bake_feet(walks.read(walker), ik.Ground.plane(height=0.1, up="z"))
    assert bake(ground="PLANE", plane_height=0.1) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    assert other.animation_data.action == action
    assert rigs.action_by_value(action)[2] == before
    assert rigs.action_by_value(walker.animation_data.action)[2]["OBOther"] == before["OBOther"]


@pytest.mark.parametrize("place", ["scaled", "turned", "animated"])
def test_placed_armatures(walker, place):
    """In centimetres, lying in an object that stands up, or carried by it."""
    if place == "scaled":
        walker.scale = (0.01,) * 3
    elif place == "turned":
        walker.rotation_euler.z, walker.location = 1.0, (3, -2, 0.5)
    else:
        for frame, y in ((1, 0.0), (61, -0.3)):
            walker.location.y = y
            walker.keyframe_insert("location", index=1, frame=frame)
    bpy.context.view_layer.update()
    clip = walks.read(walker)
    height = float(ik.Contacts.detect(clip).ground["left", "ball"][0]) + 0.1 * walker.scale[0]
    wanted = ik.bake_feet(clip, ik.Ground.plane(height=height, up="z"))
    assert bake(ground="PLANE", plane_height=height) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES, 1e-4 * walker.scale[0] if place == "scaled" else 1e-4)


@needs_files
@pytest.mark.parametrize(("file", "legs", "knees"), [("Fox.glb", 4, [1, 1, 2, 2]), ("Spider.glb", 8, [1] * 8)])
def test_many_legs_through_the_list(file, legs, knees):
    """The list says all that there is to say, also of legs without feet."""
    armature = imported(file, None)
    clip = walks.read(armature)
    size = np.ptp(clip.skeleton.forward(clip.pose[0]).positions[:, 2])
    feet = ik.Feet.detect(clip.skeleton, vertices=walks.skin.read(bpy.context, armature) or None, clip=clip)
    assert bpy.ops.ikcore.detect_feet() == {"FINISHED"}
    items = armature.ikcore_feet.legs
    assert [item.name for item in items] == [leg.name for leg in feet]
    assert (len(items), [len(item.knees) for item in items]) == (legs, knees)
    height = -0.02 * size
    wanted = ik.bake_feet(clip, ik.Ground.plane(height=height, up="z"), feet=feet)
    assert bake(ground="PLANE", plane_height=height) == {"FINISHED"}
    scene = bpy.context.scene
    walks.assert_feet(armature, wanted, range(scene.frame_start, scene.frame_end + 1), 1e-4 * max(size, 1))


RIGS = {
    "mixamo_like": ["mixamorig:LeftUpLeg", "mixamorig:RightUpLeg"],
    "rigify_like": ["DEF-thigh.L", "DEF-thigh.R"],
    "unreal_like": ["thigh_l", "thigh_r"],
}


@pytest.mark.parametrize("rig", RIGS)
def test_rigs(rig):
    """Their names, their chains in parts, their units: what Blender shows is what ikcore makes of it."""
    armature = getattr(rigs, rig)()
    rigs.move(armature, (1, 10, 20), size=0.15)
    clip = walks.read(armature)
    assert bpy.ops.ikcore.detect_feet() == {"FINISHED"}
    feet = ik.Feet.detect(clip.skeleton, vertices=walks.skin.read(bpy.context, armature) or None, clip=clip)
    assert [item.hip for item in armature.ikcore_feet.legs] == [leg.hip for leg in feet] == RIGS[rig]
    ground = ik.Ground.plane(up="z")
    ready = ik.prepare.prepare(clip, ground, feet=feet)
    wanted = ik.bake_feet(ready.clip, ground, feet=feet, contacts=None if ready.clip is clip else ready.contacts)
    assert bake(ground="PLANE") == {"FINISHED"}
    walks.assert_feet(armature, wanted, range(1, 21))


def test_a_leg_that_ends_in_a_tail(addon):
    """How long it is is known for finding the bone that moves the body, too."""
    armature = rigs.leg()
    armature.pose.bones["upper"].lock_location = (True,) * 3
    leg = ik.Leg("left", "left", "tip", ("tip_end",), None)
    request = SimpleNamespace(pelvis_bone="")
    assert addon.feet.foot_job.pelvis_of(bpy.context, armature, request, [leg], {}) == "hips"


def test_a_loop_stays_one(walker):
    """An action marked as cyclic ends as it begins."""
    action = walker.animation_data.action
    action.use_frame_range, action.use_cyclic, action.frame_start, action.frame_end = True, True, 1, 61
    walks.closed(walker)
    clip = walks.read(walker)
    assert clip.loop
    wanted = ik.bake_feet(clip, ik.Ground.plane(height=-0.02, up="z"))
    assert bake(ground="PLANE", plane_height=-0.02) == {"FINISHED"}
    walks.assert_feet(walker, wanted, FRAMES)
    made = walker.animation_data.action
    assert (made.use_frame_range, made.use_cyclic, made.frame_start, made.frame_end) == (True, True, 1, 61)


def stands(armature, frames):
    """How far points of the feet go while they stand, at most."""
    read = walks.clips.read(bpy.context, armature, np.arange(*frames))
    clip = walks.stage.run(read).clip
    feet = ik.Feet.detect(clip.skeleton).with_soles(clip)
    contacts, places = ik.Contacts.detect(clip, feet), feet.positions(clip.skeleton, clip.pose)
    runs = [(key, run) for key in contacts.weights for run in ik.feet.metrics.runs(contacts.planted(*key))]
    return max(np.linalg.norm(np.ptp(places[key][slice(*run), :2], axis=0)) for key, run in runs)


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("keys", ["EVERY", "TOLERANCE"])
def test_a_walk_that_goes_on_in_rounds(tmp_path, ahead, keys):
    """By Cycles modifiers: feet stand where one round ends and the next begins, too, on the way or sent on it."""
    walker = walks.walk(tmp_path, slide=1.15, seconds=1)
    walks.in_rounds(walker, ahead=ahead)
    three = (1, 92)
    before = stands(walker, three) if ahead else math.inf
    assert bake(ground="PLANE", keys=keys) == {"FINISHED"}
    assert before > 0.08
    assert stands(walker, three) < 0.015
    ends = np.array(list(rigs.places(walker, (1, 31)).values()))[:, :, 0]
    gone = ends[:, 1] - ends[:, 0]
    assert np.ptp(gone, axis=0).max() < 1e-4, "a round ends as it begins"
    assert np.linalg.norm(gone[0]) > 1.0
    for (path, _), curve in curves(walker).items():
        (cycles,) = curve.modifiers
        assert cycles.type == "CYCLES"
        assert cycles.mode_after == ("REPEAT_OFFSET" if path.endswith("location") else "REPEAT")
    assert tuple(walker.animation_data.action.curve_frame_range) == (1, 31)


def test_rounds_that_do_not_close_are_told_of(walker, capfd):
    walks.in_rounds(walker)
    for key in list(curves(walker)[joint_path("LeftLeg"), 0].keyframe_points)[-2:]:
        key.co.y += 0.3
    assert bake(ground="PLANE") == {"FINISHED"}
    assert "LeftLeg differs between frame 1 and frame 61: feet may slide" in capfd.readouterr().out


def test_modifiers_are_taken_back(addon, walker):
    """After a cancelled bake curves repeat as before."""
    walks.in_rounds(walker, ahead=False)
    for curve in list(curves(walker).values())[::2]:
        curve.modifiers.remove(curve.modifiers[0])

    def modifiers():
        return {at: [actions._modes(each) for each in curve.modifiers] for at, curve in curves(walker).items()}

    actions = addon.animation.actions
    before, path = modifiers(), joint_path("Hips").replace("rotation_euler", "location")
    made = [actions.Channel(path, n, "Hips", np.arange(61.0), rounds=True) for n in range(3)]
    steps = actions.overwrite([(walker, made)], np.arange(1, 62))
    for _ in made:
        next(steps)
    assert modifiers() != before
    steps.close()
    assert modifiers() == before


def joint_path(name):
    return f'pose.bones["{name}"].rotation_euler'


def test_generated_rigify():
    """Its FK legs and its torso get the keys: what lies between is constrained. Other bones stay as they are."""
    bpy.ops.preferences.addon_enable(module="rigify")
    try:
        bpy.ops.object.armature_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        rig = bpy.context.object
        legs = [f"{part}_fk.{side}" for side in "LR" for part in ("thigh", "shin", "foot", "toe")]
        for side in "LR":
            rig.pose.bones[f"thigh_parent.{side}"]["IK_FK"] = 1.0
        rng = np.random.default_rng(1)
        for frame, y in ((1, 0.0), (10, -0.2), (20, -0.4)):
            rig.pose.bones["torso"].location.y = y
            rig.pose.bones["torso"].keyframe_insert("location", frame=frame)
            rigs.key_pose(rig, rng, [frame], bones=legs, size=0.1)
        made, seen = importlib.import_module(f"{EXTENSION}.feet.keys"), {}
        with pytest.MonkeyPatch.context() as patch:
            real = made.make_keys
            patch.setattr(made, "make_keys", lambda *given: seen.update(baked=given[3], told=given[4]) or real(*given))
            assert bake(ground="PLANE", plane_height=-0.05) == {"FINISHED"}
        assert [leg.chain[:4] for leg in seen["baked"].feet] == [tuple(legs[:4]), tuple(legs[4:])]
        walks.assert_feet(rig, seen["baked"], range(1, 21))
        assert seen["told"].kept == []
        assert {path.split('"')[1] for path, _ in curves(rig)} == {"torso", *legs}
    finally:
        bpy.ops.preferences.addon_disable(module="rigify")
