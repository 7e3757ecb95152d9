"""What the private numbers of the bake are for: `python benchmarks/constants.py [--seed SEED]`.

Every constant that stands alone in a module of `ikcore.bake` or `ikcore.feet` (none in C) is made a fifth smaller and
a fifth larger, one at a time, and what was made of it at import is not. Pieces of clips (protocols.py, whose
IKCORE_MOCAP and IKCORE_TERRAIN it needs) are baked with it, and what comes of that is baked again. Printed is for
each what its comment says, how many of these bakes change, or say something else, by how much joints move at most,
and the range in which it works: how far it may be changed, to half and to twice at most, so that no fewer values of
these pieces are within their bounds. What changes nothing, at a fifth, is listed last: none of these pieces is near
to it. Half an hour.
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
from protocols import WALKS, Case, piece_of, pieces, places_of, tried, use
from run import table
from timing import QUICK, parser_of

import ikcore as ik
from ikcore import bake, feet

FIFTH = 0.2
LESS, MORE = (0.8, 0.5), (1.25, 2.0)  # times its value, the nearer one first
LEAST = 1e-6  # metres: what is less is rounding
NOT_MOVED = re.compile(r"_TINY|_?ROUNDING|FAR|LEG|_UNITS|_LOG_2|_RATIO")  # of numbers, of units, and what ends no loop


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


def comment(module: str, name: str) -> str:
    """What is said of it where it is."""
    line = re.search(rf"^(\w+, )*{name}(, \w+)* = .*", inspect.getsource(importlib.import_module(module)), re.MULTILINE)
    return line[0].partition("  # ")[2] if line else ""


def chosen(seed: int) -> list[Case]:
    """The first piece of every walk on every ground of `--pieces`."""
    found = [case for case in pieces(seed) if case.arguments[2] < 1]
    assert {case.clip for case in found} == set(WALKS)
    return found


def subject(case: Case) -> tuple[ik.Clip, ik.Ground]:
    """What is baked in it, and on what."""
    name, seed, number, place = case.arguments
    return piece_of(name, "anywhere", (seed, number)).clip, places_of(name)[place].ground


def within(cases: Sequence[Case]) -> int:
    """How many values are within their bounds."""
    return sum(row.ok for case in cases for row in tried(case).rows)


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


class Moved:
    """A constant wherever it is held, that can be made another one."""

    def __init__(self, module: str, name: str, value: float) -> None:
        self.holders, self.name, self.value = holders(module, name), name, value

    def times(self, factor: float) -> None:
        """So many times what it was."""
        for holder in self.holders:
            setattr(holder, self.name, self.value if factor == 1 else self.value * factor)

    def range(self, cases: Sequence[Case], least: int) -> str:
        """From where to where so many values are within their bounds."""
        ends = []
        for factors in (LESS, MORE):
            works = 1.0
            for factor in factors:
                self.times(factor)
                if within(cases) < least:
                    break
                works = factor
            ends.append(works)
        return " to ".join(f"{self.value * end:.3g}" for end in ends)


def main() -> None:
    """Move each, and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=20261125, help="of the pieces")
    cases = chosen(parser.parse_args().seed)[: 1 if QUICK else None]
    given = [subject(case) for case in cases]
    ways = [way for clip, ground in given for way in ((clip, ground), (baked(clip, ground)[0], ground))]
    before = [(places(clip), notes) for clip, notes in (baked(*way) for way in ways)]
    use("bake")
    lines, idle, fine = [], [], within(cases)
    for module, name, value in list(constants())[: 3 if QUICK else None]:
        count, most, constant = 0, 0.0, Moved(module, name, value)
        for factor in (1 - FIFTH, 1 + FIFTH):
            constant.times(factor)
            for way, was in zip(ways, before, strict=True):
                other, moved = changes(was, baked(*way))
                count, most = count + other, max(most, moved)
        short = f"{module.removeprefix('ikcore.')}.{name}"
        if count:
            share, works = f"{count} of {2 * len(ways)}", constant.range(cases, fine)
            lines.append([short, f"{value:g}", works, share, f"{1000 * most:.2g}", comment(module, name)])
        else:
            idle.append(short)
        constant.times(1)
    print("\n".join(table(["constant", "value", "works in", "bakes that change", "most, mm", "what"], lines)))
    print(f"\n{len(idle)} change nothing: {', '.join(idle)}.")


if __name__ == "__main__":
    main()
