"""Methods composed in Python: what the author of one writes, and what the frame does for it.

Two toys are kept here as examples: a table of poses, and a smoother of one joint over a whole clip.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore.solving.registry import METHODS, enter_method

ARM = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], limits={1: ik.Limit.hinge([0, 0, 1], -1, 1)})
SEEN = ik.Pose(ik.rotations.exp(np.random.default_rng(0).normal(size=(500, 4, 3))))
LIBRARY = ik.learned.Postures(ARM, SEEN, [ik.Reach(3, position=...)])
TARGETS = np.random.default_rng(1).normal(size=(6, 3))


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    """The toys are in the table while a test runs."""
    before = dict(METHODS)
    ik.solvers.custom_method(takes=["Reach position", "limit"])(nearest_pose)
    ik.solvers.custom_method(takes=["Reach position"], clip=True)(smoothed_joint)
    yield
    for name in set(METHODS) - set(before):
        del METHODS[name]
    for method in before.values():
        enter_method(method)


def nearest_pose(skeleton: Any, pose: Any, goals: Any, *, postures: Any) -> Any:
    """Take the pose of a library that is nearest to the goals."""
    return postures.nearest(pose, *[goal.position for goal in goals])[0]


def smoothed_joint(skeleton: Any, pose: Any, goals: Any, *, joint: int, fps: float) -> Any:
    """Smooth one joint over a whole clip."""
    turned = np.array(pose.rotations)
    turned[..., joint, :] = ik.smooth(turned[..., joint, :], fps=fps, pull=PULL).values
    return pose.with_rotations(turned)


PULL = 100.0  # 1 / s^4: waves of more than sqrt(10) rad / s are taken out


def test_it_stands_in_the_table_and_its_typed_function_says_what_it_takes() -> None:
    method = ik.methods()["nearest_pose"]
    assert method.sentence == "Take the pose of a library that is nearest to the goals"
    assert method.takes == {"Reach position", "limit"}
    names = list(inspect.signature(method.function).parameters)
    assert names == [
        *("skeleton", "pose", "goals", "postures", "tolerance", "rotation_tolerance"),
        *("moving", "workers", "goal_errors", "strict"),
    ]
    assert "goal_errors : bool" in (method.function.__doc__ or "")


def test_a_table_of_poses_is_judged_by_forward_kinematics_within_limits() -> None:
    found = ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS)], "nearest_pose", postures=LIBRARY)
    start = LIBRARY.nearest(ARM.rest, TARGETS)[0]
    assert ARM.limits[1] is not None
    legal = ARM.limits[1].project(start.rotations[:, 1])
    expected = np.where(np.arange(4)[:, np.newaxis] == 1, legal[:, np.newaxis], start.rotations)
    expected[:, 3] = ARM.rest.rotations[3]  # which no goal turns
    assert abs(abs((found.pose.rotations * expected).sum(axis=-1)) - 1).max() < 1e-14
    ends = ARM.forward(found.pose).positions[:, 3]
    np.testing.assert_allclose(found.error, np.linalg.norm(ends - TARGETS, axis=-1), rtol=1e-12)
    assert not (found.status & ik.Status.ITERATION_LIMIT).any()
    assert (found.iterations == 0).all()


def test_a_whole_clip_is_smoothed_within_the_speed_of_its_joint() -> None:
    turns = np.cumsum(np.random.default_rng(2).normal(size=(40, 3, 1)), axis=0) * 0.05 * [0, 0, 1]
    rotations = np.tile(ARM.rest.rotations, (40, 3, 1, 1))
    rotations[:, :, 0] = ik.rotations.exp(turns)
    clip, goal = ik.Pose(rotations), [ik.Reach(3, np.zeros(3))]
    free = ik.Skeleton(ARM.parents, ARM.offsets)
    found = ik.solve(free, clip, goal, "smoothed_joint", joint=0, fps=30.0)
    bent = [abs(np.diff(pose.rotations[:, :, 0], n=2, axis=0)).sum() for pose in (found.pose, clip)]
    assert bent[0] < 0.2 * bent[1]
    assert (found.pose.rotations[:, :, 1:] == clip.rotations[:, :, 1:])[:, :, 2].all()
    slow = ik.Skeleton(ARM.parents, ARM.offsets, limits={0: ik.Limit.free(speed=0.3)})
    held = ik.solve(slow, clip, goal, "smoothed_joint", joint=0, fps=30.0)
    step = ik.rotations.multiply(ik.rotations.conjugate(held.pose.rotations[:-1, :, 0]), held.pose.rotations[1:, :, 0])
    assert ik.rotations.to_axis_angle(step)[1].max() < 0.3 / 30 * (1 + 1e-9)
    assert (held.status & ik.Status.TOO_FAST).any()


def test_an_item_that_cannot_be_used_keeps_its_pose_and_does_not_reach_the_function() -> None:
    targets = np.where(np.arange(6)[:, np.newaxis] == 4, np.nan, TARGETS)
    given = []

    @ik.solvers.custom_method(takes=["Reach position"])
    def counted(skeleton: Any, pose: Any, goals: Any) -> Any:
        """Count the items."""
        given.append((pose.shape, goals[0].position.shape, np.isfinite(goals[0].position).all()))
        return pose, np.arange(len(pose))

    free = ik.Skeleton(ARM.parents, ARM.offsets)
    with pytest.warns(ik.UnusableWarning, match="counted: 1 of 6"):
        found = counted(free, free.rest, [ik.Reach(3, targets)])
    assert given == [((5,), (5, 3), True)]
    assert (found.status[4], found.iterations.tolist()) == (ik.Status.NOT_FINITE, [0, 1, 2, 3, 0, 4])
    assert (found.pose.rotations == free.rest.rotations).all()


def test_a_proposal_that_is_not_finite_is_not_taken_and_one_of_another_shape_refused() -> None:
    @ik.solvers.custom_method(takes=["Reach position"])
    def broken(skeleton: Any, pose: Any, goals: Any, *, what: Any) -> Any:
        """Propose nonsense."""
        return what(pose)

    free = ik.Skeleton(ARM.parents, ARM.offsets)
    found = broken(
        free, free.rest, [ik.Reach(3, TARGETS)], what=lambda pose: pose.with_rotations(pose.rotations * np.nan)
    )
    assert (found.pose.rotations == free.rest.rotations).all()
    assert np.isfinite(found.error).all()
    for wrong in (lambda pose: pose[0], lambda pose: pose.rotations):
        with pytest.raises(TypeError, match="broken: expected to be returned a pose like the one"):
            broken(free, free.rest, [ik.Reach(3, TARGETS)], what=wrong)


def test_influence_fades_it_as_any_other_method() -> None:
    goal = [ik.Reach(3, TARGETS, influence=[0.0, 0.25, 0.5, 0.75, 1.0, 1.0])]
    found = ik.solve(ARM, ARM.rest, goal, "nearest_pose", postures=LIBRARY)
    whole = ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS)], "nearest_pose", postures=LIBRARY)
    assert (found.pose.rotations[0] == ARM.rest.rotations).all()
    assert (found.pose.rotations[4:] == whole.pose.rotations[4:]).all()
    assert (found.status[1:4] & ik.Status.PARTIAL_INFLUENCE != 0).all()


def test_stages_and_solvers_go_through_it() -> None:
    stages = [
        ik.solvers.Stage("nearest_pose", [ik.Reach(3, TARGETS)], postures=LIBRARY),
        ik.solvers.Stage("dls", [ik.Reach(3, TARGETS)]),
    ]
    together = ik.solvers.stages(ARM, ARM.rest, stages, sequence=True)
    start = ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS)], "nearest_pose", postures=LIBRARY)
    after = ik.dls(ARM, start.pose, [ik.Reach(3, TARGETS)], sequence=True, release=np.inf)
    assert (together.pose.rotations == after.pose.rotations).all()
    solver = ik.Solver(ARM, [ik.Reach(3, position=...)], "nearest_pose", postures=LIBRARY)
    turned, error, status = pickle.loads(pickle.dumps(solver))(ARM.rest.rotations, TARGETS[0])
    assert (turned == start.pose.rotations[0]).all()
    assert (error, status) == (start.error[0], start.status[0])


def test_it_gives_the_same_bits_for_any_batch() -> None:
    whole = ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS)], "nearest_pose", postures=LIBRARY)
    for n, target in enumerate(TARGETS):
        one = ik.solve(ARM, ARM.rest, [ik.Reach(3, target)], "nearest_pose", postures=LIBRARY)
        assert (one.pose.rotations == whole.pose.rotations[n]).all()
        assert one.pose.shape == ()


def test_what_it_does_not_take_is_refused_and_it_is_recommended_to_nobody() -> None:
    with pytest.raises(ValueError, match="nearest_pose takes no Reach rotation; use "):
        ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS, rotation=[1, 0, 0, 0])], "nearest_pose", postures=LIBRARY)
    with pytest.raises(ValueError, match="follow takes no limit; ") as said:
        ik.solvers.follow(ARM, ARM.rest, [ik.Reach(3, TARGETS)])
    assert "nearest_pose" not in str(said.value)
    with pytest.raises(TypeError, match="nearest_pose: no option 'posture' here"):
        ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS)], "nearest_pose", posture=LIBRARY)
    with pytest.raises(TypeError, match="nearest_pose: missing a required argument: 'postures'"):
        ik.solve(ARM, ARM.rest, [ik.Reach(3, TARGETS)], "nearest_pose")
    with pytest.raises(ValueError, match="axis 0 to be time"):
        ik.solve(ik.Skeleton.chain(np.eye(3)), ik.Skeleton.chain(np.eye(3)).rest, [ik.Reach(2, [1, 1, 1])],
                 "smoothed_joint", joint=0, fps=30)  # fmt: skip


def test_a_row_of_the_core_is_not_replaced_and_numbers_keep_their_bounds() -> None:
    def dls(skeleton: Any, pose: Any, goals: Any) -> Any:
        """Do nothing."""
        return pose

    with pytest.raises(ValueError, match="dls: expected a name that no method of the core has"):
        ik.solvers.custom_method(takes=[])(dls)
    with pytest.raises(ValueError, match="takes: expected words of"):
        ik.solvers.custom_method(takes=["Reach"])

    @ik.solvers.custom_method(
        takes=["Reach position"], options=[ik.solvers.Option("share", 0.5, 0.0, 1.0, "how far it goes")]
    )
    def part(skeleton: Any, pose: Any, goals: Any, *, share: float = 0.5) -> Any:
        """Go part of the way."""
        assert type(share) is float
        return pose

    assert "share : float, optional\n    How far it goes (default 0.5)." in (part.__doc__ or "")
    with pytest.raises(ValueError, match="share: expected 0 to 1, got 2"):
        part(ARM, ARM.rest, [ik.Reach(3, TARGETS, chain=1)], share=2)
