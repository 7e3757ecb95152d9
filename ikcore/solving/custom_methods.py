"""Methods written in Python: a function from poses to poses becomes a row in the table of methods.

The function proposes poses. The rest is as for every method. Goals and options are checked, and limits hold. Unusable
items, and joints that no goal moves, keep their pose. The core judges the result.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import _core
from ikcore._arrays import switch
from ikcore._threads import thread_count
from ikcore.goals import Goal
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving import closed_form, heuristic, jacobian  # noqa: F401  # methods of the core come first in the table
from ikcore.solving.batch import Batch, CoreOutput, checked_moving, checked_tasks, items_of
from ikcore.solving.influence import solve_with_influence
from ikcore.solving.registry import METHODS, TAKEN, Method, Option, document, enter_method, numbers_of, options_of
from ikcore.solving.solution import Solution
from ikcore.solving.tasks import TASK_ROWS, Task, field_of, sliding_joints
from ikcore.solving.validate import check_speeds, frame_rate
from ikcore.status import Status

Array = NDArray[Any]

# Poses, alone or with the number of iterations of each.
Proposal = Pose | tuple[Pose, Any]


def custom_method(
    *, takes: Collection[str], reaches: bool = False, clip: bool = False, options: Sequence[Option] = ()
) -> Callable[[Callable[..., Proposal]], Callable[..., Solution]]:
    """Add a Python function to the table of methods, under its name, for `solve`, `Solver` and `stages`.

    A second method of the same name replaces the first. A process that unpickles a `Solver` must have added it too.

    The function is called as ``name(skeleton, pose, goals, **own)``. The pose has one leading axis, the items; with
    ``clip=True`` two, frames and items. The arrays of the goals have the same leading axes. No item has a NaN.
    It returns a pose with these leading axes, or a tuple of a pose and the iterations of each item. It may change any
    joint; only joints that goals move are read. Its keyword parameters are options of the method, of any type (a table,
    a model). The parameters named in `options` are numbers with bounds.

    Parameters
    ----------
    takes : collection of str
        The goals and limits that the method supports, in the words of `Method.takes`: ``"Reach position"``,
        ``"limit"``. All others raise an error. Limits hold in any case: rotations outside are moved to the nearest
        allowed ones.
    reaches : bool, optional
        Whether it reaches all goals that can be reached.
    clip : bool, optional
        Whether it solves whole clips. Axis 0 of poses and goals is then time, and limits of speed hold if `fps` is
        given.
    options : sequence of Option, optional
        Its number options, in the order of its parameters. `tolerance` and `rotation_tolerance` may be left out.

    Returns
    -------
    callable
        A decorator that returns the typed function. Its parameters are those of the function, then ``tolerance``,
        ``rotation_tolerance``, ``moving``, ``workers``, ``goal_errors`` and ``strict``. The function also gets those of
        them that are among its own parameters.

    Examples
    --------
    >>> import ikcore as ik
    >>> @ik.solvers.custom_method(takes=["Reach position"])
    ... def halfway(skeleton, pose, goals, *, share=0.5):
    ...     '''Go a share of the way that dls goes.'''
    ...     found = ik.dls(skeleton, pose, goals)
    ...     return pose.with_rotations(ik.rotations.slerp(pose.rotations, found.pose.rotations, share))
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    >>> found = ik.solve(arm, arm.rest, [ik.Reach(2, [1, 1, 0])], "halfway")
    >>> ik.Status(found.status)
    <Status.STALLED: 64>
    """
    words = frozenset(takes)
    if unknown := words - set(TAKEN.values()):
        raise ValueError(f"takes: expected words of {', '.join(TAKEN.values())}, got {', '.join(sorted(unknown))}")

    def enter(function: Callable[..., Proposal]) -> Callable[..., Solution]:
        name, text = function.__name__, inspect.cleandoc(function.__doc__ or "")
        if name in METHODS and METHODS[name].run is None:
            raise ValueError(f"{name}: expected a name that no method of the core has; rename the function")
        sentence = text.partition("\n\n")[0].replace("\n", " ").rstrip(".")
        if not sentence:
            raise ValueError(f"{name}: expected a docstring that starts with a sentence on what the method does")
        signature, own = _signature(function, clip=clip)

        def solver(skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], **given: Any) -> Solution:
            try:
                bound = signature.bind(skeleton, pose, goals, **given)
            except TypeError as wrong:
                raise TypeError(f"{name}: {wrong}") from None
            bound.apply_defaults()
            passed = {key: bound.arguments[key] for key in own}
            return _solve(name, function, passed, clip=clip, **bound.arguments)

        solver.__name__ = solver.__qualname__ = name
        solver.__module__ = function.__module__
        solver.__signature__ = signature  # type: ignore[attr-defined]
        numbers = {option.name: option for option in options} | _tolerances()
        enter_method(Method(name, sentence, words, reaches, numbers, solver, function))
        solver.__doc__ = document(METHODS[name], text)
        return solver

    return enter


def _tolerances() -> dict[str, Option]:
    """The options of every custom method."""
    known = options_of(_JUDGE)
    return {name: known[name] for name in ("tolerance", "rotation_tolerance")}


def _signature(function: Callable[..., Proposal], *, clip: bool) -> tuple[inspect.Signature, list[str]]:
    """The signature of the typed function, and the names of the function's own parameters."""
    given = list(inspect.signature(function).parameters.values())
    if len(given) < 3 or any(one.kind is not one.KEYWORD_ONLY for one in given[3:]):
        what = "expected parameters skeleton, pose, goals, and after a * those by name"
        raise TypeError(f"{function.__name__}: {what}, got {inspect.signature(function)}")
    common: dict[str, Any] = {name: option.default for name, option in _tolerances().items()}
    common |= {"moving": None, "workers": 1} | ({"fps": None} if clip else {}) | {"goal_errors": False, "strict": False}
    own = {one.name: one for one in given[3:]}
    shared = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in common.items()]
    parameters = [*given[:3], *(one for one in given[3:] if one.name not in common)]
    parameters += [own.get(one.name, one) for one in shared]
    return inspect.Signature(parameters, return_annotation="Solution"), list(own)


# The method by whose name the core judges poses: one that takes goals of every kind.
_JUDGE = "dls"


def _solve(
    name: str,
    function: Callable[..., Proposal],
    own: dict[str, Any],
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    clip: bool,
    moving: Any,
    workers: int,
    goal_errors: bool,
    strict: bool,
    fps: float | None = None,
    **options: Any,
) -> Solution:
    """Solve by a custom method."""
    known = METHODS[name].options
    checked = {key: known[key].check(value) for key, value in options.items() if key in known}
    own |= {key: value for key, value in checked.items() if key in own}
    for key, value in (("goal_errors", goal_errors), ("strict", strict)):
        switch(key, value)
    threads, may, rate = thread_count(workers), checked_moving(skeleton, moving), frame_rate(fps, sequence=clip)
    tasks = checked_tasks(name, skeleton, pose, goals, may)
    numbers = numbers_of(_JUDGE, {key: checked[key] for key in _tolerances()})
    if clip and not items_of(pose, tasks):
        raise ValueError(f"{name}: expected axis 0 to be time, got a single pose and goals for one")
    if clip:
        check_speeds(name, skeleton, tasks, rate)

    def judge(pose: Pose, tasks: tuple[Task, ...], found: CoreOutput) -> CoreOutput:
        batch = Batch(skeleton, pose, tasks, found, sequence=clip, fps=rate or 0.0)
        batch.solve(_JUDGE, numbers, threads, judge=True)
        return found

    def empty(pose: Pose, tasks: tuple[Task, ...]) -> CoreOutput:
        moves, count = bool(sliding_joints(skeleton, tasks)), len(tasks) * goal_errors
        return CoreOutput.empty(items_of(pose, tasks), pose.rotations, moves=moves, tasks=count)

    def run(pose: Pose, tasks: tuple[Task, ...], *, sequence: bool = False) -> CoreOutput:
        shape = items_of(pose, tasks)
        axes = (*shape[:clip], math.prod(shape[clip:]))
        pose, tasks = _flat(pose, shape, axes), tuple(task.map(_flattener(shape, axes)) for task in tasks)
        came = judge(pose, tasks, empty(pose, tasks))
        usable = np.asarray((came.status < _core.UNUSABLE).reshape(-1, axes[-1]).all(axis=0))
        at = (*[slice(None)] * clip, usable)
        asked = _goals_of(goals, tasks, at)
        proposal = function(skeleton, pose[at], asked, **own) if usable.any() else pose[at]
        proposed, iterations = proposal if isinstance(proposal, tuple) else (proposal, 0)
        start = _merge(name, skeleton, pose, tasks, proposed, at)
        found = judge(start, tasks, empty(pose, tasks))
        _say(found, came, usable, iterations, at)
        return found.map(lambda array: array.reshape((*shape, *array.shape[len(axes) :])))

    if all(task.influence is None for task in tasks):
        found = run(pose, tasks)
    elif clip:
        raise ValueError(f"influence: expected 1 everywhere, which {name} takes, as it solves whole clips")
    else:
        found = solve_with_influence(run, skeleton, pose, tasks, empty(pose, tasks))
    return Solution._of(name, skeleton, pose, goals, found, may, strict=strict)


def _flat(pose: Pose, shape: tuple[int, ...], axes: tuple[int, ...]) -> Pose:
    """The pose with other leading axes."""
    flatten = _flattener(shape, axes)

    def part(array: Array | None) -> Array | None:
        return None if array is None else flatten(array, array.shape[-2:])

    return Pose(part(pose.rotations), part(pose.translations), part(pose.scales))  # type: ignore[arg-type]


def _flattener(shape: tuple[int, ...], axes: tuple[int, ...]) -> Callable[[Array, tuple[int, ...]], Array]:
    """A function that reshapes arrays with rows of a given shape from broadcast leading axes to other axes."""
    return lambda array, row: np.broadcast_to(array, (*shape, *row)).reshape(*axes, *row)


def _goals_of(goals: Sequence[Goal], tasks: Sequence[Task], at: Any) -> list[Goal]:
    """The goals with the arrays of their tasks at some items; those without a task are left out."""
    made: dict[int, Any] = {}
    for task in tasks:
        arrays = {field_of(task, row): array for row in TASK_ROWS if (array := getattr(task, row)) is not None}
        named = {name: array[at] for name, array in arrays.items()}
        made[task.goal] = replace(made.get(task.goal, goals[task.goal]), influence=1.0, **named)
    return list(made.values())


def _merge(name: str, skeleton: Skeleton, pose: Pose, tasks: tuple[Task, ...], proposed: Any, at: Any) -> Pose:
    """The start pose with the proposed rows of joints that move; items that are not finite keep their start pose."""
    if not isinstance(proposed, Pose) or proposed.shape != pose[at].shape or proposed.joints != pose.joints:
        got = repr(proposed) if isinstance(proposed, Pose) else type(proposed).__name__
        raise TypeError(f"{name}: expected to be returned a pose like the one it was called with, got {got}")
    turning = sorted({joint for task in tasks for joint in task.turning_joints(skeleton)})
    turned, moved = np.array(pose.rotations), None
    turned[at] = _put_rows(turned[at], proposed.rotations, turning)
    if slid := sliding_joints(skeleton, tasks):
        came = skeleton.offsets if pose.translations is None else pose.translations
        moved = np.array(np.broadcast_to(came, (*pose.shape, *came.shape[-2:])), pose.dtype)
        if proposed.translations is not None:
            moved[at] = _put_rows(moved[at], proposed.translations, slid)
    return pose.with_rotations(turned, moved)


def _put_rows(rows: Array, proposed: Array, joints: Sequence[int]) -> Array:
    """The rows (..., joints, n), with the proposed ones for some joints where these are finite."""
    own = proposed[..., joints, :].astype(rows.dtype)
    finite = np.isfinite(own).all(axis=(-2, -1), keepdims=True)
    rows[..., joints, :] = np.where(finite, own, rows[..., joints, :])
    return rows


def _say(found: CoreOutput, came: CoreOutput, usable: Array, iterations: Any, at: Any) -> None:
    """Set status and iterations of the result. Only the start pose can be outside limits or unusable."""
    outside = int(Status.INPUT_OUTSIDE)
    found.status[...] = (found.status & ~outside) | (came.status & outside)
    found.status[..., ~usable] = came.status[..., ~usable]
    found.iterations[...] = 0
    found.iterations[at] = iterations
