"""Poses between examples: they pass through the examples, and are nearer to clips left out than any example."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import reference as ref
from knight import GOALS, INNER, ends_of, known, needs_bodies, off
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import rotations

ARM = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.6, 0, 0]]))
HAND = ik.Reach(3, position=...)


def seen(count: int, seed: int = 0) -> ik.Pose:
    return ik.Pose(rotations.exp(np.random.default_rng(seed).normal(size=(count, 4, 3)) * 0.4))


def hand(poses: ik.Pose) -> Any:
    return ARM.forward(poses).positions[..., 3, :]


@pytest.mark.parametrize("count", [1, 2, 5, 40], ids=["one", "two", "no linear term", "linear term"])
def test_it_passes_through_every_example(count: int) -> None:
    poses = seen(count)
    found = ik.learned.RbfPoses(ARM, poses, [HAND]).pose(ARM.rest, hand(poses))
    assert_allclose(hand(found), hand(poses), rtol=0, atol=1e-9)
    alike = np.abs(np.sum(found.rotations[:, :3] * poses.rotations[:, :3], axis=-1))
    assert_allclose(alike, 1, rtol=0, atol=1e-10)


def test_between_examples_it_is_what_the_equations_say() -> None:
    """Slow and obvious: one joint at a time, weights that are 1 at an example and 0 at all others, and sum to 1."""
    poses, asked = seen(20), np.array([[1.7, 0.6, 0.2], [0.4, -1.2, 0.9]])
    keys = hand(poses)
    distances = np.linalg.norm(keys[:, None] - keys, axis=-1)
    linear = np.concatenate([np.ones((20, 1)), keys], axis=1)
    system = np.block([[distances, linear], [linear.T, np.zeros((4, 4))]])
    right = np.concatenate([np.linalg.norm(asked[:, None] - keys, axis=-1), np.ones((2, 1)), asked], axis=1)
    weights = np.linalg.solve(system, right.T)[:20]
    assert_allclose(weights.sum(axis=0), 1, atol=1e-10)
    found = ik.learned.RbfPoses(ARM, poses, [HAND]).pose(ARM.rest, asked)
    for joint in range(3):
        products = np.einsum("ki,kj->ij", poses.rotations[:, joint], poses.rotations[:, joint])
        mean = np.linalg.eigh(products)[1][:, -1]
        away = rotations.log(rotations.canonical(ref.multiply(ref.conjugate(mean), poses.rotations[:, joint])))
        expected = ref.multiply(mean, rotations.exp(weights.T @ away))
        assert_allclose(np.abs(np.sum(found.rotations[:, joint] * expected, axis=-1)), 1, atol=1e-10)


def test_signs_of_quaternions_mean_nothing() -> None:
    poses = seen(30)
    signs = np.where(np.random.default_rng(1).random((30, 4, 1)) < 0.5, -1, 1)
    one, other = (
        ik.learned.RbfPoses(ARM, p, [HAND]).pose(ARM.rest, [1, 1, 0]) for p in (poses, ik.Pose(poses.rotations * signs))
    )
    assert_allclose(one.rotations, other.rotations, atol=1e-12)


def test_examples_are_the_farthest_from_each_other() -> None:
    poses = seen(200)
    made = ik.learned.RbfPoses(ARM, poses, [HAND], count=10)
    keys, chosen = hand(poses), [0]
    for _ in range(9):
        away = np.linalg.norm(keys[:, None] - keys[chosen], axis=-1).min(axis=1)
        chosen.append(int(away.argmax()))
    assert made.examples.tolist() == chosen


def test_poses_that_are_alike_are_one_example_and_the_answer() -> None:
    poses = ik.Pose(np.repeat(seen(1).rotations, 9, axis=0))
    made = ik.learned.RbfPoses(ARM, poses, [HAND])
    assert len(made) == 1
    assert_allclose(
        made.pose(ARM.rest, [1, 1, 1]).rotations[:3], rotations.canonical(poses.rotations[0, :3]), atol=1e-15
    )


def test_axes_broadcast_and_others_change_nothing() -> None:
    made, targets = ik.learned.RbfPoses(ARM, seen(50), [HAND]), np.random.default_rng(2).normal(size=(40, 1, 3))
    now = seen(2, seed=3)
    found = made.pose(now, targets)
    assert found.shape == (40, 2)
    assert made.pose(now[1], targets[17, 0]).rotations.tobytes() == found.rotations[17, 1].tobytes()
    assert found.rotations[..., 3, :].tobytes() == np.broadcast_to(now.rotations[:, 3], (40, 2, 4)).tobytes()


def test_what_is_not_finite_keeps_its_pose() -> None:
    found = ik.learned.RbfPoses(ARM, seen(50), [HAND]).pose(ARM.rest, [[np.nan, 1, 1], [1, np.inf, 0]])
    assert found.rotations.tobytes() == np.broadcast_to(ARM.rest.rotations, (2, 4, 4)).tobytes()


def test_who_moves_may_be_said() -> None:
    poses = seen(50)
    found = ik.learned.RbfPoses(ARM, poses, [HAND], moving=[1, 3]).pose(ARM.rest, hand(poses))
    assert found.rotations[:, [0, 2]].tobytes() == np.broadcast_to(ARM.rest.rotations[[0, 2]], (50, 2, 4)).tobytes()
    assert_allclose(np.abs(np.sum(found.rotations[:, 3] * poses.rotations[:, 3], axis=-1)), 1, atol=1e-10)


def test_it_pickles() -> None:
    made = ik.learned.RbfPoses(ARM, seen(50), [HAND], count=20, moving=[0, 1])
    again = pickle.loads(pickle.dumps(made))
    assert again.pose(ARM.rest, [1, 1, 1]).rotations.tobytes() == made.pose(ARM.rest, [1, 1, 1]).rotations.tobytes()
    assert repr(again).startswith("RbfPoses(20 of 4 joints, for [Reach(joint=3")


NONE: Any = None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ik.learned.RbfPoses(NONE, seen(5), [HAND]), "skeleton: expected a Skeleton, got NoneType"),
        (lambda: ik.learned.RbfPoses(ARM, NONE, [HAND]), "poses: expected a Pose, got NoneType"),
        (lambda: ik.learned.RbfPoses(ARM, seen(5), [HAND], count=0), "count: expected 1 to 10000, got 0"),
        (
            lambda: ik.learned.RbfPoses(ARM, seen(5), [ik.Reach(3, [1, 1, 1])]),
            r"goals\[0\]: expected a Reach with position=...",
        ),
        (
            lambda: ik.learned.RbfPoses(ARM, seen(5), [HAND]).pose(ARM.rest),
            "pose: expected 1 positions, one a goal, got 0",
        ),
    ],
)
def test_what_is_wrong_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


@needs_bodies
@pytest.mark.thorough
def test_on_clips_left_out_300_examples_are_nearer_than_the_nearest_of_them() -> None:
    """9.1 degrees a joint; keys seen from the pelvis give 9.6, and 11.7 for the nearest example."""
    skeleton, poses, truth = known()
    ends = ends_of(skeleton, truth)
    made = ik.learned.RbfPoses(skeleton, poses, GOALS, 300, moving=INNER)
    off_then = off(skeleton, made.pose(truth, *ends), truth).mean()
    assert poses.translations is not None
    few = ik.Pose(poses.rotations[made.examples], poses.translations[made.examples])
    nearest = [ik.learned.Postures(skeleton, p, GOALS, INNER).nearest(truth, *ends)[0] for p in (few, poses)]
    assert off_then <= 9.7
    assert [off(skeleton, pose, truth).mean().round(1) for pose in nearest] == [11.8, 10.4]
    blended = ik.learned.Postures(skeleton, poses, GOALS, INNER).blend(truth, *ends)
    assert off(skeleton, blended, truth).mean() < 10
