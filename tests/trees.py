"""Buss and Kim's trees of hinges, whose ends go after targets that are often out of reach; and their methods in NumPy.

Two ends on seven hinges, and four on 25. Every hinge turns about an axis of the pose at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from chains import about
from numpy.typing import NDArray
from textbook import Linkage, forward, jacobian

import ikcore as ik

Array = NDArray[np.float64]

X, Y, Z, UP = (1, 0, 0), (0, 1, 0), (0, 0, 1), (14**0.5 / 8, 1 / 8, 7 / 8)
Point = tuple[float, float]  # x and y: at rest all are in a plane
Vector = tuple[float, float, float]
STEP = 0.005  # of time, from one frame to the next


class Tree:
    """As a skeleton, whose last joints are the ends, and as a linkage."""

    def __init__(
        self,
        hinges: Sequence[tuple[Point, Vector, int]],
        ends: Sequence[tuple[Point, int]],
        targets: Callable[[float], Sequence[Vector]],
    ) -> None:
        self.hinges, self.ends, self._targets = len(hinges), len(ends), targets
        self.parents = [parent for *_, parent in hinges] + [parent for _, parent in ends]
        self.axes = np.array([axis for _, axis, _ in hinges], float)
        flat = [place for place, _, _ in hinges] + [place for place, _ in ends]
        places = np.array([(x, y, 0) for x, y in flat])
        offsets = places - np.where(np.array(self.parents)[:, None] < 0, 0, places[self.parents])
        limits = [ik.Limit.hinge(axis, -2 * np.pi, 2 * np.pi) for axis in self.axes] + [None] * self.ends
        self.skeleton = ik.Skeleton(self.parents, offsets, limits=limits)
        self.bone = float(np.linalg.norm(offsets[1:], axis=1).mean())
        self.linkage = Linkage(
            self.parents[: self.hinges],
            offsets[: self.hinges],
            self.axes,
            np.zeros(self.hinges, bool),
            np.array([[-9.0] * self.hinges, [9.0] * self.hinges]),
            [(parent, offsets[self.hinges + end]) for end, (_, parent) in enumerate(ends)],
        )

    def targets(self, frame: int) -> Array:
        """Targets of the ends in a frame; the first is 1."""
        return np.array(self._targets(STEP * frame))

    def goals(self, places: Array) -> list[ik.Goal]:
        return [ik.Reach(self.hinges + end, places[..., end, :]) for end in range(self.ends)]

    def posed(self, angles: Array) -> ik.Pose:
        turns = [about(axis, angle) for axis, angle in zip(self.axes, np.moveaxis(angles, -1, 0), strict=True)]
        still = np.broadcast_to([1.0, 0, 0, 0], turns[0].shape)
        return ik.Pose(np.stack([*turns, *[still] * self.ends], axis=-2))

    def angles_of(self, pose: ik.Pose) -> Array:
        turned = pose.rotations[..., : self.hinges, :]
        return np.asarray(2 * np.arctan2(np.sum(turned[..., 1:] * self.axes, axis=-1), turned[..., 0]))

    def rows(self, angles: Array) -> tuple[Array, Array]:
        """Positions of the ends, and their derivatives by the hinges."""
        world = forward(self.linkage, angles)
        return world.ends, jacobian(self.linkage, world)[0].reshape(*angles.shape[:-1], 3 * self.ends, self.hinges)


SMALL = Tree(
    [
        *[((0, -0.5), Z, -1), ((0, 0.4), Z, 0), ((0, 0.4), Z, 0), ((0.5, 1), X, 1), ((-0.5, 1), X, 2)],
        *[((0.7, 1.3), UP, 3), ((-0.8, 1.5), UP, 4)],
    ],
    [((0.7, 2), 5), ((-0.8, 1.9), 6)],
    lambda t: [
        (2 + 1.5 * np.sin(6 * t), 1.2 + 0.2 * np.sin(7 * t), 0.3 + 0.2 * np.sin(8 * t)),
        (-0.7 + 0.4 * np.sin(4 * t), 0.8 + 0.3 * np.sin(4 * t), -0.2 + 0.2 * np.sin(3 * t)),
    ],
)

BASE, LOW, HIGH = 0.5**0.5 / 2, 0.5, 3**0.5 / 2


def right(out: float, rise: float) -> Point:
    """A place on a branch of the large tree."""
    return BASE + out * HIGH, -0.5 + BASE + out * rise


def left(out: float, rise: float) -> Point:
    x, y = right(out, rise)
    return -x, y


LARGE = Tree(
    [
        *[((0, -1.5), UP, -1), ((0, -1), X, 0), ((0, -1), Z, 1), ((0, -0.5), Z, 2), ((0, -0.5), Z, 2)],
        *[(right(0, LOW), Y, 3), (right(0, LOW), Y, 3), (right(0, LOW), X, 5)],
        *[(right(0.5, LOW), Z, 7), (right(1, LOW), X, 8), (right(1, LOW), Y, 9)],
        *[(right(0, LOW), X, 6), (right(0.5, HIGH), Z, 11), (right(1, HIGH), X, 12), (right(1, HIGH), Y, 13)],
        *[(left(0, LOW), Y, 4), (left(0, LOW), X, 15), (left(0, LOW), Y, 4)],
        *[(left(0.5, HIGH), Z, 16), (left(1, HIGH), X, 18), (left(1, HIGH), Y, 19)],
        *[(left(0, LOW), X, 17), (left(0.5, LOW), Z, 21), (left(1, LOW), X, 22), (left(1, LOW), Y, 23)],
    ],
    [(right(1.5, LOW), 10), (right(1.5, HIGH), 14), (left(1.5, HIGH), 20), (left(1.5, LOW), 24)],
    lambda t: [
        (2 + 3 * np.sin(3 * t), 0.5 + 0.4 * np.sin(7 * t), 0.3 + 1.4 * np.sin(5 * t)),
        (0.5 + 0.8 * np.sin(4 * t), 0.4 + 0.6 * np.sin(4 * t), -0.2 + 2 * np.sin(3 * t)),
        (-0.5 + 1.6 * np.sin(6 * t), 0.6 + 0.4 * np.sin(7 * t), 0.3 + np.sin(8 * t)),
        (-1.6 + 1.6 * np.sin(4 * t), 0.3 + 0.6 * np.sin(4 * t), -0.2 + 0.6 * np.sin(3 * t)),
    ],
)

# --- one update, by singular values -----------------------------------------------------------------------------------

Update = Callable[[Array, Array], Array]  # rows (3 ends, hinges) and errors (3 ends): how far hinges turn


def shortened(step: Array, most: float) -> Array:
    return np.asarray(step * min(1, most / np.abs(step).max()))


def transpose(rows: Array, error: Array) -> Array:
    pull = rows.T @ error
    moved = rows @ pull
    return shortened(error @ moved / (moved @ moved) * pull, np.pi / 6)


def pinv(truncation: float = 0.01, most: float = np.pi / 36) -> Update:
    def update(rows: Array, error: Array) -> Array:
        u, size, v = np.linalg.svd(rows, full_matrices=False)
        kept = size >= truncation * size[0]
        return shortened(v[kept].T @ ((u.T @ error)[kept] / size[kept]), most)

    return update


def dls(damping: float) -> Update:
    def update(rows: Array, error: Array) -> Array:
        normal = rows @ rows.T + damping**2 * np.eye(len(rows))
        return shortened(rows.T @ np.linalg.solve(normal, error), np.pi / 4)

    return update


def sdls(*, soft: bool, most: float = np.pi / 4) -> Update:
    def update(rows: Array, error: Array) -> Array:
        u, size, v = np.linalg.svd(rows, full_matrices=False)
        step = np.zeros(rows.shape[1])
        moves = np.linalg.norm(rows.reshape(-1, 3, len(step)), axis=1).sum(axis=0)
        for i in np.flatnonzero(size > 1e-10):
            worth = np.linalg.norm(u[:, i].reshape(-1, 3), axis=1).sum()
            may = min(1, worth * size[i] / (np.abs(v[i]) @ moves)) * most
            along = u[:, i] @ error / size[i] * v[i]
            largest = np.abs(along).max()
            step = step + along * (may / (may + largest) if soft else min(1, may / largest))
        return shortened(step, most)

    return update


@dataclass(frozen=True)
class Followed:
    """Motion in each frame: the angles before it, the turns of hinges, and the errors of the ends."""

    angles: Array
    turns: Array
    cuts: Array  # (frames, ends): how much of each error counted
    off: Array  # (frames,), of all ends


def follow(tree: Tree, update: Update, frames: int, cut: float = np.inf) -> Followed:
    """One update a frame. Errors count as far as `cut` and what they grew by in the last update; all of the first."""
    angles, cuts = np.zeros(tree.hinges), np.full(tree.ends, np.inf)
    rows: list[tuple[Array, Array, Array, float]] = []
    for frame in range(1, frames + 1):
        ends, moves = tree.rows(angles)
        error = tree.targets(frame) - ends
        size = np.linalg.norm(error, axis=-1)
        turns = update(moves, (error * np.minimum(1, cuts / size)[:, None]).ravel())
        after = np.linalg.norm(tree.targets(frame) - tree.rows(angles + turns)[0], axis=-1)
        rows.append((angles, turns, cuts, float(after.sum())))
        angles, cuts = angles + turns, cut + np.maximum(0, after - size)
    return Followed(*(np.array(column) for column in zip(*rows, strict=True)))
