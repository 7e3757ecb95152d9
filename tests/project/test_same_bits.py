"""The same input gives the same bytes: on every instruction set, batch size and thread, in every host mode."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import records
from conftest import instruction_sets
from numpy.typing import NDArray

import ikcore as ik
from ikcore import _core

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000]
FIELDS = ("root", "mid", "positions", "status", "error", "flip", "stretch")

Inputs = list[NDArray[Any]]


@pytest.fixture(autouse=True)
def _restore_isa() -> Iterator[None]:
    before = _core.isa()
    yield
    _core.use_isa(before)


def solve(inputs: Inputs) -> ik.closed_forms.LimbSolution:
    """Solve root, mid, end, target [, pole, bend]; nothing may raise a floating-point error."""
    options: Any = dict(zip(("pole", "bend"), inputs[4:], strict=False))
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.UnusableWarning)
        return ik.two_bone(*inputs[:4], **options)


def raw(limb: ik.closed_forms.LimbSolution) -> list[bytes]:
    return [getattr(limb, field).tobytes() for field in FIELDS]


def ordinary(dtype: Any, count: int, seed: int = 1) -> Inputs:
    return list(np.random.default_rng(seed).standard_normal((6, count, 3)).astype(dtype))


def nasty(dtype: Any, count: int) -> Inputs:
    """Half the numbers ordinary, half denormal, huge, signed zero, Inf, or NaN with a sign and a payload."""
    info = np.finfo(dtype)
    values = [0, -0.0, info.smallest_subnormal, -info.tiny, info.tiny / 4, info.eps, info.max, -info.max, info.max / 2]
    values += [np.sqrt(info.max), np.sqrt(info.tiny), np.inf, -np.inf]
    bits = {np.float32: (np.uint32, 0x7FC12345, 0xFFC00001), np.float64: (np.uint64, 0x7FF8DEAD00000001, 0xFFF8 << 48)}
    integer, *nans = bits[dtype]
    pool = np.concatenate([np.array(values, dtype), np.array(nans, integer).view(dtype)])
    random = np.random.default_rng(2)
    # rare enough that most limbs have one or two of them
    chosen = random.choice(pool, (6, count, 3))
    return list(
        np.where(random.random((6, count, 3)) < 0.1, chosen, random.standard_normal((6, count, 3)).astype(dtype))
    )


def degenerate(dtype: Any, count: int) -> Inputs:
    """Coordinates -1, 0, 1: straight, folded, zero-length and repeated joints, poles on the line."""
    return list(np.random.default_rng(3).integers(-1, 2, (6, count, 3)).astype(dtype))


def grid(dtype: Any, count: int = 4096) -> Inputs:
    """Eighths of small integers from an integer recurrence: the same numbers wherever it runs. A third is coarse."""
    state, numbers = 1, []
    for i in range(18 * count):
        state = (state * 1103515245 + 12345) % 2**31
        steps = 3 if (i // 18) % 3 == 0 else 65
        numbers.append((state >> 8) % steps - steps // 2)
    rows = (np.array(numbers, dtype) / dtype(8)).reshape(count, 6, 3)
    return [np.ascontiguousarray(rows[:, k]) for k in range(6)]


@pytest.mark.parametrize("given", [4, 5, 6], ids=["plain", "pole", "pole and bend"])
@pytest.mark.parametrize("make", [ordinary, nasty, degenerate])
def test_every_instruction_set_gives_the_same_bytes(make: Any, given: int, dtype: Any) -> None:
    for count in SIZES:
        inputs = make(dtype, count)[:given]
        bytes_of = {isa: raw(solve(inputs)) for isa in instruction_sets() if _core.use_isa(isa)}
        assert len(set(map(tuple, bytes_of.values()))) == 1, (count, sorted(bytes_of))


@pytest.mark.parametrize("make", [ordinary, nasty, degenerate])
def test_a_result_does_not_depend_on_its_place_in_the_batch(make: Any, dtype: Any, isa: str) -> None:
    inputs = make(dtype, 200)
    whole = solve(inputs)
    for start, stop in [(1, 200), (0, 199), (7, 23), (50, 51), (100, 164), (33, 66)]:
        part = solve([array[start:stop] for array in inputs])
        assert raw(part) == [getattr(whole, field)[start:stop].tobytes() for field in FIELDS]


@pytest.mark.parametrize("make", [ordinary, nasty])
def test_threads_give_the_same_bytes(make: Any, dtype: Any) -> None:
    inputs = make(dtype, 140_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.UnusableWarning)
        shared = ik.two_bone(*inputs[:4], pole=inputs[4], bend=inputs[5], workers=4)
    assert raw(shared) == raw(solve(inputs))


def test_every_nan_is_the_one_canonical_nan(dtype: Any, isa: str) -> None:
    limb = solve(nasty(dtype, 1000))
    canonical: Any = {np.float32: np.uint32(0x7FC00000), np.float64: np.uint64(0x7FF8 << 48)}[dtype]
    for numbers in (limb.root, limb.mid, limb.positions, limb.error):
        nans = numbers[np.isnan(numbers)].view(canonical.dtype)
        assert np.all(nans == canonical)
    assert np.isnan(limb.positions).any()
    assert np.isnan(limb.error).any()


def test_the_nasty_batch_has_usable_items_too(dtype: Any, isa: str) -> None:
    status = solve(nasty(dtype, 1000)).status
    usable = np.count_nonzero(status < _core.UNUSABLE)
    assert 100 < usable < 900


@pytest.mark.parametrize("given", [4, 5, 6], ids=["plain", "pole", "pole and bend"])
def test_finite_input_never_gives_nan(given: int, dtype: Any, isa: str) -> None:
    inputs = [np.where(np.isfinite(array), array, dtype(1)) for array in nasty(dtype, 5000)[:given]]
    limb = solve(inputs)
    usable = limb.status < _core.UNUSABLE
    assert np.isfinite(limb.root).all()
    assert np.isfinite(limb.mid).all()
    assert np.isfinite(limb.positions).all()
    assert np.isfinite(limb.error[usable]).all()


def number_of(dtype: Any) -> str:
    return "f32" if dtype is np.float32 else "f64"


# Records change only with the contract of a solver, never to suit a platform.


@pytest.mark.records
def test_the_recorded_bytes(dtype: Any, isa: str) -> None:
    """Every platform, compiler and instruction set comes to the sha256 on record."""
    digest = hashlib.sha256()
    inputs = grid(dtype)
    for given in (4, 5, 6):
        limb = solve(inputs[:given])
        for field in FIELDS:
            numbers = getattr(limb, field)
            digest.update(numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes())
    number = number_of(dtype)
    records.compare(f"test_same_bits two_bone {number}", {f"two_bone {number}": digest.hexdigest()})


@pytest.mark.records
def test_the_recorded_bytes_of_look(dtype: Any, isa: str) -> None:
    """Chains of three joints, free and upright, in a hard cone and in a soft one."""
    digest = hashlib.sha256()
    first, second, third, target, pole, numbers = grid(dtype)
    chain: dict[str, Any] = {"joints": np.stack([first, second, third], axis=1), "target": target, "forward": pole}
    chain |= {"rotation": np.concatenate([numbers, pole[:, :1]], axis=1), "weights": numbers, "offset": pole / dtype(8)}
    upright = {"up": numbers, "pole": pole}
    cone: dict[str, Any] = {"reference": first, "clamp": 0.5}
    options: list[dict[str, Any]] = [{}, upright, cone, cone | upright | {"clamp_start": 0.75}]
    for more in options:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ik.UnusableWarning)
            found = ik.look_at(**chain, **more)
        for made in (found.deltas, found.positions, found.status, found.error):
            digest.update(made.astype(made.dtype.newbyteorder("<"), copy=False).tobytes())
    number = number_of(dtype)
    records.compare(f"test_same_bits look {number}", {f"look {number}": digest.hexdigest()})


@pytest.mark.records
def test_recorded_bytes_of_the_methods(isa: str, dtype: Any) -> None:
    """Poses of an arm with limits and of a rope, from numbers that every system computes alike."""
    limits = ik.limits.human_arm("left")
    offsets = [[0, 1.25, 0], [0.1875, 0.125, 0], [0.25, 0, 0], [0.125, 0, 0], [0.125, 0, 0]]
    arm = ik.Skeleton([-1, 0, 1, 2, 3], offsets, names=["chest", *limits], limits=limits)
    rope = ik.Skeleton([-1, *range(9)], [[0, 0, 0]] + [[0.25, 0, 0]] * 9)
    numbers = (np.arange(201)[:, None] * [37, 59, 83] % 256 / 256 - 0.5).astype(dtype)
    found, number = {}, number_of(dtype)
    for name, method in (("fabrik", ik.fabrik), ("dls", ik.dls)):
        for case, skeleton, at in (("arm", arm, [0.25, 1.25, 0.25]), ("rope", rope, [1, 0, 0])):
            rest = np.broadcast_to(skeleton.rest.rotations.astype(dtype), (201, *skeleton.rest.rotations.shape))
            goal = ik.Reach(len(skeleton.parents) - 1, numbers + np.array(at, dtype))
            solved = method(skeleton, ik.Pose(rest), [goal])
            digest = hashlib.sha256(solved.pose.rotations.tobytes())
            for made in (solved.status, solved.error, solved.iterations):
                digest.update(made.astype(made.dtype.newbyteorder("<"), copy=False).tobytes())
            found[f"{name}_{case} {number}"] = digest.hexdigest()[:16]
    records.compare(f"test_same_bits methods {number}", found)


# --- a host that changed the floating-point mode ---------------------------------------------------------------------

DEFAULT = 0x1F80
CONTROL_BITS = 0xFFC0
FLUSH_TO_ZERO, DENORMALS_ARE_ZERO = 0x8000, 0x0040
DOWN, UP, TO_ZERO = 0x2000, 0x4000, 0x6000
MODES = {
    "flush to zero": DEFAULT | FLUSH_TO_ZERO,
    "denormals are zero": DEFAULT | DENORMALS_ARE_ZERO,
    "round down": DEFAULT | DOWN,
    "round up": DEFAULT | UP,
    "all of them": DEFAULT | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO | TO_ZERO,
}


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    library = os.environ.get("IKCORE_CONTROL")  # where there is no compiler
    if not library:
        compiler = shutil.which("cc")
        if platform.machine() not in ("x86_64", "AMD64") or compiler is None:
            pytest.skip("needs x86-64 and a C compiler")
        library = str(tmp_path_factory.mktemp("control") / "control.so")
        source = Path(__file__).parents[1] / "c" / "control.c"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", library], check=True)
    functions = ctypes.CDLL(library)
    functions.get.restype = ctypes.c_uint
    functions.set.argtypes = [ctypes.c_uint]
    before = functions.get()
    yield functions
    functions.set(before)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("make", [ordinary, nasty, degenerate])
def test_a_host_mode_changes_no_bit_and_is_restored(control: Any, mode: int, make: Any, dtype: Any, isa: str) -> None:
    inputs = make(dtype, 333)
    expected = raw(solve(inputs))
    control.set(mode)
    try:
        limb = solve(inputs)
        after = control.get()
    finally:
        control.set(DEFAULT)
    assert after & CONTROL_BITS == mode & CONTROL_BITS
    assert raw(limb) == expected


def test_the_host_mode_matters_to_arithmetic(control: Any) -> None:
    """The mode above is really on: NumPy's own product of two small numbers becomes zero."""
    small = np.full(8, 1e-160)
    control.set(DEFAULT | FLUSH_TO_ZERO)
    try:
        product = small * small
    finally:
        control.set(DEFAULT)
    assert not product.any()
    assert (small * small).all()


def test_no_exception_flag_leaks(control: Any, dtype: Any, isa: str) -> None:
    inputs = nasty(dtype, 333)
    control.set(DEFAULT)
    with np.errstate(all="raise"):
        solve(inputs)
    assert control.get() & 0x3F & ~0x20 == 0  # all but inexact, which NumPy does not watch
