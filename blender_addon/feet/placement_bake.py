# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of Place Legs on Ground: read the scene, place poses, set the pose or write keys, check the feet."""

import contextlib
import functools
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from .. import bridge
from ..animation import actions, channels, clip_reader, scene_frames
from ..rig.armatures import CannotBakeError, Rig, constraint_problem
from ..ui.background import in_thread
from . import deform_check, foot_report, ground, placement, placement_job

TITLE = "Legs on Ground"  # the name of baked actions
CHECKED = 5  # frames on which the displayed feet are compared with their places
AWAY = 0.01  # of the leg length: a foot displayed farther from its place is reported
KEPT = 50  # poses that are kept, because undo may bring one back

_before = {}  # by armature: (placed pose as bytes, the pose from which it was made), the newest last


@dataclass
class Report:
    """The result, by value."""

    legs: list[str]
    frames: int
    posed: bool
    on_ground: bool
    rise: float
    tilt: float
    changed: bool
    problems: list[str] = field(default_factory=list)  # sentences about legs and changes that are not as wanted
    left_out: list[str] = field(default_factory=list)  # sentences about legs that are left out
    notes: list[str] = field(default_factory=list)  # sentences about the ground

    def has_problems(self):
        """True if there is something to look at."""
        return bool(self.problems or self.left_out or self.notes or not self.changed)

    def sentence(self):
        """The report in one line."""
        count = len(self.legs)
        text = f"Placed {count} {'leg' if count == 1 else 'legs'} ({', '.join(self.legs)})"
        text += "" if self.posed else f" in {self.frames} {'frame' if self.frames == 1 else 'frames'}"
        if not self.changed:
            text += ". Nothing has changed: the feet are already in place"
        elif self.on_ground:
            text += ". The pose stands on this ground, so the body stays"
        else:
            moved = f"{foot_report.length(abs(self.rise))} {'up' if self.rise >= 0 else 'down'}"
            most = "" if self.posed else " at most"
            text += f". Body {moved}, tilted {foot_report.in_degrees(self.tilt)}{most}"
        left = [f"Not placed: {'; '.join(self.left_out)}"] if self.left_out else []
        return ". ".join([text, *self.problems, *left, *self.notes])


def bake(context, job):
    """Place the legs of a job: a generator that yields progress, and returns a Report.

    The file is not changed before everything that can fail is done.
    """
    armature = job.armature
    if job.posed:
        with _from_base(context, armature) as base:
            return (yield from _place_pose(context, job, base))
    with scene_frames.restore_after(context, [armature], poses=True):
        reading, placed, notes = yield from scene_frames.run_part(_place_clip(context, job), 0.0, 0.7)
        made, kept = yield from scene_frames.run_part(_channels(job, reading, placed), 0.7, 0.8)
    told = _report(job, placed, bool(made), kept, notes)
    if made:
        with scene_frames.restore_after(context, [armature]):
            told.problems += yield from scene_frames.run_part(_write_keys(context, job, made, placed, kept), 0.8, 1.0)
    return told


def _write_keys(context, job, made, placed, kept):
    """Write keys to a copy of the action, completely or not at all: returns sentences about feet that are elsewhere."""
    armature = job.armature
    source, still = actions.original(armature.animation_data), actions.still(armature, made)
    (plan,) = yield from scene_frames.run_part(actions.copy_actions([(armature, made)], job.frames, TITLE), 0.0, 0.5)
    with actions.swap_actions([plan]):
        feet = yield from scene_frames.run_part(_feet_below_ik(context, job, placed), 0.5, 0.7)
        if feet:
            yield from scene_frames.run_part(actions.overwrite([(armature, feet)], job.frames), 0.7, 0.8)
        away = yield from scene_frames.run_part(_away(context, job, placed, kept), 0.8, 1.0)
    plan[1][actions.SOURCE], plan[1][actions.STILL] = source, still
    return away


@contextlib.contextmanager
def _original(job):
    """Play the original of a bake, not its result. Yields True if that differs from what plays."""
    animation = job.armature.animation_data
    if job.posed or not animation or not animation.action or animation.action.get(actions.MADE) != TITLE:
        yield False
        return
    with actions.play_action(job.armature, actions.source(animation)):
        yield True


def _place_clip(context, job):
    """The displayed motion, the placed one, and sentences about the ground: a generator that yields progress."""
    by_keys = [leg.leg for leg in job.legs if not leg.control]
    yield from scene_frames.run_part(deform_check.check(context, job.armature, by_keys, job.frames), 0.0, 0.1)
    reading, standing = yield from scene_frames.run_part(placement_job.read(context, job), 0.1, 0.3)
    clip = reading.clip
    with _original(job) as differs:
        if differs:
            again, _ = yield from scene_frames.run_part(placement_job.read(context, job), 0.3, 0.5)
            clip = again.clip
    feet = placement_job.with_soles(context, job, standing)
    floor, notes = yield from scene_frames.run_part(_ground(context, job), 0.5, 0.6)
    body = placement.Body(job, standing, feet)
    work = functools.partial(placement.place, job, body, clip, floor)
    placed = yield from scene_frames.run_part(in_thread(work), 0.6, 1.0)
    return reading, placed, notes


def _ground(context, job):
    """The ground, and sentences about it."""
    if job.plane:
        return bridge.library.Ground.plane(*job.plane, up="z"), []
    if not job.objects:
        raise CannotBakeError("The ground collection is empty: move objects into it")
    frames = job.frames if job.moves else None
    found, notes = yield from ground.read(context, job.objects, job.armature, frames)
    return found, [*notes, *(ground.hidden_objects(context, job.objects, job.armature) if job.named else [])]


def _channels(job, reading, placed):
    """The channels that change, and sentences about changes that locks prevent.

    Bones above legs that do not inherit the rotation of the body change too.
    """
    rig, keyed = Rig(job.armature), {name for leg in job.legs for name in leg.keyed}
    others = set(reading.bones).difference(*(leg.leg.chain for leg in job.legs))
    free = {name for name in others if not constraint_problem(rig.bones[name], rig)}
    return (yield from channels.of_clip(job.armature, reading, placed.clip, keyed | free, rig=rig))


def _feet_below_ik(context, job, placed):
    """The channels that turn feet as placed, after IK has moved their legs: a generator that yields progress.

    Knees of IK are not exactly those of the library, so that the parents of feet are turned otherwise.
    """
    feet = [name for leg in job.legs if leg.control for name in leg.keyed if name in leg.leg.chain]
    if not feet:
        return []
    reading, _ = yield from scene_frames.run_part(placement_job.read(context, job), 0.0, 0.8)
    clip = placement.with_world_rotations(reading.clip, placed.clip, feet)
    made, _ = yield from scene_frames.run_part(
        channels.of_clip(job.armature, reading, clip, set(feet), rig=Rig(job.armature)), 0.8, 1.0
    )
    return made


def _report(job, placed, changed, kept, notes):
    told = Report(
        [leg.name for leg in job.legs], len(job.frames), job.posed, placed.on_ground, placed.rise, placed.tilt, changed
    )
    told.left_out, told.notes = job.left_out, notes
    for name, missing in placed.missing.items():
        where = "" if job.posed else f" in {missing} {'frame' if missing == 1 else 'frames'}"
        told.problems.append(f"{foot_report.initial(name)} has no ground{where}: raise Trace Above and Below")
    for name, (far, number) in placed.short.items():
        where = "" if job.posed else f" at frame {job.frames[number]}"
        told.problems.append(f"{foot_report.initial(name)} foot does not reach: {foot_report.length(far)} short{where}")
    told.problems += kept
    return told


# --- the current pose ------------------------------------------------------------------------------------------------


def _place_pose(context, job, base):
    """Place the current pose."""
    armature = job.armature
    reading, placed, notes = yield from scene_frames.run_part(_place_clip(context, job), 0.0, 0.8)
    made, kept = yield from scene_frames.run_part(_channels(job, reading, placed), 0.8, 0.9)
    told = _report(job, placed, bool(made), kept, notes)
    _set_channels(context, armature, made)
    feet = yield from scene_frames.run_part(_feet_below_ik(context, job, placed), 0.9, 0.95)
    _set_channels(context, armature, feet)
    made += feet
    told.problems += yield from scene_frames.run_part(_away(context, job, placed, kept), 0.95, 1.0)
    if context.scene.tool_settings.use_keyframe_insert_auto:
        for channel in made:
            armature.keyframe_insert(channel.path, index=channel.index, group=channel.group)
    known = _before.setdefault(armature.session_uid, deque(maxlen=KEPT))
    known.append((_bytes(scene_frames.read_pose(armature)), base))
    return told


def _set_channels(context, armature, made):
    """Set the values of channels."""
    for channel in made:
        armature.path_resolve(channel.path)[channel.index] = channel.values[0]
    armature.update_tag(refresh={"DATA"})
    context.view_layer.update()


@contextlib.contextmanager
def _from_base(context, armature):
    """Start from the pose before the last placement, if the placed pose is unchanged. Restored after a failure."""
    pose = scene_frames.read_pose(armature)
    now = _bytes(pose)
    base = next((base for placed, base in reversed(_before.get(armature.session_uid, ())) if placed == now), pose)
    try:
        if base is not pose:
            scene_frames.write_pose(armature, base)
            context.view_layer.update()
        yield base
    except BaseException:
        scene_frames.write_pose(armature, pose)
        context.view_layer.update()
        raise


def _bytes(pose):
    return b"".join(values.tobytes() for values in pose.values())


# --- the displayed feet ----------------------------------------------------------------------------------------------


def _away(context, job, placed, kept):
    """Sentences about feet that are displayed elsewhere: a generator that yields progress."""
    few = np.unique(np.linspace(0, len(job.frames) - 1, CHECKED).astype(int))
    away = np.zeros((len(few), len(job.legs)))

    def look(depsgraph, number):
        reading = clip_reader.now(context, depsgraph, job.armature, job.bones, (), job.copies)
        away[number] = np.linalg.norm(
            placed.body.soles(placed.body.from_read(reading.clip.pose))[0] - placed.soles[few[number]], axis=-1
        )

    if job.posed:
        look(context.evaluated_depsgraph_get(), 0)
    else:
        yield from scene_frames.visit(context, job.frames[few], look)
    yield 1.0
    found = []
    for leg, off in zip(job.legs, away.T, strict=True):
        if off.max() > AWAY * placed.length:
            why = "locked channels" if kept else "its IK gets no closer" if leg.control else "something else moves it"
            at = f" at frame {job.frames[few[off.argmax()]]}"
            far = foot_report.length(off.max())
            found.append(f"{foot_report.initial(leg.name)} foot is displayed {far} from its place{at}: {why}")
    return found
