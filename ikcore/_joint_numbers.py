"""Numbers of joints as a skeleton keeps them: parents, masses, inertias, names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import rows


def whole_numbers(parents: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(parents)
    except ValueError:
        raise TypeError("parents: expected a list of whole numbers, got rows of different lengths") from None
    if array.shape == (0,):
        raise ValueError("parents: expected at least one joint, got none")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"parents: expected a list of whole numbers, got {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "u":
        array = np.minimum(array, np.iinfo(np.int32).max)  # which is no joint index either
    return array.astype(np.int64)


def one_each(name: str, value: ArrayLike, joints: int, *row: int) -> NDArray[Any]:
    array = rows(name, value, np.dtype(float), *row)
    if array.shape != (joints, *row):
        raise ValueError(f"{name}: expected shape {(joints, *row)}, one for each parent, got {array.shape}")
    return array


def numbers_of_joints(
    joints: int,
    rest: NDArray[Any],
    masses: ArrayLike | None,
    centres: ArrayLike | None,
    preferred: ArrayLike | None,
    caps: ArrayLike | None,
    inertias: ArrayLike | None,
    compliances: ArrayLike | None,
) -> NDArray[Any] | None:
    """Rows of numbers as ik_joint has them; None where none of them is given."""
    for name, given in (("centres", centres), ("inertias", inertias)):
        if masses is None and given is not None:
            raise ValueError(f"{name}: they belong to masses, and there are none")
    if masses is None and preferred is None and caps is None and compliances is None:
        return None
    numbers = np.zeros((joints, 16))
    numbers[:, 10:14] = rest if preferred is None else one_each("preferred", preferred, joints, 4)
    if masses is not None:
        numbers[:, 0] = one_each("masses", masses, joints)
    if centres is not None:
        numbers[:, 1:4] = one_each("centres", centres, joints, 3)
    if caps is not None:
        numbers[:, 15] = one_each("caps", caps, joints)
    if inertias is not None:
        numbers[:, 4:10] = _inertia_rows(inertias, joints)
    if compliances is not None:
        numbers[:, 14] = one_each("compliances", compliances, joints)
    return numbers


# Positions of the elements of a symmetric matrix in a row of xx, yy, zz, xy, xz, yz.
SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])


def _inertia_rows(inertias: ArrayLike, joints: int) -> NDArray[Any]:
    """Inertias (joints, 3, 3) as rows of the six elements that differ."""
    given = np.asarray(inertias, float)
    if given.shape != (joints, 3, 3):
        raise ValueError(f"inertias: expected shape {(joints, 3, 3)}, one for each joint, got {given.shape}")
    if not np.array_equal(given, np.swapaxes(given, -1, -2), equal_nan=True):
        raise ValueError("inertias: expected symmetric matrices")
    return given.reshape(joints, 9)[:, [0, 4, 8, 1, 2, 5]]


def unique_names(names: Sequence[str] | None, joints: int) -> tuple[str, ...]:
    if names is None:
        return tuple(map(str, range(joints)))
    given = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else None
    if given is None or not all(isinstance(name, str) for name in given):
        raise TypeError(f"names: expected a list of strings, got {names!r}")
    if len(given) != joints:
        raise ValueError(f"names: expected one for each of the {joints} joints, got {len(given)}")
    if twice := [name for name, times in Counter(given).items() if times > 1]:
        raise ValueError(f"names: expected all different, got more than once: {name_list(twice)}")
    return given


def name_list(names: Any) -> str:
    """A list of names as text: the first six, and the last."""
    names = list(names)
    return ", ".join(names[:6]) + (f", ... {names[-1]}" if len(names) > 6 else "")
