"""What a foot that swings has to get over, as the core has it, beside the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core
from ikcore.bake.way import _passed

Array = NDArray[Any]

FRAMES, EACH = 30, 4


def points_of(seed: int) -> tuple[np.random.Generator, Array]:
    random = np.random.default_rng(seed)
    return random, random.normal(size=(FRAMES, EACH, 3))


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("by", [0.02, -0.01])
def test_points_go_farther_from_where_the_foot_is(by: float, axis: int) -> None:
    random, points = points_of(axis)
    origins, which, before = random.normal(size=(FRAMES, 3)), np.array([3, 1]), points.copy()
    points[4, 1] = before[4, 1] = origins[4] + np.roll([1e-3, 1, 0], axis - 1)  # nearer than it is moved
    _core.farther(points, origins, which, by, axis)
    assert_array_equal(points[:, [0, 2]], before[:, [0, 2]])
    arm = before - origins[:, np.newaxis]
    arm[..., axis] = 0
    far = np.sqrt(arm[..., 0] * arm[..., 0] + arm[..., 1] * arm[..., 1] + arm[..., 2] * arm[..., 2])
    moved = before + arm * (by / np.maximum(far, abs(by)))[..., np.newaxis]
    assert_array_equal(points[:, which], moved[:, which])


def test_the_upper_side_of_a_step_is_there_before_and_after_it() -> None:
    random = np.random.default_rng(2)
    heights = np.round(random.normal(scale=0.05, size=(60, EACH)), 2)
    heights[random.uniform(size=heights.shape) < 0.2] = np.nan
    known = np.where(np.isnan(heights), -np.inf, heights)
    around = np.concatenate([known[:1], known, known[-1:]])
    most = np.maximum(np.maximum(around[2:], around[:-2]), known)
    expected = np.where(most > known + 0.04, most, heights)
    assert_array_equal(_core.swept(heights, 0.04), expected)
    assert_array_equal(_core.swept(heights[:1], 0.04), heights[:1])
    assert (np.isnan(heights) & ~np.isnan(expected)).any()


@pytest.mark.parametrize("toe", [-1, 2])
def test_a_foot_lacks_what_the_worst_of_its_points_does(toe: int) -> None:
    random, points = points_of(5)
    heights, above = random.normal(size=(2, FRAMES, EACH)) * [[[0.1]], [[0.05]]]
    heights[random.uniform(size=heights.shape) < 0.3] = np.nan
    heights[7] = np.nan
    thick = random.uniform(0, 0.02, EACH)
    found = _core.lack(heights, points, above, thick, 1, 0.01, 0.02, toe, 0.5)
    deep = np.maximum(above, np.minimum(-2 * 0.02 - above, 0))  # a foot that is deep is as good as one that is not
    lack = heights + thick + np.minimum(deep, 0.01) - points[..., 1]
    lack[:, toe] -= 0.5 * (toe >= 0)
    assert_array_equal(found, np.fmax.reduce(lack, axis=1))
    assert np.isnan(found).sum() == np.isnan(heights).all(axis=1).sum() > 0


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("rounding", [0.0, 1e-14, -1e-14, 1e-12, -1e-12])
def test_what_touches_the_ground_goes_through_nothing(rounding: float, up: Any) -> None:
    """A point comes down to a slope exactly, slides down on it and leaves; another goes through it to 1 mm below."""
    axes = [0, 1, 2] if up == "y" else [0, 2, 1]
    body, faces = np.array([[-5, -1.0, -5], [5, -1.0, -5], [-5, 1.0, 5], [5, 1.0, 5]]), np.array([[0, 2, 1], [1, 2, 3]])
    ground = ik.Ground.mesh(body[:, axes], faces if up == "y" else faces[:, ::-1], up=up)
    lands = np.array([[0.1, 0.4, 1.0], [0.1, 0.14, 0.7], [0.1, 0.1, 0.5], [0.1, 0.3, 0.2]])
    points = np.stack([lands, lands], axis=1)
    points[1:3, 1, 1] -= 1e-3
    points[..., 1] += rounding
    height = ground.at(points[..., axes], above=9, below=9).height
    passed = _passed(height, np.ascontiguousarray(points[..., axes]), ground, 1.0, 1)
    assert_array_equal(passed[:, 0], height[:, 0])
    assert (passed[:, 1] > height[:, 1]).any()


def test_how_far_frames_are_from_the_ends_of_their_swing() -> None:
    near = _core.nearer(np.array([[0, 4], [7, 12], [14, 15], [17, 20]]), 20, 10.0, 0.25)
    expected = np.zeros(20)
    expected[[0, 1, 2, 3]] = 0.25, 0.3, 0.2, 0.1  # it began before the clip
    expected[7:12] = 0.1, 0.2, 0.3, 0.2, 0.1
    expected[14] = 0.1
    expected[17:] = 0.1, 0.2, 0.25
    np.testing.assert_allclose(near, expected, rtol=1e-12)
    assert_array_equal(_core.nearer(np.zeros((0, 2), np.intp), 3, 10.0, 0.25), np.zeros(3))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("farther", (np.zeros((4, 2, 3)), np.zeros((4, 3)), np.array([2]), 0.1, 1)),
        ("farther", (np.zeros((4, 2, 3)), np.zeros((3, 3)), np.array([1]), 0.1, 1)),
        ("farther", (np.zeros((4, 2, 3))[:, ::2], np.zeros((4, 3)), np.array([0]), 0.1, 1)),
        ("farther", (np.zeros((4, 2, 3)), np.zeros((4, 3)), np.array([0]), 0.1, 3)),
        ("swept", (np.zeros(4), 0.1)),
        ("swept", (np.zeros((4, 6))[:, ::2], 0.1)),
        ("lack", (np.zeros((4, 2)), np.zeros((4, 2, 3)), np.zeros((4, 2)), np.zeros(3), 1, 0.1, 0.1, -1, 0.0)),
        ("lack", (np.zeros((4, 2)), np.zeros((4, 2, 3)), np.zeros((4, 2)), np.zeros(2), 1, 0.1, 0.1, 2, 0.0)),
        ("nearer", (np.array([[2, 6]]), 5, 10.0, 0.1)),
        ("nearer", (np.array([[-1, 2]]), 5, 10.0, 0.1)),
    ],
)
def test_what_does_not_fit_is_refused(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(_core, name)(*given)
