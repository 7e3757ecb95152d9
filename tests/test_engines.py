"""The table of docs/engines.md: every row is a call that works, and no solver or option of its own is left out."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore import _core

PAGE = (Path(__file__).parent.parent / "docs/engines.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("| ").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
CALLS = [row[-1].strip("`") for row in ROWS if row[-1].startswith("`ik.")]


def names() -> dict[str, Any]:
    """What the page defines."""
    made: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE):
        exec(example.source, made)
    return made


def test_every_row_but_the_heading_has_a_call() -> None:
    heading, rule, *rows = ROWS
    assert heading[-1] == "here"
    assert set("".join(rule)) <= set("- |")
    assert len(rows) == len(CALLS) > 30


@pytest.mark.parametrize("call", CALLS)
def test_every_row_can_be_called(call: str) -> None:
    """It arrives, or as near as engines have it with few iterations; what is clamped or too far says so."""
    found = eval(call, names())
    held = ik.Status.TOO_FAR | ik.Status.AT_LIMIT
    assert np.all((np.asarray(found.error) < 0.01) | (np.asarray(found.status) & held != 0))
    assert np.all(np.asarray(found.status) < _core.UNUSABLE)


def test_a_precision_in_metres_is_kept() -> None:
    """The tip is as near as the row for a precision of a centimetre says."""
    made = names()
    found = eval("ik.fabrik(tail, pose, goals, tolerance=0.01 / 2.4)", made)
    assert np.linalg.norm(made["tail"].forward(found.pose).positions[8] - made["target"]) <= 0.01
