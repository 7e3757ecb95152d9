"""Tracks of the points that decide about contacts: positions, heights and speeds over the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import path_lengths, size
from ikcore.clips.clip import Clip
from ikcore.contacts.intervals import blocks
from ikcore.feet import free_feet
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg, Sole
from ikcore.feet.soles import points_and_joints
from ikcore.feet.thresholds import ANTICIPATION_TIME, DEEP_WINDOW, LEG_LENGTH, NEAR_WINDOW
from ikcore.feet.time_series import extend_rows, percentile
from ikcore.grounds.ground import Ground
from ikcore.grounds.parts import Surface

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = tuple[str, str]

POINTS = ("heel", "ball")  # the toe counts as part of the ball
LOWEST = 5.0  # percentile of heights: the lowest level of a point, and the height of a level floor
_FALL = 0.5 * 9.81  # m/s^2: a body with a larger downward acceleration is in the air
_VERTICAL = 0.5  # weight of vertical speed, as knees give and captured floors are not rigid


def keys(leg: Leg) -> list[Key]:
    """The points of a leg that have contacts."""
    return [(leg.name, point) for point in POINTS if point in leg.soles]


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """Points of all legs over time.

    Joints are followed, not points of the sole: the ankle for the heel, where toes bend and their tip for the ball.
    They are known exactly, and how thick a sole is does not matter.

    Attributes
    ----------
    clip : Clip
    axis : int
        Which coordinate is height.
    keys : list of Key
        The contact that each point belongs to. Several points may belong to one contact.
    places : (points, frames, 3) array
        Positions of the points in the world.
    on_ground : (points, frames, 3) array
        Positions relative to the moving ground; the same array on ground at rest.
    ground : (points, frames) array
        Height of the ground below the points: NaN without a hit, 0 if no ground is given.
    scales : (points,) array
        The length of their leg, relative to 0.87 m.
    hips : (frames, 3) array
        The middle of the hips.
    falls : (frames,) array of bool
        When the body accelerates downwards as in the air.
    sole_level : float
        The height of a level floor under the soles.
    """

    clip: Clip
    axis: int
    keys: list[Key]
    places: Array
    on_ground: Array
    ground: Array
    scales: Array
    hips: Array
    falls: Mask
    sole_level: float

    @property
    def ground_moves(self) -> bool:
        """True if the ground moves."""
        return self.on_ground is not self.places

    @property
    def heights(self) -> Array:
        """Heights above the ground (points, frames)."""
        return np.asarray(self.places[..., self.axis] - self.ground)

    def points_of(self, key: Key) -> list[int]:
        """The indices of the points of a contact."""
        return [at for at, each in enumerate(self.keys) if each == key]

    def of(self, leg: str) -> NDArray[np.intp]:
        """The indices of the points of a leg."""
        return np.flatnonzero([key[0] == leg for key in self.keys])

    def speeds(self, travel: Array | None = None, *, level: bool = True) -> Array:
        """How fast points go over the ground (points, frames), vertically with half of their speed if `level`.

        Over a ground that has travelled so far (frames, 3).
        """
        there = self.on_ground if travel is None else self.on_ground - travel
        if level:
            there = there.copy()
            there[..., self.axis] *= _VERTICAL
        return speeds_of(there, self.clip)

    def legs(self) -> list[str]:
        """The names of the legs."""
        return list(dict.fromkeys(leg for leg, _ in self.keys))


def speeds_of(places: Array, clip: Clip) -> Array:
    """Speeds (points, frames): the mean of those over 1/30 s before and after each frame, or over one frame.

    A loop goes on at its ends; elsewhere the first and the last such speed count there.
    """
    frames = places.shape[1]
    step = min(max(1, round(ANTICIPATION_TIME / 2 * clip.fps)), frames - 1)
    if step == 0:
        return np.zeros(places.shape[:2])
    if clip.loop:
        travel = places[:, -1:] - places[:, :1]
        places = np.concatenate([places[:, -1 - step : -1] - travel, places, places[:, 1 : step + 1] + travel], axis=1)
    speeds = size(places[:, step:] - places[:, :-step]) * (clip.fps / step)
    if not clip.loop:
        speeds = np.concatenate([speeds[:, :1].repeat(step, 1), speeds, speeds[:, -1:].repeat(step, 1)], axis=1)
    return np.asarray((speeds[:, :frames] + speeds[:, step:]) / 2)


def tracks_of(clip: Clip, feet: Feet, ground: Ground | None) -> Tracks:
    """Follow the points of all legs through a clip."""
    followed = [(key, point) for leg in feet for key in keys(leg) for point in _deciding_points(leg, key[1])]
    hips = free_feet.hips(clip.skeleton, feet)
    joints = [*hips, *(joint for leg in feet for joint in leg.bones)]
    soles = [leg.soles[point] for leg in feet for _, point in keys(leg)]
    walked, at = points_and_joints(clip.skeleton, clip.pose, [*soles, *(point for _, point in followed)], joints)
    raw, axis = walked[:, len(soles) :], "XYZ".index(clip.up)
    middle = np.asarray(np.add.accumulate(at[:, : len(hips)], axis=1)[:, -1] / len(hips))
    names = [key for key, _ in followed]
    scales, first = np.empty(len(names)), len(hips)
    for leg in feet:
        bones = at[:, first : first + len(leg.bones)]
        own = np.flatnonzero([key[0] == leg.name for key in names])
        scales[own] = _length(clip, leg, bones, raw[:, own[-1] : own[-1] + 1]) / LEG_LENGTH
        first += len(leg.bones)
    places = np.ascontiguousarray(raw.swapaxes(0, 1))
    level = percentile(walked[:, : len(soles), axis], LOWEST)
    under, relative = np.zeros(places.shape[:2]), places
    if ground is not None:
        under, relative = _ground_below(ground, clip, places, scales)
    falls = _falls(np.ascontiguousarray(middle[:, axis]), float(scales.mean()), clip)
    return Tracks(clip, axis, names, places, relative, under, scales, middle, falls, level)


def _falls(height: Array, scale: float, clip: Clip) -> Mask:
    """When a body at some height accelerates downwards as in the air (frames,)."""
    span = max(1, round(ANTICIPATION_TIME * clip.fps))
    height = extend_rows(height, span, clip.loop)
    bent = height[2 * span :] - 2 * height[span:-span] + height[: -2 * span]
    return np.asarray(bent * (clip.fps / span) ** 2 < -_FALL * scale)


def _deciding_points(leg: Leg, point: str) -> list[Sole]:
    """The points of the sole that decide about a contact; the toe belongs to the ball."""
    names = ("ball", "toe") if point == "ball" else (point,)
    return [leg.soles[name] for name in names if name in leg.soles]


def _length(clip: Clip, leg: Leg, bones: Array, tip: Array) -> float:
    """Leg length, the median over time: from hip to ankle, or to the tip of a leg without an ankle."""
    if leg.free:
        return free_feet.length_in(clip, leg)
    return percentile(path_lengths(bones if leg.ankle else np.concatenate([bones, tip], axis=1)), 50)


def _ground_below(ground: Ground, clip: Clip, places: Array, scales: Array) -> tuple[Array, Array]:
    """The height of the ground under points, and their positions relative to the part of the ground below them."""
    ground._check_frames(len(clip))
    points = np.ascontiguousarray(places.swapaxes(0, 1))
    under, carrier = np.empty(places.shape[:2]), np.empty(points.shape[:2], np.int32)
    for block in blocks(len(clip)):
        surface = surface_under(ground.still(block), clip, points[block], scales)
        under[:, block], carrier[block] = surface.height.T, surface.part
    relative = places
    for number, part in enumerate(ground.parts):
        if part.moves:
            there = part.local(points)
            if part.scales is not None:
                there = there * part.scales[..., np.newaxis, :]
            relative = np.where(np.equal(carrier.T, number)[..., np.newaxis], there.swapaxes(0, 1), relative)
    return under, relative


def surface_under(ground: Ground, clip: Clip, points: Array, sizes: Array | float, *, sunk: bool = False) -> Surface:
    """The ground below points of a clip. `sizes` is the leg length of each point, relative to 0.87 m.

    If feet may have sunk far into the ground (`sunk`), points without a hit are searched from higher up.
    """
    if ground.up != clip.up.lower():
        raise ValueError(f"ground: expected {clip.up} up as in the clip, got {ground.up!r}")
    found = ground.at(points, above=NEAR_WINDOW * sizes, below=DEEP_WINDOW * sizes)
    return (
        found
        if found.hit.all() or not sunk
        else _fill_missing(found, ground.at(points, above=DEEP_WINDOW * sizes, below=0.0))
    )


def _fill_missing(found: Surface, other: Surface) -> Surface:
    """The surface `found`, with points without a hit taken from `other`."""
    hit, wide = found.hit, found.hit[..., np.newaxis]
    return Surface(
        hit | other.hit,
        np.where(hit, found.height, other.height),
        np.where(wide, found.points, other.points),
        np.where(wide, found.normals, other.normals),
        np.where(hit, found.part, other.part),
    )
