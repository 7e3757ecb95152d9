"""Rotation algebra on arrays of quaternions.

Quaternions are (w, x, y, z), Hamilton: ``multiply(a, b)`` applies b first. Angles are radians. Leading axes broadcast.
Results are float32 if all rotations and vectors given are, else float64.

Every function takes ``out=``: where to write the result, an array (or a pair of them) of its shape and type. It may be
an input. ``workers=`` is the number of threads, None for all cores; the result is the same to the bit. `continuous`,
`to_xyzw` and `from_xyzw` have no ``workers``, because they compute nearly nothing.

A quaternion of any length stands for the rotation it points to, and zero for the identity. Only `multiply` and
`conjugate` are the plain products. An item with a NaN or infinity in it becomes NaN, and changes no other item. The
same input gives the same bits on every processor, however large the batch.

>>> import numpy as np
>>> import ikcore as ik
>>> quarter = ik.rotations.from_axis_angle([0, 0, 1], np.pi / 2)
>>> ik.rotations.rotate(quarter, [[1, 0, 0], [0, 1, 0]]).round(6)
array([[ 0.,  1.,  0.],
       [-1.,  0.,  0.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import is_rotation, number_type, optional_rows, rows
from ikcore._call import call

Array = NDArray[Any]


def _one(
    solver: np.ufunc, dtype: np.dtype[Any], out: Array | None, workers: int | None, **operands: tuple[Any, ...]
) -> Array:
    """Call a gufunc with one result. An operand is a value and the shape of its rows."""
    if out is None and workers == 1 and type(workers) is int and (made := _plain(solver, dtype, operands)) is not None:
        return made
    result: Array = _call(solver, dtype, () if out is None else (out,), workers, operands)
    return result


def _plain(solver: np.ufunc, dtype: np.dtype[Any], operands: dict[str, tuple[Any, ...]]) -> Array | None:
    """The result if NumPy can be called directly: for arrays that fit, with at most one leading axis."""
    values = []
    for value, *row in operands.values():
        if type(value) is not np.ndarray or value.dtype is not dtype or value.ndim > 2 or value.ndim < len(row):
            return None
        if row and not value.strides[-1]:  # the core would take it for packed
            return None
        values.append(value)
    try:
        made: Array = solver(*values)
    except ValueError:  # the general path raises the error
        return None
    return made


def _two(
    solver: np.ufunc,
    dtype: np.dtype[Any],
    out: tuple[Array, Array] | None,
    workers: int | None,
    **operands: tuple[Any, ...],
) -> tuple[Array, Array]:
    """Call a gufunc with two results."""
    first, second = _call(solver, dtype, () if out is None else out, workers, operands)
    return first, second


def _call(
    solver: np.ufunc,
    dtype: np.dtype[Any],
    outputs: tuple[Array, ...],
    workers: int | None,
    operands: dict[str, tuple[Any, ...]],
) -> Any:
    places = tuple([_check_output(array, dtype) for array in outputs])
    inputs = {}
    for name, (value, *row) in operands.items():  # a comprehension, and even more a generator, takes longer to start
        inputs[name] = optional_rows(name, value, dtype, *row)
    return call(solver, inputs, places, workers)


def _check_output(out: Array, dtype: np.dtype[Any]) -> Array:
    came = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
    if came != dtype:
        raise TypeError(f"out: expected an array of {dtype}, as the input is, got {came}")
    return out


def _written(result: Array, out: Array | None) -> Array:
    """The result of a function without a gufunc, written to `out` if that is given."""
    if out is None:
        return result
    if _check_output(out, result.dtype).shape != result.shape:
        raise ValueError(f"out: expected shape {result.shape}, got {out.shape}")
    out[...] = result
    return out


def multiply(a: ArrayLike, b: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Product of two quaternions: the rotation b, then a. Neither is brought to unit length.

    Parameters
    ----------
    a, b : (..., 4) array_like
        The factors.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        ``a b``.

    Examples
    --------
    >>> multiply([0, 1, 0, 0], [0, 0, 1, 0])
    array([0., 0., 0., 1.])
    """
    return _one(_core.quat_multiply, number_type(a, b), out, workers, a=(a, 4), b=(b, 4))


def conjugate(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The inverse of a unit quaternion: x, y and z change sign.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions. They are not brought to unit length.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        The conjugates.

    Examples
    --------
    >>> conjugate([1, 2, 3, 4])
    array([ 1., -2., -3., -4.])
    """
    return _one(_core.quat_conjugate, number_type(q), out, workers, q=(q, 4))


def normalize(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The same rotation with unit length and the same sign. A unit quaternion keeps its bits.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions of any length; zero gives the identity.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions.

    Examples
    --------
    >>> normalize([[0, 0, 3, 4], [0, 0, 0, 0]])
    array([[0. , 0. , 0.6, 0.8],
           [1. , 0. , 0. , 0. ]])
    """
    return _one(_core.quat_normalize, number_type(q), out, workers, q=(q, 4))


def canonical(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The one of a rotation's two unit quaternions that has w >= 0.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions of any length.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions with w >= 0. If w is 0, the first of x, y, z that is not 0 is positive.

    Examples
    --------
    >>> canonical([[-2, 0, 0, 0], [0, -1, 0, 0]])
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """
    return _one(_core.quat_canonical, number_type(q), out, workers, q=(q, 4))


def continuous(q: ArrayLike, *, out: Array | None = None) -> Array:
    """Signs chosen along axis 0, as keyframes need them: each row has the sign nearer to the row before it.

    Parameters
    ----------
    q : (n, ..., 4) array_like
        Quaternions over time. The first row keeps its sign, and all keep their length.
    out : optional
        Output array: see `ikcore.rotations`.

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
    return _written(np.where(np.isnan(keys), keys.dtype.type(np.nan), keys * signs[..., None] + 0), out)


def rotate(q: ArrayLike, v: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Vectors rotated by quaternions.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    v : (..., 3) array_like
        Vectors.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 3) array
        The rotated vectors.

    Examples
    --------
    >>> rotate([0, 0, 0, 1], [1, 2, 3])
    array([-1., -2.,  3.])
    """
    return _one(_core.quat_rotate, number_type(q, v), out, workers, q=(q, 4), v=(v, 3))


def shortest_arc(
    a: ArrayLike, b: ArrayLike, axis: ArrayLike | None = None, *, out: Array | None = None, workers: int | None = 1
) -> Array:
    """The smallest rotation that takes the direction a to the direction b.

    Parameters
    ----------
    a, b : (..., 3) array_like
        Directions of any length. A zero vector gives the identity.
    axis : (..., 3) array_like, optional
        The axis of the half turn between opposite a and b. It is made perpendicular to a. If it is not given, or
        parallel to a, a fixed perpendicular is used.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions with w >= 0.

    Examples
    --------
    >>> shortest_arc([0, 1, 0], [0, -1, 0], axis=[0, 0, 1])
    array([0., 0., 0., 1.])
    """
    return _one(_core.quat_shortest_arc, number_type(a, b), out, workers, a=(a, 3), b=(b, 3), axis=(axis, 3))


def exp(v: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotation vectors, axis times angle, as quaternions.

    Parameters
    ----------
    v : (..., 3) array_like
        Rotation vectors. Angles beyond half a turn give w < 0. The error is within rounding up to 3e6 radians (float32:
        1e4) and grows beyond.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions.

    Examples
    --------
    >>> exp([[0, 0, 0], [0, np.pi, 0]]).round(6)
    array([[1., 0., 0., 0.],
           [0., 0., 1., 0.]])
    """
    return _one(_core.quat_exp, number_type(v), out, workers, v=(v, 3))


def log(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotation vectors of quaternions, by the shorter way.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 3) array
        Rotation vectors no longer than pi. For half a turn, the first component that is not 0 is positive.

    Examples
    --------
    >>> log([[1, 0, 0, 0], [0, 0, 0, -1]])
    array([[0.        , 0.        , 0.        ],
           [0.        , 0.        , 3.14159265]])
    """
    return _one(_core.quat_log, number_type(q), out, workers, q=(q, 4))


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Interpolate from a to b by the shorter way, at constant speed.

    Parameters
    ----------
    a, b : (..., 4) array_like
        Rotations.
    t : (...) array_like
        The position: 0 gives exactly a, 1 exactly b (or -b, whichever is nearer to a). It may lie outside.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions.

    Examples
    --------
    >>> slerp([1, 0, 0, 0], [0, 0, 0, 1], [0, 1 / 3, 1]).round(4)
    array([[1.   , 0.   , 0.   , 0.   ],
           [0.866, 0.   , 0.   , 0.5  ],
           [0.   , 0.   , 0.   , 1.   ]])
    """
    return _one(_core.quat_slerp, number_type(a, b), out, workers, a=(a, 4), b=(b, 4), t=(t,))


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
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

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
    return _two(_core.quat_swing_twist, number_type(q), out, workers, q=(q, 4), axis=(axis, 3))


def to_matrix(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotation matrices, which multiply column vectors.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 3, 3) array
        The matrices.

    Examples
    --------
    >>> to_matrix([0, 0, 0, 1])
    array([[-1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    """
    return _one(_core.quat_to_matrix, number_type(q), out, workers, q=(q, 4))


def from_matrix(matrix: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Quaternions of rotation matrices.

    Parameters
    ----------
    matrix : (..., 3, 3) array_like
        Rotation matrices. A matrix whose error exceeds rounding gives a rotation near it. `best_fit` of its columns
        gives the nearest.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Canonical unit quaternions.

    Examples
    --------
    >>> from_matrix([[0, -1, 0], [0, 0, -1], [1, 0, 0]])
    array([ 0.5,  0.5, -0.5,  0.5])
    """
    return _one(_core.quat_from_matrix, number_type(matrix), out, workers, matrix=(matrix, 3, 3))


def to_axis_angle(
    q: ArrayLike, *, out: tuple[Array, Array] | None = None, workers: int | None = 1
) -> tuple[Array, Array]:
    """Unit axis and angle of rotations, by the shorter way.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    axis : (..., 3) array
        Unit vectors; x for the identity.
    angle : (...) array
        In [0, pi].

    Examples
    --------
    >>> axis, angle = to_axis_angle([[0, 0, -1, 0], [1, 0, 0, 0]])
    >>> axis
    array([[0., 1., 0.],
           [1., 0., 0.]])
    >>> angle
    array([3.14159265, 0.        ])
    """
    return _two(_core.quat_to_axis_angle, number_type(q), out, workers, q=(q, 4))


def from_axis_angle(axis: ArrayLike, angle: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotations by an angle about an axis.

    Parameters
    ----------
    axis : (..., 3) array_like
        Axes of any length; zero gives the identity. They decide whether the result is float32.
    angle : (...) array_like
        Angles. Beyond half a turn they give w < 0.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions.

    Examples
    --------
    >>> from_axis_angle([0, 2, 0], [0, np.pi / 3]).round(4)
    array([[1.   , 0.   , 0.   , 0.   ],
           [0.866, 0.   , 0.5  , 0.   ]])
    """
    return _one(_core.quat_from_axis_angle, number_type(axis), out, workers, axis=(axis, 3), angle=(angle,))


def to_6d(q: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """The first two columns of the matrix, one after the other: a continuous representation, for learning.

    Parameters
    ----------
    q : (..., 4) array_like
        Rotations.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 6) array
        The images of x and of y under the rotation.

    Notes
    -----
    Zhou et al., "On the continuity of rotation representations in neural networks", 2019. Some libraries take rows.

    Examples
    --------
    >>> to_6d([0, 0, 0, 1])
    array([-1.,  0.,  0.,  0., -1.,  0.])
    """
    return _one(_core.quat_to_6d, number_type(q), out, workers, q=(q, 4))


def from_6d(columns: ArrayLike, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotations from two vectors, as a network predicts them.

    Parameters
    ----------
    columns : (..., 6) array_like
        Two vectors of any length. The first is kept as a direction, and the second is made perpendicular to it
        (Gram-Schmidt). If that leaves nothing, a fixed perpendicular is used.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Canonical unit quaternions.

    Examples
    --------
    >>> from_6d([0, 3, 0, 1, 1, 0]).round(4)
    array([0.    , 0.7071, 0.7071, 0.    ])
    """
    return _one(_core.quat_from_6d, number_type(columns), out, workers, columns=(columns, 6))


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
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

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
    angles = np.empty((*turned.shape[:-1], 3), dtype) if out is None else _check_output(out, dtype)
    _one(_core.quat_to_euler, dtype, angles[..., ::forward], workers, q=(turned, 4), axes=(axes, 3, 3))
    return angles


def from_euler(angles: ArrayLike, order: str, *, out: Array | None = None, workers: int | None = 1) -> Array:
    """Rotations from three angles about coordinate axes.

    Parameters
    ----------
    angles : (..., 3) array_like
        Radians, in the order of the letters.
    order : str
        Three axes: see `to_euler`.
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        Unit quaternions, with the sign that follows from the angles.

    Examples
    --------
    >>> from_euler([np.pi / 2, 0, np.pi / 2], "xyz").round(4)
    array([0.5, 0.5, 0.5, 0.5])
    """
    dtype = number_type(angles)
    axes, forward = _euler_axes(order, dtype)
    intrinsic = rows("angles", angles, dtype, 3)[..., ::forward]
    return _one(_core.quat_from_euler, dtype, out, workers, angles=(intrinsic, 3), axes=(axes, 3, 3))


def _euler_axes(order: str, dtype: np.dtype[Any]) -> tuple[Array, int]:
    """Axes in intrinsic order, and the step that puts angles in it: extrinsic orders are reversed."""
    letters = [("xyz" if str(order).islower() else "XYZ").find(letter) for letter in str(order)]
    if len(letters) != 3 or -1 in letters or letters[1] in (letters[0], letters[2]):
        raise ValueError(f"order: expected three axes such as 'XYZ' (intrinsic) or 'zxz' (extrinsic), got {order!r}")
    forward = -1 if order.islower() else 1
    return np.eye(3, dtype=dtype)[letters[::forward]], forward


def to_xyzw(q: ArrayLike, *, out: Array | None = None) -> Array:
    """Quaternions with w last, as SciPy, glTF and most engines have them.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions (w, x, y, z).
    out : optional
        Output array: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        The same as (x, y, z, w).

    Examples
    --------
    >>> to_xyzw([1, 2, 3, 4])
    array([2., 3., 4., 1.])
    """
    return _reorder(q, [1, 2, 3, 0], out)


def from_xyzw(q: ArrayLike, *, out: Array | None = None) -> Array:
    """Quaternions with w first, from those with w last.

    Parameters
    ----------
    q : (..., 4) array_like
        Quaternions (x, y, z, w), or a SciPy `Rotation`, whose order is known.
    out : optional
        Output array: see `ikcore.rotations`.

    Returns
    -------
    (..., 4) array
        The same as (w, x, y, z).

    Examples
    --------
    >>> from_xyzw([2, 3, 4, 1])
    array([1., 2., 3., 4.])
    """
    return _reorder(q, [0, 1, 2, 3] if is_rotation(q) else [3, 0, 1, 2], out)


def _reorder(q: ArrayLike, order: list[int], out: Array | None) -> Array:
    quaternions = rows("q", q, number_type(q), 4)
    return _written(quaternions[..., order], out)


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
    out, workers : optional
        Output array, and number of threads: see `ikcore.rotations`.

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
    return _two(_core.quat_best_fit, dtype, out, workers, **operands)


__all__ = [
    "best_fit",
    "canonical",
    "conjugate",
    "continuous",
    "exp",
    "from_6d",
    "from_axis_angle",
    "from_euler",
    "from_matrix",
    "from_xyzw",
    "log",
    "multiply",
    "normalize",
    "rotate",
    "shortest_arc",
    "slerp",
    "swing_twist",
    "to_6d",
    "to_axis_angle",
    "to_euler",
    "to_matrix",
    "to_xyzw",
]


def __dir__() -> list[str]:
    return __all__
