"""Solve with a method given by name, or the one that goals and limits need: at once, or with a function of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from numpy.typing import ArrayLike

from ikcore import _core
from ikcore._record import record
from ikcore.goals import Goal, open_arrays, with_arrays
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving import closed_form, heuristic, jacobian, position_based  # noqa: F401  # they enter their methods
from ikcore.solving.auto import AUTO, method_for
from ikcore.solving.batch import checked_moving, prepare_call, tasks_to_come
from ikcore.solving.registry import METHODS, checked_options, numbers_of
from ikcore.solving.solution import Solution
from ikcore.solving.tasks import GOAL_ARRAYS
from ikcore.solving.validate import checked_goals, moves_joints


def solve(skeleton: Skeleton, pose: Pose, goals: Sequence[Goal], method: str = "auto", **options: Any) -> Solution:
    """Solve with a method given by name, or with the method that goals and limits need.

    ``"auto"`` chooses the first of these methods that supports the goals, the limits and the options:

    - `two_bone` for limbs of two bones without limits whose goals are a position and a pole;
    - `aim` for single joints that look at a position;
    - `fabrik` for positions alone, without ``sequence=True``;
    - `dls` for everything else, and `ccd` where joints have caps.

    The choice depends on the kinds of goals, the skeleton and the names of options, never on target values.
    `Solution.method` is the name of the method.

    Parameters
    ----------
    skeleton : Skeleton
    pose : Pose
        The start pose.
    goals : list of Goal
        The goals.
    method : str, optional
        One of `methods`, or ``"auto"``.
    **options
        The options of the method.

    Returns
    -------
    Solution
        Pose, status and errors of every item.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> found = ik.solve(
    ...     arm, arm.rest, [ik.Reach(3, [1, 1, 1])], method="dls", iterations=50
    ... )
    >>> print(found.status)
    0
    >>> print(ik.solve(arm, arm.rest, [ik.Reach(3, [1, 1, 1])]).method)
    fabrik
    """
    if method == AUTO:
        method = method_for(skeleton, goals, options)
    checked = checked_options(method, options)
    return METHODS[method].function(skeleton, pose, goals, **checked)


# The core dimensions of a row of a goal.
_DIMENSIONS = {(): "()", (3,): "(p)", (4,): "(q)"}


@record
class Solver:
    """A solve as a function of arrays, for `dask.array.apply_gufunc`, `xarray.apply_ufunc` and processes.

    It can be pickled. The arguments of a call are local rotations (..., joints, 4), with ``translations=True`` also
    local translations (..., joints, 3), then an array for each ellipsis in the goals, in order. These are positions
    (..., 3), rotations (..., 4), weights and influences (...), and poles (..., 3). A call returns local rotations (...,
    joints, 4), errors (...) and status (...), as in `Solution`. If joints slide or bones stretch, local translations
    (..., joints, 3) follow the rotations. The named axes are the core dimensions; all others broadcast.

    Parameters
    ----------
    skeleton : Skeleton
    goals : list of Goal
        The goals; an ellipsis stands for an array that is passed in each call.
    method : str, optional
        One of `methods`, or ``"auto"``, as in `solve`. The attribute has the name of the chosen method.
    translations : bool, optional
        True if poses have translations.
    **options
        Options of the method.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> solve_arm = ik.Solver(arm, [ik.Reach(3, position=...)])
    >>> solve_arm.method, solve_arm.signature
    ('fabrik', '(j,q),(p)->(j,q),(),()')
    >>> rotations, error, status = solve_arm(arm.rest.rotations, [[1, 1, 1], [1, 2, 0]])
    >>> rotations.shape, status
    ((2, 4, 4), array([0, 0], dtype=int32))

    Translations of sliding joints are returned as well:

    >>> rail = ik.Limit.locked(position=[[-1, 0, 0], [1, 0, 0]])
    >>> crane = ik.Skeleton([-1, 0, 1], [[0, 2, 0], [0, -1, 0], [0, -1, 0]], limits={0: rail})
    >>> follow = ik.Solver(crane, [ik.Reach(2, position=...)], translations=True)
    >>> follow.method, follow.signature
    ('fabrik', '(j,q),(j,p),(p)->(j,q),(j,p),(),()')
    >>> rotations, translations, error, status = follow(
    ...     crane.rest.rotations, crane.offsets, [0.9, 0.1, 0]
    ... )
    >>> print(status)
    0

    Examples for dask and for xarray::

        dask.array.apply_gufunc(solve_arm, solve_arm.signature, rotations, targets,
                                output_dtypes=(float, float, np.int32))
        xarray.apply_ufunc(solve_arm, rotations, targets, input_core_dims=[["joint", "wxyz"], ["xyz"]],
                           output_core_dims=[["joint", "wxyz"], [], []])
    """

    skeleton: Skeleton
    goals: tuple[Goal, ...]
    method: str
    translations: bool
    options: dict[str, Any]
    _prepared: _core.Prepared | None = field(init=False, repr=False, compare=False)
    _moves: bool = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        skeleton: Skeleton,
        goals: Sequence[Goal],
        method: str = AUTO,
        *,
        translations: bool = False,
        **options: Any,
    ) -> None:
        if method == AUTO:
            method = method_for(skeleton, goals, options)
        checked = checked_options(method, options, without=("sequence", "fps", "release", "history", "goal_errors"))
        if not isinstance(skeleton, Skeleton):
            raise TypeError(f"skeleton: expected a Skeleton, got {type(skeleton).__name__}")
        for name, value in (
            ("skeleton", skeleton),
            ("goals", tuple(checked_goals(goals))),
            ("method", method),
            ("translations", translations),
            ("options", checked),
        ):
            object.__setattr__(self, name, value)
        self._prepare()

    def _prepare(self) -> None:
        """Check the goals, and prepare for calls on one item."""
        numbers = numbers_of(self.method, self.options)
        may = checked_moving(self.skeleton, self.options.get("moving"))
        tasks = tasks_to_come(self.method, self.skeleton, self.goals, may)
        made = None
        if METHODS[self.method].run is None:
            made = prepare_call(self.method, self.skeleton, self.goals, tasks, numbers, single=False)
        object.__setattr__(self, "_prepared", made)
        object.__setattr__(self, "_moves", moves_joints(self.method, self.skeleton, tasks, numbers))

    @property
    def signature(self) -> str:
        """The core dimensions for `dask.array.apply_gufunc`: j joints, q for w, x, y, z, p for x, y, z."""
        given = ["(j,q)", *["(j,p)"] * self.translations]
        given += [_DIMENSIONS[GOAL_ARRAYS[name]] for goal in self.goals for name in open_arrays(goal)]
        return f"{','.join(given)}->(j,q),{'(j,p),' * self._moves}(),()"

    def __call__(self, rotations: ArrayLike, *arrays: ArrayLike) -> tuple[Any, ...]:
        """Rotations, translations if joints slide or bones stretch, errors and status of the solution."""
        if self._prepared and (len(arrays) or not self.translations):
            translations, *others = arrays if self.translations else (None, *arrays)
            if item := self._prepared(rotations, translations, None, *others):
                turned, moved, error, _, _, status, *_ = item
                return (turned, moved, error, status) if self._moves else (turned, error, status)
        expected = self.signature.partition("->")[0].count("(") - 1
        if len(arrays) != expected:
            raise TypeError(f"{self.signature}: expected {expected} arrays after the rotations, got {len(arrays)}")
        rest = iter(arrays)
        pose = Pose(rotations, next(rest) if self.translations else None)
        goals = [with_arrays(goal, rest) for goal in self.goals]
        found = METHODS[self.method].function(self.skeleton, pose, goals, **self.options)
        turned, moved = found.pose.rotations, found.pose.translations
        return (turned, moved, found.error, found.status) if self._moves else (turned, found.error, found.status)

    def __reduce__(self) -> tuple[Any, ...]:
        return _solver, (self.skeleton, self.goals, self.method, self.translations, self.options)


def _solver(skeleton: Skeleton, goals: Sequence[Goal], method: str, translations: bool, options: Any) -> Solver:
    return Solver(skeleton, goals, method, translations=translations, **options)
