#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the extension: `python blender_addon/build_zip.py` writes dist/ikcore-<version>-<platform>.zip.

The script builds the ikcore wheel for this platform, puts it beside the add-on's sources, adds it to the manifest, and
zips everything. The option `--wheel`, given once per platform, uses existing wheels. The same wheels and sources give
the same zip, byte for byte. It needs pip and a C compiler, unless wheels are given. Progress goes to the error output.
The standard output has one line, the path of the zip.

Blender does not unpack a wheel again if its version is installed already, whatever its content. The wheel's version
therefore carries a label derived from its sources, as in 0.1.0+b1a2b3c4.
"""

import argparse
import hashlib
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile

ADDON = pathlib.Path(__file__).resolve().parent
ROOT = ADDON.parent
WHEEL_SOURCES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src", "ikcore")
BUILT = shutil.ignore_patterns("*.so", "*.pyd", "*.o", "__pycache__")
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the oldest time a zip can hold, given to every file
# The last part of a wheel's name -> Blender's name for the platform.
SYSTEMS = {"manylinux": "linux", "linux": "linux", "macosx": "macos", "win": "windows"}
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def main():
    """Read the command line, write the zip, print its path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--wheel", type=pathlib.Path, action="append", help="use this wheel instead of building one; one a platform"
    )
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder for the zip (default: dist)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheels = check_wheels(options.wheel) if options.wheel else [build_wheel(pathlib.Path(folder))]
        print(write_zip(wheels, options.output))


def say(text):
    """Print progress to the error output."""
    print(f"build_zip: {text}", file=sys.stderr, flush=True)


def check_wheels(wheels):
    """Check the wheels: they exist, have the same version, and differ in platform. Returns them by platform."""
    if missing := [wheel for wheel in wheels if not wheel.is_file()]:
        raise SystemExit(f"build_zip: there is no {missing[0]}")
    wheels = sorted(wheels, key=platform_of)
    for one, other in itertools.pairwise(wheels):
        if platform_of(one) == platform_of(other):
            raise SystemExit(
                f"build_zip: {one.name} and {other.name} are both for {platform_of(one)}; give one of them"
            )
    if len({wheel.name.split("-")[1] for wheel in wheels}) > 1:
        names = ", ".join(wheel.name for wheel in wheels)
        raise SystemExit(f"build_zip: expected wheels of one version, got {names}; build them again")
    return wheels


def build_wheel(folder):
    """Build the wheel from a copy of the sources, so that the source tree stays clean and no stale files are used."""
    sources = folder / "sources"
    sources.mkdir()
    for name in WHEEL_SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, sources / name, ignore=BUILT)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, sources / name)
    say("compiling ikcore for this platform (a minute or two; --wheel takes wheels that are there)")
    environment = {**os.environ, "IKCORE_BUILD_LABEL": label(sources), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(sources)]
    subprocess.run(command, check=True, env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def label(sources):
    """Eight letters that change with the sources of the wheel.

    The first is no digit. A label that is a number, such as 01557259, would lose its zero in the name of the wheel.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in sources.rglob("*") if path.is_file()):
        digest.update(file.relative_to(sources).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"b{digest.hexdigest()[:7]}"


def platform_of(wheel):
    """Blender's name for the platform of a wheel, such as linux-x64."""
    tag = wheel.stem.split("-")[-1].split(".")[0]
    system = next((name for start, name in SYSTEMS.items() if tag.startswith(start)), None)
    machine = next((name for end, name in MACHINES.items() if tag.endswith(end)), None)
    if system is None or machine is None:
        raise SystemExit(f"build_zip: no Blender platform for {wheel.name}")
    return f"{system}-{machine}"


def manifest_with(wheels):
    """The manifest's text with the wheels, their platforms and the website added."""
    text = (ADDON / "blender_manifest.toml").read_text(encoding="utf-8")
    platforms = ", ".join(f'"{platform_of(wheel)}"' for wheel in wheels)
    names = "".join(f'  "./wheels/{wheel.name}",\n' for wheel in wheels)
    home = os.environ.get("IKCORE_HOME")  # where the project is hosted, as in setup.py
    website = f'website = "{home}"\n' if home else ""
    return f"{text}{website}platforms = [{platforms}]\nwheels = [\n{names}]\n"


def contents_with(wheels):
    """The contents of the zip by name: the add-on's sources, its manifest, the wheels."""
    files = [ADDON / "LICENSE", *(file for file in ADDON.rglob("*.py") if file.name != "build_zip.py")]
    contents = {file.relative_to(ADDON).as_posix(): file.read_bytes() for file in files}
    contents["blender_manifest.toml"] = manifest_with(wheels).encode()
    for wheel in wheels:
        contents[f"wheels/{wheel.name}"] = wheel.read_bytes()
        say(f"{platform_of(wheel)}: {wheel.name}, {size_of(wheel)}")
    return contents


def write_zip(wheels, output):
    """Write the zip and return its path."""
    contents = contents_with(wheels)
    output.mkdir(parents=True, exist_ok=True)
    version = tomllib.loads(contents["blender_manifest.toml"].decode())["version"]
    path = output / f"ikcore-{version}-{'-'.join(map(platform_of, wheels))}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.create_system = 3  # Unix, on every build machine
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
    say(f"{len(contents)} files, {size_of(path)}; drop it onto Blender's window:")
    return path


def size_of(path):
    """A size such as 3.2 MB."""
    return f"{path.stat().st_size / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
