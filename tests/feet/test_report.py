"""Whole clips measured, what there is to look at, and the page about it."""

from __future__ import annotations

import dataclasses
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore import report
from ikcore.command import commands, demo, many
from ikcore.feet import Measured, before_and_after, measure, metrics, verdicts
from ikcore.reports import drawing, summary

FPS = 60
WALK = ik.samples.walk(seconds=4, fps=FPS)
TRUTH = {
    (side.lower(), point.lower()): WALK.planted(side + point)
    for side in ("Left", "Right")
    for point in ("Heel", "Ball")
}


def true_contacts(clip: ik.Clip = WALK.clip) -> ik.Contacts:
    """Those that the walk is known to have."""
    return ik.Contacts.detect(clip, curves={key: mask.astype(float) for key, mask in TRUTH.items()})


def shifted(clip: ik.Clip, by: Any) -> ik.Clip:
    """Every frame elsewhere: the root at so much more."""
    assert clip.pose.translations is not None
    moved = clip.pose.translations.copy()
    moved[:, 0] += np.broadcast_to(by, (len(clip), 3))
    return dataclasses.replace(clip, pose=ik.Pose(clip.pose.rotations, moved))


CLEAN = measure(WALK.clip, contacts=true_contacts())


# --- a clip, measured ------------------------------------------------------------------------------------------------


def test_the_sample_walk_is_clean() -> None:
    for measured in (CLEAN, measure(WALK.clip)):
        for record in measured.measures.values():
            assert record.drift_most < 5e-4
            assert record.penetration < 1e-3
            assert record.floating < 5e-3
            assert record.skating == record.knee_flips == record.knee_pops == 0
        assert verdicts.moments(measured) == []


def test_sinking_and_drifting_read_what_they_are() -> None:
    along = np.arange(241)[:, np.newaxis] / FPS * [0, 0, 0.03]  # 30 mm a second
    bad = measure(shifted(WALK.clip, along - np.array([0, 0.03, 0])), source=CLEAN)
    for leg, record in bad.measures.items():
        longest = max(
            stop - start - 2 * round(0.1 * (stop - start) + FPS / 30) - 1
            for point in ("heel", "ball")
            for start, stop in metrics.runs(TRUTH[leg, point]).tolist()
        )
        assert record.drift_most == pytest.approx(0.03 * longest / FPS, abs=3e-4)
        assert record.penetration == pytest.approx(0.03, abs=1e-6)
        assert record.floating == 0
        assert record.deviation == pytest.approx(np.sqrt(along[:, 2] ** 2 + 0.03**2).mean(), abs=1e-6)
        assert record.pelvis_path == pytest.approx(np.percentile(along[:, 2], 95) / bad.lengths[leg], abs=1e-3)
    assert bad.contacts is CLEAN.contacts
    assert bad.feet is CLEAN.feet


def test_lifting_reads_as_floating() -> None:
    high = measure(shifted(WALK.clip, [0, 0.02, 0]), source=CLEAN)
    assert high.measures["left"].floating == pytest.approx(0.02, abs=1e-6)
    assert high.measures["left"].penetration == 0
    assert {moment.what for moment in verdicts.moments(high, CLEAN)} == {"floats"}


@pytest.mark.parametrize(("up", "unit"), [("Z", 1.0), ("Y", 0.01), ("Z", 0.0254)])
def test_axes_and_units_change_nothing(up: str, unit: float) -> None:
    other = measure(WALK.clip.convert(up=up, unit=unit))
    here = measure(WALK.clip)
    for leg, record in here.measures.items():
        there = dataclasses.asdict(other.measures[leg])
        assert there == pytest.approx(dataclasses.asdict(record), abs=1e-6, nan_ok=True)
        np.testing.assert_allclose(other.tracks[leg].sole, here.tracks[leg].sole, atol=1e-9)


def test_a_given_ground_counts() -> None:
    contacts = true_contacts()
    over = measure(WALK.clip, ground=ik.Ground.plane(height=-0.05), contacts=contacts)
    under = measure(WALK.clip, ground=ik.Ground.plane(height=0.04), contacts=contacts)
    assert over.measures["right"].floating == pytest.approx(0.05, abs=1e-6)
    assert under.measures["right"].penetration == pytest.approx(0.04, abs=1e-6)


def test_a_ground_in_other_axes_and_units_counts_likewise() -> None:
    clip = WALK.clip.convert(up="Z", unit=0.01)
    slope = ik.Ground.plane([0, np.sin(0.1), np.cos(0.1)], up="z")  # forward is -y there, so it falls
    here = measure(clip, ground=slope, contacts=true_contacts(clip))
    there = measure(WALK.clip, ground=ik.Ground.plane([0, np.cos(0.1), -np.sin(0.1)]), contacts=true_contacts())
    for leg, track in there.tracks.items():
        np.testing.assert_allclose(here.tracks[leg].heights, track.heights, atol=1e-9)
        np.testing.assert_allclose(here.tracks[leg].normals, track.normals, atol=1e-9)
    assert here.measures["left"].sole_angle == pytest.approx(0.1, abs=0.01)


def test_stairs_are_found_under_the_feet() -> None:
    """The walk goes level at the height of the third step: where it is lower it floats, where higher it sinks."""
    stairs = ik.terrain.stairs(6, rise=0.1, run=1.0).moved(translations=[0, -0.25, 0])
    track = measure(WALK.clip, ground=stairs, contacts=true_contacts()).tracks["left"]
    sole = track.sole
    steps = np.floor(sole[..., 2]).clip(-1, 5) + 1
    known = np.abs(sole[..., 2] - np.round(sole[..., 2])) > 1e-6
    np.testing.assert_allclose(track.heights[known], (sole[..., 1] - (0.1 * steps - 0.25))[known], atol=1e-6)


def test_where_no_ground_is_the_foot_is_said_to_stand_on_none() -> None:
    nowhere = ik.Ground.heights(np.zeros((2, 2)), spacing=0.1).moved(translations=[50, 0, 0])
    bad = measure(WALK.clip, ground=nowhere, contacts=true_contacts())
    assert bad.measures["left"].texts()["floating"] == "no ground"
    assert {moment.what for moment in verdicts.moments(bad)} == {"stands where there is no ground"}
    page(bad)


def test_on_the_spot_is_measured_as_if_it_went() -> None:
    back = np.arange(241)[:, np.newaxis] / FPS * [0, 0, -1.3]
    there = measure(shifted(WALK.clip, back))
    assert there.measures["left"].drift_most < 2e-3
    assert "on the spot, measured as if it went 1.30 m/s" in report.page("walk", there)


def test_what_slides_does_not_pass_for_walking_on_the_spot() -> None:
    """A source that travels, and a result whose root stays: its feet slide."""
    back = np.arange(241)[:, np.newaxis] / FPS * [0, 0, -1.3]
    assert measure(shifted(WALK.clip, back), source=CLEAN).measures["left"].drift > 0.3


def test_a_result_that_travels_may_have_a_source_on_the_spot() -> None:
    back = np.arange(241)[:, np.newaxis] / FPS * [0, 0, -1.3]
    before = measure(shifted(WALK.clip, back))
    after = measure(WALK.clip, source=before)
    for record in after.measures.values():
        assert record.drift_most < 2e-3
        assert record.pelvis_path < 0.01
    assert (before.in_place, after.in_place) == (True, False)
    assert "on the spot" not in report.page("walk", after, before)


def test_a_result_on_the_spot_of_a_source_on_the_spot_goes_as_far() -> None:
    back = np.arange(241)[:, np.newaxis] / FPS * [0, 0, -1.3]
    before = measure(shifted(WALK.clip, back))
    after = measure(shifted(WALK.clip, back + np.array([0.02, -0.03, 0])), source=before)
    for record in after.measures.values():
        assert record.drift_most < 2e-3
        assert record.penetration == pytest.approx(0.03, abs=1e-6)
        assert record.deviation == pytest.approx(np.hypot(0.02, 0.03), abs=1e-6)
    assert after.in_place


def test_a_source_stands_on_its_own_ground() -> None:
    """Half a metre lower, a result stands on its ground as its source does on another one."""
    low = ik.Ground.plane(height=-0.5)
    after = measure(shifted(WALK.clip, [0, -0.5, 0]), ground=low, source=CLEAN)
    for record in after.measures.values():
        assert record.penetration == pytest.approx(0, abs=1e-6)
        assert record.floating == pytest.approx(0, abs=1e-6)
        assert record.lift_lost == pytest.approx(0, abs=1e-6)
    sunk = measure(shifted(WALK.clip, [0, -0.53, 0]), ground=low, source=CLEAN)
    assert sunk.measures["left"].penetration == pytest.approx(0.03, abs=1e-6)
    assert verdicts.moments(after, CLEAN) == []


def test_what_the_source_does_itself_is_not_to_be_looked_at() -> None:
    down = np.where(np.arange(241) < 120, 0, -0.04)[:, np.newaxis] * [0, 1, 0]
    sunk = shifted(WALK.clip, down)
    before = measure(sunk, contacts=true_contacts(), ground=ik.Ground.plane())
    assert "sinks" in {moment.what for moment in verdicts.moments(before)}
    assert "sinks" not in {moment.what for moment in verdicts.moments(measure(sunk, source=before), before)}


def test_what_measures_say_alone_and_beside_a_source() -> None:
    bad = measure(shifted(WALK.clip, [0, -0.03, 0]), source=CLEAN)
    here, there = CLEAN.measures["left"], bad.measures["left"]
    assert verdicts.in_words("penetration", [there]) == [("30.0 mm", "poor")]
    assert verdicts.in_words("penetration", [here, there]) == [("0.0 mm", "good"), ("+30.0 mm", "poor")]
    assert verdicts.in_words("drift", [here, there])[1] == ("0.0 mm", "good")
    assert verdicts.in_words("deviation", [here, there]) == [("-", None), ("30.0 mm", None)]
    only = measure(WALK.clip, contacts=ik.Contacts.detect(WALK.clip, modes={"left": "never"}))
    assert verdicts.worst(only.measures, "drift") == "right"
    assert verdicts.worst(only.measures, "deviation") == "left"


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="source: expected 200 frames as the clip has, got 241"):
        measure(WALK.clip[:200], source=CLEAN)
    with pytest.raises(ValueError, match=r"source: expected unit 0\.01 as the clip has, got 1\.0; see Clip\.convert"):
        measure(WALK.clip.convert(unit=0.01), source=CLEAN)
    with pytest.raises(ValueError, match="the ground moves over 240 frames: expected points of shape"):
        measure(WALK.clip, ground=ik.Ground.plane().moved(translations=np.zeros((240, 3))))
    with pytest.raises(ValueError, match="ground: expected Y up as in the clip, got 'z'"):
        measure(WALK.clip, ground=ik.Ground.plane(up="z"), contacts=CLEAN.contacts)
    right = ik.Contacts.detect(WALK.clip, ik.Feet((CLEAN.feet["right"],)))
    with pytest.raises(KeyError, match="no such point, 'left', 'heel'; there are"):
        measure(WALK.clip, contacts=right)


def test_three_boned_legs_and_legs_without_ankles_are_measured() -> None:
    leg = ik.Leg("left", "left", "LeftUpLeg", ("LeftLeg",), soles={"ball": ik.feet.Sole("LeftLeg", (0, -0.4, 0))})
    track = measure(WALK.clip, ik.Feet((leg,))).tracks["left"]
    np.testing.assert_array_equal(track.chain[:, -1], track.sole[:, 0])
    assert track.chain.shape == (241, 3, 3)


# --- what to look at -------------------------------------------------------------------------------------------------


def test_a_knee_that_pops_is_a_moment() -> None:
    turned = WALK.clip.pose.rotations.copy()
    knee = WALK.clip.skeleton.index("LeftLeg")
    turned[100, knee] = ik.rotations.multiply(ik.rotations.from_axis_angle([1, 0, 0], 0.5), turned[100, knee])
    bad = measure(dataclasses.replace(WALK.clip, pose=ik.Pose(turned, WALK.clip.pose.translations)), source=CLEAN)
    (popped,) = [moment for moment in verdicts.moments(bad, CLEAN) if moment.what == "knee pops"]
    assert (popped.leg, popped.start, popped.stop) == ("left", 99, 102)
    drawn = page(bad, CLEAN)
    assert len([mark for mark in drawn.iter(f"{SVG}circle") if mark.get("class") == "mark"]) == 3


def test_a_knee_that_jumps_and_back_is_one_moment() -> None:
    turned = WALK.clip.pose.rotations.copy()
    knee = WALK.clip.skeleton.index("LeftLeg")
    turned[100:104, knee] = ik.rotations.multiply(ik.rotations.from_axis_angle([1, 0, 0], 0.5), turned[100:104, knee])
    bad = measure(dataclasses.replace(WALK.clip, pose=ik.Pose(turned, WALK.clip.pose.translations)), source=CLEAN)
    found = [moment[3:5] for moment in verdicts.moments(bad, CLEAN) if moment.what == "knee pops"]
    assert found == [(99, 105)]


def test_points_of_a_sole_slide_together() -> None:
    """One moment a stance, from heel strike to toe-off, not one for each point."""
    along = np.arange(241)[:, np.newaxis] / FPS * [0, 0, 0.1]
    found = verdicts.moments(measure(shifted(WALK.clip, along), source=CLEAN), CLEAN)
    for leg in ("left", "right"):
        down = TRUTH[leg, "heel"] | TRUTH[leg, "ball"]
        long = [stop - start > 10 for start, stop in metrics.runs(down).tolist()]  # whose core slides more than 5 mm
        assert len([moment for moment in found if moment.leg == leg and moment.what == "slides"]) == sum(long)


def test_the_worst_comes_first_and_where() -> None:
    down = np.zeros((241, 3))
    down[:80, 1], down[120:, 1] = -0.012, -0.04
    found = verdicts.moments(measure(shifted(WALK.clip, down), source=CLEAN), CLEAN)
    sinks = [moment for moment in found if moment.what == "sinks"]
    assert sinks[0].amount == pytest.approx(0.04, abs=1e-4)
    assert sinks[0].start >= 120
    weights = [round(moment.weight, 1) for moment in found]
    assert weights == sorted(weights, reverse=True)
    assert {round(moment.amount, 3) for moment in sinks} == {0.012, 0.04}


@pytest.mark.parametrize("name", [name for name in summary.MEANINGS if name in verdicts.BOUNDS])
def test_verdicts_are_good_up_to_their_bounds(name: str) -> None:
    good, fair, _ = verdicts.BOUNDS[name]
    assert verdicts.verdict(name, good) == "good"
    assert verdicts.verdict(name, fair * 1.001 + 1) == ("poor" if fair < np.inf else "fair")
    assert fair == np.inf or verdicts.verdict(name, np.inf) == "poor"
    assert verdicts.verdict(name, np.nan) is None


def test_the_page_on_reports_has_the_bounds() -> None:
    text = (Path(__file__).parents[2] / "docs/guide/report.md").read_text(encoding="utf-8")
    said = {}
    for names, good, fair in re.findall(
        r"^\| (`\w+`.*?) \| ([\d.]+)(?: mm| %|°|) \| (any|[\d.]*).*\|$", text, re.MULTILINE
    ):
        most = np.inf if fair == "any" else float(fair or good)
        said.update(dict.fromkeys(re.findall(r"`(\w+)`", names), (float(good), most)))
    percent = ("skating", "skating_by_height", "length_error", "lift_lost", "pelvis_path")
    angles = ("sole_angle", "heading_drift", "straightness_lost")
    shown = dict.fromkeys(percent, 100) | dict.fromkeys(angles, 180 / np.pi)
    for name, (good, fair, length) in verdicts.BOUNDS.items():
        factor = 1000 if length else shown.get(name, 1)
        assert said[name] == pytest.approx((good * factor, fair * factor)), name


def test_every_measure_has_a_meaning() -> None:
    assert list(summary.MEANINGS) == [field.name for field in dataclasses.fields(metrics.Measure)]


# --- the page --------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def page(measured: Measured, source: Measured | None = None, title: str = "walk") -> ET.Element:
    """As XML, which it is if it can be read; without anything from elsewhere, and without numbers that are none."""
    text = report.page(title, measured, source)
    assert not re.search(r"nan|inf\b|None", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(|\ssrc=|href=", text)
    assert set(re.findall(r"https?://[^\"]*", text)) <= {"http://www.w3.org/2000/svg"}
    return ET.fromstring(text)


def words(tree: ET.Element) -> str:
    return " ".join(" ".join(tree.itertext()).split())


def lines(tree: ET.Element, style: str) -> list[ET.Element]:
    """The drawn lines of one style that are not empty."""
    return [path for path in tree.iter(f"{SVG}path") if path.get("class") == style and path.get("d")]


def test_the_page_of_a_clean_walk_says_so() -> None:
    tree = page(CLEAN)
    assert "Nothing to look at" in words(tree)
    assert not lines(tree, "sunk")
    assert len(lines(tree, "heel")) == 4  # from the side and over time, of two legs
    assert len(lines(tree, "knee")) == 2
    assert {bar.get("class") for bar in tree.iter(f"{SVG}rect")} == {"good", "stance"}


def test_the_page_shows_the_amount_before_and_after() -> None:
    bad = measure(shifted(WALK.clip, [0, -0.03, 0]), source=CLEAN)
    tree = page(bad, CLEAN)
    (row,) = [row for row in tree.iter("tr") if "".join(row[0].itertext()) == "penetration"]
    assert ["".join(cell.itertext()) for cell in row[1:5]] == ["0.0 mm ✓", "+30.0 mm ✗"] * 2
    assert "left sinks up to 30 mm" in words(tree)
    assert len(lines(tree, "sunk")) == 12  # heel, ball and toe of two legs, from the side and over time
    assert lines(tree, "before")


def test_bars_are_where_contacts_are() -> None:
    tree = page(CLEAN)
    bars = [bar for bar in tree.iter(f"{SVG}rect") if bar.get("class") == "good"]
    assert len(bars) == sum(len(metrics.runs(mask)) for mask in TRUTH.values())
    titles = ["".join(bar.itertext()) for bar in bars]
    start, stop = metrics.runs(TRUTH["left", "heel"])[1].tolist()
    assert any(title.startswith(f"frames {start} to {stop - 1}, ") for title in titles)
    starts = {round(float(bar.get("x", "")), 1) for bar in bars}
    pixels = 860 / (241 / FPS)
    assert round(64 + start / FPS * pixels, 1) in starts


def test_what_the_user_wrote_is_escaped() -> None:
    leg = dataclasses.replace(CLEAN.feet.legs[0], name='<b onload="x">&\x00\x0b\ud800')
    tree = page(measure(WALK.clip, ik.Feet((leg,))), title="</title><script>alert('&')</script>\x1b")
    assert next(tree.iter("title")).text == "</title><script>alert('&')</script>\ufffd"
    assert '<b onload="x">&\ufffd\ufffd?' in words(tree)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_few_frames_are_enough(frames: int) -> None:
    tree = page(measure(WALK.clip[20 : 20 + frames]))
    assert f"{frames} frame{'s' * (frames > 1)} at 60 fps" in words(tree)
    page(measure(WALK.clip[20 : 20 + frames]), measure(WALK.clip[20 : 20 + frames]))


def test_a_clip_that_never_stands_is_said_to() -> None:
    tree = page(measure(WALK.clip, contacts=ik.Contacts.detect(WALK.clip, modes="never")))
    assert "No foot is ever on the ground" in words(tree)
    assert "Nothing to look at" not in words(tree)


@pytest.mark.parametrize("broken", [slice(100, 110), slice(None)])
def test_frames_that_are_not_finite_leave_gaps(broken: slice) -> None:
    assert WALK.clip.pose.translations is not None
    moved = WALK.clip.pose.translations.copy()
    moved[broken, 0] = np.nan
    clip = dataclasses.replace(WALK.clip, pose=ik.Pose(WALK.clip.pose.rotations, moved))
    with np.errstate(all="ignore"):
        tree = page(measure(clip, CLEAN.feet, contacts=CLEAN.contacts), CLEAN)
    drawn = [path.get("d", "").count("M") for path in lines(tree, "heel")]
    assert drawn == ([2] * 4 if broken.stop else [])


def test_a_long_clip_gives_a_page_of_moderate_size() -> None:
    clip, times = WALK.clip, 100
    assert clip.pose.translations is not None
    stride = 2 * 0.7 / 1.3 * FPS
    once = int(stride * 3)
    ahead = np.repeat(np.arange(times), once)[:, np.newaxis] * [0, 0, 1.3 * once / FPS]
    moved = np.tile(clip.pose.translations[:once], (times, 1, 1))
    moved[:, 0] += ahead
    long = dataclasses.replace(clip, pose=ik.Pose(np.tile(clip.pose.rotations[:once], (times, 1, 1)), moved))
    text = report.page("long", measure(long, ik.Feet.detect(clip.skeleton)))
    assert len(long) > 19000
    assert len(text) < 1_500_000
    assert max(path.count("L") for path in re.findall(r' d="([^"]*)"', text)) < 3000


def test_the_index_links_to_pages(tmp_path: Path) -> None:
    legs = {leg: (0.87, [record, record]) for leg, record in CLEAN.measures.items()}
    listed = [report.Listed("a <b>", tmp_path / "a b&.html", legs), report.Listed("c", None, legs)]
    report.write_index(tmp_path / "index.html", listed)
    tree = ET.parse(tmp_path / "index.html")
    assert {link.get("href") for link in tree.iter("a")} == {"a%20b%26.html"}
    assert len(list(tree.iter("tr"))) == 1 + 2


def test_the_index_has_a_verdict_of_every_clip(tmp_path: Path) -> None:
    legs = {leg: (0.87, [record]) for leg, record in CLEAN.measures.items()}
    slides = verdicts.Moment("left", "slides", 0.012, 6, 18, 2.4)
    pops = verdicts.Moment("right", "knee pops", np.nan, 30, 31, 10.0)
    listed = [
        report.Listed("good.bvh", None, legs, fps=60),
        report.Listed("slides.bvh", None, legs, moments=[slides], fps=60),
        report.Listed("pops.bvh", None, legs, moments=[pops, slides], fps=60),
        report.Listed("flies.bvh", None, legs, stands=False, fps=60),
        report.Listed("bad.bvh", None, {}, error="bad.bvh, line 1: expected HIERARCHY, got 'x'"),
    ]
    report.write_index(tmp_path / "index.html", listed)
    tree = ET.parse(tmp_path / "index.html").getroot()
    assert "1 good, 3 to look at, 1 failed" in words(tree)
    rows = [[words(cell) for cell in row] for row in tree.iter("tr")]
    assert rows[0] == ["verdict", "clip", "look at first", *summary.SHORT.values()]
    assert [row[:3] for row in rows[1:]] == [
        ["✓ good", "good.bvh", ""],
        ["! look at", "slides.bvh", "left slides 12 mm, frames 6 to 17, 0.10 to 0.28 s"],
        ["✗ look at", "pops.bvh", "right knee pops, frame 30, 0.50 s; and 1 more"],
        ["! look at", "flies.bvh", "no foot is ever on the ground"],
        ["✗ failed", "bad.bvh", "bad.bvh, line 1: expected HIERARCHY, got 'x'"],
    ]
    assert {len(row) for row in rows} == {9}


def test_the_heading_counts_what_is_listed() -> None:
    """Each leg sinks in several stances, which are one line."""
    tree = page(measure(shifted(WALK.clip, [0, -0.03, 0]), source=CLEAN), CLEAN)
    (table,) = [each for each in tree.iter("table") if each.get("class") == "moments"]
    rows = len(list(table.iter("tr")))
    assert any(" times, at " in words(row) for row in table.iter("tr"))
    assert f"{rows} things to look at, the worst first" in [words(head) for head in tree.iter("h2")]


MOCAP = Path(os.environ.get("IKCORE_MOCAP", "none"))
CLIPS = [
    (path, name)
    for path in many.files([str(MOCAP)] if MOCAP.is_dir() else [], commands.ENDINGS)
    for name in ([None] if path.endswith(".bvh") else ik.gltf.animations(path))
]


@pytest.mark.skipif(not CLIPS, reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize(("path", "name"), CLIPS)
def test_real_clips_have_pages(path: str, name: str | None) -> None:
    measured = measure(ik.Clip.read(path, name))
    tree = page(measured, measured)
    assert len(lines(tree, "knee")) == sum(len(leg.knees) for leg in measured.feet)


# --- drawings --------------------------------------------------------------------------------------------------------


def test_what_is_kept_of_many_values_has_their_extremes() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal(100_000)
    values[[31_234, 77_777]] = 100, -100
    values[50_101:50_106] = np.nan
    kept = drawing.points_to_draw(values, 500)
    assert len(kept) <= 800
    assert {0, 31_234, 77_777, 99_999} <= set(kept.tolist())
    assert np.isnan(values[kept]).any()
    assert (np.diff(kept) > 0).all()
    assert drawing.points_to_draw(values[:10]).tolist() == list(range(10))


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [(0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-35, 120, 3, [0, 100]), (0.3, 0.31, 2, [0.3, 0.305, 0.31])],
)
def test_ticks_are_round_numbers(low: float, high: float, count: int, expected: list[float]) -> None:
    assert drawing.ticks(low, high, count) == expected


def test_a_line_breaks_where_there_is_nothing() -> None:
    panel = drawing.Panel((0, 4), (0, 1), 0, 0, 40, 10)
    line = ET.fromstring(panel.line(np.arange(5.0), np.array([0, 1, np.nan, 0.5, np.inf]), "x"))
    assert line.get("d") == "M0.0 10.0h0L10.0 0.0M30.0 5.0h0"


# --- a bake -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stairs_page() -> tuple[Measured, Measured, ET.Element]:
    """The walk on stairs that begin under its feet: before it goes through them."""
    stairs = ik.terrain.stairs(9, rise=0.16, run=0.35, landing=20).moved(translations=[0, 0, 1.4])
    before, after = ik.bake_feet(WALK.clip, stairs).measured()
    return before, after, page(after, before)


def test_after_a_bake_all_is_said_as_it_is(stairs_page: tuple[Measured, Measured, ET.Element]) -> None:
    """The source sinks deep into steps or floats. Errors after the bake are no differences from those."""
    before, after, tree = stairs_page
    assert (before.beyond, after.beyond) == (False, False)
    alone = measure(after.clip, after.feet, after.ground, contacts=after.contacts)
    own = measure(before.clip, after.feet, contacts=after.contacts)  # on the floor that it was made for
    beside = measure(after.clip, after.feet, after.ground, source=own)
    for leg, record in after.measures.items():
        assert record.penetration == alone.measures[leg].penetration
        assert record.floating == alone.measures[leg].floating
        assert before.measures[leg].penetration > 0.05 or before.measures[leg].floating == np.inf
        assert record.deviation > 0.1
        assert record.lift_lost == beside.measures[leg].lift_lost
    (row,) = [row for row in tree.iter("tr") if "".join(row[0].itertext()) == "penetration"]
    assert not any("+" in "".join(cell.itertext()) for cell in row)
    assert "carried up and down with the pelvis" in words(tree)


def test_a_heel_on_the_edge_of_a_step_is_one_line() -> None:
    """Rounding has it over the step in some frames, and beside it in others."""
    before, after = ik.bake_feet(demo.walk(), demo.stairs()).measured()
    jumps = [np.abs(np.diff(track.heights[:, 0])).max() for track in after.tracks.values()]
    assert max(jumps) > 0.1
    drawn = [line.get("d", "") for line in lines(page(after, before), "heel")]
    strokes = 0
    for path in drawn[2:]:  # the first two are from the side
        for part in path.split("M")[1:]:
            at = np.array([pair.split() for pair in part.replace("h0", "").split("L")], float)
            step = np.abs(np.diff(at, axis=0))
            strokes += int(((step[:, 0] < 3) & (step[:, 1] > 100)).sum())
    assert len(drawn) == 4
    assert strokes == 0


def test_after_a_bake_what_is_left_is_to_be_looked_at() -> None:
    """A foot that was 50 mm deep before and is 20 mm deep after has sunk."""
    plane = ik.Ground.plane()
    feet, contacts = CLEAN.feet, CLEAN.contacts
    sources = (shifted(WALK.clip, [0, -0.05, 0]), shifted(WALK.clip, [0, -0.02, 0]))
    before, after = before_and_after(*sources, feet, plane, contacts)
    assert {moment.what for moment in verdicts.moments(after, before)} == {"sinks"}
    assert after.measures["left"].penetration == pytest.approx(0.02, abs=1e-6)
    assert before.measures["left"].penetration == pytest.approx(0.05, abs=1e-6)


def ys(line: ET.Element) -> list[str]:
    return re.findall(r"[ML][\d.-]+ ([\d.-]+)", line.get("d") or "")


def test_before_is_drawn_with_the_pelvis_of_after(stairs_page: tuple[Measured, Measured, ET.Element]) -> None:
    before, after, _ = stairs_page
    svg = ET.fromstring(report.side(after, before))
    highest = {style: min(float(y) for line in lines(svg, style) for y in ys(line)) for style in ("heel", "before")}
    assert highest["before"] < highest["heel"] + 60  # pixels: up the stairs, not 1.4 m below


def test_what_was_sent_on_its_way_is_not_sent_again() -> None:
    back = np.arange(241)[:, np.newaxis] / FPS * [0, 0, -1.3]
    travels = ik.prepare.add_root_motion(shifted(WALK.clip, back))
    assert travels is not WALK.clip
    baked = ik.bake_feet(travels, ik.Ground.plane(height=0.05))
    for measured in baked.measured():
        assert not measured.in_place
        assert all(record.drift_most < 5e-3 for record in measured.measures.values())


@pytest.mark.parametrize("seconds", [4, 40])  # seen between the frames, and in enough of them
def test_where_there_is_no_ground_none_is_drawn(seconds: float) -> None:
    """Two floors with a gap of 1.5 m between them."""
    clip = ik.samples.walk(seconds=seconds, speed=5.2 / seconds, fps=60).clip
    near, far = (ik.Ground.heights(np.zeros((2, 2)), 20, [-10, 0, z]) for z in (-18.5, 3))
    measured = measure(clip, ground=near + far)
    for leg, earth in zip(measured.tracks, lines(ET.fromstring(report.side(measured)), "earth"), strict=True):
        pieces = [
            [float(x) for x in re.findall(r"[ML]([\d.-]+)", piece)] for piece in earth.get("d", "Z").split("Z")[:-1]
        ]
        assert len(pieces) == 2
        gap, whole = pieces[1][0] - pieces[0][-1], pieces[1][-1] - pieces[0][0]
        assert gap / whole == pytest.approx(1.5 / np.ptp(measured.tracks[leg].sole[..., 2]), rel=0.03)


def test_ground_is_drawn_between_frames_too() -> None:
    """In ten frames a second feet pass over most steps unseen; steps are drawn as they are, level and all as high."""
    stairs = ik.terrain.stairs(9, rise=0.16, run=0.35, landing=20).moved(translations=[0, 0, 1.4])
    for up, ground in (("Y", stairs), ("Z", ik.terrain.stairs(9, rise=16, run=35, landing=2000, width=900, up="z"))):
        clip = WALK.clip.resample(10).convert(up=up, unit=1 if up == "Y" else 0.01)
        if up == "Z":
            clip = shifted(clip, [0, -100, 0])
            ground = ground.moved(rotations=[np.sqrt(0.5), 0, 0, -np.sqrt(0.5)])  # these go along x, the walk along -y
        before, after = ik.bake_feet(clip, ground).measured()
        for earth in lines(ET.fromstring(report.side(after, before)), "earth"):
            heights = np.array([float(y) for y in ys(earth)])[1:-1]  # the ends are the bottom
            found, counts = np.unique(heights, return_counts=True)
            steps = np.diff(found[counts > 20])
            assert len(steps) >= 5
            assert steps == pytest.approx(np.full(len(steps), steps.mean()), abs=0.2)
            assert counts[counts > 20].sum() > 0.97 * len(heights)
