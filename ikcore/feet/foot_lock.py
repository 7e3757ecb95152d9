"""Foot locking frame by frame, without knowledge of later frames, for games and during capture."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import dot, rows

Array = NDArray[np.float64]
_DOUBLE = np.dtype(np.float64)


class FootLock:
    """Hold points in place while they are planted, and release them without a jump.

    It sees one frame after another. A planted point stays at its present position. A released point, or one that is too
    far from its input, returns to its input like a critically damped spring with its present velocity: position and
    velocity never jump. A released point is planted again only after a delay, so that a flickering contact does not
    make it jitter. If the whole clip is known, use `bake_feet`, which sees later frames.

    The fading of an offset is D. Bollo's, "Inertialization", 2018; on feet, D. Holden's.

    Parameters
    ----------
    count : int
        Number of points.
    fps : float
        Frames per second.
    half_life : float, default: 0.1
        Seconds. The offset of a point at rest falls to 0.6 in this time, and to a quarter in twice this time.
    unlock : float, default: 0.2
        Largest distance of a planted point from its input, in units of length. Beyond it the point is released.
    rest : float, default: 0.1
        Seconds before a released point may be planted again.

    Examples
    --------
    A foot that slides by 5 mm per frame while it should be planted, and is then lifted:

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
        self._since = np.full(count, np.inf)  # s since its release
        self._place, self._last = np.zeros((count, 3)), np.full((count, 3), np.nan)
        self._off, self._speed = np.zeros((count, 3)), np.zeros((count, 3))

    @property
    def held(self) -> NDArray[np.bool_]:
        """The points that are held in place (count,)."""
        return self._held.copy()

    def step(self, points: ArrayLike, planted: ArrayLike) -> Array:
        """Advance by one frame.

        Parameters
        ----------
        points : (count, 3) array_like
            The points in this frame. A point that is not finite keeps its position.
        planted : (count,) array_like of bool
            The points that should be planted.

        Returns
        -------
        (count, 3) array
            The positions of the points.
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
        """Advance the critically damped springs by one frame, exactly."""
        drawn = self._speed + self._stiff * self._off
        self._off = self._decay * (self._off + drawn * self._step)
        self._speed = self._decay * (self._speed - drawn * (self._stiff * self._step))

    def _let_go(self, which: NDArray[np.bool_], own: Array, speed: Array, wanted: NDArray[np.bool_]) -> None:
        self._off[which] += (self._place - own)[which]
        self._speed[which] -= speed[which]
        self._held[which], self._since[which] = False, 0.0
        self._fell[which] = ~wanted[which]  # a point released for distance waits until its foot is lifted

    def _keep(self, which: NDArray[np.bool_], own: Array, speed: Array) -> None:
        """Plant points at their present output: the offset becomes 0, and their velocity fades."""
        self._place[which] = (own + self._off)[which]
        self._speed[which] += speed[which]
        self._off[which] = 0.0
        self._held[which] = True


_LOG_2 = 0.6931471805599453


def _exponential(x: float) -> float:
    """exp(x) by its series after halving x: with a fixed order of operations, so that the bits are reproducible."""
    halvings, term, total = 8, 1.0, 1.0
    small = x / 2**halvings
    for order in range(1, 16):
        term *= small / order
        total += term
    for _ in range(halvings):
        total *= total
    return total
