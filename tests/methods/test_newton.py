"""newton: its step by differences of the squared error, how soon it rests where something of that stays, and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import in_shell, limited, planar, rope
from numpy.testing import assert_allclose

import ikcore as ik

Array = Any

# Bones of unit length, so that an angle counts as a distance and a damping is what it says.
_OFFSETS = ref.unit(np.random.default_rng(1).normal(size=(6, 3)))
_FORK = [-1, 0, 1, 2, 1, 4]
_SLIDING = ik.Limit.free(position=[[-9, -9, -9], [9, 9, 9]])
FORKS = {
    "balls": ik.Skeleton(_FORK, _OFFSETS),
    "hinges": ik.Skeleton(_FORK, _OFFSETS, limits=[ik.Limit.hinge(axis, -3, 3) for axis in _OFFSETS[::-1]]),
    "slides": ik.Skeleton(_FORK, _OFFSETS, limits=[_SLIDING, None, _SLIDING, *[None] * 3]),
}
PLACES = [ik.Reach(3, [3.0, -2, 1]), ik.Reach(5, [-2.0, 1.5, 2])]


def squared(skeleton: ik.Skeleton, pose: ik.Pose) -> float:
    at = skeleton.forward(pose).positions
    return sum(float((at[goal.joint] - goal.position) @ (at[goal.joint] - goal.position)) for goal in PLACES)


def coordinates(joints: str) -> list[tuple[int, Array, bool]]:
    """A joint, the axis that it turns about in its own space or slides along in its parent's, and which."""
    ways: list[tuple[int, Array, bool]] = []
    for joint in (0, 1, 2, 4):  # nothing hangs from the others
        if joints == "hinges":
            ways.append((joint, _OFFSETS[::-1][joint], False))
        else:
            ways.extend((joint, axis, False) for axis in np.eye(3))
        if joints == "slides" and joint in (0, 2):
            ways.extend((joint, axis, True) for axis in np.eye(3))
    return ways


def moved(skeleton: ik.Skeleton, start: Array, ways: list[tuple[int, Array, bool]], by: Array) -> ik.Pose:
    turns, slides = np.zeros((6, 3)), np.zeros((6, 3))
    for (joint, axis, is_slide), much in zip(ways, by, strict=True):
        (slides if is_slide else turns)[joint] += much * axis
    return ik.Pose(ik.rotations.multiply(start, ik.rotations.exp(turns)), skeleton.offsets + slides)


def differences(square: Callable[[Array], float], count: int) -> tuple[Array, Array]:
    """Slope and second derivatives of half of it, where all is 0."""
    h, eye = 1e-4, np.eye(count)
    slope = np.array([square(h * e) - square(-h * e) for e in eye]) / (4 * h)
    second = [
        [square(h * (a + b)) - square(h * (a - b)) - square(h * (b - a)) + square(-h * (a + b)) for b in eye]
        for a in eye
    ]
    return slope, np.array(second) / (8 * h * h)


@pytest.mark.parametrize("joints", FORKS)
def test_a_step_is_newtons_by_differences(joints: str, everywhere: None) -> None:
    """If the sum of second derivatives and damping is positive definite; otherwise the step is that of dls."""
    skeleton, ways, positive = FORKS[joints], coordinates(joints), []
    for item in range(12):
        rng, damping = np.random.default_rng(item), 5.0 if item % 3 else 2.0
        start = ref.unit(rng.normal([3, 0, 0, 0], 0.7, (6, 4)))
        if joints == "hinges":
            start = ik.rotations.exp(rng.normal(size=(6, 1)) * _OFFSETS[::-1])

        def square(by: Array, start: Array = start) -> float:
            return squared(skeleton, moved(skeleton, start, ways, by))

        slope, second = differences(square, len(ways))
        matrix = second + damping**2 * np.eye(len(ways))
        least = np.linalg.eigvalsh(matrix).min()
        if abs(least) < 0.12 * damping**2:
            continue
        given: dict[str, Any] = {"iterations": 1, "max_step": 4, "textbook": True, "damping": damping}
        found = ik.solvers.newton(skeleton, ik.Pose(start), PLACES, **given).pose
        wanted = moved(skeleton, start, ways, np.linalg.solve(matrix, -slope))
        if least < 0:
            wanted = ik.dls(skeleton, ik.Pose(start), PLACES, **given).pose
        off = ik.rotations.log(ik.rotations.multiply(ref.conjugate(wanted.rotations), found.rotations))
        assert np.abs(off).max() < 1e-6
        if joints == "slides":
            assert found.translations is not None
            assert wanted.translations is not None
            assert_allclose(found.translations, wanted.translations, atol=1e-6)
        positive.append(least > 0)
    assert np.sum(positive) >= 2
    assert not np.all(positive)


def test_where_goals_contradict_each_other_digits_double(everywhere: None) -> None:
    """By dls they do not: it leaves out what bends."""
    skeleton = FORKS["balls"]
    for seed in range(5, 9):
        start = ik.Pose(ref.unit(np.random.default_rng(seed).normal([3, 0, 0, 0], 0.7, (6, 4))))

        def left(method: str, iterations: int, start: ik.Pose = start) -> float:
            found = ik.solve(skeleton, start, PLACES, method, iterations=iterations, textbook=True)
            return squared(skeleton, found.pose)

        best = left("newton", 100)
        assert best > 1
        assert left("newton", 18) - best < 1e-10
        assert left("dls", 36) - best > 1e-6


@pytest.mark.parametrize(("near", "far", "mean"), [(0.0, 0.95, 10), (0.95, 0.999, 14)])
def test_ten_links_take_about_the_iterations_of_dls(near: float, far: float, mean: float) -> None:
    skeleton, start = rope(10)
    found = ik.solvers.newton(skeleton, ik.Pose(start), [ik.Reach(10, in_shell(1, near, far))])
    assert np.all(found.status == 0)
    assert found.iterations.mean() < mean


@pytest.mark.parametrize("links", [4, 8])
def test_planar_hinges_reach_all_targets_that_are_within_their_limits(links: int, everywhere: None) -> None:
    skeleton, start, targets = planar(links, 45)
    found = ik.solvers.newton(skeleton, ik.Pose(start), [ik.Reach(links, targets)], tolerance=1e-3 / links)
    assert np.all(found.status == 0)
    assert found.iterations.mean() < 9
    assert limited(skeleton, found) <= 1e-12


def test_what_cannot_be_reached_within_limits_ends_where_nothing_could_go_on(everywhere: None) -> None:
    """Karush, Kuhn and Tucker: within its range nothing pulls at a hinge, at an end of it only outwards."""
    count, limit = 4, np.pi / 4
    arm, start, targets = planar(count, 45)
    found = ik.solvers.newton(arm, ik.Pose(start), [ik.Reach(count, 1.3 * targets)])
    away = found.status != 0
    angles = 2 * np.arctan2(found.pose.rotations[away, :count, 3], found.pose.rotations[away, :count, 0])
    headings = np.cumsum(angles, axis=-1)
    bones = np.stack([np.cos(headings), np.sin(headings)], axis=-1)
    arms = np.cumsum(bones[:, ::-1], axis=1)[:, ::-1]  # from each hinge to the tip
    off = 1.3 * targets[away, None, :2] - arms[:, :1]
    pull = arms[..., 0] * off[..., 1] - arms[..., 1] * off[..., 0]
    held = np.abs(angles) > limit - 1e-12
    assert np.count_nonzero(held) > 20
    assert np.abs(pull[~held]).max() < 1e-5
    assert (pull * np.sign(angles))[held].min() > -1e-5
