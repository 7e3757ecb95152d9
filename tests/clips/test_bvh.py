"""BVH files, against a slow reader of its own and figures worked out by hand."""

from __future__ import annotations

import math
import os
import re
import time
import tracemalloc
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

# --- the truth -------------------------------------------------------------------------------------------------------


def turn(axis: str, degrees: float) -> Array:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    rows = {"X": [[1, 0, 0], [0, c, -s], [0, s, c]], "Y": [[c, 0, s], [0, 1, 0], [-s, 0, c]]}
    return np.array(rows.get(axis, [[c, -s, 0], [s, c, 0], [0, 0, 1]]))


def slow_read(text: str) -> tuple[list[str], list[list[float]]]:
    """Contents of a well-formed file: a word for every channel or offset, in order, and the frames."""
    head, _, motion = text.partition("MOTION")
    plan, names = [], []
    for line in head.splitlines():
        words = line.split()
        match words[:1]:
            case ["ROOT" | "JOINT"]:
                names.append(words[1])
                plan.append(f"begin {words[1]}")
            case ["End"]:
                plan.append(f"begin {names[-1]}_end")
            case ["OFFSET"]:
                plan.append(" ".join(words))
            case ["CHANNELS"] if words[2:]:
                plan.append(" ".join(words[2:]))
            case ["}"]:
                plan.append("end")
    frames = [[float(word) for word in line.split()] for line in motion.splitlines()[3:] if line.strip()]
    return plan, frames


def slow_places(text: str, frame: int) -> dict[str, tuple[Array, Array]]:
    """Position and rotation of every joint in one frame, by matrices, one by one."""
    plan, frames = slow_read(text)
    numbers = iter(frames[frame])
    found: dict[str, tuple[Array, Array]] = {}
    stack: list[str] = []
    for step in plan:
        kind, *words = step.split()
        if kind == "begin":
            stack.append(words[0])
        elif kind == "end":
            stack.pop()
        elif kind == "OFFSET":
            at, turned = found[stack[-2]] if len(stack) > 1 else (np.zeros(3), np.eye(3))
            found[stack[-1]] = (at + turned @ np.array(words, float), turned)
        else:
            above = found[stack[-2]] if len(stack) > 1 else (np.zeros(3), np.eye(3))
            local = above[1].T @ (found[stack[-1]][0] - above[0])
            turned = np.eye(3)
            for channel in [kind, *words]:
                if channel.endswith("position"):
                    local["XYZ".index(channel[0])] = next(numbers)
                else:
                    turned = turned @ turn(channel[0], next(numbers))
            found[stack[-1]] = (above[0] + above[1] @ local, above[1] @ turned)
    return found


def check_places(clip: ik.Clip, text: str, frame: int, tolerance: float = 1e-9) -> None:
    world = clip.skeleton.forward(clip.pose[frame])
    truth = slow_places(text, frame)
    missing = {name for name in truth if name not in clip.skeleton.names}
    assert all(name.endswith("_end") for name in missing)  # those without length
    for joint, name in enumerate(clip.skeleton.names):
        at, turned = truth[name]
        assert_allclose(world.positions[joint], at, atol=tolerance, err_msg=name)
        assert_allclose(ik.rotations.to_matrix(world.rotations[joint]), turned, atol=tolerance, err_msg=name)


# --- files -----------------------------------------------------------------------------------------------------------

# Three orders of rotations, positions below the root, a joint with one rotation and one with none; tabs; an odd rate.
ODD = """HIERARCHY
ROOT Hips
{
\tOFFSET 1.5 -2 3e-1
\tCHANNELS 6 Zposition Xposition Yposition Yrotation Zrotation Xrotation
\tJOINT Knee
\t{
\t\tOFFSET 0 -4.0 .5
\t\tCHANNELS 1 Xrotation
\t\tJOINT Foot
\t\t{
\t\t\tOFFSET 0 -4 0
\t\t\tCHANNELS 5 Xrotation Zposition Yrotation Yposition Zrotation
\t\t\tEnd Site
\t\t\t{
\t\t\t\tOFFSET 0 -1 2
\t\t\t}
\t\t}
\t}
\tJOINT Tail
\t{
\t\tOFFSET 0 1 -1
\t\tCHANNELS 0
\t\tJOINT Tip
\t\t{
\t\t\tOFFSET 0 0 -1
\t\t\tCHANNELS 3 Zrotation Xrotation Yrotation
\t\t\tEnd Site
\t\t\t{
\t\t\t\tOFFSET 0 0 0
\t\t\t}
\t\t}
\t}
}
MOTION
Frames:\t3
Frame Time: .0083333
0.5 10 20 15 -40 70 33 10 -0.25 20 -4.5 30 40 -50 60
0.25 11 20.5 -170 80 165 -12 0 0 0 0 0 120 -5 160
1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
"""


def written(folder: Path, text: str | bytes, name: str = "some.bvh") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def again(clip: ik.Clip, folder: Path) -> ik.Clip:
    clip.write(folder / "again.bvh")
    return ik.Clip.read(folder / "again.bvh")


def numbers(path: Path) -> Array:
    text = path.read_text()
    return np.array(text[text.index("Frame Time") :].split()[3:], float)


def test_channels_in_any_order_and_number(tmp_path: Path) -> None:
    clip = ik.Clip.read(written(tmp_path, ODD))
    assert clip.skeleton.names == ("Hips", "Knee", "Foot", "Foot_end", "Tail", "Tip")
    assert clip.skeleton.parents.tolist() == [-1, 0, 1, 2, 0, 4]
    assert clip.channels == ("zxyYZX", "X", "XzYyZ", "", "", "ZXY")
    assert (len(clip), clip.fps, clip.up, clip.unit, clip.loop) == (3, 1 / 0.0083333, "Y", 1.0, False)
    for frame in range(3):
        check_places(clip, ODD, frame)


def test_one_frame_worked_out_by_hand(tmp_path: Path) -> None:
    """The hips turn left a quarter: what went ahead goes left. The knee then bends down by a quarter."""
    text = """HIERARCHY
ROOT Hips
{
OFFSET 0 0 0
CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT Knee
{
OFFSET 0 0 2
CHANNELS 3 Zrotation Xrotation Yrotation
End Site
{
OFFSET 0 0 3
}
}
}
MOTION
Frames: 1
Frame Time: 0.04
10 20 30 0 0 90 0 90 0
"""
    clip = ik.Clip.read(written(tmp_path, text), up="Z", unit=0.01)
    positions = clip.skeleton.forward(clip.pose).positions[0]
    assert_allclose(positions, [[10, 20, 30], [12, 20, 30], [12, 17, 30]], atol=1e-12)
    assert (clip.fps, clip.up, clip.unit) == (25, "Z", 0.01)


def test_what_was_read_is_written_with_the_same_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, ODD)
    clip = ik.Clip.read(path)
    back = again(clip, tmp_path)
    assert back.skeleton == clip.skeleton
    assert (back.fps, back.channels) == (clip.fps, clip.channels)
    for frame in range(3):
        check_places(back, ODD, frame, 1e-6)
    first, second = (file.read_text() for file in (path, tmp_path / "again.bvh"))
    assert re.findall(r"\w+(?:position|rotation)", first) == re.findall(r"\w+(?:position|rotation)", second)
    assert second.count("End Site") == 2
    assert_allclose(numbers(tmp_path / "again.bvh")[:15], numbers(path)[:15], atol=1.5e-6)
    bytes_before = (tmp_path / "again.bvh").read_bytes()
    again(back, tmp_path)
    assert (tmp_path / "again.bvh").read_bytes() == bytes_before


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", " \t\n\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.upper().replace("HIPS", "Hips"),
        lambda text: re.sub(r"\n\t*{", " {", text),
        lambda text: text.replace("Frames:\t3", "Frames: 3").replace("Time: ", "Time:\t"),
        lambda text: text.replace("Frames:", "frames").replace("Frame Time:", "FRAME TIME"),
        lambda text: re.sub(r"\s+(?!Frame|MOTION|JOINT|OFFSET|CHANNELS|End|{)", "  ", text),
        lambda text: text.replace("-40 70", "-40\n70"),  # frames that go on in the next line
        lambda text: text.rstrip(),
    ],
    ids=[
        "dos",
        "blank lines",
        "mark",
        "capitals",
        "braces",
        "tabs",
        "colons",
        "few lines",
        "wrapped",
        "no last newline",
    ],
)
def test_the_shape_of_the_text_does_not_matter(tmp_path: Path, change: Any) -> None:
    clip = ik.Clip.read(written(tmp_path, ODD))
    other = ik.Clip.read(written(tmp_path, change(ODD), "other.bvh"))
    assert_array_equal(other.pose.rotations, clip.pose.rotations)
    assert_array_equal(other.pose.translations, clip.pose.translations)
    assert_array_equal(other.skeleton.offsets, clip.skeleton.offsets)
    assert [name.lower() for name in other.skeleton.names] == [name.lower() for name in clip.skeleton.names]
    assert (other.fps, other.channels) == (clip.fps, clip.channels)


def test_a_frame_more_than_the_file_says_is_read(tmp_path: Path) -> None:
    """Rokoko's do that; one less is a file that was cut off."""
    assert len(ik.Clip.read(written(tmp_path, ODD.replace("Frames:\t3", "Frames:\t2")))) == 3


def test_names_with_spaces_and_of_other_alphabets(tmp_path: Path) -> None:
    text = ODD.replace("Tail", "Bip01  L Tail").replace("Tip", "尻尾")
    assert ik.Clip.read(written(tmp_path, text)).skeleton.names[4:] == ("Bip01 L Tail", "尻尾")
    latin = ODD.replace("Tip", "Rücken").encode("latin-1")
    clip = ik.Clip.read(written(tmp_path, latin))
    assert clip.skeleton.names[5] == "Rücken"
    assert again(clip, tmp_path).skeleton == clip.skeleton


def test_end_sites_are_called_after_their_parents_and_differently_from_joints(tmp_path: Path) -> None:
    text = ODD.replace(site := "\t\t\tEnd Site\n\t\t\t{\n\t\t\t\tOFFSET 0 -1 2\n\t\t\t}\n", 3 * site)
    clip = ik.Clip.read(written(tmp_path, text.replace("Tail", "Foot_end2")))
    assert clip.skeleton.names[3:7] == ("Foot_end", "Foot_end3", "Foot_end4", "Foot_end2")
    assert again(clip, tmp_path).skeleton == clip.skeleton


def test_an_end_without_length_is_a_joint_if_anything_is_below_it(tmp_path: Path) -> None:
    joint = "JOINT Nail\n{\nOFFSET 0 0 1\nCHANNELS 0\n}\n"
    text = ODD.replace("OFFSET 0 0 0\n", f"OFFSET 0 0 0\n{joint}")
    assert ik.Clip.read(written(tmp_path, text)).skeleton.names[5:] == ("Tip", "Tip_end", "Nail")


def test_a_joint_that_is_called_as_an_end_but_has_no_length_is_kept(tmp_path: Path) -> None:
    skeleton = ik.Skeleton([-1, 0, 0], [[0, 0, 0], [0, 0, 0], [0, 1, 0]], names=["a", "a_end", "a_end2"])
    back = again(ik.Clip(skeleton, ik.Pose(np.tile([1.0, 0, 0, 0], (2, 3, 1))), 30), tmp_path)
    assert back.skeleton == skeleton
    assert back.channels == ("xyzZXY", "ZXY", "")


def test_several_roots(tmp_path: Path) -> None:
    second = "ROOT Ball\n{\nOFFSET 0 0 0\nCHANNELS 3 Xposition Yposition Zposition\n}\n"
    text = ODD.replace("MOTION", f"{second}MOTION").replace(" 60\n", " 60 1 2 3\n")
    text = text.replace(" 160\n", " 160 4 5 6\n").replace(" 15\n", " 15 7 8 9\n")
    clip = ik.Clip.read(written(tmp_path, text))
    assert clip.skeleton.parents.tolist() == [-1, 0, 1, 2, 0, 4, -1]
    assert clip.pose.translations is not None
    assert clip.pose.translations[:, 6].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert again(clip, tmp_path).skeleton == clip.skeleton


# --- malformed files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("HIERARCHY\n", "solid cube\n", 1, "expected HIERARCHY, got 'solid'"),
        ("ROOT Hips\n", "ROOT\n", 2, "expected the name of a joint, got none"),
        ("ROOT Hips\n{", "ROOT Hips\n", 4, "expected {, got 'OFFSET'"),
        ("ROOT", "JOINT", 2, "expected ROOT or MOTION, got 'JOINT'"),
        ("OFFSET 1.5 -2 3e-1", "OFFSET 1.5 -2", 5, "expected a number, got 'CHANNELS'"),
        ("1.5 -2 3e-1", "1,5 -2 3", 4, "expected a number, got '1,5'"),
        ("1.5 -2 3e-1", "1.5 nan 3", 4, "expected a number, got 'nan'"),
        ("1.5 -2 3e-1", "1.5 1e999 3", 4, "expected a number, got '1e999'"),
        ("1.5 -2 3e-1", "1.5 2 3 4", 4, "expected one OFFSET, one CHANNELS, then JOINT, End Site or }, got '4'"),
        ("\t\tOFFSET 0 -4.0 .5\n", "", 18, "expected an OFFSET of 'Knee' of line 6, got none"),
        ("CHANNELS 6", "CHANNELS 999999999999", 5, "expected how many channels, up to 6, got '999999999999'"),
        ("CHANNELS 1 Xrotation", "CHANNELS 1 Wrotation", 9, "Xposition or Zrotation, none twice, got 'Wrotation'"),
        ("CHANNELS 1 Xrotation", "CHANNELS 2 Xrotation Xrotation", 9, "none twice, got 'Xrotation'"),
        ("CHANNELS 1 Xrotation", "CHANNELS 2 Xrotation", 10, "none twice, got 'JOINT'"),
        ("JOINT Tip", "JOINT Knee", 24, "expected names that differ, got a second 'Knee'; the first is in line 6"),
        ("}\nMOTION", "MOTION", 34, "expected }, as 'Hips' of line 2 is not closed, got the end of the hierarchy"),
        ("}\nMOTION", "}\n}\nMOTION", 35, "expected ROOT or MOTION, got '}'"),
        ("Frames:\t3", "Frames:\t4", 40, "expected 4 frames, as Frames: says, got 3"),
        ("Frames:\t3", "Frames:\t999999999999999", 40, "expected 999999999999999 frames, as Frames: says, got 3"),
        ("Frames:\t3", "Frames:\t-1", 36, "expected how many frames there are, got '-1'"),
        ("Frames:\t3", "Frames:\t0", 36, "expected at least one frame, got '0'"),
        ("Frames:\t3\n", "", 36, "expected Frames:, got 'Frame'"),
        ("Frame Time: .0083333", "Frame Rate: 30", 37, "expected Frame Time:, got 'Frame'"),
        (".0083333", "0", 37, "expected a positive number of seconds between two frames, got '0'"),
        (".0083333", "fast", 37, "expected a positive number of seconds between two frames, got 'fast'"),
        ("12 13 14 15\n", "12 13 14\n", 40, "expected 15 numbers, one for every channel, got 14"),
        ("12 13 14 15\n", "12 13 14 15 16\n", 40, "expected 15 numbers, one for every channel, got 16"),
        ("165 -12", "165 #-12", 39, "expected a number, got '#-12'"),
        ("165 -12", "165 inf", 39, "expected a number, got 'inf'"),
        ("165 -12", "165 1.2.3", 39, "expected a number, got '1.2.3'"),
        ("165 -12", f"165 {'9' * 400}", 39, "expected a number, got '9999999"),
        ("165 -12", "165 -1\x002", 39, "expected a number, got"),
    ],
)
def test_a_malformed_file_is_one_sentence_with_the_line(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    assert old in ODD
    path = written(tmp_path, ODD.replace(old, new, 1))
    with pytest.raises(ik.FormatError) as caught:
        ik.Clip.read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}, line {line}: expected ")
    assert sentence in said
    assert "\n" not in said
    assert len(said) < len(str(path)) + 200


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "HIERARCHY", "HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 1\n", ODD[: ODD.index("MOTION")], "\x00" * 99],
    ids=["nothing", "lines", "a word", "no joints", "no motion", "zeros"],
)
def test_a_file_that_ends_early(tmp_path: Path, text: str) -> None:
    with pytest.raises(ik.FormatError, match=r"line \d+: expected .*, got "):
        ik.Clip.read(written(tmp_path, text))


def read_or_refused(path: Path) -> ik.Clip | None:
    """Whatever is in a file, it is read or refused with its name and a line."""
    try:
        return ik.Clip.read(path)
    except ik.FormatError as error:
        said = str(error)
    match = re.fullmatch(rf"{re.escape(str(path))}, line (\d+): expected .+, got .+", said)
    assert match, said
    assert 1 <= int(match[1]) <= path.read_bytes().count(b"\n") + 1
    return None


FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
@FUZZ
@given(cut=st.integers(0, len(ODD)))
def test_truncated_anywhere(tmp_path: Path, cut: int) -> None:
    clip = read_or_refused(written(tmp_path, ODD[:cut]))
    if clip is not None:  # a last number may be cut short and still be one
        assert len(clip) == 3


@pytest.mark.slow
@FUZZ
@given(
    edits=st.lists(
        st.tuples(
            st.integers(0, len(ODD)),
            st.integers(0, 12),
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(
                    [b"{", b"}", b"\n", b"JOINT x\n{\n", b"End Site {", b"1e308", b"-", b"MOTION\n", b" 0 "]
                ),
            ),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_bytes_changed_anywhere(tmp_path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    data = ODD.encode()
    for at, removed, put in edits:
        data = data[:at] + put + data[at + removed :]
    clip = read_or_refused(written(tmp_path, data))
    if clip is not None:
        assert np.isfinite(clip.pose.rotations).all()


@pytest.mark.slow
@FUZZ
@given(data=st.binary(max_size=300))
def test_garbage(tmp_path: Path, data: bytes) -> None:
    assert read_or_refused(written(tmp_path, data)) is None
    read_or_refused(written(tmp_path, ODD.encode() + data))
    read_or_refused(written(tmp_path, ODD[: ODD.index("MOTION") + 6].encode() + data))


@pytest.mark.slow
@FUZZ
@given(
    words=st.lists(st.sampled_from([*"{}", "\n", "ROOT", "JOINT", "End", "Site", "OFFSET", "CHANNELS", "3", "MOTION"]))
)
def test_words_of_the_language_in_any_order(tmp_path: Path, words: list[str]) -> None:
    read_or_refused(written(tmp_path, " ".join(["HIERARCHY", *words])))


def nested(depth: int) -> str:
    joints = "".join(f"JOINT j{i}\n{{\nOFFSET 0 1 0\nCHANNELS 0\n" for i in range(depth))
    root = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n"
    return f"{root}{joints}{'}' * (depth + 1)}\nMOTION\nFrames: 1\nFrame Time: 1\n90\n"


@pytest.mark.slow
def test_deep_nesting_needs_no_recursion(tmp_path: Path) -> None:
    clip = ik.Clip.read(written(tmp_path, nested(20_000)))
    assert_allclose(clip.skeleton.forward(clip.pose).positions[0, -1], [0, 0, 20_000], atol=1e-6)
    assert read_or_refused(written(tmp_path, nested(20_000).replace("}", ""))) is None
    shallower = ik.Clip.read(written(tmp_path, nested(2_000)))  # the text of a deep tree is mostly indentation
    assert again(shallower, tmp_path).skeleton == shallower.skeleton


def test_many_ends_of_one_joint_take_no_long(tmp_path: Path) -> None:
    sites = "End Site\n{\nOFFSET 0 1 0\n}\n" * 20_000
    text = nested(0).replace("rotation\n", f"rotation\n{sites}", 1)
    start = time.perf_counter()
    assert len(ik.Clip.read(written(tmp_path, text)).skeleton) == 20_001
    assert time.perf_counter() - start < 20  # a square of their number would take minutes


def still(joints: int, frames: int, channels: str = "CHANNELS 0") -> str:
    """Joints below one that turns."""
    below = "".join(f"JOINT j{i}\n{{\nOFFSET 0 1 0\n{channels}\n}}\n" for i in range(joints))
    root = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 2 Xrotation Yposition\n"
    row = "0 0" + " 0" * joints * ("1" in channels) + "\n"
    return f"{root}{below}}}\nMOTION\nFrames: {frames}\nFrame Time: 1\n{row * frames}"


def test_joints_that_cost_a_file_nothing_take_no_gigabytes(tmp_path: Path) -> None:
    path = written(tmp_path, still(2000, 40_000))
    assert path.stat().st_size < 250_000
    tracemalloc.start()
    try:
        with pytest.raises(ik.FormatError) as caught:
            ik.Clip.read(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    said = "expected channels of joints, got 2000 of 2001 without, and 40000 frames: 4.5 GB of memory from 0.24 MB of "
    line = still(2000, 1).splitlines().index("MOTION") + 1
    assert str(caught.value) == f"{path}, line {line}: {said}file; leave out joints that never move"


def test_files_as_there_are_have_room(tmp_path: Path) -> None:
    """As short as numbers can be, one for a joint; and a few minutes of fifty joints of which only the root moves."""
    for text in (still(200, 2000, "CHANNELS 1 Xrotation"), still(50, 40_000)):
        assert len(ik.Clip.read(written(tmp_path, text))) == int(text.partition("Frames: ")[2].split()[0])


# --- writing ---------------------------------------------------------------------------------------------------------


def tree(joints: int, seed: int) -> ik.Skeleton:
    """A random tree with one root, its joints in random order, without rotations at rest."""
    random = np.random.default_rng(seed)
    parents = np.array([-1, *(random.integers(0, i) for i in range(1, joints))])
    order = random.permutation(joints)
    place = np.argsort(order)
    shuffled = [-1 if parents[i] < 0 else int(place[parents[i]]) for i in order]
    return ik.Skeleton(shuffled, random.normal(size=(joints, 3)), names=[f"joint {i}" for i in order])


def random_clip(seed: int, frames: int = 6, dtype: Any = np.float64, **parts: bool) -> ik.Clip:
    random = np.random.default_rng(seed)
    skeleton = tree(8, seed)
    shape = (frames, len(skeleton))
    moved = random.normal(size=(*shape, 3)).astype(dtype) if parts.get("moved") else None
    scales = random.uniform(0.5, 2, (*shape, 3)).astype(dtype) if parts.get("scaled") else None
    return ik.Clip(skeleton, ik.Pose(random.normal(size=(*shape, 4)).astype(dtype), moved, scales), 30)


def check_same_motion(clip: ik.Clip, back: ik.Clip, tolerance: float) -> None:
    joints = [back.skeleton.index(name) for name in clip.skeleton.names]
    there, here = (each.skeleton.forward(each.pose) for each in (clip, back))
    assert_allclose(here.positions[:, joints], there.positions, atol=tolerance)
    turned = ik.rotations.to_matrix(here.rotations[:, joints])
    assert_allclose(turned, ik.rotations.to_matrix(there.rotations), atol=tolerance)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_any_clip_is_written_with_the_channels_it_needs(tmp_path: Path, dtype: Any, moved: bool, scaled: bool) -> None:
    for seed in range(10):
        clip = random_clip(seed, dtype=dtype, moved=moved, scaled=scaled)
        back = again(clip, tmp_path)
        check_same_motion(clip, back, 1e-5 if dtype == np.float32 else 2e-6)
        assert (back.channels == tuple("xyzZXY" for _ in clip.skeleton.names)) == (moved or scaled)


def test_joints_that_stay_at_their_offsets_need_no_positions(tmp_path: Path, dtype: Any) -> None:
    skeleton = ik.Skeleton([-1, 0], np.array([[0, 0, 0], [0, 93.1234, 1 / 3]]))
    turned = np.random.default_rng(0).normal(size=(5, 2, 4)).astype(dtype)
    for moved in (None, np.broadcast_to(skeleton.offsets, (5, 2, 3)).astype(dtype)):
        assert again(ik.Clip(skeleton, ik.Pose(turned, moved), 30), tmp_path).channels == ("xyzZXY", "ZXY")
    still = ik.Clip(skeleton, ik.Pose(np.tile(np.eye(4, dtype=dtype)[0], (5, 2, 1))), 30, channels=("", ""))
    assert again(still, tmp_path).channels == ("xyzZXY", "ZXY")  # a file without channels has no frames


def test_nothing_is_less_than_zero(tmp_path: Path) -> None:
    pose = ik.Pose([[[1, -1e-12, 0, 0]]], [[[-1e-9, 0, -4e-7]]])
    ik.Clip(ik.Skeleton([-1], [[-1e-9, 0, 0]]), pose, 30).write(tmp_path / "out.bvh")
    assert "-" not in (tmp_path / "out.bvh").read_text()


def test_channels_that_cannot_hold_the_motion_are_widened(tmp_path: Path) -> None:
    clip = ik.Clip.read(written(tmp_path, ODD))
    turned = clip.pose.rotations.copy()
    turned[1, clip.skeleton.index("Knee")] = ik.rotations.exp([0.1, 0.2, 0.3])
    changed = ik.Clip(clip.skeleton, ik.Pose(turned, clip.pose.translations), clip.fps, channels=clip.channels)
    back = again(changed, tmp_path)
    assert back.channels == ("zxyYZX", "XZY", "XzYyZ", "", "", "ZXY")
    check_same_motion(changed, back, 1e-6)
    assert clip.pose.translations is not None
    moved = clip.pose.translations.copy()
    moved[2, clip.skeleton.index("Foot_end")] += 1
    changed = ik.Clip(clip.skeleton, ik.Pose(turned, moved), clip.fps, channels=clip.channels)
    back = again(changed, tmp_path)
    assert back.channels
    assert back.channels[3] == "xyz"
    check_same_motion(changed, back, 1e-6)


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_angles_go_on_without_jumps(tmp_path: Path, order: str) -> None:
    """Several turns about every axis, through gimbal lock; and standing still in it."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        t = np.linspace(0, 1, 400)[:, np.newaxis]
        angles = random.uniform(-60, 60, 3) + random.uniform(-800, 800, 3) * t
        if seed % 2:
            angles[:100, 1] = np.linspace(0, 85, 100)
            angles[100:300] = [angles[99, 0], 90 * np.sign(angles[99, 1]), angles[99, 2]]
        turned = ik.rotations.from_euler(np.radians(angles), order)[:, np.newaxis]
        clip = ik.Clip(ik.Skeleton([-1], [[0, 0, 0]]), ik.Pose(turned), 30, channels=(order,))
        back = again(clip, tmp_path)
        check_same_motion(clip, back, 1e-7)
        listed = numbers(tmp_path / "again.bvh").reshape(-1, 3)
        steps, came = np.diff(listed, axis=0), np.diff(angles, axis=0)
        inside = np.r_[1:99, 301:399] if seed % 2 else np.arange(1, 399)
        assert np.abs(np.abs(steps[inside]) - np.abs(came[inside])).max() < 3e-6
        if seed % 2:
            assert np.abs(steps[100:298]).max() == 0
            assert np.abs(steps[99, [0, 2]]).max() < 3e-6  # into the lock


@pytest.mark.parametrize("name", ["", "two  spaces", " before", "br{ace", "br}ace", "new\nline", "half\ud83d"])
def test_a_name_that_could_not_be_read_again_is_refused(tmp_path: Path, name: str) -> None:
    clip = ik.Clip(ik.Skeleton([-1], [[0, 0, 0]], names=[name]), ik.Pose([[[1, 0, 0, 0]]]), 30)
    with pytest.raises(ValueError, match=r"out\.bvh: a BVH file cannot hold the name"):
        clip.write(tmp_path / "out.bvh")
    assert not (tmp_path / "out.bvh").exists()


def test_what_is_not_finite_is_refused(tmp_path: Path) -> None:
    clip = random_clip(0, moved=True)
    for part in (0, 1):
        rotations, moved = clip.pose.rotations.copy(), np.array(clip.pose.translations)
        (rotations, moved)[part][2, 3, 1] = [np.nan, np.inf][part]
        with pytest.raises(ValueError, match="cannot hold what is not finite"):
            ik.Clip(clip.skeleton, ik.Pose(rotations, moved), 30).write(tmp_path / "out.bvh")


@pytest.mark.parametrize("seconds", ["0.0333333", ".0083333", "0.008342", "0.00833333", "0.04", "1e-3", "0.016666667"])
def test_odd_rates_are_kept(tmp_path: Path, seconds: str) -> None:
    clip = ik.Clip.read(written(tmp_path, ODD.replace(".0083333", seconds)))
    assert clip.fps == 1 / float(seconds)
    assert again(clip, tmp_path).fps == clip.fps
    assert f"Frame Time: {float(seconds):.10g}\n" in (tmp_path / "again.bvh").read_text()


@pytest.mark.parametrize("fps", [24, 25, 30, 60, 120, 59.94, 23.976])
def test_whole_rates_come_back_whole(tmp_path: Path, fps: float) -> None:
    clip = ik.Clip(ik.Skeleton([-1], [[0, 0, 0]]), ik.Pose([[[1, 0, 0, 0]]] * 2), fps)
    assert again(clip, tmp_path).fps == pytest.approx(fps, rel=3e-16)  # 1 / x skips some numbers


def test_other_files_are_refused_by_their_ending(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"walk\.fbx: expected a file that ends in \.bvh or \.gltf or \.glb, got '\.fbx'"
    ):
        ik.Clip.read("walk.fbx")
    with pytest.raises(ValueError, match="expected a file that ends in"):
        random_clip(0).write(tmp_path / "walk")
    assert ik.Clip.read(written(tmp_path, ODD, "SHOUT.BVH")).fps
    with pytest.raises(ValueError, match="a BVH file has one animation, without a name, got 'Walk'"):
        ik.Clip.read(written(tmp_path, ODD), "Walk")


@pytest.mark.slow
def test_a_long_file_is_read_faster_than_its_words_become_floats(tmp_path: Path) -> None:
    """Not a value at a time in Python."""
    line = " ".join(f"{number:.6f}" for number in np.random.default_rng(0).normal(size=15) * 50)
    text = ODD[: ODD.index("Frames")] + f"Frames: 20000\nFrame Time: 0.01\n{f'{line}{chr(10)}' * 20000}"
    path = written(tmp_path, text)
    ik.Clip.read(path)

    def seconds(work: Any) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        return min(times)

    python = seconds(lambda: [list(map(float, line.split())) for line in text[text.index("0.01\n") :].splitlines()[1:]])
    assert seconds(lambda: ik.Clip.read(path)) < 0.7 * python


# --- files that others made ------------------------------------------------------------------------------------------

MOCAP = Path(os.environ.get("IKCORE_MOCAP", "none"))
FILES = sorted(MOCAP.glob("*.bvh"))


@pytest.mark.skipif(not FILES, reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize("path", FILES or [MOCAP], ids=lambda path: path.stem)
def test_real_files(path: Path, tmp_path: Path) -> None:
    clip = ik.Clip.read(path)
    text = path.read_text()
    for frame in (0, len(clip) // 2, len(clip) - 1):
        check_places(clip, text, frame, 1e-9)
    back = again(clip, tmp_path)
    assert (back.skeleton, back.fps, back.channels) == (clip.skeleton, clip.fps, clip.channels)
    check_same_motion(clip, back, 1e-6)
    there, here = (numbers(file).reshape(len(clip), -1) for file in (path, tmp_path / "again.bvh"))
    other = np.abs(here - there) > 1.1e-6  # the same rotation by other angles: only from where the file itself jumps
    for column in np.flatnonzero(other.any(axis=0)):
        frame = int(other[:, column].argmax())
        assert frame > 0
        assert np.abs(there[frame] - there[frame - 1])[column - 2 : column + 3].max() > 90
    assert np.abs(np.diff(here, axis=0)).max() <= np.abs(np.diff(there, axis=0)).max() + 2e-6
