"""Keys of poses: the positions of goals' points relative to the starts of their chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import rows
from ikcore._call import broadcast_axes
from ikcore.goals import Goal, open_arrays, with_arrays
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.errors import point_of
from ikcore.solving.tasks import GOAL_ARRAYS, Moving, Task, may_of
from ikcore.solving.validate import checked_goals, tasks_of


class Keys:
    """Goals with an ellipsis as position: their keys in poses, and for wanted positions."""

    __slots__ = ("goals", "moving", "skeleton", "tasks", "turned")

    def __init__(self, skeleton: Skeleton, goals: Sequence[Goal], moving: Moving = None) -> None:
        self.skeleton, self.goals, self.moving = skeleton, tuple(checked_goals(goals)), moving
        self.tasks = _places(skeleton, self.goals)
        if (may := may_of(skeleton, moving)) is None:
            self.turned = sorted({joint for task in self.tasks for joint in task.turning_joints(skeleton)})
        else:
            self.turned = [joint for joint, bits in enumerate(may) if bits]

    def of(self, poses: Pose) -> NDArray[np.float64]:
        """The points of all goals in every pose, (..., 3 * goals)."""
        world = self.skeleton.forward(poses)
        points = [np.asarray(point_of(self.skeleton, poses, world, task)) for task in self.tasks]
        seen = [_key_of(self.skeleton, world, task, point) for task, point in zip(self.tasks, points, strict=True)]
        return np.concatenate(seen, axis=-1).astype(float)

    def query(self, what: str, pose: Pose, positions: Sequence[Any], workers: int | None = 1) -> NDArray[np.float64]:
        """Keys of positions, one array (..., 3) per goal; chains start from the pose. Leading axes broadcast."""
        if not isinstance(pose, Pose):
            raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}")
        self.skeleton._check_joints("pose", pose.joints)
        if len(positions) != len(self.tasks):
            raise TypeError(f"{what}: expected {len(self.tasks)} positions, one a goal, got {len(positions)}")
        world = self.skeleton.forward(pose, workers=workers)
        wanted = [rows(f"positions[{i}]", position, _DOUBLE, 3) for i, position in enumerate(positions)]
        with np.errstate(invalid="ignore", over="ignore"):
            keys = [_key_of(self.skeleton, world, task, at) for task, at in zip(self.tasks, wanted, strict=True)]
        leading = {"pose": pose.shape} | {f"positions[{i}]": at.shape[:-1] for i, at in enumerate(wanted)}
        shape = broadcast_axes(what, leading, leading)
        return np.concatenate([np.broadcast_to(key, (*shape, 3)) for key in keys], axis=-1).astype(float)

    def with_rotations(self, pose: Pose, rotations: NDArray[Any], valid: NDArray[np.bool_]) -> Pose:
        """The pose with rotations (..., turned joints, 4) of the joints that they turn, where these are valid (...)."""
        made = np.broadcast_to(pose.rotations, (*valid.shape, *pose.rotations.shape[-2:])).copy()
        here = made[..., self.turned, :]
        made[..., self.turned, :] = np.where(valid[..., np.newaxis, np.newaxis], rotations, here)
        return pose.with_rotations(made)


class OfGoals:
    """Poses that are looked up by goals: what they were made for."""

    __slots__ = ("_keys",)

    _keys: Keys

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton as given."""
        return self._keys.skeleton

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals as given."""
        return self._keys.goals

    @property
    def moving(self) -> Moving:
        """The joints that may move, as given."""
        return self._keys.moving


def check_known(skeleton: Skeleton, poses: Pose) -> None:
    """Refuse anything but poses of the skeleton."""
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    if not isinstance(poses, Pose):
        raise TypeError(f"poses: expected a Pose, got {type(poses).__name__}")
    skeleton._check_joints("poses", poses.joints)
    if not poses.rotations.size:
        raise ValueError(f"poses: expected one or more, got leading axes {poses.shape}")
    if not np.isfinite(poses.rotations).all():
        raise ValueError("poses: expected finite numbers")


def mean_rotation(turned: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of (poses, joints) rotations of any sign: the largest eigenvector of the sum of q q^T."""
    turned = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
    vectors = np.linalg.eigh(np.einsum("pji,pjk->jik", turned, turned))[1]
    return np.asarray(rotations.canonical(vectors[..., -1]))


def farthest(keys: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Indices of keys, at most so many: the first one, then always the one farthest from those chosen.

    It ends when all remaining keys equal a chosen one. Among equally far keys the first is taken.
    """
    chosen = [0]
    away = _squares(keys, keys[0])
    while len(chosen) < count and away.max() > 0:
        chosen.append(int(away.argmax()))
        away = np.minimum(away, _squares(keys, keys[chosen[-1]]))
    return np.array(chosen)


def _squares(keys: NDArray[np.float64], one: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((keys - one) ** 2).sum(axis=-1))


_DOUBLE = np.dtype(float)


def _places(skeleton: Skeleton, goals: tuple[Goal, ...]) -> tuple[Task, ...]:
    """The goals as tasks, all of them positions."""
    given = []
    for index, goal in enumerate(goals):
        if not isinstance(goal, Goal) or open_arrays(goal) != ["position"]:
            raise ValueError(f"goals[{index}]: expected a Reach with position=... and nothing else that is open")
        given.append(with_arrays(goal, iter([np.zeros(GOAL_ARRAYS["position"])])))
    tasks = tasks_of(skeleton, given, np.dtype(float))
    for task in tasks:
        if task.kind != "PLACE" or task.relative:
            raise ValueError(f"goals[{task.goal}]: expected a Reach with a position alone")
    return tasks


def _key_of(skeleton: Skeleton, world: World, task: Task, point: NDArray[Any]) -> NDArray[Any]:
    """A point relative to the start of a task's chain, in the space of that joint's parent."""
    away = point - world.positions[..., task.chain, :]
    parent = int(skeleton.parents[task.chain])
    if parent < 0:
        return np.asarray(away)
    return rotations.rotate(rotations.conjugate(world.rotations[..., parent, :]), away)
