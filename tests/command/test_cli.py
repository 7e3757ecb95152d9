"""The command line: what ``ikcore metrics`` prints, writes and refuses."""

from __future__ import annotations

import base64
import dataclasses
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest

import ikcore as ik
from ikcore.command import cli, commands, many

WALK = ik.samples.walk(seconds=4).clip
FLOOR = "v -9 {0} -9\nv -9 {0} 9\nv 9 {0} 9\nv 9 {0} -9\nf 1 2 3 4\n"  # an .obj file


def moved(clip: ik.Clip, down: float = 0.0, along: float = 1.0) -> ik.Clip:
    """Lower, and going farther than its steps."""
    assert clip.pose.translations is not None
    at = clip.pose.translations.copy()
    at[:, 0] = at[:, 0] * [1, 1, along] - [0, down, 0]
    return dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, at))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clean walk, one that sinks by 30 mm and slides, and one that is broken."""
    WALK.write(tmp_path / "walk.bvh")
    moved(WALK, 0.03, 1.02).write(tmp_path / "bad.bvh")
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nROOT a\n{\n  OFFSET 0 zero 0\n", encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """A command: its status and what it said."""
    status = cli.main(["metrics", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def measured(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """The only clip of a command that says nothing else."""
    status, out, err = run(capsys, "--json", *arguments)
    assert (status, err) == (0, "")
    (clip,) = json.loads(out)["clips"]
    return clip


# --- what is measured ------------------------------------------------------------------------------------------------


def test_the_walk_reads_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, folder / "walk.bvh")
    assert (status, err) == (0, "")
    head, *legs = out.splitlines()
    assert re.split("  +", head) == [
        *("clip", "leg", "drift", "most", "turn", "skating", "penetration", "in swing"),
        *("floating", "sole angle", "extension", "flips", "pops"),
    ]
    assert [re.split("  +", line)[1] for line in legs] == ["left", "right"]
    assert "!" not in out


def test_the_page_on_reports_names_the_keys_of_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, folder, "--source", folder / "walk.bvh", "--json")
    found = json.loads(out)
    text = (Path(__file__).parents[2] / "docs/guide/report.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (`[a-z.`, ]+`) \|", text.partition("## For programs")[2], re.MULTILINE)
    keys = {key for cell in told for key in re.findall(r"`([a-z.]+)`", cell)}
    clip = found["clips"][0]
    assert keys == {*found, *(f".{key}" for key in clip), *(f"..{key}" for key in clip["legs"]["left"])}
    assert {*found["failed"][0]} == {"file", "animation", "error"}


def test_known_amounts_before_and_after(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = measured(capsys, folder / "bad.bvh", "--source", folder / "walk.bvh")
    assert (clip["frames"], clip["up"], clip["unit"], clip["animation"], clip["page"]) == (241, "Y", 1.0, None, None)
    assert clip["fps"] == pytest.approx(60, abs=1e-3)
    for leg in clip["legs"].values():
        assert leg["measure"]["penetration"] == pytest.approx(0.03, abs=1e-3)
        assert leg["measure"]["drift"] == pytest.approx(0.01, abs=1e-3)  # 26 mm a second, for 0.38 s
        assert leg["measure"]["deviation"] > 0.03
        assert leg["source"]["penetration"] < 1e-3
        assert leg["source"]["drift"] < 1e-3
        assert leg["length"] == pytest.approx(0.8, abs=0.1)
        assert {*leg["contacts"]} == {*leg["confidence"]} == {"heel", "ball"}
    assert clip["legs"]["left"]["contacts"]["ball"][0] == [5, 41]
    assert clip["moments"][0]["what"] == "sinks"
    assert clip["moments"][0]["amount"] == pytest.approx(0.03, abs=1e-3)
    assert {*clip["moments"][0]} == {"leg", "what", "amount", "start", "stop"}


def test_before_and_after_in_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, folder / "bad.bvh", "--source", folder / "walk.bvh")
    assert status == 0
    assert re.findall(r"bvh +(\S+ \S+)", out) == ["left before", "left after", "right before", "right after"]
    assert "+30.0 mm !!" in out
    assert "deviation" in out.splitlines()[0]
    assert out.splitlines()[-2:] == ["! is worth a look, !! more so", "+ is what is beyond the source"]


def test_grounds_together_in_their_own_axes_and_units(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "floor.obj").write_text(FLOOR.format(-0.01))
    (folder / "deep.obj").write_text(FLOOR.format(-1))
    turned = "v -900 900 -2\nv -900 -900 -2\nv 900 -900 -2\nv 900 900 -2\nf 1 2 3 4\n"
    (folder / "turned.obj").write_text(turned)
    grounds: list[str | Path] = ["--ground", folder / "floor.obj", "--ground", folder / "deep.obj"]
    found = measured(capsys, folder / "walk.bvh", *grounds)
    assert found["legs"]["left"]["measure"]["floating"] == pytest.approx(0.01, abs=3e-3)
    grounds = ["--ground", folder / "turned.obj", "--ground-up", "Z", "--ground-unit", "0.01"]
    found = measured(capsys, folder / "walk.bvh", "--source", folder / "walk.bvh", *grounds)
    assert found["legs"]["left"]["measure"]["floating"] == pytest.approx(0.02, abs=5e-3)


def test_contacts_are_those_on_the_ground_of_the_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a metre over a floor that it was not made for, a walk still stands where it stood; on it, it would not."""
    (folder / "pit.obj").write_text(FLOOR.format(-0.5))
    command: list[str | Path] = [folder / "walk.bvh", "--ground", folder / "pit.obj"]
    alone = json.loads(run(capsys, *command, "--json")[1])["clips"][0]
    assert alone["legs"]["left"]["contacts"]["ball"] == []
    beside = measured(capsys, *command, "--source", folder / "walk.bvh")
    assert beside["legs"]["left"]["contacts"]["ball"][0] == [5, 41]
    assert beside["legs"]["left"]["measure"]["floating"] == pytest.approx(0.5, abs=3e-3)
    command += ["--source", folder / "walk.bvh", "--source-ground", folder / "pit.obj", "--json"]
    own = json.loads(run(capsys, *command)[1])["clips"][0]
    assert own["legs"]["left"]["contacts"]["ball"] == []


@pytest.mark.parametrize(("up", "unit"), [("Y", 0.01), ("Z", 0.0254), ("Z", 1.0), ("Y", 0.001), ("Y", 0.0254 / 0.45)])
def test_axes_and_units_are_taken_from_legs_and_said(
    up: str, unit: float, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, straight = folder / "other.bvh", folder / "straight.bvh"
    slid = moved(WALK, 0.0, 1.02)  # on its floor: how thick soles are is seen there, as at rest a Z up file lies
    slid.write(straight)
    slid.convert(up=up, unit=unit).write(other)
    status, out, err = run(capsys, other, "--json")
    clip = json.loads(out)["clips"][0]
    assert (status, clip["up"], clip["unit"]) == (0, up, unit)
    said = f"1 clip taken to have {up} up and units of {unit:g} m, as legs are; or give --up, --unit"
    assert err == f"ikcore: {said}\n"
    assert measured(capsys, other, "--up", up, "--unit", str(unit))["legs"] == clip["legs"]
    here = measured(capsys, straight)["legs"]
    for name, leg in clip["legs"].items():
        found, expected = (
            {key: np.nan if value is None else value for key, value in each["measure"].items()}
            for each in (leg, here[name])
        )
        assert found == pytest.approx(expected, abs=1e-4, rel=1e-3, nan_ok=True)
    assert measured(capsys, other, "--up", up, "--unit", "0.5")["unit"] == 0.5


def test_a_small_child_is_not_taken_for_a_tall_adult(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A leg of 0.5 m in inches: in the unit of the CMU library it would have 1.1 m."""
    child = folder / "child.bvh"
    dataclasses.replace(WALK, unit=0.5 / 0.85).convert(unit=0.0254).write(child)
    assert json.loads(run(capsys, child, "--json")[1])["clips"][0]["unit"] == 0.0254


# --- files -----------------------------------------------------------------------------------------------------------


def test_of_many_files_those_that_fail_are_named_and_the_others_done(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "deeper").mkdir()
    WALK.write(folder / "deeper/walk.BVH")
    (folder / "notes.txt").write_text("no clip")
    status, out, err = run(capsys, folder, folder / "gone.bvh", "--json")
    found = json.loads(out)
    assert status == 1
    names = [Path(clip["file"]).relative_to(folder).as_posix() for clip in found["clips"]]
    assert names == ["bad.bvh", "deeper/walk.BVH", "walk.bvh"]
    assert [Path(one["file"]).name for one in found["failed"]] == ["broken.bvh", "gone.bvh"]
    first, second = err.splitlines()
    assert first.startswith(f"ikcore: {folder / 'broken.bvh'}, line 4: ")
    assert second == f"ikcore: {folder / 'gone.bvh'}: No such file or directory"
    assert [one["error"] for one in found["failed"]] == [line.removeprefix("ikcore: ") for line in (first, second)]


@pytest.mark.parametrize("name", ["notes.txt", "empty"])
def test_what_has_no_clips_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("no clip")
    status, out, err = run(capsys, tmp_path / name)
    assert (status, out) == (1, "")
    assert err.startswith(f"ikcore: {tmp_path / name}: expected ")
    assert ".bvh or .gltf or .glb" in err


def test_a_clip_without_legs_fails_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = ik.Skeleton.chain([[0, 0, 0], [0, 1, 0], [0, 2, 0]])
    ik.Clip(chain, ik.Pose(np.tile([1.0, 0, 0, 0], (3, 3, 1))), 30).write(tmp_path / "chain.bvh")
    status, _, err = run(capsys, tmp_path / "chain.bvh")
    assert status == 1
    assert err.startswith(f"ikcore: {tmp_path / 'chain.bvh'}: ")


def test_a_source_of_other_length_fails_with_both_lengths(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    WALK[:100].write(folder / "short.bvh")
    status, _, err = run(capsys, folder / "short.bvh", "--source", folder / "walk.bvh")
    assert status == 1
    assert err == f"ikcore: {folder / 'short.bvh'}: source: expected 100 frames as the clip has, got 241\n"


@pytest.mark.parametrize("option", ["--ground", "--source-ground"])
def test_a_broken_ground_is_one_sentence(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.obj").write_text("v 0 0\n")
    command: list[str | Path] = [folder / "walk.bvh", folder / "bad.bvh", "--source", folder / "walk.bvh"]
    status, out, err = run(capsys, *command, option, folder / "broken.obj")
    assert (status, out) == (1, "")
    assert err == f"ikcore: {folder / 'broken.obj'}, line 1: expected three coordinates after 'v', got '0 0'\n"
    status, _, err = run(capsys, *command, option, folder / "gone.obj")
    assert (status, err) == (1, f"ikcore: {folder / 'gone.obj'}: No such file or directory\n")


def test_a_source_that_cannot_be_used_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = ik.Skeleton.chain([[0, 0, 0], [0, 1, 0], [0, 2, 0]])
    ik.Clip(chain, ik.Pose(np.tile([1.0, 0, 0, 0], (241, 3, 1))), 60).write(folder / "chain.bvh")
    status, _, err = run(capsys, folder / "walk.bvh", "--source", folder / "chain.bvh")
    assert status == 1
    assert err.startswith(f"ikcore: {folder / 'walk.bvh'}: source: {folder / 'chain.bvh'}: no legs found")
    status, _, err = run(capsys, folder / "walk.bvh", "--source", folder)
    assert (status, err) == (1, f"ikcore: {folder / 'walk.bvh'}: source: {folder}: expected a file, got a folder\n")


def test_ground_of_a_gltf_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A floor whose node is 10 mm lower; and one that goes up and down, which is refused."""
    floor = folder / "floor.gltf"
    floor.write_text(json.dumps(gltf_floor()))
    found = measured(capsys, folder / "walk.bvh", "--ground", floor)
    assert found["legs"]["left"]["measure"]["floating"] == pytest.approx(0.01, abs=3e-3)
    sampler, target = {"input": 1, "output": 0}, {"node": 1, "path": "translation"}
    lift = gltf_floor() | {"animations": [{"samplers": [sampler], "channels": [{"sampler": 0, "target": target}]}]}
    floor.write_text(json.dumps(lift))
    status, out, err = run(capsys, folder / "walk.bvh", "--ground", floor)
    said = "expected ground at rest, and its animations move it: save it without them"
    assert (status, out, err) == (1, "", f"ikcore: {floor}: {said}\n")
    lift["animations"][0]["channels"][0]["target"] = {"node": 2, "path": "translation"}  # what has no triangles
    floor.write_text(json.dumps(lift))
    assert measured(capsys, folder / "walk.bvh", "--ground", floor)["legs"] == found["legs"]


def gltf_floor() -> dict[str, Any]:
    """A square under a node that is lower, and another node."""
    corners = np.array([[-9, 0, -9], [-9, 0, 9], [9, 0, 9], [-9, 0, -9], [9, 0, 9], [9, 0, -9]], "<f4").tobytes()
    return {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}, {"translation": [0, -0.01, 0], "children": [0]}, {"name": "lamp"}],
        "scenes": [{"nodes": [1, 2]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 6}],
        "bufferViews": [{"buffer": 0, "byteLength": len(corners)}],
        "buffers": [
            {
                "uri": f"data:;base64,{base64.b64encode(corners).decode()}",
                "byteLength": len(corners),
            }
        ],
    }


def test_a_clip_beside_its_ground_is_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pit.obj").write_text(FLOOR.format(-0.5))
    status, _, err = run(capsys, folder / "walk.bvh", "--ground", folder / "pit.obj")
    assert (status, err) == (0, f"ikcore: {folder / 'walk.bvh'}: no foot is ever on the ground\n")


def test_all_animations_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = two_animations(tmp_path)
    status, out, _ = run(capsys, path, "--json", "-o", tmp_path / "pages")
    clips = json.loads(out)["clips"]
    assert (status, [clip["animation"] for clip in clips]) == (0, ["stand", "sit/down"])
    assert {page.name for page in (tmp_path / "pages").iterdir()} == {
        *("two_stand.html", "two_sit_down.html", "index.html")
    }


def two_animations(folder: Path) -> Path:
    """A glTF file of two legs that do nothing, twice."""
    names = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"]
    names += [name.replace("Left", "Right") for name in names[1:]]
    bones = [[0.1, -0.05, 0], [0, -0.4, 0.02], [0, -0.4, -0.02], [0, -0.08, 0.15]]
    nodes: list[dict[str, Any]] = [
        {"name": name, "translation": at, "children": [child]}
        for name, at, child in zip(names, [[0, 0.95, 0], *bones, *bones], [1, 2, 3, 4, 0, 6, 7, 8, 0], strict=True)
    ]
    nodes[0]["children"] = [1, 5]
    nodes[5]["translation"] = [-0.1, -0.05, 0]
    del nodes[4]["children"], nodes[8]["children"]
    keys = np.array([0, 1, *[0, 0, 0, 1] * 2], "<f4").tobytes()
    views = [{"buffer": 0, "byteOffset": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 32}]
    accessors = [
        {"bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
        {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC4"},
    ]
    sampler = {"input": 0, "output": 1}
    channel = {"sampler": 0, "target": {"node": 0, "path": "rotation"}}
    (folder / "two.bin").write_bytes(keys)
    tree = {
        "asset": {"version": "2.0"},
        "nodes": nodes,
        "buffers": [{"uri": "two.bin", "byteLength": len(keys)}],
        "bufferViews": views,
        "accessors": accessors,
        "animations": [{"name": n, "samplers": [sampler], "channels": [channel]} for n in ("stand", "sit/down")],
    }
    (folder / "two.gltf").write_text(json.dumps(tree))
    return folder / "two.gltf"


# --- pages -----------------------------------------------------------------------------------------------------------


def test_pages_and_a_list_of_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = folder / "new/pages"
    (folder / "deeper").mkdir()
    WALK.write(folder / "deeper/WALK.bvh")
    (folder / "broken.bvh").unlink()
    status, out, err = run(capsys, folder, "-o", pages, "--json")
    assert status == 0
    names = {Path(clip["page"]).name for clip in json.loads(out)["clips"]}
    assert names == {"bad.html", "WALK.html", "walk-2.html"}
    assert {page.name for page in pages.iterdir()} == {*names, "index.html"}
    assert err == f"ikcore: pages to look at: {(pages / 'index.html').resolve()}\n"
    links = {link.get("href") for link in ET.parse(pages / "index.html").iter("a")}
    assert links == names
    for page in pages.iterdir():
        assert "http" not in page.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")


def test_the_page_shows_before_and_after(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command: list[str | Path] = [folder / "bad.bvh", "--source", folder / "walk.bvh", "--report", folder / "pages"]
    status, _, err = run(capsys, *command)
    page = folder / "pages/bad.html"
    assert (status, err) == (0, f"ikcore: pages to look at: {page.resolve()}\n")
    (row,) = [row for row in ET.parse(page).iter("tr") if "".join(row[0].itertext()) == "penetration"]
    assert ["".join(cell.itertext()) for cell in row[1:5]] == ["0.0 mm ✓", "+30.0 mm ✗"] * 2


def test_a_folder_that_cannot_be_made_ends_in_a_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, folder / "walk.bvh", "-o", folder / "bad.bvh")
    assert (status, out) == (1, "")
    assert re.fullmatch(re.escape(f"ikcore: cannot write {folder / 'bad.bvh'}: ") + r"File (already )?exists\n", err)


@pytest.mark.parametrize("names", [["walk.html"], ["index.html"], ["index.html", "bad.html"]])
def test_pages_replace_nothing_but_pages(names: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such as the list of somebody's own site, in the folder of clips."""
    (folder / "broken.bvh").unlink()
    for name in names:
        (folder / name).write_text("<html>mine</html>")
    status, out, err = run(capsys, folder, "-o", folder)
    assert (status, out) == (2, "")
    assert re.fullmatch(
        rf"ikcore: --report {re.escape(f'{folder} would write over {folder}')}[/\\]({'|'.join(names)}), which is no"
        r" report: .*\n",
        err,
    )
    assert {file.read_text() for file in folder.glob("*.html")} == {"<html>mine</html>"}
    for name in names:
        (folder / name).unlink()
    for _ in range(2):  # its own it does replace
        assert run(capsys, folder, "-o", folder)[0] == 0
    assert {file.name for file in folder.glob("*.html")} == {"walk.html", "bad.html", "index.html"}
    (folder / "index.html").write_text("<html>mine</html>")
    assert run(capsys, folder / "walk.bvh", "-o", folder)[0] == 0  # a single page needs no list
    assert (folder / "index.html").read_text() == "<html>mine</html>"


def test_pages_are_never_written_over_what_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "walk.html").symlink_to(folder / "bad.bvh")
    before = (folder / "bad.bvh").read_bytes()
    command: list[str | Path] = [folder / "walk.bvh", "--source", folder / "bad.bvh", "-o", folder / "new/.."]
    status, out, err = run(capsys, *command)
    said = f"would write over {folder / 'bad.bvh'}, which is read: give another name"
    assert (status, out, err) == (2, "", f"ikcore: --report {folder / 'new/..'} {said}\n")
    assert (folder / "bad.bvh").read_bytes() == before
    assert not (folder / "new").exists()


@pytest.mark.parametrize("asked", [["metrics", "{walk}", "-o", "{out}"], ["demo", "-o", "{out}"]])
def test_a_full_disk_leaves_nothing_half(
    asked: list[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert cli.main([word.format(walk=folder / "walk.bvh", out=folder / "out") for word in asked]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"out[/\\]walk(_on_stairs)?\.(html|bvh)", line)
    assert "No space left on device" in line
    assert not list((folder / "out").iterdir())


# --- called wrongly, in many processes, interrupted ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "CLIP"),
        (["a.bvh", "--workers", "0"], "expected a whole number of at least 1, got '0'"),
        (["a.bvh", "--workers", "two"], "expected a whole number of at least 1, got 'two'"),
        (["a.bvh", "--unit", "-1"], "expected a positive number, got '-1'"),
        (["a.bvh", "--ground-unit", "inf"], "expected a positive number, got 'inf'"),
        (["a.bvh", "--unit", "cm"], "--unit: expected a positive number, got 'cm'"),
        (["a.bvh", "--source-ground", "b.obj"], "--source-ground: is the ground of --source, which is not given"),
        (["a.bvh", "--up", "X"], "--up"),
        (["a.bvh", "--frames", "3"], "--frames"),
        ([""], "argument CLIP: expected the name of a file or a folder, got ''"),
        (["a.bvh", "-o", ""], "--report: expected the name of a file or a folder, got ''"),
        (["a.bvh", "--ground", ""], "--ground: expected the name of a file or a folder, got ''"),
        (["a.bvh", "--source", ""], "--source: expected the name of a file or a folder, got ''"),
    ],
)
def test_a_wrong_call_is_explained(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["metrics", *arguments])
    assert said in capsys.readouterr().err


def command(*arguments: str | Path, start: str | None = None) -> list[str]:
    return processes.command("metrics", *arguments, start=start)


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", ["spawn", pytest.param("fork", marks=pytest.mark.skipif(os.name == "nt", reason="Windows has no fork"))]
)
def test_workers_say_and_write_the_same(start: str, folder: Path) -> None:
    said = []
    for workers, pages in ((1, folder / "one"), (2, folder / "two")):
        arguments: list[str | Path] = [folder, "--source", folder / "walk.bvh", "--workers", str(workers), "-o", pages]
        status, out, err = processes.finished(command(*arguments, start=start))
        assert status == 1  # of the broken one
        written = {page.name: page.read_bytes() for page in pages.iterdir()}
        said.append((out, err.replace(str(pages), ""), written))
    assert said[0] == said[1]
    assert len(said[0][2]) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a file that never ends")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_it_with_a_word(workers: int, folder: Path) -> None:
    endless = folder / "endless.bvh"
    os.mkfifo(endless)
    asked = command(endless, folder / "walk.bvh", "--workers", str(workers))
    assert processes.interrupted(asked, endless) == (130, "", "ikcore: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without asking it")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_that_ends_it_leaves_nothing_half(workers: int, number: signal.Signals, folder: Path) -> None:
    """While it writes, which takes long here."""
    code = "import multiprocessing, os, signal, sys, time; from ikcore.command import cli; "
    code += f"signal.signal({int(number)}, signal.SIG_DFL); "  # who runs the tests may ignore it
    code += "os.fsync = lambda _: time.sleep(99); multiprocessing.set_start_method('fork'); sys.exit(cli.main())"
    asked = ["metrics", str(folder / "walk.bvh"), str(folder / "bad.bvh"), "-o", str(folder / "out")]
    running = subprocess.Popen(
        [sys.executable, "-P", "-c", code, *asked, "--workers", str(workers)], stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            if len(list(folder.glob("out/.ikcore-*"))) == workers:
                break
            time.sleep(0.1)
        running.send_signal(number)
        assert running.communicate(timeout=30)[1] == ""
    finally:
        running.kill()
    assert running.returncode == 128 + number
    assert not list((folder / "out").iterdir())


@pytest.mark.skipif(os.name == "nt", reason="a signal to itself ends a process on Windows")
@pytest.mark.parametrize("name", ["ikcore._core", "numpy", "numpy._core", "ikcore.bake", "ikcore.command.cli"])
@pytest.mark.parametrize("how", ["script", "module"])
def test_an_interrupt_while_it_starts_ends_it_with_a_word(how: str, name: str, tmp_path: Path) -> None:
    """By whatever is imported then; the script is as pip makes it."""
    interrupting = f"""import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r} or name == {name!r}.replace("_core", "core"):
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs do not have
sys.meta_path.insert(0, Interrupts())
"""
    script = tmp_path / "ikcore"
    script.write_text(f"{interrupting}from ikcore.command.cli import main\nsys.exit(main())\n")
    (tmp_path / "sitecustomize.py").write_text(interrupting if how == "module" else "")
    path = os.pathsep.join([str(tmp_path), str(Path(ik.__file__).parent.parent)])
    asked = [str(script)] if how == "script" else ["-m", "ikcore"]
    done = subprocess.run(
        [sys.executable, "-P", *asked, "--version"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ikcore: interrupted\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_output_that_cannot_be_written_is_said(folder: Path) -> None:
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(
            command(folder / "walk.bvh"), stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "ikcore: cannot write the output: No space left on device\n")


def test_who_needs_no_more_output_may_go(folder: Path) -> None:
    running = subprocess.Popen(command(folder / "walk.bvh"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout
    assert running.stderr
    running.stdout.close()
    with running.stderr:
        assert running.stderr.read() == ""
    assert running.wait(timeout=60) == 1


@pytest.mark.skipif(processes.on_wine(), reason="wine's pipes lose a message now and then where many come at once")
def test_who_has_seen_enough_waits_for_no_more() -> None:
    code = "import time; from ikcore.command import many; results = many.each(time.sleep, [0] + 60 * [2], 2); "
    code += "next(results); start = time.monotonic(); results.close(); print(time.monotonic() - start)"
    asked = [sys.executable, "-P", "-c", code]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) < 30  # of a minute of work


@pytest.mark.skipif(processes.on_wine(), reason="wine's pipes lose a message now and then where many come at once")
def test_workers_end_with_the_process_that_waits_for_them() -> None:
    """However that ends; they hold its output open until then."""
    code = "from ikcore.command import many; "
    code += "list(many.each(exec, 2 * ['import os, time; os.write(1, b\"1\"); time.sleep(999)'], 2))"
    running = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True)
    assert running.stdout
    late = threading.Timer(60, running.kill)  # who waits for output waits for ever
    late.start()
    assert running.stdout.read(2) == "11"
    late.cancel()
    running.kill()
    assert running.communicate(timeout=60)[0] == ""


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(many.each(abs, [-1, -2, -3])) == [1, 2, 3]
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(many.each(abs, [-1, -2, -3])) == [1, 2, 3]
    assert "\r[##########                    ] 1 of 3" in terminal.getvalue()
    assert terminal.getvalue().endswith("3 of 3\r\x1b[K")
    assert list(many.each(abs, [-1])) == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_names_of_files_may_be_any_bytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = folder / os.fsdecode(b"\xff<&>.bvh")
    WALK.write(odd)
    status, out, _ = run(capsys, odd, folder / "walk.bvh", "-o", folder / "pages")
    assert status == 0
    assert "\\udcff<&>.bvh" in out
    assert {page.name for page in (folder / "pages").iterdir()} == {"_.html", "walk.html", "index.html"}
    for page in (folder / "pages").iterdir():
        ET.parse(page)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_what_others_have_named_is_shown_not_obeyed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = folder / "red\x1b[31m\x9b2J\nikcore: ok\u2028.bvh"
    WALK.write(odd)
    (folder / "red\x1b[31m broken.bvh").write_text("HIERARCHY\nROOT \x1b[31m\nROOT")
    status, out, err = run(capsys, folder, "-o", folder / "pages")
    assert status == 1
    assert "red\\x1b[31m\\x9b2J\\nikcore: ok\\u2028.bvh" in out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", out + err)
    assert len(err.splitlines()) == 3  # two that are broken, and where the pages are


def test_what_the_terminal_has_no_letter_for_is_shown(folder: Path) -> None:
    WALK.write(folder / "ходьба.bvh")
    done = subprocess.run(
        command(folder / "ходьба.bvh"),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u0445" in done.stdout


def test_files_are_as_given_and_folders_by_name(folder: Path) -> None:
    given = [str(folder / "walk.bvh"), str(folder), str(folder / "gone")]
    found = [Path(path).name for path in many.files(given, commands.ENDINGS)]
    assert found == ["walk.bvh", "bad.bvh", "broken.bvh", "walk.bvh", "gone"]
