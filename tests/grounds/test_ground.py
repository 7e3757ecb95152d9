"""Ground: rays against every triangle the plain way, closed forms, and the window that feet ask for."""

from __future__ import annotations

import gc
import itertools
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import soup
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import ikcore as ik
from ikcore import Ground, Status, _core, terrain

Array = NDArray[Any]
FIELDS = ("hit", "distance", "points", "normals", "front", "part", "triangle", "status")
SQUARE = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0]]  # y up, its front above
BOX = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")).reshape(3, -1).T.astype(float)
BOX_QUADS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
BOX_FACES = BOX_QUADS[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
UP = np.array([0.0, 1, 0])


def rays(count: int, seed: int = 1, spread: float = 1.5) -> tuple[Array, Array]:
    numbers = np.random.default_rng(seed)
    return numbers.uniform(-spread, spread, (count, 3)), numbers.normal(size=(count, 3))


def raw(hits: ik.grounds.Hits) -> list[bytes]:
    return [getattr(hits, field).tobytes() for field in FIELDS]


def square(scale: float = 1.0, at: Any = (0, 0, 0)) -> Ground:
    return Ground.mesh(np.array(SQUARE) * scale + at, [[0, 1, 2], [0, 2, 3]])


# --- rays to triangles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("triangles", [1, 2, 7, 8, 9, 16, 17, 60, 500, 3000])
def test_nearest_hits_are_those_of_every_triangle(triangles: int, isa: str) -> None:
    vertices, faces = soup.random(triangles, seed=triangles)
    origins, directions = rays(400)
    hits = Ground.mesh(vertices, faces).cast(origins, directions)
    distance, triangle = soup.cast(vertices, faces, origins, directions)
    np.testing.assert_array_equal(hits.triangle, triangle)
    np.testing.assert_array_equal(hits.hit, triangle >= 0)
    np.testing.assert_allclose(hits.distance, distance, rtol=1e-12, atol=1e-13)
    unit = directions / np.linalg.norm(directions, axis=1)[:, None]
    np.testing.assert_allclose(hits.points[hits.hit], (origins + unit * distance[:, None])[hits.hit], atol=1e-12)
    a, b, c = (vertices[faces[triangle[hits.hit], corner]] for corner in range(3))
    normal = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a), axis=1)[:, None]
    facing = np.where((normal * unit[hits.hit]).sum(1) < 0, 1, -1)
    np.testing.assert_array_equal(hits.front[hits.hit], facing > 0)
    np.testing.assert_allclose(hits.normals[hits.hit], normal * facing[:, None], atol=1e-9)
    assert np.isnan(hits.points[~hits.hit]).all()
    assert np.isnan(hits.normals[~hits.hit]).all()
    assert not hits.status.any()


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1, -1])
def test_every_direction_knows_front_and_back(axis: int, sign: int, isa: str) -> None:
    for across in (0.0, 0.3, -0.4):
        direction = np.full(3, across)
        direction[axis] = sign
        hits = Ground.mesh(BOX - 0.5, BOX_FACES).cast(np.array([-3 * direction, 0 * direction]), direction)
        np.testing.assert_array_equal(hits.front, [True, False])
        np.testing.assert_array_equal(hits.normals[:, axis], [-sign, -sign])
        np.testing.assert_allclose(hits.distance, np.array([2.5, 0.5]) * np.linalg.norm(direction), rtol=1e-14)


def test_what_is_seen_from_behind_counts_only_if_asked() -> None:
    vertices, faces = soup.random(300, seed=5)
    origins, directions = rays(300)
    ground = Ground.mesh(vertices, faces)
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    found = ground.cast(origins, directions, backs=False)
    for i, (origin, direction) in enumerate(zip(origins, directions, strict=True)):
        fronts = np.flatnonzero((np.cross(b - a, c - a) * direction).sum(1) < 0)
        _, triangle = soup.cast(vertices, faces[fronts], origin[np.newaxis], direction[np.newaxis])
        assert found.triangle[i] == (fronts[triangle[0]] if triangle[0] >= 0 else -1)
    assert found.front[found.hit].all()


def test_a_ball_from_all_sides(isa: str) -> None:
    """The triangles lie between two spheres."""
    vertices, faces = soup.sphere(40)
    ground = Ground.mesh(vertices, faces)
    outside, _ = rays(3000, spread=1)
    outside *= 3 / np.linalg.norm(outside, axis=1)[:, None]
    hits = ground.cast(outside, -outside)
    assert hits.hit.all()
    assert hits.front.all()
    radius = np.linalg.norm(hits.points, axis=1)
    assert np.cos(np.pi / 40) ** 2 <= radius.min() <= radius.max() <= 1 + 1e-12
    np.testing.assert_allclose((hits.normals * outside).sum(1) / 3, 1, atol=0.01)
    inside = ground.cast(outside * 0, outside)
    assert inside.hit.all()
    assert not inside.front.any()


def test_no_ray_gets_between_triangles_that_share_an_edge_or_corner(isa: str) -> None:
    vertices, faces = soup.sphere(24)
    ground = Ground.mesh(vertices, faces)
    for target in (
        vertices,
        vertices[faces].mean(1),
        (vertices[faces] + np.roll(vertices[faces], 1, 1)).reshape(-1, 3),
    ):
        for origin in ([0, 0, 0], [0.1, -0.2, 0.3], [0.5, 0.5, 0.01]):
            hits = ground.cast(
                np.tile(origin, (len(target), 1)), target * (1 if target is vertices else 0.5) - np.array(origin)
            )
            assert hits.hit.all()
            assert (np.linalg.norm(hits.points, axis=1) > 0.98).all()


def test_edges_and_corners_belong_to_the_square(isa: str) -> None:
    ground = square()
    x, z = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9))
    origins = np.stack([x, x * 0 + 2, z], -1)
    hits = ground.cast(origins, [0, -1, 0])
    assert hits.hit.all()
    np.testing.assert_array_equal(hits.distance, np.full((9, 9), 2.0))
    assert hits.triangle[3, 3] == 0  # the diagonal belongs to both: the first
    outside = origins[:, -1] + [1e-9, 0, 0]
    assert not ground.cast(outside, [0, -1, 0]).hit.any()


def test_a_ray_along_a_face_misses_it_and_hits_what_stands_across() -> None:
    assert not square().cast([[-1, 0, 0.5], [0.5, 0, 0.5]], [1, 0, 0.01]).hit.any()
    box = Ground.mesh(BOX, BOX_FACES)
    hits = box.cast([-1, 1, 0.5], [1, 0, 0])  # within the top
    assert hits.hit
    np.testing.assert_array_equal(hits.normals, [-1, 0, 0])


def test_a_ray_that_begins_on_a_surface_hits_it() -> None:
    hits = square().cast([0.5, 0, 0.25], [[0, -1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(hits.distance, [0, 0])
    np.testing.assert_array_equal(hits.front, [True, False])


def test_hits_beyond_the_length_do_not_count() -> None:
    hits = square().cast([0.5, 2, 0.25], [0, -3, 0], length=[2, np.nextafter(2, 0), np.inf, 0, -1, np.nan])
    np.testing.assert_array_equal(hits.hit, [True, False, True, False, False, False])
    np.testing.assert_array_equal(np.isinf(hits.distance), ~hits.hit)


def test_of_triangles_in_one_place_the_first_counts(isa: str) -> None:
    one = np.array([[0.0, 0, 0], [0, 0, 1], [1, 0, 0]])
    for count in (2, 8, 40):
        ground = Ground.mesh(one, np.tile([0, 1, 2], (count, 1)))
        hits = ground.cast([[0.2, 1, 0.2]] * 3, [0, -1, 0])
        np.testing.assert_array_equal(hits.triangle, 0)
        assert (ground + ground).cast([0.2, 1, 0.2], [0, -1, 0]).part == 0


def test_triangles_without_area_are_not_there() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0.0, 0, 1]])
    flat = [[0, 1, 2], [0, 0, 3], [1, 1, 1]]
    assert not Ground.mesh(points, flat).cast([0.5, 1, 0], [0, -1, 0]).hit
    hits = Ground.mesh(points, [*flat, [0, 3, 1]]).cast([0.3, 1, 0.3], [0, -1, 0])
    assert hits.triangle == 3


@pytest.mark.parametrize("faces", [[], np.zeros((0, 3), int)])
def test_an_empty_mesh_is_hit_by_nothing(faces: Any) -> None:
    for vertices in (np.zeros((0, 3)), BOX):
        hits = Ground.mesh(vertices, faces).cast(*rays(5))
        assert not hits.hit.any()
        assert not hits.status.any()
    assert not Ground(()).cast(*rays(5)).hit.any()


@pytest.mark.parametrize("scale", [1e-80, 1e-9, 1.0, 1e9, 1e80])
def test_size_does_not_matter(scale: float, isa: str) -> None:
    vertices, faces = soup.random(200)
    origins, directions = rays(200)
    plain = Ground.mesh(vertices, faces).cast(origins, directions)
    scaled = Ground.mesh(vertices * scale, faces).cast(origins * scale, directions / scale)
    np.testing.assert_array_equal(scaled.triangle, plain.triangle)
    np.testing.assert_allclose(scaled.distance, plain.distance * scale, rtol=1e-12, atol=1e-13 * scale)
    np.testing.assert_allclose(scaled.normals, plain.normals, atol=1e-8)


def test_far_from_the_origin_nothing_is_lost() -> None:
    """Multiples of 2^-20 stay what they are a million away."""
    vertices, faces = soup.random(200)
    vertices = np.round(vertices * 2**20) / 2**20
    origins, directions = rays(300)
    origins = np.round(origins * 2**20) / 2**20
    away = np.array([1e6, -2e6, 3e6])
    plain = Ground.mesh(vertices, faces).cast(origins, directions)
    moved = Ground.mesh(vertices + away, faces).cast(origins + away, directions)
    np.testing.assert_array_equal(moved.triangle, plain.triangle)
    np.testing.assert_allclose(moved.distance, plain.distance, rtol=1e-12)


def test_rays_from_far_away_arrive(isa: str) -> None:
    vertices, faces = soup.sphere(12)
    directions = rays(500)[1]
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for away in (1e3, 1e6, 1e9):
        hits = Ground.mesh(vertices, faces).cast(-directions * away, directions)
        assert hits.hit.all()
        np.testing.assert_allclose(hits.distance, away - 1, atol=0.05 + 1e-15 * away)


def test_a_ray_may_lean_by_very_little(isa: str) -> None:
    hits = square().cast([3.5, 1e14, 0.25], [-3, -1e14, 0])
    assert hits.hit
    np.testing.assert_allclose(hits.points, [0.5, 0, 0.25], atol=0.02)  # 1e14 is that coarse


def test_a_mesh_may_be_as_fine_as_numbers_are(isa: str) -> None:
    """Its vertices are a few steps of rounding apart, and the centre of its bounds lies between them."""
    vertices, faces = soup.sphere(10)
    for size in (1e-9, 3e-9, 7e-9):
        fine = vertices * size + 1e6
        hits = Ground.mesh(fine, faces).cast(fine.mean(0), vertices)
        assert hits.hit.all()
        assert (hits.distance < 2 * size).all()


def test_one_big_triangle_among_many_small_ones(isa: str) -> None:
    vertices, faces = soup.random(500, size=0.001)
    vertices = np.concatenate([vertices, [[-50, -2, -50], [-50, -2, 150], [150, -2, -50]]])
    faces = np.concatenate([faces, [[1500, 1501, 1502]]])
    origins = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    origins[:250] = vertices[faces[:250]].mean(1) + 1e-3 * UP
    directions = np.tile([0, -1.0, 0], (500, 1))
    hits = Ground.mesh(vertices, faces).cast(origins, directions)
    _, triangle = soup.cast(vertices, faces, origins, directions)
    np.testing.assert_array_equal(hits.triangle, triangle)
    assert (triangle == 500).any()
    assert (triangle < 250).any()


@pytest.mark.parametrize("triangles", [5000])
def test_lopsided_splits_end(triangles: int) -> None:
    """Every triangle twice as large and as far away as the one before: what a split takes off is always little."""
    size = 2.0 ** np.arange(-300, 0, 300 / triangles)[:, None, None]
    corners = np.array([[1.0, 0, 0], [1, 0, 1], [1.2, 0, 0]]) * size
    ground = Ground.mesh(corners.reshape(-1, 3), np.arange(3 * triangles).reshape(-1, 3))
    above = corners.mean(1)
    hits = ground.cast(above + UP, [0, -1, 0])
    assert hits.hit[-500:].all()
    same = Ground.mesh(np.tile(corners[-1], (triangles, 1)), np.arange(3 * triangles).reshape(-1, 3))
    assert same.cast(corners[-1].mean(0) + UP, [0, -1, 0]).triangle == 0


# --- rays that cannot be used ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", [square(), Ground.plane(), Ground(())], ids=["mesh", "plane", "nothing"])
def test_rays_that_cannot_be_used_hit_nothing_and_say_so(ground: Ground) -> None:
    origins = np.tile([0.5, 1.0, 0.25], (8, 1))
    directions = np.tile([0.0, -1, 0], (8, 1))
    origins[0, 0], origins[1, 1], origins[2, 2] = np.nan, np.inf, -np.inf
    directions[3, 0], directions[4, 1], directions[5] = np.nan, -np.inf, 0
    with np.errstate(all="raise"):
        hits = ground.cast(origins, directions)
    expected = [Status.NOT_FINITE] * 5 + [Status.NO_LENGTH, 0, 0]
    np.testing.assert_array_equal(hits.status, expected)
    np.testing.assert_array_equal(hits.hit, [False] * 6 + [bool(ground.parts)] * 2)
    assert np.isinf(hits.distance[:6]).all()
    assert np.isnan(hits.normals[:6]).all()


def test_numbers_too_large_for_the_mesh_are_not_computed_with() -> None:
    hits = square(1e-60).cast([[1e80, 1, 0], [0, 1e300, 0]], [0, -1, 0])
    np.testing.assert_array_equal(hits.status, [Status.NOT_FINITE] * 2)
    both = (Ground.plane() + square(1e-60)).cast([1e80, 1, 0], [0, -1, 0])
    assert both.status == Status.NOT_FINITE
    assert not both.hit


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1.7e308])
def test_directions_have_any_length(size: float, isa: str) -> None:
    for ground in (square(), Ground.plane()):
        with np.errstate(all="raise"):
            hits = ground.cast([0.5, 2, 0.25], np.array([0, -size, 0]))
        assert hits.distance == 2
        np.testing.assert_array_equal(hits.points, [0.5, 0, 0.25])


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_leading_axes_broadcast() -> None:
    origins, directions = rays(4)
    hits = square().cast(origins[:, None] + [0, 1, 0], directions[None, :3])
    assert hits.hit.shape == (4, 3)
    assert hits.points.shape == hits.normals.shape == (4, 3, 3)
    for i in range(4):
        one = square().cast(origins[i] + [0, 1, 0], directions[2])
        assert [np.asarray(getattr(hits, name)[i, 2]).tobytes() for name in FIELDS] == raw(one)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_nothing_asked_is_nothing_found(shape: tuple[int, ...]) -> None:
    for ground in (square(), Ground.plane()):
        assert ground.cast(np.zeros((*shape, 3)), [0, 1, 0]).points.shape == (*shape, 3)
        assert ground.at(np.zeros((*shape, 3)), above=1, below=1).height.shape == shape


def test_floats_give_floats_and_the_hits_of_doubles() -> None:
    vertices, faces = soup.random(300)
    ground = Ground.mesh(vertices, faces)
    origins, directions = (array.astype(np.float32) for array in rays(300))
    narrow, wide = ground.cast(origins, directions), ground.cast(origins.astype(float), directions.astype(float))
    for name in ("distance", "points", "normals"):
        assert getattr(narrow, name).dtype == np.float32
        np.testing.assert_array_equal(getattr(narrow, name), getattr(wide, name).astype(np.float32))
    np.testing.assert_array_equal(narrow.triangle, wide.triangle)
    assert ground.at(origins, above=1, below=1).height.dtype == np.float32


def test_strided_and_read_only_arrays_are_as_good() -> None:
    vertices, faces = soup.random(100)
    ground = Ground.mesh(vertices, faces)
    origins, directions = rays(64)
    wide = np.zeros((64, 2, 5))
    wide[:, 1, ::2] = origins
    wide.flags.writeable = False
    turned = np.asfortranarray(directions)
    assert raw(ground.cast(wide[:, 1, ::2], turned)) == raw(ground.cast(origins, directions))
    assert raw(ground.cast(origins[::-1], directions[::-1])) == [
        getattr(ground.cast(origins, directions), name)[::-1].tobytes() for name in FIELDS
    ]


def test_same_bits_on_every_instruction_set_batch_size_and_thread() -> None:
    vertices, faces = soup.random(2000)
    ground = Ground.mesh(vertices, faces) + Ground.plane(height=-0.5)
    origins, directions = rays(40_000)
    before = _core.isa()
    try:
        _core.use_isa("scalar")
        expected = raw(ground.cast(origins, directions))
        for isa in ("base", "avx2", "avx512"):
            _core.use_isa(isa)
            assert raw(ground.cast(origins, directions)) == expected
    finally:
        _core.use_isa(before)
    assert raw(ground.cast(origins, directions, workers=3)) == expected
    ends = [0, 1, 3, 10, 77, 40_000]
    parts = [ground.cast(origins[a:b], directions[a:b]) for a, b in itertools.pairwise(ends)]
    assert [b"".join(getattr(part, name).tobytes() for part in parts) for name in FIELDS] == expected


def test_many_threads_may_ask_one_ground() -> None:
    vertices, faces = soup.random(500)
    ground = Ground.mesh(vertices, faces)
    origins, directions = rays(5000)
    expected, found = raw(ground.cast(origins, directions)), []
    threads = [threading.Thread(target=lambda: found.append(raw(ground.cast(origins, directions)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_pickles_as_vertices_and_faces() -> None:
    ground = Ground.mesh(*soup.random(50)) + Ground.plane([0, 1, 0.5], 2).moved(translations=[0, 1, 0])
    again = pickle.loads(pickle.dumps(ground))
    assert raw(again.cast(*rays(200))) == raw(ground.cast(*rays(200)))


def test_a_mesh_never_changes() -> None:
    vertices, faces = soup.random(20)
    ground = Ground.mesh(vertices, faces)
    expected = raw(ground.cast(*rays(200)))
    vertices[:] = 0
    faces[:] = 0
    mesh: Any = ground.parts[0].body
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0] = 1
    with pytest.raises(AttributeError):
        mesh.faces = faces
    del mesh
    gc.collect()
    assert raw(ground.cast(*rays(200))) == expected


def test_nothing_leaks() -> None:
    vertices, faces = soup.random(2000)
    resource = pytest.importorskip("resource")
    for _ in range(5):
        Ground.mesh(vertices, faces)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        Ground.mesh(vertices, faces)
        with pytest.raises(ValueError, match="not finite"):
            _core.Mesh(vertices * np.inf, faces.astype(np.int32))
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB; all of them would be 60 MB


# --- wrong arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ground.mesh([[0.0, 0, np.nan]], []), "vertices: vertex 0 is not finite"),
        (lambda: Ground.mesh([[0.0, 0, 0], [0, -np.inf, 0]], []), "vertices: vertex 1 is not finite"),
        (lambda: Ground.mesh([[0, 1e200, 0]], []), "too far away"),
        (lambda: Ground.mesh([[0, 0]], []), r"vertices: expected an array of shape \(..., 3\)"),
        (lambda: Ground.mesh(BOX, [[0, 1, 8]]), r"faces: face 0 is \[0, 1, 8\]; expected vertices, 0 to 7"),
        (lambda: Ground.mesh(BOX, [[0, 1, 2], [0, -1, 2]]), "faces: face 1"),
        (lambda: Ground.mesh(BOX, [[0, 1, 2**40]]), "faces: face 0"),
        (lambda: Ground.mesh(BOX, [[0, 1, 2, 3]]), r"faces: expected an array of shape \(triangles, 3\)"),
        (lambda: Ground.mesh(BOX, [[0.0, 1, 2]]), "faces: expected whole numbers"),
        (lambda: Ground.plane([0, 0, 0]), "normal: expected three numbers with a length"),
        (lambda: Ground.plane([0, np.nan, 0]), "normal"),
        (lambda: Ground.plane(height=np.inf), "height: expected a finite number"),
        (lambda: Ground.heights([[1, 2]]), "at least 2 x 2"),
        (
            lambda: Ground.heights([[1.0, 2], [3, np.nan]]),
            r"grid: height \[1, 1\] is not finite: ground with holes is a mesh",
        ),
        (lambda: Ground.plane(up="w"), "up: expected 'x', 'y' or 'z'"),  # type: ignore[arg-type]
        (lambda: Ground.plane() + Ground.plane(up="z"), "different"),
        (lambda: Ground.plane() + 1, "unsupported"),  # type: ignore[operator]
        (lambda: Ground.plane().moved([[1, 0, 0, 0]] * 2, [[0, 0, 0]] * 3), "same number of frames"),
        (lambda: Ground.plane().moved(translations=[np.nan, 0, 0]), "finite"),
        (lambda: Ground.plane().moved(scales=[1, 0, 1]), "scales: expected positive numbers, got 0"),
        (lambda: Ground.plane().moved(scales=[1, 2]), r"scales: expected .* 3"),
        (lambda: Ground.plane().moved(scales=[[1.0]] * 2, translations=[[0, 0, 0]] * 3), "same number of frames"),
        (lambda: Ground.plane().moved([1, 1, 0, 0]).moved(scales=[1, 2, 1]), "uneven scales would shear"),
        (lambda: square().cast([0, 0, 0], [[0, 1, 0]] * 2, length=[1, 2, 3]), r"do not broadcast: .*length \(3,\)"),
        (lambda: square().cast(np.zeros((2, 3)), np.zeros((3, 3))), "do not broadcast"),
        (lambda: square().at([0, 0], above=1, below=1), "points: expected"),
        (lambda: square().cast([0, 0, 0], ["a", "b", "c"]), "directions: expected real numbers"),
        (
            lambda: Ground.plane().moved(translations=np.zeros((4, 3))).at(np.zeros((3, 3)), above=1, below=1),
            "4 frames",
        ),
        (lambda: Ground.read("a.stl"), "expected a .obj, .gltf or .glb file"),
    ],
)
def test_what_is_wrong_is_said(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize("frames", [0, 1, 4])
@pytest.mark.parametrize("moves", [False, True])
def test_what_the_bake_asks_of_a_ground_is_what_anybody_is_told(moves: bool, frames: int) -> None:
    random = np.random.default_rng(frames)
    body = ik.terrain.stairs(4, rise=0.2, run=0.3).moved(
        translations=random.normal(0, 0.1, (frames, 3)) if moves and frames else None
    )
    for ground in (body, Ground.plane() + body):
        points = random.normal(0, 1, (frames, 5, 3))
        points[:, 0] = np.nan
        wanted = ground.at(points, above=0.5, below=1.0).height
        np.testing.assert_array_equal(ground._heights(points, 0.5, 1.0, 1), wanted)


def test_a_ceiling_is_what_is_above_a_point_and_seen_from_behind_first() -> None:
    ground = Ground.plane(height=2) + ik.terrain.stairs(4, rise=0.2, run=0.3)
    seen = set()
    for point in np.random.default_rng(1).uniform([-1, -1, -0.5], [1, 3, 2], (60, 3)):
        above = ground.cast(point, [0, 1, 0], length=1.5)
        found = ground._ceiling(point, 1.5)
        assert found == (above.points[1] if above.hit and not above.front else None)
        seen.add(found is None)
    assert len(seen) == 2


@pytest.mark.parametrize("wrong", [None, 3, "mesh", BOX])
def test_the_core_refuses_what_does_not_fit(wrong: Any) -> None:
    mesh, one = _core.Mesh(BOX, BOX_FACES.astype(np.int32)), np.zeros((1, 3))
    number, whole = np.zeros(1), np.zeros(1, np.int32)
    bodies = ((mesh, one, np.zeros((1, 9))), ((0.0, 1.0, 0.0, 0.5), None, None))
    job: list[Any] = [bodies, 1, False, 0, 1, one, one, number, np.ones(1, bool)]
    arguments = [*job, number, one, one, whole, whole, whole, whole]
    cast: Any = _core.cast
    cast(*arguments)
    cast(*job[:8], *[None] * 8)
    for place in (0, 1, 3, 4, *range(5, 16)):
        if wrong is None and place > 7:
            continue  # may be left out
        with pytest.raises(TypeError):
            cast(*arguments[:place], wrong, *arguments[place + 1 :])
    for body in (wrong, (wrong, None, None), (mesh, np.zeros(3), None), (mesh, None, np.zeros((2, 9))), (mesh, one)):
        with pytest.raises(TypeError):
            cast((body,), *arguments[1:])
    for each, first, last in ((0, 0, 1), (1, -1, 1), (1, 1, 0), (1, 0, 2)):
        with pytest.raises(TypeError):
            cast(bodies, each, False, first, last, *arguments[5:])
    given = [bodies, 1, 1, 0, 1, one, 0.5, number, np.ones(1, bool), one, one, whole]
    surface: Any = _core.surface
    surface(*given)
    surface(*given[:10], None, None)
    for place in (0, 1, *range(3, 12)):
        if wrong is None and place > 9:
            continue
        with pytest.raises(TypeError):
            surface(*given[:place], wrong, *given[place + 1 :])
    for axis, first, last in ((-1, 0, 1), (3, 0, 1), (1, -1, 1), (1, 0, 2)):
        with pytest.raises(TypeError):
            surface(bodies, 1, axis, first, last, *given[5:])
    way: list[Any] = [bodies, 1, np.zeros((1, 3)), np.zeros(3), False, 0.1, 0.5, 0.5, 1e-9]
    foothold: Any = _core.foothold
    foothold(*way)
    for place in (0, 2, 3):
        with pytest.raises(TypeError):
            foothold(*way[:place], wrong, *way[place + 1 :])
    for place, value in ((1, 3), (5, 0.0), (8, -1.0), (8, "x")):
        with pytest.raises(TypeError):
            foothold(*way[:place], value, *way[place + 1 :])
    with pytest.raises(MemoryError):
        foothold(*way[:3], np.full(3, 1e9), False, 1e-300, *way[6:])
    for vertices, faces in ((wrong, BOX_FACES + 100), (BOX, wrong), (BOX, BOX_FACES.astype(np.int32) - 1)):
        with pytest.raises((TypeError, ValueError)):
            _core.Mesh(vertices, faces)


# --- planes ----------------------------------------------------------------------------------------------------------


def test_planes_are_closed_forms() -> None:
    origins, directions = rays(500)
    normal, height = np.array([1.0, 2, -2]) / 3, 0.4
    hits = Ground.plane(normal * 7, height).cast(origins, directions)
    unit = directions / np.linalg.norm(directions, axis=1)[:, None]
    distance = (height - origins @ normal) / (unit @ normal)
    np.testing.assert_array_equal(hits.hit, distance >= 0)
    np.testing.assert_allclose(hits.distance[hits.hit], distance[distance >= 0], rtol=1e-12)
    np.testing.assert_allclose(hits.points[hits.hit] @ normal, height, atol=1e-10)
    facing = np.where((unit @ normal)[hits.hit] < 0, 1, -1)
    np.testing.assert_allclose(hits.normals[hits.hit], normal * facing[:, None], atol=1e-15)
    assert not Ground.plane().cast([0, 1, 0], [1, 0, 0]).hit


def test_a_plane_and_a_square_of_it_agree() -> None:
    origins, directions = rays(300)
    corners = np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]]) * 1e3
    wide = Ground.mesh(corners, [[0, 1, 2], [0, 2, 3]]).cast(origins, directions)
    plane = Ground.plane().cast(origins, directions)
    near = wide.hit | (np.abs(plane.points) > 1e3).any(1)
    np.testing.assert_array_equal(near | ~plane.hit, True)
    np.testing.assert_allclose(wide.distance[wide.hit], plane.distance[wide.hit], rtol=1e-9)
    np.testing.assert_array_equal(wide.front[wide.hit], plane.front[wide.hit])


# --- several, moving -------------------------------------------------------------------------------------------------


def test_of_several_grounds_the_nearest_counts() -> None:
    first, second = soup.random(100, 1), soup.random(100, 2)
    origins, directions = rays(500)
    both = Ground.mesh(*first) + Ground.mesh(*second)
    one = Ground.mesh(np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1] + len(first[0])]))
    hits, expected = both.cast(origins, directions), one.cast(origins, directions)
    np.testing.assert_allclose(hits.distance, expected.distance, rtol=1e-12)
    np.testing.assert_array_equal(np.where(hits.hit, hits.part * 100 + hits.triangle, -1), expected.triangle)


def test_a_moved_ground_is_that_of_moved_vertices() -> None:
    numbers = np.random.default_rng(2)
    vertices, faces = soup.random(200)
    q, t = numbers.normal(size=4), numbers.normal(size=3)
    q2, t2 = numbers.normal(size=4), numbers.normal(size=3)
    origins, directions = rays(300)

    def placed(points: Array, q: Array, t: Array) -> Array:
        return ik.rotations.rotate(q / np.linalg.norm(q), points) + t

    moved = Ground.mesh(vertices, faces).moved(q, t).moved(q2, t2)
    expected = Ground.mesh(placed(placed(vertices, q, t), q2, t2), faces).cast(origins, directions)
    hits = moved.cast(origins, directions)
    np.testing.assert_array_equal(hits.triangle, expected.triangle)
    np.testing.assert_allclose(hits.points, expected.points, atol=1e-12)
    np.testing.assert_allclose(hits.normals, expected.normals, atol=1e-10)
    world = placed(placed(vertices, q, t), q2, t2)
    np.testing.assert_allclose(moved.parts[0].local(world), vertices, atol=1e-14)


def test_a_scaled_ground_is_that_of_scaled_vertices() -> None:
    """Scaled unevenly, turned, shifted, then all that again, evenly: distances, lengths and normals are the world's."""
    numbers = np.random.default_rng(3)
    vertices, faces = soup.random(200)
    q, t, s = numbers.normal(size=4), numbers.normal(size=3), np.array([0.3, 1.0, 2.5])
    q2, t2, s2 = numbers.normal(size=4), numbers.normal(size=3), 1.7

    def placed(points: Array, q: Array, t: Array, s: Any) -> Array:
        return ik.rotations.rotate(q / np.linalg.norm(q), points * s) + t

    world = placed(placed(vertices, q, t, s), q2, t2, s2)
    moved = Ground.mesh(vertices, faces).moved(q, t, s).moved(q2, t2, s2)
    for length in (None, 2, numbers.uniform(0, 5, 300)):
        for backs in (True, False):
            origins, directions = rays(300)
            expected = Ground.mesh(world, faces).cast(origins, directions, length=length, backs=backs)
            hits = moved.cast(origins, directions, length=length, backs=backs)
            np.testing.assert_array_equal(hits.triangle, expected.triangle)
            np.testing.assert_array_equal(hits.front, expected.front)
            np.testing.assert_allclose(hits.distance, expected.distance, rtol=1e-9)
            np.testing.assert_allclose(hits.points, expected.points, atol=1e-9)
            np.testing.assert_allclose(hits.normals, expected.normals, atol=1e-7)
            assert 10 < hits.hit.sum() < 250
    np.testing.assert_allclose(moved.parts[0].local(world), vertices, atol=1e-13)


def test_a_scaled_plane_turns_with_its_scale() -> None:
    """A slope of 45 degrees, twice as high: height 2 x, and its normal across that."""
    slope = Ground.plane([-1, 1, 0]).moved(scales=[1, 2, 1])
    found = slope.at([[1, 2, 0], [-1, -2, 0]], above=1, below=1)
    np.testing.assert_allclose(found.height, [2, -2], rtol=1e-15)
    np.testing.assert_allclose(found.normals, np.tile(np.array([-2, 1, 0]) / np.sqrt(5), (2, 1)), atol=1e-15)
    even = Ground.plane([-1, 1, 0], 1).moved([1, 2, 3, 4], [5, 6, 7]).moved(scales=2)
    same = Ground.plane([-1, 1, 0], 2).moved([1, 2, 3, 4], [10, 12, 14])
    origins, directions = rays(50)
    np.testing.assert_allclose(even.cast(origins, directions).distance, same.cast(origins, directions).distance)


def test_a_ground_that_swells_has_frames_first() -> None:
    sizes = np.linspace([1, 1, 1], [3, 0.5, 2], 6)
    hill = Ground.mesh(
        [[-1, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1], [0, 1, 0]], [[i, (i + 1) % 4, 4] for i in range(4)]
    )
    points = np.tile([[0, 0, 0], [1, 0, 0]], (6, 1, 1))
    found = hill.moved(scales=sizes).at(points, above=9, below=9)
    x, y, _ = sizes.T
    np.testing.assert_allclose(found.height, np.stack([y, y * np.maximum(1 - 1 / x, 0)], -1), atol=1e-15)
    swelling = hill.moved(scales=np.linspace(1, 2, 6)[:, np.newaxis])
    np.testing.assert_allclose(swelling.at(points, above=9, below=9).height[:, 0], np.linspace(1, 2, 6), rtol=1e-15)
    assert repr(swelling) == "Ground(4 triangles over 6 frames; y is up)"


def test_rays_that_cannot_be_used_hit_nothing_of_a_scaled_ground() -> None:
    up = [0, np.nan, np.inf, 5e-324, -5e-324, -1e300]
    directions = np.array([[0, y, 0] for y in up])
    for ground in (square(4, (-2, 0, -2)), Ground.plane()):
        hits = ground.moved(scales=[3, 2, 3]).cast([0.5, 1, 0.25], directions)
        plain = ground.cast([0.5, 1, 0.25], directions)
        np.testing.assert_array_equal(hits.status, plain.status)
        np.testing.assert_array_equal(hits.distance, plain.distance)
        assert hits.distance.tolist()[:4] == [np.inf] * 4


def test_a_ground_that_moves_has_frames_first() -> None:
    turn = ik.rotations.from_axis_angle([0, 1, 0], np.linspace(0, 1, 6))
    lift = np.linspace([0, 0, 0], [0, 1, 0.5], 6)
    plate = square(4, (-2, 0, -2)).moved(turn, lift) + Ground.plane(height=-1)
    points = np.random.default_rng(1).uniform(-1.2, 1.2, (6, 5, 2, 3))
    found = plate.at(points, above=3, below=3)
    np.testing.assert_allclose(found.height, np.broadcast_to(lift[:, 1, None, None], (6, 5, 2)), atol=1e-14)
    assert not found.part.any()
    for frame in range(6):
        still = (square(4, (-2, 0, -2)).moved(turn[frame], lift[frame]) + Ground.plane(height=-1)).at(
            points[frame], above=3, below=3
        )
        assert still.points.tobytes() == found.points[frame].tobytes()
    assert plate.at(points + 50 * np.eye(3)[0], above=3, below=3).part.min() == 1  # beside it: the plane


def test_a_ground_says_what_it_is() -> None:
    ground = square() + Ground.plane(up="y").moved(translations=np.zeros((4, 3)))
    assert repr(ground) == "Ground(2 triangles, plane over 4 frames; y is up)"
    assert repr(Ground((), "z")) == "Ground(nothing; z is up)"


# --- feet ------------------------------------------------------------------------------------------------------------


def test_the_window_tells_floors_apart() -> None:
    storey = np.arange(4.0)
    floors = sum((square(4, (0, 3 * k, 0)) for k in storey), Ground(()))
    for k in storey:
        for near in (-0.4, 0, 0.4):
            assert floors.at([1, 3 * k + near, 1], above=0.5, below=0.5).height == 3 * k
    assert not floors.at([1, 1.5, 1], above=0.5, below=0.5).hit
    high = floors.at([1, 0, 1], above=[0.5, 3, 100], below=0)
    np.testing.assert_array_equal(high.height, [0, 3, 9])


@pytest.mark.parametrize("seed", range(3))
def test_the_window_in_a_soup_is_searched_as_the_plain_way_does(seed: int, isa: str) -> None:
    vertices, faces = soup.random(400, seed)
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    points = np.random.default_rng(seed).uniform(-1, 1, (200, 3))
    start = points + 0.4 * UP
    down, up = np.tile([0, -1.0, 0], (200, 1)), np.tile([0, 1.0, 0], (200, 1))
    first, below = soup.cast(vertices, faces, start, down)
    _, above = soup.cast(vertices, faces, start, up)
    inside = (first <= 0.7) & (normals[below, 1] < 0) & (above >= 0) & (normals[above, 1] > 0)
    faces_up = faces[normals[:, 1] > 0]
    first[inside] = soup.cast(vertices, faces_up, start[inside], down[inside])[0]
    expected = np.where(first <= 0.7, start[:, 1] - first, np.nan)
    found = Ground.mesh(vertices, faces).at(points, above=0.4, below=0.3)
    np.testing.assert_allclose(found.height, expected, atol=1e-13)
    assert inside.sum() > 10
    assert found.normals[found.hit, 1].min() > 0


def test_the_highest_within_the_window_counts() -> None:
    box = Ground.mesh(BOX * [1, 0.3, 1], BOX_FACES) + Ground.plane()
    found = box.at([[0.5, 0.05, 0.5], [0.5, -0.1, 0.5], [2, 0.1, 2]], above=0.5, below=0.5)
    np.testing.assert_allclose(found.height, [0.3, 0.3, 0])
    np.testing.assert_array_equal(found.part, [0, 0, 1])
    np.testing.assert_array_equal(found.normals, [[0, 1, 0]] * 3)


@pytest.mark.parametrize("flipped", [False, True])
def test_triangles_may_face_anywhere(flipped: bool) -> None:
    faces = BOX_FACES[:, ::-1] if flipped else BOX_FACES
    slab = Ground.mesh(BOX * [4, 0.2, 4] + [0, 1, 0], faces)
    found = slab.at([[1, 1.3, 1], [1, 1.15, 1]], above=0.5, below=0.5)
    np.testing.assert_allclose(found.height, 1.2)
    np.testing.assert_allclose(found.normals, [[0, 1, 0]] * 2)


def test_a_window_that_begins_within_a_body_finds_what_faces_up() -> None:
    slab = Ground.mesh(BOX * [4, 1, 4] + [0, 1, 0], BOX_FACES)  # from 1 to 2
    floor = square(4)
    found = (slab + floor).at([[1, 0.9, 1]], above=0.5, below=2)  # begins at 1.4
    np.testing.assert_array_equal(found.height, [0])
    assert not slab.at([1, 0.9, 1], above=0.5, below=2).hit  # and not the slab's underside
    assert not Ground.plane(height=5).at([0, 0, 0], above=1, below=1).hit


def test_a_window_may_begin_within_a_body_that_moves() -> None:
    numbers = np.random.default_rng(4)
    turn, shift = numbers.normal(size=(9, 4)), numbers.normal(scale=0.2, size=(9, 3))
    points = numbers.uniform(-0.5, 1.5, (9, 70, 3))
    body, floor = Ground.mesh(BOX, BOX_FACES), Ground.plane(height=-2)
    found = (floor + body.moved(turn, shift)).at(points, above=0.1, below=4)
    begins = (floor + body.moved(turn, shift)).cast(points + 0.1 * UP, -UP)
    assert (begins.hit & ~begins.front).any()
    for frame in range(9):
        still = (floor + body.moved(turn[frame], shift[frame])).at(points[frame], above=0.1, below=4)
        assert still.points.tobytes() == found.points[frame].tobytes()
        assert still.normals.tobytes() == found.normals[frame].tobytes()
    within = begins.hit & ~begins.front
    assert (found.part[within] == 0).all()  # out of the convex body only the floor faces up


@pytest.mark.parametrize("workers", [1, 3])
def test_windows_are_as_good_in_parts(workers: int, isa: str) -> None:
    """Many windows begin inside a moving body: results agree with single points, and for threads that begin within a
    frame."""
    frames, count = 6, 40 if workers == 1 else 8000
    shift = np.arange(frames)[:, np.newaxis] * [0.02, 0.1, 0]
    ground = Ground.mesh(BOX, BOX_FACES).moved(translations=shift) + Ground.plane()
    points = np.random.default_rng(3).uniform(-0.3, 1.6, (frames, count, 3))
    points[2, 3, 0] = np.nan
    found = ground.at(points, above=0.3, below=0.7, workers=workers)
    assert found.hit.any()
    assert not found.hit.all()
    for frame, point in itertools.product(range(frames), range(0, count, 1 + count // 40)):
        alone = ground.still(frame).at(points[frame, point], above=0.3, below=0.7)
        for name in ("hit", "height", "points", "normals", "part"):
            seen = getattr(found, name)[frame, point]
            assert np.asarray(seen).tobytes() == np.asarray(getattr(alone, name)).tobytes()


def test_any_axis_may_be_up() -> None:
    for up, axis in (("x", 0), ("y", 1), ("z", 2)):
        name: Any = up
        ground = terrain.stairs(4, rise=0.2, run=0.3, up=name) + Ground.plane(up=name)
        point = np.zeros(3)
        point[axis], point[(axis + 1) % 3], point[(axis + 2) % 3] = 0.5, 0.45, 0.3
        found = ground.at(point, above=0.3, below=0.3)
        assert round(float(found.height), 12) == 0.4
        np.testing.assert_array_equal(found.normals, np.eye(3)[axis])
        assert found.points[axis] == found.height
        assert ground.up == up


def test_points_that_are_not_finite_have_no_ground() -> None:
    found = (square() + Ground.plane()).at([[0.5, np.nan, 0.5], [np.inf, 0, 0], [0.5, 0, 0.5]], above=1, below=1)
    np.testing.assert_array_equal(found.hit, [False, False, True])
    assert np.isnan(found.height[:2]).all()


@given(st.floats(-0.9, 1.9), st.floats(-0.9, 0.9), st.floats(0.01, 0.49), st.floats(-0.49, 0.49))
def test_stairs_are_as_high_as_they_say(s: float, side: float, above: float, offset: float) -> None:
    steps, rise, run = 5, 0.6, 0.18
    height = rise * min(max(int(np.floor(s / run)) + 1, 0), steps)
    nearest = abs(s / run - round(s / run))
    if abs(offset) > above - 1e-9 or nearest < 1e-9:
        return
    found = terrain.stairs(steps, rise=rise, run=run, landing=2).at([side, height + offset, s], above=0.5, below=0.5)
    assert found.hit
    assert abs(found.height - height) < 1e-12


def test_ramp_and_bumps_are_as_high_as_they_say() -> None:
    s = np.linspace(-0.9, 4.9, 59)
    down = terrain.ramp(4, -1.5).at(np.stack([0 * s, -np.clip(s, 0, 4) * 0.375, s], -1), above=0.5, below=0.5)
    np.testing.assert_allclose(down.height, -np.clip(s, 0, 4) * 0.375, atol=1e-14)
    slope = np.array([0, 4, 1.5]) / np.hypot(4, 1.5)
    np.testing.assert_allclose(down.normals[(s > 0) & (s < 4)], np.tile(slope, (int(((s > 0) & (s < 4)).sum()), 1)))
    x, z = np.meshgrid(np.arange(-32, 33) / 16, np.arange(-32, 33) / 16)  # the corners of the grid
    bump = 0.2 * 256 * ((x % 1) * (1 - x % 1) * (z % 1) * (1 - z % 1)) ** 2
    found = terrain.bumps(0.2).at(np.stack([x, 0 * x, z], -1), above=1, below=1)
    np.testing.assert_allclose(found.height, bump, atol=1e-15)


@pytest.mark.parametrize(
    ("sentence", "make"),
    [
        ("spacing: expected a positive number, got 0", lambda: Ground.heights(np.zeros((2, 2)), 0)),
        ("spacing: expected a positive number, got -1", lambda: Ground.heights(np.zeros((2, 2)), -1)),
        ("spacing: expected a positive number, got nan", lambda: Ground.heights(np.zeros((2, 2)), np.nan)),
        ("steps: expected at least 1, got -1", lambda: terrain.stairs(-1, rise=0.2, run=0.3)),
        ("run: expected a positive number, got 0", lambda: terrain.stairs(3, rise=0.2, run=0)),
        ("width: expected a positive number, got -2", lambda: terrain.stairs(3, rise=0.2, run=0.3, width=-2)),
        ("length: expected a positive number, got -4", lambda: terrain.ramp(-4, 1)),
        ("length: expected a positive number, got inf", lambda: terrain.ramp(np.inf, 1)),
        ("spacing: expected a positive number, got 0", lambda: terrain.bumps(0.1, spacing=0)),
        ("count: expected at least 1, got 0", lambda: terrain.bumps(0.1, count=0)),
        ("cells: expected at least 1, got 0", lambda: terrain.bumps(0.1, cells=0)),
    ],
)
def test_sizes_that_make_no_ground_are_refused(sentence: str, make: Callable[[], Ground]) -> None:
    """A grid with a spacing below 0 had its front below, stairs of -1 steps went down, no cells divided by 0."""
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make()


def test_heights_lie_between_their_corners() -> None:
    numbers = np.random.default_rng(4)
    grid = numbers.uniform(-1, 1, (7, 12))
    ground = Ground.heights(grid, 0.25, (3, 10, -2))
    n, m = np.meshgrid(np.arange(7), np.arange(12), indexing="ij")
    corners = np.stack([3 + 0.25 * m, 10 + 0 * grid, -2 + 0.25 * n], -1)
    np.testing.assert_allclose(ground.at(corners, above=2, below=2).height, 10 + grid, atol=1e-14)
    within = numbers.uniform(0, 1, (500, 2)) * [6, 11]
    cell = within.astype(int)
    around = np.stack([grid[cell[:, 0] + i, cell[:, 1] + j] for i in (0, 1) for j in (0, 1)])
    points = np.stack([3 + 0.25 * within[:, 1], np.full(500, 10.0), -2 + 0.25 * within[:, 0]], -1)
    found = ground.at(points, above=2, below=2)
    assert (found.height <= 10 + around.max(0) + 1e-12).all()
    assert (found.height >= 10 + around.min(0) - 1e-12).all()
    assert (found.normals[:, 1] > 0).all()
    assert ground.cast(points + 2 * UP, [0, -1, 0]).front.all()
