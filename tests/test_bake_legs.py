"""The bake of bodies with more than two legs, hind legs of three bones, and legs without ankles."""

from __future__ import annotations

import numpy as np
import pytest
from test_bake import box, positions, same
from test_feet import body, fox, spider

import ikcore as ik


def standing(kind: str) -> tuple[ik.Clip, ik.Feet]:
    """Half a second of it, in metres."""
    places = {"fox": lambda: fox(named=True)[0], "spider": lambda: spider(tips=True), "no tips": lambda: spider(False)}
    skeleton = body(places[kind]())
    turned, moved = (np.repeat(part[np.newaxis], 31, axis=0) for part in (skeleton.rest.rotations, skeleton.offsets))
    clip = ik.Clip(skeleton, ik.Pose(turned, moved), 60, unit=0.01 if kind == "fox" else 1.0)
    clip = clip.convert(unit=1)
    return clip, ik.Feet.detect(clip.skeleton)


def off(baked: ik.Clip, clip: ik.Clip, feet: ik.Feet, ground: ik.Ground) -> float:
    """How much higher or lower above the ground any foot is than it is above the floor in the clip, at height 0."""
    now, was = (feet.positions(c.skeleton, c.pose) for c in (baked, clip))
    found = [now[key][15, 1] - ground.at(now[key][15], above=1, below=1).height - was[key][15, 1] for key in now]
    return float(np.abs(found).max())


KINDS = ("fox", "spider", "no tips")


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_on_a_floor_is_left(kind: str) -> None:
    clip, feet = standing(kind)
    assert same(ik.bake_feet(clip, ik.Ground.plane(), feet=feet).clip, clip)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slope", [(0.0, 0.2), (0.0, -0.2), (0.2, 0.0)], ids=["up", "down", "across"])
def test_all_feet_stand_on_a_slope(kind: str, slope: tuple[float, float]) -> None:
    """And the body leans with it, most of the way; not at all if that is not wanted."""
    clip, feet = standing(kind)
    ground = ik.Ground.plane([-slope[0], 1, -slope[1]])
    baked = ik.bake_feet(clip, ground, feet=feet)
    assert off(baked.clip, clip, feet, ground) < 0.003
    for joint in (joint for leg in feet for joint in leg.chain[1:]):
        at, parent = clip.skeleton.index(joint), int(clip.skeleton.parents[clip.skeleton.index(joint)])
        now, was = (np.sqrt(((positions(c)[15, at] - positions(c)[15, parent]) ** 2).sum()) for c in (baked.clip, clip))
        assert now == pytest.approx(was, abs=1e-9)
    pelvis = int(np.flatnonzero((baked.clip.pose.rotations != clip.pose.rotations).any(axis=(0, 2)))[0])
    turned, before = (c.skeleton.forward(c.pose).rotations[15, pelvis] for c in (baked.clip, clip))
    normal = ik.rotations.rotate(ik.rotations.multiply(turned, ik.rotations.conjugate(before)), [0.0, 1, 0])
    leans = -normal[[0, 2]] / normal[1]
    share = leans @ slope / (slope[0] ** 2 + slope[1] ** 2)
    assert 0.1 < share < 1.02
    upright = ik.bake_feet(clip, ground, feet=feet, settings=ik.BakeSettings(tilt=0)).clip
    assert np.array_equal(upright.pose.rotations[:, pelvis], clip.pose.rotations[:, pelvis])


@pytest.mark.parametrize("kind", KINDS)
def test_one_foot_on_a_stone(kind: str) -> None:
    """The other feet stay where they are on the floor."""
    clip, feet = standing(kind)
    first = next(iter(feet.positions(clip.skeleton, clip.pose).values()))[0]
    stone = box(0.05, (first[2] - 0.03, first[2] + 0.03), (first[0] - 0.03, first[0] + 0.03))
    ground = ik.Ground.plane() + stone
    assert off(ik.bake_feet(clip, ground, feet=feet).clip, clip, feet, ground) < 0.003
