# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake Foot IK on many actions of an armature, each into its own copy. If cancelled or failed, none is kept.

Actions that cannot be baked, or fail with an internal error, are skipped with the reason. A repeated bake starts from
the original, never from a copy.
"""

import contextlib
import fnmatch
import traceback
from dataclasses import dataclass

import bpy

from ..animation import actions, nla, scene_frames
from ..limbs import effect_check
from ..rig.armatures import CannotBakeError, not_editable, playback_problem
from . import foot_bake, foot_job, foot_report, keys


@dataclass
class Batch:
    """The input: an armature, and its actions with the matching slots."""

    armature: bpy.types.Object
    actions: list[tuple[bpy.types.Action, bpy.types.ActionSlot]]


@dataclass
class BatchResult:
    """A copy of an action with baked feet."""

    original: bpy.types.Action
    action: bpy.types.Action
    slot: bpy.types.ActionSlot
    told: foot_report.Report


def refusal(armature):
    """The reason why no action of an armature can be baked, as far as known in advance, or None."""
    if reason := not_editable(armature) or playback_problem(armature, nla.bake_tracks(armature.animation_data) or ()):
        return reason
    return None if next(matching_actions(armature), None) else f"No action has keys for the bones of {armature.name}"


def none_of(armature, pattern, found):
    """Why nothing was found to bake, or None."""
    return None if found else f"No action of {armature.name} matches {pattern}"


def matching_actions(armature, pattern=""):
    """The original actions that animate an armature and match a name pattern, each with its slot. A generator."""
    prefixes = {actions.path_of(bone, "")[:-1] for bone in armature.pose.bones}
    for action in bpy.data.actions:
        if action.get(actions.SOURCE) is None and fnmatch.fnmatchcase(action.name, pattern or "*"):
            slots = [slot for slot in action.slots if _suits(slot, action, armature, prefixes)]
            slots.sort(key=lambda slot: (armature in slot.users(), slot.identifier[2:] == armature.name))
            if slots:
                yield action, slots[-1]


def _suits(slot, action, armature, prefixes):
    """True if a slot is free or the armature's own, and most of its bones belong to the armature."""
    users = slot.users()
    if slot.target_id_type not in {"OBJECT", "UNSPECIFIED"} or (users and armature not in users):
        return False
    paths = [path for path in _paths(action, slot) if path.startswith("pose.bones[") and not path.endswith("]")]
    moved = {path.rpartition(".")[0] for path in paths}
    return 2 * len(moved & prefixes) > len(moved)


def make_job(armature, pattern):
    """The batch to bake, or an error if it is impossible."""
    found = list(matching_actions(armature, pattern))
    if reason := none_of(armature, pattern, found):
        raise CannotBakeError(reason)
    return Batch(armature, found)


def work(context, batch, request):
    """Bake all: a generator that yields progress. Returns a `BatchResult`, and (name, reason) of each refused action.

    If the armature's active action, or its original, is among them, the new copy becomes active.
    """
    armature, made, refused = batch.armature, [], []
    each = 1 / len(batch.actions)
    try:
        with nla.taken_down(armature):
            playing = actions.original(armature.animation_data)
            for number, (action, slot) in enumerate(batch.actions):
                try:
                    with _play_from_rest(context, armature, action, slot):
                        steps = _bake(context, armature, request)
                        made.append((yield from scene_frames.run_part(steps, number * each, (number + 1) * each)))
                except CannotBakeError as error:
                    refused.append((action.name, str(error)))
                except MemoryError:
                    raise  # not only for this action
                except Exception as error:  # a defect here must not lose the other results
                    traceback.print_exc()
                    refused.append((action.name, f"unexpected {type(error).__name__}: {error}"))
        if not made:
            raise CannotBakeError(f"No action was baked: {_reasons(refused)}")
        now = next((one for one in made if one.original == playing), None)
        if now:
            foot_bake.mark(context, now.told, request)
    except BaseException:
        for one in made:
            bpy.data.actions.remove(one.action)
        raise
    _commit(armature, made, now)
    return made, refused


def _bake(context, armature, request):
    """Bake the active action: a generator that yields progress and returns a `BatchResult`."""
    job = foot_job.make_job(context, armature, request)
    seen, baked, told = yield from scene_frames.run_part(foot_bake.work(context, job), 0.0, foot_bake.WORKING)
    original = armature.animation_data.action
    with foot_report.measure_time(told.times, "wrote"):
        steps = keys.make_keys(context, job, seen, baked, told, request)
        channels, frames = yield from scene_frames.run_part(steps, foot_bake.WORKING, 0.9)
        steps = actions.copy_actions([(armature, channels)], frames, "Foot IK")
        ((_, action, slot),) = yield from scene_frames.run_part(steps, 0.9, 1.0)
        with actions.play_action(armature, action):
            scene_frames.run(effect_check.compare(context, job, baked, frames, told, request))
    action[actions.SOURCE] = original
    actions.tell_origin(action, baked.clip.origin)
    return BatchResult(original, action, slot, told)


def _commit(armature, made, now):
    """Keep all copies, and make one of them active."""
    if now:
        with nla.taken_down(armature, for_good=True), actions.swap_actions([(armature, now.action, now.slot)]):
            pass
    for one in made:
        actions.keep(one.action)
        actions.replace_copies(one.original, one.action)
        foot_report.keep(armature, one.action, one.told)


def sentence(made, refused):
    """The result in one line."""
    text = f"Baked {len(made)} {'action' if len(made) == 1 else 'actions'}"
    text += foot_report.slid([line for one in made for line in one.told.lines])
    if troubled := [one.action.name for one in made if one.told.has_problems() and not one.told.idle]:
        text += f"; check {', '.join(troubled)}"
    for reason in dict.fromkeys(one.told.idle for one in made if one.told.idle):
        same = ", ".join(one.action.name for one in made if one.told.idle == reason)
        text += f"; nothing has changed in {same}: {reason}"
    return text + (f"; not baked: {_reasons(refused)}" if refused else "")


def _reasons(refused):
    return "; ".join(f"{name} ({reason})" for name, reason in refused)


# --- playing actions one after another -------------------------------------------------------------------------------


@contextlib.contextmanager
def _play_from_rest(context, armature, action, slot):
    """Make another action active, starting from rest for channels that only the armature's own action animates.

    Then restore all of it.
    """
    had_data, own, own_slot = actions.assignment(armature)
    keyed, left = _paths(action, slot), _paths(own, own_slot)
    before = {path: scene_frames.value(armature, path) for path in keyed | left}
    with scene_frames.restore_after(context, [armature], poses=True):
        try:
            actions.assign(armature, action, slot)
            for path in left - keyed:
                _rest(armature, path)
            context.view_layer.update()
            yield
        finally:
            if had_data:
                actions.assign(armature, own, own_slot)
            else:
                armature.animation_data_clear()
            for path, value in before.items():
                if value is not None:
                    scene_frames.set_value(armature, path, value)


def _paths(action, slot):
    """The data paths of all curves of a slot."""
    bags = [strip.channelbag(slot) for _, strip in actions.layers_and_strips(action)] if slot else []
    return {curve.data_path for bag in bags if bag for curve in bag.fcurves}


def _rest(armature, path):
    """Reset a transform to rest."""
    owner, _, name = path.rpartition(".")
    if name in scene_frames.POSE_CHANNELS and scene_frames.value(armature, path) is not None:
        scene_frames.set_value(
            armature, path, tuple(scene_frames.owner(armature, owner).bl_rna.properties[name].default_array)
        )
