"""Limbs of two bones in closed form, in space and in the plane. A status for every item."""

from __future__ import annotations

import functools
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ikcore import _core, rotations, status
from ikcore._arrays import number_type, optional_number, optional_rows, rows
from ikcore._call import call, items_of
from ikcore._record import record
from ikcore._single import single


@record
class LimbSolution(_core.Limb, status.Summarized):
    """The result of `two_bone` per item.

    The arrays of a batch are parts of one block of memory. It is freed only when none of them is in use, so copy an
    array to keep it alone.

    Attributes
    ----------
    root, mid : (..., 4) arrays
        Delta rotations of the two joints: see `ikcore.closed_forms`. The mid bone has then turned by ``root * mid``.
    positions : (..., 3, 3) array
        Resulting positions of root, mid and end.
    status : (...) int32 array
        `Status` flags; 0 means that the end is on the target.
    error : (...) array
        Distance from the end to the target.
    flip : (...) array
        The angle in radians between the direction that decides the bend (pole or bend) and the line through root and
        target. Near 0 the limb is about to flip. pi/2 if neither is given.
    stretch : (...) array
        The factor by which the bones have been lengthened.
    """

    __slots__ = ()

    root: NDArray[Any] = field()
    mid: NDArray[Any] = field()
    positions: NDArray[Any] = field()
    status: NDArray[np.int32] = field()
    error: NDArray[Any] = field()
    flip: NDArray[Any] = field()
    stretch: NDArray[Any] = field()

    @classmethod
    def empty(cls, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> LimbSolution:
        """Uninitialised arrays for ``out=``, one item per element of `shape`."""
        items, numbers = np.broadcast_shapes(shape), np.dtype(dtype)
        if numbers not in (np.float32, np.float64):
            raise TypeError(f"dtype: expected float32 or float64, got {numbers}")
        rows = [(shape, number.char if number.kind == "f" else "i") for _, number, shape in _arrays_for(items, numbers)]
        return cls(*_core.empty(tuple(rows)))

    _noun = "limb"

    def tip(
        self,
        rule: Literal["local", "keep", "take", "maintain"],
        *,
        rotation: ArrayLike | None = None,
        target: ArrayLike | None = None,
        space: ArrayLike | None = None,
        space_after: ArrayLike | None = None,
        influence: ArrayLike = 1.0,
    ) -> NDArray[Any]:
        """Return the world-space delta rotation of the tip joint (foot, hand), relative to the input pose.

        Parameters
        ----------
        rule : {"local", "keep", "take", "maintain"}
            ``local``: the tip follows the limb. ``keep``: it keeps its world rotation, as feet usually do. ``take``: it
            takes the world rotation `target`; this needs its present world rotation, `rotation`. ``maintain``: it turns
            with a space whose world rotation changes from `space` to `space_after`.
        rotation, target, space, space_after : (..., 4) array_like
            World rotations (w, x, y, z).
        influence : (...) array_like, optional
            From following the limb (0) to the rule (1), by the shortest arc.

        Returns
        -------
        (..., 4) array
            The tip's local rotation L becomes ``W^-1 delta W L``, where W is its parent's world rotation in the input
            pose.

        Examples
        --------
        >>> import ikcore as ik
        >>> leg = ik.two_bone([0, 0, 0], [0, -1, 0.1], [0, -2, 0], [0, -1, 1])
        >>> foot = leg.tip("keep")
        >>> ik.rotations.multiply(ik.rotations.multiply(leg.root, leg.mid), foot).round(12)
        array([1., 0., 0., 0.])
        """
        given: dict[str, Any] = {"rotation": rotation, "target": target, "space": space, "space_after": space_after}
        needed = _TIP_RULES.get(rule)
        if needed is None:
            raise ValueError(f"rule: expected one of {', '.join(_TIP_RULES)}, got {rule!r}")
        if wrong := {name for name, value in given.items() if (value is not None) != (name in needed)}:
            raise ValueError(
                f"tip({rule!r}) takes {' and '.join(needed) or 'no rotation'}: check {', '.join(sorted(wrong))}"
            )
        follow = np.array([1, 0, 0, 0], self.root.dtype)
        if rule == "local":
            return np.broadcast_to(follow, self.root.shape).copy()
        delta = rotations.conjugate(rotations.multiply(self.root, self.mid))
        if needed:
            before, after = (rows(name, given[name], self.root.dtype, 4) for name in needed)
            turn = rotations.multiply(rotations.normalize(after), rotations.conjugate(rotations.normalize(before)))
            delta = rotations.multiply(delta, turn)
        share = np.clip(rows("influence", influence, self.root.dtype), 0, 1)
        return rotations.slerp(follow, rotations.canonical(delta), share)


# The world rotations that a rule for the tip needs, before and after.
_TIP_RULES: dict[str, tuple[str, ...]] = {
    "local": (),
    "keep": (),
    "take": ("rotation", "target"),
    "maintain": ("space", "space_after"),
}


@single(LimbSolution, pose=3)
def two_bone(
    root: ArrayLike,
    mid: ArrayLike,
    end: ArrayLike,
    target: ArrayLike,
    *,
    pole: ArrayLike | None = None,
    bend: ArrayLike | None = None,
    hinge: ArrayLike | None = None,
    twist: ArrayLike | None = None,
    influence: ArrayLike | None = None,
    soften: ArrayLike | None = None,
    stretch_start: ArrayLike | None = None,
    stretch_max: ArrayLike | None = None,
    min_bend: ArrayLike | None = None,
    max_bend: ArrayLike | None = None,
    out: LimbSolution | None = None,
    workers: int | None = 1,
    strict: bool = False,
) -> LimbSolution:
    """Turn a limb of two bones so that its end meets the target: closed form, exact wherever the target is in reach.

    A target too far away leaves the limb straight and pointing at it; one too near leaves it folded. The bones keep
    their lengths and their twist: the mid joint is a hinge.

    Parameters
    ----------
    root, mid, end : (..., 3) array_like
        Positions of the joints.
    target : (..., 3) array_like
        Target position of the end.
    pole : (..., 3) array_like, optional
        The point the limb bends towards.
    bend : (..., 3) array_like, optional
        Bend direction, used if there is no pole or the pole is on the line from root to target. Without it the limb
        keeps its present bend.
    hinge : (..., 3) array_like, optional
        The axis of the hinge: a rotation of the second bone about it bends the limb. It defines the forward bend, and
        how a straight limb bends.
    twist : (...) array_like, optional
        Rotation in radians about the line from root to target, after the pole (default 0).
    influence : (...) array_like, optional
        Share of the rotations and of the stretch, 0 to 1 (default 1). At 0 nothing moves, whatever the target, even
        NaN.
    soften : (...) array_like, optional
        Share of the reach at which softening starts, 0 to 1 (default 1: none). Beyond it, the limb approaches full
        extension smoothly and never reaches it, so that the knee does not snap.
    stretch_start, stretch_max : (...) array_like, optional
        Share of the reach from which the bones lengthen, and their largest factor (default 1: none).
    min_bend, max_bend : (...) array_like, optional
        Range of the bend angle between the bones, 0 being straight (default 0 and pi).
    out : LimbSolution, optional
        Output arrays of exactly the shapes and types of the result, as made by `LimbSolution.empty`.
    workers, strict : see `ikcore.closed_forms`

    Returns
    -------
    LimbSolution
        Delta rotations, positions, status and error of every item.

    Examples
    --------
    A leg, and two targets: one in reach, one below it.

    >>> import numpy as np
    >>> import ikcore as ik
    >>> hip, knee, ankle = [0, 0.9, 0], [0, 0.5, 0.05], [0, 0.1, 0]
    >>> leg = ik.two_bone(
    ...     hip, knee, ankle, [[0.1, 0.2, 0.1], [0.1, -0.1, 0.1]], pole=[0, 0.5, 1]
    ... )
    >>> leg.positions[:, 2].round(4)
    array([[0.1   , 0.2   , 0.1   ],
           [0.0798, 0.1017, 0.0798]])
    >>> [ik.Status(s) for s in leg.status]
    [<Status: 0>, <Status.TOO_FAR: 1>]
    """
    dtype = number_type(root, mid, end)
    inputs = {
        "root": rows("root", root, dtype, 3),
        "mid": rows("mid", mid, dtype, 3),
        "end": rows("end", end, dtype, 3),
        "target": rows("target", target, dtype, 3),
        "pole": optional_rows("pole", pole, dtype, 3),
        "bend": optional_rows("bend", bend, dtype, 3),
        "hinge": optional_rows("hinge", hinge, dtype, 3),
        "twist": optional_number("twist", twist, dtype),
        "influence": optional_number("influence", influence, dtype),
        "soften": optional_number("soften", soften, dtype),
        "stretch_start": optional_number("stretch_start", stretch_start, dtype),
        "stretch_max": optional_number("stretch_max", stretch_max, dtype),
        "min_bend": optional_number("min_bend", min_bend, dtype),
        "max_bend": optional_number("max_bend", max_bend, dtype),
    }
    outputs = () if out is None else _outputs(out, dtype, inputs)
    found = call(_core.two_bone, inputs, outputs, workers)
    limb = LimbSolution(*found) if out is None else out
    status.report_unusable("two_bone", limb.status, strict=strict)
    return limb


@record
class PlanarLimbSolution(_core.PlanarLimb, status.Summarized):
    """The result of `two_bone_2d` per item.

    Attributes
    ----------
    angles : (..., 2, 2) array
        Joint angles of both branches: ``angles[..., 0, :]`` bends counter-clockwise, ``angles[..., 1, :]`` clockwise.
        The first angle is that of bone 1 from the x axis, the second that of bone 2 from bone 1.
    status, error : (...) int32 array and (...) array
        As of `LimbSolution`.
    """

    __slots__ = ()

    angles: NDArray[Any] = field()
    status: NDArray[np.int32] = field()
    error: NDArray[Any] = field()

    _noun = "limb"


@single(PlanarLimbSolution, pose=3)
def two_bone_2d(
    length1: ArrayLike, length2: ArrayLike, target: ArrayLike, *, workers: int | None = 1, strict: bool = False
) -> PlanarLimbSolution:
    """Find the joint angles of a planar limb from the origin to the target: both branches, closed form.

    Parameters
    ----------
    length1, length2 : (...) array_like
        Lengths of the bones.
    target : (..., 2) array_like
        Target position of the end. The result is float32 if lengths and target are.
    workers, strict : see `ikcore.closed_forms`

    Returns
    -------
    PlanarLimbSolution
        Joint angles of both branches, status and error of every item.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.closed_forms.two_bone_2d(1, 1, [1, 1])
    >>> arm.angles.round(4)
    array([[ 0.    ,  1.5708],
           [ 1.5708, -1.5708]])
    """
    dtype = number_type(length1, length2, target)
    inputs = {
        "length1": rows("length1", length1, dtype),
        "length2": rows("length2", length2, dtype),
        "target": rows("target", target, dtype, 2),
    }
    limb = PlanarLimbSolution(*call(_core.two_bone_2d, inputs, (), workers))
    status.report_unusable("two_bone_2d", limb.status, strict=strict)
    return limb


def _outputs(out: LimbSolution, dtype: np.dtype[Any], inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """The arrays of `out`, each of which must have exactly the shape and type of the result."""
    if not isinstance(out, LimbSolution):
        raise TypeError(f"out: expected a LimbSolution (see LimbSolution.empty), got {type(out).__name__}")
    arrays = tuple(getattr(out, name) for name in LimbSolution.__match_args__)
    expected = _arrays_for(items_of(_core.two_bone, inputs), dtype)
    for array, (name, number, shape) in zip(arrays, expected, strict=True):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"out.{name}: expected an array (see LimbSolution.empty), got {type(array).__name__}")
        if array.dtype != number:
            raise TypeError(f"out.{name}: expected an array of {number}, got {array.dtype}")
        if array.shape != shape:
            raise ValueError(f"out.{name}: expected shape {shape}, got {array.shape}")
    return arrays


@functools.lru_cache(maxsize=16)
def _arrays_for(items: tuple[int, ...], dtype: np.dtype[Any]) -> list[tuple[str, np.dtype[Any], tuple[int, ...]]]:
    """Name, type and shape of the fields of a LimbSolution with so many items. Cached for callers that reuse `out`."""
    number = {"status": np.dtype(np.int32)}
    return [(name, number.get(name, dtype), (*items, *_ROWS.get(name, ()))) for name in LimbSolution.__match_args__]


# The row shape of the fields of LimbSolution that hold more than one number per item.
_ROWS = {"root": (4,), "mid": (4,), "positions": (3, 3)}
