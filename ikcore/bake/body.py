"""The body: how the pelvis moves so that legs reach the ground and keep their bend."""

from __future__ import annotations

import numpy as np

from ikcore.bake.filters import smoothed, spread
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Scene, size
from ikcore.bake.way import Way

_SMOOTH = 0.25  # seconds, half the width of the filter
_USUAL = 95  # the percentile of how straight a leg is in the clip


def reach_of(motion: LegMotion, scene: Scene) -> Array:
    """How far from the hip a foot may be in every frame: never straighter than in the clip."""
    length = size(motion.ankle - motion.chain[:, 0])
    usual = np.sort(length)[len(length) * _USUAL // 100]
    return np.maximum(length, np.minimum(usual, scene.settings.straight * motion.size))


def rise_of(ways: list[Way], scene: Scene) -> Array:
    """How far up the pelvis goes, frame by frame."""
    wanted, most, plain = [], [], np.stack([way.plain for way in ways])
    for way in ways:
        hip, ankle = way.motion.chain[:, 0], way.ankle
        most.append(_rise(hip, ankle, reach_of(way.motion, scene), scene))
        ankle[:, scene.axis] -= way.shift[:, scene.axis] - way.plain
        wanted.append(_rise(hip, ankle, size(way.motion.ankle - hip), scene))
    highest = np.minimum.reduce(most)
    rise = plain.min(axis=0) if scene.settings.pelvis == "lowest" else _balanced(wanted, highest)
    rise = smoothed(rise, _SMOOTH, scene.fps)
    over = np.maximum(rise - highest, 0)
    if over.any():
        rise = rise - smoothed(spread(over, _SMOOTH, scene.fps), _SMOOTH, scene.fps)
    scale = max(way.motion.scale for way in ways)
    low, high = scene.settings.drop * scale, scene.settings.lift * scale
    return np.clip(rise, plain.min(axis=0) - low, plain.max(axis=0) + high)


def _rise(hip: Array, ankle: Array, length: Array, scene: Scene) -> Array:
    """How far up a hip is moved until it is as far from the ankle as this; where it is too far aside, level with it."""
    aside = size(scene.level(ankle - hip))
    up = np.sqrt(np.maximum(length * length - aside * aside, 0))
    return np.asarray(ankle[:, scene.axis] - hip[:, scene.axis] + up)


def _balanced(wanted: list[Array], highest: Array) -> Array:
    """Between the lowest of what legs want and their mean, the nearer to the mean the more room there is above.

    The rule of R. S. Johansen, "Automated semi-procedural animation for character locomotion", 2009.
    """
    least = np.minimum(np.minimum.reduce(wanted), highest)
    total = wanted[0].copy()
    for other in wanted[1:]:
        total += other
    above, room = np.maximum(total / len(wanted) - least, 0), highest - least
    both = above + room
    return np.asarray(least + np.where(both > 0, above * room / np.where(both > 0, both, 1), 0))
