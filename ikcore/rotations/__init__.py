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

from ikcore.rotations.algebra import (
    best_fit,
    canonical,
    conjugate,
    continuous,
    exp,
    log,
    multiply,
    normalize,
    rotate,
    shortest_arc,
    slerp,
    swing_twist,
)
from ikcore.rotations.conversions import (
    from_6d,
    from_axis_angle,
    from_euler,
    from_matrix,
    from_xyzw,
    to_6d,
    to_axis_angle,
    to_euler,
    to_matrix,
    to_xyzw,
)

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
