"""Positions and residual errors of goals in a pose, by forward kinematics alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import cross, dot
from ikcore._joints import ancestors
from ikcore.limits.workspace import distance
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.tasks import Task


def chain_points(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> NDArray[Any]:
    """Positions of the joints from the start of a task's chain, (..., n, 3), followed by its point."""
    joints = world.positions.take(task.path(skeleton), axis=-2)
    if not any(task.offset):
        return joints
    return np.concatenate([joints, point_of(skeleton, pose, world, task)[..., np.newaxis, :]], axis=-2)


def point_of(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> NDArray[Any]:
    """Position of a task's point, transformed as a child of the joint would be, with scales."""
    if not any(task.offset):
        return world.positions[..., task.joint, :]
    return np.asarray(world.positions[..., task.joint, :] + arm_of(skeleton, pose, world, task.joint, task.offset))


def arm_of(skeleton: Skeleton, pose: Pose, world: World, joint: int, point: tuple[float, float, float]) -> NDArray[Any]:
    """World vector from a joint to a point fixed to it, scaled as a child of the joint would be."""
    if pose.scales is None:
        return rotations.rotate(world.rotations[..., joint, :], np.asarray(point, pose.dtype))
    above = ancestors(skeleton, joint)[::-1]
    offsets = np.zeros((len(above) + 1, 3))  # all joints at the origin: distant positions cost no accuracy
    offsets[-1] = point
    line = type(skeleton)(np.arange(len(offsets)) - 1, offsets)

    def append_row(array: NDArray[Any], *last: float) -> NDArray[Any]:
        row = np.broadcast_to(np.asarray(last, array.dtype), (*array.shape[:-2], 1, len(last)))
        return np.concatenate([array[..., above, :], row], axis=-2)

    turned = Pose(append_row(pose.rotations, 1, 0, 0, 0), None, append_row(pose.scales, 1, 1, 1))
    return line.forward(turned).positions[..., -1, :]


def off_ray(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> tuple[NDArray[Any], NDArray[Any]]:
    """Distance of a task's position from the ray through its point, and the angle between them at the joint."""
    assert task.position is not None
    at = world.positions[..., task.joint, :]
    along = arm_of(skeleton, pose, world, task.joint, task.offset)
    with np.errstate(all="ignore"):  # a goal with weight 0 may have any values
        turn = rotations.shortest_arc(along, task.position - at)
        turn = np.where(np.any(along, axis=-1, keepdims=True), turn, np.nan)
        cosine, sine = turn[..., 0], distance(turn[..., 1:], np.zeros(3, turn.dtype))  # of half the angle
        away = np.asarray(distance(task.position, at) * np.where(cosine > sine, 2 * sine * cosine, 1))
    return away, rotations.to_axis_angle(turn)[1]


def miss_of(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> float:
    """Residual error of a task in one item: a distance, or an angle."""
    at = centre_of_mass(skeleton, pose, world) if task.joint < 0 else point_of(skeleton, pose, world, task)
    end = np.zeros(3) if task.position is None else task.position
    if task.relative:
        other = task._replace(joint=task.other, offset=task.other_offset)
        end = point_of(skeleton, pose, world, other)
    turned = world.rotations[task.joint]
    if task.kind == "TURN":
        assert task.rotation is not None
        wanted = rotations.multiply(world.rotations[task.other], task.rotation) if task.relative else task.rotation
        return float(angle_between(turned, wanted))
    if task.kind == "LOOK":
        arc = rotations.shortest_arc(rotations.rotate(turned, task.axis), end - at)
        return float(rotations.to_axis_angle(arc)[1])
    if task.kind == "DISTANCE":
        return abs(float(distance(at, end)) - float(np.asarray(task.distance)))
    if task.kind == "INSIDE":
        assert task.normal is not None
        normal, margin = task.normal / np.sqrt(dot(task.normal, task.normal)), task.distance
        return max(0.0, float(0 if margin is None else margin) - float(dot(normal, at - end)))
    if task.kind == "OUTSIDE":
        assert task.distance is not None
        return max(0.0, float(task.distance) - float(clearance(skeleton, pose, world, task)))
    if task.kind == "PLACE":  # relative
        assert task.position is not None
        end = end + rotations.rotate(world.rotations[task.other], task.position)
    return float(distance(at, end))


def _above(skeleton: Skeleton, joint: int) -> int:
    """The parent of a joint; a root itself."""
    return ancestors(skeleton, joint)[:2][-1]


def clearance(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> NDArray[Any]:
    """Distance of an Outside goal's bone from the axis of its capsule."""
    start = task.joint if any(task.offset) else _above(skeleton, task.joint)
    bone = (world.positions[..., start, :], point_of(skeleton, pose, world, task))
    assert task.position is not None
    return _segment_distance(bone, (task.position, task.position if task.end is None else task.end))


def _segment_distance(bone: tuple[NDArray[Any], NDArray[Any]], axis: tuple[NDArray[Any], NDArray[Any]]) -> NDArray[Any]:
    """Distance between two line segments: between their lines, or from an end of one to the other."""
    (a, b), (c, d) = bone, axis
    away = [_off(end, *other) for ends, other in ((bone, axis), (axis, bone)) for end in ends]
    across = cross(b - a, d - c)
    square = dot(across, across)
    whole = np.where(square > 0, square, 1)
    s, t = (dot(cross(c - a, side), across) / whole for side in (d - c, b - a))
    between = (square > 0) & (s > 0) & (s < 1) & (t > 0) & (t < 1)
    away.append(np.where(between, abs(dot(c - a, across)) / np.sqrt(whole), np.inf))
    return np.asarray(np.minimum.reduce(np.broadcast_arrays(*away)))


def _off(point: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Distance of a point from a line segment."""
    square = dot(b - a, b - a)
    share = np.clip(dot(point - a, b - a) / np.where(square > 0, square, 1), 0, 1)
    return distance(point, a + share[..., np.newaxis] * (b - a))


def centre_of_mass(skeleton: Skeleton, pose: Pose, world: World) -> NDArray[Any]:
    """The centre of mass of a pose."""
    total, sum_ = float(skeleton.masses.sum()), np.zeros((*world.positions.shape[:-2], 3), pose.dtype)
    for joint, (mass, centre) in enumerate(zip(skeleton.masses, skeleton.centres, strict=True)):
        if mass > 0:
            at = world.positions[..., joint, :] + arm_of(skeleton, pose, world, joint, tuple(centre.tolist()))
            sum_ += pose.dtype.type(mass / total) * at
    return sum_


def from_rest(skeleton: Skeleton, joint: int, local: NDArray[Any]) -> NDArray[Any]:
    """Local rotations of a joint (..., 4) relative to its rest."""
    return rotations.multiply(rotations.conjugate(skeleton.rest.rotations[joint].astype(local.dtype)), local)


def angle_between(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The angle between two rotations, in radians."""
    difference = rotations.multiply(rotations.conjugate(a), rotations.normalize(b))
    return rotations.to_axis_angle(difference)[1]
