# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of properties that several options share: choices, factors, angles, lengths of a leg, the limits of keys."""

import math

from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from .. import bridge

EVERY_FRAME = ("EVERY", "Every Frame", "A key on every frame")
FEW_KEYS = ("TOLERANCE", "As Few as Needed", "Smooth curves with as few keys as Max Error allows")


def toggle(name, description, default=False):
    """On or off."""
    return BoolProperty(name=name, description=description, default=default)


def text(name, description):
    """A text, such as the name of a bone."""
    return StringProperty(name=name, description=description)


def choice(name, description, items, default=None):
    """One of several items. The first is the default unless another is named."""
    return EnumProperty(name=name, description=description, items=items, default=default or items[0][0])


def selected_or_all(description, selected, everything):
    """Whether an operator works on the selected limbs or on all, with a tooltip for each."""
    items = [("SELECTED", "Only Selected", selected), ("ALL", "All", everything)]
    return choice("Limbs", f"{description}. In Object Mode always all of the selected armatures", items)


def factor(name, description, default, **limits):
    """A share, 0 to 1."""
    return FloatProperty(
        name=name, description=description, subtype="FACTOR", default=default, min=0, **{"max": 1, **limits}
    )


def angle(name, description, degrees, largest):
    """An angle up to a largest one, given in degrees."""
    default, most = math.radians(degrees), math.radians(largest)
    return FloatProperty(name=name, description=description, subtype="ANGLE", default=default, min=0, max=most)


def percentage(name, description, default, **limits):
    """A percentage, of the leg length for example."""
    return FloatProperty(
        name=name,
        description=description,
        subtype="PERCENTAGE",
        default=default,
        **{"min": 0, "max": 100, "precision": 1, **limits},
    )


def leg_percentage(name, description, metres, **limits):
    """A length as a percentage of the leg length. Its default is given in metres for a leg of 0.87 m."""
    described = f"{description}, as a percentage of the leg length"
    return percentage(name, described, bridge.leg_percent(metres), **limits)


def key_choice(*items):
    """On which frames keys are written."""
    return choice("Keys", "On which frames keys are written", items)


def max_error(description):
    """The largest error of as few keys as needed."""
    return FloatProperty(
        name="Max Error",
        description=description,
        subtype="DISTANCE",
        default=0.002,
        min=0.00001,
        soft_max=0.1,
        precision=4,
        step=0.1,  # type: ignore[arg-type]  # hundredths of a metre; Blender takes fractions of them
    )
