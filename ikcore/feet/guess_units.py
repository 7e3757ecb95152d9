"""Guesses of the unit and the up axis of a clip whose file does not say them, from its legs."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from ikcore.clips.clip import Clip
from ikcore.feet import free_feet
from ikcore.feet.detect import Feet
from ikcore.feet.metrics import leg_length
from ikcore.feet.thresholds import LEG_LENGTH
from ikcore.feet.time_series import percentile

# Metres per unit, and the name of the unit; the last one is that of the many clips of the CMU library.
UNITS = {1.0: "metres", 0.01: "centimetres", 0.0254: "inches", 0.001: "millimetres", 0.0254 / 0.45: "units of 0.0564 m"}
_METRIC = (1.0, 0.01)  # formats in metres: files may be in centimetres by mistake
_TALL = 3  # legs that are too long are this much less likely than legs that are too short, because of children


def likely_unit(length: float, units: tuple[float, ...] = tuple(UNITS)) -> float:
    """Return metres per unit for the unit that makes a leg most like a human's.

    Parameters
    ----------
    length : float
        Its length in units of a clip.
    units : tuple of float, optional
        The candidates.

    Returns
    -------
    float
        1 if the leg has no length.

    Examples
    --------
    >>> likely_unit(0.9), likely_unit(85.0), round(likely_unit(15.6), 4)
    (1.0, 0.01, 0.0564)
    """
    return min(units, key=lambda unit: _length_cost(length * unit)) if length > 0 else 1.0


def guess_units(clip: Clip, *, up: bool, unit: bool, says_axes: bool) -> Clip:
    """The clip with the axis or the unit that its legs make most likely, whatever it had.

    Parameters
    ----------
    clip : Clip
        The clip as read.
    up, unit : bool
        Whether to guess the axis and the unit.
    says_axes : bool
        Whether the file format has Y up and metres.
    """
    down, length = _legs(clip, None if up else clip.up)
    lying = not says_axes and down[2] < -abs(down[1])
    likely = likely_unit(length, _METRIC if says_axes else tuple(UNITS))
    return dataclasses.replace(clip, up=("Z" if lying else "Y") if up else clip.up, unit=likely if unit else clip.unit)


def _length_cost(length: float) -> float:
    """A cost for the difference of a leg length in metres from that of a human."""
    off = math.log(length / LEG_LENGTH)
    return max(_TALL * off, -off)


def _legs(clip: Clip, up: str | None) -> tuple[NDArray[np.float64], float]:
    """The direction in which legs hang, and their length in units of the clip."""
    places = clip.skeleton.forward(clip.pose[:: 1 + len(clip) // 16]).positions.astype(np.float64)
    legs = Feet.detect(clip.skeleton, up=up)
    bones = [leg.bones if leg.hip else (*free_feet.hips(clip.skeleton, legs), *leg.bones) for leg in legs]
    chains = [places[:, [clip.skeleton.index(joint) for joint in joints]] for joints in bones]
    down = np.sum([np.nan_to_num(chain[:, -1] - chain[:, 0]).sum(axis=0) for chain in chains], axis=0)
    lengths = [
        free_feet.length_in(clip, leg) if leg.free else leg_length(chain)
        for leg, chain in zip(legs, chains, strict=True)
    ]
    return down, percentile(np.array(lengths), 50)
