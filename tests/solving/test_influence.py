"""Influence: the share of the way that a goal takes a pose; and the decay of corrections without a goal."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore.clips import samples

quat = ik.rotations
LIMBS = ["two_bone", "dls", "fabrik", "ccd"]
ITERATIVE = [name for name, method in ik.methods().items() if name not in ("two_bone", "aim") and method.run is None]
Y, Z = np.eye(3)[1:]

ARM = np.array([[0.2, 0, 0], [0.3, 0, -0.05], [0.22, 0, 0.15]])
BODY = ik.Skeleton(
    [-1, 0, 1, 2, 3, 1, 5, 6, 1],
    np.concatenate([[[0, 1, 0], [0, 0.5, 0]], ARM, ARM * [-1, 1, 1], [[0, 0.2, 0]]]),
    names=["hips", "chest", "arm.L", "elbow.L", "hand.L", "arm.R", "elbow.R", "hand.R", "head"],
    masses=np.ones(9),
)
AT, OTHER = np.array([0.5, 1.7, 0.3]), np.array([-0.3, 1.35, 0.3])
CHEST = np.array([0, 1, 0]) + 0.5 * np.array([0.28, 0.96, 0])
TURNED = quat.from_axis_angle([0.6, 0, 0.8], 1.2)
SHARES = np.linspace(0, 1, 21)


def angles(a: Any, b: Any) -> Any:
    """Degrees from one rotation to another."""
    return np.degrees(quat.to_axis_angle(quat.multiply(quat.conjugate(a), b))[1])


def solve(method: str, goals: list[ik.Goal], pose: ik.Pose = BODY.rest, **options: Any) -> ik.Solution:
    return ik.solve(BODY, pose, goals, method, **options)


def hand(influence: Any, **options: Any) -> ik.Reach:
    return ik.Reach("hand.L", AT, chain=2, influence=influence, **options)


# --- one meaning, whatever the method ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*ITERATIVE, "two_bone"])
def test_the_end_covers_its_share_of_the_way(method: str) -> None:
    start, whole = BODY.forward(BODY.rest).positions[4], solve(method, [hand(1)])
    end = BODY.forward(whole.pose).positions[4]
    found = solve(method, [hand(SHARES)], iterations=2000) if method != "two_bone" else solve(method, [hand(SHARES)])
    ends = BODY.forward(found.pose).positions[:, 4]
    assert_allclose(ends, start + SHARES[:, np.newaxis] * (end - start), atol=2e-4)
    assert_array_equal(found.status[[0, -1]], 0)
    assert np.all(found.status[1:-1] & ik.Status.PARTIAL_INFLUENCE)


@pytest.mark.parametrize("method", [*LIMBS, "pinv", "newton", "gauss_seidel"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_at_0_it_is_the_answer_without_and_at_1_the_one_with_it(method: str, dtype: Any) -> None:
    other = ik.Reach("hand.R", OTHER, chain=2)
    pose = ik.Pose(BODY.rest.rotations.astype(dtype))
    found = solve(method, [hand([0, 0.5, 1, -1, 7]), other], pose)
    without, whole = solve(method, [other], pose), solve(method, [hand(1), other], pose)
    for n, plain in enumerate([without, None, whole, without, whole]):
        if plain is not None:
            assert_array_equal(found.pose.rotations[n], plain.pose.rotations)
            assert (found.status[n], found.error[n]) == (plain.status, plain.error)
    assert_array_equal(solve(method, [hand(0)], pose).pose.rotations, pose.rotations)


@pytest.mark.parametrize("method", LIMBS)
def test_a_rotation_goes_by_arc(method: str) -> None:
    if method == "fabrik":
        pytest.skip("one end with a rotation, as dls has it")
    found = solve(method, [hand(SHARES, rotation=TURNED)])
    turned = BODY.forward(found.pose).rotations[:, 4]
    assert_allclose(angles([1.0, 0, 0, 0], turned), SHARES * np.degrees(1.2), atol=0.02)


@pytest.mark.parametrize("method", LIMBS)
@pytest.mark.parametrize("pole", [None, [0.5, 1.0, -2.0]], ids=["free", "pole"])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside"])
def test_a_pose_goes_over_evenly(method: str, pole: Any, beside: bool) -> None:
    shares, goals = np.linspace(0, 1, 401), [ik.Reach("chest", CHEST), ik.Reach("hand.R", OTHER, chain=2)]
    if method == "two_bone":
        goals = goals[1:]
    found = solve(method, [hand(shares, pole=pole), *goals * beside])
    steps = angles(found.pose.rotations[:-1], found.pose.rotations[1:])
    assert steps.max() < 4
    assert angles(found.pose.rotations[0], found.pose.rotations[-1]).max() > 20


@pytest.mark.parametrize("options", [{"twist": 0.8}, {"stretch_max": 1.5}, {"soften": 0.9}])
def test_options_of_a_limb_come_with_the_influence(options: dict[str, Any]) -> None:
    far = ik.Reach("hand.L", [0.9, 1.9, 0.2], chain=2, influence=np.linspace(0, 1, 401))
    found = solve("two_bone", [far], **options)
    assert angles(found.pose.rotations[:-1], found.pose.rotations[1:]).max() < 5
    assert angles(BODY.rest.rotations, found.pose.rotations[:2]).max() < 5


@pytest.mark.parametrize("method", ["aim", "dls"])
@pytest.mark.parametrize("options", [{}, {"up": Y, "pole": [3.0, 1.9, 0.5]}], ids=["axis", "roll"])
def test_a_look_turns_its_share(method: str, options: dict[str, Any]) -> None:
    if method == "dls":
        options = {}
    target = np.array([1.0, 2.0, 0.8])
    found = solve(method, [ik.Look("head", Z, target, chain=0, influence=SHARES, **options)])
    world = BODY.forward(found.pose)
    ray, way = quat.rotate(world.rotations[:, 8], Z), target - world.positions[:, 8]
    left = np.arccos(np.clip(np.sum(ray * way, -1) / np.linalg.norm(way, axis=-1), -1, 1))
    assert_allclose(left, (1 - SHARES) * left[0], atol=2e-4)
    assert angles(found.pose.rotations[:-1], found.pose.rotations[1:]).max() < 10


KINDS = {
    "relative place": (ik.Relative("hand.L", "head", [0.1, 0.1, 0.3]), 4),
    "relative turn": (ik.Relative("hand.L", "chest", rotation=TURNED), 4),
    "distance": (ik.Distance("hand.L", 0.3, other="head"), 4),
    "from a place": (ik.Distance("hand.L", 0.3, position=[0.5, 1.9, 0.2]), 4),
    "mass": (ik.CentreOfMass([0.05, 1.4, 0.05]), 8),
    "inside": (ik.Inside("hand.L", [0, 1.8, 0], Y, distance=0.05, chain=2), 4),
    "mass inside": (ik.Inside(None, [0, 0, 0.1], Z), 8),
    "outside": (ik.Outside("hand.L", [0.6, 1.45, -1], 0.2, end=[0.6, 1.45, 1], chain=2), 4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_covers_its_share(kind: str) -> None:
    goal: Any = KINDS[kind][0]
    fields = {item: getattr(goal, item) for item in goal.__dataclass_fields__}
    poses = solve("dls", [type(goal)(**fields | {"influence": SHARES})]).pose
    judged = solve("dls", [goal], poses, iterations=0, textbook=True, goal_errors=True)
    assert judged.goal_errors is not None
    missed = np.nanmax(judged.goal_errors[:, 0], axis=-1)
    assert missed[0] > 0.05
    assert_allclose(missed, (1 - SHARES) * missed[0], atol=1e-3)


def test_a_posture_covers_its_share() -> None:
    bent = ik.Posture("elbow.L", quat.from_axis_angle(Y, -0.9), influence=SHARES)
    found = solve("dls", [ik.Reach("hand.L", AT, chain="hips"), bent], iterations=300)
    steps = angles(found.pose.rotations[:-1], found.pose.rotations[1:])
    assert steps.max() < 8
    assert_array_equal(found.status & ~ik.Status.PARTIAL_INFLUENCE, 0)


def test_what_has_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match=r"goals\[0\].influence: expected 1 for a Look at another joint"):
        solve("dls", [ik.Look("head", Z, other="hand.L", influence=0.5)])
    with pytest.raises(ValueError, match="history: expected False where an influence is below 1"):
        solve("dls", [hand(0.5)], history=True)


# --- items ------------------------------------------------------------------------------------------------------------


def test_an_item_is_the_same_alone_and_among_others() -> None:
    shares = np.array([0, 0.2, 1, 0.7, 0, 1, 0.4])
    others = np.array([0.3, 0, 1, 0.6, 0, 0.2, 1])
    targets = AT + np.linspace(0, 0.1, 7)[:, np.newaxis]
    for method in LIMBS:

        def goals(at: Any, method: str = method) -> list[ik.Goal]:
            more = [ik.Reach("chest", CHEST, influence=others[at])] * (method != "two_bone")
            return [ik.Reach("hand.L", targets[at], chain=2, influence=shares[at]), *more]

        together = solve(method, goals(slice(None)))
        assert_array_equal(solve(method, goals(slice(None)), workers=2).pose.rotations, together.pose.rotations)
        for item in range(7):
            alone = solve(method, goals(item))
            assert_array_equal(alone.pose.rotations, together.pose.rotations[item])
            assert (alone.status, alone.error) == (together.status[item], together.error[item])


def test_one_that_is_not_finite_makes_its_item_unusable() -> None:
    with pytest.warns(ik.UnusableWarning, match="dls: 2 of 3 items"):
        found = solve("dls", [hand([0.5, np.nan, np.inf])])
    assert_array_equal(found.status, [ik.Status.PARTIAL_INFLUENCE, ik.Status.NOT_FINITE, ik.Status.NOT_FINITE])
    assert_array_equal(found.pose.rotations[1], BODY.rest.rotations)


def test_at_0_a_target_may_be_nan() -> None:
    for method in LIMBS:
        found = solve(method, [ik.Reach("hand.L", [[np.nan] * 3, AT.tolist()], chain=2, influence=[0, 0.5])])
        assert_array_equal(found.status, [0, ik.Status.PARTIAL_INFLUENCE])


def test_errors_of_goals_are_from_their_share() -> None:
    found = solve("dls", [hand([0, 0.5, 1]), ik.Reach("hand.R", OTHER, chain=2)], goal_errors=True)
    assert found.goal_errors is not None
    assert np.isnan(found.goal_errors[0, 0]).all()
    assert np.nanmax(found.goal_errors) < 1e-4


@pytest.mark.parametrize("method", ["dls", "two_bone"])
def test_a_solver_takes_it(method: str) -> None:
    made = ik.Solver(BODY, [ik.Reach("hand.L", position=..., chain=2, influence=...)], method)
    assert made.signature == "(j,q),(p),()->(j,q),(),()"
    for solver in (made, pickle.loads(pickle.dumps(made))):
        turned, _, status = solver(BODY.rest.rotations, AT, SHARES)
        found = solve(method, [hand(SHARES)])
        assert_array_equal(turned, found.pose.rotations)
        assert_array_equal(status, found.status)
        assert_array_equal(solver(BODY.rest.rotations, AT, 1.0)[0], solve(method, [hand(1)]).pose.rotations)


def test_a_pickled_goal_is_solved_by_the_same_function() -> None:
    goal = pickle.loads(pickle.dumps(hand(1)))
    assert_array_equal(solve("dls", [goal]).pose.rotations, solve("dls", [hand(1.0)]).pose.rotations)


def test_stages_take_it() -> None:
    spine = ik.solvers.Stage("dls", [ik.Reach("chest", CHEST, influence=[0, 0.5, 1])])
    arm = ik.solvers.Stage("two_bone", [ik.Reach("hand.R", OTHER, chain=2, influence=[1, 0.5, 1])])
    found = ik.solvers.stages(BODY, BODY.rest, [spine, arm])
    world = BODY.forward(found.pose)
    assert_array_equal(found.status, [0, ik.Status.PARTIAL_INFLUENCE, 0])
    assert_allclose(world.positions[[0, 2], 7], [OTHER, OTHER], atol=1e-4)


def test_explain_says_that_a_goal_has_part_of_its_influence() -> None:
    said = solve("dls", [hand(0.5)]).explain()
    assert "an influence is below 1" in said


# --- a weight is a ratio for every method -----------------------------------------------------------------------------


def test_a_weight_is_no_share() -> None:
    whole = solve("two_bone", [hand(1)])
    light = solve("two_bone", [ik.Reach("hand.L", AT, chain=2, weight=0.03)])
    assert_array_equal(light.pose.rotations, whole.pose.rotations)
    assert light.status == 0
    turned = solve("two_bone", [ik.Reach("hand.L", AT, TURNED, chain=2, rotation_weight=0.5)])
    assert turned.status == 0
    gaze = [ik.Look("head", Z, [1, 2, 0.8], chain=0, weight=weight) for weight in (0.1, 1)]
    light, whole = (solve("aim", [goal]) for goal in gaze)
    assert_array_equal(light.pose.rotations, whole.pose.rotations)


# --- time -------------------------------------------------------------------------------------------------------------

FPS, RELEASE = 60, 0.25


# Position of the hand relative to the hips.
PLACE = np.array([0.3, 0.2, 0.3])


def bent_walk() -> ik.Clip:
    """A walk with the left elbow bent by at least 40 degrees: a straight one has to bend by much for a short way."""
    clip = samples.walk(5.0, fps=FPS).clip
    elbow, turned = clip.skeleton.index("LeftForeArm"), np.array(clip.pose.rotations)
    turned[:, elbow] = quat.multiply(turned[:, elbow], quat.from_axis_angle([1, 0, 0], -0.7))
    return replace(clip, pose=ik.Pose(turned, clip.pose.translations))


def held(method: str, influence: Any, weight: Any = 1.0, **options: Any) -> tuple[Any, ik.Solution, Any]:
    """A walk whose left hand is held beside the body: clip, solution, degrees by which its arm is off the clip."""
    clip = bent_walk()
    skeleton, body = clip.skeleton, clip.skeleton.forward(clip.pose).positions
    place = body[:, 0] + PLACE
    if method != "two_bone":
        options = {"sequence": True, "fps": FPS, "release": RELEASE, **options}
    goal = ik.Reach("LeftHand", place, chain=2, influence=influence, weight=weight)
    found = ik.solve(skeleton, clip.pose, [goal], method, **options)
    arm = [skeleton.index(name) for name in ("LeftArm", "LeftForeArm")]
    return clip, found, angles(clip.pose.rotations[:, arm], found.pose.rotations[:, arm]).max(axis=1)


def ramped(first: int, last: int, ramp: int, count: int = 300) -> Any:
    frames = np.arange(count)
    return np.clip(np.minimum(frames - first, last - frames) / ramp, 0, 1)


@pytest.mark.parametrize("method", ["dls", "fabrik", "ccd", "gauss_seidel", "newton"])
def test_what_is_released_returns_to_the_clip(method: str) -> None:
    weight = np.zeros(301)
    weight[60:160] = 1
    _, found, off = held(method, 1.0, weight)
    assert off[159] > 15
    assert off[160 + round(3 * RELEASE * FPS) :].max() < 0.1
    assert_array_equal(found.status, 0)
    never = held(method, 1.0, weight, release=np.inf)[2]
    assert never[-1] > 15
    assert held(method, 1.0, weight, release=0)[2][160:].max() < 1e-4


@pytest.mark.parametrize("method", LIMBS)
def test_no_pop_while_an_influence_runs(method: str) -> None:
    influence = ramped(60, 220, 30, 301)
    clip, found, off = held(method, influence)
    arm = [clip.skeleton.index(name) for name in ("LeftArm", "LeftForeArm")]
    turned = found.pose.rotations[:, arm]
    own = angles(clip.pose.rotations[1:, arm], clip.pose.rotations[:-1, arm])
    assert off.max() > 35
    assert (angles(turned[1:], turned[:-1]) - own).max() < 3
    body = clip.skeleton.forward(clip.pose).positions
    hand, start = clip.skeleton.index("LeftHand"), body[:, clip.skeleton.index("LeftHand")]
    wanted = start + influence[:, np.newaxis] * (body[:, 0] + PLACE - start)
    assert_allclose(clip.skeleton.forward(found.pose).positions[:220, hand], wanted[:220], atol=1e-4)
    assert off[220 + round(3 * RELEASE * FPS) :].max() < 0.1
    assert_array_equal(found.status[influence % 1 == 0], 0)


@pytest.mark.parametrize("method", ["dls", "fabrik", "ccd"])
@pytest.mark.parametrize("pole", [True, False])
@pytest.mark.parametrize("still", [True, False])
def test_twist_does_not_add_up_over_strides(method: str, pole: bool, still: bool) -> None:
    """A stride is a second, so that poses solved alone are the same in each; so are those of a sequence."""
    clip = samples.walk(6.0, fps=FPS, step=0.65, speed=1.3).clip
    skeleton, world = clip.skeleton, clip.skeleton.forward(clip.pose)
    leg, foot = [skeleton.index(name) for name in ("LeftUpLeg", "LeftLeg")], skeleton.index("LeftFoot")
    turned, target = np.array(clip.pose.rotations), world.positions[:, foot]
    if still:
        turned[:, leg] = quat.from_axis_angle([1, 0, 0], [-0.2, 0.4])
    else:
        target = target + np.array([0.05, 0.05, 0])
    ahead = world.positions[:, leg[0]] + [0, -0.4, 3] if pole else None
    goal, start = ik.Reach("LeftFoot", target, chain=2, pole=ahead), ik.Pose(turned, clip.pose.translations)

    def strides(**options: Any) -> Any:
        found = ik.solve(skeleton, start, [goal], method, **options)
        assert_array_equal(found.status, 0)
        return found.pose.rotations[: 6 * FPS, leg].reshape(6, FPS, 2, 4)

    alone, found = strides(), strides(sequence=True, fps=FPS)
    assert angles(alone[1], alone[5]).max() < 1
    assert angles(found[1], found[5]).max() < 1
    never = strides(sequence=True, fps=FPS, release=np.inf)
    assert angles(never[1], never[5]).max() > 1
    if method == "dls":
        assert angles(alone[5], found[5]).max() < 3


def test_without_fps_a_second_has_thirty_frames() -> None:
    weight = np.zeros(301)
    weight[60:160] = 1
    plain = held("dls", 1.0, weight, fps=None)[1]
    timed = held("dls", 1.0, weight, fps=30)[1]
    assert_array_equal(plain.pose.rotations, timed.pose.rotations)
    with pytest.raises(ValueError, match="release: expected 0 to 1e"):
        held("dls", 1.0, release=-1)


def test_joints_that_slide_return_too() -> None:
    rail = ik.Limit.locked(position=[[-2, 0, 0], [2, 0, 0]])
    crane = ik.Skeleton([-1, 0], [[0, 2, 0], [0, -1, 0]], limits={0: rail})
    weight = np.zeros(60)
    weight[10:20] = 1
    goal = ik.Reach(1, [1, 1, 0], weight=weight)
    found = ik.dls(crane, crane.rest, [goal], sequence=True, release=RELEASE)
    assert found.pose.translations is not None
    x = found.pose.translations[:, 0, 0]
    assert_allclose(x[10:20], 1, atol=1e-4)
    assert_allclose(x[20:], x[19] * 10 ** (-(np.arange(40) + 1) / (RELEASE * 30)), rtol=1e-12)


CLIP = Path(os.environ.get("IKCORE_MOCAP", "none")) / "cmu_12_01_walk.bvh"


@pytest.mark.skipif(not CLIP.exists(), reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize("method", LIMBS)
def test_a_held_hand_of_a_captured_clip(method: str) -> None:
    clip = ik.Clip.read(CLIP)
    skeleton, body = clip.skeleton, clip.skeleton.forward(clip.pose).positions
    arm, hand = [skeleton.index(joint) for joint in ("LeftArm", "LeftForeArm")], skeleton.index("LeftHand")
    length = skeleton.reach("LeftHand", "LeftArm").outer
    place, influence = body[:, 0] + length * np.array([0.4, 0.1, 0.5]), ramped(150, 350, 30, len(clip.pose))
    options: Any = {} if method == "two_bone" else {"sequence": True, "fps": clip.fps}
    goal = ik.Reach("LeftHand", place, chain="LeftArm", influence=influence)
    found = ik.solve(skeleton, clip.pose, [goal], method, **options)
    wanted = body[:, hand] + influence[:, np.newaxis] * (place - body[:, hand])
    assert_allclose(skeleton.forward(found.pose).positions[:350, hand], wanted[:350], atol=float(2e-5 * length))
    off = angles(found.pose.rotations[:, arm], clip.pose.rotations[:, arm])
    assert off.max() > 65
    assert off[350 + int(np.ceil(3 * RELEASE * clip.fps)) :].max() < 0.1
