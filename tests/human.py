"""The human of the published benchmark, of hinges stacked at joints, without the slides of its root.

Height 1.75, +Y up, +Z forward, +X left; lengths as shares of the height. A joint's hinges have no length between them,
the first is the outermost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ikcore as ik

HEIGHT = 1.75
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

# An axis, its lowest and its highest angle, degrees.
Hinge = tuple[tuple[int, int, int], float, float]


def zyx(z: tuple[float, float], y: float | tuple[float, float], x: float | tuple[float, float]) -> list[Hinge]:
    """Hinges about Z, Y and X; one number is a range both ways."""
    ranges = [r if isinstance(r, tuple) else (-r, r) for r in (z, y, x)]
    return [(axis, *r) for axis, r in zip((Z, Y, X), ranges, strict=True)]


class Human:
    """Its skeleton, its hinges, and the five ends that are goals: joint, offset, and the first joint below the root."""

    def __init__(self) -> None:
        self.axes: list[tuple[int, int, int]] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self._parents: list[int] = []
        self._offsets: list[NDArray[Any]] = []
        self.ends: list[tuple[int, NDArray[Any], int]] = []
        root = self._joint(-1, (0, 0.530, 0), zyx((-30, 30), 45, 30))
        spine = root
        for i in range(6):
            spine = self._joint(spine, (0, 0.048 if i else 0.024, 0), zyx((-6, 6), 6, (-5, 12)))
        neck = self._joint(spine, (0, 0.024, 0), zyx((-20, 20), 40, (-25, 30)))
        head = self._joint(neck, (0, 0.052, 0), zyx((-20, 20), 40, (-25, 30)))
        for left in (1, -1):
            self._arm(spine, left)
        for left in (1, -1):
            self._leg(root, left)
        self.ends.append((head, np.array([0, 0.130 * HEIGHT, 0]), 0))
        self.ends = [(joint, offset, self._below_root(joint)) for joint, offset, _ in self.ends]
        self.limits = np.radians(np.array([self.low, self.high]))
        hinges = [ik.Limit.hinge(axis, *ends) for axis, ends in zip(self.axes, self.limits.T, strict=True)]
        self.skeleton = ik.Skeleton(self._parents, self._offsets, limits=hinges)

    def _joint(self, parent: int, offset: tuple[float, float, float], hinges: list[Hinge]) -> int:
        for i, (axis, low, high) in enumerate(hinges):
            self._offsets.append(np.multiply(HEIGHT, offset) * (i == 0))
            self._parents.append(parent)
            self.axes.append(axis)
            self.low.append(low)
            self.high.append(high)
            parent = len(self._parents) - 1
        return parent

    def _arm(self, spine: int, left: int) -> None:
        def both(low: float, high: float) -> tuple[float, float]:
            return (low, high) if left > 0 else (-high, -low)

        out = (0, -left, 0)
        clavicle = self._joint(spine, (left * 0.02, 0.024, 0), zyx(both(-10, 30), 20, 15))
        shoulder = self._joint(clavicle, (left * 0.109, 0, 0), zyx((-85, 85), both(-130, 40), (-90, 70)))
        elbow = self._joint(shoulder, (left * 0.186, 0, 0), [(out, 0, 150)])
        forearm = self._joint(elbow, (left * 0.073, 0, 0), [(X, -80, 80)])
        wrist = self._joint(forearm, (left * 0.073, 0, 0), [(Y, -70, 70), (Z, -25, 25)])
        self._joint(wrist, (left * 0.054, 0, 0), [(out, -20, 90), (Z, -15, 15)])
        self.ends.append((wrist, np.zeros(3), 0))

    def _leg(self, root: int, left: int) -> None:
        hip = self._joint(root, (left * 0.0955, 0, 0), zyx((-30, 45) if left > 0 else (-45, 30), 45, (-120, 30)))
        knee = self._joint(hip, (0, -0.245, 0), [(X, 0, 135)])
        ankle = self._joint(knee, (0, -0.246, 0), [(X, -20, 50), (Y, -15, 15), (Z, -25, 25)])
        self._joint(ankle, (0, -0.039, 0.1), [(X, -70, 45)])
        self.ends.append((ankle, np.zeros(3), 0))

    def _below_root(self, joint: int) -> int:
        while self._parents[joint] > 2:
            joint = self._parents[joint]
        return joint

    def pose(self, angles: NDArray[Any]) -> ik.Pose:
        """All hinges at angles from rest."""
        return ik.Pose(ik.rotations.from_axis_angle(np.array(self.axes), angles))

    def angles(self, pose: ik.Pose) -> NDArray[Any]:
        """The angles of all hinges."""
        along = (pose.rotations[..., 1:] * np.array(self.axes)).sum(-1)
        angles: NDArray[Any] = 2 * np.arctan2(along, pose.rotations[..., 0])
        return angles

    def at_rest(self) -> NDArray[Any]:
        """All at 0 or the angle nearest to it, but elbows and knees at .2."""
        angles: NDArray[Any] = np.clip(np.zeros(len(self.axes)), *self.limits)
        angles[(np.array(self.low) == 0) & (np.array(self.high) > 100)] = 0.2
        return angles
