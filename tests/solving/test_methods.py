"""Properties of every iterative method, for every item, judged independently of the method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import KINDS, UP, Y, about, chain, enough, forward, limited, rope, taking
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik

Array = Any
pytestmark = [
    pytest.mark.parametrize("method", taking("place")),
    pytest.mark.usefixtures("everywhere"),  # which is why a method costs seconds here
]


def problems() -> list[tuple[ik.Skeleton, Array, list[ik.Goal]]]:
    """A free chain, limited chains, a tree."""
    rope_, start = rope(6)
    free = ik.Reach(6, np.random.default_rng(1).normal(size=(37, 3)) * 2)
    made: list[tuple[ik.Skeleton, Array, list[ik.Goal]]] = [(rope_, start, [free])]
    for kind in KINDS:
        skeleton, start, positions, _ = chain(kind, 5, items=37)
        made.append((skeleton, start, [ik.Reach(5, positions[:, 5] * 1.1)]))
    sides = np.random.default_rng(2).normal(size=(2, 37, 3)) * 2 + 2 * UP
    made.append((Y, Y.rest.rotations, [ik.Reach(6, sides[0]), ik.Reach(9, sides[1])]))
    return made


PROBLEMS = problems()

# Limits without effect: ranges of a whole turn anywhere, a cone of half a turn, boxes of all rotations.
WHOLE = {
    "hinge": ik.Limit.hinge([0, 0, 1], -np.pi, np.pi),
    "from rest": ik.Limit.hinge([0, 0, 1], 0, 2 * np.pi),
    "anywhere": ik.Limit.hinge([0, 0, 1], 0.1 - 2 * np.pi, 0.1),
    "two turns": ik.Limit.hinge([0, 0, 1], -2 * np.pi, 2 * np.pi),
    "cone": ik.Limit.cone([1, 0, 0], np.pi),
    "cone about z": ik.Limit.cone([0, 0, 1], np.pi, twist=(0, 2 * np.pi)),
    "box": ik.Limit.euler("xyz", [-np.pi] * 3, [np.pi] * 3),
    "kusudama": ik.Limit.kusudama([1, 0, 0], [([0, 0, 1], np.pi), ([1, 0, 0], 0.1)]),
    "half a box": ik.Limit.euler("zyx", [-np.pi, -np.pi / 2, -np.pi], [np.pi, np.pi / 2, np.pi]),
}
NAMES = ["free", *KINDS, "tree"]


def part(goals: list[ik.Goal], items: Any) -> list[ik.Goal]:
    return [ik.Reach(goal.joint, np.asarray(goal.position)[items]) for goal in goals if isinstance(goal, ik.Reach)]


@pytest.mark.parametrize("problem", PROBLEMS[:-1], ids=NAMES[:-1])
def test_what_is_said_to_be_reached_is(method: str, dtype: Any, problem: Any) -> None:
    """And targets within reach of a pose that is allowed mostly are."""
    skeleton, start, goals = problem
    (goal,) = goals
    inside = goal.position / (1.1 if skeleton.limits[0] else 1.6)
    found = ik.solve(skeleton, ik.Pose(start.astype(dtype)), [ik.Reach(goal.joint, inside)], method, tolerance=1e-4)
    tips = forward(skeleton, found.pose.rotations)[0][:, goal.joint]
    off = np.linalg.norm(tips - inside, axis=-1) / np.linalg.norm(skeleton.offsets[1:], axis=-1).sum()
    near = 1e-6 if dtype is np.float32 else 1e-12
    assert_allclose(found.error, off * np.linalg.norm(skeleton.offsets[1:], axis=-1).sum(), atol=10 * near)
    assert np.all(off[found.reached] <= 1e-4 + near)
    assert np.all(off[~found.reached] > 1e-4 - near)
    assert np.count_nonzero(found.reached) >= enough(method, 25)


@pytest.mark.drawn(70)
@pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
def test_bits_are_the_same_everywhere(method: str, dtype: Any, problem: Any) -> None:
    """As `everywhere` sees to, with the options as they are when none is given."""
    skeleton, start, goals = problem
    found = ik.solve(skeleton, ik.Pose(start.astype(dtype)), goals, method)
    assert found.pose.dtype == dtype
    assert found.iterations.max() > 1


def solved(method: str, dtype: Any, problem: Any) -> tuple[ik.Skeleton, ik.Pose, Any, ik.Solution]:
    """The parts of a problem in this type, and its solution."""
    skeleton, start, goals = problem
    pose = ik.Pose(start.astype(dtype))
    return skeleton, pose, goals, ik.solve(skeleton, pose, goals, method, iterations=60)


@pytest.mark.drawn(70)
@pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
def test_an_item_is_solved_as_if_it_were_alone(method: str, dtype: Any, problem: Any) -> None:
    skeleton, pose, goals, found = solved(method, dtype, problem)
    for items in (slice(None, None, -1), slice(0, 1), slice(5, 8), slice(0, 17), slice(1, 37, 3)):
        some = ik.solve(skeleton, pose, part(goals, items), method, iterations=60)
        assert some.pose.rotations.tobytes() == found.pose.rotations[items].tobytes()
        assert some.status.tobytes() == found.status[items].tobytes()


@pytest.mark.drawn(70)
@pytest.mark.parametrize("problem", PROBLEMS, ids=NAMES)
def test_a_target_that_is_not_a_number_stays_in_its_item(method: str, dtype: Any, problem: Any) -> None:
    skeleton, pose, goals, found = solved(method, dtype, problem)
    broken = part(goals, slice(None))
    first = goals[0]
    assert isinstance(first, ik.Reach)
    broken[0] = ik.Reach(first.joint, np.where(np.arange(37)[:, None] == 3, np.nan, np.asarray(first.position)))
    with pytest.warns(ik.UnusableWarning):
        other = ik.solve(skeleton, pose, broken, method, iterations=60)
    assert other.status[3] == ik.Status.NOT_FINITE
    assert_array_equal(other.pose.rotations[3], pose.rotations)
    rest = np.arange(37) != 3
    assert other.pose.rotations[rest].tobytes() == found.pose.rotations[rest].tobytes()


def test_a_goal_of_no_weight_may_be_anywhere(method: str) -> None:
    goals = [ik.Reach(6, [-2, 4, 1]), ik.Reach(9, [np.nan] * 3, weight=0)]
    found = ik.solve(Y, Y.rest, goals, method)
    assert found.reached
    assert_allclose(forward(Y, found.pose.rotations)[0][6], [-2, 4, 1], atol=1e-4)


@pytest.mark.parametrize("kind", ["cone", "hinge"])
@pytest.mark.parametrize("scale", [1e-18, 1e-6, 1e6, 1e18])
def test_size_does_not_matter(method: str, kind: str, scale: float) -> None:
    size = 2.0 ** np.round(np.log2(scale))
    skeleton, start, positions, _ = chain(kind, 6, items=40)
    sized = ik.Skeleton(skeleton.parents, skeleton.offsets * size, limits=skeleton.limits)
    pose, target = ik.Pose(start.astype(np.float32)), positions[:, 6].astype(np.float32)
    found = ik.solve(skeleton, pose, [ik.Reach(6, target)], method)
    same = ik.solve(sized, pose, [ik.Reach(6, target * np.float32(size))], method)
    assert same.pose.rotations.tobytes() == found.pose.rotations.tobytes()
    assert_array_equal(same.status, found.status)


@pytest.mark.drawn(14)
@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold_where_the_target_cannot_be_reached(method: str, kind: str) -> None:
    skeleton, start, _, _ = chain(kind, 4)
    target = np.random.default_rng(8).normal(size=(200, 3)) * 3
    found = ik.solve(skeleton, ik.Pose(start), [ik.Reach(4, target)], method)
    failed = ~found.reached
    assert np.count_nonzero(failed) > 20
    assert limited(skeleton, found) <= 1e-9
    stalled = (found.status & ik.Status.STALLED) != 0
    assert np.count_nonzero(stalled) > 10
    out_of_reach = (found.status & (ik.Status.TOO_FAR | ik.Status.TOO_NEAR)) != 0
    kept = (found.status[stalled & ~out_of_reach] & ik.Status.AT_LIMIT) != 0
    assert np.count_nonzero(kept) >= len(kept) - (kind == "hinge")  # its axes alone can keep a chain away, in any range


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_start_outside_of_the_limits_comes_back_inside(method: str, iterations: int) -> None:
    skeleton, _, positions, _ = chain("cone", 6)
    start = np.tile(about([0, 1, 0], np.array(3.0)), (7, 1))
    found = ik.solve(skeleton, ik.Pose(start), [ik.Reach(6, positions[:, 6])], method, iterations=iterations)
    assert limited(skeleton, found) <= 1e-9


@pytest.mark.parametrize("zero", [1, 2, 3, 5])
def test_bones_of_no_length_do_no_harm(method: str, zero: int) -> None:
    points = np.cumsum(np.where(np.arange(6)[:, None] == zero, 0, UP), axis=0)
    skeleton = ik.Skeleton.chain(points)
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(5, [2, 2, 0.5])], method)
    assert np.all(np.isfinite(found.pose.rotations))
    assert found.reached or not ik.methods()[method].reaches
    some = ik.Limit.cone(UP, 2.5)
    skeleton = ik.Skeleton(np.arange(6) - 1, np.diff(points, axis=0, prepend=0), limits=[*[some] * 5, None])
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(5, [2, 2, 0.5])], method)
    assert found.reached


@pytest.mark.drawn(100)
@pytest.mark.parametrize("limit", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("textbook", [False, True])
def test_a_range_of_a_whole_turn_has_no_ends(
    isa: str, method: str, dtype: Any, limit: ik.Limit, textbook: bool
) -> None:
    """From 179 degrees to 181, and across every other place where a range could end, the way is two degrees."""
    arm = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits=[limit, None])
    at = np.deg2rad(np.arange(-2, 363, 1.0))
    start = ik.Pose(np.stack([about([0, 0, 1], at), about([0, 0, 1], 0 * at)], axis=1).astype(dtype))
    for way in (2, -2):
        to = at + np.deg2rad(way)
        target = np.stack([np.cos(to), np.sin(to), 0 * to], axis=-1)
        found = ik.solve(arm, start, [ik.Reach(1, target)], method, textbook=textbook, history=True)
        assert not np.any(found.status)
        assert np.max(found.iterations) <= 4
        assert found.history is not None
        assert np.nanmax(found.history) <= np.deg2rad(2.01)  # never by the long way round


@pytest.mark.parametrize("textbook", [False, True])
def test_where_a_whole_turn_lies_changes_nothing(isa: str, method: str, textbook: bool) -> None:
    rng = np.random.default_rng(8)
    target = rng.normal(size=(40, 3)) * 1.5
    poses, status = [], []
    for low, high in ((-np.pi, np.pi), (0, 2 * np.pi), (-2 * np.pi, 0), (-2 * np.pi, 2 * np.pi), (-1, 6)):
        axes = ([0, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 1])
        limits = [*[ik.Limit.hinge(axis, low, high) for axis in axes], None]
        arm = ik.Skeleton(range(-1, 4), [[0, 0, 0], *[[1, 0, 0]] * 4], limits=limits)
        found = ik.solve(arm, arm.rest, [ik.Reach(4, target)], method, textbook=textbook)
        poses.append(found.pose.rotations)
        status.append(found.status)
    for pose, said in zip(poses, status, strict=True):
        assert_allclose(pose, poses[0], atol=1e-6)
        assert_array_equal(said, status[0])


@pytest.mark.thorough
def test_a_conflict_of_place_and_rotation_ends_alike_in_any_unit(method: str) -> None:
    if method not in taking("turn"):
        pytest.skip("it takes no rotation")
    offsets = np.array([[0, 0, 0], [1, 0, 0], [0.7, 0.2, 0], [0.4, 0, 0.1]])
    rng = np.random.default_rng(3)
    turned = ref.unit(rng.normal(size=(50, 4)))
    place = rng.normal(size=(50, 3))
    limits = [ik.Limit.cone([1, 0, 0], 1.2, twist=(-1, 1))] * 4
    for kind in (None, limits):
        poses, squares = [], []
        for scale in (1, 10):
            arm = ik.Skeleton([-1, 0, 1, 2], offsets * scale, limits=kind)
            goals = [ik.Reach(3, place * scale, turned), ik.Reach(1, -place * scale)]
            poses.append(ik.solve(arm, arm.rest, goals, method).pose)
            at = arm.forward(poses[-1]).positions / scale
            squares.append(np.square(at[:, 3] - place).sum(axis=-1) + np.square(at[:, 1] + place).sum(axis=-1))
        if method == "newton" and kind is None:
            # It goes all the way, so that shaken poses are as good to the last digits: rounding says which one stays.
            assert_allclose(squares[1], squares[0], rtol=1e-6)
            continue
        apart = np.abs(np.sum(poses[0].rotations * poses[1].rotations, axis=-1))
        assert np.mean(np.all(apart > 1 - 1e-6, axis=-1)) > 0.9
