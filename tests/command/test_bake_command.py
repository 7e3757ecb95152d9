"""``ikcore bake``: what it writes and where, what it never touches, what it says."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Literal

import numpy as np
import processes
import pytest

import ikcore as ik
from ikcore.command import bake_command, cli, commands

WALK = ik.samples.walk(seconds=3).clip
RISE, START = 0.16, 1.2  # metres: of a step, and where the stairs begin
STAIRS = ik.terrain.stairs(9, rise=RISE, run=0.35, landing=10).moved(translations=[0, 0, START])


def obj(scale: float = 1.0, *, z_up: bool = False) -> str:
    """The stairs as a file, perhaps with z up and in other units."""
    profile = [(-9.0, 0.0), *((START + 0.35 * step, RISE * level) for step in range(9) for level in (step, step + 1))]
    profile.append((START + 20, 9 * RISE))
    points = [(x, height, along) for along, height in profile for x in (-5, 5)]
    points = [(x, -z, y) for x, y, z in points] if z_up else points
    lines = [f"v {x * scale} {y * scale} {z * scale}" for x, y, z in points]
    lines += [f"f {2 * at + 1} {2 * at + 3} {2 * at + 4} {2 * at + 2}" for at in range(len(profile) - 1)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Clips in a tree of folders, one of them broken and one without legs, and stairs."""
    clips = tmp_path / "clips"
    (clips / "more/deep").mkdir(parents=True)
    WALK.write(clips / "walk.bvh")
    WALK[:60].write(clips / "more/walk.bvh")
    WALK[30:90].write(clips / "more/deep/ходьба 步行.bvh")
    (tmp_path / "stairs.obj").write_text(obj(), encoding="utf-8")
    return tmp_path


def bad(folder: Path) -> None:
    """Two clips that cannot be baked."""
    (folder / "clips/broken.bvh").write_text("HIERARCHY\nROOT a\n{\n  OFFSET 0 zero 0\n", encoding="utf-8")
    chain = ik.Skeleton.chain([[0, 0, 0], [0, 1, 0], [0, 2, 0]])
    ik.Clip(chain, ik.Pose(np.tile([1.0, 0, 0, 0], (3, 3, 1))), 30).write(folder / "clips/chain.bvh")


def run(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str | Path) -> tuple[int, str, str]:
    """A command on the stairs: its status and what it said."""
    status = cli.main(["bake", *map(str, arguments), "--ground", str(folder / "stairs.obj")])
    said = capsys.readouterr()
    return status, said.out, said.err


def baked(
    capsys: pytest.CaptureFixture[str], folder: Path, *options: str, clip: str = "clips/walk.bvh"
) -> tuple[ik.Clip, dict[str, Any]]:
    """One clip: what is written, and what JSON says of it, its notes among it."""
    out = folder / "out.bvh"
    status, said, err = run(capsys, folder, folder / clip, "-o", out, "--json", *options)
    (found,) = json.loads(said)["clips"]
    assert (status, err) == (0, "".join(f"ikcore: {folder / clip}: {note}\n" for note in found["notes"]))
    return ik.Clip.read(out), found


def contents(folder: Path) -> dict[str, bytes]:
    """Contents of all files below a folder, except the origins beside baked clips."""
    files = [file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".bvh.ikcore.json")]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def same_pose(clip: ik.Clip, other: ik.Clip) -> bool:
    return clip.pose.rotations.tobytes() == other.pose.rotations.tobytes()


# --- what is written -------------------------------------------------------------------------------------------------


def test_the_file_is_what_the_function_makes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip, found = baked(capsys, folder)
    source = ik.Clip.read(folder / "clips/walk.bvh")
    made = ik.bake_feet(source, ik.Ground.read(folder / "stairs.obj"))
    made.clip.write(folder / "made.bvh")
    assert (folder / "out.bvh").read_bytes() == (folder / "made.bvh").read_bytes()
    assert found["output"] == str(folder / "out.bvh")
    assert found["pelvis"] == pytest.approx([made.pelvis_offset.min(), made.pelvis_offset.max()])
    assert found["short"] == {"left": 0, "right": 0}
    hips = clip.skeleton.forward(clip.pose).positions[:, 0, 1]
    assert hips[-1] > hips[0] + 4 * RISE


def test_amounts_before_and_after_are_those_on_the_stairs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = baked(capsys, folder)
    clip = ik.Clip.read(folder / "out.bvh")
    after = ik.feet.measure(clip, ground=STAIRS, contacts=ik.Contacts.detect(WALK))
    for leg, facts in found["legs"].items():
        assert facts["measure"]["penetration"] == pytest.approx(after.measures[leg].penetration, abs=1e-4)
        assert facts["measure"]["drift"] == pytest.approx(after.measures[leg].drift, abs=1e-4)
        assert facts["measure"]["penetration"] < 2e-3
        assert facts["source"]["penetration_swing"] > 0.1


def test_the_table_says_what_has_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, folder, folder / "clips/walk.bvh", "-o", folder / "out.bvh")
    assert (status, err) == (0, "")
    head, line = out.splitlines()[:2]
    assert head.split()[:3] == ["clip", "slides", "sinks"]
    assert line.startswith(str(folder / "clips/walk.bvh"))
    assert line.count(" -> ") == 6
    assert "no ground !! -> " in line  # before the last steps are out of reach
    assert line.isascii()


def test_axes_and_units_of_clip_and_ground(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Z up in centimetres on stairs with z up in millimetres: the same motion, in the axes that came in."""
    _, here = baked(capsys, folder)
    WALK.convert(up="Z", unit=0.01).write(folder / "clips/walk.bvh")
    (folder / "stairs.obj").write_text(obj(1000, z_up=True), encoding="utf-8")
    said = ["--up", "Z", "--unit", "0.01", "--ground-up", "Z", "--ground-unit", "0.001"]
    clip, there = baked(capsys, folder, *said)
    assert (there["up"], there["unit"]) == ("Z", 0.01)
    assert there["pelvis"] == pytest.approx(here["pelvis"], abs=1e-4)
    top = clip.skeleton.forward(clip.pose).positions[-1, 0]
    assert top[2] == pytest.approx(100 * (0.93 + there["pelvis"][1]), abs=5)
    status, _, err = run(capsys, folder, folder / "clips/walk.bvh", "-o", folder / "two.bvh", *said[4:])
    assert status == 0
    assert err == "ikcore: 1 clip taken to have Z up and units of 0.01 m, as legs are; or give --up, --unit\n"
    assert (folder / "two.bvh").read_bytes() == (folder / "out.bvh").read_bytes()


def test_several_grounds_are_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip, _ = baked(capsys, folder)
    (folder / "deep.obj").write_text("v -9 -5 -9\nv -9 -5 9\nv 9 -5 9\nf 1 2 3\n", encoding="utf-8")
    again, _ = baked(capsys, folder, "--ground", str(folder / "deep.obj"))
    assert same_pose(again, clip)


def test_folders_keep_their_tree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(folder / "clips")
    status, _, err = run(capsys, folder, folder / "clips", folder / "clips/walk.bvh", "-o", folder / "out")
    assert (status, err) == (0, "")
    names = {"walk.bvh", "more/walk.bvh", "more/deep/ходьба 步行.bvh", "walk-2.bvh"}
    written = contents(folder / "out")
    assert set(written) == names
    assert written["walk.bvh"] == written["walk-2.bvh"]
    assert contents(folder / "clips") == before
    assert len(ik.Clip.read(folder / "out/more/deep/ходьба 步行.bvh")) == 60


def test_one_clip_into_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, _ = run(capsys, folder, folder / "clips/walk.bvh", "-o", folder / "new/out")
    assert status == 0
    assert set(contents(folder / "new")) == {"out/walk.bvh"}
    status, _, _ = run(capsys, folder, folder / "clips/walk.bvh", "-o", folder / "new/a/b.bvh")
    assert status == 0
    assert set(contents(folder / "new")) == {"out/walk.bvh", "a/b.bvh"}


def test_a_folder_of_outputs_may_be_in_that_of_clips(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the second time it is no source of clips."""
    monkeypatch.chdir(folder / "clips")
    for _ in range(2):
        assert run(capsys, folder, ".", "-o", "out")[0] == 0
        assert set(contents(Path("out"))) == {"walk.bvh", "more/walk.bvh", "more/deep/ходьба 步行.bvh"}


def test_names_that_other_systems_take_for_one_are_numbered() -> None:
    names = ["walk", "Walk", "walk-2", "walk", "über", "u\u0308ber"]
    assert commands.unique(names) == ["walk", "Walk-2", "walk-2-2", "walk-3", "über", "u\u0308ber-2"]
    assert commands.unique(["Index"], "index") == ["Index-2"]


def test_animations_of_a_gltf_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = two_animations(folder)
    status, _, err = run(capsys, folder, path, "-o", folder / "out")
    same = "nothing has changed: all feet stand on the ground as they should"
    assert (status, err) == (0, "".join(f"ikcore: {path}: {name}: {same}\n" for name in ("stand", "sit/down")))
    assert set(contents(folder / "out")) == {"two_stand.bvh", "two_sit_down.bvh"}
    status, _, err = run(capsys, folder, path, "-o", folder / "out.bvh")
    assert (status, err) == (
        2,
        f"ikcore: {folder / 'out.bvh'}: expected a folder for 2 clips, got the name of one file\n",
    )


def two_animations(folder: Path) -> Path:
    """A glTF file of two legs that do nothing, twice."""
    names = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"]
    names += [name.replace("Left", "Right") for name in names[1:]]
    bones = [[0.1, -0.05, 0], [0, -0.4, 0.02], [0, -0.4, -0.02], [0, -0.08, 0.15]]
    places = [[0, 0.95, 0], *bones, [-0.1, -0.05, 0], *bones[1:]]
    nodes: list[dict[str, Any]] = [{"name": name, "translation": at} for name, at in zip(names, places, strict=True)]
    for at, children in {0: [1, 5], 1: [2], 2: [3], 3: [4], 5: [6], 6: [7], 7: [8]}.items():
        nodes[at]["children"] = children
    (folder / "two.bin").write_bytes(np.array([0, 1, *[0, 0, 0, 1] * 2], "<f4").tobytes())
    tree = {
        "asset": {"version": "2.0"},
        "nodes": nodes,
        "buffers": [{"uri": "two.bin", "byteLength": 40}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 8},
            {"buffer": 0, "byteOffset": 8, "byteLength": 32},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC4"},
        ],
        "animations": [
            {
                "name": name,
                "samplers": [{"input": 0, "output": 1}],
                "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],
            }
            for name in ("stand", "sit/down")
        ],
    }
    (folder / "two.gltf").write_text(json.dumps(tree), encoding="utf-8")
    return folder / "two.gltf"


# --- options ---------------------------------------------------------------------------------------------------------


def test_frames_outside_a_range_are_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ik.Clip.read(folder / "clips/walk.bvh")
    for said, first, stop in (("100:140", 100, 140), ("100:", 100, 181), (":140", 0, 140)):
        clip, _ = baked(capsys, folder, "--frames", said)
        apart = np.abs(clip.pose.rotations - source.pose.rotations).max(axis=(1, 2))
        changed = np.flatnonzero(apart > 1e-12)  # a file may have an angle and a turn more
        assert first <= changed[0] < changed[-1] < stop


def test_one_leg_alone_leaves_the_other_and_the_pelvis(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ik.Clip.read(folder / "clips/walk.bvh")
    clip, found = baked(capsys, folder, "--legs", "left")
    changed = (clip.pose.rotations != source.pose.rotations).any(axis=(0, 2))
    names = {name for name, moved in zip(clip.skeleton.names, changed, strict=True) if moved}
    assert names
    assert all(name.startswith("Left") for name in names)
    assert found["pelvis"] == [0, 0]
    assert [note.partition(",")[0] for note in found["notes"]] == [
        "legs do not reach the ground from a body that stays",
        "feet are deeper in the ground than in the clip",
    ]
    both, _ = baked(capsys, folder, "--legs", "left, right")
    assert (both.pose.rotations != source.pose.rotations).any(axis=(0, 2)).sum() > changed.sum()


def test_a_loop_stays_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A loop of one stride over bumps of its length; without the option its ends do not meet."""
    stride = ik.samples.walk(seconds=4, speed=1.2, step=0.6, fps=60).clip[60:121]
    stride.write(folder / "clips/walk.bvh")
    wave = 0.05 * np.sin(np.linspace(0, 6 * np.pi, 301) * 2)  # from -1.8 to 5.4 m, of 1.2 m each
    lines = [f"v {x} {y:.6f} {z:.6f}" for z, y in zip(np.linspace(-1.8, 5.4, 301), wave, strict=True) for x in (-5, 5)]
    lines += [f"f {2 * at + 1} {2 * at + 3} {2 * at + 4} {2 * at + 2}" for at in range(300)]
    (folder / "stairs.obj").write_text("\n".join(lines), encoding="utf-8")
    clip, _ = baked(capsys, folder, "--loop")
    first, last = clip.pose.rotations[0], clip.pose.rotations[-1]
    assert np.abs((first * last).sum(axis=-1)) == pytest.approx(1, abs=1e-9)
    open_clip, _ = baked(capsys, folder)
    assert not same_pose(open_clip, clip)


def test_what_is_no_loop_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, folder, folder / "clips/more/walk.bvh", "-o", folder / "out.bvh", "--loop")
    assert (status, out) == (1, "")
    assert err.startswith(
        f"ikcore: {folder / 'clips/more/walk.bvh'}: clip: the last frame of a loop is its first one again, but '"
    )
    assert err.endswith(" degrees: add that frame, or bake it as no loop\n")
    assert not (folder / "out.bvh").exists()


@pytest.mark.slow
def test_presets_and_settings(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They reach the function as they are said, whichever it has."""
    seen: list[ik.BakeSettings] = []
    whole = ik.bake_feet

    def noted(*arguments: Any, settings: ik.BakeSettings, **others: Any) -> Any:
        seen.append(settings)
        return whole(*arguments, settings=settings, **others)

    monkeypatch.setattr(bake_command, "bake_feet", noted)
    default = ik.BakeSettings()
    switches = ("lock",)
    values: dict[str, Any] = dict.fromkeys(switches, False)
    values |= {"pelvis": "lowest", "tilt": 0.5, "lift": 0.3, "drop": 0.3, "straight": 0.9}
    for field in dataclasses.fields(ik.BakeSettings):
        value = values.get(field.name, getattr(default, field.name))
        value = value / 2 if field.name not in values else value
        said = [f"--no-{field.name}"] if field.name in switches else [f"--{field.name}", str(value)]
        baked(capsys, folder, *said, clip="clips/more/walk.bvh")
        assert seen.pop() == dataclasses.replace(default, **{field.name: value})
    baked(capsys, folder, "--preset", "heights", "--clearance", "0.05", clip="clips/more/walk.bvh")
    assert seen.pop() == dataclasses.replace(ik.BakeSettings.preset("heights"), clearance=0.05)
    baked(capsys, folder, "--preset", "heights", "--lock", clip="clips/more/walk.bvh")
    assert seen.pop() == dataclasses.replace(ik.BakeSettings.preset("heights"), lock=True)


def test_help_has_words_on_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["bake", "--help"])
    said = capsys.readouterr().out
    settings = " ".join(said.partition("settings:")[2].split())
    for field in dataclasses.fields(ik.BakeSettings):
        (words,) = re.findall(rf" --(?:no-)?{field.name} (.*?\(default: .*?\))", settings)
        assert len(words) > 35, field.name
    assert settings.count("default: ") == len(dataclasses.fields(ik.BakeSettings)) + 1


def test_pages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = folder / "new/pages"
    status, _, err = run(capsys, folder, folder / "clips", "-o", folder / "out", "--report", pages)
    assert (status, err) == (0, f"ikcore: pages to look at: {(pages / 'index.html').resolve()}\n")
    assert set(contents(pages)) == {"walk.html", "walk-2.html", "ходьба_步行.html", "index.html"}
    for page in pages.iterdir():
        ET.parse(page)
    status, _, err = run(
        capsys, folder, folder / "clips/walk.bvh", "-o", folder / "out.bvh", "--report", folder / "one"
    )
    assert err == f"ikcore: pages to look at: {(folder / 'one/walk.html').resolve()}\n"
    words = " ".join((folder / "one/walk.html").read_text(encoding="utf-8").split())
    assert "<h1>walk.bvh</h1>" in words
    assert "before and after" in words


def test_json_has_the_keys_of_the_page_on_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad(folder)
    _, out, _ = run(capsys, folder, folder / "clips", "-o", folder / "out", "--json")
    found = json.loads(out)
    assert found["format"] == "ikcore-bake/1"
    assert {*found} == {"format", "clips", "failed"}
    assert {*found["clips"][0]} == {
        *("file", "animation", "output", "notes", "page", "frames", "fps", "up", "unit"),
        *("legs", "pelvis", "short", "moments"),
    }
    assert [Path(failed["file"]).name for failed in found["failed"]] == ["broken.bvh", "chain.bvh"]


# --- what is never touched -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", ["itself", "dots", "a new folder", "link", "hard link", "folder", "folder of links", "other input", "ground"]
)
def test_what_is_read_is_never_written(how: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips, walk = folder / "clips", folder / "clips/walk.bvh"
    inputs, out = [walk], folder / "linked.bvh"
    if how == "itself":
        out = walk
    elif how == "dots":
        out = clips / "more/../walk.bvh"
    elif how == "a new folder":
        out = clips / "new/../walk.bvh"
    elif how == "ground":
        clips = folder / "stairs.obj"
        out.symlink_to(clips)
    elif how == "link":
        out.symlink_to(walk)
    elif how == "hard link":
        os.link(walk, out)
    elif how == "folder":
        inputs, out = [clips], clips
    elif how == "folder of links":
        (folder / "links").symlink_to(clips)
        inputs, out = [clips], folder / "links"
    else:
        inputs, out = [walk, clips / "more/walk.bvh"], clips / "more"
    before = contents(folder)
    status, said, err = run(capsys, folder, *inputs, "-o", out)
    assert (status, said) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith(f"ikcore: -o {out} would write over {clips}")
    assert err.endswith(", which is read: give another name\n")
    assert contents(folder) == before
    assert not (folder / "clips/new").exists()


def test_a_page_is_never_written_over_what_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pages").mkdir()
    (folder / "pages/walk.html").symlink_to(folder / "clips/walk.bvh")
    before = contents(folder)
    pages, walk = folder / "pages", folder / "clips/walk.bvh"
    status, out, err = run(capsys, folder, walk, "-o", folder / "out.bvh", "--report", pages)
    said = f"--report {pages} would write over {walk}, which is read: give another name"
    assert (status, out, err) == (2, "", f"ikcore: {said}\n")
    assert contents(folder) == before


def test_a_failure_leaves_what_was_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full half way through."""
    (folder / "out.bvh").write_text("older")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = contents(folder)
    status, out, err = run(capsys, folder, folder / "clips/walk.bvh", "-o", folder / "out.bvh")
    said = f"{folder / 'out.bvh'}: cannot write: No space left on device"
    assert (status, out, err) == (1, "", f"ikcore: {folder / 'clips/walk.bvh'}: {said}\n")
    assert contents(folder) == before
    assert not list(folder.glob(".ikcore-*"))


def test_an_interrupt_leaves_what_was_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "out.bvh").write_text("older")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    before = contents(folder)
    status, out, err = run(capsys, folder, folder / "clips/walk.bvh", "-o", folder / "out.bvh")
    assert (status, out, err) == (130, "", "ikcore: interrupted\n")
    assert contents(folder) == before
    assert not list(folder.glob(".ikcore-*"))


def test_older_outputs_are_replaced_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While somebody reads the older one it stays as it is; a link stays a link."""
    older = folder / "older.bvh"
    older.write_text("older")
    (folder / "out.bvh").symlink_to(older)
    with older.open() as reader:
        baked(capsys, folder)
        assert reader.read() == "older"
    assert (folder / "out.bvh").is_symlink()
    assert older.read_text().startswith("HIERARCHY")
    assert older.stat().st_mode & 0o777 == (folder / "clips/walk.bvh").stat().st_mode & 0o777


# --- failures, called wrongly, many processes ------------------------------------------------------------------------


def test_what_fails_is_named_and_the_rest_is_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad(folder)
    status, out, err = run(capsys, folder, folder / "clips", folder / "gone.bvh", "-o", folder / "out")
    assert status == 1
    assert len(out.splitlines()[1:4]) == 3
    broken, chain, gone = err.splitlines()
    assert broken.startswith(f"ikcore: {folder / 'clips/broken.bvh'}, line 4: ")
    assert chain.startswith(f"ikcore: {folder / 'clips/chain.bvh'}: no legs found")
    assert gone == f"ikcore: {folder / 'gone.bvh'}: No such file or directory"
    assert set(contents(folder / "out")) == {"walk.bvh", "more/walk.bvh", "more/deep/ходьба 步行.bvh"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--legs", "left,middle"], "legs: no leg is called 'middle'; there are left, right"),
        (["--frames", "100:90"], "frames: expected some among 0 to 181, got 100 to 90"),
        (["--frames", "0:999"], "frames: expected some among 0 to 181, got 0 to 999"),
    ],
)
def test_what_a_clip_has_not_is_refused(
    options: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = folder / "clips/walk.bvh"
    status, out, err = run(capsys, folder, walk, "-o", folder / "out.bvh", *options)
    assert (status, out, err) == (1, "", f"ikcore: {walk}: {said}\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "out.glb"], "out.glb: expected a file that ends in .bvh, or a folder that exists"),
        (["--legs", "left"], "-o/--output"),
        (["-o", "out.bvh", "--frames", "3"], "expected two numbers such as 10:20, the second one not included, got 3"),
        (["-o", "out.bvh", "--frames", "-3:5"], "--frames"),
        (["-o", "out.bvh", "--clearance", "-1"], "argument --clearance: expected 0 to 1, got -1.0"),
        (["-o", "out.bvh", "--blend", "nan"], "argument --blend: expected 0 to 10, got nan"),
        (["-o", "out.bvh", "--preset", "best"], "--preset"),
        (["-o", "out.bvh", "--pelvis", "highest"], "--pelvis"),
        (["-o", "out.bvh", "--workers", "0"], "expected a whole number of at least 1, got '0'"),
    ],
)
def test_a_wrong_call_is_explained(
    options: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = contents(folder)
    with pytest.raises(SystemExit) as stopped:
        sys.exit(cli.main(["bake", "clips/walk.bvh", "--ground", "stairs.obj", *options]))
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert {name: data for name, data in contents(folder).items() if name in before} == before


def test_a_ground_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["bake", str(folder / "clips/walk.bvh"), "-o", str(folder / "out.bvh")])
    assert "--ground" in capsys.readouterr().err


def test_a_broken_ground_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "stairs.obj").write_text("v 0 0\n")
    status, out, err = run(capsys, folder, folder / "clips", "-o", folder / "out")
    assert (status, out) == (1, "")
    assert err == f"ikcore: {folder / 'stairs.obj'}, line 1: expected three coordinates after 'v', got '0 0'\n"
    assert not (folder / "out").exists()


def command(folder: Path, *arguments: str | Path, start: str = "spawn") -> list[str]:
    return processes.command("bake", *arguments, "--ground", folder / "stairs.obj", start=start)


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", ["spawn", pytest.param("fork", marks=pytest.mark.skipif(os.name == "nt", reason="Windows has no fork"))]
)
def test_workers_write_and_say_the_same(start: str, folder: Path) -> None:
    bad(folder)
    found = []
    for workers in ("1", "2"):
        options: list[str | Path] = ["-o", folder / "out", "--report", folder / "pages", "--workers", workers]
        status, *said = processes.finished(command(folder, folder / "clips", *options, start=start))
        assert status == 1  # of the bad ones
        found.append((said, contents(folder / "out"), contents(folder / "pages")))
        assert len(found[-1][1]) == 3
        shutil.rmtree(folder / "out")
        shutil.rmtree(folder / "pages")
    assert found[0] == found[1]


def test_threads_of_one_clip_write_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baked(capsys, folder)
    one = (folder / "out.bvh").read_bytes()
    baked(capsys, folder, "--workers", "3")
    assert (folder / "out.bvh").read_bytes() == one


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a file that never ends")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_nothing_half(workers: int, folder: Path) -> None:
    endless = folder / "endless.bvh"
    os.mkfifo(endless)
    asked = command(folder, endless, folder / "clips", "-o", folder / "out", "--workers", str(workers))
    assert processes.interrupted(asked, endless) == (130, "", "ikcore: interrupted\n")
    for name, written in contents(folder / "out").items():
        assert written == (folder / "out" / name).read_bytes()
        assert not name.startswith(".ikcore-")


def test_the_floor_that_a_clip_was_made_on_is_an_option(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """A level walk on stairs climbs them, unless it is said to be made on them."""
    source, stairs = ik.Clip.read(folder / "clips/walk.bvh"), ik.Ground.read(folder / "stairs.obj")
    floors: tuple[tuple[str, Literal["level", "ground"] | None], ...]
    floors = (("auto", None), ("level", "level"), ("ground", "ground"))
    for floor, made_on in floors:
        clip, found = baked(capsys, folder, "--source-floor", floor)
        made = ik.bake_feet(source, stairs, source_floor=made_on)
        assert found["pelvis"] == pytest.approx([made.pelvis_offset.min(), made.pelvis_offset.max()])
        hips = clip.skeleton.forward(clip.pose).positions[:, 0, 1]
        assert (hips[-1] > hips[0] + 4 * RISE) == (floor != "ground")
