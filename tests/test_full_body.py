"""full_body: its sweeps against slow ones, the published tables, who gives way, and that it does not jump."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference as ref
from bodies_reference import Bodies
from chains import generator
from human import ROOT, SLIDES, Human
from numpy.typing import NDArray

import ikcore as ik

Array = NDArray[Any]
HUMAN = Human()


class Boxes:
    """The published human with one joint for the hinges that are stacked at a place, and a root that slides."""

    def __init__(self, *, limited: bool = True, masses: Array | None = None) -> None:
        whole = HUMAN.linkage
        firsts = [i for i in range(len(whole.parents)) if i == 0 or (i >= ROOT and self._starts(i))]
        self.parts = [list(range(a, b)) for a, b in zip(firsts, [*firsts[1:], len(whole.parents)], strict=True)]
        at = {part: joint for joint, parts in enumerate(self.parts) for part in parts}
        self.parents = [-1 if whole.parents[i] < 0 else at[whole.parents[i]] for i in firsts]
        self.offsets = np.array([whole.offsets[i] for i in firsts])
        self.goals = [(at[part], np.asarray(offset)) for part, offset in whole.ends]
        limits = [self._limit(parts) for parts in self.parts] if limited else [None] * len(firsts)
        travel = HUMAN.travel if limited else np.array([[-np.inf] * 3, [np.inf] * 3])
        root = self._limit(self.parts[0], position=travel) if limited else ik.Limit.free(position=travel)
        self.skeleton = ik.Skeleton(self.parents, self.offsets, limits=[root, *limits[1:]], masses=masses)

    def _starts(self, part: int) -> bool:
        """Whether a part is the first of its joint: it has a bone, or a brother."""
        return bool(HUMAN.linkage.offsets[part].any()) or HUMAN.linkage.parents[part] != part - 1

    def _limit(self, parts: list[int], **more: Any) -> ik.Limit:
        axes, ranges = HUMAN.linkage.axes, HUMAN.linkage.limits.T
        parts = [part for part in parts if part >= SLIDES]
        if len(parts) == 1:
            return ik.Limit.hinge(axes[parts[0]], *ranges[parts[0]], **more)
        box = np.zeros((3, 2))
        for part in parts:
            axis = int(np.argmax(np.abs(axes[part])))
            box[2 - axis] = np.sort(ranges[part] * axes[part, axis])
        return ik.Limit.euler("ZYX", box[:, 0], box[:, 1], **more)

    def pose(self, states: Array) -> ik.Pose:
        turns = np.concatenate([np.tile([1.0, 0, 0, 0], (len(states), SLIDES, 1)), HUMAN.pose(states).rotations], axis=1)
        rotations = np.stack([self._product(turns, parts) for parts in self.parts], axis=1)
        moved = np.tile(self.offsets, (len(states), 1, 1))
        moved[:, 0] += states[:, :SLIDES]
        return ik.Pose(rotations, moved)

    @staticmethod
    def _product(turns: Array, parts: list[int]) -> Array:
        product = turns[:, parts[0]]
        for part in parts[1:]:
            product = ref.multiply(product, turns[:, part])
        return product

    def reaches(self, truths: Array) -> list[ik.Reach]:
        world = self.skeleton.forward(self.pose(truths))
        return [
            ik.Reach(joint, world.positions[:, joint] + ref.rotate(world.rotations[:, joint], offset), offset=offset)
            for joint, offset in self.goals
        ]


BOXES = Boxes()


def near(share: float, count: int = 200) -> Array:
    """The near set: so large a share of every range from the start, 73 draws a target."""
    draw, (low, high), start = generator(71), HUMAN.linkage.limits, HUMAN.at_rest()
    drawn = np.array([[next(draw) for _ in range(73)] for _ in range(count)])[:, : len(start)]
    return np.clip(start + share * (high - low) * (2 * drawn - 1), low, high)


def started(truths: Array) -> ik.Pose:
    return BOXES.pose(HUMAN.starts(truths, "A"))


# ---- the sweeps


@pytest.mark.parametrize(("slides", "hinged"), [(True, False), (False, False), (True, True)])
def test_sweeps_are_those_of_the_reference(slides: bool, hinged: bool) -> None:
    truths = near(0.1, 8)
    limits: list[Any] = [ik.Limit.free(position=[[-np.inf] * 3, [np.inf] * 3]) if slides else None]
    limits += [None] * (len(BOXES.parents) - 1)
    hinges = {}
    for joint, parts in enumerate(BOXES.parts):
        if hinged and joint and len(parts) == 1:
            axis, (low, high) = HUMAN.linkage.axes[parts[0]], HUMAN.linkage.limits.T[parts[0]]
            hinges[joint], limits[joint] = (axis, low, high), ik.Limit.hinge(axis, low, high)
    skeleton, pose, goals = ik.Skeleton(BOXES.parents, BOXES.offsets, limits=limits), started(truths), BOXES.reaches(truths)
    targets = np.stack([goal.position for goal in goals], axis=1)
    assert pose.translations is not None
    for sweeps in (1, 2, 20):
        found = ik.full_body(skeleton, pose, goals, iterations=0, sweeps=sweeps)
        bodies = Bodies(BOXES.parents, BOXES.offsets, BOXES.goals, hinges, slides=slides)
        turned, root = bodies.solve(pose.rotations, pose.translations[:, 0], targets, sweeps)
        apart = ik.rotations.log(ik.rotations.multiply(ik.rotations.conjugate(turned), found.pose.rotations))
        assert np.abs(apart).max() < 1e-7
        if slides:
            assert found.pose.translations is not None
            np.testing.assert_allclose(found.pose.translations[:, 0], root, atol=1e-8)


def test_the_near_set_is_the_published_one() -> None:
    first = [(0.05, [0.78175151, 1.41828832, 0.09353761]), (0.1, [0.7581151, 1.40247272, 0.13616354])]
    for share, wrist in [*first, (0.2, [0.69884468, 1.3657272, 0.22030625])]:
        np.testing.assert_allclose(BOXES.reaches(near(share, 1))[0].position[0], wrist, atol=1e-8)


# ---- the published tables: medians and 95 % of the worst effector in mm, after 20, 50 and 200 sweeps

TABLE = {0.05: [(28, 46), (14, 29), (7.3, 16)], 0.1: [(54, 88), (29, 48), (13, 23)], 0.2: [(96, 161), (55, 85), (22, 45)]}


@pytest.mark.parametrize("share", TABLE)
def test_before_the_finish_no_worse_than_published(share: float) -> None:
    truths = near(share)
    for sweeps, (median, most) in zip((20, 50, 200), TABLE[share], strict=True):
        found = ik.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths), iterations=0, sweeps=sweeps)
        assert np.median(found.error) < median / 1000
        assert np.percentile(found.error, 95) < most / 1000


@pytest.mark.parametrize("share", TABLE)
def test_the_finish_reaches_all_of_the_near_set(share: float) -> None:
    truths = near(share)
    found = ik.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths))
    assert (found.status == 0).sum() == 200


def test_the_finish_reaches_all_of_the_published_set() -> None:
    truths = HUMAN.truths()
    found = ik.full_body(BOXES.skeleton, started(truths), BOXES.reaches(truths))
    assert (found.status == 0).sum() == 200
