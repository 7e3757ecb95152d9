"""Plots in SVG, as text: axes, lines, areas and marks for self-contained pages. Styles are CSS classes."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


LEFT, RIGHT, NARROW, WIDE = 64, 24, 860, 6000  # pixels of a page


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle of a drawing with coordinate axes.

    Attributes
    ----------
    x, y : (float, float)
        The values at the left and the right edge, and at the bottom and the top.
    left, top, width, height : float
        The rectangle, pixels.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    left: float
    top: float
    width: float
    height: float

    def across(self, x: Any) -> Any:
        """Pixel positions of values along x."""
        return self.left + (x - self.x[0]) * (self.width / (self.x[1] - self.x[0]))

    def down(self, y: Any) -> Any:
        """Pixel positions of values along y."""
        return self.top + (self.y[1] - y) * (self.height / (self.y[1] - self.y[0]))

    def within(self, parts: Iterable[str]) -> str:
        """Parts of a drawing, clipped to the panel."""
        size = f"{self.left:.1f} {self.top:.1f} {self.width:.1f} {self.height:.1f}".split()
        place = " ".join(f'{name}="{value}"' for name, value in zip(("x", "y", "width", "height"), size, strict=True))
        return f'<svg {place} viewBox="{" ".join(size)}">{"".join(parts)}</svg>'

    def line(self, xs: Array, ys: Array, style: str) -> str:
        """A line through points; values that are not finite break it."""
        return f'<path class="{style}" d="{_path(self.across(xs), self.down(ys))}"/>' if len(xs) else ""

    def area(self, xs: Array, ys: Array, style: str) -> str:
        """The area under a line, down to the bottom."""
        parts = []
        for start, stop in _runs(np.isfinite(xs) & np.isfinite(ys)):
            edges = np.concatenate([xs[start : start + 1], xs[start:stop], xs[stop - 1 : stop]])
            heights = np.concatenate([[self.y[0]], ys[start:stop], [self.y[0]]])
            parts.append(_path(self.across(edges), self.down(heights)) + "Z")
        return f'<path class="{style}" d="{"".join(parts)}"/>' if parts else ""

    def bar(self, start: float, stop: float, style: str, title: str = "") -> str:
        """A bar between two values of x, as high as the panel."""
        left, right = float(self.across(start)), float(self.across(stop))
        shape = f'<rect class="{style}" x="{left:.1f}" y="{self.top:.1f}" width="{max(right - left, 0.5):.1f}"'
        return f'{shape} height="{self.height:.1f}">{f"<title>{text(title)}</title>" if title else ""}</rect>'

    def dot(self, x: float, y: float, style: str, title: str = "") -> str:
        """A mark on one value."""
        at = f'cx="{self.across(x):.1f}" cy="{self.down(y):.1f}"'
        return f'<circle class="{style}" {at} r="4"><title>{text(title)}</title></circle>'

    def title(self, words: str) -> str:
        """Words above the panel."""
        return f'<text class="title" x="{self.left:.1f}" y="{self.top - 8:.1f}">{text(words)}</text>'

    def x_axis(self, unit: str) -> str:
        """The axis below the panel, with grid lines."""
        bottom, parts = self.top + self.height, []
        for value in ticks(*self.x, round(self.width / 90)):
            at = f"{self.across(value):.1f}"
            parts.append(f'<path class="grid" d="M{at} {self.top:.1f}V{bottom:.1f}"/>')
            parts.append(f'<text class="middle" x="{at}" y="{bottom + 14:.1f}">{value:g}{unit}</text>')
        return "".join(parts)

    def y_axis(self, unit: str, count: int = 3, factor: float = 1.0) -> str:
        """The axis at the left of the panel, with values times a factor, and grid lines."""
        parts = []
        for value in ticks(self.y[0] * factor, self.y[1] * factor, count):
            at = float(self.down(value / factor))
            parts.append(f'<path class="grid" d="M{self.left:.1f} {at:.1f}h{self.width:.1f}"/>')
            parts.append(f'<text class="end" x="{self.left - 6:.1f}" y="{at + 4:.1f}">{value:g}{unit}</text>')
        return "".join(parts)


def svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """A drawing."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    body = "\n".join(part for part in parts if part)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{text(label)}">\n{body}\n</svg>'


def text(words: str) -> str:
    """Text as markup: escaped, without characters that XML does not allow."""
    allowed = "".join(letter if letter in "\t\n" or ord(letter) >= 32 else "\ufffd" for letter in words)
    return html.escape(allowed.encode("utf-8", "replace").decode("utf-8").replace("\ufffe", "?").replace("\uffff", "?"))


def ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers between two values."""
    least = (high - low) / max(count, 1)
    step = 10.0 ** math.floor(math.log10(least))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= 0.999 * least)
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(number * step, 10) for number in numbers]


def points_to_draw(values: Array, most: int = 2000) -> NDArray[np.intp]:
    """Indices of the values to draw: the lowest and the highest of each interval, and gaps.

    Parameters
    ----------
    values : (n,) or (n, columns) array
        The values to draw.
    most : int
        About the largest number to keep per column.

    Returns
    -------
    array of int
        Ascending, including the first and the last.
    """
    rows = len(values)
    if rows <= most:
        return np.arange(rows)
    wide = -(-2 * rows // most)
    columns = values.reshape(rows, -1)
    padded = np.pad(columns, ((0, -rows % wide), (0, 0)), mode="edge").reshape(-1, wide, columns.shape[1])
    known = np.isfinite(padded)
    found = [
        np.where(known, padded, np.inf).argmin(axis=1),
        np.where(known, padded, -np.inf).argmax(axis=1),
        np.where(known.all(axis=1), 0, known.argmin(axis=1)),  # a gap
    ]
    starts = np.arange(len(padded))[:, np.newaxis] * wide
    frames = np.concatenate([(starts + at).ravel() for at in found])
    return np.unique(np.minimum([0, rows - 1, *frames.tolist()], rows - 1))


def _path(xs: Any, ys: Any) -> str:
    """An SVG path through pixels. A single point becomes a dot, since lines have round ends."""
    parts, pen = [], "M"
    for x, y in zip(np.asarray(xs, float).tolist(), np.asarray(ys, float).tolist(), strict=True):
        if math.isfinite(x) and math.isfinite(y):
            parts.append(f"M{x:.1f} {y:.1f}h0" if pen == "M" else f"L{x:.1f} {y:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(parts)


def _runs(known: NDArray[np.bool_]) -> Sequence[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def scrollable(drawn: str) -> str:
    """A drawing that scrolls where the page is narrower."""
    return f'<div class="scrolled">{drawn}</div>'
