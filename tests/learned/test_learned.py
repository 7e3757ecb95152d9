"""Skeletons that know how joints are used to move: by closed forms, and what they are worth on a whole body."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
import reference as ref
from chains import generator
from human import SLIDES, Human
from numpy.testing import assert_allclose
from textbook import forward, solve

import ikcore as ik

Array = Any
HINGE = ik.Limit.hinge([0, 0, 1], -2, 2)
REST = ref.unit(np.random.default_rng(1).normal([2, 0, 0, 0], 0.4, (3, 4)))
ARM = ik.Skeleton(
    [-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], REST, limits=[None, HINGE, None], masses=[1, 2, 3], caps=[0.5, 0, 0]
)


def turned(vectors: Array) -> ik.Pose:
    """Poses whose joints are turned from rest by rotation vectors (poses, joints, 3)."""
    return ik.Pose(ref.multiply(REST, ik.rotations.exp(vectors)))


def swings(*sizes: Array) -> Array:
    """A vector for every joint, to either side by turns."""
    return np.stack([sign * np.array(sizes, float) for sign in (1, -1)])


def test_joints_are_as_stiff_as_they_varied_less_than_the_one_that_varied_most() -> None:
    """By variances: 0.4 about x is all, 0.2 a quarter; what did not turn at all is willing a twentieth."""
    known = ik.learned.fit_skeleton(ARM, turned(swings([0.4, 0, 0], [0, 0, 0.2], [0, 0.1, 0])))
    first, hinge, last = (limit.stiffness for limit in known.limits if limit)
    assert_allclose(first, [0, 0.95, 0.95], atol=1e-12)
    assert_allclose(hinge, [0.75] * 3, atol=1e-12)
    assert_allclose(last, [0.95, 1 - 0.0625, 0.95], atol=1e-12)


def test_axes_are_those_of_the_limit() -> None:
    cone = ik.Limit.cone([0, 1, 0], 1.5)
    arm = ik.Skeleton([-1], [[0, 0, 0]], limits=[cone])
    twisted = ik.rotations.exp([[[0, 0.3, 0]], [[0, -0.3, 0]]])
    (limit,) = ik.learned.fit_skeleton(arm, ik.Pose(twisted)).limits
    assert limit is not None
    assert_allclose(limit.stiffness, [0, 0.95, 0.95], atol=1e-12)
    assert replace(limit, stiffness=cone.stiffness) == cone


def test_hinges_may_do_what_was_seen_and_a_tenth_more_within_their_range() -> None:
    for low, high, expected in ((0.3, 1.3, (0.2, 1.4)), (0.0, 1.9, (-0.19, 2.0)), (0.7, 0.7, (0.7, 0.7))):
        angles = np.linspace(low, high, 11)
        known = ik.learned.fit_skeleton(
            ARM, turned(angles[:, None, None] * np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]]))
        )
        assert known.limits[1] is not None
        assert_allclose(known.limits[1].twist, expected, atol=1e-9)


def test_means_are_preferred_and_all_else_stays(dtype: Any) -> None:
    vectors = np.array([[0.5, 0.2, 0], [0, 0, 0.6], [0, 0, 0]])
    poses = turned(vectors + swings([0.1, 0, 0], [0, 0, 0.1], [0, 0, 0]))
    signed = poses.rotations * np.array([1, -1])[:, None, None]
    known = ik.learned.fit_skeleton(ARM, ik.Pose(signed.astype(dtype)))
    expected = turned(vectors[None]).rotations[0]
    assert np.abs(np.sum(known.preferred.rotations * expected, axis=-1)).min() > 1 - 1e-4
    assert_allclose(known.preferred.rotations[1:], ref.multiply(REST, ik.rotations.exp(vectors))[1:], atol=1e-6)
    assert_allclose(known.masses, ARM.masses)
    assert_allclose(known.caps, ARM.caps)
    assert known.names == ARM.names
    assert known.limits[0] is not None
    assert known.limits[0].kind == "free"


def test_poses_that_are_all_the_same_leave_joints_alike() -> None:
    known = ik.learned.fit_skeleton(ARM, turned(np.full((5, 3, 3), 0.0)))
    assert len({limit.stiffness for limit in known.limits if limit}) == 1


def test_a_preferred_rotation_is_within_its_limit() -> None:
    known = ik.learned.fit_skeleton(ARM, turned(np.array([[[0, 0, 0], [0.5, 1.0, 2.8], [0, 0, 0]]])))
    off = ref.multiply(ref.conjugate(REST[1]), known.preferred.rotations[1])
    assert float(HINGE.violation(off)) < 1e-12


@pytest.mark.parametrize(
    ("skeleton", "poses", "sentence"),
    [
        (None, ARM.rest, "skeleton: expected a Skeleton, got NoneType"),
        (ARM, [1.0], "poses: expected a Pose, got list"),
        (ARM, ik.Pose(np.zeros((0, 3, 4))), "expected one or more"),
        (ARM, ik.Pose(np.full((3, 4), np.nan)), "poses: expected finite numbers"),
    ],
)
def test_what_is_wrong_is_refused(skeleton: Any, poses: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        ik.learned.fit_skeleton(skeleton, poses)


# The number of random poses and the mean error of the ends in the nearest of them (the rig's unit). Then the number of
# 100 targets that damped least squares solves, and its mean iterations: with locked limits, and with clamped ones.
SEEDS = [
    (0, 0.604, (100, 15.4), (99, 33.3)),
    (200, 0.289, (97, 15.8), (94, 32.0)),
    (1000, 0.251, (98, 12.8), (96, 28.5)),
    (4000, 0.222, (97, 12.0), (97, 27.0)),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("count", "off", "locked", "clamped"), SEEDS)
def test_random_poses_are_worth_what_is_published(
    count: int, off: float, locked: tuple[int, float], clamped: tuple[int, float]
) -> None:
    """By the reference solver; textbook dls solves as many. Nearer starts save a fifth, and some lead nowhere."""
    human = Human()
    truths, (low, high) = human.truths(100), human.linkage.limits
    goals, starts, wanted = human.goals(truths), human.starts(truths, "B"), forward(human.linkage, truths).ends
    if count:
        draw = generator(4711)
        seen = human.pose(low + (high - low) * np.array([[next(draw) for _ in low] for _ in range(count)]))
        postures = ik.learned.Postures(human.skeleton, seen, [replace(goal, position=...) for goal in goals])
        near = postures.nearest(human.pose(starts), *(goal.position for goal in goals))[0]
        starts = np.clip(human.states(near), low, high)
    away = np.linalg.norm(forward(human.linkage, starts).ends - wanted, axis=-1)
    assert away.mean() == pytest.approx(off, abs=5e-4)
    bone = human.mean_bone()
    given: dict[str, Any] = {"damping": 0.1 / bone, "max_error": 0.2 / bone, "max_step": np.pi / 4, "textbook": True}
    ways: list[tuple[Literal["lock", "clamp"], tuple[int, float]]] = [("lock", locked), ("clamp", clamped)]
    for limits, (solved, mean) in ways:
        known = solve(human.linkage, starts, wanted, free=human.free("B"), limits=limits)
        assert known.reached.sum() == solved
        assert known.iterations[known.reached].mean() == pytest.approx(mean, abs=0.051)
        project = limits == "clamp"
        found = ik.dls(human.skeleton, human.pose(starts), goals, tolerance=3e-4, project=project, **given)
        off_then = np.linalg.norm(forward(human.linkage, human.states(found.pose)).ends - wanted, axis=-1)
        assert np.sum((off_then <= 1e-3).all(axis=-1)) == solved


@pytest.mark.thorough
def test_a_body_takes_half_the_iterations() -> None:
    """Five ends of the published human, from rest and from the nearest of a thousand poses; all limits hold."""
    human = Human()
    truths, (low, high) = human.truths(40), human.linkage.limits
    draw = generator(4711)
    seen = human.pose(low + (high - low) * np.array([[next(draw) for _ in low] for _ in range(1000)]))
    known, goals, rest = (
        ik.learned.fit_skeleton(human.skeleton, seen),
        human.goals(truths),
        human.pose(human.starts(truths, "B")),
    )
    asked = [replace(goal, position=...) for goal in goals]
    near = ik.learned.Postures(human.skeleton, seen, asked).nearest(rest, *(goal.position for goal in goals))[0]
    means = {}
    for method in ("dls", "sdls"):
        for start, pose in (("rest", rest), ("near", near)):
            for skeleton in (human.skeleton, known):
                found = ik.solve(skeleton, pose, goals, method, tolerance=2e-4)
                assert np.mean(found.status == 0) >= (0.9 if method == "sdls" else 1)
                states = human.states(found.pose)[:, SLIDES:]
                assert max((low[SLIDES:] - states).max(), (states - high[SLIDES:]).max()) <= 1e-12
                means[method, start, skeleton is known] = found.iterations[found.status == 0].mean()
    assert means["dls", "rest", True] < 0.6 * means["dls", "rest", False]
    assert means["dls", "near", True] < 0.9 * means["dls", "near", False]
    assert means["sdls", "near", True] < 0.95 * means["sdls", "near", False] < 0.6 * means["sdls", "rest", False]
