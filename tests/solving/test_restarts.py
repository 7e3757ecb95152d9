"""Restarts: an item that does not arrive starts again, from poses that are the same for every item."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from chains import enough
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import Limit, Status, _core

METHODS = [name for name, _, _ in _core.METHODS if "restarts" in ik.methods()[name].options]
every = pytest.mark.parametrize("method", METHODS)

# Robots as their makers give them: a, d, alpha of every joint (modified Denavit and Hartenberg), and its range.
PUMA = (
    [[0, 0, 0], [0, 0, -90], [0.4318, -0.15005, 0], [0.0203, 0.4318, -90], [0, 0, 90], [0, 0, -90]],
    [160, [-45, 225], [-225, 45], [-110, 170], 100, 266],
)
PANDA = (
    [[0, 0.333, 0], [0, 0, -90], [0, 0.316, 90], [0.0825, 0, 90], [-0.0825, 0.384, -90], [0, 0, 90], [0.088, 0, 90]],
    [166, 101, 166, [-176, -4], 166, [-1, 215], 166],
)


def robot(parameters: Any, ranges: Any) -> ik.Skeleton:
    """Each joint turns about z of its own frame, which stands at the end of the bone."""
    offsets, rests, limits = [], [], []
    for (a, d, alpha), span in zip(parameters, ranges, strict=True):
        turned = ik.rotations.from_axis_angle([1, 0, 0], np.radians(alpha))
        offsets.append(np.array([a, 0, 0]) + ik.rotations.rotate(turned, np.array([0, 0, float(d)])))
        rests.append(turned)
        low, high = np.radians(span if isinstance(span, list) else [-span, span])
        limits.append(Limit.hinge([0, 0, 1], low, high))
    return ik.Skeleton(np.arange(len(offsets)) - 1, offsets, rests, limits=limits)


ROBOTS = {"puma": robot(*PUMA), "panda": robot(*PANDA)}


def posed(skeleton: ik.Skeleton, count: int, seed: int) -> ik.Pose:
    """Allowed poses; every joint must have a limit."""
    pose = np.empty((count, len(skeleton), 4))
    for joint, limit in enumerate(skeleton.limits):
        assert limit is not None
        rest = skeleton.rest.rotations[joint]
        pose[:, joint] = ik.rotations.multiply(rest, limit.sample(count, seed=seed + joint))
    return ik.Pose(pose)


def problems(name: str, count: int) -> tuple[ik.Skeleton, ik.Pose, list[ik.Goal]]:
    """Goals for the tip, with the position and rotation that random allowed poses give it."""
    skeleton = ROBOTS[name]
    wanted = skeleton.forward(posed(skeleton, count, 100))
    tip = len(skeleton) - 1
    return skeleton, posed(skeleton, count, 200), [ik.Reach(tip, wanted.positions[:, tip], wanted.rotations[:, tip])]


def same(one: ik.Solution, other: ik.Solution) -> bool:
    pairs = (
        (one.pose.rotations, other.pose.rotations),
        (one.status, other.status),
        (one.error, other.error),
        (one.iterations, other.iterations),
    )
    return all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize("name", ROBOTS)
def test_arms_of_hinges_reach_wherever_they_can(name: str, everywhere: None) -> None:
    skeleton, start, goals = problems(name, 200)
    options: dict[str, Any] = {"tolerance": 5e-7, "rotation_tolerance": 9e-7}
    assert np.mean(ik.dls(skeleton, start, goals, **options).status == 0) < 1
    found = ik.dls(skeleton, start, goals, restarts=300, **options)
    assert_array_equal(found.status, 0)
    world, tip = skeleton.forward(found.pose), len(skeleton) - 1
    goal = goals[0]
    assert isinstance(goal, ik.Reach)
    assert np.linalg.norm(world.positions[:, tip] - goal.position, axis=-1).max() < 1e-6
    turned = ik.rotations.multiply(world.rotations[:, tip], ik.rotations.conjugate(np.asarray(goal.rotation)))
    assert np.linalg.norm(ik.rotations.log(turned), axis=-1).max() < 1e-6
    for joint, limit in enumerate(skeleton.limits):
        assert limit is not None
        rest = ik.rotations.conjugate(skeleton.rest.rotations[joint])
        assert limit.violation(ik.rotations.multiply(rest, found.pose.rotations[:, joint])).max() < 1e-12


@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_item_starts_again_as_if_it_were_alone(method: str, dtype: type, everywhere: None) -> None:
    skeleton, start, goals = problems("puma", 120)
    start = ik.Pose(start.rotations.astype(dtype))
    goal = goals[0]
    assert isinstance(goal, ik.Reach)
    options: dict[str, Any] = {"restarts": 5, "iterations": 30, "tolerance": 1e-4}
    found = ik.solve(skeleton, start, goals, method, **options)
    assert enough(method, 11) <= np.count_nonzero(found.status == 0) < 120
    assert same(found, ik.solve(skeleton, start, goals, method, workers=2, **options))
    for item in range(0, 120, 9):
        alone = ik.solve(
            skeleton,
            ik.Pose(start.rotations[item]),
            [ik.Reach(5, np.asarray(goal.position)[item], np.asarray(goal.rotation)[item])],
            method,
            **options,
        )
        assert alone.pose.rotations.tobytes() == found.pose.rotations[item].tobytes()
        assert (alone.status, alone.error, alone.iterations) == (
            found.status[item],
            found.error[item],
            found.iterations[item],
        )


@every
def test_the_first_attempt_that_arrives_is_the_result(method: str) -> None:
    """Short attempts precede a full one from the given pose, so that restarts lose no solution."""
    skeleton, start, goals = problems("puma", 200)
    runs = [
        ik.solve(skeleton, start, goals, method, restarts=restarts, iterations=25, tolerance=1e-4)
        for restarts in (0, 1, 4, 12)
    ]
    for fewer, more in itertools.pairwise(runs):
        arrived = fewer.status == 0
        assert np.all(more.status[arrived] == 0)
        first = arrived & (more.iterations == fewer.iterations)
        other = np.any(fewer.pose.rotations[first] != more.pose.rotations[first], axis=(1, 2))
        assert np.sum(other) <= 1  # another attempt may take as many iterations, by chance
        assert np.all(more.iterations <= 25 * 14)
    for fewer, more in itertools.pairwise(runs[1:]):
        first = (fewer.status == 0) & (more.iterations == fewer.iterations)
        assert np.count_nonzero(first) >= 0.8 * np.count_nonzero(fewer.status == 0)
    assert np.count_nonzero(runs[-1].status == 0) >= np.count_nonzero(runs[0].status == 0) + enough(method, 1)


@every
def test_one_restart_loses_nothing(method: str) -> None:
    """An arm from rest, which without any reaches nearly all."""
    skeleton = ROBOTS["panda"]
    wanted = skeleton.forward(posed(skeleton, 300, 7))
    goals = [ik.Reach(6, wanted.positions[:, 6], wanted.rotations[:, 6])]
    none, one = (ik.solve(skeleton, skeleton.rest, goals, method, restarts=restarts) for restarts in (0, 1))
    assert np.all(one.status[none.status == 0] == 0)


def test_attempts_are_the_same_for_every_item() -> None:
    """Items that differ only in where they start, and do not arrive from there, end in one pose."""
    skeleton, _, goals = problems("puma", 60)
    goal = goals[0]
    assert isinstance(goal, ik.Reach)
    wanted = [ik.Reach(5, np.asarray(goal.position)[:, None], np.asarray(goal.rotation)[:, None])]
    starts = ik.Pose(posed(skeleton, 5, 300).rotations[None])
    options: dict[str, Any] = {"iterations": 60}
    first = ik.dls(skeleton, starts, wanted, restarts=1, textbook=True, **options)
    found = ik.dls(skeleton, starts, wanted, restarts=50, textbook=True, **options)
    arrives = ik.dls(skeleton, starts, wanted, textbook=True, **options).status == 0
    assert np.any(first.status != 0)
    some = 0
    for item in range(60):
        again = np.abs(found.pose.rotations[item][~arrives[item]])
        some += len(again) > 1
        assert_allclose(again, np.broadcast_to(again[:1], again.shape), atol=1e-9)
    assert some > 20


@every
def test_what_is_out_of_reach_or_cannot_be_used_is_said_as_without(method: str) -> None:
    rope = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    goal = [ik.Reach(3, np.array([[5.0, 0, 1], [np.nan, 0, 0], [1, 1, 1]]))]
    with pytest.warns(ik.UnusableWarning):
        found = ik.solve(rope, rope.rest, goal, method, restarts=20)
    assert found.status[0] & Status.TOO_FAR
    assert_array_equal(found.status[1:], [Status.NOT_FINITE, 0])
    assert_allclose(found.error[0], np.sqrt(26) - 3, rtol=1e-4)
    assert found.iterations[1] == 0
    assert_array_equal(found.pose.rotations[1], rope.rest.rotations)


@every
def test_a_chain_that_slides_starts_again_anywhere_on_its_travel(method: str) -> None:
    limits = [Limit.locked(position=[[-2, 0, 0], [2, 0, 0]]), *[Limit.hinge([0, 0, 1], -0.4, 0.4)] * 2, None]
    arm = ik.Skeleton([-1, 0, 1, 2], np.array([[0, 0, 0], [0.1, 0, 0], [1, 0, 0], [1, 0, 0]]), limits=limits)
    rng = np.random.default_rng(7)
    first, second = rng.uniform(-0.4, 0.4, (2, 50))
    x = rng.uniform(-2, 2, 50) + 0.1 + np.cos(first) + np.cos(first + second)
    target = np.stack([x, np.sin(first) + np.sin(first + second), 0 * x], axis=-1)
    found = ik.solve(arm, arm.rest, [ik.Reach(3, target)], method, restarts=30)
    assert np.mean(found.status == 0) > 0.95
    assert found.pose.translations is not None
    assert np.abs(found.pose.translations[:, 0, 0]).max() <= 2


@every
def test_what_restarts_would_not_keep_is_refused(method: str) -> None:
    rope = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    goal = [ik.Reach(2, [[1.0, 1, 0]])]
    scaled = ik.Pose(rope.rest.rotations, scales=np.ones((3, 3)))
    for pose, options, message in (
        (rope.rest, {"sequence": True}, "restarts: expected 0 with sequence=True"),
        (rope.rest, {"history": True}, "restarts: expected 0 with history=True"),
        (scaled, {}, "restarts: expected 0 with a pose that has scales"),
    ):
        with pytest.raises(ValueError, match=message):
            ik.solve(rope, pose, goal, method, restarts=3, **options)
