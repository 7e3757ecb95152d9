"""Legs by structure: branches of the trunk on one side that end near the ground."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import cross, dot, extent, median, size
from ikcore.clips.clip import Clip
from ikcore.contacts.intervals import blocks
from ikcore.feet.leg import ancestors, below
from ikcore.feet.names import side_of, words
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]

_LOWER = 0.2  # of the body height: largest height of a foot above the lowest one
_LIES = 0.6  # least height at rest, as share of the height in a clip, if the rest pose stands
_LONG = 0.5  # of the longest bone: least length of a bone of the leg
_FOOT_ALONE = 1 / 3  # largest length of a limb that is a foot alone, as share of the distance to the farthest joint
KNOWN = 8  # skeletons whose rest stances are cached
_ALOFT = {"ik", "pole", "target", "twist", "roll", "heel", "share", "helper", "mch"}  # words in names of non-legs
_CLOTH = {"skirt", "cloth", "dress", "coat", "cape", "cloak", "robe", "hair", "ribbon", "tail", "wing", "fin", "weapon"}
_FOOT = {"foot", "ankle", "paw"}
_PARTS = {"upper", "lower", "thigh", "shin", "calf", "tibia", "femur", "leg", "end", "tip"} | _ALOFT


@dataclass(frozen=True, eq=False)
class Stance:
    """A pose that stands, with directions as seen from the character.

    Attributes
    ----------
    pose : Pose
        The rest pose, or another one if that lies down.
    at : (joints, 3) array
        World positions of the joints.
    body : list of int
        The joints that define the height of the body: not roots and IK targets, which may stay when the body rises.
    up, front, left : (3,) arrays
        Directions of unit length.
    """

    pose: Pose
    at: Array
    body: list[int]
    up: Array
    front: Array
    left: Array

    @functools.cached_property
    def height(self) -> Array:
        """Height of every joint."""
        return np.asarray(dot(self.at, self.up))

    @functools.cached_property
    def tall(self) -> float:
        """Height of the body, from its lowest to its highest joint."""
        return float(np.ptp(self.height[self.body]))

    @functools.cached_property
    def beside(self) -> Array:
        """Distance of every joint to the left of the middle."""
        return _from_middle(dot(self.at, self.left))


@dataclass(frozen=True, slots=True)
class Chain:
    """The joints of a leg from hip to ankle, and the IK target at its tip (`handle`); a free foot has only an ankle."""

    hip: int | None
    knees: tuple[int, ...]
    ankle: int | None
    handle: int | None = None

    @property
    def top(self) -> int:
        """The first of its joints."""
        return next(joint for joint in (self.hip, self.ankle) if joint is not None)


def stance(skeleton: Skeleton, up: str, clip: Clip | None = None) -> Stance:
    """The rest pose; if it lies down and the clip stands upright, the tallest pose of the clip."""
    rest = rest_stance(skeleton, up)
    tallest = None if clip is None else _tallest(skeleton, rest, clip)
    return rest if tallest is None else _stance_of(skeleton, tallest, up)


@functools.lru_cache(maxsize=KNOWN)
def rest_stance(skeleton: Skeleton, up: str) -> Stance:
    """The rest pose, cached for all clips of a skeleton."""
    return _stance_of(skeleton, skeleton.rest, up)


def _stance_of(skeleton: Skeleton, pose: Pose, up: str) -> Stance:
    """The stance: left by names, else by the plane of symmetry and the feet, else +Z is front (-Y if Z is up)."""
    above, at = np.eye(3)["XYZ".index(up)], skeleton.forward(pose).positions
    usual = np.array([0.0, -1, 0]) if up == "Z" else np.array([0.0, 0, 1])
    sides = [side_of(name) for name in skeleton.names]
    left = _flat(_mean(at, sides, "left") - _mean(at, sides, "right"), above) if {"left", "right"} <= {*sides} else None
    if left is None:
        axes = [cross(above, usual), usual]
        left = min(axes, key=lambda axis: _asymmetry(at, axis))
        left = left if dot(cross(left, above), _forward(skeleton, at, above, usual)) >= 0 else -left
    return Stance(pose, at, _body(skeleton), above, cross(left, above), left)


def _body(skeleton: Skeleton) -> list[int]:
    """All joints except roots and IK targets, if there are others."""
    named = zip(skeleton.parents.tolist(), skeleton.names, strict=True)
    body = [joint for joint, (parent, name) in enumerate(named) if parent >= 0 and _ALOFT.isdisjoint(words(name))]
    return body or list(range(len(skeleton)))


def _tallest(skeleton: Skeleton, rest: Stance, clip: Clip) -> Pose | None:
    """The tallest pose of a clip if it stands upright and the rest pose lies down, else None.

    A wide and low body such as a spider does not count as upright: on a slope its height is that of the slope.
    """
    if rest.tall >= _LIES * _span(skeleton, clip.pose):  # the clip is no taller
        return None
    tall, wide, level = np.empty(len(clip)), np.empty(len(clip)), 1 - rest.up
    for block in blocks(len(clip)):
        spans = extent(skeleton.forward(clip.pose[block]).positions[:, rest.body])
        tall[block], wide[block] = dot(spans, rest.up), size(spans * level)
    upright = np.flatnonzero(tall >= _LIES * wide)
    if not len(upright) or rest.tall >= _LIES * median(tall[upright]):
        return None
    return clip.pose[int(upright[np.argmax(tall[upright])])]


def _span(skeleton: Skeleton, pose: Pose) -> float:
    """The largest distance between two joints along the bones between them at their longest; infinite if unknown.

    A small margin for rounding is included.
    """
    parents = skeleton.parents.tolist()
    if pose.scales is not None or parents.count(-1) > 1:
        return np.inf
    moved = skeleton.offsets[np.newaxis] if pose.translations is None else pose.translations
    bones = np.maximum.reduce(size(moved)).tolist()
    span, under = 0.0, [0.0] * len(skeleton)  # length of the longest branch below every joint
    for joint in reversed(skeleton._data.order.tolist()):
        if (parent := parents[joint]) >= 0:
            far = bones[joint] + under[joint]
            span, under[parent] = max(span, under[parent] + far), max(under[parent], far)
    return 1.001 * span


def standing_legs(skeleton: Skeleton, seen: Stance) -> list[Chain]:
    """The legs that end at joints near the ground."""
    limbs = _limbs(skeleton, seen, _low_ends(skeleton, seen))
    return [chain for limb in limbs if (chain := _chain(skeleton, seen, limb))]


def chains(skeleton: Skeleton, seen: Stance) -> list[Chain]:
    """All legs.

    A joint belongs to the trunk if low ends of both sides hang on it. A branch of the trunk with a low end is a leg, or
    some loose thing if it has no bone. Without any legs, a branch that is low from its start to its end is a free foot,
    and so is a joint that is called one.
    """
    limbs = _limbs(skeleton, seen, _low_ends(skeleton, seen))
    flat = [limb for limb in limbs if _lies_flat(skeleton, seen, limb)]
    by_limb = [None if limb in flat else _chain(skeleton, seen, limb) for limb in limbs]
    found = [chain for chain in by_limb if chain] or _legs_with_handles(skeleton)
    if _both(seen, [chain.top for chain in found]):
        return found
    if feet := _free(skeleton, seen, [] if found else flat):
        return feet
    lame = [limb for limb, chain in zip(limbs, by_limb, strict=True) if not chain]
    if lame:
        raise ValueError(_loose(skeleton, min(lame, key=lambda limb: seen.height[limb[-1]])[0]))
    return found


def _both(seen: Stance, joints: list[int]) -> bool:
    """Whether some joints are on each side."""
    return len({*(seen.beside > 0)[joints].tolist()}) == 2


def _lies_flat(skeleton: Skeleton, seen: Stance, limb: list[int]) -> bool:
    """Whether a limb is a foot alone: low and short."""
    height, away = seen.height[limb] - seen.height.min(), size(seen.at - seen.at[limb[0]])
    away = np.delete(away, ancestors(skeleton, limb[0]))  # its ancestors may be anywhere
    return bool(height.max() <= _LOWER * np.ptp(seen.height) and length(seen.at, limb) <= _FOOT_ALONE * away.max())


def _free(skeleton: Skeleton, seen: Stance, flat: list[list[int]]) -> list[Chain]:
    """The feet among limbs that lie flat: the first joint called a foot, as others may be controls; else the first.

    A foot that is lifted at rest, for example, does not lie flat. If no limb of one side lies flat, a left and a right
    joint called foot are taken. Their parents have to carry all joints of such names.
    """
    called = [joint for joint, name in enumerate(skeleton.names) if not _FOOT.isdisjoint(words(name))]
    feet = [next((joint for joint in limb if joint in called), limb[0]) for limb in flat]
    if not _both(seen, feet):
        sided = [joint for joint in called if side_of(skeleton.names[joint])]
        shared = set(range(-1, len(skeleton))).intersection(*([*ancestors(skeleton, joint), -1] for joint in sided))
        feet = [joint for joint in sided if int(skeleton.parents[joint]) in shared]
        feet = feet if len({side_of(skeleton.names[joint]) for joint in feet}) == 2 else []
    return [Chain(None, (), foot) for foot in feet]


def _loose(skeleton: Skeleton, foot: int) -> str:
    parent = int(skeleton.parents[foot])
    here = f"on {skeleton.names[parent]!r}" if parent >= 0 else "on nothing"
    return (
        f"{skeleton.names[foot]!r} is at the ground but hangs {here}, without a knee between: a leg is a chain "
        "from hip to foot, parent each foot to its shin"
    )


def farthest(skeleton: Skeleton, at: Array, joint: int) -> list[int]:
    """The joints from below a joint to its farthest descendant."""
    aloft = _ALOFT.difference(words(skeleton.names[joint]))
    low = [
        other for other in below(skeleton, joint) if other != joint and aloft.isdisjoint(words(skeleton.names[other]))
    ]
    away = [float(size(at[other] - at[joint])) for other in low]
    if not away or max(away) <= 1e-6 * np.ptp(at, axis=0).max():
        return []
    end = low[int(np.argmax(away))]
    above = ancestors(skeleton, end)
    return [*reversed(above[: above.index(joint)]), end]


def _mean(at: Array, sides: list[str | None], side: str) -> Array:
    return np.asarray(at[[said == side for said in sides]].mean(axis=0))


def _flat(direction: Array, up: Array) -> Array | None:
    """The horizontal part of a direction, of unit length."""
    flat = direction - up * dot(direction, up)
    length = float(size(flat))
    return flat / length if length > 0 else None


def _asymmetry(at: Array, axis: Array) -> float:
    """Mean distance of mirrored joints from the nearest joint; infinite for joints in the plane, which say nothing."""
    across = _from_middle(dot(at, axis))
    if np.ptp(across) <= 1e-6 * np.ptp(at, axis=0).max():
        return np.inf
    mirrored = at - 2 * np.outer(across, axis)
    return float(size(mirrored[:, np.newaxis] - at).min(axis=1).mean())


def _from_middle(across: Array) -> Array:
    """Positions across, relative to their median, so that a sword in one hand does not move the middle."""
    return np.asarray(across - median(across))


def _forward(skeleton: Skeleton, at: Array, up: Array, usual: Array) -> Array:
    """The horizontal direction of the last bones above the ground, or the usual front if they have none."""
    height = dot(at, up)
    tree = skeleton.parents
    low = [
        leaf
        for leaf in _leaves(skeleton)
        if tree[leaf] >= 0 and height[leaf] <= height.min() + _LOWER / 2 * np.ptp(height)
    ]
    pointed = sum((at[leaf] - at[tree[leaf]] for leaf in low), np.zeros(3))
    flat = pointed - up * dot(pointed, up)
    return flat if size(flat) > 0.01 * np.ptp(height) else usual


def _leaves(skeleton: Skeleton) -> NDArray[np.intp]:
    """Joints without children."""
    bare, parents = np.ones(len(skeleton), bool), skeleton.parents
    bare[parents[parents >= 0]] = False
    return bare.nonzero()[0]


def _low_ends(skeleton: Skeleton, seen: Stance) -> list[int]:
    leaves = _leaves(skeleton)
    leaves = leaves[skeleton.parents[leaves] >= 0]
    height = seen.height
    if not len(leaves):
        return []
    lowest, highest = height[leaves].min(), height.max()
    beside = np.abs(seen.beside)
    low = (height[leaves] <= lowest + _LOWER * (highest - lowest)) & (beside[leaves] > 0.01 * beside.max())
    return [leaf for leaf in leaves[low].tolist() if _CLOTH.isdisjoint(words(skeleton.names[leaf]))]


def _limbs(skeleton: Skeleton, seen: Stance, ends: list[int]) -> list[list[int]]:
    """For every limb with a low end: the joints from the first one off the trunk to the farthest low end."""
    left = (seen.beside > 0).tolist()
    if len({left[end] for end in ends}) < 2:
        return []  # not a body
    sides: dict[int, set[bool]] = {}
    for end in ends:
        for joint in (end, *ancestors(skeleton, end)):
            sides.setdefault(joint, set()).add(left[end])
    found: dict[int, list[int]] = {}
    for end in ends:
        limb = [joint for joint in (end, *ancestors(skeleton, end)) if len(sides[joint]) == 1][::-1]
        if limb[0] not in found or length(seen.at, limb) > length(seen.at, found[limb[0]]):
            found[limb[0]] = limb
    return list(found.values())


def length(at: Array, joints: Sequence[int] | slice) -> float:
    """Total length of the bones between joints."""
    chain = at[joints]
    return float(size(chain[1:] - chain[:-1]).sum())


def _chain(skeleton: Skeleton, seen: Stance, limb: list[int]) -> Chain | None:
    """The leg of a limb: its long bones. Those before belong to pelvis or shoulder, those after to the foot."""
    limb = [joint for joint in limb if _ALOFT.isdisjoint(words(skeleton.names[joint]))]
    at = seen.at[limb]
    bones = at[1:] - at[:-1]
    lengths = size(bones)
    if not len(lengths) or not lengths.max() > 0:
        return None
    long = np.flatnonzero(lengths >= _LONG * lengths.max())
    first, last = int(long[0]), int(long[-1]) + 1
    while last - first > 2 and -dot(bones[last - 1], seen.up) < 0.5 * lengths[last - 1]:
        last -= 1  # a long foot, which lies flat
    leg = limb[first : last + 1]
    return Chain(leg[0], tuple(leg[1:-1]), leg[-1]) if len(leg) > 2 else None


def _legs_with_handles(skeleton: Skeleton) -> list[Chain]:
    """Legs that lack a joint at their tip and are held by an IK target of the same name."""
    handles = {}
    for joint, name in enumerate(skeleton.names):
        if "ik" in words(name):
            handles[_stem(name)] = joint
    parents, found = skeleton.parents, []
    for shin in sorted(set(range(len(skeleton))) - set(parents.tolist())):
        hip, handle = int(parents[shin]), handles.get(_stem(skeleton.names[shin]))
        if handle not in (None, shin) and hip >= 0 and _stem(skeleton.names[hip]) == _stem(skeleton.names[shin]):
            found.append(Chain(hip, (shin,), None, handle))
    return found


def _stem(name: str) -> tuple[str, ...]:
    return tuple(word for word in words(name) if word not in _PARTS)
