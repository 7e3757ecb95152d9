"""How deep feet are in the ground before a bake and after it, by the measures of `ikcore.feet.metrics`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore.clips.clip import Clip
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.intervals import blocks
from ikcore.feet import metrics
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.metrics import arguments
from ikcore.feet.soles import points
from ikcore.feet.thresholds import DEEP_WINDOW, FLOOR_UNEVENNESS, LEG_LENGTH, NEAR_WINDOW
from ikcore.feet.verdicts import BOUNDS, verdict
from ikcore.grounds.ground import Ground

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

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


class MeasuredLeg(NamedTuple):
    """A leg and its length."""

    leg: Leg
    size: float

    @property
    def scale(self) -> float:
        """How long it is beside that of a human."""
        return self.size / LEG_LENGTH


@dataclass(frozen=True, slots=True, eq=False)
class Penetration:
    """The points by which the depth of feet is measured."""

    source: Clip  # what is baked
    legs: list[MeasuredLeg]
    contacts: Contacts  # when they stand in the source
    ground: Ground  # what they are put on
    where: Mask  # (frames,): the frames that count

    def deeper(self, baked: Clip) -> list[Deeper]:
        """Feet that are deeper in the ground than in the source.

        The depth in the source is that in this ground, if the source stands on it, or else in its own floor.
        """
        least = [BOUNDS["penetration"].good * leg.scale for leg in self.legs]
        low = self._heights(baked, self.ground)
        if not any((heights < -good).any() for heights, good in zip(low, least, strict=True)):
            return []
        after = [self._depth(leg, each) for leg, each in zip(self.legs, low, strict=True)]
        if not any(max(depth[:2]) > good for depth, good in zip(after, least, strict=True)):
            return []
        found, there = [], self._heights(self.source, self.ground)
        here = [self._stands(leg, each) for leg, each in zip(self.legs, there, strict=True)]
        if not all(here):
            there = np.where(np.array(here)[:, np.newaxis], there, self._heights(self.source, None))
        for leg, heights, depth, good, own in zip(self.legs, low, after, least, there, strict=True):
            was, down = self._depth(leg, own), self._contact_mask(leg)
            by = max(depth.penetration - was.penetration, depth.penetration_swing - was.penetration_swing)
            allowed = np.where(down, was.penetration, was.penetration_swing) + good
            if max(depth[:2]) > good and by > good:
                found.append(Deeper(leg.leg.name, by, int((self.where & (-heights > allowed)).argmax())))
        return found

    def faults(self, clip: Clip) -> str:
        """Faults of the depth and height of feet, in words; empty if there are none."""
        low, said = self._heights(clip, self.ground), []
        depths = [self._depth(leg, each) for leg, each in zip(self.legs, low, strict=True)]
        for name, words in _WORDS.items():
            values = [getattr(depth, name) * clip.unit for depth in depths]
            verdicts = [verdict(name, each, leg.size * clip.unit) for each, leg in zip(values, self.legs, strict=True)]
            poor = [each for each, word in zip(values, verdicts, strict=True) if np.isfinite(each) and word != "good"]
            if poor:
                said.append(words.format(f"{1000 * max(poor):.1f} mm"))
        return " and ".join(said)

    def _stands(self, each: MeasuredLeg, heights: Array) -> bool:
        """Whether a foot stands on the ground above which it is so high in the source."""
        known = np.sort(heights[self._contact_mask(each) & np.isfinite(heights)])
        return len(known) > 0 and abs(float(known[len(known) // 2])) <= FLOOR_UNEVENNESS * each.scale

    def _contact_mask(self, each: MeasuredLeg) -> Mask:
        """When a foot is in contact."""
        return self.contacts.planted(each.leg.name)

    def _depth(self, each: MeasuredLeg, heights: Array) -> Depth:
        """The measures of a foot whose sole is so high."""
        down, low = self._contact_mask(each), heights[:, np.newaxis]
        deep, high, fps = metrics.penetration(low), metrics.floating(low), self.source.fps
        stance, swing, stands = (some & self.where for some in (down, ~down, metrics.contact_cores(down, fps=fps)))
        found = arguments.highest(deep[stance], 95), arguments.highest(deep[swing]), arguments.highest(high[stands], 95)
        return Depth(*np.nan_to_num(found, posinf=np.inf).tolist())

    def _heights(self, clip: Clip, ground: Ground | None) -> Array:
        """How high the lowest point of each sole is, (legs, frames), above a ground, or the floors of the source.

        NaN over no ground.
        """
        soles = [{name: sole for name, sole in each.leg.soles.items() if name in _POINTS} for each in self.legs]
        own = [slice(*edges) for edges in pairwise([0, *accumulate(map(len, soles))])]
        scale, found = max(leg.scale for leg in self.legs), np.empty((len(soles), len(clip)))
        for frames in blocks(len(clip)):
            wanted = [sole for each in soles for sole in each.values()]
            at = np.asarray(points(clip.skeleton, clip.pose[frames], wanted), np.float64)
            if ground is None:
                under = np.stack([floor[frames] for floor in self._floors(soles)], axis=1)
            else:
                here = ground.still(frames)
                under = here._heights(at, NEAR_WINDOW * scale, DEEP_WINDOW * scale, 1)
                if np.isnan(under).any():  # feet may have sunk far into it
                    under = np.where(np.isnan(under), here._heights(at, DEEP_WINDOW * scale, 0.0, 1), under)
            above = at[..., "XYZ".index(clip.up)] - under
            for leg, part in enumerate(own):
                found[leg, frames] = arguments.lowest(above[:, part])
        return found

    def _floors(self, soles: list[dict[str, Sole]]) -> list[Array]:
        """The floor under each point on which the source was found to stand; that of the ball under toes."""
        found = []
        for leg, each in zip(self.legs, soles, strict=True):
            floors = {point: floor for (name, point), floor in self.contacts.ground.items() if name == leg.leg.name}
            last = floors.get("ball", next(iter(floors.values())))
            found += [floors.get(name, last) for name in each]
        return found
