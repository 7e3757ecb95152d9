"""A page about the feet of a clip: problems, paths of the feet, contacts, knees, and all measures.

It is one HTML file with drawings, without network access or scripts, readable on light and dark backgrounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ikcore import _files
from ikcore._arrays import plain
from ikcore.contacts.intervals import runs
from ikcore.feet import metrics, verdicts
from ikcore.feet.human import EDGE, EXACT, LEG, WHILE
from ikcore.feet.measured import Measured, ground_under
from ikcore.feet.metrics import Measure, Track
from ikcore.feet.paths import straight
from ikcore.feet.verdicts import Moment
from ikcore.reports import drawing
from ikcore.reports.drawing import Panel, text

Array = NDArray[Any]

MEANINGS = {
    "drift": "how far a foot slides along the ground while it stands, all but the worst of twenty stances",
    "drift_most": "in the worst stance",
    "heading_drift": "how far a foot turns while all of it stands, all but the worst of twenty stances",
    "skating": "steps in which a planted point is faster than 0.5 m/s",
    "skating_by_height": "the same of points less than 50 mm above the ground, whether planted or not",
    "penetration": "how deep the lowest point of a foot that stands sinks, all but the worst of twenty frames",
    "penetration_swing": "the deepest while a foot is in the air",
    "floating": "how high the lowest point of a foot floats within a stance, all but the worst of twenty frames",
    "sole_angle": "between sole and ground while all of a foot stands, all but the worst of twenty frames",
    "off_ground": "how far off it, beside the source, a foot is that seems to stand though it has no contact, at most",
    "lift_lost": "how much lower a foot is lifted in its swing than in the source",
    "extension": "how far a leg is stretched out at most: straight knees are at 100 %",
    "reach_violations": "frames in which an ankle is farther from the hip than the leg of the source is long",
    "knee_flips": "times that a knee bends to the other side, where that of the source does not",
    "knee_pops": "frames in which the angle of a knee jumps",
    "knee_acceleration": "of the angle of a knee, beside that of the source",
    "ankle_jerk": "how jerkily an ankle moves, beside that of the source",
    "pelvis_jerk": "how jerkily the pelvis moves, beside that of the source",
    "pelvis_path": "how far the pelvis is off its way in the source, in shares of a leg, but one frame of twenty",
    "straightness_lost": "how much less straight a knee gets than in the source, in all but one of twenty frames",
    "pelvis_lowered": "how much farther down than all feet the pelvis was moved, all but the worst of twenty frames",
    "length_error": "the largest change of a bone's length",
    "deviation": "mean distance of hip, knee and ankle from where they were in the source",
}

_WORDS = {"good": "✓", "fair": "!", "poor": "✗"}
_LEFT, _RIGHT, _NARROW, _WIDE = 64, 24, 860, 6000  # pixels
_SHOWN = 8  # problems of one kind
_MARKS = 300  # pops and flips of a leg
_OURS = '<meta name="generator" content="ikcore"/>'
_SUNK = 0.0025  # m below the ground, from which a path is red


def write(
    path: str | os.PathLike[str],
    title: str,
    measured: Measured,
    source: Measured | None = None,
    *,
    notes: Iterable[str] = (),
) -> None:
    """Write the page about a clip.

    Parameters
    ----------
    path : path
        The file. An existing one is replaced.
    title : str
        The name of the clip.
    measured : Measured
        The clip, see `ikcore.feet.measure`.
    source : Measured, optional
        Its source, on its own ground: drawn and listed for comparison.
    notes : iterable of str, optional
        Sentences about the bake, at the top of the page.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import ikcore as ik
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "walk.html"
    >>> ik.report.write(path, "A walk", ik.feet.measure(ik.samples.walk(seconds=3).clip))
    >>> "Nothing to look at" in path.read_text(encoding="utf-8")
    True
    """
    _files.write(path, [page(title, measured, source, notes=notes)])


class Listed(NamedTuple):
    """A clip in a list of many.

    Attributes
    ----------
    name : str
        The name of the clip.
    page : path, optional
        Its page, in the folder of the list.
    legs : dict of str to (float, list of Measure)
        By leg its length in metres, and its measures: those of the clip, or of its source and of the clip.
    beyond : bool, default: True
        Whether measures of the clip are differences from its source, see `Measured.beyond`.
    moments : sequence of Moment
        The problems, the worst first.
    fps : float, default: 1
        Frames per second.
    stands : bool, default: True
        Whether a foot is ever on the ground.
    error : str, optional
        Why the clip could not be measured.
    """

    name: str
    page: Path | None
    legs: dict[str, tuple[float, list[Measure]]]
    beyond: bool = True
    moments: Sequence[Moment] = ()
    fps: float = 1.0
    stands: bool = True
    error: str | None = None

    def verdict(self) -> tuple[str, str, str]:
        """A style, a word, and the reason: the worst moment with its frames, or the error."""
        if self.error:
            return "poor", "failed", self.error
        if not self.stands:
            return "fair", "look at", "no foot is ever on the ground"
        if not self.moments:
            return "good", "good", ""
        worst, more = self.moments[0], len(self.moments) - 1
        reason = f"{_does(worst)}, {_frames(worst.start, worst.stop, self.fps)}" + f"; and {more} more" * (more > 0)
        return _style(worst), "look at", reason


def write_index(path: str | os.PathLike[str], clips: Sequence[Listed]) -> None:
    """Write a page that lists clips: the verdict of each, its worst problem, and the measures of its worst leg.

    Parameters
    ----------
    path : path
        The file. An existing one is replaced.
    clips : sequence of Listed
        The clips.
    """
    verdicts_of = [clip.verdict() for clip in clips]
    words = [word for _, word, _ in verdicts_of]
    counts = ", ".join(f"{words.count(word)} {says}" for word, says in _COUNTED.items() if word in words)
    heads = "".join(f"<th>{words}</th>" for words in ("verdict", "clip", "look at first", *_SHORT.values()))
    rows = [_row(clip, *each) for clip, each in zip(clips, verdicts_of, strict=True)]
    table = _scrollable(f'<table class="list"><tbody><tr>{heads}</tr>{"".join(rows)}</tbody></table>')
    about = "Measures are those of the leg that does worst; the page of a clip has them all."
    _files.write(path, [_whole("Feet of clips", [f'<p class="short">{counts}</p>', f"<p>{about}</p>", table], "wide")])


_COUNTED = {"good": "good", "look at": "to look at", "failed": "failed"}


def _row(clip: Listed, style: str, word: str, reason: str) -> str:
    """The head row of the list of clips."""
    name = f'<a href="{text(quote(clip.page.name))}">{text(clip.name)}</a>' if clip.page else text(clip.name)
    cells = [
        f'<td class="verdict {style}">{_WORDS[style]} {word}</td><td class="name">{name}</td>',
        f'<td class="why">{text(reason)}</td>',
    ]
    both = zip(*(records for _, records in clip.legs.values()), strict=True)
    measures = [dict(zip(clip.legs, records, strict=True)) for records in both]
    lengths = {leg: length for leg, (length, _) in clip.legs.items()}
    for measure in _SHORT:
        values = " → ".join(_worst(measure, measures, lengths, clip.beyond)) if measures else ""
        cells.append(f'<td class="number">{values}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a page written by `write` or `write_index`."""
    with open(path, "rb") as file:
        return _OURS.encode() in file.read(400)


def page(title: str, measured: Measured, source: Measured | None = None, *, notes: Iterable[str] = ()) -> str:
    """The page that `write` writes.

    Parameters
    ----------
    title, measured, source, notes
        As for `write`.

    Returns
    -------
    str
        HTML that is also well-formed XML.
    """
    parts = [
        f"<p>{text(_path_text(measured, source))}</p>",
        *(f'<p class="note">{text(note[:1].upper() + note[1:])}.</p>' for note in notes),
        _in_short(measured, source),
        *_to_look_at(measured, source),
        "<h2>Where the feet go</h2>",
        f"<p>{_about_paths(measured, source)}</p>",
        _key(measured, source),
        _scrollable(side(measured, source)),
        "<h2>When they stand, how high they are, what the knees do</h2>",
        f"<p>{_ABOUT_TIME}</p>",
        _key(measured, source),
        _scrollable(over_time(measured, source)),
        "<h2>All measures</h2>",
        _scrollable(_table(measured, source)),
    ]
    return _whole(title, parts)


def _whole(title: str, parts: Sequence[str], width: str = "narrow") -> str:
    """A page of parts, under its title."""
    style = resources.files("ikcore.reports").joinpath("report.css").read_text(encoding="utf-8")
    body = "\n".join([f"<h1>{text(title)}</h1>", *parts])
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n{_OURS}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f'<body>\n<main class="{width}">\n{body}\n</main>\n</body>\n</html>\n'
    )


# --- words -----------------------------------------------------------------------------------------------------------

_ABOUT_TIME = (
    "Bars are contacts with the ground; red ones slide more than 20 mm, yellow ones more than 5, for a leg of 0.87 m. "
    "Under them the pelvis, the soles close to the ground, and the angles of the knees: 180° is straight, circles are "
    "pops, flips."
)


def _about_paths(measured: Measured, source: Measured | None) -> str:
    words = "From the side, along the way they travel. Where a point of the sole is in the ground its path is red."
    return words + " Before is dashed, and carried up and down with the pelvis." * _moves_source(measured, source)


def _moves_source(measured: Measured, source: Measured | None) -> bool:
    """Whether a source that was made for other ground is drawn beside a clip on this ground."""
    return source is not None and not measured.beyond


def _path_text(measured: Measured, source: Measured | None) -> str:
    clip = measured.clip
    frames = f"{len(clip)} frame{'s' * (len(clip) != 1)} at {clip.fps:g} fps, {plain(clip.duration, 3)} s"
    ground = "on the ground that is drawn" if measured.ground else "on a floor found under the feet"
    if measured.ground and measured.ground.moves:
        ground = "on ground that moves, drawn as it is on the first frame and feet where they are on it"
    beside = "; before and after, both by the contacts of before" if source else ""
    speed = float(np.linalg.norm(measured.contacts.treadmill, axis=-1).mean()) * clip.unit
    belt = f"; on the spot, measured as if it went {speed:.2f} m/s" if measured.in_place else ""
    return f"{frames}, {ground}{beside}{belt}."


_SHORT = {
    "drift_most": "slides",
    "penetration": "sinks",
    "penetration_swing": "sinks in swing",
    "floating": "floats",
    "knee_pops": "knee pops",
    "knee_flips": "knee flips",
}


def _in_short(measured: Measured, source: Measured | None) -> str:
    """The measures that animators ask for, of the worst leg."""
    measures = [each.measures for each in (source, measured) if each]
    parts = [
        f"<span>{words} {' → '.join(_worst(name, measures, measured.lengths, measured.beyond))}</span>"
        for name, words in _SHORT.items()
    ]
    return f'<p class="short">{" ".join(parts)}</p>'


def _worst(
    name: str, measures: Sequence[Mapping[str, Measure]], lengths: Mapping[str, float], beyond: bool
) -> list[str]:
    """A measure before and after, each of the worst leg."""
    legs = [verdicts.worst(each, name) for each in measures]
    records = [each[leg] for each, leg in zip(measures, legs, strict=True)]
    return _values(name, records, lengths[legs[-1]], beyond)


def _to_look_at(measured: Measured, source: Measured | None) -> Iterator[str]:
    """The problems in words, the worst first."""
    found = verdicts.moments(measured, source)
    if legs := measured.contacts.uncertain():
        words = " and ".join(f"{leg} ({100 * sure:.0f} %)" for leg, sure in legs.items())
        yield f'<p class="fair">{_WORDS["fair"]} Contacts are uncertain, by their confidence: {text(words)}.</p>'
    if not any(held.any() for held in measured.held.values()):
        yield '<p class="fair">No foot is ever on the ground: sliding, sinking and floating cannot be judged.</p>'
    elif not found:
        words = "Nothing to look at: feet stand still on the ground, knees move smoothly."
        yield f'<p class="good">{_WORDS["good"]} {words}</p>'
    if found:
        together: dict[tuple[str, str], list[Moment]] = {}
        for moment in found:
            together.setdefault((moment.leg, moment.what), []).append(moment)
        lines = "".join(_line(each, measured.clip.fps) for each in together.values())
        count = len(together)
        yield f"<h2>{count} thing{'s' * (count != 1)} to look at{', the worst first' * (count > 1)}</h2>"
        yield _scrollable(f'<table class="moments"><tbody>{lines}</tbody></table>')


def _line(moments: list[Moment], fps: float) -> str:
    """A problem of a leg in words, once or several times."""
    worst, many, style = moments[0], len(moments), _style(moments[0])
    times = sorted(moment.start / fps for moment in moments[:_SHOWN])
    when = _frames(worst.start, worst.stop, fps)
    if many > 1:
        more = f" and {many - _SHOWN} more" if many > _SHOWN else ""
        when = f"{many} times, at {', '.join(f'{time:.2f}' for time in times)} s{more}; the worst {when}"
    what = text(_does(worst, "up to " * (many > 1)))
    return f'<tr><td class="{style}">{_WORDS[style]}</td><th>{what}</th><td>{when}</td></tr>'


def _style(moment: Moment) -> str:
    """How bad it is."""
    return "poor" if moment.weight > 4 else "fair"


def _does(moment: Moment, most: str = "") -> str:
    """A problem of a leg in words, with its size."""
    amount = "" if np.isnan(moment.amount) else f" {most}{1e3 * moment.amount:.0f} mm"
    return f"{moment.leg} {moment.what}{amount}"


def _frames(start: int, stop: int, fps: float) -> str:
    """Frame numbers, from 0 like array indices."""
    if stop - start == 1:
        return f"frame {start}, {start / fps:.2f} s"
    return f"frames {start} to {stop - 1}, {start / fps:.2f} to {(stop - 1) / fps:.2f} s"


def _key(measured: Measured, source: Measured | None) -> str:
    """The legend of the colours."""
    points = dict.fromkeys(point for points in measured.points.values() for point in points)
    names = [*points, *(["before"] if source else [])]
    return '<p class="key">' + " ".join(f'<span class="{name}">{name}</span>' for name in names) + "</p>"


def _table(measured: Measured, source: Measured | None) -> str:
    """The table of measures: one per line, legs in columns."""
    both = [each for each in (source, measured) if each]
    head = "".join(f'<th colspan="{len(both)}">{text(leg)}</th>' for leg in measured.tracks)
    lines = [f"<tr><th>measure</th>{head}<th>what it is</th></tr>"]
    if source:
        plus = "+ is what is beyond before"
        lines.append(f"<tr><td></td>{'<td>before</td><td>after</td>' * len(measured.tracks)}<td>{plus}</td></tr>")
    for name in shown(MEANINGS, beside=bool(source)):
        values = [
            value
            for leg, length in measured.lengths.items()
            for value in _values(name, [each.measures[leg] for each in both], length, measured.beyond)
        ]
        cells = "".join(f'<td class="number">{value}</td>' for value in values)
        lines.append(f"<tr><th>{_label(name)}</th>{cells}<td>{MEANINGS[name]}</td></tr>")
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _label(name: str) -> str:
    return name.replace("_", " ")


def shown(names: Iterable[str], *, beside: bool) -> list[str]:
    """The measures to show; without a source, those that have a meaning without one."""
    return [name for name in names if beside or name not in metrics.BESIDE]


def _values(name: str, records: Sequence[Measure], length: float, beyond: bool) -> list[str]:
    """A measure of a leg, before and after, with its verdict."""
    both = verdicts.said(name, records, length, beyond=beyond)
    return [f'<b class="{says}">{value} {_WORDS[says]}</b>' if says else value for value, says in both]


def _scrollable(drawn: str) -> str:
    return f'<div class="scrolled">{drawn}</div>'


# --- from the side ---------------------------------------------------------------------------------------------------


def side(measured: Measured, source: Measured | None = None) -> str:
    """Draw the paths of the feet over the ground under them, one leg below the other.

    Parameters
    ----------
    measured, source
        As for `write`.

    Returns
    -------
    str
        SVG, whose colours are those of report.css.
    """
    ways = _ways(measured)
    before = _ways(source) if source else {}
    along = _range(np.concatenate([_finite(way) for way in [*ways.values(), *before.values()]]), 0.05)
    wide = _clamp(80 * (along[1] - along[0]), _NARROW, _WIDE)
    parts, top, carried = [], 24.0, _moves_source(measured, source)
    for leg, way in ways.items():
        places = measured.tracks[leg].sole[..., 1]
        panel = Panel(along, _between(measured.tracks[leg], measured.lengths[leg]), _LEFT, top, wide, 170)
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
        sunk = np.where(measured.tracks[leg].heights < -_SUNK, way, np.nan)
        parts += _paths(panel, sunk, places, ["sunk"] * way.shape[1])
        top += 222
    return drawing.svg(wide + _LEFT + _RIGHT, top - 24, parts, "paths of the feet from the side")


def _between(track: Track, leg: float) -> tuple[float, float]:
    """The lowest and the highest value that is drawn of a foot."""
    shown = _finite(np.concatenate([track.sole[..., 1], track.sole[..., 1] - track.heights]))
    return _range(shown, 0.1 * leg if leg > 0 else 0.1)


def _paths(panel: Panel, way: Array, places: Array, styles: Sequence[str]) -> list[str]:
    return [_draw_line(panel, way[:, number], places[:, number], style) for number, style in enumerate(styles)]


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


# --- over time -------------------------------------------------------------------------------------------------------


def over_time(measured: Measured, source: Measured | None = None) -> str:
    """Draw the contacts of all feet together, and below them the curves of each leg.

    Parameters
    ----------
    measured, source
        As for `write`.

    Returns
    -------
    str
        SVG, whose colours are those of report.css.
    """
    clip = measured.clip
    seconds = max(clip.duration, 1 / clip.fps)
    times = (-0.5 / clip.fps, seconds + 0.5 / clip.fps)
    wide = _clamp(90 * seconds, _NARROW, _WIDE)
    rows = [(leg, point) for leg, points in measured.points.items() for point in points if point != "toe"]
    left = max(_LEFT, 7.0 * max(len(leg) + len(point) for leg, point in rows))
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
    return drawing.svg(wide + left + _RIGHT, top + 24, parts, "contacts, heights and knees over time")


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
                (start - 0.5) / fps, (stop - 0.5) / fps, style, f"{_frames(start, stop, fps)}{way}"
            )


def _pelvises(measured: Measured) -> list[Array]:
    """Height of each joint that carries legs."""
    heights = [track.pelvis[:, 1] for track in measured.tracks.values()]
    return list({height.tobytes(): height for height in heights}.values())


def _heights_of_pelvis(measured: Measured, source: Measured | None) -> tuple[float, float]:
    """The lowest and the highest value that is drawn."""
    heights = np.concatenate([height for each in (measured, source) if each for height in _pelvises(each)])
    return _range(_finite(heights), 0.1 * float(np.nan_to_num([*measured.lengths.values()]).max()))


def _pelvis(panel: Panel, measured: Measured, source: Measured | None) -> Iterator[str]:
    """Heights before and after."""
    times = np.arange(len(measured.clip)) / measured.clip.fps
    yield panel.y_axis(" mm", 3, 1e3)
    for each, style in ((source, "before"), (measured, "pelvis")):
        yield from (_draw_line(panel, times, height, style) for height in (_pelvises(each) if each else []))


def _graphs(measured: Measured, leg: str) -> Iterator[tuple[str, Any, float, float]]:
    """The curves of a leg over time: name, drawing function, and range of values."""
    size = measured.lengths[leg]
    size = size if size > 0 else 1.0
    lowest = _finite(metrics.penetration(measured.tracks[leg].heights)).max(initial=0)
    yield "height above the ground", _heights, -_clamp(1.2 * lowest, 0.02 * size, 0.2 * size), 0.1 * size
    angles = metrics.bends(measured.tracks[leg].chain)
    if angles.shape[1]:
        yield "angle of the knee", _knees, float(np.degrees(_finite(angles)).min(initial=150)) - 5, 185


def _heights(panel: Panel, measured: Measured, source: Measured | None, leg: str) -> Iterator[str]:
    """Heights of sole points near the ground, with contacts behind them."""
    track, fps = measured.tracks[leg], measured.clip.fps
    times = np.arange(len(measured.clip)) / fps
    lines = []
    for start, stop in runs(measured.held[leg].any(axis=1)).tolist():
        lines.append(panel.bar((start - 0.5) / fps, (stop - 0.5) / fps, "stance"))
    lines.append(panel.area(np.array(panel.x), np.zeros(2), "earth"))
    if source:
        there = _own_heights(source, leg) if _moves_source(measured, source) else source.tracks[leg].heights
        lines.append(_draw_line(panel, times, there.min(axis=1), "before"))
    sunk = np.where(track.heights < -_SUNK, track.heights, np.nan)
    for number, point in enumerate(measured.points[leg]):
        high = _over_edges(track.sole[:, number], track.heights[:, number], fps, measured.lengths[leg])
        lines += [panel.line(*_line_with_gaps(times, high, track.sole[:, number]), point)]
        lines += [_draw_line(panel, times, sunk[:, number], "sunk")]
    yield panel.y_axis(" mm", 4, 1e3)
    yield panel.within(lines)


def _over_edges(places: Array, heights: Array, fps: float, size: float) -> Array:
    """Heights of a sole point (frames, 3) above the highest ground near it that is not above it.

    A heel on the edge of a step is above its tread in some frames and beside it in others, by rounding. Ground is near
    if the point is within 20 mm of it, for a leg of 0.87 m, within 0.25 s.
    """
    near, found, below = EDGE * size / LEG, heights.copy(), places[:, 1] - heights
    for later in range(1, min(round(WHILE * fps) + 1, len(heights))):
        for here, there in ((slice(later, None), slice(-later)), (slice(-later), slice(later, None))):
            way = places[here] - places[there]
            high = places[here, 1] - below[there]
            good = (np.hypot(way[:, 0], way[:, 2]) < near) & (high >= -EXACT) & (high < found[here])
            found[here] = np.where(good, high, found[here])
    return found


def _line_with_gaps(times: Array, heights: Array, places: Array) -> tuple[Array, Array]:
    """A line of heights, with gaps where the ground below a point (frames, 3) steps up or down between frames."""
    some = drawing.kept(heights)
    step = np.diff(places[some], axis=0)
    steep = np.abs(step[:, 1] - np.diff(heights[some])) > EDGE + np.hypot(step[:, 0], step[:, 2])
    at = np.flatnonzero(steep) + 1
    return np.insert(times[some], at, np.nan), np.insert(heights[some], at, np.nan)


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
            yield _draw_line(panel, times, np.degrees(usual[:, knee]), "before")
        yield _draw_line(panel, times, np.degrees(angles[:, knee]), "knee")
    marks = (("knee pops", metrics.pops(angles, usual)), ("knee flips", metrics.flips(measured.tracks[leg].chain)))
    for what, found in marks:
        for frame, knee in np.argwhere(found)[:_MARKS].tolist():
            title = f"{what}, frame {frame}, {times[frame]:.2f} s"
            yield panel.dot(times[frame], float(np.degrees(angles[frame, knee])), "mark", title)


def _draw_line(panel: Panel, xs: Array, ys: Array, style: str) -> str:
    """The points of a line that can be told apart; both values of a point must be known."""
    some = drawing.kept(np.where(np.isfinite(xs), ys, np.nan))
    return panel.line(xs[some], ys[some], style)


def _finite(values: Array) -> Array:
    return np.asarray(values[np.isfinite(values)])


def _range(values: Array, least: float) -> tuple[float, float]:
    """A range from below the lowest to above the highest value, of at least a given size."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    if low > high:
        low = high = 0.0
    more = max(0.06 * (high - low), (least - (high - low)) / 2, 1e-9)
    return low - more, high + more


def _clamp(value: float, low: float, high: float) -> float:
    return float(min(max(value, low), high))


__all__ = ["Listed", "over_time", "page", "side", "write", "write_index"]


def __dir__() -> list[str]:
    return __all__
