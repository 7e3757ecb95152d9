# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert a clip to the channels of an armature: rotations in each bone's mode, and locations, without locked axes."""

import numpy as np

from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig, constraint_problem, not_editable, not_writable
from ..rig.joints import Bones, pieces
from . import actions, scene_frames

TURNED = 1e-4  # smallest change prevented by locks that is reported: of a rotation, in its numbers
AWAY = 1e-4  # of a location, in the same lengths as `SAME`
SAME = 1e-6  # tolerance: of quaternions; of locations, relative to the bone length or the distance from the origin


def of_clip(armature, reading, clip, bones=None, required=(), rig=None):
    """The channels with which these bones (default: all) follow a clip, where it differs from the reading.

    `required` lists (bone, "rotation" or "location") that are written in any case, `rig` is the armature's Rig, if that
    has been read. A generator that yields progress, and returns Channels, and sentences about changes that locks and
    connections prevent.
    """
    if reason := not_editable(armature):
        raise CannotBakeError(reason)
    rig, chosen = rig or Rig(armature), Bones(armature, reading.bones, copies=reading.copies)
    if chosen.names != reading.bones or clip.skeleton != reading.clip.skeleton or len(clip) != len(reading.frames):
        raise CannotBakeError(f"{armature.name} has changed since it was read: press the button again")
    numbers = [n for n, name in enumerate(chosen.names) if bones is None or name in bones]
    before = yield from scene_frames.run_part(_before(reading, chosen, numbers), 0.0, 0.3)
    after = yield from scene_frames.run_part(_channel_values(reading, chosen, clip, numbers), 0.3, 0.6)
    turned = yield from scene_frames.run_part(
        _turns(chosen, rig, reading.frames, numbers, before, after, required), 0.6, 0.9
    )
    made, kept = [], []
    for row, n in enumerate(numbers):
        always = (chosen.names[n], "location") in required
        for parts, sentences in (
            turned.get(n, ([], [])),
            _location_channels(chosen.pose[n], rig, reading.frames, before[row], after[row], always),
        ):
            made += parts
            kept += sentences
        yield 0.9 + 0.1 * (row + 1) / len(numbers)
    return made, kept


def _before(reading, bones, numbers):
    """Channel values of these bones before the bake, computed from the pose if not read from the scene."""
    if reading.basis is None:
        return (yield from _channel_values(reading, bones, reading.clip, numbers))
    return reading.basis[numbers]


def _channel_values(reading, bones, clip, numbers):
    """The channel values that these bones need for a clip."""
    local = yield from scene_frames.run_part(reading.locals(clip), 0.0, 0.5)
    return (yield from scene_frames.run_part(bones.channel_values(local, numbers), 0.5, 1.0))


def _turns(bones, rig, frames, numbers, before, after, required):
    """The rotation channels of bones that change, or are always written, and changes that locks prevent: by number."""
    apart = (rot.largest(np.abs(before.turned + way * after.turned)) for way in (-1, 1))
    differs = np.minimum(*apart).max(axis=0) > SAME
    turning = [row for row, n in enumerate(numbers) if differs[row] or (bones.names[n], "rotation") in required]
    made, free = {}, {}
    for row in turning:
        bone = bones.pose[numbers[row]]
        _check(bone, rig, "rotation", actions.rotation_path(bone), frames)
        if any(bone.lock_rotation) or (bone.lock_rotations_4d and bone.lock_rotation_w):
            made[numbers[row]] = _rotation_channels(
                bone, _start(bone, rig, frames), before[row].turned, after[row].turned
            )
        else:
            free.setdefault(bone.rotation_mode, []).append(row)
    yield 0.3
    for mode, rows in free.items():
        for some, share in pieces(rows, len(frames)):
            each = [bones.pose[numbers[row]] for row in some]
            start = np.stack([_start(bone, rig, frames) for bone in each])
            values = rot.numbers(mode, after.turned[:, some], start)
            for n, bone in enumerate(each):
                made[numbers[some[n]]] = actions.channels(bone, "rotation", values[:, n]), []
            yield 0.3 + 0.7 * share
    return made


def _start(bone, rig, frames):
    """The numbers of a bone's rotation on the first frame."""
    return actions.numbers(rig.curves, bone, actions.rotation_path(bone), actions.rotation_of(bone), frames[:1])[0]


def _rotation_channels(bone, start, was, now):
    """The rotation channels of a bone with some locked axes."""
    mode, locked = bone.rotation_mode, np.array(bone.lock_rotation)
    if mode not in actions.CHANNELS:
        values = rot.continuous_eulers(now, mode, start)
        return _unlocked_channels(bone, "rotation", values, rot.continuous_eulers(was, mode, start), locked, TURNED)
    if bone.lock_rotations_4d:
        locked = np.append(bone.lock_rotation_w, locked)
        numbers, before = (rot.numbers(mode, each, start) for each in (now, was))
        return _unlocked_channels(bone, "rotation", numbers, before, locked, TURNED)
    angles, before = (rot.continuous_eulers(each, "XYZ", np.zeros(3)) for each in (now, was))
    kept = _lock_problem(bone, "rotation", angles, before, locked, TURNED)
    angles[:, locked] = before[:, locked]
    return actions.channels(bone, "rotation", rot.numbers(mode, rot.quaternions("XYZ", angles), start)), kept


def _location_channels(bone, rig, frames, before, after, always):
    """The location channels of a bone that changes, or is always written."""
    size = max(
        bone.bone.length, bone.bone.head_local.length
    )  # Blender rounds locations relative to their distance from the origin
    if np.abs(after.moved - before.moved).max() <= SAME * size and not always:
        return [], []
    if bone.parent and bone.bone.use_connect:
        return [], [f"{bone.name} stays in place: it is connected to {bone.parent.name}"]
    _check(bone, rig, "location", actions.path_of(bone, "location"), frames)
    return _unlocked_channels(bone, "location", after.moved, before.moved, np.array(bone.lock_location), AWAY * size)


def _unlocked_channels(bone, name, values, before, locked, least):
    """The unlocked channels, and a sentence if locked ones would change by more than `least`."""
    return actions.channels(bone, name, values, ~locked), _lock_problem(bone, name, values, before, locked, least)


def _lock_problem(bone, name, values, before, locked, least):
    """A sentence if locks prevent changes of more than `least`."""
    if not locked.any() or np.abs(values - before)[:, locked].max() <= least:
        return []
    letters = [letter for letter, lock in zip("WXYZ"[-len(locked) :], locked, strict=True) if lock]
    return [f"{bone.name} keeps its locked {name} {' and '.join(letters)}"]


def _check(bone, rig, channel, path, frames):
    if reason := constraint_problem(bone, rig):
        raise CannotBakeError(f"{reason}: mute or apply it first")
    reason = not_writable(bone, rig, channel)
    if reason is None and any(_acts_outside(curve, frames) for curve in rig.curves.get(path, ())):
        reason = (
            f"{bone.name} has a modifier on its {channel} curve that also acts on keys outside these frames: "
            "include them, or apply the modifier"
        )
    if reason:
        raise CannotBakeError(reason)


def _acts_outside(curve, frames):
    first, last = curve.range()
    return actions.has_modifier(curve) and len(curve.keyframe_points) > 0 and (first < frames[0] or last > frames[-1])
