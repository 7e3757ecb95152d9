"""Smooth curves of a bake: arrays of doubles, for which the core is called past what `ikcore.smooth` does first."""

from __future__ import annotations

import math

import numpy as np

from ikcore import _core
from ikcore.bake.scene import Array


def smooth(
    wanted: Array | float,
    *,
    fps: float,
    pull: Array | float,
    lower: Array | float | None = None,
    upper: Array | float | None = None,
    tension: float = 0.0,
    loop: bool = False,
    start: Array | None = None,
) -> Array:
    """The values of `ikcore.smooth`, frames first; one of the arrays has as many channels as there are.

    Sooner with a start that is like them, and the same but for rounding.
    """
    named = wanted, lower, upper, pull, start
    given = [None if values is None else np.asarray(values, np.float64) for values in named]
    shape = max((values for values in given if values is not None), key=lambda values: (values.ndim, values.size)).shape
    near, low, high, drawn, begin = [None if values is None else _channels(values, shape) for values in given]
    found = np.empty((shape[0], math.prod(shape[1:])))  # a row for each frame, as what is given has them
    numbers = np.empty((2, found.shape[1]), np.int32)
    _core.smooth(near, low, high, drawn, fps, tension, loop, found.T, numbers[0], numbers[1], None, begin)
    return found.reshape(shape)


def _channels(values: Array, shape: tuple[int, ...]) -> Array:
    """A row for each; one row, or one number, for all."""
    if values.ndim < 2 or len(values) == values.size:
        return values.reshape(1, -1)
    wide = values if values.shape == shape else np.broadcast_to(values, shape)
    return wide.reshape(shape[0], -1).T
