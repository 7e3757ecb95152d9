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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_reach_as_far_as_those_of_numpy(dtype: Any) -> None:
    points = np.random.default_rng(6).normal(size=(20, 12, 3)).astype(dtype)
    for seen in (points, points[:, ::-2], points[::3, 2:3], points[0]):
        assert_array_equal(_core.extent(seen), np.ptp(seen, axis=-2))
        assert _core.extent(seen).dtype == dtype
    assert_array_equal(_core.extent(points, [3, 0, 7]), np.ptp(points[:, [3, 0, 7]], axis=1))
    points[4, 5, 1] = np.nan
    assert np.isnan(_core.extent(points)).sum() == 1
    assert not np.isnan(_core.extent(points, [4, 6])).any()
    for wrong in ([12], [-1], []):
        with pytest.raises(ValueError, match="one point at least"):
            _core.extent(points, wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_longest_of_vectors_over_time(dtype: Any) -> None:
    vectors = np.random.default_rng(4).normal(size=(30, 5, 3)).astype(dtype)
    for seen in (vectors, vectors[:1], vectors[::-3, ::2], vectors.swapaxes(0, 1), np.zeros_like(vectors)):
        squares = seen * seen
        lengths = np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2])
        assert_array_equal(_core.longest(seen), lengths.max(axis=0))
        assert _core.longest(seen).dtype == dtype
    assert_array_equal(_core.longest(vectors[:0]), np.zeros(5))
    vectors[7, 2, 1], vectors[3, 4, 0] = np.nan, np.inf
    assert_array_equal(np.isnan(_core.longest(vectors)), np.arange(5) == 2)
    assert _core.longest(vectors)[4] == np.inf
    with pytest.raises(TypeError, match="longest"):
        _core.longest(vectors[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_are_those_of_the_point_that_goes_the_farthest(dtype: Any) -> None:
    points = np.random.default_rng(7).normal(size=(20, 4, 3)).astype(dtype)
    for seen in (points, points[::-1, ::2], points[:2], points[:, :1]):
        way = seen[1:] - seen[:-1]
        far = np.sqrt(way[..., 0] * way[..., 0] + way[..., 1] * way[..., 1] + way[..., 2] * way[..., 2]).max(axis=1)
        assert_array_equal(_core.steps(seen), np.concatenate([far[:1], far, far[-1:]]))
        assert _core.steps(seen).dtype == dtype
    assert_array_equal(_core.steps(points[:1]), np.zeros(2))


@pytest.mark.parametrize("count", [1, 2, 3, 10, 11, 500])
def test_numbers_by_their_order_are_those_of_numpy(count: int) -> None:
    random = np.random.default_rng(count)
    for values in (random.normal(size=count), np.arange(count)[::-1] * 1.0, random.integers(0, 3, count) * 1.0):
        for percent in (0, 2, 25, 50, 98, 99.5, 100):
            assert_allclose(_core.percentile(values, percent), np.percentile(values, percent), rtol=1e-14, atol=1e-300)
        assert _core.middle(values) == np.sort(values)[count // 2]
        more = np.insert(values, [0, count // 2, count], [np.inf, np.nan, -np.inf])
        assert _core.percentile(more, 25) == _core.percentile(values, 25)
        assert _core.middle(more[::-1]) == _core.middle(values)


def test_numbers_by_their_order_of_many_rows_and_intervals() -> None:
    rows = np.random.default_rng(8).normal(size=(3, 41))
    rows[1, ::2], rows[2] = np.inf, np.nan
    edges = np.array([[0, 1], [3, 5], [3, 41], [40, 41]])
    expected = [np.median(rows[0, start:stop]) for start, stop in edges]
    assert_array_equal(_core.medians(rows[0], edges), expected)
    assert _core.medians(rows[0], edges[:0]).shape == (0,)
    assert np.isfinite(_core.medians(np.where(rows[0] > 0, np.nan, 1), edges)).size == 4  # whichever, but no crash
    for wrong in ([[0, 42]], [[-1, 3]], [[5, 5]], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="intervals"):
            _core.medians(rows[0], np.array(wrong))


@pytest.mark.parametrize("frames", [0, 1, 20])
def test_chains_are_as_long_as_their_bones(frames: int) -> None:
    points = np.random.default_rng(9).normal(size=(frames, 5, 3))
    for chain in (points, points[:, ::-2], points[:, 1:3], points[:, :1], points[:, :0]):
        bones = np.diff(chain, axis=1)
        expected = np.zeros(frames)
        for x, y, z in np.moveaxis(bones, (1, 2), (0, 1)):
            expected += np.sqrt(x * x + y * y + z * z)
        assert_array_equal(_core.lengths(chain), expected)
    points[:1, 2] = np.nan
    assert np.isnan(_core.lengths(points)).sum() == min(frames, 1)


@pytest.mark.parametrize("frames", [1, 2, 40])
def test_a_point_rests_that_moves_by_little_along_the_ground(frames: int) -> None:
    at = np.random.default_rng(frames).normal(size=(frames, 3)) * [0.1, 1, 0.1]
    way = at[1:] - at[:-1]
    slow, level = (np.sqrt((ways * ways).sum(axis=1)) for ways in (way, way * [1, 0, 1]))
    many, found = _core.rests(at, 1, 30.0, 20.0, 0.15)
    assert many == np.count_nonzero(slow * 30 < 20)
    assert_array_equal(found, 1 + np.flatnonzero((slow * 30 < 20) & (level <= 0.15)))


@pytest.mark.parametrize("order", [0, 1, 4])
def test_the_usual_difference_is_the_middle_one_of_every_column(order: int) -> None:
    rows = np.random.default_rng(order).normal(size=(31, 4))
    off = np.sort(np.abs(np.diff(rows, order, axis=0)), axis=0)
    assert_array_equal(_core.usual_difference(rows, order), off[len(off) // 2])
    for many in (-1, 31):
        with pytest.raises(ValueError, match="orders"):
            _core.usual_difference(rows, many)


@pytest.mark.parametrize("frames", [1, 2, 3, 10, 257])
def test_medians_of_numbers_that_are_often_equal_are_in_the_middle(frames: int) -> None:
    values = np.random.default_rng(frames).integers(0, 4, frames).astype(float)
    whole = np.array([[0, frames]])
    assert _core.medians(values, whole) == np.median(values)
    values[::2] = np.nan
    assert _core.medians(values, whole).shape == (1,)  # whatever it is, it is found


def test_of_no_numbers_there_is_none() -> None:
    assert np.isnan(_core.percentile(np.array([np.nan, np.inf]), 50))
    assert _core.middle(np.zeros(0)) == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("prolonged", (np.zeros((0, 3)), 1, False)),
        ("prolonged", (np.zeros((2, 3)), -1, False)),
        ("path", (np.zeros((2, 3)), np.ones(2), 2.0, 30.0, False)),
        ("path", (np.zeros((0, 3)), np.ones(3), 3.0, 30.0, False)),
        ("ramp", (np.zeros(3), 2.0, False)),
        ("ramp", (np.zeros(3, bool), 0.0, False)),
        ("extent", (np.zeros((4, 2)),)),
        ("extent", (np.zeros((4, 3), int),)),
        ("steps", (np.zeros((4, 3)),)),
        ("rests", (np.zeros((4, 2)), 1, 30.0, 1.0, 1.0)),
        ("rests", (np.zeros((4, 3)), 3, 30.0, 1.0, 1.0)),
        ("usual_difference", (np.zeros((0, 3)), 0)),
        ("straight", (np.zeros(4), np.zeros(0), np.zeros(0))),
        ("straight", (np.zeros(4), np.zeros(2), np.zeros(3))),
        ("straight", (np.zeros((4, 1)), np.zeros(2), np.zeros(2))),
        ("lengths", (np.zeros((4, 3, 2)),)),
    ],
)
def test_what_does_not_fit_is_refused(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(_core, name)(*given)
