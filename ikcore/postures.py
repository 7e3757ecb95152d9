"""What poses that are known tell: of them the nearest to what goals ask for, and how joints are used to move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import broadcast_axes, in_blocks, rows
from ikcore.goals import Goal, completed, open_arrays
from ikcore.limits import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.checks import checked_goals, tasks_of
from ikcore.solving.placed import point_of
from ikcore.tasks import GOAL_ARRAYS, Task


class Postures:
    """Poses of a skeleton, from a library of motions, say; for goals the one whose joints are nearest to them.

    An iterative method that starts there has less to go, and goes it in a way that was seen before. The poses are
    sorted once, into a tree; the nearest is what comparing with all of them would find.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton.
    poses : Pose
        The poses, one or more.
    goals : list of Reach
        What will be asked for: positions, each an ellipsis, as in `solver`. A joint counts as seen from where its chain
        starts, so that poses elsewhere in the world serve as well.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> seen = ik.Pose(ik.rotations.exp(np.random.default_rng(0).normal(size=(500, 4, 3))))
    >>> postures = ik.Postures(arm, seen, [ik.Reach(3, position=...)])
    >>> start, distance = postures.nearest(arm.rest, [1, 1, 1])
    >>> print(ik.dls(arm, start, [ik.Reach(3, [1, 1, 1])]).iterations)
    4
    """

    __slots__ = ("_table", "_tasks", "_turned", "goals", "poses", "skeleton")

    skeleton: Skeleton
    poses: Pose
    goals: tuple[Goal, ...]

    def __init__(self, skeleton: Skeleton, poses: Pose, goals: Sequence[Goal]) -> None:
        _check_known(skeleton, poses)
        self.skeleton, self.poses, self.goals = skeleton, poses, tuple(checked_goals(goals))
        self._tasks = _places(skeleton, self.goals)
        self._turned = sorted({joint for task in self._tasks for joint in task.turning(skeleton)})
        world = skeleton.forward(poses)
        seen = [
            _seen(skeleton, world, task, np.asarray(point_of(skeleton, poses, world, task))) for task in self._tasks
        ]
        self._table = _core.Table(np.concatenate(seen, axis=-1).reshape(-1, 3 * len(seen)).astype(float))

    def nearest(self, pose: Pose, *positions: Any, workers: int = 1) -> tuple[Pose, NDArray[np.float64]]:
        """The pose with the joints of the nearest posture where goals turn them, and how far off that is.

        Parameters
        ----------
        pose : Pose
            One or many: what all other joints keep, and where the chains start.
        *positions : (..., 3) array_like
            Of every goal, in their order. Leading axes broadcast with those of the pose.
        workers : int, optional
            How many threads, -1 for all cores.

        Returns
        -------
        (Pose, (...) array)
            The root of the sum of all squared distances; NaN where something is not finite, and the pose as it was.
        """
        if not isinstance(pose, Pose):
            raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}")
        self.skeleton._check_joints("pose", pose.joints)
        if len(positions) != len(self._tasks):
            raise TypeError(f"nearest: expected {len(self._tasks)} positions, one a goal, got {len(positions)}")
        world = self.skeleton.forward(pose, workers=workers)
        wanted = [rows(f"positions[{i}]", position, _DOUBLE, 3) for i, position in enumerate(positions)]
        with np.errstate(invalid="ignore", over="ignore"):
            keys = [_seen(self.skeleton, world, task, at) for task, at in zip(self._tasks, wanted, strict=True)]
        leading = {"pose": pose.shape} | {f"positions[{i}]": at.shape[:-1] for i, at in enumerate(wanted)}
        shape = broadcast_axes("nearest", leading, leading)
        query = np.concatenate([np.broadcast_to(key, (*shape, 3)) for key in keys], axis=-1)
        flat = query.reshape(-1, query.shape[-1]).astype(float)
        row, distance = np.empty(len(flat), np.int32), np.empty(len(flat))
        in_blocks(
            len(flat),
            _LOOK_UP,
            workers,
            lambda block: self._table.nearest(flat, row, distance, block.start, block.stop),
        )
        return self._started(pose, row.reshape(shape)), distance.reshape(shape)[()]

    def _started(self, pose: Pose, row: NDArray[np.int32]) -> Pose:
        known = self.poses.rotations.reshape(-1, len(self.skeleton), 4)
        started = np.broadcast_to(pose.rotations, (*row.shape, *pose.rotations.shape[-2:])).copy()
        found = known[row[..., np.newaxis], self._turned]
        here = started[..., self._turned, :]
        started[..., self._turned, :] = np.where(row[..., np.newaxis, np.newaxis] < 0, here, found)
        return pose.turned(started)

    def __len__(self) -> int:
        return len(self._table.keys)

    def __repr__(self) -> str:
        return f"Postures({len(self)} of {len(self.skeleton)} joints, for {list(self.goals)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Postures, (self.skeleton, self.poses, self.goals)


# The least that joints are willing to turn that were never seen to: none is locked.
_LEAST = 0.05
# Beyond what was seen a hinge may go by this share of it.
_MARGIN = 0.1


def learned(skeleton: Skeleton, poses: Pose) -> Skeleton:
    """The skeleton with joints that are as willing to turn as they were seen to, and prefer what they did.

    Joints are as stiff about an axis of their limits as they turned less about it than the one that turned most: 1 less
    the ratio of variances, 0.95 at most. They prefer the mean of their rotations, which ``posture=`` draws them to. The
    range of a hinge is what was seen and a tenth of that beyond, within what it was; all other limits stay.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton.
    poses : Pose
        Poses of it, one or more: from a library of motions, say.

    Returns
    -------
    Skeleton
        For methods that take stiffness.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> finger = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    >>> turns = np.random.default_rng(0).normal(size=(1000, 3, 3)) * [
    ...     [0, 0, 0.8],
    ...     [0, 0, 0.4],
    ...     [0, 0, 0],
    ... ]
    >>> known = ik.learned(finger, ik.Pose(ik.rotations.exp(turns)))
    >>> [tuple(round(float(s), 2) for s in limit.stiffness) for limit in known.limits]
    [(0.95, 0.95, 0.0), (0.95, 0.95, 0.75), (0.95, 0.95, 0.95)]
    """
    _check_known(skeleton, poses)
    turned = rotations.multiply(rotations.conjugate(skeleton.rest.rotations), poses.rotations.astype(float))
    turned = turned.reshape(-1, len(skeleton), 4)
    mean = _mean(turned)
    bounds = [limit or Limit.free() for limit in skeleton.limits]
    away = rotations.log(rotations.multiply(rotations.conjugate(mean), turned))
    away = rotations.rotate(rotations.conjugate([limit.frame for limit in bounds]), away)
    varied = _counted(bounds, (away**2).mean(axis=0))
    stiffness = 1 - np.maximum(varied / max(float(varied.max()), _NOTHING), _LEAST)
    limits = [
        _narrowed(replace(limit, stiffness=tuple(stiff)), rotation, off[:, 0])
        for limit, stiff, rotation, off in zip(bounds, stiffness.tolist(), mean, np.moveaxis(away, 1, 0), strict=True)
    ]
    legal = np.stack([limit.project(rotation) for limit, rotation in zip(limits, mean, strict=True)])
    rest, (masses, centres, _, *others) = skeleton.rest.rotations, skeleton._given()
    preferred = rotations.multiply(rest, legal)
    given = masses, centres, preferred, *others
    return Skeleton(skeleton.parents, skeleton.offsets, rest, skeleton.names, limits, *given)


def _check_known(skeleton: Skeleton, poses: Pose) -> None:
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    if not isinstance(poses, Pose):
        raise TypeError(f"poses: expected a Pose, got {type(poses).__name__}")
    skeleton._check_joints("poses", poses.joints)
    if not poses.rotations.size:
        raise ValueError(f"poses: expected one or more, got leading axes {poses.shape}")
    if not np.isfinite(poses.rotations).all():
        raise ValueError("poses: expected finite numbers")


def _mean(turned: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of (poses, joints) rotations, whatever their signs: the largest eigenvector of the sum of q q^T."""
    turned = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
    vectors = np.linalg.eigh(np.einsum("pji,pjk->jik", turned, turned))[1]
    return np.asarray(rotations.canonical(vectors[..., -1]))


def _counted(limits: Sequence[Limit], varied: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hinges turn about their own axis alone, which counts for all three."""
    hinges = np.array([limit.kind == "hinge" for limit in limits])
    return np.where(hinges[:, np.newaxis], varied[:, :1], varied)


def _narrowed(limit: Limit, mean: NDArray[np.float64], off: NDArray[np.float64]) -> Limit:
    """A hinge whose angles were so far off their mean."""
    if limit.kind != "hinge":
        return limit
    middle = 2 * np.arctan2(rotations.rotate(rotations.conjugate(limit.frame), mean[1:])[0], mean[0])
    low, high = limit.twist
    middle += 2 * np.pi * np.round(((low + high) / 2 - middle) / (2 * np.pi))
    least, most = middle + float(off.min()), middle + float(off.max())
    margin = _MARGIN * (most - least)
    return replace(limit, twist=(min(max(low, least - margin), high), max(min(high, most + margin), low)))


_NOTHING = 1e-30  # radians squared: where nothing varies all joints are alike
_DOUBLE = np.dtype(float)
_LOOK_UP = 50  # what a look-up costs beside an item of a closed form


def _places(skeleton: Skeleton, goals: tuple[Goal, ...]) -> tuple[Task, ...]:
    """The goals as tasks, all of them places."""
    given = []
    for index, goal in enumerate(goals):
        if not isinstance(goal, Goal) or open_arrays(goal) != ["position"]:
            raise ValueError(f"goals[{index}]: expected a Reach with position=... and nothing else that is open")
        given.append(completed(goal, iter([np.zeros(GOAL_ARRAYS["position"])])))
    tasks = tasks_of(skeleton, given, np.dtype(float))
    for task in tasks:
        if task.kind != "PLACE" or task.relative:
            raise ValueError(f"goals[{task.goal}]: expected a Reach with a position alone")
    return tasks


def _seen(skeleton: Skeleton, world: World, task: Task, point: NDArray[Any]) -> NDArray[Any]:
    """A point as seen from the start of a task's chain, in the space of what that hangs from."""
    away = point - world.positions[..., task.chain, :]
    parent = int(skeleton.parents[task.chain])
    if parent < 0:
        return np.asarray(away)
    return rotations.rotate(rotations.conjugate(world.rotations[..., parent, :]), away)
