"""The rotation algebra of the library as the extension uses it, and what it adds, against mathutils."""

import importlib

import numpy as np
import pytest
import rigs
from conftest import EXTENSION
from mathutils import Euler, Matrix, Quaternion

from ikcore import rotations as quat

rot = importlib.import_module(EXTENSION + ".rig.rotations")


def some_quaternions(count=200, seed=1):
    q = np.random.default_rng(seed).normal(size=(count, 4))
    q[:4] = np.eye(4)  # none, and half turns about each axis
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def same_rotation(a, b):
    return np.abs(np.abs(np.sum(a * b, axis=-1)) - 1).max() < 1e-6


def test_products_and_matrices():
    a, b = some_quaternions(), some_quaternions(seed=2)
    expected = np.array([Quaternion(p) @ Quaternion(q) for p, q in zip(a, b, strict=True)])
    assert np.allclose(quat.multiply(a, b), expected, atol=1e-6)
    matrices = np.array([Quaternion(p).to_matrix() for p in a])
    assert np.allclose(quat.to_matrix(a), matrices, atol=1e-6)
    assert same_rotation(quat.from_matrix(matrices), a)
    assert (quat.from_matrix(matrices)[:, 0] >= 0).all()
    assert np.allclose(quat.rotate(a, b[:, 1:]), np.einsum("nij,nj->ni", matrices, b[:, 1:]), atol=1e-6)


def test_part_of_a_rotation():
    a = some_quaternions()[4:]
    expected = np.array([Quaternion().slerp(Quaternion(q if q[0] >= 0 else -q), 0.3) for q in a])
    assert same_rotation(quat.slerp([1, 0, 0, 0], a, 0.3), expected)


@pytest.mark.parametrize("order", rigs.ORDERS)
def test_eulers(order):
    q = some_quaternions()
    quarter = np.pi / 2
    locked = [
        Euler(np.roll((0.3, sign * quarter, 0.8), shift), order).to_quaternion()
        for sign in (1, -1)
        for shift in range(3)
    ]
    q = np.concatenate([q, np.array(locked)])
    angles = rot.continuous_eulers(q, order, np.zeros(3))
    back = np.array([Euler(triple, order).to_quaternion() for triple in angles])
    assert same_rotation(back, q)
    assert np.abs(np.diff(angles, axis=0)).max() <= np.pi + 1e-6


@pytest.mark.parametrize("order", rigs.ORDERS)
def test_eulers_are_the_nearest_to_those_before(order):
    """One frame after the other, through random turns and a walk; at the lock the last angle stays."""
    rng = np.random.default_rng(1)
    i, j, k = ("XYZ".index(letter) for letter in order)
    random, walked = rng.normal(size=(80, 4)), np.cumsum(rng.normal(0, 0.2, (80, 4)), axis=0) + np.eye(4)[0] * 3
    angles = np.concatenate([rot.continuous_eulers(q, order, np.zeros(3)) for q in (random, walked)])
    angles[10:14, j], angles[30, j], angles[100:120, j] = np.pi / 2, -np.pi / 2, np.pi / 2
    q = quat.from_euler(angles[:, [i, j, k]], order.lower())
    start = before = np.array([0.5, -1.0, 7.0])
    locked = np.isin(np.arange(160), [*range(10, 14), 30, *range(100, 120)])
    for held, now, back in zip(locked, rot.continuous_eulers(q, order, start), q, strict=True):
        assert same_rotation(np.array(Euler(now, order).to_quaternion()), back)
        assert np.abs(now - before).max() <= np.pi + 1e-6
        if held:
            assert abs(now[k] - before[k]) < 1e-6
        else:
            other = np.empty(3)
            other[i], other[j], other[k] = now[i] + np.pi, np.pi - now[j], now[k] + np.pi
            other -= 2 * np.pi * np.round((other - before) / (2 * np.pi))
            assert np.abs(now - before).sum() <= np.abs(other - before).sum() + 1e-6
        before = now


def test_eulers_of_several_bones():
    q = some_quaternions(600).reshape(200, 3, 4)
    start = np.random.default_rng(2).normal(size=(3, 3))
    together = rot.continuous_eulers(q, "YZX", start)
    for n in range(3):
        np.testing.assert_array_equal(together[:, n], rot.continuous_eulers(q[:, n], "YZX", start[n]))


def test_eulers_stay_near_where_they_start():
    q = np.array([Euler((0.1, 0.2, 0.3)).to_quaternion()] * 2)
    start = np.array([0.1 + np.pi, np.pi - 0.2, 0.3 - 3 * np.pi])
    assert np.allclose(rot.continuous_eulers(q, "XYZ", start), start, atol=1e-6)


def test_euler_lock_is_passed_without_a_spin():
    """Along a path through the lock the outer angles stay what they are, however little they mean there."""
    path = [Euler((0.4, angle, -0.3)) for angle in np.linspace(1.2, np.pi / 2, 9)]
    q = np.array([euler.to_quaternion() for euler in path])
    angles = rot.continuous_eulers(q, "XYZ", np.array(path[0]))
    assert np.abs(np.diff(angles, axis=0)).max() < 0.1


def test_axis_angles():
    q = some_quaternions()
    numbers = rot.continuous_axis_angles(q, np.array([0.0, 0.0, 1.0, 0.0]))
    back = np.array([Quaternion(n[1:], n[0]) for n in numbers])
    assert same_rotation(back, q)
    assert np.allclose(np.linalg.norm(numbers[:, 1:], axis=1), 1)
    turns = np.linspace(-1, 7, 60)
    q = np.stack([np.cos(turns / 2), 0 * turns, np.sin(turns / 2), 0 * turns], axis=-1)
    numbers = rot.continuous_axis_angles(q, np.array([-1.0, 0.0, 1.0, 0.0]))
    assert np.allclose(numbers[:, 0], turns)
    assert np.allclose(numbers[:, 1:], [0, 1, 0])


def test_axis_angle_of_no_rotation_without_an_axis():
    numbers = rot.continuous_axis_angles(np.array([[1.0, 0, 0, 0]]), np.zeros(4))
    assert np.isfinite(numbers).all()
    assert np.linalg.norm(numbers[0, 1:]) == 1


def test_quaternion_signs():
    q = some_quaternions()
    signed = rot.continuous_quaternions(q, -q[0])
    assert np.array_equal(signed[0], -q[0])
    assert same_rotation(signed, q)
    assert (np.sum(signed[1:] * signed[:-1], axis=1) >= 0).all()


def test_matrix_of_a_turn_is_blenders():
    assert np.allclose(
        quat.to_matrix(np.array([np.cos(0.2), 0, 0, np.sin(0.2)])), Matrix.Rotation(0.4, 3, "Z"), atol=1e-6
    )


def test_inverses():
    """Matrices with scale and shear; the result is exact to rounding."""
    made = np.zeros((200, 4, 4))
    made[:, :3] = np.random.default_rng(3).normal(size=(200, 3, 4))
    made[:, 3, 3] = 1.0
    assert np.abs(rot.inverse(made) @ made - np.eye(4)).max() < 1e-10
    np.testing.assert_allclose(rot.inverse(made[0]), np.linalg.inv(made[0]), rtol=1e-9)
    assert not np.isfinite(rot.inverse(np.diag([0.0, 1.0, 1.0, 1.0]))).all()
