"""An armature as a clip and back: against what Blender shows, for all that an armature can be."""

import dataclasses
import importlib
import os
import pathlib
import time

import bpy
import numpy as np
import pytest
import rigs
from conftest import EXTENSION
from mathutils import Euler, Quaternion

import ikcore as ik

actions, armatures, channels, clips, skin, stage = (
    importlib.import_module(f"{EXTENSION}.{name}")
    for name in (
        "animation.actions",
        "rig.armatures",
        "animation.channels",
        "animation.clip_reader",
        "rig.skin",
        "animation.scene_frames",
    )
)
FRAMES = np.arange(1, 21)
MOCAP = pathlib.Path(os.environ.get("IKCORE_MOCAP", "none"))
needs_mocap = pytest.mark.skipif(not MOCAP.is_dir(), reason="IKCORE_MOCAP names no folder of clips")


def read(armature, frames=FRAMES, bones=None):
    return stage.run(clips.read(bpy.context, armature, frames, bones))


def read_through_scene(armature, frames=FRAMES):
    """Sampler A, whatever the curves could say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clips, "not_from_curves", lambda *_: "asked for by the test")
        return read(armature, frames)


def of_clip(*given, **options):
    return stage.run(channels.of_clip(*given, **options))


def copied(*given):
    return stage.run(actions.copy_actions(*given))


def size_of(clip):
    """From one end to the other where the figure is largest."""
    return np.ptp(clip.skeleton.forward(clip.pose).positions, axis=1).max()


def allowed(clip, at, tolerance):
    """A tolerance relative to the figure, plus the single-precision error of Blender's positions far from the
    origin."""
    return tolerance * size_of(clip) + 2 * np.finfo(np.float32).eps * np.abs(at).max()


def assert_same(one, other, tolerance=1e-5):
    """The same joints in the same places, turned the same way."""
    assert one.skeleton.names == other.skeleton.names
    one, other, clip = one.skeleton.forward(one.pose), other.skeleton.forward(other.pose), one
    assert np.abs(one.positions - other.positions).max() <= allowed(clip, one.positions, tolerance)
    assert (1 - np.abs(np.sum(one.rotations * other.rotations, axis=-1))).max() <= tolerance**2 + 1e-12


def assert_shown(clip, armature, frames=FRAMES, tolerance=1e-5):
    """The clip is where Blender shows the bones."""
    at = clip.skeleton.forward(clip.pose).positions
    most = allowed(clip, at, tolerance)
    for name, ends in rigs.places(armature, frames).items():
        assert np.abs(at[:, clip.skeleton.index(name)] - ends[:, 0]).max() <= most, name
        if f"{name}_end" in clip.skeleton.names:
            assert np.abs(at[:, clip.skeleton.index(f"{name}_end")] - ends[:, 1]).max() <= most, name


def changed(clip, seed=7, size=0.3):
    """Every joint but the tips turned otherwise on every frame, and the roots elsewhere."""
    rng, bones = np.random.default_rng(seed), [not name.endswith("_end") for name in clip.skeleton.names]
    turns = ik.rotations.exp(rng.normal(0, size, (len(clip), len(bones), 3)))
    rotations = np.where(np.array(bones)[:, None], ik.rotations.multiply(clip.pose.rotations, turns), [1.0, 0, 0, 0])
    moved = clip.pose.translations.copy()
    moved[:, clip.skeleton.parents < 0] += rng.normal(0, 0.1 * size_of(clip), (len(clip), 1, 3))
    return dataclasses.replace(clip, pose=ik.Pose(rotations, moved, clip.pose.scales))


def write(armature, reading, clip, bones=None):
    """Into a new action; returns the sentences."""
    made, kept = of_clip(armature, reading, clip, bones)
    with actions.swap_actions(copied([(armature, made)], reading.frames, "Foot IK")):
        return kept


def assert_round_trip(armature, frames=FRAMES):
    reading = read(armature, frames)
    assert_shown(reading.clip, armature, frames)
    wanted = changed(reading.clip)
    assert write(armature, reading, wanted) == []
    assert_shown(wanted, armature, frames)
    assert_same(read(armature, frames).clip, wanted)
    assert_same(read_through_scene(armature, frames).clip, wanted)
    return reading


def curves_of(armature):
    return rigs.curves_of(armature.animation_data.action, armature.animation_data.action_slot)


# --- rigs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rig", ["mixamo_like", "rigify_like", "unreal_like"])
def test_round_trip_of_rigs(rig):
    armature = getattr(rigs, rig)()
    rigs.move(armature, (1, 7, 13, 20))
    reading = assert_round_trip(armature)
    assert reading.through_scene is None
    assert (reading.clip.up, reading.clip.unit, reading.clip.fps, len(reading.clip)) == ("Z", 1.0, 24.0, 20)
    assert {leg.name for leg in ik.Feet.detect(reading.clip.skeleton, clip=reading.clip)} == {"left", "right"}


@needs_mocap
@pytest.mark.parametrize("file", sorted(path.name for path in MOCAP.glob("*.bvh")))
def test_round_trip_of_bvh(file):
    up = {"axis_forward": "Y", "axis_up": "Z"} if file.startswith("fair1") else {}
    bpy.ops.import_anim.bvh(filepath=str(MOCAP / file), update_scene_fps=True, global_scale=0.05, **up)
    assert assert_round_trip(bpy.context.object, np.arange(1, 41)).through_scene is None


@needs_mocap
@pytest.mark.parametrize("file", ["Fox.glb", "Spider.glb"])
def test_round_trip_of_gltf(file):
    assert assert_round_trip(imported(file), np.arange(1, 16)).through_scene is None


def imported(file):
    """The armature of a file, through Blender's importer."""
    if file.endswith(".bvh"):
        bpy.ops.import_anim.bvh(filepath=str(MOCAP / file), update_scene_fps=True)
    else:
        bpy.ops.import_scene.gltf(filepath=str(MOCAP / file))
    return next(item for item in bpy.data.objects if item.type == "ARMATURE")


@pytest.mark.parametrize("rig", ["mixamo_like", "rigify_like", "unreal_like"])
def test_feet_of_rigs(rig):
    armature = getattr(rigs, rig)()
    rigs.move(armature, (1, 7, 13, 20), size=0.1)
    assert_feet_stand(armature, 2)


@needs_mocap
@pytest.mark.parametrize(("file", "legs"), [("cmu_12_01_walk.bvh", 2), ("Fox.glb", 4), ("Spider.glb", 8)])
def test_feet_of_files(file, legs):
    assert_feet_stand(imported(file), legs)


def assert_feet_stand(armature, legs):
    """Feet are looked for on all bones at rest; then theirs are read alone, and the soles are where they would be."""
    skeleton = clips.skeleton(armature)
    feet = ik.Feet.detect(skeleton, up="Z", vertices=skin.read(bpy.context, armature))
    assert len(feet) == legs
    assert all(leg.soles for leg in feet)
    few, every = (read(armature, FRAMES, bones) for bones in (clips.bones_of(armature, feet), None))
    assert len(few.bones) < len(every.bones)
    assert every.clip.skeleton == skeleton
    expected = feet.positions(every.clip.skeleton, every.clip.pose)
    for key, at in feet.positions(few.clip.skeleton, few.clip.pose).items():
        assert np.abs(at - expected[key]).max() < 1e-6 * size_of(every.clip)


@needs_mocap
def test_round_trip_of_fbx():
    """Centimetres in an object that moves: what the object does is in the clip, what the hips do is written to them."""
    bpy.ops.import_scene.fbx(filepath=str(MOCAP / "pab_walk.fbx"), use_custom_props=False)
    armature = next(item for item in bpy.data.objects if item.type == "ARMATURE")
    assert max(armature.scale) == pytest.approx(0.01)
    assert assert_round_trip(armature).through_scene is None


@needs_mocap
def test_bvh_import_is_the_clip_that_the_library_reads():
    """The same motion, joint by joint, through Blender's importer and through ikcore's reader."""
    path = MOCAP / "cmu_12_01_walk.bvh"
    bpy.ops.import_anim.bvh(filepath=str(path), update_scene_fps=True)
    read_here = read(bpy.context.object, np.arange(1, 525)).clip
    from_file = ik.Clip.read(path).convert(up="Z")
    assert read_here.fps == pytest.approx(from_file.fps, rel=1e-6)
    here, there = (clip.skeleton.forward(clip.pose).positions for clip in (read_here, from_file))
    common = [name for name in from_file.skeleton.names if name in read_here.skeleton.names]
    assert len(common) > 30
    for name in common:
        if not name.endswith("_end"):  # Blender gives bones without length one
            error = here[:, read_here.skeleton.index(name)] - there[:, from_file.skeleton.index(name)]
            assert np.abs(error).max() < 1e-4 * size_of(from_file), name


# --- rotation modes, locks, channels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", rigs.MODES)
def test_round_trip_of_rotation_modes(mode):
    armature = rigs.rigify_like()
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    armature.rotation_mode = mode
    rigs.move(armature, (1, 7, 13, 20))
    assert assert_round_trip(armature).through_scene is None


@pytest.mark.parametrize("mode", rigs.MODES)
def test_locked_axes_keep_their_angles(mode):
    """As Blender's own tools have it: where a mode has no angles those of XYZ count."""
    armature = rigs.figure(rigs.TRUNK)
    bone = armature.pose.bones["spine"]
    bone.rotation_mode, bone.lock_rotations_4d, bone.lock_rotation = mode, False, (False, True, False)
    rigs.move(armature, (1, 20))
    reading = read(armature)
    before = {at: rigs.keys_of(curve) for at, curve in curves_of(armature).items()}
    kept = write(armature, reading, changed(reading.clip, size=0.05), bones={"spine"})
    assert kept == ["spine keeps its locked rotation Y"]
    order = mode if mode in rigs.ORDERS else "XYZ"
    change = np.abs(_angles(reading.clip, order) - _angles(read(armature).clip, order))
    assert change[:, 1].max() < 1e-5
    assert change[:, 0].max() > 1e-2
    after = {at: rigs.keys_of(curve) for at, curve in curves_of(armature).items()}
    written = {at for at in after if after[at] != before[at]}
    free = (0, 2) if mode in rigs.ORDERS else range(4)
    assert {index for _, index in written} == set(free)
    assert all(path.startswith('pose.bones["spine"].rotation') for path, _ in written)


def _angles(clip, order):
    """Angles of the spine, whose rest rotation equals its parent's, so its rotation is that of its channels."""
    rotations = clip.pose.rotations[:, clip.skeleton.index("spine")]
    return np.array([Quaternion(q).to_euler(order) for q in rotations])


def test_locked_rotation_and_location_get_no_keys():
    armature = rigs.figure(rigs.TRUNK)
    hips = armature.pose.bones["hips"]
    hips.rotation_mode, hips.lock_rotation, hips.lock_location = "XYZ", (True, True, True), (False, False, True)
    rigs.move(armature, (1, 20))
    before = {at: rigs.keys_of(curve) for at, curve in curves_of(armature).items()}
    reading = read(armature)
    kept = write(armature, reading, changed(reading.clip), bones={"hips"})
    assert kept == [
        "hips keeps its locked rotation X and Y and Z",
        "hips keeps its locked location Z",
    ]
    after = {at: rigs.keys_of(curve) for at, curve in curves_of(armature).items()}
    assert {at for at in after if after[at] != before[at]} == {('pose.bones["hips"].location', axis) for axis in (0, 1)}


def test_locked_numbers_of_a_quaternion_get_no_keys():
    armature = rigs.figure(rigs.TRUNK)
    bone = armature.pose.bones["spine"]
    bone.lock_rotations_4d, bone.lock_rotation_w, bone.lock_rotation = True, False, (False, True, True)
    rigs.move(armature, (1, 20))
    reading = read(armature)
    made, kept = of_clip(armature, reading, changed(reading.clip), {"spine"})
    assert [channel.index for channel in made] == [0, 1]
    assert kept == ["spine keeps its locked rotation Y and Z"]


def test_connected_bones_stay_where_they_are():
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 20))
    reading = read(armature)
    moved = reading.clip.pose.translations.copy()
    moved[:, reading.clip.skeleton.index("spine")] += 0.1
    clip = dataclasses.replace(reading.clip, pose=ik.Pose(reading.clip.pose.rotations, moved))
    assert of_clip(armature, reading, clip) == ([], ["spine stays in place: it is connected to hips"])


def test_only_what_changes_is_written():
    armature = rigs.mixamo_like()
    rigs.move(armature, (1, 7, 13, 20))
    reading = read(armature)
    assert of_clip(armature, reading, reading.clip) == ([], [])
    turned = reading.clip.pose.rotations.copy()
    knee = reading.clip.skeleton.index("mixamorig:LeftLeg")
    turned[:, knee] = ik.rotations.multiply(turned[:, knee], ik.rotations.exp([0.1, 0, 0]))
    clip = dataclasses.replace(reading.clip, pose=ik.Pose(turned, reading.clip.pose.translations))
    made, kept = of_clip(armature, reading, clip)
    assert [(channel.path, channel.index, channel.group) for channel in made] == [
        ('pose.bones["mixamorig:LeftLeg"].rotation_quaternion', index, "mixamorig:LeftLeg") for index in range(4)
    ]
    assert kept == []
    assert of_clip(armature, reading, clip, bones={"mixamorig:Hips"}) == ([], [])


# --- objects and inheritance -----------------------------------------------------------------------------------------


def _placed(armature):
    armature.location, armature.rotation_euler, armature.scale = (3, -2, 1), (0.3, -0.4, 2.0), (0.01,) * 3


def _animated(armature):
    for frame, angle in ((1, 0.0), (20, 2.0)):
        armature.location, armature.rotation_euler = (angle, 1, 0), (0, angle / 3, angle)
        armature.keyframe_insert("location", frame=frame)
        armature.keyframe_insert("rotation_euler", frame=frame)


def _swelling(armature):
    for frame, scale in ((1, 0.5), (20, 2.0)):
        armature.scale = (scale,) * 3
        armature.keyframe_insert("scale", frame=frame)


def _held(armature):
    holder = rigs.add_object("Holder")
    holder.location, holder.rotation_euler, holder.scale = (1, 2, 3), (0.5, 0.6, 0.7), (2, 2, 2)
    bpy.context.view_layer.update()
    armature.parent, armature.matrix_parent_inverse = holder, Euler((0.1, 0.2, 0.3)).to_matrix().to_4x4()
    _animated(armature)


def _with_delta(armature):
    armature.delta_location, armature.delta_rotation_euler = (1, 2, 3), (0.1, 0.2, 0.3)


def _with_animated_delta(armature):
    _with_delta(armature)
    _animated(armature)


@pytest.mark.parametrize("place", [_placed, _animated, _swelling, _held, _with_delta, _with_animated_delta])
def test_round_trip_of_objects(place):
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 7, 13, 20))
    place(armature)
    bpy.context.view_layer.update()
    reading = assert_round_trip(armature)
    assert (reading.through_scene is None) == (place is not _with_animated_delta)


def test_object_on_a_moving_parent():
    armature, cart = rigs.rigify_like(), rigs.add_object("Cart")
    rigs.move(armature, (1, 7, 13, 20))
    armature.parent = cart
    for frame in (1, 20):
        cart.location.x = frame / 5
        cart.keyframe_insert("location", frame=frame)
    assert assert_round_trip(armature).through_scene == "Cart may move rig"


INHERITANCE = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("rotation", [True, False])
@pytest.mark.parametrize("scale", INHERITANCE)
def test_round_trip_of_inheritance(scale, rotation, local):
    armature = rigs.rigify_like()
    for bone in armature.data.bones:
        bone.inherit_scale, bone.use_inherit_rotation, bone.use_local_location = scale, rotation, local
    rigs.move(armature, (1, 7, 13, 20))
    hips = armature.pose.bones["DEF-spine"]
    for frame, size in ((1, 0.8), (20, 1.3)):
        hips.scale = (size,) * 3
        hips.keyframe_insert("scale", frame=frame)
    assert assert_round_trip(armature).through_scene is None


def test_uneven_scale_passes_where_it_can_be_said():
    armature = rigs.rigify_like()
    armature.data.bones["DEF-thigh.L.001"].inherit_scale = "FULL"
    armature.data.bones["DEF-thigh.R.001"].inherit_scale = "FULL"
    rigs.move(armature, (1, 20))
    armature.pose.bones["DEF-toe.L"].scale = (1, 2, 3)
    assert_round_trip(armature)


# --- time ------------------------------------------------------------------------------------------------------------


def test_rate_has_base_remapping_and_step():
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 20))
    render = bpy.context.scene.render
    render.fps, render.fps_base = 30, 1.001
    assert read(armature).clip.fps == pytest.approx(30 / 1.001, rel=1e-6)
    assert read(armature, np.arange(1, 21, 2)).clip.fps == pytest.approx(15 / 1.001, rel=1e-6)


@pytest.mark.parametrize("sampler", [read, read_through_scene])
def test_time_remapping(sampler):
    """The scene shows frame 10 of the action at 20, and half as many frames of it a second."""
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 9, 20))
    plain = read(armature).clip
    render = bpy.context.scene.render
    render.frame_map_old, render.frame_map_new = 100, 200
    clip = sampler(armature).clip
    assert clip.fps == 12
    assert_same(clip, plain)
    assert_shown(clip[:10], armature, 2 * FRAMES[:10])


def test_a_cyclic_action_is_a_loop():
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 20))
    action = armature.animation_data.action
    action.use_frame_range, action.use_cyclic, action.frame_start, action.frame_end = True, True, 1, 20
    assert not read(armature).clip.loop
    assert "differs between frame 1 and frame 20" in read(armature).loop_problem
    for curve in curves_of(armature).values():
        curve.keyframe_points.insert(20, curve.evaluate(1))
    assert read(armature).clip.loop
    assert not read(armature, FRAMES[:-1]).clip.loop


def test_curves_that_go_on_in_rounds_are_a_loop():
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 10))
    every = curves_of(armature)
    for curve in every.values():
        curve.keyframe_points.insert(20, curve.keyframe_points[0].co.y)
        curve.modifiers.new("CYCLES")
    assert read(armature).clip.loop
    assert not read(armature, FRAMES[:-1]).clip.loop, "a round is longer"
    assert not read(armature, np.arange(1, 40)).clip.loop, "a round is shorter"
    for change in (
        lambda cycles: setattr(cycles, "mute", True),
        lambda cycles: setattr(cycles, "cycles_after", 2),
        lambda cycles: setattr(cycles, "mode_after", "MIRROR"),
    ):
        curve = _rotation_curve(armature)
        change(curve.modifiers[0])
        assert not read(armature).clip.loop
        curve.modifiers.remove(curve.modifiers[0])
        curve.modifiers.new("CYCLES")
    assert read(armature).loop_problem is None
    _rotation_curve(armature).keyframe_points[-1].co.y += 0.5
    reading = read(armature)
    assert not reading.clip.loop
    assert "spine differs between frame 1 and frame 20" in reading.loop_problem


# --- curves ----------------------------------------------------------------------------------------------------------


def _rotation_curve(armature, bone="spine"):
    return next(curve for (path, _), curve in curves_of(armature).items() if f'"{bone}"].rotation' in path)


@pytest.mark.parametrize("kind", ["NOISE", "GENERATOR", "STEPPED", "CYCLES", "FNGENERATOR"])
def test_modifiers_are_read_and_what_they_did_is_written(kind):
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 3, 6))
    curve = _rotation_curve(armature)
    modifier = curve.modifiers.new(kind)
    if kind == "GENERATOR":
        modifier.use_additive = True
    reading = assert_round_trip(armature)
    assert reading.through_scene is None
    assert _rotation_curve(armature).modifiers[0].mute == (kind != "CYCLES")
    assert not curve.modifiers[0].mute, "the original was changed"


def test_modifiers_that_act_outside_are_refused():
    armature = rigs.figure(rigs.TRUNK)
    rigs.move(armature, (1, 20))
    _rotation_curve(armature).modifiers.new("NOISE")
    reading = read(armature, FRAMES[3:9])
    with pytest.raises(armatures.CannotBakeError, match="spine has a modifier on its rotation curve that also acts"):
        of_clip(armature, reading, changed(reading.clip))


def assert_read_as_played(armature):
    """Read from curves alone, and as the scene plays them."""
    reading = read(armature)
    assert reading.through_scene is None
    assert_same(reading.clip, read_through_scene(armature).clip)


@pytest.mark.parametrize("interpolation", ["CONSTANT", "LINEAR", "BEZIER", "BOUNCE"])
def test_curves_are_read_as_blender_plays_them(interpolation):
    armature = rigs.rigify_like()
    rigs.move(armature, (-2, 4.5, 11, 17))
    for curve in curves_of(armature).values():
        for key in curve.keyframe_points:
            key.interpolation = interpolation
        curve.update()
    assert_read_as_played(armature)


def test_muted_curves_do_not_play_but_muted_groups_do():
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 10, 20))
    _rotation_curve(armature, "DEF-shin.L").mute = True
    next(c for (path, _), c in curves_of(armature).items() if '"DEF-shin.R"' in path).group.mute = True
    bpy.context.scene.frame_set(3)
    assert_read_as_played(armature)


def test_what_is_posed_but_not_keyed_counts_and_stays():
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 10, 20))
    armature.pose.bones["DEF-toe.L"].scale = (2, 2, 2)
    armature.pose.bones["DEF-toe.L"].location = (9, 9, 9)  # connected: has none
    bpy.context.scene.frame_set(7, subframe=0.25)
    armature.pose.bones["DEF-shin.L"].rotation_quaternion = (0.6, 0.8, 0, 0)
    bpy.context.view_layer.update()
    before = rigs.state()
    reading = read(armature)
    assert reading.through_scene is None
    assert_shown(reading.clip, armature)
    armature.pose.bones["DEF-shin.L"].rotation_quaternion = (0.6, 0.8, 0, 0)
    bpy.context.scene.frame_set(7, subframe=0.25)
    armature.pose.bones["DEF-shin.L"].rotation_quaternion = (0.6, 0.8, 0, 0)
    bpy.context.view_layer.update()
    assert rigs.state() == before
    for sampler in (read, read_through_scene):
        sampler(armature)
        assert rigs.state() == before
    steps = clips.read(bpy.context, armature, FRAMES)
    next(steps)
    steps.close()  # what Esc does
    assert rigs.state() == before


# --- what else moves bones -------------------------------------------------------------------------------------------


def _constraint(armature):
    copy = armature.pose.bones["DEF-shin.L"].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget, copy.name = armature, "DEF-shin.R", "Copy"
    return "DEF-shin.L has constraint Copy"


def _inverse_kinematics(armature):
    target = rigs.add_object("Target")
    target.location = (0.2, -0.3, 0.4)
    limb = armature.pose.bones["DEF-shin.L.001"].constraints.new("IK")
    limb.target, limb.chain_count = target, 3
    return "DEF-thigh.L.001 is moved by IK of DEF-shin.L.001, which Bake IK can key"


def _driver(armature):
    driver = armature.pose.bones["DEF-shin.L"].driver_add("rotation_quaternion", 1).driver
    driver.type, driver.expression = "SCRIPTED", "frame / 40"
    return "DEF-shin.L has a driver"


def _handler(armature):
    def pose(scene, _):
        armature.pose.bones["DEF-shin.L"].scale = (1 + scene.frame_current / 30,) * 3

    bpy.app.handlers.frame_change_pre.append(pose)
    return "something other than its curves moves rig"


@pytest.mark.parametrize("mover", [_constraint, _inverse_kinematics, _driver, _handler])
def test_the_scene_is_asked_where_curves_do_not_say_it_all(mover):
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 10, 20))
    reason = mover(armature)
    try:
        reading = read(armature)
        assert reading.through_scene == reason
        assert_shown(reading.clip, armature)
        if mover in (_constraint, _inverse_kinematics):
            with pytest.raises(armatures.CannotBakeError, match=f"{reason}: mute or apply it first"):
                of_clip(armature, reading, changed(reading.clip), {reason.split()[0]})
        if mover is _constraint:
            assert write(armature, reading, changed(reading.clip), {"DEF-foot.L"}) == []
    finally:
        bpy.app.handlers.frame_change_pre.clear()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        ("armature.scale = (1, 2, 1)", "rig has a scale that is uneven, negative or zero: apply it"),
        ("armature.scale = (-1, 1, 1)", "rig has a scale that is uneven, negative or zero: apply it"),
        ("armature.scale = (0, 0, 0)", "rig has a scale of zero, so it is invisible"),
        ("armature.pose.bones['DEF-foot.L'].scale = (1, 0, 1)", "DEF-foot.L has a zero or negative scale on some"),
        ("armature.pose.bones['DEF-foot.L'].scale = (1, -1, 1)", "DEF-foot.L has a zero or negative scale on some"),
        (
            "armature.pose.bones['DEF-thigh.L'].scale = (1, 3, 1)",
            "DEF-thigh.L.001 is sheared by the uneven scale of a parent",
        ),
        ("armature.data.pose_position = 'REST'", "rig is in Rest Position"),
        ("_strip(armature)", "rig has NLA tracks that play"),
    ],
)
def test_refusals(spoil, sentence):
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 10, 20))
    exec(spoil)
    bpy.context.view_layer.update()
    before = rigs.state()
    with pytest.raises(armatures.CannotBakeError, match=sentence):
        read(armature)
    assert rigs.state() == before


def _strip(armature):
    animation = armature.animation_data
    animation.nla_tracks.new().strips.new("below", 1, animation.action)


def test_only_some_bones_are_read():
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 10, 20))
    armature.pose.bones["DEF-thigh.R"].scale = (1, 3, 1)  # what shears the other leg is no matter
    reading = read(armature, bones={"DEF-foot.L"})
    assert reading.bones == [
        "DEF-spine", "DEF-thigh.L", "DEF-thigh.L.001", "DEF-shin.L", "DEF-shin.L.001", "DEF-foot.L",
    ]  # fmt: skip
    assert reading.clip.skeleton.names == tuple(reading.bones)
    with pytest.raises(armatures.CannotBakeError, match="rig has no bone nose"):
        read(armature, bones={"nose"})


# --- actions ---------------------------------------------------------------------------------------------------------


def test_the_original_is_kept_with_a_fake_user():
    armature = rigs.rigify_like()
    rigs.move(armature, (1, 10, 20))
    action = armature.animation_data.action
    before = rigs.action_by_value(action)[2]
    reading = read(armature)
    write(armature, reading, changed(reading.clip))
    assert rigs.action_by_value(action)[2] == before
    assert action.use_fake_user
    assert armature.animation_data.action.name == f"{action.name} Foot IK"
    assert armature.animation_data.action_slot.identifier == "OBrig"


def test_overwriting_keeps_the_action_and_a_failure_its_keys(monkeypatch):
    armature = rigs.rigify_like()
    rigs.move(armature, (-3, 1, 10, 27))
    action = armature.animation_data.action
    modifier = _rotation_curve(armature, "DEF-shin.L").modifiers.new("NOISE")
    action.layers[0].strips[0].channelbags[0].fcurves.remove(_rotation_curve(armature, "DEF-shin.R"))
    reading = read(armature, np.arange(-3, 28))
    wanted = changed(reading.clip)
    made, _ = of_clip(armature, reading, wanted)
    before, real = rigs.state(), actions.write_keys

    def broken(bag, channel, frames):
        real(bag, channel, frames)
        if "DEF-toe" in channel.path:
            raise MemoryError("made by the test")

    monkeypatch.setattr(actions, "write_keys", broken)
    with pytest.raises(MemoryError, match="made by the test"):
        stage.run(actions.overwrite([(armature, made)], reading.frames))
    assert rigs.state() == before
    assert not modifier.mute
    monkeypatch.setattr(actions, "write_keys", real)
    stage.run(actions.overwrite([(armature, made)], reading.frames))
    assert armature.animation_data.action == action
    assert len(bpy.data.actions) == 1
    assert modifier.mute
    assert_shown(wanted, armature, reading.frames)


def test_an_armature_without_an_action_gets_one():
    armature = rigs.rigify_like()
    reading = read(armature)
    assert reading.through_scene is None
    wanted = changed(reading.clip)
    assert write(armature, reading, wanted) == []
    assert_shown(wanted, armature)


def test_another_armature_is_not_written():
    reading = read(rigs.rigify_like())
    other = rigs.mixamo_like()
    with pytest.raises(armatures.CannotBakeError, match="has no bone DEF-"):
        of_clip(other, reading, reading.clip)


def test_armatures_that_share_an_action_read_and_write_their_own_slots():
    first, second = rigs.rigify_like(), rigs.rigify_like()
    for seed, armature in enumerate((first, second)):
        rigs.move(armature, (1, 10, 20), seed)
    spare, action = second.animation_data.action, first.animation_data.action
    slot = action.slots.new("OBJECT", second.name)
    bag = actions.ensure_bag(action, slot)
    for (path, index), curve in rigs.curves_of(spare, spare.slots[0]).items():
        copy = bag.fcurves.new(path, index=index)
        for key in curve.keyframe_points:
            copy.keyframe_points.insert(*key.co)
    second.animation_data.action, second.animation_data.action_slot = action, slot
    bpy.data.actions.remove(spare)
    readings = [read(armature) for armature in (first, second)]
    wanted = [changed(reading.clip, seed) for seed, reading in enumerate(readings)]
    work = [
        (armature, of_clip(armature, reading, clip)[0])
        for armature, reading, clip in zip((first, second), readings, wanted, strict=True)
    ]
    with actions.swap_actions(copied(work, FRAMES, "Foot IK")):
        pass
    assert first.animation_data.action == second.animation_data.action != action
    for armature, clip in zip((first, second), wanted, strict=True):
        assert_shown(clip, armature)


# --- cost ------------------------------------------------------------------------------------------------------------


@needs_mocap
def test_cost(capsys):
    """Prints the time of each stage; curves exist to be faster than the scene."""
    bpy.ops.import_anim.bvh(filepath=str(MOCAP / "cmu_12_01_walk.bvh"), update_scene_fps=True, global_scale=0.056444)
    armature, frames = bpy.context.object, np.arange(1, 525)
    reading = read(armature, frames)
    legs = clips.bones_of(armature, ik.Feet.detect(reading.clip.skeleton)) | {"Hips"}
    wanted = changed(reading.clip)
    made, _ = of_clip(armature, reading, wanted, legs)
    stages = {
        "curves": lambda: read(armature, frames),
        "scene": lambda: read_through_scene(armature, frames),
        "channels": lambda: of_clip(armature, reading, wanted, legs),
        "write": lambda: copied([(armature, made)], frames, "Foot IK"),
    }
    took = {name: min(_seconds(work) for _ in range(3)) for name, work in stages.items()}
    with capsys.disabled():
        print("\n12_01, 524 frames, 31 bones:", ", ".join(f"{name} {1000 * s:.0f} ms" for name, s in took.items()))
    assert took["curves"] < took["scene"]


def _seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
