"""Instructions a solve of `two_bone`, a joint of `forward` and a chain of ten bones by every iterative method.

By valgrind: figures without noise, compared with those on record.
`python benchmarks/instructions.py` exits 1 where a count is more than 3 % above instructions.json for this compiler;
`--record` writes the counts there. Valgrind has no AVX-512, so AVX2 is the widest that is counted.
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
INSTANCES = [f"{isa} {bits}" for isa in ("scalar", "base", "avx2") for bits in ("f32", "f64")][: 1 if QUICK else None]
MOST = 1.03


def main() -> int:
    """Count, print and compare or record."""
    parser = parser_of(__doc__)
    parser.add_argument("--record", action="store_true", help="write the counts to instructions.json")
    record = parser.parse_args().record
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        what = WHAT | {name: f"ten bones, {name}" for name in methods(program)}
        counts = {f"{instance} {name}": count(program, instance, name) for instance in INSTANCES for name in what}
    before = recorded.get(compiler(), {})
    print(report(what, counts))
    if record:
        RECORD.write_text(json.dumps(recorded | {compiler(): counts}, indent=1) + "\n")
        return 0
    if not before:
        print(f"nothing on record for {compiler()}: not compared", file=sys.stderr)
    above = [case for case in counts if case in before and counts[case] > MOST * before[case]]
    for case in above:
        print(f"{case}: {counts[case]:.1f} instructions a solve, {before[case]:.1f} on record", file=sys.stderr)
    return 1 if above else 0


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
    """What the core is compiled with in a wheel, in the same order: a cache of compiles has it from there."""
    python = " ".join([sysconfig.get_config_var("CFLAGS") or "", os.environ.get("CFLAGS", ""), "-fPIC"]).split()
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLAGS":
            return [*python, *ast.literal_eval(node.value)]
    raise SystemExit("setup.py: no FLAGS found")


def methods(program: Path) -> list[str]:
    """The names of the iterative methods."""
    return subprocess.run([program, "methods"], capture_output=True, text=True, check=True).stdout.split()


def count(program: Path, instance: str, what: str) -> float:
    """Instructions a limb, a joint or a chain, inside the function `counted`."""
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=counted", "--callgrind-out-file=/dev/null"]
    run = subprocess.run([*command, program, *instance.split(), what], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        raise SystemExit(f"{instance} {what}: exit status {run.returncode}\n{run.stderr}")
    return round(int(found[1]) / (ITEMS if what in WHAT else CHAINS), 2)


def cc() -> list[str]:
    """The compiler to use, as a command: CC may begin with that of a cache."""
    return os.environ.get("CC", "cc").split()


def compiler() -> str:
    """Name and major version: counts are comparable within one."""
    version = subprocess.run([*cc(), "--version"], capture_output=True, text=True, check=True).stdout
    major = subprocess.run([*cc(), "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
    return f"{'clang' if 'clang' in version else 'gcc'} {major.strip()}"


def report(what: dict[str, str], counts: dict[str, float]) -> str:
    """A table in Markdown."""
    lines = [f"| instance | {' | '.join(what.values())} |", f"| --- |{' --- |' * len(what)}"]
    for instance in INSTANCES:
        each = [f"{counts[f'{instance} {name}']:.1f}" for name in what]
        lines.append(f"| {instance} | {' | '.join(each)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
