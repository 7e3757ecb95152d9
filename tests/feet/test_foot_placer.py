"""Feet placed frame by frame: against a slow reference, closed forms, invariances, and bad input."""

from __future__ import annotations

import inspect
from typing import Any

import foot_placer_reference as reference
import numpy as np
import pytest

import ikcore as ik
from ikcore import feet

CLIP = ik.samples.walk(seconds=3).clip
FEET = ik.Feet.detect(CLIP.skeleton).with_soles(CLIP)
POINTS = feet.leg_points(CLIP.skeleton, CLIP.pose, FEET)
DT = 1 / 60
LEFT = np.array([[0.1, 0.86, 0], [0.1, 0.46, 0.05], [0.1, 0.09, 0], [0.1, 0, 0.15], [0.1, 0, -0.05]])
STANDING = np.array([LEFT, LEFT * [-1, 1, 1]])
FIELDS = ("pelvis", "lean", "root_delta", "mid_delta", "foot_delta", "hips", "knees", "ankles", "toes", "planted")


def box(near: float, height: float, left: float = -2.0) -> ik.Ground:
    """A box that begins at z = `near`."""
    corners = np.array([[x, y, z] for x in (left, 2) for y in (0, height) for z in (near, near + 9)])
    faces = [
        [1, 3, 7],
        [1, 7, 5],
        [0, 1, 5],
        [0, 5, 4],
        [0, 2, 3],
        [0, 3, 1],
        [4, 5, 7],
        [4, 7, 6],
        [2, 6, 7],
        [2, 7, 3],
    ]
    return ik.Ground.plane() + ik.Ground.mesh(corners, faces)


def run(points: np.ndarray, ground: ik.Ground | None, dt: float = DT, **inputs: Any) -> list[ik.PlacedFeet]:
    placer = ik.FootPlacer(up=inputs.pop("up", "y"))
    return [placer.step(now[np.newaxis], dt, ground=ground, **inputs) for now in points]


def all_of(placed: list[Any], name: str) -> np.ndarray:
    return np.array([getattr(frame, name) for frame in placed])


def rough(place: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Hills, a hole under the left foot, a terrace."""
    x, _, z = place
    if 2.6 < z < 2.75 and x > 0:
        return None
    height, slope = 0.2, np.zeros(3)
    if z < 1.3:
        height, slope = 0.05 * np.sin(3 * z) + 0.1 * x, np.array([0.1, 0, 0.15 * np.cos(3 * z)])
    normal = np.array([-slope[0], 1, -slope[2]])
    return height, normal / np.linalg.norm(normal)


@pytest.mark.parametrize("settings", [{}, {"clearance": 0.12, "align": 0.5, "max_step": 0.15, "pelvis_half_life": 0.2}])
def test_it_does_what_a_slow_reference_does(settings: dict[str, Any]) -> None:
    pytest.importorskip("scipy.interpolate", reason="the reference takes curves of SciPy")
    placer, slow = ik.FootPlacer(**settings), reference.Placer(2, **settings)
    for now in POINTS:
        rays = placer.rays(now[np.newaxis], DT)
        points, normals = np.full(rays.origins.shape, np.nan), np.full(rays.origins.shape, np.nan)
        for index in zip(*np.nonzero(rays.chosen), strict=True):
            if (found := rough(rays.origins[index])) is not None:
                points[index], normals[index] = rays.origins[index] * [1, 0, 1] + [0, found[0], 0], found[1]
        placed, wanted = placer.step(now[np.newaxis], DT, hits=(points, normals)), slow.step(now, DT, rough)
        assert np.allclose(placed.toes[0], wanted["toes"], rtol=0, atol=1e-6)  # corners of hulls may differ by rounding
        assert np.array_equal(placed.planted[0], wanted["planted"])
        assert abs(placed.pelvis[0, 1] - wanted["pelvis"]) < 1e-6
        reached = placed.status[0] & ik.Status.TOO_FAR == 0
        assert np.allclose(placed.ankles[0][reached], wanted["ankles"][reached], rtol=0, atol=1e-6)


def test_a_pelvis_follows_by_the_closed_form_of_its_spring() -> None:
    """Whatever the frames are: the ground is 0.1 m lower at once, and the knees are bent enough."""
    points = np.array([STANDING])
    points[:, :, 0, 1], points[:, :, 1] = 0.7, points[:, :, 1] * [1, 0, 0] + [0, 0.42, 0.2]
    placer, ground = ik.FootPlacer(pelvis_half_life=0.1), ik.Ground.plane(height=-0.1)
    placer.step(points, DT, ground=ik.Ground.plane())
    placer.step(points, DT, ground=ground)  # the target moves during this frame
    start, time, y = placer.state, 0.0, 2 * np.log(2) / 0.1
    x, v = start["body"]["support"][0] + 0.1, start["body"]["support_speed"][0]
    for dt in (DT, 0.1, 1 / 165, 1e-4, 0.3):
        time += dt
        wanted = np.exp(-y * time) * (x + (v + y * x) * time) - 0.1
        assert abs(placer.step(points, dt, ground=ground).pelvis[0, 1] - wanted) < 1e-12


def test_on_flat_ground_little_changes() -> None:
    placed = run(POINTS, ik.Ground.plane())
    assert np.all(all_of(placed, "pelvis") == 0)
    assert np.abs(all_of(placed, "toes")[:, 0] - POINTS[:, :, 3]).max() < 0.012  # of a lock that is released late
    assert np.allclose(all_of(placed, "toes")[:, 0, :, 1], POINTS[:, :, 3, 1], rtol=0, atol=1e-12)


def test_a_planted_toe_stays() -> None:
    placed = run(POINTS, box(1.3, 0.2))
    toes, held = all_of(placed, "toes")[:, 0], all_of(placed, "planted")[:, 0]
    both = held[1:] & held[:-1]
    assert np.abs(np.diff(toes, axis=0)[both][:, [0, 2]]).max() < 0.15 * DT + 1e-9


@pytest.mark.parametrize("height", [0.14, 0.3, 0.47])
@pytest.mark.parametrize("known", [True, False])
def test_a_swing_clears_a_step(height: float, known: bool) -> None:
    """At least 0.03 m under the toe where it passes the edge, with landings of the clip and without."""
    held = all_of(run(POINTS, ik.Ground.plane()), "planted")[:, 0]
    places, times = feet.landings_ahead(POINTS[:, :, 3], held, 60)
    placer, ground = ik.FootPlacer(), box(1.3, height)
    toes = []
    for now, place, time in zip(POINTS, places, times, strict=True):
        landing = {"landings": place[np.newaxis], "landing_times": time[np.newaxis]} if known else {}
        toes.append(placer.step(now[np.newaxis], DT, ground=ground, **landing).toes[0])
    for leg in np.swapaxes(toes, 0, 1):
        at_edge = np.interp(1.3, leg[:, 2], leg[:, 1])
        assert at_edge > height + 0.03
        past = leg[:, 2] > 1.3
        assert leg[past, 1].min() > height - 1e-3
        assert abs(leg[-1, 1] - height) < 0.1


def test_without_a_hit_the_foot_keeps_to_the_animation() -> None:
    for placed, points in zip(run(POINTS, None), POINTS, strict=True):
        assert np.all(placed.pelvis == 0)
        assert not placed.planted.any()
        assert np.allclose(placed.ankles[0], points[:, 2], rtol=0, atol=1e-9)
    one = ik.Ground.mesh([[0, -0.1, -9], [9, -0.1, 0], [0, -0.1, 9]], [[0, 2, 1]])  # under the left foot only
    placer = ik.FootPlacer()
    for _ in range(60):
        placed = placer.step(STANDING[np.newaxis], DT, ground=one)
    assert placed.planted.tolist() == [[True, False]]
    assert np.allclose(placed.toes[0, :, 1], -0.1, atol=1e-3)  # the right leg bends as before, below the lower pelvis


@pytest.mark.parametrize("rates", [(60, 165)])
def test_the_pose_is_the_same_at_every_rate(rates: tuple[int, int]) -> None:
    """Within 1 mm, where the animation says when and where feet land."""
    interpolate = pytest.importorskip("scipy.interpolate")
    times = np.arange(len(POINTS)) / 60
    curve = interpolate.CubicSpline(times, POINTS.reshape(len(POINTS), -1))
    fine = np.arange(int(times[-1] * 480)) / 480
    toes = curve(fine).reshape(-1, 2, 5, 3)[:, :, 3]
    speed = np.linalg.norm(np.gradient(toes[..., [0, 2]], 1 / 480, axis=0), axis=-1)
    places, due = feet.landings_ahead(toes, (speed < 0.15) & (toes[..., 1] < 0.05), 480)
    for ground in (ik.Ground.plane(), box(1.3, 0.2), ik.Ground.plane([0, np.cos(0.2), -np.sin(0.2)])):
        found = {}
        for fps in (*rates, 480):
            now = np.arange(int(times[-1] * fps)) / fps
            row = np.minimum((now * 480 + 1e-6).astype(int), len(places) - 1)
            placer, frames = ik.FootPlacer(), []
            for time, k in zip(now, row, strict=True):
                points = curve(time).reshape(1, 2, 5, 3)
                wait = due[k][np.newaxis] - (time - fine[k])
                placed = placer.step(points, 1 / fps, ground=ground, landings=places[k][np.newaxis], landing_times=wait)
                frames.append(np.concatenate([placed.toes[0], placed.pelvis]))
            found[fps] = interpolate.CubicSpline(now, np.reshape(frames, (len(now), -1))), now
        for fps in rates:
            path, now = found[fps]
            assert np.abs(path(now) - found[480][0](now)).max() < 1e-3


def test_a_crowd_gives_the_bits_of_one() -> None:
    count, rng = 37, np.random.default_rng(5)
    starts, places = rng.integers(0, 60, count), rng.uniform(-3, 3, (count, 3)) * [1, 0, 1]
    ground, frames = box(1.3, 0.2), 60
    crowd, threads = ik.FootPlacer(count), ik.FootPlacer(count)
    alone = [ik.FootPlacer() for _ in range(count)]
    for frame in range(frames):
        points = POINTS[starts + frame]
        placed = crowd.step(points, DT, ground=ground, origins=places)
        again = threads.step(points, DT, ground=ground, origins=places, workers=2)
        for k in range(count):
            one = alone[k].step(points[k : k + 1], DT, ground=ground, origins=places[k : k + 1])
            assert all(np.array_equal(getattr(placed, name)[k], getattr(one, name)[0]) for name in FIELDS)
        assert all(np.array_equal(getattr(placed, name), getattr(again, name)) for name in FIELDS)


def test_floats_are_exact_far_from_the_origin() -> None:
    far = np.array([[1e4, 0, -1e4]])
    ground = box(1.3, 0.2)
    near = all_of(run(POINTS.astype(np.float32), ground), "toes")
    away = all_of(run(POINTS.astype(np.float32), ground.moved(translations=far[0]), origins=far), "toes")
    assert away.dtype == np.float32
    assert np.abs(near - away).max() < 1e-5
    exact = all_of(run(POINTS, ground), "toes")
    assert np.abs(exact - away).max() < 1e-3


def test_turned_and_mirrored_worlds_give_turned_and_mirrored_feet() -> None:
    ground, placed = box(1.3, 0.2, left=0.0), all_of(run(POINTS, box(1.3, 0.2, left=0.0)), "toes")
    turn = ik.rotations.from_axis_angle([0, 1, 0], 0.7)
    turned = run(ik.rotations.rotate(turn, POINTS), ground.moved(rotations=turn))
    assert np.allclose(all_of(turned, "toes"), ik.rotations.rotate(turn, placed), rtol=0, atol=1e-6)
    z_up = POINTS[..., [2, 0, 1]]  # (x, y, z) to (z, x, y): y is the third now
    body: Any = ground.parts[1].body
    corners, faces = body.vertices, body.faces
    other = ik.Ground.plane(up="z") + ik.Ground.mesh(corners[:, [2, 0, 1]], faces, up="z")
    assert np.allclose(all_of(run(z_up, other, up="z"), "toes"), placed[..., [2, 0, 1]], rtol=0, atol=1e-9)
    flipped = ik.Ground.plane() + ik.Ground.mesh(corners * [-1, 1, 1], faces[:, ::-1])
    assert np.allclose(all_of(run(POINTS * [-1, 1, 1], flipped), "toes"), placed * [-1, 1, 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("points", "dt", "status"),
    [
        (np.nan, DT, ik.Status.NOT_FINITE),
        (np.inf, DT, ik.Status.NOT_FINITE),
        (0.0, np.nan, ik.Status.NOT_FINITE),
        (0.0, 0.0, ik.Status.NO_LENGTH),
        (0.0, -1.0, ik.Status.NO_LENGTH),
    ],
)
def test_bad_input_is_said_and_changes_nothing(points: float, dt: float, status: ik.Status) -> None:
    ground, placer = box(0.0, 0.1), ik.FootPlacer(3)
    given = np.array([STANDING] * 3)
    for _ in range(5):
        placer.step(given, DT, ground=ground)
    before = placer.state
    bad = given.copy()
    bad[1, 0, 3, 1] += points
    placed = placer.step(bad, [DT, dt, DT], ground=ground)
    assert placed.status[1].tolist() == [status, status]
    assert np.array_equal(placed.knees[1], bad[1, :, 1])
    assert np.all(placed.pelvis[1] == 0)
    assert np.all(placed.mid_delta[1] == [1, 0, 0, 0])
    assert all(np.array_equal(before[name][1], placer.state[name][1]) for name in before)
    for k in (0, 2):
        assert placed.status[k].max() < ik._core.UNUSABLE
        assert np.isfinite(placed.toes[k]).all()


def test_a_state_is_saved_and_restored() -> None:
    ground, placer = box(1.3, 0.2), ik.FootPlacer()
    for now in POINTS[:70]:
        placer.step(now[np.newaxis], DT, ground=ground)
    saved = placer.state
    first = [placer.step(now[np.newaxis], DT, ground=ground).toes for now in POINTS[70:90]]
    other = ik.FootPlacer()
    other.state = saved
    assert np.array_equal(first, [other.step(now[np.newaxis], DT, ground=ground).toes for now in POINTS[70:90]])
    other.reset()
    assert other.state["body"]["started"] == 0
    with pytest.raises(ValueError, match="expected shape"):
        ik.FootPlacer(2).state = saved


def test_the_body_leans_uphill() -> None:
    slope = run(POINTS, ik.Ground.plane([0, np.cos(0.2), -np.sin(0.2)]))
    up = ik.rotations.rotate(slope[-1].lean[0], [0, 1, 0])
    assert abs(up[2] / up[1] - 0.3 * np.tan(0.2)) < 0.01
    assert np.all(all_of(run(POINTS, ik.Ground.plane()), "lean")[:, 0] == [1, 0, 0, 0])


def test_a_stride_is_scaled_about_the_hips() -> None:
    half = run(POINTS, None, stride=0.5, velocity=[[0, 0, 1.3]])
    for placed, points in zip(half, POINTS, strict=True):
        ahead = points[:, 2, 2] - points[:, 0, 2]
        assert np.allclose(placed.toes[0, :, 2], points[:, 3, 2] - 0.5 * ahead, rtol=0, atol=1e-9)


def test_the_deltas_give_the_pose_of_the_skeleton() -> None:
    placer, ground = ik.FootPlacer(), box(1.3, 0.2)
    for frame in range(0, 100):
        placed = placer.step(POINTS[frame : frame + 1], DT, ground=ground)
    pose = placed.apply(CLIP.skeleton, CLIP.pose[99], FEET)
    found = feet.leg_points(CLIP.skeleton, pose, FEET)
    for name, point in (("hips", 0), ("knees", 1), ("ankles", 2), ("toes", 3)):
        assert np.allclose(found[:, point], getattr(placed, name)[0], rtol=0, atol=1e-3 if point == 3 else 1e-9), name


def test_settings_are_those_of_the_core() -> None:
    parameters = inspect.signature(ik.FootPlacer).parameters
    table: dict[str, float | None] = {name: default for name, default, _ in ik._core.FOOT_SETTINGS}
    assert table["pelvis_max_offset"] == 1e9
    table["pelvis_max_offset"] = None
    assert {name: p.default for name, p in parameters.items() if name not in ("count", "legs", "up")} == table
    for name in table:
        with pytest.raises(ValueError, match=f"{name}: expected"):
            ik.FootPlacer(**{name: np.nan})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ik.FootPlacer(0), "count: expected 1 or more"),
        (lambda: ik.FootPlacer(1, 17), "legs: expected 1 to 16"),
        (lambda: ik.FootPlacer(up="w"), "up: expected"),  # type: ignore[arg-type]
        (lambda: ik.FootPlacer().step(np.zeros((1, 3, 5, 3)), DT), "points: expected"),
        (
            lambda: ik.FootPlacer().step(STANDING[np.newaxis], DT, ground=ik.Ground.plane(up="z")),
            "expected one with up",
        ),
        (lambda: feet.landings_ahead(np.zeros((3, 1, 3)), np.zeros((3, 2)), 30), "expected toes"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
