"""The surface of solving: batches, threads, sequences, options, and what a Solution says. Kernels have their own."""

from __future__ import annotations

import _thread
import dataclasses
import functools
import inspect
import itertools
import pickle
import re
import signal
import sys
import threading
import time
import typing
import warnings
from collections import UserList
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
from chains import chain, same_bits
from numpy.testing import assert_allclose, assert_array_equal

import ikcore as ik
from ikcore import _call, _core, _threads
from ikcore.solving import batch, single_pose, validate

METHODS = [name for name, *_ in _core.METHODS]
AS_A_BATCH: Any = UserList  # goals that no call on a single item takes
UNSET = ("damping", "feedback", "filtering", "max_error", "max_step")  # None where the core has 0: automatic, or off
NOT_GIVEN = (None,) * len(_core.OPTIONS)  # options of the core
POINTS = np.array([[0, 0, 0], [1, 0, 0], [2, 0.1, 0], [3, 0, 0.1]])
ARM = ik.Skeleton.chain(POINTS)
REACH = np.linalg.norm(np.diff(POINTS, axis=0), axis=1).sum()


def targets(*shape: int, dtype: Any = np.float64) -> Any:
    """Points that the arm can reach."""
    rng = np.random.default_rng(5)
    direction = ref.unit(rng.normal(size=(*shape, 3)))
    return (direction * rng.uniform(1, 2.5, (*shape, 1))).astype(dtype)


def poses(*shape: int, dtype: Any = np.float64) -> ik.Pose:
    """Bent every way."""
    return ik.Pose(
        ref.unit(np.array([4, 0, 0, 0]) + np.random.default_rng(6).normal(size=(*shape, 4, 4))).astype(dtype)
    )


def tips(found: ik.Solution) -> Any:
    return ARM.forward(found.pose).positions[..., 3, :]


# --- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pose_axes", "target_axes"),
    [((), ()), ((), (5,)), ((5,), ()), ((6, 1), (4,)), ((4,), (6, 1)), ((2, 1, 3), (4, 1)), ((0,), (1,)), ((3, 0), ())],
)
def test_leading_axes_broadcast_and_every_item_is_solved_as_if_alone(
    pose_axes: tuple[int, ...], target_axes: tuple[int, ...]
) -> None:
    pose, target = poses(*pose_axes), targets(*target_axes)
    found = ik.fabrik(ARM, pose, [ik.Reach(3, target)])
    shape = np.broadcast_shapes(pose_axes, target_axes)
    assert found.status.shape == found.error.shape == found.iterations.shape == found.pose.shape == shape
    each = np.broadcast_to(pose.rotations, (*shape, 4, 4)), np.broadcast_to(target, (*shape, 3))
    for at in np.ndindex(shape):
        alone = ik.fabrik(ARM, ik.Pose(each[0][at]), [ik.Reach(3, each[1][at])])
        assert alone.pose.rotations.tobytes() == found.pose.rotations[at].tobytes()
        assert (alone.error, alone.status) == (found.error[at], found.status[at])


def test_a_sweep_of_a_thousand_poses_by_ten_targets() -> None:
    pose, target = poses(1000, 1), targets(10)
    found = ik.fabrik(ARM, pose, [ik.Reach(3, target)])
    assert found.status.shape == (1000, 10)
    miss = np.linalg.norm(tips(found) - target, axis=-1)
    assert_allclose(found.error, miss, atol=1e-12)
    assert np.all((miss <= 1e-5 * REACH) == (found.status == 0))
    assert np.count_nonzero(found.status == 0) > 9900


def test_translations_and_weights_broadcast_too() -> None:
    pose = ik.Pose(ARM.rest.rotations, np.stack([ARM.offsets, ARM.offsets + np.array([0, 0.1, 0])])[:, None])
    target = targets(5)
    found = ik.fabrik(ARM, pose, [ik.Reach(3, target, weight=np.ones((3, 1, 1)))])
    assert found.pose.rotations.shape == (3, 2, 5, 4, 4)
    assert found.pose.translations is not None
    assert_allclose(tips(found), np.broadcast_to(target, (3, 2, 5, 3)), atol=5e-5)


def test_the_pose_decides_the_type_of_number(dtype: Any) -> None:
    found = ik.fabrik(ARM, poses(3, dtype=dtype), [ik.Reach(3, targets(3))], history=True)
    arrays = (found.pose.rotations, found.error, found.rotation_error, found.history)
    assert all(array is not None and array.dtype == dtype for array in arrays)
    assert found.status.dtype == found.iterations.dtype == np.int32
    assert np.all(found.status == 0)


def test_a_single_pose_gives_numbers() -> None:
    found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0])])
    assert isinstance(found.error, np.floating)
    assert isinstance(found.status, np.int32)
    assert found.pose.rotations.shape == (4, 4)


def test_inputs_stay_as_they_are_and_are_not_shared() -> None:
    rotations, target = poses(6).rotations.copy(), targets(6)
    before = rotations.copy(), target.copy()
    found = ik.fabrik(ARM, ik.Pose(rotations), [ik.Reach(3, target)])
    assert_array_equal(rotations, before[0])
    assert_array_equal(target, before[1])
    assert not np.shares_memory(found.pose.rotations, rotations)


def test_what_strides_allow_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(_core, "solve", lambda *operands: seen.append(operands))
    rotations, target = poses(6, 5).rotations, targets(6, 5)[:, ::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing has written the status
        ik.fabrik(ARM, ik.Pose(rotations), [ik.Reach(3, target[:, :1], weight=1)], iterations=7)
        ik.fabrik(ARM, ARM.rest, [ik.Reach(3, target[:, 2])])
    (_, _, _, given, *_), (_, _, (goal,), rest, *_) = seen
    position, rotation, _, _, _, weight, _ = goal[-1]
    assert (goal[1:3], goal[7][0], rotation) == ((3, 0), (0.0, 0.0, 0.0), None)
    assert given.shape == (30, 4, 4)
    assert np.shares_memory(given, rotations)
    assert rest.shape == (6, 4, 4)
    assert np.shares_memory(position, target)
    assert rest.strides[0] == weight.strides[0] == 0


def test_fields_of_packed_records_are_read_wherever_they_lie() -> None:
    pose, target = poses(3), targets(3)
    packed = np.zeros(3, [("frame", "u1"), ("rotations", "f8", (4, 4)), ("target", "f8", 3)])
    packed["rotations"], packed["target"] = pose.rotations, target
    assert not packed["target"].flags.aligned
    found = ik.fabrik(ARM, ik.Pose(packed["rotations"]), [ik.Reach(3, packed["target"])])
    assert same_bits(found, ik.fabrik(ARM, pose, [ik.Reach(3, target)]))


def test_axes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ValueError, match=r"leading axes do not broadcast: pose \(4,\), goals\[0\].position"):
        ik.fabrik(ARM, poses(4), [ik.Reach(3, targets(5))])


def test_an_item_that_cannot_be_used_disturbs_no_other() -> None:
    target = targets(5)
    clean = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, target)])
    target[2, 1] = np.nan
    with pytest.warns(ik.UnusableWarning, match="fabrik: 1 of 5 items cannot be used: 1 NOT_FINITE") as caught:
        found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, target)])
    assert [warning.filename for warning in caught] == [__file__]
    assert ik.Status.NOT_FINITE in ik.Status(found.status[2])
    assert np.isnan(found.error[2])
    assert_array_equal(found.pose.rotations[2], ARM.rest.rotations)
    others = [0, 1, 3, 4]
    assert found.pose.rotations[others].tobytes() == clean.pose.rotations[others].tobytes()
    with pytest.raises(ik.UnusableError, match="1 of 5 items"):
        ik.solve(ARM, ARM.rest, [ik.Reach(3, target)], "fabrik", strict=True)


def test_by_name_the_warning_is_for_the_caller_too() -> None:
    with pytest.warns(ik.UnusableWarning) as caught:
        ik.solve(ARM, ARM.rest, [ik.Reach(3, [np.nan, 0, 0])])
    assert [warning.filename for warning in caught] == [__file__]


# --- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 3, None])
def test_the_bits_do_not_depend_on_workers_and_blocks(workers: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    pose, goals = poses(300, 1), [ik.Reach(3, targets(2))]
    one = ik.fabrik(ARM, pose, goals, history=True, iterations=40)
    monkeypatch.setattr(batch, "_SMALLEST_BLOCK", 7)
    monkeypatch.setattr(batch, "_LARGEST_BLOCK", 50)
    assert same_bits(one, ik.fabrik(ARM, pose, goals, history=True, iterations=40, workers=workers))
    assert same_bits(one, ik.fabrik(ARM, pose, goals, history=True, iterations=40))


@pytest.mark.parametrize("workers", [0, -2])
def test_workers_that_cannot_be(workers: int) -> None:
    with pytest.raises(ValueError, match="workers: expected 1 to 1024, or None"):
        ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0])], workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_the_work_after_the_running_blocks(
    workers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()

    def interrupted(*operands: Any) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        time.sleep(0.001)

    monkeypatch.setattr(_core, "solve", interrupted)
    monkeypatch.setattr(batch, "_SMALLEST_BLOCK", 1)
    monkeypatch.setattr(batch, "_LARGEST_BLOCK", 1)
    with pytest.raises(KeyboardInterrupt):
        ik.fabrik(ARM, ARM.rest, [ik.Reach(3, targets(5000))], workers=workers)
    assert next(calls) < 2500


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_block_is_done_once(workers: int) -> None:
    done: list[slice] = []
    blocks = [slice(first, first + 1) for first in range(200)]
    _threads.on_threads(blocks, workers, done.append)
    assert sorted(block.start for block in done) == list(range(200))


@pytest.mark.parametrize("helper", [False, True])
def test_what_fails_on_any_thread_is_raised_and_nothing_more_begun(helper: bool) -> None:
    begun: list[slice] = []

    def solve(block: slice) -> None:
        begun.append(block)
        if (threading.current_thread() is not threading.main_thread()) == helper:
            raise MemoryError("this one")
        time.sleep(0.01)

    with pytest.raises(MemoryError, match="this one"):
        _threads.on_threads([slice(0)] * 1000, 2, solve)
    assert len(begun) < 500


# --- interrupts -------------------------------------------------------------------------------------------------------

# They work for minutes.
ROPE = ik.Skeleton.chain(np.arange(102)[:, np.newaxis] * [1.0, 0, 0])
PULLED = np.random.default_rng(0).uniform(-30, 30, (4000, 3))
LONG: dict[str, Any] = {"iterations": 1_000_000, "tolerance": 0.0, "textbook": True}
PULLS = [ik.Reach(joint, [0, joint, 9]) for joint in range(4, 102, 7)]  # more than they can all have
WORK: dict[str, Callable[[str], Any]] = {
    "batch": lambda method: ik.solve(ROPE, ROPE.rest, [ik.Reach(101, PULLED)], method, **LONG),
    "threads": lambda method: ik.solve(ROPE, ROPE.rest, [ik.Reach(101, PULLED)], method, workers=2, **LONG),
    "one item": lambda method: ik.solve(ROPE, ROPE.rest, PULLS, method, **LONG),
    "solver": lambda method: ik.Solver(ROPE, [ik.Reach(50, position=...), *PULLS], method, **LONG)(
        ROPE.rest.rotations, [0, 0, 200]
    ),
    "sequence": lambda method: ik.solve(
        ROPE, ROPE.rest, [ik.Reach(101, PULLED.reshape(4, 1000, 3))], method, sequence=True, workers=2, **LONG
    ),
}


def seconds_to_end(work: Any) -> float:
    """From Ctrl-C, as it reaches a Python that listens, to the exception; no thread is left behind."""
    threads, listening = _thread._count(), signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    finger, ended = threading.Timer(0.3, press), None
    try:
        finger.start()
        work()
        finger.join()
    except KeyboardInterrupt:
        ended = time.monotonic()
    finally:
        finger.cancel()  # where the work is refused
        finger.join()
        signal.signal(signal.SIGINT, listening)
    assert pressed
    assert ended is not None, "it was done before"
    assert _thread._count() == threads
    return ended - pressed[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_an_interrupt_ends_the_work_at_once(method: str, work: Any) -> None:
    assert min(seconds_to_end(lambda: work(method)) for _ in range(2)) < 0.2


def test_an_interrupt_while_this_thread_waits_for_another() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def solve(block: slice) -> None:
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(60)
        else:
            begun.set()
            assert stopped.wait(60)

    assert seconds_to_end(lambda: _threads.on_threads([slice(0)] * 2, 2, solve, stopped.set)) < 0.2


STEPS: dict[str, Any] = {"gauss_seidel": {"sweeps": 1_000_000}, "transpose": {"loops": 1_000_000}}


@pytest.mark.parametrize("method", STEPS)
@pytest.mark.parametrize("target", [[30, 40, 50], PULLED], ids=["one item", "batch"])
def test_an_interrupt_ends_a_step_at_once(method: str, target: Any) -> None:
    """One that takes many seconds."""
    goals = [ik.Reach(101, target), ik.Reach(50, [0, 20, 0])]
    took = [seconds_to_end(lambda: ik.solve(ROPE, ROPE.rest, goals, method, **STEPS[method])) for _ in range(2)]
    assert min(took) < 0.5


LINE = np.linspace([1.0, 0, 0], [2.0, 1, 1], 1000)
LONG_CALLS: dict[str, Callable[[], Any]] = {
    "forward": lambda: ARM.forward(poses(1000)),
    "local": lambda: ARM.local(ik.skeleton.World(np.ones((1000, 4, 3)), np.ones((1000, 4, 4)))),
    "limb": lambda: ik.two_bone([0, 0, 0], [0, 1, 0.1], [0, 2, 0], LINE),
    "limb, out": lambda: ik.two_bone(
        [0, 0, 0], [0, 1, 0.1], [0, 2, 0], LINE, out=ik.closed_forms.LimbSolution.empty(1000)
    ),
    "spine": lambda: ik.look_at(np.ones((1000, 9, 3)) * LINE[:9], [1, 0, 0, 0], [0, 5, 0], forward=[1, 0, 0]),
    "rotations": lambda: ik.rotations.multiply(np.ones((1000, 4)), [1, 0, 0, 0]),
}


@pytest.mark.parametrize("name", LONG_CALLS)
def test_a_long_call_is_done_in_blocks_between_which_an_interrupt_ends_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks: list[list[slice]] = []

    def interrupted(given: list[slice], workers: int, solve: Callable[[slice], None]) -> None:
        blocks.append(given)
        solve(given[0])
        raise KeyboardInterrupt

    LONG_CALLS[name]()
    for module in (_call, _threads, ik.skeleton):
        monkeypatch.setattr(module, "AT_ONCE", 100)
    for module in (_call, _threads):
        monkeypatch.setattr(module, "on_threads", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LONG_CALLS[name]()
    most = {"forward": 25, "local": 25, "spine": 12}.get(name, 100)  # by the joints of an item
    assert all(0 < block.stop - block.start <= most for block in blocks[0])
    assert [block.start for block in blocks[0][1:]] == [block.stop for block in blocks[0][:-1]]
    assert (blocks[0][0].start, blocks[0][-1].stop) == (0, 1000)


def test_a_signal_with_another_handler_changes_nothing() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    finger = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    options = LONG | {"iterations": 30_000}
    try:
        finger.start()
        found = ik.fabrik(ROPE, ROPE.rest, PULLS, **options)
    finally:
        finger.join()
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    assert same_bits(found, ik.fabrik(ROPE, ROPE.rest, PULLS, **options))


def place_of(joint: int, position: Any, weight: Any = None) -> tuple[Any, ...]:
    """A goal of the core: a place of a joint, by a chain from the root."""
    none = (0.0, 0.0, 0.0)
    return (0, joint, 0, False, 0, -1, 0, (none,) * 4, (position, None, None, None, None, weight, None))


def test_the_core_ends_where_a_byte_is_set() -> None:
    """Items that are done are written, nothing of others."""
    stop, count = bytearray(b"\1"), 20_000
    found = batch.CoreOutput.empty((count,), ARM.rest.rotations)
    for array in found[:5]:
        assert array is not None
        array[...] = -7
    goal = place_of(3, targets(count))
    options, start = NOT_GIVEN, np.tile(ARM.rest.rotations, (count, 1, 1))
    _core.solve("dls", ARM._data, (goal,), start, None, None, options, found, stop)
    done, expected = found.status != -7, ik.dls(ARM, ARM.rest, [ik.Reach(3, targets(count))])
    assert not done.all()
    assert found.rotations[done].tobytes() == expected.pose.rotations[done].tobytes()
    assert np.all(found.rotations[~done] == -7)
    assert np.all(found.error[~done] == -7)


# --- sequences --------------------------------------------------------------------------------------------------------


def waving(frames: int) -> ik.Pose:
    """An animated arm."""
    angle = np.sin(np.arange(frames)[:, None] * [0.1, 0.2, 0.3, 0.4])
    return ik.Pose(ik.rotations.from_axis_angle([0.3, 0.5, 0.2], angle))


def test_a_target_that_follows_the_animation_costs_no_iterations_after_the_first_frame() -> None:
    still = ik.Pose(np.broadcast_to(poses().rotations, (20, 4, 4)))
    goal = [ik.Reach(3, targets())]
    found = ik.fabrik(ARM, still, goal, sequence=True, release=np.inf)
    assert found.iterations[0] > 0
    assert np.all(found.iterations[1:] == 0)
    assert np.all(ik.fabrik(ARM, still, goal).iterations == found.iterations[0])


def test_lanes_of_a_sequence_are_solved_as_if_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pose, target = waving(5)[:, None], targets(5, 6)
    together = ik.fabrik(ARM, pose, [ik.Reach(3, target)], sequence=True)
    alone = [ik.fabrik(ARM, waving(5), [ik.Reach(3, target[:, lane])], sequence=True) for lane in range(6)]
    for lane, found in enumerate(alone):
        assert found.pose.rotations.tobytes() == together.pose.rotations[:, lane].tobytes()
    monkeypatch.setattr(batch, "_SMALLEST_BLOCK", 1)
    assert same_bits(together, ik.fabrik(ARM, pose, [ik.Reach(3, target)], sequence=True, workers=2))


def test_a_frame_that_cannot_be_used_keeps_its_pose_and_the_correction_goes_on() -> None:
    still = ik.Pose(np.broadcast_to(poses().rotations, (3, 4, 4)))
    target = np.tile(targets(), (3, 1))
    target[1] = np.nan
    with pytest.warns(ik.UnusableWarning, match="1 of 3"):
        found = ik.fabrik(ARM, still, [ik.Reach(3, target)], sequence=True, release=np.inf)
    assert_array_equal(found.pose.rotations[1], still.rotations[1])
    assert found.status[2] == 0
    assert found.iterations[2] == 0


def human_arm(side: str) -> ik.Skeleton:
    out = 1 if side == "left" else -1
    limits = ik.limits.human_arm(side)
    offsets = np.array([[0, 1.3, 0], [0.18 * out, 0.12, 0], [0.29 * out, 0, 0], [0.13 * out, 0, 0], [0.13 * out, 0, 0]])
    return ik.Skeleton([-1, 0, 1, 2, 3], offsets, names=["chest", *limits], limits=limits)


def waves(frames: int, count: int, seed: int) -> Any:
    """Lissajous curves about the origin within a cube, (frames, count, 3): 2,001 frames would be a whole one."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi * frames / 2001, frames)[:, np.newaxis, np.newaxis]
    return np.sin(rng.integers(1, 4, (count, 3)) * angle + rng.uniform(0, 2 * np.pi, (count, 3)))


def most_turned(found: ik.Solution) -> Any:
    """The most degrees that a joint turns by from frame to frame, 0 where one of both frames is not reached."""
    now = found.pose.rotations.astype(float)
    dot = np.abs((now[1:] * now[:-1]).sum(-1)) / np.linalg.norm(now[1:], axis=-1) / np.linalg.norm(now[:-1], axis=-1)
    reached = (found.status == 0)[..., np.newaxis]
    return np.where(reached[1:] & reached[:-1], 2 * np.degrees(np.arccos(np.minimum(dot, 1))), 0).max(axis=-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_hand_on_a_smooth_path_moves_an_arm_without_jumps(side: str, dtype: type) -> None:
    """Through places that the arm can have; some frames are out of reach."""
    arm, rng = human_arm(side), np.random.default_rng(8)
    allowed = np.tile(arm.rest.rotations, (24, 1, 1))
    for joint, limit in enumerate(arm.limits):
        if limit is not None:
            allowed[:, joint] = limit.sample(24, seed=joint)
    centre = arm.forward(ik.Pose(allowed)).positions[:, 4]
    path = centre + rng.uniform(0.05, 0.25, (24, 3)) * waves(150, 24, seed=9)
    rest = ik.Pose(arm.rest.rotations.astype(dtype))
    tolerance = 1e-5 if dtype == np.float64 else 1e-4
    found = ik.fabrik(arm, rest, [ik.Reach("wrist", path, chain="shoulder")], sequence=True, tolerance=tolerance)
    assert np.count_nonzero(found.status == 0) > 1800
    assert most_turned(found).max() < 20


# How the shoulder and the elbow are turned in a frame, and where the wrist should be in the next three.
CORNER = (
    [[0.365265, -0.252048, 0.572203, -0.689665], [0.721948, 0, -0.691947, 0]],
    [[0.19711, 1.024543, 0.037593], [0.197786, 1.024768, 0.039729], [0.198464, 1.024989, 0.041887]],
)
DEAD_ENDS = {
    "left": (
        [[0.350985, -0.152747, 0.349649, -0.855116], [0.371598, 0, -0.928394, 0]],
        [[0.197838, 1.258455, 0.127883], [0.196761, 1.256943, 0.127014], [0.195692, 1.255442, 0.12616]],
    ),
    "right": (
        [[0.751282, 0.194124, -0.32114, -0.542918], [0.322865, 0, 0.946445, 0]],
        [[-0.307995, 1.509473, 0.090724], [-0.308623, 1.510666, 0.090217], [-0.30925, 1.511831, 0.089742]],
    ),
}


def in_sequence(arm: ik.Skeleton, start: Any, path: Any) -> ik.Solution:
    """From a frame that is reached, so that the first result counts as a step, too."""
    rest = arm.rest.rotations
    before = ik.Pose(np.concatenate([rest[:1], start, rest[3:]]))
    path = np.concatenate([arm.forward(before).positions[4:], path])
    return ik.fabrik(arm, before, [ik.Reach("wrist", path, chain="shoulder")], sequence=True)


def least_turn(arm: ik.Skeleton, before: Any, target: Any) -> Any:
    """Among all poses that take the wrist to a target: the smallest possible largest joint rotation, in degrees. How
    far away it is says how the elbow is bent, so all that is free is the turn about the line to it."""
    _, upper, elbow, *_ = arm.limits
    assert upper is not None
    assert elbow is not None
    bent = np.tile(before, (20001, 1, 1))
    axis = ik.rotations.rotate(np.array(elbow.frame), np.array([1.0, 0, 0]))
    bent[:, 2] = ik.rotations.from_axis_angle(axis, np.linspace(elbow.twist[0], elbow.twist[1], 20001))
    places = arm.forward(ik.Pose(bent)).positions
    shoulder, line = places[0, 1], target - places[0, 1]
    off = np.linalg.norm(places[:, 4] - shoulder, axis=-1) - np.linalg.norm(line)
    assert np.count_nonzero(np.diff(np.sign(off))) == 1
    best = np.argmin(np.abs(off))
    turns = ik.rotations.from_axis_angle(line / np.linalg.norm(line), np.linspace(-np.pi, np.pi, 7201))
    turns = ik.rotations.multiply(turns, ik.rotations.shortest_arc(places[best, 4] - shoulder, line))
    turned = ik.rotations.multiply(turns, before[1])
    turned = turned[upper.violation(turned) < 1e-6]
    most = np.abs(turned @ before[1]).max(), np.abs(bent[best, 2] @ before[2])
    return 2 * np.degrees(np.arccos(np.minimum(np.min(most), 1)))


def test_at_a_corner_of_its_limits_an_arm_goes_on_along_them() -> None:
    """Passes, each a little worse than the last, would lead it away to where the elbow is up."""
    found = in_sequence(human_arm("left"), *CORNER)
    assert np.all(found.status == 0)
    assert most_turned(found).max() < 5


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_arm_jumps_where_its_motion_comes_to_a_dead_end(side: str) -> None:
    """Two limits close in on it until no pose that is near reaches the target: all poses that do are looked at."""
    arm, (start, path) = human_arm(side), DEAD_ENDS[side]
    found = in_sequence(arm, start, path)
    assert np.all(found.status == 0)
    least = [least_turn(arm, *each) for each in zip(found.pose.rotations[:-1], np.array(path), strict=True)]
    jumps = most_turned(found) > 20
    assert np.count_nonzero(jumps) == 1
    assert_array_equal(jumps, np.array(least) > 20)


def moving_within_limits(skeleton: ik.Skeleton, width: float, seed: int) -> Any:
    """Smooth motions of all joints that have a limit, (frames, paths, joints, 4)."""
    moving = np.tile(skeleton.rest.rotations, (150, 24, 1, 1))
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None:
            moving[:, :, joint] = limit.project(ik.rotations.exp(width * waves(150, 24, seed + joint)))
    return moving


def test_places_and_rotations_on_a_smooth_path_move_an_arm_without_jumps() -> None:
    arm = human_arm("left")
    world = arm.forward(ik.Pose(moving_within_limits(arm, 0.7, seed=3)))
    goal = ik.Reach("wrist", world.positions[:, :, 4], world.rotations[:, :, 4], chain="shoulder")
    found = ik.fabrik(arm, arm.rest, [goal], sequence=True)
    assert np.mean(found.status == 0) > 0.99
    assert most_turned(found).max() < 20


@pytest.mark.parametrize("kind", ["cone", "ball", "hinge"])
def test_the_tip_on_a_smooth_path_moves_a_limited_chain_without_jumps(kind: str) -> None:
    """Joints whose axes pass near the tip would have to turn far to do little."""
    skeleton = chain(kind, 10)[0]
    world = skeleton.forward(ik.Pose(moving_within_limits(skeleton, 1, seed=5)))
    found = ik.fabrik(skeleton, skeleton.rest, [ik.Reach(10, world.positions[:, :, 10])], sequence=True)
    assert np.all(found.status == 0)
    assert most_turned(found).max() < 20


def test_rounding_turns_no_joint() -> None:
    """A forearm whose axis passes through where the hand should be: rounding alone would say how far it turns."""
    arm = human_arm("left")
    found = ik.fabrik(
        arm, arm.rest, [ik.Reach("wrist", [0.35, 1.35, 0.3] + 0.1 * waves(100, 1, 2)[:, 0], chain="shoulder")]
    )
    assert np.count_nonzero(found.status == 0) > 90
    assert np.max(2 * np.arccos(np.minimum(np.abs(found.pose.rotations[:, 3, 0]), 1))) < 0.2


def test_time_needs_an_axis() -> None:
    with pytest.raises(ValueError, match="sequence=True: expected axis 0 to be time, got a single pose"):
        ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0])], sequence=True)


def test_a_sequence_without_frames() -> None:
    assert ik.fabrik(ARM, poses(0, 3), [ik.Reach(3, [1, 1, 0])], sequence=True).status.shape == (0, 3)


# --- methods and options ----------------------------------------------------------------------------------------------


def test_every_method_of_the_core_has_its_typed_function_with_the_options_of_the_table() -> None:
    common = ["moving", "workers", "sequence", "fps", "release", "history", "goal_errors", "strict"]
    for name, sentence, _ in _core.METHODS:
        function = getattr(ik.solvers, name)
        parameters = inspect.signature(function).parameters
        table = {row[1]: row[2:] for row in _core.METHOD_OPTIONS if row[0] == name}
        assert list(parameters) == ["skeleton", "pose", "goals", *table, *common]
        types = typing.get_type_hints(function)
        types |= typing.get_type_hints(typing.get_args(types.pop("shared"))[0])
        for option, (kind, default, _, _, said) in table.items():
            expected = {"double": float, "int": int, "switch": bool}[kind]
            none = parameters[option].default is None
            assert types[option] == (expected | None if none else expected)
            assert parameters[option].default == (None if none else default)
            assert none == ("; 0:" in said and option in UNSET and default == 0)
            said = said.replace("; 0:", "; None:") if none else said
            assert re.search(
                rf"^{option} : {expected.__name__}, optional\n    .{re.escape(said[1:])}", function.__doc__, re.M
            )
        assert all(parameters[option].kind is inspect.Parameter.KEYWORD_ONLY for option in [*table, *common])
        assert ik.methods()[name].sentence == sentence
        assert ik.methods()[name].function is function


@pytest.mark.parametrize(
    ("method", "name"),
    [("dls", "damping"), ("newton", "max_error"), ("pinv", "filtering"), ("ccd", "feedback"), ("ccd", "max_step")],
)
def test_none_is_the_one_value_that_means_automatic_or_off(method: str, name: str) -> None:
    goals = [ik.Reach(3, [1, 1, 0.5])]
    assert ik.methods()[method].options[name].default is None
    found = ik.solve(ARM, ARM.rest, goals, method, **{name: None})
    assert found.pose.rotations.tobytes() == ik.solve(ARM, ARM.rest, goals, method).pose.rotations.tobytes()
    with pytest.raises(ValueError, match=f"{name}: expected a number above 0, at most .*, or None, got 0"):
        ik.solve(ARM, ARM.rest, goals, method, **{name: 0})


def test_a_keyword_that_no_option_has_is_refused_by_the_name_of_the_method() -> None:
    with pytest.raises(TypeError, match=r"^circle\(\) got an unexpected keyword argument 'textbook'$"):
        ik.solvers.circle(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0.5])], textbook=True)  # type: ignore[call-arg]


def test_every_option_belongs_to_a_method() -> None:
    assert {row[1] for row in _core.METHOD_OPTIONS} == set(_core.OPTIONS)
    assert {row[0] for row in _core.METHOD_OPTIONS} == {name for name, *_ in (*_core.METHODS, *_core.CLOSED_FORMS)}
    for method, option, _, default, lowest, highest, _ in _core.METHOD_OPTIONS:
        assert lowest <= default <= highest, (method, option)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_not_given_to_the_core_has_the_default_of_the_method(method: str) -> None:
    tasks = batch.checked_tasks(method, ARM, ARM.rest, [ik.Reach(3, [1, 1, 0.5])])
    found = [batch.CoreOutput.empty((), ARM.rest.rotations) for _ in range(2)]
    own = ik.methods()[method].options
    given = tuple([own[name].default if name in own else None for name in _core.OPTIONS])
    for options, outputs in zip((given, NOT_GIVEN), found, strict=True):
        batch.Batch(ARM, ARM.rest, tasks, outputs, sequence=False, fps=0.0).solve(method, options, 1)
    assert found[0].iterations == found[1].iterations >= (method != "full_body")  # its sweeps may suffice
    assert found[0].rotations.tobytes() == found[1].rotations.tobytes()
    assert found[0].status == found[1].status == 0


def test_methods_are_printed_with_their_options() -> None:
    said = repr(ik.methods())
    assert re.search(r"^fabrik: forward and backward reaching", said, re.M)
    assert re.search(r"^  iterations=200: largest number of iterations", said, re.M)
    assert re.search(r"^two_bone: the limb in closed form", said, re.M)
    assert re.search(
        r"^fabrik: .*\n  takes Reach position, Reach rotation, Distance, Inside, Outside, goal relative to a joint, "
        r"level, pole, sliding joint, limit, second end\n  iterations",
        said,
        re.M,
    )
    assert ik.methods()["aim"].takes == {"Look", "pole", "limit", "second end"}
    assert ik.methods()["dls"].takes >= {"stiffness", "CentreOfMass"}


def test_by_name_is_the_typed_function() -> None:
    goals = [ik.Reach(3, targets(4))]
    typed = ik.fabrik(ARM, ARM.rest, goals, iterations=9, history=True)
    assert same_bits(typed, ik.solve(ARM, ARM.rest, goals, method="fabrik", iterations=9, history=True))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "magic"}, "method: expected one of two_bone, aim, fabrik"),
        ({"stiffness": 1}, "dls: no option 'stiffness' here; expected iterations, "),
        ({"iterations": 1.5}, "iterations: expected a whole number, got 1.5"),
        ({"iterations": -1}, "iterations: expected 0 to 1e[+]06, got -1"),
        ({"tolerance": 2}, "tolerance: expected 0 to 1, got 2 .*the reach.*"),
        ({"tolerance": np.nan}, "tolerance: expected 0 to 1, got nan"),
        ({"tolerance": "small"}, "tolerance: expected a number, got 'small'"),
        ({"method": "dls", "max_step": 0}, r"max_step: expected 1e-06 to 4, got 0 \(largest turn of a joint"),
        ({"textbook": 2}, "textbook: expected 0 to 1, got 2"),
        ({"textbook": "no"}, "textbook: expected True or False, got 'no'"),
        ({"tolerance": "1e-3"}, "tolerance: expected a number, got '1e-3'"),
        ({"tolerance": np.array("1e-3")}, "tolerance: expected a number, got array"),
        ({"tolerance": [1e-3]}, r"tolerance: expected a number, got \[0.001\]"),
        ({"tolerance": True}, "tolerance: expected a number, got True"),
        ({"iterations": True}, "iterations: expected a whole number, got True"),
        ({"iterations": 2**70}, "iterations: expected 0 to 1e[+]06, got 1180591620717411303424"),
        ({"workers": True}, "workers: expected a whole number, or None for all cores, got True"),
        ({"sequence": "no"}, "sequence: expected True or False, got 'no'"),
        ({"history": 1}, "history: expected True or False, got 1"),
        ({"strict": None}, "strict: expected True or False, got None"),
        ({"method": ["fabrik"]}, r"method: expected one of .*, got \['fabrik'\]"),
    ],
)
def test_a_wrong_option_is_explained(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        ik.solve(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0])], **options)


# Values of every type, none of which any option accepts.
NASTY = [
    *[
        10**30,
        10**400,
        -(10**400),
        10**5000,
        -(10**30),
        -7,
        np.nan,
        np.inf,
        -np.inf,
        np.float64("nan"),
        np.float32("inf"),
    ],
    *["1", "", b"1", None, [1], (), {}, 1j, ..., object(), np.array([1, 2]), np.array("1"), np.datetime64("2020")],
    *[np.uint64(2**64 - 1), np.ma.masked],
]
GOALS: dict[str, Any] = {"two_bone": ik.Reach(2, [1, 1, 0]), "aim": ik.Look(2, [1, 0, 0], [1, 1, 0], chain=0)}


@pytest.mark.drawn(100)
@pytest.mark.parametrize("value", NASTY, ids=[type(value).__name__ + str(i) for i, value in enumerate(NASTY)])
@pytest.mark.parametrize("method", ik.methods())
@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
def test_every_option_says_what_it_expects(method: str, value: Any) -> None:
    known = ik.methods()[method]
    goals: list[ik.Goal] = [GOALS.get(method, ik.Reach(3, [1, 1, 0]))]
    iterative = method in METHODS
    others = ["workers", "strict", *["sequence", "fps", "history", "goal_errors"] * iterative]
    for option in [*known.options, *others]:
        unbounded = option == "twist" and isinstance(value, (int, np.integer)) and abs(int(value)) < 10**31
        may_be_none = option in ("fps", "workers") or (option in known.options and known.options[option].may_be_none)
        if unbounded or (value is None and may_be_none):
            continue
        given: dict[str, Any] = {option: value}
        calls: list[Callable[[], object]] = [functools.partial(ik.solve, ARM, ARM.rest, goals, method, **given)]
        if option not in ("sequence", "fps", "history", "goal_errors"):
            calls.append(functools.partial(solved_by_solver, goals, method, given))
        if iterative:
            calls.append(functools.partial(known.function, ARM, ARM.rest, goals, **given))
        for call in calls:
            with pytest.raises((TypeError, ValueError), match=rf"^{option}: expected .*, got ") as caught:
                call()
            assert len(str(caught.value)) < 250


def solved_by_solver(goals: list[ik.Goal], method: str, options: dict[str, Any]) -> object:
    return ik.Solver(ARM, goals, method, **options)(ARM.rest.rotations)


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["large", "small", "huge"])
def test_whole_numbers_of_any_size_are_refused_in_a_sentence(value: int) -> None:
    calls: dict[str, Callable[[], object]] = {
        "expected a joint, 0 to 3, got ": lambda: ik.fabrik(ARM, ARM.rest, [ik.Reach(value, [1, 1, 0])]),
        r"goals\[0\].chain: expected 0 to 3, as '3' has 3 joints above it": lambda: ik.fabrik(
            ARM, ARM.rest, [ik.Reach(3, [1, 1, 0], chain=value)]
        ),
        "level": lambda: ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0], level=value)]),
        r"goals\[0\].weight: expected real numbers, got ": lambda: ik.fabrik(
            ARM, ARM.rest, [ik.Reach(3, [1, 1, 0], weight=value)]
        ),
        "swing: expected real numbers": lambda: ik.Limit.cone([1, 0, 0], value),
        "low, high: expected real numbers": lambda: ik.Limit.hinge([1, 0, 0], value, 1),
        "stiffness: expected real numbers": lambda: ik.Limit.free(stiffness=value),
        "position: expected real numbers": lambda: ik.Limit.free(position=[[value] * 3] * 2),
        "n: expected (0 or more|1431655765 at most), got ": lambda: ik.Limit.cone([1, 0, 0], 1).sample(value),
    }
    for sentence, call in calls.items():
        with pytest.raises((TypeError, ValueError), match=sentence) as caught:
            call()
        assert len(str(caught.value)) < 250


# --- what no method, or not every one, takes --------------------------------------------------------------------------


def limited_arm(joint: int, limit: ik.Limit) -> ik.Skeleton:
    return ik.Skeleton(ARM.parents, ARM.offsets, names=["hip", "knee", "ankle", "toe"], limits={joint: limit})


SLIDING = [ik.Limit.free(position=[[-0.1] * 3, [0.1] * 3]), ik.Limit.locked(position=[[0.0] * 3, [0, np.inf, 0]])]


@pytest.mark.parametrize("limit", SLIDING, ids=["free", "locked"])
@pytest.mark.parametrize("method", sorted(ik.methods()))
def test_a_joint_that_slides_is_refused_by_methods_that_do_not_slide_it(method: str, limit: ik.Limit) -> None:
    knee, goal = limited_arm(1, limit), ik.Reach("toe", [1, 1, 0])
    below = ik.Reach("toe", [1, 1, 0], chain="ankle")
    if method in METHODS:
        assert same_bits(ik.solve(knee, knee.rest, [below], method), ik.solve(ARM, ARM.rest, [below_(below)], method))
    if "sliding joint" in ik.methods()[method].takes:
        assert ik.solve(knee, knee.rest, [goal], method).status == 0 or ik.methods()[method].run is not None
        return
    lists: dict[str, list[ik.Goal]] = {
        "two_bone": [ik.Reach("toe", [1, 1, 0], chain=2)],
        "aim": [ik.Look("knee", [1, 0, 0], [1, 1, 0], chain=0)],
    }
    alike: list[ik.Goal] = [goal, ik.Reach("toe", [1, 1, 0], chain="knee"), ik.Reach("knee", [1, 1, 0])]
    for refused in lists.get(method, alike):
        with pytest.raises(
            ValueError,
            match=f"'knee' slides, and {method} takes no sliding joint; start the chain below that joint, or",
        ):
            ik.solve(knee, knee.rest, [refused], method)


def below_(goal: ik.Reach) -> ik.Reach:
    """The same of the arm without names."""
    return ik.Reach(3, goal.position, chain="2")


@pytest.mark.parametrize("stiffness", [1, 0.2, (0, 0, 1)])
def test_stiffness_is_for_ccd_and_dls_only(stiffness: Any) -> None:
    knee, goal = limited_arm(1, ik.Limit.free(stiffness=stiffness)), ik.Reach("toe", [1, 1, 0])
    assert ik.dls(knee, knee.rest, [goal]).status == ik.ccd(knee, knee.rest, [goal]).status == 0
    for method in ("fabrik", "two_bone"):
        with pytest.raises(
            ValueError, match=f"'knee' has stiffness, and {method} takes no stiffness; give it none, or use ccd or dls"
        ):
            ik.solve(knee, knee.rest, [ik.Reach("toe", [1, 1, 0], chain=2)], method)
    with pytest.raises(ValueError, match="'knee' has stiffness, and fabrik takes no stiffness"):
        ik.Solver(knee, [ik.Reach("toe", position=...)], "fabrik")
    for elsewhere in (ik.Reach("toe", [1, 1, 0], chain="ankle"), ik.Reach("knee", [1, 0.1, 0])):  # knee does not turn
        assert ik.fabrik(knee, knee.rest, [elsewhere]).status < _core.UNUSABLE
    locked = limited_arm(1, dataclasses.replace(ik.Limit.locked(), stiffness=(1.0, 1.0, 1.0)))
    assert ik.fabrik(locked, locked.rest, [goal]).status < _core.UNUSABLE


def test_the_core_refuses_it_too() -> None:
    found = batch.CoreOutput.empty((), ARM.rest.rotations)
    knee = limited_arm(1, ik.Limit.free(stiffness=1))
    with pytest.raises(ValueError, match="solve: a limit in a goal's chain has stiffness, which the method does not"):
        _core.solve("fabrik", knee._data, (place_of(3, np.ones(3)),), ARM.rest.rotations, None, None, NOT_GIVEN, found)
    slider = limited_arm(1, SLIDING[0])
    with pytest.raises(ValueError, match="solve: a joint of a goal's chain slides, and its translation has no place"):
        _core.solve("dls", slider._data, (place_of(3, np.ones(3)),), ARM.rest.rotations, None, None, NOT_GIVEN, found)
    soft = ik.Skeleton(ARM.parents, ARM.offsets, compliances=[0, 1e-3, 0, 0])
    with pytest.raises(ValueError, match="solve: a joint of a goal's chain has compliance, which the method does not"):
        _core.solve("dls", soft._data, (place_of(3, np.ones(3)),), ARM.rest.rotations, None, None, NOT_GIVEN, found)


@pytest.mark.parametrize("method", METHODS)
def test_to_judge_is_to_solve_nothing(method: str) -> None:
    """The pose that comes in, moved into its limits, and how far off it is: of frames each for itself."""
    takes = ik.methods()[method].takes
    limit = ik.Limit.cone([1, 0, 0], 0.3) if "limit" in takes else None
    arm = ik.Skeleton(ARM.parents, ARM.offsets, limits=[None, limit, None, None])
    turned = ik.rotations.exp(np.random.default_rng(4).normal(size=(5, 4, 3)) * 0.4)
    pose, target = ik.Pose(turned), np.array([1.5, 0.5, 0.2])
    for sequence in (False, True):
        tasks = validate.tasks_of(arm, [ik.Reach(3, target, pole=[0, 9, 0] if "pole" in takes else None)], pose.dtype)
        found = batch.CoreOutput.empty((5, 1), pose.rotations[:, np.newaxis])
        given = ik.Pose(pose.rotations[:, np.newaxis])
        batch.Batch(arm, given, tasks, found, sequence=sequence).solve(method, NOT_GIVEN, 1, judge=True)
        expected = turned.copy()
        if limit is not None:
            expected[:, 1] = limit.project(turned[:, 1])
        np.testing.assert_allclose(found.rotations[:, 0], expected, atol=1e-12)
        ends = arm.forward(ik.Pose(expected)).positions[:, 3]
        np.testing.assert_allclose(found.error[:, 0], np.linalg.norm(ends - target, axis=-1), rtol=1e-12)
        assert not found.iterations.any()
        assert (found.status != 0).all()


def test_levels_are_refused_by_methods_without() -> None:
    for name, method in ik.methods().items():
        first = GOALS.get(name, ik.Reach(3, [1, 1, 0]))
        if "level" not in method.takes:
            with pytest.raises(ValueError, match=rf"goals\[1\]\.level: {name} takes no level; say by"):
                ik.solve(ARM, ARM.rest, [first, dataclasses.replace(first, joint=1, chain=0, level=1)], name)


def test_other_skeletons_and_poses_are_refused() -> None:
    goals = [ik.Reach(3, [1, 1, 0])]
    with pytest.raises(TypeError, match="skeleton: expected a Skeleton, got list"):
        ik.fabrik([], ARM.rest, goals)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pose: expected a Pose, got ndarray"):
        ik.fabrik(ARM, ARM.rest.rotations, goals)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pose: expected 4 joints as the skeleton has, got 2"):
        ik.fabrik(ARM, ik.Pose(np.zeros((2, 4))), goals)


def test_history_is_kept_on_request() -> None:
    goals = [ik.Reach(3, targets(3))]
    assert ik.fabrik(ARM, ARM.rest, goals).history is None
    found = ik.fabrik(ARM, ARM.rest, goals, history=True, iterations=30)
    assert found.history is not None
    assert found.history.shape == (3, 31)
    for errors, count in zip(found.history, found.iterations, strict=True):
        assert np.isfinite(errors[: count + 1]).all()
        assert np.isnan(errors[count + 1 :]).all()
        assert errors[0] > errors[count]


# --- what a Solution says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fabrik", "ccd", "dls"])
def test_history_counts_by_tolerance(method: str) -> None:
    """For arms of length 2 and 0.2, an error of 0.05 counts ten times for the short one."""
    arms = ik.Skeleton([-1, 0, 1, 0, 3], np.outer([0, 1, 1, -0.1, -0.1], [1, 0, 0]))
    for off in ([0, 0.05], [0.5, 0]):
        goals = [ik.Reach(2, [2 - off[0], 0, 0]), ik.Reach(4, [-0.2 + off[1], 0, 0])]
        found = ik.solve(arms, arms.rest, goals, method, history=True, iterations=1)
        assert found.history is not None
        assert_allclose(found.history[0], 0.5)


def test_explain_says_how_far_and_what_to_try() -> None:
    found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [[1, 1, 1], [0, 5, 0], [3, 0, 4]])])
    reached, far, farther = (found.explain(item) for item in range(3))
    assert re.match(r"Item 0 reaches its goals after \d+ iterations\.\n3 is \S+ from its position\.$", reached)
    assert f"Its chain from 0 reaches {REACH:.3g}: the position is {5 - REACH:.3g} too far." in far
    assert f"3 is {5 - REACH:.3g} from its position." in far
    assert "Try: bring the target nearer" in far
    assert f"the position is {5 - REACH:.3g} too far" in farther


def test_explain_takes_the_place_in_all_leading_axes() -> None:
    found = ik.fabrik(ARM, poses(2, 1), [ik.Reach(3, targets(3))])
    assert found.explain((1, 2)).startswith("Item (1, 2) ")
    for wrong in (1, (1, 2, 3)):
        with pytest.raises(IndexError, match=r"item: expected 2 indices for leading axes \(2, 3\)"):
            found.explain(wrong)
    beyond: list[Any] = [(1, 3), (0, -4), (np.uint64(2**64 - 1), 0), (10**400, 0)]
    for place in beyond:
        with pytest.raises(IndexError, match=r"item: expected a place within the leading axes \(2, 3\), got \("):
            found.explain(place)
    for other in ("1", (None, 1), (1.0, 1), [1, 1], (True, 0)):
        with pytest.raises(TypeError, match="item: expected whole numbers, got "):
            found.explain(other)  # type: ignore[arg-type]
    assert ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [1, 1, 1])]).explain().startswith("The pose ")


def test_explain_takes_the_worst_of_a_batch() -> None:
    """It reports an unusable item; otherwise the largest error of those not reached, with angles measured at the end of
    the reach."""
    target = targets(2, 3)
    goal = [ik.Reach(3, target)]
    best = ik.fabrik(ARM, ARM.rest, goal)
    most = np.unravel_index(np.argmax(best.error), (2, 3))
    assert best.explain().startswith(f"Item ({most[0]}, {most[1]}), the worst of 6, reaches its goals after ")
    target[0, 2], target[1, 1] = [0, 9, 0], [0, 5, 0]
    far = ik.fabrik(ARM, ARM.rest, goal)
    assert far.explain().startswith("Item (0, 2), the worst of 6, after ")
    assert far.explain().splitlines()[1:] == far.explain((0, 2)).splitlines()[1:]
    target[1, 0] = np.nan
    with pytest.warns(ik.UnusableWarning):
        assert ik.fabrik(ARM, ARM.rest, goal).explain().startswith("Item (1, 0), the worst of 6, after ")

    alone = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [[0, 9, 0]])])
    assert alone.explain() == alone.explain(0)
    assert alone.explain().startswith("Item 0 after ")

    hinges = [ik.Limit.hinge([0, 0, 1], -0.1, 0.1)] * 4  # in millimetres: 90 of them are less than a radian
    large = ik.Skeleton(ARM.parents, ARM.offsets * 1000, limits=hinges)
    turned = ik.rotations.from_axis_angle([0, 0, 1], [0, 1.5, 0.2])
    goals = [ik.Reach(3, [REACH * 1000 + 90, 0, 0], turned, weight=[1, 0, 0], rotation_weight=[0, 1, 1])]
    assert ik.dls(large, large.rest, goals).explain().startswith("Item 1, the worst of 3, after ")
    nothing = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, np.zeros((0, 3)))])
    assert nothing.explain() == nothing.summary() == "0 of 0 poses reached"


def test_explain_tells_angles_in_degrees() -> None:
    """A pose that is left as given."""
    turned = ik.rotations.from_axis_angle([0, 1, 0], 0.5)
    found = ik.dls(ARM, ARM.rest, [ik.Reach(3, [2, 1, 0], turned, chain=2)], iterations=0)
    assert f"3 is turned {np.degrees(0.5):.3g} degrees from its rotation." in found.explain()


def test_explain_of_what_cannot_be_used() -> None:
    with pytest.warns(ik.UnusableWarning):
        found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [np.nan, 0, 0])])
    assert found.explain().endswith(
        "Try: look for NaN in this item's pose and goals; a goal of weight 0 may have them."
    )


def test_summary_counts() -> None:
    found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, [[1, 1, 1], [0, 5, 0]])])
    lines = found.summary().splitlines()
    assert lines[0].startswith("1 of 2 poses reached, largest error ")
    assert lines[1].startswith("  1 TOO_FAR, largest error ")
    assert lines[-1] == f"iterations: median {np.median(found.iterations):g}, most {found.iterations.max()}"


def test_a_solution_pickles() -> None:
    found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, targets(3))], history=True)
    copy = pickle.loads(pickle.dumps(found))
    assert same_bits(found, copy)
    assert copy.explain(1) == found.explain(1)


# --- functions of arrays ----------------------------------------------------------------------------------------------


def test_a_solver_is_the_method_as_a_function_of_arrays() -> None:
    turned = [np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    made = ik.Solver(ARM, [ik.Reach(2, position=...), ik.Reach(3, rotation=...)], "fabrik", iterations=50)
    assert made.signature == "(j,q),(p),(q)->(j,q),(),()"
    pose, target = poses(7), targets(7) * 0.5
    expected = ik.fabrik(ARM, pose, [ik.Reach(2, target), ik.Reach(3, rotation=turned)], iterations=50)
    rotations, error, status = pickle.loads(pickle.dumps(made))(pose.rotations, target, turned)
    assert rotations.tobytes() == expected.pose.rotations.tobytes()
    assert error.tobytes() == expected.error.tobytes()
    assert status.tobytes() == expected.status.tobytes()


def test_a_solver_takes_translations_where_it_is_told_so() -> None:
    made = ik.Solver(ARM, [ik.Reach(3, position=...)], translations=True)
    assert made.signature == "(j,q),(j,p),(p)->(j,q),(),()"
    moved = ARM.offsets + np.array([0, 0.2, 0])
    rotations, _, status = made(ARM.rest.rotations, moved, [1, 1, 0.5])
    assert status == 0
    tip = ARM.forward(ik.Pose(rotations, moved)).positions[3]
    assert_allclose(tip, [1, 1, 0.5], atol=5e-5)


def test_a_solver_says_what_it_lacks() -> None:
    made = ik.Solver(ARM, [ik.Reach(3, position=...)])
    with pytest.raises(TypeError, match=r"expected 1 arrays? after the rotations, got 0"):
        made(ARM.rest.rotations)
    with pytest.raises(TypeError, match="no option 'sequence' here"):
        ik.Solver(ARM, [ik.Reach(3, position=...)], sequence=True)
    with pytest.raises(ValueError, match="method: expected one of"):
        ik.Solver(ARM, [ik.Reach(3, position=...)], "magic")
    goals: Any
    for goals, sentence in (
        (ik.Reach(3, position=...), "goals: expected a list of goals, got Reach"),
        (["hand"], r"goals\[0\]: expected a Reach or another goal, got str"),
    ):
        with pytest.raises(TypeError, match=sentence):
            ik.Solver(ARM, goals)
    nothing: Any = None
    with pytest.raises(TypeError, match="skeleton: expected a Skeleton, got NoneType"):
        ik.Solver(nothing, [ik.Reach(3, position=...)])


def test_weights_too_may_come_with_the_call() -> None:
    made = ik.Solver(ARM, [ik.Reach(3, position=..., weight=...), ik.Reach(2, [0, 1, 1])], "dls")
    assert made.signature == "(j,q),(p),()->(j,q),(),()"
    pose, target, weight = poses(4), targets(4) * 2, np.array([0, 1, 1, 5])
    rotations, error, _ = made(pose.rotations, target, weight)
    expected = ik.dls(ARM, pose, [ik.Reach(3, target, weight=weight), ik.Reach(2, [0, 1, 1])])
    assert rotations.tobytes() == expected.pose.rotations.tobytes()
    assert error.tobytes() == expected.error.tobytes()
    for item in range(4):
        alone = made(pose.rotations[item], target[item], weight[item])[0]
        assert alone.tobytes() == rotations[item].tobytes()


def numbers(value: Any) -> Any:
    return tuple(value.tolist())


def narrow(value: Any) -> Any:
    return np.asarray(value, np.float32)


def backwards(value: Any) -> Any:
    """The same numbers, read from the end."""
    return np.asarray(value)[..., ::-1].copy()[..., ::-1]


@pytest.mark.drawn(100)
@pytest.mark.parametrize("translations", [False, True])
@pytest.mark.parametrize("given", [np.asarray, np.ndarray.tolist, numbers, narrow, backwards])
@pytest.mark.parametrize("method", METHODS)
def test_one_item_a_call_has_the_bits_of_the_method(method: str, given: Any, translations: bool, dtype: Any) -> None:
    """The solver takes it past NumPy: fixed and open rows, an offset, and weights, in the numbers of the pose."""
    turned = ref.unit(np.array([1.0, 0.2, 0.3, 0.1]))
    hand = ik.Reach(3, position=..., rotation=..., weight=0.75, rotation_weight=0.5, offset=[0.1, 0, 0])
    still = ik.Reach(2, position=[1, 1.2, 0.5], rotation=turned, weight=0.25)
    made = ik.Solver(ARM, [hand, still], method, translations=translations)
    moved = (ARM.offsets * 1.5).astype(dtype) if translations else None
    for rotations, target in zip(poses(9, dtype=dtype).rotations, targets(9), strict=True):
        wish = dataclasses.replace(hand, position=given(target), rotation=given(rotations[1]))
        one = ik.Pose(rotations[np.newaxis], None if moved is None else moved[np.newaxis])
        expected = ik.solve(ARM, one, AS_A_BATCH([wish, still]), method)
        arrays = [rotations, *([moved] if translations else []), given(target), given(rotations[1])]
        found = made(*arrays)
        assert made._prepared is not None
        assert made._prepared(arrays[0], moved, None, *arrays[1 + translations :]) is not None
        for mine, other in zip(found, (expected.pose.rotations, expected.error, expected.status), strict=True):
            assert (mine.dtype, mine.tobytes()) == (other.dtype, other.tobytes())
            assert mine.shape == other.shape[1:]
        assert not found[0].flags.writeable
        assert not isinstance(found[1], np.ndarray)
        assert not isinstance(found[2], np.ndarray)


def kinds_of_goals() -> list[list[Any]]:
    """Goals of every kind for HUNG, in lists as one writes them: points as lists, arrays and tuples."""
    hand = ik.Reach("d", [1.2, 1.0, 0.3], [1.0, 0.1, 0, 0], weight=0.5, rotation_weight=np.float32(0.25))
    return [
        [ik.Reach("d", np.array([1.0, 1.0, 0.5]))],
        [ik.Reach("d", (1.0, 1.0, 0.5), chain=2, offset=[0.1, 0, 0])],
        [ik.Reach("d", (1.0, 1.0, 0.5), chain="b", offset=np.array([0.1, 0, 0], np.float32))],
        [ik.Reach("d", rotation=[0.9, 0.1, 0.2, 0])],
        [hand, ik.Posture("b", [1.0, 0.2, 0, 0], weight=0.3)],
        [ik.Look("d", [1, 0, 0], [3.0, 1, 2], offset=[0, 0.1, 0])],
        [ik.Distance("d", 2.0, other="e", other_offset=(0, 0, 0.1), other_chain=1)],
        [ik.Relative("d", "e", position=[0.5, 0.5, 0], rotation=[1.0, 0, 0.1, 0])],
        [ik.CentreOfMass([0.8, 0.5, 0]), ik.Inside("c", [0, 0.1, 0], [0, 1.0, 0], distance=0.05)],
    ]


HUNG = ik.Skeleton(
    [-1, 0, 1, 2, 0],
    np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0.1, 0], [0, 1, 0]]),
    names=list("abcde"),
    masses=[1, 1, 1, 1, 2],
    limits={"b": ik.Limit.cone([1, 0, 0], 2.0)},
)
SLIDES = {"b": ik.Limit.free(position=[[0.7, -0.3, -0.3], [1.3, 0.3, 0.3]])}
HUNG_SLIDING = ik.Skeleton(HUNG.parents, HUNG.offsets, names=HUNG.names, masses=HUNG.masses, limits=SLIDES)


@pytest.mark.parametrize("skeleton", [HUNG, HUNG_SLIDING])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("number", range(len(kinds_of_goals())))
def test_one_item_has_the_bits_of_a_batch_of_one(number: int, scaled: bool, skeleton: ik.Skeleton, dtype: Any) -> None:
    """For all goals, and for new arrays: the skeleton caches only the structure of a problem."""
    goals = kinds_of_goals()[number]
    if scaled and (skeleton is HUNG_SLIDING or any(isinstance(goal, ik.Look) for goal in goals)):
        pytest.skip("a Look, and a joint that slides, take no scales")
    rng = np.random.default_rng(number)
    for _ in range(3):
        turned = ref.unit(rng.normal([3, 0, 0, 0], 1, (5, 4))).astype(dtype)
        scales = rng.uniform(0.8, 1.2, (5, 3)).astype(dtype) if scaled else None
        moved = (skeleton.offsets + rng.normal(0, 0.05, (5, 3))).astype(dtype)
        poses_ = [
            ik.Pose(turned[at], moved[at], None if scales is None else scales[at])
            for at in (slice(None), (np.newaxis, slice(None)))
        ]
        found, expected = ik.dls(skeleton, poses_[0], goals), ik.dls(skeleton, poses_[1], AS_A_BATCH(goals))
        assert found.pose.translations is not None
        assert expected.pose.translations is not None
        assert found.pose.rotations.tobytes() == expected.pose.rotations.tobytes()
        assert found.pose.translations.tobytes() == expected.pose.translations.tobytes()
        for name in ("error", "rotation_error", "iterations", "status"):
            assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
            assert getattr(found, name).dtype == getattr(expected, name).dtype
        assert found.summary() == expected.summary()
        assert found.explain().splitlines()[1:] == expected.explain().splitlines()[1:]
        goals = [
            dataclasses.replace(goal, position=np.asarray(goal.position) + rng.normal(0, 0.2, 3))
            if getattr(goal, "position", None) is not None
            else goal
            for goal in goals
        ]
    assert len(skeleton._prepared) <= 64


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("asked", [{"history": True}, {"goal_errors": True}, {"history": True, "goal_errors": True}])
def test_one_item_has_the_history_and_the_errors_of_a_batch(
    shape: tuple[int, ...], asked: dict[str, bool], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pose = poses(1, dtype=dtype)[0]
    target = np.broadcast_to([1.0, 1, 0.5], (*shape, 3))
    bent = ik.Posture(1, ik.rotations.exp([0, 0, 0.5]), weight=0.1)
    goals = [
        bent,
        ik.Reach(3, target, [1.0, 0, 0, 1]),
        ik.Look(2, [1, 0, 0], [2, 2, 0]),
        ik.Distance(1, 2.5, position=[3, 0, 0]),
    ]
    expected = ik.dls(ARM, pose, AS_A_BATCH(goals), iterations=30, **asked)
    monkeypatch.setattr(_core, "solve", None)
    found = ik.dls(ARM, pose, goals, iterations=30, **asked)
    assert same_bits(found, expected)
    for name in ("history", "goal_errors"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) is (other is None) is not asked.get(name, False)
        if one is not None:
            assert one.dtype == dtype
            assert_array_equal(one, other)


def test_structures_that_differ_are_solved_as_such() -> None:
    """Goals differ in everything that selects a prepared solve, one after another on one skeleton: each result equals
    that of a batch."""
    arm, at = ik.Skeleton(ARM.parents, ARM.offsets), [0.5, 1.2, 0.4]
    wishes = [
        ik.Reach(3, at),
        ik.Reach(3, at, chain=1),
        ik.Reach(2, at),
        ik.Reach(3, at, offset=[0, 0.5, 0]),
        ik.Reach(3, at, offset=[0, -0.5, 0]),
        ik.Reach(3, at, [1.0, 0, 0, 0]),
        ik.Reach(3, at, pole=[0, 0, 5.0]),
    ]
    seen, batch_ = set(), ik.Pose(arm.rest.rotations[np.newaxis])
    for options in ({}, {"iterations": 1}, {"textbook": False}, {"tolerance": 1e-2}):
        for wish in wishes:
            found = ik.fabrik(arm, arm.rest, [wish], **options)
            expected = ik.fabrik(arm, batch_, AS_A_BATCH([wish]), **options)
            assert found.pose.rotations.tobytes() == expected.pose.rotations.tobytes(), (wish, options)
            seen.add(found.pose.rotations.tobytes())
    assert len(seen) > 2 * len(wishes)
    for level in range(100):  # what is kept is bounded
        ik.dls(arm, arm.rest, [ik.Reach(3, at, level=level)])
    assert len(arm._prepared) <= 64


Form = tuple[tuple[int, ...], Callable[[Any], Any]]

# Leading axes of the pose, and how the target is written.
ONES: dict[str, Form] = {
    "one pose": ((1,), np.asarray),
    "one target": ((), lambda at: np.asarray(at)[np.newaxis]),
    "a list": ((), lambda at: [list(at)]),
    "lists of an array": ((), lambda at: [[np.asarray(at)]]),
    "both": ((1,), lambda at: np.asarray(at)[np.newaxis]),
    "more to the pose": ((1, 1, 1), lambda at: [tuple(at)]),
    "more to the target": ((1,), lambda at: np.asarray(at, np.float32)[np.newaxis, np.newaxis]),
}


@pytest.mark.parametrize("form", ONES.values(), ids=ONES)
@pytest.mark.parametrize("method", METHODS)
def test_a_batch_of_one_goes_the_way_of_an_item(
    method: str, form: Form, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes, written = form
    pose = ik.Pose(*(np.broadcast_to(rows, (*axes, 4, size)).astype(dtype) for rows, size in PARTS))
    goals = [ik.Reach(3, written([0.5, 1.2, 0.4]), weight=[0.5]), ik.Reach(2, [1, 0.8, 0.2])]
    expected = ik.solve(ARM, pose, AS_A_BATCH(goals), method)
    monkeypatch.delattr(_core, "solve")
    found = ik.solve(ARM, pose, goals, method)
    assert found.pose.shape == expected.pose.shape == found.status.shape
    for name in ("rotations", "translations", "scales"):
        mine, other = getattr(found.pose, name), getattr(expected.pose, name)
        assert (mine.shape, mine.dtype, mine.tobytes()) == (other.shape, other.dtype, other.tobytes())
        assert not mine.flags.writeable
    for name in ("error", "rotation_error", "iterations", "status"):
        mine, other = getattr(found, name), getattr(expected, name)
        assert (type(mine), mine.shape, mine.dtype) == (type(other), other.shape, other.dtype)
        assert mine.tobytes() == other.tobytes()


PARTS = ((ARM.rest.rotations, 4), (ARM.offsets * 1.25, 3), (np.full((4, 3), 1.5), 3))


def test_two_items_are_no_batch_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_core, "solve")
    for pose, at in ((poses(2), [1, 1, 0]), (ARM.rest, [[1, 1, 0]] * 2), (ARM.rest, np.ones((1, 2, 3)))):
        with pytest.raises(AttributeError, match="solve"):
            ik.fabrik(ARM, pose, [ik.Reach(3, at)])


def prepared_for(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The structures prepared from now on."""
    made: list[Any] = []
    make = batch.prepare_call

    def prepared(*given: Any, **how: Any) -> Any:
        made.append(given)
        return make(*given, **how)

    monkeypatch.setattr(single_pose, "prepare_call", prepared)
    return made


def test_points_that_change_from_call_to_call_are_prepared_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets and axes come with the call, and each is solved as it is."""
    arm, made = ik.Skeleton(ARM.parents, ARM.offsets), prepared_for(monkeypatch)
    for k in range(20):
        goals = [ik.Reach(3, [1, 1, 0], offset=[0.1, 0.01 * k, 0]), ik.Look(2, (1, 0, 0.1 * k), [2, 2, 0])]
        found, expected = ik.dls(arm, arm.rest, goals), ik.dls(arm, arm.rest, AS_A_BATCH(goals))
        assert found.pose.rotations.tobytes() == expected.pose.rotations.tobytes()
    assert len(made) == 1
    for offset in (None, [0.0, 0, 0], [0.1, 0, 0]):  # no offset is the joint, and that no turn of it moves
        goals = [ik.Reach(3, [1, 1, 0], offset=offset)]
        found, expected = ik.fabrik(arm, arm.rest, goals), ik.fabrik(arm, arm.rest, AS_A_BATCH(goals))
        assert found.pose.rotations.tobytes() == expected.pose.rotations.tobytes()


@pytest.mark.parametrize(
    ("goals", "sentence"),
    [
        ([ik.Look(3, [0, 0, 0], [1, 1, 0])], r"goals\[0\].axis: expected an axis, three numbers not all 0"),
        ([ik.Look(3, [1, np.nan, 0], [1, 1, 0])], r"goals\[0\].axis: expected three finite numbers"),
        ([ik.Reach(3, [1, 1, 0], offset=[[0.1, 0, 0]])], r"goals\[0\].offset: expected three finite numbers"),
        (
            [ik.Reach(3, [1, 1, 0], offset=[0.1, 0, 0]), ik.Reach(3, [1, 1, 1], offset=(0.1, 0, 0))],
            r"goals\[0\] and goals\[1\] are for the same point of '3'",
        ),
    ],
)
def test_points_are_refused_whatever_is_prepared(goals: list[Any], sentence: str) -> None:
    arm = ik.Skeleton(ARM.parents, ARM.offsets)
    good = [
        dataclasses.replace(goal, **{name: [0.5, 0.2 * k, 0.1]})
        for k, goal in enumerate(goals)
        for name in ("axis" if isinstance(goal, ik.Look) else "offset",)
    ]
    assert ik.dls(arm, arm.rest, good).pose.joints == 4
    with pytest.raises(ValueError, match=sentence):
        ik.dls(arm, arm.rest, goals)


def test_what_is_in_use_stays_prepared_beside_what_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    arm, made = ik.Skeleton(ARM.parents, ARM.offsets), prepared_for(monkeypatch)
    for level in range(300):
        ik.dls(arm, arm.rest, [ik.Reach(3, [1, 1, 0], level=level + 1)])
        ik.dls(arm, arm.rest, [ik.Reach(3, [1, 1, 0], chain=2)])
    assert len(made) < 300 + 10
    assert len(arm._prepared) <= 64


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_stops_a_call_stops_it_while_goals_are_looked_up(error: type[BaseException]) -> None:
    class Name(str):
        __slots__ = ()
        failures = 1

        def __hash__(self) -> int:
            if Name.failures:
                Name.failures -= 1
                raise error
            return super().__hash__()

    goals = [ik.Reach(Name("3"), [1, 1, 0])]
    with pytest.raises(error):
        ik.fabrik(ARM, ARM.rest, goals)
    assert ik.fabrik(ARM, ARM.rest, goals).status == 0


@pytest.mark.parametrize("method", METHODS)
def test_one_item_takes_few_calls(method: str) -> None:
    """Calls of Python, and of C from Python: about 25, while a batch takes hundreds. Their number is what it costs."""
    calls: list[str] = []

    def solve() -> ik.Solution:
        return ik.solve(ARM, ARM.rest, [ik.Reach(3, [1, 1, 0])], method)

    solve()
    before = sys.getprofile()
    sys.setprofile(lambda _, event, what: calls.append(str(what)) if event in ("call", "c_call") else None)
    try:
        solve()
    finally:
        sys.setprofile(before)
    assert 10 < len(calls) < 40, calls


def test_an_option_of_another_type_is_not_taken_for_the_one_before() -> None:
    at = [ik.Reach(3, [1, 1, 0])]
    ik.fabrik(ARM, ARM.rest, at, iterations=1)
    for wrong in (1.0, True):
        with pytest.raises(TypeError, match="iterations: expected a whole number"):
            ik.fabrik(ARM, ARM.rest, at, iterations=wrong)  # type: ignore[arg-type]
    assert ik.fabrik(ARM, ARM.rest, at, tolerance=np.array(1e-3)).status == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arrays",
    [
        (poses(2).rotations, [1, 1, 0]),
        (poses().rotations.tolist(), [1, 1, 0]),
        (poses().rotations, targets(2)),
        (poses().rotations, np.array([1, 1, 0])),
        (poses().rotations, [np.nan, 1, 0]),
        (poses().rotations.astype(">f8"), [1, 1, 0]),
        (poses().rotations.astype(np.float16), [1, 1, 0]),
    ],
)
def test_what_is_no_simple_item_goes_the_way_of_all_others(arrays: tuple[Any, ...]) -> None:
    made = ik.Solver(ARM, [ik.Reach(3, position=...)])
    assert made._prepared is not None
    assert made._prepared(arrays[0], None, None, *arrays[1:]) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ik.fabrik(ARM, ik.Pose(arrays[0]), [ik.Reach(3, arrays[1])])
        assert made(*arrays)[0].tobytes() == expected.pose.rotations.tobytes()


def test_one_item_that_cannot_be_used_warns() -> None:
    made = ik.Solver(ARM, [ik.Reach(3, position=...)])
    with pytest.warns(ik.UnusableWarning, match="fabrik: 1 of 1 items") as caught:
        made(ARM.rest.rotations, [np.nan, 0, 0])
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(ik.UnusableError):
        ik.Solver(ARM, [ik.Reach(3, position=...)], strict=True)(ARM.rest.rotations, [np.nan, 0, 0])
    with pytest.raises(ValueError, match="pose: expected 4 joints"):
        made(np.zeros((5, 4)), [1, 1, 0])
    with pytest.raises(TypeError, match="rotations: expected an array without mask"):
        made(np.ma.masked_array(ARM.rest.rotations), [1, 1, 0])


def test_a_solver_is_checked_when_it_is_made() -> None:
    with pytest.raises(ValueError, match=r"goals\[0\].chain: expected 0 to 3, as '3' has 3 joints above it, got 9"):
        ik.Solver(ARM, [ik.Reach(3, position=..., chain=9)])
    with pytest.raises(ValueError, match="tolerance: expected 0 to 1, got 2"):
        ik.Solver(ARM, [ik.Reach(3, position=...)], tolerance=2)
    with pytest.raises(ValueError, match="workers: expected 1 to 1024, or None"):
        ik.Solver(ARM, [ik.Reach(3, position=...)], workers=0)


def test_prepared_refuses_what_does_not_fit() -> None:
    options, goal = NOT_GIVEN, place_of(3, 0, 1.0)
    for arguments in (
        ("magic", ARM._data, (goal,), options, 1, False),
        ("fabrik", ARM, (goal,), options, 1, False),
        ("fabrik", ARM._data, [goal], options, 1, False),
        ("fabrik", ARM._data, (goal[:6],), options, 1, False),
        ("fabrik", ARM._data, (place_of(3, [1, 2]),), options, 1, False),
        ("fabrik", ARM._data, (place_of(3, 1),), options, 1, False),
        ("fabrik", ARM._data, (place_of(3, -1),), options, 1, False),
        ("fabrik", ARM._data, (goal,), options[:3], 1, False),
        ("fabrik", ARM._data, (goal,), options, 1, False, False, (0, 1)),
        ("fabrik", ARM._data, (goal, goal), options, 1, False, False, (1, 0)),
        ("fabrik", ARM._data, (goal,), options, 1, False, False, ("0",)),
    ):
        with pytest.raises((TypeError, ValueError, IndexError)):
            _core.Prepared(*arguments)
    made = _core.Prepared("fabrik", ARM._data, (place_of(9, 0),), options, 1, False)
    assert made(ARM.rest.rotations, None, None, [1, 1, 0]) is None  # Python says of what it is refused


@pytest.mark.slow
def test_a_solver_runs_under_dask() -> None:
    da = pytest.importorskip("dask.array")
    made = ik.Solver(ARM, [ik.Reach(3, position=...)])
    pose, target = poses(40).rotations, targets(40)
    lazy = da.apply_gufunc(
        made,
        made.signature,
        da.from_array(pose, chunks=(10, -1, -1)),
        da.from_array(target, chunks=(10, -1)),
        output_dtypes=(float, float, np.int32),
    )
    for found, expected in zip(lazy, made(pose, target), strict=True):
        assert found.compute().tobytes() == expected.tobytes()


def test_a_solver_runs_under_xarray() -> None:
    xr = pytest.importorskip("xarray")
    made = ik.Solver(ARM, [ik.Reach(3, position=...)])
    pose, target = poses(4).rotations, targets(5)
    _, error, status = xr.apply_ufunc(
        made,
        xr.DataArray(pose, dims=["take", "joint", "wxyz"]),
        xr.DataArray(target, dims=["target", "xyz"]),
        input_core_dims=[["joint", "wxyz"], ["xyz"]],
        output_core_dims=[["joint", "wxyz"], [], []],
    )
    assert status.dims == ("take", "target")
    assert error.values.tobytes() == made(pose[:, None], target)[1].tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_a_goal_that_nothing_moves_is_judged_where_it_is(method: str) -> None:
    """Its joint is no part of what the method works on, near the origin and scaled."""
    tree = ik.Skeleton([-1, 0, 1, 2, 0], [[5, 5, 5], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 3, 0]])
    hand, still = ik.Reach(3, [6, 6.5, 5], chain=2), [5.0, 8, 5.5]
    found = ik.solve(tree, tree.rest, [hand, ik.Reach(4, still, chain=0)], method)
    assert_allclose(found.error, 0.5, rtol=1e-12)
    reached = ik.solve(tree, tree.rest, [hand, ik.Reach(4, [5, 8, 5], chain=0)], method)
    assert reached.status == 0
    assert reached.error < 1e-4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", METHODS)
def test_a_locked_joint_comes_to_rest(method: str, dtype: Any) -> None:
    """Wherever it was, on the side it came from; one that no chain has keeps its bits; a NaN is no rest."""
    rest = ref.unit(np.array([[1.0, 0, 0, 0], [1, 0.5, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    chain = ik.Skeleton([-1, 0, 1, 2], ARM.offsets, rest, limits={0: ik.Limit.locked(), 1: ik.Limit.locked()})
    start = poses(20, dtype=dtype).rotations.copy()
    start[10:] *= -1
    start[3, 1, 2] = np.nan
    world = chain.forward(ik.Pose(np.where(np.arange(4)[:, None] == 1, rest, start).astype(dtype)))
    target = world.positions[:, 3] + np.array([0, 0.1, 0.1], dtype)
    with pytest.warns(ik.UnusableWarning):
        found = ik.solve(chain, ik.Pose(start), [ik.Reach(3, target, chain="1")], method)
    usable = np.arange(20) != 3
    assert_array_equal(found.status == ik.Status.NOT_FINITE, ~usable)
    assert_array_equal(found.pose.rotations[:, 0], start[:, 0])
    assert_array_equal(found.pose.rotations[~usable], start[~usable])
    assert_allclose(np.abs(found.pose.rotations[usable, 1] @ rest[1]), 1, atol=4 * np.finfo(dtype).eps)
    assert np.all(np.sum(found.pose.rotations[usable, 1] * start[usable, 1], axis=-1) >= 0)
    at = chain.forward(found.pose).positions[usable, 3]
    assert_allclose(np.linalg.norm(at - target[usable], axis=-1), found.error[usable], atol=1e-5)


def test_explain_takes_an_integer_of_numpy() -> None:
    found = ik.fabrik(ARM, ARM.rest, [ik.Reach(3, targets(3))])
    item: Any = np.int64(1)
    assert found.explain(item) == found.explain(1)


@pytest.mark.parametrize("method", METHODS)
def test_a_place_for_the_root_stops_nothing_else(method: str) -> None:
    """No chain leads to a root: what it cannot do is said, everything else is solved."""
    goals = [ik.Reach(3, targets(50)), ik.Reach(0, [0.0, 0, 0.25], chain=0)]
    found = ik.solve(ARM, ARM.rest, goals, method)
    assert_allclose(found.error, 0.25, rtol=1e-6)
    assert np.all(found.status & ik.Status.TOO_FAR)
    assert np.count_nonzero(np.linalg.norm(tips(found) - targets(50), axis=-1) < 1e-3) >= 45
    turned = ik.rotations.from_axis_angle([0, 0, 1], 1.0)
    both = ik.solve(ARM, ARM.rest, [ik.Reach(0, [0.0, 0, 0], turned)], method)
    assert both.status == 0
    assert_allclose(both.pose.rotations[0], turned, atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_limit_hides_no_nan(method: str, scaled: bool) -> None:
    """A hinge makes a rotation of anything; what came in is still no pose."""
    hinge = ik.Limit.hinge([0.3, -0.6, 0.2], -4.8, -2.4)
    pair = ik.Skeleton([-1, 0], [[0, 0, 0], [1, 0, 0]], limits={1: hinge})
    turns = np.tile([1.0, 0, 0, 0], (2, 2, 1))
    turns[1, 1, 1] = np.nan
    start = ik.Pose(turns, scales=np.full((2, 2, 3), 1.5) if scaled else None)
    with pytest.warns(ik.UnusableWarning):
        found = ik.solve(pair, start, [ik.Reach(1, [0.0, 1, 1], offset=[1, 0.7, 0.4])], method)
    assert_array_equal(found.status == ik.Status.NOT_FINITE, [False, True])
    assert_array_equal(found.pose.rotations[1], turns[1])


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([], [ik.Reach(3, ...)]), {}, "skeleton: expected a Skeleton, got list"),
        ((ARM, ik.Reach(3, ...)), {}, "goals: expected a list of goals, got Reach"),
        ((ARM, [3]), {}, r"goals\[0\]: expected a Reach or another goal, got int"),
        ((ARM, [ik.Reach(7, ...)]), {}, "expected a joint, 0 to 3, got 7"),
        ((ARM, [ik.Reach(3, ..., chain=9)]), {}, r"goals\[0\].chain: expected 0 to 3"),
        ((ARM, [ik.Reach(3, [1, 2], ...)]), {}, r"goals\[0\].position: expected an array of shape"),
        ((ARM, [ik.Reach(3, ...)]), {"tolerance": "x"}, "tolerance: expected a number, got 'x'"),
    ],
)
def test_a_solver_that_could_not_solve_is_not_made(arguments: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        ik.Solver(*arguments, **options)
