"""Methods that move rigid bodies with masses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.arguments import IteratedOptions
from ikcore.solving.registry import method
from ikcore.solving.run import iterate
from ikcore.solving.solution import Solution


@method
def full_body(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    sweeps: int = 20,
    sub_sweeps: int = 0,
    relaxation: float = 1.3,
    max_angle: float = math.radians(30),
    inertia: float = 10.0,
    pre_pull: float = 1.0,
    pre_pull_turn: float = 0.0,
    pull_chain: float = 0.0,
    max_step: float = 1.0,
    max_error: float | None = None,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Solve by rigid bodies with masses that goals pull at (XPBD), then meet the goals by damped least squares.

    For whole bodies: masses, inertia and stiffness decide which joints move. A root moves if its limit has a
    `position`; `as_body` gives it one. The first number of `history` is the residual before the finish, `error` the one
    after it. If goals are out of reach, the pose is still a continuous function of them.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> found = ik.solvers.full_body(arm, arm.rest, [ik.Reach(3, [1, 1, 1])])
    >>> int(found.status)
    0
    """
    return iterate(
        "full_body",
        skeleton,
        pose,
        goals,
        shared,
        sweeps=sweeps,
        sub_sweeps=sub_sweeps,
        relaxation=relaxation,
        max_angle=max_angle,
        inertia=inertia,
        pre_pull=pre_pull,
        pre_pull_turn=pre_pull_turn,
        pull_chain=pull_chain,
        max_step=max_step,
        max_error=max_error,
    )
