"""Rotations of a bake: arrays of doubles, for which the core is called past what `ikcore.rotations` does first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ikcore import _core
from ikcore.bake.scene import UNTURNED, Array

_NO_AXIS = np.empty(0)

multiply: Callable[[Array, Array], Array] = _core.quat_multiply
conjugate: Callable[[Array], Array] = _core.quat_conjugate
normalize: Callable[[Array], Array] = _core.quat_normalize
rotate: Callable[[Array, Array], Array] = _core.quat_rotate
slerp: Callable[[Array, Array, Array], Array] = _core.quat_slerp
log: Callable[[Array], Array] = _core.quat_log
exp: Callable[[Array], Array] = _core.quat_exp


def shortest_arc(a: Array, b: Array) -> Array:
    """The smallest rotation that turns one direction to another."""
    found: Array = _core.quat_shortest_arc(a, b, _NO_AXIS)
    return found


def weighed(turn: Array, weight: float) -> Array:
    """Some of rotations (frames, 4)."""
    return slerp(np.broadcast_to(UNTURNED, turn.shape), turn, np.full(len(turn), weight))
