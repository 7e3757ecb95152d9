"""A human in a T-pose with every part that nodes name: clavicles, a long spine, eyes; straight arms and legs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ikcore as ik
from ikcore.bodies import nodes

Array = NDArray[Any]

# name, parent, position in the rest pose: +Y up, +Z forward, +X left
_MIDDLE: list[tuple[str, str, tuple[float, float, float]]] = [
    ("Hips", "", (0, 0.95, 0)),
    ("Spine1", "Hips", (0, 1.05, 0)),
    ("Spine2", "Spine1", (0, 1.15, 0)),
    ("Spine3", "Spine2", (0, 1.25, 0)),
    ("Chest", "Spine3", (0, 1.35, 0)),
    ("Neck", "Chest", (0, 1.5, 0)),
    ("Head", "Neck", (0, 1.6, 0)),
]
_SIDE = [
    ("Eye", "Head", (0.03, 1.66, 0.08)),
    ("Shoulder", "Chest", (0.04, 1.44, 0)),
    ("Arm", "Shoulder", (0.18, 1.44, 0)),
    ("ForeArm", "Arm", (0.46, 1.44, 0)),
    ("Hand", "ForeArm", (0.71, 1.44, 0)),
    ("HandEnd", "Hand", (0.85, 1.44, 0)),
    ("UpLeg", "Hips", (0.09, 0.9, 0)),
    ("Leg", "UpLeg", (0.09, 0.48, 0)),
    ("Foot", "Leg", (0.09, 0.08, 0)),
    ("ToeBase", "Foot", (0.09, 0.02, 0.13)),
    ("ToeBaseEnd", "ToeBase", (0.09, 0.02, 0.2)),
]
_CENTRAL = {"Head", "Chest", "Hips"}


def human(**options: Any) -> ik.Skeleton:
    """The skeleton; options as of `Skeleton`."""
    joints = list(_MIDDLE)
    for name, sign in (("Left", 1), ("Right", -1)):
        for joint, parent, (x, y, z) in _SIDE:
            joints.append((name + joint, parent if parent in _CENTRAL else name + parent, (sign * x, y, z)))
    names = [name for name, _, _ in joints]
    parents = [names.index(parent) if parent else -1 for _, parent, _ in joints]
    places = np.array([place for _, _, place in joints], float)
    offsets = [place - (places[parent] if parent >= 0 else 0) for place, parent in zip(places, parents, strict=True)]
    return ik.Skeleton(parents, offsets, names=names, **options)


BODY = human()
RANGES = ("UpLeg", "Leg", "Foot", "Arm", "ForeArm", "Hand")


def limited() -> ik.Skeleton:
    """The human with ranges of motion: limbs, spine, neck and head."""
    limits: dict[str, ik.Limit] = {}
    for side in ("left", "right"):
        leg, arm = ik.limits.human_leg(side), ik.limits.human_arm(side)
        ranges = (leg["hip"], leg["knee"], leg["ankle"], arm["shoulder"], arm["elbow"], arm["wrist"])
        limits |= {side.title() + name: limit for name, limit in zip(RANGES, ranges, strict=True)}
        limits |= {f"{side.title()}Shoulder": ik.Limit.cone([1, 0, 0], 0.3)}
    bend = ik.Limit.euler("zyx", (-0.15, -0.2, -0.15), (0.15, 0.2, 0.25))
    limits |= dict.fromkeys(("Spine1", "Spine2", "Spine3", "Chest"), bend)
    limits |= dict.fromkeys(("Neck", "Head"), ik.Limit.cone([0, 1, 0], 0.5, twist=(-0.7, 0.7)))
    return human(limits=limits)


LIMITED = limited()
# Ground with a step below the right foot
_STEP = [[-3, 0.12, -3], [0.06, 0.12, -3], [0.06, 0.12, 3], [-3, 0.12, 3]]
STEP = ik.Ground.plane() + ik.Ground.mesh(_STEP, [[0, 2, 1], [0, 3, 2]])
FORWARD, BACK = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)

# A node of every kind, and targets for it: positions around the middle of where they can be.
NODES: dict[str, tuple[Any, dict[str, Any]]] = {
    "limb": (nodes.LimbNode("LeftHand", "arm", side=BACK), {"position": [0.4, 1.3, 0.3]}),
    "leg": (nodes.LegNode("RightFoot", side=FORWARD), {"position": [-0.1, 0.35, 0.2]}),
    "look_at": (
        nodes.LookAtNode("Head", ["Spine2", "Chest", "Neck"], ["LeftEye", "RightEye"]),
        {"position": [1, 1.7, 2]},
    ),
    "aim": (nodes.AimNode(["Spine2", "Chest", "LeftArm"], "LeftHand", (1, 0, 0)), {"position": [2, 1.2, 1]}),
    "spine": (
        nodes.SpineNode("Chest", "Hips", back=BACK),
        {"position": [0.05, 1.27, 0.15], "pelvis": [0, 0.94, -0.02]},
    ),
    "fabrik": (
        nodes.SpineNode("Chest", "Hips", "fabrik"),
        {"position": [0.05, 1.27, 0.15], "rotation": [1, 0.1, 0, 0]},
    ),
    "spline": (
        nodes.SpineNode("Chest", "Hips", "spline"),
        {"position": [0.05, 1.27, 0.15], "rotation": [1, 0.1, 0, 0]},
    ),
    "clavicle": (nodes.ClavicleNode("LeftShoulder", "LeftHand"), {"position": [0.7, 1.8, 0.4]}),
    "biped": (
        nodes.BipedNode(),
        {"chest": [0, 1.3, 0.1], "left_hand": [0.4, 1.3, 0.4], "left_foot": [0.1, 0.1, 0.1], "look": [1, 1, 2]},
    ),
    "trunk": (nodes.TrunkNode(rounds=20), {"left_hand": [0.6, 1.2, 0.6], "left_foot": [0.1, 0.1, 0.1]}),
    "ground": (nodes.GroundNode(STEP), {}),
}
