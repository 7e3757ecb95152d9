"""Everything that can be chosen about a bake makes the difference that is promised."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import gaits
import numpy as np
import pytest
from gaits import ASIDE, Plant
from test_bake import (
    ACROSS,
    FLOOR,
    UPHILL,
    Array,
    apart,
    box,
    bumps,
    feet,
    positions,
    same,
    sliding,
    soles,
    stairs,
    stances,
    translations,
    walk,
)

import ikcore as ik


def bake(clip: ik.Clip, ground: ik.Ground = FLOOR, **chosen: Any) -> ik.Clip:
    return ik.bake_feet(clip, ground, feet=feet(), settings=ik.BakeSettings(**chosen)).clip


@functools.cache
def standing(height: float = 0.82) -> ik.Clip:
    plants = {side: [Plant(-1, 99, (x, 0, 0))] for side, x in ASIDE.items()}
    return gaits.gait(plants, 1, 60, gaits.above(height)).clip


@functools.cache
def swaying() -> ik.Clip:
    """Stands, and hips go 0.3 m ahead and back at a height of 0.75 m."""
    plants = {side: [Plant(-1, 99, (x, 0, 0))] for side, x in ASIDE.items()}
    return gaits.gait(plants, 2, 60, gaits.above(0.75, lambda times: 0.3 * np.sin(np.pi * times / 2) ** 2)).clip


def tilted(clip: ik.Clip, joint: str = "LeftFoot") -> Array:
    """How steep a joint is that is level in the clip, across and ahead, by tangents."""
    turned = clip.skeleton.forward(clip.pose).rotations[:, clip.skeleton.index(joint)]
    normal = ik.rotations.rotate(turned, [0.0, 1, 0])
    return np.asarray(-normal[:, [0, 2]] / normal[:, 1:2])


# --- feet ------------------------------------------------------------------------------------------------------------


def test_lock() -> None:
    clip = sliding(walk(), 0.1)
    locked, loose = bake(clip), bake(clip, lock=False)
    for side in ("left", "right"):
        for stance in stances(walk(), side):
            at, was = soles(locked)[side, "ball"][stance], soles(clip)[side, "ball"][stance]
            assert np.ptp(at, axis=0).max() < 2e-3
            assert np.ptp(was, axis=0).max() > 0.02
            np.testing.assert_allclose(soles(loose)[side, "ball"][stance], was, atol=1e-9)


def test_tolerance() -> None:
    clip = sliding(walk(), 0.01)  # less than 7 mm in a stance
    assert same(bake(clip, tolerance=0.01), clip)
    assert not same(bake(clip), clip)


def test_unlock() -> None:
    """A foot that slides by 0.3 m is planted once, or again before it is that far from its source."""
    clip = sliding(walk(), 0.5)
    contacts = ik.Contacts.detect(walk(), feet())
    for unlock, most in ((10.0, 0.001), (0.1, 0.2)):
        chosen = ik.BakeSettings(unlock=unlock)
        baked = ik.bake_feet(clip, FLOOR, feet=feet(), contacts=contacts, settings=chosen).clip
        away = np.abs(soles(baked)["left", "ball"] - soles(clip)["left", "ball"])
        for stance in stances(walk(), "left"):
            slid = np.ptp(soles(baked)["left", "ball"][stance], axis=0).max()
            if unlock > 1:
                assert slid < most
            else:
                assert away[stance].max() < most
                assert slid > 0.05


def test_blend() -> None:
    """Farther than this from its stances a foot is where it is in the clip."""
    clip = sliding(walk(), 0.05)
    short, long = (bake(clip, blend=blend) for blend in (0.05, 0.3))
    for baked, back in ((short, True), (long, False)):
        away = np.abs(soles(baked)["left", "ball"] - soles(clip)["left", "ball"]).max(axis=1)
        swings = [slice(a.stop + 16, b.start - 16) for a, b in pairwise(stances(walk(), "left"))]
        assert len(swings) > 1
        for swing in swings:
            assert bool(away[swing].max() < 1e-9) == back


@pytest.mark.parametrize("clearance", [0.0, 0.02, 0.05])
def test_clearance(clearance: float) -> None:
    """On bumps that a foot swings over: as high above them, where it is that high in the clip."""
    ground = FLOOR + box(0.06, (0.75, 0.95), (0, 1))
    baked = bake(walk(), ground, clearance=clearance)
    lowest = []
    for point in ("heel", "ball", "toe"):
        at, was = soles(baked)["left", point], soles(walk())["left", point]
        above = at[:, 1] - ground.at(at, above=1, below=1).height
        over = (at[:, 2] > 0.75) & (at[:, 2] < 0.95)
        lowest.append((above - np.minimum(was[:, 1], clearance))[over].min())
    assert min(lowest) > -1e-3
    assert min(lowest) < 0.03  # nor much higher than need be


def test_align() -> None:
    for align in (0.0, 0.5, 1.0):
        for ground, slope in ((ACROSS, [-0.2, 0]), (UPHILL, [0, 0.2])):
            np.testing.assert_allclose(
                tilted(bake(standing(), ground, align=align))[30], np.multiply(slope, align), atol=1e-9
            )


def test_pitch_and_roll() -> None:
    five = np.tan(np.radians(5))
    np.testing.assert_allclose(tilted(bake(standing(), UPHILL, pitch=5, roll=0))[30], [0, five], atol=1e-9)
    np.testing.assert_allclose(tilted(bake(standing(), ACROSS, roll=5, pitch=0))[30], [-five, 0], atol=1e-9)


def test_toe() -> None:
    """A board under the toes only: they bend up, as far as they may; the rest the foot does, which stays else."""
    ground = FLOOR + box(0.014, (0.2, 2))
    for most in (0, 5, 40):
        baked = bake(standing(), ground, toe=most)
        bend, pitch = (np.degrees(np.arctan(tilted(baked, f"Left{joint}")[30, 1])) for joint in ("ToeBase", "Foot"))
        needed = np.degrees(np.arctan(0.025 / 0.07) - np.arctan((0.025 - 0.014) / 0.07))
        assert min(most, needed) - 0.5 < bend - pitch < min(most, needed) + 1e-3
        assert pitch < 1e-6 if most == 40 else pitch > 1
        assert 0.014 - ik.BakeSettings().tolerance < soles(baked)["left", "toe"][30, 1] < 0.018


# --- the body --------------------------------------------------------------------------------------------------------


def test_pelvis() -> None:
    """One foot on a block: the lowest rule leaves the body with the other, the balanced one takes it up a bit."""
    ground = FLOOR + box(0.1, (-1, 1), (0, 1))
    lowest, balanced = (
        ik.bake_feet(swaying(), ground, feet=feet(), settings=ik.BakeSettings(pelvis=rule)).pelvis_offset[30]
        for rule in ("lowest", "balanced")
    )
    assert lowest == pytest.approx(0, abs=1e-6)  # a leg that is nearly straight in few frames holds it back slightly
    assert 0.01 < balanced < 0.1


def test_lift() -> None:
    """Feet that slide to and fro under still hips are planted below them, where legs as long push the body up."""
    way = translations(swaying())[:, :1] * [0, 0, 1]
    clip = gaits.moved(swaying(), -way[:, 0])
    contacts = ik.Contacts.detect(clip, feet(), modes="always")
    for lift in (None, 0.02, 0.0):
        settings = ik.BakeSettings(lift=lift, unlock=10, shift=0)
        rise = ik.bake_feet(clip, FLOOR, feet=feet(), contacts=contacts, settings=settings).pelvis_offset
        assert rise.max() == pytest.approx(
            0.05 if lift is None else lift * 0.85 / 0.87, abs=0.015 * (lift is None) + 1e-9
        )


def test_drop() -> None:
    """Feet that are held back pull the body down."""
    clip = sliding(walk(), 0.3)
    contacts = ik.Contacts.detect(walk(), feet())

    def rise(**chosen: Any) -> Array:
        settings = ik.BakeSettings(**chosen)
        return ik.bake_feet(clip, FLOOR, feet=feet(), contacts=contacts, settings=settings).pelvis_offset

    free = rise()
    assert free.min() < -0.01
    assert rise(drop=0.005).min() == pytest.approx(-0.005 * 0.85 / 0.87, rel=0.02)


def test_shift() -> None:
    """A foot stands 0.9 m ahead of the hips, farther than a leg reaches: the body goes there, so far as it may."""
    plants = {"left": [Plant(-1, 99, (0.1, 0, 0))], "right": [Plant(-1, 99, (-0.1, 0, 0))]}
    clip = gaits.gait(plants, 2, 60, gaits.above(0.8)).clip
    slid = gaits.moved(clip, np.sin(np.arange(len(clip)) / len(clip) * np.pi)[:, np.newaxis] * [0, 0, 1.6])
    contacts = ik.Contacts.detect(slid, feet(), modes="always")
    for most in (0.0, 0.05, 0.1):
        settings = ik.BakeSettings(shift=most, unlock=10)
        baked = ik.bake_feet(slid, FLOOR, feet=feet(), contacts=contacts, settings=settings).clip
        away = (translations(baked) - translations(slid))[:, 0, [0, 2]]
        assert np.abs(away).max() == pytest.approx(most * 0.85 / 0.87, abs=1e-9)


def test_straight() -> None:
    """A leg is never straighter than this, nor than it is in the clip."""
    bent = standing(0.7)
    length = 0.85
    ground = FLOOR + box(0.25, (-1, 1), (0, 1))
    for straight in (0.9, 0.95):
        baked = bake(bent, ground, straight=straight, pelvis="balanced")
        reach = positions(baked, "RightFoot") - positions(baked, "RightUpLeg")
        was = positions(bent, "RightFoot") - positions(bent, "RightUpLeg")
        limit = np.maximum(np.sqrt((was * was).sum(axis=1)), straight * length)
        assert (np.sqrt((reach * reach).sum(axis=1)) <= limit + 1e-9).all()


def test_tilt() -> None:
    upright, half, whole = (bake(standing(), ACROSS, tilt=tilt) for tilt in (None, 0.5, 1.0))
    assert np.array_equal(upright.pose.rotations[:, 0], standing().pose.rotations[:, 0])
    halfway, all_of_it = tilted(half, "Hips")[30, 0], tilted(whole, "Hips")[30, 0]
    assert -0.2 <= all_of_it < -0.02  # feet near each other count less
    assert halfway == pytest.approx(all_of_it / 2, rel=1e-6)


@pytest.mark.parametrize("ground", [ACROSS, bumps(), stairs()], ids=["across", "bumps", "stairs"])
def test_weight(ground: ik.Ground) -> None:
    clip = sliding(walk(), 0.05)
    assert same(bake(clip, ground, weight=0), clip)
    whole, half = (ik.bake_feet(clip, ground, settings=ik.BakeSettings(weight=share)) for share in (1, 0.5))
    np.testing.assert_allclose(half.pelvis_offset, whole.pelvis_offset / 2, atol=1e-12)
    assert 0.2 * apart(whole.clip, clip) < apart(half.clip, clip) < 0.8 * apart(whole.clip, clip)


# --- what is refused, and presets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("tolerance", v) for v in (-0.1, 2, np.nan)],
        *[("unlock", v) for v in (0, np.nan)],
        *[("blend", v) for v in (-1, 11)],
        *[("clearance", v) for v in (-0.1, 1.1)],
        *[("align", v) for v in (-0.1, 1.1)],
        *[("pitch", v) for v in (-1, 81)],
        *[("roll", v) for v in (-1, 81)],
        *[("toe", v) for v in (-1, 91)],
        *[("lift", v) for v in (-0.1, np.nan, np.inf)],
        *[("drop", v) for v in (-0.1, np.nan)],
        *[("shift", v) for v in (-0.1, np.nan)],
        *[("straight", v) for v in (0.4, 1.1)],
        *[("tilt", v) for v in (-0.1, 1.1)],
        *[("weight", v) for v in (-0.1, 1.1, np.nan)],
        ("pelvis", "highest"),
    ],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected "):
        ik.BakeSettings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, None) for name in ("unlock", "straight", "blend")],
        *[("weight", value) for value in (True, "1")],
        *[("lock", value) for value in (3, None)],
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name}: expected "):
        ik.BakeSettings(**{name: value})


def test_nothing_is_done_by_no_weight() -> None:
    """And it is said why."""
    baked = ik.bake_feet(walk(), UPHILL, feet=feet(), settings=ik.BakeSettings(weight=0.0))
    assert apart(baked.clip, walk()) == 0
    assert "nothing has changed: its weight is 0" in baked.notes


def test_presets() -> None:
    assert ik.BakeSettings.preset("default") == ik.BakeSettings()
    assert ik.BakeSettings.preset("heights") == ik.BakeSettings(lock=False)
    assert ik.BakeSettings.preset("lock") == ik.BakeSettings(align=0)
    assert ik.BakeSettings.preset("book") == ik.BakeSettings(pelvis="lowest")
    with pytest.raises(ValueError, match="preset: expected one of default, heights, lock, book"):
        ik.BakeSettings.preset("best")


def test_what_is_no_settings_is_refused() -> None:
    wrong: Any = {"lock": False}
    with pytest.raises(TypeError, match=r"ik\.BakeSettings"):
        ik.bake_feet(swaying(), FLOOR, feet=feet(), settings=wrong)
    for frames in (100, slice(1, 2), (1, 2, 3), (1.5, 20)):
        with pytest.raises(TypeError, match="whole numbers"):
            ik.bake_feet(walk(), FLOOR, frames=frames)  # type: ignore[arg-type]
    for name in ("feet", "contacts"):
        with pytest.raises(TypeError, match=f"^{name}: expected {name.title()}, got int"):
            ik.bake_feet(walk(), FLOOR, **{name: 3})  # type: ignore[arg-type]
