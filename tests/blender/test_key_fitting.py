"""Few keys of Bake IK and Bake Tracking: bones stay within the tolerance of a key on every frame."""

import bpy
import numpy as np
import pytest
import rigs
import test_tracking
from mathutils import Vector
from test_chains import poled
from test_visual_pose import ik_of, tail

LAST = 60
FRAMES = range(1, LAST + 1)
TOLERANCE = 0.01


def stretched():
    armature = tail()
    ik = ik_of(armature)
    ik.use_stretch = True
    for bone in armature.pose.bones:
        bone.ik_stretch = 0.3
    return armature


def branched():
    """Two chains that share bones, and one that hangs on them by bones without keys."""
    armature = tail()
    rigs.chain_on(armature, 4)
    for owner, count, place in (("c1", 5, (0.9, 0.1, 0.9)), ("c3", 1, (0.2, 0.9, 0.3))):
        ik = armature.pose.bones[owner].constraints.new("IK")
        ik.target, ik.chain_count = rigs.add_object(f"to {owner}"), count
        ik.target.location = place
    rigs.select(armature, "b5", "c1", "c3")
    return armature


def slowly(armature):
    """All that has keys goes from the first to the last frame."""
    for action in bpy.data.actions:
        for slot in action.slots:
            for curve in rigs.curves_of(action, slot).values():
                for key, frame in zip(
                    curve.keyframe_points, np.linspace(1, LAST, len(curve.keyframe_points)), strict=True
                ):
                    key.co.x = round(frame)
                curve.update()
    bpy.context.scene.frame_end = LAST
    bpy.context.scene.frame_set(1)
    return armature


def ends(armature):
    """Heads and tails in the world, (frames, ends, 3)."""
    return np.concatenate([np.moveaxis(each, 1, 0) for each in rigs.places(armature, FRAMES).values()])


def keyed(armature):
    """The frames of the keys of each bone."""
    animation, found = armature.animation_data, {}
    for (path, _), curve in rigs.curves_of(animation.action, animation.action_slot).items():
        if "constraints" not in path:
            found.setdefault(path.split('"')[1], set()).add(tuple(key.co.x for key in curve.keyframe_points))
    return found


CASES = {
    "shown": (tail, "bake_ik", {}),
    "stretched": (stretched, "bake_ik", {}),
    "branched": (branched, "bake_ik", {}),
    "limb": (rigs.leg, "bake_ik", {"solver": "TWO_BONE"}),
    "chain": (tail, "bake_ik", {"solver": "LIBRARY"}),
    "pole": (poled, "bake_ik", {"solver": "LIBRARY", "method": "fabrik"}),
    "aims": (lambda: test_tracking.aimed("DAMPED_TRACK")[0], "bake_tracking", {"solver": "LIBRARY", "sharing": 2}),
    "tracks": (lambda: test_tracking.aimed("TRACK_TO")[0], "bake_tracking", {}),
}


def baked(case, scale, **keys):
    """The armature of a case, baked."""
    make, operator, options = CASES[case]
    rigs.new_scene(LAST)
    armature = slowly(make())
    armature.scale = Vector((scale,) * 3)
    options = {"frame_range": "CUSTOM", "frame_start": 1, "frame_end": LAST, **options, **keys}
    assert getattr(bpy.ops.ikcore, operator)(**options) == {"FINISHED"}
    return armature


@pytest.mark.parametrize("scale", [1.0, 0.1])
@pytest.mark.parametrize("case", CASES)
def test_bones_stay_within_the_tolerance(case, scale, capfd):
    armature = baked(case, scale)
    every, counts = ends(armature), keyed(armature)
    bones = {bone for bone, frames in counts.items() if max(map(len, frames)) == LAST}
    capfd.readouterr()
    armature = baked(case, scale, keys="TOLERANCE", max_error=TOLERANCE * scale)
    few, off = keyed(armature), np.linalg.norm(ends(armature) - every, axis=-1).max()
    assert 0.01 * TOLERANCE * scale < off < 1.01 * TOLERANCE * scale
    assert all(len({*few[bone]}) == 1 for bone in bones), "channels of a bone share their keys"
    assert max(len(next(iter(few[bone]))) for bone in bones) < LAST / 2
    said = capfd.readouterr().out
    assert " keys" in said
    assert "is off" not in said
    assert "is seen" not in said
