"""Checks that every solved limb must pass, and random limbs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from reference import forward, norm, unit

import ikcore as ik
from ikcore import _core

FAR, NEAR = ik.Status.TOO_FAR, ik.Status.TOO_NEAR
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}
COUNT = 1000

Pose = tuple[Any, Any, Any]
Inputs = dict[str, Any]  # arrays by the name of the argument


def solve(*args: ArrayLike, **options: Any) -> ik.closed_forms.LimbSolution:
    """Solve and let no floating-point error pass."""
    with np.errstate(all="raise"):
        return ik.two_bone(*args, **options)


def solve_quietly(*args: ArrayLike, **options: Any) -> ik.closed_forms.LimbSolution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.UnusableWarning)
        return solve(*args, **options)


def check(
    limb: ik.closed_forms.LimbSolution, root: ArrayLike, mid: ArrayLike, end: ArrayLike, target: ArrayLike
) -> None:
    """The forward check: the deltas alone rebuild what the limb says, and the status is the truth about it."""
    number = limb.error.dtype.type
    epsilon, tolerance = np.finfo(number).eps, TOLERANCE[number]
    root, mid, end, target = (np.asarray(p, number).astype(np.float64) for p in (root, mid, end, target))
    upper, lower, distance = norm(mid - root), norm(end - mid), norm(target - root)
    reach = upper + lower
    around = np.maximum(reach, np.max(np.abs(root), axis=-1))

    def every(ok: Any, what: str) -> None:
        wrong = np.argwhere(~np.broadcast_to(ok, limb.status.shape))
        if len(wrong):
            item = [np.broadcast_to(p, (*limb.status.shape, 3))[tuple(wrong[0])] for p in (root, mid, end, target)]
            pytest.fail(f"{what}: {len(wrong)} of {limb.status.size} items, first {wrong[0]}: {item}")

    for name in ("root", "mid", "positions", "error"):
        assert np.isfinite(getattr(limb, name)).all(), name
    for delta in (limb.root, limb.mid):
        every(np.abs(norm(delta.astype(np.float64)) - 1) <= 8 * epsilon, "a delta is no rotation")
        every(delta[..., 0] >= 0, "a delta has w < 0")

    rebuilt = forward(limb, np.zeros(3), mid - root, end - root)
    every((limb.positions[..., 0, :] == root).all(axis=-1), "the root moved")
    for k, joint in ((1, "mid"), (2, "end")):
        off = norm(limb.positions[..., k, :] - root - rebuilt[..., k, :])
        every(off <= 16 * epsilon * around, f"{joint} is not where the deltas put it")

    missed = norm(rebuilt[..., 2, :] - (target - root))
    least = np.maximum(0, np.maximum(distance - reach, np.abs(upper - lower) - distance))
    rounding = 32 * epsilon * np.maximum(reach, distance)
    every(np.abs(limb.error - missed) <= rounding, "the error is not the distance left")
    every(np.abs(missed - least) <= rounding, "the end could be nearer to the target")

    far, close = (limb.status & FAR) != 0, (limb.status & NEAR) != 0
    every(limb.status < _core.UNUSABLE, "unusable")
    every((limb.status != 0) | (limb.error <= tolerance * reach * (1 + 1e-6)), "status 0 beyond the tolerance")
    every(far | close | (limb.error <= tolerance * reach * (1 + 1e-6)), "a miss that is not told")
    every(~(far | close) | (limb.error >= tolerance * reach * (1 - 1e-6)), "a miss that is none")
    every(~far | (distance > reach), "not too far")
    every(~close | (distance < np.abs(upper - lower)), "not too near")


def checked(
    root: ArrayLike, mid: ArrayLike, end: ArrayLike, target: ArrayLike, **options: Any
) -> ik.closed_forms.LimbSolution:
    limb = solve(root, mid, end, target, **options)
    check(limb, root, mid, end, target)
    return limb


def posed(dtype: Any, root: ArrayLike, mid: ArrayLike, end: ArrayLike) -> Pose:
    return np.asarray(root, dtype), np.asarray(mid, dtype), np.asarray(end, dtype)


def directions(random: np.random.Generator, count: int = COUNT) -> NDArray[Any]:
    return unit(random.standard_normal((count, 3)))


def limbs(dtype: Any, seed: int = 1, count: int = COUNT, *, reachable: bool = False) -> Inputs:
    """Random limbs and targets, pole and bend; `reachable`: well inside, and well conditioned."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((count, 3))
    upper, lower = random.uniform(0.5, 1.5, (2, count, 1))
    first = directions(random, count)
    second = unit(first + 0.9 * directions(random, count))
    line, inner, outer = directions(random, count), np.abs(upper - lower), upper + lower
    share = random.uniform(0.1, 0.9, (count, 1)) if reachable else random.uniform(-0.2, 1.2, (count, 1))
    distance = np.maximum(inner + share * (outer - inner), 0.05)
    across = unit(np.cross(line, directions(random, count)))
    return {
        "root": root.astype(dtype),
        "mid": (root + upper * first).astype(dtype),
        "end": (root + upper * first + lower * second).astype(dtype),
        "target": (root + distance * line).astype(dtype),
        "pole": (root + line * random.uniform(-1, 1, (count, 1)) + across).astype(dtype),
        "bend": (np.cross(across, line) + line * random.uniform(-1, 1, (count, 1))).astype(dtype),
    }


def limbs_at_origin(dtype: Any, seed: int) -> tuple[Inputs, np.random.Generator]:
    """Random limbs, their roots put at the origin, and a generator for other changes."""
    inputs = limbs(dtype, seed)
    return inputs | {"root": np.zeros_like(inputs["root"])}, np.random.default_rng(seed + 1)
