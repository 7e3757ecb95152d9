# SPDX-License-Identifier: GPL-3.0-or-later
"""Knees and elbows: their bend direction as a limit, and the bend that compressed limbs prefer. Without bpy.

A knee is named by three bones, (upper, lower, end); `end` is at the end of the lower one.
"""

from dataclasses import dataclass

import numpy as np

from .. import bridge
from ..rig import rotations as rot

BENT_AT_REST = np.radians(2.0)  # a smaller rest bend does not define the direction
BENT = np.radians(20.0)  # neither does a smaller bend of a pose
SPREAD = np.radians(45.0)  # poses whose hinge axes deviate more from their mean do not define it
ASIDE = np.radians(5.0)  # largest lean of a lower bone out of the bend plane, unless poses exceed it
WIDER = 1.1  # relative to poses with the largest sideways lean: margin for those also bent backwards
SLACK = 1e-4  # radians beyond the poses themselves, for rounding
STRAIGHT = np.cos(np.radians(0.5))  # cosine of the bend of a joint that counts as straight
PREFERRED = np.radians(150.0)  # bend of a limb compressed to nothing


@dataclass(frozen=True)
class OneWay:
    """Limit of a lower bone: it leans to the bend side, slightly sideways, and backwards only until straight.

    Directions are in the space of the bone. It has the interface of `ik_limits.Freedom`.
    """

    along: tuple  # the bone at rest
    side: tuple  # direction of its lean when the knee bends
    back: float  # radians from rest to the straight knee, or to the most backward pose
    aside: float  # radians

    def limit(self, position=None):
        """The ikcore.Limit; `position` is the range of the bone's sliding."""
        swing = (np.pi, self.back, self.aside, self.aside)
        return bridge.library.Limit.ball(self.along, swing, side=self.side, position=position)

    def bend(self, _):
        """The bend axis of the knee, in the space of the bone."""
        return np.cross(self.along, self.side)


def one_way(knees, clip, keyed):
    """The bend limits of knees with a defined direction, by the names of their lower bones: {name: OneWay}.

    The rest pose defines the direction if the knee is bent at rest. Otherwise keyed poses do, or else those of the
    clip.

    Parameters
    ----------
    knees : sequence of (str, str, str)
        Upper bone, lower bone and end.
    clip : ikcore.Clip
        The motion to be solved.
    keyed : dict of (poses, 4) arrays
        Keyed rotations of lower bones relative to rest, by name.
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
    """The hinge axis of a knee, from directions of its lower bone; None if they disagree.

    The mean of the axes of all poses bent by more than `least`, weighted by the sine of the bend.
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
    """The limit of a lower bone that bends about a hinge and allows all of these directions.

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
    """The radius of the smallest ellipse, of radius 1 along `others`, that contains all points."""
    return float(np.max(np.abs(values) / np.sqrt(np.maximum(1.0 - others**2, 1e-12)), initial=0.0))


def preferred_rotations(skeleton, chains, freedoms):
    """The rotations, (joints, 4), to which a compressed limb bends: of knees, and of other joints straight at rest.

    A straight chain has no side of its own. Knees bend in their direction, other joints as their limits allow.

    Parameters
    ----------
    skeleton : ikcore.Skeleton
        The bones.
    chains : sequence of sequences of str
        Bones from the pin up to the first of the chain.
    freedoms : dict of OneWay or ik_limits.Freedom
        Limits of the bones that move, by name.
    """
    quat, found = bridge.rotations, skeleton.rest.rotations.copy()
    for name, end in sorted({pair for chain in chains for pair in zip(chain[1:-1], chain[:-2], strict=True)}):
        joint, way = skeleton.index(name), skeleton.offsets[skeleton.index(end)]
        before, after = rot.unit(skeleton.offsets[joint])[0], rot.unit(quat.rotate(found[joint], way))[0]
        axis = freedoms[name].bend(way) if name in freedoms else None
        if axis is not None and (isinstance(freedoms[name], OneWay) or before @ after > STRAIGHT):
            found[joint] = quat.multiply(found[joint], quat.from_axis_angle(np.array(axis), PREFERRED))
    return found
