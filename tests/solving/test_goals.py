"""Goals: what a Reach may be, which joints turn for it, and what is refused in a sentence."""

from __future__ import annotations

import dataclasses
import pickle
import re
from typing import Any

import numpy as np
import pytest
import reference as ref

import ikcore as ik

#   0 hips, 1 spine, 2 upper arm, 3 forearm, 4 hand, 5 finger
BODY = ik.Skeleton(
    [-1, 0, 1, 2, 3, 4],
    [[0.0, 1, 0], [0, 0.5, 0], [0.2, 0, 0], [0.3, 0, 0.05], [0.3, 0, -0.05], [0.1, 0, 0]],
    names=["hips", "spine", "upper_arm", "forearm", "hand", "finger"],
)
HAND = BODY.forward(BODY.rest).positions[4]
NEAR = HAND + np.array([-0.2, 0.1, 0.1])


def turned(*goals: ik.Goal) -> list[str]:
    """The joints whose local rotation is another one after solving."""
    found = ik.fabrik(BODY, BODY.rest, goals)
    same = (found.pose.rotations == BODY.rest.rotations).all(axis=-1)
    return [name for name, kept in zip(BODY.names, same, strict=True) if not kept]


@pytest.mark.parametrize(
    ("chain", "joints"),
    [
        (None, {"hips", "spine", "upper_arm", "forearm"}),
        ("upper_arm", {"upper_arm", "forearm"}),
        (2, {"upper_arm", "forearm"}),
        (np.int64(2), {"upper_arm", "forearm"}),
        (1, {"forearm"}),
    ],
)
def test_the_chain_says_which_joints_turn(chain: Any, joints: set[str]) -> None:
    assert set(turned(ik.Reach("hand", NEAR, chain=chain))) <= joints


def test_the_joint_itself_turns_for_a_rotation_or_an_offset_only() -> None:
    quarter = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    assert "hand" not in turned(ik.Reach("hand", NEAR))
    assert turned(ik.Reach("hand", rotation=quarter, chain=0)) == ["hand"]
    assert turned(ik.Reach("hand", HAND + np.array([0, 0.1, 0]), offset=[0.1, 0, 0], chain=0)) == ["hand"]


def test_a_joint_is_meant_by_name_or_index() -> None:
    named, numbered = (ik.fabrik(BODY, BODY.rest, [ik.Reach(joint, NEAR, chain=2)]) for joint in ("hand", 4))
    assert named.pose.rotations.tobytes() == numbered.pose.rotations.tobytes()


def test_a_point_beside_the_joint_is_brought_to_the_position() -> None:
    found = ik.fabrik(BODY, BODY.rest, [ik.Reach("hand", NEAR, offset=[0.05, 0.1, 0], chain=3)])
    world = BODY.forward(found.pose)
    point = world.positions[4] + ref.rotate(world.rotations[4], [0.05, 0.1, 0])
    assert found.status == 0
    np.testing.assert_allclose(point, NEAR, atol=2e-5)


@pytest.mark.parametrize("method", ["fabrik", "two_bone"])
def test_scales_scale_the_way_to_the_point(method: str) -> None:
    scales = np.ones((6, 3))
    scales[4] = [2, 3, 1]
    goal = ik.Reach("hand", NEAR, offset=[0.05, 0.1, 0], chain=2)
    found = ik.solve(BODY, ik.Pose(BODY.rest.rotations, None, scales), [goal], method)
    world = BODY.forward(found.pose)
    point = world.positions[4] + ref.rotate(world.rotations[4], [0.1, 0.3, 0])
    assert found.status == 0
    np.testing.assert_allclose(point, NEAR, atol=2e-5)
    assert re.search(r"hand is \S+e-\d\d from its position", found.explain())


@pytest.mark.parametrize("weight", [0, 0.0, np.zeros(3)])
def test_a_goal_of_no_weight_may_be_nan(weight: Any) -> None:
    goals = [ik.Reach("hand", NEAR, chain=3), ik.Reach("finger", np.full(3, np.nan), weight=weight, chain=4)]
    found = ik.fabrik(BODY, BODY.rest, goals)
    assert np.all(found.status == 0)
    hand = BODY.forward(found.pose).positions[..., 4, :]
    np.testing.assert_allclose(hand, np.broadcast_to(NEAR, hand.shape), atol=2e-5)


def test_a_rotation_of_no_weight_may_be_nan() -> None:
    goal = ik.Reach("hand", NEAR, rotation=[np.nan] * 4, rotation_weight=0, chain=3)
    assert ik.fabrik(BODY, BODY.rest, [goal]).status == 0


def test_a_reach_is_immutable_and_pickles() -> None:
    goal = ik.Reach("hand", NEAR, chain="spine")
    with pytest.raises(dataclasses.FrozenInstanceError):
        goal.level = 1  # type: ignore[misc]
    copy = pickle.loads(pickle.dumps(goal))
    assert (copy.joint, copy.chain) == ("hand", "spine")
    np.testing.assert_array_equal(copy.position, NEAR)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"joint": "hand"}, "expected a position, a rotation or both, got neither"),
        ({"joint": 1.5, "position": NEAR}, r"Reach\(1.5\).joint: expected the name or index of a joint, got 1.5"),
        (
            {"joint": "hand", "position": NEAR, "chain": 0.5},
            r"Reach\('hand'\).chain: expected a joint's name, or how many joints above",
        ),
        ({"joint": "hand", "rotation": [1, 0, 0, 0], "pole": NEAR}, r"Reach\('hand'\).pole: it belongs to a position"),
        (
            {"joint": "hand", "rotation": [1, 0, 0, 0], "offset": NEAR},
            r"Reach\('hand'\).offset: it belongs to a position",
        ),
        ({"joint": "hand", "position": NEAR, "level": -1}, "level: expected 0 to 1000000, got -1"),
        ({"joint": "hand", "position": NEAR, "level": "first"}, "level: expected a whole number, got 'first'"),
        ({"joint": "hand", "position": NEAR, "level": 0.5}, "level: expected a whole number, got 0.5"),
        ({"joint": True, "position": NEAR}, r"Reach\(True\).joint: expected the name or index of a joint, got True"),
        ({"joint": "hand", "position": NEAR, "chain": True}, "chain: expected a joint's name, .* got True"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        ik.Reach(**arguments)


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ([], "goals: expected one or more, got none"),
        (ik.Reach("hand", NEAR), r"goals: expected a list of goals, got Reach; \[goal\] is one"),
        ("hand", "goals: expected a list of goals, got str"),
        ([ik.Reach("hand", NEAR, weight=None)], r"goals\[0\].weight: expected real numbers, got None"),  # type: ignore[arg-type]
        ([ik.Reach("hand", NEAR, weight="1")], r"goals\[0\].weight: expected real numbers, got '1'"),
        ([ik.Reach("hand", [NEAR, [1, 2]])], r"goals\[0\].position: .* got rows of different lengths"),
        ([NEAR], r"goals\[0\]: expected a Reach or another goal, got ndarray"),
        ([ik.Reach("band", NEAR)], r"goals\[0\].joint: no joint is called 'band'; did you mean 'hand'"),
        ([ik.Reach("hand", NEAR), ik.Reach(6, NEAR)], r"goals\[1\].joint: expected a joint, 0 to 5, got 6"),
        ([ik.Reach("hand", [1, 2])], r"goals\[0\].position: expected an array of shape \(..., 3\)"),
        ([ik.Reach("hand", rotation=[1, 0, 0])], r"goals\[0\].rotation: expected an array of shape \(..., 4\)"),
        (
            [ik.Reach("hand", NEAR, offset=[[0, 0, 1]])],
            r"goals\[0\].offset: expected three finite numbers, the same for all",
        ),
        ([ik.Reach("hand", NEAR, offset=[0, 0, np.nan])], r"goals\[0\].offset: expected three finite numbers"),
        (
            [ik.Reach("hand", NEAR, chain="finger")],
            r"goals\[0\].chain: expected 'hand' or a joint above it, got 'finger'",
        ),
        (
            [ik.Reach("hand", NEAR, chain=5)],
            r"goals\[0\].chain: expected 0 to 4, as 'hand' has 4 joints above it, got 5",
        ),
        ([ik.Reach("hand", NEAR, chain=-1)], r"goals\[0\].chain: expected 0 to 4"),
        (
            [ik.Reach("hand", NEAR, chain=1, pole=NEAR)],
            r"goals\[0\].pole: a chain of two bones or more bends towards one",
        ),
        (
            [ik.Reach("hand", NEAR, pole=NEAR), ik.Reach("forearm", NEAR)],
            r"goals\[0\].pole: .* turns about 'hips', and goals\[1\] hangs from that",
        ),
        (
            [ik.Reach("hand", ...)],
            r"goals\[0\].position: an ellipsis stands for an array in the goals of ikcore.Solver",
        ),
        (
            [ik.Reach("hand", NEAR), ik.Reach("finger", NEAR), ik.Reach(4, NEAR + 1)],
            r"goals\[0\] and goals\[2\] are for the same point of 'hand'",
        ),
    ],
)
def test_goals_that_do_not_fit_the_skeleton_are_refused(goals: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        ik.fabrik(BODY, BODY.rest, goals)


def test_two_points_of_a_joint_are_two_goals() -> None:
    world = BODY.forward(BODY.rest)
    goals = [ik.Reach("hand", HAND), ik.Reach("hand", world.positions[5], offset=[0.1, 0, 0])]
    assert ik.fabrik(BODY, BODY.rest, goals).status == 0
