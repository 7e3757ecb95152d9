# SPDX-License-Identifier: GPL-3.0-or-later
"""IK Core for Blender: registration of the extension.

bridge.py      imports the library ikcore, or a sentence why it cannot be used. Without bpy
armatures.py   what animates an armature, and reasons why it cannot be baked
actions.py     slotted actions: values of their curves, copies, new keys
stage.py       visits frames of the scene and restores its state
rotations.py   continuous rotation channels. Without bpy

clips.py       an armature and its action as a clip in world space, on joints.py and hang.py (inheritance)
channels.py    a clip as channels
follow.py      checks that the visible parts of a character follow its legs, or other bones
effect.py      the same check after a bake
ground.py      objects of the scene as a ground;  skin.py  vertices by the joint they follow

ranges.py      frame range of a bake

curves.py      transforms evaluated from curves alone, if nothing else animates them

limbs.py       finds IK and says why it cannot be baked
shown.py       what Blender's solver shows, as keys
anew.py        limbs solved anew: sample.py (limbs to arrays) and solve.py (the IK constraint in closed form)
freed.py       bones without what constrains them, read and written whatever solves them anew:
chains.py      chains by a method, as bent.py has it and ik_limits.py lets bones;  tracks.py  what aims bones
bake.py        from IK to keys, in one of these ways;  few.py  as few of them as a tolerance allows
operators.py   Bake IK, Bake Tracking;  solvers.py  their solvers;  panels.py  their panel in the sidebar
last.py        the reports of the last bakes;  menus.py  the menu of all operators

controls.py    targets and poles, and what keys put them somewhere
from_fk.py     keys of targets and poles from those of bones;  fk_operators.py  FK -> IK, IK -> FK
rigify.py      limbs that a rig switches between FK and IK;  switching.py  keys of one by the other, both ways
fk_panels.py   their panel

legs.py        the list of legs of an armature;  contacts.py  when they are planted, as curves
foot_switches.py  those that a rig switches between FK and IK;  foot_controls.py  keys of their IK controls
options.py     options of Bake Foot IK;  layouts.py  their layouts
foot_job.py    what is asked, by value, or why it cannot be done
feet.py        from legs to keys, partly in a thread (background.py);  report.py  how it went
keys.py        which of them are written;  reduce.py  as few as a tolerance allows. Without bpy
nla.py         a bake as a strip above the action;  foot_batch.py  bakes of many actions
pins.py        bones that are held by others;  bent.py  what methods of the library make of them;  knees.py  which side
               knees bend to
live.py        while they are dragged
pin_bake.py    or as keys;  pin_operators.py  Pin, Live, Bake Pins;  pin_panels.py  their panel
trails.py      where feet go and are planted, as arrays;  overlay.py  in the viewport;  paint.py  how they look
foot_operators.py  Bake Foot IK, Bake All Actions, Detect Feet, Soles and Contacts;  foot_panels.py  their panels,
                   presets.py with presets of their options
"""

import bpy

from . import (
    bridge,
    fk_operators,
    fk_panels,
    foot_operators,
    foot_panels,
    legs,
    live,
    menus,
    operators,
    options,
    overlay,
    panels,
    pin_operators,
    pin_panels,
    pins,
    presets,
    solvers,
)

CLASSES = (
    *legs.CLASSES,
    *options.CLASSES,
    *solvers.CLASSES,
    operators.IKCORE_OT_bake_ik,
    operators.IKCORE_OT_bake_tracking,
    *fk_operators.CLASSES,
    *presets.CLASSES,
    *foot_operators.CLASSES,
    *foot_panels.CLASSES,
    *panels.CLASSES,
    *fk_panels.CLASSES,
    *pins.CLASSES,
    *pin_operators.CLASSES,
    *pin_panels.CLASSES,
    *menus.CLASSES,
)
KEPT = {  # with every object
    "ikcore_feet": options.IKCORE_PG_feet,
    "ikcore_ik": solvers.IKCORE_PG_ik,
    "ikcore_pins": pins.IKCORE_PG_pins,
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
    live.leave()
    for name in KEPT:
        delattr(bpy.types.Object, name)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
