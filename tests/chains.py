"""Chains and trees to solve, and their forward kinematics in NumPy: what the tests of several methods share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import reference as ref

import ikcore as ik
from ikcore import _core
from ikcore.solving.registry import TAKEN

Array = Any
UP: Array = np.array([0.0, 1.0, 0.0])


def forward(skeleton: ik.Skeleton, rotations: Array) -> tuple[Array, Array]:
    """World positions and rotations, joint by joint."""
    local = np.asarray(rotations, float)
    positions, turned = np.zeros((*local.shape[:-1], 3)), np.zeros(local.shape)
    for joint, parent in enumerate(skeleton.parents):
        positions[..., joint, :], turned[..., joint, :] = skeleton.offsets[joint], local[..., joint, :]
        if parent >= 0:
            above = turned[..., parent, :]
            positions[..., joint, :] = positions[..., parent, :] + ref.rotate(above, skeleton.offsets[joint])
            turned[..., joint, :] = ref.multiply(above, local[..., joint, :])
    return positions, turned


def taking(*words: str) -> list[str]:
    """The iterative methods that take all of that; the others refuse it, as test_goal_kinds.py sees to."""
    wanted = {TAKEN[word.upper()] for word in words}
    return [name for name, *_ in _core.METHODS if ik.methods()[name].takes >= wanted]


def enough(method: str, share: float) -> float:
    """The share of items that a method must reach, where those reach so many that say they do."""
    return share * ik.methods()[method].reaches


def generator(seed: int) -> Iterator[float]:
    """The linear congruential generator of the published experiments."""
    while True:
        seed = (1664525 * seed + 1013904223) % 2**32
        yield seed / 2**32


def in_ball(draw: Iterator[float]) -> Array:
    """A vector in the unit ball."""
    while True:
        vector = np.array([2 * next(draw) - 1 for _ in range(3)])
        if 1e-3 <= np.linalg.norm(vector) <= 1:
            return vector


def about(axis: Array, angle: Array) -> Array:
    """The rotation about an axis."""
    half = np.asarray(angle)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * ref.unit(np.asarray(axis, float))], axis=-1)


def random_rotation(draw: Iterator[float], most: float) -> Array:
    return about(in_ball(draw), np.array(next(draw) * most))


def rope(links: int, dtype: Any = np.float64) -> tuple[ik.Skeleton, Array]:
    """Unit links upwards, each turned by -0.02 radians about z."""
    skeleton = ik.Skeleton.chain(np.arange(links + 1)[:, None] * UP)
    return skeleton, np.tile(about([0, 0, 1], np.array(-0.02)), (links + 1, 1)).astype(dtype)


def in_line(method: Any, distance: float) -> list[float]:
    """Errors of a straight chain that meets targets on its line, on both sides, where the textbook's stays straight."""
    x = np.array([1.0, 0, 0])
    skeleton = ik.Skeleton.chain(np.arange(7)[:, None] * x)
    found = [method(skeleton, skeleton.rest, [ik.Reach(6, side * distance * x)]) for side in (1, -1)]
    assert [each.status for each in found] == [0, 0]
    assert method(skeleton, skeleton.rest, [ik.Reach(6, 3.5 * x)], textbook=True).status != 0
    return [float(each.error) for each in found]


def in_shell(seed: int, near: float, far: float) -> Array:
    """200 places around a chain of reach 10, from `near` to `far` of that."""
    draw, targets = generator(seed), np.empty((200, 3))
    for target in targets:
        way = ref.unit(in_ball(draw))
        target[:] = 10 * np.cbrt(near**3 + (far**3 - near**3) * next(draw)) * way
    return targets


def planar(links: int, degrees: int) -> tuple[ik.Skeleton, Array, Array]:
    """A chain along x of hinges about z, its start, and 200 targets that it can reach."""
    most, draw, targets = np.radians(degrees), generator(10 * links + degrees), np.empty((200, 3))
    for target in targets:
        angles = np.cumsum([(2 * next(draw) - 1) * most for _ in range(links)])
        target[:] = np.cos(angles).sum(), np.sin(angles).sum(), 0
    hinges = [ik.Limit.hinge([0, 0, 1], -most, most)] * links
    offsets = np.vstack([np.zeros(3), np.tile([1.0, 0, 0], (links, 1))])
    skeleton = ik.Skeleton(np.arange(links + 1) - 1, offsets, limits=[*hinges, None])
    start = np.tile([1.0, 0, 0, 0], (links + 1, 1))
    start[:links] = about([0, 0, 1], np.array(0.02))
    return skeleton, start, targets


BENT = np.array([[0, 0, 0], [0, 1, 0], [0.6, 1.8, 0], [0.6, 2.5, 0.714142842854285]])


def limited(skeleton: ik.Skeleton, found: ik.Solution) -> float:
    """The most that a joint is outside of its limit."""
    rest, now = skeleton.rest.rotations, found.pose.rotations
    off = [
        np.max(limit.violation(ref.multiply(ref.conjugate(rest[joint]), now[..., joint, :])))
        for joint, limit in enumerate(skeleton.limits)
        if limit is not None
    ]
    return float(max(off))


KINDS = {
    "cone": ik.Limit.cone([1, 0, 0], 0.7, twist=(-0.7, 0.7)),
    "ball": ik.Limit.ball([1, 0, 0], (0.8, 0.4, 0.3, 0.8), side=[0, 1, 0], twist=(-0.8, 0.4)),
    "euler": ik.Limit.euler("xyz", (-0.8, -0.4, -0.3), (0.4, 0.8, 0.8)),
    "kusudama": ik.Limit.kusudama(
        [1, 0, 0], [([1, 0.2, 0.6], 0.3), ([1, 0, 0], 0.25), ([1, -0.6, 0.3], 0.4)], twist=(-0.7, 0.7)
    ),
    "hinge": None,
}


def chain(kind: str, links: int, seed: int = 3, items: int = 300) -> tuple[ik.Skeleton, Array, Array, Array]:
    """A limited chain along x, a start that is not quite within the limits, and poses that are, in the world."""
    rng = np.random.default_rng(seed)
    offsets = np.zeros((links + 1, 3))
    offsets[1:, 0] = rng.uniform(0.5, 1.5, links)
    hinges = [ik.Limit.hinge([[0, 0, 1], [0, 1, 0]][joint % 2], -1.2, 1.2) for joint in range(links)]
    joints = [KINDS[kind] or hinges[joint] for joint in range(links)]
    skeleton = ik.Skeleton(np.arange(links + 1) - 1, offsets, limits=[*joints, None])
    allowed = np.tile([1.0, 0, 0, 0], (items, links + 1, 1))
    for joint in range(links):
        allowed[:, joint] = joints[joint].sample(items, seed + joint)
    start = np.tile(about([0.1, 0.3, 1], np.array(0.05)), (links + 1, 1))
    return skeleton, start, *forward(skeleton, allowed)


Y = ik.Skeleton(
    [-1, 0, 1, 2, 3, 4, 5, 3, 7, 8],
    np.array([[0, 0, 0], UP, UP, UP, [-0.6, 0.8, 0], UP, UP, [0.6, 0.8, 0], UP, UP]),
)


def same_bits(one: ik.Solution, other: ik.Solution) -> bool:
    """Whether all results are the same bytes; the history, where both have one."""
    pairs = [(one.pose.rotations, other.pose.rotations), (one.error, other.error), (one.status, other.status)]
    pairs += [(one.rotation_error, other.rotation_error), (one.iterations, other.iterations)]
    if one.history is not None and other.history is not None:
        pairs.append((one.history, other.history))
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)
