"""Twist distributed along a chain of a skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, status
from ikcore._arrays import optional_rows
from ikcore._call import call
from ikcore._joints import chain_indices, check_unscaled
from ikcore._record import record
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


@record
class TwistSolution:
    """The result of `spread_twist` per item.

    Attributes
    ----------
    pose : Pose
        The resulting poses. Positions are unchanged, and only the joints in between change their world rotation.
    twists : (..., n) array
        The twist assigned to each joint, in radians; 0 for the first.
    status : (...) int32 array
        `Status` flags; 0 means that everything worked.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0]])
    >>> ik.spread_twist(arm, arm.rest, [0, 1, 2]).twists
    array([0., 0., 0.])
    """

    pose: Pose
    twists: NDArray[Any]
    status: NDArray[np.int32]


def spread_twist(
    skeleton: Skeleton,
    pose: Pose,
    joints: Sequence[str | int],
    *,
    weights: ArrayLike | None = None,
    workers: int | None = 1,
    strict: bool = False,
) -> TwistSolution:
    """Distribute the twist of a chain along its joints: a forearm turns with the hand, a spine evenly.

    The twist is the sum of the rotations of all joints after the first about their bones, relative to rest. It is
    shared among them by their weights. The first and the last joint keep their world rotation, and all joints their
    positions.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton. Its limits are ignored.
    pose : Pose
        The poses, without scales.
    joints : list of (str or int)
        Two or more, each the child of the previous one: elbow, twist bones and hand, for instance.
    weights : (..., n) array_like, optional
        Share of each joint; only ratios count, and the first is ignored. Default: equal. A negative one counts as 0.
    workers, strict : see `ikcore.closed_forms`

    Examples
    --------
    A hand turned by 90 degrees; the two bones of the forearm before it take a share of that.

    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]])
    >>> turned = arm.rest.rotations.copy()
    >>> turned[3] = ik.rotations.from_axis_angle([1, 0, 0], np.pi / 2)
    >>> np.degrees(ik.spread_twist(arm, ik.Pose(turned), [0, 1, 2, 3]).twists).round(9)
    array([ 0., 30., 30., 30.])
    """
    chain = chain_indices(skeleton, joints)
    if len(chain) < 2:
        raise ValueError(f"joints: expected two or more, got {len(chain)}")
    check_unscaled(skeleton, pose)
    bones = skeleton.offsets.astype(pose.dtype) if pose.translations is None else pose.translations
    axes = np.zeros((*bones.shape[:-2], len(chain), 3), pose.dtype)
    axes[..., :-1, :] = bones[..., chain[1:], :]
    inputs = {
        "pose": pose.rotations[..., chain, :],
        "rests": skeleton.rest.rotations[chain].astype(pose.dtype),
        "axes": axes,
        "weights": optional_rows("weights", weights, pose.dtype, len(chain)),
    }
    solved, twists, said = call(_core.spread_twist, inputs, (), workers)
    turned = np.array(np.broadcast_to(pose.rotations, (*np.shape(said), pose.joints, 4)))
    turned[..., chain, :] = solved
    status.report_unusable("spread_twist", said, strict=strict)
    return TwistSolution(pose.with_rotations(turned), twists, said)
