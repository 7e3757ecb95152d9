"""docs/numbers.md has every number that feet and bakes reckon with, as it is."""

from __future__ import annotations

from pathlib import Path

from reckoned import made_of, numbers, said

PAGE = Path(__file__).parent.parent / "docs/numbers.md"


def test_the_page_has_all_numbers_as_they_are_and_no_others() -> None:
    """Where this fails `python benchmarks/constants.py` makes the table anew."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if "." in line[:20]]
    told = {row[0]: (row[1], row[-1]) for row in rows if len(row) == 6}
    found = {
        f"{module.removeprefix('ikcore.')}.{name}": (f"{value:g}", said(module, name)[1])
        for module, name, value in numbers()
    }
    assert told == found


def test_all_say_what_they_are() -> None:
    """Beside the line they are in, and what is made of one is known to be."""
    assert all(said(module, name)[1] for module, name, _ in numbers())
    assert made_of("ikcore.feet.human", "SOLE") == {"THICK": "2 * SOLE", "UNEVEN": "THICK"}
    assert not any(name in ("THICK", "UNEVEN") for _, name, _ in numbers())
