"""Tables and postures to start from: the nearest row is what comparing with every row finds, to the bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core

Array = NDArray[Any]


def nearest(table: _core.Table, query: Array) -> tuple[Array, Array]:
    row, distance = np.empty(len(query), np.int32), np.empty(len(query))
    table.nearest(query, row, distance, 0, len(query))
    return row, distance


def compared(keys: Array, query: Array) -> tuple[Array, Array]:
    """Comparison with every row, with the same order of sums."""
    square = np.zeros((len(query), len(keys)))
    for column in range(keys.shape[1]):
        square += (query[:, column, None] - keys[:, column]) ** 2
    return square.argmin(axis=1), np.sqrt(square.min(axis=1))


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 15, 16, 17, 100, 3000])
@pytest.mark.parametrize("columns", [1, 3, 7])
@pytest.mark.parametrize("grid", [False, True], ids=["apart", "on a grid"])
def test_the_nearest_row_is_found(rows: int, columns: int, grid: bool) -> None:
    random = np.random.default_rng(rows + columns)
    keys, query = random.normal(size=(rows, columns)), 1.5 * random.normal(size=(300, columns))
    if grid:  # many are as near as each other: the first counts
        keys, query = np.round(2 * keys) / 2, np.round(4 * query) / 4
    row, distance = nearest(_core.Table(keys), query)
    expected_row, expected = compared(keys, query)
    np.testing.assert_array_equal(row, expected_row)
    assert distance.tobytes() == expected.tobytes()


@given(st.lists(st.tuples(*[st.floats(-1e200, 1e200)] * 2), min_size=1, max_size=40), st.data())
def test_any_rows_will_do(keys: list[tuple[float, float]], data: Any) -> None:
    known = np.array(keys)
    query = np.array([data.draw(st.sampled_from(keys)), (0.0, 1e-300), (-1e300, 1e300)])
    row, distance = nearest(_core.Table(known), query)
    with np.errstate(over="ignore"):
        expected_row, expected = compared(known, query)
    np.testing.assert_array_equal(row, expected_row)
    assert distance.tobytes() == expected.tobytes()


def test_a_query_that_is_no_number_has_no_nearest() -> None:
    row, distance = nearest(_core.Table(np.zeros((20, 2))), np.array([[np.nan, 0], [0, np.inf], [0, 0.0]]))
    assert row.tolist() == [-1, -1, 0]
    assert np.isnan(distance).tolist() == [True, True, False]


def test_rows_may_stand_anywhere_in_memory() -> None:
    random = np.random.default_rng(1)
    keys, wide = random.normal(size=(50, 3)), random.normal(size=(40, 6))
    expected = nearest(_core.Table(keys), np.ascontiguousarray(wide[::-2, ::2]))
    found = nearest(_core.Table(np.asfortranarray(keys)), wide[::-2, ::2])
    assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (np.zeros((0, 3)), "expected one or more rows of 1 to 64 numbers, got 0 of 3"),
        (np.zeros((3, 65)), "got 3 of 65"),
        (np.zeros((3, 0)), "got 3 of 0"),
        (np.array([[0, 1.0], [np.nan, 2]]), "row 1 is not finite"),
    ],
)
def test_a_table_of_anything_else_is_refused(keys: Array, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _core.Table(keys)


@pytest.mark.parametrize(
    "operands",
    [
        (np.zeros((4, 2)), np.zeros(4, np.int32), np.zeros(4), 0, 4),
        (np.zeros((4, 3), np.float32), np.zeros(4, np.int32), np.zeros(4), 0, 4),
        (np.zeros((4, 3)), np.zeros(3, np.int32), np.zeros(4), 0, 4),
        (np.zeros((4, 3)), np.zeros(4, np.int64), np.zeros(4), 0, 4),
        (np.zeros((4, 3)), np.zeros(4, np.int32), np.zeros(4), 0, 5),
        (np.zeros((4, 3)), np.zeros(4, np.int32), np.zeros(4), -1, 4),
        (None, np.zeros(4, np.int32), np.zeros(4), 0, 4),
    ],
)
def test_the_core_refuses_arrays_that_do_not_fit(operands: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="does not fit"):
        _core.Table(np.zeros((5, 3))).nearest(*operands)


# --- postures --------------------------------------------------------------------------------------------------------

ARM = ik.Skeleton(
    parents=[-1, 0, 1, 2],
    offsets=[[0, 1.3, 0], [0.2, 0.1, 0], [0.3, 0, 0.01], [0.27, 0, -0.01]],
    names=["chest", "upper_arm", "forearm", "hand"],
)
HAND = ik.Reach("hand", position=..., chain="upper_arm")
TARGET = [0.4, 1.3, 0.2]


def poses(count: int, seed: int = 0, at: Any = (0, 0, 0)) -> ik.Pose:
    """Joints turned at random, the chest moved."""
    rotations = ik.rotations.exp(np.random.default_rng(seed).normal(size=(count, 4, 3)))
    translations = np.broadcast_to(ARM.offsets, (count, 4, 3)).copy()
    translations[:, 0] += at
    return ik.Pose(rotations, translations)


def test_the_nearest_posture_is_the_one_whose_hand_is_nearest() -> None:
    """As seen from the arm, wherever the chest is and however it is turned, in poses and in what is asked."""
    known, now = poses(200), poses(30, seed=5, at=[1, 2, 3])
    world = ARM.forward(now)
    targets = world.positions[:, 1] + np.random.default_rng(9).normal(size=(30, 3)) * 0.3
    start, distance = ik.learned.Postures(ARM, known, [HAND]).nearest(now, targets)
    best = np.full(30, np.inf)
    for pose in range(200):
        rotations = now.rotations.copy()
        rotations[:, 1:3] = known.rotations[pose, 1:3]
        ends = ARM.forward(ik.Pose(rotations, now.translations)).positions[:, 3]
        best = np.minimum(best, np.linalg.norm(ends - targets, axis=1))
    np.testing.assert_allclose(np.linalg.norm(ARM.forward(start).positions[:, 3] - targets, axis=1), best, atol=1e-12)
    np.testing.assert_allclose(distance, best, atol=1e-12)
    for joint in (0, 3):
        assert start.rotations[:, joint].tobytes() == now.rotations[:, joint].tobytes()


def test_a_solve_from_there_takes_fewer_iterations() -> None:
    hinges = {joint: ik.Limit.hinge([joint % 2, 0, 1 - joint % 2], -2, 2) for joint in range(1, 6)}
    body = ik.Skeleton([-1, *range(6)], np.array([[0, 1.0, 0], *[[0, 0.3, 0]] * 6]), limits=hinges)

    def within(count: int) -> ik.Pose:
        rotations = np.tile([1.0, 0, 0, 0], (count, 7, 1))
        for joint, limit in hinges.items():
            rotations[:, joint] = limit.sample(count, seed=joint + count)
        return ik.Pose(rotations)

    targets = body.forward(within(400)).positions[:, 6]
    postures = ik.learned.Postures(body, within(2000), [ik.Reach(6, position=...)])
    start, _ = postures.nearest(body.rest, targets)
    there, rest = (ik.dls(body, pose, [ik.Reach(6, targets)]) for pose in (start, body.rest))
    assert there.iterations.mean() < 0.8 * rest.iterations.mean()
    assert (there.status == 0).mean() >= (rest.status == 0).mean()


def test_axes_broadcast_and_threads_change_nothing() -> None:
    postures, random = ik.learned.Postures(ARM, poses(50), [HAND]), np.random.default_rng(3)
    targets = [0.2, 1.4, 0] + 0.3 * random.normal(size=(4000, 1, 3))
    now = poses(2, seed=8)
    start, distance = postures.nearest(now, targets)
    assert (start.shape, distance.shape) == ((4000, 2), (4000, 2))
    again, _ = postures.nearest(now, targets, workers=2)
    assert again.rotations.tobytes() == start.rotations.tobytes()
    one, off = postures.nearest(now[1], targets[17, 0])
    assert one.rotations.tobytes() == start.rotations[17, 1].tobytes()
    assert off == distance[17, 1]


def test_what_is_not_finite_keeps_its_pose() -> None:
    start, distance = ik.learned.Postures(ARM, poses(50), [HAND]).nearest(ARM.rest, [[np.nan, 1, 1], TARGET])
    assert np.isnan(distance).tolist() == [True, False]
    assert start.rotations[0].tobytes() == ARM.rest.rotations.tobytes()


def test_floats_stay_floats() -> None:
    start, _ = ik.learned.Postures(ARM, poses(50), [HAND]).nearest(
        ik.Pose(ARM.rest.rotations.astype(np.float32)), TARGET
    )
    assert start.dtype == np.float32


def test_postures_pickle() -> None:
    postures = ik.learned.Postures(ARM, poses(50), [HAND])
    again = pickle.loads(pickle.dumps(postures))
    starts = [made.nearest(ARM.rest, TARGET)[0].rotations.tobytes() for made in (postures, again)]
    assert starts[0] == starts[1]
    assert len(again) == 50
    assert repr(again).startswith("Postures(50 of 4 joints, for [Reach(joint='hand'")


NO_SKELETON: Any = None
NO_POSE: Any = [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ik.learned.Postures(NO_SKELETON, poses(5), [HAND]), "skeleton: expected a Skeleton, got NoneType"),
        (lambda: ik.learned.Postures(ARM, NO_POSE, [HAND]), "poses: expected a Pose, got list"),
        (lambda: ik.learned.Postures(ARM, poses(0), [HAND]), "expected one or more"),
        (lambda: ik.learned.Postures(ARM, poses(5), []), "goals: expected one or more, got none"),
        (
            lambda: ik.learned.Postures(ARM, poses(5), [ik.Reach("hand", TARGET)]),
            r"goals\[0\]: expected a Reach with position=...",
        ),
        (
            lambda: ik.learned.Postures(ARM, poses(5), [ik.Look("hand", [1, 0, 0], position=...)]),
            r"goals\[0\]: expected a Reach",
        ),
        (
            lambda: ik.learned.Postures(ARM, poses(5), [HAND]).nearest(NO_POSE, [0, 0, 0]),
            "pose: expected a Pose, got list",
        ),
        (
            lambda: ik.learned.Postures(ARM, poses(5), [HAND]).nearest(ARM.rest),
            "expected 1 positions, one a goal, got 0",
        ),
    ],
)
def test_what_is_wrong_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


# --- several of the nearest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3, 17, 500])
@pytest.mark.parametrize("count", [1, 2, 8, 64])
@pytest.mark.parametrize("grid", [False, True], ids=["apart", "on a grid"])
def test_the_nearest_rows_are_found_in_their_order(rows: int, count: int, grid: bool) -> None:
    random = np.random.default_rng(rows + count)
    keys, query = random.normal(size=(rows, 3)), 1.5 * random.normal(size=(100, 3))
    if grid:
        keys, query = np.round(2 * keys) / 2, np.round(4 * query) / 4
    row, distance = np.empty((100, count), np.int32), np.empty((100, count))
    _core.Table(keys).nearest(query, row, distance, 0, 100)
    square = np.zeros((100, rows))
    for column in range(3):
        square += (query[:, column, None] - keys[:, column]) ** 2
    order = np.argsort(square, axis=1, kind="stable")[:, :count]
    there = min(rows, count)
    np.testing.assert_array_equal(row[:, :there], order)
    assert distance[:, :there].tobytes() == np.sqrt(np.take_along_axis(square, order, axis=1)).tobytes()
    assert (row[:, there:] == -1).all()
    assert np.isnan(distance[:, there:]).all()


def test_more_rows_than_the_core_keeps_are_refused() -> None:
    with pytest.raises(TypeError, match="row does not fit, which has more than 64"):
        _core.Table(np.zeros((5, 3))).nearest(np.zeros((4, 3)), np.zeros((4, 65), np.int32), np.zeros((4, 65)), 0, 4)


def test_several_postures_come_nearest_first() -> None:
    postures, targets = ik.learned.Postures(ARM, poses(50), [HAND]), np.array([TARGET, [0.2, 1.1, 0.1]])
    several, distance = postures.nearest(ARM.rest, targets, count=60)
    one, least = postures.nearest(ARM.rest, targets)
    assert (several.shape, distance.shape) == ((2, 60), (2, 60))
    assert (np.diff(distance[:, :50], axis=1) >= 0).all()
    assert several.rotations[:, 0].tobytes() == one.rotations.tobytes()
    assert distance[:, 0].tolist() == least.tolist()
    assert np.isnan(distance[:, 50:]).all()
    assert (several.rotations[:, 50:] == ARM.rest.rotations).all()


def test_the_blend_is_the_mean_by_inverse_squares() -> None:
    postures = ik.learned.Postures(ARM, poses(50), [HAND])
    several, distance = postures.nearest(ARM.rest, TARGET, count=8)
    weights = distance**-2 / np.sum(distance**-2)
    blended = postures.blend(ARM.rest, TARGET)
    for joint in (1, 2):
        first, each = several.rotations[0, joint], several.rotations[:, joint]
        each = each * np.sign(each @ first)[:, None]
        off = ik.rotations.log(ik.rotations.multiply(ik.rotations.conjugate(first), each))
        expected = ik.rotations.multiply(first, ik.rotations.exp(weights @ off))
        np.testing.assert_allclose(blended.rotations[joint], expected, atol=1e-12)


def test_the_blend_where_a_posture_is_is_that_posture() -> None:
    known = poses(50)
    hands = ARM.forward(known).positions[:, 3]
    blended = ik.learned.Postures(ARM, known, [HAND]).blend(known, hands)
    np.testing.assert_allclose(np.abs(np.sum(blended.rotations * known.rotations, axis=-1)), 1, atol=1e-12)


def test_the_blend_of_what_is_not_finite_keeps_its_pose() -> None:
    blended = ik.learned.Postures(ARM, poses(3), [HAND]).blend(ARM.rest, [[np.nan, 1, 1], TARGET], count=5)
    assert blended.rotations[0].tobytes() == ARM.rest.rotations.tobytes()
    assert np.isfinite(blended.rotations).all()


@pytest.mark.parametrize("count", [0, 65])
def test_a_count_that_cannot_be_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"count: expected 1 to 64, got {count}"):
        ik.learned.Postures(ARM, poses(3), [HAND]).nearest(ARM.rest, TARGET, count=count)
