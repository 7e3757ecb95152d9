"""Nodes with a memory from frame to frame. Their state is an object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore.bodies.nodes.node import Job, Node, NodeSolution, Proposal, Targets
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]


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

    def _start(self, skeleton: Skeleton, count: int) -> S:
        """The state of a number of items before their first frame."""
        raise NotImplementedError

    def _advance(self, job: Job, state: S, dt: float, workers: int | None) -> tuple[Proposal, S]:
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
        """Advance by one frame.

        Parameters
        ----------
        skeleton, pose, targets, workers, strict
            As in a call, for the items of one frame.
        state : state or None
            The state that the frame before returned; None: this is the first. It stays as it is.
        dt : float
            Seconds since the frame before.

        Returns
        -------
        NodeSolution
            As of a call.
        state
            For the next frame. Items that cannot be used have the state of the frame before.
        """
        if not 0 < dt < math.inf:
            raise ValueError(f"dt: expected a positive number of seconds, got {dt!r}")
        items, share, shape = self.items(skeleton, pose, targets)
        now: S = self._start(skeleton, len(share)) if state is None else state

        def solve(part: Job, chosen: Array) -> Proposal:
            nonlocal now
            found, after = self._advance(part, now.rows(chosen), dt, workers)
            now = now.with_rows(chosen, after)
            return found

        moved, said, missed = self.blend(items, share, solve, always=True)
        return self.result(moved, said, missed, shape, strict=strict), now

    def _move(
        self, skeleton: Skeleton, pose: Pose, targets: Targets | ArrayLike | None, workers: int | None, *, strict: bool
    ) -> NodeSolution:
        """The frames of a clip, axis 0 of poses and targets, one after the other."""
        items, _, shape = self.items(skeleton, pose, targets)
        if not shape:
            raise ValueError("pose: expected frames as axis 0, got a single pose; `step` takes one")
        found, state = [], None
        for frame in range(shape[0]):
            chosen = np.arange(len(items.pose)).reshape(shape)[frame].reshape(-1)
            part, once = items.part(chosen), self._share_of(frame, shape)
            one, state = once.step(
                skeleton, part.pose, part.targets, state, 1 / self.fps, workers=workers, strict=strict
            )
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
