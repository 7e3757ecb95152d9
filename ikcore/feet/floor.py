"""How high the floor is under every leg, if no ground is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import median, size
from ikcore.feet import rules
from ikcore.feet.intervals import runs
from ikcore.feet.leg import row
from ikcore.feet.paths import Paths, percentile, straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# For a leg of 0.87 m, as in `paths`.
UNEVEN = 0.03  # what a floor that is meant to be level may be off it
_OVER = 0.1  # how far the body goes over a foot that it stands on


class _Leg(NamedTuple):
    """Of one leg, over all frames."""

    name: str
    columns: list[int]
    size: float
    level: float  # the floor, if it is level
    lowest: Array  # how high its lowest point is, not above the floor but from 0
    stands: Mask  # when a point of it is still


def find(paths: Paths, speeds: Array, still: list[rules.Still]) -> Array:
    """The floor (frames, points): level, but where a leg stands on something higher or lower.

    A level floor is at the 2nd percentile of the heights of all points, and up to 0.03 m higher under a leg that stands
    higher. A leg stands elsewhere where it is still and nothing else carries the body, or the body goes over it; then
    the floor is, for its partner too, where they stand, and rises or falls steadily between two stances.
    """
    found, legs, frames = paths.ground.copy(), _legs(paths, speeds, still), np.arange(len(paths.points))
    pairs = [[other for other in legs if row(other.name) == row(leg.name)] for leg in legs]
    stood = [_stood(leg, pair, paths) for leg, pair in zip(legs, pairs, strict=True)]
    uneven = {row(leg.name) for leg, (_, _, elsewhere) in zip(legs, stood, strict=True) if elsewhere}
    for leg, (knots, heights, _) in zip(legs, stood, strict=True):
        under = straight(frames, knots, heights) if row(leg.name) in uneven and len(knots) else leg.level
        found[:, leg.columns] = np.reshape(under, (-1, 1))
    return found


def _legs(paths: Paths, speeds: Array, still: list[rules.Still]) -> list[_Leg]:
    found = []
    for name in dict.fromkeys(leg for leg, _ in paths.keys):
        columns = paths.columns(name)
        length = float(paths.sizes[columns[0]])
        enters, stays = (np.any(masks, axis=0) for masks in zip(*(still[at] for at in columns), strict=True))
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
    return float(paths.ground[0, columns[0]]) + min(max(above, 0), UNEVEN * length)


def _stood(leg: _Leg, pair: list[_Leg], paths: Paths) -> tuple[NDArray[np.intp], Array, bool]:
    """The first and the last frames of its stances, how high these are, and whether any is not on the level floor."""
    knots, heights, uneven = [], [], False
    others = [other for other in pair if other is not leg]
    for start, stop in runs(leg.stands):
        height = float(median(leg.lowest[start:stop]))
        elsewhere = abs(height - leg.level) > UNEVEN * leg.size
        if elsewhere and not _carries(leg, slice(start, stop), height, others, paths):
            continue
        uneven |= elsewhere
        knots += [start, stop - 1]
        heights += [height, height]
    return np.array(knots, np.intp), np.array(heights), uneven


def _carries(leg: _Leg, frames: slice, height: float, others: list[_Leg], paths: Paths) -> bool:
    """Whether the body stands on a leg that is still: a foot may also be held still in the air."""
    carried = paths.falls[frames].copy()  # or by a leg that is lower
    for other in others:
        lowest = other.lowest[frames]
        low = lowest - other.level < rules.LOW * other.size
        carried |= (lowest < height - UNEVEN * leg.size) & (other.stands[frames] | low)
    if (~carried).sum() >= rules.SHORTEST * paths.clip.fps:
        return True
    way = paths.body[frames] - paths.points[frames, leg.columns[0]]
    return bool(size(_core.extent(way)) >= _OVER * leg.size)
