"""Loops as three rounds in sequence, so that the frames before the first and after the last are known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ikcore.bake.foot import Stance
from ikcore.bake.footholds import Foothold, Footing
from ikcore.bake.scene import Array
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.pose import Pose

_CLOSED = math.radians(1)  # radians: largest difference of a joint between the first and the last frame of a loop


def check(clip: Clip) -> None:
    """Raise a ValueError if the last frame differs from the first one."""
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
    """Travel of the root in one round."""
    root = int(np.flatnonzero(clip.skeleton.parents < 0)[0])
    moved = clip.pose.translations
    return np.zeros(3) if moved is None else np.asarray(moved[-1, root] - moved[0, root], np.float64)


def unroll(clip: Clip) -> Clip:
    """Three rounds of a loop in sequence; the second one is in place."""
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
    """Displacement of the root of a loop that climbs with its pelvis, (frames, 3), proportional to time."""
    if not clip.loop:
        return np.zeros_like(shift)
    share = np.arange(len(clip)) / max(len(clip) - 1, 1)
    return np.asarray((shift[-1] - shift[0]) * share[:, np.newaxis])


def close_loop(baked: Clip, clip: Clip) -> Clip:
    """The clip with baked joints that are equal to the bit in the first and the last frame, except root positions."""
    turned, moved, was = baked.pose.rotations.copy(), baked.pose.translations, clip.pose.translations
    changed = (turned != clip.pose.rotations).any(axis=(0, 2))
    turned[-1, changed] = turned[0, changed]
    if moved is not None and moved is not was:
        changed = (moved != (clip.skeleton.offsets if was is None else was)).any(axis=(0, 2))
        changed &= clip.skeleton.parents >= 0
        moved = moved.copy()
        moved[-1, changed] = moved[0, changed]
    return dataclasses.replace(baked, pose=Pose(turned, moved, baked.pose.scales))


def unroll_contacts(contacts: Contacts) -> Contacts:
    """Contacts of three rounds."""

    def three(values: Array) -> Array:
        return np.concatenate([values[:-1], values[:-1], values])

    weights, ground = (
        {key: three(values) for key, values in each.items()} for each in (contacts.weights, contacts.ground)
    )
    return Contacts(contacts.fps, weights, ground, contacts.confidence, three(contacts.treadmill))


def second_round(frames: int) -> slice:
    """The frames of the second of three rounds."""
    last = (frames - 1) // 3
    return slice(last, 2 * last + 1)


def repeat_footholds(footing: Footing, stances: list[Stance], frames: int, way: Array) -> list[Foothold]:
    """Footholds of three rounds, which repeat those of the second.

    A round may end higher or lower than it begins: by the height difference of the ground under the first stances of
    the second and the third round.
    """
    last = (frames - 1) // 3
    own = {(each.leg, each.middle): footing.place(each) for each in stances if last <= each.middle < 2 * last}
    first = next(iter(own.values()), None)
    following = [each for each in stances if first and (each.leg, each.middle - last) == next(iter(own))]
    rise = footing.place(following[0]).lift - first.lift if first and following else 0.0
    found = []
    for stance in stances:
        turn = stance.middle // last - 1
        twin = own.get((stance.leg, stance.middle - turn * last))
        if twin is None:  # the stance is longer than a round
            found.append(footing.place(stance))
        else:
            place, lift = twin.place + turn * way, twin.lift + turn * rise
            copied = twin.copied and lift == twin.lift
            found.append(dataclasses.replace(twin, stance=stance, place=place, lift=lift, copied=copied))
    return found
