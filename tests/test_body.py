"""Pelvis targets of legs by the core, compared with the same in plain NumPy."""

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


# --- legs that hang on the body --------------------------------------------------------------------------------------


def hung(count: int, frames: int) -> tuple[tuple[Any, ...], ...]:
    """Legs in the clip, under the body and over their feet: some out of reach, some upside down."""
    random, legs = np.random.default_rng(frames), []
    for _ in range(count):
        hip, ankle, *off = random.normal(scale=0.3, size=(4, frames, 3))
        over, reach, stands = (
            random.uniform(0, 0.2, frames),
            random.uniform(0.2, 1, frames),
            random.uniform(-1, 1, frames),
        )
        high = random.normal(scale=0.3, size=frames)
        legs.append((hip, ankle, hip + off[0], ankle + off[1], high, over, reach, np.maximum(stands, 0), 0.8))
    return tuple(legs)


def until(hip: Array, ankle: Array, length: Array, high: Array, axis: int, side: Array | float = 1.0) -> Array:
    flat = ankle - hip
    flat[:, axis] = 0
    aside = size(flat)
    over = np.maximum(np.sqrt(np.maximum(length * length - aside * aside, 0)), 0.5 * side * high)
    return np.asarray(ankle[:, axis] - hip[:, axis] + side * over)


def plain_of(leg: tuple[Any, ...], axis: int) -> Array:
    """Position of the ankle without obstacles."""
    ankle = leg[3].copy()
    ankle[:, axis] -= leg[5]
    return np.asarray(ankle)


@pytest.mark.parametrize("frames", [0, 1, 60])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("axis", [1, 2])
def test_hips_go_up_as_far_as_in_the_clip_and_as_legs_reach(axis: int, count: int, frames: int) -> None:
    legs, all_most = hung(count, frames), []
    wanted, highest = _core.rises(legs, axis, 3.5)
    for leg, found in zip(legs, wanted, strict=True):
        plain, high, side = plain_of(leg, axis), leg[4], np.where(leg[4] < 0, -1.0, 1.0)
        own, reached = size(leg[0] - leg[1]), until(leg[2], leg[3], leg[6], high, axis)
        expected = until(leg[2], plain, own, high, axis, side)
        most = plain[:, axis] - leg[2][:, axis] + high / 0.5
        expected = np.where(side < 0, np.maximum(expected, most), np.minimum(expected, most))
        assert_array_equal(found, expected)
        about = np.stack([reached[np.clip(np.arange(frames) + off, 0, frames - 1)] for off in range(-3, 4)])
        all_most.append(np.maximum(about.min(axis=0), np.minimum(reached, expected)))
    assert_array_equal(highest, np.min(all_most, axis=0))


def test_hips_are_as_far_from_ankles_as_they_can_be_about_as_high_as_they_were() -> None:
    legs = hung(1, 400)
    (up,), _ = _core.rises(legs, 1, 0)
    hip, ankle, length, high = legs[0][2].copy(), plain_of(legs[0], 1), size(legs[0][0] - legs[0][1]), legs[0][4]
    hip[:, 1] += up
    over = (hip - ankle)[:, 1] / high
    between = (over > 0.501) & (over < 1.999)
    assert between.any()
    assert (~between).any()
    assert np.abs(size(hip - ankle) - length)[between].max() < 1e-12
    assert over.min() >= 0.5 - 1e-9
    assert over.max() <= 2 + 1e-9


@pytest.mark.parametrize("frames", [0, 1, 60])
@pytest.mark.parametrize("count", [1, 3])
def test_legs_that_would_be_straight_for_a_moment_hold_hips_back(count: int, frames: int) -> None:
    def bends(way: Array, long: float) -> Array:
        return np.asarray(np.sqrt(np.maximum(1 - size(way) ** 2 / (long * long), 0)))

    axis, legs, rise = 1, hung(count, frames), np.random.default_rng(0).normal(scale=0.2, size=frames)
    expected = np.full(frames, np.inf)
    for leg in legs:
        hip, ankle, long = leg[2], plain_of(leg, axis), leg[-1]
        own, up = bends(leg[1] - leg[0], long), rise[:, np.newaxis] * [0, 1, 0]
        now, over = (bends(end - hip - up, long) for end in (ankle, leg[3]))
        more = np.clip(now - own, 0, 0.1) + np.where(leg[5] > 0, np.maximum(over - now, 0), 0)
        least = np.minimum(own + (_core.filtered(more, 4.5) if frames else more) - 0.02, 0.1)
        most = until(hip, ankle, long * np.sqrt(1 - least * least), leg[4], axis)
        expected = np.minimum(expected, np.where((now < least) & (leg[7] > 0), most, np.inf))
    found = _core.eased(legs, axis, rise, 4.5, 0.02, 0.1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert frames < 60 or np.isfinite(found).any()


@pytest.mark.parametrize("apart", [1, 3, 4, 2**40])
@pytest.mark.parametrize("frames", [0, 1, 9, 13, 40])
def test_jerk_is_the_third_difference_of_the_middle_of_hips(frames: int, apart: int) -> None:
    legs, rise = hung(2, frames), np.random.default_rng(apart).normal(size=frames)
    for up in (None, rise):
        at = (legs[0][0] + legs[1][0]) / 2
        at[:, 2] += 0 if up is None else up
        expected = np.zeros(frames)
        if frames > 3 * apart:
            for _ in range(3):
                at = at[apart:] - at[:-apart]
            near = np.clip(np.arange(frames) - 3 * apart // 2, 0, len(at) - 1)
            expected = _core.filtered(size(at), 2.5)[near]
        assert_array_equal(_core.jerk(legs, 2, up, apart, 2.5), expected)


@pytest.mark.parametrize("frames", [0, 1, 60])
@pytest.mark.parametrize("near", [False, True])
def test_the_body_goes_along_and_towards_what_is_out_of_reach(frames: int, near: bool) -> None:
    axis, legs, rise = 2, hung(3, frames), np.random.default_rng(0).normal(scale=0.2, size=frames)
    along, lack = np.random.default_rng(1).normal(scale=0.1, size=(frames, 3)), np.zeros((frames, 3))
    for _, _, hip, ankle, _, _, reach, *_ in legs:
        reach += 4.0 * near
        way = ankle - hip
        way[:, axis] = ankle[:, axis] - (hip[:, axis] + rise)
        flat = way * [1, 1, 0]
        may = np.sqrt(np.maximum(reach * reach - way[:, axis] * way[:, axis], 0))
        lack += flat * np.clip(1 - may / np.maximum(size(flat), 1e-12), 0, 1)[:, np.newaxis]
    expected = along
    if frames:
        ahead, back = (_core.spread(np.maximum(each, 0), 4.5) for each in (lack, -lack))
        expected = along + _core.filtered(ahead - back, 4.5)
    far = size(expected)
    expected = expected * (np.minimum(far, 0.15) / np.maximum(far, 1e-12))[:, np.newaxis]
    assert_array_equal(_core.aside(legs, axis, rise, along, 4.5, 0.15), expected)
    assert frames < 60 or lack.any() != near


def test_what_is_no_number_stays_near_its_frame() -> None:
    legs, rise = hung(2, 60), np.zeros(60)
    legs[0][3][30] = np.nan
    assert np.isfinite(np.delete(_core.aside(legs, 1, rise, np.zeros((60, 3)), 2.5, 1), slice(26, 35), axis=0)).all()
    assert np.isfinite(np.delete(_core.rises(legs, 1, 2.5)[1], slice(28, 33))).all()
    assert not np.isnan(np.delete(_core.eased(legs, 1, rise, 2.5, 0.02, 0.1), slice(28, 33))).any()
    legs[1][0][30] = np.nan
    assert np.isfinite(np.delete(_core.jerk(legs, 1, rise, 1, 2.5), slice(24, 37))).all()


LEGS = hung(2, 4)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("agreed", ((), LIMITS)),
        ("agreed", (((np.zeros((4, 1)),),), LIMITS)),
        ("agreed", (((np.zeros((4, 1)), np.ones(4), np.zeros((4, 3)), np.zeros((4, 2)), 1.0),), LIMITS)),
        ("rises", ((), 1, 2.0)),
        ("rises", (LEGS[0], 1, 2.0)),
        ("rises", ((*LEGS, LEGS[0][:-1]), 1, 2.0)),
        ("rises", ((*LEGS, hung(1, 5)[0]), 1, 2.0)),
        ("rises", (LEGS, 3, 2.0)),
        ("rises", (LEGS, 1, -1.0)),
        ("eased", (LEGS, 1, np.zeros(5), 2.0, 0.02, 0.1)),
        ("eased", (LEGS, 1, np.zeros(4), np.nan, 0.02, 0.1)),
        ("jerk", (LEGS, 1, None, 0, 2.0)),
        ("jerk", (LEGS, 1, None, 1, 1e18)),
        ("jerk", (LEGS, 1, np.zeros((4, 3)), 1, 2.0)),
        ("aside", (LEGS, 1, np.zeros(5), np.zeros((4, 3)), 2.0, 1.0)),
        ("aside", (LEGS, 1, np.zeros(4), np.zeros((4, 2)), 2.0, 1.0)),
        ("aside", (LEGS, 1, np.zeros(4), np.zeros((4, 3)), -2.0, 1.0)),
        ("aside", (LEGS, -1, np.zeros(4), np.zeros((4, 3)), 2.0, 1.0)),
    ],
)
def test_what_does_not_fit_is_refused(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(_core, name)(*given)
