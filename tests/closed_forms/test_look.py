"""look: several joints share a turn by their weights, and the axis of the last one meets the target."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import reference as ref
from conftest import instruction_sets
from numpy.testing import assert_allclose

import ikcore as ik
from ikcore import Status, _core

X, Y, Z = np.eye(3)
NO_TURN = [1.0, 0, 0, 0]
ATOL = {np.float32: 1e-5, np.float64: 1e-13}
FIELDS = ("deltas", "positions", "status", "error")

# Spine, chest, neck and head at rest, and where the eyes are.
SPINE = np.cumsum([[0, 0, 0], [0, 0.25, 0], [0, 0.25, 0.02], [0, 0.12, 0.01]], axis=0)
BODY: dict[str, Any] = {"forward": Z, "offset": [0, 0.08, 0.10], "weights": [0.1, 0.2, 0.3, 0.4]}


def slow(joints: Any, rotation: Any, target: Any, *, weights: Any, passes: int = 4, **more: Any) -> tuple[Any, Any]:
    """The passes alone, joint by joint. How far every joint has turned, and the angle left after every pass."""
    places, turns, left = np.array(joints, float), np.tile(NO_TURN, (len(joints), 1)), []
    for _ in range(passes):
        for i in range(len(joints)):
            along, wanted = slow_gaze(places, turns, rotation, target, **more)
            part = weights[i] / sum(weights[i:]) if weights[i] else 0
            turn = turn_by(ref.unit(np.cross(along, wanted)), part * angle(along, wanted))
            turns[i:] = ref.multiply(turn, turns[i:])
            places[i:] = places[i] + ref.rotate(turn, places[i:] - places[i])
        left.append(angle(*slow_gaze(places, turns, rotation, target, **more)))
    return turns, np.array(left)


def slow_gaze(places: Any, turns: Any, rotation: Any, target: Any, **more: Any) -> tuple[Any, Any]:
    """Direction of the ray, and its target direction."""
    turned = ref.multiply(turns[-1], rotation)
    wanted = ref.unit(target - places[-1] - ref.rotate(turned, more.get("offset", np.zeros(3))))
    if "reference" in more:
        away = angle(more["reference"], wanted)
        allowed = min(away, clamped(away, more["clamp"], more.get("clamp_start", 1.0)))
        wanted = ref.turn(more["reference"], ref.unit(np.cross(more["reference"], wanted)), allowed)
    return ref.rotate(turned, ref.unit(np.asarray(more["forward"], float))), wanted


def clamped(away: float, clamp: float, start: float) -> float:
    most = np.pi * (1 - clamp)
    rest = (1 - start) * most
    return away if away <= start * most else most - rest * np.exp(-(away - start * most) / rest) if rest else most


def angle(a: Any, b: Any) -> Any:
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


def turn_by(axis: Any, by: Any) -> Any:
    by = np.asarray(by)[..., None]
    return np.concatenate([np.cos(by / 2), np.sin(by / 2) * axis], axis=-1)


def angle_of(q: Any) -> Any:
    return 2 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0]))


def turned_by(deltas: Any) -> Any:
    """How far every joint has turned: the products of the deltas up to it."""
    turns = [np.asarray(deltas[..., 0, :], float)]
    for k in range(1, deltas.shape[-2]):
        turns.append(ref.multiply(turns[-1], deltas[..., k, :]))
    return np.stack(turns, axis=-2)


def ray_after(found: ik.closed_forms.LookAtSolution, chain: dict[str, Any]) -> tuple[Any, Any]:
    """Start and direction of the axis, rebuilt in doubles from the deltas."""
    joints, turns = np.asarray(chain["joints"], float), turned_by(found.deltas)
    bones = ref.rotate(turns[..., :-1, :], np.diff(joints, axis=-2))
    turned = ref.multiply(turns[..., -1, :], ref.unit(np.asarray(chain["rotation"], float)))
    start = joints[..., 0, :] + bones.sum(axis=-2) + ref.rotate(turned, np.asarray(chain.get("offset", np.zeros(3))))
    return start, ref.rotate(turned, ref.unit(np.asarray(chain["forward"], float)))


def random(dtype: Any, count: int = 300, joints: int = 4, seed: int = 1) -> dict[str, Any]:
    """Chains as long as a spine, targets farther away than they are long."""
    rng = np.random.default_rng(seed)

    def vectors(*shape: int) -> Any:
        return rng.standard_normal((count, *shape, 3))

    chain = np.cumsum(vectors(joints) * 0.2, axis=1)
    made = {
        "joints": chain,
        "rotation": ref.unit(rng.standard_normal((count, 4))),
        "target": chain[:, -1] + ref.unit(vectors()) * rng.uniform(2, 5, (count, 1)),
        "forward": vectors(),
        "weights": rng.uniform(0, 1, (count, joints)),
        "offset": 0.05 * vectors(),
        "up": vectors(),
        "pole": chain[:, -1] + 3 * vectors(),
        "reference": vectors(),
        "clamp": rng.uniform(0.2, 0.8, count),
        "clamp_start": rng.uniform(0, 1.2, count),
    }
    return {name: value.astype(dtype) for name, value in made.items()}


def without(chain: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in chain.items() if name not in names}


UPRIGHT = ("up", "pole")
CONE = ("reference", "clamp", "clamp_start")


# --- against figures that are not ours ------------------------------------------------------------------------------


def test_the_slow_one_has_the_published_figures() -> None:
    """Residuals and angles in degrees, and the head's local rotation, of the formulation this solver follows."""
    turns, left = slow(SPINE, NO_TURN, np.array([1.5, 1.2, 0.8]), **BODY)
    assert_allclose(np.degrees(left), [1.442564415, 0.030354686, 0.000639125, 1.3457e-5], rtol=0, atol=2e-8)
    locals_ = [turns[0], *(ref.multiply(ref.conjugate(a), b) for a, b in itertools.pairwise(turns))]
    angles = np.degrees(angle_of(np.array(locals_)))
    assert_allclose(angles, [6.56225818, 12.906961603, 18.741473795, 23.608424061], rtol=0, atol=1e-8)
    assert_allclose(locals_[3], [0.978852352835, -0.064690085291, 0.194070255873, 0], rtol=0, atol=1e-12)


def test_the_published_figures(isa: str) -> None:
    """After four passes the last joint does the 1.3457e-5 degrees that are left."""
    found = ik.look_at(SPINE, NO_TURN, [1.5, 1.2, 0.8], **BODY)
    angles = np.degrees(angle_of(found.deltas))
    assert_allclose(angles[:3], [6.56225818, 12.906961603, 18.741473795], rtol=0, atol=1e-8)
    assert_allclose(angles[3], 23.608424061, rtol=0, atol=1.4e-5)
    before, after = turned_by(found.deltas)[2:]
    head = ref.multiply(ref.conjugate(before), after)
    assert_allclose(head, [0.978852352835, -0.064690085291, 0.194070255873, 0], rtol=0, atol=1.2e-7)
    assert found.status == 0
    assert found.error < 1e-12


@pytest.mark.parametrize(("start", "gaze"), [(1.0, 90.0), (0.7, 89.588998)])
def test_the_published_clamp_of_a_target_behind(start: float, gaze: float, isa: str) -> None:
    """Their second figure is that of two passes: two millionths of a degree off the end."""
    options: Any = BODY | {"reference": Z, "clamp": 0.5, "clamp_start": start}
    chain: dict[str, Any] = {"joints": SPINE, "rotation": NO_TURN, "target": [0.3, 0.6, -2]}
    found = ik.look_at(**chain, **options)
    along = ray_after(found, chain | BODY)[1]
    assert_allclose(np.degrees(angle(along, Z)), gaze, rtol=0, atol=2e-6)
    turns, left = slow(SPINE, NO_TURN, np.array(chain["target"]), **options)
    assert left[-1] < 1e-12
    assert_allclose(turned_by(found.deltas), turns, rtol=0, atol=1e-12)
    assert found.status == Status.AT_LIMIT


CLAMPED = {
    62.9999: 62.9999,
    80: 75.614694,
    89.9999: 80.067218,
    120: 86.73021,
    180: 89.645659,
}  # at 90 degrees from 63 on


@pytest.mark.parametrize("away", CLAMPED)
def test_the_published_clamp(away: int, dtype: Any, isa: str) -> None:
    at = np.radians(away)
    options: Any = {"reference": 3 * Z, "clamp": 0.5, "clamp_start": 0.7}
    chain: Any = {"joints": np.zeros((1, 3), dtype), "rotation": np.array(NO_TURN, dtype), "forward": Z}
    found = ik.look_at(**chain, target=[np.sin(at), 0, np.cos(at)], **options)
    assert_allclose(
        np.degrees(angle_of(found.deltas[0])), CLAMPED[away], rtol=0, atol=1e-6 if dtype is np.float64 else 2e-5
    )
    assert_allclose(found.error, at - np.radians(CLAMPED[away]), rtol=0, atol=1e-6)
    assert found.status == (
        0 if away < 63 else Status.SOFTENED if away < 90.1 and found.status & Status.SOFTENED else Status.AT_LIMIT
    )


@functools.cache
def slow_batch(joints: int) -> tuple[dict[str, Any], list[tuple[Any, Any]]]:
    """Chains, and what is made of each: the same for every instruction set."""
    batch = without(random(np.float64, 40, joints), *UPRIGHT, *CONE)
    batch["weights"][::3, 0] *= joints == 2  # one joint alone takes the way of aim
    return batch, [slow(**{name: value[i] for name, value in batch.items()}) for i in range(40)]


@pytest.mark.parametrize("joints", [2, 3, 4, 7])
def test_the_slow_one(joints: int, isa: str) -> None:
    """All joints but the last turn as in the passes alone; that one is off by what they leave."""
    batch, passes = slow_batch(joints)
    found = ik.look_at(**batch)
    for deltas, (turns, left) in zip(found.deltas, passes, strict=True):
        turned = turned_by(deltas)
        assert_allclose(
            turned[:-1] * np.sign(np.sum(turned[:-1] * turns[:-1], -1, keepdims=True)), turns[:-1], rtol=0, atol=1e-12
        )
        off = ref.multiply(turned[-1], ref.conjugate(turns[-1]))
        assert angle_of(off) <= 2 * left[-1] + 1e-12


@pytest.mark.parametrize("drop", [(), UPRIGHT, ("offset",), (*UPRIGHT, "offset")], ids=str)
def test_one_joint_is_aim(drop: tuple[str, ...], dtype: Any, isa: str) -> None:
    batch = without(random(dtype, 500, 1), *CONE, "weights", *drop)
    batch["target"][::7] = batch["joints"][::7, 0] + dtype(0.01)  # too near for most
    found = ik.look_at(**batch)
    aimed = ik.aim(batch["joints"][:, 0], **without(batch, "joints"))
    assert (found.status == aimed.status).all()
    assert "offset" in drop or (found.status == Status.TOO_NEAR).any()
    assert_allclose(found.deltas[:, 0], aimed.delta, rtol=0, atol=1e-5 if dtype is np.float32 else 1e-13)
    assert found.positions.tobytes() == batch["joints"].tobytes()


# --- the contract ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joints", [1, 2, 4, 40])
@pytest.mark.parametrize("drop", [(), ("offset",), UPRIGHT, (*UPRIGHT, "offset", "weights")], ids=str)
def test_the_axis_points_at_the_target(drop: tuple[str, ...], joints: int, dtype: Any, isa: str) -> None:
    chain = without(random(dtype, 300 if joints < 40 else 20, joints), *CONE, *drop)
    found = ik.look_at(**chain)
    start, along = ray_after(found, chain)
    left = angle(along, chain["target"] - start)
    assert (found.status == 0).sum() > 0.95 * len(left)
    assert_allclose(left[found.status == 0], 0, rtol=0, atol=ATOL[dtype] * (1 if joints < 40 else 20))
    assert_allclose(found.error, left, rtol=0, atol=ATOL[dtype] * (1 if joints < 40 else 20))
    assert (found.deltas[..., 0] >= 0).all()
    assert_allclose(np.linalg.norm(found.deltas, axis=-1), 1, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15)


def test_a_skeleton_posed_by_the_deltas_is_where_it_says(dtype: Any, isa: str) -> None:
    """Local rotations as a rig has them: W^-1 delta W local, from the pose that came in; then forward kinematics."""
    rng = np.random.default_rng(5)
    local, bones = ref.unit(rng.standard_normal((50, 4, 4))), 0.3 * rng.standard_normal((50, 4, 3))

    def pose(local: Any) -> tuple[Any, Any]:
        world, places = [local[:, 0]], [bones[:, 0]]
        for k in range(1, 4):
            places.append(places[-1] + ref.rotate(world[-1], bones[:, k]))
            world.append(ref.multiply(world[-1], local[:, k]))
        return np.stack(world, 1), np.stack(places, 1)

    world, places = pose(local)
    chain = {"joints": places.astype(dtype), "rotation": world[:, 3].astype(dtype), "forward": X, "offset": 0.1 * Y}
    target = places[:, 3] + 3 * ref.unit(rng.standard_normal((50, 3)))
    found = ik.look_at(**chain, target=target, weights=[1, 2, 0, 3])
    parents = np.concatenate([np.tile(NO_TURN, (50, 1, 1)), world[:, :-1]], axis=1)
    turned = ref.multiply(ref.multiply(ref.conjugate(parents), found.deltas), ref.multiply(parents, local))
    world, places = pose(turned)
    assert_allclose(found.positions, places, rtol=0, atol=10 * ATOL[dtype])
    eyes = places[:, 3] + ref.rotate(world[:, 3], 0.1 * Y)
    assert_allclose(angle(ref.rotate(world[:, 3], X), target - eyes), found.error, rtol=0, atol=ATOL[dtype])
    assert (found.status == 0).all()


def test_joints_in_one_place_turn_by_their_weights(dtype: Any, isa: str) -> None:
    weights = np.array([1, 0, 3, 2, 4], dtype)
    joints = np.ones((5, 3), dtype)
    found = ik.look_at(joints, np.array(NO_TURN, dtype), [3, 1, 1], forward=Z, weights=weights)
    assert_allclose(
        angle_of(found.deltas), np.pi / 2 * weights / 10, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15
    )
    same = ik.look_at(joints, np.array(NO_TURN, dtype), [3, 1, 1], forward=Z, weights=weights * dtype(1e-20))
    assert_allclose(same.deltas, found.deltas, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15)
    up = ik.look_at(joints, np.array(NO_TURN, dtype), [1, 1, 3], forward=Z, weights=weights, up=Y, pole=[9, 1, 1])
    assert_allclose(angle_of(up.deltas), np.pi / 2 * weights / 10, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15)
    assert_allclose(up.deltas[:, 1:3], 0, rtol=0, atol=1e-6)


def test_a_joint_without_a_weight_stays(dtype: Any, isa: str) -> None:
    chain = without(random(dtype, 200), *UPRIGHT, *CONE) | {"weights": [1, 0, -2, 3]}
    chain["weights"] = [[1, 0, 0, 3], [1, 2, 0, 0], [0, 0, 1, 0], [0, 1, -5, 0]] * 50
    found = ik.look_at(**chain)
    moved = angle_of(found.deltas) > 0
    assert (moved == (np.array(chain["weights"]) > 0)).all()
    assert (found.status == 0).all()


@pytest.mark.parametrize("drop", [CONE, ("reference",)], ids=["free", "cone"])
def test_up_ends_on_the_side_of_the_pole(drop: tuple[str, ...], dtype: Any, isa: str) -> None:
    chain = without(random(dtype), *CONE, "offset")
    if drop != CONE:
        chain |= {"reference": Z, "clamp": 0.6}
    found = ik.look_at(**chain)
    along = ray_after(found, chain)[1]
    turned = ref.multiply(turned_by(found.deltas)[:, -1], chain["rotation"])
    up, pole = ref.rotate(turned, chain["up"]), chain["pole"] - found.positions[:, -1].astype(float)
    across = [v - along * np.sum(v * along, axis=-1, keepdims=True) for v in (up, pole)]
    clear = np.min([np.linalg.norm(v, axis=-1) for v in across], axis=0) > 0.1
    assert clear.sum() > 250
    assert_allclose(angle(*across)[clear], 0, rtol=0, atol=30 * ATOL[dtype])


def test_a_pole_on_the_line_says_nothing(isa: str) -> None:
    found = ik.look_at(SPINE, NO_TURN, [0, 0.62, 4], forward=Z, up=Y, pole=[0, 0.62, 8])
    assert found.status == Status.POLE_UNDEFINED
    found = ik.look_at(SPINE, NO_TURN, [0, 0.62, 4], forward=Z, up=0 * Y, pole=[0, 9, 0])
    assert found.status == Status.POLE_UNDEFINED


def test_a_chain_that_looks_there_already_stays_to_the_bit(dtype: Any, isa: str) -> None:
    found = ik.look_at(SPINE.astype(dtype), np.array(NO_TURN, dtype), [0, 0.62, 4], forward=Z)
    assert (found.deltas == NO_TURN).all()
    assert found.status == 0


@pytest.mark.parametrize("upright", [True, False])
def test_straight_behind_is_half_a_turn(upright: bool, dtype: Any, isa: str) -> None:
    """About up where it is given: nobody looks behind over the top of the head."""
    chain: Any = {"joints": np.zeros((3, 3), dtype), "rotation": np.array(NO_TURN, dtype), "forward": Z}
    options: dict[str, Any] = {"up": Y, "pole": 9 * Y} if upright else {}
    found = ik.look_at(**chain, target=-2 * Z, **options)
    assert found.status == 0
    assert_allclose(angle_of(found.deltas), np.pi / 3, rtol=0, atol=1e-6)
    if upright:
        assert_allclose(found.deltas[:, [1, 3]], 0, rtol=0, atol=1e-6)


def test_opposite_the_reference_the_gaze_goes_to_the_side(dtype: Any, isa: str) -> None:
    chain: Any = {"joints": np.zeros((2, 3), dtype), "rotation": np.array(NO_TURN, dtype), "forward": Z}
    found = ik.look_at(**chain, target=-2 * Z, up=Y, pole=9 * Y, reference=Z, clamp=0.5)
    assert_allclose(np.abs(ray_after(found, chain)[1]), X, rtol=0, atol=1e-6)
    assert found.status == Status.AT_LIMIT


# --- the cone -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joints", [1, 3])
@pytest.mark.parametrize("drop", [(), UPRIGHT], ids=str)
def test_the_gaze_stays_in_its_cone(drop: tuple[str, ...], joints: int, dtype: Any, isa: str) -> None:
    chain = without(random(dtype, 1000, joints), *drop)
    found = ik.look_at(**chain)
    start, along = ray_after(found, chain)
    middle = ref.unit(chain["reference"].astype(float))
    most, share = np.pi * (1 - chain["clamp"].astype(float)), np.clip(chain["clamp_start"], 0, 1)
    assert (angle(middle, along) <= most + ATOL[dtype]).all()
    away = angle(middle, chain["target"] - start)
    clear = (np.abs(away - most) > 1e-4) & (np.abs(away - share * most) > 1e-4)
    expected = np.where(away > most, Status.AT_LIMIT, np.where(away > share * most, Status.SOFTENED, 0))
    known = Status.AT_LIMIT | Status.SOFTENED
    assert (found.status & known == expected)[clear].all()
    assert all((expected == flag).sum() > 20 for flag in (0, Status.AT_LIMIT, Status.SOFTENED))
    wanted = [clamped(*each) for each in zip(away, chain["clamp"], share, strict=True)]
    assert_allclose(angle(middle, along)[clear], np.array(wanted)[clear], rtol=0, atol=2e-3 if joints == 3 else 1e-2)


def test_no_clamp_is_none(isa: str) -> None:
    chain = without(random(np.float64), *CONE)
    free = ik.look_at(**chain)
    cones: list[dict[str, Any]] = [{"reference": Z, "clamp": 0}, {"reference": [0, 0, 0], "clamp": 0.9}]
    for cone in cones:
        found = ik.look_at(**chain, **cone)
        assert_allclose(found.deltas, free.deltas, rtol=0, atol=1e-12)
        assert (found.status == free.status).all()


def test_a_clamp_of_one_keeps_the_reference(isa: str) -> None:
    chain = without(random(np.float64), *CONE, *UPRIGHT)
    found = ik.look_at(**chain, reference=X + Z, clamp=[[1], [7]])
    assert_allclose(angle(ray_after(found, chain)[1], X + Z), 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("start", [1.0, 0.7])
def test_a_target_passing_behind_turns_nothing_suddenly(start: float, isa: str) -> None:
    """In a circle that stays clear of straight behind, in a thousand steps."""
    at = np.linspace(-np.pi, np.pi, 1001)
    behind = np.stack([1.5 * np.cos(at), 0.6 + 1.5 * np.sin(at), np.full(1001, -3.0)], axis=-1)
    around = np.stack([3 * np.sin(at), np.full(1001, 2.5), 3 * np.cos(at)], axis=-1)
    for path in (behind, around):
        found = ik.look_at(SPINE, NO_TURN, path, **BODY, reference=Z, clamp=0.5, clamp_start=start)
        step = angle_of(ref.multiply(found.deltas[1:], ref.conjugate(found.deltas[:-1])))
        assert step.max() < 4 * np.pi / 1000


# --- near and degenerate --------------------------------------------------------------------------------------------


def test_a_target_near_the_face_is_met_and_does_not_roll_the_spine_in(dtype: Any, isa: str) -> None:
    """Nearer to the eyes than these are to the hips: the passes aim farther away, the head does the rest."""
    steps = np.linspace(3, 0.15, 200)
    target = np.stack([0.3 * steps, 0.7 - 0.5 * steps, 0.13 + steps], axis=-1)
    found = ik.look_at(SPINE.astype(dtype), np.array(NO_TURN, dtype), target, **BODY)
    assert (found.status == 0).all()
    assert angle_of(found.deltas).max() < 0.6
    assert angle_of(found.deltas[:, 0]).max() < 0.12


def test_a_target_too_near_is_passed_as_near_as_possible(dtype: Any, isa: str) -> None:
    joints: Any = np.array([[0, -1, 0], [0, 0, 0]], dtype)
    found = ik.look_at(
        joints, np.array(NO_TURN, dtype), found_at := [0.1, 0, 0.1], forward=X, offset=2 * Y, weights=[0, 1]
    )
    assert found.status == Status.TOO_NEAR
    start, along = ray_after(found, {"joints": joints, "rotation": NO_TURN, "forward": X, "offset": 2 * Y})
    left = found_at - start
    assert_allclose(np.linalg.norm(left - along * np.dot(left, along)), 2 - np.hypot(0.1, 0.1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("at", [SPINE[0], SPINE[2], SPINE[3], [0, 0.7, 0.13], [0, 0.7, 0.1]], ids=str)
def test_a_target_inside_the_chain_is_data(at: Any, dtype: Any, isa: str) -> None:
    for more in ({}, {"up": Y, "pole": at}, {"reference": Z, "clamp": 0.5}):
        with np.errstate(all="raise"):
            found = ik.look_at(SPINE.astype(dtype), np.array(NO_TURN, dtype), at, **BODY, **more)
        assert found.status < _core.UNUSABLE
        assert np.isfinite(found.deltas).all()
        assert_allclose(np.linalg.norm(found.deltas, axis=-1), 1, rtol=0, atol=1e-6)
        start, along = ray_after(found, {"joints": SPINE, "rotation": NO_TURN} | BODY)
        if np.linalg.norm(at - start) > 1e-3:
            assert_allclose(angle(along, at - start), found.error, rtol=0, atol=1e-3 if dtype is np.float32 else 1e-10)


@pytest.mark.parametrize("scale", [1e-18, 1e-9, 1e9, 1e18])
def test_the_unit_of_length_does_not_matter(scale: float, dtype: Any, isa: str) -> None:
    chain = random(dtype, 200)
    size = dtype(2.0 ** np.round(np.log2(scale)))
    scaled = chain | {name: chain[name] * size for name in ("joints", "target", "offset", "pole")}
    one, other = ik.look_at(**chain), ik.look_at(**scaled)
    assert other.deltas.tobytes() == one.deltas.tobytes()
    assert other.status.tobytes() == one.status.tobytes()
    assert other.positions.tobytes() == (one.positions * size).tobytes()


def test_the_world_axes_do_not_matter(isa: str) -> None:
    """Turned and shifted, all comes out turned and shifted."""
    chain = random(np.float64)
    by, shift = ref.unit(np.array([1.0, -2, 0.5, 3])), np.array([3.0, -2, 1])
    moved = chain | {"rotation": ref.multiply(by, chain["rotation"]), "reference": ref.rotate(by, chain["reference"])}
    moved |= {name: ref.rotate(by, chain[name]) + shift for name in ("joints", "target", "pole")}
    one, other = ik.look_at(**chain), ik.look_at(**moved)
    expected = ref.multiply(ref.multiply(by, one.deltas), ref.conjugate(by))
    assert_allclose(
        other.deltas * np.where(np.sum(other.deltas * expected, -1, keepdims=True) < 0, -1, 1),
        expected,
        rtol=0,
        atol=1e-10,
    )
    assert_allclose(other.positions, ref.rotate(by, one.positions) + shift, rtol=0, atol=1e-10)
    assert (one.status == other.status).all()


def test_weight_goes_part_of_the_way(dtype: Any, isa: str) -> None:
    chain = random(dtype, 50)
    full, part = ik.look_at(**chain), ik.look_at(**chain, influence=0.3)
    mixed = ref.unit(0.7 * np.array(NO_TURN) + 0.3 * full.deltas.astype(float))
    assert_allclose(part.deltas, mixed, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-15)
    assert (part.status & Status.PARTIAL_INFLUENCE != 0).all()
    start, along = ray_after(part, chain)
    assert_allclose(part.error, angle(along, chain["target"] - start), rtol=0, atol=10 * ATOL[dtype])


@pytest.mark.parametrize(
    "nothing", [{"influence": 0}, {"weights": [0, 0, 0, 0]}, {"weights": [-1, 0, -0.0, -3]}], ids=str
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1.0])
def test_nothing_moves_without_weight_whatever_the_target(nothing: Any, bad: float, dtype: Any, isa: str) -> None:
    chain = random(dtype, 9) | {name: np.full(3, bad) for name in ("target", "pole", "reference")} | nothing
    with np.errstate(all="raise"):
        found = ik.look_at(**chain)
    assert (found.deltas == NO_TURN).all()
    assert found.positions.tobytes() == chain["joints"].tobytes()
    assert (found.status & Status.PARTIAL_INFLUENCE != 0).all()
    assert np.isfinite(found.error).all()


@pytest.mark.parametrize("name", random(np.float64, 1))
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_number_stays_in_its_own_item(name: str, bad: float, isa: str) -> None:
    chain = random(np.float64, 9) | {"influence": np.full(9, 0.5)}
    good = ik.look_at(**chain)
    chain = ref.spoiled(chain, name, bad)
    with pytest.warns(ik.UnusableWarning, match=r"look: 1 of 9 items"), np.errstate(all="raise"):
        found = ik.look_at(**chain)
    assert found.status[4] == Status.NOT_FINITE
    assert (found.deltas[4] == NO_TURN).all()
    assert found.positions[4].tobytes() == chain["joints"][4].tobytes()
    assert np.isnan(found.error[4])
    others = np.arange(9) != 4
    assert all(getattr(found, field)[others].tobytes() == getattr(good, field)[others].tobytes() for field in FIELDS)


def test_no_axis_is_no_length(isa: str) -> None:
    with pytest.raises(ik.UnusableError, match="NO_LENGTH"):
        ik.look_at(SPINE, NO_TURN, [1, 0, 0], forward=[0, 0, 0], strict=True)


def test_the_core_takes_a_chain_without_joints(isa: str) -> None:
    none = np.empty(0)
    found = _core.look(np.empty((2, 0, 3)), NO_TURN, X, Z, none, none, none, none, none, none, none, none)
    assert (found[2] == Status.NO_LENGTH).all()


# --- the same bits --------------------------------------------------------------------------------------------------


def raw(found: ik.closed_forms.LookAtSolution) -> list[bytes]:
    return [getattr(found, field).tobytes() for field in FIELDS]


def nasty(dtype: Any, count: int) -> dict[str, Any]:
    """A fifth of the chains with something denormal, huge or not a number in them."""
    rng, info = np.random.default_rng(4), np.finfo(dtype)
    pool = np.array([0, -0.0, info.tiny, info.smallest_subnormal, info.max, -info.max, np.inf, -np.nan, 1], dtype)
    chain = random(dtype, count) | {"influence": rng.uniform(-0.1, 1.5, count).astype(dtype)}
    for name, value in chain.items():
        odd = rng.random(value.shape) < 0.2 / 15 / value[0].size
        chain[name] = np.where(odd, rng.choice(pool, value.shape), value)
    return chain


def solve(chain: dict[str, Any]) -> ik.closed_forms.LookAtSolution:
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.UnusableWarning)
        return ik.look_at(**chain)


@pytest.mark.parametrize("drop", [(), UPRIGHT, CONE, (*UPRIGHT, *CONE)], ids=str)
@pytest.mark.parametrize("make", [random, nasty])
def test_every_instruction_set_and_place_gives_the_same_bytes(make: Any, drop: Any, dtype: Any) -> None:
    chain = without(make(dtype, 67), *drop)
    before = _core.isa()
    _core.use_isa("scalar")
    singles = [solve({name: value[i] for name, value in chain.items()}) for i in range(67)]
    for isa in instruction_sets():
        _core.use_isa(isa)
        for part in (slice(0, 67), slice(0, 1), slice(3, 20), slice(40, 56), slice(0, 0), slice(66, None, -1)):
            found = solve({name: value[part] for name, value in chain.items()})
            for field in FIELDS:
                expected = b"".join(getattr(single, field).tobytes() for single in singles[part])
                assert getattr(found, field).tobytes() == expected, (isa, part, field)
    _core.use_isa(before)


def test_threads_give_the_same_bytes(dtype: Any) -> None:
    chain = without(random(dtype, 1000, 2), *CONE)
    many: dict[str, Any] = {name: np.tile(value, (140, *[1] * (value.ndim - 1))) for name, value in chain.items()}
    assert raw(ik.look_at(**many, workers=3)) == raw(ik.look_at(**many))


def test_every_nan_is_the_one_canonical_nan(dtype: Any, isa: str) -> None:
    found = solve(nasty(dtype, 2000))
    canonical: Any = {np.float32: np.uint32(0x7FC00000), np.float64: np.uint64(0x7FF8 << 48)}[dtype]
    for numbers in (found.positions, found.error):
        nans = numbers[np.isnan(numbers)].view(canonical.dtype)
        assert len(nans)
        assert (nans == canonical).all()
    assert np.isfinite(found.deltas).all()
    assert 100 < (found.status < _core.UNUSABLE).sum() < 1950


# --- shapes and words -----------------------------------------------------------------------------------------------


def test_shapes_broadcast_and_are_named() -> None:
    found = ik.look_at(np.tile(SPINE, (4, 1, 1, 1)), NO_TURN, np.full((5, 3), 3.0), forward=Z, weights=np.ones((5, 4)))
    assert found.deltas.shape == (*found.positions.shape[:-1], 4) == (4, 5, 4, 4)
    assert found.summary().startswith("20 of 20 chains reached")
    with pytest.raises(ValueError, match=r"weights: expected an array of shape \(\.\.\., 4\), got shape \(3,\)"):
        ik.look_at(SPINE, NO_TURN, X, forward=Z, weights=[1, 2, 3])
    with pytest.raises(ValueError, match=r"joints: expected .* of one joint or more, got shape \(0, 3\)"):
        ik.look_at(np.empty((0, 3)), NO_TURN, X, forward=Z)
    with pytest.raises(ValueError, match=r"joints: expected .* of one joint or more, got shape \(3,\)"):
        ik.look_at([0, 0, 0], NO_TURN, X, forward=Z)
    with pytest.raises(ValueError, match=r"look: leading axes do not broadcast"):
        ik.look_at(np.zeros((2, 1, 3)), NO_TURN, np.ones((3, 3)), forward=Z)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"up": Y}, "up and pole: expected both or neither, got one"),
        ({"clamp": 0.5}, "reference and clamp: expected both or neither, got one"),
        ({"reference": Z}, "reference and clamp: expected both or neither, got one"),
        ({"clamp_start": 0.5}, "clamp_start: expected reference and clamp with it, got neither"),
    ],
    ids=str,
)
def test_what_goes_together_is_said(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ik.look_at(SPINE, NO_TURN, X, forward=Z, **options)
