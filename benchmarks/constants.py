"""What the private numbers of the bake are for: `python benchmarks/constants.py [--seed SEED]`.

Every private constant of `ikcore.bake`, and of what finds contacts and soles, is made a fifth smaller and a fifth
larger, one at a time. Pieces of clips (protocols.py, whose IKCORE_MOCAP and IKCORE_TERRAIN it needs) are baked with it,
and what comes of that is baked again. Printed is for each how many of these bakes change, or say something else, and by
how much joints move at most. What changes nothing is listed last: none of these pieces is near to it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np
from judge import Array, size
from protocols import WALKS, piece_of, pieces, places_of
from run import table
from timing import QUICK, parser_of

import ikcore as ik
from ikcore import bake, feet

FIFTH = 0.2
LEAST = 1e-6  # metres: what is less is rounding
NOT_MOVED = re.compile(r"_TINY|_ROUNDING|_HIGH|_FAR|_DIGITS|HUMAN|LEG|_UNITS|_LOG_2")  # of numbers, or of units


def modules() -> list[ModuleType]:
    """Of both packages, in their order."""
    found = [
        info.name for package in (bake, feet) for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    return [importlib.import_module(name) for name in found]


def constants() -> Iterator[tuple[str, str, float]]:
    """Module, name and value of each; of those that others import too, where they are from."""
    for module in modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            own = re.search(rf"^(\w+, )*{name}(, \w+)* = ", source, re.MULTILINE)
            if own and isinstance(value, float) and name.isupper() and not NOT_MOVED.fullmatch(name):
                yield module.__name__, name, value


def subjects(seed: int) -> list[tuple[ik.Clip, ik.Ground]]:
    """The first piece of every walk on every ground of `--pieces`."""
    chosen = [case.arguments for case in pieces(seed) if case.arguments[2] < 1]
    assert {name for name, *_ in chosen} == set(WALKS)
    return [
        (piece_of(name, "anywhere", (seed, number)).clip, places_of(name)[place].ground)
        for name, seed, number, place in chosen
    ]


def places(clip: ik.Clip) -> Array:
    """Where its joints are."""
    return np.asarray(clip.skeleton.forward(clip.pose).positions)


def baked(clip: ik.Clip, ground: ik.Ground) -> tuple[ik.Clip, Sequence[str]]:
    """What a bake makes of it, and says; of one that is refused the clip."""
    try:
        found = ik.bake_feet(clip, ground)
    except ValueError as error:
        return clip, [str(error)]
    return found.clip, found.notes


def changes(was: tuple[Array, Sequence[str]], now: tuple[ik.Clip, Sequence[str]]) -> tuple[bool, float]:
    """Whether a bake is another, and how far joints are from where they were."""
    moved = float(size(places(now[0]) - was[0]).max())
    return moved > LEAST or now[1] != was[1], moved


def holders(module: str, name: str) -> list[ModuleType]:
    """Its module, and those that have it from there."""
    value = vars(importlib.import_module(module))[name]
    return [other for other in modules() if vars(other).get(name) is value]


def main() -> None:
    """Move each, and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=20261125, help="of the pieces")
    given = subjects(parser.parse_args().seed)[: 1 if QUICK else None]
    ways = [way for clip, ground in given for way in ((clip, ground), (baked(clip, ground)[0], ground))]
    before = [(places(clip), notes) for clip, notes in (baked(*way) for way in ways)]
    lines, idle = [], []
    for module, name, value in list(constants())[: 3 if QUICK else None]:
        count, most, where = 0, 0.0, holders(module, name)
        for factor in (1 - FIFTH, 1 + FIFTH):
            for holder in where:
                setattr(holder, name, value * factor)
            for way, was in zip(ways, before, strict=True):
                other, moved = changes(was, baked(*way))
                count, most = count + other, max(most, moved)
        for holder in where:
            setattr(holder, name, value)
        short = f"{module.removeprefix('ikcore.')}.{name}"
        if count:
            lines.append([short, f"{value:g}", f"{count} of {2 * len(ways)}", f"{1000 * most:.2g}"])
        else:
            idle.append(short)
    print("\n".join(table(["constant", "value", "bakes that change", "most, mm"], lines)))
    print(f"\n{len(idle)} change nothing: {', '.join(idle)}.")


if __name__ == "__main__":
    main()
