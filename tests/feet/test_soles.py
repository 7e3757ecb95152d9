"""Feet that stand flat, in C: beside the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from ikcore import _core

Array = NDArray[Any]
HEEL, WIDE, STEEP, TO_BALL = 0.25, 0.22, 2.0, 0.65


def dot(a: Array, b: Array) -> Array:
    products = a * b
    return np.asarray(products[..., 0] + products[..., 1] + products[..., 2])


def size(a: Array) -> Array:
    return np.sqrt(dot(a, a))


def flat_frames(steps: Array, heights: Array, least: float, wanted: int) -> Array:
    with np.errstate(all="ignore"):
        moves = np.floor(np.maximum(steps[:-1], steps[1:]) / least)
    low = np.argsort(heights.sum(axis=1), kind="stable")[: (len(heights) + 1) // 2]
    return np.sort(low[np.argsort(moves[low], kind="stable")[:wanted]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("frames", [0, 1, 2, 3, 50, 523])
def test_a_foot_is_flat_where_it_is_low_and_stands(frames: int, dtype: Any) -> None:
    random = np.random.default_rng(frames)
    for least in (1e-4, 0.05, 0.3, 0.0):
        steps, heights = random.uniform(size=frames + 1).astype(dtype), random.normal(size=(frames, 3))
        for places in (heights, heights.round(1), np.zeros_like(heights), np.asfortranarray(heights)):
            for wanted in (0, 1, frames // 8, frames):
                found = _core.flat_frames(steps, places, least, wanted)
                assert_array_equal(found, flat_frames(steps, places, least, wanted))


def test_frames_that_say_nothing_are_the_last_to_be_taken() -> None:
    random = np.random.default_rng(1)
    steps, heights = random.uniform(size=101), random.normal(size=(100, 2))
    steps[20:30], heights[::7, 1], heights[1::9] = np.nan, np.nan, np.inf
    for wanted in (5, 20, 50):
        assert_array_equal(_core.flat_frames(steps, heights, 0.1, wanted), flat_frames(steps, heights, 0.1, wanted))
    still = np.zeros(101)
    assert_array_equal(_core.flat_frames(still, heights, 0.0, 9), flat_frames(still, heights, 0.0, 9))
    with pytest.raises(TypeError, match="steps"):
        _core.flat_frames(steps[1:], heights, 0.1, 5)


def stood(foot: Any) -> tuple[bool, Array, Array, Array, Array]:
    at, up, front, (_, toe, side), (depth, tiny, to_ball) = foot
    height = np.min([dot(joint, up) for joint in np.moveaxis(at, 1, 0)], axis=0) - depth
    ahead = at[:, -1] - at[:, 0]
    ahead = ahead - up * dot(ahead, up)[:, np.newaxis]
    long = size(ahead)
    point = bool((long <= tiny).all())
    ahead = np.broadcast_to(front, ahead.shape) if point else ahead / np.where(long > 0, long, 1)[:, np.newaxis]
    return point, height, long if toe else long / to_ball, ahead, np.cross(ahead, up) * side


def places(foot: Any) -> dict[str, Array]:
    at, up, _, (has_ball, has_toe, _), _ = foot
    point, height, long, ahead, inner = stood(foot)
    ankle, long = at[:, 0], long[:, np.newaxis]

    def under(place: Array) -> Array:
        return np.asarray(place + up * (height - dot(place, up))[:, np.newaxis])

    if point:
        return {"ball": under(ankle)}
    ball = at[:, 1] if has_ball else ankle + TO_BALL * long * ahead
    toe = at[:, -1] if has_toe else ankle + long * ahead
    over = ball - ankle
    over = over - up * dot(over, up)[:, np.newaxis]
    on_toes = dot(ankle, up) - height > STEEP * size(over)
    heel = np.where(on_toes[:, np.newaxis], np.nan, under(ankle - HEEL * long * ahead))
    wide = WIDE * long * inner
    return {
        "heel": heel,
        "ball": under(ball),
        "toe": under(toe),
        "inner": under(ball + wide),
        "outer": under(ball - wide),
    }


def made(frames: int, ball: bool, toe: bool, dtype: Any = np.float64, *, tiny: float = 0.01, high: float = 0.3) -> Any:
    random = np.random.default_rng(frames)
    line = np.linspace([0, high, 0], [0.1, 0, 0.3], 1 + ball + toe) if ball or toe else np.zeros((1, 3))
    at = (line + random.normal(scale=0.03, size=(frames, len(line), 3))).astype(dtype)
    up = np.array([0.0, 1, 0]) + random.normal(scale=0.1, size=(frames, 3))
    front = np.array([0.0, 0, 1])
    return at, up / size(up)[:, np.newaxis], front, (ball, toe, -1.0), (0.02, tiny, TO_BALL)


def spaces(frames: int) -> tuple[Array, Array]:
    random = np.random.default_rng(frames)
    return random.normal(size=(frames, 2, 3)), random.normal(size=(frames, 2, 3, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("joints", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("frames", [1, 2, 65])
def test_soles_are_below_the_joints_of_a_foot(frames: int, joints: tuple[bool, bool], dtype: Any) -> None:
    origins, axes = spaces(frames)
    for high, tiny in ((0.1, 0.01), (0.7, 0.01), (0.3, 9.0)):
        foot = made(frames, *joints, dtype, tiny=tiny, high=high)
        seen, wanted = _core.stood(*foot), stood(foot)
        assert seen[0] == wanted[0] == (tiny > 1 or not any(joints))
        for one, other in zip(seen[1:], wanted[1:], strict=True):
            assert_array_equal(one, other)
        point, offsets = _core.flat_soles(foot, origins, axes, (HEEL, WIDE, STEEP))
        assert point == seen[0]
        named, there = dict(zip(("heel", "ball", "toe", "inner", "outer"), offsets, strict=True)), places(foot)
        for name, offset in named.items():
            carrier = int(not point and name in ("ball", "toe"))
            ways = there.get(name, np.full((frames, 3), np.nan)) - origins[:, carrier]
            along = _core.within(np.ascontiguousarray(axes[:, carrier]), ways)
            along = along[~np.isnan(along).any(axis=1)]
            assert offset == (tuple(np.median(along, axis=0).tolist()) if len(along) else None), name


def test_what_is_not_known_of_a_foot_makes_no_sole() -> None:
    origins, axes = spaces(5)
    foot = made(5, True, True)
    foot[0][2] = np.nan
    some = _core.flat_soles(foot, origins, axes, (HEEL, WIDE, STEEP))[1]
    assert all(offset is not None and np.isfinite(offset).all() for offset in some)
    foot[0][:] = np.nan
    assert _core.flat_soles(foot, origins, axes, (HEEL, WIDE, STEEP)) == (False, (None,) * 5)
    none = made(0, True, True)
    assert _core.flat_soles(none, *spaces(0), (HEEL, WIDE, STEEP)) == (True, (None,) * 5)
    assert [part.shape for part in _core.stood(*none)[1:]] == [(0,), (0,), (0, 3), (0, 3)]
    flat = made(5, True, True)
    flat[0][:] = 0.0
    assert _core.flat_soles(flat, origins, np.zeros_like(axes), (HEEL, WIDE, STEEP)) == (True, (None,) * 5)


@pytest.mark.parametrize("wrong", ["at", "up", "front", "origins", "axes", "foot"])
def test_the_core_refuses_feet_that_do_not_fit(wrong: str) -> None:
    at, up, front, parts, sizes = made(5, True, True)
    origins, axes = spaces(5)
    at = at[:, :2] if wrong == "at" else at
    up = up[1:] if wrong == "up" else up
    front = front[:2] if wrong == "front" else front
    origins = origins[:, :1] if wrong == "origins" else origins
    axes = axes[:4] if wrong == "axes" else axes
    foot: Any = None if wrong == "foot" else (at, up, front, parts, sizes)
    with pytest.raises(TypeError, match=wrong):
        _core.flat_soles(foot, origins, axes, (HEEL, WIDE, STEEP))
