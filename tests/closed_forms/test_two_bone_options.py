"""The options of two_bone: hinge, twist, influence, soften, stretch, bend limits, and the flip angle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import ikcore as ik
from ikcore import Status

HIP, KNEE, ANKLE, POLE = [0.0, 0, 0], [0, -0.45, 0.05], [0, -0.87, 0], [0, -0.4, 1]
UPPER, LOWER = float(np.hypot(0.45, 0.05)), float(np.hypot(0.42, 0.05))
REACH = UPPER + LOWER
ATOL = {np.float32: 2e-6, np.float64: 1e-14}


def leg(target: Any, dtype: Any = np.float64, **options: Any) -> ik.closed_forms.LimbSolution:
    """Solve the leg of this file and rebuild it from the deltas."""
    pose = [np.asarray(joint, dtype) for joint in (HIP, KNEE, ANKLE)]
    limb = ik.two_bone(pose[0], pose[1], pose[2], target, **{"pole": POLE, **options})
    if np.all(limb.stretch == 1):
        assert_allclose(ref.forward(limb, *pose), limb.positions, rtol=0, atol=ATOL[dtype])
    return limb


def bend_of(limb: ik.closed_forms.LimbSolution) -> Any:
    """The angle between the bones, 0 = straight."""
    bones = np.diff(limb.positions, axis=-2)
    across = np.linalg.norm(np.cross(bones[..., 0, :], bones[..., 1, :]), axis=-1)
    return np.arctan2(across, np.sum(bones[..., 0, :] * bones[..., 1, :], axis=-1))


def reach_of(limb: ik.closed_forms.LimbSolution) -> NDArray[Any]:
    return np.asarray(np.linalg.norm(limb.positions[..., 2, :] - limb.positions[..., 0, :], axis=-1))


def down(distance: Any) -> Any:
    """Targets straight below the hip."""
    return np.asarray(distance)[..., None] * np.array([0, -1, 0])


# Every option at its default must not change a bit.
DEFAULTS = {
    "twist": 0,
    "influence": 1,
    "soften": 1,
    "stretch_start": 1,
    "stretch_max": 1,
    "min_bend": 0,
    "max_bend": np.pi,
}


@pytest.mark.parametrize("option", DEFAULTS)
def test_a_default_given_changes_no_bit(option: str, dtype: Any, isa: str) -> None:
    targets = np.random.default_rng(1).normal(0, 0.5, (200, 3))
    plain, given = leg(targets, dtype), leg(targets, dtype, **{option: DEFAULTS[option]})
    for field in ("root", "mid", "positions", "error", "flip", "stretch"):
        assert_allclose(getattr(given, field), getattr(plain, field), rtol=0, atol=0)
    assert (given.status == plain.status).all()


# hinge


def test_a_straight_leg_bends_as_its_hinge_says(isa: str) -> None:
    for sign in (1, -1):
        limb = ik.two_bone(HIP, [0, -1, 0], [0, -2, 0], [0, -1.5, 0], hinge=[sign, 0, 0])
        assert limb.status == 0
        assert_allclose(limb.positions[1], [0, -0.75, sign * np.sqrt(1 - 0.75**2)], rtol=0, atol=1e-14)
        # the thigh turns about the hinge alone
        assert_allclose(limb.root[[2, 3]], 0, rtol=0, atol=1e-15)
        assert_allclose(limb.mid[[2, 3]], 0, rtol=0, atol=1e-15)


def test_turning_bone_2_about_the_hinge_bends_the_limb(isa: str) -> None:
    limb = ik.two_bone(HIP, [0, -1, 0], [0, -2, 0], [0, -1.5, 0], hinge=[1, 0, 0])
    assert limb.mid[1] > 0.1


def test_a_knee_bent_backwards_is_put_right(isa: str) -> None:
    backwards = ([0, 0, 0], [0, -1, -0.1], [0, -2, 0])
    assert ik.two_bone(*backwards, [0, -1.5, 0]).positions[1, 2] < 0
    limb = ik.two_bone(*backwards, [0, -1.5, 0], hinge=[1, 0, 0])
    assert limb.positions[1, 2] > 0.5
    assert limb.status == 0


def test_a_hinge_that_agrees_changes_nothing(isa: str) -> None:
    plain, hinged = leg([0.1, -0.6, 0.1]), leg([0.1, -0.6, 0.1], hinge=[1, 0, 0])
    assert_allclose(hinged.positions, plain.positions, rtol=0, atol=1e-15)
    assert_allclose(hinged.mid, plain.mid, rtol=0, atol=1e-15)


@pytest.mark.parametrize("bend", [0.0, 1e-9, 1e-5, 9e-4, 1.1e-3])
def test_a_nearly_straight_leg_reaches_exactly_with_any_hinge(bend: float, dtype: Any, isa: str) -> None:
    pose = [np.asarray(p, dtype) for p in (HIP, [0, -1, 0], [np.sin(bend), -1 - np.cos(bend), 0])]
    limb = ik.two_bone(pose[0], pose[1], pose[2], [0.3, -1.2, 0.4], hinge=[0.5, 0.3, 1])
    assert limb.status == 0
    assert_allclose(ref.forward(limb, *pose)[2], [0.3, -1.2, 0.4], rtol=0, atol=ATOL[dtype])


def test_a_hinge_along_the_bone_says_nothing(isa: str) -> None:
    plain = ik.two_bone(HIP, [0, -1, 0], [0, -2, 0], [0, -1.5, 0])
    along = ik.two_bone(HIP, [0, -1, 0], [0, -2, 0], [0, -1.5, 0], hinge=[0, 3, 0])
    assert along.status == plain.status == Status.POLE_UNDEFINED
    assert_allclose(along.positions, plain.positions, rtol=0, atol=0)


# twist


@pytest.mark.parametrize("angle", [-3.0, -0.2, 1e-9, np.radians(15), np.pi / 2, np.pi])
def test_twist_turns_the_knee_about_the_line_and_leaves_the_tip(angle: float, dtype: Any, isa: str) -> None:
    target = np.array([0.1, -0.6, 0.3])
    plain, twisted = leg(target, dtype), leg(target, dtype, twist=angle)
    expected = ref.turn(plain.positions[1].astype(float), ref.unit(target), angle)
    assert_allclose(twisted.positions[1], expected, rtol=0, atol=ATOL[dtype])
    assert_allclose(twisted.positions[2], target, rtol=0, atol=ATOL[dtype])
    assert twisted.status == 0


# influence


@pytest.mark.parametrize("influence", [0.0, 0.25, 0.5, 0.999, -3.0])
def test_influence_interpolates_from_the_identity(influence: float, dtype: Any, isa: str) -> None:
    full, part = leg([0.1, -0.5, 0.3], dtype), leg([0.1, -0.5, 0.3], dtype, influence=influence)
    share = max(influence, 0)
    for joint in ("root", "mid"):
        mixed = (1 - share) * np.array([1, 0, 0, 0]) + share * getattr(full, joint)
        assert_allclose(getattr(part, joint), mixed / np.linalg.norm(mixed), rtol=0, atol=ATOL[dtype])
    assert Status.PARTIAL_INFLUENCE in Status(int(part.status))
    assert_allclose(part.error, np.linalg.norm(part.positions[2] - [0.1, -0.5, 0.3]), rtol=1e-4, atol=1e-7)


def test_influence_above_one_is_one(isa: str) -> None:
    assert leg([0.1, -0.5, 0.3], influence=7).status == 0


@pytest.mark.parametrize("lost", ["target", "pole", "bend"])
def test_influence_0_ignores_what_is_no_number(lost: str, dtype: Any, isa: str) -> None:
    given = {"target": [0.1, -0.5, 0.3], "bend": [0, 0, 1], lost: [np.nan, np.inf, 0]}
    limb = leg(given.pop("target"), dtype, influence=[0.0, 0.0], **given)
    assert_allclose(limb.positions, np.broadcast_to(np.array([HIP, KNEE, ANKLE], dtype), (2, 3, 3)), rtol=0, atol=0)
    assert (limb.root == [1, 0, 0, 0]).all()
    assert (limb.status & Status.PARTIAL_INFLUENCE != 0).all()
    assert (limb.status < Status.NOT_FINITE).all()


def test_influence_counts_for_the_stretch_too(dtype: Any, isa: str) -> None:
    full = leg(down(1.2 * REACH), dtype, stretch_max=1.5)
    part = leg(down(1.2 * REACH), dtype, stretch_max=1.5, influence=[0.0, 0.25, 1.0])
    assert_allclose(part.stretch, 1 + np.array([0, 0.25, 1]) * (full.stretch - 1), rtol=ATOL[dtype], atol=0)
    assert_allclose(part.positions[0], np.array([HIP, KNEE, ANKLE]), rtol=0, atol=ATOL[dtype])
    long = [part.stretch[:, None] * np.array(joint) for joint in (HIP, KNEE, ANKLE)]
    assert_allclose(part.positions, ref.forward(part, *long), rtol=0, atol=2 * ATOL[dtype])
    assert_allclose(part.positions[2], full.positions, rtol=0, atol=0)


# soften


def test_softening_is_smooth_and_never_reaches(isa: str) -> None:
    distance = np.linspace(0.7, 3, 4001) * REACH
    limb = leg(down(distance), soften=0.9)
    soft = reach_of(limb) / REACH
    assert (soft < 1).all()
    assert (np.diff(soft) > 0).all()
    inside = distance < 0.9 * REACH
    assert_allclose(soft[inside], distance[inside] / REACH, rtol=0, atol=1e-12)
    slope = np.diff(soft) / np.diff(distance / REACH)
    assert np.abs(np.diff(slope)).max() < 0.03  # continuous: it would step by 1/3 with a fourth power
    assert (limb.status[inside] == 0).all()
    assert (limb.status[~inside] & Status.SOFTENED != 0).all()
    assert ((limb.status & Status.TOO_FAR != 0) == (distance > REACH * (1 + 1e-12))).all()


def test_softening_follows_its_formula(dtype: Any, isa: str) -> None:
    limb = leg(down(1.1 * REACH), dtype, soften=0.8)
    x = (1.1 - 0.8) / 0.2
    assert_allclose(reach_of(limb) / REACH, 0.8 + 0.2 * (1 - (3 / (x + 3)) ** 3), rtol=0, atol=ATOL[dtype])


def test_softening_from_0_to_1_stays_finite(isa: str) -> None:
    soften = np.array([-1, 0, 1e-9, 0.5, 1 - 1e-12, 1, 2])
    limb = leg(down(np.full(7, 0.9 * REACH)), soften=soften)
    assert np.isfinite(limb.positions).all()
    assert (limb.status[-2:] == 0).all()


# stretch


@pytest.mark.parametrize(
    ("ratio", "factor"), [(0.5, 1), (0.75, 1), (0.9, 1.075), (1, 1.125), (1.25, 1.25), (1.3, 1.25), (50, 1.25)]
)
def test_stretch_golden(ratio: float, factor: float, dtype: Any, isa: str) -> None:
    limb = leg(down(ratio * REACH), dtype, stretch_start=0.75, stretch_max=1.25)
    assert_allclose(limb.stretch, factor, rtol=1e-6 if dtype == np.float32 else 1e-14)
    bones = np.linalg.norm(np.diff(limb.positions, axis=0), axis=-1)
    assert_allclose(bones, factor * np.array([UPPER, LOWER]), rtol=2e-6 if dtype == np.float32 else 1e-13)
    assert limb.status == (Status.TOO_FAR if ratio > 1.25 else 0)


def test_stretched_deltas_rebuild_the_pose_with_longer_bones(isa: str) -> None:
    limb = leg([0.2, -1.0, 0.1], stretch_max=1.4)
    long = [np.array(HIP), limb.stretch * np.array(KNEE), limb.stretch * np.array(ANKLE)]
    assert_allclose(ref.forward(limb, *long), limb.positions, rtol=0, atol=1e-14)


@pytest.mark.parametrize("start", [0.0, 0.5, 1.0, 1.25, 2.0])
def test_stretch_grows_with_distance_and_stays_in_its_range(start: float, isa: str) -> None:
    limb = leg(down(np.linspace(0, 3, 301) * REACH), stretch_start=start, stretch_max=1.25)
    assert (np.diff(limb.stretch) >= 0).all()
    assert limb.stretch.min() >= 1
    assert limb.stretch.max() <= 1.25
    assert np.isfinite(limb.positions).all()


# bend limits


@pytest.mark.parametrize("limits", [(0.3, 1.2), (0.0, 0.5), (1.0, 3.0), (0.7, 0.7), (-1.0, 9.0)])
def test_the_bend_stays_within_its_limits(limits: tuple[float, float], dtype: Any, isa: str) -> None:
    targets = np.random.default_rng(3).normal(0, 0.5, (500, 3))
    limb = leg(targets, dtype, min_bend=limits[0], max_bend=limits[1])
    slack = 2e-3 if dtype == np.float32 else 1e-7  # the angle of a straight limb is the root of its rounding
    assert bend_of(limb).min() >= max(limits[0], 0) - slack
    assert bend_of(limb).max() <= min(limits[1], np.pi) + slack
    free = leg(targets, dtype)
    within = (bend_of(free) > limits[0] + slack) & (bend_of(free) < limits[1] - slack)
    assert_allclose(limb.positions[within], free.positions[within], rtol=0, atol=0)
    assert (limb.status[within & (free.status == 0)] == 0).all()


@pytest.mark.parametrize("option", [{}, {"soften": 0.9}, {"stretch_max": 1.5}], ids=str)
def test_a_leg_that_may_not_bend_is_straight(option: dict[str, Any], dtype: Any, isa: str) -> None:
    legs = np.random.default_rng(1).normal(size=(4, 1000, 3)).astype(dtype)
    limb = ik.two_bone(*legs, max_bend=0, **option)
    assert (limb.status < Status.NOT_FINITE).all()
    assert bend_of(limb).max() < (2e-3 if dtype == np.float32 else 1e-7)


def test_a_limit_that_keeps_the_leg_from_its_target_is_told(isa: str) -> None:
    reachable = leg(down(0.999 * REACH), min_bend=0.5)
    assert reachable.status == Status.AT_LIMIT
    assert_allclose(bend_of(reachable), 0.5, rtol=0, atol=1e-14)
    assert leg(down(2 * REACH), min_bend=0.5).status == Status.AT_LIMIT | Status.TOO_FAR
    assert leg(down(0.3), max_bend=1.0).status == Status.AT_LIMIT


# flip


@pytest.mark.parametrize("angle", [0.0, 0.01, 0.7, np.pi / 2, 2.0, 3.1])
def test_flip_is_the_angle_between_the_pole_and_the_line(angle: float, dtype: Any, isa: str) -> None:
    pole = 2 * np.array([0, -np.cos(angle), np.sin(angle)])
    limb = leg([0, -0.6, 0], dtype, pole=pole)
    assert_allclose(limb.flip, min(angle, np.pi - angle), rtol=0, atol=1e-6 if dtype == np.float32 else 1e-15)
    bend = leg([0, -0.6, 0], dtype, pole=None, bend=pole)
    assert bend.flip == limb.flip


def test_without_a_direction_nothing_flips(isa: str) -> None:
    assert leg([0, -0.6, 0], pole=None).flip == np.pi / 2


def test_flip_is_that_of_the_direction_that_decides(isa: str) -> None:
    limb = leg([0, -0.6, 0], pole=[0, -3, 0], bend=[0, -1, 1])
    assert_allclose(limb.flip, np.pi / 4, rtol=0, atol=1e-15)


# together


def test_each_item_has_its_own_options(isa: str) -> None:
    rng = np.random.default_rng(5)
    targets = rng.normal(0, 0.5, (40, 3))
    options = {
        "hinge": rng.normal(size=(40, 3)),
        "twist": rng.normal(size=40),
        "influence": rng.uniform(0, 1.2, 40),
        "soften": rng.uniform(0.5, 1, 40),
        "stretch_start": rng.uniform(0.5, 1, 40),
        "stretch_max": rng.uniform(1, 1.5, 40),
        "min_bend": rng.uniform(0, 1, 40),
        "max_bend": rng.uniform(1, 3, 40),
    }
    batch = leg(targets, **options)
    for i in range(40):
        one = leg(targets[i], **{name: value[i] for name, value in options.items()})
        assert one.positions.tobytes() == batch.positions[i].tobytes()
        assert one.status == batch.status[i]


@pytest.mark.parametrize("option", [*DEFAULTS, "hinge"])
def test_an_option_that_is_no_number_is_not_usable(option: str, isa: str) -> None:
    bad = [np.nan, 0, 0] if option == "hinge" else np.nan
    with pytest.warns(ik.UnusableWarning, match="1 of 1 items"):
        limb = leg([0.1, -0.5, 0.3], **{option: bad})
    assert limb.status == Status.NOT_FINITE
    assert_allclose(limb.positions, [HIP, KNEE, ANKLE], rtol=0, atol=0)


@pytest.mark.slow
def test_workers_change_no_bit(dtype: Any) -> None:
    targets = np.random.default_rng(7).normal(0, 0.5, (5, 30_000, 3))
    alone, shared = leg(targets, dtype), leg(targets, dtype, workers=3)
    for field in ("root", "mid", "positions", "status", "error", "flip", "stretch"):
        assert getattr(alone, field).tobytes() == getattr(shared, field).tobytes()
    out = ik.closed_forms.LimbSolution.empty((5, 30_000), dtype)
    assert leg(targets, dtype, workers=None, out=out) is out
    assert out.root.tobytes() == alone.root.tobytes()


@pytest.mark.parametrize("workers", [0, -2])
def test_a_wrong_number_of_workers_is_refused(workers: int) -> None:
    with pytest.raises(ValueError, match="workers: expected 1 to 1024, or None for all cores, got"):
        leg([0, 0, 0], workers=workers)


def test_a_wrong_shape_is_named_with_workers_too() -> None:
    with pytest.raises(ValueError, match=r"leading axes do not broadcast: .*target \(3, 3\)"):
        leg(np.zeros((3, 3)), twist=np.zeros(2), workers=2)
