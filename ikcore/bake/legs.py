"""Legs in closed form: any number of bones, bent as they are in the clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore import rotations
from ikcore.bake.motion import Array, LegMotion, level, size
from ikcore._arrays import dot
from ikcore.solvers import two_bone

_BENT = 0.26  # the sine of a bend from which the plane of a knee is its own; below, more and more that of its hinge
_WRONG = 0.02  # how far off its line, as a share of the upper bone, a knee is meant to be bent that is bent backwards
_UNTURNED = np.array([1.0, 0, 0, 0])


@dataclass(slots=True, eq=False)
class Bent:
    """A leg that is solved.

    Attributes
    ----------
    chain : (frames, points, 3) array
        Where its joints are.
    deltas : (frames, points - 1, 4) array
        The world rotation of each bone from what it was.
    """

    chain: Array
    deltas: Array


def hinges_of(motion: LegMotion) -> list[Array]:
    """The axis about which each knee bends, in the space of the bone above it: the mean over the clip."""
    found = []
    for knee in range(1, motion.chain.shape[1] - 1):
        above, below = (motion.chain[:, knee + side] - motion.chain[:, knee + side - 1] for side in (0, 1))
        normal = rotations.rotate(rotations.conjugate(motion.turns[:, knee - 1]), np.cross(above, below))
        finite = np.isfinite(normal).all(axis=1)
        total = np.add.accumulate(normal[finite], axis=0)[-1] if finite.any() else np.zeros(3)
        found.append(total / max(float(size(total)), 1e-300))
    return found


def bend(chain: Array, turns: Array, hip: Array, target: Array, hinges: list[Array]) -> Bent:
    """Bend a leg so that it begins at the hip and ends at the target.

    All but the first bone count as one, as long as it has to be in proportion; then the same again below. So every
    joint takes its share, and what is not moved stays as it is.

    Parameters
    ----------
    chain : (frames, points, 3) array
        Where its joints are in the clip.
    turns : (frames, bones, 4) array
        Their world rotations.
    hip, target : (frames, 3) array
        Where it should begin and end. No farther apart than it is long.
    hinges : list of (3,) array
        `hinges_of`.
    """
    points = chain.shape[1]
    if points < 3:
        arc = rotations.shortest_arc(chain[:, 1] - chain[:, 0], target - hip)
        return Bent(np.stack([hip, target], axis=1), arc[:, np.newaxis])
    end = chain[:, -1]
    length = size(end - chain[:, 1])
    if points > 3:
        before, after = size(end - chain[:, 0]), size(target - hip)
        length = length * after / np.maximum(before, 1e-12)
        bones = size(np.diff(chain[:, 1:], axis=1))
        first = size(chain[:, 1] - chain[:, 0])
        total = np.add.accumulate(bones, axis=1)[:, -1]
        least = np.maximum(2 * bones.max(axis=1) - total, 0)
        length = np.clip(length, np.maximum(least, np.abs(after - first)), np.minimum(total, after + first))
        mid = chain[:, 1] + (end - chain[:, 1]) * (length / np.maximum(size(end - chain[:, 1]), 1e-12))[:, np.newaxis]
        # the same triangle with its lower side as long as it will be
    else:
        mid = end
    knee = _knee(chain[:, 0], chain[:, 1], mid, end, hip, target, rotations.rotate(turns[:, 0], hinges[0]), length)
    upper = _carried(chain[:, 0], chain[:, 1], end, hip, knee, target)
    below = bend(chain[:, 1:], turns[:, 1:], knee, target, hinges[1:]) if points > 3 else None
    if below is None:
        moved = rotations.rotate(upper, end - chain[:, 1])
        lower = rotations.multiply(rotations.shortest_arc(moved, target - knee), upper)
        return Bent(np.stack([hip, knee, target], axis=1), np.stack([upper, lower], axis=1))
    return Bent(
        np.concatenate([hip[:, np.newaxis], below.chain], axis=1), np.concatenate([upper[:, np.newaxis], below.deltas], axis=1)
    )


def _knee(root, mid, low, end, hip, target, hinge, length):  # noqa
    """Where the knee goes: as far off the line as the sides say, to the side where it was; what it is bent more than it
    was it bends about its hinge, so that a straight leg, or one that is bent a trace to the wrong side, bends right."""
    line, way = end - root, target - hip
    arc = rotations.shortest_arc(line, way)
    unit = way / np.maximum(size(way), 1e-12)[:, np.newaxis]
    before = rotations.rotate(arc, mid - root)
    off = before - dot(before, unit)[:, np.newaxis] * unit
    forward = np.cross(rotations.rotate(arc, hinge), unit)
    forward = -forward
    forward = forward / np.maximum(size(forward), 1e-12)[:, np.newaxis]
    far, first = size(way), size(mid - root)
    along = (far + (first - length) * (first + length) / np.maximum(far, 1e-12)) / 2
    height = np.sqrt(np.maximum(first * first - along * along, 0))
    was = size(off)
    wrong = np.where(dot(off, forward) < 0, np.clip(was / np.maximum(_WRONG * first, 1e-300), 0, 1), 0)
    side = off + (np.maximum(height - was, 0) * (1 - 2 * wrong * wrong * (3 - 2 * wrong)))[:, np.newaxis] * forward
    return hip + along[:, np.newaxis] * unit + side * (height / np.maximum(size(side), 1e-12))[:, np.newaxis]


def _carried(root, mid, end, hip, knee, target):  # noqa
    """How the upper bone turns: by the shortest way, then about itself with the plane of the leg, if that is bent."""
    bone, bone_now = mid - root, knee - hip
    arc = rotations.shortest_arc(bone, bone_now)
    was, now = np.cross(bone, end - mid), np.cross(bone_now, target - knee)
    sine = size(was) / np.maximum(size(bone) * size(end - mid), 1e-300)
    share = np.clip(sine / _BENT, 0, 1)
    share = share * share * (3 - 2 * share)
    twist = rotations.shortest_arc(rotations.rotate(arc, was), now)
    fine = (dot(rotations.rotate(arc, was), now) > 0) & (size(now) > 0)
    twist = rotations.slerp(_UNTURNED, twist, np.where(fine, share, 0))
    return rotations.multiply(twist, arc)
