"""Feet placed on the ground frame by frame, as in a game: without knowledge of later frames, for crowds."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import number_type, rows, whole_number
from ikcore._threads import in_blocks
from ikcore.feet.placed_feet import Array, FootRays, PlacedFeet
from ikcore.grounds.ground import Ground

_DOUBLE = np.dtype(np.float64)
_UP = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_WORK = 50  # cost of a character relative to an item of a closed form
_NO_BOUND = 1e9  # m
HIP, KNEE, ANKLE, TOE, HEEL = range(5)


def _record(fields: tuple[tuple[str, int], ...]) -> np.dtype[Any]:
    return np.dtype([(name, np.float64, (count,)) if count > 1 else (name, np.float64) for name, count in fields])


_BODY, _FOOT = _record(_core.BODY_STATE), _record(_core.FOOT_STATE)


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
        Distance between the path of the toe and obstacles; at least 0.03 m.

    max_step : float, default: 0.5 m
        Ground farther above or below the present support is ignored.

    max_slope : float, default: 50 degrees in radians
        Steeper ground is ignored.

    align : float, default: 1
        Share of the slope to which the sole turns.

    max_pitch, max_roll : float, default: 40 and 20 degrees in radians
        Greatest slope of the sole, from heel to toe and across.

    pelvis_half_life : float, default: 0.075 s
        Half-life of the pelvis spring.

    pelvis_max_offset : float or None, default: None
        Greatest offset of the pelvis, in metres; None: no bound.

    max_extension : float, default: 0.999
        The pelvis keeps planted feet within this share of the leg's length.

    stride_uphill, stride_downhill : float, default: 0
        Share by which strides shorten on a slope of 45 degrees.

    lean_uphill, lean_downhill : float, default: 0.3, 0.5
        Share of the slope by which the body leans.

    lean_half_life : float, default: 0.2 s
        Half-life of the springs of the lean and of the estimated velocity.

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
        max_slope: float = math.radians(50),
        align: float = 1.0,
        max_pitch: float = math.radians(40),
        max_roll: float = math.radians(20),
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
            The arguments of `step`, without `ground` and `hits`.

        Returns
        -------
        FootRays
            20 rays per foot; rays that are not chosen need not be cast.
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
        """Advance by one frame.

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
            Hits of the rays that `rays` returns, in place of a ground: (count, legs, rays, 3), in world space, NaN
            without a hit. Without `ground` and `hits` there is no ground.

        contacts : (count, legs) array_like, optional
            A contact value for every foot: planted above 0.5. NaN, or by default: found from speed and height.

        landings, landing_times : (count, legs, 3) and (count, legs) array_like, optional
            The position where the toe lands next in the animation, and the time until then in seconds. `landings_ahead`
            has both for a clip. NaN, or by default: estimated from the velocity.

        hinges : (count, legs, 3) array_like, optional
            World axes of the knees, as in `two_bone`. Give them if knees may be straight.

        origins : (count, 3) array_like, optional
            World positions of the origins, as doubles.

        floor : float or (count,) array_like, optional
            Height of the ground in the animation, above the origin (default 0).

        velocity : (count, 3) array_like, optional
            Velocity of the characters (default: the smoothed velocity of their hips).

        stride : float or (count,) array_like, optional
            Scale of strides along the velocity (default 1).

        grounded : bool or (count,) array_like, optional
            False for characters in the air, whose feet follow the animation (default True).

        workers : int or None, default: 1
            Number of threads, None for all cores. The result is the same to the bit.
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
