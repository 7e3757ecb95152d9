"""Nodes with a memory from frame to frame: `LockNode` and `SpringNode`. Their state is an object."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore.bodies.nodes.bend import joints_of
from ikcore.bodies.nodes.limbs import LegNode
from ikcore.bodies.nodes.node import Job, Node, NodeSolution, Solved, Targets
from ikcore.bodies.nodes.turns import turned_by, unit_share
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
RATE = 240  # steps a second of a spring, at least


class State:
    """Arrays with a row for every item."""

    def rows(self, chosen: Array) -> Any:
        """The state of some items."""
        return type(self)(**{name: array[chosen] for name, array in vars(self).items()})

    def with_rows(self, chosen: Array, other: Any) -> Any:
        """The state with that of some items replaced."""
        made = {name: array.copy() for name, array in vars(self).items()}
        for name, array in made.items():
            array[chosen] = getattr(other, name)
        return type(self)(**made)


S = TypeVar("S", bound=State)


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeOverTime(Node, Generic[S]):
    """A node with a state. Called with a clip, axis 0 is time; `step` goes on by one frame.

    Parameters
    ----------
    fps : float, default: 30
        Frames a second of a call.
    """

    fps: float = 30.0

    def start(self, skeleton: Skeleton, count: int) -> S:
        """The state of so many items before their first frame."""
        raise NotImplementedError

    def advance(self, job: Job, state: S, dt: float, workers: int | None) -> tuple[Solved, S]:
        """The poses of a frame, and the state after it."""
        raise NotImplementedError

    def step(
        self,
        skeleton: Skeleton,
        pose: Pose,
        targets: Targets | ArrayLike | None,
        state: S | None,
        dt: float,
        *,
        workers: int | None = 1,
        strict: bool = False,
    ) -> tuple[NodeSolution, S]:
        """Go on by one frame.

        Parameters
        ----------
        skeleton, pose, targets, workers, strict
            As in a call, for the items of one frame.
        state : state or None
            What the frame before returned; None: this is the first. It stays as it is.
        dt : float
            Seconds since the frame before.

        Returns
        -------
        NodeSolution
            As of a call.
        state
            For the next frame. That of an item that cannot be used has not changed.
        """
        if not 0 < dt < math.inf:
            raise ValueError(f"dt: expected a positive number of seconds, got {dt!r}")
        items, share, shape = self.items(skeleton, pose, targets)
        now: S = self.start(skeleton, len(share)) if state is None else state

        def solve(part: Job, chosen: Array) -> Solved:
            nonlocal now
            found, after = self.advance(part, now.rows(chosen), dt, workers)
            now = now.with_rows(chosen, after)
            return found

        moved, said, missed = self.blend(items, share, solve, always=True)
        return self.result(moved, said, missed, shape, strict=strict), now

    def __call__(
        self,
        skeleton: Skeleton,
        pose: Pose,
        targets: Targets | ArrayLike | None = None,
        *,
        workers: int | None = 1,
        strict: bool = False,
    ) -> NodeSolution:
        """Go through the frames of a clip, axis 0 of poses and targets; see `Node`."""
        items, _, shape = self.items(skeleton, pose, targets)
        if not shape:
            raise ValueError("pose: expected frames as axis 0, got a single pose; `step` takes one")
        found, state = [], None
        for frame in range(shape[0]):
            chosen = np.arange(len(items.pose)).reshape(shape)[frame].reshape(-1)
            part, once = items.part(chosen), self._share_of(frame, shape)
            one, state = once.step(skeleton, part.pose, part.targets, state, 1 / self.fps, workers=workers, strict=strict)
            found.append(one)
        turned = np.stack([one.pose.rotations for one in found]).reshape(*shape, len(skeleton), 4)
        slid = None
        if found and found[0].pose.translations is not None:
            slid = np.stack([one.pose.translations for one in found]).reshape(*shape, len(skeleton), 3)
        said, missed = (np.stack([getattr(one, name) for one in found]).reshape(shape) for name in ("status", "error"))
        return NodeSolution(Pose(turned, slid), said, missed)

    def _share_of(self, frame: int, shape: tuple[int, ...]) -> Any:
        """The node with the influence of a frame."""
        share = np.broadcast_to(np.asarray(self.influence, float), shape)[frame].reshape(-1)
        made = object.__new__(type(self))
        made.__dict__.update(vars(self) | {"influence": share})
        return made


# --- lock ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LockState(State):
    """What `LockNode` keeps of every foot: its lock, and an offset that fades, for position and rotation."""

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
    """A foot stays where it is while it is in contact, and goes back to the animation smoothly: LockIK.

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
        Where the knee goes in the rest pose, as in `LimbNode`.
    soften : float, default: 1
        As in `LegNode`.
    fps : float, default: 30
        Frames a second of a call.
    influence : (...) array_like, default: 1
        Share of the way to the solved pose, as in `Node`.
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

    def check(self, skeleton: Skeleton) -> None:
        joints_of(skeleton, self.foot)

    def moves(self, skeleton: Skeleton) -> list[int]:
        return list(joints_of(skeleton, self.foot)[1:])

    def effectors(self, skeleton: Skeleton) -> list[int]:
        return [skeleton.index(self.foot)]

    def start(self, skeleton: Skeleton, count: int) -> LockState:
        flags = [np.zeros(count, bool) for _ in range(3)]
        turn = np.zeros((count, 4))
        turn[:, 0] = 1
        zeros = [np.zeros((count, 3)) for _ in range(5)]
        return LockState(*flags, np.zeros((count, 3)), turn, *zeros)

    def advance(self, job: Job, state: LockState, dt: float, workers: int | None) -> tuple[Solved, LockState]:
        world, foot = job.skeleton.forward(job.pose), job.skeleton.index(self.foot)
        place, turn = world.positions[:, foot].astype(float), world.rotations[:, foot].astype(float)
        after = self._next(state, place, turn, job.targets.get("contact"), dt)
        fed = np.where(after.locked[:, np.newaxis], after.place, place)
        facing = rotations.multiply(
            rotations.exp(after.twist), np.where(after.locked[:, np.newaxis], after.turn, turn)
        )
        dtype = job.pose.dtype
        targets = {"position": (fed + after.offset).astype(dtype), "rotation": facing.astype(dtype)}
        leg = LegNode(self.foot, rotation_weight=self.rotation_weight, side=self.side, soften=self.soften)
        idle = ~after.locked & ~after.offset.any(axis=-1) & ~after.twist.any(axis=-1)
        found = leg.solved(job._replace(targets=targets), workers)
        turned = np.where(idle[:, np.newaxis, np.newaxis], job.pose.rotations, found.pose.rotations)
        return Solved(job.pose.with_rotations(turned), np.where(idle, 0, found.status)), after

    def _next(self, state: LockState, place: Array, turn: Array, contact: Array | None, dt: float) -> LockState:
        """The state after a frame: offsets fade, then locks close and open."""
        touches = np.zeros(len(place), bool) if contact is None else contact > self.threshold
        speed = np.where(state.started[:, np.newaxis], place - state.last, 0) / dt
        offset, offset_speed = _faded(state.offset, state.offset_speed, self.half_life, dt)
        twist, twist_speed = _faded(state.twist, state.twist_speed, self.half_life, dt)
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


def _faded(offset: Array, speed: Array, half_life: float, dt: float) -> tuple[Array, Array]:
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


# --- spring ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SpringState(State):
    """What `SpringNode` keeps of every joint: tip and speed, and where the animation had the tip."""

    started: NDArray[np.bool_]
    tips: Array
    speeds: Array
    goals: Array


@dataclass(frozen=True, eq=False)
class SpringNode(NodeOverTime[SpringState]):
    """Joints swing after their animation, as hair, ears and bellies do: Spring Controller of Unreal.

    The tip of each joint hangs on its place in the animation by a spring with a damper. The joint turns to it by the
    shortest arc. There are no targets.

    Parameters
    ----------
    joints : sequence of str or int
        The joints, each before those below it.
    stiffness : float, default: 50
        Of the springs, in 1/s^2: the tip is pulled by this times its distance.
    damping : float, default: 4
        Of the dampers, in 1/s: its speed falls by this times its speed.
    max_displacement : float, optional
        Greatest distance of a tip from its place, in the unit of the skeleton. Default: none.
    reset_distance : float, optional
        A tip farther away than this, as after a cut, is put to its place and stands still. Default: never.
    gravity : (3,) array_like, default: 0
        Acceleration of the tips.
    tips : sequence of (3,) array_like, optional
        The tip of every joint, in its own space. Default: its first child.
    fps : float, default: 30
        Frames a second of a call.
    influence : (...) array_like, default: 1
        Share of the way to the solved pose, as in `Node`.
    """

    joints: Sequence[str | int]
    stiffness: float = 50.0
    damping: float = 4.0
    max_displacement: float | None = None
    reset_distance: float | None = None
    gravity: ArrayLike = (0.0, 0.0, 0.0)
    tips: Sequence[ArrayLike] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.joints, str) or not len(self.joints):
            raise ValueError(f"joints: expected a list of one joint or more, got {self.joints!r}")
        for name in ("stiffness", "damping", "max_displacement", "reset_distance"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"{name}: expected 0 or a positive number, got {value!r}")

    def check(self, skeleton: Skeleton) -> None:
        self._ends(skeleton)

    def moves(self, skeleton: Skeleton) -> list[int]:
        return [skeleton.index(joint) for joint in self.joints]

    def _ends(self, skeleton: Skeleton) -> list[tuple[int, Array]]:
        """Every joint, and its tip in its own space."""
        joints = [skeleton.index(joint) for joint in self.joints]
        if self.tips is not None:
            return [(joint, np.asarray(tip, float)) for joint, tip in zip(joints, self.tips, strict=True)]
        for joint in joints:
            if not skeleton.children(joint):
                raise ValueError(f"joints: expected a child of {skeleton.names[joint]!r} as its tip, or tips; got none")
        return [(joint, skeleton.offsets[skeleton.children(joint)[0]]) for joint in joints]

    def start(self, skeleton: Skeleton, count: int) -> SpringState:
        tips = [np.zeros((count, len(self.joints), 3)) for _ in range(3)]
        return SpringState(np.zeros(count, bool), *tips)

    def advance(self, job: Job, state: SpringState, dt: float, workers: int | None) -> tuple[Solved, SpringState]:
        pose, tips, speeds, goals = job.pose, [], [], []
        for number, (joint, end) in enumerate(self._ends(job.skeleton)):
            world = job.skeleton.forward(pose)
            at, turn = world.positions[:, joint].astype(float), world.rotations[:, joint].astype(float)
            arm = rotations.rotate(turn, end)
            rows = [array[:, number] for array in (state.tips, state.speeds, state.goals)]
            tip, speed = self._swing(state.started, *rows, at + arm, dt)
            delta = rotations.shortest_arc(arm, tip - at).astype(pose.dtype)
            local = turned_by(job.skeleton, world, np.asarray(pose.rotations), [joint], delta[:, np.newaxis])
            pose = pose.with_rotations(local)
            tips.append(tip)
            speeds.append(speed)
            goals.append(at + arm)
        after = SpringState(np.ones(len(job.pose), bool), *(np.stack(part, axis=1) for part in (tips, speeds, goals)))
        return Solved(pose), after

    def _swing(
        self, started: NDArray[np.bool_], tip: Array, speed: Array, before: Array, goal: Array, dt: float
    ) -> tuple[Array, Array]:
        """Tip and speed after a frame, in small implicit steps while its place moves along a line."""
        fresh = ~started
        if self.reset_distance is not None:
            fresh = fresh | (np.asarray(size(tip - goal)) > self.reset_distance)
        new = fresh[:, np.newaxis]
        tip, speed, before = np.where(new, goal, tip), np.where(new, 0, speed), np.where(new, goal, before)
        steps = max(math.ceil(dt * RATE), 1)
        h, pull = dt / steps, np.asarray(self.gravity, float)
        for number in range(steps):
            place = before + (goal - before) * ((number + 1) / steps)
            speed = speed + h * (self.stiffness * (place - tip) + pull)
            speed = speed / (1 + h * self.damping + h * h * self.stiffness)
            tip = tip + h * speed
        if self.max_displacement is not None:
            off = np.asarray(size(tip - goal))[:, np.newaxis]
            over = off > self.max_displacement
            tip = np.where(over, goal + (tip - goal) * (self.max_displacement / np.where(over, off, 1)), tip)
        return tip, speed
