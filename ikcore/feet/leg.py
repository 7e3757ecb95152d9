"""A leg: the joints it is made of and the points of its sole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ikcore._joints import ancestors as up_to_root
from ikcore.skeleton import Skeleton

SIDES = ("left", "right", "middle")
POINTS = ("heel", "ball", "toe", "inner", "outer")


class Sole(NamedTuple):
    """A point of a sole.

    Attributes
    ----------
    joint : str
        The joint that carries it.
    offset : (float, float, float)
        Its position in the space of that joint, like the offset of a child.
    """

    joint: str
    offset: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Leg:
    """The joints of a leg, by name, and the points of its sole.

    A foot may be free, without a leg above it, as in rigs for games whose feet hang on the root. It has an ankle, but
    neither hip nor knees. It is moved as a whole, and its reach is unknown.

    Parameters
    ----------
    name : str
        Its name, such as "left" or "hind left".
    side : {"left", "right", "middle"}
        The side of the character.
    hip : str, optional
        The first joint. None for a free foot.
    knees : tuple of str, optional
        The joints at which it bends: one for a human, two for the hind leg of a fox, none for a free foot.
    ankle : str, optional
        The joint of the foot. None if there is no such joint: the last knee carries the sole, as with a spider.
    ball, toe : str, optional
        The joint where toes bend, and the tip of the toes.
    soles : mapping of str to Sole
        Those of "heel", "ball", "toe", "inner" and "outer" (the sides at the ball) that are known. A foot that is a
        point, such as a paw or the tip of a spider's leg, has only a ball.
    pole : str, optional
        A joint elsewhere that the knee points at when the leg is baked. None: the knee keeps its bend direction.
    """

    name: str
    side: str
    hip: str | None = None
    knees: tuple[str, ...] = ()
    ankle: str | None = None
    ball: str | None = None
    toe: str | None = None
    soles: Mapping[str, Sole] = field(default_factory=dict, hash=False)
    pole: str | None = None

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise ValueError(f"the leg {self.name!r}: side: expected one of {', '.join(SIDES)}, got {self.side!r}")
        if isinstance(self.knees, str):
            raise TypeError(f"the leg {self.name!r}: knees: expected a tuple of names, got {self.knees!r}")
        object.__setattr__(self, "knees", tuple(self.knees))
        if self.hip is not None and not self.knees:
            raise ValueError(f"the leg {self.name!r}: knees: expected one or more, got none")
        if self.hip is None and (self.knees or self.pole or not self.ankle):
            raise ValueError(f"the leg {self.name!r}: hip: expected one; a free foot has an ankle, no knees, no pole")
        if strange := set(self.soles) - set(POINTS):
            raise ValueError(
                f"the leg {self.name!r}: soles: expected some of {', '.join(POINTS)}, got {min(strange)!r}"
            )
        object.__setattr__(self, "soles", {point: _check_sole(self.name, *self.soles[point]) for point in self.soles})

    @property
    def free(self) -> bool:
        """True for a foot without a leg."""
        return self.hip is None

    @property
    def foot(self) -> str:
        """The joint that the foot turns with: the ankle, or without one the last knee."""
        return self.ankle or self.knees[-1]

    @property
    def bones(self) -> tuple[str, ...]:
        """The joints from the hip to the foot; the bones between them give the length of the leg, if there are any."""
        return tuple(filter(None, (self.hip, *self.knees, self.ankle)))

    @property
    def chain(self) -> tuple[str, ...]:
        """All joints, each above the next one."""
        return tuple(filter(None, (*self.bones, self.ball, self.toe)))

    def check(self, skeleton: Skeleton) -> None:
        """Raise a ValueError with a sentence if this skeleton does not have such a leg."""
        joints = [skeleton.index(joint) for joint in self.chain]
        parts = ["hip", *["shin"] * len(self.knees), *["foot"] * 3][self.free :]
        if len(self.knees) > 1:
            parts[1] = "thigh"
        for part, other, above, joint in zip(parts, parts[1:], joints, joints[1:], strict=False):
            if above not in ancestors(skeleton, joint):
                raise ValueError(under(skeleton, other, joint, part, above))
        for name in (*(sole.joint for sole in self.soles.values()), *([self.pole] if self.pole else [])):
            skeleton.index(name)


def _check_sole(leg: str, joint: str, offset: tuple[float, ...]) -> Sole:
    numbers = tuple(map(float, offset))
    if len(numbers) != 3:
        raise ValueError(f"the leg {leg!r}: soles: expected offsets of three numbers, got {len(numbers)}")
    return Sole(joint, (numbers[0], numbers[1], numbers[2]))


def row(name: str) -> str:
    """The part that the names of a leg and its partner share: "front left" and "front right"."""
    for side in SIDES:
        name = name.replace(side, "")
    return name


def ancestors(skeleton: Skeleton, joint: int) -> tuple[int, ...]:
    """The ancestors of a joint, the nearest first."""
    return up_to_root(skeleton, joint)[1:]


def below(skeleton: Skeleton, joint: int) -> list[int]:
    """A joint and its descendants, ascending."""
    parents, found = skeleton.parents.tolist(), {joint}
    for other in skeleton._data.order.tolist():
        if parents[other] in found:
            found.add(other)
    return sorted(found)


def under(skeleton: Skeleton, part: str, joint: int, other: str, above: int) -> str:
    """A sentence: a joint hangs on another one than it should."""
    parent = int(skeleton.parents[joint])
    here = f"under {skeleton.names[parent]!r}" if parent >= 0 else "a root"
    return (
        f"the {part} {skeleton.names[joint]!r} is not under the {other} {skeleton.names[above]!r} but {here}: "
        f"a leg is a chain from hip to foot, parent the {part} to the {other}"
    )
