"""glTF files, .gltf and .glb: clips of the joints of skins, meshes as grounds, and the skin of feet.

In a glTF file, lengths are metres and Y is up. It stores keys at arbitrary times instead of frames, and may hold
several animations.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ikcore import _files, rotations
from ikcore._arrays import transformed
from ikcore.clips import origin
from ikcore.clips.clip import Clip, FormatError
from ikcore.clips.origin import Origin
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[np.float64]
_T = TypeVar("_T")


def animations(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The names of the animations in a file; an animation without a name is named by its number.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    tuple of str
    """
    return _refusing(path, lambda file: tuple(_names(file.json.get("animations", []))))


def read(path: str | os.PathLike[str], animation: str | None = None, *, up: str = "Y", unit: float = 1.0) -> Clip:
    """Read one animation of a glTF file.

    Parameters
    ----------
    path : path
        The file.
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
    return _refusing(path, lambda file: _clip(file, animation, up, unit))


def mesh(path: str | os.PathLike[str]) -> tuple[Array, NDArray[np.int32]]:
    """The triangles in the scene of a glTF file, in world space, as used by `Ground.read`.

    Parameters
    ----------
    path : path
        The file.

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
    return _refusing(path, _triangles)


def moves(path: str | os.PathLike[str]) -> bool:
    """True if an animation moves meshes that `mesh` reads; `mesh` itself ignores animations.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    bool

    Raises
    ------
    FormatError
        If the file is damaged or not a glTF file.
    """
    return _refusing(path, _moves)


def skin(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The vertices of skinned meshes by their most influential joint, in its space, as used by `Feet.detect`.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of str to (vertices, 3) array
        By the name of the joint, as in `read`. Joints without such vertices are missing.

    Raises
    ------
    FormatError
        If the file is damaged or not a glTF file, its meshes are compressed, or none has a skin.
    """
    return _refusing(path, _skin)


def _refusing(path: str | os.PathLike[str], work: Callable[[_File], _T]) -> _T:
    """Run `work` on a file, and turn all errors of damaged files into FormatError."""
    name = os.fspath(path)
    try:
        with np.errstate(all="ignore"):  # values that are not finite are refused where they matter
            return work(_File(Path(path)))
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    except KeyError as error:
        raise FormatError(f"{name}: a damaged glTF file: {_files.cut(error)} is missing") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
        raise FormatError(f"{name}: a damaged glTF file: {_files.cut(error, 200)}") from error


def _clip(file: _File, animation: str | None, up: str, unit: float) -> Clip:
    nodes = _joints(file.json)
    everything = file.json["nodes"]
    above = _parents(everything)
    place = {node: joint for joint, node in enumerate(nodes)}
    placed = [_node_transform(everything[node]) for node in nodes]
    offsets, rest, scales = (np.array(part) for part in zip(*placed, strict=True))
    names = _names(everything, "node ")
    skeleton = Skeleton(
        [place[above[node]] if node in above else -1 for node in nodes], offsets, rest, [names[node] for node in nodes]
    )
    chosen, name = _animation_of(file, animation)
    tracks = _tracks(file, chosen, name, place)
    times, fps = _times([keys for keys, _, _ in tracks.values()])
    file.check_room(len(times) * len(nodes) * 10, f"{len(times)} frames between keys, at {fps:g} a second")
    parts = {"translation": offsets, "rotation": rest, "scale": scales}
    moved = {name: np.tile(part, (len(times), 1, 1)) for name, part in parts.items()}
    for (joint, part), (keys, values, how) in tracks.items():
        moved[part][:, joint] = _sample(keys, values, how, times, part == "rotation")
    if not all(np.isfinite(part).all() for part in moved.values()):
        raise FormatError("a damaged glTF file: motion that is not finite")
    scaled = None if (moved["scale"] == 1).all() else moved["scale"]
    pose = Pose(moved["rotation"], moved["translation"], scaled)
    return Clip(skeleton, pose, fps, up=up, unit=unit, origin=_origin(chosen))


# --- the file --------------------------------------------------------------------------------------------------------

_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_SIZES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_COMPRESSIONS = {"KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression"}


class _File:
    """The JSON of a glTF file, and the numbers that it refers to."""

    def __init__(self, path: Path) -> None:
        data = _files.read(path)
        self._given, self._asked = len(data), 0  # bytes of all files, and count of numbers read from them
        self._folder = path.parent
        self._binary = b""
        if data[:4] == b"glTF":
            data, self._binary = _chunks(data)
        try:
            self.json: dict[str, Any] = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"expected a glTF file, got something else: {error}") from error
        if not isinstance(self.json, dict) or "asset" not in self.json:
            raise FormatError("expected a glTF file, got something else: there is no asset in it")
        self._buffers: dict[int, bytes] = {}

    def numbers(self, accessor: int) -> Array:
        """The rows of an accessor (count, size); normalized integers are converted to 0 to 1."""
        given = self.json["accessors"][accessor]
        if "bufferView" not in given or "sparse" in given:
            raise FormatError("sparse numbers are not read: write the file without")
        view = self.json["bufferViews"][given["bufferView"]]
        self.check_plain(view)
        kind, count, size = np.dtype(_COMPONENTS[given["componentType"]]), given["count"], _SIZES[given["type"]]
        row, start = size * kind.itemsize, given.get("byteOffset", 0)
        stride = view.get("byteStride") or row
        data = memoryview(self._buffer(view["buffer"]))[view.get("byteOffset", 0) :][: view["byteLength"]]
        if min(count, start, stride) < 0 or start + stride * (count - 1) + row > len(data):
            raise FormatError(f"a damaged glTF file: {count} rows of {size} numbers in {len(data)} bytes")
        self._asked += count * size
        self.check_room(self._asked, "numbers that are used again and again")
        rows = np.ndarray((count, size), kind, data, start, (stride, kind.itemsize))
        return rows / np.iinfo(kind).max if given.get("normalized") else rows.astype(np.float64)

    def check_room(self, asked: int, what: str) -> None:
        """Refuse so many numbers if the file is far too small to hold them."""
        if too_much := _files.too_much(asked * np.dtype(float).itemsize, self._given):
            raise FormatError(f"expected about as much as there is in the file, got {what}: {too_much}")

    def check_plain(self, thing: dict[str, Any]) -> None:
        """Refuse compressed data, unless the file also has them uncompressed."""
        how = _COMPRESSIONS & set(thing.get("extensions", ())) & set(self.json.get("extensionsRequired", ()))
        if how:
            raise FormatError(f"compressed numbers ({how.pop()}) are not read: write the file without")

    def _buffer(self, number: int) -> bytes:
        if number not in self._buffers:
            uri = self.json["buffers"][number].get("uri")
            self._buffers[number] = self._binary if uri is None else self._fetch(uri)
        return self._buffers[number]

    def _fetch(self, uri: str) -> bytes:
        if not uri.startswith("data:"):
            found = _read_below(self._folder, unquote(uri))
            self._given += len(found)
            return found
        try:
            return base64.b64decode(uri.partition(",")[2], validate=True)
        except binascii.Error as error:
            raise FormatError(f"a damaged glTF file: {error}") from error


def _read_below(folder: Path, name: str) -> bytes:
    """Read a file in a folder or below. Files elsewhere, also by a link, devices and pipes are refused."""
    path = Path(os.path.realpath(folder / name))
    if not path.is_relative_to(os.path.realpath(folder)):
        link = "" if ".." in Path(name).parts or Path(name).is_absolute() else ", which is a link to elsewhere"
        raise FormatError(f"expected numbers in the folder of the file or below, got {_files.quoted(name)}{link}")
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FormatError(f"expected a file of numbers, got {_files.quoted(name)}, which is something else")
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"its numbers are in {_files.quoted(name)}: {error.strerror}") from error


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """The JSON and the binary chunk of a .glb."""
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2 or length > len(data):
        raise FormatError(f"expected glTF 2 and {length} bytes, got glTF {version} and {len(data)}")
    found: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, at)
        found[kind] = data[at + 8 : at + 8 + size]
        at += 8 + size
    return found[b"JSON"], found.get(b"BIN\0", b"")


def _names(things: list[dict[str, Any]], otherwise: str = "") -> list[str]:
    """Unique names; things without a name, or with a repeated one, are numbered."""
    taken: set[str] = set()
    found = []
    for number, thing in enumerate(things):
        name = str(thing.get("name") or f"{otherwise}{number}")
        while name in taken:
            name += f".{number}"
        taken.add(name)
        found.append(name)
    return found


def _name_list(names: list[str], most: int = 10) -> str:
    """A list of names for a message."""
    return ", ".join([*map(_files.cut, names[:most]), *["..."] * (len(names) > most)])


# --- the nodes -------------------------------------------------------------------------------------------------------


def _parents(nodes: list[dict[str, Any]]) -> dict[int, int]:
    return {child: parent for parent, node in enumerate(nodes) for child in node.get("children", [])}


def _joints(tree: dict[str, Any]) -> list[int]:
    """The joints of all skins and the nodes above them, or all nodes."""
    above = _parents(tree["nodes"])
    found: set[int] = set()
    for skin in tree.get("skins", []):
        for joint in skin["joints"]:
            while joint is not None and joint not in found:
                found.add(joint)
                joint = above.get(joint)
    return sorted(found) if found else list(range(len(tree["nodes"])))


def _node_transform(node: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Translation, rotation and scale of a node without animation."""
    if "matrix" not in node:
        translation, scale = (
            _finite(node.get(part, [other] * 3)) for part, other in (("translation", 0), ("scale", 1))
        )
        return translation, rotations.from_xyzw(_finite(node.get("rotation", [0, 0, 0, 1]))), scale
    matrix = _finite(node["matrix"]).reshape(4, 4).T
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if np.linalg.det(matrix[:3, :3]) < 0:
        scale[0] = -scale[0]
    return matrix[:3, 3], rotations.from_matrix(matrix[:3, :3] / np.where(scale == 0, 1, scale)), scale


def _finite(numbers: list[float]) -> Array:
    found = np.array(numbers, float)
    if not np.isfinite(found).all():
        raise FormatError(f"a damaged glTF file: expected numbers of a node, got {_files.cut(numbers)}")
    return found


# --- meshes ----------------------------------------------------------------------------------------------------------


def _triangles(file: _File) -> tuple[Array, NDArray[np.int32]]:
    vertices, faces, count = [], [], 0
    for node, matrix in _scene(file.json):
        mirrored = np.linalg.det(matrix[:3, :3]) < 0
        for primitive in _primitives(file.json, node, skinned=False):
            points = _transform(_vertices(file, primitive), matrix)
            corners = _corners(file, primitive, len(points))
            vertices.append(points)
            faces.append(count + (corners[:, ::-1] if mirrored else corners))
            count += len(points)
    if not sum(map(len, faces)):
        raise FormatError("expected triangles in the scene, got none")
    return np.concatenate(vertices), np.concatenate(faces).astype(np.int32)


def _moves(file: _File) -> bool:
    nodes = file.json.get("nodes", [])
    animated = {
        channel["target"].get("node")
        for animation in file.json.get("animations", [])
        for channel in animation["channels"]
        if channel["target"]["path"] != "weights"
    }
    waiting = [node for node in animated if node is not None]
    seen = set(waiting)
    while waiting:
        node = nodes[waiting.pop()]
        if _primitives(file.json, node, skinned=False):
            return True
        below = set(node.get("children", [])) - seen
        seen |= below
        waiting += below
    return False


def _skin(file: _File) -> dict[str, Array]:
    found = defaultdict(list)
    names = _names(file.json["nodes"], "node ")
    for node in file.json["nodes"]:
        for primitive in _primitives(file.json, node, skinned=True):
            given = file.json["skins"][node["skin"]]
            into = _into_joints(file, given)
            vertices, most = _vertices(file, primitive), _most(file, primitive["attributes"])
            for joint in np.unique(most).tolist():
                found[names[given["joints"][joint]]].append(_transform(vertices[most == joint], into[joint]))
    if not found:
        raise FormatError("expected a mesh with a skin, got none")
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _scene(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Array]]:
    """The nodes of the scene, each with its world matrix (4, 4)."""
    nodes, below = tree["nodes"], _parents(tree["nodes"])
    scenes = tree.get("scenes") or [{"nodes": [node for node in range(len(nodes)) if node not in below]}]
    waiting = [(node, np.eye(4)) for node in scenes[tree.get("scene", 0)].get("nodes", [])]
    seen = set()
    while waiting:
        number, above = waiting.pop()
        if number in seen:
            raise FormatError(f"a damaged glTF file: node {number} is in the scene twice")
        seen.add(number)
        matrix = _product(above, _matrix(nodes[number]))
        waiting += [(child, matrix) for child in reversed(nodes[number].get("children", []))]
        yield nodes[number], matrix


def _product(above: Array, matrix: Array) -> Array:
    """The product of two affine matrices (4, 4)."""
    found = np.eye(4)
    found[:3] = transformed(above[:3, :3], matrix[:3].T).T
    found[:3, 3] += above[:3, 3]
    return found


def _matrix(node: dict[str, Any]) -> Array:
    """The matrix (4, 4) from the space of a node to that of its parent."""
    if "matrix" in node:
        return _finite(node["matrix"]).reshape(4, 4).T
    translation, rotation, scale = _node_transform(node)
    matrix = np.eye(4)
    matrix[:3, :3] = rotations.to_matrix(rotation) * scale
    matrix[:3, 3] = translation
    return matrix


def _primitives(tree: dict[str, Any], node: dict[str, Any], *, skinned: bool) -> list[dict[str, Any]]:
    """The primitives of a node's mesh, if it has one with a skin, or without."""
    there = "mesh" in node and ("skin" in node) == skinned
    return list(tree["meshes"][node["mesh"]]["primitives"]) if there else []


def _vertices(file: _File, primitive: dict[str, Any]) -> Array:
    file.check_plain(primitive)
    found = file.numbers(primitive["attributes"]["POSITION"])
    if found.shape[1] != 3:
        raise FormatError(f"a damaged glTF file: vertices of {found.shape[1]} numbers")
    return found


def _corners(file: _File, primitive: dict[str, Any], vertices: int) -> NDArray[np.int64]:
    """The vertices of every triangle (triangles, 3); none for points and lines."""
    listed = file.numbers(primitive["indices"])[:, 0] if "indices" in primitive else np.arange(vertices)
    if not ((listed >= 0) & (listed < vertices)).all():
        raise FormatError(f"a damaged glTF file: corners of triangles that are none of the {vertices} vertices")
    listed, mode = listed.astype(np.int64), primitive.get("mode", 4)
    first = np.arange(max(0, len(listed) - 2))
    if mode == 5:  # a strip: every other triangle is reversed
        return listed[np.stack([first, first + 1 + first % 2, first + 2 - first % 2], axis=-1)]
    if mode == 6:  # a fan
        return listed[np.stack([first + 1, first + 2, 0 * first], axis=-1)]
    if mode == 4 and len(listed) % 3:
        raise FormatError(f"a damaged glTF file: triangles of {len(listed)} corners together")
    return listed[: len(listed) if mode == 4 else 0].reshape(-1, 3)


def _transform(points: Array, matrix: Array) -> Array:
    moved = transformed(matrix[:3, :3], points) + matrix[:3, 3]
    if not np.isfinite(moved).all():
        raise FormatError("a damaged glTF file: vertices that are not finite")
    return moved


def _into_joints(file: _File, skin: dict[str, Any]) -> Array:
    """The matrices from the space of a mesh to that of every joint (joints, 4, 4)."""
    if "inverseBindMatrices" not in skin:
        return np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
    return file.numbers(skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(1, 2)


def _most(file: _File, attributes: dict[str, Any]) -> NDArray[np.int64]:
    """The joint with the largest weight for every vertex, by its number in the skin."""
    sets = range(sum(name.startswith("JOINTS_") for name in attributes))
    joints, weights = (
        np.hstack([file.numbers(attributes[f"{kind}_{number}"]) for number in sets]) for kind in ("JOINTS", "WEIGHTS")
    )
    most = np.take_along_axis(joints, weights.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    return most.astype(np.int64)


# --- the animation ---------------------------------------------------------------------------------------------------

_Track = tuple[Array, Array, str]  # times of the keys, their values, interpolation


def _animation_of(file: _File, animation: str | None) -> tuple[dict[str, Any], str]:
    """An animation and its name."""
    given = file.json.get("animations", [])
    names = _names(given)
    if animation is None and len(names) != 1:
        found = f"{len(names)}: {_name_list(names)}; name one with `animation`" if names else "none"
        raise FormatError(f"expected one animation, got {found}")
    if animation is not None and animation not in names:
        raise FormatError(f"there is no animation {animation!r} among {_name_list(names) or 'none'}")
    at = 0 if animation is None else names.index(animation)
    return given[at], names[at]


def _origin(chosen: dict[str, Any]) -> Origin | None:
    """The origin in the extras of an animation, as text or as an object."""
    extras = chosen.get("extras")
    said = extras.get(origin.NAME) if isinstance(extras, dict) else None
    return None if said is None else Origin.from_json(said if isinstance(said, str) else json.dumps(said))


def _tracks(file: _File, chosen: dict[str, Any], name: str, place: dict[int, int]) -> dict[tuple[int, str], _Track]:
    """The keys of every joint's translation, rotation and scale that moves."""
    tracks = {}
    for channel in chosen["channels"]:
        node, part = channel["target"].get("node"), channel["target"]["path"]
        if node in place and part in ("translation", "rotation", "scale"):
            sampler = chosen["samplers"][channel["sampler"]]
            tracks[place[node], part] = _track(file, sampler, 4 if part == "rotation" else 3)
    if not tracks:
        raise FormatError(f"expected an animation of joints, got none in {_files.quoted(name)}")
    return tracks


def _track(file: _File, sampler: dict[str, Any], size: int) -> _Track:
    keys, values = file.numbers(sampler["input"])[:, 0], file.numbers(sampler["output"])
    how = sampler.get("interpolation", "LINEAR")
    each = 3 if how == "CUBICSPLINE" else 1  # each key includes the tangents before and after it
    if how not in ("STEP", "LINEAR", "CUBICSPLINE") or not len(keys) or values.shape != (each * len(keys), size):
        raise FormatError(f"a damaged glTF file: {len(keys)} keys of {values.shape} numbers, {_files.cut(how)}")
    if not (np.isfinite(keys).all() and np.isfinite(values).all() and (np.diff(keys) > 0).all()):
        raise FormatError("a damaged glTF file: keys that are not finite, or whose times do not ascend")
    values = values.reshape(len(keys), each, size)
    return keys, rotations.from_xyzw(values) if size == 4 else values, how


def _times(tracks: list[Array]) -> tuple[Array, float]:
    """Times of the frames, and frames per second."""
    start, end = min(keys[0] for keys in tracks), max(keys[-1] for keys in tracks)
    most = max(tracks, key=len)
    fps = 30.0 if len(most) < 2 else float(1 / np.median(np.diff(most)))
    whole = round(fps)  # the times are single precision
    fps = float(whole) if whole and abs(fps - whole) < 0.01 else fps
    frames = np.ceil((end - start) * fps - 0.01) + 1
    if frames > 1e6:
        raise FormatError(f"expected times in seconds, got {end - start:g} of them at {fps:g} a second")
    return start + np.arange(frames) / fps, fps


def _sample(keys: Array, values: Array, how: str, times: Array, rotation: bool) -> Array:
    """The values at these times, constant before the first key and after the last."""
    before = np.clip(np.searchsorted(keys, times + 1e-5, "right") - 1, 0, len(keys) - 1)
    after = np.minimum(before + 1, len(keys) - 1)
    if how == "STEP":
        held: Array = values[before, 0]
        return held
    apart = np.where(after > before, keys[after] - keys[before], 1)
    share = np.clip((times - keys[before]) / apart, 0, 1)
    if how == "CUBICSPLINE":
        found = _cubic(values[before], values[after], apart[:, np.newaxis], share[:, np.newaxis])
        return rotations.normalize(found) if rotation else found
    if rotation:
        return rotations.slerp(values[before, 0], values[after, 0], share)
    straight: Array = values[before, 0] + share[:, np.newaxis] * (values[after, 0] - values[before, 0])
    return straight


def _cubic(before: Array, after: Array, apart: Array, share: Array) -> Array:
    """Cubic interpolation between keys: each has the tangent before it, its value, and the tangent after it."""
    start, end = before[:, 1], after[:, 1]
    leaving, arriving = before[:, 2] * apart, after[:, 0] * apart
    square, cube = 3 * (end - start) - 2 * leaving - arriving, 2 * (start - end) + leaving + arriving
    found: Array = start + share * (leaving + share * (square + share * cube))
    return found


__all__ = ["animations", "mesh", "moves", "read", "skin"]


def __dir__() -> list[str]:
    return __all__
