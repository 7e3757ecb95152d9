# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of a bake in words: slide and penetration of feet before and after, and frames to look at."""

import contextlib
import math
import time
from dataclasses import dataclass, field

import bpy
import numpy as np

from . import bridge, overlay
from .last import Last

EARLY = 0.25  # seconds: an initial pose is left within this time
JUMPS = 10.0  # leg lengths per second: largest speed of a foot relative to its hip
MOVED = 1e-5  # relative to the size of legs: smaller changes count as none
NOTHING = "nothing has changed: "  # the start of ikcore's note about it
AGAIN = "nothing has changed since it was baked before"
REMEDIES = {
    "add_root_motion": "Add Forward Motion lets it travel",
    "denoise": "Remove Jitter smooths that",
    "fit_strides": "raise Fit Strides to adjust step length",
}
LEAST = 1e-4  # smallest length shown, in metres, or in units if the scene has no metric units
_latest = Last()


@dataclass
class Line:
    """Results of a leg: lengths in scene units, NaN for the slide of a leg without stances."""

    leg: str
    slide: tuple[float, float]  # before and after: the largest in a stance
    sink: tuple[float, float]  # before and after: the deepest penetration
    missed: int  # frames

    def texts(self):
        """The panel's text about slide and penetration."""
        pairs = (("slide", self.slide), ("sink", self.sink))
        known = [pair for pair in pairs if np.isfinite(pair[1]).all()]
        return [f"{self.leg} {what}: {length(before)} to {length(after)}" for what, (before, after) in known]


@dataclass
class Report:
    """Results of a bake."""

    frames: int
    lines: list[Line]
    problems: list[tuple[int, str]]  # frames with their problems
    notes: list[str]  # what is ignored in the scene
    kept: list[str] = field(default_factory=list)  # changes that locks and connections prevent
    away: list[tuple[str, float, int]] = field(
        default_factory=list
    )  # legs that are not displayed where they were put: distance, frame
    moved_by: str = ""  # the likely reason for that
    idle: str | None = None  # the reason if nothing has changed
    keys: dict[str, int] = field(default_factory=dict)  # number of reduced keys, by leg and "pelvis"
    times: dict[str, float] = field(default_factory=dict)  # duration of each stage, in seconds
    trails: object = None  # trails.Trails: foot paths, for the overlay

    def troubled(self):
        """True if there is something to look at."""
        return bool(self.remarks() or any(line.missed for line in self.lines))

    def remarks(self):
        """Further remarks, as sentences."""
        said = [f"Nothing has changed: {self.idle}"] if self.idle else []
        for leg, far, frame in self.away:
            why = "by what locks keep" if self.kept else self.moved_by
            said.append(f"{leg} is seen up to {length(far)} from where it was put, in frame {frame}: {why}")
        return [*said, *self.notes, *self.kept]

    def sentence(self):
        """The report in one line."""
        many = len(self.lines)
        text = f"Baked {many} {'leg' if many == 1 else 'legs'}, {self.frames} frames{slid(self.lines)}"
        for line in self.lines:
            if line.missed:
                text += f"; {line.leg} does not reach in {line.missed} frames"
        if self.keys:
            text += f". {self.reduced()}"
        return ". ".join([text, *self.remarks()])

    def reduced(self):
        """The number of keys."""
        counts = ", ".join(f"{name} {count}" for name, count in self.keys.items())
        return f"Keys instead of {self.frames}: {counts}"

    def took(self):
        """Duration of each stage, in one line."""
        return ", ".join(f"{name} {_span(seconds)}" for name, seconds in self.times.items())


def said(named):
    """The result in one line; for several armatures, (name, report), with their names."""
    if len(named) == 1:
        return named[0][1].sentence()
    return ". ".join(f"{name}: {told.sentence()}" for name, told in named)


@contextlib.contextmanager
def timed(times, name):
    """Measure how long this block takes, in seconds."""
    start = time.perf_counter()
    yield
    times[name] = time.perf_counter() - start


def _span(seconds):
    return f"{1000 * seconds:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"


def slid(lines):
    """Largest slide of feet before and after, if measured: the end of a sentence."""
    slides = [line.slide for line in lines if not np.isnan(line.slide).any()]
    if not slides:
        return ""
    before, after = (length(max(each)) for each in zip(*slides, strict=True))
    return f": feet slid up to {before}, now {after}"


def of(job, ready, baked, notes, nothing):
    """The report of a bake, given the reason if it has changed nothing."""
    before, after = baked.measured()
    lines = [_line(name, before, after, short > 0) for name, short in baked.short.items()]
    found = [(*run, f"{name} does not reach") for name, short in baked.short.items() for run in _runs(short > 0)]
    moments = bridge.library.feet.verdicts.moments(after, before)
    found += [(each.start, each.stop, f"{each.leg} {each.what}") for each in moments if each.leg in baked.short]
    first, end = max(job.part[0], _begins(baked)), job.part[1]
    found = [(max(start, first), text) for start, stop, text in found if start < end and stop > first]
    problems = [(int(job.frames[frame]), text) for frame, text in sorted(found)]
    said = [note[:1].upper() + note[1:] for note in _notes(job, ready, baked, nothing)]
    return Report(job.part[1] - job.part[0], lines, problems, [*notes, *said], idle=nothing)


def _begins(baked):
    """The first frame of the actual motion, after a pose from which legs jump, such as the T-pose of captures.

    A knee still pops in the frame after such a pose.
    """
    clip = baked.source
    start = clip.skeleton.forward(clip.pose[: math.ceil(EARLY * clip.fps) + 1]).positions
    jumps = {0}
    for leg in baked.feet:
        places = start[:, [clip.skeleton.index(joint) for joint in leg.chain if joint in clip.skeleton.names]]
        length = np.linalg.norm(np.diff(places[0], axis=0), axis=-1).sum()
        speeds = np.linalg.norm(np.diff(places - places[:, :1], axis=0), axis=-1).max(axis=-1) * clip.fps
        jumps.update((np.flatnonzero(speeds > JUMPS * length) + 2).tolist())
    return max(jumps)


def root_moved(ready):
    """True if the preparation of a clip has changed the path of its root."""
    return any(note.remedy in ("add_root_motion", "fit_strides") for note in ready.notes)


def held_up(ready):
    """A sentence about the effect of a root that cannot move, with advice."""
    if any(note.remedy == "fit_strides" for note in ready.notes):
        return "strides cannot be fitted to the ground: mute that or apply it first, or set Fit Strides to 0"
    return "in-place motion cannot travel: mute that or apply it first, or switch off Add Forward Motion"


def _notes(job, ready, baked, nothing):
    """Notes of ikcore that are not yet reported, with options named as in the panel."""
    still = [note for note in baked.notes if note.unchanged]
    said = list(ready.notes)
    others = [note for note in ready.still_true(baked.notes) if not note.unchanged]
    said += [f"{note}; {REMEDIES[note.remedy]}" if note.remedy else note for note in others]
    if still and not nothing:
        said += [AGAIN] if job.source else still
    if job.carrier and root_moved(ready):
        root, carrier = job.carrier
        said.append(f"In place of {root}, which is held, {carrier} went: bones that do not hang on it stay")
    return said


def idle(job, clips, baked):
    """The reason why a bake has not moved legs in any of these clips, or None if it has."""
    legs, skeleton = [leg for leg in baked.feet if job.chosen is None or leg.name in job.chosen], baked.clip.skeleton
    joints = sorted({skeleton.index(joint) for leg in legs for joint in leg.chain})
    after, *before = (
        skeleton.forward(clip.pose[slice(*job.part)]).positions[:, joints] for clip in (baked.clip, *clips)
    )
    if max(np.abs(after - places).max() for places in before) > MOVED * np.ptp(after[0], axis=0).max():
        return None
    if job.settings.weight == 0:
        return "Amount is 0"
    if not baked.stances:
        return "no foot comes to stand, see Ground and Contacts"
    said = (note.removeprefix(NOTHING) for note in baked.notes if note.startswith(NOTHING))
    return next(said, "the feet are where they should be")


def _runs(mask):
    return bridge.library.feet.metrics.runs(mask).tolist()


def _line(name, before, after, missed):
    def both(value):
        return tuple(value(each.measures[name]) for each in (before, after))

    slide = both(lambda measure: measure.drift_most)
    sink = both(lambda measure: np.nanmax([0.0, measure.penetration, measure.penetration_swing]))
    return Line(name, slide, sink, int(np.count_nonzero(missed)))


def length(value):
    """A length as the scene shows it; in the smallest unit shown it may be 0."""
    shown = round(value * _scale() / LEAST)
    system = bpy.context.scene.unit_settings.system
    text = bpy.utils.units.to_string(system, "LENGTH", (shown or 1) * LEAST, precision=2, split_unit=False).strip()
    return text if shown else f"0{text.lstrip('.0123456789')}"


def in_degrees(radians):
    """An angle in degrees; 0 below a hundredth."""
    degrees = math.degrees(radians)
    return f"{plain(degrees)}°" if degrees >= 0.01 else "0°"


def plain(value):
    """A number with two digits, without an exponent; whole numbers in full."""
    text = f"{value:.2g}"
    return f"{value:.0f}" if "e+" in text else text if "e" not in text else f"{value:.6f}".rstrip("0")


def within(value):
    """An upper bound of lengths, as the scene shows it: at least a tenth of a millimetre."""
    least = LEAST / _scale()
    return length(max(math.ceil(value / least), 1) * least)


def turned_within(degrees):
    """An upper bound of angles: at least a hundredth of a degree."""
    return f"{max(math.ceil(100 * degrees), 1) / 100:g}°"


def _scale():
    """Metres per scene unit; without units the scale is ignored."""
    unit = bpy.context.scene.unit_settings
    return 1.0 if unit.system == "NONE" else unit.scale_length


def off(what, name, far, askew):
    """Deviation of a bone from its pin, or of a constraint from its target, in words."""
    turned = f" and {in_degrees(askew)}" if askew else ""
    return f"{name} is {length(far)}{turned} off its {what}"


def keep(armature, action, report):
    """Store the report of a baked action for the panel, and its trails for the overlay."""
    _latest.keep(armature, action, report)
    overlay.keep(armature, action, report.trails)


def latest(armature):
    """The report of an armature's active action, or None."""
    return _latest.of(armature)
