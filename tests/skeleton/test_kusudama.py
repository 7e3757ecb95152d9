"""Kusudamas: cones and the paths between them against a slow truth, and every method on joints that have some."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import kusudama_reference as slow
import numpy as np
import pytest
import reference as ref
from chains import limited, taking
from numpy.testing import assert_allclose, assert_array_equal
from published import cases

import ikcore as ik
from ikcore import Limit
from ikcore import rotations as r

Array = Any
PI = np.pi
X, Y, Z = np.eye(3)
# Tolerance of a direction: twice that of all four numbers of a rotation, LIMIT_TOLERANCE of limit.h.
NEAR = {np.float32: 64 * 2.0**-23, np.float64: 64 * 2.0**-52}


def some_cones(seed: int) -> list[slow.Cone]:
    """One to five: anywhere or near to each other, of all sizes."""
    rng = np.random.default_rng(seed)
    sizes = np.array([0, 1e-4, 0.1, 0.5, 1.2, 2.5])
    axis, made = slow.unit(rng.normal(size=3)), []
    for _ in range(rng.integers(1, 6)):
        made.append((axis, float(rng.choice(sizes) * rng.uniform(0.5, 1))))
        axis = slow.unit(rng.normal(size=3) + axis * rng.choice([0, 1, 100]))
    return made


def directions(count: int, cones: list[slow.Cone], seed: int = 1) -> Array:
    """Anywhere, and near to where circles have their middles and edges, and to what is opposite."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(count, 3))
    special = [centre * sign for centre, _ in slow.edges(cones) for sign in (1, -1)]
    special += [slow.on_circle(*edge, rng.uniform(0, 2 * PI, 3))[i] for edge in slow.edges(cones) for i in range(3)]
    near = rng.integers(0, len(special), len(made[::3]))
    made[::3] = np.array(special)[near] + made[::3] * 10.0 ** -rng.uniform(0, 9, len(near))[:, None]
    return slow.unit(made)


@pytest.mark.parametrize("seed", range(16))
def test_what_is_outside_goes_to_the_nearest_that_is_inside(seed: int, dtype: Any) -> None:
    cones, axis = some_cones(seed), slow.unit(np.random.default_rng(seed).normal(size=3))
    limit, towards = Limit.kusudama(axis, cones), directions(150, cones)
    q = r.shortest_arc(axis, towards).astype(dtype)
    towards = ref.rotate(ref.unit(q.astype(float)), axis)
    found = ref.rotate(limit.project(q).astype(float), axis)
    way, least = slow.angle(found, towards), slow.distance(cones, towards)
    assert slow.contains(cones, found, NEAR[dtype]).all()
    assert (way <= least + NEAR[dtype]).all()
    assert (way >= least - 1e-3).all()  # as far apart as the points are that it was searched among
    assert (limit.violation(q) >= way - 2 * NEAR[dtype]).all()


def test_a_path_is_what_two_circles_leave() -> None:
    """Two equal cones a right angle apart: half-way, the path has the width between two circles of the radius."""
    size = 0.2
    limit = Limit.kusudama(X, [(X, size), (Y, size)])
    middle = np.sqrt(0.5) * (X + Y)
    lean = np.linspace(0, 0.5, 1001)
    across = np.cos(lean)[:, None] * middle + np.sin(lean)[:, None] * Z
    found = r.rotate(limit.project(r.shortest_arc(X, across)), X)
    # circles of pi / 2 - size about z and -z, by symmetry
    assert_allclose(slow.angle(found, middle), np.minimum(lean, size), atol=1e-14)


def test_cones_that_hold_each_other_or_overlap_have_no_path(isa: str) -> None:
    towards = directions(500, [(X, 1.0), (Z, 0.5)])
    q = r.shortest_arc(X, towards)
    tilted = slow.unit([1, 0.2, 0])
    inner = Limit.kusudama(X, [(X, 1.0), (tilted, 0.2)])
    assert_allclose(inner.project(q), Limit.cone(X, 1.0).project(q), atol=1e-14)
    both = Limit.kusudama(X, [(X, 2.0), (-X, 1.3)])  # opposite, but together more than half a turn
    assert_array_equal(both.project(q), q)


def test_one_cone_about_the_axis_is_a_cone(dtype: Any, isa: str) -> None:
    rng = np.random.default_rng(3)
    q = r.normalize(rng.normal(size=(2000, 4)).astype(dtype))
    for angle in (1e-5, 0.3, 2.0, 3.1):
        cone, kusudama = Limit.cone(Z, angle, twist=(-1, 0.5)), Limit.kusudama(Z, [(2 * Z, angle)], twist=(-1, 0.5))
        assert_allclose(kusudama.project(q), cone.project(q), atol=NEAR[dtype])


def test_the_same_cone_again_changes_nothing(isa: str) -> None:
    q = r.normalize(np.random.default_rng(4).normal(size=(500, 4)))
    one, two = [(Z, 0.4), (X, 0.3)], [(Z, 0.4), (Z, 0.4), (X, 0.3), (X, 0.3)]
    assert_array_equal(Limit.kusudama(Y, one).project(q), Limit.kusudama(Y, two).project(q))


def test_the_other_way_round_it_is_the_same() -> None:
    q = r.normalize(np.random.default_rng(4).normal(size=(500, 4)))
    for seed in range(10):
        cones = some_cones(seed)
        assert_allclose(Limit.kusudama(X, cones).project(q), Limit.kusudama(X, cones[::-1]).project(q), atol=1e-12)


def test_from_the_middle_of_a_circle_beside_a_path_the_way_leads_to_the_path() -> None:
    cones = [(X, 0.3), (slow.unit([0.2, 1, 0.1]), 0.7)]
    centres, radius = slow.circles(*cones)
    found = Limit.kusudama(X, cones).project(r.shortest_arc(X, np.array(centres)))
    assert_allclose(slow.angle(r.rotate(found, X), np.array(centres)), radius, atol=1e-14)
    assert slow.contains(cones, r.rotate(found, X), 1e-14).all()


def test_twist_is_bounded_beside_it_and_kept() -> None:
    rng = np.random.default_rng(5)
    cones = [(Z, 0.4), (slow.unit([1, 0, 1]), 0.2)]
    q = r.multiply(
        r.shortest_arc(Z, slow.unit(rng.normal(size=(300, 3)))), r.from_axis_angle(Z, rng.uniform(-3, 3, 300))
    )
    for twist in (None, (-0.5, 1.0)):
        swing, turn = r.swing_twist(Limit.kusudama(Z, cones, twist=twist).project(q), Z)
        before = 2 * np.arctan2(*(r.swing_twist(q, Z)[1][:, [3, 0]].T))
        after = 2 * np.arctan2(*(turn[:, [3, 0]].T))
        expected = before if twist is None else np.clip(before, *twist)
        nearest_round = np.abs(before - 0.25) < PI  # else the other bound is nearer the way round
        assert_allclose(after[nearest_round], expected[nearest_round], atol=1e-12)
        assert_allclose(
            r.rotate(swing, Z),
            r.rotate(Limit.kusudama(Z, cones).project(r.shortest_arc(Z, r.rotate(q, Z))), Z),
            atol=1e-12,
        )


def test_cones_as_in_godot(dtype: Any, isa: str) -> None:
    for case in cases("cone_limit_godot.json"):
        axis, towards = (np.array(case[name]) for name in ("cone_axis", "input"))
        limit = Limit.kusudama(axis, [(axis, case["cone_half_angle"])])
        q = r.shortest_arc(axis, towards.astype(dtype)).astype(dtype)
        assert_allclose(r.rotate(limit.project(q), axis), case["expect"]["derived"], atol=NEAR[dtype])


# --- joints that have some -------------------------------------------------------------------------------------------

SHOULDER = Limit.kusudama(Z, [([0, 1, 1], 0.4), (Z, 0.2), ([1, -0.3, 1], 0.5)], twist=(-0.6, 0.6))
ELBOW = Limit.kusudama(Z, [([0.5, 0, 1], 0.3), ([1, 0.5, 0.5], 0.1)], twist=(-0.2, 0.2))


def arm(*above: Limit) -> ik.Skeleton:
    """Turned at rest, five joints; the last is the tip."""
    rest = ref.unit(np.array([[1, 0.2, 0, 0.1], [1, 0, 0.3, 0], [2, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    limits = [*(above or (SHOULDER, Limit.cone(Z, 0.5), ELBOW, SHOULDER)), None]
    return ik.Skeleton([-1, 0, 1, 2, 3], [[0, 0, 0], *[[0, 0, 1]] * 4], rest, limits=limits)


def poses(skeleton: ik.Skeleton, count: int, seed: int) -> ik.Pose:
    turned = np.tile(skeleton.rest.rotations, (count, 1, 1))
    for joint, limit in enumerate(skeleton.limits):
        if limit:
            turned[:, joint] = r.multiply(turned[:, joint], limit.sample(count, seed + joint))
    return ik.Pose(turned)


@pytest.mark.drawn(14)
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("method", taking("place", "limits"))
@pytest.mark.parametrize("textbook", [False, True])
def test_every_method_keeps_it(method: str, textbook: bool, dtype: Any) -> None:
    skeleton = arm()
    start, there = poses(skeleton, 60, 1), poses(skeleton, 60, 11)
    goal = ik.Reach(4, skeleton.forward(there).positions[:, 4])
    given = ik.Pose(start.rotations.astype(dtype))
    found = ik.solve(skeleton, given, [goal], method, tolerance=1e-4, textbook=textbook)
    assert limited(skeleton, found) <= NEAR[dtype]
    if not textbook:
        assert np.count_nonzero(found.status == 0) >= 54 * ik.methods()[method].reaches
    far = ik.solve(skeleton, given, [ik.Reach(4, [0, 0, -3])], method, textbook=textbook)
    assert limited(skeleton, far) <= NEAR[dtype]
    assert not np.any(far.status == 0)
    assert np.mean((far.status & ik.Status.AT_LIMIT) != 0) > 0.9


@pytest.mark.parametrize("method", taking("place", "limits"))
def test_what_bounds_nothing_changes_nothing(method: str) -> None:
    """As with cones of half a turn, which no limit of the same size in another shape may differ from."""
    round_, whole = Limit.cone(Z, PI), Limit.kusudama(Z, [(X, 1.0), (Y, PI), (Z, 0.3)])
    target = slow.unit(np.random.default_rng(1).normal(size=(30, 3))) * 2
    start = poses(arm(), 30, 1)
    one, other = (ik.solve(arm(*[limit] * 4), start, [ik.Reach(4, target)], method) for limit in (round_, whole))
    assert_array_equal(one.status, 0)
    assert_allclose(other.pose.rotations, one.pose.rotations, atol=1e-12)


def test_closed_forms_keep_it() -> None:
    hip, ankle = Limit.kusudama(-Y, [(-Y, 0.4), ([0, -1, 1], 0.2)]), Limit.kusudama(Z, [(Z, 0.3), (X, 0.1)])
    leg = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [0, -1, 0], [0, -1, 0]], limits=[hip, None, ankle])
    target = np.array([[0.1, -1.7, 0.3], [0, -1, 1.2], [1.5, 0.3, 0]])
    found = ik.solve(leg, leg.rest, [ik.Reach(2, target, [0, 0, 1, 0])], "two_bone")
    assert limited(leg, found) <= 1e-14
    assert_array_equal((found.status & ik.Status.AT_LIMIT) != 0, True)
    eye = ik.Skeleton([-1], [[0, 0, 0]], limits=[ankle])
    towards = slow.unit(np.random.default_rng(2).normal(size=(50, 3)))
    looked = ik.solve(eye, eye.rest, [ik.Look(0, Z, towards * 3)], "aim")
    nearest = ankle.project(r.shortest_arc(Z, towards))
    assert_allclose(r.rotate(looked.pose.rotations[:, 0], Z), r.rotate(nearest, Z), atol=1e-12)


def test_in_a_sequence_it_is_kept_with_speeds() -> None:
    quick = Limit.kusudama(Z, [([0, 1, 1], 0.4), (Z, 0.2), ([1, -0.3, 1], 0.5)], speed=2.0, acceleration=20.0)
    skeleton = arm(quick, quick, quick, quick)
    there = skeleton.forward(poses(skeleton, 8, 3)).positions[:, 4]
    path = np.concatenate([np.linspace(a, b, 10) for a, b in pairwise(there)])
    start = ik.Pose(np.tile(skeleton.rest.rotations, (len(path), 1, 1)))
    for method in taking("place", "limits"):
        found = ik.solve(skeleton, start, [ik.Reach(4, path)], method, sequence=True, fps=30)
        assert limited(skeleton, found) <= 1e-13
        steps = r.log(r.multiply(r.conjugate(found.pose.rotations[:-1, :4]), found.pose.rotations[1:, :4]))
        assert np.linalg.norm(steps, axis=-1).max() <= 2.0 / 30 + 1e-9


def test_a_thousand_joints_with_the_most_cones() -> None:
    around = np.linspace(0, 1.5, 16)
    limit = Limit.kusudama(X, [([np.cos(a), np.sin(a), 0], 0.1) for a in around])
    rope = ik.Skeleton(np.arange(1001) - 1, np.tile(X, (1001, 1)), limits=[*[limit] * 1000, None])
    found = ik.solve(rope, rope.rest, [ik.Reach(1000, [300, 500, 0])], "fabrik", iterations=3)
    assert limited(rope, found) <= 1e-13


def test_nothing_to_do_and_what_is_not_finite() -> None:
    skeleton = arm()
    none = ik.solve(skeleton, ik.Pose(np.zeros((0, 5, 4))), [ik.Reach(4, np.zeros((0, 3)))], "ccd")
    assert none.pose.rotations.shape == (0, 5, 4)
    turned = poses(skeleton, 3, 1).rotations.copy()
    turned[1, 2] = np.nan
    with pytest.warns(ik.UnusableWarning, match="1 of 3 items"):
        found = ik.solve(skeleton, ik.Pose(turned), [ik.Reach(4, [0, 1, 2])], "dls")
    assert_array_equal((found.status & ik.Status.NOT_FINITE) != 0, [False, True, False])
