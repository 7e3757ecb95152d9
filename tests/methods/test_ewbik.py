"""Everything Will Be IK on `ccd`: pins as points that joints fit, against the same in NumPy by singular values.

`fitted` is that: forward kinematics after every turn, all points of all pins below a joint at once.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference as ref
import which
from chains import KINDS, Y, forward, limited
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import rotations

Array = Any
everywhere = pytest.mark.usefixtures("everywhere")

PAGE = (Path(__file__).parents[2] / "docs/methods/ewbik.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("| ").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
CALLS = [row[-1].strip("`") for row in ROWS if row[-1].startswith("`ik.")]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """The names that the page defines."""
    made: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        for example in doctest.DocTestParser().get_examples(block):
            exec(example.source, made)
    return made


# --- beside the same in NumPy -----------------------------------------------------------------------------------------


def points(
    joint: int, place: Array, turned: Array, weight: float, priorities: tuple[float, ...], lever: float
) -> list[Any]:
    """The points of a pin: joint, where each is in its space and should be in the world, and its weight."""
    shares = np.divide(priorities, max(priorities))
    ends = [
        (end * axis, weight * share) for axis, share in zip(np.eye(3), shares, strict=True) for end in (lever, -lever)
    ]
    arms = [(joint, end, place + ref.rotate(turned, end), share) for end, share in ends]
    return [(joint, np.zeros(3), place, weight), *arms]


def kabsch(correlation: Array) -> Array:
    """The proper rotation matrix R that has the largest trace of R times the sum of weight * a b^T."""
    left, _, right = np.linalg.svd(correlation)
    mirror = np.sign(np.linalg.det(left) * np.linalg.det(right))
    return right.T @ np.diag([1, 1, mirror]) @ left.T


def line_of(skeleton: ik.Skeleton, joint: int) -> list[int]:
    """A joint and those above it."""
    return [] if joint < 0 else [joint, *line_of(skeleton, int(skeleton.parents[joint]))]


def fitted(skeleton: ik.Skeleton, pose: Array, headings: list[Any], most: float = 4.0) -> Array:
    """A pose after one visit of each joint, from the tips: no turn is over `most`, and then its limit holds."""
    pose = pose.copy()
    for joint in reversed(range(len(skeleton))):
        at, turned = forward(skeleton, pose)
        correlation = np.zeros((3, 3))
        for end, offset, target, weight in headings:
            if joint in line_of(skeleton, end):
                arm = at[end] + ref.rotate(turned[end], offset) - at[joint]
                correlation += weight * np.outer(arm, target - at[joint])
        if not np.any(correlation):
            continue
        turn = rotations.log(rotations.from_matrix(kabsch(correlation)))
        turn *= most / max(float(np.linalg.norm(turn)), most)
        parent = skeleton.parents[joint]
        back = ref.conjugate(turned[parent]) if parent >= 0 else np.array([1.0, 0, 0, 0])
        local = ref.multiply(back, ref.multiply(rotations.exp(turn), turned[joint]))
        limit, rest = skeleton.limits[joint], skeleton.rest.rotations[joint]
        if limit is not None:
            local = ref.multiply(rest, limit.project(ref.multiply(ref.conjugate(rest), local)))
        pose[joint] = local
    return pose


TREES = {"tree": (Y, (6, 9)), "chain": (ik.Skeleton.chain(np.random.default_rng(5).normal(size=(7, 3))), (6, 3))}


@everywhere
@pytest.mark.parametrize("priorities", [(1, 1, 1), (0.2, 0, 0.2), (0.5, 0.1, 0)])
@pytest.mark.parametrize("kind", [None, "cone", "kusudama"])
@pytest.mark.parametrize("degrees", [None, 5])
@pytest.mark.parametrize("tree", TREES)
def test_sweeps_fit_points_as_they_do_in_numpy(
    tree: str, degrees: float | None, kind: str | None, priorities: tuple[float, ...], names: dict[str, Any]
) -> None:
    """Places and arms of two pins, of any weight; turns that are cut, and limits of which most bind."""
    skeleton, ends = TREES[tree]
    count, rng = len(skeleton), np.random.default_rng(1)
    pose = rotations.exp(rng.normal(size=(count, 3)) * 0.3)
    if limit := KINDS[kind] if kind else None:
        skeleton = ik.Skeleton(skeleton.parents, skeleton.offsets, limits=[limit] * count)
        pose = np.concatenate([limit.sample(1, joint) for joint in range(count)])
    goals: list[ik.Goal] = []
    headings: list[Any] = []
    for end in ends:
        place, turned, weight = rng.normal(size=3) * 2, ref.unit(rng.normal(size=4)), rng.uniform(0.5, 2)
        goals += names["pin"](end, place, turned, weight, priorities, 0.7)
        headings += points(end, place, turned, weight, priorities, 0.7)
    options = {"max_step": np.radians(degrees)} if degrees else {}
    found = ik.ccd(skeleton, ik.Pose(pose), goals, iterations=2, tolerance=0, textbook=True, **options)
    for _ in range(2):
        pose = fitted(skeleton, pose, headings, options.get("max_step", 4.0))
    (at, turned), (places, expected) = forward(skeleton, found.pose.rotations), forward(skeleton, pose)
    assert_allclose(at, places, atol=1e-12)
    assert_allclose(turned * np.sign(np.sum(turned * expected, axis=-1, keepdims=True)), expected, atol=1e-12)
    assert limit is None or limited(skeleton, found) <= 1e-9


@everywhere
@pytest.mark.parametrize("places", [[2.0], [2.0, 3.0], [2.0, -1.0]])
def test_points_in_line_with_a_joint_turn_it_the_shortest_way(places: list[float]) -> None:
    """Any turn about that line would be as good, and cofactors of it vanish."""
    rng = np.random.default_rng(4)
    hub = ik.Skeleton([-1, *[0] * len(places)], [[0, place, 0] for place in (0, *places)])
    for way in (*ref.unit(rng.normal(size=(20, 3))), np.array([0, -1.0, 0])):
        goals = [ik.Reach(end + 1, place * way) for end, place in enumerate(places)]
        found = ik.ccd(hub, hub.rest, goals, iterations=1, textbook=True)
        assert found.error <= 1e-6
        angle = np.linalg.norm(rotations.log(found.pose.rotations[0]))
        assert angle == pytest.approx(np.arccos(way[1]), abs=1e-6)


# --- two goals in place of seven --------------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("degrees", [0, 5])
@pytest.mark.parametrize("tree", TREES)
def test_a_place_and_a_rotation_are_seven_points(tree: str, degrees: float, names: dict[str, Any]) -> None:
    skeleton, ends = TREES[tree]
    rng, bone = np.random.default_rng(2), np.mean(ref.norm(skeleton.offsets[1:]))
    start = ik.Pose(rotations.exp(rng.normal(size=(len(skeleton), 3)) * 0.3))
    goals: dict[str, list[ik.Goal]] = {"pin": [], "even": []}
    for end in ends[:1] if tree == "chain" else ends:
        place, turned, weight = rng.normal(size=3) * 2, ref.unit(rng.normal(size=4)), rng.uniform(0.5, 2)
        goals["pin"] += names["pin"](end, place, turned, weight, arm=0.7)
        goals["even"].append(names["even"](end, place, turned, weight, arm=0.7 / bone))
    options: dict[str, Any] = {
        "iterations": 3,
        "tolerance": 0,
        "textbook": True,
        "max_step": np.radians(degrees) or None,
    }
    seven, two = (ik.ccd(skeleton, start, goals[how], **options).pose.rotations for how in ("pin", "even"))
    assert np.max(np.abs(seven - start.rotations)) > 0.01
    assert_allclose(forward(skeleton, seven)[0], forward(skeleton, two)[0], atol=1e-12)


@pytest.mark.thorough
def test_short_arms_are_reached_as_the_page_says(names: dict[str, Any]) -> None:
    """Row by row, within half of a per cent and a sweep."""
    cases = {case.name: case for case in which.CASES}
    rows = [[float(cell.strip(" %")) for cell in row] for row in ROWS if len(row) == 5 and row[1].endswith(" %")]
    assert len(rows) == 5
    for column, name in ((1, "arm, hand turned"), (3, "spine, head turned")):
        skeleton, (goal,) = cases[name].skeleton, cases[name].goals(cases[name].poses(1000, 0))
        for arm, *said in rows:
            even = names["even"](goal.joint, goal.position, goal.rotation, arm=arm)
            found = ik.ccd(skeleton, skeleton.rest, [even])
            assert 100 * np.mean(found.reached) == pytest.approx(said[column - 1], abs=0.5)
            assert found.iterations.mean() == pytest.approx(said[column], abs=1)


@pytest.mark.thorough
def test_torsos_are_solved_as_the_page_says(names: dict[str, Any]) -> None:
    """As before; by the goals that stand for pins."""
    body = names["body"]
    poses = rotations.exp(np.random.default_rng(0).normal(size=(500, len(body), 3)) * 0.3)
    at, turned = forward(body, poses)
    goals = [names["even"](end, at[:, end], turned[:, end]) for end in map(body.index, names["targets"])]
    said = {row[0].strip("`"): row[1:] for row in ROWS if len(row) == 3 and row[1].endswith(" %")}
    assert list(said) == ["ccd", "fabrik", "dls"]
    for method, (solved, iterations) in said.items():
        found = ik.solve(body, body.rest, goals, method)
        assert 100 * np.mean(found.reached) == pytest.approx(float(solved.strip(" %")), abs=0.5)
        assert found.iterations.mean() == pytest.approx(float(iterations), abs=0.5)


# --- the page ---------------------------------------------------------------------------------------------------------


def test_every_row_has_a_call() -> None:
    first = [row[0] for row in ROWS].index("EWBIK3D, ManyBoneIK3D")
    assert len(ROWS[first + 2 :]) == len(CALLS) >= 18


@pytest.mark.parametrize("call", CALLS)
def test_what_others_call_it_can_be_called(call: str, names: dict[str, Any]) -> None:
    """Row by row, with the names of the page; pins come nearer, but where only limits are asked for."""
    found = eval(call, names)
    assert np.all(found.status < ik.Status.NOT_FINITE)
    assert np.all(found.error < 0.05) or "iterations=0" in call
