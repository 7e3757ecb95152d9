# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a bake: slide and sink of feet before and after, and frames with problems."""

import contextlib
import math
import time
from dataclasses import dataclass, field

import bpy
import numpy as np

from .. import bridge
from ..ui.last_report import Last
from . import overlay

EARLY = 0.25  # s: a start pose ends before
JUMPS = 10.0  # leg lengths per second: no foot is faster relative to its hip
MOVED = 1e-5  # of the size of legs: smaller motion counts as none
NOTHING = "nothing has changed: "  # prefix of the notes of ikcore that say so
AGAIN = "nothing has changed since the last bake"
REMEDIES = {
    "add_root_motion": "turn on Add Forward Motion to move it forward",
    "denoise": "turn on Remove Jitter",
    "fit_strides": "raise Fit Strides to adjust step length",
}
LEAST = 1e-4  # metres, or scene units without a unit system: the resolution of displayed lengths
_latest = Last()


@dataclass
class Line:
    """The result of a leg: lengths in scene units, NaN for the slide of a leg without a stance."""

    leg: str
    slide: tuple[float, float]  # before and after: largest in a stance
    sink: tuple[float, float]  # before and after: deepest penetration
    missed: int  # frames

    def texts(self):
        """Slide and sink, for the panel."""
        pairs = (("slide", self.slide), ("sink", self.sink))
        known = [pair for pair in pairs if np.isfinite(pair[1]).all()]
        return [f"{initial(self.leg)} {what} {length(before)} -> {length(after)}" for what, (before, after) in known]

    def out_of_reach(self):
        """On how many frames the leg does not reach."""
        return f"out of reach in {self.missed} {'frame' if self.missed == 1 else 'frames'}"


@dataclass
class Report:
    """The result of a bake."""

    frames: int
    lines: list[Line]
    problems: list[tuple[int, str]]  # frames, and the problem there
    notes: list[str]  # remarks on the clip and the scene
    kept: list[str] = field(default_factory=list)  # channels that locks and connections exclude
    away: list[tuple[str, float, int]] = field(default_factory=list)  # legs displayed elsewhere: distance, frame
    moved_by: str = ""  # the likely reason for that
    idle: str | None = None  # the reason if nothing has changed
    keys: dict[str, int] = field(default_factory=dict)  # of few keys: how many, by leg and "pelvis"
    times: dict[str, float] = field(default_factory=dict)  # seconds that each stage took
    trails: object = None  # trails.Trails: paths of feet, for the overlay

    def has_problems(self):
        """True if there are problems or notes for the user."""
        return bool(self.remarks() or any(line.missed for line in self.lines))

    def remarks(self):
        """All remarks, as sentences."""
        said = [f"Nothing has changed: {self.idle}"] if self.idle else []
        for leg, far, frame in self.away:
            why = "locked channels" if self.kept else self.moved_by
            said.append(f"{initial(leg)} foot is displayed {length(far)} from its baked place at frame {frame}: {why}")
        return [*said, *self.notes, *self.kept]

    def sentence(self):
        """The report in one line."""
        many = len(self.lines)
        text = f"Baked {many} {'leg' if many == 1 else 'legs'}, {self.frames} frames{slid(self.lines)}"
        for line in self.lines:
            if line.missed:
                text += f"; {line.leg} {line.out_of_reach()}"
        if self.keys:
            text += f". {self.key_count()}"
        return ". ".join([text, *self.remarks()])

    def key_count(self):
        """The number of keys."""
        counts = ", ".join(f"{name} {count}" for name, count in self.keys.items())
        return f"Keys instead of {self.frames}: {counts}"


def summary_line(named):
    """The reports of armatures, (name, report), in one line."""
    if len(named) == 1:
        return named[0][1].sentence()
    return ". ".join(f"{name}: {told.sentence()}" for name, told in named)


@contextlib.contextmanager
def measure_time(times, name):
    """Measure the duration of a stage, in seconds."""
    start = time.perf_counter()
    yield
    times[name] = time.perf_counter() - start


def initial(text):
    """A text with a capital first letter."""
    return text[:1].upper() + text[1:]


def slid(lines):
    """The largest slide before and after, if measured: the end of a sentence."""
    slides = [line.slide for line in lines if not np.isnan(line.slide).any()]
    if not slides:
        return ""
    before, after = (length(max(each)) for each in zip(*slides, strict=True))
    return f": largest slide {before} -> {after}"


def of(job, ready, baked, notes, nothing):
    """The report of a bake, given the reason if it has changed nothing."""
    before, after = baked.measured()
    lines = [_line(name, before, after, short > 0) for name, short in baked.shortfall.items()]
    found = [
        (start, stop, f"{name} foot does not reach: {length(short[start:stop].max())} short")
        for name, short in baked.shortfall.items()
        for start, stop in _runs(short > 0)
    ]
    moments = bridge.library.feet.verdicts.moments(after, before)
    found += [(each.start, each.stop, _problem(each)) for each in moments if each.leg in baked.shortfall]
    first, end = max(job.part[0], _begins(baked)), job.part[1]
    starts = [(max(start, first), text) for start, stop, text in found if start < end and stop > first]
    problems = [(int(job.frames[frame]), text) for frame, text in sorted(starts)]
    notes = [*notes, *_notes(job, ready, baked, nothing)]
    return Report(job.part[1] - job.part[0], lines, problems, notes, idle=nothing)


def _problem(moment):
    """A moment in words, with its amount: "left foot slides 3.1 cm", "left knee pops"."""
    part = "" if moment.what.startswith("knee") else " foot"
    amount = f" {length(moment.amount)}" if math.isfinite(moment.amount) else ""
    return f"{moment.leg}{part} {moment.what}{amount}"


def _begins(baked):
    """The first frame after a start pose from which legs jump, such as the T-pose of captures.

    A knee still pops in the first frame after that pose.
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
    """Sentences on forward motion prevented by a root that cannot move, and on the remedy."""
    if any(note.remedy == "fit_strides" for note in ready.notes):
        return "strides cannot be fitted to the ground: mute or apply it first, or set Fit Strides to 0"
    return "an in-place walk cannot move forward: mute or apply it first, or turn off Add Forward Motion"


def _notes(job, ready, baked, nothing):
    """The notes of ikcore that are not reported yet, with the names of options in the panel."""
    still = [note for note in baked.notes if note.unchanged]
    said = list(ready.notes)
    others = [note for note in ready.still_true(baked.notes) if not note.unchanged]
    said += [f"{note}; {REMEDIES[note.remedy]}" if note.remedy else note for note in others]
    if still and not nothing:
        said += [AGAIN] if job.source else still
    said = [initial(note) for note in said]
    if job.carrier and root_moved(ready):
        root, carrier = job.carrier
        said.append(f"{root} cannot move, so {carrier} was moved: bones not parented to {carrier} stay behind")
    return said


def idle(job, clips, baked):
    """The reason if a bake has moved no leg compared with all of these clips, or None."""
    legs, skeleton = [leg for leg in baked.feet if job.chosen is None or leg.name in job.chosen], baked.clip.skeleton
    joints = sorted({skeleton.index(joint) for leg in legs for joint in leg.chain})
    after, *before = (
        skeleton.forward(clip.pose[slice(*job.part)]).positions[:, joints] for clip in (baked.clip, *clips)
    )
    if max(np.abs(after - places).max() for places in before) > MOVED * np.ptp(after[0], axis=0).max():
        return None
    if job.settings.weight == 0:
        return "Influence is 0"
    if not baked.stances:
        return "no foot is planted, see Ground and Contacts"
    said = (note.removeprefix(NOTHING) for note in baked.notes if note.startswith(NOTHING))
    return next(said, "the feet are already in place")


def _runs(mask):
    return bridge.library.feet.metrics.runs(mask).tolist()


def _line(name, before, after, missed):
    def both(value):
        return tuple(value(each.measures[name]) for each in (before, after))

    slide = both(lambda measure: measure.drift_most)
    sink = both(lambda measure: np.nanmax([0.0, measure.penetration, measure.penetration_swing]))
    return Line(name, slide, sink, int(np.count_nonzero(missed)))


def length(value):
    """A length in the units of the scene: zero in the unit of the resolution."""
    shown = round(value * _scale() / LEAST)
    system = bpy.context.scene.unit_settings.system
    text = bpy.utils.units.to_string(system, "LENGTH", (shown or 1) * LEAST, precision=2, split_unit=False).strip()
    return text if shown else f"0{text.lstrip('.0123456789')}"


def in_degrees(radians):
    """An angle in degrees: zero below a hundredth."""
    degrees = math.degrees(radians)
    return f"{plain(degrees)}°" if degrees >= 0.01 else "0°"


def deviation(far, radians):
    """A distance, and an angle of at least a hundredth of a degree."""
    turned = in_degrees(radians)
    return length(far) if turned == "0°" else f"{length(far)} and {turned}"


def plain(value):
    """A number with two digits, without an exponent; whole numbers in full."""
    text = f"{value:.2g}"
    return f"{value:.0f}" if "e+" in text else text if "e" not in text else f"{value:.6f}".rstrip("0")


def within(value):
    """An upper bound of lengths, in the units of the scene: at least a tenth of a millimetre."""
    least = LEAST / _scale()
    return length(max(math.ceil(value / least), 1) * least)


def turned_within(degrees):
    """An upper bound of angles: at least a hundredth of a degree."""
    return f"{max(math.ceil(100 * degrees), 1) / 100:g}°"


def _scale():
    """Metres per scene unit. Without a unit system the scale is ignored."""
    unit = bpy.context.scene.unit_settings
    return 1.0 if unit.system == "NONE" else unit.scale_length


def off(what, name, far, askew):
    """The distance of a bone or a constraint from its pin or target, in words."""
    return f"{name}: {deviation(far, askew or 0.0)} from its {what}"


def keep(armature, action, report):
    """Store the report of an action for the panel, and its trails for the overlay."""
    _latest.keep(armature, action, report)
    overlay.keep(armature, action, report.trails)


def latest(armature):
    """The report of an armature's active action, or None."""
    return _latest.of(armature)
