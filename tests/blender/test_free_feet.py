"""Bake Foot IK on feet that hang on the root, as rigs for games have them: as the library bakes them."""

import bpy
import numpy as np
import pytest
import rigs
import test_foot_controls
import walks

import ikcore as ik

FRAMES = range(1, 31)
NEAR = 1e-4


def game(skin=False):
    """A walk in place of the body, feet of their own that step, sink and slide; legs beside that stand still."""
    bones = [("root", None, (0, 0, 0), (0, 0.3, 0)), *((n, p or "root", h, t) for n, p, h, t in rigs.TRUNK)]
    for side, sign in ((".L", 1), (".R", -1)):
        for name, above, head, tail in rigs.LEG:
            above = {"hips": "hips", "shin": None}.get(above, above + side)
            ends = [(sign * x, y, z) for x, y, z in (head, tail)]
            bones.append((name + side, above or "root", *ends))
    armature = rigs.figure(bones)
    for side, phase in ((".L", 0.0), (".R", 0.5)):
        foot = armature.pose.bones["foot" + side]
        into = foot.bone.matrix_local.to_3x3().inverted()
        for frame in FRAMES:
            share = (frame / 20 + phase) % 1
            lift, ahead = (0.0, share * 0.02) if share < 0.6 else (0.12 * np.sin((share - 0.6) / 0.4 * np.pi), 0.012)
            steps = np.floor(frame / 20 + phase) - phase
            moved = (0.0, -0.4 * (steps + max(0.0, (share - 0.6) / 0.4)) - ahead, lift - 0.015)
            foot.location = into @ rigs.Vector(moved)
            foot.keyframe_insert("location", frame=frame)
    for frame, ahead in ((1, 0.0), (30, -0.6)):
        hips = armature.pose.bones["hips"]
        hips.location = hips.bone.matrix_local.to_3x3().inverted() @ rigs.Vector((0, ahead, 0))
        hips.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_end = 30
    rigs.select(armature)
    bpy.context.scene.frame_set(1)
    return armature


def test_as_the_library_bakes_them():
    armature = game()
    clip = walks.read(armature)
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    assert all(leg.free for leg in feet)
    wanted = ik.bake_feet(clip, ik.Ground.plane(height=0.05, up="z"), feet=feet)
    before = min(places[:, 2].min() for places in walks.positions(armature, feet, FRAMES).values())
    assert bpy.ops.ikcore.detect_feet() == {"FINISHED"}
    assert [(leg.hip, leg.ankle, len(leg.knees)) for leg in armature.ikcore_feet.legs] == [
        ("", "foot.L", 0),
        ("", "foot.R", 0),
    ]
    assert bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=0.05) == {"FINISHED"}
    walks.assert_feet(armature, wanted, FRAMES)
    after = min(places[:, 2].min() for places in walks.positions(armature, feet, FRAMES).values())
    assert before < 0.001
    assert after > 0.048


@pytest.mark.parametrize("size", [1.0, 0.1])
def test_nothing_is_said_to_be_elsewhere(size, capfd):
    armature = game()
    armature.scale = (size,) * 3
    test_foot_controls.bake_as_shown(armature)


def test_few_keys():
    armature = game()
    _, baked, _ = test_foot_controls.bake(keys="TOLERANCE", max_error=0.005)
    counts = {len(curve) for (path, _), curve in test_foot_controls.curves(armature).items() if '"foot.L"' in path}
    assert len(counts) == 1
    assert max(counts) < 25
    walks.assert_feet(armature, baked, FRAMES, 0.006)


def test_a_foot_without_a_leg_beside_a_leg_that_lacks_its_thigh():
    armature = game()
    bpy.ops.ikcore.detect_feet()
    armature.ikcore_feet.legs[0].knees.add().name = "shin.L"
    with pytest.raises(RuntimeError, match="The leg left has no thigh: choose its bone in the list of feet"):
        bpy.ops.ikcore.bake_feet()
