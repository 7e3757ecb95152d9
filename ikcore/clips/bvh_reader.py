"""Joints and frames from the text of a BVH file."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, _files, rotations
from ikcore.clips.clip import FormatError

# The letters of Clip.channels, and their names in a file.
CHANNEL_NAMES = {letter: f"{letter.upper()}{'position' if letter.islower() else 'rotation'}" for letter in "xyzXYZ"}
_LETTERS = {channel.lower(): letter for letter, channel in CHANNEL_NAMES.items()}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(slots=True)
class _Joint:
    name: str  # for an End Site, set after all others are known
    parent: int
    line: int
    offset: tuple[float, ...] = ()
    channels: str = ""
    column: int = 0  # of the first channel


class Words:
    """The words of the hierarchy in order. Braces are words, and "" is the end."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._words = self._split(text)
        self.line = 1  # of the last word taken
        self._ahead = next(self._words)

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        number = 1
        for number, line in enumerate(text.split("\n"), 1):
            for word in line.replace("{", " { ").replace("}", " } ").split():
                yield word, number
        while True:
            yield "", number

    def take(self) -> str:
        """The next word."""
        word, self.line = self._ahead
        self._ahead = next(self._words)
        return word

    def take_name(self) -> str:
        """The rest of the line, up to a brace: some names contain spaces."""
        words = []
        while self._ahead[0] not in ("", "{", "}") and self._ahead[1] == self.line:
            words.append(self.take())
        return " ".join(words)

    def take_number(self) -> float:
        """The next word, as a number."""
        word = self.take()
        if not _is_number(word):
            self.fail(f"expected a number, got {_word_text(word)}")
        return float(word)

    def expect(self, expected: str) -> None:
        """Take one word, which must be this."""
        if (word := self.take()).upper() != expected:
            self.fail(f"expected {expected}, got {_word_text(word)}")

    def fail(self, sentence: str) -> NoReturn:
        """Raise an error at the present line."""
        raise FormatError(f"{self._path}, line {self.line}: {sentence}")


def read_joints(words: Words) -> list[_Joint]:
    """All joints, parents first."""
    words.expect("HIERARCHY")
    joints: list[_Joint] = []
    lines: dict[str, int] = {}  # the line of each name
    inside: list[int] = []  # the joints whose braces are open
    columns = 0
    while word := words.take():
        match word.upper(), inside:
            case "ROOT", []:
                joints.append(_read_name(words, lines, -1))
                inside.append(len(joints) - 1)
            case "JOINT", [*_, parent]:
                joints.append(_read_name(words, lines, parent))
                inside.append(len(joints) - 1)
            case "END", [*_, parent]:
                words.take_name()  # Site
                joints.append(_Joint("", parent, words.line))
                words.expect("{")
                inside.append(len(joints) - 1)
            case "OFFSET", [*_, joint] if not joints[joint].offset:
                joints[joint].offset = _offset(words)
            case "CHANNELS", [*_, joint] if not joints[joint].channels:
                joints[joint].channels, joints[joint].column = _channels(words), columns
                columns += len(joints[joint].channels)
            case "}", [*_, joint]:
                _check_offset(words, joints[joint])
                inside.pop()
                if joint == len(joints) - 1 and _says_nothing(joints[joint]):
                    joints.pop()
            case _:
                words.fail(f"expected {_EXPECTED[bool(inside)]}, got {_word_text(word)}")
    if inside:
        words.fail(f"expected }}, as {_end_site_name(joints[inside[-1]])} is not closed, got the end of the hierarchy")
    if not columns:
        words.fail("expected a ROOT with channels, got none")
    _name_ends(joints)
    return joints


_EXPECTED = ("ROOT or MOTION", "one OFFSET, one CHANNELS, then JOINT, End Site or }")


def _read_name(words: Words, lines: dict[str, int], parent: int) -> _Joint:
    name = words.take_name()
    if not name:
        words.fail("expected the name of a joint, got none")
    if name in lines:
        words.fail(f"expected names that differ, got a second {_word_text(name)}; the first is in line {lines[name]}")
    lines[name] = words.line
    joint = _Joint(name, parent, words.line)
    words.expect("{")
    return joint


def _offset(words: Words) -> tuple[float, ...]:
    return tuple(words.take_number() for _ in range(3))


def _channels(words: Words) -> str:
    count = words.take()
    if count not in ("0", "1", "2", "3", "4", "5", "6"):
        words.fail(f"expected how many channels, up to 6, got {_word_text(count)}")
    letters = ""
    for _ in range(int(count)):
        letter = _LETTERS.get((word := words.take()).lower())
        if letter is None or letter in letters:
            words.fail(f"expected a channel such as Xposition or Zrotation, none twice, got {_word_text(word)}")
        letters += letter
    return letters


def _check_offset(words: Words, joint: _Joint) -> None:
    if not joint.offset:
        words.fail(f"expected an OFFSET of {_end_site_name(joint)}, got none")


def _says_nothing(joint: _Joint) -> bool:
    return not joint.name and not joint.channels and not any(joint.offset)


def _end_site_name(joint: _Joint) -> str:
    return f"{_word_text(joint.name) if joint.name else 'the End Site'} of line {joint.line}"


def _name_ends(joints: list[_Joint]) -> None:
    """Name the End Sites after their parents, and differently from all others."""
    taken = {joint.name for joint in joints}
    tried: dict[int, int] = defaultdict(int)
    for joint in joints:
        while not joint.name:
            number = tried[joint.parent] = tried[joint.parent] + 1
            name = f"{joints[joint.parent].name}_end{number if number > 1 else ''}"
            if name not in taken:
                joint.name = name
                taken.add(name)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None and math.isfinite(float(word))


def _word_text(word: str) -> str:
    return _files.quote(word) if word else "the end of the hierarchy"


def decode(data: bytes) -> str:
    """UTF-8, or Latin-1 where it is not."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


_MOTION = tuple(
    (re.compile(pattern, re.IGNORECASE), expected)
    for pattern, expected in (
        (rb"\s*MOTION\b", "MOTION"),
        (rb"\s*FRAMES\s*:?", "Frames:"),
        (rb"\s*(\d{1,15})(?!\S)", "how many frames there are"),
        (rb"\s*FRAME\s+TIME\s*:?", "Frame Time:"),
        (rb"\s*(\S+)", "the seconds between two frames"),
    )
)


def start_of_motion(data: bytes) -> int:
    """The index of the word MOTION; the length where there is none."""
    found = re.search(rb"^[ \t]*MOTION\b", data, re.MULTILINE | re.IGNORECASE)
    return found.start() if found else len(data)


def read_motion(path: str, data: bytes, at: int, channels: int) -> tuple[NDArray[np.float64], float]:
    """The numbers (frames, channels), and the seconds between two frames."""
    found = []
    for pattern, expected in _MOTION:
        match = pattern.match(data, at)
        if not match:
            raise _mistake(path, data, at, expected)
        found.append(match)
        at = match.end()
    _, _, count, _, seconds = found
    frames, frame_time = int(count[1]), seconds[1].decode("latin-1")
    if not frames:
        raise _mistake(path, data, count.start(), "at least one frame")
    if not _is_number(frame_time) or float(frame_time) < 1e-300:
        raise _mistake(path, data, seconds.start(), "a positive number of seconds between two frames")
    values = _core.parse_numbers(data, at)
    if isinstance(values, int):
        raise _mistake(path, data, values, "a number")
    if len(values) < frames * channels or len(values) % channels:
        raise _mistake_in_frames(path, data, at, frames, channels)
    return values.reshape(-1, channels), float(frame_time)  # some exporters write one frame more than they declare


def _mistake(path: str, data: bytes, at: int, expected: str) -> FormatError:
    words = data[at:].split(maxsplit=1)
    got = _word_text(words[0].decode("latin-1")) if words else "the end of the file"
    line = data.count(b"\n", 0, len(data) - len(data[at:].lstrip())) + 1
    return FormatError(f"{path}, line {line}: expected {expected}, got {got}")


def _mistake_in_frames(path: str, data: bytes, at: int, frames: int, channels: int) -> FormatError:
    """The first line that is not a frame; if all are, the number of frames."""
    first, found = data.count(b"\n", 0, at) + 1, 0
    for line, text in enumerate(data[at:].rstrip().split(b"\n"), first):
        count = len(text.split())
        if count not in (0, channels):
            expected = f"expected {channels} numbers, one for every channel, got {count}"
            return FormatError(f"{path}, line {line}: {expected}")
        found += count > 0
    return FormatError(f"{path}, line {line}: expected {frames} frames, as Frames: says, got {found}")


def check_room(where: str, joints: Sequence[_Joint], frames: int, given: int) -> None:
    """Refuse files whose clip would need far more memory.

    Joints without channels take no space in a file, but as much as others in a clip.
    """
    each = (4 + 3 * any(_moves(joint) for joint in joints)) * np.dtype(float).itemsize
    if too_much := _files.too_much(each * len(joints) * frames, given):
        still = sum(not joint.channels for joint in joints)
        got = f"{still} of {len(joints)} without, and {frames} frames: {too_much}"
        raise FormatError(f"{where}: expected channels of joints, got {got}; leave out joints that never move")


def _moves(joint: _Joint) -> bool:
    return joint.channels != joint.channels.upper()


def rotations_of(values: NDArray[np.float64], joints: Sequence[_Joint]) -> NDArray[np.float64]:
    """Local rotations (frames, joints, 4)."""
    found = np.empty((len(values), len(joints), 4))
    angles = np.zeros((len(values), 3))
    for number, joint in enumerate(joints):
        letters = rotation_letters(joint.channels)
        columns = [joint.column + joint.channels.index(letter) for letter in letters]
        listed = values.take(np.array(columns, np.intp), axis=1)  # ten times as fast as values[:, columns]
        angles[:, : len(letters)] = np.radians(listed)
        angles[:, len(letters) :] = 0
        rotations.from_euler(angles, full_order(letters), out=found[:, number])
    return found


def translations_from(values: NDArray[np.float64], joints: Sequence[_Joint]) -> NDArray[np.float64] | None:
    """Local translations (frames, joints, 3), None if no joint has positions."""
    if not any(_moves(joint) for joint in joints):
        return None
    found = np.tile(np.array([joint.offset for joint in joints]), (len(values), 1, 1))
    for number, joint in enumerate(joints):
        for column, letter in enumerate(joint.channels, joint.column):
            if letter.islower():
                found[:, number, "xyz".index(letter)] = values[:, column]
    return found


def rotation_letters(channels: str) -> str:
    """The axes of rotation channels, in their order."""
    return "".join(letter for letter in channels if letter.isupper())


def full_order(channels: str) -> str:
    """The order of a joint's rotations, completed by the axes it lacks, whose angles are zero."""
    letters = rotation_letters(channels)
    return letters + "".join(letter for letter in "ZXY" if letter not in letters)
