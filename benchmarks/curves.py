"""Speed of chains laid along curves, and of twist distribution: `python benchmarks/curves.py [--quick]`.

Ten bones along a curve of four pieces, and the twist of ten joints. The curves of a batch are frames of a clip, with
small changes between neighbours, or independent. As in run.py, all variants of a row run in turn in one process, and
the minimum is kept. Prints Markdown.
"""

from __future__ import annotations

import functools
import platform
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import best_isa, isas, processor, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore import _core

ITEMS = 32 if QUICK else 4096
ROUNDS = 1 if QUICK else 9
BONES, SEED = 10, 20261123
Operands = list[NDArray[Any]]


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    load = load_now()
    rows = []
    for dtype in ("float32", "float64"):
        clip, own, shares = laid(moving=True), laid(moving=False), np.ones(BONES + 1)
        stretched = [*clip[:2], shares, *clip[3:]]
        made = {"spline, frames": clip, "spline, curves of their own": own, "spline, stretched": stretched}
        rows += [row_of(name, dtype, _core.spline, operands) for name, operands in made.items()]
        rows.append(row_of("spread_twist", dtype, _core.spread_twist, turned()))
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, {ITEMS:,} items, {ROUNDS} rounds, seed {SEED}")
    print("- nanoseconds an item; last, how many times as fast as scalar the best instruction set is\n")
    print("\n".join(table(["problem", "numbers", *isas(), "times"], rows)))


def row_of(name: str, dtype: str, solver: np.ufunc, operands: Operands) -> list[str]:
    """A solver by instruction set."""
    run = functools.partial(solver, *[operand.astype(dtype) for operand in operands])
    variants = {isa: Variant(run, functools.partial(_core.use_isa, isa)) for isa in isas()}
    each = [timing.best / ITEMS * 1e9 for timing in round_robin(variants, ROUNDS).values()]
    best_isa()
    return [name, dtype, *map(significant, each), f"{each[0] / min(each):.1f}"]


def laid(*, moving: bool) -> Operands:
    """Chains slightly shorter than their curves."""
    rng = np.random.default_rng(SEED)
    through = np.cumsum(rng.uniform(0.2, 1, (1 if moving else ITEMS, 5, 3)), axis=1)
    through = through + 1e-4 * np.arange(ITEMS)[:, None, None] * rng.standard_normal((5, 3))
    chain = np.outer(np.arange(BONES + 1), [0.2, 0, 0])
    return [np.tile(chain, (ITEMS, 1, 1)), ik.closed_forms.curve_through(through), *[np.empty(0)] * 7]


def turned() -> Operands:
    """Rotations of collinear joints."""
    rng = np.random.default_rng(SEED)
    rests, axes = np.tile([1.0, 0, 0, 0], (BONES, 1)), np.tile([1.0, 0, 0], (BONES, 1))
    return [rng.standard_normal((ITEMS, BONES, 4)), rests, axes, np.empty(0)]


if __name__ == "__main__":
    main()
