"""The four rules for the tip of a limb, with the figures of one limb worked out in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose

import ikcore as ik


def quat(*numbers: float) -> Any:
    return ref.unit(np.array(numbers))


# Local rotations of a limb under a parent, its joints' offsets, a target and a pole.
PARENT, UPPER, LOWER, TIP = (
    quat(0.9, 0.1, -0.3, 0.2),
    quat(0.8, 0.3, 0.4, -0.2),
    quat(0.95, 0.05, 0.25, 0.1),
    quat(0.7, -0.1, 0.2, 0.4),
)
ROOT, TO_MID, TO_END = np.array([0.1, 1, -0.05]), np.array([0.02, -0.44, 0.01]), np.array([0, -0.41, 0.03])
TARGET, POLE = [0.25, 0.35, 0.2], [0.2, 0.7, 1.5]

W_UPPER = ref.multiply(PARENT, UPPER)
W_LOWER = ref.multiply(W_UPPER, LOWER)
W_TIP = ref.multiply(W_LOWER, TIP)
MID = ROOT + ref.rotate(W_UPPER, TO_MID)
END = MID + ref.rotate(W_LOWER, TO_END)
ROTATION = quat(0.6, 0.5, -0.3, 0.2)
SPACE, SPACE_AFTER = quat(1, 0.2, 0.1, 0), quat(0.9, -0.2, 0.3, 0.1)


@pytest.fixture
def limb() -> ik.closed_forms.LimbSolution:
    return ik.two_bone(ROOT, MID, END, TARGET, pole=POLE)


def local(world: Any, delta: Any, rotation: Any) -> Any:
    """L <- W^-1 D W L, with w >= 0."""
    turned = ref.multiply(ref.multiply(ref.multiply(ref.conjugate(world), delta), world), rotation)
    return turned * np.sign(turned[0])


def test_the_limb_is_the_golden_one(limb: ik.closed_forms.LimbSolution) -> None:
    assert_allclose(limb.positions[1], [0.165393404687, 0.739806619119, 0.299461166897], rtol=0, atol=1e-11)
    upper = local(PARENT, limb.root, UPPER)
    assert_allclose(upper, [0.55558383704, -0.451964529397, 0.669009190752, -0.198699186904], rtol=0, atol=1e-11)
    lower = local(W_UPPER, limb.mid, LOWER)
    assert_allclose(lower, [0.793425412811, 0.19670783219, 0.237048321133, 0.52496689087], rtol=0, atol=1e-11)


def test_the_swivel_is_the_golden_one() -> None:
    swivelled = ik.two_bone(ROOT, MID, END, TARGET, pole=POLE, twist=np.radians(15))
    assert_allclose(swivelled.positions[1], [0.106953954395, 0.723945765716, 0.293286618225], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("rule", "given", "expected"),
    [
        ("local", {}, TIP),
        ("keep", {}, [0.665470997521, -0.249124927324, -0.118045547521, 0.693650034783]),
        (
            "take",
            {"rotation": W_TIP, "target": ROTATION},
            [0.310564881452, 0.176026883916, -0.797444703576, 0.486462676149],
        ),
        (
            "take",
            {"rotation": W_TIP, "target": ROTATION, "influence": 0.4},
            [0.767149112936, 0.003405367584, -0.235167629968, 0.596797141253],
        ),
        (
            "maintain",
            {"space": SPACE, "space_after": SPACE_AFTER},
            [0.825198701306, -0.157216370323, 0.253469314564, 0.479670118769],
        ),
    ],
)
def test_golden_tips(limb: ik.closed_forms.LimbSolution, rule: Any, given: dict[str, Any], expected: Any) -> None:
    assert_allclose(local(W_LOWER, limb.tip(rule, **given), TIP), expected, rtol=0, atol=1e-11)


def test_influence_0_follows_the_limb(limb: ik.closed_forms.LimbSolution) -> None:
    assert_allclose(limb.tip("keep", influence=0), limb.tip("local"), rtol=0, atol=1e-15)


def test_influences_beyond_0_and_1_count_as_those(limb: ik.closed_forms.LimbSolution) -> None:
    assert_allclose(limb.tip("keep", influence=-3), limb.tip("keep", influence=0), rtol=0, atol=0)
    assert_allclose(limb.tip("keep", influence=2), limb.tip("keep"), rtol=0, atol=0)


def test_a_batch_of_tips_is_of_the_type_of_the_pose() -> None:
    pose = [np.asarray(p, np.float32) for p in (ROOT, MID, END)]
    limb = ik.two_bone(pose[0], pose[1], pose[2], np.random.default_rng(1).normal(size=(7, 3)))
    for rule in ("local", "keep"):
        tip = limb.tip(rule)
        assert tip.shape == (7, 4)
        assert tip.dtype == np.float32


@pytest.mark.parametrize(
    ("rule", "given", "says"),
    [
        ("hold", {}, "expected one of local, keep, take, maintain, got 'hold'"),
        ("take", {"target": ROTATION}, "takes rotation and target: check rotation"),
        ("keep", {"target": ROTATION}, "takes no rotation: check target"),
        ("take", {"rotation": ROTATION, "target": [1, 0, 0]}, r"target: expected an array of shape \(\.\.\., 4\)"),
    ],
)
def test_a_wrong_call_is_explained(
    limb: ik.closed_forms.LimbSolution, rule: Any, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        limb.tip(rule, **given)
