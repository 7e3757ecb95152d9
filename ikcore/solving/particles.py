"""Sequential Monte Carlo inverse kinematics: many poses with noise, weighted by their errors and resampled.

N. Courty and E. Arnaud, "Inverse kinematics using sequential Monte Carlo methods", Articulated Motion and Deformable
Objects (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore.goals import Goal
from ikcore.limits.sampling import uniform
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.coordinates import Coordinates
from ikcore.solving.custom_methods import custom_method
from ikcore.solving.registry import Option
from ikcore.solving.tasks import Moving, may_of
from ikcore.solving.validate import tasks_of

Array = NDArray[Any]

_OPTIONS = (
    Option("iterations", 60, 0, 1_000_000, "number of iterations"),
    Option("count", 500, 2, 1_000_000, "number of particles per item"),
    Option("seed", 0, 0, 2**31 - 1, "seed of the noise"),
)
# First and last iteration; the values in between are a geometric sequence.
_SPREAD = (0.15, 0.005)  # standard deviation of the noise, as a share of a coordinate's range
_SIGMA = (0.3, 0.0075)  # error scale of the weights, as a share of the longest reach


@custom_method(takes=["Reach position", "limit", "sliding joint", "second end"], options=_OPTIONS)
def particles(
    skeleton: Skeleton,
    pose: Pose,
    goals: Sequence[Goal],
    *,
    iterations: int = 60,
    count: int = 500,
    seed: int = 0,
    tolerance: float = 1e-5,
    moving: Moving = None,
) -> tuple[Pose, Any]:
    """Search with particles and return the best pose, usually as a start for another method.

    Every particle is a pose within limits. In each iteration noise turns all joints of all particles. If few of them
    count, they are resampled by their errors. It needs no Jacobian and leaves local minima, but ends with an error of
    about a hundredth of the reach. The noise of an item is the same in any batch. Weights do not count.

    Examples
    --------
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    >>> start = ik.solvers.particles(arm, arm.rest, [ik.Reach(3, [1, 1, 1])])
    >>> bool(start.error < 0.1)
    True
    >>> print(ik.dls(arm, start.pose, [ik.Reach(3, [1, 1, 1])]).iterations)
    2
    """
    tasks = tasks_of(skeleton, goals, pose.dtype, may_of(skeleton, moving))
    found = []
    for item in range(len(pose)):
        own = Coordinates(skeleton, [task.map(lambda array, row, item=item: array[item]) for task in tasks])
        found.append(_search(own, pose[item], iterations, count, seed, tolerance))
    poses, counts = [one for one, _ in found], [made for _, made in found]
    moved = None if poses[0].translations is None else np.stack([one.translations for one in poses])
    return pose.with_rotations(np.stack([one.rotations for one in poses]), moved), np.array(counts)


def _search(coordinates: Coordinates, pose: Pose, iterations: int, count: int, seed: int, tolerance: float) -> Any:
    """The best pose of one item, and the number of iterations."""
    reaches, ranges = coordinates.reaches(), coordinates.high - coordinates.low
    ranges = np.where(np.isfinite(ranges), ranges, np.pi)
    unit = float(reaches.max())
    best, least = pose, _squares(coordinates, pose)
    swarm = _repeat(pose, count)
    weights = np.full(count, 1 / count)
    for iteration in range(iterations):
        if least <= (tolerance * float(reaches.min())) ** 2:
            return best, iteration
        late = iteration / max(iterations - 1, 1)
        spread, sigma = (first ** (1 - late) * last**late for first, last in (_SPREAD, _SIGMA))
        noise = _noise(count, len(coordinates), seed * _STREAMS + iteration)
        swarm = coordinates.with_values(swarm, coordinates.values(swarm) + spread * ranges * noise)
        squares = _squares(coordinates, swarm)
        nearest = int(squares.argmin())
        if squares[nearest] < least:
            best, least = swarm[nearest], squares[nearest]
        weights = weights * _likelihood((squares - squares[nearest]) / (2 * (sigma * unit) ** 2))
        weights = weights / weights.sum()
        if 1 / (weights**2).sum() < count / 2:
            swarm, weights = swarm[_resample(weights)], np.full(count, 1 / count)
    return best, iterations


_STREAMS = 2**16  # noise seeds between two searches


def _repeat(pose: Pose, count: int) -> Pose:
    moved = pose.translations
    turned = np.broadcast_to(pose.rotations, (count, *pose.rotations.shape))
    return Pose(turned, None if moved is None else np.broadcast_to(moved, (count, *moved.shape)), pose.scales)


def _squares(coordinates: Coordinates, pose: Pose) -> Any:
    """The sum of squared errors of all tasks, for poses."""
    return (coordinates.errors(pose) ** 2).sum(axis=(-2, -1))


def _noise(count: int, coordinates: int, seed: int) -> Array:
    """Approximately normal numbers of variance 1, (count, coordinates): each the sum of three uniform ones."""
    return np.asarray(2 * (uniform(count * coordinates, seed).sum(axis=0) - 1.5)).reshape(count, coordinates)


def _likelihood(x: Array) -> Array:
    """(1 + x / 1024)^-1024, approximately exp(-x): products only, so that the bits are the same everywhere."""
    power = 1 / (1 + x / 1024)
    for _ in range(10):
        power = power * power
    return np.asarray(power)


def _resample(weights: Array) -> Array:
    """Systematic resampling: indices of particles, each as often as its weight says."""
    ends = np.cumsum(weights)
    return np.searchsorted(ends / ends[-1], (np.arange(len(weights)) + 0.5) / len(weights))
