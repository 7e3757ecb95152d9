"""FK -> IK and IK -> FK on rigs that Rigify makes: what deforms stays where it was."""

import importlib
import re

import bpy
import numpy as np
import pytest
import rigs
from mathutils import Vector

FRAMES = range(1, 13)
NEAR = 5e-4
LEG = ("thigh", "shin", "foot", "toe")
ARM = ("upper_arm", "forearm", "hand")


def generated(kind="human", change=None):
    """A rig, in Pose Mode, of a metarig whose edit bones may be changed first."""
    bpy.ops.preferences.addon_enable(module="rigify")
    if not hasattr(bpy.types, "POSE_OT_rigify_generate"):
        pytest.skip("this Blender comes without Rigify")
    getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
    if change:
        bpy.ops.object.mode_set(mode="EDIT")
        change(bpy.context.object.data.edit_bones)
        bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.pose.rigify_generate()
    armature = next(item for item in bpy.data.objects if item.name.startswith("rig"))
    bpy.data.objects.remove(bpy.data.objects["metarig"])
    rigs.select(armature)
    return armature


def switches(armature):
    return [bone for bone in armature.pose.bones if "IK_FK" in bone]


def turn(bone, frame, **angles):
    mode, bone.rotation_mode = bone.rotation_mode, "XYZ"
    bone.rotation_euler = [angles.get(axis, 0.0) for axis in "xyz"]
    bone.keyframe_insert("rotation_euler", frame=frame)
    return mode


def move_torso(armature, rng, far):
    """Key the torso at random, and yield each frame with each side, whose limbs are to follow."""
    for frame in (1, 7, 12):
        torso = armature.pose.bones["torso"]
        torso.location = rng.normal(0, far, 3)
        torso.keyframe_insert("location", frame=frame)
        for side in (".L", ".R"):
            yield frame, side


def animate_fk(armature, seed=1):
    """Limbs of FK that move, their knees and elbows about their hinges, under a torso that moves; IK_FK at FK."""
    rng = np.random.default_rng(seed)
    for frame, side in move_torso(armature, rng, 0.1):
        for part in (*LEG, *ARM):
            bone = armature.pose.bones[f"{part}_fk{side}"]
            if part in ("shin", "forearm"):
                turn(bone, frame, x=rng.uniform(0.3, 1.2))
            elif part == "toe":
                turn(bone, frame, x=rng.uniform(-0.5, 0.5))
            else:
                turn(bone, frame, **dict(zip("xyz", rng.normal(0, 0.3, 3), strict=True)))
    for bone in switches(armature):
        bone["IK_FK"] = 1.0
    bpy.context.scene.frame_set(1)


def deforming(armature):
    return [n for n, bone in enumerate(armature.pose.bones) if bone.bone.use_deform]


def check(armature, was, near=NEAR):
    rows = deforming(armature)
    now = rigs.sampled(armature, FRAMES)
    names = [armature.pose.bones[n].name for n in rows]
    away = np.linalg.norm((now - was)[..., :3, 3], axis=-1).max(axis=0)
    assert away[rows].max() < near, sorted(zip(away[rows], names, strict=True))[-4:]
    assert np.degrees(rigs.turn_between(was[:, rows], now[:, rows])).max() < 0.1
    assert np.ptp(was[:, rows, :3, 3], axis=0).max() > 0.1, "the test does not move"


def snap(name="fk_to_ik", **options):
    options = {"frame_range": "CUSTOM", "frame_start": 1, "frame_end": 12, "limbs": "ALL"} | options
    return getattr(bpy.ops.ikcore, name)(**options)


@pytest.mark.parametrize("kind", ["human", "basic_human"])
@pytest.mark.parametrize("pole", [False, True])
def test_fk_to_ik(kind, pole):
    armature = generated(kind)
    for bone in switches(armature):
        bone["pole_vector"] = pole
    animate_fk(armature)
    armature.pose.bones["foot_heel_ik.L"].rotation_euler.x = 0.6
    was = rigs.sampled(armature, FRAMES)
    assert snap() == {"FINISHED"}
    assert [bone["IK_FK"] for bone in switches(armature)] == [0.0] * 4
    check(armature, was)


def test_ik_that_may_shorten_its_bones_is_said_to_be_off(capfd):
    armature = generated("basic_human")
    animate_fk(armature)
    was = rigs.sampled(armature, FRAMES)
    snap(disable_stretch=False)
    assert re.search(r"_fk\.L: .* off at frame ", capfd.readouterr().out)
    with pytest.raises(AssertionError):
        check(armature, was)
    snap()
    assert "Set IK Stretch to 0 on " in capfd.readouterr().out


def test_pins_of_controls_that_move_nothing_are_refused():
    """In IK those of FK, in FK those of IK; the sentence says what to do instead. In IK the rig has an action."""
    armature = generated("basic_human")
    armature.animation_data_create().action = bpy.data.actions.new("Walk")

    def refused(match, *names):
        rigs.select(armature, *names)
        with pytest.raises(RuntimeError, match=match):
            bpy.ops.ikcore.pin()
        assert not len(armature.ikcore_pins.pins)
        assert not [item for item in bpy.data.objects if item.type == "EMPTY"]

    refused(r"hand_fk.L moves no mesh, because IK_FK of .* is 0: press IK -> FK", "torso", "hand_fk.L")
    refused("foot_ik.R is an IK target and needs no pin: move it, or press IK -> FK and pin foot_fk.R", "foot_ik.R")
    for bone in switches(armature):
        bone["IK_FK"] = 1.0
    armature.update_tag()
    bpy.context.view_layer.update()
    refused(r"foot_ik.R moves no mesh, because IK_FK of .* is 1: pin foot_fk.R", "foot_ik.R")
    names = [part + side for part in ("hand_fk", "foot_fk") for side in (".L", ".R")]
    rigs.select(armature, *names)
    assert bpy.ops.ikcore.pin() == {"FINISHED"}
    assert bpy.ops.ikcore.live_pins() == {"FINISHED"}
    live = importlib.import_module("bl_ext.user_default.ikcore.pins.interactive")
    hand, target = armature.pose.bones["DEF-hand.L"], armature.ikcore_pins.pins["hand_fk.L"].target
    place = hand.head.copy()
    for _ in range(2):  # what deforms follows, and nothing is wrong
        target.location.z -= 0.05
        bpy.context.view_layer.update()
        bpy.context.view_layer.update()
    assert (hand.head - place - Vector((0, 0, -0.1))).length < 2e-3
    assert not live.remarks(armature)
    assert not live.notes(armature)


def test_pins_in_ik_mode_switch_to_fk_in_the_same_pose(capfd):
    """Pinned IK targets, IK bones and FK controls become FK controls; a drag beyond reach never jumps."""
    armature = generated("basic_human")
    for name in ("thigh_ik", "MCH-shin_ik", "upper_arm_ik", "MCH-forearm_ik"):
        for side in (".L", ".R"):
            armature.pose.bones[name + side].ik_stretch = 0
    armature.pose.bones["hand_ik.L"].location, armature.pose.bones["foot_ik.R"].location = (0.1, 0.1, -0.2), (0, 0, 0.1)
    bpy.context.view_layer.update()
    rows = deforming(armature)
    before = rigs.sampled(armature, [1])[0, rows]
    rigs.select(armature, "hand_ik.L", "hand_fk.R", "foot_ik.L", "foot_ik.R")
    assert bpy.ops.ikcore.pin() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert {pin.name for pin in armature.ikcore_pins.pins} == {"hand_fk.L", "hand_fk.R", "foot_fk.L", "foot_fk.R"}
    assert [bone["IK_FK"] for bone in switches(armature)] == [1.0] * 4
    assert capfd.readouterr().out.count("to FK, in the same pose") == 4
    assert not armature.animation_data.action
    off = np.abs(rigs.sampled(armature, [1])[0, rows] - before).max(axis=(1, 2))
    assert off.max() < NEAR, sorted(zip(off, (armature.pose.bones[n].name for n in rows), strict=True))[-4:]
    bpy.ops.ikcore.live_pins()
    target, poses = armature.ikcore_pins.pins["hand_fk.L"].target, []
    target.location.x += 0.2
    bpy.context.view_layer.update()
    for _ in range(40):
        target.location.x += 0.007
        bpy.context.view_layer.update()
        poses.append(rigs.sampled(armature, [1])[0, rows])
    poses = np.array(poses)
    assert np.degrees(rigs.turn_between(poses[1:], poses[:-1])).max() < 5.0
    hand = armature.pose.bones["DEF-hand.L"].head
    assert (armature.matrix_world @ hand - target.location).length > 0.1, "the test stays in reach"


def test_undo_takes_the_switch_of_pin_back():
    """One step: the switches, the pose of FK, the pins and their empties; redo brings them again."""
    armature = generated("basic_human")
    armature.pose.bones["hand_ik.L"].location, armature.pose.bones["foot_ik.R"].location = (0.1, 0.1, -0.2), (0, 0, 0.1)
    bpy.context.view_layer.update()
    rigs.select(armature, "hand_ik.L", "foot_ik.R")

    def everything():
        bpy.context.view_layer.update()
        rig = bpy.data.objects[name]
        properties = [bone["IK_FK"] for bone in switches(rig)]
        return properties, [pin.name for pin in rig.ikcore_pins.pins], sorted(bpy.data.objects.keys()), rigs.state()

    name = armature.name
    bpy.ops.ed.undo_push(message="before")
    before = everything()
    assert bpy.ops.ikcore.pin() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="pinned")
    after = everything()
    assert (after[0].count(1.0), after[1]) == (2, ["hand_fk.L", "foot_fk.R"])
    bpy.ops.ed.undo()
    assert everything() == before
    bpy.ops.ed.redo()
    assert everything() == after


@pytest.mark.parametrize("way", [(1, 0, 0), (0.6, 0, -0.3), (0.6, 0.3, -0.3)])
def test_pins_at_the_edge_of_reach_make_nothing_jump(way):
    """Steps of 7 mm through the edge: no deforming bone turns by 5 degrees."""
    armature = generated("basic_human")
    rigs.select(armature, "hand_ik.L", "hand_ik.R", "foot_ik.L", "foot_ik.R")
    bpy.ops.ikcore.pin()
    bpy.ops.ikcore.live_pins()
    rows, poses, off = deforming(armature), [], []
    target, way = armature.ikcore_pins.pins["hand_fk.L"].target, Vector(way).normalized()
    target.location += 0.1 * way
    for _ in range(25):
        target.location += 0.007 * way
        bpy.context.view_layer.update()
        poses.append(rigs.sampled(armature, [1])[0, rows])
        hand = armature.matrix_world @ armature.pose.bones["DEF-hand.L"].head
        off.append((hand - target.location).length)
    assert off[0] < 1e-3 < 1e-2 < off[-1], "the test does not pass the edge"
    assert np.degrees(rigs.turn_between(np.array(poses[1:]), np.array(poses[:-1]))).max() < 5.0


@pytest.mark.parametrize("pole", [False, True])
def test_ik_to_fk(pole):
    armature = generated("basic_human")
    for bone in switches(armature):
        bone["pole_vector"], bone["IK_FK"] = pole, 0.0
    rng = np.random.default_rng(4)
    for name in ("foot_ik.L", "foot_ik.R", "hand_ik.L", "hand_ik.R", "torso"):
        for frame in (1, 12):
            armature.pose.bones[name].location = rng.normal(0, 0.1, 3)
            armature.pose.bones[name].keyframe_insert("location", frame=frame)
    turn(armature.pose.bones["foot_heel_ik.L"], 1)
    turn(armature.pose.bones["foot_heel_ik.L"], 12, x=0.7)
    for name in ("thigh_ik", "MCH-shin_ik", "upper_arm_ik", "MCH-forearm_ik"):
        for side in (".L", ".R"):
            armature.pose.bones[name + side].ik_stretch = 0
    was = rigs.sampled(armature, FRAMES)
    assert snap("ik_to_fk") == {"FINISHED"}
    assert [bone["IK_FK"] for bone in switches(armature)] == [1.0] * 4
    check(armature, was)


def test_what_fk_cannot_show_is_said_and_a_click_away(addon, capfd):
    """IK that may not stretch leaves hands that are out of reach where they are, off the forearm."""
    armature = generated("basic_human")
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.0
    for frame, far in ((1, 0.0), (12, 0.5)):
        armature.pose.bones["hand_ik.L"].location.y = far
        armature.pose.bones["hand_ik.L"].keyframe_insert("location", frame=frame)
    assert snap("ik_to_fk") == {"FINISHED"}
    ((frame, sentence),) = addon.fk.ik_from_fk.latest(armature).problems
    assert frame == 12
    assert sentence.endswith("at frame 12, because IK is stretched or out of reach")
    assert sentence in capfd.readouterr().out
    assert addon.fk.fk_panels.IKCORE_PT_fk_ik_problems.poll(bpy.context)


def test_there_and_back_by_the_frame():
    armature = generated("basic_human")
    animate_fk(armature)
    rigs.select(armature, "foot_fk.L")
    bpy.context.scene.frame_set(7)
    was = np.array([bone.matrix for bone in armature.pose.bones])
    rows = deforming(armature)
    action = armature.animation_data.action
    for name in ("fk_to_ik", "ik_to_fk"):
        assert snap(name, frame_range="FRAME", limbs="SELECTED") == {"FINISHED"}
        for _ in range(2):
            bpy.context.view_layer.update()
            now = np.array([bone.matrix for bone in armature.pose.bones])
            assert np.linalg.norm((now - was)[rows, :3, 3], axis=-1).max() < NEAR
            bpy.context.scene.frame_set(7)
    assert armature.animation_data.action == action
    keyed = {path for path, _ in rigs.curves_of(action, armature.animation_data.action_slot) if "_ik" in path}
    assert keyed
    assert all(".L" in path and "hand" not in path for path in keyed), "only the selected leg"


def test_keys_of_the_switch():
    armature = generated("basic_human")
    animate_fk(armature)
    leg = armature.pose.bones["thigh_parent.L"]
    for frame in (1, 12):
        leg.keyframe_insert('["IK_FK"]', frame=frame)
    was = rigs.sampled(armature, FRAMES)
    snap()
    check(armature, was)
    snap(switch=False)
    bpy.context.scene.frame_set(6)
    assert leg["IK_FK"] == 0.0


@pytest.mark.parametrize("name", ["fk_to_ik", "ik_to_fk"])
def test_a_frame_where_the_switch_has_keys(name):
    """The frame that is shown, and the switch in it, get keys; what deforms stays."""
    armature = generated("basic_human")
    animate_fk(armature)
    if name == "ik_to_fk":
        snap("fk_to_ik")
        turn(armature.pose.bones["shin_fk.L"], 6, x=0.1)
    for bone in switches(armature):
        bone["IK_FK"] = float(name == "fk_to_ik")
        bone.keyframe_insert('["IK_FK"]', frame=1)
    bpy.context.scene.frame_set(6)
    was = rigs.sampled(armature, [6])
    assert snap(name, frame_range="FRAME") == {"FINISHED"}
    assert {bone["IK_FK"] for bone in switches(armature)} == {float(name == "ik_to_fk")}
    for again in (False, True):
        if again:
            bpy.context.scene.frame_set(7)
            bpy.context.scene.frame_set(6)
        rows, now = deforming(armature), rigs.sampled(armature, [6])
        assert np.abs(now - was)[:, rows, :3, 3].max() < NEAR


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.8])
@pytest.mark.parametrize("still", [False, True])
def test_cancelled_at_any_time(addon, share, still):
    armature = generated("basic_human")
    animate_fk(armature)
    rigify, switching = (importlib.import_module(f"{addon.__name__}.{name}") for name in ("rig.rigify", "fk.switching"))
    before = rigs.state()
    frames = np.array([1]) if still else np.arange(1, 13)
    steps = switching.snap(bpy.context, rigify.limbs(armature), frames, to_ik=True, still=still)
    for done in steps:
        if done >= share:
            break
    steps.close()
    bpy.context.scene.frame_set(1)
    assert rigs.state() == before
    assert armature.pose.bones["thigh_ik.L"].ik_stretch > 0


def test_a_plain_rig_has_no_ik_to_fk():
    rigs.leg()
    with pytest.raises(RuntimeError, match="use Bake IK to key the bones"):
        snap("ik_to_fk")


def test_a_rig_with_the_switch_of_another_kind_is_refused():
    armature = rigs.leg()
    armature.pose.bones[0]["IK_FK"] = 0.0
    with pytest.raises(RuntimeError, match="has IK_FK, but no limb that switches between FK and IK"):
        snap()


def animate_paws(armature, seed=1):
    """As animate_fk, of four legs that bend as they do at rest."""
    rng = np.random.default_rng(seed)
    for frame, side in move_torso(armature, rng, 0.05):
        for leg in ("", "front_"):
            for part, most in (("thigh", 0.15), ("foot", 0.2)):
                angles = dict(zip("xyz", rng.normal(0, most, 3), strict=True))
                turn(armature.pose.bones[f"{leg}{part}_fk{side}"], frame, **angles)
            bend = rng.uniform(0.0, 0.3)
            turn(armature.pose.bones[f"{leg}shin_fk{side}"], frame, x=-bend if leg else bend)
            turn(armature.pose.bones[f"{leg}toe{side}"], frame, x=rng.uniform(-0.3, 0.3))
    for bone in switches(armature):
        bone["IK_FK"] = 1.0
    bpy.context.scene.frame_set(1)


@pytest.mark.parametrize("pole", [False, True])
def test_paws_there_and_back(pole):
    armature = generated("basic_quadruped")
    for bone in switches(armature):
        bone["pole_vector"] = pole
    animate_paws(armature)
    was = rigs.sampled(armature, FRAMES)
    for name, at in (("fk_to_ik", 0.0), ("ik_to_fk", 1.0)):
        assert snap(name) == {"FINISHED"}
        assert [bone["IK_FK"] for bone in switches(armature)] == [at] * 4
        check(armature, was)


def test_what_is_off_by_next_to_nothing_is_told_in_plain_numbers(addon):
    assert [addon.feet.foot_report.in_degrees(np.radians(degrees)) for degrees in (1.9e-5, 0.04, 8.34)] == [
        "0°",
        "0.04°",
        "8.3°",
    ]
