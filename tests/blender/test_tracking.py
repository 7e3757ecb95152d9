"""Bake Tracking: what aims bones becomes keys, and nothing is seen elsewhere."""

import itertools

import bpy
import numpy as np
import pytest
import rigs
from test_visual_pose import FRAMES, NEAR, TURNED, tail

AIMS = {
    "DAMPED_TRACK": {"track_axis": "TRACK_Y"},
    "TRACK_TO": {"track_axis": "TRACK_Y", "up_axis": "UP_Z"},
    "LOCKED_TRACK": {"track_axis": "TRACK_Z", "lock_axis": "LOCK_Y"},
}


def aimed(kind, bone="b2"):
    """A chain without IK, one bone of which looks at something that moves."""
    armature = tail()
    target = armature.pose.bones["b5"].constraints[0].target
    armature.pose.bones["b5"].constraints.remove(armature.pose.bones["b5"].constraints[0])
    rigs.key_pose(armature, np.random.default_rng(2), (1, 10, 20), bones=armature.pose.bones.keys(), size=0.2)
    constraint = armature.pose.bones[bone].constraints.new(kind)
    constraint.target = target
    for name, value in AIMS[kind].items():
        setattr(constraint, name, value)
    rigs.select(armature, bone)
    return armature, constraint


def bake(**options):
    return bpy.ops.ikcore.bake_tracking(frame_range="CUSTOM", frame_start=1, frame_end=20, **options)


@pytest.mark.parametrize("mode", rigs.MODES)
@pytest.mark.parametrize("kind", AIMS)
def test_what_is_shown_is_what_is_keyed(kind, mode):
    armature, constraint = aimed(kind)
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    constraint.influence = 0.7
    free = constraint.mute = True
    was_free = rigs.sampled(armature, FRAMES)
    constraint.mute = not free
    was = rigs.sampled(armature, FRAMES)
    assert np.abs(was - was_free).max() > 0.1, "the test does not track"
    assert bake() == {"FINISHED"}
    assert constraint.mute
    assert "Baked Tracking" in armature.animation_data.action.name
    now = rigs.sampled(armature, FRAMES)
    assert np.abs(now - was)[:, :, :3, 3].max() < NEAR
    assert rigs.turn_between(now, was).max() < TURNED


def test_a_spline():
    armature = tail()
    armature.pose.bones["b5"].constraints.remove(armature.pose.bones["b5"].constraints[0])
    curve = bpy.data.curves.new("path", "CURVE")
    curve.dimensions = "3D"
    spline = curve.splines.new("POLY")
    spline.points.add(3)
    for point, place in zip(spline.points, ((0, 0, 0), (0.3, 0.2, 0.6), (0.1, -0.4, 1.2), (0.5, 0, 1.9)), strict=True):
        point.co = (*place, 1)
    path = rigs.add_object("path", curve)
    constraint = armature.pose.bones["b5"].constraints.new("SPLINE_IK")
    constraint.target, constraint.chain_count = path, 6
    constraint.y_scale_mode = "NONE"  # what is stretched in a chain is sheared, which no key can hold
    for frame, x in ((1, 0.0), (20, 0.4)):
        path.location.x = x
        path.keyframe_insert("location", frame=frame)
    rigs.select(armature, "b3")
    was = rigs.sampled(armature, FRAMES)
    assert np.ptp(was[:, -1, :3, 3], axis=0).max() > 0.1, "the test does not move"
    assert bake() == {"FINISHED"}
    assert constraint.mute
    now = rigs.sampled(armature, FRAMES)
    assert np.abs(now - was)[:, :, :3, 3].max() < NEAR
    assert rigs.turn_between(now, was).max() < TURNED


def test_what_is_said(capfd):
    armature, _ = aimed("DAMPED_TRACK")
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bake() == {"FINISHED"}
    assert "Baked 1 constraint, 1 bone, 20 frames as displayed" in capfd.readouterr().out
    with pytest.raises(RuntimeError, match="No Damped Track, Track To, Locked Track or Spline IK is enabled"):
        bake()
    rigs.select(armature, "b0")
    with pytest.raises(RuntimeError, match="of a selected bone is enabled"):
        bake()


def test_without_a_target_it_is_refused():
    _, constraint = aimed("TRACK_TO")
    constraint.target = None
    bpy.context.view_layer.update()
    with rigs.refused("Track To of b2 has no target"):
        bake()


# --- re-solved --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ"])
@pytest.mark.parametrize("influence", [1.0, 0.6])
@pytest.mark.parametrize("kind", AIMS)
def test_anew_is_as_shown(kind, influence, mode):
    """One bone, in an armature that is turned and scaled: the library says what Blender shows."""
    armature, constraint = aimed(kind)
    armature.location, armature.rotation_euler, armature.scale = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (1.1, 1.1, 1.1)
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    constraint.influence = influence
    was = rigs.sampled(armature, FRAMES)
    assert bake(solver="LIBRARY") == {"FINISHED"}
    assert constraint.mute
    now = rigs.sampled(armature, FRAMES)
    assert np.abs(now - was)[:, :, :3, 3].max() < NEAR
    assert rigs.turn_between(now, was).max() < TURNED


@pytest.mark.parametrize("kind", AIMS)
def test_curves_are_read_where_nothing_else_moves_anything(addon, kind, monkeypatch):
    armature, _ = aimed(kind)
    seen = []
    real = addon.animation.scene_frames.visit
    monkeypatch.setattr(
        addon.animation.scene_frames,
        "visit",
        lambda context, frames, look: seen.append(len(frames)) or real(context, frames, look),
    )
    was = rigs.sampled(armature, FRAMES)
    bake(solver="LIBRARY")
    assert seen
    assert max(seen) <= 3
    np.testing.assert_allclose(rigs.sampled(armature, FRAMES), was, atol=NEAR)


def test_constraints_on_each_other_turn_in_their_order():
    """Two on one bone, and one on a bone above it."""
    armature, first = aimed("LOCKED_TRACK", "b4")
    for bone, kind in (("b4", "DAMPED_TRACK"), ("b1", "TRACK_TO")):
        constraint = armature.pose.bones[bone].constraints.new(kind)
        constraint.target = first.target
        for name, value in AIMS[kind].items():
            setattr(constraint, name, value)
    bpy.ops.object.mode_set(mode="OBJECT")
    was = rigs.sampled(armature, FRAMES)
    assert bake(solver="LIBRARY") == {"FINISHED"}
    now = rigs.sampled(armature, FRAMES)
    assert np.abs(now - was)[:, :, :3, 3].max() < NEAR
    assert rigs.turn_between(now, was).max() < TURNED


@pytest.mark.parametrize("kind", ["DAMPED_TRACK", "TRACK_TO"])
def test_bones_share_a_turn(kind):
    """All of them turn alike, less than one would, and the last one points at the target."""
    armature, constraint = aimed(kind, "b4")
    target = constraint.target
    constraint.mute = True
    free = rigs.sampled(armature, FRAMES)
    constraint.mute = False
    assert bake(solver="LIBRARY", sharing=3) == {"FINISHED"}
    now, rows = rigs.sampled(armature, FRAMES), [armature.pose.bones.find(f"b{n}") for n in range(6)]
    turned = np.linalg.inv(free[:, rows]) @ now[:, rows]
    assert rigs.turn_between(free[:, rows[:2]], now[:, rows[:2]]).max() < 1e-5, "those above stay"
    assert np.isfinite(turned).all()
    own = [
        rigs.turn_between(np.linalg.inv(free[:, a]) @ free[:, b], np.linalg.inv(now[:, a]) @ now[:, b])
        for a, b in itertools.pairwise(rows[1:5])
    ]
    assert min(each.max() for each in own) > 0.05
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        bone = armature.pose.bones["b4"]
        way = (armature.matrix_world.inverted() @ target.matrix_world.translation) - bone.head
        assert bone.y_axis.angle(way) < 1e-4


def test_what_cannot_be_solved_anew_is_refused():
    armature, constraint = aimed("TRACK_TO")
    armature.pose.bones["b2"].constraints.new("LIMIT_ROTATION")
    bpy.context.view_layer.update()
    before = rigs.state()
    with pytest.raises(RuntimeError, match="b2 also has constraint Limit Rotation: mute or apply it first"):
        bake(solver="LIBRARY")
    assert rigs.state() == before
    armature.pose.bones["b2"].constraints.remove(armature.pose.bones["b2"].constraints[-1])
    constraint.up_axis = "UP_Y"
    with pytest.raises(RuntimeError, match="Track To of b2 has the same axis twice and does nothing"):
        bake(solver="LIBRARY")
    spline = armature.pose.bones["b2"].constraints.new("SPLINE_IK")
    spline.target = rigs.add_object("path", bpy.data.curves.new("path", "CURVE"))
    armature.pose.bones["b2"].constraints.remove(constraint)
    rigs.select(armature, "b2")
    said = "lays bones along a curve: use the solver As Displayed, with Y Scale Mode None"
    with pytest.raises(RuntimeError, match=f"Spline IK of b2 {said}"):
        bake(solver="LIBRARY")
