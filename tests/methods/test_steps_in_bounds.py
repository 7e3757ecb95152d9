"""gauss_seidel and sns, whose steps keep to bounds: beside what is best by other means, and where tips go straight."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from chains import in_shell, limited, planar, rope
from numpy.testing import assert_allclose, assert_array_equal
from test_linear import BONE, LINKAGE, TREE, angles_of, goals, posed
from textbook import Linkage, forward, jacobian, solve
from trees import SMALL

import ikcore as ik

Array = Any

LOW, HIGH = -np.array([0.9, 0.7, 0.8, 1.1, 0.6, 0.9, 1.0]), np.array([0.8, 0.9, 0.6, 0.7, 1.2, 0.9, 0.8])


def bounded(low: Array, high: Array) -> ik.Skeleton:
    """Buss and Kim's tree within bounds."""
    limits = [ik.Limit.hinge(*hinge) for hinge in zip(SMALL.axes, low, high, strict=True)]
    return ik.Skeleton(SMALL.parents, TREE.offsets, limits=[*limits, None, None])


def problems() -> tuple[Array, Array, Array, Array]:
    """Angles, targets, the Jacobian and the errors of 60 items."""
    rng = np.random.default_rng(5)
    start, places = rng.uniform(0.95 * LOW, 0.95 * HIGH, (60, 7)), rng.normal(size=(60, 2, 3))
    world = forward(LINKAGE, start)
    return start, places, jacobian(LINKAGE, world)[0].reshape(60, 6, 7), (places - world.ends).reshape(60, 6)


# --- gauss_seidel -----------------------------------------------------------------------------------------------------


def test_a_step_is_the_best_within_bounds(everywhere: None) -> None:
    """By the conditions for that (Karush, Kuhn, Tucker): nothing free is pulled, nor off a bound."""
    start, places, rows, error = problems()
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "damping": 0.2, "max_step": 4, "sweeps": 2000}
    found = ik.solvers.gauss_seidel(bounded(LOW, HIGH), posed(start), goals(places), **given)
    step = angles_of(found.pose) - start
    left = error - np.einsum("nij,nj->ni", rows, step)
    pull = np.einsum("nij,ni->nj", rows, left) - (0.2 * BONE) ** 2 * step
    low, high = np.abs(start + step - LOW) < 1e-12, np.abs(start + step - HIGH) < 1e-12
    assert np.mean(low | high) > 0.3
    assert np.abs(pull[~(low | high)]).max() < 1e-8
    assert pull[low].max() < 1e-8
    assert pull[high].min() > -1e-8


@pytest.mark.parametrize("damping", [0.3, 1.0])
def test_without_bounds_sweeps_come_to_damped_least_squares(damping: float) -> None:
    start, _, _, error = problems()
    places = forward(LINKAGE, start).ends + 0.1 * error.reshape(60, 2, 3)
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "damping": damping, "max_step": 4}
    far = ik.dls(TREE, posed(start), goals(places), **given)
    off = [
        np.abs(
            angles_of(ik.solvers.gauss_seidel(TREE, posed(start), goals(places), sweeps=n, **given).pose)
            - angles_of(far.pose)
        )
        for n in (1, 20, 20000)
    ]
    assert off[0].mean() > 2 * off[1].mean()
    assert off[2].max() < 1e-8


def test_with_slides_a_step_is_the_best_within_their_travel_too(everywhere: None) -> None:
    """Three hinges of unit bones, the first on a table of .4 by .4: slides by mean bones count as angles."""
    hinge = ik.Limit.hinge([0, 0, 1], -0.5, 0.5)
    on_table = ik.Limit.hinge([0, 0, 1], -0.5, 0.5, position=[[-0.2, -0.2, 0], [0.2, 0.2, 0]])
    arm = ik.Skeleton(range(-1, 3), [[0, 0, 0], *[[1, 0, 0]] * 3], limits=[on_table, hinge, hinge, None])
    rng = np.random.default_rng(2)
    start = np.concatenate([rng.uniform(-0.2, 0.2, (60, 2)), rng.uniform(-0.5, 0.5, (60, 3))], axis=-1)
    turns, slides = np.zeros((60, 4, 3)), np.zeros((60, 4, 3))
    turns[:, :3, 2], slides[:, 0, :2] = start[:, 2:], start[:, :2]
    pose, places = ik.Pose(ik.rotations.exp(turns), arm.offsets + slides), rng.normal(size=(60, 3)) * [2, 2, 0]
    at = arm.forward(pose).positions
    lever = at[:, 3:, :2] - at[:, :3, :2]
    rows = np.zeros((60, 2, 5))
    rows[:, [0, 1], [0, 1]] = 1
    rows[:, 0, 2:], rows[:, 1, 2:] = -lever[..., 1], lever[..., 0]
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "damping": 0.2, "max_step": 4, "sweeps": 4000}
    found = ik.solvers.gauss_seidel(arm, pose, [ik.Reach(3, places)], **given).pose
    angles = 2 * np.arctan2(found.rotations[:, :3, 3], found.rotations[:, :3, 0])
    assert found.translations is not None
    after = np.concatenate([found.translations[:, 0, :2], angles], axis=-1)
    left = (places - at[:, 3])[:, :2] - np.einsum("nij,nj->ni", rows, after - start)
    pull = np.einsum("nij,ni->nj", rows, left) - 0.2**2 * (after - start)
    most = np.array([0.2, 0.2, 0.5, 0.5, 0.5])
    low, high = np.abs(after + most) < 1e-12, np.abs(after - most) < 1e-12
    assert np.mean((low | high)[:, :2]) > 0.3
    assert np.abs(pull[~(low | high)]).max() < 1e-8
    assert pull[low].max() < 1e-8
    assert pull[high].min() > -1e-8


# --- sns --------------------------------------------------------------------------------------------------------------


def sns_step(rows: Array, wanted: Array, low: Array, high: Array) -> tuple[Array, float]:
    """As published, by the pseudo-inverse: the step and its share, for an item; 0 of it where no share is any good."""
    free, held = np.ones(rows.shape[1]), np.zeros(rows.shape[1])
    best, best_step = 0.0, held
    while True:
        inverse = np.linalg.pinv(rows * free, rcond=1e-9)
        along, rest = inverse @ wanted, held - inverse @ (rows @ held)
        if np.linalg.norm(rows @ along - wanted) > 1e-3 * np.linalg.norm(wanted):
            return best_step, best
        step = along + rest
        over = (step < low - 1e-9) | (step > high + 1e-9)
        if not over.any():
            return step, 1.0
        bound = np.where(step > high, high, low)
        share = np.where(over, (bound - rest) / np.where(over, along, 1), np.inf)
        first = int(np.argmin(share))
        if best < share[first]:
            best, best_step = share[first], share[first] * along + rest
        free[first], held[first] = 0, bound[first]


def test_a_step_is_the_published_one_and_goes_straight_to_the_targets(everywhere: None) -> None:
    start, _, rows, error = problems()
    error = 0.4 * error / np.linalg.norm(error, axis=-1, keepdims=True)
    rows, error = rows[:, :3], error[:, :3]  # one end: the others of seven hinges may take over
    places = forward(LINKAGE, start).ends[:, 0] + error
    found = ik.solvers.sns(
        bounded(LOW, HIGH), posed(start), [ik.Reach(7, places)], iterations=1, textbook=True, max_step=4
    )
    step = angles_of(found.pose) - start
    expected, shares = zip(
        *(sns_step(*item) for item in zip(rows, error, LOW - start, HIGH - start, strict=True)), strict=True
    )
    regular = (np.linalg.cond(rows) < 20) & (np.array(shares) > 0.03)  # else its damping shows, or it goes another way
    share = np.array(shares)[regular]
    assert np.sum(regular) > 30
    assert_allclose(step[regular], np.array(expected)[regular], atol=2e-4)
    moved = np.einsum("nij,nj->ni", rows, step)[regular]
    assert_allclose(moved, share[:, None] * error[regular], atol=2e-4)
    assert np.sum((share > 0.05) & (share < 0.95)) > 3
    assert np.sum(share == 1) > 3
    assert np.all((start + step >= LOW - 1e-12) & (start + step <= HIGH + 1e-12))


def test_a_posture_comes_on_top_of_a_step_within_bounds(everywhere: None) -> None:
    """Nothing that tips see of it, and joints that would go over their bounds end there."""
    start, _, rows, error = problems()
    rows, error = rows[:, :3], 0.2 * error[:, :3] / np.linalg.norm(error[:, :3], axis=-1, keepdims=True)
    goal = [ik.Reach(7, forward(LINKAGE, start).ends[:, 0] + error)]
    skeleton, given = bounded(LOW, HIGH), dict[str, Any](iterations=1, textbook=True, max_step=4)
    plain, drawn = (
        angles_of(ik.solvers.sns(skeleton, posed(start), goal, posture=share, **given).pose) for share in (0.0, 0.5)
    )
    regular = np.linalg.cond(rows) < 20
    moved = np.abs(drawn - plain)[regular]
    assert np.mean(moved.max(axis=-1) > 0.003) > 0.3  # in others some joint is at its bound
    assert np.abs(np.einsum("nij,nj->ni", rows, drawn - plain))[regular].max() < 1e-4
    assert np.all((drawn >= LOW - 1e-12) & (drawn <= HIGH + 1e-12))
    assert np.sum(np.abs(drawn[regular]) ** 2) < np.sum(np.abs(plain[regular]) ** 2)


# --- both -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [4, 8])
@pytest.mark.parametrize("method", ["gauss_seidel", "sns"])
def test_planar_hinges_reach_all_targets_that_are_within_their_limits(
    links: int, method: str, everywhere: None
) -> None:
    """Published results of 200 each: 172 and 189 by clamped CCD, 194 and 198 by DLS that locks and re-solves."""
    skeleton, start, targets = planar(links, 45)
    found = ik.solve(skeleton, ik.Pose(start), [ik.Reach(links, targets)], method, tolerance=1e-3 / links)
    assert np.sum(found.status == 0) == 200
    assert found.iterations.mean() < 13
    assert limited(skeleton, found) <= 1e-12


def test_ten_links_that_turn_freely_take_about_as_many_iterations_as_others() -> None:
    skeleton, start = rope(10)
    for seed, near, far, means in ((1, 0.0, 0.95, {"gauss_seidel": 14, "sns": 8}), (3, 0.95, 0.999, {"sns": 13})):
        for method, mean in means.items():
            found = ik.solve(skeleton, ik.Pose(start), [ik.Reach(10, in_shell(seed, near, far))], method)
            assert np.all(found.status == 0)
            assert found.iterations.mean() < mean


def test_near_full_reach_sweeps_come_nearer_slowly() -> None:
    """Four in five arrive, as docs/methods/bounds.md says, and more with more sweeps."""
    skeleton, start = rope(10)
    goals = [ik.Reach(10, np.concatenate([in_shell(seed, 0.95, 0.999)[:20] for seed in range(1, 6)]))]
    few, many = (
        np.mean(ik.solvers.gauss_seidel(skeleton, ik.Pose(start), goals, sweeps=n).status == 0) for n in (20, 100)
    )
    assert 0.75 < few < 0.87
    assert many > few + 0.05


# --- limits by projection ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("links", "project", "solved", "mean"),
    [(4, True, 191, 7.1), (4, False, 194, 4.8), (8, True, 198, 9.3), (8, False, 198, 7.1)],
)
def test_planar_hinges_that_are_clamped_or_locked_reach_what_is_published(
    links: int, project: bool, solved: int, mean: float
) -> None:
    skeleton, start, targets = planar(links, 45)
    given: dict[str, Any] = {"damping": 0.1, "max_error": 1, "max_step": np.pi / 4, "textbook": True}
    found = ik.dls(
        skeleton, ik.Pose(start), [ik.Reach(links, targets)], tolerance=1e-3 / links, project=project, **given
    )
    assert np.sum(found.status == 0) == solved
    assert_allclose(found.iterations[found.status == 0].mean(), mean, rtol=0.05)
    assert limited(skeleton, found) <= 1e-12


@pytest.mark.parametrize("limits", ["clamp", "lock"])
@pytest.mark.parametrize(("links", "degrees"), [(3, 45), (4, 30), (5, 45), (6, 90), (8, 30), (10, 45)])
def test_chains_beside_those_take_the_iterations_of_the_reference_solver(
    links: int, degrees: int, limits: Literal["clamp", "lock"]
) -> None:
    skeleton, start, targets = planar(links, degrees)
    offsets, most = skeleton.offsets, np.radians(degrees)
    linkage = Linkage(
        *(list(range(-1, links - 1)), offsets[:links], np.tile([0.0, 0, 1], (links, 1)), np.zeros(links, bool)),
        *(np.outer([-most, most], np.ones(links)), [(links - 1, offsets[links])]),
    )
    free, states = np.ones(links, bool), np.full((200, links), 0.02)
    known = solve(linkage, states, targets[:, None], free=free, limits=limits, most_error=1)
    given: dict[str, Any] = {"damping": 0.1, "max_error": 1, "max_step": np.pi / 4, "textbook": True}
    goal, project = ik.Reach(links, targets), limits == "clamp"
    found = ik.dls(skeleton, ik.Pose(start), [goal], tolerance=1e-3 / links, project=project, **given)
    assert_array_equal(found.status == 0, known.reached)
    assert_array_equal(found.iterations[known.reached], known.iterations[known.reached])
    assert np.mean(known.reached) < 1


@pytest.mark.parametrize("method", ["dls", "transpose", "pinv", "svf", "sdls"])
def test_a_projected_step_is_the_step_without_limits_cut_joint_by_joint(method: str) -> None:
    start, places, _, _ = problems()
    given: dict[str, Any] = {"iterations": 1, "textbook": True}
    free = angles_of(ik.solve(TREE, posed(start), goals(places), method, **given).pose)
    cut = angles_of(ik.solve(bounded(LOW, HIGH), posed(start), goals(places), method, project=True, **given).pose)
    assert np.any(free > HIGH)
    assert_allclose(cut, np.clip(free, LOW, HIGH), atol=1e-12)
