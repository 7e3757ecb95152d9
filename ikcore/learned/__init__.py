"""Poses and motions learned from examples: the nearest, between them, how likely a pose is, joints that fit them."""

from ikcore.learned.density import PoseDensity
from ikcore.learned.matching import MotionMatching
from ikcore.learned.posture_map import posture_map
from ikcore.learned.postures import Postures, fit_skeleton
from ikcore.learned.rbf import RbfPoses

__all__ = ["MotionMatching", "PoseDensity", "Postures", "RbfPoses", "fit_skeleton", "posture_map"]


def __dir__() -> list[str]:
    return __all__
