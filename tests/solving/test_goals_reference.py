"""The truth about goals is tested itself: by closed forms, and its priorities by SciPy's constrained minimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from goals_reference import (
    Body,
    CentreOfMass,
    Distance,
    Goal,
    Inside,
    Levels,
    Look,
    Outside,
    Place,
    Pose,
    Posture,
    Problem,
    RelativePlace,
    RelativeTurn,
    Turn,
    World,
    at_rest,
    body,
    exp,
    forward,
    jacobian,
    log,
    matrix_of,
    moved,
    over_polygon,
    projector,
    signed,
    solve,
)
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]

# A spine with two arms, and a second root beside it.
PARENTS = [-1, 0, 1, 2, 1, 4, -1]


def tree() -> Body:
    rng = np.random.default_rng(1)
    masses, centres = rng.uniform(0.5, 3, 7), rng.normal(scale=0.3, size=(7, 3))
    return body(PARENTS, rng.normal(size=(7, 3)), low=-np.inf, high=np.inf, masses=masses, centres=centres)


def shaken(of: Body, seed: int = 2, most: float = 0.5) -> World:
    change = np.random.default_rng(seed).normal(scale=most, size=6 * len(of.parents))
    return forward(of, moved(forward(of, at_rest(of)), change))


TREE = tree()
WORLD = shaken(TREE)
OFFSET = np.array([0.3, -0.2, 0.5])


def above(of: Body, joint: int) -> list[int]:
    """It and all that it hangs from."""
    way = [joint]
    while of.parents[way[-1]] >= 0:
        way.append(of.parents[way[-1]])
    return way


def cross(vector: Array) -> Array:
    """The matrix that takes a vector to its cross product with this one."""
    return np.cross(vector, np.eye(3)).T


# --- kinematics -------------------------------------------------------------------------------------------------------


def test_forward_kinematics_is_that_of_skeletons() -> None:
    q = np.random.default_rng(3).normal(size=(7, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    where = np.random.default_rng(4).normal(size=(7, 3))
    world = ik.Skeleton(PARENTS, TREE.offsets).forward(ik.Pose(q, where))
    found = forward(TREE, Pose(matrix_of(q), where))
    assert_allclose(found.positions, world.positions, rtol=0, atol=1e-14)
    assert_allclose(found.rotations, matrix_of(world.rotations), rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-6, np.pi - 1e-9])
def test_a_rotation_vector_comes_back(angle: float) -> None:
    for axis in np.random.default_rng(5).normal(size=(20, 3)):
        vector = angle * axis / np.linalg.norm(axis)
        assert_allclose(log(exp(vector)), vector, rtol=0, atol=1e-9 if angle > 3 else 1e-14)


def test_all_joints_move_at_once_each_about_where_it_was() -> None:
    """A joint's turn is by all those above it, of which each is about axes of the world before."""
    change = np.random.default_rng(6).normal(size=(7, 6)) * [0.5, 0.5, 0.5, 0, 0, 0]
    after = forward(TREE, moved(WORLD, change))
    turned = exp(change[0, :3]) @ exp(change[1, :3]) @ exp(change[2, :3])
    assert_allclose(after.rotations[2], turned @ WORLD.rotations[2], rtol=0, atol=1e-14)


def test_what_slides_goes_along_the_axes_of_its_parent_and_no_further_than_its_travel() -> None:
    of = body([-1, 0], [[0, 0, 0], [1, 0, 0]], low=[[0, 0, 0], [-0.1, 0, 0]], high=[[0, 0, 0], [0.2, 0, 0]])
    turned = moved(forward(of, at_rest(of)), np.array([0, 0, np.pi / 2, 0, 0, 0, *[0] * 6]))
    for way, stays in ((0.15, 0.15), (0.3, 0.2), (-0.3, -0.1)):
        slid = forward(of, moved(forward(of, turned), np.array([*[0] * 9, way, 1, 1])))
        assert_allclose(slid.positions[1], [0, 1 + stays, 0], rtol=0, atol=1e-15)


# --- residuals --------------------------------------------------------------------------------------------------------


def test_what_goals_of_every_kind_lack() -> None:
    """Two joints, the second a unit above the first and turned a quarter about z."""
    of = body([-1, 0], [[0, 0, 0], [0, 1, 0]], masses=[1, 3], centres=[[0, 0.5, 0], [1, 0, 0]])
    quarter = exp([0, 0, np.pi / 2])
    world = forward(of, Pose(np.array([np.eye(3), quarter]), of.offsets))
    lacks: list[tuple[Goal, Any]] = [
        (Place(1, [1, 1, 1]), [1, 0, 1]),
        (Place(1, [0, 2, 1], offset=[1, 0, 0]), [0, 0, 1]),
        (Turn(1, np.eye(3)), [0, 0, -np.pi / 2]),
        (Look(1, [1, 0, 0], [5, 1, 0]), [0, 0, -np.pi / 2]),
        (Look(1, [1, 0, 0], [0, 9, 0]), [0, 0, 0]),
        (Look(1, [2, 0, 0], [1, 2, 0], offset=[1, 0, 0]), [0, 0, -np.pi / 2]),
        (Distance(1, 0.25, other=0), [0.75]),
        (Distance(1, 1.0, [3, 2, 0], offset=[1, 0, 0]), [2]),
        (RelativePlace(0, 1, [0, 0, 0]), [1, 0, 0]),
        (RelativeTurn(0, 1, np.eye(3)), [0, 0, np.pi / 2]),
        (CentreOfMass([0, 0, 0]), [0, -(0.5 + 3 * 2) / 4, 0]),
        (Inside([0, 1, 0], [7, 0.5, 7], joint=1), [0]),
        (Inside([0, 1, 0], [7, 0.5, 7], margin=0.75, joint=1), [0.25]),
        (Inside([0, -1, 0], [0, 1, 0]), [0.625]),
        (Outside(1, [2, 0.25, 0], [2, 0.25, 0], 2.5), [0.5]),
        (Outside(1, [2, 0.25, 0], [-1, 0.25, 0], 0.125), [0.125]),
        (Outside(1, [0, 3, -1], [0, 3, 1], 1), [0]),
        (Outside(1, [0, 4, -1], [0, 4, 1], 2.5, offset=[1, 0, 0]), [0.5]),
        (Posture([0, 1]), [0, 0, 0, 0, 0, -np.pi / 2]),
        (Posture([1], quarter), [0, 0, 0]),
    ]
    for goal, lack in lacks:
        assert_allclose(goal.residual(world), lack, rtol=0, atol=1e-15, err_msg=str(goal))


def test_what_is_seen_from_another_joint_stays_when_both_are_carried() -> None:
    """Joints 3 and 5 hang from 1."""
    change = np.zeros((7, 6))
    change[0], change[1, :3] = [0.4, -1, 0.3, 1, 2, 3], [1, 0.2, -0.5]
    carried = forward(TREE, moved(WORLD, change))
    seen: list[Goal] = [
        RelativePlace(3, 5, [1, 2, 3], OFFSET),
        RelativeTurn(3, 5, exp([1, 0, 2])),
        Distance(3, 1, OFFSET, other=5),
    ]
    for goal in seen:
        assert_allclose(goal.residual(carried), goal.residual(WORLD), rtol=0, atol=1e-13)


def test_over_a_polygon_is_inside_of_all_its_edges() -> None:
    square = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0]]  # anticlockwise, seen from +y
    for at, lack in (([0.5, 9, 0.5], 0), ([0.05, 9, 0.5], 0.05), ([0.5, 9, 1.2], 0.3)):
        of = body([-1], [at])
        goals = over_polygon(square, margin=0.1)
        assert sum(goal.residual(forward(of, at_rest(of)))[0] for goal in goals) == pytest.approx(lack, abs=1e-15)


# --- Jacobians --------------------------------------------------------------------------------------------------------


def ways(world: World, joint: int, point: Array) -> Array:
    """How a point fixed to a joint moves with all: (3, 6 n), a cross r, and the axes of what each hangs from."""
    columns = np.zeros((3, len(world.of.parents), 6))
    for k in above(world.of, joint):
        columns[:, k, :3] = -cross(point - world.positions[k])
        columns[:, k, 3:] = world.above(k)
    return columns.reshape(3, -1)


def turns(world: World, joint: int) -> Array:
    """How a joint turns with all: as much as each above it."""
    columns = np.zeros((3, len(world.of.parents), 6))
    columns[:, above(world.of, joint), :3] = np.eye(3)[:, None, :]
    return columns.reshape(3, -1)


def test_the_jacobian_of_a_place_is_a_cross_r() -> None:
    for joint in range(7):
        expected = ways(WORLD, joint, WORLD.point(joint, OFFSET))
        assert_allclose(jacobian(TREE, WORLD.pose, Place(joint, [1, 2, 3], OFFSET)), expected, rtol=0, atol=1e-9)


def test_the_jacobian_of_a_turn_is_the_inverse_of_that_of_the_exponential() -> None:
    """log(T exp(-d) R^-1), with v = log(T R^-1), is v - (1 + [v]/2 + c [v]^2) d to the first order."""
    for joint, missing in ((3, [0.3, -0.8, 1.1]), (5, [1e-3, 0, 0]), (6, [0, 2.5, 0])):
        v = np.array(missing)
        angle = float(np.linalg.norm(v))
        c = 1 / angle**2 - (1 + np.cos(angle)) / (2 * angle * np.sin(angle))
        inverse = np.eye(3) + cross(v) / 2 + c * cross(v) @ cross(v)
        found = jacobian(TREE, WORLD.pose, Turn(joint, exp(v) @ WORLD.rotations[joint]))
        assert_allclose(found, inverse @ turns(WORLD, joint), rtol=0, atol=1e-8)


def test_the_jacobian_of_the_centre_of_mass_is_the_weighted_mean_of_all_places() -> None:
    places = [ways(WORLD, joint, WORLD.point(joint, TREE.centres[joint])) for joint in range(7)]
    expected = np.einsum("j,jrc->rc", TREE.masses / TREE.masses.sum(), np.array(places))
    assert_allclose(jacobian(TREE, WORLD.pose, CentreOfMass([0, 0, 0])), expected, rtol=0, atol=1e-9)


def test_the_jacobian_of_a_distance_is_along_the_line() -> None:
    near, far = WORLD.point(3, OFFSET), WORLD.point(5, [1, 0, 0])
    expected = (far - near) / np.linalg.norm(far - near) @ (ways(WORLD, 3, near) - ways(WORLD, 5, far))
    found = jacobian(TREE, WORLD.pose, Distance(3, 0.5, [1, 0, 0], other=5, offset=OFFSET))
    assert_allclose(found, expected[None], rtol=0, atol=1e-9)


def test_the_jacobian_of_a_look_is_what_turns_the_ray_less_what_moves_its_origin() -> None:
    """The Jacobian for small errors: the perpendicular part of the ray's rotation, minus that of its origin's motion
    divided by the distance."""
    origin, ray = WORLD.point(3, OFFSET), WORLD.rotations[3] @ [0, 0.6, 0.8]
    across = np.eye(3) - np.outer(ray, ray)
    found = jacobian(TREE, WORLD.pose, Look(3, [0, 0.6, 0.8], origin + 4 * ray, OFFSET))
    assert_allclose(found, across @ turns(WORLD, 3) + cross(ray) @ ways(WORLD, 3, origin) / 4, rtol=0, atol=1e-8)


def test_the_jacobian_of_what_is_seen_from_another_joint() -> None:
    point, frame = WORLD.point(3, OFFSET), WORLD.rotations[5]
    apart = cross(point - WORLD.positions[5]) @ turns(WORLD, 5)
    expected = frame.T @ (ways(WORLD, 3, point) - ways(WORLD, 5, WORLD.positions[5]) + apart)
    assert_allclose(jacobian(TREE, WORLD.pose, RelativePlace(3, 5, [0, 0, 0], OFFSET)), expected, rtol=0, atol=1e-9)
    met = RelativeTurn(3, 5, frame.T @ WORLD.rotations[3])
    expected = frame.T @ (turns(WORLD, 3) - turns(WORLD, 5))
    assert_allclose(jacobian(TREE, WORLD.pose, met), expected, rtol=0, atol=1e-8)


def test_the_jacobian_of_a_half_space_is_the_part_along_its_normal_met_or_not() -> None:
    normal, point = np.array([0.6, 0, 0.8]), WORLD.point(5, OFFSET)
    for height in (-9, 9):
        found = jacobian(TREE, WORLD.pose, Inside(normal, height * normal, joint=5, offset=OFFSET))
        assert_allclose(found, normal[None] @ ways(WORLD, 5, point), rtol=0, atol=1e-9)


def test_the_jacobian_of_posture_at_rest_is_each_joints_own_turn() -> None:
    found = jacobian(TREE, WORLD.pose, Posture([1, 4], WORLD.pose.rotations[[1, 4]])).reshape(2, 3, 7, 6)
    expected = np.zeros((2, 3, 7, 6))
    expected[[0, 1], :, [1, 4], :3] = np.eye(3)
    assert_allclose(found, expected, rtol=0, atol=1e-9)


# --- priorities -------------------------------------------------------------------------------------------------------


def links(count: int, **of: Any) -> Body:
    """Unit links along x."""
    return body([-1, *range(count)], [[0, 0, 0], *[[1, 0, 0]] * count], **of)


def bent(of: Body, seed: int = 0) -> Pose:
    return shaken(of, seed, 0.4).pose


def off(problem: Problem, pose: Pose, level: Sequence[Goal]) -> float:
    return float(np.sqrt(problem.square(pose, level)))


def test_what_a_level_has_seen_no_lower_one_gets() -> None:
    """And rounding is no direction: the same level again changes nothing."""
    rng = np.random.default_rng(7)
    j, k = rng.normal(size=(3, 12)), rng.normal(size=(4, 12))
    left = projector([j, k], 12)
    assert_allclose(np.concatenate([j, k]) @ left, 0, atol=1e-13)
    assert np.trace(left) == pytest.approx(5)
    assert_allclose(projector([j, k, j + 0, np.concatenate([j, k])], 12), left, atol=1e-13)


def test_the_first_level_is_exact_and_the_second_as_near_as_that_leaves_it() -> None:
    """An elbow in its place, and a hand that points from there at what is too far."""
    problem = Problem(links(3))
    elbow, hand = [Place(2, [1.2, 1.2, 0.3])], [Place(3, [0, 3, 1])]
    pose = solve(problem, bent(problem.of), [elbow, hand])
    assert off(problem, pose, elbow) < 1e-8
    assert off(problem, pose, hand) == pytest.approx(np.linalg.norm([1.2, -1.8, -0.7]) - 1, abs=1e-7)


@pytest.mark.thorough
def test_the_other_way_round_the_hand_is_as_near_as_it_gets() -> None:
    problem = Problem(links(3))
    elbow, hand = [Place(2, [1.2, 1.2, 0.3])], [Place(3, [0, 3, 1])]
    pose = solve(problem, bent(problem.of), [hand, elbow])
    assert off(problem, pose, hand) == pytest.approx(10**0.5 - 3, abs=1e-7)
    straight = 2 * np.array([0, 3, 1]) / 10**0.5
    assert off(problem, pose, elbow) == pytest.approx(np.linalg.norm(straight - [1.2, 1.2, 0.3]), abs=1e-3)


def test_goals_of_one_level_share_the_gap_by_weight() -> None:
    problem = Problem(links(3))
    level = [Place(3, [1, 1, 0], weight=3.0), Place(3, [1, 2, 1])]
    pose = solve(problem, bent(problem.of), [level])
    assert_allclose(forward(problem.of, pose).positions[3], [1, 1.25, 0.25], rtol=0, atol=1e-7)


@pytest.mark.thorough
def test_levels_that_can_all_be_met_are() -> None:
    problem = Problem(links(5))
    wanted = forward(problem.of, bent(problem.of, 8))
    levels: list[list[Goal]] = [
        [Place(5, wanted.positions[5]), Turn(5, wanted.rotations[5])],
        [Place(3, wanted.positions[3])],
    ]
    pose = solve(problem, bent(problem.of), levels)
    assert max(off(problem, pose, level) for level in levels) < 1e-7


def least_by_scipy(problem: Problem, start: Pose, levels: Levels, bounds: Any = None) -> float:
    """The least residual of the last level from a pose, with all levels before it satisfied: sequential least squares
    of SciPy."""
    optimize = pytest.importorskip("scipy.optimize")
    *above, last = levels
    world, may = forward(problem.of, start), np.flatnonzero(problem.may())

    def at(x: Array) -> World:
        change = np.zeros(6 * len(problem.of.parents))
        change[may] = x
        return forward(problem.of, moved(world, change))

    def all_of(kind: bool) -> list[Goal]:
        return [goal for level in above for goal in level if isinstance(goal, Inside) == kind]

    conditions: list[dict[str, Any]] = []
    if all_of(False):
        conditions.append({"type": "eq", "fun": lambda x: np.concatenate([g.residual(at(x)) for g in all_of(False)])})
    if all_of(True):
        conditions.append({"type": "ineq", "fun": lambda x: -np.concatenate([signed(g, at(x)) for g in all_of(True)])})
    options = {"maxiter": 400, "ftol": 1e-14}
    found = optimize.minimize(
        lambda x: problem.square(at(x).pose, last), np.zeros(may.size), method="SLSQP", bounds=bounds,
        constraints=conditions, options=options,
    )  # fmt: skip
    return float(np.sqrt(found.fun))


CASES: dict[str, tuple[Body, Levels]] = {
    "place, then place": (links(3), [[Place(2, [1.2, 1.2, 0.3])], [Place(3, [0, 3, 1])]]),
    "turn, then place": (links(3), [[Turn(2, exp([0, 0, 2.0]))], [Place(3, [2, 1.5, 1])]]),
    "distance, then place": (links(3), [[Distance(3, 1.2, other=0)], [Place(3, [2, 1.5, 1]), Place(1, [0, 0, 1])]]),
    "look, then posture": (links(3), [[Look(3, [0, 1, 0], [-3, 1, 2])], [Posture([0, 1, 2, 3])]]),
    "place, look, then posture": (
        links(3),
        [[Place(3, [1.5, 1, 0])], [Look(3, [1, 0, 0], [0, 0, 5])], [Posture([0, 1, 2, 3])]],
    ),
    "balance, then place": (
        links(3, centres=[0.5, 0, 0]),
        [over_polygon([[-0.5, 0, -0.5], [-0.5, 0, 0.5], [0.6, 0, 0.5], [0.6, 0, -0.5]]), [Place(3, [3, 0.5, 0.2])]],
    ),
    "clearance, then place": (
        links(3),
        [
            [Inside([0, 1, 0], [0, 0.3, 0], 0.1, joint=2), Inside([0, 1, 0], [0, -0.2, 0], joint=3)],
            [Place(3, [2, -1, 1])],
        ],
    ),
    "seen from another, then centre of mass": (
        body([-1, 0, 1, 0, 3], [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]], centres=[0.5, 0, 0]),
        [[RelativePlace(4, 2, [0.1, 0.5, 0])], [CentreOfMass([0, 2, 0])]],
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_no_lower_level_can_be_nearer_by_scipy(case: str) -> None:
    of, levels = CASES[case]
    problem = Problem(of)
    pose = solve(problem, bent(of), levels)
    for level in levels[:-1]:
        assert off(problem, pose, level) < 1e-7
    found = off(problem, pose, levels[-1])
    assert found > 0.01
    assert least_by_scipy(problem, pose, levels) == pytest.approx(found, rel=1e-5)
    assert least_by_scipy(problem, bent(of), levels) >= found * (1 - 1e-5)


@pytest.mark.thorough
def test_what_slides_within_its_travel_is_as_near_as_by_scipy() -> None:
    """A base that slides along x and z, below an arm that must not turn at its last joint."""
    low, high = np.zeros((4, 3)), np.zeros((4, 3))
    low[0], high[0] = [-0.3, 0, -0.5], [0.4, 0, 0.5]
    of = links(3, turns=[True, True, False, False], low=low, high=high)
    problem, start = Problem(of), at_rest(of)
    levels: Levels = [[Place(2, [1.5, 1.2, 0])], [Place(3, [2.6, 1.5, 3])]]
    start = moved(forward(of, start), np.array([0, 0.2, 0.5, *[0] * 5, -1, *[0] * 15]))
    pose = solve(problem, start, levels)
    slid = pose.translations[0]
    assert np.all((slid >= low[0]) & (slid <= high[0]))
    assert np.any((slid == low[0]) & (low[0] < 0) | (slid == high[0]) & (high[0] > 0))
    assert off(problem, pose, levels[0]) < 1e-7
    ends = [(-3, 3)] * 3 + [(a - s, b - s) for a, b, s in zip(low[0], high[0], slid, strict=True) if a < b]
    found = off(problem, pose, levels[1])
    bounds = [*ends, *[(-3, 3)] * 3]
    assert least_by_scipy(problem, pose, levels, bounds) == pytest.approx(found, rel=1e-5)
