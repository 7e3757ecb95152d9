"""Fit step lengths to stairs, so that feet land on the treads.

A person on stairs takes steps as long as one tread, or two. A walk made on a level floor keeps its own step length:
feet land on edges, some strides climb two steps and others none, and the body surges. Here every footfall is moved
along the path of the body. Strides change by at most the allowed share. The best choice is found exactly by dynamic
programming, because the cost of a footfall depends only on itself and the one before (R. Bellman, "Dynamic
Programming", 1957).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import dot, path_lengths, size
from ikcore.clips.clip import Clip
from ikcore.clips.smoothing import smooth
from ikcore.contacts.contacts import Contacts
from ikcore.feet import free_feet
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg
from ikcore.feet.soles import points_and_joints
from ikcore.feet.thresholds import FAR_WINDOW, HIGH_WINDOW, LEG_LENGTH, SMOOTHING_TIME, SOLES_UNCERTAINTY, STEP_HEIGHT
from ikcore.feet.time_series import straight
from ikcore.grounds.ground import Ground
from ikcore.pose import Pose

Array = NDArray[np.float64]

# Lengths in metres for a leg of 0.87 m; they scale with leg length.
_SWAY_TIME = 0.4  # s: faster motion of the hips is no part of the path
_GRID = 0.02  # m between the places along the path that are tried
_SLOPE_RANGE = 0.6  # m before and after a place over which the slope of ground and path is measured
_NO_GROUND_COST = 100.0  # of a point without ground, relative to one that is a sole's thickness off the plane
_MAX_TOTAL_SHIFT = 10.0  # m that all changes together may move a footfall


@dataclass(frozen=True, slots=True, eq=False)
class FittedStrides:
    """The result of `fit_strides`.

    Attributes
    ----------
    clip : Clip
        The clip with the new step lengths; the given object if none changed.
    shares : (strides,) array
        The new length of each stride relative to the old one.
    drag : float
        Largest distance in metres by which planted feet slide in the new clip, for a leg of 0.87 m. Add it to `unlock`
        of the settings, so that the bake plants these feet again.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=3).clip
    >>> fitted = fit_strides(walk, ik.Contacts.detect(walk), ik.Ground.plane())
    >>> fitted.clip is walk  # a plane needs no other strides
    True
    """

    clip: Clip
    shares: Array
    drag: float


def fit_strides(
    clip: Clip,
    contacts: Contacts,
    ground: Ground,
    *,
    feet: Feet | None = None,
    share: float = 0.4,
    workers: int | None = 1,
) -> FittedStrides:
    """Lengthen or shorten strides along the path of a clip, so that feet land flat and every stride climbs as much.

    A loop, a ground that moves and a share out of range raise a ValueError.

    Parameters
    ----------
    clip : Clip
        The motion, made on a level floor, with root motion. No loop.
    contacts : Contacts
        Its contacts.
    ground : Ground
        The ground, at rest.
    feet : Feet, optional
        Its legs (default: `Feet.detect(clip.skeleton, clip=clip)`).
    share : float, default: 0.4
        Largest change of a stride, as share of its length, 0 to 0.9. 0.4 suits most stairs.
    workers : int or None, optional
        Threads, None for all cores.

    Examples
    --------
    >>> import ikcore as ik
    >>> walk = ik.samples.walk(seconds=4).clip
    >>> stairs = ik.Ground.plane() + ik.terrain.stairs(8, rise=0.15, run=0.35).moved(translations=[0, 0, 1.2])
    >>> fitted = fit_strides(walk, ik.Contacts.detect(walk), stairs)
    >>> bool((abs(fitted.shares - 1) <= 0.4).all()), fitted.clip is walk
    (True, False)
    """
    if clip.loop:
        raise ValueError("clip: expected no loop, whose end would move away from its start; got one")
    if ground.moves:
        raise ValueError("ground: expected one at rest, got one that moves")
    if not 0 <= share <= 0.9:
        raise ValueError(f"share: expected 0 to 0.9, got {share!r}")
    feet = Feet.detect(clip.skeleton, clip=clip) if feet is None else feet
    legs = _legs(clip, feet)
    course = _Course(ground, "XYZ".index(clip.up), max(leg.scale for leg in legs), share, workers)
    path = _path(clip, legs, course)
    falls = _footfalls(path, legs, contacts, course)
    if not falls or not share:
        return FittedStrides(clip, np.zeros(0), 0.0)
    shifts, travelled = _best_shifts(falls, path, course), np.array([fall.travelled for fall in falls])
    long = np.diff(travelled) > STEP_HEIGHT * course.scale
    shares = 1 + np.diff(shifts)[long] / np.diff(travelled)[long]
    if not shifts.any():
        return FittedStrides(clip, shares, 0.0)
    more = _body_shift(path, travelled, np.array([fall.frame for fall in falls]), shifts, clip.fps)
    stances = [contacts.intervals(leg.name).tolist() for leg in legs]
    drag = max(float(np.ptp(more[start:stop])) for each in stances for start, stop in each)
    moved = _move_along(clip, path, path.travelled + more)
    return FittedStrides(moved, shares, drag / min(leg.scale for leg in legs))


class _Leg(NamedTuple):
    """The hip over time (frames, 3), and the sole points (frames, points, 3), the tip and the back of the foot."""

    name: str
    hip: Array
    sole: Array
    ends: tuple[Array, Array] | None  # front and back
    scale: float


class _Course(NamedTuple):
    """The path and the ground that strides are fitted to."""

    ground: Ground
    axis: int
    scale: float
    share: float
    workers: int | None

    def level(self, vectors: Array) -> Array:
        """Vectors without their height."""
        flat = vectors.copy()
        flat[..., self.axis] = 0
        return flat


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The path of the body over the ground: distance travelled (frames,), and level positions (frames, 3)."""

    travelled: Array
    places: Array
    about: float

    def at(self, travelled: Array) -> Array:
        """The position after a distance; straight on beyond the ends."""
        beyond = np.minimum(travelled - self.travelled[0], 0) + np.maximum(travelled - self.travelled[-1], 0)
        return np.asarray(
            straight(travelled, self.travelled, self.places) + beyond[..., np.newaxis] * self.ahead(travelled)
        )

    def ahead(self, travelled: Array) -> Array:
        """The direction there."""
        near = np.clip(travelled, self.travelled[0], self.travelled[-1])
        before, after = (straight(near + side * self.about, self.travelled, self.places) for side in (-1, 1))
        return _unit(after - before)

    def carry(self, points: Array, since: Array, to: Array) -> Array:
        """Points (n, ..., 3) carried with the body from one distance to another."""
        turn = rotations.shortest_arc(self.ahead(since), self.ahead(to))
        more = (slice(None), *(np.newaxis,) * (points.ndim - 2))
        arms = points - self.at(since)[more]
        return np.asarray(self.at(to)[more] + rotations.rotate(turn[more], arms))


class _Footfall(NamedTuple):
    """The middle frame of a contact, the distance travelled then, and the sole points there, from back to front."""

    frame: int
    travelled: float
    sole: Array


def _legs(clip: Clip, feet: Feet) -> list[_Leg]:
    return [_leg(clip, leg, feet) for leg in feet]


def _leg(clip: Clip, leg: Leg, feet: Feet) -> _Leg:
    skeleton = clip.skeleton
    ends = [leg.ball] if leg.ankle and leg.ball and leg.ball != leg.ankle else []
    body = free_feet.hips(skeleton, feet)[:1] if leg.free else [leg.bones[0]]
    sole, joints = points_and_joints(skeleton, clip.pose, leg.soles.values(), [*body, *leg.bones, *ends])
    named = {name: sole[:, at] for at, name in enumerate(leg.soles)}
    bend = joints[:, -1] if ends else named.get("ball")
    front = named.get("toe", bend)
    back = named.get("heel", joints[:, len(leg.bones)] if leg.ankle else None)
    pair = (front, back) if front is not None and back is not None and front is not back else None
    bones = joints[:, 1 : 1 + len(leg.bones)]
    if leg.free:
        length = free_feet.length_in(clip, leg)
    else:
        chain = bones if leg.ankle else np.concatenate([bones, named["ball"][:, np.newaxis]], axis=1)
        length = float(np.sort(path_lengths(chain))[len(chain) // 2])
    return _Leg(leg.name, joints[:, 0], sole, pair, length / LEG_LENGTH)


def _path(clip: Clip, legs: list[_Leg], course: _Course) -> _Path:
    """The path of the middle of the hips, without their sway."""
    middle = np.add.accumulate(np.stack([leg.hip for leg in legs]))[-1] / len(legs)
    places = smooth(course.level(middle), fps=clip.fps, pull=1 / _SWAY_TIME**4).values
    steps = np.concatenate([np.zeros(1), size(np.diff(places, axis=0))])
    return _Path(np.add.accumulate(steps), places, _SLOPE_RANGE * course.scale)


def _footfalls(path: _Path, legs: list[_Leg], contacts: Contacts, course: _Course) -> list[_Footfall]:
    """The footfalls of all legs, by time."""
    found = []
    for at, leg in enumerate(legs):
        for start, stop in contacts.intervals(leg.name).tolist():
            frame = (start + stop - 1) // 2
            found.append((frame, at, _Footfall(frame, float(path.travelled[frame]), _sole(leg, frame, course))))
    return [fall for _, _, fall in sorted(found, key=lambda each: each[:2])]


def _sole(leg: _Leg, frame: int, course: _Course) -> Array:
    """The sole from a little behind the heel to a little before the toes; a foot without length is a point."""
    points = list(leg.sole[frame])
    if leg.ends is None:
        return np.stack(points)
    way = _unit(course.level(leg.ends[0][frame] - leg.ends[1][frame]))
    points.sort(key=lambda point: float(dot(point, way)))
    room = SOLES_UNCERTAINTY * leg.scale * way
    return np.stack([points[0] - room, *points, points[-1] + room])


# --- places where feet could land ------------------------------------------------------------------------------------


class _Profile(NamedTuple):
    """Heights of the ground along the path, `step` apart, from distance `begin` on."""

    begin: float
    step: float
    heights: Array

    def at(self, travelled: Array) -> Array:
        places = np.floor((travelled - self.begin) / self.step + 0.5).astype(np.intp)
        return np.asarray(self.heights[np.clip(places, 0, len(self.heights) - 1)])

    def slope(self, travelled: Array, about: float) -> Array:
        """Mean height after a place minus mean height before it, over the distance of the two."""
        many = max(1, round(about / self.step))
        wide = np.concatenate([self.heights[:1].repeat(many), self.heights, self.heights[-1:].repeat(many)])
        total = np.add.accumulate(np.concatenate([np.zeros(1), wide - wide[0]]))
        middle = np.arange(len(self.heights)) + many
        rise = (total[middle + many] - total[middle]) - (total[middle] - total[middle - many])
        places = np.floor((travelled - self.begin) / self.step + 0.5).astype(np.intp)
        return np.asarray(rise[np.clip(places, 0, len(rise) - 1)] / (many * many * self.step))


def _profile(path: _Path, low: float, high: float, height: float, course: _Course) -> _Profile:
    """The ground as one walks along it from a height: of floors above one another the one that is reached."""
    step = _GRID * course.scale
    travelled = np.asarray(low + step * np.arange(int((high - low) / step) + 2), np.float64)
    points, heights = path.at(travelled), np.empty(len(travelled))
    windows = [(HIGH_WINDOW * course.scale, math.inf), (math.inf, 0.0)]
    for at, point in enumerate(points):
        for above, below in windows:
            point[course.axis] = height
            found = float(course.ground.at(point, above=min(above, FAR_WINDOW * course.scale), below=below).height)
            if math.isfinite(found):
                height, windows = found, [(HIGH_WINDOW * course.scale, HIGH_WINDOW * course.scale)]
                break
        heights[at] = height
    return _Profile(low, step, heights)


def _best_shifts(falls: list[_Footfall], path: _Path, course: _Course) -> Array:
    """How far each footfall is moved along the path."""
    share, step = course.share, _GRID * course.scale
    last = falls[-1].travelled
    most = int(min(share * last, _MAX_TOTAL_SHIFT * course.scale) / step)
    each = np.asarray(step * np.arange(-most, most + 1), np.float64)
    floor = min(float(fall.sole[:, course.axis].min()) for fall in falls)
    around = 2 * _SLOPE_RANGE * course.scale
    profile = _profile(path, -around, (1 + share) * last + around, floor, course)
    cost, chosen = np.where(each == 0, 0.0, np.inf), []
    before, heights = 0.0, profile.at(each)
    for fall in falls:
        stand, above = _landing_cost(fall, each, path, profile, course)
        cost, change = _stride_cost(
            cost, heights, above, fall.travelled - before, fall.travelled + each, profile, course
        )
        cost = cost + stand
        chosen.append(change)
        before, heights = fall.travelled, above
    at, found = int(np.argmin(cost)), []
    for change in reversed(chosen):
        found.append(float(each[at]))
        at -= int(change[at])
    return np.array(found[::-1])


def _landing_cost(fall: _Footfall, each: Array, path: _Path, profile: _Profile, course: _Course) -> tuple[Array, Array]:
    """Cost of a foot's contact with the ground, and its height, moved by each distance."""
    since = np.full(len(each), fall.travelled)
    points = path.carry(np.broadcast_to(course.level(fall.sole), (len(each), *fall.sole.shape)), since, since + each)
    points[..., course.axis] = profile.at(since + each)[:, np.newaxis]
    reach = HIGH_WINDOW * course.scale
    under = course.ground.at(points, above=reach, below=reach, workers=course.workers)
    heights = np.where(under.hit, under.height, points[..., course.axis])
    along = size(course.level(fall.sole - fall.sole[0]))
    off = _line_error(along, heights) / (SOLES_UNCERTAINTY * course.scale * SOLES_UNCERTAINTY * course.scale)
    return 0.25 * (off + _NO_GROUND_COST * ~under.hit.all(axis=1)), np.asarray(heights.max(axis=1))


def _line_error(along: Array, heights: Array) -> Array:
    """Mean square distance of heights (n, points) from the line that fits them."""
    centred, rest = along - _mean(along), heights - _mean(heights)[:, np.newaxis]
    spread = float(_mean(centred * centred))
    slope = _mean(rest * centred) / (spread or 1.0)
    rest -= slope[:, np.newaxis] * centred
    return _mean(rest * rest)


def _stride_cost(
    cost: Array, before: Array, heights: Array, stride: float, travelled: Array, profile: _Profile, course: _Course
) -> tuple[Array, NDArray[np.intp]]:
    """The least cost to come to each place, and by how many places more than the footfall before it is moved.

    A surge of one step costs as much as a stride that is half as long again.
    """
    step, many = profile.step, len(cost)
    most = int(course.share * stride / step) if stride > STEP_HEIGHT * course.scale else 0
    slope = profile.slope(travelled, _SLOPE_RANGE * course.scale)
    least, change = np.full(many, np.inf), np.zeros(many, np.intp)
    for more in _nearest_first(most):
        to, since = slice(max(more, 0), many + min(more, 0)), slice(max(-more, 0), many - max(more, 0))
        longer = more * step
        surge = (heights[to] - before[since] - slope[to] * (stride + longer)) / (STEP_HEIGHT * course.scale)
        changed = longer / stride if most else 0.0
        found = cost[since] + changed * changed + 0.25 * surge * surge * bool(most)
        better = found < least[to]
        least[to] = np.where(better, found, least[to])
        change[to] = np.where(better, more, change[to])
    return least, change


def _nearest_first(most: int) -> Iterator[int]:
    """0, 1, -1, 2, ...: the first of equally good choices counts, so strides stay as they are."""
    yield 0
    for more in range(1, most + 1):
        yield from (more, -more)


# --- the clip with new strides ---------------------------------------------------------------------------------------


def _body_shift(path: _Path, travelled: Array, frames: NDArray[np.intp], shifts: Array, fps: float) -> Array:
    """How far the body is moved along its path in each frame: exactly as its footfalls in their middle frames."""
    wanted = straight(
        path.travelled, np.concatenate([path.travelled[:1], travelled]), np.concatenate([np.zeros(1), shifts])
    )
    low, high = np.full((2, len(wanted)), np.inf)
    low = -low
    low[frames] = high[frames] = shifts
    return smooth(wanted, fps=fps, pull=1 / SMOOTHING_TIME**4, lower=low, upper=high).values


def _move_along(clip: Clip, path: _Path, travelled: Array) -> Clip:
    """Roots moved along the path, and turned with it."""
    shape = (len(clip), len(clip.skeleton), 3)
    turned, moved = clip.pose.rotations.copy(), clip.pose.translations
    moved = np.array(np.broadcast_to(clip.skeleton.offsets if moved is None else moved, shape), turned.dtype)
    turn = rotations.shortest_arc(path.ahead(path.travelled), path.ahead(travelled))
    for root in np.flatnonzero(clip.skeleton.parents < 0):
        turned[:, root] = rotations.multiply(turn, turned[:, root])
        moved[:, root] = path.carry(moved[:, root].astype(np.float64), path.travelled, travelled)
    return dataclasses.replace(clip, pose=Pose(turned, moved, clip.pose.scales))


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.where((length := size(vectors)) > 0, length, 1)[..., np.newaxis])


def _mean(values: Array) -> Array:
    """Over the last axis, summed in order, so that the bits are the same everywhere."""
    return np.asarray(np.add.accumulate(values, axis=-1)[..., -1] / values.shape[-1])
