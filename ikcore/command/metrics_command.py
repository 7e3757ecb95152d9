"""The command ``ikcore metrics``: measures the feet of files, prints a table or JSON, and writes pages."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ikcore.clips.clip import Clip
from ikcore.command import commands, many
from ikcore.command.commands import Grounds, Up
from ikcore.feet import Measured, measure, verdicts
from ikcore.feet.metrics import Measure
from ikcore.reports import report, summary

_Job = TypeVar("_Job", bound=commands.Job)


@dataclass(frozen=True, kw_only=True)
class Job(commands.Job):
    """One clip to measure, with options."""

    up: Up | None
    unit: float | None
    ground: Grounds
    source: str | None
    source_ground: Grounds


@dataclass(frozen=True)
class Outcome:
    """The measures of a clip, or the reason why there are none."""

    job: commands.Job
    error: str | None = None
    up: str = ""
    unit: float = math.nan
    frames: int = 0
    fps: float = math.nan
    legs: dict[str, dict[str, Any]] = field(default_factory=dict)
    measures: dict[str, list[Measure]] = field(default_factory=dict)  # by leg, of the source and of the clip
    moments: tuple[verdicts.Moment, ...] = ()
    beyond: bool = True  # True if measures of the clip are those beyond the source
    more: dict[str, Any] = field(default_factory=dict)  # additional JSON data, by key

    @property
    def name(self) -> str:
        """The name of the clip."""
        return commands.printable(self.job.file + (f": {self.job.animation}" if self.job.animation else ""))


def run(
    clips: Sequence[str],
    *,
    up: Up | None = None,
    unit: float | None = None,
    ground: Grounds | None = None,
    source: str | None = None,
    source_ground: Grounds | None = None,
    folder: str | None = None,
    as_json: bool = False,
    workers: int = 1,
) -> int:
    """Measure all clips of files and folders. Returns 1 if some failed, else 0."""
    ground, source_ground = ground or Grounds(), source_ground or Grounds()
    named = [(file, name) for file in many.files(clips, commands.ENDINGS) for name in commands.animations(file)]
    pages = commands.pages(named, folder)
    read = [*(file for file, _ in named), *([source] if source else []), *ground.paths, *source_ground.paths]
    commands.check_pages(pages, read, folder)
    if folder:
        commands.make_folder(Path(folder))
    _source_of.cache_clear()  # files may have changed since another run
    commands.check(ground, source_ground)
    jobs = [
        Job(
            file=file,
            animation=animation,
            up=up,
            unit=unit,
            ground=ground,
            page=page,
            source=source,
            source_ground=source_ground,
        )
        for (file, animation), page in zip(named, pages, strict=True)
    ]
    outcomes = commands.outcomes(work, jobs, workers)
    lines = as_text("ikcore-metrics/1", outcomes) if as_json else _table(done_of(outcomes))
    return finish(outcomes, lines, folder, guessed=not (up and unit))


def finish(outcomes: Sequence[Outcome], lines: Sequence[str], folder: str | None, *, guessed: bool) -> int:
    """Print the lines about all clips, list their pages, and return the exit status."""
    done = done_of(outcomes)
    for line in lines:
        commands.say(line)
    listed = folder is not None and len(outcomes) > 1 and bool(done)
    if folder and listed:
        names = commands.within(each.job.file for each in outcomes)
        found = [_index_entry(each, name) for each, name in zip(outcomes, names, strict=True)]
        report.write_index(Path(folder) / commands.INDEX, found)
    for line in _remarks(done, guessed=guessed, index=Path(folder) / commands.INDEX if folder and listed else None):
        commands.say(line, sys.stderr)
    return 1 if len(done) < len(outcomes) else 0


def done_of(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The outcomes that did not fail."""
    return [outcome for outcome in outcomes if not outcome.error]


def attempt(do: Callable[[_Job], Outcome], job: _Job) -> Outcome:
    """The outcome of a job, or the reason why there is none."""
    try:
        return do(job)
    except (OSError, ValueError, MemoryError) as error:
        return Outcome(job, commands.failure(job, error))


def work(job: Job) -> Outcome:
    """Measure one clip."""
    return attempt(_measure, job)


def _measure(job: Job) -> Outcome:
    clip = commands.read(job.file, job.animation, job.up, job.unit)
    source = _source(job)
    measured = measure(clip.convert(up="Y", unit=1), ground=commands.ground(job.ground), source=source)
    if job.page:
        commands.write_file(job.page, lambda path: report.write(path, job.title, measured, source))
    return outcome(job, clip, measured, source, source=job.source)


def _source(job: Job) -> Measured | None:
    """The measured source of the clip, on its own ground."""
    if job.source is None:
        return None
    if Path(job.source).is_dir():
        raise ValueError(f"source: {job.source}: expected a file, got a folder")
    names = commands.animations(job.source)
    animation = job.animation if job.animation in names else names[0]
    return _source_of(job.source, animation, job.up, job.unit, job.source_ground)


@functools.lru_cache(maxsize=4)
def _source_of(file: str, animation: str | None, up: Up | None, unit: float | None, ground: Grounds) -> Measured:
    try:
        clip = commands.read(file, animation, up, unit).convert(up="Y", unit=1)
        return measure(clip, ground=commands.ground(ground))
    except ValueError as error:
        raise ValueError(f"source: {commands.with_file_name(file, commands.sentence(error))}") from error


# --- results ---------------------------------------------------------------------------------------------------------


def outcome(job: commands.Job, clip: Clip, measured: Measured, before: Measured | None, **more: Any) -> Outcome:
    """The outcome of a measured clip, with the measures of its source if there is one."""
    return Outcome(
        job,
        up=clip.up,
        unit=clip.unit,
        frames=len(clip),
        fps=clip.fps,
        legs={leg: _facts(measured, before, leg) for leg in measured.measures},
        measures={leg: [each.measures[leg] for each in (before, measured) if each] for leg in measured.measures},
        moments=tuple(verdicts.moments(measured, before)),
        beyond=measured.beyond,
        more=more,
    )


def _facts(measured: Measured, source: Measured | None, leg: str) -> dict[str, Any]:
    """JSON data of a leg."""
    contacts = measured.contacts
    points = [point for name, point in contacts.weights if name == leg]
    found: dict[str, Any] = {
        "length": _number(measured.lengths[leg]),
        "measure": _numbers(measured.measures[leg]),
        "contacts": {point: contacts.intervals(leg, point).tolist() for point in points},
        "confidence": {point: _number(contacts.confidence[leg, point]) for point in points},
    }
    return found | ({"source": _numbers(source.measures[leg])} if source else {})


def _numbers(record: Measure) -> dict[str, float | None]:
    return {name: _number(value) for name, value in asdict(record).items()}


def _number(value: float) -> float | None:
    """A finite number; None for others, which JSON does not have."""
    return value if math.isfinite(value) else None


def as_text(format: str, outcomes: Iterable[Outcome]) -> list[str]:
    """The lines of the JSON output of ``--json``, which docs/guide/report.md describes."""
    clips, failed = [], []
    for each in outcomes:
        names = {"file": each.job.file, "animation": each.job.animation}
        if each.error:
            failed.append({**names, "error": each.error})
            continue
        moments = [{**moment._asdict(), "amount": _number(moment.amount)} for moment in each.moments]
        for moment in moments:
            del moment["weight"]
        page = each.job.page and str(each.job.page)
        rates = {"frames": each.frames, "fps": each.fps, "up": each.up, "unit": each.unit}
        clips.append({**names, **each.more, "page": page, **rates, "legs": each.legs, "moments": moments})
    return json.dumps({"format": format, "clips": clips, "failed": failed}, indent=1, allow_nan=False).split("\n")


_HEADS = {
    "drift": "drift",
    "drift_most": "most",
    "heading_drift": "turn",
    "skating": "skating",
    "skating_by_height": "by height",
    "penetration": "penetration",
    "penetration_swing": "in swing",
    "floating": "floating",
    "sole_angle": "sole angle",
    "off_ground": "unseen",
    "lift_lost": "lift lost",
    "extension": "extension",
    "reach_violations": "out of reach",
    "knee_flips": "flips",
    "knee_pops": "pops",
    "knee_acceleration": "acceleration",
    "ankle_jerk": "ankle jerk",
    "pelvis_jerk": "pelvis jerk",
    "pelvis_path": "pelvis path",
    "straightness_lost": "straightness lost",
    "pelvis_lowered": "pelvis lowered",
    "length_error": "length error",
    "deviation": "deviation",
}
_MARKS: dict[verdicts.Verdict | None, str] = {"fair": " !", "poor": " !!"}


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    """One line per leg, two with a source. Values that need attention are marked."""
    beside = any(each.more["source"] for each in outcomes)
    names = summary.measures_to_show(_HEADS, beside=beside)
    lines = [["clip", "leg", *(_HEADS[name] for name in names)]]
    for each in outcomes:
        for leg, records in each.measures.items():
            said = [verdicts.in_words(name, records, each.legs[leg]["length"] or math.nan) for name in names]
            for when, cells in zip(("before", "after") if beside else ("",), zip(*said, strict=True), strict=True):
                lines.append([each.name, f"{leg} {when}".strip(), *(short(*cell) for cell in cells)])
    return columns(lines, *["+ is what is beyond the source"] * beside)


def columns(lines: Sequence[Sequence[str]], *notes: str) -> list[str]:
    """A table of cells below its header, with an explanation of its marks; empty if there is only the header."""
    if len(lines) == 1:
        return []
    lines = [[*map(commands.printable, line)] for line in lines]
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(cell.ljust(size) for cell, size in zip(line, wide, strict=True)).rstrip() for line in lines]
    notes = ("! is worth a look, !! more so",) * any("!" in line for line in text) + notes
    return [*text, "", *notes] if notes else text


def _index_entry(outcome: Outcome, name: str) -> report.Listed:
    """An entry of the list of pages for a clip."""
    name = commands.printable(name + (f": {outcome.job.animation}" if outcome.job.animation else ""))
    if outcome.error:
        return report.Listed(name, None, {}, error=outcome.error)
    lengths = {leg: facts["length"] or math.nan for leg, facts in outcome.legs.items()}
    legs = {leg: (lengths[leg], records) for leg, records in outcome.measures.items()}
    stands, moments = _stands(outcome), outcome.moments
    return report.Listed(name, outcome.job.page, legs, outcome.beyond, moments, outcome.fps, stands)


def _stands(outcome: Outcome) -> bool:
    """True if a foot is ever on the ground."""
    return any(found for leg in outcome.legs.values() for found in leg["contacts"].values())


def short(said: str, verdict: verdicts.Verdict | None) -> str:
    """A table cell: the measure with its mark."""
    return f"{said}{_MARKS.get(verdict, '')}"


def _remarks(done: Sequence[Outcome], *, guessed: bool, index: Path | None) -> Iterable[str]:
    """Remarks for the reader that go to the error output."""
    for each in done:
        yield from (f"ikcore: {each.name}: {note}" for note in each.more.get("notes", []))
        if not _stands(each):
            yield f"ikcore: {each.name}: no foot is ever on the ground"
    likely = Counter((each.up, each.unit) for each in done) if guessed else Counter()
    for (up, unit), many_of in likely.items():
        if (up, unit) != ("Y", 1):
            clips = f"{many_of} clip{'s' * (many_of != 1)}"
            yield f"ikcore: {clips} taken to have {up} up and units of {unit:g} m, as legs are; or give --up, --unit"
    pages = [index] if index else [each.job.page for each in done if each.job.page]
    if pages:
        yield f"ikcore: pages to look at: {pages[0].resolve()}"
