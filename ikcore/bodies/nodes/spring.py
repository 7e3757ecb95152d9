"""A node by which joints swing after their animation: `SpringNode`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore.bodies.nodes.node import Job, Proposal
from ikcore.bodies.nodes.over_time import NodeOverTime, State
from ikcore.bodies.nodes.turns import turned_by
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
RATE = 240  # steps a second, at least


@dataclass(frozen=True, eq=False)
class SpringState(State):
    """The memory of `SpringNode` for every joint: tip and speed, and the place of the tip in the animation."""

    started: NDArray[np.bool_]
    tips: Array
    speeds: Array
    goals: Array


@dataclass(frozen=True, eq=False)
class SpringNode(NodeOverTime[SpringState]):
    """Joints follow their animation by springs, as hair and ears do: Spring Controller of Unreal.

    A damped spring pulls the tip of each joint to its place in the animation. The joint turns to it by the
    shortest arc. There are no targets.

    Parameters
    ----------
    joints : sequence of str or int
        The joints, each before those below it.

    stiffness : float, default: 50
        Stiffness of the springs, in 1/s^2: the tip is pulled by this times its distance.

    damping : float, default: 4
        Strength of the dampers, in 1/s: its speed falls by this times its speed.

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
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
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

    def _check(self, skeleton: Skeleton) -> None:
        self._ends(skeleton)

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
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

    def _start(self, skeleton: Skeleton, count: int) -> SpringState:
        tips = [np.zeros((count, len(self.joints), 3)) for _ in range(3)]
        return SpringState(np.zeros(count, bool), *tips)

    def _advance(self, job: Job, state: SpringState, dt: float, workers: int | None) -> tuple[Proposal, SpringState]:
        pose, tips, speeds, goals = job.pose, [], [], []
        for number, (joint, end) in enumerate(self._ends(job.skeleton)):
            world = job.skeleton.forward(pose)
            at, turn = world.positions[:, joint].astype(float), world.rotations[:, joint].astype(float)
            arm = rotations.rotate(turn, end)
            before = state.tips[:, number], state.speeds[:, number], state.goals[:, number]
            tip, speed = self._swing(state.started, before, at + arm, dt)
            delta = rotations.shortest_arc(arm, tip - at).astype(pose.dtype)
            local = turned_by(job.skeleton, world, np.asarray(pose.rotations), [joint], delta[:, np.newaxis])
            pose = pose.with_rotations(local)
            tips.append(tip)
            speeds.append(speed)
            goals.append(at + arm)
        after = SpringState(np.ones(len(job.pose), bool), *(np.stack(part, axis=1) for part in (tips, speeds, goals)))
        return Proposal(pose), after

    def _swing(
        self, started: NDArray[np.bool_], frame: tuple[Array, Array, Array], goal: Array, dt: float
    ) -> tuple[Array, Array]:
        """Tip and speed after a frame, in small implicit steps while its place moves along a line."""
        (tip, speed, before), fresh = frame, ~started
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
