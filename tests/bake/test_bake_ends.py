"""Ends of clips: feet that stand there, and feet that pass over ground before a contact and after."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import gaits
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import samples, terrain
from ikcore.command import demo
from ikcore.contacts import rules
from ikcore.feet import before_and_after, metrics, verdicts

Array = NDArray[Any]

SIDES = ("left", "right")
STEP = 0.16


@functools.cache
def walk() -> samples.Sample:
    return samples.walk(seconds=4)


@functools.cache
def feet() -> ik.Feet:
    return ik.Feet.detect(walk().clip.skeleton, clip=walk().clip)


def stairs(sign: int) -> ik.Ground:
    return terrain.stairs(14, rise=sign * STEP, run=0.35, width=6, landing=6).moved(translations=[0, 0, 0.5])


def cuts(clip: ik.Clip, step: int) -> list[tuple[ik.Clip, slice, int]]:
    """All of a stride: the clip, its frames, and which one of them is where it is cut."""
    count, stride = len(clip), range(0, 70, step)
    starts = [(clip[first:], slice(first, count), 0) for first in stride]
    return starts + [(clip[: count - less], slice(0, count - less), -1) for less in stride]


def lowest(clip: ik.Clip, side: str, ground: ik.Ground) -> Array:
    """How high the lowest point of a sole is above what is under it (frames,)."""
    found = feet().positions(clip.skeleton, clip.pose)
    at = np.stack([found[side, point] for point in ("heel", "ball", "toe")], axis=1)
    return np.asarray((at[..., 1] - ground.at(at, above=0.9, below=1.5).height).min(axis=1))


# --- contacts --------------------------------------------------------------------------------------------------------


def test_feet_that_stand_where_a_clip_is_cut_are_in_contact() -> None:
    """Wherever it is cut, down to the last frame of a stance."""
    gait = gaits.turning()
    bare = ik.Feet.detect(gaits.BODY)
    for clip, frames, at in cuts(gait.clip, 1):
        contacts = ik.Contacts.detect(clip, bare)
        for side in SIDES:
            assert contacts.planted(side)[at] >= gait.planted(side)[frames][at], (frames, at, side)


@pytest.mark.parametrize(
    ("stays", "enters", "held"),
    [
        ((0, 24), (15, 20), (0, 20)),  # short, and lingering: it was still before the clip began
        ((0, 24), (20, 24), (0, 24)),
        ((0, 60), (4, 60), (4, 60)),  # it arrives
        ((0, 8), (0, 0), (0, 8)),  # it leaves, and was still before
        ((0, 14), (0, 0), (0, 0)),  # it is not, for as long as a contact lasts
        ((0, 14), (6, 9), (0, 0)),  # slower for a few frames at toe-off
        ((30, 38), (30, 38), (0, 0)),
        ((30, 60), (30, 60), (30, 60)),
    ],
)
def test_what_the_end_of_a_clip_cuts_goes_on_beyond_it(
    stays: tuple[int, int], enters: tuple[int, int], held: tuple[int, int]
) -> None:
    """At 120 frames a second: a gap is 14.4 frames, the shortest contact 8. The same at either end."""
    clip = dataclasses.replace(walk().clip[:100], fps=120.0)
    masks = [np.isin(np.arange(100), np.arange(*each)) for each in (stays, enters, held)]
    for turned in (slice(None), slice(None, None, -1)):
        inner, most, wanted = (mask[turned] for mask in masks)
        np.testing.assert_array_equal(rules.clean_contacts(inner, most, clip), wanted)


# --- the ground under feet -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1], ids=["up", "down"])
def test_where_a_clip_is_cut_feet_are_as_far_above_the_ground_as_above_their_floor(sign: int) -> None:
    """But for an edge that they are about to clear or stand over: one step at most, and mostly nothing."""
    ground, floor, off = stairs(sign), ik.Ground.plane(), []
    for clip, _, at in cuts(walk().clip, 5):
        baked = ik.bake_feet(clip, ground, feet=feet()).clip
        off += [abs(lowest(baked, side, ground) - lowest(clip, side, floor))[at] for side in SIDES]
    assert max(off) < STEP + 0.01
    assert np.mean(off) < 0.035


@pytest.mark.parametrize("sign", [1, -1], ids=["up", "down"])
def test_a_foot_whose_contacts_are_all_missed_still_walks_the_stairs(sign: int) -> None:
    ground, clip = stairs(sign), walk().clip
    contacts = ik.Contacts.detect(clip, feet(), modes={"left": "never"})
    baked = ik.bake_feet(clip, ground, feet=feet(), contacts=contacts).clip
    stands = walk().planted("LeftBall") & walk().planted("LeftHeel")
    off = np.abs(lowest(baked, "left", ground))[stands]
    assert np.median(off) < 0.03
    assert off.max() < STEP


@pytest.mark.parametrize("first", range(1, 66, 3))
def test_a_clean_clip_is_left_to_the_bit_wherever_it_is_cut(first: int) -> None:
    for clip in (
        walk().clip[first:],
        walk().clip[:-first],
        gaits.walking().clip[first:],
        gaits.walking().clip[:-first],
    ):
        baked = ik.bake_feet(clip, ik.Ground.plane()).clip
        assert np.array_equal(baked.pose.rotations, clip.pose.rotations)
        assert baked.pose.translations is not None
        assert clip.pose.translations is not None
        assert np.array_equal(baked.pose.translations, clip.pose.translations)


def slid(first: int) -> tuple[ik.Clip, ik.Clip]:
    """A walk whose feet slide, as its root goes nine tenths of its way, from some frame on; and baked on its floor."""
    clip = gaits.walking().clip
    way = clip.skeleton.forward(clip.pose).positions[:, 0] * [0, 0, 1]
    clip = gaits.moved(clip, -0.1 * (way - way[0]))[first:]
    return clip, ik.bake_feet(clip, ik.Ground.plane()).clip


@pytest.mark.parametrize("first", range(0, 66, 3))
def test_however_short_a_swing_is_that_begins_a_clip_no_foot_jumps(first: int) -> None:
    """The offset of a foot changes as slowly as if the clip began elsewhere: no swing pins frames of another."""
    clip, baked = slid(first)
    ankle = [clip.skeleton.index(f"{side}Foot") for side in ("Left", "Right")]
    shift = np.diff([each.skeleton.forward(each.pose).positions[:, ankle] for each in (clip, baked)], axis=0)[0]
    assert np.abs(np.diff(shift, axis=0)).max() < 0.008


@pytest.mark.parametrize("length", [12, 40, 60])
@pytest.mark.parametrize("first", range(0, 180, 23))
def test_a_piece_that_was_baked_on_stairs_is_left_as_it_is(length: int, first: int) -> None:
    """Even a piece of one stance, which alone shows that it was planted."""
    ground = terrain.stairs(14, rise=STEP, run=0.35, width=6, landing=6).moved(translations=[0, -0.5, -1])
    once = ik.bake_feet(walk().clip[first : first + length], ground).clip
    twice = ik.bake_feet(once, ground).clip
    assert_array_equal(twice.pose.rotations, once.pose.rotations)
    assert_array_equal(twice.pose.translations, once.pose.translations)


@pytest.mark.parametrize("height", [0.0, 0.5])
@pytest.mark.parametrize("first", range(0, 180, 46))
def test_a_piece_that_was_baked_on_bumps_is_left_as_it_is(first: int, height: float) -> None:
    """Rigid feet are not even with ground that is curved; where one stands that is as high as the floor of the clip."""
    piece, ground = walk().clip[first : first + 30], terrain.bumps(0.03, spacing=0.7, count=24)
    at = piece.skeleton.forward(piece.pose).positions[15, piece.skeleton.index("LeftFoot")] + [0, 0, 0.1]
    there = ground.at(at[np.newaxis], above=5, below=5).height[0]
    ground = ground.moved(translations=[0, height - there, 0])
    once = ik.bake_feet(piece, ground).clip
    assert_array_equal(ik.bake_feet(once, ground).clip.pose.rotations, once.pose.rotations)


GROUNDS = {
    "up": terrain.ramp(6, 6 * 0.176, width=6, landing=6),
    "across": ik.Ground.plane([-0.17, 0.98, 0]),
    "down": terrain.stairs(14, rise=-0.1, run=0.35, width=6, landing=6),
}


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("first", [0, 6])
def test_a_piece_that_was_baked_where_the_ground_begins_to_rise_or_fall_is_left(first: int, name: str) -> None:
    """It stands once, about as high as clips do on their own floor: soles of a level fit that, as do those measured.

    But by those of a level it does not stand at height 0, or goes below that.
    """
    piece = walk().clip[first : first + 24]
    middle = piece.skeleton.forward(piece.pose).positions[:, 0].mean(axis=0)
    once = ik.bake_feet(gaits.moved(piece, -middle * [1, 0, 1]), GROUNDS[name]).clip
    twice = ik.bake_feet(once, GROUNDS[name]).clip
    assert_array_equal(twice.pose.rotations, once.pose.rotations)
    assert_array_equal(twice.pose.translations, once.pose.translations)


def test_a_foot_that_stands_exactly_for_a_while_stands_to_the_end_of_the_clip() -> None:
    """A foot that only shakes slightly does not swing on to the ground below it in the last frame."""
    piece, trace = walk().clip[64:100], np.zeros((36, 3))
    trace[16:, 0] = 2e-5 * (-1.0) ** np.arange(20)
    toe = feet().positions(piece.skeleton, piece.pose)["left", "toe"][20, 2]
    ground = terrain.stairs(2, rise=0.4, run=4, width=6, landing=6).moved(translations=[0, 0, toe - 0.02])
    baked = ik.bake_feet(gaits.moved(piece, trace), ground).clip
    assert np.ptp(feet().positions(baked.skeleton, baked.pose)["left", "ball"][12:, 1]) < 1e-4


def low_bumps(seed: int) -> ik.Ground:
    """Waves of many directions, 0.6 to 2 m long, 30 mm from the deepest to the highest."""
    random = np.random.default_rng(seed)
    x, z = np.meshgrid(*[np.arange(-6, 6, 0.05)] * 2, indexing="ij")
    heights = np.zeros_like(x)
    for length, way, begin in zip(random.uniform(0.6, 2, 12), *random.uniform(0, 6, (2, 12)), strict=True):
        heights += length * np.sin(2 * np.pi * (x * np.cos(way) + z * np.sin(way)) / length + begin)
    return ik.Ground.heights(0.03 * heights / np.ptp(heights), 0.05, [-6, 0, -6])


@pytest.mark.parametrize("lower", [0.1, -0.01])
def test_a_piece_on_one_level_is_put_on_stairs_though_it_stands_still(lower: float) -> None:
    """Over the step that its other foot goes to nobody has put it, nor where it stands off the ground."""
    once = gaits.moved(walk().clip[:40], np.array([0.0, 1.0, 0.0]))
    ground = terrain.stairs(4, rise=STEP, run=0.35, width=6, landing=6).moved(translations=[0, 1 - lower, 0.3])
    baked = ik.bake_feet(once, ground)
    assert max(float(np.abs(lowest(baked.clip, side, ground)).min()) for side in SIDES) < 1e-4


@pytest.mark.parametrize("fps", [24, 25, 48, 50, 90, 240])
def test_a_walk_takes_the_same_steps_sampled_at_another_rate(fps: float) -> None:
    """Feet that stood exactly do so in some frames only, with other frames between that are no steps."""
    ground = ik.Ground.plane() + terrain.stairs(8, rise=0.15, run=0.35).moved(translations=[0, 0, 1.2])
    sampled, wanted = (ik.bake_feet(clip, ground) for clip in (walk().clip.resample(fps), walk().clip))
    assert sampled.stances == wanted.stances == 9
    assert not any(note.startswith("strides") for note in sampled.notes)
    assert_array_equal(ik.bake_feet(sampled.clip, ground).clip.pose.rotations, sampled.clip.pose.rotations)


@pytest.mark.parametrize("sign", [1, -1], ids=["up", "down"])
@pytest.mark.parametrize("fps", [24, 25, 48, 100])
def test_a_piece_that_was_sampled_at_another_rate_is_left_once_it_was_baked(fps: float, sign: int) -> None:
    """Its feet slid less than the tolerance, so that they could be left; but planted feet stand exactly."""
    for first in (0, 20, 40):
        once = ik.bake_feet(walk().clip[first : first + 80].resample(fps), stairs(sign)).clip
        assert_array_equal(ik.bake_feet(once, stairs(sign)).clip.pose.rotations, once.pose.rotations)


# --- measures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [8, 20])
def test_a_swing_that_the_end_cuts_goes_on_beside_its_way(late: int) -> None:
    """In a walk whose path was scaled; except its height."""
    start, stop = (int(edge) for edge in ik.Contacts.detect(walk().clip).intervals("left", "ball")[2])
    assert start > 100
    way = 0.2 * np.arange(len(walk().clip))[:, np.newaxis] / walk().clip.fps
    clip = gaits.moved(walk().clip, way * [0, 0, 1])[: stop + late]
    baked = ik.bake_feet(clip, ik.Ground.plane(), feet=feet()).clip
    ankle = clip.skeleton.index(str(feet()["left"].ankle))
    ankles = [made.skeleton.forward(made.pose).positions[:, ankle] for made in (baked, clip)]
    beside = (ankles[0] - ankles[1])[:, [0, 2]]
    assert np.abs(beside[start]).max() > 0.02
    np.testing.assert_allclose(beside[stop:], np.tile(beside[stop - 1], (late, 1)), atol=1e-6)


@pytest.mark.parametrize(("shift", "said"), [(-0.404, "swings through the ground"), (0.284, "seems to stand")])
def test_measures_see_feet_that_stand_unseen(shift: float, said: str) -> None:
    """Contacts of the first second are missed, and in it the clip is far under the ground, or above it."""
    clip, plane = walk().clip, ik.Ground.plane()
    curves = {leg.name: np.arange(len(clip)) >= 60 for leg in feet()}
    contacts = ik.Contacts.detect(clip, feet())
    weights = {key: weight * curves[key[0]] for key, weight in contacts.weights.items()}
    missed = dataclasses.replace(contacts, weights=weights)
    wrong = gaits.moved(clip, np.where(np.arange(len(clip)) < 60, shift, 0.0)[:, np.newaxis] * [0, 1, 0])
    good, bad = before_and_after(clip, wrong, feet(), plane, missed)
    for side in SIDES:
        assert bad.measures[side].off_ground == pytest.approx(abs(shift), abs=0.01)
        assert bad.measures[side].penetration_swing == pytest.approx(max(-shift, 0), abs=0.01)
        assert verdicts.verdict("off_ground", bad.measures[side].off_ground) == "fair"
    found = {moment.what for moment in verdicts.moments(bad, good) if moment.start < 60}
    assert any(what.startswith(said) for what in found)
    good, same = before_and_after(clip, clip, feet(), plane, missed)
    assert same.measures["left"].off_ground == pytest.approx(0, abs=1e-9)
    assert np.isnan(good.measures["left"].off_ground)


def test_a_foot_rests_that_is_low_and_slow() -> None:
    at = np.array([0, 0, 0.02, 0.04, 0.04])[:, np.newaxis, np.newaxis] * [1.0, 0, 0]
    heights = [[0.0], [0.2], [0.0], [0.0], [np.nan]]
    np.testing.assert_array_equal(metrics.rests(at, heights, fps=30), [True, False, False, True, False])
    assert metrics.rests(at[:1], heights[:1], fps=30).tolist() == [True]


@pytest.mark.parametrize("fps", [10, 30, 60, 120])
def test_a_stay_is_unseen_that_is_long_enough_and_away_from_what_is_known(fps: int) -> None:
    """0.2 s about contacts that are known a foot arrives and leaves; what is shorter than 0.1 s is no contact."""
    tenth = fps // 10
    points, heights = np.zeros((30 * tenth, 1, 3)), np.full((30 * tenth, 1), 0.2)
    for start, stop in [(2, 12), (15, 16), (20, 30)]:
        heights[start * tenth : stop * tenth] = 0
    heights[18 * tenth : 19 * tenth - 1] = 0  # a frame too short
    known = np.zeros(len(points), bool)
    known[5 * tenth : 7 * tenth] = True
    stays = metrics.runs(metrics.undetected_contacts(points, heights, known, fps=fps))
    assert (stays / tenth).tolist() == [[2, 3], [9, 12], [15, 16], [20, 30]]
    assert not metrics.undetected_contacts(points, heights, np.ones(len(points), bool), fps=fps).any()


GAITS = [gaits.walking, gaits.running, gaits.strafing, gaits.turning, gaits.climbing, gaits.jumping]


@pytest.mark.parametrize(
    "clip",
    [demo.walk, *(lambda made=made: made().clip for made in GAITS)],
    ids=["demo", *(made.__name__ for made in GAITS)],
)
@pytest.mark.parametrize("ground", [demo.stairs(), terrain.bumps(0.1, spacing=1.5, count=12)], ids=["stairs", "bumps"])
def test_no_foot_stands_unseen_whose_contacts_are_known(clip: Callable[[], ik.Clip], ground: ik.Ground) -> None:
    """As they arrive and leave, feet are low and slow, too, and over steps off the ground: no contact is missed."""
    before, after = ik.bake_feet(clip(), ground).measured()
    for each in after.measures.values():
        assert each.off_ground < 0.03
    assert not [moment for moment in verdicts.moments(after, before) if moment.what.startswith("seems to stand")]


@pytest.mark.parametrize(
    "frames", [np.r_[0:90, np.full(120, 90)], np.r_[np.full(120, 210), 210:361]], ids=["end", "start"]
)
def test_a_pose_held_in_mid_stride_on_stairs_stands_on_them(frames: NDArray[np.intp]) -> None:
    """Nobody takes it for one that was made there: soles as thick as that fit any ground."""
    walk = ik.samples.walk(seconds=6).clip
    held = dataclasses.replace(walk, pose=walk.pose[frames])
    stairs = ik.Ground.plane() + ik.terrain.stairs(40, rise=0.12, run=0.4).moved(translations=[0, 0, 0.6])
    baked = ik.bake_feet(held, stairs)
    for (_, point), places in baked.feet.positions(held.skeleton, baked.clip.pose).items():
        if point in ("heel", "ball"):
            assert (places[:, 1] - stairs.at(places, above=5, below=5).height).min() > -0.05


@pytest.mark.parametrize("high", [0.026, 0.032])
def test_a_foot_that_swings_into_a_bump_deeper_than_into_its_own_floor_was_not_put_on_it(high: float) -> None:
    """It stands exactly on a step too, where the ground is level."""
    clip = walk().clip[32:66]
    at = feet().positions(clip.skeleton, clip.pose)["left", "ball"][17]
    z, x = np.meshgrid(np.arange(-2, 4, 0.02), np.arange(-2, 2, 0.02), indexing="ij")
    bump = high * np.exp(-(((z - at[2]) / 0.1) ** 2) - ((x - at[0] - 0.02) / 0.04) ** 2)
    ground = ik.Ground.heights(bump, 0.02, [-2, 0, -2])
    assert -0.02 < lowest(clip, "left", ground).min() < -0.008
    baked = ik.bake_feet(clip, ground).clip
    assert lowest(baked, "left", ground).min() > -0.001
    again = ik.bake_feet(baked, ground).clip
    assert_array_equal(again.pose.rotations, baked.pose.rotations)


@pytest.mark.parametrize("end", [0, -1])
def test_a_foot_goes_on_rising_where_the_clip_cuts_its_swing(end: int) -> None:
    """It does not stop short in the last frame, nor start late: it rises there as it does beside."""
    found = 0
    for clip, _, where in cuts(walk().clip, 3):
        if where != end:
            continue
        baked = ik.bake_feet(clip, stairs(1)).clip
        before, after = (each.skeleton.forward(each.pose).positions for each in (clip, baked))
        for side in SIDES:
            ankle = clip.skeleton.index(str(feet()[side].ankle))
            rises = np.diff(after[:, ankle, 1] - before[:, ankle, 1])
            last, inner = (rises[-1], rises[-3:-1]) if end else (rises[0], rises[1:3])
            if (inner > 0.02).all():  # metres per frame: the foot climbs a step
                assert 0.4 < last / inner[-1 if end else 0] < 1.6
                found += 1
    assert found > 5
