"""What the panels about feet say, drawn into a layout that only remembers."""

import importlib
import pathlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
import walks
from conftest import EXTENSION
from test_panel import Layout

panels = importlib.import_module(EXTENSION + ".foot_panels")


class Recorder(Layout):
    """Also remembers which properties were shown, and what buttons are given."""

    def __init__(self):
        super().__init__()
        self.shown, self.given = [], {}

    def prop(self, _, name, **__):
        self.shown.append(name)

    def prop_search(self, _, name, *__, **___):
        self.shown.append(name)

    def template_list(self, *_, **__):
        self.shown.append("list")

    def separator(self):
        pass

    def operator(self, name, **_):
        super().operator(name)
        self.given[name] = Given(name)
        return self.given[name]


class Given:
    """What a button is given: takes the properties of its operator, and no others."""

    def __init__(self, name):
        items = type("Names", (list,), {"add": lambda self: self.append(SimpleNamespace()) or self[-1]})
        operator = getattr(bpy.ops.ikcore, name.partition(".")[2])
        for each in operator.get_rna_type().properties:
            self.__dict__[each.identifier] = items() if each.type == "COLLECTION" else None

    def __setattr__(self, name, value):
        assert name in self.__dict__
        self.__dict__[name] = value


def test_options_changed_in_the_redo_panel_are_in_the_sidebar(tmp_path):
    """The next press of the button does what was seen last, not what the button did."""
    cls = importlib.import_module(EXTENSION + ".foot_operators").IKCORE_OT_bake_feet
    options = importlib.import_module(EXTENSION + ".options")
    kept = walks.walk(tmp_path).ikcore_feet
    request = SimpleNamespace(**{name: getattr(kept, name) for name in options.names()})
    request.clearance, request.output, request.frame_range = 0.05, "OVERWRITE", "SCENE"
    request.asked, request.steps, request.refuse = lambda _: None, lambda *_: iter(()), lambda _: {"CANCELLED"}
    for repeated in (False, True):
        request.options = SimpleNamespace(is_repeat=repeated)
        assert cls.execute(request, bpy.context) == {"FINISHED"}
        chosen = (round(kept.clearance, 5), kept.output, kept.frame_range)
        assert chosen == ((0.05, "OVERWRITE", "SCENE") if repeated else (0.02, "NEW", "ACTION"))


def test_lengths_show_their_unit():
    """And durations, angles: whatever is no share and no count. Metres of a leg are none of the scene's units."""
    for name, prop in _numbers().items():
        of_a_leg = "for a leg of 0.87 m" in prop.description
        assert prop.name.endswith(" (m)") == of_a_leg, name
        assert (prop.unit != "NONE") != (of_a_leg or prop.subtype in {"FACTOR", "DIRECTION"}), name


def _numbers():
    rna = bpy.ops.ikcore.bake_feet.get_rna_type()
    return {prop.identifier: prop for prop in rna.properties if prop.type == "FLOAT"}


def test_frames_to_look_at_are_buttons(tmp_path):
    """Every one of them, and a click goes there."""
    walker = walks.walk(tmp_path)
    shown = panels.IKCORE_PT_feet_problems
    assert not shown.poll(bpy.context)
    bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=-0.6, legs=[{"name": "left"}])
    told = panels.report.latest(walker)
    assert told.problems[0] == (1, "left does not reach")
    told.problems = [(frame, "left sinks") for frame in range(2, 50, 2)]
    long = "lower is off by up to 15 cm and 8.3° in frame 55: upper has a locked IK axis or an IK limit"
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
    assert buttons[: len(short)] == [(f"{at}: {what}", at) for at, what in short]
    assert len(buttons[len(short) :]) > 1, "a long one takes some lines"
    assert {at for _, at in buttons[len(short) :]} == {55}
    assert " ".join(text for text, _ in buttons[len(short) :]) == f"55: {long.replace(' in frame 55', '')}"
    bpy.context.scene.frame_set(1)
    assert bpy.ops.ikcore.show_frame(frame=given[-1][2].frame) == {"FINISHED"}
    assert bpy.context.scene.frame_current == told.problems[-1][0]


def test_a_pose_to_start_from_is_nothing_to_look_at(tmp_path):
    """Captures begin with a T-pose, which is no mistake of the bake; what follows is told as ever."""
    walker = walks.walk(tmp_path)

    def problems():
        bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=-0.6, legs=[{"name": "left"}])
        return panels.report.latest(walker).problems

    assert (1, "left does not reach") in problems()
    walker.animation_data.action = bpy.data.actions["walk"]
    for curve in walker.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        if "UpLeg" in curve.data_path and curve.array_index == 0:
            curve.keyframe_points[0].co.y += 0.8
    told = problems()
    assert (3, "left does not reach") in told
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
    shown = SimpleNamespace(layout=Recorder(), bl_label=cls.bl_label)
    cls.draw(shown, context) if panel != "IKCORE_PT_feet_pelvis" else panels._Options.draw(shown, context)
    return shown.layout


def test_no_armature():
    bpy.context.view_layer.objects.active = rigs.add_object("Empty")
    assert (drawn().words(), drawn().buttons) == ("Select an armature", [])


def test_ready(tmp_path):
    walks.walk(tmp_path)
    layout = drawn()
    assert "Empty: the bake finds the feet" in layout.words()
    assert ("ikcore.bake_feet", True) in layout.buttons
    assert [name for name, _ in layout.buttons][-2:] == ["ikcore.detect_contacts", "ikcore.bake_feet"]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda item: setattr(item.animation_data, "action", None), "walk has no action: give it an animation first"),
        (lambda item: setattr(item.ikcore_feet, "ground", "OBJECTS"), "Pick objects to stand on"),
        (lambda item: setattr(item.ikcore_feet, "ground", "COLLECTION"), "Pick a collection to stand on"),
        (lambda item: setattr(item.data, "pose_position", "REST"), "walk is in Rest Position: switch it"),
    ],
)
def test_what_is_in_the_way_stands_before_grey_buttons(spoil, sentence, tmp_path):
    spoil(walks.walk(tmp_path))
    layout = drawn()
    assert sentence in layout.words()
    assert ("ikcore.bake_feet", False) in layout.buttons


@pytest.mark.parametrize(
    ("choice", "fields"), [("EVERY", []), ("STEP", ["key_step"]), ("TOLERANCE", ["max_error"])]
)
def test_what_is_asked_about_keys(choice, fields, tmp_path):
    walks.walk(tmp_path).ikcore_feet.keys = choice
    shown = drawn("IKCORE_PT_feet_output").shown
    assert "keys" in shown
    assert [name for name in shown if name.startswith("key_")] == fields


def test_the_report_tells_how_many_keys(tmp_path):
    walks.walk(tmp_path)
    bpy.ops.ikcore.bake_feet(keys="TOLERANCE")
    assert "Keys instead of 61: pelvis" in drawn().words()


def test_the_button_hands_over_what_the_panel_keeps(tmp_path, addon):
    kept = walks.walk(tmp_path).ikcore_feet
    names = walks.steps()
    kept.ground, kept.clearance, kept.key_step = "OBJECTS", 0.07, 3
    for name in names:
        kept.objects.add().object = bpy.data.objects[name]
    kept.objects.add()  # nothing picked yet
    kept.collection = bpy.data.collections.new("Stage")
    for button in ("ikcore.bake_feet", "ikcore.detect_contacts"):
        given = drawn().given[button]
        assert [item.name for item in given.ground_objects] == names
        assert given.ground_collection == kept.collection.name
        for name in addon.options.names():
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
        layout = Recorder()
        values = {name: getattr(kept, name) for name in addon.options.names()}
        operator = addon.foot_operators.IKCORE_OT_bake_feet
        operator.draw(SimpleNamespace(layout=layout, groups=operator.groups, **values), None)
        redo |= set(layout.shown)
    assert set(addon.options.names()) - shown <= {"pelvis_bone"}
    assert set(addon.options.names()) - redo == {"pelvis_bone"}


def test_all_actions(tmp_path, addon):
    """Their names, and a button that hands over all but where to write; grey, with the reason, where there are none."""
    walker = walks.walk(tmp_path)
    walker.animation_data.action.copy().name = "run"
    kept = walker.ikcore_feet
    kept.output, kept.key_step = "NLA", 3
    layout = drawn("IKCORE_PT_feet_actions")
    assert layout.words() == "2 to bake: run, walk"
    assert (layout.shown, layout.buttons) == (["pattern"], [("ikcore.bake_feet_actions", True)])
    given = layout.given["ikcore.bake_feet_actions"]
    assert (given.key_step, given.pattern, hasattr(given, "output")) == (3, "", False)
    assert given.ground == "AUTO"
    kept.pattern = "w*"
    assert drawn("IKCORE_PT_feet_actions").words() == "1 to bake: walk"
    for pattern, ground, sentence in (
        ("x", "AUTO", "No action of walk is called x"),
        ("", "COLLECTION", "Pick a collection to stand on"),
    ):
        kept.pattern, kept.ground = pattern, ground
        layout = drawn("IKCORE_PT_feet_actions")
        assert (layout.words(), layout.buttons) == (sentence, [("ikcore.bake_feet_actions", False)])


def test_redo_panel_of_all_actions(tmp_path, addon):
    kept = walks.walk(tmp_path).ikcore_feet
    kept.frame_range = "CUSTOM"
    shown = set()
    for kept.ground, kept.keys in (("PLANE", "STEP"), ("OBJECTS", "TOLERANCE")):
        layout = Recorder()
        values = {name: getattr(kept, name) for name in (*addon.options.names(), "pattern")}
        operator = addon.foot_operators.IKCORE_OT_bake_feet_actions
        operator.draw(SimpleNamespace(layout=layout, groups=operator.groups, **values), None)
        shown |= set(layout.shown)
    assert {*addon.options.names(), "pattern"} - shown == {"pelvis_bone", "output", "restart"}


def test_redo_panel_of_detect_contacts(tmp_path, addon):
    """It has what decides what is found, and whether edited curves stay: nothing about keys of bones."""
    kept = walks.walk(tmp_path).ikcore_feet
    layout, operator = Recorder(), addon.foot_operators.IKCORE_OT_detect_contacts
    values = {name: getattr(kept, name) for name in addon.options.names()}
    operator.draw(SimpleNamespace(layout=layout, groups=operator.groups, **values), None)
    assert layout.shown == ["ground", "replace", "frame_range", "restart"]
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
    """Of what plays now: gone with the action, and back with it."""
    walker = walks.walk(tmp_path)
    source = walker.animation_data.action
    bpy.ops.ikcore.bake_feet(ground="PLANE", plane_height=-0.6, legs=[{"name": "left"}])
    words = drawn().words()
    told = addon.report.latest(walker)
    before, after = (addon.report.length(value) for value in told.lines[0].slide)
    assert f"left slide: {before} to {after}" in words
    assert told.lines[0].missed > 10
    assert f"does not reach in {told.lines[0].missed} frames" in words
    assert "left does not reach" in [text for _, text in told.problems]
    assert all(f"{name} " in words for name in told.times)
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
    assert [addon.report.length(metres / scale) for metres in (3e-5, 6e-5, 0.0043, 0.048)] == words
    assert addon.report.within(3e-5 / scale) == words[1]


def test_presets(tmp_path, addon):
    """Options are written into one and read from it; the list of feet and what they stand on are not."""
    kept = walks.walk(tmp_path).ikcore_feet
    kept.clearance, kept.keys, kept.plane_normal, kept.pattern = 0.07, "TOLERANCE", (0, 1, 0), "Walk*"
    assert bpy.ops.ikcore.add_feet_preset(name="High") == {"FINISHED"}
    (path,) = bpy.utils.preset_paths("ikcore/feet")
    (file,) = pathlib.Path(path).iterdir()
    assert file.name == "High.py"
    wanted = {name: str(getattr(kept, name)) for name in addon.options.names()}
    other = walks.walk(tmp_path).ikcore_feet
    assert other.clearance != kept.clearance
    assert bpy.ops.script.execute_preset(filepath=str(file), menu_idname="IKCORE_PT_feet_presets") == {"FINISHED"}
    assert {name: str(getattr(other, name)) for name in addon.options.names()} == wanted
    assert other.pattern == ""
    assert bpy.ops.ikcore.add_feet_preset(name="High", remove_name=True) == {"FINISHED"}
    assert not file.exists()


def test_operators_keep_presets_of_what_any_file_has():
    for name in ("bake_ik", "bake_tracking", "bake_feet", "bake_feet_actions", "bake_pins", "fk_to_ik", "ik_to_fk"):
        operator = getattr(bpy.ops.ikcore, name)
        assert "PRESET" in operator.bl_options, name
        rna = operator.get_rna_type().properties
        assert all(rna[each].is_skip_preset for each in ("legs", "ground_objects", "ground_collection") if each in rna)


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
