"""Damped least squares: published experiments, what limits, weights and posture promise, and every degenerate case."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import records
import reference as ref
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import ikcore as ik
from ikcore import rotations

Array = NDArray[Any]
STEP = np.pi / 4


pytestmark = pytest.mark.usefixtures("everywhere")


def uniform(seed: int) -> Iterator[float]:
    """The sequence that the experiments draw from."""
    x = seed
    while True:
        x = (1664525 * x + 1013904223) % 2**32
        yield x / 2**32


def about(axis: Any, angle: Any) -> Array:
    return rotations.from_axis_angle(axis, angle)


def vector(draw: Iterator[float]) -> Array:
    """Within the unit ball."""
    while True:
        v = np.array([2 * next(draw) - 1 for _ in range(3)])
        if 1e-3 <= np.linalg.norm(v) <= 1:
            return v


# --- ten links that turn freely ---------------------------------------------------------------------------------------

# Mean iterations of damped least squares with constant damping 1 and .1, and by Nielsen's rule, for targets between
# two shares of the reach (seeds 1 and 2, 200 targets), by an independent implementation.
MEANS = {
    (1, 0.0, 0.95, 1e-2): (14.3, 10.7, 6.5),
    (1, 0.0, 0.95, 1e-4): (16.3, 11.5, 7.7),
    (2, 0.0, 0.2, 1e-2): (12.5, 7.5, 6.9),
    (2, 0.0, 0.2, 1e-4): (14.3, 8.3, 8.0),
}


def links(count: int) -> ik.Skeleton:
    return ik.Skeleton.chain([[0, i, 0] for i in range(count + 1)])


def spread(seed: int, inner: float, outer: float, count: int = 200) -> Array:
    """Targets for ten links: even in the volume between two shares of their reach."""
    draw, targets = uniform(seed), np.empty((count, 3))
    for i in range(count):
        v = vector(draw)
        targets[i] = v / np.linalg.norm(v) * 10 * np.cbrt(inner**3 + (outer**3 - inner**3) * next(draw))
    return targets


def curled(count: int) -> ik.Pose:
    """Every link is turned by .02 from the one before."""
    return ik.Pose(np.tile(about([0, 0, 1], -0.02), (count, 1)))


def test_the_targets_are_those_of_the_experiment() -> None:
    assert_allclose(spread(1, 0, 0.95)[0], [-7.573239, -3.75665, 0.121899], atol=1e-6)
    assert_allclose(spread(2, 0, 0.2)[0], [-1.163811, -0.177013, -1.375616], atol=1e-6)


def levenberg_marquardt(skeleton: ik.Skeleton, start: Array, target: Array, most: int) -> list[float]:
    """The distance before every iteration, slow and obvious: damping by Nielsen, turns about the axes of the world."""
    count, off = len(skeleton), []
    pose, damping, growth = start.copy(), -1.0, 2.0
    for _ in range(most):
        world = skeleton.forward(ik.Pose(pose))
        error = target - world.positions[-1]
        off.append(float(np.linalg.norm(error)))
        columns = ik.solvers.jacobian(skeleton, ik.Pose(pose), count - 1)[:3]
        normal = columns.T @ columns
        if damping < 0:
            damping = 0.1 * float((columns @ columns.T).diagonal().max())
        turns = np.linalg.solve(normal + damping * np.eye(3 * count), columns.T @ error).reshape(-1, 3)
        foreseen = float(error @ error) - float(np.square(error - columns @ turns.ravel()).sum())
        turns *= np.minimum(1, 1 / np.maximum(np.linalg.norm(turns, axis=-1, keepdims=True), 1e-9))
        local = rotations.rotate(rotations.conjugate(world.rotations), turns)
        tried = rotations.multiply(pose, rotations.exp(local))
        left = target - skeleton.forward(ik.Pose(tried)).positions[-1]
        gain = (error @ error - left @ left) / foreseen
        if gain > 0:
            pose, damping, growth = tried, damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 2.0
        else:
            damping, growth = damping * growth, growth * 2
    return off


def test_it_is_levenbergs_and_marquardts_method() -> None:
    """Iteration by iteration; the name is in docs/methods/jacobians.md."""
    skeleton, taken_back = links(10), 0
    for target in spread(1, 0, 0.95, 12):
        slow = levenberg_marquardt(skeleton, curled(11).rotations, target, 9)
        found = ik.dls(skeleton, curled(11), [ik.Reach(10, target)], iterations=8, textbook=True, history=True)
        assert found.history is not None
        taken = int(found.iterations) + 1
        assert_allclose(found.history[:taken], slow[:taken], rtol=1e-5)
        taken_back += int(np.sum(np.diff(slow) == 0))
    assert taken_back > 0


@pytest.mark.parametrize("experiment", MEANS)
def test_mean_iterations_of_ten_links_are_the_published_ones(experiment: tuple[Any, ...]) -> None:
    *where, tolerance = experiment
    arm, target = links(10), spread(*where)
    step: dict[str, Any] = {"max_error": 1, "max_step": STEP, "iterations": 3000}
    for options, mean in zip(
        ({"damping": 1, **step}, {"damping": 0.1, **step}, {"iterations": 1000}), MEANS[experiment], strict=True
    ):
        found = ik.dls(arm, curled(11), [ik.Reach(10, target)], tolerance=tolerance / 10, textbook=True, **options)
        assert np.all(found.status == 0)
        assert_allclose(found.iterations.mean(), mean, rtol=0.05)


def test_all_of_many_targets_are_reached(dtype: Any) -> None:
    target = np.concatenate([spread(3, 0.95, 0.999, 300), spread(4, 0, 0.95, 700)]).astype(dtype)
    pose = ik.Pose(curled(11).rotations.astype(dtype))
    found = ik.dls(links(10), pose, [ik.Reach(10, target)])
    assert np.all(found.status == 0)
    assert found.iterations[300:].mean() < 9
    tip = links(10).forward(found.pose).positions[:, 10]
    assert np.linalg.norm(tip - target, axis=-1).max() <= 1.01e-4


# --- hinges -----------------------------------------------------------------------------------------------------------


def planar(count: int, degrees: int) -> tuple[ik.Skeleton, Array]:
    """Links along x, hinges about z, and 200 targets that they reach within their limits."""
    limit, draw, targets = np.radians(degrees), uniform(10 * count + degrees), np.zeros((200, 3))
    for target in targets:
        angles = np.cumsum([-limit + 2 * limit * next(draw) for _ in range(count)])
        target[:2] = np.cos(angles).sum(), np.sin(angles).sum()
    hinge = ik.Limit.hinge([0, 0, 1], -limit, limit)
    tree = [-1, *range(count)]
    return ik.Skeleton(tree, [[0, 0, 0], *[[1, 0, 0]] * count], limits=[hinge] * count + [None]), targets


@pytest.mark.parametrize(
    ("count", "first", "solved", "mean"),
    [(4, [3.783323, -0.161443], 194, 4.8), (8, [5.016725, -4.423267], 198, 7.1)],
)
def test_hinges_within_limits_hold_and_solve_again(count: int, first: list[float], solved: int, mean: float) -> None:
    arm, target = planar(count, 45)
    assert_allclose(target[0, :2], first, atol=1e-6)
    pose = ik.Pose(np.tile(about([0, 0, 1], 0.02), (count + 1, 1)))
    published: dict[str, Any] = {"damping": 0.1, "max_error": 1, "max_step": STEP, "tolerance": 1e-3 / count}
    found = ik.dls(arm, pose, [ik.Reach(count, target)], textbook=True, **published)
    done = found.status == 0
    assert done.sum() >= solved
    assert_allclose(found.iterations[done].mean(), mean, rtol=0.05)
    assert np.all(ik.dls(arm, pose, [ik.Reach(count, target)], textbook=True, restarts=4, **published).status == 0)
    assert np.all(ik.dls(arm, pose, [ik.Reach(count, target)], **published).status == 0)
    found = ik.dls(arm, pose, [ik.Reach(count, target)], tolerance=1e-3 / count)
    assert np.all(found.status == 0)
    assert found.iterations.mean() < 7


# --- several goals ----------------------------------------------------------------------------------------------------


def test_a_goal_between_base_and_tip_and_one_at_the_tip() -> None:
    arm, draw = links(6), uniform(33)
    turns = np.empty((100, 7, 4))
    for turn in turns.reshape(-1, 4):
        turn[:] = about(vector(draw), 0.6 * np.pi * next(draw))
    wanted = arm.forward(ik.Pose(turns)).positions
    goals = [ik.Reach(3, wanted[:, 3]), ik.Reach(6, wanted[:, 6])]
    found = ik.dls(arm, curled(7), goals, tolerance=1e-4 / 6)
    assert np.all(found.status == 0)
    assert found.iterations.mean() < 11.2


@pytest.mark.parametrize("weights", [(1, 1), (1, 0.01), (0.3, 2)])
def test_goals_that_contradict_each_other_share_the_gap_by_weight(weights: tuple[float, float]) -> None:
    """The gap is 2, and least squares is best at these two errors."""
    goals = [ik.Reach(3, [2, 1, 0], weight=weights[0]), ik.Reach(6, [-2, 4, 0], weight=weights[1])]
    found = ik.dls(links(6), curled(7), goals)
    at = links(6).forward(found.pose).positions
    errors = np.linalg.norm(at[[3, 6]] - [[2, 1, 0], [-2, 4, 0]], axis=-1)
    assert_allclose(errors, 2 * np.array(weights)[::-1] / sum(weights), atol=1e-4)
    assert found.status == ik.Status.CONFLICT


def test_position_and_rotation_together_and_rotation_alone() -> None:
    arm, rng = links(5), np.random.default_rng(2)
    turn = ref.unit(rng.normal(size=(200, 6, 4)))
    wanted = arm.forward(ik.Pose(turn))
    found = ik.dls(arm, curled(6), [ik.Reach(5, wanted.positions[:, 5], wanted.rotations[:, 5])])
    assert np.all(found.status == 0)
    assert found.rotation_error.max() <= 1e-4
    only = ik.dls(arm, curled(6), [ik.Reach(5, rotation=wanted.rotations[:, 5])])
    assert np.all(only.status == 0)


# --- limits -----------------------------------------------------------------------------------------------------------

LIMITS: dict[str, Callable[[], ik.Limit]] = {
    "hinge": lambda: ik.Limit.hinge([1, 2, 3], -0.5, 0.7),
    "cone": lambda: ik.Limit.cone([1, 0, 0], 0.5, twist=(-0.4, 0.4)),
    "euler": lambda: ik.Limit.euler("xyz", [-0.4, -0.5, -0.2], [0.5, 0.3, 0.6]),
}


def limited(kind: str) -> ik.Skeleton:
    limit = LIMITS[kind]()
    rest = ref.unit(np.random.default_rng(4).normal([3, 0, 0, 0], size=(6, 4)))
    return ik.Skeleton([-1, 0, 1, 2, 3, 4], [[0, 0, 0], *[[1, 0, 0]] * 5], rest, limits=[limit] * 5 + [None])


def violation(skeleton: ik.Skeleton, kind: str, pose: ik.Pose) -> Any:
    from_rest = rotations.multiply(rotations.conjugate(skeleton.rest.rotations), pose.rotations)
    return LIMITS[kind]().violation(from_rest[..., :5, :]).max()


@pytest.mark.parametrize("kind", LIMITS)
def test_targets_within_limits_are_reached_within_limits(kind: str, dtype: Any) -> None:
    arm, limit = limited(kind), LIMITS[kind]()
    turns = np.stack([limit.sample(300, seed) for seed in range(5)] + [np.tile([1.0, 0, 0, 0], (300, 1))], 1)
    start, turned = (rotations.multiply(arm.rest.rotations, turn) for turn in (turns[::-1], turns))
    target = arm.forward(ik.Pose(turned)).positions[:, 5]
    found = ik.dls(arm, ik.Pose(start.astype(dtype)), [ik.Reach(5, target)])
    assert np.all(found.status == 0)
    assert violation(arm, kind, found.pose) <= (1e-12 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("kind", LIMITS)
def test_what_limits_keep_away_says_so_and_is_legal(kind: str, dtype: Any) -> None:
    arm = limited(kind)
    target = 3 * ref.unit(np.random.default_rng(9).normal(size=(100, 3)))
    start = ref.unit(np.random.default_rng(8).normal(size=(100, 6, 4))).astype(dtype)
    found = ik.dls(arm, ik.Pose(start), [ik.Reach(5, target)], iterations=100)
    assert violation(arm, kind, found.pose) <= (1e-12 if dtype is np.float64 else 1e-5)
    assert np.all(np.isfinite(found.pose.rotations))
    missed = found.status & ~ik.Status.INPUT_OUTSIDE != 0
    assert missed.sum() > 20
    assert np.all(found.status[missed] & ik.Status.AT_LIMIT)


def test_locked_joints_keep_still() -> None:
    limits = [None, ik.Limit.locked(), None, None, None, None]
    arm = ik.Skeleton.chain([[i, 0, 0] for i in range(6)])
    arm = ik.Skeleton(arm.parents, arm.offsets, limits=limits)
    found = ik.dls(arm, arm.rest, [ik.Reach(5, [2, 2, 1])])
    assert found.status == 0
    assert np.all(found.pose.rotations[1] == [1, 0, 0, 0])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0, 37.0])
def test_a_rotation_counts_as_the_distance_that_it_is_at_the_mean_bone(scale: float) -> None:
    """The position needs a right angle, the rotation none: (1 - sin x)^2 + cos^2 x + x^2 is least where cos x = x."""
    joint = ik.Skeleton([-1], [[0, 0, 0]])
    goal = ik.Reach(0, [0, scale, 0], [1, 0, 0, 0], offset=[scale, 0, 0])
    found = ik.dls(joint, joint.rest, [goal])
    angle = 2 * np.arctan2(found.pose.rotations[0, 3], found.pose.rotations[0, 0])
    assert angle == pytest.approx(0.7390851332151607, abs=1e-4)


# --- stiffness and posture --------------------------------------------------------------------------------------------


def stiff(*stiffness: Any) -> ik.Skeleton:
    limits = [ik.Limit.free(stiffness=s) for s in stiffness] + [None]
    return ik.Skeleton([-1, *range(len(stiffness))], [[0, 0, 0], *[[1, 0, 0]] * len(stiffness)], limits=limits)


def test_stiff_joints_turn_less_and_the_stiffest_not_at_all() -> None:
    target, turned = ik.Reach(3, [2, 1, 0.5]), []
    for arm in (stiff(0, 0, 0), stiff(0.9, 0, 0), stiff(1, 0, 0)):
        found = ik.dls(arm, arm.rest, [target])
        assert found.status == 0
        turned.append(2 * np.arccos(min(1, found.pose.rotations[0, 0])))
    assert turned[0] > 1.5 * turned[1] > 0
    assert turned[2] == 0


def test_what_is_equally_stiff_everywhere_does_not_matter() -> None:
    """W = w I cancels in w J^T (w J J^T + w damping)^-1, and Nielsen's first damping is of the size of J W J^T."""
    target = ik.Reach(3, [2, 1, 0.5])
    free, half = (ik.dls(arm, arm.rest, [target]) for arm in (stiff(0, 0, 0), stiff(0.5, 0.5, 0.5)))
    assert_allclose(half.pose.rotations, free.pose.rotations, atol=1e-9)


def test_an_axis_of_full_stiffness_is_not_turned_about() -> None:
    """The bone's own axis at first joint: a swing without twist is left."""
    arm = stiff([1, 0, 0], 0, 0)
    found = ik.dls(arm, arm.rest, [ik.Reach(3, [1, 1.5, 0.5], about([1, 1, 0], 1.0))], max_step=0.05)
    free = ik.dls(stiff(0, 0, 0), arm.rest, [ik.Reach(3, [1, 1.5, 0.5], about([1, 1, 0], 1.0))], max_step=0.05)
    assert found.status == free.status == 0
    assert np.linalg.norm(found.pose.rotations - free.pose.rotations) > 1e-2


def test_posture_brings_joints_nearer_to_rest_and_the_tip_no_less_near() -> None:
    arm, rng = links(8), np.random.default_rng(3)
    start = ref.unit(rng.normal([2, 0, 0, 0], size=(100, 9, 4)))
    target = spread(5, 0.1, 0.6, 100) * 0.8
    left = []
    for posture in (0.0, 0.03, 1.0):
        found = ik.dls(arm, ik.Pose(start), [ik.Reach(8, target)], posture=posture)
        assert np.all(found.status == 0)
        angle = 2 * np.arccos(np.clip(np.abs(found.pose.rotations[:, :8, 0]), 0, 1))
        left.append((angle**2).sum(-1).mean())
    assert left[0] > left[1] > left[2]
    assert left[0] > 1.1 * left[2]


@pytest.mark.parametrize(("kind", "near"), [(None, 1e-9), ("hinge", 1e-9), ("cone", 0.4), ("euler", 0.6)])
def test_posture_draws_joints_to_what_they_prefer(kind: str | None, near: float) -> None:
    """Among all poses that reach the target it is the preferred one, or one nearer to it if limits interfere."""
    plain = links(5) if kind is None else limited(kind)
    turns = about([0, 0, 1], 0.3) if kind is None else allowed(kind)
    preferred = rotations.multiply(plain.rest.rotations, turns)
    arm = ik.Skeleton(plain.parents, plain.offsets, plain.rest.rotations, None, plain.limits, preferred=preferred)
    goal = ik.Reach(5, arm.forward(arm.preferred).positions[5])
    drawn, free = (ik.dls(body, plain.rest, [goal], posture=1, tolerance=0).pose for body in (arm, plain))
    assert apart(drawn, preferred) < near
    assert apart(free, preferred) > 0.8


def allowed(kind: str) -> Array:
    return np.concatenate([LIMITS[kind]().sample(5, seed=7), [[1, 0, 0, 0]]])


def apart(pose: ik.Pose, local: Array) -> Any:
    """The angles between the local rotations of the joints that turn, all of them together."""
    return np.linalg.norm(
        rotations.to_axis_angle(rotations.multiply(rotations.conjugate(local), pose.rotations))[1][:5]
    )


def test_posture_does_not_turn_what_is_stiff() -> None:
    arm = stiff(1, 0, 0, 0)
    start = ik.Pose(np.tile(about([0, 0, 1], 0.4), (5, 1)))
    found = ik.dls(arm, start, [ik.Reach(4, [1, 2, 0.5])], posture=1)
    assert found.status == 0
    assert_allclose(found.pose.rotations[0], start.rotations[0], atol=1e-15)


# --- degenerate -------------------------------------------------------------------------------------------------------

TARGETS = {
    "root": (0, 0, 0),
    "tip": (0, 4, 0),
    "sideways at reach": (4, 0, 0),
    "beyond": (9, 1, 0),
    "opposite": (0, -4, 0),
    "inline": (0, 2, 0),
    "inline behind": (0, -2, 0),
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_straight_chain(name: str, dtype: Any) -> None:
    rest = ik.Pose(links(4).rest.rotations.astype(dtype))
    found = ik.dls(links(4), rest, [ik.Reach(4, TARGETS[name])])
    assert found.status == (ik.Status.TOO_FAR if name == "beyond" else 0)
    assert np.all(np.isfinite(found.pose.rotations))


def test_textbook_does_not_shake_a_chain_that_is_stuck() -> None:
    found = ik.dls(links(4), links(4).rest, [ik.Reach(4, [0, 2, 0])], textbook=True)
    assert found.status == ik.Status.ITERATION_LIMIT
    assert found.error == 2


@pytest.mark.parametrize("bones", [(3, 1, 0.5), (1, 3, 0.5), (0.5, 1, 3), (2, 0, 0)])
def test_a_target_too_near_is_approached_as_far_as_the_chain_folds(bones: tuple[float, ...], dtype: Any) -> None:
    arm = ik.Skeleton([-1, 0, 1, 2], np.outer([0, *bones], [1, 0, 0]))
    found = ik.dls(arm, ik.Pose(arm.rest.rotations.astype(dtype)), [ik.Reach(3, [0.1, 0.2, 0])])
    assert found.status == ik.Status.TOO_NEAR
    inner = 2 * max(bones) - sum(bones)
    assert_allclose(found.error, inner - np.hypot(0.1, 0.2), rtol=1e-4)


def test_beyond_reach_the_chain_points_straight_at_the_target(dtype: Any) -> None:
    target = spread(6, 1.01, 3, 100).astype(dtype)
    found = ik.dls(links(10), ik.Pose(curled(11).rotations.astype(dtype)), [ik.Reach(10, target)])
    assert np.all(found.status == ik.Status.TOO_FAR)
    assert_allclose(found.error, np.linalg.norm(target, axis=-1) - 10, rtol=2e-5)


@pytest.mark.filterwarnings("ignore::ikcore.UnusableWarning")
def test_what_is_not_finite_stays_in_its_item(dtype: Any) -> None:
    arm = limited("cone")
    target = np.tile(np.array([3, 1, 0.5], dtype), (40, 1))
    target[7, 1], target[20, 0], target[33, 2] = np.nan, np.inf, np.finfo(dtype).max
    pose = ik.Pose(np.broadcast_to(arm.rest.rotations.astype(dtype), (40, 6, 4)))
    clean = ik.dls(arm, ik.Pose(pose.rotations[0]), [ik.Reach(5, target[0])])
    found = ik.dls(arm, pose, [ik.Reach(5, target)])
    bad = np.isin(np.arange(40), [7, 20, 33])
    assert np.all(found.status[bad] == ik.Status.NOT_FINITE)
    assert np.all(found.pose.rotations[bad] == pose.rotations[bad])
    assert found.pose.rotations[~bad].tobytes() == np.tile(clean.pose.rotations, (37, 1, 1)).tobytes()


def test_a_goal_without_weight_does_not_count_even_if_it_is_not_finite() -> None:
    hand = ik.Reach(4, [1, 2, 0.5])
    alone = ik.dls(links(4), curled(5), [hand])
    ignored = [ik.Reach(2, [np.nan, 0, 0], [np.nan, 0, 0, 0], weight=0, rotation_weight=0), hand]
    assert ik.dls(links(4), curled(5), ignored).status == alone.status == 0


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_length_does_not_matter(factor: float) -> None:
    arm = links(10)
    big = ik.Skeleton(arm.parents, arm.offsets * factor)
    target = spread(7, 0, 0.95, 50)
    one, other = (ik.dls(s, curled(11), [ik.Reach(10, t)]) for s, t in ((arm, target), (big, target * factor)))
    assert_allclose(other.pose.rotations, one.pose.rotations, atol=1e-7)
    assert np.all(other.status == one.status)


@pytest.mark.slow
def test_items_do_not_depend_on_their_neighbours() -> None:
    arm, target = limited("euler"), 4 * ref.unit(np.random.default_rng(1).normal(size=(70, 3)))
    pose = ik.Pose(np.broadcast_to(arm.rest.rotations, (70, 6, 4)))
    whole = ik.dls(arm, pose, [ik.Reach(5, target)], iterations=60)
    order = np.random.default_rng(2).permutation(70)
    mixed = ik.dls(arm, pose, [ik.Reach(5, target[order])], iterations=60)
    assert mixed.pose.rotations.tobytes() == whole.pose.rotations[order].tobytes()
    alone = ik.dls(arm, ik.Pose(pose.rotations[0]), [ik.Reach(5, target[13])], iterations=60)
    assert alone.pose.rotations.tobytes() == whole.pose.rotations[13].tobytes()


# --- same bits --------------------------------------------------------------------------------------------------------


def mixture(dtype: Any) -> Iterator[ik.Solution]:
    """Free and limited, places and rotations, one goal and several, reached and not, by all options."""
    rng = np.random.default_rng(12)
    target = 4 * rng.normal(size=(67, 3)).astype(dtype)
    turned = rng.normal(size=(67, 4)).astype(dtype)
    pose = ik.Pose(rng.normal([3, 0, 0, 0], size=(67, 6, 4)).astype(dtype))
    both = [ik.Reach(5, target, turned, weight=0.5), ik.Reach(2, target[::-1], rotation_weight=2)]
    for goals in ([ik.Reach(5, target)], [ik.Reach(5, target, turned, offset=[0, 0.5, 0])], both):
        for skeleton in (links(5), *map(limited, LIMITS), stiff(0, [0.5, 0, 1], 0.9, 0, 0)):
            yield ik.dls(skeleton, pose, goals, iterations=40)
        yield ik.dls(limited("hinge"), pose, goals, iterations=40, damping=0.3, max_error=1, posture=0.2)
        yield ik.dls(links(5), pose, goals, iterations=40, posture=0.2, textbook=True)


@pytest.mark.slow
@pytest.mark.records
def test_the_same_bits_everywhere(dtype: Any) -> None:
    """Every platform, compiler and instruction set comes to the sha256 on record."""
    digest = hashlib.sha256()
    for found in mixture(dtype):
        for part in (found.pose.rotations, found.status, found.error, found.rotation_error, found.iterations):
            digest.update(np.ascontiguousarray(part).tobytes())
    number = "f32" if dtype is np.float32 else "f64"
    records.compare(f"test_dls {number}", {f"dls {number}": digest.hexdigest()})
