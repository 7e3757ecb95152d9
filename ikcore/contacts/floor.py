"""The level on which each leg stands, where no ground is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import extent, median, size
from ikcore.contacts.intervals import runs
from ikcore.contacts.rules import clean_contacts
from ikcore.contacts.tracks import Tracks
from ikcore.feet.leg import row
from ikcore.feet.thresholds import CONTACT_HEIGHT, FLOOR_UNEVENNESS, SHORTEST_STANCE, SMOOTHING_TIME, STEP_HEIGHT
from ikcore.feet.time_series import straight

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class _Leg(NamedTuple):
    """Heights of the lowest point of a leg above its usual level, and a mask of frames with a still point."""

    name: str
    scale: float
    height: Array
    still: Mask
    place: Array


def elevations(tracks: Tracks, heights: Array, still: Mask) -> dict[str, Array]:
    """How much higher than the level floor each leg stands (frames,): on stairs that the clip has climbed.

    A still foot counts as standing on another level if it does not only hang in the air. This is so if no other foot is
    lower for 0.25 s meanwhile, or if the body moves over it by 0.1 m. Between two stances the floor rises or falls
    steadily, for both legs of a pair.
    """
    own = [tracks.of(name) for name in tracks.legs()]
    stands = np.stack([still[points].any(axis=0) for points in own])
    legs = [
        _Leg(name, float(tracks.scales[points[0]]), heights[points].min(axis=0), stays, tracks.places[points[0]])
        for name, points, stays in zip(tracks.legs(), own, clean_contacts(stands, stands, tracks.clip), strict=True)
    ]
    stood = {leg.name: _stances(leg, legs, tracks) for leg in legs}
    climbing = {row(leg.name) for leg in legs if stood[leg.name][2]}
    frames, found = np.arange(len(tracks.hips)), {}
    for leg in legs:
        knots, levels, _ = stood[leg.name]
        climbs = row(leg.name) in climbing and knots
        found[leg.name] = straight(frames, np.array(knots), np.array(levels)) if climbs else np.zeros(len(frames))
    return found


def _stances(leg: _Leg, legs: list[_Leg], tracks: Tracks) -> tuple[list[int], list[float], bool]:
    """First and last frames of stances, their elevations, and whether any of them is off the level."""
    knots, levels, uneven = [], [], False
    stances = runs(leg.still)
    for start, stop in stances.tolist():
        height = float(median(leg.height[start:stop]))
        elsewhere = abs(height) > FLOOR_UNEVENNESS * leg.scale
        if elsewhere and not _carries(leg, slice(start, stop), height, legs, tracks):
            continue
        uneven |= elsewhere
        knots += [start, stop - 1]
        levels += [height, height]
    return knots, levels, uneven


def _carries(leg: _Leg, frames: slice, height: float, legs: list[_Leg], tracks: Tracks) -> bool:
    """True if the body stands on a still foot: on it alone for long, or moving over it."""
    supported = ~tracks.falls[frames]
    alone = supported.copy()
    for other in legs:
        if other is not leg:
            lowest = other.height[frames]
            alone &= ~(
                (lowest < height - FLOOR_UNEVENNESS * leg.scale)
                & (other.still[frames] | (lowest < CONTACT_HEIGHT * other.scale))
            )
    time, time_alone = (int(np.count_nonzero(each)) / tracks.clip.fps for each in (supported, alone))
    travel = tracks.hips[frames] - leg.place[frames]
    travel[:, tracks.axis] = 0.0
    if size(extent(travel)) >= STEP_HEIGHT * leg.scale:
        return bool(time >= SHORTEST_STANCE)
    return bool(time_alone >= SMOOTHING_TIME)
