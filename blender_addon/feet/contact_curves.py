# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts as editable keys: a custom property of the armature object for each point of a sole.

A key on every change, 1 for contact and 0 for none, constant in between. Values above 0.5 count as contact.
"""

import bpy
import numpy as np

from ..animation import actions, nla

GROUP = "Foot Contacts"


def name_of(leg, point):
    """The name of the custom property for a point of a leg."""
    return f"contact {leg} {point}"


def path_of(leg, point):
    """The data path of that property."""
    return f'["{bpy.utils.escape_identifier(name_of(leg, point))}"]'


def read(armature, keys, frames):
    """The weights, on these frames, of the points (leg, point) that have an active curve."""
    playing = nla.action_sources(armature.animation_data)
    curves = actions.by_path(curve for each in playing for curve in actions.curves(each))
    found = {}
    for key in keys:
        for curve in curves.get(path_of(*key), ()):
            if len(curve.keyframe_points) and not curve.mute:
                found[key] = np.clip([curve.evaluate(frame) for frame in frames.tolist()], 0.0, 1.0)
    return found


def write(armature, weights, frames):
    """Key weights, by (leg, point), into the armature's action."""
    bag = actions.ensure_bag(armature.animation_data.action, armature.animation_data.action_slot)
    for key, weight in weights.items():
        armature[name_of(*key)] = 0.0
        armature.id_properties_ui(name_of(*key)).update(
            min=0.0, max=1.0, description=f"Contact of the {key[1]} of the leg {key[0]}: planted above 0.5"
        )
        if old := bag.fcurves.find(path_of(*key)):
            bag.fcurves.remove(old)
        held = weight > 0.5
        changes = np.flatnonzero(np.r_[True, held[1:] != held[:-1]])
        channel = actions.Channel(path_of(*key), 0, GROUP, held[changes].astype(float))
        actions.write_keys(bag, channel, frames[changes], "CONSTANT")
