# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins held live: the pose follows while pins or bones are dragged, and while the animation plays.

Nothing of it is stored in a file. Blender tells of every change after it has evaluated the scene; the pose is bent from
what it was when something else than this changed it last, so that what is dragged to and fro leaves no trace.
"""

import contextlib
from collections import deque
from dataclasses import dataclass, field

import bpy
import numpy as np

from . import bent, channels, clips, pins, stage
from .armatures import CannotBakeError
from .report import off

NEAR = 1e-6  # what is no change, in matrices
BASES = 50  # poses that are remembered, as undo may bring back what they were bent to

_held = {}  # what is held live, by the uids of armatures
_busy = False  # while this writes a pose, or a bake goes through frames


@dataclass(eq=False)
class _Base:
    """A pose that others are bent from."""

    bones: set | None  # that are looked at
    reading: object  # clips.Reading
    pose: dict  # all channels
    left: set = field(default_factory=set)  # what it was bent to, as hashes


@dataclass
class _Live:
    """An armature that is held live."""

    held: object = None  # pins.Held, as the pose was bent for
    bases: deque = field(default_factory=lambda: deque(maxlen=BASES))  # the last is what it is bent from
    written: np.ndarray | None = None  # all of the armature as this has left it
    places: np.ndarray | None = None  # of pins
    sides: dict | None = None  # knees.OneWay, as the pose it is bent from has them
    undone: _Base | None = None  # what the pose was bent from that undo has brought back, until it is seen
    problem: str | None = None  # why it is not held, as a sentence
    missed: tuple = ()  # sentences about pins that are not reached
    kept: tuple = ()  # and about what locks and connections keep from being done


def is_on(armature):
    """Whether an armature is held live."""
    return armature.session_uid in _held


def switch(armature, *, on):
    """Hold an armature live, or let go of it: the pose stays."""
    _held.pop(armature.session_uid, None)
    if on:
        pins.forget()
        _held[armature.session_uid] = _Live()
        armature.update_tag(refresh={"DATA"})
    _listen()


def _listen():
    """Let Blender tell of changes while anything is held, and of nothing else."""
    handlers = bpy.app.handlers
    for found, call in (
        (handlers.depsgraph_update_post, _changed),
        (handlers.frame_change_post, _changed),
        (handlers.undo_post, _undone),
        (handlers.redo_post, _undone),
        (handlers.load_pre, leave),
    ):
        if (call in found) != bool(_held):
            (found.append if _held else found.remove)(call)


def leave(*_):
    """Hold nothing any more: another file is about to be opened, say."""
    _held.clear()
    _listen()


def remarks(armature):
    """What is wrong with an armature that is held live, as sentences."""
    here = _held.get(armature.session_uid)
    return [] if here is None else [here.problem] if here.problem else list(here.missed)


def notes(armature):
    """What locks and connections keep an armature that is held live from doing, as sentences."""
    here = _held.get(armature.session_uid)
    return [] if here is None or here.problem else list(here.kept)


@contextlib.contextmanager
def paused():
    """Hold nothing while this lasts."""
    global _busy
    before, _busy = _busy, True
    try:
        yield
    finally:
        _busy = before


def _changed(scene, depsgraph=None):
    """Called by Blender when something has changed, or the frame has."""
    rendering = bpy.app.is_job_running("RENDER")  # type: ignore[func-returns-value]
    if not _held or _busy or rendering:
        return
    with paused():
        for armature in filter(None, bpy.context.view_layer.objects):
            if here := _held.get(armature.session_uid):
                _follow(here, armature, depsgraph)


def _undone(*_):
    """Called by Blender when it has brought a pose back, before the animation plays over what was not keyed of it."""
    for armature in filter(None, bpy.context.view_layer.objects):
        if here := _held.get(armature.session_uid):
            with contextlib.suppress(CannotBakeError):
                here.undone = _known(here, pins.held(armature), _now(armature))


def _follow(here, armature, depsgraph):
    """Bend the pose for where pins are now, if that is news."""
    undone, here.undone = here.undone, None
    try:
        held = pins.held(armature)
        places, now = held.places(depsgraph), _now(armature)
        if held != here.held or not _same(now, here.written):
            if base := undone or _known(here, held, now):
                here.bases.remove(base)
            here.bases.append(base or _seen(depsgraph, armature, held))
            here.sides = pins.sides(armature, held, here.bases[-1].reading.clip)
        elif _same(places, here.places):
            return
        here.held, here.places, here.problem = held, places, None
        _bend(here, armature)
    except (CannotBakeError, TypeError, ValueError) as error:
        here.problem, here.held = str(error), None


def _known(here, held, now):
    """What a pose was bent from that undo, say, has brought back; None if someone has posed it."""
    return next((base for base in here.bases if hash(now.tobytes()) in base.left and base.bones == held.bones), None)


def _seen(depsgraph, armature, held):
    """The pose that is shown, to be bent."""
    return _Base(held.bones, clips.now(bpy.context, depsgraph, armature, held.bones), stage.read_pose(armature))


def _bend(here, armature):
    base = here.bases[-1]
    clip, errors = bent.bent(here.held, base.reading.clip, here.places[np.newaxis], here.sides)
    made, kept = stage.finished(channels.of_clip(armature, base.reading, clip))
    stage.write_pose(armature, base.pose)
    for channel in made:
        armature.path_resolve(channel.path)[channel.index] = channel.values[0]
    here.written = _now(armature)
    base.left.add(hash(here.written.tobytes()))
    here.kept = tuple(kept)
    here.missed = tuple(off("pin", *each) for *each, _ in bent.missed(here.held.names, clip, errors))


def _now(armature):
    """All that channels say, and the object: what changes if anything but this changes it."""
    flat = np.empty(16 * (len(armature.pose.bones) + 1), np.float32)
    armature.pose.bones.foreach_get("matrix_basis", flat[16:])
    flat[:16] = np.ravel(armature.matrix_world)
    return flat


def _same(now, before):
    return before is not None and now.shape == before.shape and np.abs(now - before).max() <= NEAR * np.abs(now).max()
