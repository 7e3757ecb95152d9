"""A clip in other axes and units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore.skeleton import Skeleton

if TYPE_CHECKING:
    from ikcore.clips.clip import Clip

# Conversion between up axes: for each, the components of a vector in the other one, and their signs.
TURNED = {"Y": ((0, 2, 1), (1.0, 1.0, -1.0)), "Z": ((0, 2, 1), (1.0, -1.0, 1.0))}


class Turn:
    """Converts poses and skeletons to another up axis and another unit."""

    def __init__(self, before: Clip, after: Clip) -> None:
        self._up = None if before.up == after.up else after.up
        self._factor = before.unit / after.unit
        self._roots = before.skeleton.parents < 0

    def skeleton(self, before: Skeleton) -> Skeleton:
        """The skeleton; numbers in the space of a joint change only by the unit."""
        masses, centres, preferred, caps, inertias, compliances = before._core_arguments()
        return Skeleton(
            before.parents,
            self.translations_of(before.offsets),
            self.rotations_of(before.rest.rotations),
            before.names,
            before.limits,
            masses,
            None if centres is None else centres * self._factor,
            None if preferred is None else self.rotations_of(preferred),
            caps,
            None if inertias is None else inertias * self._factor**2,
            compliances,  # length per force, with force in mass times length: the unit cancels
        )

    def translations_of(self, points: NDArray[Any]) -> NDArray[Any]:
        """Offsets or translations (..., joints, 3)."""
        moved: NDArray[Any] = points * points.dtype.type(self._factor)
        if self._up:
            places, signs = TURNED[self._up]
            moved[..., self._roots, :] = moved[..., self._roots, :][..., places] * np.array(signs, points.dtype) + 0
        return moved

    def rotations_of(self, local: NDArray[Any]) -> NDArray[Any]:
        """Local rotations (..., joints, 4)."""
        if not self._up:
            return local
        turned, half = local.copy(), math.sqrt(0.5)
        turn = np.array([half, half if self._up == "Z" else -half, 0, 0], local.dtype)
        turned[..., self._roots, :] = rotations.multiply(turn, local[..., self._roots, :])
        return turned
