"""Contents that the bake writes into actions, and contents that it leaves unchanged."""

import importlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
from mathutils import Euler

ROTATION = 'pose.bones["{}"].rotation_quaternion'


def bake(first=1, last=20, **options):
    options |= {"solver": "TWO_BONE", "frame_range": "CUSTOM", "frame_start": first, "frame_end": last}
    assert bpy.ops.ikcore.bake_ik(**options) == {"FINISHED"}


def played(item):
    """The curves an object plays."""
    return rigs.curves_of(item.animation_data.action, item.animation_data.action_slot)


def values(item, path):
    """The values of all channels of one rotation on the frames of its keys: (keys, channels)."""
    curves = [curve for (data_path, _), curve in sorted(played(item).items()) if data_path == path]
    return np.array([[key.co.y for key in curve.keyframe_points] for curve in curves]).T


def animated_leg(**options):
    leg = rigs.leg(**options)
    rigs.key_pose(leg, np.random.default_rng(1), (-3, 1, 5.5, 10, 20, 27), bones=("hips", "upper", "lower", "tip"))
    leg.location.x = 0.1
    leg.keyframe_insert("location", frame=3)
    rigs.select(leg, "lower")
    return leg


def test_original_action_stays_and_is_kept():
    leg = animated_leg()
    old = leg.animation_data.action
    name, before = old.name, rigs.action_by_value(old)
    bake()
    new = leg.animation_data.action
    assert new != old
    assert new.name == f"{name} Baked IK"
    assert old.name == name
    assert rigs.action_by_value(old)[2] == before[2]
    assert (old.users, old.use_fake_user) == (1, True), "the file would lose the original"
    assert leg.animation_data.action_slot.identifier == old.slots[0].identifier


def test_original_with_another_user_gets_no_fake_one():
    leg = animated_leg()
    old = leg.animation_data.action
    rigs.add_object("Other user").animation_data_create().action = old
    bake()
    assert not old.use_fake_user
    assert old.users == 1


def test_only_rotations_of_the_two_bones_are_keyed():
    leg = animated_leg()
    before = {at: rigs.keys_of(curve) for at, curve in played(leg).items()}
    bake()
    after = {at: rigs.keys_of(curve) for at, curve in played(leg).items()}
    assert before.keys() == after.keys()
    changed = {at for at in before if before[at] != after[at]}
    assert changed == {(ROTATION.format(name), index) for name in ("upper", "lower") for index in range(4)}


def test_no_action_before():
    leg = rigs.leg()
    assert leg.animation_data is None
    bake()
    assert leg.animation_data.action.name == "Leg Baked IK"
    assert {path for path, _ in played(leg)} == {ROTATION.format("upper"), ROTATION.format("lower")}
    assert leg.animation_data.action_slot.identifier == "OBLeg"


def test_keys_linear_grouped_and_one_a_frame():
    leg = rigs.leg()
    bake(3, 9)
    for (path, _), curve in played(leg).items():
        assert [key.co.x for key in curve.keyframe_points] == list(range(3, 10))
        assert {key.interpolation for key in curve.keyframe_points} == {"LINEAR"}
        assert {key.handle_left_type for key in curve.keyframe_points} == {"AUTO_CLAMPED"}
        assert all(abs(key.handle_left.x - key.co.x) < 1 for key in curve.keyframe_points), "handles at the origin"
        assert curve.group.name == path.split('"')[1]


@pytest.mark.parametrize(("first", "last"), [(5, 12), (1, 10), (-3, 27)])
def test_keys_outside_the_range_stay(first, last):
    leg = animated_leg()
    for curve in played(leg).values():
        for key in curve.keyframe_points:
            key.handle_left_type = key.handle_right_type = "FREE"
            key.handle_right.y += 0.1
            key.interpolation = "BEZIER" if key.co.x < 15 else "SINE"
            key.type = "EXTREME"
    before = {at: rigs.keys_of(curve) for at, curve in played(leg).items()}
    bake(first, last)
    for at, curve in played(leg).items():
        if at[0] in {ROTATION.format("upper"), ROTATION.format("lower")}:
            keys = rigs.keys_of(curve)
            outside = [key for key in before[at] if not first <= key[0][0] <= last]
            assert sorted(key[0][0] for key in keys) == sorted(
                [*(key[0][0] for key in outside), *range(first, last + 1)]
            )
            assert [key for key in keys if not first <= key[0][0] <= last] == outside


@pytest.mark.parametrize("output", ["copy", "smooth"])
@pytest.mark.parametrize("near", [0.004, 0.0099])
def test_a_key_beside_the_range_is_one_on_its_end(near, output, addon):
    """Blender takes keys nearer than 0.01 frame for one: files made at another rate have such."""
    leg = animated_leg()
    for curve in played(leg).values():
        for frame in (20 + near, 1 - near, 23, 23.004, 27 + near):
            points = curve.keyframe_points
            points.add(1)
            points[-1].co = (frame, 0.1)
        curve.keyframe_points.sort()
    before = {at: rigs.keys_of(curve) for at, curve in played(leg).items()}
    frames, slopes = np.arange(1, 21), np.zeros(20) if output == "smooth" else None
    if output == "copy":
        bake()
    else:
        for (path, index), curve in played(leg).items():
            channel = addon.animation.actions.Channel(path, index, curve.group.name, np.zeros(20), slopes=slopes)
            addon.animation.actions.write_keys(addon.animation.actions.played_bag(leg.animation_data), channel, frames)
    for name in ("upper", "lower"):
        for (path, index), curve in played(leg).items():
            if path == ROTATION.format(name):
                keys = rigs.keys_of(curve)
                outside = [key for key in before[path, index] if not 0.5 <= key[0][0] <= 20.5]
                assert [key for key in keys if not 0.5 <= key[0][0] <= 20.5] == outside
                inside = [key[0][0] for key in keys if 0.5 <= key[0][0] <= 20.5]
                assert inside == list(range(1, 21))


def test_constraint_is_muted_not_removed_and_no_other():
    leg = rigs.leg()
    rigs.add_limb(leg, ".b", at=(0.5, 0, 0))
    rigs.add_ik(leg, ".b", target=bpy.data.objects["Leg target"])
    rigs.select(leg, "lower")
    bake()
    assert [leg.pose.bones[name].constraints[0].mute for name in ("lower", "lower.b")] == [True, False]


def test_quaternions_keep_their_sign():
    leg = _spinning("QUATERNION")
    numbers = values(leg, ROTATION.format("upper"))
    assert np.abs(np.diff(numbers, axis=0)).max() < 0.3


@pytest.mark.parametrize("mode", rigs.ORDERS)
def test_eulers_do_not_jump(mode):
    leg = _spinning(mode)
    numbers = values(leg, 'pose.bones["upper"].rotation_euler')
    assert np.ptp(numbers, axis=0).max() > np.pi, "the test does not pass a half turn"
    # near a gimbal lock angles must move fast: but never more than Blender's own choice would let them
    compatible = [Euler(numbers[0], mode)]
    for triple in numbers[1:]:
        compatible.append(Euler(triple, mode).to_quaternion().to_euler(mode, compatible[-1]))
    assert np.abs(np.diff(numbers, axis=0)).max() < np.abs(np.diff(np.array(compatible), axis=0)).max() + 1e-3


def test_axis_angles_do_not_jump():
    leg = _spinning("AXIS_ANGLE")
    numbers = values(leg, 'pose.bones["upper"].rotation_axis_angle')
    assert np.ptp(numbers[:, 0]) > np.pi, "the test does not pass a half turn"
    assert np.abs(np.diff(numbers, axis=0)).max() < 0.6


def _spinning(mode):
    """A leg whose target and pole go round it one and a half times, baked."""
    leg = rigs.leg()
    for name in ("upper", "lower"):
        leg.pose.bones[name].rotation_mode = mode
    target, pole = bpy.data.objects["Leg target"], bpy.data.objects["Leg pole"]
    target.animation_data_clear()
    for frame in range(1, 41):
        turn = 3 * np.pi * (frame - 1) / 39
        target.location = (0.5 * np.sin(turn), -0.5 * np.cos(turn), 0.4)
        pole.location = (3 * np.sin(turn), -3 * np.cos(turn), 1)
        target.keyframe_insert("location", frame=frame)
        pole.keyframe_insert("location", frame=frame)
    bake(1, 40)
    return leg


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ"])
def test_first_key_joins_the_old_channel(mode):
    """A channel that was wound up, or of the other sign, stays so: keys before the range must not spin to reach it."""
    leg = rigs.leg()
    bone = leg.pose.bones["upper"]
    bone.rotation_mode = mode
    if mode == "QUATERNION":
        bone.rotation_quaternion = (-1, 0, 0, 0)
        bone.keyframe_insert("rotation_quaternion", frame=-5)
    else:
        bone.rotation_euler = (0, 0, 4 * np.pi)
        bone.keyframe_insert("rotation_euler", frame=-5)
    rigs.select(leg, "lower")
    bake()
    numbers = values(leg, f'pose.bones["upper"].rotation_{"quaternion" if mode == "QUATERNION" else "euler"}')
    assert np.abs(numbers[1] - numbers[0]).max() < 1.2


def test_range_from_keys_of_targets_then_scene():
    leg = rigs.leg()
    bpy.context.scene.frame_end = 50
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    assert [key.co.x for key in next(iter(played(leg).values())).keyframe_points] == list(range(1, 21))
    leg = rigs.leg("Still", at=(5, 0, 0))
    bpy.data.objects["Still target"].animation_data_clear()
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    assert [key.co.x for key in next(iter(played(leg).values())).keyframe_points] == list(range(1, 51))


def test_range_from_the_parent_of_a_target():
    leg = rigs.leg()
    bpy.data.objects["Leg target"].animation_data_clear()
    cart = rigs.add_object("Cart")
    bpy.data.objects["Leg target"].parent = cart
    for frame in (4, 9):
        cart.location.y = frame / 100
        cart.keyframe_insert("location", frame=frame)
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    assert [key.co.x for key in next(iter(played(leg).values())).keyframe_points] == list(range(4, 10))


def test_range_set_by_hand_on_the_action():
    leg = animated_leg()
    action = leg.animation_data.action
    action.use_frame_range, action.frame_start, action.frame_end = True, 5, 22
    bpy.data.objects["Leg target"].animation_data_clear()
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    keys = [key.co.x for key in played(leg)[ROTATION.format("upper"), 0].keyframe_points]
    assert keys == [-3, 1, *range(5, 23), 27]


@pytest.mark.parametrize("kept", ["", "shield", "renamed", "used"])
def test_bakes_do_not_pile_up(kept):
    """The copy that a bake has made is replaced by the next one, unless someone wants it."""
    leg = animated_leg()
    original = leg.animation_data.action
    name = f"{original.name} Baked IK"
    bake()
    first = leg.animation_data.action
    if kept == "shield":
        first.use_fake_user = True
    elif kept == "renamed":
        first.name = "Better"
    elif kept == "used":
        rigs.add_object("Other").animation_data_create().action = first
    leg.pose.bones["lower"].constraints[0].mute = False
    actions = len(bpy.data.actions)
    bake()
    wanted = {"": name, "shield": f"{name}.001", "renamed": "Better Baked IK", "used": f"{name}.001"}
    assert leg.animation_data.action.name == wanted[kept]
    assert len(bpy.data.actions) == actions + bool(kept)
    assert original.name in bpy.data.actions


def test_scene_range_is_the_preview_range_if_that_is_on():
    leg = rigs.leg()
    scene = bpy.context.scene
    scene.use_preview_range, scene.frame_preview_start, scene.frame_preview_end = True, 4, 6
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE", frame_range="SCENE") == {"FINISHED"}
    assert [key.co.x for key in next(iter(played(leg).values())).keyframe_points] == [4, 5, 6]


def _two_on_one_action():
    """Two legs that play different slots of one action."""
    first, second = rigs.leg("A"), rigs.leg("B", at=(3, 0, 0))
    for leg in (first, second):
        rigs.key_pose(leg, np.random.default_rng(4), (1, 20), bones=("hips",))
        if leg == second:
            action = first.animation_data.action
            spare = leg.animation_data.action
            leg.animation_data.action = action
            leg.animation_data.action_slot = action.slots.new("OBJECT", leg.name)
            bpy.data.actions.remove(spare)
            rigs.key_pose(leg, np.random.default_rng(5), (1, 20), bones=("hips",))
    assert first.animation_data.action == second.animation_data.action
    assert first.animation_data.action_slot != second.animation_data.action_slot
    return first, second


def test_shared_action_one_baked():
    first, second = _two_on_one_action()
    action = second.animation_data.action
    before = rigs.action_by_value(action)[2]
    rigs.select(first, "lower")
    rigs.select(second)
    rigs.select(first, "lower")
    bake()
    assert second.animation_data.action == action
    assert rigs.action_by_value(action)[2] == before
    assert not action.use_fake_user
    assert first.animation_data.action != action
    assert first.animation_data.action_slot.identifier == "OBA"
    assert {path.split('"')[1] for path, _ in played(first)} == {"hips", "upper", "lower"}


def _pose_together(*armatures):
    bpy.ops.object.mode_set(mode="OBJECT")
    for armature in armatures:
        armature.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    for armature in armatures:
        for bone in armature.pose.bones:
            holder = bone if hasattr(bone, "select") else bone.bone
            holder.select = bone.name == "lower"


def test_shared_action_both_baked_go_on_sharing():
    first, second = _two_on_one_action()
    _pose_together(first, second)
    bake()
    assert first.animation_data.action == second.animation_data.action
    assert len(bpy.data.actions) == 4  # the two targets', the original, the copy
    for leg, slot in ((first, "OBA"), (second, "OBB")):
        assert leg.animation_data.action_slot.identifier == slot
        assert len(played(leg)) == 12
        assert leg.pose.bones["lower"].constraints[0].mute


def test_shared_slot_both_baked_are_parted():
    """Two armatures that play the same curves get different ones once their targets differ."""
    first, second = rigs.leg("A"), rigs.leg("B", at=(3, 0, 0))
    rigs.key_pose(first, np.random.default_rng(4), (1, 20), bones=("hips",))
    second.animation_data_create().action = first.animation_data.action
    second.animation_data.action_slot = first.animation_data.action_slot
    bpy.data.objects["B target"].location.z += 0.3
    bpy.data.objects["B target"].animation_data_clear()
    _pose_together(first, second)
    expected = [rigs.sampled(leg, range(1, 21)) for leg in (first, second)]
    bake()
    assert first.animation_data.action != second.animation_data.action
    for leg, before in zip((first, second), expected, strict=True):
        assert np.abs(rigs.sampled(leg, range(1, 21)) - before)[..., 3].max() < 1e-3


def test_frame_selection_and_mode_stay():
    leg = animated_leg()
    bpy.context.scene.frame_set(7, subframe=0.25)
    before = rigs.state()
    bake()
    after = rigs.state()
    for key in ("frame", "active"):
        assert before[key] == after[key]
    assert before["Leg"][:2] == after["Leg"][:2]
    assert all(before["Leg", bone.name][2] == after["Leg", bone.name][2] for bone in leg.pose.bones)


def test_works_in_object_mode_on_all_limbs():
    leg = rigs.leg()
    rigs.add_limb(leg, ".b", at=(0.5, 0, 0))
    rigs.add_ik(leg, ".b", target=bpy.data.objects["Leg target"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bake()
    assert leg.mode == "OBJECT"
    assert {path.split('"')[1] for path, _ in played(leg)} == {"upper", "lower", "upper.b", "lower.b"}


def test_all_limbs_passes_over_longer_chains():
    leg = rigs.leg()
    rigs.add_limb(leg, ".b", at=(0.5, 0, 0))
    rigs.add_ik(leg, ".b", target=bpy.data.objects["Leg target"]).chain_count = 3
    rigs.select(leg)
    bake(limbs="ALL")
    assert {path.split('"')[1] for path, _ in played(leg)} == {"upper", "lower"}


def test_all_selected_armatures_in_one_press(capfd):
    """Those of them that have limbs, with a report of each and one undo; what is not selected stays."""
    animated_leg()
    for number, name in enumerate(("B", "C")):
        rigs.leg(name, at=(3 + number, 0, 0))
    rigs.add_object("Prop", bpy.data.armatures.new("Prop"))
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in ("Leg", "B", "Prop"):
        bpy.data.objects[name].select_set(True)
    bpy.data.objects["C"].select_set(False)
    bpy.context.view_layer.objects.active = bpy.data.objects["B"]
    bpy.context.scene.frame_set(7)
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    assert bpy.ops.ikcore.bake_ik("EXEC_DEFAULT", True, solver="TWO_BONE") == {"FINISHED"}
    # the targets of one have keys from 1 to 20, and the leg itself from -3 to 27
    one = "Baked 1 limb, 31 frames: 31 reached"
    assert f"B: {one}. Leg: {one}" in capfd.readouterr().out
    muted = {name: bpy.data.objects[name].pose.bones["lower"].constraints[0].mute for name in ("Leg", "B", "C")}
    assert muted == {"Leg": True, "B": True, "C": False}
    bpy.ops.ed.undo()
    assert rigs.state() == before


@pytest.mark.parametrize("solver", ["TWO_BONE", "DISPLAYED", "LIBRARY"])
def test_cancelled_at_any_time_nothing_has_changed(addon, solver):
    leg = animated_leg()
    leg.pose.bones["tip"].location = (0.1, 0.2, 0.3)  # posed by hand, not keyed
    bpy.context.scene.frame_set(7, subframe=0.25)
    before, operators = rigs.state(), addon.limbs.operators
    request = SimpleNamespace(tell=lambda *_: None, solver=solver, method="dls", tolerance=lambda: None)
    limbs, stop, ended = operators.find_limbs(leg), 0, False
    while not ended:
        work = operators.IKCORE_OT_bake_ik.steps(request, bpy.context, (limbs, np.arange(1, 21)))
        shares = [share for _, share in zip(range(stop + 1), work, strict=False)]
        assert shares == sorted(shares)
        assert 0 < shares[-1] <= 1
        ended = len(shares) <= stop
        if not ended:
            work.close()
            assert rigs.state() == before, stop
        stop += 1
    assert stop > (20 + 8 if solver == "DISPLAYED" else 8), "a step a curve, and a frame of the scene"
    assert rigs.state() != before


def test_undo_restores_everything_in_one_step():
    animated_leg()
    bpy.context.scene.frame_set(7, subframe=0.25)
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    # called with undo the operator leaves what it would leave when a user starts it: its own step
    assert bpy.ops.ikcore.bake_ik("EXEC_DEFAULT", True, solver="TWO_BONE") == {"FINISHED"}
    baked = rigs.state()
    assert baked != before
    bpy.ops.ed.undo()
    assert rigs.state() == before
    bpy.ops.ed.redo()
    assert rigs.state() == baked
    assert not bpy.ops.ed.redo.poll(), "there is a second step"


@pytest.mark.parametrize(
    "where",
    [
        "limbs.two_bone_bake.solve",
        "limbs.two_bone_bake.sample",
        "animation.actions.write_keys",
        "animation.actions.assign",
    ],
)
def test_failure_half_way_leaves_everything(addon, monkeypatch, where):
    leg = animated_leg()
    leg.pose.bones["tip"].rotation_quaternion = (0.6, 0.8, 0, 0)  # posed by hand, not keyed
    leg.pose.bones["tip"].location = (0.1, 0.2, 0.3)
    bpy.context.scene.frame_set(7, subframe=0.25)
    leg.pose.bones["tip"].rotation_quaternion = (0.6, 0.8, 0, 0)
    bpy.context.view_layer.update()
    before = rigs.state()
    module, _, name = where.rpartition(".")
    module = importlib.import_module(f"{addon.__name__}.{module}")
    real = getattr(module, name)

    def broken(*arguments):
        monkeypatch.setattr(module, name, real)  # what cleans up may call it again
        if name != "solve":
            real(*arguments)
        raise MemoryError("made by the test")

    monkeypatch.setattr(module, name, broken)
    with pytest.raises(RuntimeError, match="made by the test"):
        bake()
    assert rigs.state() == before


@pytest.mark.parametrize(("before", "after"), [("BEZIER", "BEZIER"), ("CONSTANT", "CONSTANT"), (None, "BEZIER")])
def test_a_key_alone_goes_on_as_the_one_before_it(addon, before, after):
    """As if it had been keyed by hand; those beside it stay as they are."""
    actions, leg = addon.animation.actions, rigs.leg()
    bone = leg.pose.bones["upper"]
    bone.location = (0, 0, 0)
    bone.keyframe_insert("location", frame=1 if before else 10)
    if before:
        bone.keyframe_insert("location", frame=20)
    curves = {at[1]: curve for at, curve in rigs.curves_of(*actions.assignment(leg)[1:]).items()}
    for curve in curves.values():
        for key in curve.keyframe_points:
            key.interpolation = before or "LINEAR"
    made = [actions.Channel(actions.path_of(bone, "location"), 0, "upper", np.array([1.5]))]
    for _ in actions.overwrite([(leg, made)], np.array([10])):
        pass
    keys = {key.co.x: key for key in curves[0].keyframe_points}
    assert keys[10].interpolation == after
    assert keys[10].co.y == 1.5
    assert keys[10].handle_left_type == "AUTO_CLAMPED"
    assert len(keys) == (3 if before else 1)
