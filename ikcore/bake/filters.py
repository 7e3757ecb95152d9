"""Filters over time without delay; those of a clip that is all there, so they see what comes."""

from __future__ import annotations

import math

import numpy as np

from ikcore.bake.scene import Array


def smoothed(values: Array, reach: float, fps: float) -> Array:
    """Three moving means, which together have the spread of a kernel (1 - t^2)^2 that reaches so many seconds.

    At the ends values stay as they are.
    """
    half = round(reach * fps / math.sqrt(7))  # the standard deviation of that kernel, in frames
    wide = 2 * half + 1
    for _ in range(3 if half else 0):
        ends = values[:1].repeat(half + 1, axis=0), values[-1:].repeat(half, axis=0)
        sums = np.add.accumulate(np.concatenate([ends[0], values, ends[1]]), axis=0)
        values = (sums[wide:] - sums[:-wide]) / wide
    return values


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
    """The values of the second of three rounds of a loop, in all three."""
    once = (len(values) - 1) // 3
    own = values[once : 2 * once]
    return np.concatenate([own, own, own, own[:1]])


def _count(reach: float, fps: float) -> int:
    """How many frames before and after each are nearer than so many seconds."""
    return max(math.ceil(reach * fps) - 1, 0)
