"""Toes: bent up where the ground rises before the foot."""

from __future__ import annotations

import numpy as np

from ikcore._arrays import size
from ikcore.bake import quaternions
from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.paths import FootPath
from ikcore.bake.scene import Array, Scene, tangent
from ikcore.clips.smoothing import spline
from ikcore.feet.thresholds import ANTICIPATION_TIME, STEP_HEIGHT


def toes_of(path: FootPath, floor: Floor, scene: Scene, *, loop: bool) -> Array:
    """World rotations of the toes, after those of the foot, with more bend where the ground rises."""
    motion = path.motion
    if not motion.on_toes("toe"):
        return path.toes
    tip = path.soles(["toe"])[:, 0]
    deficit = _deficit(path, tip, floor, scene)
    if not deficit.any():
        return path.toes
    most = np.where(path.lies, deficit, np.inf)
    lift = spline(0.0, fps=scene.fps, pull=1 / (ANTICIPATION_TIME / 2) ** 4, lower=deficit, upper=most, loop=loop)
    arm = tip - (motion.reference + path.shift)
    return quaternions.multiply(quaternions.shortest_arc(arm, _raise_arms(arm, lift, scene)), path.toes)


def _deficit(path: FootPath, tip: Array, floor: Floor, scene: Scene) -> Array:
    """How far tips are too low (frames,), less their depth in the source's floor in frames in which they do not lie."""
    motion, axis, thick = path.motion, scene.axis, floor.thick["toe"]
    there = motion.soles["toe"]
    stood = (
        _ground_below(there, motion, scene) + thick
        if scene.on_ground
        else floor.stood[:, list(motion.soles).index("toe")]
    )
    own = np.where(path.lies, 0, np.minimum(there[:, axis] - stood, 0))
    found = _ground_below(tip, motion, scene) + thick + own - tip[:, axis]
    return np.where(found > scene.settings.tolerance * motion.scale, found, 0)


def _raise_arms(arm: Array, lift: Array, scene: Scene) -> Array:
    """The ends of arms (frames, 3) raised up to the largest bend of the toes, at most to the vertical."""
    most, high, far = tangent(scene.settings.toe), arm[:, scene.axis], size(scene.level(arm))
    left = far - high * most  # proportional to the cosine of the pitch
    up = np.where(left > 0, (high * high + far * far) * most / np.where(left > 0, left, 1), np.inf)
    raised = arm.copy()
    raised[:, scene.axis] += np.minimum(lift, up)
    return raised


def _ground_below(tip: Array, motion: LegMotion, scene: Scene) -> Array:
    return scene.under(tip, STEP_HEIGHT * motion.scale, STEP_HEIGHT * motion.scale)
