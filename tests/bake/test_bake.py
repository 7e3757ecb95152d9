"""The foot bake as its docstrings promise it, on clips and grounds of which the truth is known."""

from __future__ import annotations

import dataclasses
import functools
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clips
import gaits
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import samples, terrain
from ikcore.bake import loops
from ikcore.contacts import intervals
from ikcore.feet.metrics import runs
from ikcore.feet.thresholds import SOLE_UNCERTAINTY

Array = NDArray[Any]

FLOOR = ik.Ground.plane()
ACROSS = ik.Ground.plane([0.2, 1, 0])  # falls to the left: its height is -0.2 x
UPHILL = ik.Ground.plane([0, 1, -0.2])
SIDES = ("left", "right")


@functools.cache
def walk() -> ik.Clip:
    return samples.walk(seconds=4).clip


@functools.cache
def feet() -> ik.Feet:
    return ik.Feet.detect(walk().skeleton, clip=walk())


@functools.cache
def bumps() -> ik.Ground:
    return terrain.bumps(0.04, spacing=1.5, count=8)


@functools.cache
def stairs() -> ik.Ground:
    return terrain.stairs(12, rise=0.15, run=0.35, width=4, landing=6).moved(translations=[0, 0, 2])


def ramp(rise: float = 0.2) -> ik.Ground:
    """Its height is this for every metre from z = 2 on."""
    return terrain.ramp(8, 8 * rise, width=4, landing=6).moved(translations=[0, 0, 2])


GROUNDS = {"across": ACROSS, "uphill": UPHILL, "ramp": ramp(), "stairs": stairs(), "bumps": bumps()}


def translations(clip: ik.Clip) -> Array:
    given = clip.skeleton.offsets if clip.pose.translations is None else clip.pose.translations
    return np.broadcast_to(given, (len(clip), len(clip.skeleton), 3))


def same(a: ik.Clip, b: ik.Clip) -> bool:
    """To the bit."""
    return np.array_equal(a.pose.rotations, b.pose.rotations) and np.array_equal(translations(a), translations(b))


def positions(clip: ik.Clip, joint: str | None = None) -> Array:
    found = clip.skeleton.forward(clip.pose).positions
    return np.asarray(found if joint is None else found[:, clip.skeleton.index(joint)])


def apart(a: ik.Clip, b: ik.Clip) -> float:
    """The most that any joint is."""
    return float(np.abs(positions(a) - positions(b)).max())


def soles(clip: ik.Clip) -> dict[tuple[str, str], Array]:
    return feet().positions(clip.skeleton, clip.pose)


def sliding(clip: ik.Clip, speed: float) -> ik.Clip:
    """Feet slide ahead with this speed while they stand."""
    return gaits.moved(clip, np.arange(len(clip))[:, np.newaxis] / clip.fps * [0, 0, speed])


def rocking(clip: ik.Clip, angle: float) -> ik.Clip:
    """Toes turn up and down all the time."""
    turned, wave = clip.pose.rotations.copy(), angle * np.sin(4 * np.arange(len(clip)) / clip.fps)
    for side in ("Left", "Right"):
        joint = clip.skeleton.index(f"{side}ToeBase")
        turned[:, joint] = ik.rotations.multiply(turned[:, joint], ik.rotations.from_axis_angle([1, 0, 0], wave))
    return dataclasses.replace(clip, pose=ik.Pose(turned, clip.pose.translations))


def stances(clip: ik.Clip, side: str, point: str = "ball") -> list[slice]:
    """Whole ones, without the tenth of a second in which feet arrive and leave."""
    inner = round(0.1 * clip.fps)
    found = ik.Contacts.detect(clip, feet()).intervals(side, point).tolist()
    return [slice(a + inner, b - inner) for a, b in found if a > 0 and b < len(clip) and b - a > 3 * inner]


def box(height: float, z: tuple[float, float], x: tuple[float, float] = (-5.0, 5.0), bottom: float = -1.0) -> ik.Ground:
    """An upright block, closed on all sides."""
    corners = np.array([[x[i], (bottom, height)[j], z[k]] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = [[q[0], q[a], q[a + 1]] for q in quads for a in (1, 2)]
    return ik.Ground.mesh(corners, faces)


# --- what stands is left ---------------------------------------------------------------------------------------------

CLEAN: dict[str, Callable[[], Any]] = {
    **{f"walk at {fps:g}": functools.partial(samples.walk, 3, fps=fps) for fps in (24, 30, 59.94, 120)},
    "slow walk": functools.partial(samples.walk, 3, speed=0.5, step=0.4),
    "walk": gaits.walking,
    "run": gaits.running,
    "strafe": gaits.strafing,
    "turn": gaits.turning,
    "jump": gaits.jumping,
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_clip_on_its_floor_is_left_to_the_bit(name: str) -> None:
    clip = CLEAN[name]().clip
    baked = ik.bake_feet(clip, FLOOR)
    assert same(baked.clip, clip)
    assert not baked.pelvis_offset.any()


def test_a_clean_clip_of_floats_is_left_to_the_bit() -> None:
    pose = ik.Pose(walk().pose.rotations.astype(np.float32), translations(walk()).astype(np.float32))
    clip = dataclasses.replace(walk(), pose=pose)
    baked = ik.bake_feet(clip, FLOOR).clip
    assert same(baked, clip)
    assert baked.pose.rotations.dtype == translations(baked).dtype == np.float32


def test_a_climb_on_its_own_stairs_is_left_where_it_stands() -> None:
    """Edges are ahead of toes and behind heels, and the floor of the clip is the ground. Swings may meet them."""
    climb = gaits.climbing(run=0.32)
    ground = terrain.stairs(8, rise=0.18, run=0.32, width=4, landing=6).moved(translations=[0, 0, 0.24])
    baked = ik.bake_feet(climb.clip, ground, feet=feet()).clip
    for side in SIDES:
        ankle = [positions(clip, f"{side.title()}Foot") for clip in (baked, climb.clip)]
        held = climb.planted(side)
        held[1:-1] &= held[:-2] & held[2:]
        assert held.sum() > 100
        np.testing.assert_allclose(ankle[0][held], ankle[1][held], atol=1e-9)


def test_a_climb_over_a_step_that_is_missing_is_made_up() -> None:
    """One foot has no ground to stand on: it stands where it was."""
    clip = gaits.climbing(run=0.32).clip
    steps = [box(0.18 * k, (0.32 * k - 0.08, 0.32 * k + 0.24)) for k in range(1, 8) if k != 4]
    ground = functools.reduce(ik.Ground.__add__, [box(0.0, (-5, 0.24)), *steps, box(0.18 * 8, (2.48, 9))])
    contacts = ik.Contacts.detect(clip, feet())
    baked = ik.bake_feet(clip, ground, feet=feet(), contacts=contacts)
    assert np.isfinite(positions(baked.clip)).all()
    held = np.abs(baked.pelvis_offset).max()
    assert held < 1e-6


@pytest.mark.parametrize("name", ["uphill", "ramp", "stairs"])
def test_baking_twice_changes_nothing(name: str) -> None:
    once = ik.bake_feet(walk(), GROUNDS[name], feet=feet()).clip
    assert same(ik.bake_feet(once, GROUNDS[name], feet=feet()).clip, once)


@pytest.mark.parametrize("slope", [0.04, 0.2])
@pytest.mark.parametrize("gait", [gaits.walking, gaits.turning], ids=["walking", "turning"])
def test_baking_twice_changes_nothing_where_feet_hardly_rise(gait: Callable[[], gaits.Gait], slope: float) -> None:
    """Across a slope, or on the spot: feet are on the ground, though not far from level with each other."""
    ground = ik.Ground.plane([slope, 1, 0])
    once = ik.bake_feet(gait().clip, ground, feet=feet())
    assert apart(ik.bake_feet(once.clip, ground, feet=feet()).clip, once.clip) < 1e-6


@pytest.mark.parametrize("name", ["flat", "uphill", "steep", "ramp", "stairs"])
def test_baking_twice_changes_nothing_though_feet_are_found_anew(name: str) -> None:
    """Their soles, too, are then those of the ground that the clip was made on: not of the lowest frames on a slope."""
    ground = {**GROUNDS, "flat": FLOOR, "steep": ik.Ground.plane([0.27, 1, 0])}[name]
    once = ik.bake_feet(walk(), ground).clip
    assert apart(ik.bake_feet(once, ground).clip, once) < 1e-5


@pytest.mark.parametrize(("by", "rises"), [(0.005, False), (0.03, True)])
def test_an_edge_that_a_sole_grazes_lifts_no_foot_that_has_found_its_way(by: float, rises: bool) -> None:
    """A block is 2 mm beside the foot in swing; the next time the sole is measured wider by some millimetres."""
    once = ik.bake_feet(walk(), GROUNDS["stairs"], feet=feet()).clip
    beside = soles(once)["left", "outer"][115:119]
    block = box(beside[:, 1].mean() + 0.1, (beside[0, 2], beside[-1, 2]), (0.106, 5))
    legs = feet()["left"].soles
    wide = {
        name: at._replace(offset=(at.offset[0] + by * (name == "outer"), *at.offset[1:])) for name, at in legs.items()
    }
    twice = ik.bake_feet(once, GROUNDS["stairs"] + block, feet=feet().replace("left", soles=wide)).clip
    assert (apart(twice, once) > 0.01) == rises


@pytest.mark.parametrize("until", [0.5, 0.8])
def test_who_begins_in_a_block_is_left_once_it_was_baked(until: float) -> None:
    """Feet that begin so deep in something that they cannot rise out of it in time rise no farther the next time."""
    ground = FLOOR + box(0.5, (-3, until))
    once = ik.bake_feet(walk(), ground).clip
    assert apart(ik.bake_feet(once, ground).clip, once) < 1e-5


MENDED = [(how, name) for how in ("slides", "shakes", "sinks") for name in ("floor", *GROUNDS)]
MENDED += [("rocks", name) for name in ("floor", "uphill", "ramp", "stairs", "bumps")]


@pytest.mark.parametrize(("how", "name"), MENDED)
def test_what_a_bake_has_made_is_left_by_the_next(how: str, name: str) -> None:
    """For any fault of the clip, with contacts detected again; to 0.01 mm and 0.001 degree."""
    clip = {
        "slides": lambda: sliding(walk(), 0.05),
        "shakes": lambda: gaits.shaken(walk(), 0.002),
        "rocks": lambda: rocking(walk(), 0.15),
        "sinks": lambda: gaits.moved(walk(), [0, -0.012, 0]),
    }[how]()
    ground = FLOOR if name == "floor" else GROUNDS[name]
    once = ik.bake_feet(clip, ground, feet=feet()).clip
    twice = ik.bake_feet(once, ground, feet=feet()).clip
    assert apart(twice, once) < 1e-5
    turns = ik.rotations.log(ik.rotations.multiply(ik.rotations.conjugate(once.pose.rotations), twice.pose.rotations))
    assert np.degrees(np.abs(turns).max()) < 1e-3


def test_nothing_of_the_input_changes() -> None:
    clip = sliding(walk(), 0.05)
    before = clip.pose.rotations.copy(), translations(clip).copy()
    baked = ik.bake_feet(clip, bumps()).clip
    assert np.array_equal(clip.pose.rotations, before[0])
    assert np.array_equal(translations(clip), before[1])
    assert not np.shares_memory(clip.pose.rotations, baked.pose.rotations)


# --- loops -----------------------------------------------------------------------------------------------------------


def looped(rounds: int = 1, fps: int = 60, *, on_the_spot: bool = False, root: bool = False) -> ik.Clip:
    """Strides of one second; the last frame equals the first, except for the position of the root."""
    clip = samples.walk(rounds + 1e-9, speed=1.4, step=0.7, fps=fps).clip
    turned, moved, last = np.array(clip.pose.rotations), np.array(clip.pose.translations), rounds * fps
    turned[-1], moved[-1] = turned[0], moved[0]
    moved[:, 0, 2] = np.where(np.arange(last + 1) < last, moved[:, 0, 2], moved[0, 0, 2] + 1.4 * rounds)
    moved[:, 0, 2] -= 1.4 * np.arange(last + 1) / fps * on_the_spot
    if on_the_spot:
        moved[-1] = moved[0]
    found = dataclasses.replace(clip, pose=ik.Pose(turned, moved), loop=True)
    return with_root(found) if root else found


def with_root(clip: ik.Clip) -> ik.Clip:
    """A root on the floor that goes ahead below the hips, which sway and bob."""
    skeleton, way = clip.skeleton, translations(clip)[:, :1] * [0, 0, 1]
    above = ik.Skeleton(
        [-1, *(skeleton.parents + 1).tolist()],
        np.concatenate([np.zeros((1, 3)), skeleton.offsets]),
        names=["Root", *skeleton.names],
    )
    turned = np.concatenate([np.tile([1.0, 0, 0, 0], (len(clip), 1, 1)), clip.pose.rotations], axis=1)
    moved = np.concatenate([way, translations(clip)], axis=1)
    moved[:, 1] -= way[:, 0]
    return dataclasses.replace(clip, skeleton=above, pose=ik.Pose(turned, moved))


@pytest.mark.parametrize("name", ["floor", *GROUNDS])
@pytest.mark.parametrize(("rounds", "fps"), [(1, 60), (2, 30), (3, 24)])
@pytest.mark.parametrize("root", [False, True], ids=["hips", "root"])
def test_loops_stay_loops(name: str, rounds: int, fps: int, root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """First and last frame have the same bits, except for the position of the root, and nothing jumps there."""
    clip, forced = looped(rounds, fps, root=root), []
    close = loops.close_loop

    def spy(baked: ik.Clip, clip: ik.Clip) -> ik.Clip:
        forced.append(apart(baked, close(baked, clip)))
        return close(baked, clip)

    monkeypatch.setattr(loops, "close_loop", spy)
    baked = ik.bake_feet(clip, FLOOR if name == "floor" else GROUNDS[name]).clip
    assert baked.loop
    assert forced[0] < 1e-5
    assert np.array_equal(baked.pose.rotations[0], baked.pose.rotations[-1])
    assert np.array_equal(translations(baked)[0, 1:], translations(baked)[-1, 1:])
    at = positions(baked)
    seam = (at[1] - at[0]) - (at[-1] - at[-2])
    assert np.abs(seam).max() < np.abs(np.diff(at, n=2, axis=0)).max()


def test_a_loop_uphill_climbs_with_its_root() -> None:
    baked = ik.bake_feet(looped(root=True), UPHILL).clip
    np.testing.assert_allclose(np.diff(translations(baked)[:, 0], axis=0)[:, 1], 0.2 * 1.4 / 60, atol=1e-8)


@pytest.mark.parametrize("name", ["floor", *GROUNDS])
def test_a_loop_on_the_spot_walks(name: str) -> None:
    """As the one that travels does, once it has root motion."""
    ground = FLOOR if name == "floor" else GROUNDS[name]
    clips = ik.prepare.add_root_motion(looped(2, 30, on_the_spot=True)), looped(2, 30)
    there, here = (ik.bake_feet(clip, ground, feet=feet()).clip for clip in clips)
    assert apart(there, here) < 2e-3


def test_a_loop_on_ground_that_moves_is_refused() -> None:
    with pytest.raises(ValueError, match="loop"):
        ik.bake_feet(looped(), FLOOR.moved(translations=np.zeros((61, 3))))


@pytest.mark.parametrize("frames", [(0, 30), (20, 45), (40, 61)])
def test_some_frames_of_a_loop_leave_a_loop(frames: tuple[int, int]) -> None:
    baked = ik.bake_feet(looped(), bumps(), frames=frames).clip
    assert np.array_equal(baked.pose.rotations[0], baked.pose.rotations[-1])
    assert np.array_equal(translations(baked)[0, 1:], translations(baked)[-1, 1:])
    assert not same(baked, looped())


# --- where feet go ---------------------------------------------------------------------------------------------------


def gaps(clip: ik.Clip, ground: ik.Ground, frames_between: int = 8) -> Array:
    """How far above the ground the points of the soles are, between frames too, as joints turn and move evenly."""
    fine = clip.resample(clip.fps * frames_between)
    return np.stack([at[:, 1] - ground.at(at, above=0.4, below=3).height for at in soles(fine).values()])


@pytest.mark.parametrize("fps", [10, 30, 60])
@pytest.mark.parametrize("ahead", [0.0, 0.07, 0.14, 0.21])
def test_swings_clear_a_box_between_frames(fps: float, ahead: float) -> None:
    """A board on edge, as thin as 20 mm, across the middle of a swing: feet are through in less than a frame."""
    clip = samples.walk(4, fps=fps).clip
    ground = FLOOR + box(0.12, (0.62 + ahead, 0.64 + ahead), (0, 1))
    source, baked = gaps(clip, ground), gaps(ik.bake_feet(clip, ground, feet=feet()).clip, ground)
    assert source.min() < -0.05
    assert baked.min() > gaps(clip, FLOOR).min() - 0.008  # feet of a clip of few frames dip between them


def test_a_sole_is_turned_only_where_it_stands() -> None:
    """A wedge under one stance: the foot has the angle of the clip again half a swing later, on the level."""
    wedge = ik.Ground.mesh([[-1, 0, 1.3], [1, 0, 1.3], [1, 0.2, 1.8], [-1, 0.2, 1.8]], [[0, 2, 1], [0, 3, 2]])
    ground = FLOOR + wedge
    baked = ik.bake_feet(walk(), ground, feet=feet())
    foot = walk().skeleton.index("LeftFoot")
    turned = [clip.skeleton.forward(clip.pose).rotations[:, foot] for clip in (baked.clip, walk())]
    angle = 2 * np.arccos(np.clip(np.abs((turned[0] * turned[1]).sum(axis=1)), 0, 1))
    before, on, *after = (np.degrees(angle[stance]) for stance in stances(walk(), "left"))
    assert on.min() > 10
    assert max(before.max(), *(part.max() for part in after)) < 1e-3


def test_floors_above_and_below_are_none() -> None:
    """An overhang above a knee, and a cellar: nothing changes."""
    floors = FLOOR + ik.Ground.plane(height=-2) + box(1.5, (-9, 9), bottom=0.7)
    assert same(ik.bake_feet(walk(), floors).clip, walk())


def test_of_floors_on_stairs_the_one_is_taken_that_is_walked_up() -> None:
    """A ramp up to a gallery over the floor: feet go up, though the floor goes on below."""
    ground = ik.Ground.mesh(
        [[-2, 0, 1.5], [2, 0, 1.5], [2, 1.2, 4.5], [-2, 1.2, 4.5], [-2, 1.2, 9], [2, 1.2, 9]],
        [[0, 2, 1], [0, 3, 2], [3, 5, 2], [3, 4, 5]],
    )
    baked = ik.bake_feet(walk(), FLOOR + ground, feet=feet()).clip
    at = soles(baked)["right", "ball"]
    for stance in stances(walk(), "right"):
        height = 0.4 * np.clip(at[stance, 2] - 1.5, 0, 3)
        np.testing.assert_allclose(at[stance, 1], height, atol=0.003)


@pytest.mark.parametrize("deep", [0.8, 3.0, np.inf])
def test_a_hole_does_not_drag_the_foot_down(deep: float) -> None:
    """From z = 1.5 to 1.9 there is none, or one far below: the foot stands there as if there were."""
    parts = box(0.0, (-3, 1.5)) + box(0.0, (1.9, 9))
    ground = parts if np.isinf(deep) else parts + ik.Ground.plane(height=-deep)
    baked = ik.bake_feet(walk(), ground, feet=feet())
    assert np.abs(baked.pelvis_offset).max() < 1e-3
    for side in SIDES:
        np.testing.assert_allclose(soles(baked.clip)[side, "ball"], soles(walk())[side, "ball"], atol=2e-3)


def test_an_abyss_does_not_drag_the_foot_down() -> None:
    """The ground ends; the clip goes on as it was there."""
    baked = ik.bake_feet(walk(), box(0.0, (-3, 2)), feet=feet())
    assert apart(baked.clip, walk()) < 2e-3


def test_walls_are_no_footholds() -> None:
    """A wall that leans by 80 degrees and begins beside the feet: no sole turns to it, and no foot is on it."""
    steep = ik.Ground.mesh([[-0.2, 0, -9], [-0.2, 0, 9], [-0.4, 1.2, 9], [-0.4, 1.2, -9]], [[0, 1, 2], [0, 2, 3]])
    assert apart(ik.bake_feet(walk(), FLOOR + steep, feet=feet()).clip, walk()) < 1e-9


# --- lock ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["floor", *GROUNDS])
def test_planted_points_stand_still(name: str) -> None:
    """Points that slide by 30 mm in a stance stand still to less than 2 mm, and on the ground."""
    ground = FLOOR if name == "floor" else GROUNDS[name]
    baked = ik.bake_feet(sliding(walk(), 0.05), ground, feet=feet(), contacts=ik.Contacts.detect(walk(), feet())).clip
    for side in SIDES:
        for stance in stances(walk(), side):
            at = soles(baked)[side, "ball"][stance]
            assert np.ptp(at, axis=0).max() < 2e-3
            height = ground.at(at, above=0.3, below=0.3).height
            assert -0.005 < (at[:, 1] - height).min() <= (at[:, 1] - height).max() < 0.01 + 0.02 * (name == "stairs")


@pytest.mark.parametrize("name", ["floor", "across", "uphill", "bumps"])
def test_the_sole_stands_still_under_toes_that_turn(name: str) -> None:
    """Not the joint above it alone: all of the toes lie where they are while the foot turns about the ball."""
    clip, ground = rocking(walk(), 0.2), FLOOR if name == "floor" else GROUNDS[name]
    baked = ik.bake_feet(clip, ground, feet=feet(), contacts=ik.Contacts.detect(walk(), feet())).clip
    rocks = []
    for side in SIDES:
        for stance in stances(walk(), side):
            rocks.append(np.ptp(soles(clip)[side, "ball"][stance], axis=0).max())
            for point in ("ball", "toe"):
                assert np.ptp(soles(baked)[side, point][stance], axis=0).max() < 2e-3
    assert max(rocks) > 5e-3


@pytest.mark.parametrize("name", ["floor", "across", "uphill", "ramp"])
def test_a_foot_that_stands_does_not_spin(name: str) -> None:
    clip, ground = walk(), FLOOR if name == "floor" else GROUNDS[name]
    turned, wave = clip.pose.rotations.copy(), 0.1 * np.sin(8 * np.arange(len(clip)) / clip.fps)
    foot = clip.skeleton.index("LeftFoot")
    above = clip.skeleton.forward(clip.pose).rotations[:, int(clip.skeleton.parents[foot])]
    spun = ik.rotations.multiply(ik.rotations.from_axis_angle([0, 1, 0], wave), above)
    turned[:, foot] = ik.rotations.multiply(ik.rotations.conjugate(above), ik.rotations.multiply(spun, turned[:, foot]))
    spinning = dataclasses.replace(clip, pose=ik.Pose(turned, clip.pose.translations))
    baked = ik.bake_feet(spinning, ground, feet=feet(), contacts=ik.Contacts.detect(clip, feet())).clip
    for stance in stances(clip, "left", "heel"):
        heel, ball = (soles(baked)["left", point][stance] for point in ("heel", "ball"))
        assert np.ptp(heel, axis=0)[[0, 2]].max() < 2e-3
        assert np.ptp(ball, axis=0)[[0, 2]].max() < 1e-3


def test_who_creeps_uphill_stands_still() -> None:
    """Legs that are folded to a third of their length to stand on a slope fold, rather than push feet into it."""
    plants = gaits.stepping(3, 1.3, 0.65, lambda side, time: (1.4 * gaits.ASIDE[side], 0, 0.6 * time))
    gait = gaits.gait(plants, 3, 60, gaits.above(0.55, lambda times: 0.6 * times), 0.15)
    ground = ik.Ground.plane([0.2, 1, -0.3])
    baked = ik.bake_feet(gait.clip, ground)
    for side in SIDES:
        held = baked.contacts.planted(side, "ball")
        at = soles(baked.clip)[side, "ball"]
        for start, stop in runs(held):
            inner = at[start + 6 : stop - 6]
            assert len(inner) < 2 or np.ptp(inner, axis=0).max() < 2e-3
        assert abs(at[held, 1] - ground.at(at[held], above=1, below=1).height).max() < 0.01


def test_heel_ball_and_toe_follow_each_other_without_a_jump() -> None:
    """Ankles are accelerated as in the clean clip while the foot rolls, though it slid."""
    baked = ik.bake_feet(sliding(walk(), 0.05), FLOOR, feet=feet(), contacts=ik.Contacts.detect(walk(), feet())).clip
    for side in ("Left", "Right"):
        hard = [np.abs(np.diff(positions(clip, f"{side}Foot"), n=2, axis=0)).max() for clip in (baked, walk())]
        assert hard[0] < 1.1 * hard[1]


def test_a_foot_comes_down_from_its_heel_as_it_does_in_the_clip() -> None:
    """On its own floor, though it slid: ankles are as high as they were."""
    clip = sliding(walk(), 0.05)
    baked = ik.bake_feet(clip, FLOOR, feet=feet()).clip
    for side in ("Left", "Right"):
        assert np.abs((positions(baked, f"{side}Foot") - positions(clip, f"{side}Foot"))[:, 1]).max() < 5e-4


def test_a_foot_that_leaves_does_not_turn_about_its_heel() -> None:
    """If only the heel is in contact, and is higher than the ball, the ball stays out of the ground."""
    clip, down = sliding(walk()[:104], 0.05), np.zeros((2, 104))
    down[:, 66:], down[1, 90:] = 1, 0
    said: dict[str | tuple[str, str], Any] = {("left", "heel"): down[0], ("left", "ball"): down[1]}
    contacts = ik.Contacts.detect(clip, feet(), curves=said)
    found = soles(ik.bake_feet(clip, FLOOR, feet=feet(), contacts=contacts).clip)
    was = soles(clip)
    for point in ("ball", "toe"):
        assert (found["left", point] - was["left", point])[90:, 1].min() > -0.003


def test_who_comes_down_swings_over_the_ground() -> None:
    """An unknown floor of the source, as below a foot that swings far under its last one, excuses no penetration."""
    gait = gaits.climbing(-0.16, 0.3, 6, 30)
    baked = ik.bake_feet(gait.clip, FLOOR)
    assert min(soles(baked.clip)[side, point][:, 1].min() for side in SIDES for point in ("heel", "ball")) > -0.005


def test_what_slides_too_far_is_planted_anew() -> None:
    """Never farther from the clip than it may be, with steps between that are as smooth as the rest."""
    plants = {side: [gaits.Plant(-1, 99, (x, 0, 0))] for side, x in gaits.ASIDE.items()}
    clip = gaits.moved(
        gaits.gait(plants, 3, 60, gaits.above(0.82)).clip, np.arange(181)[:, np.newaxis] / 60 * [0, 0, 0.4]
    )
    contacts = ik.Contacts.detect(clip, feet(), modes="always")
    baked = ik.bake_feet(clip, FLOOR, feet=feet(), contacts=contacts)
    away = np.abs(soles(baked.clip)["left", "ball"] - soles(clip)["left", "ball"]).max()
    assert away < 0.2
    moves = np.abs(np.diff(soles(baked.clip)["left", "ball"][:, 2]))
    assert (moves < 1e-6).mean() > 0.5
    assert baked.stances >= 2 * 5


# --- pelvis ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("slides", [0.0, 0.3])
def test_no_leg_overreaches(name: str, slides: float) -> None:
    baked = ik.bake_feet(sliding(walk(), slides), GROUNDS[name])
    for side in ("Left", "Right"):
        hip, knee, ankle = (positions(baked.clip, side + joint) for joint in ("UpLeg", "Leg", "Foot"))
        reach = np.sqrt(((ankle - hip) ** 2).sum(axis=1))
        bones = np.sqrt(((knee - hip) ** 2).sum(axis=1)) + np.sqrt(((ankle - knee) ** 2).sum(axis=1))
        np.testing.assert_allclose(bones, 0.85, atol=1e-9)
        assert (reach <= 0.9901 * 0.85).all()
    if slides == 0:
        assert max(short.max() for short in baked.shortfall.values()) < 1e-9


def test_the_body_is_not_pulled_down_in_the_air() -> None:
    """A jump over a pit, which the feet never come near."""
    jump = gaits.jumping(ahead=1.2, flight=0.55).clip
    pit = box(0.0, (-3, 0.4)) + box(0.0, (0.9, 9)) + ik.Ground.plane(height=-0.5)
    baked = ik.bake_feet(jump, pit, feet=feet())
    assert np.abs(baked.pelvis_offset).max() < 1e-6


def test_a_jump_onto_a_box_lands_on_it() -> None:
    """Made on the floor; before it rises the body gives the legs a little room."""
    jump = gaits.jumping(ahead=1.2, flight=0.55).clip
    baked = ik.bake_feet(jump, FLOOR + box(0.3, (0.9, 3)), feet=feet())
    assert baked.pelvis_offset[0] == pytest.approx(0, abs=1e-9)
    assert baked.pelvis_offset[-1] == pytest.approx(0.3, abs=1e-6)
    assert -0.03 < baked.pelvis_offset.min() <= baked.pelvis_offset.max() < 0.301
    assert max(short.max() for short in baked.shortfall.values()) < 1e-9
    np.testing.assert_allclose(soles(baked.clip)["left", "heel"][-1, 1], 0.3, atol=1e-6)


def test_a_deep_hole_shortens_one_leg_and_says_so() -> None:
    """A foot is 0.55 m lower than the other, and the body may not follow: by how much the leg is too short is known."""
    plants = {side: [gaits.Plant(-1, 99, (x, 0, 0))] for side, x in gaits.ASIDE.items()}
    clip = gaits.gait(plants, 1, 60, gaits.above(0.82)).clip
    ground = box(0.0, (-3, 3), (0, 5)) + ik.Ground.plane(height=-0.55)
    baked = ik.bake_feet(clip, ground, feet=feet(), settings=ik.BakeSettings(drop=0, lift=0))
    own = positions(clip, "RightUpLeg")[30, 1] - gaits.ANKLE
    lowest = -0.55 + 0.985 * 0.85 - own  # the leg in the hole is as straight as it may be
    assert baked.pelvis_offset[30] == pytest.approx(lowest, abs=1e-3)
    held = ik.bake_feet(clip, ground, feet=feet())
    knee = positions(held.clip, "RightFoot")[30, 1]
    hip = positions(held.clip, "RightUpLeg")[30, 1]
    assert hip - knee <= 0.85
    missed = gaits.ANKLE - positions(held.clip, "LeftFoot")[30, 1]  # it will not fold up so far
    assert missed == pytest.approx(held.shortfall["left"][30], abs=2e-3)
    lower = -0.55 + gaits.ANKLE
    assert knee - held.shortfall["right"][30] == pytest.approx(lower, abs=2e-3)


def test_knees_that_were_straight_stay_straight() -> None:
    """A walk on legs as straight as they get, on a floor that is not level, that slides: feet that are held lag."""

    def hips(_: Array, left: Array, right: Array) -> Array:
        found, most = (left + right) / 2, []
        for foot, aside in ((left, 0.09), (right, -0.09)):
            off = foot - found - [aside, 0, 0]
            most.append(foot[:, 1] + np.sqrt(0.8499**2 - off[:, 0] ** 2 - off[:, 2] ** 2))
        found[:, 1] = gaits.ANKLE + np.minimum(*most) + 0.06
        return found

    plants: dict[str, list[gaits.Plant]] = {"left": [], "right": []}
    for step in range(9):
        side = ("left", "right")[step % 2]
        place = (gaits.ASIDE[side], 0.004 * (step * step % 7 - 2), 0.3 * step)
        plants[side].append(gaits.Plant(step / 2 - 0.1, step / 2 + 0.5, place))
    clip = gaits.gait(plants, 4, 60, hips).clip
    contacts = ik.Contacts.detect(clip, feet())
    for slides in (0.2, 0.4):
        slid = gaits.moved(clip, np.arange(len(clip))[:, np.newaxis] * [0, 0, -slides / 60])
        baked = ik.bake_feet(slid, FLOOR, feet=feet(), contacts=contacts).clip
        up = [
            positions(baked, joint)[:, 1] - positions(slid, joint)[:, 1] for joint in ("Hips", "LeftFoot", "RightFoot")
        ]
        lower = np.minimum(up[1], up[2]) - up[0]
        # each stance keeps its own level, up to 24 mm from another, between which the pelvis goes smoothly
        assert np.percentile(lower, 95) < 0.011
        for side in ("Left", "Right"):
            was, now = (np.percentile(knees(each, side), 95) for each in (slid, baked))
            assert was > 178
            assert now > was - 0.5


def knees(clip: ik.Clip, side: str) -> Array:
    """Degrees, 180 is straight."""
    hip, knee, ankle = (positions(clip, f"{side}{joint}") for joint in ("UpLeg", "Leg", "Foot"))
    up, down = hip - knee, ankle - knee
    crossed = np.linalg.norm(np.cross(up, down), axis=1)
    return np.asarray(np.degrees(np.arctan2(crossed, (up * down).sum(axis=1))))


@pytest.mark.parametrize("tilt", [0.008, 0.02])
def test_a_captured_floor_that_tilts_a_little_is_level(tilt: float) -> None:
    """Its feet stand as high as they do in the middle, and its pieces as the whole does."""
    clip, turn = samples.walk(seconds=8, speed=1.2).clip, ik.rotations.from_axis_angle([1.0, 0, 0], -tilt)
    turned = clip.pose.rotations.copy()
    turned[:, 0] = ik.rotations.multiply(turn, turned[:, 0])
    at = np.array([0, 0.01, 4.8]) + ik.rotations.rotate(turn, positions(clip, "Hips") - [0, 0, 4.8])
    level = dataclasses.replace(clip, pose=ik.Pose(turned, clip.pose.translations))
    tilted = gaits.moved(level, at - positions(level, "Hips"))
    baked = ik.bake_feet(tilted, FLOOR).clip
    for foot in ("LeftToeBase", "RightToeBase"):
        held = ik.Contacts.detect(clip).planted(foot[: -len("ToeBase")].lower(), "ball")
        stands = positions(baked, foot)[held, 1]
        assert np.ptp(np.percentile(stands, (10, 90))) < 1e-3
        assert np.median(stands) == pytest.approx(np.median(positions(tilted, foot)[held, 1]), abs=0.006)


# --- parts of a clip -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frames", [(60, 180), (0, 100), (150, 241), (100, 101)])
def test_only_some_frames_change(frames: tuple[int, int]) -> None:
    """The others are the same to the bit; at both ends nothing jumps, and in the middle it is as without."""
    first, stop = frames
    whole, baked = (ik.bake_feet(walk(), UPHILL, feet=feet(), frames=some).clip for some in (None, frames))
    for outside in (slice(0, first), slice(stop, None)):
        assert np.array_equal(baked.pose.rotations[outside], walk().pose.rotations[outside])
        assert np.array_equal(translations(baked)[outside], translations(walk())[outside])
    away = positions(baked)[:, :1] - positions(walk())[:, :1]
    assert np.abs(np.diff(away, axis=0)).max() < 1.9 * np.abs(away).max() / 18 + 0.01
    if stop - first > 40:
        middle = slice(first + 19 if first else 0, stop - 19 if stop < 241 else None)
        np.testing.assert_allclose(positions(baked)[middle], positions(whole)[middle], atol=1e-9)


def test_some_frames_fade_in_and_out_smoothly() -> None:
    """Without a jump in speed: a shift of 0.1 m in 0.3 s takes 6 mm a frame^2 at most, of least jerk."""
    baked = ik.bake_feet(walk(), FLOOR + box(0.1, (-9, 9)), feet=feet(), frames=(60, 180)).clip
    for joint in ("Hips", "LeftFoot", "RightFoot"):
        away = positions(baked, joint)[:, 1] - positions(walk(), joint)[:, 1]
        assert np.abs(np.diff(away, n=2)).max() < 1.1 * 0.1 * 5.78 / 18**2
        np.testing.assert_allclose(away[80:160], 0.1, atol=1e-9)


def test_only_some_legs_change() -> None:
    baked = ik.bake_feet(walk(), ACROSS, legs=["left"])
    for at, name in enumerate(walk().skeleton.names):
        alike = np.array_equal(baked.clip.pose.rotations[:, at], walk().pose.rotations[:, at])
        if name != "LeftToeBase":  # which goes with the foot
            assert alike == (name not in ("LeftUpLeg", "LeftLeg", "LeftFoot")), name
    assert np.array_equal(translations(baked.clip), translations(walk()))
    assert set(baked.shortfall) == {"left"}
    assert not baked.pelvis_offset.any()


@pytest.mark.parametrize("modes", [None, {"right": "never"}, {"left": "never"}])
@pytest.mark.parametrize("name", ["stairs", "plane 1 m up", "plane 3 m up", "plane 1 m down"])
def test_one_leg_goes_no_farther_than_it_folds_and_reaches(name: str, modes: Any) -> None:
    """From a body that stays ground may be above its hips: a foot stays below, and it is known how much is missing."""
    heights = {"plane 1 m up": 1.0, "plane 3 m up": 3.0, "plane 1 m down": -1.0}
    ground = ik.Ground.plane(height=heights[name]) if name in heights else stairs()
    contacts = ik.Contacts.detect(walk(), feet(), modes=modes)
    baked = ik.bake_feet(walk(), ground, feet=feet(), contacts=contacts, legs=["left"])
    hip, knee, ankle, toe = (positions(baked.clip, f"Left{name}") for name in ("UpLeg", "Leg", "Foot", "ToeBase"))
    source = [positions(walk(), f"Left{name}") for name in ("UpLeg", "Leg", "Foot", "ToeBase")]
    for at, (start, end) in enumerate([(hip, knee), (knee, ankle), (ankle, toe)]):
        bones = np.linalg.norm(source[at + 1] - source[at], axis=1)
        np.testing.assert_allclose(np.linalg.norm(end - start, axis=1), bones, atol=1e-9)
    assert (ankle - hip)[:, 1].max() < 0.1
    assert np.abs(ankle - source[2]).max() < 0.8
    wanted = (ankle - source[2])[:, 1] + np.sign(heights.get(name, 1)) * baked.shortfall["left"]
    if name in heights:
        np.testing.assert_allclose(wanted, heights[name], atol=0.1)
    (said,) = (note for note in baked.notes if note.startswith("legs do not reach"))
    assert said.startswith("legs do not reach the ground from a body that stays, by up to")
    assert said.endswith(" s: left; change all legs to move it with them")


@pytest.mark.parametrize("height", [-0.3, -0.35, -0.6])
def test_one_leg_goes_smoothly_under_a_body_that_has_come_down_to_it(height: float) -> None:
    """Its foot, unmoved, is nearer to the hip than a leg folds, and comes from there."""
    earlier = ik.bake_feet(walk(), ik.Ground.plane(height=-1), feet=feet()).clip
    baked = ik.bake_feet(walk(), ik.Ground.plane(height=height), feet=feet(), legs=["left"], earlier=earlier)
    ankle, before = (positions(clip, "LeftFoot") for clip in (baked.clip, walk()))
    assert np.abs(np.diff(ankle - before, axis=0)).max() < 0.1


def test_contacts_of_points_that_these_soles_do_not_have() -> None:
    clip, legs = walk(), feet()
    heels = ik.Feet(tuple(dataclasses.replace(leg, soles={"heel": leg.soles["heel"]}) for leg in legs))
    balls = ik.Feet(tuple(dataclasses.replace(leg, soles={"ball": leg.soles["ball"]}) for leg in legs))
    with pytest.raises(ValueError, match="contacts: expected some of the heel or the ball of 'left', got none"):
        ik.bake_feet(clip, FLOOR, feet=balls, contacts=ik.Contacts.detect(clip, heels))


def test_a_contact_alone_leaves_the_rest() -> None:
    """One leg in some frames."""
    baked = ik.bake_feet(walk(), ACROSS, legs="right", frames=(90, 150)).clip
    changed = np.argwhere((baked.pose.rotations != walk().pose.rotations).any(axis=2))
    assert set(changed[:, 1]) <= {walk().skeleton.index(f"Right{name}") for name in ("UpLeg", "Leg", "Foot", "ToeBase")}
    assert 90 <= changed[:, 0].min() < 100
    assert 140 < changed[:, 0].max() < 150


# --- some of an earlier bake again ------------------------------------------------------------------------------------


@functools.cache
def first_bakes() -> tuple[ik.Baked, ik.Baked]:
    """On stairs: by the contacts that are found, and as if the left foot never stood, which moves the pelvis, too."""
    found = ik.bake_feet(walk(), stairs(), feet=feet())
    said: dict[Any, Any] = {key: weight * (key[0] == "right") for key, weight in found.contacts.weights.items()}
    edited = ik.bake_feet(walk(), stairs(), feet=feet(), contacts=ik.Contacts.detect(walk(), feet(), curves=said))
    assert apart(found.clip, edited.clip) > 0.01
    assert np.abs(found.pelvis_offset - edited.pelvis_offset).max() > 0.001
    return found, edited


def again(**options: Any) -> ik.Baked:
    """By the edited contacts, into what was baked without them."""
    found, edited = first_bakes()
    return ik.bake_feet(walk(), stairs(), feet=feet(), contacts=edited.contacts, earlier=found.clip, **options)


def test_one_leg_of_an_earlier_bake() -> None:
    """Its foot comes to where a bake of all has it, under a pelvis that stays; all else is as it was, to the bit."""
    (found, edited), baked = first_bakes(), again(legs=["left"])
    for at, name in enumerate(walk().skeleton.names):
        alike = np.array_equal(baked.clip.pose.rotations[:, at], found.clip.pose.rotations[:, at])
        assert alike == (name not in ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase")), name
    assert np.array_equal(translations(baked.clip), translations(found.clip))
    np.testing.assert_allclose(baked.pelvis_offset, found.pelvis_offset, atol=1e-12)
    now, wanted = soles(baked.clip), soles(edited.clip)
    for key in (key for key in wanted if key[0] == "left"):
        np.testing.assert_allclose(now[key], wanted[key], atol=1e-9)
    assert not baked.shortfall["left"].any()


@pytest.mark.parametrize("legs", [None, ["left"]])
def test_an_earlier_bake_again_as_it_was(legs: list[str] | None) -> None:
    found, _ = first_bakes()
    for frames in (None, (60, 180)):
        baked = ik.bake_feet(walk(), stairs(), feet=feet(), earlier=found.clip, legs=legs, frames=frames)
        assert apart(baked.clip, found.clip) < 1e-9


def test_some_frames_of_an_earlier_bake() -> None:
    """They go over to a bake of all; feet between the two are between where both have them, and nothing jumps."""
    (found, edited), baked = first_bakes(), again(frames=(110, 230))
    for outside in (slice(110), slice(230, None)):
        assert np.array_equal(baked.clip.pose.rotations[outside], found.clip.pose.rotations[outside])
        assert np.array_equal(translations(baked.clip)[outside], translations(found.clip)[outside])
    inside = slice(129, 211)
    assert np.array_equal(baked.clip.pose.rotations[inside], edited.clip.pose.rotations[inside])
    was, now, wanted = (positions(each.clip, "LeftFoot") for each in (found, baked, edited))
    away, far = now - was, wanted - was
    along = np.einsum("ij,ij->i", away, far) / np.maximum(np.einsum("ij,ij->i", far, far), 1e-12)
    np.testing.assert_allclose(away, along[:, np.newaxis] * far, atol=1e-6)
    fading = slice(110, 129)
    moved = np.sqrt((far[fading] ** 2).sum(axis=1)) > 1e-3
    assert moved.sum() > 3
    assert (np.diff(along[fading][moved]) > -1e-6).all()
    assert 0 <= along[fading][moved].min() < along[fading][moved].max() <= 1


def test_a_leg_in_some_frames_of_an_earlier_bake() -> None:
    found, _ = first_bakes()
    baked = again(legs=["left"], frames=(60, 180)).clip
    changed = np.argwhere((baked.pose.rotations != found.clip.pose.rotations).any(axis=2))
    assert set(changed[:, 1]) <= {walk().skeleton.index(f"Left{name}") for name in ("UpLeg", "Leg", "Foot", "ToeBase")}
    assert changed[:, 0].min() >= 60
    assert changed[:, 0].max() < 180
    whole = again(legs=["left"]).clip
    np.testing.assert_allclose(positions(baked)[79:161], positions(whole)[79:161], atol=1e-9)


def test_all_legs_by_name_are_all() -> None:
    assert same(again(legs=SIDES).clip, again().clip)
    assert same(again().clip, first_bakes()[1].clip)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"legs": ["hind"]}, "legs: no leg is called 'hind'; there are left, right"),
        ({"legs": []}, "legs: expected some of left, right, got none"),
        ({"pelvis": "LeftLeg"}, "pelvis: 'LeftLeg' does not carry all legs, as 'Hips' does"),
        ({"frames": (5, 5)}, "frames: expected some among 0 to 241, got 5 to 5"),
        ({"earlier": samples.walk(seconds=3).clip}, "earlier: expected what was baked of this clip"),
        ({"frames": (-1, 5)}, "frames: expected some among 0 to 241, got -1 to 5"),
        ({"frames": (0, 242)}, "frames: expected some among 0 to 241, got 0 to 242"),
    ],
)
def test_what_is_not_there_is_refused(option: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ik.bake_feet(walk(), FLOOR, **option)


# --- clips of all kinds ----------------------------------------------------------------------------------------------


def standing() -> ik.Clip:
    plants = {side: [gaits.Plant(-1, 99, (x, 0, 0))] for side, x in gaits.ASIDE.items()}
    return gaits.gait(plants, 1, 60, gaits.above(0.8)).clip


@pytest.mark.parametrize("name", ["across", "uphill", "bumps"])
def test_one_frame_stands(name: str) -> None:
    """As a pose: both feet are on the ground, flat on it."""
    ground = GROUNDS[name]
    baked = ik.bake_feet(standing()[:1], ground, feet=feet()).clip
    assert len(baked) == 1
    for side in SIDES:
        gap = [
            at[0, 1] - ground.at(at[0], above=1, below=1).height
            for at in (soles(baked)[side, p] for p in ("heel", "ball"))
        ]
        assert min(np.abs(gap)) < 2e-3
        assert max(np.abs(gap)) < 5e-3 + 0.02 * (name == "bumps")


def test_one_frame_that_stands_is_left() -> None:
    assert same(ik.bake_feet(standing()[:1], FLOOR, feet=feet()).clip, standing()[:1])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", ["plane", "stairs", "uphill", "bumps"])
def test_what_is_baked_of_few_frames_is_left_by_the_next(name: str, count: int) -> None:
    """In any phase of a stride, though few frames show which feet stand, and their sole offsets."""
    ground = ik.Ground.plane(height=0.1) if name == "plane" else GROUNDS[name]
    for first in range(3, 240 - count, 9):
        baked = ik.bake_feet(walk()[first : first + count], ground).clip
        again = ik.bake_feet(baked, ground).clip
        assert apart(baked, again) < 1e-6, first
        assert np.abs(baked.pose.rotations - again.pose.rotations).max() < 1e-6, first


@pytest.mark.parametrize("first", [0, 7, 28, 63, 70, 126])
def test_a_pose_at_heel_strike_is_not_sunk_into_the_ground(first: int) -> None:
    """Its toes are low, but no sole is as thick as they are high."""
    pose = walk()[first : first + 1]
    baked = ik.bake_feet(pose, ik.Ground.plane(height=-0.3))
    before, after = (baked.feet.positions(pose.skeleton, clip.pose) for clip in (pose, baked.clip))
    lowest, now = (min(float(at[:, 1].min()) for at in places.values()) for places in (before, after))
    assert now + 0.3 == pytest.approx(lowest, abs=5e-3)


def test_contacts_of_other_soles_count_as_far_as_points_are_there() -> None:
    """A pose put on a steep slope has other soles there than on the level, of a foot on tiptoe without a heel."""
    ground, held = ik.Ground.plane([0, 1, -0.577]), dataclasses.replace(walk(), pose=walk().pose[np.full(30, 35)])
    baked = ik.bake_feet(held, ground).clip
    assert apart(ik.bake_feet(baked, ground).clip, baked) < 0.1


@pytest.mark.parametrize("frames", [slice(75, None), slice(0, 88), slice(75, 95)], ids=["begins", "ends", "all"])
def test_clips_that_begin_or_end_in_the_air(frames: slice) -> None:
    jump = gaits.jumping(ahead=1.0).clip[frames]
    assert same(ik.bake_feet(jump, FLOOR, feet=feet()).clip, jump)
    if not ik.Contacts.detect(jump, feet()).planted("left").any():
        return
    higher = ik.bake_feet(jump, FLOOR + box(0.2, (-9, 9)), feet=feet())
    np.testing.assert_allclose(higher.pelvis_offset, 0.2, atol=1e-9)
    assert apart(gaits.moved(jump, [0, 0.2, 0]), higher.clip) < 1e-9


def test_no_contact_at_all() -> None:
    """Nothing says where the body should be: it stays, and feet are lifted over what they would go through."""
    swims = ik.Contacts.detect(walk(), feet(), modes="never")
    for ground in (FLOOR, ik.Ground.plane(height=-0.3)):
        assert same(ik.bake_feet(walk(), ground, feet=feet(), contacts=swims).clip, walk())
    for ground in (ik.Ground.plane(height=0.1), FLOOR + box(0.15, (1.2, 3.2))):
        baked = ik.bake_feet(walk(), ground, feet=feet(), contacts=swims)
        points = [at for key, at in feet().positions(baked.clip.skeleton, baked.clip.pose).items() if key[1] != "toe"]
        lowest = min(float((at[:, 1] - ground.at(at, above=1.0, below=1.0).height).min()) for at in points)
        assert (lowest > -0.005, baked.stances) == (True, 0)


def test_a_treadmill_is_left() -> None:
    """Feet and body of an in-place clip that got root motion are those of one that walked."""
    clip = gaits.moved(walk(), np.arange(241)[:, np.newaxis] / 60 * [0, 0, -1.3])
    contacts = ik.Contacts.detect(clip, feet())
    travels = ik.prepare.add_root_motion(clip, contacts)
    baked = ik.bake_feet(travels, FLOOR, feet=feet(), contacts=contacts.at_rest())
    assert apart(baked.clip, walk()) < 0.02
    np.testing.assert_allclose(translations(baked.clip)[-1, 0, 2] - translations(baked.clip)[0, 0, 2], 5.2, atol=0.05)
    assert apart(baked.clip, baked.source) < 0.01


def movements() -> dict[str, ik.Ground]:
    times = np.arange(241) / 60
    about = ik.rotations.from_axis_angle
    swings = 0.1 * np.sin(2 * times)
    return {
        "lift": FLOOR.moved(translations=np.stack([0 * times, 0.2 * np.sin(times), 0 * times], axis=1)),
        "belt": FLOOR.moved(translations=np.stack([0.1 * times, 0 * times, 0 * times], axis=1)),
        "turntable": FLOOR.moved(rotations=about([0, 1, 0], 0.3 * times)),
        "ship": FLOOR.moved(
            rotations=about([0, 0, 1], swings), translations=np.stack([0 * times, swings, swings], axis=1)
        ),
    }


@pytest.mark.parametrize("name", ["lift", "belt", "turntable", "ship"])
def test_planted_points_ride_with_the_ground(name: str) -> None:
    ground = movements()[name]
    contacts = ik.Contacts.detect(walk(), feet())
    baked = ik.bake_feet(walk(), ground, feet=feet(), contacts=contacts).clip
    for side in SIDES:
        here = ground.parts[0].local(soles(baked)[side, "ball"])
        for stance in stances(walk(), side):
            assert np.ptp(here[stance], axis=0).max() < 1e-3
            np.testing.assert_allclose(here[stance, 1], 0, atol=2e-3)


def test_who_was_put_on_a_lift_is_left_on_it() -> None:
    """Feet stand exactly along the ground, whatever that rises."""
    once = ik.bake_feet(walk(), movements()["lift"]).clip
    assert same(ik.bake_feet(once, movements()["lift"]).clip, once)


@pytest.mark.parametrize("name", GROUNDS)
def test_the_axis_and_the_unit_make_no_difference(name: str) -> None:
    turn = ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    metres = ik.bake_feet(walk(), GROUNDS[name]).clip
    for up, unit in (("Z", 1.0), ("Y", 0.01), ("Z", 0.0254)):
        turned = GROUNDS[name].moved(rotations=turn if up == "Z" else None, scales=1 / unit)
        ground = ik.Ground(turned.parts, "z" if up == "Z" else "y")
        there = ik.bake_feet(walk().convert(up=up, unit=unit), ground).clip
        assert apart(there.convert(up="Y", unit=1), metres) < 1e-9


def test_floats_come_to_the_same() -> None:
    pose = ik.Pose(walk().pose.rotations.astype(np.float32), translations(walk()).astype(np.float32))
    baked = ik.bake_feet(dataclasses.replace(walk(), pose=pose), bumps(), feet=feet()).clip
    assert baked.pose.rotations.dtype == translations(baked).dtype == np.float32
    assert apart(baked, ik.bake_feet(walk(), bumps(), feet=feet()).clip) < 1e-5


def test_far_from_the_origin_it_comes_to_the_same() -> None:
    """1000 km away, where a double has 1e-10 m."""
    away = np.array([1e6, -1e6, 1e6])
    contacts = ik.Contacts.detect(walk(), feet())
    there = ik.bake_feet(gaits.moved(walk(), away), bumps().moved(translations=away), feet=feet(), contacts=contacts)
    here = ik.bake_feet(walk(), bumps(), feet=feet(), contacts=contacts)
    assert apart(gaits.moved(there.clip, -away), here.clip) < 1e-3


def test_scaled_joints() -> None:
    """Legs of a giant, as long as others are by their bones: scales are the same after, feet stand."""
    scales = np.ones((241, len(walk().skeleton), 3))
    scales[:, walk().skeleton.index("Hips")] = [1.2, 1.5, 1.3]
    clip = dataclasses.replace(walk(), pose=ik.Pose(walk().pose.rotations, walk().pose.translations, scales))
    found = ik.Feet.detect(clip.skeleton, clip=clip)
    for ground in (FLOOR, ramp()):
        baked = ik.bake_feet(clip, ground, feet=found).clip
        assert baked.pose.scales is not None
        assert np.array_equal(baked.pose.scales, scales)
        assert np.isfinite(baked.pose.rotations).all()


def test_what_is_not_finite_is_refused() -> None:
    turned, moved = walk().pose.rotations.copy(), translations(walk()).copy()
    turned[7, 3, 1] = np.nan
    moved[9, 0, 1] = np.inf
    for pose, said in (
        (ik.Pose(turned, walk().pose.translations), "its rotations, first in frame 7"),
        (ik.Pose(walk().pose.rotations, moved), "its translations, first in frame 9"),
    ):
        with pytest.raises(ValueError, match=said):
            ik.bake_feet(dataclasses.replace(walk(), pose=pose), FLOOR)
    found = ik.Contacts.detect(walk())
    weights = {key: np.where(np.arange(len(each)) == 5, np.nan, each) for key, each in found.weights.items()}
    unknown = np.full_like(found.treadmill, np.nan)
    for contacts in (dataclasses.replace(found, weights=weights), dataclasses.replace(found, treadmill=unknown)):
        with pytest.raises(ValueError, match="contacts: expected finite"):
            ik.bake_feet(walk(), FLOOR, contacts=contacts)


def test_ground_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="ground: expected Y up as in the clip, got Z"):
        ik.bake_feet(walk(), ik.Ground.plane(up="z"))
    with pytest.raises(ValueError, match="ground: expected something to stand on"):
        ik.bake_feet(walk(), ik.Ground(()))
    with pytest.raises(ValueError, match="240 frames"):
        ik.bake_feet(walk(), FLOOR.moved(translations=np.zeros((240, 3))))
    wrong: Any = "stairs.obj"
    with pytest.raises(TypeError, match="ground: expected a Ground, got str"):
        ik.bake_feet(walk(), wrong)


# --- progress --------------------------------------------------------------------------------------------------------


def test_progress_ascends_to_one() -> None:
    seen: list[float] = []
    ik.bake_feet(walk(), ramp(), progress=seen.append)
    assert len(seen) > 3
    assert seen == sorted(set(seen))
    assert seen[0] >= 0
    assert seen[-1] == 1


def test_progress_is_told_stance_by_stance() -> None:
    """A long bake stops at its next progress report."""
    seen: list[float] = []
    baked = ik.bake_feet(samples.walk(30).clip, ramp(), progress=seen.append)
    assert len(seen) > baked.stances > 50
    assert np.diff(seen).max() < 0.21


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 7, 12])
def test_progress_may_stop_it(calls: int) -> None:
    clip, seen = sliding(walk(), 0.05), 0
    before = clip.pose.rotations.tobytes(), translations(clip).tobytes()

    def stop(share: float) -> None:
        nonlocal seen
        seen += 1
        if seen == calls:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ik.bake_feet(clip, ramp(), progress=stop)
    assert seen == calls
    assert (clip.pose.rotations.tobytes(), translations(clip).tobytes()) == before


# --- clips of other makers -------------------------------------------------------------------------------------------

MOCAP = Path(os.environ.get("IKCORE_MOCAP", "none"))
CLIPS = sorted(MOCAP.glob("*.bvh")) + sorted(MOCAP.glob("*.glb")) + sorted(MOCAP.glob("*.gltf"))


def real() -> list[tuple[str, ik.Clip]]:
    return [(name, clip[:600] if len(clip) > 600 else clip) for name, clip in clips.clips(MOCAP)]


@pytest.mark.skipif(not CLIPS, reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize("ground", ["floor", "across", "uphill", "bumps"])
def test_real_clips_change_where_they_may(ground: str) -> None:
    """Legs turn and one joint is moved; everything is finite, feet and bones keep their lengths, loops are loops."""
    for name, clip in real():
        assert clip.up == "Y"
        chosen = FLOOR if ground == "floor" else GROUNDS[ground]
        baked = ik.bake_feet(clip, chosen)
        assert np.isfinite(positions(baked.clip)).all(), name
        assert np.isfinite(baked.pelvis_offset).all(), name
        assert not any(np.isnan(short).any() for short in baked.shortfall.values()), name
        legs = {joint for leg in baked.feet for joint in (*leg.chain, leg.ball)}
        turned = (baked.clip.pose.rotations != baked.source.pose.rotations).any(axis=(0, 2))
        moved = (translations(baked.clip) != translations(baked.source)).any(axis=(0, 2))
        roots = baked.source.skeleton.parents < 0
        others = {joint for joint, on in zip(clip.skeleton.names, turned, strict=True) if on} - legs
        assert len(others) <= (len(baked.feet) > 2), (name, others)
        assert np.count_nonzero(moved & ~roots) <= 1, name
        if clip.loop and np.array_equal(clip.pose.rotations[0], clip.pose.rotations[-1]):
            assert np.array_equal(baked.clip.pose.rotations[0], baked.clip.pose.rotations[-1]), name


@pytest.mark.skipif(not CLIPS, reason="IKCORE_MOCAP names no folder of clips")
def test_real_clips_come_to_the_same_with_threads() -> None:
    for name, clip in real()[::5]:
        assert same(ik.bake_feet(clip, bumps()).clip, ik.bake_feet(clip, bumps(), workers=3).clip), name


def test_level_ground_elsewhere_moves_all_of_it() -> None:
    for height in (-0.4, 0.1):
        baked = ik.bake_feet(walk(), ik.Ground.plane(height=height), feet=feet()).clip
        assert apart(baked, gaits.moved(walk(), [0, height, 0])) < 1e-9


@pytest.mark.parametrize("frame", [20, 30, 45])
def test_a_pose_that_is_held_shows_no_soles(frame: int) -> None:
    """It may be of a foot in the air: soles are those of the rest pose, which stands."""
    pose = walk().pose[[frame] * 60]
    held = ik.Clip(walk().skeleton, pose, walk().fps)
    assert apart(ik.bake_feet(held, FLOOR).clip, ik.bake_feet(held, FLOOR, feet=feet()).clip) < 1e-9


@pytest.mark.parametrize("wrong", [lambda clip: sliding(clip, 0.05), lambda clip: gaits.shaken(clip, 0.001)])
@pytest.mark.parametrize("height", [-0.07, 0.2])
def test_what_was_put_on_level_ground_elsewhere_is_left_though_its_soles_are_known_no_more(
    height: float, wrong: Callable[[ik.Clip], ik.Clip]
) -> None:
    """They were by its own floor, which was at height 0; its rest pose does not stand."""
    bones, ground = walk().skeleton, ik.Ground.plane(height=height)
    offsets = np.where(np.arange(len(bones))[:, np.newaxis], bones.offsets, 0)
    sitting = ik.Skeleton(bones.parents, offsets, names=bones.names)
    clip = dataclasses.replace(wrong(gaits.moved(walk(), [0, 0.02, 0])), skeleton=sitting)
    once = ik.bake_feet(clip, ground).clip
    assert apart(ik.bake_feet(once, ground).clip, once) < 1e-5
    bare = ik.Feet(tuple(dataclasses.replace(leg, soles={}) for leg in ik.Feet.detect(sitting)))
    assert apart(ik.bake_feet(once, ground, feet=bare.with_soles(once)).clip, once) < 1e-5


def stairs_at(height: float, rise: float = 0.15) -> ik.Ground:
    return terrain.stairs(20, rise=rise, run=0.35, width=4, landing=10).moved(translations=[0, height, 1.2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (stairs_at(0.0), stairs_at(0.05)),
        (stairs_at(0.0), stairs_at(0.2)),
        (stairs_at(0.0), stairs_at(-0.2)),
        (FLOOR + stairs_at(0.0), FLOOR + stairs_at(0.05)),
        (stairs_at(0.0), stairs_at(0.0, rise=0.17)),
        (ik.Ground.plane([0, 1, -0.2]), ik.Ground.plane([0, 1, -0.2], 0.05)),
        (ik.Ground.plane([0, 1, -0.2]), ik.Ground.plane([0, 1, -0.25])),
    ],
)
def test_feet_that_were_put_on_ground_that_has_changed_since_are_put_there(before: ik.Ground, after: ik.Ground) -> None:
    """Neither in it nor over it by more than soles may be thick: provenance of other ground says nothing of this."""
    once = ik.bake_feet(walk(), before)
    baked = ik.bake_feet(once.clip, after)
    at = feet().positions(baked.clip.skeleton, baked.clip.pose)
    for leg in ("left", "right"):
        middles = [(start + stop) // 2 for start, stop in once.contacts.intervals(leg, "ball").tolist()]
        sole = np.stack([at[leg, point][middles] for point in ("heel", "ball", "toe")])
        above = sole[..., 1] - after.at(sole, above=0.5, below=1.0).height
        assert np.abs(above.min(axis=0)).max() < SOLE_UNCERTAINTY


def test_feet_that_stand_on_their_own_floor_stand_on_a_plane_little_lower() -> None:
    baked = ik.bake_feet(walk(), ik.Ground.plane(height=-0.025), feet=feet())
    np.testing.assert_allclose(baked.pelvis_offset, -0.025, atol=1e-9)


def test_ground_elsewhere_is_said() -> None:
    away = ik.Ground.heights(np.zeros((2, 2)), 1.0, [1000, 0, 0])
    with pytest.raises(ValueError, match="none under any foot"):
        ik.bake_feet(walk(), away, feet=feet())


def test_a_loop_that_stands_for_longer_than_a_round_stands_on_the_slope() -> None:
    clip = dataclasses.replace(standing(), loop=True)
    soles_at = soles(ik.bake_feet(clip, ACROSS, feet=feet()).clip)["left", "ball"]
    height = ACROSS.at(soles_at, above=1, below=1).height
    np.testing.assert_allclose(soles_at[:, 1], height, atol=2e-3)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_loops(count: int) -> None:
    clip = dataclasses.replace(standing()[:count], loop=True)
    baked = ik.bake_feet(clip, ACROSS, feet=feet()).clip
    assert np.array_equal(baked.pose.rotations[0], baked.pose.rotations[-1])


# --- anything --------------------------------------------------------------------------------------------------------


def rough(random: np.random.Generator) -> ik.Ground:
    """Planes, stairs, bumps, noise, boxes, ends of the ground and a soup of triangles."""
    soup = random.normal(size=(60, 3)) * [2, 0.3, 3], random.integers(0, 60, (100, 3))
    steps = terrain.stairs(8, rise=random.uniform(-0.3, 0.3), run=random.uniform(0.2, 0.5), width=4, landing=3)
    near, far = np.sort(random.uniform(0, 3, 2))
    grounds = (
        ik.Ground.plane([random.normal() * 0.3, 1, random.normal() * 0.3], random.normal() * 0.1),
        steps.moved(translations=[0, 0, random.uniform(0, 2)]),
        terrain.bumps(random.uniform(0, 0.3), spacing=random.uniform(0.2, 2), count=6),
        ik.Ground.heights(random.normal(size=(30, 30)) * 0.1, 0.3, [-4, 0, -3]),
        FLOOR + box(random.uniform(0.05, 0.6), (near, far)),
        box(random.uniform(-0.5, 0.5), (-1, near)),
        ik.Ground.mesh(*soup),
    )
    return grounds[random.integers(len(grounds))]


@pytest.mark.parametrize("seed", range(60))
def test_whatever_comes_is_baked(seed: int) -> None:
    """Poses are finite, bones as long as they were and legs no longer than they are; nothing warns."""
    random = np.random.default_rng(seed)
    makers = (samples.walk, gaits.running, gaits.turning, gaits.jumping, gaits.strafing)
    clip = makers[seed % 5](fps=float(random.choice([5, 12, 30, 60]))).clip
    if random.random() < 0.5:
        start = int(random.integers(len(clip)))
        clip = clip[start : start + int(random.integers(1, 50))]
    clip = sliding(clip, random.normal() * 0.3)
    if random.random() < 0.2:
        turned = clip.pose.rotations[[*range(len(clip) - 1), 0]]
        clip = dataclasses.replace(clip, pose=ik.Pose(turned, clip.pose.translations), loop=True)
    extremes = ik.BakeSettings(
        blend=float(random.choice([0, 0.05, 10])),
        tolerance=float(random.choice([0, 1])),
        unlock=float(random.choice([0.01, 1e9])),
        clearance=float(random.choice([0, 1])),
        straight=float(random.choice([0.5, 1])),
        toe=float(random.choice([0, 90])),
        lift=None if random.choice([0, 1]) else 0.0,
        drop=float(random.choice([0, 0.1])),
        shift=float(random.choice([0, 1])),
        tilt=float(random.choice([0, 1])),
    )
    for settings in (None, extremes):
        try:
            baked = ik.bake_feet(clip, rough(random), feet=feet(), settings=settings)
        except ValueError as error:
            assert "none under any foot" in str(error)  # noqa: PT017 - a clip may be all beyond the ground
            continue
        assert np.isfinite(positions(baked.clip)).all()
        assert np.isfinite(baked.pelvis_offset).all()
        for side in ("Left", "Right"):
            hip, knee, ankle = (positions(baked.clip, side + joint) for joint in ("UpLeg", "Leg", "Foot"))
            np.testing.assert_allclose(np.sqrt(((knee - hip) ** 2).sum(axis=1)), 0.43, atol=1e-6)
            np.testing.assert_allclose(np.sqrt(((ankle - knee) ** 2).sum(axis=1)), 0.42, atol=1e-6)


# --- long clips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [ik.BakeSettings(), ik.BakeSettings(tilt=1.0)])
@pytest.mark.parametrize("frames", [None, (40, 150)])
def test_a_long_clip_is_baked_in_pieces_to_the_same_bits(
    settings: ik.BakeSettings, frames: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ik.bake_feet(walk(), ramp(), settings=settings, frames=frames)
    monkeypatch.setattr(intervals, "_BLOCK", 31)
    pieces = ik.bake_feet(walk(), ramp(), settings=settings, frames=frames)
    assert_array_equal(pieces.clip.pose.rotations, whole.clip.pose.rotations)
    assert_array_equal(pieces.clip.pose.translations, whole.clip.pose.translations)
    assert_array_equal(pieces.pelvis_offset, whole.pelvis_offset)
    assert pieces.notes == whole.notes


def test_a_long_clip_takes_little_more_memory_than_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "_BLOCK", 100)
    clip = ik.samples.walk(seconds=160).clip
    pose = clip.pose
    ik.bake_feet(walk(), ramp())  # what is imported and kept
    tracemalloc.start()
    try:
        ik.bake_feet(clip, ramp())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert pose.translations is not None
    assert most < 1.25 * (pose.rotations.nbytes + pose.translations.nbytes)
