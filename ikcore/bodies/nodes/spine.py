"""A node for the spine: pelvis and chest at their places, the joints between them share the turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore._joints import ancestors, path
from ikcore.bodies.nodes.limits import is_limited, toward
from ikcore.bodies.nodes.node import NOTES, Job, Node, Proposal
from ikcore.bodies.nodes.turns import angle_between, identities, local_of, unit_share
from ikcore.closed_forms.splines import spline
from ikcore.goals import Goal, Reach
from ikcore.pose import Pose
from ikcore.skeleton import Skeleton, World
from ikcore.solving.registry import METHODS
from ikcore.status import Status

Array = NDArray[Any]
Kind = Literal["arc", "fabrik", "spline"]

SWEEPS = 8  # over the joints of a spine with limits
FINISH = 1000  # iterations of L-BFGS-B, which closes the rest within limits
_HANDLE = 1 / 3  # of the distance between the ends of the curve, as for a straight line


@dataclass(frozen=True, eq=False)
class SpineNode(Node):
    """Pelvis and chest move to their targets, and the joints between them bend.

    Targets: `position` and `rotation` of the chest, `pelvis` and `pelvis_rotation`, all in world space. First the
    pelvis moves with all that it carries. Then the joints up to the chest share its turn evenly, and bend until
    it is at its position.

    Parameters
    ----------
    chest : str or int
        The upper end of the spine.

    pelvis : str or int
        Its lower end, above which nothing moves.

    kind : {"arc", "fabrik", "spline"}, default: "arc"
        Shape of the spine.

        - "arc" is an arc of a circle.

        - "fabrik" is the shape that FABRIK gives.

        - "spline" is a curve that leaves the pelvis and meets the chest in their directions; FABRIK closes the rest.

    pelvis_position_weight, pelvis_rotation_weight : float, default: 1
        Shares of the pelvis's targets, 0 to 1.

    position_weight, rotation_weight : float, default: 1
        Shares of the chest's targets, 0 to 1.

    back : (3,) array_like, optional
        The side to which an arc bulges, a direction in the world of the rest pose; backwards for a person who
        bends forwards. Default: where the spine bulges in the pose.

    soften : float, default: 1
        Share of the reach at which softening starts, as in `two_bone`. At 1 an arc of 0.3 m turns by over 12 degrees on
        the last 3 mm of its reach, at 0.97 by less than 3. A target at full reach is then missed by 1.3 % of it.

    iterations : int, default: 64
        Largest number of iterations of FABRIK.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    chest: str | int
    pelvis: str | int
    kind: Kind = "arc"
    pelvis_position_weight: float = 1.0
    pelvis_rotation_weight: float = 1.0
    position_weight: float = 1.0
    rotation_weight: float = 1.0
    back: ArrayLike | None = None
    soften: float = 1.0
    iterations: int = 64

    takes: ClassVar[Mapping[str, int]] = {"position": 3, "rotation": 4, "pelvis": 3, "pelvis_rotation": 4}

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind: expected one of {', '.join(get_args(Kind))}, got {self.kind!r}")
        unit_share(self, "pelvis_position_weight", "pelvis_rotation_weight", "position_weight", "rotation_weight")
        unit_share(self, "soften")

    def _check(self, skeleton: Skeleton) -> None:
        pelvis, chest = skeleton.index(self.pelvis), skeleton.index(self.chest)
        if pelvis == chest or pelvis not in ancestors(skeleton, chest):
            names = skeleton.names
            raise ValueError(f"chest: expected a joint below the pelvis {names[pelvis]!r}, got {names[chest]!r}")

    def joints(self, skeleton: Skeleton) -> list[int]:
        """The joints above the pelvis, up to the chest."""
        return path(skeleton, skeleton.index(self.pelvis), skeleton.index(self.chest))[1:]

    def _goals(self, skeleton: Skeleton, targets: Mapping[str, Array]) -> list[Goal]:
        found: list[Goal] = []
        for joint, names, weights in (
            (self.pelvis, ("pelvis", "pelvis_rotation"), (self.pelvis_position_weight, self.pelvis_rotation_weight)),
            (self.chest, ("position", "rotation"), (self.position_weight, self.rotation_weight)),
        ):
            at, turn = (targets.get(name) if weight else None for name, weight in zip(names, weights, strict=True))
            if at is not None or turn is not None:
                whole: dict[str, Any] = {"weight": float(weights[0] == 1), "rotation_weight": float(weights[1] == 1)}
                found.append(Reach(joint, at, turn, influence=self.influence, **whole))
        return found

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return [skeleton.index(self.pelvis), *self.joints(skeleton)]

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        return [skeleton.index(self.pelvis), skeleton.index(self.chest)]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        now = job.with_pose(self._move_pelvis(job))
        turned = now.with_pose(self._share_turn(now))
        target = job.target("position", self.position_weight, self._chest(now))
        joints = self.joints(job.skeleton)
        if target is None or len(joints) < 2:
            return Proposal(self._clamp(job, turned.pose))
        target, softened = self._soften(turned, target)
        wanted = job.skeleton.forward(turned.pose).rotations[:, joints[-1]]
        shape = {"arc": self._arc, "fabrik": self._fabrik, "spline": self._along_curve}[self.kind]
        free = turned._replace(skeleton=job.skeleton._with_limits([None] * len(job.skeleton)))
        found = shape(free, target, wanted, workers)
        bent = self._clamp(job, found.pose)
        if is_limited(job.skeleton, joints):
            bent = self._reach(turned, self._sweep(turned, bent, target, wanted), target, wanted, workers)
        return Proposal(bent, found.status | np.where(softened, int(Status.SOFTENED), 0))

    def _soften(self, job: Job, target: Array) -> tuple[Array, NDArray[np.bool_]]:
        """The target at its softened distance from the lowest joint, and where that is another."""
        places = job.skeleton.forward(job.pose).positions[:, self.joints(job.skeleton)]
        reach, way = size(np.diff(places, axis=1)).sum(axis=-1), target - places[:, 0]
        distance, start = size(way), self.soften * reach
        softened = (distance > start) & (start < reach)
        rest = np.where(softened, reach - start, 1)
        y = 3 / ((distance - start) / rest + 3)
        share = np.where(softened, start + rest * (1 - y**3), 1) / np.where(softened, distance, 1)
        moved = places[:, 0] + way * share[:, np.newaxis]
        return np.where(softened[:, np.newaxis], moved, target).astype(target.dtype), softened

    def _chest(self, job: Job) -> Array:
        return job.skeleton.forward(job.pose).positions[:, job.skeleton.index(self.chest)]

    def _clamp(self, job: Job, pose: Pose, joints: list[int] | None = None) -> Pose:
        """The pose with some joints, or all, within limits."""
        return pose.with_rotations(toward(job.skeleton, job.pose.rotations, pose.rotations, joints))

    def _sweep(self, job: Job, bent: Pose, target: Array, wanted: Array) -> Pose:
        """Joints turn the chest to its target, one after the other, as far as limits allow."""
        joints = self.joints(job.skeleton)
        for _ in range(SWEEPS):
            for joint in joints[:-1]:
                world = job.skeleton.forward(bent)
                at = world.positions[:, joint]
                arc = rotations.shortest_arc(world.positions[:, joints[-1]] - at, target - at)
                turned = np.array(bent.rotations)
                turned[:, joint] = local_of(
                    job.skeleton, world, joint, rotations.multiply(arc, world.rotations[:, joint])
                )
                bent = self._clamp(job, bent.with_rotations(turned), [joint])
            bent = self._clamp(job, self._keep(job, bent, wanted), joints[-1:])
        return bent

    def _reach(self, job: Job, bent: Pose, target: Array, wanted: Array, workers: int | None) -> Pose:
        """The pose with the chest at its target, within limits, where L-BFGS-B brings it there."""
        joints = self.joints(job.skeleton)
        goal = Reach(joints[-1], target, wanted, chain=len(joints) - 1)
        found = METHODS["lbfgsb"].function(job.skeleton, bent, [goal], iterations=FINISH, workers=workers)
        met = (found.status & ~NOTES == 0)[:, np.newaxis, np.newaxis]
        return bent.with_rotations(np.where(met, found.pose.rotations, bent.rotations))

    def _move_pelvis(self, job: Job) -> Pose:
        """The pose with the pelvis at its target."""
        skeleton, pelvis = job.skeleton, job.skeleton.index(self.pelvis)
        world, parent = skeleton.forward(job.pose), int(skeleton.parents[pelvis])
        at, turn = world.positions[:, pelvis], world.rotations[:, pelvis]
        turned, moved = np.array(job.pose.rotations), job.pose.translations
        rotation = job.rotation("pelvis_rotation", self.pelvis_rotation_weight, turn)
        if rotation is not None:
            turned[:, pelvis] = local_of(skeleton, world, pelvis, rotation)
        place = job.target("pelvis", self.pelvis_position_weight, at)
        if place is not None:
            came = skeleton.offsets if moved is None else moved
            moved = np.array(np.broadcast_to(came, (*turned.shape[:-1], 3)), turned.dtype)
            way = place - at
            if parent >= 0:
                way = rotations.rotate(rotations.conjugate(world.rotations[:, parent]), way)
            moved[:, pelvis] += way
        return job.pose.with_rotations(turned, moved)

    def _share_turn(self, job: Job) -> Pose:
        """The pose whose joints share the turn of the chest to its rotation: each takes the same part of the rest."""
        joints = self.joints(job.skeleton)
        chest, turned = joints[-1], np.array(job.pose.rotations)
        now = job.skeleton.forward(job.pose).rotations[:, chest]
        wanted = job.rotation("rotation", self.rotation_weight, now)
        if wanted is None:
            return job.pose
        for number, joint in enumerate(joints):
            pose = job.pose.with_rotations(turned)
            world = job.skeleton.forward(pose)
            left = rotations.multiply(wanted, rotations.conjugate(world.rotations[:, chest]))
            share = np.full(len(turned), 1 / (len(joints) - number), turned.dtype)
            turn = rotations.slerp(identities(len(turned), turned.dtype), rotations.canonical(left), share)
            outer = rotations.multiply(turn, world.rotations[:, joint])
            turned = np.array(turned)
            turned[:, joint] = local_of(job.skeleton, world, joint, outer)
        return job.pose.with_rotations(turned)

    def _keep(self, turned: Job, bent: Pose, wanted: Array) -> Pose:
        """The bent pose with the chest's rotation in the world as it is wanted."""
        chest, made = turned.skeleton.index(self.chest), np.array(bent.rotations)
        made[:, chest] = local_of(turned.skeleton, turned.skeleton.forward(bent), chest, wanted)
        return bent.with_rotations(made)

    def _pole(self, job: Job) -> Array | None:
        """A point on the side to which the arc bulges."""
        if self.back is None or len(self.joints(job.skeleton)) < 3:
            return None
        skeleton, pelvis = job.skeleton, job.skeleton.index(self.pelvis)
        rest, world = skeleton.forward(skeleton.rest), skeleton.forward(job.pose)
        dtype = job.pose.dtype
        own = rotations.rotate(rotations.conjugate(rest.rotations[pelvis]), np.asarray(self.back, float))
        way = rotations.rotate(world.rotations[:, pelvis], own.astype(dtype))
        return np.asarray(world.positions[:, self.joints(skeleton)[0]] + way)

    def _arc(self, job: Job, target: Array, wanted: Array, workers: int | None) -> Proposal:
        """On an arc of a circle."""
        joints = self.joints(job.skeleton)
        goal = Reach(joints[-1], target, chain=len(joints) - 1, pole=self._pole(job))
        found = METHODS["circle"].function(job.skeleton, job.pose, [goal], workers=workers)
        return Proposal(self._keep(job, found.pose, wanted), found.status)

    def _fabrik(self, job: Job, target: Array, wanted: Array, workers: int | None) -> Proposal:
        """As FABRIK bends it."""
        joints = self.joints(job.skeleton)
        goal = Reach(joints[-1], target, wanted, chain=len(joints) - 1)
        options: dict[str, Any] = {"iterations": self.iterations, "workers": workers}
        found = METHODS["fabrik"].function(job.skeleton, job.pose, [goal], **options)
        return Proposal(found.pose, found.status)

    def _along_curve(self, job: Job, target: Array, wanted: Array, workers: int | None) -> Proposal:
        """Along a curve from the pelvis to the chest; FABRIK closes the rest."""
        joints, skeleton = self.joints(job.skeleton), job.skeleton
        world = skeleton.forward(job.pose)
        start = world.positions[:, joints[0]]
        handle = np.asarray(size(target - start))[:, np.newaxis] * job.pose.dtype.type(_HANDLE)
        first = _carried_direction(skeleton, world, skeleton.index(self.pelvis), joints[0], joints[1])
        last = _carried_direction(skeleton, world, joints[-1], joints[-2], joints[-1])
        curve = np.stack([start, start + first * handle, target - last * handle, target], axis=1)
        found = spline(world.positions[:, joints], curve, workers=workers)
        laid = self._keep(job, found.pose(skeleton, job.pose, joints), wanted)
        return self._fabrik(job.with_pose(laid), target, wanted, workers)

    def _errors(self, job: Job) -> Array | None:
        world, pairs = job.skeleton.forward(job.pose).positions, (("position", self.chest), ("pelvis", self.pelvis))
        off = [size(world[:, job.skeleton.index(at)] - job.targets[name]) for name, at in pairs if name in job.targets]
        return np.asarray(np.max(off, axis=0)) if off else None

    def _angles(self, job: Job) -> Array | None:
        world = job.skeleton.forward(job.pose).rotations
        pairs = (("rotation", self.chest), ("pelvis_rotation", self.pelvis))
        off = [
            angle_between(world[:, job.skeleton.index(at)], job.targets[name])
            for name, at in pairs
            if name in job.targets
        ]
        return np.asarray(np.max(off, axis=0)) if off else None

    def _portion(self) -> float:
        return min(self.position_weight, self.rotation_weight, self.pelvis_position_weight, self.pelvis_rotation_weight)


def _carried_direction(skeleton: Skeleton, world: World, carrier: int, upper: int, lower: int) -> Array:
    """The direction of a bone at rest, as a joint carries it."""
    rest = skeleton.forward(skeleton.rest)
    way = rest.positions[lower] - rest.positions[upper]
    own = rotations.rotate(rotations.conjugate(rest.rotations[carrier]), way / float(size(way) or 1))
    return rotations.rotate(world.rotations[:, carrier], own.astype(world.rotations.dtype))
