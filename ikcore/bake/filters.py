"""Filters over time without delay; those of a clip that is all there, so they see what comes."""

from __future__ import annotations

import math

import numpy as np

from ikcore.bake.scene import Array


def smoothed(values: Array, reach: float, fps: float) -> Array:
    """Through a kernel (1 - t^2)^2 that reaches so many seconds before and after.

    At the ends values stay as they are. Where values are equal they stay so, to the bit.
    """
    count, last = _count(reach, fps), len(values) - 1
    found, total, at = np.zeros_like(values), 1.0, np.arange(len(values))
    for k in range(1, count + 1):
        t = k / (reach * fps)
        weight = (1 - t * t) * (1 - t * t)
        total += 2 * weight
        found += weight * ((values[np.minimum(at + k, last)] - values) + (values[np.maximum(at - k, 0)] - values))
    return np.asarray(values + found / total)


def spread(values: Array, reach: float, fps: float) -> Array:
    """The largest nearer than so many seconds to every frame."""
    count = min(_count(reach, fps), len(values))
    found = np.concatenate([np.full(count, -np.inf), values, np.full(count, -np.inf)])
    wide, most = 1, 2 * count + 1
    while wide < most:  # the largest of so many frames from each on, twice as many in each turn
        step = min(wide, most - wide)
        found = np.maximum(found[:-step], found[step:])
        wide += step
    return found


def in_rounds(values: Array) -> Array:
    """What the second of three rounds of a loop has, in all of them."""
    once = (len(values) - 1) // 3
    own = values[once : 2 * once]
    return np.concatenate([own, own, own, own[:1]])


def _count(reach: float, fps: float) -> int:
    """How many frames before and after each are nearer than so many seconds."""
    return max(math.ceil(reach * fps) - 1, 0)
