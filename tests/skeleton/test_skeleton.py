"""Skeletons and forward kinematics, against plain matrix products in double precision."""

from __future__ import annotations

import copy
import pickle
import random
import struct
import warnings
from typing import Any

import numpy as np
import pytest
from conftest import instruction_sets
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core

Array = NDArray[Any]
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}

# --- the truth -------------------------------------------------------------------------------------------------------


def matrix(q: Array) -> Array:
    w, x, y, z = np.asarray(q, float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def world_matrices(skeleton: ik.Skeleton, pose: ik.Pose) -> Array:
    """(joints, 4, 4): what every joint of one pose does to points, as glTF has it."""
    found: dict[int, Array] = {-1: np.eye(4)}
    while len(found) <= len(skeleton):
        for joint, parent in enumerate(skeleton.parents.tolist()):
            if parent in found:
                local = np.eye(4)
                local[:3, :3] = matrix(pose.rotations[joint])
                local[:3, :3] *= 1 if pose.scales is None else pose.scales[joint]
                local[:3, 3] = skeleton.offsets[joint] if pose.translations is None else pose.translations[joint]
                found[joint] = found[parent] @ local
    return np.array([found[joint] for joint in range(len(skeleton))])


def nearest_rotation(m: Array) -> Array:
    """The polar factor, never a reflection."""
    u, _, vt = np.linalg.svd(m)
    rotation: Array = u @ np.diag([1, 1, np.sign(np.linalg.det(u @ vt))]) @ vt
    return rotation


# --- skeletons and poses ---------------------------------------------------------------------------------------------


def tree(joints: int, seed: int = 0, roots: int = 1) -> ik.Skeleton:
    """A random tree, its joints in random order."""
    numbers = np.random.default_rng(seed)
    parents = np.array([-1 if i < roots else numbers.integers(max(0, i - 4), i) for i in range(joints)])
    order = numbers.permutation(joints)
    place = np.argsort(order)
    shuffled = np.array([-1 if parents[i] < 0 else place[parents[i]] for i in order])
    return ik.Skeleton(shuffled, numbers.normal(size=(joints, 3)), numbers.normal(size=(joints, 4)))


def poses(skeleton: ik.Skeleton, *shape: int, dtype: Any = np.float64, scaled: bool = False, seed: int = 1) -> ik.Pose:
    numbers = np.random.default_rng(seed)
    rotations = numbers.normal(size=(*shape, len(skeleton), 4)).astype(dtype)
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    translations = numbers.normal(size=(*shape, len(skeleton), 3)).astype(dtype)
    scales = numbers.uniform(0.6, 1.5, (*shape, len(skeleton), 3)).astype(dtype) if scaled else None
    return ik.Pose(rotations, translations, scales)


def raw(world: ik.skeleton.World) -> tuple[bytes, bytes]:
    return world.positions.tobytes(), world.rotations.tobytes()


def check(skeleton: ik.Skeleton, pose: ik.Pose, tolerance: float) -> None:
    """One pose against the truth: positions, rotations, unit length."""
    world, truth = skeleton.forward(pose), world_matrices(skeleton, pose)
    size = max(1.0, np.abs(truth[:, :3]).max())
    np.testing.assert_allclose(world.positions, truth[:, :3, 3], atol=tolerance * size)
    np.testing.assert_allclose(np.linalg.norm(world.rotations, axis=-1), 1, atol=tolerance / 100)
    for joint in range(len(skeleton)):
        np.testing.assert_allclose(
            matrix(world.rotations[joint]), nearest_rotation(truth[joint, :3, :3]), atol=100 * tolerance
        )


# --- forward ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("translated", [False, True])
@pytest.mark.parametrize("roots", [1, 3])
def test_positions_and_rotations_are_those_of_matrix_products(
    dtype: Any, isa: str, translated: bool, roots: int
) -> None:
    skeleton = tree(17, roots=roots)
    for seed in range(5):
        pose = poses(skeleton, dtype=dtype, seed=seed)
        check(skeleton, pose if translated else ik.Pose(pose.rotations), TOLERANCE[dtype])


@pytest.mark.parametrize("joints", [2, 5, 9])
def test_scales_shear_as_in_gltf(dtype: Any, isa: str, joints: int) -> None:
    skeleton = tree(joints)
    for seed in range(10):
        check(skeleton, poses(skeleton, dtype=dtype, scaled=True, seed=seed), TOLERANCE[dtype])


def test_rotations_of_any_length_count_as_unit_and_zero_as_none() -> None:
    skeleton = tree(6)
    pose = poses(skeleton)
    longer = pose.rotations * np.array([1e-200, 3, -2, 1e150, 0.5, 1])[:, None]
    np.testing.assert_allclose(
        skeleton.forward(ik.Pose(longer)).positions, skeleton.forward(ik.Pose(pose.rotations)).positions, atol=1e-12
    )
    none = skeleton.forward(ik.Pose(np.zeros((6, 4))))
    np.testing.assert_array_equal(none.rotations, np.tile([1.0, 0, 0, 0], (6, 1)))


def test_even_scales_leave_the_product_of_the_rotations(dtype: Any, isa: str) -> None:
    skeleton = tree(9)
    pose = poses(skeleton, 40, dtype=dtype)
    sizes = np.random.default_rng(3).choice(np.array([0, 0.5, 1, 2], dtype), (40, 9, 1))
    scaled = skeleton.forward(ik.Pose(pose.rotations, pose.translations, np.broadcast_to(sizes, (40, 9, 3))))
    np.testing.assert_array_equal(scaled.rotations, skeleton.forward(pose).rotations)


def test_a_flattened_or_mirrored_joint_keeps_its_rotation(dtype: Any, isa: str) -> None:
    """If several rotations are equally near to the matrix, the product of the rotations decides."""
    skeleton = tree(1)
    for scale in ([0, 1, 1], [0, 0, 2], [0, 0, 0], [-1, 1, 1], [1, -1, 1], [1, 1, -1]):
        pose = ik.Pose(poses(skeleton, dtype=dtype).rotations, scales=np.array([scale], dtype))
        found = skeleton.forward(pose).rotations
        np.testing.assert_allclose(found, pose.rotations, atol=TOLERANCE[dtype], err_msg=str(scale))


@pytest.mark.parametrize("scale", [[-1.5, 1, 1.2], [-1, -2, -3], [-1, -1, 1], [0, 1, 2]])
def test_mirrored_and_flattened_parents_against_the_truth(scale: list[float], isa: str) -> None:
    skeleton = tree(5)
    for seed in range(5):
        pose = poses(skeleton, scaled=True, seed=seed)
        assert pose.scales is not None
        scales = pose.scales.copy()
        scales[skeleton.parents < 0] = scale
        check(skeleton, ik.Pose(pose.rotations, pose.translations, scales), 1e-12)


def test_a_long_chain_stays_exact(dtype: Any) -> None:
    skeleton = ik.Skeleton.chain(np.cumsum(np.random.default_rng(0).normal(size=(2000, 3)), axis=0))
    turn = ik.rotations.exp(np.random.default_rng(1).normal(size=(2000, 3)) * 0.01).astype(dtype)
    world, truth = skeleton.forward(ik.Pose(turn)), world_matrices(skeleton, ik.Pose(turn))
    size = np.abs(truth[:, :3, 3]).max()
    np.testing.assert_allclose(world.positions, truth[:, :3, 3], atol=20 * TOLERANCE[dtype] * size)
    np.testing.assert_allclose(np.linalg.norm(world.rotations, axis=-1), 1, atol=TOLERANCE[dtype] / 20)


# --- the same bits ---------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _restore_isa() -> Any:
    before = _core.isa()
    yield
    _core.use_isa(before)


def nasty(skeleton: ik.Skeleton, count: int, dtype: Any) -> ik.Pose:
    """Now and then a huge, tiny, infinite or missing number, scales that flatten and mirror."""
    numbers, pose = np.random.default_rng(5), poses(skeleton, count, dtype=dtype, scaled=True)
    info = np.finfo(dtype)
    pool = np.array([0, -0.0, -1, info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan], dtype)
    parts = [np.array(part) for part in (pose.rotations, pose.translations, pose.scales)]
    for part in parts:
        chosen = numbers.random(part.shape) < 0.02
        part[chosen] = numbers.choice(pool, int(chosen.sum()))
    return ik.Pose(*parts)


@pytest.mark.parametrize("scaled", [False, True])
def test_every_instruction_set_and_batch_size_gives_the_same_bytes(dtype: Any, scaled: bool) -> None:
    skeleton = tree(7, roots=2)
    pose = nasty(skeleton, 70, dtype)
    if not scaled:
        pose = ik.Pose(pose.rotations, pose.translations)
    singles = [raw(skeleton.forward(pose[k])) for k in range(70)]
    for isa in instruction_sets():
        _core.use_isa(isa)
        for count in (0, 1, 2, 3, 5, 8, 15, 16, 17, 33, 70):
            world = skeleton.forward(pose[70 - count :])
            assert [
                raw(ik.skeleton.World(*item)) for item in zip(world.positions, world.rotations, strict=True)
            ] == singles[70 - count :]
            back = skeleton.local(world)
            assert [back[k].rotations.tobytes() for k in range(count)] == [
                skeleton.local(ik.skeleton.World(world.positions[k], world.rotations[k])).rotations.tobytes()
                for k in range(count)
            ]


def test_permuted_joints_give_permuted_bytes(dtype: Any, isa: str) -> None:
    skeleton = tree(12)
    pose = poses(skeleton, 20, dtype=dtype, scaled=True)
    world = skeleton.forward(pose)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(12)
        place = np.append(np.argsort(order), -1)
        permuted = ik.Skeleton(place[skeleton.parents[order]], skeleton.offsets[order])
        parts = [None if part is None else part[:, order] for part in (pose.rotations, pose.translations, pose.scales)]
        found = permuted.forward(ik.Pose(*parts))  # type: ignore[arg-type]
        assert raw(found) == raw(ik.skeleton.World(world.positions[:, order], world.rotations[:, order]))


def test_layout_in_memory_does_not_matter(dtype: Any, isa: str) -> None:
    skeleton = tree(6)
    pose = poses(skeleton, 21, dtype=dtype, scaled=True)
    expected = raw(skeleton.forward(pose))
    parts = [np.array(part) for part in (pose.rotations, pose.translations, pose.scales)]
    spread = [np.repeat(part, 2, axis=-1)[..., ::2] for part in parts]
    joints_first = [np.ascontiguousarray(part.transpose(1, 0, 2)).transpose(1, 0, 2) for part in parts]
    backwards = [np.ascontiguousarray(part[::-1, ::-1, ::-1])[::-1, ::-1, ::-1] for part in parts]
    for other in (spread, joints_first, backwards):
        assert raw(skeleton.forward(ik.Pose(*other))) == expected


def test_threads_give_the_same_bytes(dtype: Any) -> None:
    skeleton = tree(4)
    pose = poses(skeleton, 40_000, dtype=dtype)
    world = skeleton.forward(pose)
    assert raw(skeleton.forward(pose, workers=3)) == raw(world)
    assert skeleton.local(world, workers=3).rotations.tobytes() == skeleton.local(world).rotations.tobytes()


def test_every_nan_is_canonical_and_stays_in_its_item_and_branch(dtype: Any, isa: str) -> None:
    skeleton = ik.Skeleton([-1, 0, 1, 0], np.ones((4, 3)))
    clean = poses(skeleton, 40, dtype=dtype)
    rotations = clean.rotations.copy()
    rotations[7, 1, 2] = np.nan
    rotations[20, 1, 0] = np.inf
    world, expected = skeleton.forward(ik.Pose(rotations, clean.translations)), skeleton.forward(clean)
    for item in (7, 20):
        assert np.isnan(world.rotations[item, 1:3]).all()
        assert np.isnan(world.positions[item, 2]).all()
    canonical: Any = {np.float32: np.uint32(0x7FC00000), np.float64: np.uint64(0x7FF8 << 48)}[dtype]
    for numbers in (world.positions, world.rotations):
        assert np.all(numbers[np.isnan(numbers)].view(canonical.dtype) == canonical)
    sound = np.ones((40, 4), bool)
    sound[[7, 20], 1:3] = False
    np.testing.assert_array_equal(world.rotations[sound], expected.rotations[sound])
    assert np.isfinite(world.positions[:, 1]).all()


def test_no_floating_point_error_is_raised(dtype: Any, isa: str) -> None:
    skeleton = tree(7)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        skeleton.local(skeleton.forward(nasty(skeleton, 50, dtype)))


# --- and back --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 30), st.integers(0, 10**6), st.integers(1, 3))
def test_local_undoes_forward(joints: int, seed: int, roots: int) -> None:
    skeleton = tree(joints, seed, roots=min(roots, joints))
    pose = poses(skeleton, 3, seed=seed)
    back = skeleton.local(skeleton.forward(pose))
    assert pose.translations is not None
    assert back.translations is not None
    np.testing.assert_allclose(
        ik.rotations.canonical(back.rotations), ik.rotations.canonical(pose.rotations), atol=1e-9
    )
    np.testing.assert_allclose(back.translations, pose.translations, atol=1e-9)


def test_forward_undoes_local(dtype: Any, isa: str) -> None:
    skeleton = tree(8)
    world = skeleton.forward(poses(skeleton, 25, dtype=dtype, scaled=True))
    again = skeleton.forward(skeleton.local(world))
    np.testing.assert_allclose(again.positions, world.positions, atol=30 * TOLERANCE[dtype])
    assert np.abs(np.abs((again.rotations * world.rotations).sum(-1)) - 1).max() < TOLERANCE[dtype]


def test_c_writes_over_its_input() -> None:
    """The contract of the jobs: an output may be the very rows of an input."""
    skeleton = tree(8)
    pose = poses(skeleton, 25)
    world = skeleton.forward(pose)
    assert pose.translations is not None
    data, rotations, translations = skeleton._data, pose.rotations.copy(), pose.translations.copy()
    _core.forward(data, rotations, translations, None, translations, rotations)
    assert raw(ik.skeleton.World(translations, rotations)) == raw(world)
    expected = skeleton.local(world)
    _core.local(data, rotations, translations, rotations, translations)
    np.testing.assert_array_equal(rotations, expected.rotations)
    np.testing.assert_array_equal(translations, expected.translations)


# --- shapes and types ------------------------------------------------------------------------------------------------


def test_leading_axes_broadcast(dtype: Any) -> None:
    skeleton = tree(4)
    pose = poses(skeleton, 3, 5, dtype=dtype, scaled=True)
    assert pose.translations is not None
    assert pose.scales is not None
    mixed = ik.Pose(pose.rotations, pose.translations[:1], pose.scales[0, 0])
    assert mixed.shape == (3, 5)
    world = skeleton.forward(mixed)
    assert world.positions.shape == (3, 5, 4, 3)
    assert world.rotations.dtype == dtype
    for at in np.ndindex(3, 5):
        alone = ik.Pose(pose.rotations[at], pose.translations[0, at[1]], pose.scales[0, 0])
        assert raw(skeleton.forward(alone)) == raw(ik.skeleton.World(world.positions[at], world.rotations[at]))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_an_empty_batch_is_one(shape: tuple[int, ...]) -> None:
    skeleton = tree(4)
    world = skeleton.forward(poses(skeleton, *shape))
    assert world.positions.shape == (*shape, 4, 3)
    assert skeleton.local(world).shape == shape


def test_the_whole_pose_decides_the_type() -> None:
    single, double = np.ones((2, 4), np.float32), np.ones((2, 3))
    assert ik.Pose(single).dtype == np.float32
    assert ik.Pose(single, double.astype(np.float16)).dtype == np.float32
    assert ik.Pose(single, double).dtype == np.float64
    assert ik.Pose(np.ones((2, 4), int)).dtype == np.float64


def test_a_pose_is_indexed_by_its_leading_axes_and_cannot_be_changed() -> None:
    given = np.random.default_rng(0).normal(size=(6, 5, 4, 4))
    pose = ik.Pose(given, scales=np.ones((4, 3)))
    assert len(pose) == 6
    assert pose[2].shape == (5,)
    assert pose[1:4, ::2].shape == (3, 3)
    assert pose[..., 0].shape == (6,)
    assert pose[np.arange(6) > 3].shape == (2, 5)
    np.testing.assert_array_equal(pose[2, 3].rotations, given[2, 3])
    assert [pose[k].shape for k in range(6)] == [(5,)] * 6
    assert np.shares_memory(pose.rotations, given)
    assert given.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        pose.rotations[0] = 0
    with pytest.raises(AttributeError):
        pose.scales = None  # type: ignore[misc]
    with pytest.raises(IndexError, match=r"no such pose among \(6, 5\)"):
        pose[7]
    with pytest.raises(IndexError, match="joints are not indexed"):
        pose[0, 0, 0]
    with pytest.raises(TypeError, match=r"a single pose has no length; \.joints"):
        len(pose[0, 0])


def test_a_pose_survives_pickling_and_copying() -> None:
    pose = ik.Pose(np.ones((2, 3, 4), np.float32), scales=np.ones((3, 3), np.float32))
    for other in (pickle.loads(pickle.dumps(pose)), copy.copy(pose), copy.deepcopy(pose)):
        np.testing.assert_array_equal(other.rotations, pose.rotations)
        assert other.translations is None
        assert other.dtype == np.float32
        assert not other.rotations.flags.writeable
    assert repr(pose) == "Pose(2 of 3 joints, float32: rotations, scales)"


# --- the skeleton ----------------------------------------------------------------------------------------------------


def test_a_skeleton_says_what_it_is_made_of() -> None:
    names = ["hips", "spine", "head", "leg.L", "leg.R"]
    skeleton = ik.Skeleton([-1, 0, 1, 0, 0], np.arange(15).reshape(5, 3), np.tile([2.0, 0, 0, 0], (5, 1)), names)
    assert skeleton.names == tuple(names)
    assert skeleton.index("leg.L") == skeleton.index(3) == 3
    assert skeleton.children("hips") == (1, 3, 4)
    assert skeleton.children(2) == ()
    np.testing.assert_array_equal(skeleton.rest.rotations, np.tile([1.0, 0, 0, 0], (5, 1)))
    assert skeleton.limits == (None,) * 5
    assert repr(skeleton) == "Skeleton(5 joints: hips, spine, head, leg.L, leg.R)"
    assert repr(ik.Skeleton.chain(np.eye(3)[:1])) == "Skeleton(1 joint: 0)"
    assert repr(tree(9)) == "Skeleton(9 joints: 0, 1, 2, 3, 4, 5, ... 8)"
    for array in (skeleton.parents, skeleton.offsets, skeleton.rest.rotations):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        skeleton.names = ()  # type: ignore[misc]


def test_arrays_of_a_skeleton_outlive_it() -> None:
    offsets = tree(500).offsets
    np.testing.assert_array_equal(offsets, tree(500).offsets)


def test_a_chain_runs_through_its_points(dtype: Any) -> None:
    points = np.random.default_rng(0).normal(size=(6, 3))
    chain = ik.Skeleton.chain(points)
    assert chain.parents.tolist() == [-1, 0, 1, 2, 3, 4]
    np.testing.assert_allclose(chain.forward(chain.rest).positions, points, atol=1e-15)


def kusudamas(skeleton: ik.Skeleton, angle: float) -> ik.Skeleton:
    """The same with limits."""
    limits = [ik.Limit.kusudama([1, 0, 0], [([1, 0, 0], angle), ([0, 1, 0], 0.1)][:count]) for count in (2, 1)]
    return ik.Skeleton(skeleton.parents, skeleton.offsets, skeleton.rest.rotations, skeleton.names, limits)


def test_limits_survive_pickling() -> None:
    skeleton = kusudamas(tree(2), 0.3)
    again = pickle.loads(pickle.dumps(skeleton))
    assert again == skeleton == kusudamas(tree(2), 0.3)
    assert again.limits == skeleton.limits
    assert len(again.limits[0].cones) == 2


def test_equal_skeletons_are_equal_and_survive_pickling() -> None:
    skeleton = ik.Skeleton([-1, 0], np.eye(3)[:2], [[1, 2, 3, 4], [4, 3, 2, 1]], ["a", "b"])
    for other in (pickle.loads(pickle.dumps(skeleton)), copy.copy(skeleton), copy.deepcopy(skeleton)):
        assert other == skeleton
        assert hash(other) == hash(skeleton)
        np.testing.assert_array_equal(other.rest.rotations, skeleton.rest.rotations)
    different = [
        ik.Skeleton([-1, -1], skeleton.offsets, skeleton.rest.rotations, ["a", "b"]),
        ik.Skeleton([-1, 0], skeleton.offsets * 2, skeleton.rest.rotations, ["a", "b"]),
        ik.Skeleton([-1, 0], skeleton.offsets, None, ["a", "b"]),
        ik.Skeleton([-1, 0], skeleton.offsets, skeleton.rest.rotations, ["a", "c"]),
        ik.Skeleton([-1, 0], skeleton.offsets, skeleton.rest.rotations, ["a", "b"], masses=[1, 0]),
        ik.Skeleton([-1, 0], skeleton.offsets, skeleton.rest.rotations, ["a", "b"], preferred=np.eye(4)[:2]),
        ik.Skeleton([-1, 0], skeleton.offsets, skeleton.rest.rotations, ["a", "b"], caps=[0, 1]),
        *(kusudamas(skeleton, angle) for angle in (0.3, 0.4)),
    ]
    for other in different:
        assert other != skeleton
    assert skeleton != "skeleton"


def test_limits_come_by_name_by_index_or_for_each_joint() -> None:
    free = ik.Limit.free()
    chain = [-1, 0, 1], np.eye(3), None, ["a", "b", "c"]
    assert ik.Skeleton(*chain, limits={"b": free, 2: free}).limits == (None, free, free)
    assert ik.Skeleton(*chain, limits=[free, None, None]).limits == (free, None, None)
    with pytest.raises(ValueError, match="two for one joint"):
        ik.Skeleton(*chain, limits={"b": free, 1: free})
    with pytest.raises(ValueError, match=r"limits: expected one \(or None\) for each of the 3 joints, got 1"):
        ik.Skeleton(*chain, limits=[free])
    with pytest.raises(ValueError, match="no joint is called 'd'"):
        ik.Skeleton(*chain, limits={"d": free})
    one = [-1], np.zeros((1, 3)), np.ones((1, 4))
    for wrong in [(9, 1), (-1, 1), (0.5, 1), (np.nan, 1), (0, np.nan)]:
        with pytest.raises(ValueError, match="limits: that of joint 0 is not one"):
            _core.Skeleton(*one, [[*wrong, *(0,) * 33]])
    with pytest.raises(ValueError, match="limits: expected rows of 35 numbers, got 2"):
        _core.Skeleton(*one, [[0, 1]])


@pytest.mark.parametrize("kind", [4, 5])
@pytest.mark.parametrize(("said", "given"), [(0, 0), (1, 0), (2, 1), (17, 16), (1.5, 2), (np.nan, 1), (-1, 1), (1, 1)])
def test_a_kusudama_has_as_many_cones_as_it_says(kind: int, said: float, given: int) -> None:
    one = [-1], np.zeros((1, 3)), np.ones((1, 4))
    limits = [[kind, 1, *(0,) * 32, said]]
    if (kind, said, given) in ((5, 1, 1), (4, 0, 0)):
        assert _core.Skeleton(*one, limits, None, np.ones((given, 4)))
        return
    with pytest.raises(ValueError, match="limits: that of joint 0 is not one"):
        _core.Skeleton(*one, limits, None, np.ones((given, 4)))


def test_cones_of_the_c_object_are_checked() -> None:
    one = [-1], np.zeros((1, 3)), np.ones((1, 4))
    far: Any = [[1, 0, 0, 1], [1, np.inf, 0, 1]]
    with pytest.raises(ValueError, match="cones: that at 1 is not finite"):
        _core.Skeleton(*one, np.array([[5, 1, *(0,) * 32, 2]]), None, far)
    with pytest.raises(ValueError, match="cones: expected rows of 4 numbers, got 3"):
        _core.Skeleton(*one, np.array([[5, 1, *(0,) * 32, 1]]), None, [[1, 0, 0]])
    with pytest.raises(ValueError, match=r"expected at most .* joints, and 16 cones for each, got 1 and 17"):
        _core.Skeleton(*one, None, None, np.ones((17, 4)))


INERTIAS = np.array([[[3, 1, 0], [1, 2, 0.5], [0, 0.5, 4]], np.zeros((3, 3))])


def weighed(**numbers: Any) -> ik.Skeleton:
    """A skeleton of two joints with rest rotations."""
    return ik.Skeleton([-1, 0], np.eye(3)[:2], [[1, 1, 0, 0], [2, 0, 0, 0]], ["a", "b"], **numbers)


def test_joints_weigh_nothing_and_prefer_rest_unless_said() -> None:
    plain = weighed()
    np.testing.assert_array_equal(plain.masses, [0, 0])
    np.testing.assert_array_equal(plain.centres, np.zeros((2, 3)))
    np.testing.assert_array_equal(plain.preferred.rotations, plain.rest.rotations)
    heavy = weighed(masses=[3, 1], centres=[[0, 1, 0], [0, 0, 2]])
    np.testing.assert_array_equal(heavy.masses, [3, 1])
    np.testing.assert_array_equal(heavy.centres, [[0, 1, 0], [0, 0, 2]])
    np.testing.assert_array_equal(heavy.preferred.rotations, plain.rest.rotations)
    bent = weighed(preferred=[[0, 2, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(bent.preferred.rotations, [[0, 1, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(bent.masses, [0, 0])
    np.testing.assert_array_equal(bent.caps, [0, 0])
    capped = weighed(caps=[0.5, np.inf])
    np.testing.assert_array_equal(capped.caps, [0.5, np.inf])
    np.testing.assert_array_equal(capped.preferred.rotations, plain.rest.rotations)


@pytest.mark.parametrize(
    "numbers",
    [
        {"masses": [3, 1]},
        {"masses": [3, 1], "centres": [[0, 1, 0], [0, 0, 2]], "preferred": [[1, 2, 3, 4], [1, 0, 1, 0]]},
        {"preferred": [[1, 2, 3, 4], [1, 0, 1, 0]]},
        {"masses": [0, 0], "centres": [[0, 1, 0], [0, 0, 2]]},
        {"masses": [0, 0]},
        {"caps": [0.5, 0]},
        {"masses": [0, 0], "inertias": INERTIAS},
        {"compliances": [0.5, 0]},
    ],
    ids=" ".join,
)
def test_what_joints_weigh_and_prefer_pickles_and_cannot_be_changed(numbers: dict[str, Any]) -> None:
    skeleton = weighed(**numbers)
    again = pickle.loads(pickle.dumps(skeleton))
    assert again == skeleton
    np.testing.assert_array_equal(again.masses, skeleton.masses)
    np.testing.assert_array_equal(again.preferred.rotations, skeleton.preferred.rotations)
    np.testing.assert_array_equal(again.caps, skeleton.caps)
    np.testing.assert_array_equal(again.inertias, numbers.get("inertias", np.zeros((2, 3, 3))))
    np.testing.assert_array_equal(again.compliances, numbers.get("compliances", [0, 0]))
    for array in (skeleton.masses, skeleton.centres, skeleton.caps, skeleton.preferred.rotations, weighed().masses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ({"masses": [1]}, r"masses: expected shape \(2,\), one for each parent, got \(1,\)"),
        ({"masses": 1}, r"masses: expected shape \(2,\), one for each parent, got \(\)"),
        ({"masses": [1, -1]}, "masses: that of joint 1 is negative or not finite"),
        ({"masses": [np.nan, 1]}, "masses: that of joint 0 is negative or not finite"),
        ({"masses": [np.inf, 1]}, "masses: that of joint 0 is negative or not finite"),
        ({"centres": np.zeros((2, 3))}, "centres: they belong to masses, and there are none"),
        ({"masses": [1, 1], "centres": np.eye(3)}, r"centres: expected shape \(2, 3\), one for each parent, got"),
        ({"masses": [1, 1], "centres": [[0, 0, 0], [np.inf, 0, 0]]}, "centres: that of joint 1 is not finite"),
        ({"inertias": INERTIAS}, "inertias: they belong to masses, and there are none"),
        ({"masses": [1, 1], "inertias": np.eye(3)}, r"inertias: expected shape \(2, 3, 3\), one for each joint, got"),
        ({"masses": [1, 1], "inertias": np.triu(INERTIAS)}, "inertias: expected symmetric matrices"),
        ({"masses": [1, 1], "inertias": np.full((2, 3, 3), np.inf)}, "inertias: that of joint 0 is not finite"),
        ({"compliances": [0, -1]}, "compliances: that of joint 1 is negative or not finite"),
        ({"compliances": [np.inf, 0]}, "compliances: that of joint 0 is negative or not finite"),
        ({"preferred": [[1, 0, 0, 0]]}, r"preferred: expected shape \(2, 4\), one for each parent, got \(1, 4\)"),
        ({"preferred": [[1, 0, 0, 0], [0, 0, 0, 0]]}, "preferred: the rotation of joint 1 is zero"),
        ({"preferred": [[1, 0, 0, np.nan], [1, 0, 0, 0]]}, "preferred: the rotation of joint 0 is not finite"),
    ],
)
def test_what_no_joint_can_weigh_or_prefer_ends_in_a_sentence(numbers: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        weighed(**numbers)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0], [[0, 0, 0]]), "parents: joint 0 is its own parent; expected a tree, whose root has parent -1"),
        (([-1, 2, 1], np.eye(3)), r"parents: joint \d is its own ancestor"),
        (([-1, 2], np.eye(3)[:2]), "parents: joint 1 has parent 2; expected a joint, 0 to 1, or -1 for none"),
        (([-2], [[0, 0, 0]]), "parents: joint 0 has parent -2"),
        (([2**40], [[0, 0, 0]]), "parents: joint 0 has parent 1099511627776"),
        (([2**64 - 1], [[0, 0, 0]]), "parents: joint 0 has parent 2147483647"),
        (([-1.0], [[0, 0, 0]]), "parents: expected a list of whole numbers, got float64"),
        (([[-1]], [[0, 0, 0]]), r"parents: expected a list of whole numbers, got int64 of shape \(1, 1\)"),
        (([], np.empty((0, 3))), "parents: expected at least one joint, got none"),
        ((np.empty(0, int), np.empty((0, 3))), "parents: expected at least one joint, got none"),
        (([-1, 0], [[0, 0, 0]]), r"offsets: expected shape \(2, 3\), one for each parent, got \(1, 3\)"),
        (([-1], [[0, 0]]), r"offsets: expected an array of shape \(..., 3\), got shape \(1, 2\)"),
        (([-1, 0], [[0, 0, 0], [0, np.nan, 0]]), "offsets: that of joint 1 is not finite"),
        (([-1], [[0, 0, 0]], [[np.inf, 0, 0, 0]]), "rest: the rotation of joint 0 is not finite"),
        (([-1], [[0, 0, 0]], [[0, 0, 0, 0]]), "rest: the rotation of joint 0 is zero, which is none; expected"),
        (([-1], [[0, 0, 0]], [1, 0, 0, 0]), r"rest: expected shape \(1, 4\), one for each parent, got \(4,\)"),
        (([-1, 0], np.eye(3)[:2], None, ["a", "a"]), "names: expected all different, got more than once: a"),
        (([-1, 0], np.eye(3)[:2], None, ["a"]), "names: expected one for each of the 2 joints, got 1"),
        (([-1], [[0, 0, 0]], None, "a"), "names: expected a list of strings, got 'a'"),
        (([-1], [[0, 0, 0]], None, [1]), r"names: expected a list of strings, got \[1\]"),
        (([-1], [[0, 0, 0]], None, 1), "names: expected a list of strings, got 1"),
        (([-1, [0]], np.eye(3)[:2]), "parents: expected a list of whole numbers, got rows of different lengths"),
        (([-1, None], np.eye(3)[:2]), "parents: expected a list of whole numbers, got object"),
        (([-1], [[0, 0, 0]], None, None, ["hinge"]), "limits: expected a Limit, or None for a free joint, got 'hinge'"),
        (([-1], [[0, 0, 0]], None, None, {0: 1.5}), "limits: expected a Limit, or None for a free joint, got 1.5"),
        (([-1], [[0, 0, 0]], None, None, "x"), "limits: expected a mapping or a list of Limit, got 'x'"),
        (([-1], [[0, 0, 0]], None, None, ik.Limit.free()), "limits: expected a mapping or a list of Limit, got Limit"),
        (([-1], [[0, 0, 0]], None, None, {ik.Limit.free()}), "limits: expected a mapping or a list of Limit, got {"),
        (([-1, 0], np.eye(3)[:2], None, None, {True: None}), "expected the name or index of a joint, got True"),
        (([-1], [["0", "0", "0"]]), r"offsets: expected real numbers, got \[\['0', '0', '0'\]\]"),
    ],
)
def test_what_is_not_a_skeleton_ends_in_a_sentence(arguments: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        ik.Skeleton(*arguments)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda s: s.index("nee"), "no joint is called 'nee'; did you mean 'knee'?"),
        (lambda s: s.index("NEES"), "no joint is called 'NEES'; did you mean 'knee'?"),
        (lambda s: s.index("zzz"), "no joint is called 'zzz'; there are hip, knee"),
        (lambda s: s.index(2), "expected a joint, 0 to 1, got 2"),
        (lambda s: s.index(-1), "expected a joint, 0 to 1, got -1"),
        (lambda s: s.index(1.0), "expected the name or index of a joint, got 1.0"),
        (lambda s: s.index(True), "expected the name or index of a joint, got True"),
        (lambda s: s.index(np.array([1])), "expected the name or index of a joint, got array"),
        (
            lambda s: s.reach("knee", True),
            "chain: expected a joint's name, or how many joints above may turn, got True",
        ),
        (lambda s: s.reach("knee", 0.5), "chain: expected a joint's name, or how many joints above may turn, got 0.5"),
        (lambda s: s.reach("knee", pose=1), "pose: expected a Pose, got int"),
        (lambda s: ik.solvers.jacobian([], s.rest, 1), "skeleton: expected a Skeleton, got list"),  # type: ignore[arg-type]
        (lambda s: s.local(s.rest), "world: expected a World, as `forward` gives, got Pose"),
        (lambda s: s.forward(np.ones((2, 4))), r"pose: expected a Pose, got ndarray; ik.Pose\(rotations\) makes one"),
        (lambda s: s.forward(ik.Pose(np.ones((3, 4)))), "pose: expected 2 joints as the skeleton has, got 3"),
        (lambda s: s.forward(s.rest, workers=0), "workers: expected 1 to 1024, or None for all cores, got 0"),
        (lambda s: s.local(ik.skeleton.World(np.ones((2, 3)), np.ones((1, 4)))), "world.rotations: expected 2 joints"),
        (
            lambda s: s.local(ik.skeleton.World(np.ones((2, 2, 3)), np.ones((3, 2, 4)))),
            "world: leading axes do not broadcast",
        ),
        (lambda s: ik.Skeleton.chain([0, 0, 0]), r"points: expected an array of shape \(..., joints, 3\)"),
        (lambda s: ik.Skeleton.chain(np.ones((2, 2, 3))), r"points: expected an array of shape \(joints, 3\)"),
        (lambda s: ik.Pose([1, 0, 0, 0]), r"rotations: expected an array of shape \(..., joints, 4\), got shape"),
        (lambda s: ik.Pose(np.ones((2, 3))), r"rotations: expected an array of shape \(..., 4\), got shape \(2, 3\)"),
        (
            lambda s: ik.Pose(np.ones((2, 4)), np.ones((3, 3))),
            "translations: expected 2 joints as in rotations, got 3",
        ),
        (
            lambda s: ik.Pose(np.ones((5, 2, 4)), None, np.ones((3, 2, 3))),
            r"pose: leading axes do not broadcast: rotations \(5, 2, 4\), scales \(3, 2, 3\)",
        ),
        (lambda s: ik.Pose(np.ones((2, 4), complex)), "rotations: expected real numbers, got complex128"),
        (lambda s: ik.Pose(None), r"rotations: expected an array of shape \(..., joints, 4\), got None"),  # type: ignore[arg-type]
        (lambda s: ik.Pose([np.ones(4), np.ones(3)]), "rotations: .* got rows of different lengths"),
        (lambda s: ik.Pose(s.rest), "rotations: expected real numbers, got Pose"),
    ],
)
def test_a_wrong_call_ends_in_a_sentence(call: Any, sentence: str) -> None:
    skeleton = ik.Skeleton([-1, 0], np.eye(3)[:2], names=["hip", "knee"])
    with pytest.raises((ValueError, TypeError), match=sentence):
        call(skeleton)


# --- the C object ----------------------------------------------------------------------------------------------------

GARBAGE: list[Any] = [
    None, 0, -1, 1.5, 2**100, "joint", b"", [], [[]], [None], [-1], [0], [-1, 0], [-1, 1], [[1, 2, 3]], {}, object(),
    np.zeros((1, 3)), np.zeros((2, 3)), np.full((1, 4), np.nan), np.ones((1, 4)), np.ones((2, 4)), np.ones((1, 35)),
    np.full((1, 35), 1e300), np.zeros((2, 35)), np.zeros((0, 3)), np.array(-1), np.array([-1], np.int8),
    np.zeros((1, 3), "S3"), np.zeros((1, 1, 3)), float("nan"), np.array([-1, 0, 1, 2])[::-1], memoryview(b"abc"),
]  # fmt: skip


def test_the_c_object_survives_any_arguments() -> None:
    numbers, made = random.Random(0), 0
    for _ in range(20_000):
        arguments = numbers.choices(GARBAGE, k=numbers.choice([0, 1, 3, 3, 3, 4, 4, 5, 6]))
        if numbers.random() < 0.5 and len(arguments) > 2:
            arguments[:2] = numbers.choice([([-1], np.zeros((1, 3))), ([-1, 0], np.zeros((2, 3)))])
        try:
            data = _core.Skeleton(*arguments)
        except (TypeError, ValueError, OverflowError):
            continue
        made += 1
        assert len(data.parents) == len(data.rests)
        assert np.isfinite(data.rests).all()
    assert made > 50


def test_the_c_functions_survive_any_arguments() -> None:
    numbers, data = random.Random(1), _core.Skeleton([-1, 0], np.ones((2, 3)), np.ones((2, 4)))
    frozen = np.zeros((5, 2, 3))
    frozen.flags.writeable = False
    odd = np.frombuffer(bytearray(5 * 2 * 4 * 8 + 1), np.uint8)[1:].view(np.float64).reshape(5, 2, 4)
    sound = [np.ones((5, 2, 4)), np.ones((5, 2, 3)), np.ones((5, 2, 3)), np.empty((5, 2, 3)), np.empty((5, 2, 4))]
    wrong = [
        *(None, 3, data, frozen, odd, np.ones((5, 2, 4), np.float32), np.ones((4, 2, 4)), np.ones((5, 3, 3))),
        *(np.ones((5, 2, 4), ">f8"), np.ones((5, 2)), np.ones((5, 2, 4), int), np.ones((5, 2, 4), object)),
    ]
    assert _core.forward(data, *sound) is None  # type: ignore[func-returns-value]
    for _ in range(5000):
        arguments: list[Any] = [data, *sound]
        place, bad = numbers.randrange(6), numbers.choice(wrong)
        arguments[place] = bad
        optional = place in (2, 3) and (bad is None or bad is frozen)
        if optional or (place == 0 and bad is data):
            _core.forward(*arguments)
        else:
            with pytest.raises(TypeError, match="expected"):
                _core.forward(*arguments)
        with pytest.raises(TypeError, match="expected"):
            _core.local(*arguments[: numbers.choice([0, 1, 4, 6])])
    with pytest.raises(TypeError, match="expected a Skeleton"):
        _core.forward("skeleton", *sound)  # type: ignore[arg-type]


def test_the_c_object_cannot_be_changed_or_subclassed() -> None:
    data: Any = _core.Skeleton([-1], np.zeros((1, 3)), np.ones((1, 4)))
    with pytest.raises(AttributeError):
        data.parents = [0]
    with pytest.raises(TypeError):
        type("Other", (_core.Skeleton,), {})
    with pytest.raises(TypeError):
        _core.Skeleton.forward = None  # type: ignore[attr-defined]
    assert struct.unpack("d", data.rests.tobytes()[:8])[0] == 0.5


def test_a_chain_has_names_and_limits() -> None:
    elbow = ik.Limit.hinge([0, 0, 1], 0, 2)
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]], names=["arm", "elbow", "hand"], limits={"elbow": elbow})
    assert arm.names == ("arm", "elbow", "hand")
    assert arm.limits[1] == elbow
    assert arm == ik.Skeleton([-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], names=arm.names, limits={"elbow": elbow})
