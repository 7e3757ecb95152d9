"""What the numbers of the bake are for: `python benchmarks/constants.py [--seed SEED]`.

Every number that reckoned.py lists is made a fifth smaller and a fifth larger, one at a time, with what is made of it.
Pieces of clips (protocols.py, whose IKCORE_MOCAP and IKCORE_TERRAIN it needs) are baked with it, and what comes of that
is baked again. Printed is for each the range in which it works: how far it may be changed, to 4/5 and 5/4, then to half
and to twice, so that no fewer values of these pieces are within their bounds; how many of these bakes change, or say
something else, by a fifth, by how much joints move at most; and what its comment says. That is the table of
docs/numbers.md. A quarter of an hour.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from judge import Array, size
from protocols import WALKS, Case, piece_of, pieces, places_of, tried, use
from reckoned import Number, made_of, modules, numbers, said
from run import table
from timing import QUICK, parser_of

import ikcore as ik

FIFTH = 0.2
LESS, MORE = (0.8, 0.5), (1.25, 2.0)  # times its value, the nearer one first
LEAST = 1e-6  # metres: what is less is rounding


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


class Moved:
    """A number wherever it is held, that can be made another one."""

    def __init__(self, number: Number) -> None:
        self.module, self.name, self.value = number
        self.home = importlib.import_module(self.module)
        self.made = made_of(self.module, self.name)
        self.holders = {
            name: [other for other in modules() if other.__dict__.get(name) is vars(self.home)[name]]
            for name in (self.name, *self.made)
        }

    def times(self, factor: float) -> None:
        """So many times what it was, and what is made of it."""
        self._set(self.name, self.value if factor == 1 else self.value * factor)
        for name, made in self.made.items():
            self._set(name, eval(made, vars(self.home)))
        for each in (value for module in modules() for value in vars(module).values()):
            getattr(each, "cache_clear", lambda: None)()  # what was found by other numbers

    def _set(self, name: str, value: float) -> None:
        for holder in self.holders[name]:
            setattr(holder, name, value)

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


class Pieces:
    """Of clips, as they are baked with numbers as they are."""

    def __init__(self, seed: int) -> None:
        use("bake")
        self.cases = chosen(seed)[: 1 if QUICK else None]
        given = [subject(case) for case in self.cases]
        self.ways = [way for clip, ground in given for way in ((clip, ground), (baked(clip, ground)[0], ground))]
        self.before = [(places(clip), notes) for clip, notes in (baked(*way) for way in self.ways)]
        self.fine = within(self.cases)

    def row(self, number: Number) -> list[str]:
        """What one of them does."""
        count, most, moved = 0, 0.0, Moved(number)
        for factor in (1 - FIFTH, 1 + FIFTH):
            moved.times(factor)
            for way, was in zip(self.ways, self.before, strict=True):
                other, far = changes(was, baked(*way))
                count, most = count + other, max(most, far)
        works = moved.range(self.cases, self.fine)
        moved.times(1)
        module, name, value = number
        share = f"{count} of {2 * len(self.ways)}"
        short = f"{module.removeprefix('ikcore.')}.{name}"
        return [short, f"{value:g}", works, share, f"{1000 * most:.2g}", said(module, name)[1]]


@functools.cache
def known(seed: int) -> Pieces:
    """Once in every process."""
    return Pieces(seed)


def row(seed: int, number: Number) -> list[str]:
    """In one of them."""
    return known(seed).row(number)


def main() -> None:
    """Move each, and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=20261125, help="of the pieces")
    parser.add_argument("--workers", type=int, default=2)
    arguments, moved = parser.parse_args(), list(numbers())[: 3 if QUICK else None]
    with ProcessPoolExecutor(arguments.workers) as pool:
        lines = list(pool.map(functools.partial(row, arguments.seed), moved))
    print("\n".join(table(["number", "value", "works in", "bakes that change", "most, mm", "what"], lines)))


if __name__ == "__main__":
    main()
