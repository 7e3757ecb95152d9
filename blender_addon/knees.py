# SPDX-License-Identifier: GPL-3.0-or-later
"""Knees and elbows: the side to which each bends, as a limit, and the small bend a solve starts with. Without bpy.

A knee is named by the bones whose heads make it: (upper, lower, end), the end being where the lower one ends.
"""

from dataclasses import dataclass

import numpy as np

from . import bridge
from . import rotations as rot

BENT_AT_REST = np.radians(2.0)  # a knee that is bent less at rest does not tell its side
BENT = np.radians(20.0)  # a pose that bends it less does not either
SPREAD = np.radians(45.0)  # poses whose hinge axes differ by more than this from their mean tell no side
ASIDE = np.radians(
    15.0
)  # how far a lower bone may lean aside of the plane in which the knee bends, if poses do not more
WIDER = 1.1  # than the poses that lean farthest aside: room for those that are bent back too
SLACK = 1e-4  # radians beyond the poses themselves, for rounding
START = np.radians(0.5)  # a straight joint starts a solve bent by this much, or a solver could not tell which way
NEAR = 0.05  # of the length of the two bones: the bend is in proportion to the way of the pins up to this


@dataclass(frozen=True)
class OneWay:
    """What a lower bone may do: lean to the side of the bend, little aside, and away from it no farther than straight.

    Directions are in the space of the bone. It stands in for `ik_limits.Freedom`.
    """

    along: tuple  # the bone at rest
    side: tuple  # to where it leans when the knee bends
    back: float  # radians from rest to the straight knee, or to the pose that is bent farthest back
    aside: float  # radians

    def limit(self, position=None):
        """The ikcore.Limit of it; `position` is how far the bone may slide."""
        swing = (np.pi, self.back, self.aside, self.aside)
        return bridge.library.Limit.ball(self.along, swing, side=self.side, position=position)

    def bend(self, _):
        """The axis about which the knee bends, in the space of the bone."""
        return np.cross(self.along, self.side)


def one_way(knees, clip, keyed):
    """The sides of knees that can be told, by the names of their lower bones: {name: OneWay}.

    The rest pose tells a side where the knee is bent at rest. Otherwise the poses do: those of the keys, else those of
    the clip.

    Parameters
    ----------
    knees : sequence of (str, str, str)
        Upper bone, lower bone and end.
    clip : ikcore.Clip
        The motion that is to be bent.
    keyed : dict of (poses, 4) arrays
        What keys turn lower bones to, relative to rest, by name.
    """
    skeleton, found = clip.skeleton, {}
    at_rest = skeleton.forward(skeleton.rest)
    for upper, lower, end in knees:
        first, joint, last = (skeleton.index(name) for name in (upper, lower, end))
        ways = at_rest.positions[[joint, last]] - at_rest.positions[[first, joint]]
        back = bridge.rotations.conjugate(at_rest.rotations[joint])
        before, along = rot.unit(bridge.rotations.rotate(back, ways))[0]
        turned = keyed.get(lower)
        if turned is None:
            own = clip.pose.rotations[:, joint]
            turned = bridge.rotations.multiply(bridge.rotations.conjugate(skeleton.rest.rotations[joint]), own)
        leans = bridge.rotations.rotate(turned, along)
        hinge = _hinge(before, along[np.newaxis], BENT_AT_REST)
        hinge = _hinge(before, leans, BENT) if hinge is None else hinge
        if hinge is not None:
            found[lower] = _one_way(before, along, hinge, leans)
    return found


def _hinge(before, leans, least):
    """The axis about which a knee bends, from directions of its lower bone; None if they do not agree on one.

    The mean of the axes of all that are bent by more than `least`, weighted by the sine of the bend.
    """
    axes = np.cross(before, leans)
    bends = np.arctan2(np.linalg.norm(axes, axis=-1), leans @ before)
    axes = axes[bends > least]
    mean, size = rot.unit(axes.sum(axis=0))
    if not size:
        return None
    apart = np.arctan2(np.linalg.norm(np.cross(axes, mean), axis=-1), axes @ mean)
    return mean if apart.max() <= SPREAD else None


def _one_way(before, along, hinge, leans):
    """The limit of a lower bone that bends about a hinge, and does not keep it from any of these directions.

    Limit.ball bounds the sine of half the angle by an ellipse.
    """
    side = rot.unit(np.cross(hinge, along))[0]
    straight = np.arctan2(-(before @ side), before @ along)
    half = np.sqrt(np.maximum((1.0 - leans @ along) / 2.0, 0.0))
    away = rot.unit(rot.across(leans, along))[0]
    toward, across = (half[:, np.newaxis] * away @ np.stack([side, np.cross(along, side)], axis=-1)).T
    aside = max(np.sin(ASIDE / 2.0), WIDER * _radius(across, toward))
    behind = toward < 0.0
    back = max(np.sin(max(straight, 0.0) / 2.0), _radius(toward[behind], across[behind] / aside))
    angles = (min(2.0 * np.arcsin(min(size, 1.0)) + SLACK, np.pi) for size in (back, aside))
    return OneWay(tuple(along.tolist()), tuple(side.tolist()), *map(float, angles))


def _radius(values, others):
    """The radius of the smallest ellipse, of radius 1 along `others`, that has all of these points inside."""
    return float(np.max(np.abs(values) / np.sqrt(np.maximum(1.0 - others**2, 1e-12)), initial=0.0))


def started(clip, chains, freedoms, away):
    """The clip to start from: joints that are exactly straight are bent a little, in proportion to the way of the pins.

    In a straight chain no joint moves the end along the chain, so a solver stands still there. Knees are bent to their
    side, other joints as they may. Where no pin has gone anywhere the pose is the clip's.

    Parameters
    ----------
    clip : ikcore.Clip
        The motion.
    chains : sequence of sequences of str
        Bones from the pin up to the first that moves for it.
    freedoms : dict of OneWay or ik_limits.Freedom
        What bones of chains may do, by name.
    away : (frames,) array
        How far the farthest pin is from its bone.
    """
    skeleton, turned, quat = clip.skeleton, clip.pose.rotations.copy(), bridge.rotations
    inner = sorted({pair for chain in chains for pair in zip(chain[1:-1], chain[:-2], strict=True)})
    joints, ends = (np.array([skeleton.index(pair[n]) for pair in inner], int) for n in (0, 1))
    before, after = skeleton.offsets[joints], skeleton.offsets[ends]
    sizes = rot.lengths_of(before) + rot.lengths_of(after)
    cosines = rot.dot(rot.unit(before)[0], quat.rotate(turned[:, joints], rot.unit(after)[0]))
    angles = np.maximum(START - np.arccos(np.clip(cosines, -1.0, 1.0)), 0.0)
    for n in np.flatnonzero(angles.any(axis=0)):
        axis, joint = freedoms[inner[n][0]].bend(after[n]), joints[n]
        if axis is not None:
            hinge = quat.rotate(skeleton.rest.rotations[joint], np.array(axis))
            angle = angles[:, n] * np.minimum(away / (NEAR * sizes[n]), 1.0)
            turned[:, joint] = quat.multiply(quat.from_axis_angle(hinge, angle), turned[:, joint])
    pose = bridge.library.Pose(turned, clip.pose.translations, clip.pose.scales)
    return bridge.library.Clip(skeleton, pose, clip.fps, clip.loop, up=clip.up)
