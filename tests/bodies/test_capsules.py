"""Capsules along bones: depths against samples of both axes, and bodies without collisions after the node."""

from __future__ import annotations

import numpy as np
from humans import BODY
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore.bodies import Capsules, SeparateNode, self_collisions
from ikcore.bodies.capsules import segment_distance

CAPSULES = Capsules.along(BODY, radius=0.05)


def poses(count: int, spread: float) -> ik.Pose:
    draw = np.random.default_rng(11)
    turned = ik.rotations.exp(draw.normal(size=(count, len(BODY), 3)) * spread)
    return ik.Pose(turned, np.tile(BODY.offsets, (count, 1, 1)))


def test_distances_of_segments() -> None:
    draw = np.random.default_rng(2)
    a, b, c, d = draw.normal(size=(4, 60, 3))
    c[:5], d[:5] = np.add(a[:5], [0, 1.0, 0]), np.add(b[:5], [0, 1.0, 0])  # parallel
    b[5:8] = a[5:8]  # points
    steps = np.linspace(0, 1, 201)[:, np.newaxis]
    for k in range(60):
        one, other = a[k] + steps * (b[k] - a[k]), c[k] + steps * (d[k] - c[k])
        sampled = np.linalg.norm(one[:, np.newaxis] - other, axis=-1).min()
        found = float(segment_distance(a[k], b[k], c[k], d[k]))
        assert found <= sampled + 1e-12
        assert_allclose(found, sampled, atol=0.02)


def test_pairs_that_may_touch_are_left_out() -> None:
    for first, second in CAPSULES.names(BODY):
        one, other = BODY.index(first), BODY.index(second)
        assert not {one, int(BODY.parents[one])} & {other, int(BODY.parents[other])}
    assert self_collisions(BODY, BODY.rest, CAPSULES).max() <= 0


def test_collisions_are_resolved() -> None:
    came = poses(40, 0.35)
    before = self_collisions(BODY, came, CAPSULES).max(axis=-1)
    assert (before > 0.01).sum() > 5  # the case occurs
    found = SeparateNode(CAPSULES)(BODY, came)
    after = self_collisions(BODY, found.pose, CAPSULES).max(axis=-1)
    solved = found.status == 0
    print(found.summary(), (before > 0).sum(), solved.mean())
    assert after[solved].max() <= 1.01e-4
    assert solved.mean() > 0.9
    kept = before <= 1e-4
    assert found.pose.rotations[kept].tobytes() == came.rotations[kept].tobytes()


def test_batch_and_influence() -> None:
    came = poses(8, 0.6)
    node = SeparateNode(CAPSULES)
    found = node(BODY, came)
    for k in range(8):
        assert node(BODY, came[k]).pose.rotations.tobytes() == found.pose.rotations[k].tobytes()
    still = SeparateNode(CAPSULES, influence=0)(BODY, came)
    assert still.pose.rotations.tobytes() == came.rotations.tobytes()
    deep = self_collisions(BODY, came, CAPSULES)
    assert_allclose(self_collisions(BODY, came[3], CAPSULES), deep[3], rtol=0, atol=0)
