"""The contract of nodes: poses and targets go in, poses with a status come out, and `influence` blends between both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, rotations, status
from ikcore._arrays import rows
from ikcore._joints import check_unscaled
from ikcore._record import record
from ikcore.bodies.nodes.limits import inside_limits
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.stages import PoseStage
from ikcore.status import Status

Array = NDArray[Any]
Targets = Mapping[str, ArrayLike]

PARTIAL, OUTSIDE = int(Status.PARTIAL_INFLUENCE), int(Status.INPUT_OUTSIDE)
LENGTH, ANGLE = 1e-5, 1e-4  # errors that count as met: a share of the skeleton's size, and radians
# Flags of a pose that may meet its targets.
NOTES = PARTIAL | OUTSIDE | int(Status.POLE_UNDEFINED | Status.SOFTENED)


@record
class NodeSolution(status.Summarized):
    """The result of a node per item.

    Attributes
    ----------
    pose : Pose
        The poses.

    status : (...) int32 array
        `Status` flags; 0 means that the targets are met. An item that cannot be used keeps its input pose to the bit.

    error : (...) array
        Distance by which the pose misses its positions. Without positions it is the angle by which it misses rotations
        or directions, in radians. NaN without targets.
    """

    pose: Pose
    status: NDArray[np.int32]
    error: Array


class Proposal(NamedTuple):
    """A proposal of a node, for items that can be used."""

    pose: Pose
    status: Any = 0


class Job(NamedTuple):
    """Items that can be used: poses (N, joints, 4) with their targets (N, ...)."""

    skeleton: Skeleton
    pose: Pose
    targets: dict[str, Array]

    def part(self, chosen: Any) -> Job:
        """Some of the items."""
        return Job(self.skeleton, self.pose[chosen], {name: array[chosen] for name, array in self.targets.items()})

    def with_pose(self, pose: Pose) -> Job:
        """The same targets for other poses."""
        return self._replace(pose=pose)

    def target(self, name: str, weight: float, source: Array) -> Array | None:
        """The target of a position at its weight, from where the point is; None if not given or without weight."""
        given = self.targets.get(name)
        if given is None or weight == 0:
            return None
        return given if weight == 1 else source + self.pose.dtype.type(weight) * (given - source)

    def rotation(self, name: str, weight: float, source: Array) -> Array | None:
        """The target of a rotation at its weight, likewise."""
        given = self.targets.get(name)
        if given is None or weight == 0:
            return None
        return rotations.slerp(source, rotations.normalize(given), np.full(len(given), weight, self.pose.dtype))


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A node: typed parameters, and a call that moves poses.

    Parameters
    ----------
    influence : (...) array_like, default: 1
        Share of the way from the pose that comes in to the solved pose, 0 to 1: local rotations along arcs,
        translations along lines. At 0 the pose is unchanged to the bit, whatever the targets. In between
        a joint that comes in outside its limit may still be outside.
    """

    influence: ArrayLike = 1.0

    # Targets by name, with the length of their rows.
    takes: ClassVar[Mapping[str, int]] = {}
    # The target that an array in place of a mapping stands for.
    main: ClassVar[str] = "position"

    def __call__(
        self,
        skeleton: Skeleton,
        pose: Pose,
        targets: Targets | ArrayLike | None = None,
        *,
        workers: int | None = 1,
        strict: bool = False,
    ) -> NodeSolution:
        """Move poses to targets.

        Parameters
        ----------
        skeleton : Skeleton
            The skeleton; its limits hold.
        pose : Pose
            The poses, without scales. Leading axes of poses, targets and influence broadcast.
        targets : mapping of str to array_like, or array_like
            The targets by name. An array stands for the first one.
        workers : int or None, optional
            Number of threads of the solvers, None for all cores. The result is the same to the bit.
        strict : bool, optional
            Raise `UnusableError` if an item cannot be used, instead of one `UnusableWarning`.
        """
        return self._move(skeleton, pose, targets, workers, strict=strict)

    def stage(self, targets: Targets | ArrayLike | None = None) -> NodeStage:
        """The node with its targets as a stage of `solvers.stages`."""
        return NodeStage(self, targets)

    # --- what a node says of itself ---

    def _check(self, skeleton: Skeleton) -> None:
        """Refuse skeletons that do not fit."""

    def _goals(self, skeleton: Skeleton, targets: Mapping[str, Array]) -> list[Goal]:
        """The targets as goals, by which `solvers.stages` judges the last pose."""
        return []

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may turn or move."""
        return []

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints that its targets are for."""
        return []

    def _move(
        self, skeleton: Skeleton, pose: Pose, targets: Targets | ArrayLike | None, workers: int | None, *, strict: bool
    ) -> NodeSolution:
        """The poses at their influence, each by itself."""
        items, share, shape = self.items(skeleton, pose, targets)
        moved, said, missed = self.blend(items, share, lambda part, _: self._solve(part, workers))
        return self.result(moved, said, missed, shape, strict=strict)

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        """The poses at full influence."""
        raise NotImplementedError

    def solve_step(self, job: Job, workers: int | None) -> Proposal:
        """The poses at full influence within limits, as one step of several."""
        found = self._solve(job, workers)
        pose, bound = _mix(job.skeleton, job.pose, found.pose, np.ones(len(job.pose), job.pose.dtype))
        return Proposal(pose, found.status | bound * int(Status.AT_LIMIT))

    def _errors(self, job: Job) -> Array | None:
        """How far the poses are from the positions; None without these."""
        return None

    def _angles(self, job: Job) -> Array | None:
        """How far they are from rotations or directions, in radians; None without these."""
        return None

    def _portion(self) -> float:
        """Smallest weight of a target: below 1 the targets are not to be met."""
        return 1.0

    # --- common to all ---

    def read(self, dtype: np.dtype[Any], targets: Targets | ArrayLike | None) -> dict[str, Array]:
        """The targets as arrays of the pose's number type."""
        named = {} if targets is None else targets if isinstance(targets, Mapping) else {self.main: targets}
        for name in named:
            if name not in self.takes:
                raise ValueError(f"targets: expected some of {', '.join(self.takes) or 'none'}, got {name!r}")
        return {
            name: rows(f"targets[{name!r}]", value, dtype, *([size] if (size := self.takes[name]) else []))
            for name, value in named.items()
            if value is not None
        }

    def items(
        self, skeleton: Skeleton, pose: Pose, targets: Targets | ArrayLike | None
    ) -> tuple[Job, Array, tuple[int, ...]]:
        """All items in one axis, their influence, and the leading axes that they had."""
        check_unscaled(skeleton, pose)
        self._check(skeleton)
        given, takes = self.read(pose.dtype, targets), self.takes
        share = rows("influence", self.influence, pose.dtype)
        leading = [array.shape[:-1] if takes[name] else array.shape for name, array in given.items()]
        shape = np.broadcast_shapes(pose.shape, share.shape, *leading)
        return _flat(skeleton, pose, shape, given, takes), np.broadcast_to(share, shape).reshape(-1), shape

    def blend(
        self, items: Job, share: Array, solve: Callable[[Job, Array], Proposal], *, always: bool = False
    ) -> tuple[Pose, NDArray[np.int32], Array]:
        """Poses, flags and errors of all items; `solve` gets those with an influence, or all with `always`."""
        pose = items.pose
        finite = np.isfinite(share) & _finite(pose.rotations) & _finite(pose.translations)
        for array in items.targets.values():
            finite &= _finite(array)
        some = np.clip(share, 0, 1)
        said = np.where((share == 0) | finite, 0, int(Status.NOT_FINITE)).astype(np.int32)
        chosen = np.flatnonzero(((some > 0) | always) & finite)
        turned, slid = np.array(pose.rotations), pose.translations
        if len(chosen):
            part = items.part(chosen)
            found = solve(part, chosen)
            flags = np.broadcast_to(np.asarray(found.status, np.int32), len(chosen))
            usable = flags < _core.UNUSABLE
            mixed, bound = _mix(items.skeleton, part.pose, found.pose, np.where(usable, some[chosen], 0))
            turned[chosen] = mixed.rotations
            if mixed.translations is not None:
                slid = _translations(items)
                slid[chosen] = mixed.translations
            said[chosen] = flags | np.where(bound & usable, int(Status.AT_LIMIT), 0)
        ended = pose.with_rotations(turned, slid)
        return ended, *self._flags_and_errors(items.with_pose(ended), said, some)

    def result(
        self, moved: Pose, said: NDArray[np.int32], missed: Array, shape: tuple[int, ...], *, strict: bool
    ) -> NodeSolution:
        """The result with the leading axes that came in."""
        flags = said.reshape(shape)
        status.report_unusable(type(self).__name__, flags, strict=strict)
        joints = moved.joints
        slid = None if moved.translations is None else moved.translations.reshape(*shape, joints, 3)
        return NodeSolution(Pose(moved.rotations.reshape(*shape, joints, 4), slid), flags, missed.reshape(shape))

    def _flags_and_errors(self, items: Job, said: NDArray[np.int32], share: Array) -> tuple[NDArray[np.int32], Array]:
        """Flags and errors: a reason counts only where a target is missed."""
        with np.errstate(all="ignore"):
            missed, angle = self._errors(items), self._angles(items)
        usable, whole = said < _core.UNUSABLE, (share == 1) & (self._portion() == 1)
        error, reached = np.full(len(said), np.nan, items.pose.dtype), np.ones(len(said), bool)
        if angle is not None:
            error, reached = angle, angle <= ANGLE
        if missed is not None:
            error, reached = missed, reached & (missed <= LENGTH * _size_of(items.skeleton))
        unexplained = (said & ~(NOTES & ~int(Status.SOFTENED)) == 0) & whole
        reasons = np.where(unexplained, int(Status.STALLED), 0) | said
        flags = np.where(reached, said & NOTES, reasons) | np.where(whole, 0, PARTIAL)
        error = np.where(usable, error, np.nan).astype(items.pose.dtype)
        return np.where(usable, flags, said).astype(np.int32), error


class NodeStage(PoseStage):
    """A node with its targets, as a stage of `solvers.stages`; `Node.stage` makes it."""

    def __init__(self, node: Node, targets: Targets | ArrayLike | None = None) -> None:
        self.node, self.targets = node, targets

    def goals_on(self, skeleton: Skeleton) -> Sequence[Goal]:
        """The goals by which the last pose is judged."""
        return self.node._goals(skeleton, self.node.read(np.dtype(np.float64), self.targets))

    def run(self, skeleton: Skeleton, pose: Pose, workers: int | None, *, strict: bool) -> tuple[Pose, Any]:
        """The poses and their flags."""
        found = self.node(skeleton, pose, self.targets, workers=workers, strict=strict)
        return found.pose, found.status

    def __repr__(self) -> str:
        return f"{self.node!r}.stage({self.targets!r})"


# --- items -----------------------------------------------------------------------------------------------------------


def _flat(
    skeleton: Skeleton, pose: Pose, shape: tuple[int, ...], given: dict[str, Array], sizes: Mapping[str, int]
) -> Job:
    """All leading axes merged into one."""

    def flat(array: Array, *row: int) -> Array:
        return np.broadcast_to(array, (*shape, *row)).reshape(-1, *row)

    turned = flat(pose.rotations, len(skeleton), 4)
    slid = None if pose.translations is None else flat(pose.translations, len(skeleton), 3)
    targets = {name: flat(array, *([sizes[name]] if sizes[name] else [])) for name, array in given.items()}
    return Job(skeleton, Pose(turned, slid), targets)


def _size_of(skeleton: Skeleton) -> float:
    """The largest extent of all bones together along an axis."""
    return float(np.abs(skeleton.offsets).sum(axis=0).max())


def _finite(array: Array | None) -> Any:
    """True per item if all of its numbers are finite."""
    return True if array is None else np.isfinite(array).all(axis=tuple(range(1, array.ndim)))


def _translations(items: Job) -> Array:
    """Translations of all items, to write to."""
    came = items.skeleton.offsets if items.pose.translations is None else items.pose.translations
    return np.array(np.broadcast_to(came, (*items.pose.rotations.shape[:-1], 3)), items.pose.dtype)


def _mix(skeleton: Skeleton, came: Pose, solved: Pose, share: Array) -> tuple[Pose, NDArray[np.bool_]]:
    """Poses at a share of the way. Which of them a limit has changed."""
    same = (came.rotations == solved.rotations).all(axis=-1)
    whole = (share == 1)[:, np.newaxis, np.newaxis]
    ended, bound = inside_limits(skeleton, solved.rotations, came.rotations)
    turned = ended
    if not whole.all():
        between = rotations.slerp(came.rotations, ended, np.broadcast_to(share[:, np.newaxis], same.shape))
        between = np.where((same | (share == 0)[:, np.newaxis])[..., np.newaxis], came.rotations, between)
        turned = np.where(whole, ended, inside_limits(skeleton, between, came.rotations, False)[0])
    if solved.translations is None:
        return came.with_rotations(turned), bound
    before = np.broadcast_to(skeleton.offsets.astype(came.dtype), (*same.shape, 3))
    before = before if came.translations is None else came.translations
    moved = before + share[:, np.newaxis, np.newaxis] * (solved.translations - before)
    moved = np.where(whole | (before == solved.translations), solved.translations, moved)
    moved = np.where((share == 0)[:, np.newaxis, np.newaxis], before, moved)
    return came.with_rotations(turned, moved), bound


def run_in_turn(job: Job, steps: Sequence[Callable[[Job], Proposal]]) -> Proposal:
    """Several solves, each from the pose of the one before; their flags together."""
    said: Any = np.zeros(len(job.pose), np.int32)
    now = job
    for step in steps:
        found = step(now)
        now, said = now.with_pose(found.pose), said | found.status
    return Proposal(now.pose, said)
