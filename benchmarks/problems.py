"""Random limbs for the benchmarks, and a judge of solutions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 20261121
DISTRIBUTION = (
    "root in a cube of side 2, bones of length 0.5 to 1 in random directions (so every bend), target in a random "
    "direction at a distance uniform from the nearest the limb can fold to 1.1 of its reach, pole in a cube of side 4"
)
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}  # relative to the reach, as for ikcore's status 0


@dataclass(frozen=True)
class Problems:
    """Limbs of one number type: (N, 3) arrays."""

    root: NDArray[Any]
    mid: NDArray[Any]
    end: NDArray[Any]
    target: NDArray[Any]
    pole: NDArray[Any]

    def part(self, block: slice) -> Problems:
        """Some of them, as views."""
        return Problems(*(array[block] for array in arrays_of(self)))


def arrays_of(problems: Problems) -> tuple[NDArray[Any], ...]:
    """The arrays in the order of the solvers' arguments, not copied."""
    return problems.root, problems.mid, problems.end, problems.target, problems.pole


def random_problems(count: int, dtype: str) -> Problems:
    """`count` different limbs, always the same."""
    random = np.random.default_rng(SEED)
    root = random.uniform(-1, 1, (count, 3))
    length1, length2 = random.uniform(0.5, 1, (2, count, 1))
    mid = root + length1 * _directions(random, count)
    end = mid + length2 * _directions(random, count)
    nearest, farthest = abs(length1 - length2), length1 + length2
    distance = random.uniform(nearest, 1.1 * farthest)
    target = root + distance * _directions(random, count)
    pole = random.uniform(-2, 2, (count, 3))
    return Problems(*(array.astype(dtype) for array in (root, mid, end, target, pole)))


def _directions(random: np.random.Generator, count: int) -> NDArray[Any]:
    vectors = random.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True)
class Verdict:
    """Quality of a solver's answers."""

    solved: float  # share of the targets in reach that are met
    worst: float  # largest distance from them, relative to the reach
    rms: float


def in_reach(problems: Problems) -> NDArray[Any]:
    """Mask of the targets in reach, with a margin against rounding."""
    length1, length2, distance, _ = _lengths(problems)
    return (distance < (length1 + length2) * (1 - 1e-6)) & (distance > abs(length1 - length2) * (1 + 1e-6))


def judge(problems: Problems, root_delta: NDArray[Any], mid_delta: NDArray[Any]) -> Verdict:
    """Forward kinematics in doubles from the rotations alone, ignoring the solver's other results."""
    root, mid, end, target, _ = (array.astype(float) for array in arrays_of(problems))
    turn1, turn2 = root_delta.astype(float), mid_delta.astype(float)
    found = root + rotate(turn1, mid - root + rotate(turn2, end - mid))
    length1, length2, _, _ = _lengths(problems)
    reachable = in_reach(problems)
    error = (np.linalg.norm(found - target, axis=1) / (length1 + length2))[reachable]
    tolerance = TOLERANCE[problems.root.dtype.name]
    return Verdict(float(np.mean(error <= tolerance)), float(error.max()), float(np.sqrt(np.mean(error**2))))


def _lengths(problems: Problems) -> tuple[NDArray[Any], ...]:
    root, mid, end, target, pole = (array.astype(float) for array in arrays_of(problems))
    return tuple(np.linalg.norm(line, axis=1) for line in (mid - root, end - mid, target - root, pole - root))


def rotate(q: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """Vectors rotated by quaternions (w, x, y, z)."""
    t = 2 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * t + np.cross(q[:, 1:], t)
