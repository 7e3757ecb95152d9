"""Feet placed on the ground frame by frame, as in a game: without knowledge of later frames, for crowds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore import rotations as quat
from ikcore._arrays import number_type, rows, whole_number
from ikcore._joints import ancestors as up_to_root
from ikcore._threads import in_blocks
from ikcore.feet.detect import Feet
from ikcore.feet.leg import Leg
from ikcore.grounds.ground import Ground
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
_DOUBLE = np.dtype(np.float64)
_UP = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_WORK = 50  # cost of a character relative to an item of a closed form
_NO_BOUND = 1e9  # m
HIP, KNEE, ANKLE, TOE, HEEL = range(5)


def _record(fields: tuple[tuple[str, int], ...]) -> np.dtype[Any]:
    return np.dtype([(name, np.float64, (count,)) if count > 1 else (name, np.float64) for name, count in fields])


_BODY, _FOOT = _record(_core.BODY_STATE), _record(_core.FOOT_STATE)


@dataclass(frozen=True, slots=True, eq=False)
class FootRays:
    """The vertical rays of a frame; the leading axes are characters, legs and rays.

    Attributes
    ----------
    origins : (count, legs, rays, 3) array
        Where they start, in world space.

    lengths : (count, legs, rays) array
        How far they reach.

    chosen : (count, legs, rays) array of bool
        True if this frame needs the ray.

    direction : (3,) array
        Down.
    """

    origins: NDArray[np.float64]
    lengths: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    direction: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedFeet:
    """The pose of a frame. Positions are relative to the origins of the characters.

    Attributes
    ----------
    pelvis : (count, 3) array
        Offset of the pelvis and everything that it carries.

    lean : (count, 4) array
        World rotation for a joint above the pelvis, such as the spine.

    root_delta, mid_delta, foot_delta : (count, legs, 4) arrays
        World rotations of hip, knee and foot joint. The local rotation of a joint becomes W^-1 delta W local; W is the
        world rotation of its parent in the animation.

    hips, knees, ankles, toes : (count, legs, 3) arrays
        Positions afterwards.

    planted : (count, legs) array of bool
        True if the toe is held where it is.

    status : (count, legs) array of int32
        As of `two_bone`. `Status.NOT_FINITE` or `Status.NO_LENGTH`: the character cannot be used in this frame, its
        pose is the animation's, and its state has not changed.
    """

    pelvis: Array
    lean: Array
    root_delta: Array
    mid_delta: Array
    foot_delta: Array
    hips: Array
    knees: Array
    ankles: Array
    toes: Array
    planted: NDArray[np.bool_]
    status: NDArray[np.int32]

    def apply(self, skeleton: Skeleton, pose: Pose, feet: Feet, *, spine: str | None = None) -> Pose:
        """The pose on a skeleton.

        Parameters
        ----------
        skeleton, pose, feet
            The arguments of `leg_points`. The pose has an item for every character, or is a single one.

        spine : str, optional
            The joint that takes the lean.

        Returns
        -------
        Pose
            Legs, feet and the root have moved.
        """
        legs = _legs_of(skeleton, feet)
        world = skeleton.forward(pose).rotations
        count = len(self.pelvis)
        turned = np.array(np.broadcast_to(pose.rotations, (count, *pose.rotations.shape[-2:])), dtype=np.float64)
        moved = skeleton.offsets if pose.translations is None else pose.translations
        moved = np.array(np.broadcast_to(moved, (count, len(skeleton), 3)), dtype=np.float64)
        world = np.broadcast_to(world, turned.shape)
        turns = [
            (joint, delta[:, k]) for k, leg in enumerate(legs) for joint, delta in zip(leg, self._deltas, strict=True)
        ]
        if spine is not None:
            turns.append((skeleton.index(spine), self.lean))
        for joint, delta in turns:
            parent = int(skeleton.parents[joint])
            if parent >= 0:
                delta = quat.multiply(quat.multiply(quat.conjugate(world[:, parent]), delta), world[:, parent])
            turned[:, joint] = quat.multiply(delta, turned[:, joint])
        root = up_to_root(skeleton, legs[0][0])[-1]
        moved[:, root] += self.pelvis
        shape = pose.shape or ()
        return Pose(turned.reshape(*shape, *turned.shape[-2:]), moved.reshape(*shape, *moved.shape[-2:]), pose.scales)

    @property
    def _deltas(self) -> tuple[Array, Array, Array]:
        return self.root_delta, self.mid_delta, self.foot_delta


class FootPlacer:
    """Places the feet of one character or a crowd on the ground, frame by frame.

    It holds the state of `count` characters with the same number of legs. Every frame, `step` takes the points of
    their legs in the animation, and the ground. It returns an offset of the pelvis and the rotations of the legs. A
    result has the same bits alone and in a crowd, and nearly the same numbers at every frame rate. For a clip that is
    known as a whole, `bake_feet` is better: it looks ahead.

    Lengths and speeds of the settings are for a leg of 0.87 m from hip to ankle, and scale with the leg.

    Parameters
    ----------
    count : int, default: 1
        Number of characters.

    legs : int, default: 2
        Number of legs of each.

    up : {"y", "x", "z"}, default: "y"
        The vertical axis.

    plant_speed, plant_height : float, default: 0.15 m/s, 0.05 m
        A toe is planted when it is slower and lower than this, above the floor of the animation.

    release_speed, release_height : float, default: 0.3 m/s, 0.08 m
        A planted toe is released when it is faster or higher.

    release_radius : float, default: 0.2 m
        It is released when the animation is farther away, and planted again after it was lifted.

    release_half_life : float, default: 0.04 s
        How fast the horizontal offset of a released foot fades.

    swing_half_life : float, default: 0.05 s
        How fast changes of a planned swing and errors at landing fade.

    clearance : float, default: 0.07 m
        Between the path of the toe and obstacles; at least 0.03 m.

    max_step : float, default: 0.5 m
        Ground farther above or below the present support is ignored.

    max_slope : float, default: 50 degrees in radians
        Steeper ground is ignored.

    align : float, default: 1
        Share of the slope that the sole takes.

    max_pitch, max_roll : float, default: 40 and 20 degrees in radians
        Greatest slope of the sole, from heel to toe and across.

    pelvis_half_life : float, default: 0.075 s
        Of the pelvis spring.

    pelvis_max_offset : float or None, default: None
        Greatest offset of the pelvis, in metres; None: no bound.

    max_extension : float, default: 0.999
        The pelvis keeps planted feet within this share of the leg's length.

    stride_uphill, stride_downhill : float, default: 0
        Share by which strides shorten on a slope of 45 degrees.

    lean_uphill, lean_downhill : float, default: 0.3, 0.5
        Share of the slope by which the body leans.

    lean_half_life : float, default: 0.2 s
        Of the lean, and of the estimated velocity.

    Examples
    --------
    A person stands with the right foot over a step of 0.1 m. The sole rests on it after half a second:

    >>> import numpy as np
    >>> import ikcore as ik
    >>> left = np.array([[0.1, 0.9, 0], [0.1, 0.5, 0.05], [0.1, 0.09, 0], [0.1, 0, 0.15], [0.1, 0, -0.05]])
    >>> points = np.array([[left, left * [-1, 1, 1]]])  # characters, legs, hip to heel
    >>> step = ik.Ground.plane() + ik.Ground.mesh([[-3, 0.1, -3], [0, 0.1, -3], [0, 0.1, 3]], [[0, 2, 1]])
    >>> placer = ik.FootPlacer()
    >>> for _ in range(30):
    ...     placed = placer.step(points, 1 / 60, ground=step)
    >>> placed.toes[0, :, 1].round(3), placed.planted[0]
    (array([0. , 0.1]), array([ True,  True]))
    """

    def __init__(
        self,
        count: int = 1,
        legs: int = 2,
        *,
        up: Literal["x", "y", "z"] = "y",
        plant_speed: float = 0.15,
        plant_height: float = 0.05,
        release_speed: float = 0.30,
        release_height: float = 0.08,
        release_radius: float = 0.20,
        release_half_life: float = 0.04,
        swing_half_life: float = 0.05,
        clearance: float = 0.07,
        max_step: float = 0.50,
        max_slope: float = 0.8726646259971648,
        align: float = 1.0,
        max_pitch: float = 0.6981317007977318,
        max_roll: float = 0.3490658503988659,
        pelvis_half_life: float = 0.075,
        pelvis_max_offset: float | None = None,
        max_extension: float = 0.999,
        stride_uphill: float = 0.0,
        stride_downhill: float = 0.0,
        lean_uphill: float = 0.3,
        lean_downhill: float = 0.5,
        lean_half_life: float = 0.20,
    ) -> None:
        given = locals() | {"pelvis_max_offset": _NO_BOUND if pelvis_max_offset is None else pelvis_max_offset}
        self.count, self.legs = whole_number(count), whole_number(legs)
        if self.count < 1:
            raise ValueError(f"count: expected 1 or more, got {count}")
        if not 1 <= self.legs <= _core.LEGS_MOST:
            raise ValueError(f"legs: expected 1 to {_core.LEGS_MOST}, got {legs}")
        if up not in _UP:
            raise ValueError(f"up: expected 'x', 'y' or 'z', got {up!r}")
        self.up = up
        numbers = [given[name] for name, _, _ in _core.FOOT_SETTINGS]
        for (name, _, _), number in zip(_core.FOOT_SETTINGS, numbers, strict=True):
            if not 0 <= number < math.inf:
                raise ValueError(f"{name}: expected 0 or a positive number, got {number!r}")
        self._settings = np.array([*_UP[up], *numbers])
        self._body, self._feet = np.zeros(self.count, _BODY), np.zeros((self.count, self.legs), _FOOT)
        self._rays = self._new_rays()

    @property
    def state(self) -> dict[str, Array]:
        """A copy of the state: structured arrays "body" (count,) and "feet" (count, legs). Assign it to restore it.

        `ik_feet.h` describes the fields.
        """
        return {"body": self._body.copy(), "feet": self._feet.copy()}

    @state.setter
    def state(self, saved: dict[str, Array]) -> None:
        for name, own in (("body", self._body), ("feet", self._feet)):
            if saved[name].shape != own.shape or saved[name].dtype != own.dtype:
                raise ValueError(f"state: {name}: expected shape {own.shape}, got {saved[name].shape}; see .state")
        self._body[...], self._feet[...] = saved["body"], saved["feet"]

    def reset(self, which: ArrayLike = True) -> None:
        """Start some characters again, such as those that were moved elsewhere.

        Parameters
        ----------
        which : (count,) array_like of bool or of int, default: all
            The characters.
        """
        chosen = np.asarray(which)
        index: Any = slice(None) if chosen.ndim == 0 and chosen.dtype == bool and chosen else chosen
        self._body[index], self._feet[index] = np.zeros((), _BODY), np.zeros((), _FOOT)

    def rays(self, points: ArrayLike, dt: ArrayLike, **inputs: Any) -> FootRays:
        """The rays that `step` will need, for an engine that casts them itself.

        Parameters
        ----------
        points, dt, **inputs
            As of `step`, without `ground` and `hits`.

        Returns
        -------
        FootRays
            20 a foot; those that are not chosen need not be cast.
        """
        job = self._job(points, dt, **inputs)
        self._run(_core.foot_rays, job, 1)
        origins, lengths, chosen = self._rays
        self._rays = self._new_rays()
        return FootRays(origins, lengths, chosen, -self._settings[:3])

    def step(
        self,
        points: ArrayLike,
        dt: ArrayLike,
        *,
        ground: Ground | None = None,
        hits: tuple[ArrayLike, ArrayLike] | None = None,
        contacts: ArrayLike | None = None,
        landings: ArrayLike | None = None,
        landing_times: ArrayLike | None = None,
        hinges: ArrayLike | None = None,
        origins: ArrayLike | None = None,
        floor: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        stride: ArrayLike | None = None,
        grounded: ArrayLike | None = None,
        workers: int | None = 1,
    ) -> PlacedFeet:
        """Go on by one frame.

        Parameters
        ----------
        points : (count, legs, 5, 3) array_like
            The animation: hip, knee, ankle, toe and heel of every leg, in world axes, relative to the origins. Toe and
            heel are points of the sole: below the ball or toe joint, where the foot pivots, and below the heel. Without
            a heel, give the toe twice. The result is float32 if they are; it is computed in doubles.

        dt : float or (count,) array_like
            Seconds since the last frame.

        ground : Ground, optional
            The ground, whose rays are cast here.

        hits : (points, normals), optional
            In its place: of the rays that `rays` returns the hits (count, legs, rays, 3), in world space; NaN if
            nothing was hit. Without ground and hits there is no ground.

        contacts : (count, legs) array_like, optional
            A curve for every foot: planted above 0.5. NaN, or by default: speed and height decide.

        landings, landing_times : (count, legs, 3) and (count, legs) array_like, optional
            Where the toe lands next in the animation, and in how many seconds: `landings_ahead` has them from a clip.
            NaN, or by default: from the velocity.

        hinges : (count, legs, 3) array_like, optional
            World axes of the knees, as in `two_bone`. Give them if knees may be straight.

        origins : (count, 3) array_like, optional
            World positions of the origins, as doubles.

        floor : float or (count,) array_like, optional
            Height of the ground in the animation, above the origin (default 0).

        velocity : (count, 3) array_like, optional
            Of the characters (default: that of their hips, smoothed).

        stride : float or (count,) array_like, optional
            Scale of strides along the velocity (default 1).

        grounded : bool or (count,) array_like, optional
            False for characters in the air, whose feet keep to the animation (default True).

        workers : int or None, default: 1
            Number of threads, None for all cores. The result is the same to the bit.

        Returns
        -------
        PlacedFeet
        """
        job = self._job(
            points,
            dt,
            contacts=contacts,
            landings=landings,
            landing_times=landing_times,
            hinges=hinges,
            origins=origins,
            floor=floor,
            velocity=velocity,
            stride=stride,
            grounded=grounded,
        )
        if ground is not None and hits is not None:
            raise ValueError("expected ground or hits, got both")
        self._run(_core.foot_rays, job, workers)
        job.update(zip(("hit_point", "hit_normal"), self._hits(ground, hits, workers), strict=True))
        placed = self._results(job["hip"].dtype)
        job.update(placed)
        self._run(_core.place_feet, job, workers)
        return PlacedFeet(**{_NAMES.get(name, name): array for name, array in placed.items()})

    def _new_rays(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        shape = (self.count, self.legs, _core.FOOT_RAYS)
        return np.full((*shape, 3), np.nan), np.full(shape, np.nan), np.zeros(shape, bool)

    def _job(self, points: ArrayLike, dt: ArrayLike, **inputs: ArrayLike | None) -> dict[str, Any]:
        """The arrays of a job, of which the hits are missing."""
        dtype = number_type(points)
        given = self._each("points", points, dtype, self.legs, 5, 3)
        job: dict[str, Any] = {}
        for name, index in (("hip", HIP), ("knee", KNEE), ("ankle", ANKLE), ("toe", TOE), ("heel", HEEL)):
            job[name] = np.ascontiguousarray(given[:, :, index])
        job["dt"] = self._each("dt", dt, dtype)
        for name, value in inputs.items():
            if name not in _INPUTS:
                raise TypeError(f"rays: unexpected argument {name!r}; expected {', '.join(_INPUTS)}")
            field, shape = _INPUTS[name]
            kind = np.dtype(bool) if name == "grounded" else _DOUBLE if name == "origins" else dtype
            if value is not None:
                job[field] = self._each(name, value, kind, *[self.legs if n == 0 else n for n in shape])
        job["body"], job["state"] = self._body.view(np.float64), self._feet.view(np.float64)
        job["ray_origin"], job["ray_length"], job["ray_chosen"] = self._rays
        job["hit_point"] = job["hit_normal"] = self._rays[0]
        return job

    def _each(self, name: str, value: ArrayLike, dtype: np.dtype[Any], *row: int) -> Array:
        """A row for every character, in one block; one that has none of its own gets that of all."""
        is_flag = dtype.kind == "b"
        array: Array = np.asarray(value, bool) if is_flag else rows(name, value, dtype, *row)
        try:
            return np.ascontiguousarray(np.broadcast_to(array, (self.count, *row)))
        except ValueError as error:
            raise ValueError(f"{name}: expected shape {(self.count, *row)}, got {array.shape}") from error

    def _hits(
        self, ground: Ground | None, hits: tuple[ArrayLike, ArrayLike] | None, workers: int | None
    ) -> tuple[Array, Array]:
        origins, lengths, chosen = self._rays
        shape = origins.shape
        if hits is not None:
            given = [rows(name, hit, _DOUBLE, 3) for name, hit in zip(("hits, points", "normals"), hits, strict=True)]
            if any(array.shape != shape for array in given):
                raise ValueError(f"hits: expected two arrays of shape {shape}, got {[a.shape for a in given]}")
            return np.ascontiguousarray(given[0]), np.ascontiguousarray(given[1])
        points, normals = np.full(shape, np.nan), np.full(shape, np.nan)
        if ground is not None:
            if ground.up != self.up:
                raise ValueError(f"ground: expected one with up={self.up!r}, got {ground.up!r}")
            found = ground.at(origins[chosen], above=0, below=lengths[chosen], workers=workers)
            points[chosen], normals[chosen] = found.points, found.normals
        return points, normals

    def _results(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        legs = (self.count, self.legs)
        shapes: dict[str, tuple[int, ...]] = {"pelvis": (self.count, 3), "lean": (self.count, 4)}
        shapes |= dict.fromkeys(("root_delta", "mid_delta", "foot_delta"), (*legs, 4))
        shapes |= dict.fromkeys(("hip_out", "knee_out", "ankle_out", "toe_out"), (*legs, 3))
        placed = {name: np.empty(shape, dtype) for name, shape in shapes.items()}
        return placed | {"planted": np.empty(legs, bool), "status": np.empty(legs, np.int32)}

    def _run(self, function: Any, job: dict[str, Any], workers: int | None) -> None:
        narrow = job["hip"].dtype == np.float32

        def solve(block: slice) -> None:
            function(self._settings, job, self.legs, self.count, narrow, block.start, block.stop)

        in_blocks(self.count, _WORK * self.legs, workers, solve)

    def __repr__(self) -> str:
        return f"FootPlacer({self.count} characters with {self.legs} legs)"


_NAMES = {"hip_out": "hips", "knee_out": "knees", "ankle_out": "ankles", "toe_out": "toes"}
# Field of the job, and row of a character; 0 stands for the number of legs.
_INPUTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "contacts": ("contact", (0,)),
    "landings": ("landing", (0, 3)),
    "landing_times": ("landing_time", (0,)),
    "hinges": ("hinge", (0, 3)),
    "origins": ("origin", (3,)),
    "floor": ("floor", ()),
    "velocity": ("velocity", (3,)),
    "stride": ("stride", ()),
    "grounded": ("grounded", ()),
}


def leg_points(skeleton: Skeleton, pose: Pose, feet: Feet) -> Array:
    """Points of legs for `FootPlacer.step`, from poses of a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
        The joints.

    pose : Pose
        One pose for every character, or the frames of a clip.

    feet : Feet
        Its legs: each with hip, one knee, an ankle, and the ball of its sole.

    Returns
    -------
    (..., legs, 5, 3) array
        Hip, knee, ankle, toe and heel: the ball of the sole is the toe; a sole without heel has the ball twice.

    Examples
    --------
    >>> import ikcore as ik
    >>> clip = ik.samples.walk(seconds=2).clip
    >>> ik.feet.leg_points(clip.skeleton, clip.pose, ik.Feet.detect(clip.skeleton)).shape
    (121, 2, 5, 3)
    """
    joints = [list(leg) for leg in _legs_of(skeleton, feet)]
    places, soles = skeleton.forward(pose).positions, feet.positions(skeleton, pose)
    toes = [soles[leg.name, "ball"] for leg in feet]
    heels = [soles.get((leg.name, "heel"), toe) for leg, toe in zip(feet, toes, strict=True)]
    sole = np.stack([np.stack(toes, axis=-2), np.stack(heels, axis=-2)], axis=-2)
    return np.concatenate([places[..., joints, :], sole], axis=-2)


def _legs_of(skeleton: Skeleton, feet: Feet) -> list[tuple[int, int, int]]:
    """Hip, knee and ankle of every leg."""

    def joints(leg: Leg) -> Iterator[int]:
        if leg.hip is None or len(leg.knees) != 1 or leg.ankle is None or "ball" not in leg.soles:
            raise ValueError(
                f"the leg {leg.name!r}: expected a hip, one knee, an ankle and the ball of a sole, got {leg}; "
                "call FootPlacer.step with points of your own"
            )
        return map(skeleton.index, (leg.hip, *leg.knees, leg.ankle))

    return [(hip, knee, ankle) for hip, knee, ankle in map(joints, feet)]


def landings_ahead(toes: ArrayLike, planted: ArrayLike, fps: float) -> tuple[Array, NDArray[np.float64]]:
    """Next landings of the feet in every frame of a clip: places and times.

    Parameters
    ----------
    toes : (frames, legs, 3) array_like
        Toes of a clip, as in `FootPlacer.step`.

    planted : (frames, legs) array_like of bool
        When they are in contact.

    fps : float
        Frames a second.

    Returns
    -------
    landings : (frames, legs, 3) array
        Place of the toe in the first frame of its next contact; NaN if there is none.

    times : (frames, legs) array
        Seconds until then.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> toes = np.linspace([[0, 0, 0]], [[0, 0, 0.4]], 5)  # one foot that moves by 0.1 m a frame
    >>> places, times = ik.feet.landings_ahead(toes, [[True], [False], [False], [True], [True]], fps=10)
    >>> places[:, 0, 2], times[:, 0]
    (array([0.3, 0.3, 0.3, nan, nan]), array([0.3, 0.2, 0.1, nan, nan]))
    """
    given, held = rows("toes", toes, _DOUBLE, 3), np.asarray(planted, bool)
    if given.ndim != 3 or held.shape != given.shape[:-1]:
        raise ValueError(f"expected toes (frames, legs, 3) and a flag each, got {given.shape} and {held.shape}")
    if not 0 < fps < math.inf:
        raise ValueError(f"fps: expected a positive number, got {fps!r}")
    frames = len(given)
    lands = np.zeros_like(held)
    lands[1:] = held[1:] & ~held[:-1]
    number = np.where(lands, np.arange(frames)[:, np.newaxis], frames)
    after = np.full_like(number, frames)
    after[:-1] = np.minimum.accumulate(number[::-1], axis=0)[::-1][1:]
    known = after < frames
    places = np.take_along_axis(given, np.where(known, after, 0)[..., np.newaxis], axis=0)
    places[~known] = np.nan
    times = np.where(known, (after - np.arange(frames)[:, np.newaxis]) / fps, np.nan)
    return places, times
