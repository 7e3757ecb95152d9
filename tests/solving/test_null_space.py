"""Use of the null space of goals: joints drawn to greater manipulability, postures that settle, and levels, in one
step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose

import ikcore as ik

Array = Any

POINTS: Array = np.array([[0, 0, 0], [1, 0, 0], [1.8, 0.3, 0], [2.5, 0, 0.4], [3.2, 0.1, 0]])
CHAIN = ik.Skeleton.chain(POINTS)
_AXES = ref.unit(np.array([[0.0, 0, 1], [0, 1, 0.2], [1, 0.3, 1], [0.2, 1, 0]]))
HINGES = ik.Skeleton.chain(POINTS, limits=[*(ik.Limit.hinge(axis, -3, 3) for axis in _AXES), None])
SOME_TURN = ref.unit(np.array([1.0, 0.2, -0.1, 0.3]))
TREE = ik.Skeleton([-1, 0, 1, 2, 1, 4], ref.unit(np.random.default_rng(1).normal(size=(6, 3))))
DRAWN: dict[str, tuple[ik.Skeleton, list[tuple[int, str]]]] = {
    "a place": (CHAIN, [(4, "place")]),
    "hinges": (HINGES, [(4, "place")]),
    "a place and a rotation": (CHAIN, [(4, "place"), (3, "turn")]),
    "two places": (TREE, [(3, "place"), (5, "place")]),
}


def turned(skeleton: ik.Skeleton, start: Array, by: Array) -> Array:
    """Each joint by its turn about the axes of the world: all of them at once."""
    world = skeleton.forward(ik.Pose(start)).rotations
    local = ik.rotations.rotate(ik.rotations.conjugate(world), by)
    return ik.rotations.multiply(start, ik.rotations.exp(local))


def step_of(skeleton: ik.Skeleton, start: Array, found: ik.Solution) -> Array:
    """The turns of all joints that led there, about the axes of the world."""
    local = ik.rotations.log(ik.rotations.multiply(ref.conjugate(start), found.pose.rotations))
    return ik.rotations.rotate(skeleton.forward(ik.Pose(start)).rotations, local).ravel()


def rows_of(skeleton: ik.Skeleton, at: Array, asked: list[tuple[int, str]]) -> Array:
    """Effect of all world-axis rotations on goals; an angle counts as an arc of the mean bone."""
    lever = float(np.linalg.norm(skeleton.offsets[1:], axis=-1).mean())
    every = [(ik.solvers.jacobian(skeleton, ik.Pose(at), joint), what) for joint, what in asked]
    return np.concatenate([rows[:3] if what == "place" else lever * rows[3:] for rows, what in every])


def ways(skeleton: ik.Skeleton, at: Array) -> Array:
    """The turns that joints may make, about the axes of the world: a column each."""
    if skeleton is not HINGES:
        return np.eye(3 * len(skeleton))
    world = skeleton.forward(ik.Pose(at)).rotations
    every = np.zeros((3 * len(skeleton), 4))
    for joint in range(4):
        every[3 * joint : 3 * joint + 3, joint] = ik.rotations.rotate(world[joint], _AXES[joint])
    return every


def a_pose(skeleton: ik.Skeleton, item: int) -> Array:
    rng = np.random.default_rng(item)
    if skeleton is not HINGES:
        return ref.unit(rng.normal([2, 0, 0, 0], 0.7, (len(skeleton), 4)))
    turns = np.zeros((5, 3))
    turns[:4] = rng.normal(size=(4, 1)) * _AXES
    return ik.rotations.exp(turns)


def goals_at(skeleton: ik.Skeleton, start: Array, asked: list[tuple[int, str]]) -> list[ik.Goal]:
    world = skeleton.forward(ik.Pose(start))
    return [
        ik.Reach(joint, world.positions[joint]) if what == "place" else ik.Reach(joint, rotation=world.rotations[joint])
        for joint, what in asked
    ]


@pytest.mark.parametrize("what", DRAWN)
@pytest.mark.parametrize("method", ["dls", "pinv", "svf", "sdls", "sns"])
def test_joints_are_drawn_up_the_slope_of_manipulability(what: str, method: str, everywhere: None) -> None:
    """By differences of the determinant, without what would move a goal."""
    skeleton, asked = DRAWN[what]
    h, much = 1e-5, 1e-3
    for item in range(4):
        start = a_pose(skeleton, item)
        free, goals = ways(skeleton, start), goals_at(skeleton, start, asked)

        def volume(by: Array, start: Array = start) -> float:
            at = turned(skeleton, start, by.reshape(-1, 3))
            rows = rows_of(skeleton, at, asked) @ ways(skeleton, at)
            return 0.5 * float(np.linalg.slogdet(rows @ rows.T)[1])

        slope = np.array([volume(h * way) - volume(-h * way) for way in free.T]) / (2 * h)
        rows = rows_of(skeleton, start, asked) @ free
        unseen = np.eye(free.shape[1]) - np.linalg.pinv(rows, rcond=1e-9) @ rows
        given: dict[str, Any] = {"iterations": 1, "textbook": True, "manipulability": much, "settle": True}
        found = ik.solve(skeleton, ik.Pose(start), goals, method, rotation_tolerance=0, **given)
        step = step_of(skeleton, start, found)
        assert np.linalg.norm(step) > 1e-5
        assert_allclose(step, much * free @ (unseen @ slope), atol=4e-3 * np.abs(step).max())


def path_of_two_rounds(frames: int) -> Array:
    angle = np.linspace(0, 4 * np.pi, 2 * frames + 1)
    return np.stack([2.2 + 0.5 * np.cos(angle), 0.9 + 0.5 * np.sin(angle), 0 * angle + 0.3], axis=-1)


@pytest.mark.parametrize("method", ["dls", "pinv", "svf", "sdls", "sns"])
def test_where_postures_settle_joints_close_their_path_with_the_target(method: str) -> None:
    """The extended Jacobian's property (Baillieul 1985), which the pseudo-inverse lacks (Klein and Huang 1983)."""
    goals, start = [ik.Reach(4, path_of_two_rounds(60))], ik.Pose(np.tile(HINGES.rest.rotations, (121, 1, 1)))
    given: dict[str, Any] = {"sequence": True, "release": np.inf, "iterations": 900, "tolerance": 1e-9}
    settling: dict[str, Any] = {"posture": 0.3, "settle": True, "rotation_tolerance": 1e-8}
    drift = []
    for more in (settling, {}):
        found = ik.solve(HINGES, start, goals, method, **given, **more)
        assert np.all(found.status == 0)
        now = found.pose.rotations
        drift.append(np.abs(ik.rotations.log(ik.rotations.multiply(ref.conjugate(now[60]), now[120]))).max())
        for at in now[::20] if more else ():
            rows = rows_of(HINGES, at, [(4, "place")]) @ ways(HINGES, at)
            angles = np.sum(ik.rotations.log(at)[:4] * _AXES, axis=-1)
            assert np.abs(angles - np.linalg.pinv(rows) @ (rows @ angles)).max() < 1e-6  # nothing left to turn
    assert drift[0] < 1e-5
    assert drift[1] > 0.01 or method != "pinv"


def test_manipulability_keeps_away_from_singular_poses_and_goals_are_met_as_without() -> None:
    rng, volume = np.random.default_rng(4), []
    start = ik.Pose(np.array([a_pose(CHAIN, item) for item in range(50)]))
    goals = [ik.Reach(4, 2.4 * ref.unit(rng.normal(size=(50, 3))))]
    for much in (0.0, 0.1):
        found = ik.dls(CHAIN, start, goals, manipulability=much, settle=True, iterations=400)
        assert np.all(found.status == 0)
        rows = ik.solvers.jacobian(CHAIN, found.pose, 4)[:, :3]
        volume.append(0.5 * np.linalg.slogdet(rows @ np.swapaxes(rows, -1, -2))[1])
    assert np.all(volume[1] > volume[0] - 1e-6)
    assert np.mean(volume[1]) > np.mean(volume[0]) + 0.1


def test_what_has_not_settled_when_iterations_end_has_the_status_of_its_goals() -> None:
    """Only iterations tell: here the last is used, and another solve from there turns joints on."""
    start, goals = ik.Pose(a_pose(CHAIN, 1)), [ik.Reach(4, [1.9, 0.8, 0.3])]
    given: dict[str, Any] = {"posture": 0.3, "settle": True}
    early, late = (ik.solvers.pinv(CHAIN, start, goals, iterations=count, **given) for count in (60, 2000))
    assert int(early.status) == int(late.status) == 0
    assert early.iterations == 60
    assert 60 < late.iterations < 2000
    left = ik.rotations.log(ik.rotations.multiply(ref.conjugate(early.pose.rotations), late.pose.rotations))
    assert np.abs(left).max() > 1e-3


# --- levels, in one step ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dls", "pinv", "svf", "sdls"])
def test_in_a_step_a_lower_level_does_nothing_to_a_higher_one(method: str, everywhere: None) -> None:
    """By the Jacobian of the higher one, in doubles."""
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "max_step": 4}
    if method == "dls":
        given["damping"] = 0.3
    for item in range(10):
        rng, start = np.random.default_rng(item), a_pose(TREE, item)
        at = TREE.forward(ik.Pose(start)).positions
        first = [ik.Reach(3, at[3] + 0.05 * rng.normal(size=3))]
        other = [ik.Reach(5, at[5] + 0.5 * rng.normal(size=3), level=1), ik.Reach(3, rotation=SOME_TURN, level=1)]
        alone, both = (
            step_of(TREE, start, ik.solve(TREE, ik.Pose(start), goals, method, **given))
            for goals in (first, [*first, *other])
        )
        assert np.abs(both - alone).max() > 0.05
        assert np.abs(ik.solvers.jacobian(TREE, ik.Pose(start), 3)[:3] @ (both - alone)).max() < 1e-9


def narrow(limits: str, start: Array) -> ik.Skeleton:
    """The tree, each of whose hinges may turn by a little; the second slides as well, or every other is a ball."""
    limited = [ik.Limit.hinge(axis, angle - 0.1, angle + 0.1) for axis, angle in zip(_NARROW, start, strict=True)]
    if limits == "hinges and slides":
        limited[1] = replace(limited[1], position=((-0.05,) * 3, (0.08,) * 3))
    if limits == "balls":
        limited[::2] = [ik.Limit.cone(axis, 0.1, twist=(-1, 1)) for axis in _NARROW[::2]]
    if limits == "a step that is cut":
        limited[:] = [replace(limit, twist=(-3, 3)) if k % 2 else limit for k, limit in enumerate(limited)]
    return ik.Skeleton(_FORK, _BONES, limits=limited, masses=np.ones(11))


_FORK = [-1, 0, 1, 2, 3, 4, 5, 6, 3, 8, 9]
_BONES, _NARROW = ref.unit(np.random.default_rng(1).normal(size=(2, 11, 3)))


@pytest.mark.parametrize("limits", ["hinges", "balls", "hinges and slides", "a step that is cut"])
@pytest.mark.parametrize("method", ["dls", "pinv", "svf", "sdls"])
def test_where_limits_hold_a_step_a_level_has_what_it_has_without_those_after_it(
    method: str, limits: str, everywhere: None
) -> None:
    """Three levels, in doubles: the error that the step leaves of each, by its Jacobian."""
    given: dict[str, Any] = {"iterations": 1, "textbook": True, "max_step": 0.3 if "cut" in limits else 4}
    if method == "dls":
        given["damping"] = 0.3
    held, lower = 0, []
    for item in range(12):
        rng = np.random.default_rng(item)
        start = rng.uniform(-1, 1, 11)
        skeleton, pose = narrow(limits, start), ik.Pose(ik.rotations.from_axis_angle(_NARROW, start))
        at = skeleton.forward(pose).positions
        goals: list[ik.Goal] = [
            ik.Reach(7, at[7] + 0.05 * rng.normal(size=3)),
            ik.Reach(10, at[10] + 0.5 * rng.normal(size=3), level=1),
            ik.CentreOfMass(at.mean(axis=0) + rng.normal(size=3), level=2),
        ]
        places, first = [], []
        for some in (goals[:1], goals[:2], goals):
            found = ik.solve(skeleton, pose, some, method, **given)
            turned = ik.rotations.log(ik.rotations.multiply(ref.conjugate(pose.rotations), found.pose.rotations))
            slid = np.zeros(3)
            if found.pose.translations is not None:
                slid = (found.pose.translations - skeleton.offsets)[1]
                assert np.all((slid >= -0.05 - 1e-15) & (slid <= 0.08 + 1e-15))
            assert np.abs(turned).max() <= given["max_step"] + 1e-12
            held += int(np.count_nonzero(np.abs(np.linalg.norm(turned, axis=-1) - 0.1) < 1e-12))
            world = ik.rotations.rotate(skeleton.forward(pose).rotations, turned).ravel()
            slid = ik.rotations.rotate(skeleton.forward(pose).rotations[0], slid)
            places.append([ik.solvers.jacobian(skeleton, pose, end)[:3] @ world + slid for end in (7, 10)])
        first = np.abs(np.diff(np.array(places)[:, 0], axis=0)).max()
        assert first < 1e-12
        assert np.abs(places[2][1] - places[1][1]).max() < 1e-12
        lower.append(np.abs(places[1][1] - places[0][1]).max())
    assert held > 25
    assert np.mean(lower) > 0.03


@pytest.mark.parametrize("method", ["dls", "pinv", "svf", "sdls"])
def test_a_ball_at_its_limit_turns_along_it_for_a_lower_level(method: str) -> None:
    """A shoulder is at the edge of its cone. Its arm, on the second level, has a target farther out than the cone
    allows. The end of the arm reaches the nearest position on the edge. The arm beside it is on the first level and
    free."""
    rng, half = np.random.default_rng(0), 0.5
    limits = [ik.Limit.locked(), ik.Limit.cone([1, 0, 0], half, twist=(-0.2, 0.2)), None, None, None, None]
    offsets = [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [-1, 0, 0], [-1, 0, 0]]
    arms = ik.Skeleton([-1, 0, 1, 0, 3, 4], offsets, limits=limits)
    around = rng.uniform(0, 2 * np.pi, 50)
    best, edge = (
        np.stack([0 * angle, np.cos(angle), np.sin(angle)], axis=-1)
        for angle in (around + rng.uniform(-1, 1, 50), around)
    )
    start = np.tile([1.0, 0, 0, 0], (50, 6, 1))
    start[:, 1] = ik.rotations.exp(half * edge)
    out = ik.rotations.rotate(ik.rotations.exp(half * best), [1.0, 0, 0])
    far = out + (out - [np.cos(half), 0, 0])
    goals = [ik.Reach(5, [-1.2, 0.6, 0.3]), ik.Reach(2, far, level=1)]
    places = arms.forward(ik.solve(arms, ik.Pose(start), goals, method, iterations=1000).pose).positions
    assert np.linalg.norm(places[:, 5] - [-1.2, 0.6, 0.3], axis=-1).max() < 1e-5
    left, least = (np.linalg.norm(there - far, axis=-1) for there in (places[:, 2], out))
    assert (left - least).max() < 1e-3


@pytest.mark.parametrize("method", ["dls", "pinv", "svf", "sdls"])
def test_with_few_iterations_lower_levels_hold_the_first_up_and_a_last_stage_puts_it_right(method: str) -> None:
    """As docs/guide/goals.md says; with many it is met."""
    rng = np.random.default_rng(0)
    start, there = (ref.unit(rng.normal([2, 0, 0, 0], 0.6, (40, 6, 4))) for _ in range(2))
    at = TREE.forward(ik.Pose(there)).positions
    first = [ik.Reach(3, at[:, 3])]
    both = [*first, ik.Reach(5, at[:, 5] + 3 * rng.normal(size=(40, 3)), level=1)]

    def missed(pose: ik.Pose) -> Array:
        return np.linalg.norm(TREE.forward(pose).positions[:, 3] - at[:, 3], axis=-1)

    assert np.mean(ik.solve(TREE, ik.Pose(start), first, method, iterations=20).status == 0) > 0.9
    few, many = (ik.solve(TREE, ik.Pose(start), both, method, iterations=count).pose for count in (10, 1000))
    assert np.mean(missed(few) > 1e-3) > 0.5
    assert missed(many).max() < 1e-4
    assert missed(ik.solve(TREE, few, first, method).pose).max() < 1e-4
