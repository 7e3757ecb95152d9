"""transpose, pinv, svf and sdls: published counts, and steps beside the singular values that NumPy finds.

Published results for moving targets are in test_tracking.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
import trees
from chains import in_shell, rope
from numpy.testing import assert_allclose
from textbook import forward, jacobian
from trees import SMALL, Update

import ikcore as ik

Array = Any
METHODS = ["transpose", "pinv", "svf", "sdls"]

TREE, BONE, LINKAGE = SMALL.skeleton, SMALL.bone, SMALL.linkage
angles_of, goals, posed = SMALL.angles_of, SMALL.goals, SMALL.posed

# --- steps beside NumPy's singular values -----------------------------------------------------------------------------


def svf(rows: Array, error: Array) -> Array:
    u, size, v = np.linalg.svd(rows / BONE, full_matrices=False)
    filtered = (size**3 + 7 * size**2 + 2 * size + 0.4) / (size**2 + 7 * size + 2)
    return trees.shortened(v.T @ ((u.T @ error / BONE) / filtered), 0.4)


def pi_dls(rows: Array, error: Array) -> Array:
    """As the sum over singular values that has this name: what is damped least squares by another way."""
    u, size, v = np.linalg.svd(rows, full_matrices=False)
    damping = 0.3 * BONE
    return trees.shortened(v.T @ (size / (size**2 + damping**2) * (u.T @ error)), 0.4)


EXACT = {"truncation": 1e-9}

STEPS: dict[str, tuple[dict[str, Any], Update]] = {
    "pinv": ({"truncation": 0.2, "max_step": 0.4}, trees.pinv(0.2, 0.4)),
    "svf": ({"sigma0": 0.2, "nu": 7, "max_step": 0.4}, svf),
    "dls": ({"damping": 0.3, "max_step": 0.4}, pi_dls),
    "sdls soft": ({"soft": True, "max_step": 0.6}, trees.sdls(soft=True, most=0.6)),
    "sdls hard": ({"soft": False, "max_step": 0.6}, trees.sdls(soft=False, most=0.6)),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_what_singular_values_come_to(name: str, everywhere: None) -> None:
    options, step = STEPS[name]
    rng = np.random.default_rng(5)
    start, places = rng.uniform(-1, 1, (40, 7)), rng.normal(size=(40, 2, 3))
    world = forward(LINKAGE, start)
    rows = jacobian(LINKAGE, world)[0].reshape(40, 6, 7)
    expected = [step(*item) for item in zip(rows, (places - world.ends).reshape(40, 6), strict=True)]
    found = ik.solve(TREE, posed(start), goals(places), name.split()[0], iterations=1, textbook=True, **options)
    assert_allclose(angles_of(found.pose) - start, expected, atol=1e-9)


def test_damped_least_squares_is_the_pseudo_inverse_far_from_singular_poses_and_not_near_them() -> None:
    """One text has it the other way round."""
    regular = np.array([[0.4, 0.1, 1, -0.8, 0.9, 0.9, -1]])  # singular values of 0.39 at least
    singular = np.array([[-1.5, -1, -0.25, -1, np.pi / 2 - 1e-3, -0.75, 0]])
    way = 1e-3 * np.random.default_rng(2).normal(size=(1, 2, 3))
    off = []
    for pose in (regular, singular):
        places = SMALL.rows(pose)[0] + way
        exact, damped = (step_of(name, places, pose, **o) for name, o in (("pinv", EXACT), ("dls", {"damping": 0.03})))
        off.append(np.linalg.norm(damped - exact) / np.linalg.norm(exact))
    assert off[0] < 0.01
    assert off[1] > 0.5


@pytest.mark.parametrize("method", ["dls", "pinv", "svf"])
def test_weights_of_joints_are_in_the_metric_and_ends_go_where_they_would_without(method: str) -> None:
    """J W J^T y = e; the finished step times W would not take the error away."""
    start = np.random.default_rng(4).uniform(-1, 1, (60, 7))
    rows = SMALL.rows(start)[1]
    start, rows = (x[np.linalg.cond(rows) < 20] for x in (start, rows))
    willing = np.array([1, 0.5, 0.3, 1, 0.8, 0.6, 1])
    limits = [
        ik.Limit.hinge(axis, -2 * np.pi, 2 * np.pi, stiffness=1 - w)
        for axis, w in zip(SMALL.axes, willing, strict=True)
    ]
    tree = ik.Skeleton(SMALL.parents, TREE.offsets, limits=[*limits, None, None])
    error = 1e-3 * np.random.default_rng(5).normal(size=(len(start), 2, 3))
    exact: dict[str, dict[str, Any]] = {"pinv": EXACT, "svf": {"sigma0": 1e-6}, "dls": {"damping": 1e-5}}
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "max_step": 4, **exact[method]}
    places = SMALL.rows(start)[0] + error
    step = angles_of(ik.solve(tree, posed(start), goals(places), method, **given).pose) - start
    free = angles_of(ik.solve(TREE, posed(start), goals(places), method, **given).pose) - start
    expected = [
        willing * (j.T @ np.linalg.solve(j * willing @ j.T, e)) for j, e in zip(rows, error.reshape(-1, 6), strict=True)
    ]
    assert len(start) > 5
    assert_allclose(step, expected, atol=1e-7)
    assert_allclose(np.einsum("nij,nj->ni", rows, step), error.reshape(-1, 6), atol=1e-7)
    assert np.abs(np.einsum("nij,nj->ni", rows, willing * free) - error.reshape(-1, 6)).max() > 3e-4


# --- ten links that turn freely ---------------------------------------------------------------------------------------

# Mean iterations for targets between two shares of the reach (seeds 1 and 2), by an independent implementation.
MEANS: dict[tuple[Any, ...], tuple[float, float]] = {
    (1, 0.0, 0.95, 1e-2): (74.7, 16.1),
    (1, 0.0, 0.95, 1e-4): (168.2, 16.9),
    (2, 0.0, 0.2, 1e-2): (16.2, 15.2),
    (2, 0.0, 0.2, 1e-4): (24.7, 16.1),
}


@pytest.mark.parametrize("experiment", MEANS)
def test_mean_iterations_of_ten_links_are_the_published_ones(experiment: tuple[Any, ...]) -> None:
    *where, tolerance = experiment
    arm, start = rope(10)
    given: dict[str, Any] = {"tolerance": tolerance / 10, "textbook": True, "iterations": 5000}
    reach: list[ik.Goal] = [ik.Reach(10, in_shell(*where))]
    found = (
        ik.solvers.transpose(arm, ik.Pose(start), reach, max_step=np.pi / 6, **given),
        ik.solvers.sdls(arm, ik.Pose(start), reach, soft=False, max_error=1, **given),
    )
    for one, mean in zip(found, MEANS[experiment], strict=True):
        assert np.all(one.status == 0)
        assert_allclose(one.iterations.mean(), mean, rtol=0.05)


@pytest.mark.parametrize("method", ["pinv", "svf", "sdls"])
def test_near_full_reach_most_is_reached_and_no_step_makes_it_worse(method: str, everywhere: None) -> None:
    """pinv leaves out what would have to give: one target in twenty."""
    arm, start = rope(10)
    found = ik.solve(arm, ik.Pose(start), [ik.Reach(10, in_shell(3, 0.95, 0.999))], method, history=True)
    assert np.mean(found.status == 0) >= (0.95 if method == "pinv" else 1)
    assert found.history is not None
    assert np.nanmax(np.diff(found.history[:, :6], axis=-1)) <= 0  # until the first are shaken


def test_the_textbook_pseudo_inverse_swings_and_others_do_not() -> None:
    """Beyond full reach: how far joints turn from one update to the next, once there."""
    arm, start = rope(4)
    far: list[ik.Goal] = [ik.Reach(4, [3, 3.5, 0])]
    turned = {}
    for method in METHODS:
        pose, steps = ik.Pose(start), []
        for _ in range(60):
            after = ik.solve(arm, pose, far, method, iterations=1, textbook=True).pose
            between = ref.multiply(ref.conjugate(pose.rotations), after.rotations)
            steps.append(2 * np.arccos(np.clip(np.abs(between[:, 0]), 0, 1)).max())
            pose = after
        turned[method] = max(steps[40:])
    assert turned["pinv"] > 0.05
    assert turned["sdls"] < 1e-2
    assert turned["transpose"] < 1e-2


@pytest.mark.parametrize("method", METHODS)
def test_the_axes_of_the_world_are_in_no_answer(method: str) -> None:
    """Straight chains, whose singular values come in pairs, and all of it turned."""
    arm, reach = ik.Skeleton.chain(np.arange(6)[:, None] * np.array([0, 1.0, 0])), in_shell(4, 0, 0.9) / 2
    turn = ref.unit(np.random.default_rng(1).normal(size=4))
    start = arm.rest.rotations.copy()
    start[0] = turn
    for iterations in (1, 5):
        one = ik.solve(arm, arm.rest, [ik.Reach(5, reach)], method, iterations=iterations)
        two = ik.solve(arm, ik.Pose(start), [ik.Reach(5, ref.rotate(turn, reach))], method, iterations=iterations)
        places = arm.forward(one.pose).positions, arm.forward(two.pose).positions
        assert_allclose(ref.rotate(turn, places[0]), places[1], atol=1e-9)


# --- postures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pinv", "svf", "sdls"])
def test_a_posture_brings_joints_nearer_to_rest_and_the_tip_no_less_near(method: str, everywhere: None) -> None:
    arm, rng = rope(8)[0], np.random.default_rng(3)
    start = ref.unit(rng.normal([2, 0, 0, 0], size=(200, 9, 4)))
    target, left = in_shell(5, 0.1, 0.6) * 0.8, []
    for posture in (0.0, 0.03, 1.0):
        found = ik.solve(arm, ik.Pose(start), [ik.Reach(8, target)], method, posture=posture)
        assert np.all(found.status == 0)
        angle = 2 * np.arccos(np.clip(np.abs(found.pose.rotations[:, :8, 0]), 0, 1))
        left.append((angle**2).sum(-1).mean())
    assert left[0] > left[1] > left[2]
    assert left[0] > 1.1 * left[2]


# --- levels -----------------------------------------------------------------------------------------------------------


def test_in_the_linear_step_a_level_changes_nothing_for_those_before_it(everywhere: None) -> None:
    """Two targets for the second end, and two for a third level that both others leave nothing."""
    rng = np.random.default_rng(5)
    start = rng.uniform(-1, 1, (60, 7))
    world = forward(LINKAGE, start)
    rows = jacobian(LINKAGE, world)[0].reshape(60, 6, 7)
    near = world.ends + 0.02 * rng.normal(size=(60, 2, 3))
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "max_step": 4, "damping": 0.3}
    seen, left, whole = [], [], np.ones(60, bool)
    for second, third in ((0, 0), (1, 0), (1, 1)):
        lower = near[:, 1] + [0, 0, 0.03 * second]
        last = TREE.forward(posed(start)).positions[:, 6] + [0.03, 0.05 * third, 0]
        levels = [ik.Reach(7, near[:, 0]), ik.Reach(8, lower, level=1), ik.Reach(6, last, level=2)]
        step = angles_of(ik.dls(TREE, posed(start), levels, **given).pose) - start
        whole &= np.abs(step).max(axis=-1) < 2  # a step of 4 is shortened, of all levels alike, and seen as 4 - 2 pi
        seen.append(np.einsum("nij,nj->ni", rows, step))
        left.append(np.linalg.norm(seen[-1][:, 3:] - (lower - world.ends[:, 1]), axis=-1))
    assert np.sum(whole) > 40
    assert np.abs(seen[1][:, :3] - seen[0][:, :3])[whole].max() < 1e-9
    assert np.abs(seen[2] - seen[1])[whole].max() < 1e-9  # nor does the third for the second
    assert np.abs(seen[1][:, 3:] - seen[0][:, 3:])[whole].mean() > 1e-3
    assert np.mean(left[0][whole]) < 0.015  # of .035, before


# --- one method by another --------------------------------------------------------------------------------------------


def step_of(method: str, places: Array, start: Array, **options: Any) -> Array:
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "max_step": 4, **options}
    return angles_of(ik.solve(TREE, posed(start), goals(places), method, **given).pose) - start


def test_loops_of_feedback_come_to_the_pseudo_inverse_and_few_are_as_good_as_damping(everywhere: None) -> None:
    rng = np.random.default_rng(5)
    start = rng.uniform(-1, 1, (40, 7))
    world = forward(LINKAGE, start)
    regular = np.linalg.cond(jacobian(LINKAGE, world)[0].reshape(40, 6, 7)) < 30
    places = world.ends + 0.01 * rng.normal(size=(40, 2, 3))
    least = step_of("pinv", places, start, truncation=1e-6)
    assert np.sum(regular) > 10
    assert_allclose(step_of("transpose", places, start, loops=50000)[regular], least[regular], atol=1e-8)
    stretched = np.zeros((1, 7))  # a singular pose, and errors that nothing can take away
    away = forward(LINKAGE, stretched).ends + np.array([0, 0.3, 0])
    assert np.abs(step_of("transpose", away, stretched, loops=20)).max() < 1


def test_with_a_gain_the_error_decays_exponentially() -> None:
    """The first-order map of closed loops: by 1 - exp(-K dt) in a step of dt."""
    arm_, start = rope(6)
    rate, step = 2.0, 0.01
    goal = ik.Reach(6, [1.5, 3, 1.0])
    given: dict[str, Any] = {"gain": 1 - np.exp(-rate * step), "iterations": 200, "textbook": True}
    found = ik.solvers.pinv(arm_, ik.Pose(start), [goal], history=True, truncation=1e-4, **given)
    assert found.history is not None
    error = found.history[20:]
    times = step * np.arange(20, 201)
    slope = np.polyfit(times, np.log(error), 1)[0]
    assert_allclose(slope, -rate, rtol=0.01)


def test_small_singular_values_are_damped_each_by_itself(everywhere: None) -> None:
    """Extended selectively damped least squares: (A + sum of damping u u^T) y = e, over the vectors that are small."""
    rng = np.random.default_rng(5)
    start, places = rng.uniform(-1, 1, (40, 7)), rng.normal(size=(40, 2, 3))
    world = forward(LINKAGE, start)
    rows, error = jacobian(LINKAGE, world)[0].reshape(40, 6, 7), 0.1 * (places - world.ends).reshape(40, 6)
    expected = []
    for j, e in zip(rows, error, strict=True):
        u, size, _ = np.linalg.svd(j, full_matrices=False)
        share = (size / (0.3 * size[0])) ** 2
        small = np.where(share < 1, (1 - share) * (0.4 * BONE) ** 2, 0)
        expected.append(j.T @ np.linalg.solve(j @ j.T + u @ np.diag(small) @ u.T, e))
    found = step_of("pinv", world.ends + error.reshape(40, 2, 3), start, filtering=0.4, truncation=0.3)
    assert_allclose(found, expected, atol=1e-9)
