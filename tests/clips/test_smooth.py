"""Curves over whole clips, against all active sets of few frames, and what the best of many frames must be."""

from __future__ import annotations

import itertools
import signal
import threading
from typing import Any

import numpy as np
import pytest
from conftest import instruction_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core

Array = NDArray[np.float64]
FREE, FPS = np.inf, 30.0


# --- a slow and obvious one -------------------------------------------------------------------------------------------


def matrix(pull: Array, tension: float, fps: float, loop: bool) -> Array:
    """Half the second derivatives of the energy, from differences written out."""
    frames, h = len(pull), 1 / fps
    total: Array = np.diag(pull) * h
    each = range(frames) if loop else range(1, frames - 1)
    for k in each:
        bent = np.zeros(frames)
        for at, factor in ((k - 1, 1), (k, -2), (k + 1, 1)):
            bent[at % frames] += factor / (h * h)
        total += np.outer(bent, bent) * h
    for k in range(frames if loop else frames - 1):
        drawn = np.zeros(frames)
        drawn[(k + 1) % frames] += 1 / h
        drawn[k] -= 1 / h
        total += tension * np.outer(drawn, drawn) * h
    return total


def best_of_all(wanted: Array, lower: Array, upper: Array, pull: Array, tension: float, loop: bool) -> Array:
    """The one of the least energy of the curves that any choice of frames at bounds makes."""
    whole, best, least = matrix(pull, tension, FPS, loop), wanted, FREE
    drawn = pull / FPS * wanted
    choices = [
        [0] * bool(a < b) + [1] * bool(a > -FREE) + [2] * bool(b < FREE) for a, b in zip(lower, upper, strict=True)
    ]
    for sides in itertools.product(*choices):
        held = np.array(sides) > 0
        x = np.where(np.array(sides) == 1, lower, np.where(np.array(sides) == 2, upper, 0.0))
        free = ~held
        right = drawn[free] - whole[np.ix_(free, held)] @ x[held]
        x[free] = np.linalg.lstsq(whole[np.ix_(free, free)], right, rcond=None)[0]
        energy = x @ whole @ x - 2 * drawn @ x
        if (x >= lower - 1e-12).all() and (x <= upper + 1e-12).all() and energy < least:
            best, least = x, float(energy)
    return best


def check_best(x: Array, wanted: Array, lower: Array, upper: Array, pull: Array, tension: float, fps: float) -> None:
    """Optimality of a strictly convex problem: within the bounds, and forces only where bounds are active, directed
    inwards."""
    assert (lower <= x).all()
    assert (x <= upper).all()
    h = 1 / fps  # in steps of a frame
    bent, slope = np.diff(x, 2), np.diff(x)
    force = pull * h**4 * (x - wanted)
    for at, factor in ((0, 1), (1, -2), (2, 1)):
        force[at : at + len(bent)] += factor * bent
    force[1:] += tension * h * h * slope
    force[:-1] -= tension * h * h * slope
    rounding = 1e-13 * (np.abs(x).max() + np.abs(wanted).max())
    assert (np.abs(force[(lower < x) & (x < upper)]) <= rounding).all()
    assert (force[(x == lower) & (lower < upper)] >= -rounding).all()
    assert (force[(x == upper) & (lower < upper)] <= rounding).all()


# --- what is the best -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("tension", [0.0, 400.0])
@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 7])
def test_few_frames_are_the_best_of_all_active_sets(isa: str, frames: int, tension: float, loop: bool) -> None:
    random = np.random.default_rng(frames)
    for _ in range(8):
        wanted, middle = random.normal(size=(2, frames))
        room = random.exponential(size=(2, frames)) * random.integers(0, 2, frames)
        lower = np.where(random.random(frames) < 0.3, -FREE, middle - room[0])
        upper = np.where(random.random(frames) < 0.3, FREE, middle + room[1])
        pull = 10.0 ** random.uniform(2, 6, frames) * (random.random(frames) < 0.8)
        pull[[0, -1]] = 1e4  # what holds it
        expected = best_of_all(wanted, lower, upper, pull, tension, loop)
        rows = [np.append(row, row[:1]) if loop else row for row in (expected, wanted, lower, upper, pull)]
        found = ik.smooth(rows[1], fps=FPS, lower=rows[2], upper=rows[3], pull=rows[4], tension=tension, loop=loop)
        np.testing.assert_allclose(found.values, rows[0], rtol=0, atol=1e-9 * (1 + np.abs(expected).max()))
        assert found.status == 0


def noise(
    seed: int, frames: int, rough: int, room: float, share: float, pinned: float
) -> tuple[Array, tuple[Array, Array]]:
    """A problem: wanted values from noise summed so many times, and bounds for a share of the frames about other
    noise."""
    random = np.random.default_rng(seed)
    wanted, middle = (np.cumsum(random.normal(size=frames)) if rough else random.normal(size=frames) for _ in range(2))
    if rough == 2:
        wanted = np.cumsum(wanted) / frames
    rooms = random.exponential(size=(2, frames)) * room
    lower = np.where(random.random(frames) < share, middle - rooms[0], -FREE)
    upper = np.where(random.random(frames) < share, middle + rooms[1], FREE)
    pins = random.random(frames) < pinned
    lower[pins] = upper[pins] = middle[pins]
    return wanted, (lower, upper)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_many_frames_are_the_best(data: st.DataObject) -> None:
    seed, frames = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.integers(2, 400))
    time, rough = data.draw(st.sampled_from([0.03, 0.1, 0.5, 3.0, 20.0])), data.draw(st.sampled_from([0, 1, 2]))
    room, share = data.draw(st.sampled_from([0.01, 0.3, 3.0])), data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    wanted, (lower, upper) = noise(seed, frames, rough, room, share, data.draw(st.sampled_from([0.0, 0.1])))
    tension = data.draw(st.sampled_from([0.0, 1.0, 1e3]))
    pull = np.full(frames, 1 / time**4)
    found = ik.smooth(wanted, fps=FPS, lower=lower, upper=upper, pull=pull, tension=tension)
    assert found.status == 0
    assert found.iterations <= 40
    check_best(found.values, wanted, lower, upper, pull, tension, FPS)


@pytest.mark.parametrize(
    ("time", "given"),
    [
        (3.0, (4935590, 180, 0, 3.0, 1.0, 0.1)),
        *((20.0, (seed, frames, 0, 3.0, 0.2, 0.0)) for seed, frames in ((925645698, 340), (1744650729, 287))),
    ],
)
def test_what_hardly_anything_pulls_is_settled(time: float, given: tuple[Any, ...]) -> None:
    """From farther off it is not seen which bounds press: frames changed sides in circles."""
    wanted, (lower, upper) = noise(*given)
    pull = np.full(len(wanted), 1 / time**4)
    found = ik.smooth(wanted, fps=FPS, lower=lower, upper=upper, pull=pull)
    assert found.status == 0
    assert found.iterations <= 20
    check_best(found.values, wanted, lower, upper, pull, 0.0, FPS)


@pytest.mark.parametrize("tension", [0.0, 30.0])
def test_of_a_wave_so_much_is_kept_whatever_the_frame_rate(tension: float) -> None:
    speed, pull = 2 * np.pi / 0.8, 1 / 0.2**4
    for fps in (60, 240):
        seconds = np.arange(8 * fps + 1) / fps
        wave = np.sin(speed * seconds)
        kept = ik.smooth(wave, fps=fps, pull=pull, tension=tension, loop=True).values
        share = pull / (pull + tension * speed**2 + speed**4)
        np.testing.assert_allclose(kept, share * wave, rtol=0, atol=0.05 / fps)


def test_between_pins_without_a_pull_it_is_the_natural_spline() -> None:
    frames, fps = 801, 100.0
    bound = np.full(frames, FREE)
    bound[[0, 400, 800]] = 0.0, 1.0, 0.0
    found = ik.smooth(0.0, fps=fps, pull=0.0, lower=np.where(bound < FREE, bound, -FREE), upper=bound)
    t = np.arange(401) / 400
    np.testing.assert_allclose(found.values[:401], 1.5 * t - 0.5 * t**3, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.values, found.values[::-1], rtol=0, atol=1e-9)


def test_a_part_between_pins_that_asks_for_nothing_stays_to_the_bit() -> None:
    frames = 300
    wanted = np.full(frames, 0.1)
    lower, upper = np.full(frames, -FREE), np.full(frames, FREE)
    for pin in (100, 101, 200, 201):
        lower[pin] = upper[pin] = 0.1
    lower[150] = 0.7
    found = ik.smooth(wanted, fps=FPS, pull=10.0, tension=3.0, lower=lower, upper=upper)
    moved = found.values != wanted
    assert moved[150]
    assert not moved[:102].any()
    assert not moved[200:].any()
    assert moved[102:200].mean() > 0.9


def test_minus_zero_stays_minus_zero() -> None:
    assert np.signbit(ik.smooth(np.full(5, -0.0), fps=FPS, pull=1.0).values).all()


def test_what_too_little_holds_goes_near_what_is_wanted() -> None:
    """A straight line within the bounds is as good as any other: of those one near to what is wanted."""
    t = np.linspace(0, 1, 50)
    found = ik.smooth(2 * t + 5, fps=FPS, pull=0.0)
    np.testing.assert_allclose(found.values, 2 * t + 5, atol=1e-9)
    found = ik.smooth(5.0, fps=FPS, pull=0.0, lower=np.full(50, 6.0))
    np.testing.assert_allclose(found.values, 6, atol=1e-9)
    one = np.where(np.arange(50) == 25, 7.0, FREE)
    found = ik.smooth(5.0, fps=FPS, pull=0.0, lower=np.where(one < FREE, one, -FREE), upper=one)
    assert found.values[25] == 7
    assert np.isfinite(found.values).all()
    assert found.status == 0
    level = ik.smooth(5.0, fps=FPS, pull=0.0, tension=1.0, lower=np.where(one < FREE, one, -FREE), upper=one)
    np.testing.assert_allclose(level.values, 7, atol=1e-9)  # under tension one pin is enough


def test_predictor_and_corrector_do_not_lead_in_circles() -> None:
    """They cycled for this one: a full correction of a nearly impossible step is worse than none."""
    random, frames = np.random.default_rng(235), 235
    wanted, middle = (np.cumsum(random.normal(size=frames)) for _ in range(2))
    room = random.exponential(size=(2, frames)) * 3.0
    lower = np.where(random.random(frames) < 0.2, middle - room[0], -FREE)
    upper = np.where(random.random(frames) < 0.2, middle + room[1], FREE)
    pinned = random.random(frames) < 0.1
    lower[pinned] = upper[pinned] = middle[pinned]
    found = ik.smooth(wanted, fps=FPS, pull=1 / 0.1**4, tension=1000, lower=lower, upper=upper)
    assert found.iterations <= 25


def test_bounds_a_hair_apart_settle() -> None:
    """Which of the two presses shows last: of these some go round for ever, where all wrong frames change sides."""
    random, shape = np.random.default_rng(0), (40, 400)
    wanted, middle = random.normal(size=shape), np.cumsum(random.normal(size=shape), axis=0)
    room = random.exponential(1e-6, (2, *shape))
    lower = np.where(random.random(shape) < 0.3, middle - room[0], -FREE)
    upper = np.where(random.random(shape) < 0.3, middle + room[1], FREE)
    found = ik.smooth(wanted, fps=FPS, pull=1 / 0.5**4, lower=lower, upper=upper)
    assert (found.status == 0).all()
    for at in range(400):
        check_best(found.values[:, at], wanted[:, at], lower[:, at], upper[:, at], np.full(40, 1 / 0.5**4), 0.0, FPS)


def test_between_clamps_it_is_a_cubic() -> None:
    """Pinned in two frames at each end: what has no fourth differences, however far these are."""
    for frames, rounding in ((5, 1e-15), (100, 1e-14), (1000, 1e-12), (10_000, 1e-7)):
        bound = np.full(frames, FREE)
        bound[:2], bound[-2:] = 0.0, 1.0
        found = ik.smooth(0.0, fps=FPS, pull=0.0, lower=np.where(bound < FREE, bound, -FREE), upper=bound)
        t, ends = np.arange(frames) / (frames - 1), np.array([0, 1, frames - 2, frames - 1]) / (frames - 1)
        cubic = np.linalg.solve(ends[:, np.newaxis] ** np.arange(4), [0, 0, 1, 1])
        np.testing.assert_allclose(found.values, t[:, np.newaxis] ** np.arange(4) @ cubic, rtol=0, atol=rounding)


def test_what_is_held_too_faintly_says_so() -> None:
    """A pull of doubles that do not exist beside those of bending; a little stronger is a straight line."""
    wanted = np.random.default_rng(6).normal(size=300)
    found = ik.smooth(wanted, fps=FPS, pull=1e-16)
    assert found.status == ik.Status.ITERATION_LIMIT
    found = ik.smooth(wanted, fps=FPS, pull=1e-7)
    assert found.status == 0
    t = np.arange(300)
    np.testing.assert_allclose(found.values, np.polynomial.Polynomial.fit(t, wanted, 1)(t), rtol=0, atol=1e-3)


def test_a_hundred_thousand_frames_take_as_many_iterations_as_a_thousand() -> None:
    random = np.random.default_rng(1)
    long = 100_000
    wanted = np.repeat(random.normal(size=long // 20), 20) * 0.1
    upper, lower = wanted + random.exponential(0.03, long), np.full(long, -FREE)
    pull = np.full(long, 1 / 0.25**4)
    found = ik.smooth(wanted, fps=60, pull=pull, upper=upper)
    check_best(found.values, wanted, lower, upper, pull, 0.0, 60)
    short = ik.smooth(wanted[:1000], fps=60, pull=pull[:1000], upper=upper[:1000])
    assert found.status == short.status == 0
    assert found.iterations <= 2 * short.iterations <= 60


# --- what cannot be used ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wanted", "pull", "lower", "upper"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, -1e200])
def test_a_number_that_is_none_spoils_its_channel_alone(isa: str, name: str, bad: float) -> None:
    random = np.random.default_rng(2)
    arrays: dict[str, Any] = {"wanted": random.normal(size=(20, 11)), "pull": np.full((20, 11), 1e3)}
    arrays |= {"lower": arrays["wanted"] - 0.1, "upper": arrays["wanted"] + 0.1}
    clean = ik.smooth(fps=FPS, **arrays)
    arrays[name][7, 4] = bad
    free = (name, bad) in {("lower", -np.inf), ("upper", np.inf), ("lower", -1e200), ("upper", 1e200)}
    if name == "pull" and bad < 0:
        with pytest.raises(ValueError, match="pull: expected no negative numbers"):
            ik.smooth(fps=FPS, **arrays)
        return
    if free:
        found = ik.smooth(fps=FPS, **arrays)
    else:
        with pytest.warns(ik.UnusableWarning, match="smooth: 1 of 11 items cannot be used: 1 NOT_FINITE"):
            found = ik.smooth(fps=FPS, **arrays)
        with pytest.raises(ik.UnusableError):
            ik.smooth(fps=FPS, strict=True, **arrays)
        assert found.values[:, 4].tobytes() == arrays["wanted"][:, 4].tobytes()
    others = np.arange(11) != 4
    assert found.values[:, others].tobytes() == clean.values[:, others].tobytes()
    assert (found.status[others] == 0).all()
    assert found.status[4] == (0 if free else ik.Status.NOT_FINITE)


def test_bounds_that_cross_meet_half_way() -> None:
    wanted = np.zeros(9)
    found = ik.smooth(
        wanted, fps=FPS, pull=1.0, lower=np.where(wanted + np.arange(9) == 4, 3.0, -FREE), upper=np.full(9, 1.0)
    )
    assert found.values[4] == 2
    assert found.values[[3, 5]].max() <= 1
    assert found.status == ik.Status.CONFLICT


def test_all_pinned_is_what_it_is_pinned_to() -> None:
    pins = np.random.default_rng(3).normal(size=(50, 3))
    found = ik.smooth(0.0, fps=FPS, pull=1.0, lower=pins, upper=pins)
    assert found.values.tobytes() == pins.tobytes()
    assert (found.iterations == 1).all()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0)])
@pytest.mark.parametrize("loop", [False, True])
def test_nothing_is_nothing(shape: tuple[int, ...], loop: bool) -> None:
    found = ik.smooth(np.zeros(shape), fps=FPS, pull=1.0, loop=loop)
    assert found.values.shape == shape
    assert found.status.shape == shape[1:]


def test_sizes_of_numbers_do_not_matter() -> None:
    random = np.random.default_rng(4)
    wanted, room = random.normal(size=80), random.exponential(size=80) * 0.1
    plain = ik.smooth(wanted, fps=FPS, pull=1.0, lower=wanted - room, upper=wanted + room)
    for scale in (2.0**-500, 2.0**-40, 2.0**300):
        found = ik.smooth(
            wanted * scale, fps=FPS, pull=1.0, lower=(wanted - room) * scale, upper=(wanted + room) * scale
        )
        assert found.values.tobytes() == (plain.values * scale).tobytes()
    far = np.full(80, 1e99)  # as who knows of no infinity writes: no bound
    found = ik.smooth(wanted, fps=FPS, pull=1.0, lower=-far, upper=np.minimum(far, wanted + room))
    free = ik.smooth(wanted, fps=FPS, pull=1.0, upper=wanted + room)
    np.testing.assert_allclose(found.values, free.values, rtol=0, atol=1e-9)


# --- arrays -----------------------------------------------------------------------------------------------------------


def problem(channels: int) -> dict[str, Any]:
    random = np.random.default_rng(channels)
    wanted = np.cumsum(random.normal(size=(60, channels)), axis=0)
    lower = np.where(random.random(wanted.shape) < 0.5, wanted - random.exponential(size=wanted.shape), -FREE)
    return {
        "wanted": wanted,
        "lower": lower,
        "upper": wanted + 3.0,
        "pull": random.exponential(size=wanted.shape) * 1e3,
    }


@pytest.mark.parametrize("loop", [False, True])
def test_every_instruction_set_and_any_neighbours_give_the_same_bits(loop: bool) -> None:
    arrays, chosen, found = problem(37), _core.isa(), set()
    if loop:
        arrays = {name: np.concatenate([array, array[:1]]) for name, array in arrays.items()}
    try:
        for isa in instruction_sets():
            _core.use_isa(isa)
            whole = ik.smooth(fps=FPS, tension=5.0, loop=loop, **arrays)
            alone = [
                ik.smooth(fps=FPS, tension=5.0, loop=loop, **{name: array[:, at] for name, array in arrays.items()})
                for at in range(37)
            ]
            assert whole.values.tobytes() == np.stack([each.values for each in alone], axis=1).tobytes()
            assert whole.iterations.tolist() == [int(each.iterations) for each in alone]
            found.add((whole.values.tobytes(), whole.iterations.tobytes()))
    finally:
        _core.use_isa(chosen)
    assert len(found) == 1
    assert len(set(whole.iterations.tolist())) > 1  # lanes do wait


def test_threads_and_strides_make_no_difference() -> None:
    arrays = problem(70)
    plain = ik.smooth(fps=FPS, **arrays)
    for workers in (2, 5, None):
        assert ik.smooth(fps=FPS, workers=workers, **arrays).values.tobytes() == plain.values.tobytes()
    strided = {name: np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3] for name, array in arrays.items()}
    backwards: dict[str, Any] = {name: array[:, ::-1] for name, array in strided.items()}
    assert ik.smooth(fps=FPS, **backwards).values[:, ::-1].tobytes() == plain.values.tobytes()


def test_frames_along_any_axis_and_arrays_that_broadcast() -> None:
    arrays = problem(6)
    plain = ik.smooth(fps=FPS, **arrays).values
    turned: dict[str, Any] = {name: np.ascontiguousarray(array.T) for name, array in arrays.items()}
    assert ik.smooth(fps=FPS, axis=-1, **turned).values.tobytes() == np.ascontiguousarray(plain.T).tobytes()
    blocks = {
        name: array.reshape(60, 2, 3).swapaxes(0, 1) for name, array in arrays.items()
    }  # (clips, frames, channels)
    found = ik.smooth(fps=FPS, axis=-2, **blocks)
    assert found.values.shape == (2, 60, 3)
    assert found.values.swapaxes(0, 1).reshape(60, 6).tobytes() == plain.tobytes()
    assert found.status.shape == (2, 3)
    one = ik.smooth(arrays["wanted"], fps=FPS, pull=np.linspace(1, 2, 60)[:, np.newaxis], upper=1.0)
    each = ik.smooth(arrays["wanted"][:, 2], fps=FPS, pull=np.linspace(1, 2, 60), upper=np.ones(60))
    assert one.values[:, 2].tobytes() == each.values.tobytes()


def test_what_is_wanted_decides_the_type_and_floats_keep_bounds() -> None:
    arrays: dict[str, Any] = {name: array.astype(np.float32) for name, array in problem(9).items()}
    found = ik.smooth(fps=FPS, **arrays)
    assert found.values.dtype == np.float32
    assert (found.values >= arrays["lower"]).all()
    assert (found.values <= arrays["upper"]).all()
    wide = ik.smooth(fps=FPS, **{name: array.astype(float) for name, array in arrays.items()})
    assert found.values.tobytes() == wide.values.astype(np.float32).tobytes()


def test_the_last_frame_of_a_loop_is_the_first() -> None:
    random = np.random.default_rng(7)
    wanted = random.normal(size=(31, 4))
    upper = np.full((31, 4), FREE)
    upper[-1, 0] = -2.0  # holds for the first as well
    found = ik.smooth(wanted, fps=FPS, pull=1 / 0.1**4, upper=upper, loop=True)
    assert found.values[0].tobytes() == found.values[-1].tobytes()
    assert found.values[0, 0] <= -2
    wanted[-1] = 99
    again = ik.smooth(wanted, fps=FPS, pull=1 / 0.1**4, upper=upper, loop=True)
    assert again.values.tobytes() == found.values.tobytes()
    turned = np.roll(np.arange(30), 7)
    rolled = ik.smooth(wanted[[*turned, turned[0]], 1:], fps=FPS, pull=1 / 0.1**4, loop=True)
    np.testing.assert_allclose(rolled.values[:-1], found.values[turned, 1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"fps": 0}, ValueError, r"fps: expected 1e-06 to 1e\+06, got 0"),
        ({"fps": np.nan}, ValueError, r"fps: expected 1e-06 to 1e\+06, got nan"),
        ({"fps": "fast"}, TypeError, "fps: expected a number, got 'fast'"),
        ({"fps": "30"}, TypeError, "fps: expected a number, got '30'"),
        ({"fps": True}, TypeError, "fps: expected a number, got True"),
        ({"tension": -1}, ValueError, r"tension: expected 0 to 1e\+100, got -1"),
        ({"tension": "1"}, TypeError, "tension: expected a number, got '1'"),
        ({"pull": -1.0}, ValueError, "pull: expected no negative numbers"),
        ({"loop": 1}, TypeError, "loop: expected True or False, got 1"),
        ({"workers": 0}, ValueError, "workers: expected 1 to 1024, or None"),
        ({"wanted": "x"}, TypeError, "wanted: expected real numbers"),
        ({"wanted": 1.0}, ValueError, "expected frames in one argument at least, got single numbers alone"),
        ({"axis": 3}, ValueError, r"wanted: expected frames along axis 3, got an array of shape \(5,\)"),
        ({"axis": "x"}, TypeError, "axis: expected a whole number, got 'x'"),
        ({"axis": True}, TypeError, "axis: expected a whole number, got True"),
        ({"lower": np.zeros(4)}, ValueError, r"do not broadcast: with frames last, wanted \(5,\), lower \(4,\)"),
    ],
)
def test_what_is_no_problem_is_refused_in_a_sentence(change: dict[str, Any], error: Any, said: str) -> None:
    arguments: dict[str, Any] = {"wanted": np.zeros(5), "fps": FPS, "pull": 1.0}
    with pytest.raises(error, match=said):
        ik.smooth(**arguments | change)


def _in_core(
    wanted: Array, lower: Array, upper: Array, loop: bool, start: Array | None
) -> tuple[Array, NDArray[np.int32], NDArray[np.int32]]:
    """Values, status and iterations, with or without a start."""
    values, numbers, pull = np.empty(wanted.shape), np.zeros((2, len(wanted)), np.int32), np.full(wanted.shape, 1e4)
    _core.smooth(wanted, lower, upper, pull, FPS, 1.0, loop, values, numbers[0], numbers[1], None, start)
    return values, numbers[0], numbers[1]


@pytest.mark.parametrize("loop", [False, True])
def test_a_start_changes_no_bit_and_a_near_one_saves_most_systems(isa: str, loop: bool) -> None:
    random, channels, frames = np.random.default_rng(3), 5, 200
    wanted = np.cumsum(random.normal(size=(channels, frames)), axis=1)
    middle, room = np.cumsum(random.normal(size=(2, channels, frames)), axis=2)
    lower, upper = middle - np.abs(room), middle + np.abs(room)
    lower[:, 20:30], upper[:, 50:60] = -np.inf, np.inf
    lower[:, -1], upper[:, -1] = lower[:, 0], upper[:, 0]
    cold, status, iterations = _in_core(wanted, lower, upper, loop, None)
    assert (status == 0).all()
    assert (iterations > 5).all()
    for start in (
        cold,
        random.normal(size=wanted.shape),
        *(np.full_like(wanted, x) for x in (np.nan, np.inf, -np.inf)),
    ):
        values, status, again = _in_core(wanted, lower, upper, loop, start)
        np.testing.assert_array_equal(values, cold)
        assert (status == 0).all()
        assert start is not cold or (again <= 2).all()


def _parted(channels: int, frames: int = 400) -> tuple[Array, Array, Array]:
    """Channels with bounds, pinned for a while here and there, each elsewhere: wanted, lower, upper."""
    random = np.random.default_rng(channels)
    wanted = np.cumsum(random.normal(size=(channels, frames)), axis=1)
    lower, upper = wanted - random.exponential(size=wanted.shape), wanted + random.exponential(size=wanted.shape) - 0.5
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    for channel in range(channels):
        for first in random.integers(0, frames, 6):
            lower[channel, first : first + 30] = upper[channel, first : first + 30] = random.normal()
    return wanted, lower, upper


@pytest.mark.parametrize(("channels", "frames"), [(1, 400), (3, 400), (21, 400), (3, 9000)])
def test_parts_between_pins_know_nothing_of_each_other(isa: str, channels: int, frames: int) -> None:
    """A channel has the same bits alone, and each of its parts is the best for itself."""
    wanted, lower, upper = _parted(channels, frames)
    found = ik.smooth(wanted, fps=FPS, pull=1e4, tension=1.0, lower=lower, upper=upper, axis=1)
    assert (found.status == 0).all()
    for channel in range(channels):
        own = wanted[channel], lower[channel], upper[channel]
        alone = ik.smooth(own[0], fps=FPS, pull=1e4, tension=1.0, lower=own[1], upper=own[2])
        np.testing.assert_array_equal(alone.values, found.values[channel])
        assert alone.iterations == found.iterations[channel]
        check_best(alone.values, *own, np.full(len(own[0]), 1e4), 1.0, FPS)


def test_where_all_is_pinned_or_crossed_or_no_number() -> None:
    wanted, lower, upper = _parted(4)
    lower[0], upper[0] = 1.0, 1.0
    lower[1, 50:60], upper[1, 50:60] = 2.0, 1.0
    wanted[2, 7] = np.nan
    with pytest.warns(ik.UnusableWarning, match="1 of 4"):
        found = ik.smooth(wanted, fps=FPS, pull=1e4, lower=lower, upper=upper, axis=1)
    assert found.status.tolist() == [0, ik.Status.CONFLICT, ik.Status.NOT_FINITE, 0]
    assert (found.values[0] == 1).all()
    assert (found.values[1, 50:60] == 1.5).all()
    np.testing.assert_array_equal(found.values[2], wanted[2])
    assert found.iterations[[0, 2]].tolist() == [1, 0]
    same, numbers, pull = wanted.copy(), np.zeros((2, 4), np.int32), np.full(wanted.shape, 1e4)
    _core.smooth(same, lower, upper, pull, FPS, 0.0, False, same, numbers[0], numbers[1])  # in the rows of wanted
    np.testing.assert_array_equal(same, found.values)


def test_in_the_core_rates_beyond_reason_are_not_finite_and_no_crash() -> None:
    for fps in (1e-200, 1e-30, 1e200):
        values, status, iterations = np.full((1, 5), np.nan), np.full(1, -1, np.int32), np.zeros(1, np.int32)
        wanted, pull = np.arange(5.0)[np.newaxis], np.ones((1, 5))
        _core.smooth(wanted, None, None, pull, fps, 1.0, False, values, status, iterations)
        assert np.isfinite(values).all()
        assert (status[0] == ik.Status.NOT_FINITE) == (fps < 1)


def test_the_core_refuses_arrays_that_do_not_fit() -> None:
    good: list[Any] = [
        np.zeros((3, 4)),
        None,
        None,
        None,
        30.0,
        0.0,
        False,
        np.zeros((3, 4)),
        *np.zeros((2, 3), np.int32),
    ]
    _core.smooth(*good)
    wrong = {0: np.zeros((3, 4), np.float32), 1: np.zeros((4, 3)), 4: 0.0, 5: -1.0, 7: np.zeros((3, 5)), 8: np.zeros(3)}
    for at, operand in wrong.items():
        with pytest.raises(TypeError, match=r"smooth: .* does not fit the job"):
            _core.smooth(*[*good[:at], operand, *good[at + 1 :]])
    frozen = np.zeros((3, 4))
    frozen.flags.writeable = False
    with pytest.raises(TypeError, match="does not fit the job"):
        _core.smooth(*[*good[:7], frozen, *good[8:]])
    for stop, start in ((b"stop", None), (None, np.zeros((3, 5))), (None, np.zeros((3, 4), np.float32))):
        with pytest.raises(TypeError, match=r"smooth: (stop|start) does not fit the job"):
            _core.smooth(*[*good, stop, start])


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_it(workers: int) -> None:
    """It would work for many seconds."""
    random, before = np.random.default_rng(0), signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = np.cumsum(random.normal(size=(1000, 16_000)), axis=0)
    finger = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    try:
        finger.start()
        with pytest.raises(KeyboardInterrupt):
            ik.smooth(wanted, fps=FPS, pull=1.0, lower=wanted - 1, upper=wanted + 1, workers=workers)
    finally:
        finger.join()
        signal.signal(signal.SIGINT, before)


def test_it_ends_where_it_is_told_to() -> None:
    values, numbers = np.full((3, 4), 7.0), np.zeros((2, 3), np.int32)
    _core.smooth(np.zeros((3, 4)), None, None, None, 30.0, 0.0, False, values, numbers[0], numbers[1], bytearray(b"\1"))
    assert (values == 7).all()


def test_no_pull_is_a_number() -> None:
    none: Any = None
    with pytest.raises(TypeError, match=r"^pull: expected numbers, got None; 0 is no pull$"):
        ik.smooth([0.0, 1.0], fps=30, pull=none)
