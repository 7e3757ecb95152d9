# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of baked feet: on every frame, every few frames, or reduced within a tolerance.

In reduction, the keys of the body come first, by key_reduction.py. Legs are then re-solved under the resulting body
motion. Their feet stay in place, and the error of the body does not add up. The keys of each leg come last.
"""

import functools

import numpy as np

from .. import bridge
from ..animation import actions, channels, key_reduction, scene_frames
from ..rig import inheritance
from ..rig import rotations as rot
from ..rig.armatures import CannotBakeError, Rig
from ..ui.background import in_thread
from . import foot_controls

PLANTED = 0.1  # relative to the tolerance: largest error of a planted foot
BODY = 0.5  # relative to the tolerance of knees and feet: the body's share


def make_keys(context, job, seen, baked, told, request):
    """The baked channels, and the frames of their keys unless the channels have their own. Completes the report.

    A generator that yields progress.
    """
    _check(job, request)
    required, switched = _required_changes(job, seen, baked), [leg for leg in job.legs if leg.name in job.switched]
    bones = set(seen.reading.bones).difference(*(_leg_bones(job.armature, leg) for leg in switched))
    steps = channels.of_clip(job.armature, seen.reading, baked.clip, bones, required=required)
    found, told.kept = yield from scene_frames.run_part(steps, 0.0, 0.3)
    if request.keys == "TOLERANCE":
        found = yield from _few(job, seen.reading, baked, found, told, request.max_error, required)
        return _in_rounds(job, seen, baked, found), job.frames[slice(*job.part)]
    keyed = _every_nth(job.part, request.key_step if request.keys == "STEP" else 1)
    for channel in found:
        channel.values = channel.values[keyed]
    steps = foot_controls.channels(context, job, seen, baked, found, job.frames[keyed])
    controls = yield from scene_frames.run_part(steps, 0.3, 1.0)
    for channel in controls:
        channel.values = channel.values[keyed - job.part[0]]
    return _in_rounds(job, seen, baked, found + controls), job.frames[keyed]


def _in_rounds(job, seen, baked, found):
    """The channels, with cyclic curves if those of the whole clip are."""
    for channel in found:
        channel.rounds = seen.reading.rounds and baked.clip.loop and job.part == (0, len(job.frames))
    return found


def _leg_bones(armature, leg):
    """The bones of a leg, and those between them."""
    joints = [joint for joint in leg.chain if joint in armature.pose.bones]
    above = armature.pose.bones[joints[-1]].parent_recursive
    return {*joints, *(bone.name for bone in above if armature.pose.bones[joints[0]] in bone.parent_recursive)}


def _check(job, request):
    """Refuse key reduction if keys would go to IK controls."""
    chosen = [each for name, each in job.switched.items() if job.chosen is None or name in job.chosen]
    if request.keys == "TOLERANCE" and (held := next((each.limb for each in chosen), None)):
        raise CannotBakeError(
            f"As Few as Needed is for FK controls, and {held.control} is an IK control: choose Every Frame or Every "
            f"Few Frames, or set {held.word} of {held.switch} to 1"
        )


def _required_changes(job, seen, baked):
    """Changes that are written even if the active action has them, (bone, kind): its keys may differ."""
    if job.source is None:
        return set()
    joints, was, now, found = seen.clip.skeleton.names, seen.clip.pose, baked.clip.pose, set()
    if job.chosen is not None:
        joints = {joint for leg in baked.feet if leg.name in job.chosen for joint in leg.chain}
    for kind, before, after in (
        ("rotation", was.rotations, now.rotations),
        ("location", was.translations, now.translations),
    ):
        differs = np.abs(after - before).max(axis=(0, 2)) > channels.SAME
        found |= {(seen.clip.skeleton.names[joint], kind) for joint in np.flatnonzero(differs)}
    return {each for each in found if each[0] in joints}


def _every_nth(part, step):
    """The numbers of every n-th frame of an interval, and of its last."""
    inside = np.arange(*part)
    return np.unique(np.r_[inside[::step], inside[-1]])


def _few(job, reading, baked, found, told, tolerance, required):
    """The body's channels, then those of the legs under it."""
    chains = {leg.name: [joint for joint in leg.chain if joint in reading.bones] for leg in baked.feet}
    below, clip = {joint for chain in chains.values() for joint in chain}, baked.clip
    cycle = job.part == (0, len(job.frames)) and (clip.loop or _repeats(job.armature, found))
    body = [channel for channel in found if channel.group not in below]
    if body:
        names = sorted({channel.group for channel in body}, key=reading.bones.index)
        limb = _limb(job, reading, clip, names, body)
        steps = in_thread(functools.partial(_body, job, baked, limb, names[-1], tolerance, cycle))
        keys, clip = yield from scene_frames.run_part(steps, 0.3, 0.4)
        told.keys["pelvis"] = _keep(job, body, keys)
        steps = channels.of_clip(job.armature, reading, clip, required=required)
        found, told.kept = yield from scene_frames.run_part(steps, 0.4, 0.6)
    result = list(body)
    for leg in baked.feet:
        mine = [channel for channel in found if channel.group in chains[leg.name]]
        if mine:
            limb = _limb(job, reading, clip, chains[leg.name], mine)
            steps = in_thread(functools.partial(_leg, job, baked, clip, leg, limb, tolerance, cycle))
            keys = yield from scene_frames.run_part(steps, 0.6, 1.0)
            told.keys[leg.name] = _keep(job, mine, keys)
            result += mine
    return result


def _repeats(armature, found):
    """True if modifiers repeat some of these curves."""
    curves = Rig(armature).curves
    mine = (curve for path in {channel.path for channel in found} for curve in curves.get(path, ()))
    return any(modifier.type == "CYCLES" and not modifier.mute for curve in mine for modifier in curve.modifiers)


def _keep(job, found, keys):
    """Reduce channels to these keys, and report their number."""
    at, slopes = keys[0] + job.part[0], keys[1]
    for channel, slope in zip(found, slopes.T, strict=True):
        channel.values, channel.frames, channel.slopes = channel.values[at], job.frames[at], slope
    return len(at)


# --- limbs as arrays -------------------------------------------------------------------------------------------------


def _limb(job, reading, clip, names, found):
    """Bones, each below the previous one, and their channels, in the baked frames."""
    rig, inside, pose = Rig(job.armature), slice(*job.part), job.armature.pose.bones
    world = clip.skeleton.forward(clip.pose[inside])
    curves, bones = [], []
    for channel in found:
        kind = "rotation" if channel.path == actions.rotation_path(pose[channel.group]) else "location"
        curves.append(key_reduction.Curve(names.index(channel.group), kind, channel.index, channel.values[inside]))
    for at, name in enumerate(names):
        bone, joint = pose[name], clip.skeleton.index(name)
        hung = key_reduction.Bone(world.positions[:, joint], world.rotations[:, joint], bone.bone.use_inherit_rotation)
        kinds = {curve.kind for curve in curves if curve.bone == at}
        if "rotation" in kinds:
            rotation, path = actions.rotation_of(bone), actions.rotation_path(bone)
            hung.mode = bone.rotation_mode
            hung.rotation = actions.numbers(rig.curves, bone, path, rotation, job.frames[inside])
        if "location" in kinds:
            hung.axes = _axes(bone.bone, reading, clip)[inside]
        bones.append(hung)
    return key_reduction.Limb(bones, curves)


def _axes(bone, reading, clip):
    """World directions of a bone's location channels, as columns (frames, 3, 3)."""
    parents = np.tile(np.eye(4), (len(clip), 1, 1))
    if bone.parent is not None:
        at, axes = bridge.library.feet.soles.space(clip.skeleton, clip.pose, clip.skeleton.index(bone.parent.name))
        parents[:, :3, :3], parents[:, :3, 3] = axes * reading.scale, at
        parents = rot.inverse(reading.world) @ parents
    return reading.world[:, :3, :3] @ inheritance.leads(bone, parents)


# --- without bpy, in a thread ----------------------------------------------------------------------------------------


def _body(job, baked, limb, pelvis, tolerance, cycle, progress):
    """The keys of the body, and the clip with its feet in place under the resulting body motion."""
    inside, held = slice(*job.part), bridge.library.bake.LockedFeet(baked.clip, baked.feet, pelvis)

    def departure(numbers):
        shifts, turns = limb.bone_transforms(numbers)
        shift, turn = np.zeros((len(baked.clip), 3)), np.tile([1.0, 0, 0, 0], (len(baked.clip), 1))
        shift[inside] = shifts[-1]
        if turns[-1] is not None:
            turn[inside] = turns[-1]
        return shift, turn

    def excess(numbers):
        shift, turn = departure(numbers)
        knees, feet = held.away(shift, turn)
        return np.max([key_reduction.size(shift), knees / BODY, feet / (BODY * PLANTED)], axis=0)[inside] / tolerance

    keys = key_reduction.reduce_keys(limb.numbers, excess, cycle=cycle, check=functools.partial(progress, 0.0))
    return keys, held.with_pelvis(*departure(key_reduction.playback(limb.numbers, *keys)))


def _leg(job, baked, clip, leg, limb, tolerance, cycle, progress):
    """The keys of a leg, including the first and last frames of its contacts."""
    planted = {key[1]: baked.contacts.planted(*key) for key in baked.contacts.weights if key[0] == leg.name}
    planted = {point: stands[slice(*job.part)] for point, stands in planted.items()}
    edges = [stands & ~(np.r_[False, stands[:-1]] & np.r_[stands[1:], False]) for stands in planted.values()]
    fixed = np.flatnonzero(np.any(edges, axis=0)) if edges else ()
    excess = _excess(job, baked, clip, leg, limb, planted, tolerance)
    return key_reduction.reduce_keys(limb.numbers, excess, fixed, cycle=cycle, check=functools.partial(progress, 0.0))


def _excess(job, baked, clip, leg, limb, planted, tolerance):
    """Computes errors of joints, sole points and foot rotations, relative to their tolerances."""
    inside, skeleton = slice(*job.part), clip.skeleton
    joints = [joint for joint in leg.chain if joint in skeleton.names][: len(limb.bones)]
    soles, stood = (baked.feet.positions(skeleton, each.pose[inside]) for each in (clip, baked.clip))
    ways = []
    for point, sole in leg.soles.items():
        at = joints.index(sole.joint) if sole.joint in joints else len(joints) - 1
        stands = planted.get("heel" if point == "heel" else "ball", planted.get("ball", False))
        now, was = soles[leg.name, point], stood[leg.name, point]
        ways.append((at, now - limb.bones[at].place, now - was, np.where(stands, PLANTED, 1.0)))
    before = baked.clip.skeleton.forward(baked.clip.pose[inside]).positions
    carried = [bone.place - before[:, skeleton.index(name)] for bone, name in zip(limb.bones, joints, strict=True)]
    foot = joints.index(leg.foot)
    chain = np.stack([bone.place for bone in (limb.bones if leg.free else limb.bones[: foot + 1])])
    tip = key_reduction.TIP * key_reduction.size(np.diff(chain, axis=0)).sum(axis=0)

    def excess(numbers):
        shifts, turns = limb.bone_transforms(numbers)
        off = [key_reduction.size(shift + more) for shift, more in zip(shifts[1:], carried[1:], strict=True)]
        off += [
            key_reduction.size(key_reduction.tip_translation(shifts[at], turns[at], way) + more) / allowed
            for at, way, more, allowed in ways
        ]
        return np.max([*off, tip * key_reduction.angle(turns[foot])], axis=0) / tolerance

    return excess
