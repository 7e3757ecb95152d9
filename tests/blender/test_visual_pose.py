"""Bake IK, as shown: what Blender's own solver shows is what the keys show, whatever the chain and its constraints."""

import addon_utils
import bpy
import numpy as np
import pytest
import rigs
from mathutils import Vector

FRAMES = range(1, 21)
NEAR, TURNED = 1e-4, np.radians(0.05)


def tail(name="Tail", count=6, *, at=(0, 0, 0), size=0.3, frames=20):
    """A chain of bones along Z, a little bent, whose last one has IK to an empty on a path within reach."""
    armature = rigs.add_object(name, bpy.data.armatures.new(name))
    bones, above = rigs.edit_bones(armature), None
    for n in range(count):
        bone = bones.new(f"b{n}")
        bone.head, bone.tail = (Vector(at) + Vector((0.02 * (k % 2), -0.05 * k, size * k)) for k in (n, n + 1))
        bone.parent, bone.use_connect, above = above, above is not None, bone
    bpy.ops.object.mode_set(mode="POSE")
    target = rigs.add_object(f"{name} target")
    reach = count * size
    places = ((0.3, 0.4, 0.5), (-0.3, 0.5, 0.4), (0.2, -0.5, 0.6))
    for frame, place in zip((1, frames // 2, frames), places, strict=True):
        target.location = Vector(at) + reach * Vector(place)
        target.rotation_euler = reach * Vector(place)
        target.keyframe_insert("location", frame=frame)
        target.keyframe_insert("rotation_euler", frame=frame)
    ik = armature.pose.bones[f"b{count - 1}"].constraints.new("IK")
    ik.target, ik.chain_count, ik.iterations = target, count, 100
    rigs.select(armature, f"b{count - 1}")
    return armature


def ik_of(armature):
    return next(each for bone in armature.pose.bones for each in bone.constraints if each.type == "IK")


def bake(**options):
    return bpy.ops.ikcore.bake_ik(frame_range="CUSTOM", frame_start=1, frame_end=20, **options)


def check(*armatures, near=NEAR, turned=TURNED, moves=0.05, **options):
    """Bake, and compare every bone, tails and rotations, on every frame."""
    before = [rigs.sampled(armature, FRAMES) for armature in armatures]
    assert bake(**options) == {"FINISHED"}
    for armature, was in zip(armatures, before, strict=True):
        now = rigs.sampled(armature, FRAMES)
        scale = armature.matrix_world.median_scale
        ends = [rigs.tail(armature, was, bone.name) for bone in armature.pose.bones]
        assert np.ptp(ends, axis=1).max() * scale > moves, "the test does not move"
        assert np.abs(was - now)[:, :, :3, 3].max() * scale < near
        for bone in armature.pose.bones:
            ends = rigs.tail(armature, was, bone.name) - rigs.tail(armature, now, bone.name)
            assert np.abs(ends).max() * scale < near
        assert rigs.turn_between(was, now).max() < turned


# --- what constraints can be -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("mode", rigs.MODES)
def test_chains_of_any_length(count, mode):
    armature = tail()
    ik_of(armature).chain_count = count
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    check(armature)
    assert ik_of(armature).mute


def test_a_whole_chain():
    armature = tail()
    ik_of(armature).chain_count = 0
    check(armature)


@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("rotation", [False, True])
@pytest.mark.parametrize("influence", [1.0, 0.4])
def test_poles_rotations_influences(pole, rotation, influence):
    armature = tail(count=3)
    ik = ik_of(armature)
    ik.use_rotation, ik.influence = rotation, influence
    if pole:
        ik.pole_target = rigs.add_object("Pole")
        ik.pole_target.location = (2, -2, 0.5)
    check(armature)


def test_an_influence_that_changes():
    armature = tail()
    ik = ik_of(armature)
    for frame, influence in ((1, 0.0), (8, 1.0), (20, 0.2)):
        ik.influence = influence
        ik.keyframe_insert("influence", frame=frame)
    rigs.key_pose(armature, np.random.default_rng(2), (1, 20), bones=("b0", "b3"))
    rigs.select(armature, "b5")
    check(armature)


def test_without_the_tail():
    armature = tail()
    armature.pose.bones["b5"].constraints[0].use_tail = False
    check(armature)
    assert not [path for path in curve_paths(armature) if '"b5"' in path]


def test_limits_stiffness_and_locks():
    armature = tail()
    bones = armature.pose.bones
    bones["b1"].use_ik_limit_x, bones["b1"].ik_min_x, bones["b1"].ik_max_x = True, -0.2, 0.3
    bones["b2"].lock_ik_y = bones["b2"].lock_ik_z = True
    bones["b3"].ik_stiffness_x = 0.7
    for axis in "xyz":
        setattr(bones["b4"], f"lock_ik_{axis}", True)
    check(armature)
    assert not [path for path in curve_paths(armature) if '"b4"' in path], "it never turns"


def test_stretch_is_keyed_and_said(capfd):
    armature = tail()
    for frame, height in ((1, 1.0), (20, 3.0)):
        ik_of(armature).target.location = (0.1, 0, height)
        ik_of(armature).target.keyframe_insert("location", frame=frame)
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.5
    check(armature)
    text = capfd.readouterr().out
    assert "scale is keyed for stretched bones: b0, " in text
    assert any(path.endswith("scale") for path in curve_paths(armature))


def test_what_ik_leaves_thicker_by_rounding_is_not_stretched(capfd):
    """Blender's solver does that to limbs; keys of scale would then stand in the way of what bones hang on."""
    armature = rigs.person()
    rigs.key_pose(armature, np.random.default_rng(1), (1, 10, 20), bones=armature.pose.bones.keys(), size=0.1)
    rigs.select(armature, "shin.L")
    assert bpy.ops.ikcore.fk_to_ik(frame_range="CUSTOM", frame_start=1, frame_end=20) == {"FINISHED"}
    check(armature, limbs="ALL", moves=0.02)
    assert "stretched" not in capfd.readouterr().out
    animation = armature.animation_data
    assert not [path for path, _ in rigs.curves_of(animation.action, animation.action_slot) if "scale" in path]


def test_other_constraints_of_its_bones(capfd):
    """They are in the keys, so they must not act on them once more."""
    armature = tail()
    limit = armature.pose.bones["b2"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.min_x, limit.max_x, limit.owner_space = True, 0.0, 0.01, "LOCAL"
    parent = armature.pose.bones["b0"].constraints.new("CHILD_OF")
    parent.target = rigs.add_object("Cart")
    for frame, place in ((1, (0, 0, 0)), (20, (0.5, 0.2, 0))):
        parent.target.location = place
        parent.target.keyframe_insert("location", frame=frame)
    check(armature)
    assert limit.mute
    assert parent.mute
    assert f"also baked and muted: {parent.name} of b0, {limit.name} of b2" in capfd.readouterr().out
    assert any('"b0"].location' in path for path in curve_paths(armature))


def test_a_target_that_follows_the_chain_of_another():
    armature, other = tail(), tail("Other", at=(1, 0, 0))
    target = ik_of(other).target
    target.animation_data_clear()
    target.location = (0, 0.3, 0)
    target.parent, target.parent_type, target.parent_bone = armature, "BONE", "b5"
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.select_set(True)
    other.select_set(True)
    check(armature, other)


# --- several ---------------------------------------------------------------------------------------------------------


def forked(length=5):
    """A trunk with two branches, each with IK that moves the trunk too."""
    armature = tail(count=5)
    bones = rigs.edit_bones(armature)
    for n in range(3):
        bone = bones.new(f"c{n}")
        bone.head, bone.tail = Vector((0.3 * n, -0.1, 0.6)), Vector((0.3 * n + 0.3, -0.12, 0.65))
        bone.parent = bones["b1" if n == 0 else f"c{n - 1}"]
    bpy.ops.object.mode_set(mode="POSE")
    other = armature.pose.bones["c2"].constraints.new("IK")
    other.target, other.chain_count = rigs.add_object("Side"), length
    for frame, place in ((1, (0.9, 0.1, 0.3)), (20, (0.8, -0.4, 0.7))):
        other.target.location = place
        other.target.keyframe_insert("location", frame=frame)
    rigs.select(armature, "b4")
    return armature


def test_chains_that_branch_are_baked_together():
    """One of them cannot be baked without the other, whose bones it moves."""
    armature = forked()
    check(armature)
    assert armature.pose.bones["c2"].constraints[0].mute
    assert {path.split('"')[1] for path in curve_paths(armature)} == {*(f"b{n}" for n in range(5)), "c0", "c1", "c2"}


def test_what_no_key_can_hold_is_said(capfd):
    """Chains that share bones and start elsewhere Blender solves one after the other: a connected bone comes off."""
    armature = forked(length=4)
    before = rigs.sampled(armature, FRAMES)
    assert bake() == {"FINISHED"}
    now = rigs.sampled(armature, FRAMES)
    assert rigs.turn_between(before, now).max() < TURNED
    assert np.abs(before - now)[:, 2:5, :3, 3].max() > 0.1
    text = capfd.readouterr().out
    assert "Warning: Baked 2 IK, 8 bones, 20 frames as displayed; b2: " in text
    assert text.count("keys cannot store it") == 1


def test_many_chains_on_one_armature():
    armature = tail(count=4)
    for n in range(3):
        rigs.add_limb(armature, f".{n}", at=(n + 1, 0, 0))
        rigs.add_ik(armature, f".{n}", target=ik_of(armature).target, iterations=50)
    rigs.select(armature)
    check(armature, limbs="ALL")
    assert all(each.mute for bone in armature.pose.bones for each in bone.constraints)


def test_two_constraints_on_one_bone():
    """Blender takes one of them: keys have what it shows."""
    armature = tail()
    other = armature.pose.bones["b5"].constraints.new("IK")
    other.target, other.chain_count = rigs.add_object("Other"), 3
    check(armature)


@pytest.mark.parametrize("mode", ["POSE", "OBJECT"])
def test_ik_without_a_target_is_in_nobodys_way(mode):
    """Rigs have it to be dragged by, and it does nothing."""
    armature = tail()
    armature.pose.bones["b3"].constraints.new("IK").chain_count = 2
    bpy.ops.object.mode_set(mode=mode)
    check(armature)


def test_a_spline_ik_that_shares_bones():
    armature = tail(count=6)
    ik_of(armature).chain_count = 3
    curve = bpy.data.curves.new("Path", "CURVE")
    curve.dimensions = "3D"
    points = curve.splines.new("BEZIER").bezier_points
    points.add(1)
    for point, place in zip(points, ((0, 0, 0), (0.5, -0.5, 1.2)), strict=True):
        point.co, point.handle_left, point.handle_right = place, Vector(place) - Vector((0, 0, 0.3)), place
    spline = armature.pose.bones["b3"].constraints.new("SPLINE_IK")
    spline.target, spline.chain_count = rigs.add_object("Path", curve), 4
    rigs.select(armature, "b5")
    spline.y_scale_mode = "NONE"
    rigs.sampled(armature, FRAMES)  # the first time that Blender goes through the frames it turns b3 otherwise
    check(armature)
    assert spline.mute


# --- armatures and bones ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_armature_in_other_units(scale):
    """The bounds are for a character of metres."""
    armature = tail()
    parent = rigs.add_object("Units")
    parent.scale = (scale,) * 3
    armature.parent = ik_of(armature).target.parent = parent
    bpy.context.view_layer.update()
    check(armature, near=NEAR * max(1.0, scale), moves=0.05 * scale)


@pytest.mark.parametrize("inherit", ["FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"])
@pytest.mark.parametrize("turned", [True, False])
def test_kinds_of_inheritance(inherit, turned):
    armature = tail(count=4)
    for name in ("b1", "b2", "b3"):
        armature.data.bones[name].inherit_scale = inherit
        armature.data.bones[name].use_inherit_rotation = turned
    armature.pose.bones["b0"].scale = (1.2, 1.2, 1.2)
    armature.pose.bones["b1"].scale = (0.9, 0.9, 0.9)
    rigs.key_pose(armature, np.random.default_rng(5), (1, 20), bones=("b0", "b2"))
    rigs.select(armature, "b3")
    check(armature)


def test_a_mirrored_bone_that_ik_shows_unmirrored():
    """If locks and limits leave a bone a single rotation axis, Blender does not display its mirror image."""
    armature = tail(count=1)
    bone = armature.pose.bones["b0"]
    bone.lock_ik_z = bone.use_ik_limit_x = True
    bone.ik_min_x, bone.scale.x = -0.5, -1
    assert (np.linalg.det(rigs.sampled(armature, FRAMES)[:, 0, :3, :3]) > 0).all()
    check(armature)


def test_shear_is_said(capfd):
    armature = tail(count=4)
    armature.pose.bones["b0"].scale = (1, 1.5, 1)
    assert bake() == {"FINISHED"}
    text = capfd.readouterr().out
    assert "Warning: Baked 1 IK" in text
    assert "° off at frame " in text
    assert "keys cannot store it" in text


def test_a_bone_without_length_and_out_of_reach():
    armature = tail()
    rigs.edit_bones(armature)["b3"].tail = rigs.edit_bones(armature)["b3"].head + Vector((0, 0, 1e-5))
    bpy.ops.object.mode_set(mode="POSE")
    ik_of(armature).target.animation_data_clear()
    for frame, height in ((1, 1.0), (20, 9.0)):
        ik_of(armature).target.location = (0, 0.2, height)
        ik_of(armature).target.keyframe_insert("location", frame=frame)
    rigs.select(armature, "b5")
    check(armature)


def test_on_the_action_that_plays():
    """Other keys stay, those outside of the frames too; the original is kept; one undo brings all back."""
    armature = tail()
    rigs.key_pose(armature, np.random.default_rng(4), (-5, 1, 20, 30), bones=("b0", "b1"))
    original, name = armature.animation_data.action, armature.animation_data.action.name
    rigs.select(armature, "b5")
    bpy.context.scene.frame_set(3)
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    options = {"frame_range": "CUSTOM", "frame_start": 1, "frame_end": 20}
    assert bpy.ops.ikcore.bake_ik("EXEC_DEFAULT", True, **options) == {"FINISHED"}
    assert armature.animation_data.action.name == f"{name} Baked IK"
    assert original.use_fake_user
    bag = armature.animation_data.action.layers[0].strips[0].channelbags[0]
    keys = [key.co.x for key in bag.fcurves.find('pose.bones["b0"].rotation_quaternion', index=0).keyframe_points]
    assert keys == [-5, *range(1, 21), 30]
    bpy.ops.ed.undo()
    assert rigs.state() == before


def test_quaternions_and_angles_do_not_jump():
    for mode in ("QUATERNION", "XYZ"):
        armature = tail(mode)
        for bone in armature.pose.bones:
            bone.rotation_mode = mode
        bake()
        curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
        assert max(np.abs(np.diff([key.co.y for key in curve.keyframe_points])).max() for curve in curves) < 1.0


def test_nothing_moved_is_said(capfd):
    armature = tail()
    ik_of(armature).influence = 0.0
    assert bake() == {"FINISHED"}
    assert "nothing is moved by IK of b5" in capfd.readouterr().out
    assert armature.animation_data is None or armature.animation_data.action is None
    assert ik_of(armature).mute


def test_a_switch_with_a_driver_is_muted_too():
    """Rigify switches its IK with drivers on `mute`."""
    armature = tail()
    armature["fk"] = 0.0
    driver = ik_of(armature).driver_add("mute").driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = armature, '["fk"]'
    rigs.select(armature, "b5")
    check(armature)
    assert ik_of(armature).mute


def test_the_other_solver():
    armature = tail()
    armature.pose.ik_solver = "ITASC"
    check(armature, near=np.inf, turned=np.inf)
    assert ik_of(armature).mute


# --- refusals --------------------------------------------------------------------------------------------------------


def keyed_switch(armature):
    ik_of(armature).keyframe_insert("mute", frame=1)


def driven_bone(armature):
    armature.pose.bones["b2"].driver_add("rotation_quaternion", 1)


def locked_scale(armature):
    armature.pose.bones["b2"].keyframe_insert("scale", frame=1)
    for curve in armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        curve.lock = True
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.5


def mirrored(armature):
    armature.pose.bones["b2"].scale = (-1, 1, 1)


REFUSALS = {
    "no target": (lambda armature: setattr(ik_of(armature), "target", None), "IK of b5 has no target"),
    "keyed switch": (keyed_switch, "IK of b5 is turned on and off by keys: a bake cannot mute it permanently"),
    "driver": (driven_bone, "b2 has a driver on its rotation"),
    "locked scale": (locked_scale, "b2 has a locked scale curve"),
    "mirrored": (mirrored, "b2 has a zero or negative scale"),
    "nothing selected": (lambda armature: rigs.select(armature), "No IK selected"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(case):
    spoil, sentence = REFUSALS[case]
    armature = tail()
    spoil(armature)
    if case != "nothing selected":
        rigs.select(armature, "b5")
    bpy.context.scene.frame_set(7, subframe=0.5)
    before = rigs.state()
    with pytest.raises(RuntimeError) as error:
        bake()
    assert sentence in str(error.value)
    assert "Traceback" not in str(error.value)
    assert rigs.state() == before


def curve_paths(armature):
    animation = armature.animation_data
    return {path for path, _ in rigs.curves_of(animation.action, animation.action_slot)}


@pytest.mark.parametrize("kind", ["human", "basic_quadruped"])
def test_rigify(kind):
    """Deforming bones follow, with and without poles, whose switches are drivers."""
    addon_utils.enable("rigify", default_set=True)  # its settings are in the preferences
    if not hasattr(bpy.types, "POSE_OT_rigify_generate"):
        pytest.skip("this Blender comes without Rigify")
    getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
    bpy.ops.pose.rigify_generate()
    rig, rng = bpy.context.object, np.random.default_rng(1)
    for name in ("foot_ik.L", "foot_ik.R", "hand_ik.L", "front_foot_ik.R", "torso"):
        for frame in (1, 10, 20) if name in rig.pose.bones else ():
            rig.pose.bones[name].location = rng.normal(0, 0.1, 3)
            rig.pose.bones[name].keyframe_insert("location", frame=frame)
    rig.pose.bones["thigh_parent.L"]["pole_vector"] = True
    bpy.ops.object.mode_set(mode="OBJECT")
    rigs.sampled(rig, FRAMES)
    check(rig, near=1e-5)
    assert {path.split('"')[1] for path in curve_paths(rig)} >= {"thigh_ik.L", "thigh_ik.R"} or kind != "human"


@pytest.mark.parametrize("seed", range(30))
def test_random_rig(seed):
    """Any rig: names, modes, inheritance, places of the armature, options of IK and of its bones."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 8))
    armature = tail(count=count, at=rng.normal(0, 1, 3))
    ik, bones = ik_of(armature), armature.pose.bones
    for n, bone in enumerate(bones):
        bone.name = f'{rng.choice(["böne", "a.b", "x y", "[0]"])} "{n}"'
        bone.rotation_mode = rng.choice(rigs.MODES)
        bone.scale = (rng.uniform(0.8, 1.2),) * 3
        bone.ik_stretch = rng.choice([0.0, 0.0, 0.3])
        bone.ik_stiffness_x = rng.choice([0.0, 0.0, 0.5])
        bone.lock_ik_y = bool(rng.random() < 0.3)
        bone.use_ik_limit_z, bone.ik_min_z, bone.ik_max_z = bool(rng.random() < 0.3), -0.4, 0.5
        bone.bone.inherit_scale = rng.choice(["FULL", "AVERAGE", "NONE", "ALIGNED"])
        bone.bone.use_inherit_rotation = bool(rng.random() < 0.8)
    ik.chain_count, ik.use_rotation = int(rng.integers(0, count + 1)), bool(rng.random() < 0.4)
    ik.use_tail, ik.influence = bool(rng.random() < 0.8), rng.choice([1.0, rng.random()])
    if rng.random() < 0.4:
        ik.pole_target = rigs.add_object("Pole")
        ik.pole_target.location = rng.normal(0, 3, 3)
    armature.location, armature.rotation_euler = rng.normal(0, 2, 3), rng.normal(0, 2, 3)
    armature.scale = (rng.uniform(0.5, 2.0),) * 3
    rigs.key_pose(armature, rng, (1, 12, 20), bones=[bone.name for bone in bones], size=0.2)
    rigs.select(armature, *(bone.name for bone in bones if bone.constraints))
    rigs.sampled(armature, FRAMES)
    check(armature)


def test_one_frame_and_frames_without_keys():
    armature = tail()
    for first, last in ((7, 7), (-3, 2)):
        ik_of(armature).mute = False
        options = {"frame_range": "CUSTOM", "frame_start": first, "frame_end": last}
        assert bpy.ops.ikcore.bake_ik(**options) == {"FINISHED"}
        curves = armature.animation_data.action.layers[0].strips[0].channelbags[0].fcurves
        assert {key.co.x for key in curves[0].keyframe_points} >= set(range(first, last + 1))
