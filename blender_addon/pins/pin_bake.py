# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake of pins: an animation solved for its pins, as keys in a copy of the action."""

import functools
from dataclasses import dataclass

import numpy as np

from ..animation import actions, channels, clip_reader, scene_frames
from ..feet.foot_report import off
from ..ui.background import in_thread
from . import full_body, interactive, pins


@dataclass
class Report:
    """Results of a bake of pins."""

    pins: int
    frames: int
    changed: bool
    missed: list[str]  # sentences about pins that are not reached
    kept: list[str]  # sentences about changes that locks and connections prevent

    def has_problems(self):
        """True if there is something to look at."""
        return bool(self.missed or self.kept or not self.changed)

    def sentence(self):
        """The report in one line."""
        text = f"Baked {self.pins} {'pin' if self.pins == 1 else 'pins'}, {self.frames} frames"
        if not self.changed:
            text += "; nothing has changed: the bones are already at their pins"
        return "; ".join([text, *self.missed, *self.kept])


def bake(context, armature, held, frames):
    """Bake these frames with pins into a new action.

    A generator that yields progress, and returns a Report. The file is not changed before everything that can fail is
    done.
    """
    with interactive.pause(), scene_frames.restore_after(context, [armature], poses=True):
        reading, clip, places = yield from scene_frames.run_part(_look(context, armature, held, frames), 0.0, 0.6)
        ready = full_body.ready(held, clip, pins.sides(armature, held, clip))
        work = functools.partial(full_body.solve_pins, held, clip, places, *ready)
        clip, errors = yield from scene_frames.run_part(in_thread(lambda _: work()), 0.6, 0.8)
        made, kept = yield from scene_frames.run_part(channels.of_clip(armature, reading, clip), 0.8, 0.9)
        missed = [
            f"{off('pin', *each)} at frame {frames[at]}"
            for *each, at in full_body.missed_goals(held.names, clip, errors)
        ]
        if made:
            plans = yield from scene_frames.run_part(
                actions.copy_actions([(armature, made)], frames, pins.TITLE), 0.9, 1.0
            )
            if source := pins.source(armature):
                plans[0][1][actions.SOURCE] = source
            with actions.swap_actions(plans):
                pass
    if made and not interactive.is_on(armature):  # live pins show the pose already
        with scene_frames.restore_after(context, [armature]):
            pass  # the frame is shown again, with the new keys
    return Report(len(held.pins), len(frames), bool(made), missed, kept)


def _look(context, armature, held, frames):
    """The active action, the clip to solve, and the positions of pins: a generator that yields progress."""
    source = pins.source(armature)
    reading = yield from scene_frames.run_part(clip_reader.read(context, armature, frames, held.bones), 0.0, 0.4)
    clip = reading.clip
    if source and source != armature.animation_data.action:
        with actions.play_action(armature, source):
            steps = clip_reader.read(context, armature, frames, held.bones)
            clip = (yield from scene_frames.run_part(steps, 0.4, 0.6)).clip
    places = np.empty((len(frames), len(held.pins), 4, 4))

    def look(depsgraph, number):
        places[number] = held.places(depsgraph)

    yield from scene_frames.run_part(scene_frames.visit(context, frames, look), 0.6, 1.0)
    return reading, clip, places
