"""`LockedFeet`: feet stay where they are while the body goes another way."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore.bake import LockedFeet

FRAMES = 61
Walk = tuple[ik.Clip, ik.Feet]


@pytest.fixture(scope="module")
def walk() -> Walk:
    clip = ik.samples.walk(seconds=2, fps=30).clip
    return clip, ik.Feet.detect(clip.skeleton, clip=clip)


def departure(size: float, angle: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """A body that sways and turns, as far as that, and goes lower, so that legs reach."""
    times = np.arange(FRAMES) / 10
    shift = size * np.stack([np.sin(times) / 2, np.cos(3 * times) / 2 - 1.5, np.cos(2 * times) / 2], axis=1)
    return shift, ik.rotations.from_axis_angle([0.0, 0.6, 0.8], angle * np.sin(times))


def test_a_body_that_stays_changes_nothing(walk: Walk) -> None:
    clip, feet = walk
    held = LockedFeet(clip, feet, "Hips")
    still = np.zeros((FRAMES, 3)), np.tile([1.0, 0, 0, 0], (FRAMES, 1))
    knees, ankles = held.away(*still)
    assert max(knees.max(), ankles.max()) < 1e-12
    same = held.with_pelvis(*still)
    assert np.abs(same.pose.rotations - clip.pose.rotations).max() < 1e-12


@pytest.mark.parametrize(("size", "angle"), [(0.005, 0.0), (0.02, 0.05)])
def test_feet_stay_and_the_pelvis_goes(walk: Walk, size: float, angle: float) -> None:
    clip, feet = walk
    held, (shift, tilt) = LockedFeet(clip, feet, "Hips"), departure(size, angle)
    made = held.with_pelvis(shift, tilt)
    before, after = (feet.positions(clip.skeleton, each.pose) for each in (clip, made))
    for key, places in before.items():
        assert np.abs(after[key] - places).max() < 1e-9, key
    was, now = (clip.skeleton.forward(each.pose) for each in (clip, made))
    hips = clip.skeleton.index("Hips")
    assert np.abs(now.positions[:, hips] - was.positions[:, hips] - shift).max() < 1e-9
    turned = ik.rotations.multiply(tilt, was.rotations[:, hips])
    assert np.abs(ik.rotations.to_matrix(now.rotations[:, hips]) - ik.rotations.to_matrix(turned)).max() < 1e-9
    knees = [clip.skeleton.index(leg.knees[0]) for leg in feet]
    apart = np.linalg.norm(now.positions[:, knees] - was.positions[:, knees], axis=-1).max(axis=1)
    said, ankles = held.away(shift, tilt)
    assert np.abs(said - apart).max() < 1e-9
    assert said.max() > size / 4
    assert ankles.max() < 1e-9


def test_what_is_out_of_reach_is_told(walk: Walk) -> None:
    """A body that is lifted by half a metre takes the feet along, no farther than it must."""
    clip, feet = walk
    held = LockedFeet(clip, feet, "Hips")
    shift, tilt = np.tile([0, 0.5, 0], (FRAMES, 1)), np.tile([1.0, 0, 0, 0], (FRAMES, 1))
    _, ankles = held.away(shift, tilt)
    assert ankles.min() > 0.2
    made = held.with_pelvis(shift, tilt)
    at = clip.skeleton.forward(made.pose).positions
    for leg in feet:
        hip, ankle = (clip.skeleton.index(joint) for joint in (leg.hip or "", leg.foot))
        reach = np.linalg.norm(at[:, hip] - at[:, ankle], axis=1)
        assert np.ptp(reach) < 0.01
