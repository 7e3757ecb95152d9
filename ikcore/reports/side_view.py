"""Feet and ground from the side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore.feet.leg_measures import Measured, ground_under
from ikcore.feet.metrics import Track
from ikcore.feet.thresholds import EDGE_DEPTH
from ikcore.feet.time_series import straight
from ikcore.reports import drawing
from ikcore.reports.drawing import LEFT, NARROW, RIGHT, WIDE, Panel
from ikcore.reports.summary import moves_source

Array = NDArray[Any]
MARKS = 300  # pops and flips of a leg
SUNK = 0.0025  # m below the ground, from which a path is red


def side(measured: Measured, source: Measured | None = None) -> str:
    """SVG of the paths of the feet over the ground, one leg below the other, in the colours of report.css."""
    ways = _ways(measured)
    before = _ways(source) if source else {}
    along = range_of(np.concatenate([finite(way) for way in [*ways.values(), *before.values()]]), 0.05)
    wide = clamp(80 * (along[1] - along[0]), NARROW, WIDE)
    parts, top, carried = [], 24.0, moves_source(measured, source)
    for leg, way in ways.items():
        places = measured.tracks[leg].sole[..., 1]
        panel = Panel(along, _height_range(measured.tracks[leg], measured.lengths[leg]), LEFT, top, wide, 170)
        parts += [panel.title(leg), panel.area(*_profile(*_ground_along(measured, leg, way)), "earth")]
        parts += [panel.x_axis(" m"), panel.y_axis(" mm", 4, 1e3)]
        if source:
            there = (
                _source_heights(source.tracks[leg], measured.tracks[leg])
                if carried
                else source.tracks[leg].sole[..., 1]
            )
            parts.append(panel.within(_paths(panel, before[leg], there, ["before"] * way.shape[1])))
        parts += _paths(panel, way, places, measured.points[leg])
        sunk = np.where(measured.tracks[leg].heights < -SUNK, way, np.nan)
        parts += _paths(panel, sunk, places, ["sunk"] * way.shape[1])
        top += 222
    return drawing.svg(wide + LEFT + RIGHT, top - 24, parts, "paths of the feet from the side")


def _height_range(track: Track, leg: float) -> tuple[float, float]:
    """The lowest and the highest value that is drawn of a foot."""
    shown = finite(np.concatenate([track.sole[..., 1], track.sole[..., 1] - track.heights]))
    return range_of(shown, 0.1 * leg if leg > 0 else 0.1)


def _paths(panel: Panel, way: Array, places: Array, styles: Sequence[str]) -> list[str]:
    return [draw_line(panel, way[:, number], places[:, number], style) for number, style in enumerate(styles)]


def _source_heights(before: Track, after: Track) -> Array:
    """Heights of sole points in the source, moved with the pelvis."""
    return np.asarray(before.sole[..., 1] + (after.pelvis - before.pelvis)[:, 1:2])


def _ways(measured: Measured) -> dict[str, Array]:
    """By leg, distance of its sole points (frames, points) along the common path of all feet.

    The direction of the path is that of the feet within half a second before and after each frame, so it may turn. A
    planted foot keeps its distance.
    """
    centres = {leg: track.sole.mean(axis=1)[:, [0, 2]] for leg, track in measured.tracks.items()}
    feet, half = np.mean(list(centres.values()), axis=0), max(1, round(measured.clip.fps / 2))
    frames = np.arange(len(feet))
    ahead = feet[np.minimum(frames + half, len(feet) - 1)] - feet[np.maximum(frames - half, 0)]
    least = 0.1 * float(np.nan_to_num([*measured.lengths.values()]).mean())
    heading = _fill_directions(ahead, least)
    found = {}
    for leg, centre in centres.items():
        beside = ((measured.tracks[leg].sole[..., [0, 2]] - centre[:, np.newaxis]) * heading[:, np.newaxis]).sum(
            axis=-1
        )
        steps = (np.diff(centre, axis=0, prepend=feet[:1]) * heading).sum(axis=1)
        found[leg] = np.cumsum(np.nan_to_num(steps))[:, np.newaxis] + beside
    return found


def _fill_directions(ahead: Array, least: float) -> Array:
    """Unit directions; where a step is too short, the last direction before it, or else the first one."""
    length = np.sqrt((ahead * ahead).sum(axis=1))
    known = np.flatnonzero(length > least)
    if not len(known):
        return np.tile([0.0, 1.0], (len(ahead), 1))
    last = known[np.maximum(np.searchsorted(known, np.arange(len(ahead)), side="right") - 1, 0)]
    return np.asarray(ahead[last] / length[last, np.newaxis])


def _ground_along(measured: Measured, leg: str, way: Array, least: int = 2000) -> tuple[Array, Array]:
    """Positions along the path with the ground there; in clips of few frames also positions in between."""
    sole, frames = measured.tracks[leg].sole, np.arange(len(way))
    if measured.ground is None or not 1 < len(way) < least:
        return way, sole[..., 1] - measured.tracks[leg].heights
    times = np.linspace(0, frames[-1], least)
    return straight(times, frames, way), ground_under(measured, leg, straight(times, frames, sole))


def _profile(way: Array, ground: Array, bins: int = 600) -> tuple[Array, Array]:
    """Height of the highest ground that a foot passes over, by position along the path; NaN where there is none."""
    known = np.isfinite(way)
    if not known.any():
        return np.empty(0), np.empty(0)
    low, high = way[known].min(), way[known].max()
    place = np.minimum(((way[known] - low) / max(high - low, 1e-9) * bins).astype(np.intp), bins - 1)
    height = np.full(bins, np.nan)
    np.fmax.at(height, place, ground[known])
    seen = np.unique(place)
    edges = low + np.arange(bins + 1) / bins * (high - low)
    last = seen[np.maximum(np.searchsorted(seen, np.arange(bins), side="right") - 1, 0)]
    return np.repeat(edges, 2)[1:-1], np.repeat(height[last], 2)


def line_with_gaps(times: Array, heights: Array, places: Array) -> tuple[Array, Array]:
    """A line of heights, with gaps where the ground below a point (frames, 3) steps up or down between frames."""
    some = drawing.points_to_draw(heights)
    step = np.diff(places[some], axis=0)
    steep = np.abs(step[:, 1] - np.diff(heights[some])) > EDGE_DEPTH + np.hypot(step[:, 0], step[:, 2])
    at = np.flatnonzero(steep) + 1
    return np.insert(times[some], at, np.nan), np.insert(heights[some], at, np.nan)


def draw_line(panel: Panel, xs: Array, ys: Array, style: str) -> str:
    """The points of a line that can be told apart; both values of a point must be known."""
    some = drawing.points_to_draw(np.where(np.isfinite(xs), ys, np.nan))
    return panel.line(xs[some], ys[some], style)


def finite(values: Array) -> Array:
    """The finite values."""
    return np.asarray(values[np.isfinite(values)])


def range_of(values: Array, least: float) -> tuple[float, float]:
    """A range from below the lowest to above the highest value, of at least a given size."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    if low > high:
        low = high = 0.0
    more = max(0.06 * (high - low), (least - (high - low)) / 2, 1e-9)
    return low - more, high + more


def clamp(value: float, low: float, high: float) -> float:
    """A number within bounds."""
    return float(min(max(value, low), high))
