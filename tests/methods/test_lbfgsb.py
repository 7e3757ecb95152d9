"""lbfgsb: its gradient by differences, published counts, bounds that are met, and where it cannot go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import in_shell, planar, rope
from human import Human
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik

Array = Any
TREE = ik.Skeleton([-1, 0, 1, 2, 1, 4], np.random.default_rng(1).normal(size=(6, 3)), masses=[1, 2, 1, 3, 1, 2])
PLACE, OTHER, CENTRE = np.array([1.0, -2, 0.5]), np.array([-1.0, 0.5, 2]), np.array([0.3, 0.1, -0.4])
TURNED, TURNED_TOO = ref.unit(np.array([[1.0, 0.3, -0.2, 0.4], [0.5, -0.3, 0.8, 0.1]]))
OFFSET = [0.3, -0.2, 0.1]


def places(world: ik.skeleton.World) -> float:
    at = world.positions
    middle = TREE.masses / TREE.masses.sum() @ at
    tip = at[3] + ref.rotate(world.rotations[3], OFFSET)
    off = [tip - PLACE, at[5] - OTHER, middle - CENTRE]
    return float(sum(e @ e for e in off))


def turns(world: ik.skeleton.World) -> float:
    pairs = ((world.rotations[3], TURNED), (world.rotations[5], TURNED_TOO))
    return float(sum(4 * np.arccos(abs(np.clip(a @ b, -1, 1))) ** 2 for a, b in pairs))


SQUARES: dict[str, tuple[list[ik.Goal], Callable[[Any], float]]] = {
    "places": ([ik.Reach(3, PLACE, offset=OFFSET), ik.Reach(5, OTHER), ik.CentreOfMass(CENTRE)], places),
    "turns": ([ik.Reach(3, rotation=TURNED), ik.Reach(5, rotation=TURNED_TOO)], turns),
}


def turned(pose: Array, joint: int, by: Array) -> Array:
    after = pose.copy()
    after[joint] = ik.rotations.multiply(pose[joint], ik.rotations.exp(by))
    return after


@pytest.mark.parametrize("what", SQUARES)
def test_the_first_step_is_down_the_gradient_by_differences(what: str, everywhere: None) -> None:
    """And as long as is best, if motion were linear."""
    goals, square = SQUARES[what]
    start, h = ref.unit(np.random.default_rng(3).normal([2, 0, 0, 0], 0.7, (6, 4))), 1e-5
    steps = np.eye(3) * h
    slope = np.array(
        [
            [
                square(TREE.forward(ik.Pose(turned(start, joint, s))))
                - square(TREE.forward(ik.Pose(turned(start, joint, -s))))
                for s in steps
            ]
            for joint in range(6)
        ]
    ) / (2 * h)
    found = ik.solvers.lbfgsb(TREE, ik.Pose(start), goals, iterations=1, max_step=4, textbook=True)
    step = ik.rotations.log(ik.rotations.multiply(ref.conjugate(start), found.pose.rotations))
    moved = np.linalg.norm(step)
    assert moved > 0.01
    assert_allclose(step / moved, -slope / np.linalg.norm(slope), atol=1e-6)


# Mean evaluations of an independent L-BFGS-B for targets between two shares of the reach, to 1e-4. Another line search
# makes others.
MEANS = {(1, 0.0, 0.95): 14.5, (2, 0.0, 0.2): 12.5}


@pytest.mark.parametrize("where", MEANS)
def test_mean_iterations_of_ten_links_are_about_the_published_ones(where: tuple[Any, ...]) -> None:
    arm, start = rope(10)
    found = ik.solvers.lbfgsb(arm, ik.Pose(start), [ik.Reach(10, in_shell(*where))], tolerance=1e-5, textbook=True)
    assert np.all(found.status == 0)
    assert_allclose(found.iterations.mean(), MEANS[where], rtol=0.1)


@pytest.mark.parametrize(("count", "published"), [(4, 200), (8, 199)])
def test_hinges_within_limits_reach_what_is_published(count: int, published: int) -> None:
    arm, start, targets = planar(count, 45)
    found = ik.solvers.lbfgsb(arm, ik.Pose(start), [ik.Reach(count, targets)], tolerance=1e-3 / count, textbook=True)
    assert np.count_nonzero(found.status == 0) >= published
    assert np.all(ik.solvers.lbfgsb(arm, ik.Pose(start), [ik.Reach(count, targets)]).status == 0)


def angles_of(pose: ik.Pose, count: int) -> Array:
    return 2 * np.arctan2(pose.rotations[..., :count, 3], pose.rotations[..., :count, 0])


def test_what_cannot_be_reached_ends_where_no_hinge_could_go_on(everywhere: None) -> None:
    """Karush, Kuhn and Tucker: within its range nothing pulls at a hinge, at an end of it only outwards."""
    count, limit = 4, np.pi / 4
    arm, start, targets = planar(count, 45)
    targets = 1.3 * targets
    found = ik.solvers.lbfgsb(arm, ik.Pose(start), [ik.Reach(count, targets)])
    away = found.status != 0
    angles = angles_of(found.pose, count)[away]
    assert np.count_nonzero(away) > 20
    assert np.abs(angles).max() <= limit + 1e-12
    held = np.abs(angles) > limit - 1e-12
    assert np.count_nonzero(held) > 20
    headings = np.cumsum(angles, axis=-1)
    bones = np.stack([np.cos(headings), np.sin(headings)], axis=-1)
    arms = np.cumsum(bones[:, ::-1], axis=1)[:, ::-1]  # from each hinge to the tip
    off = targets[away, None, :2] - arms[:, :1]
    pull = arms[..., 0] * off[..., 1] - arms[..., 1] * off[..., 0]
    size = np.linalg.norm(off, axis=-1) * count
    assert np.all((np.abs(pull) / size)[~held] < 1e-2)
    assert np.all((pull * np.sign(angles) / size)[held] > -1e-2)


def test_a_chain_in_line_with_its_target_is_where_the_gradient_is_nothing() -> None:
    """The published method stalls there; with perturbation it continues."""
    arm = ik.Skeleton.chain([[x, 0, 0] for x in range(5)])
    goal = ik.Reach(4, [2, 0, 0])
    stuck = ik.solvers.lbfgsb(arm, arm.rest, [goal], textbook=True)
    assert ik.Status(int(stuck.status)) == ik.Status.ITERATION_LIMIT
    assert_array_equal(stuck.pose.rotations, arm.rest.rotations)
    assert int(ik.solvers.lbfgsb(arm, arm.rest, [goal]).status) == 0


def test_the_axes_of_the_world_are_in_no_answer() -> None:
    arm, reach = rope(5)[0], in_shell(4, 0, 0.9) / 2
    turn = ref.unit(np.random.default_rng(1).normal(size=4))
    bent = ref.unit(np.random.default_rng(2).normal([2, 0, 0, 0], 0.4, (6, 4)))
    all_turned = bent.copy()
    all_turned[0] = ref.multiply(turn, bent[0])
    for iterations in (1, 5):
        one = ik.solvers.lbfgsb(arm, ik.Pose(bent), [ik.Reach(5, reach)], iterations=iterations)
        two = ik.solvers.lbfgsb(arm, ik.Pose(all_turned), [ik.Reach(5, ref.rotate(turn, reach))], iterations=iterations)
        ends = arm.forward(one.pose).positions, arm.forward(two.pose).positions
        assert_allclose(ref.rotate(turn, ends[0]), ends[1], atol=1e-9)


@pytest.mark.parametrize("stiffness", [0.5, 0.9, 1.0])
def test_a_pull_turns_what_is_unwilling_by_its_share(stiffness: float) -> None:
    """In the first step, beside a joint that is not."""
    free = ik.Skeleton.chain([[x, 0, 0] for x in range(5)])
    limits = [ik.Limit.free(stiffness=[stiffness] * 3), None, None, None, None]
    shares = []
    for arm in (free, ik.Skeleton(free.parents, free.offsets, limits=limits)):
        found = ik.solvers.lbfgsb(arm, arm.rest, [ik.Reach(4, [2, 2, 1])], iterations=1, textbook=True)
        turned = np.linalg.norm(ik.rotations.log(found.pose.rotations), axis=-1)
        shares.append(turned[0] / turned[1])
    assert_allclose(shares[1], (1 - stiffness) * shares[0], atol=1e-9)


def test_a_body_is_reached_and_angles_as_they_are_creep(everywhere: None) -> None:
    """Joints seen by all ends turn less at first; otherwise only a spine would move. More memory, fewer iterations."""
    human = Human()
    truths = human.truths(40)
    start, goals = human.pose(human.starts(truths, "B")), human.goals(truths)
    means = []
    for memory, textbook in ((6, True), (6, False), (20, False)):
        options: dict[str, Any] = {"memory": memory, "textbook": textbook, "tolerance": 2e-4, "iterations": 400}
        found = ik.solvers.lbfgsb(human.skeleton, start, goals, **options)
        assert np.all(found.status == 0) or textbook
        means.append(found.iterations.mean())
    assert means[0] > 1.2 * means[1] > 1.3 * means[2]


def test_without_memory_it_goes_down_the_slope_and_with_one_it_starts_so() -> None:
    arm, start = rope(10)
    goal = ik.Reach(10, in_shell(1, 0, 0.95)[:20])
    pose = ik.Pose(start)
    one, other = (ik.solvers.lbfgsb(arm, pose, [goal], iterations=1, memory=m).pose.rotations for m in (0, 6))
    assert_array_equal(one, other)
    slope, bent = (ik.solvers.lbfgsb(arm, pose, [goal], iterations=2000, memory=m) for m in (0, 6))
    assert np.all(slope.status == 0)
    assert slope.iterations.mean() > 3 * bent.iterations.mean()
