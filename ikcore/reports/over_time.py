"""Contacts, heights, knees and pelvis over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ikcore.contacts.intervals import runs
from ikcore.feet import metrics, verdicts
from ikcore.feet.leg_measures import Measured
from ikcore.feet.thresholds import EDGE_DEPTH, FILE_PRECISION, LEG_LENGTH, SMOOTHING_TIME
from ikcore.reports import drawing
from ikcore.reports.drawing import LEFT, NARROW, RIGHT, WIDE, Panel, text
from ikcore.reports.side_view import MARKS, SUNK, Array, clamp, draw_line, finite, line_with_gaps, range_of
from ikcore.reports.summary import frame_range, moves_source


def over_time(measured: Measured, source: Measured | None = None) -> str:
    """SVG of the contacts of all feet together, and below them the curves of each leg, in the colours of report.css."""
    clip = measured.clip
    seconds = max(clip.duration, 1 / clip.fps)
    times = (-0.5 / clip.fps, seconds + 0.5 / clip.fps)
    wide = clamp(90 * seconds, NARROW, WIDE)
    rows = [(leg, point) for leg, points in measured.points.items() for point in points if point != "toe"]
    left = max(LEFT, 7.0 * max(len(leg) + len(point) for leg, point in rows))
    contacts = Panel(times, (0, 1), left, 24, wide, 18.0 * len(rows))
    parts, top = [contacts.title("contacts"), contacts.x_axis(" s")], contacts.top
    panels = {row: Panel(times, (0, 1), left, top + 18 * number + 3, wide, 12) for number, row in enumerate(rows)}
    for leg in measured.tracks:
        parts += _bars(panels, measured, leg)
    top += contacts.height
    panel = Panel(times, _heights_of_pelvis(measured, source), left, top + 50, wide, 70)
    parts += [panel.title("pelvis, height"), panel.x_axis(" s"), *_pelvis(panel, measured, source)]
    top += 120
    for leg in measured.tracks:
        for name, draw, low, high in _graphs(measured, leg):
            panel = Panel(times, (low, high), left, top + 50, wide, 100)
            parts += [panel.title(f"{leg}, {name}"), panel.x_axis(" s"), *draw(panel, measured, source, leg)]
            top += 150
    return drawing.svg(wide + left + RIGHT, top + 24, parts, "contacts, heights and knees over time")


def _bars(panels: dict[tuple[str, str], Panel], measured: Measured, leg: str) -> Iterator[str]:
    """The contacts of a leg, a row per point, in colours by the amount of slide."""
    fps, size = measured.clip.fps, measured.lengths[leg]
    for (of, point), panel in panels.items():
        if of == leg:
            yield f'<text class="end" x="{panel.left - 6:.1f}" y="{panel.top + 10:.1f}">{text(f"{leg} {point}")}</text>'
    for start, stop, point, slid in verdicts.stances(measured, leg):
        if (leg, point) in panels:
            style = verdicts.verdict("drift", slid, size) or "none"
            way = f": slides {1e3 * slid:.1f} mm" if np.isfinite(slid) else ""
            yield panels[leg, point].bar(
                (start - 0.5) / fps, (stop - 0.5) / fps, style, f"{frame_range(start, stop, fps)}{way}"
            )


def _pelvises(measured: Measured) -> list[Array]:
    """Height of each joint that carries legs."""
    heights = [track.pelvis[:, 1] for track in measured.tracks.values()]
    return list({height.tobytes(): height for height in heights}.values())


def _heights_of_pelvis(measured: Measured, source: Measured | None) -> tuple[float, float]:
    """The lowest and the highest value that is drawn."""
    heights = np.concatenate([height for each in (measured, source) if each for height in _pelvises(each)])
    return range_of(finite(heights), 0.1 * float(np.nan_to_num([*measured.lengths.values()]).max()))


def _pelvis(panel: Panel, measured: Measured, source: Measured | None) -> Iterator[str]:
    """Heights before and after."""
    times = np.arange(len(measured.clip)) / measured.clip.fps
    yield panel.y_axis(" mm", 3, 1e3)
    for each, style in ((source, "before"), (measured, "pelvis")):
        yield from (draw_line(panel, times, height, style) for height in (_pelvises(each) if each else []))


def _graphs(measured: Measured, leg: str) -> Iterator[tuple[str, Any, float, float]]:
    """The curves of a leg over time: name, drawing function, and range of values."""
    size = measured.lengths[leg]
    size = size if size > 0 else 1.0
    lowest = finite(metrics.penetration(measured.tracks[leg].heights)).max(initial=0)
    yield "height above the ground", _heights, -clamp(1.2 * lowest, 0.02 * size, 0.2 * size), 0.1 * size
    angles = metrics.bends(measured.tracks[leg].chain)
    if angles.shape[1]:
        yield "angle of the knee", _knees, float(np.degrees(finite(angles)).min(initial=150)) - 5, 185


def _heights(panel: Panel, measured: Measured, source: Measured | None, leg: str) -> Iterator[str]:
    """Heights of sole points near the ground, with contacts behind them."""
    track, fps = measured.tracks[leg], measured.clip.fps
    times = np.arange(len(measured.clip)) / fps
    lines = []
    for start, stop in runs(measured.held[leg].any(axis=1)).tolist():
        lines.append(panel.bar((start - 0.5) / fps, (stop - 0.5) / fps, "stance"))
    lines.append(panel.area(np.array(panel.x), np.zeros(2), "earth"))
    if source:
        there = _own_heights(source, leg) if moves_source(measured, source) else source.tracks[leg].heights
        lines.append(draw_line(panel, times, there.min(axis=1), "before"))
    sunk = np.where(track.heights < -SUNK, track.heights, np.nan)
    for number, point in enumerate(measured.points[leg]):
        high = _over_edges(track.sole[:, number], track.heights[:, number], fps, measured.lengths[leg])
        lines += [panel.line(*line_with_gaps(times, high, track.sole[:, number]), point)]
        lines += [draw_line(panel, times, sunk[:, number], "sunk")]
    yield panel.y_axis(" mm", 4, 1e3)
    yield panel.within(lines)


def _over_edges(places: Array, heights: Array, fps: float, size: float) -> Array:
    """Heights of a sole point (frames, 3) above the highest ground near it that is not above it.

    A heel on the edge of a step is above its tread in some frames and beside it in others, by rounding. Ground is near
    if the point is within 20 mm of it, for a leg of 0.87 m, within 0.25 s.
    """
    near, found, below = EDGE_DEPTH * size / LEG_LENGTH, heights.copy(), places[:, 1] - heights
    for later in range(1, min(round(SMOOTHING_TIME * fps) + 1, len(heights))):
        for here, there in ((slice(later, None), slice(-later)), (slice(-later), slice(later, None))):
            way = places[here] - places[there]
            high = places[here, 1] - below[there]
            good = (np.hypot(way[:, 0], way[:, 2]) < near) & (high >= -FILE_PRECISION) & (high < found[here])
            found[here] = np.where(good, high, found[here])
    return found


def _own_heights(source: Measured, leg: str) -> Array:
    """Heights of the sole points in the source above their floor."""
    ground, last = source.contacts.ground, "ball" if (leg, "ball") in source.contacts.ground else "heel"
    floors = [ground.get((leg, point), ground[leg, last]) for point in source.points[leg]]
    return np.asarray(source.tracks[leg].sole[..., 1] - source.clip.unit * np.stack(floors, axis=1))


def _knees(panel: Panel, measured: Measured, source: Measured | None, leg: str) -> Iterator[str]:
    """Knee angles, with pops and flips marked."""
    times = np.arange(len(measured.clip)) / measured.clip.fps
    angles = metrics.bends(measured.tracks[leg].chain)
    usual = metrics.bends(source.tracks[leg].chain) if source else angles
    yield panel.y_axis("°", 5)
    for knee in range(angles.shape[1]):
        if source:
            yield draw_line(panel, times, np.degrees(usual[:, knee]), "before")
        yield draw_line(panel, times, np.degrees(angles[:, knee]), "knee")
    marks = (("knee pops", metrics.pops(angles, usual)), ("knee flips", metrics.flips(measured.tracks[leg].chain)))
    for what, found in marks:
        for frame, knee in np.argwhere(found)[:MARKS].tolist():
            title = f"{what}, frame {frame}, {times[frame]:.2f} s"
            yield panel.dot(times[frame], float(np.degrees(angles[frame, knee])), "mark", title)
