"""Strides fitted to stairs: one step each, or two, feet on treads, no surge; elsewhere as they were."""

from __future__ import annotations

import functools

import gaits
import numpy as np
import pytest
from test_bake import FLOOR, Array, feet, positions, same, stairs, translations, walk

import ikcore as ik
from ikcore import prepare, terrain

RUN, RISE, BEGIN = 0.35, 0.15, 2.0


@functools.cache
def baked(speed: float = 1.2, stride: float = 0.4) -> ik.Baked:
    """A walk whose strides are `speed` * 0.55 s long, on the stairs of test_bake."""
    return bake(gaits.walking(speed, seconds=6).clip, stairs(), stride)


def bake(clip: ik.Clip, ground: ik.Ground, stride: float) -> ik.Baked:
    fitted = prepare.fit_strides(clip, ik.Contacts.detect(clip), ground, share=stride)
    settings = ik.BakeSettings(unlock=0.2 + fitted.drag)
    return ik.bake_feet(fitted.clip, ground, contacts=ik.Contacts.detect(clip), settings=settings)


def footfalls(of: ik.Baked) -> Array:
    """Position of each contact at its middle, both feet in temporal order: the ball (n, 3)."""
    found = []
    soles = of.feet.positions(of.clip.skeleton, of.clip.pose)
    for leg in of.feet:
        for start, stop in of.contacts.intervals(leg.name):
            frame = (start + stop - 1) // 2
            found.append((frame, soles[leg.name, "ball"][frame]))
    return np.array([place for _, place in sorted(found, key=lambda each: each[0])])


def rises(of: ik.Baked) -> Array:
    """Rise of the strides on the stairs, in steps."""
    falls = footfalls(of)
    up = np.diff(falls[:, 1]) / RISE
    on = (falls[:-1, 2] > BEGIN + RUN) & (falls[1:, 2] < BEGIN + 11 * RUN)
    return up[on]


@pytest.mark.parametrize("speed", [0.75, 0.9, 1.0, 1.1, 1.2, 1.3])
def test_every_stride_climbs_as_many_steps(speed: float) -> None:
    """Left as they are some climb none, or two where others climb one."""
    on = rises(baked(speed))
    assert len(on) >= 3
    assert np.ptp(np.round(on)) == 0
    assert np.abs(on - np.round(on)).max() < 0.1


def test_unfitted_strides_surge_and_say_so() -> None:
    left = baked(1.0, 0.0)
    assert np.ptp(np.round(rises(left))) >= 1
    assert [note.remedy for note in left.notes] == ["fit_strides"]
    clip = gaits.walking(1.0, seconds=6).clip
    ready = prepare.prepare(clip, stairs(), stride=0.4)
    (note,) = ready.notes
    assert note.startswith("strides are 0.")
    assert not ready.still_true(left.notes)


def test_the_body_goes_up_more_evenly() -> None:
    def surge(of: ik.Baked) -> float:
        hips = positions(of.clip, of.clip.skeleton.names[0])
        on = (hips[:, 2] > BEGIN + 2 * RUN) & (hips[:, 2] < BEGIN + 9 * RUN)
        speed = np.diff(hips[:, 1])[on[1:]] * of.clip.fps
        return float(speed.std())

    assert surge(baked(0.9)) < 0.6 * surge(baked(0.9, 0.0))


def test_feet_stand_on_treads() -> None:
    of = baked(1.2)
    soles = of.feet.positions(of.clip.skeleton, of.clip.pose)
    for leg in of.feet:
        for start, stop in of.contacts.intervals(leg.name):
            frame = (start + stop - 1) // 2
            points = np.stack([soles[leg.name, point][frame] for point in ("heel", "ball")])
            if (points[:, 2] > BEGIN + 0.1).all():
                under = stairs().at(points, above=0.05, below=0.5).height
                assert np.ptp(under) < 1e-6  # none over an edge


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
def test_no_stride_changes_by_more_than_that(share: float) -> None:
    clip = gaits.walking(1.2, seconds=6).clip
    of = bake(clip, stairs(), share)
    along = positions(of.clip, of.clip.skeleton.names[0])[:, 2]
    middles = sorted((start + stop - 1) // 2 for leg in of.feet for start, stop in of.contacts.intervals(leg.name))
    was = positions(clip, clip.skeleton.names[0])[:, 2]
    ratios = np.diff(along[middles]) / np.diff(was[middles])
    assert np.abs(ratios - 1).max() <= share + 0.05  # the pelvis also gives a little to where feet are


def test_where_ground_is_level_nothing_changes() -> None:
    contacts = ik.Contacts.detect(walk(), feet())
    for ground in (FLOOR, ik.Ground.plane([0, 1, -0.15])):
        assert prepare.fit_strides(walk(), contacts, ground, share=0.5).clip is walk()


def test_who_walks_another_way_is_fitted_alike() -> None:
    """Turned about the vertical and elsewhere, with its stairs."""
    clip, turn = gaits.walking(1.2, seconds=6).clip, ik.rotations.from_axis_angle([0.0, 1, 0], 2.0)
    away = np.array([3.0, 0, -5])
    moved = translations(clip).copy()
    moved[:, 0] = ik.rotations.rotate(turn, moved[:, 0]) + away
    turned = clip.pose.rotations.copy()
    turned[:, 0] = ik.rotations.multiply(turn, turned[:, 0])
    there = ik.Clip(clip.skeleton, ik.Pose(turned, moved), clip.fps)
    other = bake(there, stairs().moved(rotations=turn, translations=away), 0.4)
    expected = ik.rotations.rotate(turn, footfalls(baked(1.2))) + away
    assert np.abs(footfalls(other) - expected).max() < 0.03  # rounding may choose the next of two places as good


def test_on_a_bend_feet_keep_to_the_way() -> None:
    """A walk in a circle over stairs across it stays as far from the middle, and looks ahead."""
    clip = gaits.walking(1.0, seconds=6).clip
    radius, names = 4.0, clip.skeleton.names[0]
    along = positions(clip, names)[:, 2]
    turn = ik.rotations.from_axis_angle([0.0, 1, 0], -along / radius)
    moved, turned = translations(clip).copy(), clip.pose.rotations.copy()
    moved[:, 0, 2] = 0
    moved[:, 0] = ik.rotations.rotate(turn, moved[:, 0] + [radius, 0, 0])
    turned[:, 0] = ik.rotations.multiply(turn, turned[:, 0])
    bent = ik.Clip(clip.skeleton, ik.Pose(turned, moved), clip.fps)
    ground = terrain.stairs(12, rise=0.15, run=0.35, width=20, landing=6)
    of = bake(bent, ground, 0.3)
    hips = positions(of.source, names)
    assert np.abs(np.hypot(hips[:, 0], hips[:, 2]) - radius).max() < 0.15
    assert not same(of.source, bent)


def test_a_loop_ground_that_moves_and_a_share_out_of_range_are_refused() -> None:
    clip, contacts = walk(), ik.Contacts.detect(walk(), feet())
    with pytest.raises(ValueError, match="clip: expected no loop"):
        prepare.fit_strides(ik.Clip(clip.skeleton, clip.pose, clip.fps, loop=True), contacts, stairs())
    with pytest.raises(ValueError, match="ground: expected one at rest"):
        prepare.fit_strides(clip, contacts, FLOOR.moved(translations=np.zeros((len(clip), 3))))
    with pytest.raises(ValueError, match="share: expected"):
        prepare.fit_strides(clip, contacts, stairs(), share=1)
