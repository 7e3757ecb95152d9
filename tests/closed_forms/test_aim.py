"""aim: the axis points at the target, upright where asked, by the shortest way where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose
from published import cases

import ikcore as ik
from ikcore import Status

X, Y, Z = np.eye(3)
NO_TURN = [1.0, 0, 0, 0]
ATOL = {np.float32: 3e-6, np.float64: 4e-15}
H = np.sqrt(0.5)


def random(dtype: Any, count: int = 500, seed: int = 1) -> dict[str, Any]:
    """Joints anywhere, targets anywhere out of the way of the offset, an up axis and a pole."""
    rng = np.random.default_rng(seed)

    def vectors(scale: float = 1.0) -> Any:
        return (scale * rng.standard_normal((count, 3))).astype(dtype)

    position = vectors()
    return {
        "position": position,
        "rotation": ref.unit(rng.standard_normal((count, 4))).astype(dtype),
        "target": position + (ref.unit(vectors()) * rng.uniform(1, 4, (count, 1))).astype(dtype),
        "forward": vectors(),
        "offset": vectors(0.2),
        "up": vectors(),
        "pole": position + vectors(),
    }


def ray_after(aimed: ik.closed_forms.AimSolution, joint: dict[str, Any]) -> tuple[Any, Any]:
    """Start (from the joint) and direction of the axis after the turn, rebuilt in doubles."""
    turned = ref.multiply(aimed.delta, ref.unit(np.asarray(joint["rotation"], float)))
    offset = np.asarray(joint.get("offset", np.zeros(3)), float)
    return ref.rotate(turned, offset), ref.rotate(turned, ref.unit(np.asarray(joint["forward"], float)))


def angle(a: Any, b: Any) -> Any:
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


@pytest.mark.parametrize("drop", [(), ("offset",), ("up", "pole"), ("offset", "up", "pole")], ids=str)
def test_the_axis_points_at_the_target(drop: tuple[str, ...], dtype: Any, isa: str) -> None:
    joint = {name: value for name, value in random(dtype).items() if name not in drop}
    aimed = ik.aim(**joint)
    start, along = ray_after(aimed, joint)
    to_target = (joint["target"].astype(float) - joint["position"]) - start
    reachable = np.linalg.norm(start, axis=-1) < 0.9 * np.linalg.norm(joint["target"] - joint["position"], axis=-1)
    assert reachable.sum() > 300
    assert_allclose(angle(along, to_target)[reachable], 0, rtol=0, atol=10 * ATOL[dtype])
    assert (aimed.status[reachable] == 0).all()
    assert (aimed.delta[:, 0] >= 0).all()
    assert_allclose(np.linalg.norm(aimed.delta, axis=-1), 1, rtol=0, atol=ATOL[dtype])


def test_up_ends_on_the_side_of_the_pole(dtype: Any, isa: str) -> None:
    joint = random(dtype)
    aimed = ik.aim(**joint)
    line = ref.unit(joint["target"].astype(float) - joint["position"])
    up = ref.rotate(ref.multiply(aimed.delta, joint["rotation"]), joint["up"])
    pole = joint["pole"].astype(float) - joint["position"]
    across = [v - line * np.sum(v * line, axis=-1, keepdims=True) for v in (up, pole)]
    clear = np.min([np.linalg.norm(v, axis=-1) for v in across], axis=0) > 0.1
    assert clear.sum() > 300
    assert_allclose(angle(*across)[clear], 0, rtol=0, atol=30 * ATOL[dtype])


def test_without_a_pole_the_way_is_the_shortest(dtype: Any, isa: str) -> None:
    joint = {name: value for name, value in random(dtype).items() if name not in ("up", "pole", "offset")}
    aimed = ik.aim(**joint)
    before = ref.rotate(joint["rotation"], ref.unit(joint["forward"].astype(float)))
    line = ref.unit(joint["target"].astype(float) - joint["position"])
    turned = 2 * np.arctan2(np.linalg.norm(aimed.delta[:, 1:], axis=-1), aimed.delta[:, 0])
    assert_allclose(turned, angle(before, line), rtol=0, atol=10 * ATOL[dtype])


@pytest.mark.parametrize("forward", [X, Y, Z, -X, -Y, -Z, X + Y, X - Z, np.ones(3)], ids=str)
def test_straight_behind_is_half_a_turn_across(forward: Any, dtype: Any, isa: str) -> None:
    for wobble in (0, 1e-12, 1e-6, 1e-4):
        target = -3 * forward + wobble * np.array([1, 2, 3])
        joint: dict[str, Any] = {"rotation": np.array(NO_TURN, dtype), "forward": forward.astype(dtype)}
        aimed = ik.aim(np.zeros(3, dtype), target=target, **joint)
        assert aimed.status == 0
        assert_allclose(angle(ray_after(aimed, joint)[1], target), 0, rtol=0, atol=10 * ATOL[dtype])


@pytest.mark.parametrize("wobble", [0, 1e-15, 1e-9, 1e-6])
def test_an_axis_on_its_target_stays(wobble: float, dtype: Any, isa: str) -> None:
    aimed = ik.aim(np.zeros(3, dtype), np.array(NO_TURN, dtype), [3, wobble, 0], forward=X)
    assert aimed.status == 0
    assert_allclose(aimed.delta, NO_TURN, rtol=0, atol=1e-6)


def test_a_target_on_the_joint_leaves_it_as_it_is(dtype: Any, isa: str) -> None:
    for offset in (None, [0, 0.5, 0], [0.5, 0, 0]):
        aimed = ik.aim(np.ones(3, dtype), np.array(NO_TURN, dtype), [1, 1, 1], forward=X, offset=offset)
        assert_allclose(aimed.delta, NO_TURN, rtol=0, atol=1e-7)
        assert aimed.error == 0


def test_a_target_too_near_is_passed_as_near_as_possible(dtype: Any, isa: str) -> None:
    joint: dict[str, Any] = {"rotation": np.array(NO_TURN, dtype), "forward": X, "offset": 2 * Y}
    aimed = ik.aim(np.zeros(3, dtype), target=X, **joint)
    assert aimed.status == Status.TOO_NEAR
    start, along = ray_after(aimed, joint)
    nearest = start - along * np.dot(start, along)
    assert_allclose(np.linalg.norm(nearest - X), 1, rtol=0, atol=ATOL[dtype])


def test_on_a_target_on_the_joint_only_the_pole_turns(dtype: Any, isa: str) -> None:
    for offset in (None, [0, 0.5, 0], [0.5, 0, 0]):
        joint: dict[str, Any] = {"forward": X, "up": Y, "pole": [1, 1, 9], "offset": offset}
        aimed = ik.aim(np.ones(3, dtype), np.array(NO_TURN, dtype), [1, 1, 1], **joint)
        assert aimed.status == 0
        assert_allclose(aimed.delta, [H, H, 0, 0], rtol=0, atol=1e-7)


@pytest.mark.parametrize("distance", [1e-10, 1e-25, 1e-44])
def test_a_target_however_near_is_told_to_be_too_near(distance: float, dtype: Any, isa: str) -> None:
    joint: dict[str, Any] = {"rotation": np.array(NO_TURN, dtype), "forward": X, "offset": [0.3, 2, 0]}
    aimed = ik.aim(np.zeros(3, dtype), target=distance * X, **joint)
    assert aimed.status == Status.TOO_NEAR
    start, along = ray_after(aimed, joint)
    assert_allclose(start - along * np.dot(start, along), 2 * X, rtol=0, atol=ATOL[dtype])


@pytest.mark.parametrize("lost", ["target", "pole"])
def test_influence_0_ignores_what_is_no_number(lost: str, dtype: Any, isa: str) -> None:
    joint: dict[str, Any] = {"target": Z, "up": Y, "pole": Y, lost: [np.nan, np.inf, 0]}
    aimed = ik.aim(np.zeros(3, dtype), np.array(NO_TURN, dtype), forward=X, influence=[0.0, 0.0], **joint)
    assert (aimed.delta == NO_TURN).all()
    assert (aimed.status & Status.PARTIAL_INFLUENCE != 0).all()
    assert (aimed.status < Status.NOT_FINITE).all()


@pytest.mark.parametrize(
    ("up", "pole"),
    [(X, Y), (np.zeros(3), Y), (Y, 2 * X), (Y, np.zeros(3))],
    ids=["up along", "no up", "pole on", "no pole"],
)
def test_what_is_on_the_line_says_nothing(up: Any, pole: Any, dtype: Any, isa: str) -> None:
    aimed = ik.aim(np.zeros(3, dtype), np.array(NO_TURN, dtype), [3, 0, 0], forward=X, up=up, pole=pole)
    assert aimed.status == Status.POLE_UNDEFINED
    assert_allclose(aimed.delta, NO_TURN, rtol=0, atol=ATOL[dtype])


# guillaumeblanc/ozz-animation (MIT), ik_aim_job_tests.cc at 6cbdc79: corrections (w, x, y, z), right of the joint's
# rotation; its pole is a direction, ours a point.
E8 = np.cos(np.pi / 8), np.sin(np.pi / 8)
E12 = np.cos(np.pi / 12), np.sin(np.pi / 12)
OZZ: dict[str, tuple[dict[str, Any], list[float]]] = {
    "target +x": ({"target": X}, NO_TURN),
    "target -x": ({"target": -X}, [0, 0, 1, 0]),
    "target +z": ({"target": Z}, [H, 0, -H, 0]),
    "target -z": ({"target": -Z}, [H, 0, H, 0]),
    "target xy": ({"target": X + Y}, [E8[0], 0, 0, E8[1]]),
    "target xy, far": ({"target": 2 * (X + Y)}, [E8[0], 0, 0, E8[1]]),
    "forward +z": ({"forward": Z}, [H, 0, H, 0]),
    "up tiny z": ({"up": 1e-9 * Z}, [H, -H, 0, 0]),
    "pole -y": ({"pole": -Y}, [0, 1, 0, 0]),
    "pole +z": ({"pole": Z}, [H, H, 0, 0]),
    "pole 2z": ({"pole": 2 * Z}, [H, H, 0, 0]),
    "twist": ({"twist": np.pi / 2}, [H, H, 0, 0]),
    "twist back": ({"twist": -np.pi / 2}, [H, -H, 0, 0]),
    "offset": ({"offset": [0.5, 0.5, 0]}, [E12[0], 0, 0, -E12[1]]),
    "offset behind": ({"offset": [-0.5, 0.5, 0]}, [E12[0], 0, 0, -E12[1]]),
    "offset aside": ({"offset": [0.5, 0, 0.5]}, [E12[0], 0, E12[1], 0]),
    "offset on the sphere": ({"offset": Y}, [H, 0, 0, -H]),
    "target along up": ({"target": Y}, [H, 0, 0, H]),
    "target on the joint": ({"target": 0 * X}, NO_TURN),
    "influence 2": ({"target": Z, "influence": 2}, [H, 0, -H, 0]),
    "influence 0": ({"target": Z, "influence": 0}, NO_TURN),
}
# Transforms of joint, target and pole; ozz also scales and mirrors joints, which another layer does here.
OZZ_JOINTS = {
    "identity": (NO_TURN, 0 * X),
    "translate_y1": (NO_TURN, Y),
    "rot_y_60deg": ([0.866025403784439, 0, 0.5, 0], 0 * X),
}


@pytest.mark.parametrize("joint", OZZ_JOINTS)
@pytest.mark.parametrize("case", OZZ)
def test_ozz_animation(case: str, joint: str, isa: str) -> None:
    options, expected = OZZ[case]
    rotation, position = OZZ_JOINTS[joint]
    options = {"target": X, "forward": X, "up": Y, "pole": Y} | options
    for point in ("target", "pole"):
        options[point] = position + ref.rotate(rotation, options[point])
    delta = ik.aim(position, rotation, **options).delta
    found = ref.multiply(ref.multiply(ref.conjugate(rotation), delta), rotation)
    atol = 2e-8 if "sphere" in case else 1e-14  # a tangent: the angle moves by the root of a rounding
    assert_allclose(same_sign(found, expected), expected, rtol=0, atol=atol)


def test_ozz_leaves_a_joint_alone_that_cannot_hit_its_target(isa: str) -> None:
    """ "offset/y2_outside": there no turn at all, here the ray passes as near as it can."""
    aimed = ik.aim(0 * X, NO_TURN, X, forward=X, offset=2 * Y)
    assert aimed.status == Status.TOO_NEAR
    assert_allclose(aimed.delta, [H, 0, 0, -H], rtol=0, atol=1e-14)


def same_sign(q: Any, expected: Any) -> Any:
    return q if np.dot(q, expected) >= 0 else -np.asarray(q)


def test_the_whole_ozz_set() -> None:
    """All cases of rigid joints; scale is another layer's, and out of reach ozz gives up where aim comes near."""
    tried = 0
    for case in cases("aim_ozz.json"):
        joint = np.array(case["joint"])
        rigid = np.allclose(joint[:3, :3].T @ joint[:3, :3], np.eye(3), atol=1e-5) and np.linalg.det(joint[:3, :3]) > 0
        if not rigid or case["expect"]["reached"] is False:
            continue
        rotation, position = ik.rotations.from_matrix(joint[:3, :3]), joint[:3, 3]
        options = {"up": case["up"], "pole": position + case["pole"]} if np.any(case["up"]) else {}
        options |= {name: case[name] for name in ("forward", "offset", "twist")} | {"influence": case["weight"]}
        delta = ik.aim(position, rotation, case["target"], **options).delta
        local = ref.multiply(ref.conjugate(rotation), ref.multiply(delta, rotation))
        expected = np.array(case["expect"]["q"])[[3, 0, 1, 2]]
        assert_allclose(same_sign(local, expected), expected, rtol=0, atol=case["q_tol"], err_msg=case["id"])
        tried += 1
    assert tried >= 30


@pytest.mark.parametrize("influence", [0.25, 0.5, 0.999])
def test_influence_goes_part_of_the_way(influence: float, dtype: Any, isa: str) -> None:
    joint = random(dtype, 50)
    full, part = ik.aim(**joint), ik.aim(**joint, influence=influence)
    mixed = ref.unit((1 - influence) * np.array(NO_TURN) + influence * full.delta.astype(float))
    assert_allclose(part.delta, mixed, rtol=0, atol=ATOL[dtype])
    assert (part.status & Status.PARTIAL_INFLUENCE != 0).all()


def test_twist_turns_about_the_line(dtype: Any, isa: str) -> None:
    joint = random(dtype, 50)
    plain, twisted = ik.aim(**joint), ik.aim(**joint, twist=0.7)
    line = ref.unit(joint["target"].astype(float) - joint["position"])
    turn = np.concatenate([np.full((50, 1), np.cos(0.35)), np.sin(0.35) * line], axis=-1)
    expected = ref.multiply(turn, plain.delta)
    expected *= np.where(expected[:, :1] < 0, -1, 1)
    assert_allclose(twisted.delta, expected, rtol=0, atol=ATOL[dtype])


@pytest.mark.parametrize("scale", [1e-15, 1e15])
def test_the_unit_of_length_does_not_matter(scale: float, dtype: Any, isa: str) -> None:
    joint = random(dtype, 200)
    scaled = joint | {name: joint[name] * dtype(scale) for name in ("position", "target", "offset", "pole")}
    one, other = ik.aim(**joint), ik.aim(**scaled)
    clear = (one.status == 0) & (other.status == 0)
    assert clear.sum() > 150
    assert_allclose(other.delta[clear], one.delta[clear], rtol=0, atol=3e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize(
    "name", ["position", "rotation", "target", "forward", "offset", "up", "pole", "twist", "influence"]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_number_stays_in_its_own_item(name: str, bad: float, isa: str) -> None:
    joint = random(np.float64, 9) | {"twist": np.full(9, 0.1), "influence": np.full(9, 0.5)}
    good = ik.aim(**joint)
    with pytest.warns(ik.UnusableWarning, match=r"aim: 1 of 9 items"), np.errstate(all="raise"):
        aimed = ik.aim(**ref.spoiled(joint, name, bad))
    assert aimed.status[4] == Status.NOT_FINITE
    assert_allclose(aimed.delta[4], NO_TURN, rtol=0, atol=0)
    others = np.arange(9) != 4
    assert aimed.delta[others].tobytes() == good.delta[others].tobytes()


def test_no_axis_is_no_length(isa: str) -> None:
    with pytest.raises(ik.UnusableError, match="NO_LENGTH"):
        ik.aim([0, 0, 0], NO_TURN, [1, 0, 0], forward=[0, 0, 0], strict=True)


def test_a_rotation_of_no_length_is_none(isa: str) -> None:
    assert_allclose(ik.aim([0, 0, 0], [0, 0, 0, 0], X, forward=X).delta, NO_TURN, rtol=0, atol=0)


def test_every_instruction_set_gives_the_same_bytes(dtype: Any, isa: str) -> None:
    ik._core.use_isa("scalar")
    joint = random(dtype, 333) | {"twist": np.linspace(-4, 4, 333), "influence": np.linspace(0, 1.2, 333)}
    expected = ik.aim(**joint)
    ik._core.use_isa(isa)
    for count in (0, 1, 2, 15, 16, 17, 333):
        aimed = ik.aim(**{name: value[:count] for name, value in joint.items()})
        assert aimed.delta.tobytes() == expected.delta[:count].tobytes()
        assert aimed.error.tobytes() == expected.error[:count].tobytes()
        assert aimed.status.tobytes() == expected.status[:count].tobytes()


def test_up_and_pole_go_together() -> None:
    with pytest.raises(ValueError, match="up and pole: expected both or neither, got one"):
        ik.aim([0, 0, 0], NO_TURN, [1, 0, 0], forward=X, up=Y)


def test_shapes_broadcast_and_are_named() -> None:
    aimed = ik.aim(np.zeros((4, 1, 3)), NO_TURN, np.ones((5, 3)), forward=X, workers=2)
    assert aimed.delta.shape == (4, 5, 4)
    assert aimed.summary().startswith("20 of 20 joints reached")
    with pytest.raises(ValueError, match=r"rotation: expected an array of shape \(\.\.\., 4\), got shape \(3,\)"):
        ik.aim([0, 0, 0], [1, 0, 0], [1, 0, 0], forward=X)
