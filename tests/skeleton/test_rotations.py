"""Rotations: against formulas written out in NumPy and SciPy, published cases, degenerate input, and the same bits."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import reference
from conftest import instruction_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from ikcore import _call, _core, _threads
from ikcore import rotations as r

Array = NDArray[Any]

COUNT = 1000
BOUND = {np.float32: 1e-6, np.float64: 4e-15}
ORDERS = [
    "".join(axes)
    for letters in ("xyz", "XYZ")
    for axes in product(letters, repeat=3)
    if axes[0] != axes[1] and axes[1] != axes[2]
]
PI = np.pi


@pytest.fixture(autouse=True)
def _no_floating_point_error() -> Iterator[None]:
    with np.errstate(all="raise", under="ignore"):  # the tests' own arithmetic may underflow
        yield


def random(dtype: Any, *shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def quats(dtype: Any, count: int = COUNT, seed: int = 1) -> Array:
    """Unit quaternions: any, nearly the identity, nearly half a turn, and exactly those."""
    q = random(np.float64, count, 4, seed=seed)
    size = 10.0 ** -np.random.default_rng(seed).uniform(0, 20, count)
    q[1::4, 1:] *= size[1::4, None]
    q[2::4, 0] *= size[2::4]
    q[3::16] = [1, 0, 0, 0]
    q[7::16, 0] = 0
    q[11::16] = np.eye(4)[np.arange(len(q[11::16])) % 4]
    return r.normalize((q / np.linalg.norm(q, axis=-1, keepdims=True)).astype(dtype))


def assert_same_rotation(a: Array, b: Array, bound: float) -> None:
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    apart = np.minimum(np.abs(a - b).max(-1), np.abs(a + b).max(-1))
    worst = np.unravel_index(np.argmax(apart), apart.shape)
    assert apart.max(initial=0) <= bound, (apart.max(), a[worst], b[worst])


def assert_unit(q: Array) -> None:
    length = np.sum(q.astype(np.float64) ** 2, axis=-1)
    assert np.abs(length - 1).max(initial=0) <= 5 * np.finfo(q.dtype).eps


def test_multiply_conjugate_rotate_are_the_formulas(dtype: Any, isa: str) -> None:
    a, b, v = quats(dtype), quats(dtype, seed=2)[::-1], random(dtype, COUNT, 3)
    assert_allclose(r.multiply(a, b), reference.multiply(a, b), atol=BOUND[dtype])
    assert_array_equal(r.conjugate(a), a * np.array([1, -1, -1, -1], dtype))
    assert_allclose(r.rotate(a, v), reference.rotate(a, v), atol=4 * BOUND[dtype])
    assert_allclose(r.multiply(2 * a, 3 * b), 6 * reference.multiply(a, b), atol=6 * BOUND[dtype])


def test_multiply_applies_the_second_first() -> None:
    x, y = r.from_axis_angle([[1, 0, 0], [0, 1, 0]], PI / 2)
    assert_allclose(r.rotate(r.multiply(x, y), [0, 0, 1]), [1, 0, 0], atol=1e-15)


@pytest.mark.parametrize("length", [1e-300, 1e-30, 1e-3, 1, 7, 1e30, 1e300])
def test_any_length_stands_for_the_same_rotation(length: float, dtype: Any, isa: str) -> None:
    if dtype is np.float32:
        length **= 1 / 9
    q, v = quats(dtype), random(dtype, COUNT, 3)
    scaled, bound = (q.astype(np.float64) * length).astype(dtype), BOUND[dtype]
    assert_allclose(r.normalize(scaled), q, atol=bound)
    assert_unit(r.normalize(scaled))
    assert_allclose(r.rotate(scaled, v), r.rotate(q, v), atol=6 * bound)
    assert_allclose(r.to_matrix(scaled), r.to_matrix(q), atol=bound)
    assert_same_rotation(r.slerp(scaled, q, 0.5), q, bound)


def test_unit_quaternions_keep_their_bits(dtype: Any, isa: str) -> None:
    q = quats(dtype, 20000)
    assert_array_equal(r.normalize(q), q)
    assert_array_equal(r.canonical(r.canonical(q)), r.canonical(q))


def test_canonical_has_one_answer_for_q_and_minus_q(dtype: Any, isa: str) -> None:
    q = np.concatenate([quats(dtype), np.array(list(product([-1, 0, 1], repeat=4)), dtype)])
    one = r.canonical(q)
    assert_array_equal(one, r.canonical(-q), strict=True)
    zero = ~q.any(-1)
    assert_array_equal(one[zero], [[1, 0, 0, 0]])
    first = np.take_along_axis(one, (one != 0).argmax(-1)[:, None], -1)
    assert (first > 0).all()
    assert_same_rotation(one[~zero], r.normalize(q[~zero]), 0)


def test_continuous_keeps_neighbours_together(dtype: Any) -> None:
    steps = np.linspace(0, 6 * PI, 200)[:, None]
    smooth = r.from_axis_angle([[[0, 0, 1]], [[1, 2, 3]]], steps[:, :, None].astype(dtype)[:, 0].T).astype(dtype)
    smooth = np.swapaxes(smooth, 0, 1)
    flips = np.random.default_rng(1).choice([-1, 1], (200, 2)).astype(dtype)
    flips[0] = 1
    assert_array_equal(r.continuous(smooth * flips[..., None]), smooth)
    assert r.continuous(np.empty((0, 4), dtype)).shape == (0, 4)
    with pytest.raises(ValueError, match=r"q: expected an array of shape \(n, \.\.\., 4\), got shape \(4,\)"):
        r.continuous([1, 0, 0, 0])


@pytest.mark.parametrize("move", [r.continuous, r.to_xyzw, r.from_xyzw])
def test_out_takes_the_result_of_what_only_moves_numbers(move: Callable[..., Array], dtype: Any) -> None:
    q = random(dtype, 9, 2, 4)
    expected = move(q)
    for out in (np.empty_like(q), np.empty((4, 2, 9), dtype).T, q):
        assert move(q, out=out) is out
        assert_array_equal(out, expected)


# --- shortest arc ----------------------------------------------------------------------------------------------------


def test_shortest_arc_takes_a_to_b_about_their_normal(dtype: Any, isa: str) -> None:
    a, b = random(dtype, COUNT, 3), random(dtype, COUNT, 3, seed=2) * dtype(1e4)
    arc = r.shortest_arc(a, b)
    assert_unit(arc)
    assert (arc[:, 0] >= 0).all()
    from_, to = reference.unit(a.astype(np.float64)), reference.unit(b.astype(np.float64))
    assert_allclose(reference.rotate(arc, from_), to, atol=BOUND[dtype])
    assert_allclose(np.sum(arc[:, 1:] * from_, -1), 0, atol=BOUND[dtype])


@pytest.mark.parametrize("off", [0, 1, 100, 1e4, 1e6])
@pytest.mark.parametrize("side", [1, -1])
def test_shortest_arc_near_equal_and_near_opposite(off: float, side: int, dtype: Any, isa: str) -> None:
    a = reference.unit(random(np.float64, COUNT, 3))
    b = side * a + off * np.finfo(dtype).eps * random(np.float64, COUNT, 3, seed=2)
    a, b = a.astype(dtype), b.astype(dtype)
    for axis in (None, random(dtype, COUNT, 3, seed=3), a):
        arc = r.shortest_arc(a, b, axis)
        from_, to = reference.unit(a.astype(np.float64)), reference.unit(b.astype(np.float64))
        assert_allclose(reference.rotate(arc, from_), to, atol=BOUND[dtype])
        assert np.isfinite(arc).all()


def test_opposite_vectors_turn_about_the_axis_given(dtype: Any, isa: str) -> None:
    a = np.array([[1, 0, 0], [0, 0, -2], [0, 3, 0]], dtype)
    axis = np.array([[0, 0, 5], [1, 0, 1], [1, 1, 0]], dtype)
    assert_array_equal(r.shortest_arc(a, -a, axis), [[0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]])


def test_shortest_arc_of_nothing_is_nothing(dtype: Any, isa: str) -> None:
    zero = np.zeros(3, dtype)
    for a, b in ((zero, [1, 2, 3]), ([1, 2, 3], zero), (zero, zero), ([1, 2, 3], [2, 4, 6])):
        assert_allclose(r.shortest_arc(np.array(a, dtype), np.array(b, dtype)), [1, 0, 0, 0], atol=BOUND[dtype])


@pytest.mark.parametrize("exponent", [-1000, -100, 100, 1000])
def test_shortest_arc_of_any_size(exponent: int, dtype: Any, isa: str) -> None:
    a, b = random(dtype, COUNT, 3), random(dtype, COUNT, 3, seed=2)
    huge = dtype(2.0 ** (exponent if dtype is np.float64 else exponent // 10))
    assert_array_equal(r.shortest_arc(a * huge, b), r.shortest_arc(a, b))


# --- exp, log, axis and angle ----------------------------------------------------------------------------------------


def test_exp_and_log_are_the_formulas(dtype: Any, isa: str) -> None:
    v = random(dtype, COUNT, 3)
    angle = np.linalg.norm(v.astype(np.float64), axis=-1, keepdims=True)
    expected = np.concatenate([np.cos(angle / 2), v / angle * np.sin(angle / 2)], -1)
    assert_allclose(r.exp(v), expected, atol=BOUND[dtype])
    shorter = v[angle[:, 0] < PI]
    assert_allclose(r.log(r.exp(shorter)), shorter, atol=BOUND[dtype])


def test_round_trips(dtype: Any, isa: str) -> None:
    q = quats(dtype, 5000)
    bound = BOUND[dtype] / 2
    assert_same_rotation(r.exp(r.log(q)), q, bound)
    assert_same_rotation(r.from_axis_angle(*r.to_axis_angle(q)), q, bound)
    assert_same_rotation(r.from_matrix(r.to_matrix(q)), q, bound)
    assert_same_rotation(r.from_6d(r.to_6d(q)), q, bound)
    assert_array_equal(r.from_xyzw(r.to_xyzw(q)), q)


@pytest.mark.parametrize("size", [1e-3, 1e-8, 1e-12, 1e-18, 1e-30])
def test_small_rotations_lose_nothing(size: float, dtype: Any, isa: str) -> None:
    """Relative errors: a rotation of 1e-30 radians survives to the last digits."""
    v = (random(np.float64, COUNT, 3) * size).astype(dtype)
    assert_allclose(r.exp(v)[:, 1:], v.astype(np.float64) / 2, rtol=BOUND[dtype] + size**2)
    assert_allclose(r.log(r.exp(v)), v, rtol=2 * BOUND[dtype])
    axis, angle = r.to_axis_angle(r.exp(v))
    assert_allclose(angle[:, None] * axis, v, rtol=2 * BOUND[dtype])


def test_exact_at_nothing_and_half_a_turn(dtype: Any, isa: str) -> None:
    identity = np.array([1, 0, 0, 0], dtype)
    half_turns = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype)
    axes, pi = np.eye(3, dtype=dtype), dtype(PI)
    assert_array_equal(r.log(identity), [0, 0, 0])
    assert_array_equal(r.exp(np.zeros(3, dtype)), identity)
    for sign in (1, -1):
        assert_array_equal(r.log(sign * half_turns), axes * pi)
        axis, angle = r.to_axis_angle(sign * half_turns)
        assert_array_equal(axis, axes)
        assert_array_equal(angle, [pi] * 3)
        # the float nearest to pi is not pi, and the quaternion says so
        rest = np.cos(float(pi) / 2)
        assert_allclose(r.exp(sign * axes * pi), np.insert(sign * axes, 0, rest, axis=1), rtol=1e-6)
    below = pi if float(pi) <= PI else np.nextafter(pi, dtype(0))
    assert_allclose(r.log(r.exp(-axes * below)), -axes * below, rtol=np.finfo(dtype).eps)
    axis, angle = r.to_axis_angle(identity)
    assert_array_equal(axis, [1, 0, 0])
    assert angle == 0


@pytest.mark.parametrize("turns", [1, 10, 1000, 100000])
def test_angles_of_many_turns(turns: int, dtype: Any, isa: str) -> None:
    angle = (random(np.float64, COUNT) * turns).astype(dtype)
    if dtype is np.float32:
        angle = angle[np.abs(angle) < 1e4]
    q = r.from_axis_angle(np.array([0, 0, 2], dtype), angle)
    half = angle.astype(np.float64) / 2
    expected = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], -1)
    assert_allclose(q, expected, atol=3e-16 if dtype is np.float64 else 2e-7)


def test_angles_beyond_the_stated_range_still_give_a_rotation(dtype: Any, isa: str) -> None:
    angle = (10.0 ** np.linspace(7, np.log10(np.finfo(dtype).max) - 0.01, 1000)).astype(dtype)
    assert_unit(r.from_axis_angle(np.array([0, 0, 1], dtype), angle))
    assert_unit(r.exp(np.array([0, 1, 0], dtype) * angle[:, None]))


def test_a_zero_axis_turns_nothing(dtype: Any, isa: str) -> None:
    assert_array_equal(r.from_axis_angle(np.zeros(3, dtype), 2.0), [1, 0, 0, 0])


# --- slerp, swing and twist ------------------------------------------------------------------------------------------


def test_slerp_is_the_formula(dtype: Any, isa: str) -> None:
    a, b = r.normalize(random(dtype, COUNT, 4)), r.normalize(random(dtype, COUNT, 4, seed=2))
    t = np.random.default_rng(3).uniform(-0.5, 1.5, COUNT).astype(dtype)
    cosine = np.sum(a.astype(np.float64) * b, -1)
    angle = np.arccos(np.abs(cosine))
    near = b * np.sign(cosine)[:, None]
    weights = np.sin((1 - t.astype(np.float64)) * angle) / np.sin(angle), np.sin(t * angle) / np.sin(angle)
    expected = weights[0][:, None] * a + weights[1][:, None] * near
    ordinary = np.sin(angle) > 0.1
    assert_allclose(r.slerp(a, b, t)[ordinary], expected[ordinary], atol=BOUND[dtype])


def test_slerp_ends_exactly_and_goes_the_shorter_way(dtype: Any, isa: str) -> None:
    a, b = quats(dtype), quats(dtype, seed=2)[::-1]
    near = np.where(np.sum(a * b, -1, keepdims=True) < 0, -b, b)
    assert_array_equal(r.slerp(a, b, 0), a)
    clear = np.abs(np.sum(a * b, -1)) > 1e-6
    assert_array_equal(r.slerp(a, b, 1)[clear], near[clear])
    assert_same_rotation(r.slerp(a, b, 1), b, 0)
    middle = r.slerp(a, b, 0.5)
    assert (np.sum(middle * a, -1) >= np.sqrt(0.5) - 1e-6).all()
    assert_unit(middle)


def test_slerp_of_near_and_opposite_rotations(dtype: Any, isa: str) -> None:
    a = quats(dtype)
    t = np.linspace(0, 1, 11)
    for b in (a, -a):
        assert_same_rotation(r.slerp(a[:, None], b[:, None], t), a[:, None], BOUND[dtype])
    half = r.multiply(a, np.array([0, 0, 0, 1], dtype))
    path = r.slerp(a[:, None], half[:, None], t)
    angle = 2 * np.arctan2(np.linalg.norm(r.multiply(r.conjugate(a)[:, None], path)[..., 1:], axis=-1), 1e-300)
    assert np.isfinite(angle).all()
    speed = np.abs(r.to_axis_angle(r.multiply(r.conjugate(path[:, :-1]), path[:, 1:]))[1])
    assert_allclose(speed, PI / 10, atol=4 * BOUND[dtype])


def test_swing_twist_golden_vector(isa: str) -> None:
    swing, twist = r.swing_twist([0.5, 0.5, 0.1, 0.7], [0, 0, 1])
    assert_allclose(swing, [0.860232526704, 0.209245749739, 0.464990554975, 0], atol=1e-12)
    assert np.degrees(r.to_axis_angle(swing)[1]) == pytest.approx(61.314597986, abs=1e-9)
    assert np.degrees(r.to_axis_angle(twist)[1]) == pytest.approx(108.924644416, abs=1e-9)


def test_swing_and_twist_make_the_rotation(dtype: Any, isa: str) -> None:
    q, axis = quats(dtype), random(dtype, COUNT, 3)
    swing, twist = r.swing_twist(q, axis)
    unit, bound = reference.unit(axis.astype(np.float64)), BOUND[dtype]
    assert_same_rotation(reference.multiply(swing, twist), q, bound)
    assert_allclose(np.sum(swing[:, 1:] * unit, -1), 0, atol=bound)
    assert_allclose(np.cross(twist[:, 1:], unit), 0, atol=bound)
    for part in (swing, twist):
        assert_unit(part)
        assert (part[:, 0] >= 0).all()


def test_a_swing_of_half_a_turn_has_no_twist(dtype: Any, isa: str) -> None:
    swing, twist = r.swing_twist(np.array([[0, 0.6, -0.8, 0], [0, -1, 0, 0]], dtype), np.array([0, 0, 1], dtype))
    assert_array_equal(twist, [[1, 0, 0, 0]] * 2)
    assert_allclose(swing, np.array([[0, 0.6, -0.8, 0], [0, 1, 0, 0]]), atol=1e-7)
    swing, twist = r.swing_twist(np.array([-0.6, 0, 0, 0.8], dtype), np.zeros(3, dtype))
    assert_array_equal(twist, [1, 0, 0, 0])
    assert_same_rotation(swing, np.array([-0.6, 0, 0, 0.8]), BOUND[dtype])


# --- matrices --------------------------------------------------------------------------------------------------------


def test_a_matrix_turns_as_the_quaternion_does(dtype: Any, isa: str) -> None:
    q, v = quats(dtype), random(dtype, COUNT, 3)
    m = r.to_matrix(q).astype(np.float64)
    assert_allclose(np.squeeze(m @ v[..., None], -1), reference.rotate(q, v), atol=4 * BOUND[dtype])
    assert_allclose(m @ np.swapaxes(m, 1, 2), np.broadcast_to(np.eye(3), m.shape), atol=BOUND[dtype])
    assert_array_equal(r.to_6d(q), np.concatenate([r.to_matrix(q)[..., 0], r.to_matrix(q)[..., 1]], -1))


def test_matrices_of_quarter_turns_are_exact(dtype: Any, isa: str) -> None:
    """All 24 rotations of a cube."""
    corners = np.array([m for m in map(_signed_permutation, range(48)) if np.linalg.det(m) > 0], dtype)
    assert len(corners) == 24
    assert_allclose(r.to_matrix(r.from_matrix(corners)), corners, atol=3e-16 if dtype is np.float64 else 2e-7)


def test_a_matrix_however_large_gives_a_unit_quaternion(dtype: Any, isa: str) -> None:
    large = np.sqrt(np.finfo(dtype).max) * np.array([1e-3, 2, 1e6, 1e15], dtype)
    m = large[:, None, None, None] * np.array([np.ones((3, 3)), np.diag([1, 2, 3]), np.diag([1, -2, -3])], dtype)
    assert_allclose(np.linalg.norm(r.from_matrix(m).astype(float), axis=-1), 1, rtol=4 * BOUND[dtype])


def _signed_permutation(number: int) -> Array:
    signs = [1 - 2 * (number >> k & 1) for k in range(3)]
    order = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)][number >> 3]
    return np.eye(3)[list(order)] * signs


def test_6d_is_gram_schmidt(dtype: Any, isa: str) -> None:
    columns = random(dtype, COUNT, 6)
    a, b = columns[:, :3].astype(np.float64), columns[:, 3:].astype(np.float64)
    x = reference.unit(a)
    y = reference.unit(b - np.sum(b * x, -1, keepdims=True) * x)
    expected = np.stack([x, y, np.cross(x, y)], -1)
    clear = np.linalg.norm(np.cross(x, reference.unit(b)), axis=-1) > 0.1
    assert_allclose(r.to_matrix(r.from_6d(columns))[clear], expected[clear], atol=10 * BOUND[dtype])


@pytest.mark.parametrize("columns", [[0] * 6, [0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0], [1, 2, 3, -2, -4, -6]])
def test_6d_of_too_few_directions_is_a_rotation_all_the_same(columns: list[int], dtype: Any, isa: str) -> None:
    q = r.from_6d(np.array(columns, dtype))
    assert_unit(q)
    if any(columns[:3]):
        assert_allclose(r.to_6d(q)[:3], reference.unit(np.array(columns[:3], np.float64)), atol=BOUND[dtype])


# --- Euler angles ----------------------------------------------------------------------------------------------------


def elementary(angles: Array, order: str) -> Array:
    """The product of three elementary rotations, written out: about the body's axes each new one comes last."""
    q = np.array([1.0, 0, 0, 0])
    for letter, angle in zip(order, np.moveaxis(angles.astype(np.float64), -1, 0), strict=True):
        axis = np.eye(3)["xyz".index(letter.lower())]
        turn = np.concatenate([np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None] * axis], -1)
        q = reference.multiply(q, turn) if order.isupper() else reference.multiply(turn, q)
    return q


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles(order: str, dtype: Any, isa: str) -> None:
    angles = np.random.default_rng(1).uniform(-4, 4, (COUNT, 3)).astype(dtype)
    assert_allclose(r.from_euler(angles, order), elementary(angles, order), atol=BOUND[dtype])
    q = quats(dtype)
    back = r.to_euler(q, order)
    assert_same_rotation(r.from_euler(back, order), q, BOUND[dtype])
    proper = order[0] == order[2]
    low, high = (0, PI) if proper else (-PI / 2, PI / 2)
    slack = np.finfo(dtype).eps * 4
    assert ((back[:, 1] >= low - slack) & (back[:, 1] <= high + slack)).all()
    assert (np.abs(back[:, ::2]) <= PI + slack).all()


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_come_back(order: str, dtype: Any, isa: str) -> None:
    low, high = (0.1, 3.0) if order[0] == order[2] else (-1.5, 1.5)
    angles = np.random.default_rng(1).uniform([-3, low, -3], [3, high, 3], (COUNT, 3)).astype(dtype)
    assert_allclose(r.to_euler(r.from_euler(angles, order), order), angles, atol=20 * BOUND[dtype])


@pytest.mark.parametrize("order", ORDERS)
def test_gimbal_lock(order: str, dtype: Any, isa: str) -> None:
    """Exactly locked, and off by 1e-20 to 0.1: always angles that make the rotation; locked, one of them is 0."""
    proper = order[0] == order[2]
    locks = [0, PI] if proper else [-PI / 2, PI / 2]
    for lock, off in product(locks, [0, *10.0 ** -np.arange(1, 20)]):
        angles = random(np.float64, 200, 3)
        angles[:, 1] = lock + off
        q = r.normalize(elementary(angles, order).astype(dtype))
        back = r.to_euler(q, order)
        assert_same_rotation(r.from_euler(back, order), q, BOUND[dtype])
    exact = np.array([[1, 0, 0, 0]] if proper else [[0.5, 0.5, 0.5, 0.5], [0.5, -0.5, 0.5, -0.5]], dtype)
    for q in exact:
        angles = r.to_euler(q, order)
        locked = np.isin(angles[1], np.array(locks, dtype))
        if locked:
            assert angles[2 if order.isupper() else 0] == 0


def test_euler_angles_of_nothing_are_zero(dtype: Any, isa: str) -> None:
    for order in ORDERS:
        assert_array_equal(r.to_euler(np.array([1, 0, 0, 0], dtype), order), [0, 0, 0])
        assert_array_equal(r.from_euler(np.zeros(3, dtype), order), [1, 0, 0, 0])


@pytest.mark.parametrize("order", ["", "xy", "xyzx", "xxy", "XYY", "xYz", "abc", "xy ", 3, None])
def test_an_order_that_does_not_exist_is_explained(order: Any) -> None:
    with pytest.raises(ValueError, match="order: expected three axes such as 'XYZ'"):
        r.to_euler([1, 0, 0, 0], order)
    with pytest.raises(ValueError, match="order: expected three axes such as 'XYZ'"):
        r.from_euler([1, 0, 0], order)


def test_against_scipy(dtype: Any) -> None:
    transform = pytest.importorskip("scipy.spatial.transform")
    q, p, bound = quats(dtype), quats(dtype, seed=2)[::-1], BOUND[dtype]
    one, other = (transform.Rotation.from_quat(r.to_xyzw(each.astype(np.float64))) for each in (q, p))
    assert_same_rotation(r.multiply(q, p), r.from_xyzw((one * other).as_quat()), bound)
    assert_allclose(r.to_matrix(q), one.as_matrix(), atol=bound)
    assert_same_rotation(r.exp(r.log(q)), r.from_xyzw(transform.Rotation.from_rotvec(r.log(q)).as_quat()), bound)
    angles = np.random.default_rng(1).uniform([-3, -1.5, -3], [3, 1.5, 3], (COUNT, 3)).astype(dtype)
    for order in ORDERS:
        theirs = transform.Rotation.from_euler(order, angles)
        assert_same_rotation(r.from_euler(angles, order), r.from_xyzw(theirs.as_quat()), bound)
        if order[0] != order[2]:
            assert_allclose(r.to_euler(r.from_xyzw(theirs.as_quat()), order), angles, atol=100 * bound)


# --- best fit --------------------------------------------------------------------------------------------------------


def kabsch(points: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
    """The best rotation matrix of one list by singular values, and how well it is defined."""
    u, s, vt = np.linalg.svd((points * weights[:, None]).T @ targets)
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return (u @ np.diag([1, 1, sign]) @ vt).T, (s[1] + sign * s[2]) / s[0]


def rmsd_of(m: Array, points: Array, targets: Array, weights: Array) -> Any:
    return np.sqrt(np.sum(weights * np.sum((points @ m.T - targets) ** 2, -1)) / np.sum(weights))


@pytest.mark.parametrize("n", [2, 3, 4, 10, 100])
def test_best_fit_is_that_of_the_singular_values(n: int, dtype: Any, isa: str) -> None:
    points, targets = random(dtype, 200, n, 3), random(dtype, 200, n, 3, seed=2)
    weights = np.random.default_rng(3).random((200, n)).astype(dtype)
    rotation, rmsd = r.best_fit(points, targets, weights)
    assert_unit(rotation)
    for q, e, *lists in zip(rotation, rmsd, points, targets, weights, strict=True):
        a, b, w = (each.astype(np.float64) for each in lists)
        m, defined = kabsch(a, b, w)
        assert np.abs(r.to_matrix(q) - m).max() <= 4 * BOUND[dtype] / defined
        assert_allclose(e, rmsd_of(m, a, b, w), rtol=4 * BOUND[dtype])


def test_best_fit_finds_the_rotation_that_was_applied(dtype: Any, isa: str) -> None:
    q, points = quats(dtype), random(dtype, COUNT, 5, 3)
    rotation, rmsd = r.best_fit(points, r.rotate(q[:, None], points))
    assert_same_rotation(rotation, q, BOUND[dtype])
    assert rmsd.max() < 4 * BOUND[dtype]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_best_fit_of_points_on_a_line_is_the_shortest_arc(n: int, dtype: Any, isa: str) -> None:
    a, b = random(dtype, COUNT, 1, 3), random(dtype, COUNT, 1, 3, seed=2)
    along = random(dtype, COUNT, n, 1, seed=3)
    b[::10] = -a[::10]
    rotation, _ = r.best_fit(along * a, along * b)
    expected = r.shortest_arc(a[:, 0], b[:, 0])
    opposite = np.arange(COUNT) % 10 == 0
    assert_same_rotation(rotation[~opposite], expected[~opposite], 100 * BOUND[dtype])
    turned = reference.rotate(rotation[opposite], a[opposite, 0])
    assert_allclose(turned, -a[opposite, 0], atol=40 * BOUND[dtype])


def test_best_fit_of_nothing_is_nothing(dtype: Any, isa: str) -> None:
    for n in (0, 1, 5):
        rotation, rmsd = r.best_fit(np.zeros((3, n, 3), dtype), np.zeros((3, n, 3), dtype))
        assert_array_equal(rotation, [[1, 0, 0, 0]] * 3)
        assert_array_equal(rmsd, [0] * 3)
    cancelling = np.array([[1, 0, 0], [1, 0, 0]], dtype), np.array([[0, 1, 0], [0, -1, 0]], dtype)
    assert_array_equal(r.best_fit(*cancelling)[0], [1, 0, 0, 0])
    nothing_counts = r.best_fit(random(dtype, 4, 3), random(dtype, 4, 3, seed=2), [0, 0, -1, 0])
    assert_array_equal(nothing_counts[0], [1, 0, 0, 0])
    assert nothing_counts[1] == 0


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9, 1e-12])
def test_best_fit_of_points_almost_on_a_line(size: float, dtype: Any, isa: str) -> None:
    """Pairs of almost equal eigenvalues, which an unordered Jacobi method takes for ever to separate."""
    points, targets = random(dtype, 5000, 3, 3), random(dtype, 5000, 3, 3, seed=2)
    points[..., ::2] *= dtype(size)
    targets[..., 2] *= dtype(size)
    a, b = points.astype(np.float64), targets.astype(np.float64)
    u, s, vt = np.linalg.svd(np.swapaxes(a, 1, 2) @ b)
    best = s[:, 0] + s[:, 1] + np.sign(np.linalg.det(u) * np.linalg.det(vt)) * s[:, 2]
    reached = np.sum(
        (a @ np.swapaxes(r.to_matrix(r.best_fit(points, targets)[0]).astype(np.float64), 1, 2)) * b, (1, 2)
    )
    lengths = np.sqrt(np.sum(a**2, (1, 2)) * np.sum(b**2, (1, 2)))
    assert ((best - reached) / lengths).max() <= 200 * np.finfo(dtype).eps


def test_best_fit_of_a_mirror_image_is_a_rotation(dtype: Any, isa: str) -> None:
    points = random(dtype, COUNT, 5, 3)
    rotation, rmsd = r.best_fit(points, points * np.array([1, 1, -1], dtype))
    assert_unit(rotation)
    assert (rmsd > 0).all()
    assert_unit(r.best_fit(np.eye(3, dtype=dtype), -np.eye(3, dtype=dtype))[0])


@pytest.mark.parametrize("exponent", [-100, -15, 15, 100])
def test_best_fit_of_any_size(exponent: int, dtype: Any, isa: str) -> None:
    points, targets = random(dtype, COUNT, 5, 3), random(dtype, COUNT, 5, 3, seed=2)
    huge = dtype(2.0**exponent)
    rotation, rmsd = r.best_fit(points, targets)
    scaled, scaled_rmsd = r.best_fit(points * huge, targets * huge)
    assert_array_equal(scaled, rotation)
    assert_array_equal(scaled_rmsd, rmsd * huge)
    assert_array_equal(r.best_fit(points * huge, targets)[0], rotation)
    assert_array_equal(r.best_fit(points, targets, np.full(5, huge))[0], rotation)


# From V-Sekai/many_bone_ik (MIT), tests/test_qcp_basic.h and its fixtures at a2353bec: lists of points, what they were
# turned by as (x, y, z, w), and moved by. Figures only.
AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
MANY_BONE = {
    "z90": ([*AXES, [1, 1, 1]], [0, 0, 0.707106781186548, 0.707106781186548], [0, 0, 0]),
    "y45_translate": ([*AXES, [2, -1, 3]], [0, 0.38268343236509, 0, 0.923879532511287], [-2, 3, -4]),
    "standard_d60": (AXES, [0.288675134594813] * 3 + [0.866025403784439], [0, 0, 0]),
    "z60": (AXES, [0, 0, 0.5, 0.866025403784439], [0, 0, 0]),
    "d45_translate": ([*AXES, [1, 1, 1]], [0.220942382690395] * 3 + [0.923879532511287], [1, 2, 3]),
    "combined_z90_10": ([*AXES, [1, 1, 1]], [0, 0, 0.707106781186548, 0.707106781186548], [10, 20, 30]),
    "combined_d30_5": ([*AXES, [1, 1, 1]], [0.149429245361342] * 3 + [0.965925826289068], [5, -5, 10]),
}
MANY_BONE_TARGETS = {
    "z90": [[0, 1, 0], [-1, 0, 0], [0, 0, 1], [-1, 1, 1]],
    "y45_translate": [
        [-1.29289321881345, 3, -4.70710678118655],
        [-2, 4, -4],
        [-1.29289321881345, 3, -3.29289321881345],
        [1.53553390593274, 2, -3.29289321881345],
    ],
    "standard_d60": [[2 / 3, 2 / 3, -1 / 3], [-1 / 3, 2 / 3, 2 / 3], [2 / 3, -1 / 3, 2 / 3]],
    "z60": [[0.5, 0.866025403784439, 0], [-0.866025403784439, 0.5, 0], [0, 0, 1]],
    "d45_translate": [
        [1.80473785412436, 2.50587936340168, 2.68938278247395],
        [0.689382782473954, 2.80473785412436, 3.50587936340168],
        [1.50587936340168, 1.68938278247395, 3.80473785412436],
        [2, 3, 4],
    ],
    "combined_z90_10": [[10, 21, 30], [9, 20, 30], [10, 20, 31], [9, 21, 31]],
    "combined_d30_5": [
        [5.91068360252296, -4.66666666666667, 9.75598306414371],
        [4.75598306414371, -4.08931639747704, 10.3333333333333],
        [5.33333333333333, -5.24401693585629, 10.910683602523],
        [6, -4, 11],
    ],
}


def check_alignment(points: Any, targets: Any, xyzw: Any, translation: Any, translate: bool) -> None:
    points, targets = np.asarray(points, np.float64), np.asarray(targets, np.float64)
    centres = (points.mean(0), targets.mean(0)) if translate else (np.zeros(3), np.zeros(3))
    rotation, rmsd = r.best_fit(points - centres[0], targets - centres[1])
    assert_same_rotation(rotation, r.from_xyzw(xyzw), 1e-13)
    assert_allclose(centres[1] - r.rotate(rotation, centres[0]), translation, atol=1e-13)
    assert rmsd < 1e-13


@pytest.mark.parametrize("name", MANY_BONE)
def test_cases_of_many_bone_ik(name: str) -> None:
    points, xyzw, translation = MANY_BONE[name]
    check_alignment(points, MANY_BONE_TARGETS[name], xyzw, translation, any(translation))


def test_the_whole_set_of_many_bone_ik() -> None:
    path = Path(os.environ.get("IKCORE_CONFORMANCE", "")) / "point_set_alignment_manybone.json"
    if not path.is_file():
        pytest.skip("IKCORE_CONFORMANCE names no folder with the set")
    for case in json.loads(path.read_text())["cases"]:
        expect = case["expect"]
        check_alignment(case["moved"], case["target"], expect["q"], expect["translation"], case["translate"])


# --- same bits -------------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "multiply": (r.multiply, [(4,), (4,)]),
    "conjugate": (r.conjugate, [(4,)]),
    "normalize": (r.normalize, [(4,)]),
    "canonical": (r.canonical, [(4,)]),
    "rotate": (r.rotate, [(4,), (3,)]),
    "shortest_arc": (r.shortest_arc, [(3,), (3,), (3,)]),
    "exp": (r.exp, [(3,)]),
    "log": (r.log, [(4,)]),
    "slerp": (r.slerp, [(4,), (4,), ()]),
    "swing_twist": (r.swing_twist, [(4,), (3,)]),
    "to_matrix": (r.to_matrix, [(4,)]),
    "from_matrix": (r.from_matrix, [(3, 3)]),
    "to_axis_angle": (r.to_axis_angle, [(4,)]),
    "from_axis_angle": (r.from_axis_angle, [(3,), ()]),
    "to_6d": (r.to_6d, [(4,)]),
    "from_6d": (r.from_6d, [(6,)]),
    "to_euler": (lambda q, **options: r.to_euler(q, "XYZ", **options), [(4,)]),
    "to_proper_euler": (lambda q, **options: r.to_euler(q, "zxz", **options), [(4,)]),
    "from_euler": (lambda angles, **options: r.from_euler(angles, "xzy", **options), [(3,)]),
    "best_fit": (r.best_fit, [(3, 3), (3, 3), (3,)]),
}
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65, 1000]

# sha256 of what each function makes of grid(), in floats and doubles: every platform must come to these.
RECORDED = "770749692fb5e6e71d8d0b0ba7c5889880c8816b8479d5aefa2c638b1adc6b59"


def results(name: str, inputs: list[Array], **options: Any) -> list[Array]:
    with np.errstate(all="raise"):
        made = SHAPES[name][0](*inputs, **options)
    return list(made) if isinstance(made, tuple) else [made]


def raw(arrays: list[Array]) -> list[bytes]:
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def ordinary(name: str, dtype: Any, count: int) -> list[Array]:
    return [random(dtype, count, *row, seed=k) for k, row in enumerate(SHAPES[name][1])]


def nasty(name: str, dtype: Any, count: int) -> list[Array]:
    """One number in ten zero, denormal, huge, infinite, or a NaN with a sign and a payload."""
    info = np.finfo(dtype)
    pool = [0, -0.0, 1, -1, info.smallest_subnormal, -info.tiny, info.eps, info.max, -info.max, np.inf, -np.inf]
    bits = {np.float32: (np.uint32, 0xFFC12345), np.float64: (np.uint64, 0xFFF8DEAD00000001)}[dtype]
    numbers = np.concatenate([np.array(pool, dtype), np.array([bits[1]], bits[0]).view(dtype)])
    generator = np.random.default_rng(5)
    return [
        np.where(generator.random(array.shape) < 0.1, generator.choice(numbers, array.shape), array)
        for array in ordinary(name, dtype, count)
    ]


def degenerate(name: str, dtype: Any, count: int) -> list[Array]:
    generator = np.random.default_rng(6)
    return [generator.integers(-1, 2, (count, *row)).astype(dtype) for row in SHAPES[name][1]]


def grid(name: str, dtype: Any, count: int = 512) -> list[Array]:
    """Eighths of small integers from an integer recurrence: the same numbers wherever it runs."""
    state, arrays = 1, []
    for row in SHAPES[name][1]:
        numbers = []
        for _ in range(count * int(np.prod(row))):
            state = (state * 1103515245 + 12345) % 2**31
            numbers.append((state >> 8) % 65 - 32)
        arrays.append((np.array(numbers, dtype) / dtype(8)).reshape(count, *row))
    return arrays


@pytest.mark.parametrize("make", [ordinary, nasty, degenerate])
@pytest.mark.parametrize("name", SHAPES)
def test_every_instruction_set_gives_the_same_bytes(name: str, make: Any, dtype: Any) -> None:
    before = _core.isa()
    try:
        for count in SIZES:
            inputs = make(name, dtype, count)
            of = {isa: raw(results(name, inputs)) for isa in instruction_sets() if _core.use_isa(isa)}
            assert len(set(map(tuple, of.values()))) == 1, (count, sorted(of))
    finally:
        _core.use_isa(before)


@pytest.mark.drawn(100)
@pytest.mark.parametrize("make", [ordinary, nasty, degenerate])
@pytest.mark.parametrize("name", SHAPES)
def test_layout_and_place_change_no_bit(name: str, make: Any, dtype: Any, isa: str) -> None:
    inputs = make(name, dtype, 100)
    expected = results(name, inputs)
    columns = [np.asfortranarray(array) for array in inputs]
    backwards = [np.ascontiguousarray(array[::-1])[::-1] for array in inputs]
    spaced = [np.repeat(array, 2, axis=0)[::2] for array in inputs]
    for layout in (columns, backwards, spaced):
        assert raw(results(name, layout)) == raw(expected)
    for start, stop in ((1, 100), (7, 23), (50, 51), (33, 66)):
        part = results(name, [array[start:stop] for array in inputs])
        assert raw(part) == raw([array[start:stop] for array in expected])
    one = results(name, [array[3] for array in inputs])
    assert raw(one) == raw([array[3] for array in expected])
    repeated = [inputs[0][:, None], *(array[None, :7] for array in inputs[1:])]
    if len(inputs) > 1:
        whole = results(name, repeated)
        copied = [np.ascontiguousarray(np.broadcast_to(array, (100, 7, *array.shape[2:]))) for array in repeated]
        assert raw(whole) == raw(results(name, copied))


@pytest.mark.parametrize("name", SHAPES)
def test_out_takes_the_result(name: str, dtype: Any, isa: str) -> None:
    inputs = ordinary(name, dtype, 37)
    expected = results(name, inputs)
    for places in (
        [np.empty_like(array) for array in expected],
        [np.empty((*array.shape[:1], 2, *array.shape[1:]), dtype)[:, 1] for array in expected],
        [np.empty(array.shape[::-1], dtype).T for array in expected],
    ):
        out = places[0] if len(places) == 1 else tuple(places)
        made = SHAPES[name][0](*inputs, out=out)
        assert all(a is b for a, b in zip([made] if len(places) == 1 else made, places, strict=True))
        assert raw(places) == raw(expected)
    if inputs[0].shape == expected[0].shape and len(expected) == 1:
        SHAPES[name][0](*inputs, out=inputs[0])
        assert raw([inputs[0]]) == raw(expected)


def test_every_function_is_held_to_that() -> None:
    """The functions of the module, but those that need no gufunc: they have no workers."""
    public = set(r.__all__)
    assert public == {name for name, thing in vars(r).items() if inspect.isfunction(thing) and name != "__dir__"}
    keywords = {name: inspect.signature(getattr(r, name)).parameters for name in public}
    assert public - set(SHAPES) == {"continuous", "to_xyzw", "from_xyzw"}
    assert {name for name in public if "workers" in keywords[name]} == public & set(SHAPES)
    assert all(keywords[name]["out"].kind is inspect.Parameter.KEYWORD_ONLY for name in public)


@pytest.mark.parametrize("name", SHAPES)
def test_workers_change_no_bit(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_WORTH_A_THREAD", 1)
    inputs = nasty(name, dtype, 403)
    expected = results(name, inputs)
    assert raw(results(name, inputs, workers=3)) == raw(expected)
    places = tuple(np.empty_like(array) for array in expected)
    assert SHAPES[name][0](*inputs, out=places if len(places) > 1 else places[0], workers=2) is not None
    assert raw(list(places)) == raw(expected)


@pytest.mark.parametrize("name", SHAPES)
def test_blocks_of_a_long_call_change_no_bit(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the order of axes in memory."""
    inputs = [array.reshape(20, 20, *array.shape[1:]) for array in nasty(name, dtype, 400)]
    turned = [array.swapaxes(0, 1) for array in inputs]
    expected = [results(name, arrays) for arrays in (inputs, turned)]
    for module in (_call, _threads):
        monkeypatch.setattr(module, "AT_ONCE", 7)
    for arrays, whole in zip((inputs, turned), expected, strict=True):
        found = results(name, arrays)
        assert raw(found) == raw(whole)
        assert [array.strides for array in found] == [array.strides for array in whole]


def test_workers_do_not_read_what_another_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_WORTH_A_THREAD", 1)
    a = random(np.float64, 400, 4)
    expected = r.multiply(a, a[::-1])
    assert_array_equal(r.multiply(a, a[::-1], out=a, workers=2), expected)


@pytest.mark.parametrize("shape", [(60, 50), (3, 50), (50, 50)])
def test_workers_fill_a_larger_out_as_one_does(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "_WORTH_A_THREAD", 1)
    q, out = random(np.float64, 50, 4), np.empty((*shape, 4))
    assert_array_equal(r.normalize(q, out=out, workers=2), np.broadcast_to(r.normalize(q), out.shape))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", [name for name in SHAPES if len(SHAPES[name][1]) > 1])
def test_a_sweep_with_a_short_last_axis_changes_no_bit(
    name: str, workers: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "_WORTH_A_THREAD", 1)
    long, short = nasty(name, dtype, 60), nasty(name, dtype, 5)
    for sweep, shape in (
        ([long[0][:, None], *short[1:]], (60, 5)),
        ([short[0], *(array[:, None] for array in long[1:])], (60, 5)),
        ([long[0][:, None, None], *(array[:, None] for array in short[1:])], (60, 5, 1)),
        ([long[0].reshape(2, 30, 1, *long[0].shape[1:]), *short[1:]], (2, 30, 5)),
    ):
        full = [np.broadcast_to(part, (*shape, *row)) for part, row in zip(sweep, SHAPES[name][1], strict=True)]
        assert raw(results(name, sweep, workers=workers)) == raw(results(name, [part.copy() for part in full]))


def test_a_sweep_with_a_short_last_axis_runs_along_its_longest() -> None:
    """Seen in the memory: that one lies last there. Without broadcasting there is no reason to."""
    long, short = random(np.float64, 60, 1, 4), random(np.float64, 5, 4)
    assert r.multiply(long, short).strides == (32, 60 * 32, 8)
    assert r.multiply(np.repeat(long, 5, axis=1), short[None].repeat(60, axis=0)).strides == (5 * 32, 32, 8)


@pytest.mark.parametrize("name", SHAPES)
def test_a_nan_stays_in_its_item_as_the_one_canonical_nan(name: str, dtype: Any, isa: str) -> None:
    inputs = nasty(name, dtype, COUNT)
    bad = np.zeros(COUNT, bool)
    for array in inputs:
        bad |= ~np.isfinite(array).reshape(COUNT, -1).all(-1)
    clean = [np.where(bad.reshape(-1, *[1] * (array.ndim - 1)), 1, array).astype(dtype) for array in inputs]
    integer, canonical = {np.float32: (np.uint32, 0x7FC00000), np.float64: (np.uint64, 0x7FF8 << 48)}[dtype]
    assert bad.any()
    assert not bad.all()
    for array, without in zip(results(name, inputs), results(name, clean), strict=True):
        assert (array[bad].view(integer) == canonical).all()
        assert_array_equal(array[~bad], without[~bad])
        assert (array[np.isnan(array)].view(integer) == canonical).all()


@pytest.mark.parametrize("name", sorted(set(SHAPES) - {"multiply", "rotate", "from_matrix"}))
def test_finite_input_gives_finite_output(name: str, dtype: Any, isa: str) -> None:
    """All but those that may overflow: their results have no bound."""
    for make in (nasty, degenerate):
        inputs = [np.where(np.isfinite(array), array, dtype(1)) for array in make(name, dtype, COUNT)]
        made = results(name, inputs)
        if name == "best_fit":
            made = made[:1]  # a distance may overflow
        assert all(np.isfinite(array).all() for array in made)


def test_the_recorded_bytes(isa: str) -> None:
    digest = hashlib.sha256()
    for name, dtype in product(SHAPES, (np.float32, np.float64)):
        for array in results(name, grid(name, dtype)):
            digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    assert digest.hexdigest() == RECORDED


# --- arguments -------------------------------------------------------------------------------------------------------


def test_what_is_given_decides_the_type() -> None:
    single, double = np.array([1, 0, 0, 0], np.float32), np.array([1, 0, 0, 0], np.float64)
    assert r.multiply(single, single).dtype == np.float32
    assert r.multiply(single, double).dtype == np.float64
    assert r.multiply(single, [1, 0, 0, 0]).dtype == np.float64
    assert r.slerp(single, single, 0.5).dtype == np.float32
    assert r.from_axis_angle(single[:3], np.float64(1)).dtype == np.float32
    assert r.to_euler(single, "xyz").dtype == np.float32
    assert r.normalize(np.array([1, 0, 0, 0], np.float16)).dtype == np.float32
    assert r.shortest_arc(single[:3], single[:3], double[:3]).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: r.multiply([1, 0, 0], [1, 0, 0, 0]), ValueError, r"a: expected .* \(\.\.\., 4\), got shape \(3,\)"),
        (lambda: r.rotate([1, 0, 0, 0], 3), ValueError, r"v: expected .* \(\.\.\., 3\), got shape \(\)"),
        (lambda: r.log([[1, 0, 0, 0], [1]]), ValueError, "q: expected .* got rows of different lengths"),
        (lambda: r.exp([1j, 0, 0]), TypeError, "v: expected real numbers, got complex128"),
        (lambda: r.exp("xyz"), TypeError, "v: expected real numbers, got 'xyz'"),
        (lambda: r.from_matrix(np.eye(4)), ValueError, r"matrix: expected .* \(\.\.\., 3, 3\), got shape \(4, 4\)"),
        (
            lambda: r.slerp([[1, 0, 0, 0]] * 2, [[1, 0, 0, 0]] * 3, 0),
            ValueError,
            r"leading axes .* a \(2, 4\), b \(3, 4\)",
        ),
        (
            lambda: r.normalize([1, 0, 0, 0], out=np.empty(4, np.float32)),
            TypeError,
            "out: expected .* float64.* float32",
        ),
        (
            lambda: r.normalize(np.eye(4), out=np.empty((3, 4))),
            ValueError,
            r"out: expected shape \(4, 4\), got \(3, 4\)",
        ),
        (lambda: r.log(np.eye(4), out=np.empty((4, 4))), ValueError, r"out: expected shape \(4, 3\), got \(4, 4\)"),
        (lambda: r.to_xyzw(np.eye(4), out=np.empty(4)), ValueError, r"out: expected shape \(4, 4\), got \(4,\)"),
        (lambda: r.continuous(np.eye(4), out=cast(Any, [0])), TypeError, "out: expected .* got list"),
        (lambda: r.to_euler([1, 0, 0, 0], "xyz", out=cast(Any, [0, 0, 0])), TypeError, "out: expected .* got list"),
        (
            lambda: r.best_fit([1, 2, 3], [1, 2, 3]),
            ValueError,
            r"points: expected .* \(\.\.\., n, 3\), got shape \(3,\)",
        ),
        (
            lambda: r.best_fit(np.eye(3), np.eye(3)[:2]),
            ValueError,
            r"targets: expected .* \(\.\.\., 3, 3\), got .*2, 3",
        ),
        (lambda: r.best_fit(np.eye(3), np.eye(3), [1, 2]), ValueError, r"weights: expected .* \(\.\.\., 3\), got .*2,"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- properties ------------------------------------------------------------------------------------------------------

numbers = st.floats(-10, 10).filter(lambda x: x == 0 or abs(x) > 1e-6)
quaternion = st.tuples(numbers, numbers, numbers, numbers).filter(any).map(np.array).map(r.normalize)
vector = st.tuples(numbers, numbers, numbers).map(np.array)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(quaternion, quaternion, quaternion, vector)
def test_the_laws_of_a_group(a: Array, b: Array, c: Array, v: Array) -> None:
    assert_allclose(r.multiply(r.multiply(a, b), c), r.multiply(a, r.multiply(b, c)), atol=2e-15)
    assert_allclose(r.multiply(a, r.conjugate(a)), [1, 0, 0, 0], atol=2e-15)
    assert_allclose(r.rotate(r.multiply(a, b), v), r.rotate(a, r.rotate(b, v)), atol=1e-13)
    assert_allclose(np.linalg.norm(r.rotate(a, v)), np.linalg.norm(v), rtol=4e-15)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(quaternion, quaternion, st.floats(0, 1))
def test_slerp_divides_the_angle(a: Array, b: Array, t: float) -> None:
    angle = r.to_axis_angle(r.multiply(r.conjugate(a), b))[1]
    part = r.to_axis_angle(r.multiply(r.conjugate(a), r.slerp(a, b, t)))[1]
    assert_allclose(part, t * angle, atol=8e-15)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(quaternion, vector, vector)
def test_rotations_commute_with_the_frame(q: Array, a: Array, b: Array) -> None:
    """Turning everything by q turns the answer by q."""
    if np.linalg.norm(np.cross(a, b)) < 1e-3 * np.linalg.norm(a) * np.linalg.norm(b) or not (a.any() and b.any()):
        return
    turned = r.shortest_arc(r.rotate(q, a), r.rotate(q, b))
    expected = r.multiply(r.multiply(q, r.shortest_arc(a, b)), r.conjugate(q))
    assert_same_rotation(turned, expected, 1e-11)
    assert_allclose(r.exp(r.rotate(q, a)), r.multiply(r.multiply(q, r.exp(a)), r.conjugate(q)), atol=2e-14)
