"""Nodes that animators know by name: limbs, gaze, spine, whole bodies, feet, springs. Poses in, poses out."""

from ikcore.bodies.nodes.gaze import AimNode, LookAtNode
from ikcore.bodies.nodes.limbs import LegNode, LimbNode
from ikcore.bodies.nodes.node import Node, NodeSolution, NodeStage

__all__ = ["AimNode", "LegNode", "LimbNode", "LookAtNode", "Node", "NodeSolution", "NodeStage"]


def __dir__() -> list[str]:
    return __all__
