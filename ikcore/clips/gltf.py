"""glTF files, .gltf and .glb: clips of the joints of skins, meshes as grounds, and the skin of feet.

In a glTF file, lengths are metres and Y is up. It stores keys at arbitrary times instead of frames, and may hold
several animations.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ikcore import _files
from ikcore.clips.clip import Clip, FormatError
from ikcore.clips.gltf_animation import animation_of, origin_of, sample, times_of, tracks_of
from ikcore.clips.gltf_file import Array, File, joints_of, node_transform, parents_of, unique_names
from ikcore.clips.gltf_mesh import moves_in, skin_of, triangles_of
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

_T = TypeVar("_T")


def animations(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The names of the animations in a file; an animation without a name is named by its number.

    Returns
    -------
    tuple of str
    """
    return _read_or_refuse(path, lambda file: tuple(unique_names(file.json.get("animations", []))))


def read(path: str | os.PathLike[str], animation: str | None = None, *, up: str = "Y", unit: float = 1.0) -> Clip:
    """Read one animation of a glTF file.

    Parameters
    ----------
    path : path
    animation : str, optional
        Its name, one of `animations`. It may be omitted if there is only one.
    up, unit : optional
        For files that do not use Y and metres.

    Returns
    -------
    Clip
        The joints of all skins and the nodes above them; all nodes if there is no skin. A node without a name is named
        by its number, such as "node 7". The rest pose is the file's own without an animation. The rate is that of the
        joint with most keys. The last frame is at the last key, or the first one after it. Its origin is that in the
        extras of the animation, "ikcore origin", `Origin.to_json`.

    Raises
    ------
    FormatError
        If the file is damaged or not a glTF file.
    """
    return _read_or_refuse(path, lambda file: _clip(file, animation, up, unit))


def mesh(path: str | os.PathLike[str]) -> tuple[Array, NDArray[np.int32]]:
    """The triangles in the scene of a glTF file, in world space, as used by `Ground.read`.

    Returns
    -------
    vertices : (vertices, 3) array
        Vertices of all meshes, transformed by their nodes; a mesh of several nodes is repeated.
    faces : (triangles, 3) array of int32
        The vertices of each, counter-clockwise seen from the front. Points, lines and skinned meshes are left out;
        morph targets are ignored.

    Raises
    ------
    FormatError
        If the file is damaged or not a glTF file, its meshes are compressed, or it has no triangles.
    """
    return _read_or_refuse(path, triangles_of)


def moves(path: str | os.PathLike[str]) -> bool:
    """True if an animation moves meshes that `mesh` reads; `mesh` itself ignores animations.

    Returns
    -------
    bool

    Raises
    ------
    FormatError
        If the file is damaged or not a glTF file.
    """
    return _read_or_refuse(path, moves_in)


def skin(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The vertices of skinned meshes by their most influential joint, in its space, as used by `Feet.detect`.

    Returns
    -------
    dict of str to (vertices, 3) array
        By the name of the joint, as in `read`. Joints without such vertices are missing.

    Raises
    ------
    FormatError
        If the file is damaged or not a glTF file, its meshes are compressed, or none has a skin.
    """
    return _read_or_refuse(path, skin_of)


def _read_or_refuse(path: str | os.PathLike[str], work: Callable[[File], _T]) -> _T:
    """Run `work` on a file, and turn all errors of damaged files into FormatError."""
    name = os.fspath(path)
    try:
        with np.errstate(all="ignore"):  # values that are not finite are refused where they matter
            return work(File(Path(path)))
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    except KeyError as error:
        raise FormatError(f"{name}: a damaged glTF file: {_files.shorten(error)} is missing") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
        raise FormatError(f"{name}: a damaged glTF file: {_files.shorten(error, 200)}") from error


def _clip(file: File, animation: str | None, up: str, unit: float) -> Clip:
    nodes = joints_of(file.json)
    everything = file.json["nodes"]
    above = parents_of(everything)
    place = {node: joint for joint, node in enumerate(nodes)}
    placed = [node_transform(everything[node]) for node in nodes]
    offsets, rest, scales = (np.array(part) for part in zip(*placed, strict=True))
    names = unique_names(everything, "node ")
    skeleton = Skeleton(
        [place[above[node]] if node in above else -1 for node in nodes], offsets, rest, [names[node] for node in nodes]
    )
    chosen, name = animation_of(file, animation)
    tracks = tracks_of(file, chosen, name, place)
    times, fps = times_of([keys for keys, _, _ in tracks.values()])
    file.check_room(len(times) * len(nodes) * 10, f"{len(times)} frames between keys, at {fps:g} a second")
    parts = {"translation": offsets, "rotation": rest, "scale": scales}
    moved = {name: np.tile(part, (len(times), 1, 1)) for name, part in parts.items()}
    for (joint, part), (keys, values, how) in tracks.items():
        moved[part][:, joint] = sample(keys, values, how, times, part == "rotation")
    if not all(np.isfinite(part).all() for part in moved.values()):
        raise FormatError("a damaged glTF file: motion that is not finite")
    scaled = None if (moved["scale"] == 1).all() else moved["scale"]
    pose = Pose(moved["rotation"], moved["translation"], scaled)
    return Clip(skeleton, pose, fps, up=up, unit=unit, origin=origin_of(chosen))


__all__ = ["animations", "mesh", "moves", "read", "skin"]


def __dir__() -> list[str]:
    return __all__
