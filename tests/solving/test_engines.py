"""The table of docs/start/engines.md: every row is a call that works, and none is left out."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore import _core

PAGE = (Path(__file__).parents[2] / "docs/start/engines.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("| ").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
CALLS = [row[-1].strip("`") for row in ROWS if row[-1].startswith("`ik.")]


def names() -> dict[str, Any]:
    """The names that the page defines."""
    made: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE):
        exec(example.source, made)
    return made


def test_every_row_but_the_heading_has_a_call() -> None:
    heading, rule, *rows = ROWS
    assert heading[-1] == "here"
    assert set("".join(rule)) <= set("- |")
    assert len(rows) == len(CALLS) > 60


@pytest.mark.parametrize("call", CALLS)
def test_every_row_can_be_called(call: str) -> None:
    """The error is as small as in engines with few iterations, or the status gives the reason."""
    found = eval(call, names())
    held = ik.Status.TOO_FAR | ik.Status.AT_LIMIT | ik.Status.CONFLICT
    error = np.asarray(getattr(found, "error", 0.0))  # of shared twist there is none
    assert np.all((error < 0.01) | (np.asarray(found.status) & held != 0))
    assert np.all(np.asarray(found.status) < _core.UNUSABLE)


def test_a_precision_in_metres_is_kept() -> None:
    """The tip is as near as the row for a precision of a centimetre says."""
    made = names()
    found = eval("ik.fabrik(tail, pose, goals, tolerance=0.01 / 2.4)", made)
    assert np.linalg.norm(made["tail"].forward(found.pose).positions[8] - made["target"]) <= 0.01


def test_two_degrees_an_iteration_are_eight_a_frame() -> None:
    """As Godot's default is, of four iterations: no joint turns more from frame to frame, and some do as much."""
    made = names()
    made["goals"] = [ik.Reach(8, [made["target"], [-1.5, 0.9, 0.4], [-1.5, 0.9, 0.4]])]
    found = eval(next(call for call in CALLS if "speed=np.radians(4 * 2)" in call), made)
    turn = ik.rotations.multiply(ik.rotations.conjugate(found.pose.rotations[:-1]), found.pose.rotations[1:])
    turned = np.degrees(np.linalg.norm(ik.rotations.log(turn), axis=-1))
    assert turned.max() == pytest.approx(8, abs=1e-3)


def test_all_options_of_ccd_have_a_name_elsewhere() -> None:
    own = set(ik.methods()["ccd"].options) - set(ik.methods()["fabrik"].options)
    assert own == {"max_step", "start_from_tail", "feedback", "bounce"}
    for word in (*own, "caps=", "stiffness="):
        assert any(word in call for call in CALLS)


def test_who_pulls_more_is_nearer_and_a_root_that_may_goes_along() -> None:
    made = names()
    pulled = eval(next(call for call in CALLS if "weight=4" in call), made)
    assert pulled.status == ik.Status.CONFLICT
    hands = made["body"].forward(pulled.pose).positions[[3, 5]]
    off = np.linalg.norm(hands - [[0.9, 1.2, 0.2], [-1.2, 1.2, 0]], axis=-1)
    assert off[1] > 3 * off[0] > 0
    free = eval(next(call for call in CALLS if "body_of(anywhere)" in call), made)
    assert free.status == 0
    assert np.any(free.pose.translations[0])
    assert ik.fabrik(made["body"], made["body"].rest, [made["right"], made["far_left"]]).status != 0


def test_full_body_ik_of_unreal_4_is_a_setting() -> None:
    """Joints along the chain turn less and less willingly, none beyond its limit about the pose that comes in."""
    made = names()
    damped, by_transpose = (call for call in CALLS if "fading" in call and "textbook" in call)
    for call in (damped, by_transpose):
        found = eval(call, made)
        assert found.status == 0
        turned = np.linalg.norm(ik.rotations.log(found.pose.rotations[:8]), axis=-1)
        alike = np.linalg.norm(ik.rotations.log(eval(call.replace("fading", "tail"), made).pose.rotations[:8]), axis=-1)
        assert turned[-1] / turned[:4].sum() < 0.7 * alike[-1] / alike[:4].sum()
    bent = made["bent"].rotations
    limited = eval(next(call for call in CALLS if "about_input" in call), made).pose.rotations
    away = ik.rotations.log(ik.rotations.multiply(ik.rotations.conjugate(bent), limited))
    assert 0.1 < np.abs(away).max() < 0.5 * 3**0.5 + 1e-9
