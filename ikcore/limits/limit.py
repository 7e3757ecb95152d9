"""The limit of a joint: the rotations that it allows, relative to rest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, rotations
from ikcore._arrays import as_text, number_type, rows, unit
from ikcore._call import call
from ikcore._record import hash_of_fields, record, same_fields
from ikcore.limits.arguments import angle_range, cones_of, frame_of, motion_of, numbers, twist_range, whole
from ikcore.limits.sampling import MOST_SAMPLES, samples

Array = NDArray[Any]
Kind = Literal["free", "locked", "hinge", "ball", "euler", "kusudama"]

# Largest number of cones of a kusudama: IK_CONES of ik.h.
_CONES = 16

# Sums of unit vectors shorter than this have no defined direction.
_OPPOSITE = 1e-6


@record
class Limit:
    """The limit of a joint, made by `free`, `locked`, `hinge`, `cone`, `ball`, `euler` or `kusudama`. Immutable.

    A limit with an axis splits a rotation into a twist about that axis and a swing after it, which leans the axis. All
    limits are relative to rest, never to the input pose.

    Attributes
    ----------
    kind : str
        The kind of limit; a cone is a ball.
    frame : tuple of 4 floats
        Rotation from the space of the limit, in which x is the twist axis, to that of the joint.
    twist : tuple of 2 floats
        Lowest and highest angle about the axis.
    swing : tuple of 4 floats
        Largest angles by which the axis may lean towards +y, -y, +z and -z of the frame.
    axes : tuple of 3 ints
        For an Euler box: 0, 1, 2 for x, y, z, in the order in which they turn, about fixed axes.
    lowest, highest : tuple of 3 floats
        For an Euler box: the bounds of the angle about each of `axes`.
    stiffness : tuple of 3 floats
        Resistance to turns about the axes of the frame: 0 none, 1 the joint does not turn. For ``dls``, its relatives,
        ``full_body`` and ``ccd``.
    position : tuple of 2 tuples of 3 floats, or None
        If given, the joint slides. Lowest and highest translation relative to its offset, in the space of its parent;
        an infinite one is no bound. None: the translation stays as in the pose.
    speed : tuple of 2 floats
        Largest speed of the joint: of its rotation in radians per second, and of its translation in lengths per second.
        Infinite: unlimited.
    acceleration : tuple of 2 floats
        Largest change of these speeds per second.
    cones : tuple of pairs
        For a kusudama: the direction of the middle of every cone, 3 floats, in the frame, and the angle from there to
        its side.
    """

    kind: Kind
    frame: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    twist: tuple[float, ...] = (-np.pi, np.pi)
    swing: tuple[float, ...] = (np.pi,) * 4
    axes: tuple[int, ...] = (0, 1, 2)
    lowest: tuple[float, ...] = (-np.pi,) * 3
    highest: tuple[float, ...] = (np.pi,) * 3
    stiffness: tuple[float, ...] = (0.0, 0.0, 0.0)
    position: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    speed: tuple[float, ...] = (np.inf, np.inf)
    acceleration: tuple[float, ...] = (np.inf, np.inf)
    cones: tuple[tuple[tuple[float, ...], float], ...] = ()

    __eq__, __hash__ = same_fields, hash_of_fields

    def __post_init__(self) -> None:
        """Refuse values that are no limit."""
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind: expected one of {', '.join(get_args(Kind))}, got {as_text(self.kind)}")
        if not any(numbers("frame", self.frame, 4)):
            raise ValueError("frame: expected a rotation, got a zero quaternion")
        angle_range("twist", *numbers("twist", self.twist, 2))
        if not all(0 <= lean <= np.pi for lean in numbers("swing", self.swing, 4)):
            raise ValueError(f"swing: expected angles from 0 to pi, in radians, got {self.swing}")
        if sorted(numbers("axes", self.axes, 3)) != [0, 1, 2]:
            raise ValueError(f"axes: expected 0, 1 and 2 in some order, got {self.axes}")
        for pair in zip(numbers("lowest", self.lowest, 3), numbers("highest", self.highest, 3), strict=True):
            angle_range("lowest, highest", *pair)
        if not all(0 <= number <= 1 for number in numbers("stiffness", self.stiffness, 3)):
            raise ValueError(f"stiffness: expected numbers from 0 to 1, got {self.stiffness}")
        for name, most in (("speed", self.speed), ("acceleration", self.acceleration)):
            if len(most) != 2 or not all(number > 0 for number in most):
                raise ValueError(f"{name}: expected more than 0, one number or a pair, got {as_text(most)}")
        if self.cones or self.kind == "kusudama":
            self._check_cones()

    def _check_cones(self) -> None:
        if self.kind != "kusudama" or not 1 <= len(self.cones) <= _CONES:
            raise ValueError(f"cones: expected 1 to {_CONES} of a kusudama and none of others, got {len(self.cones)}")
        directions = [np.array(numbers("cones", direction, 3)) for direction, _ in self.cones]
        angles = [angle for _, angle in self.cones]
        if not all(direction.any() for direction in directions):
            raise ValueError("cones: expected directions, got a zero vector")
        if not all(0 <= angle <= np.pi for angle in angles):
            raise ValueError(f"cones: expected angles from 0 to pi, in radians, got {angles}")
        for i, (a, b) in enumerate(itertools.pairwise(map(unit, directions))):
            if angles[i] + angles[i + 1] < np.pi and np.abs(a + b).max() < _OPPOSITE:
                raise ValueError(
                    f"cones: {i} and {i + 1} are opposite, which leaves open where the path between them leads; "
                    "put another one on its way"
                )

    @property
    def is_timed(self) -> bool:
        """True if the limit has a speed or an acceleration.

        >>> Limit.free(speed=2).is_timed, Limit.free().is_timed
        (True, False)
        """
        return any(np.isfinite([*self.speed, *self.acceleration]))

    @staticmethod
    def free(
        *,
        stiffness: ArrayLike = 0.0,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Limit:
        """Every rotation is allowed.

        All limits have these arguments: resistance, travel and speed of the joint.

        Parameters
        ----------
        stiffness : float or (3,) array_like, default: 0
            Resistance of the joint to turns about each axis of the limit: 0 none, 1 the joint does not turn. It does
            not change which rotations are allowed. For ``dls``, its relatives, ``full_body`` and ``ccd``; other methods
            raise an error.
        position : (2, 3) array_like, optional
            If given, the joint slides. Lowest and highest translation relative to its offset, in the space of its
            parent; an axis with equal bounds is fixed. It is never relative to the input pose: for a root without an
            offset it is a range in the world. Infinite: unlimited. Methods without sliding joints raise an error.
        speed, acceleration : float or (float, float), optional
            Largest speed of the joint in radians per second, and largest change of the speed per second. The second of
            a pair is for the translation of a sliding joint, in lengths; one number is for both. They hold between
            the frames of a sequence with ``fps``, and do not change which rotations are allowed.

        Examples
        --------
        >>> float(Limit.free().violation([0, 1, 0, 0]))
        0.0
        """
        return Limit("free", **motion_of(stiffness, position, speed, acceleration))

    @staticmethod
    def locked(
        *, position: ArrayLike | None = None, speed: ArrayLike | None = None, acceleration: ArrayLike | None = None
    ) -> Limit:
        """Only rest is allowed.

        Parameters
        ----------
        position, speed, acceleration : array_like, optional
            As for `free`. A sliding joint is locked with a position.

        Examples
        --------
        >>> Limit.locked().project([0, 1, 0, 0])
        array([1., 0., 0., 0.])
        """
        return Limit("locked", **motion_of(0.0, position, speed, acceleration))

    @staticmethod
    def hinge(
        axis: ArrayLike,
        low: float,
        high: float,
        *,
        stiffness: ArrayLike = 0.0,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Limit:
        """The joint turns about an axis, within a range.

        Parameters
        ----------
        axis : (3,) array_like
            The axis in the joint's own space, of any length.
        low, high : float
            Lowest and highest angle, from -2 pi to 2 pi. A range of a whole turn or more is no limit.
        stiffness, position, speed, acceleration : array_like, optional
            As for `free`.

        Examples
        --------
        A range of more than half a turn: angles outside go to the nearer bound on the circle.

        >>> door = Limit.hinge([0, 0, 1], 0, 4)
        >>> angle = rotations.to_axis_angle(
        ...     door.project(rotations.from_axis_angle([0, 0, 1], [4.5, 6.0]))
        ... )[1]
        >>> angle.round(6)  # 4 is 2.283185 the other way round
        array([2.283185, 0.      ])
        """
        motion = motion_of(stiffness, position, speed, acceleration)
        return Limit("hinge", frame=frame_of(axis, None), twist=angle_range("low, high", low, high), **motion)

    @staticmethod
    def cone(
        axis: ArrayLike,
        angle: float,
        *,
        twist: tuple[float, float] | None = None,
        stiffness: ArrayLike = 0.0,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Limit:
        """The axis leans by at most an angle, and twists within a range.

        Parameters
        ----------
        axis : (3,) array_like
            The axis, such as the bone, in the joint's own space; of any length.
        angle : float
            The largest lean, 0 to pi.
        twist : (float, float), optional
            Lowest and highest angle about the axis (default: unlimited).
        stiffness, position, speed, acceleration : array_like, optional
            As for `free`.

        Examples
        --------
        The axis is brought back along the great circle; the twist of the joint is kept.

        >>> limit = Limit.cone([0, 0, 1], np.pi / 6)
        >>> q = limit.project(rotations.shortest_arc([0, 0, 1], [1, 0, 0]))
        >>> rotations.rotate(q, [0, 0, 1]).round(6)
        array([0.5     , 0.      , 0.866025])
        """
        motion = motion_of(stiffness, position, speed, acceleration)
        swing = numbers("swing", (angle,) * 4, 4)
        return Limit("ball", frame=frame_of(axis, None), swing=swing, twist=twist_range(twist), **motion)

    @staticmethod
    def ball(
        axis: ArrayLike,
        swing: tuple[float, float, float, float],
        *,
        side: ArrayLike | None = None,
        twist: tuple[float, float] | None = None,
        stiffness: ArrayLike = 0.0,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Limit:
        """The axis leans by different angles to four sides, and twists within a range.

        Between the four directions, the sine of half the angle is bounded by an ellipse. An axis outside is moved to
        the nearest point of the ellipse.

        Parameters
        ----------
        axis : (3,) array_like
            The axis, such as the bone, in the joint's own space; of any length.
        swing : (float, float, float, float)
            The largest leans towards y, -y, z and -z, each 0 to pi, where y is `side` and z is axis x side.
        side : (3,) array_like, optional
            A direction that is not along the axis; made perpendicular to it (default: a fixed perpendicular).
        twist : (float, float), optional
            Lowest and highest angle about the axis (default: unlimited).
        stiffness, position, speed, acceleration : array_like, optional
            As for `free`.

        Examples
        --------
        >>> hip = Limit.ball([0, -1, 0], (2.0, 0.5, 0.5, 0.8), side=[0, 0, 1], twist=(-0.8, 0.8))
        >>> kick = rotations.from_axis_angle([1, 0, 0], [-1.9, 0.6])  # forwards, and backwards
        >>> hip.violation(kick).round(6)
        array([0. , 0.1])
        """
        leans, bounds = numbers("swing", swing, 4), twist_range(twist)
        motion = motion_of(stiffness, position, speed, acceleration)
        return Limit("ball", frame=frame_of(axis, side), swing=leans, twist=bounds, **motion)

    @staticmethod
    def euler(
        order: str,
        low: ArrayLike,
        high: ArrayLike,
        *,
        stiffness: ArrayLike = 0.0,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Limit:
        """The three angles about the joint's own axes stay within ranges.

        A rotation is allowed if one of its sets of angles lies in the box. The nearest allowed rotation is not always
        the one in which every angle is clamped separately.

        Parameters
        ----------
        order : str
            Three different axes, as in `rotations.to_euler`: "XYZ" intrinsic, "xyz" extrinsic. Blender's XYZ is "xyz".
        low, high : (3,) array_like
            Lowest and highest angle, in the order of the letters, each from -2 pi to 2 pi.
        stiffness, position, speed, acceleration : array_like, optional
            As for `free`.

        Examples
        --------
        >>> limit = Limit.euler("xyz", [-0.5, -1, 0], [0.5, 1, 0])
        >>> limit.violation(rotations.from_euler([[0.4, 0, 0], [0.8, 0, 0]], "xyz")).round(6)
        array([0. , 0.3])
        """
        if sorted(str(order).lower()) != ["x", "y", "z"] or not (order.islower() or order.isupper()):
            raise ValueError(f"order: expected three different axes such as 'xyz' or 'XYZ', got {as_text(order)}")
        forward = 1 if order.islower() else -1
        lows, highs = numbers("low", low, 3), numbers("high", high, 3)
        ranges = [
            angle_range(f"low, high of {letter}", *pair) for letter, *pair in zip(order, lows, highs, strict=True)
        ]
        axes = ["xyz".find(letter) for letter in order.lower()]
        lowest, highest = zip(*ranges[::forward], strict=True)
        motion = motion_of(stiffness, position, speed, acceleration)
        return Limit("euler", axes=tuple(axes[::forward]), lowest=lowest, highest=highest, **motion)

    @staticmethod
    def kusudama(
        axis: ArrayLike,
        cones: Sequence[tuple[ArrayLike, float]],
        *,
        twist: tuple[float, float] | None = None,
        stiffness: ArrayLike = 0.0,
        position: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> Limit:
        """The axis stays within a sequence of cones, or on the path from one to the next, and twists within a range.

        A path is the region between two circles that touch both its cones; it narrows with smaller cones. There is no
        path if one cone contains the other, or if their angles add up to half a turn or more: they then overlap.

        Parameters
        ----------
        axis : (3,) array_like
            The axis, such as the bone, in the joint's own space; of any length. It need not be in a cone.
        cones : sequence of ((3,) array_like, float)
            1 to 16 directions, also in the joint's own space at rest, each with the angle by which the axis may lean
            from it, 0 to pi.
        twist : (float, float), optional
            Lowest and highest angle about the axis (default: unlimited).
        stiffness, position, speed, acceleration : array_like, optional
            As for `free`.

        Examples
        --------
        An arm that is raised forwards, or sideways, or swung from one to the other:

        >>> shoulder = Limit.kusudama(
        ...     [0, -1, 0], [([0, 0, 1], 0.4), ([0, -1, 0], 0.3), ([1, 0, 0], 0.4)]
        ... )
        >>> towards = [[0, -0.6, 0.8], [0.6, -0.8, 0], [0.6, 0, 0.8]]
        >>> shoulder.violation(rotations.shortest_arc([0, -1, 0], towards)).round(6)
        array([0.      , 0.      , 0.343936])
        """
        frame = frame_of(axis, None)
        made = [
            (tuple(rotations.rotate(rotations.conjugate(frame), way).tolist()), angle) for way, angle in cones_of(cones)
        ]
        motion = motion_of(stiffness, position, speed, acceleration)
        return Limit("kusudama", frame=frame, twist=twist_range(twist), cones=tuple(made), **motion)

    def __repr__(self) -> str:
        """An expression that makes the same limit: all fields that differ from their defaults."""
        given = [item for item in fields(self) if getattr(self, item.name) != item.default]
        return f"Limit({', '.join(f'{item.name}={getattr(self, item.name)!r}' for item in given)})"

    def project(self, q: ArrayLike) -> Array:
        """The nearest allowed rotations.

        Allowed rotations keep their bits, and so do those outside by round-off only. Projecting twice gives the bits of
        projecting once. The result has the same sign as the input. A ball and a kusudama keep the twist as near as
        possible first, then the swing. All other kinds give the rotation that is fewest radians away. After a swing of
        half a turn, a joint counts as not twisted.

        Parameters
        ----------
        q : (..., 4) array_like
            Rotations relative to rest, of any length.

        Returns
        -------
        (..., 4) array
            Unit quaternions, NaN for an item that is not finite.

        Examples
        --------
        >>> Limit.hinge([0, 0, 1], 0, 2).project([[1, 0, 0, 0], [0, 1, 0, 0]])
        array([[1., 0., 0., 0.],
               [1., 0., 0., 0.]])
        """
        return self._project(q)[0]

    def violation(self, q: ArrayLike) -> Array:
        """The violation in radians (...): the angle from `q` to the result of ``project(q)``, 0 inside.

        It is NaN for an item that is not finite.

        Examples
        --------
        >>> Limit.cone([1, 0, 0], 1).violation(
        ...     rotations.from_axis_angle([0, 1, 0], [-1, 1.25])
        ... ).round(6)
        array([0.  , 0.25])
        """
        return self._project(q)[1]

    def _project(self, q: ArrayLike) -> tuple[Array, Array]:
        dtype = number_type(q)
        inputs = {"q": rows("q", q, dtype, 4), "kind": np.asarray(get_args(Kind).index(self.kind), dtype)}
        for name in ("frame", "twist", "swing", "axes", "lowest", "highest"):
            inputs[name] = np.asarray(getattr(self, name), dtype)
        inputs["cones"] = np.array([(*axis, angle) for axis, angle in self.cones], dtype).reshape(-1, 4)
        projected, violation = call(_core.limit_project, inputs, ())
        return projected, violation

    def parameters(self) -> tuple[float, ...]:
        """The numbers of the limit in the order of ik_limit (ik.h), and the number of cones.

        >>> Limit.locked().parameters()[:5]
        (1, 1.0, 0.0, 0.0, 0.0)
        """
        kind = get_args(Kind).index(self.kind)
        angles = itertools.chain(*zip(self.lowest, self.highest, strict=True))
        slides, bounds = self.position is not None, self.position or ((-np.inf,) * 3, (np.inf,) * 3)
        position = itertools.chain(*zip(*bounds, strict=True))
        turns = *self.frame, *self.twist, *self.swing, *self.axes, *angles, *self.stiffness
        timed = [number if np.isfinite(number) else 0.0 for number in (*self.speed, *self.acceleration)]
        return (kind, *turns, slides, *position, *timed, len(self.cones))

    def project_position(self, position: ArrayLike) -> Array:
        """Translations clamped to `position`; unchanged if there is none.

        Parameters
        ----------
        position : (..., 3) array_like
            Translations relative to the joint's offset, in the space of its parent.

        Returns
        -------
        (..., 3) array
            The nearest allowed ones.

        Examples
        --------
        >>> Limit.locked(position=[[0, 0, 0], [0, 2, 0]]).project_position([1, 5, 0])
        array([0., 2., 0.])
        """
        dtype = number_type(position)
        given: Array = rows("position", position, dtype, 3)
        if self.position is None:
            return given.copy()
        low, high = (np.asarray(bound, dtype) for bound in self.position)
        return np.clip(given, low, high)

    def sample(self, n: int, seed: int = 0) -> Array:
        """Draw allowed rotations uniformly: equal volumes of rotations are equally likely.

        In an Euler box, a rotation with two sets of angles in the box is twice as likely. The numbers are the same
        on every machine and with every version of NumPy.

        Parameters
        ----------
        n : int
            The number of rotations.
        seed : int, default: 0
            A different seed gives different rotations.

        Returns
        -------
        (n, 4) array
            Rotations relative to rest.

        Examples
        --------
        >>> limit = Limit.cone([1, 0, 0], 0.3)
        >>> bool(limit.violation(limit.sample(1000)).max() == 0)
        True
        """
        if whole("n", n) < 0:
            raise ValueError(f"n: expected 0 or more, got {as_text(n)}")
        if n > MOST_SAMPLES:
            raise ValueError(f"n: expected {MOST_SAMPLES} at most, got {as_text(n)}")
        return self.project(samples(self, n, whole("seed", seed)))

    def draw(self, ax: Any = None) -> Any:
        """Draw the limit on a sphere about the joint: allowed directions of its axis and the range of its twist.

        Needs matplotlib (``pip install 'ikcore[plot]'``).

        Parameters
        ----------
        ax : matplotlib 3-D axes, optional
            Axes to draw on (default: a new figure).

        Returns
        -------
        matplotlib 3-D axes

        Examples
        --------
        >>> Limit.cone([0, 0, 1], 0.5, twist=(-1, 1)).draw()  # doctest: +SKIP
        """
        from ikcore.limits.drawing import draw

        return draw(self, ax)
