"""A four-legged animal of any height and mass, about a large dog."""

from __future__ import annotations

import math

import numpy as np

from ikcore.bodies.rods import Rod, with_rods
from ikcore.limits.limit import Limit
from ikcore.skeleton import Skeleton

_ANYWHERE = [[-float("inf")] * 3, [float("inf")] * 3]

# Places of joints at rest over the height of the withers, x for the left side: chosen for a large dog, not measured.
_TRUNK: dict[str, tuple[str, tuple[float, float, float]]] = {
    "pelvis": ("", (0, 0.95, -0.45)),
    "spine 1": ("pelvis", (0, 0.97, -0.30)),
    "spine 2": ("spine 1", (0, 0.95, 0.00)),
    "chest": ("spine 2", (0, 0.93, 0.25)),
    "neck": ("chest", (0, 0.98, 0.50)),
    "head": ("neck", (0, 1.20, 0.70)),
    "nose": ("head", (0, 1.10, 0.98)),
    "tail 1": ("pelvis", (0, 0.93, -0.62)),
    "tail 2": ("tail 1", (0, 0.80, -0.82)),
    "tail tip": ("tail 2", (0, 0.62, -0.95)),
}
_LEG: dict[str, tuple[str, tuple[float, float, float]]] = {
    "front scapula": ("chest", (0.10, 0.95, 0.38)),
    "front shoulder": ("front scapula", (0.12, 0.70, 0.52)),
    "front elbow": ("front shoulder", (0.13, 0.50, 0.34)),
    "front wrist": ("front elbow", (0.13, 0.19, 0.38)),
    "front toe": ("front wrist", (0.13, 0.05, 0.38)),
    "front toe tip": ("front toe", (0.13, 0.00, 0.46)),
    "hind hip": ("pelvis", (0.10, 0.84, -0.52)),
    "hind knee": ("hind hip", (0.12, 0.54, -0.38)),
    "hind ankle": ("hind knee", (0.12, 0.25, -0.66)),
    "hind toe": ("hind ankle", (0.12, 0.05, -0.60)),
    "hind toe tip": ("hind toe", (0.12, 0.00, -0.52)),
}

# Ranges in degrees from rest: turns about +X bend forwards or backwards. Chosen: about half of the passive ranges of
# dogs at a walk, so that limbs bend one way. Balls have leans, hinges low and high.
_RANGES: dict[str, tuple[float, ...]] = {
    "spine 1": (20,),
    "spine 2": (20,),
    "chest": (20,),
    "neck": (50,),
    "head": (45,),
    "tail 1": (60,),
    "tail 2": (60,),
    "front scapula": (25,),
    "front shoulder": (45,),
    "front elbow": (-80, 40),
    "front wrist": (-20, 120),
    "front toe": (-40, 60),
    "hind hip": (50,),
    "hind knee": (-40, 80),
    "hind ankle": (-80, 40),
    "hind toe": (-60, 60),
}

# Shares of body mass by bone, from a joint to the next one; chosen round numbers, of legs for one side.
_MASSES: dict[tuple[str, str], float] = {
    ("pelvis", "spine 1"): 0.10,
    ("spine 1", "spine 2"): 0.14,
    ("spine 2", "chest"): 0.16,
    ("chest", "neck"): 0.20,
    ("neck", "head"): 0.05,
    ("head", "nose"): 0.06,
    ("tail 1", "tail 2"): 0.006,
    ("tail 2", "tail tip"): 0.004,
    ("front scapula", "front shoulder"): 0.025,
    ("front shoulder", "front elbow"): 0.025,
    ("front elbow", "front wrist"): 0.012,
    ("front wrist", "front toe"): 0.005,
    ("front toe", "front toe tip"): 0.002,
    ("hind hip", "hind knee"): 0.045,
    ("hind knee", "hind ankle"): 0.018,
    ("hind ankle", "hind toe"): 0.006,
    ("hind toe", "hind toe tip"): 0.002,
}


def quadruped(height: float = 0.65, mass: float = 30.0) -> Skeleton:
    """A four-legged animal with limits, masses and inertias, about a large dog.

    At rest it stands: +Y up, +Z forward, +X left, the ground at 0. The root is the pelvis; it may go anywhere.
    Proportions, masses and ranges are chosen, not measured of a breed. Bones are rods with a thickness of a fifth.

    Parameters
    ----------
    height : float, default: 0.65
        The height of the withers above the ground, in any unit of length.
    mass : float, default: 30
        Body mass, in any unit.

    Returns
    -------
    Skeleton
        32 joints. Legs are named "left front ...": scapula, shoulder, elbow, wrist, toe, toe tip; and "left hind ...":
        hip, knee, ankle, toe, toe tip.

    Examples
    --------
    >>> import ikcore as ik
    >>> dog = ik.bodies.quadruped(0.6, 28)
    >>> len(dog), float(dog.masses.sum().round(9))
    (32, 28.0)
    """
    if not (np.isfinite(height) and height > 0):
        raise ValueError(f"height: expected more than 0, got {height!r}")
    joints, limits = dict(_TRUNK), {name: _limit(name) for name in _TRUNK}
    masses = {bone: share for bone, share in _MASSES.items() if bone[0] in _TRUNK}
    for side, out in (("left", 1), ("right", -1)):
        for name, (above, (x, y, z)) in _LEG.items():
            joints[f"{side} {name}"] = (above if above in _TRUNK else f"{side} {above}", (out * x, y, z))
            limits[f"{side} {name}"] = _limit(name)
        masses |= {(f"{side} {a}", f"{side} {b}"): share for (a, b), share in _MASSES.items() if a in _LEG}
    names = list(joints)
    parents = [names.index(above) if above else -1 for above, _ in joints.values()]
    at = height * np.array([place for _, place in joints.values()])
    offsets = [at[joint] - (at[parent] if parent >= 0 else 0) for joint, parent in enumerate(parents)]
    body = Skeleton(parents, np.array(offsets), names=names, limits={n: lim for n, lim in limits.items() if lim})
    return with_rods(body, [Rod(a, b, share) for (a, b), share in masses.items()], mass)


def _limit(name: str) -> Limit | None:
    if name == "pelvis":
        return Limit.free(position=_ANYWHERE)
    angles = [math.radians(angle) for angle in _RANGES.get(name, ())]
    if not angles:
        return None
    if len(angles) == 2:
        return Limit.hinge([1, 0, 0], *angles)
    return Limit.euler("zyx", [-angle for angle in angles * 3], angles * 3)
