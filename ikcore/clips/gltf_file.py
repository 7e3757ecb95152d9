"""A glTF file: its tree, buffers and accessors."""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ikcore import _files, rotations
from ikcore.clips.clip import FormatError

Array = NDArray[np.float64]
_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_SIZES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_COMPRESSIONS = {"KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression"}


class File:
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
        raise FormatError(f"expected numbers in the folder of the file or below, got {_files.quote(name)}{link}")
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FormatError(f"expected a file of numbers, got {_files.quote(name)}, which is something else")
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"its numbers are in {_files.quote(name)}: {error.strerror}") from error


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


def unique_names(things: list[dict[str, Any]], otherwise: str = "") -> list[str]:
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


def name_list(names: list[str], most: int = 10) -> str:
    """A list of names for a message."""
    return ", ".join([*map(_files.shorten, names[:most]), *["..."] * (len(names) > most)])


def parents_of(nodes: list[dict[str, Any]]) -> dict[int, int]:
    """The parent of every node that has one."""
    return {child: parent for parent, node in enumerate(nodes) for child in node.get("children", [])}


def joints_of(tree: dict[str, Any]) -> list[int]:
    """The joints of all skins and the nodes above them, or all nodes."""
    above = parents_of(tree["nodes"])
    found: set[int] = set()
    for skin in tree.get("skins", []):
        for joint in skin["joints"]:
            while joint is not None and joint not in found:
                found.add(joint)
                joint = above.get(joint)
    return sorted(found) if found else list(range(len(tree["nodes"])))


def node_transform(node: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Translation, rotation and scale of a node without animation."""
    if "matrix" not in node:
        translation, scale = (
            finite_numbers(node.get(part, [other] * 3)) for part, other in (("translation", 0), ("scale", 1))
        )
        return translation, rotations.from_xyzw(finite_numbers(node.get("rotation", [0, 0, 0, 1]))), scale
    matrix = finite_numbers(node["matrix"]).reshape(4, 4).T
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if np.linalg.det(matrix[:3, :3]) < 0:
        scale[0] = -scale[0]
    return matrix[:3, 3], rotations.from_matrix(matrix[:3, :3] / np.where(scale == 0, 1, scale)), scale


def finite_numbers(numbers: list[float]) -> Array:
    """Numbers as an array; refused unless all are finite."""
    found = np.array(numbers, float)
    if not np.isfinite(found).all():
        raise FormatError(f"a damaged glTF file: expected numbers of a node, got {_files.shorten(numbers)}")
    return found
