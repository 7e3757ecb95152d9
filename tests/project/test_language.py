"""The wording of comments, docstrings and pages: words that are avoided and long sentences, counted per folder.

The counts may only fall: `python tests/project/test_language.py` prints the lines that count, and
writes the counts when they are lower than those on record (`tests/project/language.json`).
"""

from __future__ import annotations

import ast
import bisect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("language.json")
FOLDERS = ("src/ik", "src/module", "ikcore", "blender_addon", "tests", "benchmarks", "examples", "docs", ".")
LONGEST = 30  # words of a sentence

# Phrases with a plainer word: "except", "reported", "again", "small" with a number, "usually", "compared with".
AVOIDED = re.compile(
    r"\b(but for|as a rule|told of|tells of|anew|hardly|a trace|for a moment|nowadays|so to speak|by themselves all"
    r"|goes over to|as it is by itself|on its way|lets? go|let it go|(?:is|are) let go|belly|wish(?:es)?|stays? of a)\b"
)
# Sentences that begin with a clause in place of a subject.
CLAUSE_FIRST = re.compile(r"^(What|Where|With|Of|So|Else|That|By that|Whoever|Whom)\b(?! (?:is|are|does|do|can) \w+\?)")
# Lines of docstrings: examples, lines under headings, and names of parameters with their types.
NO_SENTENCE = re.compile(r"(?m)^[ \t]*(?:(?:>>>|\.\.\.).*|-{3,}|[\w*]+(?:, [\w*]+)* : .*)$")
# A row of a table in a comment of C: a name, two spaces or more, its text.
ROW = re.compile(r"(?m)^(?=  +\S+(?:[ ,]+\S+){0,4}  +\S)")
SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\[])|\s*\|\|\s*")
# Lines next to each other; items of lists, rows of tables and headings begin another block.
BLOCK = re.compile(r"(?m)^[^\n]*\S[^\n]*(?:\n|\Z)(?:(?!\s*(?:[-*]|\d{1,2}\.) |[|#])[^\n]*\S[^\n]*(?:\n|\Z))*")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)


def starts_of_lines(text: str) -> list[int]:
    """The index of the first character of every line."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def line_of(starts: list[int], at: int) -> int:
    """The number of the line with this character, from 1."""
    return bisect.bisect_right(starts, at)


def paragraphs_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings, and runs of comment lines."""
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:  # statements alone: docstrings are in no expression
        node = waiting.pop()
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.excepthandler)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield from blocks(first.lineno, NO_SENTENCE.sub("", first.value.value))
    # whole lines of comments next to each other, and comments after code
    starts = starts_of_lines(text)
    for match in re.finditer(r"(?:^[ \t]*#[^\n]*\n)+|(?<=  )# [^\n]*", text, re.M):
        said = re.sub(r"(?m)^\s*#+ ?", "", match.group())
        yield from blocks(line_of(starts, match.start()), said)


def paragraphs_of_c(text: str) -> Iterator[tuple[int, str]]:
    """Comments."""
    starts = starts_of_lines(text)
    for match in re.finditer(r"/\*(.*?)\*/|//([^\n]*)", text, re.S):
        said = re.sub(r"(?m)^\s*\* ?", "", match.group(1) or match.group(2) or "")
        said = ROW.sub("||", said)
        yield from blocks(line_of(starts, match.start()), said)


def paragraphs_of_markdown(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and rows of tables, without code."""
    text = FENCE.sub(lambda code: "\n" * code.group().count("\n"), text)
    yield from blocks(1, re.sub(r"`[^`]*`", "Code", text))


def blocks(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items of lists and rows of tables: the line where each begins, and its text on one line."""
    for match in BLOCK.finditer(text):
        yield line + text.count("\n", 0, match.start()), " ".join(match.group().split())


READERS = {".py": paragraphs_of_python, ".c": paragraphs_of_c, ".h": paragraphs_of_c, ".md": paragraphs_of_markdown}


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """The line, the kind and the sentence of everything that counts."""
    for line, text in READERS[path.suffix](path.read_text(encoding="utf-8")):
        for sentence in SENTENCES.split(text):
            if AVOIDED.search(sentence):
                yield line, "avoided", sentence
            if CLAUSE_FIRST.match(sentence) and not sentence.endswith("?"):
                yield line, "clause first", sentence
            if len(re.findall(r"[A-Za-z][\w'/-]*", sentence)) > LONGEST and "|" not in sentence:
                yield line, "long", sentence


def files_of(folder: str) -> list[Path]:
    """The texts of a folder: at the top level its own files only."""
    every = (ROOT / folder).glob("*.md") if folder == "." else (ROOT / folder).rglob("*")
    skipped = {Path(__file__).name}
    return sorted(path for path in every if path.suffix in READERS and path.name not in skipped and path.is_file())


def counts_of(folder: str) -> dict[str, int]:
    """How many there are of each kind."""
    counts = {"avoided": 0, "clause first": 0, "long": 0}
    for path in files_of(folder):
        for _, kind, _ in findings(path):
            counts[kind] += 1
    return counts


@pytest.mark.parametrize("folder", FOLDERS)
def test_wording_only_becomes_plainer(folder: str) -> None:
    if not files_of(folder):
        pytest.skip("not in this tree")
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))[folder]
    found = counts_of(folder)
    worse = {
        kind: f"{count} where {recorded[kind]} are on record" for kind, count in found.items() if count > recorded[kind]
    }
    assert not worse, f"{folder}: {worse}; `python tests/project/test_language.py {folder}` shows them"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("A foot is planted.", []),
        ("What is slow is still.", ["clause first"]),
        ("All but for one.", ["avoided"]),
        ("One " + "word " * 30 + "more.", ["long"]),
        ("What is it?", []),
        ("One " + "word " * 15 + "ends.\n- Two " + "word " * 15 + "ends.", []),
        ("One " + "word " * 15 + "ends. [Two](three) " + "word " * 15 + "ends.", []),
        ("One " + "word " * 15 + "ends. `Code` " + "word " * 15 + "ends.", []),
    ],
)
def test_what_counts(tmp_path: Path, text: str, kinds: list[str]) -> None:
    for suffix, form in ((".md", "{}\n"), (".c", "/* {} */\n"), (".py", '"""{}"""\n'), (".py", "# {}\n")):
        path = tmp_path / f"text{suffix}"
        path.write_text(form.format(text.replace("\n", "\n# ") if form.startswith("#") else text))
        assert [kind for _, kind, _ in findings(path)] == kinds, form


def main() -> None:
    """Print the findings of the folders that are named; without names record lower counts of all."""
    for folder in sys.argv[1:]:
        for path in files_of(folder):
            for line, kind, sentence in findings(path):
                print(f"{path.relative_to(ROOT)}:{line}: {kind}: {sentence}")
    if len(sys.argv) > 1:
        return
    recorded = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for folder in FOLDERS:
        before, found = recorded.get(folder, {}), counts_of(folder)
        recorded[folder] = {kind: min(count, before.get(kind, count)) for kind, count in found.items()}
        print(f"{folder:14} {recorded[folder]}")
    RECORD.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
