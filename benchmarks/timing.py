"""Timing that a noisy machine spoils least: all variants in turn, round after round, and the minimum of each.

Every benchmark takes `--quick`: one round of little, in seconds. Its figures mean nothing; that they come does.
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
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of little: shows that it runs, not how fast")
    return parser


def load_now() -> float:
    """How many processes want a processor, over the last minute; not a number where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


@dataclass(frozen=True)
class Variant:
    """One thing to measure: `prepare` is not timed and puts the process into the state that `run` needs."""

    run: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Timing:
    """Seconds a run: the minimum over the rounds, and how far the median was above it (1 = not at all)."""

    best: float
    spread: float


def round_robin(
    variants: Mapping[str, Variant],
    rounds: int,
    least: float = 0.003,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Measure every variant once a round; each measurement repeats its run until `least` seconds are full.

    With `time.process_time` as clock what else runs meanwhile counts for less; threads add up.
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
