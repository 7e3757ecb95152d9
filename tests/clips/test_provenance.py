"""Provenance: what a bake writes of itself, where files keep it, and that a second pass on the same ground is none."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_bake import looped
from test_gltf import everything, gltf

import ikcore as ik
from ikcore import terrain
from ikcore.clips.provenance import NAME, Origin

Array = NDArray[Any]

STAIRS = ik.Ground.plane() + terrain.stairs(8, rise=0.15, run=0.35).moved(translations=[0, 0, 1.2])


@functools.cache
def baked() -> ik.Baked:
    return ik.bake_feet(ik.samples.walk(seconds=4).clip, STAIRS)


def positions(clip: ik.Clip) -> Array:
    return clip.skeleton.forward(clip.pose).positions


def apart(one: ik.Clip, other: ik.Clip) -> Array:
    """The largest distance of a joint in each frame."""
    return np.asarray(np.abs(positions(one) - positions(other)).max(axis=(1, 2)))


def origin() -> Origin:
    found = baked().clip.origin
    assert found is not None
    return found


def lifted(clip: ik.Clip, frames: slice, by: float) -> ik.Clip:
    """The root higher in some frames."""
    moved = np.array(clip.pose.translations)
    moved[frames, 0, 1] += by
    return dataclasses.replace(clip, pose=dataclasses.replace(clip.pose, translations=moved))


def test_a_bake_says_what_it_did() -> None:
    said = origin()
    assert (said.frames, said.floor, len(said.stances)) == (241, "level", 9)
    assert said.ground == STAIRS.fingerprint()
    assert said.settings["unlock"] == 0.2
    assert said.whole
    for stance in said.stances:
        at = positions(baked().clip)[:, baked().clip.skeleton.index(said.soles[stance.leg, "joint"][0])]
        for pivot in stance.pivots:
            if pivot.point == "joint":
                np.testing.assert_allclose(
                    at[pivot.start : pivot.stop],
                    np.broadcast_to(pivot.places, (pivot.stop - pivot.start, 3)),
                    atol=1.5e-4,
                )


SECOND: dict[str, tuple[ik.Ground, dict[str, Any]]] = {
    "floor": (ik.Ground.plane(), {}),
    "stairs": (STAIRS, {}),
    "slope": (ik.Ground.plane([0.1, 1, -0.2]), {}),
    "heights alone": (STAIRS, {"settings": ik.BakeSettings(lock=False)}),
    "half": (STAIRS, {"settings": ik.BakeSettings(weight=0.5)}),
    "high feet": (STAIRS, {"settings": ik.BakeSettings(clearance=0.1)}),
    "moving": (ik.Ground.plane().moved(translations=np.linspace([0, 0, 0], [0.3, 0.2, 0], 241)), {}),
}


@pytest.mark.parametrize("name", SECOND)
def test_a_second_pass_changes_nothing(name: str, tmp_path: pathlib.Path) -> None:
    """Not a bit, also of what was written to a file and read again."""
    ground, options = SECOND[name]
    once = ik.bake_feet(ik.samples.walk(seconds=4).clip, ground, **options)
    once.clip.write(tmp_path / "once.bvh")
    for clip in (once.clip, ik.Clip.read(tmp_path / "once.bvh")):
        twice = ik.bake_feet(clip, ground, **options)
        np.testing.assert_array_equal(twice.clip.pose.rotations, clip.pose.rotations)
        np.testing.assert_array_equal(twice.clip.pose.translations, clip.pose.translations)
        assert twice.stances == once.stances
        assert "nothing has changed" in twice.notes[0]
        for key in once.contacts.weights:
            np.testing.assert_array_equal(twice.contacts.planted(*key), once.contacts.planted(*key))


def test_a_second_pass_changes_nothing_where_a_file_drops_scales(tmp_path: pathlib.Path) -> None:
    """A skeleton in centimetres below a root with a scale of 0.01, as glTF files have it."""
    walk = ik.samples.walk(seconds=4).clip
    skeleton = walk.skeleton
    scales = np.ones((len(walk), len(skeleton), 3))
    scales[:, 0] = 0.01
    roots = skeleton.parents < 0
    longer = ik.Skeleton(
        skeleton.parents, np.where(roots[:, np.newaxis], 1, 100) * skeleton.offsets, names=skeleton.names
    )
    moved = np.tile(longer.offsets, (len(walk), 1, 1))
    moved[:, roots] = np.asarray(walk.pose.translations)[:, roots]
    once = ik.bake_feet(ik.Clip(longer, ik.Pose(walk.pose.rotations, moved, scales), walk.fps), STAIRS)
    once.clip.write(tmp_path / "once.bvh")
    read = ik.Clip.read(tmp_path / "once.bvh")
    twice = ik.bake_feet(read, STAIRS)
    np.testing.assert_array_equal(twice.clip.pose.rotations, read.pose.rotations)
    assert "nothing has changed" in twice.notes[0]


def test_a_second_pass_of_a_loop_changes_nothing() -> None:
    once = ik.bake_feet(looped(), ik.Ground.plane([0, 1, -0.1])).clip
    twice = ik.bake_feet(once, ik.Ground.plane([0, 1, -0.1])).clip
    np.testing.assert_array_equal(twice.pose.rotations, once.pose.rotations)


def test_an_edit_drops_the_stances_that_it_moves() -> None:
    """Feet far from it, and swings between them, stay where they are; those that it moves stand on the ground again."""
    edited = lifted(baked().clip, slice(100, 112), 0.02)
    found = ik.bake_feet(edited, STAIRS)
    off = apart(found.clip, baked().clip)
    assert off[:30].max() < 1e-3
    assert off[200:].max() < 1e-3
    again = found.clip.origin
    assert again is not None
    assert len(again.stances) == len(origin().stances)
    np.testing.assert_allclose(
        [each.level for each in again.stances], [each.level for each in origin().stances], atol=2e-3
    )


@pytest.mark.parametrize("settings", [ik.BakeSettings(), ik.BakeSettings(clearance=0.1)], ids=["same", "other"])
def test_the_origin_of_another_clip_says_nothing(settings: ik.BakeSettings) -> None:
    """As when another clip of as many frames is written over a baked file, beside which its origin stays."""
    other = ik.samples.hop(seconds=4).clip
    stale = dataclasses.replace(other, origin=origin())
    found, fresh = (ik.bake_feet(clip, STAIRS, settings=settings) for clip in (stale, other))
    np.testing.assert_array_equal(found.clip.pose.rotations, fresh.clip.pose.rotations)
    assert found.notes == fresh.notes


def test_other_ground_other_settings_and_other_frames_are_baked() -> None:
    clip = baked().clip
    for ground, settings in (
        (ik.Ground.plane([0, 1, -0.1]), ik.BakeSettings()),
        (STAIRS, ik.BakeSettings(clearance=0.1)),
    ):
        assert not any("nothing has changed" in note for note in ik.bake_feet(clip, ground, settings=settings).notes)
    assert clip[:].origin is clip.origin
    assert clip[10:].origin is None
    assert clip.resample(30).origin is None
    assert clip.mirror().origin is None
    assert clip.convert(up="Z").origin is None
    assert ik.Clip.concatenate([clip, clip]).origin is None
    assert dataclasses.replace(clip, pose=clip.pose[:50]).origin is None


def test_of_a_part_the_rest_is_still_to_be_baked() -> None:
    walk = ik.samples.walk(seconds=4).clip
    part = ik.bake_feet(walk, STAIRS, frames=(0, 120))
    assert part.clip.origin is not None
    assert not part.clip.origin.whole
    both = ik.bake_feet(walk, STAIRS, frames=(100, 241), earlier=part.clip)
    assert both.clip.origin is not None
    assert {stance.start for stance in part.clip.origin.stances if stance.stop < 100} <= {
        stance.start for stance in both.clip.origin.stances
    }


def test_a_sidecar_goes_with_its_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "walk.bvh"
    baked().clip.write(path)
    beside = ik.bvh.origin_path(path)
    assert beside.name == "walk.bvh.ikcore.json"
    read = ik.Clip.read(path).origin
    assert read is not None
    assert read.to_json() == origin().to_json()
    baked().source.write(path)
    assert not beside.exists()
    assert ik.Clip.read(path).origin is None


@pytest.mark.parametrize("as_text", [True, False])
def test_gltf_files_keep_it_in_extras(tmp_path: pathlib.Path, as_text: bool) -> None:
    made = everything()
    said = json.loads(origin().to_json()) | {"frames": 9, "contacts": [], "stances": []}
    made.tree["animations"][0]["extras"] = {NAME: json.dumps(said) if as_text else said}
    read = ik.Clip.read(gltf(made, tmp_path), "all")
    assert len(read) == 9
    assert read.origin is not None
    assert read.origin.ground == origin().ground


DAMAGED = ["", "{", "[]", "null", '{"ikcore origin": 2}', '{"ikcore origin": 1}', '{"ikcore origin": 1, "frames": "x"}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_text_is_none(text: str, tmp_path: pathlib.Path) -> None:
    assert Origin.from_json(text) is None
    baked().clip.write(tmp_path / "walk.bvh")
    ik.bvh.origin_path(tmp_path / "walk.bvh").write_text(text)
    assert ik.Clip.read(tmp_path / "walk.bvh").origin is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frames", 20),
        ("frames", -1),
        ("soles", [["left", "ball", "LeftFoot", [0, 1]]]),
        ("contacts", [["left", "ball", [[5, 2]], 1.0]]),
        ("stances", [["left", 0.0, []]]),
        ("stances", [["left", 0.0, [["ball", 0, 5, [[0, 0, None]]]]]]),
        ("stances", [["left", 0.0, [["ball", 0, 5, [[0, 0, 0], [0, 0, 0]]]]]]),
        ("treadmill", [[0, 0, 0]]),
    ],
)
def test_what_does_not_fit_is_none(name: str, value: Any) -> None:
    assert Origin.from_json(json.dumps(json.loads(origin().to_json()) | {name: value})) is None


def test_text_keeps_all_of_it() -> None:
    again = Origin.from_json(origin().to_json())
    assert again is not None
    assert again.to_json() == origin().to_json()
    assert dict(again.settings) == dict(origin().settings)
    assert (again.soles, again.floor, again.tolerance) == (origin().soles, origin().floor, origin().tolerance)
