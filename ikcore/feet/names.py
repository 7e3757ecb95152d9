"""Names of the joints of legs in many families of rigs."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple


class Family(NamedTuple):
    """Names of the joints of one leg; * is the side, | separates alternatives.

    They are compared in lower case, without separators between words. Names may have a prefix, if it is the same for
    all joints of a leg: "mixamorig:", "DEF-", "Bip01 ", "CC_Base_", "J_Bip_", "front_".
    """

    hip: str
    knee: str
    ankle: str
    ball: str = ""
    toe: str = ""


# Bones with keys come before the bones that follow them, so FK first.
FAMILIES = {
    "Rigify FK": Family("thighfk*", "shinfk*", "footfk*", "toefk*|toe*"),
    "Auto-Rig Pro FK": Family("thighfk*", "legfk*", "footfk*", "toesfk*"),
    "Auto-Rig Pro": Family("thighstretch*", "legstretch*", "foot*", "toes01*"),
    "Rigify": Family("thigh*", "shin*", "foot*", "toe*"),
    "Unreal": Family("thigh*", "calf*", "foot*", "ball*"),
    "Mixamo, CMU": Family("*upleg", "*leg", "*foot", "*toebase|*toe", "*toeend|*toebaseend"),
    "Biped, CC, Rocketbox": Family("*thigh", "*calf", "*foot", "*toebase|*toe0|*toe", "*toe0nub|*toenub"),
    "Daz": Family("*thighbend|*thigh", "*shin", "*foot", "*toes|*toe"),
    "VRM": Family("*upperleg", "*lowerleg", "*foot", "*toebase|*toes|*toe", "*toeend|*toebaseend"),
    "Unity, Blender": Family("upperleg*", "lowerleg*", "foot*", "toes*|toe*"),
    "MMD": Family("*足", "*ひざ", "*足首", "*足先ex", "*つま先"),
    "MMD in Blender": Family("足*", "ひざ*", "足首*", "足先ex*", "つま先*"),
    "MMD in English": Family("leg*", "knee*", "ankle*", "toeex*|legtipex*", "toe*"),
    "CMU in ASF": Family("*femur", "*tibia", "*foot", "*toes"),
    "Motion capture": Family("*hip", "*knee", "*ankle", "*toebase|*toe|*foot"),
}
_SIDES = (("left", "left"), ("right", "right"), ("左", "left"), ("右", "right"), ("l", "left"), ("r", "right"))
_SIDE = dict(_SIDES)


class NamedLeg(NamedTuple):
    """A leg whose names belong to a family: indices of its joints."""

    side: str
    hip: int
    knee: int
    ankle: int
    ball: int | None
    toe: int | None


@functools.lru_cache(maxsize=64)  # every clip of a character has the same names
def by_name(names: tuple[str, ...]) -> tuple[tuple[NamedLeg, ...], ...]:
    """The legs of every family, the preferred ones first: more legs before fewer, controls before their followers."""
    keys: dict[str, int] = {}
    for joint, name in enumerate(names):
        keys.setdefault(_key(name), joint)
    hips = [key for key in keys if key.endswith(_hips())]
    groups: list[tuple[int, int, tuple[NamedLeg, ...]]] = []
    for family in FAMILIES.values():
        kinds: dict[int, dict[int, NamedLeg]] = {}
        for start, leg in _legs(family, keys, hips):
            kind = 0 if "fk" in family.hip else _kind(start)
            kinds.setdefault(kind, {}).setdefault(leg.hip, leg)
        groups += [(-len(legs), kind, tuple(legs.values())) for kind, legs in kinds.items()]
    return tuple([legs for _, _, legs in sorted(groups, key=lambda group: group[:2])])


@functools.lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: "LegFrontIK.L" is leg, front, ik, l."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\D)(?=\d)|(?<=\d)(?=\D)", " ", _plain(name))
    return tuple(re.findall(r"[^\W_]+", split.lower()))


@functools.lru_cache(maxsize=4096)
def side_of(name: str) -> str | None:
    """The side that a name contains, or None."""
    said = {_SIDE[word] for word in words(name) if word in _SIDE} | {_SIDE[c] for c in name if c in "左右"}
    return said.pop() if len(said) == 1 else None


@functools.cache
def _joint_names(family: Family, letters: str) -> tuple[list[str], ...]:
    """The names of every joint on one side."""
    return tuple([name.replace("*", letters) for name in part.split("|") if name] for part in family)


@functools.cache
def _hips() -> tuple[str, ...]:
    """The names of hips of all families and sides: few other names end like them."""
    return tuple(
        {hip for family in FAMILIES.values() for letters, _ in _SIDES for hip in _joint_names(family, letters)[0]}
    )


def _legs(family: Family, keys: dict[str, int], hips: list[str]) -> Iterator[tuple[str, NamedLeg]]:
    """Every leg of a family, with the prefix of its names; `hips` are keys that may be hips."""
    for letters, side in _SIDES:
        spelled, *others = _joint_names(family, letters)
        for hip in spelled:
            for key in hips:
                if not key.endswith(hip):
                    continue
                start = key.removesuffix(hip)
                knee, ankle, ball, toe = (_first(keys, start, names) for names in others)
                if knee is not None and ankle is not None:
                    yield start, NamedLeg(side, keys[key], knee, ankle, ball, toe)


def _first(keys: dict[str, int], start: str, names: list[str]) -> int | None:
    return next((keys[start + name] for name in names if start + name in keys), None)


def _kind(start: str) -> int:
    """The rank of a prefix: deformers, none, originals, mechanics."""
    order = {"def": 1, "org": 3, "mch": 4, "ctrl": 4}
    return next((rank for word, rank in order.items() if start.startswith(word)), 2)


@functools.lru_cache(maxsize=4096)
def _key(name: str) -> str:
    """The name without the number that some exporters add to every node: "LeftFoot_017"."""
    return re.sub(r"_\d+$|[\W_]+", "", _plain(name).lower())


def _plain(name: str) -> str:
    """The name with full-width letters replaced by plain ones."""
    return unicodedata.normalize("NFKC", name)
