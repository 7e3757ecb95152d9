"""Feet on the ground: a clip and a ground in, a grounded clip out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import dot
from ikcore.bake import body, floors
from ikcore.bake.legs import Bent, bend, hinges_of
from ikcore.bake.motion import Array, LegMotion, blocks, legs_of, level, size
from ikcore.bake.settings import BakeSettings
from ikcore.bake.stances import Footing, Stance, stances_of
from ikcore.bake.toes import bent
from ikcore.bake.way import Way, way_of
from ikcore.clip import Clip
from ikcore.feet.contacts import Contacts
from ikcore.feet.detect import Feet
from ikcore.feet.leg import ancestors
from ikcore.feet.soles import _space as space
from ikcore.ground import Ground
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


@dataclass(frozen=True, slots=True, eq=False)
class Baked:
    """What `bake_feet` makes."""

    clip: Clip
    source: Clip
    feet: Feet
    contacts: Contacts
    stances: tuple[Stance, ...]
    rise: Array
    unreached: dict[str, Array]


def bake_feet(
    clip: Clip,
    ground: Ground,
    *,
    feet: Feet | None = None,
    contacts: Contacts | None = None,
    settings: BakeSettings | None = None,
    workers: int = 1,
) -> Baked:
    """Put the feet of a clip on the ground."""
    settings = settings or BakeSettings()
    axis = "XYZ".index(clip.up)
    feet = Feet.detect(clip.skeleton, clip=clip) if feet is None else feet
    contacts = Contacts.detect(clip, feet) if contacts is None else contacts
    if contacts.treadmill.any():
        clip = _travelling(clip, contacts.treadmill)
    legs = legs_of(clip, feet, workers)
    there = floors.stands_on(legs, ground, clip.fps, axis)
    if there:
        contacts = Contacts.detect(clip, feet, ground)
    under = floors.floors_of(legs, contacts, ground if there else None, axis, floors.flat_height(ground))
    stances = stances_of(legs, under, contacts, clip.fps, axis, settings)
    footing = Footing(ground, axis, settings, workers)
    for stance in stances:
        footing.place(legs[stance.leg], stance, under[stance.leg], there)
    otherwise = footing.lift
    ways = [
        way_of(motion, [s for s in stances if s.leg == at], under[at], ground, clip.fps, axis, settings, otherwise, workers)
        for at, motion in enumerate(legs)
    ]
    ankles = [_ankle(motion, way) for motion, way in zip(legs, ways, strict=True)]
    rise = body.rise_of(legs, ways, ankles, clip.fps, axis, clip.loop, settings)
    toes = [
        bent(motion, way, floor, ground, clip.fps, axis, clip.loop, settings, workers)
        for motion, way, floor in zip(legs, ways, under, strict=True)
    ]
    baked, unreached = _written(clip, legs, ways, ankles, toes, rise, axis, settings)
    return Baked(baked, clip, feet, contacts, tuple(stances), rise, unreached)


def _travelling(clip: Clip, velocity: Array) -> Clip:
    root = int(np.flatnonzero(clip.skeleton.parents < 0)[0])
    moved = clip.pose.translations
    moved = np.broadcast_to(clip.skeleton.offsets, (len(clip), len(clip.skeleton), 3)) if moved is None else moved
    moved = moved.copy()
    moved[:, root] += np.arange(len(clip))[:, np.newaxis] / clip.fps * velocity
    return dataclasses.replace(clip, pose=Pose(clip.pose.rotations, moved, clip.pose.scales))


def _ankle(motion: LegMotion, way: Way) -> Array:
    """Where the end of the leg goes."""
    arm = motion.ankle - motion.reference
    if motion.leg.ankle is not None:
        arm = rotations.rotate(way.turn, arm)
    return np.asarray(motion.reference + way.shift + arm)


def pelvis_of(skeleton: Skeleton, feet: Feet, size: float) -> int:
    """The joint that carries all legs: as far up as joints are still about where the hips are."""
    above = [[skeleton.index(leg.hip), *ancestors(skeleton, skeleton.index(leg.hip))] for leg in feet]
    shared = [joint for joint in above[0][1:] if all(joint in other for other in above[1:])]
    if not shared:
        raise ValueError("the legs have no joint in common that could be moved as the pelvis")
    at = skeleton.forward(skeleton.rest).positions
    hips = sum(at[skeleton.index(leg.hip)] for leg in feet) / len(feet)
    found = shared[0]
    for joint in shared[1:]:
        if np.sqrt(((at[joint] - hips) ** 2).sum()) > 0.35 * size:
            break
        found = joint
    return found


def _written(clip, legs, ways, ankles, toes, rise, axis, settings):  # noqa
    skeleton, pose = clip.skeleton, clip.pose
    feet = [motion.leg for motion in legs]
    pelvis = pelvis_of(skeleton, feet, legs[0].size)
    up = np.zeros(3)
    up[axis] = 1.0
    shift = rise[:, np.newaxis] * up
    turned = pose.rotations.copy()
    unreached = {}
    for motion, way, ankle, toe in zip(legs, ways, ankles, toes, strict=True):
        hip = motion.chain[:, 0] + shift
        reach = body.reach_of(motion, settings)
        line = ankle - hip
        far = size(line)
        over = far > reach
        target = np.where(over[:, np.newaxis], hip + line * (reach / np.maximum(far, 1e-12))[:, np.newaxis], ankle)
        unreached[motion.leg.name] = np.maximum(far - reach, 0)
        leg = bend(motion.chain, motion.turns, hip, target, hinges_of(motion))
        _turn_leg(skeleton, motion, way, leg, toe, turned)
    moved = pose.translations
    moved = np.broadcast_to(skeleton.offsets, (len(clip), len(skeleton), 3)) if moved is None else moved
    moved = moved.copy()
    parent = int(skeleton.parents[pelvis])
    if parent < 0:
        moved[:, pelvis] += shift
    else:
        for block in blocks(len(clip)):
            moved[block, pelvis] += _within(space(skeleton, pose[block], parent)[1], shift[block])
    return dataclasses.replace(clip, pose=Pose(turned, moved, pose.scales)), unreached


def _within(axes: Array, way: Array) -> Array:
    """A way in the world in a space of which these (..., 3, 3) are the axes, as columns."""
    x, y, z = (axes[..., at] for at in range(3))
    across = [np.cross(y, z), np.cross(z, x), np.cross(x, y)]
    size_ = dot(x, across[0])
    return np.stack([dot(way, side) / size_ for side in across], axis=-1)


def _turn_leg(skeleton: Skeleton, motion: LegMotion, way: Way, bent: Bent, toe: Array | None, turned: Array) -> None:
    """The local rotations of a leg, from how its joints turn in the world."""
    deltas = {joint: bent.deltas[:, at] for at, joint in enumerate(motion.joints) if at < bent.deltas.shape[1]}
    worlds = {joint: motion.turns[:, at] for at, joint in enumerate(motion.joints)}
    if motion.leg.ankle is not None:
        deltas[motion.joints[-1]] = way.turn
        if motion.toe is not None:
            deltas[motion.toe], worlds[motion.toe] = (way.turn if toe is None else toe), motion.toe_turn
    for joint, delta in deltas.items():
        above = next((deltas[other] for other in ancestors(skeleton, joint) if other in deltas), None)
        relative = delta if above is None else rotations.multiply(rotations.conjugate(above), delta)
        # W_p^-1 relative W_p local, with W_p local = W
        world = worlds[joint]
        local = turned[:, joint]
        parent = rotations.multiply(world, rotations.conjugate(rotations.normalize(local)))
        now = rotations.multiply(rotations.conjugate(parent), rotations.multiply(relative, world))
        same = (np.abs(relative[:, 1:]).max(axis=1) < 1e-12)[:, np.newaxis]
        turned[:, joint] = np.where(same, local, now)
