"""What a bake has made is known on the ground it was made on, by what captured motion never is, and is left there."""

from __future__ import annotations

import dataclasses
import functools
import tracemalloc

import gaits
import numpy as np
import pytest

import ikcore as ik
from ikcore import samples, terrain
from ikcore.bake import floors
from ikcore.bake.made import Exact, Seen, _alike, exact_of, hangs, made_there
from ikcore.bake.motion import legs_of
from ikcore.bake.scene import Scene

UPHILL, ASLANT = ik.Ground.plane([0, 1, -0.15]), ik.Ground.plane([-0.1, 1, 0.06])


@functools.cache
def walk() -> ik.Clip:
    return samples.walk(seconds=4).clip


@functools.cache
def feet() -> ik.Feet:
    return ik.Feet.detect(walk().skeleton, clip=walk())


def stairs() -> ik.Ground:
    return terrain.stairs(14, rise=0.12, run=0.4, width=6, landing=6).moved(translations=[0, 0, 0.5])


def bumps() -> ik.Ground:
    x, z = np.meshgrid(*[np.arange(-6, 6, 0.05)] * 2, indexing="ij")
    return ik.Ground.heights(0.006 * np.sin(3 * x + 1) * np.sin(2 * z), 0.05, [-6, 0, -6])


GROUNDS = {"uphill": UPHILL, "aslant": ASLANT, "stairs": stairs(), "bumps": bumps()}


def slid(clip: ik.Clip) -> ik.Clip:
    """Feet that slide are put."""
    return gaits.moved(clip, np.arange(len(clip))[:, np.newaxis] / clip.fps * [0, 0, 0.05])


@functools.cache
def baked(name: str) -> ik.Clip:
    return ik.bake_feet(slid(walk()), GROUNDS[name], feet=feet()).clip


def alike(clip: ik.Clip, ground: ik.Ground) -> int:
    """In how many stays feet are as high above a ground as in another."""
    found = exact_of(legs_of(clip, feet()), ground, clip.fps, 1)
    return sum(len(foot.alike) for foot in found)


@pytest.mark.parametrize("name", GROUNDS)
def test_feet_stand_as_high_to_the_last_digits_above_the_ground_they_were_put_on(name: str) -> None:
    """And above no other; nor do those of a clip that stands exactly on a level, or of one that slides."""
    assert alike(baked(name), GROUNDS[name]) >= 2
    others = [ground for other, ground in GROUNDS.items() if other != name]
    assert [alike(baked(name), ground) for ground in others] == [0, 0, 0]
    assert alike(walk(), GROUNDS[name]) == alike(slid(walk()), GROUNDS[name]) == 0


def test_two_of_many_stays_are_alike_by_chance() -> None:
    """Of 3,000 stays of frames that are held, in little memory; but not a half of them, nor all of few."""
    random = np.random.default_rng(1)
    height, above = random.uniform(0, 0.5, 9000), np.repeat(random.uniform(0, 0.02, (3000, 2)), 3, axis=0)
    stays = [slice(start, start + 3) for start in range(0, 9000, 3)]
    tracemalloc.start()
    assert not _alike(height, above, stays)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    above[:4500, 1] = 0.01
    assert len(_alike(height, above, stays)) == 1500
    assert not _alike(np.ones(9000), above, stays)  # at one level
    assert _alike(height[:12], above[:12], stays[:4]) == [0.01] * 4
    above[:, 1] = np.inf  # over no ground
    assert _alike(height, above, stays) == _alike(height, above, []) == []


@pytest.mark.parametrize(
    ("over", "even", "off"),
    [([], False, True), ([0.01, 0.01], False, False), ([0.01, 0.01], True, True), ([0.06, 0.06], False, True)],
)
def test_who_was_put_somewhere_may_be_over_an_edge_elsewhere(over: list[float], even: bool, off: bool) -> None:
    """Its stays that are as high to the last digits say how high, not the lowest points of soles that are over one."""
    low, none, flat = np.full(9, 0.07), np.zeros(9), np.full(9, even)
    foot = Exact(low, none, 0.0, none, [slice(0, 9)], over, flat)
    other = Exact(low, none, 0.0, none, [slice(0, 9)], [], flat)
    assert hangs([foot, other]) == off


def rises_of(rises: list[float]) -> ik.Ground:
    """Stairs whose treads, .4 m deep, are each so much higher than the one before."""
    heights = np.concatenate([[0.0], np.cumsum(rises)])
    edges = np.concatenate([[-6.0], 0.5 + 0.4 * np.arange(len(rises)), [20.0]])
    ways = [(edge, height) for at, height in enumerate(heights) for edge in edges[at : at + 2]]
    corners = [(side, height, edge) for edge, height in ways for side in (-3.0, 3.0)]
    quads = range(0, 2 * len(ways) - 2, 2)
    return ik.Ground.mesh(corners, [face for at in quads for face in ((at, at + 2, at + 1), (at + 1, at + 2, at + 3))])


@pytest.mark.parametrize("by", [0.035, 0.05, 0.1, -0.035, -0.05, -0.1])
@pytest.mark.parametrize("treads", [[10], [3, 9]], ids=["all from one on", "two of them"])
def test_treads_that_were_moved_have_feet_put_on_them(treads: list[int], by: float) -> None:
    """Though most of what was put on the others is there still, to the last digits."""
    walk = samples.walk(seconds=6).clip
    feet = ik.Feet.detect(walk.skeleton, clip=walk)
    rises = [0.12] * 14
    once = ik.bake_feet(walk, rises_of(rises), feet=feet).clip
    for tread in treads:
        rises[tread] += by
        if len(treads) > 1:
            rises[tread + 1] -= by
    moved = rises_of(rises)
    again = ik.bake_feet(once, moved, feet=feet).clip
    there = exact_of(legs_of(again, feet), moved, again.fps, 1)
    assert max(abs(low) for foot in there for low in foot.lasting) < 1e-3


@pytest.mark.parametrize(("rise", "run", "ahead", "count"), [(0.12, 0.4, 0.0, 60), (0.17, 0.3, 0.1, 35)])
def test_pieces_on_stairs_are_left_where_soles_are_over_edges(
    rise: float, run: float, ahead: float, count: int
) -> None:
    """A foot is as far off as in the middle of where it is flat, wherever else it turns about its heel."""
    ground = terrain.stairs(14, rise=rise, run=run, width=6, landing=6).moved(translations=[0, 0, ahead])
    once = ik.bake_feet(samples.walk(seconds=6).clip[77 : 77 + count], ground).clip
    again = ik.bake_feet(once, ground).clip
    np.testing.assert_array_equal(again.pose.rotations, once.pose.rotations)


def test_soles_are_measured_on_a_steep_ground_though_joints_say_what_was_put_there() -> None:
    """By soles of their own floor feet seem to be in it, and what swings to be deep in the way."""
    steep = ik.Ground.plane([0, 1, 0.42])
    once = ik.bake_feet(slid(walk())[:120], steep).clip
    again = ik.bake_feet(once, steep).clip
    np.testing.assert_array_equal(again.pose.rotations, once.pose.rotations)


def test_frames_that_are_held_do_not_stand() -> None:
    """Neither on a ground nor long: each is in its own place for a moment."""
    held = ik.Clip(walk().skeleton, walk().pose[np.repeat(np.arange(0, len(walk()), 3), 3)], walk().fps)
    assert [alike(held, ground) for ground in GROUNDS.values()] == [0, 0, 0, 0]


@pytest.mark.parametrize("hold", [2, 3, 5])
@pytest.mark.parametrize("name", ["uphill", "bumps"])
def test_poses_that_are_held_in_turn_are_baked_as_what_goes_on_is(name: str, hold: int) -> None:
    """Feet that swing stand in no place, though they are still for some frames; and what was made of that stays."""
    held = dataclasses.replace(walk(), pose=walk().pose[np.arange(len(walk())) // hold * hold])
    first = ik.bake_feet(held, GROUNDS[name])
    assert first.notes == ()
    assert max(float(short.max()) for short in first.short.values()) < 0.001
    usual = ik.bake_feet(walk(), GROUNDS[name])
    moved, expected = (each.clip.skeleton.forward(each.clip.pose).positions for each in (first, usual))
    assert np.abs(moved[::hold] - expected[::hold]).max() < 0.12
    again = ik.bake_feet(first.clip, GROUNDS[name]).clip
    np.testing.assert_allclose(again.skeleton.forward(again.pose).positions, moved, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", GROUNDS)
def test_what_soles_are_thought_to_be_does_not_matter_to_that(name: str) -> None:
    """They turn with the foot, and it turns about the joint where its toes bend."""
    legs = feet()
    for side in ("left", "right"):
        soles = {}
        for at, sole in legs[side].soles.items():
            x, y, z = sole.offset
            soles[at] = sole._replace(offset=(x, y - 0.01, z + 0.02))
        legs = legs.replace(side, soles=soles)
    found = exact_of(legs_of(baked(name), legs), GROUNDS[name], walk().fps, 1)
    assert any(foot.alike for foot in found)


def test_soles_that_are_measured_on_a_ground_say_nothing_if_joints_are_more_alike_on_a_level() -> None:
    legs = legs_of(baked("uphill"), feet())
    level: Seen = legs, []  # as of feet that do not stand exactly
    ground = GROUNDS["uphill"]
    assert made_there(level, level, 1.0, ground, walk().fps, 1)
    assert not made_there(level, level, 0.8, ground, walk().fps, 1)


@pytest.mark.parametrize(("kept", "thick"), [(True, 0.03), (False, 0.0)])
def test_feet_that_are_kept_stand_as_high_as_they_do(kept: bool, thick: float) -> None:
    """All of a sole; else what is farther off the ground than soles are floats."""
    clip = gaits.moved(walk(), [0, 0.03 * 0.85 / 0.87, 0])
    legs, contacts = legs_of(clip, feet()), ik.Contacts.detect(clip, feet())
    ground = ik.Ground.plane()
    scene = Scene(ground, clip.fps, 1, ik.BakeSettings(), 1, made=True, kept=kept)
    planted = [floors.planted_of(motion, contacts) for motion in legs]
    for motion, floor in zip(legs, floors.floors_of(legs, planted, contacts, scene), strict=True):
        for point in ("heel", "ball"):
            assert floor.thick[point] / motion.scale == pytest.approx(thick, abs=1e-3)


@pytest.mark.parametrize("first", [30, 64])
def test_what_swings_is_left_where_all_feet_stay_as_they_stand(first: int) -> None:
    """Over a step down, too, that the clip does not get to: there it would come down again in each bake."""
    piece = walk()[first : first + 24]
    found = feet().positions(piece.skeleton, piece.pose)
    toe = min(found[side, "toe"][-1, 2] for side in ("left", "right"))  # of the foot that stands
    ground = terrain.stairs(2, rise=-0.1, run=4, width=6, landing=12).moved(translations=[0, 0, toe - 0.06])
    baked = ik.bake_feet(piece, ground).clip
    before, after = (clip.skeleton.forward(clip.pose).positions for clip in (piece, baked))
    assert np.array_equal(before, after)
