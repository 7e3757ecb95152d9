"""Closed forms as methods of skeletons, judged by forward kinematics and, limbs, by the slow one of reference.py."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import _core
from ikcore.solving.batch import CoreOutput
from ikcore.solving.tasks import Task

NAMES = ["hips", "thigh.L", "shin.L", "foot.L", "toe.L", "thigh.R", "shin.R", "foot.R", "toe.R"]
LEFT = np.array([[0.1, -0.05, 0], [0, -0.4, 0.03], [0, -0.42, -0.03], [0, -0.05, 0.12]])


def body(**arguments: Any) -> ik.Skeleton:
    """Hips and two legs, not at rest upright."""
    offsets = np.vstack([[[0, 1, 0]], LEFT, LEFT * [-1, 1, 1]])
    rest = ref.unit(np.random.default_rng(3).normal(size=(9, 4)) * 0.1 + np.array([1, 0, 0, 0]))
    return ik.Skeleton([-1, 0, 1, 2, 3, 0, 5, 6, 7], offsets, rest, NAMES, **arguments)


BODY = body()
ANKLES = BODY.forward(BODY.rest).positions[[3, 7]]
KNEES = BODY.forward(BODY.rest).positions[[2, 6]] + np.array([0, 0, 1])
TOL = {np.float32: 2e-6, np.float64: 1e-13}


def some_rotations(count: int) -> Any:
    return ref.unit(np.random.default_rng(4).normal(size=(count, 4)))


def test_both_legs_are_the_slow_limb(dtype: Any) -> None:
    pose = ik.Pose(BODY.rest.rotations.astype(dtype))
    moves = np.random.default_rng(5).uniform([-0.1, 0.1, -0.1], [0.1, 0.3, 0.2], (20, 2, 3))
    targets = (ANKLES + moves).astype(dtype)
    goals = [
        ik.Reach(f"foot.{side}", targets[:, k], pole=KNEES[k], chain=f"thigh.{side}") for k, side in enumerate("LR")
    ]
    found = ik.solve(BODY, pose, goals, "two_bone")
    assert found.pose.dtype == dtype
    assert np.all(found.status == 0)
    world = BODY.forward(found.pose)
    before = BODY.forward(BODY.rest).positions
    for k, joints in enumerate(([1, 2, 3], [5, 6, 7])):
        for item in range(20):
            mid, end = ref.two_bone(before[joints[0]], before[joints[1]], before[joints[2]], targets[item, k], KNEES[k])
            assert_allclose(world.positions[item, joints[1]], mid, atol=10 * TOL[dtype])
            assert_allclose(world.positions[item, joints[2]], end, atol=10 * TOL[dtype])
    kept = [0, 3, 4, 7, 8]
    assert_array_equal(found.pose.rotations[:, kept], np.broadcast_to(pose.rotations[kept], (20, 5, 4)))


def test_a_rotation_is_taken_by_the_tip_and_only_by_it() -> None:
    wanted = some_rotations(6)
    goal = ik.Reach("foot.L", ANKLES[0] + np.array([0, 0.2, 0]), wanted, chain=2)
    found = ik.solve(BODY, BODY.rest, [goal], "two_bone")
    world = BODY.forward(found.pose)
    assert np.all(found.status == 0)
    assert_allclose(np.abs(np.sum(world.rotations[:, 3] * wanted, axis=-1)), 1, atol=1e-13)
    plain = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", goal.position, chain=2)], "two_bone")
    assert_array_equal(found.pose.rotations[:, 1:3], np.broadcast_to(plain.pose.rotations[1:3], (6, 2, 4)))


def test_an_offset_is_what_meets_the_position() -> None:
    sole = [0, -0.08, 0.05]
    target = ANKLES[0] + np.array([0.05, 0.15, 0.1])
    found = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", target, offset=sole, chain=2)], "two_bone")
    world = BODY.forward(found.pose)
    assert_allclose(world.positions[3] + ref.rotate(world.rotations[3], sole), target, atol=1e-13)


@pytest.mark.parametrize("pole", [None, [0, 9, 0]], ids=["free", "pole on the line"])
@pytest.mark.parametrize("weight", [0.0, 1e-3, 0.5, 1.0])
def test_a_rotation_weight_is_no_share(weight: float, pole: Any) -> None:
    """A weight of 0 ignores the rotation; any other weight reaches it in full."""
    arm = ik.Skeleton.chain(np.array([[0, 0, 0], [0, 1, 0.5], [0, 2, 0]]))
    goal = ik.Reach(2, [0, 1.5, 0], [0, 1, 0, 0], rotation_weight=weight, chain=2, pole=pole)
    found = ik.solve(arm, arm.rest, [goal], "two_bone")
    says = ik.Status.POLE_UNDEFINED * (pole is not None)
    assert ik.Status(int(found.status)) == says


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e30])
def test_errors_are_known_as_far_as_numbers_go(size: float) -> None:
    """Sizes at which squares of floats overflow or vanish."""
    arm = ik.Skeleton.chain(size * np.array([[0, 0, 0], [1, 0, 0.1], [2, 0, 0]]))
    pose = ik.Pose(arm.rest.rotations.astype(np.float32))
    far = np.array([[8, 0, 0], [0, 1.5, 0]], np.float32) * np.float32(size)
    found = ik.solve(arm, pose, [ik.Reach(2, far, chain=2)], "two_bone")
    root, mid, end = arm.forward(pose).positions
    alone = ik.two_bone(root, mid, end, far)
    assert_array_equal(found.status, alone.status)
    assert_array_equal(found.status, [ik.Status.TOO_FAR, 0])
    assert_allclose(found.error[0], alone.error[0], rtol=1e-6)
    assert found.error[1] < 1e-5 * size


def test_what_has_no_weight_may_be_nan() -> None:
    nan = np.full(3, np.nan)
    goal = ik.Reach("foot.L", nan, np.full(4, np.nan), weight=0, rotation_weight=0, pole=nan, chain=2)
    found = ik.solve(BODY, BODY.rest, [goal], "two_bone")
    assert_array_equal(found.pose.rotations, BODY.rest.rotations)
    assert found.error == 0


@pytest.mark.parametrize("what", ["position", "rotation", "pole"])
def test_an_item_that_cannot_be_used_keeps_its_pose(what: str) -> None:
    arrays = {"position": np.tile(ANKLES[0], (3, 1)), "rotation": some_rotations(3), "pole": np.tile(KNEES[0], (3, 1))}
    arrays[what][1, 0] = np.nan
    right = ik.Reach("foot.R", ANKLES[1] + np.array([0, 0.2, 0]), chain=2)
    with pytest.warns(ik.UnusableWarning, match="two_bone: 1 of 3 items") as caught:
        found = ik.solve(BODY, BODY.rest, [ik.Reach("foot.L", chain=2, **arrays), right], "two_bone")
    assert [warning.filename for warning in caught] == [__file__]
    assert_array_equal(found.pose.rotations[1], BODY.rest.rotations)
    assert np.all(found.status[[0, 2]] == 0)


def test_a_limb_that_hangs_on_another_is_solved_after_it() -> None:
    chain = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0.1, 0], [2, 0, 0], [3, 0.1, 0], [4, 0, 0]]))
    near, far = [1.2, 1, 0], [1.5, 1.5, 1]
    goals = [ik.Reach(4, far, chain=2), ik.Reach(2, near, chain=2)]
    found = ik.solve(chain, chain.rest, goals, "two_bone")
    assert found.status == 0
    assert_allclose(chain.forward(found.pose).positions[[2, 4]], [near, far], atol=1e-13)


def test_translations_are_bones_too() -> None:
    longer = BODY.offsets * np.where(np.array(NAMES) == "hips", 1, 1.2)[:, np.newaxis]
    target = ANKLES[0] + np.array([0, -0.1, 0])
    assert BODY.reach("foot.L", 2).classify(target) == ik.Status.TOO_FAR
    found = ik.solve(BODY, ik.Pose(BODY.rest.rotations, longer), [ik.Reach("foot.L", target, chain=2)], "two_bone")
    assert found.status == 0
    assert_allclose(BODY.forward(found.pose).positions[3], target, atol=1e-13)


def test_limits_hold_and_the_knee_bends_the_way_of_its_hinge() -> None:
    knee = ik.Limit.hinge([1, 0, 0], 0, 2.4)
    leg = ik.Skeleton.chain(np.array([[0, 0.8, 0], [0, 0.4, 0], [0, 0, 0]]))
    limited = ik.Skeleton(leg.parents, leg.offsets, limits={1: knee, 0: ik.Limit.cone([0, -1, 0], 1.2)})
    targets = [[0, 0.3, 0], [0, 0.2, 0.3], [0, 0.8, 0.7]]
    found = ik.solve(limited, limited.rest, [ik.Reach(2, targets)], "two_bone")
    assert [ik.Status.AT_LIMIT in ik.Status(status) for status in found.status] == [False, False, True]
    assert np.all(found.status[:2] == 0)
    assert np.all(limited.forward(found.pose).positions[:2, 1, 2] > 0.1)  # a knee bends forwards
    for joint, limit in enumerate(limited.limits[:2]):
        assert limit is not None
        assert np.all(limit.violation(found.pose.rotations[:, joint]) < 1e-12)
    miss = np.linalg.norm(limited.forward(found.pose).positions[2, 2] - targets[2])
    assert_allclose(found.error[2], miss, atol=1e-13)
    said = found.explain(2)
    assert f"0 stands at its limit, {np.degrees(1.2):.3g} degrees from rest." in said
    assert "Try: another method (fabrik where two_bone gave up, dls where fabrik did), wider limits" in said


def test_fabrik_is_told_of_limits_too() -> None:
    bent = ik.Limit.cone([1, 0, 0], 0.3)
    arm = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], limits=[bent, bent, None])
    found = ik.fabrik(arm, arm.rest, [ik.Reach(2, [0.5, 1.5, 0])])
    assert found.status != 0
    for joint in (0, 1):
        assert bent.violation(found.pose.rotations[joint]) < 1e-12
    assert "0 stands at its limit, 17.2 degrees from rest." in found.explain()


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ([ik.Reach("foot.L", [0, 0, 0])], r"goals\[0\]: two_bone needs a chain of two bones, chain=2; this one has 3"),
        ([ik.Reach("foot.L", rotation=[1, 0, 0, 0], chain=2)], r"goals\[0\]: two_bone needs a position"),
        (
            [ik.Reach("foot.L", [0, 0, 0], [1, 0, 0, 0], chain=2, offset=[0, 1, 0])],
            r"goals\[0\]: two_bone takes an offset or a rotation, not both",
        ),
        (
            [ik.Reach("foot.L", [0, 0, 0], chain=2), ik.Reach("toe.L", [0, 0, 0], chain=2)],
            r"goals\[0\] and goals\[1\] both turn joint 'shin.L'",
        ),
    ],
)
def test_goals_that_are_no_limbs_are_refused(goals: list[ik.Goal], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ik.solve(BODY, BODY.rest, goals, "two_bone")


def test_options_reach_the_limb() -> None:
    goal = [ik.Reach("foot.L", ANKLES[0] - np.array([0, 0.5, 0]), chain=2)]
    bend = ik.solve(BODY, BODY.rest, goal, "two_bone", min_bend=0.5)
    points = BODY.forward(bend.pose).positions[1:4]
    bones = ref.unit(np.diff(points, axis=0))
    assert_allclose(np.arccos(bones[0] @ bones[1]), 0.5, atol=1e-9)
    with pytest.raises(ValueError, match="soften: expected 0 to 1, got 3"):
        ik.solve(BODY, BODY.rest, goal, "two_bone", soften=3)
    with pytest.raises(
        TypeError, match=r"'sequence' here; .*; frames are a leading axis like others, or ikcore.solvers.stages"
    ):
        ik.solve(BODY, BODY.rest, goal, "two_bone", sequence=True)
    with pytest.raises(TypeError, match="two_bone: no option 'iterations' here; expected tolerance"):
        ik.solve(BODY, BODY.rest, goal, "two_bone", iterations=3)


# --- aim --------------------------------------------------------------------------------------------------------------

X, Y, Z = np.eye(3)
GAZE = [0.1, -0.2, 0.5]  # of an eye that does not look along an axis
LOOKER = ik.Skeleton(
    [-1, 0, 1, 2, 2],
    [[0, 1.4, 0], [0, 0.1, 0.02], [0, 0.1, 0], [0.03, 0.08, 0.1], [-0.03, 0.08, 0.1]],
    ref.unit(np.random.default_rng(6).normal(size=(5, 4)) * 0.2 + np.array([1, 0, 0, 0])),
    ["chest", "neck", "head", "eye.L", "eye.R"],
)


def angle(a: Any, b: Any) -> Any:
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


def ray(skeleton: ik.Skeleton, pose: ik.Pose, joint: int, offset: Any) -> tuple[Any, Any]:
    """Position of a joint and the vector to its point, as a joint of another skeleton."""
    longer = ik.Skeleton([*skeleton.parents, joint], [*skeleton.offsets, offset])

    def extend(array: Any, last: Any) -> Any:
        if array is None:
            return None
        return np.concatenate([array.astype(float), np.full((*array.shape[:-2], 1, len(last)), last)], axis=-2)

    turned = extend(pose.rotations, [1, 0, 0, 0])
    longer_pose = ik.Pose(turned, extend(pose.translations, offset), extend(pose.scales, [1, 1, 1]))
    positions = longer.forward(longer_pose).positions
    return positions[..., joint, :], positions[..., -1, :] - positions[..., joint, :]


def away_from(skeleton: ik.Skeleton, pose: ik.Pose, joint: int, offset: Any, target: Any) -> Any:
    """The angle between a ray and the way to its target."""
    at, along = ray(skeleton, pose, joint, offset)
    return angle(along, target - at)


def places(count: int, seed: int = 7) -> Any:
    """Targets all around the head."""
    return np.array([0, 1.6, 0]) + 2 * ref.unit(np.random.default_rng(seed).normal(size=(count, 3)))


def test_the_ray_of_a_joint_meets_the_position_by_the_shortest_way(dtype: Any) -> None:
    pose, targets = ik.Pose(LOOKER.rest.rotations.astype(dtype)), places(50).astype(dtype)
    found = ik.solve(LOOKER, pose, [ik.Look("head", GAZE, targets, chain=0)], "aim")
    assert found.pose.dtype == dtype
    assert np.all(found.status == 0)
    assert_allclose(away_from(LOOKER, found.pose, 2, GAZE, targets), 0, atol=10 * TOL[dtype])
    before, after = LOOKER.forward(LOOKER.rest), LOOKER.forward(found.pose)
    at, old = ray(LOOKER, LOOKER.rest, 2, GAZE)
    axis = ref.unit(np.cross(old, targets - at))
    for vector in np.eye(3):  # all of the head turns about that axis
        wanted = ref.turn(ref.rotate(before.rotations[2], vector), axis, angle(old, targets - at)[:, None])
        assert_allclose(ref.rotate(after.rotations[:, 2], vector), wanted, atol=10 * TOL[dtype])
    kept = [0, 1, 3, 4]
    assert_array_equal(found.pose.rotations[:, kept], np.broadcast_to(pose.rotations[kept], (50, 4, 4)))


def test_up_is_on_the_side_of_the_pole() -> None:
    targets, poles = places(50), places(50, seed=8)
    found = ik.solve(LOOKER, LOOKER.rest, [ik.Look("head", GAZE, targets, chain=0, up=Y, pole=poles)], "aim")
    at, _ = ray(LOOKER, found.pose, 2, GAZE)
    _, up = ray(LOOKER, found.pose, 2, Y)
    assert_allclose(away_from(LOOKER, found.pose, 2, GAZE, targets), 0, atol=1e-13)
    assert_allclose(angle(np.cross(targets - at, up), np.cross(targets - at, poles - at)), 0, atol=1e-12)


def test_twist_turns_about_the_line_to_the_target() -> None:
    goal = ik.Look("head", GAZE, places(1)[0], chain=0, up=Y, pole=[0, 9, 0])
    plain, twisted = (ik.solve(LOOKER, LOOKER.rest, [goal], "aim", twist=twist) for twist in (0, 0.5))
    assert twisted.status == 0
    axis = ref.unit(ray(LOOKER, plain.pose, 2, GAZE)[1])
    assert_allclose(
        ray(LOOKER, twisted.pose, 2, X)[1], ref.turn(ray(LOOKER, plain.pose, 2, X)[1], axis, 0.5), atol=1e-12
    )


def test_eyes_see_where_their_head_has_turned() -> None:
    target = [1, 1.2, 1]
    eyes = [ik.Look(eye, Z, target, chain=0) for eye in ("eye.L", "eye.R")]
    found = ik.solve(LOOKER, LOOKER.rest, [*eyes, ik.Look("head", Z, target, chain="head")], "aim")
    assert found.status == 0
    for joint in (2, 3, 4):
        assert away_from(LOOKER, found.pose, joint, Z, target) < 1e-13


@pytest.mark.parametrize("scale", [[1, 1, 1], [2, 2, 2], [1.3, 0.5, 1.2], [1, -2, 1]], ids=str)
@pytest.mark.parametrize("joint", [0, 2, 4])
def test_uneven_scales_are_met_exactly(joint: int, scale: Any, dtype: Any) -> None:
    rng = np.random.default_rng(9)
    scales = np.broadcast_to(scale, (5, 3)) * np.array([[1, 1, 0.5, 1, 1]]).T
    moved = LOOKER.offsets + rng.normal(size=(5, 3)) * 0.1
    pose = ik.Pose(LOOKER.rest.rotations.astype(dtype), moved.astype(dtype), scales.astype(dtype))
    targets, poles = places(30), places(30, seed=10)
    found = ik.solve(LOOKER, pose, [ik.Look(joint, GAZE, targets, chain=0, up=Y, pole=poles)], "aim")
    assert np.all(found.status == 0)
    assert_allclose(away_from(LOOKER, found.pose, joint, GAZE, targets), 0, atol=2 * TOL[dtype])
    at, _ = ray(LOOKER, found.pose, joint, GAZE)
    _, up = ray(LOOKER, found.pose, joint, Y)
    across = angle(np.cross(targets - at, up), np.cross(targets - at, poles - at))
    assert_allclose(across, 0, atol=2 * TOL[dtype])
    for array, kept in ((found.pose.translations, moved), (found.pose.scales, scales)):
        assert_array_equal(array, np.broadcast_to(kept.astype(dtype), (30, 5, 3)))


def test_a_cone_holds_the_ray_at_its_edge() -> None:
    eye = ik.Skeleton([-1], [[0, 0, 0]], limits=[ik.Limit.cone([0, 0, 1], 0.6)])
    turned = np.array([0.2, 0.59, 0.7, 1.5, 3])
    targets = 5 * (np.cos(turned)[:, None] * Z + np.sin(turned)[:, None] * ref.unit(X + Y))
    found = ik.solve(eye, eye.rest, [ik.Look(0, Z, targets)], "aim")
    assert_allclose(found.rotation_error, np.maximum(turned - 0.6, 0), atol=1e-13)
    assert_allclose(found.error, 5 * np.sin(np.clip(turned - 0.6, 0, np.pi / 2)), atol=1e-12)
    assert_array_equal(found.status, np.where(turned > 0.6, ik.Status.AT_LIMIT, 0))
    limit = eye.limits[0]
    assert limit is not None
    assert np.all(limit.violation(found.pose.rotations[:, 0]) < 1e-12)
    assert found.explain(2).splitlines() == [
        "Item 2 after 0 iterations: a limit of a joint keeps the chain from the target.",
        "The ray from 0 misses its position by 0.499, an angle of 5.73 degrees.",
        "0 stands at its limit, 34.4 degrees from rest.",
        "Try: another method (fabrik where two_bone gave up, dls where fabrik did), wider limits, or a chain that "
        "starts higher up.",
    ]


def test_an_eye_that_never_rolls_meets_all_that_it_can(dtype: Any) -> None:
    angles = np.random.default_rng(11).uniform([-0.6, -0.8], [0.6, 0.8], (200, 2))
    limit = ik.Limit.euler("xyz", [-0.6, -0.8, 0], [0.6, 0.8, 0])
    eye = ik.Skeleton([-1, 0], LOOKER.offsets[:2], LOOKER.rest.rotations[:2], limits=[None, limit])
    at, outer = LOOKER.forward(LOOKER.rest).positions[1], LOOKER.forward(LOOKER.rest).rotations[1]
    looks = ref.turn(ref.turn(np.tile(Z, (200, 1)), X, angles[:, :1]), Y, angles[:, 1:])
    targets = at + ref.rotate(outer, looks)
    pose = ik.Pose(eye.rest.rotations.astype(dtype))
    found = ik.solve(eye, pose, [ik.Look(1, Z, targets, chain=0)], "aim")
    assert np.all(found.status == 0)
    assert np.all(away_from(eye, found.pose, 1, Z, targets) < 1e-4)
    from_rest = ref.multiply(ref.conjugate(LOOKER.rest.rotations[1]), found.pose.rotations[:, 1])
    assert np.all(limit.violation(from_rest) < 10 * TOL[dtype])
    rolled = ik.Look(1, Z, targets, chain=0, up=Y, pole=[9, 9, 0])
    assert np.all(ik.solve(eye, pose, [rolled], "aim", twist=0.5).status == 0)
    alone = [ik.solve(eye, pose, [ik.Look(1, Z, target, chain=0)], "aim") for target in targets[:20]]
    assert_array_equal(found.pose.rotations[:20], [one.pose.rotations for one in alone])


def test_a_turret_turns_as_near_as_its_hinge_lets_it() -> None:
    turret = ik.Skeleton([-1, 0], [[0, 0, 0], [0, 1, 0]], limits=[None, ik.Limit.hinge([0, 1, 0], -3, 2)])
    bearing, height = np.array([0, 1, 1, np.pi, 2.5, -2.9]), np.array([1, 0, 30, 0, 0, -1])
    targets = np.stack([np.sin(bearing), 1 + height, np.cos(bearing)], axis=-1)
    found = ik.solve(turret, turret.rest, [ik.Look(1, Z, targets, chain=0)], "aim")
    wanted = np.array([0, 1, 1, -3, 2, -2.9])
    assert_allclose(
        ray(turret, found.pose, 1, Z)[1], np.stack([np.sin(wanted), 0 * wanted, np.cos(wanted)], -1), atol=1e-12
    )
    assert [ik.Status(status) for status in found.status] == [ik.Status.AT_LIMIT * (k != 1) for k in range(6)]
    above = ik.solve(turret, turret.rest, [ik.Look(1, Z, [0, 5, 0], chain=0)], "aim")
    assert above.status == ik.Status.AT_LIMIT
    assert_allclose(above.pose.rotations, turret.rest.rotations, atol=1e-15)
    half = ik.solve(turret, turret.rest, [ik.Look(1, Z, targets[1], chain=0, influence=0.5)], "aim")
    assert half.status == ik.Status.PARTIAL_INFLUENCE


def test_one_that_cannot_be_used_keeps_its_pose_among_others() -> None:
    targets, scales = places(4), np.ones((4, 5, 3))
    targets[1, 0], scales[2, 2] = np.nan, 0
    goals = [ik.Look("head", GAZE, targets, chain=0), ik.Look("chest", Z, -5 * Z, chain=0)]
    stiff = ik.Skeleton(
        LOOKER.parents, LOOKER.offsets, LOOKER.rest.rotations, LOOKER.names, {"chest": ik.Limit.cone(Z, 0.1)}
    )
    with pytest.warns(ik.UnusableWarning, match="aim: 2 of 4 items") as caught:
        found = ik.solve(stiff, ik.Pose(LOOKER.rest.rotations, None, scales), goals, "aim")
    assert [warning.filename for warning in caught] == [__file__]
    held = ik.Status.AT_LIMIT
    assert_array_equal(found.status, [held, ik.Status.NOT_FINITE, ik.Status.NO_LENGTH, held])
    assert_array_equal(found.pose.rotations[1:3], np.broadcast_to(LOOKER.rest.rotations, (2, 5, 4)))
    assert_array_equal(np.isnan(found.rotation_error), [False, True, True, False])


@pytest.mark.filterwarnings("error", "ignore::ikcore.UnusableWarning")
@pytest.mark.parametrize("hostile", [0, 1e-40, 1e30, 1e200, np.inf, np.nan])
def test_whatever_comes_in_is_answered(hostile: float, dtype: Any) -> None:
    limits = {
        1: ik.Limit.euler("xyz", [-0.4, -0.4, 0], [0.4, 0.4, 0]),
        2: ik.Limit.hinge([0, 1, 0], -1, 1),
    }
    limited = ik.Skeleton([-1, 0, 1], LOOKER.offsets[:3], LOOKER.rest.rotations[:3], limits=limits)
    rng = np.random.default_rng(12)

    def noisy(*shape: int) -> Any:
        numbers = rng.normal(size=shape)
        numbers[rng.random(shape) < 0.03] = hostile
        with np.errstate(all="ignore"):
            return numbers.astype(dtype)

    pose = ik.Pose(noisy(300, 3, 4), noisy(300, 3, 3), noisy(300, 3, 3))
    goals = [
        ik.Look(joint, GAZE, noisy(300, 3), weight=share, chain=0, up=Y, pole=noisy(300, 3))
        for joint, share in enumerate([1, 0.5, noisy(300)])
    ]
    with np.errstate(all="raise"):
        found = ik.solve(limited, pose, goals, "aim", twist=0.3)
        said = [found.explain(item) for item in range(300)]
    usable = found.status < ik.Status.NOT_FINITE
    assert usable.sum() > 10
    assert np.all(np.isfinite(found.pose.rotations[usable]))
    assert np.all(found.rotation_error[found.status == 0] <= 1e-4)
    assert_array_equal(found.pose.rotations[~usable], pose.rotations[~usable])
    assert all(said)


def test_a_goal_of_no_weight_may_be_nan_and_one_on_its_joint_is_met() -> None:
    nan, pose = np.full(3, np.nan), ik.Pose(3 * LOOKER.rest.rotations)
    at = LOOKER.forward(pose).positions
    goals = [
        ik.Look("head", GAZE, nan, weight=0, chain=0, up=Y, pole=nan),
        ik.Look("eye.L", GAZE, at[3], chain=0),
    ]
    found = ik.solve(LOOKER, pose, goals, "aim")
    assert found.error == found.rotation_error == 0
    assert ik.Status(int(found.status)).usable
    assert_array_equal(found.pose.rotations[[0, 1, 2, 4]], pose.rotations[[0, 1, 2, 4]])
    assert_allclose(found.pose.rotations[3], LOOKER.rest.rotations[3], atol=1e-15)


def test_a_pole_on_the_line_leaves_the_shortest_way() -> None:
    target = places(1)[0]
    on_it = ik.Look("head", GAZE, target, chain=0, up=Y, pole=target)
    found, plain = (
        ik.solve(LOOKER, LOOKER.rest, [goal], "aim") for goal in (on_it, ik.Look("head", GAZE, target, chain=0))
    )
    assert found.status == ik.Status.POLE_UNDEFINED
    assert_array_equal(found.pose.rotations, plain.pose.rotations)


def test_poses_and_targets_broadcast_to_the_bits_of_single_ones() -> None:
    limited = ik.Skeleton(
        LOOKER.parents, LOOKER.offsets, LOOKER.rest.rotations, limits={2: ik.Limit.euler("xyz", [-0.4] * 3, [0.4] * 3)}
    )
    poses, targets = ik.Pose(np.stack([LOOKER.rest.rotations, some_rotations(5)])[:, None]), places(7)
    found = ik.solve(limited, poses, [ik.Look(2, GAZE, targets, chain=0)], "aim")
    threaded = ik.solve(limited, poses, [ik.Look(2, GAZE, targets, chain=0)], "aim", workers=2)
    assert_array_equal(found.pose.rotations, threaded.pose.rotations)
    for k in range(2):
        for item in range(7):
            one = ik.solve(limited, poses[k, 0], [ik.Look(2, GAZE, targets[item], chain=0)], "aim")
            assert_array_equal(found.pose.rotations[k, item], one.pose.rotations)
            assert (found.status[k, item], found.error[k, item]) == (one.status, one.error)


def test_aim_in_words() -> None:
    stiff = ik.Skeleton(
        LOOKER.parents, LOOKER.offsets, LOOKER.rest.rotations, LOOKER.names, {"head": ik.Limit.cone(Z, 0.1)}
    )
    at, ahead = ray(stiff, stiff.rest, 2, GAZE)
    targets = np.stack([at + 2 * ahead, places(2)[1]])
    found = ik.solve(stiff, stiff.rest, [ik.Look("head", GAZE, targets, chain=0)], "aim")
    assert found.explain(0).startswith(
        "Item 0 reaches its goals after 0 iterations.\nThe ray from head misses its position"
    )
    half = np.degrees(found.rotation_error[1])
    assert f"largest angle by which a goal is missed: {half:.3g} degrees" in found.summary()
    assert f", an angle of {half:.3g} degrees." in found.explain(1)


def test_a_solver_aims() -> None:
    look = ik.Solver(LOOKER, [ik.Look("head", Z, ..., chain=0, up=Y, pole=...)], "aim")
    assert look.signature == "(j,q),(p),(p)->(j,q),(),()"
    rotations, error, status = look(LOOKER.rest.rotations, places(3), [0, 9, 0])
    assert rotations.shape == (3, 5, 4)
    assert np.all(status == 0)
    assert_allclose(error, 0, atol=1e-13)


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ([ik.Look("head", Z, X)], r"goals\[0\]: aim turns one joint, chain=0; this chain has 3"),
        (
            [ik.Reach("head", rotation=[1, 0, 0, 0], chain=0)],
            r"goals\[0\]: aim takes no Reach rotation; use two_bone or",
        ),
        (
            [ik.Reach("head", X, chain=0)],
            r"goals\[0\]: aim takes no Reach position; write Look\(joint, axis, position, ch",
        ),
        ([ik.Look("head", [0, 0, 0], X, chain=0)], r"goals\[0\].axis: expected an axis, three numbers not all 0"),
        (
            [ik.Look("head", Z, X, chain=0, offset=Y)],
            r"goals\[0\].offset: aim takes none, the axis starts at the joint",
        ),
        (
            [ik.Look("head", Z, other="chest", chain=0)],
            r"goals\[0\]: aim takes no goal relative to a joint; use fabrik or dls",
        ),
        (
            [ik.Look("head", Z, X, chain=0), ik.Look("head", Y, X, chain=0)],
            r"goals\[0\] and goals\[1\] both turn joint 'head'",
        ),
    ],
)
def test_goals_that_are_no_rays_are_refused(goals: list[ik.Goal], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ik.solve(LOOKER, LOOKER.rest, goals, "aim")


@pytest.mark.parametrize("method", ["two_bone", "aim"])
def test_a_closed_form_has_the_options_of_the_table(method: str) -> None:
    entry = ik.methods()[method]
    parameters = inspect.signature(entry.function).parameters
    assert list(parameters) == ["skeleton", "pose", "goals", *entry.options, "moving", "workers", "strict"]
    for name, option in entry.options.items():
        assert parameters[name].default == option.default


@pytest.mark.parametrize("axes", [(), (1,), (1, 1)])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("method", ["two_bone", "aim"])
def test_one_item_has_the_bits_of_its_place_in_a_batch(
    method: str, scaled: bool, axes: tuple[int, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of them, limits, poles, rotations and weights; and without what a batch needs."""
    rng = np.random.default_rng(7)
    limits = {"shin.L": ik.Limit.hinge([1, 0, 0], 0, 2.4), "thigh.L": ik.Limit.cone([0, -1, 0], 0.6)}
    skeleton, count = body(limits=limits), 150
    pose = ik.Pose(
        (skeleton.rest.rotations + rng.normal(0, 0.1, (count, 9, 4))).astype(dtype),
        (skeleton.offsets + rng.normal(0, 0.02, (count, 9, 3))).astype(dtype),
        rng.uniform(0.8, 1.2, (count, 9, 3)).astype(dtype) if scaled else None,
    )
    at, pole, turned = rng.normal(0, 0.5, (count, 3)) + ANKLES[0], rng.normal(0, 2, (count, 3)), some_rotations(count)
    weight = rng.choice([0, 0.5, 1, 1, 1], count)

    def goals(place: Any) -> list[ik.Goal]:
        if method == "aim":
            eye = ik.Look("toe.L", [0, 0, 1], at[place], chain=0, up=[0, 1, 0], pole=pole[place])
            return [eye, ik.Look("shin.L", [0, 1, 0], pole[place], chain=0, weight=weight[place])]
        left = ik.Reach("foot.L", at[place], turned[place], chain=2, pole=pole[place], weight=weight[place])
        return [left, ik.Reach("foot.R", pole[place], chain=2, offset=[0, -0.08, 0.05])]

    together = ik.solve(skeleton, pose, goals(slice(None)), method)
    assert len(set(together.status.tolist())) > 1
    monkeypatch.delattr(_core, "solve")
    for item in range(0, count, 7):
        alone = ik.solve(skeleton, pose[(item, *[np.newaxis] * len(axes))], goals(item), method)
        assert alone.pose.shape == alone.status.shape == axes
        assert alone.pose.rotations.tobytes() == together.pose.rotations[item].tobytes()
        for name in ("error", "rotation_error", "iterations", "status"):
            assert getattr(alone, name).tobytes() == getattr(together, name)[item].tobytes()


AT, TURNED, Z_AXIS = np.zeros(3), np.array([1.0, 0, 0, 0]), (0.0, 0.0, 1.0)
FOOT = Task("PLACE", 0, 3, 1, position=AT)
TOE = Task("LOOK", 0, 4, 4, axis=Z_AXIS, position=AT)


@pytest.mark.parametrize(
    ("method", "tasks", "sentence"),
    [
        ("two_bone", [FOOT._replace(chain=2)], "a goal's chain is longer or shorter than the form"),
        ("two_bone", [FOOT._replace(chain=0)], "a goal's chain is longer or shorter than the form"),
        ("two_bone", [FOOT._replace(joint=9)], "a goal's joint does not exist"),
        ("two_bone", [FOOT._replace(position=None)], "a goal lacks what its kind needs"),
        ("two_bone", [Task("TURN", 0, 3, 1, rotation=TURNED)], "a rotation comes right after the place of its limb"),
        (
            "two_bone",
            [FOOT._replace(offset=Z_AXIS), Task("TURN", 0, 3, 1, rotation=TURNED)],
            "an offset or a rotation, not both",
        ),
        ("two_bone", [FOOT, Task("PLACE", 1, 4, 2, position=AT)], "two goals turn one joint"),
        ("two_bone", [TOE], "does not take goals of this kind"),
        ("two_bone", [], "there is no goal"),
        ("aim", [FOOT], "does not take goals of this kind"),
        ("aim", [TOE._replace(chain=3)], "a goal's chain is longer or shorter than the form"),
        ("aim", [TOE._replace(offset=Z_AXIS)], "the axis of an aim starts at its joint"),
        ("aim", [TOE._replace(axis=(0.0, 0.0, 0.0))], "a goal's axis has no length"),
        ("aim", [TOE._replace(pole=AT)], "a goal's axis that is up has no length"),
        ("aim", [TOE, TOE._replace(goal=1)], "two goals turn one joint"),
    ],
)
def test_the_core_refuses_it_too(method: str, tasks: list[Task], sentence: str) -> None:
    found, options = CoreOutput.empty((), BODY.rest.rotations), (None,) * len(_core.OPTIONS)
    goals = tuple(task.for_core() for task in tasks)
    with pytest.raises(ValueError, match=sentence):
        _core.solve(method, BODY._data, goals, BODY.rest.rotations, None, None, options, found)


# --- reach ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bones", "inner", "outer"), [([1, 2], 1, 3), ([0.5, 3, 1], 1.5, 4.5), ([1, 1, 1], 0, 3), ([2], 2, 2)]
)
def test_reach_is_the_shell_of_the_chain(bones: list[float], inner: float, outer: float) -> None:
    points = np.cumsum([0, *bones])[:, None] * ref.unit(np.array([1.0, 2, 2]))
    chain = ik.Skeleton.chain(points + np.array([5, 0, 0]))
    span = chain.reach(len(bones))
    assert_allclose([span.inner, span.outer], [inner, outer], atol=1e-14)
    assert_allclose(span.root, [5, 0, 0])
    away = np.array([inner - 0.1, inner + 0.1, outer - 0.1, outer + 0.1])
    flags = [ik.Status.TOO_NEAR * (inner > 0), 0, 0, ik.Status.TOO_FAR]
    if len(bones) > 1:
        assert_array_equal(span.classify(span.root + away[:, None] * np.array([0, 0, 1])), flags)


def test_reach_is_of_a_part_of_the_skeleton_and_of_many_poses() -> None:
    thigh, shin = np.linalg.norm(LEFT[1:3], axis=1)
    for chain in ("thigh.L", 2):
        assert_allclose(BODY.reach("foot.L", chain).outer, thigh + shin, atol=1e-14)
    scales = np.ones((4, 9, 3)) * np.array([1, 2, 3, 4])[:, None, None]
    scales[:, 1:] = 1  # of the hips only: their legs are scaled as well
    poses = ik.Pose(BODY.rest.rotations, None, scales)
    assert_allclose(BODY.reach("foot.L", 2, pose=poses).outer, (thigh + shin) * np.arange(1, 5), atol=1e-13)
    with pytest.raises(ValueError, match=r"chain: expected 'foot\.L' or a joint above it, got 'toe\.L'"):
        BODY.reach("foot.L", "toe.L")


def test_a_target_that_is_nan_has_no_flag() -> None:
    assert BODY.reach("foot.L", 2).classify([np.nan, 0, 0]) == 0


# --- bones that change as they turn -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"stretch_max": 1.5}, {"twist": 0.3}, {"stretch_max": 1.5, "twist": 0.3}], ids=str
)
@pytest.mark.parametrize("pole", [None, (0, 0, 3)])
def test_uneven_scales_are_met_by_limbs(options: dict[str, float], pole: Any) -> None:
    """Iterates: options relative to the input pose are applied in the first round, stretching in each."""
    arm = ik.Skeleton([-1, 0, 1, 2], np.outer([0, 0, 0.3, 0.3], [1, 0, 0]))
    for scale in (1.02, 1.3):
        pose = ik.Pose(arm.rest.rotations, scales=np.where(np.eye(4, 3, 1), scale, 1))
        rng = np.random.default_rng(3)
        targets = ik.rotations.rotate(ik.rotations.exp(rng.normal(size=(100, 3))), [1, 0, 0])
        targets *= rng.uniform(0.1, 0.55, (100, 1))
        found = ik.solve(arm, pose, [ik.Reach(3, targets, chain=2, pole=pole)], "two_bone", **options)
        assert np.all(found.status & ~ik.Status.POLE_UNDEFINED == 0)
        at = arm.forward(found.pose).positions[:, 3]
        assert_allclose(np.linalg.norm(at - targets, axis=-1), found.error, atol=1e-12)
        assert np.max(found.error) <= 1e-5 * 0.6 * scale
        if found.pose.translations is not None:  # within reach nothing stretches
            assert_allclose(found.pose.translations, np.broadcast_to(arm.offsets, (100, 4, 3)), atol=1e-12)


# --- stretch ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [1.0, 0.8])
def test_stretch_is_written_as_longer_bones(start: float, dtype: Any) -> None:
    """By as much as the limb of arrays says; what the pose says is what the error says."""
    pose = ik.Pose(BODY.rest.rotations.astype(dtype))
    before = BODY.forward(pose).positions
    way = (before[3] - before[1]) * np.linspace(0.7, 1.4, 30)[:, None] * np.array([1, 1, 1.02])
    target = (before[1] + way).astype(dtype)
    options: dict[str, Any] = {"stretch_start": start, "stretch_max": 1.2}
    found = ik.solve(BODY, pose, [ik.Reach("foot.L", target, chain=2)], "two_bone", **options)
    hip, knee, foot = before[1:4]
    limb = ik.two_bone(hip, knee, foot, target, **{name: dtype(x) for name, x in options.items()})
    assert found.pose.translations is not None
    world = BODY.forward(found.pose)
    assert limb.stretch.max() > 1.1
    assert_array_equal(
        found.pose.translations[:, [0, 1, *range(4, 9)]], BODY.offsets.astype(dtype)[[[0, 1, *range(4, 9)]] * 30]
    )
    assert_allclose(
        found.pose.translations[:, 2:4], limb.stretch[:, None, None] * BODY.offsets[2:4], rtol=4 * TOL[dtype]
    )
    assert_allclose(world.positions[:, 1:4], limb.positions, atol=4 * TOL[dtype])
    assert_allclose(found.error, np.linalg.norm(world.positions[:, 3] - target, axis=-1), atol=TOL[dtype])
    assert_array_equal(found.status & ~1, limb.status & ~1)
    reached = np.linalg.norm(way, axis=-1) < 1.19 * np.linalg.norm(BODY.offsets[2:4], axis=-1).sum()
    assert np.all(found.status[reached] & ik.Status.TOO_FAR == 0)


def test_a_stretched_limb_carries_what_hangs_on_it() -> None:
    """Another limb, and a tip with a rotation; with scales, from translations of the pose."""
    chain = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0.1, 0], [2, 0, 0], [3, 0.1, 0], [4, 0, 0]]))
    scales = np.array([1, 1.2, 1, 0.9, 1])[:, None] * np.ones(3)
    pose = ik.Pose(chain.rest.rotations, chain.offsets * 1.1, scales)
    goals = [ik.Reach(4, [3.2, 2, 1], some_rotations(1)[0], chain=2), ik.Reach(2, [0.5, 2.5, 0], chain=2)]
    found = ik.solve(chain, pose, goals, "two_bone", stretch_max=1.5)
    world = chain.forward(found.pose)
    assert found.status == 0
    assert_allclose(world.positions[[2, 4]], [[0.5, 2.5, 0], [3.2, 2, 1]], atol=1e-5)
    assert ik.solve(chain, pose, goals, "two_bone").status & ik.Status.TOO_FAR


def test_stretch_by_a_solver_in_stages_and_of_what_cannot_be_used() -> None:
    target = ANKLES[0] + np.array([[0, -0.1, 0], [0, np.nan, 0], [0, 0.1, 0]])
    goal = ik.Reach("foot.L", target, chain=2)
    with pytest.warns(ik.UnusableWarning):
        found = ik.solve(BODY, BODY.rest, [goal], "two_bone", stretch_max=1.5)
    assert found.pose.translations is not None
    assert_array_equal(found.pose.translations[1:], np.stack([BODY.offsets] * 2))
    assert_array_equal(found.pose.rotations[1], BODY.rest.rotations)
    assert_array_equal(found.status, [0, ik.Status.NOT_FINITE, 0])
    solver = ik.Solver(BODY, [ik.Reach("foot.L", ..., chain=2)], "two_bone", stretch_max=1.5)
    assert solver.signature == "(j,q),(p)->(j,q),(j,p),(),()"
    stage = ik.solvers.Stage("two_bone", [ik.Reach("foot.L", target[0], chain=2)], stretch_max=1.5)
    other = ik.solvers.Stage("two_bone", [ik.Reach("foot.R", ANKLES[1] + np.array([0, 0.1, 0]), chain=2)])
    staged = ik.solvers.stages(BODY, BODY.rest, [stage, other])
    for moved in (solver(BODY.rest.rotations, target[0])[1], solver(BODY.rest.rotations, target[::2])[1][0]):
        assert_array_equal(moved, found.pose.translations[0])
    assert staged.status == 0
    assert staged.pose.translations is not None
    assert_array_equal(staged.pose.translations, found.pose.translations[0])


def test_no_bone_stretches_to_an_offset() -> None:
    goal = ik.Reach("foot.L", ANKLES[0], offset=[0, -0.1, 0], chain=2)
    with pytest.raises(ValueError, match=r"goals\[0\].offset: two_bone stretches no bone to one"):
        ik.solve(BODY, BODY.rest, [goal], "two_bone", stretch_max=1.5)
    assert ik.solve(BODY, BODY.rest, [goal], "two_bone", stretch_max=1).pose.translations is None
