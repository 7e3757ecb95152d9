"""Toes: bent up where the ground rises before the foot."""

from __future__ import annotations

import numpy as np

from ikcore import rotations
from ikcore._arrays import size
from ikcore.bake.filters import smoothed, spread
from ikcore.bake.floors import Floor
from ikcore.bake.footing import STEP
from ikcore.bake.scene import UNTURNED, Array, Scene, tangent
from ikcore.bake.way import Way

_SMOOTH = 0.06  # seconds, half the width of the filter


def toes_of(way: Way, floor: Floor, scene: Scene, *, loop: bool) -> Array:
    """How toes are bent more than in the clip: world rotations, after those of the foot."""
    motion, straight = way.motion, np.broadcast_to(UNTURNED, way.turn.shape)
    if motion.toe is None or "toe" not in motion.soles or motion.leg.soles["toe"].joint != motion.leg.ball:
        return straight
    ball, tip = motion.reference + way.shift, way.carried(motion.soles["toe"])
    own = np.minimum(motion.soles["toe"][:, scene.axis] - floor.stood["toe"], 0)  # where they are in the floor anyway
    height = scene.under(tip, STEP * motion.scale, STEP * motion.scale)
    lack = np.fmax(height + floor.thick["toe"] + own - tip[:, scene.axis], 0)
    if not lack.any():
        return straight
    lack = smoothed(spread(lack, _SMOOTH, scene.fps, loop=loop), _SMOOTH, scene.fps, loop=loop)
    arm = tip - ball
    raised = arm.copy()
    raised[:, scene.axis] += np.minimum(lack, _bent(arm, scene))
    return rotations.shortest_arc(arm, raised)


def _bent(arm: Array, scene: Scene) -> Array:
    """How far up the tips of toes come that bend as far as they may; to the vertical at most."""
    far, most = size(scene.level(arm)), tangent(scene.settings.toe)
    left = far - arm[:, scene.axis] * most  # in proportion to the cosine of where they come to
    most_up = (arm[:, scene.axis] * arm[:, scene.axis] + far * far) * most
    return np.asarray(np.where(left > 0, most_up / np.where(left > 0, left, 1), np.inf))
