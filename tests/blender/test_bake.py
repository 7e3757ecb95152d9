"""The baked pose against Blender's own evaluation of the constraint, at 500 iterations."""

import bpy
import numpy as np
import pytest
import rigs
from mathutils import Vector

FRAMES = range(1, 21)
LIMB = 2.1  # at least the length of a limb of rigs.leg
NEAR = 5e-4 * 2.0  # Blender's own solver stops about 1e-4 of the limb away from the closed form
TURNED = 1.5e-3  # radians, the same bound seen as a rotation of the shorter bone


def bake(**options):
    return bpy.ops.ikcore.bake_ik(solver="TWO_BONE", frame_range="CUSTOM", frame_start=1, frame_end=20, **options)


def check(armature, bones=("upper", "lower", "tip"), near=NEAR, turned=TURNED):
    """Bake, and compare every bone of the armature before and after."""
    before = rigs.sampled(armature, FRAMES)
    assert bake() == {"FINISHED"}
    after = rigs.sampled(armature, FRAMES)
    assert np.ptp(before[:, armature.pose.bones.find(bones[-1]), :3, 3], axis=0).max() > 0.1, "the test does not move"
    assert np.abs(before - after)[:, :, :3, 3].max() < near
    assert rigs.turn_between(before, after).max() < turned


@pytest.mark.parametrize("mode", rigs.MODES)
def test_every_rotation_mode(mode):
    leg = rigs.leg()
    for name in ("upper", "lower"):
        leg.pose.bones[name].rotation_mode = mode
    rigs.key_pose(leg, np.random.default_rng(1), (1, 10, 20))
    rigs.select(leg, "lower")
    check(leg)


@pytest.mark.parametrize("angle", np.linspace(-np.pi, np.pi, 9)[1:])
def test_pole_angle(angle):
    leg = rigs.leg(rolls=(0.7, -1.1))
    leg.pose.bones["lower"].constraints[0].pole_angle = angle
    check(leg)


def test_knee_lies_towards_the_pole_at_a_calibrated_angle():
    """Independent of Blender's answer: root, target, pole and knee in one half plane."""
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].pole_angle = (
        -np.pi / 2
    )  # X of the upper bone points along X, the bend along -Y
    bpy.data.objects["Leg pole"].location = (-2, -2, 1)
    bake()
    poses = rigs.sampled(leg, FRAMES)
    root, knee = poses[:, 1, :3, 3], poses[:, 2, :3, 3]
    line = rigs.tail(leg, poses, "lower") - root
    line /= np.linalg.norm(line, axis=1, keepdims=True)
    off = [v - np.sum(v * line, axis=1, keepdims=True) * line for v in (knee - root, np.array((-2, -2, 1.0)) - root)]
    cosine = np.sum(off[0] * off[1], axis=1) / np.prod([np.linalg.norm(v, axis=1) for v in off], axis=0)
    assert cosine.min() > 1 - 1e-6


def test_animated_pole_angle():
    leg = rigs.leg()
    ik = leg.pose.bones["lower"].constraints[0]
    for frame, angle in ((1, -1.0), (20, 1.0)):
        ik.pole_angle = angle
        ik.keyframe_insert("pole_angle", frame=frame)
    check(leg)


def test_moved_turned_and_unevenly_scaled_object():
    leg = rigs.leg()
    leg.location, leg.rotation_euler, leg.scale = (3, -1, 0.5), (0.4, 1.0, -2.0), (1.5, 0.8, 1.1)
    bpy.context.view_layer.update()
    for item in (bpy.data.objects["Leg target"], bpy.data.objects["Leg pole"]):
        item.parent = leg
    check(leg)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_armature_in_other_units(scale):
    leg = rigs.leg()
    parent = rigs.add_object("Centimetres")
    parent.scale = (scale,) * 3
    for item in (leg, bpy.data.objects["Leg target"], bpy.data.objects["Leg pole"]):
        item.parent = parent
    check(leg)


def test_animated_object():
    leg = rigs.leg()
    for frame, turn in ((1, 0.0), (20, 0.3)):
        leg.rotation_euler.z, leg.location.x = turn, turn / 3
        leg.keyframe_insert("rotation_euler", frame=frame)
        leg.keyframe_insert("location", frame=frame)
    check(leg)


@pytest.mark.parametrize("flag", ["use_inherit_rotation", "use_local_location"])
@pytest.mark.parametrize("name", ["upper", "lower"])
def test_inherit_flags(flag, name):
    leg = rigs.leg(connect=False, gap=(0.05, 0.1, 0.02))
    setattr(leg.data.bones[name], flag, False)
    leg.pose.bones["upper"].location = (0.05, -0.1, 0.02)
    rigs.key_pose(leg, np.random.default_rng(2), (1, 10, 20), size=0.3)
    check(leg, near=2 * NEAR)


@pytest.mark.parametrize("inherit", ["FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"])
def test_scaled_bones(inherit):
    leg = rigs.leg()
    leg.data.bones["lower"].inherit_scale = inherit
    leg.pose.bones["hips"].scale = (1.2, 1.2, 1.2)
    leg.pose.bones["upper"].scale = (0.9, 0.9, 0.9)
    leg.pose.bones["lower"].scale = (0.8, 1.1, 1.3)  # only a scale that a bone hands on must be even
    leg.data.bones["tip"].inherit_scale = "NONE"
    check(leg)


def test_pole_in_line_keeps_the_bend_and_is_said(capfd):
    leg = rigs.leg()
    target = bpy.data.objects["Leg target"]
    target.animation_data_clear()
    target.location, bpy.data.objects["Leg pole"].location = (0, 0, 0.5), (0, 0, -1)
    bake()
    assert "20 reached, 20 with the pole in line (frames 1-20)" in capfd.readouterr().out
    poses = rigs.sampled(leg, FRAMES)
    assert np.abs(rigs.tail(leg, poses, "lower") - (0, 0, 0.5)).max() < 1e-5
    assert (poses[:, 2, 1, 3] < 0).all(), "the knee was in front"


def test_constraints_above_the_limb_are_in_the_pose():
    leg = rigs.leg()
    leader = rigs.add_object("Leader")
    for frame, turn in ((1, -0.3), (20, 0.5)):
        leader.rotation_euler = (turn, 0.1, turn / 2)
        leader.keyframe_insert("rotation_euler", frame=frame)
    copy = leg.pose.bones["hips"].constraints.new("COPY_ROTATION")
    copy.target, copy.owner_space, copy.target_space = leader, "LOCAL", "LOCAL"
    check(leg)


def test_target_and_pole_are_bones():
    leg = rigs.leg()
    rigs.add_control(leg, "foot", (0.1, -0.4, 0.4))
    rigs.add_control(leg, "knee", (0, -3, 1))
    ik = leg.pose.bones["lower"].constraints[0]
    ik.target, ik.subtarget, ik.pole_target, ik.pole_subtarget = leg, "foot", leg, "knee"
    rigs.key_pose(leg, np.random.default_rng(3), (1, 20), bones=("hips",), size=0.3)
    for frame, place in ((1, (0, 0, 0)), (20, (0.3, 0.2, -0.2))):
        leg.pose.bones["foot"].location = place
        leg.pose.bones["foot"].keyframe_insert("location", frame=frame)
    rigs.select(leg, "foot")  # the animator's handle stands for the limb
    check(leg)


def test_target_is_a_bone_of_another_armature():
    other = rigs.leg("Other", at=(4, 0, 0))
    leg = rigs.leg()
    ik = leg.pose.bones["lower"].constraints[0]
    ik.target, ik.subtarget = other, "tip"
    other.location, other.scale = (-4.1, -0.3, 0.4), (1, 1, 1)
    rigs.select(leg, "lower")
    check(leg)


def test_a_limb_whose_target_hangs_on_another_baked_limb():
    """Both are baked together: the second target must be read with the first limb's IK in force."""
    leg = rigs.leg()
    rigs.add_limb(leg, ".b", at=(0.3, 0, 0))
    follower = rigs.add_object("Follower")
    follower.parent, follower.parent_type, follower.parent_bone = leg, "BONE", "lower"
    follower.location = (0.1, -0.2, 0.1)
    rigs.add_ik(leg, ".b", target=follower, pole=bpy.data.objects["Leg pole"])
    rigs.select(leg, "lower", "lower.b")
    check(leg, bones=("upper.b", "lower.b", "tip.b"))


def test_ik_on_the_child_without_its_tail():
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints.remove(leg.pose.bones["lower"].constraints[0])
    ik = leg.pose.bones["tip"].constraints.new("IK")
    ik.target, ik.pole_target = bpy.data.objects["Leg target"], bpy.data.objects["Leg pole"]
    ik.use_tail, ik.chain_count, ik.iterations, ik.pole_angle = False, 2, 500, -np.pi / 2
    rigs.select(leg, "tip")
    check(leg)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.3, 0.3)])
def test_influence_with_a_pole_blends_the_result(ends):
    leg = rigs.leg()
    ik = leg.pose.bones["lower"].constraints[0]
    rigs.key_pose(leg, np.random.default_rng(5), (1, 10, 20), size=0.3)
    for frame, influence in zip((1, 20), ends, strict=True):
        ik.influence = influence
        ik.keyframe_insert("influence", frame=frame)
    check(leg)


@pytest.mark.parametrize("influence", [0.0, 0.4, 1.0])
def test_without_a_pole_the_end_is_where_blender_has_it(influence):
    leg = rigs.leg(pole=False)
    leg.pose.bones["lower"].constraints[0].influence = influence
    rigs.key_pose(leg, np.random.default_rng(6), (1, 10, 20), size=0.3)
    before = rigs.tail(leg, rigs.sampled(leg, FRAMES), "lower")
    bake()
    assert np.abs(before - rigs.tail(leg, rigs.sampled(leg, FRAMES), "lower")).max() < 2 * NEAR


@pytest.mark.parametrize("aside", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("influence", [1.0, 0.6])
def test_without_a_pole_the_knee_is_where_blender_has_it(aside, influence):
    """It bends sideways a little where the target is aside, and turns bones about themselves."""
    leg = rigs.leg(pole=False)
    leg.pose.bones["lower"].constraints[0].influence = influence
    target = bpy.data.objects["Leg target"]
    target.animation_data_clear()
    for frame, height in ((1, 0.2), (20, 0.9)):
        target.location = (aside, -0.2, height)
        target.keyframe_insert("location", frame=frame)
    check_without_a_pole(leg)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("influence", [0.5, 1.0])
def test_random_rig_without_a_pole(seed, influence):
    rng = np.random.default_rng(100 + seed)
    leg = _random_leg(rng)
    ik = leg.pose.bones["lower"].constraints[0]
    limb = _place_targets(leg, rng, FRAMES)
    ik.pole_target, ik.influence = None, influence
    rigs.select(leg, "lower")
    check_without_a_pole(leg, limb)


def check_without_a_pole(leg, limb=LIMB):
    """If Blender nearly reaches the target, the knee and the rotations are those that it displays."""
    before = rigs.sampled(leg, FRAMES)
    assert bake() == {"FINISHED"}
    after = rigs.sampled(leg, FRAMES)
    ends = rigs.tail(leg, before, "lower")
    short, bent = np.linalg.norm(ends - rigs.tail(leg, after, "lower"), axis=1), _bent(leg, before, ends)
    reached = short < 1e-4 * limb
    assert np.count_nonzero(reached) >= 15, "the test says little"
    moved = np.linalg.norm((before - after)[:, leg.pose.bones.find("lower"), :3, 3], axis=1)
    # the straighter a limb, the farther its knee goes for a little of its end
    assert (moved <= 2 * short / bent + 1e-6 * limb)[reached].all()
    assert rigs.turn_between(before, after)[reached & (bent > 0.05)].max() < TURNED


def _bent(leg, poses, ends):
    """The sine of the angle between both bones."""
    root, knee = (poses[:, leg.pose.bones.find(name), :3, 3] for name in ("upper", "lower"))
    arm, forearm = knee - root, ends - knee
    lengths = np.linalg.norm(arm, axis=1) * np.linalg.norm(forearm, axis=1)
    return np.linalg.norm(np.cross(arm, forearm), axis=1) / lengths


def test_out_of_reach_is_straight_and_said(capfd):
    leg = rigs.leg()
    target = bpy.data.objects["Leg target"]
    target.animation_data_clear()
    for frame, height in ((1, 0.5), (10, 0.5), (11, -2.0), (20, -2.0)):
        target.location = (0, 0, height)
        target.keyframe_insert("location", frame=frame)
    before = rigs.sampled(leg, FRAMES)
    bake()
    assert "Baked 1 limb, 20 frames: 10 reached, 10 out of reach (frames 11-20)" in capfd.readouterr().out
    after = rigs.sampled(leg, FRAMES)
    assert np.abs(rigs.tail(leg, before, "lower") - rigs.tail(leg, after, "lower")).max() < NEAR
    assert np.abs(before - after)[:, :, :3, 3].max() < 3e-3 * LIMB  # Blender leaves the knee slightly bent


def test_straight_limb_bends_towards_the_pole_without_twisting():
    """Blender cannot bend a straight limb at all; the bake does, the way a calibrated pole angle says, and steadily."""
    leg = rigs.leg(bend=0.0)
    leg.pose.bones["lower"].constraints[0].pole_angle = (
        np.pi / 2 if leg.data.bones["upper"].x_axis.x < 0 else -np.pi / 2
    )
    bake()
    poses = rigs.sampled(leg, FRAMES)
    ends = rigs.tail(leg, poses, "lower")
    targets = np.array([_at(frame, bpy.data.objects["Leg target"]) for frame in FRAMES])
    assert np.abs(ends - targets).max() < 1e-5
    assert (poses[:, 2, 1, 3] < 0).all(), "the knee points away from the pole"
    steps = rigs.turn_between(poses[1:], poses[:-1])
    assert steps.max() < 0.3, "a bone jumps from one frame to the next"


def test_limb_posed_straight_bends_the_way_its_rest_pose_does():
    leg = rigs.leg(bend=0.3, pole=False)
    bone = leg.pose.bones["lower"]
    upper, lower = (rest.tail_local - rest.head_local for rest in (leg.data.bones["upper"], leg.data.bones["lower"]))
    straight = upper.rotation_difference(lower)
    to_bone = leg.data.bones["lower"].matrix_local.to_quaternion()
    bone.rotation_quaternion = to_bone.inverted() @ straight.inverted() @ to_bone
    bpy.context.view_layer.update()
    bake()
    poses = rigs.sampled(leg, FRAMES)
    line = rigs.tail(leg, poses, "lower") - poses[:, 1, :3, 3]
    off = poses[:, 2, :3, 3] - poses[:, 1, :3, 3]
    off -= line * (np.sum(off * line, axis=1) / np.sum(line * line, axis=1))[:, None]
    assert np.linalg.norm(off, axis=1).min() > 0.1
    assert (off[:, 1] < 0).all(), "the rest pose has its knee in front"


@pytest.mark.parametrize("local", [True, False])
def test_limb_without_a_parent(local):
    leg = rigs.leg(connect=False)
    rigs.edit_bones(leg)["upper"].parent = None
    bpy.ops.object.mode_set(mode="POSE")
    leg.data.bones["upper"].use_local_location = local
    leg.pose.bones["upper"].location = (0.1, 0.2, -0.15)
    rigs.key_pose(leg, np.random.default_rng(8), (1, 10, 20), size=0.2)
    rigs.select(leg, "lower")
    check(leg)


def _at(frame, item):
    bpy.context.scene.frame_set(frame)
    return item.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.copy()


def test_all_limbs_in_one_solver_call(addon, monkeypatch):
    leg = rigs.leg()
    rigs.add_limb(leg, ".b", at=(0.5, 0, 0))
    rigs.add_ik(leg, ".b", target=bpy.data.objects["Leg target"])  # one with, one without a pole
    other = rigs.leg("Other", at=(3, 0, 0))
    for armature in (leg, other):
        armature.select_set(True)
    bpy.ops.object.mode_set(mode="OBJECT")
    leg.select_set(True), other.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    for armature, names in ((leg, ("lower", "lower.b")), (other, ("lower",))):
        for bone in armature.pose.bones:
            holder = bone if hasattr(bone, "select") else bone.bone
            holder.select = bone.name in names
    shapes = []
    real = addon.bridge.two_bone
    monkeypatch.setattr(addon.bridge, "two_bone", lambda *a, **k: shapes.append(a[0].shape) or real(*a, **k))
    assert bake() == {"FINISHED"}
    assert shapes == [(20, 3, 3)]
    assert all(limb.constraints[0].mute for limb in (leg.pose.bones["lower.b"], other.pose.bones["lower"]))


@pytest.mark.parametrize("seed", range(40))
def test_random_rig(seed):
    rng = np.random.default_rng(seed)
    leg = _random_leg(rng)
    frames = range(1, 9)
    limb = _place_targets(leg, rng, frames)
    rigs.select(leg, "lower")
    before = rigs.sampled(leg, frames)
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE", frame_range="CUSTOM", frame_start=1, frame_end=8) == {"FINISHED"}
    after = rigs.sampled(leg, frames)
    assert np.abs(before - after)[:, :, :3, 3].max() < 5e-4 * limb
    assert np.abs(rigs.tail(leg, before, "lower") - rigs.tail(leg, after, "lower")).max() < 5e-4 * limb
    assert rigs.turn_between(before, after).max() < TURNED


def _random_leg(rng):
    leg = rigs.add_object("Leg", bpy.data.armatures.new("Leg"))
    gap = (0, 0, 0) if rng.random() < 0.5 else rng.normal(0, 0.1, 3)
    bend = rng.uniform(0.05, 0.5) * rng.choice([-1, 1])
    rigs.add_limb(leg, at=rng.normal(0, 1, 3), bend=bend, rolls=rng.uniform(-3, 3, 2), gap=gap)
    rigs.add_ik(leg, target=rigs.add_object("target"), pole=rigs.add_object("pole"), angle=rng.uniform(-3, 3))
    leg.location, leg.rotation_euler, leg.scale = rng.normal(0, 2, 3), rng.normal(0, 2, 3), rng.uniform(0.5, 2, 3)
    for name in ("upper", "lower"):
        bone, rest = leg.pose.bones[name], leg.data.bones[name]
        bone.rotation_mode = rng.choice(rigs.MODES)
        bone.scale = (rng.uniform(0.7, 1.4),) * 3
        rest.use_inherit_rotation = bool(rng.random() < 0.7)
        rest.inherit_scale = rng.choice(["FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"])
    leg.pose.bones["upper"].location = rng.normal(0, 0.1, 3)
    rigs.key_pose(leg, rng, (1, 4, 8), size=0.5)
    leg.pose.bones["lower"].constraints[0].influence = rng.choice([1.0, rng.random()])
    return leg


def _place_targets(leg, rng, frames):
    """Key the target within reach and the pole anywhere; returns the length of the limb."""
    ik = leg.pose.bones["lower"].constraints[0]
    ik.mute = True
    poses = rigs.sampled(leg, frames)
    ik.mute = False
    for pose, end, frame in zip(poses, rigs.tail(leg, poses, "lower"), frames, strict=True):
        root, mid = pose[1, :3, 3], pose[2, :3, 3]
        upper, lower = np.linalg.norm(mid - root), np.linalg.norm(end - mid)
        inner, outer = abs(upper - lower) + 0.25 * min(upper, lower), 0.95 * (upper + lower)
        for item, distance in ((ik.target, rng.uniform(inner, outer)), (ik.pole_target, 2.0)):
            direction = rng.normal(size=3)
            item.location = leg.matrix_world @ Vector(root + direction / np.linalg.norm(direction) * distance)
            item.keyframe_insert("location", frame=frame)
    return upper + lower


@pytest.mark.parametrize("iterations", [3, 10])
def test_few_iterations(iterations, capfd):
    """Without a pole: what is shown stays, though it is off the target, and that is said."""
    leg = rigs.leg(pole=False)
    leg.pose.bones["lower"].constraints["IK"].iterations = iterations
    check(leg, near=5e-3 * LIMB, turned=5e-3 * LIMB)  # what is nearer to the target goes there
    text = capfd.readouterr().out
    assert "Warning: Baked 1 limb, 20 frames: " in text
    assert " short of the target as displayed (frames " in text
    assert f"% of the limb length from its target: raise its Iterations ({iterations})" in text
