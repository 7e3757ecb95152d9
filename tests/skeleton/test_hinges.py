"""Which way knees and elbows bend: from the rest pose, from a clip, and where nothing says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]
STRAIGHT: list[list[float]] = [[0, 1, 0], [0, -0.5, 0], [0, -0.5, 0]]
NAMES = ["Hips_L", "LeftLeg", "LeftFoot"]


def leg(offsets: Any = STRAIGHT, rest: Array | None = None) -> ik.Skeleton:
    return ik.Skeleton([-1, 0, 1], offsets, rest, names=NAMES)


def clip(skeleton: ik.Skeleton, axes: Array, angles: Array) -> ik.Clip:
    """The knee turns about axes by angles; the hip turns anyhow."""
    draw = np.random.default_rng(1)
    turns = ik.rotations.normalize(draw.normal(size=(len(angles), 3, 4)))
    turns[:, 1] = ik.rotations.multiply(
        ik.rotations.from_axis_angle(axes, angles), np.broadcast_to(skeleton.rest.rotations[1], (len(angles), 4))
    )
    return ik.Clip(skeleton, ik.Pose(turns), fps=30)


def test_a_bent_rest_pose_says_which_way() -> None:
    bent = leg([[0, 1, 0], [0, -0.5, 0.1], [0, -0.4, -0.3]])
    knee = ik.bodies.hinges_from(bent)["LeftLeg"]
    more, back = ik.rotations.from_axis_angle([1, 0, 0], [0.5, -1.2])
    assert float(knee.violation(more)) == 0  # about +X a foot goes back: a knee
    assert float(knee.violation(back)) > 0.3
    straight = ik.rotations.from_axis_angle([1, 0, 0], knee.twist[0])
    lower = ik.rotations.rotate(straight, bent.offsets[2])
    np.testing.assert_allclose(np.cross(lower, bent.offsets[1]), 0, atol=1e-12)


@pytest.mark.parametrize("turned", [[1.0, 0, 0, 0], [0.6, 0.2, -0.5, 0.4]])
def test_a_clip_says_so_where_the_rest_is_straight(turned: list[float]) -> None:
    """Whatever the axes of the joint at rest are."""
    rest = ik.rotations.normalize(np.array([[1, 0, 0, 0], turned, [1, 0, 0, 0]]))
    straight = [STRAIGHT[0], STRAIGHT[1], ik.rotations.rotate(ik.rotations.conjugate(rest[1]), STRAIGHT[2])]
    skeleton, axis = leg(straight, rest), np.array([0.8, 0.0, 0.6])
    angles = np.linspace(0, 1.5, 40)
    knee = ik.bodies.hinges_from(skeleton, clip(skeleton, axis, angles))["LeftLeg"]
    bends = ik.rotations.from_axis_angle(axis, [[1.0], [-1.0]]).reshape(2, 4)
    local = ik.rotations.multiply(np.broadcast_to(ik.rotations.conjugate(rest[1]), (2, 4)), bends)
    violation = knee.violation(ik.rotations.multiply(local, np.broadcast_to(rest[1], (2, 4))))
    assert violation[0] < 1e-7
    assert violation[1] > 0.9


def test_the_mean_forgives_noise_and_refuses_what_is_no_hinge() -> None:
    draw, count = np.random.default_rng(2), 200
    angles = draw.uniform(0.1, 1.4, count)
    noisy = np.array([1, 0, 0]) + draw.normal(scale=0.2, size=(count, 3)) * [0, 1, 1]
    knee = ik.bodies.hinges_from(leg(), clip(leg(), noisy, angles))["LeftLeg"]
    axis = ik.rotations.rotate(knee.frame, [1, 0, 0])
    assert float(axis[0]) > 0.99
    anywhere = draw.normal(size=(count, 3))
    with pytest.raises(ValueError, match="expected one axis, bends about axes that are"):
        ik.bodies.hinges_from(leg(), clip(leg(), anywhere, angles))


def test_a_limb_that_is_always_straight_is_refused() -> None:
    with pytest.raises(ValueError, match="is straight at rest; give a clip in which it bends"):
        ik.bodies.hinges_from(leg())
    still = clip(leg(), np.array([1.0, 0, 0]), np.full(9, 0.1))
    with pytest.raises(ValueError, match="is straight at rest and in all frames of the clip"):
        ik.bodies.hinges_from(leg(), still)
    with pytest.raises(ValueError, match="clip: expected 3 joints"):
        ik.bodies.hinges_from(leg(), ik.Clip(ik.Skeleton([-1], [[0, 0, 0]]), ik.Pose(np.ones((2, 1, 4))), fps=30))


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        *[(name, True) for name in ("knee.L", "mixamorig:LeftLeg", "calf_l", "DEF-forearm.R", "J_Bip_L_LowerArm")],
        *[(name, False) for name in ("LeftUpLeg", "thigh_l", "spine", "hand.L", "calf_twist_01_l", "UpperArm_L")],
    ],
)
def test_middle_joints_are_known_by_name(name: str, chosen: bool) -> None:
    bent = ik.Skeleton([-1, 0, 1], np.array([[0, 1, 0], [0, -0.5, 0.1], [0, -0.4, -0.3]]), names=["a", name, "b"])
    assert (name in ik.bodies.hinges_from(bent)) == chosen
    assert list(ik.bodies.hinges_from(bent, joints=[1])) == [name]


def test_a_body_has_hinges_and_a_root_that_slides() -> None:
    bent = leg([[0, 1, 0], [0, -0.5, 0.1], [0, -0.4, -0.3]])
    body = ik.bodies.as_body(bent)
    found = ik.solvers.full_body(body, body.rest, [ik.Reach(0, [0.3, 1, 0], chain=0), ik.Reach(2, [0.3, 0.6, 0])])
    knee = body.limits[1]
    assert knee is not None
    assert float(knee.violation(found.pose.rotations[1])) < 1e-7
