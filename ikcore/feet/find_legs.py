"""Legs of a skeleton by the names of their joints, or by its structure."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ikcore._arrays import dot
from ikcore.feet import soles
from ikcore.feet.leg import SIDES, Leg, ancestors, below, under
from ikcore.feet.leg_structure import KNOWN, Chain, Stance, chains, farthest, length, rest_stance, standing_legs
from ikcore.feet.names import NamedLeg, by_name, side_of
from ikcore.skeleton import Skeleton

APART, EVEN = 0.5, 0.2  # of a leg: least distance of front from hind legs, largest difference in height of their feet


@dataclass(frozen=True, slots=True)
class Bare:
    """A leg without name and side."""

    chain: Chain
    ball: int | None
    toe: int | None


LegWithSide = tuple[Bare, str]  # a leg with its side


@functools.lru_cache(maxsize=KNOWN)
def legs_at_rest(skeleton: Skeleton, up: str) -> tuple[LegWithSide, ...]:
    """The legs of a skeleton that stands at rest, cached for all its clips, see `resting`."""
    return tuple(find_legs(skeleton, rest_stance(skeleton, up)))


def find_legs(skeleton: Skeleton, seen: Stance) -> list[LegWithSide]:
    """The legs of a skeleton by names, else by structure."""
    named = _legs_by_name(skeleton)
    return _called_so(skeleton, seen, named) if named else _legs_by_structure(skeleton, seen)


def _legs_by_name(skeleton: Skeleton) -> Sequence[NamedLeg]:
    """The legs of the first family whose legs are complete, else of the first whose feet are all free.

    If all are incomplete, an error says what is wrong with the first.
    """
    broken, loose = None, None
    for legs in by_name(skeleton.names):
        wrong = [sentence for leg in legs if (sentence := _fault(skeleton, leg))]
        if not wrong:
            return legs
        broken = broken or wrong[0]
        loose = loose or (legs if all(_is_free(skeleton, leg) for leg in legs) else None)
    if broken and loose is None:
        raise ValueError(broken)
    return loose or ()


def _is_free(skeleton: Skeleton, leg: NamedLeg) -> bool:
    """Whether the foot hangs on no joint of its leg."""
    return not {leg.hip, leg.knee} & {*ancestors(skeleton, leg.ankle)}


def upright_axis(skeleton: Skeleton) -> str:
    """The axis along which legs with known names hang down."""
    at = skeleton.forward(skeleton.rest).positions
    legs_up = sum((at[leg.hip] - at[leg.ankle] for leg in _legs_by_name(skeleton)), np.zeros(3))
    return "Z" if legs_up[2] > legs_up[1] else "Y"


def _called_so(skeleton: Skeleton, seen: Stance, legs: Sequence[NamedLeg]) -> list[LegWithSide]:
    return [(_whole(skeleton, seen, leg), leg.side) for leg in legs] + _others(skeleton, seen, legs)


def _others(skeleton: Skeleton, seen: Stance, legs: Sequence[NamedLeg]) -> list[LegWithSide]:
    """Other legs of an animal, far in front of the legs with known names or behind them: arms used as legs."""
    ends = [(chain, _lowest(skeleton, seen, chain.knees[-1])) for chain in standing_legs(skeleton, seen)]
    hips = {leg.hip for leg in legs}
    ends = [(chain, low) for chain, low in ends if not hips & {low, *ancestors(skeleton, low)}]
    if len(ends) < 2:
        return []
    ahead, height, size = dot(seen.at, seen.front), seen.height, max(_size(seen, leg) for leg in legs)
    feet, found = [_lowest(skeleton, seen, leg.ankle) for leg in legs], []
    for chain, low in ends:
        apart = min(abs(ahead[low] - ahead[foot]) for foot in feet)
        level = max(abs(height[low] - height[foot]) for foot in feet)
        if apart > APART * size and level < EVEN * size:
            found.append(_with_side(skeleton, seen, chain))
    return found if {side for _, side in found} == {"left", "right"} else []


def _lowest(skeleton: Skeleton, seen: Stance, joint: int) -> int:
    """The lowest of a joint and its descendants."""
    height = seen.height.tolist()
    return min(below(skeleton, joint), key=lambda other: height[other])


def _size(seen: Stance, leg: NamedLeg) -> float:
    return length(seen.at, [leg.hip, leg.knee, leg.ankle])


def _fault(skeleton: Skeleton, leg: NamedLeg) -> str | None:
    if leg.hip not in ancestors(skeleton, leg.knee):
        return under(skeleton, "shin", leg.knee, "thigh", leg.hip)
    if leg.knee not in ancestors(skeleton, leg.ankle):
        return under(skeleton, "foot", leg.ankle, "shin", leg.knee)
    return None


def _whole(skeleton: Skeleton, seen: Stance, leg: NamedLeg) -> Bare:
    """Ball and toe by name, otherwise by what hangs on the ankle."""
    chain = Chain(None, (), leg.ankle) if _is_free(skeleton, leg) else Chain(leg.hip, (leg.knee,), leg.ankle)
    ball = leg.ball if leg.ball is not None and leg.ankle in ancestors(skeleton, leg.ball) else None
    above = leg.ankle if ball is None else ball
    toe = leg.toe if leg.toe is not None and above in ancestors(skeleton, leg.toe) else None
    if ball is None and toe is None:
        ball, toe = _toes(skeleton, seen, leg.ankle)
    elif toe is None and ball is not None:
        beyond = farthest(skeleton, seen.at, ball)
        toe = beyond[-1] if beyond else None
    return Bare(chain, ball, toe)


def _toes(skeleton: Skeleton, seen: Stance, ankle: int) -> tuple[int | None, int | None]:
    """The joint where toes bend is the first of several beyond an ankle, their tip the last."""
    beyond = farthest(skeleton, seen.at, ankle)
    return (beyond[0] if len(beyond) > 1 else None), (beyond[-1] if beyond else None)


def _legs_by_structure(skeleton: Skeleton, seen: Stance) -> list[LegWithSide]:
    found = [_with_side(skeleton, seen, chain) for chain in chains(skeleton, seen)]
    if not found:
        raise ValueError(
            f"no legs found among {len(skeleton)} joints, by name or by structure: give them, "
            "ik.Feet((ik.Leg('left', 'left', hip=..., knees=(...,), ankle=...), ...))"
        )
    return found


def _with_side(skeleton: Skeleton, seen: Stance, chain: Chain) -> LegWithSide:
    toes = (None, None) if chain.ankle is None else _toes(skeleton, seen, chain.ankle)
    said = side_of(skeleton.names[chain.top])
    return Bare(chain, *toes), said or ("left" if seen.beside[chain.top] > 0 else "right")


def legs_of(skeleton: Skeleton, seen: Stance, found: Iterable[LegWithSide]) -> list[Leg]:
    """The legs with names, from front to back."""
    ahead = dot(seen.at, seen.front)
    found = sorted(found, key=lambda leg: -round(float(ahead[leg[0].chain.top]), 6))
    rows = {side: [leg for leg, other in found if other == side] for side in SIDES}
    placed = [(row, side, leg) for side in SIDES for row, leg in enumerate(rows[side])]
    placed.sort(key=lambda leg: (leg[0], SIDES.index(leg[1])))
    return [_leg(skeleton, seen, leg, side, _leg_name(side, row, len(rows[side]))) for row, side, leg in placed]


def _leg_name(side: str, row: int, rows: int) -> str:
    """The name of a leg: left; or front left and hind left; or left 1, left 2, and so on."""
    if rows == 1:
        return side
    return f"{('front', 'hind')[row]} {side}" if rows == 2 else f"{side} {row + 1}"


def _leg(skeleton: Skeleton, seen: Stance, found: Bare, side: str, name: str) -> Leg:
    names, chain = skeleton.names, found.chain
    ankle, ball, toe = (None if joint is None else names[joint] for joint in (chain.ankle, found.ball, found.toe))
    hip = None if chain.hip is None else names[chain.hip]
    leg = Leg(name, side, hip, tuple(names[knee] for knee in chain.knees), ankle, ball, toe)
    if chain.handle is None:
        return leg
    tip = soles.sole_at(skeleton, seen.pose, leg.foot, seen.at[chain.handle])
    return dataclasses.replace(leg, soles={"ball": tip})
