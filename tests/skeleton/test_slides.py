"""Joints that slide: every method that takes them keeps their travel, and reaches what can be reached."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from chains import UP, about, same_bits
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import Limit

Array = Any
METHODS = [name for name, method in ik.methods().items() if "sliding joint" in method.takes and method.run is None]
pytestmark = [pytest.mark.parametrize("method", METHODS), pytest.mark.usefixtures("everywhere")]

X: Array = np.array([1.0, 0, 0])
Z: Array = np.array([0, 0, 1.0])
LONGER = [-0.5 * UP, 0.8 * UP]  # of a bone of length 1 upwards
FLOOR = [[-2, 0, -1], [2, 0, 1]]


def arm(*limits: Limit | None) -> ik.Skeleton:
    """Unit bones upwards."""
    count = len(limits)
    return ik.Skeleton(np.arange(count) - 1, np.where(np.arange(count)[:, None] > 0, UP, 0), limits=list(limits))


def tree(*limits: Limit | None) -> ik.Skeleton:
    """A trunk with two arms of two bones, which end in joints 3 and 5."""
    offsets: Array = [[0, 0, 0], [0, 1, 0], [0.7, 0.7, 0], [0.5, 0.5, 0], [-0.7, 0.7, 0], [-0.5, 0.5, 0]]
    return ik.Skeleton([-1, 0, 1, 2, 1, 4], offsets, limits=list(limits))


def cone(axis: Any, angle: float, **slides: Any) -> Limit:
    return Limit.cone(axis, angle, twist=(-0.5, 0.5), **slides)


LONG, ACROSS = Limit.free(position=LONGER), Limit.free(position=[-0.4 * X, 0.7 * X])
SIDES = [Limit.locked(position=way) for way in ([-X, X], [-UP, UP], [-Z, Z])]
RIGS = {
    "telescope": arm(None, LONG, LONG, LONG),
    "telescopes that do not turn": arm(None, Limit.locked(position=LONGER), None, Limit.locked(position=LONGER)),
    "one telescope": arm(None, None, LONG, None),
    "across the bone": arm(None, ACROSS, Limit.free(position=[[-0.2, 0, -0.3], [0.5, 0, 0.3]]), None),
    "root along x": arm(Limit.free(position=[-2 * X, 2 * X]), None, None, None),
    "root on the floor": arm(Limit.free(position=FLOOR), None, None, None),
    "root in a box": arm(Limit.free(position=[[-2, -1, -1], [2, 1, 1]]), None, None, None),
    "root anywhere": arm(Limit.free(position=[[-np.inf] * 3, [np.inf] * 3]), None, None, None),
    "locked root": arm(Limit.locked(position=FLOOR), None, None, None),
    "locked within": arm(None, Limit.locked(position=[[-0.5, -0.3, 0], [0.5, 0.3, 0]]), None, SIDES[0], None),
    "everywhere": arm(*[Limit.free(position=[[-0.3] * 3, [0.3] * 3])] * 6),
    "gantry": ik.Skeleton([-1, 0, 1, 2], [0 * X, 0 * X, 0 * X, 0.5 * UP], limits=[*SIDES, None]),
    "point": ik.Skeleton([-1], [0 * X], limits=[Limit.locked(position=[[-1] * 3, [1] * 3])]),
    "hinges": arm(Limit.hinge(UP, -3.1, 3.1, position=[-X, X]), Limit.hinge(Z, -1.2, 1.2, position=LONGER),
                  Limit.hinge(Z, -2, 2), None),
    "scara": ik.Skeleton([-1, 0, 1, 2], [0 * X, X, X, -0.2 * UP],
                         limits=[Limit.hinge(UP, -2.5, 2.5), Limit.hinge(UP, -2.5, 2.5), SIDES[1], None]),
    "turn, tilt and out": ik.Skeleton([-1, 0, 1, 2], [0 * X, 0.4 * UP, 0.2 * X, 0.5 * Z],
                                      limits=[Limit.hinge(UP, -2.8, 2.8), Limit.hinge(X, -1.8, 1.8),
                                              Limit.locked(position=[-0.3 * Z, Z]), None]),
    "cones": arm(cone(UP, 0.8, position=[[-0.5, 0, -0.5], [0.5, 0, 0.5]]), cone(UP, 0.8),
                 Limit.euler("xyz", (-0.8, -0.4, -0.3), (0.4, 0.8, 0.8), position=LONGER), None),
    "tree": tree(Limit.free(position=FLOOR), LONG, None, Limit.locked(position=[-0.3 * X, 0.3 * X]), None, None),
    "tree with limits": tree(Limit.locked(position=FLOOR), cone(UP, 0.6, position=LONGER), cone(X + UP, 1), None,
                             cone(UP - X, 1), None),
}  # fmt: skip
rig = pytest.mark.parametrize("rig", RIGS.values(), ids=RIGS)


def translations(pose: ik.Pose) -> Array:
    assert pose.translations is not None
    return pose.translations


def tips(skeleton: ik.Skeleton) -> list[int]:
    return [joint for joint in range(len(skeleton)) if joint not in skeleton.parents]


def travel(skeleton: ik.Skeleton, joint: int, dtype: Any = np.float64) -> Array:
    """The lowest and highest translation; the same where it does not slide."""
    limit, offset = skeleton.limits[joint] if skeleton.limits else None, skeleton.offsets[joint]
    position = np.zeros((2, 3)) if limit is None or limit.position is None else np.array(limit.position)
    return (offset + position).astype(dtype)


def allowed(skeleton: ik.Skeleton, items: int, seed: int) -> ik.Pose:
    """Random poses within all limits and travels."""
    rng = np.random.default_rng(seed)
    turned, moved = (np.tile(part, (items, 1, 1)) for part in (skeleton.rest.rotations, skeleton.offsets))
    for joint, limit in enumerate(skeleton.limits):
        if limit is None or limit.kind == "free":
            turned[:, joint] = about(rng.normal(size=(items, 3)), rng.uniform(0, 1.2, items))
        elif limit.kind != "locked":
            turned[:, joint] = limit.sample(items, seed + joint)
        low, high = np.clip(travel(skeleton, joint), -5, 5)
        moved[:, joint] = rng.uniform(low, high, (items, 3))
    return ik.Pose(turned, moved)


def reach(skeleton: ik.Skeleton, pose: ik.Pose, *, turned: bool = False, off: Any = 0.0) -> list[ik.Reach]:
    """The ends are where they are in a pose."""
    world = skeleton.forward(pose)
    return [
        ik.Reach(tip, world.positions[..., tip, :] + off, rotation=world.rotations[..., tip, :] if turned else None)
        for tip in tips(skeleton)
    ]


def thrown(skeleton: ik.Skeleton, items: int, seed: int) -> ik.Pose:
    """Allowed poses, except that the translations of all sliding joints are outside their travel."""
    pose, off = allowed(skeleton, items, seed), np.random.default_rng(seed).normal(size=(items, len(skeleton), 3))
    slides = [bool(np.ptp(travel(skeleton, joint), axis=0).any()) for joint in range(len(skeleton))]
    return ik.Pose(pose.rotations, translations(pose) + 3 * off * np.array(slides)[:, None])


def is_within(skeleton: ik.Skeleton, found: ik.Solution) -> bool:
    """Whether every translation is exactly within its travel, and that of locked joints at rest."""
    for joint, limit in enumerate(skeleton.limits):
        now = translations(found.pose)[..., joint, :]
        low, high = travel(skeleton, joint, found.pose.dtype)
        if not np.all((low <= now) & (now <= high)):
            return False
        if limit is not None and limit.kind == "locked":
            assert_array_equal(
                found.pose.rotations[..., joint, :], skeleton.rest.rotations[joint][None].repeat(len(now), 0)
            )
    return True


# A pure gradient method creeps. Methods that try to remove the whole error in one step throw joints onto limits. The
# same holds for straight motion of a nearly stretched chain, and for sweeps of nearly singular equations.
PATIENCE = {"transpose": 5000, "sns": 2000, "gauss_seidel": 1000}
SHARE = {"ccd": 0.9, "transpose": 0.9, "pinv": 0.97, "svf": 0.98, "sdls": 0.98, "gauss_seidel": 0.97, "sns": 0.98}

# Remaining error for targets out of reach, relative to a size of 5; published steps, which ignore ends of travel, leave
# more.
NEARLY = {"transpose": 5e-4, "sdls": 5e-3}
NEARLY_AS_PUBLISHED = {"transpose": 0.3, "pinv": 0.01, "svf": 0.01, "sdls": 0.1}


def patience(method: str) -> int:
    """Iterations in which most is reached."""
    return PATIENCE.get(method, 200)


def most(method: str, reached: Array) -> Array:
    """Which items to judge: those that are reached, which are all or nearly so."""
    assert np.mean(reached) >= SHARE.get(method, 1)
    return reached


# --- what can be reached ----------------------------------------------------------------------------------------------


@pytest.mark.drawn(28)
@rig
@pytest.mark.parametrize("turned", [False, True], ids=["place", "place and rotation"])
def test_what_can_be_reached_is(method: str, rig: ik.Skeleton, turned: bool) -> None:
    """By 200 random poses, from rest; judged apart from the solver."""
    goals = reach(rig, allowed(rig, 200, 1), turned=turned)
    found = ik.solve(rig, rig.rest, goals, method, iterations=patience(method))
    reached = most(method, found.status == 0)
    assert is_within(rig, found)
    world, largest = rig.forward(found.pose), np.zeros(200)
    for tip, goal in zip(tips(rig), goals, strict=True):
        off = np.linalg.norm(world.positions[:, tip] - goal.position, axis=-1)
        largest = np.maximum(largest, off)
        if turned:
            dots = np.abs(np.sum(world.rotations[:, tip] * goal.rotation, axis=-1))
            assert np.all(2 * np.arccos(np.minimum(dots, 1))[reached] <= 1.001e-4)
    assert_allclose(found.error, largest, rtol=0, atol=1e-12)
    assert np.all(largest[reached] <= 1e-5 * 12)  # no chain is longer than 12


@pytest.mark.drawn(28)
@rig
def test_so_it_is_from_anywhere_in_floats_too(method: str, dtype: Any, rig: ik.Skeleton) -> None:
    """From random poses outside of the travel."""
    start, goals = thrown(rig, 100, 7), reach(rig, allowed(rig, 100, 2))
    start = ik.Pose(start.rotations.astype(dtype), translations(start).astype(dtype))
    found = ik.solve(rig, start, goals, method, iterations=patience(method))
    assert found.pose.dtype == dtype
    if dtype == np.float64 or method != "transpose":  # which ends where floats no longer show what a step gains
        most(method, found.status & ~ik.Status.INPUT_OUTSIDE == 0)
    assert is_within(rig, found)


def test_a_telescope_reaches_all_that_its_lengths_allow(method: str) -> None:
    """Three links from .5 to 1.8 reach everything from no distance to 5.4; and nothing more."""
    rng = np.random.default_rng(4)
    ways = rng.normal(size=(300, 3))
    distance = np.linspace(0, 5.4, 300)
    target = distance[:, None] * ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    skeleton = RIGS["telescope"]
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(3, target)], method, iterations=1000)
    creep = {"transpose": 4, "pinv": 1, "gauss_seidel": 1}.get(method, 0)  # to the very end
    assert np.all(found.status[: 300 - creep] == 0)
    assert np.all(found.error <= 0.0025 * 5.4)
    beyond = ik.solve(skeleton, skeleton.rest, [ik.Reach(3, 1.01 * target[-1:])], method, iterations=patience(method))
    assert beyond.status[0] & ik.Status.TOO_FAR
    assert_allclose(
        beyond.error,
        0.054,
        rtol={"transpose": 0.6, "pinv": 0.04, "svf": 0.02, "sns": 0.02, "gauss_seidel": 0.01}.get(method, 1e-3),
    )


def test_a_telescope_that_only_turns_at_its_root_is_as_long_as_the_way(method: str) -> None:
    skeleton = arm(None, Limit.locked(position=[-0.5 * UP, 2 * UP]))
    far, way = np.array([0.5, 0.6, 1.0, 2.9, 3.0]), np.array([2, 3, 6]) / 7
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(1, far[:, None] * way)], method, tolerance=1e-9)
    assert np.all(found.status == 0)
    assert_allclose(translations(found.pose)[:, 1], far[:, None] * UP, rtol=0, atol=1e-8)


# --- what cannot ------------------------------------------------------------------------------------------------------


@pytest.mark.drawn(28)
@rig
def test_no_travel_is_exceeded_for_what_is_out_of_reach(method: str, rig: ik.Skeleton) -> None:
    """Near it and far away; and it is said that a limit is in the way, or that the target is too far."""
    off = np.random.default_rng(3).normal(size=(100, 3)) * np.logspace(0, 8, 100)[:, None]
    found = ik.solve(
        rig, thrown(rig, 100, 9), reach(rig, allowed(rig, 100, 3), off=off), method, iterations=patience(method) // 2
    )
    assert is_within(rig, found)
    assert np.all(found.status < ik.Status.NOT_FINITE)
    assert np.all(np.isfinite(found.error))
    if rig is RIGS["root anywhere"]:
        return
    away = np.linalg.norm(off, axis=-1) > 40
    assert np.all(found.status[away] & ik.Status.TOO_FAR)
    if method in (
        "sdls",
        "sns",
    ):  # which come ever more slowly, and stall where next to nothing is gained
        away &= found.status & ik.Status.STALLED == 0
    assert np.all(found.status[away] & ik.Status.AT_LIMIT)


@pytest.mark.parametrize("iterations", [0, 1, 2, 5])
def test_nor_when_it_ends_early(method: str, iterations: int) -> None:
    for skeleton in RIGS.values():
        goals = reach(skeleton, allowed(skeleton, 50, 5))
        assert is_within(skeleton, ik.solve(skeleton, thrown(skeleton, 50, 6), goals, method, iterations=iterations))


@pytest.mark.parametrize("textbook", [False, True])
def test_a_root_goes_to_the_end_of_its_travel(method: str, textbook: bool) -> None:
    if method == "full_body" and not textbook:
        pytest.skip("out of reach and in conflict it keeps the pose of its first iterations, which is continuous")
    rail = arm(Limit.free(position=[-2 * X, 2 * X]), None, None)
    found = ik.solve(rail, rail.rest, [ik.Reach(2, [9, 0, 0])], method, textbook=textbook, iterations=patience(method))
    if textbook and method == "sns":  # which comes ever more slowly
        assert_allclose(translations(found.pose)[0], 2 * X, atol=1e-9)
        return
    assert_array_equal(translations(found.pose)[0], 2 * X)
    creep = (NEARLY_AS_PUBLISHED if textbook else NEARLY).get(method, 5e-5)
    assert 0 <= found.error - 5 <= creep
    assert found.status & ik.Status.TOO_FAR
    assert found.status & ik.Status.AT_LIMIT


def test_what_only_slides_goes_as_near_as_it_can(method: str) -> None:
    point, target = RIGS["point"], np.random.default_rng(1).normal(size=(50, 3)) * 2
    found = ik.solve(point, point.rest, [ik.Reach(0, target)], method)
    nearest = np.clip(target, -1, 1)
    assert_allclose(translations(found.pose)[:, 0], nearest, rtol=0, atol=1e-6)
    missed = np.any(nearest != target, axis=-1)
    assert np.all(found.status[missed] & ik.Status.AT_LIMIT)
    assert np.all(found.status[~missed] == 0)


# --- what stays -------------------------------------------------------------------------------------------------------


def test_what_does_not_slide_keeps_its_translation_to_the_bit(method: str, dtype: Any) -> None:
    """Also of the joint that slides, where the chain starts below it, and along axes without travel."""
    skeleton = tree(Limit.free(position=FLOOR), LONG, None, None, None, None)
    pose = allowed(skeleton, 40, 8)
    moved = (translations(pose) + np.random.default_rng(0).normal(size=translations(pose).shape) / 50).astype(dtype)
    start = ik.Pose(pose.rotations.astype(dtype), moved)
    for chain, sliding in (("0", [0, 1]), ("1", [1]), ("2", [])):
        found = ik.solve(skeleton, start, [ik.Reach(3, [1, 2, 1], chain=chain)], method)
        still = [joint for joint in range(6) if joint not in sliding]
        assert translations(found.pose)[:, still].tobytes() == moved[:, still].tobytes()
        for joint in sliding:
            low, high = travel(skeleton, joint, dtype)
            fixed = low == high
            assert_array_equal(translations(found.pose)[:, joint, fixed], np.tile(low[fixed], (40, 1)))


def test_a_slide_turns_nothing(method: str) -> None:
    """A locked joint keeps its rotation, as do the children of a chain that only slides."""
    gantry = ik.Skeleton([-1, 0, 1, 2], [0 * X, 0 * X, 0 * X, 0.5 * UP], limits=[*SIDES, Limit.locked()])
    start = allowed(gantry, 30, 1)
    found = ik.solve(gantry, start, reach(gantry, allowed(gantry, 30, 2)), method)
    assert np.all(found.status == 0)
    assert_array_equal(found.pose.rotations, start.rotations)


@pytest.mark.drawn(28)
@rig
def test_no_place_to_reach_moves_nothing_along(method: str, rig: ik.Skeleton) -> None:
    """Neither where only a rotation is wanted, nor where nothing counts."""
    start, goals = allowed(rig, 50, 4), reach(rig, allowed(rig, 50, 3), turned=True)
    turned = ik.solve(rig, start, [ik.Reach(goal.joint, rotation=goal.rotation) for goal in goals], method)
    assert np.all(turned.status == 0)
    weightless = ik.solve(rig, start, [ik.Reach(goal.joint, goal.position, weight=0.0) for goal in goals], method)
    for found in (turned, weightless):
        assert_allclose(translations(found.pose), translations(start), rtol=0, atol=1e-15)


@pytest.mark.drawn(28)
@rig
def test_without_a_tolerance_it_goes_on(method: str, rig: ik.Skeleton) -> None:
    found = ik.solve(
        rig, allowed(rig, 50, 4), reach(rig, allowed(rig, 50, 3)), method, iterations=patience(method), tolerance=0
    )
    most(method, found.error < 1e-7)


@pytest.mark.parametrize("bad", ["target", "start", "translation", "weight"])
def test_what_cannot_be_used_comes_back(method: str, bad: str) -> None:
    skeleton = RIGS["tree"]
    pose, position, weight = thrown(skeleton, 3, 4), np.ones((3, 3)), np.ones(3)
    turned, moved = pose.rotations.copy(), translations(pose).copy()
    row = {"target": position[1], "start": turned[1, 0], "translation": moved[1, 1], "weight": weight[1:2]}[bad]
    row[0] = np.nan
    start = ik.Pose(turned, moved)
    with pytest.warns(ik.UnusableWarning, match="1 of 3 items"):
        found = ik.solve(skeleton, start, [ik.Reach(3, position, weight=weight), ik.Reach(5, [-1, 1, 1])], method)
    assert list(found.status & ik.Status.NOT_FINITE > 0) == [False, True, False]
    assert translations(found.pose)[1].tobytes() == translations(start)[1].tobytes()
    assert found.pose.rotations[1].tobytes() == start.rotations[1].tobytes()


# --- items, frames, options -------------------------------------------------------------------------------------------


@pytest.mark.drawn(28)
@rig
def test_a_batch_is_its_items(method: str, dtype: Any, rig: ik.Skeleton) -> None:
    """Out of reach, too, where more is said."""
    start = thrown(rig, 37, 3)
    start = ik.Pose(start.rotations.astype(dtype), translations(start).astype(dtype))
    off = np.linspace(0, 4, 37)[:, None]
    goals = reach(rig, allowed(rig, 37, 4), off=off)
    found = ik.solve(rig, start, goals, method, iterations=40)
    for item in range(37):
        pose = ik.Pose(start.rotations[item], translations(start)[item])
        one = ik.solve(
            rig, pose, [ik.Reach(goal.joint, np.asarray(goal.position)[item]) for goal in goals], method, iterations=40
        )
        assert translations(one.pose).tobytes() == translations(found.pose)[item].tobytes()
        assert one.pose.rotations.tobytes() == found.pose.rotations[item].tobytes()
        assert (one.status, one.error, one.iterations) == (
            found.status[item],
            found.error[item],
            found.iterations[item],
        )


@pytest.mark.drawn(28)
@rig
def test_frames_that_follow_each_other_are_near_each_other(method: str, rig: ik.Skeleton) -> None:
    """Along a path that some motion takes no joint makes more than two of its steps."""
    ends, t = allowed(rig, 2, 11), np.linspace(0, 1, 121)[:, None, None]
    turned = (1 - t) * ends.rotations[0] + t * ends.rotations[1]
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    way = ik.Pose(turned, (1 - t) * translations(ends)[0] + t * translations(ends)[1])
    start = ik.Pose(ends.rotations[0], translations(ends)[0])
    found = ik.solve(rig, start, reach(rig, way), method, iterations=patience(method), sequence=True)
    assert np.all(found.status == 0)
    assert is_within(rig, found)
    steps = [np.linalg.norm(np.diff(rig.forward(pose).positions, axis=0), axis=-1) for pose in (found.pose, way)]
    assert steps[0].max() <= 2 * steps[1].max()


def test_a_pole_turns_a_chain_that_slides(method: str) -> None:
    """About the line from where its base has come to."""
    skeleton = arm(Limit.free(position=FLOOR), None, LONG)
    pole = [[0, 1, 9], [0, 1, -9], [9, 1, 0]]
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(2, [1, 1.2, 0.5], pole=pole)], method)
    assert np.all(found.status == 0)
    assert is_within(skeleton, found)
    base, knee, end = np.moveaxis(skeleton.forward(found.pose).positions, 1, 0)
    line = (end - base) / np.linalg.norm(end - base, axis=-1, keepdims=True)
    bent, wanted = (v - np.sum(v * line, axis=-1, keepdims=True) * line for v in (knee - base, pole - base))
    size = np.linalg.norm(bent, axis=-1) * np.linalg.norm(wanted, axis=-1)
    straight = np.linalg.norm(bent, axis=-1) < 1e-6
    assert np.all((np.sum(bent * wanted, axis=-1) >= (1 - 1e-9) * size) | straight)


def test_weights_say_which_goal_a_root_slides_to(method: str) -> None:
    """A beam that does not turn, on a rail, with a goal at either end: by the weights."""
    if method == "full_body":
        pytest.skip("out of reach and in conflict it keeps the pose of its first iterations, which is continuous")
    locked = Limit.locked()
    beam = ik.Skeleton([-1, 0, 0], [0 * X, -X, X], limits=[Limit.locked(position=[-9 * X, 9 * X]), locked, locked])
    for weights, at in (((1, 1), 1), ((3, 1), -1), ((1, 0), -3), ((0, 1), 5)):
        goals = [ik.Reach(1, [-4, 0, 0], weight=weights[0]), ik.Reach(2, [6, 0, 0], weight=weights[1])]
        found = ik.solve(beam, beam.rest, goals, method)
        assert_allclose(translations(found.pose)[0], [at, 0, 0], rtol=0, atol=1e-4)


def test_a_root_that_may_go_anywhere_goes_far(method: str) -> None:
    skeleton = RIGS["root anywhere"]
    target = np.random.default_rng(1).normal(size=(50, 3)) * 30
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(3, target)], method, iterations=1000)
    assert np.all(found.status == 0)
    assert_allclose(skeleton.forward(found.pose).positions[:, 3], target, rtol=0, atol=3.1e-5)


def test_no_travel_is_no_slide(method: str) -> None:
    """The same as where nothing slides, but that what comes in is brought to where it must be."""
    held = arm(Limit.free(position=[0 * X, 0 * X]), None, Limit.free(position=[0 * X, 0 * X]), None)
    free, target = arm(None, None, None, None), np.random.default_rng(2).normal(size=(50, 3))
    found, other = (ik.solve(s, s.rest, [ik.Reach(3, target)], method) for s in (held, free))
    assert_array_equal(translations(found.pose), np.tile(held.offsets, (50, 1, 1)))
    assert_array_equal(found.status == 0, other.status == 0)


def test_workers_change_nothing(method: str) -> None:
    skeleton = RIGS["tree with limits"]
    goals = reach(skeleton, allowed(skeleton, 500, 6))
    one, several = (ik.solve(skeleton, skeleton.rest, goals, method, workers=workers) for workers in (1, 3))
    assert same_bits(one, several)
    assert translations(one.pose).tobytes() == translations(several.pose).tobytes()


@pytest.mark.parametrize("moved", [False, True])
def test_a_solver_answers_translations_where_joints_slide(method: str, moved: bool) -> None:
    skeleton = RIGS["root along x"]
    made = pickle.loads(pickle.dumps(ik.Solver(skeleton, [ik.Reach(3, position=...)], method, translations=moved)))
    assert made.signature == f"(j,q),{'(j,p),' * moved}(p)->(j,q),(j,p),(),()"
    start = [skeleton.offsets + np.array([0.1, 0, 0])] * moved
    targets = np.random.default_rng(5).normal(size=(20, 3))
    found = ik.solve(skeleton, ik.Pose(skeleton.rest.rotations, *start), [ik.Reach(3, targets)], method)
    expected = found.pose.rotations, translations(found.pose), found.error, found.status
    assert any(status == 0 for status in found.status)
    assert translations(found.pose).std(axis=0).any()
    together = made(skeleton.rest.rotations, *start, targets)
    apart = zip(*(made(skeleton.rest.rotations, *start, target) for target in targets), strict=True)
    for right, batch, items in zip(expected, together, apart, strict=True):
        assert right.tobytes() == batch.tobytes() == np.stack(items).tobytes()


def test_what_slides_is_refused_where_the_pose_has_scales(method: str) -> None:
    skeleton = RIGS["root along x"]
    scaled = ik.Pose(skeleton.rest.rotations, None, np.ones((4, 3)))
    with pytest.raises(ValueError, match="takes no sliding joint where the pose has scales; leave those out"):
        ik.solve(skeleton, scaled, [ik.Reach(3, UP)], method)


def test_what_slides_and_could_slide_on_is_not_too_short(method: str) -> None:
    """Two places that contradict each other, each of which can be reached."""
    if method == "full_body":
        pytest.skip("out of reach and in conflict it keeps the pose of its first iterations, which is continuous")
    root = ik.Limit.free(position=[[-10] * 3, [10] * 3])
    skeleton = ik.Skeleton([-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], limits={0: root})
    goals = [ik.Reach(1, [3, 0, 0]), ik.Reach(2, [-3, 0, 0.5])]
    assert all(ik.solve(skeleton, skeleton.rest, [goal], method).status == 0 for goal in goals)
    assert ik.solve(skeleton, skeleton.rest, goals, method).status == ik.Status.CONFLICT


@pytest.mark.drawn(28)
@rig
def test_nothing_is_too_far_that_some_pose_reaches(method: str, rig: ik.Skeleton) -> None:
    """Two joints of a chain where different poses have them: each can be reached, though a slide may be at its end for
    the other.
    """
    ends = sorted({len(rig) // 2, len(rig) - 1})
    worlds = [rig.forward(allowed(rig, 300, 11 + end)) for end in ends]
    goals = [ik.Reach(end, world.positions[:, end]) for end, world in zip(ends, worlds, strict=True)]
    found = ik.solve(rig, rig.rest, goals, method, iterations=30)
    assert not np.any(found.status & (ik.Status.TOO_FAR | ik.Status.TOO_NEAR))


def test_too_near_is_what_no_travel_makes_short_enough(method: str) -> None:
    """A bone of 5 or more, and one of 1 to 1.5: what ends nearer than 3.5 is too near."""
    long, short = Limit.free(position=[0 * X, [0, np.inf, 0]]), Limit.free(position=[0 * X, 0.5 * UP])
    skeleton = ik.Skeleton([-1, 0, 1], [0 * UP, 5 * UP, UP], limits=[None, long, short])
    target = np.array([3.4, 3.6])[:, None] * [[0.6, 0.8, 0]]
    found = ik.solve(skeleton, skeleton.rest, [ik.Reach(2, target)], method, iterations=1000)
    assert found.status[0] & ik.Status.TOO_NEAR
    assert_allclose(found.error[0], 0.1, rtol=1e-2)
    assert found.status[1] == 0


def test_what_is_too_far_is_told_what_brings_it_nearer(method: str) -> None:
    """No other method does: all of them say the same. Slides that go farther do."""
    found = ik.solve(RIGS["root along x"], RIGS["root along x"].rest, [ik.Reach(3, [9, 0, 0])], method)
    assert found.status & (ik.Status.TOO_FAR | ik.Status.AT_LIMIT) == ik.Status.TOO_FAR | ik.Status.AT_LIMIT
    assert [line for line in found.explain().splitlines() if line.startswith("Try: ")] == [
        "Try: bring the target nearer, start the chain at a joint higher up, or move the root.",
        "Try: let joints slide farther.",
    ]
    farther = arm(Limit.free(position=[-9 * X, 9 * X]), None, None, None)
    assert ik.solve(farther, farther.rest, [ik.Reach(3, [9, 0, 0])], method).status == 0
