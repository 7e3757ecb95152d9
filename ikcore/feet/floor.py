"""How high the floor is under every leg, if no ground is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import median, size
from ikcore.feet import rules
from ikcore.feet.intervals import runs
from ikcore.feet.leg import row
from ikcore.feet.paths import Paths, percentile, straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# For a leg of 0.87 m, as in `paths`.
_UNEVEN = 0.03  # what a floor that is meant to be level may be off it
_OVER = 0.1  # how far the body goes over a foot that it stands on


class _Leg(NamedTuple):
    """Of one leg, over all frames."""

    name: str
    columns: list[int]
    size: float
    level: float  # the floor, if it is level
    lowest: Array  # how high its lowest point is, not above the floor but from 0
    stands: Mask  # when a point of it is still


def find(paths: Paths, speeds: Array) -> Array:
    """The floor (frames, points): level, but where a leg stands on something higher or lower.

    A level floor is at the 2nd percentile of the heights of all points, and up to 0.03 m higher under a leg that stands
    higher. A leg stands elsewhere where it is still and nothing else carries the body, or the body goes over it;
    between two stances the floor rises or falls steadily.
    """
    found, legs = paths.ground.copy(), _legs(paths, speeds)
    falling = paths.falling()
    for leg in legs:
        others = [other for other in legs if other is not leg and row(other.name) == row(leg.name)]
        found[:, leg.columns] = _under(leg, others, paths, falling)[:, np.newaxis]
    return found


def _legs(paths: Paths, speeds: Array) -> list[_Leg]:
    found = []
    for name in dict.fromkeys(leg for leg, _ in paths.keys):
        columns = paths.columns(name)
        length = float(paths.sizes[columns[0]])
        still = [rules.stillness(speeds[:, at] / length) for at in columns]
        enters, stays = (np.any(masks, axis=0) for masks in zip(*still, strict=True))
        lowest = paths.points[:, columns, paths.axis].min(axis=1)
        level = _level(paths, speeds, columns, length)
        found.append(_Leg(name, columns, length, level, lowest, rules.cleaned(stays, enters, paths.clip)))
    return found


def _level(paths: Paths, speeds: Array, columns: list[int], length: float) -> float:
    """At the 10th percentile of the heights of a leg's points in the slowest quarter of their frames, within bounds.

    Captured floors are not level, nor soles known exactly.
    """
    heights = paths.heights
    slow = [heights[speeds[:, at] <= percentile(speeds[:, at], 25), at] for at in columns]
    above = percentile(np.concatenate(slow), 10)
    return float(paths.ground[0, columns[0]]) + min(max(above, 0), _UNEVEN * length)


def _under(leg: _Leg, others: list[_Leg], paths: Paths, falling: Mask) -> Array:
    """Level, if all stances are there."""
    knots, heights, uneven = [], [], False
    for start, stop in runs(leg.stands):
        height = float(median(leg.lowest[start:stop]))
        elsewhere = abs(height - leg.level) > _UNEVEN * leg.size
        if elsewhere and not _carries(leg, slice(start, stop), height, others, paths, falling):
            continue
        uneven |= elsewhere
        knots += [start, stop - 1]
        heights += [height, height]
    if not uneven:
        return np.full(len(leg.lowest), leg.level)
    return straight(np.arange(len(leg.lowest)), np.array(knots), np.array(heights))


def _carries(leg: _Leg, frames: slice, height: float, others: list[_Leg], paths: Paths, falling: Mask) -> bool:
    """Whether the body stands on a leg that is still: a foot may also be held still in the air."""
    carried = falling[frames].copy()  # or by a leg that is lower
    for other in others:
        lowest = other.lowest[frames]
        low = lowest - other.level < rules.LOW * other.size
        carried |= (lowest < height - _UNEVEN * leg.size) & (other.stands[frames] | low)
    if (~carried).sum() >= rules.SHORTEST * paths.clip.fps:
        return True
    way = paths.body[frames] - paths.points[frames, leg.columns[0]]
    return bool(size(np.ptp(way, axis=0)) >= _OVER * leg.size)
