"""The pages of docs/: what they name, how wide their code is, and how guide and reference link to each other.

The links are counted in the built pages, where IKCORE_PAGES says that these are (`nox -s docs` does).
"""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ikcore as ik

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "reference")
SOURCES = [*PAGES, ROOT / "README.md"]
COLUMNS = 88  # what fits beside the sidebar
WIDE = {"guide/bake", "methods/fabrik", "guide/feet", "guide/metrics"}  # pages with wider code, which scrolls


def name_of(page: Path) -> str:
    """A page as the sidebar names it."""
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).with_suffix("").as_posix()


INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def toctrees(text: str) -> list[list[str]]:
    """The pages of each part of the sidebar."""
    return [
        [re.sub(r".*<(.*)>", r"\1", line) for line in block.splitlines() if line and not line.startswith(":")]
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
    ]


def listed() -> set[str]:
    """The objects in the reference, by the names that users write after ``ik.``."""
    names = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        (module,) = re.findall(r"currentmodule:: ([\w.]+)", text)
        names |= {
            f"{module}.{name}".removeprefix("ikcore.") for name in re.findall(r"^   ([\w.]+)$", text, re.MULTILINE)
        }
    return names


def test_every_public_object_is_in_the_reference() -> None:
    assert set(ik.__all__) - {"__version__"} <= listed()
    top = {getattr(ik, name) for name in ik.__all__ if callable(getattr(ik, name))}
    for module in (
        "closed_forms",
        "grounds",
        "learned",
        "limits",
        "masses",
        "prepare",
        "report",
        "rotations",
        "solvers",
    ):
        values = {name: getattr(getattr(ik, module), name) for name in dir(getattr(ik, module))}
        assert {f"{module}.{name}" for name, value in values.items() if value not in top} <= listed()


def test_the_sidebar_has_five_parts_and_every_page_once() -> None:
    parts = toctrees(INDEX)
    assert INDEX.count(":caption:") == len(parts) == 5
    pages = [page for part in parts for page in part]
    assert sorted(pages) == sorted(name_of(page) for page in PAGES if page.stem != "index")


def code_lines(text: str) -> list[str]:
    """Lines of code blocks as they are copied: without prompts, without output."""
    lines = []
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines += [
            re.sub(r"^(>>>|\.\.\.) ?", "", line)
            for line in block.splitlines()
            if language != "python" or ">>>" not in block or re.match(r">>>|\.\.\.", line)
        ]
    return lines


@pytest.mark.parametrize("page", SOURCES, ids=name_of)
def test_code_is_no_wider_than_the_page(page: Path) -> None:
    wide = [line for line in code_lines(page.read_text(encoding="utf-8")) if len(line) > COLUMNS]
    assert bool(wide) == (name_of(page) in WIDE), wide


@pytest.mark.parametrize("program", sorted((ROOT / "examples").glob("*.c")), ids=lambda path: path.name)
def test_programs_that_pages_show_are_no_wider(program: Path) -> None:
    assert max(map(len, program.read_text(encoding="utf-8").splitlines())) <= COLUMNS


@pytest.mark.parametrize("page", SOURCES, ids=name_of)
def test_pictures_and_pages_that_are_linked_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists() or "pictures/" in target, target


def test_readme_shows_what_its_example_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(block, {})
    shown = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
    assert shown
    assert capsys.readouterr().out.splitlines()[: len(shown)] == shown


class Links(HTMLParser):
    """Targets of the links in the text of a built page, without sidebar and heading."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.page, self.depth, self.found = page, 0, set[Path]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "article":
            self.depth += 1
        target = (given.get("href") or "").partition("#")[0]
        if self.depth and tag == "a" and target.endswith(".html") and ":" not in target:
            self.found.add((self.page.parent / target).resolve())

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "article"


BUILT = os.environ.get("IKCORE_PAGES")
built = pytest.mark.skipif(not BUILT, reason="no built pages: IKCORE_PAGES says where they are, see `nox -s docs`")
# Pages without Python, and the list of lists.
WITHOUT_NAMES = {"cite", "glossary", "reference", "records/figures", "start/gallery", "start/in_c", "start/install"}
WITHOUT_NAMES |= {f"blender/{name}" for name in ("bake_feet", "bake_ik", "fk", "pins", "rigs")}


@built
def test_every_guide_links_into_the_reference_and_back() -> None:
    site = Path(str(BUILT)).resolve()
    objects = {page: Links(page).found for page in (site / "reference/api").glob("*.html")}
    guides = [site / f"{name}.html" for part in toctrees(INDEX) for name in part if name not in WITHOUT_NAMES]
    assert len(objects) > 150
    assert len(guides) > 35
    for guide in guides:
        there = {page for page in Links(guide).found if page in objects}
        back = {page for page in there if guide in objects[page]}
        assert there, guide.name
        assert back == there, guide.name
    linked = [page for page, links in objects.items() if links & set(guides)]
    assert len(linked) > 0.6 * len(objects)


@built
def test_every_object_has_an_example_or_a_link_to_one_that_names_it() -> None:
    folder = Path(str(BUILT)).resolve() / "reference/api"
    alone = [page.stem for page in folder.glob("*.html") if not shown_or_linked(page)]
    assert len(alone) <= 12, alone  # files, measures and their notes, which the lists explain


def shown_or_linked(page: Path) -> bool:
    """Whether the page of an object has an example, or a line of links at its end."""
    text = page.read_text(encoding="utf-8")
    return "&gt;&gt;&gt;" in text or 'class="mentions' in text


@built
def test_every_object_has_its_source() -> None:
    site = Path(str(BUILT)).resolve()
    texts = {page.stem: page.read_text(encoding="utf-8") for page in (site / "reference/api").glob("*.html")}
    assert {name for name, text in texts.items() if "[source]" not in text} == {"ikcore.solvers.isa"}  # which is in C
