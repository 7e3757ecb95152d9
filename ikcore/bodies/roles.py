"""Which joints of a rig are hips, knees, shoulders, the chest and the head: by their names and their tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ikcore._joints import ancestors
from ikcore.feet.names import by_name, side_of, words
from ikcore.skeleton import Skeleton

_ELBOWS = ("elbow", "forearm", "lowerarm", "lowarm", "radius")
HANDS = ("hand", "wrist")  # endings of their names
_NOT = ("ik", "pole", "target", "helper")
_SIDES = ("left", "right")
_PARTS = ("twist", "bend", "roll")  # words for parts of a bone


class ArmRole(NamedTuple):
    """The joints of an arm."""

    shoulder: int
    elbow: int
    wrist: int


class LegRole(NamedTuple):
    """The joints of a leg; `ball` is None where the foot has no joint."""

    hip: int
    knee: int
    ankle: int
    ball: int | None


class Roles(NamedTuple):
    """The joints of a person by role."""

    spine: tuple[int, ...]  # from the pelvis up to the chest, which carries the arms
    head: int | None
    arms: dict[str, ArmRole]  # left, right
    legs: dict[str, LegRole]


def roles_of(skeleton: Skeleton) -> Roles:
    """The joints of a person with two arms and two legs.

    Raises
    ------
    ValueError
        If a limb is not found by its names.
    """
    legs, arms = _legs(skeleton), _arms(skeleton)
    examples = ("legs", legs, "LeftUpLeg, LeftLeg, LeftFoot"), ("arms", arms, "LeftArm, LeftForeArm, LeftHand")
    for what, found, example in examples:
        if missing := [side for side in _SIDES if side not in found]:
            raise ValueError(
                f"skeleton: expected two {what} with names such as {example}; "
                f"found none on the {' and the '.join(missing)}"
            )
    chest = above_all(skeleton, [arm.shoulder for arm in arms.values()])
    pelvis = above_all(skeleton, [leg.hip for leg in legs.values()])
    top = above_all(skeleton, [chest, pelvis])
    spine = ancestors(skeleton, chest)
    return Roles(spine[: spine.index(top) + 1][::-1], _head(skeleton, chest), arms, legs)


def _legs(skeleton: Skeleton) -> dict[str, LegRole]:
    for family in by_name(skeleton.names):
        found = {leg.side: LegRole(leg.hip, leg.knee, leg.ankle, leg.ball) for leg in family}
        if len(found) == len(family) == 2:
            return found
    return {}


def _arms(skeleton: Skeleton) -> dict[str, ArmRole]:
    arms: dict[str, ArmRole] = {}
    for elbow, name in enumerate(skeleton.names):
        side, parent = _side(name), int(skeleton.parents[elbow])
        if side is None or side in arms or parent < 0 or not _plain(name).endswith(_ELBOWS):
            continue
        wrist = _wrist(skeleton, elbow)
        if wrist is not None and not any(word in _NOT for word in words(name)):
            arms[side] = ArmRole(_first_of_bone(skeleton, parent), elbow, wrist)
    return arms


def _side(name: str) -> str | None:
    """The side that a name contains, also as a letter that nothing separates: "rforearm"."""
    glued = {letter + word: side for letter, side in (("l", "left"), ("r", "right")) for word in _ELBOWS}
    return side_of(name) or glued.get(_plain(name))


def _wrist(skeleton: Skeleton, elbow: int) -> int | None:
    """The nearest joint below that is called hand or wrist."""
    below = [joint for joint in range(len(skeleton)) if elbow in ancestors(skeleton, joint)[1:]]
    named = [joint for joint in below if _plain(skeleton.names[joint]).endswith(HANDS)]
    return min(named, key=lambda joint: len(ancestors(skeleton, joint)), default=None)


def _first_of_bone(skeleton: Skeleton, joint: int) -> int:
    """The first of several joints along one bone, whose names differ by ignored words and numbers only."""
    while (parent := int(skeleton.parents[joint])) >= 0 and _plain(skeleton.names[parent]) == _plain(
        skeleton.names[joint]
    ):
        joint = parent
    return joint


def _plain(name: str) -> str:
    return plain(name, _PARTS)


def plain(name: str, ignored: tuple[str, ...] = ()) -> str:
    """The words of a name without sides, numbers and those that are ignored."""
    without = ("l", "r", *_SIDES, *ignored)
    return "".join(word for word in words(name) if word not in without and not word.isdigit())


def above_all(skeleton: Skeleton, joints: Sequence[int], *, itself: bool = True) -> int:
    """The lowest joint that is an ancestor of all. One of them may be it, unless `itself` is False."""
    first, *others = (ancestors(skeleton, joint)[0 if itself else 1 :] for joint in joints)
    shared = [joint for joint in first if all(joint in way for way in others)]
    if not shared:
        raise ValueError("skeleton: expected one tree with all limbs, got several roots")
    return shared[0]


def _head(skeleton: Skeleton, chest: int) -> int | None:
    named = [joint for joint, name in enumerate(skeleton.names) if _plain(name).endswith("head")]
    above = [joint for joint in named if chest in ancestors(skeleton, joint)]
    return min(above, key=lambda joint: len(ancestors(skeleton, joint)), default=None)
