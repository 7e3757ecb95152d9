"""Time for smooth curves, compared with one banded solve by SciPy: `python benchmarks/smooth.py [--quick]`.

One problem is a pelvis that follows the targets of legs within their reach. The other is feet that are pinned in stance
and pass over obstacles in between. SciPy's solveh_banded (LAPACK's dpbsv) solves the same problem without bounds, one
channel per call; without SciPy its columns are empty. Prints Markdown. As in run.py, all variants of a row run in turn
in one process, and the minimum is kept.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import platform
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run import best_isa, isas, processor, significant, table
from timing import QUICK, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore import _core

SIZES = ((20, 8),) if QUICK else ((500, 64), (10_000, 8), (100_000, 8))  # frames, channels
ROUNDS = 1 if QUICK else 9
FPS, SEED = 60.0, 20261122
Problem = dict[str, NDArray[Any]]


def main() -> None:
    """Measure and print."""
    parser_of(__doc__).parse_args()
    load = load_now()
    makers = {"nothing presses": free, "pelvis": pelvis, "feet": feet}
    rows = [row_of(name, make(*size)) for name, make in makers.items() for size in SIZES]
    print(f"- {date.today()}, {processor()}, load {load:.1f} before and {load_now():.1f} after")
    print(f"- {platform.system()}, ikcore {_core.__version__}, NumPy {np.__version__}, {ROUNDS} rounds, seed {SEED}")
    print("- nanoseconds a frame of a channel; systems: the banded ones that are factored, the median and the most\n")
    header = ["problem", "frames", "channels", "systems", *isas(), "`ik.smooth`", "SciPy", "of SciPy"]
    print("\n".join(table(header, rows)))


def row_of(name: str, problem: Problem) -> list[str]:
    """The kernel by instruction set, the public function, and SciPy without bounds."""
    frames, channels = problem["wanted"].shape
    operands = [np.ascontiguousarray(problem[key].T) for key in ("wanted", "lower", "upper", "pull")]
    found: Any = (np.empty((channels, frames)), *np.empty((2, channels), np.int32))
    whole: Any = (*operands, FPS, 0.0, False, *found)
    kernel = functools.partial(_core.smooth, *whole)
    variants = {isa: Variant(kernel, functools.partial(_core.use_isa, isa)) for isa in isas()}
    given: Any = problem
    variants["smooth"] = Variant(functools.partial(ik.smooth, fps=FPS, **given), best_isa)
    if importlib.util.find_spec("scipy"):
        variants["SciPy"] = Variant(functools.partial(banded, operands[0], operands[3]))
    each = {name: timing.best / (frames * channels) * 1e9 for name, timing in round_robin(variants, ROUNDS).items()}
    best_isa()
    systems = f"{int(np.median(found[2]))}, {found[2].max()}"
    scipy = each.get("SciPy")
    shown = [significant(each[key]) for key in (*isas(), "smooth")]
    ratio = ["", ""] if scipy is None else [significant(scipy), f"{each['smooth'] / scipy:.1f}"]
    return [name, f"{frames:,}", str(channels), systems, *shown, *ratio]


def banded(wanted: NDArray[Any], pull: NDArray[Any]) -> None:
    """Solve every channel without bounds."""
    solve = importlib.import_module("scipy.linalg").solveh_banded
    frames = wanted.shape[1]
    bands = np.zeros((3, frames))
    for first, second, product in ((0, 0, 1), (1, 1, 4), (2, 2, 1), (0, 1, -2), (1, 2, -2), (0, 2, 1)):
        bands[second - first, first : frames - 2 + first] += product
    for channel, weights in zip(wanted, pull / FPS**4, strict=True):
        solve(np.concatenate([bands[:1] + weights, bands[1:]]), weights * channel, lower=True, check_finite=False)


def free(frames: int, channels: int) -> Problem:
    """A pelvis with distant bounds."""
    problem = pelvis(frames, channels)
    return problem | {"lower": problem["lower"] - 9, "upper": problem["upper"] + 9}


def pelvis(frames: int, channels: int) -> Problem:
    """A pelvis drawn to new heights three times a second, near an upper bound."""
    random = np.random.default_rng(SEED)
    wanted = np.repeat(random.normal(0, 0.05, (frames // 20 + 1, channels)), 20, axis=0)[:frames]
    upper = wanted + random.exponential(0.02, wanted.shape)
    pull = np.full(wanted.shape, 1 / 0.25**4)
    return {"wanted": wanted, "lower": np.full(wanted.shape, -np.inf), "upper": upper, "pull": pull}


def feet(frames: int, channels: int) -> Problem:
    """Feet pinned half of the time, and over obstacles in between."""
    random = np.random.default_rng(SEED)
    wanted, swings = np.zeros((frames, channels)), (np.arange(frames) // 25 % 2)[:, np.newaxis] > 0
    stairs = np.repeat(random.normal(0, 0.1, (frames // 50 + 1, channels)), 50, axis=0)[:frames]
    obstacles = np.where(random.random(wanted.shape) < 0.5, stairs + random.normal(0, 0.05, wanted.shape), -np.inf)
    lower, upper = np.where(swings, obstacles, stairs), np.where(swings, np.inf, stairs)
    return {"wanted": wanted, "lower": lower, "upper": upper, "pull": np.full(wanted.shape, 1.0)}


if __name__ == "__main__":
    main()
