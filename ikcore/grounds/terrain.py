"""Small synthetic grounds with known heights everywhere: stairs, a ramp, bumps."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ikcore.grounds.ground import Ground, _point_of

Axis = Literal["x", "y", "z"]


def stairs(steps: int, *, rise: float, run: float, width: float = 2.0, landing: float = 1.0, up: Axis = "y") -> Ground:
    """Stairs that begin at the origin and rise along the axis that follows `up` in x, y, z, x.

    Parameters
    ----------
    steps : int
        Number of steps.
    rise, run : float
        Height and depth of each.
    width : float, optional
        Total width, centred on the origin.
    landing : float, optional
        Length of the flat ground before the first step and after the last.
    up : {"x", "y", "z"}, optional
        The axis that points up.

    Returns
    -------
    Ground
        A ground with the height ``rise * (floor(s / run) + 1)`` at distance `s`, from 0 to ``steps * run``.

    Examples
    --------
    >>> up = stairs(3, rise=0.2, run=0.5)
    >>> up.at([[0, 0, -0.5], [0, 0, 0.25], [0, 0.5, 1.75]], above=0.5, below=0.5).height.round(9)
    array([0. , 0.2, 0.6])
    """
    if steps < 1:
        raise ValueError(f"steps: expected at least 1, got {steps!r}")
    _check_positive(run=run, width=width)
    corners = [(step * run, level * rise) for step in range(steps) for level in (step, step + 1)]
    return _strip([(-landing, 0.0), *corners, (steps * run + landing, steps * rise)], width, up)


def ramp(length: float, height: float, *, width: float = 2.0, landing: float = 1.0, up: Axis = "y") -> Ground:
    """A ramp that begins at the origin and rises, or falls, along the axis that follows `up` in x, y, z, x.

    Parameters
    ----------
    length, height : float
        Its horizontal length and its total rise.
    width, landing, up : optional
        As of `stairs`.

    Returns
    -------
    Ground
        A ground with the height ``height * s / length`` at distance `s`, from 0 to `length`.

    Examples
    --------
    >>> ramp(4, 1).at([0, 0, 2], above=1, below=1).height
    array(0.5)
    """
    _check_positive(length=length, width=width)
    return _strip([(-landing, 0.0), (0.0, 0.0), (length, height), (length + landing, height)], width, up)


def bumps(height: float, *, spacing: float = 1.0, count: int = 4, cells: int = 16, up: Axis = "y") -> Ground:
    """Smooth bumps in rows, centred on the origin.

    Parameters
    ----------
    height : float
        Height of each bump.
    spacing : float, optional
        Distance between neighbouring bumps.
    count : int, optional
        Number of bumps to each side.
    cells : int, optional
        Grid cells across a bump.
    up : {"x", "y", "z"}, optional
        The axis that points up.

    Returns
    -------
    Ground
        A grid of ``height * b(s) * b(t)``, where `b` is ``16 * (x * (1 - x)) ** 2`` and `x` is the position between two
        valleys, 0 to 1.

    Examples
    --------
    >>> bumps(0.1).at([[0.5, 0, 0.5], [1, 0, 0.5]], above=1, below=1).height
    array([0.1, 0. ])
    """
    for name, number in (("count", count), ("cells", cells)):
        if number < 1:
            raise ValueError(f"{name}: expected at least 1, got {number!r}")
    _check_positive(spacing=spacing)
    x = np.arange(count * cells + 1) % cells / cells
    bump = x * (1 - x) * (x * (1 - x)) * 16
    half = np.array(-0.5 * count * spacing)
    origin = _point_of(up, np.array(0.0), half, half)
    return Ground.heights(height * bump[:, np.newaxis] * bump, spacing / cells, origin, up=up)


def _check_positive(**lengths: float) -> None:
    for name, length in lengths.items():
        if not 0 < length < math.inf:
            raise ValueError(f"{name}: expected a positive number, got {length!r}")


def _strip(profile: list[tuple[float, float]], width: float, up: Axis) -> Ground:
    """A profile of (along, height) extruded to both sides, with its front above."""
    along, heights = np.array(profile, float).T
    sides = np.array([-width / 2, width / 2])
    points = _point_of(up, heights[:, np.newaxis], along[:, np.newaxis], sides)
    corner = 2 * np.arange(len(along) - 1)
    faces = np.stack([corner, corner + 2, corner + 3, corner, corner + 3, corner + 1], axis=-1)
    return Ground.mesh(points.reshape(-1, 3), faces.reshape(-1, 3), up=up)


__all__ = ["bumps", "ramp", "stairs"]


def __dir__() -> list[str]:
    return __all__
