"""Bodies with four, six and eight legs on uneven ground: judged by forward kinematics and rays of the test's own."""

from __future__ import annotations

import os
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore.bodies import ManyLegsNode

Array = NDArray[Any]
MOCAP = os.environ.get("IKCORE_MOCAP")
PAGE = Path(__file__).parents[2] / "docs/guide/many_legs.md"


def table(pairs: int, bones: int = 2, limit: ik.Limit | None = None) -> tuple[ik.Skeleton, list[tuple[int, int]]]:
    """A body of 0.8 m with a chest, and pairs of legs; feet with a limit."""
    parents, offsets = [-1, 0], [[0.0, 0.8, -0.4], [0, 0, 0.8]]
    legs, limits = [], {}
    for z in np.linspace(0, 0.8, pairs):
        for x in (0.3, -0.3):
            first = len(parents)
            parents += [0, *range(first, first + bones)]
            offsets += [[x, 0, float(z)]]
            for bone in range(bones):
                offsets.append([0.05 * np.sign(x), -0.78 / bones, 0.12 * (-1) ** bone])
            legs.append((first, first + bones))
            limits[first + bones] = limit
    return ik.Skeleton(parents, offsets, limits={k: v for k, v in limits.items() if v is not None}), legs


def roof(height: float) -> ik.Ground:
    return ik.Ground.mesh([[-9, height, -9], [9, height, -9], [0, height, 18]], [[0, 1, 2]])


def uneven(seed: int, size: float = 0.12, scale: float = 1) -> ik.Ground:
    """Heights drawn at random on a grid of 0.35 m."""
    heights = np.random.default_rng(seed).uniform(-size, size, (20, 20))
    vertices = [[0.35 * (i - 10), heights[i, j], 0.35 * (j - 10)] for i in range(20) for j in range(20)]
    faces = [
        face
        for i in range(19)
        for j in range(19)
        for face in ([20 * i + j, 20 * i + j + 1, 20 * i + j + 20], [20 * i + j + 1, 20 * i + j + 21, 20 * i + j + 20])
    ]
    return ik.Ground.mesh(np.multiply(vertices, scale), faces)


def stances(skeleton: ik.Skeleton, count: int) -> ik.Pose:
    """The rest pose at several places, turned about the vertical."""
    draw = np.random.default_rng(3)
    turned = np.tile(np.asarray(skeleton.rest.rotations), (count, 1, 1))
    turned[:, 0] = ik.rotations.multiply(ik.rotations.exp(draw.uniform(-3, 3, (count, 1)) * [0, 1.0, 0]), turned[:, 0])
    slid = np.tile(skeleton.offsets, (count, 1, 1))
    slid[:, 0, [0, 2]] += draw.uniform(-1.5, 1.5, (count, 2))
    return ik.Pose(turned, slid)


def turn_between(a: Array, b: Array) -> Array:
    off = ik.rotations.multiply(a, ik.rotations.conjugate(b))
    found: Array = np.degrees(np.linalg.norm(ik.rotations.log(ik.rotations.canonical(off)), axis=-1))
    return found


def gaps(skeleton: ik.Skeleton, pose: ik.Pose, feet: list[int], soles: Array, ground: ik.Ground) -> Array:
    """Distance of soles, given in the space of the feet, from the ground along vertical rays."""
    world = skeleton.forward(pose)
    points = world.positions[:, feet] + ik.rotations.rotate(world.rotations[:, feet], soles)
    high = np.add(points, [0, 3.0, 0])
    return np.asarray(np.abs(ground.cast(high, [0, -1.0, 0]).distance - 3))


@pytest.mark.parametrize("pairs", [2, 3, 4])
@pytest.mark.parametrize("bones", [2, 3])
def test_feet_stand_on_uneven_ground(pairs: int, bones: int) -> None:
    skeleton, legs = table(pairs, bones)
    came, feet = stances(skeleton, 60), [foot for _, foot in legs]
    soles = np.array([0, -0.02, 0.0])
    for seed in range(3):
        ground = uneven(seed)
        node = ManyLegsNode(ground, legs, 0, 1)
        found = node(skeleton, came)
        reached = found.status == 0
        assert reached.mean() > 0.9
        world = skeleton.forward(found.pose)
        assert gaps(skeleton, found.pose, feet, soles, ground)[reached].max() < 1e-3
        tilt = turn_between(world.rotations[:, feet], skeleton.forward(came).rotations[:, feet])
        assert tilt.max() <= np.degrees(node.max_foot_angle) + 1e-6
        length = sum(np.linalg.norm(skeleton.offsets[k]) for k in range(legs[0][0] + 1, legs[0][1] + 1))
        reach = np.linalg.norm(world.positions[:, feet] - world.positions[:, [hip for hip, _ in legs]], axis=-1)
        rest = np.linalg.norm(skeleton.forward(skeleton.rest).positions[legs[0][1]] - [0.3, 0.8, -0.4])
        assert reach.max() <= max(node.max_extension * length, rest) + 1e-6


def test_a_foot_at_its_limit_still_touches() -> None:
    skeleton, legs = table(2, 2, ik.Limit.cone([0.0, 1, 0], 0.1))
    ground, feet = uneven(1), [foot for _, foot in legs]
    found = ManyLegsNode(ground, legs, 0, 1, max_foot_angle=0.6, iterations=12)(skeleton, stances(skeleton, 40))
    for foot in feet:
        assert skeleton.limits[foot].violation(found.pose.rotations[:, foot]).max() < 1e-6  # type: ignore[union-attr]
    reached = found.error < 1e-3
    assert reached.mean() > 0.9
    points = gaps(skeleton, found.pose, feet, np.array([0, -0.02, 0.0]), ground)
    assert points[reached].max() < 1.5e-3


def test_flat_ground_changes_nothing() -> None:
    skeleton, legs = table(3)
    came = stances(skeleton, 5)
    found = ManyLegsNode(ik.Ground.plane(), legs, 0, 1)(skeleton, came)
    assert turn_between(found.pose.rotations, came.rotations).max() < 1e-4
    assert (found.status == 0).all()


@pytest.mark.parametrize("bones", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_has_the_bits_of_its_items(bones: int, dtype: Any) -> None:
    skeleton, legs = table(2, bones, ik.Limit.cone([0.0, 1, 0], 0.2))
    came = stances(skeleton, 8)
    came = ik.Pose(came.rotations.astype(dtype), came.translations.astype(dtype))  # type: ignore[union-attr]
    node = ManyLegsNode(uneven(2), legs, 0, 1, foot_length=0.1, foot_width=0.06, ceiling=0.1)
    found = node(skeleton, came)
    assert found.pose.dtype == dtype
    assert found.pose.translations is not None
    for k in range(8):
        alone = node(skeleton, came[k])
        assert alone.pose.rotations.tobytes() == found.pose.rotations[k].tobytes()
        assert np.asarray(alone.pose.translations).tobytes() == found.pose.translations[k].tobytes()


@pytest.mark.parametrize("bones", [2, 3])
def test_continuous_in_the_height_of_the_ground(bones: int) -> None:
    """Steps of 7 mm under one foot, up and down to where no leg reaches: no joint jumps by 5 degrees."""
    skeleton, legs = table(2, bones)
    last = None
    for height in np.arange(-0.42, 0.42, 0.007):
        step: list[list[float]] = [[0.1, height, 0.2], [0.8, height, 0.2], [0.8, height, 0.8], [0.1, height, 0.8]]
        hole: list[list[float]] = [
            [-3, 0, -3],
            [3, 0, -3],
            [3, 0, 0.2],
            [-3, 0, 0.2],
            [-3, 0, 3],
            [0.1, 0, 3],
            [0.1, 0, 0.2],
        ]
        ground = ik.Ground.mesh(step, [[0, 2, 1], [0, 3, 2]]) + ik.Ground.mesh(
            hole, [[0, 3, 2], [0, 2, 1], [3, 4, 5], [3, 5, 6]]
        )
        found = ManyLegsNode(ground, legs, 0, 1)(skeleton, skeleton.rest)
        turned = np.asarray(found.pose.rotations)
        if last is not None:
            assert turn_between(turned, last).max() < 5, height
        last = turned


def test_the_body_stays_below_a_ceiling() -> None:
    skeleton, legs = table(2)
    for height in (1.2, 0.9, 0.75, 0.6):
        ground = ik.Ground.plane() + roof(height)
        found = ManyLegsNode(ground, legs, 0, 1, ceiling=0.1)(skeleton, skeleton.rest)
        top = skeleton.forward(found.pose).positions[:2, 1].max()
        assert top <= max(height - 0.1, 0) + 1e-9
        assert found.status == 0


def test_without_influence_the_pose_is_unchanged_to_the_bit() -> None:
    skeleton, legs = table(2)
    came = stances(skeleton, 4)
    scaled = ik.Pose(came.rotations * 1.7, came.translations)
    found = ManyLegsNode(uneven(1), legs, 0, 1, influence=[0, 0, 0.5, 1])(skeleton, scaled)
    assert found.pose.rotations[:2].tobytes() == scaled.rotations[:2].tobytes()
    moved, given = np.asarray(found.pose.translations), np.asarray(scaled.translations)
    assert moved[:2].tobytes() == given[:2].tobytes()
    assert (found.pose.rotations[2:] != scaled.rotations[2:]).any(axis=(1, 2)).all()


def test_a_pose_that_is_not_finite_is_kept() -> None:
    skeleton, legs = table(2)
    turned = np.array(stances(skeleton, 3).rotations)
    turned[1, 4] = np.nan
    with pytest.warns(ik.UnusableWarning):
        found = ManyLegsNode(uneven(1), legs, 0, 1)(skeleton, ik.Pose(turned))
    assert found.status[1] == ik.Status.NOT_FINITE
    assert found.status[0] != ik.Status.NOT_FINITE


# --- rigs ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not MOCAP, reason="needs IKCORE_MOCAP")
@pytest.mark.parametrize("kind", ["fox", "spider"])
def test_rigs(kind: str) -> None:
    if kind == "fox":
        clip = ik.Clip.read(f"{MOCAP}/Fox.glb", animation="Walk")
        ends = [("b_LeftUpperArm_09", "b_LeftHand_011"), ("b_RightUpperArm_06", "b_RightHand_08")]
        ends += [("b_LeftLeg01_015", "b_LeftFoot02_018"), ("b_RightLeg01_019", "b_RightFoot02_022")]
        options: dict[str, Any] = {"pelvis": "b_Hip_01", "chest": "b_Spine02_03"}
        size, tips = 80.0, None
    else:
        clip = ik.Clip.read(f"{MOCAP}/Spider.glb", animation="Walk-loop")
        feet = ik.Feet.detect(clip.skeleton)
        ends = [(str(leg.hip), leg.foot) for leg in feet]
        tips = [leg.soles["ball"].offset for leg in feet]
        options, size = {"pelvis": "Root"}, 1.0
    skeleton = clip.skeleton
    ground = uneven(4, 0.06, size)
    node = ManyLegsNode(
        ground, ends, trace_above=0.5 * size, trace_below=0.5 * size, cross_radius=0.2 * size, tips=tips, **options
    )
    found = node(skeleton, ik.Pose(clip.pose.rotations, clip.pose.translations))
    print(found.summary(), (found.error < 1e-3 * size).mean())
    assert (found.error < 1e-3 * size).mean() > 0.9


# --- the page --------------------------------------------------------------------------------------------------------


def named() -> list[list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in lines[1:]]


CHANGED: dict[str, Any] = {
    "chest": None, "forward": [1.0, 0, 0], "trace_above": 0.001, "trace_below": 0.001, "cross_radius": 0.6,
    "foot_height": 0.2, "foot_length": 0.3, "foot_width": 0.3, "foot_weight": 0.5, "foot_rotation_weight": 0.5,
    "max_foot_angle": 0.01, "reference_pose": True, "min_extension": 0.95, "max_extension": 0.6,
    "move": False, "pitch_weight": 0.1, "roll_weight": 0.1, "max_pitch": 0.001, "max_roll": 0.001,
    "dip": 1.0, "ceiling": 0.3, "iterations": 1, "sides": [[1.0, 0, 0]] * 4, "influence": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("row", named(), ids=lambda row: row[1])
def test_every_parameter_of_the_original_does_something(row: list[str]) -> None:
    _, here, default = row[:3]
    known = {field.name: field.default for field in fields(ManyLegsNode)}
    if known[here] is not MISSING:
        assert default == f"{known[here]}"
    skeleton, legs = table(2, 2, ik.Limit.cone([0.0, 1, 0], 0.15) if here == "iterations" else None)
    base = ManyLegsNode(uneven(1) + roof(1.0), legs, 0, 1, max_foot_angle=0.5)
    if here == "max_extension":
        base = replace(base, min_extension=0.1)
    came = stances(skeleton, 3)
    nodded = np.array(came.rotations)
    nodded[:, [4, 7]] = ik.rotations.exp([0.1, 0.0, 0])
    came = came.with_rotations(nodded, came.translations)
    if here == "forward":
        base = replace(base, chest=None, max_pitch=0.02)
    first = base(skeleton, came).pose
    if here in ("ground", "legs", "pelvis"):
        other: Any = {"ground": uneven(2), "legs": legs[:2], "pelvis": 0}[here]
        second = replace(base, **{here: other})(skeleton, came).pose
        assert here == "pelvis" or (first.rotations != second.rotations).any()
        return
    second = replace(base, **{here: CHANGED[here]})(skeleton, came).pose
    same = (first.rotations == second.rotations).all() and (first.translations == second.translations).all()  # type: ignore[union-attr]
    assert not same
