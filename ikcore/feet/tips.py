"""Legs that end in a joint without rotations, as in files."""

from __future__ import annotations

import dataclasses

from ikcore.clips.clip import Clip
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole


def with_tips(feet: Feet, clip: Clip) -> Feet:
    """Legs without ankles that are ends in a file, which have places but no rotations: the shin carries the sole."""
    return Feet(tuple(_with_tip(leg, clip) for leg in feet))


def _with_tip(leg: Leg, clip: Clip) -> Leg:
    skeleton = clip.skeleton
    end = skeleton.index(leg.ankle) if leg.ankle else -1
    if end < 0 or leg.free or clip.channels is None or clip.channels[end] or (skeleton.parents == end).any():
        return leg
    above, (x, y, z) = skeleton.names[skeleton.parents[end]], skeleton.offsets[end].tolist()
    soles = {
        point: Sole(above, (x + sole.offset[0], y + sole.offset[1], z + sole.offset[2]))
        for point, sole in leg.soles.items()
        if sole.joint == leg.ankle
    }
    return dataclasses.replace(leg, ankle=None, ball=None, toe=None, soles=soles) if "ball" in soles else leg
