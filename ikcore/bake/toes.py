"""Toes: bent up where the ground rises before the foot."""

from __future__ import annotations

import numpy as np

from ikcore import rotations
from ikcore.bake.body import smoothed, spread
from ikcore.bake.floors import Floor
from ikcore.bake.motion import Array, LegMotion, level, size
from ikcore.bake.settings import BakeSettings
from ikcore.bake.way import Way
from ikcore.ground import Ground

_STEP = 0.1  # metres for a leg of 0.87 m: what is higher above the toes is no ground to bend on
_SMOOTH = 0.06  # seconds, half the width of the filter


def bent(
    motion: LegMotion, way: Way, floor: Floor, ground: Ground, fps: float, axis: int, loop: bool, settings: BakeSettings, workers: int
) -> Array | None:
    """World rotations of the toes from what they were; None if they do not turn with a joint of their own."""
    if motion.toe is None or "toe" not in motion.soles or motion.leg.soles["toe"].joint != motion.leg.ball:
        return None
    ball = motion.reference + way.shift
    arm = rotations.rotate(way.turn, motion.soles["toe"] - motion.reference)
    tip = ball + arm
    above = np.minimum(motion.soles["toe"][:, axis] - floor.stood["toe"], 0)
    height = ground.at(tip, above=_STEP * motion.scale, below=_STEP * motion.scale, workers=workers).height
    lack = np.fmax(height + floor.thick["toe"] + above - tip[:, axis], 0)
    if not (lack > 0).any():
        return way.turn
    lack = smoothed(spread(lack, _SMOOTH, fps, loop), _SMOOTH, fps, loop)
    flat = size(level(arm, axis))
    most = flat * _tangent(settings.toe)
    raised = arm.copy()
    raised[:, axis] += np.minimum(lack, np.maximum(most - arm[:, axis], 0))
    return rotations.multiply(rotations.shortest_arc(arm, raised), way.turn)


def _tangent(degrees: float) -> float:
    w, x, _, _ = rotations.from_axis_angle([1.0, 0, 0], 2 * degrees * (3.141592653589793 / 180))
    return float(x / w)
