"""From targets of feet and body to the local rotations and translations of a pose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ikcore import _core
from ikcore._arrays import size
from ikcore.bake import loops
from ikcore.bake.motion import ROUNDING, LegMotion
from ikcore.bake.pelvis import Body
from ikcore.bake.scene import Array, Mask
from ikcore.clips.clip import Clip
from ikcore.contacts.intervals import blocks
from ikcore.feet.leg import ancestors
from ikcore.feet.soles import space, within
from ikcore.pose import Pose


class Turn(NamedTuple):
    """World rotations of joints, each of which carries the next."""

    joints: list[int]  # indices of the joints
    world: tuple[Array, ...]  # (frames, n, 4): present world rotations, in parts
    deltas: tuple[Array, ...]  # (frames, n, 4): rotations to add in the world


# The joint of a foot without a leg, and its positions in the world, before and after.
Move = tuple[int, Array, Array]


def tilt_of(body: Body) -> Array | None:
    """The tilt of the pelvis, None without one."""
    return body.tilt if body.tilt is not None and (np.abs(body.tilt[:, 1:]) > ROUNDING).any() else None


def bend(clip: Clip, frames: slice, turned: Array, pelvis: int, tilt: Array | None, legs: Iterable[Turn]) -> None:
    """Rotate the pelvis and all legs, from the hip down, in some frames; `turned` are the local rotations to change."""
    skeleton = clip.skeleton
    if tilt is not None:
        world = np.asarray(skeleton.forward(clip.pose[frames]).rotations[:, pelvis], np.float64)
        rotate_joints(turned, Turn([pelvis], (world,), (tilt,)))
    for leg in legs:
        rotate_joints(turned, leg, above=tilt if pelvis in ancestors(skeleton, leg.joints[0]) else None)


def join_moves(moves: list[list[Move]]) -> list[Move]:
    """Moves of the same feet in consecutive frames, joined."""
    return [
        (same[0][0], np.concatenate([start for _, start, _ in same]), np.concatenate([end for _, _, end in same]))
        for same in zip(*moves, strict=True)
    ]


def moves_with_body(clip: Clip, pelvis: int, body: Body, moves: list[Move]) -> list[Move]:
    """Moves of feet without legs, starting from where the displaced body carries them."""
    root, found = [pelvis, *ancestors(clip.skeleton, pelvis)][-1], []
    for joint, start, end in moves:
        above = ancestors(clip.skeleton, joint)
        if pelvis in above:
            goes = (body.shift != 0).any(axis=1)
            if body.tilt is not None:
                goes |= (np.abs(body.tilt[:, 1:]) > ROUNDING).any(axis=1)
            start = np.where(goes[:, np.newaxis], body.new_positions(start), start)
        elif root in above:
            start = start + loops.climb(clip, body.shift)
        found.append((joint, start, end))
    return found


def write_pose(clip: Clip, pelvis: int, shift: Array, turned: Array, moves: list[Move]) -> Clip:
    """The clip with new local rotations, its pelvis displaced by (frames, 3), and feet without legs moved."""
    moved = clip.pose.translations
    if (shift != 0).any():
        moved, climb = _local_translations(clip), loops.climb(clip, shift)
        moved[:, [pelvis, *ancestors(clip.skeleton, pelvis)][-1]] += climb
        _move(clip, moved, pelvis, shift - climb)
    return move_free_feet(_with_pose(clip, Pose(turned, moved, clip.pose.scales)), moves)


def move_free_feet(clip: Clip, moves: list[Move]) -> Clip:
    """The clip with free feet at their targets, after the joints above them have moved."""
    for joint, start, end in moves:
        if (way := end - start).any():
            moved = _local_translations(clip)
            _move(clip, moved, joint, way)
            clip = _with_pose(clip, Pose(clip.pose.rotations, moved, clip.pose.scales))
    return clip


def moves_of(motion: LegMotion, foot: Array) -> list[Move]:
    """The move of a free foot to its target (frames, 3); a foot that is there already stays unchanged."""
    if not motion.leg.free:
        return []
    goes = size(foot - motion.ankle) > ROUNDING * motion.scale
    return [(motion.joints[-1], motion.ankle, np.where(goes[:, np.newaxis], foot, motion.ankle))]


def _local_translations(clip: Clip) -> Array:
    """A copy of the local translations of all joints."""
    moved, number = clip.pose.translations, clip.pose.rotations.dtype
    if moved is not None:
        return np.array(moved, number)
    return np.full((len(clip), len(clip.skeleton), 3), clip.skeleton.offsets, number)


def _with_pose(clip: Clip, pose: Pose) -> Clip:
    return Clip(clip.skeleton, pose, clip.fps, clip.loop, clip.up, clip.unit, clip.channels)


def rotate_joints(turned: Array, turns: Turn, *, above: Array | None = None, where: Mask | None = None) -> None:
    """Set the local rotations with which joints have the wanted world rotations, under joints that rotate, too."""
    _core.turn_leg(turned, turns.joints, turns.world, turns.deltas, above, where)


def turn_of(clip: Clip, joint: int) -> Array:
    """The world rotation of a joint over the whole clip."""
    found = np.empty((len(clip), 4))
    for block in blocks(len(clip)):
        found[block] = clip.skeleton.forward(clip.pose[block]).rotations[:, joint]
    return found


def _move(clip: Clip, moved: Array, joint: int, way: Array) -> None:
    """Displace a joint by a vector (frames, 3) of the world, in the space of its parent."""
    parent = int(clip.skeleton.parents[joint])
    for frames in blocks(len(clip)):
        axes = None if parent < 0 else space(clip.skeleton, clip.pose[frames], parent)[1]
        moved[frames, joint] += way[frames] if axes is None else within(axes, way[frames])


def turns_of(motion: LegMotion, deltas: Array, foot: Array, toes: Array) -> Turn:
    """The rotations of a leg, from those of its bones and of the joints that carry its sole."""
    if motion.leg.ankle is None:
        return Turn(motion.joints, (motion.turns,), (deltas,))
    if motion.toe is None or motion.toe_turn is None:
        return Turn(motion.joints, (motion.turns,), (deltas, foot))
    return Turn([*motion.joints, motion.toe], (motion.turns, motion.toe_turn), (deltas, foot, toes))
