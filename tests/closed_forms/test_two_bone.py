"""two_bone: the forward check, an independent solver, degenerate input, and the Python face."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from limbs import (
    COUNT,
    TOLERANCE,
    Inputs,
    Pose,
    check,
    checked,
    directions,
    limbs,
    limbs_at_origin,
    posed,
    solve,
    solve_quietly,
)
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import ArrayLike, NDArray
from reference import multiply, norm, rotate, unit

import ikcore as ik
from ikcore import _core

FAR, NEAR, POLE = ik.Status.TOO_FAR, ik.Status.TOO_NEAR, ik.Status.POLE_UNDEFINED
FIELDS = ("root", "mid", "positions", "status", "error", "flip", "stretch")


def only(inputs: Inputs, *names: str) -> Inputs:
    return {name: inputs[name] for name in ("root", "mid", "end", "target", *names)}


def same_bytes(a: ik.closed_forms.LimbSolution, b: ik.closed_forms.LimbSolution) -> bool:
    return all(getattr(a, field).tobytes() == getattr(b, field).tobytes() for field in FIELDS)


def side(limb: ik.closed_forms.LimbSolution, target: ArrayLike) -> NDArray[Any]:
    """The direction in which the limb bends, at a right angle to the line from root to target."""
    positions = limb.positions.astype(np.float64)
    line = unit(np.asarray(target, np.float64) - positions[..., 0, :])
    knee = positions[..., 1, :] - positions[..., 0, :]
    return unit(knee - line * np.sum(line * knee, axis=-1, keepdims=True))


BENT: Pose = ([0, 0, 0], [0, -1, 0], [0, -1, 1])  # bends towards -y +(-z)
STRAIGHT: Pose = ([0, 0, 0], [0, -1, 0], [0, -2, 0])
SAYS = [(), ("pole",), ("bend",), ("pole", "bend")]
SAYS_IDS = ["neither", "pole", "bend", "both"]


# --- the forward check -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_random_limbs_pass_the_forward_check(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs = limbs(dtype)
    limb = checked(**{k: v for k, v in inputs.items() if k in ("root", "mid", "end", "target", *says)})
    assert {0, int(FAR), int(NEAR)} == set(limb.status.tolist())


def test_status_is_zero_exactly_when_the_error_is_within_tolerance(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=2, count=100_000)
    root, mid, end = inputs["root"], inputs["mid"], inputs["end"]
    reach = norm((mid - root).astype(np.float64)) + norm((end - mid).astype(np.float64))
    close = np.arange(len(root)) % 4 == 0  # a quarter ends within a few tolerances of the reach
    line = unit((inputs["target"] - root).astype(np.float64))
    beyond = np.random.default_rng(3).uniform(-2, 4, len(root)) * TOLERANCE[dtype]
    inputs["target"] = np.where(close[:, None], root + line * (reach * (1 + beyond))[:, None], inputs["target"])
    inputs["target"] = inputs["target"].astype(dtype)
    limb = solve(**only(inputs, "pole"))
    within = limb.error <= TOLERANCE[dtype] * reach
    assert_array_equal(limb.status == 0, within)
    assert 0.1 < np.mean(within[close]) < 0.9


# --- against the slow and obvious ------------------------------------------------------------------------------------


@pytest.mark.parametrize("says", [(), ("pole",), ("bend",)], ids=SAYS_IDS[:3])
def test_mid_and_end_are_where_the_law_of_cosines_puts_them(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs = only(limbs(dtype, seed=4, count=300, reachable=True), *says)
    limb = solve(**inputs)
    for i in range(300):
        mid, end = reference.two_bone(**{name: array[i] for name, array in inputs.items()})
        assert_allclose(limb.positions[i, 2], end, rtol=0, atol={np.float32: 1e-6, np.float64: 1e-14}[dtype] * 3)
        assert_allclose(limb.positions[i, 1], mid, rtol=0, atol={np.float32: 1e-5, np.float64: 1e-13}[dtype] * 3)


def test_floats_are_near_doubles(isa: str) -> None:
    inputs = only(limbs(np.float32, seed=5, reachable=True), "pole")
    floats = solve(**inputs)
    doubles = solve(**{name: array.astype(np.float64) for name, array in inputs.items()})
    assert_allclose(floats.positions, doubles.positions, rtol=0, atol=3e-5)
    assert_array_equal(floats.status, doubles.status)


# Worked out apart from this project: upper bone 0.45, lower 0.42, pole a point.
GOLDEN = [
    # root, target, pole, knee, ankle
    ([0, 0, 0], [0.1, -0.8, 0.05], [0, -0.4, 1], [0.042608474224, -0.407116124266, 0.186925063292], [0.1, -0.8, 0.05]),
    ([0, 0, 0], [0, -0.1, 0.3], [0, -0.4, 1], [0, -0.445766967876, 0.061577677375], [0, -0.1, 0.3]),
    ([0, 1, 0], [0.3, 0.05, 0], [0, 0.5, 1], [0.135509115572, 0.57088780069, 0], [0.261984290105, 0.170383081333, 0]),
    ([0, 0, 0], [0, 0, 0.02], [0, -0.4, 1], [0, 0, 0.45], [0, 0, 0.03]),
]


@pytest.mark.parametrize(("root", "target", "pole", "knee", "ankle"), GOLDEN)
def test_golden_limbs(root: Any, target: Any, pole: Any, knee: Any, ankle: Any, dtype: Any, isa: str) -> None:
    start = np.array(root, dtype)
    mid = start + np.array([0, -0.45, 0], dtype)
    end = mid + np.array([0.42, 0, 0], dtype)
    limb = checked(start, mid, end, target, pole=pole)
    assert_allclose(limb.positions, [root, knee, ankle], rtol=0, atol={np.float32: 1e-6, np.float64: 1e-11}[dtype])


# --- reach -----------------------------------------------------------------------------------------------------------


# bones 3 and 4, bent at a right angle: reach 7, inner reach 1, without rounding
RIGHT_ANGLE: Pose = ([0, 0, 0], [3, 0, 0], [3, 4, 0])


def test_target_exactly_at_reach_is_reached_straight(dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *RIGHT_ANGLE), [0, 0, 7], pole=[0, 1, 0])
    assert limb.status == 0
    assert_allclose(limb.positions, [[0, 0, 0], [0, 0, 3], [0, 0, 7]], rtol=0, atol=8 * np.finfo(dtype).eps)


def test_target_exactly_at_inner_reach_is_reached_folded(dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *RIGHT_ANGLE), [0, 0, 1], pole=[0, 1, 0])
    assert limb.status == 0
    assert_allclose(limb.positions, [[0, 0, 0], [0, 0, -3], [0, 0, 1]], rtol=0, atol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("says", [{}, {"pole": [0, 1, 0]}, {"bend": [0, 1, 0]}], ids=SAYS_IDS[:3])
@pytest.mark.parametrize("boundary", [7, 1])
def test_a_few_ulps_around_the_boundary_are_reached(boundary: float, says: Any, dtype: Any, isa: str) -> None:
    ulps = np.arange(-8, 9) * np.spacing(dtype(boundary))
    target = np.zeros((17, 3), dtype)
    target[:, 2] = boundary + ulps
    assert not checked(*posed(dtype, *RIGHT_ANGLE), target, **says).status.any()


def test_just_beyond_the_tolerance_is_told(dtype: Any, isa: str) -> None:
    margin = 7 * TOLERANCE[dtype]
    distances = [7 + 0.9 * margin, 7 + 1.1 * margin, 1 - 0.9 * margin, 1 - 1.1 * margin]
    target = np.array([[0, 0, distance] for distance in distances], dtype)
    limb = checked(*posed(dtype, *RIGHT_ANGLE), target, pole=[0, 1, 0])
    assert limb.status.tolist() == [0, FAR, 0, NEAR]


def test_a_limb_out_of_reach_is_straight_and_points_at_the_target(dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *RIGHT_ANGLE), [0, 0, -20], pole=[0, 1, 0])
    assert limb.status == FAR
    assert limb.error == pytest.approx(13)
    assert_allclose(limb.positions, [[0, 0, 0], [0, 0, -3], [0, 0, -7]], rtol=0, atol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("mid", "end", "knee"), [([3, 0, 0], [3, 4, 0], -3), ([4, 0, 0], [4, 3, 0], 4)])
def test_a_limb_too_near_folds_towards_the_target(mid: Any, end: Any, knee: float, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, [0, 0, 0], mid, end), [0, 0, 0.25], pole=[0, 1, 0])
    assert limb.status == NEAR
    assert limb.error == pytest.approx(0.75)
    assert_allclose(
        limb.positions, np.array([[0, 0, 0], [0, 0, knee], [0, 0, 1]]), rtol=0, atol=16 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_the_end_is_on_the_target_up_to_both_boundaries(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=6)
    root, mid, end = (inputs[name].astype(np.longdouble) for name in ("root", "mid", "end"))
    upper, lower = (np.sqrt(np.sum(bone**2, axis=-1, keepdims=True)) for bone in (mid - root, end - mid))
    ulps = np.random.default_rng(7).integers(-4, 5, (COUNT, 1)) * np.finfo(dtype).eps
    line = directions(np.random.default_rng(8))
    for distance in (upper + lower, np.abs(upper - lower)):
        inputs["target"] = (root + distance * (1 + ulps) * line).astype(dtype)
        limb = checked(**only(inputs, *says))
        assert not (limb.status & (FAR | NEAR)).any()


# --- what turns, and how ---------------------------------------------------------------------------------------------


def assert_identity(delta: NDArray[Any], atol: float) -> None:
    assert_allclose(delta, np.broadcast_to([1, 0, 0, 0], delta.shape), rtol=0, atol=atol)


@pytest.mark.parametrize("says", ["nothing", "pole", "bend"])
def test_no_motion_where_the_end_is_on_the_target(says: str, dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=9, reachable=True)
    away = inputs["mid"] + (inputs["mid"] - (inputs["root"] + inputs["end"]) / 2)
    options: Inputs = {"nothing": {}, "pole": {"pole": away}, "bend": {"bend": away - inputs["root"]}}[says]
    limb = checked(inputs["root"], inputs["mid"], inputs["end"], inputs["end"], **options)
    assert not limb.status.any()
    atol = {np.float32: 3e-5, np.float64: 3e-14}[dtype]
    assert_identity(limb.root, atol)
    assert_identity(limb.mid, atol)


def test_no_motion_of_a_straight_limb_on_its_target(dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *STRAIGHT), [0, -2, 0], pole=[0, 0, 1])
    assert limb.status == 0
    assert_identity(limb.root, 0)
    assert_identity(limb.mid, 0)


def test_the_mid_joint_turns_about_the_hinge_of_the_limb(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=10, reachable=True)
    limb = solve(**only(inputs, "pole"))
    root, mid, end = (inputs[name].astype(np.float64) for name in ("root", "mid", "end"))
    hinge = unit(np.cross(mid - root, end - mid))
    across = np.cross(limb.mid[:, 1:], hinge)
    assert np.max(norm(across)) <= {np.float32: 2e-5, np.float64: 5e-14}[dtype]
    assert np.ptp(limb.mid[:, 1]) > 0.1


def test_the_hinge_is_carried_by_the_root_and_keeps_its_sign(dtype: Any, isa: str) -> None:
    """Both bones therefore keep their twist, and no knee bends backwards."""
    inputs = limbs(dtype, seed=11, reachable=True)
    limb = solve(**only(inputs, "pole"))
    root, mid, end = (inputs[name].astype(np.float64) for name in ("root", "mid", "end"))
    hinge = rotate(limb.root, unit(np.cross(mid - root, end - mid)))
    after = limb.positions.astype(np.float64)
    normal = unit(np.cross(after[:, 1] - after[:, 0], after[:, 2] - after[:, 1]))
    assert_allclose(hinge, normal, rtol=0, atol={np.float32: 2e-5, np.float64: 5e-14}[dtype])


@pytest.mark.parametrize("says", [("pole",), ("bend",), ()], ids=["pole", "bend", "neither"])
def test_a_straight_limb_swings_without_twist(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs = only(limbs(dtype, seed=12, reachable=True), *says)
    inputs["root"] = np.zeros_like(inputs["root"])
    inputs["end"] = inputs["mid"] * dtype(2)
    inputs["target"] = unit(inputs["target"]).astype(dtype)
    limb = checked(**inputs)
    before = unit(inputs["mid"].astype(np.float64))
    after = unit(limb.positions[:, 1].astype(np.float64))
    arc = np.concatenate([1 + np.sum(before * after, axis=-1, keepdims=True), np.cross(before, after)], axis=-1)
    assert_allclose(limb.root, unit(arc), rtol=0, atol={np.float32: 1e-4, np.float64: 1e-12}[dtype])


# --- which way it bends ----------------------------------------------------------------------------------------------


def test_pole_is_a_point(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=13, reachable=True)
    limb = solve(**only(inputs, "pole"))
    pole, root = inputs["pole"].astype(np.float64), inputs["root"].astype(np.float64)
    line = unit(inputs["target"] - root)
    wanted = unit((pole - root) - line * np.sum(line * (pole - root), axis=-1, keepdims=True))
    assert_allclose(side(limb, inputs["target"]), wanted, rtol=0, atol={np.float32: 1e-4, np.float64: 1e-12}[dtype])


def test_bend_is_a_direction(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=14, reachable=True)
    limb = solve(**only(inputs, "bend"))
    bend, root = inputs["bend"].astype(np.float64), inputs["root"].astype(np.float64)
    line = unit(inputs["target"] - root)
    wanted = unit(bend - line * np.sum(line * bend, axis=-1, keepdims=True))
    assert_allclose(side(limb, inputs["target"]), wanted, rtol=0, atol={np.float32: 1e-4, np.float64: 1e-12}[dtype])


def test_bend_may_have_any_length(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=15, reachable=True)
    powers = dtype(2) ** np.random.default_rng(16).integers(-90, 90, (COUNT, 1)).astype(dtype)
    longer = {**inputs, "bend": inputs["bend"] * powers}
    assert same_bytes(solve(**only(inputs, "bend")), solve(**only(longer, "bend")))


def test_pole_wins_over_bend(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=17)
    assert same_bytes(solve(**only(inputs, "pole")), solve(**only(inputs, "pole", "bend")))


POLES_ON_THE_LINE = {
    "between": [0, -0.7, 0],
    "behind": [0, 3, 0],
    "beyond": [0, -5, 0],
    "at the root": [0, 0, 0],
    "at the target": [0, -1.5, 0],
}


@pytest.mark.parametrize("pole", POLES_ON_THE_LINE.values(), ids=POLES_ON_THE_LINE)
def test_bend_speaks_where_the_pole_is_on_the_line(pole: Any, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *BENT), [0, -1.5, 0], pole=pole, bend=[1, 0, 0])
    assert_allclose(side(limb, [0, -1.5, 0]), [1, 0, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("pole", POLES_ON_THE_LINE.values(), ids=POLES_ON_THE_LINE)
def test_a_bend_that_speaks_for_the_pole_does_not_hide_that(pole: Any, dtype: Any, isa: str) -> None:
    limb = solve(*posed(dtype, *BENT), [0, -1.5, 0], pole=pole, bend=[1, 0, 0])
    assert limb.status == POLE


@pytest.mark.parametrize("pole", POLES_ON_THE_LINE.values(), ids=POLES_ON_THE_LINE)
def test_the_limb_keeps_its_bend_where_the_pole_is_on_the_line(pole: Any, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, [0, 0, 0], [1, -1, 0], [0, -2, 0]), [0, -1.5, 0], pole=pole)
    assert_allclose(side(limb, [0, -1.5, 0]), [1, 0, 0], rtol=0, atol=1e-6)
    assert limb.status == POLE


@pytest.mark.parametrize("bend", [[0, 0, 0], [0, 1, 0], [0, -1e-9, 0]], ids=["zero", "back", "along"])
def test_the_limb_keeps_its_bend_where_the_direction_is_on_the_line(bend: Any, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, [0, 0, 0], [1, -1, 0], [0, -2, 0]), [0, -1.5, 0], bend=bend)
    assert_allclose(side(limb, [0, -1.5, 0]), [1, 0, 0], rtol=0, atol=1e-6)
    assert limb.status == POLE


def test_the_present_bend_is_carried_along_by_the_shortest_arc(isa: str) -> None:
    # the chord turns from -y to +z about -x; the bend is along x and stays
    limb = checked([0, 0, 0], [1, -1, 0], [0, -2, 0], [0, 0, 1.5])
    assert_allclose(side(limb, [0, 0, 1.5]), [1, 0, 0], rtol=0, atol=1e-12)
    # and from -y to +x about z: the bend along x becomes +y
    limb = checked([0, 0, 0], [1, -1, 0], [0, -2, 0], [1.5, 0, 0])
    assert_allclose(side(limb, [1.5, 0, 0]), [0, 1, 0], rtol=0, atol=1e-12)


def test_a_bent_limb_asked_for_nothing_has_nothing_to_say(dtype: Any, isa: str) -> None:
    assert not solve(**only(limbs(dtype, seed=18, reachable=True))).status.any()


@pytest.mark.parametrize("options", [{}, {"pole": [0, -5, 0]}, {"bend": [0, 1, 0]}])
def test_a_straight_limb_without_direction_bends_somewhere_and_says_so(options: Any, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *STRAIGHT), [0, -1.5, 0], **options)
    assert limb.status == POLE
    assert limb.positions[1, 1] == pytest.approx(-0.75)


def test_anywhere_is_always_the_same_way(dtype: Any, isa: str) -> None:
    straight = posed(dtype, *STRAIGHT)
    first = solve(*straight, [0, -1.5, 0])
    moved = solve(*(point + dtype(8) for point in straight), [8, 6.5, 8])
    other = solve(*straight, [0, -1.5, 0], pole=[0, 1, 0], bend=[0, 0, 0])
    assert_array_equal(first.root, moved.root)
    assert_array_equal(first.root, other.root)


def test_pole_and_bend_are_chosen_item_by_item(dtype: Any, isa: str) -> None:
    pole = [[0, 0, 5], [0, -5, 0], [0, -5, 0]]
    bend = [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    limb = checked(*posed(dtype, *BENT), [0, -1.5, 0], pole=pole, bend=bend)
    expected = [[0, 0, 1], [1, 0, 0], [0, 0, -1]]
    assert_allclose(side(limb, [0, -1.5, 0]), expected, rtol=0, atol=1e-6)


# --- degenerate input ------------------------------------------------------------------------------------------------


TINY, HUGE = 2.0**-40, 2.0**40
POINTS = {
    "root": [0, 0, 0],
    "end": [0, -1, 1],
    "mid": [0, -1, 0],
    "ahead": [0, -0.5, 0.5],
    "at reach": [0, 0, 2],
    "beyond": [0, -9, 9],
    "behind": [0, 1, -1],
    "a hair off the root": [0, TINY, 0],
    "a hair behind": [TINY, 1, -1],
    "very far": [HUGE, 0, -HUGE],
}
POSES: dict[str, Any] = {
    "bent": BENT,
    "straight": ([0, 0, 0], [0, -0.5, 0.5], [0, -1, 1]),
    "folded": ([0, 0, 0], [0, -1, 0], [0, 0, 0]),
    "folded, not equal": ([0, 0, 0], [0, -1, 0], [0, -0.5, 0]),
    "nearly folded": ([0, 0, 0], [0.7, -0.6, -0.1], [1e-12, -2e-13, -2e-12]),
    "nearly straight": ([0, 0, 0], [0, -1, 1e-9], [0, -2, 0]),
    "no first bone": ([0, 0, 0], [0, 0, 0], [0, -1, 1]),
    "no second bone": ([0, 0, 0], [0, -1, 1], [0, -1, 1]),
    "long and short": ([0, 0, 0], [0, -1, 0], [0, -1, 1e-8]),
    "short and long": ([0, 0, 0], [0, 1e-8, 0], [0, -1, 1]),
}
POLES: list[dict[str, Any]] = [
    {},
    {"pole": [0, 0, 1]},
    {"pole": [0, 0, 0]},
    {"pole": [0, -1, 1]},
    {"bend": [0, 1, -1]},
    {"bend": [0, 0, 0]},
    {"pole": [0, 1, -1], "bend": [TINY, 0, 0]},
]


@pytest.mark.drawn(100)
@pytest.mark.parametrize("target", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("pose", POSES.values(), ids=POSES)
def test_every_degenerate_pose_and_target_has_an_answer(pose: Any, target: Any, dtype: Any, isa: str) -> None:
    for pole in POLES:
        checked(*posed(dtype, *pose), target, **pole)


def test_every_limb_on_a_coarse_grid_has_an_answer(dtype: Any, isa: str) -> None:
    """All straight, folded, collapsed and coinciding cases at once: every coordinate is -1, 0 or 1."""
    points = np.array(list(product([-1, 0, 1], repeat=3)), dtype)
    mid, end, target, pole, bend = points[np.random.default_rng(19).integers(0, 27, (5, 20_000))]
    some = mid.any(axis=-1) | end.any(axis=-1)
    for options in ({}, {"pole": pole[some]}, {"bend": bend[some]}, {"pole": pole[some], "bend": bend[some]}):
        checked(np.zeros(3, dtype), mid[some], end[some], target[some], **options)


def test_a_target_on_the_root_is_approached_along_the_old_line(dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *RIGHT_ANGLE), [0, 0, 0], pole=[9, 0, 0])
    assert limb.status == NEAR
    assert_allclose(limb.positions[2], [0.6, 0.8, 0], rtol=0, atol=1e-6)


def test_equal_bones_fold_onto_the_root(dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *BENT), [0, 0, 0], pole=[0, -9, 0])
    assert limb.status == 0
    assert norm(limb.positions[1].astype(np.float64)) == pytest.approx(1)


@pytest.mark.parametrize("direction", [1, -1], ids=["towards", "away"])
def test_a_straight_limb_reaches_along_its_own_line(direction: int, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *STRAIGHT), [0, -1.5 * direction, 0], pole=[0, 0, 3])
    assert limb.status == 0
    assert_allclose(side(limb, [0, -1.5 * direction, 0]), [0, 0, 1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("direction", [1, -1], ids=["towards", "away"])
def test_a_straight_limb_out_of_reach_along_its_own_line(direction: int, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, *STRAIGHT), [0, -5 * direction, 0])
    assert limb.status & FAR
    assert_allclose(limb.positions[2], [0, -2 * direction, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("mid", [[0, 0, 0], [0, -2, 0]], ids=["first", "second"])
@pytest.mark.parametrize(
    ("target", "flag"), [([2, 0, 0], 0), ([3, 0, 0], FAR), ([1, 0, 0], NEAR)], ids=["at reach", "far", "near"]
)
def test_one_bone_of_no_length_leaves_one_bone(mid: Any, target: Any, flag: int, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, [0, 0, 0], mid, [0, -2, 0]), target, pole=[0, 0, 1])
    assert limb.status & ~POLE == flag
    assert_allclose(limb.positions[2], [2, 0, 0], rtol=0, atol=1e-6)


def test_a_limb_of_no_length_keeps_its_pose(dtype: Any, isa: str) -> None:
    point = np.array([1, 2, 3], dtype)
    limb = solve_quietly(point, point, point, [1, 2, 5], pole=[0, 0, 1])
    assert limb.status == ik.Status.NO_LENGTH
    assert limb.error == 2
    assert_identity(limb.root, 0)
    assert_identity(limb.mid, 0)
    assert_array_equal(limb.positions, [point] * 3)


@pytest.mark.parametrize("says", [{}, {"pole": [3, 2, 1]}, {"bend": [3, 2, 1]}], ids=SAYS_IDS[:3])
def test_a_folded_limb_opens_in_every_direction(says: Any, dtype: Any, isa: str) -> None:
    """The end is on the root: there is no old line to carry the bend from."""
    corners = np.array([c for c in product([-1, 0, 1], repeat=3) if any(c)], dtype)
    root = np.zeros(3, dtype)
    checked(root, corners[:, None], root, corners, **says)


@pytest.mark.parametrize("says", [{}, {"pole": [1, 0, 0]}, {"bend": [1, 0, 0]}], ids=SAYS_IDS[:3])
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_a_bone_lost_in_the_rounding_of_the_other(first: bool, says: Any, dtype: Any, isa: str) -> None:
    """1 + ratio == ratio: to the limb, the short bone has no length; to the sum of squares, far less."""
    ratio = {np.float32: 2e7, np.float64: 1e17}[dtype]
    mid, end = ([1, 0, 0], [1, ratio, 0]) if first else ([ratio, 0, 0], [ratio, 1, 0])
    for target in ([0, 0, ratio], [0, 0, 3 * ratio], [0, ratio / 2, 0], [1, 1, 1]):
        checked(*posed(dtype, [0, 0, 0], mid, end), target, **says)


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_a_target_opposite_the_old_line(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    """Directions at which the shortest arc is nearly undefined, and at which it is."""
    inputs, random = limbs_at_origin(dtype, 21)
    hair = 10.0 ** random.uniform(-18, 0, (COUNT, 1)) * directions(random)
    hair[::10] = 0
    inputs["target"] = (-inputs["end"] * random.uniform(0.1, 1.5, (COUNT, 1)) + hair).astype(dtype)
    checked(**only(inputs, *says))


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_nearly_straight_and_nearly_folded_limbs(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs, random = limbs_at_origin(dtype, 23)
    hair = 10.0 ** random.uniform(-18, 0, (COUNT, 1)) * directions(random)
    ratio = random.uniform(0.1, 2, (COUNT, 1)) * random.choice([-1, 1], (COUNT, 1))
    inputs["end"] = (inputs["mid"] * (1 + ratio) + hair).astype(dtype)
    checked(**only(inputs, *says))


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_an_end_near_the_root(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    """Equal bones folded onto each other: the old line from root to end is very short."""
    inputs, random = limbs_at_origin(dtype, 25)
    inputs["end"] = (10.0 ** random.uniform(-18, 0, (COUNT, 1)) * directions(random)).astype(dtype)
    checked(**only(inputs, *says))


@pytest.mark.parametrize("says", SAYS[1:], ids=SAYS_IDS[1:])
def test_a_pole_near_the_line(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=27)
    random = np.random.default_rng(28)
    line = inputs["target"] - inputs["root"]
    for name, start in (("pole", inputs["root"]), ("bend", np.zeros(3))):
        hair = 10.0 ** random.uniform(-18, 0, (COUNT, 1)) * directions(random)
        inputs[name] = (start + line * random.uniform(-3, 3, (COUNT, 1)) + hair).astype(dtype)
    checked(**only(inputs, *says))


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_bones_of_very_different_length(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs, random = limbs_at_origin(dtype, 29)
    ratio = 10.0 ** random.uniform(-8, 8, (COUNT, 1))
    inputs["end"] = (inputs["mid"] + ratio * directions(random)).astype(dtype)
    inputs["target"] = (np.maximum(ratio, 1) * random.uniform(0, 2, (COUNT, 1)) * directions(random)).astype(dtype)
    checked(**only(inputs, *says))


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_tiny_and_huge_limbs(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=31)
    limit = {np.float32: 18, np.float64: 150}[dtype]
    scale = 10.0 ** np.random.default_rng(32).uniform(-limit, limit, (COUNT, 1))
    inputs = {name: (array * scale).astype(dtype) for name, array in inputs.items()}
    checked(**only(inputs, *says))


@pytest.mark.parametrize("says", SAYS[1:], ids=SAYS_IDS[1:])
def test_everything_of_its_own_scale(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    random = np.random.default_rng(33)
    limit = {np.float32: 18, np.float64: 150}[dtype]
    scale = 10.0 ** random.uniform(-limit, limit, (5, COUNT, 1))
    first, second, target, pole, bend = (scale * [directions(random) for _ in range(5)]).astype(dtype)
    options = {name: array for name, array in (("pole", pole), ("bend", bend)) if name in says}
    checked(np.zeros(3, dtype), first, first + second, target, **options)


def test_far_from_the_origin(dtype: Any, isa: str) -> None:
    inputs = {name: array + dtype(1000) for name, array in limbs(dtype, seed=34).items()}
    checked(**only(inputs, "pole"))


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
def test_denormal_limbs_are_solved_or_said_to_be_unusable(says: tuple[str, ...], dtype: Any, isa: str) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    inputs = {name: np.round(array * 9).astype(dtype) * tiny for name, array in limbs(dtype, seed=35).items()}
    limb = solve_quietly(**only(inputs, *says))
    usable = limb.status < _core.UNUSABLE
    assert usable.mean() > 0.9
    assert np.isfinite(limb.positions).all()
    reached = limb.status == 0
    assert (np.abs(limb.positions[reached, 2] - inputs["target"][reached]) <= 4 * tiny).all()


# --- not finite ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["root", "mid", "end", "target", "pole", "bend"])
def test_a_bad_number_stays_in_its_own_item(name: str, value: float, dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=36, count=67)
    clean = solve(**inputs)
    inputs[name] = inputs[name].copy()
    inputs[name][13, 1] = value
    limb = solve_quietly(**inputs)
    assert limb.status[13] == ik.Status.NOT_FINITE
    assert np.isnan(limb.error[13])
    assert_identity(limb.root[13], 0)
    assert_identity(limb.mid[13], 0)
    assert_array_equal(limb.positions[13], [inputs[joint][13] for joint in ("root", "mid", "end")])
    others = np.arange(67) != 13
    for field in FIELDS:
        assert getattr(limb, field)[others].tobytes() == getattr(clean, field)[others].tobytes()


@pytest.mark.parametrize("place", range(3))
def test_a_pose_too_large_to_compute_with_is_returned(place: int, dtype: Any, isa: str) -> None:
    pose = np.array(BENT, dtype)
    pose[place] = np.finfo(dtype).max
    pose[(place + 1) % 3] = -np.finfo(dtype).max
    limb = solve_quietly(*pose, [0, 0, 1], pole=[0, 0, 1])
    assert limb.status == ik.Status.NOT_FINITE
    assert np.isnan(limb.error)
    assert_identity(limb.root, 0)
    assert_array_equal(limb.positions, pose)


@pytest.mark.parametrize("name", ["target", "pole", "bend"])
def test_a_huge_target_pole_or_bend_is_solved_or_said_to_be_too_large(name: str, dtype: Any, isa: str) -> None:
    largest = np.finfo(dtype).max
    for size in (largest, largest / 2, largest / 8, largest / 1024):
        options: Inputs = {"target": [0, -1.5, 0.1], "pole": [0, 0, 1], name: np.array([size, -size, size], dtype)}
        limb = solve_quietly(*posed(dtype, *BENT), **options)
        assert np.isfinite(limb.positions).all()
        if limb.status < _core.UNUSABLE:
            check(limb, *BENT, options["target"])
        else:
            assert limb.status == ik.Status.NOT_FINITE
            assert size > largest / 8


def test_nan_in_a_limb_of_no_length_is_unusable(dtype: Any, isa: str) -> None:
    limb = solve_quietly(*posed(dtype, *[[1, 1, 1]] * 3), [np.nan, 0, 0])
    assert limb.status >= _core.UNUSABLE
    assert_array_equal(limb.positions, np.ones((3, 3)))


def test_unusable_items_warn_once_and_are_counted() -> None:
    target = np.array([[0, -1, 1], [np.nan, 0, 0], [0, np.inf, 0]])
    with pytest.warns(ik.UnusableWarning, match="two_bone: 2 of 3 items cannot be used: 2 NOT_FINITE") as caught:
        ik.two_bone(*BENT, target)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_strict_raises_instead() -> None:
    with pytest.raises(ik.UnusableError, match="two_bone: 1 of 2 items cannot be used: 1 NOT_FINITE"):
        ik.two_bone(*BENT, np.array([[0, -1, 1], [np.nan, 0, 0]]), strict=True)


def test_strict_lets_notable_items_pass() -> None:
    assert ik.two_bone(*BENT, [0, -9, 9], strict=True).status == FAR


# --- properties ------------------------------------------------------------------------------------------------------


some_examples = settings(max_examples=12, deadline=None, database=None)
seeds = st.integers(0, 2**32 - 1)


def mixed(dtype: Any, seed: int) -> Inputs:
    """Half ordinary limbs, half on a coarse grid where everything coincides with something."""
    inputs = limbs(dtype, seed, 64)
    coarse = np.random.default_rng(seed).integers(-2, 3, (6, 32, 3)).astype(dtype) / 2
    for array, grid in zip(inputs.values(), coarse, strict=True):
        array[::2] = grid
    return inputs


@pytest.mark.parametrize("says", SAYS, ids=SAYS_IDS)
@some_examples
@given(seed=seeds, power=st.integers(-300, 300))
def test_a_power_of_two_scales_positions_and_error_bit_for_bit(
    says: tuple[str, ...], dtype: Any, isa: str, seed: int, power: int
) -> None:
    inputs = only(mixed(dtype, seed), *says)
    scale = dtype(2.0 ** (power // 8 if dtype is np.float32 else power))
    plain = solve_quietly(**inputs)
    scaled = solve_quietly(**{name: array * scale for name, array in inputs.items()})
    assert scaled.status.tobytes() == plain.status.tobytes()
    assert scaled.root.tobytes() == plain.root.tobytes()
    assert scaled.mid.tobytes() == plain.mid.tobytes()
    assert scaled.positions.tobytes() == (plain.positions * scale).tobytes()
    assert scaled.error.tobytes() == (plain.error * scale).tobytes()


@pytest.mark.parametrize("says", [(), ("pole",), ("bend",)], ids=SAYS_IDS[:3])
@some_examples
@given(seed=seeds)
def test_turning_the_world_turns_the_result(says: tuple[str, ...], dtype: Any, isa: str, seed: int) -> None:
    inputs = only(limbs(np.float64, seed, 64, reachable=True), *says)
    lines = unit(inputs["end"] - inputs["root"]), unit(inputs["target"] - inputs["root"])
    tame = np.sum(lines[0] * lines[1], axis=-1) > -0.9  # the shortest arc between opposite lines is anyone's
    knees = np.linalg.norm(np.cross(lines[0], inputs["mid"] - inputs["root"]), axis=-1)
    tame &= knees > 0.02  # and of one on the line rounding decides where it bends to
    inputs = {name: array[tame] for name, array in inputs.items()}
    world = unit(np.random.default_rng(seed).standard_normal(4))
    plain = solve(**{name: array.astype(dtype) for name, array in inputs.items()})
    turned = solve(**{name: rotate(world, array).astype(dtype) for name, array in inputs.items()})
    atol = {np.float32: 1e-4, np.float64: 1e-12}[dtype]
    assert_array_equal(turned.status, plain.status)
    assert_allclose(turned.positions, rotate(world, plain.positions), rtol=0, atol=atol)
    back = multiply(multiply(reference.conjugate(world), turned.mid), world)
    assert_allclose(np.abs(np.sum(back * plain.mid, axis=-1)), 1, rtol=0, atol=atol)


@some_examples
@given(seed=seeds)
def test_moving_the_world_moves_the_result(dtype: Any, isa: str, seed: int) -> None:
    """Bit for bit, on coordinates that sum without rounding."""
    random = np.random.default_rng(seed)
    names = ("root", "mid", "end", "target", "pole")
    inputs = dict(zip(names, (random.integers(-64, 65, (5, 64, 3)) / 32).astype(dtype), strict=True))
    move = (random.integers(-64, 65, 3) / 8).astype(dtype)
    plain, moved = solve_quietly(**inputs), solve_quietly(**{name: array + move for name, array in inputs.items()})
    for field in ("root", "mid", "status", "error"):
        assert getattr(moved, field).tobytes() == getattr(plain, field).tobytes()
    assert_allclose(moved.positions, plain.positions + move, rtol=0, atol=32 * np.finfo(dtype).eps)


@pytest.mark.parametrize("says", [(), ("pole",), ("bend",)], ids=SAYS_IDS[:3])
@some_examples
@given(seed=seeds)
def test_solving_the_solved_changes_nothing(says: tuple[str, ...], dtype: Any, isa: str, seed: int) -> None:
    inputs = only(limbs(dtype, seed, 64, reachable=True), *says)
    once = solve(**inputs)
    again = solve(**{**inputs, **dict(zip(("root", "mid", "end"), np.moveaxis(once.positions, 1, 0), strict=True))})
    atol = {np.float32: 1e-4, np.float64: 1e-12}[dtype]
    assert_allclose(again.positions, once.positions, rtol=0, atol=atol)
    assert_identity(again.root, atol)
    assert_identity(again.mid, atol)


@some_examples
@given(seed=seeds)
def test_permuting_the_batch_permutes_the_result(dtype: Any, isa: str, seed: int) -> None:
    inputs = mixed(dtype, seed)
    order = np.random.default_rng(seed).permutation(64)
    whole = solve_quietly(**inputs)
    permuted = solve_quietly(**{name: array[order] for name, array in inputs.items()})
    for field in FIELDS:
        assert getattr(permuted, field).tobytes() == getattr(whole, field)[order].tobytes()


@settings(some_examples, max_examples=4)
@given(seed=seeds)
def test_a_batch_is_the_loop_of_its_items(dtype: Any, isa: str, seed: int) -> None:
    inputs = mixed(dtype, seed)
    whole = solve_quietly(**inputs)
    for i in range(64):
        single = solve_quietly(**{name: array[i] for name, array in inputs.items()})
        for field in FIELDS:
            assert getattr(single, field).tobytes() == getattr(whole, field)[i].tobytes()


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_one_limb_has_no_leading_axes(dtype: Any) -> None:
    limb = ik.two_bone(*posed(dtype, *BENT), [0, -1, 0.5])
    shapes = [np.shape(getattr(limb, field)) for field in FIELDS]
    assert shapes == [(4,), (4,), (3, 3), (), (), (), ()]
    dtypes = [getattr(limb, field).dtype for field in FIELDS]
    assert dtypes == [dtype, dtype, dtype, np.int32, dtype, dtype, dtype]


def test_leading_axes_broadcast() -> None:
    inputs = limbs(np.float64, seed=37, count=12)
    target = inputs["target"].reshape(4, 3, 3)
    pole = inputs["pole"][:4, None]
    limb = ik.two_bone(inputs["root"][0], inputs["mid"][:3], inputs["end"][:1], target, pole=pole)
    assert limb.positions.shape == (4, 3, 3, 3)
    for i, j in product(range(4), range(3)):
        one = ik.two_bone(inputs["root"][0], inputs["mid"][j], inputs["end"][0], target[i, j], pole=pole[i, 0])
        for field in FIELDS:
            assert_array_equal(getattr(limb, field)[i, j], getattr(one, field))


def test_pole_and_bend_alone_make_a_batch() -> None:
    assert ik.two_bone(*BENT, [0, -1, 0.5], pole=np.ones((5, 3))).status.shape == (5,)
    assert ik.two_bone(*BENT, [0, -1, 0.5], bend=np.ones((2, 1, 3))).status.shape == (2, 1)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0)])
def test_empty_batches(shape: tuple[int, ...], dtype: Any, isa: str) -> None:
    limb = solve(*posed(dtype, *BENT), np.empty((*shape, 3)), pole=[0, 0, 1])
    assert limb.status.shape == shape
    assert limb.positions.shape == (*shape, 3, 3)
    assert limb.positions.dtype == dtype
    assert limb.summary().startswith("0 of 0 limbs")


def spaced(array: NDArray[Any]) -> NDArray[Any]:
    wide = np.full((2 * array.shape[0], 5), np.nan, array.dtype)
    wide[::2, 1:4] = array
    return wide[::2, 1:4]


def unaligned(array: NDArray[Any]) -> NDArray[Any]:
    room = np.zeros(array.nbytes + 1, np.uint8)
    view = room[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Any] = {
    "strided": spaced,
    "reversed rows": lambda array: array[::-1].copy()[::-1],
    "reversed numbers": lambda array: array[:, ::-1].copy()[:, ::-1],
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "unaligned": unaligned,
    "lists": lambda array: array.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_layout_of_the_input_does_not_matter(layout: Any, dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=38, count=131)
    if layout is LAYOUTS["lists"] and dtype is np.float32:
        return  # lists are doubles
    laid_out = {name: layout(array) for name, array in inputs.items()}
    assert same_bytes(solve(**laid_out), solve(**inputs))


def test_inputs_are_not_written() -> None:
    inputs = limbs(np.float64, seed=39, count=33)
    before = pickle.dumps(inputs)
    ik.two_bone(**inputs)
    assert pickle.dumps(inputs) == before


# --- types -----------------------------------------------------------------------------------------------------------


def test_the_pose_decides_the_type() -> None:
    pose = posed(np.float32, *BENT)
    limb = ik.two_bone(*pose, np.array([0, -1, 0.5]), pole=[0.0, 0.0, 1.0], bend=np.array([0, 1, 0]))
    assert limb.positions.dtype == limb.error.dtype == limb.root.dtype == np.float32
    assert ik.two_bone(*pose[:2], np.array(BENT[2], float), [0, -1, 0.5]).error.dtype == np.float64


@pytest.mark.parametrize(
    ("number", "becomes"),
    [
        *[(np.float16, np.float32), (">f4", np.float32), (">f8", np.float64), (np.longdouble, np.float64)],
        *[(np.int8, np.float64), (np.uint64, np.float64), (np.bool_, np.float64)],
    ],
)
def test_other_numbers_become_floats_or_doubles(number: Any, becomes: Any) -> None:
    pose = posed(number, [0, 0, 0], [0, 1, 0], [0, 1, 1])
    limb = ik.two_bone(*pose, [0, 1, 0.5])
    assert limb.positions.dtype == becomes
    assert_allclose(limb.positions[2], [0, 1, 0.5], rtol=0, atol=1e-6)


def test_python_numbers_are_doubles() -> None:
    assert ik.two_bone([0, 0, 0], (0, 1, 0), [0.0, 1, 1], [0, 1, 0]).error.dtype == np.float64


def test_a_target_too_large_for_the_pose_is_not_finite() -> None:
    with pytest.warns(ik.UnusableWarning, match="1 NOT_FINITE") as caught:
        limb = solve(*posed(np.float32, *BENT), np.array([0, 1e300, 0]))
    assert limb.status == ik.Status.NOT_FINITE
    assert len(caught) == 1


def test_a_number_too_small_for_the_pose_is_zero() -> None:
    limb = solve(*posed(np.float32, *BENT), np.array([1e-300, -1, 1]), pole=[0, -9, 1e-310])
    assert limb.status == 0


# --- out= ------------------------------------------------------------------------------------------------------------


def test_out_is_written_and_returned(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=40, count=37)
    out = ik.closed_forms.LimbSolution.empty(37, dtype)
    assert solve(**inputs, out=out) is out
    assert same_bytes(out, solve(**inputs))


def test_empty_limbs_have_the_shapes_and_types_of_a_result(dtype: Any) -> None:
    result = ik.two_bone(*posed(dtype, *BENT), np.ones((2, 5, 3)))
    out = ik.closed_forms.LimbSolution.empty((2, 5), dtype)
    for field in FIELDS:
        assert getattr(out, field).shape == getattr(result, field).shape
        assert getattr(out, field).dtype == getattr(result, field).dtype
    assert ik.closed_forms.LimbSolution.empty(()).positions.shape == (3, 3)
    assert ik.closed_forms.LimbSolution.empty(7).error.dtype == np.float64


def test_out_may_be_strided(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=41, count=37)
    full = ik.closed_forms.LimbSolution.empty((37, 2), dtype)
    half = ik.closed_forms.LimbSolution(*(getattr(full, field)[::-1, 1] for field in FIELDS))
    solve(**inputs, out=half)
    plain = solve(**inputs)
    for field in FIELDS:
        assert_array_equal(getattr(half, field), getattr(plain, field))


def test_out_may_be_the_input(dtype: Any, isa: str) -> None:
    inputs = limbs(dtype, seed=42, count=37)
    plain = solve(**inputs)
    out = ik.closed_forms.LimbSolution.empty(37, dtype)
    for k, name in enumerate(("root", "mid", "end")):
        out.positions[:, k] = inputs[name]
        inputs[name] = out.positions[:, k]
    solve(**inputs, out=out)
    assert same_bytes(out, plain)


@pytest.mark.parametrize("field", FIELDS)
def test_out_that_is_read_only_is_refused(field: str) -> None:
    out = ik.closed_forms.LimbSolution.empty(())
    getattr(out, field).flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ik.two_bone(*BENT, [0, -1, 0.5], out=out)


def test_out_of_integers_is_refused() -> None:
    with pytest.raises(TypeError):
        ik.two_bone(*BENT, [0, -1, 0.5], out=ik.closed_forms.LimbSolution.empty((), np.int64))


def test_out_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(5,"):
        ik.two_bone(*BENT, np.ones((5, 3)), out=ik.closed_forms.LimbSolution.empty(4))


def test_out_that_is_no_limb_is_refused() -> None:
    with pytest.raises(TypeError, match=r"out: expected .*Limb.*ndarray"):
        ik.two_bone(*BENT, [0, -1, 0.5], out=np.zeros((3, 3)))  # type: ignore[arg-type]


# --- wrong input -----------------------------------------------------------------------------------------------------


ARGUMENTS = ("root", "mid", "end", "target", "pole", "bend")


def call(name: str, value: Any) -> ik.closed_forms.LimbSolution:
    given = dict(zip(ARGUMENTS, (*BENT, [0, -1, 0.5], [0, 0, 1], [0, 0, 1]), strict=True))
    return ik.two_bone(**{**given, name: value})


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("shape", [(), (2,), (4,), (3, 1), (5, 2), (0,)])
def test_a_wrong_shape_is_named(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: expected .*\(\.\.\., 3\).*, got shape \({str(shape)[1:-1]}\)$"):
        call(name, np.zeros(shape))


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize(
    ("value", "came"),
    [
        ([1j, 0, 0], "complex128"),
        (["a", "b", "c"], r"\['a', 'b', 'c'\]"),
        ([None, 0, 0], r"\[None, 0, 0\]"),
        (np.zeros(3, "m8[s]"), "timedelta64"),
    ],
)
def test_a_wrong_type_is_named(name: str, value: Any, came: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: expected real numbers, got {came}"):
        call(name, value)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_ragged_rows_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected .*rows of different lengths"):
        call(name, [[0, 0, 0], [0, 0]])


@pytest.mark.parametrize("name", ["root", "mid", "end", "target"])
def test_none_is_no_position(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: expected"):
        call(name, None)


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ValueError, match=r"root.*\(2, 3\).*target.*\(5, 3\)"):
        ik.two_bone(np.zeros((2, 3)), [0, 1, 0], [0, 1, 1], np.zeros((5, 3)))


def test_options_are_keywords() -> None:
    with pytest.raises(TypeError, match="positional"):
        ik.two_bone(*BENT, [0, -1, 0.5], [0, 0, 1])  # type: ignore[call-arg]


@pytest.mark.parametrize("dtype", [int, np.float16])
def test_empty_limbs_are_of_numbers_the_solver_has(dtype: Any) -> None:
    with pytest.raises(TypeError, match="dtype: expected float32 or float64, got"):
        ik.closed_forms.LimbSolution.empty(2, dtype)


@pytest.mark.parametrize("workers", [2.5, -1.5, "2"])
def test_workers_are_a_whole_number(workers: Any) -> None:
    with pytest.raises(TypeError, match="workers: expected a whole number, or None for all cores, got"):
        ik.two_bone([0, 0, 0], [0, 1, 0], [0, 2, 0], [[0, 1, 1]] * 2, workers=workers)
