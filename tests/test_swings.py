"""How a foot goes from one stance to the next: the core beside the same in NumPy, and what is known of it."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ikcore import _core, rotations
from ikcore.feet.intervals import runs

Array = NDArray[Any]
Plane = tuple[Any, ...]

FRAMES, AXIS, FAR = 90, 1, 0.3
UP = np.array([0.0, 1, 0])
FLAT = UP.copy()


def plane(stands: bool, start: int, stop: int, seed: int) -> Plane:
    """A stance, or where a foot passes by."""
    random = np.random.default_rng(seed)
    normal, floor = (unit(UP + random.normal(0, 0.2, 3)) for _ in range(2))
    return stands, start, stop, random.normal(0, 1, 3), float(random.normal()), normal, floor


def planes() -> tuple[Plane, ...]:
    """It passes by at both ends, and stands three times, twice without a swing between."""
    when = (False, 0, 1), (True, 12, 30), (True, 30, 41), (False, 60, 61), (True, 70, 80), (False, 89, 90)
    return tuple(plane(*each, seed) for seed, each in enumerate(when))


def given(seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Path of a foot, its motion by stances, its offset, and its rotation."""
    random = np.random.default_rng(seed)
    reference = np.cumsum(random.normal([0, 0, 0.01], 0.005, (FRAMES, 3)), axis=0)
    moved, shift = random.normal(0, 0.1, (2, FRAMES, 3))
    return reference, moved, shift, rotations.normalize(random.normal(size=(FRAMES, 4)))


# --- the slow way ----------------------------------------------------------------------------------------------------


def unit(vector: Array) -> Array:
    return np.asarray(vector / np.sqrt((vector * vector).sum()))


def level(vectors: Array) -> Array:
    return np.asarray(vectors * (1 - UP))


def eased(share: Any) -> Any:
    return share**3 * (10 - 15 * share + 6 * share**2)


def followed(at: Plane, source: Array, moved: Array) -> Array:
    *_, place, lift, normal, floor = at
    ground, own = (level(-each / max(each[AXIS], 0.2)) for each in (normal, floor))
    return np.asarray(lift + (source + moved - place) @ ground - (source - place) @ own)


def slowly(at: tuple[Plane, ...], reference: Array, moved: Array, shift: Array, turn: Array) -> tuple[Array, Array]:
    shift, turn = shift.copy(), turn.copy()
    swings = ~np.any([[stands and start <= k < stop for k in range(FRAMES)] for stands, start, stop, *_ in at], axis=0)
    shift[swings] = moved[swings]
    for stands, start, stop, *_, normal, floor in at:
        if not stands:
            turn[start:stop] = rotations.shortest_arc(floor, normal)
    for leaves, comes in pairwise(at):
        here = slice(leaves[2], comes[1])
        if here.stop > here.start:
            source, by = reference[here], shift[here].copy()
            timed = eased(np.arange(1, len(source) + 1) / (len(source) + 1))
            way = level(reference + shift)
            first = way[here.start if leaves[0] else here.start - 1]
            chord = way[here.stop - 1 if comes[0] else here.stop] - first
            done = np.clip((way[here] - first) @ chord / max(chord @ chord, 1e-300), 0, 1)
            travels = eased(min(np.sqrt(chord @ chord) / FAR, 1))
            share = timed + travels * (done - timed)
            low, high = (followed(each, source, by) for each in (leaves, comes))
            shift[here, AXIS] += low + share * (high - low)
            turn[here] = rotations.slerp(turn[here.start - 1], turn[here.stop], timed)
    for each in at:
        if not each[0]:
            here = slice(*each[1:3])
            shift[here, AXIS] += followed(each, reference[here], shift[here])
    return shift, turn


# --- beside the core -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", [slice(None), slice(1, 3), slice(0, 1), slice(0, 0)])
def test_feet_swing_as_the_slow_way_has_them(which: slice, seed: int) -> None:
    reference, moved, shift, turn = given(seed)
    at = planes()[which]
    wanted = slowly(at, reference, moved, shift, turn)
    _core.swing(reference, AXIS, FAR, at, moved, shift, turn)
    np.testing.assert_allclose(shift, wanted[0], atol=1e-12)
    np.testing.assert_allclose(turn, wanted[1], atol=1e-12)


def test_what_the_ground_does_is_taken_off() -> None:
    reference, _, shift, _ = given()
    moved, pinned = np.full((FRAMES, 3), 7.0), np.ones((FRAMES, 3), bool)
    _core.release(reference, AXIS, 0.0, planes(), moved, shift, pinned)
    wanted = np.zeros((FRAMES, 3))
    for each in planes():
        if each[0]:
            here = slice(*each[1:3])
            wanted[here] = shift[here]
            wanted[here, AXIS] -= followed(each, reference[here], level(shift[here]))
    np.testing.assert_allclose(moved, wanted, atol=1e-12)
    assert pinned.tolist() == [3 * [12 <= frame < 41 or 70 <= frame < 80] for frame in range(FRAMES)]


@pytest.mark.parametrize("brief", [10, 11, 12, 13])
def test_a_swing_that_the_clip_soon_cuts_goes_on_along_the_ground(brief: float) -> None:
    """The swings have 12 frames at the beginning, and 10 at the end; the one between is longer, and not cut."""
    reference, _, shift, _ = given()
    (moved, pinned), (other, stands) = ((np.empty((FRAMES, 3)), np.empty((FRAMES, 3), bool)) for _ in range(2))
    _core.release(reference, AXIS, 0.0, planes(), other, shift, stands)
    _core.release(reference, AXIS, brief, planes(), moved, shift, pinned)
    along = UP == 0
    for cut, here, beside in ((brief > 12, slice(0, 12), 12), (brief > 10, slice(80, 90), 79)):
        other[here, along], stands[here, along] = cut * other[beside, along], cut
    np.testing.assert_array_equal(moved, other)
    np.testing.assert_array_equal(pinned, stands)


@pytest.mark.parametrize("frames", [0, 1, 9])
def test_a_foot_that_never_stands_is_not_moved(frames: int) -> None:
    moved, pinned = np.ones((frames, 3)), np.ones((frames, 3), bool)
    _core.release(np.zeros((frames, 3)), AXIS, 99.0, (), moved, np.ones((frames, 3)), pinned)
    assert not moved.any()
    assert not pinned.any()


def loosened(values: Array, pinned: Array, blend: int, pull: float) -> list[Array]:
    """Bounds and what draws, from one swing to the next."""
    held, pulls = np.broadcast_to(pinned, values.shape).copy(), np.zeros_like(values)
    for start, stop in runs(~held.all(axis=1)).tolist():
        pulls[start:stop] = pull * (start == 0 or stop == len(held))
        held[start + blend if start > 0 else 0 : max(stop - blend, 0) if stop < len(held) else stop] = True
    return [np.where(held, values, -np.inf), np.where(held, values, np.inf), pulls]


@pytest.mark.parametrize("blend", [0, 1, 4, 200, sys.maxsize])
@pytest.mark.parametrize("frames", [0, 1, 2, 90])
@pytest.mark.parametrize("columns", [1, 3])
def test_what_is_let_go(columns: int, frames: int, blend: int) -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        values = random.normal(size=(frames, 3))
        values[::7] = np.nan
        pinned = np.repeat(random.random((frames // 9 + 1, columns)) < 0.6, 9, axis=0)[:frames]
        found = np.full((3, frames, 2, 3), 7.0)
        _core.loosen(values, pinned, blend, 3.0, *found[:, :, 1])
        np.testing.assert_array_equal(found[:, :, 1], loosened(values, pinned, blend, 3.0))
        assert (found[:, :, 0] == 7).all()


def test_what_does_not_fit_is_not_let_go() -> None:
    loosen: Any = _core.loosen
    values, pinned, found = np.zeros((5, 3)), np.zeros((5, 3), bool), np.empty((3, 5, 3))
    read_only = np.empty((5, 3))
    read_only.flags.writeable = False
    for wrong in (
        (values[:, :2], pinned, 1, 0.0, *found),
        (values, pinned[:4], 1, 0.0, *found),
        (values, pinned[:, 0], 1, 0.0, *found),
        (values, values, 1, 0.0, *found),
        (values, pinned, -1, 0.0, *found),
        (values, pinned, 1, 0.0, *found[:, :4]),
        (values, pinned, 1, 0.0, *found[:2], read_only),
        (values, pinned, 1, 0.0, *found[:2], np.empty((5, 1))),
        (values, pinned, 1, 0.0, *found[:2], None),
    ):
        with pytest.raises(TypeError):
            loosen(*wrong)


def test_a_foot_keeps_its_height_over_a_plane() -> None:
    """From one plane to the same one: it follows that all the way."""
    reference, moved, shift, turn = given()
    here, slope = plane(True, 0, 10, 1)[3:], rotations.shortest_arc(UP, unit(np.array([0.1, 1, 0.2])))
    normal = rotations.rotate(slope, UP)
    at = tuple((True, *frames, here[0], 0.2, normal, FLAT) for frames in ((0, 10), (80, 90)))
    turn[:10] = turn[80:] = slope
    moved[:] = 0
    _core.swing(reference, AXIS, FAR, at, moved, shift, turn)
    swing = slice(10, 80)
    ground = here[0][AXIS] + 0.2 - (reference[swing] - here[0]) @ level(normal) / normal[AXIS]
    np.testing.assert_allclose(
        reference[swing, AXIS] + shift[swing, AXIS] - ground, reference[swing, AXIS] - here[0][1]
    )
    np.testing.assert_allclose(turn[swing], np.broadcast_to(slope, (70, 4)), atol=1e-12)


@pytest.mark.parametrize("wrong", ["reference", "axis", "planes", "place", "moved", "shift", "turn"])
def test_the_core_refuses_what_does_not_fit(wrong: str) -> None:
    reference, moved, shift, turn = given()
    first, *_ = planes()
    job: dict[str, Any] = {"reference": reference, "axis": AXIS, "far": FAR, "planes": (first,)}
    job |= {"moved": moved, "shift": shift, "turn": turn}
    if wrong == "axis":
        job["axis"] = 3
    elif wrong in ("planes", "place"):
        place, more = (first[3], 1) if wrong == "planes" else (np.zeros(2), 0)
        job["planes"] = ((True, 0, FRAMES + more, place, *first[4:]),)
    else:
        job[wrong] = job[wrong][:-1] if wrong != "reference" else reference.astype(np.float32)
    with pytest.raises(TypeError):
        _core.swing(*job.values())
