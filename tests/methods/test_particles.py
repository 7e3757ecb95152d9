"""Particles: as near as published, within limits, and the same bits from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import textbook
from test_broyden import CRANE, HUMAN, TARGETS, assert_crane_within_limits, published

import ikcore as ik
from ikcore.solving import particles as inside  # the module: the function is ik.solvers.particles

ARM = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])


@pytest.mark.slow
def test_the_published_problem_is_searched_as_published_and_then_solved() -> None:
    """Published: 500 particles end 11 mm away in the median of the worst ends; then all 12 are solved, in 1.8 steps."""
    skeleton, start, goals, ends = published(12)
    found = ik.solvers.particles(skeleton, start, goals)
    states, (low, high) = HUMAN.states(found.pose), HUMAN.linkage.limits
    assert max((low - states).max(), (states - high).max()) <= 1e-12
    off = np.linalg.norm(textbook.forward(HUMAN.linkage, states).ends - ends, axis=-1).max(axis=-1)
    assert np.median(off) <= 0.0115
    reach = float(skeleton.reach(goals[0].joint).outer)
    given: dict[str, Any] = {"damping": 0.1 / reach, "max_error": 0.2 / reach, "tolerance": 1e-3 / reach, "refresh": 1}
    after = ik.solvers.broyden(skeleton, found.pose, goals, **given)
    assert after.reached.all()
    assert after.iterations.mean() <= 2.5
    assert ik.solvers.sdls(skeleton, found.pose, goals, tolerance=2e-4).reached.all()


def test_more_particles_end_nearer() -> None:
    targets = 0.7 * np.random.default_rng(3).normal(size=(8, 3))
    assert np.linalg.norm(targets, axis=-1).max() < 3
    errors = [ik.solvers.particles(ARM, ARM.rest, [ik.Reach(3, targets)], count=n).error.mean() for n in (5, 50, 500)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_a_seed_gives_the_same_bits_alone_and_in_a_batch_and_another_gives_others(isa: str) -> None:
    goals = [ik.Reach(4, TARGETS)]
    found = ik.solvers.particles(CRANE, CRANE.rest, goals, count=50, iterations=20)
    again = ik.solvers.particles(CRANE, CRANE.rest, goals, count=50, iterations=20)
    other = ik.solvers.particles(CRANE, CRANE.rest, goals, count=50, iterations=20, seed=1)
    assert again.pose.rotations.tobytes() == found.pose.rotations.tobytes()
    assert other.pose.rotations.tobytes() != found.pose.rotations.tobytes()
    one = ik.solvers.particles(CRANE, CRANE.rest, [ik.Reach(4, TARGETS[1])], count=50, iterations=20)
    assert one.pose.rotations.tobytes() == found.pose.rotations[1].tobytes()
    assert BITS.setdefault("all", found.pose.rotations.tobytes()) == found.pose.rotations.tobytes()


BITS: dict[str, bytes] = {}  # of the first instruction set, which all others must have


def test_limits_hold_and_what_is_out_of_reach_says_so() -> None:
    found = ik.solvers.particles(CRANE, CRANE.rest, [ik.Reach(4, TARGETS)], count=100)
    assert found.status[2] & ik.Status.TOO_FAR
    assert_crane_within_limits(found.pose)
    assert (found.error[:2] < 0.05).all()


def test_a_goal_that_is_met_ends_the_search() -> None:
    found = ik.solvers.particles(ARM, ARM.rest, [ik.Reach(3, [[3, 0, 0], [1, 1, 1]])])
    assert found.iterations.tolist() == [0, 60]
    assert found.pose.rotations[0].tobytes() == ARM.rest.rotations.tobytes()


def test_noise_is_nearly_normal_and_weights_are_nearly_exponential() -> None:
    noise = inside._noise(2000, 20, 5)
    assert abs(noise.mean()) < 0.02
    assert noise.var() == pytest.approx(1, abs=0.02)
    assert np.abs(np.corrcoef(noise.T) - np.eye(20)).max() < 0.1
    x = np.array([0, 0.1, 1, 5])
    np.testing.assert_allclose(inside._likelihood(x), np.exp(-x), rtol=0.02)


def test_particles_are_drawn_as_often_as_they_weigh() -> None:
    weights = np.array([0.5, 0.0, 0.3, 0.2])
    drawn = inside._resample(np.repeat(weights, 25) / 25)
    assert np.bincount(drawn // 25, minlength=4).tolist() == [50, 0, 30, 20]
