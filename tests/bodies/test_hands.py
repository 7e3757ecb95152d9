"""Hands: lengths, ranges of motion, and grasps judged by samples of the fingers' axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore.bodies import BoxShape, CapsuleShape, grasp, hand

SHAPES: dict[str, Any] = {
    "sphere": CapsuleShape([0.1, 0.0, 0.05], 0.035),
    "cylinder": CapsuleShape([0.1, -0.1, 0.045], 0.03, end=[0.1, 0.02, 0.045]),
    "thin": CapsuleShape([0.11, -0.1, 0.03], 0.012, end=[0.11, 0.02, 0.03]),
    "box": BoxShape([0.1, -0.04, 0.045], [0.025, 0.06, 0.03]),
    "turned box": BoxShape([0.1, -0.04, 0.055], [0.025, 0.06, 0.025], ik.rotations.exp([0, 0.5, 0])),
}


def mirrored(shape: Any) -> Any:
    flip = np.array([-1.0, 1, 1])
    if isinstance(shape, BoxShape):
        turn = np.asarray(shape.rotation) * [1, 1, -1, -1]
        return BoxShape(shape.centre * flip, shape.half, turn)
    return CapsuleShape(shape.start * flip, shape.radius, None if shape.end is None else shape.end * flip)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", list(SHAPES))
def test_fingers_close_until_they_touch(name: str, side: Any) -> None:
    shape = SHAPES[name] if side == "left" else mirrored(SHAPES[name])
    skeleton = hand(side, 0.19)
    held = grasp(skeleton, shape)
    places, thick, deepest = skeleton.forward(held.pose).positions, 0.045 * 0.19, np.inf
    for joint, parent in enumerate(skeleton.parents):
        if parent > 0:
            axis = places[parent] + np.linspace(0, 1, 101)[:, np.newaxis] * (places[joint] - places[parent])
            deepest = min(deepest, float(np.min(shape.distance(axis))) - thick)
    assert -1e-3 < deepest < 1e-3
    print(name, side, held.touching, held.opposed, deepest)
    assert len(held.touching) >= 3
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None:
            assert limit.violation(held.pose.rotations[joint]) < 1e-6, skeleton.names[joint]
    for finger, distances in held.distances.items():
        assert (distances.min() < 1e-4) == (finger in held.touching)


@pytest.mark.parametrize("name", ["sphere", "cylinder", "thin", "box"])
def test_the_thumb_opposes(name: str) -> None:
    assert grasp(hand(), SHAPES[name]).opposed


def test_a_mirrored_grasp_is_the_mirrored_pose() -> None:
    left, right = (
        grasp(hand(side), shape)  # type: ignore[arg-type]
        for side, shape in (("left", SHAPES["cylinder"]), ("right", mirrored(SHAPES["cylinder"])))
    )
    one, other = hand("left").forward(left.pose), hand("right").forward(right.pose)
    assert_allclose(one.positions * [-1, 1, 1], other.positions, atol=1e-5)


def test_nothing_to_grasp() -> None:
    held = grasp(hand(), CapsuleShape([5.0, 0, 0], 0.1))
    assert held.touching == ()
    assert not held.opposed


def test_lengths_and_refusals() -> None:
    skeleton = hand("right", 0.2)
    bones = np.linalg.norm(skeleton.offsets, axis=1)
    assert_allclose(bones[skeleton.index("index2")], 0.2 * 0.245)
    assert len(skeleton) == 21
    with pytest.raises(ValueError, match="side"):
        hand("both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="length"):
        hand("left", 0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CapsuleShape([0.1, 0, np.nan], 0.03), "start: expected 3 finite numbers"),
        (lambda: CapsuleShape([0.1, 0, 0], -0.03), "radius: expected a positive number"),
        (lambda: CapsuleShape([0.1, 0, 0], 0.03, [0.1, 0]), "end: expected 3 finite numbers"),
        (lambda: BoxShape([0.1, 0, 0], [0.1, 0, 0.1]), "half: expected three positive numbers"),
        (lambda: BoxShape([0.1, 0, 0], [0.1, 0.1, 0.1], [1, 0, 0]), "rotation: expected 4 finite numbers"),
        (lambda: grasp(ik.samples.walk(seconds=0.1).clip.skeleton, CapsuleShape([0, 0, 0], 1)), "expected a hand as"),
    ],
)
def test_shapes_and_hands_that_cannot_be_are_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
