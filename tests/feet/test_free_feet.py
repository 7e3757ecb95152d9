"""Feet without legs, which hang on the root of a rig: found, baked, measured."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import ikcore as ik
from ikcore.bake import LockedFeet
from ikcore.command import cli
from ikcore.feet import free_feet

Array = NDArray[np.float64]
LEGS = tuple(f"{side}{part}" for side in ("Left", "Right") for part in ("UpLeg", "Leg"))
SHINS = [("thigh_{}", "pelvis", 0.9, 0), ("calf_{}", "thigh_{}", 0.5, 0)]
POINTS = [(side, point) for side in ("left", "right") for point in ("heel", "ball", "toe")]


def hung(clip: ik.Clip, *, without: tuple[str, ...] = LEGS, travels: bool = False) -> ik.Clip:
    """The same motion of a rig without some joints: their children and the pelvis become children of a root.

    The root stays at the origin, or follows the pelvis at ground level.
    """
    old, world = clip.skeleton, clip.skeleton.forward(clip.pose)
    resting, axis = old.forward(old.rest).positions, "XYZ".index(clip.up)
    names = ["root", *(name for name in old.names if name not in without)]
    joints = [old.index(name) for name in names[1:]]
    above = [old.names[old.parents[joint]] if old.parents[joint] >= 0 else "" for joint in joints]
    parents = [-1, *(names.index(name) if name in names else 0 for name in above)]
    turned, moved = np.zeros((len(clip), len(names), 4)), np.zeros((len(clip), len(names), 3))
    offsets, turned[:, 0, 0] = np.zeros((len(names), 3)), 1
    if travels:
        moved[:, 0] = world.positions[:, 0]
        moved[:, 0, axis] = 0
    for at, (joint, parent) in enumerate(zip(joints, parents[1:], strict=True), 1):
        turned[:, at], moved[:, at] = clip.pose.rotations[:, joint], old.offsets[joint]
        offsets[at] = old.offsets[joint] if parent else resting[joint]
        if not parent:
            turned[:, at], moved[:, at] = world.rotations[:, joint], world.positions[:, joint] - moved[:, 0]
    skeleton = ik.Skeleton(parents, offsets, names=names)
    return ik.Clip(skeleton, ik.Pose(turned, moved), clip.fps, clip.loop, clip.up, clip.unit)


def body(feet: list[tuple[str, str, float, float]]) -> ik.Skeleton:
    """A body of 1.6 m with a root. `feet` has the joints of each leg: name, name of the parent, height, depth."""
    rows: list[tuple[str, str, tuple[float, float, float]]] = [
        ("root", "", (0, 0, 0)),
        ("pelvis", "root", (0, 0.95, 0)),
    ]
    rows += [("spine", "pelvis", (0, 1.2, 0)), ("head", "spine", (0, 1.6, 0))]
    for side, x in (("l", 0.1), ("r", -0.1)):
        rows += [(f"hand_{side}", "spine", (7 * x, 1.4, 0))]
        rows += [(name.format(side), above.format(side), (x, y, z)) for name, above, y, z in feet]
    names = [name for name, _, _ in rows]
    places = np.array([place for _, _, place in rows])
    parents = [names.index(above) if above else -1 for _, above, _ in rows]
    return ik.Skeleton(parents, places - np.where(np.array(parents)[:, None] >= 0, places[parents], 0), names=names)


def soles(baked: ik.bake.Baked, clip: ik.Clip | None = None) -> dict[tuple[str, str], Array]:
    clip = clip or baked.clip
    return baked.feet.positions(clip.skeleton, clip.pose)


def moves(clip: ik.Clip) -> Array:
    """Positions of joints in the space of their parents."""
    assert clip.pose.translations is not None
    return clip.pose.translations


def assert_same(clip: ik.Clip, other: ik.Clip) -> None:
    """To the bit."""
    assert (clip.pose.rotations == other.pose.rotations).all()
    assert (moves(clip) == moves(other)).all()


def stairs() -> ik.Ground:
    return ik.terrain.stairs(9, rise=0.16, run=0.35, landing=10).moved(translations=[0, 0, 1.4])


def ramp(slope: float) -> ik.Ground:
    return ik.Ground.plane([0, 1, -slope])


@pytest.fixture(scope="module")
def walk() -> ik.samples.Sample:
    return ik.samples.walk(8, speed=0.7, step=0.35)


@pytest.fixture(scope="module")
def clip(walk: ik.samples.Sample) -> ik.Clip:
    return hung(walk.clip)


@pytest.fixture(scope="module")
def climbed(clip: ik.Clip) -> ik.bake.Baked:
    return ik.bake_feet(clip, stairs())


# --- the leg ---------------------------------------------------------------------------------------------------------


def test_a_foot_alone_has_an_ankle_and_no_more(tmp_path: Path) -> None:
    leg = ik.Leg("left", "left", ankle="foot", ball="toe")
    assert (leg.free, leg.hip, leg.knees, leg.foot, leg.bones) == (True, None, (), "foot", ("foot",))
    assert leg.chain == ("foot", "toe")
    ik.Feet((leg,)).save(tmp_path / "feet.json")
    assert ik.Feet.load(tmp_path / "feet.json") == ik.Feet((leg,))
    for wrong in ({}, {"ankle": "a", "knees": ("b",)}, {"ankle": "a", "pole": "p"}):
        with pytest.raises(ValueError, match="hip: expected one; a free foot has an ankle, no knees, no pole"):
            ik.Leg("left", "left", **wrong)
    with pytest.raises(ValueError, match="the foot 'toe_l' is not under the foot 'foot_l'"):
        ik.Feet((ik.Leg("left", "left", ankle="foot_l", ball="toe_l"),)).check(
            body([("foot_{}", "root", 0.08, 0), ("toe_{}", "root", 0.02, 0.15)])
        )


# --- found -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joints", "chain"),
    [
        ([("foot_{}", "root", 0.08, 0), ("toe_{}", "foot_{}", 0.02, 0.15)], ("foot_l", "toe_l")),
        ([("a_{}", "root", 0.08, 0), ("b_{}", "a_{}", 0.02, 0.15)], ("a_l", "b_l")),
        ([("ik_foot_{}", "root", 0.02, 0)], ("ik_foot_l",)),
        ([("ik_foot_{}", "root", 0.08, 0), ("ik_toe_{}", "ik_foot_{}", 0.02, 0.15)], ("ik_foot_l", "ik_toe_l")),
        (
            [("foot_{}", "root", 0.08, 0), ("ball_{}", "foot_{}", 0.02, 0.1), ("tip_{}", "ball_{}", 0.02, 0.2)],
            ("foot_l", "ball_l", "tip_l"),  # whose toes are as long as the rest: no thigh, shin and foot
        ),
        (
            [("ctrl_{}", "root", 0.08, 0), ("foot_{}", "ctrl_{}", 0.08, 0), ("toe_{}", "foot_{}", 0.02, 0.15)],
            ("foot_l", "toe_l"),
        ),
        (
            [*SHINS, ("foot_{}", "root", 0.08, 0), ("ball_{}", "foot_{}", 0.02, 0.13)],
            ("foot_l", "ball_l"),
        ),
    ],
)
def test_feet_that_hang_on_the_root_are_found(joints: list[Any], chain: tuple[str, ...]) -> None:
    skeleton = body(joints)
    feet = ik.Feet.detect(skeleton)
    feet.check(skeleton)
    assert [(leg.name, leg.side, leg.free) for leg in feet] == [("left", "left", True), ("right", "right", True)]
    assert feet["left"].chain == chain
    assert feet["left"].soles


def test_feet_are_found_by_name_where_one_is_lifted_at_rest() -> None:
    skeleton = body([("foot_{}", "root", 0.08, 0), ("toe_{}", "foot_{}", 0.02, 0.15)])
    offsets = skeleton.offsets.copy()
    offsets[skeleton.index("foot_r")] += [0, 0.4, 0.2]
    lifted = ik.Skeleton(skeleton.parents, offsets, names=skeleton.names)
    feet = ik.Feet.detect(lifted)
    lengths = [free_feet.length(lifted, leg, lifted.forward(lifted.rest).positions) for leg in feet]
    assert max(lengths) < 1.1 * min(lengths)
    assert [leg.chain for leg in feet] == [("foot_l", "toe_l"), ("foot_r", "toe_r")]
    others = [name.replace("foot", "thing") for name in skeleton.names]
    with pytest.raises(ValueError, match="no legs found among 10 joints"):
        ik.Feet.detect(ik.Skeleton(skeleton.parents, offsets, names=others))


@pytest.mark.parametrize("name", ["{}_joint", "thigh_{}"])
def test_legs_come_before_feet_that_are_their_targets(name: str) -> None:
    targets = [("ik_foot_{}", "root", 0.08, 0), ("ik_toe_{}", "ik_foot_{}", 0.02, 0.15)]
    legs = [(name, "pelvis", 0.9, 0), ("calf_{}", name, 0.5, 0), ("foot_{}", "calf_{}", 0.08, 0)]
    feet = ik.Feet.detect(body([*legs, ("ball_{}", "foot_{}", 0.02, 0.13), *targets]))
    assert [leg.chain for leg in feet] == [(name.format(s), f"calf_{s}", f"foot_{s}", f"ball_{s}") for s in "lr"]


def test_soles_and_contacts_are_those_of_the_legs(walk: ik.samples.Sample, clip: ik.Clip) -> None:
    feet, whole = ik.Feet.detect(clip.skeleton, clip=clip), ik.Feet.detect(walk.clip.skeleton, clip=walk.clip)
    there, here = whole.positions(walk.clip.skeleton, walk.clip.pose), feet.positions(clip.skeleton, clip.pose)
    for point in POINTS:
        assert_allclose(here[point], there[point], atol=1e-9)
    found, known = ik.Contacts.detect(clip), ik.Contacts.detect(walk.clip)
    for key in known.weights:
        assert ik.feet.metrics.agreement(found.planted(*key), known.planted(*key)) > 0.98


# --- baked -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", [stairs(), ramp(0.2), ramp(-0.2)], ids=["stairs", "up", "down"])
@pytest.mark.parametrize("travels", [False, True])
def test_feet_stand_where_they_are_put(walk: ik.samples.Sample, ground: ik.Ground, travels: bool) -> None:
    """When they stand the walk itself says: less a few frames in which they arrive and leave."""
    clip = hung(walk.clip, travels=travels)
    baked = ik.bake_feet(clip, ground)
    for side, foot in (("left", "Left"), ("right", "Right")):
        at = soles(baked)[side, "ball"]
        above = at[:, 1] - ground.at(at, above=0.5, below=0.5).height
        assert above.min() > -0.002
        for start, stop in ik.feet.metrics.runs(walk.planted(f"{foot}Ball")).tolist():
            core = slice(start + (start > 0) * 6, stop - (stop < len(clip)) * 6)
            assert np.ptp(at[core], axis=0).max() < 1e-9
            assert np.abs(above[core]).max() < 0.002
    assert not any(short.any() for short in baked.shortfall.values())


def test_all_else_stays_to_the_bit(clip: ik.Clip, climbed: ik.bake.Baked) -> None:
    names, now, was = clip.skeleton.names, climbed.clip, clip
    turned = {names[joint] for joint in np.flatnonzero((now.pose.rotations != was.pose.rotations).any(axis=(0, 2)))}
    moved = {names[joint] for joint in np.flatnonzero((moves(now) != moves(was)).any(axis=(0, 2)))}
    assert turned <= {"LeftFoot", "RightFoot", "LeftToeBase", "RightToeBase"}
    assert moved == {"Hips", "LeftFoot", "RightFoot"}


@pytest.mark.parametrize("ground", [stairs(), ramp(0.2), ramp(-0.2)], ids=["stairs", "up", "down"])
def test_a_second_bake_changes_nothing(clip: ik.Clip, ground: ik.Ground) -> None:
    baked = ik.bake_feet(clip, ground)
    again = ik.bake_feet(baked.clip, ground)
    assert_same(again.clip, baked.clip)
    (note,) = again.notes
    assert note.startswith("nothing has changed: ")


def test_on_their_own_floor_they_are_left(clip: ik.Clip) -> None:
    assert_same(ik.bake_feet(clip, ik.Ground.plane()).clip, clip)


def test_the_body_goes_with_the_lowest_foot(climbed: ik.bake.Baked) -> None:
    """From the floor to the top of the stairs, never down, nor faster than feet climb."""
    assert_allclose(climbed.pelvis_offset[[0, -1]], [0, 9 * 0.16], atol=1e-3)
    assert np.diff(climbed.pelvis_offset).min() > -0.002
    assert climbed.pelvis_offset.max() < 9 * 0.16 + 1e-3


@pytest.mark.parametrize("settings", [ik.BakeSettings(), ik.BakeSettings(tilt=1.0)], ids=["upright", "tilted"])
def test_whatever_is_the_body_feet_go_the_same_way(clip: ik.Clip, settings: ik.BakeSettings) -> None:
    """Even if it carries them: the root."""
    ground = ramp(0.15)
    hips, root = (ik.bake_feet(clip, ground, pelvis=joint, settings=settings) for joint in ("Hips", "root"))
    assert_same(hips.clip, ik.bake_feet(clip, ground, settings=settings).clip)
    assert (moves(hips.clip)[:, 0] != moves(root.clip)[:, 0]).any()
    for point in POINTS:
        assert_allclose(soles(root)[point], soles(hips)[point], atol=1e-9)


def test_a_foot_is_no_body(clip: ik.Clip) -> None:
    for joint in ("LeftFoot", "LeftToeBase"):
        with pytest.raises(ValueError, match=f"pelvis: '{joint}' is of a foot, no body to move"):
            ik.bake_feet(clip, stairs(), pelvis=joint)


def test_frames_alone(clip: ik.Clip, climbed: ik.bake.Baked) -> None:
    part = ik.bake_feet(clip, climbed.ground, frames=(100, 300)).clip
    changed = np.flatnonzero((moves(part) != moves(clip)).any(axis=(1, 2)))
    assert changed[0] >= 100
    assert changed[-1] < 300
    assert_same(part[150:250], climbed.clip[150:250])
    assert_same(part[:100], clip[:100])


def test_a_foot_alone_is_baked_alone(clip: ik.Clip, climbed: ik.bake.Baked) -> None:
    part = ik.bake_feet(clip, climbed.ground, legs=["left"])
    for side, point in POINTS:
        wanted = soles(climbed) if side == "left" else soles(climbed, clip)
        assert_allclose(soles(part)[side, point], wanted[side, point], atol=1e-9)
    higher = ik.bake_feet(
        clip, climbed.ground, legs=["left"], settings=ik.BakeSettings(clearance=0.1), earlier=climbed.clip
    )
    right = [clip.skeleton.index(joint) for joint in ("root", "Hips", "RightFoot", "RightToeBase")]
    assert (higher.clip.pose.rotations[:, right] == climbed.clip.pose.rotations[:, right]).all()
    assert (moves(higher.clip)[:, right] == moves(climbed.clip)[:, right]).all()
    assert (soles(higher)["left", "ball"][:, 1] > soles(climbed)["left", "ball"][:, 1] + 0.02).any()


def test_half_of_it(clip: ik.Clip, climbed: ik.bake.Baked) -> None:
    half = ik.bake_feet(clip, climbed.ground, settings=ik.BakeSettings(weight=0.5))
    ankle = clip.skeleton.index("LeftFoot")
    was, now, whole = (each.skeleton.forward(each.pose).positions[:, ankle] for each in (clip, half.clip, climbed.clip))
    assert_allclose((now - was)[:, 1], (whole - was)[:, 1] / 2, atol=0.02)
    assert_allclose(half.pelvis_offset, climbed.pelvis_offset / 2, atol=1e-9)


def test_strides_are_fitted(clip: ik.Clip) -> None:
    brisk = hung(ik.samples.walk(8, speed=0.8, step=0.45).clip)
    contacts = ik.Contacts.detect(brisk)
    fitted = ik.prepare.fit_strides(brisk, contacts, stairs())
    assert (fitted.shares != 1).any()
    assert np.abs(fitted.shares - 1).max() <= 0.4
    settings = ik.BakeSettings(unlock=0.2 + fitted.drag)
    baked = ik.bake_feet(fitted.clip, stairs(), contacts=contacts, settings=settings)
    left = baked.measured()[1].measures["left"]
    assert max(left.floating, left.penetration, left.penetration_swing) < 0.002


@pytest.mark.parametrize("ground", [ik.Ground.plane(height=0.2), ramp(0.2)], ids=["level", "up"])
def test_a_loop_stays_one(ground: ik.Ground) -> None:
    """All but the root is in the last frame as in the first, to the bit, and that is as much higher as the ground."""
    clip = hung(ik.samples.walk(2, speed=0.7, step=0.35).clip, travels=True)[:61]
    turned, moved = clip.pose.rotations.copy(), moves(clip).copy()
    turned[-1], moved[-1, 1:] = turned[0], moved[0, 1:]
    loop = dataclasses.replace(clip, pose=ik.Pose(turned, moved), loop=True)
    baked = ik.bake_feet(loop, ground).clip
    assert (baked.pose.rotations[-1] == baked.pose.rotations[0]).all()
    assert (moves(baked)[-1, 1:] == moves(baked)[0, 1:]).all()
    ends = moves(baked)[[0, -1], 0]
    at = ground.at(ends, above=9, below=9).height
    assert ends[1, 1] - ends[0, 1] == pytest.approx(at[1] - at[0], abs=1e-3)


def test_a_lift_carries_them(clip: ik.Clip) -> None:
    lift = ik.Ground.plane().moved(translations=np.linspace([0, 0, 0], [0, 1, 0], len(clip)))
    baked = ik.bake_feet(clip, lift)
    assert_allclose(baked.pelvis_offset[[120, 240, 360]], [0.25, 0.5, 0.75], atol=0.01)
    assert max(measure.drift for measure in baked.measured()[1].measures.values()) < 0.001


def test_with_z_up_it_is_the_same(clip: ik.Clip, climbed: ik.bake.Baked) -> None:
    ground = ik.Ground(climbed.ground.moved(rotations=[0.5**0.5, 0.5**0.5, 0, 0]).parts, "z")
    other = ik.bake_feet(clip.convert(up="Z"), ground)
    for point in POINTS:
        x, y, z = np.moveaxis(soles(climbed)[point], -1, 0)
        assert_allclose(soles(other)[point], np.stack([x, -z, y], axis=-1), atol=1e-9)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_of_any_size_it_is_the_same(clip: ik.Clip, climbed: ik.bake.Baked, scale: float) -> None:
    offsets = clip.skeleton.offsets * scale
    skeleton = ik.Skeleton(clip.skeleton.parents, offsets, names=clip.skeleton.names)
    large = ik.Clip(skeleton, ik.Pose(clip.pose.rotations, moves(clip) * scale), clip.fps)
    steps = ik.terrain.stairs(9, rise=0.16 * scale, run=0.35 * scale, landing=10 * scale, width=2 * scale)
    baked = ik.bake_feet(large, steps.moved(translations=[0, 0, 1.4 * scale]))
    for point in POINTS:
        assert_allclose(soles(baked)[point] / scale, soles(climbed)[point], atol=1e-6)


def test_legs_and_feet_without_them() -> None:
    """A centaur: its hind feet are free. Legs alone say where the body goes, feet of both kinds stand."""
    walk = ik.samples.walk(6, speed=0.7, step=0.35).clip
    hind = hung(walk)
    names = [f"Hind{name}" if "Foot" in name or "Toe" in name else name for name in hind.skeleton.names]
    feet = [joint for joint, name in enumerate(names) if name.startswith("Hind")]
    whole, count = hung(walk, without=()), len(walk.skeleton) + 1
    place = {0: 0} | {joint: count + at for at, joint in enumerate(feet)}
    parents = [*whole.skeleton.parents.tolist(), *(place[int(hind.skeleton.parents[joint])] for joint in feet)]
    behind = np.where(hind.skeleton.parents[feet, None] == 0, [0, 0, -0.8], 0)
    offsets = np.concatenate([whole.skeleton.offsets, hind.skeleton.offsets[feet] + behind])
    skeleton = ik.Skeleton(parents, offsets, names=[*whole.skeleton.names, *(names[joint] for joint in feet)])
    moved = np.concatenate([moves(whole), moves(hind)[:, feet] + behind], axis=1)
    pose = ik.Pose(np.concatenate([whole.pose.rotations, hind.pose.rotations[:, feet]], axis=1), moved)
    clip, legs = ik.Clip(skeleton, pose, walk.fps), ik.Feet.detect(walk.skeleton, clip=walk)
    more = [
        ik.Leg(f"hind {s.lower()}", s.lower(), ankle=f"Hind{s}Foot", ball=f"Hind{s}ToeBase") for s in ("Left", "Right")
    ]
    ground = ramp(0.15)
    baked = ik.bake_feet(
        clip, ground, feet=ik.Feet((*legs, *more)).with_soles(clip), settings=ik.BakeSettings(tilt=0.0)
    )
    assert_allclose(baked.pelvis_offset, ik.bake_feet(walk, ground, feet=legs).pelvis_offset, atol=1e-9)
    for measure in baked.measured()[1].measures.values():
        assert max(measure.drift, measure.penetration, measure.floating) < 0.003
    knees = {leg: measure.knee_pops for leg, measure in baked.measured()[1].measures.items()}
    assert [leg for leg, pops in knees.items() if np.isnan(pops)] == ["hind left", "hind right"]


def test_feet_are_held_under_a_body_that_moves(clip: ik.Clip) -> None:
    feet, shift = ik.Feet.detect(clip.skeleton, clip=clip), np.full((len(clip), 3), 0.02)
    still = np.tile([1.0, 0, 0, 0], (len(clip), 1))
    for joint in ("Hips", "root"):
        held = LockedFeet(clip, feet, joint)
        there = feet.positions(clip.skeleton, held.with_pelvis(shift, still).pose)
        for point, at in feet.positions(clip.skeleton, clip.pose).items():
            assert_allclose(there[point], at, atol=1e-9)
        assert not held.away(shift, still)[1].any()


# --- measured --------------------------------------------------------------------------------------------------------


def test_knees_are_not_measured(climbed: ik.bake.Baked, tmp_path: Path) -> None:
    knees = ("extension", "reach_violations", "knee_flips", "knee_pops", "knee_acceleration", "straightness_lost")
    for measured in climbed.measured():
        for leg, measure in measured.measures.items():
            assert all(np.isnan(getattr(measure, name)) for name in (*knees, "length_error"))
            assert all(measure.texts()[name] == "-" for name in knees)
            assert 0.7 < measured.lengths[leg] < 0.95
    climbed.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "height above the ground" in page
    assert "angle of the knee" not in page


def test_the_command_takes_them(clip: ik.Clip, climbed: ik.bake.Baked, tmp_path: Path, capsys: Any) -> None:
    clip.write(tmp_path / "walk.bvh")
    (tmp_path / "floor.obj").write_text("v -9 0.1 -9\nv -9 0.1 9\nv 9 0.1 9\nv 9 0.1 -9\nf 1 2 3 4\n")
    files = [str(tmp_path / name) for name in ("walk.bvh", "floor.obj", "out.bvh")]
    assert cli.main(["bake", files[0], "--ground", files[1], "-o", files[2], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "NaN" not in json.dumps(found)
    baked = ik.Clip.read(files[2])
    left = ik.Feet.detect(baked.skeleton, clip=baked).positions(baked.skeleton, baked.pose)["left", "ball"]
    assert left[:, 1].min() == pytest.approx(0.1, abs=0.002)
