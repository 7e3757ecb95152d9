"""Toes: bent up where the ground rises before the foot."""

from __future__ import annotations

import numpy as np

from ikcore._arrays import size
from ikcore.bake import quaternions
from ikcore.bake.curves import smooth
from ikcore.bake.floors import Floor
from ikcore.bake.footing import STEP
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Scene, tangent
from ikcore.bake.way import Way

_BENDING = 0.03  # seconds: toes bend about as fast


def toes_of(way: Way, floor: Floor, scene: Scene, *, loop: bool) -> Array:
    """How toes are bent more than in the clip: world rotations, after those of the foot."""
    motion = way.motion
    if not motion.on_toes("toe"):
        return way.toes
    tip, there, thick = way.sole("toe"), motion.soles["toe"], floor.thick["toe"]
    stood = _under(there, motion, scene) + thick if scene.made else floor.stood["toe"]
    own = np.fmin(there[:, scene.axis] - stood, 0)  # where they are in the floor anyway
    own[way.lies] = 0
    lack = np.fmax(_under(tip, motion, scene) + thick + own - tip[:, scene.axis], 0)
    lack[lack <= scene.settings.tolerance * motion.scale] = 0
    if not lack.any():
        return way.toes
    pull, most = 1 / (_BENDING * _BENDING * _BENDING * _BENDING), np.where(way.lies, lack, np.inf)
    lack = smooth(0.0, fps=scene.fps, pull=pull, lower=lack, upper=most, loop=loop)
    arm = tip - (motion.reference + way.shift)
    raised = arm.copy()
    raised[:, scene.axis] += np.minimum(lack, _bent(arm, scene))
    return quaternions.multiply(quaternions.shortest_arc(arm, raised), way.toes)


def _under(tip: Array, motion: LegMotion, scene: Scene) -> Array:
    return scene.under(tip, STEP * motion.scale, STEP * motion.scale)


def _bent(arm: Array, scene: Scene) -> Array:
    """How far up the tips of toes come that bend as far as they may; to the vertical at most."""
    far, most = size(scene.level(arm)), tangent(scene.settings.toe)
    left = far - arm[:, scene.axis] * most  # in proportion to the cosine of where they come to
    most_up = (arm[:, scene.axis] * arm[:, scene.axis] + far * far) * most
    return np.asarray(np.where(left > 0, most_up / np.where(left > 0, left, 1), np.inf))
