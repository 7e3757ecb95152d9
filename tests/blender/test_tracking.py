"""Bake Tracking: what aims bones becomes keys, and nothing is seen elsewhere."""

import bpy
import numpy as np
import pytest
import rigs
from test_shown import FRAMES, NEAR, TURNED, tail

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
    assert "Baked 1 constraint, 1 bone, 20 frames as shown" in capfd.readouterr().out
    with pytest.raises(RuntimeError, match="No Damped Track, Track To, Locked Track or Spline IK is switched on"):
        bake()
    rigs.select(armature, "b0")
    with pytest.raises(RuntimeError, match="of a selected bone is switched on"):
        bake()


def test_without_a_target_it_is_refused():
    _, constraint = aimed("TRACK_TO")
    constraint.target = None
    bpy.context.view_layer.update()
    before = rigs.state()
    with pytest.raises(RuntimeError, match="Track To of b2 has no target"):
        bake()
    assert rigs.state() == before
