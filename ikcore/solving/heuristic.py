"""Methods that go by what is easily seen, joint by joint or bone by bone: fabrik, follow, circle, spring, ccd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.arguments import IteratedOptions, SharedOptions
from ikcore.solving.registry import method
from ikcore.solving.run import iterate
from ikcore.solving.solution import Solution


@method
def fabrik(skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], **shared: Unpack[IteratedOptions]) -> Solution:
    """Solve by forward and backward reaching: joints move along lines, two passes an iteration.

    Fast and smooth for positions; the bones keep their length, and limits hold in both passes.

    Examples
    --------
    An arm of three bones, and two targets: one in reach, one beyond it.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> found = ik.fabrik(arm, arm.rest, [ik.Reach(3, [[1, 1, 1], [0, 4, 0]])])
    >>> [ik.Status(status) for status in found.status]
    [<Status: 0>, <Status.TOO_FAR: 1>]
    >>> print(found.error.round(3))
    [0. 1.]
    """
    return iterate("fabrik", skeleton, pose, goals, shared)


@method
def follow(skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], **shared: Unpack[IteratedOptions]) -> Solution:
    """Solve by following the leader: the tip of a chain moves ahead and pulls the bones along, like a rope.

    For one chain without limits. Bones near the tip turn most.

    Examples
    --------
    >>> import ikcore as ik
    >>> rope = ik.Skeleton.chain([[x, 0, 0] for x in range(7)])
    >>> found = ik.solvers.follow(rope, rope.rest, [ik.Reach(6, [4, 2, 1])])
    >>> print(found.status, found.error.round(3))
    0 0.0
    """
    return iterate("follow", skeleton, pose, goals, shared)


@method
def circle(skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], **shared: Unpack[SharedOptions]) -> Solution:
    """Lay a chain on the arc from its base to the target: all joints on one circle, reached to rounding.

    For one chain without limits. The result depends only on the bend direction of the start pose, or on the pole of the
    goal. Iterations end when the arc is closed, usually after four, for any tolerance.

    Examples
    --------
    Every joint of equal bones turns alike.

    >>> import ikcore as ik
    >>> tail = ik.Skeleton.chain([[x, 0, 0] for x in range(6)])
    >>> found = ik.solvers.circle(tail, tail.rest, [ik.Reach(5, [3, 0, 0], pole=[0, 1, 0])])
    >>> print(ik.rotations.to_axis_angle(found.pose.rotations[1:5])[1].round(4))
    [0.6749 0.6749 0.6749 0.6749]
    """
    return iterate("circle", skeleton, pose, goals, shared)


@method
def spring(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    damping: float = 0.4,
    hierarchy_strength: float = 256.0,
    effector_strength: float = 0.0,
    effector_ratio: float = 0.5,
    root_strength: float = 0.0,
    root_ratio: float = 0.5,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Shape a chain by springs along its bones, and optional springs from its joints to tip and base.

    For one chain without limits. The number of iterations grows with about the square of the number of bones. Springs
    to tip and base bring the tip near the target, but usually not onto it. Another method can reach it afterwards
    (`stages`).

    Examples
    --------
    >>> import ikcore as ik
    >>> tail = ik.Skeleton.chain([[x, 0, 0] for x in range(9)])
    >>> found = ik.solvers.spring(tail, tail.rest, [ik.Reach(8, [5, 2, 1])])
    >>> print(found.status)
    0
    """
    return iterate(
        "spring",
        skeleton,
        pose,
        goals,
        shared,
        damping=damping,
        hierarchy_strength=hierarchy_strength,
        effector_strength=effector_strength,
        effector_ratio=effector_ratio,
        root_strength=root_strength,
        root_ratio=root_ratio,
    )


@method
def ccd(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    max_step: float | None = None,
    start_from_tail: bool = True,
    feedback: float | None = None,
    bounce: bool = False,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Solve by cyclic coordinate descent: one joint after the other turns its effectors towards their targets.

    Each turn is the best one for that joint. The method curls chains from the tip, and is slow near full reach.

    Examples
    --------
    A tail whose tip goes a little aside moves little but its last joints.

    >>> import ikcore as ik
    >>> tail = ik.Skeleton.chain([[x, 0, 0] for x in range(9)])
    >>> found = ik.ccd(tail, tail.rest, [ik.Reach(8, [7, 1, 0])], bounce=True)
    >>> int(found.status)
    0
    >>> print(tail.forward(found.pose).positions[:7, 1].round(3))
    [0. 0. 0. 0. 0. 0. 0.]
    """
    return iterate(
        "ccd",
        skeleton,
        pose,
        goals,
        shared,
        max_step=max_step,
        start_from_tail=start_from_tail,
        feedback=feedback,
        bounce=bounce,
    )
