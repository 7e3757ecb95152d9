"""Numbers over time: rows beyond both ends, ramps, interpolation and percentiles, against one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from ikcore.feet import time_series

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
    assert_allclose(time_series.extend_rows(rows, more, loop), prolonged(rows, more, loop), rtol=1e-12, atol=1e-12)
    assert_array_equal(time_series.extend_rows(rows[..., 1], 0, loop), rows[..., 1])


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
            assert_array_equal(time_series.ramp(held, 7.5, loop), ramp(held, 7.5, loop))
            assert_array_equal(time_series.ramp(held[np.newaxis], 7.5, loop), [ramp(held, 7.5, loop)])


@pytest.mark.parametrize("many", [1, 2, 3, 40])
def test_between_knots_is_straight(many: int) -> None:
    random = np.random.default_rng(many)
    knots = np.sort(random.choice(60, many, replace=False))
    times = np.concatenate([np.arange(-2, 63), random.uniform(-5, 70, 50), knots[::-1]])
    for values in (random.normal(size=many), random.normal(size=(many, 3)), random.normal(size=(many, 2, 3))[:, ::-1]):
        columns = [np.interp(times, knots, column) for column in values.reshape(many, -1).T]
        found = time_series.straight(times, knots, values)
        assert_allclose(found.reshape(len(times), -1), np.stack(columns, axis=1), rtol=1e-12, atol=1e-12)
        assert time_series.straight(times[:0], knots, values).shape == (0, *values.shape[1:])


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11, 500])
def test_numbers_by_their_order_are_those_of_numpy(count: int) -> None:
    random = np.random.default_rng(count)
    drawn: list[Array] = [random.normal(size=count), np.arange(count)[::-1] * 1.0, random.integers(0, 3, count) * 1.0]
    for values in drawn:
        for percent in (0, 2, 25, 50, 98, 99.5, 100):
            assert_allclose(
                time_series.percentile(values, percent), np.percentile(values, percent), rtol=1e-14, atol=1e-300
            )
        more = np.insert(values, [0, count // 2, count], [np.inf, np.nan, -np.inf])
        assert time_series.percentile(more, 25) == time_series.percentile(values, 25)
