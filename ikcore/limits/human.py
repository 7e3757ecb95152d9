"""Ranges of motion of a person's arms and legs, as limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ikcore.limits.limit import Limit


def human_arm(side: str) -> dict[str, Limit]:
    """The joints of an arm: shoulder, elbow, forearm and wrist.

    At rest the body stands with its arms stretched out sideways, palms forward. The axes of every joint are those of
    the world: +Y up, +Z forward, +X left. Angles are the normal range of motion of the American Academy of Orthopaedic
    Surgeons (Joint Motion, 1965). Shoulder abduction is 180 degrees and adduction 45, both from the hanging arm;
    internal rotation 70, external 90. Elbow 0 to 150; pronation and supination 80 each. Wrist flexion 80, extension 70,
    radial deviation 20, ulnar 30. Forwards and backwards at the height of the shoulder, the arm moves by 130 and 40.

    Parameters
    ----------
    side : {"left", "right"}
        Side of the arm.

    Returns
    -------
    dict of str to Limit

    Examples
    --------
    >>> arm = human_arm("left")
    >>> list(arm)
    ['shoulder', 'elbow', 'forearm', 'wrist']
    >>> import ikcore as ik
    >>> forearm_forward = ik.rotations.shortest_arc([1, 0, 0], [0, 0, 1])
    >>> float(arm["elbow"].violation(forearm_forward).round(9))
    0.0
    """
    left = _is_left(side)
    outwards = [1, 0, 0] if left else [-1, 0, 0]
    # z of the frame, axis x side, points forwards on the left and backwards on the right
    reach = (90, 135, 130, 40) if left else (90, 135, 40, 130)
    bend = (20, 30, 80, 70) if left else (20, 30, 70, 80)
    rotation = (-90, 70) if left else (-70, 90)
    return {
        "shoulder": Limit.ball(outwards, _angles(*reach), side=[0, 1, 0], twist=_angles(*rotation)),
        "elbow": Limit.hinge([0, -1, 0] if left else [0, 1, 0], *_angles(0, 150)),
        "forearm": Limit.hinge(outwards, *_angles(-80, 80)),
        "wrist": Limit.ball(outwards, _angles(*bend), side=[0, 1, 0], twist=(0, 0)),
    }


def human_leg(side: str) -> dict[str, Limit]:
    """The limits of the hip, knee, ankle and toe of a side, "left" or "right", by these names.

    Axes, rest pose and source as for `human_arm`; at rest the legs are straight down and the feet point forward. Hip
    flexion is 120 degrees, extension 30, abduction 45, adduction 30, rotation 45 both ways. Knee 0 to 135. Ankle
    dorsiflexion 20, plantar flexion 50, inversion 35, eversion 15. Toe extension 70, flexion 45.

    Examples
    --------
    >>> leg = human_leg("right")
    >>> import ikcore as ik
    >>> heel_up = ik.rotations.from_axis_angle([1, 0, 0], [2.0, 2.5])
    >>> leg["knee"].violation(heel_up).round(4)
    array([0.    , 0.1438])
    """
    left = _is_left(side)
    swing = (120, 30, 30, 45) if left else (120, 30, 45, 30)  # z of the frame points to the right
    tilt = (-35, 15) if left else (-15, 35)  # about +Z
    low, high = zip(tilt, (0, 0), (-20, 50), strict=True)
    return {
        "hip": Limit.ball([0, -1, 0], _angles(*swing), side=[0, 0, 1], twist=_angles(-45, 45)),
        "knee": Limit.hinge([1, 0, 0], *_angles(0, 135)),
        "ankle": Limit.euler("zyx", _angles(*low), _angles(*high)),
        "toe": Limit.hinge([1, 0, 0], *_angles(-70, 45)),
    }


def _is_left(side: str) -> bool:
    if side not in ("left", "right"):
        raise ValueError(f"side: expected 'left' or 'right', got {side!r}")
    return side == "left"


def _angles(*degrees: float) -> Any:
    return tuple(np.pi / 180 * angle for angle in degrees)
