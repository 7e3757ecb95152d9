"""Loops: three rounds of one, so that what is before its first frame and after its last is known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ikcore.bake.floors import Floor
from ikcore.bake.footing import Footing
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array
from ikcore.bake.stances import Stance
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.pose import Pose

_CLOSED = math.radians(1)  # radians, by which a joint may differ between the first and the last frame


def check(clip: Clip) -> None:
    """Refuse what is no loop: it would be made one in its last frame, at once."""
    first, last = clip.pose.rotations[0].astype(np.float64), clip.pose.rotations[-1].astype(np.float64)
    apart = 2 * np.arccos(np.clip(np.abs((first * last).sum(axis=-1)), 0, 1))
    joint = int(np.argmax(apart))
    if apart[joint] > _CLOSED:
        name, degrees = clip.skeleton.names[joint], math.degrees(apart[joint])
        raise ValueError(
            f"clip: the last frame of a loop is its first one again, but {name!r} differs by {degrees:.0f} degrees: "
            "add that frame, or bake it as no loop"
        )


def travel(clip: Clip) -> Array:
    """How far the root gets in one round."""
    root = int(np.flatnonzero(clip.skeleton.parents < 0)[0])
    moved = clip.pose.translations
    return np.zeros(3) if moved is None else np.asarray(moved[-1, root] - moved[0, root], np.float64)


def unrolled(clip: Clip) -> Clip:
    """Three rounds of a loop, one after the other, the second one where it is."""
    last, skeleton = len(clip) - 1, clip.skeleton
    frames = np.concatenate([np.tile(np.arange(last), 3), [last]])
    moved = clip.pose.translations
    moved = np.array(np.broadcast_to(skeleton.offsets if moved is None else moved, (len(clip), len(skeleton), 3)))[
        frames
    ]
    way = travel(clip)
    for root in np.flatnonzero(skeleton.parents < 0):
        moved[:last, root] -= way
        moved[2 * last :, root] += way
    scales = clip.pose.scales
    pose = Pose(clip.pose.rotations[frames], moved, None if scales is None else scales[frames])
    return dataclasses.replace(clip, pose=pose, loop=False)


def climb(clip: Clip, shift: Array) -> Array:
    """How far the root of a loop goes with its pelvis, frame by frame: all of what is left of that at its end."""
    if not clip.loop:
        return np.zeros_like(shift)
    share = np.arange(len(clip)) / max(len(clip) - 1, 1)
    return np.asarray((shift[-1] - shift[0]) * share[:, np.newaxis])


def closed(baked: Clip, clip: Clip) -> Clip:
    """With what was baked the same in the last frame as in the first, to the bit, but for where roots are."""
    turned, moved, was = baked.pose.rotations.copy(), baked.pose.translations, clip.pose.translations
    changed = (turned != clip.pose.rotations).any(axis=(0, 2))
    turned[-1, changed] = turned[0, changed]
    if moved is not None and moved is not was:
        changed = (moved != (clip.skeleton.offsets if was is None else was)).any(axis=(0, 2))
        changed &= clip.skeleton.parents >= 0
        moved = moved.copy()
        moved[-1, changed] = moved[0, changed]
    return dataclasses.replace(baked, pose=Pose(turned, moved, baked.pose.scales))


def unrolled_contacts(contacts: Contacts) -> Contacts:
    """Those of three rounds."""

    def three(values: Array) -> Array:
        return np.concatenate([values[:-1], values[:-1], values])

    weights, ground = (
        {key: three(values) for key, values in each.items()} for each in (contacts.weights, contacts.ground)
    )
    return Contacts(contacts.fps, weights, ground, contacts.confidence, three(contacts.treadmill))


def place_rounds(
    footing: Footing, legs: list[LegMotion], stances: list[Stance], floors: list[Floor], way: Array
) -> None:
    """Find the ground under the stances of the second round, and give it to those of the others.

    A round may end higher or lower than it begins: by as much as the ground is under the first stance of the third.
    """
    last = (len(legs[0].chain) - 1) // 3
    own = [stance for stance in stances if last <= stance.middle < 2 * last]
    for stance in own:
        footing.place(legs[stance.leg], stance, floors[stance.leg])
    key = {(stance.leg, stance.middle): stance for stance in own}
    following = next((s for s in stances if own and (s.leg, s.middle) == (own[0].leg, own[0].middle + last)), None)
    rise = 0.0
    if following is not None:
        footing.place(legs[following.leg], following, floors[following.leg])
        rise = following.lift - own[0].lift
    for stance in stances:
        turn = stance.middle // last - 1
        twin = key.get((stance.leg, stance.middle - turn * last))
        if twin is None:  # it stands for longer than a round
            footing.place(legs[stance.leg], stance, floors[stance.leg])
        elif turn:
            stance.place, stance.aside = twin.place + turn * way, twin.aside
            stance.lift, stance.normal, stance.floor = twin.lift + turn * rise, twin.normal, twin.floor
            stance.part = twin.part
