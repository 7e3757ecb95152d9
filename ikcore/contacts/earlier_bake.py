"""The stances of an earlier bake that a clip still has, and the contacts and soles of that bake."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore.clips import provenance as records
from ikcore.clips.clip import Clip
from ikcore.clips.provenance import Origin
from ikcore.contacts.contacts import Contacts
from ikcore.contacts.intervals import blocks
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.soles import points
from ikcore.grounds.ground import Ground

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class EarlierStances:
    """The unchanged stances of a clip that was baked on this ground."""

    origin: Origin  # the record of that bake
    planted: tuple[records.Stance, ...]  # stances that are still where the bake put them, with the same settings

    @property
    def whole(self) -> bool:
        """True if no stance has changed, so that there is nothing to bake."""
        return self.origin.whole and len(self.planted) == len(self.origin.stances)

    def spans(self, leg: str) -> list[tuple[int, int]]:
        """The frames (start, stop) of the planted stances of a leg."""
        return [(stance.start, stance.stop) for stance in self.planted if stance.leg == leg]

    def copied_frames(self, leg: str) -> Mask:
        """Mask of the frames of a leg that are copied: planted stances, and swings between two of them."""
        found, planted = np.zeros(self.origin.frames, bool), self.spans(leg)
        edges = [(each.start, each.stop, (each.start, each.stop) in planted) for each in self._stances(leg)]
        last, copies = 0, True
        for start, stop, stays in [*edges, (self.origin.frames, self.origin.frames, True)]:
            found[last:start] = copies and stays and bool(planted)
            found[start:stop], last, copies = stays, stop, stays
        return found

    def _stances(self, leg: str) -> list[records.Stance]:
        return sorted((each for each in self.origin.stances if each.leg == leg), key=lambda each: each.start)

    def contacts(self, fps: float) -> Contacts:
        """The contacts with which the clip was baked, with the heights of the ground under its stances."""
        origin = self.origin
        moves = np.zeros((origin.frames, 3)) if origin.treadmill is None else origin.treadmill
        weights = {key: origin.weights(key) for key in origin.contacts}
        return Contacts(fps, weights, {key: self._levels(key[0]) for key in weights}, dict(origin.confidence), moves)

    def _levels(self, leg: str) -> Array:
        """Height of the ground under the last stance of a leg; before the first stance that of the first."""
        stances, found = self._stances(leg), np.zeros(self.origin.frames)
        for at, stance in enumerate(stances):
            found[stance.start if at else 0 :] = stance.level
        return found

    def feet(self, feet: Feet) -> Feet:
        """The legs with the soles with which the clip was baked."""
        return Feet(tuple(dataclasses.replace(leg, soles=self._soles(leg)) for leg in feet))

    def _soles(self, leg: Leg) -> dict[str, Sole]:
        own = {point: sole for (name, point), sole in self.origin.soles.items() if name == leg.name}
        return {point: Sole(*own[point]) for point in leg.soles if point in own} if own else dict(leg.soles)


def earlier_stances_of(
    clip: Clip, ground: Ground, settings: Mapping[str, Any], contacts: Contacts | None
) -> EarlierStances | None:
    """The unchanged stances of a clip with provenance on this ground; None without any.

    If less than half of the stances are where they were put, the record is of another clip: a file may have been
    written over a baked one. Legs with other contacts than before are baked again; with other settings all legs are.
    """
    origin = clip.origin
    joints = {joint for joint, _ in origin.soles.values()} if origin else set()
    if origin is None or not origin.stances or not joints <= set(clip.skeleton.names):
        return None
    if origin.ground != ground.fingerprint():
        return None
    stays = _stances_in_place(clip, origin)
    if 2 * len(stays) < len(origin.stances):
        return None
    if dict(origin.settings) != settings:
        return EarlierStances(origin, ())
    legs = {leg for leg, _ in origin.contacts} - _changed_legs(origin, contacts)
    return EarlierStances(origin, tuple(each for each in stays if each.leg in legs))


def _stances_in_place(clip: Clip, origin: Origin) -> list[records.Stance]:
    """The stances whose pivots are within the plant tolerance of their recorded positions."""
    soles = {key: Sole(*sole) for key, sole in origin.soles.items()}
    pivots = [((stance.leg, each.point), each.start, each.stop) for stance in origin.stances for each in stance.pivots]
    at = iter(places(clip, soles, pivots))
    near = [
        [bool((np.abs(next(at) - pivot.places) <= origin.tolerance).all()) for pivot in each.pivots]
        for each in origin.stances
    ]
    return [each for each, stays in zip(origin.stances, near, strict=True) if all(stays)]


def _changed_legs(origin: Origin, contacts: Contacts | None) -> set[str]:
    """The names of legs with other contacts than recorded."""
    if contacts is None:
        return set()
    given = {key: contacts.intervals(*key).tolist() for key in contacts.weights}
    known = {key: spans.tolist() for key, spans in origin.contacts.items()}
    return {key[0] for key in known.keys() | given.keys() if given.get(key) != known.get(key)}


def places(clip: Clip, soles: Mapping[records.Key, Sole], spans: list[tuple[records.Key, int, int]]) -> list[Array]:
    """Positions of points of soles, each over a range of frames."""
    found = [np.empty((stop - start, 3)) for _, start, stop in spans]
    column = {key: at for at, key in enumerate(dict.fromkeys(key for key, _, _ in spans))}
    starts, stops = np.array([span[1:] for span in spans], np.intp).reshape(-1, 2).T
    for frames in blocks(len(clip)):
        here = points(clip.skeleton, clip.pose[frames], [soles[key] for key in column])
        for at in np.flatnonzero((starts < frames.stop) & (stops > frames.start)).tolist():
            key, start, stop = spans[at]
            first, last = max(start, frames.start), min(stop, frames.stop)
            found[at][first - start : last - start] = here[first - frames.start : last - frames.start, column[key]]
    return found
