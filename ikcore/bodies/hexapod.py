"""A walker with six legs, an insect or a robot."""

from __future__ import annotations

import math

import numpy as np

from ikcore.bodies.rods import Rod, with_rods
from ikcore.limits.limit import Limit
from ikcore.skeleton import Skeleton

_ANYWHERE = [[-float("inf")] * 3, [float("inf")] * 3]
_ANGLES = {"front": 45.0, "middle": 90.0, "hind": 135.0}  # degrees of a leg from forward, on the left

# Chosen: places along a leg at rest, over the radius of the feet: out from the middle, and up.
_LEG = {"coxa": (0.30, 0.35), "femur": (0.42, 0.35), "tibia": (0.75, 0.55), "foot": (1.0, 0.0)}

# Chosen ranges in degrees from rest: the coxa about the vertical, the others about the axis across the leg.
_RANGES = {"coxa": (-50, 50), "femur": (-80, 80), "tibia": (-90, 60)}

# Chosen shares of mass: of the body, and of the bones of one leg.
_BODY, _BONES = 0.52, {"coxa": 0.02, "femur": 0.03, "tibia": 0.03}


def hexapod(radius: float = 0.25, mass: float = 2.0) -> Skeleton:
    """A walker with six legs, with limits, masses and inertias.

    At rest it stands: +Y up, +Z forward, +X left, the ground at 0. The root is the body; it may go anywhere. Each leg
    has three hinges, as those of common robots: the coxa turns it to the sides, femur and tibia lift and stretch it.
    Proportions, masses and ranges are chosen. Bones are rods with a thickness of a fifth.

    Parameters
    ----------
    radius : float, default: 0.25
        Distance of the feet from the middle, in any unit of length.
    mass : float, default: 2
        Total mass, in any unit.

    Returns
    -------
    Skeleton
        27 joints: body, head, tail; coxa, femur, tibia and foot of the legs "left front", "left middle", "left hind"
        and of those of the right side.

    Examples
    --------
    >>> import ikcore as ik
    >>> walker = ik.bodies.hexapod()
    >>> feet = {name: [[0, 0, 0]] for name in walker.names if name.endswith("foot")}
    >>> print(ik.bodies.balance(walker, walker.rest, feet).margin.round(3))
    0.177
    """
    if not (np.isfinite(radius) and radius > 0):
        raise ValueError(f"radius: expected more than 0, got {radius!r}")
    high = _LEG["coxa"][1]
    names, parents, places = ["body", "head", "tail"], [-1, 0, 0], [(0, high, 0), (0, high, 0.45), (0, high, -0.45)]
    limits: dict[str, Limit] = {"body": Limit.free(position=_ANYWHERE)}
    rods = [Rod("body", "head", _BODY / 2), Rod("body", "tail", _BODY / 2)]
    for side, sign in (("left", 1), ("right", -1)):
        for leg, angle in _ANGLES.items():
            out = np.array([sign * math.sin(math.radians(angle)), 0, math.cos(math.radians(angle))])
            above = 0
            for part, (far, up) in _LEG.items():
                name = f"{side} {leg} {part}"
                names.append(name)
                parents.append(above)
                places.append(tuple(far * out + [0, up, 0]))
                above = len(names) - 1
                if part in _RANGES:
                    axis = [0, 1, 0] if part == "coxa" else np.cross([0, 1, 0], out)
                    limits[name] = Limit.hinge(axis, *(math.radians(bound) for bound in _RANGES[part]))
            rods += [
                Rod(f"{side} {leg} {a}", f"{side} {leg} {b}", _BONES[a])
                for a, b in (("coxa", "femur"), ("femur", "tibia"), ("tibia", "foot"))
            ]
    at = radius * np.array(places, float)
    offsets = at - np.where(np.array(parents)[:, np.newaxis] >= 0, at[parents], 0)
    return with_rods(Skeleton(parents, offsets, names=names, limits=limits), rods, mass)
