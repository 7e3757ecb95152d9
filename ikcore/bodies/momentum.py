"""Motion of the masses of a clip: centre of mass, momentum, and flights in which gravity alone acts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._joints import check_unscaled
from ikcore._record import record
from ikcore.clips.clip import Clip
from ikcore.pose import Pose

Array = NDArray[np.float64]

_GRAVITY = 9.81  # m/s^2
_ROUNDS = 20  # of Newton's method for the momentum of a flight; 3 to 6 are usual
_CLOSED = 1e-10  # rad: by which the end of a flight may be turned


@record
class Motion:
    """The motion of all masses of a clip.

    Attributes
    ----------
    mass : float
        The total mass.
    centre, velocity, acceleration : (frames, 3) array
        Velocity of the centre of mass, by central differences. The first and the last acceleration are those of their
        neighbours.
    spin : (frames - 1, 3) array
        The angular momentum about the centre of mass. It is the mean between a frame and the next.
    inertia : (frames, 3, 3) array
        The inertia about the centre of mass, as if all joints were locked.

    Examples
    --------
    >>> import ikcore as ik
    >>> rod = ik.Skeleton([-1, 0], [[0, 0, 0], [2, 0, 0]], masses=[1, 1])
    >>> still = ik.Clip(rod, ik.Pose(np.tile(rod.rest.rotations, (3, 1, 1))), fps=30)
    >>> motion = ik.bodies.motion_of(still)
    >>> motion.mass, motion.centre[0].tolist()
    (2.0, [1.0, 0.0, 0.0])
    """

    mass: float
    centre: Array
    velocity: Array
    acceleration: Array
    spin: Array
    inertia: Array


def motion_of(clip: Clip) -> Motion:
    """The centre of mass, the angular momentum and the inertia of a clip over time.

    Parameters
    ----------
    clip : Clip
        A clip of three frames or more; its skeleton with masses, as `with_masses` makes it.

    Examples
    --------
    A rod of two masses turns by 1 radian a second.

    >>> import numpy as np
    >>> import ikcore as ik
    >>> rod = ik.Skeleton([-1, 0], [[0, 0, 0], [2, 0, 0]], masses=[1, 1])
    >>> turns = ik.rotations.from_axis_angle([0, 0, 1], np.arange(5)[:, None] / 100 * [1, 0])
    >>> ik.bodies.motion_of(ik.Clip(rod, ik.Pose(turns), fps=100)).spin[2].round(4) + 0
    array([0., 0., 2.])
    """
    if not isinstance(clip, Clip):
        raise TypeError(f"clip: expected a Clip, got {type(clip).__name__}")
    if len(clip) < 3:
        raise ValueError(f"clip: expected three frames or more, which have an acceleration, got {len(clip)}")
    check_unscaled(clip.skeleton, clip.pose)
    skeleton, whole = clip.skeleton, float(clip.skeleton.masses.sum())
    if not whole > 0:
        raise ValueError("clip.skeleton: no joint weighs anything; use `with_masses` or Skeleton(masses=)")
    world, dt = skeleton.forward(clip.pose), 1 / clip.fps
    turned, masses = world.rotations.astype(float), skeleton.masses[:, np.newaxis]
    places = world.positions + rotations.rotate(turned, skeleton.centres)
    centre = np.sum(masses * places, axis=-2) / whole
    off = places - centre[:, np.newaxis]
    matrices = rotations.to_matrix(turned)
    own = matrices @ skeleton.inertias @ np.swapaxes(matrices, -1, -2)
    squares = np.sum(off**2, axis=-1)[..., np.newaxis, np.newaxis] * np.eye(3)
    points = masses[..., np.newaxis] * (squares - off[..., np.newaxis] * off[..., np.newaxis, :])
    steps = rotations.multiply(turned[1:], rotations.conjugate(turned[:-1]))
    rates = rotations.log(rotations.canonical(steps)) / dt
    orbits = np.cross(_middle(off), masses * np.diff(off, axis=0) / dt)
    spin = np.sum(orbits + (_middle(own) @ rates[..., np.newaxis])[..., 0], axis=-2)
    inner = (centre[2:] - 2 * centre[1:-1] + centre[:-2]) / dt**2
    acceleration = np.concatenate([inner[:1], inner, inner[-1:]])
    velocity = np.gradient(centre, dt, axis=0, edge_order=2)
    return Motion(whole, centre, velocity, acceleration, spin, np.sum(own + points, axis=-3))


def _middle(values: Array) -> Array:
    """Between each frame and the next."""
    return np.asarray((values[1:] + values[:-1]) / 2)


def up_of(clip: Clip) -> Array:
    """The direction against gravity."""
    return np.array([0.0, 1.0, 0.0] if clip.up == "Y" else [0.0, 0.0, 1.0])


def gravity_of(clip: Clip) -> Array:
    """The acceleration of gravity, in lengths of the clip per second squared."""
    return np.asarray(-_GRAVITY / clip.unit * up_of(clip))


@record
class Flight:
    """Difference of a flight from the motion that gravity alone would cause.

    Attributes
    ----------
    start, end : int
        The frames on the ground before and after it.
    path_error : float
        Largest distance of the centre of mass from the parabola through its positions at both ends.
    spin_error : float
        Largest difference of the angular momentum from its mean. It is an angular velocity of the whole body: rad/s.
    """

    start: int
    end: int
    path_error: float
    spin_error: float


def flights(clip: Clip, airborne: ArrayLike) -> tuple[Flight, ...]:
    """Check the flights of a clip: a parabola of the centre of mass, and a constant angular momentum.

    Gravity is 9.81 m/s^2 against `up` of the clip, by its `unit`.

    Parameters
    ----------
    clip : Clip
        A skeleton with masses.
    airborne : (frames,) array_like of bool
        Frames in which nothing touches the ground.

    Returns
    -------
    tuple of Flight
        One for each run of airborne frames that is not at an end of the clip.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> t = np.arange(30) / 60
    >>> ball = ik.Skeleton([-1], [[0, 0, 0]], masses=[2])
    >>> path = np.stack([t, 3 * t - 9.81 / 2 * t**2, 0 * t], -1)[:, None]
    >>> throw = ik.Clip(ball, ik.Pose(np.tile([1.0, 0, 0, 0], (30, 1, 1)), path), fps=60)
    >>> (flight,) = ik.bodies.flights(throw, [False, *[True] * 28, False])
    >>> flight.end, flight.path_error < 1e-12
    (29, True)
    """
    motion, found = motion_of(clip), []
    for start, end in _runs(len(clip), airborne):
        off = motion.centre[start : end + 1] - _parabola(motion, start, end, clip)
        excess = motion.spin[start:end] - motion.spin[start:end].mean(0)
        speeds = _speeds(_middle(motion.inertia[start : end + 1]), excess)
        worst = (float(np.linalg.norm(values, axis=-1).max()) for values in (off, speeds))
        found.append(Flight(start, end, *worst))
    return tuple(found)


def keep_momentum(clip: Clip, airborne: ArrayLike, *, spin: bool = True) -> Clip:
    """Move and turn the whole body in its flights, so that gravity alone acts on it.

    In each flight the centre of mass follows the parabola through its positions at both ends. The body turns about it
    so that its angular momentum is constant. Only the root changes, and both ends stay.

    Parameters
    ----------
    clip : Clip
        A skeleton with masses and one root.
    airborne : (frames,) array_like of bool
        As in `flights`.
    spin : bool, default: True
        True: turn the body too.

    Returns
    -------
    Clip
        The clip with another motion of its root in flights.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> ball = ik.Skeleton([-1], [[0, 0, 0]], masses=[2])
    >>> level = ik.Pose(np.tile([1.0, 0, 0, 0], (31, 1, 1)), np.zeros((31, 1, 3)))
    >>> air = np.arange(31) % 30 > 0
    >>> jump = ik.bodies.keep_momentum(ik.Clip(ball, level, fps=60), air)
    >>> float(jump.pose.translations[15, 0, 1].round(4))  # 9.81 / 8 * (0.5 s)^2
    0.3066
    """
    motion, skeleton = motion_of(clip), clip.skeleton
    roots = np.flatnonzero(skeleton.parents < 0)
    if len(roots) != 1:
        raise ValueError(f"clip.skeleton: expected one root, which carries the whole body, got {len(roots)}")
    root, pose = int(roots[0]), clip.pose
    turned = pose.rotations.astype(float)
    places = skeleton.offsets if pose.translations is None else pose.translations
    moved = np.broadcast_to(places, (len(clip), len(skeleton), 3)).astype(float)
    for start, end in _runs(len(clip), airborne):
        span = slice(start, end + 1)
        turns = _turns(motion, start, end, 1 / clip.fps) if spin else np.tile([1.0, 0, 0, 0], (end - start + 1, 1))
        arms = rotations.rotate(turns, moved[span, root] - motion.centre[span])
        moved[span, root] = _parabola(motion, start, end, clip) + arms
        turned[span, root] = rotations.multiply(turns, turned[span, root])
    return replace(clip, pose=Pose(turned.astype(pose.dtype), moved.astype(pose.dtype)))


def _runs(frames: int, airborne: ArrayLike) -> list[tuple[int, int]]:
    """The frames on the ground around each run of airborne ones, of three frames or more with these."""
    air = np.asarray(airborne)
    if air.shape != (frames,) or air.dtype != bool:
        raise ValueError(f"airborne: expected {frames} bools, one for each frame, got {air.dtype} of shape {air.shape}")
    changes = np.diff(air.astype(int))
    starts, ends = np.flatnonzero(changes == 1), np.flatnonzero(changes == -1) + 1
    return [(int(start), int(ends[ends > start][0])) for start in starts if (ends > start).any()]


def _parabola(motion: Motion, start: int, end: int, clip: Clip) -> Array:
    """Places from one to the other under gravity."""
    t = (np.arange(end - start + 1) / clip.fps)[:, np.newaxis]
    whole = t[-1]
    first, last = motion.centre[start], motion.centre[end]
    return np.asarray(first + (last - first) * t / whole - gravity_of(clip) * t * (whole - t) / 2)


def _turns(motion: Motion, start: int, end: int, dt: float) -> Array:
    """Rotations about the centre of mass, identity at both ends, which keep the angular momentum constant.

    If the body turned by R relative to the clip, with R' = R [w], its momentum is R (spin + inertia w). The constant
    momentum with which the last rotation is the identity is found by Newton's method.
    """
    spins, inertias = motion.spin[start:end], motion.inertia[start : end + 1]
    kept = spins.mean(0)
    turns = _turned_by(kept, spins, inertias, dt)
    step = 1e-6 * np.trace(inertias[0]) / dt / (end - start)
    for _ in range(_ROUNDS):
        off = rotations.log(rotations.canonical(turns[-1]))
        if np.abs(off).max() < _CLOSED:
            break
        tried = [_turned_by(kept + step * axis, spins, inertias, dt)[-1] for axis in np.eye(3)]
        changes = (rotations.log(rotations.canonical(np.array(tried))) - off) / step
        kept = kept - np.linalg.lstsq(changes.T, off, rcond=None)[0]
        turns = _turned_by(kept, spins, inertias, dt)
    off = rotations.log(rotations.canonical(turns[-1]))
    shares = np.linspace(0, 1, len(turns))[:, np.newaxis]
    return rotations.multiply(turns, rotations.exp(-shares * off))


def _turned_by(kept: Array, spins: Array, inertias: Array, dt: float) -> Array:
    """Rotations over time with this angular momentum, by the midpoint rule."""
    found, middle = [np.array([1.0, 0, 0, 0])], _middle(inertias)
    for k, spin in enumerate(spins):
        half = found[-1]
        for inertia, share in ((inertias[k], 0.5), (middle[k], 1.0)):
            rate = _speeds(inertia, rotations.rotate(rotations.conjugate(half), kept) - spin)
            half = rotations.multiply(found[-1], rotations.exp(share * dt * rate))
        found.append(half)
    return np.array(found)


def _speeds(inertias: Array, spins: Array) -> Array:
    """Angular velocities; 0 about axes without inertia, as of a point or a rod."""
    return np.asarray((np.linalg.pinv(inertias, rcond=1e-12) @ spins[..., np.newaxis])[..., 0])
