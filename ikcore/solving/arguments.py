"""Keyword arguments that all iterative methods share: their types and defaults, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypedDict

from ikcore.solving.tasks import Moving


class SharedOptions(TypedDict, total=False):
    """Keyword arguments of every iterative method; `DEFAULTS` has their defaults."""

    iterations: int
    tolerance: float
    rotation_tolerance: float
    moving: Moving
    workers: int | None
    sequence: bool
    fps: float | None
    release: float | None
    history: bool
    goal_errors: bool
    strict: bool


class IteratedOptions(SharedOptions, total=False):
    """The same, with those of methods that can stall."""

    textbook: bool
    restarts: int


class WithNullSpace(IteratedOptions, total=False):
    """The same, with what joints do in the null space of the goals."""

    posture: float
    manipulability: float
    settle: bool


# In the order in which signatures show them; a method's own options come before `posture`.
DEFAULTS: WithNullSpace = {
    "iterations": 200,
    "tolerance": 1e-5,
    "rotation_tolerance": 1e-4,
    "textbook": False,
    "restarts": 0,
    "posture": 0.0,
    "manipulability": 0.0,
    "settle": False,
    "moving": None,
    "workers": 1,
    "sequence": False,
    "fps": None,
    "release": None,
    "history": False,
    "goal_errors": False,
    "strict": False,
}

# Those that the core calls options; the others are arguments of the Python functions.
OPTIONS = tuple(DEFAULTS)[: tuple(DEFAULTS).index("moving")]


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a method's typed function, with its shared arguments one by one."""
    plain = inspect.signature(function)
    given = list(plain.parameters.values())
    if given[-1].kind is not inspect.Parameter.VAR_KEYWORD:
        return plain
    (kind,) = [
        one
        for one in (SharedOptions, IteratedOptions, WithNullSpace)
        if given[-1].annotation == f"Unpack[{one.__name__}]"
    ]
    keyword, said = inspect.Parameter.KEYWORD_ONLY, kind.__annotations__
    shared = [
        inspect.Parameter(name, keyword, default=default, annotation=said[name].__forward_arg__)
        for name, default in DEFAULTS.items()
        if name in said
    ]
    first = [one for one in shared if one.name in _FIRST]
    return plain.replace(parameters=[*given[:3], *first, *given[3:-1], *(one for one in shared if one not in first)])


_FIRST = ("iterations", "tolerance", "rotation_tolerance", "textbook", "restarts")
