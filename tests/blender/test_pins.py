"""Pins: bones are held where others are, live and as keys, and all that is not asked for stays."""

import importlib
from types import SimpleNamespace

import bpy
import crawlers
import numpy as np
import pytest
import rigs
from mathutils import Quaternion, Vector

FRAMES = range(1, 21)
NEAR = 2e-4  # of a body of 1.7: the tolerance of solvers over a chain, and single precision

HELD = ("hand.L", "hand.R", "foot.L", "foot.R")


def pinned(armature, *names, **options):
    """Pin bones by the operator; their empties by the names of the bones."""
    rigs.select(armature, *names)
    assert bpy.ops.ikcore.pin(**options) == {"FINISHED"}
    bpy.context.view_layer.update()
    return {pin.name: pin.target for pin in armature.ikcore_pins.pins}


def heads(armature, *names):
    """World positions of the heads of bones."""
    bpy.context.view_layer.update()
    shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([shown.matrix_world @ shown.pose.bones[name].head for name in names])


def poses(armature):
    """The matrices of all bones as they are shown now."""
    bpy.context.view_layer.update()
    return rigs.sampled(armature, [bpy.context.scene.frame_current])[0]


def bake(**options):
    return bpy.ops.ikcore.bake_pins(frame_range="CUSTOM", frame_start=1, frame_end=20, **options)


# --- pinning ----------------------------------------------------------------------------------------------------------


def test_a_pin_is_where_its_bone_is():
    armature = rigs.person()
    armature.location, armature.rotation_euler, armature.scale = (1, 2, 3), (0.3, 0.2, 0.1), (2, 2, 2)
    armature.pose.bones["forearm.L"].rotation_quaternion = (0.9, 0.1, 0.2, 0.3)
    targets = pinned(armature, *HELD)
    assert list(targets) == list(HELD) == [pin.name for pin in armature.ikcore_pins.pins]
    places = np.array([item.matrix_world.translation for item in targets.values()])
    np.testing.assert_allclose(places, heads(armature, *HELD), atol=1e-5)
    turned = armature.matrix_world @ armature.pose.bones["hand.L"].matrix
    assert targets["hand.L"].matrix_world.to_quaternion().rotation_difference(turned.to_quaternion()).angle < 1e-3


def test_what_is_pinned_is_not_pinned_again_and_is_let_go_of():
    armature = rigs.person()
    targets = pinned(armature, "hand.L", "foot.L")
    with pytest.raises(RuntimeError, match="already pinned"):
        pinned(armature, "hand.L")
    assert bpy.ops.ikcore.unpin(index=0) == {"FINISHED"}
    assert [pin.name for pin in armature.ikcore_pins.pins] == ["foot.L"]
    assert len(bpy.data.objects) == 2, "the empty of the hand went with its pin"
    table = rigs.add_object("table")
    armature.ikcore_pins.pins[0].target = table
    assert bpy.ops.ikcore.unpin() == {"FINISHED"}
    names = [item.name for item in (table, targets["foot.L"])]
    assert all(name in bpy.data.objects for name in names), "what is not its own stays"


# --- live -------------------------------------------------------------------------------------------------------------


def held_live(**options):
    armature = rigs.person(**options)
    targets = pinned(armature, *HELD)
    assert bpy.ops.ikcore.live_pins() == {"FINISHED"}
    bpy.context.view_layer.update()
    return armature, targets


def test_the_body_follows_a_pin_and_the_others_stay():
    armature, targets = held_live()
    before = heads(armature, *HELD)
    targets["hand.L"].location += Vector((-0.2, -0.3, -0.5))
    after = heads(armature, *HELD)
    np.testing.assert_allclose(after[0] - before[0], (-0.2, -0.3, -0.5), atol=NEAR)
    np.testing.assert_allclose(after[1:], before[1:], atol=NEAR)
    lengths = [(bone.tail - bone.head).length / bone.bone.length for bone in armature.pose.bones]
    np.testing.assert_allclose(lengths, 1.0, atol=1e-5)
    joined = [bone for bone in armature.pose.bones if bone.bone.use_connect]
    assert joined
    assert max((bone.head - bone.parent.tail).length for bone in joined) < 1e-5


def test_a_pin_that_goes_back_brings_the_pose_back():
    armature, targets = held_live()
    before, place = poses(armature), targets["hand.L"].location.copy()
    for step in ((0.1, 0.2, -0.3), (-0.4, -0.2, -0.6), (-0.5, 0.1, 0.1)):
        targets["hand.L"].location = place + Vector(step)
        assert np.abs(poses(armature) - before).max() > 0.05
    targets["hand.L"].location = place
    np.testing.assert_allclose(poses(armature), before, atol=1e-5)


def test_a_pin_that_goes_back_brings_the_pose_back_after_undo():
    """A pose restored by undo is recognised as solved: it is no base."""
    armature, targets = held_live()
    before, place = poses(armature), targets["hand.L"].location.copy()
    bpy.ops.ed.undo_push(message="before")
    for step in ((-0.1, -0.2, -0.5), (-0.4, -0.2, -0.6)):
        bpy.data.objects["Body hand.L pin"].location = place + Vector(step)
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="dragged")
    bent = poses(bpy.data.objects["Body"])
    bpy.ops.ed.undo()
    armature, target = bpy.data.objects["Body"], bpy.data.objects["Body hand.L pin"]
    undone = poses(armature)
    assert np.abs(undone - bent).max() > 0.05
    assert (target.location - place - Vector((-0.1, -0.2, -0.5))).length < 1e-6
    target.location = place
    np.testing.assert_allclose(poses(armature), before, atol=1e-5)


def test_bones_are_turned_while_pins_hold():
    armature, _ = held_live()
    before = heads(armature, *HELD)
    armature.pose.bones["chest"].rotation_quaternion = (0.95, 0.25, 0.1, 0.1)
    np.testing.assert_allclose(heads(armature, *HELD), before, atol=NEAR)
    assert armature.pose.bones["chest"].rotation_quaternion.angle > 0.2


def test_a_hand_is_turned_as_its_pin_is_or_not():
    armature, targets = held_live()
    free = armature.ikcore_pins.pins["hand.R"]
    free.rotation = False
    for target in (targets["hand.L"], targets["hand.R"]):
        target.rotation_quaternion = target.rotation_quaternion @ Quaternion((1, 0, 0), 0.4)
    bpy.context.view_layer.update()
    off = {}
    for name in ("hand.L", "hand.R"):
        shown = (armature.matrix_world @ armature.pose.bones[name].matrix).to_quaternion()
        off[name] = shown.rotation_difference(targets[name].matrix_world.to_quaternion()).angle
    assert off["hand.L"] < 2e-3 < 0.1 < off["hand.R"]


def test_a_bone_may_be_held_at_another_armatures():
    armature, _ = held_live()
    other = rigs.person()
    other.location = (0.5, 0, 0)
    pin = armature.ikcore_pins.pins["hand.L"]
    pin.target, pin.subtarget = other, "hand.R"
    bpy.context.view_layer.update()
    np.testing.assert_allclose(heads(armature, "hand.L"), heads(other, "hand.R"), atol=NEAR)


def test_let_go_of_the_pose_stays():
    armature, targets = held_live()
    rigs.select(armature)
    targets["hand.L"].location.z -= 0.3
    before = poses(armature)
    bpy.ops.ikcore.live_pins()
    targets["hand.L"].location.z -= 0.3
    np.testing.assert_array_equal(poses(armature), before)


def test_blender_is_listened_to_while_something_is_held_and_no_longer(addon, tmp_path):
    def heard():
        handlers = bpy.app.handlers
        return [list(each) for each in (handlers.depsgraph_update_post, handlers.frame_change_post, handlers.load_pre)]

    before = heard()
    armature, _ = held_live()
    assert heard() != before
    bpy.ops.ikcore.live_pins()
    assert heard() == before
    bpy.ops.ikcore.live_pins()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "held.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "held.blend"))
    assert heard() == before
    armature = bpy.data.objects["Body"]
    assert [pin.name for pin in armature.ikcore_pins.pins] == list(HELD), "pins are saved"
    assert not addon.pins.interactive.is_on(armature)


def test_a_chain_stays_where_it_starts():
    chain = [(f"b{n}", f"b{n - 1}" if n else None, (0, 0, 0.3 * n), (0, 0.02 * n, 0.3 * n + 0.3)) for n in range(6)]
    armature = rigs.figure(chain)
    target = pinned(armature, "b5", rotation=False)["b5"]
    bpy.ops.ikcore.live_pins()
    target.location += Vector((0.4, 0.3, -0.5))
    np.testing.assert_allclose(heads(armature, "b0", "b5"), [(0, 0, 0), target.location], atol=NEAR)


def test_what_is_out_of_reach_is_said(addon):
    armature, targets = held_live()
    targets["hand.L"].location.x += 5.0
    bpy.context.view_layer.update()
    said = addon.pins.interactive.remarks(armature)
    assert any(text.startswith("hand.L: ") and text.endswith(" from its pin") for text in said)


def test_no_angle_is_said_where_there_is_none_to_speak_of(addon):
    bent, clip = (
        importlib.import_module(f"{addon.__name__}.pins.full_body"),
        SimpleNamespace(skeleton=SimpleNamespace(offsets=np.eye(3))),
    )
    errors = np.array([[[0.1, 2e-4], [0.1, 0.2], [0.0, 0.2]]])
    assert [each[1:3] for each in bent.missed_goals("abc", clip, errors)] == [(0.1, 0.0), (0.1, 0.2), (0.0, 0.2)]


def test_ik_locks_and_limits_hold():
    armature, targets = held_live()
    for side in (".L", ".R"):
        knee = armature.pose.bones["shin" + side]
        knee.lock_ik_y = knee.lock_ik_z = knee.use_ik_limit_x = True
        knee.ik_min_x, knee.ik_max_x = 0.0, 2.5
    elbow, chest = armature.pose.bones["forearm.L"], armature.pose.bones["chest"]
    elbow.lock_ik_x = elbow.lock_ik_y = elbow.lock_ik_z = True
    for axis in "xyz":
        setattr(chest, f"use_ik_limit_{axis}", True)
        setattr(chest, f"ik_min_{axis}", -0.1)
        setattr(chest, f"ik_max_{axis}", 0.2)
    targets["hand.L"].location += Vector((-0.4, -0.5, -0.9))
    bpy.context.view_layer.update()
    for side in (".L", ".R"):
        axis, angle = armature.pose.bones["shin" + side].rotation_quaternion.to_axis_angle()
        assert angle < 1e-4 or abs(axis.x) > 0.9999
        assert -1e-4 <= angle * axis.x <= 2.5
    assert elbow.rotation_quaternion.angle < 1e-5
    swing, twist = chest.rotation_quaternion.to_swing_twist("Y")
    assert swing.angle < 0.2 + 1e-4
    assert -0.1 - 1e-4 < twist < 0.2 + 1e-4
    assert max(swing.angle, abs(twist)) > 0.09, "the test does not come to the limit"


@pytest.mark.parametrize("locked", ["", "x", "z", "xy", "yz", "xz", "xyz"])
def test_limits_are_those_of_blenders_own_solver(addon, locked):
    """Random poses are allowed exactly if Blender's IK leaves them unchanged: it projects others onto its limits."""
    armature = rigs.figure([("a", None, (0, 0, 0), (0, 0, 1)), ("b", "a", (0, 0, 1), (0, 0, 2))])
    bone = armature.pose.bones["a"]
    for axis in "xyz":
        setattr(bone, f"lock_ik_{axis}", axis in locked)
        setattr(bone, f"use_ik_limit_{axis}", True)
    (bone.ik_min_x, bone.ik_max_x), (bone.ik_min_z, bone.ik_max_z) = (-0.3, 0.9), (-0.7, 0.2)
    bone.ik_min_y, bone.ik_max_y = -0.5, 0.4
    limit = addon.rig.ik_limits.Freedom.of(bone).limit()
    target = rigs.add_object("target")
    ik = armature.pose.bones["b"].constraints.new("IK")
    ik.target, ik.use_rotation, ik.iterations = target, True, 200
    rng, most = np.random.default_rng(3), 0.0
    for _ in range(40):
        target.location, target.rotation_euler = rng.normal(size=3), rng.normal(size=3)
        bpy.context.view_layer.update()
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["a"]
        turned = (bone.bone.matrix_local.inverted() @ shown.matrix).to_quaternion()
        most = max(most, turned.angle)
        assert limit.violation(np.array(turned)) < 1e-5
    assert most > 0.15 or locked == "xyz", "the test does not turn"


def test_locked_rotations_stay():
    armature, targets = held_live()
    chest = armature.pose.bones["chest"]
    chest.rotation_mode = "XYZ"
    chest.rotation_euler, chest.lock_rotation = (0.1, 0.2, 0.1), (True, True, True)
    targets["hand.L"].location += Vector((-0.3, -0.3, -0.4))
    np.testing.assert_allclose(heads(armature, "hand.L")[0], targets["hand.L"].location, atol=NEAR)
    np.testing.assert_allclose(chest.rotation_euler, (0.1, 0.2, 0.1), atol=1e-6)


def test_what_one_drags_is_the_active_object(addon):
    """The panel stays that of the armature, and says what is out of reach; so do its buttons."""
    armature, targets = held_live()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = targets["hand.L"]
    assert addon.pins.pins.pinned_armature(bpy.context) == armature
    assert not bpy.ops.ikcore.pin.poll(), "that is for bones"
    assert bpy.ops.ikcore.live_pins() == {"FINISHED"}
    assert not addon.pins.interactive.is_on(armature)
    targets["hand.L"].location.z -= 0.2
    assert bake() == {"FINISHED"}
    assert armature.animation_data.action
    assert bpy.ops.ikcore.unpin(index=3) == {"FINISHED"}
    assert [pin.name for pin in armature.ikcore_pins.pins] == list(HELD[:3])
    bpy.context.view_layer.objects.active = rigs.add_object("Other")
    assert not bpy.ops.ikcore.live_pins.poll()


def test_a_pin_that_is_nowhere_is_said(addon):
    armature, targets = held_live()
    before, place = poses(armature), targets["hand.L"].location.z
    targets["hand.L"].location.z = np.nan
    np.testing.assert_array_equal(poses(armature), before)
    assert addon.pins.interactive.remarks(armature) == ["The pin of hand.L has no finite place: move its target"]
    targets["hand.L"].location.x, targets["hand.L"].location.z = 0.57, place - 0.2  # within reach
    np.testing.assert_allclose(heads(armature, "hand.L")[0], targets["hand.L"].location, atol=NEAR)
    assert not addon.pins.interactive.remarks(armature)


def weight(armature):
    """Centre of mass of a body without skin, with bone lengths as masses: an independent sum."""
    bpy.context.view_layer.update()
    bones = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    lengths = np.array([bone.bone.length for bone in bones])
    return lengths @ np.array([bone.center for bone in bones]) / lengths.sum()


@pytest.mark.parametrize("step", [(-0.3, -0.9, -0.5), (0.5, 0.0, -0.2)])
def test_balance_is_kept_over_the_feet(step):
    armature, targets = held_live()
    armature.ikcore_pins.pins["hand.R"].use = False
    targets["hand.L"].location += Vector(step)
    feet = np.array([bone.tail for bone in armature.pose.bones if bone.name[:4] in ("foot", "toes")])
    feet = np.concatenate([feet, heads(armature, "foot.L", "foot.R")])
    low, high = feet.min(axis=0) - 0.06, feet.max(axis=0) + 0.06  # half the width of a foot
    off = weight(armature)
    assert max(*(low - off)[:2], *(off - high)[:2]) > 0.02, "the test does not fall"
    for name in ("foot.L", "foot.R"):
        armature.ikcore_pins.pins[name].supports_weight = True
    armature.ikcore_pins.balance = True
    on = weight(armature)
    assert max(*(low - on)[:2], *(on - high)[:2]) < 1e-3
    np.testing.assert_allclose(
        heads(armature, "foot.L", "foot.R"), [targets[name].location for name in HELD[2:]], atol=NEAR
    )


def test_edges_round_points_are_those_of_their_hull(addon):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(50, 9, 2))
    points[:25, 5:] = points[:25, :4]  # some of them twice
    outward, there = addon.pins.full_body.edges(points)
    where = points[np.arange(50), rng.integers(0, 9, 50)] * 0.0 + rng.normal(size=(50, 2)) * 1.5
    sides = np.einsum("fkd,fkd->fk", where[:, np.newaxis] - points, outward)
    inside = ((sides <= 0) | (there == 0)).all(axis=1)
    assert 5 < inside.sum() < 45
    for each, hull, found in zip(where, points, inside, strict=True):
        angles = np.sort(np.arctan2(*(hull - each).T))
        assert found == (np.diff([*angles, angles[0] + 2 * np.pi]).max() < np.pi), (
            "seen from inside points are all round"
        )


def test_a_body_weighs_by_its_skin(addon):
    armature = rigs.person()
    mesh = bpy.data.meshes.new("block")
    corners = np.array([(x, y, z) for x in (-0.2, 0.2) for y in (-0.1, 0.1) for z in (1.1, 1.5)])
    mesh.from_pydata(corners.tolist(), [], [])
    item = rigs.add_object("block", mesh)
    item.vertex_groups.new(name="chest").add(range(8), 1.0, "REPLACE")
    item.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    weights = addon.rig.skin.weights(armature)
    assert list(weights) == ["chest"]
    mass, centre = weights["chest"]
    chest = armature.data.bones["chest"]
    np.testing.assert_allclose(chest.matrix_local @ Vector(centre), (0, 0, 1.3), atol=1e-2)
    assert 0.9 < mass / (0.4 * 0.2 * 0.4) < 1.3  # a box along a bone that leans


# --- keys -------------------------------------------------------------------------------------------------------------


def moving():
    """A body that moves, whose feet and one hand are pinned where they are in the first frame."""
    armature = rigs.person()
    rigs.move(armature, (1, 10, 20), size=0.1)
    bpy.context.scene.frame_set(1)
    return armature, pinned(armature, "foot.L", "foot.R", "hand.L")


def test_the_baked_pose_is_shown_at_once():
    armature = rigs.person()
    target = pinned(armature, *HELD)["hand.L"]
    for frame, place in ((1, (0.67, -0.02, 1.4)), (20, (0.5, -0.2, 1.1))):
        target.location = place
        target.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(20)
    assert bake() == {"FINISHED"}
    np.testing.assert_allclose(heads(armature, "hand.L")[0], (0.5, -0.2, 1.1), atol=1e-3)


def test_pinned_bones_stand_still_in_the_keys():
    armature, targets = moving()
    source, before = armature.animation_data.action, rigs.sampled(armature, FRAMES)
    old = rigs.action_by_value(source)
    assert bake() == {"FINISHED"}
    assert rigs.action_by_value(source) == old
    assert armature.animation_data.action != source
    after, number = rigs.sampled(armature, FRAMES), armature.pose.bones.find
    for name, target in targets.items():
        places = after[:, number(name), :3, 3]
        assert np.ptp(before[:, number(name), :3, 3], axis=0).max() > 0.05, "the test does not move"
        np.testing.assert_allclose(places, np.tile(target.location, (len(FRAMES), 1)), atol=NEAR)
    np.testing.assert_allclose(after[0], before[0], atol=NEAR)
    turns = np.degrees(rigs.turn_between(after[1:], after[:-1])).max()
    assert turns < 2.5 * np.degrees(rigs.turn_between(before[1:], before[:-1])).max(), "something pops"


@pytest.mark.parametrize("balance", [False, True])
def test_live_shows_what_is_baked(balance):
    armature, targets = moving()
    for name in ("foot.L", "foot.R"):
        armature.ikcore_pins.pins[name].supports_weight = True
    armature.ikcore_pins.balance = balance
    targets["hand.L"].location += Vector((-0.1, -0.2, -0.1))
    bpy.context.scene.frame_set(13)
    bpy.ops.ikcore.live_pins()
    shown = poses_after_update(armature)
    bpy.ops.ikcore.live_pins()
    assert bake() == {"FINISHED"}
    bpy.context.scene.frame_set(13)
    np.testing.assert_allclose(poses(armature), shown, atol=1e-4)


def poses_after_update(armature):
    """As shown now, without a change of frame, which would play the animation."""
    bpy.context.view_layer.update()
    bpy.context.view_layer.update()
    flat = np.empty(16 * len(armature.pose.bones), np.float32)
    armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones.foreach_get("matrix", flat)
    return flat.reshape(-1, 4, 4).transpose(0, 2, 1)


def test_baked_again_it_starts_from_the_original():
    armature, targets = moving()
    place = targets["hand.L"].location.copy()
    bake()
    first = rigs.sampled(armature, FRAMES)
    targets["hand.L"].location.z -= 0.4
    bake()
    assert np.abs(rigs.sampled(armature, FRAMES) - first).max() > 0.1
    targets["hand.L"].location = place
    bake()
    np.testing.assert_allclose(rigs.sampled(armature, FRAMES), first, atol=1e-5)
    assert sum("Baked Pins" in action.name for action in bpy.data.actions) == 1


def test_a_bake_is_one_undo():
    moving()
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    bpy.ops.ikcore.bake_pins("EXEC_DEFAULT", True, frame_range="CUSTOM", frame_start=1, frame_end=20)
    assert rigs.state() != before
    bpy.ops.ed.undo()
    assert rigs.state() == before


@pytest.mark.parametrize("keyed", [(), ("hips", "chest", "thigh.L"), HELD])
@pytest.mark.parametrize("method", ["full_body", "fabrik", "ccd"])
def test_undo_brings_back_what_was_held_live(keyed, method):
    """Animation plays on some of its bones and pins are out of reach, so the start of a solve matters."""
    armature = rigs.person()
    rigs.key_pose(armature, np.random.default_rng(3), (1, 20), bones=keyed)
    targets = pinned(armature, *HELD)
    armature.ikcore_pins.method = method
    bpy.ops.ikcore.live_pins()
    for step in ((0.8, -0.3, 0.5), (0.3, 0.9, 1.0)):
        targets["hand.L"].location += Vector(step)
        bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="before")
    seen = [poses_after_update(bpy.data.objects["Body"])]
    for _ in range(2):
        bpy.ops.ikcore.bake_pins("EXEC_DEFAULT", True, frame_range="CUSTOM", frame_start=1, frame_end=20)
        seen.append(poses_after_update(bpy.data.objects["Body"]))
    for step, number in ((bpy.ops.ed.undo, 1), (bpy.ops.ed.undo, 0), (bpy.ops.ed.redo, 1), (bpy.ops.ed.undo, 0)):
        step()
        np.testing.assert_allclose(poses_after_update(bpy.data.objects["Body"]), seen[number], atol=1e-5)
    bpy.data.objects["Body"].pose.bones["spine"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    turned = poses_after_update(bpy.data.objects["Body"])
    assert np.abs(turned - seen[0]).max() > 0.05, "what is posed afterwards is no longer what undo brought back"


def test_a_bake_that_changes_nothing_says_so(capfd):
    pinned(rigs.person(), *HELD)
    assert bake() == {"FINISHED"}
    assert "nothing has changed: the bones are already at their pins" in capfd.readouterr().out
    assert not bpy.data.actions


# --- refusals ---------------------------------------------------------------------------------------------------------


def refused(match, act=bake):
    before = rigs.state()
    with pytest.raises(RuntimeError, match=match):
        act()
    assert rigs.state() == before


def test_no_pins():
    rigs.select(rigs.person())
    refused("has no pins: select bones in Pose Mode and press Pin")
    refused("has no pins", bpy.ops.ikcore.live_pins)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda armature, pin: setattr(armature.ikcore_pins, "balance", True), "turn it on for the feet"),
        (lambda armature, pin: setattr(pin, "target", None), "The pin of hand.L has no target"),
        (lambda armature, pin: setattr(pin, "name", "paw"), "has no pinned bone paw"),
        (lambda armature, pin: setattr(pin, "target", armature), "has no bone of Body"),
        (lambda armature, pin: setattr(pin, "subtarget", "hand"), "of no armature"),
        (lambda armature, pin: setattr(armature.ikcore_pins, "root_bone", "belly"), "no root bone belly"),
        (
            lambda armature, pin: [setattr(pin, "target", armature), setattr(pin, "subtarget", "head")],
            "The target of the pin of hand.L follows hips, which the pin moves",
        ),
        (
            lambda armature, pin: armature.pose.bones["forearm.L"].constraints.new("LIMIT_ROTATION"),
            "forearm.L has constraint Limit Rotation",
        ),
    ],
)
def test_what_cannot_be_held(change, match):
    armature = rigs.person()
    target = pinned(armature, "hand.L", "foot.L")["hand.L"]
    target.location.z -= 0.5
    change(armature, armature.ikcore_pins.pins[0])
    bpy.context.view_layer.update()
    refused(match)


# --- knees, and targets beyond reach ----------------------------------------------------------------------------------

TRIPLES = [(f"thigh{side}", f"shin{side}", f"foot{side}") for side in (".L", ".R")]


def bends(armature, hinge=(1, 0, 0)):
    """By how much knees are in front of the line from hip to ankle, negative behind it, in the frame of the thigh."""
    bpy.context.view_layer.update()
    bones, found = armature.pose.bones, []
    for upper, lower, end in TRIPLES:
        hip, knee, ankle = (bones[name].head for name in (upper, lower, end))
        axis = bones[upper].matrix.to_3x3() @ bones[upper].bone.matrix_local.to_3x3().inverted() @ Vector(hinge)
        found.append((knee - hip).dot((ankle - hip).cross(axis).normalized()))
    return np.array(found)


def drag(armature, target, step, count):
    """Drag a pin in steps: how knees are bent, and the most that a bone turns from step to step, in degrees."""
    knees, turned = [], [poses_after_update(armature)]
    for _ in range(count):
        target.location += Vector(step)
        turned.append(poses_after_update(armature))
        knees.append(bends(armature))
    return np.array(knees), np.degrees(rigs.turn_between(np.array(turned[1:]), np.array(turned[:-1]))).max(axis=-1)


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("step", [(-0.01, -0.005, -0.05), (-0.04, -0.02, 0.0)])
def test_knees_do_not_bend_backward(step, balance):
    armature, targets = held_live()
    for name in ("foot.L", "foot.R"):
        armature.ikcore_pins.pins[name].supports_weight = True
    armature.ikcore_pins.balance = balance
    knees, _ = drag(armature, targets["hand.L"], step, 40)
    assert np.ptp(knees, axis=0).max() > 0.02, "the test does not bend"
    assert knees.min() > -1e-3


@pytest.mark.parametrize("rotation", [False, True])
def test_a_hand_near_the_floor_bends_knees_in_balance(rotation):
    armature = rigs.person()
    targets = pinned(armature, "hand.L", "foot.L", "foot.R")
    armature.ikcore_pins.pins["hand.L"].rotation = rotation
    for name in ("foot.L", "foot.R"):
        armature.ikcore_pins.pins[name].supports_weight = True
    armature.ikcore_pins.balance = True
    bpy.ops.ikcore.live_pins()
    target, feet = targets["hand.L"], heads(armature, "foot.L", "foot.R")
    corners = np.concatenate([feet, [bone.tail for bone in armature.pose.bones if bone.name[:4] in ("foot", "toes")]])
    target.location = (0.2, -0.35, 0.7)
    poses_after_update(armature)
    _, turned = drag(armature, target, (0.0, 0.0, -0.007), 86)
    assert turned.max() < 5.0
    for height in (0.1, 0.2, 0.3):
        target.location = (0.2, -0.35, height)
        np.testing.assert_allclose(heads(armature, "hand.L")[0], target.location, atol=1e-3)
        np.testing.assert_allclose(heads(armature, "foot.L", "foot.R"), feet, atol=1e-4)
        assert ((weight(armature) > corners.min(axis=0) - 0.06) & (weight(armature) < corners.max(axis=0) + 0.06))[
            :2
        ].all()
        bones = armature.pose.bones
        angles = [bones[upper].vector.angle(bones[lower].vector) for upper, lower, _ in TRIPLES]
        assert np.degrees(angles).min() > 40.0
        assert bends(armature).min() > 0.0
        assert bones["spine"].vector.angle(bones["chest"].vector) < np.pi / 3.0, "the spine folds"
        assert bones["hips"].head.y > feet[:, 1].min() - 0.1, "the pelvis stays over the feet"


@pytest.mark.parametrize(
    ("step", "start"), [((1.0, 0.0, 0.0), 0.0), ((0.6, 0.0, -0.3), 0.0), ((-0.3, -0.9, -0.5), 0.8)]
)
@pytest.mark.parametrize("balance", [False, True])
def test_the_boundary_of_reach_makes_nothing_jump(step, start, balance):
    armature, targets = held_live()
    for name in ("foot.L", "foot.R"):
        armature.ikcore_pins.pins[name].supports_weight = True
    armature.ikcore_pins.balance = balance
    way = Vector(step).normalized()
    targets["hand.L"].location += way * start
    knees, turned = drag(armature, targets["hand.L"], 0.007 * way, 30)
    assert turned.max() < 5.0
    assert knees.min() > -1e-3


@pytest.mark.parametrize("method", ["full_body", "fabrik"])
@pytest.mark.parametrize(("step", "start"), [((0.3, 0.0, 1.0), 0.1), ((1.0, 0.0, 0.0), 0.1), ((0.0, -0.3, -1.0), 0.8)])
def test_targets_beyond_reach_make_nothing_jump(method, step, start):
    armature, targets = held_live()
    armature.ikcore_pins.method = method
    way = Vector(step).normalized()
    targets["hand.L"].location += way * start
    _, turned = drag(armature, targets["hand.L"], 0.007 * way, 60)
    assert np.linalg.norm(heads(armature, "hand.L")[0] - targets["hand.L"].location) > 0.1, "the test stays in reach"
    assert turned.max() < 5.0


def straight_legs(**shape):
    """Hips on straight legs, with a spine; hips and feet pinned. Knees may be bent at rest, forward (-Y)."""
    bend = shape.get("bend", 0.0)
    bones = [
        ("hips", None, (0, 0, 1.0), (0, 0, 1.1)),
        ("spine", "hips", (0, 0, 1.1), (0, 0, 1.4)),
        ("head", "spine", (0, 0, 1.4), (0, 0, 1.6)),
    ]
    for side, x in ((".L", 0.1), (".R", -0.1)):
        bones += [
            ("thigh" + side, "hips", (x, 0, 1.0), (x, -bend, 0.55)),
            ("shin" + side, "thigh" + side, (x, -bend, 0.55), (x, 0, 0.1)),
            ("foot" + side, "shin" + side, (x, 0, 0.1), (x, -0.15, 0.05)),
            ("toes" + side, "foot" + side, (x, -0.15, 0.05), (x, -0.2, 0.05)),
        ]
    return rigs.figure(bones, name="Body")


def bend_knees(armature, angle, frame=None):
    """Turn both shins about the X axis of the world at rest, positive for knees that go forward."""
    for _, lower, _ in TRIPLES:
        bone = armature.pose.bones[lower]
        axis = bone.bone.matrix_local.to_3x3().inverted() @ Vector((1, 0, 0))
        bone.rotation_quaternion = Quaternion(axis, angle)
        if frame is not None:
            bone.keyframe_insert("rotation_quaternion", frame=frame)


@pytest.mark.parametrize("method", ["full_body", "fabrik", "ccd"])
@pytest.mark.parametrize("bend", [0.0, 0.03])
def test_straight_legs_bend_for_hips_that_come_straight_down(method, bend):
    armature = straight_legs(bend=bend)
    targets = pinned(armature, "hips", "foot.L", "foot.R")
    armature.ikcore_pins.method = method
    bpy.ops.ikcore.live_pins()
    targets["hips"].location.z -= 0.3
    np.testing.assert_allclose(heads(armature, "hips")[0], targets["hips"].location, atol=2e-3)
    np.testing.assert_allclose(heads(armature, "foot.L")[0], targets["foot.L"].location, atol=2e-3)


@pytest.mark.parametrize("way", [1, -1])
def test_knees_that_are_straight_at_rest_bend_as_the_pose_does(way):
    """By the pose that is shown, or by keys of other frames; whichever side that is."""
    for keyed in (False, True):
        rigs.new_scene()
        armature = straight_legs()
        bend_knees(armature, way * 0.8, 1 if keyed else None)
        if keyed:
            bend_knees(armature, 0.0, 20)
            bpy.context.scene.frame_set(20)
        targets = pinned(armature, "spine", "foot.L", "foot.R")
        bpy.ops.ikcore.live_pins()
        for step in ((0.0, 0.0, -0.2), (0.0, 0.2, 0.1), (0.1, -0.4, 0.0)):
            targets["spine"].location += Vector(step)
            assert (way * bends(armature)).min() > -1e-3


def test_the_sides_of_knees(addon):
    """From rest, else from poses that agree; not from others, nor over limits of the user's own, nor unasked for."""
    knees = importlib.import_module(f"{addon.__name__}.pins.knees")

    def sides(armature, turns):
        armature.ikcore_pins.balance = False
        held = addon.pins.pins.read_pins(armature)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        reading = addon.animation.clip_reader.now(bpy.context, depsgraph, armature, held.bones)
        return knees.one_way(held.knees, reading.clip, turns)

    armature = straight_legs(bend=0.05)
    pinned(armature, "foot.L", "toes.R")
    found = sides(armature, {})
    assert list(found) == ["shin.L", "shin.R"]
    for name, side in found.items():
        hinge = armature.data.bones[name].matrix_local.to_3x3() @ Vector(side.bend(None))
        np.testing.assert_allclose(hinge, (1, 0, 0), atol=1e-6)
        assert side.back == pytest.approx(2 * np.arctan(0.05 / 0.45), abs=1e-3)
    armature.pose.bones["shin.L"].use_ik_limit_x = True
    assert list(sides(armature, {})) == ["shin.R"]
    armature.ikcore_pins.one_way = False
    assert not sides(armature, {})

    rigs.new_scene()
    armature = straight_legs()
    pinned(armature, "foot.L")
    axes = np.array([(0.0, np.sin(a), 0.0, np.cos(a)) for a in np.radians((0.0, 40.0, 100.0))])
    turns = np.concatenate([np.full((3, 1), np.cos(0.5)), np.sin(0.5) * axes[:, [3, 0, 1]]], axis=1)
    assert not sides(armature, {}), "straight at rest and in the pose"
    assert list(sides(armature, {"shin.L": turns[:2]})) == ["shin.L"]
    assert not sides(armature, {"shin.L": turns}), "poses that differ tell no side"
    small = np.array([[np.cos(0.1), np.sin(0.1), 0.0, 0.0]])
    assert not sides(armature, {"shin.L": small}), "nor do those that hardly bend"


def test_poses_that_bend_backward_are_within_the_limit(addon):
    """The bend limits of knees never change the displayed pose; only pins do."""
    knees = importlib.import_module(f"{addon.__name__}.pins.knees")
    armature = straight_legs(bend=0.05)
    pinned(armature, "foot.L")
    held, rng = addon.pins.pins.read_pins(armature), np.random.default_rng(2)
    reading = addon.animation.clip_reader.now(bpy.context, bpy.context.evaluated_depsgraph_get(), armature, held.bones)
    for size in (0.02, 0.3, 1.0):
        turns = rng.normal(size=(50, 4)) * (0.0, size, size, size) + (1.0, 0.0, 0.0, 0.0)
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        limit = knees.one_way(held.knees, reading.clip, {"shin.L": turns})["shin.L"].limit()
        assert limit.violation(turns).max() < 1e-6


def test_spines_and_tails_have_no_knees(addon):
    tail = [("tail0", "hips", (0, 0.1, 0.9), (0, 0.4, 0.9))]
    tail += [(f"tail{n}", f"tail{n - 1}", (0, 0.1 + 0.3 * n, 0.9), (0, 0.4 + 0.3 * n, 0.85)) for n in (1, 2, 3)]
    armature = rigs.person(tail)
    pinned(armature, "head", "tail3", "hand.R", "toes.L")
    assert [knee[1] for knee in addon.pins.pins.read_pins(armature).knees] == ["forearm.R", "shin.L"]


# --- what cannot be pinned, and what locks keep -----------------------------------------------------------------------


def test_what_moves_nothing_is_not_pinned():
    armature = rigs.control_rig()  # IK_FK of hips has what deforms follow FK
    armature.update_tag()
    bpy.context.view_layer.update()
    rigs.select(armature, "shin_fk.L", "MCH-shin.L")
    refused("MCH-shin.L moves no mesh: pin a bone", bpy.ops.ikcore.pin)
    assert list(pinned(armature, "shin_fk.L")) == ["shin_fk.L"]
    armature.pose.bones["hips"]["IK_FK"] = 0.0
    armature.update_tag()
    bpy.context.view_layer.update()
    for act in (bpy.ops.ikcore.live_pins, bake):
        refused("shin_fk.L moves no mesh", act)
    # a bone without a mesh of its own, that hangs on one that has
    rigs.new_scene()
    armature = rigs.person([("socket", "hand.L", (0.75, 0, 1.4), (0.75, 0, 1.3))])
    armature.data.bones["socket"].use_deform = False
    assert list(pinned(armature, "socket")) == ["socket"]


def overridden(folder, make):
    """An override of a collection of another file, with the armature of `make` in it, and that armature."""
    armature = make()
    armature.name = "Body"
    bpy.ops.object.mode_set(mode="OBJECT")
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(armature)
    bpy.context.scene.collection.objects.unlink(armature)
    linked = rigs.linked(folder / "rig.blend", "collections", "Character")
    bpy.context.scene.collection.children.link(linked)
    made = linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    bpy.context.scene.collection.children.unlink(linked)
    assert made.name in bpy.context.scene.collection.children
    return made.objects["Body"]


def test_pins_of_an_override_are_in_the_collection_of_the_scene(tmp_path):
    armature = overridden(tmp_path, rigs.person)
    assert armature.override_library
    targets = pinned(armature, *HELD)
    assert all(target.users_collection == (bpy.context.scene.collection,) for target in targets.values())
    bpy.ops.ikcore.live_pins()
    targets["hand.L"].location -= Vector((0.1, 0.0, 0.2))
    np.testing.assert_allclose(heads(armature, "hand.L")[0], targets["hand.L"].location, atol=NEAR)


def test_a_pin_that_fails_leaves_nothing_behind(addon, monkeypatch):
    armature, add, made = rigs.person(), addon.animation.scene_frames.add_empty, []

    def failing(*args):
        if made:
            raise RuntimeError("no more empties")
        made.append(add(*args))
        return made[-1]

    monkeypatch.setattr(addon.animation.scene_frames, "add_empty", failing)
    rigs.select(armature, *HELD)
    refused("no more empties", bpy.ops.ikcore.pin)
    assert not len(armature.ikcore_pins.pins)
    assert not [item for item in bpy.data.objects if item.type == "EMPTY"]


def test_limbs_of_an_override_get_ik(tmp_path):
    armature = overridden(tmp_path, rigs.person)
    rigs.key_pose(armature, np.random.default_rng(1), (1, 20), bones=("thigh.L", "shin.L"))
    rigs.select(armature, "thigh.L", "shin.L")
    assert bpy.ops.ikcore.fk_to_ik(frame_range="CUSTOM", frame_start=1, frame_end=20) == {"FINISHED"}
    empties = [item for item in bpy.data.objects if item.type == "EMPTY"]
    assert sorted(item.name for item in empties) == ["shin.L pole", "shin.L target"]
    assert all(item.users_collection == (bpy.context.scene.collection,) for item in empties)


@pytest.mark.parametrize("size", [0.0, 0.3])
def test_locks_are_told_of_where_they_keep_something(addon, size):
    """A note, not an error; and nothing where what is locked would not change anyway."""
    armature, targets = held_live()
    chest = armature.pose.bones["chest"]
    chest.lock_rotation = (True, False, True)
    chest.rotation_quaternion = Quaternion((0, 1, 0), size)
    targets["hand.L"].location += Vector((-0.1, -0.2, -0.1))
    bpy.context.view_layer.update()
    assert not addon.pins.interactive.remarks(armature)
    assert not addon.pins.interactive.notes(armature)
    armature.pose.bones["hips"].lock_location = (True, True, False)
    targets["hand.L"].location += Vector((-0.2, -0.4, -0.3))
    bpy.context.view_layer.update()
    assert not any("lock" in text for text in addon.pins.interactive.remarks(armature))


# --- Mixamo's people --------------------------------------------------------------------------------------------------

MIXAMO = [f"mixamorig:{side}{part}" for side in ("Left", "Right") for part in ("Hand", "Foot")]


def mixamo_live():
    """Mixamo's 65 bones, in centimetres with Y up, held live by hands and feet: the armature and its pins."""
    armature = rigs.mixamo_person()
    targets = pinned(armature, *MIXAMO)
    assert len(armature.pose.bones) == 65
    bpy.ops.ikcore.live_pins()
    return armature, targets


def test_a_mixamo_person_is_held(addon):
    """Hands and feet are at their pins; knees and elbows are found, though arms are straight and Y is up."""
    armature, targets = mixamo_live()
    triples = {(upper[-6:], lower[-7:]) for upper, lower, _ in addon.pins.pins.read_pins(armature).knees}
    assert len(triples) == 4
    before = heads(armature, *MIXAMO)
    targets["mixamorig:LeftHand"].location += Vector((-0.4, -0.3, -0.3))
    after = heads(armature, *MIXAMO)
    np.testing.assert_allclose(after[1:], before[1:], atol=NEAR)
    assert np.linalg.norm(after[0] - before[0] - (-0.4, -0.3, -0.3)) < 1e-3
    assert not addon.pins.interactive.remarks(armature)
    assert not addon.pins.interactive.notes(armature)


@pytest.mark.parametrize("step", [(0.0, 0.0, -0.01), (0.0, -0.01, 0.0)])
def test_knees_of_a_mixamo_person_bend_forward(step):
    """Hips that are pushed down or ahead bend both knees to the front, and nothing jumps."""
    armature, _ = mixamo_live()
    hips = pinned(armature, "mixamorig:Hips")["mixamorig:Hips"]
    for hand in MIXAMO[::2]:
        armature.ikcore_pins.pins[hand].use = False
    poses, knees = [], []
    for _ in range(20):
        hips.location += Vector(step)
        poses.append(poses_after_update(armature))
        upper, lower, ankle = heads(armature, *(f"mixamorig:Left{part}" for part in ("UpLeg", "Leg", "Foot")))
        along = (ankle - upper) / np.linalg.norm(ankle - upper)
        knees.append((lower - upper - (lower - upper) @ along * along)[1])
    assert max(knees) < 0.0, "in front is -Y"
    assert np.degrees(rigs.turn_between(np.array(poses[1:]), np.array(poses[:-1]))).max() < 15.0


def test_a_mixamo_person_is_baked():
    armature, targets = mixamo_live()
    target = targets["mixamorig:RightFoot"]
    for frame, z in ((1, 0.0), (20, 0.2)):
        target.location.z += z
        target.keyframe_insert("location", frame=frame)
    assert bake() == {"FINISHED"}
    bpy.ops.ikcore.live_pins()
    for frame in (1, 10, 20):
        bpy.context.scene.frame_set(frame)
        place = np.array(target.matrix_world.translation)
        np.testing.assert_allclose(heads(armature, "mixamorig:RightFoot")[0], place, atol=1e-3)


def test_a_dog_is_held(addon):
    """Bones along -Y, as the spine of a quadruped, are not scaled, whatever Blender's rest matrices round to."""
    armature = crawlers.dog()
    targets = pinned(armature, "foot.L", "foot.R", "paw.L", "paw.R")
    bpy.ops.ikcore.live_pins()
    before = heads(armature, *targets)
    targets["paw.L"].location += Vector((0, -0.05, 0.08))
    after = heads(armature, *targets)
    assert not addon.pins.interactive.remarks(armature)
    wanted = [(0, -0.05, 0.08) if name == "paw.L" else (0, 0, 0) for name in targets]
    np.testing.assert_allclose(after - before, wanted, atol=1e-3)
