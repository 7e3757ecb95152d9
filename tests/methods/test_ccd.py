"""CCD against published counts and positions, against itself joint by joint in NumPy, and the errors of published code.

`swept` is that: forward kinematics after every turn, as slow and as obvious as can be.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import (
    BENT,
    KINDS,
    UP,
    Y,
    about,
    chain,
    forward,
    generator,
    in_shell,
    limited,
    planar,
    random_rotation,
    rope,
)
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import rotations

Array = Any
pytestmark = pytest.mark.usefixtures("everywhere")

# --- published counts and positions -----------------------------------------------------------------------------------

TEN_LINKS = [
    (1, 0.0, 0.95, 1e-2, 0.0, (64.2, 28.5, 234, 725), 0),
    (1, 0.0, 0.95, 1e-4, 0.0, (119.8, 53, 462, 829), 1),
    (2, 0.0, 0.2, 1e-2, 0.0, (2.4, 2, 5, 7), 0),
    (2, 0.0, 0.2, 1e-4, 0.0, (3.5, 3, 9, 14), 0),
    (1, 0.0, 0.95, 1e-2, 10.0, (68.7, 20.5, 286, 428), 0),
    (1, 0.0, 0.95, 1e-4, 10.0, (146.9, 49.5, 628, 915), 0),
    (2, 0.0, 0.2, 1e-2, 10.0, (8.3, 8, 11, 12), 0),
    (2, 0.0, 0.2, 1e-4, 10.0, (13.8, 14, 19, 20), 0),
]


@pytest.mark.parametrize(("seed", "near", "far", "tolerance", "degrees", "counts", "fails"), TEN_LINKS)
def test_ten_links_take_the_published_number_of_iterations(
    seed: int, near: float, far: float, tolerance: float, degrees: float, counts: tuple[float, ...], fails: int
) -> None:
    """Within 5 % of mean, median, 95 of 100 and most; as published, and with no turn over ten degrees."""
    skeleton, start = rope(10)
    goal = ik.Reach(10, in_shell(seed, near, far))
    options: dict[str, Any] = {"iterations": 1000, "tolerance": tolerance / 10, "max_step": np.radians(degrees) or None}
    found = ik.ccd(skeleton, ik.Pose(start), [goal], textbook=True, **options)
    solved = found.iterations[found.status == 0]
    assert len(solved) == 200 - fails
    seen = solved.mean(), np.median(solved), np.percentile(solved, 95), solved.max()
    assert_allclose(seen, counts, rtol=0.05)


@pytest.mark.parametrize(("links", "solved", "mean"), [(4, 172, 72), (8, 189, 61)])
def test_planar_hinges_that_are_clamped_reach_what_is_published(links: int, solved: int, mean: float) -> None:
    """And without `textbook` all targets."""
    skeleton, start, targets = planar(links, 45)
    goals = [ik.Reach(links, targets)]
    options: dict[str, Any] = {"iterations": 200, "tolerance": 1e-3 / links}
    found = ik.ccd(skeleton, ik.Pose(start), goals, textbook=True, **options)
    assert abs(np.count_nonzero(found.status == 0) - solved) <= 2
    assert found.iterations[found.status == 0].mean() == pytest.approx(mean, rel=0.02)
    assert limited(skeleton, found) <= 1e-9
    assert not np.any(ik.ccd(skeleton, ik.Pose(start), goals, **options).status)


@pytest.mark.parametrize(("links", "solved"), [(4, 189), (8, 192)])
def test_planar_hinges_from_other_starts_reach_what_is_published(links: int, solved: int) -> None:
    """An item that is clamped and misses starts again, four times at most, from random angles drawn in order."""
    skeleton, start, targets = planar(links, 45)
    options: dict[str, Any] = {"iterations": 200, "tolerance": 1e-3 / links, "textbook": True}
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(links, targets)], **options)
    draw, most, arrived = generator(99), np.radians(45), np.count_nonzero(found.status == 0)
    for target in targets[found.status != 0]:
        for _ in range(4):
            pose = start.copy()
            pose[:links] = about([0, 0, 1], np.array([(2 * next(draw) - 1) * most for _ in range(links)]))
            if ik.ccd(skeleton, ik.Pose(pose), [ik.Reach(links, target)], **options).status == 0:
                arrived += 1
                break
    assert arrived == solved


def step(goals: list[ik.Goal], skeleton: ik.Skeleton | None = None, **options: Any) -> Array:
    """Positions after one sweep of four bent joints."""
    skeleton = skeleton or ik.Skeleton.chain(BENT)
    found = ik.ccd(skeleton, skeleton.rest, goals, iterations=1, tolerance=0, textbook=True, **options)
    return forward(skeleton, found.pose.rotations)[0]


def test_one_sweep_gives_the_published_positions() -> None:
    expected = [
        [0.075825547755, 0.995838916135, 0.05055036517],
        [0.835070369464, 1.628878815157, 0.201572836858],
        [1.069916407466, 0.8024373056, 0.713277604978],
    ]
    assert_allclose(step([ik.Reach(3, [1.2, 0.9, 0.8])])[1:], expected, atol=1e-11)


def test_one_sweep_with_a_goal_between_gives_the_published_positions() -> None:
    """A joint with two ends turns as is best for both, by the sum of squares."""
    expected = [
        [0.044321513589, 0.998267474073, 0.03869953025],
        [0.706957119505, 1.653386054475, 0.401650903556],
        [1.03417267643, 0.753763801552, 0.690804463715],
    ]
    both: list[ik.Goal] = [ik.Reach(3, [1.2, 0.9, 0.8]), ik.Reach(2, [0.7, 1.6, 0.4])]
    assert_allclose(step(both)[1:], expected, atol=1e-11)


def test_one_sweep_with_bias_feedback_and_caps_gives_the_published_positions() -> None:
    """Inverse branch kinematics; the bias is what stiffness leaves."""
    plain = ik.Skeleton.chain(BENT)
    biased = [ik.Limit.free(stiffness=1 - bias) if bias < 1 else None for bias in (1, 0.8, 0.6, 1)]
    capped = ik.Skeleton(plain.parents, plain.offsets, limits=biased, caps=[np.radians(60)] * 4)
    expected = [
        [0.055841203157, 0.998173143405, 0.023068069147],
        [0.835110101436, 1.622671711803, 0.075427616933],
        [1.218843307844, 1.259371563788, 0.924404547569],
    ]
    assert_allclose(step([ik.Reach(3, [1.2, 0.9, 0.8])], capped, feedback=2)[1:], expected, atol=1e-11)
    free = step([ik.Reach(3, [1.2, 0.9, 0.8])], feedback=1e6)
    assert_allclose(free, step([ik.Reach(3, [1.2, 0.9, 0.8])]), atol=1e-12)


def test_a_hinge_with_two_ends_turns_by_the_published_angle() -> None:
    plain, hinge = ik.Skeleton.chain(BENT), ik.Limit.hinge([0, 0, 1], -3, 3)
    held = ik.Skeleton(plain.parents, plain.offsets, limits=[hinge, ik.Limit.locked(), ik.Limit.locked(), None])
    goals = [ik.Reach(3, [1.2, 0.9, 0.8]), ik.Reach(2, [0.7, 1.6, 0.4])]
    found = ik.ccd(held, held.rest, goals, iterations=1)
    assert_allclose(rotations.log(found.pose.rotations[0]), [0, 0, -0.414667208077], atol=1e-11)


@pytest.mark.thorough
def test_elbow_and_wrist_together_are_solved_as_published() -> None:
    skeleton, start = rope(6)
    draw = generator(33)
    turns = np.array([[random_rotation(draw, 0.6 * np.pi) for _ in range(7)] for _ in range(100)])
    target = forward(skeleton, turns)[0]
    goals = [ik.Reach(6, target[:, 6]), ik.Reach(3, target[:, 3])]
    found = ik.ccd(skeleton, ik.Pose(start), goals, iterations=1000, tolerance=1e-4 / 6, textbook=True)
    solved = found.iterations[found.error <= 1e-4]
    assert abs(len(solved) - 83) <= 3
    assert_allclose((solved.mean(), np.median(solved), np.percentile(solved, 95)), (194, 131, 625), rtol=0.12)
    better = ik.ccd(skeleton, ik.Pose(start), goals, iterations=1000, tolerance=1e-4 / 6)
    assert np.count_nonzero(better.status == 0) > 90


def test_a_tree_of_two_limbs_is_solved_as_published() -> None:
    draw = generator(44)
    turns = np.array([[random_rotation(draw, 0.5 * np.pi) for _ in range(10)] for _ in range(100)])
    target = forward(Y, turns)[0]
    start = ik.Pose(np.tile(about([0, 0, 1], np.array(-0.02)), (10, 1)))
    goals = [ik.Reach(6, target[:, 6]), ik.Reach(9, target[:, 9])]
    found = ik.ccd(Y, start, goals, iterations=300, tolerance=1e-3 / 6, textbook=True)
    solved = found.iterations[found.status == 0]
    assert abs(len(solved) - 99) <= 1
    assert_allclose((solved.mean(), np.median(solved), np.percentile(solved, 95)), (55.4, 37, 158), rtol=0.05)
    assert not np.any(ik.ccd(Y, start, goals, tolerance=1e-3 / 6).status)


@pytest.mark.parametrize(("weight", "errors"), [(1.0, (1, 1)), (0.01, (0.01980198, 1.98019802))])
def test_targets_in_conflict_share_the_gap_by_weight(weight: float, errors: tuple[float, float]) -> None:
    skeleton, start = rope(6)
    goals = [ik.Reach(3, [2, 1, 0]), ik.Reach(6, [-2, 4, 0], weight=weight)]
    found = ik.ccd(skeleton, ik.Pose(start), goals, iterations=5000)
    at = forward(skeleton, found.pose.rotations)[0]
    assert_allclose([np.linalg.norm(at[3] - [2, 1, 0]), np.linalg.norm(at[6] - [-2, 4, 0])], errors, atol=2e-3)


def test_as_many_joints_turn_as_a_target_needs() -> None:
    """By `bounce`: of how many the first of ten joints that turns is joint 0, 1 and so on."""
    skeleton, start = rope(10)
    targets = in_shell(1, 0.0, 0.95)
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(10, targets)], bounce=True, iterations=1, tolerance=0)
    turned = np.any(np.abs(found.pose.rotations - start) > 1e-12, axis=-1)
    first = np.argmax(turned, axis=-1)
    assert_array_equal(np.bincount(first, minlength=9), [44, 44, 34, 28, 22, 18, 7, 2, 1])
    beside = forward(skeleton, start)[0][10] + [0.3, -0.6, 0.2]
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(10, beside)], bounce=True)
    assert found.status == 0
    assert_allclose(found.pose.rotations[:8], start[:8], atol=1e-12)


# --- beside the same in NumPy -----------------------------------------------------------------------------------------


def swept(skeleton: ik.Skeleton, pose: Array, target: Array, joints: list[int]) -> Array:
    """A pose after one visit of each joint, in that order; the last joint is the end."""
    pose = pose.copy()
    for joint in joints:
        at, turned = forward(skeleton, pose)
        u, g = at[-1] - at[joint], target - at[joint]
        parent = skeleton.parents[joint]
        above = turned[parent] if parent >= 0 else np.array([1.0, 0, 0, 0])
        limit = skeleton.limits[joint]
        if limit is None:
            axis = np.cross(u, g)
            turn = about(axis, np.array(np.arctan2(np.linalg.norm(axis), u @ g)))
            local = ref.multiply(ref.multiply(ref.conjugate(above), turn), turned[joint])
        else:
            axis = ref.rotate(turned[joint], rotations.rotate(limit.frame, [1.0, 0, 0]))
            u, g = u - (u @ axis) * axis, g - (g @ axis) * axis
            angle = np.arctan2(axis @ np.cross(u, g), u @ g)
            now = rotations.log(pose[joint]) @ rotations.rotate(limit.frame, [1.0, 0, 0])
            local = about(
                rotations.rotate(limit.frame, [1.0, 0, 0]),
                np.array(min(max(now + angle, limit.twist[0]), limit.twist[1])),
            )
        pose[joint] = local
    return pose


@pytest.mark.parametrize("start_from_tail", [True, False])
@pytest.mark.parametrize("hinges", [False, True])
def test_sweeps_are_as_joint_by_joint(hinges: bool, start_from_tail: bool) -> None:
    rng = np.random.default_rng(5)
    offsets = np.vstack([np.zeros(3), rng.normal(size=(6, 3))])
    axes = ref.unit(rng.normal(size=(6, 3)))
    limits = [ik.Limit.hinge(axis, -1.0, 1.0) for axis in axes] if hinges else [None] * 6
    skeleton = ik.Skeleton(range(-1, 6), offsets, limits=[*limits, None])
    order = list(range(6))[:: -1 if start_from_tail else 1]
    for _ in range(5):
        target = rng.normal(size=3) * 3
        pose = np.vstack([about(axes, rng.uniform(-0.9, 0.9, 6)), [1.0, 0, 0, 0]])
        options: dict[str, Any] = {"iterations": 3, "textbook": True, "start_from_tail": start_from_tail}
        found = ik.ccd(skeleton, ik.Pose(pose), [ik.Reach(6, target)], tolerance=0, **options)
        for _ in range(3):
            pose = swept(skeleton, pose, target, order)
        assert_allclose(forward(skeleton, found.pose.rotations)[0], forward(skeleton, pose)[0], atol=1e-9)


def test_no_sweep_leads_away() -> None:
    """For free joints and hinges, in chains and trees, each turn is the best one, so the sum of squares never rises."""
    rng = np.random.default_rng(1)
    hinged = chain("hinge", 6, items=40)
    for skeleton, start in ((Y, Y.rest.rotations), (hinged[0], hinged[1])):
        ends = [6, 9] if skeleton is Y else [6]
        goals = [ik.Reach(end, rng.normal(size=(40, 3)) * 3) for end in ends]
        squares = []
        for iterations in range(12):
            found = ik.ccd(skeleton, ik.Pose(start), goals, iterations=iterations, tolerance=0, textbook=True)
            at = forward(skeleton, found.pose.rotations)[0]
            squares.append(sum(np.sum((at[:, g.joint] - g.position) ** 2, axis=-1) for g in goals))
        assert np.max(np.diff(squares, axis=0)) <= 1e-12


def test_one_joint_looks_as_aim_does() -> None:
    head = ik.Skeleton([-1, 0], [[0, 0, 0], [0, 1, 0]])
    targets = np.random.default_rng(2).normal(size=(50, 3)) * 4
    found = ik.ccd(head, head.rest, [ik.Look(1, [0, 0, 1], targets, offset=[0.1, 0.2, 0.3], chain=0)], iterations=1)
    exact = ik.aim([0, 1, 0], [1, 0, 0, 0], targets, forward=[0, 0, 1], offset=[0.1, 0.2, 0.3])
    hit = exact.status == 0
    assert np.count_nonzero(hit) > 40
    assert not np.any(found.status[hit])
    assert_allclose(found.rotation_error[hit], 0, atol=1e-6)


def test_many_joints_look() -> None:
    neck = ik.Skeleton.chain(np.arange(6)[:, None] * 0.2 * UP)
    targets = np.random.default_rng(3).normal(size=(100, 3)) * 3
    limits = [ik.Limit.cone(UP, 0.6, twist=(-0.5, 0.5))] * 6
    for skeleton in (neck, ik.Skeleton(neck.parents, neck.offsets, limits=limits)):
        found = ik.ccd(skeleton, skeleton.rest, [ik.Look(5, [0, 0, 1], targets, offset=[0, 0.1, 0.1])])
        assert not np.any(found.status)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_places_and_rotations_are_reached_within_limits(kind: str | None) -> None:
    skeleton, start, positions, turned = chain(kind or "cone", 8, items=200)
    if kind is None:
        skeleton = ik.Skeleton(skeleton.parents, skeleton.offsets)
    places = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(8, positions[:, 8])])
    assert np.mean(places.reached) > 0.99
    both = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(8, positions[:, 8], turned[:, 8])])
    assert np.mean(both.reached) > (0.5 if kind == "hinge" else 0.9)
    assert kind is None or max(limited(skeleton, places), limited(skeleton, both)) <= 1e-9


def slid(found: ik.Solution) -> Array:
    """Position of the first joint."""
    assert found.pose.translations is not None
    return found.pose.translations[0]


def test_a_slide_goes_as_far_as_is_best_at_once() -> None:
    """Descendants of a sliding joint move along the mean remaining offset, within its travel."""
    rail = ik.Limit.locked(position=[[-1, 0, 0], [2, 0, 0]])
    cart = ik.Skeleton([-1, 0, 0], [[0, 0, 0], [0, 1, 0], [0, 2, 0]], limits=[rail, None, None])
    goals = [ik.Reach(1, [1, 1, 0]), ik.Reach(2, [2, 2, 0], weight=3)]
    found = ik.ccd(cart, cart.rest, goals, iterations=50)
    assert_allclose(slid(found), [1.75, 0, 0], atol=1e-6)
    far = ik.ccd(cart, cart.rest, [ik.Reach(1, [9, 1, 0])], iterations=1)
    assert_allclose(slid(far), [2, 0, 0], atol=1e-12)
    lift = ik.Skeleton([-1, 0], [[0, 0, 0], [0, 1, 0]], limits=[ik.Limit.locked(position=[[0, 0, 0], [0, 5, 0]]), None])
    found = ik.ccd(lift, lift.rest, [ik.Reach(1, [0, 4.5, 0])], iterations=1)
    assert found.status == 0
    assert_allclose(slid(found), [0, 3.5, 0], atol=1e-12)


def test_a_hinge_takes_the_shorter_way_to_the_end_of_its_range() -> None:
    """Beyond its range, but only just so when it goes round: the nearer end is the best it can do."""
    arm = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits=[ik.Limit.hinge([0, 0, 1], -2.8, 2.8), None])
    start = np.stack([about([0, 0, 1], np.array(2.7)), [1.0, 0, 0, 0]])
    for wanted, best in ((-3.0, -2.8), (3.0, 2.8), (-2.5, -2.5), (0.1, 0.1)):
        target = [np.cos(wanted), np.sin(wanted), 0]
        found = ik.ccd(arm, ik.Pose(start), [ik.Reach(1, target)])
        tip = forward(arm, found.pose.rotations)[0][1]
        assert_allclose(tip, [np.cos(best), np.sin(best), 0], atol=1e-4)


# --- how far joints turn ----------------------------------------------------------------------------------------------


def turns(before: Array, after: Array) -> Array:
    return np.linalg.norm(rotations.log(rotations.multiply(rotations.conjugate(before), after)), axis=-1)


@pytest.mark.parametrize("start_from_tail", [True, False])
def test_no_joint_turns_over_its_cap_at_a_visit(start_from_tail: bool) -> None:
    caps = np.array([0.05, 0, 0.1, 0.2, 0.3, 0.4, 0])
    skeleton, start = rope(6)
    capped = ik.Skeleton(skeleton.parents, skeleton.offsets, caps=caps)
    targets = np.random.default_rng(7).normal(size=(60, 3)) * 2
    options: dict[str, Any] = {"tolerance": 0, "start_from_tail": start_from_tail}
    before = np.broadcast_to(start, (60, 7, 4))
    for most in (None, 0.15):
        after = ik.ccd(capped, ik.Pose(start), [ik.Reach(6, targets)], iterations=1, max_step=most, **options)
        turned = turns(before, after.pose.rotations)
        bound = np.where(caps > 0, caps, np.inf)
        assert np.all(turned <= np.minimum(bound, most or np.inf) + 1e-9)
        assert np.any(turned[:, 0] > 0.049)
    assert np.max(turns(before, after.pose.rotations)[:, 1]) > 0.1
    assert np.mean(ik.ccd(capped, ik.Pose(start), [ik.Reach(6, targets)], iterations=1000).status == 0) > 0.9


def test_caps_are_refused_where_nobody_reads_them() -> None:
    skeleton, _ = rope(3)
    capped = ik.Skeleton(skeleton.parents, skeleton.offsets, caps=[0, 0.5, 0, 0])
    for method in ("fabrik", "dls"):
        with pytest.raises(ValueError, match=f"caps: '1' has one, and {method} takes no cap; give it none, or use ccd"):
            ik.solve(capped, capped.rest, [ik.Reach(3, [1, 1, 1])], method)
        above = [ik.Reach(3, [1, 1, 1], chain=2)] if method == "dls" else [ik.Reach(1, [1, 0, 0])]
        if method == "fabrik":
            assert ik.solve(capped, capped.rest, above, method).status == 0  # the joint does not turn
    for wrong in (-1.0, np.nan):
        with pytest.raises(ValueError, match="caps: that of joint 1 is negative or not a number"):
            ik.Skeleton(skeleton.parents, skeleton.offsets, caps=[0, wrong, 0, 0])


@pytest.mark.parametrize("stiffness", [1.0, (1, 0, 0), (0.5, 0.9, 0)])
def test_stiff_joints_turn_less(stiffness: Any) -> None:
    """About the axes of their limit: not at all where that is 1, and what they do turn brings nothing farther away."""
    skeleton, start = rope(4)
    limits = [None, ik.Limit.free(stiffness=stiffness), None, None, None]
    stiff = ik.Skeleton(skeleton.parents, skeleton.offsets, limits=limits)
    targets = np.random.default_rng(9).normal(size=(60, 3)) * 1.5
    found = ik.ccd(stiff, ik.Pose(start), [ik.Reach(4, targets)])
    assert np.all(found.status[ref.norm(targets) < 3] == 0)
    one = ik.ccd(stiff, ik.Pose(start), [ik.Reach(4, targets)], iterations=1, tolerance=0, textbook=True)
    free = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(4, targets)], iterations=1, tolerance=0, textbook=True)
    own, all_ = (
        rotations.log(rotations.multiply(rotations.conjugate(start[1]), done.pose.rotations[:, 1]))
        for done in (one, free)
    )
    willing = 1 - np.broadcast_to(stiffness, 3)
    assert_allclose(own, all_ * willing, atol=1e-9)


def test_from_a_posture_it_ends_near_one() -> None:
    """Inductive: of poses that were seen the nearest, and refined it is nearer to what was seen than without."""
    rng = np.random.default_rng(6)
    skeleton, _ = rope(6)
    seen = rotations.exp(rng.normal(size=(1500, 7, 3)) * 0.5)
    postures = ik.learned.Postures(skeleton, ik.Pose(seen), [ik.Reach(6, position=...)])
    targets = forward(skeleton, rotations.exp(rng.normal(size=(40, 7, 3)) * 0.5))[0][:, 6]
    start, _ = postures.nearest(skeleton.rest, targets)
    tips = forward(skeleton, seen)[0][:, 6]
    nearest = np.argmin(np.linalg.norm(tips - targets[:, np.newaxis], axis=-1), axis=-1)
    assert_allclose(start.rotations[:, :6], seen[nearest, :6], atol=1e-12)  # the tip does not turn for it
    farthest = []
    for pose in (start, skeleton.rest):
        found = ik.ccd(skeleton, pose, [ik.Reach(6, targets)])
        assert not np.any(found.status)
        turned = [turns(seen[:, :6], one[:6]).max(axis=-1).min() for one in found.pose.rotations]
        farthest.append(np.mean(turned))
    assert farthest[0] < 0.6 * farthest[1]


# --- what is stuck ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bones", [2, 3, 4, 5, 10])
def test_a_straight_chain_in_line_with_its_target_is_bent_first(bones: int) -> None:
    """In a plane, and not by a kick; as published it may never get there."""
    skeleton, _ = rope(bones)
    target = np.arange(0.5 - bones, bones, 0.5)[:, np.newaxis] * UP
    found = ik.ccd(skeleton, skeleton.rest, [ik.Reach(bones, target)])
    assert not np.any(found.status)
    assert found.iterations.max() < 50
    at = forward(skeleton, found.pose.rotations)[0]
    flat = np.linalg.svd(at - at.mean(1, keepdims=True), compute_uv=False)
    assert np.max(flat[:, 2]) < 1e-6 * bones
    published = ik.ccd(skeleton, skeleton.rest, [ik.Reach(bones, target)], textbook=True)
    assert bones > 4 or np.any(published.status)


def test_a_straight_chain_is_bent_before_its_root_brings_it_into_line() -> None:
    """Wherever the target is; so from the root no chain is ever kicked out of its plane."""
    skeleton, _ = rope(6)
    targets = ref.unit(np.random.default_rng(5).normal(size=(50, 3))) * np.linspace(1, 5.5, 50)[:, np.newaxis]
    found = ik.ccd(skeleton, skeleton.rest, [ik.Reach(6, targets)], start_from_tail=False)
    assert not np.any(found.status)
    at = forward(skeleton, found.pose.rotations)[0]
    flat = np.linalg.svd(at - at.mean(1, keepdims=True), compute_uv=False)
    assert np.max(flat[:, 2]) < 1e-2


@pytest.mark.parametrize("bones", [30, 100])
def test_a_long_chain_is_not_rolled_up(bones: int) -> None:
    """From the tip as well it arrives in a few sweeps, as it is turned towards its target first."""
    skeleton, start = rope(bones)
    targets = bones / 10 * in_shell(1, 0.2, 0.9999)
    goals: list[ik.Goal] = [ik.Reach(bones, targets)]
    found = ik.ccd(skeleton, ik.Pose(start), goals)
    assert not np.any(found.status)
    assert found.iterations.mean() < 25
    published = ik.ccd(skeleton, ik.Pose(start), goals, textbook=True)
    assert np.mean(published.status == 0) < 0.6
    base: list[ik.Goal] = [ik.Reach(bones, np.array([[0, 0, 0], [1e-9, 0, 0]]))]  # which is in no direction
    assert np.all(np.isfinite(ik.ccd(skeleton, ik.Pose(start), base).pose.rotations))


@pytest.mark.parametrize("range_", [(0, 2.5), (-2.5, 0)])
def test_a_straight_knee_bends_the_way_it_may(range_: tuple[float, float]) -> None:
    knee = ik.Limit.hinge([1, 0, 0], *range_)
    leg = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [0, -1, 0], [0, -1, 0]], limits=[None, knee, None])
    found = ik.ccd(leg, leg.rest, [ik.Reach(2, [0, -1.2, 0])])
    assert found.status == 0
    angle = rotations.log(found.pose.rotations[1])[0]
    assert range_[0] - 1e-9 <= angle <= range_[1] + 1e-9
    assert abs(angle) == pytest.approx(2 * np.arccos(0.6), abs=1e-3)


def test_a_straight_tree_in_line_with_its_targets_gets_there() -> None:
    offsets = [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]
    skeleton = ik.Skeleton([-1, 0, 1, 2, 3, 2, 5], offsets)
    found = ik.ccd(skeleton, skeleton.rest, [ik.Reach(4, [0, 2.0, 0]), ik.Reach(6, [0, 2.5, 0])])
    assert found.status == 0


# --- errors of published code, each a test ----------------------------------------------------------------------------


def misread(skeleton: ik.Skeleton, poses: Array, targets: Array, error: str, stale: Array) -> Array:
    """A sweep as it is printed: with one of its errors. `stale` are the rotations in the world before the first."""
    poses = poses.copy()
    for joint in range(len(skeleton) - 2, -1, -1):
        at, turned = forward(skeleton, poses)
        u, g = at[:, -1] - at[:, joint], targets - at[:, joint]
        axis = np.cross(u, g)
        turn = about(axis, np.arctan2(np.linalg.norm(axis, axis=-1), np.sum(u * g, axis=-1)))
        world, local = (stale if error == "stale rotations" else turned)[:, joint], poses[:, joint]
        back = ref.conjugate(world)
        if error == "world arc on a local rotation":
            local = ref.multiply(turn, local)
        elif error == "reversed product":
            local = ref.multiply(ref.multiply(world, ref.multiply(turn, back)), local)
        elif error == "inverted conjugation":
            local = ref.multiply(local, ref.multiply(ref.multiply(world, turn), back))
        else:
            local = ref.multiply(local, ref.multiply(ref.multiply(back, turn), world))
        poses[:, joint] = ref.unit(local)
    return poses


@pytest.mark.thorough
@pytest.mark.parametrize(
    "error", ["reversed product", "world arc on a local rotation", "inverted conjugation", "stale rotations"]
)
def test_turns_in_the_world_come_to_local_rotations(error: str) -> None:
    """Ledger 1, 2, 19, 20: L <- L W^-1 turn W with W of now. Read otherwise, less arrives."""
    skeleton, _ = rope(4)
    rng = np.random.default_rng(4)
    poses = ref.unit(rng.normal(size=(100, 5, 4)))
    targets = ref.unit(rng.normal(size=(100, 3))) * rng.uniform(1, 3.6, (100, 1))
    found = ik.ccd(skeleton, ik.Pose(poses), [ik.Reach(4, targets)], iterations=100, tolerance=2.5e-6, textbook=True)
    at, stale = forward(skeleton, poses)
    right = np.count_nonzero(found.status == 0)
    reached = {"": np.zeros(100, bool), error: np.zeros(100, bool)}
    for how, there in reached.items():
        now = poses
        for _ in range(100):
            now = misread(skeleton, now, targets, how, stale)
            there |= np.linalg.norm(forward(skeleton, now)[0][:, 4] - targets, axis=-1) <= 1e-5
    assert right == np.count_nonzero(reached[""]) >= 85
    assert np.count_nonzero(reached[error]) < 0.95 * right
    at = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(np.linalg.norm(at[:, 4] - targets, axis=-1), found.error, atol=1e-12)


def test_what_counts_as_reached_is_a_distance_and_is_judged_by_the_pose() -> None:
    """Ledger 3, 4, 23: no squared length beside a length, and in any unit."""
    skeleton, start = rope(6)
    targets = in_shell(1, 0.0, 0.55)
    for size in (1.0, 1e-3, 1e3):
        sized = ik.Skeleton(skeleton.parents, skeleton.offsets * size)
        found = ik.ccd(sized, ik.Pose(start), [ik.Reach(6, targets * size)], tolerance=1e-3)
        assert not np.any(found.status)
        off = np.linalg.norm(forward(sized, found.pose.rotations)[0][:, 6] - targets * size, axis=-1)
        assert np.all(off <= 6e-3 * size)
        assert_allclose(found.error, off, rtol=1e-9, atol=1e-15 * size)
    assert np.max(off) > 1e-4 * size


def test_no_angle_is_too_small_to_be_made() -> None:
    """Ledger 4: no dead band of a thousandth of a radian."""
    skeleton, _ = rope(4)
    start = np.tile(about([0, 0, 1], np.array(0.6)), (5, 1))
    target = forward(skeleton, start)[0][4] + 1e-3 * np.array([1.0, -1, 0.5])
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(4, target)], tolerance=1e-12)
    assert found.status == 0
    assert_allclose(forward(skeleton, found.pose.rotations)[0][4], target, atol=4e-12)


def test_nothing_of_length_zero_is_normalised() -> None:
    """Ledger 4, 23: bones of no length, a target on a joint, an end on a joint."""
    skeleton = ik.Skeleton.chain([[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0]])
    start = np.tile(about([1, 0, 0], np.array(0.3)), (5, 1))
    at = forward(skeleton, start)[0]
    for target in (*at, np.array([0, 1e-200, 0])):
        for textbook in (False, True):
            found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(4, target)], textbook=textbook)
            assert np.all(np.isfinite(found.pose.rotations))
            assert found.status < ik.Status.NOT_FINITE


def test_what_is_out_of_reach_is_known_before() -> None:
    """Ledger 5, 23: no iteration is spent on it, and the chain is laid towards it."""
    skeleton, start = rope(5)
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(5, [[0, 9, 0], [3, 4, 5]])])
    assert_array_equal(found.status, ik.Status.TOO_FAR)
    assert_array_equal(found.iterations, 0)
    assert_allclose(found.error, [4, np.sqrt(50) - 5], atol=1e-12)


def test_near_full_reach_it_gets_there() -> None:
    """Ledger 5, fact 4: with the 15 sweeps of the source no leg that stands does, whatever the arc."""
    leg = ik.Skeleton.chain(np.array([[0, 0, 0], [0, -0.45, 0.02], [0, -0.87, 0]]))
    rng = np.random.default_rng(4)
    targets = 0.87 * rng.uniform(0.99, 0.999, (200, 1)) * ref.unit(rng.normal(size=(200, 3)) * [0.3, 0.1, 0.3] - UP)
    options: dict[str, Any] = {"iterations": 15, "tolerance": 1e-5 / 0.87, "textbook": True}
    assert np.count_nonzero(ik.ccd(leg, leg.rest, [ik.Reach(2, targets)], **options).status == 0) < 10
    assert not np.any(ik.ccd(leg, leg.rest, [ik.Reach(2, targets)]).status)


@pytest.mark.parametrize("kind", KINDS)
def test_limits_hold_after_every_sweep(kind: str) -> None:
    """Ledger 7, 8, 9, 25: whatever was printed in their place."""
    skeleton, start, positions, _ = chain(kind, 5, items=40)
    for iterations in range(6):
        for textbook in (False, True):
            goal = ik.Reach(5, positions[:, 5] * 1.2)
            found = ik.ccd(skeleton, ik.Pose(start), [goal], iterations=iterations, textbook=textbook)
            assert limited(skeleton, found) <= 1e-9


def test_a_limit_of_nothing_is_a_limit() -> None:
    """Ledger 25: `60 || angle` is always 60."""
    arm = ik.Skeleton(
        [-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], limits=[None, ik.Limit.hinge([0, 0, 1], 0, 0), None]
    )
    found = ik.ccd(arm, arm.rest, [ik.Reach(2, [0, 1, 0])])
    assert_allclose(np.abs(found.pose.rotations[1]), [1, 0, 0, 0], atol=1e-12)


def test_a_parent_outside_of_the_chain_turns_it() -> None:
    """Ledger 22: a root placed and turned anywhere, in positions and rotations alike."""
    skeleton, start = rope(4)
    start = np.broadcast_to(start, (50, 5, 4)).copy()
    start[:, 0] = ref.unit(np.random.default_rng(3).normal(size=(50, 4)))
    target = forward(skeleton, start)[0][:, 1] + [1.5, 0.5, 1]
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(4, target, chain=3)])
    assert not np.any(found.status)
    assert_array_equal(found.pose.rotations[:, 0], start[:, 0])
    assert_allclose(forward(skeleton, found.pose.rotations)[0][:, 4], target, atol=1e-4)


def test_the_end_itself_does_not_turn() -> None:
    """Ledger 33: what turns for it is above."""
    skeleton, start = rope(4)
    start[4] = about([1, 2, 3], np.array(0.7))
    found = ik.ccd(skeleton, ik.Pose(start), [ik.Reach(4, [2, 1, 1])])
    assert found.status == 0
    assert_array_equal(found.pose.rotations[4], start[4])


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [None, ik.Limit.hinge([0, 0, 1], -3, 3)])
def test_a_sweep_costs_by_the_joint(limit: ik.Limit | None) -> None:
    """Ledger 12: four times the joints, four times the time, where it was sixteen."""

    def seconds(links: int) -> float:
        skeleton, start = rope(links)
        hinged = ik.Skeleton(skeleton.parents, skeleton.offsets, limits=[limit] * links + [None])
        goals, taken = [ik.Reach(links, np.full((64, 3), 0.3 * links))], []
        for _ in range(5):
            before = time.process_time()
            ik.ccd(hinged, ik.Pose(start), goals, iterations=20, tolerance=0, textbook=True)
            taken.append(time.process_time() - before)
        return min(taken)

    assert seconds(1000) < 8 * seconds(250)
