"""The positions that the end of a chain can reach: the shell that `Skeleton.reach` returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows
from ikcore._record import record
from ikcore.status import Status


@record
class Span:
    """The positions that the end of a chain can reach, per item: a shell about its root, for joints that turn freely.

    Attributes
    ----------
    root : (..., 3) array
        Position of the chain's first joint, in the world.
    inner, outer : (...) array
        The smallest and the largest distance from there to the end of the chain: folded and straight.
    """

    root: NDArray[Any]
    inner: NDArray[Any]
    outer: NDArray[Any]

    def classify(self, targets: ArrayLike) -> NDArray[np.int32]:
        """Flag targets (..., 3) that are out of reach: `Status.TOO_FAR`, `Status.TOO_NEAR`, 0 within the shell.

        Leading axes broadcast. A NaN gets no flag.
        """
        beyond = self.beyond(targets)
        flags = np.where(beyond > 0, Status.TOO_FAR, np.where(beyond < 0, Status.TOO_NEAR, 0))
        return flags.astype(np.int32)[()]

    def beyond(self, targets: ArrayLike) -> NDArray[Any]:
        """Distances of targets (..., 3) outside the shell: positive beyond `outer`, negative within `inner`, else 0."""
        away = distance(rows("targets", targets, self.root.dtype, 3), self.root)
        return np.asarray(np.maximum(away - self.outer, 0) + np.minimum(away - self.inner, 0))[()]


def span_of(joints: NDArray[Any]) -> Span:
    """The span of a chain of joints at (..., n, 3), root first."""
    bones = distance(joints[..., 1:, :], joints[..., :-1, :])
    outer = bones.sum(axis=-1)
    by_bone = np.moveaxis(bones, -1, 0).copy()  # NumPy takes ten times as long along short rows
    folded = 2 * by_bone.max(axis=0, initial=0) - outer  # the longest bone minus all others
    return Span(joints[..., 0, :], np.maximum(folded, 0), outer)


def distance(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The distance between points (..., 3)."""
    with np.errstate(invalid="ignore", over="ignore"):  # a goal with weight 0 may have any values
        squares = a - b
        squares *= squares
        return np.asarray(np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2]))
