# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake IK: compute the keys with one of the solvers, write them, mute the constraints, and verify.

Nothing in the file changes before everything that can fail is done. Whatever sampling moves is restored by value.
"""

import contextlib
from collections.abc import Callable

from ..animation import actions, nla, scene_frames
from ..ui.last_report import Last
from . import aim_constraints, chains, key_fitting, two_bone_bake, visual_pose

WAYS: dict[str, Callable] = {
    "DISPLAYED": visual_pose.prepare,
    "TWO_BONE": two_bone_bake.prepare,
    "LIBRARY": chains.prepare,
    "TRACKING": aim_constraints.prepare,
}
_latest = Last()
FOUND, THINNED = 0.8, 0.9  # progress after solving, and after key reduction


def bake(context, limbs, frames, way, method, title="Baked IK", tolerance=None):
    """Bake these limbs on these frames (a sorted integer array) into new actions; `method` is for chains.

    `tolerance` is in world units; the bake then has as few keys as it allows. A generator that yields progress, and
    returns a report for each armature.
    """
    with scene_frames.restore_after(context, list({limb.object.name: limb.object for limb in limbs}.values())):
        options = [method] if way == "LIBRARY" else []
        found = yield from scene_frames.run_part(WAYS[way](context, limbs, frames, *options), 0.0, FOUND)
        counts = {}
        if tolerance is not None:
            counts = yield from scene_frames.run_part(key_fitting.fit_keys(found, frames, tolerance), FOUND, THINNED)
        plans = yield from scene_frames.run_part(actions.copy_actions(found.work, frames, title), THINNED, 1.0)
        with actions.swap_actions(plans), _mute(found.muted):
            reports = found.reports(tolerance or 0.0)
    armatures = {limb.object.name: limb.object for limb in limbs}
    for report in reports:
        report.keys = counts.get(report.armature, "")
        armature = armatures[report.armature]
        _latest.keep(armature, nla.current_action(armature.animation_data), report)
    return reports


def latest(armature):
    """The report of an armature's active action, or None."""
    return _latest.of(armature)


@contextlib.contextmanager
def _mute(names):
    """Mute constraints and the drivers of their muting. If the following code fails, restore them."""
    constraints = [armature.pose.bones[bone].constraints[name] for armature, bone, name in names]
    drivers = [driver for armature, bone, name in names for driver in visual_pose.switches(armature, bone, name)]
    before = [(item, item.mute) for item in (*drivers, *constraints)]
    try:
        for item, _ in before:
            item.mute = True
        yield
    except BaseException:
        for item, mute in before:
            item.mute = mute
        raise
