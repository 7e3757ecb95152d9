"""The body: how the pelvis moves so that legs reach the ground and keep their bend."""

from __future__ import annotations

import math

import numpy as np

from ikcore.bake.motion import Array, LegMotion, level, size
from ikcore.bake.settings import BakeSettings
from ikcore.bake.way import Way

_SMOOTH = 0.25  # seconds, half the width of the filter
_USUAL = 95  # the percentile of how straight a leg is in the clip


def reach_of(motion: LegMotion, settings: BakeSettings) -> Array:
    """How far from the hip a foot may be in every frame: never straighter than in the clip."""
    way = motion.ankle - motion.chain[:, 0]
    length = size(way)
    share = np.sort(length[np.isfinite(length)]) / motion.size
    usual = float(share[min(len(share) * _USUAL // 100, len(share) - 1)]) if len(share) else 1.0
    return np.asarray(np.maximum(length, min(usual, settings.straight) * motion.size))


def rise_of(
    legs: list[LegMotion], ways: list[Way], ankles: list[Array], fps: float, axis: int, loop: bool, settings: BakeSettings
) -> Array:
    """How far up the pelvis goes, frame by frame."""
    wanted, most = [], []
    for motion, way, ankle in zip(legs, ways, ankles, strict=True):
        plain = ankle.copy()
        plain[:, axis] -= way.shift[:, axis] - way.plain
        kept = size(motion.ankle - motion.chain[:, 0])
        wanted.append(_rise(motion.chain[:, 0], plain, kept, axis))
        most.append(_rise(motion.chain[:, 0], ankle, reach_of(motion, settings), axis))
    highest = np.minimum.reduce(most)
    rise = _balanced(wanted, highest) if settings.pelvis == "balanced" else np.minimum.reduce([way.plain for way in ways])
    rise = smoothed(rise, _SMOOTH, fps, loop)
    excess = np.maximum(rise - highest, 0)
    if (excess > 0).any():
        rise = rise - smoothed(spread(excess, _SMOOTH, fps, loop), _SMOOTH, fps, loop)
    stood = np.minimum.reduce([way.plain for way in ways])
    return np.asarray(np.clip(rise, stood - settings.drop * legs[0].scale, np.maximum.reduce([way.plain for way in ways]) + settings.lift * legs[0].scale))


def _rise(hip: Array, ankle: Array, length: Array, axis: int) -> Array:
    """How far up a hip is moved until it is as far from the ankle as this; where it is too far aside, level with it."""
    aside = size(level(ankle - hip, axis))
    return np.asarray(ankle[:, axis] - hip[:, axis] + np.sqrt(np.maximum(length * length - aside * aside, 0)))


def _balanced(wanted: list[Array], highest: Array) -> Array:
    """Between the lowest of what legs want and their mean, the nearer to the mean the more room there is above."""
    least = np.minimum(np.minimum.reduce(wanted), highest)
    mean = wanted[0].copy()
    for other in wanted[1:]:
        mean += other
    mean = np.maximum(mean / len(wanted), least)
    above, room = mean - least, highest - least
    total = above + room
    return np.asarray(least + np.where(total > 0, above * room / np.where(total > 0, total, 1), 0))


def smoothed(values: Array, reach: float, fps: float, loop: bool) -> Array:
    """Through a filter without delay, a kernel (1 - t^2)^2."""
    most = max(math.ceil(reach * fps) - 1, 0)
    kernel = [(1 - (tap / (reach * fps)) ** 2) ** 2 for tap in range(-most, most + 1)]
    wide, total = prolonged(values, most, loop), sum(kernel)
    found = np.zeros_like(values)
    for tap, factor in enumerate(kernel):
        found += wide[tap : tap + len(values)] * (factor / total)
    return found


def spread(values: Array, reach: float, fps: float, loop: bool) -> Array:
    """The largest within reach of every frame."""
    most = max(math.ceil(reach * fps) - 1, 0)
    wide, found, width = prolonged(values, most, loop), values.copy(), 1
    wide = wide.copy()
    while width < 2 * most + 1:
        step = min(width, 2 * most + 1 - width)
        wide = np.maximum(wide[:-step], wide[step:])
        width += step
    found[:] = wide[: len(values)]
    return found


def prolonged(values: Array, more: int, loop: bool) -> Array:
    """So many frames more at both ends: a loop goes on, others stay as they are."""
    last = len(values) - 1
    at = np.arange(-more, last + 1 + more)
    if loop and last:
        turns, frames = np.divmod(at, last)
        turns[more + last], frames[more + last] = 0, last
        return np.asarray(values[frames] + turns * (values[last] - values[0]))
    return np.asarray(values[np.clip(at, 0, last)])
