"""BVH, the text format of most motion capture files: a hierarchy of joints, then numbers for every frame.

The format has no specification. As in most programs, positions replace a joint's offset, rotations multiply in the
order in which they are listed, and angles are degrees. An ``End Site``, which gives the length of the last bone of a
chain, becomes a joint. Its name comes from its parent, such as "LeftToeBase_end". One without length is dropped.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, _files, rotations
from ikcore.clips.clip import Clip, FormatError
from ikcore.clips.origin import Origin
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

# The letters of Clip.channels, and their names in a file.
_CHANNELS = {letter: f"{letter.upper()}{'position' if letter.islower() else 'rotation'}" for letter in "xyzXYZ"}
_LETTERS = {channel.lower(): letter for letter, channel in _CHANNELS.items()}

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read(path: str | os.PathLike[str], *, up: str = "Y", unit: float = 1.0) -> Clip:
    """Read a BVH file.

    Parameters
    ----------
    path : path
        The file.
    up : {"Y", "Z"}
        The axis of the file that points up. The file does not say.
    unit : float, default: 1
        Metres per unit of length, which the file does not say either.

    Returns
    -------
    Clip
        A clip with the joints in the order of the file, float64, without rest rotations. It has translations if any
        joint has positions, and its origin if that is in the file beside it, `origin_path`.

    Raises
    ------
    FormatError
        If the file is damaged or not a BVH file: one sentence, with the line.
    """
    data = _files.read(path)
    start = _start_of_motion(data)
    joints = _joints(_Words(os.fspath(path), _decode(data[:start])))
    values, frame_time = _motion(os.fspath(path), data, start, sum(len(joint.channels) for joint in joints))
    _check_room(f"{os.fspath(path)}, line {data.count(10, 0, start) + 1}", joints, len(values), len(data))
    skeleton = Skeleton(
        [joint.parent for joint in joints], [joint.offset for joint in joints], names=[joint.name for joint in joints]
    )
    pose = Pose(_rotations(values, joints), _translations(values, joints))
    channels = tuple(joint.channels for joint in joints)
    origin = _read_origin(path)
    return Clip(skeleton, pose, 1 / frame_time, up=up, unit=unit, channels=channels, origin=origin)


def write(clip: Clip, path: str | os.PathLike[str]) -> None:
    """Write a BVH file, with six decimals.

    Joints have the channels listed in the clip, and more if those cannot hold the motion. By default a root has six
    channels and other joints three rotations, ZXY. Angles continue from frame to frame without jumps. A childless joint
    that does not move and is named as `read` names an ``End Site`` becomes one. Scales, which BVH lacks, are merged
    into the translations, so joint positions are kept. Rest rotations are lost, because BVH has none.
    The origin of the clip is written to a file beside it, `origin_path`, which is removed if there is none.

    Parameters
    ----------
    clip : Clip
        The clip.
    path : path
        The file. An existing one is replaced.
    """
    skeleton, pose = clip.skeleton, _without_scales(clip)
    _check_names(os.fspath(path), skeleton.names)
    given = clip.channels if clip.channels and any(clip.channels) else _usual_channels(skeleton)
    orders = [_full_order(letters) for letters in given]
    angles = _angles(pose, orders)
    translations = _translations_of(skeleton, pose)
    if not (np.isfinite(angles).all() and np.isfinite(translations).all()):
        raise ValueError(f"{os.fspath(path)}: a BVH file cannot hold what is not finite: the pose has NaN or infinity")
    moves = np.abs(translations - skeleton.offsets.astype(pose.dtype)).max(axis=0) >= _HALF_DIGIT
    turns = np.abs(angles).max(axis=0) >= _HALF_DIGIT
    channels = [_wide_enough(*row) for row in zip(given, orders, moves, turns, strict=True)]
    tree = _depth_first(skeleton)
    columns = [
        translations[:, joint, "xyz".index(letter)]
        if letter.islower()
        else angles[:, joint, orders[joint].index(letter)]
        for joint, _ in tree
        for letter in channels[joint]
    ]
    values = np.round(np.stack(columns, axis=-1), _DIGITS) + 0  # avoids -0
    head = "\n".join(_hierarchy(skeleton, channels, tree))
    head += f"\nMOTION\nFrames: {len(clip)}\nFrame Time: {_frame_time(clip.fps)}\n"
    _files.write(path, chain([head], _frames(values)))
    _write_origin(clip, path)


def origin_path(path: str | os.PathLike[str]) -> Path:
    """The file beside a BVH file that holds the origin of its clip, as BVH has no place for it.

    Parameters
    ----------
    path : path
        The BVH file.

    Returns
    -------
    Path
        Its name with ``.ikcore.json`` after it.
    """
    return Path(f"{os.path.realpath(path)}.ikcore.json")


def _write_origin(clip: Clip, path: str | os.PathLike[str]) -> None:
    beside = origin_path(path)
    if clip.origin is not None:
        _files.write(beside, [_unscaled(clip.origin, clip).to_json(), "\n"])
    elif beside.is_file():  # it belongs to a clip that was replaced
        beside.unlink()


def _unscaled(origin: Origin, clip: Clip) -> Origin:
    """The origin with the points of soles in joint spaces without scales, where they are in the first frame."""
    skeleton, carriers, first = clip.skeleton, [joint for joint, _ in origin.soles.values()], clip.pose[0]
    if first.scales is None or not carriers or not set(carriers) <= set(skeleton.names):
        return origin
    joints = [skeleton.index(joint) for joint in carriers]
    offsets = np.array([offset for _, offset in origin.soles.values()])
    # each point is a joint of its own
    longer = Skeleton([*skeleton.parents.tolist(), *joints], np.concatenate([skeleton.offsets, offsets]))
    moved = None if first.translations is None else np.concatenate([first.translations, offsets])
    turned = np.concatenate([first.rotations, np.tile([1.0, 0, 0, 0], (len(joints), 1))])
    scales = np.concatenate([first.scales, np.ones_like(offsets)])
    world = longer.forward(Pose(turned, moved, scales))
    ways = world.positions[len(skeleton) :] - world.positions[joints]
    places = rotations.rotate(rotations.conjugate(world.rotations[joints]), ways)
    soles = {
        key: (joint, (float(x), float(y), float(z)))
        for (key, (joint, _)), (x, y, z) in zip(origin.soles.items(), places.tolist(), strict=True)
    }
    return replace(origin, soles=soles)


def _read_origin(path: str | os.PathLike[str]) -> Origin | None:
    beside = origin_path(path)
    return Origin.from_json(_files.read(beside).decode("utf-8", "replace")) if beside.is_file() else None


# --- reading: the hierarchy ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Joint:
    name: str  # for an End Site, set after all others are known
    parent: int
    line: int
    offset: tuple[float, ...] = ()
    channels: str = ""
    column: int = 0  # of the first channel


class _Words:
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
        word = self.take()
        if not _is_number(word):
            self.fail(f"expected a number, got {_word_text(word)}")
        return float(word)

    def expect(self, expected: str) -> None:
        if (word := self.take()).upper() != expected:
            self.fail(f"expected {expected}, got {_word_text(word)}")

    def fail(self, sentence: str) -> NoReturn:
        raise FormatError(f"{self._path}, line {self.line}: {sentence}")


def _joints(words: _Words) -> list[_Joint]:
    """All joints, parents first."""
    words.expect("HIERARCHY")
    joints: list[_Joint] = []
    lines: dict[str, int] = {}  # the line of each name
    inside: list[int] = []  # the joints whose braces are open
    columns = 0
    while word := words.take():
        match word.upper(), inside:
            case "ROOT", []:
                joints.append(_named(words, lines, -1))
                inside.append(len(joints) - 1)
            case "JOINT", [*_, parent]:
                joints.append(_named(words, lines, parent))
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


def _named(words: _Words, lines: dict[str, int], parent: int) -> _Joint:
    name = words.take_name()
    if not name:
        words.fail("expected the name of a joint, got none")
    if name in lines:
        words.fail(f"expected names that differ, got a second {_word_text(name)}; the first is in line {lines[name]}")
    lines[name] = words.line
    joint = _Joint(name, parent, words.line)
    words.expect("{")
    return joint


def _offset(words: _Words) -> tuple[float, ...]:
    return tuple(words.take_number() for _ in range(3))


def _channels(words: _Words) -> str:
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


def _check_offset(words: _Words, joint: _Joint) -> None:
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
    return _files.quoted(word) if word else "the end of the hierarchy"


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# --- reading: the motion ---------------------------------------------------------------------------------------------

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


def _start_of_motion(data: bytes) -> int:
    found = re.search(rb"^[ \t]*MOTION\b", data, re.MULTILINE | re.IGNORECASE)
    return found.start() if found else len(data)


def _motion(path: str, data: bytes, at: int, channels: int) -> tuple[NDArray[np.float64], float]:
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


def _check_room(where: str, joints: Sequence[_Joint], frames: int, given: int) -> None:
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


def _rotations(values: NDArray[np.float64], joints: Sequence[_Joint]) -> NDArray[np.float64]:
    """Local rotations (frames, joints, 4)."""
    found = np.empty((len(values), len(joints), 4))
    angles = np.zeros((len(values), 3))
    for number, joint in enumerate(joints):
        letters = _rotation_letters(joint.channels)
        columns = [joint.column + joint.channels.index(letter) for letter in letters]
        listed = values.take(np.array(columns, np.intp), axis=1)  # ten times as fast as values[:, columns]
        angles[:, : len(letters)] = np.radians(listed)
        angles[:, len(letters) :] = 0
        rotations.from_euler(angles, _full_order(letters), out=found[:, number])
    return found


def _translations(values: NDArray[np.float64], joints: Sequence[_Joint]) -> NDArray[np.float64] | None:
    """Local translations (frames, joints, 3), None if no joint has positions."""
    if not any(_moves(joint) for joint in joints):
        return None
    found = np.tile(np.array([joint.offset for joint in joints]), (len(values), 1, 1))
    for number, joint in enumerate(joints):
        for column, letter in enumerate(joint.channels, joint.column):
            if letter.islower():
                found[:, number, "xyz".index(letter)] = values[:, column]
    return found


def _rotation_letters(channels: str) -> str:
    return "".join(letter for letter in channels if letter.isupper())


def _full_order(channels: str) -> str:
    """The order of a joint's rotations, completed by the axes it lacks, whose angles are zero."""
    letters = _rotation_letters(channels)
    return letters + "".join(letter for letter in "ZXY" if letter not in letters)


# --- writing ---------------------------------------------------------------------------------------------------------

_DIGITS = 6
_HALF_DIGIT = 0.5 * 10.0**-_DIGITS


def _without_scales(clip: Clip) -> Pose:
    """The pose with the same world positions and rotations, without scales."""
    return clip.pose if clip.pose.scales is None else clip.skeleton.local(clip.skeleton.forward(clip.pose))


def _check_names(path: str, names: Sequence[str]) -> None:
    for name in names:
        said = f"{path}: a BVH file cannot hold the name {_files.quoted(name)}"
        if not name or name != " ".join(name.split()) or set(name) & set("{}"):
            raise ValueError(f"{said}: names have no braces, nor spaces in a row")
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(f"{said}: names have no halves of letters, as UTF-8 has none")


def _usual_channels(skeleton: Skeleton) -> list[str]:
    ends = _ends(skeleton)
    return [
        "" if end else "xyzZXY" if parent < 0 else "ZXY" for end, parent in zip(ends, skeleton.parents, strict=True)
    ]


def _ends(skeleton: Skeleton) -> list[bool]:
    """The joints with the names and positions that End Sites get when they are read."""
    above = set(skeleton.parents.tolist())
    return [
        joint not in above
        and parent >= 0
        and re.fullmatch(re.escape(skeleton.names[parent]) + r"_end\d*", skeleton.names[joint]) is not None
        and bool(np.abs(skeleton.offsets[joint]).max() >= _HALF_DIGIT)
        for joint, parent in enumerate(skeleton.parents.tolist())
    ]


def _translations_of(skeleton: Skeleton, pose: Pose) -> NDArray[np.float64]:
    if pose.translations is None:
        return np.broadcast_to(skeleton.offsets.astype(pose.dtype), (*pose.shape, *skeleton.offsets.shape))
    return pose.translations.astype(np.float64)


def _angles(pose: Pose, orders: Sequence[str]) -> NDArray[np.float64]:
    """Angles (frames, joints, 3) in degrees, in the order of every joint."""
    angles = np.empty((*pose.rotations.shape[:-1], 3))
    for order in set(orders):
        joints = [joint for joint, its in enumerate(orders) if its == order]
        turned = rotations.to_euler(pose.rotations[:, joints].astype(np.float64), order)
        angles[:, joints] = np.degrees(_without_jumps(turned, order))
    return angles


def _without_jumps(angles: NDArray[np.float64], order: str) -> NDArray[np.float64]:
    """The same rotations (frames, ..., 3), with angles that continue from frame to frame.

    (a, b, c) and (a + pi, pi - b, c + pi) are the same rotation, as are angles that differ by whole turns. The choice
    of the nearer one does not depend on the choice in the frame before.
    """
    first, middle, last = np.moveaxis(_fill_gimbal_lock(angles, order), -1, 0)

    def apart(turn: float, middles: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = (np.diff(first, axis=0) + turn, middles, np.diff(last, axis=0) + turn)
        squares = [(step - 2 * np.pi * np.round(step / (2 * np.pi))) ** 2 for step in steps]
        return squares[0] + squares[1] + squares[2]

    other = np.zeros(first.shape, bool)
    nearer = apart(np.pi, np.pi - middle[1:] - middle[:-1]) < apart(0, np.diff(middle, axis=0))
    np.logical_xor.accumulate(nearer, axis=0, out=other[1:])
    turn = np.where(other, np.pi, 0)
    found = np.stack([first + turn, np.where(other, np.pi - middle, middle), last + turn], axis=-1)
    found[1:] -= 2 * np.pi * np.cumsum(np.round(np.diff(found, axis=0) / (2 * np.pi)), axis=0)
    return found


def _fill_gimbal_lock(angles: NDArray[np.float64], order: str) -> NDArray[np.float64]:
    """Fill angles in gimbal lock, where only a sum of two is defined: the last one keeps its previous value.

    If the middle angle b is a right angle, the first and the last rotation have the same axis. They have the same sense
    if the order is cyclic, as XYZ is, and b is positive.
    """
    first, middle, last = np.moveaxis(angles, -1, 0)
    locked = (np.abs(middle) > np.pi / 2 - 1e-7) & (last == 0)
    if not locked.any():
        return angles
    frames = np.arange(len(angles)).reshape(-1, *[1] * (middle.ndim - 1))
    before = np.maximum.accumulate(np.where(locked, 0, frames), axis=0)
    kept = np.where(locked, np.take_along_axis(last, before, axis=0), last)
    sense = np.sign(middle) * (1 if order in "XYZXY" else -1)
    return np.stack([np.where(locked, first - sense * kept, first), middle, kept], axis=-1)


def _wide_enough(given: str, order: str, moves: NDArray[np.bool_], turns: NDArray[np.bool_]) -> str:
    """The channels of a joint, extended to all positions or rotations if the given ones cannot hold its motion."""
    listed = _rotation_letters(given)
    turned = any(turns[len(listed) :])
    moved = any(moving and letter not in given for letter, moving in zip("xyz", moves, strict=True))
    if not (turned or moved):
        return given
    positions = "".join(letter for letter in given if letter.islower())
    return ("xyz" if moved else positions) + (order if turned else listed)


def _depth_first(skeleton: Skeleton) -> list[tuple[int, int]]:
    """Every joint and the number of joints above it, children after their parent."""
    children = defaultdict(list)
    for joint, parent in enumerate(skeleton.parents.tolist()):
        children[parent].append(joint)
    found, waiting = [], [(root, 0) for root in reversed(children[-1])]
    while waiting:
        joint, depth = waiting.pop()
        found.append((joint, depth))
        waiting += [(child, depth + 1) for child in reversed(children[joint])]
    return found


def _hierarchy(skeleton: Skeleton, channels: Sequence[str], tree: Sequence[tuple[int, int]]) -> list[str]:
    """The lines before the motion."""
    lines, ends, above = ["HIERARCHY"], _ends(skeleton), set(skeleton.parents.tolist())
    for (joint, depth), (_, depth_after) in zip(tree, [*tree[1:], (0, 0)], strict=True):
        if ends[joint] and not channels[joint]:
            lines += _block("End Site", skeleton.offsets[joint], depth)
        else:
            kind = "JOINT" if depth else "ROOT"
            lines += _block(f"{kind} {skeleton.names[joint]}", skeleton.offsets[joint], depth)
            words = [str(len(channels[joint])), *(_CHANNELS[letter] for letter in channels[joint])]
            lines.append("\t" * (depth + 1) + f"CHANNELS {' '.join(words)}")
            if joint not in above:
                lines += [*_block("End Site", np.zeros(3), depth + 1), "\t" * (depth + 1) + "}"]
        lines += ["\t" * open_depth + "}" for open_depth in range(depth, depth_after - 1, -1)]
    return lines


def _block(title: str, offset: NDArray[np.float64], depth: int) -> list[str]:
    numbers = " ".join(f"{number:.{_DIGITS}f}" for number in np.round(offset, _DIGITS) + 0)
    return ["\t" * depth + title, "\t" * depth + "{", "\t" * (depth + 1) + f"OFFSET {numbers}"]


def _frames(values: NDArray[np.floating[Any]]) -> Iterator[str]:
    """The lines of the motion, some at a time, so that the text need not fit in memory."""
    row = " ".join([f"%.{_DIGITS}f"] * values.shape[1]) + "\n"
    for first in range(0, len(values), 1000):
        yield "".join([row % tuple(frame) for frame in values[first : first + 1000].tolist()])


def _frame_time(fps: float) -> str:
    """The frame time with the fewest digits that give this rate again."""
    texts = (f"{1 / fps:.{digits}g}" for digits in range(5, 18))
    return next((text for text in texts if 1 / float(text) == fps), repr(1 / fps))


__all__ = ["read", "write"]


def __dir__() -> list[str]:
    return __all__
