"""Poles of chains: the side to which iterative methods bend them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import enough, taking
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]

pytestmark = [
    pytest.mark.parametrize("method", taking("place", "pole")),
    pytest.mark.usefixtures("everywhere"),
]

PARENTS = [-1, 0, 1, 2, 3, 4]
OFFSETS = np.array([[0, 1, 0], [0.2, 0, 0], [0.5, -0.3, 0.1], [0.4, -0.1, 0], [0.3, -0.2, 0.2], [0.2, -0.4, 0]])
CHAIN = ik.Skeleton(PARENTS, OFFSETS)
LIMITED = ik.Skeleton(PARENTS, OFFSETS, limits={2: ik.Limit.hinge([0, 0, 1], -1, 2), 4: ik.Limit.cone([1, 0, 0], 0.6)})


def belly(points: Array) -> Array:
    """The sum of the joints of a chain, square to the line from its first point to its last."""
    line = ref.unit(points[..., -1, :] - points[..., 0, :])
    off = (points[..., 1:-1, :] - points[..., :1, :]).sum(axis=-2)
    return np.asarray(off - np.sum(off * line, axis=-1, keepdims=True) * line)


def side(points: Array, pole: Array) -> Array:
    """The cosine between where a chain bends and where its pole is, about its line: 1 where it bends towards it."""
    line = ref.unit(points[..., -1, :] - points[..., 0, :])
    way = pole - points[..., 0, :]
    way = way - np.sum(way * line, axis=-1, keepdims=True) * line
    return np.asarray(np.sum(ref.unit(way) * ref.unit(belly(points)), axis=-1))


def problem(seed: int, items: int = 100) -> tuple[ik.Pose, Array, Array]:
    """A pose, targets within reach, and poles."""
    rng = np.random.default_rng(seed)
    rotations = ref.unit(rng.normal(size=(items, 6, 4)) * 0.3 + [1, 0, 0, 0])
    base = CHAIN.forward(ik.Pose(rotations)).positions[:, 1]
    target = base + ref.unit(rng.normal(size=(items, 3))) * rng.uniform(0.4, 1.2, (items, 1))
    return ik.Pose(rotations), target, base + rng.normal(size=(items, 3))


@pytest.mark.parametrize("skeleton", [CHAIN, LIMITED], ids=["free", "limited"])
@pytest.mark.parametrize(("dtype", "near"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_a_chain_bends_towards_its_pole_and_is_what_it_was(
    method: str, skeleton: ik.Skeleton, dtype: Any, near: float
) -> None:
    pose, target, pole = problem(1)
    pose = ik.Pose(pose.rotations.astype(dtype))
    without = ik.solve(skeleton, pose, [ik.Reach(5, target, chain=4)], method)
    found = ik.solve(skeleton, pose, [ik.Reach(5, target, chain=4, pole=pole)], method)
    assert_array_equal(found.status, without.status)
    assert np.count_nonzero(found.status & ~ik.Status.INPUT_OUTSIDE == 0) >= enough(method, 90)
    assert_allclose(found.error, without.error, atol=near)
    points, plain = (skeleton.forward(solution.pose).positions[:, 1:] for solution in (found, without))
    assert_allclose(side(points.astype(float), pole), 1, atol=near)
    distances, before = (np.linalg.norm(p[:, :, np.newaxis] - p[:, np.newaxis], axis=-1) for p in (points, plain))
    assert_allclose(distances, before, atol=near)
    local, alone = (solution.pose.rotations for solution in (found, without))
    assert_allclose(np.abs(np.sum(local[:, 2:] * alone[:, 2:], axis=-1)), 1, atol=near)
    assert_array_equal(local[:, 0], pose.rotations[:, 0])


def test_two_bones_do_as_two_bone_does(method: str) -> None:
    leg = ik.Skeleton([-1, 0, 1], np.array([[0, 1, 0], [0.05, -0.45, 0.02], [0, -0.42, -0.03]]))
    rng = np.random.default_rng(2)
    target, pole = rng.normal([0, 0.6, 0], 0.3, (50, 3)), rng.normal([0, 1, 0], 1, (50, 3))
    goal = [ik.Reach(2, target, pole=pole)]
    expected = ik.solve(leg, leg.rest, goal, "two_bone")
    found = ik.solve(leg, leg.rest, goal, method, tolerance=1e-10, iterations=5000)
    both = (expected.status == 0) & (found.status == 0)
    assert np.count_nonzero(both) >= enough(method, 25)
    points, knees = (leg.forward(solution.pose).positions[both, 1] for solution in (found, expected))
    assert_allclose(points, knees, atol=1e-8)


def test_a_rotation_at_the_end_stays(method: str) -> None:
    pose, target, pole = problem(3)
    turned = ref.unit(np.random.default_rng(4).normal(size=(100, 4)))
    found = ik.solve(CHAIN, pose, [ik.Reach(5, target, turned, chain=4, pole=pole)], method)
    assert np.count_nonzero(found.status == 0) >= 95
    world = CHAIN.forward(found.pose)
    assert_allclose(side(world.positions[:, 1:], pole), 1, atol=1e-9)
    reached = found.status == 0
    assert_allclose(np.abs(np.sum(world.rotations[reached, 5] * turned[reached], axis=-1)), 1, atol=1e-8)


def test_a_point_beside_the_joint_is_the_end(method: str) -> None:
    pose, target, pole = problem(5)
    found = ik.solve(CHAIN, pose, [ik.Reach(5, target, chain=4, offset=[0.1, -0.1, 0], pole=pole)], method)
    assert np.count_nonzero(found.status == 0) >= enough(method, 95)
    world = CHAIN.forward(found.pose)
    tip = world.positions[:, 5] + ref.rotate(world.rotations[:, 5], np.array([0.1, -0.1, 0]))
    points = np.concatenate([world.positions[:, 1:], tip[:, np.newaxis]], axis=1)
    assert_allclose(side(points, pole), 1, atol=1e-9)


def test_a_pole_on_the_line_says_so_and_changes_nothing(method: str) -> None:
    pose, target, _ = problem(6, 20)
    base = CHAIN.forward(pose).positions[:, 1]
    for share in (0, 0.3, 1, -2):
        goal = ik.Reach(5, target, chain=4, pole=base + share * (target - base))
        found = ik.solve(CHAIN, pose, [goal], method, tolerance=1e-12, iterations=20000)
        met = found.error <= 1e-11
        assert np.count_nonzero(met) >= enough(method, 10)
        if share == 0:
            assert np.all(found.status & ik.Status.POLE_UNDEFINED)
        without = ik.solve(CHAIN, pose, [ik.Reach(5, target, chain=4)], method, tolerance=1e-12, iterations=20000)
        assert_allclose(found.error, without.error, atol=1e-9)


def test_a_straight_chain_has_no_side(method: str) -> None:
    rope = ik.Skeleton.chain(np.arange(4.0)[:, np.newaxis] * [1, 0, 0])
    found = ik.solve(rope, rope.rest, [ik.Reach(3, [0, 9, 0], pole=[1, 1, 1])], method)
    assert found.status == ik.Status.TOO_FAR
    assert found.error == pytest.approx(6)


def test_a_pole_that_is_no_point_stays_in_its_item(method: str) -> None:
    pose, target, pole = problem(7, 9)
    clean = ik.solve(CHAIN, pose, [ik.Reach(5, target, chain=4, pole=pole)], method)
    pole[4] = np.nan
    with pytest.warns(ik.UnusableWarning, match="1 of 9"):
        found = ik.solve(CHAIN, pose, [ik.Reach(5, target, chain=4, pole=pole)], method)
    others = np.arange(9) != 4
    assert found.status[4] == ik.Status.NOT_FINITE
    assert_array_equal(found.pose.rotations[4], pose.rotations[4])
    assert_array_equal(found.pose.rotations[others], clean.pose.rotations[others])
    weight = others.astype(float)
    ignored = ik.solve(CHAIN, pose, [ik.Reach(5, target, chain=4, weight=weight, pole=pole)], method)
    assert ignored.status[4] == 0


def test_all_instruction_sets_solvers_and_threads_agree(method: str, isa: str) -> None:
    pose, target, pole = problem(8)
    found = ik.solve(CHAIN, pose, [ik.Reach(5, target, chain=4, pole=pole)], method, workers=2)
    call = ik.Solver(CHAIN, [ik.Reach(5, ..., chain=4, pole=...)], method)
    for item in (0, 31, 99):
        rotations, *_ = call(pose.rotations[item], target[item], pole[item])
        assert_array_equal(rotations, found.pose.rotations[item])
    before = FIRST.setdefault(method, found.pose.rotations)
    assert_array_equal(found.pose.rotations, before)


# Results of the first instruction set that ran.
FIRST: dict[str, Array] = {}


def test_what_cannot_turn_freely_takes_no_pole(method: str) -> None:
    stiff = ik.Skeleton(PARENTS, OFFSETS, limits={1: ik.Limit.cone([1, 0, 0], 0.5)})
    near = [0.5, 0.5, 0.5]
    with pytest.raises(
        ValueError, match=r"goals\[0\].pole: the chain turns about its first joint, and '1' has a limit"
    ):
        ik.solve(stiff, stiff.rest, [ik.Reach(5, near, chain=4, pole=near)], method)
    for other in (ik.Reach(3, near), ik.Reach(5, rotation=[1, 0, 0, 0]), ik.Reach(1, near)):
        with pytest.raises(
            ValueError, match=r"goals\[0\].pole: the chain turns about '1', and goals\[1\] hangs from that"
        ):
            ik.solve(CHAIN, CHAIN.rest, [ik.Reach(5, near, chain=4, offset=near, pole=near), other], method)
    for chain in (0, 1):
        with pytest.raises(ValueError, match="a chain of two bones or more"):
            ik.solve(CHAIN, CHAIN.rest, [ik.Reach(5, near, chain=chain, pole=near)], method)
    locked = ik.Skeleton(PARENTS, OFFSETS, limits={1: ik.Limit.locked()})
    found = ik.solve(locked, locked.rest, [ik.Reach(5, near, chain=4, pole=[0, 2, 5])], method)
    assert_allclose(side(locked.forward(found.pose).positions[2:], np.array([0, 2, 5])), 1, atol=1e-9)
