"""How deep feet are in the ground before a bake and after it, by the measures of `ikcore.feet.metrics`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ikcore.bake.motion import LegMotion
from ikcore.bake.scene import Array, Mask, median
from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.intervals import blocks
from ikcore.contacts.tracks import surface_under
from ikcore.feet import metrics
from ikcore.feet.human import UNEVEN
from ikcore.feet.metrics import given
from ikcore.feet.soles import points
from ikcore.feet.verdicts import BOUNDS, verdict
from ikcore.grounds.ground import Ground

_POINTS = ("heel", "ball", "toe")  # of a sole, those that are measured
_WORDS = {"penetration": "sink {}", "penetration_swing": "are {} deep in swing", "floating": "float {}"}


class Depth(NamedTuple):
    """The measures of one foot, in units of the clip; 0 where it is in no frame that counts."""

    penetration: float
    penetration_swing: float
    floating: float


class Deeper(NamedTuple):
    """A foot that is deeper in the ground than in the clip: how much, in its units, and the first such frame."""

    leg: str
    by: float
    frame: int


@dataclass(frozen=True, slots=True, eq=False)
class Penetration:
    """The points by which the depth of feet is measured."""

    source: Clip  # what is baked
    motions: list[LegMotion]  # its legs, of which only names and lengths are read
    contacts: Contacts  # when they stand in the source
    ground: Ground  # what they are put on
    where: Mask  # (frames,): the frames that count

    def deeper(self, baked: Clip) -> list[Deeper]:
        """Feet that are deeper in the ground than in the source.

        The depth in the source is that in this ground, if the source stands on it, or else in its own floor.
        """
        return [found for motion in self.motions if (found := self._deeper(motion, baked))]

    def faults(self, clip: Clip) -> str:
        """Faults of the depth and height of feet, in words; empty if there are none."""
        depths = {motion: self._depth(motion, self._heights(motion, clip)) for motion in self.motions}
        return " and ".join(self._faults(depths, clip.unit))

    def _faults(self, depths: dict[LegMotion, Depth], unit: float) -> Iterator[str]:
        for name, words in _WORDS.items():
            values = {motion: getattr(depth, name) * unit for motion, depth in depths.items()}
            poor = [
                value
                for motion, value in values.items()
                if np.isfinite(value) and verdict(name, value, motion.size * unit) != "good"
            ]
            if poor:
                yield words.format(f"{1000 * max(poor):.1f} mm")

    def _deeper(self, motion: LegMotion, baked: Clip) -> Deeper | None:
        least, low = BOUNDS["penetration"].good * motion.scale, self._heights(motion, baked)
        after = self._depth(motion, low)
        if not max(after[:2]) > least:
            return None
        before = self._before(motion)
        by = max(after.penetration - before.penetration, after.penetration_swing - before.penetration_swing)
        allowed = np.where(self._down(motion), before.penetration, before.penetration_swing) + least
        return Deeper(motion.leg.name, by, int((self.where & (-low > allowed)).argmax())) if by > least else None

    def _before(self, motion: LegMotion) -> Depth:
        there = self._heights(motion, self.source)
        stands = there[self._down(motion) & np.isfinite(there)]
        here = len(stands) > 0 and abs(median(stands)) <= UNEVEN * motion.scale
        return self._depth(motion, there if here else self._own_heights(motion))

    def _down(self, motion: LegMotion) -> Mask:
        """When a foot is in contact."""
        planted = [self.contacts.planted(*key) for key in self.contacts.weights if key[0] == motion.leg.name]
        return np.asarray(np.any(planted, axis=0))

    def _depth(self, motion: LegMotion, heights: Array) -> Depth:
        """The measures of a foot whose sole is so high."""
        down, fps, each = self._down(motion), self.source.fps, heights[:, np.newaxis]
        deep, high = metrics.penetration(each), metrics.floating(each)
        stance, swing, stands = (each & self.where for each in (down, ~down, metrics.standing(down, fps=fps)))
        found = given.highest(deep[stance], 95), given.highest(deep[swing]), given.highest(high[stands], 95)
        return Depth(*np.nan_to_num(found, posinf=np.inf).tolist())

    def _heights(self, motion: LegMotion, clip: Clip) -> Array:
        """How high the lowest point of a sole is above the ground, in every frame; NaN over none."""
        soles = [sole for name, sole in motion.leg.soles.items() if name in _POINTS]
        axis, found = "XYZ".index(clip.up), np.empty(len(clip))
        for frames in blocks(len(clip)):
            at = np.asarray(points(clip.skeleton, clip.pose[frames], soles), np.float64)
            under = surface_under(self.ground.still(frames), clip, at, motion.scale, sunk=True)
            found[frames] = given.lowest(at[..., axis] - under.height)
        return found

    def _own_heights(self, motion: LegMotion) -> Array:
        """The same above the floor on which the source was found to stand."""
        clip, found = self.source, np.empty(len(self.source))
        floors = {point: floor for (leg, point), floor in self.contacts.ground.items() if leg == motion.leg.name}
        last = floors.get("ball", next(iter(floors.values())))
        soles = {name: sole for name, sole in motion.leg.soles.items() if name in _POINTS}
        below = np.stack([floors.get(name, last) for name in soles], axis=1)
        for frames in blocks(len(clip)):
            at = np.asarray(points(clip.skeleton, clip.pose[frames], soles.values()), np.float64)
            found[frames] = given.lowest(at[..., "XYZ".index(clip.up)] - below[frames])
        return found
