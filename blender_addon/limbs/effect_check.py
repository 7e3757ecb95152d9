# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of a bake: whether the keys put bones where they were meant to be, as Blender evaluates them."""

import numpy as np

from ..animation import actions, scene_frames
from ..rig import rotations as rot
from ..rig.armatures import Rig, constraint_problem
from ..rig.joints import Parts
from .two_bone import AWAY

SHORT = "IK stretches it farther than FK reaches: set the switch to FK or IK, or lower the body"
TWISTED = np.radians(1.0)  # smallest reported twist between a bone and its pose displayed by IK
COMPARED = 3  # frames to compare, from the first to the last, besides the one with the largest difference


def compare(context, job, baked, frames, told, request):
    """Compare some frames that have keys, and report the legs that are not displayed where they were put.

    A generator that yields progress.
    """
    legs = [leg for leg in baked.feet if job.chosen is None or leg.name in job.chosen]
    chains = {leg.name: _told_of(job, leg) for leg in legs}
    keyed = np.searchsorted(job.frames, frames)
    was = _places(baked.source, keyed, chains)
    yield 0.2
    put = _places(baked.clip, keyed, chains)
    yield 0.4
    some = _frames_to_compare(was, put)
    seen = yield from scene_frames.run_part(_displayed_heads(context, job.armature, chains, frames[some]), 0.4, 1.0)
    slack = request.max_error if request.keys == "TOLERANCE" else 0.0
    for name, places in put.items():
        size = _size(job.armature, chains[name], places[0])
        away = np.linalg.norm(seen[name] - places[some], axis=-1).max(axis=-1)
        if away.max() > AWAY * size + slack:
            told.away.append((name, float(away.max()), int(frames[some[away.argmax()]])))
    if told.away:
        between = [job.switched.get(name) for name, *_ in told.away]
        if all(each and each.fk and each.ik for each in between):
            told.moved_by = SHORT
        else:
            told.moved_by = besides_keys(job.armature, [joint for chain in chains.values() for joint in chain])


def _told_of(job, leg):
    """The bones of a leg to compare: without those that IK of a rig bends, because it may stretch them."""
    switched = job.switched.get(leg.name)
    loose = (*leg.knees, leg.ankle if switched.limb.paw and leg.ball else None) if switched and switched.ik else ()
    return [joint for joint in leg.chain if joint in job.armature.pose.bones and joint not in loose]


def _size(armature, chain, places):
    """The length of a leg; for a foot alone, of its bone."""
    own = armature.data.bones[chain[0]].length * armature.matrix_world.median_scale
    return np.linalg.norm(np.diff(places, axis=0), axis=-1).sum() or own


def _places(clip, frames, chains):
    """Positions of the joints of chains in a clip, (frames, joints, 3) by chain name."""
    positions = clip.skeleton.forward(clip.pose).positions
    numbers = {name: [clip.skeleton.index(joint) for joint in chain] for name, chain in chains.items()}
    return {name: positions[np.ix_(frames, joints)] for name, joints in numbers.items()}


def _frames_to_compare(was, put):
    """The numbers of some frames, including the one with the largest motion of legs."""
    moved = np.max([np.abs(put[name] - was[name]).max(axis=(1, 2)) for name in put], axis=0)
    return np.unique(np.r_[moved.argmax(), np.linspace(0, len(moved) - 1, COMPARED).astype(int)])


def _displayed_heads(context, armature, chains, frames):
    """Displayed head positions of bones, as in `_places`: a generator that yields progress."""
    seen = {name: np.empty((len(frames), len(chain), 3)) for name, chain in chains.items()}

    def look(depsgraph, number):
        shown = armature.evaluated_get(depsgraph)
        for name, chain in chains.items():
            seen[name][number] = [shown.matrix_world @ shown.pose.bones[joint].head for joint in chain]

    yield from scene_frames.visit(context, frames, look)
    return seen


def twists(context, armature, bones, chains, frames, put, worst):
    """Compare the twist of bones with the IK result on some frames, including number `worst`.

    `put` are Parts of all `bones`. A generator that yields progress, and returns (bone, angle, frame) of the most
    twisted bone of each chain, if it is to be reported.
    """
    some = np.unique(np.r_[worst, np.linspace(0, len(frames) - 1, COMPARED).astype(int)])
    shown, found = scene_frames.Matrices(armature, bones.rows, len(some)), []

    def look(depsgraph, number):
        shown.read(armature.evaluated_get(depsgraph).pose.bones, number)

    yield from scene_frames.run_part(scene_frames.visit(context, frames[some], look), 0.0, 0.9)
    made = yield from scene_frames.run_part(bones.poses(put.at(some)), 0.9, 1.0)
    for chain in chains:
        rows = [bones.names.index(name) for name in chain]
        angles = rot.twists(*(Parts.of(matrices).turned for matrices in (shown[rows], made[:, rows])))
        at, bone = np.unravel_index(angles.argmax(), angles.shape)
        if angles[at, bone] > TWISTED:
            found.append((chain[bone], angles[at, bone], int(frames[some[at]])))
    return found


def besides_keys(armature, bones):
    """A known cause, other than the keys of the active action, of the motion of some bones."""
    rig = Rig(armature)
    for name in sorted(
        {above.name for bone in bones for above in (rig.bones[bone], *rig.bones[bone].parent_recursive)}
    ):
        if reason := constraint_problem(rig.bones[name], rig):
            return reason
        if any(path.startswith(actions.path_of(rig.bones[name], "")) for path in rig.drivers):
            return f"{name} has a driver"
    return "something other than its keys moves it"
