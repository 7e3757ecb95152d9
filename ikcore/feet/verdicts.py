"""Verdicts on measures: good, fair or poor, and the frames of a clip with problems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore.contacts.intervals import runs
from ikcore.feet import metrics
from ikcore.feet.leg_measures import Measured
from ikcore.feet.metrics import Measure
from ikcore.feet.thresholds import LEG_LENGTH

Verdict = Literal["good", "fair", "poor"]


class Bound(NamedTuple):
    """The largest good and fair values of a measure.

    Attributes
    ----------
    good, fair : float
        In metres for a leg of 0.87 m, radians, shares or counts.
    length : bool
        Whether they scale with the leg length.
    """

    good: float
    fair: float
    length: bool = False


BOUNDS = {
    "drift": Bound(0.005, 0.02, True),
    "drift_most": Bound(0.01, 0.03, True),
    "heading_drift": Bound(math.radians(3), math.radians(10)),
    "skating": Bound(0.01, 0.05),
    "skating_by_height": Bound(0.02, 0.1),
    "penetration": Bound(0.005, 0.02, True),
    "penetration_swing": Bound(0.01, 0.03, True),
    "floating": Bound(0.01, 0.03, True),
    "sole_angle": Bound(math.radians(5), math.radians(15)),
    "off_ground": Bound(0.03, math.inf, True),  # a foot may pass slowly over a step
    "lift_lost": Bound(0.3, 0.6),
    "reach_violations": Bound(0, 0),
    "knee_flips": Bound(0, 0),
    "knee_pops": Bound(0, 0),
    "knee_acceleration": Bound(1.5, 2),
    "ankle_jerk": Bound(1.15, 1.5),
    "pelvis_jerk": Bound(1.15, 1.5),
    "pelvis_path": Bound(0.1, 0.2),
    "straightness_lost": Bound(math.radians(2), math.radians(20)),  # necessary where the ground is not level
    "pelvis_lowered": Bound(0.005, 0.1, True),
    "length_error": Bound(1e-4, 1e-2),
}


_GUESS = 3.0  # largest weight of a problem that may be intended, in multiples of a good value


class Moment(NamedTuple):
    """Frames of a clip with a problem.

    Attributes
    ----------
    leg : str
        The leg.
    what : str
        The problem, such as "slides".
    amount : float
        Its size in metres; NaN if it has none.
    start, stop : int
        The first frame, and the first one after it.
    weight : float
        Its size in multiples of a good value.
    """

    leg: str
    what: str
    amount: float
    start: int
    stop: int
    weight: float


def verdict(name: str, value: float, leg: float = LEG_LENGTH) -> Verdict | None:
    """The verdict on a measure of a leg.

    Parameters
    ----------
    name : str
        A field of `metrics.Measure`.
    value : float
        Its value.
    leg : float, default: 0.87
        The length of the leg in metres.

    Returns
    -------
    {"good", "fair", "poor"} or None
        None for a measure without a verdict, such as the deviation from the source, and for NaN.

    Examples
    --------
    >>> verdict("drift", 0.004), verdict("drift", 0.05), verdict("drift", 0.05, leg=8.7)
    ('good', 'poor', 'good')
    """
    if name not in BOUNDS or math.isnan(value):
        return None
    good, fair, length = BOUNDS[name]
    size = leg / LEG_LENGTH if length else 1.0
    if value <= good * size:
        return "good"
    return "fair" if value <= fair * size else "poor"


def in_words(
    name: str, records: Sequence[Measure], leg: float = LEG_LENGTH, *, beyond: bool = True
) -> list[tuple[str, Verdict | None]]:
    """A measure of a leg in words, with its verdict; a comparison with the source starts with +.

    Parameters
    ----------
    name : str
        A field of `metrics.Measure`.
    records : sequence of Measure
        Those of a clip; or those of its source and of the clip.
    leg : float, default: 0.87
        The length of the leg in metres.
    beyond : bool, default: True
        Whether measures of the clip are differences from its source, see `Measured.beyond`.

    Returns
    -------
    list of (str, {"good", "fair", "poor"} or None)
        For each record.
    """
    found = [(record.texts()[name], verdict(name, getattr(record, name), leg)) for record in records]
    plus = name in metrics.ALWAYS_BEYOND or (beyond and name in metrics.BEYOND)
    if len(records) > 1 and plus and math.isfinite(getattr(records[-1], name)):
        text, says = found[-1]
        found[-1] = f"+{text}", says
    return found


def worst(records: Mapping[str, Measure], name: str) -> str:
    """The leg with the worst value of a measure, or the first leg if no value is known.

    Parameters
    ----------
    records : mapping of str to Measure
        By leg.
    name : str
        A field of `metrics.Measure`.

    Returns
    -------
    str
        The name of the leg.
    """
    values = {leg: getattr(record, name) for leg, record in records.items()}
    return max(values, key=lambda leg: -math.inf if math.isnan(values[leg]) else values[leg])


def moments(measured: Measured, source: Measured | None = None) -> list[Moment]:
    """Problems of a clip: stances that slide, feet that sink and float, knees that pop and flip.

    Parameters
    ----------
    measured : Measured
        A clip.
    source : Measured, optional
        Its source. Sinking, floating and knees then count only where they are worse than in the source.

    Returns
    -------
    list of Moment
        The worst one first.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=3).clip
    >>> before = ik.feet.measure(walk)
    >>> moments(before)
    []
    >>> moved = walk.pose.translations.copy()
    >>> moved[90:, 0, 1] -= 0.03
    >>> sunk = ik.feet.measure(ik.Clip(walk.skeleton, ik.Pose(walk.pose.rotations, moved), walk.fps), source=before)
    >>> for moment in moments(sunk, before)[:2]:
    ...     print(moment.leg, moment.what, round(moment.amount, 6), moment.start, moment.stop)
    left sinks 0.03 90 105
    right sinks 0.03 97 138
    """
    found = [moment for leg in measured.tracks for moment in _of_leg(measured, leg, source)]
    return sorted(found, key=lambda moment: (-round(moment.weight, 1), moment.start))


def _of_leg(measured: Measured, leg: str, source: Measured | None) -> Iterator[Moment]:
    track, held = measured.tracks[leg], measured.held[leg]
    size = measured.lengths[leg] / LEG_LENGTH
    fps, down = measured.clip.fps, held.any(axis=1)
    deep, high = metrics.penetration(track.heights), metrics.floating(track.heights)
    if source and measured.beyond:
        there = source.tracks[leg].heights
        deep = metrics.beyond(deep, metrics.penetration(there))
        high = metrics.beyond(high, metrics.floating(there))
    yield from _worst_of_each(_slides(measured, leg, size))
    yield from _excesses(leg, "sinks", np.where(down, deep, 0), BOUNDS["penetration"].good * size)
    swings = np.where(down, 0, deep)
    if measured.own is not None:  # toes that dip into the floor of the source may do so again
        swings = metrics.beyond(swings, metrics.penetration(measured.own[leg].heights))
    yield from _excesses(leg, "swings through the ground", swings, BOUNDS["penetration_swing"].good * size)
    stands = metrics.contact_cores(down, fps=fps)
    yield from _excesses(leg, "floats", np.where(stands & np.isfinite(high), high, 0), BOUNDS["floating"].good * size)
    for start, stop in runs(down & np.isinf(high)).tolist():
        yield Moment(leg, "stands where there is no ground", math.nan, start, stop, math.inf)
    if measured.own is not None:
        own = measured.own[leg]
        unseen = metrics.undetected_contacts(track.sole, own.heights, down, fps=fps)
        off = np.where(unseen, metrics.off_ground(track.heights, own.heights), 0)
        limit = BOUNDS["off_ground"].good * size
        what = "seems to stand without a contact, off the ground by"
        for moment in _excesses(leg, what, np.where(np.isfinite(off), off, 0), limit):
            yield moment._replace(weight=min(moment.weight, _GUESS))  # or it passes a step slowly
    knees = metrics.bends(track.chain)
    usual = metrics.bends(source.tracks[leg].chain) if source else knees
    for start, stop in runs(_close_gaps(np.asarray(metrics.pops(knees, usual).any(axis=1)), fps)).tolist():
        yield Moment(leg, "knee pops", math.nan, start, stop, 10.0)
    chain = track.chain
    flips = metrics.new_flips(chain, source.tracks[leg].chain, fps=fps) if source else metrics.flips(chain)
    for start, stop in runs(flips.any(axis=1)).tolist():
        yield Moment(leg, "knee bends to the other side", math.nan, start, stop, 10.0)


def _slides(measured: Measured, leg: str, size: float) -> Iterator[Moment]:
    """Problems of every stance of every point."""
    limit = BOUNDS["drift"].good * size
    for start, stop, _, slid in stances(measured, leg):
        if slid > limit:
            yield Moment(leg, "slides", slid, start, stop, slid / limit)


def stances(measured: Measured, leg: str) -> list[tuple[int, int, str, float]]:
    """Frames, point and drift of every stance of every point of a sole.

    Parameters
    ----------
    measured : Measured
        A clip.
    leg : str
        Its name.

    Returns
    -------
    list of (int, int, str, float)
        The first frame, the first one after it, the point, and the drift in metres.
    """
    track, held, fps = measured.tracks[leg], measured.held[leg], measured.clip.fps
    found = []
    for at, point in enumerate(measured.points[leg]):
        each = runs(held[:, at])
        slid = metrics.drift(track.sole[:, at], each, fps=fps, normals=track.normals)
        found += [(start, stop, point, way) for (start, stop), way in zip(each.tolist(), slid.tolist(), strict=True)]
    return found


def _worst_of_each(found: Iterator[Moment]) -> Iterator[Moment]:
    """The worst of overlapping problems: the points of a sole slide together."""
    kept: Moment | None = None
    for moment in sorted(found, key=lambda moment: moment.start):
        if kept and moment.start < kept.stop:
            kept = max(kept, moment, key=lambda moment: moment.weight)
        else:
            if kept:
                yield kept
            kept = moment
    if kept:
        yield kept


def _excesses(leg: str, what: str, values: NDArray[np.float64], limit: float) -> Iterator[Moment]:
    for start, stop in runs(values > limit).tolist():
        most = float(values[start:stop].max())
        yield Moment(leg, what, most, start, stop, most / limit)


def _close_gaps(mask: NDArray[np.bool_], fps: float) -> NDArray[np.bool_]:
    """The mask with gaps of less than 0.1 s closed: one event each."""
    closed = mask.copy()
    for start, stop in runs(~mask).tolist():
        if start > 0 and stop < len(mask) and stop - start < 0.1 * fps:
            closed[start:stop] = True
    return closed
