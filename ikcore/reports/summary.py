"""The sentences and tables of a page: verdict, moments to look at, key, measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ikcore._arrays import plain
from ikcore.feet import metrics, verdicts
from ikcore.feet.leg_measures import Measured
from ikcore.feet.metrics import Measure
from ikcore.feet.verdicts import Moment
from ikcore.reports.drawing import scrollable, text

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
WORDS = {"good": "✓", "fair": "!", "poor": "✗"}
_SHOWN = 8  # problems of one kind
ABOUT_TIME = (
    "Bars are contacts with the ground; red ones slide more than 20 mm, yellow ones more than 5, for a leg of 0.87 m. "
    "Under them the pelvis, the soles close to the ground, and the angles of the knees: 180° is straight, circles are "
    "pops, flips."
)


def about_paths(measured: Measured, source: Measured | None) -> str:
    """Facts about the paths of feet."""
    words = "From the side, along the way they travel. Where a point of the sole is in the ground its path is red."
    return words + " Before is dashed, and carried up and down with the pelvis." * moves_source(measured, source)


def moves_source(measured: Measured, source: Measured | None) -> bool:
    """Whether a source that was made for other ground is drawn beside a clip on this ground."""
    return source is not None and not measured.beyond


def path_text(measured: Measured, source: Measured | None) -> str:
    """The length and the travel of a clip."""
    clip = measured.clip
    frames = f"{len(clip)} frame{'s' * (len(clip) != 1)} at {clip.fps:g} fps, {plain(clip.duration, 3)} s"
    ground = "on the ground that is drawn" if measured.ground else "on a floor found under the feet"
    if measured.ground and measured.ground.moves:
        ground = "on ground that moves, drawn as it is on the first frame and feet where they are on it"
    beside = "; before and after, both by the contacts of before" if source else ""
    speed = float(np.linalg.norm(measured.contacts.treadmill, axis=-1).mean()) * clip.unit
    belt = f"; on the spot, measured as if it went {speed:.2f} m/s" if measured.in_place else ""
    return f"{frames}, {ground}{beside}{belt}."


SHORT = {
    "drift_most": "slides",
    "penetration": "sinks",
    "penetration_swing": "sinks in swing",
    "floating": "floats",
    "knee_pops": "knee pops",
    "knee_flips": "knee flips",
}


def in_short(measured: Measured, source: Measured | None) -> str:
    """The measures that animators ask for, of the worst leg."""
    measures = [each.measures for each in (source, measured) if each]
    parts = [
        f"<span>{words} {' → '.join(worst_moments(name, measures, measured.lengths, measured.beyond))}</span>"
        for name, words in SHORT.items()
    ]
    return f'<p class="short">{" ".join(parts)}</p>'


def worst_moments(
    name: str, measures: Sequence[Mapping[str, Measure]], lengths: Mapping[str, float], beyond: bool
) -> list[str]:
    """A measure before and after, each of the worst leg."""
    legs = [verdicts.worst(each, name) for each in measures]
    records = [each[leg] for each, leg in zip(measures, legs, strict=True)]
    return _values(name, records, lengths[legs[-1]], beyond)


def to_look_at(measured: Measured, source: Measured | None) -> Iterator[str]:
    """The problems in words, the worst first."""
    found = verdicts.moments(measured, source)
    if legs := measured.contacts.uncertain():
        words = " and ".join(f"{leg} ({100 * sure:.0f} %)" for leg, sure in legs.items())
        yield f'<p class="fair">{WORDS["fair"]} Contacts are uncertain, by their confidence: {text(words)}.</p>'
    if not any(held.any() for held in measured.held.values()):
        yield '<p class="fair">No foot is ever on the ground: sliding, sinking and floating cannot be judged.</p>'
    elif not found:
        words = "Nothing to look at: feet stand still on the ground, knees move smoothly."
        yield f'<p class="good">{WORDS["good"]} {words}</p>'
    if found:
        together: dict[tuple[str, str], list[Moment]] = {}
        for moment in found:
            together.setdefault((moment.leg, moment.what), []).append(moment)
        lines = "".join(_line(each, measured.clip.fps) for each in together.values())
        count = len(together)
        yield f"<h2>{count} thing{'s' * (count != 1)} to look at{', the worst first' * (count > 1)}</h2>"
        yield scrollable(f'<table class="moments"><tbody>{lines}</tbody></table>')


def _line(moments: list[Moment], fps: float) -> str:
    """A problem of a leg in words, once or several times."""
    worst, many, style = moments[0], len(moments), style_of(moments[0])
    times = sorted(moment.start / fps for moment in moments[:_SHOWN])
    when = frame_range(worst.start, worst.stop, fps)
    if many > 1:
        more = f" and {many - _SHOWN} more" if many > _SHOWN else ""
        when = f"{many} times, at {', '.join(f'{time:.2f}' for time in times)} s{more}; the worst {when}"
    what = text(text_of_moment(worst, "up to " * (many > 1)))
    return f'<tr><td class="{style}">{WORDS[style]}</td><th>{what}</th><td>{when}</td></tr>'


def style_of(moment: Moment) -> str:
    """How bad it is."""
    return "poor" if moment.weight > 4 else "fair"


def text_of_moment(moment: Moment, most: str = "") -> str:
    """A problem of a leg in words, with its size."""
    amount = "" if np.isnan(moment.amount) else f" {most}{1e3 * moment.amount:.0f} mm"
    return f"{moment.leg} {moment.what}{amount}"


def frame_range(start: int, stop: int, fps: float) -> str:
    """Frame numbers, from 0 like array indices."""
    if stop - start == 1:
        return f"frame {start}, {start / fps:.2f} s"
    return f"frames {start} to {stop - 1}, {start / fps:.2f} to {(stop - 1) / fps:.2f} s"


def key_to_colours(measured: Measured, source: Measured | None) -> str:
    """The legend of the colours."""
    points = dict.fromkeys(point for points in measured.points.values() for point in points)
    names = [*points, *(["before"] if source else [])]
    return '<p class="key">' + " ".join(f'<span class="{name}">{name}</span>' for name in names) + "</p>"


def table_of_measures(measured: Measured, source: Measured | None) -> str:
    """The table of measures: one per line, legs in columns."""
    both = [each for each in (source, measured) if each]
    head = "".join(f'<th colspan="{len(both)}">{text(leg)}</th>' for leg in measured.tracks)
    lines = [f"<tr><th>measure</th>{head}<th>what it is</th></tr>"]
    if source:
        plus = "+ is what is beyond before"
        lines.append(f"<tr><td></td>{'<td>before</td><td>after</td>' * len(measured.tracks)}<td>{plus}</td></tr>")
    for name in measures_to_show(MEANINGS, beside=bool(source)):
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


def measures_to_show(names: Iterable[str], *, beside: bool) -> list[str]:
    """The measures to show; without a source, those that have a meaning without one."""
    return [name for name in names if beside or name not in metrics.BESIDE]


def _values(name: str, records: Sequence[Measure], length: float, beyond: bool) -> list[str]:
    """A measure of a leg, before and after, with its verdict."""
    both = verdicts.in_words(name, records, length, beyond=beyond)
    return [f'<b class="{says}">{value} {WORDS[says]}</b>' if says else value for value, says in both]
