"""Capture noise is removed from clips that shake; others stay as they are, to the bit."""

from __future__ import annotations

import dataclasses
from typing import Any

import gaits
import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore import samples
from ikcore.prepare import denoise, noise_of

Array = NDArray[Any]

WALK = samples.walk(seconds=4).clip
FEET = ik.Feet.detect(WALK.skeleton, clip=WALK)
FLOOR = ik.Ground.plane()
GAITS = {
    "walks": samples.walk(4).clip,
    "walks in 24 frames a second": samples.walk(4, fps=24).clip,
    "walks fast in 10 frames a second": samples.walk(8, fps=10, speed=2.0).clip,
    "walks fast in 15 frames a second": samples.walk(8, fps=15, speed=2.0).clip,
    "runs": gaits.running().clip,
    "runs in 24 frames a second": gaits.running(fps=24).clip,
    "jumps": gaits.jumping().clip,
    "strafes": gaits.strafing().clip,
    "turns": gaits.turning().clip,
}


def joints(clip: ik.Clip, *names: str) -> Array:
    at = clip.skeleton.forward(clip.pose).positions
    return np.stack([at[:, clip.skeleton.index(name)] for name in names])


def off(clip: ik.Clip, *names: str) -> float:
    """The deviation along an axis from the walk that does not shake."""
    return float(np.sqrt(np.mean((joints(clip, *names) - joints(WALK, *names)) ** 2)))


@pytest.mark.parametrize("name", GAITS)
def test_what_does_not_shake_is_left(name: str) -> None:
    clip = GAITS[name]
    assert denoise(clip) is clip
    assert noise_of(clip, ik.Feet.detect(clip.skeleton, clip=clip)) == 0


def test_what_shakes_shakes_less_and_is_nearer_to_what_it_was() -> None:
    """By half at the hips, and by a third at the feet, which shake with all of the leg."""
    clip = gaits.shaken(WALK, 0.003)
    found = denoise(clip, FEET)
    assert noise_of(clip, FEET) == pytest.approx(0.003, rel=0.2)
    hips, feet = ("LeftUpLeg", "RightUpLeg"), ("LeftFoot", "RightFoot")
    assert off(found, *hips) < 0.5 * off(clip, *hips)
    assert off(found, *feet) < 0.67 * off(clip, *feet)
    lengths = [np.linalg.norm(np.diff(joints(each, "LeftUpLeg", "LeftLeg"), axis=0), axis=-1) for each in (clip, WALK)]
    np.testing.assert_allclose(lengths[0], lengths[1], atol=1e-9)


def test_a_hair_is_no_shake() -> None:
    clip = gaits.shaken(WALK, 0.001)
    assert denoise(clip, FEET) is clip


def test_poses_that_are_held_for_some_frames_do_not_shake() -> None:
    """Animated on twos: every other frame is the one before, so that hips jump by 50 mm."""
    clip = WALK[::2]
    moved = np.asarray(clip.pose.translations)
    held = dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations.repeat(2, axis=0), moved.repeat(2, axis=0)))
    assert denoise(held, FEET) is held


def test_what_is_not_of_legs_stays_as_it_is() -> None:
    clip = gaits.shaken(WALK, 0.003)
    names = clip.skeleton.names
    same = (denoise(clip, FEET).pose.rotations == clip.pose.rotations).all(axis=(0, 2))
    changed = {name for name, kept in zip(names, same, strict=True) if not kept}
    assert {"Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"} <= changed
    assert changed == {name for name in changed if name == "Hips" or name.startswith(("Left", "Right"))}
    assert not {name for name in changed if "Arm" in name or "Hand" in name or "Shoulder" in name}


def test_a_loop_stays_one() -> None:
    last = 3 * round(WALK.fps)
    clip = gaits.shaken(WALK[: last + 1], 0.003)
    turned, moved = clip.pose.rotations.copy(), np.array(clip.pose.translations)
    turned[-1], moved[-1] = turned[0], moved[0] + (moved[-1] - moved[0]) * [0, 0, 1]
    loop = dataclasses.replace(clip, pose=ik.Pose(turned, moved), loop=True)
    found = denoise(loop, FEET)
    assert found is not loop
    way = np.array(found.pose.translations)[[0, -1], 0]
    np.testing.assert_allclose((way[1] - way[0])[:2], 0, atol=1e-12)
    np.testing.assert_allclose(found.pose.rotations[0], found.pose.rotations[-1], atol=1e-12)


def test_the_bake_leaves_it_and_says_what_helps() -> None:
    clip = gaits.shaken(WALK, 0.003)
    baked = ik.bake_feet(clip, FLOOR, feet=FEET)
    assert baked.source is clip
    (said,) = baked.notes
    assert said.startswith("it shakes by 3")
    assert said.endswith(" mm from frame to frame")
    assert said.remedy == "denoise"
    assert not ik.bake_feet(denoise(clip, FEET), FLOOR, feet=FEET).notes


def test_knees_shake_no_more_once_feet_stand() -> None:
    """Feet that stand under hips that shake make knees jerk."""
    clip = gaits.shaken(WALK, 0.003)
    baked, plain = (ik.bake_feet(each, FLOOR, feet=FEET).clip for each in (denoise(clip, FEET), clip))
    jumps = [np.abs(np.diff(joints(each, "LeftLeg", "RightLeg"), 2, axis=1)).max() for each in (baked, plain)]
    assert jumps[0] < 0.4 * jumps[1]


def test_too_few_frames_say_nothing() -> None:
    clip = gaits.shaken(WALK, 0.003)[:20]
    assert denoise(clip, FEET) is clip
