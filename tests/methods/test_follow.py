"""Follow the leader against passes over points in NumPy, and what it costs in iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import about, forward, in_line, in_shell, rope
from numpy.testing import assert_allclose

import ikcore as ik

Array = Any
pytestmark = pytest.mark.usefixtures("everywhere")


def arm(bones: int, seed: int = 3) -> tuple[ik.Skeleton, Array]:
    """Bones of all directions, from a base that is not the origin."""
    rng = np.random.default_rng(seed)
    return ik.Skeleton(np.arange(bones + 1) - 1, rng.normal(size=(bones + 1, 3))), rng.normal(size=(40, bones + 1, 4))


def within(skeleton: ik.Skeleton, seed: int, items: int, near: float, far: float) -> Array:
    """Targets in reach, by its share."""
    rng = np.random.default_rng(seed)
    lengths = np.linalg.norm(skeleton.offsets[1:], axis=-1)
    inner = max(0, 2 * lengths.max() - lengths.sum())
    radius = inner + (lengths.sum() - inner) * rng.uniform(near, far, (items, 1))
    return skeleton.offsets[0] + radius * ref.unit(rng.normal(size=(items, 3)))


def passed(points: Array, target: Array) -> Array:
    """The first half of an iteration of FABRIK, after which the chain is put back on its base."""
    lengths, after = np.linalg.norm(np.diff(points, axis=0), axis=-1), points.copy()
    after[-1] = target
    for joint in range(len(points) - 2, -1, -1):
        after[joint] = after[joint + 1] + lengths[joint] * ref.unit(points[joint] - after[joint + 1])
    return after + points[0] - after[0]


@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_an_iteration_is_half_of_one_of_fabrik(iterations: int) -> None:
    skeleton, start = arm(6)
    target = within(skeleton, 4, 40, 0.3, 0.9)
    goal = [ik.Reach(6, target)]
    found = ik.solvers.follow(skeleton, ik.Pose(start), goal, iterations=iterations, tolerance=0.0, textbook=True)
    points = forward(skeleton, ref.unit(start))[0]
    for item in range(40):
        for _ in range(iterations):
            points[item] = passed(points[item], target[item])
    assert_allclose(forward(skeleton, found.pose.rotations)[0], points, atol=1e-12)


def test_the_error_never_grows_as_published() -> None:
    skeleton, start = arm(9)
    goal = [ik.Reach(9, within(skeleton, 5, 40, 0.0, 1.2))]
    found = ik.solvers.follow(skeleton, ik.Pose(start), goal, textbook=True, history=True, iterations=60)
    assert found.history is not None
    assert not np.any(np.diff(found.history, axis=-1) > 1e-14)


# Seed, nearest, farthest, and what FABRIK takes on average to 1e-4 as published (test_fabrik.py).
@pytest.mark.parametrize(("seed", "near", "far", "fabrik"), [(1, 0.0, 0.95, 17.7), (2, 0.0, 0.2, 5.8)])
def test_ten_links_take_as_many_iterations_as_in_numpy(seed: int, near: float, far: float, fabrik: float) -> None:
    """Which is not twice as many as those of FABRIK, though they cost half."""
    skeleton, start = rope(10)
    target = in_shell(seed, near, far)
    options: dict[str, Any] = {"tolerance": 1e-5, "iterations": 1000}
    found = ik.solvers.follow(skeleton, ik.Pose(start), [ik.Reach(10, target)], textbook=True, **options)
    points, counts = forward(skeleton, start)[0], []
    for goal in target:
        now, count = points, 0
        while np.linalg.norm(now[-1] - goal) > 1e-4:
            now, count = passed(now, goal), count + 1
        counts.append(count)
    assert found.iterations.tolist() == counts
    assert np.mean(counts) < 2 * fabrik
    quick = ik.solvers.follow(skeleton, ik.Pose(start), [ik.Reach(10, target)], **options)
    assert not np.any(quick.status)
    assert np.mean(quick.iterations) < np.mean(counts)


@pytest.mark.parametrize("bones", [1, 3, 10, 100])
def test_what_is_in_reach_is_reached(dtype: Any, bones: int) -> None:
    skeleton, start = arm(bones)
    near = within(skeleton, 6, 40, 0.05 if bones > 1 else 0, 0.98 if bones > 1 else 1).astype(dtype)
    found = ik.solvers.follow(skeleton, ik.Pose(start.astype(dtype)), [ik.Reach(bones, near)], tolerance=1e-4)
    assert not np.any(found.status)
    tips = forward(skeleton, found.pose.rotations)[0][:, bones]
    assert np.max(np.linalg.norm(tips - near, axis=-1)) < 1.1e-4 * np.linalg.norm(skeleton.offsets[1:], axis=-1).sum()


def test_strides_halve_the_work_near_full_reach() -> None:
    skeleton, start = rope(10)
    goal = [ik.Reach(10, in_shell(3, 0.95, 0.999))]
    quick = ik.solvers.follow(skeleton, ik.Pose(start), goal)
    slow = ik.solvers.follow(skeleton, ik.Pose(start), goal, textbook=True, iterations=3000)
    assert not np.any(quick.status | slow.status)
    assert np.mean(quick.iterations) < np.mean(slow.iterations) / 4


def test_the_best_pose_is_the_result() -> None:
    """Near the edge of reach strides overshoot now and then."""
    skeleton, start = rope(30)
    goal = [ik.Reach(30, in_shell(4, 0.998, 0.9996) * 3)]
    found = [ik.solvers.follow(skeleton, ik.Pose(start), goal, iterations=last, history=True) for last in range(3, 40)]
    for one in found:
        assert one.history is not None
        assert_allclose(one.error, np.nanmin(one.history, axis=-1), atol=1e-11)
    assert any(np.any(one.history[:, -1] > 1.1 * one.error) for one in found if one.history is not None)


def test_a_target_out_of_reach_is_answered_at_once() -> None:
    lengths = [1.0, 5, 1.5]
    skeleton = ik.Skeleton.chain(np.r_[0, np.cumsum(lengths)][:, None] * [1.0, 0, 0])
    found = ik.solvers.follow(skeleton, skeleton.rest, [ik.Reach(3, np.array([[0, 9, 0], [0, 0.5, 0], [0, 0, 1e30]]))])
    assert found.status.tolist() == [ik.Status.TOO_FAR, ik.Status.TOO_NEAR, ik.Status.TOO_FAR]
    assert found.iterations.tolist() == [0, 0, 0]
    points = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(points[0, :, 1], [0, 1, 6, 7.5], atol=1e-12)
    assert_allclose(points[1, :, 1], [0, -1, 4, 2.5], atol=1e-12)


@pytest.mark.parametrize("short", [0, 1e-12, 1e-9, 1e-7, 4e-6])
def test_so_is_what_the_straight_chain_meets_within_tolerance(dtype: Any, short: float) -> None:
    skeleton, rotations = arm(100)
    target = within(skeleton, 4, 40, 1 - short, 1 - short)
    found = ik.solvers.follow(skeleton, ik.Pose(rotations.astype(dtype)), [ik.Reach(100, target)])
    assert np.all(found.status == 0)
    assert np.all(found.iterations <= 1)


@pytest.mark.parametrize("distance", [0.0, 1.0, 3.5, 5.9])
def test_a_chain_in_line_with_its_target_is_bent_first(distance: float) -> None:
    assert max(in_line(ik.solvers.follow, distance)) < 6e-5


def test_bones_near_the_tip_turn_most() -> None:
    skeleton, start = rope(30)
    tip = forward(skeleton, start)[0][-1]
    found = ik.solvers.follow(skeleton, ik.Pose(start), [ik.Reach(30, tip - [0, 1, 0])])
    turned = ik.rotations.to_axis_angle(ref.multiply(ref.conjugate(start), found.pose.rotations))[1]
    assert found.status == 0
    assert np.abs(turned[-6:]).sum() > 3 * np.abs(turned[:6]).sum()


def test_two_places_of_one_joint_are_two_ends() -> None:
    skeleton, start = rope(3)
    goals = [ik.Reach(3, [1.0, 1, 1]), ik.Reach(3, [1.0, 2, 1], offset=[0, 1, 0])]
    for method in ("follow", "circle"):
        with pytest.raises(ValueError, match=rf"goals\[1\]: {method} takes no second end; solve one end after"):
            ik.solve(skeleton, ik.Pose(start), goals, method)


# How much targets are short of full reach, where chains start as an arc.
EDGE = [2.9e-4, 1e-4, 1e-5, 1e-7]
AT_EDGE = pytest.mark.parametrize("method", ["follow", "fabrik"])


@AT_EDGE
@pytest.mark.parametrize("short", EDGE)
@pytest.mark.parametrize("bones", [2, 3, 30, 100])
def test_just_within_reach_it_is_there_at_once(method: str, bones: int, short: float, dtype: Any) -> None:
    """Whatever lengths bones have."""
    skeleton, rotations = arm(bones)
    target = within(skeleton, 9, 40, 1 - short, 1 - short).astype(dtype)
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    pose = ik.Pose(rotations.astype(dtype))
    found = ik.solve(skeleton, pose, [ik.Reach(bones, target)], method, tolerance=tolerance)
    assert not np.any(found.status)
    assert found.iterations.max() <= (1 if bones > 3 and dtype is np.float64 else 20)


@AT_EDGE
def test_there_it_bends_to_the_side_where_it_was_bent(method: str) -> None:
    skeleton, _ = rope(30)
    target = 30 * (1 - 1e-4) * ref.unit(np.array([1.0, 2, 0]))
    for side in (0.02, -0.02):
        bent = np.tile(about([0, 0, 1], np.array(side)), (31, 1))
        found = ik.solve(skeleton, ik.Pose(bent), [ik.Reach(30, target)], method)
        before, after = (forward(skeleton, each)[0].sum(axis=0) for each in (bent, found.pose.rotations))
        end = forward(skeleton, bent)[0][30]
        assert np.cross(end, before)[2] * np.cross(target, after)[2] > 0


@pytest.mark.parametrize("bones", [2, 3, 5, 8])
@pytest.mark.parametrize("method", ["follow", "spring", "fabrik"])
def test_a_straight_chain_closes_upon_its_base(method: str, bones: int) -> None:
    """If the target is the base, there is no line to it, and no arc over that line."""
    skeleton = ik.Skeleton.chain(np.arange(bones + 1)[:, None] * [0, 0.6, 0.8])
    assert ik.solve(skeleton, skeleton.rest, [ik.Reach(bones, [0, 0, 0])], method).status == 0


@pytest.mark.parametrize(("method", "most"), [("follow", 4), ("fabrik", 1)])
def test_over_the_edge_it_moves_as_its_target_does(method: str, most: float) -> None:
    """Away to full reach and beyond, and back: no joint turns by more degrees from one frame to the next."""
    skeleton, start = rope(30)
    share = 1.001 - 2.5e-3 * np.cos(np.linspace(0, np.pi, 401)) ** 2
    target = 30 * share[:, None] * ref.unit(np.array([1.0, 2, 0.5]))
    found = ik.solve(skeleton, ik.Pose(start), [ik.Reach(30, target)], method, sequence=True)
    assert np.array_equal(found.status, np.where(share > 1 + 1e-5, ik.Status.TOO_FAR, 0))
    turned = ref.multiply(ref.conjugate(found.pose.rotations[1:-1]), found.pose.rotations[2:])
    assert np.degrees(2 * np.arccos(np.minimum(np.abs(turned[..., 0]), 1))).max() < most


@AT_EDGE
def test_a_pose_that_is_there_stays_as_it_is(method: str) -> None:
    skeleton, rotations = arm(30)
    goal = [ik.Reach(30, within(skeleton, 9, 40, 1 - 1e-4, 1 - 1e-4))]
    found = ik.solve(skeleton, ik.Pose(rotations), goal, method)
    again = ik.solve(skeleton, found.pose, goal, method)
    assert_allclose(again.pose.rotations, found.pose.rotations, atol=1e-12)
    textbook = ik.solve(skeleton, ik.Pose(rotations), goal, method, textbook=True, iterations=2)
    assert np.all(textbook.status == ik.Status.ITERATION_LIMIT)
