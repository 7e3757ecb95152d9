"""Mass-spring against sweeps over points in NumPy, whose counts are published; what springs to tip and base do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import forward, in_line, in_shell, rope
from numpy.testing import assert_allclose

import ikcore as ik

Array = Any
pytestmark = pytest.mark.usefixtures("everywhere")


def between(before: Array, after: Array, one: Array, two: Array, joint: Array) -> Array:
    """Position of least energy of a joint's two springs, on its side of the line between its neighbours."""
    far = np.linalg.norm(after - before, axis=-1, keepdims=True)
    line = (after - before) / far
    cosine = (far**2 + one**2 - two**2) / (2 * far * one)  # of the angle at the joint before, by the law of cosines
    off = joint - before - np.sum((joint - before) * line, axis=-1, keepdims=True) * line
    side = off / np.maximum(np.linalg.norm(off, axis=-1, keepdims=True), 1e-300)
    bent = one * (cosine * line + np.sqrt(np.maximum(1 - cosine**2, 0)) * side)
    stretched = (one + (far - one - two) / 2) * line
    folded = np.where(one > two, one - (one - two - far) / 2, -(one + (two - one - far) / 2)) * line
    return np.asarray(before + np.where(far > one + two, stretched, np.where(far < np.abs(one - two), folded, bent)))


def swept(points: Array, lengths: Array, rests: Array, strengths: tuple[float, float, float], share: float) -> Array:
    """One sweep of joints from the tip to the base; of reversed points, from the base to the tip."""
    along, tip, base = strengths
    after = points.copy()
    for i in range(points.shape[-2] - 2, 0, -1):
        here = after[..., i, :]
        wish = between(after[..., i - 1, :], after[..., i + 1, :], lengths[i - 1], lengths[i], here) * 2 * along
        for strength, end, rest in ((tip, -1, rests[0, i]), (base, 0, rests[1, i])):
            if strength:
                wish = wish + strength * (after[..., end, :] + rest * ref.unit(here - after[..., end, :]))
        after[..., i, :] += share * (wish / (2 * along + tip + base) - here)
    return after


def laid(points: Array, lengths: Array) -> Array:
    """The second half of an iteration of FABRIK."""
    after = points.copy()
    for i, length in enumerate(lengths):
        after[i + 1] = after[i] + length * ref.unit(points[i + 1] - after[i])
    return after


def arm(bones: int) -> tuple[ik.Skeleton, Array, Array]:
    """Bones of all directions and lengths, from a base that is not the origin; places all around, and out of reach."""
    rng = np.random.default_rng(3)
    skeleton = ik.Skeleton(np.arange(bones + 1) - 1, rng.normal(size=(bones + 1, 3)))
    reach = np.linalg.norm(skeleton.offsets[1:], axis=-1).sum()
    target = skeleton.offsets[0] + reach * rng.uniform(0.05, 1.2, (40, 1)) * ref.unit(rng.normal(size=(40, 3)))
    return skeleton, ref.unit(rng.normal(size=(40, bones + 1, 4))), target


@pytest.mark.parametrize("iterations", [1, 2, 7])
@pytest.mark.parametrize("strengths", [(256.0, 0.0, 0.0), (256.0, 64.0, 64.0), (100.0, 0.0, 300.0)])
def test_an_iteration_is_a_sweep_there_and_back(iterations: int, strengths: tuple[float, float, float]) -> None:
    skeleton, start, target = arm(6)
    names = ("hierarchy_strength", "effector_strength", "root_strength")
    given: dict[str, Any] = dict(zip(names, strengths, strict=True))
    given |= {"damping": 0.3, "effector_ratio": 0.4, "root_ratio": 0.7, "tolerance": 0.0, "textbook": True}
    found = ik.solvers.spring(skeleton, ik.Pose(start), [ik.Reach(6, target)], iterations=iterations, **given)
    points = forward(skeleton, start)[0]
    for item in range(40):
        joints, end = points[item], points[item, -1].copy()
        lengths = np.linalg.norm(np.diff(joints, axis=0), axis=-1)
        rests = np.stack([0.4 * np.linalg.norm(joints - at, axis=-1) for at in (end, joints[0])])
        rests[1] *= 0.7 / 0.4
        joints[-1] = target[item]
        for _ in range(iterations):
            joints = swept(joints, lengths, rests, strengths, 1.4)
            turned = swept(joints[::-1], lengths[::-1], rests[::-1, ::-1], (strengths[0], *strengths[:0:-1]), 1.4)
            joints = turned[::-1]
        points[item] = laid(joints, lengths)
    assert_allclose(forward(skeleton, found.pose.rotations)[0], points, atol=1e-9)
    assert_allclose(found.error, np.linalg.norm(points[:, -1] - target, axis=-1), atol=1e-9)


# By how much a joint goes, and the published mean and most sweeps until all lengths are right to 1e-4.
@pytest.mark.parametrize(("share", "mean", "most"), [(1.0, 201, 344), (1.5, 131, 220)])
def test_the_sweeps_in_numpy_are_the_published_ones(isa: str, share: float, mean: float, most: int) -> None:
    """The method's sweeps are therefore the published ones too; it is judged by its tip, some sweeps later."""
    if isa != "scalar":
        pytest.skip("nothing here is compiled")
    joints = np.repeat(forward(*rope(10))[0][None], 200, axis=0)
    joints[:, -1] = in_shell(1, 0, 0.95)
    counts = np.zeros(200, int)
    for _ in range(most + 1):
        off = np.abs(np.linalg.norm(np.diff(joints, axis=-2), axis=-1) - 1).max(axis=-1) > 1e-4
        counts += off
        joints[off] = swept(joints[off], np.ones(10), np.zeros((2, 11)), (1, 0, 0), share)
        joints = joints[:, ::-1]
    assert counts.mean() == pytest.approx(mean, abs=0.5)
    assert counts.max() == most


@pytest.mark.parametrize("bones", [1, 2, 3, 10])
def test_few_bones_arrive(dtype: Any, bones: int) -> None:
    skeleton, start = rope(bones)
    target = in_shell(1, 0.1, 0.95) * bones / 10 if bones > 1 else ref.unit(in_shell(1, 0.1, 0.95))
    pose = ik.Pose(start.astype(dtype))
    found = ik.solvers.spring(skeleton, pose, [ik.Reach(bones, target.astype(dtype))], tolerance=1e-4)
    assert not np.any(found.status)
    tips = forward(skeleton, found.pose.rotations)[0][:, bones]
    assert np.linalg.norm(tips - target, axis=-1).max() < 1.1e-4 * bones


def test_less_damping_takes_fewer_iterations() -> None:
    skeleton, start = rope(10)
    goals = [ik.Reach(10, in_shell(1, 0, 0.95))]
    found = [ik.solvers.spring(skeleton, ik.Pose(start), goals, damping=damping) for damping in (0.1, 0.25, 0.4)]
    assert not any(np.any(each.status) for each in found)
    means = [np.mean(each.iterations) for each in found]
    assert means == sorted(means)


def test_all_damped_nothing_moves() -> None:
    skeleton, start, target = arm(6)
    goals = [ik.Reach(6, target)]
    found = ik.solvers.spring(skeleton, ik.Pose(start), goals, damping=1, iterations=20, history=True)
    assert found.history is not None
    assert np.ptp(found.history[:, 1:], axis=-1).max() == 0


@pytest.mark.parametrize("strength", ["effector_strength", "root_strength"])
def test_springs_to_tip_and_base_draw_joints_there(strength: str) -> None:
    """And keep the chain a little off its target, where another method goes on."""
    skeleton, start = rope(10)
    goals = [ik.Reach(10, in_shell(2, 0.4, 0.8))]
    spring: dict[str, Any] = {strength: 64.0}
    drawn = spring | {strength.replace("strength", "ratio"): 0.0}
    plain = ik.solvers.spring(skeleton, ik.Pose(start), goals)
    found = ik.solvers.spring(skeleton, ik.Pose(start), goals, iterations=100, **drawn)
    end = 10 if strength == "effector_strength" else 0
    away = []
    for solution in (plain, found):
        points = forward(skeleton, solution.pose.rotations)[0]
        away.append(np.linalg.norm(points - points[:, end : end + 1], axis=-1).mean())
    assert away[1] < 0.95 * away[0]
    assert np.mean(found.status != 0) > 0.9
    stages = [ik.solvers.Stage("spring", goals, iterations=10, **spring), ik.solvers.Stage("fabrik", goals)]
    assert not np.any(ik.solvers.stages(skeleton, ik.Pose(start), stages).status)


@pytest.mark.parametrize("distance", [0.0, 1.0, 3.5, 5.0])
def test_a_chain_in_line_with_its_target_is_bent_first(distance: float) -> None:
    in_line(ik.solvers.spring, distance)


def test_out_of_reach_the_strain_is_shared_and_the_chain_straight() -> None:
    skeleton, start = rope(10)
    target = 12 * ref.unit(np.random.default_rng(5).normal(size=(20, 3)))
    found = ik.solvers.spring(skeleton, ik.Pose(start), [ik.Reach(10, target)], iterations=1000)
    assert np.all(found.status & ik.Status.TOO_FAR)
    assert_allclose(found.error, 2, atol=1e-6)
    wanted = np.arange(11)[:, None] / 12 * target[:, None]
    assert_allclose(forward(skeleton, found.pose.rotations)[0], wanted, atol=1e-2)
