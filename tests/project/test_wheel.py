"""The built wheel: its tag, its files, what the module exports. nox says where it is."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

WHEEL = Path(os.environ.get("IKCORE_WHEEL", ""))
CORE = "ikcore/_core.pyd" if "-win" in WHEEL.name else "ikcore/_core.abi3.so"
ROOT = Path(__file__).parents[2]

elf = pytest.mark.skipif(sys.platform != "linux" or "linux" not in WHEEL.name, reason="reads ELF")
pytestmark = pytest.mark.skipif(not WHEEL.is_file(), reason="IKCORE_WHEEL names no wheel")


@pytest.fixture
def core(tmp_path: Path) -> Path:
    with zipfile.ZipFile(WHEEL) as archive:
        return Path(archive.extract(CORE, tmp_path))


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_one_wheel_serves_every_python() -> None:
    assert re.fullmatch(r"ikcore-[\w.+]+-cp311-abi3-[\w.]+\.whl", WHEEL.name)


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    with zipfile.ZipFile(WHEEL) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name and name[-1] != "/"}
    source = {p.relative_to(ROOT).as_posix() for p in (ROOT / "ikcore").rglob("*") if p.is_file()}
    source = {name for name in source if not re.search(r"__pycache__|\.so$|\.pyd$", name)}
    assert packed == source | {CORE}


@elf
def test_the_module_exports_its_init_and_nothing_else(core: Path) -> None:
    symbols = output("nm", "-D", "--defined-only", str(core))
    assert re.findall(r" (\w+)$", symbols, re.MULTILINE) == ["PyInit__core"]


@elf
def test_the_module_names_no_folder_of_the_build_machine(core: Path) -> None:
    assert not re.search("RPATH|RUNPATH", output("readelf", "-d", str(core)))
    assert os.path.expanduser("~").encode() not in core.read_bytes()


def test_the_limited_api_is_kept() -> None:
    pytest.importorskip("abi3audit")
    output(sys.executable, "-m", "abi3audit", "--strict", str(WHEEL))
