"""Coordinates of the joints that goals move: one for a hinge, three for other joints, three more for sliding joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._joints import ancestors
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.errors import point_of
from ikcore.solving.tasks import Task, sliding_joints

Array = NDArray[Any]


class Coordinates:
    """The numbers that a step changes: angles about axes of joints in radians; then slides, in units of length.

    Hinges have angles from rest, slides have offsets, both within `low` and `high`. All other joints have a rotation
    vector relative to the present pose, which is therefore 0 there.
    """

    def __init__(self, skeleton: Skeleton, tasks: Sequence[Task]) -> None:
        self.skeleton, self.tasks = skeleton, tasks
        turning = sorted({joint for task in tasks for joint in task.turning_joints(skeleton)})
        kinds = {joint: getattr(skeleton.limits[joint], "kind", "free") for joint in turning}
        self.hinges = [joint for joint in turning if kinds[joint] == "hinge"]
        self.others = [joint for joint in turning if kinds[joint] not in ("hinge", "locked")]
        self.slides = sliding_joints(skeleton, tasks)
        limits: Any = [skeleton.limits[joint] for joint in self.hinges]
        self.hinge_axes = np.array([rotations.rotate(limit.frame, [1.0, 0, 0]) for limit in limits]).reshape(-1, 3)
        ranges = np.array([limit.twist for limit in limits]).reshape(-1, 2)
        boxes = np.array([skeleton.limits[joint].position for joint in self.slides]).reshape(-1, 2, 3)  # type: ignore[union-attr]
        open_ = np.full(3 * len(self.others), np.inf)
        self.low = np.concatenate([ranges[:, 0], -open_, boxes[:, 0].ravel()])
        self.high = np.concatenate([ranges[:, 1], open_, boxes[:, 1].ravel()])
        self.first_slide = len(self.hinges) + len(open_)
        # The joint and axis of each coordinate; the axis of a slide is in the space of the joint's parent.
        self.joints = np.repeat([*self.hinges, *self.others, *self.slides], self._each()).astype(int)
        self.axes = np.concatenate([self.hinge_axes, np.tile(np.eye(3), (len(self.others) + len(self.slides), 1))])
        self._acts = [np.isin(self.joints, ancestors(skeleton, task.joint)) for task in tasks]

    def __len__(self) -> int:
        return len(self.low)

    def _each(self) -> list[int]:
        return [1] * len(self.hinges) + [3] * (len(self.others) + len(self.slides))

    def values(self, pose: Pose) -> Array:
        """The coordinates of poses, (..., n)."""
        values = np.zeros((*pose.shape, len(self)))
        turned = rotations.multiply(
            rotations.conjugate(self.skeleton.rest.rotations[self.hinges]), pose.rotations[..., self.hinges, :]
        )
        angle = (rotations.log(turned) * self.hinge_axes).sum(axis=-1)
        low, high = self.low[: len(self.hinges)], self.high[: len(self.hinges)]
        values[..., : len(self.hinges)] = angle + 2 * np.pi * np.round(((low + high) / 2 - angle) / (2 * np.pi))
        if self.slides:
            slid = self._translations(pose)[..., self.slides, :] - self.skeleton.offsets[self.slides]
            values[..., self.first_slide :] = slid.reshape(*pose.shape, -1)
        return values

    def _translations(self, pose: Pose) -> Array:
        given = self.skeleton.offsets if pose.translations is None else pose.translations
        return np.broadcast_to(given, (*pose.rotations.shape[:-1], 3))

    def with_values(self, pose: Pose, values: Array) -> Pose:
        """The pose with these coordinates, within limits."""
        values = np.clip(values, self.low, self.high)
        turned = np.broadcast_to(pose.rotations, (*values.shape[:-1], *pose.rotations.shape[-2:])).astype(float)
        rest = self.skeleton.rest.rotations
        angles = values[..., : len(self.hinges)]
        turned[..., self.hinges, :] = rotations.multiply(
            rest[self.hinges], rotations.from_axis_angle(self.hinge_axes, angles)
        )
        vectors = values[..., len(self.hinges) : self.first_slide].reshape(*values.shape[:-1], -1, 3)
        turned[..., self.others, :] = rotations.multiply(turned[..., self.others, :], rotations.exp(vectors))
        for joint in self.others:
            limit = self.skeleton.limits[joint]
            if limit is not None and limit.kind != "free":
                off = limit.project(rotations.multiply(rotations.conjugate(rest[joint]), turned[..., joint, :]))
                turned[..., joint, :] = rotations.multiply(rest[joint], off)
        if not self.slides:
            return pose.with_rotations(turned.astype(pose.dtype))
        moved = np.broadcast_to(self._translations(pose), (*turned.shape[:-1], 3)).astype(float)
        slid = values[..., self.first_slide :].reshape(*values.shape[:-1], -1, 3)
        moved[..., self.slides, :] = self.skeleton.offsets[self.slides] + slid
        return pose.with_rotations(turned.astype(pose.dtype), moved.astype(pose.dtype))

    def errors(self, pose: Pose) -> Array:
        """Vectors from the points of the tasks to their targets, (..., tasks, 3)."""
        world = self.skeleton.forward(pose)
        off = [np.asarray(t.position) - point_of(self.skeleton, pose, world, t) for t in self.tasks]
        return np.stack(off, axis=-2).astype(float)

    def jacobian(self, pose: Pose) -> Array:
        """Derivatives of the points of the tasks by the coordinates, (..., 3 * tasks, n)."""
        world = self.skeleton.forward(pose)
        parents = self.skeleton.parents[self.joints]
        identity = np.broadcast_to([1.0, 0, 0, 0], (*pose.shape, 1, 4))
        frames = np.concatenate([world.rotations, identity], axis=-2)  # the last one, index -1, is the space of roots
        turns = np.arange(len(self)) < self.first_slide
        axes = rotations.rotate(frames[..., np.where(turns, self.joints, parents), :], self.axes)
        columns = []
        for task, acts in zip(self.tasks, self._acts, strict=True):
            arm = point_of(self.skeleton, pose, world, task)[..., np.newaxis, :] - world.positions[..., self.joints, :]
            moves = np.where(turns[:, np.newaxis], np.cross(axes, arm), axes) * acts[:, np.newaxis]
            columns.append(np.swapaxes(moves, -1, -2))
        return np.concatenate(columns, axis=-2).astype(float)

    def reaches(self) -> Array:
        """For every task the length of its chain, stretched out at rest."""
        at_rest, found = self.skeleton.forward(self.skeleton.rest).positions, []
        for task in self.tasks:
            bones = np.diff(at_rest[task.path(self.skeleton)], axis=0)
            found.append(np.linalg.norm(bones, axis=-1).sum() + np.linalg.norm(task.offset))
        return np.array(found)
