"""Whole bodies: ready-made ones, masses and hinges for rigs, nodes, many legs, hands, capsules, balance and effort."""

from ikcore.bodies import nodes
from ikcore.bodies.as_body import as_body, with_squat
from ikcore.bodies.balance import MotionBalance, StaticBalance, balance, balance_in_motion, soles, support_polygon
from ikcore.bodies.capsules import Capsules, SeparateNode, self_collisions
from ikcore.bodies.effort import StaticEffort, effort
from ikcore.bodies.hands import BoxShape, CapsuleShape, HandGrasp, grasp, hand
from ikcore.bodies.hexapod import hexapod
from ikcore.bodies.hinges import hinges_from
from ikcore.bodies.human import human, strengths
from ikcore.bodies.many_legs import ManyLegsNode, many_legs
from ikcore.bodies.momentum import Flight, Motion, flights, keep_momentum, motion_of
from ikcore.bodies.quadruped import quadruped
from ikcore.bodies.ranges import with_ranges
from ikcore.bodies.report import BodyReport, report
from ikcore.bodies.segments import with_masses

__all__ = [
    "BodyReport",
    "BoxShape",
    "CapsuleShape",
    "Capsules",
    "Flight",
    "HandGrasp",
    "ManyLegsNode",
    "Motion",
    "MotionBalance",
    "SeparateNode",
    "StaticBalance",
    "StaticEffort",
    "as_body",
    "balance",
    "balance_in_motion",
    "effort",
    "flights",
    "grasp",
    "hand",
    "hexapod",
    "hinges_from",
    "human",
    "keep_momentum",
    "many_legs",
    "motion_of",
    "nodes",
    "quadruped",
    "report",
    "self_collisions",
    "soles",
    "strengths",
    "support_polygon",
    "with_masses",
    "with_ranges",
    "with_squat",
]


def __dir__() -> list[str]:
    return __all__
