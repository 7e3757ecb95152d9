# SPDX-License-Identifier: GPL-3.0-or-later
"""IK Core for Blender: entry point of the extension.

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

limbs.py       finds IK, and reasons why it cannot be baked
shown.py       the pose displayed by Blender's solver, as keys
anew.py        two-bone limbs re-solved: sample.py (limbs to arrays) and solve.py (the IK constraint in closed form)
freed.py       reads and writes bones without their constraints, for the solvers:
chains.py      chains by a method, with bent.py and the limits of ik_limits.py;  tracks.py  aim constraints
bake.py        from IK to keys, in one of these ways;  few.py  key reduction within a tolerance
operators.py   Bake IK, Bake Tracking;  panels.py  its panel in the sidebar;  last.py  report of the last run

controls.py    IK targets and poles, and the keys that move them
from_fk.py     keys of targets and poles from those of bones;  fk_operators.py  IK from FK
rigify.py      limbs that a rig switches between FK and IK;  switching.py  matching one to the other, both ways
fk_panels.py   the panel of both

legs.py        the list of legs of an armature;  contacts.py  contact curves
foot_switches.py  legs that a rig switches between FK and IK;  foot_controls.py  keys of their IK controls
options.py     options of Bake Foot IK;  layouts.py  their layout
foot_job.py    the settings of a bake by value, or the reason why it is impossible
feet.py        from legs to keys, partly in a thread (background.py);  report.py  results
keys.py        which keys are written;  reduce.py  key reduction within a tolerance. Without bpy
nla.py         a bake as a strip above the action;  foot_batch.py  bakes of many actions
pins.py        pinned bones;  bent.py  solves them with methods of the library;  knees.py  bend directions of knees
live.py        solves pins while they are dragged
pin_bake.py    bakes pins to keys;  pin_operators.py  Pin, Hold Live, Bake Pins;  pin_panels.py  their panel
trails.py      foot paths and contacts as arrays;  overlay.py  in the viewport;  paint.py  drawing
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
    operators,
    options,
    overlay,
    panels,
    pin_operators,
    pin_panels,
    pins,
    presets,
)

CLASSES = (
    *legs.CLASSES,
    *options.CLASSES,
    operators.IKCORE_OT_bake_ik,
    operators.IKCORE_OT_bake_tracking,
    *fk_operators.CLASSES,
    *presets.CLASSES,
    *foot_operators.CLASSES,
    *foot_panels.CLASSES,
    panels.IKCORE_PT_bake_ik,
    panels.IKCORE_PT_ik_problems,
    *fk_panels.CLASSES,
    *pins.CLASSES,
    *pin_operators.CLASSES,
    *pin_panels.CLASSES,
)
KEPT = {"ikcore_feet": options.IKCORE_PG_feet, "ikcore_pins": pins.IKCORE_PG_pins}  # properties of every object


def register():
    """Enable the extension. If the library cannot be used, its operators are greyed out."""
    bridge.load(bpy.utils.user_resource("EXTENSIONS"))
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for name, group in KEPT.items():
        kept = bpy.props.PointerProperty(type=group, override={"LIBRARY_OVERRIDABLE"})  # type: ignore[func-returns-value]
        setattr(bpy.types.Object, name, kept)
    overlay.register()
    bpy.app.timers.register(bridge.load_rest, first_interval=1.0, persistent=True)  # Blender has started by then


def unregister():
    """Disable the extension."""
    if bpy.app.timers.is_registered(bridge.load_rest):
        bpy.app.timers.unregister(bridge.load_rest)
    overlay.unregister()
    live.leave()
    for name in KEPT:
        delattr(bpy.types.Object, name)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
