"""Every check, each in an environment of its own: `nox` runs the default ones, `nox -l` lists all."""

import functools
import os
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
    """The test suite against the built wheel, with the oldest NumPy there is for this Python and the newest."""
    wheel = build_wheel(session)
    tools = ["pytest-xdist", "scipy", "setuptools>=77", "ziglang", "abi3audit"]
    session.install(f"{wheel}[test,plot]", *tools, "numpy" if numpy == "newest" else f"numpy=={numpy}")
    env = {"IKCORE_WHEEL": wheel}
    # the C core does not depend on NumPy: once is enough
    core = ["--ignore=tests/test_core.py"] if numpy != "newest" else []
    spread = ["-n", "auto", "--dist", "loadfile"]
    session.run("pytest", "-q", "-rs", *spread, *core, "--pyargs", "tests", "ikcore", *session.posargs, env=env)


@nox.session
def docs(session: nox.Session) -> None:
    """The pages, into dist/docs; a warning is an error."""
    session.install(f"{build_wheel(session)}[plot]", "sphinx==9.*", "furo", "myst-parser")
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", "dist/docs")


@nox.session
def extension(session: nox.Session) -> None:
    """Build the Blender extension into dist/."""
    session.run("python", "blender_addon/build_zip.py")


@nox.session
@nox.parametrize("blender", ["4.5", "5.2"])
def blender(session: nox.Session, blender: str) -> None:
    """The extension inside a real Blender: 4.5 needs Python 3.11, 5.2 needs 3.13 (IKCORE_PYTHON_3_13 names one)."""
    python = {"4.5": "python3.11", "5.2": os.environ.get("IKCORE_PYTHON_3_13", "python3.13")}[blender]
    folder = Path(session.create_tmp())
    session.run(python, "-m", "venv", f"{folder}/venv", external=True)
    in_blender = f"{folder}/venv/bin/python"
    session.run(in_blender, "-m", "pip", "install", "-q", f"bpy=={blender}.*", "pytest>=8", external=True)
    built = session.run("python", "blender_addon/build_zip.py", "--output", str(folder), silent=True)
    session.run(in_blender, "tests/blender/run.py", str(built).split()[-1], external=True)
