"""The trunk of a human, which brings the roots of its limbs within reach; and FABRIK in a hierarchy as stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import mean_in_order, size
from ikcore._joints import path
from ikcore.bodies.nodes.biped import SIDES
from ikcore.bodies.nodes.limits import toward
from ikcore.bodies.nodes.node import Job, Node, NodeStage, Proposal, Targets
from ikcore.bodies.nodes.roles import HumanRoles
from ikcore.bodies.nodes.turns import local_of
from ikcore.goals import Reach
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton
from ikcore.solving.registry import METHODS
from ikcore.solving.stages import PoseStage, Stage

Array = NDArray[Any]
TOLERANCE = 1e-4  # share of the limb's length: lack that counts as none for a single bone, and spare reach for others
ENDS = tuple(f"{side}_{end}" for end in ("hand", "foot") for side in SIDES)


class Limb(NamedTuple):
    """A limb of the trunk: its joints from root to tip, and whether the chest carries it."""

    joints: list[int]
    upper: bool


@dataclass(frozen=True, eq=False)
class TrunkNode(Node):
    """Pelvis and spine move shoulders, hips and neck until the limbs reach the targets of hands, feet and head.

    Targets, all optional: positions `left_hand`, `right_hand`, `left_foot`, `right_foot`, `head`. The root of a limb
    that reaches its target stays. Others are drawn to the nearest point from which the limb reaches, in rounds: FABRIK
    on the spine, then the best fit of the pelvis to hips and spine. Nothing moves if all limbs reach.

    Parameters
    ----------
    roles : HumanRoles, optional
        Which joint is what (default: `HumanRoles.detect`).

    reach : float, default: 1
        Share of a limb's length to which its root is drawn; below 1 limbs stay bent, and more rounds are needed.

    rounds : int, default: 200
        Largest number of rounds.

    iterations : int, default: 5
        Iterations of FABRIK in a round.

    pinned : bool, default: False
        The pelvis only turns.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    roles: HumanRoles | None = None
    reach: float = 1.0
    rounds: int = 200
    iterations: int = 5
    pinned: bool = False

    takes: ClassVar[Mapping[str, int]] = {**dict.fromkeys(ENDS, 3), "head": 3}
    main: ClassVar[str] = "head"

    def limbs(self, skeleton: Skeleton, targets: Mapping[str, Any]) -> dict[str, Limb]:
        """The limbs that have targets."""
        roles = self.roles or HumanRoles.detect(skeleton)
        chest, found = skeleton.index(roles.chest), {}
        for name in ENDS:
            side, end = name.split("_")
            tip = skeleton.index((roles.hands if end == "hand" else roles.feet)[side])
            mid = int(skeleton.parents[tip])
            found[name] = Limb([int(skeleton.parents[mid]), mid, tip], end == "hand")
        if roles.head is not None:
            found["head"] = Limb(path(skeleton, chest, skeleton.index(roles.head))[1:], True)
        return {name: limb for name, limb in found.items() if targets.get(name) is not None and len(limb.joints) > 1}

    def spine(self, skeleton: Skeleton) -> list[int]:
        """The pelvis and the joints up to the chest."""
        roles = self.roles or HumanRoles.detect(skeleton)
        return path(skeleton, skeleton.index(roles.pelvis), skeleton.index(roles.chest))

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return self.spine(skeleton)

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        limbs, spine = self.limbs(job.skeleton, job.targets), self.spine(job.skeleton)
        turned = np.array(job.pose.rotations)
        came = job.skeleton.offsets if job.pose.translations is None else job.pose.translations
        moved = np.array(np.broadcast_to(came, (*turned.shape[:-1], 3)), turned.dtype)
        active = np.arange(len(turned))
        for _ in range(self.rounds if limbs else 0):
            part = job.part(active).with_pose(Pose(turned[active], moved[active]))
            roots, lack = self._roots(part, limbs)
            short = lack > 0
            active, part = active[short], part.part(short)
            if not len(active):
                break
            pose = self._iterate(part, spine, limbs, {name: root[short] for name, root in roots.items()}, workers)
            turned[active], moved[active] = pose.rotations, pose.translations
        return Proposal(job.pose.with_rotations(turned, job.pose.translations if self.pinned else moved))

    def _roots(self, job: Job, limbs: Mapping[str, Limb]) -> tuple[dict[str, Array], Array]:
        """The places to which roots of limbs are drawn, and the largest lack of reach of an item."""
        places = job.skeleton.forward(job.pose).positions
        lacks, found = np.zeros(len(places), places.dtype), {}
        for name, limb in limbs.items():
            joints = places[:, limb.joints]
            bones = [np.asarray(size(joints[:, k] - joints[:, k - 1])) for k in range(1, len(limb.joints))]
            length = sum(bones[1:], bones[0])
            inner = np.maximum(2 * np.maximum.reduce(bones) - length, 0)
            way = job.targets[name] - joints[:, 0]
            far = np.asarray(size(way))
            near = length.dtype.type(TOLERANCE) * length
            drawn = np.clip(far, inner, np.maximum(length * length.dtype.type(self.reach) - near, inner))
            found[name] = joints[:, 0] + way * ((far - drawn) / np.where(far > 0, far, 1))[:, np.newaxis]
            lack = np.maximum(far - length, inner - far)
            lacks = np.maximum(lacks, lack - np.where(inner < length - near, 0, near))
        return found, lacks

    def _iterate(
        self, job: Job, spine: list[int], limbs: Mapping[str, Limb], roots: Mapping[str, Array], workers: int | None
    ) -> Pose:
        """FABRIK on the spine, then the pelvis."""
        skeleton, pose = job.skeleton, job.pose
        upper = {name: limb.joints[0] for name, limb in limbs.items() if limb.upper}
        if upper and len(spine) > 1:
            goals = [Reach(joint, roots[name], chain=skeleton.names[spine[1]]) for name, joint in upper.items()]
            options: dict[str, Any] = {"iterations": self.iterations, "moving": spine[1:], "workers": workers}
            free = skeleton._with_limits([None] * len(skeleton))
            bent = METHODS["fabrik"].function(free, pose, goals, **options).pose
            pose = bent.with_rotations(toward(skeleton, np.asarray(pose.rotations), np.asarray(bent.rotations)))
        world = skeleton.forward(pose)
        points, wanted = [], []
        if upper and len(spine) > 1:
            pull = sum(roots[name] - world.positions[:, joint] for name, joint in upper.items()) / len(upper)
            points.append(world.positions[:, spine[1]])
            wanted.append(points[-1] + pull)
        for name, limb in limbs.items():
            if not limb.upper:
                points.append(world.positions[:, limb.joints[0]])
                wanted.append(roots[name])
        return self._fit(skeleton, pose, spine[0], np.stack(points, axis=1), np.stack(wanted, axis=1))

    def _fit(self, skeleton: Skeleton, pose: Pose, pelvis: int, points: Array, wanted: Array) -> Pose:
        """The pose with the pelvis moved so that points of it are nearest to where they are wanted."""
        world = skeleton.forward(pose)
        centre, goal = (mean_in_order(list(part.swapaxes(0, 1))) for part in (points, wanted))
        if self.pinned:
            centre = goal = world.positions[:, pelvis]
        turn, _ = rotations.best_fit(points - centre[:, np.newaxis], wanted - goal[:, np.newaxis])
        turned, came = np.array(pose.rotations), pose.translations
        outer = rotations.multiply(turn, world.rotations[:, pelvis])
        turned[:, pelvis] = local_of(skeleton, world, pelvis, outer)
        if self.pinned:
            return pose.with_rotations(turned)
        moved = np.array(
            np.broadcast_to(skeleton.offsets if came is None else came, (*turned.shape[:-1], 3)), turned.dtype
        )
        way = goal + rotations.rotate(turn, world.positions[:, pelvis] - centre) - world.positions[:, pelvis]
        parent = int(skeleton.parents[pelvis])
        if parent >= 0:
            way = rotations.rotate(rotations.conjugate(world.rotations[:, parent]), way)
        moved[:, pelvis] += way
        return pose.with_rotations(turned, moved)


def hierarchical_fabrik(
    skeleton: Skeleton, targets: Targets, *, trunk: TrunkNode | None = None, iterations: int = 64, **parameters: Any
) -> list[PoseStage | Stage]:
    """Hierarchical FABRIK of a human: stages for `solvers.stages`.

    The trunk goes first, by `TrunkNode`, then each limb and the head, by FABRIK.

    Parameters
    ----------
    skeleton, targets
        As of `sequential`; targets as of `TrunkNode`.

    trunk : TrunkNode, optional
        The parameters of the trunk.

    iterations : int, default: 64
        Iterations of FABRIK on a limb.
    **parameters
        Parameters of `TrunkNode`, in place of that.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.samples.walk(seconds=1).clip.skeleton
    >>> wanted = {"left_hand": [0.4, 1.2, 0.9], "left_foot": [0.1, 0.1, 0], "right_foot": [-0.1, 0.1, 0]}
    >>> stages = ik.bodies.nodes.hierarchical_fabrik(body, wanted)
    >>> print(ik.solvers.stages(body, body.rest, stages).status)
    0
    """
    node = TrunkNode(**parameters) if trunk is None else trunk
    given = node.read(np.dtype(float), targets)
    limbs = node.limbs(skeleton, given)
    found: list[PoseStage | Stage] = [NodeStage(node, given)]
    for name, limb in limbs.items():
        goal = Reach(limb.joints[-1], given[name], chain=len(limb.joints) - 1, influence=node.influence)
        found.append(Stage("fabrik", [goal], iterations=iterations))
    return found
