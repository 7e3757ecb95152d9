"""Legs in closed form: any number of bones, bent as they are in the clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore import rotations
from ikcore._arrays import cross, dot, size
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import UNTURNED, Array, unit

_BENT = 0.26  # the sine of a bend from which the plane of a knee is its own; below, more and more that of its hinge
_STRAIGHT = 0.02  # the sine of a bend below which its plane counts less and less
_WRONG = 0.25  # how far off its line, as a share of the upper bone, a knee is meant to be bent that is bent backwards
_FOLDED = 0.25  # of its length: legs are not folded more over obstacles, unless they are in the clip
_TIGHTEST = 0.2  # likewise: nor more than this to stand
STRAIGHTEST = 0.998  # of the length of a leg: how far it reaches where the body cannot give more
_ROUNDING = 1e-9  # of the length of a leg
_AHEAD = 0.1  # the sine of the angle at the hip between foot and pole; below, knees point at it less and less
_TINY = 1e-12


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
        normal = rotations.rotate(rotations.conjugate(motion.turns[:, knee - 1]), cross(above, below))
        found.append(unit(np.add.accumulate(normal, axis=0)[-1]))
    return found


def reached(
    chain: Array, turns: Array, hinges: list[Array], hip: Array, ankle: Array, over: Array, reach: Array, length: float
) -> tuple[Bent, Array]:
    """A leg between its hip and where its foot should be, and by how much it falls short of that.

    A free foot never does.

    Parameters
    ----------
    chain, turns, hinges
        As `bend` takes them.
    hip, ankle : (frames, 3) arrays
        Where it begins, and should end.
    over : (frames, 3) array
        What of that is for obstacles.
    reach : (frames,) array
        How far it reaches at most, but for the last bit of its length.
    length : float
        Of the leg.
    """
    if chain.shape[1] == 1:
        return bend(chain, turns, hip, ankle, hinges), np.zeros(len(ankle))
    line = ankle - hip
    line = unfolded(line, line - over, chain[:, -1] - chain[:, 0], length)
    most = np.maximum(reach, STRAIGHTEST * length)
    target = hip + line * np.minimum(most / np.maximum(size(line), 1e-12), 1)[:, np.newaxis]
    short = size(ankle - target)
    return bend(chain, turns, hip, target, hinges), np.where(short > _ROUNDING * length, short, 0.0)


def unfolded(line: Array, plain: Array, source: Array, length: float) -> Array:
    """Ways from the hip to the foot that lead at least so far to where it is in the clip.

    A foot that is lifted past the hip would turn the leg over. One that stands stays if it can: obstacles are what a
    leg need not fold up for, and ways without them are `plain`.
    """
    least = np.minimum(size(source), np.clip(size(plain), _TIGHTEST * length, _FOLDED * length))
    ahead = unit(source)
    return np.asarray(line + np.maximum(least - dot(line, ahead), 0)[:, np.newaxis] * ahead)


def bend(chain: Array, turns: Array, hip: Array, target: Array, hinges: list[Array]) -> Bent:
    """Bend a leg so that it begins at the hip and ends at the target.

    All but the first bone count as one, as long as it has to be in proportion; then the same again below. So every
    joint takes its share, and what is not moved stays as it is.

    Parameters
    ----------
    chain : (frames, points, 3) array
        Where its joints are in the clip. A free foot has one.
    turns : (frames, bones, 4) array
        Their world rotations.
    hip, target : (frames, 3) arrays
        Where it should begin and end. No farther apart than it is long.
    hinges : list of (3,) array
        `hinges_of`.
    """
    if chain.shape[1] == 1:
        return Bent(target[:, np.newaxis], np.empty((len(target), 0, 4)))
    if chain.shape[1] == 2:
        arc = rotations.shortest_arc(chain[:, 1] - chain[:, 0], target - hip)
        return Bent(np.stack([hip, target], axis=1), arc[:, np.newaxis])
    knee = _knee(chain, hip, target, rotations.rotate(turns[:, 0], hinges[0]))
    upper = _turned(chain, hip, knee, target)
    if chain.shape[1] > 3:
        below = bend(chain[:, 1:], turns[:, 1:], knee, target, hinges[1:])
    else:
        carried = rotations.rotate(upper, chain[:, 2] - chain[:, 1])
        lower = rotations.multiply(rotations.shortest_arc(carried, target - knee), upper)
        below = Bent(np.stack([knee, target], axis=1), lower[:, np.newaxis])
    return Bent(
        np.concatenate([hip[:, np.newaxis], below.chain], axis=1),
        np.concatenate([upper[:, np.newaxis], below.deltas], axis=1),
    )


def pointed(leg: Bent, hinge: Array, pole: Array, share: Array) -> Bent:
    """Turn a leg about the line from its hip to its end, so that its knee points at the pole.

    Parameters
    ----------
    leg : Bent
        The leg. Hip and end stay.
    hinge : (frames, 3) array
        The axis of its first knee in the world: says where a straight leg points.
    pole : (frames, 3) array
        What to point at. One in line with the leg says nothing.
    share : (frames,) array
        How much of it is done.
    """
    hip = leg.chain[:, 0]
    line = unit(leg.chain[:, -1] - hip)
    upper, far = leg.chain[:, 1] - hip, pole - hip
    off, aside = (way - dot(way, line)[:, np.newaxis] * line for way in (upper, far))
    own = np.clip(size(off) / np.maximum(_BENT * size(upper), _TINY), 0, 1)[:, np.newaxis]
    side = unit(own * unit(off) + (1 - own) * unit(np.cross(line, hinge)))
    clear = np.clip(size(aside) / np.maximum(_AHEAD * size(far), _TINY), 0, 1)
    turn = rotations.slerp(UNTURNED, _about(line, side, unit(aside)), share * clear * clear * (3 - 2 * clear))
    chain = leg.chain.copy()
    chain[:, 1:-1] = hip[:, np.newaxis] + rotations.rotate(turn[:, np.newaxis], chain[:, 1:-1] - hip[:, np.newaxis])
    return Bent(chain, rotations.multiply(turn[:, np.newaxis], leg.deltas))


def _about(axis: Array, start: Array, end: Array) -> Array:
    """The turn about an axis from one direction to another, both square to it; half a turn between opposite ones."""
    cosine, sine = dot(start, end), dot(np.cross(start, end), axis)
    half = np.where(1 + cosine > _TINY, 1 + cosine, 0)
    turn = np.concatenate([half[:, np.newaxis], np.where(half > 0, sine, 1)[:, np.newaxis] * axis], axis=1)
    return np.asarray(rotations.normalize(turn))


def _knee(chain: Array, hip: Array, target: Array, hinge: Array) -> Array:
    """Where the knee goes: as far off the line as the sides say, to the side where it was.

    What it is bent more than it was it bends about its hinge. So a straight leg, or one that is bent a trace to the
    wrong side, bends the right way, and one that is not moved stays as it is.
    """
    root, mid, end = chain[:, 0], chain[:, 1], chain[:, -1]
    arc = rotations.shortest_arc(end - root, target - hip)
    line, before = unit(target - hip), rotations.rotate(arc, mid - root)
    off = before - dot(before, line)[:, np.newaxis] * line
    forward = unit(cross(line, rotations.rotate(arc, hinge)))
    far, first, second = size(target - hip), size(mid - root), _below(chain, size(target - hip))
    along = (far + (first - second) * (first + second) / np.maximum(far, _TINY)) / 2
    height, was = np.sqrt(np.maximum(first * first - along * along, 0)), size(off)
    wrong = np.where(dot(off, forward) < 0, np.clip(was / np.maximum(_WRONG * first, _TINY), 0, 1), 0)
    more = np.maximum(height - was, 0) * (1 - 2 * wrong * wrong * (3 - 2 * wrong))
    side = unit(off + more[:, np.newaxis] * forward)
    return np.asarray(hip + along[:, np.newaxis] * line + height[:, np.newaxis] * side)


def _below(chain: Array, far: Array) -> Array:
    """How far from the knee the end should be: of two bones the length of the second, of more in proportion."""
    bones = size(np.diff(chain, axis=1))
    if chain.shape[1] == 3:
        return np.asarray(bones[:, 1])
    first, lower = bones[:, 0], bones[:, 1:]
    total = np.add.accumulate(lower, axis=1)[:, -1]
    least = np.maximum(2 * lower.max(axis=1) - total, 0)
    share = far / np.maximum(size(chain[:, -1] - chain[:, 0]), _TINY)
    wanted = size(chain[:, -1] - chain[:, 1]) * share
    return np.asarray(np.clip(wanted, np.maximum(least, np.abs(far - first)), np.minimum(total, far + first)))


def _turned(chain: Array, hip: Array, knee: Array, target: Array) -> Array:
    """How the upper bone turns: by the shortest way, then about itself with the plane of the leg, if that is bent.

    So the knee stays a hinge: it does not twist against the thigh.
    """
    bone, low = chain[:, 1] - chain[:, 0], chain[:, -1] - chain[:, 1]
    arc = rotations.shortest_arc(bone, knee - hip)
    was, now = rotations.rotate(arc, cross(bone, low)), cross(knee - hip, target - knee)
    sine = size(was) / np.maximum(size(bone) * size(low), _TINY)
    alike = dot(was, now) / np.maximum(size(was) * size(now), _TINY)  # all of it up to 60 degrees, none from 90
    bent = size(now) / np.maximum(size(knee - hip) * size(target - knee), _TINY)  # a straight one has no plane
    share = np.clip(sine / _BENT, 0, 1) * np.clip(bent / _STRAIGHT, 0, 1) * np.clip(2 * alike, 0, 1)
    share = share * share * (3 - 2 * share)
    return rotations.multiply(rotations.slerp(UNTURNED, rotations.shortest_arc(was, now), share), arc)
