"""glTF files, against a slow evaluator of the keys they were made with."""

from __future__ import annotations

import base64
import json
import math
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import mocap
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]
FPS = 24
HALF = math.sqrt(0.5)

# --- a file with everything ------------------------------------------------------------------------------------------

# Keys by node and part: interpolation, times in frames, values. A cubic spline: tangent, value and tangent.
NOD = ("rotation", "LINEAR", [0, 2, 8], [[0, 0, 0, 1], [HALF, 0, 0, HALF], [0, 0, -HALF, -HALF]])
HOP = ("translation", "STEP", [0, 3, 8], [[0, 1, 0], [0, 2, 0], [1, 1, 1]])
SWELL = ("scale", "LINEAR", [2, 6], [[1, 1, 1], [2, 3, 0.5]])
SWAY = (
    *("translation", "CUBICSPLINE", [0, 4, 8]),
    [[[0, 0, 0], [0, 1, 0], [3, 0, 0]], [[1, 2, 3], [1, 1, 0], [0, -2, 1]], [[0, 5, 0], [2, 0, 0], [0, 0, 0]]],
)
ROLL = (
    *("rotation", "CUBICSPLINE", [0, 8]),
    [[[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]], [[0, 2, 0, 0], [0, HALF, 0, HALF], [0, 0, 0, 0]]],
)
SHORTS = (
    "rotation",
    "LINEAR",
    range(9),
    [[round(32767 * math.sin(0.1 * i)), 0, 0, round(32767 * math.cos(0.1 * i))] for i in range(9)],
)
EVERYTHING: dict[int, list[Any]] = {3: [HOP, NOD, SWELL], 1: [SWAY], 4: [ROLL], 5: [SHORTS]}
BEGIN = 5 / FPS  # animations need not start at 0


COMPONENTS = {5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Builder:
    """A glTF tree and its numbers."""

    def __init__(self) -> None:
        self.binary = b""
        self.tree: dict[str, Any] = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": [], "buffers": []}

    def accessor(self, values: Any, kind: str, component: int = 5126, **more: Any) -> int:
        data = np.array(values, COMPONENTS[component])
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": data.nbytes}
        self.binary += data.tobytes() + b"\0" * (-data.nbytes % 4)
        given = {
            "bufferView": len(self.tree["bufferViews"]),
            "type": kind,
            "count": data.size // data.shape[-1] if data.ndim > 1 else data.size,
            "componentType": component,
        }
        self.tree["bufferViews"].append(view)
        self.tree["accessors"].append(given | more)
        return len(self.tree["accessors"]) - 1

    def mesh(self, *primitives: dict[str, Any]) -> int:
        self.tree.setdefault("meshes", []).append({"primitives": list(primitives)})
        return len(self.tree["meshes"]) - 1

    def animation(self, tracks: dict[int, list[Any]], **more: Any) -> None:
        samplers: list[Any] = []
        channels: list[Any] = []
        for node, parts in tracks.items():
            for part, how, frames, values in parts:
                times = self.accessor(np.array(list(frames)) / FPS + BEGIN, "SCALAR")
                kind = "VEC4" if part == "rotation" else "VEC3"
                shorts: Any = (
                    {"component": 5122, "normalized": True} if part == "rotation" and np.max(values) > 2 else {}
                )
                output = self.accessor(values, kind, **shorts)
                channels.append({"sampler": len(samplers), "target": {"node": node, "path": part}})
                samplers.append(
                    {"input": times, "output": output} | ({} if how == "LINEAR" else {"interpolation": how})
                )
        self.tree.setdefault("animations", []).append({"samplers": samplers, "channels": channels} | more)


def everything() -> Builder:
    """Two nodes of one name, two without, a scaled armature, a matrix, a node that belongs to no skin."""
    made = Builder()
    quarter = [0, 0, 1, 0, 0, 1, 0, 0, -1, 0, 0, 0, 7, 8, 9, 1]  # by columns: about y, then a shift
    made.tree["nodes"] = [
        {"name": "lamp", "children": []},
        {"name": "hips", "translation": [0, 1, 0], "children": [3, 5]},
        {"name": "Armature", "scale": [0.5, 0.5, 0.5], "rotation": [HALF, 0, 0, HALF], "children": [1]},
        {"name": "hips", "translation": [0, 1, 0], "rotation": [0, HALF, 0, HALF], "children": [4]},
        {"translation": [0, 0.5, 0]},
        {"matrix": quarter},
    ]
    made.tree["skins"] = [{"joints": [1, 3]}, {"joints": [4, 5]}]
    made.animation(EVERYTHING, name="all")
    made.animation({1: [HOP]})
    return made


def gltf(made: Builder, folder: Path) -> Path:
    uri = f"data:application/octet-stream;base64,{base64.b64encode(made.binary).decode()}"
    path = folder / "some.gltf"
    path.write_text(json.dumps(made.tree | {"buffers": [{"uri": uri, "byteLength": len(made.binary)}]}))
    return path


def beside(made: Builder, folder: Path) -> Path:
    (folder / "some numbers.bin").write_bytes(made.binary)
    path = folder / "beside.gltf"
    path.write_text(
        json.dumps(made.tree | {"buffers": [{"uri": "some%20numbers.bin", "byteLength": len(made.binary)}]})
    )
    return path


def glb(made: Builder, folder: Path) -> Path:
    text = json.dumps(made.tree | {"buffers": [{"byteLength": len(made.binary)}]}).encode()
    text += b" " * (-len(text) % 4)
    binary = made.binary + b"\0" * (-len(made.binary) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    path = folder / "some.glb"
    path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
    return path


# --- the truth -------------------------------------------------------------------------------------------------------


def slow_value(track: Any, frame: float) -> Array:
    """One part at one time: as the specification has it, with quaternions (x, y, z, w)."""
    part, how, frames, values = track
    keys, numbers = list(frames), np.array(values, float)
    if np.max(numbers) > 2 and part == "rotation":
        numbers = numbers / 32767
    value = numbers if how != "CUBICSPLINE" else numbers[:, 1]
    if frame <= keys[0]:
        return np.asarray(value[0])
    if frame >= keys[-1]:
        return np.asarray(value[-1])
    k = max(i for i, key in enumerate(keys) if key <= frame)
    t, apart = (frame - keys[k]) / (keys[k + 1] - keys[k]), (keys[k + 1] - keys[k]) / FPS
    if how == "STEP":
        return np.asarray(value[k])
    if how == "CUBICSPLINE":
        blend = [2 * t**3 - 3 * t**2 + 1, apart * (t**3 - 2 * t**2 + t), -2 * t**3 + 3 * t**2, apart * (t**3 - t**2)]
        parts = [numbers[k, 1], numbers[k, 2], numbers[k + 1, 1], numbers[k + 1, 0]]
        found = sum(share * row for share, row in zip(blend, parts, strict=True))
        return np.asarray(found / np.linalg.norm(found) if part == "rotation" else found)
    if part != "rotation":
        return np.asarray((1 - t) * value[k] + t * value[k + 1])
    a, b = value[k] / np.linalg.norm(value[k]), value[k + 1] / np.linalg.norm(value[k + 1])
    b = -b if a @ b < 0 else b
    angle = math.acos(min(1, a @ b))
    return np.asarray(
        (math.sin((1 - t) * angle) * a + math.sin(t * angle) * b) / math.sin(angle) if angle > 1e-9 else a
    )


def check_everything(clip: ik.Clip) -> None:
    nodes = [1, 2, 3, 4, 5]  # of the joints
    for joint, node in enumerate(nodes):
        for frame in range(len(clip)):
            for track in EVERYTHING.get(node, []):
                truth = slow_value(track, frame)
                if track[0] == "rotation":
                    x, y, z, w = truth
                    found = ik.rotations.to_matrix(clip.pose.rotations[frame, joint])
                    assert_allclose(found, ik.rotations.to_matrix([w, x, y, z]), atol=1e-5)
                else:
                    values = getattr(clip.pose, f"{track[0]}s")[frame, joint]
                    assert_allclose(values, truth, atol=1e-5, err_msg=f"{track[0]} {frame}")


@pytest.mark.parametrize("form", [gltf, beside, glb])
def test_all_ways_to_go_from_key_to_key(tmp_path: Path, form: Any) -> None:
    clip = ik.Clip.read(form(everything(), tmp_path), "all")
    assert (len(clip), clip.fps, clip.up, clip.unit) == (9, FPS, "Y", 1.0)
    check_everything(clip)


def test_joints_are_those_of_skins_and_what_is_above(tmp_path: Path) -> None:
    path = gltf(everything(), tmp_path)
    assert ik.gltf.animations(path) == ("all", "1")
    clip = ik.gltf.read(path, "1", up="Z", unit=0.01)
    assert clip.skeleton.names == ("hips", "Armature", "hips.3", "node 4", "node 5")
    assert clip.skeleton.parents.tolist() == [1, -1, 0, 2, 0]
    assert (clip.up, clip.unit) == ("Z", 0.01)
    still = clip.skeleton.forward(clip.pose[0]).positions
    assert_allclose(still[4], [3.5, -4.5, 4.5], atol=1e-6)  # (7, 8, 9) above the hips, turned about x, and halved
    assert_allclose(
        ik.rotations.to_matrix(clip.skeleton.rest.rotations[4]), [[0, 0, -1], [0, 1, 0], [1, 0, 0]], atol=1e-12
    )


def test_without_a_skin_all_nodes_are_joints(tmp_path: Path) -> None:
    made = everything()
    del made.tree["skins"]
    clip = ik.Clip.read(glb(made, tmp_path), "all")
    assert clip.skeleton.names == ("lamp", "hips", "Armature", "hips.3", "node 4", "node 5")


def test_a_matrix_may_scale_and_mirror(tmp_path: Path) -> None:
    made = Builder()
    matrix = np.array([[0, -2, 0, 1], [3, 0, 0, 2], [0, 0, -0.5, 3], [0, 0, 0, 1]])
    made.tree["nodes"] = [
        {"matrix": matrix.T.ravel().tolist(), "children": [1]},
        {"translation": [1, 2, 3], "name": "tip"},
        {"name": "ball"},
    ]
    made.animation({2: [HOP]})
    clip = ik.Clip.read(glb(made, tmp_path))
    assert_allclose(clip.skeleton.forward(clip.pose).positions[0, 1], (matrix @ [1, 2, 3, 1])[:3], atol=1e-12)


def test_interleaved_numbers(tmp_path: Path) -> None:
    """Rows of a time and a place, one after the other."""
    made = Builder()
    made.tree["nodes"] = [{"name": "ball"}]
    rows = np.arange(20, dtype="<f4").reshape(5, 4)
    made.binary = b"....." + rows.tobytes()
    made.tree["bufferViews"] = [{"buffer": 0, "byteOffset": 5, "byteLength": 80, "byteStride": 16}]
    scalar = {"bufferView": 0, "componentType": 5126, "type": "SCALAR", "count": 5}
    made.tree["accessors"] = [scalar, scalar | {"byteOffset": 4, "type": "VEC3"}]
    target = {"node": 0, "path": "translation"}
    made.tree["animations"] = [
        {"samplers": [{"input": 0, "output": 1}], "channels": [{"sampler": 0, "target": target}]}
    ]
    clip = ik.Clip.read(glb(made, tmp_path))
    assert clip.fps == 0.25
    assert_array_equal(np.asarray(clip.pose.translations)[:, 0], rows[:, 1:])


def test_a_last_key_between_frames_is_not_lost(tmp_path: Path) -> None:
    made = Builder()
    made.tree["nodes"] = [{"name": "ball"}]
    times = [*range(6), 5.8]
    made.animation({0: [("translation", "LINEAR", times, [[t, 0, 0] for t in times])]})
    clip = ik.Clip.read(glb(made, tmp_path))
    assert_allclose(np.asarray(clip.pose.translations)[:, 0, 0], [0, 1, 2, 3, 4, 5, 5.8], atol=1e-5)


def test_a_clip_of_scaled_nodes_is_written_where_it_is(tmp_path: Path) -> None:
    clip = ik.Clip.read(glb(everything(), tmp_path), "1")
    clip.write(tmp_path / "out.bvh")
    back = ik.Clip.read(tmp_path / "out.bvh")
    joints = [back.skeleton.index(name) for name in clip.skeleton.names]
    here, there = (each.skeleton.forward(each.pose).positions for each in (back, clip))
    assert_allclose(here[:, joints], there, atol=5e-6)


# --- meshes ----------------------------------------------------------------------------------------------------------

CUBE = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
FACES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]
OUTLINE = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0]]
TURN = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])  # x to y, y to z, z to x: the quaternion below, of any length
SHEAR = np.array([[1, 0.5, 0, 3], [0, 2, 0, 0], [0, 0, -1, 1], [0, 0, 0, 1]])


def scene() -> Builder:
    """Triangles of every kind, in nodes that turn, stretch, mirror and shear; and what is no ground."""
    made = Builder()
    cube = {"POSITION": made.accessor(CUBE, "VEC3")}
    outline = {"POSITION": made.accessor(OUTLINE, "VEC3")}
    shorts = {"POSITION": made.accessor(np.array(OUTLINE) * 16383.5, "VEC3", 5122, normalized=True)}
    list_, strip = (
        {"attributes": cube, "indices": made.accessor(np.ravel(FACES), "SCALAR", code)} for code in (5121, 5125)
    )
    meshes = [
        made.mesh(list_),
        made.mesh({"attributes": outline, "mode": 5}, {"attributes": outline, "mode": 0}),
        made.mesh({"attributes": outline, "mode": 6, "indices": made.accessor([4, 3, 1, 0], "SCALAR", 5123)}),
        made.mesh(strip, {"attributes": {"POSITION": made.accessor(CUBE[:3], "VEC3")}}),
        made.mesh({"attributes": shorts, "mode": 5}),
    ]
    made.tree["nodes"] = [
        {
            "mesh": meshes[0],
            "scale": [2, 3, -4],
            "translation": [1, 0, 0],
            "rotation": [1, 1, 1, 1],
            "children": [1, 2],
        },
        {"mesh": meshes[1], "translation": [0, 0, 5], "children": [3]},
        {"matrix": SHEAR.T.ravel().tolist(), "mesh": meshes[2]},
        {"mesh": meshes[3], "scale": [-1, 1, 1]},
        {"mesh": meshes[0]},  # in another scene
        {"mesh": meshes[0], "skin": 0},
        {"mesh": meshes[4]},
    ]
    made.tree["skins"] = [{"joints": [4]}]
    made.tree["scenes"] = [{"nodes": [4]}, {"nodes": [0, 5, 6]}]
    made.tree["scene"] = 1
    return made


def slow_scene() -> list[Array]:
    """The same triangles, (3, 3) each, by hand."""

    def placed(points: Any, *steps: Any) -> Array:
        points = np.array(points, float)
        for step in steps:
            points = np.array([step(point) for point in points])
        return np.asarray(points)

    def outer(point: Array) -> Array:
        return np.asarray(TURN @ (point * [2, 3, -4]) + [1, 0, 0])

    def shifted(point: Array) -> Array:
        return np.asarray(point + np.array([0, 0, 5]))

    def sheared(point: Array) -> Array:
        return np.asarray((SHEAR @ [*point, 1])[:3])

    def mirrored(point: Array) -> Array:
        return np.asarray(point * [-1, 1, 1])

    strip = [[0, 1, 2], [1, 3, 2], [2, 3, 4]]
    everything = [  # the last number: whether the way round changes, with each mirror in the way
        (placed(CUBE, outer), FACES, True),
        (placed(OUTLINE, shifted, outer), strip, True),
        (placed(OUTLINE, sheared, outer), [[3, 1, 4], [1, 0, 4]], False),
        (placed(CUBE, mirrored, shifted, outer), FACES, False),
        (placed(CUBE[:3], mirrored, shifted, outer), [[0, 1, 2]], False),
        (placed(np.array(OUTLINE) / 2, lambda point: point), strip, False),
    ]
    return [points[face[::-1] if turned else face] for points, faces, turned in everything for face in faces]


def oriented(triangles: Any) -> list[Any]:
    """Triangles that can be compared: from their first corner on, in any order."""
    rounded = [[tuple((np.round(corner, 3) + 0.0).tolist()) for corner in triangle] for triangle in triangles]
    return sorted(tuple(triangle[(at := triangle.index(min(triangle))) :] + triangle[:at]) for triangle in rounded)


@pytest.mark.parametrize("form", [gltf, beside, glb])
def test_meshes_stand_where_their_nodes_have_them(tmp_path: Path, form: Any) -> None:
    vertices, faces = ik.gltf.mesh(form(scene(), tmp_path))
    assert oriented(vertices[faces]) == oriented(slow_scene())
    assert_allclose(np.sort(vertices[faces].ravel()), np.sort(np.ravel(slow_scene())), atol=1e-4)


def test_a_mesh_is_ground(tmp_path: Path) -> None:
    """Plates at three heights, the front above; one is mirrored, which keeps it there."""
    made = Builder()
    plate = made.mesh({"attributes": {"POSITION": made.accessor([[0, 0, 0], [0, 0, 1], [1, 0, 0]], "VEC3")}})
    made.tree["nodes"] = [
        {"mesh": plate, "translation": [0, 1, 0]},
        {"mesh": plate, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 2, 2, 0, 1]},
        {"mesh": plate, "translation": [5, 3, 0], "scale": [-1, 1, 1]},
    ]
    for ending in ("glb", "GLB"):
        path = glb(made, tmp_path).replace(tmp_path / f"plates.{ending}")
        ground = ik.Ground.read(path, scale=0.5)
        hits = ground.cast([[0.1, 9, 0.1], [1.1, 9, 0.1], [2.4, 9, 0.1], [3.1, 9, 0.1]], [0, -1, 0])
        assert_allclose(hits.distance, [8.5, 8, 7.5, np.inf])
        assert hits.front.tolist() == [True, True, True, False]


@pytest.mark.parametrize("name", ["KHR_draco_mesh_compression", "EXT_meshopt_compression"])
def test_compressed_meshes_are_refused_unless_they_are_there_too(tmp_path: Path, name: str) -> None:
    made = scene()
    place = made.tree["meshes"][1]["primitives"][0] if "mesh_" in name else made.tree["bufferViews"][0]
    place["extensions"] = {name: {}}
    made.tree["extensionsUsed"] = [name]
    ik.Ground.read(glb(made, tmp_path))
    made.tree["extensionsRequired"] = [name]
    with pytest.raises(ik.FormatError, match=rf"compressed numbers \({name}\) are not read: write the file without"):
        ik.Ground.read(glb(made, tmp_path))


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["scenes", 1, "nodes"], [4, 4], "node 4 is in the scene twice"),
        (["nodes", 3, "children"], [0], "node 0 is in the scene twice"),
        (["nodes", 3, "children"], [99], "a damaged glTF file: "),
        (["scene"], 7, "a damaged glTF file: "),
        (["scenes", 1], {}, "expected triangles in the scene, got none"),
        (["nodes", 0, "mesh"], 99, "a damaged glTF file: "),
        (["nodes", 0, "matrix"], [1e308, 0, 0, 0] * 4, "vertices that are not finite"),
        (["meshes", 0, "primitives", 0, "attributes"], {}, "'POSITION' is missing"),
        (["meshes", 2, "primitives", 0, "mode"], 4, "triangles of 4 corners together"),
        (["meshes", 1, "primitives", 0, "indices"], 3, "corners of triangles that are none of the 5 vertices"),
        (["accessors", 1, "count"], 4, "corners of triangles that are none of the 4 vertices"),
        (["accessors", 0, "type"], "VEC2", "vertices of 2 numbers"),
        (["accessors", 0, "sparse"], {}, "sparse numbers are not read"),
    ],
)
def test_a_damaged_scene_is_one_sentence(tmp_path: Path, place: list[Any], value: Any, sentence: str) -> None:
    path = glb(changed(place, value, scene()), tmp_path)
    with pytest.raises(ik.FormatError) as caught:
        ik.Ground.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert sentence in str(caught.value)


# --- skins -----------------------------------------------------------------------------------------------------------

BIND = np.stack([SHEAR, np.eye(4), np.diag([0.5, 0.5, 0.5, 1])])  # of joints 3, 4, 1 to the space of the mesh
FOLLOWERS: dict[int, list[list[float]]] = {
    3: [[1, 2, 3], [4, 5, 6], [0, 0, 1]],
    1: [[-1, 0, 0.5]],
}  # by node, in its space; none follows 4 most


def skinned() -> Builder:
    """Four vertices that follow one joint most and two others less, in two sets of four."""
    made = everything()
    joints, places = [3, 4, 1], [(node, [*point, 1]) for node, points in FOLLOWERS.items() for point in points]
    first = [[(joints.index(node) + 1) % 3, 0, 1, 0] for node, _ in places]
    attributes = {
        "POSITION": made.accessor([(BIND[joints.index(node)] @ point)[:3] for node, point in places], "VEC3"),
        "JOINTS_0": made.accessor(first, "VEC4", 5121),
        "WEIGHTS_0": made.accessor([[60, 0, 50, 0]] * len(places), "VEC4", 5121, normalized=True),
        "JOINTS_1": made.accessor([[0, joints.index(node), 0, 0] for node, _ in places], "VEC4", 5123),
        "WEIGHTS_1": made.accessor([[0, 0.45, 0, 0]] * len(places), "VEC4"),
    }
    into = made.accessor([np.linalg.inv(matrix).T.ravel() for matrix in BIND], "MAT4")
    made.tree["skins"] = [{"joints": [2]}, {"joints": joints, "inverseBindMatrices": into}]
    made.tree["nodes"][0] |= {"mesh": made.mesh({"attributes": attributes}), "skin": 1}
    made.tree["nodes"][2] |= {"mesh": made.mesh({"attributes": attributes})}  # rigid: of no skin
    return made


@pytest.mark.parametrize("form", [gltf, glb])
def test_the_skin_of_joints_is_in_their_space(tmp_path: Path, form: Any) -> None:
    path = form(skinned(), tmp_path)
    found = ik.gltf.skin(path)
    names = ik.Clip.read(path, "1").skeleton.names
    assert set(found) == {"hips.3", "hips"} <= set(names)
    assert_allclose(found["hips.3"], FOLLOWERS[3], atol=1e-5)
    assert_allclose(found["hips"], FOLLOWERS[1], atol=1e-5)


def test_without_bind_matrices_joints_are_where_the_mesh_is(tmp_path: Path) -> None:
    made = skinned()
    del made.tree["skins"][1]["inverseBindMatrices"]
    found = ik.gltf.skin(glb(made, tmp_path))
    assert_allclose(found["hips"], np.array(FOLLOWERS[1]) / 2, atol=1e-6)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["nodes", 0, "skin"], None, "expected a mesh with a skin, got none"),
        (["nodes", 0, "skin"], 5, "a damaged glTF file: "),
        (["skins", 1, "joints"], [3], "a damaged glTF file: "),
        (["meshes", 0, "primitives", 0, "attributes", "WEIGHTS_1"], None, "'WEIGHTS_1' is missing"),
        (["meshes", 0, "primitives", 0, "attributes", "JOINTS_0"], None, "a damaged glTF file: "),
    ],
)
def test_a_damaged_skin_is_one_sentence(tmp_path: Path, place: list[Any], value: Any, sentence: str) -> None:
    with pytest.raises(ik.FormatError) as caught:
        ik.gltf.skin(glb(changed(place, value, skinned()), tmp_path))
    assert sentence in str(caught.value)


# --- malformed files -------------------------------------------------------------------------------------------------


def changed(place: list[Any], value: Any, made: Builder | None = None) -> Builder:
    made = made or everything()
    *above, last = place
    at: Any = made.tree
    for key in above:
        at = at[key]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return made


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["asset"], None, "expected a glTF file, got something else: there is no asset in it"),
        (["animations"], None, "there is no animation 'all' among none"),
        (["nodes"], None, "a damaged glTF file: 'nodes' is missing"),
        (["nodes", 4], {"children": [2]}, "a damaged glTF file: parents: "),
        (["nodes", 1, "translation"], [1, 2], "a damaged glTF file: "),
        (["nodes", 1, "translation"], [1, 2, None], "expected numbers of a node, got [1, 2, None]"),
        (["skins", 0, "joints"], [77], "a damaged glTF file: "),
        (["accessors", 0, "count"], 10**12, "a damaged glTF file: 1000000000000 rows of 1 numbers in 12 bytes"),
        (["accessors", 0, "count"], -1, "a damaged glTF file: "),
        (["accessors", 0, "componentType"], 1, "a damaged glTF file: 1 is missing"),
        (["accessors", 0, "sparse"], {}, "sparse numbers are not read"),
        (["accessors", 0, "count"], 2, "a damaged glTF file: 2 keys of (3, 3) numbers, STEP"),
        (["bufferViews", 0, "byteStride"], 0, None),
        (["bufferViews", 1, "byteOffset"], 10**9, "a damaged glTF file: 3 rows of 3 numbers in 0 bytes"),
        (["bufferViews", 1, "byteLength"], 35, "a damaged glTF file: 3 rows of 3 numbers in 35 bytes"),
        (["accessors", 1, "byteOffset"], -4, "a damaged glTF file: "),
        (["animations", 0, "samplers", 0, "interpolation"], "SMOOTH", "numbers, SMOOTH"),
        (["animations", 0, "channels"], [], "expected an animation of joints, got none in 'all'"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, place: list[Any], value: Any, sentence: str | None) -> None:
    path = glb(changed(place, value), tmp_path)
    if sentence is None:
        check_everything(ik.Clip.read(path, "all"))
        return
    with pytest.raises(ik.FormatError) as caught:
        ik.Clip.read(path, "all")
    assert str(caught.value).startswith(f"{path}: ")
    assert sentence in str(caught.value)


def test_one_animation_of_several_is_named(tmp_path: Path) -> None:
    path = gltf(everything(), tmp_path)
    with pytest.raises(ik.FormatError, match="expected one animation, got 2: all, 1; name one with `animation`"):
        ik.Clip.read(path)
    with pytest.raises(ik.FormatError, match="there is no animation 'run' among all, 1"):
        ik.Clip.read(path, "run")


def test_times_that_are_no_times(tmp_path: Path) -> None:
    for times in ([0, 0, 8], [0, 5, 3], [0, np.nan, 8], [0, 5, np.inf], [0, 1, 2, 3, 1e9]):
        made = everything()
        made.animation({1: [("translation", "LINEAR", times, np.zeros((len(times), 3)))]}, name="bad")
        with pytest.raises(ik.FormatError, match=r"whose times do not ascend|expected times in seconds"):
            ik.Clip.read(glb(made, tmp_path), "bad")


def read_or_refused(path: Path, animation: str = "all") -> None:
    """Each of the ways to read one."""
    readers: list[Callable[[], Any]] = [
        lambda: ik.Clip.read(path, animation),
        lambda: ik.gltf.mesh(path)[1],
        lambda: ik.gltf.skin(path),
    ]
    for read in readers:
        try:
            assert len(read()) >= 1
        except ik.FormatError:
            continue


def all_there_is() -> Builder:
    """Something for each of them."""
    made = skinned()
    made.tree["nodes"][5]["mesh"] = made.mesh({"attributes": {"POSITION": made.accessor(OUTLINE, "VEC3")}, "mode": 5})
    made.tree["scenes"] = [{"nodes": [0, 2]}]
    return made


FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
@FUZZ
@given(at=st.integers(0, 10**6), removed=st.integers(0, 9), put=st.binary(max_size=9), cut=st.booleans())
def test_bytes_changed_anywhere(tmp_path: Path, at: int, removed: int, put: bytes, cut: bool) -> None:
    data = glb(all_there_is(), tmp_path).read_bytes()
    at %= len(data)
    path = tmp_path / "changed.glb"
    path.write_bytes(data[:at] if cut else data[:at] + put + data[at + removed :])
    read_or_refused(path)


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_anything_in_the_place_of_anything(tmp_path: Path, data: st.DataObject) -> None:
    made = all_there_is()
    at: Any = made.tree
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], (dict, list)) or not at[key] or data.draw(st.integers(0, 3)) == 0:
            break
        at = at[key]
    anything = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]), st.just({})
    )
    at[key] = data.draw(anything)
    read_or_refused(gltf(made, tmp_path))


@pytest.mark.slow
@FUZZ
@given(data=st.binary(max_size=200))
def test_garbage(tmp_path: Path, data: bytes) -> None:
    for head in (b"", b"glTF", b"glTF\2\0\0\0\x50\0\0\0"):
        (tmp_path / "some.glb").write_bytes(head + data)
        read_or_refused(tmp_path / "some.glb")
    (tmp_path / "some.gltf").write_text("[" * 100_000)
    read_or_refused(tmp_path / "some.gltf")


# --- files that ask for more than they are ----------------------------------------------------------------------------


def keyed(*times: float) -> Builder:
    """A node that moves at such times, and others that do not."""
    made = Builder()
    made.tree["nodes"] = [{} for _ in range(40)]
    made.animation(
        {0: [("translation", "LINEAR", [FPS * time for time in times], np.zeros((len(times), 3)))]}, name="all"
    )
    return made


def peak(read: Callable[[], Any], refused: bool) -> float:
    """How many bytes it takes to read a file, or to refuse it."""
    tracemalloc.start()
    try:
        if refused:
            with pytest.raises(
                ik.FormatError, match=r"expected about as much as there is in the file, got .* of memory"
            ):
                read()
        else:
            read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_keys_that_are_too_close_take_no_gigabytes(tmp_path: Path) -> None:
    path = glb(keyed(0, 1e-6, 2e-6, 0.5), tmp_path)
    assert path.stat().st_size < 2000
    assert peak(lambda: ik.Clip.read(path), refused=True) < 50e6
    assert len(ik.Clip.read(glb(keyed(0, 1 / 60, 2 / 60, 600), tmp_path))) > 36_000  # ten minutes by four keys


def test_meshes_that_are_there_many_times_take_no_gigabytes(tmp_path: Path) -> None:
    for copies, refused in ((30, False), (3000, True)):
        made = Builder()
        mesh = made.mesh({"attributes": {"POSITION": made.accessor(np.zeros((30_000, 3)), "VEC3")}})
        made.tree["nodes"] = [{"mesh": mesh} for _ in range(copies)]
        path = glb(made, tmp_path)
        assert peak(lambda path=path: ik.gltf.mesh(path), refused) < 1e9  # type: ignore[misc]


def refused_numbers(folder: Path, uri: str) -> str:
    """The message about numbers in other files."""
    made = everything()
    path = folder / "some.gltf"
    path.write_text(json.dumps(made.tree | {"buffers": [{"uri": uri, "byteLength": len(made.binary)}]}))
    with pytest.raises(ik.FormatError) as caught:
        ik.Clip.read(path, "all")
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def test_numbers_are_read_from_the_folder_and_below_only(tmp_path: Path) -> None:
    """Also where a link leads elsewhere."""
    (tmp_path / "in/deep").mkdir(parents=True)
    for place in ("numbers.bin", "in/deep/numbers.bin"):
        (tmp_path / place).write_bytes(everything().binary)
    made = everything()
    below = tmp_path / "in/below.gltf"
    below.write_text(json.dumps(made.tree | {"buffers": [{"uri": "x/../deep/./numbers.bin", "byteLength": 1}]}))
    check_everything(ik.Clip.read(below, "all"))
    (tmp_path / "in/link.bin").symlink_to(tmp_path / "numbers.bin")
    (tmp_path / "in/inside.bin").symlink_to("deep/numbers.bin")
    below.write_text(json.dumps(made.tree | {"buffers": [{"uri": "inside.bin", "byteLength": 1}]}))
    check_everything(ik.Clip.read(below, "all"))
    for uri in (
        "../numbers.bin",
        "%2e%2e/numbers.bin",
        str(tmp_path / "numbers.bin"),
        "link.bin",
        "deep/../../numbers.bin",
    ):
        said = refused_numbers(tmp_path / "in", uri)
        assert said.startswith(f"expected numbers in the folder of the file or below, got '{unquote(uri)[:40]}")
    assert refused_numbers(tmp_path / "in", "none.bin") == "its numbers are in 'none.bin': No such file or directory"
    assert "which is something else" in refused_numbers(tmp_path / "in", "deep")
    assert len(refused_numbers(tmp_path / "in", "x" * 5000)) < 200


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe")
def test_numbers_are_read_from_no_device_and_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused_numbers(tmp_path, "pipe") == "expected a file of numbers, got 'pipe', which is something else"
    for device in ("/dev/zero", "/dev/stdin"):
        assert "expected numbers in the folder" in refused_numbers(tmp_path, device)


def test_long_words_are_not_said_whole(tmp_path: Path) -> None:
    long = "x" * 10_000
    for place, value in (
        (["accessors", 0, "componentType"], long),
        (["animations", 0, "samplers", 0, "interpolation"], long),
        (["animations"], [{"name": long + str(i), "samplers": [], "channels": []} for i in range(50)]),
        (["nodes", 1, "translation"], [long]),
        (["nodes", 1, "rotation"], [None] * 5000),
        (["accessors", 0, "type"], long),
    ):
        path = glb(changed(place, value), tmp_path)
        with pytest.raises(ik.FormatError) as caught:
            ik.Clip.read(path, "all")
        assert len(str(caught.value)) < len(str(path)) + 600, place


def test_numbers_that_overflow_are_refused_in_silence(tmp_path: Path) -> None:
    """Warnings are errors here."""
    for value in ({"scale": [1e308, 1e308, 1e308]}, {"matrix": [1e300] * 16}, {"rotation": [1e-320, 0, 0, 1e308]}):
        path = glb(changed(["nodes", 4], value, all_there_is()), tmp_path)
        read_or_refused(path)
    made = everything()
    made.animation({1: [(*SWAY[:3], np.full((3, 3, 3), 3e38))]}, name="large")
    read_or_refused(glb(made, tmp_path), "large")
    made = all_there_is()
    for at in range(0, len(made.binary), 4):
        made.binary = made.binary[:at] + b"\1\0\x80\x7f" + made.binary[at + 4 :]  # a NaN that signals
        read_or_refused(glb(made, tmp_path))


# --- files that others made ------------------------------------------------------------------------------------------


@mocap.each_clip
def test_legs_of_real_files_are_as_another_script_found_them(given: dict[str, Any]) -> None:
    """BVH and glTF alike: frames, rate, lengths of legs and how far knees open and close."""
    clip = mocap.read(given)
    assert (len(clip), round(clip.fps, 4)) == (given["frames_in_file"], given["fps"])
    positions = clip.skeleton.forward(clip.pose).positions[given["skip_first_frames"] :] * clip.unit
    for leg, truth in zip(given["legs"], given["baseline"]["legs"], strict=True):
        hip, knee, ankle = (positions[:, clip.skeleton.index(leg[joint])] for joint in ("hip", "knee", "ankle"))
        thigh, shin = hip - knee, ankle - knee
        length = np.linalg.norm(thigh, axis=1) + np.linalg.norm(shin, axis=1)
        assert length.mean() == pytest.approx(truth["leg_length_m"], abs=1e-4)
        across = np.linalg.norm(np.cross(thigh, shin), axis=1)
        angle = np.degrees(np.arctan2(across, (thigh * shin).sum(axis=1)))
        assert [angle.min(), angle.max()] == pytest.approx(truth["knee_angle_deg"], abs=0.006)


@mocap.needs_clips
@pytest.mark.parametrize(
    ("name", "animation", "unit", "count"), [("Fox.glb", "Walk", 0.01, 1728), ("Woman.gltf", "Walking", 0.34, 5718)]
)
def test_the_skin_of_real_feet_ends_at_the_floor(name: str, animation: str, unit: float, count: int) -> None:
    """Which is at height 0 in both, and which joints alone do not show."""
    clip = ik.Clip.read(mocap.MOCAP / name, animation, unit=unit)
    skin = ik.gltf.skin(mocap.MOCAP / name)
    assert sum(map(len, skin.values())) == count
    feet = ik.Feet.detect(clip.skeleton, clip=clip, vertices=skin)
    assert feet != ik.Feet.detect(clip.skeleton, clip=clip)
    for leg in feet:
        for place in (feet.positions(clip.skeleton, clip.pose)[leg.name, point] for point in leg.soles):
            assert abs(np.percentile(place[:, 1], 5)) * unit < 0.008


TERRAIN = Path(os.environ.get("IKCORE_TERRAIN", "none"))


@pytest.mark.skipif(not TERRAIN.exists(), reason="IKCORE_TERRAIN names no folder of meshes")
def test_real_ground_is_as_its_description_has_it() -> None:
    course, faces = ik.gltf.mesh(TERRAIN / "IKCourse.gltf")
    assert len(faces) == 76
    assert_allclose(np.ptp(course, axis=0)[[0, 2]], [28.8, 13.4], atol=0.05)
    assert_allclose(
        course.min(axis=0), np.add([-3.6, -1.0175457, -1.3213916], [0.4005508, 0.0175457, 0.2090831]), atol=1e-5
    )
    hills, faces = ik.gltf.mesh(TERRAIN / "Mountains.gltf")
    assert len(faces) == 2 * 12_800  # two nodes have the mesh
    a, b, c = np.moveaxis(hills[faces[:12_800]], 1, 0)
    normals = np.cross(b - a, c - a)
    assert (normals[:, 1] < 0).sum() == 15
    slopes = np.degrees(np.arccos(normals[:, 1] / np.linalg.norm(normals, axis=1)))
    assert np.median(slopes) == pytest.approx(21, abs=0.5)
    found = ik.Ground.read(TERRAIN / "Mountains.gltf").at(hills[:6561], above=1e-3, below=1e-3)
    assert_allclose(found.height, hills[:6561, 1], atol=1.1e-3)


@pytest.mark.skipif(not TERRAIN.exists(), reason="IKCORE_TERRAIN names no folder of meshes")
def test_the_same_mesh_as_glb_and_as_obj_is_the_same_ground(tmp_path: Path) -> None:
    """Stairs and letters of the .obj file, as float numbers under a node that turns and scales back."""
    floor: Any = ik.Ground.read(TERRAIN / "ozz_foot_ik_floor.obj").parts[0].body
    made = Builder()
    lying = floor.vertices[:, [0, 2, 1]] * [100, -100, 100]
    mesh = {
        "attributes": {"POSITION": made.accessor(lying, "VEC3")},
        "indices": made.accessor(floor.faces.ravel(), "SCALAR", 5123),
    }
    made.tree["nodes"] = [{"mesh": made.mesh(mesh), "scale": [0.01] * 3, "rotation": [-HALF, 0, 0, HALF]}]
    again: Any = ik.Ground.read(glb(made, tmp_path)).parts[0].body
    assert_array_equal(again.faces, floor.faces)
    assert_allclose(again.vertices, floor.vertices, atol=1e-5)
