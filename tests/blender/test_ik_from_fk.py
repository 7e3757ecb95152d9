"""FK -> IK: keys on targets and poles, so that IK shows the pose that the keys of its bones say."""

import importlib

import bpy
import numpy as np
import pytest
import rigs
from mathutils import Vector

FRAMES = range(1, 21)
NEAR, TURNED = 1e-4, np.radians(0.05)


def leg(*, target=True, pole=True, seed=1, bent=True, **shape):
    """A leg with keys on its bones, the knee in its plane, and IK that is muted. In Pose Mode, lower selected."""
    armature = rigs.leg(pole=pole, **shape)
    ik = ik_of(armature)
    if target:
        ik.mute = True
    else:
        armature.pose.bones["lower"].constraints.remove(ik)
    for item in bpy.data.objects:
        if item.name.startswith(armature.name):
            item.animation_data_clear()
    key(armature, seed, bent=bent)
    rigs.select(armature, "lower")
    return armature


def key(armature, seed=1, *, bent=True):
    """Keys of hips and the upper bone as they come, of the lower one about its hinge, which is what bends the rest."""
    rng = np.random.default_rng(seed)
    rigs.key_pose(armature, rng, (1, 7, 14, 20), bones=("hips", "upper") if bent else ("hips", "upper", "lower"))
    lower = armature.pose.bones["lower"]
    if bent:
        lower.rotation_mode = "AXIS_ANGLE"
        hinge = lower.bone.matrix_local.to_3x3().inverted() @ Vector((1, 0, 0))  # the plane of the rest is YZ
        for frame, angle in zip((1, 7, 14, 20), rng.uniform(0.3, 1.6, 4), strict=True):
            lower.rotation_axis_angle = (angle, *hinge)
            lower.keyframe_insert("rotation_axis_angle", frame=frame)


def ik_of(armature, bone="lower"):
    return next(each for each in armature.pose.bones[bone].constraints if each.type == "IK")


def bake(**options):
    options = {"frame_range": "CUSTOM", "frame_start": 1, "frame_end": 20} | options
    return bpy.ops.ikcore.fk_to_ik(**options)


def check(*armatures, near=NEAR, turned=TURNED, **options):
    """Key, and compare every bone that is not a control, on every frame."""
    before = [rigs.sampled(armature, FRAMES) for armature in armatures]
    assert bake(**options) == {"FINISHED"}
    for armature, was in zip(armatures, before, strict=True):
        assert any(not each.mute and each.influence == 1 for bone in armature.pose.bones for each in bone.constraints)
        compare(armature, was, rigs.sampled(armature, FRAMES), near, turned)


def compare(armature, was, now, near=NEAR, turned=TURNED):
    scale = armature.matrix_world.median_scale
    assert np.ptp(rigs.tail(armature, was, "lower"), axis=0).max() > 0.05, "the test does not move"
    for name in ("hips", "upper", "lower", "tip"):
        if name in armature.pose.bones:
            row = armature.pose.bones.find(name)
            ends = rigs.tail(armature, was, name) - rigs.tail(armature, now, name)
            assert np.linalg.norm(ends, axis=-1).max() * scale < near
            assert rigs.turn_between(was[:, row], now[:, row]).max() < turned


def clear_fk(armature):
    """Take the keys of the limb's bones away, so that targets and poles alone say the pose."""
    animation = armature.animation_data
    bag = animation.action.layers[0].strips[0].channelbag(animation.action_slot)
    for curve in [each for each in bag.fcurves if '"upper"' in each.data_path or '"lower"' in each.data_path]:
        bag.fcurves.remove(curve)
    for name in ("upper", "lower"):
        armature.pose.bones[name].matrix_basis.identity()
        armature.pose.bones[name].rotation_axis_angle = (0, 0, 1, 0)
        armature.pose.bones[name].rotation_quaternion = (1, 0, 0, 0)


@pytest.mark.parametrize("angle", [-np.pi / 2, 0.0, 2.0])
@pytest.mark.parametrize("rolls", [(0.0, 0.0), (1.1, -0.4)])
def test_targets_and_poles(angle, rolls):
    armature = leg(rolls=rolls)
    ik_of(armature).pole_angle = angle
    check(armature)


def test_a_knee_out_of_its_plane():
    check(leg(bent=False))


def test_the_target_says_it_all():
    """Without the keys of the bones, from rest, IK comes to the same pose: the knee bends in its plane."""
    armature = leg(target=False)
    was = rigs.sampled(armature, FRAMES)
    bake()
    clear_fk(armature)
    compare(armature, was, rigs.sampled(armature, FRAMES), near=2e-3, turned=np.radians(1))


@pytest.mark.parametrize("rotation", [False, True])
@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XZY"])
def test_bones_as_targets_and_poles(rotation, mode):
    """The pole hangs on the target, the target on a root that is keyed."""
    armature = leg(target=False)
    for name, at in (("root", (0, 0, 0)), ("foot", (0, 0.1, 0)), ("knee", (0.3, -3, 1))):
        rigs.add_control(armature, name, at)
    bones = rigs.edit_bones(armature)
    bones["knee"].parent, bones["foot"].parent = bones["foot"], bones["root"]
    rigs.add_ik(armature, target=armature, bone="foot", pole=armature, pole_bone="knee", angle=0.7)
    ik_of(armature).use_rotation, ik_of(armature).mute = rotation, True
    bpy.ops.object.mode_set(mode="POSE")
    armature.pose.bones["foot"].rotation_mode = mode
    rigs.key_pose(armature, np.random.default_rng(3), (1, 20), bones=("root", "foot"))
    rigs.select(armature, "foot")
    check(armature)
    paths = {curve.data_path for curve in rigs.curves_of(*playing(armature)).values()}
    assert 'pose.bones["knee"].location' in paths
    assert not any(path.startswith('pose.bones["knee"].rot') for path in paths)


def playing(item):
    return item.animation_data.action, item.animation_data.action_slot


def test_a_target_that_hangs_on_another_object():
    armature = leg()
    cart, ik = rigs.add_object("Cart"), ik_of(armature)
    cart.rotation_euler, cart.scale = (0.2, 0.4, 1.0), (2, 2, 2)
    for frame, x in ((1, 0.0), (20, 3.0)):
        cart.location.x = x
        cart.keyframe_insert("location", frame=frame)
    ik.target.parent, ik.target.delta_location = cart, (1, 2, 3)
    ik.pole_target.parent = ik.target
    check(armature)


def test_centimetres_turned():
    armature = leg()
    armature.scale, armature.rotation_euler, armature.location = (0.01,) * 3, (np.pi / 2, 0, 0.3), (1, 2, 3)
    check(armature, near=1e-5)


def test_target_rotation():
    armature = leg(rolls=(0.4, 0.9))
    ik_of(armature).use_rotation = True
    check(armature)


def test_without_the_tail():
    armature = leg()
    tip = armature.pose.bones["tip"]
    ik = tip.constraints.new("IK")
    ik.mute = True
    old = ik_of(armature)
    ik.target, ik.pole_target, ik.chain_count, ik.use_tail = old.target, old.pole_target, 2, False
    armature.pose.bones["lower"].constraints.remove(old)
    check(armature)


@pytest.mark.parametrize("shape", [{}, {"bend": 0.0}])
def test_new_empties(shape):
    armature = leg(target=False, **shape)
    check(armature)
    ik = ik_of(armature)
    assert (ik.chain_count, ik.target.name, ik.pole_target.name) == (2, "lower target", "lower pole")
    knee = rigs.tail(armature, rigs.sampled(armature, FRAMES), "upper")
    joints = rigs.sampled(armature, FRAMES)[:, armature.pose.bones.find("upper"), :3, 3]
    ends = rigs.tail(armature, rigs.sampled(armature, FRAMES), "lower")
    for frame, hip, middle, end in zip(FRAMES, joints, knee, ends, strict=True):
        bpy.context.scene.frame_set(frame)
        pole = np.array(ik.pole_target.matrix_world.translation)
        assert np.dot(middle - (hip + end) / 2, pole - (hip + end) / 2) > 0, "the knee is not bent to the pole"
        normal = np.cross(middle - hip, end - hip)
        assert abs(np.dot(normal, pole - hip)) < 0.02 * np.linalg.norm(normal)


def test_a_missing_pole_only():
    armature = leg(pole=False)
    check(armature)
    assert ik_of(armature).pole_target.name == "lower pole"


def test_a_chain_of_selected_bones():
    armature = rigs.figure(
        [(f"b{n}", f"b{n - 1}" if n else None, (0, 0.02 * n, n), (0, 0.02 * n, n + 1)) for n in range(6)]
    )
    rigs.move(armature, (1, 10, 20))
    rigs.select(armature, "b2", "b3", "b4", "b5")
    was = rigs.sampled(armature, FRAMES)
    assert bake() == {"FINISHED"}
    now = rigs.sampled(armature, FRAMES)
    assert (ik_of(armature, "b5").chain_count, ik_of(armature, "b5").pole_target) == (4, None)
    assert np.abs(was - now).max() < NEAR


@pytest.mark.parametrize("bones", [False, True])
def test_targets_that_are_children_by_constraint(bones):
    """They go along with what adopts them, in a space that moves and turns."""
    armature, holder = leg(), rigs.add_object("Holder")
    for frame, turn in ((1, 0.0), (20, 1.0)):
        holder.location, holder.rotation_euler = (turn, 0.2, 0.3), (0.0, 0.3, turn)
        holder.keyframe_insert("location", frame=frame)
        holder.keyframe_insert("rotation_euler", frame=frame)
    ik = ik_of(armature, "lower")
    if bones:
        for name, at in (("foot", (0, -0.5, 0.3)), ("knee", (0, -3, 1))):
            rigs.add_control(armature, name, at)
        ik = ik_of(armature, "lower")
        ik.target = ik.pole_target = armature
        ik.subtarget, ik.pole_subtarget = "foot", "knee"
    for handle in [armature.pose.bones[name] for name in ("foot", "knee")] if bones else (ik.target, ik.pole_target):
        adopted = handle.constraints.new("CHILD_OF")
        adopted.target = holder
        adopted.inverse_matrix = holder.matrix_world.inverted()
    rigs.select(armature, "lower")
    check(armature)


def test_a_child_half_way_is_refused():
    armature = leg()
    adopted = ik_of(armature, "lower").target.constraints.new("CHILD_OF")
    adopted.target, adopted.influence = rigs.add_object("Holder"), 0.5
    with pytest.raises(RuntimeError, match="Leg target has constraints: mute or remove them first"):
        bake()


def test_how_far_off_counts_by_the_limb_as_it_is_shown(addon):
    """Bones may be drawn a hundred times their length between joints, or be scaled down by a parent."""
    armature = leg()
    (chain,) = [addon.fk.ik_from_fk._Chain(limb, 1) for limb in addon.fk.ik_from_fk.every_limb(armature)]

    def size():
        bpy.context.view_layer.update()
        chain.read(bpy.context.evaluated_depsgraph_get(), 0)
        return addon.fk.ik_from_fk._shown_size(chain)

    np.testing.assert_allclose(size(), 2.0, atol=0.02)
    armature.pose.bones["hips"].scale = (0.01,) * 3
    np.testing.assert_allclose(size(), 0.02, atol=2e-4)
    armature.scale = (3.0,) * 3
    np.testing.assert_allclose(size(), 0.06, atol=6e-4)
    bones = rigs.edit_bones(armature)
    for name in ("tip", "lower"):
        bones[name].use_connect = False
    bones["lower"].tail = bones["lower"].head + 100 * (bones["lower"].tail - bones["lower"].head)
    bpy.ops.object.mode_set(mode="POSE")
    np.testing.assert_allclose(size(), 0.06, atol=6e-4)


def test_what_limits_keep_off_is_said(capfd, addon):
    armature = leg()
    for name in ("upper", "lower"):
        bone = armature.pose.bones[name]
        bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, 0, 0.1
    was = rigs.sampled(armature, FRAMES)
    bake()
    text = capfd.readouterr().out
    assert " off at frame " in text
    assert "has a locked IK axis or an IK limit" in text
    ((frame, sentence),) = addon.fk.ik_from_fk.latest(armature).problems
    assert f"at frame {frame}, because " in sentence
    assert sentence in text
    assert addon.fk.fk_panels.IKCORE_PT_fk_ik_problems.poll(bpy.context)
    off = np.linalg.norm(
        rigs.tail(armature, was, "upper") - rigs.tail(armature, rigs.sampled(armature, FRAMES), "upper"), axis=-1
    )
    assert off.max() > 0.01


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("flat", ["object", "hips", "lower"])
def test_what_is_flat_is_refused(flat, still):
    """Nothing has changed then, keys neither."""
    armature = leg()
    (armature if flat == "object" else armature.pose.bones[flat]).scale = (0, 0, 0)
    bpy.context.view_layer.update()
    before = rigs.state()
    said = "Leg has a scale of zero" if flat == "object" else "upper has a scale of zero, or a parent with one"
    with pytest.raises(RuntimeError, match=said.replace("upper", "lower") if flat == "lower" else said):
        bake(frame_range="FRAME" if still else "ACTION")
    assert rigs.state() == before


def test_what_is_said_where_all_is_well(capfd, addon):
    check(leg())
    assert not addon.fk.fk_panels.IKCORE_PT_fk_ik_problems.poll(bpy.context)
    assert "1 limb, 20 frames, all bones within 0.1 mm and 0.01° of FK" in capfd.readouterr().out


def test_several_armatures():
    one, two = leg(name="One"), leg(name="Two", at=(3, 0, 0), seed=5)
    bpy.ops.object.mode_set(mode="OBJECT")
    one.select_set(True)
    two.select_set(True)
    check(one, two)
    assert ik_of(one).target.animation_data.action.name == "One target FK to IK"


def test_there_and_back():
    """Keys of bones made by Bake IK are converted back to keys of targets."""
    armature = rigs.leg()
    was = rigs.sampled(armature, FRAMES)
    target = [tuple(v) for v in path_of(ik_of(armature).target)]
    assert bpy.ops.ikcore.bake_ik(frame_range="CUSTOM", frame_start=1, frame_end=20) == {"FINISHED"}
    assert ik_of(armature).mute
    ik_of(armature).target.animation_data_clear()
    check(armature)
    assert not ik_of(armature).mute
    assert np.abs(rigs.sampled(armature, FRAMES) - was).max() < NEAR
    assert np.abs(np.array(path_of(ik_of(armature).target)) - target).max() < 1e-3, "the target goes where it went"


def path_of(item):
    found = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found.append(item.matrix_world.translation.copy())
    return found


def test_the_copy_and_the_original():
    armature = leg()
    target = ik_of(armature).target
    target.location = (5, 5, 5)
    target.keyframe_insert("location", frame=3)
    own, before = target.animation_data.action, rigs.action_by_value(target.animation_data.action)[2]
    bake()
    assert target.animation_data.action != own
    assert rigs.action_by_value(own)[2] == before
    assert own.use_fake_user
    bake()
    assert len([each for each in bpy.data.actions if each.name.startswith(own.name)]) == 2, "the copy was replaced"


def test_keys_outside_stay():
    armature = leg()
    target = ik_of(armature).target
    for frame in (-5, 30):
        target.location = (frame, 0, 0)
        target.keyframe_insert("location", frame=frame)
    bake(frame_start=5, frame_end=9)
    curve = rigs.curves_of(*playing(target))["location", 0]
    assert [key.co.x for key in curve.keyframe_points] == [-5, 5, 6, 7, 8, 9, 30]


# --- the frame that is shown -----------------------------------------------------------------------------------------


def test_one_frame_goes_into_the_actions_that_play():
    armature = leg()
    target = ik_of(armature).target
    target.location = (5, 5, 5)
    target.keyframe_insert("location", frame=3)
    own = target.animation_data.action
    bpy.context.scene.frame_set(9)
    was = np.array([bone.matrix for bone in armature.pose.bones])
    assert bake(frame_range="FRAME") == {"FINISHED"}
    bpy.context.view_layer.update()
    assert np.abs(np.array([bone.matrix for bone in armature.pose.bones]) - was).max() < NEAR
    bpy.context.scene.frame_set(9)
    assert np.abs(np.array([bone.matrix for bone in armature.pose.bones]) - was).max() < NEAR
    assert target.animation_data.action == own
    assert [key.co.x for key in rigs.curves_of(*playing(target))["location", 0].keyframe_points] == [3, 9]
    assert bpy.context.scene.frame_current == 9


def test_a_pose_without_any_key():
    armature = leg()
    armature.animation_data_clear()
    armature.pose.bones["upper"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    armature.pose.bones["lower"].rotation_axis_angle = (0.8, 1, 0, 0)
    ik_of(armature).mute = True
    bpy.context.view_layer.update()
    was = np.array([bone.matrix for bone in armature.pose.bones])
    assert bake(frame_range="FRAME") == {"FINISHED"}
    bpy.context.view_layer.update()
    assert np.abs(np.array([bone.matrix for bone in armature.pose.bones]) - was).max() < NEAR
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    assert np.abs(np.array([bone.matrix for bone in armature.pose.bones]) - was).max() < NEAR


# --- nothing half done -----------------------------------------------------------------------------------------------


def test_one_undo():
    leg(target=False)
    bpy.ops.ed.undo_push(message="before")
    before = rigs.state()
    bake()
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    assert rigs.state() == before
    assert not len(bpy.data.objects["Leg"].pose.bones["lower"].constraints)


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.55, 0.8, 0.99])
def test_cancelled_at_any_time(addon, share, still):
    operators, batch = (
        importlib.import_module(f"{addon.__name__}.{name}") for name in ("fk.fk_operators", "fk.ik_from_fk")
    )
    armature = leg(target=False)
    two = leg(name="Two", at=(3, 0, 0), seed=5)
    bare = [(armature, ("upper", "lower"))]
    bpy.context.scene.frame_set(1)
    before, objects = rigs.state(), set(bpy.data.objects)
    limbs = batch.every_limb(two)
    frames = np.array([1]) if still else np.arange(1, 21)

    def work():
        with operators._complete_limbs(bpy.context, limbs, bare) as (every, fresh):
            yield from batch.bake(bpy.context, every, frames, fresh, still=still)

    steps = work()
    for done in steps:
        if done >= share:
            break
    steps.close()
    assert rigs.state() == before
    assert set(bpy.data.objects) == objects


# --- what cannot be keyed --------------------------------------------------------------------------------------------


def refused(sentence, **options):
    bpy.context.scene.frame_set(1)
    before = rigs.state()
    with pytest.raises(RuntimeError, match=sentence):
        bake(**options)
    assert rigs.state() == before


def test_nothing_is_selected():
    armature = leg()
    rigs.select(armature)
    refused("No IK selected: select a bone of its chain")


def test_buttons_are_grey_where_there_is_nothing_to_key():
    """Without IK, a selected bone and a switch; the message says what is wanted."""
    armature = leg(target=False)
    assert bpy.ops.ikcore.fk_to_ik.poll(), "the selected bone may get IK"
    with pytest.raises(RuntimeError, match=r"Leg has no IK/FK switch, such as IK_FK: use Bake IK"):
        bpy.ops.ikcore.ik_to_fk()
    for change in (lambda: rigs.select(armature), lambda: bpy.ops.object.mode_set(mode="OBJECT")):
        change()
        assert not bpy.ops.ikcore.ik_to_fk.poll()
        with pytest.raises(RuntimeError, match="Leg has no IK: in Pose Mode select the bones of a limb"):
            bpy.ops.ikcore.fk_to_ik()
    armature.pose.bones["hips"]["IK_FK"] = 1.0
    assert bpy.ops.ikcore.fk_to_ik.poll()
    assert bpy.ops.ikcore.ik_to_fk.poll()


def test_no_keys():
    armature = leg()
    armature.animation_data_clear()
    refused("upper and lower have no keys: there is no FK animation to match")


def test_two_limbs_that_share_a_pole():
    armature = leg()
    rigs.add_limb(armature, ".R", at=(1, 0, 0))
    ik = ik_of(armature)
    rigs.add_ik(armature, ".R", target=rigs.add_object("other"), pole=ik.pole_target)
    rigs.key_pose(armature, np.random.default_rng(1), (1, 20), bones=("upper.R",))
    refused("Leg pole is a target or pole of two limbs", limbs="ALL")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda ik: ik.target.constraints.new("COPY_LOCATION"), "Leg target has constraints"),
        (lambda ik: setattr(ik.target, "lock_location", (True, False, False)), "Leg target has a locked location"),
        (lambda ik: ik.target.driver_add("location", 0), "Leg target has a driver on its location"),
        (lambda ik: setattr(ik, "target", ik.id_data), "has armature Leg as its target, but no bone of it"),
        (lambda ik: setattr(ik.target, "parent", ik.id_data) or bone_parent(ik.target), "a dependency cycle"),
        (lambda ik: setattr(ik.id_data.pose, "ik_solver", "ITASC"), "uses the iTaSC solver"),
    ],
)
def test_refusals(change, sentence):
    armature = leg()
    change(ik_of(armature))
    refused(sentence)


def bone_parent(item):
    item.parent_type, item.parent_bone = "BONE", "tip"
