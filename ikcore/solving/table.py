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
from ikcore._arrays import shown, switch, thread_count, whole_number
from ikcore.record import hash_of_fields, record, same_fields
from ikcore.solving.arguments import DEFAULTS, Shared, WithNullSpace, signature_of
from ikcore.solving.solution import Solution

TypedFunction = TypeVar("TypedFunction", bound=Callable[..., Solution])


@record
class Option:
    """An option of a method: a number, its default and its bounds, and what it does.

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

    def checked(self, value: Any) -> float | None:
        """The value as the core takes it; None is the core's default."""
        return None if value is None and self.may_be_none else self.number(value)

    def number(self, value: Any) -> float:
        """The same of a value that is not None."""
        number = _number_of(self.kind, value)
        or_none = " or None" * self.may_be_none
        if number is None:
            kind = {float: "a number", int: "a whole number", bool: "True or False"}[self.kind]
            raise TypeError(f"{self.name}: expected {kind}{or_none}, got {shown(value)}")
        zero = self.default is None and number == 0
        if zero or not (self.lowest <= number <= self.highest and math.isfinite(number)):
            expected = f"{self.lowest:g} to {self.highest:g}" if math.isfinite(self.highest) else "a finite number"
            if self.default is None:
                expected = f"a number above 0, at most {self.highest:g},"
            what = re.split("[;:]", self.sentence)[0]
            raise ValueError(f"{self.name}: expected {expected}{or_none}, got {shown(value, str)} ({what})")
        return number


def _number_of(kind: type, value: Any) -> float | None:
    """A float, int or bool of that value; a number is neither text nor a list nor True."""
    if kind is float and type(value) is float:  # as a rule
        return value
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


@record
class Method:
    """A method of `solve`: name, what it is, what it takes, whether it reaches what it can, options, typed function.

    One that is composed in Python (`composed`) has the function that proposes poses as well.

    One that does not reach all that can be reached trades that for speed or looks.
    """

    name: str
    sentence: str
    takes: frozenset[str]
    reaches: bool
    options: dict[str, Option]
    function: Callable[..., Solution]
    run: Callable[..., Any] | None = None  # of one composed in Python; None: the core has it
    all_joints: bool = False  # it moves every joint, roots too, whatever chains goals have

    __eq__, __hash__ = same_fields, hash_of_fields

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.sentence}"]
        lines += [f"  takes {', '.join(word for word in TAKEN.values() if word in self.takes)}"]
        lines += [f"  {option}" for option in self.options.values()]
        return "\n".join(lines)


class MethodTable(dict[str, Method]):
    """The methods by name; printed, one after the other with their options."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values()))


def methods() -> MethodTable:
    """Every method of `solve` by its name: what it is, its options and their defaults.

    >>> import ikcore as ik
    >>> ik.methods()["fabrik"].options["iterations"].default
    200
    """
    return MethodTable(METHODS)


METHODS = MethodTable()  # typed functions enter theirs

# What not every method takes, by the words of the core (ik_takes): as users know it.
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
    """Enter the typed function of a method of the core, and say in its docstring what its arguments are."""
    name = function.__name__
    sentence, takes = next(row[1:] for row in (*_core.METHODS, *_core.CLOSED_FORMS) if row[0] == name)
    words = frozenset(TAKEN[word] for word, bit in _core.TAKES if takes & bit)
    reaches, all_joints = bool(takes & _core.REACHES), bool(takes & _core.ALL_JOINTS)
    METHODS[name] = Method(name, sentence, words, reaches, options_of(name), function, all_joints=all_joints)
    function.__signature__ = signature_of(function)  # type: ignore[attr-defined]
    function.__doc__ = document(METHODS[name], inspect.cleandoc(function.__doc__ or ""))
    return function


def enter_method(method: Method) -> None:
    """Enter a method that is composed in Python; what was known of another of that name is forgotten."""
    METHODS[method.name] = method
    arguments_of.cache_clear()
    _numbers_of.cache_clear()


def document(method: Method, text: str) -> str:
    """A docstring with what the arguments of a method are, before its examples."""
    text, mark, examples = text.partition("Examples\n")
    return f"{text.rstrip()}\n\n{_arguments_said(method)}{_RETURNS}{mark}{examples}"


def options_of(method: str) -> dict[str, Option]:
    """The options of a method of the core."""
    return {row[1]: _option(*row[1:]) for row in _core.METHOD_OPTIONS if row[0] == method}


def _option(name: str, kind: str, default: float, lowest: float, highest: float, sentence: str) -> Option:
    """A row of the table of the core."""
    number = {"double": float, "int": int, "switch": bool}[kind]
    if name in _NONE and default == 0:
        return Option(name, None, number(lowest), number(highest), sentence.replace("; 0:", "; None:"))
    return Option(name, number(default), number(lowest), number(highest), sentence)


# Options for which 0 means automatic or off in the core. Users write None.
_NONE = ("damping", "feedback", "filtering", "max_error", "max_step")


# What every typed function says of its arguments, as far as it has them.
_GIVEN = """\
Parameters
----------
skeleton : Skeleton
    The skeleton; its limits hold.
pose : Pose
    Where to start. The leading axes of poses and goals broadcast. The result is in its type of number.
goals : list of Goal
    What should be reached, together.
"""
_COMMON = {
    "moving": """\
moving : str, int or list of these, optional
    Who may move: a joint and all that hangs from it, or a list of joints. Of the joints on the chains of goals no other
    turns or slides. Default: all of these, where some goal is more than a guard (`Inside`, `Outside`) without chain.
""",
    "workers": """\
workers : int or None, optional
    How many threads, None for all cores. The result is the same to the bit.
""",
    "sequence": """\
sequence : bool, optional
    Axis 0 is time: each frame starts from the solution of the frame before, carried over as the correction of the
    animated pose, which fades (see `release`); and no joint moves faster than the speed and the acceleration of its
    limit let it.
""",
    "fps": """\
fps : float, optional
    How many frames are a second, in a sequence: for `release`, and for limits that have a speed or an acceleration.
""",
    "release": """\
release : float, optional
    In a sequence, the seconds in which what is left of a correction falls to a tenth where no goal asks for it: so a
    hand that is let go returns to the incoming pose, and is within a thousandth of the way after three times that. 0:
    each frame starts from the pose that comes in; ``math.inf``: nothing returns. Default: 0.25 where the pose has
    frames of its own; where one pose comes in for all, it is only where to start. Without `fps` a second has 30 frames.
""",
    "history": """\
history : bool, optional
    Keep the error of every iteration.
""",
    "goal_errors": """\
goal_errors : bool, optional
    Say by how much every goal is missed.
""",
    "strict": """\
strict : bool, optional
    Raise `UnusableError` where some item cannot be used (NaN, say), instead of one `UnusableWarning`.
""",
}
_RETURNS = """
Returns
-------
Solution
    Pose, status and errors of every item.

"""


def _arguments_said(method: Method) -> str:
    said = _GIVEN
    for name in arguments_of(method.name):
        if name in _COMMON or name in method.options:
            said += _COMMON[name] if name in _COMMON else _option_said(method.options[name])
    return said


def _option_said(option: Option) -> str:
    first, rest = option.sentence[0].upper(), option.sentence[1:]
    return f"{option.name} : {option.kind.__name__}, optional\n    {first}{rest} (default {option.default}).\n"


# Names that papers have for what is a method here with some of its options (docs/jacobians.md), or another name of one.
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
    """What a name that is no method's may mean, to be put behind an error; nothing if that is not clear."""
    for near in difflib.get_close_matches(name.lower(), [*METHODS, *KNOWN_AS], 1, 0.7):
        return f"; here {near} is {KNOWN_AS[near]}" if near in KNOWN_AS else f"; {near}?"
    return ""


def checked_options(method: str, options: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options, if the typed function of that method takes them."""
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
    return {name: own[name].checked(value) if name in own else value for name, value in options.items()}


# Frames in a second: no option of a method, but as one.
FRAMES_PER_SECOND = 30.0
FPS = Option("fps", FRAMES_PER_SECOND, 1e-6, 1e6, "how many frames are a second")

# A time: no option of a method, but as one.
RELEASE_TIME = 0.25
RELEASE = Option("release", RELEASE_TIME, 0.0, 1e6, "seconds in which what is left of a correction falls to a tenth")

# What is on or off beside the options of methods.
SWITCHES = ("sequence", "history", "goal_errors", "strict")


@functools.cache
def arguments_of(method: str) -> list[str]:
    """What the typed function of a method takes by name."""
    return list(inspect.signature(METHODS[method].function).parameters)[3:]


def with_defaults(method: str, shared: Shared) -> WithNullSpace:
    """Shared arguments of an iterative method, with the defaults of those that are not given."""
    if shared:
        for name in shared:
            if name not in arguments_of(method):
                raise TypeError(f"{method}() got an unexpected keyword argument {name!r}")
    given: Any = {**DEFAULTS, **shared}
    return given  # type: ignore[no-any-return]


def numbers_of(method: str, options: dict[str, Any]) -> tuple[float | None, ...]:
    """Options in the order of the core, None where they are not given."""
    try:
        return _numbers_of(method, tuple(options), *options.values())
    except TypeError:  # of a wrong type, which is said again; or an array, which cannot be looked up
        return _numbers_of.__wrapped__(method, tuple(options), *options.values())


@functools.lru_cache(maxsize=256, typed=True)
def _numbers_of(method: str, names: tuple[str, ...], *values: Any) -> tuple[float | None, ...]:
    """The same; who solves pose by pose gives the same ones again."""
    own, given = METHODS[method].options, dict(zip(names, values, strict=True))
    return tuple([own[name].checked(given[name]) if name in own and name in given else None for name in _core.OPTIONS])
