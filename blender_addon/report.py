# SPDX-License-Identifier: GPL-3.0-or-later
"""How a bake went, in words: how far feet slide and sink before and after, and which frames to look at."""

from dataclasses import dataclass, field

import bpy
import numpy as np

from . import bridge

MISSED = 1e-3  # of the length of a leg: what is out of reach

_kept = {}  # the latest report of each armature, while Blender runs


@dataclass
class Line:
    """What became of a leg: lengths in units of the scene, NaN where nothing was measured."""

    leg: str
    slide: tuple[float, float]  # before and after: the most in a stance
    sink: tuple[float, float]  # before and after: the deepest
    missed: int  # frames


@dataclass
class Report:
    """How a bake went."""

    frames: int
    lines: list[Line]
    problems: list[tuple[int, str]]  # frames and what is wrong there
    kept: list[str] = field(default_factory=list)  # what locks and connections keep from being done

    def troubled(self):
        """Whether there is something to look at."""
        return bool(self.kept or any(line.missed for line in self.lines))

    def sentence(self):
        """The report in one line."""
        many = len(self.lines)
        text = f"Baked {many} {'leg' if many == 1 else 'legs'}, {self.frames} frames"
        if slides := [line.slide for line in self.lines if not np.isnan(line.slide).any()]:
            before, after = (length(max(each)) for each in zip(*slides, strict=True))
            text += f": feet slid up to {before}, now {after}"
        for line in self.lines:
            if line.missed:
                text += f"; {line.leg} does not reach in {line.missed} frames"
        return "; ".join([text, *self.kept])


def of(job, seen, baked):
    """The report of a bake."""
    chosen = [leg.name for leg in seen.feet if job.chosen is None or leg.name in job.chosen]
    before, after = _measured(seen, baked)
    lines = [_line(name, before, after, baked) for name in chosen]
    found = [
        (int(job.frames[moment.start]), f"{moment.leg} {moment.what}")
        for moment in (bridge.library.feet.verdicts.moments(after, before) if after else ())
        if moment.leg in chosen and job.part[0] <= moment.start < job.part[1]
    ]
    found += [
        (int(job.frames[start]), f"{name} does not reach")
        for name in chosen
        for start, _ in bridge.library.feet.metrics.runs(_missed(name, baked)).tolist()
    ]
    return Report(job.part[1] - job.part[0], lines, sorted(found))


def _measured(seen, baked):
    """The legs before and after, on the ground of the bake; nothing where that moves."""
    if baked.ground.moves:
        return None, None
    measure = bridge.library.feet.measure
    return tuple(
        measure(clip, baked.feet, baked.ground, contacts=baked.contacts) for clip in (baked.source, baked.clip)
    )


def _line(name, before, after, baked):
    def both(value):
        return tuple(value(each.measures[name]) if each else np.nan for each in (before, after))

    slide = both(lambda measure: measure.drift_most)
    sink = both(lambda measure: np.nanmax([0.0, measure.penetration, measure.penetration_swing]))
    return Line(name, slide, sink, int(np.count_nonzero(_missed(name, baked))))


def _missed(name, baked):
    """In which frames a leg does not reach where its foot should be."""
    leg, skeleton = baked.feet[name], baked.clip.skeleton
    chain = [skeleton.index(joint) for joint in (*leg.knees, leg.ankle) if joint]
    size = np.linalg.norm(skeleton.offsets[chain], axis=-1).sum()
    return baked.short[name] > MISSED * size


def length(value):
    """A length as the scene shows it."""
    unit = bpy.context.scene.unit_settings
    return bpy.utils.units.to_string(unit.system, "LENGTH", value * unit.scale_length, precision=3, split_unit=False)


def keep(armature, report):
    """Keep the report of what an armature plays now, for the panel."""
    _kept[armature.session_uid] = (armature.animation_data.action.session_uid, report)


def latest(armature):
    """The report of what an armature plays, or None."""
    action, told = _kept.get(armature.session_uid, (None, None))
    animation = armature.animation_data
    return told if animation and animation.action and animation.action.session_uid == action else None
