"""Numbers over time: percentiles and straight interpolation, the same bits on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core

Array = NDArray[np.float64]


def percentile(values: Array, percent: float) -> float:
    """Of those that are finite; NaN of none."""
    return _core.percentile(values, percent)


def straight(times: NDArray[Any], knots: NDArray[Any], values: Array) -> Array:
    """Between knots, in exact operations, which NumPy's own are not everywhere; beyond them as at the last one."""
    return _core.straight(times, knots, values)
