# SPDX-License-Identifier: GPL-3.0-or-later
"""A body bent for its pins, by a method of the library. Without bpy.

What is dragged and what is baked is one piece: a clip, of one frame or of many, is bent from as it is to where its
pins are, every frame for itself, so that a pin that goes back brings the pose back.
"""

import functools

import numpy as np

from . import bridge, knees
from .armatures import CannotBakeError
from .joints import Parts

METHODS = [
    ("dls", "Whole Body", "All joints share the motion (damped least squares). Supports Balance"),
    ("fabrik", "Chains", "Chains are laid from pin to pin (FABRIK), for tails, ropes and tentacles"),
    ("ccd", "Joint by Joint", "Joints near a pin turn first and most (cyclic coordinate descent)"),
]
FAR = 1e-3  # of the length of all bones: what is farther from its target is told of
ASKEW = np.radians(0.5)
ANYWHERE = [[-np.inf] * 3, [np.inf] * 3]
# The library shakes chains that are stuck. Beyond reach all are, and targets that differ by millimetres get poses that
# differ by half a turn. So these methods solve without; what `knees.started` does then frees straight chains for dls.
UNSHAKEN = {"dls", "fabrik"}


def bent(held, clip, places, sides):
    """A clip bent from as it is to where its pins are, and by how much each pin is missed.

    Parameters
    ----------
    held : pins.Held
        What holds it.
    clip : ikcore.Clip
        The motion.
    places : (frames, pins, 4, 4) array
        Where pins are, in the world.
    sides : dict of knees.OneWay
        To which side knees bend, by their lower bones.

    Returns
    -------
    ikcore.Clip, and a (frames, pins, 2) array of lengths and angles
    """
    if held.body and clip.pose.scales is not None:
        raise CannotBakeError(f"{held.body} cannot move scaled bones: set the scale of all bones to 1")
    goals = _goals(held, clip, places)
    freedoms = held.freedoms | sides
    if held.method in UNSHAKEN:
        chains = [_chain(clip.skeleton, pin.bone, pin.first) for pin in held.pins]
        clip = knees.started(clip, chains, freedoms, _away(held, clip, places))
    made, errors = solved(clip, goals, freedoms, held.method, body=held.body, weights=held.weights, smooth=True)
    return made, errors[:, : len(held.pins)]


def _chain(skeleton, bone, first):
    """The names of the bones from one up to the first of its chain."""
    joint, names = skeleton.index(bone), [bone]
    while names[-1] != first:
        joint = skeleton.parents[joint]
        names.append(skeleton.names[joint])
    return names


def _away(held, clip, places):
    """How far the farthest pin is from its bone, in each frame."""
    joints = [clip.skeleton.index(pin.bone) for pin in held.pins]
    there = clip.skeleton.forward(clip.pose).positions[:, joints]
    return np.linalg.norm(places[:, :, :3, 3] - there, axis=-1).max(axis=-1)


def solved(clip, goals, freedoms, method, *, body=None, weights=None, smooth=False):
    """A clip as a method of the library solves it, and by how much each goal is missed: (frames, goals, 2).

    Its bones do what they may, by name; the body may go anywhere; what bones weigh is for goals that ask for it. Where
    `smooth`, goals beyond reach that differ little give poses that do.
    """
    library, skeleton = bridge.library, clip.skeleton
    allowed = {name: each.limit(ANYWHERE if name == body else None) for name, each in freedoms.items()}
    limits = {name: limit for name, limit in allowed.items() if limit} or None
    parts = [skeleton.parents, skeleton.offsets, skeleton.rest.rotations, skeleton.names, limits]
    if weights:
        each = [weights.get(name, (0.0, (0.0, 0.0, 0.0))) for name in skeleton.names]
        parts += [list(numbers) for numbers in zip(*each, strict=True)]
    solve = functools.partial(library.solve, library.Skeleton(*parts), clip.pose, goals, method, goal_errors=True)
    try:
        pose, errors = _smooth(solve, method) if smooth else _shaken(solve)
    except ValueError as error:
        label = next(label for name, label, _ in METHODS if name == method)
        raise CannotBakeError(f"{label} cannot solve this: {str(error).removeprefix('limits: ')}") from error
    made = library.Clip(skeleton, pose, clip.fps, clip.loop, up=clip.up)
    return made, np.nan_to_num(errors)


def _shaken(solve):
    """The pose and the errors, as the library solves by default."""
    found = solve(workers=-1)
    return found.pose, found.goal_errors


def _smooth(solve, method):
    """The pose and the errors, without shaking where that reaches no more."""
    if method not in UNSHAKEN:
        return _shaken(solve)
    found = solve(workers=-1, textbook=True)
    if method == "fabrik" and not found.reached.all():  # it stays straight for long where a chain is nearly straight
        shaken = solve(workers=-1)
        better = (~found.reached & shaken.reached)[:, np.newaxis, np.newaxis]
        rotations, translations = (
            np.where(better, getattr(shaken.pose, name), getattr(found.pose, name))
            for name in ("rotations", "translations")
        )
        pose = bridge.library.Pose(rotations, translations, found.pose.scales)
        return pose, np.where(better, shaken.goal_errors, found.goal_errors)
    return found.pose, found.goal_errors


def _goals(held, clip, places):
    """What pins ask for. Where balance is kept, those that do not stand give way to it."""
    library, turned = bridge.library, Parts.of(places).turned
    goals = [
        library.Reach(
            pin.bone,
            places[:, n, :3, 3],
            turned[:, n] if pin.turned else None,
            chain=pin.first,
            level=int(bool(held.weights) and not pin.sole),
        )
        for n, pin in enumerate(held.pins)
    ]
    return goals + (_balance(held, places, turned) if held.weights else [])


def _balance(held, places, turned):
    """The weight on the inner side of every edge round what the body stands on, frame by frame."""
    stand = [n for n, pin in enumerate(held.pins) if pin.sole]
    soles = [
        places[:, n, np.newaxis, :3, 3] + bridge.rotations.rotate(turned[:, [n]], np.array(held.pins[n].sole))
        for n in stand
    ]
    corners = np.concatenate(soles, axis=1)
    outward, round_it = edges(corners[..., :2])
    outward = np.concatenate([outward, np.zeros_like(outward[..., :1])], axis=-1)
    first = held.pins[stand[0]].first
    return [
        bridge.library.Inside(None, corners[:, n], -outward[:, n], weight=round_it[:, n], chain=first)
        for n in range(corners.shape[1])
    ]


def edges(corners):
    """The edges round points in a plane, one a point: which way is out, and 1, or 0 where the point is on no corner.

    Parameters
    ----------
    corners : (frames, points, 2) array

    Returns
    -------
    (frames, points, 2) and (frames, points) arrays
    """
    ways = corners[:, np.newaxis] - corners[:, :, np.newaxis]  # (frames, from, to, 2)
    across = ways[:, :, :, np.newaxis, 0] * ways[:, :, np.newaxis, :, 1]
    across -= ways[:, :, :, np.newaxis, 1] * ways[:, :, np.newaxis, :, 0]
    lengths = np.linalg.norm(ways, axis=-1)
    tiny = 1e-6 * lengths.max(axis=(1, 2))[:, np.newaxis, np.newaxis]
    # all others are to the left of the way to the next; of those on one line that is the farthest
    nexts = np.where((across >= -(tiny**2)[..., np.newaxis]).all(axis=-1) & (lengths > tiny), lengths, 0.0)
    to = nexts.argmax(axis=-1)[..., np.newaxis]
    way = np.take_along_axis(ways, to[..., np.newaxis], axis=2)[:, :, 0]
    found = np.take_along_axis(nexts, to, axis=2)[..., 0] > 0.0
    out = np.stack([way[..., 1], -way[..., 0]], axis=-1)
    return np.where(found[..., np.newaxis], out, (1.0, 0.0)), found.astype(float)


def missed(names, clip, errors):
    """(name, length, angle, number of the frame) of each goal that is not reached, where it is farthest off.

    No angle where that is none to speak of.
    """
    far = FAR * np.linalg.norm(clip.skeleton.offsets, axis=-1).sum()
    for name, error in zip(names, np.moveaxis(errors, 1, 0), strict=True):
        worst = int((error / (far, ASKEW)).max(axis=-1).argmax())
        if (error[worst] > (far, ASKEW)).any():
            away, askew = error[worst].tolist()
            yield name, away, askew if askew > ASKEW else 0.0, worst
