"""Provenance: what a bake did to a clip, so that the next one knows it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Key = tuple[str, str]

NAME = "ikcore origin"  # of the text, and of the property of an animation that holds it
VERSION = 1  # of the text


@dataclass(frozen=True, slots=True, eq=False)
class Pivot:
    """The pivot of a foot in one part of a stance.

    Attributes
    ----------
    point : str
        The point of the sole; "joint" where toes bend.
    start, stop : int
        Its first frame, and the first one after it.
    places : (1, 3) or (stop - start, 3) array
        Positions of the point in the finished pose: one if it is constant, otherwise one per frame.
    """

    point: str
    start: int
    stop: int
    places: Array


@dataclass(frozen=True, slots=True, eq=False)
class Stance:
    """One stance of a foot in the finished pose."""

    leg: str
    pivots: tuple[Pivot, ...]  # one after the other
    level: float  # height of the ground under its main pivot

    @property
    def start(self) -> int:
        """Its first frame."""
        return self.pivots[0].start

    @property
    def stop(self) -> int:
        """The first frame after it."""
        return self.pivots[-1].stop


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Origin:
    """The provenance of a clip: `bake_feet` writes it, and reads it when it bakes the clip again.

    A stance whose foot is still where it was put is copied then. Edits may move stances: those are baked again.

    Attributes
    ----------
    frames : int
        The number of frames of the clip.
    ground : str
        The fingerprint of the ground, `Ground.fingerprint`.
    floor : {"level", "ground"}
        The ground that the source was made for: a level floor, or this ground.
    settings : mapping of str
        Those of the bake, as numbers, names and None.
    tolerance : float
        The plant tolerance, in units of the clip: a foot that is no farther from its place was not moved.
    soles : mapping of (str, str) to (str, (float, float, float))
        By leg and point: the joint that carries it, and where it is in the space of that.
    contacts : mapping of (str, str) to (n, 2) array of int
        By leg and point of the sole: the intervals of frames in which it is in contact.
    confidence : mapping of (str, str) to float
        The confidence of these contacts.
    stances : tuple of Stance
        Those that the bake placed.
    treadmill : (frames, 3) array, optional
        The velocity that the root of an in-place clip lacks.
    """

    frames: int
    ground: str
    floor: Literal["level", "ground"]
    settings: Mapping[str, Any]
    tolerance: float
    soles: Mapping[Key, tuple[str, tuple[float, float, float]]]
    contacts: Mapping[Key, NDArray[np.intp]]
    confidence: Mapping[Key, float]
    stances: tuple[Stance, ...]
    treadmill: Array | None = field(default=None)

    def weights(self, key: Key) -> Array:
        """The contact of a point as weights (frames,), 0 or 1."""
        found = np.zeros(self.frames)
        for start, stop in self.contacts[key].tolist():
            found[start:stop] = 1
        return found

    @property
    def whole(self) -> bool:
        """Whether every contact has a stance: else only a part of the clip was baked."""
        return all(
            any(stance.leg == leg and stance.start < stop and stance.stop > start for stance in self.stances)
            for (leg, _), spans in self.contacts.items()
            for start, stop in spans.tolist()
        )

    def to_json(self) -> str:
        """One line of text, in which lengths have nine digits; `from_json` reads it."""
        stances = [
            [each.leg, each.level, [[p.point, p.start, p.stop, _round(p.places)] for p in each.pivots]]
            for each in self.stances
        ]
        said = {
            NAME: VERSION,
            "frames": self.frames,
            "ground": self.ground,
            "floor": self.floor,
            "settings": dict(self.settings),
            "tolerance": self.tolerance,
            "soles": [[*key, joint, list(offset)] for key, (joint, offset) in self.soles.items()],
            "contacts": [[*key, spans.tolist(), self.confidence[key]] for key, spans in self.contacts.items()],
            "stances": stances,
            "treadmill": None if self.treadmill is None else _round(self.treadmill),
        }
        return json.dumps(said, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Origin | None:
        """The origin in a text of `to_json`; None if it is something else, or of another version."""
        try:
            said = json.loads(text)
            return _read(said) if said.get(NAME) == VERSION else None
        except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError):
            return None

    def __repr__(self) -> str:
        return f"Origin({len(self.stances)} stances in {self.frames} frames, ground {self.ground}, {self.floor} floor)"


def pivot(point: str, start: int, stop: int, places: Array, tolerance: float) -> Pivot:
    """A pivot that is kept once if it stays within a tolerance of its middle place."""
    middle = places[len(places) // 2]
    stays = bool((np.abs(places - middle) <= tolerance).all())
    return Pivot(point, start, stop, np.array(middle[np.newaxis] if stays else places))


def _round(places: Array) -> list[list[float]]:
    values: list[list[float]] = [[float(f"{value:.9g}") for value in row] for row in places.tolist()]
    return values


def _read(said: dict[str, Any]) -> Origin:
    contacts = {(str(leg), str(point)): _spans(spans) for leg, point, spans, _ in said["contacts"]}
    found = Origin(
        int(said["frames"]),
        str(said["ground"]),
        "ground" if said["floor"] == "ground" else "level",
        {str(name): value for name, value in said["settings"].items()},
        float(said["tolerance"]),
        {(str(leg), str(point)): (str(joint), _three(at)) for leg, point, joint, at in said["soles"]},
        contacts,
        {(str(leg), str(point)): float(sure) for leg, point, _, sure in said["contacts"]},
        tuple(_stance(*each) for each in said["stances"]),
        None if said["treadmill"] is None else _places(said["treadmill"], int(said["frames"])),
    )
    _check(found)
    return found


def _stance(leg: str, level: float, pivots: Iterable[Any]) -> Stance:
    found = []
    for point, start, stop, places in pivots:
        first, last = int(start), int(stop)
        found.append(Pivot(str(point), first, last, _places(places, 1 if len(places) == 1 else last - first)))
    return Stance(str(leg), tuple(found), float(level))


def _spans(values: Any) -> NDArray[np.intp]:
    return np.array(values, np.intp).reshape(-1, 2)


def _places(values: Any, rows: int) -> Array:
    found = np.array(values, np.float64)
    if found.shape != (rows, 3) or not np.isfinite(found).all():
        raise ValueError("places")
    return found


def _three(values: Any) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return x, y, z


def _check(origin: Origin) -> None:
    """Refuse frames out of the clip."""
    spans = [(each.start, each.stop) for stance in origin.stances for each in stance.pivots]
    spans += [tuple(span) for each in origin.contacts.values() for span in each.tolist()]
    if not all(0 <= start < stop <= origin.frames for start, stop in spans):
        raise ValueError("frames")
    if not all(stance.pivots for stance in origin.stances):
        raise ValueError("pivots")
