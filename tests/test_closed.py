"""Limbs of a skeleton by method="two_bone", judged by forward kinematics and the slow limb of reference.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik

NAMES = ["hips", "thigh.L", "shin.L", "foot.L", "toe.L", "thigh.R", "shin.R", "foot.R", "toe.R"]
LEFT = np.array([[0.1, -0.05, 0], [0, -0.4, 0.03], [0, -0.42, -0.03], [0, -0.05, 0.12]])


def body(**arguments: Any) -> ik.Skeleton:
    """Hips and two legs, not at rest upright."""
    offsets = np.vstack([[[0, 1, 0]], LEFT, LEFT * [-1, 1, 1]])
    rest = ref.unit(np.random.default_rng(3).normal(size=(9, 4)) * 0.1 + np.array([1, 0, 0, 0]))
    return ik.Skeleton([-1, 0, 1, 2, 3, 0, 5, 6, 7], offsets, rest, NAMES, **arguments)


BODY = body()
ANKLES = BODY.forward(BODY.rest).positions[[3, 7]]
KNEES = BODY.forward(BODY.rest).positions[[2, 6]] + np.array([0, 0, 1])
TOL = {np.float32: 2e-6, np.float64: 1e-13}


def some_rotations(count: int) -> Any:
    return ref.unit(np.random.default_rng(4).normal(size=(count, 4)))


def test_both_legs_are_the_slow_limb(dtype: Any) -> None:
    pose = ik.Pose(BODY.rest.rotations.astype(dtype))
    moves = np.random.default_rng(5).uniform([-0.1, 0.1, -0.1], [0.1, 0.3, 0.2], (20, 2, 3))
    targets = (ANKLES + moves).astype(dtype)
    goals = [
        ik.Reach(f"foot.{side}", targets[:, k], pole=KNEES[k], chain=f"thigh.{side}") for k, side in enumerate("LR")
    ]
    found = ik.solve(BODY, pose, goals, "two_bone")
    assert found.pose.dtype == dtype
    assert np.all(found.status == 0)
    world = BODY.forward(found.pose)
    before = BODY.forward(BODY.rest).positions
    for k, joints in enumerate(([1, 2, 3], [5, 6, 7])):
        for item in range(20):
            mid, end = ref.two_bone(before[joints[0]], before[joints[1]], before[joints[2]], targets[item, k], KNEES[k])
            assert_allclose(world.positions[item, joints[1]], mid, atol=10 * TOL[dtype])
            assert_allclose(world.positions[item, joints[2]], end, atol=10 * TOL[dtype])
    kept = [0, 3, 4, 7, 8]
    assert_array_equal(found.pose.rotations[:, kept], np.broadcast_to(pose.rotations[kept], (20, 5, 4)))


def test_a_rotation_is_taken_by_the_tip_and_only_by_it() -> None:
    wanted = some_rotations(6)
    goal = ik.Reach("foot.L", ANKLES[0] + np.array([0, 0.2, 0]), wanted, chain=2)
    found = ik.solve(BODY, BODY.rest, [goal], "two_bone")
    world = BODY.forward(found.pose)
    assert np.all(found.status == 0)
    assert_allclose(np.abs(np.sum(world.rotations[:, 3] * wanted, axis=-1)), 1, atol=1e-13)
    plain = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", goal.position, chain=2)], "two_bone")
    assert_array_equal(found.pose.rotations[:, 1:3], np.broadcast_to(plain.pose.rotations[1:3], (6, 2, 4)))


def test_an_offset_is_what_meets_the_position() -> None:
    sole = [0, -0.08, 0.05]
    target = ANKLES[0] + np.array([0.05, 0.15, 0.1])
    found = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", target, offset=sole, chain=2)], "two_bone")
    world = BODY.forward(found.pose)
    assert_allclose(world.positions[3] + ref.rotate(world.rotations[3], sole), target, atol=1e-13)


def test_a_weight_is_the_share_of_the_turn() -> None:
    target = ANKLES[0] + np.array([0, 0.3, 0])
    found = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", target, weight=[0, 0.5, 1, 2], chain=2)], "two_bone")
    assert_array_equal(found.pose.rotations[0], BODY.rest.rotations)
    assert_allclose(found.error[2:], 0, atol=1e-13)
    assert 0.05 < found.error[1] < 0.25
    assert [bool(status & ik.Status.PARTIAL_WEIGHT) for status in found.status] == [True, True, False, False]


def test_what_has_no_weight_may_be_nan() -> None:
    nan = np.full(3, np.nan)
    goal = ik.Reach("foot.L", nan, np.full(4, np.nan), weight=0, rotation_weight=0, pole=nan, chain=2)
    found = ik.solve(BODY, BODY.rest, [goal], "two_bone")
    assert_array_equal(found.pose.rotations, BODY.rest.rotations)
    assert found.error == 0


@pytest.mark.parametrize("what", ["position", "rotation", "pole"])
def test_an_item_that_cannot_be_used_keeps_its_pose(what: str) -> None:
    arrays = {"position": np.tile(ANKLES[0], (3, 1)), "rotation": some_rotations(3), "pole": np.tile(KNEES[0], (3, 1))}
    arrays[what][1, 0] = np.nan
    right = ik.Reach("foot.R", ANKLES[1] + np.array([0, 0.2, 0]), chain=2)
    with pytest.warns(ik.UnusableWarning, match="two_bone: 1 of 3 items") as caught:
        found = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", chain=2, **arrays), right], "two_bone")
    assert [warning.filename for warning in caught] == [__file__]
    assert_array_equal(found.pose.rotations[1], BODY.rest.rotations)
    assert np.all(found.status[[0, 2]] == 0)


def test_a_limb_that_hangs_on_another_is_solved_after_it() -> None:
    chain = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0.1, 0], [2, 0, 0], [3, 0.1, 0], [4, 0, 0]]))
    near, far = [1.2, 1, 0], [1.5, 1.5, 1]
    goals = [ik.Reach(4, far, chain=2), ik.Reach(2, near, chain=2)]
    found = ik.solve(chain, chain.rest, goals, "two_bone")
    assert found.status == 0
    assert_allclose(chain.forward(found.pose).positions[[2, 4]], [near, far], atol=1e-13)


def test_translations_are_bones_too() -> None:
    longer = BODY.offsets * np.where(np.array(NAMES) == "hips", 1, 1.2)[:, np.newaxis]
    target = ANKLES[0] + np.array([0, -0.1, 0])
    assert BODY.reach("foot.L", 2).classify(target) == ik.Status.TOO_FAR
    found = ik.solve(BODY, ik.Pose(BODY.rest.rotations, longer), [ik.Reach("foot.L", target, chain=2)], "two_bone")
    assert found.status == 0
    assert_allclose(BODY.forward(found.pose).positions[3], target, atol=1e-13)


def test_limits_hold_and_the_knee_bends_the_way_of_its_hinge() -> None:
    knee = ik.Limit.hinge([1, 0, 0], 0, 2.4)
    leg = ik.Skeleton.chain(np.array([[0, 0.8, 0], [0, 0.4, 0], [0, 0, 0]]))
    limited = ik.Skeleton(leg.parents, leg.offsets, limits={1: knee, 0: ik.Limit.cone([0, -1, 0], 1.2)})
    targets = [[0, 0.3, 0], [0, 0.2, 0.3], [0, 0.8, 0.7]]
    found = ik.solve(limited, limited.rest, [ik.Reach(2, targets)], "two_bone")
    assert [ik.Status.AT_LIMIT in ik.Status(status) for status in found.status] == [False, False, True]
    assert np.all(found.status[:2] == 0)
    assert np.all(limited.forward(found.pose).positions[:2, 1, 2] > 0.1)  # a knee bends forwards
    for joint, limit in enumerate(limited.limits[:2]):
        assert limit is not None
        assert np.all(limit.violation(found.pose.rotations[:, joint]) < 1e-12)
    miss = np.linalg.norm(limited.forward(found.pose).positions[2, 2] - targets[2])
    assert_allclose(found.error[2], miss, atol=1e-13)
    said = found.explain(2)
    assert f"0 stands at its limit, {np.degrees(1.2):.3g} degrees from rest." in said
    assert "Try: dls where fabrik gave up, wider limits" in said


def test_fabrik_is_told_of_limits_too() -> None:
    bent = ik.Limit.cone([1, 0, 0], 0.3)
    arm = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], limits=[bent, bent, None])
    found = ik.fabrik(arm, arm.rest, [ik.Reach(2, [0.5, 1.5, 0])])
    assert found.status != 0
    for joint in (0, 1):
        assert bent.violation(found.pose.rotations[joint]) < 1e-12
    assert "0 stands at its limit, 17.2 degrees from rest." in found.explain()


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ([ik.Reach("foot.L", [0, 0, 0])], r"goals\[0\]: two_bone needs a chain of two bones, chain=2; this one has 3"),
        ([ik.Reach("foot.L", rotation=[1, 0, 0, 0], chain=2)], r"goals\[0\]: two_bone needs a position"),
        (
            [ik.Reach("foot.L", [0, 0, 0], [1, 0, 0, 0], chain=2, offset=[0, 1, 0])],
            r"goals\[0\]: two_bone takes an offset or a rotation, not both",
        ),
        (
            [ik.Reach("foot.L", [0, 0, 0], chain=2), ik.Reach("toe.L", [0, 0, 0], chain=2)],
            r"goals\[0\] and goals\[1\] both turn joint 'shin.L'",
        ),
    ],
)
def test_goals_that_are_no_limbs_are_refused(goals: list[ik.Goal], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ik.solve(BODY, BODY.rest, goals, "two_bone")


def test_options_reach_the_limb() -> None:
    goal = [ik.Reach("foot.L", ANKLES[0] - np.array([0, 0.5, 0]), chain=2)]
    bend = ik.solve(BODY, BODY.rest, goal, "two_bone", min_bend=0.5)
    points = BODY.forward(bend.pose).positions[1:4]
    bones = ref.unit(np.diff(points, axis=0))
    assert_allclose(np.arccos(bones[0] @ bones[1]), 0.5, atol=1e-9)
    with pytest.raises(ValueError, match="soften: expected 0 to 1, got 3"):
        ik.solve(BODY, BODY.rest, goal, "two_bone", soften=3)
    with pytest.raises(TypeError, match="two_bone: no option 'iterations' here; expected tolerance"):
        ik.solve(BODY, BODY.rest, goal, "two_bone", iterations=3)


# --- reach ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bones", "inner", "outer"), [([1, 2], 1, 3), ([0.5, 3, 1], 1.5, 4.5), ([1, 1, 1], 0, 3), ([2], 2, 2)]
)
def test_reach_is_the_shell_of_the_chain(bones: list[float], inner: float, outer: float) -> None:
    points = np.cumsum([0, *bones])[:, None] * ref.unit(np.array([1.0, 2, 2]))
    chain = ik.Skeleton.chain(points + np.array([5, 0, 0]))
    span = chain.reach(len(bones))
    assert_allclose([span.inner, span.outer], [inner, outer], atol=1e-14)
    assert_allclose(span.root, [5, 0, 0])
    away = np.array([inner - 0.1, inner + 0.1, outer - 0.1, outer + 0.1])
    flags = [ik.Status.TOO_NEAR * (inner > 0), 0, 0, ik.Status.TOO_FAR]
    if len(bones) > 1:
        assert_array_equal(span.classify(span.root + away[:, None] * np.array([0, 0, 1])), flags)


def test_reach_is_of_a_part_of_the_skeleton_and_of_many_poses() -> None:
    thigh, shin = np.linalg.norm(LEFT[1:3], axis=1)
    for chain in ("thigh.L", 2):
        assert_allclose(BODY.reach("foot.L", chain).outer, thigh + shin, atol=1e-14)
    scales = np.ones((4, 9, 3)) * np.array([1, 2, 3, 4])[:, None, None]
    scales[:, 1:] = 1  # of the hips only: their legs are scaled as well
    poses = ik.Pose(BODY.rest.rotations, None, scales)
    assert_allclose(BODY.reach("foot.L", 2, pose=poses).outer, (thigh + shin) * np.arange(1, 5), atol=1e-13)
    with pytest.raises(ValueError, match=r"reach: the chain starts at 'toe\.L', which is neither"):
        BODY.reach("foot.L", "toe.L")


def test_a_target_that_is_nan_has_no_flag() -> None:
    assert BODY.reach("foot.L", 2).classify([np.nan, 0, 0]) == 0
