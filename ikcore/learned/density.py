"""How likely poses are by examples, and the likeliest pose among those that reach goals.

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
from ikcore._arrays import shown, whole_number
from ikcore.goals import Goal, Posture
from ikcore.learned.keys import check_known, farthest, mean_rotation
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.checks import tasks_of
from ikcore.solving.jacobian import dls
from ikcore.solving.solution import Solution
from ikcore.tasks import Moving, may_of

Array = NDArray[Any]


class PoseDensity:
    """How likely poses are: a mixture of Gaussians of low rank, fitted to examples.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton.
    poses : Pose
        The examples, two or more.
    moving : str, int or list of these, optional
        The joints that count: a joint with all below it, or a list of joints. Default: all.
    directions : int, optional
        In how many directions a Gaussian has a variance of its own; in all others one for all. At most as many are used
        as there are examples and numbers.
    components : int, optional
        How many Gaussians.

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
        self._gaussians = _fitted(self._log(turned), self.components, self.directions)

    def log_likelihood(self, pose: Pose) -> Any:
        """The logarithm of the density of poses, by the rotation vectors of the joints that count.

        Parameters
        ----------
        pose : Pose
            One or many.

        Returns
        -------
        (...) array
            One number a pose.
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
        """The likeliest pose that a climb finds among those that reach the goals.

        It starts from what `dls` finds. In each round `Posture` goals draw joints to a likelier pose, as far as the
        goals leave that open. A round that makes a pose less likely, or misses a goal by more, is taken back, and the
        next step is half as long. So likelihood never falls.

        Parameters
        ----------
        pose : Pose
            Where to start.
        goals : list of Goal
            What should be reached; no `Posture`.
        rounds : int, optional
            How many steps, at most.
        step : float, optional
            The angle by which a step turns the joint that it turns most, radians.
        tolerance : float, optional
            Of `dls`, as a share of the reach; ten times that of rotations, radians.
        workers : int or None, optional
            How many threads, None for all cores.

        Returns
        -------
        Solution
            That of `dls` for the last pose; its iterations are those of all rounds.
        """
        given: dict[str, Any] = {"tolerance": tolerance, "rotation_tolerance": 10 * tolerance, "workers": workers}
        first = dls(self.skeleton, pose, goals, **given)
        now, likelihood = first.pose, self.log_likelihood(first.pose)
        turned = {joint for task in tasks_of(self.skeleton, goals, now.dtype) for joint in task.turning(self.skeleton)}
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
            now, likelihood = _where(better, tried.pose, now), np.where(better, after, likelihood)
            size = np.where(better, np.minimum(_LONGER * size, step), size / 2)
        return replace(dls(self.skeleton, now, goals, **given), iterations=count[()])

    def _log(self, turned: Array) -> Array:
        """Rotations (..., joints, 4) as rotation vectors about their means, one after the other."""
        away = rotations.log(rotations.canonical(rotations.multiply(rotations.conjugate(self._mean), turned)))
        return np.asarray(away.reshape(*away.shape[:-2], -1))

    def _towards(self, pose: Pose, size: Array) -> Array:
        """Rotations of the joints that count, after a step of that size where likelihood grows fastest."""
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
        return _made, (self.skeleton, self.poses, self.moving, self.directions, self.components)


def _made(skeleton: Skeleton, poses: Pose, moving: Moving, directions: int, components: int) -> PoseDensity:
    return PoseDensity(skeleton, poses, moving=moving, directions=directions, components=components)


def _whole(name: str, value: int) -> int:
    if (number := whole_number(value)) < 1:
        raise ValueError(f"{name}: expected 1 or more, got {shown(value)}")
    return number


_DRAWN = 5  # iterations in which postures draw, before goals are reached exactly again
_LONGER = 1.5  # a step after one that was kept
_MISS = 1e-9  # share of a miss by which a step may change it, where goals cannot be reached
_NOTHING = 1e-300


def _as_near(found: Solution, first: Solution) -> Array:
    """Where goals are reached, or missed by no more than at first."""
    place = found.error <= first.error * (1 + _MISS)
    return np.asarray(found.reached | (place & (found.rotation_error <= first.rotation_error * (1 + _MISS))))


def _where(chosen: Array, one: Pose, other: Pose) -> Pose:
    mask = chosen[..., np.newaxis, np.newaxis]
    if one.translations is None or other.translations is None:
        return other.with_rotations(np.where(mask, one.rotations, other.rotations))
    return other.with_rotations(
        np.where(mask, one.rotations, other.rotations), np.where(mask, one.translations, other.translations)
    )


# --- Gaussians of low rank --------------------------------------------------------------------------------------------


class _Gaussian:
    """A variance for each of some orthogonal directions, and one for all others; its share of a mixture."""

    def __init__(self, share: float, mean: Array, directions: Array, variances: Array, rest: float) -> None:
        self._mean, self._directions, self._variances, self._rest = mean, directions, variances, rest
        others = len(mean) - len(variances)
        volume = len(mean) * np.log(2 * np.pi) + np.log(variances).sum() + others * np.log(rest)
        self._constant = float(np.log(share) - volume / 2)

    def log(self, x: Array) -> Array:
        """The logarithm of its share times its density."""
        away, along = self._split(x)
        others = (away**2).sum(axis=-1) - (along**2).sum(axis=-1)
        return np.asarray(self._constant - (others / self._rest + (along**2 / self._variances).sum(axis=-1)) / 2)

    def pull(self, x: Array) -> Array:
        """The gradient of that."""
        away, along = self._split(x)
        inside = _times(along * (1 / self._rest - 1 / self._variances), self._directions.T)
        return np.asarray(inside - away / self._rest)

    def _split(self, x: Array) -> tuple[Array, Array]:
        away = x - self._mean
        return away, _times(away, self._directions)


def _times(rows: Array, matrix: Array) -> Array:
    """A product for every row: one of all rows sums in an order that depends on how many they are."""
    return np.asarray((rows[..., np.newaxis, :] @ matrix)[..., 0, :])


def _fitted(x: Array, components: int, directions: int) -> list[_Gaussian]:
    """Expectation maximisation, from the examples that are farthest from each other."""
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
_LEAST_VARIANCE = 1e-4  # radians squared: 0.6 degrees, so that joints that never turned are not held with all force


def _log_of_sum(logs: Array) -> Array:
    """The logarithm of the sum of exponentials, which may all be too small for a number."""
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., np.newaxis]).sum(axis=-1)))
