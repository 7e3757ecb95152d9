"""two_bone beside other projects: the figures that their tests publish, or that their programs made.

Figures only. A conformance folder (IKCORE_CONFORMANCE) with the whole sets is tested too, where there is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from limbs import FAR, NEAR, Pose, checked, limbs, posed, solve_quietly
from numpy.testing import assert_allclose
from numpy.typing import ArrayLike
from published import cases, whole_sets
from reference import conjugate, multiply, norm, rotate, unit

import ikcore as ik
from ikcore import Status

# --- VRMMetalKit -----------------------------------------------------------------------------------------------------

# arkavo-org/VRMMetalKit (Apache-2.0), TwoBoneIKSolverTests.swift at 2ed8581: straight legs, the pole is a direction.
# Its tests say that there is a solution; the knee follows from the law of cosines.
VRMMETALKIT: dict[str, Any] = {
    # mid, target, bend, knee where defined, ankle; root (0, 1, 0), end (0, 0, 0)
    "simple": (0.5, [0, 0.3, 0.5], [0, 0, 1], [0, 0.798187244590955, 0.457462142427337], [0, 0.3, 0.5]),
    "minimum_reach": (0.5, [0, 0.999, 0], [0, 0, 1], [0, 0.999500000000013, 0.499999749999938], [0, 0.999, 0]),
    "too_close": (0.5, [0, 0.99, 0], [0, 0, 1], [0, 0.995000000000001, 0.499974999374969], [0, 0.99, 0]),
    "pole_right": (0.5, [0.3, 0.3, 0], [1, 0, 0], [0.447837030188867, 0.777644441509515, 0], [0.3, 0.3, 0]),
    "pole_along_target": (0.5, [0, 0.5, 0.5], [0, -0.5, 0.5], None, [0, 0.5, 0.5]),
    "unreachable": (0.5, [0, 1, 2], [0, 0, 1], None, [0, 1, 1]),
    "unequal_lengths": (
        *(0.3, [0.2, 0.2, 0.2], [0, 0, 1]),
        *([0.142216776711138, 0.431132893155447, 0.38231479591065], [0.2, 0.2, 0.2]),
    ),
    "custom_lengths": (
        *(0.4, [0.3, 0.3, 0], [0, 0, 1]),
        *([0.201724137931035, 0.529310344827586, 0.312663750200843], [0.3, 0.3, 0]),
    ),
    "knee_range": (
        *(0.5, [-0.2, 0.4, 0.2], [0, 0, 1]),
        *([-0.0643246965993663, 0.807025910201901, 0.456753034006338], [-0.2, 0.4, 0.2]),
    ),
}


@pytest.mark.parametrize(("height", "target", "bend", "knee", "ankle"), VRMMETALKIT.values(), ids=VRMMETALKIT)
def test_vrmmetalkit(height: float, target: Any, bend: Any, knee: Any, ankle: Any, isa: str) -> None:
    limb = checked([0, 1, 0], [0, height, 0], [0, 0, 0], target, bend=bend)
    assert_allclose(limb.positions[2], ankle, rtol=0, atol=1e-12)
    if knee is not None:
        assert_allclose(limb.positions[1], knee, rtol=0, atol=1e-12)


# The same leg; a target that circles below the hip at a radius of 0.3, in tenths of a turn.
ORBIT: dict[int, Any] = {
    0: [0, 0.958989163805771, 0.498315273009618],
    1: [0.0319342531016267, 0.909450339283275, 0.490694367629105],
    2: [0.110650835263429, 0.806091377733487, 0.447387794721993],
    4: [0.144401322586115, 0.590549660716725, 0.247989269316621],
    6: [-0.144401322586115, 0.590549660716725, 0.247989269316621],
    7: [-0.174666119625117, 0.693908622266513, 0.354682696409509],
    8: [-0.110650835263429, 0.806091377733487, 0.447387794721993],
    9: [-0.0319342531016267, 0.909450339283275, 0.490694367629105],
}


def test_vrmmetalkit_orbit(isa: str) -> None:
    angle = 2 * np.pi / 10 * np.array(list(ORBIT))
    target = np.stack([0.3 * np.sin(angle), np.full_like(angle, 0.5), 0.3 * np.cos(angle)], axis=-1)
    limb = checked([0, 1, 0], [0, 0.5, 0], [0, 0, 0], target, bend=[0, 0, 1])
    assert (limb.status == 0).all()
    assert_allclose(limb.positions[:, 1], list(ORBIT.values()), rtol=0, atol=1e-12)


def test_vrmmetalkit_a_kilometre(isa: str) -> None:
    limb = checked([0, 1000, 0], [0, 500, 0], [0, 0, 0], [300, 300, 0], bend=[0, 0, 1])
    assert_allclose(limb.positions[1:], [[150, 650, 324.037034920393], [300.0, 300, 0]], rtol=0, atol=1e-9)


def test_vrmmetalkit_a_target_on_the_root(isa: str) -> None:
    """There is no solution there; here the leg folds onto it."""
    limb = checked([0, 1, 0], [0, 0.5, 0], [0, 0, 0], [0, 1, 0], bend=[0, 0, 1])
    assert_allclose(limb.positions[2], [0, 1, 0], rtol=0, atol=1e-15)


# --- ozz-animation ---------------------------------------------------------------------------------------------------

# guillaumeblanc/ozz-animation (MIT), ik_two_bone_job_tests.cc at 6cbdc79: joints (0, 0, 0), (0, 1, 0) and (1, 1, 0),
# the middle one turned a quarter about z. The pole is a direction; positive turns about the mid axis (z) open the limb.
# A correction is right of a joint's rotation, so W q = D W: q is the delta seen from the joint. Here as (w, x, y, z).
HALF = np.sqrt(0.5)
PI_8 = 0.38268343236509, 0.923879532511287  # sine and cosine
NO_TURN = [1, 0, 0, 0]
RIGHT_LEG: Pose = ([0, 0, 0], [0, 1, 0], [1, 1, 0])
MID_TURNED = [HALF, 0, 0, HALF]


def corrections(limb: ik.closed_forms.LimbSolution, start: ArrayLike, mid: ArrayLike) -> list[Any]:
    """The deltas seen from joints with such world rotations, w >= 0."""
    return [
        ik.rotations.canonical(multiply(multiply(conjugate(rotation), delta), rotation))
        for rotation, delta in ((start, limb.root), (mid, limb.mid))
    ]


# Transforms of the whole pose, whatever they do to the bones: matrix, translation, and the rotation in it.
OZZ_STARTS: dict[str, Any] = {
    "identity": (np.eye(3), [0, 0, 0], NO_TURN),
    "translate_y1": (np.eye(3), [0, 1, 0], NO_TURN),
    "rot_y_60deg": (
        *([[0.5, 0, 0.866025403784439], [0, 1, 0], [-0.866025403784439, 0, 0.5]], [0, 0, 0]),
        [0.866025403784439, 0, 0.5, 0],
    ),
    "scale_2": (2 * np.eye(3), [0, 0, 0], NO_TURN),
    "scale_1_2_1": (np.diag([1, 2, 1]), [0, 0, 0], NO_TURN),
    "scale_-3_mirror": (-3 * np.eye(3), [0, 0, 0], NO_TURN),
}
OZZ_TURNS: dict[str, Any] = {
    "none": ([1, 1, 0], NO_TURN),
    "90": ([0, 1, 1], [HALF, 0, -HALF, 0]),
    "270": ([0, 1, -1], [HALF, 0, HALF, 0]),
}


@pytest.mark.parametrize("turn", OZZ_TURNS)
@pytest.mark.parametrize("start", OZZ_STARTS)
def test_ozz_start_correction(start: str, turn: str, isa: str) -> None:
    matrix, offset, rotation = OZZ_STARTS[start]
    target, correction = OZZ_TURNS[turn]
    joints = np.array([*RIGHT_LEG, target]) @ np.transpose(matrix) + offset
    limb = checked(*joints, bend=np.dot(matrix, [0, 1, 0]), hinge=rotate(rotation, [0, 0, -1]))
    found = corrections(limb, rotation, multiply(rotation, MID_TURNED))
    assert limb.status == 0
    assert_allclose(found, [correction, NO_TURN], rtol=0, atol=1e-12)


OZZ: dict[str, Any] = {
    # target, pole, options, status, start and mid correction (None: not said there)
    "pole/+y": ([1, 1, 0], [0, 1, 0], {}, 0, NO_TURN, NO_TURN),
    "pole/-z": ([1, 0, -1], [0, 0, -1], {}, 0, [HALF, -HALF, 0, 0], NO_TURN),
    "pole/+x": ([1, -1, 0], [1, 0, 0], {}, 0, [HALF, 0, 0, -HALF], NO_TURN),
    "pole/-x": ([-1, 1, 0], [-1, 0, 0], {}, 0, [HALF, 0, 0, HALF], NO_TURN),
    "soften/1 at full reach": ([2, 0, 0], [0, 1, 0], {"soften": 1}, 0, [HALF, 0, 0, -HALF], [HALF, 0, 0, HALF]),
    "influence/1": ([2, 0, 0], [0, 1, 0], {"influence": 1}, 0, [HALF, 0, 0, -HALF], [HALF, 0, 0, HALF]),
    "influence/-0.1": ([2, 0, 0], [0, 1, 0], {"influence": -0.1}, Status.PARTIAL_INFLUENCE, NO_TURN, NO_TURN),
    "influence/0.5": (
        *([2, 0, 0], [0, 1, 0], {"influence": 0.5}, Status.PARTIAL_INFLUENCE),
        *([PI_8[1], 0, 0, -PI_8[0]], [PI_8[1], 0, 0, PI_8[0]]),
    ),
    "pole on target": ([0, 2 * HALF, 0], [0, 1, 0], {}, Status.POLE_UNDEFINED, None, NO_TURN),
    "pole on target, too far": (
        *([0, 3, 0], [0, 1, 0], {}, Status.POLE_UNDEFINED | Status.TOO_FAR),
        *(None, [HALF, 0, 0, HALF]),
    ),
    "mid_axis/positive": ([1, 1, 0], [0, 1, 0], {"hinge": [0, 0, -1]}, 0, NO_TURN, NO_TURN),
    "mid_axis/negative": ([1, 1, 0], [0, 1, 0], {"hinge": [0, 0, 1]}, 0, [0, 0, 1, 0], [0, 0, 0, 1]),
}


@pytest.mark.parametrize(("target", "pole", "options", "status", "start", "mid"), OZZ.values(), ids=OZZ)
def test_ozz(target: Any, pole: Any, options: Any, status: int, start: Any, mid: Any, isa: str) -> None:
    limb = ik.two_bone(*RIGHT_LEG, target, bend=pole, **options)
    found = corrections(limb, NO_TURN, MID_TURNED)
    assert limb.status == status
    if start is not None:
        assert_allclose(found[0], start, rtol=0, atol=1e-12)
    assert_allclose(found[1], mid, rtol=0, atol=1e-12)


def test_ozz_nearly_aligned_pole(isa: str) -> None:
    """There the pole still decides, and the end is a thousandth off the target. Here it is on it."""
    limb = checked(*RIGHT_LEG, [0.001, 2 * HALF, 0], bend=[0, 1, 0])
    assert limb.status == 0
    assert_allclose(limb.root, [PI_8[1], 0, 0, PI_8[0]], rtol=0, atol=4e-4)


@pytest.mark.parametrize(("target", "status"), [([2, 0, 0], 0), ([3, 0, 0], FAR)], ids=["reachable", "unreachable"])
def test_ozz_aligned_joints_and_target(target: Any, status: int, isa: str) -> None:
    limb = checked([0, 0, 0], [1, 0, 0], [2, 0, 0], target, bend=[0, 1, 0])
    assert limb.status == status
    assert_allclose([limb.root, limb.mid], [NO_TURN, NO_TURN], rtol=0, atol=1e-12)


@pytest.mark.parametrize("target", [[0, 0, 0], [1, 0, 0]], ids=["zero_scale", "zero_length_chain"])
def test_ozz_a_chain_of_no_length(target: Any, isa: str) -> None:
    limb = solve_quietly([0, 0, 0], [0, 0, 0], [0, 0, 0], target, bend=[0, 1, 0])
    assert limb.status == Status.NO_LENGTH
    assert_allclose([limb.root, limb.mid], [NO_TURN, NO_TURN], rtol=0, atol=0)


@pytest.mark.parametrize(("angle", "turn"), [(np.pi / 2, HALF), (-np.pi / 2, -HALF)])
def test_ozz_twist_is_about_the_line_from_start_to_target(angle: float, turn: float, isa: str) -> None:
    """By the words of its header, not by a figure: after the pole, in radians, about start to target."""
    limb = checked(*RIGHT_LEG, [1, 1, 0], bend=[0, 1, 0], twist=angle)
    assert_allclose(limb.root, [HALF, turn * HALF, turn * HALF, 0], rtol=0, atol=1e-12)
    assert_allclose(limb.mid, NO_TURN, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("soften", "target", "left"), [(0, 1.2, 0.164506172839506), (0.5, 2.0, 0.31640625)])
def test_ozz_softens_with_another_power(soften: float, target: float, left: float, isa: str) -> None:
    """There by 1 - (3 / (x + 3))^4, whose slope is 4/3 where it begins; here by a cube, whose slope is 1 there."""
    x = (target / 2 - soften) / (1 - soften)

    def distance_left(power: int) -> float:
        return target - 2 * (soften + (1 - soften) * (1 - (3 / (x + 3)) ** power))

    assert distance_left(4) == pytest.approx(left, abs=1e-14)
    limb = ik.two_bone(*RIGHT_LEG, [target, 0, 0], bend=[0, 1, 0], soften=soften)
    assert limb.status == Status.SOFTENED
    assert limb.error == pytest.approx(distance_left(3), abs=1e-14)


# --- Blender ---------------------------------------------------------------------------------------------------------

# Blender 3.4.1, standard IK solver (our own measurement): two bones, pole target, Blender's own knee and tip. Blender
# iterates: compare with 5e-4, and its stretched knee (slightly bent) with 3e-3.
BLENDER: dict[str, Any] = {
    "pole_001": (
        [[-0.1673509, 0.03399894, 0.83995247], [-0.1673509, -0.058961067, 0.37346217]],
        [-0.1673509, 0.0025761612, 0.064657092],
        [-0.43336499, -0.28396866, 0.41319996],
        [0.9395647, 0.81276321, 0.83240414],
        [[-0.17321929, -0.10863905, 0.38621819], [-0.43336859, -0.28397307, 0.41319418]],
    ),
    "pole_003": (
        [[-0.25607947, 0.0071596983, 0.84948862], [-0.25607947, -0.066255301, 0.42108336]],
        [-0.25607947, 0.015273511, -0.054669172],
        [-0.19681343, -0.11305708, 0.86058891],
        [-1.1627737, -0.41063347, 1.0707388],
        [[-0.67298198, -0.08260271, 0.93348753], [-0.19680387, -0.11305229, 0.86058652]],
    ),
    "pole_000, out of reach": (
        [[0.090560682, -0.25653824, 0.96076459], [0.090560682, -0.32685474, 0.56988919]],
        [0.090560682, -0.26572642, 0.23008898],
        [0.75634325, -0.68079531, 0.83886546],
        [-0.085911393, -0.69081402, 0.69340962],
        [[0.42112994, -0.46803793, 0.89977384], [0.70930445, -0.65084887, 0.84746248]],
    ),
}


@pytest.mark.parametrize(("upper", "end", "target", "pole", "expected"), BLENDER.values(), ids=BLENDER)
def test_blender(upper: Any, end: Any, target: Any, pole: Any, expected: Any, dtype: Any, isa: str) -> None:
    limb = checked(*posed(dtype, upper[0], upper[1], end), target, pole=pole)
    knee, tip = norm(limb.positions[1:] - np.array(expected))
    assert knee <= (5e-4 if limb.status == 0 else 3e-3)
    assert tip <= 5e-4


# A spider (rcorre/wildjam-39, Spider.glb, MIT), baked by its author with Blender's IK. The pole is a point, four times
# as far from the line as the knee. Reproduced to 1e-4.
SPIDER: dict[str, Any] = {
    # bones, hip, target, pole, knee
    "Attack, Front.L": (
        *([0.37004684, 0.26439886], [0.070605151, 0.14000001, 0.066709697], [0.28972459, 0.0020359305, 0.59034055]),
        *([0.078663594, 0.61163616, 0.18760228], [0.20369992, 0.17537711, 0.41017577]),
    ),
    "Attack, MidFront.L": (
        *([0.34998313, 0.28552352], [0.091705523, 0.144446, 0.067390504], [0.65492356, 0.0020359305, 0.088800557]),
        *([0.21325087, 0.63537779, 0.13544741], [0.4378357, 0.1873429, 0.09640735]),
    ),
    "Attack, MidBack.L": (
        *([0.35761602, 0.27507203], [0.08845932, 0.13896752, 0.025546846], [0.64193875, 0.0020359305, -0.10110293]),
        *([0.20363924, 0.60657722, 0.023329509], [0.4363609, 0.17692252, -0.048026969]),
    ),
    "Idle-loop, Back.L": (
        *([0.33905211, 0.28269963], [0.10306728, 0.18640582, -0.048530884], [0.49261293, 0.0020359308, -0.44682467]),
        *([0.22433449, 0.57232082, -0.10856695], [0.34797329, 0.18132064, -0.2829482]),
    ),
    "Walk-loop, Front.R": (
        *([0.37004694, 0.26439883], [-0.070605159, 0.14000001, 0.26670967], [-0.28972456, 0.0020359303, 0.59034041]),
        *([-0.08560504, 0.998066, 0.62234809], [-0.22666365, 0.25861854, 0.58057296]),
    ),
}


@pytest.mark.parametrize(("bones", "hip", "target", "pole", "knee"), SPIDER.values(), ids=SPIDER)
def test_spider(bones: Any, hip: Any, target: Any, pole: Any, knee: Any, isa: str) -> None:
    mid = np.add(hip, [bones[0], 0, 0])
    limb = checked(hip, mid, np.add(mid, [0, bones[1], 0]), target, pole=pole)
    assert limb.status == 0
    assert_allclose(limb.positions[1], knee, rtol=0, atol=1e-4)


def test_spider_out_of_reach(isa: str) -> None:
    """Walk-loop, MidBack.R: straight, where Blender's leg is bent by a millimetre still."""
    hip = [-0.08845932, 0.14, 0.17871342]
    mid = np.add(hip, [0.35761606, 0, 0])
    limb = checked(hip, mid, np.add(mid, [0, 0.27507208, 0]), [-0.64193875, 0.0020359303, -0.10110296])
    assert limb.status == FAR
    assert norm(limb.positions[1] - [-0.40029469, 0.063154877, 0.021414953]) <= 1e-3
    assert norm(limb.positions[2] - [-0.63961754, 0.0026162049, -0.099928773]) <= 1e-4


# --- left-handed spaces ----------------------------------------------------------------------------------------------


def test_a_left_handed_space_needs_no_conversion(dtype: Any, isa: str) -> None:
    """Mirrored in z, a limb has the mirrored answer: positions with -z, rotations with -x and -y, twist negated."""
    flip, flip_turn = np.array([1, 1, -1], dtype), np.array([1, -1, -1, 1], dtype)
    inputs = limbs(dtype, seed=81, count=200)
    limb = ik.two_bone(**inputs, twist=0.3)
    mirrored = ik.two_bone(**{name: points * flip for name, points in inputs.items()}, twist=-0.3)
    atol = 3e-5 if dtype == np.float32 else 1e-13
    assert_allclose(mirrored.positions, limb.positions * flip, rtol=0, atol=atol)
    assert_allclose(abs((mirrored.root * limb.root * flip_turn).sum(-1)), 1, rtol=0, atol=atol)
    assert_allclose(abs((mirrored.mid * limb.mid * flip_turn).sum(-1)), 1, rtol=0, atol=atol)


# --- whole sets ------------------------------------------------------------------------------------------------------


def near(found: ArrayLike, expected: ArrayLike | None, atol: float) -> bool:
    return expected is None or bool(norm(np.subtract(found, expected)) <= atol)


@whole_sets
def test_the_whole_vrmmetalkit_set(isa: str) -> None:
    for case in cases("two_bone_positions_vrmmetalkit.json"):
        root, mid, end = (np.array(case[name], float) for name in ("root", "mid", "end"))
        knee = root + case["upper_length"] * unit(mid - root)
        ankle = knee + case["lower_length"] * unit(end - mid)
        limb = checked(root, knee, ankle, case["target"], bend=case["pole"])
        derived, atol = case["expect"].get("derived"), case["tol"]["position"] * norm(ankle - root)
        if derived:
            assert near(limb.positions[1], derived.get("mid_position"), atol), case["id"]
            assert near(limb.positions[2], derived.get("end_position"), atol), case["id"]
            assert (limb.status & (FAR | NEAR) == 0) == derived["reached"], case["id"]


@whole_sets
def test_the_whole_ozz_set(isa: str) -> None:
    for case in cases("two_bone_ozz.json"):
        matrices = [np.array(case[name])[:3] for name in ("start", "mid", "end")]
        rotations = [pure(matrix[:, :3]) for matrix in matrices]
        limb = solve_quietly(
            *(matrix[:, 3] for matrix in matrices),
            case["target"],
            bend=case["pole"],
            hinge=-rotate(rotations[1], case["mid_axis"]),
            **{name: case[name] for name in ("twist", "soften")},
            influence=case["weight"],
        )
        expect = case["expect"]
        if expect["reached"] is not None:
            assert (limb.status & ~Status.POLE_UNDEFINED == 0) == expect["reached"], case["id"]
        for found, q in zip(corrections(limb, *rotations[:2]), (expect["start_q"], expect["mid_q"]), strict=True):
            if q is not None:
                expected = ik.rotations.canonical(ik.rotations.from_xyzw(q))
                assert near(found, expected, 1e-3 if "nearly" in case["id"] else 1e-12), case["id"]


def pure(matrix: Any) -> Any:
    """The rotation in a matrix that scales and mirrors too."""
    scale = np.cbrt(np.linalg.det(matrix))
    return ik.rotations.from_matrix(matrix / scale) if scale else np.array(NO_TURN, float)


@whole_sets
def test_the_whole_blender_pole_set(isa: str) -> None:
    poles = [case for case in cases("blender_ik_oracle.json") if case["kind"] == "pole"]
    assert len(poles) > 50
    for case in poles:
        root, mid, end = case["rest"]
        limb = checked(root, mid, end, case["target"], pole=case["pole_point"])
        assert (limb.status == 0) == case["reachable"], case["id"]
        assert near(limb.positions[1], case["expect"]["positions"][1], 5e-4 if case["reachable"] else 3e-3), case["id"]
        assert near(limb.positions[2], case["expect"]["positions"][2], 5e-4), case["id"]


@whole_sets
def test_the_whole_spider(isa: str) -> None:
    for leg in cases("two_bone_spider_blender.json"):
        hip, target, knee, tip = (np.array(a) for a in (leg["hip"], leg["target"], *leg["expect"].values()))
        mid = hip + np.array([leg["l1"], 0, 0])
        stretched = [pole is None for pole in leg["pole_point"]]
        pole = np.array([[0, 1, 0] if pole is None else pole for pole in leg["pole_point"]], float)
        limb = checked(hip, mid, mid + np.array([0, leg["l2"], 0]), target, pole=pole)
        reached = np.array(leg["reachable"]) & ~np.array(stretched)
        assert (norm(limb.positions[:, 1] - knee) <= np.where(reached, 1e-4, 1e-3)).all(), leg["id"]
        assert (norm(limb.positions[:, 2] - tip)[reached] <= 1e-4).all(), leg["id"]
