"""Methods that move points or turn joints one after another: fabrik."""

from __future__ import annotations

from collections.abc import Sequence

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.iterative import iterate
from ikcore.solving.solution import Solution
from ikcore.solving.table import method


@method
def fabrik(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    restarts: int = 0,
    workers: int = 1,
    sequence: bool = False,
    fps: float | None = None,
    history: bool = False,
    goal_errors: bool = False,
    strict: bool = False,
) -> Solution:
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
    return iterate("fabrik", **locals())
