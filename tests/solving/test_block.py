"""The arrays of a result are one block of memory; nobody who has a result notices, but by the time it takes."""

from __future__ import annotations

import itertools
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from limbs import limbs

import ikcore as ik
from ikcore import _core


def arrays_of(limb: ik.closed_forms.LimbSolution) -> list[np.ndarray]:
    return [getattr(limb, name) for name in ik.closed_forms.LimbSolution.__match_args__]


def solved(count: int, dtype: Any = float, seed: int = 0) -> ik.closed_forms.LimbSolution:
    return ik.two_bone(**limbs(dtype, seed, count))


@pytest.mark.parametrize("count", [1, 7, 5_000, 300_000])
def test_the_arrays_of_a_result_are_apart(count: int, dtype: Any) -> None:
    """Plain writable arrays that do not overlap. Each is aligned for any vector, except those of a few items, which
    NumPy allocates.
    """
    limb = solved(count, dtype)
    arrays = arrays_of(limb)
    for array in arrays:
        assert type(array) is np.ndarray
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.flags.aligned
        assert array.ctypes.data % 64 == 0 or count < 16
    before = [array.copy() for array in arrays]
    for index, array in enumerate(arrays):
        array[...] = -7
        for other, kept in zip(arrays[index + 1 :], before[index + 1 :], strict=True):
            np.testing.assert_array_equal(other, kept)
    assert all((array == -7).all() for array in arrays)


@pytest.mark.parametrize("count", [7, 5_000])
def test_results_alive_together_do_not_share_memory(count: int) -> None:
    """More results are alive than the cache has blocks. Only the memory of deleted results is used again."""
    results = {seed: solved(count, seed=seed) for seed in range(9)}
    kept = {seed: [array.copy() for array in arrays_of(limb)] for seed, limb in results.items()}
    for seed in (1, 3, 4, 8):
        del results[seed]
    for seed in range(9, 20):
        solved(count, seed=seed)
        results[seed] = solved(count, seed=seed)
        kept[seed] = [array.copy() for array in arrays_of(results[seed])]
        if seed > 14:
            del results[seed - 5]
    for seed, limb in results.items():
        for array, copy in zip(arrays_of(limb), kept[seed], strict=True):
            np.testing.assert_array_equal(array, copy)
    spans = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for limb in results.values() for a in arrays_of(limb))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def test_one_array_keeps_the_block() -> None:
    """Also a part of one, and a buffer of it: as long as any of them is there nothing else is put there."""
    for hold in (lambda a: a, lambda a: a[10:20], lambda a: memoryview(a), lambda a: a.reshape(-1).view(np.uint8)):
        held = hold(solved(5_000).error)
        before = bytes(np.asarray(held))
        for seed in range(1, 8):
            solved(5_000, seed=seed)
        assert bytes(np.asarray(held)) == before


def test_a_block_that_is_free_is_used_again() -> None:
    """Repeated solves allocate no new memory, even if two or four results are alive at a time."""
    for kept in (1, 2, 4):
        given = limbs(float, 1, 5_000)
        tracemalloc.start()
        try:
            grown = []
            for _ in range(8):  # in the first of which blocks of tests before give way
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                results = [ik.two_bone(**given) for _ in range(kept)]
                del results
                grown.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
        assert max(grown[-3:]) < 50_000, (kept, grown)  # a result has 820,000 bytes


def test_what_is_kept_is_bounded() -> None:
    """At most four blocks of 16 MB wait; larger ones go at once."""
    solved(10)
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        results = [_core.empty((((count,), "d"),)) for count in [1_900_000] * 9 + [10_000 * n for n in range(1, 150)]]
        del results
        assert tracemalloc.get_traced_memory()[0] - base < 4 * 2**24 + 2**20
        huge = _core.empty((((40_000_000,), "d"),))
        del huge
        assert tracemalloc.get_traced_memory()[0] - base < 4 * 2**24 + 2**20
        for _ in range(8):  # what is asked for last is what waits
            blocks = [_core.empty((((20_000,), "d"),)) for _ in range(4)]
            del blocks
        assert tracemalloc.get_traced_memory()[0] - base < 4 * 200_000
    finally:
        tracemalloc.stop()


def test_a_result_outlives_its_call_in_threads() -> None:
    """Threads that make, keep and drop results at the same time never see each other's."""
    expected = {seed: solved(3_000, seed=seed).positions.copy() for seed in range(4)}
    wrong: list[int] = []

    def work(seed: int) -> None:
        mine: list[ik.closed_forms.LimbSolution] = []
        for _ in range(60):
            mine = [*mine[-2:], solved(3_000, seed=seed)]
            if any((limb.positions != expected[seed]).any() for limb in mine):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_new_arrays_have_the_bits_of_out(dtype: Any) -> None:
    for count in (1, 300, 5_000):
        given = limbs(dtype, 3, count)
        out = ik.closed_forms.LimbSolution.empty(count, dtype)
        ik.two_bone(**given, out=out)
        for array, there in zip(arrays_of(ik.two_bone(**given)), arrays_of(out), strict=True):
            assert array.dtype == there.dtype
            assert array.shape == there.shape
            assert array.tobytes() == there.tobytes()


def test_other_results_are_blocks_as_well() -> None:
    skeleton = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    poses = ik.Pose(np.tile(skeleton.rest.rotations, (500, 1, 1)))
    world = skeleton.forward(poses)
    found = ik.dls(skeleton, poses, [ik.Reach(3, [1, 1, 1])], goal_errors=True)
    spine = np.array([[0, 1.2, 0], [0, 1.45, 0], [0, 1.6, 0.02]])
    gaze = ik.look_at(np.tile(spine, (50, 1, 1)), [1, 0, 0, 0], [2, 1.6, 0], forward=[0, 0, 1])
    for arrays in ((world.positions, world.rotations), (gaze.deltas, gaze.positions, gaze.status, gaze.error)):
        assert len({id(array.base) for array in arrays}) == 1
        assert all(array.flags.writeable for array in arrays)
    assert found.status.base is not None
    assert found.error.base is not None
    assert found.status.base.base is found.error.base.base
    assert not found.pose.rotations.flags.writeable


def test_sweeps_have_the_order_they_had() -> None:
    """Several leading axes out of the order of C: NumPy makes the result in theirs, and solves along the long axis."""
    taken = limbs(float, 1, 2_000)
    given: dict[str, Any] = {name: np.swapaxes(array.reshape(4, 500, 3), 0, 1) for name, array in taken.items()}
    limb = ik.two_bone(**given)
    assert limb.root.strides[0] < limb.root.strides[1]
    ordered: dict[str, Any] = {name: np.ascontiguousarray(array) for name, array in given.items()}
    straight = ik.two_bone(**ordered)
    assert straight.root.flags.c_contiguous
    assert limb.root.tobytes() == straight.root.tobytes()


def test_empty_takes_what_it_should() -> None:
    numbers, none, flags = _core.empty((((2, 3), "f"), ((0, 4), "d"), ((), "i")))
    assert [array.dtype.name for array in (numbers, none, flags)] == ["float32", "float64", "int32"]
    assert [array.shape for array in (numbers, none, flags)] == [(2, 3), (0, 4), ()]
    assert _core.empty(()) == ()
    for wrong in (None, [((2,), "f")], (((2,), "x"),), (([2], "f"),), (((2.5,), "f"),), (((2,), "f"),) * 9, ((2,),)):
        with pytest.raises((TypeError, ValueError)):
            _core.empty(wrong)  # type: ignore[arg-type]
    for shape in ((-1,), (2**62, 2), (2**31, 2**31, 2**31), (2**55,)):
        with pytest.raises(MemoryError):
            _core.empty(((shape, "d"),))
