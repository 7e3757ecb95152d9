"""The tables of docs/guide/nodes.md: every parameter of the originals is there, has its default, and does something."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from humans import BACK, BODY, FORWARD, STEP
from numpy.typing import NDArray

import ikcore as ik
from ikcore.bodies import nodes

PAGE = Path(__file__).parents[2] / "docs/guide/nodes.md"
UP, TURN = [0.0, 9.0, 0.0], ik.rotations.exp([0.3, 0.5, -0.2])
TURNED = ik.rotations.exp([0.1, 0.2, 0.1])


class Row(NamedTuple):
    """A row of a table."""

    node: str
    original: str
    here: str
    default: str
    remark: str


def rows() -> list[Row]:
    text = PAGE.read_text(encoding="utf-8").partition("## Parameters of the originals")[2]
    found = []
    for part in re.split(r"^### ", text, flags=re.M)[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")][2:]
        for line in lines:
            cells = [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found.append(Row(re.match(r"(\w+)", part)[1], *cells))  # type: ignore[index]
    return found


ROWS = rows()
HERE = [row for row in ROWS if row.here]

# For every node one to start from, its targets, and the pose. Then what each parameter changes that.
SLOPE = ik.Ground.mesh([[-9, -3, -9], [9, -3, -9], [9, 3, 9], [-9, 3, 9]], [[0, 2, 1], [0, 3, 2]])
ACROSS = ik.Ground.mesh([[-9, -3, -9], [-9, -3, 9], [9, 3, 9], [9, 3, -9]], [[0, 1, 2], [0, 2, 3]])
HAND, FOOT = [0.35, 1.3, 0.3], [0.1, 0.25, 0.2]
SPINE = {"position": [0.02, 1.25, 0.06], "rotation": TURN, "pelvis": [0, 0.94, -0.05], "pelvis_rotation": TURNED}
BODY_TARGETS: dict[str, Any] = {"chest": [0, 1.25, 0.15], "chest_rotation": TURN, "pelvis": [0, 0.9, 0]}
BODY_TARGETS |= {"left_hand": [0.6, 1.0, 0.6], "left_hand_rotation": TURN, "left_foot": [0.1, 0.15, 0.35]}
BODY_TARGETS |= {
    "left_foot_rotation": TURN,
    "right_hand": [-0.4, 1.2, 0.3],
    "right_foot": [-0.1, 0.2, 0.1],
    "look": [2, 1, -3],
}
CLIP = np.zeros((20, len(BODY), 3))
CLIP[:, BODY.index("LeftUpLeg"), 0] = np.linspace(-0.3, 0.4, 20)  # the left leg swings back
CLIP[:, BODY.index("LeftLeg"), 0] = 0.3
FRAMES = ik.Pose(ik.rotations.exp(CLIP))
CONTACT = {"contact": np.repeat([0.0, 0.6, 0.0], [4, 9, 7])}
KINKED = np.zeros((len(BODY), 3))
KINKED[[BODY.index("LeftForeArm"), BODY.index("LeftLeg")]] = [0.3, -0.5, 0], [0.7, 0, 0.2]
CROUCH = np.zeros((len(BODY), 3))
for _side in ("Left", "Right"):
    for _joint, _angle in (("UpLeg", -0.4), ("Leg", 0.8), ("Foot", -0.4)):
        CROUCH[BODY.index(_side + _joint), 0] = _angle
CROUCHED = ik.Pose(ik.rotations.exp(CROUCH))
BENT = ik.Pose(ik.rotations.exp(KINKED))

STARTS: dict[str, tuple[Any, dict[str, Any], ik.Pose]] = {
    "LimbNode": (nodes.LimbNode("LeftHand", side=BACK), {"position": HAND, "rotation": TURN}, BENT),
    "LegNode": (nodes.LegNode("LeftFoot", side=FORWARD), {"position": FOOT, "rotation": TURN}, BENT),
    "LookAtNode": (
        nodes.LookAtNode("Head", ["Spine2", "Chest", "Neck"], ["LeftEye", "RightEye"]),
        {"position": [2, 1.2, -0.5]},
        BODY.rest,
    ),
    "AimNode": (
        nodes.AimNode(["Spine2", "Chest", "LeftArm"], "LeftHand", (1, 0, 0)),
        {"position": [-2, 1.2, 0.5], "pole": [0, -3, 4]},
        BODY.rest,
    ),
    "SpineNode": (nodes.SpineNode("Chest", "Hips", back=BACK), SPINE, BODY.rest),
    "BipedNode": (nodes.BipedNode(), BODY_TARGETS, BENT),
    "LockNode": (nodes.LockNode("LeftFoot", side=FORWARD), CONTACT, FRAMES),
    "GroundNode": (nodes.GroundNode(STEP), {}, CROUCHED),
    "SpringNode": (nodes.SpringNode(["LeftLeg", "LeftFoot"]), {}, FRAMES),
}
GOAL = {"bend": "goal"}
# The value that each parameter is set to, and changes of the start that this needs to matter.
CASES: dict[str, dict[str, Any]] = {
    "LimbNode": {
        "tip": "RightHand",
        "position_weight": 0.5,
        "rotation_weight": 0.5,
        "bend": "parent",
        "bend_weight": (0.5, {"bend": "arm"}),
        "pole": ([0, 0, 9], GOAL),
        "side": (FORWARD, {"bend": "arm"}),
        "keep_rotation": (1.0, {"rotation": None}),
        "rotation": TURNED,
        "position": [0.4, 1.2, 0.3],
        "influence": 0.5,
    },
    "LegNode": {
        "tip": "RightFoot",
        "position": [0.1, 0.3, 0.1],
        "rotation": TURNED,
        "influence": 0.5,
        "position_weight": 0.5,
        "rotation_weight": 0.5,
        "soften": (1.0, {"position": [0.1, 0.09, 0.1]}),
        "soft_influence": (0.5, {"position": [0.1, 0.09, 0.1]}),
        "min_bend": (0.5, {"position": [0.1, 0.09, 0.1]}),
        "max_bend": (0.5, {"position": [0.1, 0.5, 0.1]}),
        "side": BACK,
        "knee_follows_foot": 0.7,
        "swivel": 0.3,
        "pole": ([3, 0, 1], GOAL),
        "bend_weight": (0.5, {"bend": "target"}),
        "bend": "target",
        "stretch_max": (1.3, {"position": [0.1, -0.1, 0.3]}),
        "keep_rotation": (0.0, {"rotation": None}),
    },
    "LookAtNode": {
        "position": [-1, 1, 1],
        "head": ("Neck", {"spine": ("Chest",), "eyes": ()}),
        "spine": (("Chest",), {"eyes": ()}),
        "eyes": (),
        "influence": 0.5,
        "body_weight": 0.2,
        "head_weight": 0.9,
        "eyes_weight": 0.5,
        "clamp": 0.8,
        "clamp_head": 0.8,
        "clamp_eyes": 0.9,
        "clamp_start": 0.3,
        "spine_weights": (3.0, 1.0, 1.0),
        "spine_target_offset": (0.0, 1.0, 1.0),
        "forward": (1.0, 0.0, 0.0),
        "offset": (0.0, 0.1, 0.1),
    },
    "AimNode": {
        "position": [2, 2, 1],
        "pole": [0, 5, 1],
        "joints": ("Chest", "LeftArm"),
        "weights": (3.0, 1.0, 1.0),
        "tip": "LeftHandEnd",
        "axis": (1.0, 0.5, 0.0),
        "pole_axis": (0.0, 0.5, 1.0),
        "pole_weight": 0.5,
        "clamp": 0.7,
        "clamp_start": 0.2,
        "offset": (0.0, 0.2, 0.0),
        "influence": 0.5,
    },
    "SpineNode": {
        "position": [0.1, 1.2, 0.1],
        "rotation": TURNED,
        "pelvis": [0, 0.9, 0],
        "pelvis_rotation": TURN,
        "influence": 0.5,
        "pelvis_position_weight": 0.5,
        "pelvis_rotation_weight": 0.5,
        "position_weight": 0.5,
        "rotation_weight": 0.5,
        "chest": "Spine3",
        "kind": "fabrik",
        "back": FORWARD,
        "soften": 0.5,
        "iterations": (1, {"kind": "fabrik"}),
    },
    "BipedNode": {
        "roles": replace(nodes.HumanRoles.detect(BODY), chest="Spine3"),
        "pelvis": [0, 0.8, 0],
        "pelvis_rotation": TURN,
        "spine_weight": 0.5,
        "chest": [0, 1.2, 0],
        "chest_rotation": TURNED,
        "spine": "fabrik",
        "left_hand": [0.5, 1.0, 0.3],
        "left_hand_rotation": TURNED,
        "left_hand_pole": UP,
        "left_foot": FOOT,
        "left_foot_rotation": TURNED,
        "left_foot_pole": [5, 0, 5],
        "hand_weight": 0.5,
        "hand_rotation_weight": 0.5,
        "hand_bend": "animation",
        "hand_bend_weight": 0.3,
        "keep_hands": 1.0,
        "foot_weight": 0.5,
        "foot_rotation_weight": 0.5,
        "foot_bend": "parent",
        "foot_bend_weight": (0.3, {"foot_bend": "target", "right_foot_rotation": TURN}),
        "keep_feet": 0.0,
        "foot_soften": (1.0, {"left_foot": [0.1, 0.05, 0.2]}),
        "clavicle_share": 0.5,
        "look": [1, 0, 1],
        "look_weight": 0.5,
        "head_clamp": 0.9,
        "influence": 0.5,
    },
    "LockNode": {
        "contact": np.repeat([0.0, 0.6], [9, 11]),
        "foot": "RightFoot",
        "threshold": 0.8,
        "release_radius": 0.1,
        "half_life": 0.3,
        "rotation_weight": 0.5,
        "side": BACK,
        "soften": 0.8,
        "fps": 60.0,
        "influence": 0.5,
    },
    "GroundNode": {
        "ground": SLOPE,
        "feet": (ik.Feet.detect(BODY).replace("left", soles={"ball": ("LeftFoot", (0, -0.08, 0))}), {"ground": SLOPE}),
        "floor": 0.05,
        "velocity": ([0, 0, 1.0], {"ground": SLOPE, "spine": "Spine1"}),
        "influence": 0.5,
        "max_step": 0.05,
        "height_offset": 0.03,
        "foot_rotation_weight": (0.5, {"ground": SLOPE}),
        "max_pitch": (0.1, {"ground": SLOPE}),
        "max_roll": (0.01, {"ground": ACROSS}),
        "max_slope": (0.1, {"ground": SLOPE}),
        "lower_pelvis_weight": (0.5, {"floor": 0.1}),
        "lift_pelvis_weight": (0.0, {"floor": -0.1}),
        "max_pelvis_offset": (0.01, {"floor": -0.1}),
        "max_extension": (0.9, {"floor": 0.2}),
        "spine": ("Spine1", {"ground": SLOPE, "velocity": [0, 0, 1.0]}),
        "lean_uphill": (0.9, {"ground": SLOPE, "spine": "Spine1", "velocity": [0, 0, 1.0]}),
        "lean_downhill": (0.9, {"ground": SLOPE, "spine": "Spine1", "velocity": [0, 0, -1.0]}),
    },
    "SpringNode": {
        "joints": ("LeftFoot",),
        "stiffness": 200.0,
        "damping": 20.0,
        "max_displacement": 0.01,
        "reset_distance": 0.02,
        "gravity": (0.0, -9.8, 3.0),
        "tips": ((0.1, -0.4, 0.0), (0.0, 0.0, 0.1)),
        "fps": 60.0,
        "influence": 0.5,
    },
}


def solved(node: Any, targets: dict[str, Any], pose: ik.Pose, **changes: Any) -> NDArray[Any]:
    """All numbers of the pose, with parameters and targets changed."""
    own = {name: value for name, value in changes.items() if name not in node.takes}
    wanted = targets | {name: value for name, value in changes.items() if name in node.takes}
    found = replace(node, **own)(BODY, pose, wanted).pose
    slid = found.translations
    if slid is None:
        slid = np.broadcast_to(BODY.offsets, (*found.shape, len(BODY), 3))
    return np.concatenate([found.rotations, slid], axis=-1)


@pytest.mark.parametrize("row", HERE, ids=lambda row: f"{row.node}.{row.here}")
def test_every_parameter_does_something(row: Row) -> None:
    node, targets, pose = STARTS[row.node]
    value = CASES[row.node][row.here]
    needs: dict[str, Any] = {}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        value, needs = value
    before = solved(node, targets, pose, **needs)
    after = solved(node, targets, pose, **needs | {row.here: value})
    assert np.abs(after - before).max() > 1e-4


@pytest.mark.parametrize("row", HERE, ids=lambda row: f"{row.node}.{row.here}")
def test_every_default_is_the_one_of_the_table(row: Row) -> None:
    kind = getattr(nodes, row.node)
    given = {item.name: item for item in fields(kind)}
    if re.match("target\\b", row.remark):
        assert row.here in kind.takes
    else:
        default = given[row.here].default
        assert row.default == ("" if default is MISSING else repr(default).replace("'", '"'))


@pytest.mark.parametrize("name", list(STARTS))
def test_every_parameter_is_in_the_table(name: str) -> None:
    kind = getattr(nodes, name)
    there = {row.here for row in HERE if row.node == name}
    known = {item.name for item in fields(kind)} | set(kind.takes)
    missing = {other for other in known - there if not other.startswith("right_")}
    text = PAGE.read_text(encoding="utf-8").partition(f"### {name}")[2].partition("\n### ")[0]
    assert {other for other in missing if f"`{other}=" not in text} == set()
    assert set(CASES[name]) == there


@pytest.mark.parametrize("row", [row for row in ROWS if not row.here], ids=lambda row: f"{row.node}: {row.original}")
def test_what_is_left_out_has_a_reason(row: Row) -> None:
    assert row.remark
    assert not row.default
