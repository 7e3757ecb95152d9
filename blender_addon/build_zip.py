#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the extension: `python blender_addon/build_zip.py` writes dist/ikcore-<version>-<platform>.zip.

Builds the ikcore wheel, puts it beside the sources of the add-on, names it in the manifest, and zips. The zip is the
same, byte for byte, for the same wheel and sources. Needs pip and a C compiler, unless a wheel is given.

Blender does not unpack a wheel again whose version it already has, whatever is in it. So the wheel's version carries
a label made from what it is built of, as in 0.1.0+1a2b3c4d.
"""

import argparse
import hashlib
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
# The last part of a wheel's name -> what Blender calls the platform.
SYSTEMS = {"manylinux": "linux", "linux": "linux", "macosx": "macos", "win": "windows"}
MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def main():
    """Read the command line, write the zip, print its path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=pathlib.Path, help="use this wheel instead of building one")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder for the zip (default: dist)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel or build_wheel(pathlib.Path(folder))
        print(write_zip(wheel, options.output))


def build_wheel(folder):
    """Build the wheel from a copy of the sources: nothing is left in the tree, and nothing stale is taken from it."""
    sources = folder / "sources"
    sources.mkdir()
    for name in WHEEL_SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, sources / name, ignore=BUILT)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, sources / name)
    environment = {**os.environ, "IKCORE_BUILD_LABEL": label(sources), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(sources)]
    subprocess.run(command, check=True, env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def label(sources):
    """Eight letters that change when anything changes that the wheel is built from."""
    digest = hashlib.sha256()
    for file in sorted(path for path in sources.rglob("*") if path.is_file()):
        digest.update(file.relative_to(sources).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:8]


def platform_of(wheel):
    """Blender's name for the platform of a wheel, such as linux-x64."""
    tag = wheel.stem.split("-")[-1].split(".")[0]
    system = next((name for start, name in SYSTEMS.items() if tag.startswith(start)), None)
    machine = next((name for end, name in MACHINES.items() if tag.endswith(end)), None)
    if system is None or machine is None:
        raise SystemExit(f"build_zip: no Blender platform for {wheel.name}")
    return f"{system}-{machine}"


def manifest_with(wheel):
    """The manifest's text with the wheel and its platform added."""
    text = (ADDON / "blender_manifest.toml").read_text(encoding="utf-8")
    return f'{text}platforms = ["{platform_of(wheel)}"]\nwheels = ["./wheels/{wheel.name}"]\n'


def write_zip(wheel, output):
    """Write the zip and return its path."""
    manifest = manifest_with(wheel)
    contents = {"blender_manifest.toml": manifest.encode(), f"wheels/{wheel.name}": wheel.read_bytes()}
    for file in [ADDON / "LICENSE", *ADDON.glob("*.py")]:
        if file != pathlib.Path(__file__).resolve():
            contents[file.name] = file.read_bytes()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"ikcore-{tomllib.loads(manifest)['version']}-{platform_of(wheel)}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
    return path


if __name__ == "__main__":
    main()
