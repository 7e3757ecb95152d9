"""transpose, pinv, svf and sdls: what is published of them, and steps beside the singular values that NumPy finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import about, in_shell, rope
from numpy.testing import assert_allclose
from textbook import Linkage, forward, jacobian

import ikcore as ik

Array = Any
METHODS = ["transpose", "pinv", "svf", "sdls"]

# --- Buss and Kim's tree of seven hinges and two ends -----------------------------------------------------------------

UP = (14**0.5 / 8, 1 / 8, 7 / 8)
AXES = np.array([(0, 0, 1), (0, 0, 1), (0, 0, 1), (1, 0, 0), (1, 0, 0), UP, UP])
PLACES = [(0, -0.5), (0, 0.4), (0, 0.4), (0.5, 1), (-0.5, 1), (0.7, 1.3), (-0.8, 1.5), (0.7, 2), (-0.8, 1.9)]
PARENTS = [-1, 0, 0, 1, 2, 3, 4, 5, 6]


def tree() -> ik.Skeleton:
    places = np.array([[*place, 0] for place in PLACES])
    offsets = places - np.where(np.array(PARENTS)[:, None] < 0, 0, places[PARENTS])
    limits = [ik.Limit.hinge(axis, -2 * np.pi, 2 * np.pi) for axis in AXES] + [None] * 2
    return ik.Skeleton(PARENTS, offsets, limits=limits)


TREE = tree()
BONE = float(np.linalg.norm(TREE.offsets[1:], axis=1).mean())
LINKAGE = Linkage(
    *(PARENTS[:7], TREE.offsets[:7], AXES, np.zeros(7, bool), np.array([[-9.0] * 7, [9.0] * 7])),
    [(5, TREE.offsets[7]), (6, TREE.offsets[8])],
)


def targets(t: float) -> Array:
    right = [2 + 1.5 * np.sin(6 * t), 1.2 + 0.2 * np.sin(7 * t), 0.3 + 0.2 * np.sin(8 * t)]
    left = [-0.7 + 0.4 * np.sin(4 * t), 0.8 + 0.3 * np.sin(4 * t), -0.2 + 0.2 * np.sin(3 * t)]
    return np.array([right, left])


def posed(angles: Array) -> ik.Pose:
    turns = [about(axis, angle) for axis, angle in zip(AXES, np.moveaxis(angles, -1, 0), strict=True)]
    return ik.Pose(np.stack([*turns, *[np.broadcast_to([1.0, 0, 0, 0], turns[0].shape)] * 2], axis=-2))


def angles_of(pose: ik.Pose) -> Array:
    turned = pose.rotations[..., :7, :]
    return 2 * np.arctan2(np.sum(turned[..., 1:] * AXES, axis=-1), turned[..., 0])


def goals(places: Array) -> list[ik.Goal]:
    return [ik.Reach(7, places[..., 0, :]), ik.Reach(8, places[..., 1, :])]


# The cap of the whole step, and the turns of the first update, at T = .005.
FIRST: dict[str, Any] = {
    "transpose": (
        {"max_step": np.pi / 6},
        *([-0.267792044903, -0.219572648837, 0.057847891075, 0.024981770994],),
        *([-0.014380848063, -0.058640360325, -0.006055295515],),
    ),
    "pinv": (
        {"max_step": np.pi / 36},
        *([-0.035649836075, 0.002791747639, 0.075313593921, -0.01546592286],),
        *([0.011791286167, 0.074525467944, -0.0872664626],),
    ),
    "sdls": (
        {"soft": True},
        *([-0.204744301092, -0.302951155338, 0.365865520716, 0.198773500309],),
        *([-0.163179972854, -0.0082229704, -0.096123721657],),
    ),
    "sdls as in the paper": (
        {"soft": False},
        *([-0.244480419506, -0.533065364862, 0.584724393682, 0.34626249976],),
        *([-0.236409541081, -0.037232237763, -0.078252411563],),
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_update_is_the_published_one(name: str, everywhere: None) -> None:
    options, some, others = FIRST[name]
    found = ik.solve(TREE, TREE.rest, goals(targets(0.005)), name.split()[0], iterations=1, textbook=True, **options)
    assert_allclose(angles_of(found.pose), [*some, *others], atol=1e-10)


# One update a frame while the targets move, 400 frames to warm up and 2,000 measured: all distances summed.
TRACKED: dict[str, Any] = {
    "transpose": ({"max_step": np.pi / 6}, 1067.15),
    "pinv": ({"max_step": np.pi / 36}, 1033.18),
    "sdls": ({"max_error": 0.4 / BONE}, 866.08),
    "sdls as in the paper": ({"max_error": 0.4 / BONE, "soft": False}, 858.86),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACKED)
def test_moving_targets_are_followed_as_closely_as_published(name: str) -> None:
    options, published = TRACKED[name]
    pose, sum_ = TREE.rest, 0.0
    for frame in range(2400):
        places = targets(0.005 * (frame + 1))
        pose = ik.solve(TREE, pose, goals(places), name.split()[0], iterations=1, textbook=True, **options).pose
        off = np.linalg.norm(TREE.forward(pose).positions[[7, 8]] - places, axis=-1)
        sum_ += off.sum() if frame >= 400 else 0
    assert_allclose(sum_, published, rtol=0.005)


# --- steps beside NumPy's singular values -----------------------------------------------------------------------------


def cut(step: Array, most: float) -> Array:
    return step * min(1, most / np.abs(step).max())


def pinv(rows: Array, error: Array) -> Array:
    u, size, v = np.linalg.svd(rows, full_matrices=False)
    kept = size >= 0.2 * size[0]
    return cut(v[kept].T @ ((u.T @ error)[kept] / size[kept]), 0.4)


def svf(rows: Array, error: Array) -> Array:
    u, size, v = np.linalg.svd(rows / BONE, full_matrices=False)
    filtered = (size**3 + 7 * size**2 + 2 * size + 0.4) / (size**2 + 7 * size + 2)
    return cut(v.T @ ((u.T @ error / BONE) / filtered), 0.4)


def pi_dls(rows: Array, error: Array) -> Array:
    """As the sum over singular values that has this name: what is damped least squares by another way."""
    u, size, v = np.linalg.svd(rows, full_matrices=False)
    damping = 0.3 * BONE
    return cut(v.T @ (size / (size**2 + damping**2) * (u.T @ error)), 0.4)


def sdls(rows: Array, error: Array, *, soft: bool) -> Array:
    u, size, v = np.linalg.svd(rows, full_matrices=False)
    most, step = 0.6, np.zeros(rows.shape[1])
    moves = np.linalg.norm(rows.reshape(2, 3, -1), axis=1).sum(axis=0)
    for i in range(len(size)):
        worth = np.linalg.norm(u[:, i].reshape(2, 3), axis=1).sum()
        may = min(1, worth * size[i] / (np.abs(v[i]) @ moves)) * most
        along = u[:, i] @ error / size[i] * v[i]
        largest = np.abs(along).max()
        step = step + along * (may / (may + largest) if soft else min(1, may / largest))
    return cut(step, most)


STEPS: dict[str, tuple[dict[str, Any], Callable[[Array, Array], Array]]] = {
    "pinv": ({"truncation": 0.2, "max_step": 0.4}, pinv),
    "svf": ({"sigma0": 0.2, "nu": 7, "max_step": 0.4}, svf),
    "dls": ({"damping": 0.3, "max_step": 0.4}, pi_dls),
    "sdls soft": ({"soft": True, "max_step": 0.6}, lambda rows, error: sdls(rows, error, soft=True)),
    "sdls hard": ({"soft": False, "max_step": 0.6}, lambda rows, error: sdls(rows, error, soft=False)),
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
        ik.transpose(arm, ik.Pose(start), reach, max_step=np.pi / 6, **given),
        ik.sdls(arm, ik.Pose(start), reach, soft=False, max_error=1, **given),
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
    found = ik.pinv(arm_, ik.Pose(start), [goal], history=True, truncation=1e-4, **given)
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
