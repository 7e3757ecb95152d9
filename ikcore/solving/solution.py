"""The result of a solver on skeletons: poses, status and errors of every item, and sentences that explain them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations, status
from ikcore._arrays import as_text, whole_number
from ikcore._record import record
from ikcore.goals import Goal
from ikcore.limits.workspace import distance, span_of
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.errors import chain_points, from_rest, miss_of, off_ray
from ikcore.solving.tasks import Task, all_tasks, sliding_joints
from ikcore.status import Status

if TYPE_CHECKING:
    from ikcore.solving.batch import CoreOutput
    from ikcore.solving.single_pose import Item


# The method of a solve, and a byte per joint: whether it may turn or slide in this solve.
SolveRequest = tuple[str, tuple[Goal, ...], bytes | None]


@record
class Solution:
    """The result of a solve, for every item.

    The arrays of a batch are parts of one block of memory. It is freed only when none of them is in use, so copy an
    array to keep it alone.

    Attributes
    ----------
    pose : Pose
        The new poses. Joints that no goal turns keep their local rotation to the bit. All joints keep their
        translation, except joints that slide or whose bone stretches.
    error : (...) array
        The largest distance by which a goal is missed; goals of weight 0 do not count. For ``aim`` it is the distance
        from the ray.
    rotation_error : (...) array
        The largest angle to a goal's rotation or target, in radians. For ``aim`` it is the angle between ray and
        position.
    iterations : (...) int32 array
        The number of iterations.
    status : (...) int32 array
        `Status` flags; 0 means that all goals are reached. INPUT_OUTSIDE alone means that they are reached from a start
        pose outside limits.
    history : (..., iterations + 1) array or None
        Given ``history=True``: the largest distance that the method sees, in units of length, before the first
        iteration and after each; NaN beyond the last. The distance of a chain is multiplied by the longest reach over
        its own reach, because its tolerance is smaller by this factor. A chain without length counts as 0.
    goal_errors : (..., goals, 2) array or None
        Given ``goal_errors=True``: the distance and the angle by which every goal is missed. NaN if the goal does not
        ask for it. For a `Posture`, the residual angle.
    """

    pose: Pose
    error: NDArray[Any]
    rotation_error: NDArray[Any]
    iterations: NDArray[np.int32]
    status: NDArray[np.int32]
    history: NDArray[Any] | None
    goal_errors: NDArray[Any] | None
    _skeleton: Skeleton = field(repr=False)
    _asked: tuple[SolveRequest, ...] = field(repr=False)
    _came: Pose = field(repr=False)  # the start pose, for sentences

    @classmethod
    def _of(
        cls,
        method: str,
        skeleton: Skeleton,
        pose: Pose,
        goals: Sequence[Goal],
        found: CoreOutput,
        may: bytes | None,
        *,
        strict: bool,
    ) -> Solution:
        """Build the solution, after a warning or an error about items that cannot be used."""
        status.report_unusable(method, found.status, strict=strict)
        errors = found.goal_errors
        return cls(
            pose.with_rotations(found.rotations, found.translations),
            found.error[()],
            found.rotation_error[()],
            found.iterations[()],
            found.status[()],
            found.history,
            None if errors is None else by_goal(all_tasks(skeleton, goals, pose.dtype), errors),
            skeleton,
            ((method, tuple(goals), may),),
            pose,
        )

    @classmethod
    def _of_item(
        cls, method: str, skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], item: Item, may: bytes | None
    ) -> Solution:
        """Build the solution of one usable item."""
        turned, moved, error, angle, iterations, said, history, errors = item
        after = Pose._of_item(turned, pose.translations if moved is None else moved, pose.scales)
        asked = ((method, tuple(goals), may),)
        return cls(after, error, angle, iterations, said, history, errors, skeleton, asked, pose)

    @property
    def _tasks(self) -> tuple[Task, ...]:
        """The tasks of the goals, made again when a sentence needs them."""
        made: list[Task] = []
        for method, goals, may in self._asked:
            before = made[-1].goal + 1 if made else 0
            tasks = all_tasks(self._skeleton, goals, self.pose.dtype, may)
            if method == "aim":
                tasks = tuple(task._replace(kind="AIM", offset=task.axis) for task in tasks)
            made += [task._replace(goal=before + task.goal) for task in tasks]
        return tuple(made)

    @property
    def method(self) -> str:
        """The name of the method that solved; after `stages` the names of all, with commas."""
        return ", ".join(method for method, *_ in self._asked)

    @property
    def reached(self) -> Any:
        """Items that reach all their goals, an array of bool. Their start pose may have been outside limits."""
        return (self.status & ~status.INPUT_OUTSIDE) == 0

    def summary(self) -> str:
        """A summary of the batch: how many items reached their goals, the reasons for the others, and iterations."""
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
        """Explain one item in sentences: what is reached, what prevents the rest, and what to try.

        Parameters
        ----------
        item : int or tuple of int
            Its index in the leading axes. Default: the only pose, or the worst one of several: items that cannot be
            used are the worst, then those with the largest error.

        Returns
        -------
        str
            One or two sentences per line. Angles are in degrees.
        """
        shape = np.shape(self.status)
        any_item = isinstance(item, tuple) and not item
        if any_item and not np.size(self.status):
            return self.summary()
        at = self._worst() if any_item else _place(item, shape)
        flags = Status(int(np.asarray(self.status)[at]))
        pose, tasks = self.pose[at], [_task_at(task, shape, at) for task in self._tasks]
        world = self._skeleton.forward(pose)
        name = _name(at, shape, is_worst=any_item)
        lines = [_verdict(name, flags, int(np.asarray(self.iterations)[at]))]
        if flags.usable:
            lines += [line for task in tasks for line in _goal_lines(self._skeleton, pose, world, task, flags)]
        if Status.INPUT_OUTSIDE in flags:
            lines += _input_lines(self._skeleton, self._came, shape, at, tasks)
        if flags.usable and flags & ~Status.INPUT_OUTSIDE:
            turning = sorted({joint for task in tasks for joint in task.turning_joints(self._skeleton)})
            lines += [line for joint in turning for line in _limit_lines(self._skeleton, pose, joint)]
        slides = any(sliding_joints(self._skeleton, [task]) for task in tasks)
        lines += [f"Try: {advice}." for advice in _advice(flags, slides=slides)]
        return "\n".join(lines)

    def _worst(self) -> tuple[int, ...]:
        """The item with the largest error among those that cannot be used, else that miss a goal, else among all."""
        found = np.asarray(self.status)
        skeleton, tasks = self._skeleton, self._tasks
        rest = skeleton.rest
        world, placed = skeleton.forward(rest), [task for task in tasks if task.joint >= 0]
        reach = max((span_of(chain_points(skeleton, rest, world, task)).outer for task in placed), default=0) or 1.0
        off = np.nan_to_num(np.asarray(self.error / reach + self.rotation_error, np.float64))
        unusable = found >= _core.UNUSABLE
        first = np.lexsort((-off.ravel(), (found == 0).ravel(), ~unusable.ravel()))[0]
        return tuple(map(int, np.unravel_index(first, found.shape)))


# Kinds of tasks that are missed by an angle.
_ANGLES = ("TURN", "LOOK", "POSTURE", "AIM")


def by_goal(tasks: tuple[Task, ...], errors: NDArray[Any]) -> NDArray[Any]:
    """The errors of tasks, (..., tasks), as (..., goals, 2)."""
    goals = tasks[-1].goal + 1
    by_goal = np.full((*errors.shape[:-1], 2 * goals), np.nan, errors.dtype)
    by_goal[..., places_of(tasks)] = errors
    return by_goal.reshape(*errors.shape[:-1], goals, 2)


def places_of(tasks: tuple[Task, ...]) -> tuple[int, ...]:
    """The index of each task's error in the flattened errors of the goals (a distance and an angle per goal)."""
    return tuple([2 * task.goal + (task.kind in _ANGLES) for task in tasks])


def _place(item: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of one item."""
    try:
        at = tuple(map(whole_number, item if isinstance(item, tuple) else (item,)))
    except TypeError:
        raise TypeError(f"item: expected whole numbers, got {as_text(item)}") from None
    if len(at) != len(shape):
        raise IndexError(f"item: expected {len(shape)} indices for leading axes {shape}, got {as_text(item)}")
    if not all(-length <= index < length for index, length in zip(at, shape, strict=True)):
        raise IndexError(f"item: expected a place within the leading axes {shape}, got {as_text(item)}")
    return at


_ADVICE = {
    Status.TOO_FAR: "bring the target nearer, start the chain at a joint higher up, or move the root",
    Status.TOO_NEAR: "move the target away from the start of the chain, or start the chain higher up",
    Status.POLE_UNDEFINED: "move the pole off the line from the start of the chain to the target",
    Status.AT_LIMIT: "another method (fabrik where two_bone gave up, dls where fabrik did), wider limits, or a chain "
    "that starts higher up",
    Status.STALLED: "start from a pose bent a little towards the target, another method, or weights for the goals",
    Status.ITERATION_LIMIT: "more iterations, or a larger tolerance",
    Status.CONFLICT: "weights that say which goal counts more, or levels, or a goal less",
    Status.LEVEL: "nothing, where the goals of levels before are to come first; else put the goals on one level",
    Status.OFF_BALANCE: "more joints that may turn or slide, or a wider polygon",
    Status.TOO_FAST: "later frames, which come nearer, or larger speeds and accelerations in the limits",
    Status.INPUT_OUTSIDE: "a pose within limits, or limits that allow it: rotations are measured from rest, and a "
    "position from the joint's offset, so for a root without one it is a range of the world",
    Status.NOT_FINITE: "look for NaN in this item's pose and goals; a goal of weight 0 may have them",
    Status.NO_LENGTH: "look at offsets and scales (joints of the chain are all at one place) and at normals of planes; "
    "a joint alone moves only where its limit has a position",
}

# Used only for targets in reach: nothing else helps with a target out of reach.
_IN_REACH = Status.AT_LIMIT | Status.STALLED | Status.ITERATION_LIMIT


def _advice(flags: Status, *, slides: bool) -> list[str]:
    """Sentences on what to try."""
    beyond = flags & (Status.TOO_FAR | Status.TOO_NEAR)
    found = [advice for flag, advice in _ADVICE.items() if flag in (flags & ~_IN_REACH if beyond else flags)]
    return [*found, "let joints slide farther"] if beyond and slides else found


def _name(at: tuple[int, ...], shape: tuple[int, ...], *, is_worst: bool) -> str:
    if not shape:
        return "The pose"
    name = f"Item {at[0] if len(at) == 1 else at}"
    count = math.prod(shape)
    return f"{name}, the worst of {count}," if is_worst and count > 1 else name


def _verdict(name: str, flags: Status, iterations: int) -> str:
    after = f" after {iterations} iteration{'s' * (iterations != 1)}"
    if flags & ~Status.INPUT_OUTSIDE == 0:
        return f"{name} reaches its goals{after}{': ' * bool(flags)}{flags.sentence if flags else ''}."
    return f"{name}{after}: {flags.sentence}."


def _task_at(task: Task, shape: tuple[int, ...], at: tuple[int, ...]) -> Task:
    """The task of one item."""
    return task.map(lambda array, row: np.broadcast_to(array, (*shape, *row))[at])


def _goal_lines(skeleton: Skeleton, pose: Pose, world: World, task: Task, status: Status) -> list[str]:
    """Sentences on the error of one goal, and whether it can be reached."""
    if (task.weight is not None and not task.weight > 0) or (task.influence is not None and task.influence < 1):
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
        "OUTSIDE": f"The bone to {name} is {miss:.3g} too near to what it should be clear of.",
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


def _input_lines(
    skeleton: Skeleton, came: Pose, shape: tuple[int, ...], at: tuple[int, ...], tasks: Sequence[Task]
) -> list[str]:
    """Sentences on moving joints that were outside their limits in the start pose, with the angle."""

    def item(array: NDArray[Any], joint: int) -> NDArray[Any]:
        return np.asarray(np.broadcast_to(array, (*shape, *array.shape[-2:]))[at][joint], np.float64)

    lines = []
    for joint in sorted(
        {joint for task in tasks for joint in (*task.turning_joints(skeleton), *sliding_joints(skeleton, [task]))}
    ):
        if (limit := skeleton.limits[joint]) is None:
            continue
        name, turns = skeleton.names[joint], any(joint in task.turning_joints(skeleton) for task in tasks)
        angle = float(limit.violation(from_rest(skeleton, joint, item(came.rotations, joint)))) if turns else 0.0
        if angle > _OUTSIDE:
            lines.append(f"{name} came in {np.degrees(angle):.3g} degrees outside its limit.")
        if limit.position is None or joint not in sliding_joints(skeleton, tasks):
            continue
        offset = skeleton.offsets[joint]
        place = (offset if came.translations is None else item(came.translations, joint)) - offset
        low, high = np.asarray(limit.position)
        if (off := float(distance(place, np.clip(place, low, high)))) > 0:
            lines.append(f"{name} came in {off:.3g} outside its position, which is measured from its offset.")
    return lines


# Smallest angle outside a limit that gets a line: 0.01 degrees.
_OUTSIDE = 0.000175

# A joint is at its limit if a turn of 0.1 degrees leaves the limit.
_NEAR_A_LIMIT = 0.00175


def _limit_lines(skeleton: Skeleton, pose: Pose, joint: int) -> list[str]:
    """Sentences on a joint at its limit: it can turn one way about some axis, but not the other."""
    limit = skeleton.limits[joint]
    if limit is None:
        return []
    q = from_rest(skeleton, joint, pose.rotations[joint])
    axes = rotations.rotate(limit.frame, np.eye(3))[:, np.newaxis] * np.array([[-1], [1]]) * _NEAR_A_LIMIT
    outside = limit.violation(rotations.multiply(q, rotations.exp(axes))) > _NEAR_A_LIMIT / 2
    if not np.logical_xor(*outside.T).any():
        return []
    turned = round(float(np.degrees(rotations.to_axis_angle(q)[1])), 6)
    return [f"{skeleton.names[joint]} stands at its limit, {turned:.3g} degrees from rest."]
