"""Functions on one item without NumPy's cost of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ikcore import _core

_F = TypeVar("_F", bound=Callable[..., Any])


def single(found: type[_core.Result], *, pose: int) -> Callable[[_F], _F]:
    """Put the solver's function in C before its typed one: it takes a single item and leaves everything else to that.

    `found` is the class of the result; `pose` is the number of arguments that decide the number type. The arguments are
    the solver's inputs, `out` if there is one, `workers` and `strict`.
    """

    def decorate(function: _F) -> _F:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        text = f"{function.__name__}{_bare_signature(function)}\n--\n\n{function.__doc__}"
        fast = _core.single(
            function.__name__, function, found, names, code.co_argcount, pose, text, function.__module__
        )
        return cast(_F, fast)

    return decorate


def _bare_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature without types, as that of C functions."""
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
