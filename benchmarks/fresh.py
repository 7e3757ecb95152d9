"""Latencies in a new Python process: `python benchmarks/fresh.py [--quick]`.

Every figure comes from separate processes, run one after another. Each imports the library, makes limbs and poses, and
measures one variant after the other. It keeps the median of the calls; the result is the median of the processes. First
calls are listed separately. If numba is installed, it has compiled before, because the processes share its cache.
Prints Markdown, for docs/records/figures.md.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from timing import QUICK, parser_of

LIMBS, BONES = (256, 10) if QUICK else (10_000, 10)
PROCESSES, CALLS = (1, 3) if QUICK else (7, 60)
DTYPES = ("float64", "float32")
TWO = "ikcore, two results kept at a time"
POSE, BATCH = "one pose a call, doubles", f"{LIMBS} poses a call, doubles"
TABLES = {POSE: "us", BATCH: "ns a pose"}


def main() -> None:
    """Start the processes and print their results."""
    parser = parser_of(__doc__)
    parser.add_argument("--one", action="store_true", help="be one of the processes")
    if parser.parse_args().one:
        print(json.dumps(measured()))
        return
    with tempfile.TemporaryDirectory() as cache:
        said = [one_process(cache) for _ in range(PROCESSES + 1)][1:]  # the first one compiles numba code, and Python's
    figures = {name: statistics.median(process[name] for process in said if name in process) for name in said[0]}
    print("| import, CPU time | ms |\n| --- | --- |")
    print(f"| numpy | {figures['numpy']:.1f} |\n| ikcore, above that | {figures['ikcore']:.1f} |\n")
    print(f"| `two_bone`, {LIMBS} limbs with a pole a call, ns a limb | doubles | floats |\n| --- | --- | --- |")
    for name in dict.fromkeys(name.partition(": ")[2] for name in figures if name.startswith("float")):
        print(f"| {name} | {figures[f'float64: {name}']:.1f} | {figures[f'float32: {name}']:.1f} |")
    for title, unit in TABLES.items():
        print(f"\n| {title} | {unit} |\n| --- | --- |")
        for name in figures:
            if name.startswith(f"{title}: "):
                print(f"| {name.removeprefix(f'{title}: ')} | {figures[name]:.1f} |")


def one_process(cache: str) -> dict[str, float]:
    """The figures of a new process."""
    command = [sys.executable, __file__, "--one", *["--quick"] * QUICK]
    caches = {"NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | caches)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measured() -> dict[str, float]:
    """Measurements of one process, imports first: milliseconds, nanoseconds per limb, microseconds per pose."""
    start = time.process_time()
    import numpy  # noqa: F401

    between = time.process_time()
    import ikcore  # noqa: F401

    figures = {"numpy": 1e3 * (between - start), "ikcore": 1e3 * (time.process_time() - between)}
    for dtype in DTYPES:
        for name, calls in timed(limb_variants(dtype)).items():
            limbs = 2 * LIMBS if name == TWO else LIMBS
            figures[f"{dtype}: {name}, first call"] = 1e9 / limbs * calls[0]
            figures[f"{dtype}: {name}"] = 1e9 / limbs * statistics.median(calls)
    for title, variants, unit in ((POSE, pose_variants(), 1e6), (BATCH, batch_variants(), 1e9 / LIMBS)):
        figures |= {f"{title}: {name}": unit * statistics.median(calls) for name, calls in timed(variants).items()}
    return figures


def timed(variants: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """The time of every call: several calls per variant in a row, as in a program, then the next variant."""
    times: dict[str, list[float]] = {}
    for name, run in variants.items():
        times[name] = []
        for _ in range(CALLS):
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def limb_variants(dtype: str) -> dict[str, Callable[[], Any]]:
    """The same limbs by ikcore and by numba, into new arrays and into existing ones."""
    from problems import arrays_of, random_problems
    from rivals import closed_form_numba, results_like

    import ikcore as ik

    problems = random_problems(LIMBS, dtype)
    root, mid, end, target, pole = arrays_of(problems)
    out = ik.closed_forms.LimbSolution.empty(LIMBS, dtype)
    ik.two_bone(root, mid, end, target, pole=pole, out=out)
    variants: dict[str, Callable[[], Any]] = {
        "ikcore": lambda: ik.two_bone(root, mid, end, target, pole=pole),
        TWO: lambda: [ik.two_bone(root, mid, end, target, pole=pole) for _ in "ab"],
        "ikcore, `out=`": lambda: ik.two_bone(root, mid, end, target, pole=pole, out=out),
    }
    if numba := closed_form_numba():
        there = results_like(problems)
        numba(problems, there)
        if abs(abs((there[0] * out.root).sum(-1)) - 1).max() > 1e-3 or (there[3] != out.status & 3).any():
            raise SystemExit("numba does not solve the same problem")
        variants["numba"] = lambda: numba(problems, results_like(problems))
        variants["numba, into arrays that are there"] = lambda: numba(problems, there)
    return variants


def pose_variants() -> dict[str, Callable[[], Any]]:
    """A gently bent chain reaches for a point, a limb for its target, and a head looks."""
    import numpy as np

    import ikcore as ik

    random = np.random.default_rng(20261121)
    chain = ik.Skeleton.chain(np.cumsum(random.normal([1, 0, 0], 0.2, (BONES + 1, 3)), axis=0))
    limb, body = limb_and_body()
    span = chain.reach(BONES)
    at, pole, near = span.root + np.array([0.3, 0.4, 0.2]) * span.outer, [0.0, 0, 9], [0.3, -0.6, 0.2]
    solver = ik.Solver(chain, [ik.Reach(BONES, position=...)])
    one, one_at, count = ik.Pose(chain.rest.rotations[np.newaxis]), at[np.newaxis], itertools.count()
    return {
        "`fabrik`, ten bones": lambda: ik.fabrik(chain, chain.rest, [ik.Reach(BONES, at)]),
        "`fabrik`, a batch of one": lambda: ik.fabrik(chain, one, [ik.Reach(BONES, one_at)]),
        "`fabrik`, another target each time": lambda: ik.fabrik(
            chain, chain.rest, [ik.Reach(BONES, at + 1e-7 * next(count))]
        ),
        "`fabrik`, another offset each time": lambda: ik.fabrik(
            chain, chain.rest, [ik.Reach(BONES, at, offset=(0.1, 1e-7 * next(count), 0))]
        ),
        "`dls`, ten bones": lambda: ik.dls(chain, chain.rest, [ik.Reach(BONES, at)]),
        "`solve`, ten bones": lambda: ik.solve(chain, chain.rest, [ik.Reach(BONES, at)]),
        "`fabrik` by a `Solver`": lambda: solver(chain.rest.rotations, at),
        "`two_bone` of a skeleton": lambda: ik.solve(
            limb, limb.rest, [ik.Reach(2, near, chain=2, pole=pole)], "two_bone"
        ),
        "`two_bone` of a skeleton, with a rotation": lambda: ik.solve(
            limb, limb.rest, [ik.Reach(2, near, [1, 0, 0, 0], chain=2, pole=pole)], "two_bone"
        ),
        "`aim` of a skeleton": lambda: ik.solve(body, body.rest, [ik.Look(1, [0, 0, 1], near, chain=0)], "aim"),
    }


def batch_variants() -> dict[str, Callable[[], Any]]:
    """Closed forms on a skeleton, compared with the bare ones, which neither know poses nor judge them."""
    import numpy as np

    import ikcore as ik

    limb, body = limb_and_body()
    at, pole = np.random.default_rng(20261121).normal(0, 0.5, (LIMBS, 3)), [0.0, 0, 9]
    hip, knee, ankle = limb.forward(limb.rest).positions
    return {
        "`two_bone` of a skeleton": lambda: ik.solve(
            limb, limb.rest, [ik.Reach(2, at, chain=2, pole=pole)], "two_bone"
        ),
        "`two_bone`": lambda: ik.two_bone(hip, knee, ankle, at, pole=pole),
        "`aim` of a skeleton": lambda: ik.solve(body, body.rest, [ik.Look(1, [0, 0, 1], at, chain=0)], "aim"),
        "`aim`": lambda: ik.aim([0, 1.6, 0], [1, 0, 0, 0], at, forward=[0, 0, 1]),
    }


def limb_and_body() -> tuple[Any, Any]:
    """Skeletons: a slightly bent leg, a head on a neck."""
    import ikcore as ik

    leg = ik.Skeleton.chain([[0.0, 0, 0], [0, -0.5, 0.01], [0.0, -1, 0]])
    return leg, ik.Skeleton.chain([[0, 1.4, 0], [0, 1.6, 0]])


if __name__ == "__main__":
    main()
