"""A page about the feet of a clip: problems, paths of the feet, contacts, knees, and all measures.

It is one HTML file with drawings, without network access or scripts, readable on light and dark backgrounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from ikcore import _files
from ikcore.feet.leg_measures import Measured
from ikcore.feet.metrics import Measure
from ikcore.feet.verdicts import Moment
from ikcore.reports.drawing import scrollable, text
from ikcore.reports.over_time import over_time
from ikcore.reports.side_view import side
from ikcore.reports.summary import (
    ABOUT_TIME,
    SHORT,
    WORDS,
    about_paths,
    frame_range,
    in_short,
    key_to_colours,
    path_text,
    style_of,
    table_of_measures,
    text_of_moment,
    to_look_at,
    worst_moments,
)

_OURS = '<meta name="generator" content="ikcore"/>'


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
        reason = f"{text_of_moment(worst)}, {frame_range(worst.start, worst.stop, self.fps)}" + f"; and {more} more" * (
            more > 0
        )
        return style_of(worst), "look at", reason


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
    heads = "".join(f"<th>{words}</th>" for words in ("verdict", "clip", "look at first", *SHORT.values()))
    rows = [_row(clip, *each) for clip, each in zip(clips, verdicts_of, strict=True)]
    table = scrollable(f'<table class="list"><tbody><tr>{heads}</tr>{"".join(rows)}</tbody></table>')
    about = "Measures are those of the leg that does worst; the page of a clip has them all."
    _files.write(path, [_whole("Feet of clips", [f'<p class="short">{counts}</p>', f"<p>{about}</p>", table], "wide")])


_COUNTED = {"good": "good", "look at": "to look at", "failed": "failed"}


def _row(clip: Listed, style: str, word: str, reason: str) -> str:
    """The head row of the list of clips."""
    name = f'<a href="{text(quote(clip.page.name))}">{text(clip.name)}</a>' if clip.page else text(clip.name)
    cells = [
        f'<td class="verdict {style}">{WORDS[style]} {word}</td><td class="name">{name}</td>',
        f'<td class="why">{text(reason)}</td>',
    ]
    both = zip(*(records for _, records in clip.legs.values()), strict=True)
    measures = [dict(zip(clip.legs, records, strict=True)) for records in both]
    lengths = {leg: length for leg, (length, _) in clip.legs.items()}
    for measure in SHORT:
        values = " → ".join(worst_moments(measure, measures, lengths, clip.beyond)) if measures else ""
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
        f"<p>{text(path_text(measured, source))}</p>",
        *(f'<p class="note">{text(note[:1].upper() + note[1:])}.</p>' for note in notes),
        in_short(measured, source),
        *to_look_at(measured, source),
        "<h2>Where the feet go</h2>",
        f"<p>{about_paths(measured, source)}</p>",
        key_to_colours(measured, source),
        scrollable(side(measured, source)),
        "<h2>When they stand, how high they are, what the knees do</h2>",
        f"<p>{ABOUT_TIME}</p>",
        key_to_colours(measured, source),
        scrollable(over_time(measured, source)),
        "<h2>All measures</h2>",
        scrollable(table_of_measures(measured, source)),
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


__all__ = ["Listed", "over_time", "page", "side", "write", "write_index"]


def __dir__() -> list[str]:
    return __all__
