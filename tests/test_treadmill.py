"""The velocity of the ground under a clip, as the core has it, beside what NumPy makes of it step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core, samples
from ikcore.feet import treadmill
from ikcore.feet.paths import Paths

Array = NDArray[Any]

BELT = np.array([0.3, 0, -1.2])
LIMITS = np.array([0.2, 0.1, 1e-9])
belts: Any = _core.belts


def points_on_a_belt(frames: int) -> tuple[Array, Array, Array]:
    """Velocities (frames, 3, 3) of points that go with it but in swing; when they are low; and a body that stays."""
    random = np.random.default_rng(frames)
    velocities = BELT + random.normal(scale=0.01, size=(frames, 3, 3))
    velocities[: frames // 3] = random.normal(scale=3, size=(frames // 3, 3, 3))
    velocities[:, 2] += 50
    low = np.ones((3, frames), bool)
    low[2] = False
    return velocities, low, random.normal(scale=0.01, size=(frames, 3))


def belt(velocities: Array, low: Array, limits: Array, body: Array, fps: float) -> Array:
    """The median of those that are near it, of a body that does not go along."""
    which, most = low.T, np.zeros(3)
    near = which
    for _ in range(9):
        if not near.any():
            return np.zeros(3)
        most = np.median(velocities[near], axis=0)
        near = which & (np.linalg.norm(velocities - most, axis=-1) < limits)
    travel, speed = (body[-1] - body[0]) * fps / max(len(body) - 1, 1), np.linalg.norm(most)
    stays = np.linalg.norm(travel) < speed / 2 and travel @ most < 0.2 * speed**2
    return most if speed > limits.max() and stays else np.zeros(3)


@pytest.mark.parametrize("frames", [1, 2, 12, 80])
def test_a_belt_goes_as_most_points_do(frames: int) -> None:
    velocities, low, body = points_on_a_belt(frames)
    for start, stop in ((0, frames), (frames // 2, frames), (0, max(frames // 4, 1))):
        part = slice(start, stop)
        expected = belt(velocities[part], low[:, part], LIMITS, body[part], 30)
        found = _core.belts(velocities, low, LIMITS, body, 30, [start], stop - start)
        assert_allclose(found, [expected], rtol=1e-12)
    if frames > 10:
        assert_allclose(_core.belts(velocities, low, LIMITS, body, 30, [0], frames), [BELT], atol=0.01)


def test_no_ground_moves_where_none_is_near_or_slow_or_a_body_goes_along() -> None:
    velocities, low, body = points_on_a_belt(80)
    along = body + BELT * np.arange(80)[:, np.newaxis] / 30
    jobs: list[tuple[Any, ...]] = [
        (velocities, np.zeros_like(low), LIMITS, body),
        (velocities, low, 0 * LIMITS, body),
        (velocities, low, LIMITS + 2, body),
        (velocities, low, LIMITS, along),
        (velocities * np.nan, low, LIMITS, body),
        (velocities, low, LIMITS, body * np.nan),
    ]
    for job in jobs:
        assert_array_equal(belts(*job, 30, [0, 20], 60), np.zeros((2, 3)))
    assert _core.belts(velocities, low, LIMITS, body, 30, [], 60).shape == (0, 3)


def slide(velocities: Array, low: Array, limits: Array, way: Array) -> float:
    """The median share of the way that feet slide; 0 if the remaining slide is at least half as large."""
    speeds = np.linalg.norm(velocities, axis=-1)
    slow = low.T & (speeds < 1.5 * limits) & (np.linalg.norm(way, axis=-1) > limits.max())[:, np.newaxis]
    if not slow.any():
        return 0.0
    slides, ways = velocities[slow], np.broadcast_to(way[:, np.newaxis], velocities.shape)[slow]
    share = float(np.median((slides * ways).sum(axis=-1) / (ways * ways).sum(axis=-1)))
    others = np.median(np.linalg.norm(slides - share * ways, axis=-1) / np.linalg.norm(ways, axis=-1))
    return share if abs(share) >= max(0.05, 2 * others) else 0.0


@pytest.mark.parametrize("frames", [0, 1, 2, 80])
@pytest.mark.parametrize("share", [0.1, -0.08, 0.03])
def test_feet_slide_by_a_share_of_the_way(frames: int, share: float) -> None:
    random = np.random.default_rng(frames)
    way = np.array([0.3, 0, 1]) + random.normal(scale=0.1, size=(frames, 3))
    way[: frames // 4] = 0
    low, limits = random.uniform(size=(3, frames)) < 0.7, np.array([0.3, 0.2, 0.3])
    for scale in (0.001, 0.2):
        velocities = way[:, np.newaxis] * share + random.normal(scale=scale, size=(frames, 3, 3))
        found = _core.slide(velocities, low, limits, way)
        assert_allclose(found, slide(velocities, low, limits, way), rtol=1e-12)
        assert (found != 0) == (frames > 0 and low.any() and abs(share) > 0.05 and scale < 0.1)
    assert _core.slide(velocities * np.nan, low, limits, way) == 0
    assert _core.slide(velocities, low, limits, way * np.nan) == 0


@pytest.mark.parametrize("frames", [0, 1, 20])
def test_speeds_are_relative_to_the_ground(frames: int) -> None:
    velocities = np.random.default_rng(frames).normal(size=(frames, 4, 3))
    ground = np.random.default_rng(1).normal(size=(frames, 3))
    x, y, z = np.moveaxis(velocities - ground[:, np.newaxis], -1, 0)
    assert_array_equal(_core.speeds(velocities, ground), np.sqrt(x * x + y * y + z * z).T)


def test_what_does_not_fit_is_refused() -> None:
    velocities, low, body = points_on_a_belt(8)
    right: list[Any] = [velocities, low, LIMITS, body]
    wrong = [velocities[:7], low.T, LIMITS[:2], body[:, :2]]
    for at, part in enumerate(wrong):
        job = [*right[:at], part, *right[at + 1 :]]
        with pytest.raises(TypeError):
            _core.slide(*job)
        with pytest.raises(TypeError):
            belts(*job, 30, [0], 8)
    for starts, frames in (([1], 8), ([-1], 4), ([0], 0), ([9], 1)):
        with pytest.raises(ValueError, match="frames"):
            _core.belts(velocities, low, LIMITS, body, 30, starts, frames)
    for ground in (body[:7], body[:, :2], body.astype(np.float32)):
        with pytest.raises(TypeError):
            _core.speeds(velocities, ground)


@pytest.mark.parametrize(("frames", "over", "goes"), [(20, True, True), (4, True, False), (20, False, False)])
def test_no_ground_moves_under_a_body_that_goes_over_a_foot_that_stands(frames: int, over: bool, goes: bool) -> None:
    """Though points that are low seem to go back: of what was cut out of a clip that was baked, few are known. Not if
    it stands for less than a contact, nor if the body stands over it."""
    clip = samples.walk(seconds=3).clip
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    paths = Paths(clip, feet, None)
    ball = paths.keys.index(("left", "ball"))
    stands = slice(12, 12 + frames)
    assert np.abs(paths.velocities[stands, ball]).max() < 1e-9
    kept = paths.velocities[stands, ball].copy()
    paths.velocities[:] = [0, 0, -4]
    assert_array_equal(treadmill.moving(paths)[0][:, 2], -4)
    paths.velocities[stands, ball] = kept
    if not over:
        paths.body, paths.points = paths.body * [1, 1, 0], paths.points * [1, 1, 0]
    ground, slide = treadmill.moving(paths)
    assert ground.any() != goes
    assert not slide.any()
