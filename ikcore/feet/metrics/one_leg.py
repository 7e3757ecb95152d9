"""All measures of a leg in one record: `measure` of a `Track`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore.contacts.intervals import Mask, mask_of, runs
from ikcore.feet.metrics import arguments, knees, on_ground
from ikcore.feet.metrics.fidelity import deviation
from ikcore.feet.metrics.sliding import drift, heading_drift, skating_ratio
from ikcore.feet.metrics.smoothness import derivative, jerk_ratio
from ikcore.feet.metrics.track import Track

Array = NDArray[np.float64]
_ROUNDING = 1e-4  # share of the leg length by which the reach must be exceeded to count
# Names of measures that are differences from the source if there is one; of those that are so even if `beyond` is
# False; and of those that need a source.
BEYOND = ("skating", "skating_by_height", "penetration", "penetration_swing", "floating", "sole_angle", "knee_flips")
ALWAYS_BEYOND = ("skating_by_height", "knee_flips")
BESIDE = (
    *("skating_by_height", "off_ground", "lift_lost", "reach_violations", "knee_acceleration"),
    *("ankle_jerk", "pelvis_jerk", "pelvis_path", "length_error", "deviation"),
    *("straightness_lost", "pelvis_lowered"),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """All measures of a leg. Lengths are in metres, angles in radians; NaN if there is nothing to measure.

    If there is a source, skating, penetration, floating, the sole angle and flips are differences from it (`beyond`);
    `BEYOND` has their names. Without a source, measures that compare with it are NaN; `BESIDE` has their names. A
    percentile is one of the values, the next one above: for few stances the 95th percentile is the largest value.

    Attributes
    ----------
    drift, drift_most : float
        `drift` over all stances of all points of the sole: 95th percentile and largest value.
    heading_drift : float
        While all points are in contact, 95th percentile.
    skating, skating_by_height : float
        `skating_ratio` with the given contacts, and with all points lower than 0.05 m as contacts.
    penetration, floating : float
        In contact, and in the cores of contacts (`contact_cores`); 95th percentiles.
    penetration_swing : float
        The largest penetration in all other frames.
    sole_angle : float
        In frames in which all points are in contact, 95th percentile.
    off_ground : float
        In `undetected_contacts`: largest distance from the ground relative to the source, or 0.
    lift_lost : float
        The median.
    extension : float
        The largest. This and all other measures of knees, bones and reach are NaN for a foot without a leg.
    reach_violations : float
        Number of frames in which the ankle is farther from the hip than the bones of the source are long.
    knee_flips : float
        Number of `flips`; with a source, of `new_flips`.
    knee_pops : float
        Number of frames with `pops`, compared with the source.
    knee_acceleration : float
        The 99th percentile over that of the source, or over 7000 degrees/s^2 if that is larger.
    ankle_jerk, pelvis_jerk : float
        `jerk_ratio`.
    pelvis_path : float
        Horizontal distance of the pelvis from that of the source, in leg lengths; 95th percentile.
    straightness_lost : float
        The largest of all knees.
    pelvis_lowered : float
        `pelvis_lowered`, 95th percentile.
    length_error : float
        The largest.
    deviation : float
        Mean distance of the chain's joints from the source.
    """

    drift: float
    drift_most: float
    heading_drift: float
    skating: float
    skating_by_height: float
    penetration: float
    penetration_swing: float
    floating: float
    sole_angle: float
    off_ground: float
    lift_lost: float
    extension: float
    reach_violations: float
    knee_flips: float
    knee_pops: float
    knee_acceleration: float
    ankle_jerk: float
    pelvis_jerk: float
    pelvis_path: float
    straightness_lost: float
    pelvis_lowered: float
    length_error: float
    deviation: float

    def texts(self) -> dict[str, str]:
        """Every measure by name, in millimetres, degrees and percent.

        "-" is for a measure without a value, and "no ground" for floating where there is no ground.

        Returns
        -------
        dict of str to str
        """
        return {name: _text(getattr(self, name), *how) for name, how in _UNITS.items()}

    def __repr__(self) -> str:
        return "\n".join(["Measure:", *(f"  {name:18}{text}" for name, text in self.texts().items())])


_MM, _PERCENT, _DEGREES = (1e3, " mm"), (100.0, " %"), (180 / math.pi, "°")
_COUNT, _TIMES = (1.0, ""), (1.0, "x")
_UNITS: dict[str, tuple[float, str]] = {
    **dict.fromkeys(["drift", "drift_most"], _MM),
    "heading_drift": _DEGREES,
    **dict.fromkeys(["skating", "skating_by_height"], _PERCENT),
    **dict.fromkeys(["penetration", "penetration_swing", "floating"], _MM),
    "sole_angle": _DEGREES,
    "off_ground": _MM,
    **dict.fromkeys(["lift_lost", "extension"], _PERCENT),
    **dict.fromkeys(["reach_violations", "knee_flips", "knee_pops"], _COUNT),
    **dict.fromkeys(["knee_acceleration", "ankle_jerk", "pelvis_jerk"], _TIMES),
    "pelvis_path": _PERCENT,
    "straightness_lost": _DEGREES,
    "pelvis_lowered": _MM,
    "length_error": _PERCENT,
    "deviation": _MM,
}


def _text(value: float, factor: float, unit: str) -> str:
    if isinstance(value, int):
        return f"{value}{unit}"
    if math.isinf(value):
        return "no ground"
    return "-" if math.isnan(value) else f"{round(factor * value, 1) + 0:.1f}{unit}"


def measure_leg(
    leg: Track, contact: ArrayLike, *, fps: float, source: Track | None = None, beyond: bool = True
) -> Measure:
    """All measures of a leg in one record.

    Parameters
    ----------
    leg : Track
        The leg.
    contact : (frames, points) array_like of bool
        Contacts of each point of the sole, those of the source.
    fps : float
        Frames per second.
    source : Track, optional
        The leg in the source, on its own ground. Without it the measures in `BEYOND` are absolute, knee pops are
        compared with the rest of the clip, and other comparisons are NaN.
    beyond : bool, default: True
        Whether the measures in `BEYOND` are differences from the source. If not, they are absolute, except those in
        `BESIDE`.

    Examples
    --------
    A foot that stands 5 mm deep and slides by 1/4096 m per frame, 22 frames in the core of its stance:

    >>> way = np.arange(31)[:, np.newaxis, np.newaxis] * [0, 0, 1 / 4096]
    >>> leg = Track.on([[0, 0.9, 0], [0, 0.5, 0.1], [0, 0.1, 0]] + way, [[0, -0.005, 0], [0, -0.005, 0.2]] + way)
    >>> measure_leg(leg, np.full((31, 2), True), fps=30)
    Measure:
      drift             5.4 mm
      drift_most        5.4 mm
      heading_drift     0.0°
      skating           0.0 %
      skating_by_height -
      penetration       5.0 mm
      penetration_swing -
      floating          0.0 mm
      sole_angle        -
      off_ground        -
      lift_lost         -
      extension         97.0 %
      reach_violations  -
      knee_flips        0
      knee_pops         0
      knee_acceleration -
      ankle_jerk        -
      pelvis_jerk       -
      pelvis_path       -
      straightness_lost -
      pelvis_lowered    -
      length_error      -
      deviation         -
    """
    held = arguments.spread("contact", mask_of("contact", contact), leg.heights.shape)
    if source is not None:
        for name in ("chain", "sole", "ankles"):
            arguments.same("source", getattr(source, name).shape, getattr(leg, name).shape)
    clean, bent = source if beyond else None, knees.bends(leg.chain)
    were = bent if source is None else knees.bends(source.chain)
    return Measure(
        **_slides(leg, held, fps, clean),
        **_stands(leg, held, fps, clean),
        **_bends(leg, bent, were, fps, source),
        **(dict.fromkeys(BESIDE, math.nan) if source is None else _comparisons(leg, bent, were, held, fps, source)),
    )


def _slides(leg: Track, held: Mask, fps: float, source: Track | None) -> dict[str, Any]:
    slid, flat = _drifts(leg, held, fps), runs(held.all(axis=1))
    headings = leg.sole[:, -1] - leg.sole[:, 0]
    there = 0.0 if source is None else skating_ratio(source.sole, held, fps=fps)
    return {
        "drift": arguments.highest(slid, 95),
        "drift_most": arguments.highest(slid),
        "heading_drift": arguments.highest(heading_drift(headings, flat, fps=fps), 95)
        if held.shape[1] > 1
        else math.nan,
        "skating": max(skating_ratio(leg.sole, held, fps=fps) - there, 0.0),
    }


def _stands(leg: Track, held: Mask, fps: float, source: Track | None) -> dict[str, Any]:
    down, flat = held.any(axis=1), held.all(axis=1)
    deep, high, tilt = on_ground.penetration(leg.heights), on_ground.floating(leg.heights), leg.tilt
    if source is not None:
        deep = on_ground.beyond(deep, on_ground.penetration(source.heights))
        high = on_ground.beyond(high, on_ground.floating(source.heights))
        tilt = on_ground.beyond(tilt, source.tilt)
    return {
        "penetration": arguments.highest(deep[down], 95),
        "penetration_swing": arguments.highest(deep[~down]),
        "floating": arguments.highest(high[on_ground.contact_cores(down, fps=fps)], 95),
        "sole_angle": arguments.highest(tilt[flat], 95),
    }


def _bends(leg: Track, bent: Array, were: Array, fps: float, source: Track | None) -> dict[str, Any]:
    if _is_free(leg):
        return dict.fromkeys(("extension", "knee_flips", "knee_pops"), math.nan)
    flipped = knees.flips(leg.chain) if source is None else knees.new_flips(leg.chain, source.chain, fps=fps)
    return {
        "extension": arguments.highest(
            knees.extension(leg.chain[:, 0], leg.chain[:, -1], arguments.lengths(leg.chain))
        ),
        "knee_flips": int(flipped.sum()),
        "knee_pops": int(knees.pops(bent, were).any(axis=1).sum()),
    }


def _comparisons(leg: Track, bent: Array, were: Array, held: Mask, fps: float, source: Track) -> dict[str, Any]:
    low, was_low = (skating_ratio(each.sole, each.heights < on_ground.NEAR, fps=fps) for each in (leg, source))
    fast, was_fast = (arguments.highest(np.abs(derivative(angles, 2, fps=fps)), 99) for angles in (bent, were))
    apart = deviation(leg.pelvis, source.pelvis, level=True)
    down = held.any(axis=1)
    stands = on_ground.undetected_contacts(leg.sole, source.heights, down, fps=fps)
    lost = on_ground.lift_lost(arguments.lowest(leg.heights), arguments.lowest(source.heights), down)
    return {
        "off_ground": float(on_ground.off_ground(leg.heights, source.heights)[stands].max(initial=0.0)),
        "skating_by_height": max(low - was_low, 0.0),
        "lift_lost": arguments.highest(lost, 50),
        "reach_violations": math.nan if _is_free(leg) else _violations(leg, source),
        "knee_acceleration": fast / max(was_fast, math.radians(7000)),
        "ankle_jerk": jerk_ratio(leg.chain[:, -1], source.chain[:, -1], fps=fps),
        "pelvis_jerk": jerk_ratio(leg.pelvis, source.pelvis, fps=fps),
        "pelvis_path": arguments.highest(apart / (knees.leg_length(source.chain) or math.nan), 95),
        "straightness_lost": arguments.highest(knees.straightness_lost(bent, were)),
        "pelvis_lowered": arguments.highest(
            knees.pelvis_lowered(leg.pelvis, source.pelvis, leg.ankles, source.ankles), 95
        ),
        "length_error": math.nan if _is_free(leg) else arguments.highest(knees.length_error(leg.chain, source.chain)),
        "deviation": arguments.mean(deviation(leg.chain, source.chain)),
    }


def _is_free(leg: Track) -> bool:
    """True for a foot without a leg."""
    return bool(leg.chain.shape[1] == 1)


def _violations(leg: Track, source: Track) -> int:
    reach = knees.extension(leg.chain[:, 0], leg.chain[:, -1], arguments.lengths(source.chain))
    return int((reach > 1 + _ROUNDING).sum())


def _drifts(leg: Track, held: Mask, fps: float) -> Array:
    """Drifts of all stances of all points, joined one after another for a single call."""
    frames, points = held.shape
    stances = [runs(held[:, at]) + at * frames for at in range(points)]
    return drift(
        leg.sole.swapaxes(0, 1).reshape(-1, 3),
        np.concatenate([*stances, np.empty((0, 2), np.intp)]),
        fps=fps,
        normals=np.tile(leg.normals, (points, 1)),
    )
