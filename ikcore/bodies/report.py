"""A report on poses of a body, as numbers and in words: balance, ranges of joints, effort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._joints import check_unscaled
from ikcore._record import record
from ikcore.bodies.balance import StaticBalance, balance
from ikcore.bodies.effort import StaticEffort, effort
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.errors import from_rest

_BEYOND = np.radians(0.01)  # outside a range by less counts as inside
_TELLING = 0.5  # share of its strength from which a joint gets a line


@record
class BodyReport:
    """Numbers about poses of a body; `explain` has them in words.

    Attributes
    ----------
    balance : StaticBalance or None
        The centre of mass over its support. None without one.
    beyond : (..., joints) array
        Angles by which joints are outside their ranges, in radians. Inside they are 0.
    angles : (..., joints) array
        Angles of hinges, in radians. Other joints have NaN.
    effort : StaticEffort or None
        Torques against gravity. None without strengths.

    Examples
    --------
    >>> import ikcore as ik
    >>> person = ik.bodies.human()
    >>> print(ik.bodies.report(person, person.rest, ik.bodies.soles(person)).explain())
    In balance, 6.8 cm inside.
    All joints are within their ranges.
    """

    balance: StaticBalance | None
    beyond: NDArray[Any]
    angles: NDArray[Any]
    effort: StaticEffort | None
    _skeleton: Skeleton
    _unit: float

    def explain(self, item: int | tuple[int, ...] = ()) -> str:
        """One pose in words, a sentence per line.

        Parameters
        ----------
        item : int or tuple of int
            Index of the pose in the leading axes; not needed for a single pose.

        Returns
        -------
        str
            Lengths are in centimetres, angles in degrees.
        """
        at = item if isinstance(item, tuple) else (item,)
        if len(at) != self.beyond.ndim - 1:
            raise IndexError(f"item: expected {self.beyond.ndim - 1} indices, one for each leading axis, got {len(at)}")
        lines = [] if self.balance is None else [_balance_line(float(self.balance.margin[at]) * self._unit)]
        lines += [self._range_line(joint, at) for joint in np.flatnonzero(self.beyond[at] > _BEYOND).tolist()]
        if not (self.beyond[at] > _BEYOND).any() and any(self._skeleton.limits):
            lines.append("All joints are within their ranges.")
        return "\n".join(lines + self._effort_lines(at))

    def _range_line(self, joint: int, at: tuple[int, ...]) -> str:
        name, limit = self._skeleton.names[joint], self._skeleton.limits[joint]
        off, angle = np.degrees(self.beyond[at][joint]), np.degrees(self.angles[at][joint])
        if np.isnan(angle) or limit is None:
            return f"{name} {off:.3g} degrees outside its range."
        low, high = np.degrees(limit.twist)
        is_high = abs(angle - off - high) <= abs(angle + off - low)
        return f"{name} {'beyond' if is_high else 'below'} {high if is_high else low:.3g} degrees, at {angle:.3g}."

    def _effort_lines(self, at: tuple[int, ...]) -> list[str]:
        if self.effort is None:
            return []
        shares = self.effort.shares[at]
        order = [joint for joint in np.argsort(-shares, kind="stable").tolist() if shares[joint] >= _TELLING]
        return [
            f"{self._skeleton.names[joint]} holds {100 * shares[joint]:.0f} % of its strength"
            f"{': too much' if shares[joint] > 1 else ''}."
            for joint in order
        ]


def report(
    skeleton: Skeleton,
    pose: Pose,
    support: Mapping[Any, ArrayLike] | None = None,
    strengths: Mapping[Any, float] | None = None,
    *,
    up: ArrayLike = (0, 1, 0),
    unit: float = 1.0,
    loads: Mapping[Any, float] | None = None,
) -> BodyReport:
    """Report on poses of a body: balance over its support, ranges of its joints, and effort against gravity.

    Parameters
    ----------
    skeleton : Skeleton
        The body.
    pose : Pose
        One or many, without scales.
    support : mapping, optional
        By joint, the points that stand on the ground, as `soles`. Without it there is no balance.
    strengths : mapping, optional
        By joint, the largest torque, as `strengths`. Without it there is no effort.
    up : (3,) array_like
        The direction against gravity, which is 9.81 m/s^2.
    unit : float, default: 1
        Metres per unit of length. A clip has one, too.
    loads : mapping, optional
        Additional masses by joint, for the effort.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> person = ik.bodies.human()
    >>> pose = person.rest.rotations.copy()
    >>> pose[person.index("left elbow")] = ik.rotations.from_axis_angle([0, -1, 0], np.radians(153))
    >>> found = ik.bodies.report(person, ik.Pose(pose), ik.bodies.soles(person))
    >>> print(found.explain())
    In balance, 6.9 cm inside.
    left elbow beyond 150 degrees, at 153.
    """
    check_unscaled(skeleton, pose)
    above = np.asarray(up, float)
    held = None
    if strengths is not None:
        gravity = -9.81 / unit / np.linalg.norm(above) * above
        held = effort(skeleton, pose, strengths, support, gravity=gravity, loads=loads)
    stands = None if support is None else balance(skeleton, pose, support, up=up)
    return BodyReport(stands, *_ranges(skeleton, pose), held, skeleton, unit)


def _ranges(skeleton: Skeleton, pose: Pose) -> tuple[NDArray[Any], NDArray[Any]]:
    """How far joints are outside their ranges, and the angles of hinges."""
    beyond = np.zeros((*pose.shape, len(skeleton)), pose.dtype)
    angles = np.full_like(beyond, np.nan)
    for joint, limit in enumerate(skeleton.limits):
        if limit is None:
            continue
        turned = from_rest(skeleton, joint, pose.rotations[..., joint, :])
        beyond[..., joint] = limit.violation(turned)
        if limit.kind == "hinge":
            axis = rotations.rotate(limit.frame, [1, 0, 0])
            twist = rotations.swing_twist(turned, axis)[1]
            angles[..., joint] = 2 * np.arctan2(twist[..., 1:] @ axis.astype(pose.dtype), twist[..., 0])
    return beyond, angles


def _balance_line(margin: float) -> str:
    if np.isnan(margin):
        return "Nothing supports it."
    return f"{'In' if margin >= 0 else 'Off'} balance, {100 * abs(margin):.2g} cm {'in' if margin >= 0 else 'out'}side."
