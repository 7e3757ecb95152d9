"""Timing that is robust on a busy machine: all variants in turn, round after round, and the minimum of each.

Every benchmark has the option `--quick`: one round of few items, in seconds. It tests the benchmark; its figures are
meaningless.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

QUICK = "--quick" in sys.argv[1:]


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """The options of every benchmark."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of little: shows that it runs, not how fast")
    return parser


def load_now() -> float:
    """The mean number of runnable processes in the last minute; NaN if the system does not provide it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


@dataclass(frozen=True)
class Variant:
    """A variant to measure: `prepare` is not timed and sets the state that `run` needs."""

    run: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Timing:
    """Seconds per run: the minimum over the rounds, and the ratio of the median to it."""

    best: float
    spread: float


def round_robin(
    variants: Mapping[str, Variant],
    rounds: int,
    least: float = 0.003,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Measure every variant once per round; each measurement repeats its run for at least `least` seconds.

    The clock `time.process_time` is less sensitive to other processes, and adds up threads.
    """
    rounds, least = (1, 0) if QUICK else (rounds, least)
    repeats = {name: max(1, round(least / max(_once(variant, 1, clock), 1e-9))) for name, variant in variants.items()}
    times: dict[str, list[float]] = {name: [] for name in variants}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, variant in variants.items():
                times[name].append(_once(variant, repeats[name], clock))
    finally:
        gc.enable()
    return {name: Timing(min(all_), statistics.median(all_) / min(all_)) for name, all_ in times.items()}


def _once(variant: Variant, repeats: int, clock: Callable[[], float]) -> float:
    variant.prepare()
    start = clock()
    for _ in range(repeats):
        variant.run()
    return (clock() - start) / repeats
