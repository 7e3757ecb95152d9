"""Inductive inverse kinematics: the postures themselves beside the map that is published, learnt from them.

The map is `posture_map`. Either gives the posture with the nearest tip, and `ccd` goes on from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import rotations

Array = Any
LIMIT = ik.Limit.cone([1, 0, 0], 0.9, twist=(-0.5, 0.5))
TAIL = ik.Skeleton(range(-1, 6), [[0, 0, 0], *[[1, 0, 0]] * 6], limits=[LIMIT] * 6 + [None])
TIP = ik.Reach(6, position=...)


def motion(latent: Array) -> Array:
    """Poses of a family of three dimensions."""
    mix = np.random.default_rng(3).normal(size=(3, 7, 3)) * 0.25
    turns = np.einsum("...k,kjc->...jc", latent, mix)
    return LIMIT.project(rotations.exp(turns + 0.1 * np.sin(2 * turns[..., ::-1, :])))


def learnt(seen: Array) -> Array:
    """The nodes of the published map, within limits."""
    return ik.learned.posture_map(TAIL, ik.Pose(seen)).rotations


def apart(one: Array, other: Array) -> Array:
    """By how many degrees joints are turned otherwise, all but the tip."""
    return np.degrees(2 * np.arccos(np.minimum(np.abs(np.sum(one * other, axis=-1)), 1)))[..., :6]


def farthest_from(seen: Array, poses: Array) -> Array:
    """For every pose the distance of the nearest known one, as root mean square over its joints."""
    return np.array([np.sqrt(np.mean(apart(seen, pose) ** 2, axis=-1)).min() for pose in poses])


def solved(start: ik.Pose, path: Array, **options: Any) -> ik.Solution:
    found = ik.ccd(TAIL, start, [ik.Reach(6, path)], **options)
    assert not np.any(found.status)
    assert np.max(LIMIT.violation(found.pose.rotations[:, :6])) <= 1e-9
    return found


@pytest.mark.thorough
def test_postures_do_what_the_learnt_map_does_and_stay_nearer() -> None:
    """Nearer to what was seen, in fewer sweeps. Along a path neither is smooth, a sequence that starts there is."""
    seen = motion(np.random.default_rng(2).normal(size=(1500, 3)))
    time = np.linspace(0, 2 * np.pi, 401)
    latent = np.stack([1.1 * np.sin(time), 0.9 * np.sin(2 * time + 0.5), 0.8 * np.cos(3 * time)], axis=-1)
    path = TAIL.forward(ik.Pose(motion(latent))).positions[:, 6]
    starts = [
        ik.learned.Postures(TAIL, ik.Pose(known), [TIP]).nearest(TAIL.rest, path)[0] for known in (seen, learnt(seen))
    ]
    every, by_map = (solved(start, path) for start in starts)
    plain = solved(TAIL.rest, path)
    following = solved(ik.Pose(starts[0].rotations[0]), path, sequence=True)
    off = [farthest_from(seen, found.pose.rotations).mean() for found in (every, by_map, plain)]
    assert off[0] < 0.8 * off[1] < off[1] < 0.7 * off[2]
    assert every.iterations.mean() < by_map.iterations.mean() < plain.iterations.mean()
    jumps = [apart(f.pose.rotations[1:], f.pose.rotations[:-1]).max() for f in (every, by_map, following)]
    assert min(jumps[:2]) > 30
    assert jumps[2] < 10


def test_postures_that_are_all_the_same_are_that_one() -> None:
    one = motion(np.array([0.5, -0.2, 0.3]))
    start, _ = ik.learned.Postures(TAIL, ik.Pose(np.repeat(one[None], 20, axis=0)), [TIP]).nearest(TAIL.rest, [4, 2, 1])
    assert_allclose(start.rotations[:6], one[:6], atol=0)


def test_a_posture_outside_of_limits_gives_none() -> None:
    """Measured poses may violate a limit; results never do."""
    wild = rotations.exp(np.random.default_rng(4).normal(size=(200, 7, 3)))
    assert np.max(LIMIT.violation(wild)) > 0.5
    start, _ = ik.learned.Postures(TAIL, ik.Pose(wild), [TIP]).nearest(TAIL.rest, [[4, 2, 1], [3, -3, 1]])
    found = ik.ccd(TAIL, start, [ik.Reach(6, [[4, 2, 1], [3, -3, 1]])])
    assert np.max(LIMIT.violation(found.pose.rotations[:, :6])) <= 1e-9


def test_nodes_of_the_map_are_within_limits_near_poses_and_the_same_again() -> None:
    seen = motion(np.random.default_rng(2).normal(size=(400, 3)))
    nodes = ik.learned.posture_map(TAIL, ik.Pose(seen), 4, steps=6000).rotations
    assert 20 < len(nodes) <= 64
    assert np.max(LIMIT.violation(nodes[:, :6])) <= 1e-9
    random = motion(np.random.default_rng(8).normal(size=(100, 3)))
    few = seen[: len(nodes)]
    assert farthest_from(nodes, random).mean() < farthest_from(few, random).mean()
    assert ik.learned.posture_map(TAIL, ik.Pose(seen), 4, steps=6000).rotations.tobytes() == nodes.tobytes()
    assert ik.learned.posture_map(TAIL, ik.Pose(seen), 4, steps=6000, seed=1).rotations.tobytes() != nodes.tobytes()


def test_a_map_of_one_posture_is_that_posture() -> None:
    one = motion(np.array([0.5, -0.2, 0.3]))
    nodes = ik.learned.posture_map(TAIL, ik.Pose(np.repeat(one[None], 20, axis=0)), 2, steps=100).rotations
    assert_allclose(np.abs(np.sum(nodes * one, axis=-1)), 1, atol=1e-12)


def test_nodes_that_limits_move_far_are_left_out() -> None:
    """One of two kinds of poses is outside the limits: its nodes are left out of the map."""
    inside = motion(np.random.default_rng(2).normal(size=(200, 3)))
    outside = rotations.multiply(inside, rotations.from_axis_angle([0, 0, 1], 2.0))
    nodes = ik.learned.posture_map(TAIL, ik.Pose(np.concatenate([inside, outside])), 4, steps=2000).rotations
    assert farthest_from(inside, nodes).max() < 25


def test_what_is_no_size_of_a_map_is_refused() -> None:
    with pytest.raises(ValueError, match="side: expected 1 or more, got 0"):
        ik.learned.posture_map(TAIL, TAIL.rest, 0)
