"""Measures of a grounded clip for protocols.py, from their definitions alone: `ikcore.feet` is not used.

Units are metres, Y is up. Arrays have axes (frames, legs, ...). Contacts are those of the source, and are not detected
again in a result. A measure "beyond source" subtracts that of the source on its own floor, y = 0.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]
UP = np.array([0.0, 1.0, 0.0])
WINDOW = 1 / 30  # seconds over which derivatives are taken
LOW, SLOW, HYSTERESIS, SHORTEST = 0.06, 0.12, 1.25, 0.1  # contact label: leg lengths, leg lengths per second, factor, s
HEEL, TOE = (
    0.3,
    0.35,
)  # heel behind the ankle, toe ahead of the ball, relative to the horizontal distance from ankle to ball
THICK = 0.06  # leg lengths: largest sole offset below the lowest joint of a flat foot
HIGH_ANKLE = 0.25  # leg lengths: a higher ankle in stance is a hock, and the foot has no heel
REACH = 1e-4  # relative to the leg length: tolerance of its extension

FLAT, GENTLE, STAIRS = "flat", "gentle", "stairs"

# Bound of every measure on flat ground, on ramps to 20 degrees, bumps and low stairs, and on stairs of 0.2 x 0.3 m.
# None is only reported.
BOUNDS: dict[str, tuple[float | None, float | None, float | None]] = {
    "stance drift p95, mm": (2, 2, 2),
    "stance drift on the ground p95, mm": (2, 2, 2),
    "flat foot: heel and ball drift p95, mm": (None, None, None),
    "penetration in contact p95, mm": (5, 5, 5),
    "penetration in swing max, mm": (10, 10, 10),
    "float in contact p95, mm": (10, 10, 10),
    "sole angle p95, degrees": (5, 5, 5),
    "skate ratio above source": (0.02, 0.02, 0.02),
    "heading drift p95, degrees": (3, 3, 3),
    "reach violations": (0, 0, 0),
    "knee flips": (0, 0, 0),
    "knee pops": (0, 0, None),
    "knee acceleration p99 ratio": (1.5, 2, None),
    "ankle jerk ratio": (1.15, 1.5, None),
    "pelvis jerk ratio": (1.15, 1.15, None),
    "swing lift lost, median": (0.3, 0.3, 0.3),
    "root path off, legs": (0.1, 0.1, 0.1),
    "bone length error": (1e-4, 1e-4, 1e-4),
    "knee straightness lost, degrees": (2, None, None),
    "pelvis lowered beyond its feet p95, mm": (5, None, None),
}


@dataclass(frozen=True, eq=False)
class Point:
    """A point fixed to a joint, in the joint's space."""

    joint: str
    offset: Array


Place = str | Point  # a joint, or a point fixed to one


@dataclass(frozen=True)
class Names:
    """The joints of a leg. Without a ball it stands on its ankle; without a toe, the toe is ahead of the ball."""

    name: str
    hip: str
    knee: str
    ankle: Place
    ball: str | None
    toe: str | None

    @property
    def foot(self) -> Place:
        """The joint that is low and slow in stance."""
        return self.ball or self.ankle


class Motion:
    """Positions of the legs of a clip, frame by frame."""

    def __init__(self, clip: ik.Clip, legs: list[Names]) -> None:
        self.clip, self.legs, self.fps = clip, legs, clip.fps
        world = clip.skeleton.forward(clip.pose)
        self._positions, self._rotations = np.asarray(world.positions), np.asarray(world.rotations)
        self.hip, self.knee, self.ankle, self.foot = (
            np.stack([self.at(getattr(leg, joint)) for leg in legs], axis=1)
            for joint in ("hip", "knee", "ankle", "foot")
        )
        self.pelvis = self.hip.mean(axis=1)

    def __len__(self) -> int:
        return len(self.clip)

    def at(self, place: Place) -> Array:
        """Positions of a joint or a point (frames, 3)."""
        if isinstance(place, Point):
            return self.at(place.joint) + self.turned(place.joint, place.offset)
        return self._positions[:, self.clip.skeleton.index(place)]

    def turned(self, joint: str, vector: Array) -> Array:
        """A vector of a joint's space in the world (frames, 3)."""
        return ik.rotations.rotate(self._rotations[:, self.clip.skeleton.index(joint)], vector)

    def parent(self, joint: str) -> str:
        """The parent of a joint."""
        skeleton = self.clip.skeleton
        return skeleton.names[skeleton.parents[skeleton.index(joint)]]

    def seen_from(self, joint: str, vectors: Array) -> Array:
        """World vectors (frames, 3) in a joint's space."""
        return ik.rotations.rotate(ik.rotations.conjugate(self._rotations[:, self.clip.skeleton.index(joint)]), vectors)

    def carried(self, joint: str, places: Array, frames: Array | slice = slice(None)) -> Point:
        """The point of a joint at these positions (frames, 3): the median over some frames."""
        return Point(joint, middle(self.seen_from(joint, places - self.at(joint))[frames]))

    @property
    def bones(self) -> Array:
        """The lengths of thigh, shin and, if there is a ball, foot (frames, legs, 3)."""
        return np.stack(
            [size(b - a) for a, b in ((self.hip, self.knee), (self.knee, self.ankle), (self.ankle, self.foot))], -1
        )

    @property
    def length(self) -> Array:
        """Length of every leg, hip to ankle (legs,)."""
        return np.median(self.bones[..., :2].sum(-1), axis=0)

    @property
    def knee_angle(self) -> Array:
        """Degrees, 180 is straight."""
        return degrees(self.hip - self.knee, self.ankle - self.knee)


def through_bvh(clip: ik.Clip) -> ik.Clip:
    """The clip after writing and reading."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.bvh"
        clip.write(path)
        return ik.Clip.read(path, up=clip.up, unit=clip.unit)


# --- soles -----------------------------------------------------------------------------------------------------------


class Soles:
    """Heel, ball and toe of every leg, or only its tip, and their heights when the source stands flat.

    Points are where the foot touches its own floor, below the joints. The heel is fixed to the foot, ball and toe to
    the toes. A joint may be still while the point below it slides, because the foot rolls.
    """

    def __init__(self, source: Motion, flat: Array) -> None:
        self.points: list[list[Point]] = []
        self.normals: list[Point] = []
        for at, leg in enumerate(source.legs):
            frames = flat[:, at] if flat[:, at].any() else source.foot[:, at, 1] <= source.foot[:, at, 1].min() + 1e-3
            self.points.append([source.carried(joint, place, frames) for joint, place in _places(source, at, frames)])
            carrier = joint_of(leg.ankle)
            upward = source.seen_from(carrier, np.tile(UP, (len(source), 1)))
            self.normals.append(Point(carrier, middle(upward[frames])))
        heights = self.positions(source)[..., 1]
        self.zero = np.stack(
            [middle(heights[on, leg] if on.any() else heights[:, leg]) for leg, on in enumerate(flat.T)]
        )

    def positions(self, motion: Motion) -> Array:
        """World positions (frames, legs, points, 3)."""
        return np.stack([np.stack([motion.at(point) for point in leg], axis=1) for leg in self.points], axis=1)

    def up(self, motion: Motion) -> Array:
        """The normals of the soles (frames, legs, 3)."""
        return np.stack([motion.turned(normal.joint, normal.offset) for normal in self.normals], axis=1)


def _places(source: Motion, at: int, frames: Array) -> list[tuple[str, Array]]:
    """The points of a sole, on the floor below a flat foot, and the joints to which they are fixed.

    For a paw it is the joint itself: paws roll, and no clip defines their soles.
    """
    leg, ankle, ball = source.legs[at], source.ankle[:, at], source.foot[:, at]
    if leg.ball is None or np.median(ankle[frames, 1] - ball[frames, 1]) > HIGH_ANKLE * source.length[at]:
        return [(joint_of(leg.foot), ball)]
    ahead = (ball - ankle) * [1, 0, 1]
    toe = ball + TOE * ahead if leg.toe is None else source.at(leg.toe)
    lowest = min(float(np.median(place[frames, 1])) for place in (ball, toe))
    floor = (0.0 if 0 <= lowest <= THICK * source.length[at] else lowest) * UP
    level = np.array([1, 0, 1])
    heel = (ankle - HEEL * ahead) * level + floor
    return [(joint_of(leg.ankle), heel), (leg.ball, ball * level + floor), (leg.ball, toe * level + floor)]


def joint_of(place: Place) -> str:
    """The joint, or the joint to which the point is fixed."""
    return place.joint if isinstance(place, Point) else place


def middle(vectors: Array) -> Array:
    """The median of each component."""
    return np.median(vectors, axis=0)


# --- contacts --------------------------------------------------------------------------------------------------------


def label(points: Array, heights: Array, length: Array, fps: float) -> Array:
    """Contact of the points of legs (frames, legs): low and slow, with hysteresis, never shorter than 0.1 s.

    For a leg without contact, as in runs and in hand-made clips, the speed limit is doubled, up to three times.
    """
    speed = size(velocity(points, fps))
    found = np.zeros(heights.shape, bool)
    for slow in SLOW * np.array([1, 2, 4, 8]):
        found = np.where(found.any(axis=0), found, _held(heights / length, speed / length, slow, fps))
    return found


def _held(height: Array, speed: Array, slow: float, fps: float) -> Array:
    begins, stays = ((height < k * LOW) & (speed < k * slow) for k in (1.0, HYSTERESIS))
    found = np.zeros_like(stays)
    for leg in range(stays.shape[1]):
        for first, end in runs(stays[:, leg]):
            found[first:end, leg] = begins[first:end, leg].any() and end - first >= SHORTEST * fps - 1e-6
    return found


def runs(mask: Array) -> list[tuple[int, int]]:
    """First and end frames of the intervals in which the mask is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


def core(first: int, end: int, fps: float) -> slice:
    """A stance without 10 % and 1/30 s at each end; its middle frame if nothing is left."""
    cut = (end - first) * 0.1 + fps * WINDOW
    start, stop = int(np.ceil(first + cut)), int(np.floor(end - cut))
    return slice(start, stop) if stop > start else slice((first + end - 1) // 2, (first + end - 1) // 2 + 1)


# --- a source, and measures relative to it ---------------------------------------------------------------------------


class Source:
    """A clip on its own floor, y = 0: its contacts, its soles, and its own measures there."""

    def __init__(self, motion: Motion, contact: Array | None = None) -> None:
        self.motion, self.fps = motion, motion.fps
        low = np.percentile(motion.foot[..., 1], 2, axis=0)
        rough = self._stand(motion.foot, motion.foot[..., 1] - low)
        calm = size(velocity(motion.ankle, motion.fps)) < SLOW * motion.length
        self.soles = Soles(motion, np.where((rough & calm).any(axis=0), rough & calm, rough))
        level = [
            np.median(high[on]) if on.any() else high.min()
            for high, on in zip(motion.foot[..., 1].T, rough.T, strict=True)
        ]
        self.contact = self._stand(motion.foot, motion.foot[..., 1] - level) if contact is None else contact
        self.sole = self.soles.positions(motion)
        self.soles.zero += _standing(self.sole[..., 1] - self.soles.zero, self.contact)[:, np.newaxis]
        self.heights = self.sole[..., 1] - self.soles.zero
        self.tilt = degrees(self.soles.up(motion), UP)
        self.flat = self.contact & self._stand(self.sole[:, :, 0], self.heights[:, :, 0])  # with the heel

    def _stand(self, points: Array, heights: Array) -> Array:
        return label(points, heights, self.motion.length, self.fps)

    def cut(self, motion: Motion, frames: slice) -> Source:
        """The source in some frames, given as a motion: with contacts and soles of all frames, and its own floor.

        Captured floors are not level, so the floor of the whole clip differs from that of a part.
        """
        found = copy.copy(self)
        found.motion = motion
        for name in ("contact", "sole", "heights", "tilt", "flat"):
            setattr(found, name, getattr(self, name)[frames])
        found.soles, own = copy.copy(self.soles), _standing(found.heights, found.contact)[:, np.newaxis]
        found.soles.zero, found.heights = found.soles.zero + own, found.heights - own
        return found

    def stances(self, contact: Array | None = None) -> Iterator[tuple[int, slice]]:
        """Every leg and the core of each of its stances, or of other contacts."""
        contact = self.contact if contact is None else contact
        for leg in range(contact.shape[1]):
            for first, end in runs(contact[:, leg]):
                yield leg, core(first, end, self.fps)

    def swings(self) -> Iterator[tuple[int, slice]]:
        """Every leg and the frames between two of its stances."""
        for leg in range(self.contact.shape[1]):
            stances = runs(self.contact[:, leg])
            for (_, left), (struck, _) in pairwise(stances):
                yield leg, slice(left, struck)


@dataclass(frozen=True)
class On:
    """A motion on a ground.

    Sole points and their heights above their stance positions (frames, legs, points); ground normals below soles, and
    the angles between both in degrees (frames, legs).
    """

    motion: Motion
    sole: Array
    heights: Array
    normals: Array
    tilt: Array

    @classmethod
    def ground(cls, motion: Motion, source: Source, ground: ik.Ground, level: Array | float = 0.0) -> On:
        """Measure a motion on a ground.

        `level` (legs,) is the height of soles in stance, because sole depth is a convention.
        """
        sole, reach = source.soles.positions(motion), 0.6 * float(source.motion.length.max())
        under = ground.at(sole, above=reach, below=3 * reach)
        gap = (sole[..., 1] - under.height) * under.normals[..., 1]
        heights = np.where(under.hit, gap, np.inf) - source.soles.zero - np.reshape(level, (-1, 1))
        normals = np.where(under.hit[..., np.newaxis], under.normals, UP).mean(axis=2)
        return cls(motion, sole, heights, normals, degrees(source.soles.up(motion), normals))


def level(result: On, source: Source) -> Array:
    """Heights of the soles of a motion that stands on its own floor (legs,), for `On.ground`.

    Ikcore has its own estimate of sole points; this is the difference.
    """
    return _standing(result.heights, source.contact)


def _standing(heights: Array, contact: Array) -> Array:
    """Height of the lowest sole point in contact; 0 for a leg without contact."""
    return np.array(
        [np.median(low[on]) if on.any() else 0.0 for low, on in zip(heights.min(axis=2).T, contact.T, strict=True)]
    )


def measure(source: Source, result: On, before: Motion | None = None, *, climbs: bool = False) -> dict[str, float]:
    """All measures of the table.

    `before` is the grounded clip if it is not the source, which then is the ground truth.
    """
    before = before or source.motion
    return {
        **stands(source, result),
        **moves(source, result, before),
        **smooth(result.motion, before, climbs=climbs),
    }


def stands(source: Source, result: On) -> dict[str, float]:
    """Measures of feet in contact, and of their penetration in swing."""
    on, cores = source.contact, list(source.stances())
    depth, depth_was = (np.maximum(0, -h.min(axis=2)) for h in (result.heights, source.heights))
    gap, gap_was = (np.maximum(0, h.min(axis=2)) for h in (result.heights, source.heights))
    deeper = np.maximum(0, depth - depth_was)
    both = [result.sole[part, leg, :2].swapaxes(0, 1) for leg, part in source.stances(source.flat)]
    return {
        "stance drift p95, mm": 1000 * p95([drift(result.sole[part, leg]) for leg, part in cores]),
        "stance drift on the ground p95, mm": 1000 * p95([drift(along(result, leg, part)) for leg, part in cores]),
        "flat foot: heel and ball drift p95, mm": 1000 * p95([max(drift(p[:, np.newaxis]) for p in ps) for ps in both]),
        "penetration in contact p95, mm": 1000 * p95(deeper[on]),
        "penetration in swing max, mm": 1000 * highest(deeper[~on]),
        "float in contact p95, mm": 1000 * p95(np.maximum(0, gap - gap_was)[on]),
        "sole angle p95, degrees": p95(np.maximum(0, result.tilt - source.tilt)[on]),
        "heading drift p95, degrees": p95([turned(result, leg, part) for leg, part in cores]),
    }


def moves(source: Source, result: On, before: Motion) -> dict[str, float]:
    """Measures of the whole motion relative to its source."""
    skating = skates(result.sole, result.heights, source) - skates(source.sole, source.heights, source)
    away = size((result.motion.pelvis - before.pelvis) * [1, 0, 1])
    bones, bones_were = result.motion.bones, before.bones
    stretched = np.abs(bones - bones_were) / np.maximum(bones_were, 1e-9)
    return {
        "skate ratio above source": max(0.0, skating),
        "reach violations": float(overreached(result.motion, bones_were).sum()),
        "knee flips": float(flips(result.motion, before).sum()),
        "knee pops": float(pops(result.motion, before).sum()),
        "swing lift lost, median": lift_lost(source, result),
        "root path off, legs": p95(away) / float(before.length.mean()),
        "bone length error": highest(stretched[bones_were > 1e-6]),
        "knee straightness lost, degrees": straightness_lost(result.motion, source.motion),
        "pelvis lowered beyond its feet p95, mm": 1000 * p95(lowered(result.motion, source.motion)),
    }


def smooth(result: Motion, before: Motion, *, climbs: bool) -> dict[str, float]:
    """Accelerations and jerks over 1/30 s, as ratios to those of the source."""
    bent, bent_was = (highest(np.abs(derivative(m.knee_angle, 2, m.fps)), 99) for m in (result, before))
    ankle, ankle_was, pelvis, pelvis_was = (
        mean(size(derivative(p, 3, result.fps))) for p in (result.ankle, before.ankle, result.pelvis, before.pelvis)
    )
    return {
        "knee acceleration p99 ratio": bent / max(bent_was, 7000.0),
        "ankle jerk ratio": ankle / ankle_was,
        "pelvis jerk ratio": pelvis / (max(pelvis_was, ankle_was) if climbs else pelvis_was),
    }


# --- single measures -------------------------------------------------------------------------------------------------


def drift(points: Array) -> float:
    """Largest distance of the stillest point (frames, points, 3) between any two frames."""
    apart = size(points[:, np.newaxis] - points[np.newaxis])
    return float(apart.max(axis=(0, 1)).min())


def along(result: On, leg: int, part: slice) -> Array:
    """The points of a sole (frames, points, 3) without their motion along the ground normal."""
    normal = _normal(result, leg, part)
    points = result.sole[part, leg]
    return points - (points @ normal)[..., np.newaxis] * normal


def turned(result: On, leg: int, part: slice) -> float:
    """Rotation of the foot about the ground normal, in degrees; 0 without a foot.

    It is not about the vertical, because the heading of a foot that rolls over its ball on a slope changes about that.
    """
    normal, ahead = _normal(result, leg, part), (result.motion.foot - result.motion.ankle)[part, leg]
    ahead = ahead - (ahead @ normal)[:, np.newaxis] * normal
    if size(ahead).min() < 1e-6:
        return 0.0
    return float(np.ptp(np.degrees(np.arctan2(np.cross(ahead[0], ahead) @ normal, ahead @ ahead[0]))))


def _normal(result: On, leg: int, part: slice) -> Array:
    normal = result.normals[part, leg].mean(axis=0)
    return normal / size(normal)


def skates(sole: Array, heights: Array, source: Source) -> float:
    """The share of steps in which the ball is low, by height alone, and faster than 0.5 m/s over the ground."""
    ball = min(1, sole.shape[2] - 1)
    scale = source.motion.length / 0.87
    speed = size(np.diff(sole[:, :, ball] * [1, 0, 1], axis=0)) * source.fps
    low = heights[:, :, ball] < 0.05 * scale
    return mean((low[1:] & low[:-1] & (speed > 0.5 * scale)).astype(float))


def overreached(motion: Motion, bones: Array) -> Array:
    """True where the distance of hip and ankle exceeds the bones of the source."""
    return size(motion.ankle - motion.hip) > bones[..., :2].sum(-1) * (1 + REACH)


def flips(motion: Motion, before: Motion) -> Array:
    """True where the knee is bent to its wrong side by more than 3 degrees, and is not in the source.

    The right side is that of most of the source, relative to the thigh's parent.
    """
    side, side_before = _bent_to(motion), _bent_to(before)
    usual = side_before.sum(axis=0)
    wrong, wrong_before = ((to * usual).sum(-1) < 0 for to in (side, side_before))
    return wrong & (motion.knee_angle < 177) & ~wrong_before


def _bent_to(motion: Motion) -> Array:
    """Bend axes of knees, with the amount of bending as length, in the space of the thighs' parents."""
    axes = np.cross(motion.knee - motion.hip, motion.ankle - motion.knee)
    parents = [motion.parent(leg.hip) for leg in motion.legs]
    return np.stack([motion.seen_from(parent, axes[:, leg]) for leg, parent in enumerate(parents)], axis=1)


def straightness_lost(motion: Motion, source: Motion) -> float:
    """Loss of knee extension in degrees, in the 95th percentile of frames, for the knee that loses most."""
    now, was = (np.percentile(m.knee_angle, 95, axis=0) for m in (motion, source))
    return max(0.0, float((was - now).max()))


def lowered(motion: Motion, source: Motion) -> Array:
    """Lowering of the pelvis beyond that of the ankle that is lowered most (frames,)."""
    ankles, pelvis = ((getattr(motion, name) - getattr(source, name))[..., 1] for name in ("ankle", "pelvis"))
    return np.maximum(0, ankles.min(axis=1) - pelvis)


def pops(motion: Motion, before: Motion) -> Array:
    """True where the knee angle accelerates by 3 x the source's 99th percentile, and by 2 degrees."""
    jump, was = (np.abs(np.diff(m.knee_angle, 2, axis=0)) for m in (motion, before))
    return (jump > 3 * np.percentile(was, 99)) & (jump > 2)


def lift_lost(source: Source, result: On) -> float:
    """Loss of the sole's greatest clearance, as a share; the median of the swings."""
    lost = []
    for leg, part in source.swings():
        high, was = result.heights[part, leg].min(axis=-1).max(), source.heights[part, leg].min(axis=-1).max()
        if was > 0.01 * source.motion.length[leg]:
            lost.append(max(0.0, 1 - high / was))
    return float(np.median(lost)) if lost else np.nan


# --- numbers ---------------------------------------------------------------------------------------------------------


def velocity(points: Array, fps: float) -> Array:
    """The velocity in every frame, over the 1/30 s about it."""
    frames = np.arange(len(points))
    half = max(0.5, fps * WINDOW / 2)
    early, late = (np.clip(frames + shift, 0, len(points) - 1) for shift in (-half, half))
    seconds = ((late - early) / fps).reshape(-1, *(1,) * (points.ndim - 1))
    return (_between(points, late) - _between(points, early)) / seconds


def _between(points: Array, at: Array) -> Array:
    before = np.floor(at).astype(int)
    share = (at - before).reshape(-1, *(1,) * (points.ndim - 1))
    return points[before] * (1 - share) + points[np.minimum(before + 1, len(points) - 1)] * share


def derivative(values: Array, order: int, fps: float) -> Array:
    """The differences over steps of 1/30 s, starting at every frame."""
    step = max(1, round(fps * WINDOW))
    for _ in range(order):
        values = (values[step:] - values[:-step]) * (fps / step)
    return values


def size(vectors: Array) -> Array:
    """The lengths of vectors."""
    return np.sqrt((vectors * vectors).sum(axis=-1))


def degrees(a: Array, b: Array) -> Array:
    """Angles between vectors in degrees."""
    return np.degrees(np.arctan2(size(np.cross(a, b)), (a * b).sum(axis=-1)))


def p95(values: Any) -> float:
    """The 95th percentile; NaN if empty."""
    return highest(values, 95)


def highest(values: Any, percent: float = 100) -> float:
    """A percentile, infinite if that is; NaN if empty."""
    values = np.asarray(values, float)
    if not values.size:
        return np.nan
    if np.isfinite(values).all():
        return float(np.percentile(values, percent))
    return float(np.percentile(values, percent, method="higher"))


def mean(values: Array) -> float:
    """The mean; NaN if empty."""
    return float(values.mean()) if values.size else np.nan
