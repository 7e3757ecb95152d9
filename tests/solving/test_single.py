"""A call on a single item: the same bits, types, words and errors as a batch, without NumPy's machinery."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import sys
import threading
import warnings
from collections import namedtuple
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ikcore as ik
from ikcore import _core

ROOT, MID, END, TARGET, POLE = (0.0, 0.9, 0.0), (0.0, 0.5, 0.05), (0.0, 0.1, 0.0), (0.2, 0.3, 0.1), (0.0, 0.5, 1.0)
LEG = (ROOT, MID, END, TARGET)
NOWHERE = (np.nan, 0.0, 0.0)

ROWS = {"two_bone": ("pole", "bend", "hinge"), "two_bone_2d": (), "aim": ("offset",)}
NUMBERS = {
    "two_bone": ("twist", "influence", "soften", "stretch_start", "stretch_max", "min_bend", "max_bend"),
    "two_bone_2d": (),
    "aim": ("twist", "influence"),
}
NEEDED: dict[str, dict[str, int]] = {
    "two_bone": {"root": 3, "mid": 3, "end": 3, "target": 3},
    "two_bone_2d": {"length1": 1, "length2": 1, "target": 2},
    "aim": {"position": 3, "rotation": 4, "target": 3, "forward": 3},
}

Point = namedtuple("Point", "x y z")


@pytest.fixture
def without_gufuncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes the way of a batch fails."""
    for name in NEEDED:
        monkeypatch.delattr(_core, name)


def solve_leg(**changed: Any) -> ik.closed_forms.LimbSolution:
    arguments: dict[str, Any] = dict(zip(("root", "mid", "end", "target"), LEG, strict=True))
    return ik.two_bone(**arguments | changed)


def is_single(**changed: Any) -> bool:
    """Whether a call needs no gufunc, where there is none."""
    try:
        solve_leg(**changed)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


# The same as a batch

near = st.floats(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 0.5])
bad = st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, 1e-310, 1e-40, 1e30, 1e200, 1.7e308])
whole = st.integers(-2, 2) | st.booleans() | st.sampled_from([2**53, 2**53 + 1, 2**62 + 1, -(2**63)])
numbers = near | near | bad | whole

FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "doubles": lambda row: np.array(row, np.float64),
    "floats": lambda row: np.array(row, np.float32),
    "strided": lambda row: np.array([row, row], np.float32).T[:, 1],
    "reversed": lambda row: np.array(row[::-1], np.float64)[::-1],
    "of NumPy": lambda row: tuple(np.array(row, np.float64)),
}
NUMBER_FORMS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda number: number,
    "double": np.float64,
    "float": np.float32,
    "0-d": lambda number: np.array(number, np.float64),
    "0-d float": lambda number: np.array(number, np.float32),
}


@st.composite
def values(draw: Any, columns: int, *, floats: bool = False) -> Any:
    with np.errstate(all="ignore"):
        if columns == 1:
            return NUMBER_FORMS["float" if floats else draw(st.sampled_from(list(NUMBER_FORMS)))](draw(numbers))
        form = "floats" if floats else draw(st.sampled_from(list(FORMS)))
        return FORMS[form]([draw(numbers) for _ in range(columns)])


@st.composite
def calls(draw: Any) -> tuple[str, dict[str, Any]]:
    solver = draw(st.sampled_from(list(NEEDED)))
    floats = draw(st.booleans())
    arguments = {name: draw(values(columns, floats=floats)) for name, columns in NEEDED[solver].items()}
    arguments |= {name: draw(values(3)) for name in ROWS[solver] if draw(st.booleans())}
    arguments |= {name: draw(values(1)) for name in NUMBERS[solver] if draw(st.booleans())}
    if solver == "aim" and draw(st.booleans()):
        arguments |= {"up": draw(values(3)), "pole": draw(values(3))}
    return solver, arguments


def solve(solver: str, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.UnusableWarning)
        return getattr(ik.closed_forms, solver)(**arguments)


def batch_of_one(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value)[np.newaxis] for name, value in arguments.items()}


@pytest.mark.slow
@settings(max_examples=500)
@given(calls())
@example(("two_bone", {"root": (0, 0, 0), "mid": (0, 1, 0), "end": (0, 2, 0), "target": [0, 0, 0]}))
@example(("two_bone", {"root": (0, 0, 0), "mid": (0, 0, 0), "end": (0, 0, 0), "target": [0, 1, 0]}))
@example(("two_bone", {"root": ROOT, "mid": MID, "end": END, "target": NOWHERE, "influence": 0}))
def test_a_single_item_is_a_batch_of_one(call: tuple[str, dict[str, Any]]) -> None:
    solver, arguments = call
    one, batch = solve(solver, arguments), solve(solver, batch_of_one(arguments))
    assert type(one) is type(batch)
    for name in type(one).__match_args__:
        field, expected = getattr(one, name), getattr(batch, name)[0]
        assert type(field) is type(expected), name
        assert field.dtype == expected.dtype, name
        assert field.shape == expected.shape, name
        assert field.tobytes() == expected.tobytes(), name


@pytest.mark.slow
@settings(max_examples=200)
@given(calls().filter(lambda call: call[0] == "two_bone"))
def test_out_gets_the_same_bits(call: tuple[str, dict[str, Any]]) -> None:
    arguments = call[1]
    found = solve("two_bone", arguments)
    out = ik.closed_forms.LimbSolution.empty((), found.root.dtype)
    assert solve("two_bone", arguments | {"out": out}) is out
    for name in ik.closed_forms.LimbSolution.__match_args__:
        assert getattr(out, name).tobytes() == getattr(found, name).tobytes()


# Forms of a single item


@pytest.mark.usefixtures("without_gufuncs")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_a_row_is_solved_by_itself(form: Any) -> None:
    assert is_single(root=form(ROOT), target=form(TARGET), hinge=form(POLE))


@pytest.mark.usefixtures("without_gufuncs")
@pytest.mark.parametrize("form", NUMBER_FORMS.values(), ids=NUMBER_FORMS)
def test_every_form_of_a_number_is_solved_by_itself(form: Any) -> None:
    assert is_single(twist=form(0.5), max_bend=form(1))


@pytest.mark.usefixtures("without_gufuncs")
def test_every_solver_and_option_is_solved_by_itself() -> None:
    options = dict.fromkeys(ROWS["two_bone"], POLE) | dict.fromkeys(NUMBERS["two_bone"], 0.5)
    assert is_single(**options, out=None, workers=1, strict=True)
    assert is_single(out=ik.closed_forms.LimbSolution.empty(()))
    ik.closed_forms.two_bone_2d(1, 1.0, [1, 1])
    ik.aim(ROOT, [1, 0, 0, 0], TARGET, forward=POLE, up=POLE, pole=END, influence=True)


@pytest.mark.usefixtures("without_gufuncs")
@pytest.mark.parametrize(
    "value",
    [
        [TARGET],
        TARGET[:2],
        Point(*TARGET),
        np.array([TARGET]),
        np.ma.array(TARGET),
        np.array(TARGET, np.float16),
        np.array(TARGET, ">f8"),
        np.array(TARGET).view(np.recarray),
        np.array(TARGET, object),
        np.array([0, 1, 2]),
        [1, 2, 2**60],
        [1.0, 2.0, "3"],
        np.frombuffer(b"x" * 25, np.uint8)[1:].view(np.float64),
        None,
    ],
    ids=repr,
)
def test_anything_else_goes_the_way_of_a_batch(value: Any) -> None:
    assert not is_single(target=value)


@pytest.mark.usefixtures("without_gufuncs")
def test_workers_and_batches_go_the_way_of_a_batch() -> None:
    assert not is_single(workers=2)
    assert not is_single(twist=[0.5])
    assert not is_single(twist=np.array([0.5]))


# Errors and warnings


@pytest.mark.parametrize("strict", [False, True])
def test_what_cannot_be_used_is_said_once_in_the_same_words(strict: bool) -> None:
    said: list[Any] = []
    for target in (NOWHERE, [NOWHERE]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if strict:
                with pytest.raises(ik.UnusableError) as raised:
                    ik.two_bone(ROOT, MID, END, target, strict=True)
                said.append(str(raised.value))
            else:
                ik.two_bone(ROOT, MID, END, target)
        said += [(str(warning.message), warning.category, warning.filename) for warning in caught]
    assert len(said) == 2
    assert said[0] == said[1]
    assert strict or said[0][2] == __file__


class Thrower:
    def __float__(self) -> float:
        raise ZeroDivisionError("by float")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("by array")


@pytest.mark.parametrize("arguments", [{"target": Thrower()}, {"twist": Thrower()}, {"pole": (1.0, 2.0, Thrower())}])
def test_errors_of_arguments_come_through(arguments: dict[str, Any]) -> None:
    with pytest.raises(ZeroDivisionError, match="by array"):
        solve_leg(**arguments)


@pytest.mark.parametrize("value", [(1.0, 2.0, 10**400), (1.0, 2.0, Fraction(1, 2)), (1.0, 2.0, None), (1.0, 2.0, 1j)])
def test_numbers_that_are_none_are_named(value: Any) -> None:
    with pytest.raises(TypeError, match="target: expected real numbers"):
        solve_leg(target=value)


def test_wrong_calls_are_those_of_a_python_function() -> None:
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'target'"):
        ik.two_bone(ROOT, MID, END)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"takes 4 positional arguments but 5"):
        ik.two_bone(*LEG, POLE)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"multiple values for argument 'root'"):
        ik.two_bone(*LEG, root=ROOT)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'polo'"):
        ik.two_bone(*LEG, polo=POLE)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="workers"):
        ik.two_bone(*LEG, workers=0)


def test_names_need_not_be_interned() -> None:
    name = "".join(["po", "le"])
    assert solve_leg(**{name: POLE}).root.tobytes() == ik.two_bone(*LEG, pole=POLE).root.tobytes()


def test_the_function_has_its_signature_docstring_and_name() -> None:
    for name in NEEDED:
        function = getattr(ik.closed_forms, name)
        assert list(inspect.signature(function).parameters)[-2:] == ["workers", "strict"]
        assert ">>> " in function.__doc__
        assert function.__module__.startswith("ikcore.closed_forms.")
        assert pickle.loads(pickle.dumps(function)) is function


# out=


def test_out_may_be_the_input_of_a_single_item() -> None:
    out = ik.closed_forms.LimbSolution.empty(())
    out.positions[...] = LEG[:3]
    expected = ik.two_bone(*LEG)
    root, mid, end = out.positions
    ik.two_bone(root, mid, end, TARGET, out=out)
    assert out.positions.tobytes() == expected.positions.tobytes()


def test_out_that_does_not_fit_a_single_item_is_refused() -> None:
    with pytest.raises(TypeError, match=r"out\.root: expected an array of float64, got float32"):
        ik.two_bone(*LEG, out=ik.closed_forms.LimbSolution.empty((), np.float32))
    with pytest.raises(ValueError, match=r"out\.root: expected shape \(4,\), got \(1, 4\)"):
        ik.two_bone(*LEG, out=ik.closed_forms.LimbSolution.empty(1))
    with pytest.raises(TypeError, match=r"out\.status: expected an array"):
        ik.two_bone(*LEG, out=ik.two_bone(*LEG))


def test_out_that_is_read_only_stays_as_it_is() -> None:
    out = ik.closed_forms.LimbSolution.empty(())
    out.root[...] = 7
    out.flip.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ik.two_bone(*LEG, out=out)
    assert (out.root == 7).all()


def test_out_may_be_strided_in_a_single_item() -> None:
    full = ik.closed_forms.LimbSolution.empty(2)
    full = dataclasses.replace(full, root=np.zeros((4, 2)).T)
    out = ik.closed_forms.LimbSolution(
        *(getattr(full, name)[1, ...] for name in ik.closed_forms.LimbSolution.__match_args__)
    )
    assert ik.two_bone(*LEG, out=out) is out
    assert full.root[1].tobytes() == ik.two_bone(*LEG).root.tobytes()


# The result is an ordinary Limb


def test_a_field_is_made_once_and_may_be_written() -> None:
    limb = ik.two_bone(*LEG)
    limb.positions[0] = 7
    assert limb.positions is limb.positions
    assert (limb.positions[0] == 7).all()


def test_a_limb_is_frozen() -> None:
    for limb in (ik.two_bone(*LEG), ik.closed_forms.LimbSolution.empty(3)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            limb.root = np.zeros(4)  # type: ignore[misc]
        with pytest.raises(dataclasses.FrozenInstanceError):
            del limb.root
        with pytest.raises(AttributeError, match="set once"):
            object.__setattr__(limb, "root", 0)
        with pytest.raises(AttributeError):
            object.__delattr__(limb, "root")
        with pytest.raises((AttributeError, TypeError)):
            limb.other = 0  # type: ignore[attr-defined]


def test_a_limb_without_fields_says_so() -> None:
    with pytest.raises(AttributeError, match="Limb"):
        ik.closed_forms.LimbSolution.__new__(ik.closed_forms.LimbSolution).root  # noqa: B018
    with pytest.raises(TypeError, match="missing 6"):
        ik.closed_forms.LimbSolution(np.zeros(4))  # type: ignore[call-arg]


@pytest.mark.parametrize("remade", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("items", [(), (2,)])
def test_results_are_pickled_and_copied(remade: Any, items: tuple[int, ...]) -> None:
    limb = ik.two_bone(*LEG[:3], np.broadcast_to(TARGET, (*items, 3)))
    twin = remade(limb)
    assert type(twin) is ik.closed_forms.LimbSolution
    assert repr(twin) == repr(limb)
    assert (twin.root is limb.root) == (remade is copy.copy)


def test_a_class_of_the_user_may_extend_it() -> None:
    class Leg(ik.closed_forms.LimbSolution):
        name = "left"

    leg = Leg(*(getattr(ik.two_bone(*LEG), name) for name in ik.closed_forms.LimbSolution.__match_args__))
    assert pickle.dumps(leg.root) == pickle.dumps(ik.two_bone(*LEG).root)
    assert leg.summary() == ik.two_bone(*LEG).summary()
    assert ik.two_bone(*LEG, out=ik.closed_forms.LimbSolution.empty(())).tip("keep").shape == (4,)


# Memory and threads


def test_nothing_is_left_behind() -> None:
    arrays = [np.array(row) for row in LEG]
    out, none = ik.closed_forms.LimbSolution.empty(()), np.float64(0.25)
    limb = ik.two_bone(*arrays)

    def work() -> None:
        for _ in range(2000):
            limb = ik.two_bone(*arrays, pole=list(POLE), influence=none)
            assert limb.root is not limb.mid
            assert limb.error >= 0
            ik.two_bone(*LEG, twist=np.float32(0.5), out=out)
            ik.two_bone(ROOT, MID, END, NOWHERE, influence=0)
            with pytest.raises(TypeError):
                solve_leg(target=(1.0, 2.0, None))

    def store() -> None:
        for _ in range(2000):
            pickle.loads(pickle.dumps(limb))

    for part, most in ((work, 200), (store, 1000)):  # pickle has stores of its own, which go on filling up
        part()
        owned = [*arrays, *LEG, none, ik.closed_forms.LimbSolution, np.dtype(np.float64), np.dtype(np.int32), out]
        grown = []
        for _ in range(3):  # what leaks grows each time; the threads that hand out tests allocate too, now and then
            gc.collect()
            counts, blocks = [sys.getrefcount(each) for each in owned], sys.getallocatedblocks()
            part()
            gc.collect()
            grown.append(sys.getallocatedblocks() - blocks)
            assert [sys.getrefcount(each) for each in owned] == counts
        assert min(grown) < most


def test_threads_see_one_array() -> None:
    limbs = [ik.two_bone(*LEG) for _ in range(500)]
    start = threading.Barrier(4)
    seen: list[list[Any]] = []

    def read() -> None:
        start.wait()
        seen.append([limb.positions for limb in limbs])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for arrays in zip(*seen, strict=True):
        assert len({id(array) for array in arrays}) == 1
