"""The contract of a method is open: three kinds that the core does not have are added by CONTRIBUTING alone.

The toys of tests/c/toys are added to a copy of the core. Each is a header in methods/, a row and options in ik.h, and
an include in the header of the family. The frame is unchanged.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOYS = ROOT / "tests" / "c" / "toys"

# For every toy: the goals and limits that it takes, and its sentence.
ROWS = {
    "xpbd": ("IK_TAKES_PLACE | IK_TAKES_COMPLIANCE | IK_ALL_JOINTS", "particles with masses, and rods between them"),
    "nearest": ("IK_TAKES_PLACE", "the pose of a table whose tip is nearest"),
}


def insert(file: Path, before: str, text: str) -> None:
    """Put text before the first place of another."""
    found = file.read_text(encoding="utf-8")
    assert before in found, f"{file.name}: no {before!r}"
    file.write_text(found.replace(before, text + before, 1), encoding="utf-8")


def with_toys(folder: Path) -> Path:
    """A copy of the core with the toys in it, as CONTRIBUTING says."""
    core = folder / "ik"
    shutil.copytree(ROOT / "src" / "ik", core)
    shutil.copy(TOYS / "nearest_model.h", core)
    for name, (takes, sentence) in ROWS.items():
        shutil.copy(TOYS / f"{name}.h", core / "methods")
        insert(
            core / "ik.h",
            "#define IK_OPTIONS_OF_fabrik(X)",
            f"#define IK_OPTIONS_OF_{name}(X) IK_COMMON_OPTIONS(X, 200)\n",
        )
        insert(core / "ik.h", "    X(fabrik, ", f'    X({name}, {takes}, "{sentence}") \\\n')
        insert(core / "instances/heuristic.h", '#include "../methods/ccd/ccd.h"\n', f'#include "../methods/{name}.h"\n')
    return core


def test_a_method_changes_two_files_of_the_core(tmp_path: Path) -> None:
    core = with_toys(tmp_path)
    changed = [
        path.relative_to(core).as_posix()
        for path in core.rglob("*.*")
        if (old := ROOT / "src" / "ik" / path.relative_to(core)).exists() and old.read_bytes() != path.read_bytes()
    ]
    assert sorted(changed) == ["ik.h", "instances/heuristic.h"]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_methods_of_three_kinds_work(tmp_path: Path) -> None:
    """See toys.c for what they must do; on all instruction sets they give the same bits."""
    core, program = with_toys(tmp_path), tmp_path / "toys"
    flags = ["-std=c17", "-O0", "-DIK_QUICK", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]
    without = [f"-DIK_NO_{what}" for what in ("F32", "JACOBIAN", "CLIPS", "RAYS", "AVX512")]
    sources = [str(path) for path in core.rglob("*.c")]
    command = ["gcc", *flags, *without, f"-I{core}", str(TOYS / "toys.c"), *sources, "-lm", "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    hashes = set(re.findall(r"(\w+) \w+ (\w+)", ran.stdout))
    assert sorted(what for what, _ in hashes) == ["clip", "masses", "momentum", "table"], ran.stdout
