"""The methods of solving on skeletons and their options: one table, which typed functions enter."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import operator
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ikcore import _core
from ikcore._arrays import as_text, switch, whole_number
from ikcore._record import hash_of_fields, record, same_fields
from ikcore._threads import thread_count
from ikcore.solving.arguments import DEFAULTS, SharedOptions, WithNullSpace, signature_of
from ikcore.solving.solution import Solution

TypedFunction = TypeVar("TypedFunction", bound=Callable[..., Solution])


@record
class Option:
    """An option of a method: a number, its default, its bounds and a sentence.

    None is allowed where it is the default, and where `optional` is set: the option is then automatic, or off.
    """

    name: str
    default: float | None
    lowest: float
    highest: float
    sentence: str
    optional: bool = False

    __eq__, __hash__ = same_fields, hash_of_fields

    @property
    def kind(self) -> type:
        """float, int or bool."""
        return float if self.default is None else type(self.default)

    @property
    def may_be_none(self) -> bool:
        """Whether None is a value: automatic, or off."""
        return self.optional or self.default is None

    def __str__(self) -> str:
        default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.name}={default}: {self.sentence}"

    def check(self, value: Any) -> float | None:
        """The value for the core; None is the core's default."""
        return None if value is None and self.may_be_none else self.number(value)

    def number(self, value: Any) -> float:
        """The value for the core of a value that is not None."""
        number = _number_of(self.kind, value)
        or_none = " or None" * self.may_be_none
        if number is None:
            kind = {float: "a number", int: "a whole number", bool: "True or False"}[self.kind]
            raise TypeError(f"{self.name}: expected {kind}{or_none}, got {as_text(value)}")
        zero = self.default is None and number == 0
        if zero or not (self.lowest <= number <= self.highest and math.isfinite(number)):
            expected = f"{self.lowest:g} to {self.highest:g}" if math.isfinite(self.highest) else "a finite number"
            if self.default is None:
                expected = f"a number above 0, at most {self.highest:g},"
            what = re.split("[;:]", self.sentence)[0]
            raise ValueError(f"{self.name}: expected {expected}{or_none}, got {as_text(value, str)} ({what})")
        return number


def _number_of(kind: type, value: Any) -> float | None:
    """A float, int or bool of that value; a number is neither text nor a list nor True."""
    if kind is float and type(value) is float:  # the usual case
        return value
    try:
        if kind is bool:
            return operator.index(value)
        if kind is int:
            return whole_number(value)
        return float(value) if np.asarray(value).dtype.kind in "iufO" and np.ndim(value) == 0 else None
    except OverflowError:
        return math.inf  # too large for a float: out of bounds
    except (TypeError, ValueError):
        return None


@record
class Method:
    """A method of `solve`: its name, a sentence, the goals and limits that it takes, its options, its typed function.

    `reaches` is False if it trades some of the reachable goals for speed or looks. `run` is the Python function of a
    method made by `custom_method`.
    """

    name: str
    sentence: str
    takes: frozenset[str]
    reaches: bool
    options: dict[str, Option]
    function: Callable[..., Solution]
    run: Callable[..., Any] | None = None  # None: a method of the core
    all_joints: bool = False  # it moves every joint, including roots, whatever the chains of goals

    __eq__, __hash__ = same_fields, hash_of_fields

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.sentence}"]
        lines += [f"  takes {', '.join(word for word in TAKEN.values() if word in self.takes)}"]
        lines += [f"  {option}" for option in self.options.values()]
        return "\n".join(lines)


class MethodTable(dict[str, Method]):
    """The methods by name. Printing lists them with their options.

    >>> import ikcore as ik
    >>> "fabrik" in ik.methods()
    True
    """

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values()))


def methods() -> MethodTable:
    """Return all methods of `solve` by name, with their options and defaults.

    >>> import ikcore as ik
    >>> ik.methods()["fabrik"].options["iterations"].default
    200
    """
    return MethodTable(METHODS)


METHODS = MethodTable()  # filled by the decorator `method`

# Goals and limits that only some methods take: the name in the core (ik_takes), and the name for users.
TAKEN = {
    "PLACE": "Reach position",
    "TURN": "Reach rotation",
    "LOOK": "Look",
    "DISTANCE": "Distance",
    "CENTRE_OF_MASS": "CentreOfMass",
    "INSIDE": "Inside",
    "OUTSIDE": "Outside",
    "POSTURE": "Posture",
    "RELATIVE": "goal relative to a joint",
    "LEVELS": "level",
    "POLE": "pole",
    "SLIDES": "sliding joint",
    "STIFFNESS": "stiffness",
    "LIMITS": "limit",
    "ENDS": "second end",
    "CAP": "cap",
    "COMPLIANCE": "compliance",
}


def method(function: TypedFunction) -> TypedFunction:
    """Enter the typed function of a method of the core, and add its arguments to its docstring."""
    name = function.__name__
    sentence, takes = next(row[1:] for row in (*_core.METHODS, *_core.CLOSED_FORMS) if row[0] == name)
    words = frozenset(TAKEN[word] for word, bit in _core.TAKES if takes & bit)
    reaches, all_joints = bool(takes & _core.REACHES), bool(takes & _core.ALL_JOINTS)
    METHODS[name] = Method(name, sentence, words, reaches, options_of(name), function, all_joints=all_joints)
    function.__signature__ = signature_of(function)  # type: ignore[attr-defined]
    function.__doc__ = document(METHODS[name], inspect.cleandoc(function.__doc__ or ""))
    return function


def enter_method(method: Method) -> None:
    """Enter a method written in Python, in place of an earlier one of that name."""
    METHODS[method.name] = method
    arguments_of.cache_clear()
    _numbers_of.cache_clear()


def document(method: Method, text: str) -> str:
    """The docstring with the arguments of the method before its examples."""
    text, mark, examples = text.partition("Examples\n")
    return f"{text.rstrip()}\n\n{_arguments_text(method)}{_RETURNS}{mark}{examples}"


def options_of(method: str) -> dict[str, Option]:
    """The options of a method of the core."""
    return {row[1]: _option(*row[1:]) for row in _core.METHOD_OPTIONS if row[0] == method}


def _option(name: str, kind: str, default: float, lowest: float, highest: float, sentence: str) -> Option:
    """The option of a row of the core's table."""
    number = {"double": float, "int": int, "switch": bool}[kind]
    if name in _NONE and default == 0:
        return Option(name, None, number(lowest), number(highest), sentence.replace("; 0:", "; None:"))
    return Option(name, number(default), number(lowest), number(highest), sentence)


# Options for which 0 means automatic or off in the core. Users write None.
_NONE = ("damping", "feedback", "filtering", "max_error", "max_step")


# The docstrings of the arguments that typed functions share.
_GIVEN = """\
Parameters
----------
skeleton : Skeleton
    The skeleton; its limits hold.
pose : Pose
    The start pose. The leading axes of poses and goals broadcast. The result has its number type.
goals : list of Goal
    The goals, solved together.
"""
_COMMON = {
    "moving": """\
moving : str, int or list of these, optional
    The joints that may move, if they are on the chain of a goal: a joint and its descendants, or a list of joints.
    Default: all joints on chains. (`Inside` or `Outside` without `chain` moves only joints that other goals move.)
""",
    "workers": """\
workers : int or None, optional
    Number of threads, None for all cores. The result is the same to the bit.
""",
    "sequence": """\
sequence : bool, optional
    Axis 0 is time: each frame starts from the animated pose plus the correction of the frame before. The correction
    fades if no goal needs it (see `release`). Limits of speed and acceleration hold.
""",
    "fps": """\
fps : float, optional
    Frames per second of a sequence: for `release`, and for limits of speed or acceleration.
""",
    "release": """\
release : float, optional
    In a sequence, the time in seconds after which a tenth of a correction is left if no goal needs it: a released hand
    returns to the animated pose. 0: each frame starts from the animated pose. ``math.inf``: corrections stay. Default:
    0.25 if the pose has a frame axis; infinite if one pose is given for all frames. `fps` is taken as 30 if not given.
""",
    "history": """\
history : bool, optional
    Return the error of every iteration.
""",
    "goal_errors": """\
goal_errors : bool, optional
    Return the errors of every goal.
""",
    "strict": """\
strict : bool, optional
    Raise `UnusableError` if an item cannot be used (because of NaN, for instance), instead of one `UnusableWarning`.
""",
}
_RETURNS = """
Returns
-------
Solution
    Pose, status and errors of every item.

"""


def _arguments_text(method: Method) -> str:
    said = _GIVEN
    for name in arguments_of(method.name):
        if name in _COMMON or name in method.options:
            said += _COMMON[name] if name in _COMMON else _option_text(method.options[name])
    return said


def _option_text(option: Option) -> str:
    first, rest = option.sentence[0].upper(), option.sentence[1:]
    return f"{option.name} : {option.kind.__name__}, optional\n    {first}{rest} (default {option.default}).\n"


# Names in papers, and the method with options that is meant (docs/methods/jacobians.md).
KNOWN_AS = {
    "bfgs": "lbfgsb, memory=30",
    "clik": "pinv, gain=...",
    "damped_least_squares": "dls",
    "esdls": "pinv, filtering=...",
    "fik": "transpose, loops=...",
    "gauss_newton": "dls",
    "iktc": "sns, scaling=False",
    "jacobian_transpose": "transpose",
    "lbfgs": "lbfgsb",
    "levenberg_marquardt": "dls",
    "lm": "dls",
    "newton_raphson": "newton",
    "omr": "pinv, with levels",
    "pgs": "gauss_seidel",
    "pi_dls": "dls, damping=...",
    "pik": "dls, with levels",
    "projected_gauss_seidel": "gauss_seidel",
    "pseudo_inverse": "pinv",
    "pseudoinverse": "pinv",
}


def meant_by(name: str) -> str:
    """The end of an error message: the method that an unknown name may mean, or nothing."""
    for near in difflib.get_close_matches(name.lower(), [*METHODS, *KNOWN_AS], 1, 0.7):
        return f"; here {near} is {KNOWN_AS[near]}" if near in KNOWN_AS else f"; {near}?"
    return ""


def checked_options(method: str, options: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options, checked against the typed function of the method."""
    if not isinstance(method, str) or method not in METHODS:
        hint = meant_by(method) if isinstance(method, str) else ""
        raise ValueError(f"method: expected one of {', '.join(METHODS)} or auto, got {method!r}{hint}")
    if not options:
        return {}
    known, own = arguments_of(method), METHODS[method].options
    if unknown := [name for name in options if name not in known or name in without]:
        expected = ", ".join(name for name in known if name not in without)
        frames = "; frames are a leading axis like others, or ikcore.solvers.stages(..., sequence=True)"
        hint = frames if unknown[0] == "sequence" and "sequence" not in known else ""
        raise TypeError(f"{method}: no option {unknown[0]!r} here; expected {expected}{hint}")
    for name in options:
        if name in SWITCHES:
            switch(name, options[name])
        elif name == "workers":
            thread_count(options[name])
    return {name: own[name].check(value) if name in own else value for name, value in options.items()}


# Frames per second: not an option of a method, but checked like one.
FRAMES_PER_SECOND = 30.0
FPS = Option("fps", FRAMES_PER_SECOND, 1e-6, 1e6, "frames per second")

# Not an option of a method either.
RELEASE_TIME = 0.25
RELEASE = Option("release", RELEASE_TIME, 0.0, 1e6, "seconds in which a correction falls to a tenth")

# Arguments that are on or off, besides the options of methods.
SWITCHES = ("sequence", "history", "goal_errors", "strict")


@functools.cache
def arguments_of(method: str) -> list[str]:
    """The keyword arguments of the typed function of a method."""
    return list(inspect.signature(METHODS[method].function).parameters)[3:]


def with_defaults(method: str, shared: SharedOptions) -> WithNullSpace:
    """Shared arguments of an iterative method, with the defaults of those that are not given."""
    if shared:
        for name in shared:
            if name not in arguments_of(method):
                raise TypeError(f"{method}() got an unexpected keyword argument {name!r}")
    given: Any = {**DEFAULTS, **shared}
    return given  # type: ignore[no-any-return]


def numbers_of(method: str, options: dict[str, Any]) -> tuple[float | None, ...]:
    """Option values in the order of the core; None for options that are not given."""
    try:
        return _numbers_of(method, tuple(options), *options.values())
    except TypeError:  # a wrong type, which raises again; or an array, which cannot be hashed
        return _numbers_of.__wrapped__(method, tuple(options), *options.values())


@functools.lru_cache(maxsize=256, typed=True)
def _numbers_of(method: str, names: tuple[str, ...], *values: Any) -> tuple[float | None, ...]:
    """`numbers_of`, cached: callers that solve pose by pose repeat their options."""
    own, given = METHODS[method].options, dict(zip(names, values, strict=True))
    return tuple([own[name].check(given[name]) if name in own and name in given else None for name in _core.OPTIONS])
