"""Every benchmark runs, in its short form: what is called once a month dies unseen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
BENCHMARKS = sorted(path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
CLIPS = ["IKCORE_MOCAP", "IKCORE_TERRAIN"]
NEEDED = {"clips.py": ["IKCORE_MOCAP"], "protocols.py": CLIPS, "learned.py": ["IKCORE_BODIES"]}
COMPILE = {"build.py", "one_call.py", "run.py"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs(name: str) -> None:
    if name == "instructions.py":
        pytest.skip("instructions.py: .ci/run has it in full, with valgrind")
    if name in COMPILE and shutil.which("cc") is None:
        pytest.skip(f"{name}: no C compiler")
    if missing := [variable for variable in NEEDED.get(name, []) if variable not in os.environ]:
        pytest.skip(f"{name}: needs data that are not in the project, see {' and '.join(missing)}")
    command = [sys.executable, str(FOLDER / name), "--quick"]
    # scripts import what lies beside them, which PYTHONSAFEPATH would keep them from
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "|" in done.stdout  # a table


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_build_that_counts_lanes_compiles() -> None:
    """It takes two minutes and is left out of the short form of methods.py."""
    core = FOLDER.parent / "src/ik"
    sources = [FOLDER / "count.c", core / "instances/frame_base_f32.c"]
    flags = ["-std=c17", "-fsyntax-only", "-Wall", "-Werror", "-DIK_LANE_STEPS=ik_lane_steps", f"-I{core}"]
    subprocess.run(["cc", *flags, *map(str, sources)], check=True)
