# SPDX-License-Identifier: GPL-3.0-or-later
"""Layouts of the options of Bake Foot IK, shared by the sidebar and the redo panel."""

from ..animation.frame_range import draw_range


def ground(layout, options):
    """The ground that the feet stand on."""
    layout.prop(options, "ground")
    if options.ground == "PLANE":
        layout.prop(options, "plane_height")
        layout.prop(options, "plane_normal")
    elif options.ground != "AUTO":
        layout.prop(options, "ground_moves")


def contact_source(layout, options):
    """Contact curves, or detection alone."""
    layout.row().prop(options, "contacts", expand=True)


def main(layout, options):
    """The options that are always in sight, besides ground and contacts."""
    for name in ("lock", "follow_slope", "pelvis", "forward_motion"):
        layout.prop(options, name)


def output(layout, options):
    """Frames, target action and keys."""
    draw_range(layout, options)
    for name in ("from_original", "influence", "output"):
        layout.prop(options, name)
    _keys(layout, options)
    layout.prop(options, "mark")


def _keys(layout, options):
    layout.prop(options, "keys")
    if options.keys != "EVERY":
        layout.prop(options, "key_step" if options.keys == "STEP" else "max_error")


def contacts(layout, options):
    """Planting of feet, and preparation of the clip."""
    column = layout.column()
    column.active = options.lock
    for name in ("allowed_slide", "unlock_distance", "blend"):
        column.prop(options, name)
    layout.prop(options, "source_floor")
    layout.prop(options, "remove_jitter")
    layout.prop(options, "fit_strides")


def pelvis(layout, options):
    """Limits of the pelvis, and tilt of the body."""
    layout.prop(options, "limit_pelvis")
    column = layout.column(align=True)
    column.active = options.limit_pelvis
    column.prop(options, "max_raise")
    column.prop(options, "max_lower")
    layout.prop(options, "max_shift")
    layout.prop(options, "auto_tilt")
    column = layout.column()
    column.active = not options.auto_tilt
    column.prop(options, "tilt")


def legs(layout, options):
    """Limits of feet, toes and knees."""
    for name in ("swing_clearance", "max_pitch", "max_roll", "max_toe_bend", "max_extension"):
        layout.prop(options, name)


def copies(layout, options):
    """The output of Bake All Actions."""
    layout.prop(options, "pattern")
    draw_range(layout, options)
    layout.prop(options, "influence")
    _keys(layout, options)
    layout.prop(options, "mark")


def detection(layout, options):
    """The options of Detect Contacts."""
    ground(layout, options)
    layout.prop(options, "replace")
    draw_range(layout, options)
    layout.prop(options, "from_original")


ADVANCED = {"Output": output, "Contacts": contacts, "Pelvis": pelvis, "Legs": legs}


def everything(layout, options, advanced):
    """All options in the redo panel: the advanced groups are closed at first."""
    for group in (ground, contact_source, main):
        group(layout.column(), options)
    for name, group in advanced.items():
        header, body = layout.panel(f"ikcore_{name.lower()}", default_closed=True)
        header.label(text=name)
        if body:
            group(body.column(), options)
