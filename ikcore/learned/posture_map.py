"""A few poses that stand for many: a self-organising map, as in inductive inverse kinematics.

T. Kohonen, "Self-organized formation of topologically correct feature maps", Biological Cybernetics 43 (1982), on
stacked quaternions; nodes that are far from all poses are left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import as_text, whole_number
from ikcore.learned.keys import check_known
from ikcore.limits.sampling import uniform
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton

Array = NDArray[Any]


def posture_map(skeleton: Skeleton, poses: Pose, side: int = 6, *, steps: int = 5000, seed: int = 0) -> Pose:
    """Poses on a grid fitted to known poses, for `Postures`: fewer, smoother, and within limits.

    In each step the node nearest to a pose moves towards it, and its neighbours too, by decreasing amounts. All nodes
    are then moved into the limits. A node is left out if it won no pose in the last quarter of the steps, or if limits
    moved it by more than 5 degrees. It is also left out if it is three times as far from the poses it won as the median
    node.

    Parameters
    ----------
    skeleton : Skeleton
    poses : Pose
        The poses, one or more.
    side : int, optional
        Number of nodes along each of the three sides of the grid.
    steps : int, optional
        Number of steps; each draws one pose.
    seed : int, optional
        Seed of the drawing.

    Returns
    -------
    Pose
        The remaining nodes, one or more, at most ``side ** 3``; without translations.

    Examples
    --------
    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    >>> seen = ik.Pose(ik.rotations.exp(0.5 * np.random.default_rng(0).normal(size=(500, 3, 3))))
    >>> nodes = ik.learned.posture_map(arm, seen, side=3, steps=1000)
    >>> start, _ = ik.learned.Postures(arm, nodes, [ik.Reach(2, position=...)]).nearest(arm.rest, [1, 1, 0])
    """
    check_known(skeleton, poses)
    side, steps = _positive("side", side), _positive("steps", steps)
    seen = rotations.normalize(poses.rotations.reshape(-1, len(skeleton), 4).astype(float))
    drawn = (uniform(-(-(side**3 + steps) // 3), seed).reshape(-1) * len(seen)).astype(int)
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    nodes, late_wins = seen[drawn[: side**3]].copy(), []
    for step, one in enumerate(seen[drawn[side**3 : side**3 + steps]]):
        share = step / steps
        alike = (nodes * one).sum(axis=-1)
        best = int(np.abs(alike).sum(axis=-1).argmax())
        late_wins += [(best, one)] * (share >= _LATE)
        rate, width = (first ** (1 - share) * last**share for first, last in (_RATE, _width(side)))
        pull = rate * np.exp(-((grid - grid[best]) ** 2).sum(axis=-1) / (2 * width**2))
        nodes += pull[:, np.newaxis, np.newaxis] * (np.where(alike < 0, -1, 1)[..., np.newaxis] * one - nodes)
        nodes = rotations.normalize(nodes)
    legal = _within_limits(skeleton, nodes)
    valid = _won(nodes, late_wins) & (_angles_between(nodes, legal).max(axis=-1) <= _MOVED)
    return Pose(legal[valid] if valid.any() else legal[[late_wins[-1][0]]])


_LATE = 0.75  # share of the steps after which nodes have to win a pose
_RATE = (0.5, 0.02)  # share by which the nearest node moves towards a pose, in the first and the last step
_FAR = 3.0  # medians
_MOVED = math.radians(5)


def _width(side: int) -> tuple[float, float]:
    """Radius of the neighbourhood in nodes, from the first step to the last."""
    return 0.4 * side, 0.4


def _won(nodes: Array, wins: list[tuple[int, Array]]) -> NDArray[np.bool_]:
    """Nodes that are near the poses they won, if there are any."""
    off, count = np.zeros(len(nodes)), np.zeros(len(nodes))
    for node, one in wins:
        off[node] += _angles_between(nodes[node], one).mean()
        count[node] += 1
    mean = off / np.maximum(count, 1)
    return np.asarray((count > 0) & (mean <= _FAR * np.median(mean[count > 0])))


def _angles_between(one: Array, other: Array) -> Array:
    """Angles between rotations."""
    return np.asarray(rotations.to_axis_angle(rotations.multiply(rotations.conjugate(one), other))[1])


def _within_limits(skeleton: Skeleton, turned: Array) -> Array:
    rest, legal = skeleton.rest.rotations, turned.copy()
    for joint, limit in enumerate(skeleton.limits):
        if limit is not None:
            off = rotations.multiply(rotations.conjugate(rest[joint]), turned[:, joint])
            legal[:, joint] = rotations.multiply(rest[joint], limit.project(off))
    return legal


def _positive(name: str, value: int) -> int:
    if (number := whole_number(value)) < 1:
        raise ValueError(f"{name}: expected 1 or more, got {as_text(value)}")
    return number
