"""The text of the panel, drawn into a layout that records labels and buttons."""

import importlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
from conftest import EXTENSION

panels = importlib.import_module(EXTENSION + ".limbs.panels")


class Layout:
    """Stands in for bpy's layout: every row, column, box and panel is the same."""

    def __init__(self):
        self.labels, self.buttons, self.given, self.shown, self.enabled = [], [], {}, [], True

    def column(self, **_):
        return self

    row = box = column

    def panel(self, *_, **__):
        return self, self

    def label(self, text="", icon=""):
        self.labels.append((text, icon))

    def separator(self):
        pass

    def menu(self, name):
        self.buttons.append((name, True))

    def prop(self, _, name, **__):
        self.shown.append(name)

    def prop_search(self, _, name, *__, **___):
        self.shown.append(name)

    def template_list(self, *_, **__):
        self.shown.append("list")

    def operator(self, name, text=None, **_):
        self.buttons.append((text or name, self.enabled))
        self.given[name] = Given(name)
        return self.given[name]

    def words(self):
        return " ".join(text for text, _ in self.labels)


class Given:
    """The properties of a button: takes those of its operator, and no others."""

    def __init__(self, name):
        items = type("Names", (list,), {"add": lambda self: self.append(SimpleNamespace()) or self[-1]})
        operator = getattr(bpy.ops.ikcore, name.partition(".")[2])
        for each in operator.get_rna_type().properties:
            self.__dict__[each.identifier] = items() if each.type == "COLLECTION" else None

    def __setattr__(self, name, value):
        assert name in self.__dict__
        self.__dict__[name] = value


def drawn(panel="IKCORE_PT_bake_ik"):
    context = SimpleNamespace(
        object=bpy.context.object, view_layer=bpy.context.view_layer, region=SimpleNamespace(width=300)
    )
    shown = SimpleNamespace(layout=Layout())
    getattr(panels, panel).draw(shown, context)
    return shown.layout


def solved_by(solver):
    """The panel, with another solver."""
    bpy.context.object.ikcore_ik.solver = solver
    return drawn()


def test_a_limb_that_can_be_baked():
    leg = rigs.leg()
    layout = drawn()
    assert layout.labels == [("1 limb: upper - lower", "CON_KINEMATIC")]
    assert layout.buttons == [("ikcore.bake_ik", True)]
    assert layout.shown == ["solver"], "one option in sight"
    assert layout.given["ikcore.bake_ik"].solver == "DISPLAYED"
    rigs.select(leg)
    layout = drawn()
    assert layout.words() == "No IK selected: select a bone of its chain, its target or its pole"
    assert layout.buttons == [("ikcore.bake_ik", False)]


def test_the_list_of_limbs():
    """Its targets and poles; not selected they are a line without an icon that looks like a check box."""
    leg = rigs.leg()
    assert drawn("IKCORE_PT_limbs").labels == [
        ("upper - lower", "CON_KINEMATIC"),
        ("Target: Leg target", "OBJECT_ORIGIN"),
        ("Pole: Leg pole", "EMPTY_AXIS"),
    ]
    rigs.select(leg)
    assert drawn("IKCORE_PT_limbs").labels == [("upper - lower", "CON_KINEMATIC")]


def test_the_button_has_the_solver_of_the_panel():
    rigs.leg()
    bpy.context.object.ikcore_ik.method = "ccd"
    layout = solved_by("LIBRARY")
    assert layout.shown == ["solver", "method"]
    assert (layout.given["ikcore.bake_ik"].solver, layout.given["ikcore.bake_ik"].method) == ("LIBRARY", "ccd")


def test_a_solver_chosen_in_the_redo_panel_is_in_the_sidebar(addon):
    leg = rigs.leg()
    request = SimpleNamespace(solver="TWO_BONE", stored="solver", make_job=lambda _: None, steps=lambda *_: iter(()))
    for repeated, solver in ((False, "DISPLAYED"), (True, "TWO_BONE")):
        request.options = SimpleNamespace(is_repeat=repeated)
        assert addon.limbs.operators.IKCORE_OT_bake_ik.execute(request, bpy.context) == {"FINISHED"}
        assert leg.ikcore_ik.solver == solver


def test_the_reason_stands_before_the_button():
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].target = None
    layout = drawn()
    assert "IK of lower has no target" in layout.words()
    assert layout.buttons == [("ikcore.bake_ik", False)]


def test_what_is_not_baked_by_the_closed_form():
    """A sentence says why, and with another solver the button works."""
    rigs.leg().pose.bones["lower"].lock_ik_x = True
    layout = solved_by("TWO_BONE")
    assert "lower has a locked IK axis: unlock it, or use the solver As Displayed" in layout.words()
    assert layout.buttons == [("ikcore.bake_ik", False)]
    for solver in ("DISPLAYED", "LIBRARY"):
        assert solved_by(solver).buttons == [("ikcore.bake_ik", True)]


def test_tracking_has_one_button_and_a_solver():
    leg = rigs.leg()
    leg.pose.bones["hips"].constraints.new("DAMPED_TRACK").target = bpy.data.objects["Leg target"]
    leg.ikcore_ik.tracking_solver = "LIBRARY"
    layout = drawn()
    assert layout.shown == ["solver", "tracking_solver"]
    assert [name for name, _ in layout.buttons] == ["ikcore.bake_ik", "ikcore.bake_tracking"]
    assert layout.given["ikcore.bake_tracking"].solver == "LIBRARY"


def test_a_draw_reads_the_curves_once(addon, monkeypatch):
    """Thousands of curves take milliseconds to read: not once for each limb, and with nothing worked out for each."""
    actions = addon.limbs.ik_constraints.actions
    leg = rigs.leg()
    for suffix in (".b", ".c"):
        rigs.add_limb(leg, suffix, at=(0.5, 0, 0))
        rigs.add_ik(leg, suffix, target=bpy.data.objects["Leg target"])
    calls = []
    for name in ("path_of", "curves"):
        real = getattr(actions, name)
        monkeypatch.setattr(actions, name, lambda *a, name=name, real=real: calls.append(name) or real(*a))
    rigs.key_pose(leg, np.random.default_rng(1), (1, 20), bones=["hips"])
    drawn()
    few = calls.copy()
    rigs.key_pose(leg, np.random.default_rng(1), (1, 20), bones=leg.pose.bones.keys())
    calls.clear()
    drawn()
    assert calls == few
    assert calls.count("curves") == 1


def test_longer_chains():
    """They are only listed when they are selected; Exact Two-Bone refuses them."""
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].chain_count = 3
    assert "hips - upper - lower" in drawn().words()
    rigs.select(leg)
    assert "No IK selected" in drawn().words()
    assert drawn("IKCORE_PT_limbs").labels == []
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "hips - upper - lower" in drawn("IKCORE_PT_limbs").words()
    for solver, works in (("DISPLAYED", True), ("TWO_BONE", False), ("LIBRARY", True)):
        layout = solved_by(solver)
        assert layout.buttons == [("ikcore.bake_ik", works)]
        assert ("moves 3 bones: Exact Two-Bone needs a chain length of 2" in layout.words()) == (not works)


def test_no_ik_at_all():
    """Nothing to select where none is switched on."""
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].mute = True
    muted = "All IK of Leg is muted, as after a bake: unmute it to bake it again"
    assert drawn().words() == muted
    bpy.ops.object.mode_set(mode="OBJECT")
    assert drawn().words() == muted
    with pytest.raises(RuntimeError, match=muted):
        bpy.ops.ikcore.bake_ik()
    leg.pose.bones["lower"].constraints.remove(leg.pose.bones["lower"].constraints[0])
    assert drawn().words() == "Leg has no enabled IK constraint"


def test_a_rig_with_a_switch_says_where_its_controls_get_keys():
    leg = rigs.leg()
    assert "IK/FK" not in drawn().words()
    leg.pose.bones["hips"]["IK_FK"] = 1.0
    assert "This rig has IK/FK switches (IK_FK). Use IK -> FK below to key its controls" in drawn().words()


def test_a_control_of_such_a_rig_is_no_bone_of_its_ik():
    leg = rigs.leg()
    rigs.add_control(leg, "foot_ik", (0, 0, 3))
    rigs.select(leg, "foot_ik")
    leg.data.bones.active = leg.data.bones["foot_ik"]
    assert drawn().words().startswith("No IK selected")
    leg.pose.bones["hips"]["IK_FK"] = 1.0
    assert "foot_ik belongs to no IK constraint" in drawn().words()
    assert "No IK selected" not in drawn().words()


@pytest.mark.parametrize("name", ["fk_to_ik", "ik_to_fk"])
def test_this_frame_has_a_tooltip_of_its_own(name):
    cls = getattr(bpy.types, f"IKCORE_OT_{name}")
    kind = getattr(bpy.ops.ikcore, name).get_rna_type()
    properties = SimpleNamespace(bl_rna=kind, frame_range="ACTION")
    assert cls.description(bpy.context, properties) == cls.__doc__
    properties.frame_range = "FRAME"
    assert cls.description(bpy.context, properties).startswith("Key the displayed pose at the current frame")


@pytest.mark.parametrize(("name", "more"), [("fk_to_ik", ["switch", "disable_stretch"]), ("ik_to_fk", ["switch"])])
def test_options_of_switches_show_where_there_is_one(name, more):
    cls = getattr(importlib.import_module(EXTENSION + ".fk.fk_operators"), f"IKCORE_OT_{name}")
    leg, shown = rigs.leg(), []
    layout = SimpleNamespace(prop=lambda _, name: shown.append(name))
    operator = SimpleNamespace(layout=layout, frame_range="ACTION", of_switches=cls.of_switches)
    cls.draw(operator, bpy.context)
    assert shown == ["limbs", "frame_range"]
    leg.pose.bones["hips"]["IK_FK"] = 1.0
    cls.draw(operator, bpy.context)
    assert shown[2:] == ["limbs", "frame_range", *more]


def test_all_selected_armatures_show():
    rigs.leg()
    leg = rigs.leg("Other", at=(2, 0, 0))
    bpy.ops.object.mode_set(mode="OBJECT")
    assert drawn().words() == "1 limb: upper - lower"
    bpy.data.objects["Leg"].select_set(True)
    assert bpy.context.object == leg
    assert drawn().words() == "2 limbs: upper - lower, upper - lower"
    assert len([text for text, _ in drawn("IKCORE_PT_limbs").labels if text == "upper - lower"]) == 2


SAYS_WHY, OTHERS = "IKCORE_PT_feet", ("IKCORE_PT_bake_ik", "IKCORE_PT_fk_ik", "IKCORE_PT_pins")


def shown():
    """The panels that are there."""
    return [name for name in (SAYS_WHY, *OTHERS) if getattr(bpy.types, name).poll(bpy.context)]


def test_one_panel_says_that_there_is_no_armature():
    rigs.leg()
    assert shown() == [SAYS_WHY, *OTHERS]
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = rigs.add_object("Empty")
    assert shown() == [SAYS_WHY]


def test_while_a_pin_is_dragged_its_panel_alone_is_there():
    leg = rigs.leg()
    rigs.select(leg, "tip")
    bpy.ops.ikcore.pin()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = leg.ikcore_pins.pins[0].target
    assert shown() == ["IKCORE_PT_pins"]


def test_problem_with_the_library(addon, monkeypatch):
    """The first panel says it, see test_foot_panel.py."""
    rigs.leg()
    monkeypatch.setattr(addon.bridge, "_problem", "This extension was built for another machine")
    assert shown() == [SAYS_WHY]
    assert not bpy.ops.ikcore.bake_ik.poll()


def test_every_operator_is_found_in_a_menu(addon):
    """In Object > Animation and Pose > Animation, which the menu search (F3) goes through."""
    rigs.leg()
    opened, menu = Layout(), bpy.types.VIEW3D_MT_object_animation
    for draw in menu.draw._draw_funcs:
        if draw.__module__.startswith(EXTENSION):
            draw(SimpleNamespace(layout=opened), bpy.context)
    assert opened.buttons == [("IKCORE_MT_animation", True)]
    addon.ui.menus.IKCORE_MT_animation.draw(SimpleNamespace(layout=opened), bpy.context)
    operators = [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith("IKCORE_OT_")]
    wanted = {each.bl_idname for each in operators if "INTERNAL" not in each.bl_options}
    assert {name for name, _ in opened.buttons[1:]} == wanted - {"ikcore.add_feet_preset"}


def test_the_menu_has_the_options_of_the_panel(addon):
    leg, layout = rigs.leg(), Layout()
    leg.ikcore_feet.swing_clearance = 7
    addon.ui.menus.IKCORE_MT_animation.draw(SimpleNamespace(layout=layout), bpy.context)
    assert layout.given["ikcore.bake_feet"].swing_clearance == 7
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = rigs.add_object("Empty")
    addon.ui.menus.IKCORE_MT_animation.draw(SimpleNamespace(layout=Layout()), bpy.context)
