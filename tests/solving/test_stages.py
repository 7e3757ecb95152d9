"""Solves one after another as one: each starts where the last one ended, and the end is judged for all goals."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ikcore as ik

BODY = ik.Skeleton(
    parents=[-1, 0, 1, 2, 3, 4, 2, 6, 7],
    offsets=np.array(
        [
            [0, 1.0, 0],
            [0, 0.25, 0],
            [0, 0.25, 0.02],
            [0.2, 0, 0],
            [0.3, -0.02, 0.01],
            [0.27, 0, 0.02],
            [-0.2, 0, 0],
            [-0.3, -0.02, 0.01],
            [-0.27, 0, 0.02],
        ]
    ),
    names=["hips", "spine", "chest", "arm.L", "elbow.L", "hand.L", "arm.R", "elbow.R", "hand.R"],
)
LEFT, RIGHT, BACK = [0.5, 1.3, 0.35], [-0.45, 1.25, 0.4], [0, 1, -3]


def lean(at: Any) -> ik.solvers.Stage:
    """The chest forward."""
    return ik.solvers.Stage("dls", [ik.Reach("chest", at, chain="hips")])


def arms(left: Any = LEFT, right: Any = RIGHT) -> ik.solvers.Stage:
    goals = [("hand.L", left), ("hand.R", right)]
    return ik.solvers.Stage("two_bone", [ik.Reach(name, at, chain=2, pole=BACK) for name, at in goals])


CHEST = [0.05, 1.48, 0.1]


def test_each_stage_starts_where_the_one_before_ended() -> None:
    found = ik.solvers.stages(BODY, BODY.rest, [lean(CHEST), arms()])
    leant = ik.dls(BODY, BODY.rest, lean(CHEST).goals)
    after = ik.solve(BODY, leant.pose, arms().goals, "two_bone")
    assert found.pose.rotations.tobytes() == after.pose.rotations.tobytes()
    assert found.status == 0
    assert found.iterations == leant.iterations + after.iterations


def test_it_is_judged_by_forward_kinematics_of_the_last_pose() -> None:
    found = ik.solvers.stages(BODY, BODY.rest, [lean(CHEST), arms()], goal_errors=True)
    at = BODY.forward(found.pose).positions
    off = [
        np.linalg.norm(at[BODY.index(name)] - to)
        for name, to in (("chest", CHEST), ("hand.L", LEFT), ("hand.R", RIGHT))
    ]
    assert found.goal_errors is not None
    np.testing.assert_allclose(found.goal_errors[:, 0], off, atol=1e-12)
    np.testing.assert_allclose(found.error, max(off), atol=1e-12)


@pytest.mark.parametrize("method", ["dls", "fabrik", "two_bone"])
def test_one_stage_is_the_method(method: str) -> None:
    targets = np.random.default_rng(3).uniform([0.1, 0.9, 0], [1.1, 1.6, 0.5], (40, 3))
    goals = [ik.Reach("hand.L", targets, chain=2)]
    alone, staged = (
        ik.solve(BODY, BODY.rest, goals, method),
        ik.solvers.stages(BODY, BODY.rest, [ik.solvers.Stage(method, goals)]),
    )
    assert staged.pose.rotations.tobytes() == alone.pose.rotations.tobytes()
    np.testing.assert_array_equal(staged.status, alone.status)
    np.testing.assert_allclose(staged.error, alone.error, atol=1e-14)
    assert {0, 1} <= set(staged.status.tolist())  # some are too far


def test_what_a_later_stage_moves_away_is_missed() -> None:
    found = ik.solvers.stages(BODY, BODY.rest, [arms(), lean(CHEST)], goal_errors=True)
    assert found.status == ik.Status.CONFLICT
    assert found.goal_errors is not None
    assert (found.goal_errors[:2, 0] > 0.01).all()
    assert found.goal_errors[2, 0] < 1e-4
    assert "hand.L is" in found.explain()


def test_why_a_stage_falls_short_is_said() -> None:
    found = ik.solvers.stages(BODY, BODY.rest, [lean(CHEST), arms(left=[3, 1, 0])])
    assert found.status == ik.Status.TOO_FAR


@pytest.mark.parametrize("stage", [0, 1])
def test_what_one_stage_cannot_use_keeps_the_pose_that_came_in(stage: int) -> None:
    chests = np.tile(CHEST, (3, 1))
    lefts = np.tile(LEFT, (3, 1))
    (chests, lefts)[stage][1] = np.nan
    with pytest.warns(ik.UnusableWarning, match="1 of 3 items"):
        found = ik.solvers.stages(BODY, BODY.rest, [lean(chests), arms(left=lefts)])
    assert found.status.tolist() == [0, ik.Status.NOT_FINITE, 0]
    assert found.pose.rotations[1].tobytes() == BODY.rest.rotations.tobytes()
    assert np.isnan(found.error).tolist() == [False, True, False]
    with pytest.raises(ik.UnusableError):
        ik.solvers.stages(BODY, BODY.rest, [lean(chests), arms(left=lefts)], strict=True)


def test_the_axes_of_all_stages_broadcast() -> None:
    chests = np.array(CHEST) + np.linspace(0, 0.02, 5)[:, np.newaxis] * [1.0, -1, 0]
    lefts = np.array(LEFT) + np.linspace(0, 0.1, 4)[:, np.newaxis, np.newaxis]
    found = ik.solvers.stages(BODY, BODY.rest, [lean(chests), arms(left=lefts)], goal_errors=True)
    assert found.status.shape == (4, 5)
    assert found.goal_errors is not None
    assert found.goal_errors.shape == (4, 5, 3, 2)
    one = ik.solvers.stages(BODY, BODY.rest, [lean(chests[2]), arms(left=lefts[3, 0])])
    assert found.pose.rotations[3, 2].tobytes() == one.pose.rotations.tobytes()


def test_a_sequence_carries_corrections_over_in_every_stage() -> None:
    chests = np.array(CHEST) + np.sin(np.linspace(0, 3, 30))[:, np.newaxis] * [0.02, 0, 0]
    follow = ik.solvers.Stage("fabrik", [ik.Reach("hand.L", LEFT, chain="arm.L")])
    found = ik.solvers.stages(BODY, BODY.rest, [lean(chests), follow], sequence=True)
    leant = ik.dls(BODY, BODY.rest, lean(chests).goals, sequence=True)
    after = ik.fabrik(BODY, leant.pose, follow.goals, sequence=True, release=np.inf)
    assert found.pose.rotations.tobytes() == after.pose.rotations.tobytes()
    assert (found.status == 0).all()


def test_a_goal_without_weight_may_be_anything() -> None:
    nothing = ik.solvers.Stage("dls", [ik.Reach("hand.R", [np.nan] * 3, weight=0), ik.Reach("chest", CHEST)])
    assert ik.solvers.stages(BODY, BODY.rest, [nothing]).status == 0


def test_a_stage_has_its_own_tolerance() -> None:
    far = [ik.Reach("hand.L", [0.9, 1.5, 0], chain=2)]
    off = float(ik.fabrik(BODY, BODY.rest, far).error)
    assert ik.solvers.stages(BODY, BODY.rest, [ik.solvers.Stage("fabrik", far)]).status == ik.Status.TOO_FAR
    assert ik.solvers.stages(BODY, BODY.rest, [ik.solvers.Stage("fabrik", far, tolerance=2 * off / 0.57)]).status == 0


def test_stages_pickle_and_print() -> None:
    stage = ik.solvers.Stage("dls", [ik.Reach("chest", CHEST)], iterations=7)
    again = pickle.loads(pickle.dumps(stage))
    assert (again.method, dict(again.options)) == ("dls", {"iterations": 7})
    assert repr(stage).startswith("Stage('dls', [Reach(joint='chest'")
    assert repr(stage).endswith("iterations=7)")


WRONG: Any = ik.Reach(1, CHEST)
TEXT: Any = "dls"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ik.solvers.stages(BODY, BODY.rest, []), "stages: expected one or more, got none"),
        (lambda: ik.solvers.stages(BODY, BODY.rest, [WRONG]), r"stages\[0\]: expected a Stage, got Reach"),
        (lambda: ik.solvers.stages(BODY, BODY.rest, TEXT), "stages: expected a list of Stage, got str"),
        (lambda: ik.solvers.Stage("ccdd", [ik.Reach(1, CHEST)]), "method: expected one of .*, got 'ccdd'"),
        (lambda: ik.solvers.Stage("dls", []), "goals: expected one or more, got none"),
        (lambda: ik.solvers.Stage("dls", [ik.Reach(1, CHEST)], workers=2), "dls: no option 'workers' here"),
        (lambda: ik.solvers.Stage("dls", [ik.Reach(1, CHEST)], soften=2), "dls: no option 'soften' here"),
    ],
)
def test_what_is_wrong_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


def test_a_gaze_is_judged_as_one() -> None:
    """By its angle, and scaled poses too, of which no iterative method takes a Look."""
    gaze = ik.solvers.Stage("aim", [ik.Look("chest", [0, 0, 1], [2, 1.7, 3], chain=0)])
    turned_away = ik.solvers.Stage("aim", [ik.Look("hips", [1, 0, 0], [0, 5, 1], chain=0)])
    scales = np.ones((len(BODY), 3))
    scales[1] = [1, 1.2, 0.9]
    for pose in (BODY.rest, ik.Pose(BODY.rest.rotations, None, scales)):
        found = ik.solvers.stages(BODY, pose, [gaze, arms([0.4, 1.3, 0.2], [-0.4, 1.3, 0.2])], goal_errors=True)
        assert found.status == 0
        assert found.goal_errors is not None
        assert found.goal_errors.shape == (3, 2)
        assert found.goal_errors[0, 1] < 1e-6
        undone = ik.solvers.stages(BODY, pose, [gaze, turned_away])
        assert undone.status == ik.Status.CONFLICT
        assert undone.rotation_error > 0.1


def test_a_pose_is_judged_as_it_is(dtype: Any) -> None:
    """Errors of a limb and a gaze in a pose that a later stage has moved, one or several; nothing turns."""
    pose = ik.Pose(BODY.rest.rotations.astype(dtype))
    gaze = ik.solvers.Stage("aim", [ik.Look("chest", [0, 0, 1], [1, 2, 3], chain=0)])
    away = np.array([[0.1, 1.4, 0.2], [0.0, 1.45, 0.25], [0.2, 1.4, 0.1]], dtype)
    many = ik.solvers.stages(BODY, pose, [arms(), gaze, lean(away)], goal_errors=True)
    for item in range(3):
        one = ik.solvers.stages(BODY, pose, [arms(), gaze, lean(away[item])])
        assert one.pose.rotations.tobytes() == many.pose.rotations[item].tobytes()
        assert (one.error, one.rotation_error, one.status) == (
            many.error[item],
            many.rotation_error[item],
            many.status[item],
        )
        world = BODY.forward(one.pose)
        chest = BODY.index("chest")
        to = np.array([1, 2, 3]) - world.positions[chest]
        along = ik.rotations.rotate(world.rotations[chest], [0, 0, 1])
        assert many.goal_errors is not None
        off = [
            np.linalg.norm(world.positions[BODY.index(name)] - to) for name, to in (("hand.L", LEFT), ("hand.R", RIGHT))
        ]
        np.testing.assert_allclose(many.goal_errors[item, :2, 0], off, rtol=1e-5)
        angle = np.arctan2(np.linalg.norm(np.cross(along, to)), along @ to)
        np.testing.assert_allclose(many.goal_errors[item, 2, 1], angle, rtol=1e-4)
        assert one.status & ik.Status.CONFLICT


def test_what_is_out_of_reach_is_judged_where_the_last_pose_has_it() -> None:
    """Not where another solve would take it: a free chain is laid towards what it cannot reach."""
    chain = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    first, last = ik.Reach(3, [0, 5, 0]), ik.Reach(1, [1, 0, 0])
    for method in ("dls", "fabrik"):
        stages = [ik.solvers.Stage(method, [first]), ik.solvers.Stage(method, [last])]
        found = ik.solvers.stages(chain, chain.rest, stages, goal_errors=True)
        off = np.linalg.norm(chain.forward(found.pose).positions[3] - [0, 5, 0])
        assert found.goal_errors is not None
        np.testing.assert_allclose([found.error, found.goal_errors[0, 0]], off, atol=1e-12)


def test_time_is_the_first_axis_of_all_stages_together() -> None:
    """It also holds for a stage with the same goals in every frame."""
    chests = np.array(CHEST) + np.sin(np.linspace(0, 3, 20))[:, np.newaxis] * [0.02, 0, 0]
    still = ik.solvers.Stage("fabrik", [ik.Reach("hand.L", LEFT, chain="arm.L")])
    found = ik.solvers.stages(BODY, BODY.rest, [still, lean(chests)], sequence=True)
    over_time = ik.Pose(np.broadcast_to(BODY.rest.rotations, (20, len(BODY), 4)))
    again = ik.solvers.stages(BODY, over_time, [still, lean(chests)], sequence=True, release=np.inf)
    assert found.pose.rotations.tobytes() == again.pose.rotations.tobytes()


@pytest.mark.parametrize("order", [1, -1])
def test_how_it_is_judged_changes_no_answer(order: int) -> None:
    """One pose, or a batch of it; with the errors of goals, or without; what is reached, and what is not."""
    pull = ik.solvers.Stage("fabrik", [ik.Reach("hand.R", RIGHT, chain=2, pole=BACK)])
    for first in (lean(CHEST), lean([0.9, 1.5, 0.1])):
        for middle in (arms(), arms(left=[3, 1, 0])):
            stages = [first, middle, pull][::order]
            one = ik.solvers.stages(BODY, BODY.rest, stages)
            many = ik.solvers.stages(BODY, ik.Pose(np.tile(BODY.rest.rotations, (3, 1, 1))), stages)
            by_goal = ik.solvers.stages(BODY, BODY.rest, stages, goal_errors=True)
            for other in (many.pose[1].rotations, by_goal.pose.rotations):
                assert one.pose.rotations.tobytes() == other.tobytes()
            assert one.status == many.status[1] == by_goal.status
            assert by_goal.goal_errors is not None
            largest = np.nanmax(by_goal.goal_errors[:, 0])
            np.testing.assert_allclose([many.error[1], by_goal.error, largest], one.error, atol=1e-14)


def test_speeds_hold_in_every_stage() -> None:
    hinge = ik.Limit.hinge([0, 0, 1], -2, 2, speed=1.0)
    chain = ik.Skeleton([-1, 0, 1], np.array([[0, 0, 0], [1.0, 0, 0], [1, 0, 0]]), limits={0: hinge})
    turning = ik.solvers.Stage("dls", [ik.Reach(2, np.repeat([[2.0, 0, 0], [0, 2, 0]], 15, axis=0))])
    found = ik.solvers.stages(chain, chain.rest, [turning, turning], sequence=True, fps=10)
    angle = 2 * np.arctan2(found.pose.rotations[:, 0, 3], found.pose.rotations[:, 0, 0])
    assert np.abs(np.diff(angle)).max() < 0.1 + 1e-9
    with pytest.raises(ValueError, match="needs fps"):
        ik.solvers.stages(chain, chain.rest, [turning], sequence=True)


def test_what_is_wrong_with_a_stage_is_said_of_it() -> None:
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    given = [ik.solvers.Stage("dls", [ik.Reach(2, [1, 1, 0])]), ik.solvers.Stage("dls", [ik.Reach("hnad", [1, 1, 1])])]
    with pytest.raises(ValueError, match=r"^stages\[1\]: goals\[0\].joint: no joint is called 'hnad'"):
        ik.solvers.stages(arm, arm.rest, given)


@pytest.mark.parametrize("methods", [("dls", "two_bone"), ("two_bone", "dls"), ("dls", "dls")])
def test_no_items_are_no_trouble(methods: tuple[str, str]) -> None:
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    goals = [ik.Reach(2, [1, 1, 0], chain=2)]
    found = ik.solvers.stages(
        arm, ik.Pose(np.zeros((0, 3, 4))), [ik.solvers.Stage(name, goals) for name in methods], goal_errors=True
    )
    assert found.status.shape == (0,)
    assert found.goal_errors is not None
    assert found.goal_errors.shape[0] == 0


def test_what_is_lost_keeps_its_translations_in_the_type_of_the_pose(dtype: Any) -> None:
    cart = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits=[ik.Limit.free(position=[[-1] * 3, [1] * 3]), None])
    stage = ik.solvers.Stage("dls", [ik.Reach(1, np.array([[1, 1, 0], [np.nan] * 3], dtype))])
    with pytest.warns(ik.UnusableWarning):
        found = ik.solvers.stages(cart, ik.Pose(cart.rest.rotations.astype(dtype)), [stage, stage])
    assert found.status.tolist() == [0, ik.Status.NOT_FINITE]
    assert found.pose.translations is not None
    assert found.pose.translations.dtype == found.pose.rotations.dtype == dtype
    np.testing.assert_array_equal(found.pose.translations[1], cart.offsets)
    np.testing.assert_array_equal(found.pose.rotations[1], cart.rest.rotations)
