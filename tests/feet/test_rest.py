"""How a foot lies on the ground: the core beside the slow way, and what is known of it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ikcore import _core

Array = NDArray[Any]

HEEL, BALL, TOE, INNER, OUTER, JOINT = range(6)
PARTS = 8  # of the way from heel to ball
SCALE, ALIGN, PITCH, ROLL, BENDS, STEP = 1.1, 0.9, 0.6, 0.3, 0.5, 0.1
SOLE = np.array([[0, 0, -0.05], [0, 0, 0.15], [0, 0, 0.22], [0.04, 0, 0.12], [-0.04, 0, 0.12], [0, 0, 0.14]])
UP = np.array([0.0, 1, 0])


def points_of(sole: Array) -> Array:
    """The points with those between heel and ball, and between ball and toe."""
    share = np.arange(1, PARTS)[:, np.newaxis] / PARTS
    return np.concatenate([sole, *(sole[a] + (sole[b] - sole[a]) * share for a, b in ((HEEL, BALL), (BALL, TOE)))])


def rest(points: Array, hit: Array, heights: Array, normals: Array, ahead: Array | None, **other: Any) -> Any:
    which = [other.get(name, number) for name, number in (("heel", HEEL), ("ball", BALL))]
    toes = (TOE, JOINT) if other.get("bends", True) else (-1, -1)
    job, parts = (1, *which, *toes, len(SOLE), PARTS), np.arange(len(points), dtype=np.int32)
    rested = _core.rest(points, BALL, (hit, under(points, heights), normals, parts), ahead, job, limits_of(other))
    if rested is None:
        return None
    *found, high = rested
    assert high == heights[hit].max()
    return tuple(found)


def under(points: Array, heights: Array) -> Array:
    ground = points.copy()
    ground[:, 1] = heights
    return ground


def limits_of(other: dict[str, Any]) -> tuple[float, ...]:
    return (other.get("scale", SCALE), other.get("align", ALIGN), PITCH, ROLL, BENDS, STEP)


# --- the slow way ----------------------------------------------------------------------------------------------------


def dot(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2])


def slope_of(normals: Array) -> Array:
    return -normals / np.maximum(normals[..., 1:2], 0.2) * [1, 0, 1]


def slowly(points: Array, hit: Array, heights: Array, normals: Array, ahead: Array | None, **other: Any) -> Any:
    """Every pair of points tried, in NumPy."""
    heel, ball = other.get("heel", HEEL), other.get("ball", BALL)
    rise = np.where(hit, heights - points[BALL, 1], -np.inf) - gives(points, hit, heights, normals, **other)
    support = [at for at in (heel, ball) if at >= 0 and hit[at]] or [int(np.argmax(rise))]
    slope = own = slope_of(normals[support].sum(axis=0) / len(support))
    arms = points - points[support].sum(axis=0) / len(support)
    if ahead is not None:
        ground = np.concatenate([[own], slope_of(normals[hit])])
        steep = np.sqrt(dot(ground, ground))
        slopes, gentle = (ground[steep <= max(most, float(steep[0]))] for most in (PITCH, PITCH / 2))
        share = 2 * float(np.sqrt(dot(slopes, slopes)).max()) / PITCH - 1
        edge = 0.02 * SCALE
        margin = edge / max(float(np.ptp(dot(arms, ahead))), edge)
        aside = np.cross(UP, ahead)
        for way in (ahead, aside):
            usual = float(dot(slope, way))
            over = rise - dot(arms, slope - usual * way)
            tilt = sunk(dot(arms, way), over, dot(slopes, way), usual, margin)
            if share > 0:  # nearly too steep to follow: more and more an edge
                tilt = tilt + min(share, 1) * (sunk(dot(arms, way), over, dot(gentle, way), usual, margin) - tilt)
            slope = slope + (tilt - usual) * way
        slope = slope * other.get("align", ALIGN)
        along, across = (min(max(float(dot(slope, way)), -most), most) for way, most in ((ahead, PITCH), (aside, ROLL)))
        slope = along * ahead + across * aside
    else:
        slope = slope * other.get("align", ALIGN)
    above = rise - dot(points - points[BALL], slope)
    normal = UP - slope
    return normal / np.sqrt(dot(normal, normal)), float(above.max()), int(above.argmax())


def gives(points: Array, hit: Array, heights: Array, normals: Array, **other: Any) -> Array:
    heel, ball, most = other.get("heel", HEEL), other.get("ball", BALL), np.zeros(len(points))
    if min(heel, ball) >= 0 and hit[[heel, ball]].all():
        way = (points[ball] - points[heel]) * [1, 0, 1]
        along = [float(dot(slope_of(normals[at]), way)) for at in (heel, ball)]
        if min(along) - 0.02 * SCALE < heights[ball] - heights[heel] < max(along) + 0.02 * SCALE:
            share = np.arange(1, PARTS) / PARTS
            most[len(SOLE) : len(SOLE) + PARTS - 1] = 0.02 * SCALE * 4 * share * (1 - share)
    if other.get("bends", True):
        toes = (points[TOE] - points[JOINT]) * [1, 0, 1]
        beyond = dot(points - points[JOINT], toes / np.sqrt(dot(toes, toes)))
        most += np.minimum(np.maximum(beyond, 0) * BENDS, STEP * SCALE)
    most[[at for at in (heel, ball) if at >= 0]] = 0
    return most


def sunk(at: Array, rise: Array, ground: Array, usual: float, margin: float) -> float:
    known = np.flatnonzero(np.isfinite(rise))
    pairs = [(a, b) for a, b in combinations(known, 2) if at[b] != at[a]]
    between = np.array([(rise[b] - rise[a]) / (at[b] - at[a]) for a, b in pairs])

    def lowest(tried: Array) -> float:
        height = np.array([(rise[known] - slope * at[known]).max() for slope in tried])
        best = tried[height <= height.min() + 1e-9 * SCALE]
        return float(best[np.abs(best - usual).argmin()])

    found = lowest(np.append(between, usual))
    if ground.min() - margin < found < ground.max() + margin:
        return found
    within = between[(between > ground.min()) & (between < ground.max())]
    return lowest(np.append(within, [usual, ground.min(), ground.max()]))


# --- beside each other -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rough", [0.0, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("kind", [{}, {"bends": False}, {"heel": -1}, {"ball": -1}, {"heel": -1, "ball": -1}])
def test_as_the_slow_way_to_the_bit(rough: float, kind: dict[str, Any]) -> None:
    random = np.random.default_rng(int(100 * rough) + len(kind))
    for trial in range(20):
        turn = random.uniform(0, 2 * np.pi)
        axes = np.array([[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]])
        points = points_of((SOLE + random.normal(0, 0.01, SOLE.shape)) @ axes + random.normal(size=3))
        hit = random.random(len(points)) < random.choice([1.0, 0.8, 0.2])
        hit[random.integers(len(points))] = True
        fall = random.normal(0, 0.3, 2)
        heights = points[:, [0, 2]] @ fall + rough * random.integers(0, 3, len(points)) + random.normal(0, 0.01)
        normals = np.array([-fall[0], 1, -fall[1]]) + random.normal(0, rough, points.shape)
        normals /= np.sqrt(dot(normals, normals))[:, np.newaxis]
        heights, normals = np.where(hit, heights, np.nan), np.where(hit[:, np.newaxis], normals, np.nan)
        ahead = None if trial % 5 == 0 else axes[2]
        found, truth = (way(points, hit, heights, normals, ahead, **kind) for way in (rest, slowly))
        assert np.array_equal(found[0], truth[0])
        assert found[1:] == truth[1:]


@pytest.mark.parametrize("fall", [0.0, 0.2, -0.4])
def test_on_a_plane_a_foot_lies_in_it(fall: float) -> None:
    points = points_of(SOLE)
    normals = np.tile(np.array([0, 1, -fall]) / np.hypot(1, fall), (len(points), 1))
    normal, lift, _ = rest(
        points, np.ones(len(points), bool), 0.3 + fall * points[:, 2], normals, np.eye(3)[2], align=1
    )
    np.testing.assert_allclose(normal, normals[0], atol=1e-12)
    assert lift == pytest.approx(0.3 + fall * points[BALL, 2])


def test_over_a_hollow_a_foot_rests_on_its_rims() -> None:
    """A hollow that takes the foot in lengthwise: heel and toes are on its sides, nothing is in the ground."""
    points = points_of(SOLE)
    far = points[:, 2] - 0.085
    normals = np.stack([0 * far, np.ones(len(far)), -4 * far], axis=1)
    normals /= np.sqrt(dot(normals, normals))[:, np.newaxis]
    heights = 2 * far * far
    normal, lift, _ = rest(points, np.ones(len(points), bool), heights, normals, np.eye(3)[2], align=1, bends=False)
    plane = points[BALL, 1] + lift - ((points - points[BALL]) * [1, 0, 1]) @ (normal / normal[1])
    off = plane - heights
    assert off.min() > -1e-9
    assert np.count_nonzero(off < 1e-6) >= 2
    assert off.max() < 0.04


def test_a_slope_becomes_an_edge_little_by_little() -> None:
    """A foot of which one side is on a bank 20 mm wide, which goes down as steeply as feet follow, and more steeply."""
    sole, found = SOLE.copy(), []
    sole[[INNER, OUTER], 2] = 0.05  # half-way from heel to ball
    points = points_of(sole)
    for deep in np.arange(0, 0.03, 0.001):
        slope = np.where(np.abs(points[:, 0] + 0.03) < 0.02, deep / 0.02, 0)
        normals = np.stack([slope, np.ones(len(points)), 0 * slope], axis=1)
        normals /= np.sqrt(dot(normals, normals))[:, np.newaxis]
        heights = np.where(points[:, 0] < -0.02, 0.0, -deep)
        found.append(rest(points, np.ones(len(points), bool), heights, normals, np.eye(3)[2], align=1, bends=False))
    tilts, lifts = np.array([normal[0] / normal[1] for normal, *_ in found]), np.array([lift for _, lift, _ in found])
    assert np.abs(tilts).max() > 0.05
    assert np.abs(tilts[-8:]).max() < 1e-9
    assert np.abs(np.diff(lifts)).max() < 0.005
    assert np.abs(np.diff(tilts)).max() < 0.06


def test_over_no_ground_it_does_not_rest() -> None:
    points = points_of(SOLE)
    nothing = np.full(points.shape, np.nan)
    assert rest(points, np.zeros(len(points), bool), nothing[:, 1], nothing, np.eye(3)[2]) is None


def test_what_does_not_fit_is_refused() -> None:
    points = points_of(SOLE)
    count = len(points)
    ground = (np.ones(count, bool), np.zeros((count, 3)), np.tile(UP, (count, 1)), np.zeros(count, np.int32))
    which, limits = (1, HEEL, BALL, TOE, JOINT, len(SOLE), PARTS), limits_of({})
    wrong: list[tuple[Any, ...]] = [
        (points[:-1], BALL, ground, None, which, limits),
        (points, count, ground, None, which, limits),
        (points, BALL, (ground[0][:0], *ground[1:]), None, which, limits),
        (points, BALL, (*ground[:3], np.zeros(count)), None, which, limits),
        (points, BALL, ground, None, (3, *which[1:]), limits),
        (points, BALL, ground, None, (1, count, *which[2:]), limits),
        (points, BALL, ground, None, (1, HEEL, BALL, TOE, -1, len(SOLE), PARTS), limits),
    ]
    for given in wrong:
        with pytest.raises(TypeError, match="rest:"):
            _core.rest(*given)
