# SPDX-License-Identifier: GPL-3.0-or-later
"""IK Core for Blender: registration of the extension.

bridge.py    the only module that imports the library ikcore. Without bpy
rig/         the armature: bones, inheritance, rotations, Rigify's limbs, IK limits, skin
animation/   actions, curves, cycles, NLA strips, frames of the scene, clips, key reduction
feet/        Bake Foot IK: legs, ground, contacts, options, bake, report, trails; Place Legs on Ground
limbs/       Bake IK and Bake Tracking: constraints, solvers, keys, verification
fk/          FK <-> IK: keys of IK controls from FK, and back
pins/        Pins: a body solved for pinned bones, live or as keys
ui/          work in the background, handlers, the menu, kinds of properties, reports of the last runs
"""

import bpy

from . import bridge
from .feet import foot_operators, foot_panels, legs, options, overlay, placement_operators, presets
from .fk import fk_operators, fk_panels
from .limbs import operators, panels, solvers
from .pins import interactive, pin_operators, pin_panels
from .pins import pins as pin_settings  # not "pins", the name of the folder
from .ui import menus

CLASSES = (
    *legs.CLASSES,
    *options.CLASSES,
    *solvers.CLASSES,
    operators.IKCORE_OT_bake_ik,
    operators.IKCORE_OT_bake_tracking,
    *fk_operators.CLASSES,
    *presets.CLASSES,
    *foot_operators.CLASSES,
    *placement_operators.CLASSES,
    *foot_panels.CLASSES,
    *panels.CLASSES,
    *fk_panels.CLASSES,
    *pin_settings.CLASSES,
    *pin_operators.CLASSES,
    *pin_panels.CLASSES,
    *menus.CLASSES,
)
KEPT = {  # with every object
    "ikcore_feet": options.IKCORE_PG_feet,
    "ikcore_ik": solvers.IKCORE_PG_ik,
    "ikcore_pins": pin_settings.IKCORE_PG_pins,
}


def register():
    """Enable the extension. If the library cannot be used, its operators are greyed out."""
    bridge.load(bpy.utils.user_resource("EXTENSIONS"))
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for name, group in KEPT.items():
        kept = bpy.props.PointerProperty(type=group, override={"LIBRARY_OVERRIDABLE"})  # type: ignore[func-returns-value]
        setattr(bpy.types.Object, name, kept)
    overlay.register()
    menus.register()
    bpy.app.timers.register(bridge.load_rest, first_interval=1.0, persistent=True)  # Blender has started by then


def unregister():
    """Disable the extension."""
    if bpy.app.timers.is_registered(bridge.load_rest):
        bpy.app.timers.unregister(bridge.load_rest)
    menus.unregister()
    overlay.unregister()
    interactive.leave()
    for name in KEPT:
        delattr(bpy.types.Object, name)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
