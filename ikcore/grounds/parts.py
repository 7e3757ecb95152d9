"""Parts of a ground, meshes and planes, at rest or moving; and what rays find on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, rotations
from ikcore._arrays import number_type, rows

UNITS = np.eye(3)
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """First intersections of rays with the ground; the leading axes are those of the rays.

    Attributes
    ----------
    hit : (...) array of bool
        True if the ray hits the ground.
    distance : (...) array
        Distance from the origin; infinite if nothing is hit.
    points, normals : (..., 3) arrays
        Position of the hit, and the unit normal of the side that is hit; NaN if nothing is.
    front : (...) array of bool
        True if that side is the front, from where the corners of a triangle are counter-clockwise.
    part, triangle : (...) arrays of int32
        Index of the part of the ground, and of its triangle; -1 if nothing is hit, and for a plane's triangle.
    status : (...) array of int32
        0; `Status.NOT_FINITE` or `Status.NO_LENGTH` if the ray cannot be used, and then hits nothing.
    """

    hit: NDArray[np.bool_]
    distance: NDArray[Any]
    points: NDArray[Any]
    normals: NDArray[Any]
    front: NDArray[np.bool_]
    part: NDArray[np.int32]
    triangle: NDArray[np.int32]
    status: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """The ground at some points; the leading axes are those of the points.

    Attributes
    ----------
    hit : (...) array of bool
        True if there is ground within the window.
    height : (...) array
        Its height along the up axis, from 0; NaN if there is none.
    points, normals : (..., 3) arrays
        Its point, and its upward unit normal; NaN if there is none.
    part : (...) array of int32
        Index of the part of the ground, -1 if there is none.
    """

    hit: NDArray[np.bool_]
    height: NDArray[Any]
    points: NDArray[Any]
    normals: NDArray[Any]
    part: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """The points whose dot product with the unit normal is the height; the normal is on its front side."""

    normal: NDArray[np.float64]
    height: float


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One body of a ground: triangles or a plane, with a placement that is constant or per frame.

    Attributes
    ----------
    body : Mesh or Plane
        The body in its own space.
    rotations : (4,) or (frames, 4) array, optional
        Rotations from its space to the world, of unit length (default: identity).
    translations : (3,) or (frames, 3) array, optional
        Translations, applied after the rotation.
    scales : (3,) or (frames, 3) array, optional
        Positive scales, applied before the rotation.
    """

    body: _core.Mesh | Plane
    rotations: NDArray[np.float64] | None = None
    translations: NDArray[np.float64] | None = None
    scales: NDArray[np.float64] | None = None

    def local(self, points: ArrayLike) -> NDArray[Any]:
        """World points in the space of the part, in which objects that stand on it keep their position.

        Parameters
        ----------
        points : (..., 3) array_like
            World points. If the part moves, their first axis is its frames.

        Returns
        -------
        (..., 3) array
            Float32 if the points were, else float64.
        """
        dtype = number_type(points)
        at = rows("points", points, DOUBLE, 3)
        if self.translations is not None:
            at = at - self._frames(self.translations, at.shape[:-1])
        if self.rotations is not None:
            at = rotations.rotate(self._frames(rotations.conjugate(self.rotations), at.shape[:-1]), at)
        if self.scales is not None:
            at = at / self._frames(self.scales, at.shape[:-1])
        return at.astype(dtype, copy=False)

    def world(self, points: ArrayLike) -> NDArray[Any]:
        """Points of the part in world space, (..., 3): the inverse of `local`, for points as it returns them."""
        dtype = number_type(points)
        at = rows("points", points, DOUBLE, 3)
        if self.scales is not None:
            at = at * self._frames(self.scales, at.shape[:-1])
        if self.rotations is not None:
            at = rotations.rotate(self._frames(self.rotations, at.shape[:-1]), at)
        if self.translations is not None:
            at = at + self._frames(self.translations, at.shape[:-1])
        return at.astype(dtype, copy=False)

    @property
    def moves(self) -> bool:
        """True if it has a placement per frame."""
        return any(array is not None and array.ndim > 1 for array in self._transform)

    def still(self, frames: int | slice | NDArray[np.intp]) -> Part:
        """The part as it is in one frame, or in some frames."""
        if not self.moves:
            return self
        return Part(
            self.body, *(array if array is None or array.ndim < 2 else array[frames] for array in self._transform)
        )

    @property
    def _transform(self) -> tuple[NDArray[Any] | None, ...]:
        return self.rotations, self.translations, self.scales

    def _placements(self, shape: tuple[int, ...]) -> PlacedPart:
        """The body and its placement for the core, for rays with these leading axes."""
        body = (*self.body.normal.tolist(), self.body.height) if isinstance(self.body, Plane) else self.body
        for frames in (self.translations, self.rotations, self.scales):
            if frames is not None:
                self._frames(frames, shape)
        return body, None if self.translations is None else self.translations.reshape(-1, 3), self._to_local()

    def _to_local(self) -> NDArray[Any] | None:
        """The matrix (9,) from the world to the space of the part, one or one per frame; None for translations only."""
        if self.rotations is None and self.scales is None:
            return None
        turn = np.eye(3) if self.rotations is None else rotations.to_matrix(rotations.conjugate(self.rotations))
        return (turn if self.scales is None else turn / self.scales[..., np.newaxis]).reshape(-1, 9)

    def _frames(self, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Values per frame, expanded to as many axes as points with these leading axes."""
        if values.ndim == 1:
            return values
        if not shape or shape[0] != len(values):
            raise ValueError(
                f"the ground moves over {len(values)} frames: expected points of shape ({len(values)}, ..., 3), "
                f"got {(*shape, 3)}"
            )
        return values.reshape(len(values), *(1,) * (len(shape) - 1), values.shape[-1])


def name_of(part: Part) -> str:
    """A part in a few words."""
    name = "plane" if isinstance(part.body, Plane) else f"{len(part.body.faces)} triangles"
    frames = {
        len(array) for array in (part.rotations, part.translations, part.scales) if array is not None and array.ndim > 1
    }
    return name + "".join(f" over {count} frames" for count in frames)


PlacedPart = tuple[_core.Mesh | tuple[float, float, float, float], NDArray[Any] | None, NDArray[Any] | None]


def narrow(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of another type, in which numbers that are too large become infinite."""
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


def broadcast_copy(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The array broadcast to a shape and copied; the array itself if it has that shape."""
    if array.shape == shape:
        return array
    whole = np.empty(shape, array.dtype)
    whole[...] = array
    return whole


def frames_of(name: str, value: ArrayLike, size: int) -> NDArray[Any]:
    """Numbers of a whole clip, or of every frame."""
    array = rows(name, value, DOUBLE, size)
    if array.ndim > 2:
        raise ValueError(f"{name}: expected an array of shape ({size},) or (frames, {size}), got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers")
    return rotations.normalize(array) if size == 4 else array


def scales_of(value: ArrayLike) -> NDArray[Any]:
    """Scales of every axis, from one or three numbers."""
    given = np.asarray(value, float)
    even = given.ndim == 0 or given.shape[-1] == 1
    scales = frames_of("scales", np.repeat(np.atleast_1d(given), 3, axis=-1) if even else given, 3)
    if not (scales > 0).all():
        raise ValueError(f"scales: expected positive numbers, got {scales.min():g}")
    return scales


def move_part(part: Part, q: NDArray[Any] | None, t: NDArray[Any] | None, s: NDArray[Any] | None) -> Part:
    """The part with its own placement followed by this one."""
    turned, shifted, scaled = part.rotations, part.translations, part.scales
    frames = {len(array) for array in (turned, shifted, scaled, q, t, s) if array is not None and array.ndim > 1}
    if len(frames) > 1:
        raise ValueError(f"moved: expected the same number of frames everywhere, got {sorted(frames)}")
    if s is not None:
        if turned is not None and (s != s[..., :1]).any():
            raise ValueError("moved: uneven scales would shear what was turned before: scale it first, or evenly")
        scaled = s if scaled is None else s * scaled
        shifted = None if shifted is None else s * shifted
    if q is not None:
        turned = q if turned is None else rotations.multiply(q, turned)
        shifted = None if shifted is None else rotations.rotate(q, shifted)
    if t is not None:
        shifted = t if shifted is None else shifted + t
    return Part(part.body, turned, shifted, scaled)
