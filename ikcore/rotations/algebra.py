"""Products, interpolation, exponential and fit of rotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ikcore import _core
from ikcore._arrays import number_type, rows
from ikcore.rotations._calls import Array, call_one, call_two, write_output


def multiply(a: ArrayLike, b: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Product ``a b`` of two quaternions (..., 4): the rotation b, then a. Neither is brought to unit length.

    `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> multiply([0, 1, 0, 0], [0, 0, 1, 0])
    array([0., 0., 0., 1.])
    """
    return call_one(_core.quat_multiply, number_type(a, b), out, workers, a=(a, 4), b=(b, 4))


def conjugate(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The inverses of unit quaternions `q` (..., 4): x, y and z change sign. Lengths stay as they are.

    `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> conjugate([1, 2, 3, 4])
    array([ 1., -2., -3., -4.])
    """
    return call_one(_core.quat_conjugate, number_type(q), out, workers, q=(q, 4))


def normalize(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Quaternions `q` (..., 4) at unit length, with the same sign. A unit quaternion keeps its bits.

    Zero gives the identity. `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> normalize([[0, 0, 3, 4], [0, 0, 0, 0]])
    array([[0. , 0. , 0.6, 0.8],
           [1. , 0. , 0. , 0. ]])
    """
    return call_one(_core.quat_normalize, number_type(q), out, workers, q=(q, 4))


def canonical(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The one of the two unit quaternions of each rotation `q` (..., 4) that has w >= 0.

    If w is 0, the first of x, y, z that is not 0 is positive. `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> canonical([[-2, 0, 0, 0], [0, -1, 0, 0]])
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """
    return call_one(_core.quat_canonical, number_type(q), out, workers, q=(q, 4))


def continuous(q: ArrayLike, *, out: Array | None = None) -> Array:
    """Signs chosen along axis 0, as keyframes need them: each row has the sign nearer to the row before it.

    Parameters
    ----------
    q : (n, ..., 4) array_like
        Quaternions over time. The first row keeps its sign, and all keep their length.
    out : see `ikcore.rotations`

    Returns
    -------
    (n, ..., 4) array
        The same rotations; neighbours are never more than a right angle apart.

    Examples
    --------
    >>> continuous([[1, 0, 0, 0], [-0.8, -0.6, 0, 0], [0, 1, 0, 0]])
    array([[1. , 0. , 0. , 0. ],
           [0.8, 0.6, 0. , 0. ],
           [0. , 1. , 0. , 0. ]])
    """
    keys = rows("q", q, number_type(q), 4)
    if keys.ndim < 2:
        raise ValueError(f"q: expected an array of shape (n, ..., 4), got shape {keys.shape}")
    products = keys[1:] * keys[:-1]
    # added in written order, which np.sum does not guarantee
    dots = products[..., 0] + products[..., 1] + products[..., 2] + products[..., 3]
    signs = np.ones(keys.shape[:-1], keys.dtype)
    np.cumprod(np.where(dots < 0, -1, 1), axis=0, out=signs[1:])
    return write_output(np.where(np.isnan(keys), keys.dtype.type(np.nan), keys * signs[..., None] + 0), out)


def rotate(q: ArrayLike, v: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Vectors `v` (..., 3) rotated by quaternions `q` (..., 4).

    `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> rotate([0, 0, 0, 1], [1, 2, 3])
    array([-1., -2.,  3.])
    """
    return call_one(_core.quat_rotate, number_type(q, v), out, workers, q=(q, 4), v=(v, 3))


def shortest_arc(
    a: ArrayLike, b: ArrayLike, axis: ArrayLike | None = None, *, out: Array | None = None, workers: int | None = 1
) -> Array:
    """The smallest rotation (..., 4) that takes the direction a to the direction b, with w >= 0.

    Parameters
    ----------
    a, b : (..., 3) array_like
        Directions of any length. A zero vector gives the identity.
    axis : (..., 3) array_like, optional
        The axis of the half turn between opposite a and b. It is made perpendicular to a. If it is not given, or
        parallel to a, a fixed perpendicular is used.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> shortest_arc([0, 1, 0], [0, -1, 0], axis=[0, 0, 1])
    array([0., 0., 0., 1.])
    """
    return call_one(_core.quat_shortest_arc, number_type(a, b), out, workers, a=(a, 3), b=(b, 3), axis=(axis, 3))


def exp(v: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Unit quaternions (..., 4) of rotation vectors, which are axis times angle.

    Parameters
    ----------
    v : (..., 3) array_like
        Rotation vectors. Angles beyond half a turn give w < 0. The error is within rounding up to 3e6 radians (float32:
        1e4) and grows beyond.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> exp([[0, 0, 0], [0, np.pi, 0]]).round(6)
    array([[1., 0., 0., 0.],
           [0., 0., 1., 0.]])
    """
    return call_one(_core.quat_exp, number_type(v), out, workers, v=(v, 3))


def log(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotation vectors (..., 3) of quaternions `q` (..., 4), by the shorter way: no longer than pi.

    For half a turn, the first component that is not 0 is positive. `out` and `workers` are those of `ikcore.rotations`.

    Examples
    --------
    >>> log([[1, 0, 0, 0], [0, 0, 0, -1]])
    array([[0.        , 0.        , 0.        ],
           [0.        , 0.        , 3.14159265]])
    """
    return call_one(_core.quat_log, number_type(q), out, workers, q=(q, 4))


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Interpolate from a to b by the shorter way, at constant speed, to unit quaternions (..., 4).

    Parameters
    ----------
    a, b : (..., 4) array_like
        Rotations.
    t : (...) array_like
        The position: 0 gives exactly a, 1 exactly b (or -b, whichever is nearer to a). It may lie outside.
    out, workers : see `ikcore.rotations`

    Examples
    --------
    >>> slerp([1, 0, 0, 0], [0, 0, 0, 1], [0, 1 / 3, 1]).round(4)
    array([[1.   , 0.   , 0.   , 0.   ],
           [0.866, 0.   , 0.   , 0.5  ],
           [0.   , 0.   , 0.   , 1.   ]])
    """
    return call_one(_core.quat_slerp, number_type(a, b), out, workers, a=(a, 4), b=(b, 4), t=(t,))


def swing_twist(
    q: ArrayLike, axis: ArrayLike, *, out: tuple[Array, Array] | None = None, workers: int | None = 1
) -> tuple[Array, Array]:
    """Split rotations in two: a twist about an axis, then a swing of that axis.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    axis : (..., 3) array_like
        The axis of the twist, of any length; for zero there is no twist.
    out, workers : see `ikcore.rotations`

    Returns
    -------
    swing, twist : (..., 4) arrays
        Unit quaternions with w >= 0; ``multiply(swing, twist)`` is q or -q. After a swing of half a turn the twist is
        undefined, and returned as the identity.

    Examples
    --------
    >>> swing, twist = swing_twist([0.5, 0.5, 0.1, 0.7], [0, 0, 1])
    >>> swing.round(4), twist.round(4)
    (array([0.8602, 0.2092, 0.465 , 0.    ]), array([0.5812, 0.    , 0.    , 0.8137]))
    """
    return call_two(_core.quat_swing_twist, number_type(q), out, workers, q=(q, 4), axis=(axis, 3))


def best_fit(
    points: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    workers: int | None = 1,
) -> tuple[Array, Array]:
    """The rotation about the origin that brings points nearest to their targets: least squares, never a reflection.

    Parameters
    ----------
    points, targets : (..., n, 3) array_like
        The points to rotate, and their targets. To fit a translation too, subtract the (weighted) mean from each list.
    weights : (..., n) array_like, optional
        Weights of the squared distances; default 1. A negative one counts as 0.
    out, workers : see `ikcore.rotations`

    Returns
    -------
    rotation : (..., 4) array
        Canonical unit quaternions. If several rotations are equally good, the smallest: the shortest arc for points on
        a line through the origin, the identity for no points.
    rmsd : (...) array
        Weighted root mean square of the remaining distances.

    Notes
    -----
    The eigenvector of the largest eigenvalue, by Jacobi's method, of the matrix of B. Horn, "Closed-form solution of
    absolute orientation using unit quaternions", 1987. QCP (D. Theobald, 2005) uses the same matrix; its cofactors have
    no solution for points on a line.

    Examples
    --------
    >>> rotation, rmsd = best_fit([[1, 0, 0], [0, 1, 0]], [[0, 1, 0], [-2, 0, 0]])
    >>> rotation.round(4), round(float(rmsd), 4)
    (array([0.7071, 0.    , 0.    , 0.7071]), 0.7071)
    """
    dtype = number_type(points, targets)
    moved = rows("points", points, dtype, 3)
    count = moved.shape[-2:-1] or ("n",)
    operands = {"points": (moved, *count, 3), "targets": (targets, *count, 3), "weights": (weights, *count)}
    return call_two(_core.quat_best_fit, dtype, out, workers, **operands)
