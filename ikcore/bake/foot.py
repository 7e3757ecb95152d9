"""Feet and their stances over time, and the frames of stances as rows of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ikcore.bake.floors import Floor
from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Mask, Scene
from ikcore.contacts.intervals import Rows
from ikcore.feet.thresholds import ANTICIPATION_TIME, SOLE_UNCERTAINTY

Rowed = NDArray[np.intp]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pivot:
    """An interval of a stance in which the foot turns about one point of its sole."""

    point: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Foot:
    """A foot over time, as all stages of the bake read it."""

    motion: LegMotion  # the leg in the source
    floor: Floor  # the floor in the source
    scene: Scene  # the ground and the settings

    @property
    def turns(self) -> bool:
        """True if the foot has an ankle to rotate about."""
        return self.motion.leg.ankle is not None

    @property
    def lowest(self) -> Array:
        """Height of the lowest point above its standing height, (frames,)."""
        return np.asarray(np.minimum.reduce(self.above(), axis=1))

    def above(self, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """Heights of the points of the sole in the source above their standing heights, (frames, points)."""
        return np.asarray(self.motion.points[frames, :, self.scene.axis] - self.floor.stood[frames])

    @property
    def keeps_heel(self) -> bool:
        """True if the heel is kept out of the ground. False for feet that roll over their balls all the time."""
        thick = self.floor.thick
        known = self.scene.settings.align > 0 and {"heel", "ball"} <= thick.keys()
        return bool(known and thick["heel"] - thick["ball"] <= SOLE_UNCERTAINTY * self.motion.scale)

    def over(self, point: str, frames: slice | NDArray[np.intp] = slice(None)) -> Array:
        """Horizontal position of a point of the sole. An in-place clip is measured as if it travelled."""
        return self.scene.horizontal_positions(self.motion.soles[point][frames], frames)

    @property
    def ends(self) -> tuple[str, str | None] | None:
        """The names of the tip of the sole and of its back (None: the ankle); None if the sole is one point."""
        motion, soles = self.motion, self.motion.soles
        ahead = next((name for name in ("toe", motion.ball) if name in soles), None)
        back = "heel" if "heel" in soles else None
        return None if ahead is None or not (back or self.turns) else (ahead, back)


@dataclass(frozen=True, slots=True, eq=False)
class Stance:
    """One stance: an interval in which a foot is in contact."""

    leg: int  # index of the foot
    # first frame, and the one after the last
    start: int
    stop: int
    pivots: tuple[Pivot, ...]  # pivots in order of time: heel, ball, toe
    main: int  # index of the main pivot, whose position defines the foothold
    flat: NDArray[np.intp]  # (n,): frames in which the foot is flat, else those of the main pivot
    # (frames, 3): horizontal displacement that keeps the pivot still. The main pivot keeps its mean position. Other
    # pivots keep their position in the frame next to their neighbour. Zeros if the foot is planted.
    slips: Array
    rise: float  # height of the main pivot above its floor in the source, as captured floors are not level
    planted: bool  # True if the foot stands still in the source, within the plant tolerance

    @property
    def point(self) -> str:
        """The name of the main pivot."""
        return self.pivots[self.main].point

    @property
    def middle(self) -> int:
        """The frame in which the foot is at its foothold."""
        return int(self.flat[len(self.flat) // 2])

    @property
    def frames(self) -> slice:
        """All frames of the stance."""
        return slice(self.start, self.stop)


_AT_ONCE = 64  # number of stances whose frames are in memory at the same time


def batches(stances: Sequence[T]) -> Iterator[Sequence[T]]:
    """Groups of stances, so that memory stays proportional to the result."""
    return (stances[at : at + _AT_ONCE] for at in range(0, len(stances), _AT_ONCE))


class StanceTrack:
    """Feet in their stances: arrays with a row for each frame, stance by stance, foot by foot.

    `rows` are the frames of stances, `parts` the same frames as those of their pivots. `leg` is the foot of a stance.
    `of` is the stance of each pivot, `number` its number in it, and `from_main` the difference of that from the number
    of the main pivot. `point` is its number among the points of the sole. `points` (rows, points, 3) are the positions
    of these points, `heights` (rows, points) their heights above their foothold in that stance.
    """

    def __init__(self, feet: list[Foot], stances: Sequence[Stance]) -> None:
        self.feet, self.stances, self.scene = feet, stances, feet[0].scene
        self.rows = Rows([(each.start, each.stop) for each in stances])
        self.leg = np.array([each.leg for each in stances], np.intp)
        pivots = [(of, at, pivot) for of, each in enumerate(stances) for at, pivot in enumerate(each.pivots)]
        self.of, self.number = np.array([each[:2] for each in pivots], np.intp).reshape(-1, 2).T
        self.from_main = self.number - np.array([each.main for each in stances], np.intp)[self.of]
        self.parts = Rows([(pivot.start, pivot.stop) for *_, pivot in pivots])
        self.names = [list(foot.motion.soles) for foot in feet]
        self.point = np.array([self.names[stances[of].leg].index(pivot.point) for of, _, pivot in pivots], np.intp)
        # the row of each pivot's neighbour nearer to the main pivot; the foot turns about both points there
        self.beside = np.where(self.from_main < 0, self.parts.stop, self.parts.start - 1)
        self.beside += (self.rows.first - self.rows.start)[self.of]
        self._edges = np.searchsorted(self.each(self.leg), np.arange(len(feet) + 1)).tolist()
        self._wide = max(map(len, self.names))
        own = [self.rows.frames[self.of_foot(leg)] for leg in range(len(feet))]
        points = [foot.motion.points.take(frames, axis=0) for foot, frames in zip(feet, own, strict=True)]
        self.points = np.concatenate(list(map(self._pad, points)))
        stood = [foot.floor.stood[frames] for foot, frames in zip(feet, own, strict=True)]
        rise = self.each(np.array([each.rise for each in stances]))
        self.heights = self.points[..., self.scene.axis] - np.concatenate(list(map(self._pad, stood)))
        self.heights -= rise[:, np.newaxis]

    def each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of stances repeated for each of their frames."""
        return values.take(self.rows.of, axis=0)  # several times as fast as an index, here and below

    def gather(self, values: list[Array]) -> Array:
        """The rows of arrays (frames, ...), one array for each foot."""
        parts = [each.take(self.rows.frames[self.of_foot(leg)], axis=0) for leg, each in enumerate(values)]
        return np.concatenate(parts)

    def of_foot(self, leg: int) -> slice:
        """The rows of a foot."""
        return slice(*self._edges[leg : leg + 2])

    def _pad(self, values: Array) -> Array:
        """Values (frames, points) padded to the largest number of points of a foot."""
        more = self._wide - values.shape[1]
        return np.pad(values, [(0, 0), (0, more), *[(0, 0)] * (values.ndim - 2)]) if more else values

    def table(self, value: Callable[[Foot, str], float], default: float = 0) -> NDArray[Any]:
        """Values of the points of all soles, (feet, points)."""
        rows = [[value(foot, name) for name in names] for foot, names in zip(self.feet, self.names, strict=True)]
        return np.array([row + [default] * (self._wide - len(row)) for row in rows])

    def positions(self, point: Rowed, rows: Rowed) -> Array:
        """Positions of points, one for each row."""
        return self.points.reshape(-1, 3).take(rows * self._wide + point, axis=0)

    def at(self, name: str) -> Mask:
        """Mask of the pivots at a point of the sole; "reference" is the ball."""
        names = [foot.motion.ball for foot in self.feet] if name == "reference" else [name] * len(self.feet)
        columns = [each.index(name) if name in each else -1 for name, each in zip(names, self.names, strict=True)]
        return np.asarray(self.point == np.array(columns)[self.leg[self.of]])

    def inside(self) -> Mask:
        """Mask of the rows without the frames at both ends of a stance, in which a foot arrives or leaves."""
        rows = self.rows
        cut = edge_of(rows.count, self.scene)
        return np.asarray((rows.at >= self.each(cut)) & (rows.at < self.each(rows.count - cut)))


def edge_of(count: int | Rowed, scene: Scene) -> Rowed:
    """The number of frames at each end of a stance in which a foot arrives or leaves: at most a fifth of the stance."""
    return np.asarray(np.minimum(round(ANTICIPATION_TIME * scene.fps), count // 5))
