"""Parts of a bake: legs in closed form, filters, beams; and the same bits on every machine."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import gaits
import numpy as np
import pytest
from conftest import instruction_sets
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core, rotations, samples, terrain
from ikcore._arrays import cross, median, percentile
from ikcore.bake.clearance import beam as lifted
from ikcore.bake.legs import SolvedLeg, bend
from ikcore.bake.paths import _smooth_curves
from ikcore.bake.pelvis import _Legs, _most_with_bent_knee
from ikcore.bake.scene import Scene
from ikcore.feet.time_series import smooth, spread

Array = NDArray[Any]

# sha256 of the poses that three bakes come to, see baked(). It changes with what a bake does, never with where.
RECORDED = "5c3cecc4155717adce638246d22fa6df1e87af96eaf1a08eeb9d1c12dd338c31"


NUMPY_1 = "numpy.core._multiarray_umath"

# --- legs ------------------------------------------------------------------------------------------------------------


def leg(bends: list[float], bones: list[float]) -> tuple[Array, Array, Array]:
    """One that hangs down and bends about x by degrees at every joint, knees forward, +z, where they are positive."""
    turns, points, at, angle = [], [np.zeros(3)], np.zeros(3), 0.0
    for degrees, bone in zip(bends, bones, strict=True):
        angle += np.radians(degrees)
        turns.append(rotations.from_axis_angle([1.0, 0, 0], angle))
        at = at + rotations.rotate(turns[-1], [0, -bone, 0])
        points.append(at)
    return np.array([points]), np.array([turns]), np.tile([1.0, 0, 0], (len(bones) - 1, 1))


def to(chain: Array, turns: Array, hinges: Array, target: Any, hip: Any = (0.0, 0, 0)) -> SolvedLeg:
    hips, feet = (np.broadcast_to(np.array(at, float), (len(chain), 3)) for at in (hip, target))
    return bend(chain, turns, hinges, hips, feet, np.full(len(chain), np.inf))[0]


def lengths(chain: Array) -> Array:
    return np.asarray(np.sqrt((np.diff(chain, axis=1) ** 2).sum(axis=2)))


@pytest.mark.parametrize("knee", [0.0, 0.01, 30.0, -0.01, -1.0, -3.0, -8.0])
@pytest.mark.parametrize("ahead", [-0.3, 0.0, 0.3])
def test_knees_bend_forward(knee: float, ahead: float) -> None:
    """Thigh back and shin forward: the knee is on the side of +z where the leg hangs down, and reaches its target."""
    chain, turns, hinges = leg([-knee / 2, knee], [0.43, 0.42])
    found = to(chain, turns, hinges, [0.0, -0.7, ahead])
    np.testing.assert_allclose(found.chain[0, -1], [0, -0.7, ahead], atol=1e-12)
    np.testing.assert_allclose(lengths(found.chain), [[0.43, 0.42]], atol=1e-12)
    line = found.chain[0, -1] / np.sqrt((found.chain[0, -1] ** 2).sum())
    assert found.chain[0, 1] @ np.cross(line, [1.0, 0, 0]) > 0.1


def test_a_leg_bent_backwards_on_purpose_stays_so() -> None:
    chain, turns, hinges = leg([20.0, -40.0], [0.43, 0.42])
    found = to(chain, turns, hinges, [0.0, -0.7, 0])
    assert found.chain[0, 1, 2] < -0.1


@pytest.mark.parametrize("more", [1.15, 1.5, 3.0])
def test_a_knee_a_trace_backwards_goes_forwards_as_soon_as_it_bends_more(more: float) -> None:
    """Like a captured knee: otherwise it would snap where it is bent most, not where it is nearly straight."""
    chain, turns, hinges = leg([3.0, -6.0], [0.43, 0.42])
    off = more * 0.43 * np.sin(np.radians(3))
    far = np.sqrt(0.43**2 - off**2) + np.sqrt(0.42**2 - off**2)
    assert chain[0, 1, 2] < -0.02
    assert to(chain, turns, hinges, [0.0, -far, 0]).chain[0, 1, 2] == pytest.approx(off, abs=2e-3)


def test_what_is_not_moved_is_not_turned() -> None:
    for bends, bones in (([-10.0, 25.0], [0.43, 0.42]), ([-40.0, 70.0, -50.0], [0.2, 0.25, 0.15])):
        chain, turns, hinges = leg(bends, bones)
        found = to(chain, turns, hinges, chain[0, -1])
        np.testing.assert_allclose(np.abs(found.deltas[..., 0]), 1, atol=1e-12)
        np.testing.assert_allclose(found.chain, chain, atol=1e-12)


def test_bones_turn_from_where_they_were_to_where_they_are() -> None:
    chain, turns, hinges = leg([-40.0, 70.0, -50.0], [0.2, 0.25, 0.15])
    found = to(chain, turns, hinges, [0.1, -0.35, 0.1], hip=[0.02, 0.01, 0])
    for bone in range(3):
        was, now = (points[0, bone + 1] - points[0, bone] for points in (chain, found.chain))
        np.testing.assert_allclose(rotations.rotate(found.deltas[0, bone], was), now, atol=1e-12)


def test_a_hind_leg_keeps_its_shape() -> None:
    """Every one of three bones takes its share: shortened by a tenth, all joints bend farther, none the other way."""
    bends, bones = [-40.0, 70.0, -50.0], [0.2, 0.25, 0.15]
    chain, turns, hinges = leg(bends, bones)
    hinges = np.array([[sign, 0.0, 0] for sign in (1, -1)])
    found = to(chain, turns, hinges, 0.9 * chain[0, -1])
    np.testing.assert_allclose(lengths(found.chain), [bones], atol=1e-12)
    np.testing.assert_allclose(found.chain[0, -1], 0.9 * chain[0, -1], atol=1e-12)
    np.testing.assert_allclose(found.chain[0, :, 0], 0, atol=1e-12)
    for joint in (1, 2):
        was, now = (
            np.cross(p[0, joint] - p[0, joint - 1], p[0, joint + 1] - p[0, joint])[0] for p in (chain, found.chain)
        )
        assert was * now > 0
        assert abs(now) > abs(was)


def test_legs_are_not_folded_up() -> None:
    """A foot is lifted past its hip: it stops before, smoothly; one that is as near in the clip is left."""
    source = np.tile([0.1, -0.6, 0.05], (400, 1))
    lifted = source + np.linspace(0, 1.2, 400)[:, np.newaxis] * [0, 1, 0]
    found = folded(lifted, source)
    far = np.sqrt((found**2).sum(axis=1))
    assert far.min() > 0.25 * 0.85 - 1e-9
    np.testing.assert_array_equal(found[:100], lifted[:100])
    assert (found[:, 1] < 0).all()
    assert np.abs(np.diff(found, axis=0)).max() < 0.02
    near = np.array([[0.02, -0.1, 0.05]])
    np.testing.assert_allclose(folded(near, near), near, atol=1e-15)


def folded(lifted: Array, source: Array) -> Array:
    """End of a leg from (0, 0, 0) that is lifted over an obstacle from its place in the clip."""
    chain, turns, hinges = leg([-10.0, 25.0], [0.43, 0.42])
    there = to(chain, turns, hinges, source[0])
    moved = rotations.multiply(there.deltas, turns)
    chain, turns = (np.repeat(each, len(source), 0) for each in (there.chain, moved))
    hip, reach = np.zeros_like(source), np.full(len(source), np.inf)
    return np.asarray(bend(chain, turns, hinges, hip, lifted, reach, length=0.85)[0].chain[:, -1])


def test_one_bone_points_at_its_target() -> None:
    chain = np.array([[[0.0, 0, 0], [0, -0.5, 0]]])
    found = to(chain, np.array([[[1.0, 0, 0, 0]]]), np.zeros((0, 3)), [0.3, -0.4, 0])
    np.testing.assert_allclose(rotations.rotate(found.deltas[0, 0], [0, -0.5, 0]), [0.3, -0.4, 0], atol=1e-12)


@pytest.mark.parametrize("knee", [0.0, -1.0, 0.5, 5.0])
def test_knees_go_on_through_nearly_straight(knee: float) -> None:
    """A target comes from near to where the leg is all but straight and back: the knee goes as evenly.

    A knee bent slightly backwards must cross the line somewhere: where it is nearly straight, as in the clip.
    """
    chain, turns, hinges = leg([-knee / 2, knee], [0.43, 0.42])
    steps = 2000
    far = 0.85 * (0.9999 - 0.2 * np.sin(np.linspace(0, np.pi, steps) - np.pi / 2) ** 2)
    target = np.stack([0 * far, -far * np.cos(0.3), far * np.sin(0.3)], axis=1)
    found = to(np.repeat(chain, steps, 0), np.repeat(turns, steps, 0), hinges, target)
    off = np.sqrt(np.maximum(0.43**2 - ((far + (0.43**2 - 0.42**2) / far) / 2) ** 2, 0))
    moves = np.abs(np.diff(found.chain[:, 1], axis=0)).max(axis=1)
    crossing = 5 * 0.43 * np.sin(np.radians(max(-knee, 0) / 2))
    assert (moves < 2.5 * np.abs(np.diff(off)) + 2e-3 + crossing).all()
    assert (np.abs(found.chain[:, 1, 0]) < 1e-9).all()


def test_knees_follow_a_source_through_straight() -> None:
    """A source leg that is bent more and more backwards, as in motion capture, while its foot is lifted: no snap."""
    moves = []
    for degrees in np.linspace(-8, 8, 1601):
        chain, turns, hinges = leg([-degrees / 2, degrees], [0.43, 0.42])
        moves.append(to(chain, turns, hinges, [0, -0.8, 0]).chain[0, 1])
    knees = np.array(moves)
    assert np.abs(np.diff(knees, axis=0)).max() < 0.02


def most_with_bent_knee(ankle: Array, over: Array, stands: Array, rise: Array, fps: float) -> Array:
    """How far up a hip may go over an ankle, of a leg of 0.85 m that is straight in the source."""
    hip = np.tile([0, 0.99999 * 0.85, 0], (len(rise), 1))
    far, none = hip[np.newaxis, :, 1], np.zeros((1, len(rise)))
    low, away = ankle[np.newaxis, :, 1], ankle[np.newaxis] * [1, 0, 1]
    legs = _Legs(far, low, away, far, far, over[np.newaxis], none, stands, np.array([[0.85]]))
    scene = Scene(ik.Ground.plane(), fps, 1, ik.BakeSettings(), 1, on_ground=False)
    return np.asarray(_most_with_bent_knee(legs, rise, scene)[0])


@pytest.mark.parametrize("lasts", [1, 25])
def test_no_knee_is_straight_for_a_single_frame(lasts: int) -> None:
    """A leg that the low body keeps from being straight, except in some frames: it rises less if these are few."""
    frames = 61
    rise = np.full(frames, -0.01)
    rise[30 : 30 + lasts] = 0
    eased = most_with_bent_knee(np.zeros((frames, 3)), np.zeros(frames), np.ones(frames), rise, 60)
    assert (eased[30] < -0.001) == (lasts == 1)
    assert eased[30] > -0.01
    assert np.isinf(np.delete(eased, range(30, 30 + lasts))).all()


@pytest.mark.parametrize("frame", [29, 31])
def test_no_knee_snaps_straight_beside_an_obstacle(frame: int) -> None:
    """A leg is straight in a frame next to one in which an obstacle bends it: the body is then slightly lower."""
    over, stands = np.zeros(61), np.ones(61)
    over[frame], stands[frame] = 0.05, 0.0
    eased = most_with_bent_knee(over[:, np.newaxis] * [0, 1, 0], over, stands, np.zeros(61), 30)
    assert -0.01 < eased[30] < -0.001
    assert np.isinf(eased[[frame, 30 - (frame - 30) * 2]]).all()


# --- filters and beams -----------------------------------------------------------------------------------------------


def test_smoothing_keeps_what_is_even_and_all_there_is() -> None:
    constant = np.full(50, 0.1)
    np.testing.assert_allclose(smooth(constant, 0.25, 60), constant, rtol=1e-14)
    pulse = np.zeros(101)
    pulse[50] = 1
    seen = smooth(pulse, 0.25, 60)
    assert seen.sum() == pytest.approx(1)
    np.testing.assert_allclose(seen, seen[::-1], atol=1e-15)  # no delay
    assert np.abs(seen[:32]).max() < 1e-15
    assert seen[50] == seen.max()


@pytest.mark.parametrize("reach", [0.01, 0.1, 0.25])
def test_spread_is_the_largest_about(reach: float) -> None:
    values = np.random.default_rng(2).normal(size=200)
    half = max(int(np.ceil(reach * 60)) - 1, 0)
    brute = [values[max(0, k - half) : k + half + 1].max() for k in range(200)]
    np.testing.assert_array_equal(spread(values, reach, 60), brute)


def test_a_lifted_foot_clears_what_is_in_its_way() -> None:
    """Three swings of different lengths; the second has nothing to clear."""
    swing = np.repeat([0, -1, 1, -1, 2, -1], [30, 3, 17, 3, 200, 4])
    random = np.random.default_rng(3)
    needed = np.maximum(random.uniform(-0.05, 0.1, len(swing)), 0)
    needed[swing == 1] = 0
    for first, last in ((0, 33), (50, 256)):
        needed[first : first + 8], needed[last - 11 : last] = 0, 0
    found = lifted(needed, swing >= 0, 60)
    assert (found >= needed).all()
    assert not found[(swing == 1) | (swing < 0)].any()
    assert found.max() < 0.15


def test_swings_of_all_feet_are_lifted_as_one_curve_would_be() -> None:
    """Two feet: steps from the first frame and to the last, a stance of one frame, which bends go through, and idle."""
    random, frames, before = np.random.default_rng(4), 90, 17
    free = np.ones((2, frames), bool)
    for foot, stance in ((0, slice(20, 26)), (0, slice(50, 51)), (0, slice(70, 90)), (1, slice(8, 60))):
        free[foot, stance] = False
    needed = np.where(free, np.maximum(random.uniform(-0.2, 0.1, free.shape), 0), 0)
    needed[0, 26:50] = 0  # but the swing after it has something to clear
    for foot, own in enumerate(free):
        lower, upper = (np.pad(each, before) for each in (needed[foot], np.where(own, np.inf, 0)))
        upper[2:before] = upper[before + frames : -2] = np.inf
        whole = ik.smooth(0.0, fps=60, pull=0.0, tension=1 / 0.075**2, lower=lower, upper=upper).values[before:-before]
        np.testing.assert_allclose(lifted(needed.T, free.T, 60)[:, foot], whole, rtol=0, atol=1e-12)


def test_a_long_rest_among_many_steps_takes_no_memory_for_each_step() -> None:
    """Ten minutes in the air over something, then half an hour of steps."""
    free = np.zeros(150_000, bool)
    free[100:36_100] = True
    free[37_000:].reshape(-1, 50)[:, :25] = True
    needed = np.where(free & (np.arange(len(free)) % 50 == 12), 0.05, 0.0)
    tracemalloc.start()
    found = lifted(needed, free, 60)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found >= needed).all()
    assert most < 20 * needed.nbytes


def test_over_one_post_a_foot_goes_as_a_beam_in_statics() -> None:
    """Clamped at both ends, a load in the middle, under tension: w'''' = T w'' has a closed form."""
    share = np.linspace(0, 1, 601)
    k = np.sqrt(180.0)
    x = np.minimum(share, 1 - share)
    shape = k * x - np.sinh(k * x) + np.tanh(k / 4) * (np.cosh(k * x) - 1)
    shape = shape / (k / 2 - np.sinh(k / 2) + np.tanh(k / 4) * (np.cosh(k / 2) - 1))
    free = (share > 0) & (share < 1)
    needed = np.where(share == 0.5, 0.1, 0.0)
    found = lifted(np.pad(needed, 2), np.pad(free, 2), 600)[2:-2]
    assert np.abs(found - 0.1 * shape).max() < 0.001


@pytest.mark.parametrize("fps", [24, 30, 120])
def test_a_swing_moves_a_foot_no_farther_than_its_stances_do(fps: int) -> None:
    """Offsets that change ever faster towards the end of a stance do not go on so in the swing."""
    frames, swing = 2 * fps, slice(fps // 2, fps)
    values, pinned = np.zeros((frames, 3)), np.ones((frames, 3), bool)
    values[: swing.start, 1] = 0.03 * np.linspace(0, 1, swing.start) ** 8
    values[swing.stop :, 1] = 0.02 * np.linspace(1, 0, frames - swing.stop) ** 8
    values[swing], pinned[swing] = 0, False
    scene = Scene(ik.Ground.plane(), fps, 1, ik.BakeSettings(), 1, on_ground=False)
    (found,) = _smooth_curves(values[np.newaxis], pinned[np.newaxis], scene)
    assert (found[pinned] == values[pinned]).all()
    assert found[swing].min() >= -1e-9
    assert found[swing].max() <= 0.03 + 1e-9


@pytest.mark.parametrize(("first", "second", "most"), [(0.4, 0.6, 0.14), (0.3, 0.7, 0.3), (0.25, 0.75, 0.45)])
def test_a_foot_does_not_rise_between_two_obstacles(first: float, second: float, most: float) -> None:
    """Tension halves what a way without would rise by above both; it still begins and ends without a slope."""
    share = np.linspace(0, 1, 61)
    posts = (np.abs(share - first) < 0.02) | (np.abs(share - second) < 0.02)
    found = lifted(np.where(posts, 0.1, 0.0), (share > 0) & (share < 1), 80)
    assert found.max() < 0.1 * (1 + most)
    assert np.abs(np.diff(found)[[0, -1]]).max() < 5e-3


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101, 1000])
def test_percentiles_and_products_are_those_of_numpy(count: int) -> None:
    """To the bit, as clips in which feet are found keep theirs; whichever way NumPy goes about it."""
    values = np.random.default_rng(count).normal(size=(count, 3))
    assert np.array_equal(median(values), np.median(values, axis=0))
    for percent in (0, 2, 10, 25, 50, 98, 99, 100):
        assert np.array_equal(percentile(values, percent), np.percentile(values, percent, axis=0))
    other = values[::-1]
    assert np.array_equal(cross(values, other), np.cross(values, other))
    assert np.array_equal(cross(values, other[0]), np.cross(values, other[0]))


# --- footing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bumps", "stairs", "tilted", "gallery"])
def test_one_walks_from_foothold_to_foothold(name: str) -> None:
    """Step by step the highest ground within reach of where one is; where there is none one stays as high."""
    gallery = ik.Ground.plane() + terrain.ramp(4, 1.6).moved(translations=[0, 0, 1]) + grounds()["bumps"]
    ground = {**grounds(), "gallery": gallery}[name]
    random = np.random.default_rng(4)
    for far in random.uniform(0.05, 6, 40):
        start, to = np.array([random.uniform(-1, 1), 0, -0.5]), np.array([random.uniform(-1, 1), 0, far])
        height, way = 0.0, to - start
        count = 1 + int(np.hypot(way[0], way[2]) / 0.1)
        for step in range(1, count + 1):
            at = start + way * step / count
            at[1] = height
            found = ground.at(at, above=0.45, below=0.6)
            height = float(found.height) if found.hit else height
        there = foothold(ground, to[np.newaxis], start)
        assert there.hit == found.hit
        assert not there.hit or there.height == pytest.approx(height, abs=1e-8)


def foothold(ground: ik.Ground, points: Array, last: Array, *, jumps: bool = False) -> Any:
    return ground._foothold(points, last, jumps=jumps, step=0.1, window=(0.45, 0.6), same=1e-9)


@pytest.mark.parametrize("name", ["bumps", "stairs", "pit", "nothing"])
@pytest.mark.parametrize("jumps", [False, True])
def test_a_foot_is_over_what_it_walks_to(name: str, jumps: bool) -> None:
    """The higher of both heights; a point in the side of a pit is placed above its rim."""
    floor = ik.Ground.heights(np.full((2, 2), -0.55), 20, [-10, 0, -19.7])
    pit = floor + terrain.stairs(1, rise=0.8, run=9, width=9).moved(translations=[0, -0.8, 0.3])
    aside = ik.Ground.heights(np.zeros((2, 2)), 1, [50, 0, 50])
    ground = {**grounds(), "pit": pit, "nothing": aside}[name]
    random, up, seen = np.random.default_rng(5), np.array([0.0, 1, 0]), set()
    for far in random.uniform(0.05, 0.4 if name == "pit" else 5, 60):
        last = np.array([0.0, random.choice([-0.55, 0.0, 0.3]), -0.5])
        points = np.array([0.0, random.uniform(-3, 3), far]) + random.uniform(-0.2, 0.2, (7, 3))
        height = last[1]
        for step in range(1, 1 + (count := 1 + int(np.hypot(*(points.mean(axis=0) - last)[[0, 2]]) / 0.1))):
            at = last + (points.mean(axis=0) - last) * step / count
            found = ground.at([at[0], height, at[2]], above=0.45, below=0.6)
            height = float(found.height) if found.hit else height
        each = []
        for start in (height, *[last[1]] * jumps):
            near = points * [1, 0, 1] + start * up
            there, above = ground.at(near, above=0.45, below=0.6), ground.cast(near + 0.45 * up, up, length=0.6)
            within = above.hit & ~above.front & ~there.hit
            near[within, 1] = above.points[within, 1]
            each.append(ground.at(near, above=0.45, below=0.6))
            seen.add(bool(within.any()))
        wanted = max(each, key=lambda found: found.height[found.hit].max(initial=-np.inf))
        made = foothold(ground, points, last, jumps=jumps)
        np.testing.assert_array_equal(made.hit, wanted.hit)
        np.testing.assert_allclose(made.height, wanted.height, atol=1e-8)
        np.testing.assert_allclose(made.normals, wanted.normals, atol=1e-8)
        np.testing.assert_array_equal(made.part, wanted.part)
    assert True in seen or name != "pit"


# --- the same bits ---------------------------------------------------------------------------------------------------


def grounds() -> dict[str, ik.Ground]:
    return {
        "bumps": terrain.bumps(0.04, spacing=1.5, count=8),
        "stairs": terrain.stairs(12, rise=0.15, run=0.35, width=4, landing=6).moved(translations=[0, 0, 1]),
        "tilted": ik.Ground.plane([0.2, 1, -0.1]),
    }


def baked(workers: int = 1) -> str:
    """The sha256 of a walk that slides, on three grounds: its rotations and translations."""
    digest, clip = hashlib.sha256(), samples.walk(3).clip
    clip = gaits.moved(clip, np.arange(len(clip))[:, np.newaxis] / 1024 * [0, 0, 1])
    for ground in grounds().values():
        pose = ik.bake_feet(clip, ground, workers=workers).clip.pose
        for numbers in (pose.rotations, pose.translations):
            digest.update(np.asarray(numbers).astype("<f8", copy=False).tobytes())
    return digest.hexdigest()


def soles() -> str:
    """The sha256 of the soles of a walk that goes askew, shaken so that no axis is one of the world."""
    clip = samples.walk(3).clip
    shaken = clip.pose.rotations + np.random.default_rng(1).normal(0, 0.02, clip.pose.rotations.shape)
    clip = ik.Clip(clip.skeleton, ik.Pose(rotations.normalize(shaken), clip.pose.translations), clip.fps)
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    return hashlib.sha256(repr([leg.soles for leg in feet]).encode()).hexdigest()


def elsewhere(call: str, **environment: str) -> str:
    """The result of a function of this file in another process."""
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(ik.__file__).parent.parent)]
    code = f"import sys; sys.path[:0] = {folders!r}; import test_bake_bits as t; print(t.{call}())"
    told = {**os.environ, **environment}
    made = subprocess.run([sys.executable, "-P", "-c", code], env=told, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def test_the_recorded_bits() -> None:
    assert baked() == RECORDED


@pytest.mark.parametrize("workers", [2, 5, None])
def test_threads_give_the_same_bits(workers: int) -> None:
    assert baked(workers) == baked()


def test_every_instruction_set_gives_the_same_bits() -> None:
    before = _core.isa()
    try:
        found = {isa: baked() for isa in instruction_sets() if _core.use_isa(isa)}
    finally:
        _core.use_isa(before)
    assert len(set(found.values())) == 1, found


@pytest.mark.slow
@pytest.mark.parametrize("isa", instruction_sets())
def test_other_processes_give_the_same_bits(isa: str) -> None:
    assert elsewhere("baked", IKCORE_ISA=isa) == baked()


@pytest.mark.slow
def test_numpy_without_its_instruction_sets_gives_the_same_bits() -> None:
    """Nor what OpenBLAS takes the processor for."""
    numbers: Any = importlib.import_module("numpy._core._multiarray_umath" if np.__version__ >= "2" else NUMPY_1)
    optional = " ".join(name for name in numbers.__cpu_dispatch__ if numbers.__cpu_features__[name])
    assert optional
    assert elsewhere("baked", NPY_DISABLE_CPU_FEATURES=optional, OPENBLAS_CORETYPE="PRESCOTT") == baked()


@pytest.mark.slow
@pytest.mark.parametrize("core", ["PRESCOTT", "SANDYBRIDGE"])
def test_libraries_of_linear_algebra_do_not_matter(core: str) -> None:
    """They differ from core to core in last bits."""
    assert elsewhere("soles", OPENBLAS_CORETYPE=core) == soles()
