"""Influence: results between the one without some goals and the one with them.

Two solves suffice for any number of partial goals. The first omits the goals with an influence below 1. The second
includes all. A partial goal then has an intermediate target, at its share of the way from the first pose to its own
target. The second solve starts between the first pose and the input pose. The result is therefore the first pose at 0,
and the plain solve at 1.

In a sequence the second solve starts from the previous frame, as usual. The first treats each frame alone, so that
earlier effects of a goal do not count as the pose without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore._arrays import dot
from ikcore.goals import Goal
from ikcore.limits.workspace import distance
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.batch import CoreOutput, items_of
from ikcore.solving.errors import arm_of, centre_of_mass, clearance, point_of
from ikcore.solving.tasks import Task, is_full
from ikcore.status import Status

Array = NDArray[Any]

# run(pose, tasks, sequence=...): solves tasks without influence.
Run = Callable[..., CoreOutput]

_IDENTITY = (1.0, 0.0, 0.0, 0.0)


def whole_goals(goals: Sequence[Goal]) -> list[Goal]:
    """The goals as a judge counts them: with weight 0 where their influence is below 1."""
    return [goal if is_full(goal.influence) else _whole(goal) for goal in goals]


def _whole(goal: Any) -> Goal:
    counts = ~(np.asarray(goal.influence) < 1)
    names = [item.name for item in fields(goal) if item.name in ("weight", "rotation_weight")]
    weights = {name: np.where(counts, getattr(goal, name), 0) for name in names}
    made: Goal = replace(goal, influence=1.0, **weights)
    return made


def solve_with_influence(
    run: Run,
    skeleton: Skeleton,
    pose: Pose,
    tasks: Sequence[Task],
    found: CoreOutput,
    *,
    sequence: bool = False,
    limb: bool = False,
    twist: float = 0.0,
) -> CoreOutput:
    """Solve into `found`, grouping items by their active goals; in a sequence an item is a track."""
    shape = items_of(pose, tuple(tasks))
    grid = (shape[0] if sequence else 1, math.prod(shape[sequence:]))

    def flat(array: Array, row: tuple[int, ...]) -> Array:
        return np.broadcast_to(array, (*shape, *row)).reshape(*grid, *row)

    for task in tasks:
        if task.kind == "LOOK" and task.relative and task.influence is not None:
            what = f"goals[{task.goal}].influence: expected 1 for a Look at another joint, which may move as well; "
            raise ValueError(what + "say with position where it is")
    pose = _map_pose(pose, lambda array: flat(array, array.shape[-2:]))
    tasks = [_clamp_influence(task.map(flat)) for task in tasks]
    into = found.map(lambda array: array.reshape(*grid, *array.shape[len(shape) :]))
    if into.goal_errors is not None:
        into.goal_errors[...] = np.nan
    solve = _Solve(run, skeleton, sequence, limb, twist)
    for items, shares in _groups(tasks, grid[1]):
        kept, part = [n for n, share in enumerate(shares) if share != _NONE], pose[:, items]
        asked = [_at(tasks[n], np.s_[:, items]) for n in kept]
        whole = [
            task._replace(influence=None) if shares[n] == _ALL else task for n, task in zip(kept, asked, strict=True)
        ]
        _scatter(into, solve.track(part, whole), items, kept, skeleton, part)
    return found


def _map_pose(pose: Pose, change: Callable[[Array], Array]) -> Pose:
    others = (None if array is None else change(array) for array in (pose.translations, pose.scales))
    return Pose(change(pose.rotations), *others)


def _at(task: Task, index: Any) -> Task:
    """A task with some rows of its arrays."""
    return task.map(lambda array, _: array[index])


def _clamp_influence(task: Task) -> Task:
    """Clamp its influence to 0 to 1.

    One that is not finite becomes 1, with a weight that is not finite either.
    """
    if task.influence is None or task.weight is None:
        return task
    finite = np.isfinite(task.influence)
    weight = np.where(finite, task.weight, np.nan).astype(task.influence.dtype)
    return task._replace(influence=np.where(finite, np.clip(task.influence, 0, 1), 1), weight=weight)


# The influence of a goal on an item: 0 in all frames, 1 in all, or other values.
_NONE, _ALL, _SOME = range(3)


def _groups(tasks: Sequence[Task], count: int) -> list[tuple[Array, list[int]]]:
    """Items in groups, with the kind of influence that every task has on them."""
    shares = np.full((count, len(tasks)), _ALL)
    for n, task in enumerate(tasks):
        if task.influence is not None:
            none, whole = (task.influence == 0).all(axis=0), (task.influence == 1).all(axis=0)
            shares[:, n] = np.select([none, whole], [_NONE, _ALL], _SOME)
    kinds, own = np.unique(shares, axis=0, return_inverse=True)
    return [(np.flatnonzero(own.reshape(-1) == n), kind.tolist()) for n, kind in enumerate(kinds)]


def _scatter(into: CoreOutput, own: CoreOutput, items: Array, kept: list[int], skeleton: Skeleton, pose: Pose) -> None:
    for name in ("rotations", "status", "error", "rotation_error", "iterations"):
        getattr(into, name)[:, items] = getattr(own, name)
    if into.translations is not None:
        came = skeleton.offsets if pose.translations is None else pose.translations
        into.translations[:, items] = came if own.translations is None else own.translations
    if into.goal_errors is not None and own.goal_errors is not None:
        into.goal_errors[:, items[:, np.newaxis], kept] = own.goal_errors


class _Solve:
    """One method's solves with influence; arrays are (frames, items, ...)."""

    def __init__(self, run: Run, skeleton: Skeleton, sequence: bool, limb: bool, twist: float) -> None:
        self.run, self.skeleton, self.sequence, self.limb, self.twist = run, skeleton, sequence, limb, twist

    def track(self, pose: Pose, tasks: Sequence[Task]) -> CoreOutput:
        """All frames of items with the same active goals."""
        if not _ask(tasks):
            return _input_result(pose)
        shares = [task.influence for task in tasks if task.influence is not None]
        between = np.zeros(pose.shape, bool)
        for share in shares:
            between |= (share > 0) & (share < 1)
        wanted, start, spent = list(tasks), pose, None
        if between.any():
            wanted, start, spent = self._intermediate_tasks(pose, tasks, between)
        found = self.run(start, tuple(_without_influence(task) for task in wanted), sequence=self.sequence)
        if spent is not None:
            usable = found.status < _core.UNUSABLE
            found.status[between & usable] |= int(Status.PARTIAL_INFLUENCE)
            found.iterations[between] += spent
        return found

    def _intermediate_tasks(
        self, pose: Pose, tasks: Sequence[Task], between: Array
    ) -> tuple[list[Task], Pose, NDArray[np.int32]]:
        """Tasks with intermediate targets, the pose to start from, and the iterations spent on finding them."""
        came = pose[between]
        if self.twist:
            tasks = [_with_up(task) for task in tasks]
        asked = [_at(task, between) for task in tasks]
        first, spent, moved = self._without(came, asked)
        world = self.skeleton.forward(first)
        wanted = []
        for task, rows in zip(tasks, asked, strict=True):
            if rows.influence is None:
                wanted.append(task)
                continue
            fades = (rows.influence > 0) & (rows.influence < 1)
            with np.errstate(all="ignore"):  # a goal with weight 0 may have any values
                found = _share(self, first, world, rows)
            wanted.append(_insert_targets(task, between, fades, found))
        if self.sequence or not moved:
            return wanted, pose, spent
        shares = [np.where(rows.influence < 1, rows.influence, 0) for rows in asked if rows.influence is not None]
        return wanted, _mix(self.skeleton, pose, between, first, came, np.maximum.reduce(shares)), spent

    def _without(self, pose: Pose, tasks: Sequence[Task]) -> tuple[Pose, NDArray[np.int32], bool]:
        """The poses without partial goals, the iterations that they took, and whether any goal was solved."""
        fades = [task for task in tasks if task.influence is not None]
        spent, moved = np.zeros(pose.shape, np.int32), False
        turned, slid = np.array(pose.rotations), pose.translations
        kinds, own = np.unique(np.stack([task.influence == 1 for task in fades], axis=1), axis=0, return_inverse=True)
        for n, kind in enumerate(kinds):
            full = {task.goal: whole for task, whole in zip(fades, kind.tolist(), strict=True)}
            items = np.flatnonzero(own.reshape(-1) == n)
            kept = [task for task in tasks if full.get(task.goal, True)]
            if not _ask(kept):
                continue
            part = [_at(task, items)._replace(influence=None) for task in kept]
            found = self.run(pose[items], tuple(part), sequence=False)
            moved, turned[items], spent[items] = True, found.rotations, found.iterations
            if found.translations is not None:
                came = self.skeleton.offsets if slid is None else slid
                slid = np.array(np.broadcast_to(came, (*pose.shape, *came.shape[-2:])), pose.dtype)
                slid[items] = found.translations
        return pose.with_rotations(turned, slid), spent, moved


def _with_up(task: Task) -> Task:
    """A Look with an up axis that is not parallel to its axis, for its pole."""
    if task.kind != "LOOK" or task.pole is not None:
        return task
    least = min(range(3), key=lambda n: abs(task.axis[n]))
    x, y, z = np.cross(task.axis, np.eye(3)[least]).tolist()
    return task._replace(up=(x, y, z))


def _ask(tasks: Sequence[Task]) -> bool:
    """True if there is anything to solve: postures alone need no solve."""
    return any(task.kind != "POSTURE" for task in tasks)


def _input_result(pose: Pose) -> CoreOutput:
    """The input poses as a result, if no goal is to be solved."""
    zeros = np.zeros(pose.shape, pose.dtype)
    return CoreOutput(pose.rotations, np.zeros(pose.shape, np.int32), zeros, zeros, np.zeros(pose.shape, np.int32))


def _without_influence(task: Task) -> Task:
    """A task without influence: with weight 0 in frames where it was 0."""
    if task.influence is None or task.weight is None:
        return task
    weight = np.where(task.influence > 0, task.weight, task.weight.dtype.type(0))
    return task._replace(influence=None, weight=np.asarray(weight))


def _insert_targets(task: Task, between: Array, fades: Array, found: dict[str, Array]) -> Task:
    """A task with intermediate targets inserted where it is partial."""
    made: dict[str, Any] = {}
    for name, values in found.items():
        given = getattr(task, name)
        array = np.zeros((*between.shape, *values.shape[1:]), values.dtype) if given is None else np.array(given)
        own = fades.reshape(-1, *(1,) * (values.ndim - 1))
        array[between] = np.where(own, values, array[between])
        made[name] = array
    return task._replace(**made)


def _mix(skeleton: Skeleton, pose: Pose, between: Array, first: Pose, came: Pose, share: Array) -> Pose:
    """Poses between those of the first solve and the input poses."""
    turned = np.array(pose.rotations)
    turned[between] = rotations.slerp(first.rotations, came.rotations, share[:, np.newaxis])
    if first.translations is None:
        return pose.with_rotations(turned)
    given = skeleton.offsets if pose.translations is None else pose.translations
    slid = np.array(np.broadcast_to(given, (*pose.shape, *given.shape[-2:])), pose.dtype)
    slid[between] = _line(first.translations, slid[between], share[:, np.newaxis])
    return pose.with_rotations(turned, slid)


# --- the target of a task at a share of the way, given the first pose -------------------------------------------------


def _line(a: Array, b: Array, share: Array) -> Array:
    made: Array = a + share[..., np.newaxis] * (b - a)
    return made


def _share(solve: _Solve, pose: Pose, world: World, task: Task) -> dict[str, Array]:
    """The rows of a task that change."""
    found = _SHARES[task.kind](solve, pose, world, task, task.influence)
    return {name: np.asarray(array, pose.dtype) for name, array in found.items()}


def _point(solve: _Solve, pose: Pose, world: World, task: Any) -> Array:
    """Position of a task's point, or of the centre of mass."""
    if task.joint < 0:
        return centre_of_mass(solve.skeleton, pose, world)
    return point_of(solve.skeleton, pose, world, task)


def _other(solve: _Solve, pose: Pose, world: World, task: Any) -> Array:
    """Position of the other end of a task."""
    if not task.relative:
        return np.asarray(task.position)
    return point_of(solve.skeleton, pose, world, task._replace(joint=task.other, offset=task.other_offset))


def _place(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    now = _point(solve, pose, world, task)
    if task.relative:
        seen = rotations.conjugate(world.rotations[..., task.other, :])
        now = rotations.rotate(seen, now - _other(solve, pose, world, task))
    found = {"position": _line(now, task.position, share)}
    if task.joint >= 0 and not task.relative and (task.pole is not None or solve.twist):
        found["pole"] = _pole_of_chain(solve, pose, world, task, now, found["position"])
    return found


def _turn(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    now = world.rotations[..., task.joint, :]
    if task.relative:
        now = rotations.multiply(rotations.conjugate(world.rotations[..., task.other, :]), now)
    return {"rotation": rotations.slerp(now, rotations.normalize(task.rotation), share)}


def _look(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    at = point_of(solve.skeleton, pose, world, task)
    axis = arm_of(solve.skeleton, pose, world, task.joint, task.axis)
    way = task.position - at
    back = rotations.slerp(_IDENTITY, rotations.shortest_arc(way, axis), 1 - share)
    found = {"position": at + rotations.rotate(back, way)}
    if task.pole is not None or solve.twist:
        side = arm_of(solve.skeleton, pose, world, task.joint, task.up)
        found["pole"] = _pole(solve, at, axis, side, found["position"] - at, task.pole, share)
    return found


def _distance(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    now = distance(_point(solve, pose, world, task), _other(solve, pose, world, task))
    return {"distance": now + share * (task.distance - now)}


def _inside(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    size = np.sqrt(dot(task.normal, task.normal))
    now = dot(task.normal, _point(solve, pose, world, task) - task.position) / size
    return {"distance": _ease_bound(now, task.distance, share)}


def _outside(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    return {"distance": _ease_bound(clearance(solve.skeleton, pose, world, task), task.distance, share)}


def _ease_bound(now: Array, least: Array, share: Array) -> Array:
    """The bound of a one-sided goal at a share: it leaves the rest of the violation uncorrected."""
    return np.asarray(least - (1 - share) * np.maximum(least - now, 0))


def _posture(solve: _Solve, pose: Pose, world: World, task: Any, share: Array) -> dict[str, Array]:
    wanted = task.rotation
    if wanted is None:
        wanted = solve.skeleton.preferred.rotations[task.joint].astype(pose.dtype)
    return {"rotation": rotations.slerp(pose.rotations[..., task.joint, :], rotations.normalize(wanted), share)}


_SHARES: dict[str, Callable[..., dict[str, Array]]] = {
    "PLACE": _place,
    "TURN": _turn,
    "LOOK": _look,
    "DISTANCE": _distance,
    "CENTRE_OF_MASS": _place,
    "INSIDE": _inside,
    "OUTSIDE": _outside,
    "POSTURE": _posture,
}


def _pole_of_chain(solve: _Solve, pose: Pose, world: World, task: Any, now: Array, position: Array) -> Array:
    """The pole of a chain.

    In the first pose, it bends towards the mean offset of its joints from the line to its end.
    """
    path = task.path(solve.skeleton)
    kinds = [limit.kind if (limit := solve.skeleton.limits[joint]) else "free" for joint in path]
    path = path[next((n for n, kind in enumerate(kinds) if kind != "locked"), 0) :]
    base = world.positions[..., path[0], :]
    inner = path[1:] if any(task.offset) and not solve.limb else path[1:-1]
    side = (world.positions[..., inner, :] - base[..., np.newaxis, :]).sum(axis=-2)
    return _pole(solve, base, now - base, side, position - base, task.pole, task.influence)


def _pole(
    solve: _Solve, base: Array, line: Array, side: Array, wanted: Array, pole: Array | None, share: Array
) -> Array:
    """Position of a pole at a share of the way.

    Without the goal, something bends to `side` of a line from its base; the goal takes that line to `wanted`. The pole
    is rotated back towards that side by the rest of the way, and a twist is reduced likewise.
    """
    along = rotations.rotate(rotations.shortest_arc(line, wanted), _perpendicular(side, line))
    left = 1 - share
    if pole is None:
        way = along
    else:
        way = pole - base
        back = rotations.shortest_arc(_perpendicular(way, wanted), along, wanted)
        way = rotations.rotate(rotations.slerp(_IDENTITY, back, left), way)
    if solve.twist:
        way = rotations.rotate(rotations.from_axis_angle(wanted, -solve.twist * left), way)
    return np.asarray(base + way)


# The sine of an angle below which a direction is undefined.
_SINE = 1e-6


def _perpendicular(a: Array, line: Array) -> Array:
    """The component of a vector perpendicular to a line; 0 if it is parallel to it."""
    square = dot(line, line)
    off = a - (dot(a, line) / np.where(square > 0, square, 1))[..., np.newaxis] * line
    bends = dot(off, off) > _SINE * _SINE * dot(a, a)
    return np.where(bends[..., np.newaxis], off, 0)
