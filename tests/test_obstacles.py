"""Clearance of a swinging foot over obstacles by the core, compared with the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core, rotations

Array = NDArray[Any]

FRAMES, EACH = 40, 4
HEEL, BALL, TOE, SIDE = range(EACH)
UP = np.array([0.0, 1, 0])

# Settings of the search, in the order of the core.
LIMITS: dict[str, Any] = {
    "made": False,
    "ends": np.array([True, False, True, False]),
    "margin": 0.02,
    "grazes": 0.01,
    "above": 0.5,
    "below": 0.4,
    "riser": 0.04,
    "within": 0.001,
    "clearance": 0.01,
    "dips": 0.02,
    "toe": TOE,
    "bends": 0.02,
}


def walking(seed: int) -> tuple[tuple[Any, ...], tuple[Array, Array, Array]]:
    """A foot that goes up and down over a way, and how it is moved and turned beside."""
    random = np.random.default_rng(seed)
    ahead = (
        np.linspace(-0.6, 2.0, FRAMES)[:, np.newaxis] * [0, 0, 1] + 0.2 * np.sin(np.arange(FRAMES))[:, np.newaxis] * UP
    )
    at = np.array([[0, 0, -0.05], [0, 0, 0.15], [0, 0, 0.22], [0.05, 0, 0.1]])
    points = tuple(
        (ahead + point + random.normal(0, 0.01, (FRAMES, 3)), random.normal(0, 0.01, FRAMES), thick, at == TOE, at)
        for at, (point, thick) in enumerate(zip(at, random.uniform(0, 0.02, EACH), strict=True))
    )
    turns = random.normal([1, 0, 0, 0], 0.1, (2, FRAMES, 4))
    foot = points, 1, BALL, TOE, HEEL, points[BALL][0], *[None] * 5, True, True, 6.0, 4
    turn, toes = rotations.normalize(turns)
    return foot, (random.normal(0, 0.02, (FRAMES, 3)), turn, toes)


def lack_of(
    foot: tuple[Any, ...], stood: tuple[Array, Array, Array], ground: ik.Ground, frames: Array, **other: Any
) -> Array:
    limits, found = tuple((LIMITS | other).values()), np.empty(len(frames))
    bodies, half = ground.still(frames)._bodies((len(frames), EACH)), len(frames) // 3
    for first, last in ((0, half), (half, len(frames))):
        _core.lack(foot, *stood, bodies, frames, limits, first, last, found)
    return found


def moved(points: Array, origins: Array, by: Array) -> Array:
    """Away from the foot, horizontally."""
    arm = points - origins[:, np.newaxis]
    arm[..., 1] = 0
    far = np.sqrt(arm[..., 0] * arm[..., 0] + arm[..., 1] * arm[..., 1] + arm[..., 2] * arm[..., 2])
    return np.asarray(points + arm * (by / np.maximum(far, abs(by)))[..., np.newaxis])


def swept(heights: Array, riser: float, later: Array) -> Array:
    """The upper side of a step is there before and after it, not before a later one; all of it from two risers on."""
    known = np.where(np.isnan(heights), -np.inf, heights)
    around = np.concatenate([known[:1], known, known[-1:]])
    ahead = np.where(np.concatenate([later, np.zeros_like(later[:1])]), known, around[2:])
    most = np.maximum(np.maximum(ahead, around[:-2]), known)
    with np.errstate(invalid="ignore"):
        share = np.minimum((most - known) / riser - 1, 1)
        return np.where(share >= 1, most, np.where(share > 0, heights + share * (most - heights), heights))


def met_by(points: Array, ground: ik.Ground, frames: Array) -> Any:
    """Intersections of points' motion between consecutive frames with the ground."""
    way = points[1:] - points[:-1]
    origins = points[:-1] + 1e-6 * LIMITS["within"] * UP  # what they touch they do not go through
    return ground.still(frames[:-1]).cast(origins, way, length=np.sqrt((way * way).sum(axis=-1)))


def passed(heights: Array, points: Array, ground: ik.Ground, frames: Array, hits: Any, later: Array) -> Array:
    """An obstacle between two frames counts in both; in the next one, if that is a later one."""
    way, found = points[1:] - points[:-1], heights.copy()
    far = np.sqrt((way * way).sum(axis=-1))
    for frame, point in np.argwhere(hits.hit):
        inside = hits.points[frame, point] + way[frame, point] * (LIMITS["within"] / far[frame, point])
        there = ground.still(int(frames[frame]))
        top = there.at(inside, above=LIMITS["above"], below=LIMITS["within"]).height
        both = slice(frame + int(later[frame, point]), frame + 2)
        found[both, point] = np.fmax(found[both, point], top)
    return found


def expected(
    foot: tuple[Any, ...], stood: tuple[Array, Array, Array], ground: ik.Ground, frames: Array, made: bool
) -> Array:
    (shift, turn, toes), origin, still = stood, foot[5], ground.still(frames)
    by = [rotations.multiply(toes, turn) if number == TOE else turn for number in range(EACH)]
    soles = [origin + shift + rotations.rotate(by[n], point[0] - origin) for n, point in enumerate(foot[0])]
    points, origins = np.stack(soles, axis=1)[frames], (origin + shift)[frames]
    window = {"above": LIMITS["above"], "below": LIMITS["below"]}
    if made:
        inner = moved(points, origins, np.full(EACH, -LIMITS["grazes"]))
        heights = np.fmin(still.at(points, **window).height, still.at(inner, **window).height)
    else:
        ends = moved(points, origins, np.full(EACH, LIMITS["margin"]))
        own, points = points, np.where(LIMITS["ends"][:, np.newaxis], ends, points)
        hits, way = met_by(points, ground, frames), points[1:] - points[:-1]
        reached = hits.points - points[:-1] + (points - own)[:-1]
        later = hits.hit & ((reached * way).sum(axis=-1) > (way * way).sum(axis=-1))
        heights = swept(still.at(points, **window).height, LIMITS["riser"], later)
        heights = passed(heights, points, ground, frames, hits, later)
    above = np.stack([point[0][:, 1] - point[1] for point in foot[0]], axis=1)[frames]
    deep = np.maximum(above, np.minimum(-2 * LIMITS["dips"] - above, 0))  # as good as one that is not
    lack = heights + [point[2] for point in foot[0]] + np.minimum(deep, LIMITS["clearance"]) - points[..., 1]
    lack[:, TOE] -= LIMITS["bends"]
    return np.asarray(np.fmax.reduce(lack, axis=1))


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("kind", ["stairs", "moving", "thin", "nothing"])
def test_a_foot_lacks_what_the_worst_of_its_points_does(kind: str, made: bool) -> None:
    way = np.cumsum(np.random.default_rng(3).normal(0, 0.02, (FRAMES, 3)), axis=0)
    stairs = ik.terrain.stairs(5, rise=0.15, run=0.3)
    ground = {
        "stairs": ik.Ground.plane() + stairs,
        "moving": stairs.moved(translations=way) + ik.Ground.plane(height=-0.1),
        "thin": ik.Ground.mesh([[-1, 0, 0.3], [1, 0, 0.3], [1, 0.3, 0.31], [-1, 0.3, 0.31]], [[0, 1, 2], [0, 2, 3]]),
        "nothing": ik.Ground.plane(height=-9),
    }[kind]
    foot, stood = walking(5)
    frames = np.flatnonzero(np.arange(FRAMES) % 11 < 9)
    found = lack_of(foot, stood, ground, frames, made=made)
    assert_array_equal(found, expected(foot, stood, ground, frames, made))
    assert np.isfinite(found).any() == (kind != "nothing" and not (made and kind == "thin"))


@pytest.mark.parametrize("axis", [1, 2])
def test_toes_lack_what_is_not_in_the_floor_of_the_clip_anyway(axis: int) -> None:
    random = np.random.default_rng(axis)
    tip, there = random.normal(0, 0.05, (2, FRAMES, 3))
    stood, ground = random.normal(0, 0.05, (2, FRAMES))
    ground[::7] = np.nan
    lies, thick, least = random.uniform(size=FRAMES) < 0.3, 0.01, 0.02
    own = np.where(lies, 0, np.minimum(there[:, axis] - stood, 0))
    wanted = np.fmax(ground + thick + own - tip[:, axis], 0)
    wanted[wanted <= least] = 0
    found = _core.toe_lack(tip, there, stood, ground, lies, thick, least, axis)
    assert found is not None
    assert_array_equal(found, wanted)
    assert _core.toe_lack(tip, there, stood, ground - 1, lies, thick, least, axis) is None
    lack: Any = _core.toe_lack
    for wrong in ((tip[1:], there, stood), (tip, there[1:], stood), (tip, there, stood[1:]), (tip, there, None)):
        with pytest.raises(TypeError):
            lack(*wrong, ground, lies, thick, least, axis)
    for wrong in ((ground[1:], lies, axis), (ground, lies[1:], axis), (ground, lies, 3)):
        with pytest.raises(TypeError):
            lack(tip, there, stood, *wrong[:2], thick, least, wrong[2])


@pytest.mark.parametrize("axis", [1, 2])
def test_arms_are_raised_no_farther_than_they_bend(axis: int) -> None:
    random, most = np.random.default_rng(axis), np.tan(0.6)
    arms, raised = random.normal(size=(FRAMES, 3)), random.uniform(0, 2, FRAMES)
    found = arms.copy()
    _core.raise_arms(found, raised, most, axis)
    pitch, before = (np.arctan2(at[:, axis], np.hypot(*np.delete(arms, axis, 1).T)) for at in (found, arms))
    turned = pitch - before
    assert turned.max() == pytest.approx(0.6)
    free = turned < 0.6 - 1e-9
    assert_array_equal(found[free, axis], (arms[:, axis] + raised)[free])
    assert 5 < np.count_nonzero(free) < FRAMES
    assert_array_equal(np.delete(found, axis, 1), np.delete(arms, axis, 1))
    arm: Any = _core.raise_arms
    for wrong in ((arms[:, :2], raised, most, axis), (arms, raised[1:], most, axis), (arms, raised, most, 3)):
        with pytest.raises(TypeError):
            arm(*wrong)


def test_what_rises_before_a_foot_becomes_a_step_little_by_little() -> None:
    """A bank between two frames that is higher by 1 mm from clip to clip."""
    at, lacks = np.stack([np.zeros(4), np.full(4, 0.2), np.arange(4) * 0.1], axis=1), []
    points = tuple((at, at[:, 1].copy(), 0.0, False, number) for number in range(EACH))
    foot = points, 1, BALL, TOE, HEEL, at, *[None] * 5, True, True, 6.0, 4
    stays = np.zeros((4, 3)), np.tile([1.0, 0, 0, 0], (4, 1)), np.tile([1.0, 0, 0, 0], (4, 1))
    other = {"ends": np.zeros(EACH, bool), "clearance": 0.0, "toe": -1}
    for high in np.arange(0.001, 0.1, 0.001):
        bank = ik.Ground.plane() + ik.terrain.ramp(0.05, high, width=2, landing=9).moved(translations=[0, 0, 0.14])
        lacks.append(lack_of(foot, stays, bank, np.arange(4), **other)[1] + 0.2)
    found = np.array(lacks)
    assert found[:39] == pytest.approx(0, abs=1e-9)
    assert found[-18:] == pytest.approx(np.arange(0.082, 0.1, 0.001), abs=1e-6)
    assert np.diff(found).max() < 0.004


def test_a_step_does_not_count_before_the_foot_gets_there() -> None:
    """Toes that are kept 20 mm off a step are over it in the frame after; they come to it in the one after that."""
    at = np.stack([np.zeros(4), np.full(4, 0.01), [0.0, 0.03, 0.06, 0.09]], axis=1)
    points = tuple((at + np.array([0, 0, 0.2]), at[:, 1].copy(), 0.0, False, number) for number in range(EACH))
    foot = points, 1, BALL, TOE, HEEL, at, *[None] * 5, True, True, 6.0, 4
    stays = np.zeros((4, 3)), np.tile([1.0, 0, 0, 0], (4, 1)), np.tile([1.0, 0, 0, 0], (4, 1))
    other = {"ends": np.ones(EACH, bool), "clearance": 0.0, "toe": -1}
    step = ik.Ground.plane() + ik.terrain.stairs(1, rise=0.1, run=1.0).moved(translations=[0, 0, 0.27])
    found = lack_of(foot, stays, step, np.arange(4), **other)
    assert found == pytest.approx([-0.01, -0.01, 0.09, 0.09], abs=1e-9)


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("rounding", [0.0, 1e-14, -1e-14, 1e-12, -1e-12])
def test_what_touches_the_ground_goes_through_nothing(rounding: float, up: Any) -> None:
    """A point comes down to a slope exactly, slides down on it and leaves; another goes through it to 1 mm below."""
    axes = [0, 1, 2] if up == "y" else [0, 2, 1]
    body, faces = np.array([[-5, -1.0, -5], [5, -1.0, -5], [-5, 1.0, 5], [5, 1.0, 5]]), np.array([[0, 2, 1], [1, 2, 3]])
    ground = ik.Ground.mesh(body[:, axes], faces if up == "y" else faces[:, ::-1], up=up)
    lands = np.array([[0.1, 0.4, 1.0], [0.1, 0.14, 0.7], [0.1, 0.1, 0.5], [0.1, 0.3, 0.2]])
    for deep in (0.0, 1e-3):
        at = lands + rounding * UP - deep * np.array([[0], [1], [1], [0]]) * UP
        at, axis = np.ascontiguousarray(at[:, axes]), 1 if up == "y" else 2
        points = tuple((at, at[:, axis].copy(), 0.0, False, number) for number in range(EACH))
        foot = points, axis, BALL, TOE, HEEL, at, *[None] * 5, True, True, 6.0, 4
        stays = np.zeros((4, 3)), np.tile([1.0, 0, 0, 0], (4, 1)), np.tile([1.0, 0, 0, 0], (4, 1))
        other = {"ends": np.zeros(EACH, bool), "clearance": 0.0, "riser": 9.0, "below": 9.0, "toe": -1}
        found = lack_of(foot, stays, ground, np.arange(4), **other)
        plain = ground.at(at, above=9, below=9).height - at[:, axis]
        assert (found > plain + 1e-6).any() == bool(deep)


def test_how_far_frames_are_from_the_ends_of_their_swing() -> None:
    near = _core.nearer(np.array([[0, 4], [7, 12], [14, 15], [17, 20]]), 20, 10.0, 0.25)
    expected = np.zeros(20)
    expected[[0, 1, 2, 3]] = 0.25, 0.3, 0.2, 0.1  # it began before the clip
    expected[7:12] = 0.1, 0.2, 0.3, 0.2, 0.1
    expected[14] = 0.1
    expected[17:] = 0.1, 0.2, 0.25
    np.testing.assert_allclose(near, expected, rtol=1e-12)
    assert_array_equal(_core.nearer(np.zeros((0, 2), np.intp), 3, 10.0, 0.25), np.zeros(3))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("nearer", (np.array([[2, 6]]), 5, 10.0, 0.1)),
        ("nearer", (np.array([[-1, 2]]), 5, 10.0, 0.1)),
    ],
)
def test_what_does_not_fit_is_refused(name: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        getattr(_core, name)(*given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frames", np.array([FRAMES])),
        ("frames", np.array([-1])),
        ("frames", np.zeros(1)),
        ("limits", tuple((LIMITS | {"ends": np.ones(3, bool)}).values())),
        ("limits", tuple((LIMITS | {"toe": EACH}).values())),
        ("limits", tuple((LIMITS | {"margin": 0.0}).values())),
        ("limits", ()),
        ("shift", np.zeros((FRAMES, 2))),
        ("bodies", ((None, None, None),)),
        ("bodies", ((((0.0, 1.0, 0.0, 0.0)), np.zeros((2, 3)), None),)),
        ("first", -1),
        ("first", 2),
        ("last", 2),
        ("found", np.zeros(2)),
    ],
)
def test_what_a_foot_cannot_lack_is_refused(name: str, value: Any) -> None:
    foot, (shift, turn, toes) = walking(1)
    given: dict[str, Any] = {
        "foot": foot,
        "shift": shift,
        "turn": turn,
        "toes": toes,
        "bodies": ik.Ground.plane()._bodies(()),
    }
    given |= {"frames": np.array([3]), "limits": tuple(LIMITS.values()), "first": 0, "last": 1, "found": np.zeros(1)}
    lack: Any = _core.lack
    lack(*given.values())
    with pytest.raises(TypeError):
        lack(*(given | {name: value}).values())
