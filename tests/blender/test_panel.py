"""The text of the panel, drawn into a layout that records labels and buttons."""

import importlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import rigs
from conftest import EXTENSION

panels = importlib.import_module(EXTENSION + ".panels")


class Layout:
    """Stands in for bpy's layout: every row, column and box is the same."""

    def __init__(self):
        self.labels, self.buttons, self.enabled = [], [], True

    def column(self, **_):
        return self

    row = box = column

    def label(self, text="", icon=""):
        self.labels.append((text, icon))

    def operator(self, name, text=None, **_):
        self.buttons.append((text or name, self.enabled))
        return SimpleNamespace()

    def words(self):
        return " ".join(text for text, _ in self.labels)


def drawn():
    context = SimpleNamespace(
        object=bpy.context.object, view_layer=bpy.context.view_layer, region=SimpleNamespace(width=300)
    )
    panel = SimpleNamespace(layout=Layout())
    panels.IKCORE_PT_bake_ik.draw(panel, context)
    return panel.layout


def test_a_limb_that_can_be_baked():
    leg = rigs.leg()
    layout = drawn()
    assert layout.labels == [
        ("upper - lower", "CHECKBOX_HLT"),
        ("Target: Leg target", "CON_KINEMATIC"),
        ("Pole: Leg pole", "EMPTY_AXIS"),
    ]
    assert layout.buttons == [("ikcore.bake_ik", True), ("Solve Anew", True), ("Chains Anew", True)]
    rigs.select(leg)
    layout = drawn()
    assert layout.labels == [("upper - lower", "CHECKBOX_DEHLT"), ("Select a bone of a chain", "INFO")]
    assert layout.buttons == [("ikcore.bake_ik", False), ("Solve Anew", False), ("Chains Anew", False)]


def test_the_reason_stands_before_the_button():
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].target = None
    layout = drawn()
    assert "IK of lower has no target" in layout.words()
    assert ("upper - lower", "CHECKBOX_HLT") in layout.labels
    assert layout.buttons == [("ikcore.bake_ik", False), ("Solve Anew", False), ("Chains Anew", False)]


def test_what_is_not_baked_by_the_closed_form():
    """A sentence says why, and the other buttons work."""
    rigs.leg().pose.bones["lower"].lock_ik_x = True
    layout = drawn()
    assert "Solve Anew: lower has a locked IK axis: unlock it to solve this limb anew" in layout.words()
    assert layout.buttons == [("ikcore.bake_ik", True), ("Solve Anew", False), ("Chains Anew", True)]


def test_a_draw_reads_the_curves_once(addon, monkeypatch):
    """Thousands of curves take milliseconds to read: not once for each limb, and with nothing worked out for each."""
    actions = addon.limbs.actions
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


def test_longer_chains_can_be_solved_anew():
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].chain_count = 3
    bpy.ops.object.mode_set(mode="OBJECT")
    assert drawn().buttons == [("ikcore.bake_ik", True), ("Solve Anew", False), ("Chains Anew", True)]


def test_longer_chains_show_when_selected():
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].chain_count = 3
    assert "moves 3 bones" in drawn().words()
    rigs.select(leg)
    assert "No IK selected" in drawn().words()
    bpy.ops.object.mode_set(mode="OBJECT")
    layout = drawn()
    assert "hips - upper - lower" in layout.words()
    assert "moves 3 bones" in layout.words()
    assert layout.buttons == [("ikcore.bake_ik", True), ("Solve Anew", False), ("Chains Anew", True)]


def test_no_ik_at_all():
    """Nothing to select where none is switched on."""
    leg = rigs.leg()
    leg.pose.bones["lower"].constraints[0].mute = True
    muted = "All IK of Leg is muted, as a bake leaves it: unmute what is to be baked again"
    assert drawn().words() == muted
    bpy.ops.object.mode_set(mode="OBJECT")
    assert drawn().words() == muted
    with pytest.raises(RuntimeError, match=muted):
        bpy.ops.ikcore.bake_ik()
    leg.pose.bones["lower"].constraints.remove(leg.pose.bones["lower"].constraints[0])
    assert drawn().words() == "No IK of Leg is switched on"


def test_a_rig_with_a_switch_says_where_its_controls_get_keys():
    leg = rigs.leg()
    assert "FK from IK" not in drawn().words()
    leg.pose.bones["hips"]["IK_FK"] = 1.0
    assert "This rig switches limbs by IK_FK: FK from IK" in drawn().words()


def test_a_control_of_such_a_rig_is_no_bone_of_its_ik():
    leg = rigs.leg()
    rigs.add_control(leg, "foot_ik", (0, 0, 3))
    rigs.select(leg, "foot_ik")
    leg.data.bones.active = leg.data.bones["foot_ik"]
    assert drawn().words() == "upper - lower Select a bone of a chain"
    leg.pose.bones["hips"]["IK_FK"] = 1.0
    assert "foot_ik is a control, and no bone of the IK above" in drawn().words()
    assert "Select a bone of a chain" not in drawn().words()


@pytest.mark.parametrize(
    ("name", "option", "chosen", "text"),
    [
        ("ik_from_fk", "frame_range", "FRAME", "The pose that is shown, alone"),
        ("fk_from_ik", "frame_range", "FRAME", "The pose that is shown, alone"),
        ("bake_ik", "way", "ANEW", "Two-bone limbs in closed form"),
        ("bake_ik", "way", "CHAINS", "Chains of any length"),
        ("bake_tracking", "way", "AIMS", "Damped Track, Track To and Locked Track in closed form"),
    ],
)
def test_buttons_of_one_operator_have_tooltips_of_their_own(name, option, chosen, text):
    cls = getattr(bpy.types, f"IKCORE_OT_{name}")
    kind = getattr(bpy.ops.ikcore, name).get_rna_type()
    properties = SimpleNamespace(bl_rna=kind, **{option: kind.properties[option].default})
    assert cls.description(bpy.context, properties) == cls.__doc__
    setattr(properties, option, chosen)
    assert cls.description(bpy.context, properties).startswith(text)


@pytest.mark.parametrize(("name", "more"), [("ik_from_fk", ["switch", "rigid"]), ("fk_from_ik", ["switch"])])
def test_options_of_switches_show_where_there_is_one(name, more):
    cls = getattr(importlib.import_module(EXTENSION + ".fk_operators"), f"IKCORE_OT_{name}")
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
    assert len([text for text, _ in drawn().labels if text == "upper - lower"]) == 1
    bpy.data.objects["Leg"].select_set(True)
    assert bpy.context.object == leg
    assert len([text for text, _ in drawn().labels if text == "upper - lower"]) == 2


def test_no_armature():
    bpy.context.view_layer.objects.active = rigs.add_object("Empty")
    layout = drawn()
    assert layout.words() == "Select an armature"
    assert layout.buttons == []


def test_problem_with_the_library(addon, monkeypatch):
    rigs.leg()
    monkeypatch.setattr(addon.bridge, "_problem", "This extension was built for another machine")
    assert "This extension was built for another machine" in drawn().words()
    assert not bpy.ops.ikcore.bake_ik.poll()
