"""What legs ask of the body, as the core has it, beside the same in NumPy, one operation after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from ikcore import _core

Array = NDArray[Any]
Leg = tuple[Array, Array, Array, Array, float]

LIMITS = 1e-3, 0.067, 1e-5, 0.03  # how much legs stand, bend and lack to straight at least, and what bends one anyway


def size(ways: Array) -> Array:
    return np.asarray(np.sqrt(ways[:, 0] * ways[:, 0] + ways[:, 1] * ways[:, 1] + ways[:, 2] * ways[:, 2]))


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("below", [False, True])
def test_hips_go_up_until_they_are_as_far_from_ankles(axis: int, below: bool) -> None:
    random = np.random.default_rng(axis)
    hip, ankle = random.normal(size=(2, 60, 3))
    length, sides = random.uniform(0.2, 4, 60), np.where(random.uniform(size=60) < 0.5, -1.0, 1.0)
    side = sides if below else np.ones(60)
    up = _core.until(hip, ankle, length, axis, *([side] if below else []))
    moved = hip.copy()
    moved[:, axis] += up
    flat = np.delete(ankle - hip, axis, axis=1)
    far = np.sqrt((flat * flat).sum(axis=1))
    near = length >= far
    assert near.any()
    assert (~near).any()
    assert np.abs(size(moved - ankle) - length)[near].max() < 1e-12
    assert (np.sign(moved - ankle)[near, axis] == side[near]).all()
    assert np.abs(moved - ankle)[~near, axis].max() < 1e-12


def agreed(legs: list[Leg]) -> tuple[Array, Array, Array]:
    least, bends, straight, anyway = LIMITS
    stands = np.maximum([leg[1] for leg in legs], least)
    wanted = np.stack([leg[0] for leg in legs])

    def mean(weights: Array) -> Array:
        return np.asarray(
            np.add.accumulate(weights[..., np.newaxis] * wanted)[-1] / np.add.accumulate(weights)[-1][:, np.newaxis]
        )

    usual, bent = mean(stands), np.empty_like(stands)
    for at, (want, _, hip, ankle, long) in enumerate(legs):
        far, off, much = size(hip - ankle), want - usual, anyway * long
        lacks = np.maximum(1 - far * far / (long * long), straight)
        bent[at] = lacks + bends / (much * much) * (off * off).sum(axis=1)
    heeds = stands * (bends / np.minimum(bent, bends))
    return mean(heeds), stands.max(axis=0), heeds.max(axis=0) / stands.max(axis=0)


@pytest.mark.parametrize("axes", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 5, 150])  # a millipede
def test_legs_agree_as_they_stand_and_as_straight_ones_would_bend(axes: int, count: int) -> None:
    random, legs = np.random.default_rng(count), []
    for _ in range(count):
        hip, ankle = random.normal(scale=0.3, size=(2, 50, 3))
        stands = np.maximum(random.uniform(-0.5, 1, 50), 0)
        long = float(size(hip - ankle).max() * random.uniform(0.8, 1.2))
        legs.append((random.normal(scale=0.02, size=(50, axes)), stands, hip, ankle, long))
    for found, expected in zip(_core.agreed(tuple(legs), LIMITS), agreed(legs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_of_legs_that_want_the_same_the_body_gets_it() -> None:
    same, zero = np.full((4, 1), 0.25), np.zeros((4, 3))
    legs = [(same, np.full(4, stands), zero, np.tile([0, -0.5, 0], (4, 1)), 1.0) for stands in (1.0, 0.0)]
    together, stands, heeded = _core.agreed(tuple(legs), LIMITS)
    np.testing.assert_allclose(together, same, rtol=1e-15)
    assert_array_equal(stands, 1)
    assert_array_equal(heeded, 1)  # knees are bent


@pytest.mark.parametrize("apart", [1, 3, 4])
def test_jerk_is_the_third_difference(apart: int) -> None:
    at = np.random.default_rng(apart).normal(size=(12, 3))
    change = at
    for _ in range(3):
        change = change[apart:] - change[:-apart]
    assert_array_equal(_core.jerk(at, apart), size(change))
    assert not len(_core.jerk(at[: 3 * apart], apart))
    assert not len(_core.jerk(at, 2**40))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("until", (np.zeros((4, 3)), np.zeros((5, 3)), np.ones(4), 1)),
        ("until", (np.zeros((4, 3)), np.zeros((4, 3)), np.ones(4), 3)),
        ("until", (np.zeros((4, 3)), np.zeros((4, 3)), np.ones(4), 1, np.ones(3))),
        ("agreed", ((), LIMITS)),
        ("agreed", (((np.zeros((4, 1)),),), LIMITS)),
        ("agreed", (((np.zeros((4, 1)), np.ones(4), np.zeros((4, 3)), np.zeros((4, 2)), 1.0),), LIMITS)),
        ("jerk", (np.zeros((4, 2)), 1)),
        ("jerk", (np.zeros((4, 3)), 0)),
    ],
)
def test_what_does_not_fit_is_refused(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(_core, name)(*given)
