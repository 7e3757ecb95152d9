"""Every refusal: its sentence, and that nothing has changed."""

import bpy
import numpy as np
import pytest
import rigs


def ik(leg):
    return leg.pose.bones["lower"].constraints[0]


def spoil(**settings):
    """Set properties of the constraint, or of a bone as `bone__property`."""

    def apply(leg):
        for name, value in settings.items():
            bone, _, setting = name.rpartition("__")
            setattr(leg.pose.bones[bone] if bone else ik(leg), setting, value)

    return apply


def vertex_group(leg):
    mesh = rigs.add_object("Mesh", bpy.data.meshes.new("Mesh"))
    mesh.vertex_groups.new(name="heel")
    ik(leg).target, ik(leg).subtarget = mesh, "heel"


def target_armature_without_bone(leg):
    ik(leg).target, ik(leg).subtarget = rigs.add_object("Other", bpy.data.armatures.new("Other")), ""


def pole_bone_missing(leg):
    ik(leg).pole_target, ik(leg).pole_subtarget = leg, "nowhere"


def no_parent(leg):
    rigs.edit_bones(leg)["lower"].parent = None
    bpy.ops.object.mode_set(mode="POSE")


def another_constraint(leg):
    leg.pose.bones["upper"].constraints.new("LIMIT_ROTATION")


def another_ik(leg):
    other = leg.pose.bones["tip"].constraints.new("IK")
    other.target, other.chain_count = bpy.data.objects["Leg target"], 3


def two_iks(leg):
    other = leg.pose.bones["lower"].constraints.new("IK")
    other.target, other.chain_count = bpy.data.objects["Leg pole"], 2


def nla_track(leg):
    rigs.key_pose(leg, np.random.default_rng(1), (1, 20))
    rigs.to_nla(leg)


def nla_tweak(leg):
    nla_track(leg)
    rigs.tweak(leg)


def driver(leg):
    leg.pose.bones["upper"].driver_add("rotation_quaternion", 1)


def animated_mute(leg):
    ik(leg).keyframe_insert("mute", frame=1)


def animated_iterations(leg):
    ik(leg).driver_add("iterations")


def animated_rotation_mode(leg):
    leg.pose.bones["lower"].keyframe_insert("rotation_mode", frame=1)


def _rotation_curve(leg):
    leg.pose.bones["upper"].keyframe_insert("rotation_quaternion", frame=1)
    return next(iter(rigs.curves_of(leg.animation_data.action, leg.animation_data.action_slot).values()))


def locked_curve(leg):
    _rotation_curve(leg).lock = True


def muted_curve(leg):
    _rotation_curve(leg).mute = True


def muted_group(leg):
    _rotation_curve(leg).group.mute = True


def muted_group_of_another_name(leg):
    _rotation_curve(leg)
    ((bag,),) = [[strip.channelbags[0] for strip in layer.strips] for layer in leg.animation_data.action.layers]
    group = bag.groups.new("Left leg")
    for curve in list(bag.fcurves):  # a change of group moves it in the list
        curve.group = group
    group.mute = True


def sampled_curve(leg):
    _rotation_curve(leg).convert_to_samples(1, 20)


def noisy_curve(leg):
    _rotation_curve(leg).modifiers.new("NOISE")


def target_on_the_limb(leg):
    target = bpy.data.objects["Leg target"]
    target.parent, target.parent_type, target.parent_bone = leg, "BONE", "tip"


def pole_constrained_to_the_limb(leg):
    copy = bpy.data.objects["Leg pole"].constraints.new("COPY_LOCATION")
    copy.target, copy.subtarget = leg, "tip"


def uneven_hips(leg):
    leg.pose.bones["hips"].scale = (1, 1.5, 1)


def uneven_upper(leg):
    leg.pose.bones["upper"].scale = (1, 1.5, 1)


def mirrored(leg):
    leg.pose.bones["upper"].scale = (-1, 1, 1)


def flat_object(leg):
    leg.scale = (1, 0, 1)


def sliding_knee(leg):
    rigs.edit_bones(leg)["lower"].use_connect = False
    bpy.ops.object.mode_set(mode="POSE")
    leg.data.bones["lower"].use_local_location = False
    leg.pose.bones["lower"].location = (0, 0.1, 0)


def rest_position(leg):
    leg.data.pose_position = "REST"


def itasc(leg):
    leg.pose.ik_solver = "ITASC"


REFUSALS = {
    "longer chain": (spoil(chain_count=3), "IK of lower moves 3 bones: Exact Two-Bone needs a chain length of 2"),
    "shorter chain": (spoil(chain_count=1), "IK of lower moves 1 bone: Exact Two-Bone"),
    "whole chain": (spoil(chain_count=0), "IK of lower moves the whole chain of 3 bones"),
    "no parent": (no_parent, "IK of lower has only one bone, lower"),
    "no target": (spoil(target=None), "IK of lower has no target"),
    "vertex group": (vertex_group, "IK of lower has a vertex group as its target"),
    "no target bone": (target_armature_without_bone, "has armature Other as its target, but no bone"),
    "pole bone missing": (pole_bone_missing, "names nowhere as its pole target, but Leg has no such bone"),
    "no position": (spoil(use_location=False), "does not follow the position"),
    "rotation": (spoil(use_rotation=True), "also follows the target's rotation"),
    "stretch": (spoil(upper__ik_stretch=0.1), "stretches its bones"),
    "locked axis": (spoil(lower__lock_ik_y=True), "lower has a locked IK axis"),
    "limit": (spoil(upper__use_ik_limit_x=True), "upper has an IK limit"),
    "stiffness": (spoil(lower__ik_stiffness_z=0.5), "lower has IK stiffness"),
    "another constraint": (another_constraint, "upper also has constraint Limit Rotation"),
    "another IK": (another_ik, "lower is also moved by IK of tip"),
    "two IKs": (two_iks, "lower is also moved by IK.001 of lower"),
    "NLA track": (nla_track, "Leg has NLA tracks that play"),
    "NLA tweak mode": (nla_tweak, "Leg is in NLA tweak mode"),
    "driver": (driver, "upper has a driver on its rotation"),
    "animated mute": (animated_mute, "IK of lower is turned on and off by animation"),
    "animated setting": (animated_iterations, "IK of lower has an animated setting, iterations"),
    "animated rotation mode": (animated_rotation_mode, "lower has an animated rotation mode"),
    "locked curve": (locked_curve, "upper has a locked rotation curve"),
    "muted curve": (muted_curve, "upper has a muted rotation curve"),
    "muted group": (muted_group, "upper has a muted channel group"),
    "muted group of another name": (muted_group_of_another_name, "upper has a muted channel group"),
    "sampled curve": (sampled_curve, "upper has a rotation curve of samples"),
    "curve modifier": (noisy_curve, "upper has a modifier on its rotation curve"),
    "target follows the limb": (target_on_the_limb, "has a target that follows the limb itself"),
    "pole follows the limb": (pole_constrained_to_the_limb, "has a pole target that follows the limb itself"),
    "uneven parent": (uneven_hips, "upper inherits an uneven scale"),
    "uneven upper": (uneven_upper, "lower inherits an uneven scale"),
    "mirrored": (mirrored, "upper has a zero or negative scale"),
    "flat object": (flat_object, "Leg has a scale of zero"),
    "sliding knee": (sliding_knee, "lower is moved without following upper"),
    "rest position": (rest_position, "Leg is in Rest Position"),
    "iTaSC": (itasc, "Leg uses the iTaSC solver"),
    "nothing selected": (lambda leg: rigs.select(leg), "No IK selected"),
    "muted": (spoil(mute=True), "No IK selected"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(case):
    apply, sentence = REFUSALS[case]
    leg = rigs.leg()
    apply(leg)
    if case != "nothing selected":
        rigs.select(leg, "lower")
    bpy.context.view_layer.update()
    if leg.animation_data is None or not leg.animation_data.use_tweak_mode:
        bpy.context.scene.frame_set(7, subframe=0.5)
    before = rigs.state()
    with pytest.raises(RuntimeError) as error:
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")
    assert sentence in str(error.value)
    assert str(error.value).count("\n") <= 1
    assert "Traceback" not in str(error.value)
    assert rigs.state() == before


def test_the_same_leg_unspoiled_is_baked():
    rigs.leg()
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}


@pytest.mark.parametrize(
    "allowed",
    [
        spoil(use_stretch=False, upper__ik_stretch=0.5),
        spoil(use_stretch=True),
        lambda leg: leg.pose.bones["upper"].constraints.new("LIMIT_ROTATION").__setattr__("mute", True),
        lambda leg: _rotation_curve(leg).modifiers.new("CYCLES"),
        lambda leg: leg.pose.bones["hips"].constraints.new("LIMIT_ROTATION"),
        lambda leg: leg.pose.bones["tip"].constraints.new("LIMIT_ROTATION"),
        lambda leg: leg.driver_add("location", 0),
    ],
)
def test_not_refused_without_reason(allowed):
    leg = rigs.leg()
    allowed(leg)
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}


def test_muted_nla_track_is_not_in_the_way():
    leg = rigs.leg()
    nla_track(leg)
    leg.animation_data.nla_tracks[0].mute = True
    rigs.select(leg, "lower")
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}


def test_a_longer_chain_in_object_mode():
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].chain_count = 3
    bpy.ops.object.mode_set(mode="OBJECT")
    with pytest.raises(RuntimeError, match="IK of lower moves 3 bones"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")


def test_backward_range():
    rigs.leg()
    with pytest.raises(RuntimeError, match="ends before it starts: 9 to 3"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE", frame_range="CUSTOM", frame_start=9, frame_end=3)


def linked_leg(folder):
    """The leg of another file, linked, and its override."""
    rigs.leg()
    bpy.ops.object.mode_set(mode="OBJECT")
    leg = rigs.linked(folder / "rig.blend", "objects", "Leg")
    bpy.context.collection.objects.link(leg)
    bpy.context.view_layer.objects.active = leg
    return leg


def test_linked_armature(tmp_path):
    leg = linked_leg(tmp_path)
    with pytest.raises(RuntimeError, match="Leg is linked from another file"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")
    override = leg.override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = override
    override.override_library.is_system_override = True
    with pytest.raises(RuntimeError, match="Leg is a library override that cannot be edited: make it editable"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")
    override.select_set(True)
    assert bpy.ops.object.make_local(type="SELECT_OBJECT") == {"FINISHED"}
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}


@pytest.mark.parametrize("animated", [False, True])
def test_library_override(tmp_path, animated):
    """Baked, saved and opened again: keys and mute are of the override, the library is as it was."""
    override = linked_leg(tmp_path).override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = override
    if animated:
        rigs.key_pose(override, np.random.default_rng(1), (1, 20))
        assert override.animation_data.action.library is None
    ik = override.pose.bones["lower"].constraints[0]
    before = rigs.sampled(override, range(1, 21))
    assert np.ptp(before[:, 2, :3, 3], axis=0).max() > 0.1
    assert bpy.ops.ikcore.bake_ik(solver="TWO_BONE") == {"FINISHED"}
    assert ik.mute
    shot = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    bpy.ops.wm.open_mainfile(filepath=shot)
    override = bpy.context.view_layer.objects["Leg"]
    assert override.override_library
    assert override.pose.bones["lower"].constraints[0].mute
    assert np.abs(rigs.sampled(override, range(1, 21)) - before)[..., 3].max() < 1e-3
    assert not override.override_library.reference.pose.bones["lower"].constraints[0].mute


def test_linked_action(tmp_path):
    leg = rigs.leg()
    rigs.key_pose(leg, np.random.default_rng(1), (1, 20))
    action = rigs.link_action(leg, tmp_path / "walk.blend")
    with pytest.raises(RuntimeError, match="Action LegAction is linked from another file: make it local first"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")
    leg.animation_data.action = action.override_create()
    with pytest.raises(RuntimeError, match=r"Action LegAction.* is a library override: make it local first"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")


@pytest.mark.parametrize("mode", ["EDIT", None])
def test_poll(mode):
    leg = rigs.leg()
    if mode:
        bpy.ops.object.mode_set(mode=mode)
    else:
        bpy.context.view_layer.objects.active = bpy.data.objects["Leg target"]
    assert not bpy.ops.ikcore.bake_ik.poll()
    with pytest.raises(RuntimeError, match="Switch to Pose Mode" if mode else "Select an armature"):
        bpy.ops.ikcore.bake_ik(solver="TWO_BONE")
    assert leg.name == "Leg"


@pytest.mark.parametrize("solver", ["DISPLAYED", "TWO_BONE", "LIBRARY"])
def test_an_armature_of_no_size(solver):
    rigs.leg().scale = (0, 0, 0)
    bpy.context.view_layer.update()
    before = rigs.state()
    with pytest.raises(RuntimeError, match="Leg has a scale of zero, so it is invisible: set another scale"):
        bpy.ops.ikcore.bake_ik(solver=solver)
    assert rigs.state() == before
