# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers of the application: functions that Blender calls on events, such as undo, by the names of its lists."""

import bpy


def listen(on, **calls):
    """Add a function to each of these lists of bpy.app.handlers, or remove it."""
    for name, call in calls.items():
        found = getattr(bpy.app.handlers, name)
        if (call in found) != on:
            (found.append if on else found.remove)(call)
