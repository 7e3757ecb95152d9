"""Triangles from Wavefront .obj files: vertices and faces only."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ikcore import _files
from ikcore.grounds import polygon

Point = tuple[float, float, float]


def read(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The vertices and triangles of a file; a face with more corners is cut into triangles.

    An invalid file raises ValueError: one sentence with the line number.
    """
    vertices: list[Point] = []
    triangles: list[tuple[int, int, int]] = []
    faces: list[tuple[int, list[int]]] = []
    for number, line in _lines(_files.read(path)):
        keyword, *words = line.split()
        try:
            if keyword == "v":
                vertices.append(_point(words))
            elif keyword == "f":
                faces.append((number, [_index(word, len(vertices)) for word in words]))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    for number, face in faces:
        try:
            triangles += _triangles(face, vertices)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if not triangles:
        raise ValueError(f"{path}: has no faces")
    return np.array(vertices), np.array(triangles, np.int32)


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """The lines with content, with their numbers. A backslash at the end of a line continues it on the next."""
    begun = ""
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        line = begun + line.partition("#")[0].strip()
        begun = f"{line[:-1]} " if line.endswith("\\") else ""
        if line and not begun:
            yield number, line


def _point(words: list[str]) -> Point:
    """Three coordinates; a weight or a colour may follow."""
    try:
        x, y, z = map(float, words[:3])
    except ValueError:
        raise ValueError(f"expected three coordinates after 'v', got {_files.quote(' '.join(words))}") from None
    if not all(map(math.isfinite, (x, y, z))):
        raise ValueError(f"expected finite coordinates, got {_files.quote(' '.join(words))}")
    return x, y, z


def _index(word: str, defined: int) -> int:
    """The vertex index, from 0, of a corner such as 3, 3/1, 3//2 or 3/1/2. A negative one counts back from the last."""
    try:
        number = int(word.partition("/")[0])
    except ValueError:
        raise ValueError(f"expected corners such as 3, 3/1 or 3//2 after 'f', got {_files.quote(word)}") from None
    if number == 0 or number < -defined:
        raise ValueError(f"corner {_files.quote(word)} is no vertex; they count from 1, or back from -1 to {-defined}")
    return number - 1 if number > 0 else defined + number


def _triangles(face: list[int], vertices: list[Point]) -> list[tuple[int, int, int]]:
    """The triangles of a face, with the same orientation."""
    if len(face) < 3:
        raise ValueError(f"expected at least 3 corners after 'f', got {len(face)}")
    if max(face) >= len(vertices):
        raise ValueError(f"corner {_files.shorten(max(face) + 1)} is no vertex; the file has {len(vertices)}")
    if len(face) == 3:
        return [(face[0], face[1], face[2])]
    cut = polygon.triangulate(_flat([vertices[corner] for corner in face]))
    return [(face[a], face[b], face[c]) for a, b, c in cut]


def _flat(points: list[Point]) -> list[tuple[float, float]]:
    """The corners of a face projected along the axis nearest to its normal, counter-clockwise."""
    x, y, z = zip(*points, strict=True)

    def area(u: tuple[float, ...], v: tuple[float, ...]) -> float:
        return sum(u[i - 1] * v[i] - u[i] * v[i - 1] for i in range(len(u)))

    sides = [(area(y, z), y, z), (area(z, x), z, x), (area(x, y), x, y)]
    size, u, v = max(sides, key=lambda side: abs(side[0]))
    return list(zip(u, v, strict=True)) if size >= 0 else list(zip(v, u, strict=True))
