"""Vectors in C, beside the same in NumPy, one operation after the other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from ikcore import _arrays, _core
from ikcore.bake import scene

Array = NDArray[Any]

RANDOM = np.random.default_rng(8)
SHAPES = [(3,), (0, 3), (1, 3), (7, 3), (5, 1, 3), (5, 4, 3), (0, 4, 3)]


def dot(a: Array, b: Array) -> Any:
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def crossed(a: Array, b: Array) -> Array:
    x, y, z, u, v, w = (each[..., axis] for each in (a, b) for axis in range(3))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def vectors(*shape: int) -> Array:
    return RANDOM.normal(size=shape) * 10.0 ** RANDOM.integers(-3, 4, shape)


def views(shape: tuple[int, ...]) -> list[Array]:
    """Vectors of a shape that lie in memory as they may: in one block, as columns, with gaps, backwards."""
    plain = vectors(*shape)
    columns = np.asfortranarray(vectors(*shape))
    gaps = vectors(*(2 * size for size in shape))[tuple(slice(None, None, 2) for _ in shape)]
    return [plain, columns, gaps, -vectors(*shape)[..., ::-1], vectors(*shape).astype(np.float32)]


def alike(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_lengths_have_the_bits_of_numpy(shape: tuple[int, ...]) -> None:
    for a, b in itertools.product(views(shape), views(shape)):
        alike(_arrays.dot(a, b), dot(a, b))
        alike(_arrays.cross(a, b), crossed(a, b))
    for a in views(shape):
        alike(_arrays.size(a), np.sqrt(dot(a, a)))
        length = np.sqrt(dot(a, a))
        alike(scene.unit(a), np.asarray(a / np.where(length > 0, length, 1)[..., np.newaxis]))


@pytest.mark.parametrize(
    ("first", "second"), [((3,), (7, 3)), ((7, 3), (3,)), ((5, 4, 3), (5, 1, 3)), ((4, 3), (5, 1, 3))]
)
def test_one_vector_counts_for_all(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    for a, b in itertools.product(views(first), views(second)):
        alike(_arrays.dot(a, b), dot(*np.broadcast_arrays(a, b)))
        alike(_arrays.cross(a, b), crossed(*np.broadcast_arrays(a, b)))


def test_what_is_no_number_stays_with_its_vector() -> None:
    a = vectors(4, 3)
    a[1, 2], a[2, 0], a[3] = np.nan, np.inf, 0
    with np.errstate(invalid="ignore"):
        alike(_arrays.size(a), np.sqrt(dot(a, a)))
        length = np.sqrt(dot(a, a))
        alike(scene.unit(a), a / np.where(length > 0, length, 1)[:, np.newaxis])


@pytest.mark.parametrize("shape", [(1, 3), (9, 1), (9, 4), (6, 2, 3), (5,)])
def test_a_mean_is_added_one_after_the_other(shape: tuple[int, ...]) -> None:
    for rows in views(shape)[:-1]:
        total = rows[0].copy()
        for row in rows[1:]:
            total = total + row
        assert_array_equal(scene.mean(rows), total / len(rows))


def test_the_widest_of_groups() -> None:
    points, ends = vectors(60, 3), [1, 3, 40, 60]
    groups = [points[start:end] for start, end in itertools.pairwise([0, *ends])]
    expected = [max(float(np.sqrt(dot(a - b, a - b))) for a in group for b in group) for group in groups]
    assert_array_equal(_core.widest(points, ends), expected)
    points[20] = np.nan
    assert np.isnan(_core.widest(points, ends)).tolist() == [False, False, True, False]


@pytest.mark.parametrize("ends", [[0], [2, 2], [3, 2], [6]])
def test_groups_must_have_points(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="ends that ascend"):
        _core.widest(np.zeros((5, 3)), ends)


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("same", [False, True])
def test_ways_along_axes(count: int, same: bool) -> None:
    random = np.random.default_rng(count)
    axes, ways = random.normal(size=(3, 3) if same else (count, 3, 3)), random.normal(size=(count, 3))
    found = _core.within(axes, ways)
    each = np.broadcast_to(axes, (count, 3, 3))
    np.testing.assert_allclose((each * found[..., np.newaxis]).sum(axis=1), ways, atol=1e-12)


@pytest.mark.parametrize("wrong", [None, np.zeros(4), np.zeros((4, 3), np.float32), np.zeros((2, 2, 3))])
def test_ways_refuse_what_does_not_fit(wrong: Any) -> None:
    within: Any = _core.within
    good = np.zeros((4, 3))
    for job in ((wrong, good), (np.zeros((4, 3, 3)), wrong), (np.zeros((3, 3, 3)), good)):
        with pytest.raises(TypeError):
            within(*job)


def test_axes_are_solid_that_span_some_volume() -> None:
    axes = RANDOM.normal(size=(40, 2, 3, 3))
    axes[:10, 0, :, 1] = axes[:10, 0, :, 0] * 3  # two in line
    axes[5, 1] = 0
    axes[7, 1, :, 2] *= 1e-7  # thin, but no less solid for that
    axes[8, 1, :, 2] *= 1e-12
    longest = np.sqrt((axes * axes).sum(axis=-2)).max(axis=-1)
    expected = (longest > 0) & (np.abs(np.linalg.det(axes)) > 1e-9 * longest**3)
    assert_array_equal(_core.solid(axes, 1e-9), expected)
    assert not expected[:10, 0].any()
    assert expected[[5, 7, 8], 1].tolist() == [False, True, False]
    assert _core.solid(axes[20, 0].astype(np.float32), 1e-9)
    with pytest.raises(TypeError, match="solid"):
        _core.solid(axes[..., :2], 1e-9)
