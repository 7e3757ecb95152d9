"""The contract that all nodes have in common: influence, batches, limits, straight starts, continuity, failures."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from conftest import instruction_sets
from humans import BACK, BODY, FORWARD, LIMITED, NODES
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core
from ikcore.bodies import nodes

Array = NDArray[Any]
EVERY = pytest.mark.parametrize("name", list(NODES))
AIMED = [name for name, (_, targets) in NODES.items() if targets]


def with_influence(node: Any, influence: Any) -> Any:
    return dataclasses.replace(node, influence=influence)


def moved(targets: dict[str, Any], way: Any) -> dict[str, Any]:
    """The targets with their positions moved."""
    return {
        name: np.add(value, way) if len(value) == 3 else np.asarray(value, float) for name, value in targets.items()
    }


def poses(count: int, dtype: Any = np.float64, size: float = 0.15, body: ik.Skeleton = BODY) -> ik.Pose:
    """Poses near rest, within limits."""
    draw = np.random.default_rng(5)
    turned = ik.rotations.exp(draw.normal(size=(count, len(body), 3)) * size)
    for joint, limit in enumerate(body.limits):
        if limit is not None:
            turned[:, joint] = limit.project(turned[:, joint])
    turned[:, 0] = body.rest.rotations[0]
    return ik.Pose(turned.astype(dtype), np.broadcast_to(body.offsets, (count, len(body), 3)).astype(dtype))


def turn_between(a: ik.Pose, b: ik.Pose) -> Array:
    """The angles of all joints between poses, in degrees."""
    off = ik.rotations.multiply(a.rotations, ik.rotations.conjugate(b.rotations))
    found: Array = np.degrees(np.linalg.norm(ik.rotations.log(ik.rotations.canonical(off)), axis=-1))
    return found


@EVERY
def test_without_influence_the_pose_is_unchanged_to_the_bit(name: str) -> None:
    node, targets = NODES[name]
    start = poses(4)
    scaled = ik.Pose(start.rotations * 1.7, start.translations)  # of any length, and outside of limits
    for body in (BODY, LIMITED):
        found = with_influence(node, 0)(body, scaled, targets)
        assert found.pose.rotations.tobytes() == scaled.rotations.tobytes()
        assert found.pose.translations is not None
        assert scaled.translations is not None
        assert found.pose.translations.tobytes() == scaled.translations.tobytes()
    if targets:
        nothing = {key: np.full_like(value, np.nan, dtype=float) for key, value in targets.items()}
        found = with_influence(node, 0)(BODY, scaled, nothing)
        assert found.pose.rotations.tobytes() == scaled.rotations.tobytes()
        assert_array_equal(found.status, int(ik.Status.PARTIAL_INFLUENCE))


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("body", [BODY, LIMITED])
def test_influence_is_the_share_of_the_way_and_continuous(name: str, body: ik.Skeleton) -> None:
    node, targets = NODES[name]
    start, shares = poses(1, body=body), np.linspace(0, 1, 101)
    found = with_influence(node, shares)(body, start, targets)
    whole = turn_between(found.pose[-1], start[0])
    gone = 0.0 if found.pose.translations is None else np.ptp(found.pose.translations[:, 0], axis=0).max()
    assert whole.max() > 2 or gone > 0.02  # it does something
    steps = turn_between(found.pose[1:], found.pose[:-1])
    assert np.all(steps <= 0.011 * whole + 0.01)
    if body is BODY:
        assert_allclose(turn_between(found.pose[50], start[0]), whole / 2, atol=1e-6)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_has_the_bits_of_its_items_alone(name: str, dtype: Any) -> None:
    node, targets = NODES[name]
    start = poses(9, dtype)
    many = moved(targets, np.random.default_rng(2).normal(size=(9, 3)) * 0.1)
    found = with_influence(node, np.linspace(0.2, 1, 9))(LIMITED, start, many)
    assert found.pose.dtype == dtype
    for item in range(9):
        own = {key: value[item] if value.ndim > 1 else value for key, value in many.items()}
        one = with_influence(node, np.linspace(0.2, 1, 9)[item])(LIMITED, start[item], own)
        assert one.pose.rotations.tobytes() == found.pose.rotations[item].tobytes()
        assert one.status == found.status[item]
        if one.pose.translations is not None:
            assert found.pose.translations is not None
            assert one.pose.translations.tobytes() == found.pose.translations[item].tobytes()


@pytest.mark.slow
@EVERY
def test_limits_hold(name: str) -> None:
    node, targets = NODES[name]
    start = poses(60, body=LIMITED)
    many = moved(targets, np.random.default_rng(3).normal(size=(60, 3)) * 0.5)
    found = node(LIMITED, start, many)
    for share in (1.0, 0.6):
        found = with_influence(node, share)(LIMITED, start, many)
        for joint, limit in enumerate(LIMITED.limits):
            if limit is not None:
                assert limit.violation(found.pose.rotations[:, joint]).max() < 1e-9, LIMITED.names[joint]


@EVERY
def test_a_straight_t_pose_is_a_good_start(name: str) -> None:
    node, targets = NODES[name]
    many = moved(targets, np.random.default_rng(4).normal(size=(50, 3)) * 0.2)
    found = node(BODY, BODY.rest, many)
    assert np.isfinite(found.pose.rotations).all()
    assert (found.status < int(ik.Status.NOT_FINITE)).all()


@pytest.mark.parametrize("bend", ["animation", "target", "parent", "arm"])
@pytest.mark.parametrize("side", ["Left", "Right"])
def test_elbows_and_knees_of_a_t_pose_bend_to_their_side(bend: Any, side: str) -> None:
    sign = 1 if side == "Left" else -1
    hands = np.array([[sign * x, y, z] for x in (0.3, 0.45, 0.6) for y in (1.3, 1.44, 1.5) for z in (0.0, 0.1, 0.2)])
    turn = {"rotation": [1.0, 0, 0, 0]}
    arm = nodes.LimbNode(f"{side}Hand", bend, side=BACK)(BODY, BODY.rest, {"position": hands, **turn})
    assert_array_equal(arm.status, 0)
    joints = [BODY.index(side + joint) for joint in ("Arm", "ForeArm", "Hand")]
    root, elbow, hand = (BODY.forward(arm.pose).positions[:, joint] for joint in joints)
    out = elbow - (root + hand) / 2
    assert np.all(out[:, 2] < 0)
    feet = np.array([[sign * 0.1, y, z] for y in (0.15, 0.3, 0.5) for z in (-0.3, 0.0, 0.3)])
    for node in (nodes.LimbNode, nodes.LegNode):
        leg = node(f"{side}Foot", bend, side=FORWARD, soften=1.0)(BODY, BODY.rest, {"position": feet, **turn})
        assert_array_equal(leg.status, 0)
        joints = [BODY.index(side + joint) for joint in ("UpLeg", "Leg", "Foot")]
        hip, knee, foot = (BODY.forward(leg.pose).positions[:, joint] for joint in joints)
        across = np.cross(foot - hip, [1.0, 0, 0])  # forwards, perpendicular to the line of the leg
        assert np.all(np.sum((knee - hip) * across, axis=-1) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", AIMED)
@pytest.mark.parametrize("body", [BODY, LIMITED])
def test_targets_beyond_reach_do_not_make_it_jump(name: str, body: ik.Skeleton) -> None:
    """Targets that go by in steps of 7 mm, 1.5 m away from where they can be reached."""
    node, targets = NODES[name]
    way = np.linspace([-0.7, 0.5, 1.5], [0.7, 0.9, 1.6], 200)
    assert np.linalg.norm(np.diff(way, axis=0), axis=-1).max() < 0.0075
    turns = {key: value for key, value in targets.items() if len(value) == 4}
    for key in [key for key in targets if key not in turns]:
        many = moved(targets, np.zeros((200, 3))) | {key: np.add(targets[key], way)}
        found = node(body, body.rest, many)
        assert turn_between(found.pose[1:], found.pose[:-1]).max() < 5, key


@pytest.mark.parametrize("name", AIMED)
def test_an_item_with_a_nan_says_so_and_keeps_its_pose(name: str) -> None:
    node, targets = NODES[name]
    start = poses(5)
    many = moved(targets, np.zeros((5, 3)))
    clean = node(BODY, start, many)
    for key in many:
        spoilt = {other: np.broadcast_to(value, (5, value.shape[-1])).copy() for other, value in many.items()}
        spoilt[key][2, 0] = np.nan
        with pytest.warns(ik.UnusableWarning, match="1 of 5"):
            found = node(BODY, start, spoilt)
        assert found.status[2] == int(ik.Status.NOT_FINITE)
        assert np.isnan(found.error[2])
        assert found.pose.rotations[2].tobytes() == start.rotations[2].tobytes()
        assert_array_equal(np.delete(found.pose.rotations, 2, 0), np.delete(clean.pose.rotations, 2, 0))
        with pytest.raises(ik.UnusableError):
            node(BODY, start, spoilt, strict=True)


@EVERY
@pytest.mark.slow
def test_all_instruction_sets_give_the_same_bits(name: str) -> None:
    node, targets = NODES[name]
    many = moved(targets, np.random.default_rng(6).normal(size=(5, 3)) * 0.2)
    found, chosen = set(), _core.isa()
    try:
        for isa in instruction_sets():
            assert _core.use_isa(isa) == isa
            solved = with_influence(node, 0.7)(LIMITED, poses(5, np.float32, body=LIMITED), many)
            found.add(solved.pose.rotations.tobytes() + solved.error.tobytes() + solved.status.tobytes())
    finally:
        _core.use_isa(chosen)
    assert len(found) == 1


@EVERY
def test_an_empty_batch_is_one(name: str) -> None:
    node, targets = NODES[name]
    found = node(BODY, poses(4)[:0], targets)
    assert found.pose.shape == (0,)
    assert found.status.shape == (0,)


@EVERY
def test_other_joints_keep_their_bits(name: str) -> None:
    node, targets = NODES[name]
    start = poses(3)
    found = node(BODY, start, targets)
    changed = np.flatnonzero((found.pose.rotations != start.rotations).any(axis=(0, 2)))
    assert set(changed) <= set(node.moves(BODY))


@pytest.mark.parametrize("name", ["limb", "leg", "look_at", "aim", "spine", "biped"])
def test_a_node_is_a_stage_between_solvers(name: str) -> None:
    node, targets = NODES[name]
    nod = ik.solvers.Stage("dls", [ik.Reach("RightHand", [-0.45, 1.3, 0.35], chain=2)])
    found = ik.solvers.stages(BODY, BODY.rest, [nod, node.stage(targets)], goal_errors=True)
    before = ik.dls(BODY, BODY.rest, nod.goals)
    after = node(BODY, before.pose, targets)
    assert_array_equal(found.pose.rotations, after.pose.rotations)
    assert found.goal_errors is not None
    assert len(found.goal_errors) == 1 + len(node._goals(BODY, node.read(np.dtype(float), targets)))
    if name in ("limb", "leg"):  # which leave the right hand alone
        other = ik.solvers.stages(BODY, BODY.rest, [node.stage(targets), nod])
        assert other.status == found.status == after.status == 0


def test_stages_over_time_and_spoilt_items() -> None:
    node = nodes.LegNode("LeftFoot", side=FORWARD)
    way = np.linspace([0.1, 0.2, 0], [0.1, 0.3, 0.3], 10)
    way[3] = np.nan
    with pytest.warns(ik.UnusableWarning):
        found = ik.solvers.stages(BODY, BODY.rest, [node.stage(way)], sequence=True)
    assert found.status[3] == int(ik.Status.NOT_FINITE)
    assert_array_equal(found.pose.rotations[3], BODY.rest.rotations)
    assert_array_equal(np.delete(found.status, 3), 0)


def test_what_is_refused() -> None:
    rest = BODY.rest
    with pytest.raises(ValueError, match="targets: expected some of position, rotation, pole, got 'place'"):
        nodes.LimbNode("LeftHand")(BODY, rest, {"place": [0, 0, 0]})
    with pytest.raises(ValueError, match="tip: expected a joint with two joints above it, got 'Hips'"):
        nodes.LimbNode("Hips")(BODY, rest, [0, 0, 0])
    with pytest.raises(ValueError, match="bend='arm': expected a limb that is bent at rest"):
        nodes.LimbNode("LeftHand", "arm")(BODY, rest, [0, 0, 0])
    with pytest.raises(ValueError, match="bend_weight: expected a share from 0 to 1, got 2"):
        nodes.LimbNode("LeftHand", bend_weight=2)
    with pytest.raises(ValueError, match="bend: expected one of animation"):
        nodes.LimbNode("LeftHand", "sideways")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="joints: expected 'Hips' below 'Head'"):
        nodes.LookAtNode("Hips", ["Head"])(BODY, rest, [0, 0, 0])
    with pytest.raises(ValueError, match="chest: expected a joint below the pelvis 'Chest', got 'Hips'"):
        nodes.SpineNode("Hips", "Chest")(BODY, rest, [0, 0, 0])
    with pytest.raises(ValueError, match="expected one without scales"):
        nodes.LimbNode("LeftHand")(BODY, ik.Pose(rest.rotations, scales=np.ones((len(BODY), 3))), [0, 0, 0])
