"""The command ``ikcore bake``: puts the feet of clips on the ground, writes the clips, and reports the changes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ikcore.bake import Baked, BakeSettings, bake_feet
from ikcore.bake.source import SourceFloor
from ikcore.command import commands, many, metrics_command
from ikcore.command.commands import CommandError, Grounds, Up
from ikcore.command.metrics_command import Outcome
from ikcore.feet import Feet, Measured, verdicts
from ikcore.feet.note import Note
from ikcore.prepare import prepare
from ikcore.reports import report

_OPTIONS = {"add_root_motion": "--root-motion", "denoise": "--denoise", "fit_strides": "--fit-strides 0.4"}
_SHORT = 1e-3  # reach error that counts as out of reach, relative to the leg length


@dataclass(frozen=True, kw_only=True)
class How:
    """Settings of a bake."""

    ground: Grounds
    settings: BakeSettings
    source_floor: SourceFloor = None
    denoise: bool = False
    root_motion: bool = True
    fit_strides: float = 0.0
    up: Up | None = None
    unit: float | None = None
    legs: tuple[str, ...] | None = None
    frames: tuple[int | None, int | None] | None = None
    loop: bool = False


@dataclass(frozen=True, kw_only=True)
class Job(commands.Job):
    """One clip to bake."""

    how: How
    output: Path
    threads: int


def run(
    clips: Sequence[str], out: str, how: How, *, folder: str | None = None, as_json: bool = False, workers: int = 1
) -> int:
    """Bake all clips of files and folders. Returns 1 if some failed, else 0."""
    sources = list(_sources(clips, Path(out)))
    outputs = _outputs(sources, Path(out))
    pages = commands.pages([(source.file, source.animation) for source in sources], folder)
    read = [*(source.file for source in sources), *how.ground.paths]
    commands.check_written(outputs, read, f"-o {out}")
    commands.check_pages(pages, read, folder)
    commands.check(how.ground)
    commands.make_folder(Path(out).parent if outputs == [Path(out)] else Path(out))
    if folder:
        commands.make_folder(Path(folder))
    jobs = [
        Job(
            file=source.file,
            animation=source.animation,
            page=page,
            how=how,
            output=output,
            threads=workers if len(sources) == 1 else 1,
        )
        for source, output, page in zip(sources, outputs, pages, strict=True)
    ]
    outcomes = commands.outcomes(work, jobs, workers)
    done = metrics_command.done_of(outcomes)
    lines = metrics_command.as_text("ikcore-bake/1", outcomes) if as_json else _table(done)
    return metrics_command.finish(outcomes, lines, folder, guessed=not (how.up and how.unit))


def work(job: Job) -> Outcome:
    """Bake one clip."""
    return metrics_command.attempt(_bake, job)


def _bake(job: Job) -> Outcome:
    how = job.how
    clip = commands.read(job.file, job.animation, how.up, how.unit)
    ground = commands.ground(how.ground, clip.up, clip.unit)
    assert ground is not None  # the command line requires one
    first, stop = how.frames or (None, None)
    if how.loop:
        clip = dataclasses.replace(clip, loop=True)
    feet = Feet.detect(clip.skeleton, clip=clip)
    ready = prepare(
        clip,
        ground,
        feet=feet,
        noise=how.denoise,
        root_motion=how.root_motion,
        stride=how.fit_strides,
        workers=job.threads,
    )
    baked = bake_feet(
        ready.clip,
        ground,
        feet=None if ready.clip is clip else feet,
        contacts=None if ready.clip is clip else ready.contacts,
        settings=dataclasses.replace(how.settings, unlock=how.settings.unlock + ready.drag),
        source_floor=how.source_floor,
        legs=how.legs,
        frames=(first or 0, len(clip) if stop is None else stop) if how.frames else None,
        workers=job.threads,
    )
    before, after = baked.measured()
    notes = [*ready.notes, *map(_with_option, ready.still_true(baked.notes))]
    commands.write_file(job.output, baked.clip.write)
    if job.page:
        commands.write_file(job.page, lambda path: report.write(path, job.title, after, before, notes=notes))
    facts = {"output": str(job.output), "notes": notes, **_pelvis_data(baked, after)}
    return metrics_command.outcome(job, clip, after, before, **facts)


def _with_option(note: Note) -> str:
    """A note, with the command-line option that helps."""
    return f"{note}; {_OPTIONS[note.remedy]} mends that" if note.remedy else str(note)


def _pelvis_data(baked: Baked, after: Measured) -> dict[str, Any]:
    """JSON data of the pelvis: range of its offset in metres, and frames out of reach per leg."""
    unit = baked.clip.unit
    far = {leg: _SHORT * after.lengths[leg] for leg in baked.shortfall}
    return {
        "pelvis": [float(baked.pelvis_offset.min()) * unit, float(baked.pelvis_offset.max()) * unit],
        "short": {leg: int((short * unit > far[leg]).sum()) for leg, short in baked.shortfall.items()},
    }


# --- output files ----------------------------------------------------------------------------------------------------


class Source(NamedTuple):
    """An animation of a file, and the path of the file relative to the given folder."""

    file: str
    animation: str | None
    below: Path


def _sources(clips: Iterable[str], out: Path) -> Iterator[Source]:
    """All animations of files and folders, except files in an output folder inside one of those folders."""
    for path in map(Path, clips):
        output = out.resolve() if path.is_dir() and path.resolve() in out.resolve().parents else None
        for file in map(Path, many.files([str(path)], commands.ENDINGS)):
            if output not in file.resolve().parents:
                below = file.parent.relative_to(path) if path.is_dir() and file != path else Path()
                yield from (Source(str(file), animation, below) for animation in commands.animations(str(file)))


def _outputs(sources: Sequence[Source], out: Path) -> list[Path]:
    """The output file of each animation. OUT itself for one clip, else files in OUT, in the same subfolders."""
    one = len(sources) == 1
    if out.suffix.lower() == ".bvh" and not out.is_dir():
        if one:
            return [out]
        raise CommandError(f"{out}: expected a folder for {len(sources)} clips, got the name of one file", 2)
    if one and out.suffix and not out.is_dir():
        raise CommandError(f"{out}: expected a file that ends in .bvh, or a folder that exists", 2)
    names = commands.unique(str(each.below / commands.stem(each.file, _plain(each.animation))) for each in sources)
    return [out / f"{name}.bvh" for name in names]


def _plain(animation: str | None) -> str | None:
    """The name without characters that are invalid in file names."""
    return animation and re.sub(r'[/\\:*?"<>|\x00-\x1f]', "_", animation)


# --- messages --------------------------------------------------------------------------------------------------------

_HEADS = {
    "drift_most": "slides",
    "penetration": "sinks",
    "penetration_swing": "in swing",
    "floating": "floats",
    "off_ground": "unseen",
    "knee_pops": "knee pops",
}


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    """One line per clip: values before and after, each of the worst leg."""
    lines = [["clip", *_HEADS.values(), "pelvis", "out of reach"]]
    for each in outcomes:
        low, high = each.more["pelvis"]
        short = sum(each.more["short"].values())
        cells = [" -> ".join(_worst(name, each, when) for when in (0, 1)) for name in _HEADS]
        lines.append([each.name, *cells, f"{low:+.2f} to {high:+.2f} m", f"{short} frames" if short else "-"])
    return metrics_command.columns(lines)


def _worst(name: str, outcome: Outcome, when: int) -> str:
    """The measure of the worst leg, before or after."""
    records = {leg: both[when] for leg, both in outcome.measures.items()}
    leg = verdicts.worst(records, name)
    ((said, verdict),) = verdicts.in_words(name, [records[leg]], outcome.legs[leg]["length"] or math.nan)
    return metrics_command.short(said, verdict)
