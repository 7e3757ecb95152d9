"""FABRIK where ends are tied: closed loops, distances and planes, and a root that its chains draw along."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
import test_goal_kinds as kinds
from chains import KINDS, UP, about, chain, forward, generator, in_ball, random_rotation, rope
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import _core

Array = Any
pytestmark = pytest.mark.usefixtures("everywhere")


# --- loops ------------------------------------------------------------------------------------------------------------


def seen_from(places: Array, turned: Array, joint: int, other: int) -> Array:
    return ref.rotate(ref.conjugate(turned[:, other]), places[:, joint] - places[:, other])


@pytest.mark.parametrize("kind", KINDS)
def test_loops_that_can_be_closed_are_closed(kind: str) -> None:
    """The last of eight joints is held at the second, and another one of the loop is somewhere."""
    skeleton, start, places, turned = chain(kind, 8, items=200)
    held = ik.Relative(8, 1, seen_from(places, turned, 8, 1))
    found = ik.fabrik(skeleton, ik.Pose(start), [held, ik.Reach(5, places[:, 5])], goal_errors=True)
    assert np.mean(found.reached) >= 0.99
    there, now = forward(skeleton, found.pose.rotations)
    gap = np.linalg.norm(seen_from(there, now, 8, 1) - held.position, axis=-1)
    assert found.goal_errors is not None
    assert_allclose(found.goal_errors[:, 0, 0], gap, atol=1e-12)
    assert gap[found.reached].max() <= 8e-5


@pytest.mark.parametrize("kind", KINDS)
def test_a_rotation_is_held_as_well(kind: str) -> None:
    skeleton, start, places, turned = chain(kind, 6, items=200)
    rotation = ref.multiply(ref.conjugate(turned[:, 1]), turned[:, 6])
    held = ik.Relative(6, 1, seen_from(places, turned, 6, 1), rotation)
    found = ik.fabrik(skeleton, ik.Pose(start), [held])
    assert np.mean(found.reached) >= 0.98
    now = forward(skeleton, found.pose.rotations)[1]
    cosine = np.abs(np.sum(ref.multiply(now[:, 1], rotation) * now[:, 6], axis=-1))
    assert 2 * np.arccos(np.minimum(cosine[found.reached], 1)).max() <= 1.1e-4


def test_a_four_bar_linkage_closes_as_its_circles_meet() -> None:
    """Ground 4, crank 1, coupler 3, rocker 3.5: where coupler and rocker meet is on two circles."""
    ground, crank, coupler, rocker = 4.0, 1.0, 3.0, 3.5
    hinge = ik.Limit.hinge([0, 0, 1], -np.pi, np.pi)
    offsets = np.array([0, 0, crank, coupler, rocker])[:, None] * [1.0, 0, 0]
    bars = ik.Skeleton(range(-1, 4), offsets, names=["frame", *"abcd"], limits=[None, hinge, hinge, hinge, None])
    angles = np.linspace(0, 2 * np.pi, 37)
    frame = ref.unit(np.array([0.7, 0.3, -0.5, 0.2]))  # stands somehow in the world
    start = np.tile([1.0, 0, 0, 0], (37, 5, 1))
    start[:, 0], start[:, 1] = frame, about([0, 0, 1], angles)
    start[:, 2], start[:, 3] = about([0, 0, 1], np.array(0.7)), about([0, 0, 1], np.array(-2.0))
    found = ik.fabrik(bars, ik.Pose(start), [ik.Relative("d", "frame", [ground, 0, 0], chain="b")])
    assert_array_equal(found.status, 0)
    places = ref.rotate(ref.conjugate(frame), forward(bars, found.pose.rotations)[0])
    end = crank * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    way = [ground, 0, 0] - end
    apart = np.linalg.norm(way, axis=-1, keepdims=True)
    along = (coupler**2 - rocker**2 + apart**2) / (2 * apart)
    aside = np.sqrt(coupler**2 - along**2) * np.cross([0, 0, 1.0], way / apart)
    meet = end + along * way / apart
    off = [np.linalg.norm(places[:, 3] - (meet + sign * aside), axis=-1) for sign in (1, -1)]
    assert np.minimum(*off).max() < 1e-3  # two circles that nearly touch meet not quite as exactly as bars are long
    assert_allclose(places[:, 2], end, atol=1e-12)


def test_two_halves_of_a_ring_meet_half_way() -> None:
    below, turn = [-1, 0, 1, 2, 0, 4, 5], about([0, 0, 1], np.array(0.4))
    offsets = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [-1, 0, 0], [0, 1, 0], [0, 1, 0]], float)
    start = np.tile([1.0, 0, 0, 0], (7, 1))
    start[1], start[4] = ref.conjugate(turn), turn
    ring = ik.Skeleton(below, offsets)
    found = ik.fabrik(ring, ik.Pose(start), [ik.Relative(3, 6, [0, 0, 0], chain=2, other_chain=2)])
    assert found.reached
    places = forward(ring, found.pose.rotations)[0]
    assert_allclose(places[3], places[6], atol=4e-5)
    assert np.abs(places[3, 0]) < 0.05  # from 1.39 either side


@pytest.mark.parametrize(("weight", "share"), [(1, 0.5), (3, 0.75), (0.25, 0.2)])
def test_a_loop_that_cannot_be_closed_gives_way_by_its_weight(weight: float, share: float) -> None:
    """One end is to be at two places, both within its reach."""
    arm, start = rope(4)
    first, second = np.array([1.0, 2, 0.5]), np.array([1.6, 1.4, 0.5])
    start[0] = [1, 0, 0, 0]  # which does not turn
    goals = [ik.Reach(4, first, chain=3), ik.Relative(4, 0, second, chain=3, weight=weight)]
    found = ik.fabrik(arm, ik.Pose(start), goals)
    assert found.status == ik.Status.CONFLICT
    assert_allclose(forward(arm, found.pose.rotations)[0][4], first + share * (second - first), atol=4e-4)


# --- distances and planes ---------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_ties_of_every_kind_are_met_as_by_dls(dtype: Any) -> None:
    """On trees with limits of all kinds; and what is said of them is what forward kinematics in NumPy finds."""
    near, met, tried = 3e-5 if dtype is np.float32 else 1e-9, {"dls": 0, "fabrik": 0}, 0
    for seed in range(180):
        task = kinds.problem(seed, dtype)
        turning = [limit for limit in task.skeleton.limits if limit is not None and any(limit.stiffness)]
        if turning or not all(
            isinstance(goal, ik.Relative | ik.Distance | ik.Inside | ik.Reach) for goal in task.goals
        ):
            continue
        if any(goal.joint is None for goal in task.goals):
            continue
        tried += 1
        for method in met:
            found = ik.solve(task.skeleton, task.start, task.goals, method, goal_errors=True)
            met[method] += found.reached
            if found.status >= _core.UNUSABLE:
                continue
            expected = kinds.missed_by(task.skeleton, found.pose, task.goals)
            assert found.goal_errors is not None
            assert_allclose(found.goal_errors, expected, atol=near, err_msg=str(seed))
    assert tried > 25
    assert met["fabrik"] >= met["dls"] >= 0.7 * tried


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_is_kept_as_far_from_another(kind: str) -> None:
    skeleton, start, places, _ = chain(kind, 8, items=200)
    apart = np.linalg.norm(places[:, 8] - places[:, 3], axis=-1)
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Distance(8, apart, other=3), ik.Reach(6, places[:, 6])])
    assert np.mean(found.reached) >= 0.99
    there = forward(skeleton, found.pose.rotations)[0]
    off = np.abs(np.linalg.norm(there[:, 8] - there[:, 3], axis=-1) - apart)
    assert off[found.reached].max() <= 8e-5


def test_a_rope_stays_above_the_floor() -> None:
    """All of its joints, for targets just above it; plain it hangs through."""
    skeleton, start = rope(10)
    draw = generator(5)
    targets = np.array([[6 * (2 * next(draw) - 1), 0.1 + next(draw), 6 * (2 * next(draw) - 1)] for _ in range(200)])
    reach = ik.Reach(10, targets)
    floor = [ik.Inside(joint, [0, 0, 0], UP) for joint in range(1, 10)]
    plain, found = (ik.fabrik(skeleton, ik.Pose(start), goals) for goals in ([reach], [reach, *floor]))
    lowest = [forward(skeleton, each.pose.rotations)[0][..., 1].min(axis=-1) for each in (plain, found)]
    assert np.mean(lowest[0] < -0.01) > 0.1
    assert_array_equal(found.status, 0)
    assert lowest[1].min() >= -1e-4


def test_what_is_on_the_right_side_stays_as_it_is() -> None:
    skeleton, start = rope(5)
    above = [ik.Inside(joint, [0, -1, 0], UP) for joint in range(1, 6)]
    found = ik.fabrik(skeleton, ik.Pose(start), above)
    assert found.status == found.iterations == 0
    assert_array_equal(np.abs(np.sum(found.pose.rotations * start, axis=-1)) > 1 - 1e-15, True)


@pytest.mark.parametrize("nothing", [name for name in kinds.NOTHING if re.match("distance|relative|inside", name)])
def test_what_is_not_a_number_matters_where_it_counts_alone(nothing: str, dtype: Any) -> None:
    start, some = ik.Pose(kinds.HEAVY.rest.rotations.astype(dtype)), np.array([0, 0, 1, -1, 0, 0, 0])
    make: Callable[[Any], ik.Goal] = kinds.NOTHING[nothing]
    with pytest.warns(ik.UnusableWarning):
        found = ik.fabrik(kinds.HEAVY, start, [ik.Reach(3, [1, 1.5, 0.5]), make(some)])
    assert_array_equal(found.status, np.where(some == 1, ik.Status.NOT_FINITE, 0))
    assert_array_equal(found.pose.rotations[2], start.rotations)
    for weight in (np.nan, np.inf):
        with pytest.warns(ik.UnusableWarning):
            found = ik.fabrik(kinds.HEAVY, start, [ik.Reach(3, [1, 1.5, 0.5]), make(weight)])
        assert found.status == ik.Status.NOT_FINITE


def test_an_item_is_solved_as_if_it_were_alone() -> None:
    skeleton, start, places, turned = chain("cone", 6, items=20)
    held = seen_from(places, turned, 6, 1)

    def goals(items: Any) -> list[ik.Goal]:
        return [ik.Relative(6, 1, held[items]), ik.Inside(3, places[items, 3], UP), ik.Reach(4, places[items, 4])]

    together = ik.fabrik(skeleton, ik.Pose(start), goals(slice(None)))
    for item in (0, 7, 19):
        alone = ik.fabrik(skeleton, ik.Pose(start if start.ndim == 2 else start[item]), goals(item))
        assert alone.pose.rotations.tobytes() == together.pose.rotations[item].tobytes()
        assert alone.iterations == together.iterations[item]


def test_the_centre_of_mass_is_left_to_others() -> None:
    with pytest.raises(ValueError, match=r"goals\[1\]: fabrik takes no CentreOfMass; use dls"):
        ik.fabrik(kinds.HEAVY, kinds.HEAVY.rest, [kinds.SHARE, ik.Inside(None, [0, 0, 0], UP)])


# --- bodies that several chains share ---------------------------------------------------------------------------------


def human() -> tuple[ik.Skeleton, Array, Array]:
    """The published one of 18 points, whose girdle and pelvis are bodies; and its poses: rotations and the root."""
    places = np.array(
        [[0, 0.95, 0], [0, 1.05, 0], [0, 1.2, 0], [0, 1.4, 0], [0, 1.5, 0], [0, 1.7, 0]]
        + [[side * x, 1.42, 0] for side in (1, -1) for x in (0.2, 0.5, 0.76)]
        + [[side * 0.1, *rest] for side in (1, -1) for rest in ([0.9, 0], [0.48, 0.02], [0.08, 0])]
    )
    parents = np.array([-1, 0, 1, 2, 3, 4, 3, 6, 7, 3, 9, 10, 0, 12, 13, 0, 15, 16])
    draw = generator(77)
    turned, roots = np.empty((200, 18, 4)), np.empty((200, 3))
    for item in range(200):
        turned[item] = [random_rotation(draw, 0.5) for _ in range(18)]
        for first, most in ((6, 1.2), (7, 1.5)):
            for joint in range(first, 18, 3):
                turned[item, joint] = random_rotation(draw, most)
        roots[item] = 0.2 * in_ball(draw)
    offsets = places - np.where(parents[:, None] < 0, 0, places[parents])
    return ik.Skeleton(parents, offsets), turned, roots


@pytest.mark.thorough
@pytest.mark.parametrize(("free", "published"), [(True, (67, 58, 383)), (False, (106.5, 93, 456))])
def test_the_human_of_bodies_meets_its_five_ends(free: bool, published: tuple[float, float, int]) -> None:
    """In far fewer iterations than hierarchical FABRIK is known to take."""
    body, turned, roots = human()
    places = forward(body, turned)[0] + roots[:, None]
    assert_allclose(places[0, 5], [0.142134932, 1.60349901, -0.15995591], atol=1e-8)
    assert_allclose(places[0, 8], [0.754879952, 1.482223821, -0.027194469], atol=1e-8)
    offsets = np.tile(body.offsets, (200, 1, 1))
    if free:
        body = ik.Skeleton(body.parents, body.offsets, limits={0: ik.Limit.free(position=[[-9] * 3, [9] * 3])})
    else:
        offsets[:, 0] += roots
    start = ik.Pose(np.tile(body.rest.rotations, (200, 1, 1)), offsets)
    goals = [ik.Reach(end, places[:, end]) for end in (5, 8, 11, 14, 17)]
    found = ik.fabrik(body, start, goals, tolerance=5e-4)
    assert_array_equal(found.status, 0)
    assert found.error.max() <= 1e-3
    its = found.iterations
    assert np.all([10 * its.mean(), 10 * np.median(its), 10 * its.max()] < np.array(published))


@pytest.mark.parametrize(("pull", "pin"), [(1, 1), (1, 3), (4, 1)])
def test_a_root_goes_between_what_pulls_and_what_pins_it(pull: float, pin: float) -> None:
    """One that moves freely, and an arm of length 2 drawn to 4: pull (2 - x) is pin x."""
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    arm = ik.Skeleton(arm.parents, arm.offsets, limits={0: ik.Limit.free(position=[[-9] * 3, [9] * 3])})
    goals = [ik.Reach(2, [4, 0, 0], weight=pull), ik.Reach(0, [0, 0, 0], weight=pin)]
    found = ik.fabrik(arm, arm.rest, goals)
    assert found.pose.translations is not None
    assert_allclose(found.pose.translations[0], np.array([2 * pull / (pull + pin), 0, 0]), atol=1e-6)
