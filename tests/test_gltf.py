"""glTF files, against a slow evaluator of the keys they were made with."""

from __future__ import annotations

import base64
import json
import math
import os
import struct
from pathlib import Path
from typing import Any

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

# Keys by node and part: interpolation, times in frames, values. Of a cubic spline tangent, value and tangent.
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


class Builder:
    """A glTF tree and its numbers."""

    def __init__(self) -> None:
        self.binary = b""
        self.tree: dict[str, Any] = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": [], "buffers": []}

    def accessor(self, values: Any, kind: str, shorts: bool = False) -> int:
        data = np.array(values, "<i2" if shorts else "<f4")
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": data.nbytes}
        self.binary += data.tobytes()
        given = {
            "bufferView": len(self.tree["bufferViews"]),
            "type": kind,
            "count": data.size // data.shape[-1] if data.ndim > 1 else data.size,
        }
        given |= {"componentType": 5122, "normalized": True} if shorts else {"componentType": 5126}
        self.tree["bufferViews"].append(view)
        self.tree["accessors"].append(given)
        return len(self.tree["accessors"]) - 1

    def animation(self, tracks: dict[int, list[Any]], **more: Any) -> None:
        samplers: list[Any] = []
        channels: list[Any] = []
        for node, parts in tracks.items():
            for part, how, frames, values in parts:
                times = self.accessor(np.array(list(frames)) / FPS + BEGIN, "SCALAR")
                kind = "VEC4" if part == "rotation" else "VEC3"
                output = self.accessor(values, kind, shorts=part == "rotation" and np.max(values) > 2)
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


# --- malformed files -------------------------------------------------------------------------------------------------


def changed(place: list[Any], value: Any) -> Builder:
    made = everything()
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


def read_or_refused(path: Path) -> None:
    try:
        clip = ik.Clip.read(path, "all")
    except (ik.FormatError, FileNotFoundError):  # of numbers beside it
        return
    assert len(clip) >= 1


FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(at=st.integers(0, 10**6), removed=st.integers(0, 9), put=st.binary(max_size=9), cut=st.booleans())
def test_bytes_changed_anywhere(tmp_path: Path, at: int, removed: int, put: bytes, cut: bool) -> None:
    data = glb(everything(), tmp_path).read_bytes()
    at %= len(data)
    path = tmp_path / "changed.glb"
    path.write_bytes(data[:at] if cut else data[:at] + put + data[at + removed :])
    read_or_refused(path)


@FUZZ
@given(data=st.data())
def test_anything_in_the_place_of_anything(tmp_path: Path, data: st.DataObject) -> None:
    made = everything()
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


@FUZZ
@given(data=st.binary(max_size=200))
def test_garbage(tmp_path: Path, data: bytes) -> None:
    for head in (b"", b"glTF", b"glTF\2\0\0\0\x50\0\0\0"):
        (tmp_path / "some.glb").write_bytes(head + data)
        read_or_refused(tmp_path / "some.glb")
    (tmp_path / "some.gltf").write_text("[" * 100_000)
    read_or_refused(tmp_path / "some.gltf")


# --- files that others made ------------------------------------------------------------------------------------------

MOCAP = Path(os.environ.get("IKCORE_MOCAP", "none"))
CLIPS = json.loads((MOCAP / "clips.json").read_text())["clips"] if (MOCAP / "clips.json").exists() else []


@pytest.mark.skipif(not CLIPS, reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize("given", CLIPS, ids=lambda given: f"{given['file']}-{given['clip']}")
def test_legs_of_real_files_are_as_another_script_found_them(given: dict[str, Any]) -> None:
    """BVH and glTF alike: frames, rate, lengths of legs and how far knees open and close."""
    animation = given["clip"] if given["format"] == "gltf" else None
    clip = ik.Clip.read(MOCAP / given["file"], animation, up=given["up"], unit=given["metres_per_unit"])
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
