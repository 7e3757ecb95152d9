"""Notes of a bake: in-place clips, reasons why nothing has changed, and ground in another unit."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
from pathlib import Path
from typing import Any

import gaits
import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore import prepare, samples, terrain
from ikcore._arrays import plain
from ikcore.bake import notes
from ikcore.bake.foot import Pivot, Stance
from ikcore.bake.footholds import Foothold
from ikcore.bake.scene import Scene
from ikcore.command import cli
from ikcore.feet import metrics, verdicts

Array = NDArray[Any]

MOCAP = Path(os.environ.get("IKCORE_MOCAP", "none"))
WALK = samples.walk(seconds=4).clip
BACK = np.arange(len(WALK))[:, np.newaxis] / WALK.fps * [0, 0, -1.3]
SPOT = gaits.moved(WALK, BACK)
SET = "nothing has changed: "


def stairs(factor: float = 1.0) -> ik.Ground:
    found = terrain.stairs(9, rise=0.16, run=0.35, landing=10).moved(translations=[0, 0, 1.4])
    part = found.parts[0]
    body: Any = part.body
    return ik.Ground.mesh(part.world(np.asarray(body.vertices)) * factor, np.asarray(body.faces))


def unchanged(clip: ik.Clip, other: ik.Clip) -> bool:
    poses = (clip.pose, other.pose)
    return all(np.array_equal(*(getattr(pose, name) for pose in poses)) for name in ("rotations", "translations"))


# --- in place --------------------------------------------------------------------------------------------------------


def test_root_motion_is_the_callers_and_a_note_says_that_it_would_help() -> None:
    said = ik.bake_feet(SPOT, ik.Ground.plane()).notes[0]
    assert said == "in-place walk (1.3 m/s) kept in place"
    assert said.remedy == "add_root_motion"
    again = pickle.loads(pickle.dumps(said))
    assert (again, again.remedy) == (said, said.remedy)
    ready = prepare.prepare(SPOT, ik.Ground.plane())
    assert [(note, note.remedy) for note in ready.notes] == [
        ("root motion was added: 5.2 m at 1.3 m/s", "add_root_motion")
    ]
    assert not ik.bake_feet(ready.clip, ik.Ground.plane(), contacts=ready.contacts).in_place


@pytest.mark.parametrize("height", [0.0, 0.1])
def test_without_root_motion_it_stays_in_place(height: float) -> None:
    """Its planted feet go back as fast as it would travel: on its own floor nothing changes."""
    baked = ik.bake_feet(SPOT, ik.Ground.plane(height=height))
    assert baked.in_place
    assert unchanged(baked.clip, SPOT) == (height == 0)
    _, after = baked.measured()
    assert after.in_place
    for measured in after.measures.values():
        assert max(measured.drift_most, measured.penetration, measured.floating) < 1e-3
    moved = np.asarray(baked.clip.pose.translations) - SPOT.pose.translations
    np.testing.assert_allclose(moved[:, 0], np.tile([0, height, 0], (len(SPOT), 1)), atol=1e-6)


def test_in_place_feet_are_mended_as_with_root_motion() -> None:
    """Those that slide relative to the belt."""
    sway = 0.02 * np.sin(np.arange(len(SPOT)) / 9)[:, np.newaxis] * [1, 0, 0]
    slides = gaits.moved(SPOT, sway)
    before, after = ik.bake_feet(slides, ik.Ground.plane()).measured()
    _, gone = ik.bake_feet(prepare.add_root_motion(slides), ik.Ground.plane()).measured()
    for side in ("left", "right"):
        assert before.measures[side].drift_most > 0.015
        assert after.measures[side].drift_most < max(0.001, 1.1 * gone.measures[side].drift_most) < 0.005


def test_in_place_on_bumps_feet_stand_on_the_ground() -> None:
    _, after = ik.bake_feet(SPOT, terrain.bumps(0.04, spacing=1.5, count=8)).measured()
    for measured in after.measures.values():
        assert max(measured.penetration, measured.floating) < 0.01


# --- why nothing has changed -----------------------------------------------------------------------------------------


def test_who_travels_and_is_changed_needs_no_words() -> None:
    assert ik.bake_feet(WALK, terrain.bumps(0.04, spacing=1.5, count=8)).notes == ()


def test_what_changes_nothing_says_why() -> None:
    assert ik.bake_feet(WALK, ik.Ground.plane()).notes == (f"{SET}all feet stand on the ground as they should",)
    swims = ik.Contacts.detect(WALK, modes="never")
    (said,) = ik.bake_feet(WALK, ik.Ground.plane(), contacts=swims).notes
    assert said.startswith(f"{SET}at 60 frames a second no foot was found to stand")


@pytest.mark.parametrize(
    ("lower", "said"),
    [
        (0.004, "all feet stand on the ground as they should"),
        (0.008, "feet that stand still on the ground are left as they are, though they sink 8.0 mm"),
        (
            0.012,
            "feet that stand still on the ground are left as they are, though they sink 12.0 mm and are 1",
        ),
    ],
)
def test_what_changes_nothing_says_what_measures_say(lower: float, said: str) -> None:
    """The soles of these toes are so much lower than their feet stand."""
    legs = []
    for leg in ik.Feet.detect(WALK.skeleton, clip=WALK):
        toe = leg.soles["toe"]
        sunk = toe._replace(offset=(toe.offset[0], toe.offset[1] - lower, toe.offset[2]))
        legs.append(dataclasses.replace(leg, soles={**leg.soles, "toe": sunk}))
    baked = ik.bake_feet(WALK, ik.Ground.plane(), feet=ik.Feet(tuple(legs)))
    (note,) = baked.notes
    assert note.startswith(SET + said)
    measures = baked.measured()[1].measures.values()
    poor = any(verdicts.verdict("penetration", each.penetration) != "good" for each in measures)
    assert poor == ("sink" in note)


def test_feet_that_are_left_deeper_than_in_the_clip_are_said() -> None:
    """Half of a bake leaves them half as deep as the ground is higher; those that are left alone are not said."""
    higher = ik.Ground.plane(height=0.1)
    moves, note = ik.bake_feet(WALK, higher, settings=ik.BakeSettings(weight=0.5)).notes
    assert moves == "the ground is 100 mm higher than the floor of the clip: all of it moves there"
    assert note == "feet are deeper in the ground than in the clip, by up to 50 mm, first at 0.00 s: left and right"
    assert ik.bake_feet(WALK, higher).notes == (moves,)
    kerb = ik.Ground.plane(height=0.03)
    said = ik.bake_feet(WALK, kerb, legs=["left"], frames=(60, 180)).notes
    assert said == ("the ground is 30 mm higher than the floor of the clip: all of it moves there",)


def test_stances_that_each_move_otherwise_to_a_level_ground_are_said() -> None:
    """A walk up stairs, on level ground: the first stance stays, the last one is as much lower as it has climbed."""
    climbed = dataclasses.replace(ik.bake_feet(WALK, stairs()).clip, origin=None)
    (said,) = (note for note in ik.bake_feet(climbed, ik.Ground.plane()).notes if "not level" in note)
    assert said.startswith("the floor of the clip is not level: stances move by -")
    assert said.endswith(" mm")
    low, high = (float(number) for number in said.removesuffix(" mm").rpartition(" by ")[2].split(" to "))
    assert low < -3 * 160
    assert abs(high) < 10


@pytest.mark.parametrize("file", ["pab_jog", "pab_run", "pab_walk", "cmu_03_01_uneven_daz", "fair1_zombie"])
@pytest.mark.parametrize("height", [0.0, 0.2])
@pytest.mark.skipif(not MOCAP.is_dir(), reason="IKCORE_MOCAP names no folder of clips")
def test_no_foot_of_a_capture_is_left_deeper_without_a_note(file: str, height: float) -> None:
    clip = ik.Clip.read(MOCAP / f"{file}.bvh", up=None, unit=None).convert(up="Y", unit=1)
    baked = ik.bake_feet(clip, ik.Ground.plane(height=height))
    _, after = baked.measured()
    assert after.own is not None
    for leg, measure in after.measures.items():
        deep, held = metrics.penetration(after.own[leg].heights), after.held[leg].any(axis=1)
        least = 0.006 * after.lengths[leg] / 0.87
        swing, stance = deep[~held].max(initial=0), np.percentile(deep[held], 95, method="lower")
        if measure.penetration > stance + least or measure.penetration_swing > swing + least:
            assert any(note.startswith("feet are deeper") and leg in note for note in baked.notes)


def course(factor: float, slope: float, height: float = 0.0) -> ik.Ground:
    """30 m of hills, 3 m high, and a way between them that goes up a little."""
    rows = np.linspace(-15, 15, 61)
    x, z = (each.ravel() for each in np.meshgrid(rows, rows))
    y = height + slope * z + np.where(np.abs(x) > 2, 3 * np.sin(x) ** 2, 0)
    corner = (np.arange(60)[:, np.newaxis] * 61 + np.arange(60)).ravel()
    faces = np.stack([corner, corner + 61, corner + 62, corner + 1], axis=1)
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    return ik.Ground.mesh(factor * np.stack([x, y, z], axis=1), triangles)


def test_ground_in_its_own_unit_needs_no_words() -> None:
    """Large, with hills, with a crate; sloped or level."""
    crate = np.array([[x, y, z] for x in (40.0, 41) for y in (0.0, 1) for z in (40.0, 41)])
    sides = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [2, 3, 7], [2, 7, 6]]
    plain = 300 * np.array([[-1.0, 0, -1], [-1, 0, 1], [1, 0, 1], [1, 0, -1]])
    wide = ik.Ground.mesh(plain, np.array([[0, 1, 2], [0, 2, 3]]))
    grounds = [
        *(course(1, slope) for slope in (0.0, 0.002, 0.1)),
        *(course(100, slope) for slope in (0.03, -0.03)),
        wide + ik.Ground.mesh(crate, np.array(sides)),
        wide.moved(translations=[0, 5, 0]),
        terrain.bumps(0.5, spacing=20, count=20),
        terrain.stairs(1000, rise=0.16, run=0.35),
        stairs(),
    ]
    said = [ik.bake_feet(WALK, ground).notes for ground in grounds]
    assert not [note for notes in said for note in notes if "unit" in note]


def test_what_is_not_a_unit_is_refused(tmp_path: Path) -> None:
    WALK.write(tmp_path / "walk.bvh")
    with pytest.raises(ValueError, match="unit: expected metres in one unit, or None, got 'inch'"):
        ik.Clip.read(tmp_path / "walk.bvh", unit="inch")  # type: ignore[arg-type]


def test_ground_elsewhere_is_no_other_unit() -> None:
    with pytest.raises(ValueError, match="it may be in another place, or in another unit"):
        ik.bake_feet(WALK, stairs().moved(translations=[50, 0, 0]))


def test_the_command_says_it_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    SPOT.write("spot.bvh")
    Path("floor.obj").write_text("v -9 0 -9\nv -9 0 9\nv 9 0 9\nv 9 0 -9\nf 1 2 3 4\n", encoding="utf-8")
    command = ["bake", "spot.bvh", "--ground", "floor.obj", "--unit", "1", "--up", "Y", "--report", "pages"]
    assert cli.main([*command, "-o", "out.bvh"]) == 0
    said = "root motion was added: 5.2 m at 1.3 m/s"
    shown = capsys.readouterr().err
    assert f"ikcore: spot.bvh: {said}\n" in shown
    assert "nothing has changed" not in shown
    assert f"R{said[1:]}." in Path("pages/spot.html").read_text(encoding="utf-8")
    assert cli.main([*command, "-o", "out.bvh", "--no-root-motion", "--json"]) == 0
    (clip,) = json.loads(capsys.readouterr().out)["clips"]
    assert clip["notes"][0].startswith("in-place walk")
    assert clip["notes"][0].endswith("; --root-motion mends that")
    moved = np.asarray(ik.Clip.read("out.bvh").pose.translations)[:, 0] - np.asarray(SPOT.pose.translations)[:, 0]
    assert np.abs(moved[:, [0, 2]]).max() < 1e-5


# --- what comes back -------------------------------------------------------------------------------------------------


def spider(ends: int) -> ik.Skeleton:
    """Eight legs of three joints, and so many End Sites at each: the first is what it stands on."""
    names, parents, offsets = ["Root", "Body"], [-1, 0], [[0.0, 0.5, 0], [0.0, 0, 0]]
    for side, sign in (("L", 1), ("R", -1)):
        for number, z in enumerate((0.3, 0.1, -0.1, -0.3)):
            first = len(names)
            names += [f"Leg{number}{part}.{side}" for part in ("Coxa", "Femur", "Tibia")]
            parents += [1, first, first + 1]
            offsets += [[0.1 * sign, 0, z], [0.1 * sign, 0.05, 0.3 * z], [0.25 * sign, 0.15, z]]
            for end in range(ends):
                names.append(f"{names[first + 2]}_end{end + 1 if end else ''}")
                parents.append(first + 2)
                offsets.append([0.15 * sign, -0.7 + 0.05 * end, 0.02 * end])
    return ik.Skeleton(parents, offsets, names=names)


@pytest.mark.parametrize("ends", [1, 2, 3])
def test_end_sites_that_are_stood_on_come_back_as_end_sites(ends: int, tmp_path: Path) -> None:
    """26 joints are 26 again, on a slope too: an End Site has a place, and nothing to turn it by."""
    skeleton, times = spider(ends), np.arange(61) / 30
    turned = np.tile([1.0, 0, 0, 0], (61, len(skeleton), 1))
    for joint, name in enumerate(skeleton.names):
        if "Femur" in name:
            lift = np.maximum(np.sin(2 * np.pi * times + np.pi * (int(name[3]) % 2 ^ (name[-1] == "R"))), 0)
            axis = [0, 0, 1.0 if name[-1] == "L" else -1.0]
            turned[:, joint] = ik.rotations.from_axis_angle(axis, 0.3 * lift)
    path = tmp_path / "spider.bvh"
    ik.Clip(skeleton, ik.Pose(turned), 30).write(path)
    clip, before = ik.Clip.read(path), path.read_text(encoding="utf-8")
    assert before.count("JOINT") + 1 == 26
    baked = ik.bake_feet(clip, ik.Ground.plane([0.1, 1, -0.2]))
    assert not unchanged(baked.clip, clip)
    baked.clip.write(path)
    text, again = path.read_text(encoding="utf-8"), ik.Clip.read(path)
    assert (text.count("JOINT"), text.count("End Site")) == (before.count("JOINT"), before.count("End Site"))
    assert again.skeleton == clip.skeleton
    _, after = baked.measured()
    for measured in after.measures.values():
        assert max(measured.penetration, measured.floating) < 0.01


# --- walls -----------------------------------------------------------------------------------------------------------


def wall(height: float, x: tuple[float, float] = (-5.0, 5.0)) -> ik.Ground:
    """A floor, and across the way a wall of 0.3 m."""
    corners = np.array([[a, b, c] for a in x for b in (-1.0, height) for c in (3.0, 3.3)])
    sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]]
    faces = [[side[0], *side[at : at + 2]] for side in sides for at in (1, 2)]
    return ik.Ground.plane() + ik.Ground.mesh(corners, faces)


@pytest.mark.parametrize("height", [0.8, 2.0])
def test_a_wall_that_feet_go_through_is_named(height: float) -> None:
    baked = ik.bake_feet(WALK, wall(height))
    (said,) = baked.notes
    words, when = said.split(" s: ")[0].rsplit(" ", 1)
    assert words == "feet go through what is higher than they are lifted, first at"
    assert said.endswith(" s: left and right")
    first = min(np.flatnonzero(ankle[:, 2] > 3.0)[0] for ankle in ankles())
    assert abs(float(when) * WALK.fps - first) < 0.1 * WALK.fps  # heels are behind, toes are ahead


def ankles() -> list[Array]:
    """Positions of the walk's ankles."""
    places = WALK.skeleton.forward(WALK.pose).positions
    return [places[:, WALK.skeleton.index(str(leg.ankle))] for leg in ik.Feet.detect(WALK.skeleton).legs]


@pytest.mark.parametrize("ground", [wall(0.2), wall(0.4), wall(2.0, (0.6, 5.0))], ids=["curb", "step", "beside"])
def test_nothing_is_said_of_what_feet_go_over_or_past(ground: ik.Ground) -> None:
    assert not any("go through" in said for said in ik.bake_feet(WALK, ground).notes)


# --- where nobody would stand ----------------------------------------------------------------------------------------


def block(low: tuple[float, float, float], high: tuple[float, float, float]) -> ik.Ground:
    """A box."""
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return ik.Ground.mesh(corners, [face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))])


UNDER, IN, HARDLY = "under something that is lower than a body", "in something", "with less than half of their soles on"
WALL, BOARD = block((-0.5, 0, 1), (-0.09, 1, 6)), block((-0.012, 0, 1), (-0.004, 1, 6))
PIT = ik.Ground.plane(height=-1) + block((-1, -0.2, -1), (1, 0, 1.5)) + block((-1, -0.1, 2.4), (1, 0, 2.5))


@pytest.mark.parametrize(
    ("ground", "said", "when", "legs"),
    [
        (ik.Ground.plane() + block((-1, 0.6, 2), (1, 0.62, 4)), UNDER, 1.9, "left and right"),
        (ik.Ground.plane() + block((-1, 1.2, 2), (0, 1.3, 4)), UNDER, 1.9, "right"),
        (ik.Ground.plane() + WALL + BOARD, IN, 1.9, "right"),
        (PIT, HARDLY, 1.37, "left"),
    ],
    ids=["a slab", "a ceiling over one foot", "a narrow gap", "an edge"],
)
def test_feet_that_stand_where_nobody_would_are_said(ground: ik.Ground, said: str, when: float, legs: str) -> None:
    notes = [note for note in ik.bake_feet(WALK, ground).notes if note.startswith("feet stand")]
    assert len(notes) == 1
    assert notes[0].startswith(f"feet stand {said}")
    assert notes[0].endswith(f" first at {when:.2f} s: {legs}")


@pytest.mark.parametrize(
    "ground",
    [
        ik.Ground.plane() + block((-1, 2.2, 2), (1, 2.3, 4)),
        ik.Ground.plane() + block((-0.5, 0, 1), (-0.3, 1, 6)),
        ik.Ground.plane() + WALL,  # it is kept off it
        ik.Ground.plane() + block((-1, -0.2, -1), (1, 0.1, 9)),
        terrain.bumps(0.04, spacing=1.5, count=8),
        terrain.ramp(12, 2, width=8, landing=12),
    ],
    ids=["a high ceiling", "a wall farther aside", "a wall beside", "a board to walk on", "bumps", "a ramp"],
)
def test_feet_that_stand_as_one_does_are_not(ground: ik.Ground) -> None:
    assert not [note for note in ik.bake_feet(WALK, ground).notes if note.startswith("feet stand")]


def test_a_foot_on_its_heel_stands_on_the_ground_under_it() -> None:
    """Though its toes, and with them most of its sole, are far above it."""
    feet = ik.Feet.detect(WALK.skeleton)
    contacts = ik.Contacts.detect(WALK, feet)
    start, stop = contacts.intervals("left").tolist()[1]
    turned, ankle = WALK.pose.rotations.copy(), WALK.skeleton.index("LeftFoot")
    up = ik.rotations.from_axis_angle([1.0, 0, 0], np.radians(-50))
    turned[start:stop, ankle] = ik.rotations.multiply(turned[start:stop, ankle], up)
    clip = ik.Clip(WALK.skeleton, ik.Pose(turned, WALK.pose.translations), WALK.fps)
    for ground in (*(ik.Ground.plane([0, 1, slope]) for slope in (0.02, 0.7)), terrain.ramp(5, 2, width=8, landing=12)):
        said = ik.bake_feet(clip, ground, feet=feet, contacts=contacts).notes
        assert not [note for note in said if note.startswith("feet stand")]


def test_soles_are_looked_for_on_the_plane_that_feet_were_put_on() -> None:
    """Positions over the ground, without heights."""
    normal = np.array([0.3, 0.8, -0.5]) / np.linalg.norm([0.3, 0.8, -0.5])
    stance = Stance(0, 0, 1, (Pivot("ball", 0, 1),), 0, np.zeros(1, np.intp), np.zeros((1, 3)), 0.0, planted=True)
    hold = Foothold(stance, np.array([1.0, 2, 3]), np.zeros(3), 0.5, normal, normal, 0, copied=False)
    scene = Scene(ik.Ground.plane(), 60.0, 1, ik.BakeSettings(), 1, on_ground=False)
    points = np.random.default_rng(4).normal(size=(1, 5, 3))
    laid = notes._on_foothold_planes(points, [hold], scene)
    np.testing.assert_array_almost_equal(laid[..., [0, 2]], points[..., [0, 2]], 12)
    np.testing.assert_allclose((laid - [1, 2.5, 3]) @ normal, 0, atol=1e-12)


def test_feet_that_were_put_under_something_do_not_stand_as_they_should() -> None:
    """Nor does the second bake say so, which changes nothing."""
    ground = ik.Ground.plane() + block((-1, 1.2, 2), (1, 1.3, 3))
    first = ik.bake_feet(WALK, ground)
    stand, nothing = ik.bake_feet(dataclasses.replace(first.clip, origin=None), ground, source_floor="ground").notes
    assert stand.startswith(f"feet stand {UNDER}, first at ")
    assert nothing == f"{SET}feet are where they would be put"


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_legs_that_would_have_to_fold_up_too_much_are_said(unit: float) -> None:
    """A run over three steps per stride: its feet clear them below hips that are only slightly higher."""
    run = gaits.running().clip.convert(unit=unit)
    steep, low = (
        terrain.stairs(14, rise=rise / unit, run=0.29 / unit, width=6 / unit, landing=9 / unit) for rise in (0.17, 0.02)
    )
    baked = ik.bake_feet(run, steep)
    most = max(float(short.max()) for short in baked.shortfall.values()) * unit
    (said,) = (note for note in baked.notes if note.startswith("legs do not"))
    assert said == (
        f"legs do not reach, or fold, as far as feet should go, by up to {most:.2g} m, first at 0.10 s: "
        "left and right; lower steps or shorter strides help"
    )
    assert not [note for note in ik.bake_feet(run, low).notes if note.startswith("legs do not")]


def test_a_lift_with_a_roof_is_looked_at_where_it_is() -> None:
    """A cabin 1 m high that rises from under the floor: its roof is over the feet in every frame, where it is then."""
    cabin = block((-1, -0.2, -1), (1, 0, 6)) + block((-1, 1.0, -1), (1, 1.1, 6))
    rises = np.linspace([0, 0, 0], [0, 1.0, 0], len(WALK))
    (said,) = (note for note in ik.bake_feet(WALK, cabin.moved(translations=rises)).notes if "stand" in note)
    assert said.startswith(f"feet stand {UNDER}, first at ")
    assert said.endswith(": left and right")


def test_of_a_loop_the_round_that_is_there_counts() -> None:
    clip = samples.walk(3 + 1e-9, speed=1.4, step=0.7).clip
    turned, moved = clip.pose.rotations.copy(), np.array(clip.pose.translations)
    turned[-1], moved[-1] = turned[0], moved[0] + (moved[-1] - moved[0]) * [0, 0, 1]
    loop = ik.Clip(clip.skeleton, ik.Pose(turned, moved), clip.fps, loop=True)
    ground = ik.Ground.plane() + block((-1, 1.2, 2), (1, 1.3, 3))
    (said,) = (note for note in ik.bake_feet(loop, ground).notes if note.startswith("feet stand"))
    assert 1 < float(said.split(" at ")[1].split(" s:")[0]) < 3


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.26, "1.3"), (99.4, "99"), (114.2, "114"), (1.6e6, "1600000"), (0.0123, "0.012"), (1.24e-6, "0.0000012")],
)
def test_numbers_have_no_exponents(value: float, said: str) -> None:
    assert plain(value) == said
    assert plain(-value) == f"-{said}"
