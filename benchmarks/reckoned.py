"""Numbers that feet and bakes reckon with.

All that have a name and a fraction in a module of `ikcore.bake` or `ikcore.feet`: not counts, nor what is in C.
constants.py finds out what each is for, and in which range it works; docs/numbers.md has that.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

from ikcore import bake, feet

# Of mathematics, of units, and what only has to be large or small enough.
LEFT_OUT = re.compile(r"_TINY|_?ROUNDING|FAR|LEG|_LOG_2|_RATIO|_FOURTH|_DEVIATION")
Number = tuple[str, str, float]  # its module, its name and its value


def modules() -> list[ModuleType]:
    """Of both packages, in their order."""
    found = [
        info.name for package in (bake, feet) for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    return [importlib.import_module(name) for name in found]


def numbers() -> Iterator[Number]:
    """Of all modules, where they are from; not what is made of others."""
    for module in modules():
        for name, value in vars(module).items():
            known = isinstance(value, float) and name.isupper() and not LEFT_OUT.fullmatch(name)
            if known and re.fullmatch(r"[^A-Z_]+", said(module.__name__, name)[0]):
                yield module.__name__, name, value


def said(module: str, name: str) -> tuple[str, str]:
    """What a module has a name for, and its comment; nothing of what others have."""
    line = re.search(
        rf"^(\w+, )*{name}(, \w+)* = (.*)", inspect.getsource(importlib.import_module(module)), re.MULTILINE
    )
    made, _, comment = line[3].partition("  # ") if line else ("", "", "")
    return made, comment


def made_of(module: str, name: str) -> dict[str, str]:
    """What a module makes of a number, and of that, by name, in its order."""
    found = {name: ""}
    for other in vars(importlib.import_module(module)):
        made = said(module, other)[0] if other.isupper() else ""
        if any(re.search(rf"\b{each}\b", made) for each in found):
            found[other] = made
    del found[name]
    return found
