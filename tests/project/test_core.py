"""The C core without Python: builds alone, is clean under sanitizers, and gives the same bytes from every compiler."""

import atexit
import functools
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import records
from instructions import package_flags

ROOT = Path(__file__).parents[2]
CORE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/ik").rglob("*.c"))
MODULE = sorted(map(str, (ROOT / "src/module").glob("*.c")))
WARNINGS = ["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]
RELEASE = ["-std=c17", "-O2", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", *WARNINGS, "-Wpedantic"]
PACKAGE = package_flags()  # what gcc has compiled with these for a wheel, ccache has for these tests
# -g would double the time to compile, and -g1 has lines and functions. Inline checks would double it too, and so would
# checks of errors that end a program anyway.
SANITIZED = ["-g1", "-O1", "-fPIC", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SANITIZED += ["--param", "asan-instrumentation-with-call-threshold=0", "-fno-sanitize=null,object-size"]
MODULE_MACROS = ["-DPy_LIMITED_API=0x030B0000", "-DNPY_TARGET_VERSION=NPY_1_23_API_VERSION", '-DIKCORE_VERSION="0"']
PROGRAMS = records.programs()

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiler(name: str) -> str:
    if name == "clang":  # Debian has a name for every version and none without
        name = next((found for version in ("", "-19", "-16", "-14") if (found := shutil.which(name + version))), name)
    return shutil.which(name) or pytest.skip(f"no {name}")


def instance_of(source: str) -> str | None:
    """avx2_f32, say; None: what is the same for all of them."""
    path = Path(source)
    return path.stem.partition("_")[2] if path.parent.name == "instances" else None


# Instances differ in width and type of number, and avx512 has some kernels only. The package has all six of x86-64,
# each further compiler one or two, and between them all. Sanitizers get the narrowest and the widest.
QUARTERS = [
    frozenset({"scalar_f32", "avx512_f64"}),
    frozenset({"avx2_f32"}),
    frozenset({"scalar_f64", "avx512_f32"}),
    frozenset({"avx2_f64"}),
]


@functools.cache
def core_objects(command: tuple[str, ...], instances: frozenset[str] | None = None) -> list[str]:
    """The core compiled by a command, once for all tests; of instances only these, and the others as in the package."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    sources = [source for source in CORE if not instances or instance_of(source) in {None, *instances}]
    made = compile_all(command, sources, folder)
    others = {Path(source).stem for source in CORE if source not in sources}
    assert bool(others) == bool(instances)
    return made + [name for name in (core_objects(package()) if others else []) if Path(name).stem in others]


def package() -> tuple[str, ...]:
    """The command that the core of a wheel is compiled by."""
    return (compiler("gcc"), *PACKAGE)


def watched_objects() -> list[str]:
    """The core with sanitizers."""
    return core_objects((compiler("gcc"), *SANITIZED), QUARTERS[2])


def compile_all(command: Iterable[str], sources: Iterable[str], folder: str) -> list[str]:
    """To an object each, on all processors.

    Other steps of CI use these commands as well: ccache keeps what they compile, where it is. It must not know what is
    made for one processor, and does not know zig.
    """
    first, *rest = command
    known = shutil.which("ccache") and first != sys.executable and "-march=native" not in rest
    command = ["ccache", first, *rest] if known else [first, *rest]

    def compile_one(source: str) -> str:
        made = f"{folder}/{Path(source).stem}.o"
        said = subprocess.run(
            [*command, "-c", source, "-o", made], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert (said.returncode, said.stderr) == (0, "")  # no warning
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, sources))


def build(tmp_path: Path, program: str, command: Iterable[str], core: list[str]) -> str:
    binary = str(tmp_path / "program")
    # the core is to be free of warnings; the programs leave fields of a job out, and how they are compiled is no matter
    run(*command, "-w", "-O1", "-I", "src/ik", program, *core, "-o", binary, "-lm")
    return binary


def hashes(output: str) -> dict[str, str]:
    """The hashes a program of tests/c prints, which must not depend on the instruction set."""
    found: dict[str, str] = {}
    for what, digest in re.findall(r"^\w+ (\w+ f\d\d) (\w+)$", output, re.MULTILINE):
        assert found.setdefault(what, digest) == digest
    return found


# Compilers, processors and systems beside those of the package: `nox -s compilers`.
beside = pytest.mark.compilers


@pytest.mark.thorough
@pytest.mark.records
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_package_gives_these_bytes(tmp_path: Path, program: str) -> None:
    made = build(tmp_path, f"tests/c/{program}", package(), core_objects(package()))
    records.compare(program, hashes(run(made)))


@beside
@pytest.mark.slow
def test_the_example_needs_no_flags(tmp_path: Path) -> None:
    command = (shutil.which("gcc") or "cc",)  # on most machines one compiler: the tests below use what this compiles
    made = build(tmp_path, "examples/limb.c", command, core_objects(command, QUARTERS[0]))
    assert "ankle at (0.100, 0.200, 0.100), status 0" in run(made)


@beside
@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("name", "flags", "instances"),
    [
        ("gcc", [], QUARTERS[0]),
        ("gcc", ["-O2", "-march=native"], QUARTERS[1]),  # fused multiply-add is there to be misused, from -O2 on
        ("clang", RELEASE, QUARTERS[2]),
        ("clang", ["-O3", "-march=native"], QUARTERS[3]),  # what -O2 does, too
    ],
    ids=["gcc", "gcc native", "clang", "clang native"],
)
def test_every_compiler_gives_the_same_bytes(
    tmp_path: Path, name: str, flags: list[str], instances: frozenset[str], program: str
) -> None:
    command = (compiler(name), *flags)
    made = build(tmp_path, f"tests/c/{program}", command, core_objects(command, instances))
    records.compare(program, hashes(run(made)))


@beside
@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_aarch64_gives_the_same_bytes(tmp_path: Path, program: str) -> None:
    cross, emulator = compiler("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or pytest.skip("no qemu-aarch64")
    command, fewer = (cross, "-static", "-O2"), "-DFEWER=20"  # an emulator takes fifty times as long
    output = run(emulator, build(tmp_path, f"tests/c/{program}", (*command, fewer), core_objects(command)))
    assert output.startswith("scalar")
    assert "\nbase" in output
    here = run(build(tmp_path, f"tests/c/{program}", (*package(), fewer), core_objects(package())))
    assert hashes(output) == hashes(here)
    assert hashes(output).keys() == records.known(program).keys()


# Nobody runs what is compiled for these here, so each gets one instance.
TARGETS = {
    "x86_64-windows-gnu": "avx2_f64",
    "x86_64-macos": "avx512_f32",
    "aarch64-windows-gnu": "scalar_f32",
    "aarch64-macos": "base_f64",
}


@beside
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_compiles_for(tmp_path: Path, target: str) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-std=c17", "-O0", *WARNINGS]
    command += ["-fno-sanitize=undefined"]  # which zig would add, and triple the time
    sources = [source for source in CORE if instance_of(source) in {None, TARGETS[target]}]
    assert len(sources) < len(CORE)
    compile_all(command, sources, str(tmp_path))


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["test_two_bone.c", "test_rows.c", *PROGRAMS])
def test_sanitizers_find_nothing(tmp_path: Path, program: str) -> None:
    run(build(tmp_path, f"tests/c/{program}", (compiler("gcc"), *SANITIZED), watched_objects()))


@pytest.mark.parametrize("flag", ["-Ofast", "-ffinite-math-only", "-mno-sse2"])
def test_flags_that_would_spoil_results_are_refused(tmp_path: Path, flag: str) -> None:
    command = [compiler("gcc"), flag, "-c", "src/ik/instances/forms_scalar_f32.c", "-o", str(tmp_path / "object.o")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if "unrecognized" in done.stderr:
        pytest.skip(f"no {flag} here")
    assert "#error" in done.stderr


@pytest.mark.parametrize("bits", ["32", "64"])
def test_trigonometry_keeps_its_stated_bounds(tmp_path: Path, bits: str) -> None:
    binary = str(tmp_path / "program")
    run("cc", "-O2", f"-DIK_BITS={bits}", "-I", "src/ik", "tests/c/test_trig.c", "-o", binary, "-lm")
    run(binary)


@pytest.mark.parametrize("lanes", ["0", "16"])
@pytest.mark.parametrize("bits", ["32", "64"])
def test_small_systems_are_solved(tmp_path: Path, bits: str, lanes: str) -> None:
    binary = str(tmp_path / "program")
    macros = [f"-DIK_BITS={bits}", f"-DIK_BYTES={lanes}"]
    run("cc", "-O2", *macros, *WARNINGS, "-I", "src/ik", "tests/c/test_linear.c", "-o", binary, "-lm")
    run(binary)


@beside
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_core_compiles_without_warnings(name: str) -> None:
    """Those of the compiler's front; what is compiled above must be without others."""
    run(compiler(name), "-std=c17", "-fsyntax-only", *WARNINGS, "-Wpedantic", *CORE)


@beside
@pytest.mark.slow
@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="the module is built against NumPy 2")
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_module_compiles_without_warnings(tmp_path: Path, name: str) -> None:
    includes = ["-I", "src/ik", "-isystem", sysconfig.get_path("include"), "-isystem", np.get_include()]
    release = [flag for flag in RELEASE if flag != "-Wpedantic"]  # Python's own headers are not
    if name == "clang":  # all its warnings are of its front
        release = [*release, "-fsyntax-only"]
    compile_all([compiler(name), *release, *MODULE_MACROS, *includes], MODULE, str(tmp_path))


@pytest.mark.parametrize("family", ["frame", "heuristic"])
def test_gcc_aligns_the_stack_on_windows(tmp_path: Path, family: str) -> None:
    """Vectors on it are read as if it were; where functions can be unwound gcc leaves it at 16 bytes there."""
    code, source = tmp_path / "code.s", f"src/ik/instances/{family}_avx512_f64.c"
    run(compiler("x86_64-w64-mingw32-gcc"), "-std=c17", "-O0", "-S", source, "-o", str(code))
    assert re.search(r"andq\s+\$-64, %rsp", code.read_text())
    # what ik.h itself has, outside the instance, keeps its tables: no vector is on its stack
    assert set(re.findall(r"\.seh_proc\s+(\S+)", code.read_text())) <= {"ik_step"}


def instance_objects(name: str, instance: str) -> list[str]:
    """All families of an instance, as gcc has them in the package, or by clang, which here compiles a quarter."""
    objects = core_objects(package()) if name == "gcc" else core_objects((compiler(name), *RELEASE), QUARTERS[2])
    return [made for made in objects if made.endswith(f"_{instance}.o")]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 code")
@pytest.mark.parametrize(
    ("name", "instance"),
    [
        *(("gcc", f"{isa}_f{bits}") for isa in ("avx2", "avx512") for bits in (32, 64)),
        pytest.param("clang", "avx512_f32", marks=beside),
    ],
)
def test_square_roots_are_packed(name: str, instance: str) -> None:
    """A compiler that gave up on vectors would still be right, and ten times slower."""
    isa, number = instance.split("_")
    register = {"avx2": "ymm", "avx512": "zmm"}[isa]
    functions = run("objdump", "-d", *instance_objects(name, instance)).split("\n\n")
    alike = (
        "<ik_limit_prepare_",
        "<lbfgsb_choose_units",
    )  # of limits and plans, the same in all lanes: a number at a time
    assembly = "\n".join(each for each in functions if not any(name in each.partition(">:")[0] for name in alike))
    roots = re.findall(r"\bv?(sqrt[ps][sd])\s.*%([xyz]mm)\d+$", assembly, re.MULTILINE)
    assert roots
    assert set(roots) == {("sqrtps" if number == "f32" else "sqrtpd", register)}


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 code")
def test_boxes_of_the_ray_tree_are_packed() -> None:
    """Likewise: the lesser of two floats is one instruction for all lanes."""
    (made,) = (obj for obj in core_objects(package()) if obj.endswith("rays_avx2_f64.o"))
    found = re.findall(r"\bv?(minp?s?s)\s.*%([xyz]mm)\d+$", run("objdump", "-d", made), re.MULTILINE)
    assert set(found) == {("minps", "ymm")}
