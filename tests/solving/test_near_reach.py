"""Chains just within their reach: bent by one factor of how they were bent, so that they move as their target does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import forward, rope
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik

Array = Any
METHODS = ("fabrik", "follow", "ccd")
by_all = pytest.mark.parametrize("method", METHODS)


def turned(rotations: Array) -> Array:
    """By how many degrees the joint that turns most does, from frame to frame."""
    turn = ref.multiply(ref.conjugate(rotations[:-1]), rotations[1:])
    return np.degrees(2 * np.arctan2(ref.norm(turn[..., 1:]), np.abs(turn[..., 0]))).max(axis=-1)


def paths(bones: int) -> dict[str, Array]:
    """Out of reach and back: along a line, on a ring, on a knot."""
    t = np.linspace(0, 2 * np.pi, 2000)[:, None]
    knot = np.array([0.6, 0.4, 0.3]) + np.array([0.35, 0.3, 0.4]) * np.sin(np.array([1, 2, 3]) * t + [0, 1, 2])
    return {
        "line": bones * (1 - 0.1 * np.cos(2 * t)) * ref.unit(np.array([1.0, 2, 0.5])),
        "ring": bones * ([0.75, 0.2, 0.1] + 0.3 * np.concatenate([np.cos(t), np.sin(t), 0 * t], axis=-1)),
        "knot": bones * knot,
    }


@pytest.mark.parametrize("path", ["line", "ring", "knot"])
@pytest.mark.parametrize("bones", [3, 10, 30])
@by_all
def test_over_the_edge_of_reach_joints_turn_as_an_arc_does(method: str, bones: int, path: str, dtype: Any) -> None:
    """Which `circle` is exactly: that turn is no method's fault, it goes as the root of what is short of the reach."""
    skeleton, start = rope(bones)
    places = paths(bones)[path].astype(dtype)
    distance = ref.norm(places) / bones
    edge = (np.maximum(distance[1:], distance[:-1]) > 0.98)[1:]
    most = {}
    for name in (method, "circle"):
        found = ik.solve(skeleton, ik.Pose(start.astype(dtype)), [ik.Reach(bones, places)], name, sequence=True)
        clear = abs(distance - 1) > 1e-6
        assert_array_equal(found.status[clear], np.where(distance > 1, ik.Status.TOO_FAR, 0)[clear])
        most[name] = turned(found.pose.rotations)[1:][edge].max()
    assert most[method] < 1.5 * most["circle"]


@pytest.mark.parametrize("share", [0.985, 0.998, 0.99999])
@pytest.mark.parametrize("seed", range(4))
@by_all
def test_a_bent_chain_is_drawn_as_it_is_bent(method: str, seed: int, share: float) -> None:
    """Apart from the definition, offsets from the line between base and tip, carried to the new line, are those of an
    arc plus the former ones times one factor. They alone shorten the chain, and shrink towards full reach."""
    rng = np.random.default_rng(seed)
    skeleton = ik.Skeleton.chain(np.cumsum([np.zeros(3), *rng.uniform(0.5, 1.5, (7, 1)) * [0, 1.0, 0]], axis=0))
    start = ref.unit(np.concatenate([np.ones((8, 1)), rng.normal(0, 0.03, (8, 3))], axis=-1))
    before = forward(skeleton, start)[0]
    lengths = ref.norm(skeleton.offsets[1:])
    line, reach = ref.unit(before[7]), lengths.sum()
    target = share * reach * ref.unit(line + rng.normal(0, 0.05, 3))
    found = ik.solve(skeleton, ik.Pose(start), [ik.Reach(7, target)], method, tolerance=1e-12)
    assert found.status == found.iterations == 0
    after = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(after[7], target, atol=1e-12 * reach)
    arc = ref.unit(np.append(1 + line @ ref.unit(target), np.cross(line, ref.unit(target))))

    def leans(places: Array, along: Array) -> Array:
        bone = np.diff(places, axis=0) / lengths[:, None]
        return bone - np.outer(bone @ along, along)

    was, now = ref.rotate(arc, leans(before, line)), leans(after, ref.unit(target))
    even = 1 - (2 * np.cumsum(lengths) - lengths) / reach
    factor, *_ = np.linalg.lstsq(
        np.stack([was.ravel(), *(np.outer(even, axis).ravel() for axis in np.eye(3))], 1), now.ravel(), rcond=None
    )
    assert_allclose(now, factor[0] * was + np.outer(even, factor[1:]), atol=1e-9)
    short = np.sqrt((1 - share) / (1 - ref.norm(before[7]) / reach))
    if short > 1:
        assert_allclose(factor[1:], 0, atol=1e-9)
    else:
        assert 0 < factor[0] < 1.2 * short**2
        assert ref.norm(factor[1:]) > 0


@by_all
def test_from_afar_a_chain_is_solved_as_ever(method: str) -> None:
    """A chain far from its target, or strongly bent, has no shape to extend: it takes iterations.

    Sweeps are slower than passes near full reach, so that `ccd` begins with an arc sooner.
    """
    skeleton, start = rope(8)
    target = np.array([[0, -7.7, 0.4], [7.6, 0.5, 0.3]]) * (0.97 if method == "ccd" else 1)
    assert np.all(ik.solve(skeleton, ik.Pose(start), [ik.Reach(8, target)], method).iterations > 0)
    folded = np.tile(ik.rotations.from_axis_angle([0, 0, 1], 0.5), (9, 1))
    near = forward(skeleton, folded)[0][8] * 1.02
    assert ik.solve(skeleton, ik.Pose(folded), [ik.Reach(8, near)], method).iterations > 0


@by_all
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exactly_at_full_reach_it_is_there_at_once(method: str, dtype: Any) -> None:
    """Rounding alone decides whether the target is in reach, for a straight chain and a bent one."""
    ways = ref.unit(np.random.default_rng(5).normal(size=(200, 3)))
    for bones in (2, 6, 10):
        skeleton, start = rope(bones)
        for rotations in (skeleton.rest.rotations, start):
            for short in (0, 1e-15, 1e-7):
                places = bones * (1 - short) * ways
                found = ik.solve(skeleton, ik.Pose(rotations.astype(dtype)), [ik.Reach(bones, places)], method)
                assert np.all((found.status & ~ik.Status.TOO_FAR) == 0)
                assert np.all(found.error < 1e-5 * bones)
                assert np.all(found.iterations <= 1)


@by_all
def test_as_published_nothing_is_drawn_out(method: str) -> None:
    skeleton, start = rope(8)
    target = forward(skeleton, start)[0][8] * 0.99
    published = ik.solve(skeleton, ik.Pose(start), [ik.Reach(8, target)], method, textbook=True)
    assert published.iterations > 0
    assert ik.solve(skeleton, ik.Pose(start), [ik.Reach(8, target)], method).iterations == 0


@by_all
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_item_beside_such_a_chain_keeps_its_bits(method: str, dtype: Any) -> None:
    """Items of one vector, near the edge and not, in a batch and alone."""
    skeleton, start = rope(9)
    start = start.astype(dtype)
    shares = np.linspace(0.3, 1.02, 37)[:, None]
    places = (9 * shares * ref.unit(np.array([0.2, 1, 0.1]))).astype(dtype)
    together = ik.solve(skeleton, ik.Pose(start), [ik.Reach(9, places)], method)
    for item, place in enumerate(places):
        alone = ik.solve(skeleton, ik.Pose(start), [ik.Reach(9, place)], method)
        assert alone.pose.rotations.tobytes() == together.pose.rotations[item].tobytes()


def test_caps_and_bounce_keep_their_way() -> None:
    """If joint rotations are capped or joints are selected, `ccd` respects that near the edge, too."""
    skeleton, start = rope(8)
    target = forward(skeleton, start)[0][8] * 0.99
    for options in ({"max_step": 0.05}, {"feedback": 2.0}, {"bounce": True}):
        found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(8, target)], **options)
        assert found.iterations > 0


@pytest.mark.parametrize("method", ["svf", "sns", "sdls", "dls"])
def test_a_straight_tail_meets_targets_near_its_full_reach(method: str) -> None:
    """At 99 to 99.9 % of it, in all directions: 20 bones as they come, in a line."""
    rng = np.random.default_rng(20)
    tail = ik.Skeleton.chain([[x, 0, 0] for x in range(21)])
    targets = 20 * rng.uniform(0.99, 0.999, (200, 1)) * ref.unit(rng.normal(size=(200, 3)))
    assert np.mean(ik.solve(tail, tail.rest, [ik.Reach(20, targets)], method).status == 0) > 0.98
