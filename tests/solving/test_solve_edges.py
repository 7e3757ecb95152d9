"""Solving at its edges: limits in the way, chains without length, odd weights, uneven scales, batches of nothing."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import enough, same_bits, taking
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import ikcore as ik
from ikcore import Limit, Status, _core, rotations

Array = NDArray[Any]
pytestmark = pytest.mark.usefixtures("everywhere")
every = pytest.mark.parametrize("method", taking("place"))
turning = pytest.mark.parametrize("method", taking("place", "turn"))
ROPE = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0, 0], [2, 0.1, 0], [3, 0, 0.1]]))
# Two arms at a chest.
TREE = ik.Skeleton(
    [-1, 0, 1, 2, 1, 4], np.array([[0, 0, 0], [0, 1, 0], [0.6, 0.2, 0], [0.8, 0, 0], [-0.6, 0.2, 0], [-0.8, 0, 0]])
)


def solve(*arguments: Any, **options: Any) -> ik.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.UnusableWarning)
        return ik.solve(*arguments, **options)


# --- limits in the way ------------------------------------------------------------------------------------------------


def iterating(method: str) -> dict[str, Any]:
    """Options without work before the first iteration."""
    return {"sweeps": 0} if "sub_sweeps" in ik.methods()[method].options else {}


@every
@pytest.mark.parametrize("iterations", [1, 3])
def test_a_limit_in_the_way_is_said_when_iterations_end(method: str, iterations: int) -> None:
    """Hinges in a plane: the angle at a bound, and the slope of the squared distance there, are known by hand."""
    joints, bound = 4, 0.6
    limits = [*[ik.Limit.hinge([0, 0, 1], -bound, bound)] * joints, None]
    arm = ik.Skeleton(range(-1, joints), [[0, 0, 0], *[[1, 0, 0]] * joints], limits=limits)
    rng = np.random.default_rng(4)
    angles = np.append(rng.uniform(-bound, bound, (2000, joints)), np.zeros((2000, 1)), axis=1)
    start = ik.Pose(rotations.from_axis_angle([0, 0, 1], angles))
    target = np.append(rng.uniform(-3, 3, (2000, 2)), np.zeros((2000, 1)), axis=1)
    found = ik.solve(arm, start, [ik.Reach(joints, target)], method, iterations=iterations, **iterating(method))

    turned = 2 * np.arctan2(found.pose.rotations[:, :joints, 3], found.pose.rotations[:, :joints, 0])
    points = np.cumsum(np.exp(1j * np.cumsum(turned, axis=1)), axis=1)
    off = target[:, :1] + 1j * target[:, 1:2] - points[:, -1:]
    arms = points[:, -1:] - np.append(np.zeros((2000, 1)), points[:, :-1], axis=1)
    pull = (np.conj(arms) * off).imag / np.abs(arms * off)  # the sine between them: which way turning helps
    at_bound = np.abs(turned) > bound - 1e-6
    held = np.any(at_bound & (np.sign(turned) * pull > 0.1), axis=1)
    free = np.all((np.abs(turned) < bound - 0.01) | at_bound & (np.sign(turned) * pull < 0), axis=1)
    missed = found.status != 0
    for clear, said in ((held & missed, True), (free & missed, False)):
        assert clear.sum() > 20
        assert_array_equal((found.status[clear] & Status.AT_LIMIT) != 0, said)
    assert np.any(found.status == Status.ITERATION_LIMIT | Status.AT_LIMIT)


@every
@pytest.mark.parametrize(
    "limit",
    [ik.Limit.cone([1, 0, 0], 0.5), ik.Limit.euler("xyz", [-3, -0.5, -0.5], [3, 0.5, 0.5])],
    ids=["cone", "box"],
)
def test_a_joint_that_may_not_lean_so_far_is_at_its_limit(method: str, limit: ik.Limit) -> None:
    arm = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits=[limit, None])
    target = np.array([[0, 1, 0], [0, 0, -1], [0.9, 0.2, 0], [2, 0.2, 0]])
    found = ik.solve(arm, arm.rest, [ik.Reach(1, target)], method)
    assert_array_equal((found.status & Status.AT_LIMIT) != 0, [True, True, False, False])


@turning
def test_a_rotation_beyond_a_limit_is_at_the_limit(method: str) -> None:
    head = ik.Skeleton([-1], [[0, 0, 0]], limits=[ik.Limit.hinge([0, 1, 0], -1, 1)])
    turned = rotations.from_axis_angle([0, 1, 0], [0.5, 2, -2])
    found = ik.solve(head, head.rest, [ik.Reach(0, rotation=turned)], method)
    assert_array_equal((found.status & Status.AT_LIMIT) != 0, [False, True, True])
    assert_allclose(found.rotation_error, [0, 1, 1], atol=1e-4)


# --- chains without length --------------------------------------------------------------------------------------------


@every
def test_a_place_that_nothing_moves_is_within_the_tolerance_of_the_longest_chain(method: str, dtype: Any) -> None:
    """The position of the root, and of a joint without movable ancestors."""
    root = np.array([0.1, 0.2, 0.3])
    body = ik.Skeleton([-1, 0, 1, 2, 3], np.array([root, [0.3, 0.1, 0.7], [1, 0, 0], [1, 0, 0], [1, 0, 0]]))
    pose = ik.Pose(body.rest.rotations.astype(dtype))
    hand, chest = body.forward(body.rest).positions[[4, 1]]
    reach = ik.Reach(4, np.add(hand, [-0.5, 0.5, 0.5]), chain=3)
    for joint, place in ((0, root), (1, chest)):
        off = np.array([0, 1e-7, 0.5e-3, 2e-3])[:, np.newaxis] * 3 * [0, 1, 0]
        found = ik.solve(body, pose, [reach, ik.Reach(joint, place + off, chain=0)], method, tolerance=1e-3)
        assert_array_equal(found.status[:3], 0)
        assert found.status[3] & Status.TOO_FAR
        assert found.error[3] == pytest.approx(6e-3, rel=1e-3)


@every
def test_a_place_that_is_met_by_what_cannot_move_is_reached(method: str, dtype: Any) -> None:
    """The root; a hand all joints above which are locked; and what rounding is off. Elsewhere there is no way."""
    points = np.array([[100.1, 0.2, 0.3], [100.4, 1, 0.7], [101.4, 1.3, 0.1]])
    held = ik.Skeleton([-1, 0, 1], np.diff(points, axis=0, prepend=0), limits=[ik.Limit.locked()] * 2 + [None])
    pose = ik.Pose(held.rest.rotations.astype(dtype))
    for joint, chain in ((0, None), (2, None), (2, 0), (1, "0")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = ik.solve(held, pose, [ik.Reach(joint, points[joint], chain=chain)], method)
        assert found.status == 0
        assert found.error <= 32 * np.finfo(dtype).eps * 100
        assert np.all(found.pose.rotations == pose.rotations)
        off = points[joint] + [0, 0.01, 0]
        locked = (joint, chain) in ((2, None), (1, "0"))
        status = Status.AT_LIMIT if locked else Status.NO_LENGTH
        assert solve(held, pose, [ik.Reach(joint, off, chain=chain)], method).status == status
        assert solve(held, pose, [ik.Reach(joint, [np.nan, 0, 0], chain=chain)], method).status == Status.NOT_FINITE


# A chain whose joints are locked, and one beside it whose joints are not.
LOCKED = ik.Skeleton(
    [-1, 0, 1, -1, 3],
    [[0, 0, 0], [1, 0, 0], [1, 0, 0], [5, 0, 0], [1, 0, 0]],
    limits=[*[ik.Limit.locked()] * 3, None, None],
    masses=[1, 1, 1, 0, 0],
)
LOCKED_GOALS: list[tuple[ik.Goal, float]] = [
    (ik.Reach(2, [2, 1, 0]), 1),
    (ik.Reach(2, [1, 0, 0]), 1),
    (ik.Reach(2, [2, 1, 0], chain=1), 1),
    (ik.Reach(2, [2, 1, 0], rotation=[1, 0, 0, 0]), 1),
    (ik.Reach(2, [2, 1, 0], offset=[0, 0.5, 0]), 0.5),
    (ik.Relative(2, 0, position=[2, 2, 0]), 2),
    (ik.Distance(2, 3.0, position=[0, 0, 0]), 1),
    (ik.Inside(2, [0, 1, 0], [0, 1, 0], chain=2), 1),
    (ik.Outside(2, [1.5, 0.1, 0], 0.3, chain=2), 0.2),
    (ik.CentreOfMass([1, 1, 0]), 1),
]


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
@pytest.mark.parametrize("method", ["dls", "pinv", "sns", "gauss_seidel", "lbfgsb", "fabrik"])
def test_a_chain_that_limits_lock_is_usable_and_says_how_far_off_it_is(method: str, beside: bool) -> None:
    for goal, error in LOCKED_GOALS:
        if isinstance(goal, ik.CentreOfMass) and method == "fabrik":
            continue  # it does not take that
        found = solve(LOCKED, LOCKED.rest, [goal, *[ik.Reach(4, [5, 1, 0])] * beside], method)
        assert found.status == Status.AT_LIMIT, goal
        assert found.error == pytest.approx(error, abs=1e-12), goal
        assert_array_equal(found.pose.rotations[:3], LOCKED.rest.rotations[:3])


@every
def test_a_locked_chain_without_length_has_no_length(method: str) -> None:
    point = ik.Skeleton([-1, 0], np.zeros((2, 3)), limits=[ik.Limit.locked()] * 2)
    assert solve(point, point.rest, [ik.Reach(1, [1, 0, 0])], method).status == Status.NO_LENGTH


# Twist bones and end helpers, added after bones 1 and 0 of a pattern.
LIMITS = {
    "free": None,
    "hinges": ik.Limit.hinge([0, 0, 1], -2, 2),
    "across": ik.Limit.hinge([1, 0, 0], -2, 2),
    "round": ik.Limit.hinge([0, 0, 1], -4, 4),
    "cone": ik.Limit.cone([1, 0, 0], 1, twist=(-1, 1)),
    "box": ik.Limit.euler("xyz", [-1, -1, -1], [1, 1, 1]),
}
PLACES = np.concatenate(
    [
        [[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, -1], [2, 0, 0], [0.5, 0, 0], [9, 0, 0], [1e-19, 0, 0]],
        [[2.0**-60, 0, 0], [-(2.0**-60), 0, 0], [1 + 2.0**-50, 0, 0]],
        np.random.default_rng(0).uniform(-1.5, 1.5, (4, 3)),
    ]
)


@pytest.mark.drawn(28)
@every
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("textbook", [False, True])
def test_bones_without_length_anywhere_are_no_reason_to_fail(
    method: str, limit: ik.Limit | None, textbook: bool, dtype: Any
) -> None:
    """In chains, straight and folded ones, and in trees; where all bones have none there is no length."""
    skeletons: list[tuple[Any, Any, list[int]]] = []
    for bones in range(1, 4):
        ways = [1] * bones, [(-1) ** bone for bone in range(bones)]
        patterns = itertools.product(ways, itertools.product((0, 1), repeat=bones))
        chains = {tuple(map(int, np.multiply(way, pattern))) for way, pattern in patterns}
        skeletons += [(range(-1, bones), along, [bones]) for along in sorted(chains)]
    skeletons += [([-1, 0, 1, 1, 2, 3], pattern, [4, 5]) for pattern in itertools.product((0, -1), repeat=5)]
    for parents, along, ends in skeletons:
        offsets = np.zeros((len(parents), 3))
        offsets[1:, 0] = along
        skeleton = ik.Skeleton(parents, offsets, limits=[limit] * len(parents))
        pose = ik.Pose(skeleton.rest.rotations.astype(dtype))
        goals = [ik.Reach(end, places) for end, places in zip(ends, (PLACES, PLACES[::-1]), strict=False)]
        found = solve(skeleton, pose, goals, method, textbook=textbook, iterations=30)
        fails = np.asarray(found.status) >= _core.UNUSABLE
        assert not np.any(fails) if np.any(along) else np.all(found.status[fails] == Status.NO_LENGTH), along


def test_a_twist_bone_on_the_way_to_a_folded_target() -> None:
    arm = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0]]))
    found = ik.fabrik(arm, arm.rest, [ik.Reach(3, [0, 0, 0])])
    assert found.status == 0
    assert_allclose(arm.forward(found.pose).positions[3], 0, atol=2e-5)


@every
def test_bones_of_length_zero_beside_others(method: str) -> None:
    body = ik.Skeleton([-1, 0, 1, 0, 3], [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]])
    goals = [ik.Reach(2, [1e-9, 0, 0]), ik.Reach(4, [1, 1, 0])]
    assert ik.solve(body, body.rest, goals, method).status == 0
    assert solve(body, body.rest, goals[:1], method).status == Status.NO_LENGTH


# --- weights ----------------------------------------------------------------------------------------------------------

GOALS: dict[str, Any] = {
    "chain": (ROPE, [(3, [1, 1, 1], None)]),
    "turned": (ROPE, [(3, [1, 1, 1], [1, 0.3, 0, 0])]),
    "along": (ROPE, [(3, [1, 1, 1], None), (2, [0, 1.5, 0], None)]),
    "tree": (TREE, [(3, [1, 1.5, 0.5], None), (5, [-1, 0.5, 0.5], [1, 0, 0.3, 0])]),
}


# Cases by method.
weighing = pytest.mark.parametrize(
    ("method", "name"),
    [
        (method, name)
        for name, (_, goals) in GOALS.items()
        for method in taking("place", *["turn"] * any(rotation is not None for *_, rotation in goals))
    ],
)


def weighted(name: str, method: str, **weights: Any) -> ik.Solution:
    """The first goal has these weights."""
    skeleton, goals = GOALS[name]
    first, *others = (ik.Reach(*goal, **(weights if k == 0 else {})) for k, goal in enumerate(goals))
    return solve(skeleton, skeleton.rest, [first, *others], method)


@weighing
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_not_finite_makes_the_item_unusable(method: str, name: str, wrong: float) -> None:
    rest = GOALS[name][0].rest.rotations
    kinds = ["weight", "rotation_weight"] if name == "turned" else ["weight"]
    for kind in kinds:
        found = weighted(name, method, **{kind: [1, wrong]})
        assert_array_equal(found.status == Status.NOT_FINITE, [False, True])
        assert np.isnan(found.error[1])
        assert_array_equal(found.pose.rotations[1], rest)
        assert found.pose.rotations[0].tobytes() == weighted(name, method).pose.rotations.tobytes()


@weighing
def test_a_negative_weight_counts_as_none(method: str, name: str) -> None:
    """And then the goal may be anything."""
    for kind in ("weight", "rotation_weight"):
        assert same_bits(weighted(name, method, **{kind: -2.0}), weighted(name, method, **{kind: 0.0}))
    found = solve(ROPE, ROPE.rest, [ik.Reach(3, [np.nan, 0, 0], weight=-1), ik.Reach(2, [1, 1, 0.5])], method)
    assert found.status == 0


@weighing
def test_only_the_ratio_of_weights_matters(method: str, name: str, dtype: Any) -> None:
    skeleton, goals = GOALS[name]
    pose = ik.Pose(skeleton.rest.rotations.astype(dtype))

    def found(share: float) -> ik.Solution:
        weights: list[Any] = [{"weight": share * w, "rotation_weight": share} for w in (1, 3)]
        return ik.solve(skeleton, pose, [ik.Reach(*g, **w) for g, w in zip(goals, weights, strict=False)], method)

    for share in (2.0**-90, 4.0, 2.0**90):
        assert same_bits(found(share), found(1))


def test_a_limb_takes_weights_as_the_others_do() -> None:
    arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    turned = [1, 0.5, 0, 0]

    def hand(**weights: Any) -> ik.Solution:
        return solve(arm, arm.rest, [ik.Reach(2, [1, 1, 0], turned, **weights)], "two_bone")

    for kind in ("weight", "rotation_weight"):
        assert same_bits(hand(**{kind: -2.0}), hand(**{kind: 0.0}))
        for wrong in (np.nan, np.inf, -np.inf):
            found = hand(**{kind: wrong})
            assert found.status == Status.NOT_FINITE
            assert_array_equal(found.pose.rotations, arm.rest.rotations)


# --- uneven scales ----------------------------------------------------------------------------------------------------


def by_matrices(skeleton: ik.Skeleton, pose: ik.Pose) -> Array:
    """Joint positions: products of translation, rotation and scale."""
    assert pose.scales is not None
    world: list[Array] = []
    for joint, parent in enumerate(skeleton.parents):
        matrix = np.zeros((*pose.shape, 4, 4))
        matrix[..., :3, :3] = (
            rotations.to_matrix(pose.rotations[..., joint, :]) * pose.scales[..., joint, np.newaxis, :]
        )
        matrix[..., :3, 3], matrix[..., 3, 3] = skeleton.offsets[joint], 1
        world.append(world[parent] @ matrix if parent >= 0 else matrix)
    return np.stack([matrix[..., :3, 3] for matrix in world], axis=-2)


def squashed(joints: int, amount: float, count: int = 200) -> tuple[ik.Skeleton, ik.Pose, ik.Pose]:
    """A chain, poses with scales of every joint and axis up to so much off, and others to bring it to."""
    rng = np.random.default_rng(joints)
    offsets = ref.unit(rng.normal(size=(joints, 3)))
    scales = np.exp(rng.uniform(-amount, amount, (count, joints, 3)))
    turns = ref.unit(rng.normal([4, 0, 0, 0], 1, (2, count, joints, 4)))
    start, there = (ik.Pose(turn, scales=scales) for turn in turns)
    return ik.Skeleton(range(-1, joints - 1), offsets), start, there


@every
@pytest.mark.parametrize(("joints", "amount", "least"), [(3, 0.1, 0.85), (6, 0.15, 0.95), (6, 0.3, 0.9)])
def test_bones_that_change_as_they_turn_are_followed(method: str, joints: int, amount: float, least: float) -> None:
    if method == "full_body":
        least -= 0.1  # its bodies do not change with uneven scales, so dls starts farther away
    skeleton, start, there = squashed(joints, amount)
    target = by_matrices(skeleton, there)[:, -1]
    found = ik.solve(skeleton, start, [ik.Reach(joints - 1, target)], method)
    assert np.mean(found.status == 0) >= enough(method, least)
    away = np.linalg.norm(by_matrices(skeleton, found.pose)[:, -1] - target, axis=-1)
    assert_allclose(away, found.error, atol=1e-12)
    assert found.iterations.max() <= 200
    assert ik.solve(skeleton, start, [ik.Reach(joints - 1, target)], method, iterations=7).iterations.max() == 7


@every
def test_a_limb_under_one_uneven_scale(method: str) -> None:
    limb = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0, 0], [1.9, 0.3, 0]]))
    scales = np.ones((3, 3))
    scales[0] = [1, 1.4, 0.8]
    rng = np.random.default_rng(2)
    start, there = (ik.Pose(ref.unit(rng.normal([3, 0, 0, 0], 1, (100, 3, 4))), scales=scales) for _ in range(2))
    found = ik.solve(limb, start, [ik.Reach(2, by_matrices(limb, there)[:, 2])], method, iterations=1000)
    assert np.mean(found.status == 0) >= enough(method, 0.85)


def test_the_closed_form_follows_bones_too() -> None:
    """But not where that would apply a weight or a twist again; even scales need it once."""
    limb = ik.Skeleton.chain(np.array([[0, 0, 0], [1, 0, 0], [1.9, 0.3, 0]]))
    rng = np.random.default_rng(2)
    turns = ref.unit(rng.normal([3, 0, 0, 0], 1, (2, 100, 3, 4)))
    for scale, least in (([1, 1.1, 0.95], 0.95), ([1, 1.4, 0.8], 0.9)):
        scales = np.ones((100, 3, 3))
        scales[:, 0] = scale
        start, there = (ik.Pose(turn, scales=scales) for turn in turns)
        world = limb.forward(there)
        goal = ik.Reach(2, world.positions[:, 2], world.rotations[:, 2])
        found = ik.solve(limb, start, [goal], "two_bone")
        assert found.rotation_error.max() <= 1e-12
        away = np.linalg.norm(by_matrices(limb, found.pose)[:, 2] - world.positions[:, 2], axis=-1)
        assert_allclose(away, found.error, atol=1e-12)
        assert np.mean(found.status == 0) >= least
    half = ik.Reach(2, [0.5, 1, 0], weight=0.5)
    moved = ik.solve(limb, start[0], [half], "two_bone").pose.rotations
    assert_allclose(moved, ik.solve(limb, start[:1], [half], "two_bone", twist=0).pose.rotations[0], atol=1e-15)
    even = ik.solve(limb, ik.Pose(turns[0], scales=np.full((100, 3, 3), 1.5)), [ik.Reach(2, [0.9, 1, 0])], "two_bone")
    assert np.all((even.status & ~Status.POLE_UNDEFINED) == 0)


@turning
def test_rotations_under_uneven_scales(method: str) -> None:
    skeleton, start, there = squashed(6, 0.15)
    world = skeleton.forward(there)
    found = ik.solve(skeleton, start, [ik.Reach(5, world.positions[:, 5], world.rotations[:, 5])], method)
    assert np.mean(found.status == 0) >= enough(method, 0.9)
    turned = skeleton.forward(found.pose).rotations[:, 5]
    apart = 2 * np.arccos(np.minimum(np.abs((turned * world.rotations[:, 5]).sum(-1)), 1))
    assert_allclose(apart, found.rotation_error, atol=1e-7)


@pytest.mark.thorough
@every
def test_what_is_solved_again_is_never_worse(method: str) -> None:
    """Than any round before left it: one ends where the method sees the target reached, and the pose may miss it."""
    if method == "circle":
        pytest.skip("it lays a chain on its circle, and goes on to rounding, wherever the target is met")
    skeleton, start, there = squashed(5, 0.8)
    goals = [ik.Reach(4, by_matrices(skeleton, there)[:, 4])]
    least = np.full(len(start.rotations), np.inf)
    for iterations in range(1, 25):
        found = ik.solve(skeleton, start, goals, method, iterations=iterations, history=True)
        assert found.history is not None
        ends = found.history[:, iterations] < 1e-5  # of a reach that is more than 1
        least = np.where(ends, np.minimum(found.error, least), least)
    again = ik.solve(skeleton, start, goals, method)
    known = np.isfinite(least)
    assert known.sum() > enough(method, 100)
    assert np.all(again.error[known] <= least[known])


@every
def test_where_the_bones_stay_nothing_is_solved_again(method: str) -> None:
    """A target that is reached at once is; even scales only change the size."""
    if method == "circle":
        pytest.skip("it lays a chain on its circle, and goes on to rounding, wherever the target is met")
    skeleton, start, there = squashed(4, 0.2)
    found = ik.solve(skeleton, start, [ik.Reach(3, by_matrices(skeleton, start)[:, 3])], method)
    assert not np.any(found.status)
    assert not np.any(found.iterations)
    even = np.full((200, 4, 3), 2.0)
    target = ik.Skeleton.forward(skeleton, ik.Pose(there.rotations)).positions[:, 3] - skeleton.offsets[0]
    plain = ik.solve(
        skeleton, ik.Pose(start.rotations), [ik.Reach(3, target + skeleton.offsets[0])], method, iterations=9
    )
    large = ik.solve(
        skeleton,
        ik.Pose(start.rotations, scales=np.concatenate([even[:, :1], np.ones((200, 3, 3))], axis=1)),
        [ik.Reach(3, 2 * target + skeleton.offsets[0])],
        method,
        iterations=9,
    )
    assert_array_equal(large.iterations, plain.iterations)
    assert_allclose(large.pose.rotations, plain.pose.rotations, atol=1e-7)


@every
def test_rounds_do_not_depend_on_neighbours(method: str, dtype: Any) -> None:
    skeleton, start, there = squashed(5, 0.3, 70)
    assert start.scales is not None
    pose = ik.Pose(start.rotations.astype(dtype), scales=start.scales.astype(dtype))
    world = skeleton.forward(there)
    goal = ik.Reach(4, world.positions[:, 4], world.rotations[:, 4])
    whole = ik.solve(skeleton, pose, [goal], method, history=True, iterations=60)
    for item in range(0, 70, 9):
        one = ik.Reach(4, world.positions[item, 4], world.rotations[item, 4])
        alone = ik.solve(skeleton, pose[item], [one], method, history=True, iterations=60)
        for name in ("error", "rotation_error", "iterations", "status", "history"):
            assert np.asarray(getattr(alone, name)).tobytes() == getattr(whole, name)[item].tobytes(), name
        assert alone.pose.rotations.tobytes() == whole.pose.rotations[item].tobytes()
    order = np.random.default_rng(1).permutation(70)
    mixed = ik.solve(skeleton, pose[order], [ik.Reach(4, world.positions[order, 4])], method, workers=2)
    assert same_bits(mixed, ik.solve(skeleton, pose[order], [ik.Reach(4, world.positions[order, 4])], method))


@every
@pytest.mark.parametrize("scale", [[0, 1, 1], [-1, 2, 1], [0, 0, 0], [1e30, 1, 1e-30], [np.nan, 1, 1], [np.inf, 1, 1]])
def test_scales_of_every_kind_end_in_a_pose(method: str, scale: Any) -> None:
    scales = np.ones((2, 4, 3))
    scales[0, 1] = scale
    found = solve(ROPE, ik.Pose(ROPE.rest.rotations, scales=scales), [ik.Reach(3, [1, 1, 1])], method)
    assert np.all(np.isfinite(found.pose.rotations))
    assert found.status[1] == 0 or not ik.methods()[method].reaches
    assert (found.status[0] == Status.NOT_FINITE) == (not np.all(np.isfinite(scale)))


@every
def test_uneven_scales_are_solved_again_as_if_alone(method: str) -> None:
    """Lanes that have no item in one round have one in the next."""
    limits = [Limit.cone([1, 0, 0], 0.8), None, Limit.cone([1, 0, 0], 0.8), Limit.hinge([0, 0, 1], -2, 2), None]
    rope = ik.Skeleton(range(-1, 4), np.eye(3)[[0] * 5], limits=limits)
    rng = np.random.default_rng(8)
    scales, target = 1 + 0.1 * rng.normal(size=(200, 5, 3)), [2.0, 1, 0.5] + 0.7 * rng.normal(size=(200, 3))
    rest = np.broadcast_to(rope.rest.rotations, (200, 5, 4))
    found = ik.solve(rope, ik.Pose(rest, scales=scales), [ik.Reach(4, target)], method, iterations=12)
    for item in range(200):
        pose = ik.Pose(rest[item], scales=scales[item])
        alone = ik.solve(rope, pose, [ik.Reach(4, target[item])], method, iterations=12)
        assert alone.pose.rotations.tobytes() == found.pose.rotations[item].tobytes()


# --- batches of nothing, and the smallest -----------------------------------------------------------------------------


@every
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_batches_of_nothing(method: str, shape: Any) -> None:
    target = np.ones((*shape, 3))
    for options in ({}, {"history": True, "iterations": 5}, {"sequence": True}, {"sequence": True, "history": True}):
        found = ik.solve(ROPE, ROPE.rest, [ik.Reach(3, target)], method, workers=2, **options)
        assert found.status.shape == found.error.shape == found.iterations.shape == shape
        assert found.pose.rotations.shape == (*shape, 4, 4)
        assert (found.history is None) == ("history" not in options)
        assert found.summary().startswith("0 of 0 poses reached")


@every
def test_sequences_of_one_and_histories_of_none(method: str) -> None:
    goal = ik.Reach(3, [[1.0, 1, 1]])
    one = ik.solve(ROPE, ROPE.rest, [goal], method, sequence=True, history=True)
    assert same_bits(one, ik.solve(ROPE, ROPE.rest, [goal], method))
    none = ik.solve(ROPE, ROPE.rest, [goal], method, history=True, iterations=0, **iterating(method))
    assert none.history is not None
    assert_allclose(none.history, [[np.linalg.norm(np.subtract([3, 0, 0.1], 1))]], rtol=1e-6)
    assert none.status == Status.ITERATION_LIMIT


@turning
def test_a_skeleton_of_one_joint(method: str) -> None:
    ball = ik.Skeleton([-1], [[0, 0, 0]])
    turned = rotations.from_axis_angle([0, 0, 1], 1.0)
    for goal, status in (
        (ik.Reach(0, [1, 0, 0]), Status.NO_LENGTH),
        (ik.Reach(0, [0, 0, 0]), 0),
        (ik.Reach(0, rotation=turned), 0),
        (ik.Reach(0, [0, 0, 0], turned, chain=0), 0),
        (ik.Reach(0, [1, 0, 0], turned), Status.TOO_FAR),
        (ik.Reach(0, [0, 1, 0], offset=[1, 0, 0]), 0),
        (ik.Reach(0, [0, 2, 0], offset=[1, 0, 0]), Status.TOO_FAR),
    ):
        found = solve(ball, ball.rest, [goal], method)
        assert found.status == status, goal
        assert np.all(np.isfinite(found.pose.rotations))


@turning
def test_a_chain_of_the_joint_alone(method: str) -> None:
    """chain=0: only the joint itself turns, and for a place that is not enough."""
    place, turned = [1, 1, 1], rotations.from_axis_angle([0, 1, 0], 0.5)
    assert solve(ROPE, ROPE.rest, [ik.Reach(3, place, chain=0)], method).status == Status.NO_LENGTH
    assert ik.solve(ROPE, ROPE.rest, [ik.Reach(3, rotation=turned, chain=0)], method).status == 0
    found = ik.solve(ROPE, ROPE.rest, [ik.Reach(3, place, turned, chain=0)], method)
    assert found.status == Status.TOO_FAR
    assert found.rotation_error <= 1e-4
    assert_array_equal(found.pose.rotations[:3], ROPE.rest.rotations[:3])


@turning
def test_two_goals_for_points_of_one_joint(method: str) -> None:
    """One place and one rotation may be two goals; two points of a joint may differ by their offset."""
    turned = rotations.from_axis_angle([0, 0, 1], 1.0)
    place, rotation = ik.Reach(3, [1, 1, 1]), ik.Reach(3, rotation=turned)
    apart = ik.Reach(3, [1, 1, 1], offset=[0.5, 0, 0])
    with pytest.raises(ValueError, match="for the same point of '3'"):
        ik.solve(ROPE, ROPE.rest, [apart, apart], method)
    with pytest.raises(ValueError, match="for the rotation of '3'"):
        ik.solve(ROPE, ROPE.rest, [rotation, ik.Reach(3, apart.position, turned, offset=apart.offset)], method)
    both, one = (
        ik.solve(ROPE, ROPE.rest, goals, method) for goals in ([place, rotation], [ik.Reach(3, [1, 1, 1], turned)])
    )
    assert both.status == one.status
    assert one.status == 0 or not ik.methods()[method].reaches
    assert both.pose.rotations.tobytes() == one.pose.rotations.tobytes()
    ends: Any = [[1, 1, 1], np.add([1, 1, 1], ref.rotate(turned, np.array([0.5, 0, 0])))]
    found = ik.solve(ROPE, ROPE.rest, [ik.Reach(3, ends[0]), ik.Reach(3, ends[1], offset=[0.5, 0, 0])], method)
    assert found.status == 0 or not ik.methods()[method].reaches
