# SPDX-License-Identifier: GPL-3.0-or-later
"""Solve a body for its pins, by a method of the library. Without bpy.

Dragging and baking use the same code. A clip of one or many frames is solved from its own pose for its pins. Every
frame is solved independently, so a pin that returns restores the pose.
"""

import functools

import numpy as np

from .. import bridge
from ..rig.armatures import CannotBakeError
from ..rig.joints import Parts
from . import knees

METHODS = [
    ("dls", "Whole Body", "All joints share the motion (damped least squares)"),
    ("fabrik", "Chains", "Chains are laid from pin to pin (FABRIK), for tails, ropes and tentacles"),
    ("ccd", "Joint by Joint", "Joints near a pin turn first and most (cyclic coordinate descent)"),
]
BALANCED = "full_body"  # the method of pins that supports balance
PIN_METHODS = [
    (BALANCED, "Whole Body", "All joints share the motion, the lighter ones more (full-body IK). Supports Balance"),
    *METHODS[1:],
]
FAR = 1e-3  # relative to the length of all bones: larger errors are reported
ASKEW = np.radians(0.5)
ANYWHERE = [[-np.inf] * 3, [np.inf] * 3]
# The pose is a continuous function of the pins, beyond reach too, because no chain that stalls is perturbed, as
# `full_body` does after 28 iterations. More sweeps come nearer, and bend limbs faster near their full length. A pin
# that moves by 0.4 % of the height turns bones by less than 5 degrees there with 110 sweeps.
ONCE = {"sweeps": 110, "iterations": 28}
# Balance takes several calls, without sweeps, which fold the spine. The first one moves the body by the mean height of
# the pins, so that limbs bend to their preferred side. A goal of small weight does not bend straight knees. Pins that
# support no weight then reach, and at last give way, both slowly, because their weights are small.
LOWER = {"sweeps": 0, "iterations": 0}
REACH, YIELD = ({"sweeps": 0, "pre_pull": 0.0, "iterations": count} for count in (28, 14))
CALLS = [(0.03, REACH)] * 3 + [(0.0025, YIELD)] * 4  # weights of pins that support none, and options
LOCKED = 1e-4  # radians: largest rotation about locked axes that counts as rest


def ready(held, clip, sides):
    """The skeleton of a clip with the limits of the pins' chains, and the names of the bones that move.

    Parameters
    ----------
    held : pins.PinSet
        The pins.
    clip : ikcore.Clip
        The motion.
    sides : dict of knees.OneWay
        Bend directions of knees, by their lower bones.
    """
    if held.body and clip.pose.scales is not None:
        raise CannotBakeError(f"{held.body} cannot move scaled bones: set the scale of all bones to 1")
    freedoms = _limits_of_locks(held, clip, held.freedoms | sides)
    chains = [_chain(clip.skeleton, pin.bone, pin.first) for pin in held.pins]
    preferred = knees.preferred_rotations(clip.skeleton, chains, freedoms)
    return _limited_skeleton(clip.skeleton, freedoms, held.body, held.weights, preferred), list(freedoms)


def solve_pins(held, clip, places, skeleton, moving):
    """Solve a clip for its pins, starting from its own pose. Returns the errors of the pins too.

    Parameters
    ----------
    held, clip
        As for `ready`, which returns `skeleton` and `moving`.
    places : (frames, pins, 4, 4) array
        Positions of the pins, in the world.

    Returns
    -------
    ikcore.Clip, and a (frames, pins, 2) array of lengths and angles
    """
    solve = functools.partial(_solve, skeleton, method=held.method, moving=moving)
    if held.weights:
        solve = functools.partial(_in_balance, solve, held, places, clip)
    else:
        solve = functools.partial(solve, pose=clip.pose, goals=_goals(held, places))
        if held.method == BALANCED:
            solve = functools.partial(solve, **ONCE)
        elif held.method == "fabrik":
            solve = functools.partial(_perturb_if_needed, solve)
    pose, errors = _solve_or_refuse(solve, held.method)
    return bridge.library.Clip(clip.skeleton, pose, clip.fps, clip.loop, up=clip.up), errors[:, : len(held.pins)]


def _limits_of_locks(held, clip, freedoms):
    """The freedoms of bones that move, with locked axes as limits.

    A bone with some locked axes moves about the others, if the clip has no rotation about the locked ones.
    """
    skeleton, quat, found = clip.skeleton, bridge.rotations, {}
    for name, freedom in freedoms.items():
        stiff = [each >= 1.0 for each in getattr(freedom, "stiffness", ())]
        if all(stiff) and stiff and name != held.body:
            continue
        if any(stiff):
            joint, lock = skeleton.index(name), freedom.with_locked_axes()
            turned = quat.multiply(quat.conjugate(skeleton.rest.rotations[joint]), clip.pose.rotations[:, joint])
            if lock.limit().violation(turned).max() <= LOCKED:
                freedom = lock
            elif name != held.body:
                continue
        found[name] = freedom
    return found


def _chain(skeleton, bone, first):
    """The names of the bones from one up to the first of its chain."""
    joint, names = skeleton.index(bone), [bone]
    while names[-1] != first:
        joint = skeleton.parents[joint]
        names.append(skeleton.names[joint])
    return names


def solve_clip(clip, goals, freedoms, method):
    """Solve a clip by a method of the library. Returns the clip and the errors of the goals, (frames, goals, 2).

    `freedoms` are limits by bone name.
    """
    skeleton = _limited_skeleton(clip.skeleton, freedoms)
    pose, errors = _solve_or_refuse(functools.partial(_solve, skeleton, clip.pose, goals, method), method)
    return bridge.library.Clip(clip.skeleton, pose, clip.fps, clip.loop, up=clip.up), errors


def _limited_skeleton(skeleton, freedoms, body=None, weights=None, preferred=None):
    """A skeleton with limits by bone name, a bone that slides anywhere, masses, and preferred rotations."""
    allowed = {name: each.limit(ANYWHERE if name == body else None) for name, each in freedoms.items()}
    limits = {name: limit for name, limit in allowed.items() if limit} or None
    heavy = [weights.get(name, (0.0, (0.0, 0.0, 0.0))) for name in skeleton.names] if weights else []
    masses, centres = (list(numbers) for numbers in zip(*heavy, strict=True)) if weights else (None, None)
    parts = skeleton.parents, skeleton.offsets, skeleton.rest.rotations, skeleton.names, limits
    return bridge.library.Skeleton(*parts, masses, centres, preferred)


def _solve(skeleton, pose, goals, method, **options):
    """A solution of the library."""
    return bridge.library.solve(skeleton, pose, goals, method, goal_errors=True, workers=None, **options)


def _solve_or_refuse(solve, method):
    """The pose and the errors of a solution; the reason as a CannotBakeError if the method refuses the problem."""
    try:
        found = solve()
    except ValueError as error:
        label = next(label for name, label, _ in (*METHODS, *PIN_METHODS) if name == method)
        raise CannotBakeError(f"{label} cannot solve this: {str(error).removeprefix('limits: ')}") from error
    pose, errors = (found.pose, found.goal_errors) if hasattr(found, "goal_errors") else found
    return pose, np.nan_to_num(errors)


def _in_balance(solve, held, places, clip):
    """A solution in balance after some calls, each from the pose of the one before."""
    joints = [clip.skeleton.index(pin.bone) for pin in held.pins]
    heights = places.copy()
    heights[..., :2, 3] = clip.skeleton.forward(clip.pose).positions[:, joints, :2]
    found = solve(pose=clip.pose, goals=_goals(held, heights), **LOWER)
    for light, options in CALLS:
        found = solve(pose=found.pose, goals=_goals(held, places, light), **options)
    return found


def _perturb_if_needed(solve):
    """The pose and the errors without perturbation, except in frames where only perturbation reaches the goals.

    FABRIK leaves a straight chain only by perturbation.
    """
    found = solve(textbook=True)
    if found.reached.all():
        return found
    again = solve()
    better = (~found.reached & again.reached)[:, np.newaxis, np.newaxis]
    turned, moved = (
        np.where(better, getattr(again.pose, name), getattr(found.pose, name)) for name in ("rotations", "translations")
    )
    pose = bridge.library.Pose(turned, moved, found.pose.scales)
    return pose, np.where(better, again.goal_errors, found.goal_errors)


def _goals(held, places, light=1.0):
    """The goals of the pins, and of balance if it is kept. `light` is the weight of pins that support none."""
    library, turned, goals = bridge.library, Parts.of(places).turned, []
    for n, pin in enumerate(held.pins):
        weight = 1.0 if pin.sole else light
        turn = turned[:, n] if pin.turned else None
        place = places[:, n, :3, 3]
        goals.append(library.Reach(pin.bone, place, turn, chain=pin.first, weight=weight, rotation_weight=weight))
    return goals + (_balance(held, places, turned) if held.weights else [])


def _balance(held, places, turned):
    """Balance goals: the centre of mass is inside every edge of the support polygon, per frame."""
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
    """Edges of the convex hull of planar points, one per point: outward normal, and 1, or 0 for no corner.

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
    # all others are left of the line to the next corner; among collinear points that is the farthest
    nexts = np.where((across >= -(tiny**2)[..., np.newaxis]).all(axis=-1) & (lengths > tiny), lengths, 0.0)
    to = nexts.argmax(axis=-1)[..., np.newaxis]
    way = np.take_along_axis(ways, to[..., np.newaxis], axis=2)[:, :, 0]
    found = np.take_along_axis(nexts, to, axis=2)[..., 0] > 0.0
    out = np.stack([way[..., 1], -way[..., 0]], axis=-1)
    return np.where(found[..., np.newaxis], out, (1.0, 0.0)), found.astype(float)


def missed_goals(names, clip, errors):
    """(name, length, angle, frame number) of each missed goal, at its worst frame.

    The angle is 0 if it is negligible.
    """
    far = FAR * np.linalg.norm(clip.skeleton.offsets, axis=-1).sum()
    for name, error in zip(names, np.moveaxis(errors, 1, 0), strict=True):
        worst = int((error / (far, ASKEW)).max(axis=-1).argmax())
        if (error[worst] > (far, ASKEW)).any():
            away, askew = error[worst].tolist()
            yield name, away, askew if askew > ASKEW else 0.0, worst
