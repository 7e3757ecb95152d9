"""Densities of poses: what SciPy says of them, and solves that leave goals as they are and only get likelier."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from knight import GOALS, INNER, ends_of, known, needs_bodies, off
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import rotations

ARM = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]])
TARGETS = np.array([[1.5, 2.5, 0.3], [2.9, -1.2, 1], [0.5, 0.2, 1.7], [9, 0, 0]])


def seen(count: int = 300, about: float = 0.3, seed: int = 0) -> ik.Pose:
    """Bends of three directions, and a little of all others."""
    random = np.random.default_rng(seed)
    mix = np.random.default_rng(7).normal(size=(3, 5, 3)) * 0.2
    vectors = about + np.einsum("nk,kjc->njc", random.normal(size=(count, 3)), mix)
    return ik.Pose(rotations.exp(vectors + 0.02 * random.normal(size=vectors.shape)))


def goals(targets: Any = TARGETS) -> list[ik.Reach]:
    return [ik.Reach(4, targets)]


def vectors_of(density: ik.learned.PoseDensity, poses: ik.Pose) -> Any:
    return density._log(poses.rotations)


def test_one_gaussian_is_that_of_the_examples() -> None:
    stats = pytest.importorskip("scipy.stats")
    density = ik.learned.PoseDensity(ARM, seen(), directions=3)
    x = vectors_of(density, seen())
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    values[:-3] = values[:-3].mean()
    expected = stats.multivariate_normal(x.mean(axis=0), vectors * values @ vectors.T)
    others = seen(20, seed=1)
    assert values[0] > 1e-4
    assert_allclose(density.log_likelihood(others), expected.logpdf(vectors_of(density, others)), rtol=1e-9)


def test_it_finds_the_directions_and_the_noise_that_made_the_examples() -> None:
    few, enough = (
        ik.learned.PoseDensity(ARM, seen(2000), directions=q).log_likelihood(seen(500, seed=2)).mean() for q in (1, 3)
    )
    assert enough > few + 1
    assert ik.learned.PoseDensity(ARM, seen(2000), directions=3)._gaussians[0]._rest == pytest.approx(0.02**2, rel=0.3)


def test_a_mixture_is_likelier_where_there_are_two_kinds_of_poses() -> None:
    both = ik.Pose(np.concatenate([seen(200, 0.5).rotations, seen(100, -0.5, seed=3).rotations]))
    one, two = (ik.learned.PoseDensity(ARM, both, directions=3, components=n) for n in (1, 2))
    held = ik.Pose(np.concatenate([seen(40, 0.5, seed=8).rotations, seen(20, -0.5, seed=9).rotations]))
    assert two.log_likelihood(held).mean() > one.log_likelihood(held).mean() + 2
    assert repr(two) == "PoseDensity(2 Gaussians over 5 joints)"


@pytest.mark.parametrize("components", [1, 3])
def test_the_gradient_is_that_of_the_likelihood(components: int) -> None:
    density = ik.learned.PoseDensity(ARM, seen(60), directions=4, components=components)
    x, small = vectors_of(density, seen(5, seed=4)), 1e-6
    up = density._gradient(x)
    for n in (0, 6, 14):
        ahead, behind = (density._likelihood(x + sign * small * np.eye(15)[n]) for sign in (1, -1))
        assert_allclose((ahead - behind) / (2 * small), up[:, n], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("components", [1, 3])
def test_goals_stay_as_they_are_and_likelihood_never_falls(components: int) -> None:
    density = ik.learned.PoseDensity(ARM, seen(), directions=3, components=components)
    before = ik.dls(ARM, ARM.rest, goals(), tolerance=1e-11)
    likelihood = density.log_likelihood(before.pose)
    for rounds in (0, 1, 2, 5, 20):
        found = density.solve(ARM.rest, goals(), rounds=rounds)
        assert_allclose(found.error, before.error, rtol=0, atol=1e-9)
        assert found.status.tolist() == before.status.tolist()
        after = density.log_likelihood(found.pose)
        assert (after >= likelihood - 1e-9 * np.abs(likelihood)).all()
        likelihood = after
    assert (likelihood[:3] > density.log_likelihood(before.pose)[:3] + 10).all()


def test_nothing_that_reaches_the_goal_nearby_is_likelier() -> None:
    """Random poses near it, each brought back to the goal; with about equal variance in all directions."""
    bends = np.random.default_rng(5).normal(0.3, [[0.2], [0.3], [0.4], [0.3], [0.2]], size=(300, 5, 3))
    density = ik.learned.PoseDensity(ARM, ik.Pose(rotations.exp(bends)), directions=3)
    found = density.solve(ARM.rest, goals(TARGETS[0]), rounds=200)
    best = density.log_likelihood(found.pose)
    random = np.random.default_rng(0)
    for _ in range(50):
        turns = 1e-3 * random.normal(size=(5, 3)) * [[1], [1], [1], [1], [0]]  # the last joint turns for no goal
        other = rotations.multiply(found.pose.rotations, rotations.exp(turns))
        near = ik.dls(ARM, ik.Pose(other), goals(TARGETS[0]), tolerance=1e-11)
        assert density.log_likelihood(near.pose) < best + 1e-4


def test_limits_hold() -> None:
    cone = ik.Limit.cone([1, 0, 0], 0.3)
    arm = ik.Skeleton(ARM.parents, ARM.offsets, limits=[None, cone, cone, None, None])
    found = ik.learned.PoseDensity(arm, seen(about=0.6), directions=3).solve(arm.rest, goals(TARGETS[:2]))
    assert found.reached.all()
    assert np.max(cone.violation(found.pose.rotations[:, 1:3])) <= 1e-9


def test_a_batch_changes_no_bit_and_it_pickles() -> None:
    density = ik.learned.PoseDensity(ARM, seen(), moving=[0, 1, 2, 3], directions=3, components=2)
    again = pickle.loads(pickle.dumps(density))
    found = density.solve(ARM.rest, goals(), rounds=5)
    for item, target in enumerate(TARGETS):
        one = again.solve(ARM.rest, goals(target), rounds=5)
        assert one.pose.rotations.tobytes() == found.pose.rotations[item].tobytes()


def test_examples_that_are_alike_are_a_density_too() -> None:
    one = ik.Pose(np.repeat(seen(1).rotations, 5, axis=0))
    density = ik.learned.PoseDensity(ARM, one, components=3)
    assert repr(density).startswith("PoseDensity(1 Gaussian over")
    assert density.log_likelihood(one[0]) > density.log_likelihood(ARM.rest)


NONE: Any = None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ik.learned.PoseDensity(NONE, seen()), "skeleton: expected a Skeleton, got NoneType"),
        (lambda: ik.learned.PoseDensity(ARM, seen(1)), "poses: expected two or more, got 1"),
        (lambda: ik.learned.PoseDensity(ARM, seen(), directions=0), "directions: expected 1 or more, got 0"),
        (lambda: ik.learned.PoseDensity(ARM, seen(), components=-1), "components: expected 1 or more, got -1"),
        (lambda: ik.learned.PoseDensity(ARM, seen(), moving="tail"), "moving: "),
    ],
)
def test_what_is_wrong_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


@needs_bodies
@pytest.mark.thorough
def test_clips_left_out_are_nearer_with_than_without() -> None:
    """From joints at rest below the hips: 12 of the 19 inner joints turn for five ends, and have to be guessed."""
    skeleton, poses, truth = known()
    truth = truth[::9]
    inner = [skeleton.index(joint) for joint in INNER]
    turned = np.array(truth.rotations)
    turned[:, inner] = skeleton.rest.rotations[inner]
    asked = [replace(goal, position=at) for goal, at in zip(GOALS, ends_of(skeleton, truth), strict=True)]
    density = ik.learned.PoseDensity(skeleton, poses, moving=INNER)
    without = ik.dls(skeleton, truth.with_rotations(turned), asked, tolerance=1e-11)
    found = density.solve(truth.with_rotations(turned), asked)
    assert_allclose(found.error, without.error, rtol=0, atol=1e-9)
    assert (density.log_likelihood(found.pose) >= density.log_likelihood(without.pose)).all()
    assert off(skeleton, found.pose, truth).mean() < 0.7 * off(skeleton, without.pose, truth).mean()
