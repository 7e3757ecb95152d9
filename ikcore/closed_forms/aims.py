"""Aims in closed form: one joint by `aim`, a chain by `look_at`. A status for every item."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, status
from ikcore._arrays import number_type, optional_number, optional_rows, rows
from ikcore._call import call
from ikcore._record import record
from ikcore._single import single


@record
class AimSolution(_core.Aim, status.Summarized):
    """The result of `aim` per item.

    Attributes
    ----------
    delta : (..., 4) array
        World-space rotation (w, x, y, z), w >= 0, to apply to the joint: its world rotation W becomes ``delta W``.
    status : (...) int32 array
        `Status` flags; 0 means that the axis points at the target.
    error : (...) array
        Residual angle between the axis and the direction from its start to the target, in radians.
    """

    __slots__ = ()

    delta: NDArray[Any] = field()
    status: NDArray[np.int32] = field()
    error: NDArray[Any] = field()

    _noun = "joint"


@single(AimSolution, pose=2)
def aim(
    position: ArrayLike,
    rotation: ArrayLike,
    target: ArrayLike,
    *,
    forward: ArrayLike,
    offset: ArrayLike | None = None,
    up: ArrayLike | None = None,
    pole: ArrayLike | None = None,
    twist: ArrayLike | None = None,
    influence: ArrayLike | None = None,
    workers: int | None = 1,
    strict: bool = False,
) -> AimSolution:
    """Turn a joint so that one of its axes points at the target, as a head, an eye or a gun does.

    The joint turns by the shortest arc; with `up` and `pole` it also rolls until up is on the pole's side. An axis that
    starts beside the joint (`offset`) cannot hit a target that is nearer to the joint than the axis passes: TOO_NEAR.

    Parameters
    ----------
    position : (..., 3) array_like
        Position of the joint.
    rotation : (..., 4) array_like
        The joint's world rotation.
    target : (..., 3) array_like
        The point to aim at.
    forward : (..., 3) array_like
        The axis to aim, in the joint's own space, of any length.
    offset : (..., 3) array_like, optional
        Start of the axis, in the joint's own space (default: the joint).
    up : (..., 3) array_like, optional
        The axis to keep towards the pole, in the joint's own space. Needs `pole`.
    pole : (..., 3) array_like, optional
        A point. Needs `up`.
    twist : (...) array_like, optional
        Rotation in radians about the line to the target, after the pole (default 0).
    influence : (...) array_like, optional
        Share of the rotation, 0 to 1 (default 1). At 0 nothing moves, whatever the target, even NaN.
    workers, strict : see `ikcore.closed_forms`

    Returns
    -------
    AimSolution
        Delta rotation, status and residual angle of every item.

    Examples
    --------
    >>> import ikcore as ik
    >>> eye = ik.aim([0, 1.7, 0], [1, 0, 0, 0], [2, 1.7, 2], forward=[0, 0, 1])
    >>> ik.rotations.rotate(eye.delta, [0, 0, 1]).round(4)
    array([0.7071, 0.    , 0.7071])
    """
    if (up is None) != (pole is None):
        raise ValueError("up and pole: expected both or neither, got one")
    dtype = number_type(position, rotation)
    inputs = {
        "position": rows("position", position, dtype, 3),
        "rotation": rows("rotation", rotation, dtype, 4),
        "target": rows("target", target, dtype, 3),
        "forward": rows("forward", forward, dtype, 3),
        "offset": optional_rows("offset", offset, dtype, 3),
        "up": optional_rows("up", up, dtype, 3),
        "pole": optional_rows("pole", pole, dtype, 3),
        "twist": optional_number("twist", twist, dtype),
        "influence": optional_number("influence", influence, dtype),
    }
    found = AimSolution(*call(_core.aim, inputs, (), workers))
    status.report_unusable("aim", found.status, strict=strict)
    return found


@record
class LookAtSolution(status.Summarized):
    """The result of `look_at` per item.

    Attributes
    ----------
    deltas : (..., n, 4) array
        Delta rotations of the joints: see `ikcore.closed_forms`.
    positions : (..., n, 3) array
        Resulting positions of the joints.
    status, error : (...) int32 array and (...) array
        As of `AimSolution`, for the last joint.
    """

    deltas: NDArray[Any]
    positions: NDArray[Any]
    status: NDArray[np.int32]
    error: NDArray[Any]

    _noun = "chain"


def look_at(
    joints: ArrayLike,
    rotation: ArrayLike,
    target: ArrayLike,
    *,
    forward: ArrayLike,
    weights: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    up: ArrayLike | None = None,
    pole: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    clamp: ArrayLike | None = None,
    clamp_start: ArrayLike | None = None,
    influence: ArrayLike | None = None,
    workers: int | None = 1,
    strict: bool = False,
) -> LookAtSolution:
    """Turn several joints together, spine to head, so that an axis of the last one points at the target.

    Each joint takes a share of the rotation by its weight, and of the roll if `up` and `pole` are given. `reference`
    and `clamp` keep the axis within a cone. The last joint with a weight takes the residual, as `aim` does, so the axis
    hits the target exactly. It cannot hit a target nearer to that joint than the axis passes: TOO_NEAR.

    Parameters
    ----------
    joints : (..., n, 3) array_like
        Positions of the joints, from the root to the tip.
    rotation, target, forward, offset, up, pole : array_like
        As of `aim`, for the last joint.
    weights : (..., n) array_like, optional
        Shares of the joints in the rotation; only ratios count. Default: equal. A negative one counts as 0.
    reference : (..., 3) array_like, optional
        Axis of the cone, a direction in the world, such as the facing of the chest. Needs `clamp`.
    clamp : (...) array_like, optional
        Narrowness of the cone, 0 to 1: its half angle is (1 - clamp) pi. Needs `reference`.
    clamp_start : (...) array_like, optional
        Share of the cone's half angle at which softening starts, 0 to 1 (default 1: none). Beyond it, the axis
        approaches the cone smoothly and never reaches it. Needs `clamp`.
    influence : (...) array_like, optional
        Share of every rotation, 0 to 1 (default 1), as of `aim`.
    workers, strict : see `ikcore.closed_forms`

    Returns
    -------
    LookAtSolution
        Delta rotations, positions, status and residual angle of every item.

    Examples
    --------
    Chest, neck and head look to the side; the head turns the most.

    >>> import numpy as np
    >>> import ikcore as ik
    >>> spine = [[0, 1.2, 0], [0, 1.45, 0], [0, 1.6, 0.02]]
    >>> gaze = ik.look_at(
    ...     spine, [1, 0, 0, 0], [2, 1.6, 0], forward=[0, 0, 1], weights=[0.2, 0.3, 0.5]
    ... )
    >>> np.degrees(2 * np.arccos(gaze.deltas[:, 0])).round(1)
    array([18.1, 27.2, 45.1])
    >>> ik.Status(int(gaze.status))
    <Status: 0>
    """
    for needed, value, needs, other in (("up", up, "pole", pole), ("reference", reference, "clamp", clamp)):
        if (value is None) != (other is None):
            raise ValueError(f"{needed} and {needs}: expected both or neither, got one")
    if clamp_start is not None and clamp is None:
        raise ValueError("clamp_start: expected reference and clamp with it, got neither")
    dtype = number_type(joints, rotation)
    chain = rows("joints", joints, dtype, 3)
    if chain.ndim < 2 or chain.shape[-2] == 0:
        raise ValueError(
            f"joints: expected an array of shape (..., n, 3) of one joint or more, got shape {chain.shape}"
        )
    inputs = {
        "joints": chain,
        "rotation": rows("rotation", rotation, dtype, 4),
        "target": rows("target", target, dtype, 3),
        "forward": rows("forward", forward, dtype, 3),
        "weights": optional_rows("weights", weights, dtype, chain.shape[-2]),
        "offset": optional_rows("offset", offset, dtype, 3),
        "up": optional_rows("up", up, dtype, 3),
        "pole": optional_rows("pole", pole, dtype, 3),
        "reference": optional_rows("reference", reference, dtype, 3),
        "clamp": optional_number("clamp", clamp, dtype),
        "clamp_start": optional_number("clamp_start", clamp_start, dtype),
        "influence": optional_number("influence", influence, dtype),
    }
    found = LookAtSolution(*call(_core.look, inputs, (), workers))
    status.report_unusable("look", found.status, strict=strict)
    return found
