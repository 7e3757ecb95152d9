"""The panels about feet, drawn into a layout that records its calls."""

import importlib
import pathlib
import re
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
import walks
from conftest import EXTENSION
from test_panel import Layout

import ikcore as ik

panels = importlib.import_module(EXTENSION + ".feet.foot_panels")


def test_options_changed_in_the_redo_panel_are_in_the_sidebar(tmp_path):
    """The next press of the button does what was seen last, not what the button did."""
    cls = importlib.import_module(EXTENSION + ".feet.foot_operators").IKCORE_OT_bake_feet
    options = importlib.import_module(EXTENSION + ".feet.options")
    kept = walks.walk(tmp_path).ikcore_feet
    request = SimpleNamespace(**{name: getattr(kept, name) for name in options.names()})
    request.swing_clearance, request.output, request.frame_range = 5.0, "OVERWRITE", "SCENE"
    request.make_job, request.steps, request.refuse = lambda _: None, lambda *_: iter(()), lambda _: {"CANCELLED"}
    for repeated in (False, True):
        request.options = SimpleNamespace(is_repeat=repeated)
        assert cls.execute(request, bpy.context) == {"FINISHED"}
        chosen = (round(kept.swing_clearance, 5), kept.output, kept.frame_range)
        assert chosen == ((5.0, "OVERWRITE", "SCENE") if repeated else (2.29885, "NEW", "ACTION"))


def test_numbers_show_their_unit():
    """Lengths of the scene, durations, angles, or percent of the leg length: whatever is no share and no direction."""
    for name, prop in _numbers().items():
        of_a_leg = "percentage of the leg length" in prop.description
        assert (prop.subtype == "PERCENTAGE") == of_a_leg, name
        assert (prop.unit != "NONE") != (prop.subtype in {"PERCENTAGE", "FACTOR", "DIRECTION"}), name


def test_percentages_are_of_the_leg_of_the_library(tmp_path, addon):
    """As the library's settings, whose defaults they have."""
    assert addon.bridge.LEG == ik.feet.thresholds.LEG_LENGTH
    assert addon.bridge.leg_length(50.0) == 0.435
    kept = walks.walk(tmp_path).ikcore_feet
    assert addon.feet.options.settings(kept) == ik.BakeSettings()
    kept.limit_pelvis = True
    assert addon.feet.options.settings(kept) == ik.BakeSettings(lift=0.3, drop=0.3)
    kept.max_raise = 10
    assert addon.feet.options.settings(kept).lift == 0.087


def _numbers():
    rna = bpy.ops.ikcore.bake_feet.get_rna_type()
    return {prop.identifier: prop for prop in rna.properties if prop.type == "FLOAT"}


def test_problem_frames_are_buttons(tmp_path):
    """Every one of them, and a click goes there."""
    walker = walks.walk(tmp_path)
    shown = panels.IKCORE_PT_feet_problems
    assert not shown.poll(bpy.context)
    bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=-0.6, legs=[{"name": "left"}])
    told = panels.foot_report.latest(walker)
    frame, text = told.problems[0]
    assert frame == 1
    assert re.fullmatch(r"left foot does not reach: [\d.]+ cm short", text)
    told.problems = [(frame, "left foot sinks 1.2 cm") for frame in range(2, 50, 2)]
    long = "lower: 15 cm and 8.3° off at frame 55, because upper has a locked IK axis or an IK limit"
    told.problems.append((55, long))
    assert shown.poll(bpy.context)
    given = []

    def operator(name, text, **_):
        given.append((name, text, SimpleNamespace()))
        return given[-1][2]

    column = SimpleNamespace(operator=operator, row=lambda **_: column)
    panel = SimpleNamespace(layout=SimpleNamespace(column=lambda **_: column), latest=shown.latest)
    shown.draw(panel, SimpleNamespace(object=walker, region=SimpleNamespace(width=300)))
    buttons, short = [(text, button.frame) for _, text, button in given], told.problems[:-1]
    assert buttons[: len(short)] == [(f"{at} {what}", at) for at, what in short]
    assert len(buttons[len(short) :]) > 1, "a long one takes some lines"
    assert {at for _, at in buttons[len(short) :]} == {55}
    assert " ".join(text for text, _ in buttons[len(short) :]) == f"55 {long.replace(' at frame 55', '')}"
    bpy.context.scene.frame_set(1)
    assert bpy.ops.ikcore.show_frame(frame=given[-1][2].frame) == {"FINISHED"}
    assert bpy.context.scene.frame_current == told.problems[-1][0]


def test_a_pose_to_start_from_is_nothing_to_look_at(tmp_path):
    """Captures begin with a T-pose, which is no mistake of the bake; what follows is told as ever."""
    walker = walks.walk(tmp_path)

    def problems():
        bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=-0.6, legs=[{"name": "left"}])
        return [(at, text.partition(":")[0]) for at, text in panels.foot_report.latest(walker).problems]

    assert (1, "left foot does not reach") in problems()
    walker.animation_data.action = bpy.data.actions["walk"]
    for curve in walker.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        if "UpLeg" in curve.data_path and curve.array_index == 0:
            curve.keyframe_points[0].co.y += 0.8
    told = problems()
    assert (3, "left foot does not reach") in told
    assert min(frame for frame, _ in told) == 3


def drawn(panel="IKCORE_PT_feet"):
    manager = bpy.context.window_manager
    context = SimpleNamespace(
        object=bpy.context.object,
        region=SimpleNamespace(width=300),
        window_manager=manager,
        view_layer=bpy.context.view_layer,
    )
    cls = getattr(panels, panel)
    shown = SimpleNamespace(layout=Layout(), bl_label=cls.bl_label)
    cls.draw(shown, context) if panel != "IKCORE_PT_feet_pelvis" else panels._Options.draw(shown, context)
    return shown.layout


def test_what_is_in_sight_by_default(tmp_path):
    """Ground, the button, then six options with the ground; all else is in panels that are closed."""
    walks.walk(tmp_path)
    layout = drawn()
    options = ["ground", "contacts", "lock", "follow_slope", "pelvis", "forward_motion"]
    assert layout.shown == [options[0], "ikcore_foot_trails", *options[1:]]
    buttons = [("ikcore.bake_feet", True), *[("ikcore.place_legs", True)] * 2, ("ikcore.detect_contacts", True)]
    assert layout.buttons == buttons
    assert layout.labels == []
    below = [each for each in panels.CLASSES if getattr(each, "bl_parent_id", None) == "IKCORE_PT_feet"]
    closed = [each.bl_label for each in below if "DEFAULT_CLOSED" in getattr(each, "bl_options", ())]
    assert closed == ["Feet", "Advanced", "All Actions"]
    assert [each.bl_label for each in below if each.bl_label not in closed] == ["Problem Frames"]
    assert not panels.IKCORE_PT_feet_problems.poll(bpy.context)


def test_the_list_of_feet(tmp_path):
    walks.walk(tmp_path)
    layout = drawn("IKCORE_PT_feet_list")
    assert layout.words() == "Feet are detected automatically"
    assert layout.shown == ["list"]
    bpy.ops.ikcore.detect_feet()
    assert drawn("IKCORE_PT_feet_list").words() == ""


def test_listed_legs_that_ik_moves(tmp_path):
    """The panel says so before the button is pressed."""
    walker = walks.walk(tmp_path)
    walker.pose.bones["LeftLeg"].constraints.new("IK").target = rigs.add_object("Target")
    walker.pose.bones["LeftLeg"].constraints[0].chain_count = 2
    bpy.context.view_layer.objects.active = walker
    assert "Bake IK" not in drawn().words()
    bpy.ops.ikcore.detect_feet()
    told = "LeftUpLeg is moved by IK of LeftLeg, which Bake IK can key: press Bake IK first"
    assert told in drawn().words()
    walker.ikcore_feet.legs["left"].use = False
    assert "Bake IK" not in drawn().words()


def test_no_armature():
    bpy.context.view_layer.objects.active = rigs.add_object("Empty")
    assert (drawn().words(), drawn().buttons) == ("Select an armature", [])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda item: setattr(item.animation_data, "action", None), "walk has no action: assign an animation first"),
        (lambda item: setattr(item.ikcore_feet, "ground", "OBJECTS"), "Choose ground objects"),
        (lambda item: setattr(item.ikcore_feet, "ground", "COLLECTION"), "Choose a ground collection"),
        (lambda item: setattr(item.data, "pose_position", "REST"), "walk is in Rest Position: switch it"),
    ],
)
def test_what_is_in_the_way_stands_before_grey_buttons(spoil, sentence, tmp_path):
    spoil(walks.walk(tmp_path))
    layout = drawn()
    assert sentence in layout.words()
    assert ("ikcore.bake_feet", False) in layout.buttons


@pytest.mark.parametrize(("choice", "fields"), [("EVERY", []), ("STEP", ["key_step"]), ("TOLERANCE", ["max_error"])])
def test_what_is_asked_about_keys(choice, fields, tmp_path):
    walks.walk(tmp_path).ikcore_feet.keys = choice
    shown = drawn("IKCORE_PT_feet_output").shown
    assert "keys" in shown
    assert [name for name in shown if name in ("key_step", "max_error")] == fields


def test_the_report_tells_how_many_keys(tmp_path):
    walks.walk(tmp_path)
    bpy.ops.ikcore.bake_feet(keys="TOLERANCE")
    assert "Keys instead of 61: pelvis" in drawn().words()


def test_the_button_hands_over_what_the_panel_keeps(tmp_path, addon):
    kept = walks.walk(tmp_path).ikcore_feet
    names = walks.steps()
    kept.ground, kept.swing_clearance, kept.key_step = "OBJECTS", 0.07, 3
    for name in names:
        kept.objects.add().object = bpy.data.objects[name]
    kept.objects.add()  # nothing picked yet
    kept.collection = bpy.data.collections.new("Stage")
    for button in ("ikcore.bake_feet", "ikcore.detect_contacts"):
        given = drawn().given[button]
        assert [item.name for item in given.ground_objects] == names
        assert given.ground_collection == kept.collection.name
        for name in addon.feet.options.names():
            if (button, name) == ("ikcore.detect_contacts", "output"):
                continue
            value = getattr(kept, name)
            assert getattr(given, name) == value or list(getattr(given, name)) == list(value), name


def test_every_option_is_in_a_panel_and_in_the_redo_panel(tmp_path, addon):
    kept = walks.walk(tmp_path).ikcore_feet
    kept.frame_range = "CUSTOM"
    shown, redo = set(), set()
    for kept.ground, kept.keys in (("PLANE", "STEP"), ("OBJECTS", "TOLERANCE")):
        for panel in ("feet", "feet_contacts", "feet_pelvis", "feet_legs", "feet_output"):
            shown |= set(drawn(f"IKCORE_PT_{panel}").shown)
        layout = Layout()
        values = {name: getattr(kept, name) for name in addon.feet.options.names()}
        operator = addon.feet.foot_operators.IKCORE_OT_bake_feet
        operator.draw(SimpleNamespace(layout=layout, advanced=operator.advanced, **values), None)
        redo |= set(layout.shown)
    assert set(addon.feet.options.names()) - shown <= {"pelvis_bone"}
    assert set(addon.feet.options.names()) - redo == {"pelvis_bone"}


def test_all_actions(tmp_path, addon):
    """Their names, and a button that hands over all but where to write; grey, with the reason, where there are none."""
    walker = walks.walk(tmp_path)
    walker.animation_data.action.copy().name = "run"
    kept = walker.ikcore_feet
    kept.output, kept.key_step = "NLA", 3
    layout = drawn("IKCORE_PT_feet_actions")
    assert layout.words() == "2 actions: run, walk"
    assert (layout.shown, layout.buttons) == (["pattern"], [("ikcore.bake_feet_actions", True)])
    given = layout.given["ikcore.bake_feet_actions"]
    assert (given.key_step, given.pattern, hasattr(given, "output")) == (3, "", False)
    assert given.ground == "AUTO"
    kept.pattern = "w*"
    assert drawn("IKCORE_PT_feet_actions").words() == "1 action: walk"
    for pattern, ground, sentence in (
        ("x", "AUTO", "No action of walk matches x"),
        ("", "COLLECTION", "Choose a ground collection"),
    ):
        kept.pattern, kept.ground = pattern, ground
        layout = drawn("IKCORE_PT_feet_actions")
        assert (layout.words(), layout.buttons) == (sentence, [("ikcore.bake_feet_actions", False)])


def test_redo_panel_of_all_actions(tmp_path, addon):
    kept = walks.walk(tmp_path).ikcore_feet
    kept.frame_range = "CUSTOM"
    shown = set()
    for kept.ground, kept.keys in (("PLANE", "STEP"), ("OBJECTS", "TOLERANCE")):
        layout = Layout()
        values = {name: getattr(kept, name) for name in (*addon.feet.options.names(), "pattern")}
        operator = addon.feet.foot_operators.IKCORE_OT_bake_feet_actions
        operator.draw(SimpleNamespace(layout=layout, advanced=operator.advanced, **values), None)
        shown |= set(layout.shown)
    assert {*addon.feet.options.names(), "pattern"} - shown == {"pelvis_bone", "output", "from_original"}


def test_redo_panel_of_detect_contacts(tmp_path, addon):
    """It has what decides what is found, and whether edited curves stay: nothing about keys of bones."""
    kept = walks.walk(tmp_path).ikcore_feet
    layout, operator = Layout(), addon.feet.foot_operators.IKCORE_OT_detect_contacts
    values = {name: getattr(kept, name) for name in addon.feet.options.names()}
    operator.draw(SimpleNamespace(layout=layout, **values), None)
    assert layout.shown == ["ground", "replace", "frame_range", "from_original"]
    assert set(layout.shown) <= set(bpy.ops.ikcore.detect_contacts.get_rna_type().properties.keys())


def test_bones_of_the_active_leg(tmp_path):
    walker = walks.walk(tmp_path)
    context = SimpleNamespace(object=walker)
    assert not panels.IKCORE_PT_leg.poll(context)
    bpy.ops.ikcore.detect_feet()
    assert panels.IKCORE_PT_leg.poll(context)
    assert drawn("IKCORE_PT_leg").shown == ["side", "hip", "name", "ankle", "ball", "toe", "pole"]
    bpy.ops.ikcore.detect_sole()
    layout = drawn("IKCORE_PT_leg")
    assert layout.shown[-5:] == ["place"] * 5
    assert [name for name, _ in layout.buttons][-2:] == ["ikcore.detect_sole", "ikcore.edit_feet"]


def test_report(tmp_path, addon):
    """The report belongs to the active action: it disappears and returns with it."""
    walker = walks.walk(tmp_path)
    source = walker.animation_data.action
    bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=-0.6, legs=[{"name": "left"}])
    words = drawn().words()
    told = addon.feet.foot_report.latest(walker)
    before, after = (addon.feet.foot_report.length(value) for value in told.lines[0].slide)
    assert f"Left slide {before} -> {after}" in words
    assert told.lines[0].missed > 10
    assert f"Left out of reach in {told.lines[0].missed} frames" in words
    assert any(text.startswith("left foot does not reach: ") for _, text in told.problems)
    made, walker.animation_data.action = walker.animation_data.action, source
    assert "slide" not in drawn().words()
    walker.animation_data.action = made
    assert "slide" in drawn().words()


@pytest.mark.parametrize(
    ("system", "scale", "words"),
    [
        ("METRIC", 1.0, ["0 mm", "0.1 mm", "4.3 mm", "4.8 cm"]),
        ("METRIC", 0.01, ["0 mm", "0.1 mm", "4.3 mm", "4.8 cm"]),
        ("IMPERIAL", 1.0, ["0 thou", "3.9 thou", "169 thou", '1.9"']),
        ("NONE", 0.01, ["0", "0.0001", "0.0043", "0.048"]),
    ],
)
def test_lengths_as_the_scene_shows_them(addon, system, scale, words):
    """None at all is in the unit of the least; without units the scale does not count."""
    units = bpy.context.scene.unit_settings
    units.system, units.scale_length = system, scale
    scale = 1.0 if system == "NONE" else scale
    assert [addon.feet.foot_report.length(metres / scale) for metres in (3e-5, 6e-5, 0.0043, 0.048)] == words
    assert addon.feet.foot_report.within(3e-5 / scale) == words[1]


def test_presets(tmp_path, addon):
    """Options are written into one and read from it; the list of feet and what they stand on are not."""
    kept = walks.walk(tmp_path).ikcore_feet
    kept.swing_clearance, kept.keys, kept.plane_normal, kept.pattern = 0.07, "TOLERANCE", (0, 1, 0), "Walk*"
    assert bpy.ops.ikcore.add_feet_preset(name="High") == {"FINISHED"}
    (path,) = bpy.utils.preset_paths("ikcore/feet")
    (file,) = pathlib.Path(path).iterdir()
    assert file.name == "High.py"
    wanted = {name: str(getattr(kept, name)) for name in addon.feet.options.names()}
    other = walks.walk(tmp_path).ikcore_feet
    assert other.swing_clearance != kept.swing_clearance
    assert bpy.ops.script.execute_preset(filepath=str(file), menu_idname="IKCORE_PT_feet_presets") == {"FINISHED"}
    assert {name: str(getattr(other, name)) for name in addon.feet.options.names()} == wanted
    assert other.pattern == ""
    assert bpy.ops.ikcore.add_feet_preset(name="High", remove_name=True) == {"FINISHED"}
    assert not file.exists()


def test_there_is_one_way_to_presets():
    """Presets are in the header of the panel, and in no redo panel."""
    for name in ("bake_ik", "bake_tracking", "bake_feet", "bake_feet_actions", "bake_pins", "fk_to_ik", "ik_to_fk"):
        assert "PRESET" not in getattr(bpy.ops.ikcore, name).bl_options, name


def test_detect_feet_of_all_that_are_selected(tmp_path, capfd):
    """Each gets its own list, or none does: what has no legs is named."""
    first, second = walks.walk(tmp_path), walks.walk(tmp_path)
    for armature in (first, second):
        armature.select_set(True)
    assert bpy.ops.ikcore.detect_feet() == {"FINISHED"}
    assert [[leg.name for leg in each.ikcore_feet.legs] for each in (first, second)] == [["left", "right"]] * 2
    said = capfd.readouterr().out
    assert f"{first.name}: Found left, right" in said
    assert f"{second.name}: Found left, right" in said
    bpy.ops.ikcore.detect_feet(replace=True)
    legless = rigs.figure([("body", None, (0, 0, 1), (0, 0, 2)), ("head", "body", (0, 0, 2), (0, 0, 2.3))])
    rigs.key_pose(legless, np.random.default_rng(1), (1, 10), bones=("body",))
    for armature in (first, second, legless):
        armature.select_set(True)
        armature.ikcore_feet.legs.clear()
    with pytest.raises(RuntimeError, match="No legs found in Figure"):
        bpy.ops.ikcore.detect_feet()
    assert not any(len(each.ikcore_feet.legs) for each in (first, second, legless))
