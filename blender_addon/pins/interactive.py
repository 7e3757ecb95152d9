# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins held live: the pose follows while pins or bones are dragged, and during playback.

Nothing is stored in the file. Blender reports every change after evaluating the scene. The pose is always solved from
the last pose set by anything else, so dragging back and forth has no lasting effect.
"""

import contextlib
from collections import deque
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..animation import channels, clip_reader, scene_frames
from ..feet.foot_report import off
from ..rig.armatures import CannotBakeError, Rig
from ..ui.handlers import listen
from . import full_body, pins

NEAR = 1e-6  # tolerance of matrices
BASES = 50  # number of remembered poses, because undo may restore their solutions

_held = {}  # what is held live, by the uids of armatures
_busy = False  # while this module writes a pose, or a bake visits frames


@dataclass(eq=False)
class _Base:
    """A pose from which others are solved."""

    bones: set | None  # bones that are read
    reading: object  # clip_reader.Reading
    pose: dict  # all channels
    left: set = field(default_factory=set)  # hashes of its solutions


@dataclass
class _Live:
    """An armature that is held live."""

    held: object = None  # pins.PinSet for which the pose was solved
    bases: deque = field(default_factory=lambda: deque(maxlen=BASES))  # the last one is the current base
    written: np.ndarray | None = None  # the armature's state after the last solve
    places: np.ndarray | None = None  # of pins
    ready: tuple = ()  # the skeleton and the bones that move, for the current base
    undone: _Base | None = None  # the base of a pose that undo has restored, until it is read
    problem: str | None = None  # the reason why it is not held, as a sentence
    missed: tuple = ()  # sentences about pins that are not reached
    kept: tuple = ()  # sentences about changes that locks and connections prevent


def is_on(armature):
    """True if an armature is held live."""
    return armature.session_uid in _held


def switch(armature, *, on):
    """Hold an armature live, or stop; the pose is kept."""
    _held.pop(armature.session_uid, None)
    if on:
        pins.forget()
        _held[armature.session_uid] = _Live()
        armature.update_tag(refresh={"DATA"})
    _listen()


def _listen():
    """Register handlers while anything is held live, and remove them otherwise."""
    frames = {"depsgraph_update_post": _on_change, "frame_change_post": _on_change}
    listen(bool(_held), undo_post=_undone, redo_post=_undone, load_pre=leave, **frames)


def leave(*_):
    """Stop holding everything, for example before another file is opened."""
    _held.clear()
    _listen()


def remarks(armature):
    """Problems of an armature that is held live, as sentences."""
    here = _held.get(armature.session_uid)
    return [] if here is None else [here.problem] if here.problem else list(here.missed)


def notes(armature):
    """Changes that locks and connections prevent on an armature that is held live, as sentences."""
    here = _held.get(armature.session_uid)
    return [] if here is None or here.problem else list(here.kept)


@contextlib.contextmanager
def pause():
    """Suspend live pins temporarily."""
    global _busy
    before, _busy = _busy, True
    try:
        yield
    finally:
        _busy = before


def _on_change(scene, depsgraph=None):
    """Called by Blender after a change of the scene or the frame."""
    rendering = bpy.app.is_job_running("RENDER")  # type: ignore[func-returns-value]
    if not _held or _busy or rendering:
        return
    with pause():
        for armature in filter(None, bpy.context.view_layer.objects):
            if here := _held.get(armature.session_uid):
                _follow(here, armature, depsgraph)


def _undone(*_):
    """Called by Blender after undo, before the animation overwrites channels without keys."""
    for armature in filter(None, bpy.context.view_layer.objects):
        if here := _held.get(armature.session_uid):
            with contextlib.suppress(CannotBakeError):
                here.undone = _known_base(here, pins.read_pins(armature), _now(armature))


def _follow(here, armature, depsgraph):
    """Solve the pose if pins have moved."""
    undone, here.undone = here.undone, None
    try:
        rig = Rig(armature)
        held = pins.read_pins(armature, rig)
        places, now = held.places(depsgraph), _now(armature)
        if held != here.held or not _same(now, here.written):
            if base := undone or _known_base(here, held, now):
                here.bases.remove(base)
            here.bases.append(base or _displayed_base(depsgraph, armature, held))
            clip = here.bases[-1].reading.clip
            here.ready = full_body.ready(held, clip, pins.sides(armature, held, clip))
        elif _same(places, here.places):
            return
        here.held, here.places, here.problem = held, places, None
        _bend(here, rig)
    except (CannotBakeError, TypeError, ValueError) as error:
        here.problem, here.held = str(error), None


def _known_base(here, held, now):
    """The base of a pose restored by undo, for example; None for a new pose."""
    return next((base for base in here.bases if hash(now.tobytes()) in base.left and base.bones == held.bones), None)


def _displayed_base(depsgraph, armature, held):
    """The displayed pose, as a base."""
    return _Base(
        held.bones, clip_reader.now(bpy.context, depsgraph, armature, held.bones), scene_frames.read_pose(armature)
    )


def _bend(here, rig):
    """Set the pose that the pins ask for."""
    armature, base = rig.object, here.bases[-1]
    clip, errors = full_body.solve_pins(here.held, base.reading.clip, here.places[np.newaxis], *here.ready)
    made, kept = scene_frames.run(channels.of_clip(armature, base.reading, clip, rig=rig))
    scene_frames.write_pose(armature, _changed_pose(armature, base.pose, made))
    here.written = _now(armature)
    base.left.add(hash(here.written.tobytes()))
    here.kept = tuple(kept)
    here.missed = tuple(off("pin", *each) for *each, _ in full_body.missed_goals(here.held.names, clip, errors))


def _changed_pose(armature, pose, made):
    """A pose with the first values of these channels."""
    changed, rows = {name: values.copy() for name, values in pose.items()}, {}
    for channel in made:
        name, group = channel.path.rpartition(".")[2], channel.group
        row = rows[group] if group in rows else rows.setdefault(group, armature.pose.bones.find(group))
        changed[name][row * scene_frames.POSE_CHANNELS[name] + channel.index] = channel.values[0]
    return changed


def _now(armature):
    """All channels and the object's matrix: they change if anything else changes the pose."""
    flat = np.empty(16 * (len(armature.pose.bones) + 1), np.float32)
    armature.pose.bones.foreach_get("matrix_basis", flat[16:])
    flat[:16] = np.ravel(armature.matrix_world)
    return flat


def _same(now, before):
    return before is not None and now.shape == before.shape and np.abs(now - before).max() <= NEAR * np.abs(now).max()
