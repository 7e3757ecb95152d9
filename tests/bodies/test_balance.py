"""Balance against polygons of SciPy and closed forms; effort against differences of potential energy; momentum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore.bodies.balance import margin_of

Array = Any
PERSON = ik.bodies.human()
SOLES = ik.bodies.soles(PERSON)
NO_MASS = ik.Skeleton([-1], [[0, 0, 0]])
UP = np.array([0.0, 1.0, 0.0])


def any_pose(*shape: int, seed: int = 1, amount: float = 0.3) -> ik.Pose:
    rng = np.random.default_rng(seed)
    turned = ik.rotations.exp(amount * rng.normal(size=(*shape, len(PERSON), 3)))
    moved = np.broadcast_to(PERSON.offsets, (*shape, len(PERSON), 3)).copy()
    moved[..., 0, :] += rng.normal(size=(*shape, 3))
    return ik.Pose(turned, moved)


# --- the polygon -----------------------------------------------------------------------------------------------------


def slow_margin(at: Array, points: Array) -> float:
    """By the hull of SciPy: the least distance from its lines inside, from its edges outside."""
    spatial = pytest.importorskip("scipy.spatial")
    hull = spatial.ConvexHull(points)
    corners = points[hull.vertices]
    inside = -(hull.equations[:, :2] @ at + hull.equations[:, 2])
    if (inside > 0).all():
        return float(inside.min())
    ways = np.roll(corners, -1, axis=0) - corners
    shares = np.clip(((at - corners) * ways).sum(1) / (ways**2).sum(1), 0, 1)
    return -float(np.linalg.norm(corners + shares[:, None] * ways - at, axis=1).min())


@pytest.mark.parametrize("count", [3, 4, 7, 12])
def test_margins_are_those_of_the_hull(count: int) -> None:
    rng = np.random.default_rng(count)
    points, at = rng.normal(size=(200, count, 3)), rng.normal(size=(200, 3))
    expected = [slow_margin(a[[0, 2]], p[:, [0, 2]]) for a, p in zip(at, points, strict=True)]
    assert min(expected) < -0.1
    assert max(expected) > (0.05 if count == 3 else 0.2)
    assert_allclose(margin_of(at, points, UP), expected, atol=1e-12)


def test_the_polygon_is_the_hull_in_order_and_keeps_balance() -> None:
    spatial = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(8)
    for _ in range(50):
        points = rng.normal(size=(9, 3))
        corners = ik.bodies.support_polygon(np.concatenate([points, points[:2], [[np.nan, 0, 0]]]))
        hull = points[spatial.ConvexHull(points[:, [0, 2]]).vertices]
        first = np.argmin(np.abs(corners - hull[0]).sum(1))
        assert_allclose(np.roll(corners, -first, axis=0), hull[[0, *range(len(hull) - 1, 0, -1)]])
        assert len(ik.Inside.polygon(corners, UP)) == len(corners)
    line = ik.bodies.support_polygon([[0, 0, 0], [2, 0, 2], [1, 0, 1]])
    assert_allclose(line, [[0, 0, 0], [2, 0, 2]])


def test_margins_turn_with_up_and_do_not_see_heights() -> None:
    rng = np.random.default_rng(9)
    points, at, q = rng.normal(size=(50, 6, 3)), rng.normal(size=(50, 3)), ref.unit(rng.normal(size=4))
    heights = 10 * UP * rng.normal(size=(50, 6, 1))
    turned = (ik.rotations.rotate(q, part) for part in (at, points + heights, 3 * UP))
    assert_allclose(margin_of(*turned), margin_of(at, points, UP), atol=1e-12)


def test_a_square_with_points_on_its_sides_twice_and_inside() -> None:
    square = np.array([[0, 0, 0], [2, 0, 0], [2, 0, 2], [0, 0, 2], [1, 0, 0], [2, 0, 2], [0.5, 0, 1]], float)
    places: Array = [[1, 5, 1], [1, 0, 0.25], [1, 0, 0], [1, 0, -0.5], [3, 0, 3], [-3, 0, 1]]
    assert_allclose(margin_of(places, square, UP), np.array([1, 0.25, 0, -0.5, -(2**0.5), -3]), atol=1e-12)


def test_lines_points_and_nothing() -> None:
    line = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]], float)
    places = np.array([[1, 0, 0.5], [1.5, 0, 0], [3, 0, 0]])
    assert_allclose(margin_of(places, line, UP), [-0.5, 0, -1], atol=1e-12)
    assert_allclose(margin_of([3.0, 0, 4], line[:1], UP), -5)
    nan = np.full((4, 3), np.nan)
    assert np.isnan(margin_of([1.0, 0, 0], nan, UP))
    lifted = np.concatenate([line, [[1.0, 0, 1]], nan])  # points in the air do not count
    assert_allclose(margin_of([1.0, 0, 0.25], lifted, UP), 0.25)
    assert np.isnan(margin_of([np.nan, 0, 0], line, UP))


def test_a_two_link_arm_balances_by_hand() -> None:
    """Masses 1 and 3 in the middle of links of 1 and 2, the second bent upright: (0.5 + 3 * 1) / 4 = 0.875."""
    centres = np.array([[0.5, 0, 0], [1, 0, 0]])
    arm = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], masses=[1, 3], centres=centres)
    upright = ik.Pose(ik.rotations.from_axis_angle([0, 0, 1], [0, np.pi / 2]))
    found = ik.bodies.balance(arm, upright, 5 * np.array([[0, 0, -1], [0.2, 0, -1], [0.2, 0, 1], [0, 0, 1]]))
    assert_allclose(found.centre, [0.875, 0.75, 0])
    assert_allclose(found.margin, 0.125)
    assert found.balanced


def test_batches_are_single_poses() -> None:
    pose = any_pose(3, 4)
    found = ik.bodies.balance(PERSON, pose, SOLES)
    assert found.margin.shape == (3, 4)
    for item in np.ndindex(3, 4):
        assert float(ik.bodies.balance(PERSON, pose[item], SOLES).margin) == found.margin[item]
    single = ik.Pose(pose.rotations.astype(np.float32), np.float32(pose.translations))
    assert_allclose(ik.bodies.balance(PERSON, single, SOLES).margin, found.margin, atol=1e-5)


def test_soles_are_under_the_feet() -> None:
    points = ik.bodies.balance(PERSON, PERSON.rest, SOLES).points
    assert_allclose(points[:, 1], 0, atol=1e-12)
    assert_allclose(np.ptp(points[:6, 2]), 0.152 * 1.75)
    assert_allclose(np.ptp(points[:6, 0]), 0.055 * 1.75)


# --- effort ----------------------------------------------------------------------------------------------------------


def potential(skeleton: ik.Skeleton, pose: ik.Pose, joint: int, turn: Array, held: int) -> float:
    """Potential energy in J after a turn of a joint about an axis of the world, with another joint held in place."""
    before, turned = skeleton.forward(pose), pose.rotations.copy()
    local = ik.rotations.rotate(ik.rotations.conjugate(before.rotations[joint]), turn)
    turned[joint] = ik.rotations.multiply(turned[joint], ik.rotations.exp(local))
    after = skeleton.forward(ik.Pose(turned, pose.translations))
    back = ik.rotations.multiply(before.rotations[held], ik.rotations.conjugate(after.rotations[held]))
    places = after.positions + ik.rotations.rotate(after.rotations, skeleton.centres)
    places = before.positions[held] + ik.rotations.rotate(back, places - after.positions[held])
    return float(9.81 * (skeleton.masses * places[:, 1]).sum())


def over_one_foot(seed: int) -> tuple[ik.Pose, dict[str, Array]]:
    """A pose and a large sole on the left ankle, so that all of the weight is on that foot."""
    pose = any_pose(seed=seed)
    world, ankle = PERSON.forward(pose), PERSON.index("left ankle")
    square = 3 * np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]], float)
    return pose, {"left ankle": ik.rotations.rotate(ik.rotations.conjugate(world.rotations[ankle]), square)}


@pytest.mark.parametrize("seed", range(3))
def test_torques_are_differences_of_potential_energy(seed: int) -> None:
    """Virtual work: what a joint does in a small turn, the foot on the ground held, is what the masses gain."""
    pose, sole = over_one_foot(seed)
    found = ik.bodies.effort(PERSON, pose, {}, sole)
    foot, step = PERSON.index("left ankle"), 1e-5
    for name in ("left knee", "left hip", "right hip", "spine 2", "left elbow", "head", "left ankle"):
        joint = PERSON.index(name)
        changes = [
            potential(PERSON, pose, joint, step * axis, foot) - potential(PERSON, pose, joint, -step * axis, foot)
            for axis in np.eye(3)
        ]
        assert_allclose(found.torques[joint], np.array(changes) / (2 * step), atol=1e-4)
    assert_allclose(found.torques[0], 0, atol=1e-4)  # nothing holds the root from outside
    assert_allclose(found.forces.sum(), 75 * 9.81, rtol=1e-8)


def test_without_support_the_root_carries_all() -> None:
    pose = any_pose(seed=4)
    found = ik.bodies.effort(PERSON, pose, {})
    world = PERSON.forward(pose)
    matrix = ik.masses.momentum(PERSON, pose)  # the rows of momentum times gravity are the torques
    assert_allclose(found.torques, 9.81 * matrix[1, : 3 * len(PERSON)].reshape(-1, 3), atol=1e-9)
    assert world.positions.shape == (len(PERSON), 3)


def test_forces_push_balance_and_are_the_least() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    pose = any_pose(60, seed=6, amount=0.1)
    found = ik.bodies.effort(PERSON, pose, {}, SOLES)
    stands = ik.bodies.balance(PERSON, pose, SOLES)
    weight, on = 75 * 9.81, stands.margin > 0
    assert 10 < on.sum() < 55
    assert np.isnan(found.forces[~on]).all()
    assert np.isnan(found.torques[~on, PERSON.index("left knee")]).all()
    for forces, centre, points in zip(found.forces[on], stands.centre[on], stands.points[on], strict=True):
        assert (forces >= 0).all()
        assert_allclose(forces @ points[:, [0, 2]] / weight, centre[[0, 2]], atol=1e-7)
        rows_of = np.vstack([1e4 * np.vstack([np.ones(len(points)), points[:, [0, 2]].T]), np.eye(len(points))])
        least, _ = optimize.nnls(rows_of, np.concatenate([1e4 * np.array([1, *centre[[0, 2]]]), np.zeros(len(points))]))
        assert_allclose(forces / weight, least, atol=1e-5)


def test_efforts_of_batches_are_those_of_single_poses_to_the_bit() -> None:
    pose, strengths = any_pose(40, seed=6, amount=0.1), ik.bodies.strengths(PERSON)
    found = ik.bodies.effort(PERSON, pose, strengths, SOLES)
    assert 5 < np.isnan(found.total).sum() + np.isnan(found.forces[:, 0]).sum() < 40
    for k in range(40):
        one = ik.bodies.effort(PERSON, pose[k], strengths, SOLES)
        assert np.array_equal(one.torques, found.torques[k], equal_nan=True)
        assert np.array_equal(one.forces, found.forces[k], equal_nan=True)
    line = ik.bodies.effort(PERSON, PERSON.rest, strengths, {"left ankle": [[0, 0, 0]]})
    assert np.isnan(line.forces).all()


def test_a_load_is_a_mass_at_the_joint() -> None:
    pose, hand = any_pose(seed=7), PERSON.index("left wrist")
    plain, loaded = (ik.bodies.effort(PERSON, pose, {"left elbow": 70}, loads=load) for load in ({}, {hand: 10}))
    arm = PERSON.forward(pose).positions
    for joint in (PERSON.index("left elbow"), 0):
        lever = np.cross(arm[hand] - arm[joint], [0, 98.1, 0])
        assert_allclose(loaded.torques[joint] - plain.torques[joint], lever, atol=1e-9)
    assert loaded.shares[PERSON.index("left elbow")] != plain.shares[PERSON.index("left elbow")]
    assert_allclose(plain.total, plain.shares[PERSON.index("left elbow")] ** 2 / 2)


# --- momentum --------------------------------------------------------------------------------------------------------


def falling(frames: int = 41, fps: float = 120.0) -> ik.Clip:
    """A person whose joints turn in the air, its root neither on a parabola nor turning as it has to."""
    rng, t = np.random.default_rng(3), np.linspace(0, 1, frames)[:, None, None]
    bends = 0.5 * rng.normal(size=(2, len(PERSON), 3))
    bends[:, 0] = 0
    turned = ik.rotations.exp(bends[0] * np.sin(2 * t) + bends[1] * t**2)
    moved = np.broadcast_to(PERSON.offsets, (frames, len(PERSON), 3)).copy()
    moved[:, 0] += np.linspace(0, 1, frames)[:, None] * [0.3, 0.1, 0.8]
    return ik.Clip(PERSON, ik.Pose(turned, moved), fps=fps)


def air_of(clip: ik.Clip) -> Array:
    air = np.ones(len(clip), bool)
    air[[0, -1]] = False
    return air


def test_a_spinning_top_keeps_its_momentum_as_euler_says() -> None:
    """A free rigid body by Runge and Kutta in small steps: the check finds nothing, and sees gravity that is wrong."""
    inertia, rng = np.diag([1.0, 2, 3]), np.random.default_rng(5)
    fps, fine = 240, 20
    q, momentum, turns = np.array([1.0, 0, 0, 0]), rng.normal(size=3), []

    def rate(q: Array) -> Array:
        w = np.linalg.solve(inertia, ik.rotations.rotate(ik.rotations.conjugate(q), momentum))
        return 0.5 * ik.rotations.multiply(q, np.array([0, *w]))

    for step in range(61 * fine):
        if step % fine == 0:
            turns.append(q)
        h = 1 / fps / fine
        a = rate(q)
        b = rate(ref.unit(q + h / 2 * a))
        q = ref.unit(q + h * b)
    t = np.arange(61)[:, None] / fps
    path = np.array([0, 3, 1]) * t - [0, 9.81 / 2, 0] * t**2
    top = ik.Skeleton([-1], [[0, 0, 0]], masses=[2], inertias=[inertia])
    clip = ik.Clip(top, ik.Pose(np.array(turns)[:, None], path[:, None]), fps=fps)
    (flight,) = ik.bodies.flights(clip, air_of(clip))
    assert (flight.start, flight.end) == (0, 60)
    assert flight.path_error < 1e-9
    assert flight.spin_error < 1e-4
    assert_allclose(ik.bodies.motion_of(clip).spin, np.tile(momentum, (60, 1)), atol=1e-4)
    (moon,) = ik.bodies.flights(replace(clip, unit=6.0), air_of(clip))  # a sixth of the acceleration, in its lengths
    assert_allclose(moon.path_error, 5 / 6 * 9.81 / 8 * (60 / fps) ** 2, rtol=1e-9)


def test_the_corrector_keeps_momentum_and_both_ends() -> None:
    clip = falling()
    air = air_of(clip)
    (before,) = ik.bodies.flights(clip, air)
    kept = ik.bodies.keep_momentum(clip, air)
    (after,) = ik.bodies.flights(kept, air)
    assert before.path_error > 0.05
    assert before.spin_error > 0.5
    assert after.path_error < 1e-9
    assert after.spin_error < before.spin_error / 500
    old, new = clip.skeleton.forward(clip.pose), kept.skeleton.forward(kept.pose)
    assert_allclose(new.positions[[0, -1]], old.positions[[0, -1]], atol=1e-9)
    assert_allclose(kept.pose.rotations[:, 1:], clip.pose.rotations[:, 1:], atol=0)  # joints but the root are as before
    fine = falling(81, 240.0)
    (finer,) = ik.bodies.flights(ik.bodies.keep_momentum(fine, air_of(fine)), air_of(fine))
    assert finer.spin_error < after.spin_error / 3  # of second order


def test_frames_on_the_ground_and_flights_without_end_stay() -> None:
    clip = falling()
    air = np.zeros(len(clip), bool)
    air[5:12] = air[30:] = True  # the second run does not land
    kept = ik.bodies.keep_momentum(clip, air)
    same = [k for k in range(len(clip)) if not 5 <= k < 12]
    assert np.array_equal(kept.pose.rotations[same], clip.pose.rotations[same])
    assert [(flight.start, flight.end) for flight in ik.bodies.flights(clip, air)] == [(4, 12)]


def test_momentum_is_that_of_the_matrix() -> None:
    """The spin between two frames against the momentum matrix times joint velocities."""
    clip = falling(81, 480.0)
    k, motion = 40, ik.bodies.motion_of(falling(81, 480.0))
    world = clip.skeleton.forward(clip.pose)
    places, turned = world.positions, world.rotations
    rates = ik.rotations.log(ik.rotations.multiply(turned[k + 1], ik.rotations.conjugate(turned[k - 1]))) * 240
    joint_rates = rates - np.where(np.arange(len(PERSON))[:, None] > 0, rates[PERSON.parents], 0)
    slide = np.zeros((len(PERSON), 3))
    slide[0] = (places[k + 1, 0] - places[k - 1, 0]) * 240
    matrix = ik.masses.momentum(PERSON, clip.pose[k])
    momentum = matrix @ np.concatenate([joint_rates.ravel(), slide.ravel()])
    assert_allclose(motion.spin[k - 1 : k + 1].mean(0), momentum[3:], atol=2e-3 * np.abs(momentum[3:]).max())
    assert_allclose(75 * motion.velocity[k], momentum[:3], atol=2e-3 * np.abs(momentum[:3]).max())


# --- balance in motion -----------------------------------------------------------------------------------------------


def sliding(path: Array, fps: float = 100.0) -> ik.Clip:
    """A cart: one mass 1 m above the ground."""
    body = ik.Skeleton([-1], [[0, 0, 0]], masses=[2])
    return ik.Clip(body, ik.Pose(np.tile([1.0, 0, 0, 0], (len(path), 1, 1)), path[:, None]), fps=fps)


SQUARE = np.array([[-0.5, 0, -0.5], [-0.5, 0, 0.5], [0.5, 0, 0.5], [0.5, 0, -0.5]])


def test_the_cart_on_a_table() -> None:
    """ZMP = x - h a / g and capture point = x + v sqrt(h / g), in closed form for a constant acceleration."""
    t = np.arange(51)[:, None] / 100
    found = ik.bodies.balance_in_motion(sliding(np.array([0, 1, 0]) + [0.5, 0, 0] * t**2), SQUARE)
    assert_allclose(found.zero_moment[:, 0], 0.5 * t[:, 0] ** 2 - 1 / 9.81, atol=1e-9)
    assert_allclose(found.capture[:, 0], 0.5 * t[:, 0] ** 2 + t[:, 0] * np.sqrt(1 / 9.81), atol=1e-9)
    assert_allclose(found.zero_moment_margin, 0.5 - np.abs(found.zero_moment[:, 0]), atol=1e-12)
    assert (found.zero_moment[:, 1] == 0).all()


def test_a_capture_point_is_where_an_inverted_pendulum_comes_to_rest() -> None:
    """x'' = (x - p) g / h with p the capture point of the start: x goes to p."""
    rate, foot = np.sqrt(9.81), 0.3
    t = np.arange(101)[:, None] / 100
    found = ik.bodies.balance_in_motion(sliding(np.array([foot, 1, 0]) - [0.2, 0, 0] * np.exp(-rate * t)), SQUARE)
    assert_allclose(found.capture[:, 0], foot, atol=1e-3)
    assert_allclose(found.zero_moment[1:-1, 0], foot, atol=1e-3)  # the ground pushes at the foot all the time


def test_nothing_pushes_in_free_fall_and_a_spin_that_grows_moves_the_push() -> None:
    t = np.arange(31)[:, None] / 100
    fall = ik.bodies.balance_in_motion(sliding(np.array([0, 5, 0]) - [0, 9.81 / 2, 0] * t**2), SQUARE)
    assert np.isnan(fall.zero_moment).all()
    assert np.isnan(fall.zero_moment_margin).all()
    wheel = ik.Skeleton([-1], [[0, 1, 0]], masses=[2], inertias=[3 * np.eye(3)])
    turns = ik.rotations.from_axis_angle([0, 0, 1], 2.0 * t**2)  # 4 rad/s^2 by 3 kg m^2: 12 N m
    found = ik.bodies.balance_in_motion(ik.Clip(wheel, ik.Pose(turns), fps=100), SQUARE)
    # the ground pushes 2 g up at x: x 2 g = 12
    assert_allclose(found.zero_moment[2:-2, 0], 12 / (2 * 9.81), atol=1e-9)


def test_z_up_in_centimetres_is_the_same() -> None:
    t = np.arange(51)[:, None] / 100
    clip = sliding(np.array([0.1, 1, 0]) + [0.5, 0, 0.2] * t**2)
    other = clip.convert(up="Z", unit=0.01)
    a = ik.bodies.balance_in_motion(clip, SQUARE)
    b = ik.bodies.balance_in_motion(other, 100 * SQUARE[:, [0, 2, 1]] * [1, -1, 1])
    assert_allclose(b.zero_moment_margin, 100 * a.zero_moment_margin, atol=1e-7)
    assert_allclose(b.capture_margin, 100 * a.capture_margin, atol=1e-7)


# --- in words --------------------------------------------------------------------------------------------------------


def test_the_report_says_it_in_words() -> None:
    turned = PERSON.rest.rotations.copy()
    turned[PERSON.index("left elbow")] = ik.rotations.from_axis_angle([0, -1, 0], np.radians(155))
    turned[PERSON.index("right knee")] = ik.rotations.from_axis_angle([1, 0, 0], np.radians(-4))
    turned[PERSON.index("head")] = ik.rotations.from_axis_angle([1, 0, 0], np.radians(32.5))
    strong = ik.bodies.strengths(PERSON)
    found = ik.bodies.report(PERSON, ik.Pose(turned), SOLES, strong, loads={"left wrist": 30})
    said = found.explain()
    assert "left elbow beyond 150 degrees, at 155." in said
    assert "right knee below 0 degrees, at -4." in said
    assert "head 10 degrees outside its range." in said
    assert "% of its strength: too much." in said
    assert_allclose(np.degrees(found.angles[PERSON.index("left elbow")]), 155)
    assert_allclose(np.degrees(found.beyond[PERSON.index("left elbow")]), 5)


def test_the_report_has_centimetres_of_any_unit_and_items_of_batches() -> None:
    body = ik.bodies.human(175)
    moved = np.tile(body.offsets, (2, 1, 1))
    turned = np.tile(body.rest.rotations, (2, 1, 1))
    for side in ("left", "right"):  # legs forwards
        turned[1, body.index(f"{side} hip")] = ik.rotations.from_axis_angle([1, 0, 0], -0.7)
    found = ik.bodies.report(body, ik.Pose(turned, moved), ik.bodies.soles(body), unit=0.01)
    assert found.balance is not None
    margin = f"{found.balance.margin[0]:.2g}"
    assert found.explain(0) == f"In balance, {margin} cm inside.\nAll joints are within their ranges."
    assert found.explain(1).startswith("Off balance, ")
    assert f"{-found.balance.margin[1]:.2g} cm outside" in found.explain(1)
    with pytest.raises(IndexError, match="expected 1 indices"):
        found.explain()
    assert ik.bodies.report(body, body.rest).explain() == "All joints are within their ranges."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ik.bodies.balance(NO_MASS, NO_MASS.rest, [[0, 0, 0]]), "no joint weighs"),
        (lambda: ik.bodies.balance(PERSON, PERSON.rest, {}), "support: expected a joint or more"),
        (lambda: ik.bodies.balance(PERSON, PERSON.rest, SOLES, up=[0, 0, 0]), "up: expected a direction"),
        (lambda: ik.bodies.balance(PERSON, PERSON.rest, [0, 0, 0]), "support: expected points"),
        (lambda: ik.bodies.effort(PERSON, PERSON.rest, {"head": 0}), "above 0, got 0"),
        (lambda: ik.bodies.effort(PERSON, PERSON.rest, {}, gravity=[0, 0, 0]), "gravity: expected an acceleration"),
        (lambda: ik.bodies.effort(PERSON, PERSON.rest, {}, loads={"head": -1}), "0 or more, got -1"),
        (lambda: ik.bodies.flights(falling(), [True]), "airborne: expected 41 bools"),
        (lambda: ik.bodies.motion_of(falling()[:2]), "three frames or more"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ---- a squat in balance


@pytest.mark.parametrize("aside", [-0.2, -0.1])
@pytest.mark.parametrize("ahead", [0.25, 0.3])
def test_a_low_hand_bends_knees_in_balance(aside: float, ahead: float) -> None:
    """Down to 0.1 m over the ground, in steps of 7 mm."""
    person = ik.bodies.with_squat(PERSON)
    rest, heights = person.forward(person.rest).positions, np.arange(0.7, 0.1, -0.007)
    cup = np.stack(np.broadcast_arrays(aside, heights, ahead), axis=-1)
    ankles = [person.index(f"{side} ankle") for side in ("left", "right")]
    goals: list[ik.Goal] = [ik.Reach(ankle, rest[ankle], rotation=[1, 0, 0, 0]) for ankle in ankles]
    corners = ik.bodies.support_polygon(ik.bodies.balance(person, person.rest, SOLES).points)
    goals += [ik.Reach("right wrist", cup), *ik.Inside.polygon(corners, up=[0, 1, 0], distance=0.02)]
    pose = ik.Pose(np.tile(person.rest.rotations, (len(heights), 1, 1)))
    found = ik.solvers.full_body(person, pose, goals, sweeps=300).pose
    world, low = person.forward(found), heights <= 0.3
    assert np.linalg.norm(world.positions[:, person.index("right wrist")] - cup, axis=-1).max() < 1e-3
    assert np.linalg.norm(world.positions[:, ankles] - rest[ankles], axis=-1).max() < 1e-4
    assert ik.bodies.balance(person, found, SOLES).margin.min() > 0.019
    turned = np.abs(np.sum(world.rotations[1:] * world.rotations[:-1], axis=-1))
    assert np.degrees(2 * np.arccos(turned.min())) < 5.0
    for side in ("left", "right"):
        hip, knee, ankle = (world.positions[low, person.index(f"{side} {joint}")] for joint in ("hip", "knee", "ankle"))
        thigh, shank = knee - hip, ankle - knee
        cosine = np.sum(thigh * shank, axis=-1) / np.linalg.norm(thigh, axis=-1) / np.linalg.norm(shank, axis=-1)
        assert np.degrees(np.arccos(cosine)).min() > 40.0
        assert (knee - (hip + ankle) / 2)[:, 2].min() > 0.0  # forward
    assert world.positions[low, 0, 2].max() < 0.0, "the pelvis goes back"


def test_with_squat_refuses_knees_that_are_no_hinges() -> None:
    rig = ik.samples.walk().clip.skeleton
    with pytest.raises(ValueError, match="expected a hinge at 'LeftLeg'"):
        ik.bodies.with_squat(rig)
    with pytest.raises(ValueError, match="stiffness: expected a number from 0 to 1, got 2"):
        ik.bodies.with_squat(PERSON, stiffness=2)
    ranged = ik.bodies.with_squat(ik.bodies.with_ranges(rig))
    knee = ranged.index("LeftLeg")
    bent = ik.rotations.multiply(ik.rotations.conjugate(ranged.rest.rotations[knee]), ranged.preferred.rotations[knee])
    assert_allclose(np.degrees(ik.rotations.to_axis_angle(bent)[1]), 135, atol=1e-6)
