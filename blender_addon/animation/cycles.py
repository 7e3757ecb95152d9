# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips that play in a loop: marked by their author, or by Cycles modifiers of their curves."""

import numpy as np

from . import actions

ROUNDS = ("REPEAT", "REPEAT_OFFSET")  # modes of a looping curve; not mirrored ones
PARTS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")
CLOSED = np.cos(np.radians(1) / 2)  # largest rotation between the first and the last frame of a closed loop
NEAR = 1e-3  # the same for positions, relative to the size of the skeleton


def is_marked(armature, frames):
    """True if these frames are the whole of an action that its author marked as cyclic."""
    _, action, _ = actions.assignment(armature)
    if action is None or not (action.use_frame_range and action.use_cyclic):
        return False
    return [frames[0], frames[-1]] == [action.frame_start, action.frame_end]


def repeats(rig, bones, frames):
    """True if all curves of an armature and some of its bones repeat with the length of these frames."""
    found = [curve for path in PARTS for curve in rig.curves.get(path, ())]
    for bone in bones:
        found += [curve for part in PARTS for curve in rig.curves.get(actions.path_of(bone, part), ())]
    moving = [curve for curve in found if not curve.mute and len(curve.keyframe_points) > 1]
    return bool(moving) and all(_repeats(curve, frames) for curve in moving)


def _repeats(curve, frames):
    """True if a curve repeats with the length of these frames."""
    ends = tuple(curve.range())
    return ends == (frames[0], frames[-1]) and any(
        each.type == "CYCLES"
        and not (each.mute or each.use_restricted_range or each.cycles_after)
        and each.mode_after in ROUNDS
        for each in curve.modifiers
    )


def open_joint(skeleton, pose):
    """The first joint whose pose differs between start and end, or None. Roots may have travelled."""
    turned, moved = pose.rotations, pose.translations
    if turned is not None:
        apart = np.abs((turned[0] * turned[-1]).sum(axis=-1))
        if apart.min() < CLOSED:
            return skeleton.names[int(apart.argmin())]
    if moved is not None:
        away = np.linalg.norm(moved[-1] - moved[0], axis=-1) * (skeleton.parents >= 0)
        if away.max() > NEAR * np.linalg.norm(skeleton.offsets, axis=-1).sum():
            return skeleton.names[int(away.argmax())]
    return None
