"""Whole humans from nodes: `BipedNode`, `sequential`, and the clavicles that both use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ikcore import rotations
from ikcore._arrays import size
from ikcore._joints import ancestors
from ikcore.bodies.nodes.bend import joints_of
from ikcore.bodies.nodes.gaze import LookAtNode
from ikcore.bodies.nodes.limbs import Bend, LegNode, LimbNode
from ikcore.bodies.nodes.node import Job, Node, NodeStage, Proposal, Targets, run_in_turn
from ikcore.bodies.nodes.roles import HumanRoles
from ikcore.bodies.nodes.spine import Kind, SpineNode
from ikcore.bodies.nodes.turns import turned_by, unit_share
from ikcore.goals import Goal
from ikcore.skeleton import Skeleton

Array = NDArray[Any]
SIDES = ("left", "right")


@dataclass(frozen=True, eq=False)
class ClavicleNode(Node):
    """A clavicle that brings its shoulder towards a target that is at the end of the arm's reach or beyond.

    The target: `position` of the hand. The shoulder moves along the line to the target, by a share of the distance that
    the arm cannot reach.

    Parameters
    ----------
    clavicle : str or int
        The joint above the arm.

    hand : str or int
        The end of the arm. The two joints above it bend later.

    share : float, default: 0.15
        Share of this distance, 0 to 1.

    start : float, default: 0.95
        Share of the arm's full extension that counts as within reach.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    clavicle: str | int
    hand: str | int
    share: float = 0.15
    start: float = 0.95

    takes: ClassVar[Mapping[str, int]] = {"position": 3}

    def __post_init__(self) -> None:
        unit_share(self, "share", "start")

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        return [skeleton.index(self.clavicle)]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        target = job.targets.get("position")
        if target is None:
            return Proposal(job.pose)
        arm, own = joints_of(job.skeleton, self.hand), job.skeleton.index(self.clavicle)
        world = job.skeleton.forward(job.pose)
        at, shoulder, elbow, hand = (world.positions[:, joint] for joint in (own, arm.root, arm.mid, arm.tip))
        reach = np.asarray(size(elbow - shoulder)) + np.asarray(size(hand - elbow))
        way = target - shoulder
        far = np.asarray(size(way))
        lack = np.maximum(far - reach * far.dtype.type(self.start), 0) * far.dtype.type(self.share)
        goal = shoulder + way * (lack / np.where(far > 0, far, 1))[:, np.newaxis]
        delta = rotations.shortest_arc(shoulder - at, goal - at)
        turned = turned_by(job.skeleton, world, np.asarray(job.pose.rotations), [own], delta[:, np.newaxis])
        return Proposal(job.pose.with_rotations(turned))


class Part(NamedTuple):
    """A node of a human, and which of the human's targets are its own."""

    node: Node
    names: dict[str, str]

    def own_targets(self, targets: Mapping[str, Any]) -> dict[str, Any]:
        """Its own targets, as far as they are given."""
        return {own: targets[name] for own, name in self.names.items() if targets.get(name) is not None}


_LIMBS = {
    f"{side}_{end}{what}": row
    for side in SIDES
    for end in ("hand", "foot")
    for what, row in (("", 3), ("_rotation", 4), ("_pole", 3))
}


@dataclass(frozen=True, eq=False)
class BipedNode(Node):
    """Pelvis, spine, clavicles, legs, arms and head of a human in one call: Biped IK.

    They are solved in this order, and none moves what one before it has reached. Targets are in world space, and all
    are optional. Positions: `pelvis`, `chest`, `left_hand`, `right_hand`, `left_foot`, `right_foot`. Each of these may
    have a rotation, such as `chest_rotation`. Hands and feet may have a pole, such as `left_hand_pole`. The head looks
    at the point `look`.

    Parameters
    ----------
    roles : HumanRoles, optional
        Which joint is what (default: `HumanRoles.detect`).

    spine : {"arc", "fabrik", "spline"}, default: "arc"
        How the spine bends, as in `SpineNode`.

    hand_bend, foot_bend : default: "arm", "animation"
        The direction of elbows and knees, as `bend` of `LimbNode`. A limb with a pole bends to that.

    hand_bend_weight, foot_bend_weight : float, default: 1
        Shares of that against the animation, 0 to 1.

    spine_weight, hand_weight, foot_weight, look_weight : float, default: 1
        Shares of these targets, 0 to 1.

    hand_rotation_weight, foot_rotation_weight : float, default: 1
        Shares of rotations.

    keep_hands, keep_feet : float, default: 0, 1
        Shares of the rotation in the world that hands and feet keep without a target.

    foot_soften : float, default: 0.97
        Share of the reach of a leg at which softening starts.

    clavicle_share : float, default: 0.15
        As `share` of `ClavicleNode`.

    head_clamp : float, default: 0.5
        Narrowness of the cone in which the head turns, as in `LookAtNode`.

    influence : (...) array_like, default: 1
        Blend between the input pose, 0, and the solved pose, 1, as in `Node`.
    """

    roles: HumanRoles | None = None
    spine: Kind = "arc"
    hand_bend: Bend = "arm"
    foot_bend: Bend = "animation"
    hand_bend_weight: float = 1.0
    foot_bend_weight: float = 1.0
    spine_weight: float = 1.0
    hand_weight: float = 1.0
    foot_weight: float = 1.0
    look_weight: float = 1.0
    hand_rotation_weight: float = 1.0
    foot_rotation_weight: float = 1.0
    keep_hands: float = 0.0
    keep_feet: float = 1.0
    foot_soften: float = 0.97
    clavicle_share: float = 0.15
    head_clamp: float = 0.5

    takes: ClassVar[Mapping[str, int]] = {
        **{"pelvis": 3, "pelvis_rotation": 4, "chest": 3, "chest_rotation": 4},
        **_LIMBS,
        "look": 3,
    }
    main: ClassVar[str] = "pelvis"

    def __post_init__(self) -> None:
        unit_share(self, "spine_weight", "hand_weight", "foot_weight", "look_weight", "keep_hands", "keep_feet")

    def parts(self, skeleton: Skeleton, targets: Mapping[str, Any]) -> list[Part]:
        """The nodes that have targets, in their order."""
        roles = self.roles or HumanRoles.detect(skeleton)
        parts = [
            self._spine(roles),
            *(self._clavicle(roles, side) for side in SIDES if side in roles.clavicles),
            *(self._leg(roles, side, targets) for side in SIDES),
            *(self._arm(roles, side, targets) for side in SIDES),
            *([self._look(roles, skeleton)] if roles.head else []),
        ]
        return [part for part in parts if part.own_targets(targets)]

    def _spine(self, roles: HumanRoles) -> Part:
        pelvis, chest = self.spine_weight, self.spine_weight
        node = SpineNode(
            roles.chest, roles.pelvis, self.spine, pelvis, pelvis, chest, chest, back=roles.back, influence=1.0
        )
        return Part(
            node,
            {
                "pelvis": "pelvis",
                "pelvis_rotation": "pelvis_rotation",
                "position": "chest",
                "rotation": "chest_rotation",
            },
        )

    def _clavicle(self, roles: HumanRoles, side: str) -> Part:
        node = ClavicleNode(roles.clavicles[side], roles.hands[side], self.clavicle_share * self.hand_weight)
        return Part(node, {"position": f"{side}_hand"})

    def _leg(self, roles: HumanRoles, side: str, targets: Mapping[str, Any]) -> Part:
        options = {"keep_rotation": self.keep_feet, "side": roles.forward, "soften": self.foot_soften}
        return self._limb(LegNode, roles.feet[side], "foot", side, targets, options)

    def _arm(self, roles: HumanRoles, side: str, targets: Mapping[str, Any]) -> Part:
        options = {"keep_rotation": self.keep_hands, "side": roles.back}
        return self._limb(LimbNode, roles.hands[side], "hand", side, targets, options)

    def _limb(
        self,
        node: type[LimbNode],
        joint: str,
        end: str,
        side: str,
        targets: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Part:
        """A leg or an arm: the parameters of its end, `foot` or `hand`, and a pole if one is given."""
        weights = (getattr(self, f"{end}_{weight}") for weight in ("bend_weight", "weight", "rotation_weight"))
        bend: Bend = "goal" if targets.get(f"{side}_{end}_pole") is not None else getattr(self, f"{end}_bend")
        return Part(node(joint, bend, *weights, **options), _limb_names(f"{side}_{end}"))

    def _look(self, roles: HumanRoles, skeleton: Skeleton) -> Part:
        assert roles.head is not None
        node = LookAtNode(
            roles.head,
            roles.neck(skeleton),
            head_weight=self.look_weight,
            body_weight=0.5 * self.look_weight,
            clamp=self.head_clamp,
            clamp_head=self.head_clamp,
            forward=roles.forward,
        )
        return Part(node, {"position": "look"})

    def _goals(self, skeleton: Skeleton, targets: Mapping[str, Array]) -> list[Goal]:
        parts = self.parts(skeleton, targets)
        found = [goal for part in parts for goal in part.node._goals(skeleton, part.own_targets(targets))]
        faded: list[Any] = list(found)
        return [replace(goal, influence=self.influence) for goal in faded]

    def moves(self, skeleton: Skeleton) -> list[int]:
        """The joints that it may move."""
        parts = self.parts(skeleton, dict.fromkeys(self.takes, 0))
        return [joint for part in parts for joint in part.node.moves(skeleton)]

    def effectors(self, skeleton: Skeleton) -> list[int]:
        """The joints of its targets."""
        parts = self.parts(skeleton, dict.fromkeys(self.takes, 0))
        return [joint for part in parts for joint in part.node.effectors(skeleton)]

    def _solve(self, job: Job, workers: int | None) -> Proposal:
        steps = [_step(part, part.own_targets(job.targets), workers) for part in self.parts(job.skeleton, job.targets)]
        return run_in_turn(job, steps)

    def _errors(self, job: Job) -> Array | None:
        return self._worst(job, "_errors")

    def _angles(self, job: Job) -> Array | None:
        return self._worst(job, "_angles")

    def _worst(self, job: Job, what: str) -> Array | None:
        """The largest error of the parts."""
        parts = self.parts(job.skeleton, job.targets)
        off = [getattr(part.node, what)(job._replace(targets=part.own_targets(job.targets))) for part in parts]
        known = [error for error in off if error is not None]
        return np.asarray(np.max(known, axis=0)) if known else None

    def _portion(self) -> float:
        return min(self.spine_weight, self.hand_weight, self.foot_weight, self.look_weight)


def _step(part: Part, targets: dict[str, Array], workers: int | None) -> Any:
    """A part as a step of `run_in_turn`, which limits hold for."""

    def step(now: Job) -> Proposal:
        return part.node.solve_step(now._replace(targets=targets), workers)

    return step


def _limb_names(limb: str) -> dict[str, str]:
    return {"position": limb, "rotation": f"{limb}_rotation", "pole": f"{limb}_pole"}


def sequential(
    skeleton: Skeleton, targets: Targets, *, biped: BipedNode | None = None, **parameters: Any
) -> list[NodeStage]:
    """Sequential IK of a human as stages: spine, clavicles, legs, arms, head.

    No stage moves an effector of an earlier one: it moves no joint above such an effector. If the roles do not allow
    this, an error is raised.

    Parameters
    ----------
    skeleton : Skeleton
        A humanoid.

    targets : mapping of str to array_like
        Targets as of `BipedNode`. Parts without one have no stage.

    biped : BipedNode, optional
        The parameters of all parts.
    **parameters
        Parameters of `BipedNode`, in place of that.

    Returns
    -------
    list of NodeStage
        For `solvers.stages`, where other stages may stand before, between and after them.

    Examples
    --------
    >>> import ikcore as ik
    >>> body = ik.samples.walk(seconds=1).clip.skeleton
    >>> wanted = {"chest_rotation": [0.98, 0.2, 0, 0], "left_hand": [0.3, 1.1, 0.4], "look": [0.5, 1, 1]}
    >>> stages = ik.bodies.nodes.sequential(body, wanted)
    >>> [type(stage.node).__name__ for stage in stages]
    ['SpineNode', 'LimbNode', 'LookAtNode']
    >>> print(ik.solvers.stages(body, body.rest, stages).status)
    0
    """
    node = BipedNode(**parameters) if biped is None else biped
    unknown = [name for name in targets if name not in node.takes]
    if unknown:
        raise ValueError(f"targets: expected some of {', '.join(node.takes)}, got {unknown[0]!r}")
    stages = [
        NodeStage(replace(part.node, influence=node.influence), part.own_targets(targets))
        for part in node.parts(skeleton, targets)
    ]
    check_sequence(skeleton, [stage.node for stage in stages])
    return stages


def check_sequence(skeleton: Skeleton, nodes: Sequence[Node]) -> None:
    """Raise an error if a node moves a joint above an effector of an earlier node."""
    fixed: dict[int, int] = {}
    for number, node in enumerate(nodes):
        for joint in node.moves(skeleton):
            if joint in fixed:
                names = skeleton.names
                raise ValueError(
                    f"stages[{number}]: expected joints that carry no effector of an earlier stage, got "
                    f"{names[joint]!r}, which carries {names[fixed[joint]]!r}"
                )
        for effector in node.effectors(skeleton):
            for joint in ancestors(skeleton, effector):
                fixed.setdefault(joint, effector)
