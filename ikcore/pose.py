"""Poses: local transforms of all joints of a skeleton, relative to their parents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore._arrays import number_type, rows
from ikcore._call import broadcast_axes
from ikcore._record import record


@record
class Pose:
    """Local rotations of all joints of a skeleton, with translations and scales if animated; one pose or many.

    Parameters
    ----------
    rotations : (..., joints, 4) array_like
        Quaternions (w, x, y, z) of any length; zero is the identity. Leading axes, those before the joints, broadcast.
    translations : (..., joints, 3) array_like, optional
        Position of each joint in its parent's space, of a root in the world (default: the skeleton's offsets).
    scales : (..., joints, 3) array_like, optional
        Factors along the joint's own axes (default 1).

    Attributes
    ----------
    rotations, translations, scales : arrays or None
        The given arrays with common leading axes. They are float32 if all given ones were, else float64. They are
        read-only and share memory with the given arrays where possible.

    Examples
    --------
    >>> import ikcore as ik
    >>> poses = ik.Pose(np.tile([1.0, 0, 0, 0], (10, 3, 1)))
    >>> poses
    Pose(10 of 3 joints, float64: rotations)
    >>> poses[3:5].shape
    (2,)
    """

    rotations: NDArray[Any]
    translations: NDArray[Any] | None
    scales: NDArray[Any] | None

    def __init__(
        self, rotations: ArrayLike, translations: ArrayLike | None = None, scales: ArrayLike | None = None
    ) -> None:
        parts = {"rotations": (rotations, 4), "translations": (translations, 3), "scales": (scales, 3)}
        if rotations is None:
            raise TypeError("rotations: expected an array of shape (..., joints, 4), got None")
        dtype = number_type(*[value for value, _ in parts.values() if value is not None])
        given = {name: joint_rows(name, v, dtype, n) for name, (v, n) in parts.items() if v is not None}
        joints = given["rotations"].shape[-2]
        for name, array in given.items():
            if array.shape[-2] != joints:
                raise ValueError(f"{name}: expected {joints} joints as in rotations, got {array.shape[-2]}")
        self._keep(given)

    @staticmethod
    def _of_item(rotations: NDArray[Any], translations: NDArray[Any] | None, scales: NDArray[Any] | None) -> Pose:
        """The pose of read-only arrays that fit each other, except that `rotations` may have more leading axes."""
        pose = _new(Pose)
        _set_rotations(pose, rotations)
        _set_translations(pose, _broadcast(translations, rotations))
        _set_scales(pose, _broadcast(scales, rotations))
        return pose

    def _keep(self, given: dict[str, NDArray[Any]]) -> None:
        """Store arrays that fit each other except for their leading axes."""
        shape = leading_axes("pose", given)
        for name in _PARTS:
            array = given.get(name)
            object.__setattr__(self, name, None if array is None else read_only(with_axes(array, shape)))

    def with_rotations(self, rotations: NDArray[Any], translations: NDArray[Any] | None = None) -> Pose:
        """The pose with other rotations of the same joints and type, and with other translations if given."""
        pose = object.__new__(Pose)
        moved = self.translations if translations is None else translations
        given = {"rotations": rotations, "translations": moved, "scales": self.scales}
        pose._keep({name: array for name, array in given.items() if array is not None})
        return pose

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes: () for a single pose."""
        return self.rotations.shape[:-2]

    @property
    def joints(self) -> int:
        """The number of joints."""
        return int(self.rotations.shape[-2])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.rotations.dtype

    def __len__(self) -> int:
        if self.rotations.ndim == 2:
            raise TypeError("a single pose has no length; .joints says how many joints it has")
        return len(self.rotations)

    def __getitem__(self, index: Any) -> Pose:
        index = index if isinstance(index, tuple) else (index,)
        joints = (*index, slice(None), slice(None))
        try:
            rotations, translations, scales = (None if array is None else array[joints] for array in self._parts())
        except IndexError as error:
            raise IndexError(f"{index}: no such pose among {self.shape}; joints are not indexed") from error
        assert rotations is not None
        pose = _new(Pose)
        _set_rotations(pose, read_only(rotations))
        _set_translations(pose, None if translations is None else read_only(translations))
        _set_scales(pose, None if scales is None else read_only(scales))
        return pose

    def __repr__(self) -> str:
        given = ", ".join(name for name, array in zip(_PARTS, self._parts(), strict=True) if array is not None)
        items = f"{' x '.join(map(str, self.shape))} of " if self.shape else ""
        return f"Pose({items}{self.joints} joint{'s' * (self.joints != 1)}, {self.dtype}: {given})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Pose, self._parts()

    def _parts(self) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
        return self.rotations, self.translations, self.scales


_PARTS = ("rotations", "translations", "scales")
_new = object.__new__
_set_rotations, _set_translations, _set_scales = (getattr(Pose, name).__set__ for name in _PARTS)


def joint_rows(name: str, value: ArrayLike, dtype: np.dtype[Any], size: int) -> NDArray[Any]:
    """`value` as an array of `dtype` with a row of numbers for every joint: (..., joints, size)."""
    array = rows(name, value, dtype, size)
    if array.ndim < 2:
        raise ValueError(f"{name}: expected an array of shape (..., joints, {size}), got shape {array.shape}")
    return array


def leading_axes(what: str, arrays: dict[str, NDArray[Any]]) -> tuple[int, ...]:
    """The common shape of the axes before the joints."""
    leading = {name: array.shape[:-2] for name, array in arrays.items()}
    return broadcast_axes(what, leading, {name: array.shape for name, array in arrays.items()})


def with_axes(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """A view with these axes before the joints."""
    return array if array.shape[:-2] == shape else np.broadcast_to(array, (*shape, *array.shape[-2:]))


def _broadcast(array: NDArray[Any] | None, rotations: NDArray[Any]) -> NDArray[Any] | None:
    """The array broadcast to the leading axes of the rotations."""
    return array if array is None or array.ndim == rotations.ndim else with_axes(array, rotations.shape[:-2])


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
