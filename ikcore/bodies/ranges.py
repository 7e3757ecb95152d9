"""Ranges of motion of a person for the joints of a rig."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._joints import ancestors
from ikcore.bodies.human import arm_limits, neck_limit, spine_limit
from ikcore.bodies.roles import Roles, roles_of
from ikcore.bodies.segments import axes_of
from ikcore.limits.human import human_leg
from ikcore.limits.limit import Limit
from ikcore.skeleton import Skeleton

Array = NDArray[np.float64]

_BENT = math.radians(10)  # a limb that is bent less at rest does not say about which axis
_WRIST = math.radians(80)  # lean to all sides: rigs do not say which way the palm is at rest


def with_ranges(skeleton: Skeleton) -> Skeleton:
    """The skeleton of a person with the ranges of motion of `human`, for joints with any axes.

    Ranges are measured from a T-pose, so the rest pose becomes one: arms sideways, legs straight down, feet, spine and
    head as they were. Elbows and knees that are bent by 10 degrees at rest turn about their own axis, and so do the
    bones above them. The old rest is what joints prefer. Poses stay as they are. Limits that joints have stay, too.

    Joints of the spine share its range evenly, and so do those of the neck and of the forearm. Wrists lean by 80
    degrees to all sides, and take the turn of a forearm without joints. Other joints inside bones are locked. Fingers
    are free.

    Parameters
    ----------
    skeleton : Skeleton
        Two arms and two legs, found by the names of their joints.

    Examples
    --------
    >>> import ikcore as ik
    >>> rig = ik.samples.walk().clip.skeleton
    >>> body = ik.bodies.with_ranges(rig)
    >>> knee = body.limits[body.index("LeftLeg")]
    >>> np.degrees(knee.twist).round()
    array([  0., 135.])
    """
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    roles, world = roles_of(skeleton), skeleton.forward(skeleton.rest)
    axes = axes_of(roles, world.positions)
    tops = _t_pose(skeleton, roles, axes)
    # from the axes of each joint to those of a person: +Y up, +Z forward, +X left
    frames = rotations.multiply(rotations.conjugate(rotations.from_matrix(axes)), tops)
    limits = list(skeleton.limits)
    for joint, limit in _limits(skeleton, roles).items():
        own = rotations.multiply(rotations.conjugate(frames[joint]), limit.frame)
        limits[joint] = limits[joint] or replace(limit, frame=tuple(own.tolist()))
    above = np.where(skeleton.parents[:, np.newaxis] >= 0, tops[skeleton.parents], [1.0, 0, 0, 0])
    rest = rotations.multiply(rotations.conjugate(above), tops)
    given = {"masses": skeleton.masses, "centres": skeleton.centres, "inertias": skeleton.inertias}
    given |= {"caps": skeleton.caps, "compliances": skeleton.compliances}
    given |= {"preferred": skeleton.preferred.rotations}
    return Skeleton(skeleton.parents, skeleton.offsets, rest, skeleton.names, limits, **given)


class _Bone(NamedTuple):
    """Two bones that should point in a direction, and the axis about which the second one bends."""

    joints: tuple[int, int, int]
    way: Array
    axis: Array


def _t_pose(skeleton: Skeleton, roles: Roles, axes: Array) -> Array:
    """World rotations of the joints in a T-pose."""
    left, up, _ = axes.T
    sign = {"left": 1, "right": -1}
    bones = [_Bone((*arm,), sign[side] * left, -sign[side] * up) for side, arm in roles.arms.items()]
    bones += [_Bone((leg.hip, leg.knee, leg.ankle), -up, left) for leg in roles.legs.values()]
    world = skeleton.forward(skeleton.rest)
    turns: dict[int, Array] = {}
    for bone in bones:
        first, second = np.diff(world.positions[list(bone.joints)], axis=0)
        bend = np.cross(first, second)
        bent = math.atan2(float(np.linalg.norm(bend)), float(first @ second)) > _BENT
        for joint, way in zip(bone.joints, (first, second), strict=False):
            turns[joint] = _onto(way, bend, bone) if bent else rotations.shortest_arc(way, bone.way)
    turns |= {leg.ankle: np.array([1.0, 0, 0, 0]) for leg in roles.legs.values()}  # feet stay flat
    found = np.empty((len(skeleton), 4))
    for joint in sorted(range(len(skeleton)), key=lambda joint: len(ancestors(skeleton, joint))):
        parent = int(skeleton.parents[joint])
        if joint in turns:
            found[joint] = rotations.multiply(turns[joint], world.rotations[joint])
        else:
            above = found[parent] if parent >= 0 else [1.0, 0, 0, 0]
            found[joint] = rotations.multiply(above, skeleton.rest.rotations[joint])
    return found


def _onto(way: Array, bend: Array, bone: _Bone) -> Array:
    """The rotation that takes a bone and the axis of its bend to those of a T-pose."""
    before, after = (np.array([a, b, np.cross(a, b)]) for a, b in ((way, bend), (bone.way, bone.axis)))
    before, after = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (before, after))
    return rotations.from_matrix(after.T @ before)


def _limits(skeleton: Skeleton, roles: Roles) -> dict[int, Limit]:
    """Limits by joint, in the axes of a person."""
    spine = roles.spine[1:]
    found = dict.fromkeys(spine, spine_limit(max(len(spine), 1)))
    trunk = ancestors(skeleton, roles.spine[-1])
    if roles.head is not None:
        neck = [joint for joint in ancestors(skeleton, roles.head) if joint not in trunk]
        found |= dict.fromkeys(neck, neck_limit(len(neck)))
    for side, arm in roles.arms.items():
        girdle = [joint for joint in ancestors(skeleton, arm.shoulder)[1:] if joint not in trunk]
        limits, out = arm_limits(side, has_collarbone=bool(girdle)), [1 if side == "left" else -1, 0, 0]
        found |= {arm.shoulder: limits["shoulder"], arm.elbow: limits["elbow"]}
        found |= dict.fromkeys(girdle[-1:], limits["clavicle"])
        forearm = _joints_between(skeleton, arm.elbow, arm.wrist)
        found |= dict.fromkeys(forearm, _part(limits["forearm"], len(forearm)))
        found |= dict.fromkeys(_joints_between(skeleton, arm.shoulder, arm.elbow), Limit.locked())
        twist = limits["forearm"].twist if not forearm else (0.0, 0.0)
        found[arm.wrist] = Limit.cone(out, _WRIST, twist=(twist[0], twist[1]))
    for side, leg in roles.legs.items():
        limits = human_leg(side)
        found |= {leg.hip: limits["hip"], leg.knee: limits["knee"], leg.ankle: limits["ankle"]}
        between = [*_joints_between(skeleton, leg.hip, leg.knee), *_joints_between(skeleton, leg.knee, leg.ankle)]
        found |= dict.fromkeys(between, Limit.locked())
        if leg.ball is not None:
            found[leg.ball] = limits["toe"]
    return found


def _joints_between(skeleton: Skeleton, start: int, end: int) -> list[int]:
    """The joints between two, without these."""
    above = ancestors(skeleton, end)
    return list(above[1 : above.index(start)])


def _part(limit: Limit, joints: int) -> Limit:
    """An even share of the range of a hinge."""
    low, high = limit.twist
    return replace(limit, twist=(low / max(joints, 1), high / max(joints, 1)))
