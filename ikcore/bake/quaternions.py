"""Rotations in arrays of doubles: functions of the core without the checks of `ikcore.rotations`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ikcore import _core
from ikcore.bake.scene import IDENTITY, Array

_NO_AXIS = np.empty(0)

multiply: Callable[[Array, Array], Array] = _core.quat_multiply
conjugate: Callable[[Array], Array] = _core.quat_conjugate
normalize: Callable[[Array], Array] = _core.quat_normalize
rotate: Callable[[Array, Array], Array] = _core.quat_rotate
slerp: Callable[[Array, Array, Array], Array] = _core.quat_slerp
log: Callable[[Array], Array] = _core.quat_log
exp: Callable[[Array], Array] = _core.quat_exp


def shortest_arc(a: Array, b: Array) -> Array:
    """The smallest rotation from one direction to another."""
    found: Array = _core.quat_shortest_arc(a, b, _NO_AXIS)
    return found


def scale_rotations(turn: Array, weight: float) -> Array:
    """Rotations (frames, 4) scaled by a weight."""
    return slerp(np.broadcast_to(IDENTITY, turn.shape), turn, np.full(len(turn), weight))
