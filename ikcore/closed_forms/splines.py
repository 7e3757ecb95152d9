"""A chain laid along a curve, as a typed function on arrays; its result can be applied to a pose of a skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, rotations, status
from ikcore._arrays import number_type, optional_number, optional_rows, rows, size
from ikcore._call import call
from ikcore._joints import chain_indices, check_unscaled
from ikcore._record import record
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton


@record
class SplineSolution(status.Summarized):
    """The result of `spline` per item.

    Attributes
    ----------
    deltas : (..., n, 4) array
        Delta rotations of the joints: see `ikcore.closed_forms`. The last joint follows the last bone.
    positions : (..., n, 3) array
        Resulting positions of the joints, the root first.
    stretches : (..., n) array
        Length factor of every bone, to be applied to the translation of the next joint; 1 for the last joint.
    status : (...) int32 array
        `Status` flags; 0 means that all joints are on the curve.
    error : (...) array
        Largest distance from a joint to its point on the curve. For joints beyond the curve, the distance to its end.
    """

    deltas: NDArray[Any]
    positions: NDArray[Any]
    stretches: NDArray[Any]
    status: NDArray[np.int32]
    error: NDArray[Any]

    _noun = "chain"

    def pose(self, skeleton: Skeleton, pose: Pose, joints: Sequence[str | int]) -> Pose:
        """Return the input pose with the chain laid along the curve.

        Parameters
        ----------
        skeleton : Skeleton
        pose : Pose
            The pose whose joints were given to `spline`, without scales.
        joints : list of (str or int)
            These joints, each the child of the previous one.

        Returns
        -------
        Pose
            The pose with new rotations of these joints, and new translations.
        """
        chain = chain_indices(skeleton, joints)
        if len(chain) != self.deltas.shape[-2]:
            raise ValueError(f"joints: expected {self.deltas.shape[-2]} as were laid along the curve, got {len(chain)}")
        check_unscaled(skeleton, pose)
        world, shape = skeleton.forward(pose), np.broadcast_shapes(pose.shape, np.shape(self.status))
        came = skeleton.offsets.astype(pose.dtype) if pose.translations is None else pose.translations
        turned = np.array(np.broadcast_to(pose.rotations, (*shape, pose.joints, 4)))
        moved = np.array(np.broadcast_to(came, (*shape, pose.joints, 3)))
        for at, joint in enumerate(chain):
            outer, parent = np.array([1, 0, 0, 0], pose.dtype), int(skeleton.parents[joint])
            if parent >= 0:
                outer = world.rotations[..., parent, :]
            inner = rotations.conjugate(outer)
            delta = rotations.multiply(inner, rotations.multiply(self.deltas[..., at, :], outer))
            turned[..., joint, :] = rotations.multiply(delta, pose.rotations[..., joint, :])
            if at == 0:
                way = self.positions[..., 0, :] - world.positions[..., joint, :]
                moved[..., joint, :] += rotations.rotate(inner, way)
            else:
                moved[..., joint, :] *= self.stretches[..., at - 1, np.newaxis]
        return pose.with_rotations(turned, moved)


def spline(
    joints: ArrayLike,
    curve: ArrayLike,
    *,
    stretch: Literal["bones", "even"] | None = None,
    root_weight: ArrayLike | None = None,
    tilts: ArrayLike | None = None,
    start_axis: ArrayLike | None = None,
    start_up: ArrayLike | None = None,
    end_axis: ArrayLike | None = None,
    end_up: ArrayLike | None = None,
    workers: int | None = 1,
    strict: bool = False,
) -> SplineSolution:
    """Lay a chain along a curve, as for a tail, a spine or a rope: bone by bone, with every joint on the curve.

    The root moves to the curve's start. Every other joint is placed where the curve is first a bone length away from
    the previous joint, so bones keep their lengths. If the curve is shorter than the chain, the rest continues straight
    (TOO_SHORT). From bone to bone the chain turns by the shortest arc, so it does not roll by itself.

    Parameters
    ----------
    joints : (..., n, 3) array_like
        Positions of the joints, from the root to the tip, two or more. The result is float32 if joints and curve are.
    curve : (..., 1 + 3 * pieces, 3) array_like
        The points of cubic Bezier pieces that share their ends: start, two handles, end and so on. `curve_through`
        computes them from points on the curve.
    stretch : {"bones", "even"}, optional
        Lay the chain over the whole curve, measured by arc length: "bones" keeps the ratios of the bone lengths, "even"
        makes all bones equal. Default: bones keep their lengths.
    root_weight : (...) array_like, optional
        Share of the root's motion to the curve's start, 0 to 1 (default 1). The curve moves to the root by the rest: at
        0 the root stays.
    tilts : (..., pieces + 1) array_like, optional
        Roll of the bones about the curve in radians, at the ends of its pieces (default 0); linear in the curve's
        parameter in between.
    start_axis : (..., 3) array_like, optional
        A direction fixed to the first bone, in world space for the input positions. Needs `start_up`.
    start_up : (..., 3) array_like, optional
        The world direction to which the first bone's axis rolls. Needs `start_axis`.
    end_axis, end_up : (..., 3) array_like, optional
        The same for the last bone. The difference of the two rolls is distributed by length in between.
    workers, strict : see `ikcore.closed_forms`

    Returns
    -------
    SplineSolution
        Delta rotations, positions, stretches, status and error of every item. `SplineSolution.pose` applies them.

    Examples
    --------
    A tail of three bones along a curve through three points.

    >>> import ikcore as ik
    >>> tail = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]
    >>> found = ik.spline(tail, ik.closed_forms.curve_through([[0, 0, 0], [1.5, 1, 0], [4, 1, 0]]))
    >>> found.positions.round(3)
    array([[0.   , 0.   , 0.   ],
           [0.725, 0.688, 0.   ],
           [1.663, 1.037, 0.   ],
           [2.659, 1.125, 0.   ]])
    >>> ik.Status(int(found.status))
    <Status: 0>
    """
    for needed, value, needs, other in (
        ("start_axis", start_axis, "start_up", start_up),
        ("end_axis", end_axis, "end_up", end_up),
    ):
        if (value is None) != (other is None):
            raise ValueError(f"{needed} and {needs}: expected both or neither, got one")
    dtype = number_type(joints, curve)
    chain, points = rows("joints", joints, dtype, 3), rows("curve", curve, dtype, 3)
    if chain.ndim < 2 or chain.shape[-2] < 2:
        raise ValueError(
            f"joints: expected an array of shape (..., n, 3) of two joints or more, got shape {chain.shape}"
        )
    if points.ndim < 2 or points.shape[-2] < 4 or points.shape[-2] % 3 != 1:
        raise ValueError(
            f"curve: expected an array of shape (..., 1 + 3 * pieces, 3), got shape {points.shape}; curve_through makes"
            " one of points to go through"
        )
    inputs = {
        "joints": chain,
        "curve": points,
        "shares": _shares(stretch, chain),
        "tilts": optional_rows("tilts", tilts, dtype, (points.shape[-2] + 2) // 3),
        "root_weight": optional_number("root_weight", root_weight, dtype),
        "start_axis": optional_rows("start_axis", start_axis, dtype, 3),
        "start_up": optional_rows("start_up", start_up, dtype, 3),
        "end_axis": optional_rows("end_axis", end_axis, dtype, 3),
        "end_up": optional_rows("end_up", end_up, dtype, 3),
    }
    found = SplineSolution(*call(_core.spline, inputs, (), workers))
    status.report_unusable("spline", found.status, strict=strict)
    return found


def _shares(stretch: str | None, joints: NDArray[Any]) -> NDArray[Any]:
    """Each bone's share of the curve; empty if bones keep their lengths."""
    if stretch is None:
        return np.empty(0, joints.dtype)
    if stretch not in ("bones", "even"):
        raise ValueError(f"stretch: expected 'bones' or 'even', got {stretch!r}")
    if stretch == "even":
        return np.ones(joints.shape[-2], joints.dtype)
    shares = np.zeros(joints.shape[:-1], joints.dtype)
    with np.errstate(all="ignore"):  # numbers too large become infinite, and the solver reports them
        bones = joints[..., 1:, :] - joints[..., :-1, :]
        exponents = np.frexp(np.max(np.abs(bones), axis=(-2, -1), keepdims=True))[1]
        shares[..., :-1] = size(np.ldexp(bones, -exponents))  # near 1, so that no square underflows
    return shares


def curve_through(points: ArrayLike) -> NDArray[Any]:
    """Return the curve, for `spline`, through points. At each point it is parallel to the line between the neighbours.

    It is a Catmull-Rom spline. Its first and last piece are parabolas; two points make a straight line.

    Parameters
    ----------
    points : (..., m, 3) array_like
        Two or more.

    Returns
    -------
    (..., 3 * m - 2, 3) array
        The points of cubic Bezier pieces; every third is one of the given points.

    Examples
    --------
    >>> import ikcore as ik
    >>> ik.closed_forms.curve_through([[0, 0, 0], [3, 0, 0]])[:, 0]
    array([0., 1., 2., 3.])
    """
    knots = rows("points", points, number_type(points), 3)
    if knots.ndim < 2 or knots.shape[-2] < 2:
        raise ValueError(f"points: expected an array of shape (..., m, 3) of two or more, got shape {knots.shape}")
    with np.errstate(all="ignore"):
        before, after = knots[..., :-1, :], knots[..., 1:, :]
        handles = (after - before) / 3
        slopes = np.empty_like(knots)  # a third of the derivative by the parameter
        slopes[...] = handles[..., :1, :]
        slopes[..., 1:-1, :] = (handles[..., 1:, :] + handles[..., :-1, :]) / 2
        slopes[..., 0, :] = 2 * handles[..., 0, :] - slopes[..., 1, :]
        slopes[..., -1, :] = 2 * handles[..., -1, :] - slopes[..., -2, :]
        curve = np.empty((*knots.shape[:-2], 3 * knots.shape[-2] - 2, 3), knots.dtype)
        curve[..., ::3, :] = knots
        curve[..., 1::3, :] = before + slopes[..., :-1, :]
        curve[..., 2::3, :] = after - slopes[..., 1:, :]
    return curve
