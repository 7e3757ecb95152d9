"""Every kernel test holds on every instruction set of this processor, in floats and doubles; and which tests are quick.

A test with the fixture `isa` runs on each of them, its cases on one after the other. A test with `everywhere` runs once
and makes each solve on all of them, because the same bits make its result valid for all. IKCORE_ISA names the only one,
for a machine that need not try all.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore import _core


def instruction_sets() -> list[str]:
    """The ones this processor has: use_isa lowers a name to the next it knows."""
    chosen = _core.isa()
    if os.environ.get("IKCORE_ISA"):
        return [chosen]
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


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an iterative method solves, it solves on every instruction set, with the same bits.

    The test receives the result of the last one. The threads wait for each other here, if there are `workers`.
    """
    monkeypatch.setattr(_core, "solve", on_all(_core.solve, instruction_sets()))


OUTPUTS = 7  # which operand of _core.solve its results are


def on_all(solve: Callable[..., None], isas: list[str]) -> Callable[..., None]:
    """The same, made on all instruction sets, which must agree."""
    alone = threading.Lock()

    def solve_on_all(*operands: Any) -> None:
        given, found, stop = operands[:OUTPUTS], operands[OUTPUTS], operands[OUTPUTS + 1 :]
        copies = [tuple(None if array is None else array.copy() for array in found) for _ in isas[1:]]
        with alone:
            chosen = _core.isa()
            try:
                for isa, made in zip(isas, [*copies, found], strict=True):
                    assert _core.use_isa(isa) == isa
                    solve(*given, made, *stop)
            finally:
                _core.use_isa(chosen)
        for isa, made in zip(isas, copies, strict=False):
            assert bits(made) == bits(found), f"{isa} gives other bits than {isas[-1]}"

    return solve_on_all


def bits(arrays: Any) -> list[bytes]:
    """The bytes of the arrays that exist."""
    return [array.tobytes() for array in arrays if array is not None]


# Tests of how arrays come in and out: the oldest NumPy runs these in full and the quick ones.
ARRAYS = {f"test_{name}.py" for name in ("ground", "numbers", "single", "skeleton", "solve", "two_bone")}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Whether cases are drawn."""
    parser.addoption("--every-case", action="store_true", help="also the cases that are not drawn")


def in_order_of_hash(names: Iterable[str]) -> list[str]:
    """The same order on every machine, which goes by nothing in the names."""
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def one_instruction_set_each(cases: dict[str, dict[str, Any]]) -> set[str]:
    """One of the cases that differ only in their instruction set, each set in turn; all if a test has few cases.

    Tests of bits compare all instruction sets with each other, so that what holds on one holds on the others.
    """
    rows: dict[Any, dict[Any, str]] = {}
    for name, values in cases.items():
        rest = frozenset((key, value) for key, value in values.items() if key != "isa")
        rows.setdefault(rest, {})[values["isa"]] = name
    if len(rows) < max(map(len, rows.values())):
        return set(cases)
    named = {max(row.values()): list(row.values()) for row in rows.values()}
    return {named[name][at % len(named[name])] for at, name in enumerate(in_order_of_hash(named))}


def drawn(cases: dict[str, dict[str, Any]], count: int) -> set[str]:
    """The given number of cases: first those that cover every value of every parameter, then others."""
    seen: set[tuple[str, Any]] = set()
    chosen: list[str] = []
    others: list[str] = []
    for name in in_order_of_hash(cases):
        new = cases[name].items() - seen
        (chosen if new else others).append(name)
        seen |= new
    return {*chosen, *others[: max(0, count - len(chosen))]}


def cases_left_out(items: list[pytest.Item]) -> set[str]:
    """The names of cases that are not drawn: see `drawn` in pyproject.toml."""
    tests: dict[str, dict[str, pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            tests.setdefault(item.nodeid.partition("[")[0], {})[item.nodeid] = item
    left_out: set[str] = set()
    for known in tests.values():
        first = next(iter(known.values()))
        cases = {name: {key: id(value) for key, value in item.callspec.params.items()} for name, item in known.items()}
        if "isa" in first.callspec.params:
            kept = one_instruction_set_each(cases)
            left_out |= cases.keys() - kept
            cases = {name: cases[name] for name in cases if name in kept}
        if marker := first.get_closest_marker("drawn"):
            left_out |= cases.keys() - drawn(cases, marker.args[0])
    return left_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave cases out, and say which are `quick`: all tests but the slow ones, of each its first case."""
    if not config.getoption("--every-case"):
        names = cases_left_out(items)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in names])
        items[:] = [item for item in items if item.nodeid not in names]
    seen: set[str] = set()
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name not in seen and not is_slow(item):
            item.add_marker(pytest.mark.quick)
        seen.add(name)
        if Path(item.path).name in ARRAYS:
            item.add_marker(pytest.mark.arrays)
    longest_files_first(items)


def is_slow(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "thorough"))


def longest_files_first(items: list[pytest.Item]) -> None:
    """A file goes to one worker as a whole: one of minutes that came last would leave the others idle."""
    tests = Counter(item.path for item in items)
    slow = Counter(item.path for item in items if is_slow(item))
    items.sort(key=lambda item: (slow[item.path], tests[item.path]), reverse=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Windows makes links for some users alone, and wine makes none and does not say so: a test with one is skipped."""
    with pytest.MonkeyPatch.context() as patch:
        if os.name == "nt":
            patch.setattr(Path, "symlink_to", link_or_skip)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test of all methods applies to a method as far as it supports the request; the rest is skipped."""
    try:
        return (yield)
    except (TypeError, ValueError, AssertionError, pytest.fail.Exception) as wrong:
        given = pyfuncitem.callspec.params.get("method") if hasattr(pyfuncitem, "callspec") else None
        refusal = str(wrong if isinstance(wrong, TypeError | ValueError) else wrong.__context__)  # another was awaited
        if isinstance(given, str) and is_not_for(given, refusal):
            pytest.skip(refusal)
        raise


def is_not_for(name: str, refusal: str) -> bool:
    """Whether a method refuses what the table says that it does not take, or an option that it does not have."""
    method = ik.methods()[name]
    words = {word for each in ik.methods().values() for word in each.takes} - method.takes
    options = {option for each in ik.methods().values() for option in each.options} - set(method.options)
    said = [f"{name} takes no {word};" for word in words] + [f"{name}: no option {option!r} here" for option in options]
    return any(sentence in refusal for sentence in said)


def link_or_skip(path: Path, target: Path) -> None:
    try:
        os.symlink(target, path, target_is_directory=target.is_dir())
    except OSError as error:
        pytest.skip(f"no links here: {error}")
    if not path.is_symlink():
        pytest.skip("no links here")
