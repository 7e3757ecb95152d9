"""Masses of bodies without tables: every bone is a uniform rod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ikcore.bodies.segments import Piece, on_joints
from ikcore.skeleton import Skeleton

_THICK = 0.2  # diameter of a rod over its length


class Rod(NamedTuple):
    """A bone from a joint to another one below it, with its share of the mass."""

    joint: str
    end: str
    share: float


def with_rods(skeleton: Skeleton, rods: Sequence[Rod], mass: float) -> Skeleton:
    """The skeleton with uniform cylinders for bones, whose shares are of all of them."""
    if not (np.isfinite(mass) and mass > 0):
        raise ValueError(f"mass: expected more than 0, got {mass!r}")
    at, whole = skeleton.forward(skeleton.rest).positions, sum(rod.share for rod in rods)
    pieces = []
    for rod in rods:
        joint, own = skeleton.index(rod.joint), mass * rod.share / whole
        start, end = at[joint], at[skeleton.index(rod.end)]
        square, radius = float((end - start) @ (end - start)), _THICK / 2
        along = np.outer(end - start, end - start)  # square times the projector on the axis
        across = own * square * (1 / 12 + radius**2 / 4)  # of a cylinder, about an axis across
        inertia = across * np.eye(3) + (own * radius**2 / 2 - across / square) * along
        pieces.append(Piece(joint, own, (start + end) / 2, inertia))
    return on_joints(skeleton, pieces)
