"""Every check, each in an environment of its own: `nox` runs the default ones, `nox -l` lists all."""

import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "docs", "tests"]
nox.options.default_venv_backend = "virtualenv"

C_CODE = [str(path) for folder in ("src", "tests/c", "examples", "benchmarks") for path in Path(folder).rglob("*.[ch]")]


@functools.cache
def wheel_folder() -> Path:
    """Where the wheel of this run is."""
    return Path(tempfile.mkdtemp())


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
    """Layout and lint of Python and C."""
    session.install("ruff==0.17.*", "clang-format==23.*")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("clang-format", "--dry-run", "--Werror", *C_CODE)


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict but for the extension, on the package, its stubs and whatever uses it."""
    wheel, blender_stubs = build_wheel(session), "fake-bpy-module-4.5"
    session.install(f"{wheel}[plot]", "mypy>=1.11", "pytest>=8", "hypothesis>=6.100", "nox", blender_stubs)
    folders = ("tests", "benchmarks", "docs", "blender_addon")
    scripts = [str(path) for folder in folders for path in Path(folder).glob("*.py")]
    session.run("mypy", "ikcore", "noxfile.py", *scripts)


# NumPy has no wheels of its oldest supported version for newer Pythons.
OLDEST_NUMPY = "1.26.*" if sys.version_info < (3, 13) else "2.1.*"


@nox.session
@nox.parametrize("numpy", [OLDEST_NUMPY, "newest"])
def tests(session: nox.Session, numpy: str) -> None:
    """The test suite against the built wheel with the newest NumPy.

    With the oldest there is for this Python what is quick and what arrays go through, on one instruction set, in the
    unpacked sdist: so that all tests are found there and run.
    """
    wheel, tools = build_wheel(session), ["pytest-xdist", "scipy", "setuptools>=77"]
    pytest = ["pytest", "-q", "-rs", "-n", "auto", "--dist", "loadfile", "--pyargs", "tests", "ikcore"]
    if numpy == "newest":
        session.install(f"{wheel}[test,plot,dask]", *tools, "ziglang", "abi3audit", "xarray")
        session.run(*pytest, *session.posargs, env={"IKCORE_WHEEL": wheel})
        return
    session.install(f"{wheel}[test,plot]", *tools, f"numpy=={numpy}")
    with session.chdir(unpacked_sdist(session)):
        session.run(*pytest, "-m", "quick or arrays", *session.posargs, env={"IKCORE_ISA": "avx2"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Files, motions and problems at random for a minute, or as many seconds as asked for, under sanitizers."""
    session.install("numpy", "pytest>=8", "hypothesis>=6.100")
    session.run("python", "tests/fuzz.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The pages, into dist/docs; a warning is an error."""
    session.install(f"{build_wheel(session)}[plot]", "sphinx==9.*", "furo", "myst-parser")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", "dist/docs")


@nox.session
def extension(session: nox.Session) -> None:
    """Build the Blender extension into dist/."""
    session.log(build_zip(session))


@nox.session
@nox.parametrize("blender", ["4.5", "5.2"])
def blender(session: nox.Session, blender: str) -> None:
    """The extension inside a real Blender: 4.5 needs Python 3.11, 5.2 needs 3.13 (IKCORE_PYTHON_3_13 names one)."""
    python = {"4.5": "python3.11", "5.2": os.environ.get("IKCORE_PYTHON_3_13", "python3.13")}[blender]
    folder = Path(session.create_tmp())
    session.run(python, "-m", "venv", f"{folder}/venv", external=True)
    in_blender = f"{folder}/venv/bin/python"
    session.run(in_blender, "-m", "pip", "install", "-q", f"bpy=={blender}.*", "pytest>=8", external=True)
    session.run(in_blender, "tests/blender/run.py", build_zip(session), external=True)
