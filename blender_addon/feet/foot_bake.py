# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake Foot IK: read the scene, put the feet on the ground, write the keys.

Nothing in the file changes before everything that can fail is done. Whatever reading moves is restored by value.
Functions are generators that yield progress, often enough for Esc.
"""

import contextlib
import dataclasses
import functools
from dataclasses import dataclass

import numpy as np

from .. import bridge
from ..animation import actions, clip_reader, nla, scene_frames
from ..limbs import effect_check
from ..rig import rotations as rot
from ..rig import skin
from ..rig.armatures import CannotBakeError
from ..ui.background import in_thread
from . import contact_curves, deform_check, foot_report, ground, trails

LOOKING = 0.5  # progress of `work` after the scene has been read
BAKING = 0.7  # share of the rest: the bake, before it is measured
WORKING = 0.8  # progress of the operator before keys are written

_latest = {}  # by armature: the last job, by value, and the scene read for it, for a bake with other options


@dataclass
class SceneReading:
    """The scene as read. It has no reference into the file."""

    reading: clip_reader.Reading  # of the active action
    clip: object  # ikcore.Clip to bake: the same, or the one from which it was made
    feet: object  # ikcore.Feet, with soles
    ground: object  # ikcore.Ground, or None for the floor of the clip or a plane
    notes: list  # sentences about parts that are ignored
    curves: dict  # contacts with keys


def work(context, job, *, again=False):
    """Read the scene and bake. Returns (Seen, ikcore.Baked, Report).

    `again` is True if only options have changed since the last bake: the scene read for it is used again.
    """
    times, (key, seen) = {}, _latest.pop(job.armature.session_uid, (None, None))
    with nla.taken_down(job.armature):
        if not (again and key == job.key):
            with foot_report.measure_time(times, "looked"):
                seen = yield from scene_frames.run_part(_look(context, job), 0.0, LOOKING)
        _latest[job.armature.session_uid] = job.key, seen
    with _as_bake_errors(job):
        baked, told = yield from scene_frames.run_part(
            in_thread(functools.partial(_bake, job, seen, times)), LOOKING, 1.0
        )
    return seen, baked, told


def forget():
    """Drop the scene read for the last bake."""
    _latest.clear()


@contextlib.contextmanager
def _as_bake_errors(job):
    """Turn errors of ikcore into a CannotBakeError with its sentence."""
    try:
        yield
    except ValueError as error:
        raise CannotBakeError(f"{job.armature.name} cannot be baked: {error}") from error


def soles(context, job):
    """Detect soles, as a bake does: a generator that yields progress, and returns Feet."""
    with nla.taken_down(job.armature):
        _, source = yield from scene_frames.run_part(_clips(context, job), 0.0, 0.9)
        return (yield from scene_frames.run_part(_with_soles(context, job, source.clip), 0.9, 1.0))


def _look(context, job):
    read = 0.5 if job.moves else 0.9  # share of reading the scene
    mine = [leg for leg in job.legs if job.chosen is None or leg.name in job.chosen]
    mine = [leg for leg in mine if leg.name not in job.switched]
    yield from scene_frames.run_part(
        deform_check.check(context, job.armature, mine, job.frames[slice(*job.part)]), 0.0, 0.1
    )
    reading, source = yield from scene_frames.run_part(_clips(context, job), 0.1, read)
    clip, floor, notes = source.clip, None, [source.loop_problem] if source.loop_problem else []
    if job.objects:
        steps = ground.read(context, job.objects, job.armature, job.frames if job.moves else None)
        floor, more = yield from scene_frames.run_part(steps, read, 0.95)
        notes += more
        if job.ground == "OBJECTS":  # a collection may have any objects in it
            notes += ground.hidden_objects(context, job.objects, job.armature)
    elif job.ground == "COLLECTION":
        raise CannotBakeError("The ground collection is empty: move objects into it")
    feet = yield from scene_frames.run_part(_with_soles(context, job, clip), 0.95, 1.0)
    keys = [(leg.name, point) for leg in feet for point in ("heel", "ball") if point in leg.soles]
    return SceneReading(
        reading, clip, feet, floor, notes, contact_curves.read(job.armature, keys, job.frames) if job.keyed else {}
    )


def _clips(context, job):
    """Readings of the active action, and of the action to bake: the same, or the one from which it was made."""
    bones = clip_reader.bones_of(job.armature, job.legs) | ({job.pelvis} if job.pelvis else set())
    stretched = {bone for each in job.switched.values() for bone in each.limb.shown}
    steps = clip_reader.read(context, job.armature, job.frames, bones, stretched, job.copies)
    reading = yield from scene_frames.run_part(steps, 0.0, 0.8)
    if job.source is None:
        reading = _with_origin(reading, job.armature.animation_data.action)
        return reading, reading
    with actions.play_action(job.armature, job.source):
        steps = clip_reader.read(context, job.armature, job.frames, bones, stretched, job.copies)
        source = yield from scene_frames.run_part(steps, 0.8, 1.0)
    if source.clip.skeleton != reading.clip.skeleton:
        raise CannotBakeError(
            f"{job.armature.name} has another location or scale in {job.source.name}, its original: "
            "turn Rebake from Original off"
        )
    return reading, _with_origin(source, job.source)


def _with_origin(reading, action):
    """The clip with the provenance stored in its action."""
    said = action.get(actions.ORIGIN) if action else None
    origin = bridge.origin(said) if isinstance(said, str) else None
    if origin is None:
        return reading
    return dataclasses.replace(reading, clip=dataclasses.replace(reading.clip, origin=origin))


def _with_soles(context, job, clip):
    joints = {joint for leg in job.legs for joint in leg.chain}
    vertices = skin.of_joints(job.armature, skin.read(context, job.armature), joints)
    known = [dataclasses.replace(leg, toe=leg.toe if leg.toe in clip.skeleton.names else None) for leg in job.legs]
    with _as_bake_errors(job):
        feet = bridge.library.Feet(known)
        return (yield from in_thread(lambda progress: feet.with_soles(clip, vertices=vertices or None)))


# --- without bpy, in a thread ----------------------------------------------------------------------------------------


def _bake(job, seen, times, progress):
    with foot_report.measure_time(times, "baked"):
        ready, baked = _bake_clip(job, seen, lambda share: progress(BAKING * share))
    if job.held and foot_report.root_moved(ready):
        raise CannotBakeError(f"{job.held}, so {foot_report.held_up(ready)}")
    with foot_report.measure_time(times, "measured"):
        nothing = foot_report.idle(job, (seen.clip, seen.reading.clip), baked)
        told = foot_report.of(job, ready, baked, seen.notes, nothing)
    told.times, told.trails = times, trails.of_bake(job, seen, baked)
    return baked, told


def _bake_clip(job, seen, progress):
    """The prepared clip, and the result of its bake."""
    clip, floor = seen.clip, _floor(job, seen)
    whole, contacts = job.part == (0, len(clip)), _contacts(job, seen, floor)
    chosen = job.preparation if whole else {**job.preparation, "noise": False}
    ready = bridge.library.prepare.prepare(clip, floor, feet=seen.feet, contacts=contacts, **chosen)
    baked = bridge.library.bake_feet(
        ready.clip,
        floor,
        feet=seen.feet,
        contacts=contacts if ready.clip is clip else ready.contacts,
        settings=dataclasses.replace(job.settings, unlock=job.settings.unlock + ready.drag),
        source_floor=job.source_floor,
        legs=job.chosen,
        frames=None if whole else job.part,
        pelvis=job.pelvis,
        earlier=seen.reading.clip,
        progress=progress,
    )
    return ready, _transfer_root_motion(job, baked, clip)


def _transfer_root_motion(job, baked, clip):
    """The result, with the motion of a root that cannot move transferred to the bone below it that carries all legs."""
    if job.carrier is None:
        return baked
    skeleton, pose = clip.skeleton, baked.clip.pose
    root, carrier = (skeleton.index(name) for name in job.carrier)
    before = _local_translations(clip)[:, root]
    moved = _local_translations(baked.clip).copy()
    way = moved[:, root] - before
    _, axes = bridge.library.feet.soles.space(skeleton, pose, int(skeleton.parents[carrier]))
    moved[:, root] = before
    moved[:, carrier] += np.einsum("...ij,...j->...i", rot.inverse_axes(axes), way)
    pose = bridge.library.Pose(pose.rotations, moved, pose.scales)
    return dataclasses.replace(baked, clip=dataclasses.replace(baked.clip, pose=pose))


def _local_translations(clip):
    """Translations of all joints of a clip relative to their parents, (frames, joints, 3)."""
    found = clip.skeleton.offsets if clip.pose.translations is None else clip.pose.translations
    return np.broadcast_to(found, (len(clip), len(clip.skeleton), 3))


def _floor(job, seen):
    ik, clip = bridge.library, seen.clip
    if job.ground == "AUTO":
        under = ik.Contacts.detect(clip, seen.feet).ground
        return ik.Ground.plane(height=min(float(np.nanmedian(height)) for height in under.values()), up="z")
    if job.ground == "PLANE":
        return ik.Ground.plane(*job.plane, up="z")
    return seen.ground


def _contacts(job, seen, floor):
    """Contacts as set by the user, and detected otherwise; None if the user has set none."""
    ik, clip = bridge.library, seen.clip
    modes = {name: mode for name, mode in job.modes.items() if mode != "auto"}
    curves = {key: curve for key, curve in seen.curves.items() if key[0] not in modes}
    if not modes and not curves:
        return None
    said = ik.Contacts.detect(clip, seen.feet, modes=modes, curves=curves)
    open_keys = [key for key in said.weights if key[0] not in modes and key not in curves]
    if not open_keys:
        return said
    found = ik.bake_feet(clip, floor, feet=seen.feet).contacts
    return dataclasses.replace(
        found, weights={key: (found if key in open_keys else said).weights[key] for key in said.weights}
    )


# --- writing ---------------------------------------------------------------------------------------------------------


@dataclass
class BakeResult:
    """The result to write to an armature."""

    job: object  # foot_job.Job
    baked: object  # ikcore.Baked
    channels: list  # of actions.Channel
    frames: np.ndarray
    told: foot_report.Report


def write(context, made, request):
    """Write to each armature, a new action, a strip or its own action, completely or not at all; store the reports.

    A generator that yields progress. Armatures are written inside each other, so that a failure or a cancellation with
    the last one restores the first.
    """
    if not made:
        return
    first, others = made[0], made[1:]
    armature, own = first.job.armature, 1 / len(made)

    def rest():
        if first.channels:
            steps = effect_check.compare(context, first.job, first.baked, first.frames, first.told, request)
            yield from scene_frames.run_part(steps, own, own)
        yield from scene_frames.run_part(write(context, others, request), own, 1.0)
        mark(context, first.told, request)

    if not first.channels:  # a copy without new keys is useless
        first.told.idle = first.told.idle or "the channels to change are locked"
        yield from rest()
        foot_report.keep(armature, nla.current_action(armature.animation_data), first.told)
        return
    work = [(armature, first.channels)]
    with scene_frames.restore_after(context, [armature]), nla.taken_down(armature, for_good=True):
        if request.output == "OVERWRITE":
            yield from actions.overwrite(work, first.frames, own, rest())
            actions.tell_origin(armature.animation_data.action, first.baked.clip.origin)
        else:
            strip, source = request.output == "NLA", actions.original(armature.animation_data)
            still = actions.still(armature, first.channels)
            if strip:
                nla.check(armature, first.channels)
            steps = actions.copy_actions(work, first.frames, "Foot IK", bare=strip)
            (plan,) = yield from scene_frames.run_part(steps, 0.0, own)
            with nla.pushed_down(plan, first.frames, context.scene) if strip else actions.swap_actions([plan]):
                yield from rest()
            plan[1][actions.SOURCE], plan[1][actions.STILL] = source, still
            actions.tell_origin(plan[1], first.baked.clip.origin)
    foot_report.keep(armature, nla.current_action(armature.animation_data), first.told)


def mark(context, told, request):
    """Add markers on frames with problems, if requested."""
    if request.mark:
        for frame, text in told.problems:
            context.scene.timeline_markers.new(text, frame=frame)
