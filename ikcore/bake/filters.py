"""Filters over time without delay; those of a clip that is all there, so they see what comes."""

from __future__ import annotations

import numpy as np

from ikcore import _core
from ikcore.bake.scene import Array


def smoothed(values: Array, reach: float, fps: float) -> Array:
    """Through a kernel (1 - t^2)^2 that reaches so many seconds before and after.

    At the ends values stay as they are. Where values are equal they stay so, to the bit.
    """
    return _core.filtered(np.ascontiguousarray(values), reach * fps)


def spread(values: Array, reach: float, fps: float) -> Array:
    """The largest nearer than so many seconds to every frame."""
    return _core.spread(np.ascontiguousarray(values), reach * fps)


def in_rounds(values: Array) -> Array:
    """What the second of three rounds of a loop has, in all of them."""
    once = (len(values) - 1) // 3
    own = values[once : 2 * once]
    return np.concatenate([own, own, own, own[:1]])
