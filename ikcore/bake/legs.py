"""Legs in closed form: any number of bones, with the bend of the clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcore import _core, rotations
from ikcore._arrays import cross, dot, size
from ikcore.bake.motion import ROUNDING, LegMotion
from ikcore.bake.pelvis import Body
from ikcore.bake.scene import IDENTITY, Array, unit
from ikcore.feet.thresholds import SHORTEST_STANCE
from ikcore.feet.time_series import spread

STRAIGHTEST = 0.998  # share of the leg length: largest reach if the body cannot move closer


@dataclass(slots=True, eq=False)
class SolvedLeg:
    """A solved leg."""

    chain: Array  # (frames, points, 3): positions of the joints
    deltas: Array  # (frames, points - 1, 4): world rotations of bones relative to the clip


def hinges_of(motion: LegMotion) -> Array:
    """The axis of each knee in the space of the bone above it, (knees, 3): the mean over the clip."""
    knees = max(motion.chain.shape[1] - 2, 0)
    return unit(_core.hinges(motion.chain, motion.turns[:, :knees]))


def approach_of(motion: LegMotion, body: Body, foot: Array, reach: Array, fps: float, *, loop: bool) -> Array:
    """How much shorter than in the clip the hip-ankle distance is, the largest value within 0.1 s, (frames,).

    A knee that is bent backwards in the clip turns forwards by this. The largest value keeps it from turning back for a
    single frame.
    """
    far = np.minimum(size(foot - body.new_positions(motion.chain[:, 0])), np.maximum(reach, STRAIGHTEST * motion.size))
    nearer = np.maximum(size(motion.ankle - motion.chain[:, 0]) - far, 0)
    if not loop:
        return spread(nearer, SHORTEST_STANCE, fps)
    once = len(nearer) - 1
    return spread(np.concatenate([nearer[:-1], nearer[:-1], nearer]), SHORTEST_STANCE, fps)[once : 2 * once + 1]


def solve_leg(
    motion: LegMotion, hinges: Array, body: Body, foot: Array, reach: Array, nearer: Array
) -> tuple[SolvedLeg, Array]:
    """Solve a leg from the hip of the moved body to its foot, and return its shortfall with it.

    The shortfall of a free foot is 0. A leg folds only up to a share of its length.

    Parameters
    ----------
    motion : LegMotion
        The leg in the clip.
    hinges : (knees, 3) array
        `hinges_of`.
    body : Body
        How that departs from the clip.
    foot : (frames, 3) array
        Wanted positions of the end of the leg.
    reach : (frames,) array
        Largest distance that it reaches, slightly less than its length.
    nearer : (frames,) array
        `nearer_of`.
    """
    hip, most = body.new_positions(motion.chain[:, 0]), np.maximum(reach, STRAIGHTEST * motion.size)
    chain, turns, long = motion.chain, motion.turns, motion.size
    return bend(chain, turns, hinges, hip, foot, most, body=body, nearer=nearer, length=long)


def bend(
    chain: Array,
    turns: Array,
    hinges: Array,
    hip: Array,
    foot: Array,
    reach: Array,
    *,
    body: Body | None = None,
    nearer: Array | None = None,
    length: float = 0.0,
) -> tuple[SolvedLeg, Array]:
    """Bend a leg so that it begins at the hip and ends at the foot, and by how much it falls short of that.

    All but the first bone count as one, whose length is scaled in proportion; then the same again below. Every joint
    thus takes its share, and a leg that is not moved stays as it is.

    Parameters
    ----------
    chain : (frames, points, 3) array
        Positions of its joints in the clip. A free foot has one.
    turns : (frames, bones, 4) array
        Their world rotations.
    hinges : (knees, 3) array
        `hinges_of`.
    hip, foot : (frames, 3) arrays
        Wanted positions of its ends.
    reach : (frames,) array
        Largest distance of these, at most its length.
    body : Body, optional
        How the body turns, and the leg with it.
    nearer : (frames,) array, optional
        `nearer_of`.
    length : float, optional
        Length of the leg, which folds up to a share of it; 0: without a bound.
    """
    frames, points = chain.shape[:2]
    short, bent, deltas = np.empty(frames), np.empty(chain.shape), np.empty((frames, points - 1, 4))
    upper = turns[:, : max(points - 2, 0)]
    pivot, tilt = (None, None) if body is None or body.tilt is None else (body.pivot, body.tilt)
    _core.bend_leg(chain, upper, pivot, tilt, hip, foot, reach, nearer, hinges, length, bent, deltas, short)
    return SolvedLeg(bent, deltas), short


def point_knee(leg: SolvedLeg, hinge: Array, pole: Array, share: Array) -> SolvedLeg:
    """Turn a leg about the line from its hip to its end, so that its knee points at the pole.

    Parameters
    ----------
    leg : Bent
        The leg. Hip and end stay.
    hinge : (frames, 3) array
        The axis of its first knee in the world: says where a straight leg points.
    pole : (frames, 3) array
        The point to point at. One in line with the leg has no effect, one near to that less.
    share : (frames,) array
        How much of it is done.
    """
    hip = leg.chain[:, 0]
    line = unit(leg.chain[:, -1] - hip)
    upper, far = leg.chain[:, 1] - hip, pole - hip
    off, aside = (way - dot(way, line)[:, np.newaxis] * line for way in (upper, far))
    own = np.clip(size(off) / np.maximum(_core.HINGED * size(upper), ROUNDING), 0, 1)[:, np.newaxis]
    side = unit(own * unit(off) + (1 - own) * unit(cross(line, hinge)))
    clear = np.clip(size(aside) / np.maximum(_core.HINGED * size(far), ROUNDING), 0, 1)
    turn = rotations.slerp(IDENTITY, _rotation_about(line, side, unit(aside)), share * clear * clear * (3 - 2 * clear))
    chain = leg.chain.copy()
    chain[:, 1:-1] = hip[:, np.newaxis] + rotations.rotate(turn[:, np.newaxis], chain[:, 1:-1] - hip[:, np.newaxis])
    return SolvedLeg(chain, rotations.multiply(turn[:, np.newaxis], leg.deltas))


def _rotation_about(axis: Array, start: Array, end: Array) -> Array:
    """The rotation about an axis from one perpendicular direction to another; half a turn between opposite ones."""
    cosine, sine = dot(start, end), dot(cross(start, end), axis)
    half = np.where(1 + cosine > ROUNDING, 1 + cosine, 0)
    turn = np.concatenate([half[:, np.newaxis], np.where(half > 0, sine, 1)[:, np.newaxis] * axis], axis=1)
    return np.asarray(rotations.normalize(turn))
