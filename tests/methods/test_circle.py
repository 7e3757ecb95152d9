"""Circular alignment against circles found by bisection, published angles, and the limb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import UP, forward
from numpy.testing import assert_allclose
from test_follow import arm, within

import ikcore as ik

Array = Any
pytestmark = pytest.mark.usefixtures("everywhere")


def tail(lengths: Array) -> ik.Skeleton:
    return ik.Skeleton.chain(np.r_[0, np.cumsum(lengths)][:, None] * [1.0, 0, 0])


def radius_of(lengths: Array, distance: float) -> float:
    """Radius of the circle through a chain's polygon and the line to its target, by bisection on its angles."""
    sides = np.append(lengths, distance)
    longest, others = sides.max(), np.delete(sides, sides.argmax())

    def angles(radius: float) -> float:
        return float(np.arcsin(np.minimum(others / (2 * radius), 1)).sum())

    inside = angles(longest / 2) > np.pi / 2  # the centre is, and all angles acute
    least, most = longest / 2, 1e6 * sides.sum()
    for _ in range(200):
        middle = np.sqrt(least * most)
        own = np.arcsin(min(longest / (2 * middle), 1))
        larger = angles(middle) > np.pi - own if inside else angles(middle) < own
        least, most = (middle, most) if larger else (least, middle)
    return float(np.sqrt(least * most))


def radii(points: Array) -> Array:
    """Radii of the circles through each three consecutive joints."""
    a, b, c = (np.linalg.norm(side, axis=-1) for side in (np.diff(points, axis=0)[:-1], np.diff(points, axis=0)[1:],
                                                            points[2:] - points[:-2]))  # fmt: skip
    area = np.linalg.norm(np.cross(points[1:-1] - points[:-2], points[2:] - points[:-2]), axis=-1) / 2
    return a * b * c / (4 * area)


# Bones of that length, their distance from base to target, and the angle from each to the next, as published.
PUBLISHED = [(5, 1.0, 3.0, 38.668282492534), (10, 1.0, 2.0, 29.808425485864), (10, 1.0, 9.9, 2.825239649560)]


@pytest.mark.parametrize(("bones", "length", "distance", "angle"), [*PUBLISHED, (7, 2.0, 0.0, 360 / 7)])
def test_equal_bones_turn_alike(bones: int, length: float, distance: float, angle: float) -> None:
    skeleton = tail(np.full(bones, length))
    found = ik.solvers.circle(skeleton, skeleton.rest, [ik.Reach(bones, [0, 0, distance])])
    turned = np.degrees(ik.rotations.to_axis_angle(found.pose.rotations[1:bones])[1])
    assert found.status == 0
    assert_allclose(turned, angle, rtol=1e-12)


@pytest.mark.parametrize("bones", [3, 5, 12, 60])
@pytest.mark.parametrize("share", [0.001, 0.2, 0.6, 0.95, 0.99999])
def test_joints_are_on_the_one_circle(bones: int, share: float) -> None:
    rng = np.random.default_rng(bones)
    for spread in (0.2, 2.0):
        lengths = np.exp(rng.uniform(-spread, spread, bones))
        inner = max(0, 2 * lengths.max() - lengths.sum())
        distance = inner + share * (lengths.sum() - inner)
        target = distance * ref.unit(rng.normal(size=3))
        skeleton = tail(lengths)
        found = ik.solvers.circle(skeleton, skeleton.rest, [ik.Reach(bones, target)])
        points = forward(skeleton, found.pose.rotations)[0]
        assert found.status == 0
        assert_allclose(points[-1], target, atol=1e-12 * lengths.sum())
        assert_allclose(radii(points), radius_of(lengths, distance), rtol=1e-6 if share < 0.99 else 1e-4)
        normal = ref.unit(np.cross(points[1], target))
        assert_allclose(points @ normal, 0, atol=1e-12 * lengths.sum())


@pytest.mark.parametrize("bones", [1, 2, 3, 10, 100, 1000])
@pytest.mark.parametrize(("near", "far"), [(0.0, 1.0), (0.0, 1e-3), (0.99, 1.0), (1 - 1e-9, 1.0)])
def test_whatever_is_in_reach_is_reached_but_for_rounding(bones: int, near: float, far: float) -> None:
    rng = np.random.default_rng(bones)
    skeleton = ik.Skeleton(np.arange(bones + 1) - 1, rng.normal(size=(bones + 1, 3)))
    start, target = rng.normal(size=(20, bones + 1, 4)), within(skeleton, 7, 20, near, far)
    found = ik.solvers.circle(skeleton, ik.Pose(start), [ik.Reach(bones, target)])
    reach = np.linalg.norm(skeleton.offsets[1:], axis=-1).sum()
    assert not np.any(found.status)
    assert np.max(found.error) <= 1e-12 * reach
    assert np.max(found.iterations) <= 10
    floats = ik.solvers.circle(
        skeleton, ik.Pose(start.astype(np.float32)), [ik.Reach(bones, target.astype(np.float32))]
    )
    assert np.max(floats.error) <= (10 + bones) * 2.0**-23 * reach  # rounding, joint by joint


def test_two_bones_are_the_limb() -> None:
    skeleton, start = arm(2)
    target, pole = within(skeleton, 8, 40, 0.01, 0.99), np.random.default_rng(9).normal(size=(40, 3))
    goal = [ik.Reach(2, target, pole=pole)]
    found, limb = (ik.solve(skeleton, ik.Pose(start), goal, method) for method in ("circle", "two_bone"))
    there, known = (forward(skeleton, one.pose.rotations)[0] for one in (found, limb))
    assert_allclose(there, known, atol=1e-9)


def test_a_longest_bone_lies_across() -> None:
    """Longer than all others together, the target near: the centre is beyond it."""
    lengths = np.array([1.0, 6.0, 2.0, 1.5])
    skeleton, target = tail(lengths), np.array([0.2, 1.7, 0.3])
    found = ik.solvers.circle(skeleton, skeleton.rest, [ik.Reach(4, target)])
    points = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(points[-1], target, atol=1e-14 * 100)
    assert_allclose(radii(points), radius_of(lengths, float(np.linalg.norm(target))), rtol=1e-9)


def test_out_of_reach_it_is_straight_or_folded() -> None:
    skeleton = tail([1.0, 5, 1.5])
    found = ik.solvers.circle(
        skeleton, skeleton.rest, [ik.Reach(3, np.array([[0, 9, 0], [0, 0.5, 0], [0, 7.5, 0], [0, 2.5, 0]]))]
    )
    assert found.status.tolist() == [ik.Status.TOO_FAR, ik.Status.TOO_NEAR, 0, 0]
    points = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(points[0, :, 1], [0, 1, 6, 7.5], atol=1e-12)
    assert_allclose(points[1, :, 1], [0, -1, 4, 2.5], atol=1e-12)


def test_the_shape_it_comes_in_matters_for_its_side_alone() -> None:
    skeleton, start = arm(6)
    target, pole = within(skeleton, 10, 1, 0.5, 0.6)[0], np.array([3.0, 1, 2])
    found = ik.solvers.circle(skeleton, ik.Pose(start), [ik.Reach(6, target, pole=pole)])
    points = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(points, np.broadcast_to(points[0], points.shape), atol=1e-9)
    line = ref.unit(target - points[0, 0])
    side = ref.unit(pole - points[0, 0] - line * ((pole - points[0, 0]) @ line))
    belly = (points[0] - points[0, 0]).sum(axis=0)
    assert_allclose(ref.unit(belly - line * (belly @ line)), side, atol=1e-9)
    plain = ik.solvers.circle(skeleton, ik.Pose(start), [ik.Reach(6, target)])
    again = ik.solvers.circle(skeleton, plain.pose, [ik.Reach(6, target)])
    assert_allclose(forward(skeleton, again.pose.rotations)[0], forward(skeleton, plain.pose.rotations)[0], atol=1e-9)


def test_along_a_path_it_moves_as_the_target_does() -> None:
    """In a sequence, also through the edge of reach and close by the base; its plane is carried along."""
    skeleton = tail([1.0, 1.3, 0.8, 1.1, 0.9, 1.2])
    t = np.linspace(0, 2 * np.pi, 4001)[:, None]
    path = np.array([2.5, 0.5, 0.4]) + np.array([2.2, 3.0, 2.0]) * np.sin(np.array([1, 2, 3]) * t)
    found = ik.solvers.circle(skeleton, skeleton.rest, [ik.Reach(6, path, pole=[0, 0, 50.0])], sequence=True)
    points = forward(skeleton, found.pose.rotations)[0]
    moved = np.linalg.norm(np.diff(points, axis=0), axis=-1).max(axis=-1)
    assert np.all((found.status == 0) | (np.linalg.norm(path, axis=-1) > 6.3))
    distance = np.linalg.norm(path[1:], axis=-1)
    usual = (distance > 0.5) & (distance < 6.2)
    assert moved[usual].max() < 10 * np.linalg.norm(np.diff(path, axis=0), axis=-1).max()


@pytest.mark.parametrize("line", [[1, 0, 0], [0, 0, 1], [0.48, 0.6, 0.64]], ids=str)
def test_a_straight_chain_bends_to_where_it_lies(line: Sequence[float]) -> None:
    """All targets around its line are treated alike: no joint moves more than twice as far for any of them."""
    skeleton = ik.Skeleton.chain([np.multiply(joint, line) for joint in range(6)])
    turned = np.linspace(0, 2 * np.pi, 1001)
    across = np.linalg.svd(np.atleast_2d(line))[2][1:]
    for along, beside in ((2.5, 0.5), (0, 3), (-3, 1)):
        around = np.outer(np.cos(turned), across[0]) + np.outer(np.sin(turned), across[1])
        found = ik.solvers.circle(skeleton, skeleton.rest, [ik.Reach(5, np.multiply(along, line) + beside * around)])
        positions = skeleton.forward(found.pose).positions
        steps = np.linalg.norm(np.diff(positions, axis=0), axis=-1)
        out = np.linalg.norm(positions - np.outer(positions @ line, line).reshape(positions.shape), axis=-1)
        assert steps.max() <= 1.1 * (2 * np.pi / 1000) * out.max()
        assert found.status.max() == 0


def test_a_ring_stays_where_it_is() -> None:
    """Closed onto its base, where there is no line to the target, it goes on in its plane."""
    skeleton = tail(np.ones(6))
    ring = ik.solvers.circle(skeleton, skeleton.rest, [ik.Reach(6, [0.0, 0, 0], pole=[1.0, 2, 3])])
    again = ik.solvers.circle(skeleton, ring.pose, [ik.Reach(6, [0.0, 0, 0])])
    assert_allclose(forward(skeleton, again.pose.rotations)[0], forward(skeleton, ring.pose.rotations)[0], atol=1e-7)


def test_a_goal_of_no_weight_leaves_it_as_it_is() -> None:
    skeleton, start = arm(5)
    found = ik.solvers.circle(skeleton, ik.Pose(ref.unit(start)), [ik.Reach(5, UP, weight=0)])
    assert_allclose(np.abs(np.sum(found.pose.rotations * ref.unit(start), axis=-1)), 1, atol=1e-12)
    assert not np.any(found.iterations)
