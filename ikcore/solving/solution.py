"""What a solver of skeletons answers: poses, how good they are, and why, in words where wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations, status
from ikcore._arrays import dot, shown, whole_number
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.record import record
from ikcore.skeleton import Skeleton, World, ancestors
from ikcore.span import distance, span_of
from ikcore.status import Status
from ikcore.tasks import Task, all_tasks

if TYPE_CHECKING:
    from ikcore.solving.batch import Found
    from ikcore.solving.single import Item


@record
class Solution:
    """What a solver found, item by item.

    The arrays of a batch are parts of one block of memory, which is free when the last of them is gone: who keeps one
    array of many results copies it.

    Attributes
    ----------
    pose : Pose
        The poses afterwards. Joints that no goal turns keep their local rotation to the bit, and but for those that
        slide all keep their translation.
    error : (...) array
        The largest distance by which a goal is missed; where the method is ``aim``, from its ray.
    rotation_error : (...) array
        The largest angle to a goal's rotation or target, radians; of ``aim``, between ray and position.
    iterations : (...) int32 array
        How many it took.
    status : (...) int32 array
        `Status` flags; 0 means that all goals are reached.
    history : (..., iterations + 1) array or None
        With ``history=True``: the largest distance that the method sees, in units of length, before the first iteration
        and after each; NaN beyond the last.
    goal_errors : (..., goals, 2) array or None
        With ``goal_errors=True``: the distance and the angle by which every goal is missed, NaN for what it does not
        ask for. Of a `Posture` the angle that is left.
    """

    pose: Pose
    error: NDArray[Any]
    rotation_error: NDArray[Any]
    iterations: NDArray[np.int32]
    status: NDArray[np.int32]
    history: NDArray[Any] | None
    goal_errors: NDArray[Any] | None
    _skeleton: Skeleton = field(repr=False)
    _asked: tuple[tuple[str, tuple[Goal, ...]], ...] = field(repr=False)  # of which method what

    @classmethod
    def of(
        cls, method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], found: Found, *, strict: bool
    ) -> Solution:
        """What a method found, after a word about items that cannot be used."""
        status.report_unusable(method, found.status, strict=strict)
        errors = found.goal_errors
        return cls(
            pose.turned(found.rotations, found.translations),
            found.error[()],
            found.rotation_error[()],
            found.iterations[()],
            found.status[()],
            found.history,
            None if errors is None else by_goal(all_tasks(skeleton, goals, pose.dtype), errors),
            skeleton,
            ((method, tuple(goals)),),
        )

    @classmethod
    def of_item(cls, method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], item: Item) -> Solution:
        """The same of one item of which there is nothing to say."""
        turned, moved, error, rotation_error, iterations, said = item
        after = Pose.of_item(turned, pose.translations if moved is None else moved, pose.scales)
        return cls(after, error, rotation_error, iterations, said, None, None, skeleton, ((method, tuple(goals)),))

    @property
    def _tasks(self) -> tuple[Task, ...]:
        """What the goals ask for: made again where a word about them is wanted, which is seldom."""
        made: list[Task] = []
        for method, goals in self._asked:
            before = made[-1].goal + 1 if made else 0
            tasks = all_tasks(self._skeleton, goals, self.pose.dtype)
            if method == "aim":
                tasks = tuple(task._replace(kind="AIM", offset=task.axis) for task in tasks)
            made += [task._replace(goal=before + task.goal) for task in tasks]
        return tuple(made)

    def summary(self) -> str:
        """The batch in words: how many reached, how many did not and why, and how many iterations it took."""
        said = status.summarize("pose", self.status, self.error)
        if np.size(self.iterations):
            said += f"\niterations: median {np.median(self.iterations):g}, most {np.max(self.iterations)}"
        tasks = self._tasks
        if any(task.kind in _ANGLES and task.kind != "POSTURE" for task in tasks):
            finite = np.isfinite(self.rotation_error)
            worst = np.max(self.rotation_error, where=finite, initial=0)
            said += f"\nlargest angle by which a goal is missed: {np.degrees(worst):.3g} degrees"
        return said

    def explain(self, item: int | tuple[int, ...] = ()) -> str:
        """One item in sentences: what was reached, what is in the way, and what to try.

        Parameters
        ----------
        item : int or tuple of int
            Its place in the leading axes. Default: the one pose there is; of several the worst, which is one that
            cannot be used, or else is off by most.

        Returns
        -------
        str
            A sentence or two a line. Angles are in degrees.
        """
        shape = np.shape(self.status)
        any_item = isinstance(item, tuple) and not item
        at = self._worst() if any_item else _place(item, shape)
        flags = Status(int(np.asarray(self.status)[at]))
        pose, tasks = self.pose[at], [_task_at(task, shape, at) for task in self._tasks]
        world = self._skeleton.forward(pose)
        name = _name(at, shape, is_worst=any_item)
        lines = [_verdict(name, flags, int(np.asarray(self.iterations)[at]))]
        if flags.usable:
            lines += [line for task in tasks for line in _goal_lines(self._skeleton, pose, world, task, flags)]
        if flags.usable and flags:
            turning = sorted({joint for task in tasks for joint in task.turning(self._skeleton)})
            lines += [line for joint in turning for line in _limit_lines(self._skeleton, pose, joint)]
        lines += [f"Try: {advice}." for flag, advice in _ADVICE.items() if flag in flags]
        return "\n".join(lines)

    def _worst(self) -> tuple[int, ...]:
        """The first item that cannot be used; else what has not reached; else any: the one that is off by most."""
        found = np.asarray(self.status)
        if not found.size:
            raise IndexError(f"item: there is none to explain, the leading axes are {found.shape}")
        skeleton, tasks = self._skeleton, self._tasks
        rest = skeleton.rest
        world, placed = skeleton.forward(rest), [task for task in tasks if task.joint >= 0]
        reach = max((span_of(chain_points(skeleton, rest, world, task)).outer for task in placed), default=0) or 1.0
        off = np.nan_to_num(np.asarray(self.error / reach + self.rotation_error, np.float64))
        unusable = found >= _core.UNUSABLE
        first = np.lexsort((-off.ravel(), (found == 0).ravel(), ~unusable.ravel()))[0]
        return tuple(map(int, np.unravel_index(first, found.shape)))


# What is missed by an angle.
_ANGLES = ("TURN", "LOOK", "POSTURE", "AIM")


def by_goal(tasks: tuple[Task, ...], errors: NDArray[Any]) -> NDArray[Any]:
    """The errors of tasks, (..., tasks), as (..., goals, 2)."""
    by_goal = np.full((*errors.shape[:-1], tasks[-1].goal + 1, 2), np.nan, errors.dtype)
    for index, task in enumerate(tasks):
        by_goal[..., task.goal, int(task.kind in _ANGLES)] = errors[..., index]
    return by_goal


def _place(item: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Indices of one item."""
    try:
        at = tuple(map(whole_number, item if isinstance(item, tuple) else (item,)))
    except TypeError:
        raise TypeError(f"item: expected whole numbers, got {shown(item)}") from None
    if len(at) != len(shape):
        raise IndexError(f"item: expected {len(shape)} indices for leading axes {shape}, got {shown(item)}")
    if not all(-length <= index < length for index, length in zip(at, shape, strict=True)):
        raise IndexError(f"item: expected a place within the leading axes {shape}, got {shown(item)}")
    return at


_ADVICE = {
    Status.TOO_FAR: "bring the target nearer, start the chain at a joint higher up, or move the root",
    Status.TOO_NEAR: "move the target away from the start of the chain, or start the chain higher up",
    Status.POLE_UNDEFINED: "move the pole off the line from the start of the chain to the target",
    Status.AT_LIMIT: "dls where fabrik gave up, wider limits, or a chain that starts higher up",
    Status.STALLED: "start from a pose bent a little towards the target, another method, or weights for the goals",
    Status.ITERATION_LIMIT: "more iterations, or a larger tolerance",
    Status.CONFLICT: "weights that say which goal counts more, or levels, or a goal less",
    Status.LEVEL: "nothing, where the goals of levels before are to come first; else put the goals on one level",
    Status.OFF_BALANCE: "more joints that may turn or slide, or a wider polygon",
    Status.TOO_FAST: "later frames, which come nearer, or larger speeds and accelerations in the limits",
    Status.NOT_FINITE: "look for NaN in this item's pose and goals; a goal of weight 0 may have them",
    Status.NO_LENGTH: "look at offsets and scales: the joints of the chain are all at one place",
}


def _name(at: tuple[int, ...], shape: tuple[int, ...], *, is_worst: bool) -> str:
    if not shape:
        return "The pose"
    name = f"Item {at[0] if len(at) == 1 else at}"
    count = math.prod(shape)
    return f"{name}, the worst of {count}," if is_worst and count > 1 else name


def _verdict(name: str, flags: Status, iterations: int) -> str:
    after = f" after {iterations} iteration{'s' * (iterations != 1)}"
    if flags == 0:
        return f"{name} reaches its goals{after}."
    return f"{name}{after}: {flags.sentence}."


def _task_at(task: Task, shape: tuple[int, ...], at: tuple[int, ...]) -> Task:
    """The task of one item."""
    return task.map(lambda array, row: np.broadcast_to(array, (*shape, *row))[at])


def _goal_lines(skeleton: Skeleton, pose: Pose, world: World, task: Task, status: Status) -> list[str]:
    """How far one goal is from being reached, and whether it can be."""
    if task.weight is not None and not task.weight > 0:
        return []
    name = skeleton.names[task.joint] if task.joint >= 0 else "the centre of mass"
    if task.kind == "PLACE" and not task.relative:
        return _place_lines(skeleton, pose, world, task, status)
    if task.kind == "AIM":
        away, angle = off_ray(skeleton, pose, world, task)
        return [f"The ray from {name} misses its position by {away:.3g}, an angle of {np.degrees(angle):.3g} degrees."]
    if task.kind == "POSTURE":
        return []
    miss = miss_of(skeleton, pose, world, task)
    seen = f", as seen from {skeleton.names[task.other]}" if task.relative and task.kind in ("PLACE", "TURN") else ""
    said = {
        "PLACE": f"{name} is {miss:.3g} from its position{seen}.",
        "TURN": f"{name} is turned {np.degrees(miss):.3g} degrees from its rotation{seen}.",
        "LOOK": f"{name} looks {np.degrees(miss):.3g} degrees past its target.",
        "DISTANCE": f"{name} is {miss:.3g} off the distance it should have.",
        "CENTRE_OF_MASS": f"The centre of mass is {miss:.3g} from its position.",
        "INSIDE": f"{name[0].upper()}{name[1:]} is {miss:.3g} beyond its plane.",
    }
    return [said[task.kind]]


def _place_lines(skeleton: Skeleton, pose: Pose, world: World, task: Task, status: Status) -> list[str]:
    assert task.position is not None
    chain = chain_points(skeleton, pose, world, task)
    lines = [f"{skeleton.names[task.joint]} is {distance(chain[-1], task.position):.3g} from its position."]
    span = span_of(chain)
    if status & (Status.TOO_FAR | Status.TOO_NEAR) and (beyond := float(span.beyond(task.position))):
        reach, side = (span.outer, "far") if beyond > 0 else (span.inner, "near")
        start = skeleton.names[task.chain]
        lines.append(f"Its chain from {start} reaches {reach:.3g}: the position is {abs(beyond):.3g} too {side}.")
    return lines


def miss_of(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> float:
    """How far one item is from what a task wants: a distance, or an angle."""
    at = centre_of_mass(skeleton, pose, world) if task.joint < 0 else point_of(skeleton, pose, world, task)
    end = np.zeros(3) if task.position is None else task.position
    if task.relative:
        other = task._replace(joint=task.other, offset=task.other_offset)
        end = point_of(skeleton, pose, world, other)
    turned = world.rotations[task.joint]
    if task.kind == "TURN":
        assert task.rotation is not None
        wanted = rotations.multiply(world.rotations[task.other], task.rotation) if task.relative else task.rotation
        return float(angle_between(turned, wanted))
    if task.kind == "LOOK":
        arc = rotations.shortest_arc(rotations.rotate(turned, task.axis), end - at)
        return float(rotations.to_axis_angle(arc)[1])
    if task.kind == "DISTANCE":
        return abs(float(distance(at, end)) - float(np.asarray(task.distance)))
    if task.kind == "INSIDE":
        assert task.normal is not None
        normal, margin = task.normal / np.sqrt(dot(task.normal, task.normal)), task.distance
        return max(0.0, float(0 if margin is None else margin) - float(dot(normal, at - end)))
    if task.kind == "PLACE":  # relative
        assert task.position is not None
        end = end + rotations.rotate(world.rotations[task.other], task.position)
    return float(distance(at, end))


def centre_of_mass(skeleton: Skeleton, pose: Pose, world: World) -> NDArray[Any]:
    """Where the centre of mass of one pose is."""
    total, sum_ = float(skeleton.masses.sum()), np.zeros(3)
    for joint, (mass, centre) in enumerate(zip(skeleton.masses, skeleton.centres, strict=True)):
        if mass > 0:
            at = world.positions[joint] + arm_of(skeleton, pose, world, joint, tuple(centre.tolist()))
            sum_ += mass / total * at
    return sum_


# A joint stands at its limit where so small a turn (0.1 degrees) leaves it.
_NEAR_A_LIMIT = 0.00175


def _limit_lines(skeleton: Skeleton, pose: Pose, joint: int) -> list[str]:
    """Whether a joint stands at its limit: turning it one way about some axis is forbidden, but not the other."""
    limit = skeleton.limits[joint]
    if limit is None:
        return []
    from_rest = relative(skeleton, joint, pose.rotations[joint])
    axes = rotations.rotate(limit.frame, np.eye(3))[:, np.newaxis] * np.array([[-1], [1]]) * _NEAR_A_LIMIT
    outside = limit.violation(rotations.multiply(from_rest, rotations.exp(axes))) > _NEAR_A_LIMIT / 2
    if not np.logical_xor(*outside.T).any():
        return []
    turned = round(float(np.degrees(rotations.to_axis_angle(from_rest)[1])), 6)
    return [f"{skeleton.names[joint]} stands at its limit, {turned:.3g} degrees from rest."]


def relative(skeleton: Skeleton, joint: int, local: NDArray[Any]) -> NDArray[Any]:
    """Local rotations of a joint (..., 4) relative to its rest."""
    return rotations.multiply(rotations.conjugate(skeleton.rest.rotations[joint].astype(local.dtype)), local)


def chain_points(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> NDArray[Any]:
    """Where the joints from the start of a task's chain are, (..., n, 3), and its point at last."""
    joints = world.positions.take(task.path(skeleton), axis=-2)
    if not any(task.offset):
        return joints
    return np.concatenate([joints, point_of(skeleton, pose, world, task)[..., np.newaxis, :]], axis=-2)


def point_of(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> NDArray[Any]:
    """Where the point of a task is: as a child of the joint would be, scales and all."""
    if not any(task.offset):
        return world.positions[..., task.joint, :]
    return np.asarray(world.positions[..., task.joint, :] + arm_of(skeleton, pose, world, task.joint, task.offset))


def arm_of(skeleton: Skeleton, pose: Pose, world: World, joint: int, point: tuple[float, float, float]) -> NDArray[Any]:
    """The way in the world from a joint to a point fixed to it, which is scaled as a child of the joint would be."""
    if pose.scales is None:
        return rotations.rotate(world.rotations[..., joint, :], np.asarray(point, pose.dtype))
    above = ancestors(skeleton, joint)[::-1]
    offsets = np.zeros((len(above) + 1, 3))  # all joints at one place: so the way is not lost in where they are
    offsets[-1] = point
    line = type(skeleton)(np.arange(len(offsets)) - 1, offsets)

    def extended(array: NDArray[Any], *last: float) -> NDArray[Any]:
        row = np.broadcast_to(np.asarray(last, array.dtype), (*array.shape[:-2], 1, len(last)))
        return np.concatenate([array[..., above, :], row], axis=-2)

    turned = Pose(extended(pose.rotations, 1, 0, 0, 0), None, extended(pose.scales, 1, 1, 1))
    return line.forward(turned).positions[..., -1, :]


def off_ray(skeleton: Skeleton, pose: Pose, world: World, task: Task) -> tuple[NDArray[Any], NDArray[Any]]:
    """How far a task's position is from the ray through its point, and the angle between them at the joint."""
    assert task.position is not None
    at = world.positions[..., task.joint, :]
    along = arm_of(skeleton, pose, world, task.joint, task.offset)
    with np.errstate(all="ignore"):  # a goal without weight may be anything
        turn = rotations.shortest_arc(along, task.position - at)
        turn = np.where(np.any(along, axis=-1, keepdims=True), turn, np.nan)
        cosine, sine = turn[..., 0], distance(turn[..., 1:], np.zeros(3, turn.dtype))  # of half the angle
        away = np.asarray(distance(task.position, at) * np.where(cosine > sine, 2 * sine * cosine, 1))
    return away, rotations.to_axis_angle(turn)[1]


def angle_between(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The angle from one rotation to another, radians."""
    difference = rotations.multiply(rotations.conjugate(a), rotations.normalize(b))
    return rotations.to_axis_angle(difference)[1]
