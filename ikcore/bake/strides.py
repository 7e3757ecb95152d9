"""Strides: longer or shorter along the path of a clip, so that feet come down on the treads of stairs.

Who climbs steps takes strides as long as they are deep, or twice that. A walk that was made on a level floor takes its
own: feet come down on edges, some strides climb two steps and others none, and the body surges. Here every footfall is
moved along the path. Of all ways to do so that change no stride by more than is allowed it is the one whose feet stand
best, whose strides rise most evenly, and which changes them least. What a footfall costs depends on it and the one
before alone, so the best way of all is found exactly (R. Bellman, "Dynamic Programming", 1957).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import dot, size
from ikcore.bake.curves import smooth
from ikcore.bake.motion import LegMotion, place_of
from ikcore.bake.scene import Array, Scene, mean, unit
from ikcore.bake.stances import headings
from ikcore.clips.clip import Clip
from ikcore.feet import free
from ikcore.feet.contacts import Contacts
from ikcore.feet.human import FAR, HIGH, STEP, THICK, WHILE
from ikcore.feet.paths import straight
from ikcore.pose import Pose

_SWAY = 0.4  # seconds: what hips do faster is no path
_GRID = 0.02  # metres for a leg of 0.87 m: how finely places along the path are tried
_SLOPES = 0.6  # metres, likewise: the way before a place and after it over which ground has one slope, a path one way
_NOWHERE = 100.0  # so many times as bad is no ground as a foothold that is off one plane by what soles may be thick
_FARTHEST = 10.0  # metres, likewise: as far as strides that add up may lead from where a foot came down


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The way of the body over the ground: how far it has come (frames,), and where it is then (frames, 3), level."""

    gone: Array
    places: Array
    about: float

    def at(self, gone: Array) -> Array:
        """Where it is after so much of its way; straight on beyond its ends."""
        beyond = np.minimum(gone - self.gone[0], 0) + np.maximum(gone - self.gone[-1], 0)
        return np.asarray(straight(gone, self.gone, self.places) + beyond[..., np.newaxis] * self.ahead(gone))

    def ahead(self, gone: Array) -> Array:
        """Which way it goes there."""
        near = np.clip(gone, self.gone[0], self.gone[-1])
        before, after = (straight(near + side * self.about, self.gone, self.places) for side in (-1, 1))
        return unit(after - before)

    def moved(self, points: Array, since: Array, gone: Array) -> Array:
        """Points (n, ..., 3) that go with it from one place on the way to another."""
        turn = rotations.shortest_arc(self.ahead(since), self.ahead(gone))
        more = (slice(None), *(np.newaxis,) * (points.ndim - 2))
        arms = points - self.at(since)[more]
        return np.asarray(self.at(gone)[more] + rotations.rotate(turn[more], arms))


@dataclass(frozen=True, slots=True, eq=False)
class Footfall:
    """A foot that comes down: the middle frame of its contact, how far the body has come then, and its sole there.

    The points (points, 3) are from behind its heel to before its toes.
    """

    frame: int
    gone: float
    sole: Array


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What `fitted` makes.

    Attributes
    ----------
    clip : Clip
        With strides that fit the ground; where they are left, as it came.
    shares : (strides,) array
        How long each is beside what it was; none where they were not looked at.
    slides : float
        How far feet are dragged by that, at most, while they stand: the bake plants them.
    """

    clip: Clip
    shares: Array
    slides: float


def left(clip: Clip) -> Fitted:
    """As it is."""
    return Fitted(clip, np.zeros(0), 0.0)


def fitted(clip: Clip, motions: list[LegMotion], contacts: Contacts, scene: Scene) -> Fitted:
    """Move all footfalls along the path of a clip so that they meet the ground."""
    path, scale = _path(clip, motions, scene), max(motion.scale for motion in motions)
    falls = _footfalls(path, motions, contacts, scene)
    if not falls:
        return left(clip)
    moved, gone = _best(falls, path, scene, scale), np.array([fall.gone for fall in falls])
    long = np.diff(gone) > STEP * scale
    shares = 1 + np.diff(moved)[long] / np.diff(gone)[long]
    if not moved.any():
        return Fitted(clip, shares, 0.0)
    more = _eased(path.gone, gone, np.array([fall.frame for fall in falls]), moved, scene)
    stands = [contacts.intervals(motion.leg.name).tolist() for motion in motions]
    slides = max(float(np.ptp(more[start:stop])) for leg in stands for start, stop in leg)
    return Fitted(_along(clip, path, path.gone + more), shares, slides)


def _path(clip: Clip, motions: list[LegMotion], scene: Scene) -> Path:
    """Of the middle of the hips, without their sway; of feet alone, of the body that goes with them."""
    each = [motion.chain[:, 0] for motion in motions if not motion.leg.free]
    if not each:
        each = [place_of(clip, free.body(clip.skeleton, [motion.leg for motion in motions]))]
    hips = scene.level(mean(np.stack(each)))
    places = smooth(hips, fps=scene.fps, pull=1 / _SWAY**4)
    steps = np.concatenate([np.zeros(1), size(np.diff(places, axis=0))])
    return Path(np.add.accumulate(steps), places, _SLOPES * max(motion.scale for motion in motions))


def _footfalls(path: Path, motions: list[LegMotion], contacts: Contacts, scene: Scene) -> list[Footfall]:
    """Of all legs, in the order of time."""
    found = []
    for at, motion in enumerate(motions):
        for start, stop in contacts.intervals(motion.leg.name).tolist():
            frame = (start + stop - 1) // 2
            found.append((frame, at, Footfall(frame, float(path.gone[frame]), _sole(motion, frame, scene))))
    return [fall for _, _, fall in sorted(found, key=lambda each: each[:2])]


def _sole(motion: LegMotion, frame: int, scene: Scene) -> Array:
    """From behind the heel to before the toes; of a foot without a length its point."""
    here = slice(frame, frame + 1)
    points = [at[frame] for name, at in motion.soles.items() if name != "joint"]
    ahead = headings(motion, here, scene)
    if ahead is None:
        return np.stack(points)
    way = unit(ahead)[0]
    points.sort(key=lambda point: float(dot(point, way)))
    room = THICK * motion.scale * way
    return np.stack([points[0] - room, *points, points[-1] + room])


# --- where feet could come down --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """How high the ground is along a path, at places that are a step apart."""

    begin: float
    step: float
    heights: Array

    def at(self, gone: Array) -> Array:
        """Its height there."""
        places = np.floor((gone - self.begin) / self.step + 0.5).astype(np.intp)
        return np.asarray(self.heights[np.clip(places, 0, len(self.heights) - 1)])

    def slope(self, gone: Array, about: float) -> Array:
        """By how much its mean after a place is higher than its mean before, over the way between the two."""
        many = max(1, round(about / self.step))
        wide = np.concatenate([self.heights[:1].repeat(many), self.heights, self.heights[-1:].repeat(many)])
        total = np.add.accumulate(np.concatenate([np.zeros(1), wide - wide[0]]))
        middle = np.arange(len(self.heights)) + many
        rise = (total[middle + many] - total[middle]) - (total[middle] - total[middle - many])
        places = np.floor((gone - self.begin) / self.step + 0.5).astype(np.intp)
        return np.asarray(rise[np.clip(places, 0, len(rise) - 1)] / (many * many * self.step))


def _profile(path: Path, low: float, high: float, height: float, scene: Scene, scale: float) -> Profile:
    """As one walks there, from a height: of floors above one another the one that is reached."""
    step = _GRID * scale
    gone = np.asarray(low + step * np.arange(int((high - low) / step) + 2), np.float64)
    points, heights = path.at(gone), np.empty(len(gone))
    windows = [(HIGH * scale, np.inf), (np.inf, 0.0)]
    for at, point in enumerate(points):
        for above, below in windows:
            point[scene.axis] = height
            found = float(scene.ground.at(point, above=min(above, FAR * scale), below=below).height)
            if np.isfinite(found):
                height, windows = found, [(HIGH * scale, HIGH * scale)]
                break
        heights[at] = height
    return Profile(low, step, heights)


def _best(falls: list[Footfall], path: Path, scene: Scene, scale: float) -> Array:
    """By how much each footfall is moved along the path."""
    share, step = scene.settings.stride, _GRID * scale
    last = falls[-1].gone
    most = int(min(share * last, _FARTHEST * scale) / step)
    each = np.asarray(step * np.arange(-most, most + 1), np.float64)
    floor = min(float(fall.sole[:, scene.axis].min()) for fall in falls)
    around = 2 * _SLOPES * scale
    profile = _profile(path, -around, (1 + share) * last + around, floor, scene, scale)
    cost, chosen = np.where(each == 0, 0.0, np.inf), []
    before, heights = 0.0, profile.at(each)
    for fall in falls:
        stand, above = _stands(fall, each, path, profile, scene, scale)
        cost, come = _came(cost, heights, above, fall.gone - before, fall.gone + each, profile, share, scale)
        cost = cost + stand
        chosen.append(come)
        before, heights = fall.gone, above
    at, found = int(np.argmin(cost)), []
    for come in reversed(chosen):
        found.append(float(each[at]))
        at -= int(come[at])
    return np.array(found[::-1])


def _stands(
    fall: Footfall, each: Array, path: Path, profile: Profile, scene: Scene, scale: float
) -> tuple[Array, Array]:
    """How badly a foot stands where it is moved by each, and how high."""
    since = np.full(len(each), fall.gone)
    points = path.moved(np.broadcast_to(scene.level(fall.sole), (len(each), *fall.sole.shape)), since, since + each)
    points[..., scene.axis] = profile.at(since + each)[:, np.newaxis]
    under = scene.ground.at(points, above=HIGH * scale, below=HIGH * scale, workers=scene.workers)
    heights = np.where(under.hit, under.height, points[..., scene.axis])
    along = size(scene.level(fall.sole - fall.sole[0]))
    off = _off_line(along, heights) / (THICK * scale * THICK * scale)
    return 0.25 * (off + _NOWHERE * ~under.hit.all(axis=1)), np.asarray(heights.max(axis=1))


def _off_line(along: Array, heights: Array) -> Array:
    """The mean square of how far heights (n, points) are from the line that fits them."""
    centred, rest = along - _mean(along), heights - _mean(heights)[:, np.newaxis]
    spread = float(_mean(centred * centred))
    slope = _mean(rest * centred) / (spread or 1.0)
    rest -= slope[:, np.newaxis] * centred
    return _mean(rest * rest)


def _mean(values: Array) -> Array:
    """Over the last axis, in written order."""
    return np.asarray(np.add.accumulate(values, axis=-1)[..., -1] / values.shape[-1])


def _came(
    cost: Array,
    before: Array,
    heights: Array,
    stride: float,
    gone: Array,
    profile: Profile,
    share: float,
    scale: float,
) -> tuple[Array, NDArray[np.intp]]:
    """The least cost to come to each place, and by how many places more than the footfall before it is moved.

    A surge of a step is as bad as a stride that is half as long again, and so is a foothold that is off by soles.
    """
    step, many = profile.step, len(cost)
    most = int(share * stride / step) if stride > STEP * scale else 0
    slope = profile.slope(gone, _SLOPES * scale)
    least, come = np.full(many, np.inf), np.zeros(many, np.intp)
    for more in _nearest_first(most):
        to, since = slice(max(more, 0), many + min(more, 0)), slice(max(-more, 0), many - max(more, 0))
        longer = more * step
        surge = (heights[to] - before[since] - slope[to] * (stride + longer)) / (STEP * scale)
        changed = longer / stride if most else 0.0
        found = cost[since] + changed * changed + 0.25 * surge * surge * bool(most)
        better = found < least[to]
        least[to] = np.where(better, found, least[to])
        come[to] = np.where(better, more, come[to])
    return least, come


def _nearest_first(most: int) -> Iterator[int]:
    """0, 1, -1, 2, ...: of what is as good the first one counts, so strides stay as they are."""
    yield 0
    for more in range(1, most + 1):
        yield from (more, -more)


# --- the clip on its new way -----------------------------------------------------------------------------------------


def _eased(path: Array, gone: Array, frames: NDArray[np.intp], moved: Array, scene: Scene) -> Array:
    """By how much the body is moved along its path, frame by frame: exactly so much where feet stand."""
    wanted = straight(path, np.concatenate([path[:1], gone]), np.concatenate([np.zeros(1), moved]))
    pinned = np.full((2, len(path)), np.inf)
    pinned[0] = -np.inf
    pinned[:, frames] = moved
    return smooth(wanted, fps=scene.fps, pull=1 / WHILE**4, lower=pinned[0], upper=pinned[1])


def _along(clip: Clip, path: Path, gone: Array) -> Clip:
    """With its roots as far along the path, and turned with it."""
    roots, shape = np.flatnonzero(clip.skeleton.parents < 0), (len(clip), len(clip.skeleton), 3)
    turned, moved = clip.pose.rotations.copy(), clip.pose.translations
    moved = np.array(np.broadcast_to(clip.skeleton.offsets if moved is None else moved, shape), turned.dtype)
    turn = rotations.shortest_arc(path.ahead(path.gone), path.ahead(gone))
    for root in roots:
        turned[:, root] = rotations.multiply(turn, turned[:, root])
        moved[:, root] = path.moved(moved[:, root].astype(np.float64), path.gone, gone)
    return dataclasses.replace(clip, pose=Pose(turned, moved, clip.pose.scales))
