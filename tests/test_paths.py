"""Points over time, and numbers by their order, as the core has them, beside what NumPy makes of them step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from ikcore import _core

Array = NDArray[Any]

PATHS = [(1, 3, False), (1, 3, True), (2, 3, False), (2, 5, True), (7, 9, False), (7, 9, True), (30, 4, False)]


def prolonged(rows: Array, more: int, loop: bool) -> Array:
    """Row by row: a loop has got farther by all of its way in each round, what is turned about an end goes back."""

    def row(at: int) -> Array:
        last = len(rows) - 1
        if not last or (0 <= at <= last):
            return np.asarray(rows[min(max(at, 0), last)])
        if loop:
            times, frame = divmod(at, last)
            return np.asarray(rows[frame] + times * (rows[last] - rows[0]))
        end = 0 if at < 0 else last
        return 2 * row(end) - row(2 * end - at)

    return np.array([row(at) for at in range(-more, len(rows) + more)])


@pytest.mark.parametrize(("frames", "more", "loop"), PATHS)
def test_rows_go_on_at_both_ends(frames: int, more: int, loop: bool) -> None:
    rows = np.random.default_rng(frames).normal(size=(frames, 2, 3))
    assert_allclose(_core.prolonged(rows, more, loop), prolonged(rows, more, loop), rtol=1e-12, atol=1e-12)
    assert_array_equal(_core.prolonged(rows[..., 1], 0, loop), rows[..., 1])


def ramp(held: Array, frames: float, loop: bool) -> Array:
    """By the nearest edge of all, those of the rounds before and after too."""
    edges = np.flatnonzero(held[1:] != held[:-1]) + 1.0
    if not len(edges):
        return held.astype(float)
    if loop:
        edges = np.concatenate([edges + times * (len(held) - 1) for times in (-1, 0, 1)])
    away = np.abs(np.arange(len(held))[:, np.newaxis] + 0.5 - edges).min(axis=1) / frames
    share = np.clip(np.where(held, 0.5 + away, 0.5 - away), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))


@pytest.mark.parametrize("loop", [False, True])
def test_a_mask_is_ramped_about_its_edges(loop: bool) -> None:
    random = np.random.default_rng(3)
    for frames in (1, 2, 3, 40, 41, 200):
        for often in (0.0, 0.05, 0.5):
            held = np.logical_xor.accumulate(random.uniform(size=frames) < often)
            assert_array_equal(_core.ramp(held, 7.5, loop), ramp(held, 7.5, loop))
    many = random.uniform(size=(30, 4)) < 0.5
    assert_array_equal(_core.ramp(many.T, 7.5, loop), [ramp(held, 7.5, loop) for held in many.T])
    assert _core.ramp(many[:, :0], 7.5, loop).shape == (30, 0)


def straight(times: Array, knots: Array, values: Array) -> Array:
    """By the knots on both sides of each time."""
    after = np.searchsorted(knots, times, side="right")
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(knots) - 1)
    span = knots[after] - knots[before]
    share = np.clip((times - knots[before]) / np.where(span > 0, span, 1), 0, 1)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[before] + share * (values[after] - values[before]))


@pytest.mark.parametrize("many", [1, 2, 3, 40])
def test_between_knots_is_straight(many: int) -> None:
    random = np.random.default_rng(many)
    knots = np.sort(random.integers(0, 60, many))  # some of them twice
    times = np.concatenate([np.arange(-2, 63), random.uniform(-5, 70, 50), knots[::-1], [np.nan, np.inf, -np.inf, 3]])
    for values in (random.normal(size=many), random.normal(size=(many, 3)), random.normal(size=(many, 2, 3))[:, ::-1]):
        assert_array_equal(_core.straight(times, knots, values), straight(times, knots, values))
        assert _core.straight(times[:0], knots, values).shape == (0, *values.shape[1:])


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11, 500])
def test_numbers_by_their_order_are_those_of_numpy(count: int) -> None:
    random = np.random.default_rng(count)
    for values in (random.normal(size=count), np.arange(count)[::-1] * 1.0, random.integers(0, 3, count) * 1.0):
        for percent in (0, 2, 25, 50, 98, 99.5, 100):
            assert_allclose(_core.percentile(values, percent), np.percentile(values, percent), rtol=1e-14, atol=1e-300)
        more = np.insert(values, [0, count // 2, count], [np.inf, np.nan, -np.inf])
        assert _core.percentile(more, 25) == _core.percentile(values, 25)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("prolonged", (np.zeros((0, 3)), 1, False)),
        ("prolonged", (np.zeros((2, 3)), -1, False)),
        ("ramp", (np.zeros(3), 2.0, False)),
        ("ramp", (np.zeros(3, bool), 0.0, False)),
        ("straight", (np.zeros(4), np.zeros(0), np.zeros(0))),
        ("straight", (np.zeros(4), np.zeros(2), np.zeros(3))),
        ("straight", (np.zeros((4, 1)), np.zeros(2), np.zeros(2))),
    ],
)
def test_what_does_not_fit_is_refused(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(_core, name)(*given)
