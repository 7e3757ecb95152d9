# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay of foot trails in the 3D viewport: on and off, and validity of the trails.

The overlay is on while its draw handler is registered. Nothing is stored in a file, and each file starts without it.
"""

import zlib
from dataclasses import dataclass

import bpy
import numpy as np

from ..animation import actions, nla
from ..ui.handlers import listen
from . import contact_curves

NEAR = 1e-4  # relative to the leg length: an object farther from its recorded position has moved
LINEAR = 1  # Blender's numbers of interpolations: constant is 0, linear 1

_kept = {}  # trails by the uids of armatures and their actions, while Blender runs
_handle = None  # the draw handler; None if it is off


@dataclass
class StoredTrails:
    """The trails of an armature with an action, and the state of both at that time."""

    trails: object  # trails.Trails
    curves: int  # checksum of the curves of the action
    unsure: bool = True  # something has changed since the last check
    true: bool = False  # True if the action still has these trails
    picture: object = None  # the last drawing of them


def keep(armature, action, trails):
    """Store the trails of an armature with an action."""
    actions.forget_gone(_kept)
    _kept[armature.session_uid, action.session_uid] = StoredTrails(trails, _checksum(action, trails.bones))


def current(armature):
    """The Kept trails of an armature's active action if they are still valid; or None."""
    action = nla.current_action(armature.animation_data)
    kept = action and _kept.get((armature.session_uid, action.session_uid))
    if not kept:
        return None
    if kept.unsure or not is_on():
        _look(kept, armature, action)
    return kept if kept.true and _in_place(kept.trails, armature, bpy.context.scene.frame_current_final) else None


def _look(kept, armature, action):
    """Check for changed curves: those of contacts update the contacts, those of bones invalidate the trails."""
    kept.true = kept.curves == _checksum(action, kept.trails.bones)
    for key, weight in contact_curves.read(armature, kept.trails.keyed, kept.trails.frames).items():
        held = weight > 0.5
        if not np.array_equal(held, kept.trails.held[key]):
            kept.trails.held[key], kept.picture = held, None
    kept.unsure = False


def _checksum(action, bones):
    """Checksum of the keys of the object and of these bones."""
    prefixes, total = tuple(f'pose.bones["{bpy.utils.escape_identifier(bone)}"]' for bone in bones), 0
    for _, strip in actions.layers_and_strips(action):
        for curve in (curve for bag in strip.channelbags for curve in bag.fcurves):
            path = curve.data_path
            if path.startswith(prefixes) if path.startswith("pose.") else not path.startswith("["):
                total = zlib.crc32(f"{path} {curve.array_index} {curve.mute}".encode(), total)
                total = _keys_checksum(curve.keyframe_points, total)
    return total


def _keys_checksum(keys, total):
    kinds, numbers = np.empty(len(keys), np.int32), np.empty(2 * len(keys), np.float32)
    keys.foreach_get("interpolation", kinds)
    straight = (kinds <= LINEAR).all()  # handles have no effect then, and are skipped because reading them is slow
    for part in ("co",) if straight else ("co", "handle_left", "handle_right"):
        keys.foreach_get(part, numbers)
        total = zlib.crc32(numbers.data, total)
    return zlib.crc32(kinds.data, total)


def _in_place(trails, armature, time):
    """True if the object is at its recorded position; known on whole frames."""
    number = time - trails.frames[0]
    if number % 1 or not 0 <= number < len(trails.frames):
        return True
    then = trails.world[int(number) if len(trails.world) > 1 else 0]
    away = np.abs(np.array(armature.matrix_world) - then)
    return away.max() <= NEAR * trails.legs[0].size


# --- on and off ------------------------------------------------------------------------------------------------------


def is_on():
    """True if trails are drawn."""
    return _handle is not None


def switch(on):
    """Switch the drawing of trails. Nothing happens if Blender has no window."""
    global _handle
    if on == is_on() or _windowless():
        return
    if on:
        _on_change()
        _handle = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")
    else:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
        for kept in _kept.values():
            kept.picture = None
    listen(on, load_pre=_leave, undo_post=_on_change, redo_post=_on_change, depsgraph_update_post=_on_update)
    _redraw()


def _windowless():
    return bpy.app.background


def _leave(*_):
    """Called before another file is opened."""
    switch(False)
    _kept.clear()


def _on_change(*_):
    for kept in _kept.values():
        kept.unsure = True


def _on_update(_, depsgraph=None):
    if any(isinstance(update.id, bpy.types.Action) for update in depsgraph.updates):
        _on_change()


def _redraw():
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def _draw():
    _draw_in(bpy.context)


def _draw_in(context):
    space, scene = context.space_data, context.scene
    if not (_kept and space.overlay.show_overlays):
        return
    from . import overlay_style  # imported here, where there is a window

    armatures = {key[0] for key in _kept}
    for item in filter(None, context.view_layer.objects):  # None stands for an object just removed
        if item.session_uid in armatures and item.visible_get(viewport=space) and (kept := current(item)):
            kept.picture = kept.picture or overlay_style.Picture(kept.trails)
            kept.picture.draw(scene.frame_current_final, context.preferences.system.pixel_size)


def register():
    """Register the switch as a property of the window manager; its value is computed and not stored."""
    shown = bpy.props.BoolProperty(  # type: ignore[func-returns-value]
        name="Foot Trails",
        description="Show the paths and contacts of feet after a bake or Detect Contacts, with the path before the "
        "bake in grey. Not saved with the file",
        get=lambda _: is_on(),
        set=lambda _, on: switch(on),
        options=set(),
    )
    bpy.types.WindowManager.ikcore_foot_trails = shown  # type: ignore[attr-defined]


def unregister():
    """Stop drawing, and forget all trails."""
    switch(False)
    _kept.clear()
    del bpy.types.WindowManager.ikcore_foot_trails  # type: ignore[attr-defined]
