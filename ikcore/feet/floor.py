"""How high the floor is under every leg, if no ground is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import size
from ikcore.feet import rules
from ikcore.feet.human import BRIEF, LOW, STEP, UNEVEN
from ikcore.feet.intervals import runs
from ikcore.feet.leg import row
from ikcore.feet.paths import Paths, percentile, straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class _Leg(NamedTuple):
    """Of one leg, over all frames."""

    row: str
    points: slice
    size: float
    level: float  # the floor, if it is level
    lowest: Array  # how high its lowest point is, not above the floor but from 0
    stands: Mask  # when a point of it is still


def find(paths: Paths, speeds: Array, still: rules.Still) -> Array:
    """The floor (points, frames): level, but where a leg stands on something higher or lower.

    A level floor is at the 2nd percentile of the heights of all points, and up to 0.03 m higher under a leg that stands
    higher, which a single frame does not show. A leg stands elsewhere where it is still and nothing else carries the
    body, or the body goes over it; then the floor is, for its partner too, where they stand, and rises or falls
    steadily between two stances.
    """
    found, legs = np.empty_like(paths.ground), _legs(paths, speeds, still)
    stood = [_stood(leg, [other for other in legs if other.row == leg.row], paths) for leg in legs]
    uneven = {leg.row for leg, (_, _, elsewhere) in zip(legs, stood, strict=True) if elsewhere}
    for leg, (knots, heights, _) in zip(legs, stood, strict=True):
        if leg.row in uneven and knots:
            found[leg.points] = straight(np.arange(len(paths.points)), np.array(knots), np.array(heights))
        else:
            found[leg.points] = leg.level
    return found


def _legs(paths: Paths, speeds: Array, still: rules.Still) -> list[_Leg]:
    found, slow = [], np.where(speeds <= _core.percentiles(speeds, [25]), paths.heights, np.nan)
    for name in dict.fromkeys(leg for leg, _ in paths.keys):
        points = paths.of(name)
        length, lowest = float(paths.sizes[points.start]), paths.high[points].min(axis=0)
        enters, stays = (np.asarray(each[points].any(axis=0)) for each in still)
        stands = rules.cleaned(stays, enters, paths.clip)
        level = float(paths.ground[0, 0]) + (_above(slow[points], length) if len(paths.points) > 1 else 0)
        found.append(_Leg(row(name), points, length, level, lowest, stands))
    return found


def _above(slow: Array, length: float) -> float:
    """At the 10th percentile of the heights of a leg's points in the slowest quarter of their frames, within bounds.

    Captured floors are not level, nor soles known exactly.
    """
    return min(max(percentile(slow, 10), 0), UNEVEN * length)


def _stood(leg: _Leg, pair: list[_Leg], paths: Paths) -> tuple[list[int], list[float], bool]:
    """The first and the last frames of its stances, how high these are, and whether any is not on the level floor."""
    knots, heights, uneven = [], [], False
    others, stances = [other for other in pair if other is not leg], runs(leg.stands)
    for (start, stop), height in zip(stances.tolist(), _core.medians(leg.lowest, stances).tolist(), strict=True):
        elsewhere = abs(height - leg.level) > UNEVEN * leg.size
        if elsewhere and not _carries(leg, slice(start, stop), height, others, paths):
            continue
        uneven |= elsewhere
        knots += [start, stop - 1]
        heights += [height, height]
    return knots, heights, uneven


def _carries(leg: _Leg, frames: slice, height: float, others: list[_Leg], paths: Paths) -> bool:
    """Whether the body stands on a leg that is still: a foot may also be held still in the air."""
    carried = paths.falls[frames].copy()  # or by a leg that is lower
    for other in others:
        lowest = other.lowest[frames]
        low = lowest - other.level < LOW * other.size
        carried |= (lowest < height - UNEVEN * leg.size) & (other.stands[frames] | low)
    if np.count_nonzero(~carried) >= BRIEF * paths.clip.fps:
        return True
    way = paths.body[frames] - paths.points[frames, leg.points.start]
    return bool(size(_core.extent(way)) >= STEP * leg.size)
