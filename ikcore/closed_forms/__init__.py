"""Closed forms on arrays: limbs, aims, curves and twist. No skeleton is needed."""

from ikcore.closed_forms.aims import AimSolution, LookAtSolution, aim, look_at
from ikcore.closed_forms.limbs import LimbSolution, PlanarLimbSolution, two_bone, two_bone_2d
from ikcore.closed_forms.splines import SplineSolution, curve_through, spline
from ikcore.closed_forms.twists import TwistSolution, spread_twist

__all__ = [
    "AimSolution",
    "LimbSolution",
    "LookAtSolution",
    "PlanarLimbSolution",
    "SplineSolution",
    "TwistSolution",
    "aim",
    "curve_through",
    "look_at",
    "spline",
    "spread_twist",
    "two_bone",
    "two_bone_2d",
]


def __dir__() -> list[str]:
    return __all__
