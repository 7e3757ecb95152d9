"""A person of any height and mass: joints, ranges of motion, masses, strength."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ikcore._joints import ancestors
from ikcore.bodies import anthropometry as measures
from ikcore.bodies.anthropometry import Sex
from ikcore.bodies.roles import Roles, roles_of
from ikcore.bodies.segments import with_masses
from ikcore.limits.human import human_arm, human_leg
from ikcore.limits.limit import Limit
from ikcore.skeleton import Skeleton

_ANYWHERE = [[-float("inf")] * 3, [float("inf")] * 3]
_SPINE_JOINTS = 3  # that share the range of the spine


def human(height: float = 1.75, mass: float = 75.0, *, sex: Sex = "average") -> Skeleton:
    """A person with limits, masses and inertias.

    At rest it stands with its arms stretched out sideways, palms and feet forward: +Y up, +Z forward, +X left, the
    ground at 0. The root is the pelvis; it may go anywhere. Sources are in `ikcore.bodies.anthropometry`: lengths of
    Drillis and Contini, masses of de Leva, ranges of the American Academy of Orthopaedic Surgeons.

    Parameters
    ----------
    height : float, default: 1.75
        Stature. Any unit of length will do, such as 175 for centimetres.
    mass : float, default: 75
        Body mass, in any unit.
    sex : {"male", "female", "average"}
        The table of masses. Lengths and ranges are the same for all.

    Returns
    -------
    Skeleton
        29 joints: pelvis, spine 1 to 3, neck, head, head top; for each side clavicle, shoulder, elbow, forearm, wrist,
        fingertips, hip, knee, ankle, toe, toe tip.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.human(1.80, 82, sex="male")
    >>> len(person), float(person.masses.sum().round(9))
    (29, 82.0)
    >>> at = person.forward(person.rest).positions
    >>> print(at[person.index("head top"), 1].round(9), at[person.index("left knee"), 1].round(3))
    1.8 0.513
    """
    if not (np.isfinite(height) and height > 0):
        raise ValueError(f"height: expected more than 0, got {height!r}")
    joints = {**_trunk(), **_arm("left"), **_arm("right"), **_leg("left"), **_leg("right")}
    index = {name: joint for joint, name in enumerate(joints)}
    parents = [index.get(above, -1) for above, _, _ in joints.values()]
    offsets = height * np.array([offset for _, offset, _ in joints.values()])
    limits = [limit for _, _, limit in joints.values()]
    return with_masses(Skeleton(parents, offsets, names=list(joints), limits=limits), mass, sex=sex)


_Joint = tuple[str, tuple[float, float, float], Limit | None]


def _trunk() -> dict[str, _Joint]:
    """Joints from the pelvis up; offsets as shares of stature."""
    spine, neck = spine_limit(_SPINE_JOINTS), neck_limit(2)
    hip, shoulder, chin = (measures.HEIGHT[name] for name in ("hip", "shoulder", "chin"))
    step = (shoulder - hip) / 12  # of a trunk: a twelfth below the first joint, then two times four, then three
    return {
        "pelvis": ("", (0, hip, 0), Limit.free(position=_ANYWHERE)),
        "spine 1": ("pelvis", (0, step, 0), spine),
        "spine 2": ("spine 1", (0, 4 * step, 0), spine),
        "spine 3": ("spine 2", (0, 4 * step, 0), spine),
        "neck": ("spine 3", (0, 3 * step, 0), neck),
        "head": ("neck", (0, chin - shoulder, 0), neck),
        "head top": ("head", (0, 1 - chin, 0), None),
    }


def spine_limit(joints: int) -> Limit:
    """The range of each of several joints of the spine."""
    return _bend(measures.SPINE, joints)


def neck_limit(joints: int) -> Limit:
    """The range of each of several joints of the neck, the head among them."""
    return _bend(measures.NECK, joints)


def _bend(ranges: Mapping[str, float], joints: int) -> Limit:
    """An even share of a range; flexion is forwards."""
    side, turn = ranges["to the side"], ranges["rotation"]
    low, high = (-side, -turn, -ranges["extension"]), (side, turn, ranges["flexion"])
    return Limit.euler("zyx", *(np.radians(bound) / joints for bound in (low, high)))


def _arm(side: str) -> dict[str, _Joint]:
    limits, out = arm_limits(side), 1 if side == "left" else -1
    inner = 0.02  # of stature: the inner end of the collarbone from the middle
    half, long = measures.BREADTH["shoulders"] / 2, measures.LENGTH
    height = (measures.HEIGHT["shoulder"] - measures.HEIGHT["hip"]) / 4  # above the last joint of the spine
    fingertips = (out * long["hand"], 0.0, 0.0)
    return {
        f"{side} clavicle": ("spine 3", (out * inner, height, 0), limits["clavicle"]),
        f"{side} shoulder": (f"{side} clavicle", (out * (half - inner), 0, 0), limits["shoulder"]),
        f"{side} elbow": (f"{side} shoulder", (out * long["upper arm"], 0, 0), limits["elbow"]),
        f"{side} forearm": (f"{side} elbow", (out * long["forearm"] / 2, 0, 0), limits["forearm"]),
        f"{side} wrist": (f"{side} forearm", (out * long["forearm"] / 2, 0, 0), limits["wrist"]),
        f"{side} fingertips": (f"{side} wrist", fingertips, None),
    }


def arm_limits(side: str, *, has_collarbone: bool = True) -> dict[str, Limit]:
    """Limits of `human_arm` and of the collarbone, whose range is taken off that of the shoulder."""
    limits, out = human_arm(side), 1 if side == "left" else -1
    up, down, front, back = (math.radians(angle) for angle in measures.COLLARBONE.values())
    leans = (up, down, front, back) if out > 0 else (up, down, back, front)  # z of the frame is axis x up
    limits["clavicle"] = Limit.ball([out, 0, 0], leans, side=[0, 1, 0], twist=(0, 0))
    if has_collarbone:
        swing = [whole - part for whole, part in zip(limits["shoulder"].swing, leans, strict=True)]
        limits["shoulder"] = replace(limits["shoulder"], swing=tuple(swing))
    return limits


def _leg(side: str) -> dict[str, _Joint]:
    limits, out = human_leg(side), 1 if side == "left" else -1
    long, ankle = measures.LENGTH, measures.HEIGHT["ankle"]
    ball = (measures.BALL_FROM_HEEL - measures.ANKLE_FROM_HEEL) * long["foot"]
    tip = (1 - measures.BALL_FROM_HEEL) * long["foot"]
    return {
        f"{side} hip": ("pelvis", (out * measures.BREADTH["hips"] / 2, 0, 0), limits["hip"]),
        f"{side} knee": (f"{side} hip", (0, -long["thigh"], 0), limits["knee"]),
        f"{side} ankle": (f"{side} knee", (0, -long["shank"], 0), limits["ankle"]),
        f"{side} toe": (f"{side} ankle", (0, -ankle / 2, ball), limits["toe"]),
        f"{side} toe tip": (f"{side} toe", (0, -ankle / 4, tip), None),
    }


def strengths(skeleton: Skeleton, *, sex: Sex = "average", unit: float = 1.0) -> dict[str, float]:
    """The largest static torque of every joint of a person, for `effort` and `ik.masses.as_strong`.

    It is in proportion to body mass and leg length. Each joint of the spine and the neck can hold the torque of all.

    Parameters
    ----------
    skeleton : Skeleton
        A person with masses, as `human` and `with_masses` make.
    sex : {"male", "female", "average"}
        The table. It is `ikcore.bodies.anthropometry.STRENGTH`.
    unit : float, default: 1
        Metres per unit of length of the skeleton.

    Returns
    -------
    dict of str to float
        By joint: torque in the unit of mass times length squared per second squared; N m for kilograms and metres.

    Examples
    --------
    >>> import ikcore as ik
    >>> strong = ik.bodies.strengths(ik.bodies.human(sex="male"), sex="male")
    >>> round(strong["left knee"], 6), round(strong["right wrist"], 6)
    (200.0, 12.0)
    """
    measures.of_sex(sex)
    roles = roles_of(skeleton)
    stature = unit * _leg_length(skeleton, roles) / (measures.LENGTH["thigh"] + measures.LENGTH["shank"])
    scale = float(skeleton.masses.sum()) / 75.0 * stature / 1.75 / unit**2 * measures.STRENGTH_OF[sex]
    joints = dict.fromkeys(roles.spine[1:], "spine")
    if roles.head is not None:
        trunk = ancestors(skeleton, roles.spine[-1])
        joints |= dict.fromkeys([joint for joint in ancestors(skeleton, roles.head) if joint not in trunk], "neck")
    for arm in roles.arms.values():
        joints |= {arm.shoulder: "shoulder", arm.elbow: "elbow", arm.wrist: "wrist"}
    for leg in roles.legs.values():
        joints |= {leg.hip: "hip", leg.knee: "knee", leg.ankle: "ankle"}
    return {skeleton.names[joint]: scale * measures.STRENGTH[role] for joint, role in sorted(joints.items())}


def _leg_length(skeleton: Skeleton, roles: Roles) -> float:
    """From hip to ankle along the bones at rest, the mean of both legs."""
    at = skeleton.forward(skeleton.rest).positions
    bones = [at[[leg.knee, leg.ankle]] - at[[leg.hip, leg.knee]] for leg in roles.legs.values()]
    return float(np.linalg.norm(bones, axis=-1).sum()) / len(bones)
