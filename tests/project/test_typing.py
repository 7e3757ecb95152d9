"""Input for a type checker. mypy reads this file (nox -s types); pytest runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import ikcore as ik


def test_types() -> None:
    limb = ik.two_bone([0, 0, 0], [0, 1, 0.1], [0, 2, 0], np.ones((5, 3), np.float32), pole=(0, 0, 1))
    assert_type(limb, ik.closed_forms.LimbSolution)
    assert_type(limb.positions, NDArray[Any])
    assert_type(limb.status, NDArray[np.int32])
    assert_type(limb.summary(), str)
    assert_type(ik.Status.TOO_FAR | ik.Status.TOO_NEAR, ik.Status)
    assert_type(ik.Status.TOO_FAR.sentence, str)
    assert_type(ik.solvers.isa(), str)
    swing, angle = ik.rotations.swing_twist([1, 0, 0, 0], [0, 0, 1])[0], ik.rotations.to_axis_angle([1, 0, 0, 0])[1]
    assert_type(ik.rotations.slerp(swing, [1, 0, 0, 0], 0.5), NDArray[Any])
    assert_type(angle, NDArray[Any])
    assert_type(ik.rotations.best_fit(np.eye(3), np.eye(3)), tuple[NDArray[Any], NDArray[Any]])


def test_types_of_solving() -> None:
    arm = ik.Skeleton.chain(np.eye(3))
    found = ik.fabrik(arm, arm.rest, [ik.Reach(2, position=[0, 1, 1], chain=1)], iterations=3)
    assert_type(found, ik.Solution)
    assert_type(found.pose, ik.Pose)
    assert_type(found.status, NDArray[np.int32])
    assert_type(found.explain(), str)
    assert_type(ik.solve(arm, arm.rest, [ik.Reach("2", [0, 1, 1])], method="fabrik"), ik.Solution)
    assert_type(ik.methods()["fabrik"].options["tolerance"].default, float | None)
    assert_type(arm.reach(2).classify([0, 1, 1]), NDArray[np.int32])
