"""Meshes and skins of a glTF file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import transform_vectors
from ikcore.clips.clip import FormatError
from ikcore.clips.gltf_file import Array, File, finite_numbers, node_transform, parents_of, unique_names


def triangles_of(file: File) -> tuple[Array, NDArray[np.int32]]:
    """Vertices and faces of all meshes without a skin, in the world."""
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


def moves_in(file: File) -> bool:
    """Whether a node above a mesh without a skin is animated."""
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


def skin_of(file: File) -> dict[str, Array]:
    """The vertices that follow each joint most, in the space of that joint."""
    found = defaultdict(list)
    names = unique_names(file.json["nodes"], "node ")
    for node in file.json["nodes"]:
        for primitive in _primitives(file.json, node, skinned=True):
            given = file.json["skins"][node["skin"]]
            into = _into_joints(file, given)
            vertices, most = _vertices(file, primitive), _heaviest_joints(file, primitive["attributes"])
            for joint in np.unique(most).tolist():
                found[names[given["joints"][joint]]].append(_transform(vertices[most == joint], into[joint]))
    if not found:
        raise FormatError("expected a mesh with a skin, got none")
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _scene(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Array]]:
    """The nodes of the scene, each with its world matrix (4, 4)."""
    nodes, below = tree["nodes"], parents_of(tree["nodes"])
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
    found[:3] = transform_vectors(above[:3, :3], matrix[:3].T).T
    found[:3, 3] += above[:3, 3]
    return found


def _matrix(node: dict[str, Any]) -> Array:
    """The matrix (4, 4) from the space of a node to that of its parent."""
    if "matrix" in node:
        return finite_numbers(node["matrix"]).reshape(4, 4).T
    translation, rotation, scale = node_transform(node)
    matrix = np.eye(4)
    matrix[:3, :3] = rotations.to_matrix(rotation) * scale
    matrix[:3, 3] = translation
    return matrix


def _primitives(tree: dict[str, Any], node: dict[str, Any], *, skinned: bool) -> list[dict[str, Any]]:
    """The primitives of a node's mesh, if it has one with a skin, or without."""
    there = "mesh" in node and ("skin" in node) == skinned
    return list(tree["meshes"][node["mesh"]]["primitives"]) if there else []


def _vertices(file: File, primitive: dict[str, Any]) -> Array:
    file.check_plain(primitive)
    found = file.numbers(primitive["attributes"]["POSITION"])
    if found.shape[1] != 3:
        raise FormatError(f"a damaged glTF file: vertices of {found.shape[1]} numbers")
    return found


def _corners(file: File, primitive: dict[str, Any], vertices: int) -> NDArray[np.int64]:
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
    moved = transform_vectors(matrix[:3, :3], points) + matrix[:3, 3]
    if not np.isfinite(moved).all():
        raise FormatError("a damaged glTF file: vertices that are not finite")
    return moved


def _into_joints(file: File, skin: dict[str, Any]) -> Array:
    """The matrices from the space of a mesh to that of every joint (joints, 4, 4)."""
    if "inverseBindMatrices" not in skin:
        return np.tile(np.eye(4), (len(skin["joints"]), 1, 1))
    return file.numbers(skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(1, 2)


def _heaviest_joints(file: File, attributes: dict[str, Any]) -> NDArray[np.int64]:
    """The joint with the largest weight for every vertex, by its number in the skin."""
    sets = range(sum(name.startswith("JOINTS_") for name in attributes))
    joints, weights = (
        np.hstack([file.numbers(attributes[f"{kind}_{number}"]) for number in sets]) for kind in ("JOINTS", "WEIGHTS")
    )
    most = np.take_along_axis(joints, weights.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    return most.astype(np.int64)
