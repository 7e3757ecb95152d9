"""Errors that published two-bone solvers have: each is made here on purpose, to see it miss, and two_bone does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from limbs import FAR, NEAR, checked, limbs
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]

EXACT = 1e-13
GROSS = 0.01  # of a limb about as long as 2: what an error here misses by in the median


def unit_rotations(seed: int, count: int) -> Array:
    return ref.unit(np.random.default_rng(seed).standard_normal((count, 4)))


def about(axis: Array, angle: Array) -> Array:
    """A quaternion from a unit axis and an angle."""
    return np.concatenate([np.cos(angle / 2)[..., None], np.sin(angle / 2)[..., None] * axis], axis=-1)


def angle_between(a: Array, b: Array) -> Array:
    return np.asarray(np.arctan2(ref.norm(np.cross(a, b)), np.sum(a * b, axis=-1)))


def local(frame: Array, delta: Array, rotation: Array) -> Array:
    """A joint's local rotation turned by a delta of the world that its parent, `frame`, sees."""
    return ref.multiply(ref.multiply(ref.multiply(ref.conjugate(frame), delta), frame), rotation)


def backwards(frame: Array, delta: Array, rotation: Array) -> Array:
    """The same with the conjugation the wrong way round: out of the parent's space where into it is meant."""
    return local(ref.conjugate(frame), delta, rotation)


@pytest.mark.parametrize(
    ("root", "mid"),
    [
        pytest.param(local, local, id="right"),
        pytest.param(backwards, backwards, id="GLM: vector * inverse(quaternion) turns into the world"),
        pytest.param(local, "hip", id="knee's axis in the space of the hip"),
        pytest.param("world", "world", id="world rotation multiplied into a local one"),
    ],
)
def test_local_rotations_are_made_in_the_space_of_the_parent(root: Any, mid: Any, isa: str) -> None:
    """A limb of a skeleton: every bone along its own local axis, under parents turned at random."""
    inputs = limbs(np.float64, seed=71, reachable=True)
    count = len(inputs["root"])
    parent, local_root, local_mid = (unit_rotations(seed, count) for seed in (72, 73, 74))
    world_root = ref.multiply(parent, local_root)
    world_mid = ref.multiply(world_root, local_mid)
    to_mid = ref.rotate(ref.conjugate(world_root), inputs["mid"] - inputs["root"])
    to_end = ref.rotate(ref.conjugate(world_mid), inputs["end"] - inputs["mid"])
    limb = checked(**inputs)

    def written(how: Any, frame: Array, delta: Array, rotation: Array) -> Array:
        if how == "world":
            return ref.multiply(delta, rotation)
        if how == "hip":
            return local(parent, delta, rotation)
        return np.asarray(how(frame, delta, rotation))

    new_root = ref.multiply(parent, written(root, parent, limb.root, local_root))
    new_mid = ref.multiply(new_root, written(mid, world_root, limb.mid, local_mid))
    end = inputs["root"] + ref.rotate(new_root, to_mid) + ref.rotate(new_mid, to_end)
    missed = ref.norm(end - inputs["target"])
    if mid is local:
        assert missed.max() < EXACT
    else:
        assert np.median(missed) > GROSS


def test_the_hip_opens_in_the_old_plane_and_then_swings(isa: str) -> None:
    """The order of its two turns: "Simple Two Joint IK" (theorangeduck) and what copies it have it the other way."""
    inputs = {name: limbs(np.float64, seed=75, reachable=True)[name] for name in ("root", "mid", "end", "target")}
    root, mid, end, target = inputs.values()
    limb = checked(**inputs)
    upper, lower, line = ref.norm(mid - root), ref.norm(end - mid), target - root
    distance = ref.norm(line)
    angle = np.arccos((upper**2 + distance**2 - lower**2) / (2 * upper * distance))
    normal = ref.unit(np.cross(end - root, mid - root))
    opens = about(normal, angle - angle_between(end - root, mid - root))
    swings = about(ref.unit(np.cross(end - root, line)), angle_between(end - root, line))

    def mid_after(hip: Array) -> Array:
        return np.asarray(root + ref.rotate(hip, mid - root))

    assert_allclose(limb.positions[:, 1], mid_after(ref.multiply(swings, opens)), rtol=0, atol=1e-12)
    assert np.median(ref.norm(limb.positions[:, 1] - mid_after(ref.multiply(opens, swings)))) > GROSS


@pytest.mark.parametrize("degrees", [10, 30, 90, 180])
def test_a_pole_out_of_the_bend_plane_costs_no_accuracy(degrees: float, isa: str) -> None:
    """Angles measured in the old bend plane and applied about the pole's miss the target."""
    inputs = limbs(np.float64, seed=76, reachable=True)
    root, mid, end, target = (inputs[name] for name in ("root", "mid", "end", "target"))
    old = ref.unit(end - root)
    normal = ref.turn(ref.unit(np.cross(old, mid - root)), old, np.full((len(root), 1), np.radians(degrees)))
    pole = root + 3 * np.cross(normal, old)
    upper, lower, distance = ref.norm(mid - root), ref.norm(end - mid), ref.norm(target - root)

    def corner(a: Array, b: Array, opposite: Array) -> Array:
        return np.asarray(np.arccos((a**2 + b**2 - opposite**2) / (2 * a * b)))

    hip = about(normal, corner(upper, distance, lower) - angle_between(mid - root, end - root))
    knee = about(normal, corner(upper, lower, distance) - angle_between(root - mid, end - mid))
    new_mid = ref.rotate(hip, mid - root)
    new_end = new_mid + ref.rotate(ref.multiply(hip, knee), end - mid)
    assert np.median(np.abs(ref.norm(new_end) - distance)) > (0.001 if degrees == 10 else GROSS)

    limb = checked(root, mid, end, target, pole=pole)
    assert (limb.status == 0).all()
    assert ref.norm(ref.forward(limb, root, mid, end)[:, 2] - target).max() < EXACT


@pytest.mark.parametrize("normal", [*np.eye(3), *-np.eye(3), [0.6, 0, 0.8]], ids=str)
def test_the_mid_joint_has_no_preferred_axis(normal: Any, isa: str) -> None:
    """Not +Z of the joint, nor any other: the limb bends about the normal of its own plane."""
    first = ref.unit(np.cross(normal, [0.3, 0.5, 0.7]))
    mid = first
    end = mid + ref.turn(first, np.asarray(normal, float), 0.8)
    limb = checked([0, 0, 0], mid, end, 0.7 * end)
    assert limb.status == 0
    assert ref.norm(limb.mid[1:]) > 0.1
    assert_allclose(np.cross(limb.mid[1:], normal), 0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("reach", [1e-6, 1e-3, 1, 1e6])
def test_the_range_of_distances_is_that_of_the_bones(reach: float, isa: str) -> None:
    """From |l1 - l2| to l1 + l2 exactly: no epsilon of 0.01 or 1e-5 units at either end, and an inner end at all."""
    upper, lower = 0.6 * reach, 0.4 * reach
    pose = np.array([[0, 0, 0], [0, -upper, 0], [lower, -upper, 0]])
    distances = np.array([0.1, 0.2, 0.2001, 0.5, 0.9999, 1, 1.1]) * reach
    limb = checked(pose[0], pose[1], pose[2], distances[:, None] * [0, -1, 0], bend=[0, 0, 1])
    found = ref.norm(limb.positions[:, 2])
    assert_allclose(found, np.clip(distances, 0.2 * reach, reach), rtol=1e-14)
    assert limb.status.tolist() == [NEAR, 0, 0, 0, 0, 0, FAR]


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9])
def test_a_target_that_moves_a_little_is_followed(step: float, isa: str) -> None:
    """No step is so small that it counts as none, as where equal means "within a thousandth"."""
    inputs = limbs(np.float64, seed=77, reachable=True)
    first = checked(**inputs)
    moved = inputs["target"] + step * ref.unit(inputs["bend"])
    root, mid, end = np.moveaxis(first.positions, -2, 0)
    limb = checked(root, mid, end, moved, pole=inputs["pole"])
    assert ref.norm(ref.forward(limb, root, mid, end)[:, 2] - moved).max() < EXACT


@pytest.mark.parametrize("side", [1, -1], ids=["aligned", "opposite"])
@pytest.mark.parametrize("share", [0.5, 1, 2])
def test_old_line_and_target_on_one_line_are_no_division_by_zero(side: int, share: float, dtype: Any, isa: str) -> None:
    """If the cross product of old line and target is zero, there is no axis to normalise: other implementations return
    NaN."""
    pose = [np.array(joint, dtype) for joint in ([0, 0, 0], [0, -0.45, 0.05], [0, -0.9, 0])]
    limb = checked(pose[0], pose[1], pose[2], side * share * pose[2])
    assert limb.status == (FAR if share > 1.1 else 0)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 3e-7])
def test_the_knee_keeps_its_digits_near_full_reach_in_floats(gap: float, isa: str) -> None:
    """An acos of something near 1 loses half of them: its angle is wrong by up to the root of a rounding."""
    rng = np.random.default_rng(78)
    upper, lower = rng.uniform(0.3, 0.6, (2, 300)).astype(np.float32)
    distance = ((1 - gap) * (upper.astype(float) + lower)).astype(np.float32)
    a, b, c = (side.astype(float) for side in (upper, lower, distance))
    area = np.sqrt((a + b + c) * (a + b - c) * (c + a - b) * (c - a + b))
    exact = np.arctan2(area, c**2 - a**2 - b**2)  # 0 = straight
    limb = ik.closed_forms.two_bone_2d(upper, lower, np.stack([distance, np.zeros_like(distance)], axis=-1))
    inside = a + b > c
    assert inside.sum() > 200
    assert_allclose(limb.angles[inside, 0, 1], exact[inside], rtol=1e-6)
    cosine = np.clip((distance * distance - upper * upper - lower * lower) / (2 * upper * lower), -1, 1)
    assert np.max(np.abs(np.arccos(cosine) / exact - 1)[inside]) > (1e-4 if gap < 1e-3 else 1e-6)


def test_the_angles_of_the_triangle_are_not_those_of_the_joints(isa: str) -> None:
    """The second joint turns by pi less the angle at the knee; the first lies off the target's direction, both ways."""
    hip, knee = np.radians([21.024265942, 136.369904139])  # worked out apart from this project
    distance = np.sqrt(0.1**2 + 0.8**2 + 0.05**2)
    for direction in (0.0, 1.0, -2.5):
        limb = ik.closed_forms.two_bone_2d(0.45, 0.42, distance * np.array([np.cos(direction), np.sin(direction)]))
        expected = [[direction - hip, np.pi - knee], [direction + hip, knee - np.pi]]
        assert_allclose(limb.angles, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("pole", [[1, 0, 0], [0, 0, 1], [-1, 0, 0], [0.1, 0, -1]], ids=str)
def test_the_bones_keep_their_twist_wherever_the_pole_is(pole: Any, isa: str) -> None:
    """Two shortest arcs would do for the positions, and leave the knee turning about more than its hinge."""
    pose = np.array([[0, 0, 0], [0, -0.45, 0.05], [0, -0.87, 0]])
    limb = checked(pose[0], pose[1], pose[2], [0.1, -0.6, 0.3], pole=pole)
    hinge = ref.unit(np.cross(pose[1] - pose[0], pose[2] - pose[1]))
    assert_allclose(np.cross(limb.mid[1:], hinge), 0, rtol=0, atol=1e-15)

    def arc(a: Array, b: Array) -> Array:
        return ref.unit(np.concatenate([[1 + np.dot(ref.unit(a), ref.unit(b))], np.cross(ref.unit(a), ref.unit(b))]))

    first = arc(pose[1] - pose[0], limb.positions[1] - limb.positions[0])
    second = arc(ref.rotate(first, pose[2] - pose[1]), limb.positions[2] - limb.positions[1])
    bend = ref.multiply(ref.multiply(ref.conjugate(first), second), first)
    if pole != [0, 0, 1]:
        assert ref.norm(np.cross(bend[1:], hinge)) > 0.01
