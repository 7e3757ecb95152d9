"""Points that are planted as frames come: `FootLock`."""

from __future__ import annotations

import numpy as np
import pytest

import ikcore as ik

FPS = 60


def run(lock: ik.FootLock, way: np.ndarray, planted: np.ndarray) -> np.ndarray:
    """All frames of one point."""
    return np.array([lock.step([at], [down])[0] for at, down in zip(way, planted, strict=True)])


def sliding(frames: int = 90) -> np.ndarray:
    """A point that goes ahead by 0.1 m/s, and up and down."""
    time = np.arange(frames) / FPS
    return np.stack([0.02 * np.sin(3 * time), 0.05 * np.sin(2 * time) ** 2, 0.1 * time], axis=-1)


def test_a_planted_point_comes_to_stand_and_stays() -> None:
    way = sliding()
    found = run(ik.FootLock(1, FPS), way, np.full(len(way), True))
    assert np.array_equal(found, np.broadcast_to(way[0], way.shape))


def test_a_free_point_goes_its_own_way_to_the_bit() -> None:
    way = sliding()
    assert np.array_equal(run(ik.FootLock(1, FPS), way, np.full(len(way), False)), way)


@pytest.mark.parametrize("fps", [30, 60, 240])
def test_neither_place_nor_speed_jumps(fps: int) -> None:
    time = np.arange(3 * fps) / fps
    way = np.stack([0.1 * np.sin(4 * time), 0 * time, 0.3 * time], axis=-1)
    planted = (time > 0.5) & (time < 0.9) | (time > 1.4) & (time < 2)
    found = run(ik.FootLock(1, fps, unlock=5), way, planted)
    speed = np.linalg.norm(np.diff(found, axis=0), axis=1) * fps
    acceleration = np.linalg.norm(np.diff(found, n=2, axis=0), axis=1) * fps * fps
    assert speed.max() < 2.0  # it catches up with 0.12 m within some tenths of a second
    assert acceleration.max() < 60.0  # where a jump of the speed by 0.3 m/s at 240 frames a second would be 72


def test_it_returns_by_the_closed_form() -> None:
    lock, half_life = ik.FootLock(1, 1000, half_life=0.1, unlock=1), 0.1
    lock.step([[0.0, 0, 0]], [True])
    lock.step([[0.1, 0, 0]], [True])  # its own way stands 0.1 m ahead from here on
    lock.step([[0.1, 0, 0]], [True])
    found = np.array([lock.step([[0.1, 0, 0]], [False])[0, 0] for _ in range(201)])
    time, y = np.arange(201) / 1000, 2 * np.log(2) / half_life
    assert np.allclose(0.1 - found, 0.1 * np.exp(-y * time) * (1 + y * time), atol=1e-12)
    assert abs((0.1 - found)[100] / 0.1 - 0.597) < 1e-3  # a figure published for this spring


def test_what_is_left_behind_is_let_go_and_waits_until_it_is_lifted() -> None:
    way = np.arange(120)[:, np.newaxis] * [0.01, 0, 0]
    lock = ik.FootLock(1, FPS, unlock=0.2)
    held = []
    for at in way:
        lock.step([at], [True])
        held.append(bool(lock.held[0]))
    assert held == [frame <= 20 for frame in range(120)]
    lock.step([way[-1]], [False])
    lock.step([way[-1]], [True])
    assert lock.held[0]


def test_a_contact_that_flickers_does_not_rattle() -> None:
    way = sliding()
    lock = ik.FootLock(1, FPS)
    changes, before = 0, False
    for frame, at in enumerate(way):
        lock.step([at], [frame % 2 == 0])
        changes += bool(lock.held[0]) != before
        before = bool(lock.held[0])
    assert changes <= 2 * len(way) / (0.1 * FPS) + 1  # without a rest it would be as many as frames


def test_many_points_are_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    ways, planted = np.cumsum(rng.normal(0, 0.01, (80, 5, 3)), axis=0), rng.random((80, 5)) < 0.6
    lock = ik.FootLock(5, FPS)
    together = np.array([lock.step(at, down) for at, down in zip(ways, planted, strict=True)])
    for point in range(5):
        alone = run(ik.FootLock(1, FPS), ways[:, point], planted[:, point])
        assert np.array_equal(alone, together[:, point])


def test_what_is_not_finite_stays_where_it_was() -> None:
    lock = ik.FootLock(1, FPS)
    lock.step([[1.0, 2, 3]], [False])
    assert lock.step([[np.nan, 0, 0]], [False]).tolist() == [[1, 2, 3]]
    assert np.isfinite(lock.step([[1.0, 2, 3]], [True])).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ik.FootLock(0, 60), "count"),
        (lambda: ik.FootLock(1, 0), "fps"),
        (lambda: ik.FootLock(1, 60, half_life=-1), "half_life"),
        (lambda: ik.FootLock(1, 60, rest=-1), "rest"),
        (lambda: ik.FootLock(1, 60, rest=float("nan")), "rest"),
        (lambda: ik.FootLock(2, 60).step([[0, 0, 0]], [True, True]), "2 points"),
    ],
)
def test_wrong_calls_say_what(call, said) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=said):
        call()
