# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake of IK: find what to write in one of three ways, write the keys, mute the constraints, and look.

Nothing in the file changes before everything that can fail is done; what sampling moves is put back by value.
"""

import contextlib
from collections.abc import Callable

from . import actions, anew, chains, few, nla, shown, stage, tracks
from .last import Last

WAYS: dict[str, Callable] = {
    "DISPLAYED": shown.found,
    "TWO_BONE": anew.found,
    "LIBRARY": chains.found,
    "TRACKING": tracks.found,
}
_latest = Last()
FOUND, THINNED = 0.8, 0.9  # the shares that are done when it is known what to write, and by which keys


def bake(context, limbs, frames, way, method, title="Baked IK", tolerance=None):
    """Bake these limbs on these frames (a sorted integer array) into new actions; chains by a method of the library.

    With a tolerance, in lengths of the world, by as few keys as that allows. A generator that yields the share that is
    done, and returns a report of each armature.
    """
    with stage.restored(context, list({limb.object.name: limb.object for limb in limbs}.values())):
        options = [method] if way == "LIBRARY" else []
        found = yield from stage.between(WAYS[way](context, limbs, frames, *options), 0.0, FOUND)
        counts = {}
        if tolerance is not None:
            counts = yield from stage.between(few.thinned(found, frames, tolerance), FOUND, THINNED)
        plans = yield from stage.between(actions.copied(found.work, frames, title), THINNED, 1.0)
        with actions.swapped(plans), _muted(found.muted):
            reports = found.reports(tolerance or 0.0)
    armatures = {limb.object.name: limb.object for limb in limbs}
    for report in reports:
        report.keys = counts.get(report.armature, "")
        armature = armatures[report.armature]
        _latest.keep(armature, nla.shown(armature.animation_data), report)
    return reports


def latest(armature):
    """The report of what an armature plays, or None."""
    return _latest.of(armature)


@contextlib.contextmanager
def _muted(names):
    """Mute constraints, and what drives that; if what follows fails, as they were again."""
    constraints = [armature.pose.bones[bone].constraints[name] for armature, bone, name in names]
    drivers = [driver for armature, bone, name in names for driver in shown.switches(armature, bone, name)]
    before = [(item, item.mute) for item in (*drivers, *constraints)]
    try:
        for item, _ in before:
            item.mute = True
        yield
    except BaseException:
        for item, mute in before:
            item.mute = mute
        raise
