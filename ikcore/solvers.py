"""Iterative methods as functions, solves in stages, and the table of methods.

>>> import ikcore as ik
>>> arm = ik.Skeleton.chain([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
>>> found = ik.solvers.sdls(arm, arm.rest, [ik.Reach(3, [1, 1, 1])])
>>> print(found.status)
0
"""

from ikcore._core import isa
from ikcore.solving.broyden import broyden
from ikcore.solving.custom_methods import custom_method
from ikcore.solving.derivatives import jacobian
from ikcore.solving.heuristic import ccd, circle, fabrik, follow, spring
from ikcore.solving.jacobian import dls, gauss_seidel, lbfgsb, newton, pinv, sdls, sns, svf, transpose
from ikcore.solving.particles import particles
from ikcore.solving.position_based import full_body
from ikcore.solving.registry import Method, MethodTable, Option
from ikcore.solving.stages import Stage, stages

__all__ = [
    "Method",
    "MethodTable",
    "Option",
    "Stage",
    "broyden",
    "ccd",
    "circle",
    "custom_method",
    "dls",
    "fabrik",
    "follow",
    "full_body",
    "gauss_seidel",
    "isa",
    "jacobian",
    "lbfgsb",
    "newton",
    "particles",
    "pinv",
    "sdls",
    "sns",
    "spring",
    "stages",
    "svf",
    "transpose",
]


def __dir__() -> list[str]:
    return __all__
