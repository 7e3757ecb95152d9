"""The C core in other programs: the switches of ik.h, the examples, CMake, and a header without warnings."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/ik").rglob("*.c"))
LIMB, ARM, FEET = "examples/limb.c", "examples/arm.c", "examples/feet.c"
PRINTS = {
    LIMB: "ankle at (0.100, 0.200, 0.100), status 0",
    ARM: "tip at (0.400, 1.300, 0.200), status 0",
    FEET: "toes at height 0.200 and 0.200, pelvis raised by 0.200, clearance 0.133",
}
FAST = ("-O0", "-DIK_QUICK", "-DIK_NO_AVX2", "-DIK_NO_BASE")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program(folder: Path, example: str, *flags: str) -> Path:
    """An example and the whole core, compiled as its first lines say, with these flags."""
    made = folder / "program"
    run("gcc", *flags, "-Isrc/ik", example, *SOURCES, "-o", made, "-lm")
    return made


def test_the_limb_alone_is_less_than_200_kb(tmp_path: Path) -> None:
    made = program(tmp_path, LIMB, "-O2", "-s", "-DIK_ONLY_LIMB", "-DIK_NO_F32")
    assert PRINTS[LIMB] in run(made)
    assert made.stat().st_size < 200_000


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("example", "switches"),
    [
        (LIMB, ["ONLY_LIMB"]),
        (LIMB, ["NO_SKELETON"]),
        (LIMB, ["NO_SKELETON", "NO_CLIPS", "NO_F32"]),
        (FEET, ["NO_SKELETON", "NO_CLIPS", "NO_RAYS", "NO_F32"]),
        (ARM, ["NO_HEURISTIC", "NO_RAYS", "NO_F32"]),
        (ARM, ["NO_CLIPS", "NO_RAYS", "NO_HEURISTIC"]),
    ],
)
def test_what_is_left_out_is_not_missed(tmp_path: Path, example: str, switches: list[str]) -> None:
    """No warning, nothing that is undefined, and the same answer."""
    flags = ("-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wpedantic", "-Werror")
    made = program(tmp_path, example, *FAST, *flags, *(f"-DIK_{name}" for name in switches))
    assert PRINTS[example] in run(made)


@pytest.mark.parametrize(
    ("switch", "missing"),
    [
        ("IK_NO_F64", "ik_two_bone_f64"),
        ("IK_NO_F32", "ik_two_bone_f32"),
        ("IK_NO_HEURISTIC", "ik_fabrik_f64"),
        ("IK_NO_JACOBIAN", "ik_dls_f64"),
        ("IK_NO_SKELETON", "ik_forward_f64"),
        ("IK_NO_CLIPS", "ik_bend_leg"),
        ("IK_NO_RAYS", "ik_cast"),
        ("IK_ONLY_LIMB", "ik_quat_multiply_f64"),
        ("IK_NO_BASE", "ik_kernels_base_f64"),
        ("IK_NO_AVX2", "ik_kernels_avx2_f64"),
        ("IK_NO_AVX512", "ik_kernels_avx512_f64"),
    ],
)
def test_every_switch_leaves_out_what_it_says(tmp_path: Path, switch: str, missing: str) -> None:
    def symbols(*flags: str) -> set[str]:
        run("gcc", *flags, "-Isrc/ik", "-c", "src/ik/dispatch.c", "-o", tmp_path / "dispatch.o")
        return set(run("nm", tmp_path / "dispatch.o").split())

    whole = symbols()
    assert missing in whole or missing.startswith("ik_kernels")  # other processors have other instruction sets
    assert missing not in symbols(f"-D{switch}")
    assert re.search(rf"^ \*   .*{switch}\b", (ROOT / "src/ik/ik.h").read_text(encoding="utf-8"), re.MULTILINE)


def test_no_type_of_number_at_all_is_refused() -> None:
    command = ["gcc", "-DIK_NO_F32", "-DIK_NO_F64", "-fsyntax-only", "src/ik/ik.h"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "expected at most one of them" in done.stderr


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_header_gives_no_warning(tmp_path: Path, compiler: str, language: str) -> None:
    source = tmp_path / "user.c"
    source.write_text('#include "ik.h"\nint main(void) { return 0; }\n')
    command = (
        ["gcc"] if compiler == "gcc" else [sys.executable, "-m", "ziglang", "cc", "-Wno-unused-command-line-argument"]
    )
    if compiler == "clang" and importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang, which has a clang")
    if language == "c++" and not shutil.which("g++"):
        pytest.skip("no g++")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    run(*command, "-x", language, *warnings, "-Isrc/ik", "-c", source, "-o", tmp_path / "user.o")


@pytest.mark.parametrize("page", [LIMB, ARM, FEET, "docs/start/in_c.md"])
def test_the_commands_compile_all_sources(page: str) -> None:
    assert "-I src/ik" in (text := (ROOT / page).read_text(encoding="utf-8"))
    assert "$(find src/ik -name '*.c')" in text


@pytest.mark.thorough
def test_cmake_makes_a_library(tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\n"
        f'set(IKCORE_SWITCHES IK_ONLY_LIMB IK_NO_F32)\nadd_subdirectory("{ROOT.as_posix()}/src/ik" ikcore)\n'
        f'add_executable(limb "{ROOT.as_posix()}/{LIMB}")\ntarget_link_libraries(limb ikcore::ikcore)\n'
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tmp_path / "build", "--parallel", str(os.cpu_count()))
    assert PRINTS[LIMB] in run(tmp_path / "build/limb")
