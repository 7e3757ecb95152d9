"""full_body: its sweeps against slow ones, the published tables, who gives way, and that it does not jump."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from bodies_reference import Bodies
from chains import generator
from human import ROOT, SLIDES, Human
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]
HUMAN = Human()


class Boxes:
    """The published human with one joint for the hinges that are stacked at a place, and a root that slides."""

    def __init__(self, *, limited: bool = True, masses: Array | None = None) -> None:
        whole = HUMAN.linkage
        firsts = [i for i in range(len(whole.parents)) if i == 0 or (i >= ROOT and self._starts(i))]
        self.parts = [list(range(a, b)) for a, b in zip(firsts, [*firsts[1:], len(whole.parents)], strict=True)]
        at = {part: joint for joint, parts in enumerate(self.parts) for part in parts}
        self.parents = [-1 if whole.parents[i] < 0 else at[whole.parents[i]] for i in firsts]
        self.offsets = np.array([whole.offsets[i] for i in firsts])
        self.goals = [(at[part], np.asarray(offset)) for part, offset in whole.ends]
        limits = [self._limit(parts) for parts in self.parts] if limited else [None] * len(firsts)
        travel = HUMAN.travel if limited else np.array([[-np.inf] * 3, [np.inf] * 3])
        root = self._limit(self.parts[0], position=travel) if limited else ik.Limit.free(position=travel)
        self.skeleton = ik.Skeleton(self.parents, self.offsets, limits=[root, *limits[1:]], masses=masses)

    def _starts(self, part: int) -> bool:
        """Whether a part is the first of its joint: it has a bone, or a brother."""
        return bool(HUMAN.linkage.offsets[part].any()) or HUMAN.linkage.parents[part] != part - 1

    def _limit(self, parts: list[int], **more: Any) -> ik.Limit:
        axes, ranges = HUMAN.linkage.axes, HUMAN.linkage.limits.T
        parts = [part for part in parts if part >= SLIDES]
        if len(parts) == 1:
            return ik.Limit.hinge(axes[parts[0]], *ranges[parts[0]], **more)
        box = np.zeros((3, 2))
        for part in parts:
            axis = int(np.argmax(np.abs(axes[part])))
            box[2 - axis] = np.sort(ranges[part] * axes[part, axis])
        return ik.Limit.euler("ZYX", box[:, 0], box[:, 1], **more)

    def pose(self, states: Array) -> ik.Pose:
        turns = np.concatenate(
            [np.tile([1.0, 0, 0, 0], (len(states), SLIDES, 1)), HUMAN.pose(states).rotations], axis=1
        )
        rotations = np.stack([self._product(turns, parts) for parts in self.parts], axis=1)
        moved = np.tile(self.offsets, (len(states), 1, 1))
        moved[:, 0] += states[:, :SLIDES]
        return ik.Pose(rotations, moved)

    @staticmethod
    def _product(turns: Array, parts: list[int]) -> Array:
        product = turns[:, parts[0]]
        for part in parts[1:]:
            product = ref.multiply(product, turns[:, part])
        return product

    def reaches(self, truths: Array) -> list[ik.Reach]:
        world = self.skeleton.forward(self.pose(truths))
        return [
            ik.Reach(joint, world.positions[:, joint] + ref.rotate(world.rotations[:, joint], offset), offset=offset)
            for joint, offset in self.goals
        ]


BOXES = Boxes()


def near(share: float, count: int = 200) -> Array:
    """The near set: so large a share of every range from the start, 73 draws a target."""
    draw, (low, high), start = generator(71), HUMAN.linkage.limits, HUMAN.at_rest()
    drawn = np.array([[next(draw) for _ in range(73)] for _ in range(count)])[:, : len(start)]
    return np.asarray(np.clip(start + share * (high - low) * (2 * drawn - 1), low, high))


def started(truths: Array) -> ik.Pose:
    return BOXES.pose(HUMAN.starts(truths, "A"))


# ---- the sweeps


@pytest.mark.parametrize(("slides", "hinged"), [(True, False), (False, False), (True, True)])
def test_sweeps_are_those_of_the_reference(slides: bool, hinged: bool) -> None:
    truths = near(0.1, 8)
    limits: list[Any] = [ik.Limit.free(position=[[-np.inf] * 3, [np.inf] * 3]) if slides else None]
    limits += [None] * (len(BOXES.parents) - 1)
    hinges = {}
    for joint, parts in enumerate(BOXES.parts):
        if hinged and joint and len(parts) == 1:
            axis, (low, high) = HUMAN.linkage.axes[parts[0]], HUMAN.linkage.limits.T[parts[0]]
            hinges[joint], limits[joint] = (axis, low, high), ik.Limit.hinge(axis, low, high)
    skeleton, pose, goals = (
        ik.Skeleton(BOXES.parents, BOXES.offsets, limits=limits),
        started(truths),
        BOXES.reaches(truths),
    )
    targets = np.stack([np.asarray(goal.position) for goal in goals], axis=1)
    assert pose.translations is not None
    for sweeps in (1, 2, 20):
        found = ik.solvers.full_body(skeleton, pose, goals, iterations=0, sweeps=sweeps)
        bodies = Bodies(BOXES.parents, BOXES.offsets, BOXES.goals, hinges, slides=slides)
        turned, root = bodies.solve(pose.rotations, pose.translations[:, 0], targets, sweeps)
        apart = ik.rotations.log(ik.rotations.multiply(ik.rotations.conjugate(turned), found.pose.rotations))
        assert np.abs(apart).max() < 1e-7
        if slides:
            assert found.pose.translations is not None
            np.testing.assert_allclose(found.pose.translations[:, 0], root, atol=1e-8)


def test_the_near_set_is_the_published_one() -> None:
    first = [(0.05, [0.78175151, 1.41828832, 0.09353761]), (0.1, [0.7581151, 1.40247272, 0.13616354])]
    for share, wrist in [*first, (0.2, [0.69884468, 1.3657272, 0.22030625])]:
        np.testing.assert_allclose(np.asarray(BOXES.reaches(near(share, 1))[0].position)[0], np.array(wrist), atol=1e-8)


# ---- the published tables: medians and 95 % of the worst effector in mm, after 20, 50 and 200 sweeps

TABLE: dict[float, Any] = {
    0.05: [(28, 46), (14, 29), (7.3, 16)],
    0.1: [(54, 88), (29, 48), (13, 23)],
    0.2: [(96, 161), (55, 85), (22, 45)],
}


@pytest.mark.parametrize("share", TABLE)
def test_before_the_finish_no_worse_than_published(share: float) -> None:
    truths = near(share)
    for sweeps, (median, most) in zip((20, 50, 200), TABLE[share], strict=True):
        found = ik.solvers.full_body(
            BOXES.skeleton, started(truths), BOXES.reaches(truths), iterations=0, sweeps=sweeps
        )
        assert np.median(found.error) < median / 1000
        assert np.percentile(found.error, 95) < most / 1000


@pytest.mark.parametrize("share", TABLE)
def test_the_finish_reaches_all_of_the_near_set(share: float) -> None:
    truths = near(share)
    found = ik.solvers.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths))
    assert (found.status == 0).sum() == 200


def test_the_finish_reaches_all_of_the_published_set() -> None:
    truths = HUMAN.truths()
    found = ik.solvers.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths))
    assert (found.status == 0).sum() == 200


# ---- continuous in the goals


def walked(way: tuple[float, float, float], end: int, step: float, **options: Any) -> tuple[Array, ik.Solution]:
    """Largest turn of a joint from one target of an end to the next, degrees, as it walks away from where it is."""
    count = int(1.4 / step)
    rest = np.repeat(HUMAN.at_rest()[np.newaxis], count, axis=0)
    goals = BOXES.reaches(rest)
    line = step * np.arange(count)[:, np.newaxis] * np.asarray(way) / np.linalg.norm(way)
    goals[end] = ik.Reach(goals[end].joint, goals[end].position + line, offset=goals[end].offset)
    found = ik.solvers.full_body(BOXES.skeleton, BOXES.pose(rest), goals, **options)
    cosines = np.abs((found.pose.rotations[1:] * found.pose.rotations[:-1]).sum(-1))
    return np.degrees(2 * np.arccos(np.clip(cosines, 0, 1))).max(axis=-1), found


OUTWARDS: list[Any] = [((0.3, -1, 0.4), 0, 6), ((0, 0.3, 1), 2, 6), ((0, 0, 1), 4, 6)]
OUTWARDS += [((1, 0.2, 0.3), 0, 8), ((0.5, -0.2, 1), 3, 6), ((-1, 0.3, 0.2), 1, 8)]


@pytest.mark.parametrize(("way", "end", "most"), OUTWARDS)
def test_targets_that_walk_beyond_reach_make_no_jump(way: tuple[float, float, float], end: int, most: float) -> None:
    """At the edge of reach limbs straighten, which takes the larger turns of up to `most` degrees."""
    turns, found = walked(way, end, 0.007)
    beyond = (found.status[1:] != 0) & (found.status[:-1] != 0)
    assert found.status[0] == 0
    assert found.error[-1] > 0.05
    assert turns[beyond].max() < 5
    assert turns.max() < most


def test_half_the_step_gives_half_the_change() -> None:
    whole, _ = walked((0, 0.3, 1), 2, 0.014)
    half, _ = walked((0, 0.3, 1), 2, 0.007)
    assert np.median(half) == pytest.approx(np.median(whole) / 2, rel=0.2)
    assert np.percentile(half, 90) == pytest.approx(np.percentile(whole, 90) / 2, rel=0.3)


# ---- who gives way

ANYWHERE = [[-np.inf] * 3, [np.inf] * 3]


def star(masses: Any = None, stiffness: float = 0.0) -> ik.Skeleton:
    """Two arms of two bones on a root that slides, alike except for the given properties of the first."""
    points: list[list[float]] = [
        [0, 0, 0],
        [0.5, 0, 0],
        [0.5, 0.2, 0],
        [0.5, 0, 0],
        [-0.5, 0, 0],
        [-0.5, 0.2, 0],
        [-0.5, 0, 0],
    ]
    limits: list[ik.Limit | None] = [ik.Limit.free(position=ANYWHERE), *[None] * 6]
    if stiffness:
        limits[1:3] = [ik.Limit.free(stiffness=stiffness)] * 2
    return ik.Skeleton([-1, 0, 1, 2, 0, 4, 5], points, limits=limits, masses=masses)


# Both ends are asked to come nearer, unevenly for none.
SQUASHED = [ik.Reach(3, [0.8, 0.2, 0]), ik.Reach(6, [-0.8, 0.2, 0])]
TORN = [ik.Reach(3, [2.5, 0.4, 0]), ik.Reach(6, [-2.5, 0.4, 0])]


def turned(found: ik.Solution) -> tuple[float, float]:
    """By how much the joints of the first and of the second arm turn, radians."""
    angles = ik.rotations.to_axis_angle(ik.rotations.canonical(found.pose.rotations))[1]
    return float(angles[1:4].sum()), float(angles[4:].sum())


@pytest.mark.parametrize("iterations", [0, 200])
def test_heavier_and_stiffer_sides_turn_less(iterations: int) -> None:
    alike = turned(ik.solvers.full_body(star(), star().rest, SQUASHED, iterations=iterations))
    assert alike[0] == pytest.approx(alike[1], rel=0.25)
    for skeleton in (star(masses=[1, 8, 8, 8, 1, 1, 1]), star(stiffness=0.8)):
        first, second = turned(ik.solvers.full_body(skeleton, skeleton.rest, SQUASHED, iterations=iterations))
        assert first < second


def test_the_heavier_side_gives_way_less_where_both_cannot_be_met() -> None:
    """Its goal is met more nearly: the lighter side is drawn along."""
    heavy = star(masses=[1, 8, 8, 8, 1, 1, 1])
    found = ik.solvers.full_body(heavy, heavy.rest, TORN, iterations=0, goal_errors=True)
    assert found.goal_errors is not None
    first, second = found.goal_errors[:, 0]
    assert first < second / 2


# ---- every row of the table of docs/methods/full_body.md


def test_sweeps_sub_sweeps_and_relaxation_change_what_is_left() -> None:
    truths = near(0.2, 40)
    pose, goals = started(truths), BOXES.reaches(truths)

    def left(**options: Any) -> float:
        return float(np.median(ik.solvers.full_body(BOXES.skeleton, pose, goals, iterations=0, **options).error))

    assert left(sweeps=5) > left() > left(sweeps=80)
    assert left(sub_sweeps=3) < left()
    assert left(relaxation=1.0) > left()
    assert left(inertia=100.0) > left()
    assert left(inertia=0.1) > left()
    assert left(max_angle=0.002) > left()
    assert left(pre_pull=0.0, sweeps=1) > left(sweeps=1)
    assert left(pre_pull_turn=1.0, sweeps=1) < left(sweeps=1)
    assert left(pull_chain=1.0, sweeps=1) < left(sweeps=1)


def test_both_residuals_are_told() -> None:
    truths = near(0.1, 20)
    found = ik.solvers.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths), history=True)
    unfinished = ik.solvers.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths), iterations=0)
    assert found.history is not None
    assert np.all(found.history[:, 0] > 100 * found.error)
    assert np.all(found.history[:, 0] >= unfinished.error * (1 - 1e-9))


def test_a_pinned_root_stays_to_the_bit() -> None:
    truths = near(0.1, 20)
    pose = started(truths)
    below = list(range(1, len(BOXES.parents)))
    found = ik.solvers.full_body(BOXES.skeleton, pose, BOXES.reaches(truths), moving=below)
    assert found.pose.translations is not None
    assert pose.translations is not None
    np.testing.assert_array_equal(found.pose.rotations[:, 0], pose.rotations[:, 0])
    np.testing.assert_array_equal(found.pose.translations, pose.translations)
    assert not np.array_equal(found.pose.rotations[:, 1:], pose.rotations[:, 1:])


def test_excluded_bones_stay_to_the_bit_and_are_carried() -> None:
    truths = near(0.05, 20)
    pose, elbow = started(truths), 11
    others = [joint for joint in range(len(BOXES.parents)) if joint != elbow]
    found = ik.solvers.full_body(BOXES.skeleton, pose, BOXES.reaches(truths), moving=others)
    np.testing.assert_array_equal(found.pose.rotations[:, elbow], pose.rotations[:, elbow])
    assert (found.status == 0).mean() > 0.9


def test_strength_is_the_weight_beside_the_heaviest_goal() -> None:
    def misses(weight: float) -> Array:
        weak = [TORN[0], ik.Reach(6, TORN[1].position, weight=weight)]
        found = ik.solvers.full_body(star(), star().rest, weak, iterations=0, goal_errors=True)
        assert found.goal_errors is not None
        return found.goal_errors[:, 0]

    even, weak = misses(1.0), misses(0.2)
    assert weak[1] > even[1]
    assert weak[0] < even[0]


def test_preferred_angles_bend_what_is_squashed() -> None:
    """A straight leg does not know which way; its preference decides, either way."""
    bend = ik.rotations.from_axis_angle([1, 0, 0], 1.5)
    for way in (bend, ik.rotations.conjugate(bend)):
        preferred = np.array([[1.0, 0, 0, 0], way, [1, 0, 0, 0]])
        leg = ik.Skeleton([-1, 0, 1], np.array([[0, 1, 0], [0, -0.5, 0], [0, -0.5, 0]]), preferred=preferred)
        found = ik.solvers.full_body(leg, leg.rest, [ik.Reach(2, [0, 0.3, 0])])
        assert int(found.status) == 0
        assert float(found.pose.rotations[1] @ (way * np.sign(way[0]))) > 0.8


def test_rotations_are_pinned() -> None:
    turn = ik.rotations.from_axis_angle([0, 0, 1], 0.6)
    goal = ik.Reach(3, [1.4, 0.5, 0], turn)
    for iterations, most in ((0, 0.3), (200, 1e-4)):
        found = ik.solvers.full_body(star(), star().rest, [goal, SQUASHED[1]], iterations=iterations)
        assert float(found.rotation_error) < most


def test_the_finish_keeps_limits() -> None:
    truths = HUMAN.truths(30)
    found = ik.solvers.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths))
    for joint, limit in enumerate(BOXES.skeleton.limits):
        if limit is not None:
            assert np.all(limit.violation(found.pose.rotations[:, joint]) < 1e-7)
