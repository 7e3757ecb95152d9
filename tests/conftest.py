"""Fixtures: every kernel test runs on every instruction set of this processor, in floats and doubles."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ikcore import _core


def instruction_sets() -> list[str]:
    """The ones this processor has: use_isa lowers a name to the next it knows."""
    chosen = _core.isa()
    here: list[str] = [name for name in ("scalar", "base", "avx2", "avx512") if _core.use_isa(name) == name]
    _core.use_isa(chosen)
    return here


# Module scope, so that Hypothesis may use them and pytest groups the tests of one instruction set.
@pytest.fixture(scope="module", params=instruction_sets())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _core.isa()
    assert _core.use_isa(request.param) == request.param
    yield request.param
    _core.use_isa(before)


@pytest.fixture(scope="module", params=[np.float32, np.float64], ids=["f32", "f64"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Windows makes links for some users alone, and wine makes none and does not say so: a test with one is skipped."""
    with pytest.MonkeyPatch.context() as patch:
        if os.name == "nt":
            patch.setattr(Path, "symlink_to", link_or_skip)
        return (yield)


def link_or_skip(path: Path, target: Path) -> None:
    try:
        os.symlink(target, path, target_is_directory=target.is_dir())
    except OSError as error:
        pytest.skip(f"no links here: {error}")
    if not path.is_symlink():
        pytest.skip("no links here")
