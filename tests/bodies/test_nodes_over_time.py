"""Nodes with a state: a lock holds a foot and releases it smoothly, a spring swings as its equation says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from humans import BODY, FORWARD
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore.bodies import nodes

Array = NDArray[Any]
FPS = 60.0
WALK = ik.samples.walk(seconds=2, fps=FPS).clip
LOCK = nodes.LockNode("LeftFoot", side=FORWARD, fps=FPS)
CONTACT = np.zeros(len(WALK.pose))
CONTACT[8:24] = 1
TAIL = ik.Skeleton.chain([[0, 0, 0], [0, -1, 0], [0, -2, 0], [0, -3, 0]])


def foot(pose: ik.Pose) -> Array:
    found: Array = WALK.skeleton.forward(pose).positions[..., WALK.skeleton.index("LeftFoot"), :]
    return found


@pytest.mark.slow
def test_a_foot_is_held_and_goes_back_smoothly() -> None:
    sliding = np.array(WALK.pose.translations)
    sliding[:, 0, 2] += 0.2 * np.arange(len(sliding)) / FPS  # a foot that slides by 20 cm a second
    pose = ik.Pose(WALK.pose.rotations, sliding)
    found = LOCK(WALK.skeleton, pose, CONTACT)
    at, before = foot(found.pose), foot(pose)
    assert np.ptp(at[8:24], axis=0).max() < 1e-9
    assert np.ptp(before[8:24], axis=0).max() > 0.04
    assert_array_equal(at[:8], before[:8])
    steps = np.linalg.norm(np.diff(at, axis=0), axis=-1)
    natural = np.linalg.norm(np.diff(before, axis=0), axis=-1)
    assert steps[8:].max() < natural[8:].max() + 0.01  # no pop
    assert np.linalg.norm((at - before)[24:], axis=-1)[30] < 0.002


def test_an_offset_fades_as_a_critically_damped_spring_does() -> None:
    """At a nominal half-life 0.597 is left."""
    crouch = np.zeros((60, len(BODY), 3))
    crouch[:, [BODY.index("LeftUpLeg"), BODY.index("LeftLeg")], 0] = -0.4, 0.8
    jump = np.tile(BODY.offsets, (60, 1, 1))
    jump[20:, 0, 0] = 0.1  # the animation jumps while the foot is held, and the lock ends later
    contact = np.zeros(60)
    contact[5:40] = 1
    low = ik.Pose(ik.rotations.exp(crouch), jump)
    node = nodes.LockNode("LeftFoot", side=FORWARD, fps=100, half_life=0.1)
    feet = BODY.forward(node(BODY, low, contact).pose).positions[:, BODY.index("LeftFoot"), 0]
    there = BODY.forward(low).positions[:, BODY.index("LeftFoot"), 0]
    assert feet[38] == pytest.approx(0.09)
    left = (feet - there)[40:] / (feet - there)[40]
    assert left[10] == pytest.approx(0.597, abs=0.002)
    assert (feet - there)[59] / -0.1 == pytest.approx(0.27, abs=0.03)


def test_a_foot_that_is_far_is_released_until_its_next_contact() -> None:
    moving = np.array(WALK.pose.translations)
    moving[:, 0, 2] += 1.5 * np.arange(len(moving)) / FPS
    found = LOCK(WALK.skeleton, ik.Pose(WALK.pose.rotations, moving), CONTACT)
    at = foot(found.pose)
    held = np.linalg.norm(np.diff(at, axis=0), axis=-1) < 1e-9
    assert held[9:14].all()
    assert not held[20:24].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lock", "spring"])
def test_frames_one_by_one_are_a_clip_and_others_do_not_matter(name: str) -> None:
    node: Any = LOCK if name == "lock" else nodes.SpringNode(["LeftLeg", "LeftFoot"], fps=FPS)
    targets = CONTACT if name == "lock" else None
    whole = node(WALK.skeleton, WALK.pose, targets)
    slid = np.asarray(WALK.pose.translations)
    turned = np.stack([WALK.pose.rotations, WALK.pose.rotations[::-1]], 1)
    two = ik.Pose(turned, np.stack([slid, slid], 1))
    both = node(WALK.skeleton, two, None if targets is None else targets[:, np.newaxis])
    assert_array_equal(both.pose.rotations[:, 0], whole.pose.rotations)
    state = None
    for frame in range(40):
        now = None if targets is None else targets[frame]
        kept = state
        one, state = node.step(WALK.skeleton, WALK.pose[frame], now, state, 1 / FPS)
        again, _ = node.step(WALK.skeleton, WALK.pose[frame], now, kept, 1 / FPS)  # the state passed in is unchanged
        assert one.pose.rotations.tobytes() == again.pose.rotations.tobytes()
        assert one.pose.rotations.tobytes() == whole.pose.rotations[frame].tobytes()
    none = replace(node, influence=0)(WALK.skeleton, WALK.pose, targets)
    assert none.pose.rotations.tobytes() == WALK.pose.rotations.tobytes()


@pytest.mark.parametrize("name", ["lock", "spring"])
def test_a_frame_with_a_nan_keeps_pose_and_state(name: str) -> None:
    node: Any = LOCK if name == "lock" else nodes.SpringNode(["LeftLeg"], fps=FPS)
    targets = CONTACT if name == "lock" else None
    turned = np.array(WALK.pose.rotations)
    turned[20, 3, 0] = np.nan
    with pytest.warns(ik.UnusableWarning):
        found = node(WALK.skeleton, ik.Pose(turned, WALK.pose.translations), targets)
    assert found.status[20] == int(ik.Status.NOT_FINITE)
    assert found.pose.rotations[20].tobytes() == turned[20].tobytes()
    assert np.isfinite(found.pose.rotations[21:]).all()


@pytest.mark.slow
def test_a_spring_swings_as_its_equation_says() -> None:
    """x'' = stiffness (goal - x) - damping x' after the goal has jumped by a small angle."""
    fps, jump = 240.0, 0.02
    turned = np.zeros((240, 4, 3))
    turned[1:, 0, 2] = jump
    node = nodes.SpringNode([1], stiffness=100.0, damping=2.0, fps=fps)
    found = node(TAIL, ik.Pose(ik.rotations.exp(turned)))
    off = -ik.rotations.log(found.pose.rotations[1:, 1])[:, 2]  # behind its place, as an angle of a bone of length 1
    time = np.arange(1, 240) / fps
    rate = np.sqrt(100 - 1)
    exact = 2 * jump * np.exp(-time) * (np.cos(rate * time) + np.sin(rate * time) / rate)  # the tip moved by 2 jump
    assert_allclose(off, exact, atol=0.1 * 2 * jump)
    assert np.abs(off[-24:]).max() < 0.45 * 2 * jump


@pytest.mark.slow
def test_frame_rates_agree() -> None:
    ends = []
    for fps in (30, 60, 120):
        time = np.arange(fps + 1) / fps
        turned = np.zeros((fps + 1, 4, 3))
        turned[:, 0, 2] = 0.5 * time
        node = nodes.SpringNode([1, 2], fps=fps)
        ends.append(TAIL.forward(node(TAIL, ik.Pose(ik.rotations.exp(turned))).pose).positions[-1, 3])
    assert_allclose(ends[0], ends[2], atol=0.02)
    assert_allclose(ends[1], ends[2], atol=0.01)


def test_a_spring_is_bounded_and_reset() -> None:
    turned = np.zeros((30, 4, 3))
    turned[10:, 0, 2] = 1.0
    pose = ik.Pose(ik.rotations.exp(turned))
    near = nodes.SpringNode([1], max_displacement=0.1)(TAIL, pose)
    assert np.degrees(ik.rotations.to_axis_angle(near.pose.rotations[:, 1])[1]).max() < 6
    reset = nodes.SpringNode([1], reset_distance=0.5)(TAIL, pose)
    assert_allclose(ik.rotations.to_axis_angle(reset.pose.rotations[:, 1])[1], 0, atol=1e-9)
    with pytest.raises(ValueError, match="joints: expected a child of '3' as its tip"):
        nodes.SpringNode([3])(TAIL, pose)
    with pytest.raises(ValueError, match="expected frames as axis 0, got a single pose"):
        nodes.SpringNode([1])(TAIL, TAIL.rest)
    with pytest.raises(ValueError, match="dt: expected a positive number of seconds, got 0"):
        nodes.SpringNode([1]).step(TAIL, TAIL.rest, None, None, 0)
