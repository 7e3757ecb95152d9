"""The table of docs/methods/jacobians.md: every variant is a call that works, by the name of papers."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs/methods/jacobians.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("| ").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
CALLS = {row[0]: row[-1].strip("`") for row in ROWS if len(row) == 3 and row[-1].startswith("`ik.")}
NAMES = (
    *("transpose", "pseudo-inverse", "Gauss-Newton", "DLS", "Nielsen", "LM", "PI-DLS", "SVF", "SDLS", "ESDLS", "PGS"),
    *("Gauss-Seidel", "FIK", "CLIK", "half-Jacobian", "extended Jacobian", "manipulability", "OMR", "PIK", "SNS"),
    *("IKTC", "projection", "metric", "strength", "inverse kinetics", "support polygon", "newton", "steepest descent"),
    *("BFGS", "L-BFGS", "L-BFGS-B", "octree", "FullBodyIK"),
)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """The names that the page defines."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE):
        exec(example.source, names)
        if "near, _" in example.source:
            return names
    raise AssertionError("the page no longer defines what its calls need")


def test_every_name_is_there() -> None:
    there = " ".join(row[0] + row[1] for row in ROWS if row[-1].strip("`") in CALLS.values())
    assert [name for name in NAMES if name not in there] == []
    assert len(CALLS) > 30


@pytest.mark.parametrize("name", CALLS)
def test_every_variant_can_be_called(name: str, made: dict[str, Any]) -> None:
    """And arrives."""
    found = eval(CALLS[name], made)
    assert np.all(found.status == 0)
    assert not np.array_equal(found.pose.rotations, made["tail"].rest.rotations)
