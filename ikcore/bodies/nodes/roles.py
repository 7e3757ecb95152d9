"""Which joint of a humanoid skeleton is what: pelvis, spine, chest, arms, legs, head."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import cross, size
from ikcore._joints import ancestors, path
from ikcore.bodies.roles import HANDS, above_all, plain
from ikcore.feet.detect import Feet
from ikcore.feet.names import side_of
from ikcore.skeleton import Skeleton

_HEAD = ("head",)


@dataclass(frozen=True)
class HumanRoles:
    """The joints of a humanoid skeleton, by name.

    Parameters
    ----------
    pelvis : str
        The joint above spine and legs.

    chest : str
        The joint above the arms and the neck.

    head : str, optional
        The head.

    hands : mapping of str to str
        The hands, by ``"left"`` and ``"right"``. The two joints above one are its arm.

    feet : mapping of str to str
        The feet, likewise.

    clavicles : mapping of str to str
        Joints between chest and arms, where there are any.

    forward, up : (3,) tuples
        Directions of the rest pose in the world: where the face looks, and up.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.samples.walk(seconds=1).clip.skeleton
    >>> roles = ik.bodies.nodes.HumanRoles.detect(body)
    >>> roles.pelvis, roles.chest, roles.hands["left"], roles.forward
    ('Hips', 'Chest', 'LeftHand', (0.0, 0.0, 1.0))
    """

    pelvis: str
    chest: str
    head: str | None
    hands: dict[str, str]
    feet: dict[str, str]
    clavicles: dict[str, str]
    forward: tuple[float, float, float]
    up: tuple[float, float, float]

    @classmethod
    def detect(cls, skeleton: Skeleton) -> HumanRoles:
        """The roles of a skeleton, by names and structure.

        Parameters
        ----------
        skeleton : Skeleton
            A humanoid; its hands are called hand or wrist, its head head, and `Feet.detect` finds its legs.
        """
        legs = {leg.side: leg for leg in Feet.detect(skeleton) if leg.hip is not None}
        hands: dict[str, int] = {}
        for hand in _joints_with_ending(skeleton, HANDS):
            side = _side_of(skeleton.names[hand])
            if side is not None and len(ancestors(skeleton, hand)) > 3:
                hands.setdefault(side, hand)
        if set(hands) != {"left", "right"} or not {"left", "right"} <= set(legs):
            raise ValueError(
                f"skeleton: expected two hands and two legs, found hands {sorted(hands)} and legs {sorted(legs)}; "
                "make HumanRoles with the names of the joints"
            )
        hips = [skeleton.index(str(legs[side].hip)) for side in ("left", "right")]
        arms = {side: int(skeleton.parents[skeleton.parents[hand]]) for side, hand in hands.items()}
        chest, pelvis = (above_all(skeleton, joints, itself=False) for joints in (list(arms.values()), hips))
        between = {side: path(skeleton, chest, arm)[1:-1] for side, arm in arms.items()}
        head = next(_joints_with_ending(skeleton, _HEAD), None)
        forward, up = _forward_and_up(skeleton, hips, pelvis, chest)
        names = skeleton.names
        return cls(
            names[pelvis],
            names[chest],
            None if head is None else names[head],
            {side: names[hand] for side, hand in hands.items()},
            {side: legs[side].foot for side in ("left", "right")},
            {side: names[joints[-1]] for side, joints in between.items() if joints},
            forward,
            up,
        )

    def neck(self, skeleton: Skeleton) -> list[str]:
        """The joints from above the chest up to below the head."""
        if self.head is None:
            return []
        return [skeleton.names[j] for j in path(skeleton, skeleton.index(self.chest), skeleton.index(self.head))[1:-1]]

    @property
    def back(self) -> tuple[float, float, float]:
        """The direction against `forward`."""
        x, y, z = self.forward
        return (-x, -y, -z)


def _joints_with_ending(skeleton: Skeleton, endings: tuple[str, ...]) -> Iterator[int]:
    """Joints whose names end so, apart from the side and numbers; those nearest to the root first."""
    found = [joint for joint, name in enumerate(skeleton.names) if plain(name).endswith(endings)]
    yield from sorted(found, key=lambda joint: len(ancestors(skeleton, joint)))


def _side_of(name: str) -> str | None:
    """The side in a name, also of "Lefthand" and "lhand"."""
    joined = re.match(r"(l|r)(eft|ight)?(hand|wrist)", name, re.IGNORECASE)
    return side_of(name) or (None if joined is None else {"l": "left", "r": "right"}[joined[1].lower()])


def _forward_and_up(
    skeleton: Skeleton, hips: Sequence[int], pelvis: int, chest: int
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Forward and up in the rest pose: from the right hip to the left one, and from the pelvis to the chest."""
    at = skeleton.forward(skeleton.rest).positions
    up, left = at[chest] - at[pelvis], at[hips[0]] - at[hips[1]]
    up = _axis(up)
    return _row(_axis(cross(left, up))), _row(up)


def _axis(way: NDArray[np.float64]) -> NDArray[np.float64]:
    """A direction of length 1; the axis of the world that it is near, within 15 degrees."""
    unit = way / float(size(way) or 1)
    near = np.where(np.abs(unit) > 0.966, np.sign(unit), 0)
    return near if near.any() else unit


def _row(way: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = (way + 0.0).tolist()
    return x, y, z
