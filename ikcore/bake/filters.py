"""Filters over time without delay; those of a clip that is all there, so they see what comes."""

from __future__ import annotations

import math

import numpy as np

from ikcore import _core
from ikcore.bake.scene import Array


def smoothed(values: Array, reach: float, fps: float, *, loop: bool = False) -> Array:
    """Through a kernel (1 - t^2)^2 that reaches so many seconds before and after.

    At the ends values stay as they are, or go on if they are those of a loop.

    Where values are equal they stay so, to the bit.
    """
    most = max(math.ceil(reach * fps) - 1, 0)
    taps = np.arange(-most, most + 1) / (reach * fps)
    bell = 1 - taps * taps
    kernel = bell * bell
    wide, total = _prolonged(values, most, loop), np.add.accumulate(kernel)[-1]  # Pythons differ in how they add
    return _core.filtered(wide, np.ascontiguousarray(values), kernel / total)


def spread(values: Array, reach: float, fps: float, *, loop: bool = False) -> Array:
    """The largest within so many seconds of every frame."""
    most = max(math.ceil(reach * fps) - 1, 0)
    wide, width = _prolonged(values, most, loop), 1
    while width < 2 * most + 1:
        step = min(width, 2 * most + 1 - width)
        wide = np.maximum(wide[:-step], wide[step:])
        width += step
    return np.asarray(wide)


def in_rounds(values: Array) -> Array:
    """What the second of three rounds of a loop has, in all of them."""
    once = (len(values) - 1) // 3
    own = values[once : 2 * once]
    return np.concatenate([own, own, own, own[:1]])


def _prolonged(values: Array, more: int, loop: bool) -> Array:
    at, last = np.arange(-more, len(values) + more), len(values) - 1
    return np.asarray(values[at % max(last, 1) if loop else np.clip(at, 0, last)])
