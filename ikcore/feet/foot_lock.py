"""Planted points frame by frame, as frames come: without knowing what comes next, as in a game or while capturing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import dot, rows

Array = NDArray[np.float64]
_DOUBLE = np.dtype(np.float64)


class FootLock:
    """Keeps points where they are while they are planted, and lets them go without a jump.

    It sees one frame after another and nothing of the next. When a point is planted it stays where it has got to; when
    it is let go, or has been left behind too far, it returns to its own way as a critically damped spring does that
    starts with the speed it has: its place and its speed never jump. A point that was let go is planted again only
    after a while, so that a contact that flickers does not rattle. For clips that are all there `bake_feet` is better:
    it sees what comes.

    The idea of fading out a difference is that of D. Bollo, "Inertialization", 2018; on feet, D. Holden's.

    Parameters
    ----------
    count : int
        How many points.
    fps : float
        Frames a second.
    half_life : float, default: 0.1
        Seconds; after as long, a point that was at rest is still 0.6 of its way off, after twice that a quarter.
    unlock : float, default: 0.2
        How far a planted point may be from where it would be else, in units of length.
    rest : float, default: 0.1
        Seconds after which a point that was let go may be planted again.

    Examples
    --------
    A foot that slides by 5 mm a frame while it should stand, and is then lifted:

    >>> import numpy as np
    >>> lock = FootLock(1, fps=60)
    >>> way = [lock.step([[0.005 * frame, 0, 0]], [frame < 20]) for frame in range(60)]
    >>> np.array(way)[[0, 19, 20, 30, 59], 0, 0].round(3)
    array([0.   , 0.   , 0.   , 0.112, 0.295])
    """

    def __init__(
        self, count: int, fps: float, *, half_life: float = 0.1, unlock: float = 0.2, rest: float = 0.1
    ) -> None:
        for name, value in (("fps", fps), ("half_life", half_life), ("unlock", unlock)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name}: expected a positive number, got {value!r}")
        if not 0 <= rest < math.inf:
            raise ValueError(f"rest: expected 0 or a positive number, got {rest!r}")
        if count < 1:
            raise ValueError(f"count: expected 1 or more, got {count}")
        self._step = 1 / fps
        self._stiff = 2 * _LOG_2 / half_life
        self._decay = _exponential(-self._stiff * self._step)
        self._unlock, self._rest = unlock, rest
        self._held, self._fell = np.zeros(count, bool), np.zeros(count, bool)
        self._since = np.full(count, np.inf)  # it was let go
        self._place, self._last = np.zeros((count, 3)), np.full((count, 3), np.nan)
        self._off, self._speed = np.zeros((count, 3)), np.zeros((count, 3))

    @property
    def held(self) -> NDArray[np.bool_]:
        """Which points are kept where they are (count,)."""
        return self._held.copy()

    def step(self, points: ArrayLike, planted: ArrayLike) -> Array:
        """Go on by one frame.

        Parameters
        ----------
        points : (count, 3) array_like
            Where the points are in this frame. One that is not finite stays where it was.
        planted : (count,) array_like of bool
            Which of them should stand.

        Returns
        -------
        (count, 3) array
            Where they should be.
        """
        given, wanted = rows("points", points, _DOUBLE, 3), np.asarray(planted, bool)
        if given.shape != self._last.shape or wanted.shape != self._held.shape:
            raise ValueError(f"expected {len(self._held)} points and as many flags, got {given.shape}, {wanted.shape}")
        first = np.isnan(self._last[:, 0])[:, np.newaxis]
        own = np.where(np.isfinite(given).all(axis=1, keepdims=True), given, np.where(first, 0, self._last))
        speed = np.where(first, 0, (own - self._last) / self._step)
        self._fade()
        self._fell |= ~wanted
        away = self._place - own
        leaves = self._held & (~wanted | (dot(away, away) > self._unlock * self._unlock))
        lands = ~self._held & wanted & self._fell & (self._since >= self._rest)
        lands |= ~self._held & wanted & first[:, 0]
        self._let_go(leaves, own, speed, wanted)
        self._keep(lands, own, speed)
        self._last, self._since = own, self._since + self._step
        return np.asarray(np.where(self._held[:, np.newaxis], self._place, own) + self._off)

    def _fade(self) -> None:
        """One frame of a critically damped spring, exactly."""
        drawn = self._speed + self._stiff * self._off
        self._off = self._decay * (self._off + drawn * self._step)
        self._speed = self._decay * (self._speed - drawn * (self._stiff * self._step))

    def _let_go(self, which: NDArray[np.bool_], own: Array, speed: Array, wanted: NDArray[np.bool_]) -> None:
        self._off[which] += (self._place - own)[which]
        self._speed[which] -= speed[which]
        self._held[which], self._since[which] = False, 0.0
        self._fell[which] = ~wanted[which]  # one left behind waits until it is lifted

    def _keep(self, which: NDArray[np.bool_], own: Array, speed: Array) -> None:
        """Where they have got to: what is still off fades on the spot, and so does their speed."""
        self._place[which] = (own + self._off)[which]
        self._speed[which] += speed[which]
        self._off[which] = 0.0
        self._held[which] = True


_LOG_2 = 0.6931471805599453


def _exponential(x: float) -> float:
    """By its series, halved often enough: in written order, so that the bits are the same everywhere."""
    halvings, term, total = 8, 1.0, 1.0
    small = x / 2**halvings
    for order in range(1, 16):
        term *= small / order
        total += term
    for _ in range(halvings):
        total *= total
    return total
