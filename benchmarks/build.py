"""Cost of compiling the core: CPU seconds and bytes of code, by family and instance.

Compiled with the flags in setup.py, without a cache. `a method's headers` is a family without methods: the code that
all its methods share. A usual method adds at most 0.5 s and 30 kB to each instance of its family.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from instructions import cc, compiler, package_flags
from timing import QUICK, parser_of

CORE = Path(__file__).resolve().parent.parent / "src/ik"
BARE = "a method's headers"


@dataclass(frozen=True)
class Cost:
    """The cost of one file, or of several."""

    seconds: float = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.bytes + other.bytes)

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s {self.bytes / 1000:.0f} kB"


def main() -> int:
    """Compile everything and print a table."""
    parser_of(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = instances(Path(folder))
        rest = [] if QUICK else sorted(path for path in CORE.rglob("*.c") if path.parent.name != "instances")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            costs = dict(zip(files, pool.map(cost, files.values()), strict=True))
            others = total(pool.map(cost, rest))
    print(report(costs, others))
    return 0


def instances(folder: Path) -> dict[tuple[str, str], Path]:
    """The file of every family and instance; only one in the quick form."""
    files = {}
    for path in sorted((CORE / "instances").glob("*.c")):
        family, _, instance = path.stem.partition("_")
        files[family, instance] = path
        if family == "jacobian":
            files[BARE, instance] = folder / f"{instance}.c"
            files[BARE, instance].write_text(without_method(path.read_text(encoding="utf-8")))
    short = [("jacobian", "scalar_f32"), (BARE, "scalar_f32")]
    return {key: files[key] for key in short} if QUICK else files


def without_method(source: str) -> str:
    """An instance of a family of methods, without the family itself."""
    left = source.replace('"instances/jacobian.h"', '"solve/method.h"').replace('"../', f'"{CORE}/')
    assert left != source
    return left


def cost(source: Path) -> Cost:
    """The cost of compiling a file."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.o"
        command = [*cc(), *package_flags(), "-c", str(source), "-o", str(made)]
        started = subprocess.Popen(command, env={**os.environ, "CCACHE_DISABLE": "1"})
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        if started.returncode:
            raise SystemExit(f"{source}: {' '.join(command)} ended with {started.returncode}")
        said = subprocess.run(["size", str(made)], capture_output=True, text=True, check=True).stdout
    return Cost(usage.ru_utime + usage.ru_stime, int(said.splitlines()[1].split()[0]))


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of costs."""
    return sum(costs, Cost())


def report(costs: dict[tuple[str, str], Cost], others: Cost) -> str:
    """A table in Markdown. Headers of methods, which are compiled twice, are in no sum."""
    families = list(dict.fromkeys(family for family, _ in costs))
    instances = list(dict.fromkeys(instance for _, instance in costs))
    counted = {key: value for key, value in costs.items() if key[0] != BARE}
    lines = [f"| {compiler()} | {' | '.join(instances)} | all |", f"| --- |{' --- |' * (len(instances) + 1)}"]
    for family in families:
        row = [str(costs[family, instance]) if (family, instance) in costs else "" for instance in instances]
        row.append(str(total(value for key, value in costs.items() if key[0] == family)))
        lines.append(f"| {family} | {' | '.join(row)} |")
    columns = [total(value for key, value in counted.items() if key[1] == instance) for instance in instances]
    lines.append(f"| all | {' | '.join(map(str, columns))} | {total(counted.values())} |")
    lines.append(f"| what no instance has |{' |' * len(instances)} {others} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
