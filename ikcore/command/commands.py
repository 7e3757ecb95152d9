"""Common code of the commands on clips: finding and reading files, running jobs, and error messages."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TextIO, TypeVar

from ikcore import _files
from ikcore.clips import gltf
from ikcore.clips.clip import Clip
from ikcore.command import many
from ikcore.grounds.ground import Ground
from ikcore.reports import report

Up = Literal["Y", "Z"]

ENDINGS = (".bvh", ".gltf", ".glb")
INDEX = "index.html"
_HALF = math.sqrt(0.5)


@dataclass(frozen=True)
class Grounds:
    """Ground files of clips; without files, a floor found under the feet."""

    paths: tuple[str, ...] = ()
    up: Up = "Y"
    unit: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """One clip to process. It is sent to other processes."""

    file: str
    animation: str | None
    page: Path | None

    @property
    def title(self) -> str:
        """The title of its page."""
        return Path(self.file).name + (f": {self.animation}" if self.animation else "")


class CommandError(Exception):
    """A command cannot continue: a sentence, and the exit status."""

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status


class Outcome(Protocol):
    """The result of a job."""

    @property
    def error(self) -> str | None:
        """The sentence about a failure, None on success."""


_Job = TypeVar("_Job", bound=Job)
_Outcome = TypeVar("_Outcome", bound=Outcome)


def outcomes(work: Callable[[_Job], _Outcome], jobs: Sequence[_Job], workers: int) -> list[_Outcome]:
    """Do all jobs. Failures are printed immediately, one sentence each."""
    found = []
    try:
        for outcome in many.each(work, jobs, workers):
            found.append(outcome)
            if outcome.error:
                say(f"ikcore: {outcome.error}", sys.stderr)
    except BrokenExecutor as error:
        raise CommandError("a worker process has ended: ask for fewer --workers, they may lack memory") from error
    return found


def failure(job: Job, error: OSError | ValueError | MemoryError) -> str:
    """The sentence about a failed job, with the name of its file."""
    said = "not enough memory" if isinstance(error, MemoryError) else sentence(error)
    return with_file_name(job.file + (f": {job.animation}" if job.animation else ""), said)


def with_file_name(file: str, said: str) -> str:
    """The sentence with the name of the file, unless it contains it already."""
    return said if file in said else f"{file}: {said}"


def within(paths: Iterable[str]) -> list[str]:
    """Names of files relative to their common folder."""
    there = [os.path.abspath(path) for path in paths]
    try:
        folder = os.path.commonpath([os.path.dirname(path) for path in there])
    except ValueError:  # on different drives
        return there
    return [os.path.relpath(path, folder) for path in there]


def sentence(error: OSError | ValueError) -> str:
    """The message of an error, with the file concerned."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def say(line: str, where: TextIO | None = None) -> None:
    """Print a line with text from other sources; characters that the output cannot show are escaped."""
    where = where or sys.stdout
    code = getattr(where, "encoding", None) or "utf-8"  # there may be no output at all
    print(printable(line).encode(code, "backslashreplace").decode(code), file=where)


def printable(text: str) -> str:
    """The text with control characters and invalid characters escaped."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


# --- input -----------------------------------------------------------------------------------------------------------


def animations(file: str) -> tuple[str | None, ...]:
    """All animations of a file. None stands for its only one, and for a file that cannot be read, which fails later."""
    if Path(file).suffix.lower() == ".bvh":
        return (None,)
    try:
        names = gltf.animations(file)
    except (OSError, ValueError):
        return (None,)
    return names if len(names) > 1 else (None,)


def read(file: str, animation: str | None, up: Up | None, unit: float | None) -> Clip:
    """Read a clip. Axis and unit that are not given are guessed from its legs."""
    if Path(file).is_dir():
        raise ValueError(f"{file}: expected {' or '.join(ENDINGS)} files in this folder, got none")
    return Clip.read(file, animation, up=up, unit=unit)


@functools.lru_cache(maxsize=4)
def ground(grounds: Grounds, up: str = "Y", unit: float = 1.0) -> Ground | None:
    """All ground files together, with the axis and the unit of a clip; each is read once per process."""
    whole = None
    for path in grounds.paths:
        if Path(path).suffix.lower() in ENDINGS[1:] and gltf.moves(path):
            raise ValueError(f"{path}: expected ground at rest, and its animations move it: save it without them")
        part = Ground.read(path, up="y" if grounds.up == "Y" else "z", scale=grounds.unit / unit)
        if grounds.up != up:
            turned = part.moved(rotations=[_HALF, _HALF if up == "Z" else -_HALF, 0, 0])
            part = Ground(turned.parts, "z" if up == "Z" else "y")
        whole = part if whole is None else whole + part
    return whole


def check(*grounds: Grounds) -> None:
    """Read the grounds before any clip, so that their errors are reported once."""
    ground.cache_clear()  # since another run files may have changed
    try:
        for each in grounds:
            ground(each)
    except (OSError, ValueError) as error:
        raise CommandError(sentence(error)) from error


# --- output ----------------------------------------------------------------------------------------------------------


def pages(titles: Iterable[tuple[str, str | None]], folder: str | None) -> list[Path | None]:
    """The page of each file and animation."""
    names = [re.sub(r"[^\w.-]+", "_", stem(file, animation)) for file, animation in titles]
    return [Path(folder) / f"{name}.html" if folder else None for name in unique(names, Path(INDEX).stem)]


def check_written(paths: Iterable[Path], read: Iterable[str], option: str) -> None:
    """Check that no output file is also an input, by whatever path."""
    known: dict[object, str] = {}
    for source in read:
        known |= dict.fromkeys(_files.known_as(source) - known.keys(), source)
    for path in paths:
        for key in known.keys() & _files.known_as(path):
            raise CommandError(f"{option} would write over {known[key]}, which is read: give another name", 2)


def check_pages(paths: Iterable[Path | None], read: Iterable[str], folder: str | None) -> None:
    """Check that pages, and their index if there are several, replace only older pages."""
    if not folder:
        return
    there = [path for path in paths if path]
    there += [Path(folder) / INDEX] * (len(there) > 1)
    check_written(there, read, f"--report {folder}")
    for path in there:
        if path.is_file() and not report.is_page(path):
            raise CommandError(f"--report {folder} would write over {path}, which is no report: give another folder", 2)


def make_folder(folder: Path) -> None:
    """Make a folder if it is missing; before any work, because it may fail."""
    try:
        Path(os.path.realpath(folder)).mkdir(parents=True, exist_ok=True)  # new/.. makes no new folder
    except OSError as error:
        error.filename = str(folder)
        raise


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file, in a folder that is made if needed."""
    to = Path(os.path.realpath(path))
    try:
        make_folder(to.parent)
        write(to)
    except OSError as error:
        raise OSError(error.errno, f"cannot write: {error.strerror}", str(path)) from error


def stem(file: str, animation: str | None) -> str:
    """The file name, without extension, for an animation."""
    return Path(file).stem + (f"_{animation}" if animation else "")


def unique(names: Iterable[str], *taken: str) -> list[str]:
    """The names, numbered where needed, so that no two are the same file on any system."""

    def key(name: str) -> str:
        return unicodedata.normalize("NFC", name).casefold()

    seen, found = set(map(key, taken)), []
    for name in names:
        free, number = name, 1
        while key(free) in seen:
            number += 1
            free = f"{name}-{number}"
        seen.add(key(free))
        found.append(free)
    return found
