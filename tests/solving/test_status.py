"""Status flags of the core and their use in Python: names, values, sentences, counts, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ikcore as ik
from ikcore import _core
from ikcore.status import count, report_unusable, summarize

OK, FAR, NAN, NONE = 0, 1 << 0, 1 << 16, 1 << 17


def test_python_has_every_flag_of_the_core_and_no_other() -> None:
    assert {flag.name: flag.value for flag in ik.Status} == {name: value for name, value, _ in _core.STATUS_FLAGS}


def test_members_come_in_the_order_of_the_core() -> None:
    assert [flag.name for flag in ik.Status] == [name for name, _, _ in _core.STATUS_FLAGS]


def test_values_are_unique_ascending_powers_of_two() -> None:
    values = [value for _, value, _ in _core.STATUS_FLAGS]
    assert all(value > 0 and value & (value - 1) == 0 for value in values)
    assert values == sorted(set(values))


def test_values_are_the_contract() -> None:
    assert {flag.name: flag.value for flag in ik.Status} == {
        "TOO_FAR": 1,
        "TOO_NEAR": 2,
        "POLE_UNDEFINED": 4,
        "AT_LIMIT": 8,
        "SOFTENED": 16,
        "PARTIAL_INFLUENCE": 32,
        "STALLED": 64,
        "ITERATION_LIMIT": 128,
        "CONFLICT": 256,
        "LEVEL": 512,
        "OFF_BALANCE": 1024,
        "TOO_FAST": 2048,
        "TOO_SHORT": 4096,
        "INPUT_OUTSIDE": 8192,
        "NOT_FINITE": 1 << 16,
        "NO_LENGTH": 1 << 17,
    }


@pytest.mark.parametrize(("name", "sentence"), [(name, sentence) for name, _, sentence in _core.STATUS_FLAGS])
def test_a_sentence_starts_small_and_ends_without_full_stop(name: str, sentence: str) -> None:
    assert ik.Status[name].sentence == sentence
    assert sentence == sentence.strip()
    assert sentence[0].islower() or sentence.startswith("NaN")
    assert sentence[-1].isalnum()


def test_sentences_differ() -> None:
    assert len({sentence for _, _, sentence in _core.STATUS_FLAGS}) == len(_core.STATUS_FLAGS)


def test_unusable_flags_start_at_the_boundary_of_the_core() -> None:
    assert [flag.name for flag in ik.Status if not flag.usable] == ["NOT_FINITE", "NO_LENGTH"]
    assert all(flag.usable == (flag < _core.UNUSABLE) for flag in ik.Status)


def test_a_flag_beside_an_unusable_one_is_unusable() -> None:
    assert not (ik.Status.TOO_FAR | ik.Status.NO_LENGTH).usable


def test_zero_reads_reached() -> None:
    assert ik.Status(0).sentence == "reached"
    assert ik.Status(0).usable


def test_several_flags_read_as_several_sentences() -> None:
    both = ik.Status.TOO_FAR | ik.Status.POLE_UNDEFINED
    assert both.sentence == f"{ik.Status.TOO_FAR.sentence}; {ik.Status.POLE_UNDEFINED.sentence}"


@pytest.mark.parametrize("number", [int, np.int32, np.int64, np.uint8])
def test_status_takes_the_integers_of_arrays(number: type) -> None:
    assert ik.Status(number(5)) is ik.Status.TOO_FAR | ik.Status.POLE_UNDEFINED


def test_status_takes_an_element_of_a_result() -> None:
    limb = ik.two_bone([0, 0, 0], [0, 1, 0.5], [0, 2, 0], [[0, 9, 0]], pole=[0, 0, 1])
    assert ik.Status(limb.status[0]) is ik.Status.TOO_FAR


def test_count_leaves_out_what_does_not_occur() -> None:
    assert count(np.array([OK, FAR, FAR | 4, NAN], np.int32)) == {
        ik.Status.TOO_FAR: 2,
        ik.Status.POLE_UNDEFINED: 1,
        ik.Status.NOT_FINITE: 1,
    }


def test_count_of_nothing_is_empty() -> None:
    assert count(np.array([], np.int32)) == {}
    assert count(np.zeros((2, 3), np.int32)) == {}


def test_count_takes_a_single_item() -> None:
    assert count(np.int32(FAR)) == {ik.Status.TOO_FAR: 1}


def test_summary_counts_items_of_any_shape() -> None:
    text = summarize("limb", np.array([[OK, FAR], [NAN, OK]], np.int32), np.array([[0, 0.25], [np.nan, 1e-17]]))
    assert text.splitlines() == [
        "2 of 4 limbs reached, largest error 1e-17",
        f"  1 TOO_FAR, largest error 0.25: {ik.Status.TOO_FAR.sentence}",
        f"  1 NOT_FINITE: {ik.Status.NOT_FINITE.sentence}",
    ]


def test_summary_of_one_and_of_none() -> None:
    assert summarize("limb", np.int32(0), np.float64(0.5)) == "1 of 1 limb reached, largest error 0.5"
    assert summarize("limb", np.array([], np.int32), np.array([])) == "0 of 0 limbs reached"


def test_summary_of_only_nan_raises_nothing() -> None:
    with np.errstate(all="raise"):
        text = summarize("limb", np.array([NAN], np.int32), np.array([np.nan], np.float32))
    assert text.startswith("0 of 1 limb reached\n  1 NOT_FINITE: ")


def test_the_result_has_the_summary() -> None:
    limb = ik.two_bone([0, 0, 0], [0, 1, 0.5], [0, 2, 0], [[0, 9, 0], [0, 1, 1]], pole=[0, 0, 1])
    assert limb.summary().startswith("1 of 2 limbs reached, largest error ")
    assert limb.summary().endswith(f"1 TOO_FAR, largest error 6.76: {ik.Status.TOO_FAR.sentence}")


def test_flags_from_elsewhere_are_not_called_reached() -> None:
    assert ik.Status(1 << 14).sentence == "unknown flags 0x4000"
    assert ik.Status(1 << 14 | 1).sentence.endswith("; unknown flags 0x4000")


@pytest.mark.parametrize("strict", [False, True])
def test_notable_items_do_not_warn(strict: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_unusable("some_solver", np.array([OK, FAR, 7], np.int32), strict=strict)
        report_unusable("some_solver", np.array([], np.int32), strict=strict)


def test_unusable_items_warn_once_and_are_counted() -> None:
    with pytest.warns(ik.UnusableWarning) as caught:
        report_unusable("some_solver", np.array([OK, NAN, NONE, NAN, FAR], np.int32), strict=False)
    assert [str(warning.message) for warning in caught] == [
        "some_solver: 3 of 5 items cannot be used: "
        f"2 NOT_FINITE ({ik.Status.NOT_FINITE.sentence}), 1 NO_LENGTH ({ik.Status.NO_LENGTH.sentence})"
    ]


def test_strict_raises_the_same_words() -> None:
    with pytest.raises(ik.UnusableError, match=r"^some_solver: 1 of 2 items cannot be used: 1 NO_LENGTH \(the chain"):
        report_unusable("some_solver", np.array([OK, NONE], np.int32), strict=True)


def test_kinds_of_warning_and_error() -> None:
    assert issubclass(ik.UnusableWarning, RuntimeWarning)
    assert issubclass(ik.UnusableError, ValueError)
