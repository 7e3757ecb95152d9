"""No operator reports success where nothing is seen of it: what keeps it from being seen is said, and why."""

import bpy
import numpy as np
import pytest
import rigs
import walks
from mathutils import Matrix

FRAMES = range(1, 21)
PLANE = {"ground": "PLANE", "plane_height": 0.05}
LEGS = [f"{part}_fk.{side}" for side in "LR" for part in ("thigh", "shin", "foot", "toe")]
SWITCH = 'pose.bones["hips"]["IK_FK"]'


def bake(**options):
    return bpy.ops.ikcore.bake_feet(**{**PLANE, **options})


def refused(call, **options):
    """The sentence with which it is refused, and that nothing has changed."""
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(7, subframe=0.5)
    before = rigs.state()
    with pytest.raises(RuntimeError) as error:
        call(**options)
    assert rigs.state() == before
    return str(error.value)


def feet(armature):
    """World positions of the deforming feet."""
    return np.array([rigs.places(armature, FRAMES)[f"DEF-foot.{side}"] for side in "LR"])


# --- rigs whose legs are switched ------------------------------------------------------------------------------------


@pytest.fixture
def rig():
    armature = rigs.control_rig()
    rng = np.random.default_rng(1)
    for frame in (1, 10, 20):
        rigs.key_pose(armature, rng, [frame], bones=LEGS, size=0.1)
        armature.pose.bones["hips"].location = (0, 0, -0.01 * frame)
        armature.pose.bones["hips"].keyframe_insert("location", frame=frame)
    return armature


def switch(armature, *values):
    """Set the switch, or key it with steps: (frame, value)."""
    hips = armature.pose.bones["hips"]
    for frame, value in values:
        hips["IK_FK"] = value
        if frame is not None:
            hips.keyframe_insert('["IK_FK"]', frame=frame)
            curve = rigs.curves_of(armature.animation_data.action, armature.animation_data.action_slot)[SWITCH, 0]
            curve.keyframe_points[-1].interpolation = "CONSTANT"
    armature.update_tag()


def test_legs_that_are_followed_are_baked(rig):
    before = feet(rig)
    assert bake() == {"FINISHED"}
    assert np.abs(feet(rig) - before).max() > 0.02
    assert {
        path.split('"')[1] for path, _ in rigs.curves_of(rig.animation_data.action, rig.animation_data.action_slot)
    } == {
        "hips",
        *LEGS,
    }


def test_without_deforming_bones_legs_are_what_is_seen(rig):
    for bone in rig.data.bones:
        bone.use_deform = False
    switch(rig, (None, 0.0))
    assert bake() == {"FINISHED"}


def test_skins_say_what_is_seen(rig):
    """Bones that might deform, but no skin has a group of them, do not count."""
    for name in LEGS:
        rig.data.bones[name].use_deform = True
    switch(rig, (None, 0.0))
    assert bake() == {"FINISHED"}
    rigs.shoe(rig, {"DEF-foot.L": (-0.12, 0.06), "DEF-foot.R": (-0.12, 0.06)}, 0.1)
    assert "DEF-foot.L does not follow foot_fk.L" in refused(bake)


CASES = {
    "off": (((None, 0.0),), "Baking these bones would not move the mesh: DEF-foot.L does not follow foot_fk.L at "
            "frame 1, because IK_FK of hips is 0: animate thigh_fk.L and its children, and set that to 1"),
    "half": (((None, 0.5),), "Only 50% of the motion would reach the mesh: DEF-foot.L does not follow foot_fk.L at "
             "frame 1, because IK_FK of hips is 0.5"),
    "for a while": (((1, 1.0), (8, 0.0), (9, 1.0)), "Baking these bones would not move the mesh: DEF-foot.L does not "
                    "follow foot_fk.L at frame 8, because IK_FK of hips is 0: animate thigh_fk.L and its children, "
                    "and set"),
}  # fmt: skip


@pytest.mark.parametrize("operator", ["bake_feet", "detect_contacts"])
@pytest.mark.parametrize("case", CASES)
def test_legs_that_are_not_followed_are_refused(rig, case, operator):
    values, sentence = CASES[case]
    switch(rig, *values)
    assert sentence in refused(getattr(bpy.ops.ikcore, operator), **PLANE)


def test_what_is_said_to_help_helps(rig):
    switch(rig, (None, 0.0))
    refused(bake)
    switch(rig, (None, 1.0))
    assert bake() == {"FINISHED"}


def test_a_switch_farther_from_the_legs(rig):
    """Deforming bones may follow bones that follow those of the legs."""
    for side in "LR":
        made = rigs.edit_bones(rig)
        for part in ("thigh", "shin", "foot"):
            bone, leg = made.new(f"ORG-{part}.{side}"), made[f"{part}_fk.{side}"]
            bone.head, bone.tail, bone.roll, bone.use_deform = leg.head, leg.tail, leg.roll, False
        bpy.ops.object.mode_set(mode="POSE")
        for part in ("thigh", "shin", "foot"):
            copy = rig.pose.bones[f"ORG-{part}.{side}"].constraints.new("COPY_TRANSFORMS")
            copy.target, copy.subtarget = rig, f"{part}_fk.{side}"
            rig.pose.bones[f"DEF-{part}.{side}"].constraints["fk"].subtarget = f"ORG-{part}.{side}"
    assert bake() == {"FINISHED"}
    switch(rig, (None, 0.0))
    assert "does not follow foot_fk.L at frame 1, because IK_FK of hips is 0: animate" in refused(bake)


def test_one_leg_that_is_followed(rig):
    """The other is not asked for."""
    for part in ("thigh", "shin", "foot"):
        rig.pose.bones[f"DEF-{part}.R"].constraints["fk"].mute = True
    assert "because fk of DEF-foot.R is muted: change that, or choose other bones" in refused(bake)
    assert bake(legs=[{"name": "left"}]) == {"FINISHED"}


def test_a_constraint_that_is_switched_by_keys(rig):
    """Between the frames that are looked at anyway."""
    for part in ("thigh", "shin", "foot"):
        constraint = rig.pose.bones[f"DEF-{part}.L"].constraints["fk"]
        for frame, influence in ((7, 1.0), (8, 0.0), (9, 1.0)):
            constraint.influence = influence
            constraint.keyframe_insert("influence", frame=frame)
    assert "DEF-foot.L does not follow foot_fk.L at frame 8, because fk of DEF-foot.L has influence 0" in refused(bake)


def test_a_switch_that_is_on_or_off(rig):
    rig.pose.bones["hips"]["IK_FK"] = False
    rig.update_tag()
    assert "because IK_FK of hips is 0: animate thigh_fk.L and its children, and set that to 1" in refused(bake)


def test_a_constraint_without_influence(rig):
    for part in ("thigh", "shin", "foot"):
        rig.pose.bones[f"DEF-{part}.L"].constraints["fk"].influence = 0.0
    assert "because fk of DEF-foot.L has influence 0: change that" in refused(bake)


def test_no_constraint_at_all(rig):
    for side in "LR":
        for constraint in list(rig.pose.bones[f"DEF-foot.{side}"].constraints):
            rig.pose.bones[f"DEF-foot.{side}"].constraints.remove(constraint)
        rigs.edit_bones(rig)[f"DEF-foot.{side}"].parent = None
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "does not follow foot_fk.L at frame 1. Choose the bones that move it in the list" in refused(bake)


def test_only_such_actions_are_left_out(rig, capfd):
    """Only such actions of several are left out, with the reason."""
    walk = rig.animation_data.action
    walk.name = "walk"
    other = walk.copy()
    other.name = "other"
    rig.animation_data.action = other
    switch(rig, (1, 0.0))
    rig.animation_data.action = walk
    switch(rig, (None, 1.0))
    assert bpy.ops.ikcore.bake_feet_actions(**PLANE) == {"FINISHED"}
    assert "Baked 1 action" in (text := capfd.readouterr().out)
    assert "not baked: other (Baking these bones would not move the mesh: DEF-foot.L does not follow foot_fk.L" in text


def test_generated_rigify_that_walks_on_the_spot(addon, capfd):
    """The topmost bone above the legs cannot move, so the one below travels. Invisible bones get no keys."""
    bpy.ops.preferences.addon_enable(module="rigify")
    try:
        bpy.ops.object.armature_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        rig = bpy.context.object
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], 40
        for side, phase in (("L", 0), ("R", np.pi)):
            rig.pose.bones[f"thigh_parent.{side}"]["IK_FK"] = 1.0
            thigh, shin = (rig.pose.bones[f"{name}_fk.{side}"] for name in ("thigh", "shin"))
            for frame in range(1, 41, 3):
                at = frame / 20 * 2 * np.pi + phase
                for bone, half in ((thigh, 0.25 * np.sin(at)), (shin, 0.5 * max(0, -np.cos(at)))):
                    bone.rotation_mode, bone.rotation_quaternion = "QUATERNION", (np.cos(half), np.sin(half), 0, 0)
                    bone.keyframe_insert("rotation_quaternion", frame=frame)
        bpy.context.view_layer.update()
        before = feet(rig)
        assert bake() == {"FINISHED"}
        told = addon.feet.foot_report.latest(rig)
        assert "MCH-torso.parent cannot move, so torso was moved" in capfd.readouterr().out
        assert not told.away
        assert np.abs(feet(rig) - before).max() > 0.5
        rig.hide_viewport = True
        assert "rig or its collection is disabled in viewports" in refused(bake)
    finally:
        bpy.ops.preferences.addon_disable(module="rigify")


# --- armatures that Blender does not move ----------------------------------------------------------------------------


def by_itself(armature):
    armature.hide_viewport = True


def by_its_collection(armature):
    collection = bpy.data.collections.new("Hidden")
    bpy.context.scene.collection.children.link(collection)
    for each in list(armature.users_collection):
        each.objects.unlink(armature)
    collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    collection.hide_viewport = True


@pytest.mark.parametrize("hide", [by_itself, by_its_collection])
def test_disabled_in_viewports(hide, tmp_path):
    walker = walks.walk(tmp_path)
    bpy.ops.ikcore.detect_feet()
    hide(walker)
    for operator, options in (
        ("bake_feet", PLANE),
        ("bake_feet_actions", PLANE),
        ("detect_contacts", PLANE),
        ("detect_sole", {"leg": "left"}),
    ):
        assert "walk or its collection is disabled in viewports" in refused(
            getattr(bpy.ops.ikcore, operator), **options
        )


@pytest.mark.parametrize("hide", [by_itself, by_its_collection])
def test_limbs_of_what_is_disabled_in_viewports(hide):
    leg = rigs.leg()
    bpy.ops.object.mode_set(mode="OBJECT")
    hide(leg)
    assert "Leg or its collection is disabled in viewports" in refused(bpy.ops.ikcore.bake_ik)


def test_a_part_is_moved_of_what_is_disabled(tmp_path):
    """Blender evaluates bones of a disabled armature to which a visible object refers: not the legs."""
    walker = walks.walk(tmp_path)
    follower = rigs.add_object("Follower").constraints.new("COPY_LOCATION")
    follower.target, follower.subtarget = walker, "Head"
    walker.hide_viewport = True
    bpy.context.view_layer.objects.active = walker
    assert "walk or its collection is disabled in viewports" in refused(bake)


def test_disabled_but_moved(tmp_path, addon):
    """While a skin of its legs is shown Blender moves them, so they are baked."""
    walker = walks.walk(tmp_path)
    rigs.shoe(walker, dict.fromkeys(walks.LEGS, (0, 0.1)), 0)
    bpy.data.objects["Shoe"].parent = None
    walker.hide_viewport = True
    bpy.context.view_layer.objects.active = walker
    before = rigs.sampled(walker, FRAMES)
    assert bake() == {"FINISHED"}
    assert np.abs(rigs.sampled(walker, FRAMES) - before).max() > 0.01
    assert not addon.feet.foot_report.latest(walker).away


def test_hidden_but_moved(tmp_path):
    """By the eye in the Outliner: Blender moves it, so it is baked."""
    walker = walks.walk(tmp_path)
    clip = walks.read(walker)
    walker.hide_set(True)
    bpy.context.view_layer.objects.active = walker
    assert bake() == {"FINISHED"}
    wanted = walks.ik.bake_feet(clip, walks.ik.Ground.plane(height=0.05, up="z"))
    walks.assert_feet(walker, wanted, range(1, 62))


# --- keys that do not play as written --------------------------------------------------------------------------------


@pytest.fixture
def handler(request):
    """A script that turns a bone on every change of the frame, after all keys."""
    bone = {"walk": "LeftUpLeg", "Leg": "upper"}[request.param]

    def turn(scene, depsgraph):
        owner = bpy.data.objects[request.param].pose.bones[bone]
        owner.matrix_basis = owner.matrix_basis @ Matrix.Rotation(0.5, 4, "X")

    bpy.app.handlers.frame_change_post.append(turn)
    yield
    bpy.app.handlers.frame_change_post.remove(turn)


@pytest.mark.parametrize("operator", ["bake_feet", "bake_feet_actions"])
@pytest.mark.parametrize("handler", ["walk"], indirect=True)
def test_a_script_that_moves_bones(handler, operator, tmp_path, capfd, addon):
    walker = walks.walk(tmp_path)
    assert getattr(bpy.ops.ikcore, operator)(**PLANE) == {"FINISHED"}
    assert "Warning: Baked" in capfd.readouterr().out
    remarks = addon.feet.foot_report.latest(walker).remarks()
    (text,) = (said for said in remarks if said.startswith("Left foot is displayed "))
    assert "from its baked place at frame" in text
    assert text.endswith(": something other than its keys moves it")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keys": "STEP", "key_step": 7},
        {"keys": "TOLERANCE"},
        {"output": "NLA"},
        {"output": "OVERWRITE"},
        {"frame_range": "CUSTOM", "frame_start": 20, "frame_end": 40},
    ],
)
def test_keys_that_play_are_not_doubted(options, tmp_path, capfd):
    walks.walk(tmp_path)
    assert bake(**options) == {"FINISHED"}
    assert "from its baked place" not in capfd.readouterr().out


@pytest.mark.parametrize("handler", ["Leg"], indirect=True)
def test_limbs_that_a_script_moves(handler, capfd):
    rigs.leg()
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    text = capfd.readouterr().out
    assert "Warning: Baked 1 limb" in text
    assert "upper - lower is displayed more than 0.5% of its length from its baked place at frame" in text
    assert "something other than its keys moves it" in text


# --- nothing to do ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"influence": 0.0}, "Influence is 0"), ({"plane_height": -50.0}, "no foot is planted, see Ground and Contacts")],
)
@pytest.mark.parametrize("output", ["NEW", "NLA", "OVERWRITE"])
def test_a_bake_of_nothing(options, reason, output, tmp_path, capfd):
    walker = walks.walk(tmp_path)
    bpy.ops.ikcore.detect_feet()
    for leg in walker.ikcore_feet.legs:
        leg.mode = "never"
    before = rigs.state()
    assert bake(output=output, **options) == {"FINISHED"}
    assert rigs.state() == before
    text = capfd.readouterr().out
    assert "Warning: Baked" in text
    assert f"Nothing has changed: {reason}" in text
    assert text.count("Nothing has changed") == 1


def test_one_action_of_many_with_nothing_to_do(tmp_path, capfd):
    walks.walk(tmp_path)
    assert bpy.ops.ikcore.bake_feet_actions(influence=0.0, **PLANE) == {"FINISHED"}
    text = capfd.readouterr().out
    assert "Warning: Baked 1 action" in text
    assert "nothing has changed in walk Foot IK: Influence is 0" in text


def test_ik_without_influence(capfd):
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].influence = 0.0
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    text = capfd.readouterr().out
    assert "Warning: Baked 1 limb" in text
    assert "nothing has changed, because influence is 0 on all frames: upper - lower" in text


def test_lists_that_stay(tmp_path, capfd):
    walks.walk(tmp_path)
    for _ in range(2):
        bpy.ops.ikcore.detect_feet()
    assert "Warning: No other legs found: nothing has changed; kept left, right" in capfd.readouterr().out
    for _ in range(2):
        bpy.ops.ikcore.detect_contacts(**PLANE)
    assert "Warning: Contact curves: 0 keyed, 4 kept: turn on Replace Curves" in capfd.readouterr().out
    for change in ("REMOVE_OBJECT", "REMOVE_SOLE"):
        if change == "REMOVE_SOLE":
            bpy.ops.ikcore.edit_feet(change=change)
        assert bpy.ops.ikcore.edit_feet(change=change) == {"CANCELLED"}
        assert "Warning: Nothing has changed: the list is empty" in capfd.readouterr().out


def test_what_is_locked(tmp_path, capfd):
    """All channels are locked, so nothing is left to write."""
    walker = walks.walk(tmp_path)
    for bone in walker.pose.bones:
        bone.lock_location = bone.lock_rotation = (True, True, True)
    before = rigs.state()
    assert bake() == {"FINISHED"}
    assert rigs.state() == before
    text = capfd.readouterr().out
    assert "Nothing has changed: the channels to change are locked" in text
    assert "keeps its locked location X and Y and Z" in text


def test_ground_that_is_not_there(tmp_path, capfd):
    """Among several objects, visible ones are used and the others are reported."""
    walks.walk(tmp_path)
    names = walks.steps()
    bpy.data.objects["Step 2"].hide_viewport = True
    rigs.add_object("Empty")
    bpy.context.view_layer.objects.active = bpy.data.objects["walk"]
    options = {"ground": "OBJECTS", "ground_objects": [{"name": name} for name in (*names, "Empty")]}
    assert bpy.ops.ikcore.bake_feet(**options) == {"FINISHED"}
    text = capfd.readouterr().out
    assert "Warning: Baked" in text
    assert "Step 2 is hidden or has no faces: it is not used as ground. Empty is hidden" in text


def test_back_to_the_original_is_a_change(tmp_path, capfd):
    """A bake of nothing from the original takes back the bake that plays."""
    walker = walks.walk(tmp_path)
    bake()
    baked = rigs.sampled(walker, FRAMES)
    assert bake(influence=0.0) == {"FINISHED"}
    assert np.abs(rigs.sampled(walker, FRAMES) - baked).max() > 0.01
    assert "Nothing has changed" not in capfd.readouterr().out
