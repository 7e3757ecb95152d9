"""Methods that turn all joints at once, by how each moves what should be reached: dls, transpose, pinv, svf, sdls."""

from __future__ import annotations

from collections.abc import Sequence

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.iterative import iterate
from ikcore.solving.solution import Solution
from ikcore.solving.table import method


@method
def dls(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    restarts: int = 0,
    damping: float = 0.0,
    max_step: float = 1.0,
    max_error: float = 0.0,
    posture: float = 0.0,
    workers: int = 1,
    sequence: bool = False,
    fps: float | None = None,
    history: bool = False,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
    """Solve by damped least squares: all joints turn and slide at once, by how each moves what should be reached.

    Few iterations, for any number of goals of all kinds; where they contradict each other their levels decide, and
    within a level what they weigh. Limits hold in every iteration, joints slide as far as theirs let them, and `Limit`
    stiffness says how willingly a joint turns.

    Examples
    --------
    A hand that should be somewhere and turned some way; then an elbow that should be somewhere too.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> hand = ik.Reach(3, [1, 1, 1], ik.rotations.from_axis_angle([0, 0, 1], 1.5))
    >>> found = ik.dls(arm, arm.rest, [hand])
    >>> int(found.status), int(found.iterations)
    (0, 6)
    >>> int(ik.dls(arm, arm.rest, [hand, ik.Reach(1, [0, 1, 0])]).status)
    0
    """
    return iterate("dls", **locals())


@method
def transpose(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 1000,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    restarts: int = 0,
    max_step: float = 0.5,
    max_error: float = 0.0,
    workers: int = 1,
    sequence: bool = False,
    fps: float | None = None,
    history: bool = False,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
    """TODO

    """
    return iterate("transpose", **locals())


@method
def pinv(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    restarts: int = 0,
    truncation: float = 0.01,
    max_step: float = 0.5,
    max_error: float = 0.0,
    posture: float = 0.0,
    workers: int = 1,
    sequence: bool = False,
    fps: float | None = None,
    history: bool = False,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
    """TODO

    """
    return iterate("pinv", **locals())


@method
def svf(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    restarts: int = 0,
    sigma0: float = 0.01,
    nu: float = 10.0,
    max_step: float = 0.5,
    max_error: float = 0.0,
    posture: float = 0.0,
    workers: int = 1,
    sequence: bool = False,
    fps: float | None = None,
    history: bool = False,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
    """TODO

    """
    return iterate("svf", **locals())


@method
def sdls(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    restarts: int = 0,
    soft: bool = True,
    max_step: float = 0.7853981633974483,
    max_error: float = 0.0,
    posture: float = 0.0,
    workers: int = 1,
    sequence: bool = False,
    fps: float | None = None,
    history: bool = False,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
    """TODO

    """
    return iterate("sdls", **locals())
