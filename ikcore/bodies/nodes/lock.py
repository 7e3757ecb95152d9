"""A node that holds a foot while it is in contact: `LockNode`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore.bodies.nodes.bend import joints_of
from ikcore.bodies.nodes.limbs import LegNode
from ikcore.bodies.nodes.node import Job, Proposal
from ikcore.bodies.nodes.over_time import NodeOverTime, State
from ikcore.bodies.nodes.turns import identities, unit_share
from ikcore.skeleton import Skeleton

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class LockState(State):
    """The memory of `LockNode` for every foot: its lock, and an offset that fades, for position and rotation."""

    started: NDArray[np.bool_]
    touched: NDArray[np.bool_]  # in contact in the frame before
    locked: NDArray[np.bool_]
    place: Array  # of the lock
    turn: Array  # rotation of the lock
    offset: Array
    offset_speed: Array
    twist: Array  # rotation vector of the offset
    twist_speed: Array
    last: Array  # position in the animation, in the frame before


@dataclass(frozen=True, eq=False)
class LockNode(NodeOverTime[LockState]):
    """A foot keeps its place while it is in contact, and then returns smoothly to the animation: LockIK.

    The target: `contact`, 0 to 1, a curve of every frame.

    Parameters
    ----------
    foot : str or int
        The foot. The two joints above it bend.

    threshold : float, default: 0.5
        It is in contact above this.

    release_radius : float, default: 0.2
        It is released when the animation is farther away than this, until its next contact.

    half_life : float, default: 0.1
        Seconds in which an offset fades to about 0.6 from rest; nominal, as of a critically damped spring.

    rotation_weight : float, default: 1
        Share of the rotation that is locked too.

    side : (3,) array_like, optional
        The side of the knee in the rest pose, as in `LimbNode`.

    soften : float, default: 1
        As in `LegNode`.

    fps : float, default: 30
        Frames a second of a call.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    foot: str | int
    threshold: float = 0.5
    release_radius: float = 0.2
    half_life: float = 0.1
    rotation_weight: float = 1.0
    side: ArrayLike | None = None
    soften: float = 1.0

    takes: ClassVar[Mapping[str, int]] = {"contact": 0}
    main: ClassVar[str] = "contact"

    def __post_init__(self) -> None:
        unit_share(self, "rotation_weight", "soften")
        for name in ("release_radius", "half_life"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: expected a positive number, got {getattr(self, name)!r}")

    def _check(self, skeleton: Skeleton) -> None:
        joints_of(skeleton, self.foot)

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return list(joints_of(skeleton, self.foot)[1:])

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        return [skeleton.index(self.foot)]

    def _start(self, skeleton: Skeleton, count: int) -> LockState:
        flags, zeros = np.zeros((3, count), bool), np.zeros((6, count, 3))
        offset, offset_speed, twist, twist_speed, last, place = zeros
        started, touched, locked = flags
        turn = identities(count, np.dtype(float))
        return LockState(started, touched, locked, place, turn, offset, offset_speed, twist, twist_speed, last)

    def _advance(self, job: Job, state: LockState, dt: float, workers: int | None) -> tuple[Proposal, LockState]:
        world, foot = job.skeleton.forward(job.pose), job.skeleton.index(self.foot)
        place, turn = world.positions[:, foot].astype(float), world.rotations[:, foot].astype(float)
        after = self._next(state, place, turn, job.targets.get("contact"), dt)
        fed = np.where(after.locked[:, np.newaxis], after.place, place)
        facing = rotations.multiply(rotations.exp(after.twist), np.where(after.locked[:, np.newaxis], after.turn, turn))
        dtype = job.pose.dtype
        targets = {"position": (fed + after.offset).astype(dtype), "rotation": facing.astype(dtype)}
        leg = LegNode(self.foot, rotation_weight=self.rotation_weight, side=self.side, soften=self.soften)
        idle = ~after.locked & ~after.offset.any(axis=-1) & ~after.twist.any(axis=-1)
        found = leg.solve_step(job._replace(targets=targets), workers)
        turned = np.where(idle[:, np.newaxis, np.newaxis], job.pose.rotations, found.pose.rotations)
        return Proposal(job.pose.with_rotations(turned), np.where(idle, 0, found.status)), after

    def _next(self, state: LockState, place: Array, turn: Array, contact: Array | None, dt: float) -> LockState:
        """The state after a frame: offsets fade, then locks close and open."""
        touches = np.zeros(len(place), bool) if contact is None else contact > self.threshold
        speed = np.where(state.started[:, np.newaxis], place - state.last, 0) / dt
        offset, offset_speed = _fade(state.offset, state.offset_speed, self.half_life, dt)
        twist, twist_speed = _fade(state.twist, state.twist_speed, self.half_life, dt)
        far = np.asarray(size(state.place - place)) > self.release_radius
        closes = touches & ~state.touched & ~state.locked
        opens = state.locked & (~touches | far)
        shut, open_ = closes[:, np.newaxis], opens[:, np.newaxis]
        shown = rotations.multiply(rotations.exp(twist), turn)
        held = rotations.multiply(rotations.exp(twist), state.turn)
        back = rotations.log(rotations.canonical(rotations.multiply(held, rotations.conjugate(turn))))
        return LockState(
            np.ones(len(place), bool),
            touches,
            (state.locked | closes) & ~opens,
            np.where(shut, place + offset, state.place),
            np.where(shut, shown, state.turn),
            np.where(shut, 0, np.where(open_, state.place + offset - place, offset)),
            np.where(shut, 0, np.where(open_, offset_speed - speed, offset_speed)),
            np.where(shut, 0, np.where(open_, back, twist)),
            np.where(shut | open_, 0, twist_speed),
            place,
        )


def _fade(offset: Array, speed: Array, half_life: float, dt: float) -> tuple[Array, Array]:
    """An offset and its speed after a time, by a critically damped spring; below a nanometre nothing is left."""
    rate = 2 * math.log(2) / half_life
    decay, drive = _exp_minus(rate * dt), speed + rate * offset
    left, slower = decay * (offset + drive * dt), decay * (speed - rate * dt * drive)
    small = (np.abs(left) < 1e-9).all(axis=-1, keepdims=True) & (np.abs(slower) < 1e-9).all(axis=-1, keepdims=True)
    return np.where(small, 0, left), np.where(small, 0, slower)


def _exp_minus(x: float) -> float:
    """exp(-x) by the same operations on every machine: a series, squared."""
    halvings = 0
    while x > 0.5:
        x, halvings = x / 2, halvings + 1
    term, total = 1.0, 1.0
    for n in range(1, 18):
        term *= x / n
        total += term
    for _ in range(min(halvings, 60)):
        total *= total
    return 1 / total
