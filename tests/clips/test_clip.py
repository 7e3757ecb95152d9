"""Clips: what is done to them, against joints looked at one by one; and the walk of which everything is known."""

from __future__ import annotations

import dataclasses
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from reference import rotate as rotated

import ikcore as ik
from ikcore import samples

Array = NDArray[Any]

LEG = ik.Skeleton(
    [-1, 0, 1, 0, 3, 0],
    np.array([[0, 2, 0], [0.3, 0, 0], [0, -1, 0], [-0.3, 0, 0], [0, -1, 0.1], [0, 1, 0]]),
    names=["Hips", "LeftLeg", "LeftFoot", "RightLeg", "RightFoot", "Head"],
)


def clip_of(
    skeleton: ik.Skeleton = LEG,
    frames: int = 9,
    dtype: Any = np.float64,
    seed: int = 0,
    scaled: bool = False,
    **fields: Any,
) -> ik.Clip:
    random = np.random.default_rng(seed)
    shape = (frames, len(skeleton))
    turned = random.normal(size=(*shape, 4))
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    moved = random.normal(size=(*shape, 3)).astype(dtype)
    scales = random.uniform(0.5, 2, (*shape, 1)) * np.ones(3) if scaled else None
    parts = [turned.astype(dtype), moved] + ([] if scales is None else [scales.astype(dtype)])
    return ik.Clip(skeleton, ik.Pose(*parts), **({"fps": 30} | fields))


def world(clip: ik.Clip) -> tuple[Array, Array]:
    """Positions, and rotations as matrices."""
    found = clip.skeleton.forward(clip.pose)
    return found.positions, ik.rotations.to_matrix(found.rotations)


# --- what a clip is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "error", "sentence"),
    [
        ({"skeleton": "leg"}, TypeError, "skeleton: expected a Skeleton, got str"),
        ({"pose": np.zeros(3)}, TypeError, "pose: expected a Pose, got ndarray"),
        ({"pose": LEG.rest}, ValueError, r"pose: expected one leading axis, time, of one frame or more, got \(\)"),
        ({"pose": clip_of().pose[:0]}, ValueError, r"of one frame or more, got \(0,\)"),
        (
            {"skeleton": ik.Skeleton.chain([[0, 0, 0]])},
            ValueError,
            "pose: expected 1 joints as the skeleton has, got 6",
        ),
        ({"fps": 0}, ValueError, "fps: expected a positive number, got 0"),
        ({"fps": float("nan")}, ValueError, "fps: expected a positive number, got nan"),
        ({"unit": -1}, ValueError, "unit: expected a positive number, got -1"),
        ({"up": "z"}, ValueError, "up: expected 'Y' or 'Z', got 'z'"),
        ({"channels": ["XYZ"]}, ValueError, "channels: expected one for each of the 6 joints, got 1"),
        (
            {"channels": ["XYX"] * 6},
            ValueError,
            "channels: expected letters of 'xyzXYZ', none of them twice, got 'XYX'",
        ),
        ({"channels": ["XYW"] * 6}, ValueError, "got 'XYW'"),
    ],
)
def test_what_is_no_clip_is_refused(fields: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        dataclasses.replace(clip_of(), **fields)


def test_a_clip_is_immutable_and_pickles() -> None:
    clip = clip_of(channels=["XYZ"] * 6, loop=True, up="Z", unit=0.01)
    with pytest.raises(dataclasses.FrozenInstanceError):
        clip.fps = 3  # type: ignore[misc]
    back = pickle.loads(pickle.dumps(clip))
    assert_array_equal(back.pose.rotations, clip.pose.rotations)
    for name in ("skeleton", "fps", "loop", "up", "unit", "channels"):
        assert getattr(back, name) == getattr(clip, name)
    assert repr(clip) == "Clip(9 frames of 6 joints at 30 fps, 0.266667 s, loop, Z up, unit 0.01 m)"


# --- slices ----------------------------------------------------------------------------------------------------------


def test_slices_are_those_of_lists() -> None:
    clip = clip_of(frames=20)
    for frames in (slice(3, 7), slice(None, 5), slice(-4, None), slice(2, 19, 3), slice(0, 20), slice(4, 5)):
        part = clip[frames]
        assert_array_equal(part.pose.rotations, clip.pose.rotations[frames])
        assert_array_equal(part.pose.translations, np.asarray(clip.pose.translations)[frames])
        assert part.fps == 30 / (frames.step or 1)
    for wrong in (slice(5, 5), slice(30, 40), slice(None, None, -1)):
        with pytest.raises(ValueError, match=r"expected frames among 0 to 19, ascending, got \[\S*\]$"):
            clip[wrong]
    with pytest.raises(TypeError, match=re.escape("expected a slice such as clip[10:20], got 3")):
        clip[3]  # type: ignore[index]


def test_part_of_a_loop_is_no_loop() -> None:
    clip = clip_of(loop=True)
    assert clip[:].loop
    assert not clip[:-1].loop
    assert not clip[1:].loop
    assert not clip.cut(0.1).loop


def test_cut_by_seconds_takes_both_ends() -> None:
    clip = clip_of(frames=31)
    assert_array_equal(clip.cut(0.2, 0.5).pose.rotations, clip.pose.rotations[6:16])
    assert_array_equal(clip.cut(0.19, 0.51).pose.rotations, clip.pose.rotations[6:16])
    assert_array_equal(clip.cut(-0.01, 1.01).pose.rotations, clip.pose.rotations)
    assert len(clip.cut()) == 31
    assert len(clip.cut(0, 1)) == 31
    assert len(clip.cut(0.5, 0.5)) == 1
    for start, end in ((-0.1, 0.5), (0.5, 0.4), (0, 1.1), (float("nan"), 1)):
        with pytest.raises(ValueError, match="expected 0 <= start <= end <= 1 seconds"):
            clip.cut(start, end)


# --- resample --------------------------------------------------------------------------------------------------------


def test_frames_at_the_times_of_old_ones_are_the_same(dtype: Any) -> None:
    clip = clip_of(frames=13, dtype=dtype, scaled=True)
    for fps, step_old, step_new in ((60, 1, 2), (15, 2, 1), (45, 2, 3), (20, 3, 2), (30, 1, 1), (90, 1, 3)):
        other = clip.resample(fps)
        assert (other.fps, len(other)) == (fps, 12 * fps // 30 + 1)
        for name in ("translations", "scales"):
            assert_array_equal(getattr(other.pose, name)[::step_new], getattr(clip.pose, name)[::step_old])
        assert_allclose(other.pose.rotations[::step_new], clip.pose.rotations[::step_old], atol=1e-6)
        assert other.pose.dtype == dtype


def test_between_frames_rotations_turn_the_shorter_way_and_the_rest_moves_straight() -> None:
    arm = ik.Skeleton([-1], [[0, 0, 0]])
    turned = ik.rotations.exp([[[0, 0, 0.2]], [[0, 0, 0.8]]]) * [[[1]], [[-1]]]  # the same rotation, the other sign
    clip = ik.Clip(arm, ik.Pose(turned, [[[0, 0, 0]], [[8, 4, 2]]], [[[1, 1, 1]], [[2, 3, 4]]]), 10)
    quarter = clip.resample(40).pose[1]
    assert_allclose(ik.rotations.log(quarter.rotations), [[0, 0, 0.35]], atol=1e-12)
    assert quarter.translations is not None
    assert quarter.scales is not None
    assert quarter.translations.tolist() == [[2, 1, 0.5]]
    assert quarter.scales.tolist() == [[1.25, 1.5, 1.75]]


def test_odd_rates_keep_their_time() -> None:
    """A joint that moves at an even speed does so at any rate."""
    clip = ik.Clip(
        ik.Skeleton([-1], [[0, 0, 0]]), ik.Pose(np.eye(4)[[0] * 100, None], np.ones((100, 1, 3))), 1 / 0.0083333
    )
    moving = dataclasses.replace(
        clip, pose=ik.Pose(clip.pose.rotations, np.arange(100)[:, None, None] / clip.fps * np.ones(3))
    )
    for fps in (30, 24, 59.94, 119, 400):
        other = moving.resample(fps)
        assert other.pose.translations is not None
        assert_allclose(other.pose.translations[:, 0, 0], np.arange(len(other)) / fps, atol=1e-12)
        assert moving.duration - 1 / fps < other.duration <= moving.duration + 1e-6
    for wrong in (0, -1, float("inf")):
        with pytest.raises(ValueError, match="fps: expected a positive number"):
            moving.resample(wrong)


def test_a_loop_keeps_both_ends() -> None:
    clip = clip_of(frames=41, loop=True)
    other = clip.resample(25)
    assert (len(other), other.loop) == (34, True)  # 33.3 steps
    assert other.duration == pytest.approx(clip.duration, abs=1e-12)
    for frame in (0, -1):
        assert_array_equal(np.asarray(other.pose.translations)[frame], np.asarray(clip.pose.translations)[frame])
    assert len(clip.resample(0.01)) == 2
    assert len(clip_of(frames=1, loop=True).resample(60)) == 1


# --- mirror ----------------------------------------------------------------------------------------------------------

SIDE = {"LeftLeg": "RightLeg", "RightLeg": "LeftLeg", "LeftFoot": "RightFoot", "RightFoot": "LeftFoot"}


def with_rest(seed: int = 3) -> ik.Skeleton:
    """The same legs, not even the same on both sides, with rotations at rest."""
    rest = np.random.default_rng(seed).normal(size=(6, 4))
    return ik.Skeleton(LEG.parents, LEG.offsets, rest, LEG.names)


@pytest.mark.parametrize("skeleton", [LEG, with_rest()], ids=["plain", "with rest"])
def test_every_joint_is_where_its_partners_image_is(skeleton: ik.Skeleton, dtype: Any) -> None:
    for scaled in (False, True):
        clip = clip_of(skeleton, dtype=dtype, scaled=scaled)
        other = clip.mirror()
        partners = [skeleton.index(SIDE.get(name, name)) for name in skeleton.names]
        assert_allclose(
            world(other)[0], world(clip)[0][:, partners] * [-1, 1, 1], atol=1e-5 if dtype == np.float32 else 1e-12
        )
        assert other.pose.dtype == dtype


def test_uneven_scales_go_with_the_axes() -> None:
    """At rest every joint is turned some other way, by right angles."""
    random = np.random.default_rng(5)
    quarters = [ik.rotations.from_axis_angle(axis, np.pi / 2 * np.arange(4)) for axis in np.eye(3)]
    rest = ik.rotations.multiply(quarters[0][random.integers(0, 4, 6)], quarters[1][random.integers(0, 4, 6)])
    skeleton = ik.Skeleton(LEG.parents, LEG.offsets, rest, LEG.names)
    clip = clip_of(skeleton)
    scales = random.uniform(0.5, 2, (9, 6, 3))
    scaled = dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, clip.pose.translations, scales))
    partners = [skeleton.index(SIDE.get(name, name)) for name in skeleton.names]
    assert_allclose(world(scaled.mirror())[0], world(scaled)[0][:, partners] * [-1, 1, 1], atol=1e-12)


def test_bones_turn_as_their_partners_images_do() -> None:
    """From rest: a turn in the world about (x, y, z) by an angle becomes one about (x, -y, -z)."""
    skeleton = with_rest()
    clip = clip_of(skeleton)
    other = clip.mirror()
    assert_allclose(other.skeleton.rest.rotations, skeleton.rest.rotations)
    rest = ik.rotations.to_matrix(skeleton.forward(skeleton.rest).rotations)
    flip = np.diag([-1.0, 1, 1])
    for joint, name in enumerate(skeleton.names):
        partner = skeleton.index(SIDE.get(name, name))
        came = world(clip)[1][:, partner] @ rest[partner].T
        assert_allclose(world(other)[1][:, joint] @ rest[joint].T, flip @ came @ flip, atol=1e-12)


def test_mirrored_twice_is_the_same() -> None:
    clip = clip_of(channels=["xyzXYZ", "ZXY", "XYZ", "YXZ", "", "X"])
    twice = clip.mirror().mirror()
    assert_array_equal(twice.pose.rotations, clip.pose.rotations)
    assert_array_equal(twice.pose.translations, clip.pose.translations)
    assert twice.skeleton == clip.skeleton
    assert twice.channels == clip.channels
    assert clip.mirror().channels == ("xyzXYZ", "YXZ", "", "ZXY", "XYZ", "X")
    unmoved = ik.Clip(LEG, ik.Pose(clip.pose.rotations), 30)
    assert unmoved.mirror().pose.translations is None
    assert_allclose(unmoved.mirror().skeleton.offsets[1:3], [[0.3, 0, 0], [0, -1, 0.1]])  # of the right leg


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LeftArm", "RightArm"),
        ("mixamorig:LeftUpLeg", "mixamorig:RightUpLeg"),
        ("thigh.L", "thigh.R"),
        ("DEF-thigh.L.001", "DEF-thigh.R.001"),
        ("calf_l", "calf_r"),
        ("Bip01 L Calf", "Bip01 R Calf"),
        ("lthigh", "rthigh"),
        ("LHipJoint", "RHipJoint"),
        ("ear_left", "ear_right"),
        ("CC_Base_L_Foot", "CC_Base_R_Foot"),
        ("J_Bip_L_Foot", "J_Bip_R_Foot"),
        ("LegFL", "LegFR"),
        ("Lefthand", "RightHand"),
        ("left_Foot", "Right_foot"),
        ("left_left", "right_right"),
    ],
)
def test_partners_are_found_by_name(one: str, other: str) -> None:
    skeleton = ik.Skeleton([-1, 0, 0, 0], np.eye(4)[:, :3], names=["spine", one, "pelvis", other])
    assert ik.Clip(
        skeleton, ik.Pose([skeleton.rest.rotations]), 30, channels=("x", "y", "z", "X")
    ).mirror().channels == (*("x", "X", "z", "y"),)


def test_partners_of_the_same_case_come_first() -> None:
    names = ["hips", "LeftArm", "rightarm", "leftarm", "RightArm"]
    skeleton = ik.Skeleton([-1, 0, 0, 0, 0], np.eye(5)[:, :3], names=names)
    clip = ik.Clip(skeleton, ik.Pose([skeleton.rest.rotations]), 30, channels=("", "x", "y", "z", "X"))
    assert clip.mirror().channels == ("", "X", "z", "y", "x")


def test_who_alone_has_no_partner_is_named_with_what_it_hangs_on() -> None:
    names = ["hips", "LeftHand", "RightHand", "LeftThumb", "Thumb"]
    skeleton = ik.Skeleton([-1, 0, 0, 1, 2], np.eye(5)[:, :3], names=names)
    with pytest.raises(ValueError, match="mirror: 'LeftThumb' has no partner, and its parent 'LeftHand' has one"):
        ik.Clip(skeleton, ik.Pose([skeleton.rest.rotations]), 30).mirror()


def test_partners_that_names_do_not_tell_can_be_given() -> None:
    skeleton = ik.Skeleton(LEG.parents, LEG.offsets, names=["a", "b1", "c1", "b7", "c7", "d"])
    clip = ik.Clip(skeleton, clip_of().pose, 30)
    with pytest.raises(ValueError, match="mirror: no two names differ in Left and Right only"):
        clip.mirror()
    with pytest.raises(ValueError, match="mirror: the parents of 'c1' and 'c7' are not each other's partners"):
        clip.mirror({"c1": "c7"})
    with pytest.raises(ValueError, match="'c1' and 'b1' have other partners too"):
        clip.mirror({"b1": "b7", "c1": "b1"})
    assert_array_equal(clip.mirror({"b1": "b7", "c7": "c1"}).pose.rotations, clip_of().mirror().pose.rotations)


def test_the_image_of_a_body_weighs_and_prefers_what_its_partners_do(dtype: Any) -> None:
    random = np.random.default_rng(5)
    plain, centres, preferred = with_rest(), random.normal(size=(6, 3)), random.normal(size=(6, 4))
    joints = plain.parents, plain.offsets, plain.rest.rotations, plain.names
    caps = np.arange(6.0)
    inertias = random.normal(size=(6, 3, 3))
    inertias = inertias @ np.swapaxes(inertias, -1, -2)
    masses, compliances = [9, 1, 2, 3, 4, 5], np.arange(6.0)[::-1]
    body = ik.Skeleton(*joints, None, masses, centres, preferred, caps, inertias, compliances)
    clip = clip_of(body, dtype=dtype)
    image = clip.mirror()
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(middle(image), middle(clip) * [-1, 1, 1], atol=tolerance)
    one, other = (skeleton.forward(skeleton.preferred).positions for skeleton in (body, image.skeleton))
    assert_allclose(other[[0, 3, 4, 1, 2, 5]], one * [-1, 1, 1], atol=1e-12)
    assert_allclose(image.mirror().skeleton.centres, body.centres, atol=1e-12)
    assert_array_equal(image.skeleton.caps, caps[[0, 3, 4, 1, 2, 5]])
    assert_array_equal(image.skeleton.compliances, compliances[[0, 3, 4, 1, 2, 5]])
    spun, mirrored = angular_momentum(clip), angular_momentum(image)
    assert_allclose(mirrored, spun * [1, -1, -1], rtol=tolerance * 10, atol=100 * tolerance)
    unit = clip.convert(up="Z", unit=0.01).skeleton
    assert_allclose(unit.inertias, inertias * 1e4, rtol=1e-12)
    assert_array_equal(unit.compliances, compliances)
    assert_array_equal(clip.convert(up="Z", unit=0.01).skeleton.caps, caps)
    weightless = clip_of(plain, dtype=dtype).mirror().skeleton
    assert_array_equal(weightless.preferred.rotations, weightless.rest.rotations)


def angular_momentum(clip: ik.Clip) -> Array:
    """Angular momentum of a body that turns as a whole about the x axis, as its mirror image does."""
    turns = np.zeros((len(clip.skeleton), 3))
    turns[0] = [1, 0, 0]
    velocities = np.stack([turns, np.zeros_like(turns)]).reshape(-1)
    return np.asarray(ik.masses.momentum(clip.skeleton, clip.pose)[:, 3:] @ velocities)


def middle(clip: ik.Clip) -> Array:
    """The centre of mass."""
    skeleton, world = clip.skeleton, clip.skeleton.forward(clip.pose)
    points = world.positions + rotated(world.rotations, skeleton.centres)
    return np.asarray(np.einsum("fjk,j->fk", points, skeleton.masses) / skeleton.masses.sum())


# --- axes and units --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skeleton", [LEG, with_rest()], ids=["plain", "with rest"])
def test_up_and_unit_change_coordinates_and_nothing_else(skeleton: ik.Skeleton, dtype: Any) -> None:
    clip = clip_of(skeleton, dtype=dtype, scaled=True, up="Y", unit=1, loop=True, channels=["XYZ"] * 6)
    other = clip.convert(up="Z", unit=0.0254)
    x, y, z = np.moveaxis(world(clip)[0], -1, 0)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(world(other)[0] * 0.0254, np.stack([x, -z, y], -1), atol=tolerance)
    assert (other.up, other.unit, other.fps, other.loop, other.channels) == ("Z", 0.0254, 30, True, clip.channels)
    assert_array_equal(other.pose.rotations[:, 1:], clip.pose.rotations[:, 1:])
    assert_array_equal(other.skeleton.rest.rotations[1:], skeleton.rest.rotations[1:])
    back = other.convert(up="Y", unit=1)
    for one, another in zip(world(back), world(clip), strict=True):
        assert_allclose(one, another, atol=tolerance)
    body = ik.Skeleton(
        skeleton.parents, skeleton.offsets, masses=[9, 1, 2, 3, 4, 5], centres=np.eye(6, 3), preferred=np.eye(6, 4) + 1
    )
    heavy = ik.Clip(body, clip.pose, 30).convert(up="Z", unit=0.0254)
    x, y, z = np.moveaxis(middle(ik.Clip(body, clip.pose, 30)), -1, 0)
    assert_allclose(middle(heavy) * 0.0254, np.stack([x, -z, y], -1), atol=tolerance)
    assert_array_equal(heavy.skeleton.preferred.rotations[1:], body.preferred.rotations[1:])
    at_rest = skeleton.forward(skeleton.rest).positions
    assert_allclose(other.skeleton.forward(other.skeleton.rest).positions[:, 2] * 0.0254, at_rest[:, 1], atol=1e-12)


def test_converted_to_what_it_is_nothing_changes() -> None:
    clip = clip_of(up="Z", unit=0.01)
    for same in (clip.convert(), clip.convert(up="Z", unit=0.01)):
        assert_array_equal(same.pose.translations, clip.pose.translations)
        assert same.skeleton == clip.skeleton
    for wrong in ({"up": "X"}, {"up": ""}, {"unit": 0.0}):
        with pytest.raises(ValueError, match="expected"):
            clip.convert(**wrong)
    slide = ik.Skeleton([-1], [[0, 0, 0]], limits=[ik.Limit.locked(position=[[0, 0, 0], [0, 0, 1]])])
    with pytest.raises(ValueError, match="limits of positions are not converted"):
        ik.Clip(slide, ik.Pose([slide.rest.rotations]), 30).convert(unit=0.01)


# --- concatenate -----------------------------------------------------------------------------------------------------


def test_one_after_another() -> None:
    first, second = clip_of(seed=1, loop=True), clip_of(seed=2, frames=4)
    whole = ik.Clip.concatenate([first, second, first])
    assert (len(whole), whole.loop) == (22, False)
    assert_array_equal(whole.pose.rotations[9:13], second.pose.rotations)
    still = ik.Clip(LEG, ik.Pose(second.pose.rotations.astype(np.float32)), 30)
    mixed = ik.Clip.concatenate([still, clip_of(scaled=True)])
    assert mixed.pose.translations is not None
    assert mixed.pose.scales is not None
    assert_allclose(mixed.pose.translations[0], LEG.offsets, rtol=1e-6)
    assert (mixed.pose.scales[:4] == 1).all()
    assert mixed.pose.dtype == np.float64
    assert ik.Clip.concatenate([still, still]).pose.dtype == np.float32


@pytest.mark.parametrize("change", [{"fps": 31}, {"up": "Z"}, {"unit": 0.5}, {"skeleton": with_rest()}])
def test_clips_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"concatenate: expected clips of one {next(iter(change))}, got "):
        ik.Clip.concatenate([clip_of(), dataclasses.replace(clip_of(), **change)])
    with pytest.raises(ValueError, match="expected at least one clip"):
        ik.Clip.concatenate([])


# --- the walk --------------------------------------------------------------------------------------------------------

WALKS = [{}, {"speed": 0.8, "step": 0.5}, {"speed": 1.8, "step": 0.85, "fps": 120}, {"seconds": 7.3, "fps": 23.976}]
walks = pytest.mark.parametrize("options", WALKS, ids=["usual", "slow", "fast", "long"])


def sole_points(walk: samples.Sample) -> dict[str, Array]:
    """(frames, 3) paths of the points of the soles, one joint at a time."""
    found = walk.clip.skeleton.forward(walk.clip.pose)
    paths = {}
    for point, (joint, offset) in walk.soles.items():
        at = walk.clip.skeleton.index(joint)
        paths[point] = found.positions[:, at] + rotated(found.rotations[:, at], offset)
    return paths


@walks
def test_planted_points_stand_still_where_it_says(options: dict[str, float]) -> None:
    walk = samples.walk(**options)
    seconds = np.arange(len(walk.clip)) / walk.clip.fps
    paths = sole_points(walk)
    assert set(paths) == {f"{side}{point}" for side in ("Left", "Right") for point in ("Heel", "Ball", "Toe")}
    for plant in walk.plants:
        during = (plant.start - 1e-9 <= seconds) & (seconds <= plant.end + 1e-9)
        assert_allclose(paths[plant.point][during] - plant.position, 0, atol=1e-12)
        assert plant.position[1] == 0
        assert walk.planted(plant.point)[during].all()


@walks
def test_no_plant_is_missing_and_no_point_sinks(options: dict[str, float]) -> None:
    """Whatever is not said to be planted is in the air, and moves."""
    walk = samples.walk(**options)
    for point, path in sole_points(walk).items():
        planted = walk.planted(point)
        assert (path[~planted, 1] > 0).all()
        assert path[:, 1].min() > -1e-12
        assert path[:, 1].max() > 0.05
        both_in_air = ~planted[1:] & ~planted[:-1]
        assert (np.linalg.norm(np.diff(path, axis=0), axis=1)[both_in_air] > 0).all()
        times = np.diff(np.flatnonzero(np.diff(planted.astype(int))))
        assert len(times) > 1


@walks
def test_feet_take_steps_of_the_length_and_time_asked_for(options: dict[str, float]) -> None:
    walk = samples.walk(**options)
    speed, step = options.get("speed", 1.3), options.get("step", 0.7)
    for point, forward in (("Heel", 0), ("Ball", 0.18), ("Toe", 0.25)):
        left, right = ([plant for plant in walk.plants if plant.point == side + point] for side in ("Left", "Right"))
        for plant in left + right:
            strike = (plant.position[2] - forward) / speed  # where the heel strikes the root's path is, too
            assert plant.start == pytest.approx(strike + (0 if point == "Heel" else 0.12 * 2 * step / speed), abs=1e-12)
            assert plant.end - plant.start == pytest.approx((0.4 if point == "Heel" else 0.5) * 2 * step / speed)
        assert np.diff([plant.position[2] for plant in left]) == pytest.approx(2 * step)
        assert left[1].position[2] - right[1].position[2] == pytest.approx(
            step * (1 if left[1].start > right[1].start else -1)
        )
        assert left[0].position[0] == -right[0].position[0] > 0


@walks
def test_legs_keep_their_length_and_knees_bend_forward(options: dict[str, float]) -> None:
    walk = samples.walk(**options)
    skeleton, positions = walk.clip.skeleton, walk.clip.skeleton.forward(walk.clip.pose).positions
    assert_allclose(
        np.asarray(walk.clip.pose.translations)[:, 1:], np.broadcast_to(skeleton.offsets[1:], (len(walk.clip), 20, 3))
    )
    for side in ("Left", "Right"):
        hip, knee, ankle = (positions[:, skeleton.index(side + joint)] for joint in ("UpLeg", "Leg", "Foot"))
        assert (np.linalg.norm(hip - ankle, axis=1) <= 0.9901 * 0.85).all()
        assert ((knee - (hip + ankle) / 2)[:, 2] > 0.02).all()
        assert abs(np.linalg.norm(hip - knee, axis=1) - 0.43).max() < 1e-12


def test_the_root_goes_at_an_even_speed_sways_and_bobs() -> None:
    walk = samples.walk(seconds=2.8 / 1.3, fps=130)  # two strides
    x, y, z = np.asarray(walk.clip.pose.translations)[:, 0].T
    assert_allclose(np.diff(z), 0.01, atol=1e-12)
    assert np.ptp(x) == pytest.approx(0.04, abs=1e-4)
    assert np.ptp(y) == pytest.approx(0.04, abs=1e-4)
    assert len(np.flatnonzero(np.diff(np.sign(np.diff(y))))) == 8  # up and down twice a stride
    left, right = (walk.planted(f"{side}Heel") | walk.planted(f"{side}Ball") for side in ("Left", "Right"))
    assert y[left & right].max() < y.mean() < y[~(left & right)].max()
    stands = (
        walk.planted("LeftHeel") & walk.planted("LeftBall") & ~walk.planted("RightBall") & ~walk.planted("RightHeel")
    )
    assert (x[stands] > 0).all()


def test_accelerations_of_the_feet_do_not_jump() -> None:
    """At twice the rate the largest change of acceleration from frame to frame is half."""
    largest = []
    for fps in (500, 1000, 2000):
        walk = samples.walk(2, fps=fps)
        ankle = walk.clip.skeleton.forward(walk.clip.pose).positions[:, walk.clip.skeleton.index("LeftFoot")]
        largest.append(np.abs(np.diff(ankle, 3, axis=0)).max() * fps**2)
    assert largest[1] / largest[0] == pytest.approx(0.5, abs=0.05)
    assert largest[2] / largest[1] == pytest.approx(0.5, abs=0.05)


@walks
def test_points_leave_the_ground_gently_but_soon(options: dict[str, float]) -> None:
    walk = samples.walk(**options | {"fps": 1000})
    stride = 2 * options.get("step", 0.7) / options.get("speed", 1.3)
    seconds = np.arange(len(walk.clip)) / 1000
    paths = sole_points(walk)
    for plant in walk.plants:
        for moment, farther in ((plant.start - 0.036 * stride, -1), (plant.end + 0.036 * stride, 1)):
            if 0.1 < moment < seconds[-1] - 0.1:
                heights = paths[plant.point][:, 1]
                assert np.interp(moment, seconds, heights) > 0.001
                assert np.interp(moment + farther * 0.1 * stride, seconds, heights) > 0.004


def test_the_walk_survives_a_file(tmp_path: Path) -> None:
    walk = samples.walk()
    walk.clip.write(tmp_path / "walk.bvh")
    back = ik.Clip.read(tmp_path / "walk.bvh")
    assert (back.skeleton, back.fps) == (walk.clip.skeleton, 60)
    again = dataclasses.replace(walk, clip=back)
    for point, path in sole_points(again).items():
        assert_allclose(path, sole_points(walk)[point], atol=2e-6)


@pytest.mark.slow
def test_the_same_bits_whatever_numpy_makes_of_the_processor(tmp_path: Path) -> None:
    """The walk, all that is done to clips, and the text of a file."""
    code = """if True:
        import hashlib, sys
        import ikcore as ik
        from ikcore import _core
        for isa in ("scalar", "base", "avx2", "avx512"):
            _core.use_isa(isa)
            walk = ik.samples.walk(2)
            other = walk.clip.resample(47).mirror().mirror()
            clip = ik.Clip.concatenate([other, walk.clip.resample(47)]).convert(up="Z", unit=0.01)
            clip.write(sys.argv[1])
            read = ik.Clip.read(sys.argv[1])
            digest = hashlib.sha256()
            for each in (walk.clip, clip, read):
                digest.update(each.pose.rotations.tobytes() + each.pose.translations.tobytes())
            print(digest.hexdigest())"""
    features = "SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_ICL X86_V3 X86_V4"
    environments = [os.environ, os.environ | {"NPY_DISABLE_CPU_FEATURES": features}]
    said = [
        subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-c", code, str(tmp_path / "walk.bvh")],
            env=dict(environment),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for environment in environments
    ]
    assert len(said[0]) == 4
    assert len({*said[0], *said[1]}) == 1


@pytest.mark.parametrize("name", ["seconds", "speed", "step", "fps"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_walk_of_nothing_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected a positive number"):
        samples.walk(**{name: value})


def test_steps_too_long_for_the_legs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"step: expected one that legs of 0\.85 m can take, got 1\.3"):
        samples.walk(step=1.3)
