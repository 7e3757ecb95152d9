# SPDX-License-Identifier: GPL-3.0-or-later
"""How the options of Bake Foot IK are laid out, by group: the same in the sidebar and in the redo panel."""

from .ranges import draw_range


def ground(layout, options):
    """What the feet stand on."""
    layout.prop(options, "ground")
    if options.ground == "PLANE":
        layout.prop(options, "plane_height")
        layout.prop(options, "plane_normal")
    elif options.ground != "FLOOR":
        layout.prop(options, "ground_moves")


def contacts(layout, options):
    """When feet are planted, and how fast."""
    layout.prop(options, "keyed_contacts")
    layout.prop(options, "root_motion")
    layout.prop(options, "denoise")
    layout.prop(options, "fit_strides")
    layout.prop(options, "lock")
    column = layout.column()
    column.active = options.lock
    for name in ("tolerance", "unlock", "blend"):
        column.prop(options, name)


def pelvis(layout, options):
    """Where the body goes."""
    layout.prop(options, "pelvis")
    layout.prop(options, "limit_pelvis")
    column = layout.column(align=True)
    column.active = options.limit_pelvis
    column.prop(options, "lift")
    column.prop(options, "drop")
    layout.prop(options, "shift")
    layout.prop(options, "auto_tilt")
    column = layout.column()
    column.active = not options.auto_tilt
    column.prop(options, "tilt")


def legs(layout, options):
    """What feet, toes and knees may do."""
    for name in ("clearance", "align", "pitch", "roll", "toe", "straight"):
        layout.prop(options, name)


def output(layout, options):
    """Which frames, how much, and where to."""
    draw_range(layout, options)
    for name in ("restart", "weight", "output"):
        layout.prop(options, name)
    _keys(layout, options)
    layout.prop(options, "mark")


def _keys(layout, options):
    layout.prop(options, "keys")
    if options.keys != "EVERY":
        layout.prop(options, "key_step" if options.keys == "STEP" else "key_tolerance")


def copies(layout, options):
    """The same of many actions: which, how much, and with how many keys."""
    layout.prop(options, "pattern")
    draw_range(layout, options)
    layout.prop(options, "weight")
    _keys(layout, options)
    layout.prop(options, "mark")


def detection(layout, options):
    """What to find contacts in, and whether edited curves stay."""
    layout.prop(options, "replace")
    draw_range(layout, options)
    layout.prop(options, "restart")


GROUPS = {"Ground": ground, "Contacts": contacts, "Pelvis": pelvis, "Legs": legs, "Output": output}
