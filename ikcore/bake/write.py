"""From where feet and body should be to the local rotations and translations of a pose."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ikcore import rotations
from ikcore._arrays import cross, dot
from ikcore.bake import loops
from ikcore.bake.body import Body
from ikcore.bake.motion import LegMotion, blocks
from ikcore.bake.scene import Array, Mask
from ikcore.clips.clip import Clip
from ikcore.feet.leg import Leg, ancestors
from ikcore.feet.soles import space
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

_ABOUT = 0.35  # of the length of a leg: joints that are nearer to the hips are still the pelvis
_SAME = 1e-12  # a rotation by less is none

# The joint and how it turns in the world: from, and by.
Turn = tuple[int, Array, Array]


def pelvis_of(clip: Clip, legs: Iterable[Leg], size: float, chosen: str | None) -> int:
    """The joint that carries all legs, if none is chosen: as far up as joints are about the hips, and can be moved."""
    skeleton = clip.skeleton
    hips = [skeleton.index(leg.hip) for leg in legs]
    above = [ancestors(skeleton, hip) for hip in hips]
    shared = [joint for joint in above[0] if all(joint in other for other in above[1:])]
    if not shared:
        raise ValueError("the legs have no joint in common, so there is no pelvis to move: parent the hips to one")
    if chosen is not None:
        if (joint := skeleton.index(chosen)) not in shared:
            raise ValueError(f"pelvis: {chosen!r} does not carry all legs, as {skeleton.names[shared[0]]!r} does")
        return joint
    at = skeleton.forward(skeleton.rest).positions
    middle, found = sum(at[hip] for hip in hips) / len(hips), shared[0]
    for joint in shared[1:]:
        away = at[joint] - middle
        if not _moves(clip, found) or np.sqrt(dot(away, away)) <= _ABOUT * size:
            found = joint
    return found


def _moves(clip: Clip, joint: int) -> bool:
    """Whether files can say where a joint is."""
    return clip.channels is None or {"x", "y", "z"} <= set(clip.channels[joint])


def written(clip: Clip, pelvis: int, body: Body, turns: list[list[Turn]]) -> Clip:
    """The clip with other rotations and another place of its pelvis.

    Parameters
    ----------
    clip : Clip
        The motion as it comes.
    pelvis : int
        The joint that is moved with the body.
    body : Body
        How.
    turns : list of list of Turn
        Of every leg, its joints from the hip on.
    """
    skeleton, pose = clip.skeleton, clip.pose
    turned = pose.rotations.copy()
    tilted = bool((np.abs(body.tilt[:, 1:]) > _SAME).any())
    if tilted:
        turn(skeleton, turned, [(pelvis, turn_of(clip, pelvis), body.tilt)])
    for leg in turns:
        turn(skeleton, turned, leg, above=body.tilt if tilted else None)
    moved = pose.translations
    if (body.shift != 0).any():
        shape = (len(clip), len(skeleton), 3)
        moved = np.array(np.broadcast_to(skeleton.offsets if moved is None else moved, shape), turned.dtype)
        climb, root = loops.climb(clip, body.shift), [pelvis, *ancestors(skeleton, pelvis)][-1]
        moved[:, root] += climb
        moved[:, pelvis] += _within_parent(clip, pelvis, body.shift - climb)
    return _replaced(clip, Pose(turned, moved, pose.scales))


def _replaced(clip: Clip, pose: Pose) -> Clip:
    return Clip(clip.skeleton, pose, clip.fps, clip.loop, clip.up, clip.unit, clip.channels)


def turn(
    skeleton: Skeleton, turned: Array, turns: list[Turn], *, above: Array | None = None, where: Mask | bool = True
) -> None:
    """Give joints the local rotations with which they turn like that in the world, what is above them turning too."""
    deltas: dict[int, Array] = {}
    for joint, world, delta in turns:
        carrier = next((deltas[other] for other in ancestors(skeleton, joint) if other in deltas), above)
        relative = delta if carrier is None else rotations.multiply(rotations.conjugate(carrier), delta)
        local = turned[:, joint]
        parent = rotations.multiply(world, rotations.conjugate(rotations.normalize(local)))
        now = rotations.multiply(rotations.conjugate(parent), rotations.multiply(relative, world))
        changes = where & (np.abs(relative[:, 1:]).max(axis=1) > _SAME)
        turned[changes, joint] = now[changes]
        deltas[joint] = delta


def turn_of(clip: Clip, joint: int) -> Array:
    """The world rotation of a joint over the whole clip."""
    found = np.empty((len(clip), 4))
    for block in blocks(len(clip)):
        found[block] = clip.skeleton.forward(clip.pose[block]).rotations[:, joint]
    return found


def _within_parent(clip: Clip, joint: int, way: Array) -> Array:
    """A way in the world in the space of the parent of a joint."""
    parent = int(clip.skeleton.parents[joint])
    if parent < 0:
        return way
    found = np.empty_like(way)
    for block in blocks(len(clip)):
        axes = space(clip.skeleton, clip.pose[block], parent)[1]
        x, y, z = (axes[..., at] for at in range(3))
        across = (cross(y, z), cross(z, x), cross(x, y))
        volume = dot(x, across[0])
        found[block] = np.stack([dot(way[block], side) / volume for side in across], axis=-1)
    return found


def turns_of(motion: LegMotion, deltas: Array, foot: Array, toes: Array) -> list[Turn]:
    """Of a leg, from the rotations of its bones, and of what carries its sole."""
    bones = len(motion.joints) - (motion.leg.ankle is not None)
    found = [(motion.joints[at], motion.turns[:, at], deltas[:, at]) for at in range(bones)]
    if motion.leg.ankle is not None:
        found.append((motion.joints[-1], motion.turns[:, -1], foot))
        if motion.toe is not None and motion.toe_turn is not None:
            found.append((motion.toe, motion.toe_turn, toes))
    return found
