"""The closed form of the constraint, on arrays alone."""

import importlib

import numpy as np
import pytest
from conftest import EXTENSION

from ikcore import rotations as quat

solve = importlib.import_module(EXTENSION + ".limbs.two_bone")


def straight_limbs(count, noise=0.0, **changes):
    """A limb hanging straight down in every frame, its target below and in front, its pole in front."""
    rows = np.ones((count, 1, 1))
    mid = rows * (0.0, 0.0, -1.0) + np.random.default_rng(1).normal(0, noise, (count, 1, 3))
    values = {
        "root": rows * (0.0, 0.0, 0.0),
        "mid": mid,
        "end": rows * (0.0, 0.0, -2.0),
        "root_axes": np.tile([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]], (count, 1, 1, 1)),  # Y down, Z to the back
        "shown": np.tile([1.0, 0, 0, 0], (count, 1, 2, 1)),
        "goal": rows * (0.1, -0.4, -1.2),
        "pole": rows * (0.0, -3.0, -1.0),
        "pole_angle": np.full((count, 1), -np.pi / 2),
        "influence": np.ones((count, 1)),
        "has_pole": np.array([True]),
        "rest_bend": np.zeros((1, 3)),
    }
    return solve.Limbs(**{**values, **changes})


def knee_and_end(limbs, solved):
    """Positions of knee and end after the rotations."""
    knee = limbs.root + quat.rotate(solved.root, limbs.mid - limbs.root)
    return knee, knee + quat.rotate(quat.multiply(solved.root, solved.mid), limbs.end - limbs.mid)


def test_rounding_does_not_twist_a_straight_limb():
    clean = solve.solve(straight_limbs(50))
    noisy = solve.solve(straight_limbs(50, noise=1e-6))
    for name in ("root", "mid"):
        difference = np.sum(getattr(clean, name) * getattr(noisy, name), axis=-1)
        assert np.abs(difference).min() > 1 - 1e-9, name


@pytest.mark.parametrize("axis", [0, 2])
def test_pole_angle_names_an_axis_of_the_first_bone(axis):
    """At 0 the X axis goes into the pole's half plane, at a right angle Z: here for a pole straight in front."""
    angle = np.full((1, 1), np.pi / 2 if axis == 2 else 0.0)
    limbs = straight_limbs(1, pole_angle=angle, goal=np.array([[[0.0, 0.0, -1.5]]]))
    solved = solve.solve(limbs)
    turned = quat.to_matrix(solved.root[0, 0]) @ limbs.root_axes[0, 0][:, axis]
    assert abs(turned[0]) < 1e-12
    assert turned[1] < -0.5
    assert knee_and_end(limbs, solved)[0][0, 0, 1] < -0.1, "the knee is not in front"


def test_nothing_to_do_is_nothing():
    limbs = straight_limbs(1, goal=np.array([[[0.0, 0.0, -2.0]]]))
    solved = solve.solve(limbs)
    assert np.allclose(solved.root, [1, 0, 0, 0], atol=1e-7)
    assert np.allclose(solved.mid, [1, 0, 0, 0], atol=1e-7)


def test_pole_in_line_is_undefined_and_finite():
    limbs = straight_limbs(1, pole=np.array([[[0.1, -0.4, -1.2]]]))
    solved = solve.solve(limbs)
    assert solved.undefined.all()
    assert np.isfinite(solved.root).all()
    assert np.allclose(knee_and_end(limbs, solved)[1], limbs.goal)
