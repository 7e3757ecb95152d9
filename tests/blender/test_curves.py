"""Transforms of objects and bones from curves alone agree with the scene as Blender evaluates it, on any rig; and cases
that are not read."""

import bpy
import numpy as np
import pytest
import rigs

FRAMES = np.arange(-5, 31)
NEAR = 1e-5  # in single precision, through a few parents


def keyed(owner, name, rng, size, base=0.0):
    """A property keyed at random on a few frames, with all that curves can have."""
    count = len(getattr(owner, name))
    for frame in np.sort(rng.choice(np.arange(1, 26), 3, replace=False)):
        setattr(owner, name, base + rng.normal(0, size, count))
        owner.keyframe_insert(name, frame=float(frame))


def spoilt(thing, rng):
    """Curves of other kinds than fresh keys make."""
    action, slot = thing.animation_data.action, thing.animation_data.action_slot
    for curve in rigs.curves_of(action, slot).values():
        curve.mute = bool(rng.random() < 0.1)
        curve.extrapolation = rng.choice(["CONSTANT", "LINEAR"])
        for key in curve.keyframe_points:
            key.interpolation = rng.choice(["BEZIER", "LINEAR", "CONSTANT", "ELASTIC", "BOUNCE", "SINE"])
        if rng.random() < 0.2:
            curve.modifiers.new(rng.choice(["CYCLES", "NOISE"]))


def placed(thing, rng, *, moving):
    """An object somewhere, at rest or moving."""
    thing.rotation_mode = rng.choice(rigs.MODES)
    thing.location, thing.rotation_euler = rng.normal(0, 1, 3), rng.normal(0, 1, 3)
    if moving:
        keyed(thing, "location", rng, 1.0)
        if thing.rotation_mode in rigs.ORDERS:
            keyed(thing, "rotation_euler", rng, 1.0)
        else:
            keyed(thing, "rotation_" + thing.rotation_mode.lower(), rng, 1.0)
        spoilt(thing, rng)


def hung(thing, parent, rng, bone=""):
    """An object on another, or on a bone of it."""
    thing.parent, thing.parent_type, thing.parent_bone = parent, "BONE" if bone else "OBJECT", bone
    thing.matrix_parent_inverse = np.eye(4) if rng.random() < 0.5 else parent.matrix_world.inverted()


def rig(seed, *, even=False):
    """A leg whose armature, target and pole are objects or bones on objects or bones, all of which move or not.

    Bones hang on each other in all ways, and are scaled unevenly, unless they are to be even.
    """
    rng = np.random.default_rng(seed)
    leg, other = rigs.leg(frames=20), rigs.add_object("Other", bpy.data.armatures.new("Other"))
    rigs.add_limb(other, ".o", at=(1, 0, 0))
    ik = leg.pose.bones["lower"].constraints[0]
    ground = rigs.add_object("Ground")
    placed(ground, rng, moving=rng.random() < 0.7)
    for thing in (leg, other):
        placed(thing, rng, moving=rng.random() < 0.5)
        thing.scale = (rng.uniform(0.5, 2),) * 3
        for bone in thing.pose.bones:
            bone.rotation_mode = rng.choice(rigs.MODES)
            if even:
                bone.scale = (rng.uniform(0.5, 2),) * 3
            else:
                bone.bone.inherit_scale = rng.choice(["FULL", "FULL", "AVERAGE", "NONE"])
                bone.bone.use_inherit_rotation = bool(rng.random() < 0.8)
                if rng.random() < 0.3:
                    keyed(bone, "scale", rng, 0.05, 1.0)
            if not (bone.parent and bone.bone.use_connect):
                keyed(bone, "location", rng, 0.2)
        rigs.key_pose(thing, rng, (1, 12, 20), bones=thing.pose.bones.keys())
        spoilt(thing, rng)
        if rng.random() < 0.5:
            hung(thing, ground, rng)
    for what in ("target", "pole_target"):
        empty = getattr(ik, what)
        choice = rng.integers(4)
        if choice == 0:
            setattr(ik, what, other)
            setattr(ik, what.replace("target", "subtarget"), "lower.o")
        elif choice == 1:
            hung(empty, other, rng, "upper.o")
        elif choice == 2:
            hung(empty, ground, rng)
    if rng.random() < 0.5:
        for frame in (1, 20):
            ik.influence, ik.pole_angle = rng.random(2)
            ik.keyframe_insert("influence", frame=frame)
            ik.keyframe_insert("pole_angle", frame=frame)
    rigs.select(leg, "lower")
    bpy.context.view_layer.update()
    return leg


def by_curves(leg, addon):
    """Samples of the limb from curves, or None."""
    return addon.animation.scene_frames.run(
        addon.limbs.sampling._by_curves(bpy.context, addon.limbs.ik_constraints.find_limbs(leg), FRAMES)
    )


@pytest.mark.parametrize("seed", range(40))
def test_curves_say_what_the_scene_does(seed, addon):
    leg = rig(seed)
    (limb,), reader = addon.limbs.ik_constraints.find_limbs(leg), addon.animation.fcurves.Reader(FRAMES)
    assert addon.limbs.sampling.unread(reader, limb) is None
    read, start = addon.animation.scene_frames.run(addon.limbs.sampling._read_all(reader, [limb]))
    shown, shown_start = addon.animation.scene_frames.run(addon.limbs.sampling._by_scene(bpy.context, [limb], FRAMES))
    for name in set(read) - {"shown", "pose"}:
        size = max(1.0, np.abs(shown[name]).max())
        np.testing.assert_allclose(read[name], shown[name], atol=NEAR * size, err_msg=name)
    for one, two in zip(start[0], shown_start[0], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)
    assert any(np.ptp(read[name], axis=0).max() > 0.1 for name in ("goal", "pole", "parent")), "the test does not move"


@pytest.mark.parametrize("seed", range(20))
def test_bones_that_keep_their_shape_need_no_matrices(seed, addon):
    """Two armatures at once, whose limbs are not in their order."""
    rng = np.random.default_rng(seed)
    leg, found = rig(seed, even=True), []
    other = rigs.leg("Second", frames=20)
    placed(other, rng, moving=True)
    rigs.key_pose(other, rng, (1, 12, 20))
    for armature in (leg, other, leg):
        if armature == leg and found:
            rigs.add_limb(leg, ".b", at=(0, 1, 0))
            ik = leg.pose.bones["lower"].constraints[0]
            rigs.add_ik(leg, ".b", target=ik.pole_target, pole=other.pose.bones["lower"].constraints[0].target)
        found += [limb for limb in addon.limbs.ik_constraints.find_limbs(armature) if limb not in found]
    sample, reader = addon.limbs.sampling, addon.animation.fcurves.Reader(FRAMES)
    bpy.context.view_layer.update()
    made = addon.animation.scene_frames.run(sample._by_parts(reader, found))
    seen = addon.animation.scene_frames.run(sample._by_scene(bpy.context, found, FRAMES))
    shown = addon.animation.scene_frames.run(sample._samples(found, *seen))
    for name in sample.COMPARED:
        one, two = getattr(made.limbs, name), getattr(shown.limbs, name)
        np.testing.assert_allclose(one, two, atol=NEAR * max(1.0, np.abs(two).max()), err_msg=name)
    for name in ("parents", "channels"):
        one, two = getattr(made, name), getattr(shown, name)
        assert np.minimum(np.abs(one - two), np.abs(one + two)).max() < NEAR, name
    assert made.agree(shown, slice(None))
    for pairs in zip(made.start, shown.start, strict=True):
        for one, two in zip(*pairs, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-6)
    shown.limbs.mid[3, 0, 1] += 0.01
    assert not made.agree(shown, slice(None))


@pytest.mark.parametrize("seed", range(40, 60))
def test_so_do_chains(seed, addon):
    """Poses of bones without IK, and its targets; if these shear, both ways refuse."""
    leg, freed = rig(seed), addon.limbs.unconstrained
    limbs = addon.limbs.ik_constraints.find_limbs(leg)

    def made(frames):
        return [addon.limbs.chains._Chains("dls", leg, limbs, frames)]

    read, seen = made(FRAMES), made(FRAMES)
    try:
        assert addon.animation.scene_frames.run(freed._by_curves(bpy.context, read, made, limbs, FRAMES))
    except addon.rig.armatures.CannotBakeError as error:
        addon.animation.scene_frames.run(freed._by_scene(bpy.context, seen, FRAMES))
        with pytest.raises(addon.rig.armatures.CannotBakeError, match=str(error)[:20]):
            addon.animation.scene_frames.run(seen[0].settle())
        return
    addon.animation.scene_frames.run(freed._by_scene(bpy.context, seen, FRAMES))
    for one, two in zip(read[0].said_on(slice(None)), seen[0].evaluated_values(), strict=True):
        np.testing.assert_allclose(one, two, atol=NEAR * max(1.0, np.abs(two).max()))


def driven(leg, ik):
    leg.pose.bones["hips"].driver_add("location", 0)


def constrained(leg, ik):
    leg.pose.bones["hips"].constraints.new("LIMIT_LOCATION")


def driven_setting(leg, ik):
    ik.driver_add("influence")


def followed(leg, ik):
    ik.target.constraints.new("COPY_LOCATION").target = ik.pole_target


def on_a_curve(leg, ik):
    path = rigs.add_object("Path", bpy.data.curves.new("Path", "CURVE"))
    ik.target.parent = path


def blended(leg, ik):
    ik.target.animation_data.action_influence = 0.5


def in_the_nla(leg, ik):
    animation = ik.target.animation_data
    animation.nla_tracks.new().strips.new("strip", 1, animation.action)


def shifted(leg, ik):
    ik.target.delta_location.x = 1.0


def animated_bones(leg, ik):
    leg.data.bones["upper"].keyframe_insert("bbone_curveinx", frame=1)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (driven, "hips has a driver"),
        (constrained, "hips has constraint Limit Location"),
        (driven_setting, "IK of lower has a driver"),
        (followed, "Leg target has a constraint"),
        (on_a_curve, "Leg target is parented to a part of Path"),
        (blended, "Leg target blends its action"),
        (in_the_nla, "Leg target plays the NLA"),
        (shifted, "Leg target has delta transforms"),
        (animated_bones, "the bones of Leg are animated themselves"),
    ],
)
def test_what_is_not_read_by_curves(spoil, why, addon):
    leg = rigs.leg()
    ik = leg.pose.bones["lower"].constraints[0]
    spoil(leg, ik)
    (limb,) = addon.limbs.ik_constraints.find_limbs(leg)
    assert addon.limbs.sampling.unread(addon.animation.fcurves.Reader(FRAMES), limb) == why
    assert by_curves(leg, addon) is None


def test_handlers_may_move_things(addon):
    leg = rigs.leg()

    def handler(*_):
        pass

    bpy.app.handlers.frame_change_post.append(handler)
    try:
        assert by_curves(leg, addon) is None
    finally:
        bpy.app.handlers.frame_change_post.remove(handler)


def test_what_is_not_known_of_is_seen(addon, monkeypatch):
    """A few frames are compared with the scene."""
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].target.constraints.new("COPY_LOCATION").target = rigs.add_object("Elsewhere")
    monkeypatch.setattr(addon.limbs.sampling, "unread", lambda *_: None)
    assert by_curves(leg, addon) is None
