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
from instructions import package_flags

ROOT = Path(__file__).parent.parent
CORE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/ik").rglob("*.c"))
MODULE = sorted(map(str, (ROOT / "src/module").glob("*.c")))
WARNINGS = ["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]
RELEASE = ["-std=c17", "-O2", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", *WARNINGS, "-Wpedantic"]
PACKAGE = package_flags()  # what gcc has compiled with these for a wheel, ccache has for these tests
# -g would double the time to compile, and -g1 has lines and functions. So would watching in line, and for what ends a
# program anyway.
SANITIZED = ["-g1", "-O1", "-fPIC", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SANITIZED += ["--param", "asan-instrumentation-with-call-threshold=0", "-fno-sanitize=null,object-size"]
MODULE_MACROS = ["-DPy_LIMITED_API=0x030B0000", "-DNPY_TARGET_VERSION=NPY_1_23_API_VERSION", '-DIKCORE_VERSION="0"']
# By program of tests/c.
HASHES = {
    "same_bits.c": {
        "two_bone f32": "2dac4b12a7f6cc63",
        "two_bone f64": "0334427330f6a26d",
        "two_bone_bend f32": "c87e9f5c0e776ea1",
        "two_bone_bend f64": "7b6d3c2390e828b9",
        "two_bone_options f32": "c9d4fee8141d3fae",
        "two_bone_options f64": "b65f3e4d4f92f9d5",
        "two_bone_2d f32": "695b90a1beabc21a",
        "two_bone_2d f64": "4e7ac267410bea43",
        "aim f32": "6929b97acc1771b7",
        "aim f64": "cd61ffb50724eb9d",
    },
    "same_bits_rotations.c": {"rotations f32": "255020cfe4d89ef9", "rotations f64": "c123a8056d7eddc1"},
    "same_bits_look.c": {"look f32": "a9a2ed8c844182e0", "look f64": "dd0e250f4300bf14"},
    "same_bits_spline.c": {
        "spline f32": "c2dc5a0f056ecc65",
        "spline f64": "6ac317299ed360e8",
        "spread_twist f32": "1108a95172a4cda7",
        "spread_twist f64": "8f69d1d429e04406",
    },
    "same_bits_skeleton.c": {"skeleton f32": "b87e6d5ee2c3bfbc", "skeleton f64": "d4a39b09b67f2569"},
    "same_bits_closed.c": {
        "limbs f32": "84659e7342da833e",
        "limbs f64": "44da6f0d9bb35db8",
        "aims f32": "2cb666df130eb513",
        "aims f64": "3cab46e1a3061d1f",
        "stretched f32": "21e9b3ad66aed633",
        "stretched f64": "25c3b7335b022c05",
    },
    "same_bits_limits.c": {
        "limits f32": "b9a2b74fdbc09ac0",
        "limits f64": "509a53d794d09a89",
        "kusudamas f32": "bde66fb6ab017ca4",
        "kusudamas f64": "53d579dd3c48dffc",
    },
    "same_bits_rays.c": {"rays f64": "5811323c0ef33f36"},
    "same_bits_smooth.c": {"smooth f64": "5c7e1d6140235329"},
    "same_bits_fabrik.c": {"fabrik f32": "194e5cb48e2af567", "fabrik f64": "f117684424934f63"},
    "same_bits_chain.c": {
        "follow f32": "3500f2d1784e743b",
        "follow f64": "725851733e76c9db",
        "circle f32": "a46fad64a4509872",
        "circle f64": "1dacd9f99de86ab8",
        "spring f32": "03dad727ea8b289f",
        "spring f64": "9edfcb06e5becfbf",
        "fabrik f32": "d81588abc688f8e8",
        "fabrik f64": "5514fbcf11e63ec6",
        "ccd f32": "1fb27e01b1924c12",
        "ccd f64": "b4bb7e3eeca6279b",
    },
    "same_bits_dls.c": {
        "dls_chain f32": "32adc2424fdad604",
        "dls_chain f64": "e633394fd9fb9a8c",
        "dls_hinges f32": "dbc287a2ee837999",
        "dls_hinges f64": "17f8e79b2b3502a8",
        "dls_tree f32": "ab0ad934f0d3dea3",
        "dls_tree f64": "3b1870c0ad9b1df6",
        "dls_posture f32": "c395e3a24b3592ff",
        "dls_posture f64": "ed2637d468c44e89",
        "dls_damping f32": "a806096c628bf053",
        "dls_damping f64": "d9581f9d9f6f034f",
        "dls_scales f32": "664ae104fadd2b26",
        "dls_scales f64": "e4a9c30e64ca29c8",
        "dls_kinds f32": "56a5bee220720849",
        "dls_kinds f64": "605849eb01bd760a",
        "dls_levels f32": "42f94722d23dc5e9",
        "dls_levels f64": "1db98501c907997a",
        "dls_slides f32": "5ffb473c9d555198",
        "dls_slides f64": "8142a3d0fac85015",
        "dls_outside f32": "b8f51ec23e2e6ee3",
        "dls_outside f64": "8e9f41b815c1d436",
        "dls_restarts f32": "4f5f88f469305e81",
        "dls_restarts f64": "5bc17c97760a3bbb",
    },
    "same_bits_linear.c": {
        "transpose f32": "42ea974fab74a434",
        "transpose f64": "e6a2d1ce1262582c",
        "pinv f32": "69267b6e581a9029",
        "pinv f64": "85f3ca64de6f4db1",
        "svf f32": "0699aabfad6e16bf",
        "svf f64": "c86fbf068c964c8a",
        "sdls f32": "1252e686c1860927",
        "sdls f64": "d1795118378cd59e",
        "gauss_seidel f32": "e30cce212bc9854d",
        "gauss_seidel f64": "335b0943f851978d",
        "sns f32": "f666b3a09840ac79",
        "sns f64": "572f94ed6ec4d6cb",
        "newton f32": "2e9ea365e8a45c17",
        "newton f64": "31c97802fa890227",
        "lbfgsb f32": "4823c8b84a0aef2d",
        "lbfgsb f64": "8f306c52164214cf",
    },
    "same_bits_ccd.c": {
        "ccd_chain f32": "08c7dbbe329d2d6d",
        "ccd_chain f64": "b712fa433de30dbf",
        "ccd_pose f32": "c85d9a522de80cd2",
        "ccd_pose f64": "51e7da4999033ab6",
        "ccd_tree f32": "2a911ebcc7d0b48f",
        "ccd_tree f64": "a12e51de9c27dc08",
        "ccd_root f32": "113fd521e8ff8385",
        "ccd_root f64": "09eda294c78d620e",
        "ccd_slides f32": "7ff5b3d34c9bd042",
        "ccd_slides f64": "87b68009a031a592",
        "ccd_held f32": "bbff1b393e931288",
        "ccd_held f64": "a5fc3c1afc4323ac",
    },
}

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


@pytest.mark.slow
@pytest.mark.parametrize("program", HASHES)
def test_the_package_gives_these_bytes(tmp_path: Path, program: str) -> None:
    made = build(tmp_path, f"tests/c/{program}", package(), core_objects(package()))
    assert hashes(run(made)) == HASHES[program]


@beside
@pytest.mark.slow
def test_the_example_needs_no_flags(tmp_path: Path) -> None:
    command = (shutil.which("gcc") or "cc",)  # on most machines one compiler: the tests below use what this compiles
    made = build(tmp_path, "examples/limb.c", command, core_objects(command, QUARTERS[0]))
    assert "ankle at (0.100, 0.200, 0.100), status 0" in run(made)


@beside
@pytest.mark.slow
@pytest.mark.parametrize("program", HASHES)
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
    assert hashes(run(made)) == HASHES[program]


@beside
@pytest.mark.slow
@pytest.mark.parametrize("program", HASHES)
def test_aarch64_gives_the_same_bytes(tmp_path: Path, program: str) -> None:
    cross, emulator = compiler("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or pytest.skip("no qemu-aarch64")
    command, fewer = (cross, "-static", "-O2"), "-DFEWER=20"  # an emulator takes fifty times as long
    output = run(emulator, build(tmp_path, f"tests/c/{program}", (*command, fewer), core_objects(command)))
    assert output.startswith("scalar")
    assert "\nbase" in output
    here = run(build(tmp_path, f"tests/c/{program}", (*package(), fewer), core_objects(package())))
    assert hashes(output) == hashes(here)
    assert hashes(output).keys() == HASHES[program].keys()


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


@pytest.mark.slow
@pytest.mark.parametrize("program", ["test_two_bone.c", "test_rows.c", *HASHES])
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
