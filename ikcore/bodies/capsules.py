"""Capsules along bones: which parts of a body are inside others, how deep, and a node that separates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ikcore._arrays import dot, size
from ikcore._joints import ancestors
from ikcore._record import record
from ikcore.bodies.nodes.node import Job, Node, Proposal
from ikcore.goals import Goal, Outside
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.registry import METHODS
from ikcore.status import Status

Array = NDArray[Any]
SHORT = 0.02  # bones shorter than this share of the skeleton's size have no capsule
NEAR = 0.2  # share of the radii within which a pair counts in a solve, so that it does not begin to collide


@record
class Capsules:
    """Capsules along bones, and the pairs of them that must not touch.

    Attributes
    ----------
    joints : (n,) int array
        The joint where each bone ends; it begins at the parent of this joint.
    radii : (n,) array
        Radius of each capsule.
    pairs : (p, 2) int array
        Indices of two capsules.
    """

    joints: NDArray[np.intp]
    radii: Array
    pairs: NDArray[np.intp]

    @classmethod
    def along(
        cls,
        skeleton: Skeleton,
        *,
        radius: float | None = None,
        share: float = 0.12,
        radii: Mapping[str, float] | None = None,
    ) -> Capsules:
        """Capsules along the bones of a skeleton.

        Three kinds of pairs are left out: bones with a common joint, bones that touch in the rest pose, and bones that
        no joint can separate.

        Parameters
        ----------
        skeleton : Skeleton
            The skeleton. Bones shorter than 2 percent of its size have no capsule.
        radius : float, optional
            Radius of all capsules. Default: by `share`.
        share : float, optional
            Radius as share of the bone's length.
        radii : mapping of str to float, optional
            Radii of single bones, by the joint where they end.

        Examples
        --------
        >>> import ikcore as ik
        >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
        >>> ik.bodies.Capsules.along(arm, radius=0.1).pairs
        array([[0, 2]])
        """
        lengths = np.asarray(size(skeleton.offsets))
        least = SHORT * float(np.abs(skeleton.offsets).sum(axis=0).max())
        joints = np.array([k for k, up in enumerate(skeleton.parents) if up >= 0 and lengths[k] > least], np.intp)
        given = {skeleton.index(name): value for name, value in (radii or {}).items()}
        wide = [given.get(int(k), share * lengths[k] if radius is None else radius) for k in joints]
        if any(not value > 0 for value in wide):
            raise ValueError("radii: expected positive numbers, got one that is not")
        every = np.array([(a, b) for a in range(len(joints)) for b in range(a + 1, len(joints))], np.intp)
        made = cls(joints, np.array(wide), every.reshape(-1, 2))
        apart = self_collisions(skeleton, skeleton.rest, made) <= 0
        free = [bool(apart[k]) and _may_meet(skeleton, made, a, b) for k, (a, b) in enumerate(made.pairs)]
        return cls(joints, made.radii, made.pairs[np.array(free, bool)].reshape(-1, 2))

    def names(self, skeleton: Skeleton) -> list[tuple[str, str]]:
        """The pairs, by the joints where their bones end."""
        return [(skeleton.names[self.joints[a]], skeleton.names[self.joints[b]]) for a, b in self.pairs]


def self_collisions(skeleton: Skeleton, pose: Pose, capsules: Capsules) -> Array:
    """How deep each pair of capsules is inside the other: (..., p). Negative: the distance between them.

    Examples
    --------
    An arm of four bones whose last bone crosses the first:

    >>> import numpy as np
    >>> import ikcore as ik
    >>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]])
    >>> capsules = ik.bodies.Capsules.along(arm, radius=0.04)
    >>> right = ik.rotations.from_axis_angle([0, 0, 1], np.pi / 2)
    >>> folded = ik.Pose([[1, 0, 0, 0], right, right, right, [1, 0, 0, 0]])
    >>> capsules.names(arm)
    [('1', '3'), ('1', '4'), ('2', '4')]
    >>> ik.bodies.self_collisions(arm, folded, capsules).round(3)
    array([-0.92,  0.08, -0.92])
    """
    places = skeleton.forward(pose).positions
    starts, ends = places[..., skeleton.parents[capsules.joints], :], places[..., capsules.joints, :]
    a, b = capsules.pairs.T
    apart = segment_distance(starts[..., a, :], ends[..., a, :], starts[..., b, :], ends[..., b, :])
    return np.asarray((capsules.radii[a] + capsules.radii[b]).astype(apart.dtype) - apart)


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """The smallest distance between the segments from a to b and from c to d, (..., 3)."""
    along, other, between = b - a, d - c, a - c
    aa, bb, ab = (np.asarray(dot(x, y)) for x, y in ((along, along), (other, other), (along, other)))
    ar, br = np.asarray(dot(along, between)), np.asarray(dot(other, between))
    square = aa * bb - ab * ab
    # Inside both, or at one end of one of them: the smallest of five distances.
    inner = np.clip((ab * br - bb * ar) / np.where(square > 0, square, 1), 0, 1)
    found = []
    for s in (inner, np.zeros_like(inner), np.ones_like(inner)):
        t = np.clip((ab * s + br) / np.where(bb > 0, bb, 1), 0, 1)
        found.append(_gap(between, along, other, s, t))
    for t in (np.zeros_like(inner), np.ones_like(inner)):
        s = np.clip((ab * t - ar) / np.where(aa > 0, aa, 1), 0, 1)
        found.append(_gap(between, along, other, s, t))
    return np.asarray(np.minimum.reduce(found))


def _gap(between: Array, along: Array, other: Array, s: Array, t: Array) -> Array:
    return np.asarray(size(between + s[..., np.newaxis] * along - t[..., np.newaxis] * other))


@dataclass(frozen=True, eq=False)
class SeparateNode(Node):
    """Parts of a body that are inside others are turned outside, by guards `Outside`.

    In each round one bone of each pair stays, and the other one moves out of its capsule. In the first round the bone
    with more joints above it, up to the common ancestor, moves. In later rounds both take turns. A pose without
    collisions is unchanged to the bit. The node has no targets.

    Parameters
    ----------
    capsules : Capsules
        The capsules and pairs.

    goals : sequence of Goal, default: ()
        Goals that stay true meanwhile, for single poses: positions of hands, for example.

    tolerance : float, default: 1e-4
        Depth that counts as none, in the unit of the skeleton.

    rounds : int, default: 20
        Largest number of rounds.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    capsules: Capsules
    goals: Sequence[Goal] = ()
    tolerance: float = 1e-4
    rounds: int = 20

    takes: ClassVar[Mapping[str, int]] = {}

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        movers = (_mover(skeleton, self.capsules, a, b) for a, b in self.capsules.pairs)
        return sorted({joint for mover in movers for joint in mover[2]})

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        turned, said = np.array(job.pose.rotations), np.zeros(len(job.pose), np.int32)
        for item in np.flatnonzero(self._depths(job) > self.tolerance):
            pose, flags = self._separate(job.skeleton, job.pose[int(item)])
            turned[item], said[item] = pose.rotations, flags
        return Proposal(job.pose.with_rotations(turned, job.pose.translations), said)

    def _separate(self, skeleton: Skeleton, pose: Pose) -> tuple[Pose, int]:
        """A single pose, in rounds."""
        wide, said = self.capsules.radii[self.capsules.pairs].sum(axis=1), 0
        for count in range(self.rounds):
            depths = self_collisions(skeleton, pose, self.capsules)
            if not len(depths) or float(depths.max()) <= self.tolerance:
                break
            near = np.flatnonzero(depths > -NEAR * wide)
            places = np.asarray(skeleton.forward(pose).positions, float)
            goals, moving = list(self.goals), set()
            for pair in near:
                a, b = self.capsules.pairs[pair]
                stays, moves, joints = _mover(skeleton, self.capsules, a, b, other=count % 2 == 1)
                start, far = skeleton.parents[stays], float(wide[pair])
                first = skeleton.names[joints[0]]
                goals.append(Outside(moves, places[start], far, end=places[stays], chain=first))
                moving.update(joints)
            solution = METHODS["dls"].function(skeleton, pose, goals, moving=sorted(moving))
            pose, said = solution.pose, int(solution.status)
        return pose, said

    def _depths(self, job: Job) -> Array:
        if not len(self.capsules.pairs):
            return np.zeros(len(job.pose), job.pose.dtype)
        return np.asarray(self_collisions(job.skeleton, job.pose, self.capsules).max(axis=-1))

    def _errors(self, job: Job) -> Array | None:
        return np.maximum(self._depths(job) - self.tolerance, 0)

    def _flags_and_errors(self, items: Job, said: NDArray[np.int32], share: Array) -> tuple[NDArray[np.int32], Array]:
        flags, error = super()._flags_and_errors(items, said, share)
        left = (error > 0) & (share == 1) & (flags == 0)
        return np.where(left, int(Status.STALLED), flags).astype(np.int32), error


def _joints_between(skeleton: Skeleton, moves: int, stays: int) -> list[int]:
    """The joints that turn a bone against another, from the trunk to the bone."""
    above = set(ancestors(skeleton, int(skeleton.parents[stays])))
    return [joint for joint in ancestors(skeleton, moves)[1:] if joint not in above][::-1]


def _mover(
    skeleton: Skeleton, capsules: Capsules, a: int, b: int, *, other: bool = False
) -> tuple[int, int, list[int]]:
    """Two bones: the end of the one that stays, of the one that moves, and the joints that turn it."""
    first, second = int(capsules.joints[a]), int(capsules.joints[b])
    one, two = _joints_between(skeleton, first, second), _joints_between(skeleton, second, first)
    last = (len(two) >= len(one)) != (other and bool(one) and bool(two))
    return (first, second, two) if last else (second, first, one)


def _may_meet(skeleton: Skeleton, capsules: Capsules, a: int, b: int) -> bool:
    """True if two bones have no joint in common, and a joint can separate them."""
    first, second = int(capsules.joints[a]), int(capsules.joints[b])
    ends = {first, int(skeleton.parents[first])} & {second, int(skeleton.parents[second])}
    return not ends and bool(_mover(skeleton, capsules, a, b)[2])
