"""The momentum of masses as joints turn and slide, by differences; and joints as willing as they are strong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik

Array = Any
RNG = np.random.default_rng(3)
COUNT = 7
PARENTS = [2, 0, -1, 2, 3, 3, -1]  # children before parents as well, and a second root
MASSES, CENTRES = RNG.uniform(0, 3, COUNT), RNG.normal(scale=0.3, size=(COUNT, 3))
TREE = ik.Skeleton(PARENTS, RNG.normal(size=(COUNT, 3)), masses=MASSES, centres=CENTRES)
_ROOTS = RNG.normal(size=(COUNT, 3, 3))
INERTIAS = _ROOTS @ np.swapaxes(_ROOTS, -1, -2)
GRAVITY = np.array([0.4, -9.8, 1.0])


def any_pose(*shape: int) -> ik.Pose:
    rng = np.random.default_rng(5)
    turned = ref.unit(rng.normal(size=(*shape, COUNT, 4)))
    return ik.Pose(turned, TREE.offsets + 0.1 * rng.normal(size=(*shape, COUNT, 3)))


def moved(pose: ik.Pose, column: int, by: float) -> ik.Pose:
    """A joint turned about an axis of the world, or slid along it."""
    world, (kind, joint, axis) = TREE.forward(pose), np.unravel_index(column, (2, COUNT, 3))
    rotations, places, along = pose.rotations.copy(), np.array(pose.translations), by * np.eye(3)[axis]
    above = world.rotations[PARENTS[joint]] if PARENTS[joint] >= 0 else np.array([1.0, 0, 0, 0])
    if kind == 0:
        local = ik.rotations.rotate(ik.rotations.conjugate(world.rotations[joint]), along)
        rotations[joint] = ik.rotations.multiply(rotations[joint], ik.rotations.exp(local))
    else:
        places[joint] += ik.rotations.rotate(ik.rotations.conjugate(above), along)
    return ik.Pose(rotations, places)


def at(pose: ik.Pose) -> tuple[Array, Array]:
    """Positions and rotations of the masses."""
    world = TREE.forward(pose)
    return world.positions + ik.rotations.rotate(world.rotations, CENTRES), world.rotations


@pytest.mark.parametrize("inertias", [None, INERTIAS])
def test_momentum_is_what_differences_come_to(inertias: Array) -> None:
    pose, h = any_pose(), 1e-5
    found = ik.masses.momentum(TREE, pose, inertias)
    assert found.shape == (6, 6 * COUNT)
    places, turned = at(pose)
    centre = MASSES @ places / MASSES.sum()
    own = np.zeros((COUNT, 3, 3)) if inertias is None else inertias
    frames = ik.rotations.to_matrix(turned)
    for column in range(6 * COUNT):
        (before, turned_before), (after, turned_after) = (at(moved(pose, column, by)) for by in (-h, h))
        speed = (after - before) / (2 * h)
        spin = ik.rotations.log(ik.rotations.multiply(turned_after, ik.rotations.conjugate(turned_before))) / (2 * h)
        angular = np.einsum("j,ji->i", MASSES, np.cross(places - centre, speed))
        angular += np.einsum("jik,jkl,jml,jm->i", frames, own, frames, spin)
        assert_allclose(found[:, column], [*(MASSES @ speed), *angular], atol=1e-8)


def test_what_weighs_pulls_at_joints_by_the_slope_of_its_height() -> None:
    """And divided by all masses it is how their centre moves."""
    pose, h = any_pose(), 1e-5
    found = ik.masses.momentum(TREE, pose)[:3]
    for column in range(6 * COUNT):
        before, after = (MASSES @ at(moved(pose, column, by))[0] for by in (-h, h))
        assert_allclose(found[:, column] @ GRAVITY, (after - before) @ GRAVITY / (2 * h), atol=1e-7)


def test_batches_and_types_of_momentum() -> None:
    pose = any_pose(3, 2)
    whole = ik.masses.momentum(TREE, pose, INERTIAS)
    assert whole.shape == (3, 2, 6, 6 * COUNT)
    assert_allclose(whole[1, 1], ik.masses.momentum(TREE, pose[1, 1], INERTIAS), rtol=1e-12, atol=1e-13)
    single = ik.Pose(pose.rotations.astype(np.float32), np.asarray(pose.translations, np.float32))
    found = ik.masses.momentum(TREE, single, INERTIAS)
    assert found.dtype == np.float32
    assert_allclose(found, whole, atol=2e-4)


def test_in_flight_a_body_turns_against_its_hand() -> None:
    """Weightless, it keeps its angular momentum, none, and the place of its centre, while a hand goes elsewhere."""
    hips, hand = 0, 4
    free = ik.Limit.free(position=((-np.inf,) * 3, (np.inf,) * 3))
    offsets = np.array([[0, 1, 0], [0, 0.5, 0], [0.2, 0, 0], [0.3, 0, 0], [0.27, 0, 0], [-0.1, -0.9, 0]])
    body = ik.Skeleton([-1, 0, 1, 2, 3, 0], offsets, limits={hips: free}, masses=[20, 25, 2, 2, 1, 12])
    bent = np.zeros((6, 3))
    bent[1:4] = [[0, 0.1, 0], [0, 0.5, 0], [0, -1.2, 0]]
    first = pose = ik.Pose(ik.rotations.exp(bent))
    start = body.forward(first).positions[hand]
    target = start + np.array([-0.1, 0.2, 0.1])
    for _ in range(40):
        world, every = body.forward(pose), ik.masses.momentum(body, pose)
        columns = [*range(18), *range(18, 21)]  # all turn, the hips slide
        reach = np.concatenate([ik.solvers.jacobian(body, pose, hand)[:3], np.eye(3)], axis=1)
        kept, wanted = every[:, columns], target - world.positions[hand]
        step = np.linalg.pinv(np.concatenate([kept, reach])) @ np.concatenate([np.zeros(6), wanted])
        step /= max(1, np.abs(step).max() / 0.1)
        assert np.abs(kept @ step).max() < 1e-12
        turns = ik.rotations.rotate(ik.rotations.conjugate(world.rotations), step[:18].reshape(6, 3))
        slid = body.offsets.copy() if pose.translations is None else pose.translations.copy()
        slid[hips] += step[18:]
        pose = ik.Pose(ik.rotations.multiply(pose.rotations, ik.rotations.exp(turns)), slid)
    after = body.forward(pose).positions
    assert np.linalg.norm(after[hand] - target) < 1e-12
    assert np.linalg.norm(ik.rotations.log(pose.rotations[hips])) > 0.02
    centre = body.masses / body.masses.sum() @ after
    assert_allclose(centre, body.masses / body.masses.sum() @ body.forward(first).positions, atol=0.02)


def test_inertias_of_the_skeleton_count() -> None:
    heavy = ik.Skeleton(PARENTS, TREE.offsets, masses=MASSES, centres=CENTRES, inertias=INERTIAS)
    assert_allclose(
        ik.masses.momentum(heavy, any_pose()), ik.masses.momentum(TREE, any_pose(), INERTIAS), rtol=1e-13, atol=1e-13
    )
    assert_allclose(
        ik.masses.momentum(heavy, any_pose(), 0 * INERTIAS),
        ik.masses.momentum(TREE, any_pose()),
        rtol=1e-13,
        atol=1e-13,
    )


def test_momentum_without_masses_and_inertias_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="no joint weighs anything"):
        ik.masses.momentum(ik.Skeleton([-1, 0], np.eye(3)[:2]), ik.Pose([[1.0, 0, 0, 0]] * 2))
    with pytest.raises(ValueError, match="inertias: expected shape"):
        ik.masses.momentum(TREE, TREE.rest, INERTIAS[:2])
    with pytest.raises(ValueError, match="without scales"):
        ik.masses.momentum(TREE, ik.Pose(TREE.rest.rotations, scales=np.full((COUNT, 3), 2.0)))


# --- strength ---------------------------------------------------------------------------------------------------------

ARM = ik.Skeleton.chain([[0, 0, 0], [3, 0, 0], [5, 0, 0], [6, 0, 0]])
GOAL = [ik.Reach(3, [4, 2, 1])]


def turned_by(found: ik.Solution) -> Array:
    return np.linalg.norm(ik.rotations.log(found.pose.rotations), axis=-1)


@pytest.mark.parametrize(
    "method", ["dls", "pinv", "svf", "sdls", "sns", "newton", "gauss_seidel", "transpose", "lbfgsb"]
)
def test_a_weak_joint_turns_less_and_the_hand_is_there_all_the_same(method: str) -> None:
    even = ik.masses.as_strong(ARM, dict.fromkeys(range(3), 55))
    weak = ik.masses.as_strong(ARM, {0: 80, 1: 8, 2: 80})
    plain, same, less = (ik.solve(skeleton, ARM.rest, GOAL, method, iterations=1000) for skeleton in (ARM, even, weak))
    assert plain.status == same.status == less.status == 0
    assert_allclose(same.pose.rotations, plain.pose.rotations, atol=1e-9)  # as strong as each other: as without
    assert turned_by(less)[1] < 0.6 * turned_by(plain)[1]


def test_stiffness_is_what_is_lacking_to_the_strongest() -> None:
    hinge = ik.Limit.hinge([0, 1, 0], 0, 2, stiffness=0.3)
    arm = ik.Skeleton.chain(np.eye(3), names=["shoulder", "elbow", "hand"], limits=[None, hinge, hinge])
    strong = ik.masses.as_strong(arm, {"shoulder": [40, 80, 20], 1: 1})
    shoulder, elbow = strong.limits[0], strong.limits[1]
    assert shoulder is not None
    assert elbow is not None
    assert_allclose(shoulder.stiffness, [0.5, 0, 0.75])
    assert_allclose(elbow.stiffness, 0.95)
    assert elbow.twist == hinge.twist
    assert strong.limits[2] == hinge
    assert_array_equal(ik.masses.as_strong(TREE, {}).masses, MASSES)
    assert ik.masses.as_strong(TREE, {}) == TREE


@pytest.mark.parametrize("strength", [0, -1, np.nan, [1, 2], "much"])
def test_what_is_no_strength_is_refused(strength: Any) -> None:
    with pytest.raises(ValueError, match=r"strengths: expected one number or three"):
        ik.masses.as_strong(ARM, {0: strength})
    with pytest.raises(TypeError, match="expected a mapping"):
        ik.masses.as_strong(ARM, [1, 2, 3])  # type: ignore[arg-type]


def test_a_joint_has_one_strength() -> None:
    arm = ik.Skeleton.chain(np.eye(3), names=["shoulder", "elbow", "hand"])
    with pytest.raises(ValueError, match="every joint once"):
        ik.masses.as_strong(arm, {"shoulder": 40, "elbow": 70, 0: 80})
