"""The suite itself: that its shortcuts leave nothing out."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ARRAYS, OUTPUTS, instruction_sets, on_all

from ikcore import _core

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in ROOT.glob("tests/*/test_*.py") if path.parent.name != "blender")
SOURCES = {path: path.read_text(encoding="utf-8") for path in FILES}


@pytest.mark.skipif(len(instruction_sets()) < 2, reason="one instruction set has nothing to differ from")
@pytest.mark.parametrize("wrong", [None, "scalar"])
def test_other_bits_on_one_instruction_set_are_noticed(wrong: str | None) -> None:
    def solve(*operands: Any) -> None:
        operands[OUTPUTS][0][:] = operands[0] + 1e-16 * (_core.isa() == wrong) * np.array([0, 1])

    found, before = (np.zeros(2), None), _core.isa()
    with pytest.raises(AssertionError, match="scalar gives other bits") if wrong else contextlib.nullcontext():
        on_all(solve, instruction_sets())(np.array([1.0, 0]), *[None] * (OUTPUTS - 1), found)
    assert _core.isa() == before
    assert found[0].tolist() == [1, 0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_has_a_quick_test(path: Path) -> None:
    tests = [node for node in ast.parse(SOURCES[path]).body if getattr(node, "name", "").startswith("test_")]
    marks = [" ".join(map(ast.unparse, test.decorator_list)) for test in functions(tests)]
    assert any("mark.slow" not in mark and "mark.thorough" not in mark for mark in marks)


def functions(nodes: list[ast.stmt]) -> list[ast.FunctionDef]:
    return [node for node in nodes if isinstance(node, ast.FunctionDef)]


MODULES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "ikcore").rglob("*.py"))}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_every_module_has_a_quick_test(module: Path) -> None:
    """An example in it, which are all quick, or a test that names what it defines; else it serves a module of those."""
    served = re.compile(rf"\b{module.stem} import\b|import .*\b{module.stem}\b")
    assert is_tested(module) or any(is_tested(other) for other, text in MODULES.items() if served.search(text))


def is_tested(module: Path) -> bool:
    text = MODULES[module]
    defined = [node.name for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    named = re.compile(rf"\b({'|'.join(map(re.escape, [module.stem, *defined]))})\b")
    return ">>> " in text or any(named.search(source) for source in SOURCES.values())


def test_what_the_oldest_numpy_runs_is_there() -> None:
    assert {path.name for path in FILES} >= ARRAYS
