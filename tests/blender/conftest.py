"""The extension as installed by run.py, and an empty file for every test."""

import importlib
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

bpy = pytest.importorskip("bpy", reason="run these through run.py, in a Python that has bpy")

import rigs  # noqa: E402  (needs bpy)

EXTENSION = "bl_ext.user_default.ikcore"


def pytest_collection_modifyitems(items):
    """The first case of every test is quick: versions and systems differ in what is called, not in numbers."""
    seen = set()
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name not in seen:
            item.add_marker(pytest.mark.quick)
        seen.add(name)


@pytest.fixture(autouse=True)
def empty_file():
    rigs.new_scene()


@pytest.fixture
def addon():
    """The extension's package."""
    return importlib.import_module(EXTENSION)


@pytest.fixture
def archive():
    """The zip under test."""
    return pathlib.Path(os.environ["IKCORE_TEST_ZIP"])
