"""Left and right of a skeleton exchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import transform_vectors
from ikcore.skeleton import Skeleton


class Mirror:
    """Makes the mirror image of a skeleton's poses, with M the reflection x -> -x.

    The world rotation of a joint becomes M W M S. W is the world rotation of its partner. S is a constant: the
    result is the joint's own rest rotation if its partner is at rest. The local rotation, below a parent with S', is
    S'^-1 M L M S.
    """

    def __init__(self, skeleton: Skeleton, partner: NDArray[np.intp]) -> None:
        rest = skeleton.forward(skeleton.rest).rotations
        self._partner = partner
        self._own = rotations.multiply(rotations.conjugate(_reflect(rest[partner])), rest)
        above = np.where((skeleton.parents < 0)[:, np.newaxis], [1.0, 0, 0, 0], self._own[skeleton.parents])
        self._back = rotations.conjugate(above)

    def skeleton(self, before: Skeleton) -> Skeleton:
        """The skeleton with its limits and rest unchanged: they belong to a joint, on either side."""
        masses, centres, preferred, caps, inertias, compliances = before._core_arguments()
        return Skeleton(
            before.parents,
            self.translations_of(before.offsets),
            before.rest.rotations,
            before.names,
            before.limits,
            None if masses is None else masses[self._partner],
            None
            if centres is None
            else rotations.rotate(rotations.conjugate(self._own), self._mirror_vectors(centres)),
            None if preferred is None else self.rotations_of(preferred),
            None if caps is None else caps[self._partner],
            None if inertias is None else self._inertias(inertias),
            None if compliances is None else compliances[self._partner],
        )

    def _inertias(self, inertias: NDArray[Any]) -> NDArray[Any]:
        """Inertias (joints, 3, 3): the mirrored ones of the partner, in the axes of the joint."""
        signs = np.array([-1, 1, 1])
        mirrored = inertias[self._partner] * signs * signs[:, np.newaxis]
        own = rotations.to_matrix(rotations.conjugate(self._own))
        turned = own @ mirrored @ np.swapaxes(own, -1, -2)
        return np.asarray((turned + np.swapaxes(turned, -1, -2)) / 2)

    def rotations_of(self, local: NDArray[Any]) -> NDArray[Any]:
        """Local rotations (..., joints, 4)."""
        back, own = self._back.astype(local.dtype), self._own.astype(local.dtype)
        return rotations.multiply(back, rotations.multiply(_reflect(local[..., self._partner, :]), own))

    def translations_of(self, points: NDArray[Any]) -> NDArray[Any]:
        """Offsets or translations (..., joints, 3)."""
        return rotations.rotate(self._back.astype(points.dtype), self._mirror_vectors(points))

    def _mirror_vectors(self, points: NDArray[Any]) -> NDArray[Any]:
        """M times the vectors of the partners."""
        across: NDArray[Any] = points[..., self._partner, :] * np.array([-1, 1, 1], points.dtype)
        return across

    def scales_of(self, scales: NDArray[Any]) -> NDArray[Any]:
        """Scales (..., joints, 3): exact if they are uniform, or if the partners' axes differ only in sign."""
        axes = rotations.to_matrix(self._own).astype(scales.dtype) ** 2
        return transform_vectors(np.swapaxes(axes, -1, -2), scales[..., self._partner, :])


def _reflect(q: NDArray[Any]) -> NDArray[Any]:
    """M q M."""
    reflected: NDArray[Any] = q * np.array([1, 1, -1, -1], q.dtype)
    return reflected


def partners_of(skeleton: Skeleton, pairs: Mapping[str, str] | None) -> NDArray[np.intp]:
    """For every joint its partner on the other side; joints in the middle are their own partners."""
    partner = np.arange(len(skeleton))
    for one, other in (_pairs_by_name(skeleton.names) if pairs is None else pairs).items():
        joints = [skeleton.index(one), skeleton.index(other)]
        if (partner[joints] != joints).any() and (partner[joints] != joints[::-1]).any():
            raise ValueError(f"mirror: {one!r} and {other!r} have other partners too: give `pairs`, each joint once")
        partner[joints] = joints[::-1]
    if (partner == np.arange(len(skeleton))).all():
        raise ValueError("mirror: no two names differ in Left and Right only, or in L and R: give `pairs`")
    above = skeleton.parents
    odd = np.flatnonzero(above[partner] != np.where(above < 0, -1, partner[above]))
    if len(odd):
        alone = odd[partner[odd] == odd]
        if len(alone):
            one, other = skeleton.names[alone[0]], skeleton.names[above[alone[0]]]
            raise ValueError(f"mirror: {one!r} has no partner, and its parent {other!r} has one: give `pairs`")
        one, other = skeleton.names[odd[0]], skeleton.names[partner[odd[0]]]
        raise ValueError(f"mirror: the parents of {one!r} and {other!r} are not each other's partners: give `pairs`")
    return partner


def _pairs_by_name(names: tuple[str, ...]) -> dict[str, str]:
    """The joints on the left and on the right: names in the same case first, then in any case."""
    exact = {name: name for name in names}
    known = {name.lower(): name for name in names}

    def partner(name: str) -> str | None:
        right = list(_on_the_right(name))
        found = (exact.get(other) for other in right), (known.get(other.lower()) for other in right)
        return next(filter(None, chain(*found)), None)

    return {name: other for name in names if (other := partner(name))}


def _on_the_right(name: str) -> Iterable[str]:
    """Possible names of the partner of a joint on the left: whole words first, then letters."""
    for left, right in (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")):
        if left in name:
            yield name.replace(left, right)
    for at, letter in enumerate(name):
        if letter in "lL":
            yield name[:at] + {"l": "r", "L": "R"}[letter] + name[at + 1 :]
