"""Goals of every kind: what `dls` says of them, by forward kinematics in NumPy; and nothing is ignored in silence."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import goals_reference as truth
import numpy as np
import pytest
import reference as ref
from chains import Y
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import Status, _core
from ikcore.solving import batch, validate
from ikcore.solving.errors import miss_of
from ikcore.solving.registry import TAKEN
from ikcore.solving.tasks import TASK_ROWS

Array = Any
everywhere = pytest.mark.usefixtures("everywhere")
some_unusable = pytest.mark.filterwarnings("ignore::ikcore.UnusableWarning")  # chains without length


# --- the truth --------------------------------------------------------------------------------------------------------


def body_of(skeleton: ik.Skeleton) -> truth.Body:
    masses = skeleton.masses if skeleton.masses.any() else 1.0
    return truth.body(skeleton.parents.tolist(), skeleton.offsets, masses=masses, centres=skeleton.centres)


def world_of(skeleton: ik.Skeleton, pose: ik.Pose) -> truth.World:
    matrices = truth.matrix_of(ref.unit(np.asarray(pose.rotations, float)))
    at = skeleton.offsets if pose.translations is None else np.asarray(pose.translations, float)
    return truth.forward(body_of(skeleton), truth.Pose(matrices, at))


@dataclass(frozen=True)
class Towards(truth.Goal):
    """A Look whose target is a point of a joint."""

    look: truth.Look
    other: int
    point: Array

    def residual(self, world: truth.World) -> Array:
        return replace(self.look, target=world.point(self.other, self.point)).residual(world)


def numbers(value: Any) -> Array:
    return np.asarray(value, float)


def matrix(rotation: Any) -> Array:
    return truth.matrix_of(ref.unit(numbers(rotation)))


def point(given: Any) -> Any:
    return truth.ORIGIN if given is None else given


def residuals_of(skeleton: ik.Skeleton, goal: Any) -> tuple[truth.Goal | None, truth.Goal | None]:
    """The residuals of a goal: a distance and an angle."""
    joint = None if getattr(goal, "joint", None) is None else skeleton.index(goal.joint)
    offset = point(getattr(goal, "offset", None))
    other = None if getattr(goal, "other", None) is None else skeleton.index(goal.other)
    if isinstance(goal, ik.CentreOfMass):
        return truth.CentreOfMass(numbers(goal.position)), None
    if isinstance(goal, ik.Inside):
        normal = ref.unit(numbers(goal.normal))
        return truth.Inside(normal, numbers(goal.position), float(numbers(goal.distance)), joint, offset), None
    assert joint is not None
    if isinstance(goal, ik.Outside):
        end = goal.position if goal.end is None else goal.end
        away = float(numbers(goal.distance))
        return truth.Outside(joint, numbers(goal.position), numbers(end), away, offset), None
    if isinstance(goal, ik.Reach):
        return (
            None if goal.position is None else truth.Place(joint, numbers(goal.position), offset),
            None if goal.rotation is None else truth.Turn(joint, matrix(goal.rotation)),
        )
    if isinstance(goal, ik.Relative):
        assert other is not None
        return (
            None if goal.position is None else truth.RelativePlace(joint, other, numbers(goal.position), offset),
            None if goal.rotation is None else truth.RelativeTurn(joint, other, matrix(goal.rotation)),
        )
    if isinstance(goal, ik.Distance):
        from_ = numbers(goal.position) if other is None else point(goal.other_offset)
        return truth.Distance(joint, float(numbers(goal.distance)), from_, other, offset), None
    if isinstance(goal, ik.Look):
        look = truth.Look(joint, goal.axis, point(goal.position), offset)
        return None, look if other is None else Towards(look, other, point(goal.other_offset))
    assert isinstance(goal, ik.Posture)
    rotation = skeleton.preferred.rotations[joint] if goal.rotation is None else goal.rotation
    return None, truth.Posture([joint], matrix(rotation))


def missed_by(skeleton: ik.Skeleton, pose: ik.Pose, goals: list[Any]) -> Array:
    """By forward kinematics, as `Solution.goal_errors`."""
    world = world_of(skeleton, pose)
    return np.array(
        [
            [np.nan if part is None else np.linalg.norm(part.residual(world)) for part in residuals_of(skeleton, goal)]
            for goal in goals
        ]
    )


# --- problems ---------------------------------------------------------------------------------------------------------


def any_limit(rng: np.random.Generator) -> ik.Limit | None:
    axis = ref.unit(rng.normal(size=3))
    return [
        ik.Limit.hinge(axis, rng.uniform(-2, -0.3), rng.uniform(0.3, 2)),
        ik.Limit.cone(axis, rng.uniform(0.3, 2), twist=(-rng.uniform(0.2, 2), rng.uniform(0.2, 2))),
        ik.Limit.euler("xyz", [-0.8] * 3, [0.9] * 3),
        ik.Limit.free(stiffness=rng.uniform(0, 0.9)),
        ik.Limit.free(position=[[-0.3, 0, -0.1], [0.2, 0.3, 0.1]]),
        None,
    ][rng.integers(6)]


def any_tree(rng: np.random.Generator, *, limited: bool) -> ik.Skeleton:
    """Some joints have no mass, and what the last one has is not at it."""
    joints = int(rng.integers(3, 9))
    return ik.Skeleton(
        [-1, *(int(rng.integers(max(0, joint - 3), joint)) for joint in range(1, joints))],
        rng.normal(size=(joints, 3)) * 0.4,
        rest=ref.unit(rng.normal(size=(joints, 4)) * 0.3 + [1, 0, 0, 0]),
        limits=[any_limit(rng) for _ in range(joints)] if limited else None,
        masses=np.append(np.where(rng.random(joints - 1) < 0.3, 0, rng.uniform(0.2, 2, joints - 1)), 1),
        centres=np.where(rng.random((joints, 1)) < 0.5, 0, rng.normal(size=(joints, 3)) * 0.2),
    )


def any_pose(skeleton: ik.Skeleton, rng: np.random.Generator, bent: float) -> ik.Pose:
    """One that the limits allow."""
    from_rest = ref.unit(rng.normal(size=(len(skeleton), 4)) * bent + [1, 0, 0, 0])
    at = skeleton.offsets.copy()
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None:
            from_rest[joint] = limit.project(from_rest[joint])
        if limit is not None and limit.position is not None:
            at[joint] += rng.uniform(*np.array(limit.position))
    return ik.Pose(ref.multiply(skeleton.rest.rotations, from_rest), at)


def goals_met_by(world: truth.World, rng: np.random.Generator, count: int) -> list[ik.Goal]:
    """Random goals of any kind, sometimes with every option."""
    return [any_goal(world, rng, number) for number in range(count)]


def can_move(skeleton: ik.Skeleton, goals: list[ik.Goal]) -> bool:
    """Whether something between two joints moves for goals about them; others are refused."""
    try:
        return bool(validate.tasks_of(skeleton, goals, np.dtype(float)))
    except ValueError:
        return False


def any_goal(world: truth.World, rng: np.random.Generator, number: int) -> ik.Goal:
    joint, other = map(int, rng.choice(len(world.positions), 2, replace=False))
    offset, beside = (rng.normal(size=3) * 0.2 if rng.random() < 0.5 else None for _ in range(2))
    own = offset if offset is not None else np.array([0.1 + number, 0, 0])  # no two for one point
    here, there = world.point(joint, point(offset)), world.point(other, point(beside))
    turned, seen_from = world.rotations[joint], world.rotations[other].T
    axis, place, turn = ref.unit(rng.normal(size=3)), world.centre_of_mass(), ik.rotations.from_matrix
    below = np.cross(axis, rng.normal(size=3)) - 0.05 * axis
    common: dict[str, Any] = {"weight": rng.uniform(0.1, 3)}
    two: dict[str, Any] = {"other": other, "other_chain": 0 if rng.random() < 0.5 else None}
    apart: dict[str, Any] = {**common, **two, "offset": offset, "other_offset": beside}
    beyond = here + 0.5 * np.cross(axis, below)
    room = -truth.Outside(joint, beyond, beyond + axis, 0.0, point(offset)).below(world)
    makers: list[Callable[[], ik.Goal]] = [
        lambda: ik.Reach(joint, world.point(joint, own), offset=own, **common),
        lambda: ik.Look(joint, 2 * axis, here + turned @ axis * rng.uniform(0.3, 3), offset=offset, **common),
        lambda: ik.Look(joint, turned.T @ (there - here), **apart),
        lambda: ik.Distance(joint, np.linalg.norm(here - there), **apart),
        lambda: ik.Distance(joint, np.linalg.norm(here - place), position=place, offset=offset, **common),
        lambda: ik.Relative(
            joint, position=seen_from @ (here - world.positions[other]), offset=offset, **common, **two
        ),
        lambda: ik.Relative(joint, rotation=turn(seen_from @ turned), **two),
        lambda: ik.CentreOfMass(place, **common),
        lambda: ik.Inside(None, place + below, 3 * axis, distance=0.02, **common),
        lambda: ik.Inside(joint, here + below, axis, offset=offset, **common),
        lambda: ik.Outside(joint, beyond, 0.9 * room, end=beyond + axis, offset=offset, **common),
    ]
    return makers[rng.integers(len(makers))]()


def sized_limit(limit: ik.Limit | None, size: float) -> ik.Limit | None:
    if limit is None or limit.position is None:
        return limit
    low, high = (tuple(size * x for x in end) for end in limit.position)
    return replace(limit, position=(low, high))


@dataclass(frozen=True)
class Problem:
    skeleton: ik.Skeleton
    start: ik.Pose
    goals: list[Any]

    def solve(self, method: str = "dls", **options: Any) -> ik.Solution:
        return ik.solve(self.skeleton, self.start, self.goals, method, goal_errors=True, **options)

    def taken_by(self, method: str) -> Problem:
        """Without the goals that a method does not take."""
        return replace(self, goals=[goal for goal in self.goals if is_taken(method, goal)])

    def moved(self, size: float, turn: Array, way: Array) -> Problem:
        """The whole world larger, turned and moved."""
        skeleton = self.skeleton
        limits = [sized_limit(limit, size) for limit in skeleton.limits]
        sized = ik.Skeleton(
            skeleton.parents,
            skeleton.offsets * size,
            rest=skeleton.rest.rotations,
            limits=limits,
            masses=skeleton.masses,
            centres=skeleton.centres * size,
        )
        rotations, at = np.array(self.start.rotations), size * np.asarray(self.start.translations)
        rotations[0], at[0] = ref.multiply(turn, rotations[0]), ref.rotate(turn, at[0]) + way
        return Problem(sized, ik.Pose(rotations, at), [moved(goal, size, turn, way) for goal in self.goals])


def moved(goal: Any, size: float, turn: Array, way: Array) -> Any:
    changed: dict[str, Any] = {}
    for name in ("offset", "other_offset"):
        if getattr(goal, name, None) is not None:
            changed[name] = np.asarray(getattr(goal, name)) * size
    if isinstance(goal, ik.Relative) and goal.position is not None:
        changed["position"] = size * np.asarray(goal.position)
    elif getattr(goal, "position", None) is not None:
        changed["position"] = ref.rotate(turn, size * np.asarray(goal.position)) + way
    if isinstance(goal, ik.Inside):
        changed["normal"] = ref.rotate(turn, np.asarray(goal.normal))
    if isinstance(goal, ik.Outside):
        changed["end"] = ref.rotate(turn, size * np.asarray(goal.end)) + way
    if isinstance(goal, ik.Distance | ik.Inside | ik.Outside):
        changed["distance"] = np.asarray(goal.distance) * size
    return replace(goal, **changed)


def problem(seed: int, dtype: Any = np.float64) -> Problem:
    rng = np.random.default_rng(seed)
    skeleton = any_tree(rng, limited=seed % 3 > 0)
    there, start = any_pose(skeleton, rng, 0.5), any_pose(skeleton, rng, 0.3)
    goals = goals_met_by(world_of(skeleton, there), rng, int(rng.integers(1, 4)))
    while not can_move(skeleton, goals):
        goals = goals_met_by(world_of(skeleton, there), rng, int(rng.integers(1, 4)))
    assert start.translations is not None
    return Problem(skeleton, ik.Pose(start.rotations.astype(dtype), start.translations.astype(dtype)), goals)


PROBLEMS = [problem(seed) for seed in range(60)]
NO_TURN, NOWHERE = np.array([1.0, 0, 0, 0]), np.zeros(3)
ARM = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
HEAVY = ik.Skeleton(ARM.parents, ARM.offsets, masses=[1, 1, 1, 1])
QUARTER = ik.rotations.from_axis_angle([0, 0, 1], np.pi / 2)
BENT = ik.Pose(np.stack([ik.rotations.from_axis_angle([0, 0.3, 1], angle) for angle in (0.2, 0.3, 0.1, 0.2)]))


def alike(a: ik.Pose, b: ik.Pose) -> Any:
    """The least cosine of half the angle between their rotations."""
    return np.abs(np.sum(numbers(a.rotations) * numbers(b.rotations), axis=-1)).min()


# --- what is reached --------------------------------------------------------------------------------------------------


@some_unusable
@everywhere
def test_errors_are_those_of_forward_kinematics(dtype: Any) -> None:
    """And 0 is said of nothing that is missed, and limits hold."""
    near = 3e-5 if dtype is np.float32 else 1e-9
    reached = 0
    for seed in range(60):
        task = problem(seed, dtype)
        found = task.solve()
        assert found.goal_errors is not None
        if found.status >= _core.UNUSABLE:
            continue
        expected = missed_by(task.skeleton, found.pose, task.goals)
        assert_allclose(found.goal_errors, expected, atol=near, err_msg=str(seed))
        largest = np.nanmax(np.nan_to_num(found.goal_errors), axis=0)
        assert_array_equal([found.error, found.rotation_error], largest)
        span = np.linalg.norm(task.skeleton.offsets, axis=-1).sum() + 1.5  # no chain reaches farther
        if found.status == 0:
            reached += 1
            assert np.all(np.nan_to_num(expected) <= [1e-5 * span + near, 1e-4 + near]), seed
        for joint, limit in enumerate(task.skeleton.limits):
            turned = numbers(found.pose.rotations[joint])
            if limit is not None and not np.array_equal(turned, task.start.rotations[joint]):
                from_rest = ref.multiply(ref.conjugate(task.skeleton.rest.rotations[joint]), turned)
                assert limit.violation(from_rest) <= 100 * near
            if limit is not None and limit.position is not None:
                assert found.pose.translations is not None
                slid = numbers(found.pose.translations[joint]) - task.skeleton.offsets[joint]
                assert_allclose(limit.project_position(slid), slid, atol=near)
    assert reached >= 45  # of the others most ask for what the joints of their chains cannot change


@some_unusable
@pytest.mark.parametrize("size", [100, 0.01])
def test_the_size_of_the_world_does_not_matter(size: float) -> None:
    for task in PROBLEMS:
        found, sized = task.solve(), task.moved(size, NO_TURN, NOWHERE).solve()
        if found.status == 0:
            assert sized.status == 0
            assert alike(sized.pose, found.pose) > 1 - 1e-6


@some_unusable
def test_where_the_world_is_and_how_it_is_turned_does_not_matter() -> None:
    turn, way = ref.unit(np.array([0.3, -0.5, 0.7, 0.2])), np.array([2.0, -1, 3])
    for task in PROBLEMS:
        if task.skeleton.limits[0] is None:
            found, elsewhere = task.solve(), task.moved(1, turn, way).solve()
            assert (elsewhere.status == 0) == (found.status == 0)


@some_unusable
def test_an_item_is_solved_as_if_it_were_alone() -> None:
    for task in PROBLEMS[:30]:
        rng, found = np.random.default_rng(1), task.solve()
        others = [any_pose(task.skeleton, rng, 0.5) for _ in range(4)]
        poses = [*others[:2], task.start, *others[2:]]
        rows = ik.Pose(*(np.stack([getattr(pose, name) for pose in poses]) for name in ("rotations", "translations")))
        together = replace(task, start=rows).solve()
        assert together.pose.rotations[2].tobytes() == found.pose.rotations.tobytes()
        assert together.status[2] == found.status
        assert together.goal_errors is not None
        assert found.goal_errors is not None
        assert together.goal_errors[2].tobytes() == found.goal_errors.tobytes()


@some_unusable
def test_only_the_ratio_of_weights_matters() -> None:
    for task in PROBLEMS:
        heavier = [
            replace(
                goal,
                weight=8 * numbers(goal.weight),
                **{"rotation_weight": 8.0} if hasattr(goal, "rotation_weight") else {},
            )
            for goal in task.goals
        ]
        found, same = task.solve(), replace(task, goals=heavier).solve()
        assert same.pose.rotations.tobytes() == found.pose.rotations.tobytes()
        assert same.status == found.status


NAN = [np.nan] * 3
NOTHING = {
    "place": lambda weight: ik.Reach(3, NAN, weight=weight, offset=[0.5, 0, 0]),
    "turn": lambda weight: ik.Reach(2, rotation=[np.nan] * 4, rotation_weight=weight),
    "look": lambda weight: ik.Look(3, [1, 0, 0], NAN, weight=weight),
    "distance": lambda weight: ik.Distance(3, np.nan, position=[0, 0, 0], weight=weight),
    "distance from nowhere": lambda weight: ik.Distance(3, 1, position=NAN, weight=weight),
    "relative": lambda weight: ik.Relative(3, 0, NAN, weight=weight),
    "relative turn": lambda weight: ik.Relative(3, 0, rotation=[np.nan] * 4, rotation_weight=weight),
    "centre of mass": lambda weight: ik.CentreOfMass(NAN, weight=weight),
    "inside": lambda weight: ik.Inside(3, NAN, [0, 1, 0], weight=weight),
    "inside no side": lambda weight: ik.Inside(3, [0, 0, 0], NAN, weight=weight),
    "inside by nothing": lambda weight: ik.Inside(3, [0, 0, 0], [0, 1, 0], distance=np.nan, weight=weight),
    "outside": lambda weight: ik.Outside(3, NAN, 1, weight=weight),
    "outside to nowhere": lambda weight: ik.Outside(3, [0, 0, 0], 1, end=NAN, weight=weight),
    "outside by nothing": lambda weight: ik.Outside(3, [0, 0, 0], np.nan, weight=weight),
    "posture": lambda weight: ik.Posture(1, [np.nan] * 4, weight=weight),
}


@everywhere
@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("weight", [0, -1])
def test_a_goal_of_no_weight_may_be_nan(nothing: Callable[[float], ik.Goal], weight: float, dtype: Any) -> None:
    start, reach = ik.Pose(HEAVY.rest.rotations.astype(dtype)), ik.Reach(3, [1, 1.5, 0.5])
    found = ik.dls(HEAVY, start, [reach, nothing(weight)], goal_errors=True)
    alone = ik.dls(HEAVY, start, [reach])
    assert found.status == 0
    assert alike(found.pose, alone.pose) > 1 - 1e-4


@everywhere
@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("level", [0, 1])
def test_what_is_not_a_number_makes_its_item_unusable_alone(
    nothing: Callable[[Any], ik.Goal], level: int, dtype: Any
) -> None:
    start, some = ik.Pose(HEAVY.rest.rotations.astype(dtype)), np.array([0, 0, 1, 0, 0, 0, 0])
    goals = [ik.Reach(3, [1, 1.5, 0.5]), nothing(some)]
    if hasattr(goals[1], "level"):
        goals[1] = replace(goals[1], level=level)  # type: ignore[type-var]
    with pytest.warns(ik.UnusableWarning):
        found = ik.dls(HEAVY, start, goals, goal_errors=True)
    alone = ik.dls(HEAVY, start, [goals[0], nothing(0)], goal_errors=True)
    assert_array_equal(found.status, np.where(some == 1, Status.NOT_FINITE, 0))
    assert_array_equal(found.pose.rotations[2], start.rotations)
    assert found.goal_errors is not None
    assert np.isnan(found.goal_errors[2]).all()
    for item in (0, 6):
        assert alike(found.pose[item], alone.pose) > 1 - 1e-6


@pytest.mark.parametrize("weight", [np.nan, np.inf])
@pytest.mark.parametrize("make", NOTHING.values(), ids=NOTHING)
def test_a_weight_that_is_not_finite_makes_its_item_unusable(make: Callable[[float], ik.Goal], weight: float) -> None:
    with pytest.warns(ik.UnusableWarning):
        found = ik.dls(HEAVY, HEAVY.rest, [ik.Reach(3, [1, 1.5, 0.5]), make(weight)])
    assert found.status == Status.NOT_FINITE


# --- every kind at its edges ------------------------------------------------------------------------------------------

WHERE = {
    "near": [2, 5, 0],
    "behind": [-9, 0, 0],
    "nearly behind": [-9, 1e-9, 0],
    "far": [1e30, 1e30, 0],
    "here": [2, 0, 0],
}


@everywhere
@pytest.mark.parametrize("where", WHERE.values(), ids=WHERE)
@pytest.mark.parametrize("chain", [0, 1, None])
def test_an_axis_looks_anywhere(where: Array, chain: int | None, dtype: Any) -> None:
    """One joint alone and several; exactly behind, and at the joint itself, where all directions are as good."""
    start = ik.Pose(ARM.rest.rotations.astype(dtype))
    found = ik.dls(ARM, start, [ik.Look(2, [1, 0, 0], where, chain=chain)])
    assert found.status == 0
    if where == WHERE["here"]:
        assert found.iterations == 0
        return
    world = world_of(ARM, found.pose)
    way = numbers(where) - world.positions[2]
    assert truth.arc(world.rotations[2] @ [1, 0, 0], way / np.abs(way).max()) == pytest.approx(NOWHERE, abs=2e-4)


@pytest.mark.parametrize("distance", [0, 1e-3, 1, 2.9])
@pytest.mark.parametrize("place", [None, [0, 1, 0], [2, 0.5, 1]])
def test_a_point_is_at_any_distance_from_any_place(distance: float, place: Array) -> None:
    """Also from where it is, where every direction is as good."""
    if place is None:
        place = world_of(ARM, BENT).positions[3]
    found = ik.dls(ARM, BENT, [ik.Distance(3, distance, position=place)])
    assert found.status == 0
    tip = world_of(ARM, found.pose).positions[3]
    assert np.linalg.norm(tip - place) == pytest.approx(distance, abs=3e-5)


FAR: dict[str, Callable[[float], ik.Goal]] = {
    "distance": lambda far: ik.Distance(3, far, position=[0, 5, 0]),
    "distance from far": lambda far: ik.Distance(3, 1.0, position=[0, far, 0]),
    "relative": lambda far: ik.Relative(3, 0, [0, far, 0]),
    "centre of mass": lambda far: ik.CentreOfMass([0, far, 0]),
    "inside": lambda far: ik.Inside(3, [0, far, 0], [0, 1, 0]),
    "outside": lambda far: ik.Outside(3, [0, 1, 0], far),
}


@pytest.mark.parametrize("goal", FAR.values(), ids=FAR)
@pytest.mark.parametrize("far", [1e9, 1e30, 1e100])
def test_what_is_far_away_is_missed_by_so_much(goal: Callable[[float], ik.Goal], far: float) -> None:
    """Tending there as far as the arm goes; and a wall that is far on the other side is no wall."""
    found = ik.dls(HEAVY, HEAVY.rest, [goal(far)])
    assert 0 < found.status < _core.UNUSABLE
    assert found.error == pytest.approx(far, rel=1e-6)
    assert ik.dls(HEAVY, HEAVY.rest, [ik.Inside(3, [0, -far, 0], [0, 1, 0])]).iterations == 0


@pytest.mark.parametrize(("height", "moves"), [(-0.5, False), (0, False), (0.5, True)])
def test_inside_moves_nothing_on_its_side_nor_on_its_plane(height: float, moves: bool) -> None:
    found = ik.dls(ARM, ARM.rest, [ik.Inside(3, [7, height, 7], [0, 2, 0])])
    assert found.status == 0
    assert (found.iterations > 0) == moves
    assert (found.pose.rotations.tobytes() != ARM.rest.rotations.tobytes()) == moves
    assert world_of(ARM, found.pose).positions[3, 1] == pytest.approx(max(height, 0), abs=3e-5)


def test_a_plane_whose_normal_has_no_length_makes_its_item_unusable() -> None:
    normals = np.array([[0, 1, 0], [0, 0, 0], [0, 1e-300, 0]])
    with pytest.warns(ik.UnusableWarning):
        found = ik.dls(ARM, ARM.rest, [ik.Inside(3, [0, 1, 0], normals)])
    assert_array_equal(found.status, [0, Status.NO_LENGTH, 0])
    assert ik.dls(ARM, ARM.rest, [ik.Reach(3, [1, 1, 1]), ik.Inside(3, [0, 1, 0], [0, 0, 0], weight=0)]).status == 0


def test_a_polygon_holds_what_a_reach_pulls_out_of_it() -> None:
    """As near as it gets: by weights on one level a little outside, with the polygon first at its edge."""
    square = [[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]]
    pull = ik.Reach(3, [2, 1, 0.5], level=1)
    for up in ([0, 1, 0], [0, -3, 0]):
        found = ik.dls(ARM, ARM.rest, [*ik.Inside.polygon(square, up, joint=3, distance=0.1), pull], goal_errors=True)
        assert found.status == Status.LEVEL
        assert_allclose(world_of(ARM, found.pose).positions[3], [0.9, 1, 0.5], atol=1e-3)
    side = replace(pull, level=0)
    found = ik.dls(ARM, ARM.rest, [*ik.Inside.polygon(square, [0, 1, 0], joint=3), side], goal_errors=True)
    assert found.status == Status.CONFLICT
    assert_allclose(world_of(ARM, found.pose).positions[3], [1.5, 1, 0.5], atol=1e-3)  # halfway


@pytest.mark.parametrize("gap", [0, 0.3])
def test_a_loop_closes(gap: float) -> None:
    """Two arms of one root meet, or hold something between them."""
    at: Array = [[0, 0, 0], [-0.3, 0, 0], [0, 1, 0], [0, 1, 0], [0.3, 0, 0], [0, 1, 0], [0, 1, 0]]
    arms = ik.Skeleton([-1, 0, 1, 2, 0, 4, 5], at)
    hold = ik.Relative(3, 6, position=[gap, 0, 0], rotation=QUARTER, other_chain=2)
    found = ik.dls(arms, arms.rest, [hold, ik.Reach(6, [0.2, 0.9, 0.4])], goal_errors=True)
    assert found.status == 0
    assert np.all(missed_by(arms, found.pose, [hold]) <= [5e-5, 1e-4])
    assert_array_equal(found.pose.rotations[0] != arms.rest.rotations[0], True)  # which the Reach may turn
    stays = ik.dls(arms, arms.rest, [hold])
    assert stays.status == 0
    assert_array_equal(stays.pose.rotations[0], arms.rest.rotations[0])
    one = ik.dls(arms, arms.rest, [replace(hold, other_chain=None)])  # then only one arm turns
    assert_array_equal(one.pose.rotations[4:], arms.rest.rotations[4:])


def test_no_mass_moves_nothing_and_centres_count() -> None:
    """A joint without mass stays although it is below; a mass beside a joint rotates with it."""
    rod = ik.Skeleton([-1, 0, 1, 2], ARM.offsets, masses=[0, 0, 1, 0], centres=[[0, 0, 0]] * 2 + [[0, 0.5, 0]] * 2)
    goal = ik.CentreOfMass([0.7, 1.2, 0.3])
    found = ik.dls(rod, rod.rest, [goal])
    assert found.status == 0
    assert_array_equal(found.pose.rotations[3], rod.rest.rotations[3])
    world = world_of(rod, found.pose)
    assert_allclose(world.positions[2] + world.rotations[2] @ [0, 0.5, 0], [0.7, 1.2, 0.3], atol=5e-5)
    below = ik.dls(rod, rod.rest, [replace(goal, position=[2, 0.4, 0.3], chain="2")])
    assert_array_equal(below.pose.rotations[:2], rod.rest.rotations[:2])


def test_a_posture_goes_as_far_as_the_others_leave_it() -> None:
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]])
    reach, bent = ik.Reach(4, [2, 1, 0]), ik.Posture(2, ik.rotations.from_axis_angle([0, 0, 1], -0.7))
    options: dict[str, Any] = {"tolerance": 0, "iterations": 60}  # postures last as long as iterations do
    without, found = (ik.dls(arm, arm.rest, goals, goal_errors=True, **options) for goals in ([reach], [reach, bent]))
    away = missed_by(arm, without.pose, [bent])[0, 1]
    assert found.error < 1e-9
    assert found.goal_errors is not None
    assert found.goal_errors[1, 1] < 0.5 * away


@pytest.mark.parametrize(("offset", "rotation"), [(None, None), ([0.2, 0, 0], None), (None, QUARTER)])
def test_what_is_relative_to_a_joint_that_stands_is_a_reach(offset: Any, rotation: Any) -> None:
    seen = ik.Relative(3, 0, [1, 1, 0.5], rotation, offset=offset, chain=2)
    free = ik.Reach(3, [1, 1, 0.5], rotation, offset=offset, chain=2)
    poses = [ik.dls(ARM, ARM.rest, [goal]) for goal in (seen, free)]
    assert poses[0].status == poses[1].status == 0
    assert alike(poses[0].pose, poses[1].pose) > 1 - 1e-4


def test_frames_follow_each_other_for_every_kind() -> None:
    lift = np.linspace(0, 1, 9)[:, np.newaxis] * [0, 1, 0]
    goals: list[Any] = [
        ik.CentreOfMass(np.add([1, 0, 0], lift)),
        ik.Look(3, [1, 0, 0], np.add([9, 0, 0], lift)),
        ik.Distance(3, 2, position=lift),
    ]
    found = ik.dls(HEAVY, HEAVY.rest, goals, sequence=True, goal_errors=True)
    assert not np.any(found.status)
    for frame in range(9):
        wanted = [replace(goal, position=np.asarray(goal.position)[frame]) for goal in goals]
        assert np.all(np.nan_to_num(missed_by(HEAVY, found.pose[frame], wanted)) <= 1e-4)


@some_unusable
def test_errors_under_uneven_scales_are_those_that_explain_tells() -> None:
    """Which knows `Skeleton.forward` and nothing of the core's judgement."""
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        skeleton = any_tree(rng, limited=False)
        met = goals_met_by(world_of(skeleton, any_pose(skeleton, rng, 0.5)), rng, 3)
        goals = [goal for goal in met if not isinstance(goal, ik.Look)]  # which takes no scales
        goals = [goal for goal in goals if can_move(skeleton, [goal])]
        if not goals:
            continue
        pose = ik.Pose(skeleton.rest.rotations, None, rng.uniform(0.7, 1.4, (len(skeleton), 3)))
        found = ik.dls(skeleton, pose, goals, goal_errors=True)
        if found.status >= _core.UNUSABLE:
            continue
        assert found.goal_errors is not None
        lines, world = found.explain().splitlines(), skeleton.forward(found.pose)
        for task in found._tasks:
            if task.kind != "PLACE" or task.relative:
                miss = miss_of(skeleton, found.pose, world, task)
                angle = int(task.kind in ("TURN", "LOOK"))
                assert miss == pytest.approx(found.goal_errors[task.goal, angle], abs=1e-9), (seed, task.kind)
                shown = np.degrees(miss) if angle else miss
                assert any(f"{shown:.3g}" in line for line in lines)
                told += 1
    assert told > 60


# --- levels -----------------------------------------------------------------------------------------------------------

UP: Array = [0, 1, 0]
with_levels = pytest.mark.parametrize(
    "method", [name for name, entry in ik.methods().items() if "level" in entry.takes]
)


def is_taken(method: str, goal: Any) -> bool:
    centre = isinstance(goal, ik.CentreOfMass) or (isinstance(goal, ik.Inside) and goal.joint is None)
    word = "CentreOfMass" if centre else type(goal).__name__
    return word in {"Reach", "Relative", *ik.methods()[method].takes}


@with_levels
@pytest.mark.parametrize(
    ("first", "then", "best"),
    [
        (ik.Distance(3, 2.0, position=[0, 0, 0]), ik.Reach(3, [0, 0, 5]), [0, 0, 2]),
        (ik.Inside(3, [0, 0.5, 0], [0, -1, 0]), ik.Reach(3, [1, 1.5, 0.2]), [1, 0.5, 0.2]),
        (ik.Reach(3, [1, 1, 0]), ik.Reach(3, [1, 2, 0], offset=[0, 1e-9, 0], weight=1e6), [1, 1, 0]),
        (ik.Relative(3, 0, [1, 1, 0]), ik.Distance(3, 0.5, position=[0, 3, 0]), [0, np.sqrt(2), 0]),
    ],
    ids=["on a sphere", "at a plane", "at a place", "seen"],
)
@pytest.mark.parametrize("numbers", [(0, 1), (3, 12)])
@everywhere
def test_the_second_level_gets_as_near_as_the_first_lets_it(
    first: Any, then: Any, best: Array, numbers: tuple[int, int], method: str
) -> None:
    goals = [replace(first, level=numbers[0]), replace(then, level=numbers[1])]
    found, other = (ik.solve(ARM, ARM.rest, order, method, iterations=3000) for order in (goals, goals[::-1]))
    assert found.status & Status.LEVEL
    assert found.status & ~(Status.LEVEL | Status.TOO_FAR) == 0
    assert_allclose(world_of(ARM, found.pose).positions[3], best, atol=2e-3)
    assert np.all(np.nan_to_num(missed_by(ARM, found.pose, [first])) <= 3e-5)
    assert_allclose(world_of(ARM, other.pose).positions[3], best, atol=2e-3)


@with_levels
def test_three_levels_come_one_after_another(method: str) -> None:
    """A wall, a sphere about the root, and a place beyond both."""
    goals: list[ik.Goal] = [
        ik.Reach(3, [9, 9, 0], level=2),
        ik.Inside(3, [0, 1, 0], [0, -1, 0], level=0),
        ik.Distance(3, 2.0, position=[0, 0, 0], level=1),
    ]
    found = ik.solve(ARM, ARM.rest, goals, method, iterations=2000)
    assert Status.LEVEL in Status(int(found.status))
    assert_allclose(world_of(ARM, found.pose).positions[3], [np.sqrt(3), 1, 0], atol=0.02)


@pytest.mark.thorough
@with_levels
@some_unusable
def test_the_first_level_is_met_whatever_the_others_want(method: str) -> None:
    """Error of the first level when solved alone."""
    met = 0
    for seed, whole in enumerate(PROBLEMS):
        task = whole.taken_by(method)
        if not task.goals or task.solve(method).status:
            continue
        world = world_of(task.skeleton, task.start)
        others = goals_met_by(world, np.random.default_rng(seed), 3)  # to stay where it is
        later: list[Any] = [
            goal for goal in others if not isinstance(goal, ik.Reach) and can_move(task.skeleton, [goal])
        ]
        later = [replace(goal, level=1 + k % 2, weight=1e3) for k, goal in enumerate(later)]
        found = replace(task, goals=[*later, *task.goals]).taken_by(method).solve(method, iterations=3000)
        span = np.linalg.norm(task.skeleton.offsets, axis=-1).sum() + 1.5
        off = np.nan_to_num(missed_by(task.skeleton, found.pose, task.goals))
        assert np.all(off <= [1e-5 * span, 1.001e-4]), seed
        met += 1
    assert met >= 45


@with_levels
@some_unusable
def test_gaps_between_levels_change_nothing(method: str) -> None:
    for task in (problem.taken_by(method) for problem in PROBLEMS[:30]):
        if not task.goals:
            continue
        close, apart = (
            replace(task, goals=[replace(goal, level=by * k) for k, goal in enumerate(task.goals)]).solve(method)
            for by in (1, 7)
        )
        assert close.pose.rotations.tobytes() == apart.pose.rotations.tobytes()
        assert close.status == apart.status


def test_levels_are_those_of_the_reference() -> None:
    """Baerlocher and Boulic, slow and obvious: on three levels, of which each contradicts the next."""
    arm = ik.Skeleton([-1, 0, 1], np.array([[0, 0, 0], [1, 0, 0], [0.8, 0, 0]]), masses=[1, 2, 1])
    start = ik.Pose(np.stack([ik.rotations.from_axis_angle([0, 0, 1], angle) for angle in (0.4, -0.8, 0.3)]))
    levels: list[list[Any]] = [
        [ik.Inside(2, [0, 0.3, 0], [0, -1, 0.2])],
        [ik.CentreOfMass([0.3, 0.6, 0.3])],
        [ik.Reach(2, [1, 1, 1])],
    ]
    goals = [replace(goal, level=level) for level, some in enumerate(levels) for goal in some]
    found = ik.dls(arm, start, goals, iterations=3000)
    asked = [[part for goal in some for part in residuals_of(arm, goal) if part] for some in levels]
    of = truth.Problem(body_of(arm))
    best = truth.solve(of, world_of(arm, start).pose, asked)
    for some in asked:
        assert of.square(world_of(arm, found.pose).pose, some) == pytest.approx(of.square(best, some), abs=2e-3)


# --- what a status says -----------------------------------------------------------------------------------------------

TWO = ik.Skeleton([-1, 0, 1, 0, 3], [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, -1, 0], [0, -1, 0]])
HINGED = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits=[ik.Limit.hinge([0, 0, 1], -3, 3), None])
STANDING = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], masses=[0, 1])
APART = [ik.Reach(3, [1.5, 1, 0], offset=[0, 0.1, 0]), ik.Reach(3, [1.5, -1, 0], offset=[0, -0.1, 0])]


@pytest.mark.parametrize(
    ("skeleton", "goals", "said"),
    [
        (ARM, APART, Status.CONFLICT),
        (ARM, [ik.Look(3, [1, 0, 0], [5, 9, 0]), ik.Look(3, [1, 0, 0], [5, -9, 0])], Status.CONFLICT),
        (ARM, [ik.Distance(3, 1, position=NOWHERE), ik.Distance(3, 2, position=NOWHERE)], Status.CONFLICT),
        (ARM, [ik.Inside(3, [0, 1, 0], [0, 1, 0]), ik.Inside(3, [0, 0, 0], [0, -1, 0])], Status.CONFLICT),
        (ARM, [ik.Inside(3, [1, 0, 0], [1, 0, 0]), *APART], Status.CONFLICT),
        (
            ARM,
            [replace(APART[0], level=1), replace(APART[1], level=1), ik.Inside(3, [0, 0, 2], [0, 0, -1])],
            Status.CONFLICT,
        ),
        (ARM, [APART[0], replace(APART[1], level=2)], Status.LEVEL),
        (
            ARM,
            [ik.Reach(3, [2, 1, 0]), ik.Reach(3, rotation=QUARTER), ik.Distance(3, 0, position=[1, 1, 0], level=1)],
            Status.LEVEL,
        ),
        (ARM, [ik.Reach(3, [2, 1, 0]), ik.Reach(3, rotation=QUARTER, level=1)], 0),
        (ARM, [ik.Reach(3, [4, 0, 0])], Status.TOO_FAR),
        (HINGED, [ik.Reach(1, [0, 1, 0]), ik.Distance(1, 0.5, position=[1, 1, 0], level=1)], Status.LEVEL),
        (HINGED, [ik.Distance(1, 0, position=[0.6, y, 0]) for y in (0.8, -0.8)], Status.CONFLICT),
        (STANDING, Status.OFF_BALANCE, Status.OFF_BALANCE),
    ],
)
@everywhere
def test_a_status_says_what_is_so_and_nothing_else(skeleton: ik.Skeleton, goals: Any, said: int) -> None:
    if goals is Status.OFF_BALANCE:
        goals = [ik.Inside(None, [2, 0, 0], [1, 0, 0])]
    found = ik.dls(skeleton, skeleton.rest, goals, iterations=3000)
    extra = Status(int(found.status)) & ~Status.STALLED if said == Status.OFF_BALANCE else found.status
    assert Status(int(extra)) == said
    assert found.explain().splitlines()


# Bones of 3 and 0.5 up to joint 2, of 1 and 1 aside to joint 4.
BONES = ik.Skeleton([-1, 0, 1, 0, 3], np.array([[0, 0, 0], [0, 3, 0], [0, 0.5, 0], [1, 0, 0], [0, 1, 0]]))


@pytest.mark.parametrize(
    ("options", "nearest", "farthest", "under"),
    [
        ({"position": [0, 0, 0]}, 2.5, 3.5, Status.TOO_NEAR),
        ({"position": [10, 0, 0]}, 6.5, 13.5, Status.TOO_FAR),
        ({"other": 4}, 5**0.5 - 0.5, 5**0.5 + 0.5, Status.TOO_FAR),  # it turns at [0, 3, 0], the other is at [1, 1, 0]
        ({"other": 4, "other_chain": "3"}, 10**0.5 - 1.5, 10**0.5 + 1.5, Status.TOO_FAR),  # which turns at [1, 0, 0]
        ({"other": 4, "other_chain": "0", "chain": "0"}, 10**0.5 - 1.5, 10**0.5 + 1.5, Status.TOO_FAR),
        ({"other": 0, "chain": "0"}, 2.5, 3.5, Status.TOO_FAR),
    ],
)
@everywhere
def test_what_bones_alone_forbid_is_too_far_or_too_near(
    options: Any, nearest: float, farthest: float, under: Status
) -> None:
    """A hundredth within it is reached, a hundredth beyond it is not, for no other reason."""
    starts = np.tile(BONES.rest.rotations, (20, 1, 1))
    starts[:, 1] = ik.rotations.exp(np.random.default_rng(2).normal(size=(20, 3)))
    distances = np.array([nearest - 0.01, nearest + 0.01, farthest - 0.01, farthest + 0.01])[:, np.newaxis]
    forbidden = np.array([under, 0, 0, Status.TOO_FAR])[:, np.newaxis]
    status = ik.dls(BONES, ik.Pose(starts), [ik.Distance(2, distances, **options)]).status
    assert_array_equal(status, np.broadcast_to(forbidden, status.shape))
    if "other" in options:
        at = distances[..., np.newaxis] * np.array([0, 1, 0])
        status = ik.dls(BONES, ik.Pose(starts), [ik.Relative(2, position=at, **options)]).status
        assert_array_equal(status[[0, 3]], np.broadcast_to(forbidden[[0, 3]], status[[0, 3]].shape))
        assert np.all(status[1:3] & (Status.TOO_FAR | Status.TOO_NEAR) == 0)


def test_of_bones_that_change_lengths_say_nothing() -> None:
    far = [ik.Distance(2, 9.0, position=[0, 0, 0])]
    scaled = ik.Pose(BONES.rest.rotations, None, np.full((5, 3), 0.9))
    rail = ik.Limit.free(position=[[-1, 0, 0], [1, 0, 0]])
    sliding = ik.Skeleton(BONES.parents, BONES.offsets, limits={0: rail})
    for skeleton, pose in ((BONES, scaled), (sliding, sliding.rest)):
        status = ik.dls(skeleton, pose, far).status
        assert status != 0
        assert status & (Status.TOO_FAR | Status.TOO_NEAR) == 0


def test_what_no_joint_can_change_is_no_conflict() -> None:
    """Two goals, of which nothing that turns moves one."""
    stuck = ik.Relative(2, 1, [5, 0, 0])  # whatever turns, 2 hangs from 1 by its offset
    found = ik.dls(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0]), stuck], goal_errors=True)
    assert Status.CONFLICT not in Status(int(found.status))
    assert found.goal_errors is not None
    assert found.goal_errors[0, 0] < 1e-4


def test_the_centre_of_mass_counts_what_does_not_move() -> None:
    """Above the chain, and on another root."""
    rod = ik.Skeleton(
        [-1, 0, 1, 2, -1], np.array([[0, 0, 0], [0.5, 0, 0], [1, 0, 0], [1, 0, 0], [3, 1, 0]]), masses=[5, 0, 1, 1, 2]
    )
    found = ik.dls(rod, rod.rest, [ik.CentreOfMass([0.85, 0.4, 0.1], chain="1")])
    assert found.status == 0
    at = rod.forward(found.pose).positions
    assert_allclose(rod.masses @ at / rod.masses.sum(), [0.85, 0.4, 0.1], atol=1e-4)


def test_a_weightless_goal_of_nan_changes_no_status() -> None:
    at_odds = [ik.Reach(3, [1, 1, 1]), ik.Reach(2, [1, -1, 0.5])]
    for nothing in (ik.Look(2, [1, 0, 0], [np.nan] * 3, weight=0), ik.Inside(3, NEAR, [np.nan] * 3, weight=0)):
        assert ik.dls(ARM, ARM.rest, [*at_odds, nothing]).status == Status.CONFLICT


def test_beside_a_plane_without_sides_no_error_is_told_of_a_pose_that_is_not_returned() -> None:
    with pytest.warns(ik.UnusableWarning):
        found = ik.dls(ARM, ARM.rest, [ik.Reach(3, NEAR), ik.Inside(3, NEAR, [0, 0, 0])], goal_errors=True)
    assert found.status == Status.NO_LENGTH
    assert found.goal_errors is not None
    assert np.isnan(found.error)
    assert np.isnan(found.goal_errors).all()


@pytest.mark.parametrize("length", [1e-25, 1e20])
def test_an_axis_may_be_of_any_length(length: float) -> None:
    pose = ik.Pose(ARM.rest.rotations.astype(np.float32))
    assert ik.dls(ARM, pose, [ik.Look(2, [length, 0, 0], [0, 9, 1])]).status == 0


def test_a_posture_moves_nothing_that_slides() -> None:
    rig = ik.Skeleton(ARM.parents, ARM.offsets, limits={0: ik.Limit.free(position=[[-1] * 3, [1] * 3])})
    found = ik.dls(rig, rig.rest, [ik.Reach(3, [1.2, 1, 0], chain="1"), ik.Posture(0)])
    assert found.status == 0
    assert found.pose.translations is None


# --- nothing is ignored in silence ------------------------------------------------------------------------------------

NEAR: Array = [1.0, 1.2, 0.3]
SHARE = ik.Reach(3, NEAR, chain=2)
# A goal for every word of `takes`, with what it needs of the skeleton.
SLIDING, STIFF = ik.Limit.free(position=[[-1, -1, -1], [1, 1, 1]]), ik.Limit.free(stiffness=0.9)
WORDS: dict[str, tuple[list[ik.Goal], ik.Skeleton]] = {
    "Reach position": ([SHARE], HEAVY),
    "Reach rotation": ([ik.Reach(3, rotation=QUARTER, chain=2)], HEAVY),
    "Look": ([ik.Look(3, [1, 0, 0], [0, 9, 0], chain=2)], HEAVY),
    "Distance": ([ik.Distance(3, 1, position=[1, 0, 0], chain=2)], HEAVY),
    "CentreOfMass": ([ik.CentreOfMass([1, 0.5, 0])], HEAVY),
    "Inside": ([ik.Inside(3, [0, 1, 0], UP, chain=2)], HEAVY),
    "Outside": ([ik.Outside(3, [2.5, 0.1, 0], 0.3, chain=2)], HEAVY),
    "Posture": ([SHARE, ik.Posture(1, QUARTER)], HEAVY),
    "goal relative to a joint": ([ik.Relative(3, 0, NEAR, chain=2)], HEAVY),
    "level": ([SHARE, replace(SHARE, joint=1, chain=0, position=[0, 1, 0], offset=[1, 0, 0], level=1)], HEAVY),
    "pole": ([replace(SHARE, pole=[0, 0, 9])], HEAVY),
    "sliding joint": ([SHARE], ik.Skeleton(ARM.parents, ARM.offsets, limits={1: SLIDING})),
    "stiffness": ([SHARE], ik.Skeleton(ARM.parents, ARM.offsets, limits={1: STIFF})),
    "limit": ([SHARE], ik.Skeleton(ARM.parents, ARM.offsets, limits={1: ik.Limit.hinge([0, 0, 1], -1, 1)})),
    "second end": ([ik.Reach(6, [-2, 4, 1], chain=2), ik.Reach(9, [2, 4, 1], chain=2)], Y),
    "cap": ([SHARE], ik.Skeleton(ARM.parents, ARM.offsets, caps=[9, 0.5, 9, 9])),
    "compliance": ([SHARE], ik.Skeleton(ARM.parents, ARM.offsets, compliances=[0, 0.5, 0, 0])),
}
METHODS = sorted(ik.methods())
ITERATIVE = [name for name, *_ in _core.METHODS]


def fitted(method: str, word: str, goals: list[Any]) -> list[Any]:
    """As the method wants them: two_bone no rotation alone, aim of one joint where it should look."""
    if (method, word) == ("two_bone", "Reach rotation"):
        return [replace(goals[0], position=NEAR)]
    if method != "aim" or word in ("Reach position", "Reach rotation"):
        return goals
    joint = {"second end": 9, "sliding joint": 1, "stiffness": 1, "limit": 1, "cap": 1, "compliance": 1}.get(word, 3)

    def look(goal: ik.Goal) -> ik.Goal:
        if isinstance(goal, ik.Look):
            return replace(goal, chain=0)
        if not isinstance(goal, ik.Reach):
            return goal
        up = None if goal.pole is None else UP
        at = min(int(goal.joint), joint)
        return ik.Look(at, [1, 0, 0], goal.position, chain=0, pole=goal.pole, up=up, level=goal.level)

    return list(map(look, goals))


def test_every_word_has_its_goal() -> None:
    assert list(WORDS) == list(TAKEN.values())
    assert set(TAKEN) == {word for word, _ in _core.TAKES}
    assert ik.methods()["dls"].takes == set(WORDS) - {"cap", "compliance"}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_does_what_it_takes_and_refuses_the_rest(method: str, word: str) -> None:
    """The error names the goal or the joint and the methods to use; `solver` raises it at once."""
    goals, skeleton = WORDS[word]
    goals = fitted(method, word, goals)
    if word in ik.methods()[method].takes:
        found = ik.solve(skeleton, skeleton.rest, goals, method)
        moved = found.pose.rotations.tobytes() != skeleton.rest.rotations.tobytes()
        assert moved or found.pose.translations is not None
        return
    takers = [name for name, entry in ik.methods().items() if word in entry.takes]
    where = r"(goals\[\d\](\.\w+)?: |(limits|caps|compliances): '1' .*and )"
    advice = f".*use {' or '.join(takers)}" if takers else "give it none"
    sentence = rf"^{where}{method} takes no {word}; {advice}$"
    for call in (
        lambda: ik.solve(skeleton, skeleton.rest, goals, method),
        lambda: ik.Solver(skeleton, goals, method),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("method", ITERATIVE)
def test_the_core_refuses_it_as_well(method: str, word: str) -> None:
    goals, skeleton = WORDS[word]
    if word in ik.methods()[method].takes:
        return
    tasks = validate.tasks_of(skeleton, goals, np.dtype(float))
    found = batch.CoreOutput.empty((), skeleton.rest.rotations, moves=True)
    with pytest.raises(ValueError, match=r"the method does not take( goals of this kind)?$"):
        _core.solve(
            method,
            skeleton._data,
            tuple(task.for_core() for task in tasks),
            skeleton.rest.rotations,
            None,
            None,
            tuple([None] * len(_core.OPTIONS)),
            found,
        )


# Every kind of goal with all its options, and another value for each.
FULL: dict[str, tuple[Any, dict[str, Any]]] = {
    "reach": (
        ik.Reach(3, [1, 1.5, 0.5], QUARTER, offset=[0.1, 0, 0]),
        {
            "position": [1, 1.2, 0],
            "rotation": NO_TURN,
            "weight": 0,
            "rotation_weight": 0,
            "chain": 1,
            "offset": [0, 0.3, 0],
            "pole": [0, 0, 9],
        },
    ),
    "look": (
        ik.Look(3, [1, 0, 0], other=0, other_chain=0, chain=2),
        {"axis": [0, 1, 0], "other": 1, "weight": 0, "chain": 0, "offset": [0, 1, 0], "other_offset": [0, 0, 2]},
    ),
    "look at a place": (ik.Look(3, [1, 0, 0], [1, 9, 0]), {"position": [1, 2, 0], "chain": 1, "offset": [0, 1, 0]}),
    "distance": (
        ik.Distance(3, 1, other=1, chain=2),
        {"distance": 1.5, "other": 0, "weight": 0, "offset": [0, 1, 0], "other_offset": [0, 0, 2]},
    ),
    "distance from a place": (ik.Distance(3, 1, position=[0, 1, 0]), {"position": [1, 1, 0], "chain": 1}),
    "relative": (
        ik.Relative(3, 0, [1, 1, 0], QUARTER, chain=1),
        {
            "other": 1,
            "position": [1, 0.5, 0],
            "rotation": NO_TURN,
            "weight": 0,
            "rotation_weight": 0,
            "chain": 2,
            "offset": [0, 0.3, 0],
        },
    ),
    "centre of mass": (ik.CentreOfMass([1, 0.5, 0]), {"position": [1, 0, 0.5], "weight": 0, "chain": "1"}),
    "inside": (
        ik.Inside(3, [0, 2, 0], [0, 1, 0]),
        {
            "joint": None,
            "position": [0, 1.5, 0],
            "normal": [-1, 2, 0],
            "distance": 0.3,
            "weight": 0,
            "chain": 1,
            "offset": [0, 0.5, 0],
        },
    ),
    "outside": (
        ik.Outside(3, [1.6, -0.2, 0.1], 1.2, end=[1.6, -0.2, -0.3]),
        {
            "joint": 2,
            "position": [1.6, 0, 0.2],
            "distance": 1.4,
            "end": [1.6, 0.3, 0.4],
            "weight": 0,
            "chain": 1,
            "offset": [0, 0.3, 0],
        },
    ),
    "posture": (ik.Posture(1, QUARTER), {"joint": 2, "rotation": NO_TURN, "weight": 0.1}),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (_, others) in FULL.items() for name in others])
def test_every_field_of_a_goal_counts(kind: str, name: str) -> None:
    goal, others = FULL[kind]
    beside = [ik.Reach(3, [1.4, 1, 0.4])] if kind == "posture" else []

    def solved(goal: Any) -> ik.Pose:
        return ik.dls(HEAVY, BENT, [*beside, goal], iterations=50).pose

    assert solved(goal).rotations.tobytes() != solved(replace(goal, **{name: others[name]})).rotations.tobytes()


@pytest.mark.parametrize("kind", [kind for kind, (goal, _) in FULL.items() if hasattr(goal, "level")])
def test_the_level_of_a_goal_counts(kind: str) -> None:
    goal = FULL[kind][0]
    beside = ik.Reach(3, [1.4, -1, 0.4], offset=[0, 0, 0.2])
    poses = [ik.dls(HEAVY, BENT, [beside, replace(goal, level=level)]).pose.rotations.tobytes() for level in (0, 1)]
    assert poses[0] != poses[1]


# --- functions of arrays ----------------------------------------------------------------------------------------------

OPEN: dict[str, ik.Goal] = {
    "reach": ik.Reach(3, ..., ..., weight=..., rotation_weight=..., offset=[0.1, 0, 0]),
    "look": ik.Look(3, [1, 0, 0], ..., weight=...),
    "distance": ik.Distance(3, ..., position=..., weight=...),
    "relative": ik.Relative(3, 0, ..., ..., weight=..., rotation_weight=...),
    "centre of mass": ik.CentreOfMass(..., weight=...),
    "inside": ik.Inside(3, ..., ..., distance=..., weight=...),
    "outside": ik.Outside(3, ..., ..., end=..., weight=...),
    "posture": ik.Posture(1, ..., weight=...),
}
ORDER = ("position", "rotation", "normal", "end", "distance", "weight", "rotation_weight", "pole")
VALUES: dict[str, Any] = {
    "position": [0.8, 1.1, 0.3],
    "rotation": QUARTER,
    "normal": [0, 1, 0],
    "end": [0.8, 1.1, 0.9],
    "distance": 0.5,
    "weight": 0.7,
    "rotation_weight": 0.4,
}
DIMENSIONS = {"position": "(p)", "rotation": "(q)", "normal": "(p)", "end": "(p)"}


@pytest.mark.parametrize("kind", OPEN)
@pytest.mark.parametrize("items", [(), (3,)])
def test_a_solver_takes_every_array_of_every_kind(kind: str, items: tuple[int, ...]) -> None:
    """In the order that its signature says, for one item and for several; and it pickles."""
    goal: Any = OPEN[kind]
    names = [name for name in ORDER if getattr(goal, name, None) is ...]
    made = ik.Solver(HEAVY, [ik.Reach(3, [1, 1, 1], offset=[0, 0, 0.2]), goal], "dls", iterations=20)
    dimensions = ",".join(["(j,q)", *(DIMENSIONS.get(name, "()") for name in names)])
    assert made.signature == f"{dimensions}->(j,q),(),()"
    arrays = [np.broadcast_to(np.asarray(VALUES[name], float), (*items, *np.shape(VALUES[name]))) for name in names]
    whole = replace(goal, **dict(zip(names, arrays, strict=True)))
    expected = ik.dls(HEAVY, HEAVY.rest, [made.goals[0], whole], iterations=20)
    for call in (made, pickle.loads(pickle.dumps(made))):
        rotations, error, status = call(HEAVY.rest.rotations, *arrays)
        assert rotations.tobytes() == expected.pose.rotations.tobytes()
        assert_array_equal(error, expected.error)
        assert_array_equal(status, expected.status)
    with pytest.raises(TypeError, match=f"expected {len(names)} arrays"):
        made(HEAVY.rest.rotations, *arrays, np.zeros(3))


def test_every_row_of_a_task_can_be_an_ellipsis() -> None:
    assert {*ORDER} - {"rotation_weight"} == {*TASK_ROWS}


@pytest.mark.parametrize("goal", [*OPEN.values()], ids=OPEN)
def test_goals_pickle(goal: Any) -> None:
    copy = pickle.loads(pickle.dumps(goal))
    assert type(copy) is type(goal)
    assert all(getattr(copy, name) == getattr(goal, name) for name in ("joint", "weight") if hasattr(goal, name))


def test_an_ellipsis_is_for_solvers_only() -> None:
    for kind, goal in OPEN.items():
        if kind != "posture":
            with pytest.raises(
                TypeError, match=r"goals\[0\]\.\w+: an ellipsis stands for an array in the goals of ikcore.Solver"
            ):
                ik.dls(HEAVY, HEAVY.rest, [goal])


NONE: Any = None  # where it may not be


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ik.Look(3, [1, 0, 0]), r"Look\(3\): expected other, a joint, or position, a place: one of them"),
        (lambda: ik.Look(3, [1, 0, 0], NEAR, other=1), r"Look\(3\): expected other, a joint, or position"),
        (lambda: ik.Distance(3, 1), r"Distance\(3\): expected other, a joint, or position"),
        (
            lambda: ik.Distance(3, 1, position=NEAR, other_chain=1),
            "other_offset and other_chain belong to another joint",
        ),
        (lambda: ik.Look(3, [1, 0, 0], NEAR, other_offset=[1, 0, 0]), "other_offset and other_chain belong to another"),
        (lambda: ik.Relative(3, 0), r"Relative\(3\): expected a position, a rotation or both, got neither"),
        (lambda: ik.Relative(3, 0, rotation=QUARTER, offset=NEAR), r"Relative\(3\).offset: it belongs to a position"),
        (lambda: ik.Relative(3, NONE, NEAR), r"Relative\(3\).other: expected the name or index of a joint, got None"),
        (lambda: ik.Look(3, [1, 0, 0], other=1.5), r"Look\(3\).other: expected the name or index of a joint, got 1.5"),  # type: ignore[arg-type]
        (lambda: ik.Look(3, [1, 0, 0], NEAR, up=UP), r"Look\(3\): expected up, .* and pole, both or neither"),
        (lambda: ik.Look(3, [1, 0, 0], NEAR, pole=UP), r"Look\(3\): expected up, .* and pole, both or neither"),
        (lambda: ik.Look(3, [1, 0, 0], other=1, other_chain=0.5), r"Look\(3\).other_chain: expected a joint's name"),  # type: ignore[arg-type]
        (lambda: ik.Inside(None, NEAR, NEAR, offset=NEAR), r"Inside\(None\).offset: it is of a joint"),
        (lambda: ik.Inside(None, NEAR, NEAR, chain=1), r"Inside\(None\).chain: expected the name of a joint, got 1; a"),
        (lambda: ik.CentreOfMass(NEAR, chain=1), r"CentreOfMass.chain: expected the name of a joint, got 1; a number"),  # type: ignore[arg-type]
        (lambda: ik.Inside.polygon("square", UP), "corners: expected real numbers, got 'square'"),
        (lambda: ik.Inside.polygon([[0, 0, 0], [1, 0, 0], [0, 0, 1]], "up"), "up: expected real numbers, got 'up'"),
        (lambda: ik.Inside.polygon([[0, 0, 0], [1, 0, 0]], UP), "corners: expected three or more points"),
        (
            lambda: ik.Inside.polygon(np.array([[0, 0, 0], [1, 0, 0], [0.1, 0, 0.1], [0, 0, 1]]), UP),
            "corners: expected a convex polygon, seen from above",
        ),
        (lambda: ik.Inside.polygon([[0, 0, 0], [0, 1, 0], [0, 2, 0]], UP), "corners: expected a convex polygon"),
        (lambda: ik.Inside.polygon([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [0, 0, 0]), "up: expected a direction"),
        (lambda: ik.CentreOfMass(NEAR, level=-1), "CentreOfMass.level: expected 0 to 1000000"),
        (lambda: ik.Posture(1.5), r"Posture\(1.5\).joint: expected the name or index of a joint, got 1.5"),  # type: ignore[arg-type]
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(make: Callable[[], ik.Goal], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ([ik.Look(3, [0, 0, 0], NEAR)], r"goals\[0\].axis: expected an axis, three numbers not all 0, got \[0, 0, 0\]"),
        (
            [ik.Look(3, [1, 0, 0], NEAR, up=[0, 0, 0], pole=UP)],
            r"goals\[0\].up: expected an axis, three numbers not all",
        ),
        ([ik.Look(3, NONE, NEAR)], r"goals\[0\].axis: expected an axis, three numbers not all 0, got None"),
        ([SHARE, ik.Look(9, [1, 0, 0], NEAR)], r"goals\[1\].joint: expected a joint, 0 to 3, got 9"),
        ([ik.Look(3, [1, 0, 0], other="head")], r"goals\[0\].other: no joint is called 'head'"),
        (
            [ik.Look(3, [1, 0, 0], other=2, other_chain="3")],
            r"goals\[0\].other_chain: expected '2' or a joint above it",
        ),
        ([ik.Distance(3, -1, position=NEAR)], r"goals\[0\].distance: expected 0 or more, got -1"),
        (ik.Inside.polygon([[0, 0, 0], [1, 0, 0], [0, 0, 1]], UP, joint=99), r"goals\[0\].joint: .*, 0 to 3, got 99"),
        ([ik.Distance(3, [1, np.nan, -2, -1], position=NEAR)], r"goals\[0\].distance: expected 0 or more, got -2"),
        ([ik.Distance(3, NONE, position=NEAR)], r"goals\[0\].distance: expected real numbers, got None"),
        ([ik.Distance(3, "far", position=NEAR)], r"goals\[0\].distance: expected real numbers, got 'far'"),
        ([SHARE, ik.Inside(3, NEAR, NONE)], r"goals\[1\].normal: expected real numbers, got None"),
        ([SHARE, ik.Inside(3, NONE, NEAR)], r"goals\[1\].position: expected real numbers, got None"),
        ([SHARE, ik.Inside(3, NEAR, UP, weight="1")], r"goals\[1\].weight: expected real numbers, got '1'"),
        ([SHARE, ik.Posture(7)], r"goals\[1\].joint: expected a joint, 0 to 3, got 7"),
        ([SHARE, ik.Posture(1, [1, 0, 0])], r"goals\[1\].rotation: expected an array of shape \(..., 4\)"),
        (
            [SHARE, ik.Relative(3, 0, NEAR, chain=8)],
            r"goals\[1\].chain: expected 0 to 3, as '3' has 3 joints above it, got 8",
        ),
        (
            [SHARE, ik.Inside.polygon([[0, 0, 0], [1, 0, 0], [0, 0, 1]], UP)],
            r"goals\[1\]: expected a Reach or another goal, got a list of them; put a \* before it",
        ),
        ([[NEAR]], r"goals\[0\]: expected a Reach or another goal, got list"),
        ([ik.Reach], r"goals\[0\]: expected a Reach or another goal, got <class"),
        (
            [ik.Look(3, [1, 0, 0], NEAR, up=UP, pole=NEAR)],
            r"goals\[0\].pole: dls takes none but of a Reach; use aim for",
        ),
        (
            [ik.CentreOfMass(NEAR)],
            r"goals\[0\]: no joint weighs anything, so there is no centre of mass: Skeleton\(masses=\)",
        ),
        ([SHARE, ik.Inside(None, NEAR, UP)], r"goals\[1\]: no joint weighs anything"),
        ([ik.Relative(3, 3, NEAR)], r"goals\[0\].other: expected another joint than '3', which is seen from it"),
        ([ik.Distance(3, 1, other=2, other_chain=9)], r"goals\[0\].other_chain: expected 0 to 2"),
        ([ik.Posture(1, QUARTER)], "goals: nothing but postures, which say how joints turn that other goals turn"),
        ([SHARE, ik.Posture(1), ik.Posture(1)], r"goals\[1\] and goals\[2\] are for the posture of '1': leave one out"),
        ([SHARE, SHARE], r"goals\[0\] and goals\[1\] are for the same point of '3': give one another offset"),
        (
            [SHARE, replace(SHARE, level=1)],
            r"goals\[0\] and goals\[1\] are for the same point of '3': the lower level would leave nothing of it to the"
            " other; leave one out",
        ),
        ([ik.Look(3, [1, 0, 0], [NEAR, [1, 2]])], r"goals\[0\].position: .* got rows of different lengths"),
        (
            [ik.Distance(3, [1.0, 2.0], position=np.zeros((3, 3)))],
            r"leading axes do not broadcast: goals\[0\].position",
        ),
    ],
)
def test_goals_that_do_not_fit_are_refused(goals: list[ik.Goal], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        ik.dls(ARM, ARM.rest, goals)


def test_what_cannot_be_is_refused_by_a_solver_when_it_is_made() -> None:
    with pytest.raises(ValueError, match=r"goals\[0\].pole: dls takes none but of a Reach"):
        ik.Solver(ARM, [ik.Look(3, [1, 0, 0], ..., pole=..., up=UP)], "dls")
    with pytest.raises(TypeError, match=r"goals\[0\].position: expected real numbers, got None"):
        ik.Solver(HEAVY, [ik.CentreOfMass(NONE)], "dls")
    with pytest.raises(ValueError, match="nothing but postures"):
        ik.Solver(ARM, [ik.Posture(1, ...)], "dls")


@pytest.mark.parametrize(
    "goal",
    [
        ik.Distance(1, 1, other=2),  # of one bone
        ik.Distance(3, 1, other=2, chain=0),
        ik.Relative(0, 3, NEAR),  # above the other, whose joints turn only if other_chain says so
        ik.Look(0, [1, 0, 0], other=3),
        ik.Distance(2, 1, other=1, chain=0, other_chain=1),  # the common ancestors, but not the ends
    ],
    ids=["bone", "nothing", "above", "look", "ends"],
)
def test_what_nothing_moves_between_two_joints_is_refused(goal: Any) -> None:
    said = (
        r"goals\[0\]: nothing that may turn or slide is between '\d' and '\d': start chain higher up, or give other_ch"
    )
    with pytest.raises(ValueError, match=said):
        ik.dls(ARM, ARM.rest, [goal])
    with pytest.raises(ValueError, match=said):
        ik.Solver(ARM, [goal], "dls")


def test_what_another_goal_moves_between_two_joints_is_not() -> None:
    still = ik.Relative(1, 3, [-1.2, 0.9, 0])
    found = ik.dls(ARM, ARM.rest, [still, ik.Reach(3, [1, 1, 0.5], chain=2)], goal_errors=True)
    assert found.goal_errors is not None
    assert found.goal_errors[0, 0] < 1


def test_a_look_or_a_slide_and_scales_are_refused() -> None:
    scaled = ik.Pose(ARM.rest.rotations, None, np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"goals\[1\]: dls takes no Look where the pose has scales; leave those out"):
        ik.dls(ARM, scaled, [SHARE, ik.Look(2, [1, 0, 0], UP)])


LOCKED, HINGE = ik.Limit.locked(), ik.Limit.hinge([0, 0, 1], -1, 1)


@pytest.mark.parametrize(
    ("limits", "goals", "sentence"),
    [
        ({}, [replace(SHARE, pole=UP, chain=1)], "a chain of two bones or more bends towards one; start it higher up"),
        ({}, [replace(SHARE, pole=UP, chain=0)], "a chain of two bones or more bends towards one"),
        ({1: LOCKED}, [replace(SHARE, pole=UP)], "a chain of two bones or more bends towards one"),
        ({1: LOCKED, 2: LOCKED}, [replace(SHARE, pole=UP)], "a chain of two bones or more bends towards one"),
        ({1: HINGE}, [replace(SHARE, pole=UP)], "the chain turns about its first joint, and '1' has a limit"),
        ({}, [replace(SHARE, pole=UP), ik.Reach(2, NEAR, chain=1)], r"turns about '1', and goals\[1\] hangs from that"),
        ({}, [replace(SHARE, pole=UP), ik.Distance(0, 1, other=2, other_chain=1)], r"goals\[1\] hangs from that"),
    ],
)
def test_a_pole_that_cannot_be_is_refused(limits: Any, goals: list[ik.Goal], sentence: str) -> None:
    """Here, in a sentence, where the core would refuse it as well; and nothing else is."""
    body = ik.Skeleton(ARM.parents, ARM.offsets, limits=limits)
    with pytest.raises(ValueError, match=rf"goals\[0\].pole: .*{sentence}"):
        ik.dls(body, body.rest, goals)


@pytest.mark.parametrize("seed", range(40))
def test_poles_are_refused_where_the_core_refuses_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [None, None, ik.Limit.free(), LOCKED, HINGE]
    body = ik.Skeleton([-1, 0, 1, 2, 1], np.ones((5, 3)), limits=[kinds[k] for k in rng.integers(5, size=5)])
    offset = [None, [0, 1, 0]][rng.integers(2)]
    goal = ik.Reach(int(rng.integers(4)), NEAR, [None, QUARTER][rng.integers(2)], offset=offset, pole=[0, 0, 9])
    goals: list[ik.Goal] = [goal, *[ik.Reach(4, UP)] * int(rng.integers(2))]
    tasks = validate.tasks_of(body, goals, np.dtype(float))
    outputs = batch.CoreOutput.empty((), body.rest.rotations)
    arguments = (body._data, tuple(task.for_core() for task in tasks), body.rest.rotations, None, None)
    try:
        validate.check_takes("dls", body, tasks, scaled=False)
    except ValueError:
        with pytest.raises(ValueError, match="solve: a goal's pole needs"):
            _core.solve("dls", *arguments, tuple([None] * len(_core.OPTIONS)), outputs)
    else:
        _core.solve("dls", *arguments, tuple([None] * len(_core.OPTIONS)), outputs)


def test_the_core_refuses_postures_alone() -> None:
    (task, _) = validate.tasks_of(ARM, [ik.Posture(1), SHARE], np.dtype(float))
    found = batch.CoreOutput.empty((), ARM.rest.rotations)
    none = tuple([None] * len(_core.OPTIONS))
    with pytest.raises(ValueError, match="there is no goal but for postures"):
        _core.solve("dls", ARM._data, (task.for_core(),), ARM.rest.rotations, None, None, none, found)


@pytest.mark.parametrize("tolerance", [1e-5, 0.1])
@pytest.mark.parametrize(("goal", "wanted"), [((2, 1), [0.5, -0.5, 0.2]), ((1, 2), [-0.5, 0.5, -0.2])])
def test_what_slides_alone_is_seen_from_another_joint(
    goal: tuple[int, int], wanted: list[float], tolerance: float
) -> None:
    """Its chain has no length, so that it goes on until nothing but rounding is left."""
    slider = ik.Limit.locked(position=[[-1] * 3, [1] * 3])
    skeleton = ik.Skeleton([-1, 0, 0], [[0, 0, 0], [0, 1, 0], [1, 0, 0]], limits={2: slider})
    other_chain = None if goal[0] == 2 else 0
    relative = ik.Relative(*goal, wanted, other_chain=other_chain)
    found = ik.dls(skeleton, skeleton.rest, [relative], tolerance=tolerance)
    assert found.status == 0
    assert found.error <= 1e-14


def test_what_nothing_moves_is_met_but_for_rounding() -> None:
    skeleton = ik.Skeleton([-1, 0, 0], [[0.0, 0, 0], [0.3, 0.1, 0.2], [-0.3, 0.2, 0.1]])
    turned = ik.rotations.exp([0.3, 0.2, 0.1])
    for off, met in ((4e-17, True), (1e-9, False)):
        found = ik.dls(skeleton, skeleton.rest, [ik.Relative(1, 0, [0.3, 0.1, 0.2 + off], turned)])
        assert (found.status == 0) == met
