"""Methods that turn all joints at once by how each moves what should be reached: dls and its relatives, optimisers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.arguments import Iterated, WithNullSpace
from ikcore.solving.iterative import iterate
from ikcore.solving.solution import Solution
from ikcore.solving.table import method


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
    **shared: Unpack[Iterated],
) -> Solution:
    """Solve by the transpose of the Jacobian: errors pull at joints like forces, and these turn as far as is best.

    Nothing is solved, so that nothing can explode; but it creeps where some directions move much further than others,
    as near full reach. Take `dls` to arrive; this one to see, or to compare with. With `loops` it is feedback inverse
    kinematics: what is left of the errors pulls again, before joints turn.

    Examples
    --------
    What `dls` reaches in five iterations.

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
    """Solve by the pseudo-inverse of the Jacobian: the least turns that would do, if motion were linear.

    Few iterations far from singular poses, such as a stretched arm; near them joints would turn without bounds, so that
    small singular values are left out, or damped each by itself with `filtering`, and steps that make the error larger
    are taken back. `textbook=True` keeps them. With `gain` a step takes away a share of the error (closed loops, CLIK).

    Examples
    --------
    Near full reach the textbook's joints swing to and fro.

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

    Small singular values count as `sigma0` and large ones as what they are, smoothly between. Far from singular poses
    it is `pinv`; near them it goes on where `pinv` leaves directions out.

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
    max_step: float = 0.7853981633974483,
    max_error: float | None = None,
    project: bool = False,
    **shared: Unpack[WithNullSpace],
) -> Solution:
    """Solve by selectively damped least squares: each singular vector turns joints no further than it is worth.

    Where joints work together they turn all the way, where they work against each other, as near singular poses, hardly
    at all. It needs no damping constant, follows targets that are out of reach without jitter, and takes more
    iterations than `dls`.

    Examples
    --------
    Soft, as its authors' program has it, and as their paper has it.

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
    **shared: Unpack[Iterated],
) -> Solution:
    """Solve by projected Gauss-Seidel: one turn after the other becomes what is best as the others stand.

    The equations of `dls`, which are never written down; limits and `max_step` are bounds within which the best step is
    found, so that a joint at its limit leaves the rest to others. Without limits it is plain Gauss-Seidel (Kenwright).

    Examples
    --------
    An elbow that is kept away from its target is exactly at its bound then, 1.5 radians.

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
    """Solve by saturation in the null space: joints that meet their limits stop there, and others take over from them.

    Where too few are left for that, tips go less far in a step, but straight to their targets; if there is no straight
    way, as near as they can. `scaling=False` does that at once (IKTC).

    Examples
    --------
    Of an arm of three hinges the last may not turn far.

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
    **shared: Unpack[Iterated],
) -> Solution:
    """Solve by Newton's method: as `dls`, but by all second derivatives of the squared error of places.

    Where something of the error stays, beyond reach or between goals in conflict, the last steps are as short as those
    of `dls` are where all is reached. Where a step by them would lead up it is that of `dls`.

    Examples
    --------
    Two tips that cannot both be where they should: how far from the best they are after twelve iterations.

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
    **shared: Unpack[Iterated],
) -> Solution:
    """Solve by limited-memory BFGS within bounds: down the squared error of all goals, by what the last steps told.

    No equations are solved, so that an iteration costs hardly more for more goals; limits hold in every iteration and
    are met exactly. Without limits it is L-BFGS. A trial that its line search does not take counts as an iteration.

    Examples
    --------
    An elbow that is kept away from its target is exactly at its bound then, 1.5 radians.

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
