"""What a solver of skeletons answers: poses, how good they are, and why, in words where wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core, rotations, status
from ikcore._arrays import shown, whole_number
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.record import record
from ikcore.skeleton import Skeleton, World
from ikcore.solving.placed import chain_points, from_rest, miss_of, off_ray
from ikcore.span import distance, span_of
from ikcore.status import Status
from ikcore.tasks import Task, all_tasks, sliding

if TYPE_CHECKING:
    from ikcore.solving.batch import Found
    from ikcore.solving.single import Item


# Of which method what, and what every joint may do meanwhile.
Asked = tuple[str, tuple[Goal, ...], bytes | None]


@record
class Solution:
    """What a solver found, item by item.

    The arrays of a batch are parts of one block of memory, which is free when the last of them is gone: who keeps one
    array of many results copies it.

    Attributes
    ----------
    pose : Pose
        The poses afterwards. Joints that no goal turns keep their local rotation to the bit, and but for those that
        slide, or whose bone stretches, all keep their translation.
    error : (...) array
        The largest distance by which a goal is missed, but for those of weight 0; where the method is ``aim``, from its
        ray.
    rotation_error : (...) array
        The largest angle to a goal's rotation or target, radians; of ``aim``, between ray and position.
    iterations : (...) int32 array
        How many it took.
    status : (...) int32 array
        `Status` flags; 0 means that all goals are reached, and INPUT_OUTSIDE alone that they are from a pose outside
        limits.
    history : (..., iterations + 1) array or None
        With ``history=True``: the largest distance that the method sees, in units of length, before the first iteration
        and after each; NaN beyond the last. What it sees of a chain of a tenth of the longest reach is ten times the
        distance, as its tolerance is a tenth; of one without a length nothing, 0.
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
    _asked: tuple[Asked, ...] = field(repr=False)
    _came: Pose = field(repr=False)  # which is looked at where a word about it is wanted

    @classmethod
    def _of(
        cls,
        method: str,
        skeleton: Skeleton,
        pose: Pose,
        goals: Sequence[Goal],
        found: Found,
        may: bytes | None,
        *,
        strict: bool,
    ) -> Solution:
        """What a method found, after a word about items that cannot be used."""
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
        """The same of one item of which there is nothing to say."""
        turned, moved, error, angle, iterations, said, history, errors = item
        after = Pose._of_item(turned, pose.translations if moved is None else moved, pose.scales)
        asked = ((method, tuple(goals), may),)
        return cls(after, error, angle, iterations, said, history, errors, skeleton, asked, pose)

    @property
    def _tasks(self) -> tuple[Task, ...]:
        """What the goals ask for: made again where a word about them is wanted, which is seldom."""
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
        """Which items reach all their goals, an array of bool: a pose that came in outside its limits may, too."""
        return (self.status & ~status.INPUT_OUTSIDE) == 0

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
            turning = sorted({joint for task in tasks for joint in task.turning(self._skeleton)})
            lines += [line for joint in turning for line in _limit_lines(self._skeleton, pose, joint)]
        slides = any(sliding(self._skeleton, [task]) for task in tasks)
        lines += [f"Try: {advice}." for advice in _advice(flags, slides=slides)]
        return "\n".join(lines)

    def _worst(self) -> tuple[int, ...]:
        """The first item that cannot be used; else what has not reached; else any: the one that is off by most."""
        found = np.asarray(self.status)
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
    goals = tasks[-1].goal + 1
    by_goal = np.full((*errors.shape[:-1], 2 * goals), np.nan, errors.dtype)
    by_goal[..., places_of(tasks)] = errors
    return by_goal.reshape(*errors.shape[:-1], goals, 2)


def places_of(tasks: tuple[Task, ...]) -> tuple[int, ...]:
    """Where the error of every task stands among those of goals, a distance and an angle each."""
    return tuple([2 * task.goal + (task.kind in _ANGLES) for task in tasks])


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

# Told only of targets in reach: nothing else brings nearer one that is not.
_IN_REACH = Status.AT_LIMIT | Status.STALLED | Status.ITERATION_LIMIT


def _advice(flags: Status, *, slides: bool) -> list[str]:
    """What to try."""
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
    """How far one goal is from being reached, and whether it can be."""
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
    """Which joints that move were outside their limits in the pose that came in, and by how much."""

    def item(array: NDArray[Any], joint: int) -> NDArray[Any]:
        return np.asarray(np.broadcast_to(array, (*shape, *array.shape[-2:]))[at][joint], np.float64)

    lines = []
    for joint in sorted({joint for task in tasks for joint in (*task.turning(skeleton), *sliding(skeleton, [task]))}):
        if (limit := skeleton.limits[joint]) is None:
            continue
        name, turns = skeleton.names[joint], any(joint in task.turning(skeleton) for task in tasks)
        angle = float(limit.violation(from_rest(skeleton, joint, item(came.rotations, joint)))) if turns else 0.0
        if angle > _OUTSIDE:
            lines.append(f"{name} came in {np.degrees(angle):.3g} degrees outside its limit.")
        if limit.position is None or joint not in sliding(skeleton, tasks):
            continue
        offset = skeleton.offsets[joint]
        place = (offset if came.translations is None else item(came.translations, joint)) - offset
        low, high = np.asarray(limit.position)
        if (off := float(distance(place, np.clip(place, low, high)))) > 0:
            lines.append(f"{name} came in {off:.3g} outside its position, which is measured from its offset.")
    return lines


# So small an angle outside a limit (0.01 degrees) is not worth a line.
_OUTSIDE = 0.000175

# A joint stands at its limit where so small a turn (0.1 degrees) leaves it.
_NEAR_A_LIMIT = 0.00175


def _limit_lines(skeleton: Skeleton, pose: Pose, joint: int) -> list[str]:
    """Whether a joint stands at its limit: turning it one way about some axis is forbidden, but not the other."""
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
