"""Whole bodies: hinges of knees and elbows from the rest pose or a clip, and skeletons prepared for `full_body`."""

from ikcore.bodies import nodes
from ikcore.bodies.capsules import Capsules, SeparateNode, self_collisions
from ikcore.bodies.hinges import hinges_from
from ikcore.bodies.many_legs import ManyLegsNode, many_legs
from ikcore.bodies.ready import as_body

__all__ = [
    "Capsules",
    "ManyLegsNode",
    "SeparateNode",
    "as_body",
    "hinges_from",
    "many_legs",
    "nodes",
    "self_collisions",
]


def __dir__() -> list[str]:
    return __all__
