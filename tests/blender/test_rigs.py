"""The rigs of docs/blender/rigs.md: a test for each row of its table, and no row without one."""

import importlib
import pathlib
import re

import bpy
import mixamo
import numpy as np
import pytest
import rigs
import test_bake
import test_feet
import test_foot_controls
import test_foot_refusals
import test_free_feet
import test_refusals
import test_rigify
import test_tracking
import walks
from conftest import EXTENSION
from mathutils import Matrix, Vector

PAGE = pathlib.Path(__file__).parents[2] / "docs/blender/rigs.md"
FRAMES = range(1, 31)
NEAR = 5e-4
ROWS = {
    "Library overrides": [
        test_foot_refusals.test_library_override_with_a_local_action,
        test_refusals.test_library_override,
    ],
    "Mixamo, Unreal and others with known bone names": [test_feet.test_rigs],
    "Chains along Spline IK": [test_tracking.test_a_spline, test_tracking.test_what_cannot_be_solved_anew_is_refused],
    "Feet parented to the root": [test_free_feet.test_as_the_library_bakes_them],
    "Uneven or negative scales": [test_bake.test_moved_turned_and_unevenly_scaled_object],
}


def row(name):
    """Registers a test for a row of the table."""

    def kept(test):
        ROWS.setdefault(name, []).append(test)
        return test

    return kept


def test_every_row_is_a_test():
    if not PAGE.is_file():
        pytest.skip("the pages are not here")
    rows = re.findall(r"^\| \*\*(.+?)\*\*", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(ROWS)


def bake(**options):
    """Bake onto a plane."""
    return bpy.ops.ikcore.bake_feet(**{"ground": "PLANE", "plane_height": 0.0} | options)


def found(armature):
    """The legs that are found, by name: from thigh to toes, or as far as there are bones."""
    legs = importlib.import_module(f"{EXTENSION}.feet.legs")
    chains = {leg.name: leg.chain for leg in legs.detect_legs(bpy.context, armature)}
    return {name: tuple(joint for joint in chain if joint in armature.pose.bones) for name, chain in chains.items()}


def stepping(armature, feet, length):
    """Feet that sink by a hundredth of a leg and slide, by location keys of these bones, under what stays."""
    for bone in (armature.pose.bones[name] for name in feet):
        ahead = bone.bone.matrix_local.to_3x3().inverted() @ Vector((0, -0.2 * length, 0))
        down = bone.bone.matrix_local.to_3x3().inverted() @ Vector((0, 0, -0.01 * length))
        left = bone.name.endswith("L")
        for frame, way, up in ((1, 0, 0), (12, 0.1, 0), (18, 0.6, -8), (24, 1.0, 0), (30, 1.1, 0)):
            bone.location = ahead * (way if left else 1.1 - way) + down * up + down
            bone.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 30
    rigs.select(armature)
    bpy.context.scene.frame_set(1)


# --- plain skeletons -------------------------------------------------------------------------------------------------


@row("Plain skeletons")
def test_a_plain_skeleton(tmp_path):
    """Its feet are baked; a leg gets IK, and Bake IK gives its keys back."""
    armature = walks.walk(tmp_path)
    assert bpy.ops.ikcore.bake_feet() == {"FINISHED"}
    was = rigs.sampled(armature, FRAMES)
    rigs.select(armature, "LeftUpLeg", "LeftLeg")
    assert bpy.ops.ikcore.fk_to_ik(frame_range="CUSTOM", frame_start=1, frame_end=30) == {"FINISHED"}
    np.testing.assert_allclose(rigs.sampled(armature, FRAMES)[..., :3, 3], was[..., :3, 3], atol=1e-3)
    assert bpy.ops.ikcore.bake_ik(frame_range="CUSTOM", frame_start=1, frame_end=30) == {"FINISHED"}
    np.testing.assert_allclose(rigs.sampled(armature, FRAMES)[..., :3, 3], was[..., :3, 3], atol=1e-3)


def strange(sizes=(2.5, 2.5, 2.5)):
    """A person with names that say nothing, under a parent that is moved, turned and scaled."""
    armature = rigs.person()
    for n, bone in enumerate(armature.data.bones):
        bone.name = ("Knochen.{:03}", "骨 {}", 'a "b" {}')[n % 3].format(n)
    holder = rigs.add_object("Holder")
    holder.scale, holder.location, holder.rotation_euler = sizes, (3, 2, 0.2), (0, 0, 0.7)
    armature.parent, armature.matrix_parent_inverse = holder, Matrix.Rotation(0.2, 4, "Z")
    armature.scale, armature.location = (0.5, 0.5, 0.5), (0.3, 0.1, 0.0)
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    rigs.key_pose(armature, np.random.default_rng(1), (1, 15, 30), bones=armature.pose.bones.keys(), size=0.05)
    rigs.select(armature)
    return armature


@row("Unusual names, scales and parents")
def test_odd_names_scales_and_parents():
    armature = strange()
    assert sorted(found(armature)) == ["left", "right"]
    test_foot_controls.bake_as_shown(armature, plane_height=0.25)


@row("Uneven or negative scales")
@pytest.mark.parametrize("sizes", [(1, 2, 1), (-1, 1, 1)])
def test_uneven_scales(sizes):
    armature = strange()
    armature.scale = sizes
    bpy.context.view_layer.update()
    with rigs.refused("scale that is uneven, negative or zero: apply it"):
        bake()


# --- Rigify ----------------------------------------------------------------------------------------------------------


def proportions(bones):
    """Longer thighs, wider hips, shorter shins and bigger feet that point outward."""
    low = [bone for bone in bones if bone.name.startswith(("foot", "toe", "heel"))]
    for side, sign in ((".L", 1), (".R", -1)):
        hip = bones["thigh" + side].head.copy()
        mine = [bone for bone in bones if bone.name.endswith(side)]
        turn = Matrix.Translation(hip) @ Matrix.Rotation(0.2 * sign, 4, "Z") @ Matrix.Translation(-hip)
        for bone in (bone for bone in mine if bone in low or bone.name.startswith(("thigh", "shin"))):
            for end in ("head", "tail"):
                if end == "tail" or not bone.use_connect:
                    place = getattr(bone, end)
                    place.x, place.y = place.x + 0.06 * sign, 1.3 * place.y
                    setattr(bone, end, turn @ place)
        bones["shin" + side].head.z -= 0.08


@row("Rigify: human, basic human")
@pytest.mark.parametrize("fk", [0.0, 0.5, 1.0])
def test_other_proportions(fk):
    armature = test_foot_controls.walking("basic_human", change=proportions, IK_FK=fk)
    if fk == 1.0:
        options = {"limbs": "ALL", "frame_range": "CUSTOM", "frame_start": 1, "frame_end": 30}
        assert bpy.ops.ikcore.ik_to_fk(**options) == {"FINISHED"}
    test_foot_controls.bake_as_shown(armature)
    assert min(heights.min() for heights in test_foot_controls.lowest().values()) > -2 * NEAR


@row("Rigify: human, basic human")
def test_other_proportions_there_and_back():
    armature = test_rigify.generated("basic_human", proportions)
    test_rigify.animate_fk(armature)
    was = rigs.sampled(armature, test_rigify.FRAMES)
    for name in ("fk_to_ik", "ik_to_fk"):
        assert test_rigify.snap(name) == {"FINISHED"}
        test_rigify.check(armature, was)


def faceless(bones):
    """Without a face, which takes half a minute to generate."""
    for name in [bone.name for top in filter(None, [bones.get("face")]) for bone in (top, *top.children_recursive)]:
        bones.remove(bones[name])


ANIMALS = {
    "basic_quadruped": ("front_thigh_fk.L", "front_shin_fk.L", "front_foot_fk.L"),
    "wolf": ("front_thigh_fk.L", "front_shin_fk.L", "front_foot_fk.L"),
    "cat": ("upper_arm_fk.L", "forearm_fk.L", "hand_fk.L"),
    "bird": None,
}


@row("Rigify: basic quadruped, wolf, cat, bird")
@pytest.mark.parametrize("kind", ANIMALS)
def test_animals(kind):
    """All legs are detected, whatever their names, and baked in IK to the displayed pose; FK from IK keeps the
    deforming bones."""
    armature = test_rigify.generated(kind, faceless)
    chains = found(armature)
    assert chains.get("front left") == ANIMALS[kind]
    assert chains["hind left" if ANIMALS[kind] else "left"] == ("thigh_fk.L", "shin_fk.L", "foot_fk.L")
    rigify = importlib.import_module(f"{EXTENSION}.rig.rigify")
    limbs = [limb for limb in rigify.limbs(armature) if limb.paw]
    assert len(limbs) == len(chains)
    stepping(armature, [limb.control for limb in limbs], armature.data.bones["thigh_fk.L"].head_local.z)
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.0
    test_foot_controls.bake_as_shown(armature)
    was = rigs.sampled(armature, test_rigify.FRAMES)
    assert test_rigify.snap("ik_to_fk") == {"FINISHED"}
    test_rigify.check(armature, was)


@row("Rigify: basic quadruped, wolf, cat, bird")
def test_paws_in_fk():
    """Toes go along with the feet, and nothing but FK has new keys; in FK as in IK they come to the ground."""
    armature = test_foot_controls.walking("basic_quadruped")
    options = {"limbs": "ALL", "frame_range": "CUSTOM", "frame_start": 1, "frame_end": 30}
    assert bpy.ops.ikcore.ik_to_fk(**options) == {"FINISHED"}
    before = test_foot_controls.curves(armature)
    test_foot_controls.bake_as_shown(armature)
    after = test_foot_controls.curves(armature)
    changed = {path.split('"')[1] for path, n in after if not np.array_equal(after[path, n], before.get((path, n)))}
    assert test_foot_controls.names("toe", "front_toe", "foot_fk", "front_foot_fk") <= changed
    assert not [name for name in changed if "_ik" in name]
    lowest = test_foot_controls.lowest()
    assert min(lowest[f"Shoe DEF-toe.{side}"].min() for side in "LR") > -NEAR


HORSE = {
    "hind left": ("thigh", "lower_leg", "hind_foot", "r_toe"),
    "front left": ("upper_arm", "forearm", "forefoot", "f_toe"),
}


@row("Rigify: horse")
def test_a_horse():
    """Its IK bends three bones by two solvers and turns a fourth: as shown in IK, and FK gives the same."""
    armature = test_rigify.generated("horse", faceless)
    for name, parts in HORSE.items():
        assert found(armature)[name] == tuple(f"{part}_fk.L" for part in parts)
    rigify = importlib.import_module(f"{EXTENSION}.rig.rigify")
    limbs = rigify.limbs(armature)
    stepping(armature, [limb.control for limb in limbs], armature.data.bones["thigh_fk.L"].head_local.z)
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.0
    test_foot_controls.bake_as_shown(armature)
    assert {"hind_foot_ik.L", "r_toe_ik.L", "hind_foot_heel_ik.L"} <= test_foot_controls.keyed(armature)
    for bone in test_rigify.switches(armature):
        bone["IK_FK"] = 1.0
    armature.update_tag()
    legs = [name for chain in found(armature).values() for name in chain]
    rigs.key_pose(armature, np.random.default_rng(1), (1, 15, 30), bones=legs, size=0.1)
    test_foot_controls.bake_as_shown(armature, plane_height=0.1, from_original=False)


@row("Rigify: horse")
@pytest.mark.parametrize("pole", [False, True])
def test_a_horse_there_and_back(pole):
    armature = test_rigify.generated("horse", faceless)
    rng = np.random.default_rng(1)
    for bone in test_rigify.switches(armature):
        bone["pole_vector"], bone["IK_FK"] = pole, 1.0
    for frame in (1, 7, 12):
        armature.pose.bones["torso"].location = rng.normal(0, 0.1, 3)
        armature.pose.bones["torso"].keyframe_insert("location", frame=frame)
        for n, part in enumerate((*HORSE["hind left"], *HORSE["front left"])):
            for side in (".L", ".R"):
                angles = dict(zip("xyz", rng.normal(0, 0.12, 3), strict=True))
                angles = {"x": angles["x"]} if n % 4 in (1, 2) else angles
                test_rigify.turn(armature.pose.bones[f"{part}_fk{side}"], frame, **angles)
        for name in ("r_hoof.L", "f_hoof.R"):
            test_rigify.turn(armature.pose.bones[name], frame, x=rng.uniform(-0.3, 0.3))
    bpy.context.scene.frame_set(1)
    was = rigs.sampled(armature, test_rigify.FRAMES)
    for name, at in (("fk_to_ik", 0.0), ("ik_to_fk", 1.0)):
        assert test_rigify.snap(name) == {"FINISHED"}
        assert [bone["IK_FK"] for bone in test_rigify.switches(armature)] == [at] * 4
        test_rigify.check(armature, was)


@row("Rigify: shark")
def test_a_shark():
    """Fins are no legs."""
    armature = test_rigify.generated("shark", faceless)
    rigs.key_pose(armature, np.random.default_rng(1), (1, 30), bones=["torso", "side_fin.L"], size=0.05)
    bpy.context.scene.frame_set(1)
    before = rigs.state()
    with pytest.raises(RuntimeError, match="No legs found in rig, by bone names or by the hierarchy"):
        bake()
    assert rigs.state() == before


# --- others ----------------------------------------------------------------------------------------------------------


def mixamo_in_fk(size=0.1):
    """The rig whose limbs of FK have keys, elbows and knees about their hinges, under a body that moves."""
    armature, rng = mixamo.control_rig(), np.random.default_rng(1)
    for frame in (1, 15, 30):
        for name in ("Ctrl_Master", "Ctrl_Hips"):
            armature.pose.bones[name].location = rng.normal(0, 0.03, 3)
            armature.pose.bones[name].keyframe_insert("location", frame=frame)
        for side, _ in mixamo.SIDES:
            for n, name in enumerate((*mixamo.KEYED["leg"], *mixamo.KEYED["arm"])):
                angles = dict(zip("xyz", rng.normal(0, size, 3), strict=True))
                angles = {"x": rng.uniform(0.1, 0.6) * (-1 if n == 1 else 1)} if n in (1, 5) else angles
                test_rigify.turn(armature.pose.bones[f"Ctrl_{name}_{side}"], frame, **angles)
    mixamo_switched(armature, 1.0)
    rigs.select(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 30
    bpy.context.scene.frame_set(1)
    return armature


def mixamo_switched(armature, value):
    for bone in armature.pose.bones:
        if "ik_fk_switch" in bone:
            bone["ik_fk_switch"] = value
    armature.update_tag()
    bpy.context.view_layer.update()


@row("Mixamo's control rig")
def test_mixamo_control_rig_is_at_rest():
    """Or what follows says nothing: in IK as in FK, what deforms is where it is at rest."""
    armature = mixamo.control_rig()
    for value in (0.0, 1.0):
        mixamo_switched(armature, value)
        for bone in armature.pose.bones:
            if bone.bone.use_deform:
                assert (bone.head - bone.bone.head_local).length < 1e-4, (value, bone.name)


@row("Mixamo's control rig")
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_mixamo_control_rig(value):
    """Feet in IK, in FK and between, by keys of its controls, that roll by their cursor."""
    armature = mixamo_in_fk()
    chains = found(armature)
    assert chains["left"] == tuple(f"Ctrl_{name}_Left" for name in mixamo.KEYED["leg"])
    if value < 1:
        assert test_rigify.snap(frame_end=30) == {"FINISHED"}
        cursor = armature.pose.bones["Ctrl_FootRoll_Cursor_Left"]
        for frame, up in ((1, 0.0), (15, 0.02), (30, 0.0)):
            cursor.location = (0, 0, up)
            cursor.keyframe_insert("location", frame=frame)
        mixamo_switched(armature, value)
    job = test_foot_controls.bake_as_shown(armature, plane_height=0.02, from_original=False)
    kinds = {0.0: ["IK"], 0.5: ["IK", "FK"], 1.0: ["FK"]}[value]
    for kind in kinds:
        assert f"Ctrl_Foot_{kind}_Left" in test_foot_controls.keyed(armature)
    assert not any(name.startswith(("Foot_", "mixamorig")) for name in test_foot_controls.keyed(armature))
    shown = rigs.sampled(armature, FRAMES)
    for side, _ in mixamo.SIDES:
        for part, leg in (("UpLeg", 0), ("Leg", 1), ("Foot", 2)):
            chain = next(leg_.chain for leg_ in job.legs if leg_.side == side.lower())
            one, other = (
                shown[:, armature.pose.bones.find(name), :3, 3]
                for name in (mixamo.MIXAMO.format(side, part), chain[leg])
            )
            assert np.abs(one - other).max() < NEAR, part


@row("Mixamo's control rig")
def test_mixamo_control_rig_there_and_back():
    """Deforming bones keep their pose: legs with toes and rolled feet, and arms; poles and hands have other parents."""
    armature = mixamo_in_fk()
    armature.pose.bones["Ctrl_FootRoll_Cursor_Left"].location.z = 0.03
    was = rigs.sampled(armature, test_rigify.FRAMES)
    for name, at in (("fk_to_ik", 0.0), ("ik_to_fk", 1.0)):
        assert test_rigify.snap(name) == {"FINISHED"}
        assert [bone["ik_fk_switch"] for bone in armature.pose.bones if "ik_fk_switch" in bone] == [at] * 4
        test_rigify.check(armature, was)


@row("Auto-Rig Pro")
def test_auto_rig_pro_by_its_names():
    """No more than names: the rig itself is nowhere to be had for tests."""
    words = {"thigh": "thigh_fk{}", "shin": "leg_fk{}", "foot": "foot_fk{}", "toe": "toes_fk{}"}
    bones = list(rigs.TRUNK)
    for side, sign in ((".l", 1), (".r", -1)):
        for part, above, head, tail in rigs.LEG:
            ends = [(sign * x, y, z) for x, y, z in (head, tail)]
            bones.append((f"c_{words[part]}".format(side), f"c_{words.get(above)}".format(side), *ends))
    bones = [(name, None if above == "c_None" else above, *ends) for name, above, *ends in bones]
    bones = [(n, "hips" if above is None and n != "hips" else above, *ends) for n, above, *ends in bones]
    armature = rigs.figure(bones, name="rig")
    rigs.move(armature, (1, 10, 20, 30), size=0.1)
    assert found(armature)["left"] == tuple(
        f"c_{word}.l".format("") for word in ("thigh_fk", "leg_fk", "foot_fk", "toes_fk")
    )
    assert bake() == {"FINISHED"}


@row("Auto-Rig Pro")
def test_what_is_switched_hangs_on_a_root():
    """A foot in IK hangs on a root that carries the body too, which is no foot control; its toes are connected.

    The rig is built, by names that Auto-Rig Pro has.
    """
    armature = switched_under_a_root()
    was = rigs.sampled(armature, test_rigify.FRAMES)
    for name, at in (("fk_to_ik", 0.0), ("ik_to_fk", 1.0)):
        assert test_rigify.snap(name) == {"FINISHED"}
        assert [armature.pose.bones[f"c_foot_ik{side}"]["ik_fk_switch"] for side in SIDES] == [at] * 2
        test_rigify.check(armature, was)
    keyed = test_foot_controls.keyed(armature)
    assert "c_foot_ik.l" in keyed
    assert "c_traj" not in keyed


SIDES = (".l", ".r")


def switched_under_a_root():
    """Legs that copy IK and FK by ik_fk_switch of the foot; FK is keyed, knees about their hinge, and shown."""
    bones = [("c_traj", None, (0, 0, 0), (0, 0.3, 0))]
    bones += [(name, above or "c_traj", *ends) for name, above, *ends in rigs.TRUNK]
    names = {
        "thigh": ("c_thigh_fk", "thigh_ik", "thigh_stretch"),
        "shin": ("c_leg_fk", "leg_ik", "leg_stretch"),
        "foot": ("c_foot_fk", "c_foot_ik", "foot"),
        "toe": ("c_toes_fk", "c_toes_ik", "toes_01"),
    }
    for side, sign in zip(SIDES, (1, -1), strict=True):
        for part, above, head, tail in rigs.LEG:
            ends = [(sign * x, y, z) for x, y, z in (head, tail)]
            for kind, name in enumerate(names[part]):
                parent = names[above][kind] + side if above in names else "hips"
                bones.append((name + side, "c_traj" if name == "c_foot_ik" else parent, *ends))
        bones.append((f"c_leg_pole{side}", "c_traj", (sign * 0.1, -1, 0.5), (sign * 0.1, -1.1, 0.5)))
    armature = rigs.figure(bones, name="rig")
    pose = armature.pose.bones
    for side in SIDES:
        pose[f"c_foot_ik{side}"]["ik_fk_switch"] = 1.0
        ik = pose[f"leg_ik{side}"].constraints.new("IK")
        ik.target = ik.pole_target = armature
        ik.subtarget, ik.pole_subtarget, ik.chain_count = f"c_foot_ik{side}", f"c_leg_pole{side}", 2
        ik.pole_angle, ik.iterations = -np.pi / 2, 500
        for fk, solved, shown in names.values():
            for name in (solved, fk):
                copy = pose[shown + side].constraints.new("COPY_TRANSFORMS")
                copy.target, copy.subtarget = armature, name + side
            driver = copy.driver_add("influence").driver
            variable = driver.variables.new()
            variable.name, driver.expression = "value", "value"
            variable.targets[0].id = armature
            variable.targets[0].data_path = f'pose.bones["c_foot_ik{side}"]["ik_fk_switch"]'
        for frame, knee in ((1, 0.3), (7, 1.1), (12, 0.6)):
            test_rigify.turn(pose[f"c_thigh_fk{side}"], frame, x=-knee, z=0.2)
            test_rigify.turn(pose[f"c_leg_fk{side}"], frame, x=2 * knee)
            test_rigify.turn(pose[f"c_toes_fk{side}"], frame, x=0.3 - knee)
            pose["hips"].location = (knee, 0, 0)
            pose["hips"].keyframe_insert("location", frame=frame)
    for bone in armature.data.bones:
        bone.use_deform = bone.name.startswith(("thigh_s", "leg_s", "foot", "toes_0"))
    rigs.select(armature)
    bpy.context.scene.frame_set(1)
    return armature


@row("Rigify: basic quadruped, wolf, cat, bird")
def test_a_spine_askew_by_rounding():
    """Bones of a spine copy each other, of these proportions until they are askew by more than numbers are rounded."""

    def changed(bones):
        rng = np.random.default_rng(7)
        wide, long, low, high = (rng.uniform(*ends) for ends in ((0.7, 1.5), (0.8, 1.3), (0.6, 1.6), (0.7, 1.3)))
        hip = 0.5 * max(bone.tail.z for bone in bones)

        def placed(point):
            z = point.z * low if point.z < hip else hip * low + (point.z - hip) * high
            return Vector((point.x * wide, point.y * long, z))

        places = [(bone, placed(bone.head), placed(bone.tail), bone.z_axis.copy(), bone.use_connect) for bone in bones]
        for bone in bones:
            bone.use_connect = False
        for bone, head, tail, _, _ in places:
            bone.head, bone.tail = head, tail
        for bone, _, _, axis, connected in places:
            bone.use_connect = connected
            bone.align_roll(axis)

    armature = test_foot_controls.walking("basic_quadruped", change=changed)
    askew = rigs.sampled(armature, [1])[0, armature.pose.bones.find("ORG-spine.005"), :3, :3]
    askew /= np.linalg.norm(askew, axis=0)
    assert abs(askew.T @ askew - np.eye(3)).max() > 1e-5, "the test has nothing askew"
    test_foot_controls.bake_as_shown(armature, knees=False)
