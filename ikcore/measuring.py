"""What ``ikcore metrics`` does: measure the feet of files, print a table or JSON, write pages."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ikcore import gltf, many, report
from ikcore.clip import Clip
from ikcore.feet import Feet, Measured, measure, verdicts
from ikcore.feet.metrics import Measure, leg_length
from ikcore.feet.paths import LEG, percentile
from ikcore.ground import Ground

Up = Literal["Y", "Z"]

ENDINGS = (".bvh", ".gltf", ".glb")
_UNITS = (1.0, 0.01, 0.0254, 0.001)  # metres, centimetres, inches, millimetres
_HALF = math.sqrt(0.5)


@dataclass(frozen=True)
class Grounds:
    """Files of what clips walk on; none are a floor found under the feet."""

    paths: tuple[str, ...] = ()
    up: Up = "Y"
    unit: float = 1.0


@dataclass(frozen=True)
class Job:
    """One clip to measure, and how; it goes to other processes."""

    file: str
    animation: str | None
    up: Up | None
    unit: float | None
    ground: Grounds
    source: str | None
    source_ground: Grounds
    page: Path | None


@dataclass(frozen=True)
class Outcome:
    """What is said of a clip, or why nothing is."""

    job: Job
    error: str | None = None
    up: str = ""
    unit: float = math.nan
    frames: int = 0
    fps: float = math.nan
    legs: dict[str, dict[str, Any]] = field(default_factory=dict)
    measures: dict[str, list[Measure]] = field(default_factory=dict)  # by leg, of the source and of the clip
    moments: tuple[verdicts.Moment, ...] = ()

    @property
    def name(self) -> str:
        """What the clip is called."""
        name = self.job.file + (f": {self.job.animation}" if self.job.animation else "")
        return name.encode("utf-8", "backslashreplace").decode("utf-8")  # names of files may be any bytes


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
    """Measure all clips of files and folders; return 1 if some could not be, else 0."""
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    ground, source_ground = ground or Grounds(), source_ground or Grounds()
    for cached in (_ground, _source_of):
        cached.cache_clear()  # since another run files may have changed
    try:
        _ground(ground), _ground(source_ground)
    except (OSError, ValueError) as error:
        print(f"ikcore: {_sentence(error)}", file=sys.stderr)
        return 1
    named = [(file, name) for file in many.files(clips, ENDINGS) for name in _animations(file)]
    pages = _pages(named, folder)
    jobs = [
        Job(file, name, up, unit, ground, source, source_ground, page)
        for (file, name), page in zip(named, pages, strict=True)
    ]
    outcomes = []
    try:
        for outcome in many.each(work, jobs, workers):
            outcomes.append(outcome)
            if outcome.error:
                print(f"ikcore: {outcome.error}", file=sys.stderr)
    except BrokenExecutor:
        print("ikcore: a worker process has ended: ask for fewer --workers, they may lack memory", file=sys.stderr)
        return 1
    done = [outcome for outcome in outcomes if not outcome.error]
    lines = [as_text(outcomes)] if as_json else _table(done)
    if lines:
        print("\n".join(lines))
    if folder and len(done) > 1:
        report.write_index(Path(folder) / "index.html", [_listed(each) for each in done])
    for line in _remarks(done, guessed=not (up and unit), folder=folder):
        print(line, file=sys.stderr)
    return 1 if len(done) < len(outcomes) else 0


def work(job: Job) -> Outcome:
    """Measure one clip."""
    try:
        return _measured(job)
    except (OSError, ValueError) as error:
        return Outcome(job, _named(job.file, _sentence(error)))
    except MemoryError:
        return Outcome(job, f"{job.file}: not enough memory")


def _named(file: str, said: str) -> str:
    """With the name of the file, if it is not there yet."""
    return said if file in said else f"{file}: {said}"


def _sentence(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _measured(job: Job) -> Outcome:
    clip = _read(job.file, job.animation, job.up, job.unit)
    source = _source(job)
    measured = measure(clip.convert(up="Y", unit=1), ground=_ground(job.ground), source=source)
    if job.page:
        report.write(job.page, Path(job.file).name + (f": {job.animation}" if job.animation else ""), measured, source)
    measures = {leg: [each.measures[leg] for each in (source, measured) if each] for leg in measured.measures}
    found = tuple(verdicts.moments(measured, source))
    legs = {leg: _facts(measured, source, leg) for leg in measured.measures}
    return Outcome(job, None, clip.up, clip.unit, len(clip), clip.fps, legs, measures, found)


# --- what is read ----------------------------------------------------------------------------------------------------


def _animations(file: str) -> tuple[str | None, ...]:
    """All in a file; None for its only one, also of a file about which `work` will have something to say."""
    if Path(file).suffix.lower() == ".bvh":
        return (None,)
    try:
        names = gltf.animations(file)
    except (OSError, ValueError):
        return (None,)
    return names if len(names) > 1 else (None,)


def _read(file: str, animation: str | None, up: Up | None, unit: float | None) -> Clip:
    """A clip; what is not said of it is what its legs make likely."""
    if Path(file).is_dir():
        raise ValueError(f"{file}: expected {' or '.join(ENDINGS)} files in this folder, got none")
    clip = Clip.read(file, animation, up=up or "Y", unit=unit or 1.0)
    if up and unit:
        return clip
    down, length = _legs(clip, up)
    bvh = file.lower().endswith(".bvh")  # other files have Y up, and metres, if not centimetres by mistake
    lying = bvh and down[2] < -abs(down[1])
    units = _UNITS if bvh else _UNITS[:2]
    likely = min(units, key=lambda unit: abs(math.log(length * unit / LEG))) if length > 0 else 1.0
    return dataclasses.replace(clip, up=up or ("Z" if lying else "Y"), unit=unit or likely)


def _legs(clip: Clip, up: Up | None) -> tuple[NDArray[np.float64], float]:
    """Where legs hang, and how long they are, in units of the clip."""
    places = clip.skeleton.forward(clip.pose[:: 1 + len(clip) // 16]).positions.astype(np.float64)
    legs = Feet.detect(clip.skeleton, up=up)
    chains = [places[:, [clip.skeleton.index(joint) for joint in leg.bones]] for leg in legs]
    down = np.sum([np.nan_to_num(chain[:, -1] - chain[:, 0]).sum(axis=0) for chain in chains], axis=0)
    return down, percentile(np.array([leg_length(chain) for chain in chains]), 50)


@functools.lru_cache(maxsize=4)
def _ground(grounds: Grounds) -> Ground | None:
    """All files together, with Y up, in metres; read once in a process."""
    whole = None
    for path in grounds.paths:
        if Path(path).suffix.lower() in ENDINGS[1:] and gltf.moves(path):
            raise ValueError(f"{path}: expected ground at rest, and its animations move it: save it without them")
        part = Ground.read(path, up="y" if grounds.up == "Y" else "z", scale=grounds.unit)
        if grounds.up == "Z":
            part = Ground(part.moved(rotations=[_HALF, -_HALF, 0, 0]).parts, "y")
        whole = part if whole is None else whole + part
    return whole


def _source(job: Job) -> Measured | None:
    """What the clip was made of, on its own ground."""
    if job.source is None:
        return None
    names = _animations(job.source)
    animation = job.animation if job.animation in names else names[0]
    return _source_of(job.source, animation, job.up, job.unit, job.source_ground)


@functools.lru_cache(maxsize=4)
def _source_of(file: str, animation: str | None, up: Up | None, unit: float | None, ground: Grounds) -> Measured:
    try:
        return measure(_read(file, animation, up, unit).convert(up="Y", unit=1), ground=_ground(ground))
    except ValueError as error:
        raise ValueError(f"source: {_named(file, _sentence(error))}") from error


def _pages(named: Iterable[tuple[str, str | None]], folder: str | None) -> list[Path | None]:
    """Where the page of each clip goes, all with different names, whatever the case."""
    seen: Counter[str] = Counter({"index": 1})
    pages: list[Path | None] = []
    for file, animation in named:
        name = re.sub(r"[^\w.-]+", "_", Path(file).stem + (f"_{animation}" if animation else ""))
        seen[name.lower()] += 1
        number = seen[name.lower()]
        pages.append(Path(folder) / (f"{name}-{number}.html" if number > 1 else f"{name}.html") if folder else None)
    return pages


# --- what is said ----------------------------------------------------------------------------------------------------


def _facts(measured: Measured, source: Measured | None, leg: str) -> dict[str, Any]:
    """Of a leg, as JSON has it."""
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
    """JSON has no other numbers than finite ones."""
    return value if math.isfinite(value) else None


def as_text(outcomes: Iterable[Outcome]) -> str:
    """The JSON of ``ikcore metrics --json``, which docs/report.md describes."""
    clips, failed = [], []
    for each in outcomes:
        names = {"file": each.job.file, "animation": each.job.animation}
        if each.error:
            failed.append({**names, "error": each.error})
            continue
        moments = [{**moment._asdict(), "amount": _number(moment.amount)} for moment in each.moments]
        for moment in moments:
            del moment["weight"]
        clip = {
            **names,
            "source": each.job.source,
            "frames": each.frames,
            "fps": each.fps,
            "up": each.up,
            "unit": each.unit,
        }
        clips.append({**clip, "page": each.job.page and str(each.job.page), "legs": each.legs, "moments": moments})
    return json.dumps({"format": "ikcore-metrics/1", "clips": clips, "failed": failed}, indent=1, allow_nan=False)


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
    "lift_lost": "lift lost",
    "extension": "extension",
    "reach_violations": "out of reach",
    "knee_flips": "flips",
    "knee_pops": "pops",
    "knee_acceleration": "acceleration",
    "ankle_jerk": "ankle jerk",
    "pelvis_jerk": "pelvis jerk",
    "pelvis_path": "pelvis path",
    "length_error": "length error",
    "deviation": "deviation",
}
_MARKS: dict[verdicts.Verdict | None, str] = {"fair": " !", "poor": " !!"}


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    """One line a leg, with a source two; what to look at is marked."""
    beside = any(each.job.source for each in outcomes)
    names = report.shown(_HEADS, beside=beside)
    lines = [["clip", "leg", *(_HEADS[name] for name in names)]]
    for each in outcomes:
        for leg, records in each.measures.items():
            said = [verdicts.said(name, records, each.legs[leg]["length"] or math.nan) for name in names]
            for when, cells in zip(("before", "after") if beside else ("",), zip(*said, strict=True), strict=True):
                marked = [f"{text}{_MARKS.get(says, '')}" for text, says in cells]
                lines.append([each.name, f"{leg} {when}".strip(), *marked])
    if len(lines) == 1:
        return []
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ["  ".join(cell.ljust(size) for cell, size in zip(line, wide, strict=True)).rstrip() for line in lines]
    notes = ["! is worth a look, !! more so"] * any("!" in line for line in text)
    notes += ["+ is what is beyond the source"] * beside
    return [*text, "", *notes] if notes else text


def _listed(outcome: Outcome) -> report.Listed:
    lengths = {leg: facts["length"] or math.nan for leg, facts in outcome.legs.items()}
    legs = {leg: (lengths[leg], records) for leg, records in outcome.measures.items()}
    return report.Listed(outcome.name, outcome.job.page, legs)


def _remarks(done: Sequence[Outcome], *, guessed: bool, folder: str | None) -> Iterable[str]:
    """What else the reader should know."""
    for each in done:
        if not any(found for leg in each.legs.values() for found in leg["contacts"].values()):
            yield f"ikcore: {each.name}: no foot is ever on the ground"
    likely = Counter((each.up, each.unit) for each in done) if guessed else Counter()
    for (up, unit), many_of in likely.items():
        if (up, unit) != ("Y", 1):
            clips = f"{many_of} clip{'s' * (many_of != 1)}"
            yield f"ikcore: {clips} taken to have {up} up and units of {unit:g} m, as legs are; or give --up, --unit"
    pages = [each.job.page for each in done if each.job.page]
    if folder and pages:
        yield f"ikcore: pages to look at: {(Path(folder) / 'index.html' if len(pages) > 1 else pages[0]).resolve()}"
