"""Toes: bent up where the ground rises before the foot."""

from __future__ import annotations

import numpy as np

from ikcore import _core
from ikcore.bake import quaternions
from ikcore.bake.curves import smooth
from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Scene, tangent
from ikcore.bake.way import Way
from ikcore.feet.human import MOMENT, STEP


def toes_of(way: Way, floor: Floor, scene: Scene, *, loop: bool) -> Array:
    """How toes are bent more than in the clip: world rotations, after those of the foot."""
    motion = way.motion
    if not motion.on_toes("toe"):
        return way.toes
    tip, there, thick = way.sole("toe"), motion.soles["toe"], floor.thick["toe"]
    stood = _under(there, motion, scene) + thick if scene.on_ground else floor.stood["toe"]
    least = scene.settings.tolerance * motion.scale
    lack = _core.toe_lack(tip, there, stood, _under(tip, motion, scene), way.lies, thick, least, scene.axis)
    if lack is None:
        return way.toes
    most = np.where(way.lies, lack, np.inf)
    lack = smooth(0.0, fps=scene.fps, pull=1 / (MOMENT / 2) ** 4, lower=lack, upper=most, loop=loop)
    arm = tip - (motion.reference + way.shift)
    raised = arm.copy()
    _core.raise_arms(raised, lack, tangent(scene.settings.toe), scene.axis)
    return quaternions.multiply(quaternions.shortest_arc(arm, raised), way.toes)


def _under(tip: Array, motion: LegMotion, scene: Scene) -> Array:
    return scene.under(tip, STEP * motion.scale, STEP * motion.scale)
