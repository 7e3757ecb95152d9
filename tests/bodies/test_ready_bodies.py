"""Ready-made bodies: their measures against the sources, masses of rigs, ranges of joints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore.bodies import anthropometry as measures
from ikcore.bodies.anthropometry import Sex
from ikcore.bodies.roles import roles_of
from ikcore.bodies.segments import Piece, on_joints

Array = Any
SEXES: list[Sex] = ["male", "female", "average"]
BODIES = {"human": ik.bodies.human(), "quadruped": ik.bodies.quadruped(), "hexapod": ik.bodies.hexapod()}


def whole(body: ik.Skeleton, pose: ik.Pose | None = None) -> tuple[float, Array, Array]:
    """Mass, centre and inertia about it, summed joint by joint with rotation matrices."""
    world = body.forward(body.rest if pose is None else pose)
    matrices = [ik.rotations.to_matrix(q) for q in world.rotations]
    at = [p + m @ c for p, m, c in zip(world.positions, matrices, body.centres, strict=True)]
    mass = sum(body.masses)
    centre = sum(m * p for m, p in zip(body.masses, at, strict=True)) / mass
    inertia = np.zeros((3, 3))
    for m, p, turned, own in zip(body.masses, at, matrices, body.inertias, strict=True):
        r = p - centre
        inertia += turned @ own @ turned.T + m * (r @ r * np.eye(3) - np.outer(r, r))
    return mass, centre, inertia


@pytest.mark.parametrize("sex", SEXES)
def test_masses_sum_to_the_body(sex: Sex) -> None:
    body = ik.bodies.human(1.62, 58, sex=sex)
    assert_allclose(body.masses.sum(), 58, rtol=1e-12)
    assert (body.masses >= 0).all()


@pytest.mark.parametrize("table", measures.SEGMENTS.values(), ids=list(measures.SEGMENTS))
def test_the_printed_table_sums_to_one_and_its_trunk_to_the_trunk(table: dict[str, measures.Segment]) -> None:
    shares = [part.mass * (2 if name in measures.PAIRED else 1) for name, part in table.items()]
    assert_allclose(sum(shares), 1, atol=2e-4)  # digits of the table
    # mass and centre of the whole trunk, which the paper prints too, from the suprasternale
    lengths = measures.LENGTHS_OF_SEGMENTS["male" if table is measures.SEGMENTS["male"] else "female"]
    names = ("upper trunk", "middle trunk", "lower trunk")
    starts = np.cumsum([0, *[lengths[name] for name in names]])
    places = [start + table[name].centre * lengths[name] for start, name in zip(starts, names, strict=False)]
    mass = sum(table[name].mass for name in names)
    centre = sum(table[name].mass * place for name, place in zip(names, places, strict=True)) / mass / starts[-1]
    printed = (0.4346, 0.4486) if table is measures.SEGMENTS["male"] else (0.4257, 0.4151)
    assert_allclose((mass, centre), printed, atol=6e-3)


@pytest.mark.parametrize("name", BODIES)
def test_inertias_are_those_of_bodies(name: str) -> None:
    body = BODIES[name]
    for mass, inertia in zip(body.masses, body.inertias, strict=True):
        moments = np.linalg.eigvalsh(inertia)
        if mass == 0:
            assert_array_equal(inertia, 0)
            continue
        assert moments[0] > 0
        assert moments[2] <= moments[0] + moments[1] + 1e-12  # no negative mass anywhere


def test_lengths_are_those_of_drillis_and_contini() -> None:
    body = ik.bodies.human(200)
    at = dict(zip(body.names, body.forward(body.rest).positions, strict=True))
    heights = {"left shoulder": 0.818, "right hip": 0.530, "left knee": 0.285, "right ankle": 0.039, "head": 0.870}
    for joint, share in heights.items():
        assert_allclose(at[joint][1], 200 * share)
    assert_allclose(at["head top"], [0, 200, 0], atol=1e-9)
    assert_allclose(at["left shoulder"][0] - at["right shoulder"][0], 200 * 0.259)
    assert_allclose(at["left fingertips"][0] - at["left shoulder"][0], 200 * (0.186 + 0.146 + 0.108))
    assert_allclose(at["right hip"] * [-1, 1, 1], at["left hip"])


def test_units_are_those_that_are_given() -> None:
    """In centimetres and grams: masses times 1000, inertias times 1000 and 100 squared, torques too."""
    si, other = ik.bodies.human(1.75, 75), ik.bodies.human(175, 75000)
    assert_allclose(other.offsets, 100 * si.offsets, atol=1e-12)
    assert_allclose(other.masses, 1000 * si.masses)
    assert_allclose(other.inertias, 1e7 * si.inertias, atol=1e-6)
    for joint, strength in ik.bodies.strengths(si).items():
        assert_allclose(ik.bodies.strengths(other, unit=0.01)[joint], 1e7 * strength)


@pytest.mark.parametrize("sex", SEXES)
def test_the_body_is_as_tall_people_balance(sex: Sex) -> None:
    """Reaction boards give 55 to 57 % of stature with hanging arms."""
    body = ik.bodies.human(1, 1, sex=sex)
    turned = body.rest.rotations.copy()
    for side, sign in (("left", -1), ("right", 1)):
        turned[body.index(f"{side} shoulder")] = ik.rotations.from_axis_angle([0, 0, 1], sign * np.radians(88))
    _, centre, _ = whole(body, ik.Pose(turned))
    assert 0.54 < centre[1] < 0.58
    assert abs(centre[2]) < 0.02


def test_pieces_on_one_joint_follow_parallel_axes() -> None:
    """Two point masses on a joint that is turned at rest: m1 m2 / (m1 + m2) d^2 about their centre."""
    rest = ik.rotations.from_axis_angle([0, 0, 1], 0.7)
    skeleton = ik.Skeleton([-1], [[1, 2, 3]], [rest])
    none = np.zeros((3, 3))
    made = on_joints(skeleton, [Piece(0, 2.0, np.array([2.0, 2, 3]), none), Piece(0, 3.0, np.array([4.0, 2, 3]), none)])
    mass, centre, inertia = whole(made)
    assert mass == 5
    assert_allclose(centre, [3.2, 2, 3])
    assert_allclose(inertia, 2 * 3 / 5 * 4 * np.diag([0, 1, 1]), atol=1e-12)


def test_the_number_of_spine_joints_changes_nothing_of_the_whole() -> None:
    body = ik.bodies.human(1.8, 80)
    expected = whole(body)
    keep = [joint for joint, name in enumerate(body.names) if name not in ("spine 1", "spine 2")]
    at = body.forward(body.rest).positions
    above = [int(body.parents[joint]) for joint in keep]
    parents = [-1 if parent < 0 else keep.index(parent) if parent in keep else 0 for parent in above]
    offsets = [at[j] - (at[keep[parent]] if parent >= 0 else 0) for j, parent in zip(keep, parents, strict=True)]
    fewer = ik.Skeleton(parents, offsets, names=[body.names[j] for j in keep])
    for a, b in zip(whole(ik.bodies.with_masses(fewer, 80)), expected, strict=True):
        assert_allclose(a, b, atol=1e-9)


def test_axes_and_rest_of_a_rig_change_nothing_of_the_whole() -> None:
    """The same places with any rotations at rest, Z up, in centimetres."""
    body, rng = ik.bodies.human(1.8, 80), np.random.default_rng(2)
    turn = ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    world = ik.skeleton.World(
        100 * ik.rotations.rotate(turn, body.forward(body.rest).positions),
        ik.rotations.normalize(rng.normal(size=(len(body), 4))),
    )
    local = body.local(world)
    assert local.translations is not None
    rig = ik.bodies.with_masses(ik.Skeleton(body.parents, local.translations, local.rotations, body.names), 80)
    mass, centre, inertia = whole(body)
    m = ik.rotations.to_matrix(turn)
    for a, b in zip(whole(rig), (mass, 100 * m @ centre, 1e4 * m @ inertia @ m.T), strict=True):
        assert_allclose(a, b, atol=1e-6)
    assert_allclose(rig.masses, body.masses, atol=1e-9)


@pytest.mark.parametrize("name", BODIES)
def test_bodies_stand_within_their_ranges(name: str) -> None:
    body = BODIES[name]
    assert not ik.bodies.report(body, body.rest).beyond.any()
    assert body.limits[0] is not None
    assert body.limits[0].position is not None
    lowest = body.forward(body.rest).positions[:, 1].min()
    assert -1e-12 < lowest < 0.02


def arm_of(body: ik.Skeleton, joint: str, axis: list[float], degrees: float) -> float:
    """How far outside its range a joint is, in degrees, turned so from rest."""
    limit = body.limits[body.index(joint)]
    assert limit is not None
    return float(np.degrees(limit.violation(ik.rotations.from_axis_angle(axis, np.radians(degrees)))))


# Axes by the right hand: +Y up, +Z forward, +X left. Arms stretch out sideways at rest.
@pytest.mark.parametrize(
    ("joint", "axis", "most"),
    [
        ("left elbow", [0, -1, 0], 150),
        ("left elbow", [0, 1, 0], 0),
        ("right elbow", [0, 1, 0], 150),
        ("left knee", [1, 0, 0], 135),
        ("right knee", [-1, 0, 0], 0),
        ("left hip", [-1, 0, 0], 120),
        ("right hip", [1, 0, 0], 30),
        ("left hip", [0, 0, 1], 45),
        ("right hip", [0, 0, -1], 45),
        ("left ankle", [-1, 0, 0], 20),
        ("left ankle", [1, 0, 0], 50),
        ("left shoulder", [0, 0, 1], 60),
        ("right shoulder", [0, 0, 1], 125),
        ("left shoulder", [0, -1, 0], 110),
        ("right shoulder", [0, 1, 0], 110),
        ("left clavicle", [0, 0, 1], 30),
        ("right clavicle", [0, 0, -1], 30),
        ("right clavicle", [0, 1, 0], 20),
        ("head", [1, 0, 0], 22.5),
        ("neck", [0, 1, 0], 30),
        ("spine 2", [1, 0, 0], 80 / 3),
        ("spine 2", [-1, 0, 0], 25 / 3),
    ],
)
def test_ranges_end_where_the_academy_has_them(joint: str, axis: list[float], most: float) -> None:
    body = BODIES["human"]
    assert_allclose(arm_of(body, joint, axis, most - 0.01), 0, atol=1e-6)
    assert_allclose(arm_of(body, joint, axis, most + 2), 2, atol=0.02)


def about(axis: list[float], degrees: float) -> Array:
    return ik.rotations.from_axis_angle(axis, np.radians(degrees))


def a_rig(bend: float) -> ik.Skeleton:
    """A person in an A-pose with elbows and knees bent so far, Z up, in centimetres, its joints with any axes."""
    body, rng = BODIES["human"], np.random.default_rng(4)
    turned = body.rest.rotations.copy()
    for side, sign in (("left", 1), ("right", -1)):
        turned[body.index(f"{side} shoulder")] = about([0, 0, 1], -40 * sign)
        turned[body.index(f"{side} elbow")] = about([0, -sign, 0], bend)
        turned[body.index(f"{side} knee")] = about([1, 0, 0], bend)
        turned[body.index(f"{side} hip")] = about([0, 0, 1], 8 * sign)
    posed = body.forward(ik.Pose(turned))
    flat = np.where([["ankle" in name] for name in body.names], [1.0, 0, 0, 0], posed.rotations)  # feet stay flat
    posed = body.forward(body.local(ik.skeleton.World(posed.positions, flat)))
    up = ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    turns = ik.rotations.multiply(
        ik.rotations.multiply(up, posed.rotations), ik.rotations.exp(rng.normal(size=(len(body), 3)))
    )
    local = body.local(ik.skeleton.World(100 * ik.rotations.rotate(up, posed.positions), turns))
    assert local.translations is not None
    return ik.Skeleton(body.parents, local.translations, local.rotations, body.names)


@pytest.mark.parametrize("bend", [0, 25])
def test_ranges_of_a_rig_are_those_of_a_person(bend: float) -> None:
    """The same motion from the T-pose is as far outside on a rig with other axes, another rest pose and another up."""
    body, rig, up = BODIES["human"], a_rig(bend), ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    ranged = ik.bodies.with_ranges(rig)
    person = body.forward(ik.Pose(ik.rotations.exp(0.8 * np.random.default_rng(5).normal(size=(40, len(body), 3)))))
    rest = ranged.forward(ranged.rest)
    own = ik.rotations.multiply(ik.rotations.conjugate(up), rest.rotations)
    turned = ik.rotations.multiply(up, ik.rotations.multiply(person.rotations, own))
    pose = ranged.local(ik.skeleton.World(np.broadcast_to(rest.positions, (40, len(body), 3)), turned))
    expected = ik.bodies.report(body, body.local(person)).beyond
    found = ik.bodies.report(ranged, pose).beyond
    for joint, name in enumerate(body.names):
        if "wrist" not in name:
            assert_allclose(found[:, joint], expected[:, joint], atol=1e-6, err_msg=name)
    assert (expected.max(0) > 0.1).sum() == sum(1 for limit in body.limits if limit and limit.kind != "free")
    straight = rest.positions[[body.index(name) for name in ("left shoulder", "left elbow", "left wrist")]]
    assert_allclose(np.diff(straight, axis=0)[:, 1:], 0, atol=1e-9)  # +X left, a T-pose
    assert_array_equal(ranged.preferred.rotations, rig.rest.rotations)


def test_limits_of_a_rig_stay_and_the_walk_is_within_ranges() -> None:
    clip = ik.samples.walk(2.0).clip
    knee = ik.Limit.hinge([1, 0, 0], -0.1, 2)
    given = ik.Skeleton(
        clip.skeleton.parents,
        clip.skeleton.offsets,
        clip.skeleton.rest.rotations,
        clip.skeleton.names,
        {"LeftLeg": knee},
    )
    ranged = ik.bodies.with_ranges(given)
    assert ranged.limits[ranged.index("LeftLeg")] == knee
    beyond = dict(zip(ranged.names, np.degrees(ik.bodies.report(ranged, clip.pose).beyond.max(0)), strict=True))
    legs = [beyond.pop(f"{side}{part}") for side in ("Left", "Right") for part in ("Leg", "Foot")]
    assert max(legs) < 15  # its knees are straighter than straight, and its feet lift more than those of people
    assert max(beyond.values()) < 1


def test_a_person_reaches_with_masses_and_keeps_its_ranges() -> None:
    body = BODIES["human"]
    feet = body.forward(body.rest)
    goals = [ik.Reach("left wrist", [0.2, 1.2, 0.5])]
    goals += [ik.Reach(f"{side} ankle", feet.positions[body.index(f"{side} ankle")]) for side in ("left", "right")]
    found = ik.solvers.full_body(body, body.rest, goals)
    assert found.status == 0
    assert np.degrees(ik.bodies.report(body, found.pose).beyond.max()) < 0.01


def test_as_body_has_masses_of_a_person() -> None:
    clip = ik.samples.walk(1.0).clip
    body = ik.bodies.as_body(clip.skeleton, clip, mass=70, sex="female")
    assert_allclose(body.masses.sum(), 70)
    assert body.limits[body.index("LeftLeg")] is not None
    assert_array_equal(body.masses, ik.bodies.with_masses(clip.skeleton, 70, sex="female").masses)


@pytest.mark.skipif("IKCORE_MOCAP" not in os.environ, reason="IKCORE_MOCAP names no folder of clips")
@pytest.mark.parametrize("name", ["cmu_12_01_walk", "fair1_zombie", "cmu_03_01_uneven_daz", "pab_walk"])
def test_captured_people_have_masses(name: str) -> None:
    clip = ik.bvh.read(Path(os.environ["IKCORE_MOCAP"]) / f"{name}.bvh")
    body = ik.bodies.with_masses(clip.skeleton, 75)
    mass, centre, _ = whole(body, clip.pose[0])
    assert_allclose(mass, 75)
    roles, at = roles_of(body), clip.skeleton.forward(clip.pose[0]).positions
    leg = np.linalg.norm(np.diff(at[list(roles.legs["left"][:3])], axis=0), axis=1).sum()
    assert np.linalg.norm(centre - at[roles.spine[0]]) < 0.4 * leg  # near the pelvis in any pose


def test_what_is_no_person_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected two legs .* found none on the left and the right"):
        ik.bodies.with_masses(BODIES["hexapod"], 3)
    with pytest.raises(ValueError, match="sex: expected 'male', 'female' or 'average'"):
        ik.bodies.human(sex="other")  # type: ignore[arg-type]
    for make in (ik.bodies.human, ik.bodies.quadruped, ik.bodies.hexapod):
        with pytest.raises(ValueError, match="expected more than 0, got -1"):
            make(-1)
        with pytest.raises(ValueError, match="mass: expected more than 0"):
            make(1, 0)
