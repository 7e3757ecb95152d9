"""spread_twist: what joints twist about their bones is shared among them, and nothing else moves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import reference as ref
from conftest import instruction_sets
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import Status, _core

X, Y, Z = np.eye(3)
ATOL = {np.float32: 1e-5, np.float64: 1e-13}


def chain_of(kind: str) -> ik.Skeleton:
    """Five joints: in line, turned at rest about that line, or any; a leaf at the third."""
    rng = np.random.default_rng(7)
    offsets = np.outer([1, 0.2, 0.3, 0.1, 0.4, 0.3], X)
    rests = np.tile([1.0, 0, 0, 0], (6, 1))
    if kind == "rolled":
        rests = np.stack([np.cos(np.arange(6.0)), *(np.sin(np.arange(6.0)) * x for x in X)], axis=-1)
    if kind == "any":
        offsets, rests = rng.standard_normal((6, 3)), ref.unit(rng.standard_normal((6, 4)))
    return ik.Skeleton([-1, 0, 1, 2, 3, 2], offsets, rests)


def about(axis: Any, angle: Any) -> Any:
    half = np.asarray(angle, float)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * axis], axis=-1)


def twist_of(q: Any, axis: Any) -> Any:
    """The angle about an axis of the nearest turn about that."""
    q = np.asarray(q, float) * np.where(q[..., :1] < 0, -1, 1)
    return 2 * np.arctan2(np.sum(q[..., 1:] * axis, axis=-1), q[..., 0])


def random(skeleton: ik.Skeleton, dtype: Any, items: int = 50, most: float = 1.0) -> ik.Pose:
    """Poses within so many radians from rest."""
    rng = np.random.default_rng(3)
    axes, angles = ref.unit(rng.standard_normal((items, 6, 3))), rng.uniform(-most, most, (items, 6))
    return ik.Pose(ref.multiply(skeleton.rest.rotations, about(axes, angles)).astype(dtype))


@pytest.mark.parametrize("weights", [None, [9, 1, 0, 2, 3], [-1, -2, 0, 0, 5]], ids=["even", "weighted", "last"])
@pytest.mark.parametrize("kind", ["line", "rolled"])
def test_the_twists_are_shared_by_weight(kind: str, weights: Any, dtype: Any, isa: str) -> None:
    body = chain_of(kind)
    came = random(body, dtype)
    found = ik.spread_twist(body, came, [0, 1, 2, 3, 4], weights=weights)
    before, after = (
        twist_of(ref.multiply(ref.conjugate(body.rest.rotations), pose.rotations), X)[:, :5]
        for pose in (came, found.pose)
    )
    shares = np.maximum([0, 1, 1, 1, 1] if weights is None else [0, *weights[1:]], 0)
    expected = before[:, 1:].sum(axis=-1, keepdims=True) * shares / shares.sum()
    assert_allclose(after[:, 1:], expected[:, 1:], rtol=0, atol=ATOL[dtype])
    assert_allclose(found.twists, expected, rtol=0, atol=ATOL[dtype])
    assert (found.status == 0).all()


@pytest.mark.parametrize("kind", ["line", "rolled", "any"])
def test_nothing_else_moves(kind: str, dtype: Any, isa: str) -> None:
    """Positions, both ends and other joints stay. Only children of a joint in between roll with it."""
    body = chain_of(kind)
    came = random(body, dtype, most=3)
    found = ik.spread_twist(body, came, [0, 1, 2, 3, 4], weights=[0, 1, 2, 3, 4])
    one, other = body.forward(came), body.forward(found.pose)
    assert_allclose(other.positions[:, :5], one.positions[:, :5], rtol=0, atol=20 * ATOL[dtype])
    for joint in (0, 4):
        same = np.sum(one.rotations[:, joint] * other.rotations[:, joint].astype(float), axis=-1)
        assert_allclose(abs(same), 1, rtol=0, atol=ATOL[dtype])
    assert (found.pose.rotations[:, [0, 5]] == came.rotations[:, [0, 5]]).all()
    for joint in (1, 2, 3):  # each about its bone
        turned = ref.multiply(other.rotations[:, joint], ref.conjugate(one.rotations[:, joint]))
        bone = ref.unit(one.positions[:, joint + 1].astype(float) - one.positions[:, joint])
        assert_allclose(np.cross(turned[:, 1:], bone), 0, rtol=0, atol=50 * ATOL[dtype])


def test_a_hand_that_turns_past_half_a_turn(isa: str) -> None:
    body = chain_of("line")
    turned = np.tile(body.rest.rotations, (4, 1, 1))
    turned[:, 4] = about(X, np.radians([120, 179.9, 180.1, -120]))
    found = ik.spread_twist(body, ik.Pose(turned), [1, 2, 3, 4])
    assert_allclose(np.degrees(found.twists[:, 1:]), np.outer([40, 179.9 / 3, -179.9 / 3, -40], np.ones(3)), atol=1e-9)
    turned[:, 4] = [0, 0, 1, 0]  # a swing of half a turn: no twist
    assert (ik.spread_twist(body, ik.Pose(turned), [1, 2, 3, 4]).twists == 0).all()


def test_what_has_no_weight_no_bone_and_no_number(dtype: Any, isa: str) -> None:
    body = chain_of("line")
    came = random(body, dtype)
    found = ik.spread_twist(body, came, [1, 2, 3], weights=[1, 0, -1])
    assert (found.status == Status.PARTIAL_INFLUENCE).all()
    assert (found.pose.rotations == came.rotations).all()
    point = ik.Skeleton([-1, 0, 1], np.zeros((3, 3)))
    with pytest.warns(ik.UnusableWarning, match="spread_twist: 1 of 1"):
        assert ik.spread_twist(point, point.rest, [0, 1, 2]).status == Status.NO_LENGTH
    spoilt = came.rotations.copy()
    spoilt[7, 2, 1] = np.nan
    with pytest.warns(ik.UnusableWarning), np.errstate(all="raise"):
        found = ik.spread_twist(body, ik.Pose(spoilt), [0, 1, 2, 3, 4])
    good = ik.spread_twist(body, came, [0, 1, 2, 3, 4])
    assert found.status[7] == Status.NOT_FINITE
    assert np.isnan(found.twists[7]).all()
    np.testing.assert_array_equal(found.pose.rotations[7], spoilt[7])
    for name in ("twists", "status"):
        assert np.delete(getattr(found, name), 7, 0).tobytes() == np.delete(getattr(good, name), 7, 0).tobytes()
    assert np.delete(found.pose.rotations, 7, 0).tobytes() == np.delete(good.pose.rotations, 7, 0).tobytes()


def test_rotations_of_any_length_and_bones_of_any_size(dtype: Any, isa: str) -> None:
    body = chain_of("any")
    came = random(body, dtype)
    scaled = ik.Pose(came.rotations * dtype(2.0**20), body.offsets.astype(dtype) * dtype(2.0**-40))
    one, other = (ik.spread_twist(body, pose, [0, 1, 2, 3, 4]).twists for pose in (came, scaled))
    assert_allclose(other, one, rtol=0, atol=1e-5 if dtype is np.float32 else 1e-14)


def test_the_same_bits(dtype: Any) -> None:
    body = chain_of("any")
    came = random(body, dtype, items=37, most=7)
    before, expected = _core.isa(), None
    try:
        for name in instruction_sets():
            _core.use_isa(name)
            found = ik.spread_twist(body, came, [0, 1, 2, 3, 4])
            made = [array.tobytes() for array in (found.pose.rotations, found.twists, found.status)]
            expected = expected or made
            assert made == expected
            part = ik.spread_twist(body, came[3:20], [0, 1, 2, 3, 4])
            assert part.pose.rotations.tobytes() == found.pose.rotations[3:20].tobytes()
    finally:
        _core.use_isa(before)
    many = random(body, dtype, items=2000)
    one, other = (ik.spread_twist(body, many, [0, 1, 2, 3, 4], workers=n) for n in (1, 3))
    assert one.pose.rotations.tobytes() == other.pose.rotations.tobytes()


def test_shapes_and_what_is_refused() -> None:
    body = chain_of("line")
    came = random(body, np.float64, items=4)
    found = ik.spread_twist(body, came, [1, 2, 3], weights=np.ones((3, 1, 3)))
    assert (found.pose.shape, found.twists.shape, found.status.shape) == ((3, 4), (3, 4, 3), (3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ik.spread_twist(body, came[:0], [1, 2]).status.shape == (0,)
    for joints, options, what in (
        ([1], {}, "joints: expected two or more"),
        ([1, 3], {}, r"joints\[1\]: expected a child of"),
        ([1, 2, 3], {"weights": [1, 2]}, "weights: expected"),
    ):
        with pytest.raises(ValueError, match=what):
            ik.spread_twist(body, came, joints, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="without scales"):
        ik.spread_twist(body, ik.Pose(body.rest.rotations, scales=np.ones((6, 3))), [1, 2])
    with pytest.raises(TypeError, match="joints: expected a list of joints, got 'hand'"):
        ik.spread_twist(body, came, "hand")
    with pytest.raises(TypeError, match="pose: expected a Pose"):
        ik.spread_twist(body, body.rest.rotations, [1, 2])  # type: ignore[arg-type]
