"""The human of the published benchmark: 70 slides and hinges, stacked at its joints, and what it should reach.

Height 1.75, +Y up, +Z forward, +X left; lengths as shares of the height. Hinges and slides of a joint have no distance,
the first is the outermost. The root slides along three axes and then turns about three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import textbook
from chains import generator
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]

HEIGHT = 1.75
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

# A: five places, B: the same from a root that is where it should be and stays there, C: turned as they should be, too.
Set = Literal["A", "B", "C"]
ROOT = 6  # so many of the 70 are the root's
SLIDES = 3  # and the first of those slide

# An axis, its lowest and its highest angle, degrees; of a slide, lengths.
Part = tuple[tuple[int, int, int], float, float]


def zyx(z: tuple[float, float], y: float | tuple[float, float], x: float | tuple[float, float]) -> list[Part]:
    """Hinges about Z, Y and X; one number is a range both ways."""
    ranges = [r if isinstance(r, tuple) else (-r, r) for r in (z, y, x)]
    return [(axis, *r) for axis, r in zip((Z, Y, X), ranges, strict=True)]


class Human:
    """The human as a `linkage`, and as a skeleton with a joint for every hinge and a movable root."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._offsets: list[Array] = []
        self._parts: list[Part] = []
        self._ends: list[tuple[int, Array]] = []
        slides: list[Part] = [(axis, -0.35, 0.35) for axis in (X, Y, Z)]
        root = self._joint(-1, (0, 0.530, 0), slides + zyx((-30, 30), 45, 30))
        spine = root
        for i in range(6):
            spine = self._joint(spine, (0, 0.048 if i else 0.024, 0), zyx((-6, 6), 6, (-5, 12)))
        neck = self._joint(spine, (0, 0.024, 0), zyx((-20, 20), 40, (-25, 30)))
        head = self._joint(neck, (0, 0.052, 0), zyx((-20, 20), 40, (-25, 30)))
        for left in (1, -1):
            self._arm(spine, left)
        for left in (1, -1):
            self._leg(root, left)
        self._ends.append((head, np.array([0, 0.130 * HEIGHT, 0])))
        self.linkage = self._linked()
        self.travel = self.linkage.limits[:, :SLIDES]  # of the root, lowest and highest
        hinges = zip(self.linkage.axes[SLIDES:], self.linkage.limits.T[SLIDES:], strict=True)
        self.skeleton = ik.Skeleton(
            [max(parent - SLIDES, -1) for parent in self._parents[SLIDES:]],
            [self._offsets[0], *self._offsets[SLIDES + 1 :]],
            limits=[ik.Limit.hinge(axis, *ends) for axis, ends in hinges],
        )

    def _joint(self, parent: int, offset: tuple[float, float, float], parts: list[Part]) -> int:
        for i, part in enumerate(parts):
            self._offsets.append(np.multiply(HEIGHT, offset) * (i == 0))
            self._parents.append(parent)
            self._parts.append(part)
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
        self._ends.append((wrist, np.zeros(3)))

    def _leg(self, root: int, left: int) -> None:
        hip = self._joint(root, (left * 0.0955, 0, 0), zyx((-30, 45) if left > 0 else (-45, 30), 45, (-120, 30)))
        knee = self._joint(hip, (0, -0.245, 0), [(X, 0, 135)])
        ankle = self._joint(knee, (0, -0.246, 0), [(X, -20, 50), (Y, -15, 15), (Z, -25, 25)])
        self._joint(ankle, (0, -0.039, 0.1), [(X, -70, 45)])
        self._ends.append((ankle, np.zeros(3)))

    def _linked(self) -> textbook.Linkage:
        axes, low, high = (np.array(column, float) for column in zip(*self._parts, strict=True))
        slides = np.arange(len(axes)) < SLIDES
        limits = np.where(slides, [low, high], np.radians([low, high]))
        return textbook.Linkage(self._parents, np.array(self._offsets), axes, slides, limits, self._ends)

    # ---- the benchmark

    def truths(self, count: int = 200) -> Array:
        """States (count, 70) within the limits: what their ends do is what is asked for."""
        draw = generator(70)
        low, high = self.linkage.limits
        return np.array([low + (high - low) * [next(draw) for _ in low] for _ in range(count)])

    def at_rest(self) -> Array:
        """All at 0 or what is nearest to it, but elbows and knees at .2."""
        low, high = self.linkage.limits
        state: Array = np.clip(0.0, low, high)
        state[(low == 0) & (high > np.radians(100))] = 0.2
        return state

    def starts(self, truths: Array, which: Set) -> Array:
        """The start of a set."""
        starts = np.tile(self.at_rest(), (len(truths), 1))
        if which == "B":
            starts[:, :ROOT] = truths[:, :ROOT]
        return starts

    def free(self, which: Set) -> Array:
        """Mask of the movable parts."""
        return (which != "B") | (np.arange(len(self._parents)) >= ROOT)

    def solve(
        self,
        which: Set,
        truths: Array,
        limits: Literal["clamp", "lock"] = "lock",
        starts: Array | None = None,
        **options: Any,
    ) -> textbook.Found:
        """A set by the reference solver; options as that has them."""
        wanted = textbook.forward(self.linkage, truths)
        turns = wanted.turned if which == "C" else None
        starts, free = self.starts(truths, which) if starts is None else starts, self.free(which)
        return textbook.solve(self.linkage, starts, wanted.ends, turns, free=free, limits=limits, **options)

    # ---- the skeleton

    def pose(self, states: Array) -> ik.Pose:
        """The pose of states, (..., 70)."""
        moved = np.broadcast_to(self.skeleton.offsets, (*states.shape[:-1], *self.skeleton.offsets.shape)).copy()
        moved[..., 0, :] += states[..., :SLIDES]
        return ik.Pose(ik.rotations.from_axis_angle(self.linkage.axes[SLIDES:], states[..., SLIDES:]), moved)

    def states(self, pose: ik.Pose) -> Array:
        """The states of poses that have translations."""
        assert pose.translations is not None
        slid = pose.translations[..., 0, :] - self.skeleton.offsets[0]
        along = (pose.rotations[..., 1:] * self.linkage.axes[SLIDES:]).sum(-1)
        return np.concatenate([slid, 2 * np.arctan2(along, pose.rotations[..., 0])], axis=-1)

    def goals(self, truths: Array) -> list[ik.Reach]:
        """Those of set B: all below the root may turn."""
        wanted = np.moveaxis(textbook.forward(self.linkage, truths).ends, -2, 0)
        return [
            ik.Reach(end - SLIDES, place, offset=offset, chain=str(self._up_to_root(end)[-1] - SLIDES))
            for (end, offset), place in zip(self.linkage.ends, wanted, strict=True)
        ]

    def sliding(self) -> ik.Skeleton:
        """The skeleton of set C: the root slides as well."""
        whole = self.skeleton
        root, *others = whole.limits
        assert root is not None
        low, high = self.linkage.limits[:, :SLIDES].tolist()
        limits = [replace(root, position=(tuple(low), tuple(high))), *others]
        return ik.Skeleton(whole.parents, whole.offsets, names=whole.names, limits=limits)

    def goals_of_poses(self, truths: Array) -> list[ik.Reach]:
        """Those of set C: all may turn, and ends are turned some way as well."""
        wanted = textbook.forward(self.linkage, truths)
        places, turned = np.moveaxis(wanted.ends, -2, 0), np.moveaxis(wanted.turned, -3, 0)
        return [
            ik.Reach(end - SLIDES, place, ik.rotations.from_matrix(turn), offset=offset)
            for (end, offset), place, turn in zip(self.linkage.ends, places, turned, strict=True)
        ]

    def mean_bone(self, *, turning_root: bool = False) -> float:
        """The unit of damping and errors in dls: the mean of all moving bones in set B, or A, including hinges without
        length."""
        tips = [float(np.linalg.norm(offset)) for _, offset in self._ends if offset.any()]
        moving = {part for end, _ in self._ends for part in self._up_to_root(end)[:-1]}
        if turning_root:  # whose last hinges, and what is right below them, move as well
            moving = {part for part in range(len(self._parents)) if part > SLIDES and self._leads_to_an_end(part)}
        return float(np.mean([*tips, *(np.linalg.norm(self._offsets[part]) for part in sorted(moving))]))

    def _leads_to_an_end(self, part: int) -> bool:
        return part < ROOT or any(part in self._up_to_root(end) for end, _ in self._ends)

    def _up_to_root(self, part: int) -> list[int]:
        """The part and all parts above it, without the root."""
        way = []
        while part >= ROOT:
            way.append(part)
            part = self._parents[part]
        return way
