"""Records of methods: hashes of their results, instruction counts, pictures.

`python tests/records.py METHOD ...` writes the records of these methods again, by default of all:

- the hashes in records.json, with which tests compare;
- the counts in benchmarks/instructions.json, if there is valgrind;
- the pictures of their pages in dist/pictures, to be looked at.

`--hashes` writes hashes alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FILE = HERE / "records.json"
ALL = "*"  # every method

# The methods whose hashes are written, as words; none while tests only compare.
WRITTEN = frozenset(os.environ.get("IKCORE_RECORD", "").split())


def compare(name: str, found: dict[str, str]) -> None:
    """Compare hashes by what they are of with those on record under a name; with IKCORE_RECORD write them."""
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    known = recorded.get(name, {})
    if WRITTEN:
        written = {what: digest for what, digest in found.items() if ALL in WRITTEN or method_of(what) in WRITTEN}
        kept = {what: digest for what, digest in known.items() if what in found}
        known = recorded[name] = kept | written
        FILE.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == known, f"{name}: expected what is on record; if it may change, python tests/records.py METHOD"


def known(name: str) -> dict[str, str]:
    """The hashes on record under a name."""
    found: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8")).get(name, {})
    return found


def method_of(what: str) -> str:
    """The method that a hash is of: `dls_levels f32` is one of dls, `gauss_seidel f64` of gauss_seidel."""
    import ikcore as ik

    case = what.split()[0]
    return max((name for name in ik.methods() if case == name or case.startswith(f"{name}_")), key=len, default=case)


def programs() -> list[str]:
    """The programs of tests/c that print hashes."""
    return sorted(path.name for path in (HERE / "c").glob("same_bits*.c"))


def main() -> int:
    """Write the records again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--hashes", action="store_true", help="hashes alone, which takes a minute or two")
    given = parser.parse_args()
    environment = {**os.environ, "IKCORE_RECORD": " ".join(given.methods) or ALL}
    tests = ["project/test_core.py", "project/test_same_bits.py", "methods/test_dls.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "records and not compilers"]
    failed = subprocess.run([*command, *(str(HERE / test) for test in tests)], env=environment, cwd=ROOT).returncode
    if given.hashes:
        return failed
    if shutil.which("valgrind"):
        count = [sys.executable, str(ROOT / "benchmarks/instructions.py"), "--record"]
        failed |= subprocess.run([*count, *(f"--only={name}" for name in given.methods)], cwd=ROOT).returncode
    else:
        print("no valgrind: expected it for counts of instructions, which stay as they are", file=sys.stderr)
    sys.path.insert(0, str(ROOT / "docs"))
    import draw

    folder = ROOT / "dist" / "pictures"
    draw.write(folder, only=given.methods)
    print(f"pictures: {folder}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
