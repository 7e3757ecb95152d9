"""Methods on skeletons beside other projects: what they publish as within reach is reached, limits and all.

Figures only. A conformance folder (IKCORE_CONFORMANCE) with the whole sets is tested too, where there is one, and the
legs of a robot beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose
from numpy.typing import ArrayLike, NDArray
from published import CONFORMANCE, cases, whole_sets

import ikcore as ik
from ikcore import rotations

Array = NDArray[Any]
Method = Callable[..., ik.Solution]


class Hinges:
    """A chain of hinges: position and rotation of each in the one before, its axis and range; the tip last, locked."""

    def __init__(self, offsets: ArrayLike, turns: ArrayLike, axes: ArrayLike, ranges: ArrayLike) -> None:
        self.axes, self.ranges = np.array(axes, float), np.array(ranges, float)
        limits = [ik.Limit.hinge(axis, *bounds) for axis, bounds in zip(self.axes, self.ranges, strict=True)]
        self.tip = len(limits)
        self.skeleton = ik.Skeleton(range(-1, self.tip), offsets, turns, limits=[*limits, ik.Limit.locked()])

    def pose(self, angles: ArrayLike) -> ik.Pose:
        """The pose with these angles, (..., hinges)."""
        turns = rotations.from_axis_angle(self.axes, np.asarray(angles, float))
        none = np.broadcast_to([1.0, 0, 0, 0], (*turns.shape[:-2], 1, 4))
        return ik.Pose(ref.multiply(self.skeleton.rest.rotations, np.concatenate([turns, none], axis=-2)))

    def tip_of(self, pose: ik.Pose) -> tuple[Array, Array]:
        """Position and rotation of the tip."""
        at, turned = np.zeros(3), np.array([1.0, 0, 0, 0])
        for joint, offset in enumerate(self.skeleton.offsets):
            at = at + ref.rotate(turned, offset)
            turned = ref.multiply(turned, pose.rotations[..., joint, :])
        return at, turned

    def check(self, pose: ik.Pose) -> None:
        """Every joint has turned about its axis, and within its range; the tip has not turned."""
        assert_allclose(np.abs((pose.rotations[..., -1, :] * self.skeleton.rest.rotations[-1]).sum(-1)), 1, atol=1e-12)
        rest = self.skeleton.rest.rotations[:-1]
        turns = rotations.log(ref.multiply(ref.conjugate(rest), pose.rotations[..., :-1, :]))
        angles = (turns * self.axes).sum(-1)
        assert_allclose(turns, angles[..., np.newaxis] * self.axes, atol=1e-7)
        middle = self.ranges.mean(-1)
        off = np.abs(angles - middle - 2 * np.pi * np.round((angles - middle) / (2 * np.pi)))
        assert np.all(off <= np.ptp(self.ranges, axis=-1) / 2 + 1e-9)


def starts(hinges: Hinges, count: int) -> Array:
    """Angles anywhere in the ranges."""
    low, high = hinges.ranges.T
    found: Array = low + (high - low) * np.random.default_rng(3).uniform(size=(count, hinges.tip))
    return found


# --- arms of robots ---------------------------------------------------------------------------------------------------

# Franka Emika Panda, as Robotics Toolbox for Python has it (petercorke/robotics-toolbox-python, MIT): where each joint
# is, by how much it is turned about x, its range.
QUARTER = np.pi / 2
PANDA_JOINTS: list[tuple[Any, float, Any]] = [
    ([0, 0, 0.333], 0, (-2.8973, 2.8973)),
    ([0, 0, 0], -QUARTER, (-1.7628, 1.7628)),
    ([0, -0.316, 0], QUARTER, (-2.8973, 2.8973)),
    ([0.0825, 0, 0], QUARTER, (-3.0718, -0.0698)),
    ([-0.0825, 0.384, 0], -QUARTER, (-2.8973, 2.8973)),
    ([0, 0, 0], QUARTER, (-0.0175, 3.7525)),
    ([0.088, -0.107, 0], QUARTER, (-2.8973, 2.8973)),
]
# Its tool, where its tests want that, and angles that bring it there.
PANDA_TOOL = [0, 0, 0.103], rotations.from_axis_angle([0, 0, 1], -np.pi / 4)
PANDA_TARGET = [0.484006882026386, 0, 0.413027777128414]
PANDA_ROTATION = rotations.from_matrix(
    np.array([[0.995004165278027, 0, 0.0998334166468283], [0, -1, 0], [0.0998334166468283, 0, -0.995004165278026]])
)
PANDA_ANGLES = [0, -0.3, 0, -2.2, 0, 2, np.pi / 4]


def panda() -> Hinges:
    offsets, turns, ranges = zip(*PANDA_JOINTS, strict=True)
    rest = [*rotations.from_axis_angle([1, 0, 0], turns), PANDA_TOOL[1]]
    return Hinges([*offsets, PANDA_TOOL[0]], rest, [[0, 0, 1]] * 7, ranges)


def test_the_panda_is_built_as_published() -> None:
    at, turned = panda().tip_of(panda().pose(PANDA_ANGLES))
    assert_allclose(at, PANDA_TARGET, atol=1e-12)
    assert abs(abs(turned @ PANDA_ROTATION) - 1) < 1e-12


# transpose creeps where a hand is turned as well.
ARRIVING = [
    name
    for name, method in ik.methods().items()
    if "restarts" in method.options and method.takes >= {"Reach rotation", "limit"} and name != "transpose"
]


@pytest.mark.parametrize("method", ARRIVING)
def test_the_panda_reaches_from_every_start(method: str, dtype: Any) -> None:
    """The starts of its tests, one of them outside the limits, and a hundred more."""
    arm = panda()
    given = [PANDA_ANGLES, [1, 2, 1, 2, 1, 2, 1]]
    given += [[-1.66441371, -1.20998727, 1.04248366, -2.10222463, 1.05097407, 1.41173279, 0.0053529]]
    pose = ik.Pose(arm.pose([*given, *starts(arm, 100)]).rotations.astype(dtype))
    goal = ik.Reach(arm.tip, PANDA_TARGET, PANDA_ROTATION)
    restarts = 0 if method == "dls" else 50  # dls needs none here
    found = ik.solve(arm.skeleton, pose, [goal], method, restarts=restarts)
    assert not np.any(found.status & ~ik.Status.INPUT_OUTSIDE)
    at, turned = arm.tip_of(found.pose)
    away, angle = ref.norm(at - PANDA_TARGET), 2 * np.arccos(np.minimum(abs(turned @ PANDA_ROTATION), 1))
    assert np.all((away**2 + angle**2) / 2 < 1e-5)  # what the source asks for
    if dtype is np.float64:
        arm.check(found.pose)


def hinges_of(case: dict[str, Any]) -> Hinges:
    joints = case["chain"]["joints"]
    places = np.array([joint["pre"] for joint in joints] + [case["chain"]["tool"]])
    rest = rotations.from_matrix(places[:, :3, :3])
    return Hinges(places[:, :3, 3], rest, [j["axis"] for j in joints], [j["limits"] for j in joints])


@whole_sets
@pytest.mark.parametrize("method", ARRIVING)
def test_the_whole_set_of_serial_chains(method: str) -> None:
    """All within reach."""
    for case in cases("serial_chain_ik.json"):
        arm, target = hinges_of(case), np.array(case["target"])
        goal = ik.Reach(arm.tip, target)
        if case["mode"] == "pose":
            goal = ik.Reach(arm.tip, target[:3, 3], rotations.from_matrix(target[:3, :3]))
        pose = arm.pose([case.get("q0", arm.ranges.mean(-1)), *starts(arm, 50)])
        found = ik.solve(arm.skeleton, pose, [goal], method, restarts=50)
        assert np.all(found.reached), case["id"]  # some starts are just outside their limits
        at, turned = arm.tip_of(found.pose)
        assert np.all(ref.norm(at - np.asarray(goal.position)) < 1.5e-5), case["id"]
        if goal.rotation is not None:
            assert np.all(np.abs(turned @ np.asarray(goal.rotation)) > 1 - 1e-8), case["id"]
        arm.check(found.pose)


# --- a leg of three hinges --------------------------------------------------------------------------------------------

# naterpotatoers/Splot, kinematics_lib_test.cpp at 2119091: foot, from hip to leg sideways, bones, side, the way the
# knee bends, and the angles of abduction, hip and knee. X lateral, Z up; the side mirrors X.
SPLOT: dict[str, Any] = {
    "nearly straight": ([0.5, 0, -0.99], 0.5, [0.5, 0.5], -1, 1, [0, -0.141539473324, 0.283078946649]),
    "bent": ([0.5, 0, -1], 0.5, [0.75, 0.75], -1, -1, [0, 0.841068670568, -1.68213734114]),
    "across": ([0.5, 0, -1], 0.5, [0.51, 0.5], 1, 1, [-0.927295218002, -0.139439046248, 0.281685646257]),
    "without hip": ([1, 0, -1], 0, [0.75, 0.75], -1, -1, [0.785398163397, 0.339836909454, -0.679673818908]),
}


def leg_of(hip: float, bones: Any, side: int, knee: int) -> Hinges:
    offsets: Any = [[0, 0, 0], [-side * hip, 0, 0], [0, 0, -bones[0]], [0, 0, -bones[1]]]
    ranges = [(-QUARTER, QUARTER), (-QUARTER, QUARTER), (0, 2.8) if knee > 0 else (-2.8, 0)]
    return Hinges(offsets, [[1, 0, 0, 0]] * 4, [[0, side, 0], [1, 0, 0], [1, 0, 0]], ranges)


def check_leg(method: Method, foot: Any, hip: float, bones: Any, side: int, knee: int, angles: Any) -> None:
    """The foot is there, and the angles are the published ones: there is no other way with such a knee."""
    leg = leg_of(hip, bones, side, knee)
    assert_allclose(leg.tip_of(leg.pose(angles))[0], foot, atol=2e-3)
    found = method(leg.skeleton, leg.pose([0, -0.3 * knee, 0.6 * knee]), [ik.Reach(leg.tip, foot)])
    assert found.status == 0
    leg.check(found.pose)
    at, expected = (leg.tip_of(pose)[0] for pose in (found.pose, leg.pose(angles)))
    assert_allclose(at, expected, atol=2e-3)
    assert_allclose(found.pose.rotations, leg.pose(angles).rotations, atol=2e-3)


@pytest.mark.parametrize("leg", SPLOT.values(), ids=SPLOT)
def test_splot(leg: Any) -> None:
    check_leg(ik.dls, *leg)


def test_splot_by_fabrik() -> None:
    """Hinges square to each other are hard for it: a leg with a hip to the side is left short by a millimetre."""
    check_leg(ik.fabrik, *SPLOT["without hip"])


@whole_sets
def test_the_whole_splot_set() -> None:
    legs = [case for case in cases("quadruped_leg_splot.json") if "foot" in case]
    assert len(legs) >= 7
    for case in legs:
        bones = [case["upper_length"], case["lower_length"]]
        angles = case["expect"]["angles"]
        check_leg(ik.dls, case["foot"], case["hip_offset"], bones, case["side"], case["knee_config"], angles)


# --- Blender ----------------------------------------------------------------------------------------------------------

# Blender 3.4.1, standard IK solver (our own measurement): joints at rest, target, and what Blender leaves of the way.
BLENDER: dict[str, Any] = {
    "chain_007": (
        *([[0.010916103, 0.0024971818, 0.29892704], [0.043974359, -0.019186618, 0.64205956]],),
        *([0.076569051, -0.078314245, 1.0519919], [-0.29541776, -0.29645103, 0.51387662], 0.001),
    ),
    "chain_025, out of reach": (
        *([[0.017467747, -0.017334171, 0.20504943], [-0.0076550785, -0.012812518, 0.50071919]],),
        *([-0.023983231, -0.052800644, 0.8075031], [-0.35677508, 0.63027781, 0.42822099], 0.03),
    ),
}


def check_chain(method: Method, points: Any, target: Any, left: float) -> ik.Solution:
    chain = ik.Skeleton.chain(points)
    found = method(chain, chain.rest, [ik.Reach(len(chain) - 1, target)])
    at = np.zeros(3)
    for joint in range(len(chain) - 1, 0, -1):
        at = ref.rotate(found.pose.rotations[joint - 1], at + chain.offsets[joint])
    assert np.linalg.norm(at + chain.offsets[0] - target) <= left
    return found


@pytest.mark.parametrize("method", [ik.dls, ik.fabrik])
@pytest.mark.parametrize("name", BLENDER)
def test_blender(method: Method, name: str) -> None:
    joints, end, target, left = BLENDER[name]
    found = check_chain(method, [[0, 0, 0], *joints, end], target, left)
    assert found.status == (ik.Status.TOO_FAR if "out of reach" in name else 0)


@whole_sets
@pytest.mark.parametrize("method", [ik.dls, ik.fabrik])
def test_the_whole_blender_set_of_chains(method: Method) -> None:
    chains = [case for case in cases("blender_ik_oracle.json") if case["kind"] == "chain"]
    assert len(chains) > 20
    for case in chains:
        found = check_chain(method, case["rest"], case["target"], case["expect"]["end_to_target_at_most"])
        assert (found.status == 0) == case["reachable"], case["id"]


# --- a hexapod --------------------------------------------------------------------------------------------------------

# PhantomX (romainreignier/phantomx_description, Simplified BSD): joints of its right front leg, where they are and how
# they are turned (roll, pitch, yaw); the second is fixed, the others turn about x. It ends at the tibia: the foot is
# ours.
PHANTOMX: list[tuple[Any, Any, bool]] = [
    ([0.1248, -0.06164, 0.001116], [0, 4.7123, 0.7853981633974483], True),
    ([0, -0.054, 0], [0, 1.5704, 3.14159], False),
    ([0, 0, 0], [3.14159, 0, 0], True),
    ([0, -0.0645, -0.0145], [-1.5707, 0, 3.14159], True),
]
PHANTOMX_RANGE, PHANTOMX_FOOT = (-2.6179939, 2.6179939), [0, -0.12, 0.03]


def check_hexapod_leg(joints: list[tuple[Any, Any, bool]]) -> None:
    """Places where angles within the range bring the foot are reached, from another pose."""
    hinge = ik.Limit.hinge([1, 0, 0], *PHANTOMX_RANGE)
    offsets = [offset for offset, *_ in joints] + [PHANTOMX_FOOT]
    rest = np.array([*rotations.from_euler([turn for _, turn, _ in joints], "xyz"), [1, 0, 0, 0]])
    limits = [hinge if turns else ik.Limit.locked() for *_, turns in joints] + [None]
    leg = ik.Skeleton(range(-1, len(joints)), offsets, rest, limits=limits)
    random = np.random.default_rng(7)
    angles = random.uniform(-1.2, 1.2, (2, 60, len(offsets))) * [*(turns for *_, turns in joints), False]
    start, there = ref.multiply(rest, rotations.from_axis_angle([1, 0, 0], angles))
    foot, turned = np.zeros(3), np.array([1.0, 0, 0, 0])
    for joint, offset in enumerate(offsets):
        foot = foot + ref.rotate(turned, np.array(offset))
        turned = ref.multiply(turned, there[:, joint])
    found = ik.dls(leg, ik.Pose(start), [ik.Reach(len(joints), foot)])
    assert not np.any(found.status)
    assert_allclose(leg.forward(found.pose).positions[:, -1], foot, atol=1e-5)
    turns = ref.multiply(ref.conjugate(rest), found.pose.rotations)
    assert_allclose(turns[..., 2:], 0, atol=1e-7)
    assert_allclose(np.abs(turns[:, 1, 0]), 1, atol=1e-12)


def test_phantomx() -> None:
    check_hexapod_leg(PHANTOMX)


@whole_sets
def test_all_legs_of_the_phantomx() -> None:
    path = Path(str(CONFORMANCE)).parent / "robots" / "phantomx.urdf"
    if not path.exists():
        pytest.skip("no robot beside the sets")
    joints = {joint.get("name"): joint for joint in ElementTree.parse(path).getroot().findall("joint")}

    def numbers(joint: Any, name: str) -> list[float]:
        return [float(number) for number in joint.find("origin").get(name).split()]

    for leg in ("rf", "rm", "rr", "lf", "lm", "lr"):
        chain = [joints[f"j_{part}_{leg}"] for part in ("c1", "c2", "thigh", "tibia")]
        check_hexapod_leg([(numbers(j, "xyz"), numbers(j, "rpy"), j.get("type") == "revolute") for j in chain])
