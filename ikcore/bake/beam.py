"""The way of a foot over the ground: a thin beam under tension, clamped at both ends and laid over obstacles.

Of all ways that begin and end where they should, with the slopes they should have, and stay above what is in between,
such a beam takes the one that is bent, and longer than need be, the least. How hard each obstacle presses it follows
from a linear complementarity problem: the beam is above it, or it is pressed, never both. That is solved by pivoting,
for many swings together; see R. W. Cottle, J.-S. Pang and R. E. Stone, "The Linear Complementarity Problem", 1992.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_KNOTS = 32
_ROUNDS = 8 * _KNOTS  # of pivoting, at most; a twentieth of them is enough as a rule
_EXACT = 1e-9  # of the highest obstacle: what a beam may lack
_SWINGS = 128  # at once, so that their tables fit a cache
_TENSION = 100.0  # beside a stiffness of 1 and a length of 1: without, it would bulge between obstacles


def lifts(swing: NDArray[np.intp], share: Array, least: Array, swings: int) -> Array:
    """How much higher than its plain way a foot goes, frame by frame.

    Parameters
    ----------
    swing : (n,) array of int
        Which swing each frame is of, from 0.
    share : (n,) array
        Where in its swing, 0 to 1.
    least : (n,) array
        How much higher it has to be at least; what is 0 or less is no obstacle.
    swings : int
        How many there are.

    Returns
    -------
    (n,) array
        Zero, without a slope, at both ends of a swing.
    """
    needed, place = np.zeros((swings, _KNOTS)), share * (_KNOTS + 1) - 1
    before = np.floor(place).astype(np.intp)
    for knot in (before, before + 1):
        np.maximum.at(needed, (swing, np.clip(knot, 0, _KNOTS - 1)), least)
    found = np.zeros(len(share))
    busy = np.flatnonzero((needed > 0).any(axis=1))
    if not len(busy):
        return found
    row = np.full(swings, -1)
    row[busy] = np.arange(len(busy))
    mine = np.flatnonzero(row[swing] >= 0)
    heights = np.concatenate([_pressed(needed[busy[at : at + _SWINGS]]) for at in range(0, len(busy), _SWINGS)])
    found[mine] = _between(heights, row[swing[mine]], place[mine])
    return found


def _pressed(needed: Array) -> Array:
    """The heights of the knots of each beam, none lower than needed.

    A knot is as high as needed where the beam is pressed, and nowhere else acts a force. At first none is pressed; then
    of each beam the knot that is the farthest from that, too low or pulled down, changes sides, until there is none.
    """
    swings, shape = len(needed), _shapes()
    table = np.empty((swings, _KNOTS, _KNOTS + 1))  # its last column: how much too high knots are, or how hard pressed
    table[..., :-1], table[..., -1] = shape, -needed
    pressed, scale = np.zeros(needed.shape, bool), np.diagonal(shape)
    busy, least = np.arange(swings), -_EXACT * needed.max(axis=1)
    for _ in range(_ROUNDS):
        wrong = np.where(pressed[busy], scale, 1.0) * table[busy, :, -1]
        wrong = np.where(needed[busy] > 0, wrong, 0.0)
        knot = wrong.argmin(axis=1)
        more = wrong[np.arange(len(busy)), knot] < least[busy]
        busy, knot = busy[more], knot[more]
        if not len(busy):
            break
        table[busy] = _exchanged(table[busy], knot)
        pressed[busy, knot] ^= True
    return np.where(pressed, needed, needed + table[..., -1])


def _exchanged(table: Array, knot: NDArray[np.intp]) -> Array:
    """With the force and the height of one knot of each beam in each other's place: a step of Gauss-Jordan."""
    each = np.arange(len(table))
    pivot = table[each, knot, knot][:, np.newaxis]
    row, column = table[each, knot] / pivot, table[each, :, knot]
    table -= column[..., np.newaxis] * row[:, np.newaxis]
    table[each, knot], table[each, :, knot] = -row, column / pivot
    table[each, knot, knot] = 1 / pivot[:, 0]
    return table


@functools.cache
def _shapes() -> Array:
    """The heights of all knots for a load at each: the inverse of the stiffness of what is clamped, by elimination."""
    size, step = _KNOTS, 1 / (_KNOTS + 1)
    bent = [[0.0] * (size + 2) for _ in range(size + 2)]
    for knot in range(size + 2):
        for other, factor in ((knot - 1, 1.0), (knot, -2.0), (knot + 1, 1.0)):
            if 0 <= other < size + 2:
                bent[knot][other] = factor
    bent[0][1] = bent[-1][-2] = 2.0  # no slope: as high beyond the clamp as before it
    stiff = [[0.0] * size for _ in range(size)]
    for a in range(size):
        for b in range(size):
            curved = sum(row[a + 1] * row[b + 1] * (0.5 if at in (0, size + 1) else 1) for at, row in enumerate(bent))
            drawn = 2.0 if a == b else -1.0 if abs(a - b) == 1 else 0.0
            stiff[a][b] = curved / (step * step * step) + _TENSION * drawn / step
    return np.array(_inverse(stiff))


def _inverse(matrix: list[list[float]]) -> list[list[float]]:
    """Of a positive definite matrix, in written order, so that the bits are the same everywhere."""
    size = len(matrix)
    rows = [row[:] + [float(at == number) for at in range(size)] for number, row in enumerate(matrix)]
    for pivot in range(size):
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(size):
            if other != pivot and (factor := rows[other][pivot]) != 0.0:
                rows[other] = [value - factor * base for value, base in zip(rows[other], rows[pivot], strict=True)]
    return [row[size:] for row in rows]


def _between(heights: Array, row: NDArray[np.intp], place: Array) -> Array:
    """Cubics between the knots, with the slopes between their neighbours."""
    wide = np.zeros((len(heights), _KNOTS + 4))
    wide[:, 2:-2] = heights
    wide[:, 0], wide[:, -1] = heights[:, 0], heights[:, -1]
    before = np.clip(np.floor(place).astype(np.intp), -1, _KNOTS - 1)
    t = place - before
    a, b, c, d = (wide[row, before + 1 + shift] for shift in range(4))
    return np.asarray(b + t * ((c - a) / 2 + t * (a - 2.5 * b + 2 * c - d / 2 + t * (1.5 * (b - c) + (d - a) / 2))))
