"""When feet stand on the ground."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import plain, size
from ikcore.clips.clip import Clip
from ikcore.contacts import floor, in_place, rules
from ikcore.contacts.intervals import runs
from ikcore.contacts.tracks import POINTS, Key, Tracks, keys, tracks_of
from ikcore.feet.detect import Feet
from ikcore.feet.thresholds import SHORTEST_STANCE
from ikcore.feet.time_series import straight
from ikcore.grounds.ground import Ground

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Mode = Literal["always", "never", "ground"] | None
_MODES = ("always", "never", "ground", None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contacts:
    """The contacts of points of the soles with the ground, over time. `Contacts.detect` finds them.

    Attributes
    ----------
    fps : float
        Frames a second.
    weights : dict of (str, str) to (frames,) array
        Contact curves by leg and point ("heel" or "ball"): 0 in the air, 1 planted. More than 0.5 counts as contact.
    ground : dict of (str, str) to (frames,) array
        Height of the ground below the points, along the up axis; NaN without ground.
    confidence : dict of (str, str) to float
        The share of frames without doubt: planted ones that are still and low by the measures of a clean clip, and
        others that are clearly not. All legs are in doubt while none is in contact for 0.1 s and the body does not
        fall: a contact has been missed. 1 for contacts that the user has given.
    treadmill : (frames, 3) array
        The horizontal velocity that the root lacks in an in-place clip, in units of length per second. It is the
        opposite of the most frequent velocity of low points of the soles. Zeros if feet stand, the root travels, the
        body moves over a foot that stands exactly, or the ground moves. In clips of 4 s or more it varies over time if
        it changes by more than 10 %.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=3)
    >>> contacts = ik.Contacts.detect(walk.clip)
    >>> contacts.intervals("left", "ball")
    array([[  5,  41],
           [ 70, 105],
           [135, 170]])
    """

    fps: float
    weights: dict[Key, Array]
    ground: dict[Key, Array]
    confidence: dict[Key, float]
    treadmill: Array

    @classmethod
    def detect(
        cls,
        clip: Clip,
        feet: Feet | None = None,
        ground: Ground | None = None,
        *,
        modes: Mode | Mapping[str, Mode] = None,
        curves: Mapping[str | Key, ArrayLike] | None = None,
    ) -> Contacts:
        """Find contacts by how high points of the soles are above the ground and how fast they move relative to it.

        A contact lasts from a frame that is low and still to another one, with none between that is high or fast. Low
        is less than 0.05 m above the lowest level of the point, the 5th percentile of its heights, for a leg of 0.87 m,
        and in proportion for others. Still is slower than 0.12 m/s, or than twice the slowest fifth of what is low, up
        to 1 m/s: feet may slide throughout. High and fast are 1.5 times as much. Speeds are means over 0.033 s before
        and after a frame; their vertical part counts half. After a path was scaled, feet slide by one share of the
        travel of the body and move little otherwise. Speeds are relative to that if the share is 5 % or more.
        Gaps of less than 0.12 s are closed, of a point and of a leg, and contacts of less than 0.067 s dropped. A
        contact extends to an end of the clip if all frames up to there are neither high nor fast and last at least as
        long as a gap. A contact that reaches an end is never dropped.
        Loops go on at their ends. In a clip of one frame low points are in contact.

        Parameters
        ----------
        clip : Clip
        feet : Feet, optional
            Its legs, with soles (default: `Feet.detect(clip.skeleton, clip=clip)`).
        ground : Ground, optional
            The ground, at rest or moving (default: a level floor, at the 5th percentile of the heights of the points).
            The default floor has other heights under a foot that is still and carries the body, as on stairs.
        modes : {None, "always", "never", "ground"} or mapping of str to these, optional
            For all legs, or by leg. None: as above. "always": planted throughout. "never": not at all. "ground": by
            height alone, at any speed.
        curves : mapping, optional
            Known weights, by leg or by leg and point. Shape (frames,): the weight of every frame. Shape (n, 2): times
            from 0, the first frame, to 1, the last one, and weights at these times, with straight lines in between.

        Raises
        ------
        ValueError
            If a leg has no soles, or something is said of a leg that does not exist.

        Examples
        --------
        >>> import ikcore as ik
        >>> walk = ik.samples.walk(seconds=3)
        >>> contacts = ik.Contacts.detect(walk.clip, modes={"right": "never"}, curves={"left": [[0, 1], [1, 0]]})
        >>> contacts.weights["left", "heel"][[0, 90, 180]], bool(contacts.planted("right").any())
        (array([1. , 0.5, 0. ]), False)
        """
        if not isinstance(clip, Clip):
            raise TypeError(f"clip: expected a Clip, got {type(clip).__name__}")
        feet = with_soles(clip, feet)
        chosen, given = _modes(feet, modes), _curves(feet, curves or {}, len(clip))
        found = _Detection(tracks_of(clip, feet, ground), ground is not None)
        names = [key for leg in feet for key in keys(leg)]
        held = found.contact_masks(names, chosen)
        said = [key in given or chosen[key[0]] in ("always", "never") for key in names]
        sure = found.confidence(names, held, said)
        weights = dict(zip(names, rules.ramp_weights(held, clip), strict=True)) | given
        below = {key: found.ground[found.tracks.keys.index(key)] for key in names}
        return cls(clip.fps, weights, below, dict(zip(names, sure, strict=True)), -found.belt + 0)

    def planted(self, leg: str, point: str | None = None) -> Mask:
        """The frames in which a leg is in contact.

        Parameters
        ----------
        leg : str
            The name of the leg.
        point : {"heel", "ball"}, optional
            A point of the sole (default: any).

        Returns
        -------
        (frames,) array of bool
        """
        found = [weights > 0.5 for key, weights in self.weights.items() if leg == key[0] and point in (None, key[1])]
        if not found:
            raise KeyError(f"no such point, {leg!r}, {point!r}; there are {_list_points(self.weights)}")
        planted: Mask = np.logical_or.reduce(found)
        return planted

    def intervals(self, leg: str, point: str | None = None) -> NDArray[np.intp]:
        """The intervals in which a leg is in contact, as `metrics.runs` has them.

        Parameters
        ----------
        leg, point
            As for `planted`.

        Returns
        -------
        (n, 2) array of int
            The first frame of each interval, and the first one after it.
        """
        return runs(self.planted(leg, point))

    def uncertain(self) -> dict[str, float]:
        """The legs whose contacts are as likely wrong as right, and their least confidence: below one half."""
        least: dict[str, float] = {}
        for (leg, _), sure in self.confidence.items():
            least[leg] = min(sure, least.get(leg, 1.0))
        return {leg: sure for leg, sure in least.items() if sure < 0.5}

    @property
    def airborne(self) -> NDArray[np.intp]:
        """The intervals (n, 2) in which no leg is in contact."""
        return runs(~np.any([weights > 0.5 for weights in self.weights.values()], axis=0))

    @property
    def travel(self) -> Array:
        """Displacement that the root of an in-place clip lacks (frames, 3); zeros for other clips."""
        if not self.treadmill.any():
            return np.zeros_like(self.treadmill)
        steps = (self.treadmill[1:] + self.treadmill[:-1]) / (2 * self.fps)
        return np.cumsum(np.concatenate([np.zeros((1, 3)), steps]), axis=0)

    def at_rest(self) -> Contacts:
        """The same contacts for the clip with its root motion added."""
        return Contacts(self.fps, self.weights, self.ground, self.confidence, np.zeros_like(self.treadmill))

    def __repr__(self) -> str:
        frames = len(next(iter(self.weights.values())))
        wide = max(len(" ".join(key)) for key in self.weights)
        lines = [f"Contacts({frames} frame{'s' * (frames != 1)} at {self.fps:g} fps):"]
        for key, sure in self.confidence.items():
            many, share = len(self.intervals(*key)), self.planted(*key).mean()
            lines.append(
                f"  {' '.join(key):{wide}} {many} contact{'s' * (many != 1)}, {share:.0%}, confidence {sure:.0%}"
            )
        if len(self.airborne):
            lines.append(f"  airborne {np.diff(self.airborne).sum() / self.fps:.2f} s")
        if self.treadmill.any():
            lines.append(f"  treadmill, {plain(size(self.treadmill).mean(), 3)} a second are missing")
        return "\n".join(lines)


# --- what is given ---------------------------------------------------------------------------------------------------


def with_soles(clip: Clip, feet: Feet | None) -> Feet:
    """The given feet, or those detected in the clip; a ValueError if they do not fit it or have no soles."""
    if feet is None:
        feet = Feet.detect(clip.skeleton, clip=clip)
    feet.check(clip.skeleton)
    if not len(feet):
        raise ValueError("feet: expected legs, got none")
    for leg in feet:
        if not set(leg.soles) & set(POINTS):
            raise ValueError(
                f"the leg {leg.name!r} has neither heel nor ball: give them, or detect feet with a clip that stands"
            )
    return feet


def _modes(feet: Feet, modes: Mode | Mapping[str, Mode]) -> dict[str, Mode]:
    by_leg: dict[str, Mode] = {leg.name: None if isinstance(modes, Mapping) else modes for leg in feet}
    if isinstance(modes, Mapping):
        if unknown := [name for name in modes if name not in by_leg]:
            raise ValueError(f"modes: no leg is called {unknown[0]!r}; there are {', '.join(by_leg)}")
        by_leg.update(modes)
    for mode in by_leg.values():
        if mode not in _MODES:
            raise ValueError(f"modes: expected some of {', '.join(map(str, _MODES))}, got {mode!r}")
    return by_leg


def _curves(feet: Feet, curves: Mapping[str | Key, ArrayLike], frames: int) -> dict[Key, Array]:
    """Curves by leg and point; a curve of a point has priority over that of its leg."""
    known = {leg.name: keys(leg) for leg in feet}
    points = [key for of_leg in known.values() for key in of_leg]
    whole, single = {}, {}
    for name, curve in curves.items():
        if isinstance(name, str) and name in known:
            whole.update(dict.fromkeys(known[name], _curve(name, curve, frames)))
        elif name in points:
            single[name] = _curve(name, curve, frames)
        else:
            raise ValueError(f"curves: there is no {name!r}; there are {_list_points(points)}, and the legs")
    return whole | single


def _curve(name: str | Key, given: ArrayLike, frames: int) -> Array:
    curve = np.array(given, np.float64)
    if curve.shape != (frames,) and (curve.ndim != 2 or curve.shape[1] != 2 or not len(curve)):
        raise ValueError(
            f"curves: {name!r}: expected shape ({frames},) or (n, 2), times and weights, got {curve.shape}"
        )
    if not ((curve >= 0) & (curve <= 1)).all():
        raise ValueError(f"curves: {name!r}: expected numbers from 0 to 1")
    if curve.ndim == 1:
        return curve
    if (np.diff(curve[:, 0]) < 0).any():
        raise ValueError(f"curves: {name!r}: expected times that ascend")
    return straight(np.arange(frames) / max(frames - 1, 1), curve[:, 0], curve[:, 1])


def _list_points(points: Iterable[Key]) -> str:
    return ", ".join(map(str, points))


# --- detection -------------------------------------------------------------------------------------------------------


class _Detection:
    """Heights and speeds of the tracked points of a clip, and contacts from them.

    Attributes
    ----------
    belt : (frames, 3) array
        The velocity of the ground of an in-place clip.
    ground : (points, frames) array
        How high the ground is under each point.
    still : (points, 1) array
        The speed below which each point is still.
    """

    def __init__(self, tracks: Tracks, given: bool) -> None:
        self.tracks, clip = tracks, tracks.clip
        heights = tracks.heights - rules.lowest_level(tracks, given=given)
        self.belt, slide = in_place.ground_velocity(tracks, heights)
        self.speeds = tracks.speeds(_travel(self.belt, clip))
        slid = tracks.speeds(_travel(self.belt + slide, clip)) if slide.any() else self.speeds
        self.over_ground, self.ground = slid, tracks.ground
        self.still = rules.stillness(slid, heights, tracks.scales)
        if not given:
            raised = floor.elevations(tracks, heights, tracks.speeds(level=False) < self.still)
            up = np.stack([raised[leg] for leg, _ in tracks.keys])
            heights, self.ground = heights - up, tracks.sole_level + up
            self.still = rules.stillness(slid, heights, tracks.scales) if up.any() else self.still
        self.heights = heights

    def contact_masks(self, names: list[Key], modes: Mapping[str, Mode]) -> Mask:
        """The contacts (names, frames): in contact while any point of a contact is down."""
        tracks, by_height = self.tracks, [modes[leg] == "ground" for leg, _ in self.tracks.keys]
        speeds = np.where(np.array(by_height)[:, np.newaxis], 0.0, self.over_ground)
        down = rules.contact_mask(self.heights, speeds, self.still, tracks.scales, tracks.clip)
        found = np.stack([down[tracks.points_of(each)].any(axis=0) for each in names])
        for leg in modes:
            own = [name == leg for name, _ in names]
            found[own] = rules.close_gaps(found[own], tracks.clip)
        if not (finite := np.isfinite(tracks.places)).all():
            found &= finite.all(axis=(0, 2))
        for at, (leg, _) in enumerate(names):
            if modes[leg] in ("always", "never"):
                found[at] = modes[leg] == "always"
        return found

    def confidence(self, names: list[Key], held: Mask, said: list[bool]) -> list[float]:
        """The share of frames of each contact without doubt; 1 for contacts that the caller has given."""
        tracks = self.tracks
        by_point = held[[names.index(key) for key in tracks.keys]]
        sure = rules.certain_frames(by_point, self.heights, self.speeds, tracks.scales)
        clear = np.stack(
            [
                np.where(now, *(both.reduce(sure[tracks.points_of(each)]) for both in (np.logical_or, np.logical_and)))
                for each, now in zip(names, held, strict=True)
            ]
        )
        if not any(said):
            clear &= ~self._missing_contacts(held)
        shares = (clear.sum(axis=1) / held.shape[1]).tolist()
        return [1.0 if known else share for known, share in zip(said, shares, strict=True)]

    def _missing_contacts(self, held: Mask) -> Mask:
        """Frames in which nothing carries a body that does not fall, for 0.1 s or more: a contact is missing."""
        found = np.asarray(~held.any(axis=0))
        for start, stop in runs(found).tolist():
            brief = stop - start < SHORTEST_STANCE * self.tracks.clip.fps
            found[start:stop] = not brief and 2 * np.count_nonzero(self.tracks.falls[start:stop]) < stop - start
        return found


def _travel(velocity: Array, clip: Clip) -> Array | None:
    """Travel of the ground (frames, 3); None for ground at rest."""
    if not velocity.any():
        return None
    steps = (velocity[1:] + velocity[:-1]) / (2 * clip.fps)
    return np.cumsum(np.concatenate([np.zeros((1, 3)), steps]), axis=0)
