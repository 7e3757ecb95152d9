"""Reading .obj files: every form there is, and one sentence for every one that is wrong."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ikcore import Ground
from ikcore.grounds import obj
from ikcore.grounds.polygon import triangulate

CORNERS = "v 0 0 0\nv 0 0 1\nv 1 0 1\nv 1 0 0\n"

Corner = tuple[float, float]
Read = Callable[[str | bytes], tuple[NDArray[Any], NDArray[Any]]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    path = tmp_path_factory.mktemp("obj") / "a.obj"

    def read_text(text: str | bytes) -> tuple[NDArray[Any], NDArray[Any]]:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return obj.read(path)

    return read_text


@pytest.mark.parametrize(
    "face",
    [
        "f 1 2 3",
        "f 1/1 2/2 3/3",
        "f 1//5 2//5 3//5",
        "f 1/1/5 2/2/5 3/3/5",
        "f -4 -3 -2",
        "f -4/-1/-1 -3 -2//",
        "  f\t1   2\t3  ",
        "f 1 2 \\\n 3",
        "f 1 2 3 # a comment",
        "o thing\ng some more\nusemtl stone\ns 1\nvt 0 0\nvn 0 1 0\nf 1 2 3\nl 1 2\np 1\nmtllib x.mtl",
        "\r\nf 1 2 3\r\n\r\n",
        "curv 0 1 2\nunknown\nf 1 2 3",
    ],
)
def test_every_form_of_a_triangle(read: Read, face: str) -> None:
    vertices, faces = read(CORNERS + face)
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(faces, [[0, 1, 2]])


def test_vertices_may_follow_the_face_and_have_more_numbers(read: Read) -> None:
    vertices, faces = read("v 0 0 0 1.0\nf 1 2 3\nv 0 0 1 0.5 0.25 1\nv 1e0 -.5 +2.\n")
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [0, 0, 1], [1, -0.5, 2]])
    np.testing.assert_array_equal(faces, [[0, 1, 2]])


def test_negative_corners_count_back_from_where_they_stand(read: Read) -> None:
    _, faces = read(CORNERS + "f -4 -3 -2\n" + CORNERS + "f -4 -3 -1")
    np.testing.assert_array_equal(faces, [[0, 1, 2], [4, 5, 7]])


def test_a_mark_of_byte_order_and_foreign_letters(read: Read) -> None:
    _, faces = read(b"\xef\xbb\xbf# caf\xe9\no stra\xdfe\n" + CORNERS.encode() + b"f 1 2 3")
    assert len(faces) == 1


def area(polygon: NDArray[Any]) -> float:
    """Area of a polygon in the plane y = 0, positive if its front is above."""
    z, x = polygon[:, 2], polygon[:, 0]
    return float((z * np.roll(x, -1) - np.roll(z, -1) * x).sum() / 2)


def star(points: int, seed: int) -> NDArray[Any]:
    """A polygon about the origin with any radii: usually not convex."""
    numbers = np.random.default_rng(seed)
    turn, radius = np.arange(points) * 2 * np.pi / points, numbers.uniform(0.2, 2, points)
    return np.stack([radius * np.sin(turn), 0 * turn, radius * np.cos(turn)], -1)


@pytest.mark.parametrize("points", [4, 5, 8, 9, 13, 40])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("turned", [1, -1])
def test_faces_of_any_size_are_cut_within_their_outline(read: Read, points: int, seed: int, turned: int) -> None:
    polygon = star(points, seed)[::turned]
    text = "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in polygon.tolist())
    vertices, faces = read(text + "f " + " ".join(map(str, range(1, points + 1))))
    assert len(faces) == points - 2
    areas = np.array([area(vertices[face]) for face in faces])
    assert (areas * turned > 0).all()  # all turn as the face does, so none lies over another
    np.testing.assert_allclose(areas.sum(), area(polygon), rtol=1e-12)


def turns(polygon: list[Corner]) -> list[Fraction]:
    """Twice the areas of the triangles of a polygon, exactly; and last that of the polygon."""
    at = [(Fraction(x), Fraction(y)) for x, y in polygon]

    def turn(a: int, b: int, c: int) -> Fraction:
        return (at[b][0] - at[a][0]) * (at[c][1] - at[a][1]) - (at[b][1] - at[a][1]) * (at[c][0] - at[a][0])

    whole = sum((at[i - 1][0] * at[i][1] - at[i][0] * at[i - 1][1] for i in range(len(at))), Fraction())
    return [*(turn(*triangle) for triangle in triangulate(polygon)), whole]


def comb(teeth: int) -> list[Corner]:
    """Whose teeth are not all as long."""
    tips = [corner for i in range(teeth) for corner in ((2.0 * i, 10 + math.sin(i)), (2.0 * i + 1, 1.0))]
    return [(0.0, 0.0), (2.0 * teeth, 0.0), *reversed(tips)]


def spiral(corners: int) -> list[Corner]:
    """A wall that winds about itself, there and back."""

    def wall(inwards: float) -> list[Corner]:
        return [((i / 50 - inwards) * math.cos(i / 10), (i / 50 - inwards) * math.sin(i / 10)) for i in range(corners)]

    return wall(-1.5) + wall(-1.0)[::-1]


def square(side: int) -> list[Corner]:
    """A square with many corners on straight sides."""
    ahead, back = [float(i) for i in range(side)], [float(side - i) for i in range(side)]
    far = float(side)
    return [
        *((i, 0.0) for i in ahead),
        *((far, i) for i in ahead),
        *((i, far) for i in back),
        *((0.0, i) for i in back),
    ]


def cells(seed: int) -> list[Corner]:
    """The outline of squares of a grid, which often meet at corners: it then touches itself there."""
    numbers = random.Random(seed)
    some = {(0, 0)}
    while len(some) < 30:
        x, y = numbers.choice(sorted(some))
        some.add(numbers.choice([(x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)]))
    after: dict[Corner, list[Corner]] = {}
    for x, y in sorted(some):
        sides = {(0, -1): (0, 0, 1, 0), (1, 0): (1, 0, 1, 1), (0, 1): (1, 1, 0, 1), (-1, 0): (0, 1, 0, 0)}
        for (aside, above), (a, b, c, d) in sides.items():
            if (x + aside, y + above) not in some:
                after.setdefault((x + a, y + b), []).append((x + c, y + d))
    start = min(after)
    found = [start]
    while (place := after[found[-1]].pop()) != start:
        found.append(place)
    return found


def with_holes(count: int) -> list[Corner]:
    """Each is reached over an edge from the outline, over which it goes back."""
    found: list[Corner] = [(0, 10 * count + 5)]
    for y in range(10 * count, 0, -10):
        found += [(0, y), (2, y - 1), (4, y + 2), (5, y - 2), (2, y - 1), (0, y)]
    return [*found, (0, 0), (9, 0), (9, 10 * count + 5)]


def radii(seed: int) -> list[Corner]:
    return [(x, y) for y, _, x in star(9 + seed, seed).tolist()]


SIMPLE = [
    *(pytest.param(radii(seed), id=f"star {seed}") for seed in range(0, 100, 7)),
    *(pytest.param(cells(seed), id=f"cells {seed}") for seed in range(20)),
    pytest.param(comb(30), id="comb"),
    pytest.param([(-y, x) for x, y in comb(30)], id="comb on its side"),
    pytest.param([(0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y) for x, y in comb(30)], id="comb aslant"),
    pytest.param(spiral(200), id="spiral"),
    pytest.param(square(20), id="square"),
    pytest.param(with_holes(7), id="holes"),
    pytest.param([(1e-320 * x, 1e306 * y) for x, y in radii(50)], id="tiny and huge"),
]


@pytest.mark.parametrize("polygon", SIMPLE)
@pytest.mark.parametrize("first", [0, 3, 7])
def test_many_corners_are_cut_exactly(polygon: list[Corner], first: int) -> None:
    """Triangles that all turn left and together are as large as the whole lie nowhere outside, nor over each other."""
    *areas, whole = turns(polygon[first:] + polygon[:first])
    assert len(areas) == len(polygon) - 2
    assert min(areas) >= 0
    assert sum(areas) == whole > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda count: [(x, y) for y, _, x in star(count, 1).tolist()],
        lambda count: comb(count // 2),
        lambda count: spiral(count // 2),
        lambda count: np.random.default_rng(0).normal(size=(count, 2)).tolist(),
        lambda count: [(float(i), 0.0) for i in range(count)],
        lambda count: [(1.0, 2.0)] * count,
        lambda count: [(float(i % 2), 0.0) for i in range(count)],
    ],
    ids=["star", "comb", "spiral", "crossing itself", "a line", "a point", "to and fro"],
)
def test_a_face_of_many_corners_takes_not_long(make: Callable[[int], list[Corner]]) -> None:
    """Eight times the corners, about eight times the lines of Python to run; a square would be 64."""
    few, many = (lines_run(make(count)) for count in (500, 4000))
    assert many < 16 * few


def lines_run(polygon: Any) -> int:
    """How many lines it takes to cut a polygon."""
    count = 0

    def count_line(frame: Any, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return count_line

    corners = [tuple(corner) for corner in polygon]
    before = sys.gettrace()
    sys.settrace(count_line)
    try:
        triangles = triangulate(corners)
    finally:
        sys.settrace(before)
    assert len(triangles) == len(corners) - 2
    return count


def test_a_face_that_crosses_itself_or_has_no_area_ends_in_triangles(read: Read) -> None:
    for corners in ("1 3 2 4", "1 1 1 1 1", "1 2 1 2 1 2", "1 2 3 4 1 2 3 4"):
        _, faces = read(CORNERS + "f " + corners)
        assert len(faces) == len(corners.split()) - 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 1 2\n", "line 1: expected three coordinates after 'v', got '1 2'"),
        ("\n# x\nv 1 two 3\n", "line 3: expected three coordinates after 'v', got '1 two 3'"),
        ("v 1 nan 3\n", "line 1: expected finite coordinates"),
        ("v 1 2 1e999\n", "line 1: expected finite coordinates"),
        (CORNERS + "f 1 2 5\n", "line 5: corner 5 is no vertex; the file has 4"),
        (CORNERS + "f 0 1 2\n", "line 5: corner '0' is no vertex; they count from 1, or back from -1 to -4"),
        (CORNERS + "f 1 2 -5\n", "line 5: corner '-5' is no vertex"),
        (CORNERS + "f 1 2\n", "line 5: expected at least 3 corners after 'f', got 2"),
        (CORNERS + "f\n", "line 5: expected at least 3 corners after 'f', got 0"),
        (CORNERS + "f 1 2 x\n", "line 5: expected corners such as 3, 3/1 or 3//2 after 'f', got 'x'"),
        (CORNERS + "f 1 2 /3\n", "line 5: expected corners such as"),
        (CORNERS + "f 1 2 \\\n 1.5\n", "line 6: expected corners such as"),
        (CORNERS, "has no faces"),
        ("", "has no faces"),
        (b"\x00\x01\xff\xfe" * 20, "has no faces"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read: Read, text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=r"a\.obj") as raised:
        read(text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("line", ["v 1 2 {}", "v {}", "f 1 2 {}", "f 1 2 -{}", "v {} 2 inf"])
def test_long_lines_are_not_said_whole(read: Read, line: str) -> None:
    for word in ("9" * 5000 + "x", "x " * 5000, "7" * 400):
        with pytest.raises(ValueError, match=r"line 5: ") as raised:
            read(CORNERS + line.format(word))
        assert len(str(raised.value).partition("line 5: ")[2]) < 200


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.obj"):
        Ground.read(tmp_path / "none.obj")


def test_ground_reads_scaled_files(tmp_path: Path) -> None:
    path = tmp_path / "Floor.OBJ"
    path.write_text("v 0 50 0\nv 0 50 1\nv 1 50 1\nv 1 50 0\nf 1 2 3 4\n")
    ground = Ground.read(path, up="y", scale=0.01)
    assert ground.at([0.005, 0, 0.005], above=1, below=1).height == 0.5


WORDS = [
    "v",
    "f",
    "vt",
    "vn",
    "o",
    "\\",
    "#",
    "1",
    "2",
    "-1",
    "0",
    "3//",
    "1/2/3",
    "nan",
    "1e308",
    "-1e-320",
    "9" * 400,
]


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9), max_size=9) | st.binary(max_size=60))
@settings(max_examples=500, deadline=None)
def test_anything_is_read_or_refused_in_one_sentence(read: Read, text: Any) -> None:
    data = text if isinstance(text, bytes) else "\n".join(map(" ".join, text)).encode()
    refused = ""
    try:
        vertices, faces = read(data)
    except ValueError as error:
        refused = str(error)
    assert "\n" not in refused
    if not refused:
        assert np.isfinite(vertices).all()
        assert 0 <= faces.min() <= faces.max() < len(vertices)


def test_a_good_file_with_one_byte_wrong_never_crashes(read: Read) -> None:
    numbers = random.Random(1)
    good = (CORNERS + "vn 0 1 0\nf 1//1 2//1 3//1 4//1\nf -4 -3 -2\n").encode()
    refused = 0
    for _ in range(2000):
        data = bytearray(good)
        data[numbers.randrange(len(data))] = numbers.randrange(256)
        try:
            read(bytes(data))
        except ValueError:
            refused += 1
    assert 0 < refused < 2000
