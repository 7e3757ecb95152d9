"""Numbers over time: percentiles and straight interpolation, the same bits on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core

Array = NDArray[np.float64]


def percentile(values: Array, percent: float) -> float:
    """A percentile of the finite values; NaN if there are none."""
    return _core.percentile(values, percent)


def straight(times: NDArray[Any], knots: NDArray[Any], values: Array) -> Array:
    """Linear interpolation between knots, constant beyond them; unlike NumPy's, the same bits on every machine."""
    return _core.straight(times, knots, values)
