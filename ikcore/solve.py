"""Solving on skeletons: a typed function for every method, one call for a whole batch of poses and goals."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import _core, closed
from ikcore._arrays import _count_of, shown, switch, whole_number
from ikcore.batch import Batch, Found, checked_tasks, items_of, prepared, solve_single
from ikcore.goals import TASK_ROWS, Goal, checked_goals, completed, open_arrays
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solution import Solution

TypedFunction = TypeVar("TypedFunction", bound=Callable[..., Solution])


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a method: a number, its default and its bounds, and what it says."""

    name: str
    default: float
    lowest: float
    highest: float
    sentence: str

    def __str__(self) -> str:
        default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.name}={default}: {self.sentence}"

    def checked(self, value: Any) -> float:
        """The value as the core takes it."""
        number = _number_of(type(self.default), value)
        if number is None:
            kind = {float: "a number", int: "a whole number", bool: "True or False"}[type(self.default)]
            raise TypeError(f"{self.name}: expected {kind}, got {shown(value)}")
        if not (self.lowest <= number <= self.highest and math.isfinite(number)):
            bounded = math.isfinite(self.highest)
            expected = f"{self.lowest:g} to {self.highest:g}" if bounded else "a finite number"
            raise ValueError(f"{self.name}: expected {expected}, got {shown(value, str)}")
        return number


def _number_of(kind: type, value: Any) -> float | None:
    """A float, int or bool of that value; a number is neither text nor a list nor True."""
    try:
        if kind is bool:
            return operator.index(value)
        if kind is int:
            return whole_number(value)
        return float(value) if np.asarray(value).dtype.kind in "iufO" and np.ndim(value) == 0 else None
    except OverflowError:
        return math.inf  # as out of bounds
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Method:
    """A method of `solve`: its name, what it is, its options by name, and its typed function."""

    name: str
    sentence: str
    options: dict[str, Option]
    function: Callable[..., Solution]

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.sentence}"]
        lines += [f"  {option}" for option in self.options.values()]
        return "\n".join(lines)


class Methods(dict[str, Method]):
    """The methods by name; printed, one after the other with their options."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values()))


def methods() -> Methods:
    """Every method of `solve` by its name: what it is, its options and their defaults.

    >>> import ikcore as ik
    >>> ik.methods()["fabrik"].options["iterations"].default
    200
    """
    return Methods(_METHODS)


def _option(name: str, kind: str, default: float, lowest: float, highest: float, _: str, sentence: str) -> Option:
    """A row of the table of the core; whole numbers from 0 to 1 are switches."""
    number = float if kind == "double" else bool if (lowest, highest) == (0, 1) else int
    return Option(name, number(default), number(lowest), number(highest), sentence)


def _options_of(method: str, table: tuple[tuple[Any, ...], ...]) -> dict[str, Option]:
    return {row[0]: _option(*row) for row in table if method in row[5].split()}


# The closed forms; those of the core follow as their typed functions come by.
_METHODS = Methods(
    {
        name: Method(name, sentence, _options_of(name, closed.OPTIONS), getattr(closed, name))
        for name, sentence in closed.METHODS
    }
)


# What every typed function of an iterative method says of its arguments.
_ARGUMENTS = """\
Parameters
----------
skeleton : Skeleton
    The skeleton; its limits hold.
pose : Pose
    Where to start. The leading axes of poses and goals broadcast. The result is in its type of number.
goals : list of Reach
    What should be reached, together.
{options}
workers : int, optional
    How many threads, -1 for all cores. The result is the same to the bit.
sequence : bool, optional
    Axis 0 is time: each frame starts from the solution of the frame before, carried over as the correction of the
    animated pose.
history : bool, optional
    Keep the error of every iteration.
strict : bool, optional
    Raise `UnusableError` where some item cannot be used (NaN, say), instead of one `UnusableWarning`.

Returns
-------
Solution
    Pose, status and errors of every item.

"""


def _method(function: TypedFunction) -> TypedFunction:
    """Enter a typed function in the table of methods and say in its docstring what its arguments are."""
    name = function.__name__
    options = _options_of(name, _core.OPTIONS)
    listed = "\n".join(
        f"{option.name} : {type(option.default).__name__}, optional\n"
        f"    {option.sentence[0].upper()}{option.sentence[1:]} (default {option.default})."
        for option in options.values()
    )
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("Examples\n")
    function.__doc__ = f"{text}{_ARGUMENTS.format(options=listed)}Examples\n{examples}"
    sentence = next(sentence for known, sentence, _ in _core.METHODS if known == name)
    _METHODS[name] = Method(name, sentence, options, function)
    return function


def solve(skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], method: str = "fabrik", **options: Any) -> Solution:
    """Solve by the method of that name; the same as its typed function.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton.
    pose : Pose
        Where to start.
    goals : list of Reach
        What should be reached.
    method : str, optional
        One of `methods`.
    **options
        Those of the method.

    Returns
    -------
    Solution
        Pose, status and errors of every item.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> found = ik.solve(arm, arm.rest, [ik.Reach(3, [1, 1, 1])], method="fabrik", iterations=50)
    >>> print(found.status)
    0
    """
    checked = _checked(method, options)
    return _METHODS[method].function(skeleton, pose, goals, **checked)


def _checked(method: str, options: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options, if the typed function of that method takes them."""
    if not isinstance(method, str) or method not in _METHODS:
        raise ValueError(f"method: expected one of {', '.join(_METHODS)}, got {method!r}")
    known, own = _arguments_of(method), _METHODS[method].options
    if unknown := [name for name in options if name not in known or name in without]:
        expected = ", ".join(name for name in known if name not in without)
        raise TypeError(f"{method}: no option {unknown[0]!r} here; expected {expected}")
    for name in _SWITCHES:
        switch(name, options.get(name, False))
    _count_of(options.get("workers", 1))
    return {name: own[name].checked(value) if name in own else value for name, value in options.items()}


# What is on or off beside the options of methods.
_SWITCHES = ("sequence", "history", "strict")


@functools.cache
def _arguments_of(method: str) -> list[str]:
    """What the typed function of a method takes by name."""
    return list(inspect.signature(_METHODS[method].function).parameters)[3:]


@_method
def fabrik(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    workers: int = 1,
    sequence: bool = False,
    history: bool = False,
    strict: bool = False,
) -> Solution:
    """Solve by forward and backward reaching: joints move along lines, two passes an iteration.

    Fast and smooth for positions; the bones keep their length, and limits hold in both passes.

    Examples
    --------
    An arm of three bones, and two targets: one in reach, one beyond it.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> found = ik.fabrik(arm, arm.rest, [ik.Reach(3, [[1, 1, 1], [0, 4, 0]])])
    >>> [ik.Status(status) for status in found.status]
    [<Status: 0>, <Status.TOO_FAR: 1>]
    >>> print(found.error.round(3))
    [0. 1.]
    """
    return _iterate("fabrik", **locals())


@_method
def dls(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 200,
    tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-4,
    textbook: bool = False,
    damping: float = 0.0,
    max_step: float = 1.0,
    max_error: float = 0.0,
    posture: float = 0.0,
    workers: int = 1,
    sequence: bool = False,
    history: bool = False,
    strict: bool = False,
) -> Solution:
    """Solve by damped least squares: all joints turn at once, by how each moves what should be reached.

    Few iterations, for positions and rotations of any number of goals; where they contradict each other, what they
    weigh decides. Limits hold in every iteration, and `Limit` stiffness says how willingly a joint turns.

    Examples
    --------
    A hand that should be somewhere and turned some way; then an elbow that should be somewhere too.

    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [2.5, 0, 0]])
    >>> hand = ik.Reach(3, [1, 1, 1], ik.rotations.from_axis_angle([0, 0, 1], 1.5))
    >>> found = ik.dls(arm, arm.rest, [hand])
    >>> int(found.status), int(found.iterations)
    (0, 6)
    >>> int(ik.dls(arm, arm.rest, [hand, ik.Reach(1, [0, 1, 0])]).status)
    0
    """
    return _iterate("dls", **locals())


def _iterate(
    method: str,
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    workers: int,
    sequence: bool,
    history: bool,
    strict: bool,
    **options: Any,
) -> Solution:
    """What the typed function of every iterative method does."""
    numbers = _numbers(method, options)
    for name, value in zip(_SWITCHES, (sequence, history, strict), strict=True):
        switch(name, value)
    tasks = checked_tasks(method, skeleton, pose, goals)
    if any(any(task.up) for task in tasks):
        raise ValueError(f"up: {method} takes none; its chains bend towards the pole, whatever is up")
    shape = items_of(pose, tasks)
    if sequence and not shape:
        raise ValueError("sequence=True: expected axis 0 to be time, got a single pose and goals for one")
    found = Found.empty(shape, pose.rotations)
    if history:
        found = found._replace(history=np.full((*shape, int(options["iterations"]) + 1), np.nan, pose.dtype))
    threads = _count_of(workers)
    if shape:
        Batch(skeleton, pose, tasks, found, sequence=sequence).solve(method, numbers, threads)
    else:
        solve_single(method, skeleton, pose, tasks, found, numbers)
    return Solution.of(method, skeleton, pose, tasks, found, strict=strict)


def _numbers(method: str, options: dict[str, Any]) -> tuple[float, ...]:
    """All options in the order of the core's table, those not given at their default."""
    own = _METHODS[method].options
    return tuple([own[row[0]].checked(options[row[0]]) if row[0] in options else row[2] for row in _core.OPTIONS])


# The core dimensions of a row of a goal.
_DIMENSIONS = {(): "()", (3,): "(p)", (4,): "(q)"}


@dataclass(frozen=True, slots=True)
class Solver:
    """What `solver` makes: a function of arrays that knows its skeleton, goals, method and options."""

    skeleton: Skeleton
    goals: tuple[Goal, ...]
    method: str
    translations: bool
    options: dict[str, Any]
    _prepared: _core.Prepared | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the goals, and prepare for calls on one item."""
        numbers = _numbers(self.method, self.options)
        made = prepared(self.method, self.skeleton, self.goals, numbers, translated=self.translations)
        object.__setattr__(self, "_prepared", made)

    @property
    def signature(self) -> str:
        """The core dimensions as `dask.array.apply_gufunc` has them: j joints, q for w, x, y, z, p for x, y, z."""
        given = ["(j,q)", *["(j,p)"] * self.translations]
        given += [_DIMENSIONS[TASK_ROWS[name]] for goal in self.goals for name in open_arrays(goal)]
        return f"{','.join(given)}->(j,q),(),()"

    def __call__(
        self, rotations: ArrayLike, *arrays: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32]]:
        """Rotations, errors and status of the solution."""
        if self._prepared and (item := self._prepared(rotations, *arrays)):
            return item
        expected = self.signature.partition("->")[0].count("(") - 1
        if len(arrays) != expected:
            raise TypeError(f"{self.signature}: expected {expected} arrays after the rotations, got {len(arrays)}")
        rest = iter(arrays)
        pose = Pose(rotations, next(rest) if self.translations else None)
        goals = [completed(goal, rest) for goal in self.goals]
        found = _METHODS[self.method].function(self.skeleton, pose, goals, **self.options)
        return found.pose.rotations, found.error, found.status

    def __reduce__(self) -> tuple[Any, ...]:
        return Solver, (self.skeleton, self.goals, self.method, self.translations, self.options)


def solver(
    skeleton: Skeleton, goals: Sequence[Goal], method: str = "fabrik", *, translations: bool = False, **options: Any
) -> Solver:
    """Make a function from arrays to arrays, for `dask.array.apply_gufunc`, `xarray.apply_ufunc` and processes.

    It pickles. It takes local rotations (..., joints, 4), with ``translations=True`` local translations
    (..., joints, 3), and then, goal by goal, what is an ellipsis there: positions (..., 3), rotations (..., 4), weights
    (...), poles (..., 3). It returns local rotations (..., joints, 4), errors (...) and status (...), as `Solution` has
    them. The axes named here are the core dimensions, all others broadcast.

    Parameters
    ----------
    skeleton : Skeleton
        The skeleton.
    goals : list of Reach
        What should be reached; an ellipsis stands for an array that comes with the call.
    method : str, optional
        One of `methods`.
    translations : bool, optional
        Whether poses have translations.
    **options
        Those of the method.

    Returns
    -------
    Solver
        The function. Its `signature` names the core dimensions.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> solve_arm = ik.solver(arm, [ik.Reach(3, position=...)], "fabrik")
    >>> solve_arm.signature
    '(j,q),(p)->(j,q),(),()'
    >>> rotations, error, status = solve_arm(arm.rest.rotations, [[1, 1, 1], [1, 2, 0]])
    >>> rotations.shape, status
    ((2, 4, 4), array([0, 0], dtype=int32))

    With dask, and with xarray::

        dask.array.apply_gufunc(solve_arm, solve_arm.signature, rotations, targets,
                                output_dtypes=(float, float, np.int32))
        xarray.apply_ufunc(solve_arm, rotations, targets, input_core_dims=[["joint", "wxyz"], ["xyz"]],
                           output_core_dims=[["joint", "wxyz"], [], []])
    """
    checked = _checked(method, options, without=("sequence", "history"))
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
    return Solver(skeleton, tuple(checked_goals(goals)), method, translations, checked)
