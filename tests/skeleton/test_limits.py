"""Joint limits: against dense sampling and SciPy, published cases, at the edges of every kind, and the same bits."""

from __future__ import annotations

import hashlib
import pickle
import re
import sys
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import reference
from conftest import instruction_sets
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from published import cases

import ikcore as ik
from ikcore import Limit, _core
from ikcore import rotations as r

Array = NDArray[Any]

PI = np.pi
NONE = [1.0, 0, 0, 0]
X, Y, Z = np.eye(3)
EPS = {np.float32: 2.0**-23, np.float64: 2.0**-52}
# Tolerance of a projection in each number, and of its inside test: LIMIT_TOLERANCE of limit.h.
TOLERANCE = 16
SETS = {
    "locked": Limit.locked(),
    "hinge": Limit.hinge([1, 2, -2], -0.4, 1.3),
    "wide hinge": Limit.hinge([0, 0, 3], -1.0, 4.0),
    "late hinge": Limit.hinge(X, 4.0, 6.0),
    "point hinge": Limit.hinge(Y, 0.5, 0.5),
    "whole hinge": Limit.hinge(Y, -2 * PI, 2 * PI),
    "cone": Limit.cone([1, 1, 0], 0.7, twist=(-0.5, 2.0)),
    "nothing but twist": Limit.cone(Z, 0.0, twist=(-1, 1)),
    "nearly all": Limit.cone(Z, PI - 1e-3, twist=(-3, 3)),
    "all leaning": Limit.cone(Z, PI, twist=(-1, 1)),
    "ball": Limit.ball([0, -1, 0], (2.0, 0.5, 0.3, 0.9), side=Z, twist=(-0.8, 0.8)),
    "flat ball": Limit.ball(X, (1.2, 0.6, 0, 0), side=Y),
    "thin ball": Limit.ball(X, (1.2, 0.6, 1e-5, 1e-9), side=Y),
    "half ball": Limit.ball(X, (PI, 0.0, 1, 1), side=Y),
    "box": Limit.euler("xyz", [-0.5, -0.8, -1.0], [0.9, 0.4, 2.0]),
    "flat box": Limit.euler("ZXY", [0.3, -1.0, -0.2], [0.3, 1.0, -0.2]),
    "far box": Limit.euler("YXZ", [2.0, 1.2, -PI], [4.0, 4.0, PI]),
    "kusudama": Limit.kusudama([0, -1, 0], [(Z, 0.4), ([0, -1, 0], 0.3), (X, 0.5)], twist=(-0.5, 2.0)),
    "far kusudama": Limit.kusudama(X, [(-X, 0.2), ([0.3, 1, 2], 1.0), (Z, 0.9), ([-1, 1, 1], 0.1)], twist=(-1, 1)),
    "thin kusudama": Limit.kusudama(X, [(X, 0.0), ([1, 1, 0], 0.0), ([1, 2, 1], 0.0)]),
    "wide kusudama": Limit.kusudama(X, [(X, 2.0), (-X, 1.5)], twist=(-1, 1)),
    "one cone": Limit.kusudama(Z, [([1, 0, 2], 0.3)], twist=(-0.3, 0.3)),
    "gimbal box": Limit.euler("zyx", [-0.5, -PI / 2, -0.5], [0.5, PI / 2, 0.5]),
}
each_set = pytest.mark.parametrize("limit", SETS.values(), ids=SETS)


@each_set
def test_what_it_shows_makes_it_again(limit: Limit) -> None:
    assert eval(repr(limit)) == limit


def test_it_shows_what_is_its_own_alone() -> None:
    assert repr(Limit.locked()) == "Limit(kind='locked')"
    assert re.findall(r"(\w+)=", repr(Limit.kusudama(X, [(X, 0.5), (Y, 0.25)]))) == ["kind", "frame", "cones"]


def quats(count: int, seed: int = 1) -> Array:
    """Unit quaternions: any, nearly none, nearly half a turn, and exactly half a turn about the axes."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((count, 4))
    size = 10.0 ** -rng.uniform(0, 18, count)
    q[1::5, 1:] *= size[1::5, None]
    q[2::5, 0] *= size[2::5]
    q[3::25] = np.eye(4)[np.arange(len(q[3::25])) % 4]
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def angle_between(a: Array, b: Array) -> Array:
    off = reference.multiply(reference.conjugate(a), b)
    return np.asarray(2 * np.arctan2(np.linalg.norm(off[..., 1:], axis=-1), np.abs(off[..., 0])))


def twisted(axis: Array, angle: Any) -> Array:
    half = np.asarray(angle, np.float64)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)


def leaning(u: Any, v: Any) -> Array:
    """The swing of x whose sine of half the angle, times the direction it leans in, is (u, v) along y and z."""
    u, v = np.broadcast_arrays(np.asarray(u, np.float64), np.asarray(v, np.float64))
    return np.stack([np.sqrt(np.maximum(0, 1 - u**2 - v**2)), 0 * u, -v, u], axis=-1)


# --- what is promised of every limit ---------------------------------------------------------------------------------


@each_set
def test_projecting_twice_changes_no_bit_and_nothing_is_left_outside(limit: Limit, dtype: Any, isa: str) -> None:
    q = r.normalize(quats(20_000).astype(dtype))
    once = limit.project(q)
    assert once.dtype == dtype
    assert_array_equal(limit.project(once), once)
    assert_array_equal(limit.violation(once), 0)
    assert np.abs(np.sum(once.astype(np.float64) ** 2, axis=-1) - 1).max() <= 5 * EPS[dtype]
    assert (np.sum(once * q, axis=-1) >= -EPS[dtype]).all()  # the same sign


@each_set
def test_what_is_allowed_keeps_its_bits(limit: Limit, dtype: Any, isa: str) -> None:
    q = r.normalize(limit.sample(5000).astype(dtype))
    q[::2] *= -1
    assert_array_equal(limit.project(q), q)
    assert_array_equal(limit.violation(q), 0)


@each_set
def test_violation_is_the_angle_to_the_projection(limit: Limit) -> None:
    q = quats(5000)
    assert_allclose(limit.violation(q), angle_between(q, limit.project(q)), atol=1e-15)
    if limit.kind != "hinge" or limit.twist[1] - limit.twist[0] < 2 * PI:
        assert (limit.violation(q) > 0.1).mean() > 0.0005


@pytest.mark.slow
@each_set
def test_no_part_of_the_set_is_nearer(limit: Limit) -> None:
    """For a ball the nearest is defined per part, so its swing and its twist are tested separately (below)."""
    if limit.kind in ("ball", "kusudama"):
        pytest.skip("see test_a_ball_is_nearest_in_twist_and_in_swing, and test_kusudama.py")
    q, allowed = quats(300), limit.sample(60_000)
    nearest = 2 * np.arccos(np.minimum(1, np.abs(q @ allowed.T).max(axis=1)))
    assert (limit.violation(q) <= nearest + 1e-7).all()
    assert (limit.violation(q) >= nearest - 0.2).all()  # as dense as the samples are: nothing illegal is returned


@each_set
def test_a_small_change_in_gives_a_small_change_out(limit: Limit) -> None:
    """The result may jump where two answers are nearly equally near; these are few."""
    q = quats(50_000)[::5]
    step = 1e-7 * np.random.default_rng(2).standard_normal(q.shape)
    near = (q + step) / np.linalg.norm(q + step, axis=-1, keepdims=True)
    a, b = limit.project(q), limit.project(near)
    ratio = angle_between(a, b) / angle_between(q, near)
    assert np.quantile(ratio, 0.999) < 100
    assert np.quantile(ratio, 0.9) < 5


@each_set
def test_q_and_minus_q_are_one_rotation(limit: Limit, dtype: Any) -> None:
    q = r.normalize(quats(5000).astype(dtype))
    a, b = limit.project(q), limit.project(-q)
    assert_allclose(np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1)), 0, atol=4 * EPS[dtype])


@each_set
def test_not_finite_stays_in_its_item(limit: Limit, dtype: Any, isa: str) -> None:
    q = r.normalize(quats(100).astype(dtype))
    expected, angle = limit.project(q), limit.violation(q)
    broken = q.copy()
    broken[::7, 2], broken[3::7, 0] = np.nan, np.inf
    bad = np.isin(np.arange(100) % 7, [0, 3])
    out, violation = limit.project(broken), limit.violation(broken)
    assert_array_equal(out[~bad], expected[~bad])
    assert_array_equal(violation[~bad], angle[~bad])
    canonical: Any = {np.float32: np.uint32(0x7FC00000), np.float64: np.uint64(0x7FF8 << 48)}[dtype]
    assert (out[bad].view(canonical.dtype) == canonical).all()
    assert (violation[bad].view(canonical.dtype) == canonical).all()


@each_set
def test_a_mirrored_body_has_mirrored_limits(limit: Limit) -> None:
    """Any rotation of space: turning frame and rotations turns the answer."""
    if limit.kind in ("euler", "locked"):
        pytest.skip("no frame to turn")
    turn = quats(1, seed=9)[0]
    moved = replace(limit, frame=tuple(r.multiply(turn, limit.frame)))
    q = quats(1000)[::5]
    there = r.multiply(r.multiply(turn, q), r.conjugate(turn))
    back = r.multiply(r.multiply(r.conjugate(turn), moved.project(there)), turn)
    assert_allclose(angle_between(back, limit.project(q)), 0, atol=1e-6)


# --- golden and published --------------------------------------------------------------------------------------------


def test_the_nearest_point_of_an_ellipse_is_the_published_one() -> None:
    limit = Limit.ball(X, (np.deg2rad(50),) * 2 + (np.deg2rad(30),) * 2, side=Y)
    expected = leaning(0.353091189351, 0.142224522365)
    assert_allclose(limit.project(leaning(0.5, 0.3)), expected, atol=2e-12)


def test_a_swing_is_clamped_and_its_twist_stays_as_published() -> None:
    q = r.normalize([0.5, 0.5, 0.1, 0.7])
    swing, twist = r.swing_twist(Limit.cone(Z, 0.5).project(q), Z)
    assert_allclose(2 * np.arctan2(twist[3], twist[0]), np.deg2rad(108.924644416), atol=1e-11)
    assert_allclose(2 * np.arccos(swing[0]), 0.5, atol=1e-14)
    published = [0.860232526704, 0.209245749739, 0.464990554975, 0]
    assert_allclose(swing[1:] / np.sin(0.25), published[1:] / np.sqrt(1 - published[0] ** 2), atol=1e-11)
    assert_allclose(Limit.cone(Z, np.deg2rad(61.3)).violation(q), np.deg2rad(61.314597986 - 61.3), atol=1e-11)


GODOT: list[
    tuple[Any, float, Any, Any]
] = [  # tests/scene/test_joint_limitation_kusudama_3d.cpp of godotengine/godot: axis, half angle, in, out
    (Z, PI / 6, [0, -0.258819045102521, 0.965925826289068], [0, -0.258819045102521, 0.965925826289068]),
    (Z, PI / 6, X, [0.5, 0, 0.866025403784439]),
    (Z, 0.0, Z, Z),
]


@pytest.mark.parametrize(("axis", "angle", "towards", "expected"), GODOT)
def test_cones_as_in_godot(axis: Any, angle: float, towards: Any, expected: Any, dtype: Any, isa: str) -> None:
    q = r.shortest_arc(axis, np.asarray(towards, dtype)).astype(dtype)
    assert_allclose(r.rotate(Limit.cone(axis, angle).project(q), axis), expected, atol=8 * EPS[dtype])


def test_the_godot_cases_are_the_published_ones() -> None:
    for (axis, angle, towards, expected), case in zip(GODOT, cases("cone_limit_godot.json"), strict=True):
        assert_allclose(case["cone_axis"], axis)
        assert_allclose([case["cone_half_angle"], *case["input"]], [angle, *towards], atol=1e-15)
        assert_allclose(case["expect"]["derived"], expected, atol=1e-15)


# --- hinge and twist -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("low", [-6.0, -3.5, -PI, -1.0, 0.0, 2.0])
@pytest.mark.parametrize("width", [0.0, 0.4, PI, 4.0, 6.0, 2 * PI])
def test_a_hinge_goes_to_the_bound_that_is_nearer_round(low: float, width: float) -> None:
    high = min(low + width, 2 * PI)
    angles = np.linspace(-2 * PI, 2 * PI, 721)[1:-1]
    out = Limit.hinge([0, 3, 0], low, high).project(twisted(Y, angles))
    allowed = np.linspace(low, high, 20_001)

    def gap(a: Array, b: Array) -> Array:
        return np.asarray(np.abs((a - b + PI) % (2 * PI) - PI))

    expected = np.array([gap(angle, allowed).min() for angle in angles])
    assert_allclose(gap(2 * np.arctan2(out[:, 2], out[:, 0]), angles), expected, atol=2e-4)
    assert_allclose(out[:, [1, 3]], 0, atol=1e-15)


def test_exactly_between_its_bounds_a_hinge_takes_the_upper() -> None:
    q = twisted(X, [PI, -PI])
    q[:, 0] = 0
    assert_allclose(r.log(Limit.hinge(X, -1, 1).project(q)), [[1, 0, 0]] * 2)


def test_a_hinge_takes_away_what_is_not_about_its_axis() -> None:
    limit, q = Limit.hinge([1, 2, -2], -0.4, 1.3), quats(2000)
    axis = np.array([1, 2, -2]) / 3
    out = limit.project(q)
    assert_allclose(np.cross(out[:, 1:], axis), 0, atol=TOLERANCE * EPS[np.float64])
    angle = 2 * np.arctan2(out[:, 1:] @ axis, out[:, 0])
    assert (((angle + PI) % (2 * PI) - PI >= -0.4 - 1e-14) & ((angle + PI) % (2 * PI) - PI <= 1.3 + 1e-14)).all()


def test_ball_frames_and_hinge_frames_are_the_joints_own() -> None:
    """Known defects of published ball and hinge joints: the twist is lost, and +Z and a unit axis are assumed. The
    hinge axis is taken in another joint's frame, so a bone that obeys it is rotated away."""
    axis = np.array([3.0, 0, 4])  # neither +Z nor of unit length
    unit, side = axis / 5, np.array([0.0, 1, 0])
    swing, twist = twisted(side, 1.4), twisted(unit, 0.9)
    out = Limit.cone(axis, 0.5).project(r.multiply(swing, twist))
    assert_allclose(out, r.multiply(twisted(side, 0.5), twist), atol=1e-15)
    for angle in (-0.2, 0.7):  # a hinge keeps its own turn whatever the rest of the joint is, as it never sees that
        assert_allclose(Limit.hinge(axis, -0.3, 0.8).project(twisted(unit, angle)), twisted(unit, angle))
    assert_allclose(Limit.hinge(axis, -0.3, 0.8).project(twisted(unit, 1.5)), twisted(unit, 0.8), atol=1e-15)


# --- balls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in SETS if SETS[name].kind == "ball"])
def test_a_ball_is_nearest_in_twist_and_in_swing(name: str) -> None:
    limit = SETS[name]
    frame = np.array(limit.frame)
    q, out = (
        reference.multiply(reference.multiply(reference.conjugate(frame), part), frame)
        for part in (quats(500)[::5], limit.project(quats(500)[::5]))
    )
    (swing, twist), (swing_out, twist_out) = (r.swing_twist(part, X) for part in (q, out))
    allowed = np.linspace(limit.twist[0], limit.twist[1], 20_001)
    best = angle_between(twist[:, None], twisted(X, allowed)).min(axis=1)
    assert_allclose(angle_between(twist, twist_out), best, atol=4e-4)

    around = np.linspace(0, 2 * PI, 20_001)
    semi = np.sin(np.array(limit.swing) / 2)
    y = np.where(np.cos(around) > 0, semi[0], semi[1]) * np.cos(around)
    z = np.where(np.sin(around) > 0, semi[2], semi[3]) * np.sin(around)
    for before, after in zip(swing[:60], swing_out[:60], strict=True):
        u, v, u_out, v_out = before[3], -before[2], after[3], -after[2]
        distance = np.hypot(u_out - u, v_out - v)
        nearest = np.hypot(y - u, z - v).min()
        a, b = semi[0 if u >= 0 else 1], semi[2 if v >= 0 else 3]
        inside = abs(u) <= a * np.sqrt(max(0, 1 - (v / b) ** 2)) if abs(v) <= b and b > 0 else a >= abs(u) and v == 0
        if inside:
            assert distance < 1e-9
        else:
            assert abs(distance - nearest) < 1e-4
            assert distance < nearest + 1e-9


@pytest.mark.parametrize("angle", [1e-6, 0.3, PI / 2, 3.0, PI - 1e-6])
def test_a_round_cone_is_exact_along_the_great_circle(angle: float, isa: str) -> None:
    q = quats(3000)[::5]
    limit = Limit.cone(X, angle)
    before, after = r.rotate(q, X), r.rotate(limit.project(q), X)
    leans = np.arctan2(np.hypot(before[:, 1], before[:, 2]), before[:, 0])
    outside = leans > angle + 1e-9
    direction = before[:, 1:] / np.hypot(before[:, 1], before[:, 2])[:, None]
    exact = np.concatenate([np.full((len(q), 1), np.cos(angle)), np.sin(angle) * direction], axis=-1)
    assert_allclose(after[outside], exact[outside], atol=1e-14)
    assert_allclose(limit.violation(q)[outside], (leans - angle)[outside], atol=1e-14)


def test_twist_survives_a_swing_clamp_and_swing_a_twist_clamp() -> None:
    q = quats(5000)[::5]
    twist = r.swing_twist(q, X)[1]
    kept = r.swing_twist(Limit.cone(X, 0.2).project(q), X)[1]
    assert_allclose(angle_between(twist, kept), 0, atol=1e-13)
    bounded = Limit.cone(X, PI, twist=(-0.1, 0.1)).project(q)
    assert_allclose(r.rotate(bounded, X), r.rotate(q, X), atol=1e-14)


def test_after_half_a_turn_of_swing_there_is_no_twist() -> None:
    half_turns = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0.6, 0.8]])
    out = Limit.cone(X, 1.0, twist=(0.5, 1.0)).project(half_turns)
    swing, twist = r.swing_twist(out, X)
    assert_allclose(twist, np.broadcast_to(twisted(X, 0.5), (3, 4)), atol=1e-15)
    assert_allclose(swing, [twisted(axis, 1.0) for axis in half_turns[:, 1:]], atol=1e-15)


@pytest.mark.parametrize("least", [0.0, 1e-12, 1e-6])
def test_flat_ellipses_have_the_right_nearest_point(least: float) -> None:
    u, v = np.random.default_rng(5).uniform(-0.7, 0.7, (2, 2000))
    out = Limit.ball(X, (2.0, 2.0, least, least), side=Y).project(leaning(u, v))
    line = np.clip(u, -np.sin(1), np.sin(1))
    assert_allclose(out[:, 3], line, atol=1e-15 + 2 * least)
    assert np.abs(out[:, 2]).max() <= least / 2 + 1e-15


# --- boxes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["".join(p) for letters in ("xyz", "XYZ") for p in permutations(letters)])
def test_a_box_is_nearest_in_every_order(order: str) -> None:
    scipy = pytest.importorskip("scipy.spatial.transform")
    rng = np.random.default_rng(len(order) + ord(order[0]) + 7 * ord(order[1]))
    for trial in range(4):
        low = rng.uniform(-PI, 1, 3)
        high = low + rng.uniform(0, 1, 3) * [0.4, 2, 4, 5][trial]
        q = quats(60, seed=trial)
        if trial % 2:  # at and near gimbal lock
            angles = rng.uniform(-PI, PI, (60, 3))
            angles[:, 1] = PI / 2 * rng.choice([-1, 1], 60) + rng.choice([0, 1e-9, 1e-4, 1e-2], 60)
            q = scipy.Rotation.from_euler(order, angles).as_quat()[:, [3, 0, 1, 2]]
        limit = Limit.euler(order, low, high)
        grid = np.stack(np.meshgrid(*np.linspace(low, high, 25).T, indexing="ij"), -1).reshape(-1, 3)
        allowed = scipy.Rotation.from_euler(order, grid).as_quat()[:, [3, 0, 1, 2]]
        out, violation = limit.project(q), limit.violation(q)
        spacing = np.linalg.norm(high - low) / 24
        nearest = 2 * np.arccos(np.minimum(1, np.abs(q @ allowed.T).max(axis=1)))
        assert (violation <= nearest + 1e-7).all()
        off = 2 * np.arccos(np.minimum(1, np.abs(out @ allowed.T).max(axis=1)))
        assert off.max() <= 0.5 * spacing + 1e-7  # what is returned lies in the box


@pytest.mark.slow
def test_boxes_against_an_optimiser() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    low, high = np.array([-0.4, -1.0, 0.2]), np.array([0.6, 1.3, 0.9])
    limit = Limit.euler("xyz", low, high)
    for q in quats(40, seed=3)[::5]:

        def away(angles: Array, q: Array = q) -> float:
            return -abs(float(r.from_euler(angles, "xyz") @ q))

        starts = low + (high - low) * np.random.default_rng(0).uniform(size=(6, 3))
        runs = [optimize.minimize(away, start, bounds=list(zip(low, high, strict=True))) for start in starts]
        best = 2 * np.arccos(min(1, -min(run.fun for run in runs)))
        assert_allclose(limit.violation(q), best, atol=2e-6)


def test_a_box_has_both_sets_of_angles() -> None:
    """The same rotation has the angles (a, b, c) and (a + pi, pi - b, c + pi): either may be the one in the box."""
    angles = np.array([0.3, 0.4, -0.2])
    q = r.from_euler(angles, "xyz")
    other = np.array([0.3 - PI, PI - 0.4, -0.2 + PI])
    assert_allclose(angle_between(r.from_euler(other, "xyz"), q), 0, atol=1e-15)
    for centre in (angles, other):
        assert_array_equal(Limit.euler("xyz", centre - 0.1, centre + 0.1).project(q), q)


def test_a_box_bends_no_rotation_at_gimbal_lock() -> None:
    """If only the sum of two angles matters, any split of it within the box is valid."""
    limit = Limit.euler("xyz", [-0.5, -PI / 2, -0.5], [0.5, PI / 2, 0.5])
    sums = np.linspace(-0.99, 0.99, 45)
    angles = np.stack([sums / 2, np.full(45, PI / 2), -sums / 2], axis=-1)
    q = r.from_euler(angles, "xyz")
    for share in (3.0, -2.0, 0.0):  # the same rotations, from angles far outside
        given = r.from_euler(angles + np.outer(np.full(45, share), [1, 0, 1]), "xyz")
        assert_allclose(angle_between(given, q), 0, atol=1e-15)
        assert limit.violation(given).max() == 0


# --- Blender ---------------------------------------------------------------------------------------------------------


def test_the_limits_of_blenders_ik_are_a_ball() -> None:
    """Its solver bounds twist about the bone, y, and in each quadrant an ellipse of sines of half the swing. A rotation
    about +x by at most max_x leans y towards z. A rotation about +z by at most max_z leans it towards -x."""
    low, high = np.array([-0.3, -0.5, -0.9]), np.array([1.1, 0.7, 0.2])
    limit = Limit.ball(Y, (high[0], -low[0], -low[2], high[2]), side=Z, twist=(low[1], high[1]))
    for axis in range(3):
        bounds = twisted(np.eye(3)[axis], np.array([low[axis], high[axis]]))
        beyond = twisted(np.eye(3)[axis], np.array([low[axis] - 0.2, high[axis] + 0.3]))
        assert limit.violation(bounds).max() == 0
        assert_allclose(limit.project(beyond), bounds, atol=1e-15)
        assert_allclose(limit.violation(beyond), [0.2, 0.3], atol=1e-15)
    sines = np.sin(np.array([high[0], high[2]]) / 2) * [0.6, 0.8]  # on the ellipse of +x and +z
    edge = np.array([np.sqrt(1 - sines @ sines), sines[0], 0, sines[1]])
    assert limit.violation(edge) < 1e-14
    assert limit.violation(r.normalize(edge * [1, 1.001, 1, 1.001])) > 1e-4


def test_the_box_of_limit_rotation_is_an_euler_box() -> None:
    """Blender's order XYZ turns about x first, about the parent's axes; a limited angle alone is clamped."""
    limit = Limit.euler("xyz", [-0.1, -0.2, -0.3], [0.4, 0.5, 0.6])
    for axis in range(3):
        for angle in (-1.0, 1.5):
            expected = np.clip(angle, *np.array([limit.lowest, limit.highest])[:, axis])
            assert_allclose(limit.project(twisted(np.eye(3)[axis], angle)), twisted(np.eye(3)[axis], expected))
    inside = r.from_euler([0.35, 0.45, 0.55], "xyz")
    assert_array_equal(limit.project(inside), inside)
    assert limit.violation(r.from_euler([0.35, 0.45, 0.55], "XYZ")) > 0.01


# --- the same bits ---------------------------------------------------------------------------------------------------


def raw(limit: Limit, q: Array) -> bytes:
    return limit.project(q).tobytes() + limit.violation(q).tobytes()


@each_set
def test_every_instruction_set_gives_the_same_bytes(limit: Limit, dtype: Any) -> None:
    before = _core.isa()
    q = quats(533).astype(dtype)
    q[11::50] = [np.nan, 1, 0, 0]
    results = {raw(limit, q[:count]) for isa in instruction_sets() if _core.use_isa(isa) for count in (533,)}
    whole = limit.project(q).tobytes()
    parts = b"".join(limit.project(q[i : i + 3]).tobytes() for i in range(0, 533, 3))
    _core.use_isa(before)
    assert len(results) == 1
    assert parts == whole


def test_limits_may_differ_from_item_to_item(dtype: Any, isa: str) -> None:
    q = r.normalize(quats(200).astype(dtype))
    kinds = ("free", "locked", "hinge", "ball", "euler", "kusudama")
    limits = [*SETS.values(), Limit.free()]
    names = ("frame", "twist", "swing", "axes", "lowest", "highest")
    rows = [np.array([getattr(limit, name) for limit in limits], dtype)[:, None] for name in names]
    kind = np.array([kinds.index(limit.kind) for limit in limits], dtype)[:, None]
    most = max(len(limit.cones) for limit in limits)
    cones = np.zeros((len(limits), 1, most, 4), dtype)
    for row, limit in zip(cones, limits, strict=True):  # the last one again and again changes nothing
        for i in range(most if limit.cones else 0):
            axis, angle = limit.cones[min(i, len(limit.cones) - 1)]
            row[0, i] = *axis, angle
    out, violation = _core.limit_project(q, kind, *rows, cones)
    assert_array_equal(out, [limit.project(q) for limit in limits])
    assert_array_equal(violation, [limit.violation(q) for limit in limits])


def test_any_numbers_for_a_limit_give_an_answer(dtype: Any, isa: str) -> None:
    rng = np.random.default_rng(4)
    special = np.array([0, -0.0, 1, -1, 3, 1e-30, -1e30, np.nan, np.inf, -np.inf], dtype)
    sizes = (4, 1, 4, 2, 4, 3, 3, 3, 12)
    operands = [rng.choice(special, (4000, size)) for size in sizes]
    operands[1] = rng.choice(np.array([0, 1, 2, 3, 4, 5, 5, 5, 6, -1, 2.5, np.nan, np.inf, -1e30], dtype), (4000, 1))
    operands[1] = operands[1][:, 0]
    out, violation = _core.limit_project(*operands[:-1], operands[-1].reshape(4000, 3, 4))
    bits: Any = {np.float32: np.uint32(0x7FC00000), np.float64: np.uint64(0x7FF8 << 48)}[dtype]
    for numbers in (out, violation):
        assert (numbers[np.isnan(numbers)].view(bits.dtype) == bits).all()
    fine = np.isfinite(np.concatenate([operands[0], *operands[2:]], axis=-1)).all(-1)
    assert np.isfinite(out[fine]).all()


# --- the class -------------------------------------------------------------------------------------------------------


@each_set
def test_a_limit_is_a_value(limit: Limit) -> None:
    assert pickle.loads(pickle.dumps(limit)) == limit
    assert hash(limit) == hash(replace(limit))
    with pytest.raises(AttributeError):
        limit.kind = "free"  # type: ignore[misc]


def test_a_cone_is_a_round_ball() -> None:
    assert Limit.cone(X, 0.4, twist=(0, 1)) == Limit.ball(X, (0.4,) * 4, twist=(0, 1))
    assert Limit.euler("XYZ", [1, 2, 3], [1.5, 2.5, 3.5]) == Limit.euler("zyx", [3, 2, 1], [3.5, 2.5, 1.5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limit.hinge([0, 0, 0], 0, 1), "axis: expected a direction, got a zero vector"),
        (lambda: Limit.hinge([0, 0], 0, 1), "axis: expected 3 finite numbers"),
        (lambda: Limit.hinge(X, 1, 0), "low, high: expected -2 pi <= low <= high <= 2 pi, in radians, got 1 and 0"),
        (lambda: Limit.hinge(X, 0, 90), "in radians, got 0 and 90"),
        (lambda: Limit.hinge(X, 0, np.nan), "in radians, got 0 and nan"),
        (lambda: Limit.cone(X, -0.1), "swing: expected angles from 0 to pi"),
        (lambda: Limit.cone(X, 45), "swing: expected angles from 0 to pi, in radians"),
        (lambda: Limit.ball(X, (1, 1, 1)), "swing: expected 4 finite numbers"),  # type: ignore[arg-type]
        (lambda: Limit.ball(X, (1, 1, 1, 1), side=[2, 0, 0]), "side: expected a direction that is not along the axis"),
        (lambda: Limit.ball(X, (1, 1, 1, 1), side=[0, 0, 0]), "side: expected a direction that is not along the axis"),
        (lambda: Limit.cone(X, 1, twist=(1, -1)), "twist: expected -2 pi <= low <= high"),
        (lambda: Limit.euler("xyx", X, X), "order: expected three different axes such as 'xyz'"),
        (lambda: Limit.euler("xYz", X, X), "order: expected three different axes such as 'xyz'"),
        (lambda: Limit.euler("xyz", [0, 0, 7], [1, 1, 8]), "low, high of z: expected -2 pi"),
        (lambda: Limit.free(stiffness=1.5), "stiffness: expected numbers from 0 to 1"),
        (lambda: Limit.free(position=[1, 2, 3]), "position: expected the lowest and the highest point"),
        (lambda: Limit.free(position=[X, -X]), "position: expected the lowest and the highest point"),
        (lambda: Limit.free().project([1, 0, 0]), "q: expected an array of shape"),
        (lambda: ik.limits.human_arm("up"), "side: expected 'left' or 'right', got 'up'"),
        (
            lambda: Limit.free(position=[[0, 0, 0], [1]]),
            "position: expected an array of shape (...), got rows of different",
        ),
        (lambda: Limit.free().sample(-1), "n: expected 0 or more, got -1"),
        (lambda: Limit("spring"), "kind: expected one of free, locked, hinge, ball, euler, kusudama, got 'spring'"),  # type: ignore[arg-type]
        (lambda: Limit("hinge", frame=(1, 0)), "frame: expected 4 finite numbers"),
        (lambda: Limit("hinge", frame=(0, 0, 0, 0)), "frame: expected a rotation, got a zero quaternion"),
        (lambda: Limit("hinge", twist=(1, -1)), "twist: expected -2 pi <= low <= high"),
        (lambda: Limit("ball", swing=(1, 1, 1, 4)), "swing: expected angles from 0 to pi"),
        (lambda: Limit("euler", axes=(0, 0, 1)), "axes: expected 0, 1 and 2 in some order, got (0, 0, 1)"),
        (lambda: Limit("euler", lowest=(1, 0, 0), highest=(0, 0, 0)), "lowest, highest: expected -2 pi"),
        (lambda: Limit.kusudama(X, []), "cones: expected 1 to 16 of a kusudama and none of others, got 0"),
        (lambda: Limit.kusudama(X, [(X, 1)] * 17), "cones: expected 1 to 16 of a kusudama and none of others, got 17"),
        (lambda: Limit.kusudama([0, 0, 0], [(X, 1)]), "axis: expected a direction, got a zero vector"),
        (lambda: Limit.kusudama(X, [([0, 0, 0], 1)]), "cones: expected directions, got a zero vector"),
        (lambda: Limit.kusudama(X, [([0, 0], 1)]), "cones: expected 3 finite numbers"),
        (lambda: Limit.kusudama(X, [(X, 45)]), "cones: expected angles from 0 to pi, in radians, got [45"),
        (lambda: Limit.kusudama(X, [(X, np.nan)]), "cones: expected pairs of a direction and an angle"),
        (lambda: Limit.kusudama(X, [(X, 1, 2)]), "cones: expected pairs of a direction and an angle"),  # type: ignore[list-item]
        (lambda: Limit.kusudama(X, [(X, 1), (-X, 1)]), "cones: 0 and 1 are opposite"),
        (lambda: Limit.kusudama(X, [(X, 1)], twist=(1, -1)), "twist: expected -2 pi <= low <= high"),
        (lambda: Limit("ball", cones=((tuple(X), 1.0),)), "cones: expected 1 to 16 of a kusudama and none of others"),
        (lambda: Limit("free", stiffness=(0, 0, 2)), "stiffness: expected numbers from 0 to 1"),
    ],
)
def test_errors_say_what_was_expected(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limit.hinge(X, "low", "high"), "low, high: expected real numbers, got "),  # type: ignore[arg-type]
        (lambda: Limit.hinge(X, None, 1), "low, high: expected real numbers, got "),  # type: ignore[arg-type]
        (lambda: Limit.cone(X, "1"), "swing: expected real numbers, got "),  # type: ignore[arg-type]
        (lambda: Limit.kusudama(X, [1, 2]), "cones: expected pairs of a direction and an angle, got [1, 2]"),  # type: ignore[list-item]
        (lambda: Limit.kusudama(X, 3), "cones: expected pairs of a direction and an angle, got 3"),  # type: ignore[arg-type]
        (lambda: Limit.free(position="here"), "position: expected real numbers, got 'here'"),
        (lambda: Limit.free().sample(1.5), "n: expected a whole number, got 1.5"),  # type: ignore[arg-type]
        (lambda: Limit.free().sample(1, "seed"), "seed: expected a whole number, got 'seed'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_number_is_refused(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


def test_positions_are_clamped_one_by_one(dtype: Any) -> None:
    limit = Limit.locked(position=[[-1, 0, 0], [1, 2, 0]])
    points = np.array([[0.5, 1, 0], [-2, 3, 4], [2, -1, -1]], dtype)
    assert_array_equal(limit.project_position(points), np.array([[0.5, 1, 0], [-1, 2, 0], [1, 0, 0]], dtype))
    assert limit.project_position(points).dtype == dtype
    assert_array_equal(Limit.free().project_position(points), points)


# --- samples ---------------------------------------------------------------------------------------------------------


@each_set
def test_samples_are_allowed_and_reach_every_part(limit: Limit) -> None:
    samples = limit.sample(4000, seed=3)
    assert samples.shape == (4000, 4)
    assert limit.violation(samples).max() == 0
    wanted = limit.project(quats(400)[::5])
    gap = 2 * np.arccos(np.minimum(1, np.abs(wanted @ samples.T).max(axis=1)))
    assert gap.max() < 0.35


def test_samples_are_uniform_over_rotations() -> None:
    """A rotation drawn from all of them is in a set as often as the set is large."""
    everything = Limit.free().sample(200_000)
    assert_allclose(np.mean(everything[:, None] * everything[:, :, None], axis=0), np.eye(4) / 4, atol=4e-3)
    assert_allclose(np.mean(everything**4, axis=0), 1 / 8, atol=2e-3)
    for name in ("cone", "ball", "box", "kusudama", "far kusudama", "wide kusudama"):
        limit = SETS[name]
        inside = everything[limit.violation(everything) == 0]
        samples = limit.sample(len(inside), seed=5)
        assert len(inside) > 1000
        for probe in limit.sample(20, seed=6):
            near = [np.mean(np.abs(part @ probe) > np.cos(0.25)) for part in (inside, samples)]
            assert abs(near[0] - near[1]) < 5 * np.sqrt(max(near) * 2 / len(inside)) + 1e-3


def test_samples_are_the_same_everywhere() -> None:
    digest = hashlib.sha256()
    of_cones = hashlib.sha256()
    for limit in SETS.values():
        chosen = of_cones if limit.kind == "kusudama" else digest
        chosen.update(limit.sample(50, seed=8).astype("<f8").tobytes())
    assert digest.hexdigest() == "9bb573cb9ba9bb30a483f6597faa737ff09a042f4c0de4fe910db807eea06a85"
    assert of_cones.hexdigest() == "8142885ee3cbb3611217ec6d838e01fc5c817413f486b41acc85fd8b1234515b"
    assert not np.array_equal(SETS["cone"].sample(5, seed=1), SETS["cone"].sample(5, seed=2))
    assert_array_equal(SETS["cone"].sample(5, seed=1), SETS["cone"].sample(9, seed=1)[:5])
    assert SETS["cone"].sample(0).shape == (0, 4)


# --- a human ---------------------------------------------------------------------------------------------------------


def test_left_and_right_are_mirror_images() -> None:
    q = quats(3000)[::5]
    mirrored = q * [1, 1, -1, -1]
    for make in (ik.limits.human_arm, ik.limits.human_leg):
        left, right = make("left"), make("right")
        assert list(left) == list(right)
        for joint in left:
            assert_allclose(left[joint].violation(q), right[joint].violation(mirrored), atol=1e-7)


def test_what_a_human_can_do() -> None:
    arm, leg = ik.limits.human_arm("left"), ik.limits.human_leg("left")
    degrees = np.deg2rad
    can = [
        (arm["shoulder"], r.shortest_arc(X, -Y)),  # hang
        (arm["shoulder"], r.shortest_arc(X, Z)),  # point forwards
        (arm["elbow"], twisted(-Y, degrees(149))),
        (arm["wrist"], twisted(-Y, degrees(79))),  # palm towards the forearm
        (leg["hip"], twisted(-X, degrees(119))),  # knee to the chest
        (leg["knee"], twisted(X, degrees(134))),
        (leg["ankle"], twisted(X, degrees(49))),  # toes down
        (leg["toe"], twisted(-X, degrees(69))),
    ]
    cannot = [
        (arm["elbow"], twisted(Y, degrees(10))),
        (arm["shoulder"], r.shortest_arc(X, [0, 0.1, -1])),  # point straight back
        (arm["shoulder"], twisted(X, degrees(80))),
        (leg["hip"], twisted(X, degrees(40))),
        (leg["hip"], twisted(-Z, degrees(40))),  # cross far over
        (leg["knee"], twisted(-X, degrees(5))),
        (leg["ankle"], twisted(-X, degrees(30))),
        (leg["toe"], twisted(X, degrees(50))),
    ]
    assert [limit.violation(q) for limit, q in can] == [0] * len(can)
    assert all(limit.violation(q) > 0.05 for limit, q in cannot)


# --- pictures --------------------------------------------------------------------------------------------------------


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ikcore\[plot\]'"):
        Limit.cone(X, 1).draw()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["locked", "hinge", "ball", "box", "kusudama", "thin kusudama"])
def test_every_kind_can_be_drawn(name: str) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = SETS[name].draw()
    assert SETS[name].draw(ax) is ax
    ax.figure.canvas.draw()
    plt.close(ax.figure)
