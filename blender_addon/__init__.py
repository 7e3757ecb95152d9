# SPDX-License-Identifier: GPL-3.0-or-later
"""IK Core for Blender: the extension's front door.

bridge.py      the library ikcore, and a sentence when it cannot be used. Without bpy
armatures.py   what moves an armature, and why it cannot be baked
actions.py     slotted actions: what their curves say, copies of them, new keys
stage.py       goes through the frames of the scene and puts back what that moves
rotations.py   rotations as channels want them over time. Without bpy

clips.py       an armature and its action as a clip in world space, on joints.py and hang.py (inheritance)
channels.py    a clip back to channels
follow.py      whether what is seen of a character goes where its legs go;  effect.py  whether it does after a bake
ground.py      objects of the scene as a ground;  skin.py  which vertices follow which joint

ranges.py      which frames to bake

limbs.py       finds IK and says why it cannot be baked
shown.py       what Blender's solver shows, as keys
anew.py        limbs solved anew: sample.py (limbs to arrays) and solve.py (the IK constraint in closed form)
bake.py        from IK to keys, in one of these two ways
operators.py   Bake IK;  panels.py  its panel in the sidebar

legs.py        the list of legs of an armature;  contacts.py  when they are planted, as curves
options.py     what can be chosen about Bake Foot IK;  layouts.py  how that is shown
foot_job.py    what is asked, by value, or why it cannot be done
feet.py        from legs to keys, partly in a thread (background.py);  report.py  how it went
keys.py        which of them are written;  reduce.py  as few as a tolerance allows. Without bpy
nla.py         a bake as a strip above the action;  foot_batch.py  bakes of many actions
trails.py      where feet go and are planted, as arrays;  overlay.py  in the viewport;  paint.py  how they look
foot_operators.py  Bake Foot IK, Bake All Actions, Detect Feet, Soles and Contacts;  foot_panels.py  their panels
"""

import bpy

from . import bridge, foot_operators, foot_panels, legs, operators, options, overlay, panels

CLASSES = (
    *legs.CLASSES,
    *options.CLASSES,
    operators.IKCORE_OT_bake_ik,
    *foot_operators.CLASSES,
    *foot_panels.CLASSES,
    panels.IKCORE_PT_bake_ik,
)


def register():
    """Switch the extension on; a library that cannot be used only greys it out."""
    bridge.load(bpy.utils.user_resource("EXTENSIONS"))
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    kept = bpy.props.PointerProperty(  # type: ignore[func-returns-value]
        type=options.IKCORE_PG_feet, override={"LIBRARY_OVERRIDABLE"}
    )
    bpy.types.Object.ikcore_feet = kept  # type: ignore[attr-defined]
    overlay.register()


def unregister():
    """Switch the extension off."""
    overlay.unregister()
    del bpy.types.Object.ikcore_feet  # type: ignore[attr-defined]
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
