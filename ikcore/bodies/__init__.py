"""Whole bodies: hinges, skeletons prepared for `full_body`, nodes, many legs, capsules, and hands that grasp."""

from ikcore.bodies import nodes
from ikcore.bodies.capsules import Capsules, SeparateNode, self_collisions
from ikcore.bodies.hands import BoxShape, CapsuleShape, Grasp, grasp, hand
from ikcore.bodies.hinges import hinges_from
from ikcore.bodies.many_legs import ManyLegsNode, many_legs
from ikcore.bodies.ready import as_body

__all__ = [
    "BoxShape",
    "CapsuleShape",
    "Capsules",
    "Grasp",
    "ManyLegsNode",
    "SeparateNode",
    "as_body",
    "grasp",
    "hand",
    "hinges_from",
    "many_legs",
    "nodes",
    "self_collisions",
]


def __dir__() -> list[str]:
    return __all__
