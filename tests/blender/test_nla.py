"""Bake Foot IK to an NLA strip: what Blender shows with it, outside of it and without it, and baking once more."""

import bpy
import numpy as np
import pytest
import rigs
import walks

import ikcore as ik

FRAMES = range(1, 62)
PLANE = {"ground": "PLANE", "plane_height": 0.1}


def bake(**options):
    return bpy.ops.ikcore.bake_feet(**{"output": "NLA", **PLANE, **options})


def baked(clip, height=0.1, **options):
    return ik.bake_feet(clip, ik.Ground.plane(height=height, up="z"), **options)


def tracks(armature):
    return list(armature.animation_data.nla_tracks)


def strips(armature):
    return [strip for track in tracks(armature) for strip in track.strips]


@pytest.fixture
def walker(tmp_path):
    return walks.walk(tmp_path)


def test_strip(walker):
    """It has only what was baked, in a slot of the same name, above the original, which plays on below."""
    action, slot = walker.animation_data.action, walker.animation_data.action_slot
    clip, before, poses = walks.read(walker), rigs.action_by_value(action)[2], rigs.sampled(walker, range(-5, 70))
    assert bake() == {"FINISHED"}
    walks.assert_feet(walker, baked(clip), FRAMES)
    assert walker.animation_data.action is None
    assert rigs.tracks_by_value(walker.animation_data) == [
        ("walk", False, [("walk", 1, 61, 1, 61, "HOLD", "REPLACE", "walk")]),
        (
            "walk Foot IK",
            False,
            [("walk Foot IK", 1, 61, 1, 61, "NOTHING", "REPLACE", "walk Foot IK")],
        ),
    ]
    assert rigs.action_by_value(action)[2] == before
    below, above = strips(walker)
    assert below.action_slot == slot
    assert below.use_sync_length  # keys added at its ends, in tweak mode, play too
    assert above.action_slot.identifier == slot.identifier
    made = rigs.curves_of(above.action, above.action_slot)
    bones = {path.split('"')[1] for path, _ in made}
    assert {"Hips", "LeftUpLeg", "LeftLeg", "LeftFoot"} <= bones <= {"Hips", *walks.LEGS}
    assert all(curve.group.name == path.split('"')[1] for (path, _), curve in made.items())
    assert len(made) < len(rigs.curves_of(action, below.action_slot)) / 2
    tracks(walker)[1].mute = True
    assert np.array_equal(rigs.sampled(walker, range(-5, 70)), poses)


@pytest.mark.parametrize("step", [1, 7])
def test_part(walker, step):
    """Outside of the strip the original plays; keys on every so many frames too."""
    clip, poses = walks.read(walker), rigs.sampled(walker, range(-5, 70))
    bake(frame_range="CUSTOM", frame_start=20, frame_end=45, keys="STEP", key_step=step)
    wanted = baked(clip, frames=(19, 45))
    _, above = strips(walker)
    assert (above.frame_start, above.frame_end) == (20, 45)
    for frame in range(20, 46, step):
        walks.assert_feet_at(walker, wanted, frame)
    shown = rigs.sampled(walker, range(-5, 70))
    outside = [n for n, frame in enumerate(range(-5, 70)) if not 20 <= frame <= 45]
    assert np.array_equal(shown[outside], poses[outside])
    assert np.abs(shown[30:40] - poses[30:40]).max() > 0.01


def test_one_frame(walker):
    clip, poses = walks.read(walker), rigs.sampled(walker, FRAMES)
    bake(frame_range="CUSTOM", frame_start=30, frame_end=30)
    walks.assert_feet_at(walker, baked(clip, frames=(29, 30)), 30)
    shown = rigs.sampled(walker, FRAMES)
    others = [n for n in range(61) if n != 29]
    assert np.array_equal(shown[others], poses[others])


def test_time_remapping(walker):
    """Frames of the scene that are others than those of actions: strips lie where keys are."""
    scene = bpy.context.scene
    clip = walks.read(walker)
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 200
    clip = ik.Clip(clip.skeleton, clip.pose, clip.fps / 2, up="Z")
    bake()
    wanted = baked(clip)
    below, above = strips(walker)
    assert (below.frame_start, below.frame_end, above.frame_start, above.frame_end) == (1, 61, 1, 61)
    places = wanted.feet.positions(wanted.clip.skeleton, wanted.clip.pose)
    for key, shown in walks.positions(walker, wanted.feet, [2 * frame for frame in FRAMES]).items():
        assert np.abs(shown - places[key]).max() < 1e-4, key


def test_curves_that_go_on_outside(walker):
    """A cycle goes on below the strip, as far as the scene."""
    bpy.context.scene.frame_end = 150
    for curve in rigs.curves_of(walker.animation_data.action, walker.animation_data.action_slot).values():
        curve.modifiers.new("CYCLES")
        curve.update()
    poses = rigs.sampled(walker, range(62, 151))
    assert np.abs(np.diff(poses, axis=0)).max() > 0.01
    bake()
    assert np.array_equal(rigs.sampled(walker, range(62, 151)), poses)


def test_slot_among_others(walker):
    """The strips play the armature's slot of a shared action, whichever comes first."""
    action, slot = walker.animation_data.action, walker.animation_data.action_slot
    clip = walks.read(walker)
    other = rigs.add_object("Other")
    other.animation_data_create()
    other.animation_data.action = action
    other.animation_data.action_slot = action.slots.new(id_type="OBJECT", name="Other")
    other.keyframe_insert("location", frame=200)
    bake()
    assert [strip.action_slot.identifier for strip in strips(walker)] == [slot.identifier] * 2
    assert [strip.frame_end for strip in strips(walker)] == [61, 61]
    walks.assert_feet(walker, baked(clip), FRAMES)
    assert other.animation_data.action == action


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "ZXY"])
def test_rotation_modes(mode):
    """The NLA shows them as an action does, in an armature of another size too, next to what is locked."""
    armature = rigs.mixamo_like()
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    rigs.move(armature, range(1, 21), size=0.15)
    armature.pose.bones["mixamorig:Hips"].lock_location = (True, False, False)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.ikcore.detect_feet()
    for leg in armature.ikcore_feet.legs:
        leg.mode = "always"  # it never stands by itself
    start, poses = armature.animation_data.action, {}
    for output in ("NEW", "NLA"):
        armature.animation_data.action = start
        assert bake(output=output, plane_height=-0.05) == {"FINISHED"}
        poses[output] = rigs.sampled(armature, range(1, 21))
    assert np.abs(poses["NEW"] - poses["NLA"]).max() < 1e-4  # of a centimetre
    tracks(armature)[1].mute = True
    assert np.abs(poses["NEW"] - rigs.sampled(armature, range(1, 21))).max() > 0.1


def test_muted_tracks_stay(walker):
    """Below, and muted."""
    animation = walker.animation_data
    track = animation.nla_tracks.new()
    track.name, track.mute = "Idea", True
    track.strips.new("Idea", 5, animation.action)
    clip = walks.read(walker)
    bake()
    assert [(track.name, track.mute) for track in tracks(walker)] == [
        ("Idea", True),
        ("walk", False),
        ("walk Foot IK", False),
    ]
    walks.assert_feet(walker, baked(clip), FRAMES)


# --- once more -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("muted", [False, True])
def test_again(walker, muted):
    """From the original, in place of the first strip, also while that is muted to compare."""
    clip = walks.read(walker)
    bake()
    tracks(walker)[1].mute = muted
    assert bake(plane_height=-0.02) == {"FINISHED"}
    walks.assert_feet(walker, baked(clip, -0.02), FRAMES)
    assert [(track.name, track.mute) for track in tracks(walker)] == [("walk", False), ("walk Foot IK", False)]
    assert tracks(walker)[1].strips[0].name == "walk Foot IK"
    assert sorted(bpy.data.actions.keys()) == ["walk", "walk Foot IK"]


@pytest.mark.parametrize("output", ["NEW", "OVERWRITE"])
def test_from_a_strip_to_an_action(walker, output):
    """The strip gives way, and nothing that was in it is lost."""
    action, clip = walker.animation_data.action, walks.read(walker)
    bake()
    assert bake(output=output, plane_height=-0.02) == {"FINISHED"}
    assert tracks(walker) == []
    assert (walker.animation_data.action == action) == (output == "OVERWRITE")
    walks.assert_feet(walker, baked(clip, -0.02), FRAMES)
    assert action.users - action.use_fake_user > 0 or action.use_fake_user
    assert bpy.data.actions["walk Foot IK"].use_fake_user == (output == "OVERWRITE")
    assert len(bpy.data.actions) == 2


def test_from_an_action_to_a_strip(walker):
    """The strip lies above what played, so that edits there go on showing."""
    clip = walks.read(walker)
    bake(output="NEW")
    copy = walker.animation_data.action
    bake(plane_height=-0.02)
    assert strips(walker)[0].action == copy
    walks.assert_feet(walker, baked(clip, -0.02), FRAMES)
    bake(plane_height=0.05)
    walks.assert_feet(walker, baked(clip, 0.05), FRAMES)


def test_keys_edited_below(walker):
    """In tweak mode, beyond the end of the strip too: the next bake takes them in."""
    bake()
    below, _ = strips(walker)
    head = rigs.curves_of(below.action, below.action_slot)['pose.bones["Head"].rotation_euler', 0]
    tweak(walker)
    head.keyframe_points.insert(70, 0.5)
    walker.animation_data.use_tweak_mode = False
    assert strips(walker)[0].frame_end == 70
    assert bake() == {"FINISHED"}
    assert [strip.frame_end for strip in strips(walker)] == [70, 70]


def test_contacts_are_those_of_the_original(walker):
    """Detected while the strip plays, they become curves of the action below, and the next bake goes by them."""
    clip, action = walks.read(walker), walker.animation_data.action
    bake()
    before = rigs.tracks_by_value(walker.animation_data)
    assert bpy.ops.ikcore.detect_contacts(**PLANE) == {"FINISHED"}
    assert rigs.tracks_by_value(walker.animation_data) == before
    found = rigs.curves_of(action, action.slots[0])
    for point in ("heel", "ball"):
        for key in found[f'["contact left {point}"]', 0].keyframe_points:
            key.co.y = 0.0
    detected = baked(clip).contacts
    said = {key: weight * (key[0] == "right") for key, weight in detected.weights.items()}
    contacts = ik.Contacts.detect(clip, ik.Feet.detect(clip.skeleton, clip=clip), curves=said)
    bake()
    walks.assert_feet(walker, baked(clip, contacts=contacts), FRAMES)


def test_report(walker, addon):
    """It is that of the strip, and gone with it."""
    bake()
    assert addon.feet.foot_report.latest(walker).frames == 61
    for track in tracks(walker):
        walker.animation_data.nla_tracks.remove(track)
    walker.animation_data.action = bpy.data.actions["walk"]
    assert addon.feet.foot_report.latest(walker) is None


# --- undo, failure, cancel -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [False, True])
def test_one_undo_step(walker, again):
    if again:
        bake()
    bpy.context.scene.frame_set(13)
    bpy.context.view_layer.update()
    before = rigs.state()
    bpy.ops.ed.undo_push(message="before")
    bake(plane_height=-0.02)
    bpy.ops.ed.undo_push(message="after")
    assert rigs.state() != before
    bpy.ops.ed.undo()
    assert rigs.state() == before


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("output", "broken"), [(o, "write_keys") for o in ("NLA", "NEW", "OVERWRITE")] + [("NLA", "mark"), ("NEW", "mark")]
)
def test_failure_changes_nothing(addon, walker, monkeypatch, again, output, broken):
    if again:
        bake()
    bpy.context.scene.frame_set(13, subframe=0.5)
    before = rigs.state()
    owner = addon.feet.foot_bake.actions if broken == "write_keys" else addon.feet.foot_bake
    real = getattr(owner, broken)

    def breaks(*given):
        if broken == "mark" or "RightFoot" in given[1].path:
            raise MemoryError("made by the test")
        real(*given)

    monkeypatch.setattr(owner, broken, breaks)
    with pytest.raises(RuntimeError, match="made by the test"):
        bake(output=output, plane_height=-0.02)
    assert rigs.state() == before


@pytest.mark.parametrize("steps", [1, 2, 7, 62])
def test_cancel_changes_nothing(addon, walker, monkeypatch, steps):
    """While a baked strip is away to be baked again."""
    bake()
    monkeypatch.setattr(addon.feet.foot_bake.clip_reader, "not_from_curves", lambda *_: "asked for by the test")
    bpy.context.scene.frame_set(13, subframe=0.5)
    before = rigs.state()
    going = addon.feet.foot_bake.work(
        bpy.context, addon.feet.foot_job.make_job(bpy.context, walker, walker.ikcore_feet)
    )
    for _ in range(steps):
        next(going)
    going.close()
    bpy.context.view_layer.update()
    assert rigs.state() == before


def test_the_redo_panel_goes_from_one_output_to_the_other(addon, walker, monkeypatch):
    """Which undoes the bake and does it again, without looking at the scene again."""
    clip = walks.read(walker)
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="before")
    bake(output="NEW")
    monkeypatch.setattr(addon.feet.foot_bake, "_look", lambda *_: pytest.fail("looked again"))
    work = addon.feet.foot_bake.work
    monkeypatch.setattr(addon.feet.foot_bake, "work", lambda context, job, again: work(context, job, again=True))
    monkeypatch.setattr(addon.feet.foot_bake, "forget", lambda: None)
    for height, output in ((-0.02, "NLA"), (0.05, "NLA"), (0.1, "OVERWRITE"), (0.0, "NEW"), (0.1, "NLA")):
        bpy.ops.ed.undo_push(message="after")
        bpy.ops.ed.undo()
        bake(output=output, plane_height=height)
        walker = bpy.data.objects["walk"]
        walks.assert_feet(walker, baked(clip, height), FRAMES)
        assert len(tracks(walker)) == (2 if output == "NLA" else 0)
        assert set(bpy.data.actions.keys()) == ({"walk"} if output == "OVERWRITE" else {"walk", "walk Foot IK"})


# --- refusals --------------------------------------------------------------------------------------------------------


def foreign_track(armature):
    animation = armature.animation_data
    track = animation.nla_tracks.new(prev=tracks(armature)[0])
    track.strips.new("wave", 1, bpy.data.actions.new("wave"))


def moved(armature):
    below = strips(armature)[0]
    below.frame_start += 10


def stretched(armature):
    strips(armature)[0].scale = 1.5


def trimmed(armature):
    strips(armature)[0].action_frame_end = 30


def tweak(armature):
    animation = armature.animation_data
    animation.nla_tracks.active = tracks(armature)[0]
    strips(armature)[0].select, strips(armature)[1].select = True, False
    animation.use_tweak_mode = True


def action_on_top(armature):
    armature.animation_data.action = bpy.data.actions["walk"]


PLAYS = "walk plays tracks of the NLA and has no action: bake the NLA into one first"
CHANGES = {
    "foreign track": (foreign_track, PLAYS),
    "moved": (moved, PLAYS),
    "stretched": (stretched, PLAYS),
    "trimmed": (trimmed, PLAYS),
    "tweak mode": (tweak, "walk is in NLA tweak mode: leave it first"),
    "action on top": (
        action_on_top,
        "walk has NLA tracks that play below or above its action: mute them or bake the NLA first",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_is_no_bake_any_more(walker, case):
    """Is refused as any other NLA."""
    bake()
    change, sentence = CHANGES[case]
    change(walker)
    bpy.context.view_layer.update()
    before = rigs.state() if case != "tweak mode" else None
    with pytest.raises(RuntimeError, match=sentence):
        bake()
    if before:
        assert rigs.state() == before


def test_on_top_of_a_strip(walker):
    bake()
    before = rigs.state()
    with pytest.raises(RuntimeError, match="turn on Rebake from Original"):
        bake(from_original=False)
    assert rigs.state() == before


def test_nla_switched_off(walker):
    walker.animation_data.use_nla = False
    before = rigs.state()
    with pytest.raises(RuntimeError, match="The NLA of walk is off: turn it on in the NLA Editor"):
        bake()
    assert rigs.state() == before
    assert bake(output="NEW") == {"FINISHED"}


def test_channels_without_keys(walker):
    """Nothing would put them back where the strip ends or is muted."""
    action, slot = walker.animation_data.action, walker.animation_data.action_slot
    bag = action.layers[0].strips[0].channelbag(slot)
    for (path, _), curve in rigs.curves_of(action, slot).items():
        if path in ('pose.bones["Hips"].location', 'pose.bones["LeftLeg"].rotation_euler'):
            bag.fcurves.remove(curve)
    before = rigs.state()
    with pytest.raises(RuntimeError, match=r"no keys on Hips \(location\), LeftLeg \(rotation_euler\): add a key"):
        bake()
    assert rigs.state() == before
    assert bake(output="NEW") == {"FINISHED"}


@pytest.mark.parametrize(
    "less", [{"legs": [{"name": "left"}]}, {"frame_range": "CUSTOM", "frame_start": 20, "frame_end": 61}]
)
@pytest.mark.parametrize("output", ["NLA", "NEW", "OVERWRITE"])
def test_a_strip_is_not_replaced_by_less(walker, less, output):
    """Its other keys would be lost. As much again, or more, is baked."""
    assert bake() == {"FINISHED"}
    before = rigs.state()
    with pytest.raises(RuntimeError, match="walk plays a baked strip with more legs or frames, which would be lost"):
        bake(output=output, **less)
    assert rigs.state() == before
    assert bpy.ops.ikcore.detect_contacts(**PLANE) == {"FINISHED"}
    assert bake(output=output) == {"FINISHED"}


def test_a_strip_of_one_leg_is_baked_again(walker):
    clip = walks.read(walker)
    for height in (-0.01, -0.02):
        assert bake(legs=[{"name": "left"}], plane_height=height) == {"FINISHED"}
    walks.assert_feet(walker, baked(clip, -0.02, legs=["left"]), FRAMES)
    assert bake() == {"FINISHED"}
    walks.assert_feet(walker, baked(clip), FRAMES)
