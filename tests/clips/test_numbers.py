"""Numbers out of text: what is one is said by a regular expression, which double it is by Python's float()."""

from __future__ import annotations

import math
import re
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ikcore import _core

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SPACES = " \t\n\v\f\r"
FUZZ = settings(max_examples=500, deadline=None)


def expected(text: bytes, start: int) -> list[float] | int:
    """The slow way."""
    found = []
    for word in re.finditer(rb"[^ \t\n\v\f\r]+", text[start:]):
        if not NUMBER.fullmatch(word[0]) or math.isinf(float(word[0])):
            return start + word.start()
        found.append(float(word[0]))
    return found


def as_expected(text: bytes, start: int = 0) -> None:
    found = _core.parse_numbers(text, start)
    assert repr(found if isinstance(found, int) else found.tolist()) == repr(expected(text, start))  # -0.0 is not 0.0


def check(words: list[str], space: str = " ") -> None:
    """All of them are numbers."""
    text = space.join(words).encode()
    assert not isinstance(expected(text, 0), int)
    as_expected(text)


digits = st.text("0123456789", max_size=25)
exponents = st.one_of(st.just(""), st.builds("{}{}{}".format, *map(st.sampled_from, ("eE", ["", "+", "-"])), digits))
decimals = st.builds(
    "{}{}{}{}{}".format, *map(st.sampled_from, [["", "-", "+"]]), digits, st.sampled_from(["", "."]), digits, exponents
)


@pytest.mark.slow
@FUZZ
@given(st.lists(decimals, max_size=6), st.text(SPACES, min_size=1, max_size=3))
def test_any_decimals(words: list[str], space: str) -> None:
    as_expected(space.join(words).encode())


@pytest.mark.slow
@FUZZ
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_every_double_comes_back(values: list[float]) -> None:
    """Shortest, with 17 digits, with all, and as files have them."""
    for form in ("{!r}", "{:.16e}", "{:.6f}"):
        check([form.format(value) for value in values], "\r\n")
    for form in ("{:.9g}", "{:.3E}"):  # the largest double becomes too large
        as_expected(" ".join(form.format(value) for value in values).encode())


def digits_of(exact: Fraction) -> str:
    """All decimal digits of a fraction whose denominator is a power of two."""
    shift = exact.denominator.bit_length() - 1
    return f"{exact.numerator * 5**shift}e-{shift}"


@pytest.mark.slow
@FUZZ
@given(st.integers(0, 0x7FEF_FFFF_FFFF_FFFE), st.integers(-1, 1), st.integers(1, 900))
def test_halfway_between_two_doubles(bits: int, aside: int, far: int) -> None:
    """To the even one; with one digit more, however far behind, to the nearer. Denormals are among them."""
    low, high = np.array([bits, bits + 1], np.uint64).view(np.float64).tolist()
    halfway = (Fraction(low) + Fraction(high)) / 2
    whole, _, power = digits_of(halfway).partition("e")
    moved = int(whole) * 10**far + aside
    check([f"{moved}e{int(power) - far}"])


@pytest.mark.slow
@FUZZ
@given(
    st.integers(2**53 - 20, 2**53 + 20) | st.integers(0, 2**64 + 20) | st.integers(10**18 - 9, 10**18 + 9),
    st.integers(-29, 29),
)
def test_about_the_limits_of_what_is_exact(whole: int, power: int) -> None:
    text = str(whole)
    check([f"{whole}e{power}", f"-{text[:-5]}.{text[-5:]}e{power}" if len(text) > 5 else f"-.{text}e{power}"])


@pytest.mark.slow
@FUZZ
@given(st.integers(2**53, 2**54 - 1), st.integers(0, 3), st.integers(-1, 1))
def test_ties_of_few_digits(whole: int, halvings: int, aside: int) -> None:
    """Numbers of 54 bits, the odd ones halfway between two doubles."""
    check([f"{whole * 5**halvings + aside}e-{halvings}", f"{10 * whole + aside}e-1"])


def test_close_to_ties_of_few_digits() -> None:
    """The 19 digits next to a tie: what tells them from it is beyond 64 bits of some."""
    random = np.random.default_rng(0)
    for decimals in range(19, 30):
        for odd in (2 * random.integers(2**52, 2**53, 200) + 1).tolist():
            tie = Fraction(odd) / 2 ** (odd.bit_length() + math.ceil(math.log2(10) * (decimals - 19)))
            below = math.floor(tie * 10**decimals)
            check([f"{below}e-{decimals}", f"{below + 1}e-{decimals}"])


def test_what_is_a_number_and_what_is_not() -> None:
    for word in (
        "1",
        "-0",
        "+.5",
        "5.",
        "00012.50",
        "1e5",
        "1E-05",
        "-.0e-0",
        "0e99999999999999999999",
        "1e-400",
        "1e-4294967297",
        "1e-18446744073709551617",
    ):
        check([word])
    check(["0." + "0" * 400 + "7", "7" + "0" * 300 + ".5", "1" + "0" * 400 + "e-400", "9" * 5000 + "e-5000"])
    check(["." + "0" * 999_999 + "1e1000000"])
    assert _core.parse_numbers(b"." + b"0" * 199_998 + b"1e1999990", 0) == 0
    wrong = [
        "nan",
        "inf",
        "-Infinity",
        "1e",
        "1e+",
        "e5",
        ".",
        "-",
        "+-1",
        "- 1",
        "1,5",
        "1_0",
        "0x10",
        "1.2.3",
        "1.5-2",
    ]
    for word in [
        *wrong,
        "1d5",
        "1e400",
        "1e4294967297",
        "1e18446744073709551617",
        "-1e309",
        "9" * 400,
        "1\0",
        "\0",
        "\x1c",
        "\xa0",
        "\xb2",
        "1e5.0",
    ]:
        text = b"3 4.25\n" + word.encode("latin-1")
        assert _core.parse_numbers(text, 0) == 7
        assert _core.parse_numbers(text + b" 5 x", 0) == 7
    assert _core.parse_numbers(b"1e400 x", 0) == 0  # the first, whichever way it is wrong


def test_where_it_begins_and_ends() -> None:
    for text in (b"", b" ", b"\n\t\r\v\f "):
        assert np.asarray(_core.parse_numbers(text, 0)).tolist() == []
    text = b"HIERARCHY 12 13"
    as_expected(text, 10)
    as_expected(text, 11)
    as_expected(text, len(text))
    for start in (-1, len(text) + 1):
        with pytest.raises(ValueError, match=f"start: expected 0 to 15, got {start}"):
            _core.parse_numbers(text, start)
    with pytest.raises(TypeError):
        _core.parse_numbers("12", 0)  # type: ignore[arg-type]


@FUZZ
@given(st.binary(max_size=60), st.data())
def test_anything(text: bytes, data: st.DataObject) -> None:
    as_expected(text, data.draw(st.integers(0, len(text))))


@FUZZ
@given(st.text("0123456789.eE+-x\0 \n", max_size=40))
def test_anything_like_numbers(text: str) -> None:
    as_expected(text.encode())


def test_threads_read_at_the_same_time() -> None:
    """The same text in several threads, with words that need the GIL."""
    words = [f"{value:.{digits}g}" for value in np.random.default_rng(0).normal(size=5000) for digits in (6, 17)]
    text, found = " ".join(words).encode(), list[NDArray[np.float64] | int]()
    threads = [threading.Thread(target=lambda: found.append(_core.parse_numbers(text, 0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [np.asarray(values).tolist() for values in found] == [[float(word) for word in words]] * 8
