"""Motion matching: what comparing with every frame finds, and what a body does that follows it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose

import ikcore as ik

FEET = ["LeftFoot", "RightFoot"]
FPS = 30
CLIPS = [ik.samples.walk(3, speed=speed, fps=FPS).clip for speed in (0.8, 1.3, 1.8)]
TIMES = [0.2, 0.4]


def library(**options: Any) -> ik.learned.MotionMatching:
    return ik.learned.MotionMatching(CLIPS, FEET, times=TIMES, **options)


def turned(clip: ik.Clip, angle: float, *, by: Any = (0, 1, 0), moved: Any = (0, 0, 0)) -> ik.Clip:
    """The clip about an axis through the origin, then moved."""
    turn = ik.rotations.from_axis_angle(by, angle)
    rotations, translations = np.array(clip.pose.rotations), np.array(clip.pose.translations)
    rotations[:, 0] = ref.multiply(turn, rotations[:, 0])
    translations[:, 0] = ik.rotations.rotate(turn, translations[:, 0]) + moved
    return ik.Clip(clip.skeleton, ik.Pose(rotations, translations), clip.fps)


def test_rows_are_what_is_seen_from_the_root() -> None:
    """One row, number by number: feet, their velocities, the root's velocity, its places and headings ahead."""
    made, clip, frame = library(), CLIPS[1], 17
    row = int(np.flatnonzero((made.clip == 1) & (made.frame == frame))[0])
    world = clip.skeleton.forward(clip.pose)
    heading = np.arctan2(*ik.rotations.rotate(world.rotations[frame, 0], [0, 0, 1])[[0, 2]])
    back = ik.rotations.from_axis_angle([0, 1, 0], -heading)
    base = world.positions[:, 0] * [1, 0, 1]
    feet = world.positions[:, [clip.skeleton.index(foot) for foot in FEET]]
    expected = {
        "positions": ik.rotations.rotate(back, feet[frame] - base[frame]),
        "velocities": ik.rotations.rotate(back, (feet[frame + 1] - feet[frame - 1]) * FPS / 2),
        "travel": ik.rotations.rotate(back, (base[frame + 1] - base[frame - 1]) * FPS / 2)[[0, 2]],
        "path": ik.rotations.rotate(back, base[[frame + 6, frame + 12]] - base[frame])[:, [0, 2]],
    }
    at = 0
    for name, numbers in expected.items():
        found = made._table.keys[row, at : at + numbers.size] / made._scales[name]
        assert_allclose(found, numbers.ravel(), atol=1e-6 if name != "velocities" else 1e-5)
        at += numbers.size
    path, facing = made.ahead(row)
    assert_allclose(path, expected["path"], atol=1e-6)
    assert facing.shape == (2,)


def test_groups_are_divided_by_their_deviation_and_weighed() -> None:
    keys = library(weights={"positions": 3.0})._table.keys
    assert_allclose(np.sqrt(keys[:, :6].var(axis=0).mean()), 3)
    assert_allclose(np.sqrt(keys[:, 6:12].var(axis=0).mean()), 1)
    assert not library(weights={"path": 0})._table.keys[:, 14:18].any()


def test_the_nearest_row_is_the_one_that_comparing_finds() -> None:
    made, random = library(), np.random.default_rng(0)
    at = random.integers(len(made), size=200)
    path, facing = made.ahead(at)
    path, facing = path + 0.1 * random.normal(size=path.shape), facing + 0.1 * random.normal(size=facing.shape)
    row, distance = made.search(at, path, facing)
    keys = made._table.keys
    for n in range(200):
        query = keys[at[n]].copy()
        query[14:18] = path[n].ravel() * made._scales["path"]
        query[18:] = np.stack([np.cos(facing[n]), np.sin(facing[n])], axis=-1).ravel() * made._scales["facing"]
        away = np.sqrt(((keys - query) ** 2).sum(axis=-1))
        assert distance[n] == pytest.approx(away.min(), abs=1e-12)
        assert away[row[n]] == pytest.approx(away.min(), abs=1e-12)
    for workers in (1, 2):
        assert made.search(at, path, facing, workers=workers)[0].tolist() == row.tolist()
    assert made.search(at[5], path[5], facing[5])[0] == row[5]


def test_where_a_clip_is_and_how_it_is_turned_means_nothing() -> None:
    other = [turned(clip, 2.0, moved=[3, 0, -1]) for clip in CLIPS]
    assert_allclose(ik.learned.MotionMatching(other, FEET, times=TIMES)._table.keys, library()._table.keys, atol=1e-9)


def test_z_may_be_up() -> None:
    upright = [clip.convert(up="Z") for clip in CLIPS]
    made = ik.learned.MotionMatching(upright, FEET, times=TIMES)
    path, facing = made.ahead(10)
    expected, same = library().ahead(10)
    assert_allclose(facing, same, atol=1e-9)
    assert_allclose(np.linalg.norm(path, axis=-1), np.linalg.norm(expected, axis=-1), atol=1e-9)


def test_a_body_takes_the_walk_that_is_as_fast_as_its_path() -> None:
    made = library(weights={"path": 5.0})
    now = 10
    for clip, speed in ((0, 0.8), (2, 1.8), (1, 1.3)):
        path = np.array([[0, speed * time] for time in TIMES])
        row, _ = made.search(now, path, [0, 0])
        assert made.clip[row] == clip
        now = int(row)


def test_a_jump_has_a_price() -> None:
    path = np.array([[0, 1.8 * time] for time in TIMES])

    def priced(transition: float) -> ik.learned.MotionMatching:
        return library(weights={"path": 5.0}, transition=transition)

    free, dear = priced(0), priced(1e6)
    assert free.clip[free.search(10, path, [0, 0])[0]] == 2
    assert dear.search(10, path, [0, 0])[0] == 10
    row, distance = free.search(10, path, [0, 0])
    _, stays = dear.search(10, path, [0, 0])
    price = float(stays**2 - distance**2)
    assert priced(0.99 * price).search(10, path, [0, 0])[0] == row
    assert priced(1.01 * price).search(10, path, [0, 0])[0] == 10


def test_rows_follow_each_other_to_the_end_of_their_clip() -> None:
    made = library()
    count = len(CLIPS[0]) - 12
    assert made.next([0, count - 2, count - 1, len(made) - 1]).tolist() == [1, count - 1, count - 1, len(made) - 1]
    assert made.clip[[count - 1, count]].tolist() == [0, 1]


def test_what_is_not_finite_stays_where_it_is() -> None:
    ahead = np.array([[[np.nan, 0], [0, 1]], [[0, 0.2], [0, 0.4]]])
    row, distance = library().search([5, 6], ahead, [0, 0])
    assert row[0] == 5
    assert np.isnan(distance).tolist() == [True, False]


def test_it_pickles() -> None:
    made = library(weights={"facing": 2.0}, transition=0.1)
    again = pickle.loads(pickle.dumps(made))
    assert again._table.keys.tobytes() == made._table.keys.tobytes()
    assert again._given == made._given
    assert repr(again) == "MotionMatching(237 frames of 3 clips, 22 numbers each)"


NONE: Any = None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ik.learned.MotionMatching([], FEET), "clips: expected one or more, got none"),
        (lambda: ik.learned.MotionMatching([NONE], FEET), r"clips\[0\]: expected a Clip, got NoneType"),
        (
            lambda: ik.learned.MotionMatching([CLIPS[0], CLIPS[0].resample(24)], FEET),
            r"clips\[1\]: expected the joints",
        ),
        (lambda: ik.learned.MotionMatching(CLIPS, FEET, times=[9]), "clips: expected some frame with 9 s ahead of it"),
        (lambda: ik.learned.MotionMatching(CLIPS, FEET, times=[0.001]), "times: expected at least a frame each"),
        (lambda: library(weights={"size": 1}), "weights: expected names of positions, velocities"),
        (lambda: library(transition=-1), "transition: expected 0 or more, got -1"),
        (lambda: library().search(1000, np.zeros((2, 2)), [0, 0]), "row: expected 0 to 236, got 1000"),
        (lambda: library().search(0.5, np.zeros((2, 2)), [0, 0]), "row: expected whole numbers, got float64"),
    ],
)
def test_what_is_wrong_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError), match=sentence):
        make()
