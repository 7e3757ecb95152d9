"""Bake All Actions: each copy is what a bake of its original alone is, and all of it or nothing happens."""

import pathlib

import bpy
import numpy as np
import pytest
import rigs
import walks
from test_feet import imported, needs_files

import ikcore as ik

FRAMES = range(1, 62)
PLANE = {"ground": "PLANE", "plane_height": 0.1}


def bake(**options):
    return bpy.ops.ikcore.bake_feet_actions(**{**PLANE, **options})


def play(armature, name):
    action = bpy.data.actions[name]
    armature.animation_data.action = action
    armature.animation_data.action_slot = action.slots[0]
    bpy.context.view_layer.update()


def bag(action):
    return action.layers[0].strips[0].channelbags[0]


def poses(armature, names, frames=FRAMES):
    """Poses of an armature in these actions, each from rest."""
    found, now = {}, armature.animation_data.action
    for name in names:
        at_rest(armature)
        play(armature, name)
        found[name] = rigs.sampled(armature, frames)
    at_rest(armature)
    if now:
        play(armature, now.name)
    return found


def at_rest(armature):
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()


def made():
    return sorted(action.name for action in bpy.data.actions if "Foot IK" in action.name)


@pytest.fixture
def walker(tmp_path):
    """One that plays `walk`, and has `lower` (hips lower, to frame 40), `still` and a camera's `shake` besides."""
    armature = walks.walk(tmp_path)
    walk = armature.animation_data.action
    lower, still = walk.copy(), walk.copy()
    lower.name, still.name = "lower", "still"
    for curve in bag(lower).fcurves:
        if curve.data_path == 'pose.bones["Hips"].location':
            for key in curve.keyframe_points:
                key.co.y -= 0.05
        for key in list(curve.keyframe_points)[:39:-1]:
            curve.keyframe_points.remove(key)
    for curve in list(bag(still).fcurves):
        if curve.data_path == 'pose.bones["Hips"].location':
            bag(still).fcurves.remove(curve)
    camera = rigs.add_object("Camera")
    camera.keyframe_insert("location", frame=1)
    camera.animation_data.action.name = "shake"
    return armature


def alone(armature, name, **options):
    """Displayed poses after a bake of one action from rest, which is then undone."""
    bpy.context.view_layer.objects.active = armature
    before = set(bpy.data.actions)
    at_rest(armature)
    play(armature, name)
    assert bpy.ops.ikcore.bake_feet(**{**PLANE, **options}) == {"FINISHED"}
    shown = rigs.sampled(armature, FRAMES)
    (copy,) = set(bpy.data.actions) - before
    play(armature, "walk")
    bpy.data.actions.remove(copy)
    bpy.data.actions[name].use_fake_user = False
    return shown


# --- what is made ----------------------------------------------------------------------------------------------------


def test_each_is_what_it_is_alone(walker, capfd):
    """From its own pose, not from what the action that plays leaves behind."""
    wanted = {name: alone(walker, name) for name in ("lower", "still", "walk")}
    before = {name: rigs.action_by_value(bpy.data.actions[name])[2] for name in wanted}
    bpy.context.scene.frame_set(13, subframe=0.25)
    assert bake() == {"FINISHED"}
    assert made() == [f"{name} Foot IK" for name in wanted]
    assert walker.animation_data.action.name == "walk Foot IK"
    assert (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe) == (13, 0.25)
    assert {name: rigs.action_by_value(bpy.data.actions[name])[2] for name in wanted} == before
    found = poses(walker, made())
    for name, shown in wanted.items():
        assert np.abs(found[f"{name} Foot IK"] - shown).max() < 1e-5, name
    assert bag(bpy.data.actions["lower Foot IK"]).fcurves[0].range()[1] == 40
    assert "Baked 3 actions: largest slide 4.8 cm -> 0.5 mm" in capfd.readouterr().out


def test_feet_are_those_of_ikcore(walker):
    clip = walks.read(walker)
    bake()
    walks.assert_feet(walker, ik.bake_feet(clip, ik.Ground.plane(height=0.1, up="z")), FRAMES)


def test_all_are_kept_in_the_file(walker, tmp_path):
    bake()
    names = set(bpy.data.actions.keys())
    assert names == {"walk", "lower", "still", "shake", *made()}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    assert set(bpy.data.actions.keys()) >= {"walk", "shake", "walk Foot IK", "lower Foot IK", "still Foot IK"}


@pytest.mark.parametrize(
    ("pattern", "names"), [("l*", ["lower"]), ("*al*", ["walk"]), ("", ["lower", "still", "walk"])]
)
def test_pattern(walker, pattern, names):
    bake(pattern=pattern)
    assert made() == [f"{name} Foot IK" for name in names]
    assert walker.animation_data.action.name == ("walk Foot IK" if "walk" in names else "walk")


def test_again(walker):
    """From the originals: earlier copies are replaced, except a renamed one and one in use."""
    bake()
    bpy.data.actions["still Foot IK"].name = "calm"
    rigs.add_object("Other").animation_data_create().action = bpy.data.actions["lower Foot IK"]
    kept = ["calm", "lower Foot IK"]
    first = poses(walker, kept)
    bake(plane_height=-0.02)
    assert made() == ["lower Foot IK", "lower Foot IK.001", "still Foot IK", "walk Foot IK"]
    assert walker.animation_data.action.name == "walk Foot IK"
    again = poses(walker, kept)
    assert all(np.array_equal(again[name], shown) for name, shown in first.items())
    play(walker, "walk")
    clip = walks.read(walker)
    play(walker, "walk Foot IK")
    walks.assert_feet(walker, ik.bake_feet(clip, ik.Ground.plane(height=-0.02, up="z")), FRAMES)


def test_contacts_count_for_each_action(walker):
    """The curves of one say nothing of the others."""
    wanted = alone(walker, "walk")
    play(walker, "lower")
    bpy.ops.ikcore.detect_contacts(**PLANE)
    for curve in bag(bpy.data.actions["lower"]).fcurves:
        if curve.data_path.startswith('["contact left'):
            for key in curve.keyframe_points:
                key.co.y = 0.0
    lifted, as_found = alone(walker, "lower"), alone(walker, "lower", contacts="AUTO")
    assert np.abs(lifted - as_found).max() > 0.01
    play(walker, "walk")
    bake()
    found = poses(walker, ("lower Foot IK", "walk Foot IK"))
    assert np.abs(found["lower Foot IK"] - lifted).max() < 1e-5
    assert np.abs(found["walk Foot IK"] - wanted).max() < 1e-5


def test_options_reach_every_action(walker):
    wanted = {name: alone(walker, name, keys="STEP", key_step=5, influence=0.5) for name in ("lower", "walk")}
    bake(keys="STEP", key_step=5, influence=0.5)
    found = poses(walker, made())
    for name, shown in wanted.items():
        assert np.abs(found[f"{name} Foot IK"] - shown).max() < 1e-5, name


def test_markers_are_those_of_what_plays(walker):
    deep = {"plane_height": -0.6, "legs": [{"name": "left"}], "mark": True}
    play(walker, "walk")
    bpy.ops.ikcore.bake_feet(**{**PLANE, **deep})
    wanted = [(marker.name, marker.frame) for marker in bpy.context.scene.timeline_markers]
    assert wanted
    bpy.context.scene.timeline_markers.clear()
    play(walker, "walk")
    bake(**deep)
    assert [(marker.name, marker.frame) for marker in bpy.context.scene.timeline_markers] == wanted


def test_reports_of_all(walker, addon):
    """Each copy has its own."""
    bake()
    frames = {}
    for name in made():
        play(walker, name)
        frames[name] = addon.feet.foot_report.latest(walker).frames
    assert frames == {"lower Foot IK": 40, "still Foot IK": 61, "walk Foot IK": 61}


# --- which -----------------------------------------------------------------------------------------------------------


def test_slots_of_others_are_left(walker):
    """An action that only another armature plays is not ours, though it has our bones; a slot among others is found."""
    other = walker.copy()
    bpy.context.collection.objects.link(other)
    theirs = bpy.data.actions["lower"]
    other.animation_data.action, other.animation_data.action_slot = theirs, theirs.slots[0]
    still = bpy.data.actions["still"]
    still.slots.new(id_type="OBJECT", name="Empty")
    bake()
    assert made() == ["still Foot IK", "walk Foot IK"]
    assert len(bpy.data.actions["still Foot IK"].slots) == 2
    assert other.animation_data.action == theirs


def test_the_slot_that_plays(walker):
    """The active slot of an action with several suitable ones."""
    walk = bpy.data.actions["walk"]
    second = walk.slots.new(id_type="OBJECT", name="second")
    keys = walk.layers[0].strips[0].channelbag(second, ensure=True)
    for curve in bag(walk).fcurves:
        new = keys.fcurves.new(curve.data_path, index=curve.array_index)
        new.keyframe_points.insert(1, 0.0)
        new.keyframe_points.insert(61, 0.0)
    walker.animation_data.action_slot = second
    first = rigs.action_by_value(walk)[2]
    bake(pattern="walk")
    assert walker.animation_data.action_slot.identifier == "OBsecond"
    after = rigs.action_by_value(walker.animation_data.action)[2]
    changed = [name for name in first if after[name] != first[name]]
    assert changed == ["OBsecond"]


@needs_files
@pytest.mark.parametrize(("file", "many"), [("Fox.glb", 3), ("Woman.gltf", 10)])
def test_characters(file, many):
    """All that the importer makes: every copy is what ikcore makes of its original."""
    armature = imported(file, None)
    originals, skinned = list(bpy.data.actions), walks.skin.read(bpy.context, armature)
    assert bpy.ops.ikcore.bake_feet_actions(ground="PLANE") == {"FINISHED"}
    assert made() == sorted(f"{action.name} Foot IK" for action in originals)
    assert len(originals) == many
    for action in originals:
        at_rest(armature)
        play(armature, action.name)
        first, last = action.curve_frame_range
        frames = np.arange(np.floor(first), np.ceil(last) + 1)  # keys lie between frames
        clip = walks.stage.run(walks.clips.read(bpy.context, armature, frames)).clip
        feet = ik.Feet.detect(clip.skeleton, vertices=skinned, clip=clip)
        wanted = walks.prepared_and_baked(clip, ik.Ground.plane(up="z"), feet=feet, root_motion=True)
        play(armature, f"{action.name} Foot IK")
        size = max(1.0, np.ptp(clip.skeleton.forward(clip.pose[0]).positions[:, 2]))
        walks.assert_feet(armature, wanted, frames, 1e-4 * size)


def test_what_plays_nothing(walker):
    """An armature without an action goes on without one."""
    walker.animation_data.action = None
    at_rest(walker)
    bake()
    assert made() == ["lower Foot IK", "still Foot IK", "walk Foot IK"]
    assert walker.animation_data.action is None
    walker.animation_data_clear()
    bake(pattern="walk")
    assert walker.animation_data is None


@pytest.mark.parametrize("pattern", ["", "lower"])
def test_above_a_baked_strip(walker, pattern):
    """It is what plays: it gives way to the new copy, if there is one of its original."""
    clip = walks.read(walker)
    bpy.ops.ikcore.bake_feet(output="NLA", **PLANE)
    tracks = rigs.tracks_by_value(walker.animation_data)
    bake(pattern=pattern, plane_height=-0.02)
    if pattern:
        assert rigs.tracks_by_value(walker.animation_data) == tracks
    else:
        assert walker.animation_data.action.name == "walk Foot IK"
        assert len(walker.animation_data.nla_tracks) == 0
    height = 0.1 if pattern else -0.02
    walks.assert_feet(walker, ik.bake_feet(clip, ik.Ground.plane(height=height, up="z")), FRAMES)
    assert bpy.data.actions["walk Foot IK"].users


def test_one_that_cannot_be_baked(walker, capfd):
    """The others are; the reason is told."""
    for curve in bag(bpy.data.actions["lower"]).fcurves:
        curve.lock = "LeftLeg" in curve.data_path
    bake()
    assert made() == ["still Foot IK", "walk Foot IK"]
    text = capfd.readouterr().out
    assert "Baked 2 actions" in text
    assert "not baked: lower (LeftLeg has a locked rotation curve: unlock it" in text


def test_an_unexpected_error_leaves_the_others_baked(addon, walker, monkeypatch, capfd):
    """It is told with its name, and nothing is left of its copy; what it played is put back."""
    real = addon.feet.foot_bake.actions.write_keys

    def breaks(bag, channel, frames, *more):
        if bag.id_data.name.startswith("lower"):
            raise IndexError("made by the test")
        return real(bag, channel, frames, *more)

    monkeypatch.setattr(addon.feet.foot_bake.actions, "write_keys", breaks)
    bake()
    assert made() == ["still Foot IK", "walk Foot IK"]
    assert walker.animation_data.action.name == "walk Foot IK"
    said = capfd.readouterr()
    assert "not baked: lower (unexpected IndexError: made by the test)" in said.out
    assert "test_foot_batch.py" in said.err, "the console says nothing to find it by"


def test_keys_beside_the_range(walker, capfd):
    """As importers make them of files at another rate."""
    for curve in bag(bpy.data.actions["lower"]).fcurves:
        for frame in (40.004, 43, 45):
            curve.keyframe_points.add(1)
            curve.keyframe_points[-1].co = (frame, curve.keyframe_points[-2].co.y)
    bake(frame_range="CUSTOM", frame_start=1, frame_end=40)
    assert made() == ["lower Foot IK", "still Foot IK", "walk Foot IK"]
    assert "Baked 3 actions" in capfd.readouterr().out


def test_poll(walker):
    assert bpy.ops.ikcore.bake_feet_actions.poll()
    for action in list(bpy.data.actions):
        if action.name != "shake":
            bpy.data.actions.remove(action)
    with pytest.raises(RuntimeError, match="No action has keys for the bones of walk"):
        bake()


def test_refusals(walker):
    before = rigs.state()
    with pytest.raises(RuntimeError, match=r"No action of walk matches run\*"):
        bake(pattern="run*")
    with pytest.raises(RuntimeError, match=r"No action was baked: lower \(walk has no pelvis bone x"):
        bake(pelvis_bone="x", pattern="lower")
    with pytest.raises(TypeError, match="output"):
        bake(output="NLA")
    assert rigs.state() == before
    walker.animation_data.nla_tracks.new().strips.new("walk", 1, bpy.data.actions["walk"])
    with pytest.raises(RuntimeError, match="walk has NLA tracks that play"):
        bake()


def test_linked_action(walker, tmp_path, capfd):
    lower = bpy.data.actions["lower"]
    bpy.data.libraries.write(str(tmp_path / "lower.blend"), {lower})
    bpy.data.actions.remove(lower)
    with bpy.data.libraries.load(str(tmp_path / "lower.blend"), link=True) as (_, wanted):
        wanted.actions = ["lower"]
    bake()
    assert made() == ["still Foot IK", "walk Foot IK"]
    assert "lower (Action lower is linked from another file: make it local first)" in capfd.readouterr().out


# --- undo, failure, cancel -------------------------------------------------------------------------------------------


def test_one_undo_step(walker):
    before = rigs.state()
    bpy.ops.ed.undo_push(message="before")
    bake(mark=True)
    bpy.ops.ed.undo_push(message="after")
    assert rigs.state() != before
    bpy.ops.ed.undo()
    assert rigs.state() == before


def work(addon, armature, **options):
    kept = armature.ikcore_feet
    for name, value in {**PLANE, **options}.items():
        setattr(kept, name, value)
    batch = addon.feet.foot_batch.make_job(armature, "")
    return addon.feet.foot_batch.work(bpy.context, batch, kept)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.6, 0.9])
def test_cancel_changes_nothing(addon, walker, monkeypatch, share):
    """Whatever the actions move: poses, the object, custom properties."""
    monkeypatch.setattr(addon.feet.foot_bake.clip_reader, "not_from_curves", lambda *_: "asked for by the test")
    still = bpy.data.actions["still"]
    walker["mood"] = 0.25
    walker.pose.bones["Head"]['look "up"'] = 0.5
    for path, index in (("location", 0), ('["mood"]', 0), ('pose.bones["Head"]["look \\"up\\""]', 0), ("nowhere", 0)):
        curve = bag(still).fcurves.new(path, index=index)
        curve.keyframe_points.insert(1, 7.0)
        curve.keyframe_points.insert(61, 9.0)
    walker.location.x = 0.5
    bpy.context.scene.frame_set(13, subframe=0.5)
    walker.pose.bones["Hips"].location = (1, 2, 3)  # posed, not keyed
    bpy.context.view_layer.update()

    def values():
        own = walker["mood"], walker.pose.bones["Head"]['look "up"'], tuple(walker.location)
        return rigs.state(), own, np.array(walker.matrix_world).tolist()

    before = values()
    going, shares = work(addon, walker), []
    while not shares or shares[-1] < share:
        shares.append(next(going))
    assert shares == sorted(shares)
    going.close()
    assert values() == before


@pytest.mark.parametrize("broken", ["write_keys", "mark", "bake_feet"])
def test_failure_changes_nothing(addon, walker, monkeypatch, broken):
    """At the last action, when the others are done."""
    owner = {
        "write_keys": addon.feet.foot_bake.actions,
        "mark": addon.feet.foot_bake,
        "bake_feet": addon.bridge.library,
    }[broken]
    real, calls = getattr(owner, broken), []

    def breaks(*given, **options):
        calls.append(given)
        if broken == "mark" or len(calls) > (60 if broken == "write_keys" else 2):
            raise MemoryError("made by the test")
        return real(*given, **options)

    before = rigs.state()
    monkeypatch.setattr(owner, broken, breaks)
    with pytest.raises(RuntimeError, match="made by the test"):
        bake()
    assert rigs.state() == before


def test_every_option_is_one_of_the_single_bake(addon):
    """But for where to write, which has only one answer."""
    single, batch = (set(getattr(bpy.ops.ikcore, name).get_rna_type().properties.keys()) for name in NAMES)
    assert single - batch == {"output"}
    assert batch - single == {"pattern"}
    assert "pattern=" in pathlib.Path(__file__).read_text(encoding="utf-8")


NAMES = ("bake_feet", "bake_feet_actions")
