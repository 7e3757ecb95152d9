"""Contacts, against the truth of a walk made by procedure, of legs moved by hand, and beside another library's."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gaits
import mocap
import numpy as np
import pytest
from gaits import ASIDE, Gait, Plant, moved
from numpy.typing import NDArray

import ikcore as ik
from ikcore.contacts import in_place, rules, tracks
from ikcore.contacts.intervals import runs
from ikcore.feet import metrics

Array = NDArray[Any]

SIDES, POINTS = ("left", "right"), ("heel", "ball")
KEYS = [(side, point) for side in SIDES for point in POINTS]
SPEEDS = {0.4: 0.4, 0.8: 0.6, 1.3: 0.7, 1.8: 0.8}  # metres a second, and the step


def seconds(clip: ik.Clip) -> Array:
    return np.arange(len(clip)) / clip.fps


def on_the_spot(walk: ik.samples.Sample, speed: float) -> ik.Clip:
    return moved(walk.clip, seconds(walk.clip)[:, np.newaxis] * [0, 0, -speed])


def check(contacts: ik.Contacts, walk: ik.samples.Sample, *, late: float = 0.13, least: float = 0.86) -> None:
    """F1 over frames; and every true edge within a time, except edges too near to the end of the clip.

    A heel that rises slowly over the ball is in contact longer, because it is low and nearly still.
    """
    for key in KEYS:
        found, true = contacts.planted(*key), walk.planted(key[0].title() + key[1].title())
        assert metrics.agreement(found, true) >= least, key
        for sign in (1, -1):
            edges, there = (np.flatnonzero(np.diff(mask.astype(int)) == sign) for mask in (true, found))
            inner = edges[(edges > 0.15 * contacts.fps) & (edges < len(true) - 0.15 * contacts.fps)]
            apart = np.abs(inner[:, np.newaxis] - there).min(axis=1) / contacts.fps
            assert (apart <= late).all(), (key, sign, apart)


# --- a walk whose plants are known -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fps", [24, 30, 60, 120, 240])
@pytest.mark.parametrize("speed", SPEEDS)
def test_plants_of_a_walk_are_found_at_any_speed_and_rate(speed: float, fps: float) -> None:
    walk = ik.samples.walk(4, speed=speed, step=SPEEDS[speed], fps=fps)
    contacts = ik.Contacts.detect(walk.clip)
    check(contacts, walk, late=0.13 if speed > 0.4 else 0.19)
    assert not contacts.treadmill.any()
    assert not len(contacts.airborne)
    assert min(contacts.confidence.values()) > 0.85


def test_rates_agree() -> None:
    fine = ik.Contacts.detect(ik.samples.walk(4, fps=240).clip)
    for fps in (24, 30, 60, 120):
        coarse = ik.Contacts.detect(ik.samples.walk(4, fps=fps).clip)
        for key in KEYS:
            there = fine.planted(*key)[:: round(240 / fps)]
            assert (coarse.planted(*key) != there).sum() <= 2 * len(fine.intervals(*key)), key  # a frame at an edge


@pytest.mark.parametrize(("up", "unit"), [("Y", 0.01), ("Z", 1.0), ("Z", 0.0254)])
def test_units_and_axes_do_not_matter(up: str, unit: float) -> None:
    clip = ik.samples.walk(4).clip
    metres, other = ik.Contacts.detect(clip), ik.Contacts.detect(clip.convert(up=up, unit=unit))
    for key in KEYS:
        np.testing.assert_allclose(other.weights[key], metres.weights[key], atol=1e-9)
        np.testing.assert_allclose(other.ground[key] * unit, metres.ground[key], atol=1e-9)


@pytest.mark.parametrize("size", [0.02, 50.0])
def test_giants_are_in_contact_when_their_slow_motion_is(size: float) -> None:
    """Not units: a body of another size, in metres."""
    clip = ik.samples.walk(4).clip
    other = dataclasses.replace(clip.convert(unit=1 / size), unit=1.0)
    for key, weights in ik.Contacts.detect(other).weights.items():
        np.testing.assert_allclose(weights, ik.Contacts.detect(clip).weights[key], atol=1e-9)


@pytest.mark.parametrize("height", [-0.3, 0.02, 2.0])
def test_the_floor_is_found_and_reported(height: float) -> None:
    walk = ik.samples.walk(4)
    feet = ik.Feet.detect(walk.clip.skeleton)
    contacts = ik.Contacts.detect(moved(walk.clip, [0, height, 0]), feet)
    check(contacts, walk)
    for ground in contacts.ground.values():
        np.testing.assert_allclose(ground, height, atol=2e-3)


def test_a_floor_that_is_not_level() -> None:
    """8 mm a metre, as that of a captured clip, and one foot whose sole is 2 cm higher than it seems."""
    walk = ik.samples.walk(4)
    feet = ik.Feet.detect(walk.clip.skeleton)
    soles = {
        p: ik.feet.Sole(s.joint, (s.offset[0], s.offset[1] + 0.02, s.offset[2])) for p, s in feet["right"].soles.items()
    }
    tilted = moved(walk.clip, 0.008 * 1.3 * seconds(walk.clip)[:, np.newaxis] * [0, 1, 0])
    check(ik.Contacts.detect(tilted, feet.replace("right", soles=soles)), walk)


def test_a_floor_that_falls_a_little_does_so_under_both_feet() -> None:
    """By 20 mm a metre: one foot has a stance more, and only that is clearly off a level."""
    walk = ik.samples.walk(3)
    tilted = moved(walk.clip, -0.02 * 1.3 * seconds(walk.clip)[:, np.newaxis] * [0, 1, 0])
    contacts = ik.Contacts.detect(tilted, ik.Feet.detect(walk.clip.skeleton))
    for leg in ("left", "right"):
        assert np.ptp(contacts.ground[leg, "ball"]) > 0.025


@pytest.mark.parametrize(("noise", "late"), [(0.001, 0.13), (0.003, 0.13), (0.006, 0.15)])
@pytest.mark.parametrize("fps", [30, 60, 120])
def test_noise(fps: float, noise: float, late: float) -> None:
    walk = ik.samples.walk(4, fps=fps)
    shaken = np.random.default_rng(1).normal(0, noise, (len(walk.clip), 3))
    check(ik.Contacts.detect(moved(walk.clip, shaken), ik.Feet.detect(walk.clip.skeleton)), walk, late=late, least=0.85)


@pytest.mark.parametrize("factor", [0.7, 0.9, 1.1, 1.25])
def test_feet_that_slide_are_in_contact_with_less_confidence(factor: float) -> None:
    walk = ik.samples.walk(4)
    slid = moved(walk.clip, (factor - 1) * 1.3 * seconds(walk.clip)[:, np.newaxis] * [0, 0, 1])
    contacts = ik.Contacts.detect(slid)
    check(contacts, walk, late=0.15, least=0.8)
    assert not contacts.treadmill.any()  # it travels
    sure = min(contacts.confidence.values())
    assert sure < 0.5 if abs(factor - 1) > 0.2 else sure > 0.8


@pytest.mark.parametrize("factor", [0.8, 0.85, 0.9, 1.1, 1.15, 1.25])
@pytest.mark.parametrize("fps", [30, 120])
def test_a_path_that_was_scaled_leaves_contacts_where_they_are(fps: float, factor: float) -> None:
    walk = ik.samples.walk(4, fps=fps)
    ways = [seconds(walk.clip)[:, np.newaxis] * [0, 0, 1.3], walk.clip.skeleton.forward(walk.clip.pose).positions[:, 0]]
    clean = ik.Contacts.detect(walk.clip)
    for way in ways:  # at one speed, and with the body as it sways
        found = ik.Contacts.detect(moved(walk.clip, (factor - 1) * way * [1, 0, 1]))
        for key in KEYS:
            edges, there = (np.flatnonzero(np.diff(each.planted(*key).astype(int))) for each in (clean, found))
            assert len(edges) == len(there), key
            assert np.abs(edges - there).max() <= 1, key


def test_feet_that_slide_now_so_now_otherwise_are_not_of_a_scaled_path() -> None:
    """Their contacts would begin and end with how they slide."""
    walk = ik.samples.walk(4)
    time = seconds(walk.clip)[:, np.newaxis] * [0, 0, 1]
    feet = ik.Feet.detect(walk.clip.skeleton, clip=walk.clip)
    scaled, uneven = moved(walk.clip, 0.2 * time), moved(walk.clip, 0.2 * time + 0.02 * np.sin(10 * time))
    seen = [tracks.tracks_of(clip, feet, None) for clip in (scaled, uneven)]
    slides = [in_place.ground_velocity(each, each.heights - rules.lowest_level(each, given=False))[1] for each in seen]
    assert slides[0].any()
    assert not slides[1].any()


@pytest.mark.parametrize("fps", [24, 60, 240])
@pytest.mark.parametrize("speed", SPEEDS)
def test_the_speed_that_a_walk_on_the_spot_lacks(speed: float, fps: float) -> None:
    walk = ik.samples.walk(4, speed=speed, step=SPEEDS[speed], fps=fps)
    there = on_the_spot(walk, speed)
    contacts = ik.Contacts.detect(there)
    np.testing.assert_allclose(contacts.treadmill, np.tile([0, 0, speed], (len(there), 1)), atol=0.01 * speed)
    check(contacts, walk, late=0.13 if speed > 0.4 else 0.19)
    assert "treadmill" in repr(contacts)


@pytest.mark.parametrize("start", [42, 44, 46, 48])
def test_a_foot_that_swings_in_a_moment_of_a_walk_is_no_ground_that_moves(start: int) -> None:
    """All that is seen of it low is fast, but the body goes along."""
    walk = ik.samples.walk(4)
    left = ik.Feet((ik.Feet.detect(walk.clip.skeleton)["left"],))
    assert not ik.Contacts.detect(walk.clip[start : start + 12], left).treadmill.any()


def test_a_walk_on_the_spot_to_the_side_with_z_up() -> None:
    there = on_the_spot(ik.samples.walk(4), 1.3)
    turned = ik.rotations.from_axis_angle([0, 1, 0], 1.0)
    q, t = there.pose.rotations.copy(), np.array(there.pose.translations)
    q[:, 0], t[:, 0] = ik.rotations.multiply(turned, q[:, 0]), ik.rotations.rotate(turned, t[:, 0])
    clip = dataclasses.replace(there, pose=ik.Pose(q, t)).convert(up="Z", unit=0.01)
    found = ik.Contacts.detect(clip).treadmill
    np.testing.assert_allclose(found, np.tile([130 * np.sin(1), -130 * np.cos(1), 0], (len(clip), 1)), atol=1.3)


def test_loops_go_on_at_their_ends() -> None:
    """Two strides of one second, anywhere in the cycle, as the same strides in the middle of a long walk."""
    long = ik.samples.walk(6, speed=1.4)
    feet = ik.Feet.detect(long.clip.skeleton)
    whole = ik.Contacts.detect(long.clip, feet)
    for start in (120, 133, 151, 170):
        frames = slice(start, start + 121)
        loop = dataclasses.replace(long.clip[frames], loop=True)
        contacts = ik.Contacts.detect(loop, feet)
        for key in KEYS:
            np.testing.assert_allclose(contacts.weights[key], whole.weights[key][frames], atol=1e-9)
            assert contacts.weights[key][0] == contacts.weights[key][-1]
        there = ik.Contacts.detect(moved(loop, seconds(loop)[:, np.newaxis] * [0, 0, -1.4]), feet)
        np.testing.assert_allclose(there.treadmill, np.tile([0, 0, 1.4], (121, 1)), atol=0.01)
        for key in KEYS:
            assert metrics.agreement(there.planted(*key), contacts.planted(*key)) > 0.97


def test_soft_weights() -> None:
    """More than a half in contact; a smooth step of 0.1 s."""
    contacts = ik.Contacts.detect(ik.samples.walk(4, fps=100).clip)
    for key in KEYS:
        weights = contacts.weights[key]
        assert weights.min() == 0
        assert weights.max() == 1
        assert (np.abs(np.diff(weights)) <= 0.15 + 1e-9).all()  # the steepest slope is 1.5 in a ramp
        start, stop = contacts.intervals(*key)[1]
        assert (weights[start + 5 : stop - 5] == 1).all()
        share = (np.arange(-5, 5) + 5.5) / 10
        np.testing.assert_allclose(weights[start - 5 : start + 5], share**2 * (3 - 2 * share))


# --- legs moved by hand ----------------------------------------------------------------------------------------------


def standing(way: Array, fps: float = 60) -> ik.Clip:
    """Stiff, so that all of its points go this way."""
    skeleton = ik.samples.walk(1).clip.skeleton
    return moved(ik.Clip(skeleton, skeleton.rest[np.newaxis][np.zeros(len(way), int)], fps), way)


FEET = ik.Feet.detect(ik.samples.walk(1).clip.skeleton)
FLOOR = float(
    FEET.positions(standing(np.zeros((1, 3))).skeleton, standing(np.zeros((1, 3))).pose)["left", "ball"][0, 1]
)


def up(heights: Any) -> Array:
    return np.asarray(heights)[:, np.newaxis] * [0.0, 1, 0]


@pytest.mark.parametrize("fps", [24, 30, 60, 120])
def test_a_jump_is_airborne(fps: float) -> None:
    times = np.arange(round(2 * fps)) / fps
    since = times - 0.7
    height = np.maximum(4.905 * since * (0.5 - since), 0)  # half a second of free fall
    contacts = ik.Contacts.detect(standing(up(height), fps), FEET)
    ((start, stop),) = contacts.airborne
    assert abs(start / fps - 0.7) <= 0.06 + 1 / fps
    assert abs(stop / fps - 1.2) <= 0.06 + 1 / fps
    assert "airborne" in repr(contacts)


def test_standing_and_one_frame() -> None:
    for frames in (1, 2, 3, 200):
        contacts = ik.Contacts.detect(standing(np.zeros((frames, 3))), FEET)
        for key in KEYS:
            np.testing.assert_array_equal(contacts.weights[key], np.ones(frames))
            assert contacts.confidence[key] == 1
        assert not contacts.treadmill.any()
    assert repr(contacts).startswith("Contacts(200 frames at 60 fps):\n  left heel  1 contact, 100%, confidence 100%")


def test_one_frame_of_a_raised_foot() -> None:
    clip = standing(np.zeros((1, 3)))
    knee = clip.skeleton.index("LeftLeg")
    q = clip.pose.rotations.copy()
    q[:, knee] = ik.rotations.from_axis_angle([1, 0, 0], 1.2)
    contacts = ik.Contacts.detect(dataclasses.replace(clip, pose=ik.Pose(q, clip.pose.translations)), FEET)
    assert not contacts.planted("left").any()
    assert contacts.planted("right", "heel").all()
    assert contacts.planted("right", "ball").all()


def test_a_foot_that_is_held_still_in_the_air_is_not_in_contact() -> None:
    clip = standing(np.zeros((300, 3)))
    q = clip.pose.rotations.copy()
    lift = np.clip(np.arange(300) / 60 - 2, 0, 1)
    q[:, clip.skeleton.index("LeftLeg")] = ik.rotations.from_axis_angle([1, 0, 0], 1.2 * lift)
    contacts = ik.Contacts.detect(dataclasses.replace(clip, pose=ik.Pose(q, clip.pose.translations)), FEET)
    assert contacts.planted("left")[:115].all()
    assert not contacts.planted("left")[150:].any()
    assert contacts.planted("right").all()


def test_a_touch_of_less_than_a_fifteenth_of_a_second_is_none() -> None:
    for down, found in ((6, 0), (24, 1)):
        height = np.full(240, 0.5)
        height[100 : 100 + down] = 0.0
        height[0] = 0.0
        contacts = ik.Contacts.detect(standing(up(height), 120), FEET, ik.Ground.plane(height=FLOOR))
        intervals = contacts.intervals("left", "ball")
        assert len(intervals[intervals[:, 0] > 10]) == found


def test_short_gaps_are_closed() -> None:
    for gap, found in ((1, 1), (12, 2)):
        height = np.zeros(120)
        height[60 : 60 + gap] = 0.3
        contacts = ik.Contacts.detect(standing(up(height)), FEET, modes="ground")
        assert len(contacts.intervals("left", "ball")) == found


@pytest.mark.parametrize("start", [*range(0, 120, 7), 39, 40, 41, 80, 89, 90])
def test_a_loop_may_begin_anywhere(start: int) -> None:
    """A contact that is between the thresholds for a while, a glitch in it, and a touch that is too short."""
    height = np.array([0.2] * 40 + [0.0] * 15 + [0.065] * 15 + [0.0] * 20 + [0.2] * 10 + [0.0] * 4 + [0.2] * 16)
    height[80] = 0.3

    def contact(first: int) -> Array:
        rolled = np.roll(height, -first)
        clip = dataclasses.replace(standing(up([*rolled, rolled[0]])), loop=True)
        found = ik.Contacts.detect(clip, FEET, ik.Ground.plane(height=FLOOR), modes="ground")
        assert found.weights["left", "ball"][0] == found.weights["left", "ball"][-1]
        return found.weights["left", "ball"][:-1]

    np.testing.assert_allclose(contact(start), np.roll(contact(0), -start), atol=1e-9)
    assert (np.flatnonzero(contact(0) > 0.5)[[0, -1]] - [40, 89] <= 2).all()


def test_hysteresis() -> None:
    """Between the thresholds goes on what is in contact, and does not begin."""
    height = np.array([0.0] * 60 + [0.065] * 60 + [0.0] * 60 + [0.2] * 60 + [0.065] * 60 + [0.2] * 60)
    contacts = ik.Contacts.detect(standing(up(height)), FEET, ik.Ground.plane(height=FLOOR), modes="ground")
    np.testing.assert_allclose(contacts.intervals("left", "ball"), [[0, 180]], atol=2)


# --- intervals -------------------------------------------------------------------------------------------------------


def intervals_of(mask: Array) -> list[tuple[int, int]]:
    """One frame after the other."""
    found, start = [], None
    for frame, held in enumerate([*mask.tolist(), False]):
        if held and start is None:
            start = frame
        elif not held and start is not None:
            found.append((start, frame))
            start = None
    return found


def cleaned_slowly(stays: Array, enters: Array, gap: float, least: float) -> Array:
    count, held = len(stays), np.zeros(len(stays), bool)
    for start, stop in intervals_of(stays):
        still = [frame for frame in range(start, stop) if enters[frame]]
        cut = start == 0 or stop == count
        first, last = (still[0], still[-1] + 1) if still else (start, stop if cut and stop - start < least else start)
        first = start if still and start == 0 and first - start >= gap - 1e-6 else first
        last = stop if still and stop == count and stop - last >= gap - 1e-6 else last
        held[first:last] = True
    for start, stop in intervals_of(~held):
        if 0 < start < stop < count and stop - start < gap - 1e-6:
            held[start:stop] = True
    for start, stop in intervals_of(held):
        if 0 < start < stop < count and stop - start < least - 1e-6:
            held[start:stop] = False
    return held


@pytest.mark.parametrize("count", [0, 1, 2, 5, 12, 40])
def test_contacts_are_cleaned_as_one_would_frame_by_frame(count: int) -> None:
    random = np.random.default_rng(count)
    for often in (0.3, 0.6, 0.9):
        for _ in range(200):
            stays = random.uniform(size=count) < often
            enters = stays & (random.uniform(size=count) < 0.4)
            assert runs(stays).tolist() == [list(each) for each in intervals_of(stays)]
            for gap, least in ((0.0, 0.0), (2.0, 3.0), (3.5, 2.5), (1e9, 1e9)):
                found = rules.clean_rows(stays, enters, gap, least)
                np.testing.assert_array_equal(found, cleaned_slowly(stays, enters, gap, least))
    stays, enters = random.uniform(size=(2, 3, count)) < 0.6
    rows = [rules.clean_rows(*each, 2.0, 3.0) for each in zip(stays, enters, strict=True)]
    np.testing.assert_array_equal(rules.clean_rows(stays, enters, 2.0, 3.0), rows)


# --- gaits whose plants are known ------------------------------------------------------------------------------------

BARE = ik.Feet.detect(gaits.BODY)
STANDING: dict[str, list[Plant]] = {side: [Plant(-1, 99, (x, 0, 0))] for side, x in ASIDE.items()}


def there(made: Gait, *velocity: float) -> Gait:
    """On the spot."""
    return Gait(moved(made.clip, -np.outer(seconds(made.clip), velocity)), made.plants)


def idling(fps: float, noise: float = 0.0015, length: float = 3) -> Gait:
    still = gaits.gait(STANDING, length, fps, gaits.above(0.88))
    return Gait(gaits.shaken(still.clip, noise), STANDING)


GAITS: dict[str, Callable[[float], Gait]] = {
    "walk": lambda fps: gaits.walking(fps=fps),
    "slow walk": lambda fps: gaits.walking(0.5, fps=fps),
    "fast walk": lambda fps: gaits.walking(1.7, fps=fps, period=0.95, height=0.8),
    "backwards": lambda fps: gaits.walking(-0.9, fps=fps),
    "jog": lambda fps: gaits.running(2.2, fps=fps, period=0.72, duty=0.42),
    "run": lambda fps: gaits.running(fps=fps),
    "fast run": lambda fps: gaits.running(4.8, fps=fps, period=0.6, duty=0.24),
    "to the side": lambda fps: gaits.strafing(fps=fps),
    "turning on the spot": lambda fps: gaits.turning(fps=fps),
    "turning fast": lambda fps: gaits.turning(2, fps=fps),
    "crouching": lambda fps: gaits.walking(0.7, fps=fps, height=0.55),
    "shuffling": lambda fps: gaits.walking(0.5, fps=fps, height=0.6, lift=0.04),
    "marching": lambda fps: gaits.walking(0.0, fps=fps, lift=0.3),
    "a jump": lambda fps: gaits.jumping(fps=fps),
    "a low jump": lambda fps: gaits.jumping(fps=fps, flight=0.3),
    "a long jump": lambda fps: gaits.jumping(fps=fps, ahead=0.9),
    "a jump onto a box": lambda fps: gaits.jumping(fps=fps, flight=0.6, onto=0.3, ahead=0.4),
    "up stairs": lambda fps: gaits.climbing(fps=fps),
    "down stairs": lambda fps: gaits.climbing(-0.18, fps=fps),
    "low stairs": lambda fps: gaits.climbing(0.08, fps=fps),
    "a slope in steps": lambda fps: gaits.climbing(0.05, 0.4, fps=fps),
    "idling": lambda fps: idling(fps, 0.001),
    "on a treadmill": lambda fps: there(gaits.walking(fps=fps), 0, 0, 1.2),
    "slowly on a treadmill": lambda fps: there(gaits.walking(0.5, fps=fps), 0, 0, 0.5),
    "running on a treadmill": lambda fps: there(gaits.running(fps=fps), 0, 0, 3.5),
    "sideways on a treadmill": lambda fps: there(gaits.strafing(fps=fps), 0.7, 0, 0),
}


@pytest.mark.parametrize("fps", [24, 30, 60, 120])
@pytest.mark.parametrize("name", GAITS)
def test_gaits(name: str, fps: float) -> None:
    """No contact is missed, none is added, and edges are where they are, as far as a foot leaves and lands gently."""
    made = GAITS[name](fps)
    contacts = ik.Contacts.detect(made.clip, BARE)
    for side, point in KEYS:
        rows = contacts.intervals(side, point), metrics.runs(made.planted(side))
        found, true = (row[row[:, 0] < len(made.clip) - 0.25 * fps] for row in rows)  # later ones say little
        assert len(found) == len(true), (side, point)
        seen = true < len(made.clip) - 0.1 * fps  # an edge at the clip's end may be beyond it
        np.testing.assert_allclose(found[seen] / fps, true[seen] / fps, atol=0.025 + 1 / fps)
    assert min(contacts.confidence.values()) > 0.85
    assert contacts.treadmill.any() == ("treadmill" in name)


@pytest.mark.parametrize("fps", [24, 60])
@pytest.mark.parametrize("unit", [0.01, 0.0254])
@pytest.mark.parametrize("name", ["run", "up stairs", "a jump", "running on a treadmill"])
def test_gaits_in_other_units_whatever_is_said_of_them(name: str, unit: float, fps: float) -> None:
    clip = GAITS[name](fps).clip
    other = dataclasses.replace(clip.convert(unit=unit), unit=1.0)  # as a file says it
    found, metres = (ik.Contacts.detect(one, ik.Feet.detect(one.skeleton)) for one in (other, clip))
    for key in KEYS:
        np.testing.assert_allclose(found.weights[key], metres.weights[key], atol=1e-9)


@pytest.mark.parametrize("fps", [24, 30, 60, 120])
@pytest.mark.parametrize("flight", [0.3, 0.5])
def test_flights_are_airborne(flight: float, fps: float) -> None:
    contacts = ik.Contacts.detect(gaits.jumping(fps=fps, flight=flight).clip, BARE)
    np.testing.assert_allclose(
        contacts.airborne / fps, [[1.2, 1.2 + flight]], atol=0.045 + 1 / fps
    )  # the width of the filter


def test_the_floor_of_stairs_is_that_of_each_stance() -> None:
    made = gaits.climbing(0.18)
    contacts = ik.Contacts.detect(made.clip, BARE)
    for side in SIDES:
        for plant in made.plants[side]:
            frames = slice(max(0, round(plant.start * 60) + 4), max(0, round(plant.end * 60) - 4))
            for point in POINTS:
                np.testing.assert_allclose(contacts.ground[side, point][frames], plant.place[1], atol=0.01)
    level = ik.Contacts.detect(made.clip[:40], BARE)
    assert all(np.ptp(ground) == 0 for ground in level.ground.values())


def one_leg(fps: float, noise: float) -> Gait:
    """The left foot is held still in the air for a second and a half, while the right one stands."""
    plants = {
        **STANDING,
        "left": [Plant(-1, 1, (0.1, 0, 0)), Plant(1.4, 3, (0.1, 0.35, 0.1)), Plant(3.4, 99, (0.1, 0, 0))],
    }
    clip = gaits.gait(plants, 4.5, fps, gaits.above(0.8), 0.02).clip
    return Gait(
        gaits.shaken(clip, noise) if noise else clip, {**plants, "left": [plants["left"][0], plants["left"][2]]}
    )


def one_leg_sliding(fps: float) -> Gait:
    """The same, but the right foot slides along meanwhile, and the hips stay."""
    plants = {**one_leg(fps, 0).plants, "right": [Plant(-1, 1.2, (-0.1, 0, -0.2)), Plant(3.1, 99, (-0.1, 0, 0.2))]}
    held = {**plants, "left": [plants["left"][0], Plant(1.4, 3, (0.1, 0.35, 0.1)), plants["left"][1]]}

    def hips(times: Array, left: Array, right: Array) -> Array:
        return np.tile([0, 0.8, 0], (len(times), 1))

    return Gait(gaits.gait(held, 4.5, fps, hips, 0.01).clip, plants)


def one_leg_on_a_box(fps: float) -> Gait:
    plants = {
        "left": [Plant(-1, 1, (0.1, 0, 0)), Plant(1.5, 2.5, (0.1, 0.3, 0.3)), Plant(2.9, 99, (0.1, 0.6, 0.4))],
        "right": [Plant(-1, 1.7, (-0.1, 0, 0)), Plant(2.2, 99, (-0.1, 0.3, 0.3))],
    }

    def hips(times: Array, left: Array, right: Array) -> Array:
        height = 0.77 + np.interp(times, [1.5, 2.2], [0, 0.3])
        return np.stack([0 * times, height, np.interp(times, [1.2, 2.4], [0, 0.3])], axis=-1)

    return Gait(gaits.gait(plants, 5, fps, hips).clip, {**plants, "left": plants["left"][:2]})


def tucked(fps: float) -> Gait:
    """A jump in which the feet are held still for 0.3 s."""
    jump = gaits.jumping(fps=fps, flight=0.6)
    up_there = {s: [p[0], Plant(1.35, 1.65, (ASIDE[s], 0.35, 0)), p[1]] for s, p in jump.plants.items()}
    way = jump.clip.pose.translations
    assert way is not None
    return Gait(gaits.gait(up_there, 3, fps, lambda *_: way[:, 0], 0).clip, jump.plants)


def stopping(fps: float) -> Gait:
    """On stairs, each foot on another one to the end."""
    plants = {
        "left": [Plant(-1, 1, (0.1, 0, 0)), Plant(1.5, 99, (0.1, 0.18, 0.28))],
        "right": [Plant(-1, 1.9, (-0.1, 0, 0)), Plant(2.4, 99, (-0.1, 0.36, 0.56))],
    }

    def hips(times: Array, left: Array, right: Array) -> Array:
        height = 0.75 + np.interp(times, [1.5, 2.2], [0, 0.22])
        return np.stack([0 * times, height, np.interp(times, [1.2, 2.8], [0, 0.42])], axis=-1)

    return gaits.gait(plants, 4, fps, hips)


@pytest.mark.parametrize("fps", [24, 30, 60, 120])
@pytest.mark.parametrize(
    "made",
    [
        *(lambda fps: one_leg(fps, 0), lambda fps: one_leg(fps, 0.002), one_leg_sliding, one_leg_on_a_box),
        *(stopping, tucked),
    ],
    ids=["one leg", "one leg, shaken", "one leg, sliding", "one leg, on a box", "two steps", "a tucked jump"],
)
def test_a_still_foot_stands_if_it_carries_the_body(made: Callable[[float], Gait], fps: float) -> None:
    truth = made(fps)
    contacts = ik.Contacts.detect(truth.clip, BARE)
    for side, point in KEYS:
        if made is one_leg_sliding and side == "right":
            continue  # when it slides it may be in contact or not
        if made is tucked:
            assert not contacts.planted(side, point)[round(1.3 * fps) : round(1.7 * fps)].any()
        assert metrics.agreement(contacts.planted(side, point), truth.planted(side)) >= 0.92


def varying(fps: float, length: float, speed: Callable[[Array], Array]) -> tuple[Gait, Array]:
    """A walk with a speed for every time, and where it would have got to."""
    fine = np.linspace(-3, length + 3, 6001)
    way = np.concatenate([[0], np.cumsum((speed(fine)[1:] + speed(fine)[:-1]) / 2 * np.diff(fine))])

    def at(times: Any) -> Any:
        return np.interp(times, fine, way)

    plants = gaits.stepping(length, 1.1, 0.6, lambda side, time: (ASIDE[side], 0, float(at(time))))
    made = gaits.gait(plants, length, fps, gaits.above(0.74, at))
    return made, np.outer(at(seconds(made.clip)), [0, 0, 1])


@pytest.mark.parametrize("fps", [30, 60, 120])
@pytest.mark.parametrize(
    "speed",
    [
        lambda t: np.interp(t, [0, 12], [0.5, 1.5]),
        lambda t: np.interp(t, [3, 5, 9, 11], [0, 1.2, 1.2, 0]),
        lambda t: 1 + 0.3 * np.sin(t),
    ],
    ids=["faster and faster", "starts and stops", "to and fro"],
)
def test_a_treadmill_that_varies(speed: Callable[[Array], Array], fps: float) -> None:
    made, way = varying(fps, 12, speed)
    clip = moved(made.clip, -way)
    contacts = ik.Contacts.detect(clip, BARE)
    np.testing.assert_allclose(contacts.treadmill[:, 2], speed(seconds(clip)), atol=0.06)
    for side, point in KEYS:
        assert metrics.agreement(contacts.planted(side, point), made.planted(side)) >= 0.95
    gone = ik.prepare.add_root_motion(clip, contacts)
    soles = BARE.positions(gone.skeleton, gone.pose)
    for side in SIDES:
        stances = metrics.runs(made.planted(side))
        assert metrics.drift(soles[side, "ball"], stances, fps=fps).max() < 0.012


def test_a_way_that_is_missing_for_a_while_is_none() -> None:
    """Missing travel for a part of the clip is none: a walk that travels, then slides back."""
    made = gaits.walking(seconds=14)
    slides = np.clip(seconds(made.clip) - 10, 0, None)[:, np.newaxis] * [0, 0, -1.2]
    assert not ik.Contacts.detect(moved(made.clip, slides), BARE).treadmill.any()


@pytest.mark.parametrize("up", ["Y", "Z"])
def test_a_clip_that_goes_on_its_way(up: str) -> None:
    made = gaits.walking()
    clip = there(made, 0.0, 0, 1.2).clip.convert(up=up, unit=0.01)
    contacts = ik.Contacts.detect(clip)
    gone = ik.prepare.add_root_motion(clip, contacts)
    feet = ik.Feet.detect(clip.skeleton, clip=clip)
    for side in SIDES:
        still = feet.positions(gone.skeleton, gone.pose)[side, "ball"]
        assert (
            metrics.drift(still, metrics.runs(made.planted(side)), fps=60, normals=np.eye(3)["XYZ".index(up)]).max()
            < 0.2
        )
    again = ik.Contacts.detect(gone)
    assert not again.treadmill.any()
    assert ik.prepare.add_root_motion(gone, again) is gone
    for key in KEYS:
        assert metrics.agreement(again.planted(*key), contacts.planted(*key)) > 0.98
    assert gone.pose.translations is not None
    assert clip.pose.translations is not None
    np.testing.assert_array_equal(gone.pose.translations[:, 1:], clip.pose.translations[:, 1:])
    with pytest.raises(ValueError, match="clip: expected the 241 frames of these contacts, got 10"):
        ik.prepare.add_root_motion(clip[:10], contacts)


def test_confidence_is_low_where_nothing_carries_the_body() -> None:
    """It slides, 3 m/s, on the spot for no foot; and if it falls there is no doubt."""
    slides = ik.Contacts.detect(standing(np.outer(np.arange(120) / 60, [3.0, 0, 0])), FEET)
    assert not any(slides.planted(side).any() for side in SIDES)
    assert max(slides.confidence.values()) == 0
    time = np.arange(60) / 60
    falls = ik.Contacts.detect(standing(up(-4.905 * time**2)), FEET, ik.Ground.plane(height=-9))
    assert min(falls.confidence.values()) > 0.95
    known = ik.Contacts.detect(standing(np.outer(np.arange(120) / 60, [3.0, 0, 0])), FEET, modes={"right": "never"})
    assert known.confidence["right", "heel"] == 1
    assert known.confidence["left", "heel"] > 0.9  # something else is said to be the case


# --- ground ----------------------------------------------------------------------------------------------------------


def test_ground_that_is_given() -> None:
    walk = ik.samples.walk(4)
    check(ik.Contacts.detect(walk.clip, ground=ik.Ground.plane()), walk)
    deep = ik.Contacts.detect(walk.clip, ground=ik.Ground.plane(height=-0.2))
    assert not any(deep.planted(side).any() for side in SIDES)
    np.testing.assert_allclose(deep.ground["left", "heel"], -0.2)
    none = ik.Contacts.detect(walk.clip, ground=ik.Ground.plane(height=-9))
    assert not any(none.planted(side).any() for side in SIDES)
    assert np.isnan(none.ground["left", "heel"]).all()
    with pytest.raises(ValueError, match="expected Y up as in the clip, got 'z'"):
        ik.Contacts.detect(walk.clip, ground=ik.Ground.plane(up="z"))


def test_a_slope() -> None:
    walk = ik.samples.walk(4)
    turned = ik.rotations.from_axis_angle([1, 0, 0], -0.3)
    q, t = walk.clip.pose.rotations.copy(), np.array(walk.clip.pose.translations)
    q[:, 0], t[:, 0] = ik.rotations.multiply(turned, q[:, 0]), ik.rotations.rotate(turned, t[:, 0])
    clip = dataclasses.replace(walk.clip, pose=ik.Pose(q, t))
    ground = ik.Ground.plane(ik.rotations.rotate(turned, [0, 1, 0]))
    check(ik.Contacts.detect(clip, ik.Feet.detect(clip.skeleton), ground), walk)


def test_ground_that_moves_carries_what_stands_on_it() -> None:
    times = np.arange(120) / 60
    way = times[:, np.newaxis] * [0.0, 0.4, 0.9]
    floor = ik.Ground.plane(height=FLOOR)
    carried = ik.Contacts.detect(standing(way), FEET, floor.moved(translations=way))
    assert all((weights == 1).all() for weights in carried.weights.values())
    np.testing.assert_allclose(carried.ground["left", "ball"], FLOOR + 0.4 * times, atol=1e-9)
    spun = ik.rotations.from_axis_angle([0, 1, 0], -0.8 * times)
    slid = ik.Contacts.detect(standing(np.tile([3.0, 0, 0], (120, 1))), FEET, floor.moved(rotations=spun))
    assert not any(slid.planted(side).any() for side in SIDES)  # it turns away under the feet, at 2.4 m/s
    small = floor.moved(scales=100).moved(translations=[0, -99 * FLOOR, 0])  # of centimetres, shown as metres
    for moves in ({"rotations": spun}, {"translations": -2 * way}):
        here, there = (
            ik.Contacts.detect(standing(np.tile([3.0, 0, 0], (120, 1))), FEET, each.moved(**moves))
            for each in (floor, small)
        )
        for key, weights in here.weights.items():
            np.testing.assert_array_equal(there.weights[key], weights)
            assert not weights.any()


# --- modes, curves ---------------------------------------------------------------------------------------------------


def test_modes() -> None:
    walk = ik.samples.walk(3)
    auto = ik.Contacts.detect(walk.clip)
    chosen = ik.Contacts.detect(walk.clip, modes={"left": "always"})
    for point in POINTS:
        assert (chosen.weights["left", point] == 1).all()
        np.testing.assert_array_equal(chosen.weights["right", point], auto.weights["right", point])
    never = ik.Contacts.detect(walk.clip, modes="never")
    assert not any(weights.any() for weights in never.weights.values())
    assert never.airborne.tolist() == [[0, 181]]
    low = ik.Contacts.detect(walk.clip, modes="ground")
    sliding = moved(walk.clip, seconds(walk.clip)[:, np.newaxis] * [5.0, 0, 0])
    for key in KEYS:
        assert low.planted(*key)[auto.planted(*key)].all()
        np.testing.assert_array_equal(
            ik.Contacts.detect(sliding, modes="ground").planted(*key), low.planted(*key)
        )  # speed does not count


def test_curves_count_before_what_is_found() -> None:
    clip = ik.samples.walk(3).clip
    auto = ik.Contacts.detect(clip)
    drawn = np.linspace(0, 1, len(clip)) ** 2
    timed = [[0.25, 0], [0.25, 1], [0.75, 0.5]]
    curves: dict[Any, Any] = {"left": timed, ("left", "ball"): drawn}
    contacts = ik.Contacts.detect(clip, modes="always", curves=curves)
    np.testing.assert_array_equal(contacts.weights["left", "ball"], drawn)
    assert (contacts.weights["right", "ball"] == 1).all()
    share = np.linspace(0, 1, len(clip))
    expected = np.where(share < 0.25, 0, np.interp(share, [0.25, 0.75], [1, 0.5]))
    np.testing.assert_allclose(contacts.weights["left", "heel"], expected)
    assert contacts.confidence["left", "ball"] == contacts.confidence["left", "heel"] == 1
    np.testing.assert_array_equal(contacts.ground["left", "heel"], auto.ground["left", "heel"])
    one = ik.Contacts.detect(clip[:1], curves={"left": [[0.0, 0.25], [1.0, 1.0]]})
    assert one.weights["left", "heel"].tolist() == [0.25]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"modes": "sometimes"}, "modes: expected some of always, never, ground, None, got 'sometimes'"),
        ({"modes": {"tail": None}}, "modes: no leg is called 'tail'; there are left, right"),
        ({"curves": {"tail": [0]}}, "curves: there is no 'tail'; there are .*'left', 'heel'.*, and the legs"),
        ({"curves": {("left", "toe"): [0]}}, r"curves: there is no \('left', 'toe'\)"),
        ({"curves": {"left": [0.5] * 3}}, r"curves: 'left': expected shape \(61,\) or \(n, 2\)"),
        ({"curves": {"left": [2] * 61}}, "curves: 'left': expected numbers from 0 to 1"),
        ({"curves": {"left": [np.nan] * 61}}, "curves: 'left': expected numbers from 0 to 1"),
        ({"curves": {"left": [[1, 0], [0, 1]]}}, "curves: 'left': expected times that ascend"),
        ({"feet": ik.Feet(())}, "feet: expected legs, got none"),
        ({"feet": FEET.replace("left", soles={})}, "the leg 'left' has neither heel nor ball: give them"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ik.Contacts.detect(ik.samples.walk(1).clip, **options)


def test_points_that_there_are_not() -> None:
    contacts = ik.Contacts.detect(ik.samples.walk(1).clip)
    with pytest.raises(KeyError, match="no such point"):
        contacts.planted("left", "toe")
    with pytest.raises(TypeError, match="clip: expected a Clip, got Pose"):
        ik.Contacts.detect(ik.samples.walk(1).clip.pose)  # type: ignore[arg-type]


# --- the rest --------------------------------------------------------------------------------------------------------


def test_frames_that_are_not_finite_are_not_in_contact() -> None:
    walk = ik.samples.walk(4)
    clip = moved(walk.clip, 0)
    assert clip.pose.translations is not None
    at = clip.pose.translations.copy()
    at[100, 0] = np.nan
    broken = dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, at))
    found, clean = ik.Contacts.detect(broken, FEET), ik.Contacts.detect(clip, FEET)
    for key in KEYS:
        assert not found.planted(*key)[100]
        assert (found.planted(*key)[110:] != clean.planted(*key)[110:]).sum() <= 1  # thresholds know the whole clip
    everywhere = dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, np.full_like(at, np.nan)))
    assert not any(ik.Contacts.detect(everywhere, FEET).planted(side).any() for side in SIDES)


def test_floats_and_pickles() -> None:
    clip = ik.samples.walk(2).clip
    assert clip.pose.translations is not None
    pose = ik.Pose(clip.pose.rotations.astype(np.float32), clip.pose.translations.astype(np.float32))
    contacts = ik.Contacts.detect(dataclasses.replace(clip, pose=pose))
    double = ik.Contacts.detect(clip)
    again = pickle.loads(pickle.dumps(contacts))
    for key in KEYS:
        np.testing.assert_array_equal(again.weights[key], contacts.weights[key])
        assert contacts.weights[key].dtype == np.float64
        assert metrics.agreement(contacts.planted(*key), double.planted(*key)) > 0.98


@pytest.mark.slow
def test_the_same_bits_on_every_instruction_set() -> None:
    code = """if True:
        import hashlib
        import numpy as np
        import ikcore as ik
        from ikcore import _core
        for isa in ("scalar", "base", "avx2", "avx512"):
            _core.use_isa(isa)
            digest = hashlib.sha256()
            clips = [ik.samples.walk(3).clip, ik.samples.walk(2, fps=120).clip.convert(up="Z", unit=0.01)]
            for climb, back in ((0.2, 0.0), (0.0, 1.3)):
                long = ik.samples.walk(8).clip
                at, time = long.pose.translations.copy(), np.arange(len(long)) / 60
                at[:, 0] += time[:, np.newaxis] * [0, climb, -back] - 0.05 * (time * time)[:, np.newaxis] * [0, 0, back]
                clips.append(ik.Clip(long.skeleton, ik.Pose(long.pose.rotations, at), 60))
            for clip in clips:
                contacts = ik.Contacts.detect(clip, ik.Feet.detect(clip.skeleton))
                for values in (*contacts.weights.values(), *contacts.ground.values(), contacts.treadmill):
                    digest.update(values.tobytes())
            print(digest.hexdigest())"""
    features = "SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_ICL X86_V3 X86_V4"
    command = [sys.executable, "-P", "-W", "ignore", "-c", code]
    hashes = []
    for more in ({}, {"NPY_DISABLE_CPU_FEATURES": features}):
        done = subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, check=True)
        hashes += done.stdout.split()
    assert len(hashes) == 8
    assert len(set(hashes)) == 1


def test_feet_without_heels() -> None:
    """Four paws."""
    parents, places = [-1, 0], [[0, 0.5, -0.3], [0, 0, 0.5]]
    for above in (1, 0):
        for x in (0.07, -0.07):
            parents += [above, len(parents), len(parents) + 1]
            places += [[x, -0.05, 0], [0, -0.22, 0], [0, -0.22, 0]]
    skeleton = ik.Skeleton(parents, places)
    clip = ik.Clip(skeleton, skeleton.rest[np.newaxis], 30)
    contacts = ik.Contacts.detect(clip)
    assert {point for _, point in contacts.weights} == {"ball"}
    assert all((weights == 1).all() for weights in contacts.weights.values())


# --- another library's contacts --------------------------------------------------------------------------------------

LABELS = Path(os.environ.get("IKCORE_CONFORMANCE", "none")) / "contacts_cmu_12_01_pybvh.json"
WALK = mocap.MOCAP / "cmu_12_01_walk.bvh"


@pytest.mark.skipif(not (LABELS.exists() and WALK.exists()), reason="no folder of clips, or of published cases")
@pytest.mark.parametrize("case", ["adaptive", "default"])
def test_a_captured_walk_beside_the_labels_of_another_library(case: str) -> None:
    """Not the truth: its adaptive rule finds long contacts (duty 0.57, 0.50), its fixed one half of them (0.19, 0.23).

    Ours lie between: they agree with the first by 0.8, and hold nearly all of the second.
    """
    found = ik.Contacts.detect(ik.Clip.read(WALK, unit=0.0564444))
    (labels,) = [one for one in json.loads(LABELS.read_text())["cases"] if one["id"] == f"pybvh/{case}"]
    for side, intervals in zip(SIDES, labels["expect"]["intervals"], strict=True):
        theirs = np.zeros(524, bool)
        for first, last in intervals:
            theirs[first : last + 1] = True
        ours = found.planted(side, "ball")
        if case == "adaptive":
            assert metrics.agreement(ours, theirs) >= 0.8
        else:
            assert (ours & theirs).sum() >= 0.9 * theirs.sum()


@pytest.mark.skipif(not WALK.exists(), reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize("factor", [0.75, 0.85, 1.15, 1.25])
@pytest.mark.parametrize(("file", "unit"), [("cmu_12_01_walk.bvh", 0.0564444), ("pab_walk.bvh", 0.01)])
def test_a_path_of_a_captured_walk_that_was_scaled(file: str, unit: float, factor: float) -> None:
    clip = ik.Clip.read(mocap.MOCAP / file, unit=unit)
    way = clip.skeleton.forward(clip.pose).positions[:, 0] * [1, 0, 1]
    clean, found = ik.Contacts.detect(clip), ik.Contacts.detect(moved(clip, (factor - 1) * way))
    for key in KEYS:
        assert (clean.planted(*key) != found.planted(*key)).mean() < 0.045, (
            key
        )  # what slides counts as still a little longer


@mocap.each_clip
def test_real_clips(given: dict[str, Any]) -> None:
    clip = mocap.read(given)
    contacts = ik.Contacts.detect(clip)
    assert all(((weights >= 0) & (weights <= 1)).all() for weights in contacts.weights.values())
    if not given["in_place"]:
        assert not contacts.treadmill.any()
    if given["file"] == "cmu_03_01_uneven_daz.bvh":  # down a floor that is not level, on feet that slide
        assert all(len(contacts.intervals(side)) >= 2 for side in SIDES)
        assert max(contacts.confidence.values()) < 0.7
    if given["file"] == "Fox.glb" and given["clip"] == "Walk":
        assert all(0.1 < weights.mean() < 0.5 for weights in contacts.weights.values())
    if given["file"] in ("pab_walk.bvh", "fair1_zombie.bvh", "Woman.gltf") and given["clip"] != "Running":
        for key in KEYS:
            assert 0.25 < contacts.planted(*key).mean() < 0.75, key  # a walk
