"""The C extension and the version; everything else is in pyproject.toml."""

import glob
import os
import re
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# A build label tells development builds apart where only the version is looked at (Blender keeps an installed wheel
# whose version did not change).
label = os.environ.get("IKCORE_BUILD_LABEL")
version = "0.1.0" + (f"+{label}" if label else "")

# Where the project is hosted is known to whoever publishes it (the release workflow says so): builds elsewhere name no
# links. A package index shows README alone, so there its links and pictures need the whole address.
home = os.environ.get("IKCORE_HOME", "").rstrip("/")
urls = {"Source": home, "Issues": f"{home}/issues", "Changelog": f"{home}/blob/v{version}/CHANGELOG.md"} if home else {}
readme = Path("README.md").read_text(encoding="utf-8")
if home:
    readme = re.sub(r"(!\[[^]]*\]\()(?!http)", rf"\g<1>{home}/raw/v{version}/", readme)
    readme = re.sub(r"(?<=\]\()(?!http)", f"{home}/blob/v{version}/", readme)

# Free-threaded Python has no limited API yet, so it gets a wheel of its own.
free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
limited = [] if free_threaded else [("Py_LIMITED_API", "0x030B0000")]
# Tests and benchmarks read these. Python's own flags ask for debugging information, half the time of compiling for what
# the linker takes out again, and for integers that wrap, which cost 2 % of a solve.
FLAGS = [
    "-std=c17",
    "-O2",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-wrapv",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-missing-field-initializers",  # what is left out is 0
    "-g0",
]
# Flags after FLAGS, by the environment variable IKCORE_BUILD. "quick" is for development: scalar code and AVX2 (on ARM
# NEON), compiled in a fraction of the time; solves take about twice as long.
BUILDS = {"": [], "quick": ["-O1", "-DIK_QUICK", "-DIK_NO_AVX512"]}
build = os.environ.get("IKCORE_BUILD", "")
if build not in BUILDS:
    sys.exit(f"IKCORE_BUILD: expected 'quick' or nothing, got {build!r}")
debugging = ["-g"] if "-g" in os.environ.get("CFLAGS", "") else []

# The system that is compiled for: another where CC, LDSHARED and _PYTHON_HOST_PLATFORM (win-amd64, say) name it. For
# Windows gcc is asked for, which knows the vectors that kernels are written in.
system = sysconfig.get_platform().partition("-")[0]
windows = system.startswith("win")
link_flags = ["-s", "-static-libgcc"] if windows else ["-Wl,-s"] if system == "linux" else []

INSTALL = (
    "install gcc (Debian, Ubuntu: apt install build-essential; Fedora: dnf install gcc; macOS: xcode-select --install; "
    "Windows: MinGW-w64, from winlibs.com) or name another in the environment variable CC"
)

# Some Pythons link extensions with a run path into their own folder, which means nothing on another machine.
if linker := sysconfig.get_config_var("LDSHARED"):
    os.environ.setdefault("LDSHARED", " ".join(word for word in linker.split() if not word.startswith("-Wl,-rpath")))


class SideBySide(build_ext):
    """Compiles the sources of the extension side by side, one line each: setuptools does one after the other.

    Knows what an extension is called and linked with on Windows, which setuptools does for its own system alone.
    """

    def finalize_options(self):
        super().finalize_options()
        if sys.platform == "win32":
            self.compiler = self.compiler or "mingw32"

    def get_ext_filename(self, fullname):
        name = super().get_ext_filename(fullname)
        return name.partition(".")[0] + ".pyd" if windows else name

    def get_libraries(self, ext):
        return ["python3"] if windows else super().get_libraries(ext)

    def build_extensions(self):
        whole = self.compiler.compile
        command = getattr(self.compiler, "compiler_so", ["gcc"])[0]
        if not shutil.which(command):
            sys.exit(f"ikcore is compiled from C: expected a compiler named {command!r}, found none; {INSTALL}")

        def compile_all(sources, *args, **options):
            def compile_one(numbered):
                number, source = numbered
                print(f"compiling {number} of {len(sources)}: {source}", flush=True)
                return whole([source], *args, **options)

            with ThreadPoolExecutor(os.cpu_count()) as pool:
                return [name for names in pool.map(compile_one, enumerate(sources, 1)) for name in names]

        self.compiler.compile = compile_all
        super().build_extensions()


setup(
    version=version,
    long_description=readme,
    long_description_content_type="text/markdown",
    project_urls=urls,
    cmdclass={"build_ext": SideBySide},
    ext_modules=[
        Extension(
            "ikcore._core",
            sources=sorted(glob.glob("src/**/*.c", recursive=True)),
            depends=sorted(glob.glob("src/**/*.h", recursive=True)),
            include_dirs=["src/ik", numpy.get_include()],
            define_macros=[
                *limited,
                ("NPY_TARGET_VERSION", "NPY_1_23_API_VERSION"),
                ("IKCORE_VERSION", f'"{version}"'),
            ],
            extra_compile_args=[*FLAGS, *BUILDS[build], *debugging],
            extra_link_args=link_flags,
            py_limited_api=not free_threaded,
        )
    ],
    options={} if free_threaded else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
