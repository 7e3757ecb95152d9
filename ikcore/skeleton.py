"""Skeletons: joints with parents, and poses of them in the world."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core
from ikcore._arrays import as_text, number_type, whole_number
from ikcore._joint_numbers import SYMMETRIC, name_list, numbers_of_joints, one_each, unique_names, whole_numbers
from ikcore._joints import path, start_of
from ikcore._record import record
from ikcore._threads import AT_ONCE, in_blocks
from ikcore.limits.limit import Limit
from ikcore.limits.workspace import Span, span_of
from ikcore.pose import Pose, joint_rows, leading_axes

# By name or index of the joint (typed Any, since a mapping of both is not a mapping of one), or one for each joint.
Limits = Mapping[Any, Limit] | Sequence[Limit | None]


@record
class World:
    """World positions and rotations of the joints of a skeleton.

    Attributes
    ----------
    positions : (..., joints, 3) array
        Positions of the joints.
    rotations : (..., joints, 4) array
        World rotations (w, x, y, z); of unit length if `Skeleton.forward` made them.
    """

    positions: NDArray[Any]
    rotations: NDArray[Any]


class Skeleton:
    """Joints, each with a parent, an offset from it and a rotation at rest. Checked and sorted once, then immutable.

    Parameters
    ----------
    parents : (joints,) array_like of int
        The parent of every joint, -1 for a root. Joints may be in any order, and there may be several roots.
    offsets : (joints, 3) array_like
        Position of every joint at rest, in its parent's space; of a root in the world.
    rest : (joints, 4) array_like, optional
        Local rotations at rest (w, x, y, z), of any length (default: identity). Limits are relative to them.
    names : sequence of str, optional
        One for each joint, all different (default: "0", "1", and so on).
    limits : mapping or sequence, optional
        Limits by name or index, or one for each joint, where None is free.
    masses : (joints,) array_like, optional
        Mass attached to every joint, without the joints below it, in any unit (default: none; there is then no centre
        of mass).
    centres : (joints, 3) array_like, optional
        Centre of that mass, in the space of the joint (default: at the joint).
    preferred : (joints, 4) array_like, optional
        Preferred local rotations (w, x, y, z), of any length, approached in the null space of all goals, as by the
        option `posture` of `dls` (default: rest).
    caps : (joints,) array_like, optional
        Largest turn of every joint per visit in radians, for methods that turn one joint after the other, such as `ccd`
        (default: 0, unlimited).
    inertias : (joints, 3, 3) array_like, optional
        The inertia of every mass about its centre, in the axes of the joint. Symmetric matrices in units of mass times
        length squared (default: 0, point masses).
    compliances : (joints,) array_like, optional
        Compliance of every joint: the length by which it opens under a unit force that pulls it apart (default: 0). For
        methods with masses: all others raise an error.

    Examples
    --------
    >>> import ikcore as ik
    >>> leg = ik.Skeleton(
    ...     [-1, 0, 1],
    ...     [[0, 0.9, 0], [0, -0.4, 0], [0, -0.4, 0]],
    ...     names=["hip", "knee", "ankle"],
    ... )
    >>> leg
    Skeleton(3 joints: hip, knee, ankle)
    >>> leg.index("knee"), leg.children("knee")
    (1, (2,))
    >>> leg.forward(leg.rest).positions
    array([[0. , 0.9, 0. ],
           [0. , 0.5, 0. ],
           [0. , 0.1, 0. ]])
    """

    __slots__ = ("_ancestors", "_data", "_index", "_limits", "_methods", "_names", "_prepared", "_rest")

    def __init__(
        self,
        parents: ArrayLike,
        offsets: ArrayLike,
        rest: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        limits: Limits | None = None,
        masses: ArrayLike | None = None,
        centres: ArrayLike | None = None,
        preferred: ArrayLike | None = None,
        caps: ArrayLike | None = None,
        inertias: ArrayLike | None = None,
        compliances: ArrayLike | None = None,
    ) -> None:
        tree = whole_numbers(parents)
        joints = len(tree)
        at = one_each("offsets", offsets, joints, 3)
        turned = np.tile([1.0, 0, 0, 0], (joints, 1)) if rest is None else one_each("rest", rest, joints, 4)
        self._names = unique_names(names, joints)
        self._index = {name: joint for joint, name in enumerate(self._names)}
        self._limits = self._limits_of(limits)
        parameters = [_FREE if limit is None else limit.parameters() for limit in self._limits]
        numbers = numbers_of_joints(joints, turned, masses, centres, preferred, caps, inertias, compliances)
        cones = [(*axis, angle) for limit in self._limits if limit for axis, angle in limit.cones]
        given = parameters if any(self._limits) else None
        self._data = _core.Skeleton(tree, at, turned, given, numbers, cones or None)
        self._rest = Pose(self._data.rests)
        self._ancestors: dict[int, tuple[int, ...]] = {}  # of the joints that were requested
        self._prepared: dict[tuple[Any, ...], _core.Prepared | None] = {}  # see solving/single_pose.py
        self._methods: dict[tuple[Any, ...], str] = {}  # see solving/auto.py

    @classmethod
    def chain(cls, points: ArrayLike, *, names: Sequence[str] | None = None, limits: Limits | None = None) -> Skeleton:
        """A chain of joints through points; the last one is the tip.

        Parameters
        ----------
        points : (joints, 3) array_like
            Positions of the joints at rest.
        names : sequence of str, optional
            As for a `Skeleton`.
        limits : dict or sequence of Limit, optional
            As for a `Skeleton`.

        Returns
        -------
        Skeleton
            Without rotations at rest: the axes of all joints are those of the world.

        Examples
        --------
        >>> Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 1, 0]]).offsets
        array([[0., 0., 0.],
               [1., 0., 0.],
               [1., 1., 0.]])
        """
        at = joint_rows("points", points, np.dtype(float), 3)
        if at.ndim != 2:
            raise ValueError(f"points: expected an array of shape (joints, 3), got shape {at.shape}")
        return cls(np.arange(len(at)) - 1, np.diff(at, axis=0, prepend=np.zeros((1, 3))), names=names, limits=limits)

    @property
    def parents(self) -> NDArray[np.int32]:
        """(joints,) array, read-only: the parent of every joint, -1 for a root."""
        return self._data.parents

    @property
    def offsets(self) -> NDArray[np.float64]:
        """(joints, 3) array, read-only: the position of every joint at rest, in its parent's space."""
        return self._data.offsets

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every joint."""
        return self._names

    @property
    def rest(self) -> Pose:
        """The pose at rest, float64."""
        return self._rest

    @property
    def limits(self) -> tuple[Limit | None, ...]:
        """The limit of every joint, None where it is free."""
        return self._limits

    @property
    def masses(self) -> NDArray[np.float64]:
        """(joints,) array, read-only: the mass attached to every joint, without the joints below it; 0 is none."""
        return self._numbers[:, 0]

    @property
    def centres(self) -> NDArray[np.float64]:
        """(joints, 3) array, read-only: the centre of that mass, in the space of the joint."""
        return self._numbers[:, 1:4]

    @property
    def preferred(self) -> Pose:
        """The pose that joints prefer, float64; usually the rest pose."""
        return Pose(self._numbers[:, 10:14])

    @property
    def caps(self) -> NDArray[np.float64]:
        """(joints,) array, read-only: the largest turn of every joint per visit, in radians; 0 is any."""
        return self._numbers[:, 15]

    @property
    def inertias(self) -> NDArray[np.float64]:
        """(joints, 3, 3) array: the inertia of every mass about its centre, in the axes of the joint."""
        return self._numbers[:, 4:10][:, SYMMETRIC]

    @property
    def compliances(self) -> NDArray[np.float64]:
        """(joints,) array, read-only: compliance of every joint, in length per unit of force."""
        return self._numbers[:, 14]

    @property
    def _numbers(self) -> NDArray[np.float64]:
        """The numbers of every joint, as ik_joint has them: mass to cap."""
        if self._data.joints is not None:
            return self._data.joints
        none = np.column_stack([np.zeros((len(self), 10)), self._data.rests, np.zeros((len(self), 2))])
        none.setflags(write=False)
        return none

    def index(self, joint: str | int) -> int:
        """The index of a joint, by name; an index is checked and returned as it is.

        Examples
        --------
        >>> Skeleton([-1, 0], np.eye(3)[:2], names=["head", "eye"]).index("eye")
        1
        """
        if isinstance(joint, str):
            if joint in self._index:
                return self._index[joint]
            import difflib  # importing it is slow, and most names are correct

            lower = {name.lower(): name for name in self._names}
            near = difflib.get_close_matches(joint.lower(), lower, 1)
            hint = f"did you mean {lower[near[0]]!r}?" if near else f"there are {name_list(self._names)}"
            raise ValueError(f"no joint is called {joint!r}; {hint}")
        try:
            number = whole_number(joint)
        except TypeError:
            raise TypeError(f"expected the name or index of a joint, got {as_text(joint)}") from None
        if not 0 <= number < len(self):
            raise ValueError(f"expected a joint, 0 to {len(self) - 1}, got {as_text(number)}")
        return number

    def children(self, joint: str | int) -> tuple[int, ...]:
        """The joints whose parent is this one, ascending."""
        return tuple(np.flatnonzero(self.parents == self.index(joint)).tolist())

    def forward(self, pose: Pose, *, workers: int | None = 1) -> World:
        """World positions and rotations of the joints: forward kinematics, composed as glTF does.

        A joint's matrix is its parent's times translation, rotation and scale. Children of a non-uniformly scaled joint
        may therefore be sheared. The position is exactly the image of the origin. The rotation is the nearest one to
        the matrix, and without scales the product of the local rotations.

        Parameters
        ----------
        pose : Pose
            One pose or many. The result has its type, float32 or float64.
        workers : int or None, optional
            Number of threads, None for all cores. The result is the same to the bit.

        Returns
        -------
        World
            Positions and rotations, with the leading axes of the pose. A NaN or infinity in a pose makes everything
            that depends on it NaN, and nothing else.

        Examples
        --------
        >>> import ikcore as ik
        >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
        >>> bend = ik.rotations.from_axis_angle([0, 0, 1], [0, np.pi / 2, 0])
        >>> arm.forward(ik.Pose(bend)).positions.round(6) + 0
        array([[0., 0., 0.],
               [1., 0., 0.],
               [1., 1., 0.]])
        """
        if not isinstance(pose, Pose):
            raise TypeError(f"pose: expected a Pose, got {type(pose).__name__}; ik.Pose(rotations) makes one")
        self._check_joints("pose", pose.joints)
        world = World(*self._empty(pose.shape, pose.dtype, 3, 4))
        parts = (pose.rotations, pose.translations, pose.scales, world.positions, world.rotations)
        self._run(_core.forward, parts, workers)
        return world

    def local(self, world: World, *, workers: int | None = 1) -> Pose:
        """The pose, without scales, whose `forward` is this world.

        Parameters
        ----------
        world : World
            Positions and rotations of all joints. Rotations may have any length.
        workers : int or None, optional
            Number of threads, None for all cores.

        Returns
        -------
        Pose
            The pose with translations, because bones may have any length in the world.

        Examples
        --------
        >>> import ikcore as ik
        >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0]])
        >>> arm.local(arm.forward(arm.rest)).translations
        array([[0., 0., 0.],
               [1., 0., 0.]])
        """
        if not isinstance(world, World):
            raise TypeError(f"world: expected a World, as `forward` gives, got {type(world).__name__}")
        dtype = number_type(world.positions, world.rotations)
        given = {
            "world.positions": joint_rows("world.positions", world.positions, dtype, 3),
            "world.rotations": joint_rows("world.rotations", world.rotations, dtype, 4),
        }
        for name, array in given.items():
            self._check_joints(name, array.shape[-2])
        shape = leading_axes("world", given)
        positions, rotations = (np.broadcast_to(array, (*shape, *array.shape[-2:])) for array in given.values())
        turned, moved = self._empty(shape, dtype, 4, 3)
        self._run(_core.local, (rotations, positions, turned, moved), workers)
        return Pose(turned, moved)

    def reach(self, joint: str | int, chain: str | int | None = None, *, pose: Pose | None = None) -> Span:
        """Smallest and largest distance at which a chain can hold a joint, if joints turn freely and none slides.

        Parameters
        ----------
        joint : str or int
            The end of the chain.
        chain : str or int, optional
            Its start, by name or by the number of joints above, as in `Reach` (default: the root).
        pose : Pose, optional
            One pose or many: translations and scales change the bones (default: at rest).

        Returns
        -------
        Span
            Position of the chain's start, inner and outer radius. It classifies targets.

        Examples
        --------
        >>> arm = Skeleton.chain([[0, 0, 0], [0.4, 0, 0], [0.7, 0, 0]])
        >>> span = arm.reach(2)
        >>> print(span.inner.round(6), span.outer.round(6))
        0.1 0.7
        >>> span.classify([[0.5, 0, 0], [0.05, 0, 0], [0, 2, 0]])  # 2 is Status.TOO_NEAR, 1 TOO_FAR
        array([0, 2, 1], dtype=int32)
        """
        end = self.index(joint)
        joints = path(self, start_of(self, chain, end), end)
        return span_of(self.forward(self.rest if pose is None else pose).positions[..., joints, :])

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Skeleton({len(self)} joint{'s' * (len(self) != 1)}: {name_list(self._names)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Skeleton):
            return NotImplemented
        if self is other:
            return True
        same = self._names == other._names and self._limits == other._limits
        pairs = [(getattr(self._data, name), getattr(other._data, name)) for name in ("parents", "offsets", "rests")]
        return same and all(np.array_equal(*pair) for pair in [*pairs, (self._numbers, other._numbers)])

    def __hash__(self) -> int:
        return hash((self._names, self.parents.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Skeleton, (
            self.parents,
            self.offsets,
            self._data.rests,
            self._names,
            self._limits,
            *self._core_arguments(),
        )

    def _with_limits(self, limits: Sequence[Limit | None], preferred: NDArray[Any] | None = None) -> Skeleton:
        """The same skeleton with these limits, and with these preferred rotations if they are given."""
        masses, centres, own, *others = self._core_arguments()
        given = masses, centres, own if preferred is None else preferred, *others
        return Skeleton(self.parents, self.offsets, self.rest.rotations, self.names, limits, *given)

    def _core_arguments(self) -> tuple[NDArray[Any] | None, ...]:
        """Masses to compliances as arguments: None where there are none but the default."""
        masses, centres, preferred, caps = self.masses, self.centres, self._numbers[:, 10:14], self.caps
        inertias, compliances = self.inertias, self.compliances
        weighs, prefers = (
            masses.any() or centres.any() or inertias.any(),
            not np.array_equal(preferred, self._data.rests),
        )
        return (
            masses if weighs else None,
            centres if weighs else None,
            preferred if prefers else None,
            caps if caps.any() else None,
            inertias if inertias.any() else None,
            compliances if compliances.any() else None,
        )

    def _limits_of(self, limits: Limits | None) -> tuple[Limit | None, ...]:
        """One limit for each joint."""
        if limits is None:
            return (None,) * len(self)
        if not isinstance(limits, (Mapping, Sequence)) or isinstance(limits, str):
            raise TypeError(f"limits: expected a mapping or a list of Limit, got {as_text(limits)}")
        for limit in limits.values() if isinstance(limits, Mapping) else limits:
            if not isinstance(limit, Limit) and limit is not None:
                raise TypeError(f"limits: expected a Limit, or None for a free joint, got {as_text(limit)}")
        if isinstance(limits, Mapping):
            by_joint = {self.index(joint): limit for joint, limit in limits.items()}
            if len(by_joint) < len(limits):
                raise ValueError(f"limits: two for one joint, by name and by index: {name_list(map(str, limits))}")
            return tuple(by_joint.get(joint) for joint in range(len(self)))
        if len(limits) != len(self):
            raise ValueError(f"limits: expected one (or None) for each of the {len(self)} joints, got {len(limits)}")
        return tuple(limits)

    def _check_joints(self, name: str, joints: int) -> None:
        if joints != len(self):
            raise ValueError(f"{name}: expected {len(self)} joints as the skeleton has, got {joints}")

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], *sizes: int) -> tuple[NDArray[Any], ...]:
        """Arrays with rows of these sizes, one row for every joint."""
        return _core.empty(tuple([((*shape, len(self), size), dtype.char) for size in sizes]))

    def _run(self, function: Any, arrays: tuple[NDArray[Any] | None, ...], workers: int | None) -> None:
        """Call C on arrays of one shape (except for their last axis), with all leading axes merged into one."""
        first = arrays[0]
        assert first is not None
        items = math.prod(first.shape[:-2])
        batch = [None if array is None else array.reshape(items, *array.shape[-2:]) for array in arrays]
        if workers == 1 and type(workers) is int and items * len(self) <= AT_ONCE:  # usually
            function(self._data, *batch)
            return

        def solve(block: slice) -> None:
            function(self._data, *(None if array is None else array[block] for array in batch))

        in_blocks(items, len(self), workers, solve)


# The numbers of an ik_limit that allows everything.
_FREE = Limit.free().parameters()
