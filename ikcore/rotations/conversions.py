"""Rotations to matrices, axes with angles, six numbers, Euler angles and the order x, y, z, w; and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ikcore import _core
from ikcore._arrays import is_rotation, number_type, rows
from ikcore.rotations._calls import Array, call_one, call_two, check_output, write_output


def to_matrix(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions `q` (..., 4). They multiply column vectors.

    `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> to_matrix([0, 0, 0, 1])
    array([[-1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    """
    return call_one(_core.quat_to_matrix, number_type(q), out, workers, q=(q, 4))


def from_matrix(matrix: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Canonical unit quaternions (..., 4) of rotation matrices.

    Parameters
    ----------
    matrix : (..., 3, 3) array_like
        Rotation matrices. A matrix whose error exceeds rounding gives a rotation near it. `best_fit` of its columns
        gives the nearest.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> from_matrix([[0, -1, 0], [0, 0, -1], [1, 0, 0]])
    array([ 0.5,  0.5, -0.5,  0.5])
    """
    return call_one(_core.quat_from_matrix, number_type(matrix), out, workers, matrix=(matrix, 3, 3))


def to_axis_angle(
    q: ArrayLike, *, out: tuple[Array, Array] | None = None, workers: int | None = 1
) -> tuple[Array, Array]:
    """Unit axes (..., 3) and angles (...) in [0, pi] of rotations `q` (..., 4), by the shorter way.

    The axis of the identity is x. `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> axis, angle = to_axis_angle([[0, 0, -1, 0], [1, 0, 0, 0]])
    >>> axis
    array([[0., 1., 0.],
           [1., 0., 0.]])
    >>> angle
    array([3.14159265, 0.        ])
    """
    return call_two(_core.quat_to_axis_angle, number_type(q), out, workers, q=(q, 4))


def from_axis_angle(axis: ArrayLike, angle: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Unit quaternions (..., 4) of rotations by an angle about an axis.

    Parameters
    ----------
    axis : (..., 3) array_like
        Axes of any length; zero gives the identity. They decide whether the result is float32.
    angle : (...) array_like
        Angles. Beyond half a turn they give w < 0.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> from_axis_angle([0, 2, 0], [0, np.pi / 3]).round(4)
    array([[1.   , 0.   , 0.   , 0.   ],
           [0.866, 0.   , 0.5  , 0.   ]])
    """
    return call_one(_core.quat_from_axis_angle, number_type(axis), out, workers, axis=(axis, 3), angle=(angle,))


def to_6d(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The first two columns of the matrices of `q` (..., 4), one after the other (..., 6): the images of x and y.

    The representation is continuous, for learning. `out` and `workers` are those of `ikcore.rotations`.

    Notes
    -----
    Zhou et al., "On the continuity of rotation representations in neural networks", 2019. Some libraries take rows.

    Examples
    --------
    >>> to_6d([0, 0, 0, 1])
    array([-1.,  0.,  0.,  0., -1.,  0.])
    """
    return call_one(_core.quat_to_6d, number_type(q), out, workers, q=(q, 4))


def from_6d(columns: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Canonical unit quaternions (..., 4) of two vectors, as a network predicts them.

    Parameters
    ----------
    columns : (..., 6) array_like
        Two vectors of any length. The first is kept as a direction, and the second is made perpendicular to it
        (Gram-Schmidt). If that leaves nothing, a fixed perpendicular is used.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> from_6d([0, 3, 0, 1, 1, 0]).round(4)
    array([0.    , 0.7071, 0.7071, 0.    ])
    """
    return call_one(_core.quat_from_6d, number_type(columns), out, workers, columns=(columns, 6))


def to_euler(q: ArrayLike, order: str, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Three angles about coordinate axes.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    order : str
        Three axes, as in SciPy, the first letter first. Capitals such as "XYZ" are the axes of the body (intrinsic),
        small letters such as "xyz" those of the world (extrinsic). Blender's XYZ is "xyz" here. Neighbouring axes must
        differ.
    out, workers : see `ikcore.rotations`

    Returns
    -------
    (..., 3) array
        Radians, in the order of the letters. First and last are in [-pi, pi]. The middle one is in [0, pi] if they
        share an axis, else in [-pi/2, pi/2]. In gimbal lock only their sum or difference is defined. The angle of the
        axis that turns with the others is then 0: the last of intrinsic orders, the first of extrinsic ones.

    Examples
    --------
    >>> to_euler([0.5, 0.5, 0.5, 0.5], "XYZ").round(6)
    array([1.570796, 1.570796, 0.      ])
    """
    dtype = number_type(q)
    turned = rows("q", q, dtype, 4)
    axes, forward = _euler_axes(order, dtype)
    angles = np.empty((*turned.shape[:-1], 3), dtype) if out is None else check_output(out, dtype)
    call_one(_core.quat_to_euler, dtype, angles[..., ::forward], workers, q=(turned, 4), axes=(axes, 3, 3))
    return angles


def from_euler(angles: ArrayLike, order: str, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Unit quaternions (..., 4) of three angles about coordinate axes. Their sign follows from the angles.

    Parameters
    ----------
    angles : (..., 3) array_like
        Radians, in the order of the letters.
    order : str
        Three axes: see `to_euler`.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> from_euler([np.pi / 2, 0, np.pi / 2], "xyz").round(4)
    array([0.5, 0.5, 0.5, 0.5])
    """
    dtype = number_type(angles)
    axes, forward = _euler_axes(order, dtype)
    intrinsic = rows("angles", angles, dtype, 3)[..., ::forward]
    return call_one(_core.quat_from_euler, dtype, out, workers, angles=(intrinsic, 3), axes=(axes, 3, 3))


def _euler_axes(order: str, dtype: np.dtype[Any]) -> tuple[Array, int]:
    """Axes in intrinsic order, and the step that puts angles in it: extrinsic orders are reversed."""
    letters = [("xyz" if str(order).islower() else "XYZ").find(letter) for letter in str(order)]
    if len(letters) != 3 or -1 in letters or letters[1] in (letters[0], letters[2]):
        raise ValueError(f"order: expected three axes such as 'XYZ' (intrinsic) or 'zxz' (extrinsic), got {order!r}")
    forward = -1 if order.islower() else 1
    return np.eye(3, dtype=dtype)[letters[::forward]], forward


def to_xyzw(q: ArrayLike, *, out: Array | None = None) -> Array:
    """Quaternions `q` (..., 4) with w last, (x, y, z, w), as SciPy, glTF and most engines have them.

    `out` is that of `ikcore.rotations`.

    Examples
    --------
    >>> to_xyzw([1, 2, 3, 4])
    array([2., 3., 4., 1.])
    """
    return _reorder(q, [1, 2, 3, 0], out)


def from_xyzw(q: ArrayLike, *, out: Array | None = None) -> Array:
    """Quaternions (..., 4) with w first, (w, x, y, z), from those with w last.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions (x, y, z, w), or a SciPy `Rotation`, whose order is known.
    out : see `ikcore.rotations`

    Examples
    --------
    >>> from_xyzw([2, 3, 4, 1])
    array([1., 2., 3., 4.])
    """
    return _reorder(q, [0, 1, 2, 3] if is_rotation(q) else [3, 0, 1, 2], out)


def _reorder(q: ArrayLike, order: list[int], out: Array | None) -> Array:
    quaternions = rows("q", q, number_type(q), 4)
    return write_output(quaternions[..., order], out)
