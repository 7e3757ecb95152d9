"""`Outside`: bones do not penetrate capsules, tested at points of bones and of capsule axes."""

from __future__ import annotations

from typing import Any

import chains
import goals_reference as truth
import numpy as np
import pytest
from numpy.typing import NDArray

import ikcore as ik
from ikcore import Status

Array = NDArray[Any]
ARM = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
METHODS = ("dls", "fabrik", "pinv", "svf", "sdls", "lbfgsb")
by_all = pytest.mark.parametrize("method", METHODS)


def clearance(skeleton: ik.Skeleton, pose: ik.Pose, start: Any, end: Any) -> Array:
    """How far each bone is from an axis, by many points of the bone."""
    at = np.asarray(skeleton.forward(pose).positions, float)
    shares = np.linspace(0, 1, 2001)[:, None]
    above = at[np.maximum(skeleton.parents, 0)]
    return np.array([truth.off_axis(a + shares * (b - a), start, end).min() for a, b in zip(above, at, strict=True)])


def bones(skeleton: ik.Skeleton, *capsule: Any, **options: Any) -> list[Any]:
    return [ik.Outside(joint, *capsule, **options) for joint in range(1, len(skeleton))]


def scenes(seed: int, count: int, end: bool) -> list[tuple[Array, Array, Array, float]]:
    """A target for a rope, and a capsule where the rope would lie; neither its root nor the target is near that."""
    draw, rope = chains.generator(seed), chains.rope(10)[0]
    made: list[tuple[Array, Array, Array, float]] = []
    while len(made) < count:
        way = chains.in_ball(draw)
        target = way / np.linalg.norm(way) * (3 + 5.5 * next(draw))
        lies = rope.forward(ik.dls(rope, rope.rest, [ik.Reach(10, target)]).pose).positions
        joint, radius = 3 + int(4 * next(draw)), 0.6 + 0.8 * next(draw)
        start = lies[joint] + 0.3 * chains.in_ball(draw)
        other = start + 2 * chains.in_ball(draw) if end else start
        if truth.off_axis(np.array([np.zeros(3), target]), start, other).min() > radius + 0.2:
            made.append((target, start, other, radius))
    return made


@pytest.mark.parametrize("end", [False, True], ids=["spheres", "capsules"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@by_all
def test_a_rope_reaches_past_what_stands_in_its_way(method: str, end: bool, dtype: Any) -> None:
    """Every one of them; without the goal it goes through."""
    rope = chains.rope(10)[0]
    pose = ik.Pose(rope.rest.rotations.astype(dtype))
    for target, start, other, radius in scenes(67, 40, end):
        plain = ik.dls(rope, pose, [ik.Reach(10, target)])
        assert clearance(rope, plain.pose, start, other).min() < radius
        clear = ik.solve(rope, pose, [ik.Reach(10, target), *bones(rope, start, radius, end=other)], method)
        assert clear.status == 0
        assert clearance(rope, clear.pose, start, other).min() >= radius - 2e-4  # 1e-5 of the reach, and the samples


@by_all
def test_three_spheres_at_once(method: str) -> None:
    rope, draw, solved = chains.rope(10)[0], chains.generator(68), 0
    for target, *_ in scenes(68, 40, end=False):
        lies = rope.forward(ik.dls(rope, rope.rest, [ik.Reach(10, target)]).pose).positions
        spheres = [(lies[joint] + 0.3 * chains.in_ball(draw), 0.5 + 0.7 * next(draw)) for joint in (2, 5, 8)]
        if any(min(np.linalg.norm(at), np.linalg.norm(at - target)) < size + 0.2 for at, size in spheres):
            continue
        goals = [ik.Reach(10, target), *(goal for sphere in spheres for goal in bones(rope, *sphere))]
        found = ik.solve(rope, rope.rest, goals, method)
        solved += 1
        assert found.status == 0
        assert all(clearance(rope, found.pose, at, at).min() >= size - 2e-4 for at, size in spheres)
    assert solved > 10


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["dls", "fabrik"])
@pytest.mark.parametrize("straight", [False, True])
def test_a_wall_of_spheres_is_gone_round(method: str, straight: bool) -> None:
    """Nine of them without a gap, between the root and the target, the rope beside the wall or straight through it."""
    rope = chains.rope(10)[0]
    start = rope.rest.rotations.copy()
    if straight:
        start[0] = chains.about([0, 0, 1], np.array(-np.pi / 2))
    spheres = [np.array([2.5, y, z]) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    targets = np.array([4.5, 0, 0]) + np.random.default_rng(0).uniform(-0.7, 0.7, (10, 3))
    goals = [ik.Reach(10, targets), *(goal for at in spheres for goal in bones(rope, at, 0.6))]
    found = ik.solve(rope, ik.Pose(start), goals, method)
    assert np.all(found.status == 0)
    for rotations in found.pose.rotations:
        assert all(clearance(rope, ik.Pose(rotations), at, at).min() >= 0.6 - 2e-4 for at in spheres)


@pytest.mark.parametrize("height", [-2.0, -0.5, 0.5])
@by_all
def test_where_a_bone_is_clear_or_touches_nothing_moves(method: str, height: float) -> None:
    """To the bit: the radius reaches to the bone, or not as far."""
    found = ik.solve(ARM, ARM.rest, bones(ARM, [1.5, height, 0], abs(height), end=[1.7, 3 * height, 0.2]), method)
    assert found.status == 0
    assert found.iterations == 0
    assert found.pose.rotations.tobytes() == ARM.rest.rotations.tobytes()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ([1.5, 0, 0], None),  # on the bone
        ([1.5, 0, -1], [1.5, 0, 1]),  # across it, through it
        ([1.2, 0, 0], [1.8, 0, 0]),  # within it
        ([1.2, 0.1, 0], [1.8, 0.1, 0]),  # beside it
        ([2, 0, 0], None),  # at its end
        ([1.5, 0.1, 0], [1.5, 1e-300, 0]),
        ([1.5, 0, 0], [1.5, 0, 1e9]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@by_all
def test_a_bone_leaves_what_it_goes_through(method: str, start: Any, end: Any, dtype: Any) -> None:
    pose = ik.Pose(ARM.rest.rotations.astype(dtype))
    found = ik.solve(ARM, pose, [ik.Outside(2, start, 0.3, end=end)], method)
    assert found.status == 0
    assert clearance(ARM, found.pose, start, start if end is None else end)[2] >= 0.3 - 1e-4


@by_all
def test_only_what_moves_the_bone_turns_for_it(method: str) -> None:
    """Neither its own joint, which turns for another goal, nor what hangs from that."""
    ball = ik.Outside(2, [1.5, 0.1, 0], 0.3, chain=2)
    found = ik.solve(ARM, ARM.rest, [ball], method)
    assert np.array_equal(found.pose.rotations[2:], ARM.rest.rotations[2:])
    both = ik.solve(ARM, ARM.rest, [ball, ik.Reach(3, [2, 0.9, 0.3], chain=1)], method)
    assert both.status == 0


@by_all
def test_a_joint_that_slides_draws_its_bone_out(method: str) -> None:
    """By less than it slides, as the bone starts where it did."""
    slides = {1: ik.Limit.locked(position=[[0, -1, 0], [0, 1, 0]])}
    rig = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits=slides)
    found = ik.solve(rig, rig.rest, [ik.Outside(1, [0.9, 0.1, 0], 0.3, chain=0)], method)
    assert found.status == 0
    assert clearance(rig, found.pose, [0.9, 0.1, 0], [0.9, 0.1, 0])[1] >= 0.3 - 1e-4


@pytest.mark.parametrize(("method", "first", "then"), [("dls", 0, 0), ("dls", 0, 1), ("fabrik", 0, 0)])
def test_a_target_within_a_sphere_contradicts_it(method: str, first: int, then: int) -> None:
    goals = [*bones(ARM, [1.5, 1, 0], 0.5, level=first), ik.Reach(3, [1.5, 1, 0.1], level=then)]
    found = ik.solve(ARM, ARM.rest, goals, method, iterations=1000)
    assert found.error == pytest.approx(0.2, abs=1e-5) or then
    assert Status(int(found.status)) & (Status.LEVEL if then else Status.CONFLICT)
    if then:
        assert clearance(ARM, found.pose, [1.5, 1, 0], [1.5, 1, 0]).min() >= 0.5 - 1e-4


@by_all
def test_a_bone_whose_start_is_within_cannot_be_clear(method: str) -> None:
    found = ik.solve(ARM, ARM.rest, [ik.Outside(1, [0, 0.1, 0], 0.3)], method)
    assert 0 < found.status < ik.Status.NOT_FINITE
    assert found.error == pytest.approx(0.2, abs=1e-6)
    assert "The bone to 1 is 0.2 too near" in found.explain()


@pytest.mark.parametrize("root", [[0, 0, 0], [30, -20, 10]])
@by_all
def test_a_bone_that_nothing_moves_is_judged_where_it_is(method: str, root: Any) -> None:
    """Beside a goal that is reached: the bone from the root upwards is on the axis of a sphere, near it, and clear."""
    body = ik.Skeleton([-1, 0, 0, 1], [root, [1, 0, 0], [0, 1, 0], [1, 0, 0]])
    hand = ik.Reach(3, np.add(root, [1, 1, 0]), chain=1)
    for side, off in ((0, 0.3), (0.1, 0.2), (0.5, 0)):
        sphere = ik.Outside(2, np.add(root, [side, 0.5, 0]), 0.3, chain=0)
        found = ik.solve(body, body.rest, [hand, sphere], method, goal_errors=True)
        assert (found.status != 0) == (off > 0)
        assert found.goal_errors is not None
        assert found.goal_errors[1, 0] == pytest.approx(off, abs=1e-9)
        assert found.error == pytest.approx(off, abs=3e-5)


@pytest.mark.parametrize(("frames", "level"), [(61, 0), (61, 1), (4, 1)])
def test_a_bone_stays_on_its_side_of_a_thin_rod(frames: int, level: int) -> None:
    """As its target goes past, by nearly what that is thick in a frame; by much more where it is on a level after."""
    targets = np.stack([np.full(frames, 2.2), np.linspace(-1, 1, frames), np.zeros(frames)], axis=-1)
    start = ik.Pose(np.broadcast_to(ARM.rest.rotations, (frames, 4, 4)))
    rod = bones(ARM, [1.5, 0.3, -50], 0.02, end=[1.5, 0.3, 50])
    found = ik.dls(ARM, start, [ik.Reach(3, targets, level=level), *rod], sequence=True, fps=30, release=np.inf)
    assert np.all(found.status == 0)
    for at in ARM.forward(found.pose).positions:
        k = int(np.flatnonzero((at[:-1, 0] <= 1.5) & (at[1:, 0] >= 1.5))[0])
        share = (1.5 - at[k, 0]) / (at[k + 1, 0] - at[k, 0])
        assert at[k, 1] + share * (at[k + 1, 1] - at[k, 1]) < 0.3


def test_bones_with_limits_stay_within_them(everywhere: None) -> None:
    """Hinges that bend one way reach past a sphere, and in a batch as one by one."""
    limits = {joint: ik.Limit.hinge([0, 0, 1], -0.2, 1.2) for joint in range(8)}
    rope = ik.Skeleton.chain([[x, 0, 0] for x in range(9)])
    rope = ik.Skeleton(rope.parents, rope.offsets, limits=limits)
    draw = np.random.default_rng(5)
    pose = ik.Pose(ik.rotations.from_axis_angle([0, 0, 1.0], draw.uniform(0, 0.5, (20, 9))))
    targets = rope.forward(pose).positions[:, 8]
    ball = rope.forward(pose).positions[:, 4] + [0, 0.9, 0]
    found = ik.fabrik(rope, rope.rest, [ik.Reach(8, targets), *bones(rope, ball, 0.5)])
    assert np.mean(found.status == 0) >= 0.9
    for item in np.flatnonzero(found.status == 0):
        single = ik.Pose(found.pose.rotations[item])
        assert clearance(rope, single, ball[item], ball[item]).min() >= 0.5 - 2e-4
        assert np.linalg.norm(rope.forward(single).positions[8] - targets[item]) < 1e-4
        for joint in range(8):
            assert limits[joint].violation(single.rotations[joint]) < 1e-6
        alone = ik.fabrik(rope, rope.rest, [ik.Reach(8, targets[item]), *bones(rope, ball[item], 0.5)])
        assert alone.pose.rotations.tobytes() == single.rotations.tobytes()


def test_as_published_a_bone_is_kept_clear_too() -> None:
    """A case not covered by the papers: joints turn once more after the passes."""
    found = ik.fabrik(ARM, ARM.rest, [ik.Outside(2, [1.5, 0.1, 0], 0.3)], textbook=True)
    assert found.status == 0


def test_other_methods_refuse_it() -> None:
    for method in ("follow", "circle", "spring", "ccd", "two_bone", "aim"):
        with pytest.raises(ValueError, match=rf"goals\[0\]: {method} takes no Outside; use fabrik or dls"):
            ik.solve(ARM, ARM.rest, [ik.Outside(3, [2.5, 0, 0], 0.3, chain=2)], method)
