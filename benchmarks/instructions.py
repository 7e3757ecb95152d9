"""Instructions a solve of `two_bone`, a joint of `forward`, and ten bones and an iteration more by every method.

By valgrind: figures without noise, compared with those on record. `python benchmarks/instructions.py` exits 1 if a
count is more than 3 % above instructions.json for this compiler. It also exits 1 if an iteration takes more than its
allowed multiple of one of `fabrik`. `--record` writes the counts there. Valgrind has no AVX-512, so AVX2 is the widest
that is counted.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from timing import QUICK, parser_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RECORD = HERE / "instructions.json"
ITEMS, CHAINS = 16_384, 2048  # as in count.c
WHAT = {"rotations": "a limb, rotations and status", "all": "all outputs", "forward": "a joint, forward"}
INSTANCES = [f"{isa} {bits}" for isa in ("scalar", "avx2") for bits in ("f32", "f64")][: 1 if QUICK else None]
MOST = 1.03
FABRIKS = {"follow": 0.55, "circle": 3}  # what an iteration may take of one of `fabrik`
BONES, FEW, MORE, FIXED = 10, 1, 3, 512  # iterations of every chain, and chains


def main() -> int:
    """Count, print and compare or record."""
    parser = parser_of(__doc__)
    parser.add_argument("--record", action="store_true", help="write the counts to instructions.json")
    parser.add_argument("--only", action="append", metavar="METHOD", help="count this method, and others named so")
    given = parser.parse_args()
    record, what = given.record, [] if given.only else list(WHAT)
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        names = [name for name in methods(program) if not given.only or name in given.only]
        counts = {f"{instance} {name}": count(program, instance, name) for instance in INSTANCES for name in what}
        for instance in INSTANCES:
            for name in names:
                counts[f"{instance} {name}"] = count(program, instance, name)
                counts[f"{instance} {name}, an iteration"] = iteration(program, instance, name)
    before = recorded.get(compiler(), {})
    if what:
        print(report(what, list(WHAT.values()), counts))
    for of in ("", ", an iteration"):
        print(f"\nTen bones{of}:\n")
        print(report([f"{name}{of}" for name in names], names, counts))
    if record:
        kept = before if given.only else {}
        RECORD.write_text(json.dumps(recorded | {compiler(): kept | counts}, indent=1) + "\n")
        return 0
    if not before:
        print(f"nothing on record for {compiler()}: not compared", file=sys.stderr)
    above = [case for case in counts if case in before and counts[case] > MOST * before[case]]
    for case in above:
        print(f"{case}: {counts[case]:.1f} instructions a solve, {before[case]:.1f} on record", file=sys.stderr)
    slow = [
        (i, name)
        for i in INSTANCES
        for name, most in FABRIKS.items()
        if {name, "fabrik"} <= set(names)
        and counts[f"{i} {name}, an iteration"] > most * counts[f"{i} fabrik, an iteration"]
    ]
    for instance, name in slow:
        print(f"{instance} {name}: an iteration takes over {FABRIKS[name]} of fabrik's", file=sys.stderr)
    return 1 if above or slow else 0


def build(folder: Path, *defined: str) -> Path:
    """Compile count.c and the core as the package is compiled, with some macros defined."""
    command = [*cc(), *package_flags(), *defined, "-Isrc/ik"]

    def compiled(source: Path) -> Path:
        made = folder / f"{source.stem}.o"
        subprocess.run([*command, "-c", source.relative_to(ROOT), "-o", made], check=True, cwd=ROOT)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(compiled, [HERE / "count.c", *sorted((ROOT / "src/ik").rglob("*.c"))]))
    program = folder / "count"
    subprocess.run([*cc(), *parts, "-o", program, "-lm"], check=True)
    return program


def package_flags() -> list[str]:
    """The compiler flags of a wheel, in the same order, so that a compiler cache has the results."""
    python = " ".join([sysconfig.get_config_var("CFLAGS") or "", os.environ.get("CFLAGS", ""), "-fPIC"]).split()
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLAGS":
            return [*python, *ast.literal_eval(node.value)]
    raise SystemExit("setup.py: no FLAGS found")


def methods(program: Path) -> list[str]:
    """The names of the iterative methods."""
    return subprocess.run([program, "methods"], capture_output=True, text=True, check=True).stdout.split()


def iteration(program: Path, instance: str, method: str) -> float:
    """Instructions that an iteration more of a chain takes, without what a solve takes beside its iterations."""
    few, more = (counted(program, instance, method, BONES, FIXED, iterations) for iterations in (FEW, MORE))
    return round((more - few) / (MORE - FEW) / FIXED, 2)


def count(program: Path, instance: str, what: str) -> float:
    """Instructions a limb, a joint or a chain."""
    return round(counted(program, instance, what) / (ITEMS if what in WHAT else CHAINS), 2)


def counted(program: Path, instance: str, what: str, *more: int) -> int:
    """Instructions inside the function of that name."""
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=counted", "--callgrind-out-file=/dev/null"]
    words = [*command, str(program), *instance.split(), what, *map(str, more)]
    run = subprocess.run(words, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        raise SystemExit(f"{instance} {what}: exit status {run.returncode}\n{run.stderr}")
    return int(found[1])


def cc() -> list[str]:
    """The compiler to use, as a command: CC may begin with that of a cache."""
    return os.environ.get("CC", "cc").split()


def compiler() -> str:
    """Name and major version: counts are comparable within one."""
    version = subprocess.run([*cc(), "--version"], capture_output=True, text=True, check=True).stdout
    major = subprocess.run([*cc(), "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
    return f"{'clang' if 'clang' in version else 'gcc'} {major.strip()}"


def report(what: list[str], titles: list[str], counts: dict[str, float]) -> str:
    """A table in Markdown, a row for each of what was counted."""
    lines = [f"| | {' | '.join(INSTANCES)} |", f"| --- |{' --- |' * len(INSTANCES)}"]
    for name, title in zip(what, titles, strict=True):
        each = [f"{counts[f'{instance} {name}']:.0f}" for instance in INSTANCES]
        lines.append(f"| {title} | {' | '.join(each)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
