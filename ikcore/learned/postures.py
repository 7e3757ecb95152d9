"""The known poses nearest to goals, and joint stiffness learned from poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import as_text, whole_number
from ikcore._threads import in_blocks
from ikcore.goals import Goal
from ikcore.learned.keys import Keys, OfGoals, check_known, mean_rotation
from ikcore.limits.limit import Limit
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.tasks import Moving


class Postures(OfGoals):
    """Known poses of a skeleton, for example of a motion library; finds the one whose joints are nearest to goals.

    An iterative method that starts there needs fewer iterations and stays near known poses. The poses are sorted into a
    tree once; the nearest one is the same as by comparison with all of them.

    Parameters
    ----------
    skeleton : Skeleton
    poses : Pose
        The poses, one or more.
    goals : list of Reach
        The goals to come: positions, each an ellipsis, as in `Solver`. A joint counts relative to the start of its
        chain, so that poses elsewhere in the world serve as well.
    moving : str, int or list of these, optional
        The joints whose rotations are set: a joint with its descendants, or a list. Default: those that goals turn.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> seen = ik.Pose(ik.rotations.exp(np.random.default_rng(0).normal(size=(500, 4, 3))))
    >>> postures = ik.learned.Postures(arm, seen, [ik.Reach(3, position=...)])
    >>> start, distance = postures.nearest(arm.rest, [1, 1, 1])
    >>> print(ik.dls(arm, start, [ik.Reach(3, [1, 1, 1])]).iterations)
    4
    """

    __slots__ = ("_table", "poses")

    poses: Pose

    def __init__(self, skeleton: Skeleton, poses: Pose, goals: Sequence[Goal], moving: Moving = None) -> None:
        check_known(skeleton, poses)
        self.poses, self._keys = poses, Keys(skeleton, goals, moving)
        self._table = _core.Table(self._keys.of(poses).reshape(-1, 3 * len(self._keys.tasks)))

    def nearest(
        self, pose: Pose, *positions: Any, count: int | None = None, workers: int | None = 1
    ) -> tuple[Pose, NDArray[np.float64]]:
        """The pose with the joints of the nearest posture, and its distance.

        Parameters
        ----------
        pose : Pose
            One or many. All other joints keep it, and chains start from it.
        *positions : (..., 3) array_like
            The positions of every goal, in order. Leading axes broadcast with those of the pose.
        count : int, optional
            Number of postures, 1 to 64, the nearest first: a last leading axis of both results. Default: one, without
            such an axis. If there are fewer postures, the rest are the pose as given, and NaN.
        workers : int or None, optional
            Number of threads, None for all cores.

        Returns
        -------
        (Pose, (...) array)
            The distance is the root of the sum of all squared distances. For input that is not finite, the pose as
            given and NaN.
        """
        query = self._keys.query("nearest", pose, positions, workers)
        row, distance = self._look_up(query, 1 if count is None else _checked_count(count), workers)
        if count is None:
            row, distance = row[..., 0], distance[..., 0]
        else:
            pose = pose[..., np.newaxis]
        return self._start_pose(pose, row), distance[()]

    def blend(self, pose: Pose, *positions: Any, count: int = 8, workers: int | None = 1) -> Pose:
        """The pose with the mean of the nearest postures, weighted by 1 / distance squared.

        The mean is one of rotation vectors about the nearest posture. A posture at distance 0 is returned itself.

        Parameters
        ----------
        pose : Pose
            One or many, as in `nearest`.
        *positions : (..., 3) array_like
            The positions of every goal, in order.
        count : int, optional
            Number of postures, 1 to 64.
        workers : int or None, optional
            Number of threads, None for all cores.

        Returns
        -------
        Pose
            For input that is not finite, the pose as given.
        """
        query = self._keys.query("blend", pose, positions, workers)
        row, distance = self._look_up(query, _checked_count(count), workers)
        known = self._stored_rotations(row)
        first, lacks = known[..., :1, :, :], (row < 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = np.where(lacks, 0, (distance[..., :1] / distance) ** 2)
        weight = np.where(distance[..., :1] == 0, distance == 0, weight)
        weight = (weight / np.maximum(weight.sum(axis=-1, keepdims=True), 1))[..., np.newaxis, np.newaxis]
        off = rotations.log(rotations.canonical(rotations.multiply(rotations.conjugate(first), known)))
        mean = rotations.multiply(first[..., 0, :, :], rotations.exp((weight * off).sum(axis=-3)))
        return self._keys.with_rotations(pose, mean, ~lacks[..., 0])

    def _look_up(
        self, query: NDArray[np.float64], count: int, workers: int | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        flat = query.reshape(-1, query.shape[-1])
        row, distance = np.empty((len(flat), count), np.int32), np.empty((len(flat), count))
        in_blocks(
            len(flat),
            _LOOK_UP,
            workers,
            lambda block: self._table.nearest(flat, row, distance, block.start, block.stop),
        )
        shape = (*query.shape[:-1], count)
        return row.reshape(shape), distance.reshape(shape)

    def _stored_rotations(self, row: NDArray[np.int32]) -> NDArray[np.float64]:
        known = self.poses.rotations.reshape(-1, len(self.skeleton), 4)
        return np.asarray(known[row[..., np.newaxis], self._keys.turned])

    def _start_pose(self, pose: Pose, row: NDArray[np.int32]) -> Pose:
        return self._keys.with_rotations(pose, self._stored_rotations(row), row >= 0)

    def __len__(self) -> int:
        return len(self._table.keys)

    def __repr__(self) -> str:
        return f"Postures({len(self)} of {len(self.skeleton)} joints, for {list(self.goals)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Postures, (self.skeleton, self.poses, self.goals, self.moving)


def _checked_count(count: int) -> int:
    number = whole_number(count)
    if not 1 <= number <= _MOST:
        raise ValueError(f"count: expected 1 to {_MOST}, got {as_text(count)}")
    return number


_MOST = 64  # IK_TABLE_NEAREST of ik.h
# Least mobility (1 - stiffness) of joints that never turned: none is locked.
_LEAST = 0.05
# Share of the seen range by which a hinge may exceed it.
_MARGIN = 0.1


def fit_skeleton(skeleton: Skeleton, poses: Pose) -> Skeleton:
    """Return the skeleton with stiffness, preferred pose and hinge ranges learned from poses.

    The stiffness about an axis of a limit is 1 - variance / largest variance, at most 0.95. Joints prefer the mean of
    their rotations, towards which ``posture=`` draws them. The range of a hinge becomes the seen range plus a tenth,
    within its old range; all other limits stay. The result is for methods that take stiffness.

    Parameters
    ----------
    skeleton : Skeleton
    poses : Pose
        Its poses, one or more, for example of a motion library.

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
    >>> known = ik.learned.fit_skeleton(finger, ik.Pose(ik.rotations.exp(turns)))
    >>> [tuple(round(float(s), 2) for s in limit.stiffness) for limit in known.limits]
    [(0.95, 0.95, 0.0), (0.95, 0.95, 0.75), (0.95, 0.95, 0.95)]
    """
    check_known(skeleton, poses)
    turned = rotations.multiply(rotations.conjugate(skeleton.rest.rotations), poses.rotations.astype(float))
    turned = turned.reshape(-1, len(skeleton), 4)
    mean = mean_rotation(turned)
    bounds = [limit or Limit.free() for limit in skeleton.limits]
    away = rotations.log(rotations.multiply(rotations.conjugate(mean), turned))
    away = rotations.rotate(rotations.conjugate([limit.frame for limit in bounds]), away)
    varied = _hinge_variance(bounds, (away**2).mean(axis=0))
    stiffness = 1 - np.maximum(varied / max(float(varied.max()), _NOTHING), _LEAST)
    limits = [
        _narrow(replace(limit, stiffness=tuple(stiff)), rotation, off[:, 0])
        for limit, stiff, rotation, off in zip(bounds, stiffness.tolist(), mean, np.moveaxis(away, 1, 0), strict=True)
    ]
    legal = np.stack([limit.project(rotation) for limit, rotation in zip(limits, mean, strict=True)])
    return skeleton._with_limits(limits, rotations.multiply(skeleton.rest.rotations, legal))


def _hinge_variance(limits: Sequence[Limit], varied: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hinges turn about their own axis only, which counts for all three."""
    hinges = np.array([limit.kind == "hinge" for limit in limits])
    return np.where(hinges[:, np.newaxis], varied[:, :1], varied)


def _narrow(limit: Limit, mean: NDArray[np.float64], off: NDArray[np.float64]) -> Limit:
    """The hinge with the range of these deviations from its mean angle."""
    if limit.kind != "hinge":
        return limit
    middle = 2 * np.arctan2(rotations.rotate(rotations.conjugate(limit.frame), mean[1:])[0], mean[0])
    low, high = limit.twist
    middle += 2 * np.pi * np.round(((low + high) / 2 - middle) / (2 * np.pi))
    least, most = middle + float(off.min()), middle + float(off.max())
    margin = _MARGIN * (most - least)
    return replace(limit, twist=(min(max(low, least - margin), high), max(min(high, most + margin), low)))


_NOTHING = 1e-30  # radians squared: if no joint varies more, all are equal
_LOOK_UP = 50  # cost of a look-up compared with an item of a closed form
