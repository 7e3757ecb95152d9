"""A sprint and hops made by procedure: what is said of them is so, and their short contacts are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore.feet import metrics

MADE: dict[str, Callable[..., ik.samples.Sample]] = {"sprint": ik.samples.sprint, "hop": ik.samples.hop}


@pytest.mark.parametrize("name", MADE)
def test_plants_stand_still_and_nothing_is_below_the_ground(name: str) -> None:
    made = MADE[name](3, fps=200)
    world = made.clip.skeleton.forward(made.clip.pose)
    seconds = np.arange(len(made.clip)) / made.clip.fps
    for plant in made.plants:
        joint, offset = made.soles[plant.point]
        at = made.clip.skeleton.index(joint)
        place = world.positions[:, at] + ik.rotations.rotate(world.rotations[:, at], offset)
        held = (seconds >= plant.start) & (seconds <= plant.end)
        np.testing.assert_allclose(place[held], np.broadcast_to(plant.position, place[held].shape), atol=1e-9)
        assert place[:, 1].min() > -1e-9


@pytest.mark.parametrize("name", MADE)
def test_gravity_alone_accelerates_a_body_in_the_air(name: str) -> None:
    made = MADE[name](3, fps=1000)
    at = made.clip.skeleton.forward(made.clip.pose).positions[:, 0]
    air = ~np.any([made.planted(point) for point in made.soles], axis=0)
    inner = air[1:-1] & air[2:] & air[:-2]
    bent = np.diff(at, 2, axis=0)[inner] * 1e6
    np.testing.assert_allclose(bent, np.tile([0, -9.81, 0], (len(bent), 1)), atol=1e-3)
    assert np.abs(np.diff(at, axis=0)).max() < 0.01  # no jumps


@pytest.mark.parametrize("fps", [24, 30, 120])
@pytest.mark.parametrize("name", MADE)
def test_contacts_of_a_tenth_of_a_second_are_found(name: str, fps: float) -> None:
    """Each of them, none more, and edges within a frame and a sixtieth of a second."""
    made = MADE[name](4.2, fps=fps)
    contacts = ik.Contacts.detect(made.clip)
    for side in ("left", "right"):
        found, true = contacts.intervals(side, "ball"), metrics.runs(made.planted(f"{side.title()}Ball"))
        assert len(found) == len(true)
        np.testing.assert_allclose(found / fps, true / fps, atol=1 / 60 + 1 / fps)
    assert not contacts.treadmill.any()


@pytest.mark.parametrize(("name", "options"), [("sprint", {"speed": 9}), ("hop", {"speed": -1}), ("hop", {"fps": 0})])
def test_what_cannot_be_made_is_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        MADE[name](**options)
