"""As few keys as a tolerance allows, on arrays alone: closed forms, and curves drawn as Blender draws them."""

import importlib
import itertools

import numpy as np
import pytest
from conftest import EXTENSION

from ikcore import rotations as quat

reduce = importlib.import_module(EXTENSION + ".animation.key_reduction")
rot = importlib.import_module(EXTENSION + ".rig.rotations")


def within(numbers, tolerance):
    """The error of numbers relative to a tolerance."""
    return lambda other: np.abs(other - numbers).max(axis=1) / tolerance


def reduced(numbers, tolerance, *args, **options):
    numbers = np.asarray(numbers, float).reshape(len(numbers), -1)
    return reduce.reduce_keys(numbers, within(numbers, tolerance), *args, **options)


def drawn(numbers, keys, slopes, times):
    """The values of Bezier curves with handles a third of the way, one by one, by de Casteljau's construction."""
    found = []
    for time in times:
        at = min(np.searchsorted(keys, time, side="right") - 1, len(keys) - 2)
        start, end = keys[at], keys[at + 1]
        share, third = (time - start) / (end - start), (end - start) / 3
        points = [
            numbers[start],
            numbers[start] + third * slopes[at],
            numbers[end] - third * slopes[at + 1],
            numbers[end],
        ]
        while len(points) > 1:
            points = [(1 - share) * a + share * b for a, b in itertools.pairwise(points)]
        found.append(points[0])
    return np.array(found)


T = np.arange(101.0)
CLOSED = {
    "still": np.zeros(101),
    "ramp": 3 * T - 7,
    "parabola": 0.01 * (T - 30) ** 2,
    "cubic": 1e-4 * T * (T - 40) * (T - 90),
    "two channels": np.stack([0.5 * T, 1e-4 * T**3], axis=1),
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_one_cubic_is_takes_two_keys(name):
    keys, slopes = reduced(CLOSED[name], 1e-3)
    assert keys.tolist() == [0, 100]
    numbers = CLOSED[name].reshape(101, -1)
    assert np.abs(drawn(numbers, keys, slopes, T) - numbers).max() < 1e-3


def test_slopes_of_a_cubic_are_its_own():
    numbers = np.column_stack([CLOSED["cubic"]])
    found = reduce.slopes(numbers, np.array([0, 35, 100]))
    own = np.polyder(np.poly1d(np.poly(np.array([0, 40, 90]))) * 1e-4)
    assert np.allclose(found[:, 0], own([0, 35, 100]), atol=1e-4)


def test_slopes_are_the_best():
    """The least-squares slopes agree with those of a general solver."""
    rng, keys = np.random.default_rng(3), np.array([0, 5, 6, 20, 41, 60])
    numbers = rng.normal(size=(61, 2)).cumsum(axis=0)
    units = [reduce.playback(np.zeros((61, 1)), keys, row[:, np.newaxis])[:, 0] for row in np.eye(6)]
    still = reduce.playback(numbers, keys, np.zeros((6, 2)))
    firm = np.sqrt(reduce.FIRM) * np.eye(6)
    right = np.concatenate([numbers - still, firm @ np.gradient(numbers, axis=0)[keys]])
    wanted = np.linalg.lstsq(np.concatenate([np.transpose(units), firm]), right, rcond=None)[0]
    assert np.abs(reduce.slopes(numbers, keys) - wanted).max() < 1e-7


def test_a_step_keeps_its_edge():
    numbers = np.where(T < 50, 0.0, 1.0)[:, np.newaxis]
    keys, slopes = reduced(numbers, 1e-3)
    assert {49, 50} <= set(keys.tolist())
    assert len(keys) < 20
    between = drawn(numbers, keys, slopes, np.arange(0, 100.1, 0.5))
    assert between.min() > -0.1
    assert between.max() < 1.1


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.3])
@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001])
def test_no_frame_is_off_by_more(noise, tolerance):
    rng = np.random.default_rng(5)
    turns = rng.uniform(0.02, 0.3, 4)
    numbers = np.sin(np.arange(300.0)[:, np.newaxis] * turns) + rng.normal(0, noise, (300, 4))
    keys, slopes = reduced(numbers, tolerance)
    assert np.abs(drawn(numbers, keys, slopes, range(300)) - numbers).max() <= tolerance * (1 + 1e-9)
    assert np.abs(reduce.playback(numbers, keys, slopes) - drawn(numbers, keys, slopes, range(300))).max() < 1e-12
    halves = np.arange(0.5, 299)
    smooth = drawn(numbers, np.arange(300), np.gradient(numbers, axis=0), halves)
    assert np.abs(drawn(numbers, keys, slopes, halves) - smooth).max() <= reduce.BETWEEN * tolerance * (1 + 1e-9)
    if noise < tolerance / 3:
        assert len(keys) < 150


def test_smooth_curves_take_few_keys():
    """A sine: a cubic over h is off by h^4 / 384 of the fourth derivative, so there is a least number."""
    numbers, tolerance = np.sin(0.05 * np.arange(1001.0)), 1e-3
    keys, _ = reduced(numbers, tolerance)
    least = 1000 * 0.05 / (384 * tolerance) ** 0.25
    assert len(keys) < 2 * least


def test_a_key_on_every_frame_is_exact():
    """A tolerance of nearly zero terminates, with all keys."""
    numbers = np.random.default_rng(1).normal(size=(200, 3))
    keys, slopes = reduced(numbers, 1e-15)
    assert keys.tolist() == list(range(200))
    assert np.array_equal(reduce.playback(numbers, keys, slopes), numbers)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_frames(count):
    keys, slopes = reduced(np.arange(count) ** 2.0, 0.1)
    assert keys.tolist() == sorted({0, count - 1})
    assert slopes.shape == (len(keys), 1)


def test_fixed_keys_stay():
    keys, _ = reduced(CLOSED["ramp"], 0.1, [20, 77])
    assert keys.tolist() == [0, 20, 77, 100]


def test_a_cycle_goes_on_as_it_begins():
    numbers = np.column_stack([np.sin(T * 2 * np.pi / 100 + 1), np.cos(T * 2 * np.pi / 100)])
    _, slopes = reduced(numbers, 1e-3, cycle=True)
    assert np.abs(slopes[0] - slopes[-1]).max() < 1e-6
    wanted = 2 * np.pi / 100 * np.array([np.cos(1), 0])
    assert np.abs(slopes[0] - wanted).max() < 1e-3


def test_what_checks_raise_ends_it():
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reduced(np.random.default_rng(1).normal(size=(200, 1)), 1e-9, check=check)
    assert len(calls) == 3


# --- limbs -----------------------------------------------------------------------------------------------------------

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZYX")


def forward(rest, offsets, moved, turned, inherits):
    """Places and rotations of a chain, matrix by matrix."""
    places, turns = [], []
    for n, (still, offset) in enumerate(zip(rest, offsets, strict=True)):
        above = turns[-1] if n else np.tile(np.eye(3), (len(moved), 1, 1))
        place = places[-1] if n else np.zeros((len(moved), 3))
        places.append(place + np.einsum("fij,fj->fi", above, offset + (moved if n == 0 else 0 * moved)))
        turns.append((above if inherits[n] else np.eye(3)) @ still @ quat.to_matrix(turned[n]))
    return places, turns


@pytest.mark.parametrize("inherits", [(True, True, True), (True, True, False)])
@pytest.mark.parametrize("mode", MODES)
def test_moved_is_what_forward_kinematics_say(mode, inherits):
    """The first bone of the chain has location channels; the last one keeps its first number."""
    rng, frames = np.random.default_rng(2), 9
    rest, offsets = quat.to_matrix(quat.normalize(rng.normal(size=(3, 4)))), rng.normal(size=(3, 3))
    before, after = ([rng.normal(size=(frames, 4 if mode in MODES[:2] else 3)) for _ in range(3)] for _ in range(2))
    after[2][:, 0] = before[2][:, 0]
    moved = rng.normal(size=(2, frames, 3))
    ends = []
    for place, numbers in zip(moved, (before, after), strict=True):
        ends.append(forward(rest, offsets, place, [rot.quaternions(mode, each) for each in numbers], inherits))
    (places, turns), (places_after, turns_after) = ends
    bones = [
        reduce.Bone(place, quat.from_matrix(turn), inherit, mode, numbers)
        for place, turn, inherit, numbers in zip(places, turns, inherits, before, strict=True)
    ]
    bones[0].axes = np.tile(np.eye(3), (frames, 1, 1))
    curves, wanted = [], []
    for bone in range(3):
        for index in range(bone == 2, before[bone].shape[1]):
            curves.append(reduce.Curve(bone, "rotation", index, before[bone][:, index]))
            wanted.append(after[bone][:, index])
    curves += [reduce.Curve(0, "location", index, moved[0][:, index]) for index in range(3)]
    limb = reduce.Limb(bones, curves)
    shifts, spins = limb.bone_transforms(np.column_stack([*wanted, moved[1]]))
    for n in range(3):
        assert np.abs(places[n] + shifts[n] - places_after[n]).max() < 1e-9
        assert np.abs(quat.to_matrix(spins[n]) @ turns[n] - turns_after[n]).max() < 1e-9
        point = np.array([0.3, -0.2, 0.5])
        there, then = places[n] + turns[n] @ point, places_after[n] + turns_after[n] @ point
        assert np.abs(there + reduce.tip_translation(shifts[n], spins[n], there - places[n]) - then).max() < 1e-9
