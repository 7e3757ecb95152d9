# SPDX-License-Identifier: GPL-3.0-or-later
"""How a bake went, in words: how far feet slide and sink before and after, and which frames to look at."""

import contextlib
import math
import time
from dataclasses import dataclass, field

import bpy
import numpy as np

from . import bridge, overlay
from .last import Last

EARLY = 0.25  # seconds: a pose that a clip only starts from is left before
JUMPS = 10.0  # lengths of a leg a second: no foot is faster, seen from its hip
MOVED = 1e-5  # of the size of legs: what goes no farther has not moved
NOTHING = "nothing has changed: "  # how a note of ikcore starts that says so
AGAIN = "nothing has changed since it was baked before"
REMEDIES = {
    "add_root_motion": "Add Forward Motion lets it travel",
    "denoise": "Remove Jitter smooths that",
    "fit_strides": "raise Fit Strides to adjust step length",
}
LEAST = 1e-4  # what is told of lengths, in metres, or in units where the scene has no others
_latest = Last()


@dataclass
class Line:
    """What became of a leg: lengths in units of the scene, NaN for the slide of a leg that never stands."""

    leg: str
    slide: tuple[float, float]  # before and after: the most in a stance
    sink: tuple[float, float]  # before and after: the deepest
    missed: int  # frames

    def texts(self):
        """What the panel says of slide and sink."""
        pairs = (("slide", self.slide), ("sink", self.sink))
        known = [pair for pair in pairs if np.isfinite(pair[1]).all()]
        return [f"{self.leg} {what}: {length(before)} to {length(after)}" for what, (before, after) in known]


@dataclass
class Report:
    """How a bake went."""

    frames: int
    lines: list[Line]
    problems: list[tuple[int, str]]  # frames and what is wrong there
    notes: list[str]  # what of the scene does not count
    kept: list[str] = field(default_factory=list)  # what locks and connections keep from being done
    away: list[tuple[str, float, int]] = field(default_factory=list)  # legs not seen where they were put: how far, when
    moved_by: str = ""  # the likely reason for that
    idle: str | None = None  # why nothing has changed, if that is so
    keys: dict[str, int] = field(default_factory=dict)  # of few keys: how many, by leg and "pelvis"
    times: dict[str, float] = field(default_factory=dict)  # seconds that each stage took
    trails: object = None  # trails.Trails: where feet go, for the overlay

    def troubled(self):
        """Whether there is something to look at."""
        return bool(self.remarks() or any(line.missed for line in self.lines))

    def remarks(self):
        """What else there is to know, as sentences."""
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
        """How many keys there are."""
        counts = ", ".join(f"{name} {count}" for name, count in self.keys.items())
        return f"Keys instead of {self.frames}: {counts}"

    def took(self):
        """How long each stage took, in one line."""
        return ", ".join(f"{name} {_span(seconds)}" for name, seconds in self.times.items())


def said(named):
    """How a bake went, in one line: of several armatures, (name, report), each by its name."""
    if len(named) == 1:
        return named[0][1].sentence()
    return ". ".join(f"{name}: {told.sentence()}" for name, told in named)


@contextlib.contextmanager
def timed(times, name):
    """Note how long this lasts, in seconds."""
    start = time.perf_counter()
    yield
    times[name] = time.perf_counter() - start


def _span(seconds):
    return f"{1000 * seconds:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"


def slid(lines):
    """How far feet slid at most, and still do, if that was measured: the tail of a sentence."""
    slides = [line.slide for line in lines if not np.isnan(line.slide).any()]
    if not slides:
        return ""
    before, after = (length(max(each)) for each in zip(*slides, strict=True))
    return f": feet slid up to {before}, now {after}"


def of(job, ready, baked, notes, nothing):
    """The report of a bake, given why it has changed nothing, if that is so."""
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
    """The first frame that is the clip's own: not one of a pose from which legs jump, such as the T-pose of captures.

    A knee that comes from there still pops in the first frame after it.
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
    """Whether the preparation of a clip has changed the path of its root."""
    return any(note.remedy in ("add_root_motion", "fit_strides") for note in ready.notes)


def held_up(ready):
    """What a root that is held keeps from happening, and what to do."""
    if any(note.remedy == "fit_strides" for note in ready.notes):
        return "strides cannot be fitted to the ground: mute that or apply it first, or set Fit Strides to 0"
    return "in-place motion cannot travel: mute that or apply it first, or switch off Add Forward Motion"


def _notes(job, ready, baked, nothing):
    """What ikcore has to say and is not said yet, with options as the panel calls them."""
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
    """Why a bake has left legs where they are in all of these clips, or None if it has not."""
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
    """A length as the scene shows it: none at all in the unit of the least that is told."""
    shown = round(value * _scale() / LEAST)
    system = bpy.context.scene.unit_settings.system
    text = bpy.utils.units.to_string(system, "LENGTH", (shown or 1) * LEAST, precision=2, split_unit=False).strip()
    return text if shown else f"0{text.lstrip('.0123456789')}"


def in_degrees(radians):
    """An angle in degrees: none at all where that is less than a hundredth."""
    degrees = math.degrees(radians)
    return f"{plain(degrees)}°" if degrees >= 0.01 else "0°"


def plain(value):
    """A number in two digits, those of whole numbers in full, and never with an exponent."""
    text = f"{value:.2g}"
    return f"{value:.0f}" if "e+" in text else text if "e" not in text else f"{value:.6f}".rstrip("0")


def within(value):
    """A length that others are no longer than, as the scene shows it: at least a tenth of a millimetre."""
    least = LEAST / _scale()
    return length(max(math.ceil(value / least), 1) * least)


def turned_within(degrees):
    """An angle that others are no larger than: at least a hundredth of a degree."""
    return f"{max(math.ceil(100 * degrees), 1) / 100:g}°"


def _scale():
    """How many metres a unit of the scene is; without units its scale does not count."""
    unit = bpy.context.scene.unit_settings
    return 1.0 if unit.system == "NONE" else unit.scale_length


def off(what, name, far, askew):
    """How far a bone or a constraint is off its pin or its target, in words."""
    turned = f" and {in_degrees(askew)}" if askew else ""
    return f"{name} is {length(far)}{turned} off its {what}"


def keep(armature, action, report):
    """Keep the report of what was baked into an action, for the panel, and its trails, for the overlay."""
    _latest.keep(armature, action, report)
    overlay.keep(armature, action, report.trails)


def latest(armature):
    """The report of what an armature plays, or None."""
    return _latest.of(armature)
