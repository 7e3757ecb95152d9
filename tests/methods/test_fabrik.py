"""FABRIK against published counts and positions, and against forward kinematics in NumPy."""

from __future__ import annotations

import dataclasses
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
from human import ROOT, SLIDES, Human, Set
from numpy.testing import assert_allclose, assert_array_equal
from published import cases

import ikcore as ik
from ikcore import limits

Array = Any
pytestmark = pytest.mark.usefixtures("everywhere")

# --- published counts and positions -----------------------------------------------------------------------------------

TEN_LINKS = [
    (1, 0.0, 0.95, 1e-2, (8.0, 5, 22, 34)),
    (1, 0.0, 0.95, 1e-4, (17.7, 11, 51, 80)),
    (2, 0.0, 0.2, 1e-2, (2.9, 2, 7, 21)),
    (2, 0.0, 0.2, 1e-4, (5.8, 4, 18, 51)),
]


@pytest.mark.parametrize(("seed", "near", "far", "tolerance", "counts"), TEN_LINKS)
def test_ten_links_take_the_published_number_of_iterations(
    seed: int, near: float, far: float, tolerance: float, counts: tuple[float, ...]
) -> None:
    skeleton, start = rope(10)
    target = in_shell(seed, near, far)
    found = ik.fabrik(
        skeleton, ik.Pose(start), [ik.Reach(10, target)], iterations=3000, tolerance=tolerance / 10, textbook=True
    )
    assert np.all(found.reached)
    its = found.iterations
    assert_allclose(its.mean(), counts[0], atol=0.06)
    assert (np.median(its), np.percentile(its, 95) // 1, its.max()) == counts[1:]


@pytest.mark.parametrize("textbook", [True, False])
@pytest.mark.parametrize(("links", "first"), [(4, (3.783323, -0.161443)), (8, (5.016725, -4.423267))])
def test_planar_hinges_reach_all_targets_in_the_published_number_of_iterations_or_fewer(
    links: int, first: tuple[float, float], textbook: bool
) -> None:
    skeleton, start, targets = planar(links, 45)
    assert_allclose(targets[0, :2], first, atol=1e-6)
    goals = [ik.Reach(links, targets)]
    found = ik.fabrik(skeleton, ik.Pose(start), goals, iterations=200, tolerance=1e-3 / links, textbook=textbook)
    assert np.count_nonzero(found.reached) == 200
    assert found.iterations.mean() < 18 or textbook
    assert found.iterations.mean() == pytest.approx(21.6, rel=0.05) or not textbook
    assert limited(skeleton, found) <= 1e-9
    assert_allclose(forward(skeleton, found.pose.rotations)[0][:, links], targets, atol=1e-3)


@pytest.mark.parametrize(("links", "degrees", "missed"), [(4, 30, 2), (8, 90, 1), (4, 90, 1)])
def test_dead_locks_of_the_published_method_are_left(links: int, degrees: int, missed: int) -> None:
    """If limits trap the passes, the steps after them and kicks lead out, in few iterations."""
    skeleton, start, targets = planar(links, degrees)
    published, found = (
        ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(links, targets)], tolerance=1e-3 / links, textbook=textbook)
        for textbook in (True, False)
    )
    assert np.count_nonzero(published.status) == missed
    assert_array_equal(found.status, 0)
    assert found.iterations.max() <= 50


def step(goals: list[ik.Goal]) -> Array:
    """Positions after one iteration on four bent joints."""
    skeleton = ik.Skeleton.chain(BENT)
    found = ik.fabrik(skeleton, skeleton.rest, goals, iterations=1, tolerance=0, textbook=True)
    return forward(skeleton, found.pose.rotations)[0]


@pytest.mark.parametrize("line", [*np.eye(3), *-np.eye(3)], ids=str)
@pytest.mark.parametrize("links", [2, 3, 6, 10])
def test_the_published_method_never_leaves_the_line_to_its_target(links: int, line: Any) -> None:
    """A straight chain with its target on it folds, and stays off, whichever way it lies."""
    skeleton = ik.Skeleton.chain([joint * line for joint in range(links + 1)])
    goals = [ik.Reach(links, 0.5 * links * line)]
    published = ik.fabrik(skeleton, skeleton.rest, goals, iterations=1000, textbook=True)
    assert published.error >= 0.499
    along = np.outer(skeleton.forward(published.pose).positions @ line, line)
    assert_allclose(skeleton.forward(published.pose).positions, along, atol=1e-12)
    assert ik.fabrik(skeleton, skeleton.rest, goals).status == 0


def test_one_iteration_gives_the_published_positions() -> None:
    expected = [
        [-0.026510030281, 0.999622472015, -0.007220231036],
        [0.762521552946, 1.575163432162, 0.207679196283],
        [1.200421246172, 0.899349887947, 0.800570343231],
    ]
    assert_allclose(step([ik.Reach(3, [1.2, 0.9, 0.8])])[1:], expected, atol=1e-11)


@pytest.mark.parametrize(
    ("weight", "joint", "expected"),
    [
        (1e13, 1, [0.003463625621, 0.999992042972, 0.001979214641]),
        (1e13, 2, [0.69875202919, 1.598924977297, 0.399286873823]),
        (1e13, 3, [1.227020856094, 0.862322937285, 0.821601307832]),
        (1.0, 2, [0.73193360095, 1.588362896384, 0.304731490643]),
    ],
)
def test_one_iteration_with_a_goal_between_gives_the_published_positions(
    weight: float, joint: int, expected: list[float]
) -> None:
    both: list[ik.Goal] = [ik.Reach(3, [1.2, 0.9, 0.8]), ik.Reach(2, [0.7, 1.6, 0.4], weight=weight)]
    assert_allclose(step(both)[joint], expected, atol=1e-10)


@pytest.mark.parametrize(("weight", "counts"), [(1.0, (124, 36)), (1e13, (65, 15))])
def test_elbow_and_wrist_together_are_solved_as_published(weight: float, counts: tuple[float, float]) -> None:
    skeleton, start = rope(6)
    draw = generator(33)
    turns = np.array([[random_rotation(draw, 0.6 * np.pi) for _ in range(7)] for _ in range(100)])
    target = forward(skeleton, turns)[0]
    assert_allclose(target[0, 3], [2.350659908018, -0.666447883182, -0.405581266076], atol=1e-11)
    goals = [ik.Reach(6, target[:, 6]), ik.Reach(3, target[:, 3], weight=weight)]
    found = ik.fabrik(skeleton, ik.Pose(start), goals, iterations=3000, tolerance=1e-4 / 6, textbook=True)
    solved = found.error <= 1e-4
    assert np.count_nonzero(solved) == 99
    assert (round(found.iterations[solved].mean()), np.median(found.iterations[solved])) == counts


@pytest.mark.parametrize(("weight", "errors"), [(1e13, (0, 2)), (1.0, (1, 1))])
def test_targets_in_conflict_share_the_gap_by_weight(weight: float, errors: tuple[float, float]) -> None:
    skeleton, start = rope(6)
    goals = [ik.Reach(3, [2, 1, 0], weight=weight), ik.Reach(6, [-2, 4, 0])]
    found = ik.fabrik(skeleton, ik.Pose(start), goals, iterations=3000, textbook=True)
    at = forward(skeleton, found.pose.rotations)[0]
    assert_allclose([np.linalg.norm(at[3] - [2, 1, 0]), np.linalg.norm(at[6] - [-2, 4, 0])], errors, atol=2e-2)


def test_planar_chains_of_other_projects() -> None:
    for case in cases("planar_chains.json"):
        if case["solver"] not in ("fabrik", "any"):
            continue
        skeleton = ik.Skeleton.chain(case["positions"])
        goals = [ik.Reach(len(skeleton) - 1, case["target"])]
        found = ik.fabrik(skeleton, skeleton.rest, goals)
        at, expect = forward(skeleton, found.pose.rotations)[0], case["expect"]
        if "end_to_target" in expect:
            assert_allclose(np.linalg.norm(at[-1] - case["target"]), expect["end_to_target"], atol=case["tol"])
        if "derived_positions" in expect:
            assert_allclose(at, expect["derived_positions"], atol=1e-9)
        if "end_position" in expect:
            assert_allclose(at[-1], expect["end_position"], atol=1e-9)
        if "changed_second" in expect:
            again = ik.fabrik(skeleton, found.pose, goals)
            assert again.iterations == 0
            assert_allclose(forward(skeleton, again.pose.rotations)[0], at, atol=1e-12)


# --- chains without limits --------------------------------------------------------------------------------------------


def test_out_of_reach_the_chain_is_a_straight_line_to_the_target() -> None:
    skeleton, start = rope(10)
    target = 10.5 * ref.unit(np.random.default_rng(0).normal(size=(50, 3)))
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(10, target)])
    assert np.all(found.status == ik.Status.TOO_FAR)
    line = np.arange(11)[:, None] / 10.5 * target[:, None]
    assert_allclose(forward(skeleton, found.pose.rotations)[0], line, atol=1e-12)


def test_too_near_the_longest_bone_points_away() -> None:
    skeleton = ik.Skeleton.chain([[0, 0, 0], [0, 1, 0], [0, 5, 0], [0, 6, 0]])
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(3, [0.5, 0.5, 0])])
    assert found.status == ik.Status.TOO_NEAR
    assert_allclose(found.error, 2 - np.sqrt(0.5), rtol=1e-12)


@pytest.mark.parametrize("bones", [2, 3, 4, 5, 10])
def test_a_straight_chain_in_line_with_its_target_gets_there(bones: int) -> None:
    """Also where it could fold onto the line to get there; as an arc on one side of it."""
    skeleton, _ = rope(bones)
    target = np.arange(0.5 - bones, bones, 0.5)[:, np.newaxis] * UP
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(bones, target)])
    assert np.all(found.reached)
    assert found.iterations.mean() < 40
    at = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(at[:, bones], target, atol=1e-5 * bones)
    square = at[:, 1:bones] - at[:, 1:bones] * UP
    assert np.all(np.sum(square[:, :1] * square, axis=-1) > 1e-3)


def test_a_straight_tree_in_line_with_its_targets_gets_there() -> None:
    offsets = [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]
    skeleton = ik.Skeleton([-1, 0, 1, 2, 3, 2, 5], offsets)
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(4, [0, 2.0, 0]), ik.Reach(6, [0, 2.5, 0])])
    assert found.reached


def test_a_single_bone_points_at_its_target() -> None:
    skeleton = ik.Skeleton.chain([[0, 0, 0], [0, 2, 0]])
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(1, [[2, 0, 0], [3, 0, 0], [0, -2, 0], [1, 0, 0]])])
    assert_array_equal(found.status, [0, ik.Status.TOO_FAR, 0, ik.Status.TOO_NEAR])
    at = forward(skeleton, found.pose.rotations)[0][:, 1]
    assert_allclose(at, [[2, 0, 0], [2, 0, 0], [0, -2, 0], [2, 0, 0]], atol=1e-9)


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [6, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_limited_chains_reach_what_they_can(kind: str, links: int) -> None:
    skeleton, start, positions, _ = chain(kind, links)
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(links, positions[:, links])], tolerance=1e-4)
    assert np.count_nonzero(found.reached) >= 299
    assert limited(skeleton, found) <= 1e-9
    at = forward(skeleton, found.pose.rotations)[0][:, links]
    assert_allclose(np.linalg.norm(at - positions[:, links], axis=-1), found.error, atol=1e-12)


@pytest.mark.parametrize("kind", ["cone", "ball", "euler"])
def test_limited_chains_reach_places_and_rotations(kind: str) -> None:
    skeleton, start, positions, rotations = chain(kind, 10)
    offset = skeleton.offsets[10]
    goals = [ik.Reach(9, positions[:, 10], rotations[:, 9], offset=offset)]
    found = ik.fabrik(skeleton, ik.Pose(start), goals, tolerance=1e-3, rotation_tolerance=1e-2)
    assert np.count_nonzero(found.reached) >= 299
    assert limited(skeleton, found) <= 1e-9
    at, turned = forward(skeleton, found.pose.rotations)
    assert_allclose(at[:, 10], positions[:, 10], atol=2e-3 * offset.sum() * 15)
    off = ref.multiply(ref.conjugate(turned[:, 9]), rotations[:, 9])
    angle = 2 * np.arctan2(np.linalg.norm(off[:, 1:], axis=-1), np.abs(off[:, 0]))
    assert_allclose(angle, found.rotation_error, atol=1e-9)


def test_the_pose_that_is_returned_is_the_best_one_seen() -> None:
    skeleton, start, _, _ = chain("ball", 4)
    target = np.random.default_rng(8).normal(size=(100, 3)) * 3
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(4, target)], history=True)
    assert found.history is not None
    assert_allclose(np.nanmin(found.history, axis=-1), found.error, rtol=1e-6)


def test_a_leg_of_three_hinges() -> None:
    offsets = np.array([[0, 0, 0], [0.054, 0, 0], [0.0645, 0, 0], [0.1323, 0, 0]])
    joints = [
        ik.Limit.hinge([0, 0, 1], -1.2, 1.2),
        ik.Limit.hinge([0, 1, 0], -1.6, 1.6),
        ik.Limit.hinge([0, 1, 0], -2.2, 2.2),
        None,
    ]
    skeleton = ik.Skeleton(np.arange(4) - 1, offsets, limits=joints)
    allowed = np.tile([1.0, 0, 0, 0], (300, 4, 1))
    for joint, limit in enumerate(joints[:3]):
        assert limit is not None
        allowed[:, joint] = limit.sample(300, joint)
    target = forward(skeleton, allowed)[0][:, 3]
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(3, target)], tolerance=1e-4)
    assert np.count_nonzero(found.reached) >= 299
    assert limited(skeleton, found) <= 1e-9


def reached(skeleton: ik.Skeleton, end: str, *, turned: bool, items: int = 500, **options: Any) -> int:
    """How many places of a joint that allowed poses have, with its rotation or without, are reached from rest."""
    allowed = np.tile([1.0, 0, 0, 0], (items, len(skeleton), 1))
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None:
            allowed[:, joint] = limit.sample(items, seed=joint)
    positions, rotations = forward(skeleton, allowed)
    joint = skeleton.index(end)
    goal = ik.Reach(end, positions[:, joint], rotations[:, joint] if turned else None)
    found = ik.fabrik(skeleton, skeleton.rest, [goal], **options)
    assert limited(skeleton, found) <= 1e-9
    return int(np.count_nonzero(found.reached))


ARM = ik.Skeleton(
    [-1, 0, 1, 2, 3],
    np.array([[0, 1.3, 0], [0.18, 0.12, 0], [0.29, 0, 0], [0.13, 0, 0], [0.13, 0, 0]]),
    names=["chest", *limits.human_arm("left")],
    limits=limits.human_arm("left"),
)
LEG = ik.Skeleton(
    [-1, 0, 1, 2],
    np.array([[0, 1, 0], [0.1, -0.05, 0], [0, -0.45, 0], [0, -0.42, 0]]),
    names=["hips", "hip", "knee", "ankle"],
    limits={name: limit for name, limit in limits.human_leg("left").items() if name != "toe"},
)


@pytest.mark.parametrize(
    ("limb", "end", "turned", "least"),
    [(ARM, "wrist", False, 500), (ARM, "wrist", True, 499), (LEG, "ankle", False, 500), (LEG, "ankle", True, 494)],
)
def test_human_limbs_reach_what_they_can(limb: ik.Skeleton, end: str, turned: bool, least: int) -> None:
    assert reached(limb, end, turned=turned) >= least


@pytest.mark.thorough
def test_most_of_a_human_of_hinges_reaches_with_five_ends() -> None:
    human, rng = Human(), np.random.default_rng(0)
    low, high = human.linkage.limits
    hinges = (high - low)[SLIDES:] * rng.random((100, len(low) - SLIDES)) + low[SLIDES:]
    wanted = np.concatenate([np.tile(human.at_rest()[:ROOT], (100, 1)), hinges[:, ROOT - SLIDES :]], axis=1)
    found = ik.fabrik(human.skeleton, human.pose(np.tile(human.at_rest(), (100, 1))), human.goals(wanted))
    assert np.count_nonzero(found.reached) >= 90
    assert limited(human.skeleton, found) <= 1e-9


def test_a_straight_arm_bends_at_once() -> None:
    """The passes alone would leave it straight: the elbow is at the end of its range, and in line with the target."""
    hinge = ik.Limit.hinge([0, 0, 1], 0, 2.5)
    for shoulder in (None, ik.Limit.cone([1, 0, 0], 2)):
        arm = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [3, 0, 0], [2, 0, 0]], limits=[shoulder, hinge, None])
        found = ik.fabrik(arm, arm.rest, [ik.Reach(2, [4, 0, 0])])
        assert found.reached
        assert found.iterations <= 2
        assert_allclose(forward(arm, found.pose.rotations)[0][2], [4, 0, 0], atol=5e-5)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_knee_that_bends_both_ways_stays_on_its_side(precision: Any) -> None:
    """Both sides serve a target on the line of the leg: rounding must not choose."""
    hinge = ik.Limit.hinge([1, 0, 0], -2.6, 2.6)
    for side in (-0.06, 0.06):
        offsets = np.array([[0, 0, 1], [0, side, -0.45], [0, -side, -0.45]])
        leg = ik.Skeleton([-1, 0, 1], offsets, limits=[None, hinge, None])
        height = np.linspace(0.7, 0.1, 200)
        target = np.stack([np.zeros(200), np.zeros(200), height], axis=-1)
        start = ik.Pose(leg.rest.rotations.astype(precision))
        found = ik.fabrik(leg, start, [ik.Reach(2, target.astype(precision))])
        assert (found.reached).all()
        knee = forward(leg, found.pose.rotations)[0][:, 1, 1]
        assert (knee * side > 0).all()


def test_hinges_with_any_axes_reach_what_they_can() -> None:
    rng = np.random.default_rng(2)
    hinges = [ik.Limit.hinge(rng.normal(size=3), -1, 1.5) for _ in range(6)]
    offsets = np.vstack([np.zeros(3), np.tile([1.0, 0, 0], (6, 1))])
    skeleton = ik.Skeleton(np.arange(7) - 1, offsets, limits=[*hinges, None])
    assert reached(skeleton, "6", turned=False) >= 499


# --- trees ------------------------------------------------------------------------------------------------------------


def test_a_tree_reaches_with_both_limbs() -> None:
    draw = generator(44)
    turns = np.array([[random_rotation(draw, 0.5 * np.pi) for _ in range(10)] for _ in range(100)])
    target = forward(Y, turns)[0]
    assert_allclose(target[0, 6], [0.218039923654, 5.299117523439, 1.325818748912], atol=1e-11)
    start = np.tile(about([0, 0, 1], np.array(-0.02)), (10, 1))
    goals = [ik.Reach(6, target[:, 6]), ik.Reach(9, target[:, 9])]
    found = ik.fabrik(Y, ik.Pose(start), goals, iterations=300, tolerance=1e-3 / 6)
    assert np.all(found.reached)
    at = forward(Y, found.pose.rotations)[0]
    assert_allclose(at[:, [6, 9]], target[:, [6, 9]], atol=1e-3)


def test_the_heavier_of_two_limbs_gets_nearer() -> None:
    def distances(weight: float) -> Array:
        goals = [ik.Reach(6, [-6, 2, 0], weight=weight), ik.Reach(9, [6, 2, 0])]
        at = forward(Y, ik.fabrik(Y, Y.rest, goals).pose.rotations)[0]
        return np.linalg.norm(at[[6, 9]] - [[-6, 2, 0], [6, 2, 0]], axis=-1)

    even, left = distances(1), distances(4)
    assert_allclose(even[0], even[1], atol=1e-2)
    assert left[0] < even[0] - 0.1
    assert left[1] > even[1] + 0.1


WITHIN = [(8, (4, 8)), (8, (3, 6, 8)), (12, (6, 12)), (5, (3, 5))]


@pytest.mark.thorough
@pytest.mark.parametrize(("links", "ends"), WITHIN)
@pytest.mark.parametrize("kind", KINDS)
def test_goals_within_a_chain_that_can_all_be_met_are_met(kind: str, links: int, ends: tuple[int, ...]) -> None:
    """Whatever they weigh, and with a rotation for the tip: an allowed pose has all of them."""
    skeleton, start, positions, rotations = chain(kind, links, seed=5, items=500)
    for tip, others, turned in ((1, 1, False), (10, 1, False), (1, 10, False), (1, 1, True)):
        goals = [ik.Reach(end, positions[:, end], weight=others) for end in ends[:-1]]
        goals.append(ik.Reach(links, positions[:, links], rotations[:, links] if turned else None, weight=tip))
        found = ik.fabrik(skeleton, ik.Pose(start), goals, iterations=200)
        met = found.reached
        assert np.mean(met) >= 0.99
        at = forward(skeleton, found.pose.rotations[met])[0]
        reach = np.linalg.norm(skeleton.offsets[1:], axis=-1).cumsum()
        for end in ends:
            off = np.linalg.norm(at[:, end] - positions[met, end], axis=-1)
            assert np.max(off) <= 1e-5 * reach[end - 1] + 1e-9
        assert limited(skeleton, found) < 1e-6


def random_tree(random: np.random.Generator, joints: int, back: int = 4) -> tuple[ik.Skeleton, list[int]]:
    """One that branches often, joints hanging from one of so many before; and those that nothing hangs from."""
    parents = [-1, *(int(random.integers(max(0, joint - back), joint)) for joint in range(1, joints))]
    offsets = random.normal(size=(joints, 3))
    offsets *= random.uniform(0.3, 1, (joints, 1)) / np.linalg.norm(offsets, axis=-1, keepdims=True)
    return ik.Skeleton(parents, offsets), sorted({*range(joints)} - {*parents})


@pytest.mark.parametrize("turned", [0.1, 0.3, 1])
@pytest.mark.parametrize("joints", [8, 14, 24])
def test_every_end_of_a_tree_is_met(joints: int, turned: float) -> None:
    """From rest, for poses near it and far: all but 1 %."""
    met = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        tree, ends = random_tree(random, joints)
        to = random.normal(0, turned, (64, joints, 4))
        to[..., 0] = 1
        positions = tree.forward(ik.Pose(to / np.linalg.norm(to, axis=-1, keepdims=True))).positions
        met.append(ik.fabrik(tree, tree.rest, [ik.Reach(end, positions[:, end]) for end in ends]).status == 0)
    assert np.mean(met) >= 0.99


@pytest.mark.thorough
@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("joints", [24, 40])
def test_every_end_of_a_wide_tree_is_met(joints: int, number: Any) -> None:
    """Twelve and twenty ends, which leave joints very little freedom, in floats as in doubles: all but 1 %."""
    met = []
    for seed in range(30):
        random = np.random.default_rng(seed)
        tree, ends = random_tree(random, joints, joints)
        to = random.normal(0, (0.1, 0.3, 1)[seed % 3], (64, joints, 4))
        to[..., 0] = 1
        positions = tree.forward(ik.Pose(to / np.linalg.norm(to, axis=-1, keepdims=True))).positions
        start = ik.Pose(tree.rest.rotations.astype(number))
        met.append(ik.fabrik(tree, start, [ik.Reach(end, positions[:, end]) for end in ends]).status == 0)
    assert np.mean(met) >= 0.99


@pytest.mark.thorough
@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_ends_of_a_tree_on_a_later_level_move_no_others(number: Any) -> None:
    """Half of the ends are drawn out of reach, a hundred times as strongly; the others stay where they should be."""
    off, later, before = [], [], []
    for seed in range(8):
        random = np.random.default_rng(seed)
        tree, ends = random_tree(random, 14)
        to = random.normal(0, 0.5, (64, 14, 4))
        to[..., 0] = 1
        at = tree.forward(ik.Pose(to / np.linalg.norm(to, axis=-1, keepdims=True))).positions
        first = [ik.Reach(end, at[:, end]) for end in ends[::2]]
        then = [ik.Reach(end, 1.5 * at[:, end], level=1, weight=100) for end in ends[1::2]]
        start = ik.Pose(tree.rest.rotations.astype(number))
        found = ik.fabrik(tree, start, [*then, *first], goal_errors=True)
        assert found.goal_errors is not None
        off.append(found.goal_errors[:, len(then) :, 0].max())
        alone = tree.forward(ik.fabrik(tree, start, first).pose).positions
        later.append(found.goal_errors[:, : len(then), 0].mean())
        before.append(np.mean([np.linalg.norm(alone[:, end] - 1.5 * at[:, end], axis=-1) for end in ends[1::2]]))
    assert max(off) < 1e-4
    assert np.mean(later) < 0.6 * np.mean(before)


@pytest.mark.thorough
@pytest.mark.parametrize("which", ["A", "B"])
def test_the_human_meets_all_of_its_goals(which: Set) -> None:
    human = Human()
    truths = human.truths()
    body = human.sliding() if which == "A" else human.skeleton
    goals = human.goals(truths)
    if which == "A":
        goals = [dataclasses.replace(goal, chain=None) for goal in goals]
    start = human.pose(human.starts(truths, which))
    found = ik.fabrik(body, start, goals, iterations=200, tolerance=2e-4)
    assert np.mean(found.reached) >= 0.99


def test_what_pulls_two_straight_arms_apart_moves_the_body_by_its_weight() -> None:
    """The heavier end comes as near as it would alone; the sum of squares is least, as turning any joint adds to it."""
    body = ik.Skeleton([-1, 0, 1, 2, 1, 4], [[0, 0, 0], UP, [0.3, 0.2, 0], [0.5, 0, 0], [-0.3, 0.2, 0], [-0.5, 0, 0]])
    ends, targets = [3, 5], np.array([[3, 1.2, 0], [-3, 1.2, 0]])

    def square(rotations: Array, weight: float) -> float:
        off = np.linalg.norm(forward(body, rotations)[0][ends] - targets, axis=-1) ** 2
        return float(weight * off[0] + off[1])

    alone = ik.fabrik(body, body.rest, [ik.Reach(3, targets[0])]).error
    for weight in (1.0, 4.0, 1e6):
        found = ik.fabrik(body, body.rest, [ik.Reach(3, targets[0], weight=weight), ik.Reach(5, targets[1])])
        least = square(found.pose.rotations, weight)
        for joint in range(6):
            for axis in np.vstack([np.eye(3), -np.eye(3)]):
                turned = found.pose.rotations.copy()
                turned[joint] = ref.multiply(turned[joint], about(axis, np.array(0.05)))
                assert square(turned, weight) > least - 1e-9 * weight
    end = forward(body, found.pose.rotations)[0][3]
    assert_allclose(np.linalg.norm(end - targets[0]), alone, atol=1e-3)


def test_shoulders_are_carried_by_the_chest_as_one_body() -> None:
    """Two arms on a chest, whose shoulder blades do not turn."""
    names = ["hips", "spine", "chest", "blade.L", "arm.L", "fore.L", "hand.L", "blade.R", "arm.R", "fore.R", "hand.R"]
    left, right = [[0.1, 0.1, 0], [0.1, 0, 0], [0.3, 0, 0], [0.3, 0, 0]], [[-0.1, 0.1, 0], [-0.1, 0, 0]]
    offsets = np.array([[0, 0, 0], [0, 0.2, 0], [0, 0.2, 0], *left, *right, [-0.3, 0, 0], [-0.3, 0, 0]])
    blades = {"blade.L": ik.Limit.locked(), "blade.R": ik.Limit.locked()}
    skeleton = ik.Skeleton([-1, 0, 1, 2, 3, 4, 5, 2, 7, 8, 9], offsets, names=names, limits=blades)
    draw = generator(5)
    turns = np.array([[random_rotation(draw, 0.8) for _ in names] for _ in range(100)])
    turns[:, [3, 7]] = [1, 0, 0, 0]
    target = forward(skeleton, turns)[0]
    goals = [ik.Reach("hand.L", target[:, 6]), ik.Reach("hand.R", target[:, 10])]
    start = skeleton.rest.rotations
    found = ik.fabrik(skeleton, skeleton.rest, goals, tolerance=1e-4, iterations=2000)
    assert np.all(found.reached)
    assert_array_equal(found.pose.rotations[:, [3, 7]], np.broadcast_to(start[[3, 7]], (100, 2, 4)))
    at = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(at[:, [6, 10]], target[:, [6, 10]], atol=2e-4)


@pytest.mark.parametrize(("between", "least"), [(1, 98), (2, 80), (5, 98)])
def test_a_place_in_between_is_reached_by_its_own_reach(between: int, least: int) -> None:
    """The tolerance is of the reach of the goal's own chain, which is shorter than that of the tip."""
    skeleton, start = rope(6)
    draw = generator(8)
    turns = np.array([[random_rotation(draw, 3.0) for _ in range(7)] for _ in range(100)])
    at, _ = forward(skeleton, turns)
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(6, at[:, 6]), ik.Reach(between, at[:, between])])
    now, _ = forward(skeleton, found.pose.rotations)
    solved = found.reached
    assert np.count_nonzero(solved) >= least
    off = np.linalg.norm(now[solved] - at[solved], axis=-1)
    assert np.all(off[:, 6] <= 6e-5 + 1e-12)
    assert np.all(off[:, between] <= between * 1e-5 + 1e-12)


def test_a_rotation_in_between_is_kept_and_the_place_reached() -> None:
    skeleton, start = rope(8)
    draw = generator(6)
    turns = np.array([[random_rotation(draw, 1.0) for _ in range(9)] for _ in range(100)])
    at, turned = forward(skeleton, turns)
    goals = [ik.Reach(8, at[:, 8]), ik.Reach(4, rotation=turned[:, 4])]
    found = ik.fabrik(skeleton, ik.Pose(start), goals)
    assert np.count_nonzero(found.reached) >= 98
    solved = found.reached
    now, rotated = forward(skeleton, found.pose.rotations)
    assert_allclose(now[solved, 8], at[solved, 8], atol=1e-4)
    dot = np.abs(np.sum(rotated[solved, 4] * turned[solved, 4], axis=-1))
    assert_allclose(dot, 1, atol=1e-8)


def test_a_rotation_for_what_does_not_turn_is_reached_by_what_carries_it() -> None:
    joints = {4: ik.Limit.locked()}
    skeleton = ik.Skeleton(np.arange(5) - 1, np.vstack([np.zeros(3), np.tile(UP, (4, 1))]), limits=joints)
    draw = generator(7)
    turns = np.array([[random_rotation(draw, 2.5) for _ in range(5)] for _ in range(50)])
    turns[:, 4] = [1, 0, 0, 0]
    at, turned = forward(skeleton, turns)
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(4, at[:, 4], turned[:, 4])], iterations=1000)
    assert np.count_nonzero(found.reached) >= 49
    solved = found.reached
    now, rotated = forward(skeleton, found.pose.rotations)
    assert_allclose(now[solved, 4], at[solved, 4], atol=1e-4)
    assert_allclose(np.abs(np.sum(rotated[solved, 4] * turned[solved, 4], axis=-1)), 1, atol=1e-8)


# --- what every item can rely on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_floats_reach_as_much_as_doubles(kind: str) -> None:
    """Turns are compared by squares of angles: in floats the square of a small angle is lost, the angle is not."""
    skeleton, start, positions, _ = chain(kind, 5)
    wide, narrow = (
        np.count_nonzero(ik.fabrik(skeleton, ik.Pose(start.astype(d)), [ik.Reach(5, positions[:, 5])]).status == 0)
        for d in (np.float64, np.float32)
    )
    assert narrow >= wide - 6


@pytest.mark.parametrize("links", [10, 30, 100])
def test_floats_reach_the_default_tolerance(links: int) -> None:
    skeleton, start, positions, _ = chain("cone", links, items=64)
    found = ik.fabrik(skeleton, ik.Pose(start.astype(np.float32)), [ik.Reach(links, positions[:, links])])
    assert np.all(found.reached)


def test_far_from_the_origin() -> None:
    skeleton, start, positions, _ = chain("cone", 6, items=40)
    away = np.array([1e6, -2e6, 5e5])
    moved = ik.Skeleton(skeleton.parents, np.vstack([away, skeleton.offsets[1:]]), limits=skeleton.limits)
    found = ik.fabrik(moved, ik.Pose(start), [ik.Reach(6, positions[:, 6] + away)])
    assert np.all(found.reached)
    assert limited(moved, found) <= 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_a_turned_world_turns_the_solution(kind: str) -> None:
    """A root that is not moved holds the chain: turning it and the target turns what is found."""
    skeleton, start, positions, _ = chain(kind, 5, items=40)
    held = ik.Skeleton(
        [-1, *(skeleton.parents + 1)], np.vstack([np.zeros(3), skeleton.offsets]), limits=[None, *skeleton.limits]
    )
    turn = about([1, 2, 3], np.array(1.1))
    pose = np.vstack([[1.0, 0, 0, 0], start])
    found = ik.fabrik(held, ik.Pose(pose), [ik.Reach(6, positions[:, 5], chain=5)], iterations=20, tolerance=0)
    pose[0] = turn
    turned = ik.fabrik(
        held, ik.Pose(pose), [ik.Reach(6, ref.rotate(turn, positions[:, 5]), chain=5)], iterations=20, tolerance=0
    )
    assert_allclose(np.median(np.abs(turned.error - found.error)), 0, atol=1e-9)
    same = np.abs(np.sum(turned.pose.rotations[:, 1:6] * found.pose.rotations[:, 1:6], axis=-1))
    assert np.quantile(1 - same, 0.8) < 1e-9


# --- errors of published code, each a test ----------------------------------------------------------------------------


def test_rotations_compose_as_hamilton_has_them() -> None:
    """Ledger 1, 2, 19 to 22: the pose that is written back puts the joints where the solver has them."""
    skeleton, _ = rope(4)
    rng = np.random.default_rng(4)
    pose = ref.unit(rng.normal(size=(200, 5, 4)))
    target = 3 * ref.unit(rng.normal(size=(200, 3)))
    found = ik.fabrik(skeleton, ik.Pose(pose), [ik.Reach(4, target)], iterations=1000)
    assert np.all(found.reached)
    at = forward(skeleton, found.pose.rotations)[0]
    assert_allclose(np.linalg.norm(at[:, 4] - target, axis=-1), found.error, atol=1e-12)


def test_a_parent_outside_of_the_chain_turns_it() -> None:
    """Ledger 22: a root placed and turned anywhere."""
    skeleton, start = rope(4)
    start = np.broadcast_to(start, (50, 5, 4)).copy()
    start[:, 0] = ref.unit(np.random.default_rng(3).normal(size=(50, 4)))
    target = forward(skeleton, start)[0][:, 1] + [1.5, 0.5, 1]
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(4, target, chain=3)])
    assert np.all(found.reached)
    assert_array_equal(found.pose.rotations[:, 0], start[:, 0])
    assert_allclose(forward(skeleton, found.pose.rotations)[0][:, 4], target, atol=1e-4)


def test_no_angle_is_too_small_to_be_made() -> None:
    """Ledger 4: no dead band, no early exit that leaves the written pose off."""
    skeleton, _ = rope(4)
    start = np.tile(about([0, 0, 1], np.array(0.6)), (5, 1))
    tip = forward(skeleton, start)[0][4]
    target = tip + 1e-3 * np.array([1.0, -1, 0.5])
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(4, target)], tolerance=1e-7, iterations=2000)
    assert found.reached
    assert_allclose(forward(skeleton, found.pose.rotations)[0][4], target, atol=5e-7)


BOOK = [  # joints, shares of the reach, how many of 200 targets FABRIK and CCD reach in the 15 iterations of the source
    (3, 0.3, 0.9, 182, 153),
    (3, 0.9, 0.99, 83, 0),
    (3, 0.99, 0.999, 0, 0),
    (11, 0.3, 0.9, 200, 30),
    (11, 0.9, 0.99, 110, 0),
    (11, 0.99, 0.999, 0, 0),
]


@pytest.mark.parametrize(("joints", "near", "far", "fabrik", "ccd"), BOOK)
def test_fifteen_iterations_do_near_full_reach_what_is_published(
    joints: int, near: float, far: float, fabrik: int, ccd: int
) -> None:
    """Ledger 5, fact 4: a leg that stands needs more. As they are, both methods reach all.

    Starts and targets are drawn differently, so shares are as published within three deviations of 200 draws.
    """
    rng, leg = np.random.default_rng(0), np.array([[0, 0, 0], [0, -0.45, 0], [0, -0.87, 0]])
    skeleton = ik.Skeleton.chain(leg if joints == 3 else np.arange(11)[:, None] * UP)
    start, reach = ik.Pose(ref.unit(rng.normal(size=(2000, joints, 4)))), 0.87 if joints == 3 else 10
    target = reach * rng.uniform(near, far, (2000, 1)) * ref.unit(rng.normal(size=(2000, 3)))
    for method, published in (("fabrik", fabrik), ("ccd", ccd)):
        goals: list[ik.Goal] = [ik.Reach(joints - 1, target)]
        few = ik.solve(skeleton, start, goals, method, iterations=15, tolerance=1e-5 / reach, textbook=True)
        chance = max(3 * np.sqrt(published * (1 - published / 200)), 5 if published else 1)
        assert abs(200 * np.mean(few.status == 0) - published) <= chance
        assert not np.any(ik.solve(skeleton, start, goals, method, tolerance=1e-5 / reach).status)


def test_momentum_takes_a_fifth_of_the_iterations_near_full_reach() -> None:
    rng = np.random.default_rng(0)
    skeleton, _ = rope(10)
    start = ref.unit(rng.normal(size=(500, 11, 4)) * 0.05 + [1, 0, 0, 0])
    target = ref.unit(rng.normal(size=(500, 3))) * rng.uniform(9, 9.9, (500, 1))
    kept, published = (
        ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(10, target)], tolerance=1e-4, iterations=2000, textbook=textbook)
        for textbook in (False, True)
    )
    assert np.all(kept.status == 0)
    assert np.all(published.status == 0)
    assert kept.iterations.mean() < published.iterations.mean() / 5
    assert kept.iterations.max() < 100


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("links", [30, 100])
def test_long_ropes_reach_all(links: int, share: float, bent: bool) -> None:
    rng = np.random.default_rng(links)
    skeleton, _ = rope(links)
    start = ref.unit(rng.normal(size=(100, links + 1, 4)) * (0.3 if bent else 0) + [1, 0, 0, 0])
    target = ref.unit(rng.normal(size=(100, 3))) * share * links
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(links, target)])
    assert np.all(found.reached)
    assert found.iterations.mean() < 25


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_lengths_do_not_drift(kind: str | None) -> None:
    """Ledger 6: after 500 iterations bones are as long as they were, so points and pose are off by the same."""
    skeleton, start, positions, _ = chain(kind or "ball", 10)
    if kind is None:
        skeleton = ik.Skeleton(skeleton.parents, skeleton.offsets)
    target = positions[:, 10].astype(np.float32)
    goals: list[ik.Goal] = [ik.Reach(10, target)]
    found = ik.fabrik(skeleton, ik.Pose(start.astype(np.float32)), goals, iterations=500, tolerance=0, history=True)
    off = np.linalg.norm(forward(skeleton, found.pose.rotations)[0][:, 10] - target, axis=-1)
    assert found.history is not None
    assert_allclose(np.nanmin(found.history, axis=-1), off, atol=1e-5)  # of floats, and a reach of ten
    assert np.median(off) < 1e-5


@pytest.mark.parametrize("textbook", [False, True])
def test_nothing_of_length_zero_is_normalised(textbook: bool) -> None:
    """Ledger 6, 23: bones of no length, a target on a joint, an end on a joint, a chain of one joint."""
    skeleton = ik.Skeleton.chain([[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 2, 0], [0, 2, 0]])
    start = np.tile(about([1, 0, 0], np.array(0.3)), (5, 1))
    for target in (*forward(skeleton, start)[0], np.array([0, 1e-200, 0])):
        found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(4, target)], textbook=textbook)
        assert np.all(np.isfinite(found.pose.rotations))
        assert found.status < ik.Status.NOT_FINITE
    lone = ik.Skeleton([-1], [[0, 0, 0]])
    assert ik.fabrik(lone, lone.rest, [ik.Reach(0, [0, 0, 0])], textbook=textbook).status == 0


def test_a_ball_and_socket_keeps_its_twist() -> None:
    """Ledger 7: within a cone that is wide enough nothing is twisted that need not be."""
    wide = ik.Skeleton.chain(np.arange(5)[:, None] * UP)
    coned = ik.Skeleton(wide.parents, wide.offsets, limits=[*[ik.Limit.cone(UP, 3.0, twist=(-0.2, 0.2))] * 4, None])
    target = 3 * ref.unit(np.random.default_rng(1).normal(size=(50, 3)) + UP)
    start = rope(4)[1]
    found = ik.fabrik(coned, ik.Pose(start), [ik.Reach(4, target)])
    assert np.all(found.reached)
    local = found.pose.rotations[:, :4]
    assert np.all(2 * np.abs(np.arctan2(local[..., 2], local[..., 0])) <= 0.2 + 1e-9)


def test_a_hinge_leaves_nothing_off_its_plane() -> None:
    """Ledger 8."""
    skeleton, start, targets = planar(8, 45)
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(8, targets + 0.5 * np.array([0, 0, 1]))])
    assert_allclose(found.pose.rotations[:, :8, 1:3], 0, atol=1e-15)


def test_the_tolerance_is_of_the_reach() -> None:
    """Ledger 3 and 23."""
    skeleton, start, positions, _ = chain("cone", 6)
    reach = skeleton.offsets[:, 0].sum()
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(6, positions[:, 6])], tolerance=1e-3)
    assert np.all(found.error[found.reached] <= 1e-3 * reach)
    assert found.error.max() > 1e-4 * reach


def test_not_every_target_within_the_reach_is_reached() -> None:
    """Ledger 32: limits and a tolerance of zero."""
    skeleton, start, _, _ = chain("cone", 4)
    found = ik.fabrik(skeleton, ik.Pose(start), [ik.Reach(4, [-1, 0, 0])], iterations=2000)
    assert found.status == ik.Status.STALLED | ik.Status.AT_LIMIT
    rope_, bent = rope(4)
    found = ik.fabrik(rope_, ik.Pose(bent), [ik.Reach(4, [1, 2, 1])], tolerance=0, iterations=300)
    assert found.error <= 1e-14
