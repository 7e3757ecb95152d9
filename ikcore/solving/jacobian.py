"""Methods that turn all joints at once by the Jacobian: dls and its relatives, and optimisers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.arguments import IteratedOptions, WithNullSpace
from ikcore.solving.registry import method
from ikcore.solving.run import iterate
from ikcore.solving.solution import Solution


@method
def dls(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    damping: float | None = None,
    max_step: float = 1.0,
    max_error: float | None = None,
    gain: float = 1.0,
    project: bool = False,
    **shared: Unpack[WithNullSpace],
) -> Solution:
    """Solve by damped least squares: all joints move at once, in proportion to their effect on the goals.

    Few iterations, for any number of goals of all kinds. If goals contradict each other, levels decide, and within a
    level weights. Limits hold in every iteration, also for joints that slide. `Limit` stiffness says how much a joint
    resists turning.

    Examples
    --------
    A hand with a position and a rotation; then an elbow with a position too.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> hand = ik.Reach(3, [1, 1, 1], ik.rotations.from_axis_angle([0, 0, 1], 1.5))
    >>> found = ik.dls(arm, arm.rest, [hand])
    >>> int(found.status), int(found.iterations)
    (0, 6)
    >>> int(ik.dls(arm, arm.rest, [hand, ik.Reach(1, [0, 1, 0])]).status)
    0
    """
    return iterate(
        "dls",
        skeleton,
        pose,
        goals,
        shared,
        damping=damping,
        max_step=max_step,
        max_error=max_error,
        gain=gain,
        project=project,
    )


@method
def transpose(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    loops: int = 1,
    max_step: float = 0.5,
    max_error: float | None = None,
    gain: float = 1.0,
    project: bool = False,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Solve by the transpose of the Jacobian: errors act on joints like forces, with the optimal step length.

    No equations are solved, so it is always stable. It is slow if some directions move much farther than others, as
    near full reach. Use `dls` to reach targets, and this method for comparisons. Residual errors are fed back before
    joints turn if `loops` is above 1 (feedback inverse kinematics).

    Examples
    --------
    A target that `dls` reaches in five iterations.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> found = ik.solvers.transpose(arm, arm.rest, [ik.Reach(3, [1, 1, 1])])
    >>> int(found.status), int(found.iterations)
    (0, 21)
    >>> int(ik.solvers.transpose(arm, arm.rest, [ik.Reach(3, [1, 1, 1])], loops=20).iterations)
    6
    """
    return iterate(
        "transpose",
        skeleton,
        pose,
        goals,
        shared,
        loops=loops,
        max_step=max_step,
        max_error=max_error,
        gain=gain,
        project=project,
    )


@method
def pinv(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    truncation: float = 0.01,
    filtering: float | None = None,
    max_step: float = 0.5,
    max_error: float | None = None,
    gain: float = 1.0,
    project: bool = False,
    **shared: Unpack[WithNullSpace],
) -> Solution:
    """Solve by the pseudo-inverse of the Jacobian: the smallest turns that would suffice if motion were linear.

    Few iterations far from singular poses such as a stretched arm. Near them joints would turn without bounds.
    Therefore small singular values are left out, or damped one by one with `filtering`, and steps that increase the
    error are taken back; `textbook=True` keeps them. A `gain` below 1 removes only a share of the error in a step
    (CLIK).

    Examples
    --------
    Near full reach, joints oscillate with the textbook method.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> near = ik.Reach(3, [2.49, 0.2, 0])
    >>> found = ik.solvers.pinv(arm, arm.rest, [near])
    >>> int(found.status), int(found.iterations)
    (0, 11)
    >>> ik.Status(int(ik.solvers.pinv(arm, arm.rest, [near], textbook=True).status)).name
    'ITERATION_LIMIT'
    """
    return iterate(
        "pinv",
        skeleton,
        pose,
        goals,
        shared,
        truncation=truncation,
        filtering=filtering,
        max_step=max_step,
        max_error=max_error,
        gain=gain,
        project=project,
    )


@method
def svf(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    sigma0: float = 0.01,
    nu: float = 10.0,
    max_step: float = 0.5,
    max_error: float | None = None,
    project: bool = False,
    **shared: Unpack[WithNullSpace],
) -> Solution:
    """Solve by a pseudo-inverse with filtered singular values: full rank in every pose.

    Small singular values are replaced by `sigma0`, large ones are kept, with a smooth transition. Far from singular
    poses it equals `pinv`. Near them it still moves in directions that `pinv` leaves out.

    Examples
    --------
    Near full reach, as published.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> found = ik.solvers.svf(arm, arm.rest, [ik.Reach(3, [2.49, 0.2, 0])], textbook=True)
    >>> int(found.status), int(found.iterations)
    (0, 4)
    """
    return iterate(
        "svf",
        skeleton,
        pose,
        goals,
        shared,
        sigma0=sigma0,
        nu=nu,
        max_step=max_step,
        max_error=max_error,
        project=project,
    )


@method
def sdls(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    soft: bool = True,
    max_step: float = math.radians(45),
    max_error: float | None = None,
    project: bool = False,
    **shared: Unpack[WithNullSpace],
) -> Solution:
    """Solve by selectively damped least squares: each singular vector has a damping of its own.

    The step is full where joints work together, and nearly 0 where they work against each other, as near singular
    poses. It needs no damping constant, follows targets out of reach without jitter, and takes more iterations than
    `dls`.

    Examples
    --------
    Soft, as in its authors' program, and as in their paper.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> hand = ik.Reach(3, [1, 1, 1])
    >>> int(ik.solvers.sdls(arm, arm.rest, [hand]).iterations)
    13
    >>> int(ik.solvers.sdls(arm, arm.rest, [hand], soft=False).iterations)
    10
    """
    return iterate(
        "sdls", skeleton, pose, goals, shared, soft=soft, max_step=max_step, max_error=max_error, project=project
    )


@method
def gauss_seidel(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    sweeps: int = 20,
    damping: float | None = None,
    max_step: float = 1.0,
    max_error: float | None = None,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Solve by projected Gauss-Seidel: one turn after the other is set to its best value, with the others fixed.

    It solves the equations of `dls` without building them. Limits and `max_step` are bounds of the step, so that
    other joints replace the motion of a joint at its limit. Without limits it is plain Gauss-Seidel (Kenwright).

    Examples
    --------
    An elbow whose limit keeps it from its target ends exactly at its bound, 1.5 radians.

    >>> import ikcore as ik
    >>> elbow = ik.Limit.hinge([0, 0, 1], 0, 1.5)
    >>> arm = ik.Skeleton(
    ...     [-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], limits=[None, elbow, None]
    ... )
    >>> found = ik.solvers.gauss_seidel(arm, arm.rest, [ik.Reach(2, [0.5, 0.5, 0])])
    >>> round(float(ik.rotations.to_axis_angle(found.pose.rotations[1])[1]), 12)
    1.5
    >>> int(ik.solvers.gauss_seidel(arm, arm.rest, [ik.Reach(2, [1, 1.2, 0])]).status)
    0
    """
    return iterate(
        "gauss_seidel",
        skeleton,
        pose,
        goals,
        shared,
        sweeps=sweeps,
        damping=damping,
        max_step=max_step,
        max_error=max_error,
    )


@method
def sns(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    scaling: bool = True,
    max_step: float = 0.5,
    max_error: float | None = None,
    **shared: Unpack[WithNullSpace],
) -> Solution:
    """Solve by saturation in the null space: joints stop at their limits, and others replace their motion.

    If too few joints are left for that, the effectors move less far in a step, but straight to their targets. If there
    is no straight way, they move as near as possible. `scaling=False` goes as near as possible at once (IKTC).

    Examples
    --------
    An arm of three hinges whose last one has a small range.

    >>> import numpy as np
    >>> import ikcore as ik
    >>> free, stiff = ik.Limit.hinge([0, 0, 1], -3, 3), ik.Limit.hinge([0, 0, 1], -0.1, 0.1)
    >>> arm = ik.Skeleton.chain(np.c_[np.arange(4), np.zeros((4, 2))])
    >>> arm = ik.Skeleton(arm.parents, arm.offsets, limits=[free, free, stiff, None])
    >>> found = ik.solvers.sns(arm, arm.rest, [ik.Reach(3, [1.5, 1.5, 0])])
    >>> int(found.status)
    0
    >>> bool(ik.rotations.to_axis_angle(found.pose.rotations[2])[1] <= 0.1)
    True
    """
    return iterate("sns", skeleton, pose, goals, shared, scaling=scaling, max_step=max_step, max_error=max_error)


@method
def newton(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    damping: float | None = None,
    max_step: float = 1.0,
    max_error: float | None = None,
    project: bool = False,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Solve by Newton's method: like `dls`, but with all second derivatives of the squared position error.

    It converges fast even if an error remains, for targets out of reach or goals in conflict. There `dls` converges
    slowly. A Newton step that would increase the error is replaced by a step of `dls`.

    Examples
    --------
    Two effectors that cannot both reach their targets: distance from the optimum after twelve iterations.

    >>> import ikcore as ik
    >>> fork = ik.Skeleton(
    ...     [-1, 0, 1, 2, 1, 4],
    ...     [[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]],
    ... )
    >>> apart = [ik.Reach(3, [1, 3, 1]), ik.Reach(5, [2, -3, -1])]
    >>> best = ik.solvers.newton(fork, fork.rest, apart, iterations=100, textbook=True).error
    >>> for name in ("dls", "newton"):
    ...     found = ik.solve(fork, fork.rest, apart, name, iterations=12, textbook=True)
    ...     print(f"{name}: {abs(found.error - best):.0e}")
    dls: 4e-02
    newton: 9e-08
    """
    return iterate(
        "newton",
        skeleton,
        pose,
        goals,
        shared,
        damping=damping,
        max_step=max_step,
        max_error=max_error,
        project=project,
    )


@method
def lbfgsb(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    memory: int = 6,
    max_step: float = 1.0,
    **shared: Unpack[IteratedOptions],
) -> Solution:
    """Solve by limited-memory BFGS within bounds: minimise the squared error of all goals by past gradients.

    No equations are solved, so an iteration costs little more for more goals. Limits hold in every iteration and are
    met exactly. Without limits it is L-BFGS. A rejected trial of its line search counts as an iteration.

    Examples
    --------
    An elbow whose limit keeps it from its target ends exactly at its bound, 1.5 radians.

    >>> import ikcore as ik
    >>> elbow = ik.Limit.hinge([0, 0, 1], 0, 1.5)
    >>> arm = ik.Skeleton(
    ...     [-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], limits=[None, elbow, None]
    ... )
    >>> found = ik.solvers.lbfgsb(arm, arm.rest, [ik.Reach(2, [0.5, 0.5, 0])])
    >>> round(float(ik.rotations.to_axis_angle(found.pose.rotations[1])[1]), 12)
    1.5
    >>> int(ik.solvers.lbfgsb(arm, arm.rest, [ik.Reach(2, [1, 1.2, 0])]).status)
    0
    """
    return iterate("lbfgsb", skeleton, pose, goals, shared, memory=memory, max_step=max_step)
