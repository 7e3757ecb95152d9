"""Speed of `two_bone`, compared with its lower bounds: `python benchmarks/run.py [--quick] [--json FILE]`.

Everything runs in one process, with all variants in turn every round, and the minimum is kept. Only ratios within a run
are meaningful. Prints Markdown, for docs/records/figures.md.
"""

from __future__ import annotations

import functools
import itertools
import json
import platform
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import packages
from instructions import cc
from problems import DISTRIBUTION, SEED, Problems, Verdict, arrays_of, in_reach, judge, random_problems
from rivals import FLAGS, conventional_c, conventional_numpy
from timing import QUICK, Timing, Variant, load_now, parser_of, round_robin

import ikcore as ik
from ikcore import _core
from ikcore._threads import thread_count

DISTINCT = (
    64 if QUICK else 16_384
)  # number of limbs that smaller batches cycle through, so that branches are not learnt
WORTH_NUMPY = 64  # smallest batch for whole-array NumPy: below, it is only overhead
ISAS = ("scalar", "base", "avx2", "avx512")
DTYPES = ("float32", "float64")
NAMES = {1: "1", 8: "8", 64: "64", 1024: "1k", 16_384: "16k", 1 << 20: "1M"}
ROUNDS = 1 if QUICK else 15

Figures = dict[str, dict[int, dict[str, Timing]]]  # by dtype, N and variant; seconds per item


def main() -> None:
    """Measure, print, and write the measurements."""
    parser = parser_of(__doc__)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there as well")
    arguments = parser.parse_args()
    sizes = [size for size in NAMES if not QUICK or size <= DISTINCT]

    load = load_now()
    problems = {dtype: random_problems(max(sizes), dtype) for dtype in DTYPES}
    with tempfile.TemporaryDirectory() as folder:
        rivals = {dtype: conventional_c(folder, dtype) for dtype in DTYPES}
        verdicts = {dtype: verdicts_of(problems[dtype], rivals[dtype]) for dtype in DTYPES}
        batches = {dtype: {size: batch(problems[dtype], size, rivals[dtype]) for size in sizes} for dtype in DTYPES}
    peers, missing = packages.installed()
    searched = round_robin({name: Variant(functools.partial(reach_all, limb)) for name, limb in peers.items()}, 3)
    misses = {name: packages.misses(limb) for name, limb in peers.items()}

    conditions = describe(problems["float64"], load)
    tables = [batch_table(batches, verdicts), limit_table(batches), package_table(searched, misses, missing)]
    print("\n".join([*conditions, *itertools.chain.from_iterable(["", *lines] for lines in tables)]))
    if arguments.json:
        result = {
            "conditions": conditions,
            "batches": plain(batches),
            "verdicts": plain(verdicts),
            "packages": plain(searched),
        }
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


# --- measurements


def batch(problems: Problems, size: int, rival: Callable[..., Any]) -> dict[str, Timing]:
    """Every solver on batches of one size, and a copy of as many bytes: seconds per item."""
    count = max(size, DISTINCT)
    blocks = [slice(start, start + size) for start in range(0, count, size)]
    dtype = problems.root.dtype.name
    out = ik.closed_forms.LimbSolution.empty(count, dtype)
    parts = [(problems.part(block), part_of(out, block)) for block in blocks]

    variants = {isa: Variant(solve_all(parts), functools.partial(_core.use_isa, isa)) for isa in isas()}
    if size >= DISTINCT:
        variants["best, workers=2"] = Variant(solve_all(parts, workers=2), best_isa)
        variants["copy"] = Variant(copy_of(moved_bytes(dtype) * size))
    variants["acos, C"] = Variant(run_all([rival(*part) for part in parts]))
    if size >= WORTH_NUMPY:
        variants["acos, NumPy"] = Variant(run_all([functools.partial(conventional_numpy, *part) for part in parts]))
    timings = round_robin(variants, ROUNDS)
    best_isa()
    return {name: Timing(timing.best / count, timing.spread) for name, timing in timings.items()}


def isas() -> list[str]:
    """The instruction sets of this processor."""
    found = [isa for isa in ISAS if _core.use_isa(isa) == isa]
    best_isa()
    return found


def best_isa() -> None:
    """Use the widest available vectors."""
    _core.use_isa(None)


def solve(problems: Problems, out: ik.closed_forms.LimbSolution, workers: int = 1) -> None:
    """Solve a batch as a user does."""
    root, mid, end, target, pole = arrays_of(problems)
    ik.two_bone(root, mid, end, target, pole=pole, out=out, workers=workers)


def solve_all(parts: list[tuple[Problems, ik.closed_forms.LimbSolution]], workers: int = 1) -> Callable[[], None]:
    """Solve one batch after another, with minimal overhead around the calls."""
    return run_all([functools.partial(solve, *part, workers=workers) for part in parts])


def run_all(calls: list[Callable[[], None]]) -> Callable[[], None]:
    """One call of all of them."""

    def run() -> None:
        for call in calls:
            call()

    return run


def results_of(out: ik.closed_forms.LimbSolution) -> tuple[np.ndarray, ...]:
    """The arrays of a result."""
    return out.root, out.mid, out.positions, out.status, out.error, out.flip, out.stretch


def part_of(out: ik.closed_forms.LimbSolution, block: slice) -> ik.closed_forms.LimbSolution:
    """Some items of a result, as views."""
    return ik.closed_forms.LimbSolution(*(array[block] for array in results_of(out)))


def moved_bytes(dtype: str) -> int:
    """Bytes that an item reads and writes if every number is touched once."""
    arrays = (*arrays_of(random_problems(1, dtype)), *results_of(ik.closed_forms.LimbSolution.empty(1, dtype)))
    return sum(array.nbytes for array in arrays)


def copy_of(moved: int) -> Callable[[], None]:
    """A NumPy copy of that many bytes: half of them read, half of them written."""
    source, target = (np.full(moved // 2, fill, np.uint8) for fill in (1, 2))
    return functools.partial(np.copyto, target, source)


def reach_all(limb: packages.Limb) -> None:
    """Every target of packages.py, one per call."""
    for target in packages.targets():
        limb[0](target)


def verdicts_of(problems: Problems, rival: Callable[..., Any]) -> dict[str, Verdict]:
    """Judge the answers of every solver. All must agree: the same rotations for almost every limb."""
    out = ik.closed_forms.LimbSolution.empty(len(problems.root), problems.root.dtype)
    solvers = {isa: functools.partial(solve, problems, out) for isa in isas()}
    solvers |= {"acos, C": rival(problems, out), "acos, NumPy": functools.partial(conventional_numpy, problems, out)}
    verdicts, first = {}, None
    for name, solver in solvers.items():
        _core.use_isa(name if name in ISAS else None)
        solver()
        verdicts[name] = judge(problems, out.root, out.mid)
        first = out.root.copy() if first is None else first
        if np.median(abs(abs((out.root * first).sum(-1)) - 1)) > 1e-5:
            raise SystemExit(f"{name} does not solve the same problem")
    best_isa()
    return verdicts | {"best, workers=2": verdicts[isas()[-1]]}


# --- output


def describe(problems: Problems, load: float) -> list[str]:
    """The conditions of a run."""
    reachable = np.mean(in_reach(problems))
    return [
        f"- {date.today()}, {processor()}, {thread_count(None)} cores, load {load:.1f}, then {load_now():.1f}",
        f"- {platform.system()}, ikcore {_core.__version__} ({', '.join(isas())}), NumPy {np.__version__}, "
        f"Python {platform.python_version()}",
        f"- conventional.c: {compiler()} {' '.join(FLAGS)}",
        f"- {ROUNDS} rounds, all variants in turn, minimum kept",
        f"- {len(problems.root):,} distinct limbs, seed {SEED}: {DISTRIBUTION}; {reachable:.1%} in reach; batches "
        f"below {DISTINCT:,} go through the first {DISTINCT:,} of them",
    ]


def processor() -> str:
    """Name, family and model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    about = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return (
        f"{about.get('model name', platform.machine())} (family {about.get('cpu family')}, model {about.get('model')})"
    )


def compiler() -> str:
    """The first line of the compiler's version."""
    command = [*cc(), "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def batch_table(batches: Figures, verdicts: dict[str, dict[str, Verdict]]) -> list[str]:
    """Nanoseconds per item, and the speed-up over the scalar instance of the same run."""
    sizes = list(batches["float32"])
    header = ["numbers", "solver", "solved", "worst error", *(f"N = {NAMES[size]}" for size in sizes)]
    rows = []
    for dtype in DTYPES:
        for name, verdict in verdicts[dtype].items():
            by_size = (batches[dtype][size] for size in sizes)
            cells = [cell(timings.get(name), timings["scalar"]) for timings in by_size]
            rows.append([dtype, name, share(verdict.solved), f"{verdict.worst:.0e}", *cells])
    spreads = [t.spread for by_size in batches.values() for timings in by_size.values() for t in timings.values()]
    return [
        "Nanoseconds an item (times faster than `scalar` at that N). `solved`: of the targets in reach, those that the "
        "end is on by forward kinematics of the rotations, to 1e-5 or 1e-12 of the reach; `worst error` likewise. "
        f"The median of the rounds was {np.median(spreads):.2f} times the minimum shown, at worst {max(spreads):.2f}.",
        "",
        *table(header, rows),
    ]


def cell(timing: Timing | None, scalar: Timing) -> str:
    """One figure and its ratio."""
    return f"{significant(timing.best * 1e9)} ({scalar.best / timing.best:.2g}x)" if timing else ""


def limit_table(batches: Figures) -> list[str]:
    """Time relative to a copy of as many bytes, and the gain by a second worker."""
    rows = []
    for dtype, size in itertools.product(DTYPES, batches["float32"]):
        timings = batches[dtype][size]
        if "copy" not in timings:
            continue
        copy, moved = timings["copy"].best, moved_bytes(dtype)
        one, two = timings[isas()[-1]].best, timings["best, workers=2"].best
        bandwidth = f"{moved / copy / 1e9:.1f} GB/s"
        shares = [f"{copy / timings[isa].best:.0%}" for isa in isas()]
        rows.append([dtype, NAMES[size], f"{moved} B", bandwidth, *shares, f"{copy / two:.0%}", f"{one / two:.2f}x"])
    header = ["numbers", "N", "an item", "`np.copyto`", *isas(), "workers=2", "workers=2 / 1"]
    return [
        "The share of the copy bandwidth, one thread's, that is reached: every input and output of the Python function "
        "touched once against `np.copyto` of as many bytes (read and written) in the same rounds.",
        "",
        *table(header, rows),
    ]


def package_table(searched: dict[str, Timing], misses: dict[str, np.ndarray], missing: list[str]) -> list[str]:
    """Iterative packages, one target per call."""
    rows = []
    for name, timing in searched.items():
        solved = share(float(np.mean(misses[name] <= packages.TOLERANCE)))
        rows.append([name, solved, f"{misses[name].max():.0e}", significant(timing.best / packages.COUNT * 1e6)])
    return [
        f"One limb a call, {packages.COUNT} targets in reach, 3 rounds; the packages search, without a pole. `solved`: "
        f"to {packages.TOLERANCE:.0e} of the reach, which those are told that ask.",
        "",
        *table(["package", "solved", "worst error", "us"], rows),
        *(["", " ".join(missing)] if missing else []),
    ]


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows]]


def share(x: float) -> str:
    """A percentage that is 100 only if all are."""
    return "100 %" if x == 1 else f"{min(x * 100, 99.999):.3f} %"


def significant(x: float) -> str:
    """Three digits, without an exponent."""
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def plain(figures: Any) -> Any:
    """The figures as types that JSON supports."""
    if isinstance(figures, dict):
        return {str(key): plain(value) for key, value in figures.items()}
    return asdict(figures)


if __name__ == "__main__":
    main()
