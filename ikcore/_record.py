"""Immutable classes with a few values: frozen dataclasses that take a quarter of the time to create.

A frozen dataclass has four or more functions generated and compiled for it, each time Python imports it. These classes
generate `__init__` only and share the others. In all else they are dataclasses: fields, `dataclasses.replace`, and
static type checks.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class immutable, with slots.

    An object is equal only to itself, unless the class says ``__eq__, __hash__ = same_fields, hash_of_fields``.
    """
    made: Any = dataclass(init=False, repr=False, eq=False, slots="__slots__" not in vars(cls))(cls)
    for name, function in vars(_RecordMethods).items():
        if callable(function) and name not in vars(made):
            setattr(made, name, function)
    if "__init__" not in vars(made):
        made.__init__ = _init_of(made)
    return cast(type[T], made)


def same_fields(self: Any, other: object) -> bool:
    """True if another object of the same class has equal fields."""
    return _comparison_values(self) == _comparison_values(other) if type(other) is type(self) else NotImplemented


def hash_of_fields(self: Any) -> int:
    """A hash that is the same for equal objects."""
    return hash(_comparison_values(self))


def _comparison_values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, item.name) for item in fields(self) if item.compare])


def _init_of(cls: Any) -> Any:
    """The function that sets the fields: from positional arguments, then from keyword-only ones."""
    all_ = fields(cls)
    positional = [item for item in all_ if item.init and not item.kw_only]
    by_name = [item for item in all_ if item.init and item.kw_only]
    given = ", ".join(["self", *map(_argument, positional), *["*"] * bool(by_name), *map(_argument, by_name)])
    body = [f"_set_{item.name}(self, {item.name})" for item in all_ if item.init]
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    scope = {f"_set_{item.name}": getattr(cls, item.name).__set__ for item in all_}
    exec(f"def __init__({given}):\n {'; '.join(body)}", scope)
    init = scope["__init__"]
    init.__defaults__ = tuple(item.default for item in positional if item.default is not MISSING)
    init.__kwdefaults__ = {item.name: item.default for item in by_name if item.default is not MISSING}
    init.__annotations__ = {item.name: item.type for item in (*positional, *by_name)} | {"return": "None"}
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


def _argument(item: Any) -> str:
    return str(item.name) if item.default is MISSING else f"{item.name}=None"


class _RecordMethods:
    """Methods that all records share."""

    def __repr__(self: Any) -> str:
        shown = [f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self: Any, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, item.name) for item in fields(self)]

    def __setstate__(self: Any, values: list[Any]) -> None:
        for item, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, item.name, value)
