"""Ground surfaces for feet, and their intersections with rays and feet."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import dot, number_type, rows
from ikcore._call import broadcast_axes
from ikcore._threads import in_blocks
from ikcore.clips import gltf
from ikcore.grounds import obj
from ikcore.grounds.parts import (
    DOUBLE,
    UNITS,
    Hits,
    Part,
    PlacedPart,
    Plane,
    Surface,
    broadcast_copy,
    frames_of,
    move_part,
    name_of,
    narrow,
    scales_of,
)

_AXES = ("x", "y", "z")
RAY = 8  # cost of a ray relative to an item of a closed form


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ground:
    """Ground surface for feet: any number of meshes, height grids and planes, at rest or moving.

    Made by `Ground.read`, `mesh`, `heights` and `plane`. ``a + b`` joins two, and `moved` places one or makes it move.
    It is immutable and can be pickled.

    Attributes
    ----------
    parts : tuple of Part
        Its bodies.
    up : {"x", "y", "z"}
        The axis that points up.

    Examples
    --------
    >>> import ikcore as ik
    >>> ground = ik.Ground.plane() + ik.terrain.stairs(5, rise=0.2, run=0.3)
    >>> ground
    Ground(plane, 22 triangles; y is up)
    >>> feet = [[0.0, 0.1, -1.0], [0.0, 0.35, 0.45]]  # in front of the stairs, and above the second step
    >>> ground.at(feet, above=0.5, below=0.5).height
    array([0. , 0.4])
    """

    parts: tuple[Part, ...]
    up: Literal["x", "y", "z"] = "y"
    _at_rest: tuple[PlacedPart, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not self.moves:
            object.__setattr__(self, "_at_rest", tuple([part._placements(()) for part in self.parts]))
        if self.up not in _AXES:
            raise ValueError(f"up: expected 'x', 'y' or 'z', got {self.up!r}")

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, up: Literal["x", "y", "z"] = "y", scale: float = 1.0) -> Ground:
        """Read the faces of a Wavefront file (.obj), or the meshes in the scene of a glTF file (.gltf, .glb).

        Parameters
        ----------
        path : str or path
            The file. Faces may have any number of corners; materials, normals and groups are ignored. Skinned meshes of
            a glTF file are left out, see `ikcore.gltf.mesh`.
        up : {"x", "y", "z"}, optional
            The axis of the file that points up. No coordinates are rotated.
        scale : float, optional
            Factor of the coordinates, for instance 0.01 from centimetres to metres.

        Returns
        -------
        Ground
            One mesh.

        Raises
        ------
        ValueError
            If the file is invalid: a sentence, with the line number if it has lines.
        """
        ending = Path(path).suffix.lower()
        if ending not in (".obj", ".gltf", ".glb"):
            raise ValueError(f"{path}: expected a .obj, .gltf or .glb file")
        vertices, faces = obj.read(path) if ending == ".obj" else gltf.mesh(path)
        return cls.mesh(vertices * float(scale), faces, up=up)

    @classmethod
    def mesh(cls, vertices: ArrayLike, faces: ArrayLike, *, up: Literal["x", "y", "z"] = "y") -> Ground:
        """Make a mesh of triangles.

        Parameters
        ----------
        vertices : (vertices, 3) array_like
            Vertex positions. They are stored relative to their centre, to 14 digits of their extent, so the mesh may be
            far from the origin.
        faces : (triangles, 3) array_like of int
            The vertices of each triangle. Those without an area are never hit.
        up : {"x", "y", "z"}, optional
            The axis that points up.

        Returns
        -------
        Ground
            One mesh. Both sides count, see `at` and `cast`.

        Examples
        --------
        >>> square = Ground.mesh([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]], [[0, 1, 2], [0, 2, 3]])
        >>> square.at([0.25, 0.3, 0.5], above=1, below=1).normals.round(3)
        array([-0.707,  0.707,  0.   ])
        """
        points = rows("vertices", vertices, DOUBLE, 3).reshape(-1, 3)
        corners = np.asarray(faces)
        if corners.size == 0:
            corners = np.zeros((0, 3), np.int32)
        if corners.dtype.kind not in "iu":
            raise TypeError(f"faces: expected whole numbers, got {corners.dtype}")
        if corners.ndim != 2 or corners.shape[1] != 3:
            raise ValueError(f"faces: expected an array of shape (triangles, 3), got shape {corners.shape}")
        wrong = np.flatnonzero(((corners < 0) | (corners >= len(points))).any(1))
        if wrong.size:
            bad = corners[wrong[0]].tolist()
            raise ValueError(f"faces: face {wrong[0]} is {bad}; expected vertices, 0 to {len(points) - 1}")
        return cls((Part(_core.Mesh(points, corners.astype(np.int32))),), up)

    @classmethod
    def heights(
        cls,
        grid: ArrayLike,
        spacing: float = 1.0,
        origin: ArrayLike = (0, 0, 0),
        *,
        up: Literal["x", "y", "z"] = "y",
    ) -> Ground:
        """Make a mesh from a grid of heights: two triangles between every four neighbours.

        Parameters
        ----------
        grid : (n, m) array_like
            Heights above the origin. The axes of the grid run along the two axes that follow `up` in x, y, z, x. These
            are z and x if y is up, x and y if z is.
        spacing : float, optional
            Distance between neighbours.
        origin : (3,) array_like, optional
            Position of the first of them at height 0.
        up : {"x", "y", "z"}, optional
            The axis that points up.

        Returns
        -------
        Ground
            One mesh with its front above.

        Examples
        --------
        >>> ramp = Ground.heights([[0, 0, 0], [1, 1, 1]], spacing=2)
        >>> ramp.at([3, 0, 0.5], above=1, below=1).height
        array(0.25)
        """
        height = rows("grid", grid, DOUBLE)
        if height.ndim != 2 or min(height.shape) < 2:
            raise ValueError(f"grid: expected at least 2 x 2 heights, got shape {height.shape}")
        if not np.isfinite(height).all():
            n, m = np.argwhere(~np.isfinite(height))[0].tolist()
            raise ValueError(f"grid: height [{n}, {m}] is not finite: ground with holes is a mesh, `Ground.mesh`")
        if not 0 < spacing < math.inf:
            raise ValueError(f"spacing: expected a positive number, got {spacing!r}")
        along = np.arange(max(height.shape)) * float(spacing)
        n, m = height.shape
        points = _point_of(up, height, along[:n, np.newaxis], along[np.newaxis, :m])
        corner = (np.arange(n - 1)[:, np.newaxis] * m + np.arange(m - 1)).ravel()
        next_, across, both = corner + m, corner + 1, corner + m + 1
        faces = np.stack([corner, next_, both, corner, both, across], axis=-1).reshape(-1, 3)
        return cls.mesh(points.reshape(-1, 3) + rows("origin", origin, DOUBLE, 3), faces, up=up)

    @classmethod
    def plane(cls, normal: ArrayLike | None = None, height: float = 0.0, *, up: Literal["x", "y", "z"] = "y") -> Ground:
        """Make an infinite plane.

        Parameters
        ----------
        normal : (3,) array_like, optional
            Its normal, of any length (default: up).
        height : float, optional
            Its distance from the origin, along the normal.
        up : {"x", "y", "z"}, optional
            The axis that points up.

        Returns
        -------
        Ground
            One plane; everything behind its normal is inside.

        Examples
        --------
        >>> Ground.plane([0, 2, 0], 0.5).at([7, 0.4, 9], above=1, below=1).height
        array(0.5)
        """
        ground = cls((), up)
        n = rows("normal", ground._up if normal is None else normal, DOUBLE, 3)
        length = float(np.sqrt(dot(n, n)))
        if n.ndim != 1 or not 0 < length < math.inf:
            raise ValueError(f"normal: expected three numbers with a length, got {normal!r}")
        if not math.isfinite(height):
            raise ValueError(f"height: expected a finite number, got {height!r}")
        return cls((Part(Plane(n / length, float(height))),), up)

    def fingerprint(self) -> str:
        """A hash of all triangles, planes and placements: two grounds with the same one are the same.

        Returns
        -------
        str
            16 hexadecimal digits.

        Examples
        --------
        >>> import ikcore as ik
        >>> ik.Ground.plane().fingerprint() == ik.Ground.plane(height=0.1).fingerprint()
        False
        """
        found = hashlib.blake2b(self.up.encode(), digest_size=8)
        for part in self.parts:
            body = part.body
            shape = (body.normal, body.height) if isinstance(body, Plane) else (body.vertices, body.faces)
            for values in (*shape, *part._transform):
                array = np.ascontiguousarray(np.nan if values is None else values)
                found.update(repr((array.shape, array.dtype.str)).encode())
                found.update(array.tobytes())
        return found.hexdigest()

    def __repr__(self) -> str:
        return f"Ground({', '.join(map(name_of, self.parts)) or 'nothing'}; {self.up} is up)"

    def __add__(self, other: Ground) -> Ground:
        if not isinstance(other, Ground):
            return NotImplemented
        if self.up != other.up:
            raise ValueError(f"up: these grounds have different ones, {self.up!r} and {other.up!r}")
        return Ground(self.parts + other.parts, self.up)

    def moved(
        self, rotations: ArrayLike | None = None, translations: ArrayLike | None = None, scales: ArrayLike | None = None
    ) -> Ground:
        """Transform the ground, or make it move: scaled and rotated about the origin, then translated.

        Parameters
        ----------
        rotations : (4,) or (frames, 4) array_like, optional
            Quaternions (w, x, y, z) of any length (default: identity).
        translations : (3,) or (frames, 3) array_like, optional
            (default: none).
        scales : (3,) or (frames, 3) array_like, optional
            Factors along x, y and z, positive (default: 1). A single number, or (frames, 1), is for all three. A
            rotated ground can only be scaled uniformly.

        Returns
        -------
        Ground
            The transformed ground. If it has frames, they are the first axis of all queries.

        Examples
        --------
        >>> lift = Ground.plane().moved(translations=[[0, 0, 0], [0, 0.1, 0], [0, 0.2, 0]])
        >>> lift.at(np.zeros((3, 2, 3)), above=1, below=1).height
        array([[0. , 0. ],
               [0.1, 0.1],
               [0.2, 0.2]])
        """
        q = None if rotations is None else frames_of("rotations", rotations, 4)
        t = None if translations is None else frames_of("translations", translations, 3)
        s = None if scales is None else scales_of(scales)
        return Ground(tuple(move_part(part, q, t, s) for part in self.parts), self.up)

    @property
    def moves(self) -> bool:
        """True if any part has a placement per frame."""
        return not self._at_rest and any(part.moves for part in self.parts)

    def still(self, frames: int | slice | NDArray[np.intp]) -> Ground:
        """The ground as it is in one frame, or in some frames.

        Parameters
        ----------
        frames : int, slice or array of int
            The frames.

        Returns
        -------
        Ground
            The ground itself if it does not move.

        Examples
        --------
        >>> lift = Ground.plane().moved(translations=[[0, 0, 0], [0, 0.1, 0], [0, 0.2, 0]])
        >>> lift.still(2).at([0, 0, 0], above=1, below=1).height
        array(0.2)
        """
        return Ground(tuple(part.still(frames) for part in self.parts), self.up) if self.moves else self

    def _check_frames(self, count: int) -> None:
        """Refuse a ground that moves over another number of frames."""
        for part in self.parts:
            for values in part._transform:
                if values is not None:
                    part._frames(values, (count,))

    def cast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        length: ArrayLike | None = None,
        backs: bool = True,
        workers: int | None = 1,
    ) -> Hits:
        """First intersections of rays with the ground.

        A ray also hits the edges and corners of triangles, and never passes between two that share them. A ray in the
        plane of a triangle misses it. Among several hits at the same distance, the first counts.

        Parameters
        ----------
        origins, directions : (..., 3) array_like
            Rays; directions of any length. Leading axes broadcast. If the ground moves, the first is its frames.
        length : (...) array_like, optional
            Farther hits are ignored (default: infinite).
        backs : bool, optional
            True if surfaces seen from behind count.
        workers : int or None, optional
            Number of threads, None for all cores. The result is the same to the bit.

        Returns
        -------
        Hits
            float32 if origins and directions are, else float64; computed in doubles.

        Examples
        --------
        >>> ground = Ground.plane(height=1)
        >>> hits = ground.cast([[0, 3, 0], [0, 0, 0], [0, 3, 0]], [[0, -1, 1], [0, 2, 0], [0, 1, 0]])
        >>> hits.hit, hits.front, hits.distance.round(3)
        (array([ True,  True, False]), array([ True, False, False]), array([2.828, 1.   ,   inf]))
        """
        dtype = number_type(origins, directions)
        given = {
            "origins": rows("origins", origins, DOUBLE, 3),
            "directions": rows("directions", directions, DOUBLE, 3),
            "length": rows("length", np.inf if length is None else length, DOUBLE)[..., np.newaxis],
        }
        shape, (start, way, limit) = _one_each("cast", given)
        count, bodies, each = len(start), self._bodies(shape), max(math.prod(shape[1:]), 1)
        distance, found, normals = np.empty(count), np.empty((count, 3)), np.empty((count, 3))
        triangle, side, part, status = np.empty((4, count), np.int32)
        arrays = (start, way, limit[:, 0], None, distance, found, normals, triangle, side, part, status)

        def solve(block: slice) -> None:
            _core.cast(bodies, each, not backs, block.start, block.stop, *arrays)

        in_blocks(count, RAY * len(bodies), workers, solve)
        return Hits(
            hit=(side != 0).reshape(shape),
            distance=narrow(distance, dtype).reshape(shape),
            points=narrow(found, dtype).reshape(*shape, 3),
            normals=narrow(normals, dtype).reshape(*shape, 3),
            front=(side > 0).reshape(shape),
            part=part.reshape(shape),
            triangle=triangle.reshape(shape),
            status=status.reshape(shape),
        )

    def at(self, points: ArrayLike, *, above: ArrayLike, below: ArrayLike, workers: int | None = 1) -> Surface:
        """The ground under feet: the highest surface within a vertical window about each point.

        The window is a vertical line from `above` the point to `below` it. Choose `above` as the highest possible step.
        The right surface is then found among several floors, and under an overhang. Surfaces count from both sides,
        because many files orient their triangles arbitrarily. If the window begins inside a body, whose surface is then
        seen from behind, only upward-facing surfaces count.

        Parameters
        ----------
        points : (..., 3) array_like
            Points. If the ground moves, their first axis is its frames.
        above, below : (...) array_like
            Extent of the window, as distances.
        workers : int or None, optional
            Number of threads, None for all cores. The result is the same to the bit.

        Returns
        -------
        Surface
            float32 if the points are, else float64; computed in doubles.

        Examples
        --------
        >>> floors = Ground.plane() + Ground.heights(np.full((2, 2), 3.0), spacing=10)
        >>> floors.at([[5, 0.1, 5], [5, 2.9, 5], [5, 1.5, 5]], above=0.5, below=0.5).height
        array([ 0.,  3., nan])
        """
        dtype, axis = number_type(points), _AXES.index(self.up)
        shape, at, rise, drop = _windows(rows("points", points, DOUBLE, 3), above, below)
        count, bodies = len(at), self._bodies(shape)
        hit, part = np.empty(count, np.bool_), np.empty(count, np.int32)
        found, normals, each = np.empty((count, 3)), np.empty((count, 3)), max(math.prod(shape[1:]), 1)

        def solve(block: slice) -> None:
            _core.surface(bodies, each, axis, block.start, block.stop, at, rise, drop, hit, found, normals, part)

        in_blocks(count, RAY * len(bodies), workers, solve)
        found = narrow(found, dtype).reshape(*shape, 3)
        normals = narrow(normals, dtype).reshape(*shape, 3)
        return Surface(hit.reshape(shape), found[..., axis], found, normals, part.reshape(shape))

    def _heights(self, points: NDArray[Any], above: float, below: float, workers: int | None) -> NDArray[Any]:
        """Heights of the ground at points (..., 3), which are doubles in one block. Like `at`, in half its time."""
        shape, at, axis = points.shape[:-1], points.reshape(-1, 3), _AXES.index(self.up)
        count, bodies, each = len(at), self._bodies(shape), max(math.prod(shape[1:]), 1)
        hit, found = np.empty(count, np.bool_), np.empty((count, 3))

        def solve(block: slice) -> None:
            _core.surface(bodies, each, axis, block.start, block.stop, at, above, below, hit, found, None, None)

        in_blocks(count, RAY * len(bodies), workers, solve)
        return found[:, axis].reshape(shape)

    def _ceiling(self, point: NDArray[Any], length: float) -> float | None:
        """Height of the first surface above a point (3,), within `length`, if it is seen from behind.

        Input as in `_heights`.
        """
        found, side, rest = np.empty((1, 3)), np.empty(1, np.int32), (None, None)
        given = point[np.newaxis], self._up[np.newaxis], np.array([length]), *rest, found, *rest, side, *rest
        _core.cast(self._bodies(()), 1, False, 0, 1, *given)
        return float(found[0, _AXES.index(self.up)]) if side[0] < 0 else None

    def _foothold(
        self,
        points: NDArray[Any],
        last: NDArray[Any],
        *,
        jumps: bool,
        step: float,
        window: tuple[float, float],
        same: float,
    ) -> Surface:
        """The ground under a foot that walks from a foothold to a point, or jumps there if that is higher.

        At every step the ground is searched within the window about the last height; without ground the height is kept.
        A point inside the wall of a pit, after a descent into it, is placed above its rim. Heights closer than `same`
        count as equal.
        """
        axis = _AXES.index(self.up)
        hit, found, normals, part = _core.foothold(self._bodies(()), axis, points, last, jumps, step, *window, same)
        return Surface(hit, found[:, axis], found, normals, part)

    @property
    def _up(self) -> NDArray[np.float64]:
        up: NDArray[np.float64] = UNITS[_AXES.index(self.up)]
        return up

    def _bodies(self, shape: tuple[int, ...]) -> tuple[PlacedPart, ...]:
        """The parts and their placements for the core, for rays with these leading axes."""
        return self._at_rest or tuple([part._placements(shape) for part in self.parts])


def _one_each(what: str, given: dict[str, NDArray[Any]]) -> tuple[tuple[int, ...], list[NDArray[Any]]]:
    """Inputs as flat rows, equally many of each, and their common leading axes."""
    leading = {name: array.shape[:-1] for name, array in given.items()}
    shape = broadcast_axes(what, leading, leading)
    size = math.prod(shape)
    return shape, [broadcast_copy(a, (*shape, a.shape[-1])).reshape(size, a.shape[-1]) for a in given.values()]


def _windows(
    points: NDArray[Any], above: ArrayLike, below: ArrayLike
) -> tuple[tuple[int, ...], NDArray[Any], Any, Any]:
    """Flat points, their leading axes, and the extent of the windows: for each, or for all."""
    if type(above) is float and type(below) is float:  # usually
        return points.shape[:-1], points.reshape(-1, 3), above, below
    windows = {"above": rows("above", above, DOUBLE), "below": rows("below", below, DOUBLE)}
    given = {"points": points, **{name: values[..., np.newaxis] for name, values in windows.items()}}
    shape, (start, rise, drop) = _one_each("at", given)
    return shape, start, rise[:, 0], drop[:, 0]


def _point_of(up: str, height: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Points from their height and their coordinates along the two axes that follow up, in x, y, z, x."""
    axis = _AXES.index(up) if up in _AXES else 1  # Ground raises the error
    points = np.empty((*np.broadcast_shapes(height.shape, first.shape, second.shape), 3))
    for shift, values in enumerate((height, first, second)):
        points[..., (axis + shift) % 3] = values
    return points
