"""two_bone_2d: both branches of a planar limb, checked by putting the angles back together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import Status

ATOL = {np.float32: 3e-6, np.float64: 4e-15}


def end_of(length1: Any, length2: Any, angles: Any) -> Any:
    """End position of bones of these lengths at these joint angles."""
    first, both = angles[..., 0].astype(float), angles.astype(float).sum(axis=-1)
    return np.stack(
        [length1 * np.cos(first) + length2 * np.cos(both), length1 * np.sin(first) + length2 * np.sin(both)], axis=-1
    )


def test_both_branches_reach(dtype: Any, isa: str) -> None:
    rng = np.random.default_rng(1)
    lengths = rng.uniform(0.1, 2, (2, 1000)).astype(dtype)
    reach, inner = lengths.sum(0), np.abs(lengths[0] - lengths[1])
    towards = rng.uniform(-np.pi, np.pi, 1000)
    distance = inner + (reach - inner) * rng.uniform(0.001, 0.999, 1000)
    target = (distance[:, None] * np.stack([np.cos(towards), np.sin(towards)], axis=-1)).astype(dtype)
    limb = ik.closed_forms.two_bone_2d(lengths[0], lengths[1], target)
    assert (limb.status == 0).all()
    for branch in range(2):
        assert_allclose(end_of(lengths[0], lengths[1], limb.angles[:, branch]), target, rtol=0, atol=8 * ATOL[dtype])
    assert (limb.angles[:, 0, 1] > 0).all()
    assert (limb.angles[:, 1, 1] == -limb.angles[:, 0, 1]).all()
    assert np.abs(limb.angles[..., 1]).max() <= np.pi + ATOL[dtype]


@pytest.mark.parametrize(
    ("lengths", "target", "expected"),
    [
        ((1, 1), (2, 0), [[0, 0], [0, 0]]),
        ((1, 1), (0, 2), [[np.pi / 2, 0], [np.pi / 2, 0]]),
        ((1, 1), (1, 1), [[0, np.pi / 2], [np.pi / 2, -np.pi / 2]]),
        ((2, 1), (1, 0), [[0, np.pi], [0, -np.pi]]),
        ((1, 1), (0, 0), [[-np.pi / 2, np.pi], [np.pi / 2, -np.pi]]),
        ((1, 0), (0, 1), [[np.pi / 2, np.pi / 2], [np.pi / 2, -np.pi / 2]]),
    ],
)
def test_angles_known_by_heart(lengths: Any, target: Any, expected: Any, dtype: Any, isa: str) -> None:
    limb = ik.closed_forms.two_bone_2d(dtype(lengths[0]), dtype(lengths[1]), np.array(target, dtype))
    assert limb.status == 0
    assert_allclose(
        end_of(lengths[0], lengths[1], limb.angles), np.broadcast_to(target, (2, 2)), rtol=0, atol=ATOL[dtype]
    )
    if lengths[1]:  # a bone of no length may point anywhere
        assert_allclose(limb.angles, expected, rtol=0, atol=ATOL[dtype])


def test_near_full_reach_no_digits_are_lost(isa: str) -> None:
    gaps = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
    bend = ik.closed_forms.two_bone_2d(1, 1, np.stack([2 - gaps, 0 * gaps], axis=-1)).angles[:, 0, 1]
    exact = 2 * np.arccos(1 - (2 - (2 - gaps)) / 2)  # the gap as it is in doubles
    small = 2 * np.sqrt(2 - (2 - gaps))  # arccos itself loses half the digits there
    assert_allclose(bend, np.where(gaps < 1e-5, small, exact), rtol=1e-6)


def test_near_folded_no_digits_are_lost(isa: str) -> None:
    rng = np.random.default_rng(4)
    upper, lower = rng.uniform(0.3, 0.9, (2, 500)).astype(np.float32)
    distance = np.abs(upper - lower) * np.float32(1 + 1e-5)
    a, b, c = (side.astype(float) for side in (upper, lower, distance))
    apart = (c > abs(a - b)) & (c > 1e-3)
    assert apart.sum() > 300
    exact = np.arctan2(
        np.sqrt((a + b + c) * (a + b - c) * (c + a - b) * (c - a + b))[apart], (c**2 - a**2 - b**2)[apart]
    )
    bend = ik.closed_forms.two_bone_2d(upper, lower, np.stack([distance, 0 * distance], axis=-1)).angles[apart, 0, 1]
    assert_allclose(bend, exact, rtol=0, atol=5e-7)


def test_out_of_reach_is_straight_or_folded_and_told(dtype: Any, isa: str) -> None:
    limb = ik.closed_forms.two_bone_2d(dtype(1), dtype(0.5), np.array([[3, 4], [0.1, 0], [1e30, 0]], dtype))
    assert list(limb.status) == [Status.TOO_FAR, Status.TOO_NEAR, Status.TOO_FAR]
    assert_allclose(limb.error[:2], [3.5, 0.4], rtol=1e-6)
    assert_allclose(limb.angles[0], [[np.arctan2(4, 3), 0]] * 2, rtol=0, atol=ATOL[dtype])
    assert_allclose(np.abs(limb.angles[1, :, 1]), np.pi, rtol=0, atol=ATOL[dtype])


@pytest.mark.parametrize("scale", [1e-18, 1e18])
def test_the_unit_of_length_does_not_matter(scale: float, dtype: Any, isa: str) -> None:
    lengths, target = np.array([1.0, 0.7], dtype), np.array([[0.3, 1.1], [-1, 0.5]], dtype)
    plain = ik.closed_forms.two_bone_2d(lengths[0], lengths[1], target)
    scaled = ik.closed_forms.two_bone_2d(lengths[0] * dtype(scale), lengths[1] * dtype(scale), target * dtype(scale))
    assert (scaled.status == 0).all()
    assert_allclose(scaled.angles, plain.angles, rtol=0, atol=10 * ATOL[dtype])


def test_unusable_items_are_nan_and_alone(dtype: Any, isa: str) -> None:
    length1 = np.array([1, 0, np.nan, 1, 1], dtype)
    length2 = np.array([1, 0, 1, 1, 1], dtype)
    target = np.array([[1, 1], [1, 0], [1, 1], [np.inf, 0], [1, 1]], dtype)
    with pytest.warns(ik.UnusableWarning, match="two_bone_2d: 3 of 5 items"), np.errstate(all="raise"):
        limb = ik.closed_forms.two_bone_2d(length1, length2, target)
    assert list(limb.status) == [0, Status.NO_LENGTH, Status.NOT_FINITE, Status.NOT_FINITE, 0]
    assert np.isnan(limb.angles[1:4]).all()
    assert limb.angles[0].tobytes() == limb.angles[4].tobytes()


def test_no_lengths_do_not_fit_three_targets() -> None:
    with pytest.raises(ValueError, match="leading axes do not broadcast: length1 \\(0,\\), length2"):
        ik.closed_forms.two_bone_2d(np.empty(0), 1, np.ones((3, 2)))


def test_every_instruction_set_gives_the_same_bytes(dtype: Any, isa: str) -> None:
    rng = np.random.default_rng(3)
    lengths, target = rng.uniform(0, 2, (2, 100)).astype(dtype), rng.normal(size=(100, 2)).astype(dtype)
    ik._core.use_isa("scalar")
    expected = ik.closed_forms.two_bone_2d(lengths[0], lengths[1], target)
    ik._core.use_isa(isa)
    limb = ik.closed_forms.two_bone_2d(lengths[0], lengths[1], target)
    strided = ik.closed_forms.two_bone_2d(lengths[0], lengths[1], np.asfortranarray(target))
    for found in (limb, strided):
        assert found.angles.tobytes() == expected.angles.tobytes()
        assert found.error.tobytes() == expected.error.tobytes()


def test_a_sweep_broadcasts() -> None:
    limb = ik.closed_forms.two_bone_2d(np.linspace(0.5, 1, 7)[:, None], 1, np.ones((4, 2)))
    assert limb.angles.shape == (7, 4, 2, 2)
    assert limb.summary().startswith("28 of 28 limbs reached")
