"""Example-based posing: poses between examples, by radial basis functions of target positions.

C. Rose, M. Cohen and B. Bodenheimer, "Verbs and adverbs: multidimensional motion interpolation", IEEE Computer Graphics
and Applications 18 (1998). Rotation vectors about the mean are blended, as linear functions of the keys plus a sum of
distances to the examples. phi(r) = r needs no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import as_text, whole_number
from ikcore.goals import Goal
from ikcore.learned.keys import Keys, OfGoals, check_known, farthest, mean_rotation
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.tasks import Moving


class RbfPoses(OfGoals):
    """Poses between examples: for positions of some joints, a pose that looks like the examples.

    It passes through every example and changes continuously between them, but reaches positions only approximately: a
    method that starts there does the rest. Limits are ignored.

    Parameters
    ----------
    skeleton : Skeleton
    poses : Pose
        The poses, one or more.
    goals, moving
        The goals to come, and the joints whose rotations are set, as of `Postures`.
    count : int, optional
        Largest number of examples among the poses: the first one, then always the pose whose positions are farthest
        from those of the examples. The time of a call is proportional to it, that of the fit to its cube.

    Attributes
    ----------
    examples : (n,) array
        Indices of the examples among the poses, counted over all leading axes.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> bends = np.linspace(0, 1, 9)[:, None, None] * [[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    >>> seen = ik.Pose(ik.rotations.exp(bends))
    >>> examples = ik.learned.RbfPoses(arm, seen, [ik.Reach(3, position=...)])
    >>> bent = examples.pose(arm.rest, [2.1, 1.6, 0])
    >>> ik.rotations.log(bent.rotations)[:, 2].round(2) + 0
    array([0.  , 0.65, 0.65, 0.  ])
    """

    __slots__ = ("_coefficients", "_known", "_mean", "count", "examples", "poses")

    poses: Pose
    count: int
    examples: NDArray[np.intp]

    def __init__(
        self, skeleton: Skeleton, poses: Pose, goals: Sequence[Goal], count: int = 300, *, moving: Moving = None
    ) -> None:
        check_known(skeleton, poses)
        self.count = whole_number(count)
        if not 1 <= self.count <= _MOST:
            raise ValueError(f"count: expected 1 to {_MOST}, got {as_text(count)}")
        self.poses, self._keys = poses, Keys(skeleton, goals, moving)
        keys = self._keys.of(poses).reshape(-1, 3 * len(self._keys.tasks))
        if not np.isfinite(keys).all():
            raise ValueError("poses: expected finite numbers")
        self.examples = farthest(keys, self.count)
        self._known = keys[self.examples]
        turned = poses.rotations.reshape(-1, len(skeleton), 4)[self.examples][:, self._keys.turned].astype(float)
        self._mean = mean_rotation(turned)
        away = rotations.log(rotations.canonical(rotations.multiply(rotations.conjugate(self._mean), turned)))
        self._coefficients = _coefficients_of(self._basis(self._known), away.reshape(len(away), -1))

    def pose(self, pose: Pose, *positions: Any) -> Pose:
        """The pose with joints blended from the examples.

        Parameters
        ----------
        pose : Pose
            One or many. All other joints keep it, and chains start from it.
        *positions : (..., 3) array_like
            The positions of every goal, in order. Leading axes broadcast with those of the pose.

        Returns
        -------
        Pose
            For input that is not finite, the pose as given.
        """
        query = self._keys.query("pose", pose, positions)
        valid = np.asarray(np.isfinite(query).all(axis=-1))
        basis = self._basis(np.where(valid[..., np.newaxis], query, 0))
        # One product per item: a single product sums in an order that depends on the number of items.
        away = (basis[..., np.newaxis, :] @ self._coefficients)[..., 0, :]
        turned = rotations.multiply(self._mean, rotations.exp(away.reshape(*query.shape[:-1], -1, 3)))
        return self._keys.with_rotations(pose, turned, valid)

    def _basis(self, keys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances to all examples, 1, and with enough examples the keys themselves."""
        distances = np.stack([np.sqrt(((keys - one) ** 2).sum(axis=-1)) for one in self._known], axis=-1)
        enough = len(self._known) >= _A_COLUMN * (keys.shape[-1] + 1)
        linear = (keys,) if enough else ()
        return np.concatenate([distances, np.ones((*keys.shape[:-1], 1)), *linear], axis=-1)

    def __len__(self) -> int:
        return len(self.examples)

    def __repr__(self) -> str:
        joints = len(self.skeleton)
        return f"RbfPoses({len(self)} of {joints} joint{'s' * (joints != 1)}, for {list(self.goals)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rbf_of, (self.skeleton, self.poses, self.goals, self.count, self.moving)


def _rbf_of(skeleton: Skeleton, poses: Pose, goals: Sequence[Goal], count: int, moving: Moving) -> RbfPoses:
    return RbfPoses(skeleton, poses, goals, count, moving=moving)


_MOST = 10_000
# Examples per coefficient of the linear term: with fewer, the term makes results worse (measured on clips).
_A_COLUMN = 3


def _coefficients_of(basis: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients that give every example its values; those of distances are orthogonal to the linear term.

    If the linear term is not unique, for example for keys on a plane, the smallest solution is taken.
    """
    count = len(basis)
    linear = basis[:, count:]
    rows = np.zeros((basis.shape[1], basis.shape[1]))
    rows[:count], rows[count:, :count] = basis, linear.T
    right = np.concatenate([values, np.zeros((linear.shape[1], values.shape[1]))])
    return np.asarray(np.linalg.lstsq(rows, right, rcond=1e-13)[0])
