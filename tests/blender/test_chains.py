"""Bake IK with chains re-solved by a method of the library: targets are reached, limits hold, and bones are not
twisted."""

import dataclasses
import os
import pathlib

import bpy
import numpy as np
import pytest
import rigs
from test_visual_pose import FRAMES, bake, ik_of, tail

MOCAP = pathlib.Path(os.environ.get("IKCORE_MOCAP", "none"))
needs_mocap = pytest.mark.skipif(not MOCAP.is_dir(), reason="IKCORE_MOCAP names no folder of clips")
METHODS = ["dls", "fabrik", "ccd"]
NEAR = 1e-4  # of a chain of 1.8


def anew(**options):
    return bake(solver="LIBRARY", **options)


def targets(armature, ik):
    """World transforms of a constraint's target over the frames."""
    scene, found = bpy.context.scene, []
    for frame in FRAMES:
        scene.frame_set(frame)
        found.append(np.array(ik.target.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world))
    return np.array(found)


def tips(armature, name):
    """The world-space tail of a bone over the frames."""
    poses = rigs.sampled(armature, FRAMES)
    world = np.array(armature.matrix_world)
    return rigs.tail(armature, poses, name) @ world[:3, :3].T + world[:3, 3]


@pytest.mark.parametrize("method", METHODS)
def test_targets_are_reached_from_where_blender_shows_a_chain_without_a_pole(method):
    armature = tail()
    shown = rigs.sampled(armature, FRAMES)
    assert anew(method=method) == {"FINISHED"}
    assert ik_of(armature).mute
    np.testing.assert_allclose(tips(armature, "b5"), targets(armature, ik_of(armature))[:, :3, 3], atol=NEAR)
    assert rigs.turn_between(rigs.sampled(armature, FRAMES), shown).max() < np.radians(0.2)


CYCLE, CYCLES = 24, 5
STRIDE = range(1, CYCLE * CYCLES + 2)
SHAPES = {
    "leg": [(0, 0, 1.0), (0, -0.06, 0.55), (0, 0, 0.1)],
    "paw": [(0, 0, 1.0), (0, -0.08, 0.7), (0, -0.06, 0.4), (0, 0, 0.1)],
    "straight": [(0, 0, 1.0), (0, 0, 0.55), (0, 0, 0.1)],
}


def walking(shape, *, pole=True, hinges=False):
    """A limb whose target and hips go round in cycles. Returns the armature and the bones of the limb."""
    points = [(0, 0, 1.4), *SHAPES[shape], (0, -0.2, 0.02)]
    names = ["hips", *(f"limb{n}" for n in range(len(points) - 3)), "foot"]
    parents = [None, *names[:-1]]
    armature = rigs.figure(list(zip(names, parents, points[:-1], points[1:], strict=True)))
    limb, target = names[1:-1], rigs.add_object("target")
    ik = armature.pose.bones[limb[-1]].constraints.new("IK")
    ik.target, ik.chain_count, ik.iterations = target, len(limb), 500
    if pole:
        ik.pole_target, ik.pole_angle = rigs.add_object("pole"), -np.pi / 2
        ik.pole_target.location = (0.1, -3, 0.6)
    for bone in (armature.pose.bones[name] for name in limb[1:] if hinges):
        bone.lock_ik_y = bone.lock_ik_z = True
    stride(target, armature.pose.bones["hips"])
    rigs.select(armature, *limb)
    return armature, limb


def stride(target, hips, steps=12):
    """Key cycles."""
    hips.rotation_mode = "XYZ"
    for k in range(CYCLES * steps + 1):
        t, frame = 2 * np.pi * k / steps, 1 + k * CYCLE / steps
        target.location = (0.06 * np.sin(t), -0.2 * np.cos(t), 0.24 + 0.08 * np.sin(t + 0.4))
        hips.location = (0.02 * np.sin(t), 0.02 * np.cos(2 * t), 0.02 * np.sin(t + 1))
        hips.rotation_euler = (0.08 * np.sin(t), 0.25 * np.sin(t + 0.3), 0.06 * np.cos(t))
        target.keyframe_insert("location", frame=frame)
        hips.keyframe_insert("location", frame=frame)
        hips.keyframe_insert("rotation_euler", frame=frame)


def twisted(armature, names, some, others):
    """The largest twist of bones about their own lengths between poses."""
    rows = [armature.pose.bones.find(name) for name in names]
    turns = np.swapaxes(some[:, rows, :3, :3], -1, -2) @ others[:, rows, :3, :3]
    about_y = turns[..., 0, 2] - turns[..., 2, 0]
    return 2 * np.abs(np.arctan2(about_y, 1 + np.trace(turns, axis1=-2, axis2=-1))).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ("leg", {}),
        ("leg", {"pole": False}),
        ("leg", {"hinges": True}),
        ("leg", {"pole": False, "hinges": True}),
        ("paw", {}),
        ("paw", {"pole": False}),
        ("paw", {"hinges": True}),
    ],
)
def test_limbs_keep_the_twist_that_blender_shows(capfd, shape, options, method):
    """After five cycles as in the first one."""
    armature, limb = walking(shape, **options)
    shown = rigs.sampled(armature, STRIDE)
    assert bpy.ops.ikcore.bake_ik(solver="LIBRARY", method=method) == {"FINISHED"}
    poses = rigs.sampled(armature, STRIDE)
    assert twisted(armature, limb, shown, poses) < np.radians(1.0)
    np.testing.assert_allclose(rigs.tail(armature, poses, limb[-1]), rigs.tail(armature, shown, limb[-1]), atol=1e-3)
    step = rigs.turn_between(shown[1:], shown[:-1]).max()
    assert rigs.turn_between(poses[1:], poses[:-1]).max() < 1.1 * step
    assert "Info: Baked 1 IK" in capfd.readouterr().out


@pytest.mark.parametrize("method", METHODS)
def test_a_straight_limb_bends_towards_its_pole(method):
    """Same result as the two-bone solver, where Blender leaves it straight."""
    poses = []
    for options in ({"solver": "LIBRARY", "method": method}, {"solver": "TWO_BONE"}):
        rigs.new_scene()
        armature, limb = walking("straight")
        assert bpy.ops.ikcore.bake_ik(**options) == {"FINISHED"}
        poses.append(rigs.sampled(armature, STRIDE))
    assert twisted(armature, limb, *poses) < 1e-3
    np.testing.assert_allclose(poses[0][..., :3, 3], poses[1][..., :3, 3], atol=1e-3)


def test_a_twist_is_a_warning(addon, capfd, monkeypatch):
    """It names the bone, the angle and the frame, whichever frame that is."""
    real, quat = addon.pins.full_body.solve_clip, addon.bridge.rotations

    def twisting(clip, goals, freedoms, method):
        made, errors = real(clip, goals, freedoms, method)
        rotations, joint = np.array(made.pose.rotations), made.skeleton.index("limb1")
        if method == "ccd":
            turn = quat.from_axis_angle([0.0, 1.0, 0.0], np.radians(30))
            rotations[33, joint] = quat.multiply(rotations[33, joint], turn)
        return dataclasses.replace(made, pose=addon.bridge.library.Pose(rotations)), errors

    armature, _ = walking("leg")
    monkeypatch.setattr(addon.pins.full_body, "solve_clip", twisting)
    bpy.ops.ikcore.bake_ik(solver="LIBRARY", method="ccd")
    told = "with the library solver; limb1: twisted 30° from the displayed pose at frame 34"
    assert f"Warning: Baked 1 IK, 2 bones, 121 frames {told}" in capfd.readouterr().out
    assert addon.limbs.bake.latest(armature).problems[0][0] == 34


@pytest.mark.parametrize("count", [1, 2, 3])
def test_chains_of_any_length(count):
    """An unreachable target is pointed at with full extension."""
    armature = tail()
    ik_of(armature).chain_count = count
    first = armature.pose.bones[6 - count].name
    assert anew() == {"FINISHED"}
    poses, wanted = rigs.sampled(armature, FRAMES), targets(armature, ik_of(armature))[:, :3, 3]
    start, end = poses[:, armature.pose.bones.find(first), :3, 3], rigs.tail(armature, poses, "b5")
    reach = sum(bone.length for bone in list(armature.data.bones)[6 - count :])
    far = np.linalg.norm(wanted - start, axis=-1)
    off = np.linalg.norm(end - wanted, axis=-1)
    np.testing.assert_allclose(off[far > 1.02 * reach], (far - reach)[far > 1.02 * reach], atol=5e-3)
    assert (far > 1.02 * reach).any()


@pytest.mark.parametrize("mode", rigs.MODES)
def test_in_every_rotation_mode_and_place(mode):
    armature = tail(at=(0.5, 0.2, 0.1))
    armature.location, armature.rotation_euler, armature.scale = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (1.1, 1.1, 1.1)
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    ik = ik_of(armature)
    assert anew() == {"FINISHED"}
    np.testing.assert_allclose(tips(armature, "b5"), targets(armature, ik)[:, :3, 3], atol=NEAR)


def test_without_the_tail_the_bone_above_is_the_tip():
    armature = tail()
    ik_of(armature).use_tail, ik_of(armature).chain_count = False, 5
    assert anew() == {"FINISHED"}
    np.testing.assert_allclose(tips(armature, "b4"), targets(armature, ik_of(armature))[:, :3, 3], atol=NEAR)


def test_the_targets_rotation(capfd):
    armature = tail()
    ik = ik_of(armature)
    ik.use_rotation = True
    wanted = targets(armature, ik)
    assert anew() == {"FINISHED"}
    turned = rigs.turn_between(rigs.sampled(armature, FRAMES)[:, armature.pose.bones.find("b5")], wanted)
    far = np.linalg.norm(tips(armature, "b5") - wanted[:, :3, 3], axis=-1)
    assert turned[:-1].max() < 2e-4
    assert far[:-1].max() < NEAR
    assert "from its target at frame 20" in capfd.readouterr().out, "turned that way the last one is out of reach"
    assert turned[-1] < 0.03


@pytest.mark.parametrize("influence", [0.0, 0.5])
def test_influence_puts_the_goal_between(influence):
    armature = tail()
    ik = ik_of(armature)
    ik.mute = True
    free = tips(armature, "b5")
    ik.mute, ik.influence = False, influence
    assert anew() == {"FINISHED"}
    wanted = (1 - influence) * free + influence * targets(armature, ik)[:, :3, 3]
    np.testing.assert_allclose(tips(armature, "b5"), wanted, atol=NEAR)


@pytest.mark.parametrize("axes", ["x", "z", "xz", "xyz"])
def test_ik_limits_that_are_switched_on_and_left_as_they_are(addon, axes):
    """Half a turn both ways: in single precision that is more than in double."""
    armature = tail()
    bone = armature.pose.bones["b3"]
    for axis in axes:
        setattr(bone, f"use_ik_limit_{axis}", True)
    assert bone.ik_max_x > np.pi
    addon.rig.ik_limits.Freedom.of(bone).limit()
    assert bpy.ops.ikcore.bake_ik(solver="LIBRARY") == {"FINISHED"}


def test_ik_limits_hold(addon):
    armature = tail()
    for bone in list(armature.pose.bones)[1:]:
        bone.lock_ik_y = bone.use_ik_limit_x = bone.use_ik_limit_z = True
        bone.ik_min_x, bone.ik_max_x, bone.ik_min_z, bone.ik_max_z = -0.6, 0.5, -0.4, 0.6
    assert anew() == {"FINISHED"}
    most = 0.0
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        for bone in list(armature.pose.bones)[1:]:
            turned = bone.matrix_basis.to_quaternion()
            assert addon.rig.ik_limits.Freedom.of(bone).limit().violation(np.array(turned)) < 1e-4
            most = max(most, turned.angle)
    assert most > 0.4, "the test does not come to the limits"


@needs_mocap
def test_legs_of_a_captured_clip_are_where_their_keys_have_them():
    """IK from FK, then chains re-solved: the keys already reach the targets, and face their poles."""
    bpy.ops.import_anim.bvh(filepath=str(MOCAP / "fair1_zombie.bvh"), update_scene_fps=True, global_scale=0.01)
    armature, some = bpy.context.object, range(540, 570)
    options = {"frame_range": "CUSTOM", "frame_start": 1, "frame_end": 570}
    keyed = rigs.sampled(armature, some)
    rigs.select(armature, "LeftLeg", "RightLeg")
    bpy.ops.ikcore.fk_to_ik(**options)
    rigs.select(armature, "LeftLeg", "RightLeg")
    assert bpy.ops.ikcore.bake_ik(solver="LIBRARY", **options) == {"FINISHED"}
    assert rigs.turn_between(rigs.sampled(armature, some), keyed).max() < np.radians(0.1)


def poled(angle=0.7):
    """A chain that bends in its own keys, with a pole on one side."""
    armature = tail(count=2)
    ik = ik_of(armature)
    ik.pole_target, ik.pole_angle, ik.iterations = rigs.add_object("Pole"), angle, 500
    ik.pole_target.location = (1.5, -2, 0.4)
    rigs.key_pose(armature, np.random.default_rng(4), (1, 20), bones=armature.pose.bones.keys(), size=0.25)
    rigs.select(armature, "b1")
    return armature


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("angle", [0.0, 0.7, -2.0])
def test_a_pole_of_two_bones_is_as_blender_has_it(method, angle):
    armature = poled(angle=angle)
    shown = rigs.sampled(armature, FRAMES)
    assert anew(method=method) == {"FINISHED"}
    poses = rigs.sampled(armature, FRAMES)
    np.testing.assert_allclose(poses[..., :3, 3], shown[..., :3, 3], atol=1e-3)
    np.testing.assert_allclose(rigs.tail(armature, poses, "b1"), rigs.tail(armature, shown, "b1"), atol=1e-3)
    assert rigs.turn_between(poses, shown).max() < np.radians(0.1)


def test_influence_is_of_what_a_pole_gives():
    found = {}
    for influence in (0.0, 0.4, 1.0):
        rigs.new_scene()
        armature = poled()
        ik_of(armature).influence = influence
        assert anew() == {"FINISHED"}
        found[influence] = rigs.sampled(armature, FRAMES)[:, 0]
    whole = rigs.turn_between(found[0.0], found[1.0])
    assert whole.min() > 0.3
    np.testing.assert_allclose(rigs.turn_between(found[0.0], found[0.4]), 0.4 * whole, rtol=1e-3)
    np.testing.assert_allclose(rigs.turn_between(found[0.4], found[1.0]), 0.6 * whole, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_longer_chains_bend_towards_their_pole(method):
    """The pole angle is set so that they bend just there: by how they bend at rest, about their line."""
    armature = tail(count=4)
    ik = ik_of(armature)
    ik.pole_target, ik.pole_angle = rigs.add_object("Pole"), 0.0
    ik.pole_target.location = (0.5, -2, 1.0)
    ik.mute = True
    free = rigs.sampled(armature, [1])[0]
    ik.mute = False
    line = rigs.tail(armature, free[np.newaxis], "b3")[0] - free[0, :3, 3]
    belly = (free[1:, :3, 3] - free[0, :3, 3]).sum(axis=0)
    axes = free[0, :3, :3]
    line /= np.linalg.norm(line)
    up, belly = (each - line * (each @ line) for each in (axes[:, 0], belly))
    ik.pole_angle = np.arctan2(np.cross(up, belly) @ line, up @ belly) * np.sign(-line @ axes[:, 1])
    assert anew(method=method) == {"FINISHED"}
    poses = rigs.sampled(armature, FRAMES)
    base = poses[:, 0, :3, 3]
    lines = rigs.tail(armature, poses, "b3") - base
    lines /= np.linalg.norm(lines, axis=-1, keepdims=True)
    bellies = (poses[:, 1:, :3, 3] - base[:, np.newaxis]).sum(axis=1)
    poles = np.array(ik.pole_target.location) - base
    sides = [each - lines * np.sum(each * lines, axis=-1, keepdims=True) for each in (bellies, poles)]
    angle = np.sum(sides[0] * sides[1], axis=-1) / np.prod([np.linalg.norm(each, axis=-1) for each in sides], axis=0)
    assert angle.min() > np.cos(0.02)


def test_chains_that_branch_are_one_problem():
    armature = tail()
    rigs.chain_on(armature, 3, connected=True)
    other = rigs.add_object("other")
    other.location = (0.9, 0.1, 0.9)
    ik = armature.pose.bones["c2"].constraints.new("IK")
    ik.target, ik.chain_count = other, 6
    rigs.select(armature, "c2")
    assert anew() == {"FINISHED"}
    assert ik.mute
    assert ik_of(armature).mute, "what shares bones is baked, too"
    ends = tips(armature, "c2"), tips(armature, "b5")
    wanted = targets(armature, ik)[:, :3, 3], targets(armature, ik_of(armature))[:, :3, 3]
    off = np.linalg.norm(np.array(ends) - wanted, axis=-1)
    assert np.median(off) < NEAR


def test_chains_apart_are_problems_apart(addon, monkeypatch):
    """A limb beside others is solved as it is alone; one that hangs on another under what that has become."""

    def limbs(count):
        armature = rigs.leg()
        for n in range(1, count):
            rigs.add_limb(armature, f".{n}", at=(n, 0, 0))
            rigs.add_ik(armature, f".{n}", target=bpy.data.objects["Leg target"], pole=bpy.data.objects["Leg pole"])
        rigs.select(armature, *[bone.name for bone in armature.pose.bones])
        return armature

    solved, real = [], addon.pins.full_body.solve_clip
    monkeypatch.setattr(
        addon.pins.full_body,
        "solve_clip",
        lambda clip, goals, *some: solved.append(len(goals)) or real(clip, goals, *some),
    )
    armature = limbs(1)
    anew()
    alone = rigs.sampled(armature, FRAMES)[:, armature.pose.bones.find("lower")]
    rigs.new_scene()
    armature = limbs(3)
    anew()
    assert solved == [1, 1] * 4, "what is to bend towards a pole starts where Blender's own solver would have it"
    np.testing.assert_allclose(rigs.sampled(armature, FRAMES)[:, armature.pose.bones.find("lower")], alone, atol=1e-6)
    rigs.new_scene()
    armature = limbs(2)
    bones = rigs.edit_bones(armature)
    bones["hips.1"].parent = bones["tip"]
    bpy.ops.object.mode_set(mode="POSE")
    anew()
    assert solved[8:] == [1, 1, 1, 1]
    wanted, poses = (
        targets(armature, armature.pose.bones["lower"].constraints[0])[:, :3, 3],
        rigs.sampled(armature, FRAMES),
    )
    np.testing.assert_allclose(rigs.tail(armature, poses, "lower"), wanted, atol=2e-4)
    end = rigs.tail(armature, poses, "lower.1")
    off = np.linalg.norm(end - wanted, axis=-1)
    far = np.linalg.norm(wanted - poses[:, armature.pose.bones.find("upper.1"), :3, 3], axis=-1)
    reach = sum(armature.data.bones[name].length for name in ("upper.1", "lower.1"))
    np.testing.assert_allclose(off, np.maximum(far - reach, 0.0), atol=1e-3)


def test_what_is_out_of_reach_is_said(capfd, addon):
    """And kept for the panel, where a click goes to the frame."""
    armature = tail()
    armature.location.x = 3.0
    assert anew() == {"FINISHED"}
    assert "IK of b5: 1.9 m from its target at frame 10" in capfd.readouterr().out
    ((frame, text),) = addon.limbs.bake.latest(armature).problems
    assert (frame, "from its target" in text) == (10, True)
    assert addon.limbs.panels.IKCORE_PT_ik_problems.poll(bpy.context)
    bpy.ops.ikcore.show_frame(frame=frame)
    assert bpy.context.scene.frame_current == 10
    armature.animation_data.action = None
    assert not addon.limbs.panels.IKCORE_PT_ik_problems.poll(bpy.context)


def turned_with_a_pole(ik):
    ik.pole_target, ik.use_rotation = ik.target, True


def locked_with_a_pole(ik):
    ik.pole_target, ik.id_data.pose.bones["b0"].lock_ik_y = ik.target, True


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (turned_with_a_pole, "has a pole and also follows the target's rotation"),
        (locked_with_a_pole, "has a pole, and b0, which turns towards the pole, has an IK limit or lock"),
        (lambda ik: setattr(ik, "use_location", False), "does not follow the position"),
        (lambda ik: setattr(ik.id_data.pose.bones["b3"], "ik_stretch", 0.5), "stretches b3"),
        (lambda ik: ik.id_data.pose.bones["b3"].constraints.new("LIMIT_ROTATION"), "b3 also has constraint"),
    ],
)
def test_what_is_not_honoured_is_refused(change, match):
    armature = tail()
    ik = ik_of(armature)
    ik.use_stretch = True
    change(ik)
    bpy.context.view_layer.update()
    before = rigs.state()
    with pytest.raises(RuntimeError, match=match):
        anew()
    assert rigs.state() == before


def test_what_a_method_cannot_solve_is_said():
    armature = tail()
    armature.pose.bones["b3"].ik_stiffness_x = 0.5
    bpy.context.scene.frame_set(1)
    before = rigs.state()
    with pytest.raises(
        RuntimeError, match="Chains cannot solve this: 'b3' has stiffness, and fabrik takes no stiffness"
    ):
        anew(method="fabrik")
    assert rigs.state() == before
