"""The rigid bodies of `full_body`, slow and obvious: the independent truth of its sweeps.

A body for every joint that turns, in NumPy, all items at once. Skeletons are free, or have hinges; a root that slides
does so without ends. Goals are points fixed to joints: pairs of joint and offset.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import reference as ref
from numpy.typing import NDArray

Array = NDArray[Any]


class Bodies:
    """Parents first. `hinges` are axes and ranges by joint, radians."""

    def __init__(
        self,
        parents: list[int],
        offsets: Array,
        goals: list[tuple[int, Array]],
        hinges: dict[int, tuple[Array, float, float]] | None = None,
        *,
        slides: bool,
        masses: Array | None = None,
        inertia: float = 10.0,
        relaxation: float = 1.3,
        max_angle: float = np.radians(30),
    ) -> None:
        self.parents, self.offsets, self.hinges = parents, offsets, hinges or {}
        self.slides, self.relaxation, self.max_angle = slides, relaxation, max_angle
        # a joint that is itself what should be somewhere is a point of the one above
        self.goals = [(j, o) if np.any(o) else (parents[j], offsets[j]) for j, o in goals]
        self.bodies = sorted({body for joint, _ in self.goals for body in self._up(joint)})
        points: dict[int, list[Array]] = {body: [np.zeros(3)] for body in self.bodies}
        for body in self.bodies:
            if parents[body] >= 0:
                points[parents[body]].append(offsets[body])
        for joint, offset in self.goals:
            points[joint].append(offset)
        bones = [*(offsets[b] for b in self.bodies if parents[b] >= 0), *(offset for _, offset in self.goals)]
        least = 0.1 * np.mean([np.linalg.norm(bone) for bone in bones])
        self.centres = {body: np.mean(points[body], axis=0) for body in self.bodies}
        radii = {b: max(least, *(float(np.linalg.norm(p - self.centres[b])) for p in points[b])) for b in self.bodies}
        self.masses = {b: 2 * radii[b] if masses is None else float(masses[b]) for b in self.bodies}
        self.inertias = {b: inertia * 0.4 * self.masses[b] * radii[b] ** 2 for b in self.bodies}

    def _up(self, joint: int) -> list[int]:
        return [] if joint < 0 else [joint, *self._up(self.parents[joint])]

    def forward(self, local: Array, root: Array) -> tuple[Array, Array]:
        places, turns = np.zeros((*local.shape[:-1], 3)), np.zeros(local.shape)
        for joint, parent in enumerate(self.parents):
            places[:, joint], turns[:, joint] = root, local[:, joint]
            if parent >= 0:
                places[:, joint] = places[:, parent] + ref.rotate(turns[:, parent], self.offsets[joint])
                turns[:, joint] = ref.multiply(turns[:, parent], local[:, joint])
        return places, turns

    def solve(self, local: Array, root: Array, targets: Array, sweeps: int) -> tuple[Array, Array]:
        """Local rotations and the place of the root, after so many sweeps; targets are (items, goals, 3)."""
        self.root = root
        places, self.q = self.forward(local, root)
        self.x = {body: places[:, body] + ref.rotate(self.q[:, body], self.centres[body]) for body in self.bodies}
        if self.slides:
            now = np.stack([self._at(joint, offset) for joint, offset in self.goals], axis=1)
            by = (targets - now).mean(axis=1)
            self.x = {body: place + by for body, place in self.x.items()}
        for _ in range(sweeps):
            for goal, (joint, offset) in enumerate(self.goals):
                self._pin(joint, offset, None, targets[:, goal])
            for joint in self.bodies[::-1]:
                self._pin_joint(joint)
            for joint in self.bodies[::-1]:
                self._limit(joint)
        solved = local.copy()
        for body in self.bodies:
            solved[:, body] = self._local(body)
            if body in self.hinges:
                solved[:, body] = self._allowed(body, solved[:, body])
        return solved, self._at(0, np.zeros(3)) if self.slides else root

    def _arm(self, body: int, offset: Array) -> Array:
        return ref.rotate(self.q[:, body], offset - self.centres[body])

    def _at(self, body: int, offset: Array) -> Array:
        return self.x[body] + self._arm(body, offset)

    def _gives(self, body: int, arm: Array, way: Array) -> Array:
        return np.asarray(1 / self.masses[body] + (np.cross(arm, way) ** 2).sum(-1) / self.inertias[body])

    def _turn(self, body: int, by: Array) -> None:
        size = np.linalg.norm(by, axis=-1, keepdims=True)
        by = by * np.minimum(1, self.max_angle / np.maximum(size, 1e-30)) / 2
        turned = ref.multiply(np.concatenate([np.ones_like(size), by], axis=-1), self.q[:, body])
        self.q[:, body] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)

    def _push(self, body: int, arm: Array, impulse: Array) -> None:
        self.x[body] = self.x[body] + impulse / self.masses[body]
        self._turn(body, np.cross(arm, impulse) / self.inertias[body])

    def _pin(self, body: int, offset: Array, other: tuple[int, Array] | None, place: Array) -> None:
        """A point of a body to one of another, or to a place of the world."""
        arm, gap = self._arm(body, offset), place - self._at(body, offset)
        size = np.linalg.norm(gap, axis=-1, keepdims=True)
        way = gap / np.maximum(size, 1e-30)
        gives = self._gives(body, arm, way)
        if other is not None:
            other_arm = self._arm(*other)
            gives = gives + self._gives(other[0], other_arm, way)
        impulse = self.relaxation * size / gives[:, np.newaxis] * way
        self._push(body, arm, impulse)
        if other is not None:
            self._push(other[0], other_arm, -impulse)

    def _pin_joint(self, joint: int) -> None:
        parent = self.parents[joint]
        if parent >= 0:
            self._pin(joint, np.zeros(3), (parent, self.offsets[joint]), self._at(parent, self.offsets[joint]))
        elif not self.slides:
            self._pin(joint, np.zeros(3), None, self.root)

    def _above(self, joint: int) -> Array:
        parent = self.parents[joint]
        return self.q[:, parent] if parent >= 0 else np.tile([1.0, 0, 0, 0], (len(self.q), 1))

    def _local(self, joint: int) -> Array:
        return ref.multiply(self._above(joint) * [1, -1, -1, -1], self.q[:, joint])

    def _allowed(self, joint: int, local: Array) -> Array:
        axis, low, high = self.hinges[joint]
        angle = np.clip(2 * np.arctan2(local[:, 1:] @ axis, local[:, 0]), low, high)
        return np.concatenate([np.cos(angle / 2)[:, np.newaxis], np.sin(angle / 2)[:, np.newaxis] * axis], axis=-1)

    def _limit(self, joint: int) -> None:
        if joint not in self.hinges:
            return
        parent, local = self.parents[joint], self._local(joint)
        off = ref.multiply(self._allowed(joint, local), local * [1, -1, -1, -1])
        by = 2 * self.relaxation * np.sign(off[:, :1]) * ref.rotate(self._above(joint), off[:, 1:])
        own, other = 1 / self.inertias[joint], 1 / self.inertias[parent] if parent >= 0 else 0.0
        self._turn(joint, own / (own + other) * by)
        if parent >= 0:
            self._turn(parent, -other / (own + other) * by)
