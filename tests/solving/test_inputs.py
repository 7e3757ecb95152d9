"""Inputs: poses outside limits are reported, rotations may be SciPy's, and `moving` selects the joints that may
move."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore import Status, rotations

OUTSIDE = int(Status.INPUT_OUTSIDE)
NAMES = ["hips", "chest", "shoulder", "elbow", "wrist"]
OFFSETS: list[list[float]] = [[0, 1, 0], [0, 0.4, 0], [0.18, 0.02, 0], [0.3, 0, 0], [0.27, 0, 0.02]]
BODY = ik.Skeleton(range(-1, 4), OFFSETS, names=NAMES)
HINGED = ik.Skeleton(range(-1, 4), OFFSETS, names=NAMES, limits={"elbow": ik.Limit.hinge([0, 1, 0], -2.0, 0.0)})
NEAR = [0.4, 1.3, 0.4]
HAND = ik.Reach("wrist", NEAR, chain=2)
LIMITED = [name for name, method in ik.methods().items() if "limit" in method.takes and name != "aim"]


def bent(angle: float, dtype: Any = float) -> ik.Pose:
    """The body with its elbow at that angle."""
    turned = BODY.rest.rotations.copy()
    turned[3] = rotations.exp([0, angle, 0])
    return ik.Pose(turned.astype(dtype))


def moved(found: ik.Solution, came: ik.Pose) -> list[str]:
    """The joints that have turned."""
    return [NAMES[joint] for joint in np.flatnonzero((found.pose.rotations != came.rotations).any(axis=-1))]


# --- poses outside limits


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", LIMITED)
def test_a_pose_outside_a_limit_is_reported(method: str, dtype: Any) -> None:
    found = ik.solve(HINGED, bent(0.5, dtype), [HAND], method)
    assert found.status & OUTSIDE
    again = ik.solve(HINGED, found.pose, [HAND], method)
    assert not again.status & OUTSIDE
    assert not ik.solve(HINGED, bent(-0.5, dtype), [HAND], method).status & OUTSIDE


def test_it_is_said_of_the_item_that_is_outside_whatever_its_neighbours() -> None:
    angles = np.linspace(-0.9, 0.9, 37)
    turned = np.array([bent(angle).rotations for angle in angles])
    found = ik.dls(HINGED, ik.Pose(turned), [HAND])
    np.testing.assert_array_equal((found.status & OUTSIDE) > 0, angles > 1e-4)
    np.testing.assert_array_equal(found.status & ~OUTSIDE, 0)


@pytest.mark.parametrize("method", LIMITED)
def test_a_joint_that_does_not_move_is_not_looked_at(method: str) -> None:
    limits = {"hips": ik.Limit.hinge([0, 1, 0], -0.1, 0.1)}
    body = ik.Skeleton(BODY.parents, BODY.offsets, names=NAMES, limits=limits)
    turned = body.rest.rotations.copy()
    turned[0] = rotations.exp([0.5, 0, 0])
    found = ik.solve(body, ik.Pose(turned), [ik.Reach("wrist", [0.4, 1.3, 0.2], chain=2)], method)
    assert not found.status & OUTSIDE
    np.testing.assert_array_equal(found.pose.rotations[0], turned[0])


def test_within_the_tolerance_is_not_outside() -> None:
    assert ik.dls(HINGED, bent(0.9e-4), [HAND]).status == 0
    assert ik.dls(HINGED, bent(1.1e-4), [HAND]).status == OUTSIDE
    assert ik.dls(HINGED, bent(0.01), [HAND], rotation_tolerance=0.02).status == 0


@pytest.mark.parametrize("method", ["dls", "fabrik", "ccd"])
def test_a_locked_joint_that_is_turned_is_outside(method: str) -> None:
    locked = ik.Skeleton(BODY.parents, BODY.offsets, names=NAMES, limits={"elbow": ik.Limit.locked()})
    assert ik.solve(locked, bent(0.3), [ik.Reach("wrist", NEAR)], method).status & OUTSIDE
    assert not ik.solve(locked, bent(0.0), [ik.Reach("wrist", NEAR)], method).status & OUTSIDE


def sliding(height: float) -> tuple[ik.Skeleton, ik.Pose]:
    """A body on hips whose offset is 0, as in a BVH, and a pose of that height."""
    offsets: list[list[float]] = [[0, 0, 0], *OFFSETS[1:]]
    limits = {"hips": ik.Limit.free(position=[[-0.5] * 3, [0.5] * 3])}
    body = ik.Skeleton(BODY.parents, offsets, names=NAMES, limits=limits)
    return body, ik.Pose(body.rest.rotations, [[0, height, 0], *offsets[1:]])


@pytest.mark.parametrize("method", ["dls", "fabrik", "ccd"])
def test_a_root_that_is_moved_into_its_position_is_reported(method: str) -> None:
    for height, outside in ((1.01, True), (0.4, False)):
        body, came = sliding(height)
        found = ik.solve(body, came, [ik.Reach("wrist", [0.5, 0.6, 0.3])], method)
        assert found.pose.translations is not None
        assert found.pose.translations[0, 1] <= 0.5
        assert bool(found.status & OUTSIDE) is outside


def test_explain_names_the_joint_and_says_how_far_and_what_to_do() -> None:
    body, came = sliding(1.01)
    lines = ik.dls(body, came, [ik.Reach("wrist", [0.5, 0.6, 0.3])]).explain().splitlines()
    assert lines[0].startswith("The pose reaches its goals after ")
    assert "the pose that came in breaks the limit of a joint" in lines[0]
    assert "hips came in 0.51 outside its position, which is measured from its offset." in lines
    assert lines[-1].startswith("Try: a pose within limits, or limits that allow it")
    poses = ik.Pose(np.array([bent(angle).rotations for angle in (-0.5, 0.5)]))
    found = ik.dls(HINGED, poses, [HAND])
    assert "elbow came in 28.6 degrees outside its limit." in found.explain(1)
    assert "outside" not in found.explain(0)
    assert "elbow came in 28.6 degrees" in pickle.loads(pickle.dumps(found)).explain(1)


def test_summary_counts_it_and_what_is_reached() -> None:
    poses = ik.Pose(np.array([bent(angle).rotations for angle in (-0.5, 0.5, 0.6)]))
    lines = ik.dls(HINGED, poses, [HAND]).summary().splitlines()
    assert lines[0].startswith("3 of 3 poses reached")
    assert lines[1].strip().startswith("2 INPUT_OUTSIDE")


def test_frames_are_judged_by_the_pose_that_comes_in() -> None:
    frames = ik.Pose(np.array([bent(angle).rotations for angle in (-0.5, 0.5, -0.5, 0.5)]))
    found = ik.dls(HINGED, frames, [HAND], sequence=True)
    np.testing.assert_array_equal(found.status & OUTSIDE, [0, OUTSIDE, 0, OUTSIDE])


def test_restarts_and_rounds_for_scales_do_not_forget_it() -> None:
    far = ik.Reach("wrist", [0, 1.3, 5])
    assert ik.dls(HINGED, bent(0.5), [far], restarts=3).status & OUTSIDE
    assert not ik.dls(HINGED, bent(-0.5), [far], restarts=3).status & OUTSIDE
    scales = np.ones((5, 3))
    scales[2] = [1, 1.4, 0.8]
    for method in ("dls", "fabrik", "two_bone"):
        for angle, outside in ((0.5, OUTSIDE), (-0.5, 0)):
            scaled = ik.Pose(bent(angle).rotations, None, scales)
            assert ik.solve(HINGED, scaled, [HAND], method).status & OUTSIDE == outside


def test_an_item_that_cannot_be_used_says_only_why() -> None:
    for method in ("dls", "two_bone"):
        with pytest.warns(ik.UnusableWarning):
            found = ik.solve(HINGED, bent(0.5), [ik.Reach("wrist", [np.nan] * 3, chain=2)], method)
        assert found.status == Status.NOT_FINITE


def test_limits_hold_and_it_is_said_where_goals_weigh_nothing() -> None:
    for method in ("dls", "two_bone"):
        found = ik.solve(HINGED, bent(0.5), [ik.Reach("wrist", NEAR, chain=2, weight=0)], method)
        assert found.status & OUTSIDE
        assert moved(found, bent(0.5)) == ["elbow"]


def test_stages_say_it_and_still_count_what_they_reach() -> None:
    lean = ik.solvers.Stage("dls", [ik.Reach("chest", rotation=rotations.exp([0, 0.2, 0]))])
    for reach in (ik.solvers.Stage("dls", [HAND]), ik.solvers.Stage("two_bone", [HAND])):
        for order in ([reach, lean], [lean, reach]):
            found = ik.solvers.stages(HINGED, bent(0.5), order)
            conflict = int(Status.CONFLICT) if order[0] is reach else 0  # the chest takes the hand along
            assert found.status == OUTSIDE | conflict


# --- who may move


@pytest.mark.parametrize("method", ["dls", "fabrik"])
def test_a_guard_that_is_met_frees_nothing(method: str) -> None:
    reach, floor = ik.Reach("wrist", NEAR, chain="shoulder"), ik.Inside("wrist", [0, 0, 0], [0, 1, 0])
    alone, guarded = (ik.solve(BODY, BODY.rest, goals, method) for goals in ([reach], [reach, floor]))
    assert moved(guarded, BODY.rest) == moved(alone, BODY.rest) == ["shoulder", "elbow"]
    assert alone.status == guarded.status == 0


def test_a_guard_without_a_chain_moves_what_other_goals_move_and_no_more() -> None:
    reach, wall = ik.Reach("wrist", NEAR, chain="shoulder"), ik.Inside("elbow", [0, 1.3, 0], [0, -1, 0])
    found = ik.dls(BODY, BODY.rest, [reach, wall])
    assert moved(found, BODY.rest) == ["shoulder", "elbow"]
    assert found.status == 0
    assert BODY.forward(found.pose).positions[3, 1] <= 1.3 + 1e-4
    free = ik.Inside("elbow", [0, 1.3, 0], [0, -1, 0], chain="hips")
    assert "hips" in moved(ik.dls(BODY, BODY.rest, [reach, free]), BODY.rest)
    assert "hips" in moved(ik.dls(BODY, BODY.rest, [wall]), BODY.rest)  # alone it moves what it can


def test_a_guard_of_balance_does_not_turn_what_only_slides() -> None:
    limits = {"hips": ik.Limit.free(position=[[-0.5] * 3, [0.5] * 3])}
    body = ik.Skeleton(BODY.parents, BODY.offsets, names=NAMES, limits=limits, masses=[1, 1, 1, 1, 1])
    feet = ik.Inside.polygon([[-0.1, 0, -0.1], [0.1, 0, -0.1], [0.1, 0, 0.1], [-0.1, 0, 0.1]], up=[0, 1, 0])
    found = ik.dls(body, body.rest, [ik.Reach("hips", [0, 0.9, 0]), *feet])
    assert moved(found, body.rest) == []


@pytest.mark.parametrize("method", [name for name in ik.methods() if name not in ("aim", "two_bone")])
def test_only_what_may_move_turns(method: str) -> None:
    goals = [ik.Reach("wrist", [0.45, 1.3, 0.3])]
    for moving in (["shoulder", "elbow"], [2, 3], "shoulder", 2):
        assert moved(ik.solve(BODY, BODY.rest, goals, method, moving=moving), BODY.rest) == ["shoulder", "elbow"]
    assert moved(ik.solve(BODY, BODY.rest, goals, method), BODY.rest)[:2] == ["hips", "chest"]


@pytest.mark.parametrize("method", ["dls", "fabrik", "ccd", "sns", "newton"])
def test_a_joint_in_between_may_be_left_out(method: str) -> None:
    found = ik.solve(BODY, BODY.rest, [ik.Reach("wrist", NEAR)], method, moving=["chest", "elbow"])
    assert moved(found, BODY.rest) == ["chest", "elbow"]
    assert found.status == 0


def test_moving_is_the_same_in_batches_and_as_a_solver() -> None:
    targets = np.array(NEAR) + np.linspace(-0.1, 0.1, 21)[:, np.newaxis]
    found = ik.dls(BODY, BODY.rest, [ik.Reach("wrist", targets)], moving=["chest", "elbow"])
    solve = ik.Solver(BODY, [ik.Reach("wrist", position=...)], "dls", moving=["chest", "elbow"])
    turned, _, _ = solve(BODY.rest.rotations, targets)
    np.testing.assert_array_equal(turned, found.pose.rotations)
    again = pickle.loads(pickle.dumps(solve))
    for at, target in enumerate(targets):
        np.testing.assert_array_equal(again(BODY.rest.rotations, target)[0], turned[at])
    free = ik.dls(BODY, BODY.rest, [ik.Reach("wrist", targets[3])])  # one structure of goals, other joints
    assert "hips" in moved(free, BODY.rest)


def test_moving_holds_for_guards_and_for_joints_that_slide() -> None:
    floor = ik.Inside("elbow", [0, 1.3, 0], [0, -1, 0])
    found = ik.dls(BODY, BODY.rest, [ik.Reach("wrist", NEAR, chain="elbow"), floor], moving=["chest", "elbow"])
    assert moved(found, BODY.rest) == ["chest", "elbow"]
    body, came = sliding(0.4)
    found = ik.dls(body, came, [ik.Reach("wrist", [0.5, 0.6, 0.3])], moving="chest")
    after = came.translations if found.pose.translations is None else found.pose.translations
    np.testing.assert_array_equal(after, came.translations)
    body, came = sliding(1.01)  # which stays outside, as it does not move
    assert ik.dls(body, came, [ik.Reach("wrist", [0.5, 1.2, 0.3])], moving="chest").status == 0


def test_moving_of_stages_is_for_those_without_their_own() -> None:
    goals = [ik.Reach("wrist", NEAR)]
    stages = [ik.solvers.Stage("dls", goals), ik.solvers.Stage("dls", goals, moving="elbow")]
    assert moved(ik.solvers.stages(BODY, BODY.rest, stages, moving=["shoulder"]), BODY.rest) == ["shoulder", "elbow"]
    assert moved(ik.solvers.stages(BODY, BODY.rest, stages[1:]), BODY.rest) == ["elbow"]


@pytest.mark.parametrize(
    ("moving", "said"),
    [
        ([], r"moving: expected one or more joints, got none"),
        (["elbow", "knee"], r"moving\[1\]: .*'knee'"),
        ("knee", r"moving: .*'knee'"),
        (7, r"moving: .*7"),
        (1.5, r"moving: expected a joint or a list of joints, got 1.5"),
    ],
)
def test_who_may_move_is_checked(moving: Any, said: str) -> None:
    for solve in (ik.dls, ik.fabrik):
        with pytest.raises((TypeError, ValueError), match=said):
            solve(BODY, BODY.rest, [HAND], moving=moving)
    with pytest.raises((TypeError, ValueError), match=said):
        ik.Solver(BODY, [HAND], "dls", moving=moving)


def test_methods_refuse_joints_that_they_cannot_leave_out() -> None:
    with pytest.raises(ValueError, match=r"moving: two_bone turns 'shoulder' for goals\[0\]; name it there, or use"):
        ik.solve(BODY, BODY.rest, [HAND], "two_bone", moving=["elbow"])
    for method in ("circle", "follow", "spring"):
        with pytest.raises(ValueError, match=r"moving: 'shoulder' does not turn below one that does, and .* no limit"):
            ik.solve(BODY, BODY.rest, [ik.Reach("wrist", NEAR)], method, moving=["chest", "elbow"])
    with pytest.raises(ValueError, match="bends towards one"):
        ik.dls(BODY, BODY.rest, [ik.Reach("wrist", NEAR, pole=[0, 0, -2])], moving=["elbow"])


def test_a_pole_goes_by_the_first_joint_that_may_turn() -> None:
    goal = ik.Reach("wrist", NEAR, pole=[0.3, 0.5, -0.5])
    named = ik.dls(BODY, BODY.rest, [ik.Reach("wrist", NEAR, pole=[0.3, 0.5, -0.5], chain="shoulder")])
    found = ik.dls(BODY, BODY.rest, [goal], moving=["shoulder", "elbow"])
    np.testing.assert_array_equal(found.pose.rotations, named.pose.rotations)


# --- rotations of SciPy, and rows of one number


def test_rotations_of_scipy_are_taken_where_rotations_are() -> None:
    transform = pytest.importorskip("scipy.spatial.transform")
    one = transform.Rotation.from_euler("xyz", [0.1, -0.2, 0.3])
    q = rotations.from_xyzw(one.as_quat())
    np.testing.assert_array_equal(rotations.normalize(one), rotations.normalize(q))
    np.testing.assert_array_equal(rotations.from_xyzw(one), q)
    np.testing.assert_allclose(rotations.rotate(one, [1, 2, 3]), one.apply([1, 2, 3]), atol=1e-15)
    each = transform.Rotation.from_rotvec(np.linspace(-1, 1, 15).reshape(5, 3))
    pose = ik.Pose(each)
    np.testing.assert_array_equal(pose.rotations, rotations.from_xyzw(each.as_quat()))
    goals = [ik.Reach("wrist", rotation=rotation) for rotation in (one, q)]
    first, second = (ik.dls(BODY, pose, [goal]) for goal in goals)
    np.testing.assert_array_equal(first.pose.rotations, second.pose.rotations)
    assert ik.Skeleton([-1, 0], np.ones((2, 3)), each[:2]).rest.rotations.shape == (2, 4)


def test_a_rotation_of_an_older_scipy_is_reordered() -> None:
    class Older:
        def as_quat(self) -> np.ndarray[Any, Any]:
            return np.array([0.1, 0.2, 0.3, 0.9])

    np.testing.assert_array_equal(rotations.multiply(Older(), [1, 0, 0, 0]), [0.9, 0.1, 0.2, 0.3])  # type: ignore[arg-type]


def test_one_number_may_be_broadcast_along_a_row() -> None:
    two, half = np.broadcast_to(2.0, (7, 3)), np.broadcast_to(0.5, (4,))
    np.testing.assert_array_equal(rotations.rotate(half, two), np.full((7, 3), 2.0))
    np.testing.assert_array_equal(rotations.rotate(np.array(half), two), np.full((7, 3), 2.0))
    found, wide = (ik.fabrik(BODY, BODY.rest, [ik.Reach("wrist", at)]) for at in (two, np.array(two)))
    np.testing.assert_array_equal(found.pose.rotations, wide.pose.rotations)
    limb, other = (ik.two_bone(at, [2, 1, 2.1], [2, 0, 2], [1, 1, 1]) for at in (two, two + 0.0))
    np.testing.assert_array_equal(limb.root, other.root)
