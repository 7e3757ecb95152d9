"""Switching the extension on and off."""

import sys
import threading

import addon_utils
import bpy
from conftest import EXTENSION


def _registered():
    """Registrations that an extension could leave in a running Blender."""
    handlers = {
        name: list(found)
        for name in dir(bpy.app.handlers)
        if isinstance(found := getattr(bpy.app.handlers, name), list)
    }
    owners = (bpy.types.Scene, bpy.types.WindowManager, bpy.types.Object, bpy.types.PoseBone, bpy.types.Action)
    properties = {owner.__name__: sorted(owner.bl_rna.properties.keys()) for owner in owners}
    names = [name for name in dir(bpy.types) if "ikcore" in name.lower()]
    operators = [name for name in dir(bpy.ops) if "ikcore" in name and dir(getattr(bpy.ops, name))]
    keymaps = bpy.context.window_manager.keyconfigs.addon
    keys = {keymap.name: len(keymap.keymap_items) for keymap in keymaps.keymaps} if keymaps else {}
    return handlers, properties, names, operators, keys, sorted(sys.modules)


def test_three_times_on_and_off_leaves_nothing():
    on = _registered()
    assert {"IKCORE_OT_bake_ik", "IKCORE_PT_bake_ik", "IKCORE_OT_bake_feet", "IKCORE_PT_feet"} <= set(on[2])
    assert "ikcore_feet" in on[1]["Object"]
    assert "ikcore" in on[3]
    addon_utils.disable(EXTENSION)
    off = _registered()
    assert off[2] == off[3] == []
    for _ in range(3):
        addon_utils.enable(EXTENSION)
        assert _registered() == on
        addon_utils.disable(EXTENSION)
        assert _registered() == off
    addon_utils.enable(EXTENSION)


def test_every_property_is_described():
    for name in (
        *("bake_ik", "bake_tracking", "fk_to_ik", "ik_to_fk", "pin", "unpin", "live_pins", "bake_pins"),
        *("bake_feet", "bake_feet_actions", "detect_feet", "detect_contacts", "detect_sole", "edit_feet"),
    ):
        operator = getattr(bpy.ops.ikcore, name).get_rna_type()
        assert operator.description
        _are_tooltips(operator.properties)
    empty = bpy.context.blend_data.objects.new("Empty", None)
    feet, pins = empty.ikcore_feet, empty.ikcore_pins
    for kept in (
        *(feet, feet.legs.add(), feet.legs[0].knees.add(), feet.objects.add()),
        *(empty.ikcore_ik, pins, pins.pins.add()),
    ):
        _are_tooltips(kept.bl_rna.properties)


def _are_tooltips(properties):
    for prop in properties:
        if prop.identifier not in ("rna_type", "bl_rna"):
            _is_tooltip(prop)
            for item in getattr(prop, "enum_items", ()):
                _is_tooltip(item)


def test_library_is_the_one_in_the_zip(addon, archive):
    import ikcore

    assert addon.bridge.problem() is None
    assert addon.bridge.version_of(addon.bridge.bundled_wheels()) == ikcore.__version__
    assert archive.exists()
    assert "site-packages" in ikcore.__file__


def _is_tooltip(item):
    assert item.description, item.identifier
    assert not item.description.endswith("."), item.identifier  # Blender adds it


def test_nothing_is_imported_in_a_thread(addon):
    """Blender enables one add-on after the other, and some go through all modules: Rigify would fail meanwhile."""
    before = set(threading.enumerate())
    addon.bridge.load("")
    assert set(threading.enumerate()) <= before
    assert bpy.app.timers.is_registered(addon.bridge.load_rest)
