"""The rigid bodies of `full_body`, slow and obvious: the independent truth of its sweeps.

A body a joint, in NumPy, all items at once. A body turns about its centre, the mean of the points by which it hangs on
others: its own joint, those of its children, the points that goals are about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import reference as ref
from numpy.typing import NDArray

Array = NDArray[Any]


def conjugate(q: Array) -> Array:
    return q * [1, -1, -1, -1]


def turned(q: Array, by: Array) -> Array:
    """The rotation after a small turn, to first order."""
    q = ref.multiply(np.concatenate([np.ones_like(by[..., :1]), by / 2], axis=-1), q)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def vector_of(q: Array) -> Array:
    """The rotation vector, of half a turn or less."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    return q[..., 1:] * np.where(sine > 1e-9, 2 * np.arctan2(sine, q[..., :1]) / np.maximum(sine, 1e-12), 2.0)


@dataclass
class Bodies:
    """A tree, parents first; `boxes` are ranges of angles about z, y and x, in that order from the outside, radians.

    Goals are points fixed to joints: pairs of joint and offset.
    """

    parents: list[int]
    offsets: Array
    boxes: list[Array | None]
    goals: list[tuple[int, Array]]
    travel: Array | None = None  # of the root, lowest and highest
    inertia: float = 10.0
    relaxation: float = 1.3
    max_angle: float = np.radians(30)
    pre_pull: float = 1.0
    limited: bool = True
    willing: Array = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.parents)
        self.bodies = sorted({j for joint, _ in self.goals for j in self._up(joint)})
        points: list[list[Array]] = [[np.zeros(3)] for _ in range(count)]
        for joint in self.bodies:
            if self.parents[joint] >= 0:
                points[self.parents[joint]].append(self.offsets[joint])
        for joint, offset in self.goals:
            if np.any(offset):
                points[joint].append(offset)
        self.centres = np.array([np.mean(all_of, axis=0) for all_of in points])
        radii = np.array([max(np.linalg.norm(p - c) for p in own) for own, c in zip(points, self.centres, strict=True)])
        self.masses = 2 * np.maximum(radii, 1e-2 * radii.max())
        self.inertias = self.inertia * 0.4 * self.masses * np.maximum(radii, 1e-2 * radii.max()) ** 2

    def _up(self, joint: int) -> list[int]:
        return [] if joint < 0 else [joint, *self._up(self.parents[joint])]

    # ---- poses

    def forward(self, local: Array, root: Array) -> tuple[Array, Array]:
        places, turns = np.zeros((*local.shape[:-1], 3)), np.zeros(local.shape)
        for joint, parent in enumerate(self.parents):
            if parent < 0:
                places[:, joint], turns[:, joint] = root, local[:, joint]
            else:
                places[:, joint] = places[:, parent] + ref.rotate(turns[:, parent], self.offsets[joint])
                turns[:, joint] = ref.multiply(turns[:, parent], local[:, joint])
        return places, turns

    def ends(self, local: Array, root: Array) -> Array:
        places, turns = self.forward(local, root)
        return np.stack([places[:, j] + ref.rotate(turns[:, j], offset) for j, offset in self.goals], axis=1)

    # ---- the solve

    def solve(self, local: Array, root: Array, targets: Array, sweeps: int) -> tuple[Array, Array]:
        places, self.q = self.forward(local, root)
        self.x = places + ref.rotate(self.q, self.centres)
        self._pull(targets)
        for sweep in range(sweeps):
            order = self.bodies if sweep % 2 else self.bodies[::-1]
            for joint in order:
                self._pin_joint(joint)
            for (joint, offset), target in zip(self.goals, np.moveaxis(targets, 1, 0), strict=True):
                self._pin_end(joint, offset, target)
            for joint in order if self.limited else []:
                self._limit(joint)
        local, place = local.copy(), self.x[:, 0] - ref.rotate(self.q[:, 0], self.centres[0])
        for joint in self.bodies:
            parent = self.parents[joint]
            local[:, joint] = ref.multiply(conjugate(self.q[:, parent]), self.q[:, joint]) if parent >= 0 else self.q[:, 0]
            if self.limited:
                local[:, joint] = self.allowed(joint, local[:, joint])
        if self.travel is not None and self.limited:
            place = np.clip(place, *(self.offsets[0] + self.travel))
        return local, place

    def _pull(self, targets: Array) -> None:
        now = np.stack([self._point(j, offset) for j, offset in self.goals], axis=1)
        self.x += self.pre_pull * (targets - now).mean(axis=1)[:, np.newaxis]

    def _arm(self, joint: int, offset: Array) -> Array:
        return ref.rotate(self.q[:, joint], np.broadcast_to(offset - self.centres[joint], self.x[:, joint].shape))

    def _point(self, joint: int, offset: Array) -> Array:
        return self.x[:, joint] + self._arm(joint, offset)

    def _give(self, joint: int, arm: Array, way: Array) -> Array:
        turning = (np.cross(arm, way) ** 2).sum(-1) / self.inertias[joint]
        return 1 / self.masses[joint] + turning

    def _turn(self, joint: int, by: Array) -> None:
        size = np.linalg.norm(by, axis=-1, keepdims=True)
        by = by * np.minimum(1, self.max_angle / np.maximum(size, 1e-30))
        self.q[:, joint] = turned(self.q[:, joint], by)

    def _push(self, joint: int, arm: Array, impulse: Array) -> None:
        self.x[:, joint] += impulse / self.masses[joint]
        self._turn(joint, np.cross(arm, impulse) / self.inertias[joint])

    def _pin_joint(self, joint: int) -> None:
        parent = self.parents[joint]
        if parent < 0:
            return
        above, below = self._arm(parent, self.offsets[joint]), self._arm(joint, np.zeros(3))
        gap = self.x[:, joint] + below - self.x[:, parent] - above
        size = np.linalg.norm(gap, axis=-1)
        way = gap / np.maximum(size, 1e-30)[:, np.newaxis]
        willing = self._give(parent, above, way) + self._give(joint, below, way)
        impulse = (self.relaxation * size / willing)[:, np.newaxis] * way
        self._push(parent, above, impulse)
        self._push(joint, below, -impulse)

    def _pin_end(self, joint: int, offset: Array, target: Array) -> None:
        arm = self._arm(joint, offset)
        gap = target - self.x[:, joint] - arm
        size = np.linalg.norm(gap, axis=-1)
        way = gap / np.maximum(size, 1e-30)[:, np.newaxis]
        impulse = (self.relaxation * size / self._give(joint, arm, way))[:, np.newaxis] * way
        self._push(joint, arm, impulse)

    # ---- limits

    def allowed(self, joint: int, local: Array) -> Array:
        """The rotation with every angle in its range; of the two sets of angles the one nearer to its box."""
        box = self.boxes[joint]
        if box is None:
            return local
        (low, high), best, nearest = box.T, None, np.inf
        angles = euler_of(local)
        for other in (angles, np.stack([angles[:, 0] + np.pi, np.pi - angles[:, 1], angles[:, 2] + np.pi], axis=-1)):
            middle = (low + high) / 2
            near = middle + (other - middle + np.pi) % (2 * np.pi) - np.pi
            clipped = np.clip(near, low, high)
            off = ((near - clipped) ** 2).sum(-1)
            best = clipped if best is None else np.where((off < nearest)[:, np.newaxis], clipped, best)
            nearest = np.minimum(off, nearest)
        return of_euler(best)

    def _limit(self, joint: int) -> None:
        parent = self.parents[joint]
        if self.boxes[joint] is None:
            return
        above = self.q[:, parent] if parent >= 0 else np.broadcast_to([1.0, 0, 0, 0], self.q[:, joint].shape)
        local = ref.multiply(conjugate(above), self.q[:, joint])
        wanted = ref.multiply(above, self.allowed(joint, local))
        by = self.relaxation_limit() * vector_of(ref.multiply(wanted, conjugate(self.q[:, joint])))
        if parent < 0:
            self._turn(joint, by)
            return
        share = (1 / self.inertias[joint]) / (1 / self.inertias[joint] + 1 / self.inertias[parent])
        self._turn(joint, share * by)
        self._turn(parent, -(1 - share) * by)

    def relaxation_limit(self) -> float:
        return self.relaxation


def about(axis: int, angle: Array) -> Array:
    q = np.zeros((*angle.shape, 4))
    q[..., 0], q[..., 1 + axis] = np.cos(angle / 2), np.sin(angle / 2)
    return q


def of_euler(zyx: Array) -> Array:
    return ref.multiply(ref.multiply(about(2, zyx[:, 0]), about(1, zyx[:, 1])), about(0, zyx[:, 2]))


def euler_of(q: Array) -> Array:
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack(
        [
            np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
            np.arcsin(np.clip(2 * (w * y - z * x), -1, 1)),
            np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        ],
        axis=-1,
    )
