"""As few keys as a tolerance allows: what Blender plays then, on and between frames, beside a key on every frame."""

import dataclasses
import importlib
import itertools

import bpy
import numpy as np
import pytest
import rigs
import walks
from conftest import EXTENSION
from test_feet import CLIPS, SIZES, TERRAIN, bake, curves, imported, needs_files
from test_feet import keys as all_keys

TOLERANCE = 0.002
PLANTED = 0.1  # of it
BETWEEN = 4.4  # of it: half frames are measured in the poses of the frames beside them
ROUNDING = 2e-5
LIFTED = {"ground": "PLANE", "plane_height": 0.1}


@pytest.fixture
def walker(tmp_path):
    return walks.walk(tmp_path)


@dataclasses.dataclass
class Shown:
    """Displayed legs, on frames and half frames."""

    soles: dict  # by leg and point, (frames, 3)
    bones: dict  # by name, (frames, 4, 4) in the world

    @property
    def places(self):
        return {**self.soles, **{name: matrices[:, :3, 3] for name, matrices in self.bones.items()}}


def shown(armature, feet, frames, bones):
    soles, found = {}, {name: [] for name in bones}
    for frame in frames:
        bpy.context.scene.frame_set(int(frame // 1), subframe=float(frame % 1))
        now = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for leg in feet:
            for point, sole in leg.soles.items():
                soles.setdefault((leg.name, point), []).append(walks._place(now, sole))
        for name, matrices in found.items():
            matrices.append(np.array(now.matrix_world @ now.pose.bones[name].matrix))
    return Shown(*({key: np.array(rows) for key, rows in parts.items()} for parts in (soles, found)))


def smooth(made, before, first, last):
    """Make curves that were baked go through all their keys smoothly, with slopes from those beside each."""
    for at, curve in made.items():
        if rigs.keys_of(curve) == before.get(at):
            continue
        inside = [key for key in curve.keyframe_points if first <= key.co.x <= last]
        keys = np.array([key.co for key in inside])
        for key, slope in zip(inside, np.gradient(keys[:, 1], keys[:, 0]), strict=True):
            key.interpolation, key.handle_left_type, key.handle_right_type = "BEZIER", "FREE", "FREE"
            key.handle_left = key.co.x - 1 / 3, key.co.y - slope / 3
            key.handle_right = key.co.x + 1 / 3, key.co.y + slope / 3


def both(armature, tolerance=TOLERANCE, ends=None, **options):
    """A bake with a key on every frame, what Blender shows of it, and then of one with few keys."""
    source, seen = armature.animation_data.action, {}
    module = importlib.import_module(f"{EXTENSION}.feet.keys")
    first, last = ends or source.curve_frame_range
    frames = np.arange(round(first), round(last) + 0.25, 0.5)
    curves_before = {at: rigs.keys_of(curve) for at, curve in curves(armature).items()}
    pose = [bone.matrix_basis.copy() for bone in armature.pose.bones]
    with pytest.MonkeyPatch.context() as patch:
        real = module.make_keys
        patch.setattr(module, "make_keys", lambda *given: seen.update(baked=given[3], told=given[4]) or real(*given))
        assert bake(**options) == {"FINISHED"}
        baked = seen["baked"]
        smooth(curves(armature), curves_before, first, last)
        bones = [name for leg in baked.feet for name in leg.chain if name in armature.pose.bones]
        full = shown(armature, baked.feet, frames, bones)
        armature.animation_data.action = source
        for bone, was in zip(armature.pose.bones, pose, strict=True):
            bone.matrix_basis = was  # of channels without keys
        assert bake(keys="TOLERANCE", max_error=tolerance, **options) == {"FINISHED"}
    return baked, full, shown(armature, baked.feet, frames, bones), seen["told"]


def assert_near(baked, full, few, tolerance=TOLERANCE, size=1.0):
    """All are within the tolerance, on frames, and between them, where full is a smooth curve."""
    rounding = ROUNDING * size
    for key, places in full.places.items():
        away = np.linalg.norm(places - few.places[key], axis=1)
        assert away[::2].max() <= tolerance + rounding, (key, away[::2].max())
        assert away[1::2].max() <= BETWEEN * tolerance + rounding, (key, away[1::2].max())
    for leg in baked.feet:
        for point in leg.soles:
            key = leg.name, "heel" if (leg.name, "heel") in baked.contacts.weights and point == "heel" else "ball"
            planted = baked.contacts.planted(*key)
            away = np.linalg.norm(full.soles[leg.name, point] - few.soles[leg.name, point], axis=1)[::2][planted]
            assert away.max(initial=0) <= PLANTED * tolerance + rounding, (leg.name, point, away.max())
        turned = rigs.turn_between(full.bones[leg.foot], few.bones[leg.foot])[::2]
        long = baked.clip.skeleton.forward(baked.clip.pose[0]).positions
        chain = [long[baked.clip.skeleton.index(joint)] for joint in leg.bones]
        arm = sum(np.linalg.norm(a - b) for a, b in itertools.pairwise(chain)) / 4
        assert turned.max() <= tolerance / arm * 1.02 + 1e-4, (leg.name, turned.max())


def columns(armature, bones):
    """The frames of the keys of each channel of these bones that has fewer than others."""
    return {at: [key[0][0] for key in made] for at, made in all_keys(armature).items() if at[0].split('"')[1] in bones}


@pytest.mark.parametrize("tolerance", [0.001, 0.002, 0.005])
def test_within_the_tolerance(walker, tolerance):
    baked, full, few, told = both(walker, tolerance, **LIFTED)
    assert_near(baked, full, few, tolerance)
    assert told.keys["pelvis"] < 20
    assert max(told.keys.values()) < 40


def test_keys_are_in_columns(walker):
    """All channels of a leg have theirs in the same frames, those of touch-down and lift-off among them."""
    baked, _, _, told = both(walker, **LIFTED)
    assert list(told.keys) == ["pelvis", "left", "right"]
    for side in ("Left", "Right"):
        made = columns(walker, {f"{side}UpLeg", f"{side}Leg", f"{side}Foot"})
        first = next(iter(made.values()))
        assert all(frames == first for frames in made.values())
        assert len(first) == told.keys[side.lower()] < 40
        for point in ("heel", "ball"):
            for start, stop in baked.contacts.intervals(side.lower(), point).tolist():
                assert {1.0 + start, float(stop)} <= set(first)
    (pelvis,) = {tuple(frames) for at, frames in columns(walker, {"Hips"}).items() if at[0].endswith("location")}
    assert len(pelvis) == told.keys["pelvis"]
    assert {len(frames) for at, frames in columns(walker, {"Hips"}).items() if not at[0].endswith("location")} == {61}


def test_keys_are_smooth(walker):
    """Their handles are of the type that Blender keeps aligned when a key is moved."""
    both(walker, **LIFTED)
    for key in curves(walker)['pose.bones["LeftLeg"].rotation_euler', 0].keyframe_points:
        assert (key.interpolation, key.handle_left_type, key.handle_right_type) == ("BEZIER", "ALIGNED", "ALIGNED")
        left, right = key.co - key.handle_left, key.handle_right - key.co
        assert left.y / left.x == pytest.approx(right.y / right.x, rel=1e-3, abs=1e-5)


def test_the_report_tells_how_many(walker, capfd):
    _, _, _, told = both(walker, **LIFTED)
    counts = ", ".join(f"{name} {count}" for name, count in told.keys.items())
    assert f"Keys instead of 61: {counts}" in capfd.readouterr().out


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "ZXY"])
def test_rotation_modes(walker, mode):
    poses = {frame: {} for frame in range(1, 62)}
    for frame, found in poses.items():
        bpy.context.scene.frame_set(frame)
        found |= {name: walker.pose.bones[name].matrix_basis.to_quaternion() for name in walks.LEGS}
    for frame, found in poses.items():
        for name, turn in found.items():
            bone = walker.pose.bones[name]
            bone.rotation_mode = mode
            bone.matrix_basis = turn.to_matrix().to_4x4()
            bone.keyframe_insert(
                {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler"),
                frame=frame,
            )
    baked, full, few, told = both(walker, **LIFTED)
    assert_near(baked, full, few)
    assert max(told.keys.values()) <= 48  # of 61: near straight knees some are there for what is between frames


def test_locked_channels_stay(walker):
    """As far as that lets it: beside a bake with the same locks."""
    walker.pose.bones["LeftLeg"].lock_rotation = (False, True, False)
    before = all_keys(walker)
    baked, full, few, told = both(walker, **LIFTED)
    assert_near(baked, full, few)
    assert told.kept == ["LeftLeg keeps its locked rotation Y"]
    locked = 'pose.bones["LeftLeg"].rotation_euler', 1
    assert all_keys(walker)[locked] == before[locked]


def test_objects_that_are_turned_and_scaled(walker):
    walker.scale, walker.rotation_euler, walker.location = (2.5,) * 3, (0, 0, 1), (3, -2, 0)
    bpy.context.view_layer.update()
    baked, full, few, told = both(walker, 2.5 * TOLERANCE, **LIFTED)
    assert_near(baked, full, few, 2.5 * TOLERANCE, size=2.5)
    assert max(told.keys.values()) < 40


def test_tilted_body(walker):
    """The pelvis turns with the slope, too: its rotation and its location share their keys."""
    baked, full, few, told = both(walker, ground="PLANE", plane_normal=(0.1, 0.25, 1), auto_tilt=False, tilt=0.7)
    assert_near(baked, full, few)
    assert {tuple(frames) for frames in columns(walker, {"Hips"}).values()} == {
        tuple(columns(walker, {"Hips"})['pose.bones["Hips"].location', 0])
    }
    assert told.keys["pelvis"] < 61


def test_a_strip_of_a_part(walker):
    """An NLA strip of the length of the baked frames."""
    options = {"frame_range": "CUSTOM", "frame_start": 20, "frame_end": 45, **LIFTED}
    assert bake(keys="TOLERANCE", output="NLA", **options) == {"FINISHED"}
    strip = walker.animation_data.nla_tracks[-1].strips[0]
    assert (strip.frame_start, strip.frame_end) == (20, 45)


def test_one_leg(walker):
    before = all_keys(walker)
    baked, full, few, told = both(walker, ground="PLANE", plane_height=-0.02, legs=[{"name": "left"}])
    assert_near(baked, full, few)
    assert list(told.keys) == ["left"]
    changed = {at[0].split('"')[1] for at, was in before.items() if all_keys(walker)[at] != was}
    assert changed <= set(walks.LEGS[:4])


def test_keys_outside_stay(walker):
    """To the digit with their handles, also automatic ones."""
    for curve in curves(walker).values():
        for key in curve.keyframe_points:
            key.interpolation, key.handle_left_type, key.handle_right_type = "BEZIER", "AUTO", "AUTO"
        curve.update()
    before = all_keys(walker)
    options = {"frame_range": "CUSTOM", "frame_start": 20, "frame_end": 45, **LIFTED}
    _, full, few, _ = both(walker, ends=(20, 45), **options)
    for key, places in full.places.items():
        away = np.linalg.norm(places - few.places[key], axis=1)
        assert away[::2].max() <= TOLERANCE + ROUNDING
        assert away.max() <= BETWEEN * TOLERANCE
    for at, made in all_keys(walker).items():
        kept = [key for key in made if not 20 <= key[0][0] <= 45]
        assert kept == [key for key in before[at] if not 20 <= key[0][0] <= 45]
        assert {20.0, 45.0} <= {key[0][0] for key in made}


def test_repeated_curves_join_smoothly(walker):
    for curve in curves(walker).values():
        curve.modifiers.new("CYCLES")
    both(walker, **LIFTED)
    for at in columns(walker, {"LeftLeg", "RightUpLeg"}):
        first, last = (curves(walker)[at].keyframe_points[n] for n in (0, -1))
        after, before = first.handle_right - first.co, last.co - last.handle_left
        assert after.y / after.x == pytest.approx(before.y / before.x, abs=2e-4)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_cancel_changes_nothing(addon, walker, steps):
    """While it reduces, and from then on until it is done."""
    kept = walker.ikcore_feet
    kept.ground, kept.plane_height, kept.keys = "PLANE", 0.1, "TOLERANCE"
    job = addon.feet.foot_job.make_job(bpy.context, walker, kept)
    worked = addon.feet.foot_bake.scene_frames.run(addon.feet.foot_bake.work(bpy.context, job))
    before = rigs.state()
    going = addon.feet.keys.make_keys(bpy.context, job, *worked, kept)
    for _ in range(steps):
        next(going)
    going.close()
    assert rigs.state() == before


@needs_files
@pytest.mark.parametrize("file", ["cmu_12_01_walk.bvh", "fair1_zombie.bvh", "Fox.glb"])
def test_clips_on_terrain(file):
    armature, size = imported(file, CLIPS[file]), SIZES.get(file, 1.0)
    bpy.ops.wm.obj_import(filepath=str(TERRAIN / "ozz_foot_ik_floor.obj"))
    floor = bpy.context.object
    floor.scale = (size,) * 3
    bpy.context.view_layer.objects.active = armature
    given = {"ground": "OBJECTS", "ground_objects": [{"name": floor.name}]}
    baked, full, few, told = both(armature, 0.005 * size, **given)
    assert_near(baked, full, few, 0.005 * size, size)
    assert max(told.keys.values()) < 0.75 * len(baked.clip)
