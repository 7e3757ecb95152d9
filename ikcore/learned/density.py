"""The likelihood of poses learned from examples, and the likeliest pose among those that reach goals.

M. E. Tipping and C. M. Bishop, "Probabilistic principal component analysis", Journal of the Royal Statistical Society B
61 (1999), on rotation vectors about the mean; and mixtures of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import as_text, whole_number
from ikcore.goals import Goal, Posture
from ikcore.learned.keys import check_known, farthest, mean_rotation
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.jacobian import dls
from ikcore.solving.solution import Solution
from ikcore.solving.tasks import Moving, may_of
from ikcore.solving.validate import tasks_of

Array = NDArray[Any]


class PoseDensity:
    """The likelihood of poses: a mixture of low-rank Gaussians fitted to examples.

    Parameters
    ----------
    skeleton : Skeleton
    poses : Pose
        The examples, two or more.
    moving : str, int or list of these, optional
        The joints that count: a joint with its descendants, or a list of joints. Default: all.
    directions : int, optional
        Number of directions in which a Gaussian has its own variance; all others share one. At most the number of
        examples and of coordinates.
    components : int, optional
        Number of Gaussians.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> bends = np.random.default_rng(0).normal(0.5, 0.2, size=(500, 1, 1)) * [[0, 0, 1]] * [[1], [1], [1], [0]]
    >>> density = ik.learned.PoseDensity(arm, ik.Pose(ik.rotations.exp(bends)), directions=1)
    >>> found = ik.dls(arm, arm.rest, [ik.Reach(3, [1, 1.8, 0])], tolerance=1e-12)
    >>> likely = density.solve(found.pose, [ik.Reach(3, [1, 1.8, 0])])
    >>> bool(density.log_likelihood(likely.pose) > density.log_likelihood(found.pose))
    True
    >>> bool(likely.error < 1e-9)
    True
    """

    __slots__ = ("_gaussians", "_joints", "_mean", "components", "directions", "moving", "poses", "skeleton")

    skeleton: Skeleton
    poses: Pose
    moving: Moving
    directions: int
    components: int

    def __init__(
        self,
        skeleton: Skeleton,
        poses: Pose,
        *,
        moving: Moving = None,
        directions: int = 15,
        components: int = 1,
    ) -> None:
        check_known(skeleton, poses)
        self.skeleton, self.poses, self.moving = skeleton, poses, moving
        self.directions, self.components = _whole("directions", directions), _whole("components", components)
        may = may_of(skeleton, moving)
        self._joints = [joint for joint in range(len(skeleton)) if may is None or may[joint]]
        turned = poses.rotations.reshape(-1, len(skeleton), 4)[:, self._joints].astype(float)
        if len(turned) < 2:
            raise ValueError(f"poses: expected two or more, got {len(turned)}")
        self._mean = mean_rotation(turned)
        self._gaussians = _fit(self._log(turned), self.components, self.directions)

    def log_likelihood(self, pose: Pose) -> Any:
        """The logarithm of the density of poses, by the rotation vectors of the joints that count.

        Parameters
        ----------
        pose : Pose
            One or many.

        Returns
        -------
        (...) array
            One number per pose.
        """
        self.skeleton._check_joints("pose", pose.joints)
        return self._likelihood(self._log(pose.rotations[..., self._joints, :].astype(float)))[()]

    def solve(
        self,
        pose: Pose,
        goals: Sequence[Goal],
        *,
        rounds: int = 50,
        step: float = 0.1,
        tolerance: float = 1e-11,
        workers: int | None = 1,
    ) -> Solution:
        """The likeliest pose found by ascent among poses that reach the goals.

        It starts from the solution of `dls`. In each round `Posture` goals draw joints towards a likelier pose, as far
        as the goals leave them free. A round that makes the pose less likely, or increases the error of a goal, is
        taken back, and the step is halved. The likelihood never falls.

        Parameters
        ----------
        pose : Pose
            The start pose.
        goals : list of Goal
            The goals, without `Posture`.
        rounds : int, optional
            Largest number of steps.
        step : float, optional
            Largest turn of a joint in a step, in radians.
        tolerance : float, optional
            Tolerance of `dls`, as share of the reach; for rotations ten times that, in radians.
        workers : int or None, optional
            Number of threads, None for all cores.

        Returns
        -------
        Solution
            The solution of `dls` for the last pose, with the iterations of all rounds.
        """
        given: dict[str, Any] = {"tolerance": tolerance, "rotation_tolerance": 10 * tolerance, "workers": workers}
        first = dls(self.skeleton, pose, goals, **given)
        now, likelihood = first.pose, self.log_likelihood(first.pose)
        turned = {
            joint for task in tasks_of(self.skeleton, goals, now.dtype) for joint in task.turning_joints(self.skeleton)
        }
        drawn = [(i, joint) for i, joint in enumerate(self._joints) if joint in turned]
        size, count = np.full(np.shape(likelihood), float(step)), np.array(first.iterations)
        for _ in range(whole_number(rounds)):
            wanted = self._towards(now, size)
            postures = [Posture(joint, wanted[..., i, :]) for i, joint in drawn]
            drawing = dls(self.skeleton, now, [*goals, *postures], settle=True, iterations=_DRAWN, **given)
            tried = dls(self.skeleton, drawing.pose, goals, **given)
            count = count + drawing.iterations + tried.iterations
            after = self.log_likelihood(tried.pose)
            better = (after > likelihood) & _as_near(tried, first)
            now, likelihood = _select(better, tried.pose, now), np.where(better, after, likelihood)
            size = np.where(better, np.minimum(_LONGER * size, step), size / 2)
        return replace(dls(self.skeleton, now, goals, **given), iterations=count[()])

    def _log(self, turned: Array) -> Array:
        """Rotations (..., joints, 4) as rotation vectors about their means, concatenated."""
        away = rotations.log(rotations.canonical(rotations.multiply(rotations.conjugate(self._mean), turned)))
        return np.asarray(away.reshape(*away.shape[:-2], -1))

    def _towards(self, pose: Pose, size: Array) -> Array:
        """Rotations of the joints that count, after a step of that size along the gradient."""
        x = self._log(pose.rotations[..., self._joints, :].astype(float))
        up = self._gradient(x).reshape(*x.shape[:-1], -1, 3)
        most = np.linalg.norm(up, axis=-1).max(axis=-1)
        up = up * (size / np.maximum(most, _NOTHING))[..., np.newaxis, np.newaxis]
        return np.asarray(rotations.multiply(self._mean, rotations.exp(x.reshape(up.shape) + up)))

    def _likelihood(self, x: Array) -> Array:
        return _log_of_sum(np.stack([gaussian.log(x) for gaussian in self._gaussians], axis=-1))

    def _gradient(self, x: Array) -> Array:
        logs = np.stack([gaussian.log(x) for gaussian in self._gaussians], axis=-1)
        shares = np.exp(logs - _log_of_sum(logs)[..., np.newaxis])
        pulls = np.stack([gaussian.pull(x) for gaussian in self._gaussians], axis=-1)
        return np.asarray((pulls * shares[..., np.newaxis, :]).sum(axis=-1))

    def __repr__(self) -> str:
        count = len(self._gaussians)
        return f"PoseDensity({count} Gaussian{'s' * (count != 1)} over {len(self._joints)} joints)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _density_of, (self.skeleton, self.poses, self.moving, self.directions, self.components)


def _density_of(skeleton: Skeleton, poses: Pose, moving: Moving, directions: int, components: int) -> PoseDensity:
    return PoseDensity(skeleton, poses, moving=moving, directions=directions, components=components)


def _whole(name: str, value: int) -> int:
    if (number := whole_number(value)) < 1:
        raise ValueError(f"{name}: expected 1 or more, got {as_text(value)}")
    return number


_DRAWN = 5  # iterations with posture goals, before goals are reached exactly again
_LONGER = 1.5  # growth of the step after one that was kept
_MISS = 1e-9  # relative change of an error that a step may cause, if goals cannot be reached
_NOTHING = 1e-300


def _as_near(found: Solution, first: Solution) -> Array:
    """Items whose goals are reached, or whose errors are no larger than at first."""
    place = found.error <= first.error * (1 + _MISS)
    return np.asarray(found.reached | (place & (found.rotation_error <= first.rotation_error * (1 + _MISS))))


def _select(chosen: Array, one: Pose, other: Pose) -> Pose:
    mask = chosen[..., np.newaxis, np.newaxis]
    if one.translations is None or other.translations is None:
        return other.with_rotations(np.where(mask, one.rotations, other.rotations))
    return other.with_rotations(
        np.where(mask, one.rotations, other.rotations), np.where(mask, one.translations, other.translations)
    )


# --- Gaussians of low rank --------------------------------------------------------------------------------------------


class _Gaussian:
    """Variances in some orthogonal directions, one variance for all others, and the weight in the mixture."""

    def __init__(self, share: float, mean: Array, directions: Array, variances: Array, rest: float) -> None:
        self._mean, self._directions, self._variances, self._rest = mean, directions, variances, rest
        others = len(mean) - len(variances)
        volume = len(mean) * np.log(2 * np.pi) + np.log(variances).sum() + others * np.log(rest)
        self._constant = float(np.log(share) - volume / 2)

    def log(self, x: Array) -> Array:
        """The logarithm of weight times density."""
        away, along = self._split(x)
        others = (away**2).sum(axis=-1) - (along**2).sum(axis=-1)
        return np.asarray(self._constant - (others / self._rest + (along**2 / self._variances).sum(axis=-1)) / 2)

    def pull(self, x: Array) -> Array:
        """The gradient of the log density."""
        away, along = self._split(x)
        inside = _times(along * (1 / self._rest - 1 / self._variances), self._directions.T)
        return np.asarray(inside - away / self._rest)

    def _split(self, x: Array) -> tuple[Array, Array]:
        away = x - self._mean
        return away, _times(away, self._directions)


def _times(rows: Array, matrix: Array) -> Array:
    """One product per row: a single product sums in an order that depends on the number of rows."""
    return np.asarray((rows[..., np.newaxis, :] @ matrix)[..., 0, :])


def _fit(x: Array, components: int, directions: int) -> list[_Gaussian]:
    """Expectation maximisation, started from the examples that are farthest from each other."""
    centres = x[farthest(x, components)]
    nearest = ((x[:, np.newaxis] - centres) ** 2).sum(axis=-1).argmin(axis=-1)
    shares = np.eye(len(centres))[nearest]
    for _ in range(_ROUNDS if len(centres) > 1 else 1):
        found = [_gaussian(x, share, directions) for share in shares.T if share.sum() > _LEAST_SHARE]
        logs = np.stack([gaussian.log(x) for gaussian in found], axis=-1)
        shares = np.exp(logs - _log_of_sum(logs)[:, np.newaxis])
    return found


def _gaussian(x: Array, share: Array, directions: int) -> _Gaussian:
    whole = share.sum()
    mean = (share[:, np.newaxis] * x).sum(axis=0) / whole
    away = x - mean
    variances, vectors = np.linalg.eigh((share[:, np.newaxis] * away).T @ away / whole)
    variances, vectors = variances[::-1], vectors[:, ::-1]
    count = min(directions, len(variances) - 1)
    rest = max(float(variances[count:].mean()), _LEAST_VARIANCE)
    return _Gaussian(whole / len(x), mean, vectors[:, :count], np.maximum(variances[:count], rest), rest)


_ROUNDS = 20
_LEAST_SHARE = 1e-6  # examples: a Gaussian with fewer is left out
_LEAST_VARIANCE = 1e-4  # radians squared (0.6 degrees), so that joints that never turned are not held rigidly


def _log_of_sum(logs: Array) -> Array:
    """The logarithm of the sum of exponentials, without underflow."""
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., np.newaxis]).sum(axis=-1)))
