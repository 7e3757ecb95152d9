"""Footholds: a foot rests like a rigid one on hollows, ridges, edges, over pits, beside walls; and never inside."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import gaits
import numpy as np
import pytest
from test_bake import FLOOR, SIDES, Array, apart, box, feet, soles, walk

import ikcore as ik
from ikcore import terrain
from ikcore.bake.floors import floors_of, planted_of
from ikcore.bake.foot import Foot, Pivot, Stance
from ikcore.bake.footholds import Foothold
from ikcore.bake.motion import legs_of
from ikcore.bake.planting import stance_paths_of
from ikcore.bake.scene import Scene
from ikcore.feet.leg import Sole

POINTS = ("heel", "ball", "toe", "inner", "outer")


def shaped(height: Callable[[Array, Array], Array], spacing: float = 0.02) -> ik.Ground:
    """A ground that is so high at x and z."""
    z, x = np.meshgrid(np.arange(-2, 8, spacing), np.arange(-2, 2, spacing), indexing="ij")
    return ik.Ground.heights(height(x, z), spacing, [-2, 0, -2])


@functools.cache
def flat() -> dict[str, Array]:
    """When feet stand on heel and ball."""
    contacts = ik.Contacts.detect(walk(), feet())
    return {side: contacts.planted(side, "heel") & contacts.planted(side, "ball") for side in SIDES}


def gaps(clip: ik.Clip, ground: ik.Ground, point: str) -> Array:
    """How far above the ground a point of feet is while they stand flat."""
    at = [soles(clip)[side, point][flat()[side]] for side in SIDES]
    return np.concatenate([each[:, 1] - ground.at(each, above=0.6, below=1).height for each in at])


@pytest.mark.parametrize(("deep", "wide"), [(0.1, 0.3), (0.06, 0.2), (0.15, 0.5)])
@pytest.mark.parametrize("centre", [1.5, 1.57, 1.65])
def test_in_a_hollow_heel_and_ball_are_down(deep: float, wide: float, centre: float) -> None:
    """The slope under the toes is for the toes."""
    ground = shaped(lambda x, z: -deep * np.clip(1 - ((z - centre) / wide) ** 2, 0, 1) ** 2)
    baked = ik.bake_feet(walk(), ground, feet=feet()).clip
    for point in ("heel", "ball"):
        off = gaps(baked, ground, point)
        assert off.min() > -0.003
        assert off.max() < 0.008
    assert gaps(baked, ground, "toe").min() > -0.01


@pytest.mark.parametrize("height", [0.05, 0.1])
def test_over_a_ridge_a_foot_lies_with_its_arch(height: float) -> None:
    ground = shaped(lambda x, z: height * np.clip(1 - np.abs(z - 1.5) / (3 * height), 0, 1))
    baked = ik.bake_feet(walk(), ground, feet=feet()).clip
    for point in ("heel", "ball"):
        off = gaps(baked, ground, point)
        assert off.min() > -0.003
        assert off.max() < 0.015


@pytest.mark.parametrize("centre", [1.5, 1.6])
def test_a_pit_that_is_shorter_than_a_foot_is_stood_over(centre: float) -> None:
    """It is half a metre deep, so that its rim is beyond a step from its bottom."""
    ground = shaped(lambda x, z: -0.5 * (np.abs(z - centre) < 0.1))
    baked = ik.bake_feet(walk(), ground, feet=feet())
    assert np.abs(baked.pelvis_offset).max() < 0.06
    assert min(gaps(baked.clip, ground, point).min() for point in POINTS) > -0.005


def test_a_beam_over_a_pit_is_stood_on() -> None:
    """50 mm to either side of the middle of a foot, and nothing under heel and ball: the arch is over it."""
    beam, banks = box(0.0, (1.44, 1.54), bottom=-0.1), box(0.0, (-3, 1.2)) + box(0.0, (1.9, 9))
    baked = ik.bake_feet(walk(), beam + banks + ik.Ground.plane(height=-0.4), feet=feet())
    assert apart(baked.clip, walk()) < 0.035


@pytest.mark.parametrize("sign", [1, -1])
def test_a_foot_stands_beside_a_wall(sign: int) -> None:
    """One that its outer side would be in, by less than half of its width."""
    side = "left" if sign > 0 else "right"
    at = sign * (float(np.abs(soles(walk())[side, "outer"][flat()[side], 0]).min()) - 0.01)
    ground = FLOOR + box(1.0, (-5, 9), (min(at, 4 * sign), max(at, 4 * sign)))
    baked = ik.bake_feet(walk(), ground, feet=feet()).clip
    assert gaps(baked, FLOOR, "heel").max() < 0.01
    assert (sign * soles(baked)[side, "outer"][flat()[side], 0]).max() < abs(at) + 1e-3


@pytest.mark.parametrize("height", [0.1, 0.6, 1.2, 2.0])
def test_who_begins_in_a_step_stands_on_it(height: float) -> None:
    """However high it is, as one has no room in it; the floor goes on below."""
    baked = ik.bake_feet(walk(), FLOOR + box(height, (-5, 9)), feet=feet()).clip
    assert min(soles(baked)[side, point][:, 1].min() for side in SIDES for point in ("heel", "ball")) > height - 0.01


def test_who_begins_under_a_floor_with_room_stays_under_it() -> None:
    gallery = terrain.ramp(1, 0, width=9, landing=20).moved(translations=[0, 2.4, 0])
    assert apart(ik.bake_feet(walk(), FLOOR + gallery, feet=feet()).clip, walk()) < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_no_point_of_a_foot_that_stands_is_in_the_ground(seed: int) -> None:
    """Waves of all lengths and blocks that are up to 0.15 m high."""
    random = np.random.default_rng(seed)
    if seed % 2:
        tops = np.kron(random.integers(0, 4, (50, 20)) * 0.05, np.ones((10, 10)))
        ground = ik.Ground.heights(tops, 0.02, [-2, 0, -2])
    else:
        waves = [(*random.uniform(0, 6.3, 2), length) for length in random.uniform(0.25, 1.5, 8)]
        ground = shaped(
            lambda x, z: (
                0.02
                * sum(
                    length * np.sin(6.28 * (x * np.cos(turn) + z * np.sin(turn)) / length + phase)
                    for turn, phase, length in waves
                )
            )
        )
    baked = ik.bake_feet(walk(), ground, feet=feet()).clip
    deepest = min(gaps(baked, ground, point).min() for point in POINTS if point != "toe")
    assert deepest > -0.005
    assert gaps(baked, ground, "toe").min() > -0.015  # they bend as smoothly as the rest


@pytest.mark.parametrize("deep", [0.01, 0.05])
def test_under_the_first_foothold_higher_steps_are_seen_from_it(deep: float) -> None:
    """It is on a step of 0.4 m; its toes would be in the next one, out of reach from the floor of the clip."""
    clip = walk()[16:]
    edge = soles(clip)["left", "toe"][4, 2] - deep
    ground = box(0.4, (-5, edge)) + box(0.6, (edge, 9))
    baked = soles(ik.bake_feet(clip, ground).clip)
    at = np.stack([baked["left", point][4] for point in POINTS])
    np.testing.assert_allclose(at[:, 1], ground.at(at, above=1, below=1).height, atol=1e-6)


@pytest.mark.parametrize("heel_down", [0.05, 0.1])
def test_a_heel_that_was_raised_out_of_the_ground_goes_back_while_the_foot_is_on_its_toes(heel_down: float) -> None:
    """No frame turns it by more than 2 degrees: it went back in one."""
    turned, joint = walk().pose.rotations.copy(), walk().skeleton.index("LeftFoot")
    pitch = ik.rotations.from_axis_angle([1.0, 0, 0], -heel_down)
    turned[:, joint] = ik.rotations.multiply(turned[:, joint], pitch)
    pitched = dataclasses.replace(walk(), pose=dataclasses.replace(walk().pose, rotations=turned))
    level, motion = (legs_of(clip, feet())[0] for clip in (walk(), pitched))
    scene = Scene(FLOOR, walk().fps, 1, ik.BakeSettings(), 1, on_ground=False)
    contacts = ik.Contacts.detect(walk(), feet())
    floor = floors_of([level], [planted_of(level, contacts)], contacts, scene)[0]
    pivots = Pivot("joint", 65, 90), Pivot("toe", 90, 105)
    stance = Stance(0, 65, 105, pivots, 0, np.arange(72, 90), np.zeros((40, 3)), 0.0, planted=False)
    hold = Foothold(stance, np.zeros(3), np.zeros(3), 0.0, scene.up, scene.up, 0, copied=False)
    planted = stance_paths_of([Foot(motion, floor, scene)], [hold])
    raised = np.degrees(2 * np.linalg.norm(planted.turn[0, 65:105, 1:], axis=1))
    assert raised[20] > 20 * heel_down
    assert abs(raised[-1]) < 1e-6
    assert np.abs(np.diff(raised)).max() < 2


# --- soles that are not known exactly --------------------------------------------------------------------------------


def thinned(by: float) -> ik.Feet:
    """Feet with soles that are too thin by as much: toes that a clip presses into its floor once make them seem so."""
    return ik.Feet(
        tuple(dataclasses.replace(leg, soles={n: _higher(s, by) for n, s in leg.soles.items()}) for leg in feet())
    )


def _higher(sole: Sole, by: float) -> Sole:
    x, y, z = sole.offset
    return Sole(sole.joint, (x, y + by, z))


@pytest.mark.parametrize("thin", [0.02, 0.035, 0.05])
def test_feet_whose_toes_bend_as_low_as_soles_are_thick_stand_on_their_own_floor(thin: float) -> None:
    """However thin those seem: they would stand as much too deep on any other ground."""
    slope = ik.Ground.plane([0, 1, -0.1])
    expected, found = (soles(ik.bake_feet(walk(), slope, feet=each).clip) for each in (feet(), thinned(thin)))
    for side in SIDES:
        off = (found[side, "ball"] - expected[side, "ball"])[flat()[side]]
        assert np.abs(off[:, 1]).max() < 0.002


@pytest.mark.parametrize("up", [0.01, 0.03, 0.042, 0.046, 0.06])
def test_a_clip_that_stands_a_little_above_its_floor_stays_there(up: float) -> None:
    """Its feet are as thick: nobody knows that they are not."""
    higher = gaits.moved(walk(), np.array([0.0, up, 0.0]))
    baked = ik.bake_feet(higher, FLOOR)
    before, after = soles(higher), soles(baked.clip)
    for side in SIDES:
        np.testing.assert_allclose(after[side, "ball"][flat()[side]], before[side, "ball"][flat()[side]], atol=0.002)
