"""The Jacobian: by central differences of forward, which it must agree with, and by published ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from published import cases

import ikcore as ik
from ikcore import rotations

Array = NDArray[Any]

# Shoulders and arms on a spine, a second root beside it: ancestors, siblings and strangers.
TREE = ik.Skeleton([-1, 0, 1, 2, 1, 4, -1], np.random.default_rng(1).normal(size=(7, 3)))


def random_pose(*shape: int, dtype: Any = np.float64) -> ik.Pose:
    return ik.Pose(ref.unit(np.random.default_rng(2).normal(size=(*shape, 7, 4))).astype(dtype))


def moved(pose: ik.Pose, joint: int, axis: int, angle: float, end: int, offset: Array) -> tuple[Array, Array]:
    """Positions of the point and the joint `end` after a joint has rotated about a world axis."""
    world = TREE.forward(pose).rotations
    parent = int(TREE.parents[joint])
    above = world[parent] if parent >= 0 else np.array([1.0, 0, 0, 0])
    delta = rotations.from_axis_angle(np.eye(3)[axis], angle)
    local = pose.rotations.copy()
    local[joint] = rotations.multiply(rotations.conjugate(above), rotations.multiply(delta, world[joint]))
    after = TREE.forward(ik.Pose(local))
    return after.positions[end] + rotations.rotate(after.rotations[end], offset), after.rotations[end]


@pytest.mark.parametrize("end", range(7))
@pytest.mark.parametrize("offset", [(0, 0, 0), (0.3, -0.2, 0.5)])
def test_it_is_what_central_differences_come_to(end: int, offset: tuple[float, ...]) -> None:
    pose, step = random_pose(), 1e-5
    found = ik.solvers.jacobian(TREE, pose, end, offset)
    for joint in range(7):
        for axis in range(3):
            before, turned_before = moved(pose, joint, axis, -step, end, np.array(offset))
            after, turned_after = moved(pose, joint, axis, step, end, np.array(offset))
            turn = rotations.log(rotations.multiply(turned_after, rotations.conjugate(turned_before)))
            expected = np.concatenate([after - before, turn]) / (2 * step)
            assert_allclose(found[:, 3 * joint + axis], expected, atol=1e-7)


def test_joints_that_are_not_above_have_columns_of_zeros() -> None:
    found = ik.solvers.jacobian(TREE, random_pose(), 3).reshape(6, 7, 3)
    assert np.all(found[:, [4, 5, 6]] == 0)
    assert np.all(np.any(found[:, [0, 1, 2, 3]] != 0, axis=(0, 2)))


def test_batches_and_types() -> None:
    for dtype in (np.float32, np.float64):
        pose = random_pose(4, 3, dtype=dtype)
        found = ik.solvers.jacobian(TREE, pose, "5", [0.1, 0, 0])
        assert found.shape == (4, 3, 6, 21)
        assert found.dtype == dtype
        assert found[2, 1].tobytes() == ik.solvers.jacobian(TREE, pose[2, 1], 5, [0.1, 0, 0]).tobytes()


def test_two_links_in_a_plane() -> None:
    """By hand: unit links at 30 and 90 degrees, hinges about z."""
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    pose = ik.Pose(rotations.from_axis_angle([0, 0, 1], np.radians([30, 60, 0])))
    about_z = ik.solvers.jacobian(arm, pose, 2)[:, 2::3]
    expected: Any = [[-1.5, -1, 0], [3**0.5 / 2, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1]]
    assert_allclose(about_z, expected, atol=1e-12)


# --- published --------------------------------------------------------------------------------------------------------


def chain_of(joints: list[Any], tool: Array) -> tuple[ik.Skeleton, Array]:
    """A chain of hinges as a skeleton, and the axis of each in its own space; the tool is the last joint."""
    places = np.array([joint["pre"] for joint in joints] + [tool])
    rest = rotations.from_matrix(places[:, :3, :3])
    skeleton = ik.Skeleton(range(-1, len(joints)), places[:, :3, 3], rest)
    return skeleton, np.array([joint["axis"] for joint in joints] + [[0, 0, 1]])


def test_published_jacobians_of_chains_of_hinges() -> None:
    seen = 0
    for case in cases("serial_chain_fk_jacobian.json"):
        joints, expected = case["chain"]["joints"], case["expect"]
        name = next((name for name in expected if name.startswith("jacobian")), None)
        if name is None or any(joint["type"] != "revolute" for joint in joints):
            continue
        skeleton, axes = chain_of(joints, np.array(case["chain"]["tool"]))
        turns = rotations.from_axis_angle(axes, [*case["q"], 0])
        pose = ik.Pose(rotations.multiply(skeleton.rest.rotations, turns))
        world = skeleton.forward(pose).rotations
        offset = expected.get("location_in_tool_frame", case.get("location_in_tool_frame"))
        found = ik.solvers.jacobian(skeleton, pose, len(joints), offset).reshape(6, -1, 3)
        columns = np.einsum("ijk,jk->ij", found, rotations.rotate(world, axes))[:, :-1]
        if name == "jacobian_tool":
            columns = rotations.rotate(rotations.conjugate(world[-1]), columns.T.reshape(-1, 2, 3)).reshape(-1, 6).T
        assert_allclose(columns, expected[name], atol=case["tol"], err_msg=case["id"])
        seen += 1
    assert seen >= 4


@pytest.mark.parametrize("offset", [[1, 0], [[1, 0, 0], [0, 1, 0]]])
def test_an_offset_that_is_no_point_is_refused(offset: Any) -> None:
    arm = ik.Skeleton.chain(np.eye(3))
    with pytest.raises(ValueError, match="offset: expected"):
        ik.solvers.jacobian(arm, arm.rest, 2, offset)
