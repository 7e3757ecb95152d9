"""Channels, angles and text of a BVH file for a clip."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _files, rotations
from ikcore.clips.bvh_reader import CHANNEL_NAMES, rotation_letters
from ikcore.clips.clip import Clip
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

DIGITS = 6
HALF_DIGIT = 0.5 * 10.0**-DIGITS


def without_scales(clip: Clip) -> Pose:
    """The pose with the same world positions and rotations, without scales."""
    return clip.pose if clip.pose.scales is None else clip.skeleton.local(clip.skeleton.forward(clip.pose))


def check_names(path: str, names: Sequence[str]) -> None:
    """Refuse names that a BVH file cannot hold."""
    for name in names:
        said = f"{path}: a BVH file cannot hold the name {_files.quote(name)}"
        if not name or name != " ".join(name.split()) or set(name) & set("{}"):
            raise ValueError(f"{said}: names have no braces, nor spaces in a row")
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(f"{said}: names have no halves of letters, as UTF-8 has none")


def usual_channels(skeleton: Skeleton) -> list[str]:
    """Rotations of all joints but ends, and translations of the root."""
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
        and bool(np.abs(skeleton.offsets[joint]).max() >= HALF_DIGIT)
        for joint, parent in enumerate(skeleton.parents.tolist())
    ]


def translations_of(skeleton: Skeleton, pose: Pose) -> NDArray[np.float64]:
    """Local translations of all frames."""
    if pose.translations is None:
        return np.broadcast_to(skeleton.offsets.astype(pose.dtype), (*pose.shape, *skeleton.offsets.shape))
    return pose.translations.astype(np.float64)


def euler_angles(pose: Pose, orders: Sequence[str]) -> NDArray[np.float64]:
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


def wide_enough(given: str, order: str, moves: NDArray[np.bool_], turns: NDArray[np.bool_]) -> str:
    """The channels of a joint, extended to all positions or rotations if the given ones cannot hold its motion."""
    listed = rotation_letters(given)
    turned = any(turns[len(listed) :])
    moved = any(moving and letter not in given for letter, moving in zip("xyz", moves, strict=True))
    if not (turned or moved):
        return given
    positions = "".join(letter for letter in given if letter.islower())
    return ("xyz" if moved else positions) + (order if turned else listed)


def depth_first(skeleton: Skeleton) -> list[tuple[int, int]]:
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


def hierarchy_lines(skeleton: Skeleton, channels: Sequence[str], tree: Sequence[tuple[int, int]]) -> list[str]:
    """The lines before the motion."""
    lines, ends, above = ["HIERARCHY"], _ends(skeleton), set(skeleton.parents.tolist())
    for (joint, depth), (_, depth_after) in zip(tree, [*tree[1:], (0, 0)], strict=True):
        if ends[joint] and not channels[joint]:
            lines += _block("End Site", skeleton.offsets[joint], depth)
        else:
            kind = "JOINT" if depth else "ROOT"
            lines += _block(f"{kind} {skeleton.names[joint]}", skeleton.offsets[joint], depth)
            words = [str(len(channels[joint])), *(CHANNEL_NAMES[letter] for letter in channels[joint])]
            lines.append("\t" * (depth + 1) + f"CHANNELS {' '.join(words)}")
            if joint not in above:
                lines += [*_block("End Site", np.zeros(3), depth + 1), "\t" * (depth + 1) + "}"]
        lines += ["\t" * open_depth + "}" for open_depth in range(depth, depth_after - 1, -1)]
    return lines


def _block(title: str, offset: NDArray[np.float64], depth: int) -> list[str]:
    numbers = " ".join(f"{number:.{DIGITS}f}" for number in np.round(offset, DIGITS) + 0)
    return ["\t" * depth + title, "\t" * depth + "{", "\t" * (depth + 1) + f"OFFSET {numbers}"]


def frame_lines(values: NDArray[np.floating[Any]]) -> Iterator[str]:
    """The lines of the motion, some at a time, so that the text need not fit in memory."""
    row = " ".join([f"%.{DIGITS}f"] * values.shape[1]) + "\n"
    for first in range(0, len(values), 1000):
        yield "".join([row % tuple(frame) for frame in values[first : first + 1000].tolist()])


def frame_time_text(fps: float) -> str:
    """The frame time with the fewest digits that give this rate again."""
    texts = (f"{1 / fps:.{digits}g}" for digits in range(5, 18))
    return next((text for text in texts if 1 / float(text) == fps), repr(1 / fps))
