"""Feet on ground that moves measure as they do where it stands still, if both are moved together."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_bake import feet, positions, sliding, walk

import ikcore as ik
from ikcore import rotations, terrain
from ikcore.feet import Measured, before_and_after, leg_measures, measure, metrics

Array = NDArray[Any]

FRAMES, FPS = 241, 60
SECONDS = np.arange(FRAMES) / FPS


@functools.cache
def bumps() -> ik.Ground:
    return terrain.bumps(0.04, spacing=1.5, count=12)


def about(axis: list[float], angle: Array) -> Array:
    return rotations.from_axis_angle(axis, angle)


def up(height: Array) -> Array:
    return height[:, np.newaxis] * [0.0, 1, 0]


STANDS = 66  # a frame of the walk in which both feet are near the floor

# How ground and all that is on it moves: rotations and translations, none on the first frame.
MOTIONS: dict[str, tuple[Array | None, Array | None]] = {
    "lift": (None, up(3 * (SECONDS / 4) ** 3)),
    "belt": (None, SECONDS[:, np.newaxis] * [0.7, 0, -0.4]),
    "carousel": (about([0, 1, 0], 0.8 * SECONDS), np.sin(SECONDS)[:, np.newaxis] * [1.0, 0, 0]),
    "ship": (about([1, 0, 0.5], 0.15 * np.sin(SECONDS)), up(0.5 * np.sin(2 * SECONDS))),
}


def together(clip: ik.Clip, turned: Array | None, moved: Array | None) -> ik.Clip:
    """A clip whose root is moved, frame by frame."""
    pose, root = clip.pose, int(np.flatnonzero(clip.skeleton.parents < 0)[0])
    turns, places = pose.rotations.copy(), np.array(pose.translations)
    if turned is not None:
        turns[:, root] = rotations.multiply(turned, turns[:, root])
        places[:, root] = rotations.rotate(turned, places[:, root])
    if moved is not None:
        places[:, root] += moved
    return dataclasses.replace(clip, pose=ik.Pose(turns, places))


@functools.cache
def clips() -> tuple[ik.Clip, ik.Clip, ik.Contacts]:
    """A walk whose feet slide, what a bake makes of it, and when they stand."""
    baked = ik.bake_feet(sliding(walk(), 0.1), bumps(), feet=feet())
    return baked.source, baked.clip, baked.contacts


def assert_same(here: Measured, there: Measured, far: float, but: tuple[str, ...] = ()) -> None:
    """All measures: lengths in metres, angles in radians; some as near as this."""
    for leg, record in there.measures.items():
        for name, value in dataclasses.asdict(record).items():
            if name not in but:
                assert getattr(here.measures[leg], name) == pytest.approx(value, abs=far, nan_ok=True), (leg, name)


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("which", ["sliding", "baked"])
def test_what_moves_with_the_ground_measures_as_at_rest(name: str, which: str) -> None:
    """On ships heights are upright ones, a little longer than those across a deck that leans."""
    source, baked, contacts = clips()
    clip, (turned, moved) = source if which == "sliding" else baked, MOTIONS[name]
    still = measure(clip, feet(), bumps(), contacts=contacts)
    drift = still.measures["left"].drift
    assert drift > 0.03 if which == "sliding" else drift < 0.005
    moving = measure(together(clip, turned, moved), feet(), bumps().moved(turned, moved), contacts=contacts)
    assert_same(moving, still, 1e-3 if name == "ship" else 1e-9)
    for leg, track in still.tracks.items():
        np.testing.assert_allclose(moving.tracks[leg].sole, track.sole, atol=1e-9)


@pytest.mark.parametrize("name", MOTIONS)
def test_before_and_after_on_moving_ground(name: str) -> None:
    """Measures relative to the world, not to the ground: jerk and travel of ankle and pelvis."""
    (source, clip, contacts), (turned, moved) = clips(), MOTIONS[name]
    still = before_and_after(source, clip, feet(), bumps(), contacts)
    was, now = (together(each, turned, moved) for each in (source, clip))
    moving = before_and_after(was, now, feet(), bumps().moved(turned, moved), contacts)
    beside = (*metrics.BESIDE, "knee_flips", "knee_pops") if name == "ship" else ("ankle_jerk", "pelvis_jerk")
    for here, rest in zip(moving, still, strict=True):
        assert_same(
            here, rest, 1e-3 if name == "ship" else 1e-6, (*beside, "lift_lost", "off_ground", "skating_by_height")
        )


def test_ground_that_goes_away_under_feet_is_slid_over() -> None:
    """By as much as it goes in the core of the stance."""
    standing = dataclasses.replace(walk(), pose=walk().pose[np.full(61, STANDS)])
    belt = ik.Ground.plane().moved(translations=np.arange(61)[:, np.newaxis] * [0.001, 0, 0])
    contacts = ik.Contacts.detect(standing, feet(), modes="always")
    inner = metrics.core(0, 61, FPS)
    found = measure(standing, feet(), belt, contacts=contacts).measures["left"]
    assert found.drift == pytest.approx(0.001 * (inner.stop - inner.start - 1))
    turning = ik.Ground.plane().moved(rotations=about([0, 1, 0], np.arange(61) * 0.001))
    found = measure(standing, feet(), turning, contacts=contacts).measures["left"]
    assert found.heading_drift == pytest.approx(0.001 * (inner.stop - inner.start - 1))


def test_a_foot_at_rest_beside_one_that_rides() -> None:
    """Each over what it stands on; and neither sinks nor floats that stands on its part."""
    standing = dataclasses.replace(walk(), pose=walk().pose[np.full(61, STANDS)])
    corners = np.array([[0, 0, -2], [2, 0, -2], [2, 0, 2], [0, 0, 2]], float)
    half = ik.Ground.mesh(corners, [[0, 1, 2], [0, 2, 3]])
    other = half.moved(translations=[-2, 0, 0])
    way = np.arange(61)[:, np.newaxis] * [0, 0, 0.001]
    contacts = ik.Contacts.detect(standing, feet(), modes="always")
    left = positions(standing, "LeftFoot")[0, 0]
    assert left > 0.02
    found = measure(standing, feet(), half.moved(translations=way) + other, contacts=contacts).measures
    assert found["left"].drift > 0.04
    assert found["right"].drift == pytest.approx(0, abs=1e-12)
    drop = half.moved(translations=-way[:, [0, 2, 1]]) + other
    found = measure(standing, feet(), drop, contacts=contacts).measures
    assert found["left"].floating > 0.05
    assert found["right"].floating < 0.01


def test_a_bake_on_a_ship_is_measured_and_drawn(tmp_path: Path) -> None:
    """Feet that slide on the ship as it goes do so no more."""
    ship = ik.Ground.plane().moved(about([1, 0, 0.5], 0.05 * np.sin(SECONDS)), up(0.2 * np.sin(2 * SECONDS)))
    baked = ik.bake_feet(walk(), ship, feet=feet())
    before, after = baked.measured()
    for leg in ("left", "right"):
        assert before.measures[leg].penetration > 0.05
        assert after.measures[leg].drift < 0.005
        assert after.measures[leg].penetration < 0.005
        assert after.measures[leg].floating < 0.01
    baked.report(tmp_path / "ship.html")
    assert "on ground that moves, drawn as it is on the first frame" in (tmp_path / "ship.html").read_text("utf-8")


def test_the_ground_that_is_drawn_is_that_of_the_first_frame() -> None:
    _, clip, contacts = clips()
    _, rises = MOTIONS["lift"]
    moving = measure(together(clip, None, rises), feet(), bumps().moved(translations=rises), contacts=contacts)
    still = measure(clip, feet(), bumps(), contacts=contacts)
    places = still.tracks["left"].sole
    here, there = (leg_measures.ground_under(each, "left", places) for each in (moving, still))
    np.testing.assert_allclose(here, there, atol=1e-12)
    assert np.isfinite(there).all()


@pytest.mark.parametrize("count", [120, 122])
def test_contacts_need_ground_over_as_many_frames(count: int) -> None:
    walk = ik.samples.walk(seconds=2).clip
    ground = ik.Ground.plane().moved(translations=np.zeros((count, 3)))
    with pytest.raises(ValueError, match=f"moves over {count} frames"):
        ik.Contacts.detect(walk, ground=ground)
