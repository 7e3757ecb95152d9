"""When feet stand on the ground."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import dot
from ikcore.clip import Clip
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg
from ikcore.feet.metrics import runs
from ikcore.ground import Ground

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]
Mode = Literal["auto", "always", "never", "ground"]

_POINTS = ("heel", "ball")

# For a leg of this length in metres; for others, metres below scale with it.
_LEG = 0.87
_LOW, _HIGH = 0.05, 0.08  # a contact has a frame below the first height, and none above the second
_UNEVEN = 0.03  # what the floor under a leg may be above that of the clip
_STILL = 0.15  # metres a second, likewise, for what is clearly still; what is twice as fast has left
_STILLEST, _DIRTIEST = 0.05, 0.45  # between these that adapts to the clip
_SWING, _DIRTY = 0.04, 0.12  # or between these shares of how fast the point swings
_STEP, _DEEP = 0.3, 1.0  # how far above a point, and below it, ground is looked for

# Seconds.
_BLUR = 0.044  # half the width of the filter; it has half the power at 8 Hz
_SHORTEST, _GAP, _RAMP = 0.1, 0.067, 0.1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contacts:
    """When points of the soles stand on the ground. `Contacts.detect` finds it.

    Attributes
    ----------
    fps : float
        Frames a second.
    weights : dict of (str, str) to (frames,) array
        By leg and point, "heel" or "ball": from 0, in the air, to 1, planted. More than 0.5 counts as contact.
    ground : dict of (str, str) to (frames,) array
        How high the ground under the points is, along the up axis from 0; NaN where there is none.
    confidence : dict of (str, str) to float
        The share of frames about which there is no doubt: planted ones that are still and low by the measures of a
        clean clip, and others that are clearly not. 1 where the user has said it.
    treadmill : (3,) array
        What `treadmill` finds, the velocity that the root should be given; zeros where nothing is missing.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=3)
    >>> contacts = ik.Contacts.detect(walk.clip)
    >>> contacts.intervals("left", "ball")
    array([[  5,  41],
           [ 70, 106],
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
        modes: Mode | Mapping[str, Mode] = "auto",
        curves: Mapping[str | Key, ArrayLike] | None = None,
    ) -> Contacts:
        """Find contacts by how high points of the soles are above the ground and how fast they move relative to it.

        Both after a low-pass of 8 Hz without delay. A contact lasts from a frame that is low and still to another one,
        with none between that is high or fast. Low is below 0.05 m, high above 0.08 m, for a leg of 0.87 m, and in
        proportion for others. Still is less than 4 % of the speed at which the point swings, which is 0.15 m/s in a
        usual walk, and at least 0.05 m/s; more for feet that slide or shake whenever they are low. Fast is twice that.
        Gaps of less than 0.067 s are closed, then contacts of less than 0.1 s dropped, unless the clip ends there.
        Loops go on at their ends. In a clip of one frame what is low is in contact.

        Parameters
        ----------
        clip : Clip
            The motion.
        feet : Feet, optional
            Its legs, with soles (default: `Feet.detect` of this clip).
        ground : Ground, optional
            What it walks on, at rest or moving (default: a level floor, at the 2nd percentile of the heights of the
            points, and under legs that stand higher up to 0.03 m above that).
        modes : {"auto", "always", "never", "ground"} or mapping of str to these, optional
            For all legs, or by leg: as above; planted throughout; never; or by height alone, however fast.
        curves : mapping, optional
            Weights that are known, by leg or by leg and point, which then count: of every frame, shape (frames,); or
            shape (n, 2), times from 0, the first frame, to 1, the last one, and their weights, straight in between.

        Returns
        -------
        Contacts

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
        feet = _with_soles(clip, feet)
        chosen, given = _modes(feet, modes), _curves(feet, curves or {}, len(clip))
        seen = _Seen(clip, feet, ground)
        belt = seen.belt()
        if ground is None:
            seen.level(belt)
        rules = _Rules(seen, belt)
        weights, confidence = {}, {}
        for at, key in enumerate(seen.keys):
            held, sure = rules.contact(at, chosen[key[0]])
            weights[key] = given[key] if key in given else _ramped(held, clip)
            confidence[key] = 1.0 if key in given else sure
        below = {key: seen.ground[:, at] for at, key in enumerate(seen.keys)}
        return cls(clip.fps, weights, below, confidence, -belt + 0)

    def planted(self, leg: str, point: str | None = None) -> Mask:
        """In which frames a leg is in contact.

        Parameters
        ----------
        leg : str
            Its name.
        point : {"heel", "ball"}, optional
            Of its sole (default: any).

        Returns
        -------
        (frames,) array of bool
        """
        found = [weights > 0.5 for key, weights in self.weights.items() if leg == key[0] and point in (None, key[1])]
        if not found:
            raise KeyError(f"no such point, {leg!r}, {point!r}; there are {_listed(self.weights)}")
        return np.asarray(np.any(found, axis=0))

    def intervals(self, leg: str, point: str | None = None) -> NDArray[np.intp]:
        """The intervals in which a leg is in contact, as `metrics.runs` has them.

        Parameters
        ----------
        leg, point
            As for `planted`.

        Returns
        -------
        (n, 2) array of int
            Of each its first frame, and the first one after it.
        """
        return runs(self.planted(leg, point))

    @property
    def airborne(self) -> NDArray[np.intp]:
        """The intervals (n, 2) in which no leg is in contact."""
        return runs(~np.any([weights > 0.5 for weights in self.weights.values()], axis=0))

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
            lines.append(f"  treadmill, {_size(self.treadmill):.3g} a second are missing")
        return "\n".join(lines)


def treadmill(clip: Clip, feet: Feet | None = None, ground: Ground | None = None) -> Array:
    """The velocity to add to the root of a clip that walks on the spot, so that its feet stand.

    It is the opposite of the one that points of the soles have most when they are low.

    Parameters
    ----------
    clip, feet, ground
        As for `Contacts.detect`.

    Returns
    -------
    (3,) array
        Units of length a second, horizontal; zeros if the root travels, feet stand as it is, or the ground moves.

    Examples
    --------
    >>> import ikcore as ik
    >>> clip = ik.samples.walk(seconds=3, speed=1.2).clip
    >>> treadmill(clip)
    array([0., 0., 0.])
    >>> moved = clip.pose.translations.copy()
    >>> moved[:, 0, 2] -= 1.2 * np.arange(len(clip)) / clip.fps
    >>> there = ik.Clip(clip.skeleton, ik.Pose(clip.pose.rotations, moved), clip.fps)
    >>> treadmill(there).round(2) + 0
    array([0. , 0. , 1.2])
    """
    return -_Seen(clip, _with_soles(clip, feet), ground).belt() + 0


# --- what is given ---------------------------------------------------------------------------------------------------


def _with_soles(clip: Clip, feet: Feet | None) -> Feet:
    if feet is None:
        feet = Feet.detect(clip.skeleton, clip=clip)
    feet.check(clip.skeleton)
    if not len(feet):
        raise ValueError("feet: expected legs, got none")
    for leg in feet:
        if not set(leg.soles) & set(_POINTS):
            raise ValueError(
                f"the leg {leg.name!r} has neither heel nor ball: give them, or detect feet with a clip that stands"
            )
    return feet


def _keys(leg: Leg) -> list[Key]:
    return [(leg.name, point) for point in _POINTS if point in leg.soles]


def _modes(feet: Feet, modes: Mode | Mapping[str, Mode]) -> dict[str, Mode]:
    by_leg: dict[str, Mode] = {leg.name: "auto" if isinstance(modes, Mapping) else modes for leg in feet}
    if isinstance(modes, Mapping):
        if unknown := [name for name in modes if name not in by_leg]:
            raise ValueError(f"modes: no leg is called {unknown[0]!r}; there are {', '.join(by_leg)}")
        by_leg.update(modes)
    for mode in by_leg.values():
        if mode not in get_args(Mode):
            raise ValueError(f"modes: expected some of {', '.join(get_args(Mode))}, got {mode!r}")
    return by_leg


def _curves(feet: Feet, curves: Mapping[str | Key, ArrayLike], frames: int) -> dict[Key, Array]:
    """By leg and point; what is said of a point counts before what is said of its leg."""
    known = {leg.name: _keys(leg) for leg in feet}
    points = [key for keys in known.values() for key in keys]
    whole, single = {}, {}
    for name, curve in curves.items():
        if isinstance(name, str) and name in known:
            whole.update(dict.fromkeys(known[name], _curve(name, curve, frames)))
        elif name in points:
            single[name] = _curve(name, curve, frames)
        else:
            raise ValueError(f"curves: there is no {name!r}; there are {_listed(points)}, and the legs")
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
    return _straight(np.arange(frames) / max(frames - 1, 1), curve[:, 0], curve[:, 1])


def _straight(times: Array, knots: Array, values: Array) -> Array:
    """Between knots, in exact operations, which NumPy's own are not everywhere; beyond them as at the last one."""
    after = np.searchsorted(knots, times, side="right")
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(knots) - 1)
    span = knots[after] - knots[before]
    share = np.clip((times - knots[before]) / np.where(span > 0, span, 1), 0, 1)
    return np.asarray(values[before] + share * (values[after] - values[before]))


def _listed(keys: Iterable[Key]) -> str:
    return ", ".join(map(str, keys))


# --- how high, how fast ----------------------------------------------------------------------------------------------


class _Seen:
    """Points of the soles over time: where they are and how fast, above and relative to the ground."""

    def __init__(self, clip: Clip, feet: Feet, ground: Ground | None) -> None:
        self.clip, self.axis, self.carried = clip, "XYZ".index(clip.up), False
        self.keys = [key for leg in feet for key in _keys(leg)]
        places = feet.positions(clip.skeleton, clip.pose)
        raw = np.stack([places[key] for key in self.keys], axis=1).astype(np.float64)
        joints = np.asarray(clip.skeleton.forward(clip.pose).positions, np.float64)
        self.root = joints[:, np.flatnonzero(clip.skeleton.parents < 0)[0]]
        sizes = {leg.name: _length(clip, leg, joints, places) / _LEG for leg in feet}
        self.sizes = np.array([sizes[leg] for leg, _ in self.keys])
        self.points = _smoothed(raw, clip)
        self.velocities = _velocities(self.points, clip)
        if ground is None:
            self.ground = np.full(raw.shape[:2], _percentile(self.points[..., self.axis], 2))
        else:
            self._stand_on(ground, raw)

    @property
    def heights(self) -> Array:
        """Above the ground; NaN where there is none."""
        return np.asarray(self.points[..., self.axis] - self.ground)

    def speeds(self, belt: Array) -> Array:
        """Relative to ground that moves with this velocity."""
        return np.asarray(_size(self.velocities - belt))

    def level(self, belt: Array) -> None:
        """Raise the floor under legs that stand higher, as captured floors are not level, nor soles known exactly.

        That is at the 10th percentile of the heights of their points in the slowest quarter of their frames.
        """
        speeds, heights = self.speeds(belt), self.heights
        for leg in {leg for leg, _ in self.keys}:
            mine = [at for at, key in enumerate(self.keys) if key[0] == leg]
            slow = [heights[speeds[:, at] <= _percentile(speeds[:, at], 25), at] for at in mine]
            above, most = _percentile(np.concatenate(slow), 10), _UNEVEN * self.sizes[mine[0]]
            self.ground[:, mine] += min(max(above, 0), most)

    def _stand_on(self, ground: Ground, raw: Array) -> None:
        if ground.up != self.clip.up.lower():
            raise ValueError(f"ground: expected {self.clip.up} up as in the clip, got {ground.up!r}")
        surface = ground.at(self.points, above=_STEP * self.sizes, below=_DEEP * self.sizes)
        self.ground = surface.height
        for number, part in enumerate(ground.parts):
            if any(moved is not None and moved.ndim > 1 for moved in (part.rotations, part.translations)):
                self.carried = True
                there = _velocities(_smoothed(part.local(raw), self.clip), self.clip)
                self.velocities = np.where((surface.part == number)[..., np.newaxis], there, self.velocities)

    def belt(self) -> Array:
        """The velocity of the ground under a clip that walks on the spot; none if ground is known to move."""
        still = np.zeros(3)
        flat = self.velocities.copy()
        flat[..., self.axis] = 0
        rising = np.abs(self.velocities[..., self.axis])
        sizes = np.broadcast_to(self.sizes, rising.shape)
        low = (self.heights < _LOW * sizes) & (rising < _STILL * sizes)
        velocities, limit = flat[low], 2 * _STILL * sizes[low]
        if self.carried or not len(velocities):
            return still
        belt = np.median(velocities, axis=0)
        for _ in range(8):  # towards where most of them are
            near = _size(velocities - belt) < limit
            if not near.any():
                return still
            belt = np.median(velocities[near], axis=0)
        travel = (self.root[-1] - self.root[0]) / max(self.clip.duration, 1 / self.clip.fps)
        travel[self.axis] = 0
        speed = _size(belt)
        walks = speed > 2 * _STILL * self.sizes.max() and _size(travel) < speed / 2
        return np.asarray(belt) if walks else still


def _length(clip: Clip, leg: Leg, joints: Array, places: Mapping[Key, Array]) -> float:
    """Of a leg from hip to ankle, or to its tip; the median, as some bones of some files change."""
    chain = [joints[:, clip.skeleton.index(joint)] for joint in (leg.hip, *leg.knees, leg.ankle) if joint]
    if leg.ankle is None:
        chain.append(places[_keys(leg)[-1]])
    total = np.zeros(len(clip))
    for above, below in pairwise(chain):
        total += _size(below - above)
    return _percentile(total, 50)


def _smoothed(points: Array, clip: Clip) -> Array:
    """Through a filter without delay, a kernel (1 - t^2)^2."""
    reach = _BLUR * clip.fps
    most = max(math.ceil(reach) - 1, 0)
    kernel = [(1 - (tap / reach) ** 2) ** 2 for tap in range(-most, most + 1)]
    wide, total = _prolonged(points, most, clip.loop), sum(kernel)
    found = np.zeros_like(points)
    for tap, factor in enumerate(kernel):
        found += wide[tap : tap + len(points)] * (factor / total)
    return found


def _velocities(points: Array, clip: Clip) -> Array:
    wide = _prolonged(points, 1, clip.loop)
    return np.asarray((wide[2:] - wide[:-2]) * (clip.fps / 2))


def _prolonged(points: Array, more: int, loop: bool) -> Array:
    """So many frames more at both ends: a loop goes on from where it has got to, others as if turned about the end."""
    last = len(points) - 1
    if not loop or not last:
        return np.pad(points, ((more, more), (0, 0), (0, 0)), mode="reflect", reflect_type="odd")
    times, frames = np.divmod(np.arange(-more, last + 1 + more), last)
    times[more + last], frames[more + last] = 0, last
    return np.asarray(points[frames] + times[:, np.newaxis, np.newaxis] * (points[last] - points[0]))


def _size(vectors: Array) -> Any:
    return np.sqrt(dot(vectors, vectors))


def _percentile(values: Array, percent: float) -> float:
    known = values[np.isfinite(values)]
    return float(np.percentile(known, percent)) if known.size else math.nan


# --- contact or not --------------------------------------------------------------------------------------------------


class _Rules:
    """Thresholds for every point, and what they say."""

    def __init__(self, seen: _Seen, belt: Array) -> None:
        self.clip = seen.clip
        self.heights = seen.heights / seen.sizes
        self.speeds = seen.speeds(belt) / seen.sizes

    def contact(self, at: int, mode: Mode) -> tuple[Mask, float]:
        """When a point is in contact, and in what share of the frames that is clear."""
        height, speed = self.heights[:, at], self.speeds[:, at]
        if mode in ("always", "never"):
            return np.full(len(height), mode == "always"), 1.0
        if mode == "ground":
            speed = np.zeros_like(speed)
        still = _still(height, speed)
        stays = (height <= _HIGH) & (speed <= 2 * still)
        held = _cleaned(stays, (height < _LOW) & (speed < still), self.clip)
        clear = np.where(held, (height < _LOW) & (speed < _STILL), ~((height <= _HIGH) & (speed <= 2 * _STILL)))
        return held, float(clear.mean())


def _still(height: Array, speed: Array) -> float:
    """The speed below which this point stands, from how fast it swings, and how much it slides when it is low."""
    swing, slide = _percentile(speed, 98), _percentile(speed[height < _LOW], 25)
    least, most = max(_STILLEST, _SWING * swing), max(_DIRTIEST, _DIRTY * swing)
    return min(max(least, 2 * slide), most) if slide > 0 else least


def _cleaned(stays: Mask, enters: Mask, clip: Clip) -> Mask:
    """From the first to the last frame of the second in each run of the first; no short gaps, then no short runs."""
    if clip.loop and len(stays) > 1:
        once = len(stays) - 1
        before_and_after = _cleaned_once(np.tile(stays[:-1], 3), np.tile(enters[:-1], 3), clip.fps)
        return before_and_after[once : 2 * once + 1]
    return _cleaned_once(stays, enters, clip.fps)


def _cleaned_once(stays: Mask, enters: Mask, fps: float) -> Mask:
    entered = [start + np.flatnonzero(enters[start:stop]) for start, stop in runs(stays)]
    held = _filled(len(stays), [(still[0], still[-1] + 1) for still in entered if len(still)])
    held |= _filled(len(stays), _brief(~held, _GAP * fps))
    return held & ~_filled(len(stays), _brief(held, _SHORTEST * fps))


def _brief(mask: Mask, frames: float) -> NDArray[np.intp]:
    """The runs of fewer frames than these, but for those at the ends, which may go on beyond them."""
    found = runs(mask)
    start, stop = found.T
    return np.asarray(found[(start > 0) & (stop < len(mask)) & (stop - start < frames - 1e-6)])  # rounding


def _filled(frames: int, intervals: Iterable[Any]) -> Mask:
    mask = np.zeros(frames, bool)
    for start, stop in intervals:
        mask[start:stop] = True
    return mask


def _ramped(held: Mask, clip: Clip) -> Array:
    """From 0 to 1 within a while about the edges, which are between frames; more than 0.5 in contact."""
    frames = np.arange(len(held)) + 0.5
    edges = np.flatnonzero(held[1:] != held[:-1]) + 1.0
    if clip.loop and len(held) > 1:
        period = len(held) - 1
        edges = np.concatenate([edges - period, edges, edges + period])
    if not len(edges):
        return held.astype(np.float64)
    after = np.searchsorted(edges, frames)
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(edges) - 1)
    away = np.minimum(np.abs(frames - edges[before]), np.abs(frames - edges[after])) / (clip.fps * _RAMP)
    share = np.clip(np.where(held, 0.5 + away, 0.5 - away), 0, 1)
    return np.asarray(share * share * (3 - 2 * share))
