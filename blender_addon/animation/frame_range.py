# SPDX-License-Identifier: GPL-3.0-or-later
"""Frame ranges of bakes: the options of operators, and the resulting frames."""

import math

from bpy.props import IntProperty

from ..ui.properties import choice
from . import actions

LAST_FRAME = 1048574  # Blender's largest absolute frame number
RANGES = [
    ("ACTION", "Animation", "From the first to the last key, or the scene range without keys"),
    ("SCENE", "Scene", "The frame range of the scene, or its preview range if enabled"),
    ("CUSTOM", "Custom", "From Start to End"),
]


def frames_choice(*items):
    """Which frames an operator keys."""
    return choice("Frames", "Which frames to key. Keys on other frames are kept", items)


class FrameRange:
    """The frame range of an operator, drawn by `draw_range`."""

    frame_range: frames_choice(*RANGES)
    frame_start: IntProperty(
        name="Start", description="First frame to bake", default=1, min=-LAST_FRAME, max=LAST_FRAME
    )
    frame_end: IntProperty(name="End", description="Last frame to bake", default=250, min=-LAST_FRAME, max=LAST_FRAME)


def draw_range(layout, options):
    """Draw the options of a FrameRange."""
    layout.prop(options, "frame_range")
    if options.frame_range == "CUSTOM":
        column = layout.column(align=True)
        column.prop(options, "frame_start")
        column.prop(options, "frame_end")


def chosen_range(options, scene, objects):
    """The first and the last frame requested for these animated objects, and a reason for failure.

    One of the two is None.
    """
    if options.frame_range == "CUSTOM":
        first, last = options.frame_start, options.frame_end
    elif options.frame_range == "SCENE":
        first, last = scene_range(scene)
    else:
        first, last = animated_range(objects) or scene_range(scene)
    if first > last:
        return None, f"The range ends before it starts: {first} to {last}. Set End to Start or later"
    return (first, last), None


def scene_range(scene):
    """The frames that the scene plays."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def animated_range(objects):
    """Whole frames around all keys of these objects and of their parents.

    None if there are no keys, or all are on one frame: something else may then move the objects.
    """
    everything = {above for item in objects if item is not None for above in _with_parents(item)}
    ranges = [ends for item in everything for ends in _key_ranges(item.animation_data)]
    if not ranges:
        return None
    first, last = math.floor(min(ends[0] for ends in ranges)), math.ceil(max(ends[1] for ends in ranges))
    return (first, last) if first < last else None


def _with_parents(item):
    while item is not None:
        yield item
        item = item.parent


def _key_ranges(animation):
    """Frame range of each curve's keys; for an action with a manual range, that range."""
    curves = actions.curves(animation)
    if curves and animation.action.use_frame_range:
        return [(animation.action.frame_start, animation.action.frame_end)]
    return [curve.range() for curve in curves if len(curve.keyframe_points)]
