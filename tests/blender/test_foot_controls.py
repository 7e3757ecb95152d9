"""Bake Foot IK on legs that Rigify switches between FK and IK: what is shown is baked, by keys of what shows it."""

import importlib

import bpy
import numpy as np
import pytest
import rigs
import test_rigify
import walks
from conftest import EXTENSION

FRAMES = range(1, 31)
NEAR = 5e-4
HEIGHT = 0.0  # of the ground
PAWS = "basic_quadruped"
STEPS = {  # frame, and how far a foot is ahead and up, besides sliding back and sinking in
    "L": ((1, 0.0, 0.0), (5, -0.1, 0.06), (10, -0.2, 0.0), (20, -0.2, 0.0), (25, -0.3, 0.06), (30, -0.4, 0.0)),
    "R": ((1, 0.1, 0.0), (10, 0.1, 0.0), (15, -0.1, 0.06), (20, -0.3, 0.0), (30, -0.3, 0.0)),
}


def walking(kind="human", stretch=0.0, change=None, **switch):
    """A rig whose feet are stepped by their IK controls, with heels that roll, under a torso that goes along."""
    armature = test_rigify.generated(kind, change)
    bones = armature.pose.bones
    for frame in (1, 10, 20, 30):
        bones["torso"].location = (0.02 * np.sin(frame), -0.012 * frame, -0.05)
        bones["torso"].keyframe_insert("location", frame=frame)
    for side, steps in STEPS.items():
        for foot in filter(None, (bones.get(f"{name}_ik.{side}") for name in ("foot", "front_foot"))):
            for frame, y, z in steps:
                foot.location = (0.0, y + 0.003 * frame, z - 0.01)
                foot.keyframe_insert("location", frame=frame)
        heel = bones[f"foot_heel_ik.{side}"]
        test_rigify.turn(heel, 1)
        test_rigify.turn(heel, 30, x=0.3)
    for bone in bones:
        bone.ik_stretch = min(bone.ik_stretch, stretch)
    for bone in test_rigify.switches(armature):
        for name, value in switch.items():
            bone[name] = value
    shoes(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 30
    rigs.select(armature)
    bpy.context.scene.frame_set(1)
    return armature


def shoes(armature):
    """Feet to be seen: boxes that deform with bones of feet and toes, 2 cm over the lowest of them or under it."""
    names = [
        bone.name for bone in armature.data.bones if bone.name.startswith(("DEF-foot", "DEF-front_foot", "DEF-toe"))
    ]
    for name in names:
        bone = armature.data.bones[name]
        ends = np.array([bone.head_local, bone.tail_local])
        low, high = ends.min(axis=0) - np.array([0.03, 0, 0]), ends.max(axis=0) + np.array([0.03, 0, 0.02])
        low[2] = min(armature.data.bones[each].tail_local.z for each in names) - 0.02
        shoe = walks.slab(f"Shoe {name}", low, high)
        shoe.vertex_groups.new(name=name).add(range(8), 1.0, "REPLACE")
        shoe.modifiers.new("Armature", "ARMATURE").object = armature
        shoe.parent = armature


def lowest():
    """How high the lowest vertex of each shoe is, as Blender shows it: {name: (frames,)}."""
    found = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for item in bpy.data.objects:
            if item.name.startswith("Shoe "):
                seen = item.evaluated_get(depsgraph)
                places = [(seen.matrix_world @ vertex.co)[:] for vertex in seen.data.vertices]
                found.setdefault(item.name, []).append(min(place[2] for place in places))
    return {name: np.array(heights) for name, heights in found.items()}


def bake(**options):
    """Bake, and hand back the job, what was baked, and the report."""
    made, given = importlib.import_module(f"{EXTENSION}.feet.keys"), []
    with pytest.MonkeyPatch.context() as patch:
        real = made.make_keys
        patch.setattr(made, "make_keys", lambda *each: given.append(each) or real(*each))
        assert bpy.ops.ikcore.bake_feet(**{"ground": "PLANE", "plane_height": HEIGHT} | options) == {"FINISHED"}
    _, job, _, baked, told, _ = given[0]
    return job, baked, told


def curves(armature):
    """The keys of the action that plays, by value: {(path, index): (keys, 2)}."""
    playing = armature.animation_data
    found = rigs.curves_of(playing.action, playing.action_slot)
    return {key: np.array([point.co[:] for point in curve.keyframe_points]) for key, curve in found.items()}


def keyed(armature):
    """The bones that have keys in the action that plays."""
    return {path.split('"')[1] for path, _ in curves(armature)}


def away(armature, job, baked):
    """How far bones of legs are, as Blender shows them, from where the bake has them: by bone."""
    poses, now, found = baked.clip.skeleton.forward(baked.clip.pose), rigs.sampled(armature, FRAMES), {}
    for bone in (joint for leg in job.legs for joint in leg.chain if joint in armature.pose.bones):
        at = np.array(armature.matrix_world) @ now[:, armature.pose.bones.find(bone)]
        off = at[:, :3, 3] - poses.positions[:, baked.clip.skeleton.index(bone)]
        found[bone] = float(np.linalg.norm(off, axis=-1).max())
    return found


def bake_as_shown(armature, knees=True, **options):
    """Bake; legs are where the bake has them, with or without `knees`. Hands back the job."""
    job, baked, told = bake(**options)
    loose = {knee for leg in job.legs for knee in leg.knees if not knees}
    off = away(armature, job, baked)
    assert max(far for bone, far in off.items() if bone not in loose) < NEAR, off
    assert not told.away
    return job


def check(armature, knees=True, **options):
    """Bake; legs are where the bake has them, with or without `knees`. Hands back how high shoes are then."""
    before = lowest()
    assert min(heights.min() for heights in before.values()) < HEIGHT - 0.005, "nothing to bake"
    bake_as_shown(armature, knees, **options)
    return lowest()


def names(*parts):
    return {f"{part}.{side}" for part in parts for side in "LR"}


@pytest.mark.parametrize("kind", ["human", "basic_human"])
@pytest.mark.parametrize("pole", [False, True])
def test_ik(kind, pole):
    """The foot control, toes and pole or twist get keys; the roll stays as it is animated; shoes go through nothing."""
    armature = walking(kind, pole_vector=pole)
    before = curves(armature)
    after = check(armature)
    assert min(heights.min() for heights in after.values()) > HEIGHT - NEAR
    bend = "thigh_ik_target" if pole else "thigh_ik"
    assert keyed(armature) == {"torso"} | names("foot_ik", "foot_heel_ik", "toe_ik", bend)
    heels = [key for key in before if "heel" in key[0]]
    assert len(heels) == 6
    assert all(np.array_equal(before[key], curves(armature)[key]) for key in heels)


@pytest.mark.parametrize("pole", [False, True])
def test_paws(pole):
    """Heels are turned so that the foot is in its place; with a pole, knees are near the plane that it knows."""
    armature = walking(PAWS, pole_vector=pole)
    after = check(armature, knees=not pole)
    assert min(after[f"Shoe DEF-toe.{side}"].min() for side in "LR") > HEIGHT - NEAR
    limb = ("foot_ik", "foot_heel_ik", "thigh_ik_target" if pole else "thigh_ik")
    assert keyed(armature) == {"torso"} | names(*limb, *(f"front_{name}" for name in limb))


@pytest.mark.parametrize("kind", ["human", PAWS])
def test_between(kind):
    """FK and IK both get keys, so that it does not matter where between them a rig is."""
    armature = walking(kind, IK_FK=0.5)
    check(armature)
    assert names("foot_ik", "thigh_fk", "shin_fk", "foot_fk") <= keyed(armature)


def test_from_one_to_the_other():
    """Switched by keys, within the frames."""
    armature = walking("basic_human")
    for bone in test_rigify.switches(armature):
        for frame, value in ((10, 0.0), (14, 1.0), (22, 1.0), (24, 0.0)):
            bone["IK_FK"] = value
            bone.keyframe_insert('["IK_FK"]', frame=frame)
    check(armature)


def test_stretched():
    """If IK may stretch bones and shortens them, feet are in place and knees bend as the rig decides."""
    armature = walking("basic_human", stretch=1.0)
    stretches = [bone.ik_stretch for bone in armature.pose.bones]
    check(armature, knees=False)
    assert [bone.ik_stretch for bone in armature.pose.bones] == stretches
    assert max(stretches) > 0


@pytest.mark.parametrize("output", ["OVERWRITE", "NLA"])
def test_other_outputs(output):
    armature = walking("basic_human")
    if output == "NLA":
        with pytest.raises(RuntimeError, match=r"has no keys on .*toe_ik.*: add a key there"):
            bake(output=output)
        for name in names("toe_ik", "thigh_ik", "foot_ik"):
            for path in ("location", "rotation_quaternion", "rotation_euler"):
                armature.pose.bones[name].keyframe_insert(path, frame=1)
    bpy.context.scene.frame_set(1)
    check(armature, output=output)


def test_every_third_frame():
    armature = walking("basic_human")
    bake(keys="STEP", key_step=3)
    counts = {len(curve) for (path, _), curve in curves(armature).items() if "foot_ik" in path or "torso" in path}
    assert counts == {11}  # 1, 4, ... 28, and the last


def test_few_keys_are_refused():
    armature = walking("basic_human")
    before = rigs.state()
    with pytest.raises(RuntimeError, match=r"foot_ik.L is an IK control: .* set IK_FK of thigh_parent.L"):
        bake(keys="TOLERANCE")
    assert rigs.state() == before
    for bone in test_rigify.switches(armature):
        bone["IK_FK"] = 1.0
    armature.update_tag()
    bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=0.05, keys="TOLERANCE")


@pytest.mark.parametrize("share", [0.1, 0.35, 0.45, 0.6, 0.9])
def test_cancelled_at_any_time(addon, share):
    armature = walking("basic_human")
    kept = armature.ikcore_feet
    kept.ground, kept.plane_height = "PLANE", HEIGHT
    job = addon.feet.foot_job.make_job(bpy.context, armature, kept)
    worked = addon.feet.foot_bake.scene_frames.run(addon.feet.foot_bake.work(bpy.context, job))
    before = rigs.state()
    going = addon.feet.keys.make_keys(bpy.context, job, *worked, kept)
    while next(going) < share:
        pass
    going.close()
    assert rigs.state() == before


@pytest.mark.parametrize("kind", ["basic_human", PAWS])
def test_again_from_the_original(kind):
    """Pressing again with the same options gives the same: what deforms is within a tenth of a millimetre."""
    armature = walking(kind)
    bake()
    first = rigs.sampled(armature, FRAMES)
    bake()
    rows = test_rigify.deforming(armature)
    off = np.abs(rigs.sampled(armature, FRAMES) - first)[:, rows].max(axis=(0, 2, 3))
    assert off.max() < 1e-4, [armature.pose.bones[rows[n]].name for n in np.flatnonzero(off > 1e-4)]


def test_trails_go_when_keys_of_controls_change(addon):
    armature = walking("basic_human")
    bake()
    assert addon.feet.overlay.current(armature)
    armature.pose.bones["foot_ik.L"].location.x += 0.1
    armature.pose.bones["foot_ik.L"].keyframe_insert("location", frame=10)
    bpy.context.view_layer.update()
    assert addon.feet.overlay.current(armature) is None


def between_other_poses():
    """A rig half way between IK that steps, and stretches or shortens its bones, and FK that goes its own way."""
    armature = walking("basic_human", IK_FK=0.5, stretch=1.0)
    bones = armature.pose.bones
    for frame in FRAMES:
        bones["torso"].location = (0.0, -0.012 * frame, -0.12)
        bones["torso"].keyframe_insert("location", frame=frame)
        for side, ahead in (("L", 1), ("R", -1)):
            for name, x in (("thigh_fk", 0.9), ("shin_fk", 0.1), ("foot_fk", -0.5)):
                test_rigify.turn(bones[f"{name}.{side}"], frame, x=x + 0.15 * ahead * np.sin(0.2 * frame))
    bpy.context.scene.frame_set(1)
    return armature


def test_between_poses_that_are_far_apart():
    """IK has other lengths than FK, what is shown yet others; feet stand where they were put all the same."""
    armature = between_other_poses()
    job, baked, told = bake()
    off = away(armature, job, baked)
    knees = {knee for leg in job.legs for knee in leg.knees}
    assert not told.away
    assert max(far for bone, far in off.items() if bone not in knees) < NEAR, off


def test_farther_than_fk_reaches():
    """IK stretches to where FK does not reach: the report says that, and what to do."""
    armature = between_other_poses()
    for frame in FRAMES:
        armature.pose.bones["torso"].location = (0.0, -0.012 * frame, 0.2)
        armature.pose.bones["torso"].keyframe_insert("location", frame=frame)
    told = bake()[-1]
    assert told.away
    assert "IK stretches it farther than FK reaches: set the switch to FK or IK" in told.sentence()


def test_bones_that_do_not_point_at_each_other(addon):
    """Half way between knees that bend apart, thigh and shin of FK are turned until they get to the foot."""
    rng = np.random.default_rng(2)
    own, poses = np.tile(np.eye(4), (2, 3, 20, 1, 1))
    own[1, :, 2, 3], own[2, :, 1:3, 3] = -0.5, (0.03, -0.9)
    turns = rng.normal(0, 1, (2, 20, 4))
    poses[:2, ..., :3, :3] = addon.bridge.rotations.to_matrix(turns / np.linalg.norm(turns, axis=-1, keepdims=True))
    poses[1:, :, :3, 3] = rng.uniform(-0.2, 0.2, (2, 20, 3))
    poses[1:, :, 2, 3] -= [[0.3], [0.6]]
    thigh, shin = addon.feet.foot_controls._reach_feet(poses, own)[..., :3, :3]
    reached = thigh @ own[1, 0, :3, 3] + shin @ (own[2] - own[1])[0, :3, 3]
    assert np.abs(reached - poses[2, :, :3, 3]).max() < 1e-6
