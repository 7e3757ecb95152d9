"""Nodes that animators know by name: limbs, gaze, spine, whole bodies, feet, springs. Poses in, poses out."""

from ikcore.bodies.nodes.biped import BipedNode, ClavicleNode, check_sequence, sequential
from ikcore.bodies.nodes.gaze import AimNode, LookAtNode
from ikcore.bodies.nodes.ground import GroundNode
from ikcore.bodies.nodes.limbs import LegNode, LimbNode
from ikcore.bodies.nodes.lock import LockNode, LockState
from ikcore.bodies.nodes.node import Node, NodeSolution, NodeStage
from ikcore.bodies.nodes.over_time import NodeOverTime
from ikcore.bodies.nodes.particle import LikelyStage, particle_ik
from ikcore.bodies.nodes.roles import HumanRoles
from ikcore.bodies.nodes.spine import SpineNode
from ikcore.bodies.nodes.spring import SpringNode, SpringState
from ikcore.bodies.nodes.trunk import TrunkNode, hierarchical_fabrik

__all__ = [
    "AimNode",
    "BipedNode",
    "ClavicleNode",
    "GroundNode",
    "HumanRoles",
    "LegNode",
    "LikelyStage",
    "LimbNode",
    "LockNode",
    "LockState",
    "LookAtNode",
    "Node",
    "NodeOverTime",
    "NodeSolution",
    "NodeStage",
    "SpineNode",
    "SpringNode",
    "SpringState",
    "TrunkNode",
    "check_sequence",
    "hierarchical_fabrik",
    "particle_ik",
    "sequential",
]


def __dir__() -> list[str]:
    return __all__
