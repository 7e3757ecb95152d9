# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of Blender's two-bone IK constraint in closed form, on arrays. No bpy.

The constraint first rotates the whole limb rigidly. It then opens or closes the knee in the resulting plane:

* with a pole, the rotation maps the line root-end to the line root-goal. It maps `up` into the half plane of the pole,
  where up is cos(pole_angle) X + sin(pole_angle) Z of the root bone. The knee keeps its angle
  from `up` about that line, so a pole angle set in the rest pose puts the knee into the pole's half plane;

* without a pole, Blender's iteration also bends sideways, by an amount without a formula. Its final pose is displayed
  on every frame, so the limb continues from there, in its bend plane, and only corrects the remaining error. If the
  error is larger, because of too few iterations, the displayed pose is kept. If that pose is too straight to define a
  plane, the shortest arc from root-end to root-goal rotates the limb, which keeps the bend of the animated pose.

An influence below one moves the goal towards the animated end if there is no pole. If there is one, it blends the
resulting rotations of both bones.

Space: every limb is in the object space of its armature, and the result is independent of that object's scale.
"""

from dataclasses import dataclass

import numpy as np

from .. import bridge
from ..rig import rotations as rot

AWAY = 5e-3  # in leg lengths: larger deviations are reported
# A knee nearer to the line root-end than this share of the limb defines no bend direction, because it is mostly
# single-precision rounding of Blender's matrices.
STRAIGHT = 1e-4
# The sine of the angle below which two directions count as collinear and define no plane.
COLLINEAR = 1e-6
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass
class Limbs:
    """The animated pose of limbs without their IK, and the targets of the IK: arrays over (frames, limbs)."""

    root: np.ndarray  # (frames, limbs, 3): the head of the first bone
    mid: np.ndarray  # the head of the second
    end: np.ndarray  # the tail of the second
    root_axes: np.ndarray  # (frames, limbs, 3, 3): unit columns, the axes of the first bone
    shown: np.ndarray  # (frames, limbs, 2, 4): rotations of both bones to their displayed pose by IK without a pole
    goal: np.ndarray  # (frames, limbs, 3)
    pole: np.ndarray  # (frames, limbs, 3); ignored for a limb without a pole
    pole_angle: np.ndarray  # (frames, limbs)
    influence: np.ndarray  # (frames, limbs), 0 to 1
    has_pole: np.ndarray  # (limbs,), bool
    rest_bend: np.ndarray  # (limbs, 3): offset of the knee from the line at rest, in axes of the first bone


@dataclass
class LimbRotations:
    """Rotations about the joints from the animated pose to the solved one, and results."""

    root: np.ndarray  # (frames, limbs, 4)
    mid: np.ndarray  # (frames, limbs, 4); as if the first bone had not moved
    status: np.ndarray  # (frames, limbs), the flags of ikcore
    short: np.ndarray  # (frames, limbs): error of the displayed end that is kept, in limb lengths
    undefined: np.ndarray  # (frames, limbs), bool: the pole, or `up`, lies on the line root-goal and defines no plane


def solve(limbs):
    """Solve all frames of all limbs in one call of the library's closed form."""
    quat = bridge.rotations
    weight = limbs.influence[..., None]
    goal = np.where(limbs.has_pole[:, None], limbs.goal, limbs.end + weight * (limbs.goal - limbs.end))
    goal, short = _as_far_as_shown(limbs, goal)

    (first, second), (arm, forearm), bend, undefined = _start(limbs, goal)
    mid = limbs.root + arm
    limb = bridge.two_bone(limbs.root, mid, mid + forearm, goal, bend=bend)

    root_delta = quat.multiply(limb.root, first)
    mid_delta = quat.multiply(quat.conjugate(first), quat.multiply(limb.mid, second))
    share = np.where(limbs.has_pole, limbs.influence, 1.0)
    return LimbRotations(
        quat.slerp(NO_TURN, root_delta, share),
        quat.slerp(NO_TURN, mid_delta, share),
        np.asarray(limb.status),
        short,
        undefined,
    )


def _start(limbs, goal):
    """The limbs before the knee opens or closes, and where a pole is undefined.

    Returns the rotations of both bones to there, both bones as vectors, and the direction of the knee from their line.
    """
    rotate = bridge.rotations.rotate
    line, bend, straight = _bend(limbs)
    turn, undefined = _turn(limbs, line, goal)
    shown, off = _displayed_limbs(limbs)
    first, second = (np.where(shown[..., None], limbs.shown[..., bone, :], turn) for bone in range(2))
    straight &= ~shown
    arm = rotate(first, _straighten(limbs.mid - limbs.root, line, straight))
    forearm = rotate(second, _straighten(limbs.end - limbs.mid, line, straight))
    return (first, second), (arm, forearm), np.where(shown[..., None], off, rotate(turn, bend)), undefined


def _as_far_as_shown(limbs, goal):
    """The goals, or the displayed end if it missed a goal in reach; and its error, in limb lengths."""
    if limbs.has_pole.all():
        return goal, np.zeros(goal.shape[:-1])
    (arm, forearm), known = _bones_shown(limbs), _displayed_limbs(limbs)[0]
    upper, lower = rot.lengths_of(arm), rot.lengths_of(forearm)
    aim, distance = rot.unit(goal - limbs.root)
    near = limbs.root + aim * np.clip(distance, np.abs(upper - lower), upper + lower)[..., None]
    end = limbs.root + arm + forearm
    off = rot.lengths_of(end - near) / (upper + lower)
    short = known & (off > AWAY)
    return np.where(short[..., None], end, goal), np.where(short, off, 0.0)


def _bones_shown(limbs):
    """Both bones as vectors, as Blender displays them."""
    bones = (limbs.mid - limbs.root, limbs.end - limbs.mid)
    return tuple(bridge.rotations.rotate(limbs.shown[..., n, :], bone) for n, bone in enumerate(bones))


def _displayed_limbs(limbs):
    """Mask of limbs that continue from their displayed pose, and the offset of their knee from the line root-end."""
    if limbs.has_pole.all():
        return np.zeros(limbs.influence.shape, bool), np.zeros(limbs.goal.shape)
    arm, forearm = _bones_shown(limbs)
    off = rot.across(arm, rot.unit(arm + forearm)[0])
    return ~limbs.has_pole & (rot.lengths_of(off) > STRAIGHT * _reach(arm, forearm)), off


def _reach(arm, forearm):
    """The length of a straight limb."""
    return rot.lengths_of(arm) + rot.lengths_of(forearm)


def _bend(limbs):
    """The unit line root-end, the direction of the knee from it, and a mask of poses too straight to define one."""
    arm, forearm = limbs.mid - limbs.root, limbs.end - limbs.mid
    reach = _reach(arm, forearm)
    line, length = rot.unit(limbs.end - limbs.root)
    line = np.where((length > STRAIGHT * reach)[..., None], line, rot.unit(arm)[0])
    bend = rot.across(arm, line)
    straight = rot.lengths_of(bend) <= STRAIGHT * reach
    if not straight.any():
        return line, bend, straight
    folded = straight & (rot.dot(arm, forearm) < 0.0)

    at_rest = rot.across(np.einsum("flij,lj->fli", limbs.root_axes, limbs.rest_bend), line)
    has_rest = rot.lengths_of(at_rest) > STRAIGHT
    spare = np.where(has_rest[..., None], at_rest, rot.across(_up(limbs), line))
    return line, np.where(straight[..., None], spare, bend), straight & ~folded


def _up(limbs):
    """The direction perpendicular to the first bone that the pole angle defines, in armature space."""
    cosine, sine = np.cos(limbs.pole_angle)[..., None], np.sin(limbs.pole_angle)[..., None]
    return cosine * limbs.root_axes[..., 0] + sine * limbs.root_axes[..., 2]


def _turn(limbs, line, goal):
    """The rigid rotation of the limb about its root, and a mask of limbs whose pole is undefined."""
    pole = np.where(limbs.has_pole[:, None], limbs.pole - limbs.root, 0.0)
    turn, decided = to_pole(line, _up(limbs), goal - limbs.root, pole)
    return turn, limbs.has_pole & ~decided


def to_pole(line, up, goal, pole):
    """The rotation of a chain as a whole about its root to its pole, and a mask where the pole defines it.

    It maps the unit line root-end to that of the goal, and `up` to the side of the pole. If `up` or the pole is on its
    line, Blender's frames are singular and its limb collapses. Here, the shortest arc then keeps the bend of the pose.
    Goal and pole are relative to the root.
    """
    aim, distance = rot.unit(goal)
    aim = np.where((distance > 0.0)[..., None], aim, line)
    up, up_sine = rot.unit(rot.across(up, line))
    side, pole_sine = rot.unit(rot.across(rot.unit(pole)[0], aim))
    decided = (up_sine > COLLINEAR) & (pole_sine > COLLINEAR)
    to, before = (bridge.rotations.from_matrix(_frame(*axes)) for axes in ((aim, side), (line, up)))
    by_pole = bridge.rotations.multiply(to, bridge.rotations.conjugate(before))
    return np.where(decided[..., None], by_pole, bridge.rotations.shortest_arc(line, aim)), decided


def _frame(a, b):
    """Right-handed axes as columns from two perpendicular unit vectors."""
    return np.stack([a, b, np.cross(a, b)], axis=-1)


def _straighten(bone, line, straight):
    """A nearly straight bone placed on the line, so that rounding has no influence."""
    return np.where(straight[..., None], line * rot.lengths_of(bone)[..., None], bone)
